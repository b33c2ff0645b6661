"""What happens inside attached motors: switches, late commands, and what is told of them."""

from __future__ import annotations

import dataclasses
import re

import mujoco
import numpy as np
import pytest

import backemf as be

from .arms import arm, pendulum
from .test_attach import CASES, LENGTH, MASS, SERVO, servo

BENCH = be.bench.Pendulum(mass=MASS, length=LENGTH)
H = 1e-3
TIME = H * np.arange(900)
OFF = (TIME > 0.3) & (TIME < 0.6)
WAVE = 0.8 * (1.0 - np.cos(2 * np.pi * 1.5 * TIME))


def stepped(motors, **ctrl: np.ndarray) -> np.ndarray:
    """Positions before every step, with elements of ctrl by name."""
    data = mujoco.MjData(motors.model)
    positions = np.empty(len(next(iter(ctrl.values()))))
    for k in range(len(positions)):
        positions[k] = data.qpos[0]
        for name, values in ctrl.items():
            data.ctrl[motors.model.actuator(name).id] = values[k]
        mujoco.mj_step(motors.model, data)
    return positions


@pytest.mark.parametrize("disabled", ["open", "brake"])
@pytest.mark.parametrize("name", ["coulomb", "integral", "late", "warm"])
def test_the_switch_is_the_engines_enabled(name, disabled):
    """Off, let fall, and on again. A switch acts when a step begins, and in MuJoCo velocities step half a
    step before positions: it is that much early, and otherwise the motion is the engine's own."""
    one = CASES[name]
    one = dataclasses.replace(one, drive=dataclasses.replace(one.drive, disabled=disabled))
    motors = be.attach(pendulum(MASS, LENGTH, H), {"hinge": one}, switch=True)
    fine = 0.5 * H * np.arange(2 * len(TIME) - 1)
    target, off = np.repeat(WAVE, 2)[:-1], np.repeat(OFF, 2)[1:]  # half a step earlier
    how = {"time": fine, "tolerance": 1e-6, "warn": False}
    run = be.simulate(one, BENCH, {"position_target": target, "enabled": (~off).astype(float)}, **how)
    kept_on = be.simulate(one, BENCH, target, **how)
    moved = stepped(motors, hinge=WAVE, hinge_disabled=OFF.astype(float))
    assert np.max(np.abs(run.position - kept_on.position)) > 0.1  # it matters
    assert np.max(np.abs(moved - run.position[::2])) < 7e-4  # half a step, too early or late, is 2 to 5e-3


def test_a_switched_drive_says_that_it_is_off():
    motors = be.attach(pendulum(), {"hinge": servo()}, switch=True)
    data = mujoco.MjData(motors.model)
    data.ctrl[:] = 0.5, 0.0
    for _ in range(50):
        mujoco.mj_step(motors.model, data)
    on = motors.signals(data)["hinge"]
    assert on["current"] == pytest.approx((on["voltage"] - 0.05 * 50 * on["velocity"]) / 2.0)
    data.ctrl[1] = 1.0
    off = motors.signals(data)["hinge"]
    assert off["current"] == off["torque"] == 0.0
    assert off["voltage"] == pytest.approx(0.05 * 50 * off["velocity"])  # open terminals: the back-EMF


@pytest.mark.parametrize(("delay", "age"), [(0.003, 3), (0.0024, 3), (0.0031, 4)])
def test_signals_know_late_commands(delay, age):
    """The voltage is that of the command which has arrived: the newest that is old enough."""
    late = dataclasses.replace(servo(), drive=dataclasses.replace(SERVO, delay=delay))
    motors = be.attach(pendulum(), {"hinge": late})
    data = mujoco.MjData(motors.model)
    for k in range(20):
        data.ctrl[0] = 0.01 * k
        mujoco.mj_step(motors.model, data)
    data.ctrl[0] = 0.01 * 20
    told = motors.signals(data)["hinge"]
    assert told["voltage"] == pytest.approx(20.0 * (0.01 * (20 - age) - data.qpos[0]), abs=1e-9)


def test_signals_know_further_targets_and_numbers_put_in_later():
    law = be.drive.Impedance(newton_metres_per_radian=4.0, newton_metre_seconds_per_radian=0.1, supply=12.0)
    leg = dataclasses.replace(servo(), drive=law)
    motors = be.attach(pendulum(), {"hinge": leg}, feedforward=True)
    data = mujoco.MjData(motors.model)
    plain = motors.signals(data)["hinge"]["torque"]
    data.ctrl[motors.model.actuator("hinge_torque_target").id] = 0.3
    assert motors.signals(data)["hinge"]["torque"] == pytest.approx(plain + 0.3, rel=1e-6)
    other = leg.replace(**{"drive.newton_metres_per_radian": 8.0})
    motors.put("hinge", other)
    data.ctrl[:] = 0.0
    data.qpos[0] = -0.1
    assert motors.signals(data)["hinge"]["torque"] == pytest.approx(0.8, rel=1e-6)
    assert motors.joints["hinge"].actuator == other


