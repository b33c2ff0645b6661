"""Bags of ROS 2, in MCAP and in SQLite (.db3), read by rosbags: one recording per joint,
each topic on its own clock.

Before ROS 2 Iron a bag in SQLite does not hold the definitions of its messages: those of common types come
from rosbags, those of controllers and of Unitree's robots from here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...errors import NotAvailable
from ..recording import Keep, ReadError, Recording, Report, everything, silent
from .ros_topics import CONTROLLER, KINDS, Bag

_BAR = "\n" + "=" * 80 + "\n"
_POINT = _BAR.join(
    (
        "",
        "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id",
        "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec",
        "MSG: trajectory_msgs/JointTrajectoryPoint\nfloat64[] positions\nfloat64[] velocities\n"
        "float64[] accelerations\nfloat64[] effort\nbuiltin_interfaces/Duration time_from_start",
        "MSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec\n",
    )
)
_BEGINS = (
    "uint8[2] head\nuint8 level_flag\nuint8 frame_reserve\nuint32[2] sn\nuint32[2] version\n"
    "uint16 bandwidth\n"
)
_IMU = (
    f"{_BAR}MSG: unitree_go/IMUState\nfloat32[4] quaternion\nfloat32[3] gyroscope\n"
    "float32[3] accelerometer\nfloat32[3] rpy\nint8 temperature"
)
_MOTOR = (
    f"{_BAR}MSG: unitree_go/MotorState\nuint8 mode\nfloat32 q\nfloat32 dq\nfloat32 ddq\nfloat32 tau_est\n"
    "float32 q_raw\nfloat32 dq_raw\nfloat32 ddq_raw\nint8 temperature\nuint32 lost\nuint32[2] reserve\n"
)
_MOTOR_COMMAND = (
    f"{_BAR}MSG: unitree_go/MotorCmd\nuint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\n"
    "float32 kd\nuint32[3] reserve\n"
)
DEFINITIONS = {
    CONTROLLER: "std_msgs/Header header\nstring[] joint_names\n"
    + "\n".join(f"trajectory_msgs/JointTrajectoryPoint {part}" for part in ("desired", "actual", "error"))
    + _POINT,
    "unitree_go/msg/LowState": (
        f"{_BEGINS}unitree_go/IMUState imu_state\nunitree_go/MotorState[20] motor_state{_IMU}{_MOTOR}"
    ),
    "unitree_go/msg/LowCmd": f"{_BEGINS}unitree_go/MotorCmd[20] motor_cmd{_MOTOR_COMMAND}",
}
"""Messages that rosbags does not know, as control_msgs and Unitree's unitree_go define them; fields behind
the last that is read are left out."""


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
        """The joints of every topic about them; one with "command" or the like in its name holds targets."""
        try:
            from rosbags.rosbag2 import Reader
        except ImportError:
            needs = "reading bags of ROS 2 needs the package rosbags"
            raise NotAvailable(f'{needs}: pip install "backemf[logs]"') from None
        # a file is what its first bytes say, whatever it ends in; SQLite takes it as an address
        place = path if self.storage == ".mcap" else Path(quote(str(path.resolve())))
        storage = Reader.STORAGE_PLUGINS[self.storage](place)
        bag, count = Bag(), itertools.count()
        try:
            storage.open()
        except Exception as error:  # rosbags raises many kinds on broken files
            why = f"{type(error).__name__}: {error} (was the recording cut off?)"
            raise ReadError(f"{self.wrong}: {why}") from None
        try:
            _read_messages(storage, bag, count, report)
        except ReadError:
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
    for connection, logged, content in storage.messages(wanted) if wanted else ():
        bag.add(connection.topic, connection.msgtype, decode[connection.id](content), logged)
        read = next(count) + 1
        if read % 1000 == 0:
            report(min(1.0, read / total))


def _decoder_of(connection: Any) -> Callable[[bytes], Any] | None:
    """What makes a message of its bytes; None where nobody knows its fields."""
    from rosbags.interfaces import MessageDefinitionFormat
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    kind, stored = connection.msgtype, connection.msgdef
    encoding = connection.ext.serialization_format
    if encoding != "cdr" or stored.format is MessageDefinitionFormat.IDL:
        written = f"is written as {stored.format.name.lower()} in {encoding}"
        raise ReadError(f"topic {connection.topic!r} {written}; expected ros2msg in cdr")
    text = stored.data or DEFINITIONS.get(kind)
    store = get_typestore(Stores.EMPTY if text else Stores.ROS2_HUMBLE)
    if text:
        store.register(get_types_from_msg(text, kind))
    elif kind not in store.fielddefs:
        return None
    fields = store.get_msgdef(kind)

    def decode(content: bytes) -> Any:
        """Not `deserialize_cdr`, which refuses what stands behind the last field that we know."""
        if len(content) < 4 or content[0] != 0:
            raise ReadError(f"a message of {connection.topic!r} does not begin as CDR does")
        read = fields.deserialize_cdr_le if content[1] else fields.deserialize_cdr_be
        return read(content[4:], 0, fields.cls, store)[0]

    return decode


MCAP = BagReader("MCAP", (".mcap",), b"\x89MCAP0\r\n", ".mcap", "not an MCAP file of ROS 2 that can be read")
SQLITE = BagReader(
    "ROS 2 bag in SQLite", (".db3",), b"SQLite format 3\x00", ".db3", "not a bag that SQLite can read"
)
