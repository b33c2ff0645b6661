"""Play of gears. No slope leads to a gap, because when teeth meet hangs on it in jumps: so a fit is made
without any, and then a row of gaps is tried beside it, each held while everything else settles. The best are
let go, and one of them is believed where it explains clearly more than no play at all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..engine.rows import DELAY
from ..findings import Finding, finding
from ..physics.actuator import Actuator
from ..results.fit_result import Fit, FittedParameter
from ..statistics import NORMAL
from .fit_numbers import fitted_numbers
from .holdout import part_of
from .optimize import Minimum, levenberg_marquardt
from .parameters import ABSENT, Parameter, free, with_absent
from .problem import Problem, problem
from .uncertainty import uncertainty

PLAY, TEETH = "gearbox.backlash", "gearbox.contact_stiffness"
OF_TEETH = (PLAY, TEETH, "gearbox.contact_damping")
GAPS = (0.0, *(1e-3 * 1.5**k for k in range(12)))
"""Plays that are tried [rad or m]."""
SOFTER = (1.0, 0.1)
"""Stiffnesses of the teeth that are tried with each, relative to where they start."""
LET_GO = 3
"""Of these, how many are let go, the best first."""
BESIDE = (0.5, 0.65, 0.8, 1.0, 1.25, 1.6)
"""Plays that are tried again, relative to the one that was found first."""
LIKELY = 3.0
"""Half of chi^2 of gap and stiffness at 95 %: by so much a gap must explain more than none."""


class Play(NamedTuple):
    """What recordings tell of play."""

    problem: Problem | None
    """With teeth; None where they tell of none."""
    end: Minimum
    """Where it came to rest, with play or without."""
    bound: float
    """A play from which on the recordings would be clearly less likely than without [rad or m]."""


def rigid(actuator: Actuator) -> Actuator:
    """The same with gears that have no play."""
    if actuator.gearbox.backlash is None:
        return actuator
    return replace(actuator, gearbox=replace(actuator.gearbox, backlash=None))


def find_play(bare: Problem, end: Minimum, robust: float) -> Play:
    """Look for play beside an optimum of one joint that has none.

    Args:
        bare: its problem.
        end: the optimum.
        robust: weighted error beyond which one counts less there.

    Returns:
        What the recordings tell.
    """
    bare.begin = end.begin
    toothed = _with_teeth(bare, end.x)
    beside = {q.path for q in bare.free.parameters if q.beside and q.path != DELAY}  # the bench has no teeth
    how: dict[str, Any] = {"robust": robust, "tolerance": 1e-6, "damping": 1e-5, "most": 25, "still": beside}
    tries = _try_gaps(toothed, toothed.values(toothed.first) | bare.values(end.x), end, robust, GAPS, beside)
    best = _let_go(toothed, tries, how)
    if best is not None:  # what else was found beside it makes other gaps worth a look
        there = toothed.values(best.x)
        near = [beside * there[PLAY] for beside in BESIDE if there[PLAY] > 0.0]
        again = _let_go(toothed, _try_gaps(toothed, there, best, robust, near, beside), how)
        best = min((one for one in (best, again) if one is not None), key=lambda one: one.cost)
    bare.begin, substeps = end.begin, max(bare.substeps, toothed.substeps)
    plain = levenberg_marquardt(bare, end.x, substeps=substeps, **how)
    bare.begin = end.begin
    if best is None or not best.cost < plain.cost - LIKELY:
        return Play(None, plain, _bound(tries))
    toothed.begin = best.begin
    errors = uncertainty(toothed, best.x, robust=robust)
    row = next(r for r in fitted_numbers(toothed, best.x, errors).values() if r.path == PLAY)
    if row.value < NORMAL * row.error:
        return Play(None, plain, max(row.high, _bound(tries)))
    return Play(toothed, best, row.value)


def _with_teeth(bare: Problem, x: np.ndarray) -> Problem:
    """The same with teeth, as stiff as they are stated or as servos have them; with steps as fine as these
    need, and weighed alike."""
    actuator = bare.actuators(x)[bare.joints[0]]
    wanted = [PLAY, TEETH] if actuator.gearbox.contact_stiffness is None else [PLAY]
    actuator = with_absent(actuator, wanted)
    labels = [(log.joint, log.recording) for log in bare.logs if log.joint]
    toothed = problem(
        actuator,
        [log.log for log in bare.logs],
        bare.free.with_(free(actuator, wanted).parameters),
        outputs=bare.outputs,
        starts={bare.joints[0]: actuator},
        labels=labels,
        free_starts=bare.begin is not None,
    )
    toothed.sigma, toothed.sigma_noise = bare.sigma, bare.sigma_noise
    return toothed


def _try_gaps(
    q: Problem,
    values: dict[str, float],
    end: Minimum,
    robust: float,
    gaps: Sequence[float],
    still: Collection[str],
) -> list[tuple[float, Minimum]]:
    """(gap, where everything else settles beside it), for every gap and stiffness at which it can be
    simulated."""
    tries = []
    how: dict[str, Any] = {"robust": robust, "still": (PLAY, DELAY, *still), "damping": 1e-3}
    for softer in SOFTER if TEETH in q.free.paths else (1.0,):
        for gap in gaps:
            there = values | {PLAY: gap} | ({TEETH: softer * values[TEETH]} if TEETH in values else {})
            q.begin = end.begin
            one = levenberg_marquardt(q, q.free.to_x(there, q.fixed), most=8, tolerance=1e-3, **how)
            if math.isfinite(one.cost):
                tries.append((gap, one))
    return tries


def _let_go(q: Problem, tries: Sequence[tuple[float, Minimum]], how: dict[str, Any]) -> Minimum | None:
    """Where the best of several gaps lead; None where there are none."""
    ends = []
    for one in sorted((one for _, one in tries), key=lambda one: one.cost)[:LET_GO]:
        q.begin = one.begin
        ends.append(levenberg_marquardt(q, one.x, **how))
    return min(ends, key=lambda one: one.cost, default=None)


def _bound(tries: Sequence[tuple[float, Minimum]]) -> float:
    """The play from which on recordings without any would be clearly less likely."""
    costs = [min((one.cost for g, one in tries if g == gap), default=math.inf) for gap in GAPS]
    worse = np.array(costs) - min(costs[: len(costs) // 2])
    beyond = [k for k in range(1, len(GAPS)) if np.all(worse[k:] > LIKELY)]
    return GAPS[beyond[0]] if beyond else GAPS[-1]


def with_play(fit: Fit, play: Play, robust: float, joint: str = "") -> Fit:
    """A fit of one joint with what was found of its play: with teeth and numbers beside them, or with none
    and up to which one the recordings would not tell.

    Args:
        fit: of the joint, without.
        play: what was found.
        robust: weighted error beyond which one counted less.
        joint: its name, on a robot.

    Returns:
        The fit; without play its actuator stays, and its number is 0.
    """
    if play.problem is None:
        row = FittedParameter(
            path=PLAY,
            value=0.0,
            error=play.bound / NORMAL,
            low=0.0,
            high=play.bound,
            unit=fit.actuator.unit(PLAY),
            start=ABSENT,
            knee=1.0,
        )
        return _with_numbers(fit, {PLAY: row}, [_no_play(play.bound, joint)])
    return _with_optimum(fit, play.problem, play.end.x, robust, joint)


def _with_optimum(fit: Fit, p: Problem, x: np.ndarray, robust: float, joint: str) -> Fit:
    """A joint's fit with the numbers of another optimum of it; on a robot with its delay."""
    found = fitted_numbers(p, x, uncertainty(p, x, robust=robust))
    own = {row.path: row for row in found.values() if row.path in fit.parameters or row.path in OF_TEETH}
    values = p.values(x)
    late = {q.path: values[q.name] for q in p.free.parameters if q.path == DELAY and joint}
    bench = tuple(replace(b, value=late.get(b.path, b.value)) for b in fit.bench)
    fit = replace(fit, actuator=next(iter(p.actuators(x).values())), bench=bench)
    return _with_numbers(fit, own, [])


