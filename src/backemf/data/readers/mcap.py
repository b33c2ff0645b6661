"""MCAP files with ROS 2 `sensor_msgs/msg/JointState`:
one recording per joint, each topic on its own clock."""

from __future__ import annotations

import contextlib
import io
import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NotAvailable
from ..logs.names import ASKING, words
from ..logs.recording import Channel, Keep, ReadError, Recording, Report, everything, silent

FORMAT = "MCAP"
SUFFIXES = (".mcap",)
MAGIC = b"\x89MCAP0\r\n"
JOINT_STATE = "sensor_msgs/msg/JointState"
FIELDS = {"position": ("position", "rad"), "velocity": ("velocity", "rad/s"), "effort": ("torque", "N m")}


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC)


class _Topic:
    """The messages of one topic, as they are read: per joint and field, stamps [ns] and values."""

    def __init__(self) -> None:
        self.stamped = True
        self.stamps: array[int] = array("q")
        self.logged: array[int] = array("q")
        self.values: dict[tuple[str, str], array[float]] = {}

    def add(self, message: Any, logged: int) -> None:
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        self.stamped = self.stamped and stamp > 0
        n = len(self.stamps)
        self.stamps.append(stamp)
        self.logged.append(logged)
        for field in FIELDS:
            numbers = getattr(message, field)
            for name, value in zip(message.name, numbers, strict=False):
                column = self.values.setdefault((name, field), array("d"))
                column.extend([math.nan] * (n - len(column)))
                if len(column) == n:
                    column.append(value)


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The joints of every JointState topic; a topic with "command" or the like in its name holds targets."""
    try:
        from mcap.reader import make_reader
        from mcap_ros2.decoder import DecoderFactory
    except ImportError:
        needs = "reading MCAP needs the packages mcap and mcap-ros2-support"
        raise NotAvailable(f'{needs}: pip install "backemf[logs]"') from None
    topics: dict[str, _Topic] = {}
    others: dict[str, str] = {}
    size = max(1, path.stat().st_size)
    count = 0
    with path.open("rb") as file:
        factory = DecoderFactory()
        try:
            reader = make_reader(file)
            wanted = _wanted(reader.get_summary(), others)
            for schema, channel, message in reader.iter_messages(topics=wanted, log_time_order=False):
                if schema is None or schema.name != JOINT_STATE:
                    others[channel.topic] = schema.name if schema is not None else "no schema"
                    continue
                with contextlib.redirect_stdout(io.StringIO()):  # the package prints what it cannot parse
                    decode = factory.decoder_for(channel.message_encoding, schema)
                if decode is None:
                    how = f"is written as {schema.encoding} in {channel.message_encoding}"
                    raise ReadError(f"topic {channel.topic!r} {how}; expected ros2msg in cdr")
                topics.setdefault(channel.topic, _Topic()).add(decode(message.data), message.log_time)
                count += 1
                if count % 1000 == 0:
                    report(min(1.0, file.tell() / size))
        except ReadError:
            raise
        except Exception as error:  # the package raises many kinds on broken files
            place = f"near byte {file.tell()} of {size}, after {count} messages"
            why = f"{type(error).__name__}: {error} (was the recording cut off?)"
            raise ReadError(f"{place}: {why}") from None
    report(1.0)
    left = [f"topic {topic!r} ({kind}) is not used" for topic, kind in others.items()]
    if not topics:
        there = ", ".join(f"{topic} ({kind})" for topic, kind in others.items()) or "none"
        raise ReadError(f"no topic holds {JOINT_STATE}; there are: {there}")
    return _joints(path, topics, left)


def _wanted(summary: Any, others: dict[str, str]) -> list[str] | None:
    """The topics to read, where the file's summary lists them:
    chunks without them, such as images, are skipped."""
    if summary is None or not summary.channels:
        return None
    names = {key: schema.name for key, schema in summary.schemas.items()}
    kinds = {c.topic: names.get(c.schema_id, "no schema") for c in summary.channels.values()}
    others.update({topic: kind for topic, kind in kinds.items() if kind != JOINT_STATE})
    return [topic for topic, kind in kinds.items() if kind == JOINT_STATE]


def _joints(path: Path, topics: dict[str, _Topic], left: list[str]) -> list[Recording]:
    stamped = all(t.stamped for t in topics.values())
    note = "times are the messages' own stamps"
    if not stamped:
        note = "times are those of logging, as not every message carries a stamp"
    times = {name: np.array(t.stamps if stamped else t.logged, np.int64) for name, t in topics.items()}
    began = min(int(t.min()) for t in times.values())
    clocks = {name: (t - began) * 1e-9 for name, t in times.items()}
    recordings = []
    for joint in dict.fromkeys(name for t in topics.values() for name, _ in t.values):
        channels = []
        for topic, content in topics.items():
            asked = any(w.lower() in ASKING for w in words(topic))
            for field, (signal, unit) in FIELDS.items():
                column = content.values.get((joint, field))
                if column is not None and any(map(math.isfinite, column)):
                    values = np.full(len(clocks[topic]), math.nan)
                    values[: len(column)] = column
                    known = {"unit": unit, "signal": f"{signal}_target" if asked else signal}
                    channels.append(Channel.of(f"{topic}.{field}", values, time=clocks[topic], **known))
        if channels:
            notes = (f"joint {joint!r}, {note}, counted from {began * 1e-9:.6f} s", *left)
            more = {"notes": notes, "where": "message {}".format}
            recordings.append(Recording.of(path, FORMAT, channels, f"{path.stem}/{joint}", **more))
    if not recordings:
        raise ReadError(f"the topics {', '.join(topics)} name no joint with values")
    return recordings
