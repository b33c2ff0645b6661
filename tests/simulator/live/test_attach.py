"""Actuators inside the real MuJoCo: they move as the engine moves them, and their states are the
simulation's."""

from __future__ import annotations

import dataclasses
import re

import mujoco
import numpy as np
import pytest
from mujoco import rollout

import backemf as be
from backemf.errors import InvalidValue

from ...engine.compile.test_torch import actuator as known
from ...robot.arms import ARM
from ...robot.known import known_fit
from .arms import arm, pendulum

MASS, LENGTH = 0.5, 0.1
FRICTIONS = {
    "none": be.friction.Coulomb(coulomb=0.0),
    "coulomb": be.friction.Coulomb(coulomb=0.08, viscous=0.01),
    "stribeck": be.friction.Stribeck(coulomb=0.06, static=0.1, stribeck_velocity=0.2, viscous=0.01),
    "lugre": be.friction.LuGre(
        coulomb=0.05, static=0.08, stribeck_velocity=0.1, viscous=0.02, stiffness=200.0, damping=0.3
    ),
    "dahl": be.friction.Dahl(coulomb=0.05, viscous=0.02, stiffness=100.0),
}
SERVO = be.drive.Position(volts_per_radian=20.0, supply=12.0)
DRIVES = {
    "position": SERVO,
    "late": dataclasses.replace(SERVO, delay=0.0173),
    "limited": dataclasses.replace(SERVO, slew=3.0, command_low=-0.4, command_high=0.4),
    "integral": dataclasses.replace(
        SERVO, volts_per_radian_second=5.0, volt_seconds_per_radian=0.1, integral_limit=0.3
    ),
}


def motor(**changes) -> be.motor.Motor:
    return be.motor.Motor(resistance=2.0, torque_constant=0.05, rotor_inertia=2e-6, **changes)


def servo(friction: str = "coulomb", drive: str = "position", **changes) -> be.Actuator:
    parts = {"motor": motor(), "gearbox": be.gearbox.Gearbox(ratio=50.0), **changes}
    return be.Actuator(friction=FRICTIONS[friction], drive=DRIVES[drive], **parts)


CASES = {
    **{friction: servo(friction) for friction in FRICTIONS},
    **{drive: servo("stribeck", drive) for drive in DRIVES},
    "warm": servo(motor=motor(thermal=be.motor.Thermal(resistance=8.0, capacitance=2.0), inductance=1e-3)),
    "losses": servo(gearbox=be.gearbox.Gearbox(ratio=50.0, efficiency=0.7)),
    "mx-106/m6": known("mx-106/m6"),
    "xl430-w250": known("xl430-w250"),
}


def moved(one: be.Actuator, h: float, target: np.ndarray, start: float = 0.2, **how) -> np.ndarray:
    armature = 0.1 if one.motor.rotor_inertia else 0.0  # of a rotor that nobody knows the joint's stays
    motors = be.attach(pendulum(MASS, LENGTH, h, armature), {"hinge": one}, **how)
    data = mujoco.MjData(motors.model)
    data.qpos[0], positions = start, np.empty(len(target))
    for k, x in enumerate(target):
        positions[k] = data.qpos[0]
        data.ctrl[0] = x
        mujoco.mj_step(motors.model, data)
        assert data.ctrl[0] == x
    return positions


@pytest.mark.parametrize("name", CASES)
def test_a_pendulum_moves_as_on_the_bench(name):
    """The engine's own motion, to second order in MuJoCo's step: half the step, a quarter of the error. A
    limit
    is met inside a step, which is of first order."""
    one, bench, errors = CASES[name], be.bench.Pendulum(mass=MASS, length=LENGTH), []
    for h in (2e-3, 1e-3):
        time = np.arange(round(1.2 / h)) * h
        target = 0.4 * (1.0 - np.cos(2 * np.pi * 1.5 * time))
        run = be.simulate(one, bench, target, time=time, tolerance=1e-6, warn=False)
        errors.append(float(np.max(np.abs(moved(one, h, target, start=0.0) - run.signals["position"]))))
    assert errors[0] < (5e-4 if name == "limited" else 2.5e-4)
    assert errors[1] < (0.6 if name == "limited" else 0.35) * errors[0]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("friction", ["coulomb", "stribeck", "lugre"])
