"""What is asked of a fleet, stored beside its results so that it can go on where it stopped; and which logs
belong to which unit: by folder, file, column, joint, or a pattern of their names."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ... import store
from ...datasheets import parts
from ...datasheets.datasheet import Datasheet
from ...errors import InvalidValue, MissingValue, NotAvailable
from ...logs.read import find
from ...logs.readers import suffixes
from ...logs.readers.lerobot import is_dataset
from ...physics.actuator import Actuator

WAYS = ("folder", "file", "joint", "column=NAME", "a pattern with {unit}, such as '{unit}/{session}/*.json'")
"""What `by` may say."""
SESSION = "@"
"""Stands between a unit's name and the session in which it was recorded."""


class Unit(NamedTuple):
    """One piece of hardware in one session: where its logs are."""

    name: str
    logs: tuple[str, ...]
    session: str = ""
    column: str = ""
    """Of a table of many units, the column whose value is this unit's name."""

    @property
    def key(self) -> str:
        """What tells it from every other fit of the fleet."""
        return f"{self.name}{SESSION}{self.session}" if self.session else self.name


def units(logs: Sequence[str], by: str) -> list[Unit]:
    """The units of a fleet, in the order of their names."""
    if by.startswith("column="):
        return _of_column(logs, by.removeprefix("column="))
    name_of = _namer(by)
    found: dict[tuple[str, str], list[str]] = {}
    unnamed: list[str] = []
    for root, path in list_files(logs):
        told = name_of(root, path)
        if told is None:
            unnamed.append(path)
        else:
            found.setdefault(told, []).append(path)
    if not found:
        given = f"{len(unnamed)} files, such as {unnamed[0]!r}" if unnamed else "no files"
        raise MissingValue(
            f"--by {by!r} names a unit in none of the logs ({given}); expected {', '.join(WAYS)}"
        )
    return [Unit(name, tuple(sorted(some)), session) for (name, session), some in sorted(found.items())]


