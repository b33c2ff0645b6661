"""Faults of one log, each seen on what the others leave when they are mended, what mends them, and whether
that was tried and helps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...errors import BackemfError
from ...findings import Finding
from ...logs.log import Log, Signal
from ...physics.actuator import Actuator
from ..optimize import levenberg_marquardt
from ..problem import Problem, problem
from .samples import (
    SignalTrack,
    counter_findings,
    counter_jumps,
    odd_findings,
    odd_ones,
    repeat_findings,
    repeated_samples,
    row_findings,
    whole_clock,
    wrap_findings,
    wraps,
)
from .signals import (
    RADIANS,
    clock_findings,
    command_findings,
    encoder_findings,
    flag_findings,
    followed_signal,
    jump_findings,
    motion_findings,
    sign_findings,
    stairs,
    supply_findings,
    temperature_findings,
    unit_findings,
)

Numbers = Mapping[str, float]


def _with(log: Log, text: str, **signals: Signal) -> Log:
    """The log with other signals, and a word on it among what was done."""
    words_ = (*log.conversions, text)
    kept = {name: command for name, command in log.commands.items() if name not in signals}
    return replace(log, signals={**log.signals, **signals}, commands=kept, conversions=words_)


def _mask(log: Log, places: np.ndarray, text: str) -> Log:
    if not len(places):
        return log
    values = log["position"].copy()
    values[places] = np.nan
    return _with(
        log, f"position: {len(places)} {text} left out", position=Signal(time=log.time, values=values)
    )


def without_dropouts(log: Log, numbers: Numbers | None = None) -> Log:
    """Without samples that jump off the motion and back."""
    track = SignalTrack.of(log)
    return _mask(log, track.places[odd_ones(track).all], "samples that jump off the motion and back")


def without_repeats(log: Log, numbers: Numbers | None = None) -> Log:
    """Without samples that repeat the one before while the motion goes on."""
    track = SignalTrack.of(log)
    return _mask(log, track.places[repeated_samples(track)], "samples that repeat the one before")


def unwrap(log: Log, numbers: Numbers | None = None) -> Log:
    """With a counter that goes on where it wrapped."""
    jumps, period = wraps(log)
    if not len(jumps):
        return log
    track, turns = SignalTrack.of(log), np.zeros(len(log))
    np.add.at(turns, track.places[jumps + 1], -np.sign(track.steps[jumps]) * period)
    values = log["position"] + np.cumsum(turns)
    if "position_target" in log:  # it may have wrapped just before it started
        values -= period * np.round(np.nanmedian(values - log["position_target"]) / period)
    text = f"position: unwrapped by {period:.6g}, {len(jumps)} times"
    return _with(log, text, position=Signal(time=log.time, values=values))


def rescale(log: Log, numbers: Numbers) -> Log:
    """With signals multiplied by the numbers that bear their names."""
    factors = {name: numbers[name] for name in ("position", "position_target") if name in numbers}
    scaled = {
        name: Signal(time=log.signals[name].time, values=factor * log.signals[name].values)
        for name, factor in factors.items()
        if name in log
    }
    words = ", ".join(f"{name} times {factor:.6g}" for name, factor in factors.items() if name in log)
    return _with(log, f"read in another unit: {words}", **scaled)


def with_lost_time(log: Log, numbers: Numbers | None = None) -> Log:
    """On a clock that has the time of lost rows again; every signal is moved alike."""
    old, new = log.time, whole_clock(log)
    moved = {
        name: Signal(
            time=new if np.array_equal(s.time, old) else _move_times(s.time, old, new), values=s.values
        )
        for name, s in log.signals.items()
    }
    return _with(log, f"time: {new[-1] - old[-1]:.4g} s of lost rows put back", **moved)


def _move_times(times: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    inside = np.interp(times, old, new)
    return np.where(times > old[-1], times + new[-1] - old[-1], np.where(times < old[0], times, inside))


def turn_sign(log: Log, numbers: Numbers | None = None) -> Log:
    """With the sign of the position turned, and of its velocity."""
    signals = {
        name: Signal(time=log.signals[name].time, values=-log.signals[name].values)
        for name in ("position", "velocity")
        if name in log
    }
    return _with(log, f"sign of {' and '.join(signals)} turned", **signals)


def with_lost_counts(log: Log, numbers: Numbers | None = None) -> Log:
    """With the counts put back that its encoder lost."""
    track = SignalTrack.of(log)
    places, sizes = counter_jumps(track)
    lost = np.zeros(len(log))
    np.add.at(lost, track.places[places + 1], -sizes)
    values = log["position"] + np.cumsum(lost)
    text = f"position: counts put back {len(places)} times"
    return _with(log, text, position=Signal(time=log.time, values=values))


def turn_flag(log: Log, numbers: Numbers | None = None) -> Log:
    """With its torque on where it was said to be off."""
    flag = log.signals["enabled"]
    turned = Signal(time=flag.time, values=(flag.values <= 0.5).astype(float))
    return _with(log, "enabled inverted", enabled=turned)


def interpolate_command(log: Log, numbers: Numbers | None = None) -> Log:
    """With a command that goes straight from each of its changes to the next."""
    name = followed_signal(log)
    if name is None:
        return log
    places = stairs(log, name)
    if not len(places):
        return log
    knots = np.unique([0, *places])
    values = np.interp(log.time, log.time[knots], log[name][knots])
    # Where it rests for long it rests: only steps of the usual length are drawn.
    usual = float(np.median(np.diff(log.time[places])))
    place = np.searchsorted(knots, np.arange(len(log)), side="right") - 1
    end = log.time[knots[np.minimum(place + 1, len(knots) - 1)]]
    resting = end - log.time[knots[place]] > 1.6 * usual
    late = np.maximum((log.time - (end - usual)) / usual, 0.0)
    after = log[name][knots[np.minimum(place + 1, len(knots) - 1)]]
    values = np.where(resting, log[name] + late * (after - log[name]), values)
    return _with(log, f"{name} drawn between its changes", **{name: Signal(time=log.time, values=values)})


class Remedy(NamedTuple):
    """What mends a fault."""

    mended: Callable[[Log, Mapping[str, float]], Log]
    """The log without the fault, by the numbers of its finding."""
    leaves_out: bool = False
    """Whether it only leaves out samples that are known to be wrong."""


REMEDIES: dict[str, Remedy] = {
    "wrapped_counter": Remedy(unwrap),
    "zeros": Remedy(without_dropouts, leaves_out=True),
    "spikes": Remedy(without_dropouts, leaves_out=True),
    **{unit: Remedy(rescale) for unit in RADIANS},
    "duplicates": Remedy(without_repeats, leaves_out=True),
    "repeats": Remedy(without_repeats, leaves_out=True),
    "lost_rows": Remedy(with_lost_time),
    "lost_counts": Remedy(with_lost_counts),
    "inverted_flag": Remedy(turn_flag),
    "wrong_sign": Remedy(turn_sign),
    "coarse_command": Remedy(interpolate_command),
}
"""Fault by fault, in the order in which they are looked for and mended."""


def faults_of(log: Log, actuator: Actuator | None = None) -> list[Finding]:
    """Faults of one log that can be mended; those of units need the actuator."""
    if "position" not in log or len(log) < 40 or any(motion_findings(log)):
        return []
    looks: tuple[Callable[[Log], Iterator[Finding]], ...] = (
        wrap_findings,
        odd_findings,
        lambda one: iter(()) if actuator is None else unit_findings(one, actuator),
        repeat_findings,
        row_findings,
        counter_findings,
        flag_findings,
        sign_findings,
        command_findings,
    )
    findings: list[Finding] = []
    for look in looks:
        seen = list(look(log))
        for fault in seen:
            if fault.numbers.get("sure", 1.0):  # otherwise it may be no fault at all
                log = REMEDIES[fault.code].mended(log, fault.numbers)
        findings += seen
    return [_of(log, fault) for fault in findings]


def limits_of(log: Log, mended: Log) -> list[Finding]:
    """What a log cannot tell well, without being wrong; of its position as it is mended."""
    rows = [*clock_findings(log)]
    if "position" in log:
        rows += [*encoder_findings(mended), *motion_findings(mended), *jump_findings(mended)]
    return [_of(log, f) for f in [*rows, *supply_findings(log), *temperature_findings(log)]]


def jumps_of(logs: Iterable[Log]) -> list[Finding]:
    """Commands whose jumps are open by a sample, which a model cannot make good."""
    return [_of(log, fault) for log in logs for fault in jump_findings(log)]


def _of(log: Log, fault: Finding) -> Finding:
    return replace(fault, text=f"{log.name}: {fault.text}", logs=(log.name,))


CLEARLY = 0.85
"""What is left of the error when a remedy is believed that changes what was recorded."""
NO_HARM = 1.05
"""The same for one that only leaves samples out."""
LOST = 0.3
"""Share of the motion from which on an error says that something else is wrong as well."""
MOST_LOGS = 6
"""Logs that a remedy is tried on, those with the fault first."""
LEAST = 80
"""Samples that either half of a single log needs."""
BEGINS = 30
"""Samples at its beginning that tell how a log starts."""
RAN_AWAY = 1e9
"""The error of a simulation that is not finite [rad]."""
STAGES = (60.0, 20.0, 6.0, 0.0)
"""Bandwidths of the observer in a quick fit [rad/s]."""

ASSUMED, UNDERSTOOD = "unit_assumed", "units_understood"
PATCHED = "lost_counts"
"""A fault that mending leaves a part of: what such a log still misses is no bench's."""

