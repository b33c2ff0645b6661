"""Every part of the catalogue and every identified set through every target;
those that run here are replayed."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError
from backemf.physics.quantity import structure
from backemf.targets.approximate import positions
from backemf.targets.export import export
from backemf.targets.reference_motions import reference_motions
from backemf.targets.replay import replay

from .worker import names


def some() -> list[str]:
    """One of every other kind of actuator; of those with a fast current loop, which take the longest, one.
    `make conformance` runs them all."""
    kinds, chosen = set(), []
    for name in names():
        actuator = be.Actuator.read(name)
        kind = structure(actuator)
        if "drive.bandwidth" not in actuator.parameters and kind not in kinds:
            chosen.append(name)
        kinds.add(kind)
    return ["cybergear", *chosen[::2]]


@pytest.mark.slow
@pytest.mark.parametrize("name", some())
def test_a_part_is_exported_and_its_file_moves_as_it_says(name):
    actuator = be.Actuator.read(name)
    held = actuator.drive.followed == "position_target"  # an open loop drifts as far as it travels
    for target in ("mujoco", "mujoco-classic"):
        made = export(actuator, target, method="formula", replay=False)
        exact = made.lossless and held and target == "mujoco"
        found = replay(made, refine=exact)
        motions = reference_motions(actuator)
        carried = np.split(positions(made.carried, motions), len(motions))
        for case, meant in zip(found.cases, carried, strict=True):
            # MuJoCo steps coarsely where we integrate to tolerance; a wrong number is farther off than that.
            off, size = float(np.sqrt(np.mean((case.target - meant) ** 2))), float(np.ptp(meant))
            assert off <= 0.05 * size + 2e-3, f"{target} {case.name}: {off} of {size}"
            if exact:
                assert case.worst_native <= 1.3 * case.refinement + 2e-3, case.name
                assert case.step_difference is None or case.step_difference < 1e-6
    fast = "drive.bandwidth" in actuator.parameters  # a current loop of a millisecond needs shorter steps
    made = export(actuator, "c", timestep=1e-4 if fast else 2e-3)
    assert "step_too_long" not in [f.code for f in made.findings]
    for case in made.replayed.cases:  # the whole model: off by its time step alone
        assert case.target_native <= 0.02 * float(np.ptp(case.native)) + 1e-3, f"c {case.name}"
    assert [f.code for f in export(actuator, "fmu", replay=False).findings if f.code == "no_binary"] == []
    for target in ("mujoco@3.8", "mjlab", "urdf", "sdf", "drake", "newton", "bam"):
        assert export(actuator, target, method="formula", replay=False).text
    if actuator.drive.loop is not None:
        assert "DCMotorCfg" in export(actuator, "isaaclab", method="formula", replay=False).text
    else:
        with pytest.raises(BackemfError, match="follows a position"):
            export(actuator, "isaaclab")
