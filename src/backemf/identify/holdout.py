"""Choosing logs: which to fit and which to hold out, and how far those that judge or are predicted go beyond
those that were fitted, in torque, speed and gain."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding
from ..logs.log import Log, bench_of
from ..physics.quantity import parameters
from ..results.fit_result import Fit
from .bench_numbers import words
from .inspect.samples import SignalTrack
from .inspect.signals import fastest
from .parameters import FreeParameters

if TYPE_CHECKING:
    from .problem import Problem

KEYS: dict[str, Callable[[Log], Any]] = {
    "gain": lambda log: log.settings.get("drive.proportional"),
    "mass": lambda log: _of_bench(log, "mass"),
    "length": lambda log: _of_bench(log, "length"),
    "supply": lambda log: log.settings.get("drive.supply"),
    "name": lambda log: log.name,
}
LAST = re.compile(r"last\s+(\d+(?:\.\d+)?)\s*%")
FEWEST_GROUPS = 3
"""Groups of held-out logs below which one log's luck would choose: then every group is held out in turn."""
MOST_FOLDS = 4
MOST_FITTED, MOST_JUDGED = 16, 12
"""Logs of many that a fold fits, and that judge it: frictions are told apart by fewer than their numbers."""
LATTER = "last 40 %"
"""What judges where there is a single log."""
SHOWN = 12
"""Names of logs in a message."""
BEYOND = 1.15
"""How many times the largest that was fitted a torque, speed or gain is that counts as beyond it."""
WINDOW = 0.06
"""Time over which an acceleration is taken [s]."""
USUAL = 98
"""Percentile of a torque along a log that counts as its largest."""
UNITS = {"torque": "N m", "speed": "rad/s", "gain": ""}
LINEAR = {"torque": "N", "speed": "m/s", "gain": ""}


def _of_bench(log: Log, name: str) -> float | None:
    return None if log.bench is None else parameters(log.bench).get(name)


class LogChoice(NamedTuple):
    """Logs that somebody means."""

    holds: Callable[[Log], bool]
    """Whether a log is one of them."""
    words: str
    """As a person says it: "gain 16", "name log 2"."""
    last: float | None = None
    """The percentage that "last 40 %" names."""


@functools.singledispatch
def choice_of(spec: Any) -> LogChoice:
    """The logs that {"gain": 8}, a name or pattern, a list of such, or a function of a log means."""
    if not callable(spec):
        raise InvalidValue(
            f"hold_out is {spec!r}; expected a mapping such as {{'gain': 8}}, names, or a function of a log"
        )
    return LogChoice(lambda log: bool(spec(log)), "those of a function")


@choice_of.register
def _(spec: str) -> LogChoice:
    last = LAST.fullmatch(spec.strip())

    def has_name(log: Log) -> bool:
        return fnmatch.fnmatch(log.name, spec) or fnmatch.fnmatch(log.name.rpartition("/")[2], spec)

    return LogChoice(has_name, spec, None if last is None else float(last[1]))


@choice_of.register
def _(spec: Mapping) -> LogChoice:
    for key in spec:
        if key not in KEYS:
            raise UnknownName("way to choose logs", key, KEYS)
    said = [
        f"{key} {wanted}" if key == "name" else f"{key} {float(wanted):g}" for key, wanted in spec.items()
    ]
    return LogChoice(lambda log: all(_has_value(log, *item) for item in spec.items()), " and ".join(said))


def _has_value(log: Log, key: str, wanted: Any) -> bool:
    value = KEYS[key](log)
    if key == "name":
        return fnmatch.fnmatch(value, str(wanted))
    return value is not None and abs(value - float(wanted)) <= 1e-9 * max(1.0, abs(value))


@choice_of.register
def _(spec: Sequence) -> LogChoice:
    choices = [choice_of(one) for one in spec]
    if len(choices) == 1:
        return choices[0]
    return LogChoice(lambda log: any(c.holds(log) for c in choices), ", ".join(c.words for c in choices))


def split(logs: Sequence[Log], hold_out: Any) -> tuple[list[Log], list[Log]]:
    """(logs to fit, logs to judge on)."""
    if not logs:
        raise MissingValue("no logs were given; expected at least one recording")
    if hold_out is None:
        return list(logs), []
    held = [*map(choice_of(hold_out).holds, logs)]
    judged = [log for log, out in zip(logs, held, strict=True) if out]
    training = [log for log, out in zip(logs, held, strict=True) if not out]
    if not judged:
        shown = ", ".join(log.name for log in logs[:SHOWN]) + (", ..." if len(logs) > SHOWN else "")
        raise InvalidValue(
            f"hold_out {hold_out!r} matches none of the {len(logs)} logs; they are called {shown}"
        )
    if not training:
        raise InvalidValue(f"hold_out {hold_out!r} matches every log; none is left to fit")
    return training, judged


