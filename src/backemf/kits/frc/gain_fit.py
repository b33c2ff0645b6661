"""Gains by simulation error: the mechanism is run with the recorded input and compared with the recorded
motion.

Nothing is differentiated. Delays of velocity and position are unknowns like the gains; each channel weighs
with the scatter it shows; a test's first position, and its first velocity where it does not begin at rest,
are unknowns too. Errors hold where residuals stay alike over time, as those of a coarse encoder do, where the
model leaves something unexplained, and where parts of the data disagree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...statistics import FEWEST, lag_alike, long_run
from .mechanism_model import LONGEST_DELAY, MechanismModel
from .trials import Segment, average_neighbours, scatter_of

Progress = Callable[[str, float], None]
"""Is told what is being done, and which share of it is done."""
APART = 3.0
"""Parts of the data disagree where a gain differs by more than so many standard errors."""
TOGETHER = 0.9
"""Friction is told only together with weight where more than this share of its variance is the weight's."""
RISEN = 0.63
"""The beginning of a step is over when it has reached this share of its speed."""
UNSURE = 0.03
"""A share of a step's input by which a battery gives way under load before anybody logs it."""
_CALM = 7
"""Samples over which residuals are averaged to see what the model leaves."""


class Split(NamedTuple):
    """Two parts of the data, and what each alone says of the unknowns."""

    name: str
    """directions, sides, or steps: their beginnings and the rest of them."""
    values: tuple[np.ndarray, np.ndarray]
    errors: tuple[np.ndarray, np.ndarray]
    apart: np.ndarray
    """Which gains differ by more than chance allows."""


