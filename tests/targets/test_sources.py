"""Models and configurations as sources: what is read moves as the simulator's own file does, and names, eras
and refusals are plain."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")

import mujoco

import backemf as be
from backemf.apps.cli import exports, inputs as sources
from backemf.errors import InvalidValue, MissingValue, UnknownName
from backemf.mujoco.explain.explanation import explain
from backemf.physics.joint_law import JointLaw
from backemf.targets import isaaclab
from backemf.targets.export import export
from backemf.targets.mujoco import dcmotor_target, mjcf_source
from backemf.targets.sourcing import choose_actuator

from ..cli.runner import runner

run = runner(exports.export, exports.explain)
H = 1e-4
MODEL = """<mujoco><option timestep="{h}" gravity="0 0 0"/><worldbody>
  <body><joint name="knee" axis="0 0 1" {joint}/><inertial pos="0 0 0" mass="1" diaginertia="0.02 0.02 0.02"/>
  </body></worldbody><actuator>{actuator}</actuator></mujoco>"""
STUCK = ' solreffriction="2e-4 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"'


def written(tmp_path, actuator, joint='armature="0.03" damping="0.6" frictionloss="0.05"', name="model.xml"):
    path = tmp_path / name
    path.write_text(MODEL.format(actuator=actuator, joint=joint + STUCK * ("friction" in joint), h=H))
    return path


def moved(path, u, n=3000):
    """Positions in MuJoCo itself under a constant ctrl."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data, q = mujoco.MjData(model), np.empty(n)
    data.ctrl[:] = u
    for k in range(n):
        mujoco.mj_step(model, data)
        q[k] = data.qpos[0]
    return q


def simulated(actuator, command, n=3000):
    time = H * np.arange(n + 1)
    bench = be.bench.Flywheel(inertia=0.02)
    series = {name: np.full(n + 1, value) for name, value in command.items()}
    return be.simulate(actuator, bench, series, time=time).position[1:]


@pytest.mark.parametrize(
    ("element", "joint", "u", "target"),
    [
        ('<position joint="knee" kp="18" kv="0.3" forcerange="-3 3"/>', None, 0.9, {"position_target": 0.9}),
        (
            '<position joint="knee" kp="18" kv="0.3" forcerange="-3 3"/>',
            None,
            -0.9,
            {"position_target": -0.9},
        ),
        ('<position joint="knee" kp="18" kv="0.3"/>', None, 0.9, {"position_target": 0.9}),
        ('<position joint="knee" kp="18"/>', 'armature="0.03"', 0.9, {"position_target": 0.9}),
        ('<position joint="knee" kp="2" gear="-3" forcerange="-1 1"/>', None, 1.2, {"position_target": -0.4}),
        (
            '<position joint="knee" kp="2" gear="-3" ctrlrange="-1.5 0.9"/>',
            None,
            1.2,
            {"position_target": -0.4},  # held at -0.9 / 3
        ),
        ('<position joint="knee" kp="18" ctrlrange="-0.5 0.4"/>', None, 0.9, {"position_target": 0.9}),
        ('<velocity joint="knee" kv="1.5" forcerange="-3 3"/>', None, 2.0, {"velocity_target": 2.0}),
        ('<velocity joint="knee" kv="1.5"/>', None, -2.0, {"velocity_target": -2.0}),
        ('<motor joint="knee" gear="2"/>', None, 0.7, {"current_target": 0.7}),
        ('<motor joint="knee" gear="-2" forcerange="-0.5 0.5"/>', None, 0.7, {"current_target": 0.7}),
    ],
)
def test_a_classic_actuator_moves_as_in_mujoco(tmp_path, element, joint, u, target):
    path = written(tmp_path, element) if joint is None else written(tmp_path, element, joint)
    found = mjcf_source.read(path)
    assert found.joint == "knee"
    theirs, mine = moved(path, u), simulated(found.actuator, target)
    # MuJoCo's Euler at 0.1 ms is of first order, and its frictionloss is soft
    assert np.max(np.abs(theirs - mine)) < 5e-3 * np.max(np.abs(theirs))
    assert np.max(np.abs(theirs)) > 0.05


