"""The fit of a robot in the robot's own model: the very file is driven as recordings say."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.exports import export
from backemf.errors import InvalidValue, MissingValue, UnknownName
from backemf.logs.robot import Ground
from backemf.mujoco.robot.joint_simulation import simulate_joints
from backemf.mujoco.robot.robot_motion import motion_of
from backemf.targets.mujoco.edited_model import EditedModel
from backemf.targets.mujoco.robots import _loses, split_recordings
from backemf.targets.sources import read as read_source

from ..cli.runner import runner
from ..robot.arms import ARM, URDF
from ..robot.known import known_fit
from ..robot.simulated import DELAYS, recording, truth

HASTY = ARM.replace(
    "<worldbody>",
    '<option timestep="0.004" integrator="implicitfast" iterations="10" ls_iterations="8"/><worldbody>',
    1,
).replace(
    "</mujoco>",
    '<sensor><jointpos joint="elbow"/></sensor><keyframe><key name="up" qpos="-.3 .5 .3" ctrl="-.3 .5 .3"/>'
    "</keyframe></mujoco>",
)
"""The arm with a solver that stops early, a sensor and a keyframe."""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(HASTY)
    return path


@pytest.fixture(scope="module")
def logs(arm):
    robot = be.Robot.read(arm)
    return [recording(robot, seed, seconds=8.0) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def fit(arm, logs):
    return known_fit(be.Robot.read(arm), logs[:2], logs[2:])


@pytest.fixture(scope="module")
def edited(fit, arm, logs):
    return be.export(fit, "mujoco", into=arm, logs=logs)


NO_COMMANDS = HASTY.replace(' ctrl="-.3 .5 .3"', "")
"""The arm with a keyframe that says nothing of commands, so that a delay of theirs can stay in the file."""


@pytest.fixture(scope="module")
def delayed(fit, logs, tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(NO_COMMANDS)
    return be.export(fit, "mujoco", into=path, logs=logs)


def test_the_file_follows_a_recording_that_the_fit_never_saw(delayed):
    (row,) = delayed.together
    assert row.log == "run 3"
    # noise and counts leave 0.6 mrad; MuJoCo's step of 4 ms, an eighth of the fit's, adds to it
    assert row.after < 2.5e-3
    assert row.before is not None
    assert row.before > 10 * row.after
    assert row.whole == pytest.approx(6e-4)
    assert "the fit itself 0.6, the model as it was" in delayed.exports[0].ran
    losses = ["file_loses"] * (row.after > 1.3 * 6e-4)
    assert [f.code for f in delayed.findings] == ["replaced", *losses]


def test_a_delay_that_keyframes_forbid_is_left_out_and_its_cost_is_told(edited, delayed):
    (row,) = edited.together
    why, cost = [f for f in edited.findings if f.code == "delay_left_out"]
    assert "keyframes with commands" in why.text
    assert cost.numbers["file"] == row.after > 2 * delayed.together[0].after
    assert cost.numbers["late"] < 2.5e-3


def drive(path, fit, log) -> float:
    """RMS [rad] of a file on the disk, driven with the commands as recorded; a command that counted before
    its time stamp is sent as early."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data, motion = mujoco.MjData(model), motion_of(fit.robot, log)
    asked = {name: log.joints[name].signals["position_target"] for name in fit.robot.names}
    at = [
        [model.joint(k).qposadr[0] for k in range(model.njnt) if model.joint(k).name.startswith(n)]
        for n in asked
    ]
    data.qpos[[first for first, *_ in at]] = motion.position[0]
    for i, signal in enumerate(asked.values()):
        if model.actuator_delay[i]:  # what was asked before the recording is what it begins with
            times = data.time - model.opt.timestep * np.arange(model.actuator_history[i, 0], 0, -1)
            first = np.full(len(times), signal.hold_at(motion.time[:1])[0])
            mujoco.mj_initCtrlHistory(model, data, i, times, first)
    found = []
    for t in motion.time:
        while data.time < t - motion.time[0] - 1e-9:
            now = data.time + 0.5 * model.opt.timestep + motion.time[0]
            data.ctrl[:] = [
                s.hold_at(np.array([now - min(fit.delays[name], 0.0)]))[0] for name, s in asked.items()
            ]
            mujoco.mj_step(model, data)
        found.append([data.qpos[places].sum() for places in at])  # of a joint and its play
    return float(np.sqrt(np.mean((np.array(found) - motion.recorded) ** 2)))


@pytest.mark.parametrize("which", ["edited", "delayed"])
def test_what_the_file_says_is_what_it_does(which, fit, logs, tmp_path, request):
    edited = request.getfixturevalue(which)
    (path,) = edited.write(tmp_path / "identified.xml")
    assert drive(path, fit, logs[2]) == pytest.approx(edited.together[0].after, rel=1e-6)


