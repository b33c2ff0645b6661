"""What is wrong with the recordings of a mechanism, or worth knowing:
signs, units, motion, stops, supply; each with its remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..findings import Finding
from .segments import Segment
from .trials import Trial, tests_in

_FACTORS = {
    2 * math.pi: "radians against rotations",
    360.0: "degrees against rotations",
    180 / math.pi: "degrees against radians",
    60.0: "one is per minute, the other per second",
    60 / (2 * math.pi): "radians per second against rotations per minute",
    1000.0: "milli",
    0.3048: "feet against metres",
    0.0254: "inches against metres",
    100.0: "centi",
    10.0: "one is per 100 ms",
}
_BROWN_OUT = 6.8
"""An FRC controller cuts its outputs below this supply [V]."""


def mended(runs: Sequence[Trial]) -> tuple[list[Trial], list[Finding]]:
    """Runs with signs that agree and positions in the unit of their velocities,
    and what had to be changed."""
    found: list[Finding] = []
    runs, wrong = list(runs), []
    for run in runs:
        mean = float(np.mean(run.input))
        if mean * (1 if run.test.endswith("forward") else -1) < 0 and abs(mean) > 0.05 * float(
            np.max(np.abs(run.input))
        ):
            wrong.append(run.test)
    if wrong:
        text = f"{', '.join(wrong)}: the input has the other sign than the test's name says."
        found.append(
            Finding(
                code="test_direction",
                text=text,
                remedy="nothing for the gains; check which test was run, or the sign of the input",
            )
        )
    power = sum(float(np.sum(_held(r) * r.velocity)) for r in runs)
    size = math.sqrt(
        sum(float(np.sum(_held(r) ** 2)) for r in runs) * sum(float(np.sum(r.velocity**2)) for r in runs)
    )
    if size > 0 and power < -0.3 * size:
        text = (
            "a positive input gives a negative velocity: one of them is inverted. The gains below are those"
            " with velocity and position turned round."
        )
        found.append(
            Finding(
                code="inverted",
                text=text,
                remedy="invert the motor or the encoder in the robot's program, then record again",
            )
        )
        runs = [replace(r, velocity=-r.velocity, position=-r.position) for r in runs]
    ratios = [ratio for r in runs for ratio in [_position_ratio(r)] if ratio is not None]
    if ratios:
        ratio = float(np.median(ratios))
        if ratio < 0:
            text = (
                "position falls while velocity is positive: one of them is inverted. Position was turned"
                " round."
            )
            found.append(
                Finding(
                    code="position_inverted",
                    text=text,
                    remedy="invert position and velocity together, in the encoder's settings",
                )
            )
        if abs(math.log(abs(ratio))) > 0.15:
            near = min(
                _FACTORS, key=lambda f: min(abs(math.log(abs(ratio) / f)), abs(math.log(abs(ratio) * f)))
            )
            close = min(abs(math.log(abs(ratio) / near)), abs(math.log(abs(ratio) * near))) < 0.1
            why = f", as {_FACTORS[near]} would give" if close else ""
            text = (
                f"position changes {abs(ratio):.4g} times as much as velocity says{why}. Gains are in the"
                " unit of velocity; position was scaled to it."
            )
            remedy = "give position and velocity the same conversion factor (velocity per second)"
            found.append(Finding(code="units_disagree", text=text, remedy=remedy, numbers={"ratio": ratio}))
        if ratio < 0 or abs(math.log(abs(ratio))) > 0.15:
            runs = [replace(r, position=r.position / ratio) for r in runs]
    return runs, found


def _held(run: Trial) -> np.ndarray:
    return run.input[
        np.clip(np.searchsorted(run.time, run.velocity_time, side="right") - 1, 0, len(run.input) - 1)
    ]


def _position_ratio(run: Trial) -> float | None:
    """Change of position over the integral of velocity; None where there is too little of either."""
    t, v = run.velocity_time, run.velocity
    if len(run.position) < 10 or len(v) < 10:
        return None
    way = float(np.sum(0.5 * (v[1:] + v[:-1]) * np.diff(t)))
    moved = float(
        np.interp(t[-1], run.position_time, run.position) - np.interp(t[0], run.position_time, run.position)
    )
    noise = 3 * float(np.std(np.diff(v, 2))) * math.sqrt(len(v)) * float(np.median(np.diff(t)))
    if abs(way) < max(noise, 0.3 * float(np.sum(np.abs(0.5 * (v[1:] + v[:-1])) * np.diff(t)))) or moved == 0:
        return None
    return moved / way


def recording_findings(
    runs: Sequence[Trial], segments: Sequence[Segment], idle: Sequence[Trial], mechanism: str
) -> list[Finding]:
    """What the recordings show before any gain is known."""
    found: list[Finding] = []
    if idle:
        names = ", ".join(run.name or run.test for run in idle)
        text = (
            f"{names}: too little motion to use; the input reached"
            f" {max(float(np.max(np.abs(r.input))) for r in idle):.3g}."
        )
        found.append(
            Finding(
                code="too_little_motion",
                text=text,
                remedy=(
                    "let the ramp run longer or steeper, and check that the motor is enabled and the encoder"
                    " is read"
                ),
            )
        )
    for s in segments:
        name = s.run.name or s.run.test
        if math.isfinite(s.stopped):
            text = (
                f"{name}: the mechanism ran into a stop at {s.stopped - s.run.time[0]:.3g} s while it was"
                " driven; what follows is left out."
            )
            found.append(
                Finding(
                    code="hard_stop",
                    text=text,
                    remedy="end the test before the end of travel",
                    numbers={"time": s.stopped},
                )
            )
        length = float(s.velocity_time[-1] - s.velocity_time[0])
        if length < 0.3 or len(s.velocity) < 30:
            text = f"{name}: only {length:.2g} s of motion in {len(s.velocity)} samples."
            found.append(
                Finding(
                    code="too_short",
                    text=text,
                    remedy="start further from the stop, ramp more slowly, or record faster",
                )
            )
    stale = [s for s in segments if s.stale > 0.3]
    if stale:
        share = 100 * float(np.mean([s.stale for s in stale]))
        text = (
            f"{share:.0f} % of the samples repeat the one before: the sensor is read more often than it"
            " answers. Repeats are left out."
        )
        found.append(
            Finding(
                code="repeated_samples",
                text=text,
                remedy="raise the sensor's frame rate (10 ms or less) for sharper gains",
                numbers={"share": share},
            )
        )
    found += _supply(runs)
    if mechanism == "arm":
        reach = max((float(np.ptp(s.position)) for s in segments if len(s.position)), default=0.0)
        if reach > 40:
            text = f"the arm travels {reach:.3g} rad, {reach / (2 * math.pi):.2g} turns."
            found.append(
                Finding(
                    code="units_suspect",
                    text=text,
                    remedy="check the unit of position: were degrees or rotations read as radians?",
                    numbers={"travel": reach},
                )
            )
        if not any(len(s.position) for s in segments):
            found.append(
                Finding(
                    code="position_missing",
                    text="there is no position, so that the angle of gravity is unknown.",
                    remedy="record position too",
                )
            )
    return found


def _supply(runs: Sequence[Trial]) -> list[Finding]:
    low = [(r, v) for r in runs if len(r.supply) and (v := float(np.min(r.supply))) < _BROWN_OUT]
    if low:
        run, volts = min(low, key=lambda x: x[1])
        text = (
            f"{run.name or run.test}: the supply fell to {volts:.3g} V, where controllers cut their outputs."
        )
        return [
            Finding(
                code="brown_out",
                text=text,
                remedy="charge the battery, or use a smaller step",
                numbers={"supply": volts},
            )
        ]
    for run in runs:
        if run.slow:
            continue
        u = np.abs(run.input)
        on = np.flatnonzero(u > 0.5 * np.max(u))
        if len(on) < 10:
            continue
        inner = u[on[0] + 1 : on[-1]]
        usual = float(np.median(inner))
        least = float(np.min(inner))
        if least < 0.85 * usual:
            text = (
                f"{run.name or run.test}: the input sagged from {usual:.3g} to {least:.3g} during the step,"
                " as a supply that gives way does."
            )
            remedy = (
                "charge the battery or use a smaller step; and log the voltage that was applied, not the one"
                " asked for"
            )
            return [
                Finding(code="brown_out", text=text, remedy=remedy, numbers={"usual": usual, "least": least})
            ]
    return []


def missing_test(gain: str, mechanism: str, runs: Sequence[Trial]) -> str:
    """The test that would determine a gain, in words."""
    tests = tests_in(runs)
    slow = [t for t in tests if t.startswith("quasistatic")]
    fast = [t for t in tests if t.startswith("dynamic")]
    ways = {t.rpartition("-")[2] for t in tests}
    other = "reverse" if ways == {"forward"} else "forward"
    if not slow:
        return f"quasistatic-{other if len(ways) == 1 and mechanism == 'elevator' else 'forward'}"
    if gain in ("kS", "kG", "offset") and len(ways) == 1:
        return f"quasistatic-{other}"
    if not fast or mechanism == "arm":
        return f"dynamic-{'forward' if 'dynamic-forward' not in tests else 'reverse'}" + (
            " over a wide range of angles" if mechanism == "arm" else ""
        )
    return "a longer quasistatic test, recorded with less noise"
