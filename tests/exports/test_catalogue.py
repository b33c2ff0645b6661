"""Every part of the catalogue and every identified set through every target;
those that run here are replayed."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError
from backemf.targets.export import export
from backemf.targets.replay import replay

from .worker import names


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_part_is_exported_and_replayed(name):
    actuator = be.Actuator.read(name)
    for target in ("mujoco", "mujoco-classic"):
        made = export(actuator, target, method="formula")
        held = actuator.drive.error_of == "position"  # an open loop drifts as far as it travels
        found = replay(made, refine=made.lossless and held and target == "mujoco")
        for case in found.cases:
            assert np.isfinite(case.target).all()
            if case.refinement is not None:
                assert case.worst_native <= 1.3 * case.refinement + 2e-3, case.name
            elif made.lossless:
                assert case.target_native <= 0.05 * np.ptp(case.native) + 2e-3, f"{target} {case.name}"
        if found.worst_step_difference is not None:
            assert found.worst_step_difference < 1e-6
    for target in ("mujoco@3.8", "mjlab", "urdf", "bam"):
        assert export(actuator, target, method="formula").text
    if actuator.drive.error_of == "position":
        assert "DCMotorCfg" in export(actuator, "isaaclab", method="formula").text
    else:
        with pytest.raises(BackemfError, match="follows a position"):
            export(actuator, "isaaclab")