def _no_play(bound: float, joint: str) -> Finding:
    of = f" of {joint}" if joint else ""
    text = f"these recordings{of} tell of no play of the gears; from {1e3 * bound:.2g} mrad on they would."
    return finding("no_play", text, "record slow reversals under a small load: they tell less", value=bound)


def _with_numbers(fit: Fit, rows: dict[str, FittedParameter], findings: Sequence[Finding]) -> Fit:
    """With further numbers, whose errors hang together with none of the others'."""
    new = [path for path in rows if path not in fit.parameters]
    n = len(fit.parameters)
    correlation = np.eye(n + len(new))
    correlation[:n, :n] = fit.correlation
    findings = (*fit.findings, *findings)
    return replace(fit, parameters={**fit.parameters, **rows}, correlation=correlation, findings=findings)


def with_plays(fit: Fit, p: Problem, x: np.ndarray, robust: float) -> Fit:
    """A robot's fit with what was found of the play of each joint. Where one has play, what joints share is
    what all of them say together with it, and what is their own settles beside that.

    Args:
        fit: of all joints, without.
        p: the problem of all, on as much of the recordings as shall be looked at.
        x: its optimum.
        robust: weighted error beyond which one counted less.

    Returns:
        The fit, its joints with teeth where these explain clearly more than none.
    """
    parts, plays = dict[str, Problem](), dict[str, Play]()
    for joint in p.joints:
        part, kept = part_of(p, p.places_of(joint))
        here = Minimum(x=x[kept], cost=0.0, data_cost=0.0, n_evaluations=0, ended="", begin=part.begin)
        parts[joint], plays[joint] = part, find_play(part, here, robust)
    joints, findings = dict(fit.joints), list[Finding]()
    if any(play.problem for play in plays.values()):
        parts = {joint: plays[joint].problem or part for joint, part in parts.items()}
        plays = _agree(parts, plays, robust)
        for joint, q in parts.items():
            joints[joint] = _with_optimum(joints[joint], q, plays[joint].end.x, robust, joint)
    for joint, play in plays.items():
        if play.problem is None:
            before, joints[joint] = joints[joint], with_play(joints[joint], play, robust, joint)
            findings += joints[joint].findings[len(before.findings) :]
    found = _numbers_of(parts, joints)
    numbers = {(joint, b.path): b.value for joint, one in joints.items() for b in one.bench}
    bench = tuple(replace(b, value=numbers.get((b.group, b.path), b.value)) for b in fit.bench)
    return replace(_with_numbers(fit, found, findings), joints=joints, bench=bench)


