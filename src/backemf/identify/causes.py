"""What the data say is wrong with the bench, the clock or the sheet: the cause by name, or the few that they
cannot tell apart.

A fit lets every stated number move within its tolerance. Where that is not enough, something is wrong, and
the question is what: each thing that one person could have got wrong is freed alone, and the one that needs
the least of everything else is named, with those that are as good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..engine.rows import DELAY
from ..findings import Finding, finding
from ..logs.log import ASKED, Log, Signal
from ..physics.actuator import Actuator
from ..physics.quantity import parameters
from .bench_numbers import LATENCY
from .optimize import levenberg_marquardt
from .parameters import FreeParameters, Parameter, free
from .problem import Problem, problem
from .uncertainty import bounded_normal, inverse

FAR = 3.0
"""Tolerances that a stated number may move before it is asked why."""
LATE = 1.0
"""Samples that a command may count late or early before it is said."""
FREED = 40.0
"""What a tolerance is multiplied by to set its number free."""
WORTH = 2.0
"""Half the chi^2 that freeing a cause must save to be named: two standard errors. Benches and
units within one tolerance of everything stay below it."""
WORTH_IF_IT_MISSES = 25.0
"""The same where errors are larger than the noise, so that something else is missing too."""
ALIKE = 3.0
"""Difference up to which two causes cannot be told apart: odds of 20 to 1."""
SLIDING: dict[str, Any] = {"tolerance": 1e-6, "damping": 1e-6, "still": (DELAY,)}
"""Of the search along the valleys in which causes look alike."""
MOST = 3
"""Causes that are named at most."""
DRIFTS = (0.005, 0.01, 0.02, 0.04)
"""Shares by which one of two clocks may run faster."""
DRIFT_WORTH = 0.15
"""Share of the misfit that another clock must take away."""


SHORT = 0.9
"""Share of what was promised that a cause saves at least, or its search may have been caught on the way."""
FOUND_MORE = 1.5
"""Times what was promised that a cause may save at most, or it has found more than itself."""
FELT = 0.05
"""Share of the heaviest load from which on an arm that nobody weighed is named."""
GAIN, EXACT = "drive.firmware_gain", 1e-3
"""A number that nobody allowed to move, and how well it is stated then."""


class Cause(NamedTuple):
    """One thing that somebody may have got wrong."""

    code: str
    words: str
    paths: tuple[str, ...]
    remedy: str


CAUSES = (
    Cause(
        "wrong_mass", "mass", ("bench.mass",), "weigh it again, and say how well: mass='0.300 +- 0.001 kg'"
    ),
    Cause(
        "wrong_length",
        "length",
        ("bench.length",),
        "measure from the axis to the middle of the weight again: length='100 +- 0.5 mm'",
    ),
    Cause("wrong_arm_mass", "arm mass", ("bench.arm_mass",), "weigh the arm alone"),
    Cause("wrong_inertia", "inertia of the load", ("bench.inertia",), "work it out again from its drawing"),
    Cause("wrong_radius", "radius of the drum", ("bench.drum_radius",), "measure it under the rope"),
    Cause("wrong_stiffness", "stiffness of the spring", ("bench.stiffness",), "measure it with a weight"),
    Cause(
        "wrong_supply",
        "supply voltage",
        ("bench.supply_factor", "drive.supply"),
        "measure it at the motor while it moves, or record it",
    ),
    Cause(
        "wrong_firmware_gain",
        "firmware's gain",
        ("drive.firmware_gain",),
        "measure the duty over the error (`backemf measure firmware-gain`), or check the register",
    ),
    Cause(
        "wrong_winding",
        "winding of the sheet",
        ("motor.resistance", "motor.torque_constant"),
        "measure its resistance, rotor locked, and its volts over speed at no load; or trust the logs for it",
    ),
    Cause("wrong_rotor_inertia", "rotor inertia of the sheet", ("motor.rotor_inertia",), "trust the logs"),
)
SCALES = {path for cause in CAUSES for path in cause.paths}


class CauseCandidate(NamedTuple):
    """A cause before it is tried."""

    promise: float
    """Half the chi^2 that freeing it would save if the errors were linear in everything."""
    step: np.ndarray
    """Where it would come to rest then, from the optimum."""
    cause: Cause
    places: Sequence[int]
    """Of its numbers."""


class CauseTrial(NamedTuple):
    """A cause set free."""

    cause: Cause
    saved: float
    """Half the chi^2 that it saves, less what its freedom costs."""
    text: str
    shift: float
    logs: tuple[str, ...] = ()
    """Those that it is wrong in, where it is right in others."""
    x: Any = None
    """Where it came to rest."""


def causes(p: Problem, x: np.ndarray, robust: float) -> Iterator[Finding]:
    """What is wrong with the bench, the latency or the sheet.

    Args:
        p: a problem that lets them move within their tolerances.
        x: its optimum.
        robust: weighted error beyond which one counts less; infinite where noise explains all.

    Yields:
        Angles and latency, and one finding of the likeliest cause with those that look like it.
    """
    yield from _angles(p, x)
    late = list(_latency(p, x))
    yield from late
    yield from _forgotten_arm(p, x)
    if late and robust < np.inf:
        return  # what is late explains part of the rest, and nobody knows how much
    worth = WORTH if robust == np.inf and not late else WORTH_IF_IT_MISSES
    if strain(p, x) <= worth:
        return
    candidates = _candidates(p, x, robust, worth)
    if not candidates:
        return
    here = levenberg_marquardt(p, x, robust=robust, most=8, **SLIDING)
    rows = [_try_cause(p, here.x, here.cost, robust, one) for one in candidates]
    for k, (one, row) in enumerate(zip(candidates, rows, strict=True)):
        if row.saved < SHORT * one.promise:  # caught where the valley bends: from its far end too
            rows[k] = max(row, _try_cause(p, x + one.step, here.cost, robust, one), key=_saving)
    best, promised = max(rows, key=_saving), max(one.promise for one in candidates)
    if best.saved > FOUND_MORE * promised:  # it fell into a better valley, which is open to the others too
        again = [_try_cause(p, best.x, here.cost, robust, one) for one in candidates]
        rows = [max(pair, key=_saving) for pair in zip(rows, again, strict=True)]
    good = likely(rows, max(worth, _slack(p, here.x, robust)))
    if good:  # where they look alike, what a user weighed and measured comes before what a maker printed
        yield _name_cause(sorted(good, key=lambda row: CAUSES.index(row.cause)))


def _saving(trial: CauseTrial) -> float:
    return trial.saved


def _candidates(p: Problem, x: np.ndarray, robust: float, worth: float) -> list[CauseCandidate]:
    """Causes that promise something."""
    A, g = bounded_normal(p, x, robust)
    H, candidates = A - p.free.precision, []
    for cause in CAUSES:
        places = [k for k, q in enumerate(p.free.parameters) if q.path in cause.paths and q.stated]
        if places:
            candidates.append(CauseCandidate(*_promise(p, x, H, g, places), cause, places))
    best = max((one.promise for one in candidates), default=0.0)
    return [one for one in candidates if one.promise > max(0.25 * worth, 0.15 * best)]


def likely(rows: Sequence[CauseTrial], worth: float) -> list[CauseTrial]:
    """Causes that are worth naming, the best first, with those that cannot be told from it."""
    rows = sorted(rows, key=lambda row: -row.saved)
    return [row for row in rows if row.saved > worth and row.saved >= rows[0].saved - ALIKE][:MOST]


def gain_parameter(actuator: Actuator) -> list[Parameter]:
    """The firmware's gain as a number that somebody stated exactly; none where the drive has none."""
    gain = actuator.parameters.get(GAIN)
    if gain is None:
        return []
    (one,) = free(actuator, [GAIN], prior={GAIN: (gain, EXACT * gain)}).parameters
    return [replace(one, beside=True)]


