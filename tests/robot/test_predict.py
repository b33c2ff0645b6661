"""`fit.predict`: a robot's joints together, each by itself, and a bench as a robot with one joint."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.identify.predict import predict_joint, predict_logs, run
from backemf.mujoco.robot.joint_simulation import simulate_joints

from ..identify.recordings import clean
from .arms import ARM
from .known import known_fit
from .simulated import recording


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return be.Robot.read(path)


def test_joints_are_simulated_together_and_each_by_itself(robot):
    logs = [recording(robot, k, 4.0) for k in (1, 2)]
    fit = known_fit(robot, logs[:1], logs[1:])
    motion = fit.predict(logs[1])
    assert motion.role == "held out"
    assert motion.joints == ("shoulder", "elbow", "wrist") == tuple(motion.positions)
    together = simulate_joints(robot, fit.actuators, logs[1], delays=fit.delays)
    np.testing.assert_array_equal(motion.array(), together)
    recorded = motion.array("recorded")
    assert motion.rms() == pytest.approx(np.sqrt(np.nanmean((together - recorded) ** 2)), abs=1e-15)
    assert motion.rms(motion.recorded) == 0.0
    assert motion.rms() < 2e-3  # the truth itself: noise and encoder counts are left
    alone = predict_joint(motion, "elbow")
    assert alone.role == "held out"
    assert alone.error < 2e-3  # on samples in which nothing touches
    assert [one.log.name for one in predict_logs(fit, logs)] == ["run 1", "run 2"]


def test_a_bench_is_a_robot_with_one_joint():
    logs = clean(0)[:2]
    fit = be.fit(be.Actuator.read("sts3215-12v"), logs[:1], inspect=False, n_starts=1)
    motion = fit.predict(logs[1])
    alone = run(fit, logs[1])
    assert motion.joints == ("",)
    assert motion.role == "not in the fit"
    np.testing.assert_array_equal(motion.positions[""], alone.position)
    np.testing.assert_array_equal(predict_joint(motion).velocity, alone.velocity)
    assert motion.rms() == pytest.approx(np.sqrt(np.nanmean((alone.position - logs[1]["position"]) ** 2)))
