"""What is wrong with the recordings of a mechanism or with its gains, or worth knowing: signs, units, motion,
stops, supply, and what the fit shows; each with its remedy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...findings import Finding, finding
from ...tables import interval, number
from .characterization import FeedforwardGain
from .gain_fit import UNSURE, MechanismFit, slow_ways
from .gain_intervals import Interval
from .mechanism import motion
from .mechanism_model import DELAY_ASSUMED
from .trials import TESTS, Segment, Trial, average_neighbours, input_before, moving, tests_in

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
STICKS = 0.3
"""Friction at rest that exceeds that in motion by more than this share of it is a finding."""
NOISY = 3.0
"""Noise may hide a motion until it is this many of its scatters above what counts as motion."""
_BROWN_OUT = 6.8
"""An FRC controller cuts its outputs below this supply [V]."""


def mend_runs(runs: Sequence[Trial]) -> tuple[list[Trial], list[Finding]]:
    """Runs with signs that agree and positions in the unit of their velocities,
    and what had to be changed."""
    runs, findings = _turn_alike(runs)
    findings += _direction(runs)
    if _against(runs):
        text = (
            "a positive input gives a negative velocity: one of them is inverted. The gains below are those"
            " with velocity and position turned round."
        )
        remedy = "invert the motor or the encoder in the robot's program, then record again"
        findings.append(finding("inverted", text, remedy))
        runs = [replace(r, velocity=-r.velocity, position=-r.position) for r in runs]
    ratios = [ratio for r in runs if (ratio := _position_ratio(r)) is not None]
    if not ratios:
        return runs, findings
    ratio = float(np.median(ratios))
    off = abs(math.log(abs(ratio))) > 0.15
    if ratio < 0:
        text = (
            "position falls while velocity is positive: one of them is inverted. Position was turned round."
        )
        remedy = "invert position and velocity together, in the encoder's settings"
        findings.append(finding("position_inverted", text, remedy))
    if off:
        text = (
            f"position changes {abs(ratio):.4g} times as much as velocity says{_why(abs(ratio))}. Gains are"
            " in the unit of velocity; position was scaled to it."
        )
        remedy = "give position and velocity the same conversion factor (velocity per second)"
        findings.append(finding("units_disagree", text, remedy, ratio=ratio))
    if ratio < 0 or off:
        runs = [replace(r, position=r.position / ratio) for r in runs]
    return runs, findings


def _turn_alike(runs: Sequence[Trial]) -> tuple[list[Trial], list[Finding]]:
    """(runs of all motors of a mechanism as if they were mounted and wired alike, what had to be turned).

    A motor that is mounted the other way round has its input, velocity and position with the other sign than
    the tests say; one whose sensor is wired the other way round has its velocity and position so.
    """
    motors: dict[str, list[Trial]] = {}
    for run in runs:
        motors.setdefault(_motor_of(run), []).append(run)
    findings: list[Finding] = []
    for is_wrong, mirrored, remedy in (
        (_all_backwards, True, "nothing for the gains, if it is mounted that way"),
        (_against, False, "invert its sensor in the robot's program, then record again"),
    ):
        names = [name for name, mine in motors.items() if len(mine) > 1 and is_wrong(mine)]
        if not 0 < len(names) < len(motors):
            continue  # all alike: there is no other to tell which is right; one test may be misnamed
        what = "input, velocity and position" if mirrored else "velocity and position"
        whose = f"of {' and '.join(names)} {what} have the other sign than those"
        text = f"{whose} of {' and '.join(n for n in motors if n not in names)}. They were turned round."
        findings.append(finding("inverted", text, remedy))
        for name in names:
            motors[name] = [_turn(run, mirrored) for run in motors[name]]
    return [run for mine in motors.values() for run in mine], findings


def _turn(run: Trial, input_too: bool) -> Trial:
    """A run with its motion the other way round, and perhaps its input."""
    way = -run.input if input_too else run.input
    return replace(run, velocity=-run.velocity, position=-run.position, input=way)


def _motor_of(run: Trial) -> str:
    """The motor that a run is of: what its name has between the test and the file."""
    words = run.name.partition(" (")[0].removesuffix(" turning").split()
    return " ".join(word for word in words if word not in TESTS)


def _against(runs: Sequence[Trial]) -> bool:
    """Whether a positive input goes with a negative velocity."""
    power = sum(float(np.sum(_held_input(r) * r.velocity)) for r in runs)
    inputs = sum(float(np.sum(_held_input(r) ** 2)) for r in runs)
    size = math.sqrt(inputs * sum(float(np.sum(r.velocity**2)) for r in runs))
    return size > 0 and power < -0.3 * size


def _backwards(run: Trial) -> bool:
    """Whether the input has the other sign than the test's name says."""
    towards = float(np.mean(run.input)) * (1 if run.test.endswith("forward") else -1)
    return towards < -0.05 * float(np.max(np.abs(run.input)))


