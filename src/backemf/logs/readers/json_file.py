"""JSON recordings, read entry by entry so that a large file never has to fit into memory as
text or objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from ..recording import Keep, ReadError, Recording, Report, encoding_of, everything, silent
from . import plain

FORMAT = "JSON"
SUFFIXES = (".json",)
_BLANK = " \t\r\n"
_CHUNK = 1 << 18


def can_read(path: Path, head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = head.decode("utf-16", errors="ignore").lstrip().encode()
    return text.startswith(b"{") or (text.startswith(b"[") and path.suffix.lower() in SUFFIXES)


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The recording in a JSON file: a list of entries, or lists of numbers by name."""
    with path.open("rb") as file:
        encoding = encoding_of(file.read(4096))
    with path.open(encoding="utf-8" if encoding == "latin-1" else encoding) as file:
        try:
            return plain.recordings(path, FORMAT, _items(_Text(path, file, report)))
        except UnicodeDecodeError as error:
            place = f"byte {error.start} of a block"
            raise ReadError(f"not a text file: {place} is not {error.encoding}") from None


def _items(text: _Text) -> Iterator[plain.Item]:
    """Walk the outermost object or list: values whole, lists element by element."""
    if text.peek() == "[":
        yield from (("", value, True) for value in text.elements())
    else:
        text.take("{")
        while text.peek() != "}":
            key = text.value()
            if not isinstance(key, str):
                raise text.broken("a key must be text in quotes")
            text.take(":")
            if text.peek() == "[":
                yield from ((key, value, True) for value in text.elements())
            else:
                yield key, text.value(), False
            if text.peek() != "}":
                text.take(",")
        text.take("}")
    if text.peek():
        raise text.broken("more text after the end")


class _Text:
    """A window that slides over the file."""

    def __init__(self, path: Path, file: TextIO, report: Report):
        self.file, self.report = file, report
        self.size = max(1, path.stat().st_size)
        self.window, self.at, self.lines, self.passed, self.chunk = "", 0, 1, 0, _CHUNK
        self.decoder = json.JSONDecoder()

    def more(self) -> bool:
        """Slide on; False at the end of the file."""
        self.lines += self.window.count("\n", 0, self.at)
        self.passed += self.at
        text = self.file.read(self.chunk)
        self.window, self.at = self.window[self.at :] + text, 0
        # a value larger than the window: double it, so that trying again stays cheap
        self.chunk = max(_CHUNK, len(self.window))
        self.report(min(1.0, self.file.buffer.tell() / self.size))
        return bool(text)

    def peek(self) -> str:
        """The next character that is not blank, empty at the end."""
        while True:
            while self.at < len(self.window):
                if self.window[self.at] not in _BLANK:
                    return self.window[self.at]
                self.at += 1
            if not self.more():
                return ""

    def take(self, wanted: str) -> None:
        there = self.peek()
        if not there:
            raise self.broken(f"the file ends where {wanted!r} was expected")
        if there != wanted:
            raise self.broken(f"expected {wanted!r}, found {there!r}")
        self.at += 1

    def value(self) -> Any:
        """The next whole value."""
        if not self.peek():
            raise self.broken("the file ends where a value was expected")
        while True:
            try:
                value, end = self.decoder.raw_decode(self.window, self.at)
            except json.JSONDecodeError as error:
                whole = error.pos < len(self.window) - 32 and not error.msg.startswith("Unterminated")
                if whole:
                    raise self.broken(error.msg, error.pos) from None
                if not self.more():
                    raise self.broken("the file ends inside the value that begins here") from None
            except (ValueError, RecursionError) as error:
                raise self.broken(str(error)) from None
            else:
                if end < len(self.window) or not self.more():  # a number at the edge may go on
                    self.at = end
                    return value

    def elements(self) -> Iterator[Any]:
        self.take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self.take(",")
        self.take("]")

    def broken(self, why: str, at: int | None = None) -> ReadError:
        at = self.at if at is None else at
        line = self.lines + self.window.count("\n", 0, at)
        place = f"line {line}, character {self.passed + at + 1} of the file"
        return ReadError(f"not complete JSON at {place}: {why}")