def test_a_limited_servo_is_exactly_a_motor_with_its_line(tmp_path):
    path = written(tmp_path, '<position joint="knee" kp="18" kv="0.3" forcerange="-3 3" ctrlrange="-2 1"/>')
    actuator = mjcf_source.read(path).actuator
    x = JointLaw.of(actuator)
    assert (x.stiffness, x.damping, x.effort_limit, x.armature, x.friction) == (18.0, 0.3, 3.0, 0.03, 0.05)
    assert x.drag == pytest.approx(0.6, rel=1e-15)
    assert (actuator.drive.command_low, actuator.drive.command_high) == (-2.0, 1.0)
    made = export(actuator, "mujoco-classic")
    assert made.dropped == made.approximated == ()
    numbers = {"kp": 18.0, "kv": 0.3, "force": 3.0, "damping": 0.6, "frictionloss": 0.05, "armature": 0.03}
    assert {k: made.numbers[k] for k in numbers} == pytest.approx(numbers, rel=1e-15)
    isaac = export(actuator, "isaaclab").numbers
    assert isaac["saturation_effort"] == pytest.approx(3.0)
    assert isaac["velocity_limit"] == pytest.approx(3.0 / 0.6)
    assert isaac["damping"] == pytest.approx(0.9)  # kv and the back-EMF


def test_an_old_dcmotor_becomes_the_new_era_s(tmp_path):
    path = written(
        tmp_path,
        '<dcmotor name="k" joint="knee" motorconst="0.08" resistance="2" gear="5" armature="1e-4"'
        ' input="position" controller="9 12 0.4 0 0 8"/>',
        joint='damping="0.1"',
    )
    found = mjcf_source.read(path)
    assert "gains in volts" in found.notes[0]
    run("export", path, "--to", "mujoco@4.0", "--joint", "knee", "-o", tmp_path / "new.xml")
    R, K = 2.0, 0.08
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml"))
    # the published conversion, kp K/R, ki K/R, kd K/R + K^2/R, seen at the joint behind a gear of 5
    gains = model.actuator_gainprm[0, 4:7] / 5**2
    assert gains == pytest.approx([9 * K / R, 12 * K / R, 0.4 * K / R + K * K / R])
    again = mjcf_source.read(tmp_path / "new.xml")
    assert "3.12" in again.notes[0]
    assert again.actuator.motor.resistance == pytest.approx(R)


def test_the_installed_era_s_words_are_told_to_those_who_conform(tmp_path):
    from backemf.mujoco.conform import conform

    motor = '<dcmotor joint="knee" motorconst="0.08" resistance="2" input="position" controller="9 0 0.4"/>'
    with pytest.raises(InvalidValue) as caught:
        conform(written(tmp_path, motor, name="old.xml"))
    told = str(caught.value)
    assert told.startswith("old.xml is written for MuJoCo 3.7 to 3.11 (input 'position'); the installed")
    assert "backemf export" in told
    assert "null" not in told


VELOCITY = (
    '<dcmotor name="k" joint="knee" motorconst="0.08" resistance="2" gear="5" armature="1e-4"'
    ' input="velocity" controller="0.5 3" ctrlrange="-4 4" ctrllimited="true"/>'
)


def test_a_velocity_loop_with_an_integral_is_explained_and_refused_with_its_recipe(tmp_path):
    path = written(tmp_path, VELOCITY, joint='damping="0.1"')
    (row,) = explain(path)
    R, K, N = 2.0, 0.08, 5.0
    assert row.kind == "dcmotor"
    assert row.stiffness == pytest.approx(3 * K / R * N * N)
    told = next(f for f in row.findings if f.code == "velocity_integral")
    share = 0.5 / (0.5 + K)
    assert told.numbers == pytest.approx({"kp": 3 * K / R, "kd": K * (0.5 + K) / R, "share": share})
    assert 'write gear="5" input="pos vel" controller="0.12 0 0.0232"' in told.remedy
    drive = mjcf_source.read(path).actuator.drive
    assert drive.loop is not None
    assert (drive.loop.integral, drive.loop.proportional) == pytest.approx((3 * N, 0.5 * N))
    assert (drive.command_low, drive.command_high) == pytest.approx((-4 / N, 4 / N))
    with pytest.raises(InvalidValue, match=r'controller="3 0 0.58" \(kp = ki K/R and .*, begun at 0'):
        run("export", path, "--to", "mujoco@3.12")
    assert 'input="velocity"' in run("export", path, "--to", "mujoco@3.11")


def test_the_integral_s_recipe_is_the_same_law(tmp_path):
    """Constant velocity u: era 1's law is kp (u - w) + ki (u t - q); era 2 gets u t as pos."""
    found = mjcf_source.read(
        written(tmp_path, VELOCITY.replace("ctrllimited", "group='1' ctrllimited"), "", "old.xml")
    )
    (row,) = explain(tmp_path / "old.xml")
    x = next(f for f in row.findings if f.code == "velocity_integral").numbers
    new = MODEL.format(
        h=H,
        joint="",
        actuator='<dcmotor joint="knee" motorconst="0.08" resistance="2" gear="5" armature="1e-4" input="pos'
        f' vel" controller="{x["kp"]!r} 0 {x["kd"]!r}"/>',
    )
    model = mujoco.MjModel.from_xml_string(new)
    data, q, u, n = mujoco.MjData(model), [], 0.4, 3000
    for k in range(n):  # its vel input gets what the proportional part asks for
        data.ctrl[:] = 5 * u * H * k, 5 * u * x["share"]
        mujoco.mj_step(model, data)
        q.append(data.qpos[0])
    mine = simulated(found.actuator, {"velocity_target": u}, n)
    assert np.max(np.abs(mine - q)) < 2e-3 * np.max(np.abs(mine))  # the engine's first-order step


