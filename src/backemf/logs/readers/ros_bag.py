"""Bags of ROS 2, in MCAP and in SQLite (.db3), read by rosbags: one recording per joint, with a channel for
each topic and field, each topic on its own clock.

A trajectory that was sent to a controller becomes the target it makes of it: straight lines between points,
cubics where the points have velocities. Each begins where the one before was, and ends it.

Before ROS 2 Iron a bag in SQLite does not hold the definitions of its messages: those of common types come
from rosbags, those of controllers and of Unitree's robots from here.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import tomllib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from ...bounds import SHORTER, Unpacking, check_channels, check_file, limits
from ...errors import NotAvailable, TooLarge
from ..log import MEASURED, UNITS
from ..mapping import NONE
from ..names import ASKING, words
from ..recording import Channel, Keep, ReadError, Recording, Report, everything, silent

JOINT_STATE = "sensor_msgs/msg/JointState"
CONTROLLER = "control_msgs/msg/JointTrajectoryControllerState"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
ARRAY = "std_msgs/msg/Float64MultiArray"
MODEL = "/model/"
"""How topics begin that say what a model predicts: no measurement, where there is one."""
SIGNALS = "/joint_signals/"
"""How topics end, with a signal behind it, that hold what no message of ROS has a field for."""
Row = tuple[str, str, str, float]
"""(joint, the field as the message calls it, signal, value)."""
LEGS = tuple(f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf"))
"""Motors 0 to 11 of Unitree's quadrupeds (A1, Go1, Go2, B1, B2; unitree_legged_sdk)."""
NOBODY = "#"
"""Before the number of an element that has no name."""


NOT_ASKED = {"position_target": (2.146e9,), "velocity_target": (16000.0,)}
"""What Unitree's commands hold where a position or velocity is not asked for (PosStopF, VelStopF)."""


class MessageKind(NamedTuple):
    """A type of message."""

    rows: Callable[[Any, str], Iterator[Row]]
    rank: int
    """How near to the motors it is: of two that say the same, the lower counts."""
    stamped: bool = True
    """Whether it has a time of its own."""


def asks(topic: str) -> bool:
    return any(w.lower() in ASKING for w in words(topic))


def joint_state(message: Any, topic: str) -> Iterator[Row]:
    """Positions, velocities and efforts by name; targets where the topic says so."""
    behind = "_target" if asks(topic) else ""
    for field, signal in (("position", "position"), ("velocity", "velocity"), ("effort", "torque")):
        for name, value in zip(message.name, getattr(message, field), strict=False):
            yield name, field, f"{signal}{behind}", value


def controller_state(message: Any, topic: str) -> Iterator[Row]:
    """What a trajectory controller asked of the joints and what they did: `reference` and `feedback`, or
    `desired` and `actual` before ROS 2 Iron."""
    for fields, behind in ((("reference", "desired"), "_target"), (("feedback", "actual"), "")):
        field = next((f for f in fields if hasattr(message, f)), "")
        point = getattr(message, field, None)
        for part, signal in (("positions", "position"), ("velocities", "velocity"), ("effort", "torque")):
            for name, value in zip(message.joint_names, getattr(point, part, ()), strict=False):
                yield name, f"{field}.{part}", f"{signal}{behind}", value


def array_command(message: Any, topic: str) -> Iterator[Row]:
    """Commands of forward controllers: numbers whose joints only the controller's configuration names, or
    the layout's labels."""
    _, ours, signal = topic.rpartition(SIGNALS)
    said = {w.lower() for w in words(topic)}
    kinds = {"position": "position", "velocity": "velocity", "effort": "torque", "torque": "torque"}
    if not ours or signal not in UNITS:
        signal = next((f"{s}_target" for w, s in kinds.items() if w in said or f"{w}s" in said), "")
    labels = [d.label for d in message.layout.dim]
    named = len(labels) == len(message.data) and all(labels) and len(set(labels)) == len(labels)
    for k, value in enumerate(message.data):
        yield labels[k] if named else f"{NOBODY}{k}", "data", signal, value


