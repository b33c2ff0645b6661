"""USD: what usd-core makes of the layers, what Newton makes of them, and layers over somebody's stage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, NotAvailable, UnknownName
from backemf.targets.export import export
from backemf.targets.replay import is_exported, read_export, replay
from backemf.targets.training.usd import load_usd

from ...conftest import unavailable
from ..clock import GEARED

LATE = replace(GEARED, drive=replace(GEARED.drive, delay=0.02))
SLIDER = replace(GEARED, motion="linear")


@pytest.fixture
def pxr():
    try:
        return load_usd()
    except NotAvailable:
        return unavailable("usd-core (the extra 'usd')")


def opened(pxr, made, folder):
    top, *_ = made.write(folder / "leg.usda")
    return pxr.Usd.Stage.Open(str(top))


def test_usd_core_composes_the_layers_and_every_number_is_there(pxr, tmp_path):
    stage = opened(pxr, export(LATE, "usd", joint="left/knee", replay=False), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["leg.usda", "leg_physics.usda"]
    joint, actuator = (stage.GetPrimAtPath(f"/left_knee_model/left_knee{end}") for end in ("", "_actuator"))
    said = {a.GetName(): a.Get() for prim in (joint, actuator) for a in prim.GetAuthoredAttributes()}
    newton = {name.partition(":")[2]: v for name, v in said.items() if name.startswith("newton:")}
    # gains in radians, as test_newton.py has them for the same servo; the joint's damping per degree
    assert newton == pytest.approx(
        {
            **{"armature": 1e-3, "damping": 0.01 * math.pi / 180, "friction": 0.05},
            **{"kp": 10.0, "kd": 0.3, "delaySteps": 10},
            **{"saturationEffort": 3.0, "velocityLimit": 12.0, "maxMotorEffort": 2.0},
        },
        rel=1e-6,
    )
    assert said["drive:angular:physics:stiffness"] == 0.0  # Newton would add it
    assert actuator.GetRelationship("newton:targets").GetTargets() == [joint.GetPath()]
    assert pxr.UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    below = pxr.Usd.Stage.Open(str(tmp_path / "leg_physics.usda"))
    drive = pxr.UsdPhysics.DriveAPI(below.GetPrimAtPath(joint.GetPath()), "angular")
    # one degree of error pulls as much as its radians do
    assert drive.GetStiffnessAttr().Get() * 180 / math.pi == pytest.approx(10.0)
    assert drive.GetDampingAttr().Get() * 180 / math.pi == pytest.approx(0.3)
    assert drive.GetMaxForceAttr().Get() == pytest.approx(2.0)


def test_on_a_slide_nothing_is_per_degree(pxr, tmp_path):
    made = export(SLIDER, "usd", joint="rail", replay=False)
    stage = opened(pxr, made, tmp_path)
    rail = stage.GetPrimAtPath("/rail_model/rail")
    assert rail.GetTypeName() == "PhysicsPrismaticJoint"
    assert rail.GetAttribute("newton:damping").Get() == pytest.approx(made.numbers["DAMPING"])
    below = pxr.Usd.Stage.Open(str(tmp_path / "leg_physics.usda"))
    stiffness = below.GetPrimAtPath("/rail_model/rail").GetAttribute("drive:linear:physics:stiffness").Get()
    assert stiffness == pytest.approx(made.numbers["KP"])


@pytest.mark.slow
@pytest.mark.parametrize("servo", [GEARED, LATE, SLIDER], ids=["geared", "late", "slider"])
def test_newton_moves_it_like_the_python_file_and_like_backemf(servo):
    for name in ("newton", "newton_usd_schemas", "mujoco_warp"):
        pytest.importorskip(name)
    usd, plain = (replay(export(servo, to, replay=False), refine=False) for to in ("usd", "newton"))
    for one, other in zip(usd.cases, plain.cases, strict=True):
        assert np.max(np.abs(one.target - other.target)) < 1e-4 * max(np.ptp(other.target), 1e-3)
        assert one.target_native < 0.02 * np.ptp(one.native)


ROBOT = """#usda 1.0
(
    defaultPrim = "Robot"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "Robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
    {
    }
    def Xform "shin" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
    {
    }
    def PhysicsRevoluteJoint "knee" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
    {
        rel physics:body0 = </Robot/base>
        rel physics:body1 = </Robot/shin>
        float drive:angular:physics:stiffness = 1.5
        float drive:angular:physics:maxForce = 99
    }
    def PhysicsPrismaticJoint "rail"
    {
        rel physics:body1 = </Robot/base>
    }
    def NewtonActuator "old" (prepend apiSchemas = ["NewtonPDControlAPI"])
    {
        rel newton:targets = </Robot/knee>
        float newton:kp = 7
    }
}
"""


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "robot.usda"
    path.write_text(ROBOT)
    return path


def test_layers_over_a_stage_leave_it_alone_and_win(pxr, robot, tmp_path):
    made: Any = export({"kn.*": LATE}, "usd", into=robot)
    assert "1.5 became a NewtonActuator" in made.changes[0]
    out = tmp_path / "elsewhere"
    out.mkdir()
    top, below = made.write(out / "driven.usda")
    assert robot.read_text() == ROBOT
    stage = pxr.Usd.Stage.Open(str(top))
    assert stage.GetDefaultPrim().GetName() == "Robot"
    active = [p for p in stage.Traverse() if p.GetTypeName() == "NewtonActuator"]
    assert [p.GetName() for p in active] == ["knee_actuator"]  # the old one is off
    assert active[0].GetAttribute("newton:kp").Get() == pytest.approx(10.0)
    knee = stage.GetPrimAtPath("/Robot/knee")
    assert knee.GetAttribute("drive:angular:physics:stiffness").Get() == 0.0
    assert knee.GetRelationship("physics:body1").GetTargets()[0].name == "shin"  # composed with the robot
    lower = pxr.Usd.Stage.Open(str(below))
    plain = lower.GetPrimAtPath("/Robot/knee")
    assert plain.GetAttribute("drive:angular:physics:stiffness").Get() == pytest.approx(10 * math.pi / 180)
    assert plain.GetAttribute("drive:angular:physics:maxForce").Get() == pytest.approx(2.0)


def test_layers_over_a_stage_say_what_files_of_their_own_say(pxr, robot, tmp_path):
    """Losses, findings, how it is commanded, and the step that its delay is counted in."""
    rich = be.Actuator.read("mx-106/m6").replace(**{"drive.delay": 0.01})
    how: Any = {"timestep": 0.005, "method": "formula", "joint": "knee"}
    own = export(rich, "usd", replay=False, **how)
    made: Any = export({"knee": rich}, "usd", into=robot, timestep=0.005, method="formula")
    said = [line for line in own.text.splitlines() if line.startswith("# ") and "as exported" not in line]
    assert any("Approximated: friction" in line for line in said)
    assert any("Input: joint_target_q" in line for line in said)
    top, below = made.write(tmp_path / "driven.usda")
    for layer in (top, below):
        assert set(said) <= set(layer.read_text().splitlines())
    stage = pxr.Usd.Stage.Open(str(top))
    assert stage.GetRootLayer().customLayerData["timestep"] == 0.005
    assert stage.GetPrimAtPath("/Robot/knee_actuator").GetAttribute("newton:delaySteps").Get() == 2
    assert [f.text for f in made.findings] == [f.text for f in own.findings]


def test_names_and_files_of_another_kind_get_a_sentence(pxr, robot, tmp_path):
    for made in (export(GEARED, "usd", replay=False), export({"knee": GEARED}, "usd", into=robot)):
        with pytest.raises(InvalidValue, match=r"driven\.usdc would be binary.*-o driven\.usda"):
            made.write(tmp_path / "driven.usdc")
    arm = tmp_path / "arm.xml"
    arm.write_text("<mujoco/>")
    with pytest.raises(InvalidValue, match=r"arm\.xml is no USD stage; expected .*--to mujoco"):
        export({"knee": GEARED}, "usd", into=arm)
    with pytest.raises(
        InvalidValue, match=r"robot\.usda is a stage of USD; expected MJCF or URDF, or --to usd"
    ):
        export({"knee": GEARED}, "mujoco", into=robot)
    export({"knee": GEARED}, "usd", into=robot).write(tmp_path / "driven.usda")
    with pytest.raises(InvalidValue, match=r"driven\.usda lies over a stage of its own"):
        read_export(str(tmp_path / "driven.usda"), GEARED)
    export(GEARED, "usd", joint="leg", replay=False).write(tmp_path / "leg.usda")
    again = read_export(str(tmp_path / "leg.usda"), GEARED)
    assert [*again.files] == ["leg.usda", "leg_physics.usda"]
    assert is_exported(str(tmp_path / "leg.usda"))


def test_bad_stages_and_joints_are_refused_with_a_way_out(pxr, robot, tmp_path):
    with pytest.raises(UnknownName, match="knee"):
        export({"kneee": GEARED}, "usd", into=robot)
    with pytest.raises(InvalidValue, match=r"rail of robot\.usda is linear, and its actuator is rotary"):
        export({"rail": GEARED}, "usd", into=robot)
    with pytest.raises(InvalidValue, match=r"-o NEW\.usda"):
        export({"knee": GEARED}, "usd", into=robot).write()
    with pytest.raises(InvalidValue, match=r"-o NEW\.usda"):
        export({"knee": GEARED}, "usd", into=robot).write(robot, force=True)
    robot.write_text(ROBOT.replace("metersPerUnit = 1", "metersPerUnit = 0.01"))
    with pytest.raises(InvalidValue, match=r"units of 0\.01 m"):
        export({"knee": GEARED}, "usd", into=robot)
    robot.write_text("#usda 1.0\ndef Xform {")
    with pytest.raises(InvalidValue, match="cannot be read as a USD stage"):
        export({"knee": GEARED}, "usd", into=robot)
    empty = tmp_path / "empty.usda"
    empty.write_text('#usda 1.0\ndef Xform "a"\n{\n}\n')
    with pytest.raises(BackemfError, match="no revolute or prismatic joint"):
        export({"knee": GEARED}, "usd", into=empty)


def test_losses_are_those_of_newton():
    rich = be.Actuator.read("mx-106/m4")
    usd, plain = (export(rich, to, replay=False, method="formula") for to in ("usd", "newton"))
    assert [(e.path, e.error) for e in usd.approximated] == [(e.path, e.error) for e in plain.approximated]
    assert usd.numbers == plain.numbers