def _all_backwards(runs: Sequence[Trial]) -> bool:
    """Whether all inputs have the other sign than the tests' names say."""
    return all(map(_backwards, runs))


def _direction(runs: Sequence[Trial]) -> Iterator[Finding]:
    """Tests whose input has the other sign than their name says."""
    mistakes = dict.fromkeys(run.test for run in runs if _backwards(run))
    if mistakes:
        text = f"{', '.join(mistakes)}: the input has the other sign than the test's name says."
        remedy = "nothing for the gains; check which test was run, or the sign of the input"
        yield finding("test_direction", text, remedy)


def _why(ratio: float) -> str:
    """The mix-up of units that gives such a ratio, in words; empty where none does."""
    off = {factor: min(abs(math.log(ratio / factor)), abs(math.log(ratio * factor))) for factor in _FACTORS}
    near = min(off, key=lambda factor: off[factor])
    return f", as {_FACTORS[near]} would give" if off[near] < 0.1 else ""


def _held_input(run: Trial) -> np.ndarray:
    """The input in force at each sample of velocity."""
    at = np.searchsorted(run.time, run.velocity_time, side="right") - 1
    return run.input[np.clip(at, 0, len(run.input) - 1)]


def _position_ratio(run: Trial) -> float | None:
    """Change of position over the integral of velocity; None where there is too little of either."""
    t, v = run.velocity_time, run.velocity
    if len(run.position) < 10 or len(v) < 10:
        return None
    ways = 0.5 * (v[1:] + v[:-1]) * np.diff(t)
    way, there_and_back = float(np.sum(ways)), float(np.sum(np.abs(ways)))
    first, last = np.interp(t[[0, -1]], run.position_time, run.position)
    noise = 3 * float(np.std(np.diff(v, 2))) * math.sqrt(len(v)) * float(np.median(np.diff(t)))
    if abs(way) < max(noise, 0.3 * there_and_back) or last == first:
        return None
    return float(last - first) / way


def recording_findings(
    runs: Sequence[Trial], segments: Sequence[Segment], idle: Sequence[Trial], mechanism: str
) -> Iterator[Finding]:
    """What the recordings show before any gain is known.

    Args:
        runs: all of them.
        segments: the parts in motion.
        idle: runs that have none.
        mechanism: simple, elevator or arm.

    Yields:
        Findings, each with its remedy.
    """
    if idle:
        reached = max(float(np.max(np.abs(r.input))) for r in idle)
        names = ", ".join(_name(run) for run in idle)
        text = f"{names}: too little motion to use; the input reached {reached:.3g}."
        remedy = (
            "let the ramp run longer or steeper, and check that the motor is enabled and the encoder is read"
        )
        yield finding("too_little_motion", text, remedy)
    for s in segments:
        if math.isfinite(s.stopped):
            text = (
                f"{_name(s.run)}: the mechanism ran into a stop at {s.stopped - s.run.time[0]:.3g} s while it"
                " was driven; what follows is left out."
            )
            yield finding("hard_stop", text, "end the test before the end of travel", time=s.stopped)
        length = float(s.velocity_time[-1] - s.velocity_time[0])
        if length < 0.3 or len(s.velocity) < 30:
            text = f"{_name(s.run)}: only {length:.2g} s of motion in {len(s.velocity)} samples."
            remedy = "start further from the stop, ramp more slowly, or record faster"
            yield finding("too_short", text, remedy)
    stale = [s.stale for s in segments if s.stale > 0.3]
    if stale:
        share = 100 * float(np.mean(stale))
        text = (
            f"{share:.0f} % of the samples repeat the one before: the sensor is read more often than it"
            " answers. Repeats are left out."
        )
        remedy = "raise the sensor's frame rate (10 ms or less) for sharper gains"
        yield finding("repeated_samples", text, remedy, share=share)
    yield from _supply(runs)
    if mechanism == "arm":
        yield from _arm(segments)


def _name(run: Trial) -> str:
    return run.name or run.test


