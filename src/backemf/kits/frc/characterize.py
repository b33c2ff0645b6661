"""`characterize`: from a few tests of a mechanism to kS, kV, kA and kG with intervals, and the feedback gains
that follow.

The default simulates the mechanism and compares (see `fit`); method="sysid" is the classic
regression, step by step, and method="one-step" the same without its filters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue, UnknownName
from ...findings import Finding
from .characterization import (
    UNITS as UNITS,
    Characterization as Characterization,
    FeedforwardGain as FeedforwardGain,
    PredictedSegment as PredictedSegment,
    Z,
)
from .gain_fit import Interval, MechanismFit, fit_mechanism, gains_of, parts_of
from .loop_gains import LoopRequest, loops_of, slow_loop
from .mechanism_findings import fit_findings, gain_findings, mend_runs, motion_findings, recording_findings
from .sysid_regression import one_step, sysid
from .trials import CONTROLS, MECHANISMS, Segment, Trial, of_one, runs_from, segments_of, tests_in

METHODS = ("simulation", "sysid", "one-step")
LONG = 100.0
"""A time constant of more than so many test lengths is none that a test has shown."""
LENGTHS, ANGLES = ("m", "ft", "in"), "radians, degrees or rotations"
_THRESHOLD = 0.1
"""Velocity below which method="one-step" leaves a sample out, in the chosen unit per second."""


def characterize(
    logs_or_tests: Any,
    mechanism: str = "simple",
    control: str = "voltage",
    method: str | None = None,
    units: str | None = None,
    *,
    name: str | None = None,
    controller: str = "wpilib",
    max_error: float | None = None,
    max_velocity_error: float | None = None,
    max_effort: float | None = None,
    period: float | None = None,
    delay: float | None = None,
    median: int = 1,
    threshold: float | None = None,
    settling_time: float | None = None,
    step: float | None = None,
    loop: str = "position",
    limit: float | None = None,
) -> Characterization:
    """Characterise a mechanism from its tests: logs, runs, or rows [t, input, position, velocity] by test,
    all in SI.

    `mechanism` is simple, flywheel, elevator, arm or drivetrain; `units` is the unit of the gains, `name` the
    mechanism whose tests are meant where recordings hold those of several. The regulator takes errors of
    `max_error` and `max_velocity_error` for worth `max_effort`; it runs every `period` on measurements that
    are `delay` late, as the `controller` does unless told [s]. `median` and `threshold` (in units per second)
    are settings of the regressions. `settling_time` asks for feedback that settles a `step` of the `loop` in
    that time within the `limit` of the input (12 V, or the largest current of the tests), beside the
    regulator's.
    """
    _check_names(mechanism, control, method or "simulation")
    if (settling_time is None) != (step is None):
        raise MissingValue(
            "a settling time and the step that is to settle go together; one of them is missing"
        )
    if method != "sysid" and (median != 1 or (threshold is not None and method != "one-step")):
        raise InvalidValue(
            "median and threshold are settings of the classic regression; give method='sysid' with them"
        )
    runs = of_one(runs_from(logs_or_tests, control), name)
    units = _units(units, mechanism, runs)
    if limit is None:
        limit = 12.0 if control == "voltage" else max(float(np.max(np.abs(r.input))) for r in runs)
    wanted = LoopRequest(controller, max_error, max_velocity_error, max_effort, period, delay)
    how: dict[str, Any] = {"control": control, "method": method or "simulation", "regulator": wanted}
    how |= {"limit": limit, "median": median, "threshold": threshold}
    settling = None if settling_time is None or step is None else (settling_time, step, loop)
    if mechanism == "drivetrain":
        return _drivetrain(runs, units, settling, how)
    return _one(runs, mechanism, units=units, settling=settling, **how)


def _check_names(mechanism: str, control: str, method: str) -> None:
    for kind, given, valid in (
        ("mechanism", mechanism, MECHANISMS),
        ("control", control, CONTROLS),
        ("method", method, METHODS),
    ):
        if given not in valid:
            raise UnknownName(kind, given, valid)


def _drivetrain(
    runs: Sequence[Trial], units: str, settling: tuple[float, float, str] | None, how: dict[str, Any]
) -> Characterization:
    """Driving straight, and turning where a gyro was recorded."""
    linear = [r for r in runs if r.part != "angular" and not r.part.endswith("turning")]
    angular = [r for r in runs if r.part == "angular"]
    if not linear and not angular:
        raise MissingValue(
            "the sides turn against each other in every test and no gyro's angle or rate was recorded; log"
            " it, or drive straight"
        )
    if not linear:
        return _one(angular, "drivetrain", units="radians", settling=settling, **how)
    straight = _one(linear, "drivetrain", units=units, settling=settling, **how)
    if not angular:
        return straight
    return _with_turning(straight, _one(angular, "simple", units="radians", settling=None, **how), runs)


def _units(asked: str | None, mechanism: str, runs: Sequence[Trial]) -> str:
    """The unit of the gains: as it is asked for, unless the recordings are of the other kind of motion."""
    if asked is not None and asked not in UNITS:
        raise UnknownName("unit", asked, UNITS)
    told = {r.motion: r for r in runs if r.motion and r.part != "angular"}
    if len(told) > 1:
        turns, slides = told["rotary"].name, told["linear"].name
        raise InvalidValue(f"{turns} is in a unit of angle and {slides} in one of length; expected one kind")
    motion = next(iter(told), "linear" if mechanism in ("elevator", "drivetrain") else "rotary")
    if asked is None:
        return "meters" if motion == "linear" else "radians"
    if told and (UNITS[asked][1] in LENGTHS) != (motion == "linear"):
        is_, valid = ("a length", "meters, feet or inches") if motion == "linear" else ("an angle", ANGLES)
        raise InvalidValue(
            f"units is {asked!r}, but the position in {next(iter(told.values())).name} is {is_};"
            f" expected {valid}"
        )
    return asked


def _with_turning(
    straight: Characterization, turning: Characterization, runs: Sequence[Trial]
) -> Characterization:
    """Both motions of a drivetrain in one result, with the track width."""
    gains = {**straight.gains, **{f"{name}_angular": gain for name, gain in turning.gains.items()}}
    width = track_width(runs)
    if width is not None:
        size, short = UNITS[straight.units]
        value, half = width[0] / size, Z * width[1] / size
        gains["track_width"] = FeedforwardGain(value=value, low=value - half, high=value + half, unit=short)
    feedback = {**straight.feedback, **{f"{name}_angular": f for name, f in turning.feedback.items()}}
    said = (*straight.findings, *(replace(f, text=f"turning: {f.text}") for f in turning.findings))
    shown = (*straight.shown, *turning.shown)
    return replace(straight, gains=gains, feedback=feedback, findings=said, shown=shown)


def track_width(runs: Sequence[Trial]) -> tuple[float, float] | None:
    """(width, error) between the wheels [m]: what both sides rolled, against each other,
    over the angle turned meanwhile."""
    widths = [width for run in runs if (width := _width(run, runs)) is not None]
    if not widths:
        return None
    spread = float(np.std(widths, ddof=1)) / math.sqrt(len(widths)) if len(widths) > 1 else 0.05 * widths[0]
    return float(np.mean(widths)), spread


def _width(run: Trial, runs: Sequence[Trial]) -> float | None:
    """What one run of turning tells of the width; None where it does not turn, or a side is missing."""
    if run.part != "angular" or len(run.position) < 2:
        return None
    sides = [r for r in runs if r.part.endswith(" turning") and r.test == run.test]
    sides = [r for r in sides if abs(r.time[0] - run.time[0]) < 0.1]
    if len(sides) != 2 or any(len(s.position) < 2 for s in sides):
        return None
    three = (run, *sides)
    ends = max(r.position_time[0] for r in three), min(r.position_time[-1] for r in three)
    ways = [abs(float(np.diff(np.interp(ends, r.position_time, r.position))[0])) for r in three]
    return sum(ways[1:]) / ways[0] if ways[0] > 0 else None


def _one(
    runs: Sequence[Trial],
    mechanism: str,
    *,
    control: str,
    method: str,
    units: str,
    regulator: LoopRequest,
    median: int,
    threshold: float | None,
    limit: float,
    settling: tuple[float, float, str] | None,
) -> Characterization:
    size, short = UNITS[units]
    effort = "V" if control == "voltage" else "A"
    kind = "simple" if mechanism in ("drivetrain", "flywheel") else mechanism
    unit = {"kS": effort, "kV": f"{effort}/({short}/s)", "kA": f"{effort}/({short}/s^2)", "kG": effort}
    unit["offset"] = "rad"
    findings: list[Finding] = []
    if method == "simulation":
        runs, findings = mend_runs(runs)
        segments, intervals, told = _fit_simulation(runs, kind, size, findings, unit)
    else:
        segments, intervals, told = [], *_regress(runs, kind, method, size, median, threshold)
    gains = {
        name: FeedforwardGain(value=value, low=low, high=high, unit=unit[name])
        for name, (value, low, high) in intervals.items()
    }
    findings += motion_findings(segments, gains, told["delay"], told["window"], size) if segments else ()
    findings += gain_findings(gains, kind, runs)
    known = {name: g.value for name, g in gains.items()}
    if known["kV"] is not None and known["kV"] < 0 <= (gains["kV"].high or -1.0):
        known["kV"] = 0.0  # a current has no back-EMF to overcome: what scatters about 0 is taken as 0
    kV, kA = known["kV"], known["kA"]
    loops = loops_of(known, regulator, units=(short, effort), limit=limit, settling=settling)
    if mechanism == "flywheel":  # which has no position to hold
        loops.pop("position", None)
    if mechanism in ("arm", "elevator") and "position" in loops:
        findings += slow_loop(loops["position"], known, regulator, units=(short, effort))
    return Characterization(
        mechanism=mechanism,
        control=control,
        method=method,
        units=units,
        gains=gains,
        feedback=loops,
        findings=tuple(findings),
        timescale=_timescale(gains["kV"], kV, kA, runs),
        limit=limit,
        tests=tuple(tests_in(runs)),
        **told,
    )


def _timescale(gain: FeedforwardGain, kV: float | None, kA: float | None, runs: Sequence[Trial]) -> float:
    """kA / kV [s]; NaN where kV cannot be told from 0, or is so small that no test was long enough to show
    it."""
    if kA is None or not kV or (gain.low is not None and gain.low <= 0):
        return math.nan
    longest = max(float(run.time[-1] - run.time[0]) for run in runs)
    return kA / kV if kA / kV < LONG * longest else math.nan


def _regress(
    runs: Sequence[Trial], kind: str, method: str, size: float, median: int, threshold: float | None
) -> tuple[dict[str, Interval], dict[str, Any]]:
    """(gains, how well they fit) by one of the regressions."""
    if method == "sysid":
        least = None if threshold is None else threshold * size
        classic = sysid(runs, kind, median=median, threshold=least)
    else:
        classic = one_step(runs, kind, threshold=(_THRESHOLD if threshold is None else threshold) * size)
    gains: dict[str, Interval] = {
        name: (value * _scale(name, size), None, None) for name, value in classic.gains.items()
    }
    told = {"r2": classic.r2, "velocity_error": math.nan, "delay": classic.delay}
    return gains, {**told, "position_delay": math.nan, "window": None}


def _fit_simulation(
    runs: Sequence[Trial], kind: str, size: float, findings: list[Finding], unit: Mapping[str, str]
) -> tuple[list[Segment], dict[str, Interval], dict[str, Any]]:
    """(segments, gains with intervals, how well they fit) by simulation; adds what the recordings show."""
    segments, idle = segments_of(runs)
    findings += recording_findings(runs, segments, idle, kind)
    if kind == "arm" and not any(len(s.position) for s in segments):
        raise MissingValue(
            "an arm needs its position: gravity depends on the angle, and these runs have none"
        )
    if not segments:
        remedy = findings[-1].remedy if findings else "record a longer test"
        raise MissingValue(f"nothing moves in {', '.join(r.name or r.test for r in runs)}; {remedy}")
    fit = fit_mechanism(segments, kind)
    gains = {n: _scale_interval(n, interval, size) for n, interval in gains_of(fit, segments, kind).items()}
    findings += fit_findings(fit, _parts(fit, size, unit), gains, segments)
    pairs = zip(segments, fit.predicted, strict=True)
    shown = tuple(PredictedSegment(segment=s, velocity=v, position=p) for s, (v, p) in pairs)
    errors = np.concatenate([s.segment.velocity - s.velocity for s in shown])
    return (
        segments,
        gains,
        {
            "r2": fit.r2,
            "velocity_error": float(np.sqrt(np.mean(errors**2))) / size,
            "delay": fit.velocity_delay + 0.5 * (fit.window or 0.0),
            "position_delay": math.nan if fit.position_delay is None else fit.position_delay,
            "window": fit.window,
            "shown": shown,
        },
    )


def _parts(
    fit: MechanismFit, size: float, unit: Mapping[str, str]
) -> dict[str, dict[str, tuple[Interval, Interval, str]]]:
    """What the parts of the data that disagree say of each gain, in the chosen unit."""
    return {
        split: {
            n: (_scale_interval(n, a, size), _scale_interval(n, b, size), unit[n])
            for n, (a, b) in told.items()
        }
        for split, told in parts_of(fit).items()
    }


def _scale_interval(gain: str, interval: Interval, size: float) -> Interval:
    value, low, high = (None if x is None else x * _scale(gain, size) for x in interval)
    return value, low, high


def _scale(gain: str, size: float) -> float:
    """From SI to the chosen unit."""
    return size if gain in ("kV", "kA") else 1.0
