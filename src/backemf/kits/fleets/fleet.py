"""`fleet`: every unit of many logs fitted, on all cores or an existing scheduler, and kept as it comes."""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import __version__, store
from ...errors import InvalidValue, MissingValue
from ...identify.frictions import with_friction
from ...logs.benches import bench_of
from ...logs.log import several
from ...logs.mapping import mapping
from ...physics.actuator import Actuator
from ...registry import SERVICES
from . import folder as fleet_folder
from .folder import FleetStatus
from .pool import place
from .request import FleetRequest, Unit, units
from .work import FITTED, Row, failure, fitted_unit

PILOTS = 8
"""Units that are fitted from the start itself; where they end, the others begin."""


class FleetStep(NamedTuple):
    """What is told while a fleet runs."""

    done: int
    failed: int
    of: int
    per_minute: float
    left_s: float
    """Seconds that it will still take at this rate."""


Progress = Callable[[FleetStep], None]


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """A fleet in its folder: what was asked, and the rows of every unit, read when they are wanted."""

    folder: Path

    @staticmethod
    def read(folder: Path | str) -> Fleet:
        """The fleet in a folder; what is none is refused."""
        fleet_folder.read_request(folder)  # refuses what is none
        return Fleet(folder=Path(folder))

    @property
    def asked(self) -> FleetRequest:
        return fleet_folder.read_request(self.folder)

    @property
    def status(self) -> FleetStatus:
        return fleet_folder.status(self.folder)

    def rows(self) -> Iterator[Row]:
        """Every unit's row, one in memory at a time."""
        return fleet_folder.rows(self.folder)

    @property
    def table(self) -> Path:
        """The Parquet file of all units."""
        return self.folder / fleet_folder.TABLE