def test_play_of_a_robots_joint_counts_where_its_file_is_driven(fit, logs, arm, tmp_path):
    worn = {"backlash": 0.02, "contact_stiffness": 800.0, "contact_damping": 0.3}
    elbow = fit.joints["elbow"]
    gearbox = replace(elbow.actuator.gearbox, **worn)
    loose = replace(elbow, actuator=replace(elbow.actuator, gearbox=gearbox))
    one = replace(fit, joints={**fit.joints, "elbow": loose})
    made = be.export(one, "mujoco", into=arm, logs=logs, backlash=True)
    assert isinstance(made, EditedModel)
    (path,) = made.write(tmp_path / "worn.xml")
    assert mujoco.MjModel.from_xml_path(str(path)).njnt == 4  # of the one joint that has play
    off = made.together[0].after
    assert drive(path, one, logs[2]) == pytest.approx(off, rel=1e-6)
    assert off > 3e-3  # the recordings are of an arm without play


def test_the_table_that_was_found_is_in_the_file(tmp_path):
    """Also in a scene that includes the arm, and has a geom called ground already."""
    (tmp_path / "arm.xml").write_text(NO_COMMANDS)
    scene = tmp_path / "scene.xml"
    scene.write_text(
        '<mujoco><include file="arm.xml"/><worldbody><light pos="0 0 2"/>'
        '<geom name="ground" size=".01" pos="2 2 2"/></worldbody></mujoco>'
    )
    robot = replace(be.Robot.read(scene), ground=Ground(height=0.02, x_slope=0.03, friction=0.6))
    log = recording(robot, 1, 6.0, ground=robot.ground, low=0.7, step=2e-3)
    fit = known_fit(robot, [], [log])
    with_table = be.export(fit, "mujoco", into=scene, logs=[log])
    without = be.export(fit, "mujoco", into=scene, logs=[log], ground=False)
    assert isinstance(with_table, EditedModel)
    assert isinstance(without, EditedModel)
    assert any("new geom 'ground_2'" in line for line in with_table.changes)
    places = [made.write(tmp_path / f"{k}.xml")[0] for k, made in enumerate((with_table, without))]
    geom = mujoco.MjModel.from_xml_path(str(places[0])).geom("ground_2")
    assert (geom.pos[2], geom.friction[0], geom.condim) == (0.02, 0.6, 3)
    assert mujoco.MjModel.from_xml_path(str(places[0])).nlight == 1
    off = [drive(path, fit, log) for path in places]
    numbers = [made.together[0].after for made in (with_table, without)]
    assert off == pytest.approx(numbers, rel=1e-6)
    assert off[0] < 4e-3 < 20e-3 < off[1]  # without the table the arm falls through it


def test_names_ranges_sensors_and_keyframes_stay(edited, arm):
    old = mujoco.MjModel.from_xml_path(str(arm))
    new = mujoco.MjModel.from_xml_string(edited.text)
    assert [new.actuator(i).name for i in range(3)] == ["m_shoulder", "m_elbow", "m_wrist"]
    assert new.nsensor == old.nsensor == 1
    np.testing.assert_array_equal(new.key_qpos, old.key_qpos)
    np.testing.assert_array_equal(new.key_ctrl[0][: old.nu], old.key_ctrl[0])
    assert "as identified from 2 recordings of this robot" in edited.text


def test_a_solver_that_stops_early_is_told_to_go_on(edited, fit, arm):
    assert 'iterations="10" ls_iterations="50"' in edited.text
    assert any(line.startswith("option: ls_iterations 8 became 50") for line in edited.changes)
    patient = be.export(fit.actuators, "mujoco", into=arm, replay=False)  # also without a robot's fit
    assert 'ls_iterations="50"' in patient.text


def test_without_recordings_it_says_that_nothing_was_driven(fit, arm):
    made = be.export(fit, "mujoco-classic", into=arm)
    assert isinstance(made, EditedModel)
    assert made.together == ()
    assert "are not there any more: give them" in made.exports[0].ran


def test_only_what_was_held_out_judges(fit, logs):
    assert [log.name for log in split_recordings(fit, logs).unseen] == ["run 3"]
    assert fit.score is not None
    last = replace(fit, score=replace(fit.score, logs={"run 1 (last 40 %)": 1e-3}))
    (part,) = split_recordings(last, logs[:1]).unseen
    assert part.time[0] == pytest.approx(0.6 * 7.98, abs=0.02)


