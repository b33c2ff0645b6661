"""LeRobot datasets of a whole robot: one log an episode, in radians of the model's joints."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, BackemfWarning
from backemf.logs.robot import Joint, Robot

from .test_read_formats import arrow as arrow, parquet as parquet

COUNT = 2 * np.pi / 4096
SPANS = {"shoulder_pan": 2436, "elbow_flex": 2193, "wrist_roll": 3561, "gripper": 1464}
"""Counts of each joint's calibrated range."""
NAMES = list(SPANS)
N = 300
TRUE = np.stack(
    [
        np.round(share * SPANS[name] * np.sin(np.linspace(0, 7 + k, N)))
        for k, (name, share) in enumerate(zip(SPANS, (0.3, 0.35, 0.2, 0.0), strict=True))
    ],
    axis=1,
)
"""Counts from the middle of each range: 0.35 of 2193 counts is 67 degrees and a share of 70."""
TRUE[:, 3] = np.round(400 + 300 * np.sin(np.linspace(0, 5, N)))  # a gripper, from its closed end


def robot(**more):
    """A model whose ranges are those of the calibration, to a few per cent."""
    joints = []
    for name, span in SPANS.items():
        half = 0.51 * span * COUNT
        low, high = (-0.17, -0.17 + 2 * half) if name == "gripper" else (-half, half)
        joints.append(Joint(name=name, group="servo", low=low, high=high, tool=name == "gripper"))
    return Robot(name="arm", joints=tuple(joints), model="", **more)


def in_degrees(counts):
    shares = 100.0 * counts / np.array(list(SPANS.values()))
    out = counts * 360 / 4095
    out[:, 3] = shares[:, 3]
    return out


def in_shares(counts):
    shares = 200.0 * counts / np.array(list(SPANS.values()))
    shares[:, 3] /= 2
    return shares


