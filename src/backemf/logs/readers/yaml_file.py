"""YAML recordings of the same plain shape as JSON: safe content only, no tags that build objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NotAvailable
from ..recording import Keep, ReadError, Recording, Report, encoding_of, everything, silent
from . import plain_content

FORMAT = "YAML"
SUFFIXES = (".yaml", ".yml")
DEEPEST = 1000
"""Brackets within brackets; a parser's time grows with the square of them,
and no recording has more than a few."""


def can_read(path: Path, head: bytes) -> bool:
    return path.suffix.lower() in SUFFIXES


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The recording in a YAML file; it is read whole."""
    try:
        import yaml
    except ImportError:
        raise NotAvailable('reading YAML needs the package pyyaml: pip install "backemf[logs]"') from None
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw = path.read_bytes()
    encoding = encoding_of(raw)
    if encoding == "latin-1":
        raise ReadError("not a text file in UTF-8 or UTF-16")
    if (depth := _depth(raw)) > DEEPEST:
        wanted = "expected entries or lists of numbers"
        raise ReadError(f"not plain YAML: {depth} brackets are open at once; {wanted}")
    try:
        content = yaml.load(raw.decode(encoding), Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise ReadError(f"not plain YAML{place}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ReadError(f"not plain YAML: {error}") from None
    report(1.0)
    return plain_content.recordings(path, FORMAT, plain_content.walk(content))


def _depth(raw: bytes) -> int:
    """How many brackets are open at once, at most; those in text count too."""
    codes = np.frombuffer(raw, np.uint8)
    brackets = codes[np.isin(codes, list(b"[]{}"))]
    return int(np.cumsum(np.where(np.isin(brackets, list(b"[{")), 1, -1)).max(initial=0))
