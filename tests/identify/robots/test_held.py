"""The error of joints that are held while others move: MuJoCo made the recording, and a stiffness that is
wrong shows there."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.identify.plants.recordings import held_samples, recording_of
from backemf.identify.plants.robot_result import score_runs
from backemf.logs.log import Log
from backemf.mujoco.robot.joint_simulation import simulate_joints

from ...robot.arms import ARM
from ...robot.simulated import truth


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The shoulder swings, the elbow is asked to stay, and the wrist moves at first."""
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM.replace("<default>", '<option timestep="0.0005"/><default>', 1))
    robot, t = be.Robot.read(path), np.arange(0.0, 6.0, 0.02)
    asked = {
        "shoulder": -0.2 + 0.3 * np.sin(2 * np.pi * 0.6 * t),
        "elbow": np.full(len(t), 0.3),
        "wrist": np.where(t < 3.0, 0.2 + 0.2 * np.sin(2 * np.pi * t), 0.2),
    }
    model = be.attach(path, truth()).model
    data, rows = mujoco.MjData(model), []
    for name in robot.names:
        data.joint(name).qpos[0] = asked[name][0]
    for k in range(len(t)):
        rows.append([data.joint(name).qpos[0] for name in robot.names])
        data.ctrl[:] = [asked[name][k] for name in robot.names]
        mujoco.mj_step(model, data, nstep=40)
    q = np.array(rows)
    joints = {
        name: be.log(f"run/{name}", t, position=q[:, j], position_target=asked[name])
        for j, name in enumerate(robot.names)
    }
    return Log(name="run", signals={}, joints=joints, robot=robot)


def held_errors(log, actuators) -> dict[str, float]:
    run = simulate_joints(log.robot, actuators, log)
    return dict(
        score_runs(
            log.robot, log.robot.names, [recording_of(log.robot, log)], [run], held_out=True
        ).joints_held
    )


def test_only_what_is_held_counts_and_a_wrong_stiffness_shows_there(log):
    right = held_errors(log, truth())
    assert set(right) == {"elbow", "wrist"}  # the shoulder never is
    assert max(right.values()) < 0.5e-3  # MuJoCo's steps eight times finer
    soft = truth()
    soft["elbow"] = soft["elbow"].replace(**{"drive.proportional": 8.0})
    wrong = held_errors(log, soft)
    assert wrong["elbow"] > 5e-3 > 5 * right["elbow"]  # it hangs and swings twice as far from its command
    one = recording_of(log.robot, log)
    assert not held_samples(one, 2, "wrist")[: int(3.4 / 0.02)].any()
    assert held_samples(one, 2, "wrist")[int(3.6 / 0.02) :].mean() > 0.8  # but where the shoulder turns round
