"""`characterize`: from a few tests of a mechanism to kS, kV, kA and kG with intervals, and the feedback gains
that follow.

The default simulates the mechanism and compares (see `fit`); method="sysid" is the classic
regression, step by step, and method="one-step" the same without its filters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ...errors import InvalidValue, MissingValue, UnknownName
from ...findings import Finding
from ...options import takes
from ...units import si
from .characterization import (
    UNITS as UNITS,
    Characterization as Characterization,
    FeedforwardGain as FeedforwardGain,
    PredictedSegment as PredictedSegment,
    Z,
)
from .commands import CharacterizeOptions
from .gain_fit import Progress, fit_mechanism, part_progress
from .gain_intervals import Interval, gains_of, parts_of
from .loop_gains import loops_of, slow_loop
from .mechanism_findings import (
    fit_findings,
    gain_findings,
    mend_runs,
    motion_findings,
    poor_fit,
    recording_findings,
)
from .sysid_regression import one_step, sysid
from .trials import CONTROLS, MECHANISMS, Segment, Trial, of_one, runs_from, segments_of, tests_in
from .wpilog_units import unit_named

METHODS = ("simulation", "sysid", "one-step")
LONG = 100.0
"""A time constant of more than so many test lengths is none that a test has shown."""
LENGTHS, ANGLES = ("m", "ft", "in"), "radians, degrees or rotations"
SLIDES = ("elevator", "drivetrain")
"""Mechanisms of which a motor's turns become a way."""
O = TypeVar("O", bound=CharacterizeOptions)  # of a command, its words
_THRESHOLD = 0.1
"""Velocity below which method="one-step" leaves a sample out, in the chosen unit per second."""


def run_characterize(logs_or_tests: Any, options: CharacterizeOptions) -> Characterization:
    """Characterise a mechanism from its tests.

    Args:
        logs_or_tests: logs, runs, or rows [t, input, position, velocity] by test, all in SI.
        options: what one may ask.

    Returns:
        The gains with their intervals, the feedback that follows, and what stands against them.

    Raises:
        MissingValue: where the recordings hold no test, tests of several mechanisms, or nothing that moves.
        UnknownName: there is no such mechanism, control, method or unit.
        InvalidValue: settings of another method, or a unit of the other kind of motion.
    """
    options = replace(options, method=options.method or METHODS[0])
    _check_options(options)
    runs = of_one(runs_from(logs_or_tests, options.control), options.name)
    units, limit = unit_of_gains(options, runs), options.limit
    if limit is None:
        voltage = options.control == "voltage"
        limit = 12.0 if voltage else max(float(np.max(np.abs(r.input))) for r in runs)
    options = replace(with_own_numbers(options, units), limit=limit)
    motions = _both_motions if options.mechanism == "drivetrain" else _one_motion
    return motions(runs, options, units, limit)


characterize = takes(CharacterizeOptions)(run_characterize)


def _check_options(options: CharacterizeOptions) -> None:
    """Refuse names that are not there, and settings of another method."""
    method = options.method
    for kind, given, valid in (
        ("mechanism", options.mechanism, MECHANISMS),
        ("control", options.control, CONTROLS),
        ("method", method, METHODS),
    ):
        if given not in valid:
            raise UnknownName(kind, given, valid)
    if method != "sysid" and (
        options.median != 1 or (options.threshold is not None and method != "one-step")
    ):
        raise InvalidValue(
            "median and threshold are settings of the classic regression; give method='sysid' with them"
        )


def _both_motions(
    runs: Sequence[Trial], options: CharacterizeOptions, units: str, limit: float
) -> Characterization:
    """A drivetrain: straight on, and turning where a gyro was recorded."""
    linear = [r for r in runs if r.part != "angular" and not r.part.endswith("turning")]
    angular = [r for r in runs if r.part == "angular"]
    if not linear and not angular:
        raise MissingValue(
            "the sides turn against each other in every test and no gyro's angle or rate was recorded; log"
            " it, or drive straight"
        )
    if not linear:
        return _one_motion(angular, options, "radians", limit)
    tell = options.progress
    first = replace(options, progress=part_progress(tell, "straight on", 0.0, 0.5)) if angular else options
    straight = _one_motion(linear, first, units, limit)
    if not angular:
        return straight
    turns = replace(options, mechanism="simple", settling_time=None, step=None)
    turns = replace(turns, progress=part_progress(tell, "turning", 0.5, 1.0))
    return _with_turning(straight, _one_motion(angular, turns, "radians", limit), runs)