def fleet(
    logs: Any,
    *,
    start: str | Actuator,
    into: Path | str,
    by: str = "folder",
    friction: str | None = None,
    free: Sequence[str] = (),
    hold_out: Sequence[Any] = (),
    map: Sequence[str] = (),
    bench: str | None = None,
    settings: Mapping[str, float] | None = None,
    robot: Path | str | None = None,
    firmware: str | None = None,
    same_bench: bool = False,
    starts: int = 6,
    seed: int = 0,
    on: str = "local",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Fleet:
    """Fit every unit of many logs, and keep the results in a folder; a folder that was begun goes on.

    Args:
        logs: files, folders, patterns, tables of Parquet or CSV, or URLs (s3://..., memory://...).
        start: a part, set or file that the fits start from, or an actuator.
        into: the folder; `units.parquet` in it is the result. A unit that cannot be fitted has a finding.
        by: what makes a unit: folder, file, joint (of a `robot`), column=NAME of a table, or a pattern with
            {unit} and perhaps {session}.
        friction: another than the start's.
        free: paths to free beside the usual ones.
        hold_out: logs to judge on, as `fit` takes them.
        map: how channels are to be read, as `read` takes it.
        bench: what the joints carried, in words.
        settings: numbers that were set while recording, by path.
        robot: the model whose joints are the units.
        firmware: the profile of the part's sheet; of a robot.
        same_bench: whether one bench served all units: it is not blamed for differences between them.
        starts: of each fit.
        seed: of the random starts.
        on: 'local' (processes of this machine), 'here' (this process), dask://HOST:PORT.
        jobs: units at once; all cores, unless given.
        progress: is told after every unit.

    Returns:
        The fleet in its folder.

    Raises:
        InvalidValue: what was asked does not go together, or the folder holds something else.
        MissingValue: the logs hold no unit.
    """
    fits: dict[str, Any] = {"friction": friction, "free": tuple(free), "hold_out": tuple(hold_out)}
    fits |= {"firmware": firmware, "same_bench": same_bench, "starts": starts, "seed": seed}
    read: dict[str, Any] = {"by": by, "map": tuple(map), "bench": bench, "settings": dict(settings or {})}
    read["robot"] = None if robot is None else _absolute(robot)
    asked = _request(several(logs), start, **read, **fits)
    return run(asked, Path(into), on=on, jobs=jobs, progress=progress)


def _request(logs: Sequence[Any], start: str | Actuator, **more: Any) -> FleetRequest:
    """What is asked, once it is known that units can be fitted with it."""
    named, actuator = "", start
    if not isinstance(actuator, Actuator):
        named, actuator = str(actuator), SERVICES.sources.read(actuator).actuator
    places = tuple(_absolute(log) for log in logs)
    asked = FleetRequest(logs=places, start=named, actuator=actuator, version=__version__, **more)
    _check(asked)
    return asked


def _check(asked: FleetRequest) -> None:
    """Refuse what no unit could be fitted with."""
    if (asked.by == "joint") != (asked.robot is not None):
        raise InvalidValue(
            f"by is {asked.by!r} and robot {asked.robot!r}; expected by='joint' with a robot, and only then"
        )
    for name, given, least in (("seed", asked.seed, 0), ("starts", asked.starts, 1)):
        if given < least:
            raise InvalidValue(f"{name} is {given}; expected {least} or more")
    if asked.friction is not None:
        with_friction(asked.actuator, asked.friction)
    if asked.bench is not None:
        bench_of(asked.bench)
    mapping(list(asked.map))


def _absolute(log: Any) -> str:
    """A path that a worker elsewhere on this machine understands too."""
    text = os.fspath(log)
    return text if "://" in text else os.path.abspath(os.path.expanduser(text))


def run(
    asked: FleetRequest,
    folder: Path,
    *,
    on: str = "local",
    jobs: int | None = None,
    again: bool = False,
    progress: Progress | None = None,
) -> Fleet:
    """Fit what is not done yet; `again` those too that failed, or lack one of their recordings."""
    fleet_folder.check_folder(folder)
    if (folder / fleet_folder.REQUEST).exists():
        before = fleet_folder.read_request(folder)
        if not before.same(asked):
            raise InvalidValue(
                f"{str(folder)!r} is of another request; give another folder, or ask for the same"
            )
        asked = before
    runner = place(on, jobs)
    every = units(asked.logs, asked.by)
    if not every:
        raise MissingValue("the logs hold no unit; expected at least one")
    folder.mkdir(parents=True, exist_ok=True)
    asked = replace(asked, n_units=len(every))
    store.write(asked, folder / fleet_folder.REQUEST, force=True)
    done = fleet_folder.keys(folder) - (fleet_folder.keys(folder, want=True) if again else set())
    todo = [unit for unit in every if unit.key not in done]
    journal, given_progress = fleet_folder.FleetJournal(folder), _Progress(len(every), len(done), progress)
    try:
        n = max(PILOTS - len(done), 0) if not asked.begin and asked.robot is None else 0
        given_progress.all(_keep(runner.map(functools.partial(fitted_unit, asked), todo[:n]), journal))
        asked = _begin_in_the_middle(asked, folder)
        given_progress.all(_keep(runner.map(functools.partial(fitted_unit, asked), todo[n:]), journal))
    finally:
        runner.close()
        journal.close()
    fleet_folder.write_table(folder)
    return Fleet(folder=folder)


def _keep(
    done: Iterable[tuple[Unit, list[Row] | None]], journal: fleet_folder.FleetJournal
) -> Iterator[list[Row]]:
    """Results on the disk, as they come."""
    for unit, rows in done:
        if rows is None:
            text = "the process that fitted it was killed twice: perhaps the machine has too little memory"
            rows = [failure(unit, "worker_killed", text) | {"version": __version__, "ended": time.time()}]
        journal.append(unit.key, rows)
        yield rows


def _begin_in_the_middle(asked: FleetRequest, folder: Path) -> FleetRequest:
    """With the middle of the units that were fitted first, where the others begin; kept, so that a fleet that
    was interrupted goes on as it would have."""
    if asked.begin or asked.robot is not None:
        return asked
    values: dict[str, list[float]] = {}
    for row in fleet_folder.rows(folder):
        for path, p in row.get("parameters", {}).items():
            values.setdefault(path, []).append(p["value"])
    middle = {path: float(np.median(some)) for path, some in values.items() if len(some) >= PILOTS // 2}
    if middle:
        asked = replace(asked, begin=middle)
        store.write(asked, folder / fleet_folder.REQUEST, force=True)
    return asked


class _Progress:
    """Counts what is done, and says it."""

    def __init__(self, of: int, done: int, progress: Progress | None):
        self.of, self.done, self.failed, self.progress = of, done, 0, progress
        self.begun, self.before = time.monotonic(), done

    def all(self, results: Iterable[list[Row]]) -> None:
        for rows in results:
            self.done += 1
            self.failed += any(row["state"] != FITTED for row in rows)
            if self.progress is not None:
                gone = max(time.monotonic() - self.begun, 1e-9)
                rate = (self.done - self.before) / gone
                left = (self.of - self.done) / rate if rate else math.inf
                self.progress(FleetStep(self.done, self.failed, self.of, 60 * rate, left))


def retry(
    folder: Path | str, *, on: str = "local", jobs: int | None = None, progress: Progress | None = None
) -> Fleet:
    """Fit again what failed or lacked a recording, and what is left.

    Args:
        folder: of the fleet.
        on: where fits run, as `fleet` takes it.
        jobs: units at once; all cores, unless given.
        progress: is told after every unit.

    Returns:
        The fleet in its folder.
    """
    return run(
        fleet_folder.read_request(folder), Path(folder), on=on, jobs=jobs, again=True, progress=progress
    )
