"""Joints whose command is a torque: predicted over short stretches, judged by inverse dynamics, and motors
that move several joints."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import exports, identify
from backemf.errors import NotAvailable
from backemf.logs.coupling import joints_of_motors, with_coupling
from backemf.logs.log import Log
from backemf.mujoco.robot.joint_simulation import simulate_joints
from backemf.mujoco.robot.robot_motion import restarts_every

from ...cli.runner import runner
from ...robot.arms import ARM
from ...robot.simulated import COULOMB

ARMATURE, VISCOUS, KP, KD = 0.02, 0.15, 40.0, 2.0
COUPLED = {"elbow": {"elbow": 1.0, "wrist": 1.0}, "wrist": {"elbow": 1.0, "wrist": -1.0}}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return be.Robot.read(path)


def held(robot, seed: int, seconds: float = 8.0) -> Log:
    """An arm that somebody else's PD law holds, of which only the torques are recorded."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, seconds, 0.004)
    acts, asked = {}, {}
    for name, middle in (("shoulder", -0.3), ("elbow", 0.5), ("wrist", 0.3)):
        waves = [
            a * np.sin(2 * np.pi * f * t + p)
            for a, f, p in zip(
                rng.uniform(0.1, 0.3, 4), rng.uniform(0.2, 1.5, 4), rng.uniform(0, 6, 4), strict=True
            )
        ]
        asked[name] = middle + sum(waves) - sum(w[0] for w in waves)
        acts[name] = be.Actuator(
            motor=be.motor.Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=ARMATURE),
            friction=be.friction.Coulomb(coulomb=COULOMB[name], viscous=VISCOUS),
            drive=be.drive.Impedance(newton_metres_per_radian=KP, newton_metre_seconds_per_radian=KD),
        )
    still = {n: be.log(n, t, position=np.full(len(t), u[0]), position_target=u) for n, u in asked.items()}
    q = simulate_joints(robot, acts, Log(name="", signals={}, joints=still, robot=robot), step=5e-4)
    joints = {}
    for j, name in enumerate(robot.names):
        behind = np.append(q[1:, j], q[-1, j])  # the torque as it is on average until the next sample
        torque = KP * (asked[name] - 0.5 * (q[:, j] + behind)) - KD * (behind - q[:, j]) / (t[1] - t[0])
        seen = q[:, j] + rng.normal(0, 1e-5, len(t))
        joints[name] = be.log(f"run {seed}/{name}", t, position=seen, torque_target=torque)
    return Log(name=f"run {seed}", signals={}, joints=joints, robot=robot)