TWO = """<mujoco><worldbody>
  <body><joint name="hip"/><geom size="0.1"/></body>
  <body pos="1 0 0"><joint name="knee"/><geom size="0.1"/></body>
  <body pos="3 0 0"><joint name="ball" type="ball"/><geom size="0.1"/></body>
</worldbody><actuator><position name="h" joint="hip" kp="10"/><position name="k" joint="knee" kp="20"/>
  <position name="f" joint="knee" kp="20" timeconst="0.1"/><motor name="b" joint="ball" gear="0 0 1"/>
</actuator></mujoco>"""


def test_one_of_several_is_named_behind_a_sharp(tmp_path):
    path = tmp_path / "two.xml"
    path.write_text(TWO)
    kp = {"h": 10.0, "hip": 10.0, "k": 20.0}
    for name, value in kp.items():
        actuator, notes = sources.actuator_of(f"{path}#{name}")
        assert JointLaw.of(actuator).stiffness == value
        assert notes[0].startswith("model: two.xml, <position>")
    assert JointLaw.of(sources.actuator_of(str(path), "hip")[0]).stiffness == 10.0
    with pytest.raises(
        MissingValue,
        match=r"two\.xml has 3 actuators to choose from .h on hip, k on knee, f on knee.; say which",
    ):
        sources.actuator_of(str(path))
    with pytest.raises(MissingValue, match="2 actuators to choose from"):
        sources.actuator_of(f"{path}#knee")
    with pytest.raises(UnknownName, match="did you mean 'hip'"):
        sources.actuator_of(f"{path}#hipp")
    with pytest.raises(InvalidValue, match="an activation of its own"):
        sources.actuator_of(f"{path}#f")


def test_a_saved_general_is_a_source(tmp_path):
    made = export(be.Actuator.read("mx-106/m1"), "mujoco", joint="knee")
    spec = mujoco.MjSpec.from_string(made.text)
    spec.compile()
    (tmp_path / "saved.xml").write_text(spec.to_xml())
    actuator, notes = sources.actuator_of(str(tmp_path / "saved.xml"))
    x, y = JointLaw.of(actuator), JointLaw.of(be.Actuator.read("mx-106/m1"))
    assert tuple(x) == pytest.approx(tuple(y), rel=1e-5)  # six digits in what MuJoCo saves
    assert any("K_t and K_e" in note for note in notes)
    assert dcmotor_target.read(tmp_path / "saved.xml").joint == "knee"


ISAAC = """from isaaclab.actuators import DCMotorCfg, ImplicitActuatorCfg
import isaaclab.actuators as actuators

LEGS = dict(actuators={
    "legs": actuators.DCMotorCfg(
        joint_names_expr=[".*_hip_joint", ".*_calf_joint"],
        effort_limit=23.5, saturation_effort=30.0, velocity_limit=28.0,
        stiffness={".*": 25.0}, damping=0.5, friction=0.2, armature=0.01),
    "soft": ImplicitActuatorCfg(joint_names_expr=["tail"], stiffness=4.0, damping=0.1, effort_limit=2.0),
})
"""


def test_isaac_s_triple_is_a_dcmotor(tmp_path):
    path = tmp_path / "robot.py"
    path.write_text(ISAAC)
    with pytest.raises(MissingValue, match=r"2 actuator configurations .legs, soft."):
        isaaclab.read(path)
    with pytest.raises(UnknownName):
        isaaclab.read(path, "arms")
    actuator = isaaclab.read(path, "legs").actuator
    made = export(actuator, "mujoco")
    assert made.dropped == made.approximated == ()
    model = mujoco.MjModel.from_xml_string(made.text)
    R, K = model.actuator_gainprm[0, :2]
    kp, ki, kd, volts = model.actuator_gainprm[0, 4:8]
    assert K * volts / R == pytest.approx(30.0)  # stall torque
    assert volts / K == pytest.approx(28.0)  # no-load speed
    assert model.actuator_forcerange[0] == pytest.approx([-23.5, 23.5])
    assert (kp, ki, kd) == pytest.approx((25.0, 0.0, 0.5))
    assert (model.actuator_armature[0], model.dof_frictionloss[0]) == pytest.approx((0.01, 0.2))
    back = export(actuator, "isaaclab").numbers
    names = {"effort_limit": 23.5, "saturation_effort": 30.0, "velocity_limit": 28.0, "stiffness": 25.0}
    names |= {"damping": 0.5, "armature": 0.01, "dynamic_friction": 0.2}
    assert {k: back[k] for k in names} == pytest.approx(names)


