"""Plain content, whichever text it came from: a list of entries, or lists of numbers by name,
with single facts beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..logs.recording import Channel, Columns, ReadError, Recording
from . import pendulum

Item = tuple[str, Any, bool]
"""A key of the outermost object (empty: there is none), a value,
and whether it is one element of a list under that key."""


def walk(content: Any) -> Iterable[Item]:
    """The items of content that is in memory already."""
    if isinstance(content, list):
        yield from (("", value, True) for value in content)
    elif isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, list):
                yield from ((str(key), element, True) for element in value)
            else:
                yield str(key), value, False
    else:
        raise ReadError(f"expected entries or lists of numbers, found {content!r:.60}")


def recordings(path: Path, format: str, items: Iterable[Item]) -> list[Recording]:
    """The one recording that the items make."""
    facts: dict[str, Any] = {}
    tables: dict[str, Columns] = {}
    for key, value, element in items:
        if element:
            tables.setdefault(key, Columns()).add(value)
        elif isinstance(value, dict):  # one level down: {"motor": {"t": [...], "q": [...]}}
            for name, inner in value.items():
                for item in inner if isinstance(inner, list) else ():
                    tables.setdefault(f"{key}.{name}", Columns()).add(item)
                if not isinstance(inner, list | dict):
                    facts[f"{key}.{name}"] = inner
        else:
            facts[key] = value
    tables = {key: table for key, table in tables.items() if table.n}
    if not tables:
        there = ", ".join(repr(k) for k in facts) or "nothing"
        wanted = "expected 'entries' with one object a sample"
        raise ReadError(f"no entries and no lists of numbers; {wanted}, found: {there}")
    if "entries" in tables and pendulum.is_one(facts):
        return [pendulum.recording(path, facts, tables["entries"])]
    rows = [key for key, table in tables.items() if "" not in table.columns]  # the others are of numbers
    channels, notes = [], []
    for key, table in tables.items():
        for name, values in table.finish().items():
            prefix = "" if [key] == rows or not key else key
            channels.append(Channel.of(".".join(word for word in (prefix, name) if word), values))
        for name, text in table.text.items():
            notes.append(f"channel {name or key!r} holds text ({text!r:.30}) and is not used")
        for name, (n, first) in table.missing.items():
            notes.append(f"{n} entries have no {name!r}, first entry {first}")
    if facts:
        notes.append(f"single values, not signals: {', '.join(f'{k} = {v!r:.40}' for k, v in facts.items())}")
    return [Recording.of(path, format, channels, notes=tuple(notes), where="entry {}".format)]
