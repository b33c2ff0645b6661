"""The tests of a mechanism that are in logs, tables and rows, each as a Trial: input and motion, each on its
own clock."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue, SignalError, UnknownName
from ...logs.log import Log
from .trial_set import Trial

TESTS = ("quasistatic-forward", "quasistatic-reverse", "dynamic-forward", "dynamic-reverse")
MECHANISMS = ("simple", "flywheel", "elevator", "arm", "drivetrain")
CONTROLS = ("voltage", "current")
_SPELLINGS = {"slow": "quasistatic", "fast": "dynamic", "backward": "reverse", "backwards": "reverse"}
_LEAST_TIME = 0.1
"""A stretch with input shorter than this is no test [s]."""


def test_of(text: str) -> str | None:
    """The test that a name means, in today's spelling or in that of old files; None where it means none."""
    words = [_SPELLINGS.get(w, w) for w in re.split(r"[^a-z]+", text.lower()) if w]
    kind = next((w for w in words if w in ("quasistatic", "dynamic")), None)
    way = next((w for w in words if w in ("forward", "reverse")), None)
    return f"{kind}-{way}" if kind and way else None


test_of.__test__ = False  # type: ignore[attr-defined]  # pytest would take its name for a test's


def part_of(text: str) -> str:
    """The part of a drivetrain that a name means, as `Trial.part` has it; empty where it means none."""
    words = re.split(r"[^a-z]+", text.partition(" (")[0].lower())  # what follows names the file
    side = next((w for w in words if w in ("left", "right", "angular")), "")
    return f"{side} turning" if side in ("left", "right") and "turning" in words else side


def make_run(
    test: str,
    time: Any,
    input: Any,
    position: Any,
    velocity: Any = None,
    *,
    part: str = "",
    supply: Any = (),
    motion: str = "",
) -> Trial:
    """A run from columns on one clock; missing samples are NaN.
    Rows out of order are sorted, a repeated time is kept once."""
    name = test_of(test)
    if name is None:
        raise UnknownName("test", test, TESTS)
    t, u = np.asarray(time, float), np.asarray(input, float)
    p = np.full_like(t, np.nan) if position is None else np.asarray(position, float)
    v = np.full_like(t, np.nan) if velocity is None else np.asarray(velocity, float)
    if not (t.shape == u.shape == p.shape == v.shape) or t.ndim != 1:
        raise SignalError(
            f"{name} has {t.shape} times, {u.shape} inputs, {p.shape} positions and {v.shape} velocities;"
            " expected one row each"
        )
    t, keep = np.unique(t, return_index=True)
    u, p, v = u[keep], p[keep], v[keep]
    fine, seen, moved = np.isfinite(u), np.isfinite(v), np.isfinite(p)
    if fine.sum() < 2:
        raise SignalError(f"{name} has {int(fine.sum())} samples of its input; expected at least 2")
    run = Trial(
        test=name,
        time=t[fine],
        input=u[fine],
        velocity_time=t[seen],
        velocity=v[seen],
        position_time=t[moved],
        position=p[moved],
        supply=np.asarray(supply, float),
        part=part,
        name=name,
        motion=motion,
    )
    return with_velocity(run)


def with_velocity(run: Trial) -> Trial:
    """The run with a velocity, by differences of its position where none was recorded:
    mean velocities, between the samples."""
    if len(run.velocity):
        return run
    if len(run.position) < 3:
        raise MissingValue(f"{run.test} has neither velocity nor position; one of them is needed")
    t, p = run.position_time, run.position
    return replace(run, velocity_time=0.5 * (t[1:] + t[:-1]), velocity=np.diff(p) / np.diff(t))


def runs_from(given: Any, control: str = "voltage") -> list[Trial]:
    """The runs in whatever is given: runs, logs, or rows [t, u, position, velocity] by test."""
    if control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)
    if isinstance(given, Trial | Log):
        given = [given]
    runs: list[Trial] = []
    if isinstance(given, Mapping):
        runs += [run for test, rows in given.items() for run in _from_rows(str(test), rows)]
        given = ()
    for item in given if isinstance(given, Iterable) else (given,):
        if isinstance(item, Trial):
            runs.append(with_velocity(item))
        elif isinstance(item, Log):
            runs += split(item, control)
        else:
            raise InvalidValue(
                f"cannot characterise {type(item).__name__}; expected logs, runs, or rows [t, input,"
                " position, velocity] by test"
            )
    if not runs:
        raise MissingValue(
            "no test was found; expected stretches in which the input ramps up slowly or steps"
        )
    return runs