def motor(name: str, fields: Sequence[tuple[str, str]]) -> Callable[[Any, str], Iterator[Row]]:
    """Unitree's motors, which have places and no names."""

    def rows(message: Any, topic: str) -> Iterator[Row]:
        for k, one in enumerate(getattr(message, name)):
            for field, signal in fields:
                value = getattr(one, field)
                nothing = value in NOT_ASKED.get(signal, ())
                yield f"motor_{k}", field, signal, math.nan if nothing else value

    return rows


def no_rows(message: Any, topic: str) -> Iterator[Row]:
    """A trajectory is more than a row: it is sampled when all of them are known."""
    return iter(())


STATE = motor("motor_state", (("q", "position"), ("dq", "velocity"), ("tau_est", "torque")))
COMMAND = motor("motor_cmd", (("q", "position_target"), ("dq", "velocity_target"), ("tau", "torque_target")))
KINDS = {
    CONTROLLER: MessageKind(controller_state, 1),
    JOINT_STATE: MessageKind(joint_state, 0),
    ARRAY: MessageKind(array_command, 2, stamped=False),
    TRAJECTORY: MessageKind(no_rows, 3),
    **{f"unitree_{family}/msg/LowState": MessageKind(STATE, 0, stamped=False) for family in ("go", "hg")},
    **{f"unitree_{family}/msg/LowCmd": MessageKind(COMMAND, 0, stamped=False) for family in ("go", "hg")},
}


PREDICTED = 1 + max(kind.rank for kind in KINDS.values())
"""Rank of what a model predicts."""
STEP = 0.01
"""Between samples [s]; points themselves are always among them."""


class SentTrajectory(NamedTuple):
    """One message: when it begins [ns], and the points of each joint after that."""

    begins: int
    joints: tuple[str, ...]
    after: np.ndarray
    """[s]."""
    positions: np.ndarray
    """(points, joints)."""
    velocities: np.ndarray | None


def read_trajectory(message: Any, begins: int) -> SentTrajectory:
    points = message.points
    after = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points])
    positions = np.array([list(p.positions) for p in points], float).reshape(len(points), -1)
    moving = [list(p.velocities) for p in points]
    whole = all(len(v) == positions.shape[1] for v in moving) and len(points) > 0
    velocities = np.array(moving, float).reshape(positions.shape) if whole else None
    return SentTrajectory(begins, tuple(message.joint_names), after, positions, velocities)


