"""How sure gains are: errors that hold where residuals stay alike over time, as those of a coarse encoder do,
where the model leaves something unexplained, and where parts of the data disagree; and what to say of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...statistics import FEWEST, lag_alike, long_run
from ...tables import interval, number
from .model import Model
from .trials import Segment, averaged, scatter_of

if TYPE_CHECKING:
    from .fit import Interval, MechanismFit

APART = 3.0
"""Parts of the data disagree where a gain differs by more than so many standard errors."""
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
    model: Model, x: np.ndarray, weights: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """(covariance of the unknowns, directions without information, the input that each segment leaves
    unexplained), allowing for residuals that stay alike over time."""
    pairs = [model.pushed(x, k) for k in range(len(model.segments))]
    residuals = [model.measured(k) - y for k, (y, _) in enumerate(pairs)]
    slopes = [J[:, : model.n_all].copy() for _, J in pairs]
    bent = {j: [J[:, j].copy() for J in slopes] for j in model.held}
    for J in slopes:
        J[:, list(model.held)] = 0.0
    meat = np.zeros((model.n_all, model.n_all))
    for k in range(len(model.segments)):
        meat += _spread(model, k, residuals[k], slopes[k] * (weights[k] * residuals[k])[:, None])
    rows = np.concatenate([J * np.sqrt(w)[:, None] for J, w in zip(slopes, weights, strict=True)])
    known = np.zeros((2, model.n_all))
    for i, j in enumerate(model.delays):
        known[i, j] = model.assumed
        meat[j, j] += model.assumed**2
    inverse, directions = _inverted(np.concatenate([rows, known]), model.n)
    # Never surer than independent samples would be: with few samples the long-run sum is noisy.
    alone = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    spread = np.sqrt(np.maximum(np.diag(inverse @ meat @ inverse), np.diag(inverse)))
    covariance = inverse * np.outer(spread / alone, spread / alone)
    for j, unsure in model.held.items():
        moved = inverse @ sum(J.T @ (w * c) for J, w, c in zip(slopes, weights, bent[j], strict=True))
        covariance = covariance + unsure**2 * np.outer(moved, moved)
    left = [_left(model, k, r, pairs[k][1][:, -1]) for k, r in enumerate(residuals)]
    for k, s in enumerate(model.segments):
        level = float(np.median(np.abs(s.input))) if not s.run.slow and one_way(model) else 0.0
        push = math.hypot(left[k], UNSURE * level)
        moved = inverse @ (slopes[k].T @ (weights[k] * pairs[k][1][:, -1]))
        covariance = covariance + push**2 * np.outer(moved, moved)
    return covariance, directions, left


def slow_ways(segments: Sequence[Segment]) -> tuple[bool, bool]:
    """Whether slow tests move forward, and whether they move in reverse."""
    slow = [s.smooth / float(np.max(np.abs(s.smooth))) for s in segments if s.run.slow]
    return any(np.any(v > 0.1) for v in slow), any(np.any(v < -0.1) for v in slow)


def one_way(model: Model) -> bool:
    """Whether only fast tests tell a weight from friction."""
    up, down = slow_ways(model.segments)
    return "kG" in model.names and up != down


def _inverted(rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(inverse of rows' rows, directions without information that concern the first n unknowns)."""
    R = np.linalg.qr(rows, mode="r")
    size = np.maximum(np.linalg.norm(R, axis=0), 1e-150)
    _, values, turned = np.linalg.svd(R / size)
    values = np.pad(values, (0, len(size) - len(values)))
    vectors, lost = turned.T, values < 1e-7 * values[0]
    inverse = (vectors[:, ~lost] / values[~lost] ** 2) @ vectors[:, ~lost].T / np.outer(size, size)
    # A first angle that nothing depends on says nothing about gains.
    lost &= np.linalg.norm(vectors[:n], axis=0) > 1e-3
    directions = (vectors[:, lost] / size[:, None]).T if lost.any() else np.zeros((0, len(size)))
    return inverse, directions


