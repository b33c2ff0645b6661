"""`backemf log --robot`: joints against channels, and what contradicts the robot."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from backemf.apps.cli.identify import check
from backemf.apps.cli.logs import log as log_command
from backemf.apps.cli.plan_command import plan
from backemf.errors import BackemfError

from ..robot.arms import ARM
from ..robot.test_signs import moved, write
from .runner import runner


@pytest.fixture
def files(tmp_path):
    """A recording without the wrist, and the robot's model."""
    import backemf as be

    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    path = write(tmp_path / "run.csv", robot, *moved(robot))
    rows = np.genfromtxt(path, delimiter=",", names=True)
    kept = ["time", *(f"{j}{k}" for j in ("shoulder", "elbow") for k in ("position", "target"))]
    lines = [
        ",".join(
            [*kept[:1], "shoulder.position", "shoulder.target", "elbow.position", "elbow.target", "lamp"]
        )
    ]
    lines += [",".join(f"{row[n]:.6f}" for n in kept) + ",1" for row in rows]
    path.write_text("\n".join(lines))
    return str(path), str(tmp_path / "arm.xml")


def test_a_table_shows_joints_and_channels(files):
    path, model = files
    text = runner(log_command)(path, "--robot", model)
    (line,) = [row for row in text.splitlines() if row.startswith("elbow  ")]
    assert line.split() == ["elbow", "*.position", "*.target", "-", *line.split()[4:]]
    assert line.split()[-3:] == ["-2", "..", "2"]
    (line,) = [row for row in text.splitlines() if row.startswith("wrist  ")]
    assert "no channel" in line
    assert "joints_not_recorded" in text
    assert "elbow.position_target" in text


def test_a_check_says_what_the_joints_motions_lack_and_plans_it(files, tmp_path):
    path, model = files
    said = json.loads(runner(check)(path, "--robot", model, "--start", "sts3215-12v", "--json"))
    lacking = {f["code"]: f for f in said["findings"]}
    assert lacking["no_slow_motion"]["text"].startswith("shoulder, elbow: no motion keeps below 0.12 rad/s")
    assert (said["verdict"], said["n_logs"], said["parameters"]) == ("fit", 1, [])
    planned, recorded = said["next"]
    assert planned == f"backemf plan sts3215-12v --robot {model} --no-current -o more.json"
    assert recorded == (
        "backemf record --bus BUS --port PORT --ids shoulder=ID,elbow=ID --motions more.json"
        f" --robot {model} -o {Path(path).parent}"
    )
    words = shlex.split(planned.replace("more.json", str(tmp_path / "more.json")))[2:]
    motions = json.loads(runner(plan)(*words, "--friction", "coulomb", "--seconds", "20", "--json"))
    assert motions["joints"] == ["shoulder", "elbow", "wrist"]
    assert (tmp_path / "more.json").exists()
    assert "To record what is missing:" in runner(check)(path, "--robot", model, "--start", "sts3215-12v")


def test_json_has_the_same(files):
    path, model = files
    (one,) = json.loads(runner(log_command)(path, "--robot", model, "--json"))["recordings"]
    assert one["robot"] == "arm"
    rows = {row["joint"]: row for row in one["joints"]}
    named = {c["read_as"]: c["name"] for c in rows["shoulder"]["channels"]}
    assert named == {"time": "time", "position": "shoulder.position", "position_target": "shoulder.target"}
    assert rows["wrist"]["channels"] == []
    assert rows["elbow"]["range"] == [-2.0, 2.0]
    assert {s["name"] for s in one["signals"]} >= {"shoulder.position", "elbow.position_target"}


def test_a_mapping_of_joints_may_be_saved(files, tmp_path):
    path, model = files
    saved = tmp_path / "rig.json"
    runner(log_command)(path, "--robot", model, "--map", "wrist=lamp", "--save-map", saved)
    assert json.loads(saved.read_text())["map"] == {"wrist": "lamp"}
    text = runner(log_command)(path, "--robot", model, "--map", saved)
    (line,) = [row for row in text.splitlines() if row.startswith("wrist  ")]
    assert line.split()[:3] == ["wrist", "lamp", "-"]


def test_names_that_do_not_match(files, tmp_path):
    path, model = files
    other = tmp_path / "other.csv"
    other.write_text(Path(path).read_text().replace("shoulder", "shouldr"))
    with pytest.raises(AssertionError, match=r"shouldr +- +shoulder\?"):  # exit code 2
        runner(log_command)(other, "--robot", model)
    with pytest.raises(BackemfError, match="unknown signal or joint"):
        runner(log_command)(path, "--robot", model, "--map", "shoudler=shouldr")
