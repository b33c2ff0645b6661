"""Plain content, whichever text it came from: a list of entries, or lists of numbers by name,
with single facts beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ... import signal
from ...errors import BackemfError
from ...signal import Command
from ..recording import Channel, Columns, ReadError, Recording
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
    command, said = commanded(facts)
    notes += said
    if facts:
        notes.append(f"single values, not signals: {', '.join(f'{k} = {v!r:.40}' for k, v in facts.items())}")
    where = "entry {}".format
    return [Recording.of(path, format, channels, notes=tuple(notes), where=where, command=command)]


def commanded(facts: dict[str, Any]) -> tuple[Command | None, list[str]]:
    """(the command that single values name, notes): words under `command`, or the square wave of the SG90
    article, b + A for the first share w of each period of frequency f from t_0 on, b for the rest."""
    named = facts.get("command")
    if isinstance(named, str):
        try:
            return signal.read(named), []
        except BackemfError as error:
            return None, [f"the command {named!r:.40} is not used: {error}"]
    there = [facts.get(name) for name in ("A", "f", "w", "b", "t_0")]
    numbers = [float(x) for x in there if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(numbers) < len(there):
        return None, []
    A, f, w, b, t_0 = numbers
    try:
        return signal.square(0.5 * A, f, duty=w, offset=b + 0.5 * A, at=t_0), []
    except BackemfError as error:
        return None, [f"the square wave A, f, w, b, t_0 is not used: {error}"]