@pytest.mark.parametrize(
    ("q", "w"), [(0.1, 3.0), (2.0, 20.0), (-2.0, 20.0), (2.0, -20.0), (0.0, -35.0), (1.0, 27.0)]
)
@pytest.mark.parametrize("effort", [23.5, 33.0])
def test_isaac_s_torque_is_what_the_dcmotor_gives(tmp_path, q, w, effort):
    """Isaac Lab's: clip(stiffness (u - q) - damping w, saturation (+-1 - w / limit), +-effort); braking
    reaches an effort above the saturation too."""
    path = tmp_path / "robot.py"
    path.write_text(ISAAC.replace("23.5", str(effort)))
    model = mujoco.MjModel.from_xml_string(export(isaaclab.read(path, "legs").actuator, "mujoco").text)
    data = mujoco.MjData(model)
    data.qvel[0], data.ctrl[0] = w, q
    mujoco.mj_forward(model, data)
    asked = 25.0 * q - 0.5 * w
    high, low = min(30.0 * (1 - w / 28.0), effort), max(30.0 * (-1 - w / 28.0), -effort)
    expected = min(max(asked, low), high) if low <= high else math.copysign(effort, low)
    assert data.actuator_force[0] == pytest.approx(expected, abs=1e-9)


def test_a_configuration_without_a_line_is_an_ideal_actuator(tmp_path):
    path = tmp_path / "robot.py"
    path.write_text(ISAAC)
    found = isaaclab.read(path, "soft")
    x = JointLaw.of(found.actuator)
    assert (x.stiffness, x.damping, x.effort_limit) == (4.0, 0.1, 2.0)
    assert "no torque-speed line" in found.notes[-1]


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("A = DCMotorCfg(stiffness=K)", InvalidValue, "stiffness is K; expected a plain number"),
        ("A = DCMotorCfg(stiffness={'a': 1.0, 'b': 2.0})", InvalidValue, "expected one number"),
        ("A = DCMotorCfg(stiffness='2')", InvalidValue, "stiffness is '2'; expected a number"),
        ("A = DCMotorCfg(stiffness=2.0)", MissingValue, "without saturation_effort and velocity_limit"),
        ("A = 3", MissingValue, "0 actuator configurations"),
        ("A = (", InvalidValue, "is not Python that can be read"),
    ],
)
def test_what_cannot_be_read_of_a_configuration_is_said(tmp_path, text, error, match):
    path = tmp_path / "robot.py"
    path.write_text(text)
    with pytest.raises(error, match=match):
        isaaclab.read(path)


def test_the_names_of_isaac_lab_3_are_read_too(tmp_path):
    path = tmp_path / "robot.py"
    export(be.Actuator.read("mx-106/m1"), "isaaclab@3.0").write(path)
    assert "actuator_velocity_limit" in path.read_text()
    x = JointLaw.of(isaaclab.read(path).actuator)
    y = JointLaw.of(be.Actuator.read("mx-106/m1"), volts=11.55)
    names = ("stall_torque", "no_load_speed", "effort_limit")
    assert [getattr(x, n) for n in names] == pytest.approx([getattr(y, n) for n in names], rel=1e-9)


def test_a_joint_chooses_its_configuration_and_its_numbers(tmp_path):
    path = tmp_path / "robot.py"
    path.write_text(ISAAC.replace('{".*": 25.0}', '{".*_hip_joint": 25.0, ".*_calf_joint": 40.0}'))
    for joint, stiffness in (("FL_hip_joint", 25.0), ("FL_calf_joint", 40.0)):
        found = choose_actuator(f"{path}#{joint}")
        assert found.joint == joint
        assert found.notes[0] == f"Isaac Lab: robot.py, DCMotorCfg legs on {joint}"
        assert found.actuator.parameters["drive.newton_metres_per_radian"] == stiffness
    assert JointLaw.of(be.Actuator.read(f"{path}#tail")).stiffness == 4.0
    with pytest.raises(InvalidValue, match=r"expected one number: say which joint, as robot\.py#JOINT"):
        be.Actuator.read(f"{path}#legs")
    with pytest.raises(UnknownName, match=r"unknown configuration or joint in robot\.py 'arm'"):
        be.Actuator.read(f"{path}#arm")


def test_a_file_that_is_not_there_is_said(tmp_path):
    for name in ("none.xml", "none.py", "none.xml#knee"):
        with pytest.raises(MissingValue, match=r"there is no file .*none"):
            sources.actuator_of(str(tmp_path / name))
