"""YAML recordings of the same plain shape as JSON: safe content only, no tags that build objects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import bytes_of
from ...errors import NotAvailable
from ...files import list_in, table_in
from ..recording import Keep, ReadError, Recording, Report, encoding_of, everything, silent
from . import plain_content

FORMAT = "YAML"
SUFFIXES = (".yaml", ".yml")
LARGEST = 4 << 20
"""Bytes: a parser of YAML takes a second for each megabyte, and a hundred times its memory."""
MOST = 400_000
"""Values, and four times the lists and objects in brackets."""
WANTED = "expected entries or lists of numbers"
DEEPEST = 1000
"""Brackets within brackets, and marks of blocks within blocks: a parser's time grows with the square
of them, its stack with each, and no recording has more than a few."""
_INDENT = re.compile(rb"[-?: \t]+")
_SIXTIES = re.compile(rb"(?::[0-5]?[0-9]){20}")
"""1:30:00 is a number to the base of 60, and its time grows with the square of its digits."""


def can_read(path: Path, head: bytes) -> bool:
    return path.suffix.lower() in SUFFIXES


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The recording in a YAML file; it is read whole."""
    try:
        import yaml
    except ImportError:
        raise NotAvailable('reading YAML needs the package pyyaml: pip install "backemf[logs]"') from None
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw = bytes_of(path, LARGEST, "save it as CSV or JSON")
    encoding = encoding_of(raw)
    if encoding == "latin-1":
        raise ReadError("not a text file in UTF-8 or UTF-16")
    lists, values = sum(map(raw.count, b"[{")), sum(map(raw.count, b",\n"))
    if lists > MOST // 4 or values > MOST:
        raise ReadError(
            f"it has {lists} brackets and {values} values, where {MOST} are read; save it as JSON"
        )
    if (depth := _depth(raw)) > DEEPEST:
        raise ReadError(f"not plain YAML: {depth} brackets are open at once; {WANTED}")
    letters = raw.replace(b"\0", b"")  # those of UTF-16 too
    if (depth := max(map(len, _INDENT.findall(letters)), default=0)) > DEEPEST:
        raise ReadError(f"not plain YAML: {depth} blanks or marks (- ? :) stand in a row; {WANTED}")
    if _SIXTIES.search(letters):
        raise ReadError(f"not plain YAML: a number has 20 colons; {WANTED}")
    try:
        content = yaml.load(raw.decode(encoding), Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise ReadError(f"not plain YAML{place}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ReadError(f"not plain YAML: {error}") from None
    _refuse_many(content, len(raw))
    report(1.0)
    return plain_content.recordings(path, FORMAT, plain_content.walk(content))


def _refuse_many(content: Any, most: int) -> None:
    """Refuse content that names its own parts again and again (*name) and so is larger than its text."""
    waiting, seen = [content], 0
    while waiting:
        one = waiting.pop()
        inner = [*table_in(one).values()] or list_in(one)
        seen += 1 + len(inner)
        if seen > 2 * most + 16:
            raise ReadError("not plain YAML: its parts repeat each other (*name); write every value out")
        waiting += [value for value in inner if table_in(value) or list_in(value)]


def _depth(raw: bytes) -> int:
    """How many brackets are open at once, at most; those in text count too."""
    codes = np.frombuffer(raw, np.uint8)
    brackets = codes[np.isin(codes, list(b"[]{}"))]
    return int(np.cumsum(np.where(np.isin(brackets, list(b"[{")), 1, -1)).max(initial=0))
