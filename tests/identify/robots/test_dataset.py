"""A real arm's motions as a LeRobot data set, through the shell: fitted, judged by an episode that was held
out, found again by every command after, and put into the model; and its joints' signs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import exports, identify, report
from backemf.mujoco.robot.signs import find_contradiction

from ...cli.runner import runner

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


@pytest.mark.slow
def test_a_data_set_goes_through_the_shell_into_the_model(arm):
    run = runner(identify.fit, exports.export, report.report)
    model, fit = arm / "so101.xml", arm / "fit.json"
    start = ("--start", "sts3215-12v", "--firmware", "lerobot", "--friction", "coulomb")
    run("fit", arm / "arm", "--robot", model, *start, "--hold-out", 3, "-o", fit)
    found = be.Fit.read(fit)
    assert found.score is not None
    assert found.score.held_out
    assert found.score.rms < 8e-3, "as shipped it is 38 mrad"
    assert np.isfinite(found.correlation).all()
    assert all(
        number.error < 5 * number.value for name, number in found.parameters.items() if "motor" in name
    )
    said = run("export", fit, "--to", "mujoco-classic", "--into", model, "-o", arm / "new.xml").said
    assert "all joints together (arm/3)" in said, (
        "the episodes are found again, and the file is driven by one"
    )
    said = run("report", fit, "--robot", model, "-o", arm / "report.html")
    assert "4 recordings" in said + said.said


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
