"""How recordings differ from each other, and whether what that says of the next one is true: draws that the
recordings allow, and recordings left out in turn, each judged by what the others say of it.

A fit's errors say how well the mean actuator is known. A next recording has numbers of its own, as each of
those before had: recording l pulls the optimum by m_l, so that its own numbers are L m_l away, and the next
one's spread is L (L + 1) / (L - 1) sum m_l m_l'. What no number explains is a floor. The optimum without some
logs is one step of Gauss and Newton away.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from ..engine.rows import DELAY
from ..findings import finding
from ..logs.log import bench_of
from ..results.fit_result import Fit
from ..results.variation import NORMAL, DrawnNumber, Variation, deviation_of
from ..statistics import autocorrelation
from .bench_numbers import angle_of_next, words
from .holdout import part_of
from .optimize import levenberg_marquardt
from .parameters import OPEN, FreeParameters
from .plants.plant import Plant
from .problem import Problem, problem
from .uncertainty import LogEffects, Uncertainty, inverse, uncertainty

MEMBERS = 24
"""Draws that bands are made of."""
FEWEST_RECORDINGS = 3
"""Recordings from which on they are compared with each other; fewer are cut into stretches."""
FEWEST_STRETCHES, MOST_STRETCHES = 4, 12
"""That a recording is cut into."""
FEWEST_SAMPLES = 10
"""Of a stretch."""
ERRORS_LONG, SHORTEST = 5.0, 0.5
"""How long a stretch is at least: times that errors last; seconds."""
FEWEST_RIGS = 3
"""Rigs from which on they are left out in turn; of fewer, the recordings are."""
MOST_FOLDS = 6
"""Groups that recordings are left out in at most."""
WIDEST = 2.0
"""How many times the fit's own error a draw may leave on the fitted recordings of any joint."""
NEARER = 0.7
"""By which a draw that leaves more is drawn towards the fit."""
FOLLOWED = 3
"""Recordings that draws without some others are held against at most: enough to see one run wild."""
FEW_STEPS = 8
"""Of the search without some logs, where one step does not do; half as many where recordings are many."""
FEW_RECORDINGS = 6
"""Up to which each is a good part of what is known: without it the optimum is farther off than one step."""
FREEDOM = 4.0
"""Degrees that each recording left out adds to what they tell of the size of errors. Mean squares differ
by half of themselves (relative variance, the median over 34 ways of halving the five sets of
`benchmarks/bands.py`), and 2 / 0.5 of Satterthwaite's make 4."""
HANGING = "bench.hanging"
RUNS_AWAY = (
    "where the search ended the simulation runs away, and nothing tells how recordings differ",
    "leave out logs that are not followed, or free fewer numbers",
)
"""Why there is no band where there are no errors, and what to do."""