def covariance_of(
    model: MechanismModel, x: np.ndarray, weights: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """(covariance of the unknowns, directions without information, the input that each segment leaves
    unexplained), allowing for residuals that stay alike over time."""
    pairs = [model.push_slopes(x, k) for k in range(len(model.segments))]
    residuals = [model.scaled_measurement(k) - y for k, (y, _) in enumerate(pairs)]
    slopes = [J[:, : model.n_all].copy() for _, J in pairs]
    bent = {j: [J[:, j].copy() for J in slopes] for j in model.held}
    for J in slopes:
        J[:, list(model.held)] = 0.0
    covariance, inverse, directions = _noise_covariance(model, residuals, slopes, weights)
    for j, unsure in model.held.items():
        moved = inverse @ sum(J.T @ (w * c) for J, w, c in zip(slopes, weights, bent[j], strict=True))
        covariance = covariance + unsure**2 * np.outer(moved, moved)
    left = [_unexplained_input(model, k, r, pairs[k][1][:, -1]) for k, r in enumerate(residuals)]
    up, down = slow_ways(model.segments)
    for k, s in enumerate(model.segments):
        only_fast = not s.run.slow and "kG" in model.names and up != down  # tells a weight from friction
        level = float(np.median(np.abs(s.input))) if only_fast else 0.0
        push = math.hypot(left[k], UNSURE * level)
        moved = inverse @ (slopes[k].T @ (weights[k] * pairs[k][1][:, -1]))
        covariance = covariance + push**2 * np.outer(moved, moved)
    return covariance, directions, left


def _noise_covariance(
    model: MechanismModel, errors: list[np.ndarray], slopes: list[np.ndarray], weights: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(covariance by the noise alone, inverse of the information, directions without information)."""
    meat = np.zeros((model.n_all, model.n_all))
    rows = np.concatenate([J * np.sqrt(w)[:, None] for J, w in zip(slopes, weights, strict=True)])
    if not np.isfinite(rows).all():
        raise InvalidValue(
            "no mechanism moves like this: with the gains that come nearest a simulation of these tests runs"
            " away; check that voltage and velocity are of one motor, or take the method sysid"
        )
    for k in range(len(model.segments)):
        meat += _spread(model, k, errors[k], slopes[k] * (weights[k] * errors[k])[:, None])
    known = np.zeros((len(model.priors), model.n_all))
    for i, (j, (_, weight)) in enumerate(model.priors.items()):
        known[i, j] = weight
        meat[j, j] += weight**2
    inverse, directions = _invert(np.concatenate([rows, known]), model.n)
    # Never surer than independent samples would be: with few samples the long-run sum is noisy.
    alone = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    spread = np.sqrt(np.maximum(np.diag(inverse @ meat @ inverse), np.diag(inverse)))
    return inverse * np.outer(spread / alone, spread / alone), inverse, directions


def slow_ways(segments: Sequence[Segment]) -> tuple[bool, bool]:
    """Whether slow tests move forward, and whether they move in reverse."""
    slow = [s.smooth / float(np.max(np.abs(s.smooth))) for s in segments if s.run.slow]
    return any(np.any(v > 0.1) for v in slow), any(np.any(v < -0.1) for v in slow)


def _invert(rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(inverse of rows' rows, directions without information that concern the first n unknowns)."""
    R = np.linalg.qr(rows, mode="r")
    size = np.maximum(np.linalg.norm(R, axis=0), 1e-150)
    _, values, turned = np.linalg.svd(R / size)
    values = np.pad(values, (0, len(size) - len(values)))
    vectors, lost = turned.T, values <= 3e-8 * values[0]
    inverse = (vectors[:, ~lost] / values[~lost] ** 2) @ vectors[:, ~lost].T / np.outer(size, size)
    # A first angle that nothing depends on says nothing about gains.
    lost &= np.linalg.norm(vectors[:n], axis=0) > 1e-3
    directions = (vectors[:, lost] / size[:, None]).T if lost.any() else np.zeros((0, len(size)))
    return inverse, directions


def _spread(model: MechanismModel, k: int, r: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Covariance of the sum of a segment's scores."""
    s, n = model.segments[k], model.n_velocity(k)
    joint = _on_one_clock(s, scores) if n else scores
    span = max(_memory(r[:n]), _memory(r[n:]), _crossing(s))
    grown = len(joint) / max(
        len(joint) - 2 * span, 0.5 * len(joint)
    )  # for what the window takes at both ends
    return grown * long_run(joint, span)


def _unexplained_input(model: MechanismModel, k: int, residuals: np.ndarray, push: np.ndarray) -> float:
    """The constant input that would move a segment as much as the model leaves of it beyond its noise: what
    is bent in the shape of a gain cannot be seen, and is taken to be as large as what can be."""
    n = model.n_velocity(k)
    r, D = (residuals[:n], push[:n]) if n else (residuals, push)
    if len(r) < 8 * _CALM or not np.any(D):
        return 0.0
    noise = max(scatter_of(r), scatter_of(r[::_CALM]) if n == 0 else 0.0)
    chance = noise**2 / _CALM * (1.0 + 4.0 * math.sqrt(2.0 * _CALM / len(r)))
    seen = float(np.mean(average_neighbours(r, _CALM) ** 2)) - chance
    return math.sqrt(max(seen, 0.0) / float(np.mean(D * D)))


def disagreements(
    model: MechanismModel, x: np.ndarray, weights: Sequence[np.ndarray], say: Progress
) -> list[Split]:
    """Parts of the data that say something else of a gain than the other part does."""
    found, halves = [], list(_halves(model.segments, model))
    for k, (name, sides) in enumerate(halves):
        say(f"whether {name} agree", 0.5 + 0.5 * k / len(halves))
        parts = [[w * one for w, one in zip(weights, side, strict=True)] for side in sides]
        own = model.held
        if _tell_sums(model, x, parts):
            model.held = {**own, 0: 0.0}
        if _suspect(model, x, parts):
            a, b = (_solve_part(model, x, part) for part in parts)
            away = np.abs(a[0] - b[0]) > APART * np.hypot(a[1], b[1])
            away = (away & np.isfinite(a[1] + b[1]))[: model.n]
            if away.any():
                found.append(Split(name, (a[0], b[0]), (a[1], b[1]), away))
        model.held = own
    return found


def _tell_sums(model: MechanismModel, x: np.ndarray, parts: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether one of the parts tells friction and weight only together, as motion one way does: kG + kS up,
    kG - kS down. What is left to compare are these sums, at the friction that all of the data tell."""
    if model.n == 3:
        return False
    _, slopes = model.linearise(x)
    weight = slice(3, model.n)
    for part in parts:
        inverse, blind = _part_information(model, slopes, part)
        own, shared = inverse[0, 0], inverse[0, weight]
        told = float(shared @ np.linalg.pinv(inverse[weight, weight]) @ shared)
        if blind[0] or told > TOGETHER * own:
            return True
    return False


def _halves(
    segments: Sequence[Segment], model: MechanismModel
) -> Iterator[tuple[str, tuple[list[np.ndarray], list[np.ndarray]]]]:
    """Which residuals belong to either part, by segment."""

    def whole(which: Sequence[bool]) -> list[np.ndarray]:
        sizes = (model.n_velocity(k) + len(s.position) for k, s in enumerate(segments))
        return [np.full(n, float(one)) for n, one in zip(sizes, which, strict=True)]

    forward = [s.run.test.endswith("forward") for s in segments]
    if len(set(forward)) == 2:
        yield "directions", (whole(forward), whole([not one for one in forward]))
    left, right = ([s.run.part == side for s in segments] for side in ("left", "right"))
    if any(left) and any(right):
        yield "sides", (whole(left), whole(right))
    if any(not s.run.slow for s in segments):
        early, late = [], []
        for k, s in enumerate(segments):
            speed = np.abs(s.smooth)
            over = s.velocity_time[int(np.argmax(speed >= RISEN * np.percentile(speed, 98)))]
            times = np.concatenate([s.velocity_time[: model.n_velocity(k)], s.position_time])
            early.append(np.where(times <= over, 1.0, float(s.run.slow)))
            late.append(np.where(times > over, 1.0, float(s.run.slow)))
        yield "steps", (early, late)


def _suspect(model: MechanismModel, x: np.ndarray, parts: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether two parts pull the gains apart, to first order, by more than the noise of single samples lets
    them: then it is worth looking at each alone."""
    residuals, slopes = model.linearise(x)
    noise = max(scatter_of(r) for r in residuals)
    moves, chance = [], np.zeros(model.n_all)
    for part in parts:
        inverse, blind = _part_information(model, slopes, part)
        pulls = [J.T @ (w * r) for J, w, r in zip(slopes, part, residuals, strict=True)]
        moves.append(inverse @ np.sum(pulls, axis=0))
        chance += np.diag(inverse) * noise**2 + np.where(blind, math.inf, 0.0)
    return bool(np.any((np.abs(moves[0] - moves[1]) > APART * np.sqrt(chance))[: model.n]))


def _solve_part(
    model: MechanismModel, x: np.ndarray, part: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(unknowns, their errors) by one part of the data; infinite where it says nothing."""
    y = model.solve(x, part, rounds=10)
    residuals, slopes = model.linearise(y)
    inverse, blind = _part_information(model, slopes, part)
    meat = np.zeros_like(inverse)
    for k, (J, w, r) in enumerate(zip(slopes, part, residuals, strict=True)):
        used = w > 0
        if used.any():
            meat += _spread(model, k, np.where(used, r, 0.0), J * (w * r)[:, None])
    spread = np.maximum(np.diag(inverse @ meat @ inverse), 0.0)
    return y, np.where(blind, math.inf, np.sqrt(spread))


def _part_information(
    model: MechanismModel, slopes: Sequence[np.ndarray], part: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(inverse, which unknowns a part says nothing about)."""
    rows = np.concatenate([J * np.sqrt(w)[:, None] for J, w in zip(slopes, part, strict=True)])
    inverse, lost = _invert(rows, model.n)
    sizes = np.abs(lost) / np.maximum(np.abs(lost).max(axis=1, keepdims=True), 1e-300)
    return inverse, np.any(sizes > 1e-3, axis=0)


def _on_one_clock(s: Segment, scores: np.ndarray) -> np.ndarray:
    """Scores of both channels summed where they were taken at the same time."""
    if not len(s.position):
        return scores
    t = np.concatenate([s.velocity_time, s.position_time])
    step = float(np.median(np.diff(s.velocity_time)))
    place = np.round((t - t.min()) / step).astype(int)
    out = np.zeros((int(place.max()) + 1, scores.shape[1]))
    np.add.at(out, place, scores)
    return out


def _memory(r: np.ndarray) -> int:
    """Samples over which residuals stay alike."""
    n = len(r)
    return 1 if n < FEWEST else min(2 * lag_alike(r), max(1, n // 8))


def _crossing(s: Segment) -> int:
    """Samples that a slow part of the motion spends on one step of the position's grid,
    whose errors are therefore alike."""
    if not s.resolution:
        return 1
    slow = max(float(np.percentile(np.abs(s.smooth), 20)), 1e-12)
    step = float(np.median(np.diff(s.velocity_time)))
    return int(min(3 * s.resolution / (slow * step), len(s.velocity) // 5)) + 1


_HUBER = 4.0
"""Residuals beyond this many times the scatter count less."""
_PIECE = 0.25
"""Length of the pieces in which a drifting position is compared [s]."""
_CLEARLY_BELOW = 0.95
"""Another end of the descent, or another model of the sensor, is better below this share of the cost."""
_ROUNDING = 1e-4
"""A delay this little below 0 is rounding [s]."""


@dataclass(frozen=True, kw_only=True)
class MechanismFit:
    """The estimate in the units of the data."""

    names: tuple[str, ...]
    """kS, kV, kA, then kG (elevator) or g_c, g_s (arm)."""
    values: np.ndarray
    covariance: np.ndarray
    velocity_delay: float
    position_delay: float | None
    window: float | None
    """Over which the reported velocity is a mean [s]; None: it is not."""
    predicted: list[tuple[np.ndarray, np.ndarray]]
    """Velocity and position of each segment."""
    r2: float
    """Of velocity, on stretches that were left out of the fit."""
    singular: np.ndarray
    """Directions of the gains the data say nothing about, one per row."""
    early: float
    """By how much the motion came before its cause, where the delay was free [s]; it is held at 0."""
    unexplained: float
    """The constant input that would move a test as much as the model leaves unexplained of it."""
    splits: list[Split]
    """Parts of the data that disagree."""


def _first(segments: Sequence[Segment], model: MechanismModel, rcond: float) -> np.ndarray:
    """A start: the equation integrated over windows, which needs no derivative,
    at the delay that fits best."""
    best, start = math.inf, np.zeros(model.n + 1)
    for delay in np.arange(0.0, LONGEST_DELAY, 0.01):
        rows, sides = [], []
        for s in segments:
            t, v = s.velocity_time, s.velocity
            width = max(3, min(len(t) // 12, 60))
            edges = np.arange(0, len(t) - 1, width)
            if len(edges) < 3:
                continue
            held = s.input[np.clip(np.searchsorted(s.time, t - delay, side="right") - 1, 0, len(s.input) - 1)]
            held = np.where(t - delay < s.onset, 0.0, held) if s.rests else held
            h = np.diff(t, append=t[-1])
            moving = np.abs(s.smooth) > 0.02 * np.max(np.abs(s.smooth))
            p = np.interp(t, s.position_time, s.position) if len(s.position) else np.zeros_like(t)
            parts = [held * h, np.sign(s.smooth) * h, v * h, h, np.cos(p) * h, np.sin(p) * h]
            U, S, V, T, C, Q = (np.concatenate([[0.0], np.cumsum(x[:-1])])[edges] for x in parts)
            used = np.array([moving[a : b + 1].all() for a, b in itertools.pairwise(edges)])
            extra = {"elevator": [np.diff(T)], "arm": [np.diff(C), np.diff(Q)]}.get(model.mechanism, [])
            X = np.stack([np.diff(S), np.diff(V), np.diff(s.smooth[edges]), *extra], axis=1)
            rows.append(X[used])
            sides.append(np.diff(U)[used])
        if not rows or sum(len(r) for r in rows) < model.n + 1:
            break
        X, y = np.concatenate(rows), np.concatenate(sides)
        size = np.maximum(np.linalg.norm(X, axis=0), 1e-12)
        b = np.linalg.lstsq(X / size, y, rcond=rcond)[0] / size
        error = float(np.sum((y - X @ b) ** 2)) + (1e3 if b[2] <= 0 else 0.0)
        if error < best:
            best, start = error, np.concatenate([b, [delay]])
    x, u = model.start(), model.effort
    x[: model.n] = start[:-1]
    x[1] = x[1] if abs(x[1]) * model.span < 3 * u else 0.5 * u / model.span
    x[0] = np.clip(x[0], 0.0, 0.9 * u)
    x[2] = math.log(max(float(start[2]), 1e-3 * u / model.span, 1e-9))
    x[model.delays] = start[-1]
    return x


def _weights(model: MechanismModel, x: np.ndarray) -> list[np.ndarray]:
    """Scatter of each channel from its residuals, and less weight for what lies far outside."""
    residuals = [
        (model.scaled_measurement(k) - model.scaled_prediction(x, k), model.n_velocity(k))
        for k in range(len(model.segments))
    ]
    v = np.concatenate([r[:n] for r, n in residuals]) * model.scale_v
    p = np.concatenate([r[n:] for r, n in residuals]) * model.scale_p
    n = max(len(v), len(p))
    share = n / max(n - model.n_all, 1)
    if len(v):
        model.scale_v = max(_trimmed_rms(v) * math.sqrt(share), model.floor_v)
    if len(p):
        model.scale_p = max(_trimmed_rms(p) * math.sqrt(share), model.floor_p)
    out = []
    for k in range(len(model.segments)):
        r = np.abs(model.scaled_measurement(k) - model.scaled_prediction(x, k))
        out.append(np.where(r > _HUBER, _HUBER / np.maximum(r, 1e-300), 1.0))
    return out


def _trimmed_rms(r: np.ndarray) -> float:
    """Root mean square without what lies beyond four times itself."""
    size = float(np.sqrt(np.mean(r * r)))
    inside = np.abs(r) <= _HUBER * size
    return float(np.sqrt(np.mean(r[inside] ** 2))) if inside.any() else size


def part_progress(progress: Progress | None, message: str, begin: float, end: float) -> Progress | None:
    """Progress of one of several things.

    Args:
        progress: is told of the whole; None: nobody is.
        message: what this one is, before its own words.
        begin: share of the whole that is done before it.
        end: the same behind it.

    Returns:
        What to tell of the one.
    """
    if progress is None:
        return None
    return lambda text, share: progress(f"{message}, {text}", begin + (end - begin) * share)


@np.errstate(over="ignore", invalid="ignore")  # gains with which a simulation runs away are passed over
def fit_mechanism(
    segments: Sequence[Segment], mechanism: str, progress: Progress | None = None
) -> MechanismFit:
    """Estimate the gains of simple, elevator or arm from segments in motion.

    Args:
        segments: what moves of the tests.
        mechanism: simple, elevator or arm.
        progress: is told what is being done.

    Returns:
        The gains and what stands against them, in the units of the data.
    """
    say = progress or (lambda text, share: None)
    model = MechanismModel(segments, mechanism)
    ones = [np.ones(model.n_velocity(k) + len(s.position)) for k, s in enumerate(segments)]
    x = _best_start(model, ones, say)
    say("delays and gains", 0.25)
    weights = _weights(model, x)
    if _drifts(model, x):
        model.cut(_PIECE)
    x = model.solve(x, weights, rounds=15)
    weights = _weights(model, x)
    model, x = _average_velocity(model, x, ones)
    for _ in range(2):
        weights = _weights(model, x)
        x = model.solve(x, weights, rounds=15)
    early, x = _find_delay(model, x, weights)
    weights = _weights(model, x) if early else weights
    say("intervals", 0.4)
    covariance, singular, left = covariance_of(model, x, weights)
    predicted = []
    for k, s in enumerate(segments):
        v, p = model.predicted_velocity(x, k), model.one(x, k)[1]
        predicted.append((v, p - np.mean(p) + np.mean(s.position) if len(p) else p))
    n = model.n
    values = x[:n].copy()
    values[2] = math.exp(x[2])
    stretch = np.eye(n)
    stretch[2, 2] = values[2]
    return MechanismFit(
        names=model.names,
        values=values,
        covariance=stretch @ covariance[:n, :n] @ stretch,
        velocity_delay=max(float(x[model.delays[0]]), 0.0),
        position_delay=None if model.i_dp is None else max(float(x[model.i_dp]), 0.0),
        window=None if model.i_w is None else float(x[model.i_w]),
        predicted=predicted,
        r2=_held_out(model, x, weights),
        singular=singular[:, :n],
        early=early,
        unexplained=max(left),
        splits=disagreements(model, x, weights, say),
    )


def _best_start(model: MechanismModel, weights: Sequence[np.ndarray], say: Progress) -> np.ndarray:
    """The end of the start that leads after a few rounds, or of one that ends clearly below it: what leads
    early may run into the wrong valley, and among starts that run into one valley rounding must not choose.
    """
    x = _first(model.segments, model, 1e-4)
    starts = [x, _first(model.segments, model, 1e-9)]
    for delay in (0.0, 0.05):
        other = x.copy()
        other[model.delays] = delay
        starts.append(other)
    tried = [model.solve(start, weights, rounds=4) for start in starts]
    best = math.inf
    for k, early in enumerate(sorted(tried, key=lambda early: model.cost(early, weights))):
        say(f"start {k + 1} of {len(tried)}", 0.05 + 0.05 * k)
        end = model.solve(early, weights)
        cost = model.cost(end, weights)
        if cost < _CLEARLY_BELOW * best:
            best, x = cost, end
    return x


def _find_delay(
    model: MechanismModel, x: np.ndarray, weights: Sequence[np.ndarray]
) -> tuple[float, np.ndarray]:
    """(by how much the motion would come before its cause [s], the fit in which it does not): a delay of less
    than 0 is held at 0, and unsure by as much."""
    before = {j: -float(x[j]) for j in model.delays if x[j] < -_ROUNDING}
    if not before:
        return 0.0, x
    model.held = before
    x = x.copy()
    x[list(before)] = 0.0
    return max(before.values()), model.solve(x, weights, rounds=15)


def _drifts(model: MechanismModel, x: np.ndarray) -> bool:
    """Whether position leaves the prediction slowly, by more than its own noise:
    then its errors are the model's, not the sensor's."""
    near, all_ = 0.0, 1e-300
    for k in range(len(model.segments)):
        r = (model.scaled_measurement(k) - model.scaled_prediction(x, k))[model.n_velocity(k) :]
        near += float(r[1:] @ r[:-1]) if len(r) > 1 else 0.0
        all_ += float(r @ r)
    noise = max((s.noise_position for s in model.segments), default=0.0)
    return near / all_ > 0.8 and model.scale_p > 3 * noise


def _average_velocity(
    model: MechanismModel, x: np.ndarray, weights: Sequence[np.ndarray]
) -> tuple[MechanismModel, np.ndarray]:
    """The same with a velocity that is a mean over a window, as many controllers report it,
    where that explains it better."""
    best = model.cost(x, weights)
    noise = max(s.noise_velocity for s in model.segments)
    if not model.has_position or model.i_dv is None or model.scale_v <= max(2 * noise, model.floor_v):
        return model, x
    chosen, there = model, x
    for window in (0.01, 0.05, 0.1):
        other = MechanismModel(model.segments, model.mechanism, averaged=True)
        other.pieces, other.starts = model.pieces, model.starts
        other.scale_v, other.scale_p = model.scale_v, model.scale_p
        i = other.i_w if other.i_w is not None else 0
        start = np.insert(x, i, window)
        start[model.i_dv] = max(0.0, start[model.i_dv] - 0.5 * window)
        start = other.solve(start, weights, rounds=6)
        cost = other.cost(start, weights)
        if cost < _CLEARLY_BELOW * best:
            best, chosen, there = cost, other, start
    return chosen, there


def _held_out(model: MechanismModel, x: np.ndarray, weights: Sequence[np.ndarray]) -> float:
    """R^2 of velocity where each half of the half-second stretches is predicted from the other half."""

    def stretch(t: np.ndarray, side: int) -> np.ndarray:
        return (np.floor((t - (t[0] if len(t) else 0.0)) / 0.5).astype(int) % 2) == side

    error, total = 0.0, 0.0
    everything = np.concatenate([s.velocity for s in model.segments])
    for side in (0, 1):
        used = [(stretch(s.velocity_time, side), stretch(s.position_time, side)) for s in model.segments]
        if not any(v.any() for v, _ in used) or all(v.all() for v, _ in used):
            return math.nan
        part = [
            w * np.concatenate([v[: model.n_velocity(k)], p])
            for k, (w, (v, p)) in enumerate(zip(weights, used, strict=True))
        ]
        y = model.solve(x, part, rounds=4)
        for k, s in enumerate(model.segments):
            r = (model.predicted_velocity(y, k) - s.velocity)[~used[k][0]]
            error += float(r @ r)
            total += float(np.sum((s.velocity[~used[k][0]] - np.mean(everything)) ** 2))
    return 1 - error / total if total > 0 else math.nan
