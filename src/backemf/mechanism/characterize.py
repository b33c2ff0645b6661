"""`characterize`: from a few tests of a mechanism to kS, kV, kA and kG with intervals, and the feedback gains
that follow.

The default simulates the mechanism and compares (see mechanism_fit); method="sysid" is the classic
regression, step by step, and method="one-step" the same without its filters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.characterization import (
    UNITS as UNITS,
    Characterization as Characterization,
    Gain as Gain,
    Shown as Shown,
    Z,
)
from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding
from ..tables import number
from .feedback import Feedback, position_gains, settle, velocity_gains
from .findings import mended, missing_test, recording_findings
from .model import DELAY_ASSUMED
from .regression import one_step, sysid
from .segments import Segment, segments_of
from .trials import CONTROLS, MECHANISMS, Trial, runs_from, tests_in

METHODS = ("simulation", "sysid", "one-step")
_THRESHOLD = 0.1
"""Velocity below which method="one-step" leaves a sample out, in the chosen unit per second."""


def characterize(
    logs_or_tests: Any,
    mechanism: str = "simple",
    control: str = "voltage",
    method: str | None = None,
    units: str | None = None,
    *,
    controller: str = "wpilib",
    median: int = 1,
    threshold: float | None = None,
    settling_time: float | None = None,
    step: float | None = None,
    loop: str = "position",
    limit: float | None = None,
) -> Characterization:
    """Characterise a mechanism from its tests: logs, runs, or rows [t, input, position, velocity] by test,
    all in SI.

    `mechanism` is simple, elevator, arm or drivetrain; `units` is the unit of the gains. `median` and
    `threshold` (in units per second) are settings of the regressions. `settling_time` asks for feedback that
    settles a `step` of the `loop` in that time within the
    `limit` of the input (12 V, or the largest current of the tests), beside the regulator's.
    """
    for kind, given, valid in (
        ("mechanism", mechanism, MECHANISMS),
        ("control", control, CONTROLS),
        ("method", method or "simulation", METHODS),
    ):
        if given not in valid:
            raise UnknownName(kind, given, valid)
    if (settling_time is None) != (step is None):
        raise MissingValue(
            "a settling time and the step that is to settle go together; one of them is missing"
        )
    runs = runs_from(logs_or_tests, control)
    if units is None:
        units = (
            "meters"
            if mechanism in ("elevator", "drivetrain") or any(r.motion == "linear" for r in runs)
            else "radians"
        )
    if units not in UNITS:
        raise UnknownName("unit", units, UNITS)
    if method != "sysid" and (median != 1 or (threshold is not None and method != "one-step")):
        raise InvalidValue(
            "median and threshold are settings of the classic regression; give method='sysid' with them"
        )
    if limit is None:
        limit = 12.0 if control == "voltage" else max(float(np.max(np.abs(r.input))) for r in runs)
    how: dict[str, Any] = {
        "control": control,
        "method": method or "simulation",
        "controller": controller,
        "limit": limit,
    }
    how |= {"median": median, "threshold": threshold}
    settling = None if settling_time is None or step is None else (settling_time, step, loop)
    if mechanism != "drivetrain":
        return _one(runs, mechanism, units=units, settling=settling, **how)
    linear = [r for r in runs if r.part != "angular" and not r.part.endswith("turning")]
    angular = [r for r in runs if r.part == "angular"]
    if not linear and not angular:
        raise MissingValue(
            "the sides turn against each other in every test and no gyro's angle or rate was recorded; log"
            " it, or drive straight"
        )
    if not linear:
        return _one(angular, mechanism, units="radians", settling=settling, **how)
    found = _one(linear, mechanism, units=units, settling=settling, **how)
    return (
        _with_turning(found, _one(angular, "simple", units="radians", settling=None, **how), runs)
        if angular
        else found
    )


def _with_turning(
    straight: Characterization, turning: Characterization, runs: Sequence[Trial]
) -> Characterization:
    """Both motions of a drivetrain in one result, with the track width."""
    gains = {**straight.gains, **{f"{name}_angular": gain for name, gain in turning.gains.items()}}
    width = track_width(runs)
    if width is not None:
        size, short = UNITS[straight.units]
        value, error = width
        gains["track_width"] = Gain(
            value=value / size, low=(value - Z * error) / size, high=(value + Z * error) / size, unit=short
        )
    feedback = {**straight.feedback, **{f"{name}_angular": f for name, f in turning.feedback.items()}}
    said = [replace(f, text=f"turning: {f.text}") for f in turning.findings]
    return replace(
        straight,
        gains=gains,
        feedback=feedback,
        findings=(*straight.findings, *said),
        shown=(*straight.shown, *turning.shown),
    )


def track_width(runs: Sequence[Trial]) -> tuple[float, float] | None:
    """(width, error) between the wheels [m]: what both sides rolled, against each other,
    over the angle turned meanwhile."""
    found = []
    for run in runs:
        if run.part != "angular" or len(run.position) < 2:
            continue
        sides = [
            r
            for r in runs
            if r.part in ("left turning", "right turning")
            and r.test == run.test
            and abs(r.time[0] - run.time[0]) < 0.1
        ]
        if len(sides) != 2 or any(len(s.position) < 2 for s in sides):
            continue
        begin, end = (pick(r.position_time[i] for r in (run, *sides)) for pick, i in ((max, 0), (min, -1)))
        ways = [
            abs(
                float(
                    np.interp(end, r.position_time, r.position)
                    - np.interp(begin, r.position_time, r.position)
                )
            )
            for r in (run, *sides)
        ]
        if ways[0] > 0:
            found.append(sum(ways[1:]) / ways[0])
    if not found:
        return None
    spread = float(np.std(found, ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else 0.05 * found[0]
    return float(np.mean(found)), spread


def _one(
    runs: Sequence[Trial],
    mechanism: str,
    *,
    control: str,
    method: str,
    units: str,
    controller: str,
    median: int,
    threshold: float | None,
    limit: float,
    settling: tuple[float, float, str] | None,
) -> Characterization:
    size, short = UNITS[units]
    effort = "V" if control == "voltage" else "A"
    kind = "simple" if mechanism == "drivetrain" else mechanism
    unit = {
        "kS": effort,
        "kV": f"{effort}/({short}/s)",
        "kA": f"{effort}/({short}/s^2)",
        "kG": effort,
        "offset": "rad",
    }
    gains: dict[str, Gain] = {}
    findings: list[Finding] = []
    shown: tuple[Shown, ...] = ()
    if method != "simulation":
        if method == "sysid":
            classic = sysid(
                runs, kind, median=median, threshold=None if threshold is None else threshold * size
            )
        else:
            classic = one_step(runs, kind, threshold=(_THRESHOLD if threshold is None else threshold) * size)
        for name, value in classic.gains.items():
            scale = size if name in ("kV", "kA") else 1.0
            gains[name] = Gain(value=value * scale, low=None, high=None, unit=unit[name])
        r2, error, delay, place, window = classic.r2, math.nan, classic.delay, math.nan, None
    else:
        from .fit import fit_mechanism
        from .gains import gains_of

        runs, findings = mended(runs)
        segments, idle = segments_of(runs)
        findings += recording_findings(runs, segments, idle, kind)
        if kind == "arm" and not any(len(s.position) for s in segments):
            raise MissingValue(
                "an arm needs its position: gravity depends on the angle, and these runs have none"
            )
        if not segments:
            raise MissingValue(
                f"nothing moves in {', '.join(r.name or r.test for r in runs)};"
                f" {findings[-1].remedy if findings else 'record a longer test'}"
            )
        fit = fit_mechanism(segments, kind)
        for name, (value, low, high) in gains_of(fit, segments, kind).items():
            scale = size if name in ("kV", "kA") else 1.0
            many = [None if value is None or x is None else x * scale for x in (value, low, high)]
            gains[name] = Gain(value=many[0], low=many[1], high=many[2], unit=unit[name])
        shown = tuple(
            Shown(segment=s, velocity=v, position=p)
            for s, (v, p) in zip(segments, fit.predicted, strict=True)
        )
        errors = np.concatenate([s.segment.velocity - s.velocity for s in shown])
        r2, error = fit.r2, float(np.sqrt(np.mean(errors**2))) / size
        delay, window = fit.velocity_delay + 0.5 * (fit.window or 0.0), fit.window
        place = math.nan if fit.position_delay is None else fit.position_delay
        findings += _about_motion(segments, gains, delay, fit.window)
    findings += _about_gains(gains, kind, runs)
    known = {name: g.value for name, g in gains.items()}
    if known["kV"] is not None and known["kV"] < 0 <= (gains["kV"].high or -1.0):
        known["kV"] = 0.0  # a current has no back-EMF to overcome: what scatters about 0 is taken as 0
    kV, kA = known["kV"], known["kA"]
    timescale = kA / kV if kA is not None and kV else math.nan
    return Characterization(
        mechanism=mechanism,
        control=control,
        method=method,
        units=units,
        gains=gains,
        feedback=_feedback(known, controller, limit, settling),
        findings=tuple(findings),
        r2=r2,
        velocity_error=error,
        timescale=timescale,
        delay=delay,
        position_delay=place,
        window=window,
        limit=limit,
        tests=tuple(tests_in(runs)),
        shown=shown,
    )


def _feedback(
    gains: Mapping[str, float | None],
    controller: str,
    limit: float,
    settling: tuple[float, float, str] | None,
) -> dict[str, Feedback]:
    kV, kA = gains["kV"], gains["kA"]
    if kV is None or kA is None or kV < 0 or kA <= 0:
        return {}
    found = {
        "velocity": velocity_gains(kV, kA, preset=controller),
        "position": position_gains(kV, kA, preset=controller),
    }
    if settling is not None:
        time, step, loop = settling
        kS, kG = max(gains["kS"] or 0.0, 0.0), abs(gains.get("kG") or 0.0)
        found["settling"] = settle(
            kV, kA, time=time, step=step, limit=limit - kG, kS=kS, loop=loop, preset=controller
        )
    return found


def _about_motion(
    segments: Sequence[Segment], gains: Mapping[str, Gain], delay: float, window: float | None
) -> list[Finding]:
    found = []
    if all(s.run.slow for s in segments):
        text = (
            f"from ramps alone a delay looks like friction: it was taken to be 0 +- {1e3 * DELAY_ASSUMED:.0f}"
            " ms, and kS is as wide as that makes it."
        )
        found.append(
            Finding(
                code="delay_assumed",
                text=text,
                remedy="add a dynamic test, whose step shows the delay",
                numbers={"error": DELAY_ASSUMED},
            )
        )
    if delay > 0.03:
        text = f"measured velocity lags {1e3 * delay:.0f} ms behind the input" + (
            f", of which a mean over {1e3 * window:.0f} ms is one half" if window else ""
        )
        remedy = (
            "nothing for the gains: it was found and removed. Shorten the sensor's filter before closing a"
            " loop on it"
        )
        found.append(Finding(code="delay", text=f"{text}.", remedy=remedy, numbers={"delay": delay}))
    kS, kG = gains["kS"].value, gains["kG"].value if "kG" in gains else 0.0
    if kS is not None and kG is not None and "offset" not in gains:
        held = [abs(s.breakaway - (kG or 0.0)) for s in segments if math.isfinite(s.breakaway) and s.run.slow]
        if held and np.median(held) > 1.5 * abs(kS) + 0.05 * max(held):
            text = (
                f"a slow test breaks away at {np.median(held):.3g}, while friction in motion is {kS:.3g}: it"
                " sticks at rest."
            )
            remedy = (
                "nothing for the gains: the start of slow tests is left out. To start from rest, add the"
                " difference"
            )
            found.append(
                Finding(
                    code="stiction", text=text, remedy=remedy, numbers={"breakaway": float(np.median(held))}
                )
            )
    return found


def _about_gains(gains: Mapping[str, Gain], mechanism: str, runs: Sequence[Trial]) -> list[Finding]:
    found = []
    for name, gain in gains.items():
        if gain.value is None:
            text = f"{name} is not determined by these tests ({', '.join(tests_in(runs))})."
            found.append(
                Finding(code="not_determined", text=text, remedy=f"add {missing_test(name, mechanism, runs)}")
            )
        elif name in ("kS", "kV", "kA") and gain.value < 0 and (gain.high is None or gain.high < 0):
            text = f"{name} is {number(gain.value)} {gain.unit}: negative, which no mechanism is."
            remedy = "check the signs of input and velocity, and which mechanism this is" + (
                "" if gain.high is not None else "; the default method is more robust"
            )
            found.append(Finding(code="negative_gain", text=text, remedy=remedy, numbers={name: gain.value}))
    return found