def strain(p: Problem, x: np.ndarray) -> float:
    """Half the chi^2 of the stated numbers that set scales: what their tolerances had to give."""
    off = np.where([q.stated and q.path in SCALES for q in p.free.parameters], x - p.free.prior()[0], 0.0)
    return 0.5 * float(off @ p.free.precision @ off)


def _widen(p: Problem, places: Sequence[int]) -> FreeParameters:
    """The free numbers, some of them freed of what was stated."""
    numbers = list(p.free.parameters)
    for k in places:
        mean, error = numbers[k].prior
        numbers[k] = replace(numbers[k], prior=(mean, FREED * error), alike=0.98 if numbers[k].alike else 0.0)
    return FreeParameters(tuple(numbers))


def _slack(p: Problem, x: np.ndarray, robust: float) -> float:
    """What a search that came to rest might still save if the errors were linear: next to nothing at an
    optimum, much where sticking makes them so rough that it got caught; then no cause is told by less."""
    A, g = bounded_normal(p, x, robust)
    pull = g + p.free.precision @ (x - p.free.prior()[0])
    low, high = p.free.bounds()
    inside = (x > low + 1e-9) & (x < high - 1e-9)
    A = A[np.ix_(inside, inside)]
    return 0.5 * float(pull[inside] @ np.linalg.solve(A, pull[inside]))


