"""Targets in rows: every number of an actuator is named by a row, and what a row carries is read back."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.physics import drive, friction, gearbox, motor
from backemf.physics.joint_law import LAW_PATHS, JointLaw
from backemf.targets.description import DRAKE, SDF, URDF
from backemf.targets.export import TARGETS, module_of
from backemf.targets.result import Request
from backemf.targets.spec import TargetSpec, carry, drop, value_at
from backemf.targets.template import fill

from ..model.variants import BACKLASH, DRIVES, FRICTIONS, LIMITED, RICH
from .clock import GEARED


def every_spec() -> dict[str, TargetSpec]:
    """Every target of ours that has a spec, its versions too."""
    found = {name: module_of(name) for name in TARGETS}
    specs = {name: spec for name, spec in found.items() if isinstance(spec, TargetSpec)}
    return specs | {f"{n}@{v}": one for n, spec in specs.items() for v, one in spec.versions.items()}


SPECS = every_spec()
ABOUT_THE_BENCH = {"drive.disabled"}
"""What a drive does while it is off: an open winding in every target."""


def subclasses(kind: type) -> list[type]:
    ours = [one for one in kind.__subclasses__() if one.__module__.startswith("backemf.")]
    return [kind, *(below for one in ours for below in subclasses(one))]


def every_path() -> set[str]:
    """Each number that an actuator of any kind may have."""
    kinds = {
        "motor": [motor.Motor],
        "motor.limits": [motor.Limits],
        "gearbox": [gearbox.Gearbox],
        "friction": subclasses(friction.Viscous),
        "drive": subclasses(drive.Drive),
    }
    return {
        f"{part}.{f.name}" for part, all_ in kinds.items() for kind in all_ for f in dataclasses.fields(kind)
    }


def test_the_specs_are_those_of_all_description_targets():
    assert {*SPECS} >= {"mujoco", "mujoco-classic", "mjlab", "isaaclab", "isaaclab@bam", "newton", "bam"}
    assert {*SPECS} >= {"drake", "urdf", "sdf"}


@pytest.mark.parametrize("name", SPECS)
def test_a_row_names_every_number_of_an_actuator(name):
    named: set[str] = set()
    for row in SPECS[name].rows:
        for path in row.paths:
            part, _, number = path.partition(".")
            fields = ("viscous", "back_emf") if number == "drag" else (number,)
            named |= {p for f in fields for p in LAW_PATHS[f]} if part == "law" else {path}
    missing = {
        path
        for path in every_path() - ABOUT_THE_BENCH
        if not any(path == one or path.startswith(f"{one}.") or one.startswith(f"{path}.") for one in named)
    }
    assert missing == set()


@pytest.mark.parametrize("name", SPECS)
def test_paths_of_rows_exist(name):
    known = every_path() | {"motor", "gearbox", "friction", "drive", "drive.targets"}
    for row in SPECS[name].rows:
        for path in row.paths if row.ours != "-" else ():
            assert path in known or path.removeprefix("law.") in (*LAW_PATHS, "drag"), path


def test_what_a_law_carries_is_read_back():
    law = JointLaw.of(GEARED)
    for spec, fields in (
        (URDF, ("stiffness", "damping", "effort_limit", "no_load_speed", "viscous", "friction", "back_emf")),
        (SDF, ("stiffness", "damping", "gain", "friction")),
        (DRAKE, ("stiffness", "damping", "effort_limit", "viscous")),
        (SPECS["mujoco-classic"], ("stiffness", "damping", "gain", "effort_limit", "friction", "armature")),
    ):
        again = spec.read_law(spec.numbers(law, GEARED))
        assert [getattr(again, f) for f in fields] == pytest.approx([getattr(law, f) for f in fields])


def test_a_number_that_must_not_be_written_is_refused():
    with pytest.raises(InvalidValue, match="effort for the joint is inf; expected a finite number"):
        URDF.numbers(JointLaw.of(GEARED)._replace(effort_limit=float("inf")), GEARED)
    with pytest.raises(InvalidValue, match=r"damping for the joint is -1\.0"):
        URDF.numbers(JointLaw.of(GEARED)._replace(viscous=-1.0), GEARED)
    assert URDF.numbers(JointLaw.of(GEARED)._replace(gain=-1.0), GEARED)["gain"] == -1.0


def test_rows_of_an_actuator_that_lacks_them_cost_nothing():
    row = drop("motor.inductance", "gone")
    request = None
    assert [*row.lose(GEARED, request)] == []  # pyright: ignore[reportArgumentType]
    slow = dataclasses.replace(GEARED, motor=dataclasses.replace(GEARED.motor, inductance=1e-3))
    (loss,) = row.lose(slow, request)  # pyright: ignore[reportArgumentType]
    assert (loss.path, loss.text, loss.kept) == ("motor.inductance", "gone", False)
    assert loss.without is not None
    assert loss.without(slow) == GEARED
    assert row.remarks == "dropped: gone"


def test_paths_and_names_of_a_row():
    row = carry("motor.limits.current, limits.torque, drive.supply", "joint/@effort")
    assert row.paths == ("motor.limits.current", "motor.limits.torque", "drive.supply")
    assert row.name == "effort"
    assert value_at(be.Actuator.read("mx-106/m1"), "motor.thermal.ambient") is None


def test_a_template_is_filled_and_empty_lines_go():
    fields = dict.fromkeys(("header", "joint", "kind", "arguments"), "x")
    text = fill("isaaclab.py", **{**fields, "arguments": ""})
    assert text == 'x\n\nfrom isaaclab.actuators import x\n\nACTUATOR = x(\n    joint_names_expr=["x"],\n)\n'
    odd = fill("isaaclab.py", **{**fields, "header": "of a@joint@b"})
    assert odd.startswith("of a@joint@b\n")  # what is filled in is not looked at again
    with pytest.raises(InvalidValue, match="has a place for arguments"):
        fill("isaaclab.py", header="", joint="", kind="")


ALWAYS_SAID = {"urdf": ["motor.back_emf_constant"], "sdf": ["motor.back_emf_constant"]}
"""What a controller leaves out, whether it was zero or not."""


@pytest.mark.parametrize("name", SPECS)
def test_what_is_lost_is_said_and_taken_away_is_lost_no_more(name):
    """Of motors, gears, frictions and drives with everything they may have."""
    others = (gearbox.Gearbox(ratio=20.0, efficiency=0.8), BACKLASH), (RICH, LIMITED)
    drives = [DRIVES[law][0] for law in ("position", "servo", "voltage", "firmware", "impedance")]
    asked = Request(name.partition("@")[0], "4.0", "knee", (), "formula", 2e-3, "Euler", 0.5, 0.25, False)
    for k, (gears, of) in enumerate(itertools.product(*others)):
        for n, rubs in enumerate(FRICTIONS.values()):
            one = be.Actuator(motor=of, gearbox=gears, friction=rubs, drive=drives[(n + k) % 5])
            request = asked._replace(backlash=n % 2 == 0, method=("formula", "simulation")[(n + k) % 2])
            for row in SPECS[name].rows:
                for loss in row.lose(one, request):
                    assert [*map(type, loss[:4])] == [str, str, bool, str]
                    assert {*loss.touches.replace(",", " ").split()} <= {"motor", "friction"}
                    left = row.lose(loss.without(one), request) if loss.without else ()
                    assert [loss.path] * (loss.path in [x.path for x in left]) in ([], ALWAYS_SAID.get(name))