def unit_of_gains(options: CharacterizeOptions, runs: Sequence[Trial]) -> str:
    """The unit of the gains: as it is asked for, unless the recordings are of the other kind of motion."""
    asked, mechanism = options.units, options.mechanism
    asked = None if asked is None else unit_named(asked)
    stated = {r.motion: r for r in runs if r.motion and r.part != "angular"}
    if len(stated) > 1:
        turns, slides = stated["rotary"].name, stated["linear"].name
        raise InvalidValue(f"{turns} is in a unit of angle and {slides} in one of length; expected one kind")
    motion = next(iter(stated), "linear" if mechanism in SLIDES else "rotary")
    if asked is None:
        return "meters" if motion == "linear" else "radians"
    if stated and (UNITS[asked][1] in LENGTHS) != (motion == "linear"):
        is_, valid = ("a length", "meters, feet or inches") if motion == "linear" else ("an angle", ANGLES)
        raise InvalidValue(
            f"units is {asked!r}, but the position in {next(iter(stated.values())).name} is {is_};"
            f" expected {valid}"
        )
    return asked


def with_own_numbers(options: O, units: str) -> O:
    """The options with what was typed in a unit of its own, 18deg or 0.05rot, in the unit of the gains.

    Args:
        options: as they were typed; numbers alone are in that unit already.
        units: of the gains.

    Returns:
        The same with plain numbers.
    """
    size, short = UNITS[units]
    way = "m" if short in LENGTHS else "rad"
    kinds = {"max_error": way, "max_velocity_error": f"{way}/s", "threshold": f"{way}/s"}
    kinds["step"] = kinds["threshold"] if options.loop == "velocity" else way
    typed = {name: getattr(getattr(options, name), "text", "") for name in kinds}
    names = {name: f"--{name.replace('_', '-')}" for name in kinds if typed[name]}
    return replace(
        options, **{name: si(typed[name], kinds[name], said) / size for name, said in names.items()}
    )


def _with_turning(
    straight: Characterization, turning: Characterization, runs: Sequence[Trial]
) -> Characterization:
    """Both motions of a drivetrain in one result, with the track width."""
    gains = {**straight.gains, **{f"{name}_angular": gain for name, gain in turning.gains.items()}}
    width = _track_width(runs)
    if width is not None:
        size, short = UNITS[straight.units]
        value, half = width[0] / size, Z * width[1] / size
        gains["track_width"] = FeedforwardGain(value=value, low=value - half, high=value + half, unit=short)
    feedback = {**straight.feedback, **{f"{name}_angular": f for name, f in turning.feedback.items()}}
    said = (*straight.findings, *(replace(f, text=f"turning: {f.text}") for f in turning.findings))
    shown = (*straight.shown, *turning.shown)
    return replace(straight, gains=gains, feedback=feedback, findings=said, shown=shown)


def _track_width(runs: Sequence[Trial]) -> tuple[float, float] | None:
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