@pytest.fixture(scope="module")
def logs(robot):
    return [held(robot, seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def fit(logs):
    return be.fit("torque", logs, hold_out="run 2")


def test_friction_is_found_and_the_score_is_of_stretches_and_forces(fit):
    for name, truth in COULOMB.items():
        one = fit.joints[name].parameters["friction.coulomb"]
        assert one.value == pytest.approx(truth, rel=0.15), name  # a torque that is held between its samples
        assert fit.joints[name].parameters["friction.viscous"].value == pytest.approx(VISCOUS, rel=0.15)
    assert fit.score.stretch == 0.3
    assert fit.score.rms < 5e-3
    assert set(fit.score.force) == set(COULOMB)
    assert max(fit.score.force.values()) < 0.1
    (said,) = [f for f in fit.findings if f.code == "torque_driven"]
    assert "inverse dynamics leaves" in said.text


def test_predictions_begin_again_as_the_score_does(fit, logs):
    """Open loop nothing holds this arm; its band is of stretches, and a motion without positions has none."""
    motion = fit.predict(logs[1])
    assert motion.stretch == 0.3
    assert motion.rms() == pytest.approx(fit.score.rms, rel=1e-6)
    joints = {
        name: replace(one, signals={n: s for n, s in one.signals.items() if n != "position"})
        for name, one in logs[1].joints.items()
    }
    with pytest.raises(NotAvailable, match="has no positions"):
        fit.expected_error(replace(logs[1], joints=joints))


def test_the_force_error_is_what_friction_is_where_the_model_has_none(robot, logs, fit):
    """With armature and friction out of the model, inverse dynamics leaves just these of the torques."""
    from backemf.identify.plants.recordings import recording_of
    from backemf.identify.plants.robot_result import force_errors

    one = recording_of(robot, logs[1])
    bare = {
        "motor.rotor_inertia": 1e-9,
        "friction.coulomb": 0.0,
        "friction.viscous": 0.0,
        "friction.offset": 0.0,
    }
    acts = {
        n: f.actuator.replace(**{p: v for p, v in bare.items() if p in f.actuator.parameters})
        for n, f in fit.joints.items()
    }
    plant = type("Plant", (), {"robot": robot})
    optimum = type("Optimum", (), {"plant": plant, "actuators": acts, "delays": {}})
    found = force_errors(optimum, [one])  # type: ignore[arg-type]
    for j, name in enumerate(robot.names):
        v, a = one.motion.velocity[:, j], one.motion.acceleration[:, j]
        lost = ARMATURE * a + VISCOUS * v + COULOMB[name] * np.sign(v)
        asked = logs[1].joints[name]["torque_target"]
        expected = np.sqrt(np.sum(lost**2) / np.sum(asked**2))
        assert found[name] == pytest.approx(expected, rel=0.1), name


def test_stretches_begin_every_so_many_samples():
    t = 0.01 * np.arange(100)
    assert restarts_every(t, 0.3) == [30, 60, 90]
    assert restarts_every(t, 0.0) == []


@pytest.fixture(scope="module")
def at_motors(logs) -> list[Log]:
    """The same runs recorded at the motors of a differential: torques m = C^-1 tau, turned by C' q."""
    C = np.array([[1.0, 1.0], [1.0, -1.0]])
    made = []
    for log in logs:
        names = ("elbow", "wrist")
        torque = np.linalg.solve(C, np.stack([log.joints[n]["torque_target"] for n in names]))
        turned = C.T @ np.stack([log.joints[n]["position"] for n in names])
        motors = {
            n: be.log(n, log.time, position=turned[k], torque_target=torque[k]) for k, n in enumerate(names)
        }
        made.append(replace(log, joints={**log.joints, **motors}))
    return made


def test_motors_that_move_two_joints_each_are_told_apart(robot, logs, fit, at_motors, tmp_path):
    file = tmp_path / "coupling.json"
    file.write_text(json.dumps({**COUPLED, "at": "motors"}))
    back = joints_of_motors(at_motors, with_coupling(robot, file))
    for one, log in zip(back, logs, strict=True):
        for name in log.joints:
            for signal in ("position", "torque_target"):
                assert one.joints[name][signal] == pytest.approx(log.joints[name][signal], abs=1e-12)
    again = be.fit("torque", at_motors, hold_out="run 2", coupling=file)
    for name in COULOMB:
        values = [f.joints[name].parameters["friction.coulomb"].value for f in (fit, again)]
        assert values[1] == pytest.approx(values[0], rel=1e-3)
    again.write(tmp_path / "fit.json")  # and what it is asked later is coupled as well
    stored = be.Fit.read(tmp_path / "fit.json")
    for name in COULOMB:
        made = stored.predict(at_motors[1]).positions[name]
        assert made == pytest.approx(fit.predict(logs[1]).positions[name], abs=1e-3)
    with pytest.raises(be.BackemfError, match="with another"):
        be.fit("torque", back, coupling=COUPLED)


def test_columns_have_the_names_of_motors(robot, logs, at_motors, tmp_path):
    """Positions at the joints, torques at motors that are no joints: read, fitted, stored, read again."""
    columns = {"time": logs[0].time}
    for name, one in logs[0].joints.items():
        columns |= {f"{name}.position": one["position"]}
    columns["shoulder.torque_target"] = logs[0].joints["shoulder"]["torque_target"]
    for motor, name in (("left", "elbow"), ("right", "wrist")):
        columns[f"{motor}.torque_target"] = at_motors[0].joints[name]["torque_target"]
    table = tmp_path / "run.csv"
    rows = np.stack([*columns.values()], axis=1)
    np.savetxt(table, rows, delimiter=",", header=",".join(columns), comments="", fmt="%.9g")
    file = tmp_path / "coupling.json"
    file.write_text(json.dumps({"elbow": {"left": 1, "right": 1}, "wrist": {"left": 1, "right": -1}}))
    (tmp_path / "arm.xml").write_text(ARM)
    coupled = be.Robot.read(tmp_path / "arm.xml", coupling=file)
    (log,) = be.read(table, bench=coupled)
    assert set(log.joints) == set(robot.names)
    for name in robot.names:
        asked = logs[0].joints[name]["torque_target"]
        assert log.joints[name]["torque_target"] == pytest.approx(asked, abs=1e-6)
    stored = tmp_path / "fit.json"
    how = ["--robot", str(tmp_path / "arm.xml"), "--start", "torque", "-o", str(stored)]
    runner(identify.fit)(table, *how, "--coupling", file)
    fit = be.Fit.read(stored)
    (row,) = json.loads(runner(exports.replay)(stored, table, "--json"))["recordings"]
    assert row["rms"] == pytest.approx(fit.score.rms, rel=0.05)
    said = runner(exports.replay)(stored, table.rename(tmp_path / "another.csv"))
    assert "over 0.3 s each" in said
    assert "another was not fitted" in said
    assert "% of it are inside the 95 % band" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"elbow": {"a": 1.0}, "wrist": {"a": 2.0}}, "as many motors as joints"),
        ({"elbow": {"a": 1.0, "b": 1.0}, "wrist": {"a": 2.0, "b": 2.0}}, "none a combination"),
        ({"elbo": {"a": 1.0}}, "unknown joint 'elbo'"),
        ({"elbow": 1.0}, "expected"),
        ({}, "as many motors as joints"),
        ("no-such.json", "no-such.json"),
        ({"elbow": {"elbow": 1.0}, "at": "moon"}, "at is 'moon'"),
    ],
)
def test_a_coupling_that_cannot_be_is_refused(robot, given, said):
    with pytest.raises(be.BackemfError, match=said):
        with_coupling(robot, given)