def test_a_command_acts_at_its_own_moment():
    """A step of the target, delays that differ by a tenth of a time step: positions shift by that, smoothly.
    The mean of the command over each step is exact, so the joint's end does not depend on the grid."""
    target = np.where(np.arange(400) < 20, 0.0, 0.3)
    ends = []
    for delay in (0.0050, 0.0051, 0.0052, 0.0055, 0.0059, 0.0060):
        late = dataclasses.replace(servo("none"), drive=dataclasses.replace(SERVO, delay=delay))
        motors = be.attach(pendulum(MASS, LENGTH, H), {"hinge": late})
        q = stepped(motors, hinge=target)
        run = be.simulate(late, BENCH, target, time=H * np.arange(400), tolerance=1e-6, warn=False)
        ends.append(float(np.mean(q - run.position)))
    # 0.1 ms too early or late would be 7e-5 rad on average: 0.3 rad in 0.4 s
    assert np.max(np.abs(ends)) < 2e-5


def test_inertia_is_what_the_other_joints_leave():
    """The last link of an arm swings the ones before it: with their reaction, two joints let go under springy
    drives move as with a step a tenth as long, to first order of it."""
    soft = dataclasses.replace(servo("none"), drive=dataclasses.replace(SERVO, volts_per_radian=8.0))
    ends = {}
    for h in (2e-3, 1e-3, 1e-4):
        motors = be.attach(arm((0.6, 0.4), h=h), {".": soft})
        data = mujoco.MjData(motors.model)
        data.qpos[:] = 0.3, -0.4
        track = []
        for k in range(round(0.5 / h)):
            if k % round(2e-3 / h) == 0:
                track.append(data.qpos.copy())
            data.ctrl[:] = 0.2, 0.3
            mujoco.mj_step(motors.model, data)
        ends[h] = np.array(track)
    coarse, half = (float(np.max(np.abs(ends[h] - ends[1e-4]))) for h in (2e-3, 1e-3))
    assert coarse < 0.01
    assert half < 0.6 * coarse


def test_more_delay_than_there_is_room_for_is_refused():
    late = dataclasses.replace(servo(), drive=dataclasses.replace(SERVO, delay=0.006))
    motors = be.attach(pendulum(), {"hinge": late})
    said = (
        "drive.delay is 0.05 s, and a line of 16 commands in steps of 0.001 s holds 0.0145 s at most;"
        " expected a shorter delay, a longer step, or to attach anew at this timestep"
    )
    with pytest.raises(be.BackemfError, match=f"^{re.escape(said)}$"):
        motors.put("hinge", late.replace(**{"drive.delay": 0.05}))
    motors.put("hinge", late.replace(**{"drive.delay": 0.014}))


@pytest.mark.parametrize(
    "law",
    [
        dataclasses.replace(SERVO, slew=3.0),
        be.drive.Servo(
            firmware_gain=0.05,
            proportional=32.0,
            firmware_derivative_gain=0.02,
            derivative=8.0,
            derivative_filter=0.02,
            command_high=0.4,
            supply=12.0,
        ),
    ],
    ids=["slew", "lagged"],
)
def test_states_begin_where_the_joint_and_its_first_target_are(law):
    """A joint let go at 0.3 rad: a limited setpoint begins there, a filtered one at the first target, which
    is clipped; the engine's own motion from there."""
    one = dataclasses.replace(servo("none"), drive=law)
    motors = be.attach(pendulum(MASS, LENGTH, H), {"hinge": one})
    data, n = mujoco.MjData(motors.model), 200
    data.qpos[0], positions = 0.3, np.empty(n)
    for k in range(n):
        positions[k] = data.qpos[0]
        data.ctrl[0] = 0.6
        mujoco.mj_step(motors.model, data)
    how = {"time": H * np.arange(n), "start": {"position": 0.3}, "tolerance": 1e-6, "warn": False}
    run = be.simulate(one, BENCH, np.full(n, 0.6), **how)
    assert np.ptp(run.position) > 0.05
    # A joint without friction rings at its step's own second order; begun elsewhere it is off by 0.05 rad.
    assert np.max(np.abs(positions - run.position)) < 1.5e-3