def _one_motion(
    runs: Sequence[Trial], options: CharacterizeOptions, units: str, limit: float
) -> Characterization:
    """The gains of one motion, in a unit, and the feedback that stays within a limit of the input."""
    mechanism, method = options.mechanism, options.method or ""
    size, short = UNITS[units]
    effort = "V" if options.control == "voltage" else "A"
    kind = "simple" if mechanism in ("drivetrain", "flywheel") else mechanism
    unit = {"kS": effort, "kV": f"{effort}/({short}/s)", "kA": f"{effort}/({short}/s^2)", "kG": effort}
    unit["offset"] = "rad"
    findings: list[Finding] = []
    if method == "simulation":
        runs, findings = mend_runs(runs)
        segments, intervals, quality = _fit_simulation(runs, kind, size, findings, unit, options.progress)
    else:
        segments, intervals, quality = [], *_regress(runs, kind, size, options)
    gains = {
        name: FeedforwardGain(value=value, low=low, high=high, unit=unit[name])
        for name, (value, low, high) in intervals.items()
    }
    findings += (
        motion_findings(segments, gains, quality["delay"], quality["window"], size) if segments else ()
    )
    findings += [*poor_fit(quality["r2"]), *gain_findings(gains, kind, runs)]
    known = {name: g.value for name, g in gains.items()}
    if known["kV"] is not None and known["kV"] < 0 <= (gains["kV"].high or -1.0):
        known["kV"] = 0.0  # a current has no back-EMF to overcome: what scatters about 0 is taken as 0
    loops = loops_of(known, options, (short, effort), limit)
    if mechanism == "flywheel":  # which has no position to hold
        loops.pop("position", None)
    if mechanism in ("arm", "elevator") and "position" in loops:
        findings += slow_loop(loops["position"], known, options, (short, effort))
    return Characterization(
        mechanism=mechanism,
        control=options.control,
        method=method,
        units=units,
        gains=gains,
        feedback=loops,
        findings=tuple(findings),
        timescale=_timescale(gains["kV"], known["kV"], known["kA"], runs),
        limit=limit,
        tests=tuple(tests_in(runs)),
        **quality,
    )


def _timescale(gain: FeedforwardGain, kV: float | None, kA: float | None, runs: Sequence[Trial]) -> float:
    """kA / kV [s]; NaN where kV cannot be told from 0, or is so small that no test was long enough to show
    it."""
    if kA is None or not kV or (gain.low is not None and gain.low <= 0):
        return math.nan
    longest = max(float(run.time[-1] - run.time[0]) for run in runs)
    return kA / kV if kA / kV < LONG * longest else math.nan


def _regress(
    runs: Sequence[Trial], kind: str, size: float, options: CharacterizeOptions
) -> tuple[dict[str, Interval], dict[str, Any]]:
    """(gains, how well they fit) by one of the regressions."""
    threshold = options.threshold
    if options.method == "sysid":
        least = None if threshold is None else threshold * size
        classic = sysid(runs, kind, median=options.median, threshold=least)
    else:
        classic = one_step(runs, kind, threshold=(_THRESHOLD if threshold is None else threshold) * size)
    gains = {n: _scale_interval(n, (value, None, None), size) for n, value in classic.gains.items()}
    quality = {"r2": classic.r2, "velocity_error": math.nan, "delay": classic.delay}
    return gains, {**quality, "position_delay": math.nan, "window": None}


def _fit_simulation(
    runs: Sequence[Trial],
    kind: str,
    size: float,
    findings: list[Finding],
    unit: Mapping[str, str],
    progress: Progress | None,
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
    fit = fit_mechanism(segments, kind, progress)
    gains = {n: _scale_interval(n, interval, size) for n, interval in gains_of(fit, segments, kind).items()}
    parts = {
        split: {
            n: (_scale_interval(n, a, size), _scale_interval(n, b, size), unit[n])
            for n, (a, b) in halves.items()
        }
        for split, halves in parts_of(fit).items()
    }
    findings += fit_findings(fit, parts, gains, segments)
    pairs = zip(segments, fit.predicted, strict=True)
    shown = tuple(PredictedSegment(segment=s, velocity=v, position=p) for s, (v, p) in pairs)
    errors = np.concatenate([s.segment.velocity - s.velocity for s in shown])
    quality = {
        "r2": fit.r2,
        "velocity_error": float(np.sqrt(np.mean(errors**2))) / size,
        "delay": fit.velocity_delay + 0.5 * (fit.window or 0.0),
        "position_delay": math.nan if fit.position_delay is None else fit.position_delay,
        "window": fit.window,
        "shown": shown,
    }
    return segments, gains, quality


def _scale_interval(gain: str, interval: Interval, size: float) -> Interval:
    """From SI to the chosen unit."""
    factor = size if gain in ("kV", "kA") else 1.0
    value, low, high = (None if x is None else x * factor for x in interval)
    return value, low, high