@dataclass
class NextRecording:
    """What the fitted recordings say of another one."""

    p: Problem
    x: np.ndarray
    effects: LogEffects
    if_right: np.ndarray
    units: list[Any]
    """Which recording each log is of."""
    drawn: list[int]
    """Places in x of what is drawn."""
    held: list[int]
    """Of what only a prior tells: the same in all draws."""
    robust: float
    """Weighted error beyond which one counts less."""
    optima: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)
    """Without some logs, as far as they were looked for."""

    def covariance(self, without: Sequence[int] = ()) -> np.ndarray:
        """Of the drawn numbers of a next recording, as all logs but some say.

        Args:
            without: places of the logs that are left out.
        """
        gone = set(without)
        keep = [k for k in range(len(self.units)) if k not in gone]
        A = self.effects.curvature - sum(
            (self.effects.of_logs[k] for k in without), np.zeros_like(self.if_right)
        )
        names = list(dict.fromkeys(self.units[k] for k in keep))
        scores = np.zeros((len(names), len(self.x)))
        for k in keep:
            scores[names.index(self.units[k])] += self.effects.scores[k]
        n = len(names)
        moves = scores @ inverse(A)
        spread = self.if_right + (n * (n + 1) / (n - 1) * moves.T @ moves if n > 1 else 0.0)
        inner = spread[np.ix_(self.drawn, self.drawn)]
        if self.held:
            cross = spread[np.ix_(self.drawn, self.held)]
            inner = inner - cross @ inverse(spread[np.ix_(self.held, self.held)]) @ cross.T
        return inner

    def draws(self, n: int, seed: int, without: Sequence[int] = ()) -> np.ndarray:
        """(n, n_x): how far draws are from the optimum; 0 in what is not drawn.

        Args:
            n: how many.
            seed: of the generator.
            without: places of the logs that do not count.

        Returns:
            A row for each draw.
        """
        C = self.covariance(without)
        scale = np.sqrt(np.maximum(np.diag(C), 1e-300))
        values, vectors = np.linalg.eigh(0.5 * (C + C.T) / np.outer(scale, scale))
        root = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        moved = np.zeros((n, len(self.x)))
        moved[:, self.drawn] = np.random.default_rng(seed).standard_normal((n, len(self.drawn))) @ root.T
        return moved

    def optimum_without(self, places: Sequence[int]) -> np.ndarray:
        """Where the optimum lies without some logs, by one step of Gauss and Newton; by a few more where that
        leads astray, or recordings are few."""
        if tuple(places) in self.optima:
            return self.optima[tuple(places)]
        A = self.effects.curvature - sum(self.effects.of_logs[k] for k in places)
        step = inverse(A) @ self.effects.scores[list(places)].sum(axis=0)
        x = self.p.free.inside(self.x + step)
        gone = set(places)
        rest, kept = part_of(self.p, [k for k in range(len(self.p.logs)) if k not in gone])
        here, there = (_cost(rest, y[kept], self.robust) for y in (self.x, x))
        few = len(set(self.units)) <= FEW_RECORDINGS
        if few or not there <= here:
            begin, most = x if there <= here else self.x, FEW_STEPS if few else FEW_STEPS // 2
            x[kept] = levenberg_marquardt(rest, begin[kept], most=most, robust=self.robust).x
        self.optima[tuple(places)] = x
        return x

    def errors_left_out(self, folds: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Errors of every log, as the others predict it without its fold [rad or m]."""
        found: dict[int, np.ndarray] = {}
        for places in folds:
            part, kept = part_of(self.p, places)
            errors = part.position_errors(part.free.inside(self.optimum_without(places)[kept]))
            found |= dict(zip(places, errors, strict=True))
        return [found[k] for k in range(len(self.p.logs))]


def next_recording(
    p: Problem, x: np.ndarray, uncertainties: Uncertainty, units: Sequence[Any], robust: float
) -> NextRecording:
    """What is drawn and what is held: of the numbers that another recording shares with those fitted, all
    but those that only a prior tells.

    Args:
        p: the problem.
        x: its optimum.
        uncertainties: of x.
        units: which recording each log is of.
        robust: weighted error beyond which one counts less.
    """
    assert uncertainties.effects is not None
    left = uncertainties.share_left(p.free)
    common = [
        k
        for k, q in enumerate(p.free.parameters)
        if not q.beside
        or q.path == DELAY
        or (q.logs is None and q.path.startswith("bench.") and q.path != HANGING)
    ]
    return NextRecording(
        p=p,
        x=x,
        effects=uncertainties.effects,
        if_right=uncertainties.if_right,
        units=list(units),
        drawn=[k for k in common if left[k] <= OPEN],
        held=[k for k in common if left[k] > OPEN],
        robust=robust,
    )


def _cost(p: Problem, x: np.ndarray, robust: float) -> float:
    """Of the data and the prior."""
    away = x - p.free.prior()[0]
    return float(p.costs([x], robust)[0]) + 0.5 * float(away @ p.free.precision @ away)


def shares_of(
    one: NextRecording, moved: np.ndarray, without: Sequence[int] = (), begin: np.ndarray | None = None
) -> np.ndarray:
    """How far each draw may go so that it still follows the fitted recordings.

    Args:
        one: what these say.
        moved: how far draws are from the optimum.
        without: places of the logs that do not count; a few recordings of the others then do.
        begin: shares to begin with; without it all of it.

    Returns:
        A share for each draw.
    """
    x = one.optimum_without(without) if without else one.x
    part, kept = part_of(one.p, _places_held_against(one.units, set(without)))
    most = {joint: WIDEST * rms for joint, rms in _rms_by_joint(part, x[kept]).items()}
    shares = []
    for move, share in zip(moved, np.ones(len(moved)) if begin is None else begin, strict=True):
        while share > 1e-3:
            rms = _rms_by_joint(part, part.free.inside((x + share * move)[kept]))
            if all(rms[joint] <= most[joint] for joint in most):
                break
            share = NEARER * share
        shares.append(share)
    return np.array(shares)


def _places_held_against(units: Sequence[str], gone: set[int]) -> list[int]:
    """Places of the logs that draws are held against: all, or a few recordings' where some are gone."""
    names = list(dict.fromkeys(unit for k, unit in enumerate(units) if k not in gone))
    n = FOLLOWED if gone and len(names) > FOLLOWED else len(names)
    few = {names[k] for k in np.linspace(0, len(names) - 1, n).round().astype(int)}
    return [k for k, unit in enumerate(units) if k not in gone and unit in few]


def _rms_by_joint(p: Problem, x: np.ndarray) -> dict[str, float]:
    """Root mean square of the errors on the fitted recordings; infinite where a simulation runs away."""
    errors, found = p.position_errors(x), {}
    for joint in p.joints:
        each = np.concatenate([errors[k] for k in p.places_of(joint)])
        measured = np.concatenate([p.logs[k].measured[p.logs[k].samples, 0] for k in p.places_of(joint)])
        square = np.where(np.isfinite(measured), each, 0.0) ** 2
        found[joint] = float(np.sqrt(np.mean(square))) if np.isfinite(square).all() else math.inf
    return found


class LeftOut(NamedTuple):
    """Groups of recordings, each as all others predict it."""

    errors: np.ndarray
    """Of all its samples [rad or m]."""
    deviation: np.ndarray
    """As stated for them."""
    recording: np.ndarray
    """Which one each sample is of."""

    def factor(self, share: float = 0.95) -> float:
        """How many of the stated deviations a share of the errors stays within."""
        return float(np.quantile(np.abs(self.errors) / self.deviation, share))

    def usual(self, power: int) -> float:
        """Errors over what was stated for them, as means of a power, of a recording in the middle: one that
        the others know nothing of does not speak for all.

        Args:
            power: 1 for mean absolute errors, 2 for root mean squares.
        """
        sums = (np.bincount(self.recording, np.abs(x) ** power) for x in (self.errors, self.deviation))
        pairs = [(off, stated) for off, stated in zip(*sums, strict=True) if stated > 0]
        return math.exp(np.mean([math.log(max(off / stated, 1e-12)) for off, stated in pairs]) / power)


def leave_out(
    one: NextRecording,
    places: Sequence[int],
    shares: np.ndarray,
    unexplained: Sequence[np.ndarray],
    seed: int,
) -> LeftOut:
    """Logs as the others predict them: from the optimum, the draws and the floor without them.

    Args:
        one: what the fitted recordings say.
        places: of the logs that are left out.
        shares: how far draws of all logs may go; those without these may go no farther.
        unexplained: errors of all logs, each left out; the floor is what the others have of them.
        seed: of the draws.
    """
    p, gone = one.p, set(places)
    others = [k for k in range(len(p.logs)) if k not in gone]
    x = one.optimum_without(places)
    moved = one.draws(len(shares), seed, places)
    moved *= shares_of(one, moved, places, shares)[:, None]
    x, moved = _hang_anew(one, x, moved, gone, seed)
    part, kept = part_of(p, places)
    middle = part.position_errors(part.free.inside(x[kept]))
    runs = [part.predictions(part.free.inside((x + move)[kept])) for move in moved]
    floor = floor_of(p, unexplained, others)
    errors, deviation, recording, names = [], [], [], list(dict.fromkeys(one.units))
    for k, error in enumerate(middle):
        stated = np.hypot(deviation_of(np.array([run[k] for run in runs])), floor[part.logs[k].joint])
        seen = np.isfinite(error) & np.isfinite(stated)
        errors.append(error[seen])
        deviation.append(stated[seen])
        recording.append(np.full(int(seen.sum()), names.index(one.units[places[k]])))
    return LeftOut(*(np.concatenate(each) for each in (errors, deviation, recording)))


def _hang_anew(
    one: NextRecording, x: np.ndarray, moved: np.ndarray, gone: set[int], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Angles of mountings that no other log has: in the middle the others' mean, in draws as they spread."""
    rows = [(k, q) for k, q in enumerate(one.p.free.parameters) if q.path == HANGING and q.logs is not None]
    unknown = [k for k, q in rows if set(q.logs or ()) <= gone]
    known = [float(x[k]) for k, _ in rows if k not in unknown]
    if not unknown or not known:
        return x, moved
    x, moved = x.copy(), moved.copy()
    mean, spread = angle_of_next(known, one.p.free.parameters[unknown[0]].prior[1])
    random = np.random.default_rng([seed, 1])
    for k in unknown:
        x[k] = mean
        moved[:, k] = spread * random.standard_normal(len(moved))
    return x, moved


def floor_of(p: Problem, errors: Sequence[np.ndarray], places: Sequence[int]) -> dict[str, float]:
    """By joint, what 68 % of the errors of some logs stay within [rad or m]."""
    found = {}
    for joint in p.joints:
        mine = [k for k in p.places_of(joint) if k in set(places)] or p.places_of(joint)
        each = np.abs(np.concatenate([errors[k] for k in mine]))
        found[joint] = float(np.nanquantile(each[np.isfinite(each)], 0.68))
    return found


def variation_of(
    p: Problem,
    x: np.ndarray,
    uncertainties: Uncertainty,
    rigs: Sequence[Any],
    *,
    robust: float = np.inf,
    seed: int,
) -> Variation:
    """What bands and draws are made of.

    Args:
        p: the problem.
        x: its optimum.
        uncertainties: of x.
        rigs: which rig each log was recorded on; on a robot all on one.
        robust: weighted error beyond which one counts less.
        seed: of the draws.
    """
    units = [log.recording or k for k, log in enumerate(p.logs)]
    one = next_recording(p, x, uncertainties, units, robust)
    moved = one.draws(MEMBERS, seed)
    shares = shares_of(one, moved)
    folds, groups, words = _groups_left_out(units, rigs)
    unexplained = one.errors_left_out(folds)
    judged = [leave_out(one, places, shares, unexplained, seed) for places in groups]
    every = LeftOut(*(np.concatenate(each) for each in zip(*judged, strict=True)))
    by_rig = len(set(rigs)) >= FEWEST_RIGS
    n = len(judged) if by_rig else len(set(units))
    usual = every.factor() * float(student.ppf(0.975, FREEDOM * n)) / NORMAL
    next_one = math.sqrt(1.0 + 1.0 / n)  # as far off as the mean of those left out, and as that is itself
    found = p.position_errors(x)
    return Variation(
        numbers=tuple(_number(one, k) for k in one.drawn),
        members=(shares[:, None] * moved)[:, one.drawn],
        floor=floor_of(p, unexplained, range(len(p.logs))),
        factor=max(group.factor() for group in judged) if by_rig else usual,
        usual=usual,
        mean_absolute=next_one * every.usual(1),
        root_mean_square=next_one * every.usual(2),
        left_out=words,
        slow=_slow_time(p, found),
        held=tuple(p.free.names[k] for k in one.held),
        n_shrunk=int(np.sum(shares < 1.0)),
        n_left_out=n,
    )


def _groups_left_out(
    units: Sequence[Any], rigs: Sequence[Any]
) -> tuple[list[list[int]], list[list[int]], str]:
    """Places of the logs that are left out together: (recordings; rigs, or recordings where these are few; in
    words)."""
    names = list(dict.fromkeys(units))
    n = min(len(names), MOST_FOLDS)
    fold = {name: k % n for k, name in enumerate(names)}
    folds = [[k for k, unit in enumerate(units) if fold[unit] == f] for f in range(n)]
    of_rigs = list(dict.fromkeys(rigs))
    if len(of_rigs) < FEWEST_RIGS:
        return folds, folds, f"{len(names)} recordings, in {n} parts"
    groups = [[k for k, rig in enumerate(rigs) if rig == name] for name in of_rigs]
    return folds, groups, f"{len(of_rigs)} rigs, one at a time"


def _number(one: NextRecording, k: int) -> DrawnNumber:
    """What a draw must know of a number."""
    p, q = one.p, one.p.free.parameters[k]
    values = p.values(one.x)
    places = range(len(p.logs)) if q.logs is None else q.logs
    joints = tuple(dict.fromkeys(p.logs[j].joint for j in places))
    above = p.free._bases[k]
    drawn = above is not None and above in one.drawn
    return DrawnNumber(
        path=q.path,
        joints=joints,
        x=float(one.x[k]),
        signed=q.signed is not None,
        knee=q.knee or 0.0,
        above=one.drawn.index(above) if above is not None and drawn else None,
        base=0.0 if drawn else p.free.base(k, values, p.fixed),
    )


def _slow_time(p: Problem, errors: Sequence[np.ndarray]) -> float:
    rows = zip(errors, p.logs, strict=True)
    return float(np.median([_time_alike(each, log.log.time) for each, log in rows]))


def _time_alike(errors: np.ndarray, time: np.ndarray) -> float:
    """Time after which errors are down to 1/e of themselves [s]."""
    seen = errors[np.isfinite(errors)]
    if len(seen) < 3:
        return 0.0
    low = np.flatnonzero(autocorrelation(seen) < math.exp(-1.0))
    return float(np.median(np.diff(time))) * float(low[0] if len(low) else len(seen))


def with_variation(fit: Fit, optimum: Any, uncertainties: Uncertainty) -> Fit:
    """The fit with what its bands are made of, or with a finding that says why there is none.

    Args:
        fit: without.
        optimum: that it is of.
        uncertainties: of x there.

    Returns:
        The same fit otherwise.
    """
    p, x, plant = optimum.problem, optimum.x, optimum.plant
    rigs = ["robot" if log.recording else words(bench_of(log.log)) for log in p.logs]
    how = {"robust": optimum.robust, "seed": plant.options.seed}
    n = len(_units(p))
    if uncertainties.effects is None:
        return _without_band(fit, *RUNS_AWAY, n)
    if n >= FEWEST_RECORDINGS:
        return replace(fit, variation=variation_of(p, x, uncertainties, rigs, **how))
    cut = _cut(plant, p, x)
    if cut is None:
        seconds = min(float(log.log.time[-1] - log.log.time[0]) for log in p.logs)
        text = (
            f"{n} recording{'s' * (n != 1)} of {seconds:.3g} s cannot be cut into {FEWEST_STRETCHES} that are"
            " longer than their errors last"
        )
        remedy = f"record {FEWEST_RECORDINGS} motions or more, or one that is longer"
        return _without_band(fit, text, remedy, n)
    y = cut.x_from(p.values(x))
    there = uncertainty(cut, y, robust=optimum.robust)
    if there.effects is None:
        return _without_band(fit, *RUNS_AWAY, n)
    there = replace(there, covariance=uncertainties.covariance) if len(y) == len(x) else there
    found = variation_of(cut, y, there, ["cut"] * len(cut.logs), **how)
    whole = floor_of(p, p.position_errors(x), range(len(p.logs)))
    floor = {joint: max(width, whole[joint]) for joint, width in found.floor.items()}
    left_out = found.left_out.replace("recordings", f"stretches of {_mean_length(cut):.2g} s", 1)
    return replace(fit, variation=replace(found, floor=floor, left_out=left_out, n_left_out=n))


def _without_band(fit: Fit, why: str, remedy: str, n: int) -> Fit:
    found = finding("no_band", f"no band can be given: {why}.", remedy, recordings=n)
    return replace(fit, findings=(*fit.findings, found))


def _units(p: Problem) -> set[Any]:
    return {log.recording or k for k, log in enumerate(p.logs)}


def _mean_length(p: Problem) -> float:
    return float(np.mean([log.log.time[-1] - log.log.time[0] for log in p.logs]))


def _cut(plant: Plant, p: Problem, x: np.ndarray) -> Problem | None:
    """The same logs in stretches that start anew; None where they are too short for it."""
    if type(p) is not Problem:
        return None
    slow = _slow_time(p, p.position_errors(x))
    logs, labels, places = [], [], []
    for k, one in enumerate(p.logs):
        t = one.log.time
        n = min(MOST_STRETCHES, int((t[-1] - t[0]) / max(ERRORS_LONG * slow, SHORTEST)))
        edges = np.linspace(t[0], t[-1], n + 1) if n else t[[0, -1]]
        seen = np.isfinite(one.log["position"])
        for i, (a, b) in enumerate(itertools.pairwise(edges)):
            if np.sum(seen & (t >= a) & (t <= b)) < FEWEST_SAMPLES:  # hardly anything between two gaps
                continue
            logs.append(replace(one.log.between(float(a), float(b)), name=f"{one.log.name} {i + 1}"))
            labels.append((one.joint, f"{one.recording or one.log.name} {i + 1}"))
            places.append(k)
    if len(places) / len(p.joints) < FEWEST_STRETCHES:
        return None
    rows = [
        replace(q, logs=None if q.logs is None else tuple(j for j, k in enumerate(places) if k in q.logs))
        for q in p.free.parameters
    ]
    how: dict[str, Any] = {"outputs": p.outputs, "substeps": p.substeps, "starts": p.starts}
    cut = problem(p.actuator, logs, FreeParameters(tuple(rows)), labels=labels, **how)
    cut = plant.restart(cut, [p.logs[k].recording for k in places])
    cut.sigma, cut.sigma_noise = p.sigma if p.sigma.ndim == 1 else p.sigma[places], p.sigma_noise
    return cut
