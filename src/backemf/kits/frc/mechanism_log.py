"""Recordings of a mechanism's tests: every run as a log of its own, whatever wrote the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import BackemfError
from ...logs.log import Log, Signal
from ...logs.mapping import mapping
from ...logs.read import find, read
from ...logs.readers import reader_of
from ...logs.recording import ReadError
from ...logs.to_log import to_log
from . import sysid_json, wpilog
from .wpilog_runs import Window, find_runs, tests_of, windows_of


def mechanism_logs(
    *paths: str,
    map: Sequence[str] | None = None,
    preset: str | None = None,
    between: tuple[float, float] | None = None,
    name: str | None = None,
) -> list[Log]:
    """The runs in files: by the states of a SysId routine, by SysId's own JSON, else each file as it is.

    `map` names the entries, `preset` the logger that wrote a WPILOG, "phoenix" or "phoenix:TalonFX-3";
    `between` keeps that part of each [s], `name` the tests of that mechanism.
    """
    logs: list[Log] = []
    for path in find(*paths):
        runs = _runs(path, map, preset, name)
        if runs is None:
            logs += read(path, map=map or None, between=between)
        elif between is None:
            logs += runs
        else:
            inside = [run for run in runs if run.time[0] <= between[1] and run.time[-1] >= between[0]]
            logs += [run.between(*between) for run in inside]
    return logs


def _runs(path: Path, map: Sequence[str] | None, preset: str | None, name: str | None) -> list[Log] | None:
    """The runs of a file of tests; None where it is a recording like any other."""
    try:
        reader = reader_of(path)
        if reader is wpilog:
            return _mapped(path, map, name) if map else _written(path, preset, name)
        if reader is sysid_json and not map:
            return [to_log(recording) for recording in sysid_json.entries(path)]
        if name is not None:
            raise ReadError(f"the name of a mechanism, {name!r}, chooses among the tests of a WPILOG")
    except OSError as error:
        raise ReadError(f"{path}: cannot be opened: {error.strerror or error}") from None
    except BackemfError as error:
        raise ReadError(f"{path}: {error}") from None
    return None


def _written(path: Path, preset: str | None, name: str | None) -> list[Log]:
    """A WPILOG as its logger names things."""
    logged = wpilog.read_entries(path)
    runs, unclear = find_runs(path, logged, preset, name)
    if unclear:
        raise ReadError(unclear)
    return [to_log(recording) for recording in runs or [wpilog.whole(path, logged)]]


def _mapped(path: Path, map: Sequence[str], name: str | None) -> list[Log]:
    """A WPILOG by the names of its entries, cut where its states say that a test ran."""
    logged = wpilog.read_entries(path)
    log = to_log(wpilog.whole(path, logged), mapping(list(map)))
    t = log.time
    windows = windows_of(logged) if name is None else tests_of(name, windows_of(logged))
    runs = [_run(log, w) for w in windows if np.any((t >= w.start) & (t < w.end))]
    return runs or [log]


def _run(log: Log, window: Window) -> Log:
    """One run of a log. An input that was not written again holds."""
    end = min(window.end, max(float(s.time[-1]) for s in log.signals.values()))
    signals = {}
    for name, signal in log.signals.items():
        keep = (signal.time >= window.start) & (signal.time <= end)
        times, values = signal.time[keep], signal.values[keep]
        if name.startswith(("voltage", "current")):
            before = np.flatnonzero(signal.time < window.start)
            if len(before) and (not len(times) or times[0] > window.start):
                times = np.insert(times, 0, window.start)
                values = np.insert(values, 0, signal.values[before[-1]])
            if len(times) and times[-1] < end:
                times, values = np.append(times, end), np.append(values, values[-1])
        if len(times):
            signals[name] = Signal(time=times, values=values)
    name = f"{window.test} {window.mechanism} ({log.name} {window.number})".replace("  ", " ")
    words = (*log.conversions, f"run {window.number} of {window.test}")
    return replace(log, name=name, signals=signals, conversions=words, mechanism=window.name)
