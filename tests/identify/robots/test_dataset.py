"""A real arm's motions as a LeRobot data set, through the shell: fitted, judged by an episode that was held
out, found again by every command after, and put into the model; and its joints' signs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.mujoco.robot.signs import find_contradiction

from ...cli.typed import typed
from ...film.benches import needs_renderer

pytest.importorskip("mujoco")
pa = pytest.importorskip("pyarrow")
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
EPISODES = ("friction_gravity", "large_amplitude", "step_response", "fast_transitions")


@pytest.fixture
def so101(shared_data):
    return shared_data / "so101"


@pytest.fixture
def arm(so101, tmp_path):
    """Four motions of the SO-101 in degrees, as LeRobot stores them, the gripper in 0 to 100; its model."""
    from pyarrow import parquet

    folder = tmp_path
    columns: dict[str, list] = {"observation.state": [], "action": [], "timestamp": [], "episode_index": []}
    for k, name in enumerate(EPISODES):
        table = np.genfromtxt(so101 / f"{name}.csv", delimiter=",", names=True, deletechars="")
        scale = np.array([100.0 if joint == "gripper" else 180.0 / np.pi for joint in JOINTS])
        for column, signal in (("observation.state", "position"), ("action", "target")):
            rows = scale * np.stack([table[f"{joint}.{signal}"] for joint in JOINTS], axis=1)
            columns[column] += rows.astype(np.float32).tolist()
        columns["timestamp"] += (table["time"] - table["time"][0]).tolist()
        columns["episode_index"] += [k] * len(table)
    columns["frame_index"] = list(range(len(columns["timestamp"])))
    vector = {"dtype": "float32", "shape": [6], "names": [f"{joint}.pos" for joint in JOINTS]}
    info = {"codebase_version": "v3.0", "fps": 50, "total_episodes": 4, "robot_type": "so101_follower"}
    info |= {"features": {"observation.state": vector, "action": vector}}
    (folder / "arm" / "meta").mkdir(parents=True)
    (folder / "arm" / "data").mkdir()
    (folder / "arm" / "meta" / "info.json").write_text(json.dumps(info))
    parquet.write_table(pa.table(columns), folder / "arm" / "data" / "file.parquet")
    (folder / "so101.xml").write_bytes((so101 / "so101.xml").read_bytes())
    return folder


def shell(where, *words):
    """A command typed in a folder; what it printed and said."""
    done = typed(*map(str, words), cwd=where)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_data_set_goes_through_the_shell_into_the_model(arm, tmp_path_factory):
    """README's three commands, a report and `be.attach`: after the fit from a folder that knows nothing of
    the first."""
    start = ("--start", "sts3215-12v", "--firmware", "lerobot", "--friction", "coulomb")
    words = ("--robot", "so101.xml", *start, "--hold-out", 3, "-o", "fit.json")
    shell(arm, "fit", "arm", "--episodes", "0,2-3", *words)
    elsewhere, fit, model = tmp_path_factory.mktemp("elsewhere"), arm / "fit.json", arm / "so101.xml"
    found = be.Fit.read(fit)
    assert found.score is not None
    assert found.score.held_out
    assert [*found.score.logs] == ["arm/3"]
    assert {log.name for log in found.logs} == {"arm/0", "arm/2", "arm/3"}
    assert found.score.rms < 8e-3, "as shipped it is 38 mrad"
    assert np.isfinite(found.correlation).all()
    assert all(
        number.error < 5 * number.value for name, number in found.parameters.items() if "motor" in name
    )
    said = shell(elsewhere, "export", fit, "--to", "mujoco-classic", "--into", model, "-o", "new.xml")
    assert "all joints together (arm/3)" in said, (
        "the episodes are found again, and the file is driven by one"
    )
    said = shell(elsewhere, "report", fit, "-o", "report.html")
    assert "3 recordings" in said
    assert "same recording" not in (elsewhere / "report.html").read_text(encoding="utf-8")
    _check_attached(found, model)
    needs_renderer()
    film = (
        "render",
        fit,
        arm / "arm",
        "-o",
        "film.gif",
        "--between",
        20,
        21,
        "--fps",
        4,
        "--size",
        "480x270",
    )
    assert "4 pictures" in shell(elsewhere, *film, "--episodes", 3)
    refused = typed(*map(str, film), "--force", "--episodes", "7", cwd=elsewhere)
    assert refused.returncode != 0
    assert "there is no episode 7; those are there: 0-3" in refused.stderr


def _check_attached(fit: be.Fit, path) -> None:
    """Attached to the arm's own model, its joints go where the episode's commands send them."""
    import mujoco

    driven = be.attach(path, fit)
    model, data = driven.model, mujoco.MjData(driven.model)
    goal = {"shoulder_pan": 0.4, "elbow_flex": 0.5, "wrist_roll": -0.3}
    for joint, angle in goal.items():
        data.actuator(joint).ctrl[0] = angle
    for _ in range(int(1.5 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    for joint, angle in goal.items():
        assert abs(data.joint(joint).qpos[0] - angle) < 0.1


def test_episodes_are_of_data_sets_alone(arm, so101):
    said = typed("log", str(so101 / "step_response.csv"), "--episodes", "0")
    assert said.returncode != 0
    assert "is no LeRobot dataset" in said.stderr
    said = typed("log", str(arm / "arm"), "--episodes", "a-b", "--robot", str(arm / "so101.xml"))
    assert "'a-b' names no episodes" in said.stdout + said.stderr
    listed = typed("log", str(arm / "arm"), "--episodes", "1-2", "--robot", str(arm / "so101.xml"), "--json")
    assert [one["name"] for one in json.loads(listed.stdout)["recordings"]] == ["arm/1", "arm/2"]


@pytest.mark.parametrize("turned", [None, "shoulder_lift", "elbow_flex", "wrist_flex"])
def test_signs_are_a_vote_of_the_recordings(so101, turned):
    """Sixteen real motions: right signs are not blamed, and a turned one is found."""
    robot = be.Robot.read(so101 / "so101.xml")
    paths = sorted(so101.glob("*.csv"))[:16]
    logs = [log for path in paths for log in be.read(path, bench=robot)]
    if turned is not None:
        logs = [_turn(log, turned) for log in logs]
    answer = find_contradiction(robot, logs)
    assert (answer is None) if turned is None else (answer is not None and turned in answer[0])


def _turn(log: be.Log, joint: str) -> be.Log:
    """As it would have been recorded with a joint turned round."""
    one = log.joints[joint]
    moving = ("position", "position_target", "velocity")
    signals = {n: replace(s, values=-s.values) if n in moving else s for n, s in one.signals.items()}
    return replace(log, joints={**log.joints, joint: replace(one, signals=signals)})