def sample_trajectories(
    plans: Sequence[SentTrajectory], began: int, end: float
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The target of each joint: times [s] from `began` and values."""
    ordered = sorted((p for p in plans if len(p.after) and p.positions.size), key=lambda p: p.begins)
    out: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {}
    for k, plan in enumerate(ordered):
        start = (plan.begins - began) * 1e-9
        later = [p.begins for p in ordered[k + 1 :] if set(p.joints) & set(plan.joints)]
        until = (later[0] - began) * 1e-9 if later else end
        times = np.union1d(np.arange(0.0, plan.after[-1], STEP), plan.after)
        times = times[start + times < until]
        for j, joint in enumerate(plan.joints[: plan.positions.shape[1]]):
            at, before = out.setdefault(joint, ([], []))
            values = _between(plan, j, times, float(before[-1][-1]) if before else None)
            # where it is the first, nobody knows where the joint was until its first point
            known = times >= (plan.after[0] if not before else -math.inf)
            if known.any():
                at.append(start + times[known])
                before.append(values[known])
    sampled = {}
    for joint, (at, before) in out.items():
        if at:
            times, values = np.concatenate(at), np.concatenate(before)
            keep = np.concatenate([np.diff(times) > 0, [True]])
            sampled[joint] = times[keep], values[keep]
    return sampled


def _between(plan: SentTrajectory, j: int, times: np.ndarray, before: float | None) -> np.ndarray:
    """A joint's target `times` after the start."""
    after, q = plan.after, plan.positions[:, j]
    v = None if plan.velocities is None else plan.velocities[:, j]
    if before is not None and after[0] > 0:
        after, q = np.concatenate([[0.0], after]), np.concatenate([[before], q])
        v = None if v is None else np.concatenate([[0.0], v])
    if v is None or len(after) < 2:
        return np.interp(times, after, q)
    k = np.clip(np.searchsorted(after, times, side="right") - 1, 0, len(after) - 2)
    h = np.maximum(after[k + 1] - after[k], 1e-9)
    s = np.clip((times - after[k]) / h, 0.0, 1.0)
    rise, last = 3 * s**2 - 2 * s**3, s**3 - s**2
    return q[k] + (q[k + 1] - q[k]) * rise + h * (v[k] * (s - 2 * s**2 + s**3) + v[k + 1] * last)


STATED = ("position", "velocity", "torque")


class Topic:
    """The messages of one topic, as they are read: per joint and field, stamps [ns] and values."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.stamps: array[int] = array("q")
        self.logged: array[int] = array("q")
        self.values: dict[tuple[str, str, str], array[float]] = {}
        self.plans: list[SentTrajectory] = []

    @property
    def stamped(self) -> bool:
        """Whether every message has a time of its own."""
        return KINDS[self.kind].stamped and all(s > 0 for s in self.stamps)

    def joint_names(self, legs: bool) -> dict[str, str]:
        """What its joints are called; a quadruped has twelve motors, and places that nothing moves in."""
        if legs and self.kind.startswith("unitree_"):
            return {f"motor_{k}": name for k, name in enumerate(LEGS)}
        return {joint: joint for joint, _, _ in self.values}

    def add(self, message: Any, logged: int) -> None:
        """Keep what a message says, which was written at a time [ns]."""
        header = getattr(message, "header", None)
        stamp = 0 if header is None else header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
        n = len(self.stamps)
        self.stamps.append(stamp)
        self.logged.append(logged)
        if self.kind == TRAJECTORY:
            self.plans.append(read_trajectory(message, stamp or logged))
        for joint, field, signal, value in KINDS[self.kind].rows(message, self.name):
            column = self.values.setdefault((joint, field, signal), array("d"))
            column.extend([math.nan] * (n - len(column)))
            if len(column) == n:
                column.append(value)
        check_channels(len(self.values))


class Bag:
    """The topics of a file."""

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.others: dict[str, str] = {}
        """Topics about something else, with their types."""

    def recordings(self, path: Path, format: str) -> list[Recording]:
        """One recording per joint."""
        if not self.topics:
            there = ", ".join(f"{topic} ({kind})" for topic, kind in self.others.items()) or "none"
            also = "a controller's state, a trajectory, a forward command or Unitree's LowState"
            raise ReadError(f"no topic holds {JOINT_STATE}, {also}; there are: {there}")
        check_channels(sum(len(topic.values) for topic in self.topics.values()))
        clocks, began, note = self._clocks()
        channels, nobody = self._channels(clocks, began)
        left = [f"topic {topic!r} ({kind}) is not used" for topic, kind in self.others.items()]
        recordings = []
        for joint, own in channels.items():
            chosen = _nearest(own)
            text = f"joint {joint!r}, {note}, counted from {began * 1e-9:.6f} s"
            more: dict[str, Any] = {"notes": (text, *left), "where": "message {}".format, "joint": joint}
            recordings.append(Recording.of(path, format, (*chosen, *nobody), f"{path.stem}/{joint}", **more))
        if not recordings:
            names = ", ".join(self.topics)
            raise ReadError(f"the topics {names} name no joint with values")
        return recordings

    def _clocks(self) -> tuple[dict[str, np.ndarray], int, str]:
        """Times of each topic [ns], the first of all, and which times they are: the messages' own where all
        that may have them do."""
        able = [t for t in self.topics.values() if KINDS[t.kind].stamped and t.kind != TRAJECTORY]
        stamped = bool(able) and all(t.stamped for t in able)
        note = "times are the messages' own stamps"
        if not stamped:
            note = "times are those of logging, as not every message carries a stamp"
        elif any(not t.stamped for t in self.topics.values()):
            note += ", and those of logging where a message has none"
        times = {
            name: np.array(t.stamps if stamped and t.stamped else t.logged, np.int64)
            for name, t in self.topics.items()
        }
        return times, min(int(t.min()) for t in times.values()), note

    def _legs(self) -> bool:
        """Whether Unitree's motors are those of a quadruped: none beyond the twelfth moves."""
        robots = [t for t in self.topics.values() if t.kind.startswith("unitree_")]
        small = {f"motor_{k}" for k in range(len(LEGS))}
        return all(t.kind.startswith("unitree_go") and small >= set(_used_joints(t)) for t in robots)

    def _channels(
        self, times: Mapping[str, np.ndarray], began: int
    ) -> tuple[dict[str, list[tuple[int, Channel]]], list[Channel]]:
        """(by joint, channels with how near to the motor they are; channels that name nobody)."""
        by_joint: dict[str, list[tuple[int, Channel]]] = {}
        nobody: list[Channel] = []
        legs = self._legs()
        for topic, content in self.topics.items():
            clock = (times[topic] - began) * 1e-9
            called = content.joint_names(legs)
            for (joint, field, signal), column in content.values.items():
                if joint not in called or not any(map(math.isfinite, column)):
                    continue
                values = np.full(len(clock), math.nan)
                values[: len(column)] = column
                if joint.startswith(NOBODY):
                    nobody.append(_of_nobody(f"{topic}.{joint[1:]}", values, clock, signal))
                    continue
                unit = UNITS[signal]
                one = Channel.of(f"{topic}.{field}", values, time=clock, unit=unit, signal=signal)
                rank = KINDS[content.kind].rank + (
                    PREDICTED + topic.count("/") if topic.startswith(MODEL) else 0
                )
                by_joint.setdefault(called[joint], []).append((rank, one))
        ends = max((int(t.max()) - began) * 1e-9 for t in times.values())
        for topic, content in self.topics.items():
            for joint, (clock, values) in sample_trajectories(content.plans, began, ends).items():
                is_target = {"unit": "rad", "signal": "position_target"}
                one = Channel.of(f"{topic}.positions", values, time=clock, **is_target)
                by_joint.setdefault(joint, []).append((KINDS[TRAJECTORY].rank, one))
        measured = {j: own for j, own in by_joint.items() if any(c.signal in STATED for _, c in own)}
        return measured or by_joint, nobody


def _used_joints(content: Topic) -> list[str]:
    """Joints whose position is anything but 0."""
    at = ((j, c) for (j, _, signal), c in content.values.items() if signal == "position")
    moving = (j for j, column in at if np.any(np.nan_to_num(column)))
    return list(dict.fromkeys(moving))


def _of_nobody(name: str, values: np.ndarray, clock: np.ndarray, signal: str) -> Channel:
    """An element of a command without names: nobody's until it is told, or seen, whose it is."""
    unit = UNITS.get(signal, "")
    ask = f"no name says whose it is: say JOINT.{signal or 'position_target'}={name}"
    return Channel.of(name, values, time=clock, unit=unit, signal=NONE, ask=ask, offers=signal)


def _nearest(own: list[tuple[int, Channel]]) -> list[Channel]:
    """The channels of a joint, and what is said elsewhere nearer to the motor: that stays as nothing."""
    seen = any(rank < PREDICTED and channel.signal in MEASURED for rank, channel in own)
    best: dict[str, int] = {}
    for rank, channel in own:
        best[channel.signal] = min(rank, best.get(channel.signal, PREDICTED - 1 if seen else rank))
    return [
        channel
        if rank <= best[channel.signal]
        else replace(channel, signal=NONE, ask=_why_not(channel, rank))
        for rank, channel in own
    ]


def _why_not(channel: Channel, rank: int) -> str:
    if rank >= PREDICTED:
        return f"it is the {channel.signal} that a model predicts"
    return f"another topic says {channel.signal} nearer to the motor"


DEFINITIONS: dict[str, str] = tomllib.loads(
    (resources.files("backemf.logs.readers") / "ros_messages.toml").read_text(encoding="utf-8")
)
"""Messages that rosbags does not know, by type."""


@dataclass(frozen=True)
class BagReader:
    """The reader of one of the two storages."""

    FORMAT: str
    SUFFIXES: tuple[str, ...]
    MAGIC: bytes
    storage: str
    """What rosbags calls it."""
    wrong: str
    """What to say of a file that cannot be opened."""

    def can_read(self, path: Path, head: bytes) -> bool:
        """Whether a file begins as such a bag does."""
        return head.startswith(self.MAGIC)

    def entries(self, path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
        """The joints of every topic about them; one with "command" or the like in its name holds targets.

        Args:
            path: the file.
            keep: not asked: a bag is read whole.
            report: told the fraction of the messages that is read.

        Returns:
            One recording per joint.

        Raises:
            ReadError: it is broken, or no topic is about joints.
            NotAvailable: the package rosbags is not installed.
        """
        try:
            from rosbags.rosbag2 import Reader
        except ImportError:
            needs = "reading bags of ROS 2 needs the package rosbags"
            raise NotAvailable(f'{needs}: pip install "backemf[logs]"') from None
        # a file is what its first bytes say, whatever it ends in; SQLite takes it as an address
        place = path if self.storage == ".mcap" else Path(quote(str(path.resolve())))
        storage = Reader.STORAGE_PLUGINS[self.storage](place)
        bag, count = Bag(), itertools.count()
        check_file(path)
        try:
            with _bounds():
                storage.open()
        except TooLarge:
            raise
        except Exception as error:  # rosbags raises many kinds on broken files
            why = f"{type(error).__name__}: {error} (was the recording cut off?)"
            raise ReadError(f"{self.wrong}: {why}") from None
        try:
            with _bounds():
                _read_messages(storage, bag, count, report)
        except (ReadError, TooLarge):
            raise
        except Exception as error:  # as above
            why = f"{type(error).__name__}: {error} (was the recording cut off?)"
            raise ReadError(f"{self.wrong}: after {next(count)} messages: {why}") from None
        finally:
            storage.close()
        report(1.0)
        return bag.recordings(path, self.FORMAT)


def _read_messages(storage: Any, bag: Bag, count: itertools.count[int], report: Report) -> None:
    """Put the messages about joints into `bag`."""
    check_channels(len(storage.connections))
    decode: dict[int, Callable[[bytes], Any]] = {}
    for connection in storage.connections:
        if connection.msgtype in KINDS:
            decoder = _decoder_of(connection)
            if decoder is not None:
                decode[connection.id] = decoder
                continue
            bag.others[connection.topic] = f"{connection.msgtype}, whose definition the bag does not hold"
        else:
            bag.others[connection.topic] = connection.msgtype
    wanted = [connection for connection in storage.connections if connection.id in decode]
    total = max(1, sum(connection.msgcount for connection in wanted))
    unpacking = Unpacking()
    for connection, logged, content in storage.messages(wanted) if wanted else ():
        topic = bag.topics.setdefault(connection.topic, Topic(connection.topic, connection.msgtype))
        unpacking.rows(1)
        topic.add(decode[connection.id](content), logged)
        read = next(count) + 1
        if read % 1000 == 0:
            report(min(1.0, read / total))


CHUNK = 64 << 20
"""Bytes that one part of a bag may unpack to; writers make parts of a megabyte or four."""


@contextlib.contextmanager
def _bounds() -> Iterator[None]:
    """While it lasts rosbags unpacks no part of a bag beyond what it announces, and SQLite ends a question
    without end: a bag may bring tables that are computed as they are read."""
    import apsw
    from rosbags.rosbag2 import storage_mcap

    def bound(connection: Any) -> None:
        ticks, tick = itertools.count(1), 10_000

        def count_steps() -> bool:
            if next(ticks) * tick > limits().steps:
                raise TooLarge(f"reading it takes SQLite more than {limits().steps} steps; {SHORTER}")
            return False

        connection.set_progress_handler(count_steps, tick)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, CHUNK)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        with contextlib.suppress(apsw.Error):  # what is no bag is said where it is read
            check_channels(next(connection.execute("SELECT count(*) FROM topics"))[0])

    whole = {**storage_mcap.DECOMPRESSORS}
    storage_mcap.DECOMPRESSORS.update({"zstd": _unpack_zstd, "lz4": _unpack_lz4})
    apsw.connection_hooks.append(bound)
    heap = apsw.hard_heap_limit(limits().whole)
    try:
        yield
    finally:
        apsw.hard_heap_limit(heap)
        apsw.connection_hooks.remove(bound)
        storage_mcap.DECOMPRESSORS.update(whole)


def _unpack_zstd(content: bytes, size: int) -> bytes:
    from rosbags.rosbag2.storage_mcap import zstd

    return zstd.ZstdDecompressor().decompress(content, _part_size(size) + 1)


def _unpack_lz4(content: bytes, size: int) -> bytes:
    from lz4.frame import LZ4FrameDecompressor

    return LZ4FrameDecompressor().decompress(content, _part_size(size) + 1)


def _part_size(size: int) -> int:
    """What a part of a bag says that it unpacks to [bytes]."""
    if size > CHUNK:
        raise TooLarge(f"a part of it unpacks to {size >> 20} MB; write the bag with smaller parts (chunks)")
    return size


def _decoder_of(connection: Any) -> Callable[[bytes], Any] | None:
    """What makes a message of its bytes; None where nobody knows its fields."""
    from rosbags.interfaces import MessageDefinitionFormat

    kind, stored = connection.msgtype, connection.msgdef
    encoding = connection.ext.serialization_format
    if encoding != "cdr" or stored.format is MessageDefinitionFormat.IDL:
        written = f"is written as {stored.format.name.lower()} in {encoding}"
        raise ReadError(f"topic {connection.topic!r} {written}; expected ros2msg in cdr")
    fields, store = _fields_of(kind, stored.data or DEFINITIONS.get(kind, ""))
    if fields is None:
        return None

    def decode(content: bytes) -> Any:
        """Not `deserialize_cdr`, which refuses what stands behind the last field that we know."""
        if len(content) < 4 or content[0] != 0:
            raise ReadError(f"a message of {connection.topic!r} does not begin as CDR does")
        read = fields.deserialize_cdr_le if content[1] else fields.deserialize_cdr_be
        return read(content[4:], 0, fields.cls, store)[0]

    return decode


@functools.lru_cache(maxsize=16)
def _fields_of(kind: str, text: str) -> tuple[Any, Any]:
    """(the fields of a type of message, the types that it is made of), once for all topics of the type.

    Args:
        kind: its name.
        text: its definition; empty: as ROS has it.

    Returns:
        Nothing for the fields where ROS has no such type.
    """
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY if text else Stores.ROS2_HUMBLE)
    if text:
        store.register(get_types_from_msg(text, kind))
    return store.get_msgdef(kind) if kind in store.fielddefs else None, store


MCAP = BagReader("MCAP", (".mcap",), b"\x89MCAP0\r\n", ".mcap", "not an MCAP file of ROS 2 that can be read")
SQLITE = BagReader(
    "ROS 2 bag in SQLite", (".db3",), b"SQLite format 3\x00", ".db3", "not a bag that SQLite can read"
)