def test_other_targets_take_one_joint(fit, tmp_path):
    made = be.export(fit, "isaaclab", joint="elbow", replay=False)
    assert made.joint == "elbow"
    assert made.actuator == fit.actuators["elbow"]
    with pytest.raises(InvalidValue, match="the fit has 3 joints, and a file for isaaclab holds one"):
        be.export(fit, "isaaclab")
    with pytest.raises(UnknownName, match="did you mean 'elbow'"):
        be.export(fit, "isaaclab", joint="elbw")


def test_a_urdf_gets_every_joint(fit, tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(URDF.replace("j1", "shoulder").replace("j2", "elbow"))
    two = replace(fit, joints={n: fit.joints[n] for n in ("shoulder", "elbow")})
    made = be.export(two, "urdf", into=path)
    assert 'friction="0.1"' in made.text
    assert 'friction="0.05"' in made.text


def test_from_the_shell(fit, arm, tmp_path):
    stored, run = tmp_path / "fit.json", runner(export)
    fit.write(stored)
    made = json.loads(run(stored, "--to", "mujoco", "--into", arm, "--method", "formula", "--json"))
    assert made["together"] == []
    assert len(made["exports"]) == 3
    (tmp_path / "each").mkdir()
    run(stored, "--to", "urdf", "--to", "bam", "-o", tmp_path / "each", "--no-replay")
    names = sorted(path.name for path in (tmp_path / "each").iterdir() if path.suffix != ".txt")
    assert names == [f"{n}.{e}" for n in ("elbow", "shoulder", "wrist") for e in ("json", "urdf")]
    with pytest.raises(InvalidValue, match="has 3 joints; expected --into"):
        run(stored, "--to", "urdf")
    with pytest.raises(InvalidValue, match="--voltage changes one actuator"):
        run(stored, "--to", "urdf", "--voltage", "6", "-o", tmp_path / "each")


def test_a_joint_of_a_fit_is_a_source(fit, tmp_path):
    stored = tmp_path / "fit.json"
    fit.write(stored)
    assert read_source(f"{stored}#wrist").actuator == fit.actuators["wrist"]
    assert read_source(stored, "elbow").joint == "elbow"
    with pytest.raises(MissingValue, match=r"say which one, as fit\.json#shoulder"):
        read_source(stored)
    with pytest.raises(UnknownName):
        read_source(f"{stored}#toe")


@pytest.mark.parametrize("gear", [1, -3])
def test_a_model_that_is_told_torques_keeps_its_users_law(gear, tmp_path):
    """PD outside, as on quadrupeds: friction and inertia are the fit's, the law stays the user's."""
    path = tmp_path / "arm.xml"
    path.write_text(
        HASTY.replace("<position name", f'<motor gear="{gear}" name').replace(
            'timestep="0.004"', 'timestep="0.001"'
        )
    )
    robot = be.Robot.read(path)
    law = be.drive.Impedance(newton_metres_per_radian=20.0, newton_metre_seconds_per_radian=0.5)
    acts = {name: replace(one, drive=law) for name, one in truth().items()}
    log = recording(robot, 1, seconds=4.0)
    q = simulate_joints(robot, acts, log, delays=DELAYS, step=1e-3)
    joints = {
        name: be.log(name, log.time, position=q[:, j], position_target=log.joints[name]["position_target"])
        for j, name in enumerate(robot.names)
    }
    log = replace(log, joints=joints)
    known = known_fit(robot, [], [log])
    mine = {name: replace(one, actuator=acts[name]) for name, one in known.joints.items()}
    made = be.export(replace(known, joints=mine), "mujoco-classic", into=path, logs=[log])
    assert isinstance(made, EditedModel)
    (row,) = made.together
    (cost,) = [f for f in made.findings if f.code == "delay_left_out" and "late" in f.numbers]
    # the same law at steps of 1 ms, outside of them instead of inside; the delay is the controller's to keep
    assert cost.numbers["late"] < 2e-3 < cost.numbers["file"] == row.after
    assert any("is left to your controller" in f.text for f in made.findings if f.code == "ctrl_kept")
    assert made.exports[0].numbers["frictionloss"] == pytest.approx(0.1)  # not bent by motions nobody made


@pytest.mark.parametrize(
    ("after", "whole", "told"),
    [(0.02, 0.01, True), (0.011, 0.01, False), (None, 0.01, False), (0.02, None, False)],
)
def test_a_file_that_is_further_off_than_its_fit_says_so(after, whole, told):
    made = SimpleNamespace(off_by={"after": after, "whole": whole}.get, unit="rad")
    assert bool(_loses(made, None)) is told  # type: ignore[arg-type]  # all that it is asked for