Build = Callable[[Sequence[Log]], Problem]
"""Logs as the problem that a fit would solve."""
Errors = tuple[float, float, float]
"""Of the faulty logs where they were not fitted: as they are, mended, and what one of the first is in units
of the second."""
Judge = Callable[[Sequence[Log], Sequence[Log], Finding], Errors | None]
"""What a remedy comes to: logs as they are, logs mended, the fault; None where that cannot be told."""


class Inspection(NamedTuple):
    """What is wrong with recordings themselves, and what mends it."""

    findings: list[Finding]
    """Faults with what their remedies are worth."""
    logs: list[Log]
    """As they are, units understood where nobody stated them."""
    mended: list[Log]
    """As the remedies that are offered leave them."""
    open: bool
    """Whether a fault is left that no remedy mends: what a model says of such logs is not to be trusted."""


def inspect_logs(build: Build, actuator: Actuator, logs: Sequence[Log]) -> Inspection:
    """Look for faults of the recordings, and try what mends them.

    Args:
        build: makes the problem of a fit from logs.
        actuator: which moved; says what motion is possible.
        logs: as they were read.

    Returns:
        The faults, the logs in the units understood, and the same mended.
    """
    logs = [_understand_unit(build, actuator, log) for log in logs]
    seen = merge_findings(f for log in logs for f in faults_of(log, actuator))
    return try_remedies(build, logs, seen)


