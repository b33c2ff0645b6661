"""A robot whose actuators are known, recorded and fitted: numbers within their intervals, contact found, and
sentences where something does not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.identify import fit as command, robot_content, robot_text
from backemf.apps.cli.report import report
from backemf.identify.fit_options import parse_share
from backemf.identify.holdout import divide
from backemf.identify.plants.recordings import recording_of
from backemf.identify.plants.robot_result import of_falls
from backemf.identify.plants.starts import gains_of, torque_level, without_echo
from backemf.mujoco.robot.masses import change_robot
from backemf.mujoco.robot.robot_motion import bare_model

from ...cli.runner import runner
from ...robot.arms import ARM
from ...robot.simulated import DELAYS, TRUTH, recording, truth

TABLE = 0.02
START = TRUTH.replace(
    **{
        "motor.resistance": 4.4,
        "motor.torque_constant": 1.35,
        "motor.rotor_inertia": 0.008,
        "friction.coulomb": 0.1,
        "friction.viscous": 0.1,
    }
)


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return be.Robot.read(path)


@pytest.fixture(scope="module")
def logs(robot):
    """Five runs above a table, the last of which leans on it."""
    return [recording(robot, k, 12.0, ground=TABLE, low=0.7 if k == 5 else 0.0) for k in range(1, 6)]


@pytest.fixture(scope="module")
def fit(logs):
    return be.fit(START, logs, prior={"motor.resistance": (4.0, 0.4)}, friction="coulomb", hold_out="run 4")


def test_one_motor_is_shared_and_each_joint_has_its_own_friction(fit):
    names = set(fit.parameters)
    assert {"motor.resistance", "motor.torque_constant", "motor.rotor_inertia"} <= names
    assert {f"{j}.friction.coulomb" for j in DELAYS} <= names
    assert set(fit.actuators) == set(DELAYS) == set(fit.joints)
    motors = {a.motor for a in fit.actuators.values()}
    assert len(motors) == 1


def test_what_was_put_in_comes_out(fit):
    known = truth()
    for name, p in fit.parameters.items():
        joint, _, path = name.partition(".")
        value = known[joint].parameters[path] if joint in known else TRUTH.parameters[name]
        # four standard errors: 12 numbers of one fit, none of them may be that far
        assert abs(p.value - value) < 4 * p.error, name
    for joint, late in fit.delays.items():
        assert late == pytest.approx(DELAYS[joint], abs=3e-3)  # a seventh of a sample, of either sign


def test_the_score_is_of_all_joints_together_on_what_was_held_out(fit):
    assert fit.score.held_out
    assert set(fit.score.logs) == {"run 4"}
    assert fit.score.rms_free < 6e-3  # some encoder steps of 1.5 mrad
    assert fit.score.rms_free <= 1.5 * fit.score.rms


def test_contact_is_found_with_its_place(fit):
    (said,) = [f for f in fit.findings if f.code == "contact"]
    assert "run 5" in said.logs
    assert fit.robot.ground.height == pytest.approx(TABLE, abs=5e-3)  # the hand is 10 mm thick


def test_a_fit_is_stored_whole(fit, tmp_path):
    fit.write(tmp_path / "fit.json")
    again = be.Fit.read(tmp_path / "fit.json")
    assert again == fit
    assert again.actuators == fit.actuators
    assert again.joints["elbow"].draws(2)
    one, two = again.draws(2)
    assert set(one) == set(again.joints)
    shared = [a.motor.torque_constant for a in one.values()]
    assert len(set(shared)) == 1 != len({*shared, two["elbow"].motor.torque_constant})
    assert one["elbow"].friction != one["shoulder"].friction


def test_every_joint_of_the_whole_is_a_fit_of_its_own(fit):
    one = fit.joints["elbow"]
    assert set(one.parameters) >= {"motor.torque_constant", "friction.coulomb"}
    assert one.parameters["friction.coulomb"] == fit.parameters["elbow.friction.coulomb"]
    assert set(one.held_out) == {"run 4"}
    assert np.diag(fit.correlation) == pytest.approx(1.0)
    assert np.abs(fit.correlation).max() < 1.0 + 1e-9


def test_the_last_part_of_every_log_can_be_held_out(logs):
    first, rest = divide(logs, "last 40 %")
    assert [log.name for log in first] == [log.name for log in logs]
    assert all("last 40 %" in log.name for log in rest)
    assert first[0].time[-1] < rest[0].time[0]
    assert len(first[0]) == pytest.approx(0.6 * len(logs[0]), abs=2)
    with pytest.raises(be.BackemfError, match="above 0 %"):
        divide(logs, "last 100 %")


def test_gains_are_given_once_by_list_or_by_joint(robot, logs):
    assert gains_of(robot, {"kp": 20, "kd": [1, 2, 3]}, logs)["wrist"] == (20, 3)
    by_name = {"kp": {"shoulder": 1, "elbow": 2, "wrist": 3}}
    assert gains_of(robot, by_name, logs)["elbow"] == (2, 0)
    with pytest.raises(be.BackemfError, match="2 numbers for 3 joints"):
        gains_of(robot, {"kp": [1, 2]}, logs)
    with pytest.raises(be.BackemfError, match='no "kp"'):
        gains_of(robot, {"P": 1}, logs)


def test_a_recorded_torque_that_is_the_law_itself_is_no_command(robot, logs):
    acts = {j.name: torque_level(j, (20.0, 1.0)) for j in robot.joints}
    log = logs[0]
    joints = {}
    for name, one in log.joints.items():
        law = 20.0 * (one["position_target"] - one["position"])
        q, u = one["position"], one["position_target"]
        joints[name] = be.log(name, one.time, position=q, position_target=u, torque_target=law)
    (kept,), said = without_echo([type(log)(name="run", signals={}, joints=joints, robot=robot)], acts)
    assert [f.code for f in said] == ["torque_is_law"]
    assert all("torque_target" not in one for one in kept.joints.values())


def test_joints_that_do_not_exist_or_were_not_told_are_refused(robot, logs):
    with pytest.raises(be.BackemfError, match="did you mean 'elbow'"):
        be.fit(START, logs, joints=["elbo"])
    with pytest.raises(be.BackemfError, match="unknown joint 'hip"):
        be.fit({"hip.*": START}, logs)
    with pytest.raises(be.BackemfError, match="unknown parameter or part to share 'moter'"):
        be.fit(START, logs, share=["moter"])


def test_the_command_line_prints_scores_and_numbers(robot, logs, tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    START.write(tmp_path / "start.json")
    for log in logs[:3]:
        names = list(log.joints)
        rows = np.stack(
            [log.time, *(log[f"{n}.{s}"] for n in names for s in ("position", "position_target"))], axis=1
        )
        head = ",".join(["time", *(f"{n}.{s}" for n in names for s in ("position", "target"))])
        np.savetxt(
            tmp_path / f"{log.name.replace(' ', '')}.csv",
            rows,
            delimiter=",",
            header=head,
            comments="",
            fmt="%.6f",
        )
    told = [f"{tmp_path}/*.csv", "--robot", f"{tmp_path}/arm.xml", "--start", f"{tmp_path}/start.json"]
    stored = ("-o", tmp_path / "fit.json")
    answer = json.loads(
        runner(command)(*told, "--friction", "coulomb", "--hold-out", "run2", "run3", *stored, "--json")
    )
    page = ("-o", tmp_path / "page.html", "--no-exports", "--json")
    judged = json.loads(runner(report)(tmp_path / "fit.json", f"{tmp_path}/*.csv", *page))
    assert answer["verdict"] == {"level": judged["level"], "text": judged["verdict"][0]}  # one source
    assert "on 2 recordings it never saw, all 3 joints together" in answer["verdict"]["text"]
    assert 0 < answer["held_out_rms_free"] < 0.02
    assert set(answer["logs"]) == {"run2", "run3"}
    number = answer["joints"]["elbow"]["parameters"]["friction.coulomb"]
    assert number["unit"] == "N m"
    assert number["error"] > 0
    assert "drive.delay" in answer["joints"]["wrist"]["parameters"]
    assert {name: one["rms_held"] for name, one in answer["joints"].items()} == {
        name: pytest.approx(one["rms_held"]) for name, one in judged["joints"].items()
    }


def test_a_recording_at_whose_end_nothing_is_followed_is_said(robot, logs):
    log = logs[0]
    joints = {}
    for name, one in log.joints.items():
        q = np.where(one.time > 8.0, one["position"] + 1.0, one["position"])
        joints[name] = be.log(name, one.time, position=q, position_target=one["position_target"])
    fallen = recording_of(robot, type(log)(name="fallen", signals={}, joints=joints, robot=robot))
    (said,) = of_falls([fallen, recording_of(robot, log)])
    assert said.code == "fell"
    assert "fallen" in said.text
    assert said.numbers["begin"] == pytest.approx(8.0, abs=0.1)


def test_a_recorded_base_is_refused_until_logs_can_hold_it(robot, logs):
    with pytest.raises(be.BackemfError, match="no channels for the motion of a base"):
        be.fit(START, [replace(log, robot=replace(robot, base="recorded")) for log in logs])


def test_masses_are_found_where_the_model_is_wrong(robot):
    """An arm with a payload that its model lacks; the winding is known, so that weights are told."""
    heavy = change_robot(robot, {"payload.mass": 0.03})
    logs = [replace(recording(heavy, k, 10.0, step=1e-3), robot=robot) for k in (1, 2, 3)]
    prior = {"motor.resistance": (4.0, 0.04), "motor.torque_constant": (1.2, 0.012)}
    fit = be.fit(START, logs, prior=prior, friction="coulomb", free_inertia=0.1)
    found = {b.path: b for b in fit.bench if b.path.startswith("robot.")}
    assert {"robot.payload.mass", "robot.base.tilt_y", "robot.elbow.offset", "robot.fore.mass"} <= set(found)
    truth_of = {path: 0.03 if path == "robot.payload.mass" else b.stated for path, b in found.items()}
    z = [abs(b.value - truth_of[path]) / b.error for path, b in found.items()]
    # of three recordings nobody knows how much they disagree, and friction is not quite MuJoCo's
    assert np.mean(np.array(z) < 2.0) >= 0.75
    # what gravity pulls at the hand is known, whichever of the numbers has it
    hand = bare_model(fit.robot).body("hand")
    true = bare_model(heavy).body("hand")
    moment = [float(m.mass[0] * m.ipos[0]) for m in (hand, true)]
    assert moment[0] == pytest.approx(moment[1], rel=0.25)
    assert fit.score.rms_free < 4e-3


def test_a_payload_and_how_the_base_stands_are_found_by_name(robot):
    """Ten times the payload of the test above, and an arm that is bolted 3 degrees askew."""
    truth = {"payload.mass": 0.08, "base.tilt_y": 0.05}
    logs = [replace(recording(change_robot(robot, truth), k, 8.0, step=1e-3), robot=robot) for k in (1, 2, 3)]
    prior = {"motor.resistance": (4.0, 0.04), "motor.torque_constant": (1.2, 0.012)}
    named = ["robot.payload.mass", "robot.base"]
    fit = be.fit(START, logs, prior=prior, friction="coulomb", also=named, bands=False)
    found = {b.path.removeprefix("robot."): b for b in fit.bench if b.path.startswith("robot.")}
    assert set(truth) <= set(found) <= {*truth, "base.tilt_x"}  # about its own axis nothing is told
    for name, value in truth.items():
        assert found[name].value == pytest.approx(value, abs=3 * found[name].error), name
        assert found[name].error < 0.3 * value
    with pytest.raises(be.BackemfError, match=r"unknown number of the robot 'robot\.payloads'"):
        be.fit(START, logs, prior=prior, also=["robot.payloads"])


def test_numbers_of_a_robots_joints_may_be_set_before_the_fit(robot):
    """A supply and one joint's gain that nobody wrote into the recordings; without them another stiffness
    would be found."""
    logs = [recording(robot, k, 5.0) for k in (1, 2)]
    wrong = START.replace(**{"drive.supply": 9.0})
    usual: dict[str, Any] = {"friction": "coulomb", "bands": False}
    right = be.fit(START, logs, **usual)
    volts = START.parameters["drive.supply"]
    again = be.fit(wrong, logs, values={"drive.supply": f"{volts:g} V"}, **usual)
    gain = 2.0 * START.parameters["drive.proportional"]
    other = be.fit(START, logs, values={"elbow.drive.proportional": gain}, **usual)
    left = be.fit(wrong, logs, **usual)
    for joint, one in right.joints.items():
        assert again.joints[joint].actuator == one.actuator
        assert left.joints[joint].actuator != one.actuator
    assert other.joints["elbow"].actuator.parameters["drive.proportional"] == gain
    assert other.joints["wrist"].actuator.parameters["drive.proportional"] == 0.5 * gain
    assert other.score.joints["elbow"] > 1.5 * right.score.joints["elbow"]
    with pytest.raises(be.BackemfError, match="sole"):
        be.fit(START, logs, values={"sole.drive.proportional": 3})


def test_what_the_joints_do_not_have_may_be_asked_for(robot):
    absent = ["friction.asymmetry", "drive.deadband", "drive.slew"]
    logs = [recording(robot, k, 3.0) for k in (1, 2)]
    fit = be.fit(START, logs, friction="coulomb", also=absent, bands=False)
    assert all(any(name.endswith(path) for name in fit.parameters) for path in absent)
    assert fit.score.rms < 4e-3


def test_a_share_of_the_masses_is_read_from_the_command_line():
    assert parse_share(None) == 0.0
    assert parse_share("10%") == pytest.approx(0.1)
    assert parse_share("0.05") == pytest.approx(0.05)
    for text in ("much", "0%", "200%"):
        with pytest.raises(be.BackemfError, match="expected a share, as in 10%"):
            parse_share(text)


def test_a_stated_mass_may_be_off_by_eight_tolerances_and_never_vanishes():
    from backemf.identify.plants.inertia import _parameter
    from backemf.mujoco.robot.masses import Unknown

    mass = _parameter(Unknown("hand.mass", 0.5, 0.05, "kg"))
    assert (mass.low, mass.high) == (pytest.approx(0.025), pytest.approx(0.9))
    place = _parameter(Unknown("hand.centre_x", 0.02, 0.01, "m"))
    assert (place.low, place.high) == (pytest.approx(-0.06), pytest.approx(0.1))


def test_the_ladder_of_a_robot_settles_one_friction_and_remembers_the_others(robot):
    short = [recording(robot, k, 5.0) for k in (1, 2, 4)]
    climbed = be.ladder(START, short, rungs=("coulomb", "stribeck"), hold_out="run 4")
    poor, rich = climbed.rungs
    assert set(poor.errors) == {"run 2"}  # of those that may be fitted; run 4 takes no part in the choice
    assert set(climbed.fit.training) == {"run 1", "run 2"}
    assert set(climbed.fit.held_out) == {"run 4"}
    assert climbed.fit.cpu_s > 0
    assert rich.n_numbers == poor.n_numbers + 6  # static friction and its velocity, of three joints
    assert [rung.name for rung in climbed.rungs if rung.fit is not None] == [climbed.chosen]
    assert climbed.held_out == "the coupled simulation of motions left out of the search (run 2)"
    fit = climbed.fit
    assert fit.friction == climbed.chosen
    assert [(rung.friction, rung.chosen) for rung in fit.rungs] == [
        (name, name == climbed.chosen) for name in ("coulomb", "stribeck")
    ]
    assert [(rung.held_out_mae, rung.held_out_rms) for rung in fit.rungs] == [
        (None, one.score.rms) for one in climbed.rungs
    ]
    told = robot_content(fit)["ladder"]
    assert [(row["held_out_mae"], row["held_out_rms"]) for row in told] == [
        (None, pytest.approx(one.score.rms)) for one in climbed.rungs
    ]
    assert "together [mrad RMS]" in robot_text(fit)
    assert fit.score is not None
    assert fit.score.held_out
    assert fit.score.rms < 5e-3  # of the run held out; the encoder's step is 1.5 mrad


@pytest.mark.parametrize(
    "path", ["deadband", "punch", "duty_limit", "slew", "acceleration", "firmware_integral_gain"]
)
def test_a_robots_firmware_may_be_asked_for(robot, path):
    """None of them was there: what comes out is as good as off."""
    logs = [recording(robot, k, 4.0) for k in (1, 2)]
    fit = be.fit(START, logs, friction="coulomb", also=[f"drive.{path}"], bands=False)
    assert f"drive.{path}" in fit.parameters
    assert fit.score is not None
    assert fit.score.rms < 1.5e-3


@pytest.mark.parametrize("path", ["count", "duty_step", "period"])
def test_a_robots_jumps_are_given_and_not_freed(robot, path):
    short = [recording(robot, 1, 3.0)]
    with pytest.raises(be.errors.InvalidValue, match=f"drive.{path} acts in jumps, .* give it, such as"):
        be.fit(START, short, friction="coulomb", also=[f"drive.{path}"])


def test_a_robots_delays_are_free_by_themselves(robot):
    short = [recording(robot, 1, 3.0)]
    named = be.fit(START, short, friction="coulomb", also=["drive.delay"], bands=False)
    assert named.delays == be.fit(START, short, friction="coulomb", bands=False).delays
