"""`fit.predict`: a robot's joints together, each by itself, and a bench as a robot with one joint."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.apps.film.recorded_run import recorded_run
from backemf.apps.report.contents import report
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


def test_a_motion_that_nobody_recorded_is_predicted_and_nothing_else(robot):
    """It begins at rest where it is first asked to be; empty positions are none. What holds a model against
    recordings says that there is none."""
    log = recording(robot, 1, 4.0)
    fit = known_fit(robot, [log], [])
    t, joints = np.arange(0.0, 2.0, 0.02), ["elbow", "shoulder", "wrist"]
    asked = 0.1 + 0.3 * np.sin(t)[:, None] * np.array([1.0, -0.5, 0.8])
    how = {"bench": robot, "joints": joints, "position_target": asked}
    planned = be.log("planned", t, **how)
    motion = fit.predict(planned)
    assert np.isnan(motion.array("recorded")[1:]).all()
    np.testing.assert_allclose(motion.array()[0], 0.1)
    assert np.abs(motion.positions["elbow"] - asked[:, 0]).max() < 0.1
    for start in (np.full(asked.shape, np.nan), np.where(t[:, None] == 0, asked, np.nan)):
        same = fit.predict(be.log("planned", t, position=start, **how))
        np.testing.assert_allclose(same.array(), motion.array(), atol=1e-12)
    ways = (
        lambda: be.fit({".*": "sts3215-12v"}, [log, planned]),
        lambda: recorded_run(fit, planned),
        lambda: report(fit, [planned], exported=False),
        lambda: be.Task.of_robot(robot, planned, "elbow"),
    )
    for way in ways:
        with pytest.raises(be.errors.MissingValue, match=r"planned has no (position|value of position)"):
            way()
    with pytest.raises(
        be.BackemfError, match=r"expected_error was given a list; .*fit.expected_error\(log\)"
    ):
        fit.expected_error([planned])


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