def test_friction_holds_an_arm_for_a_minute(friction, share):
    """Three links under gravity, each joint's friction so that its load is this share of what starts it."""
    spec = arm()
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    actuators = {}
    for joint, load in zip("abc", np.abs(data.qfrc_bias), strict=True):
        holding = float(load) / share
        law = {
            "coulomb": be.friction.Coulomb(coulomb=holding),
            "stribeck": be.friction.Stribeck(coulomb=0.7 * holding, static=holding, stribeck_velocity=0.1),
            "lugre": be.friction.LuGre(
                coulomb=0.7 * holding,
                static=holding,
                stribeck_velocity=0.1,
                viscous=0.01,
                stiffness=300.0 * holding,
                damping=2.0 * holding,
            ),
        }[friction]
        actuators[joint] = be.Actuator(
            motor=motor(),
            gearbox=be.gearbox.Gearbox(ratio=50.0),
            friction=law,
            drive=be.drive.Voltage(supply=12.0),
        )
    motors = be.attach(spec, actuators)
    data = mujoco.MjData(motors.model)
    if friction == "lugre":  # a bristle bends before it holds, and must not be struck
        gravity = motors.model.opt.gravity.copy()
        for k in range(60_000):  # near the breakaway its last bending takes long
            motors.model.opt.gravity[:] = gravity * min(1.0, k / 5000)
            mujoco.mj_step(motors.model, data)
        assert 1e-4 < np.max(np.abs(data.qpos)) < 0.05
    before = data.qpos.copy()
    for _ in range(round(60.0 / motors.model.opt.timestep)):
        mujoco.mj_step(motors.model, data)
    assert np.max(np.abs(data.qpos - before)) < 1e-6


def test_what_exceeds_the_friction_moves():
    """The proof above can fail: with less friction than the load, it falls."""
    spec = pendulum()
    law = be.friction.Coulomb(coulomb=0.8 * MASS * 9.81 * LENGTH)
    one = dataclasses.replace(servo(), friction=law, drive=be.drive.Voltage(supply=12.0))
    motors = be.attach(spec, {"hinge": one})
    data = mujoco.MjData(motors.model)
    data.qpos[0] = np.pi / 2
    for _ in range(3000):
        mujoco.mj_step(motors.model, data)
    assert data.qpos[0] < np.pi / 2 - 0.05


def test_states_are_the_simulations():
    """Stored and put back, copied, reset, rolled out in threads: to the bit the same motion."""
    one = CASES["integral"]
    motors = be.attach(
        arm(), {".": dataclasses.replace(one, drive=dataclasses.replace(one.drive, delay=0.011))}
    )
    model = motors.model
    data, kind = mujoco.MjData(model), mujoco.mjtState.mjSTATE_INTEGRATION
    stored = np.empty(mujoco.mj_stateSize(model, kind))

    def run(n: int) -> np.ndarray:
        for k in range(n):
            data.ctrl[:] = 0.3 * np.sin(0.01 * k)
            mujoco.mj_step(model, data)
        return data.qpos.copy()

    first = run(300)
    mujoco.mj_getState(model, data, stored, kind)
    onward = run(200)
    assert not np.array_equal(first, onward)
    mujoco.mj_setState(model, data, stored, kind)
    assert np.array_equal(run(200), onward)
    mujoco.mj_resetData(model, data)
    assert not data.act.any()
    assert np.array_equal(run(300), first)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty((8, mujoco.mj_stateSize(model, full)))
    mujoco.mj_resetData(model, data)
    mujoco.mj_getState(model, data, start[0], full)
    start[:] = start[0]
    ctrl = np.broadcast_to((0.3 * np.sin(0.01 * np.arange(300)))[None, :, None], (8, 300, 3)).copy()
    states, _ = rollout.rollout(model, [mujoco.MjData(model) for _ in range(2)], start, ctrl)
    for k in range(8):
        assert np.array_equal(states[k, -1, 1:4], first)


def test_asking_twice_changes_nothing():
    """Viewers and sensors call mj_forward between steps."""
    motors = be.attach(arm(), {".": CASES["integral"]})
    once, often = mujoco.MjData(motors.model), mujoco.MjData(motors.model)
    for k in range(200):
        for data in (once, often):
            data.ctrl[:] = 0.3 * np.sin(0.02 * k)
        mujoco.mj_step(motors.model, once)
        mujoco.mj_forward(motors.model, often)
        mujoco.mj_forward(motors.model, often)
        mujoco.mj_step(motors.model, often)
    assert np.array_equal(once.qpos, often.qpos)