def _promise(
    p: Problem, x: np.ndarray, H: np.ndarray, g: np.ndarray, places: Sequence[int]
) -> tuple[float, np.ndarray]:
    """(half the chi^2 that freeing some numbers would save if the errors were linear in everything, the step
    that would)."""
    off, P = x - p.free.prior()[0], _widen(p, places).precision
    pull = g + P @ off
    step = -np.linalg.solve(H + P, pull)
    left = 0.5 * float(off @ P @ off + pull @ step)
    return 0.5 * float(off @ p.free.precision @ off) - left, step


def _try_cause(p: Problem, x: np.ndarray, cost: float, robust: float, one: CauseCandidate) -> CauseTrial:
    """The optimum with one cause free."""
    cause, q = one.cause, replace(p, free=_widen(p, one.places))
    end = levenberg_marquardt(q, q.free.inside(x), robust=robust, most=30, **SLIDING)
    values, numbers = q.values(end.x), [p.free.parameters[k] for k in one.places]
    wrong, logs = _wrong_ones(p, numbers, values)
    shifts = [values[one.name] / one.outward(one.prior[0]) for one in wrong]
    words = [_shift_words(one, values[one.name]) for one in wrong]
    if any(one.path == "bench.supply_factor" for one in numbers):
        words = [f"{float(np.mean(shifts)):.3g} times what was recorded"]
    text = f"{cause.words}: {', '.join(words[:4])}"
    saved = cost - end.cost - 0.5 * (len({one.path for one in numbers}) - 1)
    return CauseTrial(cause, saved, text, float(np.mean(shifts)), logs, end.x)


def _wrong_ones(
    p: Problem, numbers: Sequence[Parameter], values: Mapping[str, float]
) -> tuple[Sequence[Parameter], tuple[str, ...]]:
    """(the numbers that moved, names of their logs) where others did not; else all, and no log."""
    moved = [one for one in numbers if abs(one.inward(values[one.name]) - one.prior[0]) > FAR * one.prior[1]]
    if not moved or len(moved) == len(numbers) or not all(one.logs for one in moved):
        return numbers, ()
    names = [p.logs[k].log.name for one in moved for k in one.logs or ()]
    return moved, tuple(dict.fromkeys(names))


def _shift_words(parameter: Parameter, value: float) -> str:
    stated = parameter.outward(parameter.prior[0])
    error = parameter.slope(parameter.prior[0]) * parameter.prior[1]
    return f"{value:.4g} instead of {stated:.4g} +- {error:.2g} {parameter.unit}"


def _name_cause(good: Sequence[CauseTrial]) -> Finding:
    first, *others = good
    text = f"something stated does not fit the motion; with one thing wrong it would be the {first.text}."
    if others:
        also = "; or the ".join(row.text for row in others)
        text += f" These logs cannot tell it from: the {also}."
    remedy = first.cause.remedy
    if others:
        remedy += f". Otherwise {', or '.join(row.cause.remedy for row in others)}"
    numbers = {row.cause.code.removeprefix("wrong_"): row.shift for row in good}
    return Finding(code=first.cause.code, text=text, remedy=remedy, numbers=numbers, logs=first.logs)


def _angles(p: Problem, x: np.ndarray) -> Iterator[Finding]:
    """Arms that do not hang where position is 0."""
    values = p.values(x)
    for q in p.free.parameters:
        if q.path == "bench.hanging" and q.beside and q.stated:
            off = values[q.name] - q.prior[0]
            if abs(off) > FAR * q.prior[1]:
                whose = f" ({q.group})" if q.group else ""
                text = (
                    f"the arm hangs at {values[q.name]:.3g} rad{whose}, {abs(off) / q.prior[1]:.2g}"
                    " tolerances from where it was said to; the fit allows for it."
                )
                remedy = "level the bench and set the joint's zero there, or state bench.hanging"
                yield finding("mounting_angle", text, remedy, hanging=values[q.name])


