"""Play of an arm's joints, each for itself, from recordings that MuJoCo made with teeth that meet."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.logs.log import Log
from backemf.mujoco.robot.joint_simulation import simulate_joints

from ...robot.arms import ARM
from ...robot.simulated import STEP, truth

GAPS = {"elbow": 8e-3, "wrist": 0.015}
FINE = '<option timestep="0.00025" integrator="implicitfast"/><default>'


def triangle(t: np.ndarray, f: float, phase: float) -> np.ndarray:
    return 2 / np.pi * np.arcsin(np.sin(2 * np.pi * f * t + phase))


def slow_reversals(seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The arm hangs nearly straight down, so that gravity hardly loads the teeth."""
    t = np.arange(0.0, 10.0, 0.02)
    return t, {
        "shoulder": 1.5 + 0.12 * triangle(t, 0.31 + 0.05 * seed, 0.3),
        "elbow": 0.06 + 0.15 * triangle(t, 0.43 + 0.04 * seed, 1.1),
        "wrist": 0.15 * triangle(t, 0.67 - 0.05 * seed, 2.0),
    }


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """The model as its owner has it, and the same with steps that teeth need."""
    folder = tmp_path_factory.mktemp("arm")
    (folder / "arm.xml").write_text(ARM)
    (folder / "fine.xml").write_text(ARM.replace("<default>", FINE, 1))
    return folder


def recording(arm, actuators, seed: int) -> Log:
    """What MuJoCo does with these actuators in its step."""
    robot = be.Robot.read(arm / "arm.xml")
    model = be.attach(arm / "fine.xml", actuators, substeps=8).model
    data, (t, asked) = mujoco.MjData(model), slow_reversals(seed)
    for name in robot.names:
        data.joint(name).qpos[0] = asked[name][0]
    rows = []
    for k in range(len(t)):
        rows.append([data.joint(name).qpos[0] for name in robot.names])
        for name in robot.names:
            data.ctrl[model.actuator(f"m_{name}").id] = asked[name][k]
        mujoco.mj_step(model, data, nstep=80)
    q = np.array(rows)
    seen = np.round((q + np.random.default_rng(seed).normal(0, 3e-4, q.shape)) / STEP) * STEP
    joints = {
        name: be.log(f"run {seed}/{name}", t, position=seen[:, j], position_target=asked[name])
        for j, name in enumerate(robot.names)
    }
    return Log(name=f"run {seed}", signals={}, joints=joints, robot=robot)


def test_each_joints_play_is_found_and_none_where_there_is_none(arm):
    worn = truth()
    for name, gap in GAPS.items():
        teeth = {"backlash": gap, "contact_stiffness": 800.0, "contact_damping": 0.3}
        worn[name] = replace(worn[name], gearbox=replace(worn[name].gearbox, **teeth))
    logs = [recording(arm, worn, seed) for seed in (1, 2, 3)]
    start = truth()["elbow"].replace(**{"friction.coulomb": 0.1, "friction.viscous": 0.1})
    also = ["gearbox.backlash"]
    fit = be.fit(start, logs, friction="coulomb", also=also, bands=False)
    for name, gap in GAPS.items():
        assert fit.parameters[f"{name}.gearbox.backlash"].value == pytest.approx(gap, rel=0.2)
        assert fit.actuators[name].gearbox.backlash == fit.joints[name].parameters["gearbox.backlash"].value
    none = fit.parameters["shoulder.gearbox.backlash"]
    assert (none.value, fit.actuators["shoulder"].gearbox.backlash) == (0.0, None)
    assert [f.code for f in fit.findings].count("no_play") == 1
    assert len({actuator.motor for actuator in fit.actuators.values()}) == 1, "what joints share stays shared"
    motor = fit.actuators["shoulder"].motor  # of no joint by itself: all of them say what it is
    assert motor.torque_constant == pytest.approx(truth()["elbow"].motor.torque_constant, rel=0.1)
    assert fit.score.rms < 1.2e-3  # all joints together, with their play: the encoder's steps are 1.5 mrad
    assert max(fit.training.values()) < 0.9e-3  # each by itself
    assert len(fit.draws(2)) == 2


def test_all_joints_together_move_with_their_play(arm):
    """Beside MuJoCo in steps eight times finer; without the teeth it is clearly further off."""
    worn = truth()
    for name, gap in GAPS.items():
        teeth = {"backlash": gap, "contact_stiffness": 1500.0, "contact_damping": 0.5}
        worn[name] = replace(worn[name], gearbox=replace(worn[name].gearbox, **teeth))
    log = recording(arm, worn, 1)
    robot = be.Robot.read(arm / "arm.xml")
    seen = np.stack([log.joints[name].signals["position"].values for name in robot.names], axis=1)
    off = {}
    for way, actuators in (("loose", worn), ("rigid", truth())):
        error = simulate_joints(robot, actuators, log) - seen
        off[way] = np.sqrt(np.mean(error**2, axis=0))[1:]
    assert np.all(off["loose"] < 0.65e-3)  # noise of 0.3 mrad and the encoder's steps leave 0.53
    assert np.all(off["rigid"] > 0.9e-3)