@pytest.fixture
def dataset(tmp_path, parquet):
    """Two episodes in the layout of version 2.1 (a file each) or 3.0 (one for all)."""

    def make(state, version="v3.0", names=None, total=2, first=N // 2, **info):
        folder = tmp_path / "set"
        (folder / "meta").mkdir(parents=True)
        listed = [f"{n}.pos" for n in NAMES] if names is None else names
        vector = {"dtype": "float32", "shape": [len(NAMES)], "names": listed}
        content = {
            "codebase_version": version,
            "fps": 30,
            "total_episodes": total,
            "robot_type": "so101_follower",
        }
        features = {"observation.state": vector, "action": vector}
        (folder / "meta" / "info.json").write_text(json.dumps(content | {"features": features} | info))
        state = state.astype(np.float32)
        frame = np.concatenate([np.arange(first), np.arange(N - first)])
        episode = np.repeat([0, 1], [first, N - first])
        columns = {
            "observation.state": state,
            "action": state + np.float32(1.0),
            "timestamp": (frame / 30).astype(np.float32),
            "frame_index": frame,
            "episode_index": episode,
        }
        if version == "v3.0":
            parquet(folder / "data/chunk-000/file-000.parquet", **{k: v.tolist() for k, v in columns.items()})
        else:
            for e in (0, 1):
                rows = {k: v[episode == e].tolist() for k, v in columns.items()}
                parquet(folder / f"data/chunk-000/episode_{e:06d}.parquet", **rows)
        return folder

    return make


def calibration(folder, name="follower.json", drive=()):
    rows = {
        joint: {"id": k + 1, "drive_mode": int(joint in drive), "homing_offset": -40, "range_min": 900}
        | {"range_max": 900 + span}
        for k, (joint, span) in enumerate(SPANS.items())
    }
    (folder / name).write_text(json.dumps(rows))
    return str(folder / name)


def codes(log):
    return [f.code for f in log.findings]


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_one_log_an_episode_in_radians_by_the_calibration(dataset, tmp_path, version):
    """To a tenth of a count: float32 keeps 1e-5 of a share."""
    folder = dataset(in_shares(TRUE.copy()), version)
    logs = be.read(folder, bench=robot(), map=calibration(tmp_path))
    assert [log.name for log in logs] == ["set/0", "set/1"]
    assert [tuple(log.joints) for log in logs] == [tuple(NAMES)] * 2
    for k, name in enumerate(NAMES):
        q = np.concatenate([log[f"{name}.position"] for log in logs])
        zero = -0.17 if name == "gripper" else 0.0
        assert np.allclose(q, zero + TRUE[:, k] * COUNT, atol=0.1 * COUNT), name
        ahead = logs[0][f"{name}.position_target"] - logs[0][f"{name}.position"]
        assert np.allclose(ahead, SPANS[name] * COUNT / (100 if name == "gripper" else 200), rtol=1e-3)
    assert np.allclose(np.diff(logs[1].time), 1 / 30, atol=1e-5)


def test_degrees_and_shares_are_told_by_the_encoder_s_steps(dataset):
    (log, _) = be.read(dataset(in_degrees(TRUE.copy())), bench=robot())
    assert np.allclose(log["elbow_flex.position"], TRUE[: N // 2, 1] * COUNT, atol=0.1 * COUNT)
    assert np.allclose(log["gripper.position"], -0.17 + TRUE[: N // 2, 3] * COUNT, rtol=2e-3)
    (f,) = [f for f in log.findings if f.code == "units_understood"]
    assert "set is in degrees: its encoder's step is 0.08791 in every joint" in f.text


def test_without_a_calibration_the_step_tells_the_range(dataset):
    (log, _) = be.read(dataset(in_shares(TRUE.copy())), bench=robot())
    assert np.allclose(log["elbow_flex.position"], TRUE[: N // 2, 1] * COUNT, rtol=1e-3, atol=0.1 * COUNT)
    assert "is in -100..100: its encoder's step differs" in " ".join(f.text for f in log.findings)
    counts = {
        f.text.partition(":")[0]: f.numbers["counts"] for f in log.findings if f.code == "range_by_steps"
    }
    assert counts == pytest.approx({n: s for n, s in SPANS.items() if n != "gripper"}, rel=1e-3)


def smooth(scale):
    """Numbers off any grid, so that no step can be seen."""
    counts = TRUE + 0.37 * np.sin(np.arange(N)[:, None] * 1.7 + np.arange(4))
    return scale * in_shares(counts)


def test_what_nothing_tells_is_asked_for(dataset):
    with pytest.raises(BackemfError) as error:
        be.read(dataset(smooth(1.0)), bench=robot())
    text = str(error.value)
    assert "may be in degrees or in -100..100 of each joint's range (RANGE_M100_100)" in text
    assert '--map "position=observation.state[deg]"' in text
    assert "the joints are shoulder_pan, elbow_flex, wrist_roll, gripper" in text


def test_telling_the_unit_leaves_the_gripper_a_share(dataset):
    (log, _) = be.read(dataset(smooth(1.0)), bench=robot(), map="position=observation.state[deg]")
    wanted = np.radians(smooth(1.0)[: N // 2, 1]) * 4095 / 4096
    assert np.allclose(log["elbow_flex.position"], wanted, atol=1e-5)
    span = robot().joint("gripper").span
    assert np.allclose(log["gripper.position"], -0.17 + span * smooth(1.0)[: N // 2, 3] / 100, atol=1e-5)
    assert codes(log).count("range_assumed") == 1


def test_shares_without_a_range_ask_for_the_calibration(dataset):
    folder = dataset(smooth(1.0), norm_mode="RANGE_M100_100")
    with pytest.raises(BackemfError) as error:
        be.read(folder, bench=robot())
    text = str(error.value)
    assert "no calibration file lies with the dataset" in text
    assert "calibration/robots/so101_follower/ID.json" in text
    (log, _) = be.read(folder, bench=robot(), map="position=observation.state[-100..100]")
    span = robot().joint("elbow_flex").span
    assert np.allclose(log["elbow_flex.position"], smooth(1.0)[: N // 2, 1] * span / 200, atol=1e-5)
    assert "range_assumed" in codes(log)


@pytest.mark.parametrize("place", ["meta", "calibration", "."])
def test_a_calibration_that_lies_with_the_set_is_used(dataset, place):
    folder = dataset(smooth(1.0), norm_mode="RANGE_M100_100")
    (folder / place).mkdir(exist_ok=True)
    calibration(folder / place)
    (log, _) = be.read(folder, bench=robot())
    span = SPANS["elbow_flex"] * COUNT
    assert np.allclose(log["elbow_flex.position"], smooth(1.0)[: N // 2, 1] * span / 200, atol=1e-5)


def test_statistics_of_the_whole_set_tell_what_one_file_does_not(dataset):
    folder = dataset(smooth(1.0), "v2.1")
    most = [143.0, 90.0, 80.0, 90.0]
    row = {"episode_index": 0, "stats": {"observation.state": {"min": [0.0] * 4, "max": most}}}
    (folder / "meta" / "episodes_stats.jsonl").write_text(json.dumps(row) + "\n")
    (log,) = be.read(folder / "data/chunk-000/episode_000001.parquet", bench=robot())
    assert "is in degrees: it reaches 143, and a share only 100" in " ".join(f.text for f in log.findings)


def test_a_share_that_meets_its_end_exactly_is_no_degree(dataset, tmp_path):
    cut = np.clip(smooth(1.5), -100.0, 100.0)
    (log, _) = be.read(dataset(cut), bench=robot(), map=calibration(tmp_path))
    said = " ".join(f.text for f in log.findings)
    assert "at exactly 100, where LeRobot cuts shares off" in said
    assert "elbow_flex is at an end of -100..100 in" in said


def test_the_old_names_are_in_degrees(dataset):
    names = {"motors": [f"main_{n}" for n in NAMES]}
    (log, _) = be.read(dataset(smooth(1.0), "v2.1", names), bench=robot())
    assert tuple(log.joints) == tuple(NAMES)
    wanted = np.radians(smooth(1.0)[: N // 2, 0]) * 4095 / 4096
    assert np.allclose(log["shoulder_pan.position"], wanted, atol=1e-5)


def test_a_servo_mounted_the_other_way_round(dataset, tmp_path):
    """LeRobot turns shares, and leaves degrees as they are."""
    turned = TRUE * np.array([1, -1, 1, 1])  # counts of the elbow's servo
    file = calibration(tmp_path, drive=("elbow_flex",))
    (log, _) = be.read(dataset(in_degrees(turned.copy())), bench=robot(), map=file)
    assert np.allclose(log["elbow_flex.position"], TRUE[: N // 2, 1] * COUNT, atol=0.1 * COUNT)


def test_a_zero_that_is_not_in_the_middle_of_the_model_s_range(dataset, tmp_path):
    """The ends of the calibrated range are those of the model's."""
    arm = robot()
    moved = [replace(j, low=0.0, high=j.span) if j.name == "elbow_flex" else j for j in arm.joints]
    (log, _) = be.read(
        dataset(in_shares(TRUE.copy())), bench=replace(arm, joints=tuple(moved)), map=calibration(tmp_path)
    )
    middle = 0.51 * SPANS["elbow_flex"] * COUNT
    assert np.allclose(log["elbow_flex.position"], middle + TRUE[: N // 2, 1] * COUNT, atol=0.1 * COUNT)


def test_a_calibration_of_another_span_than_the_model_is_said(dataset, tmp_path):
    arm = robot()
    wide = [replace(j, low=-2.4, high=2.4) if j.name == "elbow_flex" else j for j in arm.joints]
    bench = replace(arm, joints=tuple(wide))
    (log, _) = be.read(dataset(in_shares(TRUE.copy())), bench=bench, map=calibration(tmp_path))
    (f,) = [f for f in log.findings if f.code == "calibrated_range"]
    assert f.text.startswith("elbow_flex was calibrated over 3.364 rad, 900 to 3093 counts")


def test_a_calibration_of_another_robot_is_refused(dataset, tmp_path):
    (tmp_path / "leader.json").write_text(json.dumps({"Rotation": {"range_min": 1, "range_max": 9}}))
    with pytest.raises(BackemfError, match="has none of the joints of set: it has Rotation; the dataset has"):
        be.read(dataset(in_shares(TRUE.copy())), bench=robot(), map=str(tmp_path / "leader.json"))


def test_unnamed_elements_are_taken_in_the_model_s_order(dataset):
    (log, _) = be.read(
        dataset(in_degrees(TRUE.copy()), names=["motors"]),
        bench=robot(),
        map="position=observation.state[deg]",
    )
    assert np.allclose(log["elbow_flex.position"], TRUE[: N // 2, 1] * COUNT, atol=0.1 * COUNT)


def test_names_of_another_model_are_shown_side_by_side(dataset):
    arm = robot()
    other = dict(zip(NAMES, ("Rotation", "Elbow", "Wrist_Roll", "Jaw"), strict=True))
    renamed = replace(arm, joints=tuple(replace(j, name=other[j.name]) for j in arm.joints))
    folder = dataset(in_degrees(TRUE.copy()))
    with pytest.raises(BackemfError) as error:
        be.read(folder, bench=renamed)
    text = str(error.value)
    assert "shoulder_pan, elbow_flex and Rotation, Elbow of arm do not match" in text
    assert '--map "Rotation=' in text
    (log, _) = be.read(folder, bench=renamed, map=["Rotation=shoulder_pan", "Elbow=elbow_flex,-1"])
    assert np.allclose(log["Elbow.position"], -TRUE[: N // 2, 1] * COUNT, atol=0.1 * COUNT)
    assert np.allclose(log["Jaw.position"], -0.17 + TRUE[: N // 2, 3] * COUNT, rtol=2e-3)


def test_episodes_that_are_empty_or_too_short(dataset):
    folder = dataset(in_degrees(TRUE.copy()), total=4, first=3)
    with pytest.warns(BackemfWarning, match=r"set/0: 3 samples of a motion; expected 7 at least"):
        (log,) = be.read(folder, bench=robot())
    assert log.name == "set/1"
    (f,) = [f for f in log.findings if f.code == "empty_episodes"]
    assert f.text == "2 of 4 episodes have no rows: 2, 3"


def test_a_set_that_git_has_not_fetched(dataset):
    folder = dataset(in_degrees(TRUE.copy()))
    (file,) = (folder / "data").rglob("*.parquet")
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 43964\n")
    with pytest.raises(BackemfError, match="is a pointer of Git LFS, not the data: run git lfs pull"):
        be.read(folder, bench=robot())


def test_episodes_are_named_behind_the_set(dataset, tmp_path):
    """Units are told by all episodes; what is read again later is what was named."""
    folder, told = dataset(in_degrees(TRUE.copy())), {"bench": robot()}
    every = be.read(folder, **told)
    (one,) = be.read(f"{folder}#1", **told)
    assert (one.name, one.source) == ("set/1", f"{folder}#1")
    np.testing.assert_array_equal(one["elbow_flex.position"], every[1]["elbow_flex.position"])
    assert [log.name for log in be.read(f"{folder}#0-1", **told)] == ["set/0", "set/1"]
    with pytest.raises(be.BackemfError, match="there is no episode 7; those are there: 0-1"):
        be.read(f"{folder}#1,7", **told)
    with pytest.raises(be.BackemfError, match="'last' names no episodes; expected numbers and ranges"):
        be.read(f"{folder}#last", **told)
