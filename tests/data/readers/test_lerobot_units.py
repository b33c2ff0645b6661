"""LeRobot's units: degrees where the numbers leave no choice, shares of a range by the range that is told."""

from __future__ import annotations

import json

import numpy as np
import pytest

from backemf import BackemfError, read
from backemf.apps.cli.logs import log as log_command
from backemf.errors import BackemfWarning
from backemf.logs.mapping import parse

from ...cli.runner import runner
from .test_read_formats import arrow as arrow, parquet as parquet

JOINTS = ["shoulder_pan.pos", "elbow_flex.pos", "gripper.pos"]
N = 40


@pytest.fixture
def dataset(tmp_path, parquet):
    """A set of two episodes with three joints, the first of which goes so far."""

    def make(most: float, joints: list[str] = JOINTS):
        folder = tmp_path / "set"
        (folder / "meta").mkdir(parents=True)
        vector = {"dtype": "float32", "shape": [len(joints)], "names": joints}
        (folder / "meta" / "info.json").write_text(
            json.dumps({"features": {"observation.state": vector, "action": vector}})
        )
        up = np.linspace(0.0, 1.0, 2 * N)
        state = np.stack([most * up, -50 * up, 90 * up], axis=1)[:, : len(joints)]
        parquet(
            folder / "data" / "chunk-000" / "file-000.parquet",
            **{"observation.state": state.tolist(), "action": (state + 1).tolist()},
            timestamp=(np.tile(np.arange(N), 2) / 30).tolist(),
            frame_index=np.tile(np.arange(N), 2).tolist(),
            episode_index=np.repeat([0, 1], N).tolist(),
        )
        return folder

    return make


def test_beyond_100_it_is_degrees_and_that_is_said(dataset):
    with pytest.warns(BackemfWarning, match=r"set/0/gripper, set/1/gripper: .*states no unit"):
        logs = read(dataset(143.0))
    assert [log.name for log in logs] == [
        f"set/{k}/{j}" for k in (0, 1) for j in ("shoulder_pan", "elbow_flex")
    ]
    assert logs[-2]["position"][-1] == pytest.approx(np.radians(143.0))
    assert logs[-2]["position_target"][-1] == pytest.approx(np.radians(144.0))
    (f,) = [f for f in logs[0].findings if f.code == "units_understood"]
    assert "reaches 143, and a share of a range only 100: read in degrees" in f.text
    assert f.text in logs[0].conversions


@pytest.mark.parametrize(
    ("most", "said"), [(88.0, "degrees or -100..100"), (100.0, "writes -100..100, the share")]
)
def test_otherwise_it_says_what_is_needed(dataset, most, said):
    with pytest.raises(BackemfError) as error:
        read(dataset(most))
    assert said in str(error.value)
    assert "the joints are shoulder_pan, elbow_flex, gripper" in str(error.value)
    assert "position=shoulder_pan.pos[-100..100 is -110..110 deg]" in str(error.value)
    assert "calibration file" in str(error.value)


def test_a_joint_by_its_range(dataset):
    """The command of a joint is in the unit of its state; other joints are not wanted."""
    logs = read(dataset(88.0), map="position=shoulder_pan.pos[-100..100 is -110..110 deg]")
    assert [log.name for log in logs] == ["set/0/shoulder_pan", "set/1/shoulder_pan"]
    assert logs[1]["position"][-1] == pytest.approx(np.radians(88.0 * 1.1))
    assert logs[1]["position_target"][-1] == pytest.approx(np.radians(89.0 * 1.1))


def test_all_joints_by_the_calibration_file(dataset, tmp_path):
    """range_min and range_max in counts, 4096 a turn; a gripper from 0 to 100."""
    ranges = {"shoulder_pan": (884, 3320, 0), "elbow_flex": (868, 3061, 1), "gripper": (1899, 3363, 0)}
    content = {
        joint: {"id": k, "drive_mode": mode, "homing_offset": 0, "range_min": low, "range_max": high}
        for k, (joint, (low, high, mode)) in enumerate(ranges.items())
    }
    file = tmp_path / "follower.json"
    file.write_text(json.dumps(content))
    logs = {log.name: log for log in read(dataset(88.0), map=str(file))}
    ends = {joint: logs[f"set/1/{joint}"]["position"][-1] for joint in ranges}
    count = 2 * np.pi / 4096
    assert ends["shoulder_pan"] == pytest.approx(0.88 * (3320 - 884) / 2 * count)
    assert ends["elbow_flex"] == pytest.approx(-0.50 * (3061 - 868) / 2 * count)  # LeRobot has turned it
    assert ends["gripper"] == pytest.approx(0.90 * (3363 - 1899) * count)


def test_a_listing_names_the_joints_once(dataset):
    with pytest.raises(AssertionError) as failed:  # exit code 2: nothing can be read
        runner(log_command)(dataset(88.0))
    text = str(failed.value)
    assert text.count("-100..100 of a range") == 1
    assert "6 recordings: shoulder_pan, elbow_flex, gripper" in text


def test_a_range_in_brackets():
    origin = parse("position=x[0..100 is 10..60 deg],2+1")
    assert (origin.unit, origin.factor, origin.offset) == ("deg", 1.0, 10.5)  # (2 x + 1) / 2 + 10
    assert parse(str(origin)) == origin
    with pytest.raises(BackemfError, match="a range of no width"):
        parse("position=x[0..0 is 10..60 deg]")


@pytest.mark.parametrize(
    ("header", "signal"), [("time,position,goal", "position_target"), ("t,speed,setpoint", "velocity_target")]
)
def test_a_goal_alone_is_that_of_what_was_measured(tmp_path, header, signal):
    (tmp_path / "a.csv").write_text(f"{header}\n0,1,2\n1,2,3\n2,3,4\n")
    (log,) = read(tmp_path / "a.csv")
    assert list(log[signal]) == [2.0, 3.0, 4.0]
    (tmp_path / "b.csv").write_text("time,position,voltage,goal\n0,1,2,3\n1,2,3,4\n2,3,4,5\n")
    with pytest.raises(BackemfError, match="'goal' may be position_target, velocity_target"):
        read(tmp_path / "b.csv")
