"""MCAP as ROS 2 and Foxglove read it: sensor_msgs/JointState on /joint_states as recorded, on
/joint_commands as asked, and below /model/ as predicted; everything else as labelled arrays.

`backemf.logs.readers.ros_bag` reads it back and leaves what is below /model/ alone beside a recording.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NotAvailable
from .playback import ASKED_FOR, MODEL, RECORDED, JointTrack, Playback

STATE, ARRAY = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
FIELDS = {"position": "position", "velocity": "velocity", "torque": "effort"}
"""What a JointState has a field for."""
BEGIN = 1_000_000_000
"""Time of the first sample [ns]: a stamp of 0 is none in ROS."""


class McapFile:
    """The row of `PLAYBACKS`."""

    SUFFIX = ".mcap"

    def check(self) -> None:
        """Refuse where rosbags is not installed."""
        try:
            import rosbags.rosbag2  # noqa: F401
        except ImportError:
            raise NotAvailable(
                'writing MCAP needs the package rosbags: pip install "backemf[logs]"'
            ) from None

    def write(self, playback: Playback, path: Path) -> None:
        """Fill a file; messages are compressed by zstd.

        Args:
            playback: what it shows.
            path: of the file.
        """
        from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore

        types = get_typestore(Stores.ROS2_HUMBLE)
        began = min(float(track.values.time[0]) for track in playback.tracks)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".mcap-") as made:
            folder = Path(made) / "bag"  # rosbags writes folders: the file is taken out of it
            bag = Writer(folder, version=8, storage_plugin=StoragePlugin.MCAP)
            bag.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
            with bag:
                topics, rows = {}, []
                for topic, tracks in _topics(playback):
                    kind = ARRAY if "/joint_signals/" in topic else STATE
                    if topic not in topics:
                        topics[topic] = bag.add_connection(topic, kind, typestore=types)
                    stamps = np.rint((tracks[0].values.time - began) * 1e9).astype(np.int64) + BEGIN
                    messages = _messages(types, kind, tracks, stamps)
                    rows += zip(stamps.tolist(), itertools.repeat(topic), messages, strict=False)
                for stamp, topic, message in sorted(rows, key=lambda row: row[0]):
                    bag.write(topics[topic], stamp, message)
            (written,) = folder.glob("*.mcap")
            with contextlib.suppress(OSError):
                path.unlink()
            written.rename(path)


def _topics(playback: Playback) -> Iterator[tuple[str, list[JointTrack]]]:
    """(topic, tracks of one clock), joints of one clock together."""
    groups: dict[tuple[str, bytes], list[JointTrack]] = {}
    for track in playback.tracks:
        groups.setdefault((_topic_of(track), track.values.time.tobytes()), []).append(track)
    for (topic, _), tracks in groups.items():
        yield topic, tracks


def _topic_of(track: JointTrack) -> str:
    above = "" if track.origin in (RECORDED, ASKED_FOR) else "/model"
    above += "" if track.origin in (RECORDED, ASKED_FOR, MODEL) else f"/{track.origin}"
    if track.signal.removesuffix("_target") not in FIELDS:
        return f"{above}/joint_signals/{track.signal}"
    return f"{above}/{'joint_commands' if track.origin == ASKED_FOR else 'joint_states'}"


def _messages(types: Any, kind: str, tracks: Sequence[JointTrack], stamps: np.ndarray) -> list[bytes]:
    """One message for each sample: the first is written by rosbags, the others are that with other numbers in
    the same places."""
    joints = list(dict.fromkeys(track.joint for track in tracks))
    fields: dict[str, np.ndarray] = {}
    for track in tracks:
        name = FIELDS.get(track.signal.removesuffix("_target"), "data")
        columns = fields.setdefault(name, np.full((len(stamps), len(joints)), np.nan))
        exact = track.origin in (RECORDED, ASKED_FOR)
        columns[:, joints.index(track.joint)] = track.values.values.astype(float if exact else np.float32)
    marks = {
        name: 1e300 + 1e290 * np.arange(1 + 1000 * k, 1 + 1000 * k + len(joints))
        for k, name in enumerate(fields)
    }
    bare = bytes(types.serialize_cdr(_message(types, kind, joints, marks), kind))
    rows = np.tile(np.frombuffer(bare, np.uint8), (len(stamps), 1))
    for name, columns in fields.items():
        at = bare.index(marks[name].astype("<f8").tobytes())
        rows[:, at : at + 8 * len(joints)] = columns.astype("<f8").view(np.uint8).reshape(len(stamps), -1)
    if kind == STATE:  # behind the four bytes of every message: seconds and nanoseconds
        parts = np.stack([stamps // 1_000_000_000, stamps % 1_000_000_000], axis=1).astype("<u4")
        rows[:, 4:12] = parts.view(np.uint8).reshape(len(stamps), -1)
    return [row.tobytes() for row in rows]


def _message(types: Any, kind: str, joints: Sequence[str], fields: dict[str, np.ndarray]) -> Any:
    made, none = types.types, np.zeros(0)
    if kind == STATE:
        stamp = made["builtin_interfaces/msg/Time"](sec=1, nanosec=1)
        header = made["std_msgs/msg/Header"](stamp=stamp, frame_id="")
        columns = {name: fields.get(name, none) for name in FIELDS.values()}
        return made[STATE](header=header, name=[*joints], **columns)
    named = [made["std_msgs/msg/MultiArrayDimension"](label=joint, size=1, stride=1) for joint in joints]
    layout = made["std_msgs/msg/MultiArrayLayout"](dim=named, data_offset=0)
    return made[ARRAY](layout=layout, data=fields["data"])


MCAP = McapFile()