def _arm(segments: Sequence[Segment]) -> Iterator[Finding]:
    reach = max((float(np.ptp(s.position)) for s in segments if len(s.position)), default=0.0)
    if reach > 40:
        text = f"the arm travels {reach:.3g} rad, {reach / (2 * math.pi):.2g} turns."
        remedy = "check the unit of position: were degrees or rotations read as radians?"
        yield finding("units_suspect", text, remedy, travel=reach)
    if not any(len(s.position) for s in segments):
        text = "there is no position, so that the angle of gravity is unknown."
        yield finding("position_missing", text, "record position too")


def _supply(runs: Sequence[Trial]) -> Iterator[Finding]:
    """The first sign of a supply that gives way: as it was recorded, or as the input shows it."""
    low = [(v, _name(r)) for r in runs if len(r.supply) and (v := float(np.min(r.supply))) < _BROWN_OUT]
    if low:
        volts, name = min(low)
        text = f"{name}: the supply fell to {volts:.3g} V, where controllers cut their outputs."
        yield finding("brown_out", text, "charge the battery, or use a smaller step", supply=volts)
        return
    for run in runs:
        u = np.abs(run.input)
        on = np.flatnonzero(u > 0.5 * np.max(u))
        if run.slow or len(on) < 10:
            continue
        inner = u[on[0] + 1 : on[-1]]
        usual, least = float(np.median(inner)), float(np.min(inner))
        if least < 0.85 * usual:
            text = (
                f"{_name(run)}: the input sagged from {usual:.3g} to {least:.3g} during the step, as a supply"
                " that gives way does."
            )
            remedy = (
                "charge the battery or use a smaller step; and log the voltage that was applied, not the one"
                " asked for"
            )
            yield finding("brown_out", text, remedy, usual=usual, least=least)
            return


def motion_findings(
    segments: Sequence[Segment],
    gains: Mapping[str, FeedforwardGain],
    delay: float,
    window: float | None,
    size: float,
) -> Iterator[Finding]:
    """What the simulation of the mechanism shows: delays, and a mechanism that sticks.

    Args:
        segments: what was simulated.
        gains: in the chosen unit.
        delay: of the measured velocity [s].
        window: over which it is a mean [s]; None: it is not.
        size: of the chosen unit, in SI.

    Yields:
        Findings, each with its remedy.
    """
    if all(s.run.slow for s in segments):
        text = (
            f"from ramps alone a delay looks like friction: it was taken to be 0 +- {1e3 * DELAY_ASSUMED:.0f}"
            " ms, and kS is as wide as that makes it."
        )
        remedy = "add a dynamic test, whose step shows the delay"
        yield finding("delay_assumed", text, remedy, error=DELAY_ASSUMED)
    if delay > 0.03:
        mean = f", of which a mean over {1e3 * window:.0f} ms is one half" if window else ""
        remedy = (
            "nothing for the gains: it was found and removed. Shorten the sensor's filter before closing a"
            " loop on it"
        )
        text = f"measured velocity lags {1e3 * delay:.0f} ms behind the input{mean}."
        yield finding("delay", text, remedy, delay=delay)
    yield from _stiction(segments, gains, delay, size)


def _stiction(
    segments: Sequence[Segment], gains: Mapping[str, FeedforwardGain], delay: float, size: float
) -> Iterator[Finding]:
    """A slow test that is seen to move later than dry friction alone lets it."""
    known = _determined_gains(gains)
    if known is None:
        return
    kS, kV, kA, kG = known
    of_motion = (max(kS, 0.0), max(kV, 0.0) / size, kA / size)
    late = [x for s in segments if s.run.slow and (x := _later(s, of_motion, kG, delay)) is not None]
    if not late:
        return
    excess, least = (float(np.median(values)) for values in zip(*late, strict=True))
    high = gains["kS"].high
    unsure = 0.0 if high is None else max(high - kS, 0.0)
    if least > STICKS * abs(kS) + unsure:
        text = (
            f"a slow test breaks away at {kS + excess:.3g}, while friction in motion is {kS:.3g}: it sticks"
            " at rest."
        )
        remedy = (
            "nothing for the gains: the start of slow tests is left out. To start from rest, add the"
            " difference"
        )
        yield finding("stiction", text, remedy, breakaway=kS + excess)