def _understand_unit(build: Build, actuator: Actuator, log: Log) -> Log:
    """A log that states no unit, in the one in which its motion is possible;
    the finding that radians were assumed becomes one that says what was understood."""
    assumed = {name for f in log.findings if f.code == ASSUMED for name in f.numbers}
    units = [f for f in faults_of(log, actuator) if f.code in RADIANS] if assumed else []
    units = [f for f in units if assumed.issuperset(set(f.numbers) - {"sure"})]
    if not units or not (units[0].numbers["sure"] or try_remedies(build, [log], units).findings):
        return log
    return _read_as(log, units[0])


def _read_as(log: Log, unit: Finding) -> Log:
    said = f"{unit.text.rstrip('.')}. The file states no unit, and it is read so."
    remedy = "say it when reading, as in --map position=NAME[deg]; [rad] if this is wrong"
    numbers = {name: value for name, value in unit.numbers.items() if name.startswith("position")}
    kept = [f for f in log.findings if not (f.code == ASSUMED and set(f.numbers) & set(numbers))]
    code = Finding(code=UNDERSTOOD, text=said, remedy=remedy, numbers=numbers, logs=(log.name,))
    return replace(rescale(log, numbers), findings=(*kept, code))


def try_remedies(
    build: Build, logs: Sequence[Log], seen: Sequence[Finding], *, judge: Judge | None = None
) -> Inspection:
    """Try the remedy of every fault in turn, each on what the ones before it left; the model is the judge
    where no other is given."""
    judge = judge or judged_by(build)
    given = logs = list(logs)
    said, left = [], False
    order = list(REMEDIES)
    for fault in sorted(seen, key=lambda f: order.index(f.code)):
        sure = fault.numbers.get("sure", 1.0) > 0
        mended = [mend(fault, log) if log.name in fault.logs else log for log in logs]
        trial = judge(logs, mended, fault)
        if trial is None:
            # Nobody can say: what is certain by itself is named, and mended if the user wants it.
            if sure:
                said.append(replace(fault, numbers={**fault.numbers, "offered": 1.0}))
                logs = mended
            continue
        before, after, scale = trial
        bound = NO_HARM if REMEDIES[fault.code].leaves_out else CLEARLY
        offered = after <= bound * before * scale
        if offered:
            logs = mended
        if offered or sure:
            said.append(_judge_remedy(fault, before, after, offered))
            left = left or not offered or after > LOST * _spread(mended, fault)
    return Inspection(said, given, logs, left)


def apply(findings: Iterable[Finding], logs: Sequence[Log]) -> list[Log]:
    """The logs, mended by every remedy that the findings of a check offer; `conversions` says how."""
    findings, order = list(findings), list(REMEDIES)
    for unit in (f for f in findings if f.code == UNDERSTOOD):
        logs = [_read_as(log, unit) if log.name in unit.logs and _assumes(log, unit) else log for log in logs]
    offers = [f for f in findings if f.code in REMEDIES and f.numbers.get("offered", 0.0) > 0]
    for fault in sorted(offers, key=lambda f: order.index(f.code)):
        logs = [mend(fault, log) if log.name in fault.logs else log for log in logs]
    return list(logs)


def _assumes(log: Log, unit: Finding) -> bool:
    """Whether a log still has the unit that nobody stated."""
    return any(f.code == ASSUMED and set(f.numbers) & set(unit.numbers) for f in log.findings)