def _numbers_of(parts: Mapping[str, Problem], joints: Mapping[str, Fit]) -> dict[str, FittedParameter]:
    """By the names that a robot has for them; what joints share as the one says it that knows it best."""
    found = dict[str, FittedParameter]()
    for joint, one in joints.items():
        common = {q.path: q.group for q in parts[joint].free.parameters if _is_common(q, joint)}
        for path, row in one.parameters.items():
            name = ".".join(word for word in (common.get(path, joint), path) if word)
            if name not in found or row.error < found[name].error:
                found[name] = row
    return found


def _is_common(q: Parameter, joint: str) -> bool:
    """Whether other joints have a number of a joint too."""
    return q.group != joint and q.path not in OF_TEETH


def _agree(parts: Mapping[str, Problem], plays: Mapping[str, Play], robust: float) -> dict[str, Play]:
    """Where every joint settles beside the numbers that they share, each of which is what their optima say of
    it, weighed by how sure they are."""
    shared = {
        joint: {q.name: k for k, q in enumerate(part.free.parameters) if _is_common(q, joint)}
        for joint, part in parts.items()
    }
    names = list(dict.fromkeys(name for places in shared.values() for name in places))
    A, b = np.zeros((len(names), len(names))), np.zeros(len(names))
    for joint, part in parts.items():
        end, places = plays[joint].end, [*shared[joint].values()]
        at, part.begin = [names.index(name) for name in shared[joint]], end.begin
        V = uncertainty(part, end.x, robust=robust).covariance[np.ix_(places, places)]
        A[np.ix_(at, at)] += (information := np.linalg.inv(V))
        b[at] += information @ end.x[places]
    common, settled = np.linalg.solve(A, b), {}
    for joint, part in parts.items():
        y, places = plays[joint].end.x.copy(), [*shared[joint].values()]
        y[places] = common[[names.index(name) for name in shared[joint]]]
        still = [part.free.parameters[k].path for k in places]
        end = levenberg_marquardt(part, y, robust=robust, tolerance=1e-6, damping=1e-5, most=25, still=still)
        part.begin = end.begin
        settled[joint] = plays[joint]._replace(end=end)
    return settled