def _from_rows(test: str, rows: Any) -> list[Trial]:
    several = rows if isinstance(rows, list | tuple) and len(rows) and np.ndim(rows[0]) == 2 else [rows]
    runs = []
    for one in several:
        table = np.asarray(one, float)
        if table.ndim != 2 or table.shape[1] not in (3, 4):
            raise InvalidValue(
                f"{test} has rows of shape {table.shape}; expected [t, input, position, velocity]"
            )
        t, u, p = table.T[:3]
        runs.append(make_run(test, t, u, p, table.T[3] if table.shape[1] == 4 else None))
    return runs


def split(log: Log, control: str = "voltage") -> list[Trial]:
    """The tests in a log: the whole log where its name says which, otherwise each stretch with input,
    by its shape."""
    names = (control, f"{control}_target")
    source = next((name for name in names if name in log), None)
    if source is None:
        raise MissingValue(
            f"{log.name}: {control} control needs the signal {names[0]} or {names[1]}; the log has"
            f" {', '.join(log.signals)}"
        )
    signal = log.signals[source]
    fine = np.isfinite(signal.values)
    t, u = signal.time[fine], signal.values[fine]
    test = test_of(log.name)
    if test is not None:
        return [_cut(log, test, t, u, t[0], t[-1])]
    return [
        _cut(log, _shape(t[a:b], u[a:b]), t, u, t[_before(t, u, a)], t[b - 1]) for a, b in _stretches(t, u)
    ]


def _before(t: np.ndarray, u: np.ndarray, a: int) -> int:
    """The sample a stretch begins with: a few at rest before its input acts, none of the stretch before."""
    step = float(np.median(np.diff(t)))
    first = a
    while first > 0 and a - first < 3 and u[first - 1] == 0 and t[first] - t[first - 1] < 5 * step:
        first -= 1
    return first


def _stretches(t: np.ndarray, u: np.ndarray) -> list[tuple[int, int]]:
    """Where the input acts: [from, to) of stretches without a change of sign or a pause."""
    sign = np.sign(np.where(np.abs(u) > 1e-6 * np.max(np.abs(u), initial=0.0), u, 0.0))
    edges = np.flatnonzero(np.diff(sign)) + 1
    parts = zip([0, *edges], [*edges, len(u)], strict=True)
    return [
        (int(a), int(b)) for a, b in parts if sign[a] != 0 and t[b - 1] - t[a] >= _LEAST_TIME and b - a >= 5
    ]


def _shape(t: np.ndarray, u: np.ndarray) -> str:
    middle = float(np.interp(t[0] + 0.4 * (t[-1] - t[0]), t, np.abs(u)))
    kind = "dynamic" if middle > 0.75 * np.max(np.abs(u)) else "quasistatic"
    return f"{kind}-{'forward' if np.mean(u) > 0 else 'reverse'}"


def _cut(log: Log, test: str, t: np.ndarray, u: np.ndarray, start: float, end: float) -> Trial:
    def samples(name: str) -> tuple[np.ndarray, np.ndarray]:
        if name not in log:
            return np.empty(0), np.empty(0)
        signal = log.signals[name]
        keep = (signal.time >= start) & (signal.time <= end) & np.isfinite(signal.values)
        return signal.time[keep], signal.values[keep]

    within = (t >= start) & (t <= end)
    (t_v, v), (t_p, p), (_, supply) = samples("velocity"), samples("position"), samples("supply")
    run = Trial(
        test=test,
        time=t[within],
        input=u[within],
        velocity_time=t_v,
        velocity=v,
        position_time=t_p,
        position=p,
        supply=supply,
        part=part_of(log.name),
        name=log.name,
        motion=_told_motion(log),
        mechanism=log.mechanism,
    )
    return with_velocity(run)


def _told_motion(log: Log) -> str:
    """Whether its file says that it turns or slides; empty where that is assumed."""
    if log.motion == "rotary" and (not log.source or any(f.code == "unit_assumed" for f in log.findings)):
        return ""
    return log.motion


def of_one(runs: Sequence[Trial], name: str | None) -> list[Trial]:
    """The runs of one mechanism: of the one that is named, where files hold those of several."""
    count = Counter(run.mechanism for run in runs if run.mechanism)
    if name is None and len(count) > 1:
        there = ", ".join(f"{one} ({n} runs)" for one, n in count.items())
        which = f"say which with --name {next(iter(count))} (in Python, name={next(iter(count))!r})"
        raise MissingValue(f"these recordings are of {len(count)} mechanisms: {there}; {which}")
    if name is None:
        return list(runs)
    kept = [run for run in runs if name.lower() in (run.mechanism.lower(), _last(run.mechanism.lower()))]
    if not kept and not count:
        raise InvalidValue(f"name is {name!r}, but the recordings do not say which mechanism they are of")
    if not kept:
        raise UnknownName("mechanism", name, count)
    return kept


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def tests_in(runs: Sequence[Trial]) -> list[str]:
    """Which of the four tests there are, in their usual order."""
    return [test for test in TESTS if any(run.test == test for run in runs)]
