"""Bags of ROS 2 in SQLite (.db3): the same messages as in MCAP. Before ROS 2 Iron such a bag does not hold
the definitions of its messages, and those of common types are taken from here."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from ...recording import Keep, ReadError, Recording, Report, everything, silent
from . import topics
from .definitions import DEFINITIONS
from .mcap import decoder, decoders

FORMAT = "ROS 2 bag in SQLite"
SUFFIXES = (".db3",)
MAGIC = b"SQLite format 3\x00"


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC)


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The joints of every topic about joints."""
    factory = decoders()
    bag = topics.Bag()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
            _read(base, factory, bag, report)
    except sqlite3.Error as error:
        raise ReadError(f"not a bag that SQLite can read: {error} (was the recording cut off?)") from None
    report(1.0)
    return bag.recordings(path, FORMAT)


def _read(base: sqlite3.Connection, factory: Any, bag: topics.Bag, report: Report) -> None:
    from mcap.records import Schema

    listed = base.execute("SELECT id, name, type, serialization_format FROM topics").fetchall()
    stored = _stored(base)
    decode: dict[int, Any] = {}
    named = {}
    for key, topic, kind, encoding in listed:
        text = stored.get(kind) or DEFINITIONS.get(kind)
        if kind not in topics.KINDS or text is None:
            why = kind if kind not in topics.KINDS else f"{kind}, whose definition the bag does not hold"
            bag.others[topic] = why
            continue
        schema = Schema(id=key + 1, name=kind, encoding="ros2msg", data=text.encode())
        decode[key], named[key] = decoder(factory, encoding, schema, topic), (topic, kind)
    places = ",".join("?" * len(named))
    total = base.execute(
        f"SELECT count(*) FROM messages WHERE topic_id IN ({places})", list(named)
    ).fetchone()[0]
    order = f"SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN ({places}) ORDER BY timestamp"
    for count, (key, stamp, content) in enumerate(base.execute(order, list(named))):
        try:
            message = decode[key](content)
        except Exception as error:  # the package raises many kinds on broken messages
            raise ReadError(
                f"message {count} of {named[key][0]!r}: {type(error).__name__}: {error}"
            ) from None
        topic, kind = named[key]
        bag.add(topic, kind, message, stamp)
        if count % 1000 == 999:
            report(count / max(1, total))


def _stored(base: sqlite3.Connection) -> dict[str, str]:
    """Definitions that the bag holds itself."""
    try:
        rows = base.execute(
            "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        )
        return {kind: text for kind, encoding, text in rows if encoding == "ros2msg" and text}
    except sqlite3.OperationalError:
        return {}