def mend(fault: Finding, log: Log) -> Log:
    """One log without one fault."""
    return REMEDIES[fault.code].mended(log, fault.numbers)


def merge_findings(rows: Iterable[Finding]) -> list[Finding]:
    """Findings of the same code in many logs become one, with the count."""
    by: dict[tuple[str, str], list[Finding]] = {}
    for f in rows:
        by.setdefault((f.code, f.remedy), []).append(f)
    single = []
    for first, *others in by.values():
        names = tuple(dict.fromkeys(name for f in (first, *others) for name in f.logs))
        text = f"{first.text.rstrip('.')}. The same in {len(others)} more." if others else first.text
        single.append(replace(first, text=text, logs=names))
    return single


def _spread(logs: Sequence[Log], fault: Finding) -> float:
    """How far the faulty logs move, as a standard deviation [rad]."""
    return float(np.mean([np.nanstd(log["position"]) for log in logs if log.name in fault.logs]))


def _judge_remedy(fault: Finding, before: float, after: float, offered: bool) -> Finding:
    """The fault with what its remedy was worth."""
    worth = f"what was not fitted is missed by {_mrad(after)} instead of {_mrad(before)}"
    if offered:
        said, remedy = f"Mended, {worth}.", f"{fault.remedy}: be.check(...).apply(logs), or --apply"
    else:
        said, remedy = f"Mending it was tried: {worth}.", f"record again; '{fault.remedy}' does not help here"
    numbers = {**fault.numbers, "before": before, "after": after, "offered": float(offered)}
    return replace(fault, text=f"{fault.text} {said}", remedy=remedy, numbers=numbers)


def _mrad(error: float) -> str:
    if error >= RAN_AWAY / 10:
        return "a simulation that runs away"
    return f"{1e3 * error:,.0f} mrad" if error > 1 else f"{1e3 * error:.3g} mrad"


def judged_by(build: Build) -> Judge:
    """Judged by how well the model foretells what it was not shown."""

    def judge(logs: Sequence[Log], mended: Sequence[Log], fault: Finding) -> Errors | None:
        faulty, others = on_trial(logs, fault)
        chosen = [*faulty, *others]
        scale = fault.numbers.get("position", 1.0) if fault.code in RADIANS else 1.0
        try:
            before, after = (
                _held_out(build, [some[k] for k in chosen], [mended[k] for k in chosen], len(faulty))
                for some in (logs, mended)
            )
        except BackemfError:
            return None
        return None if before is None or after is None else (before, after, scale)

    return judge


def on_trial(logs: Sequence[Log], fault: Finding) -> tuple[list[int], list[int]]:
    """Places of the logs that a remedy is tried on: some with the fault, and some without."""
    faulty = [k for k, log in enumerate(logs) if log.name in fault.logs][: MOST_LOGS // 2]
    return faulty, [k for k in range(len(logs)) if k not in faulty][: MOST_LOGS - len(faulty)]


def _held_out(build: Build, logs: list[Log], clean: list[Log], n_judged: int) -> float | None:
    """Mean absolute error of position on the first logs, each half by a model that was shown the other;
    samples that are left out do not count. None where a log is too short."""
    if any(len(log) < 2 * LEAST for log in logs):
        return None
    p = build(logs)
    total = []
    for fold in (0, 1):
        # First halves of some and second halves of others: every condition is in both. Each log is simulated
        # whole, from its own start.
        shown = [_half(log, (k + fold) % 2) for k, log in enumerate(logs)]
        q = problem(p.actuator, shown, p.free, outputs=p.outputs, substeps=p.substeps)
        x = _quick(q)
        for k, simulated in enumerate(q.predictions(x)[:n_judged]):
            hidden = np.isfinite(clean[k]["position"]) & ~np.isfinite(shown[k]["position"])
            with np.errstate(over="ignore", invalid="ignore"):
                error = float(np.nanmean(np.abs(simulated - logs[k]["position"])[hidden]))
            total.append(error if math.isfinite(error) else RAN_AWAY)
    return float(np.mean(total))


def _half(log: Log, which: int) -> Log:
    """The log with the positions of one half, and those by which it starts."""
    values = log["position"].copy()
    middle = len(log) // 2
    values[BEGINS:middle] = values[BEGINS:middle] if which == 0 else np.nan
    values[middle:] = values[middle:] if which == 1 else np.nan
    return replace(log, signals={**log.signals, "position": Signal(time=log.time, values=values)})


def _quick(q: Problem) -> np.ndarray:
    x = q.first
    for bandwidth in STAGES:
        end = levenberg_marquardt(q, x, bandwidth=bandwidth, most=12 if bandwidth else 25, tolerance=1e-3)
        x = end.x if math.isfinite(end.cost) else x
    return x