def divide(logs: Sequence[Log], hold_out: Any) -> tuple[list[Log], list[Log]]:
    """(logs to fit, logs to judge on); "last 40 %" parts every log in time."""
    choice = None if hold_out is None else choice_of(hold_out)
    if choice is None or choice.last is None:
        return split(logs, hold_out)
    share = 1.0 - choice.last / 100.0
    if not 0.0 < share < 1.0:
        raise InvalidValue(f"hold_out is {choice.words!r}; expected a share above 0 % and below 100 %")
    first, rest = [], []
    for log in logs:
        begin, end = float(log.time[0]), float(log.time[-1])
        cut = begin + share * (end - begin)
        first.append(log.between(begin, cut))
        rest.append(replace(log.between(cut, end), name=f"{log.name} ({choice.words})"))
    return first, rest


def default_hold_out(logs: Sequence[Log]) -> tuple[Any, str]:
    """Logs to judge on where nobody says: those of the middle gain, or else mass,
    where most logs have another; or every fourth log."""
    for key in ("gain", "mass"):
        values = sorted({KEYS[key](log) for log in logs if KEYS[key](log) is not None})
        middle = values[(len(values) - 1) // 2] if len(values) >= 3 else None
        if middle is not None and sum(KEYS[key](log) == middle for log in logs) <= 0.6 * len(logs):
            return [{key: middle}], f"the logs with {key} {middle:g}"
    if len(logs) < 2:
        raise InvalidValue(
            f"{len(logs)} log is too little to hold some out; record more, or name hold_out yourself"
        )
    names = [log.name for log in logs][1 :: min(4, len(logs))]
    return names, f"every fourth log ({len(names)} of {len(logs)})" if len(logs) >= 4 else "one log"


class Fold(NamedTuple):
    """Logs that are fitted, and others that judge the fit."""

    training: list[Log]
    judged: list[Log]


def folds_of(logs: Sequence[Log]) -> tuple[list[Fold], str]:
    """How logs judge frictions: without a middle setting, and without the extreme rig where there are three;
    without every group of logs in turn where these would be too few; or by the end of a single log.

    Args:
        logs: that may be fitted; those that somebody holds out are not among them.

    Returns:
        (the folds, in words what judges).
    """
    if len(logs) < 2:
        return [Fold(*divide(logs, LATTER))], f"the {LATTER} of the log"
    middle, said = default_hold_out(logs)
    _, judged = split(logs, middle)
    groups = group_by_rig(logs)
    whole = [name for name in groups if all(log in judged for log in groups[name])]
    if len(whole) < FEWEST_GROUPS and len(judged) < FEWEST_GROUPS + 1 and len(groups) > 1:
        parts = [[log.name for log in members] for members in groups.values()]
        while len(parts) > MOST_FOLDS:  # the smallest together
            parts.sort(key=len)
            parts = [parts[0] + parts[1], *parts[2:]]
        folds = [Fold(*split(logs, part)) for part in parts]
        return folds, f"{len(parts)} groups of logs, each held out in turn"
    folds, rig = [Fold(*split(logs, middle))], extreme_rig(logs)
    if rig:
        folds.append(Fold(*split(logs, [log.name for log in rig])))
        said += f", and those of the heaviest rig ({words(bench_of(rig[0]))}), each left out in turn"
    return [
        Fold(spread_over(f.training, MOST_FITTED), spread_over(f.judged, MOST_JUDGED)) for f in folds
    ], said


def extreme_rig(logs: Sequence[Log]) -> list[Log]:
    """The logs of the rig with the largest torque of gravity, or inertia; none of fewer than three rigs."""
    rigs: dict[str, list[Log]] = {}
    for log in logs:
        if log.bench is not None and not log.bench.series:
            rigs.setdefault(words(log.bench), []).append(log)
    if len(rigs) < FEWEST_GROUPS:
        return []

    def heaviness(members: list[Log]) -> tuple[float, float]:
        bench = bench_of(members[0])
        return abs(float(bench.moment())), float(np.min(bench.inertia_at({})))

    return max(rigs.values(), key=heaviness)


def spread_over(logs: Sequence[Log], most: int) -> list[Log]:
    """At most so many of the logs, as many of each rig and setting as of any other, in their order."""
    if len(logs) <= most:
        return list(logs)
    groups = list(group_by_rig(logs).values())
    turns = max(map(len, groups))
    order = [(r, g, group[(r + g) % len(group)]) for g, group in enumerate(groups) for r in range(len(group))]
    chosen = [log for r, _, log in sorted(order, key=lambda row: row[:2]) if r < turns][:most]
    return [log for log in logs if any(log is one for one in chosen)]


def group_by_rig(logs: Sequence[Log]) -> dict[Any, list[Log]]:
    """Logs by rig and settings; each by itself where all are of one."""
    groups: dict[Any, list[Log]] = {}
    for log in logs:
        rig = None if log.bench is None else words(log.bench)
        groups.setdefault((rig, tuple(sorted(log.settings.items()))), []).append(log)
    return groups if len(groups) > 1 else {log.name: [log] for log in logs}


def part_of(p: Problem, places: Sequence[int]) -> tuple[Problem, list[int]]:
    """The same problem of some of its logs.

    Args:
        p: the problem.
        places: of the logs that stay.

    Returns:
        (it, the places in x of the numbers that act there).
    """
    new = {old: k for k, old in enumerate(places)}
    kept, rows = [], []
    for k, q in enumerate(p.free.parameters):
        mine = None if q.logs is None else tuple(new[i] for i in q.logs if i in new)
        if mine is None or mine:
            kept.append(k)
            rows.append(replace(q, logs=mine))
    stretches = [int(i) for k in places for i in np.flatnonzero(p.log_of == k)]
    part = replace(
        p,
        logs=[p.logs[k] for k in places],
        free=FreeParameters(tuple(rows)),
        sigma=p.sigma if p.sigma.ndim == 1 else p.sigma[list(places)],
        begin=None if p.begin is None else p.begin.some(stretches),
    )
    part.sigma_noise = p.sigma_noise
    part.take_after(p, places)
    return part, kept


Demands = Mapping[str, float]
"""What a log asks of its joint: torque [N m or N], speed [rad/s or m/s], gain; absent where unknown."""


def demands_of(log: Log) -> dict[str, float]:
    """The torque that moves what a joint carried along a log, its speed, and its gain.

    Args:
        log: of one joint on a bench that can be computed.

    Returns:
        The largest of each, but for one sample in fifty.
    """
    track = SignalTrack.of(log)
    found = {"speed": fastest(track)}
    gain = KEYS["gain"](log)
    if gain is not None:
        found["gain"] = float(gain)
    bench, n = bench_of(log), max(1, round(WINDOW / track.step))
    if not bench.series and not bench.locked and len(track) > 4 * n:
        q, t = track.values, track.time
        rate = (q[n:] - q[:-n]) / (t[n:] - t[:-n])
        a = (rate[n:] - rate[:-n]) / (0.5 * (t[2 * n :] - t[: -2 * n]))
        load: Any = bench.load
        carried = np.asarray(load(q[n:-n], 0.5 * (rate[n:] + rate[:-n]), {}))
        torque = float(np.min(bench.inertia_at({}))) * a - carried
        found["torque"] = float(np.percentile(np.abs(torque), USUAL))
    return found


def extrapolations(
    fitted: Mapping[str, Demands],
    judged: Mapping[str, Demands],
    motion: str = "rotary",
    what: str = "what judges",
) -> Iterator[Finding]:
    """What is asked beyond what was fitted, in one finding.

    Args:
        fitted: by log, what it asks.
        judged: the same of logs that were not fitted.
        motion: "rotary" or "linear", for units.
        what: goes beyond, in words.

    Yields:
        One finding with the farthest log of each kind, or none.
    """
    words, numbers, logs, units = [], {}, [], LINEAR if motion == "linear" else UNITS
    for kind in UNITS:
        known = [asked[kind] for asked in fitted.values() if kind in asked]
        if not known:
            continue
        low, high = min(known), max(known)
        ratio = {name: asked[kind] / max(high, 1e-12) for name, asked in judged.items() if kind in asked}
        if kind == "gain":  # a soft loop is another regime too
            ratio = {n: max(r, low / max(judged[n][kind], 1e-12)) for n, r in ratio.items()}
        beyond = {name: r for name, r in ratio.items() if r > BEYOND}
        if not beyond:
            continue
        farthest = max(beyond, key=lambda name: beyond[name])
        span = f"{low:.3g} to {high:.3g}" if kind == "gain" else f"up to {high:.3g}"
        words.append(
            f"a {kind} of {judged[farthest][kind]:.3g} {units[kind]}".rstrip()
            + f" ({farthest}), where {span} was fitted"
        )
        numbers[kind] = beyond[farthest]
        logs += list(beyond)
    if words:
        text = f"{what} goes beyond what was fitted: {'; '.join(words)}."
        remedy = "fit a log that goes as far; until then expect larger errors there than on the fitted logs"
        names = tuple(dict.fromkeys(logs))
        yield Finding(code="extrapolates", text=text, remedy=remedy, numbers=numbers, logs=names)


def of_benches(fitted: Sequence[Log], judged: Sequence[Log]) -> list[Finding]:
    """What logs of benches ask beyond those fitted.

    Args:
        fitted: that numbers were found from.
        judged: that a prediction is made of.

    Returns:
        One finding, or none.
    """
    if not judged:
        return []
    asked = [{log.name: demands_of(log) for log in logs if "position" in log} for logs in (fitted, judged)]
    return list(extrapolations(*asked, motion=fitted[0].motion))


def of_prediction(fit: Fit, name: str, asked: Mapping[str, Demands]) -> list[Finding]:
    """What a predicted log asks beyond those fitted, of the joint of which it asks the most.

    Args:
        fit: which remembers what its logs asked.
        name: of the log.
        asked: by joint, what it asks.

    Returns:
        One finding, or none.
    """
    found = []
    for joint, demands in asked.items():
        known = {log.name: log.demands[joint] for log in fit.logs if joint in log.demands}
        motion = fit.joints.get(joint, fit).actuator.motion
        label = f"{name}/{joint}" if joint else name
        found += extrapolations(known, {label: demands}, motion, "what is predicted")
    return sorted(found, key=lambda f: -max(f.numbers.values()))[:1]
