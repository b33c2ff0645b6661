"""JSON recordings, streamed by ijson so that a large file never has to fit into memory as text or objects."""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import ijson

from ...bounds import check_file, text_of
from ..recording import Keep, ReadError, Recording, Report, encoding_of, everything, silent
from . import plain_content

FORMAT = "JSON"
SUFFIXES = (".json",)
Event = tuple[str, Any]
"""What begins, ends or stands there, and its value."""
_CHUNK = 1 << 16
_MOST = 500_000
_DEEPEST = 100
"""Values inside values beyond this are no recording."""


def can_read(path: Path, head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = head.decode("utf-16", errors="ignore").lstrip().encode()
    return text.startswith(b"{") or (text.startswith(b"[") and path.suffix.lower() in SUFFIXES)


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The recording in a JSON file: a list of entries, or lists of numbers by name.

    What strict JSON does not allow is left to Python's own reader: it takes the NaN that Python writes, with
    the whole file in memory, and says where a broken file is broken.
    """
    with check_file(path).open("rb") as file:
        encoding = encoding_of(file.read(4096))
        encoding = "utf-8" if encoding == "latin-1" else encoding
        file.seek(0)
        try:
            return plain_content.recordings(path, FORMAT, _items(_Text(path, file, encoding, report)))
        except (ijson.JSONError, UnicodeDecodeError):
            return plain_content.recordings(path, FORMAT, plain_content.walk(_load(path, encoding)))


def _load(path: Path, encoding: str) -> Any:
    """The whole content of a file.

    Raises:
        ReadError: it is no text, or no JSON: where and why.
    """
    try:
        return json.loads(text_of(path, encoding))
    except UnicodeDecodeError as error:
        place = f"byte {error.start}"
        raise ReadError(f"not a text file: {place} is not {error.encoding}") from None
    except json.JSONDecodeError as error:
        why = {"Extra data": "more text after the end"}.get(error.msg, error.msg)
        why = "the file ends inside a value" if error.pos >= len(error.doc.rstrip()) else why
        place = f"line {error.lineno}, character {error.pos + 1} of the file"
        raise ReadError(f"not complete JSON at {place}: {why}") from None
    except (ValueError, RecursionError) as error:  # an integer without end, values without end
        raise ReadError(f"not complete JSON: {error}") from None


class _Text:
    """The bytes of a file as UTF-8, which report how far they are read."""

    def __init__(self, path: Path, file: BinaryIO, encoding: str, report: Report):
        self.file, self.report = file, report
        self.size = max(1, path.stat().st_size)
        self.text = file if encoding == "utf-8" else codecs.EncodedFile(file, "utf-8", encoding)

    def read(self, size: int) -> bytes:
        self.report(min(1.0, self.file.tell() / self.size))
        return self.text.read(size)


def _items(text: _Text) -> Iterator[plain_content.Item]:
    """Walk the outermost object or list: values whole, lists element by element."""
    events: Iterator[Event] = iter(ijson.basic_parse(text, buf_size=_CHUNK, use_float=True))
    outermost, value = next(events)
    if outermost == "start_array":
        yield from (("", element, True) for element in _elements(events))
    elif outermost == "start_map":
        key = ""
        for event, value in events:
            if event == "map_key":
                key = value
            elif event == "start_array":
                yield from ((key, element, True) for element in _elements(events))
            elif event != "end_map":
                yield key, _value(event, value, events), False
    else:
        raise ReadError(f"expected entries or lists of numbers, found {value!r:.60}")
    for _ in events:  # nothing may follow, and only the end tells
        pass


def _elements(events: Iterator[Event], depth: int = 0, count: Iterator[int] | None = None) -> Iterator[Any]:
    """The values of a list whose beginning is read."""
    for event, value in itertools.takewhile(lambda one: one[0] != "end_array", events):
        yield _value(event, value, events, depth, count)


def _value(
    event: str, value: Any, events: Iterator[Event], depth: int = 0, count: Iterator[int] | None = None
) -> Any:
    """The whole value that begins with an event; `count` is of the lists and objects in it."""
    if event not in ("start_array", "start_map"):
        return value
    count = itertools.count() if count is None else count
    if depth > _DEEPEST:
        raise ReadError(f"not complete JSON: values are nested more than {_DEEPEST} deep")
    if next(count) > _MOST:
        raise ReadError(f"one value holds more than {_MOST} lists; expected a list of entries or of numbers")
    if event == "start_array":
        return list(_elements(events, depth + 1, count))
    members = itertools.takewhile(lambda one: one[0] != "end_map", events)
    return {key: _value(*next(events), events, depth + 1, count) for _, key in members}
