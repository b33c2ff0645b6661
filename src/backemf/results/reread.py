"""Recordings of a fit, read as the fit read them: its mapping, bench, settings and commands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

from ..errors import BackemfError
from ..logs import read as reading
from ..logs.log import Log
from ..logs.readers.lerobot import split_episodes
from ..logs.robot import Robot
from ..physics.bench import Bench
from ..signal import Command, read as read_command
from .fit_result import Fit, FittedLog


def read_again(
    fit: Fit,
    *paths: str | os.PathLike[str],
    bench: Bench | Robot | None = None,
    map: Any = None,
    between: tuple[float, float] | None = None,
    settings: Mapping[str, float] | None = None,
    command: Command | None = None,
    progress: reading.Progress | None = None,
) -> list[Log]:
    """Read recordings as the fit did. What is told here comes first, then what the fit remembers of the log
    of this name; a recording that it never saw takes what all of its logs had in common.

    Args:
        fit: which remembers its logs.
        paths: files, folders or patterns.
        bench: what the joint carried; without it the fit's own, of a robot's fit the robot.
        map: how channels are to be read; without it as in the fit.
        between: first and last moment to keep [s].
        settings: numbers that were set while recording, by path; without it those of the fit.
        command: what was asked as a function of time; without it the fit's.
        progress: is told how far reading is.

    Returns:
        The logs, with what was taken from the fit among their `conversions`.
    """
    bench = fit.robot if bench is None and fit.joints else bench
    options: dict[str, Any] = {"bench": bench, "between": between, "settings": settings, "command": command}
    logs: list[Log] = []
    for files, told in _alike(fit, reading.find(*paths), map):
        try:
            logs += reading.read(*files, map=told or None, progress=progress, **options)
        except BackemfError:
            if map or not told or any(_remembered_logs(fit, path) for path in files):
                raise
            logs += reading.read(*files, progress=progress, **options)  # its columns have other names
    told_here = {name: value is not None for name, value in options.items()}
    return [_as_before(fit, log, told_here) for log in logs]


def _remembered_logs(fit: Fit, path: Path) -> list[FittedLog]:
    """What the fit remembers of the logs of a file: of the very place, or else of the name."""
    here = [log for log in fit.logs if log.source and Path(log.source) in (path, path.absolute())]
    return here or [log for log in fit.logs if log.source and places(log.source)[-1] == path.name]


def places(source: str) -> tuple[str, ...]:
    """The parts of a path of whatever system it was written on."""
    return (PureWindowsPath if "\\" in source else PurePath)(source).parts


def _alike(fit: Fit, files: Sequence[Path], map: Any) -> list[tuple[list[Path], Any]]:
    """Files together that are read the same way, in order."""
    if map:
        return [(list(files), map)]
    common = {log.told for log in fit.logs}
    usual = next(iter(common)) if len(common) == 1 else ()
    groups: list[tuple[list[Path], Any]] = []
    for path in files:
        told = next((one.told for one in _remembered_logs(fit, path)), usual)
        if groups and groups[-1][1] == told:
            groups[-1][0].append(path)
        else:
            groups.append(([path], told))
    return groups


def _as_before(fit: Fit, log: Log, told_here: Mapping[str, bool]) -> Log:
    own = next((one for one in fit.logs if one.name == log.name), None)
    if not told_here["bench"]:
        log = _with_bench(fit, log, own)
    if own is None:
        return log
    if not told_here["settings"] and dict(own.settings) != dict(log.settings):
        said = ", ".join(f"{path} = {value:g}" for path, value in own.settings.items()) or "none"
        words = (*log.conversions, f"settings as in the fit: {said}")
        log = replace(log, settings=dict(own.settings), conversions=words)
    for name, command in own.commands.items():
        if not told_here["command"] and name not in log.commands:
            log = log.with_command(read_command(command), name, by="as in the fit")
    return log


def _with_bench(fit: Fit, log: Log, own: FittedLog | None) -> Log:
    """The log on the bench that it had in the fit, or that all logs of the fit had."""
    benches = [log.bench for log in fit.logs]
    bench, whose = (own.bench, "as in the fit") if own is not None else (None, "")
    if own is None and log.bench is None and benches and all(b == benches[0] for b in benches):
        bench, whose = benches[0], "as every log of the fit has it"
    if bench is None or bench == log.bench:
        return log
    kept = tuple(f for f in log.findings if f.code not in ("bench_missing", "arm_mass_missing"))
    words = (*log.conversions, f"bench {whose}: {bench}")
    return replace(log, bench=bench, findings=kept, conversions=words)


def stored_logs(fit: Fit, beside: Path | None = None) -> list[Path]:
    """The files, datasets and bags that a fit remembers and that are still there: as they were given, or by
    the end of their path from a folder, that of the fit itself."""
    there: dict[Path, None] = {}
    for source in (remembered.source for remembered in fit.logs if remembered.source):
        parts = places(source)
        ends = [] if beside is None else [beside.joinpath(*parts[k:]) for k in range(len(parts))]
        there |= {
            place: None for place in [p for p in (Path(source), *ends) if split_episodes(p)[0].exists()][:1]
        }
    return list(there)