def _spread(model: Model, k: int, r: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Covariance of the sum of a segment's scores."""
    s, n = model.segments[k], model.n_velocity(k)
    joint = _on_one_clock(s, scores) if n else scores
    span = max(_memory(r[:n]), _memory(r[n:]), _crossing(s))
    return _short_sample(len(joint), span) * long_run(joint, span)


def _left(model: Model, k: int, residuals: np.ndarray, push: np.ndarray) -> float:
    """The constant input that would move a segment as much as the model leaves of it beyond its noise: what
    is bent in the shape of a gain cannot be seen, and is taken to be as large as what can be."""
    n = model.n_velocity(k)
    r, D = (residuals[:n], push[:n]) if n else (residuals, push)
    if len(r) < 8 * _CALM or not np.any(D):
        return 0.0
    noise = max(scatter_of(r), scatter_of(r[::_CALM]) if n == 0 else 0.0)
    chance = noise**2 / _CALM * (1.0 + 4.0 * math.sqrt(2.0 * _CALM / len(r)))
    seen = float(np.mean(averaged(r, _CALM) ** 2)) - chance
    return math.sqrt(max(seen, 0.0) / float(np.mean(D * D)))


def disagreements(model: Model, x: np.ndarray, weights: Sequence[np.ndarray]) -> list[Split]:
    """Parts of the data that say something else of a gain than the other part does."""
    found = []
    for name, sides in _halves(model.segments, model):
        parts = [[w * one for w, one in zip(weights, side, strict=True)] for side in sides]
        if not _suspect(model, x, parts):
            continue
        a, b = (_alone(model, x, part) for part in parts)
        away = np.abs(a[0] - b[0]) > APART * np.hypot(a[1], b[1])
        away = (away & np.isfinite(a[1] + b[1]))[: model.n]
        if away.any():
            found.append(Split(name, (a[0], b[0]), (a[1], b[1]), away))
    return found


def _halves(
    segments: Sequence[Segment], model: Model
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


def _suspect(model: Model, x: np.ndarray, parts: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether two parts pull the gains apart, to first order, by more than the noise of single samples lets
    them: then it is worth looking at each alone."""
    residuals, slopes = _linear(model, x)
    noise = max(scatter_of(r) for r in residuals)
    moves, chance = [], np.zeros(model.n_all)
    for part in parts:
        inverse, blind = _told(model, slopes, part)
        moves.append(inverse @ _pull(slopes, part, residuals))
        chance += np.diag(inverse) * noise**2 + np.where(blind, math.inf, 0.0)
    return bool(np.any((np.abs(moves[0] - moves[1]) > APART * np.sqrt(chance))[: model.n]))


def _alone(model: Model, x: np.ndarray, part: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(unknowns, their errors) by one part of the data; infinite where it says nothing."""
    y = model.solve(x, part, rounds=10)
    residuals, slopes = _linear(model, y)
    inverse, blind = _told(model, slopes, part)
    meat = np.zeros_like(inverse)
    for k, (J, w, r) in enumerate(zip(slopes, part, residuals, strict=True)):
        used = w > 0
        if used.any():
            meat += _spread(model, k, np.where(used, r, 0.0), J * (w * r)[:, None])
    spread = np.maximum(np.diag(inverse @ meat @ inverse), 0.0)
    return y, np.where(blind, math.inf, np.sqrt(spread))


def _linear(model: Model, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Residuals and slopes, without those of what is held."""
    residuals, slopes = model.linearised(x)
    for J in slopes:
        J[:, list(model.held)] = 0.0
    return residuals, slopes


def _told(
    model: Model, slopes: Sequence[np.ndarray], part: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(inverse, which unknowns a part says nothing about)."""
    rows = np.concatenate([J * np.sqrt(w)[:, None] for J, w in zip(slopes, part, strict=True)])
    inverse, lost = _inverted(rows, model.n)
    sizes = np.abs(lost) / np.maximum(np.abs(lost).max(axis=1, keepdims=True), 1e-300)
    return inverse, np.any(sizes > 1e-3, axis=0)


def _pull(
    slopes: Sequence[np.ndarray], part: Sequence[np.ndarray], residuals: Sequence[np.ndarray]
) -> np.ndarray:
    pulls = [J.T @ (w * r) for J, w, r in zip(slopes, part, residuals, strict=True)]
    return np.sum(pulls, axis=0)


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


def _short_sample(n: int, length: int) -> float:
    """How much a long-run sum grows for the samples that its window takes away at both ends;
    at most twice."""
    return n / max(n - 2 * length, 0.5 * n)


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
    """What the fit shows: motion before its cause, parts that disagree, what no gains explain."""
    named = fit.early > EARLY
    if named:
        text = (
            f"the motion is seen {1e3 * fit.early:.0f} ms before the input that causes it. The delay was"
            " taken to be 0, and the intervals allow for as much."
        )
        remedy = (
            "the input was stamped late, or the model is wrong at the steps' beginning: log the applied"
            " voltage and the motion in the same cycle and on one clock"
        )
        yield finding("effect_before_cause", text, remedy, lead=fit.early)
    for name, told in parts.items():
        code, one, other, remedy = PARTS[name]
        clear = {g: t for g, t in told.items() if _clearly(t)}
        named = named or bool(clear)
        if clear:
            said = "; ".join(
                f"{g} is {_spelled(a)} {one} and {_spelled(b)} {other} [{unit}]"
                for g, (a, b, unit) in clear.items()
            )
            text = f"{said}. The intervals hold both."
            numbers = {f"{g}_{k}": part[0] or 0.0 for g, t in clear.items() for k, part in enumerate(t[:2])}
            yield finding(code, text, remedy, **numbers)
    effort = max(float(np.max(np.abs(s.input))) for s in segments)
    if fit.unexplained > LEFT * effort and not named:
        text = (
            f"an input of {fit.unexplained:.2g} is left that no gains explain: the mechanism is not quite"
            " what its model says. The intervals allow for it."
        )
        remedy = "look at the residuals with --plot: slip, play, a sagging supply, or another mechanism"
        yield finding("unexplained", text, remedy, input=fit.unexplained)
    up, down = slow_ways(segments)
    if "kG" in fit.names and up != down and gains["kS"][0] is not None:
        text = (
            "kS and kG are told apart only by comparing slow tests one way with fast ones the other way; the"
            f" fast ones' input is taken to be sure to {100 * UNSURE:g} %."
        )
        yield finding("rests_on_model", text, f"add quasistatic-{'reverse' if up else 'forward'}")


def _clearly(told: tuple[Interval, Interval, str]) -> bool:
    (a, _, _), (b, _, _), _ = told
    return a is not None and b is not None and abs(a - b) > CLEARLY * max(abs(a), abs(b))


def _spelled(told: Interval) -> str:
    value, low, high = told
    if value is None or low is None or high is None:
        return "unknown"
    return f"{number(value)} ({interval(low, high, 'to')})"
