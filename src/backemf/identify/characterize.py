"""`characterize`: from a few tests of a mechanism to kS, kV, kA and kG with intervals, and the feedback gains that follow.

The default simulates the mechanism and compares (see mechanism_fit); method="sysid" is the classic regression, step by step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding
from ..tables import number, table
from .feedback import Feedback, position_gains, velocity_gains
from .mechanism_findings import mended, missing_test, recording_findings
from .regression import sysid
from .runs import CONTROLS, MECHANISMS, Run, runs_from, tests_in
from .segments import Segment, segments_of

UNITS = {
    "radians": (1.0, "rad"),
    "degrees": (math.pi / 180, "deg"),
    "rotations": (2 * math.pi, "rot"),
    "meters": (1.0, "m"),
    "feet": (0.3048, "ft"),
    "inches": (0.0254, "in"),
}
"""Size in SI, and how it is written. Recordings are in SI; this is the unit of the gains."""
METHODS = ("simulation", "sysid")
Z = 1.959964
"""95 % of a normal distribution lie within this many standard errors."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """One gain with its 95 % interval; no value where the tests do not determine it."""

    value: float | None
    low: float | None
    high: float | None
    unit: str

    @property
    def determined(self) -> bool:
        return self.value is not None

    def to_dict(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "unit": self.unit}

    def __str__(self) -> str:
        if self.value is None:
            return "not determined by these tests"
        interval = "" if self.low is None or self.high is None else f" ({number(self.low)} to {number(self.high)})"
        return f"{number(self.value)}{interval} {self.unit}"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A segment of a run with its prediction, for plots."""

    segment: Segment
    velocity: np.ndarray
    position: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Characterization:
    """Gains of a mechanism, how sure they are, and what follows from them."""

    mechanism: str
    control: str
    method: str
    units: str
    gains: Mapping[str, Gain]
    feedback: Mapping[str, Feedback]
    findings: tuple[Finding, ...]
    r2: float
    """Of velocity on stretches that were held out; the adjusted one of acceleration for method="sysid"."""
    velocity_error: float
    """Root mean square of simulated less measured velocity, in the chosen unit per second."""
    timescale: float
    """kA / kV: how fast the mechanism follows its input [s]."""
    delay: float
    """From input to measured velocity [s]."""
    position_delay: float
    window: float | None
    """Over which the reported velocity is a mean [s]; None: it is not."""
    tests: tuple[str, ...]
    shown: tuple[Shown, ...] = field(default=(), repr=False, compare=False)

    def __getitem__(self, name: str) -> float:
        """A gain's value."""
        if name not in self.gains:
            raise UnknownName("gain", name, self.gains)
        value = self.gains[name].value
        if value is None:
            text = next((f.text for f in self.findings if f.code == "not_determined" and name in f.text), f"{name} is not determined by these tests")
            raise MissingValue(text)
        return value

    def to_dict(self) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "control": self.control,
            "method": self.method,
            "units": self.units,
            "tests": list(self.tests),
            "gains": {name: gain.to_dict() for name, gain in self.gains.items()},
            "feedback": {name: f.to_dict() for name, f in self.feedback.items()},
            "findings": [{"code": f.code, "text": f.text, "remedy": f.remedy, "numbers": dict(f.numbers)} for f in self.findings],
            "r2": _finite(self.r2),
            "velocity_error": _finite(self.velocity_error),
            "timescale": _finite(self.timescale),
            "delay": _finite(self.delay),
        }

    def __str__(self) -> str:
        rows = [
            (name, "not determined" if g.value is None else g.value, *("-" if x is None else x for x in (g.low, g.high)), g.unit)
            for name, g in self.gains.items()
        ]
        lines = [
            f"{self.mechanism}, {self.control} control, from {', '.join(self.tests)}",
            "",
            table(rows, ("gain", "value", "low 95%", "high 95%", "unit")),
            "",
        ]
        facts = [
            ("timescale", self.timescale, "s"),
            ("delay", self.delay, "s"),
            ("R^2", self.r2, ""),
            ("velocity error", self.velocity_error, f"{_short(self.units)}/s"),
        ]
        lines += ["; ".join(f"{name} {number(value)}{' ' if unit else ''}{unit}" for name, value, unit in facts if math.isfinite(value))]
        for f in self.feedback.values():
            lines.append(f"{f.loop} feedback: kP {number(f.kP)}" + (f", kD {number(f.kD)}" if f.loop == "position" else "") + f" ({f.design})")
        lines += [f"- {f.code}: {f.text}\n  {f.remedy}" for f in self.findings]
        return "\n".join(lines)


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _short(units: str) -> str:
    return UNITS[units][1]