def test_two_models_with_other_parts_live_in_one_process():
    fast, slow = CASES["lugre"], CASES["xl430-w250"]
    alone = moved(fast, 1e-3, np.full(300, 0.3))
    motors = [be.attach(pendulum(MASS, LENGTH), {"hinge": one}) for one in (fast, slow)]
    runs = [mujoco.MjData(m.model) for m in motors]
    for data in runs:
        data.qpos[0] = 0.2
    for k in range(300):
        for m, data in zip(motors, runs, strict=True):
            data.ctrl[0] = 0.3
            if k < 299:
                mujoco.mj_step(m.model, data)
    assert runs[0].qpos[0] == alone[-1]
    assert runs[1].qpos[0] != alone[-1]


def test_a_foreign_user_actuator_is_left_alone():
    """A model of somebody else's with user dynamics steps as it would without us."""
    be.attach(pendulum(), {"hinge": servo()})
    text = (
        "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody><actuator>"
        "<general joint='j' dyntype='user' actdim='2'/></actuator></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.ctrl[0] = 1.0
    mujoco.mj_step(model, data)
    assert not data.act.any()


def test_energy_only_leaves():
    """A winding short-circuited on a swinging double pendulum: mechanical energy falls, and what is lost is
    what
    the actuators took."""
    coast = dataclasses.replace(servo("coulomb"), drive=be.drive.Voltage(supply=12.0))
    spec = arm((0.6, 0.4), h=2.5e-4)
    spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    motors = be.attach(spec, {".": dataclasses.replace(coast, friction=be.friction.Coulomb(coulomb=0.05))})
    data = mujoco.MjData(motors.model)
    mujoco.mj_forward(motors.model, data)
    first, taken, before = float(sum(data.energy)), 0.0, data.qvel.copy()
    for _ in range(8000):
        mujoco.mj_step(motors.model, data)
        taken += float(data.actuator_force @ (0.5 * (before + data.qvel))) * motors.model.opt.timestep
        before = data.qvel.copy()
    mujoco.mj_forward(motors.model, data)
    lost = float(sum(data.energy)) - first
    assert lost < -0.1
    assert taken == pytest.approx(lost, rel=0.01)  # the simulator's own step is of first order


def test_signals_are_those_of_the_actuator():
    """Torque, current and temperature that it tells are the engine's at the same state."""
    one = CASES["warm"]
    motors = be.attach(pendulum(), {"hinge": one})
    data = mujoco.MjData(motors.model)
    data.ctrl[0] = 0.5
    for _ in range(1500):
        mujoco.mj_step(motors.model, data)
    told = motors.signals(data)["hinge"]
    run = be.simulate(one, be.bench.Pendulum(mass=MASS, length=LENGTH), 0.5, duration=1.5, warn=False)
    assert told["temperature"] == pytest.approx(run.signals["temperature"][-1], abs=0.02)
    assert told["temperature"] > 25.0
    assert told["voltage"] == pytest.approx(20.0 * (0.5 - data.qpos[0]), abs=1e-9)
    assert told["current"] == pytest.approx(run.signals["current"][-1], rel=0.02)
    assert told["effort"] == pytest.approx(data.qfrc_actuator[0])
    assert told["effort"] == pytest.approx(MASS * 9.81 * LENGTH * np.sin(data.qpos[0]), rel=1e-3)


def test_ctrl_stays_where_it_was_and_is_in_the_joints_units():
    """Actuators of the model keep their names and places; further targets stand behind them."""
    drives = '<motor name="one" joint="c"/><position name="two" joint="a" kp="3"/>'
    drives += '<velocity name="two2" joint="a"/>'
    law = be.drive.Impedance(newton_metres_per_radian=4.0, newton_metre_seconds_per_radian=0.1, supply=12.0)
    legs = dataclasses.replace(servo(), drive=law)
    parts = {"a": legs, "b": legs, "c": servo()}
    motors = be.attach(arm(drives=drives), parts, feedforward=True, ctrl="actuator")
    names = [motors.model.actuator(i).name for i in range(motors.model.nu)]
    assert names[:4] == ["one", "two", "two2", "b"]
    assert names[4:] == [f"{n}_{t}_target" for n in ("two", "b") for t in ("velocity", "torque")]
    assert {f.code for f in motors.findings} == {"replaced"}
    assert "1 more on the same joint" in next(f.text for f in motors.findings if f.text.startswith("a:"))
    data = mujoco.MjData(motors.model)
    data.ctrl[names.index("two_torque_target")] = 1.0
    mujoco.mj_step(motors.model, data)
    pushed = data.qfrc_actuator[0]
    mujoco.mj_resetData(motors.model, data)
    data.ctrl[names.index("two2")] = 1.0  # the model's own second actuator does nothing any more
    mujoco.mj_step(motors.model, data)
    assert pushed > data.qfrc_actuator[0] + 0.1


def test_ctrl_is_held_within_its_range_as_mujoco_does():
    drives = '<position name="p" joint="a" kp="3" ctrlrange="-.1 .1"/>'
    ends = []
    for sent in (0.1, 0.5):
        motors = be.attach(arm((0.2,), drives=drives), {"a": servo()})
        data = mujoco.MjData(motors.model)
        data.ctrl[0] = sent
        for _ in range(500):
            mujoco.mj_step(motors.model, data)
        ends.append(float(data.qpos[0]))
    assert ends[0] == ends[1]
    assert ends[0] != 0.0


def test_ctrl_is_found_behind_actuators_of_several_inputs():
    """From MuJoCo 4 on an actuator may have more than one."""
    if not hasattr(mujoco.MjModel, "actuator_ctrladr"):
        pytest.skip("this MuJoCo's actuators have one input each")
    drives = '<dcmotor name="d" joint="a" motorconst="1" resistance="1" input="pos vel ff"/>'
    drives += '<position name="p" joint="b" kp="3"/>'
    motors = be.attach(arm(drives=drives), {"b": servo()})
    data = mujoco.MjData(motors.model)
    assert motors.joints["b"].element == motors.model.actuator_ctrladr[1] > 1
    data.ctrl[motors.joints["b"].element] = 0.4
    for _ in range(500):
        mujoco.mj_step(motors.model, data)
    assert data.qpos[1] > 0.2
    assert motors.signals(data)["b"]["voltage"] == pytest.approx(20.0 * (0.4 - data.qpos[1]))


def test_a_pattern_means_joints_that_are_driven_and_a_name_wins():
    drives = '<motor name="m" joint="c"/><motor joint="b"/>'
    motors = be.attach(arm(drives=drives), {"b": servo("lugre"), ".*": servo("stribeck")})
    kinds = {joint: one.actuator.friction.kind for joint, one in motors.joints.items()}
    assert kinds == {"b": "friction.LuGre", "c": "friction.Stribeck"}


def test_keyframes_carry_what_other_actuators_had():
    drives = '<intvelocity name="i" joint="a" kp="1" actrange="-1 1"/><motor name="m" joint="b"/>'
    spec = arm(drives=drives)
    spec.add_key(name="up", qpos=[0.1, 0.2, 0.3], act=[0.7])
    motors = be.attach(spec, {"b": servo("lugre")})
    data = mujoco.MjData(motors.model)
    mujoco.mj_resetDataKeyframe(motors.model, data, 0)
    assert data.act[motors.model.actuator("i").actadr[0]] == 0.7
    assert np.count_nonzero(data.act) == 1


def test_draws_differ_and_repeat():
    motors = be.attach(arm(), {".": servo()})
    spread = be.Spread(units={"motor.resistance": 0.2, "friction.coulomb": 0.3})
    ends = []
    for seed in (1, 1, 2):
        model = motors.draw_model(seed, spread=spread)
        data = mujoco.MjData(model)
        data.ctrl[:] = 0.3
        for _ in range(200):
            mujoco.mj_step(model, data)
        ends.append(data.qpos.copy())
    assert np.array_equal(ends[0], ends[1])
    assert not np.allclose(ends[0], ends[2], atol=1e-4)
    with pytest.raises(be.BackemfError, match="nothing says how far"):
        motors.draw_model(1)


def test_too_long_a_step_names_one_that_is_not():
    """What it names is true: with it, nothing is said any more."""
    stiff = dataclasses.replace(
        servo(), drive=dataclasses.replace(SERVO, volts_per_radian=4000.0, supply=400.0)
    )
    coarse = be.attach(pendulum(h=0.01), {"hinge": stiff})
    (said,) = [f for f in coarse.findings if f.code == "timestep_too_long"]
    safe = said.numbers["largest_safe_step"]
    assert 1e-5 < safe < 0.01
    assert not [f for f in be.attach(pendulum(h=safe), {"hinge": stiff}).findings if f.code == said.code]


def test_another_piece_of_the_same_kind_may_be_put_in():
    motors = be.attach(pendulum(), {"hinge": servo()})
    motors.put("hinge", servo().replace(**{"friction.coulomb": 0.2}))
    fresh = be.attach(pendulum(), {"hinge": servo().replace(**{"friction.coulomb": 0.2})})
    ends = []
    for m in (motors, fresh):
        data = mujoco.MjData(m.model)
        data.ctrl[0] = 0.4
        for _ in range(100):
            mujoco.mj_step(m.model, data)
        ends.append(data.qpos[0])
    assert ends[0] == ends[1]
    with pytest.raises(be.BackemfError, match="other parts"):
        motors.put("hinge", servo("lugre"))


BALL = "<mujoco><worldbody><body><joint name='b' type='ball'/><geom size='.1'/></body></worldbody></mujoco>"
BARE = (
    "<mujoco><worldbody><body><joint name='j'/><inertial pos='0 0 0' mass='1e-12'"
    " diaginertia='1e-12 1e-12 1e-12'/></body></worldbody></mujoco>"
)
SLIDE = "<mujoco><worldbody><body><joint name='s' type='slide'/><geom size='.1'/></body></worldbody></mujoco>"
RK4 = SLIDE.replace("<worldbody>", "<option integrator='RK4'/><worldbody>")


@pytest.mark.parametrize(
    ("text", "joint", "one", "said"),
    [
        (SLIDE, "t", servo(), "unknown joint in the model 't'; valid: s"),
        (SLIDE, "s", servo(), "joint 's' of the model is a slide; expected an actuator with motion='linear'"),
        (BALL, "b", servo(), "joint 'b' of the model is a ball or free; expected a hinge or a slide"),
        (RK4, "s", servo(), "integrator RK4, which asks actuators several times a step; expected Euler"),
        (SLIDE, "s", 3.0, "attach was given a float for a joint; expected a Fit, an Actuator, a Datasheet"),
        (BARE, "j", servo(motor=be.motor.Motor(resistance=2.0, torque_constant=0.05)), "has inertia"),
    ],
)
def test_what_cannot_be_is_said(text, joint, one, said):
    with pytest.raises(be.BackemfError, match=re.escape(said)):
        be.attach(mujoco.MjSpec.from_string(text), {joint: one})


def test_somebody_elses_callback_is_not_replaced():
    be.attach(pendulum(), {"hinge": servo()})
    ours = mujoco.get_mjcb_act_dyn()
    mujoco.set_mjcb_act_dyn(lambda m, d, i: 0.0)
    try:
        with pytest.raises(be.BackemfError, match="mjcb_act_dyn is already set"):
            be.attach(pendulum(), {"hinge": servo()})
    finally:
        mujoco.set_mjcb_act_dyn(ours)


def test_no_file_and_a_compiled_model():
    with pytest.raises(be.BackemfError, match=re.escape("there is no file 'none.xml'; expected an MJCF")):
        be.attach("none.xml", {".*": servo()})
    with pytest.raises(be.BackemfError, match="a compiled model cannot be changed"):
        be.attach(pendulum().compile(), {".*": servo()})


def test_play_that_the_model_has_does_not_count_twice():
    text = pendulum().to_xml()
    joint = re.search(r'<joint name="(\w+)"[^>]*>', text)
    assert joint is not None
    name = joint[1]
    gap = f'<joint name="{name}_backlash" axis="0 1 0" range="-0.6 0.6" limited="true" damping="0.001"/>'
    spec = mujoco.MjSpec.from_string(text.replace(joint[0], joint[0] + gap))
    loose = servo(gearbox=be.gearbox.Gearbox(ratio=50.0, backlash=0.02, contact_stiffness=100.0))
    moved = []
    for given in (servo(), loose):
        motors = be.attach(spec, {name: given}, check=False)
        data = mujoco.MjData(motors.model)
        data.ctrl[0] = 0.5
        for _ in range(200):
            mujoco.mj_step(motors.model, data)
        moved.append(data.qpos.copy())
        said = [one for one in motors.findings if one.code == "play_joint"]
        assert bool(said) == (given is loose)
    assert np.array_equal(*moved)
    assert be.attach(pendulum(), {name: loose}).joints[name].actuator == loose


def test_the_fit_of_a_robot_is_attached_by_its_joints(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    fit = known_fit(be.Robot.read(tmp_path / "arm.xml"), [], [])
    fit.write(tmp_path / "fit.json")
    for given in (fit, tmp_path / "fit.json"):
        motors = be.attach(tmp_path / "arm.xml", given)
        assert {name: one.actuator for name, one in motors.joints.items()} == fit.actuators
    assert motors.joints["elbow"].fit == fit.joints["elbow"]
    with pytest.raises(InvalidValue, match="the fit of 3 joints for one of them"):
        be.attach(tmp_path / "arm.xml", {"elbow": fit})