def list_files(logs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(the place that was given, a file in it) for files, folders, patterns and URLs."""
    for given in logs:
        if "://" in given:
            yield from _remote(given)
            continue
        root = given
        while any(sign in root for sign in "*?["):
            root = os.path.dirname(root)
        root = root if os.path.isdir(root) else os.path.dirname(root)
        for found in find(given) if not os.path.isdir(given) or is_dataset(Path(given)) else [Path(given)]:
            folder = found.is_dir() and not is_dataset(found)
            for path in _below(found) if folder else [found]:
                yield Path(root).as_posix(), path.as_posix()


def _below(folder: Path) -> Iterator[Path]:
    """Every recording in a folder and the folders in it; a dataset counts as one."""
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            yield from [entry] if is_dataset(entry) else _below(entry)
        elif entry.suffix.lower() in suffixes() and not entry.name.startswith("."):
            yield entry


def _remote(url: str) -> Iterator[tuple[str, str]]:
    """The files behind a URL of fsspec's: a file, everything in a folder, or a pattern."""
    files, place = remote(url)
    if any(sign in place for sign in "*?["):
        found, root = files.glob(place), re.split(r"[*?\[]", place)[0].rpartition("/")[0]
    elif files.isfile(place):
        found, root = [place], place.rpartition("/")[0]
    else:
        found, root = files.find(place), place.rstrip("/")
    for path in sorted(map(str, found)):
        if path.endswith(tuple(suffixes())):
            yield files.unstrip_protocol(root), files.unstrip_protocol(path)


def remote(url: str) -> tuple[Any, str]:
    """(fsspec's file system, the path in it) of a URL."""
    try:
        fsspec = importlib.import_module("fsspec")
        return fsspec.core.url_to_fs(url)
    except ImportError as error:
        wanted = 'pip install "backemf[fleet]", and the package of the scheme'
        raise NotAvailable(f"{url} needs a package that is not installed ({error.name}): {wanted}") from None
    except ValueError as error:
        raise InvalidValue(
            f"{url} cannot be opened: {error}; expected a URL such as s3://bucket/line"
        ) from None


def _namer(by: str) -> Any:
    """A function (root, path) -> (unit, session), or None where the pattern does not fit."""
    if by in ("folder", "joint"):
        return lambda root, path: (_inside(root, str(PurePosixPath(path).parent)), "")
    if by == "file":
        return lambda root, path: (_inside(root, str(PurePosixPath(path).with_suffix(""))), "")
    if "{unit}" not in by:
        raise InvalidValue(f"--by is {by!r}; expected {', '.join(WAYS)}")
    parts = re.split(r"(\{unit\}|\{session\})", by)
    if any(parts.count(word) > 1 for word in ("{unit}", "{session}")):
        raise InvalidValue(f"--by is {by!r}; expected {{unit}} once, and {{session}} once or not at all")
    text = "".join(f"(?P<{p[1:-1]}>[^/]+)" if p[:1] == "{" else _glob(p) for p in parts)
    pattern = re.compile(rf"(?:^|.*/){text}$")

    def name_unit(root: str, path: str) -> tuple[str, str] | None:
        match = pattern.match(path)
        words = {} if match is None else match.groupdict()
        return (words["unit"], words.get("session", "")) if words else None

    return name_unit


def _glob(text: str) -> str:
    """A shell pattern as a regular expression in which * stays inside a folder's name."""
    return re.escape(text).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def _inside(root: str, path: str) -> str:
    """A path seen from the place that was given; the place's own name where it is that."""
    relative = os.path.relpath(path, root) if "://" not in path else path.removeprefix(root).strip("/") or "."
    return PurePosixPath(path).name if relative == "." else Path(relative).as_posix()


def _of_column(logs: Sequence[str], column: str) -> list[Unit]:
    """A unit for every value of a column in Parquet or CSV tables."""
    names: dict[str, None] = {}
    for batch in dataset(logs).to_batches(columns=[_check_column(dataset(logs), column)]):
        names.update(
            dict.fromkeys(str(value) for value in batch.column(0).unique().to_pylist() if value is not None)
        )
    return [Unit(name, tuple(logs), column=column) for name in sorted(names)]


def _check_column(tables: Any, column: str) -> str:
    if column not in tables.schema.names:
        raise InvalidValue(f"there is no column {column!r}; the tables have {', '.join(tables.schema.names)}")
    return column


def dataset(logs: Sequence[str]) -> Any:
    """Tables as pyarrow's dataset, wherever they are; folders named key=value are columns."""
    try:
        arrow = importlib.import_module("pyarrow.dataset")
    except ImportError:
        raise NotAvailable('tables of many units need pyarrow: pip install "backemf[fleet]"') from None
    first = logs[0]
    kind = "csv" if first.endswith(".csv") else "parquet"
    files, places = (None, list(logs))
    if "://" in first:
        files, places = remote(first)[0], [remote(url)[1] for url in logs]
    try:
        source = places[0] if len(places) == 1 else places
        return arrow.dataset(source, format=kind, filesystem=files, partitioning="hive")
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidValue(f"{first} cannot be read as tables: {reason}; expected Parquet or CSV") from None


@dataclass(frozen=True, kw_only=True)
class FleetRequest(store.Noun, stored_as="Asked"):
    """One fleet: its logs, what makes a unit, and how each is fitted."""

    logs: tuple[str, ...]
    by: str
    start: str
    """The part, set or file that the fits start from, as it was named; empty where `actuator` is given."""
    actuator: Actuator
    friction: str | None = None
    free: tuple[str, ...] = ()
    hold_out: tuple[Any, ...] = ()
    map: tuple[str, ...] = ()
    bench: str | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    robot: str | None = None
    firmware: str | None = None
    same_bench: bool = False
    """Whether one bench served all units: what is wrong with its numbers is then the same for all."""
    starts: int = 6
    seed: int = 0
    begin: Mapping[str, float] = field(default_factory=dict)
    """Where the first start of a fit begins: the middle of the units that were fitted first."""
    n_units: int = 0
    version: str = ""

    @property
    def prior(self) -> Datasheet | None:
        """The sheet that the start names, which is then the fits' prior."""
        sheet = self.start.endswith(".toml") or self.start.lower() in parts.names()
        return parts.sheet(self.start) if sheet else None

    def same(self, other: FleetRequest) -> bool:
        """Whether another asks for the same fits."""
        mine, theirs = (
            {k: v for k, v in one.to_dict().items() if k not in ("begin", "n_units", "version")}
            for one in (self, other)
        )
        return mine == theirs
