"""All joints together: as one joint alone where there is one, friction that holds, a table that stops."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.logs.log import Log
from backemf.logs.robot import Ground
from backemf.mujoco.robot.contact import clearance
from backemf.mujoco.robot.joint_simulation import simulate_joints
from backemf.mujoco.robot.robot_motion import motion_of
from backemf.targets.mujoco.robots import CtrlInput, drive_robot

from .arms import ARM
from .simulated import TRUTH

ONE = """
<mujoco><worldbody><body pos="0 0 0.5"><joint name="swing" axis="0 1 0"/>
<inertial pos="0 0 -0.15" mass="0.4" diaginertia="1e-9 1e-9 1e-9"/>
<geom type="sphere" pos="0 0 -0.15" size="0.02"/></body></worldbody></mujoco>
"""
"""A pendulum that hangs at 0."""
WRIST = '<joint name="wrist" class="servo"/>', ""
MOTOR = '<position name="m_wrist" joint="wrist" class="servo"/>', ""


def robot_of(tmp_path, text):
    (tmp_path / "robot.xml").write_text(text)
    return be.Robot.read(tmp_path / "robot.xml")


def asked_of(robot, t, begin=0.0, **targets):
    joints = {
        n: be.log(
            n, t, position=np.full(len(t), begin), position_target=targets.get(n, np.full(len(t), begin))
        )
        for n in robot.names
    }
    return Log(name="run", signals={}, joints=joints, robot=robot)


@pytest.mark.parametrize("friction", ["coulomb", "m4"])
def test_one_joint_moves_as_on_its_bench(tmp_path, friction):
    from backemf.identify.frictions import with_friction

    actuator = with_friction(TRUTH, friction)
    robot, t = robot_of(tmp_path, ONE), np.arange(0, 3, 0.02)
    target = np.where(t < 0.1, 0.0, 0.6) * np.where(t < 1.5, 1.0, -0.5)
    q = simulate_joints(robot, {"swing": actuator}, asked_of(robot, t, swing=target), step=2.5e-4)
    bench = be.bench.Pendulum(mass=0.4, length=0.15)
    alone = be.simulate(
        actuator, bench, be.signal.held(t, target), duration=float(t[-1]), dt=0.02, substeps=40
    )
    # a jump to the drive's limit comes up to half a step early: 0.13 ms at 8 rad/s
    assert q[:, 0] == pytest.approx(np.interp(t, alone.time, alone["position"]), abs=1.5e-3)


def test_dry_friction_holds_a_joint_without_creep(tmp_path):
    robot, t = robot_of(tmp_path, ARM), np.arange(0, 20, 0.02)
    stiff = TRUTH.replace(**{"friction.coulomb": 2.0, "drive.proportional": 0.0})
    q = simulate_joints(robot, dict.fromkeys(robot.names, stiff), asked_of(robot, t))
    assert np.abs(q - q[0]).max() < 1e-4  # gravity's 1.2 N m against 2 N m


def test_a_table_stops_the_arm_where_it_stands(tmp_path):
    robot, t = robot_of(tmp_path, ARM), np.arange(0, 4, 0.02)
    down = {"shoulder": np.minimum(t, 1.2)}
    acts = dict.fromkeys(robot.names, TRUTH)
    free = clearance(robot, simulate_joints(robot, acts, asked_of(robot, t, **down)))
    held = clearance(
        robot, simulate_joints(robot, acts, asked_of(robot, t, **down), ground=Ground(height=0.1))
    )
    assert free is not None
    assert held is not None
    assert free.height.min() < 0.0
    assert held.height[-1] == pytest.approx(0.1, abs=4e-3)


def test_what_a_led_joint_carries_weighs_on_the_others(tmp_path):
    """A hand that is held still by its recording, and the same hand without a joint."""
    t = np.arange(0, 3, 0.02)
    arm, welded = (robot_of(tmp_path, text) for text in (ARM, ARM.replace(*WRIST).replace(*MOTOR)))
    log, acts = asked_of(arm, t, shoulder=0.5 * np.sin(3 * t)), dict.fromkeys(("shoulder", "elbow"), TRUTH)
    stiff = replace(log, robot=welded, joints={name: log.joints[name] for name in acts})
    led = simulate_joints(arm, acts, log)
    assert led[:, :2] == pytest.approx(simulate_joints(welded, acts, stiff), abs=1e-5)


def test_joints_without_an_actuator_move_as_recorded(tmp_path):
    robot, t = robot_of(tmp_path, ARM), np.arange(0, 2, 0.02)
    log = asked_of(robot, t)
    wrist = be.log("wrist", t, position=0.3 * np.sin(3 * t), position_target=0 * t)
    log = Log(name="run", signals={}, joints={**log.joints, "wrist": wrist}, robot=robot)
    q = simulate_joints(robot, {n: TRUTH for n in ("shoulder", "elbow")}, log)
    assert q[:, 2] == pytest.approx(0.3 * np.sin(3 * t), abs=5e-3)


def test_a_restart_puts_the_joints_where_they_were_recorded(tmp_path):
    robot, t = robot_of(tmp_path, ARM), np.arange(0, 2, 0.02)
    log = asked_of(robot, t, begin=0.2)
    pulled = {n: be.log(n, t, position=np.full(len(t), 0.2), position_target=0 * t) for n in robot.names}
    log = Log(name="run", signals={}, joints=pulled, robot=robot)
    acts = dict.fromkeys(robot.names, TRUTH)
    free, again = (simulate_joints(robot, acts, log, restarts=cut) for cut in ((), (50,)))
    np.testing.assert_array_equal(free[:51], again[:51])
    # it moves from there as it did from the beginning
    assert again[51:71] == pytest.approx(free[1:21], abs=1e-4)


def test_a_command_beyond_the_models_range_counts_as_it_was_given(tmp_path):
    robot, t = robot_of(tmp_path, ONE), np.arange(0, 2, 0.02)
    asked = asked_of(robot, t, swing=np.where(t < 0.1, 0.0, 0.6))
    servo = '<actuator><position joint="swing" ctrlrange="-.1 .1"/></actuator>'
    narrow = robot_of(tmp_path, ONE.replace("</mujoco>", f"{servo}</mujoco>"))
    wide, q = (simulate_joints(one, {"swing": TRUTH}, asked)[:, 0] for one in (robot, narrow))
    assert q == pytest.approx(wide, abs=1e-9)
    assert q[-1] > 0.4


@pytest.mark.parametrize("late", [0.007, -0.006])
def test_a_command_counts_when_it_is_said_to_inside_a_sample_too(tmp_path, late):
    robot, t = robot_of(tmp_path, ONE), np.arange(0, 2, 0.02)
    target = np.where(t < 0.1, 0.0, 0.4) * np.where(t < 1.0, 1.0, -0.5)
    q = simulate_joints(
        robot, {"swing": TRUTH}, asked_of(robot, t, swing=target), delays={"swing": late}, step=5e-4
    )
    fine = np.arange(0, 1.98, 0.001)
    then = target[np.clip(np.floor((fine - late) / 0.02 + 1e-9).astype(int), 0, len(t) - 1)]
    bench = be.bench.Pendulum(mass=0.4, length=0.15)
    alone = be.simulate(TRUTH, bench, be.signal.held(fine, then), duration=1.98, dt=0.001, substeps=4)
    # half a step of 0.5 ms at 8 rad/s; a millisecond too early or late would be 8e-3
    assert q[:, 0] == pytest.approx(np.interp(t, alone.time, alone["position"]), abs=2.5e-3)


@pytest.mark.parametrize("ways", ["live", "shipped"])
def test_a_straight_motion_that_is_recorded_more_often_is_the_same(tmp_path, ways):
    """A shoulder that is led evenly swings what hangs on it, however many samples say so."""
    robot, seen = robot_of(tmp_path, ARM), []
    for dt in (0.04, 0.02, 0.004):
        t = np.arange(0, round(0.6 / dt) + 1) * dt
        q = {"shoulder": -0.4 + 1.5 * t, "elbow": 0 * t, "wrist": 0 * t}
        joints = {n: be.log(n, t, position=q[n], position_target=0 * t) for n in robot.names}
        log = Log(name="run", signals={}, joints=joints, robot=robot)
        if ways == "live":
            found = simulate_joints(robot, dict.fromkeys(("elbow", "wrist"), TRUTH), log, step=0.004)
        else:
            still, on = np.zeros((len(t), 1)), np.zeros(len(t))
            sent = [CtrlInput(j, j, 1.0, still, still, on) for j in (1, 2)]
            found = drive_robot(mujoco.MjModel.from_xml_string(ARM), robot, motion_of(robot, log), sent)
        np.testing.assert_allclose(found[:, 0], q["shoulder"], atol=1e-9)
        seen.append(found[:: round(0.04 / dt), 1:])
    assert np.ptp(seen[0]) > 0.02
    for other in seen[1:]:
        np.testing.assert_allclose(other, seen[0], atol=1e-6)
