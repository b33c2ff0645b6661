"""MAT, Parquet, LeRobot and MCAP: what each holds, on whose clock, and what a broken one says."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.io

from backemf.errors import BackemfError, NotAvailable
from backemf.kits.frc.wpilog_runs import mechanism_logs
from backemf.logs.read import read
from backemf.logs.readers import mat

from ...conftest import unavailable

T = 0.01 * np.arange(50)


@pytest.mark.parametrize("compressed", [False, True])
def test_mat_values_are_those_of_another_reader(tmp_path, compressed):
    path = tmp_path / "a.mat"
    rng = np.random.default_rng(0)
    kinds = {
        f"x{k}": (100 * rng.normal(size=40)).astype(kind)
        for k, kind in enumerate(("f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
    }
    scipy.io.savemat(
        path,
        {**kinds, "t": T[:40], "m": rng.normal(size=(40, 3)), "on": T[:40] > 0.2},
        do_compression=compressed,
    )
    other = scipy.io.loadmat(path)
    (recording,) = mat.entries(path)
    for channel in recording.channels:
        name, _, column = channel.name.partition(".")
        values = other[name][:, int(column)] if column else other[name].ravel()
        assert np.array_equal(channel.values, values.astype(float)), channel.name


def test_mat_vectors_matrices_and_structs(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(
        path,
        {
            "t": T[:, None],
            "q": np.degrees(T)[None, :],
            "run": {"u": 2 * T, "m": np.stack([T, 3 * T])},
            "kp": 8.0,
            "name": "rig",
        },
    )
    (log,) = read(path, map=["position=q[deg]", "voltage_target=run.u[V]", "current=run.m.1[A]"])
    assert np.allclose(log["position"], T)
    assert np.allclose(log["voltage_target"], 2 * T)
    assert np.allclose(log["current"], 3 * T)
    assert "single values, not signals: kp = 8" in log.conversions
    assert "not vectors of numbers, not used: name" in log.conversions


def test_mat_vectors_of_different_lengths_need_their_clock(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"t": T, "q": T, "t_i": 0.02 * np.arange(25), "i_m": np.ones(25)})
    with pytest.raises(
        BackemfError,
        match=(
            "channel 'i_m' has 25 values, but its time has 50; say where its own times are: current=i_m@NAME"
        ),
    ):
        read(path, map=["position=q[rad]", "current=i_m[A]"])
    (log,) = read(path, map=["position=q[rad]", "current=i_m[A]@t_i"])
    assert len(log.signals["current"].time) == 25
    assert np.isnan(log["current"][1])
    assert log["current"][2] == 1.0


def test_mat_of_version_73_and_broken_ones(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512, b" "))
    with pytest.raises(BackemfError, match=r"a MAT file of version 7.3; save it with -v7"):
        read(path)
    scipy.io.savemat(path, {"t": T, "q": T})
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(
        BackemfError,
        match=(
            r"a.mat: the variable that begins at byte 128 of 300 is damaged: it wants \d+ bytes where 164 are"
            r" left"
        ),
    ):
        read(path)
    scipy.io.savemat(path, {"kp": 1.0})
    with pytest.raises(BackemfError, match="no vectors of numbers; found: kp = 1"):
        read(path)


@pytest.fixture
def arrow():
    try:
        import pyarrow.parquet
    except ImportError:
        unavailable("pyarrow, of the extra 'logs',")
    return pyarrow


@pytest.fixture
def parquet(arrow):
    def write(path, **columns):
        path.parent.mkdir(parents=True, exist_ok=True)
        arrow.parquet.write_table(arrow.table(columns), path)
        return path

    return write


def test_parquet_columns(tmp_path, arrow, parquet):
    stamps = arrow.array((1_700_000_000_000_000_000 + (T * 1e9).astype(np.int64)), arrow.timestamp("ns"))
    path = parquet(
        tmp_path / "a.parquet",
        **{
            "time": stamps,
            "angle (deg)": np.degrees(T),
            "enabled": T < 0.3,
            "i [A]": [None if k == 3 else 1.0 for k in range(50)],
            "note": ["x"] * 50,
        },
    )
    (log,) = read(path)
    assert np.allclose(log.time, T, atol=1e-6)
    assert np.allclose(log["position"], T)
    assert len(log.signals["current"].time) == 49
    assert "no numbers, not used: note" in log.conversions
    path = parquet(tmp_path / "b.parquet", t=T, state=[[k, 2.0 * k] for k in range(50)])
    (log,) = read(path, map="position=state.1[deg]")
    assert np.allclose(log["position"], np.radians(2.0 * np.arange(50)))


def test_broken_parquet(tmp_path, parquet):
    path = parquet(tmp_path / "a.parquet", t=T, q=T)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BackemfError, match=r"a.parquet: not a Parquet file that can be read"):
        read(path)
    with pytest.raises(BackemfError, match="lists of different lengths"):
        read(parquet(tmp_path / "b.parquet", t=[0.0, 1.0], q=[[1.0], [1.0, 2.0]]), map="position=q.0[rad]")


LEROBOT = ["position=observation.state[deg]", "position_target=action[deg]"]


def lerobot(parquet, folder, names_state, names_action, version="v3.0"):
    """Two episodes of two joints, in the layout of version 2 (a file an episode) or 3 (one file)."""
    n = 20
    features = {
        "observation.state": {"dtype": "float32", "shape": [2], "names": names_state},
        "action": {"dtype": "float32", "shape": [2], "names": names_action},
        "observation.images.top": {"dtype": "video", "shape": [3, 4, 4], "names": None},
    }
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(
        json.dumps({"codebase_version": version, "fps": 30, "features": features})
    )
    frame = np.arange(n)
    rows = []
    for episode in (0, 1):
        state = [[float(10 * episode + k), 2.0 * k] for k in range(n)]
        action = [[float(10 * episode + k + 1), 2.0 * k + 1] for k in range(n)]
        rows.append(
            {
                "observation.state": state,
                "action": action,
                "timestamp": (frame / 30).astype(np.float32),
                "frame_index": frame,
                "episode_index": [episode] * n,
            }
        )
    if version.startswith("v2"):
        for episode, columns in enumerate(rows):
            parquet(folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet", **columns)
    else:
        joined = {name: np.concatenate([np.asarray(r[name]) for r in rows]).tolist() for name in rows[0]}
        parquet(folder / "data" / "chunk-000" / "file-000.parquet", **joined)
    return folder


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize("names", [["pan.pos", "lift.pos"], {"motors": ["pan", "lift"]}])
def test_lerobot_gives_a_log_per_episode_and_joint(tmp_path, parquet, version, names):
    logs = read(lerobot(parquet, tmp_path / "set", names, names, version), map=LEROBOT)
    assert [log.name for log in logs] == ["set/0/pan", "set/0/lift", "set/1/pan", "set/1/lift"]
    assert np.allclose(logs[2]["position"], np.radians(10 + np.arange(20)))
    assert np.allclose(logs[2]["position_target"], np.radians(11 + np.arange(20)))
    assert np.allclose(logs[1].time, np.arange(20) / 30, atol=1e-6)


def test_lerobot_does_not_say_its_unit_and_nor_do_we(tmp_path, parquet):
    folder = lerobot(parquet, tmp_path / "set", None, None)
    with pytest.raises(
        BackemfError,
        match=(
            r"'observation.state' is position, but the file states no unit: write"
            r" position=observation.state\[deg\]"
        ),
    ):
        read(folder)
    assert [log.name for log in read(folder, map=LEROBOT)] == ["set/0/0", "set/0/1", "set/1/0", "set/1/1"]
    (file,) = (folder / "data").rglob("*.parquet")
    assert len(read(file, map=LEROBOT)) == 4


def test_lerobot_joints_are_matched_by_name(tmp_path, parquet):
    logs = read(lerobot(parquet, tmp_path / "set", ["pan", "lift"], ["lift", "pan"]), map=LEROBOT)
    assert np.allclose(logs[0]["position_target"], np.radians(1 + 2.0 * np.arange(20)))
    logs = read(
        lerobot(parquet, tmp_path / "other", ["pan", "lift"], ["leader_pan", "leader_lift"]), map=LEROBOT
    )
    assert np.allclose(logs[0]["position_target"], np.radians(1 + np.arange(20)))
    assert "action has no 'pan'; its element 0, 'leader_pan', is taken" in logs[0].conversions


def test_lerobot_that_is_not_whole(tmp_path, parquet):
    folder = lerobot(parquet, tmp_path / "set", None, None)
    (file,) = (folder / "data").rglob("*.parquet")
    file.unlink()
    with pytest.raises(BackemfError, match="has the dataset been downloaded whole"):
        read(folder, map=LEROBOT)
    (folder / "meta" / "info.json").write_text("{}")
    with pytest.raises(BackemfError, match=r"has no 'features' with 'observation.state'"):
        read(folder, map=LEROBOT)


ONE = {"observation.state": [[1.0, 2.0]] * 3, "timestamp": [0.0, 0.1, 0.2], "episode_index": [0] * 3}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"timestamp": ["noon"] * 3}, "file.parquet has no column of numbers timestamp"),
        ({"observation.state": ["up"] * 3}, "file.parquet has no column of numbers observation.state"),
        ({"episode_index": [0, None, 0]}, "file.parquet has rows without an episode_index"),
    ],
)
def test_lerobot_columns_that_cannot_be_used(tmp_path, parquet, columns, message):
    folder = lerobot(parquet, tmp_path / "set", None, None)
    (file,) = (folder / "data").rglob("*.parquet")
    file.unlink()
    parquet(folder / "data" / "file.parquet", **{**ONE, **columns})
    with pytest.raises(BackemfError, match=message):
        read(folder, map=LEROBOT)


def test_lerobot_without_rows_and_without_descriptions(tmp_path, arrow, parquet):
    folder = lerobot(parquet, tmp_path / "set", None, None)
    (folder / "meta" / "info.json").write_text(json.dumps({"features": {"observation.state": None}}))
    assert [log.name for log in read(folder, map=LEROBOT[:1])] == ["set/0/0", "set/0/1", "set/1/0", "set/1/1"]
    (file,) = (folder / "data").rglob("*.parquet")
    empty = {name: arrow.array([], arrow.float64()) for name in ("timestamp", "episode_index")}
    parquet(file, **empty, **{"observation.state": arrow.array([], arrow.list_(arrow.float64()))})
    with pytest.raises(BackemfError, match="the data files have no rows"):
        read(folder, map=LEROBOT)


def test_a_dataset_may_be_characterized_like_any_recording(tmp_path, parquet):
    folder = lerobot(parquet, tmp_path / "set", ["pan", "lift"], ["pan", "lift"])
    assert [log.name for log in mechanism_logs(str(folder), map=LEROBOT)] == [
        "set/0/pan",
        "set/0/lift",
        "set/1/pan",
        "set/1/lift",
    ]


JOINT_STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
START = 1_700_000_000


@pytest.fixture
def mcap(tmp_path):
    try:
        from mcap_ros2.writer import Writer
    except ImportError:
        unavailable("mcap-ros2-support, of the extra 'dev',")

    def write(name, messages, text=None):
        """Messages are (topic, seconds, names, position, velocity, effort); a topic of text comes on top."""
        path = tmp_path / name
        with path.open("wb") as file:
            writer = Writer(file)
            schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
            for topic, seconds, stamped, names, position, velocity, effort in messages:
                stamp = (
                    {"sec": START + int(seconds), "nanosec": round(1e9 * (seconds % 1))}
                    if stamped
                    else {"sec": 0, "nanosec": 0}
                )
                message = {
                    "header": {"stamp": stamp, "frame_id": ""},
                    "name": names,
                    "position": position,
                    "velocity": velocity,
                    "effort": effort,
                }
                writer.write_message(topic, schema, message, log_time=int((START + seconds + 0.002) * 1e9))
            if text is not None:
                other = writer.register_msgdef("std_msgs/msg/String", "string data")
                writer.write_message("/chatter", other, SimpleNamespace(data=text), log_time=START * 10**9)
            writer.finish()
        return path

    return write


def messages(stamped=True):
    states = [
        ("/joint_states", 0.01 * k, stamped, ["knee", "hip"], [0.1 * k, -0.1 * k], [], [1.0, 2.0])
        for k in range(100)
    ]
    commands = [("/joint_command", 0.005 + 0.05 * k, stamped, ["knee"], [0.5 * k], [], []) for k in range(20)]
    return states + commands


def test_mcap_topics_keep_their_own_clocks(mcap):
    knee, hip = read(mcap("a.mcap", messages(), text="hello"))
    assert (knee.name, hip.name) == ("a/knee", "a/hip")
    assert set(knee.signals) == {"position", "torque", "position_target"}
    assert set(hip.signals) == {"position", "torque"}
    assert np.allclose(knee.time, 0.01 * np.arange(100), atol=1e-9)
    assert np.allclose(knee.signals["position_target"].time, 0.005 + 0.05 * np.arange(20), atol=1e-9)
    assert np.allclose(knee["position_target"][:12], [0] * 6 + [0.5] * 5 + [1.0]), (
        "a command holds until the next"
    )
    assert np.allclose(hip["position"], -0.1 * np.arange(100))
    assert "topic '/chatter' (std_msgs/msg/String) is not used" in knee.conversions
    assert any("times are the messages' own stamps" in text for text in knee.conversions)


def test_mcap_without_stamps_uses_the_times_of_logging(mcap):
    knee, _ = read(mcap("a.mcap", messages(stamped=False)))
    assert np.allclose(np.diff(knee.time), 0.01, atol=1e-6)
    assert any("times are those of logging" in text for text in knee.conversions)


def test_mcap_with_two_states_of_one_joint_asks_which(mcap):
    both = messages() + [
        ("/filtered/joint_states", 0.01 * k, True, ["knee"], [0.1 * k], [], []) for k in range(10)
    ]
    with pytest.raises(
        BackemfError,
        match=r"'/joint_states.position' and '/filtered/joint_states.position' may each be position",
    ):
        read(mcap("a.mcap", both))


def test_broken_mcap(mcap):
    path = mcap("a.mcap", messages())
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        BackemfError,
        match=r"a.mcap: not an MCAP file of ROS 2 that can be read: .*\(was the recording cut off\?\)",
    ):
        read(path)
    path = mcap("b.mcap", [], text="hello")
    with pytest.raises(
        BackemfError,
        match=r"no topic holds sensor_msgs/msg/JointState, .*; there are: /chatter \(std_msgs/msg/String\)",
    ):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "package"),
    [
        ("a.yaml", b"t: [0]", "yaml"),
        ("a.parquet", b"PAR1....", "pyarrow"),
        ("a.mcap", b"\x89MCAP0\r\n....", "rosbags.rosbag2"),
    ],
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, name, content, package):
    (tmp_path / name).write_bytes(content)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotAvailable, match=r'pip install "backemf\[logs\]"'):
        read(tmp_path / name)


def test_single_precision_times_are_kept(tmp_path, parquet):
    (log,) = read(
        parquet(tmp_path / "a.parquet", t=T.astype(np.float32), position=T), map="position=position[rad]"
    )
    assert log.time[-1] == float(np.float32(T[-1]))
    assert not math.isclose(log.time[-1], T[-1], rel_tol=1e-12)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.yaml", "a.mat", "a.mcap"])
def test_damage_is_an_error_or_nothing(tmp_path, mcap, name):
    """Bytes changed, lost, doubled or cut off: a log or a clear error, never anything else."""
    rows = "".join(f"{k},{1.5 * k},True\n" for k in range(40))
    content = {
        "a.csv": b"# by hand\ntime [ms],angle (deg),enabled\n" + rows.encode(),
        "a.json": (
            json.dumps(
                {
                    "mass": 1,
                    "length": 0.1,
                    "entries": [{"timestamp": k, "position": k, "goal_position": 0} for k in range(40)],
                }
            ).encode()
        ),
        "a.yaml": b"t: [0, 1, 2, 3]\nangle: [1, 2, 3, 4]\nmass: 1\n",
    }
    scipy.io.savemat(tmp_path / "a.mat", {"t": T, "angle": T, "run": {"u": T}})
    mcap("a.mcap", messages()[:20])
    whole = content.get(name) or (tmp_path / name).read_bytes()
    rng = np.random.default_rng(7)
    for _ in range(150):
        bad = bytearray(whole)
        for _ in range(int(rng.integers(1, 6))):
            k, n = (int(x) for x in rng.integers(0, [max(1, len(bad)), 30]))
            what = rng.integers(0, 4)
            if what == 0:
                bad[k : k + 1] = bytes([int(rng.integers(0, 256))])
            elif what == 1:
                del bad[k : k + n]
            elif what == 2:
                bad[k:k] = bad[k : k + n]
            elif rng.random() < 0.2:
                del bad[k:]
        (tmp_path / name).write_bytes(bytes(bad))
        with contextlib.suppress(BackemfError):
            read(tmp_path / name)