def _determined_gains(gains: Mapping[str, FeedforwardGain]) -> tuple[float, float, float, float] | None:
    """(kS, kV, kA, kG) with which a slow test can be simulated; None where one is not known."""
    kS, kV, kA = (gains[name].value for name in ("kS", "kV", "kA"))
    kG = gains["kG"].value if "kG" in gains else 0.0
    if kS is None or kV is None or kA is None or kG is None or "offset" in gains or kA <= 0:
        return None
    return kS, kV, kA, kG


def _later(
    s: Segment, gains: tuple[float, float, float], kG: float, delay: float
) -> tuple[float, float] | None:
    """(by how much more input than dry friction a slow test breaks away, the least that noise leaves of it):
    the same test simulated from rest and looked at in the same way, let go so late that it is seen to move
    when it was."""
    run, t, kS = s.run, s.run.velocity_time, gains[0]
    way = math.copysign(1.0, s.breakaway)
    push = way * (run.input - kG)
    if not math.isfinite(s.breakaway) or not np.any(push >= 0):
        return None

    def visible_push(held: float, clear: float) -> float:
        """The push at which it is seen to move, where it is held up to another one."""
        at = np.flatnonzero(push >= held)
        if not len(at):
            return math.inf
        v, _ = motion(
            run.time,
            run.input,
            start=(float(run.time[at[0]]), 0.0, 0.0),
            velocity_time=t,
            position_time=t[:0],
            gains=gains,
            gravity=(kG, 0.0, 0.0),
            velocity_delay=delay,
        )
        first = moving(average_neighbours(v, s.width), clear)
        if first is None:
            return math.inf
        first = min(first + s.width // 2, len(t) - 1) if s.width > 1 else first
        return way * (input_before(run, float(t[first])) - kG)

    def excess(clear: float) -> float:
        was = way * (s.breakaway - kG)
        low, high = kS, max(was, kS)
        if visible_push(low, clear) >= was:
            return 0.0
        for _ in range(12):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if visible_push(middle, clear) < was else (low, middle)
        return high - kS

    noise = s.noise_velocity / math.sqrt(s.width)
    return excess(s.clear), excess(s.clear + NOISY * noise)


def gain_findings(
    gains: Mapping[str, FeedforwardGain], mechanism: str, runs: Sequence[Trial]
) -> Iterator[Finding]:
    """Gains that are not determined, or negative.

    Args:
        gains: by name.
        mechanism: simple, elevator or arm.
        runs: what they were found from.

    Yields:
        Findings, each with its remedy.
    """
    for name, gain in gains.items():
        if gain.value is None:
            text = f"{name} is not determined by these tests ({', '.join(tests_in(runs))})."
            yield finding("not_determined", text, f"add {missing_test(name, mechanism, runs)}")
        elif name in ("kS", "kV", "kA") and gain.value < 0 and (gain.high is None or gain.high < 0):
            text = f"{name} is {number(gain.value)} {gain.unit}: negative, which no mechanism is."
            remedy = "check the signs of input and velocity, and which mechanism this is" + (
                "" if gain.high is not None else "; the default method is more robust"
            )
            yield finding("negative_gain", text, remedy, **{name: gain.value})


def poor_fit(r2: float) -> Iterator[Finding]:
    """Gains that leave more of the motion unexplained than no gains would."""
    if r2 < 0:
        text = f"R^2 is {r2:.3g}: these gains explain less of the motion than its mean does."
        remedy = "do not use them; check the unit, which entry is what, and which mechanism this is"
        yield finding("worse_than_mean", text, remedy, r2=r2)


def missing_test(gain: str, mechanism: str, runs: Sequence[Trial]) -> str:
    """The test that would determine a gain, in words."""
    tests = tests_in(runs)
    slow = [t for t in tests if t.startswith("quasistatic")]
    fast = [t for t in tests if t.startswith("dynamic")]
    ways = {t.rpartition("-")[2] for t in tests}
    other = "reverse" if ways == {"forward"} else "forward"
    one_way = len(ways) == 1
    if not slow:
        return f"quasistatic-{other if one_way and mechanism == 'elevator' else 'forward'}"
    if one_way and gain in ("kS", "kG", "offset"):
        return f"quasistatic-{other}"
    way = "forward" if "dynamic-forward" not in tests else "reverse"
    if mechanism == "arm":
        return f"dynamic-{way} over a wide range of angles"
    if not fast:
        return f"dynamic-{way}"
    return "a longer quasistatic test, recorded with less noise"


EARLY = 0.01
"""Motion that is seen earlier than this before its cause is told: half a cycle of a robot's program [s]."""
_OTHER = "a slope, a spring, a worn gear, or how the voltage is logged; or use the gains of each"
PARTS = {
    "directions": ("directions_disagree", "forward", "in reverse", f"look for what differs: {_OTHER}"),
    "sides": ("sides_disagree", "left", "right", f"look for what differs: {_OTHER}"),
    "steps": (
        "model_error",
        "by the beginning of the steps",
        "by the rest of them",
        "slip, a soft chain, a current limit or a sagging battery do this: use a smaller step, log the"
        " voltage that was applied, and trust the interval, not the digits",
    ),
}
"""Where two parts of the data disagree: the finding's code, what the parts are, and the remedy."""
CLEARLY = 0.03
"""Parts that disagree by less than this share of a gain are not worth a word."""
LEFT = 0.01
"""What the model leaves is told where it is worth more than this share of the largest input."""


def fit_findings(
    fit: MechanismFit,
    parts: Mapping[str, Mapping[str, tuple[Interval, Interval, str]]],
    gains: Mapping[str, Interval],
    segments: Sequence[Segment],
) -> Iterator[Finding]:
    """What the fit shows: motion before its cause, parts that disagree, what no gains explain.

    Args:
        fit: the estimate.
        parts: what two parts of the data say of a gain, and its unit, by how they were parted.
        gains: all gains with their intervals, in the chosen unit.
        segments: what was fitted.

    Yields:
        Findings, each with its remedy.
    """
    causes = [*_too_early(fit), *_disagreements(parts)]
    yield from causes
    effort = max(float(np.max(np.abs(s.input))) for s in segments)
    if fit.unexplained > LEFT * effort and not causes:
        text = (
            f"an input of {fit.unexplained:.2g} is left that no gains explain: the mechanism is not quite"
            " what its model says. The intervals allow for it."
        )
        remedy = "look at the residuals with --plot: slip, play, a sagging supply, or another mechanism"
        yield finding("unexplained", text, remedy, input=fit.unexplained)
    yield from _rests_on_model(fit, gains, segments)


def _rests_on_model(
    fit: MechanismFit, gains: Mapping[str, Interval], segments: Sequence[Segment]
) -> Iterator[Finding]:
    """Friction and weight that slow tests one way tell apart, with what else there is."""
    up, down = slow_ways(segments)
    if "kG" in fit.names and up != down and gains["kS"][0] is not None:
        told = "by how it moves the other way before the ramp takes it along"
        if not all(s.run.slow for s in segments):
            sure = f"the fast ones' input is taken to be sure to {100 * UNSURE:g} %"
            told = f"by comparing slow tests one way with fast ones the other way; {sure}"
        text = f"kS and kG are told apart only {told}."
        yield finding("rests_on_model", text, f"add quasistatic-{'reverse' if up else 'forward'}")


def _too_early(fit: MechanismFit) -> Iterator[Finding]:
    """Motion before its cause."""
    if fit.early > EARLY:
        text = (
            f"the motion is seen {1e3 * fit.early:.0f} ms before the input that causes it. The delay was"
            " taken to be 0, and the intervals allow for as much."
        )
        remedy = (
            "the input was stamped late, or the model is wrong at the steps' beginning: log the applied"
            " voltage and the motion in the same cycle and on one clock"
        )
        yield finding("effect_before_cause", text, remedy, lead=fit.early)


def _disagreements(parts: Mapping[str, Mapping[str, tuple[Interval, Interval, str]]]) -> Iterator[Finding]:
    """Parts of the data that give different gains."""
    for name, part in parts.items():
        code, one, other, remedy = PARTS[name]
        clear = {g: t for g, t in part.items() if _clearly(t)}
        if clear:
            said = "; ".join(
                f"{g} is {_interval_words(a)} {one} and {_interval_words(b)} {other} [{unit}]"
                for g, (a, b, unit) in clear.items()
            )
            text = f"{said}. The intervals hold both."
            numbers = {f"{g}_{k}": part[0] or 0.0 for g, t in clear.items() for k, part in enumerate(t[:2])}
            yield finding(code, text, remedy, **numbers)


def _clearly(told: tuple[Interval, Interval, str]) -> bool:
    (a, _, _), (b, _, _), _ = told
    return a is not None and b is not None and abs(a - b) > CLEARLY * max(abs(a), abs(b))


def _interval_words(given_interval: Interval) -> str:
    value, low, high = given_interval
    if value is None or low is None or high is None:
        return "unknown"
    return f"{number(value)} ({interval(low, high, 'to')})"
