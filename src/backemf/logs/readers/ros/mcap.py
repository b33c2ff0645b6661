"""MCAP files with messages of ROS 2 about joints: one recording per joint, each topic on its own clock."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

from ....errors import NotAvailable
from ...recording import Keep, ReadError, Recording, Report, everything, silent
from . import topics

FORMAT = "MCAP"
SUFFIXES = (".mcap",)
MAGIC = b"\x89MCAP0\r\n"


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC)


def decoders() -> Any:
    """What decodes messages of ROS 2 by their definitions."""
    try:
        import mcap.reader  # noqa: F401  # only whether it is there
        from mcap_ros2.decoder import DecoderFactory
    except ImportError:
        needs = "reading bags of ROS 2 needs the packages mcap and mcap-ros2-support"
        raise NotAvailable(f'{needs}: pip install "backemf[logs]"') from None
    return DecoderFactory()


def decoder(factory: Any, encoding: str, schema: Any, topic: str) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):  # the package prints what it cannot parse
        decode = factory.decoder_for(encoding, schema)
    if decode is None:
        how = f"is written as {schema.encoding} in {encoding}"
        raise ReadError(f"topic {topic!r} {how}; expected ros2msg in cdr")
    return decode


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The joints of every topic about them; one with "command" or the like in its name holds targets."""
    factory = decoders()
    from mcap.reader import make_reader

    bag = topics.Bag()
    size = max(1, path.stat().st_size)
    count = 0
    with path.open("rb") as file:
        try:
            reader = make_reader(file)
            wanted = _wanted(reader.get_summary(), bag.others)
            for schema, channel, message in reader.iter_messages(topics=wanted, log_time_order=False):
                if schema is None or schema.name not in topics.KINDS:
                    bag.others[channel.topic] = schema.name if schema is not None else "no schema"
                    continue
                decode = decoder(factory, channel.message_encoding, schema, channel.topic)
                bag.add(channel.topic, schema.name, decode(message.data), message.log_time)
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
    return bag.recordings(path, FORMAT)


def _wanted(summary: Any, others: dict[str, str]) -> list[str] | None:
    """The topics to read, where the file's summary lists them:
    chunks without them, such as images, are skipped."""
    if summary is None or not summary.channels:
        return None
    names = {key: schema.name for key, schema in summary.schemas.items()}
    kinds = {c.topic: names.get(c.schema_id, "no schema") for c in summary.channels.values()}
    others.update({topic: kind for topic, kind in kinds.items() if kind not in topics.KINDS})
    return [topic for topic, kind in kinds.items() if kind in topics.KINDS]