def test_a_motor_that_was_not_recorded_is_said(robot, logs):
    coupled = with_coupling(robot, {"elbow": {"left": 1.0}})
    with pytest.raises(be.BackemfError, match="unknown motor 'left'"):
        joints_of_motors(logs, coupled)


def test_z1s_torques_as_the_command(shared_data):
    """A real arm: open-loop seconds were 755 mrad off; over 0.3 s it stays within a degree, and inverse
    dynamics leaves less than a quarter of every torque on the part that was not fitted."""
    robot = be.Robot.read(shared_data / "z1" / "z1.xml")
    (log,) = be.read(shared_data / "z1" / "z1.csv", bench=robot)
    joints = {
        name: replace(
            one,
            signals={n: s for n, s in one.signals.items() if n in ("position", "velocity", "torque_target")},
        )
        for name, one in log.joints.items()
    }
    log = replace(log, joints=joints)
    fit = be.fit("torque", [log], hold_out="last 40 %")
    assert fit.score is not None
    assert fit.score.held_out
    assert fit.score.rms < 0.0175
    assert len(fit.score.force) == 6
    assert max(fit.score.force.values()) < 0.25
    assert "torque_driven" in {f.code for f in fit.findings}
    for one in fit.joints.values():
        coulomb = one.parameters["friction.coulomb"]
        assert coulomb.error < 0.2 * coulomb.value  # without stretches half of it
    end = log.between(log.time[0] + 0.6 * (log.time[-1] - log.time[0]), log.time[-1])
    motion = fit.predict(replace(end, name="its end"))
    assert motion.rms() == pytest.approx(fit.score.rms, rel=0.05)  # other stretches of it
    assert 0.9 < motion.inside() <= 1.0
    # calibrated over stretches of open-loop seconds three times what comes true was said
    assert 0.5 < motion.expected.mae / motion.mean_absolute() < 2.0