def characterize(
    logs_or_tests: Any,
    mechanism: str = "simple",
    control: str = "voltage",
    method: str | None = None,
    units: str | None = None,
    *,
    preset: str = "wpilib",
    median: int = 1,
    threshold: float | None = None,
) -> Characterization:
    """Characterise a mechanism from its tests: logs, runs, or rows [t, input, position, velocity] by test, all in SI.

    `mechanism` is simple, elevator, arm or drivetrain; `units` is the unit of the gains; `median` and `threshold` are settings of
    the classic regression and only used with method="sysid".
    """
    for kind, given, valid in (("mechanism", mechanism, MECHANISMS), ("control", control, CONTROLS), ("method", method or "simulation", METHODS)):
        if given not in valid:
            raise UnknownName(kind, given, valid)
    runs = runs_from(logs_or_tests, control)
    if units is None:
        units = "meters" if mechanism in ("elevator", "drivetrain") or any(r.motion == "linear" for r in runs) else "radians"
    if units not in UNITS:
        raise UnknownName("unit", units, UNITS)
    if method != "sysid" and (median != 1 or threshold is not None):
        raise InvalidValue("median and threshold are settings of the classic regression; give method='sysid' with them")
    linear = [r for r in runs if r.part != "angular" and not r.part.endswith("turning")]
    if mechanism != "drivetrain":
        return _one(runs, mechanism, control, method, units, preset, median, threshold)
    angular = [r for r in runs if r.part == "angular"]
    if not linear:
        linear, angular = angular, []
    found = _one(linear, mechanism, control, method, units, preset, median, threshold)
    if not angular:
        return found
    return _with_turning(found, _one(angular, "simple", control, method, "radians", preset, median, threshold), runs)


def _with_turning(straight: Characterization, turning: Characterization, runs: Sequence[Run]) -> Characterization:
    """Both motions of a drivetrain in one result, with the track width."""
    gains = {**straight.gains, **{f"{name}_angular": gain for name, gain in turning.gains.items()}}
    width = track_width(runs)
    if width is not None:
        size, short = UNITS[straight.units]
        value, error = width
        gains["track_width"] = Gain(value=value / size, low=(value - Z * error) / size, high=(value + Z * error) / size, unit=short)
    said = [Finding(code=f.code, text=f"turning: {f.text}", remedy=f.remedy, numbers=f.numbers) for f in turning.findings]
    return Characterization(**{**vars(straight), "gains": gains, "findings": (*straight.findings, *said), "shown": (*straight.shown, *turning.shown)})