def _forgotten_arm(p: Problem, x: np.ndarray) -> Iterator[Finding]:
    """An arm that nobody weighed and that the motion feels."""
    arm = next(
        (k for k, q in enumerate(p.free.parameters) if q.path == "bench.arm_mass" and not q.stated), None
    )
    if arm is None or not p.free.parameters[arm].beside:
        return
    A, _ = bounded_normal(p, x, np.inf)
    T = p.free.slopes(x)
    error = float(np.sqrt(max((T @ inverse(A) @ T.T)[arm, arm], 0.0)))
    mass = p.values(x)[p.free.names[arm]]
    heaviest = max(parameters(log.bench)["mass"] for log in p.logs)
    if mass > FAR * error and mass > FELT * heaviest:
        text = f"the arm weighs about {mass:.2g} +- {error:.1g} kg by the motion, and nobody stated it."
        yield finding("wrong_arm_mass", text, "weigh the arm alone, and state it: arm_mass=", arm_mass=mass)


def _latency(p: Problem, x: np.ndarray) -> Iterator[Finding]:
    """A command that counts later or earlier than its time stamp."""
    for q, v in zip(p.free.parameters, x, strict=True):
        if q.path == DELAY and q.beside and abs(v - q.prior[0]) > LATE * q.prior[1] / LATENCY:
            late = float(v) - q.prior[0]
            when = "after" if late > 0 else "before"
            text = (
                f"the motion answers about {1e3 * abs(late):.2g} ms {when} the command's time stamp, beyond"
                " what the model says: a latency of the command, or a clock of the position that is "
                f"{'late' if late > 0 else 'early'}."
            )
            remedy = "let the fit find the delay (delay=True, or --free drive.delay)"
            if late < 0:
                remedy = "put command and position on one clock: no answer comes before its command"
            yield finding("delay", text, remedy, delay=late)


def move_commands(log: Log, shift: float = 0.0, drift: float = 0.0) -> Log:
    """The log with everything that was asked coming later, on a clock that runs slower.

    Args:
        log: as it was recorded.
        shift: by which commands come later [s].
        drift: share by which their clock runs slower.

    Returns:
        The log, its answers as they were.
    """
    t0 = log.time[0]
    times = t0 + (log.time - shift - t0) / (1.0 + drift)
    late = {n: Signal(time=log.time, values=s.hold_at(times)) for n, s in log.signals.items() if n in ASKED}
    for n in log.commands:  # known between the samples too
        s = log.signals[n]
        late[n] = Signal(time=t0 + (s.time - t0) * (1.0 + drift) + shift, values=s.values)
    return replace(log, signals={**log.signals, **late})


def drifting(p: Problem, x: np.ndarray, robust: float, logs: Sequence[Log]) -> Iterator[Finding]:
    """A command on a clock of its own that runs at another rate; the latency is refitted meanwhile.

    Args:
        p: a problem over these logs.
        x: its optimum.
        robust: weighted error beyond which one counts less.
        logs: the recordings, from which commands are moved.

    Yields:
        One finding, or none.
    """
    if not p.actuator.drive.target:
        return
    n = max(1, p.substeps // 2)

    def misfit(drift: float, x: np.ndarray) -> tuple[float, np.ndarray]:
        late = [move_commands(log, drift=drift) for log in logs]
        q = problem(p.actuator, late, p.free, outputs=p.outputs, substeps=p.substeps)
        q.sigma = p.sigma
        end = levenberg_marquardt(q, x, robust=robust, substeps=n, bandwidth=6.0, most=8, tolerance=1e-3)
        return end.data_cost, end.x

    nominal, there = misfit(0.0, x)
    if nominal < 0.6 * p.n_measured * float(np.mean((p.sigma_noise / p.sigma) ** 2)):
        return  # noise explains it already
    sides = [(misfit(sign * DRIFTS[1], there)[0], sign) for sign in (1.0, -1.0)]
    cost, sign = min(sides)
    if cost > (1 - DRIFT_WORTH) * nominal:
        return
    best = min((misfit(sign * d, there)[0], sign * d) for d in DRIFTS)
    text = (
        "the motion fits much better with the command on a clock that differs by about"
        f" {100 * best[1]:.2g} %: one of two clocks is late and falls further behind."
    )
    remedy = "record command and answer on one clock, or correct one of the time axes"
    yield finding("clock_drift", text, remedy, drift=best[1])