def track_width(runs: Sequence[Run]) -> tuple[float, float] | None:
    """(width, error) between the wheels [m]: what both sides rolled, against each other, over the angle turned."""
    found = []
    for run in runs:
        if run.part != "angular" or len(run.position) < 2:
            continue
        sides = [r for r in runs if r.part in ("left turning", "right turning") and r.test == run.test and abs(r.time[0] - run.time[0]) < 1e-3]
        turned = abs(float(run.position[-1] - run.position[0]))
        if len(sides) == 2 and turned > 0:
            found.append(sum(abs(float(s.position[-1] - s.position[0])) for s in sides) / turned)
    if not found:
        return None
    spread = float(np.std(found, ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else 0.05 * found[0]
    return float(np.mean(found)), spread


def _one(
    runs: Sequence[Run], mechanism: str, control: str, method: str | None, units: str, preset: str, median: int, threshold: float | None
) -> Characterization:
    size, short = UNITS[units]
    effort = "V" if control == "voltage" else "A"
    kind = "simple" if mechanism == "drivetrain" else mechanism
    unit = {"kS": effort, "kV": f"{effort}/({short}/s)", "kA": f"{effort}/({short}/s^2)", "kG": effort, "offset": "rad"}
    gains: dict[str, Gain] = {}
    findings: list[Finding] = []
    shown: tuple[Shown, ...] = ()
    if method == "sysid":
        classic = sysid(runs, kind, median=median, threshold=threshold)
        for name, value in classic.gains.items():
            scale = size if name in ("kV", "kA") else 1.0
            gains[name] = Gain(value=value * scale, low=None, high=None, unit=unit[name])
        r2, error, delay, place, window = classic.r2, math.nan, classic.delay, math.nan, None
    else:
        from .mechanism_fit import fit_mechanism
        from .mechanism_gains import gains_of

        runs, findings = mended(runs)
        segments, idle = segments_of(runs)
        findings += recording_findings(runs, segments, idle, kind)
        if kind == "arm" and not any(len(s.position) for s in segments):
            raise MissingValue("an arm needs its position: gravity depends on the angle, and these runs have none")
        if not segments:
            raise MissingValue(f"nothing moves in {', '.join(r.name or r.test for r in runs)}; {findings[-1].remedy if findings else 'record a longer test'}")
        fit = fit_mechanism(segments, kind)
        for name, (value, low, high) in gains_of(fit, segments, kind).items():
            scale = size if name in ("kV", "kA") else 1.0
            many = [None if value is None or x is None else x * scale for x in (value, low, high)]
            gains[name] = Gain(value=many[0], low=many[1], high=many[2], unit=unit[name])
        shown = tuple(Shown(segment=s, velocity=v, position=p) for s, (v, p) in zip(segments, fit.predicted, strict=True))
        errors = np.concatenate([s.segment.velocity - s.velocity for s in shown])
        r2, error = fit.r2, float(np.sqrt(np.mean(errors**2))) / size
        delay, window = fit.velocity_delay + 0.5 * (fit.window or 0.0), fit.window
        place = math.nan if fit.position_delay is None else fit.position_delay
        findings += _about_motion(segments, gains, delay, fit.window)
    findings += _about_gains(gains, kind, runs)
    known = {name: g.value for name, g in gains.items()}
    kV, kA = known["kV"], known["kA"]
    timescale = kA / kV if kA is not None and kV else math.nan
    return Characterization(
        mechanism=mechanism,
        control=control,
        method=method or "simulation",
        units=units,
        gains=gains,
        feedback=_feedback(kV, kA, preset),
        findings=tuple(findings),
        r2=r2,
        velocity_error=error,
        timescale=timescale,
        delay=delay,
        position_delay=place,
        window=window,
        tests=tuple(tests_in(runs)),
        shown=shown,
    )


def _feedback(kV: float | None, kA: float | None, preset: str) -> dict[str, Feedback]:
    if kV is None or kA is None or kV < 0 or kA <= 0:
        return {}
    return {"velocity": velocity_gains(kV, kA, preset=preset), "position": position_gains(kV, kA, preset=preset)}


def _about_motion(segments: Sequence[Segment], gains: Mapping[str, Gain], delay: float, window: float | None) -> list[Finding]:
    found = []
    if delay > 0.03:
        text = f"measured velocity lags {1e3 * delay:.0f} ms behind the input" + (f", of which a mean over {1e3 * window:.0f} ms is one half" if window else "")
        remedy = "nothing for the gains: it was found and removed. Shorten the sensor's filter before closing a loop on it"
        found.append(Finding(code="delay", text=f"{text}.", remedy=remedy, numbers={"delay": delay}))
    kS, kG = gains["kS"].value, gains["kG"].value if "kG" in gains else 0.0
    if kS is not None and kG is not None and "offset" not in gains:
        held = [abs(s.breakaway - (kG or 0.0)) for s in segments if math.isfinite(s.breakaway) and s.run.slow]
        if held and np.median(held) > 1.5 * abs(kS) + 0.05 * max(held):
            text = f"a slow test breaks away at {np.median(held):.3g}, while friction in motion is {kS:.3g}: it sticks at rest."
            remedy = "nothing for the gains: the start of slow tests is left out. To start from rest, add the difference"
            found.append(Finding(code="stiction", text=text, remedy=remedy, numbers={"breakaway": float(np.median(held))}))
    return found


def _about_gains(gains: Mapping[str, Gain], mechanism: str, runs: Sequence[Run]) -> list[Finding]:
    found = []
    for name, gain in gains.items():
        if gain.value is None:
            text = f"{name} is not determined by these tests ({', '.join(tests_in(runs))})."
            found.append(Finding(code="not_determined", text=text, remedy=f"add {missing_test(name, mechanism, runs)}"))
        elif name in ("kS", "kV", "kA") and gain.value < 0 and (gain.high is None or gain.high < 0):
            text = f"{name} is {number(gain.value)} {gain.unit}: negative, which no mechanism is."
            remedy = "check the signs of input and velocity, and which mechanism this is" + (
                "" if gain.high is not None else "; the default method is more robust"
            )
            found.append(Finding(code="negative_gain", text=text, remedy=remedy, numbers={name: gain.value}))
    return found
