"""Gains by simulation error: the mechanism is run with the recorded input and compared with the recorded
motion.

Nothing is differentiated. Delays of velocity and position are unknowns like the gains; each channel weighs
with the scatter it shows; a test's first position, and its first velocity where it does not begin at rest,
are unknowns too. Errors allow for residuals that stay alike over time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .errors import covariance_of
from .model import LONGEST_DELAY, Model
from .segments import Segment

_HUBER = 4.0
"""Residuals beyond this many times the scatter count less."""
_PIECE = 0.25
"""Length of the pieces in which a drifting position is compared [s]."""


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


def _first(segments: Sequence[Segment], model: Model, rcond: float) -> np.ndarray:
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


def _weights(model: Model, x: np.ndarray) -> list[np.ndarray]:
    """Scatter of each channel from its residuals, and less weight for what lies far outside."""
    residuals = [
        (model.measured(k) - model.stacked(x, k), model.n_velocity(k)) for k in range(len(model.segments))
    ]
    v = np.concatenate([r[:n] for r, n in residuals]) * model.scale_v
    p = np.concatenate([r[n:] for r, n in residuals]) * model.scale_p
    n = max(len(v), len(p))
    share = n / max(n - model.n_all, 1)
    if len(v):
        model.scale_v = max(_trimmed(v) * math.sqrt(share), model.floor_v)
    if len(p):
        model.scale_p = max(_trimmed(p) * math.sqrt(share), model.floor_p)
    out = []
    for k in range(len(model.segments)):
        r = np.abs(model.measured(k) - model.stacked(x, k))
        out.append(np.where(r > _HUBER, _HUBER / np.maximum(r, 1e-300), 1.0))
    return out


def _trimmed(r: np.ndarray) -> float:
    """Root mean square without what lies beyond four times itself."""
    size = float(np.sqrt(np.mean(r * r)))
    inside = np.abs(r) <= _HUBER * size
    return float(np.sqrt(np.mean(r[inside] ** 2))) if inside.any() else size


def fit_mechanism(segments: Sequence[Segment], mechanism: str) -> MechanismFit:
    """Estimate the gains of simple, elevator or arm from segments in motion."""
    model = Model(segments, mechanism)
    x = _first(segments, model, 1e-4)
    ones = [np.ones(model.n_velocity(k) + len(s.position)) for k, s in enumerate(segments)]
    starts = [x, _first(segments, model, 1e-9)]
    for delay in (0.0, 0.05):
        other = x.copy()
        other[model.delays] = delay
        starts.append(other)
    tried = [model.solve(start, ones, rounds=4) for start in starts]
    x = model.solve(min(tried, key=lambda s: model.cost(s, ones)), ones)
    weights = _weights(model, x)
    if _drifts(model, x):
        model.cut(_PIECE)
    x = model.solve(x, weights, rounds=15)
    weights = _weights(model, x)
    model, x = _averaged(model, x, ones)
    for _ in range(2):
        weights = _weights(model, x)
        x = model.solve(x, weights, rounds=15)
    covariance, singular = covariance_of(model, x, weights)
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
        velocity_delay=float(x[model.delays[0]]),
        position_delay=None if model.i_dp is None else float(x[model.i_dp]),
        window=None if model.i_w is None else float(x[model.i_w]),
        predicted=predicted,
        r2=_held_out(model, x, weights),
        singular=singular[:, :n],
    )


def _drifts(model: Model, x: np.ndarray) -> bool:
    """Whether position leaves the prediction slowly, by more than its own noise:
    then its errors are the model's, not the sensor's."""
    near, all_ = 0.0, 1e-300
    for k in range(len(model.segments)):
        r = (model.measured(k) - model.stacked(x, k))[model.n_velocity(k) :]
        near += float(r[1:] @ r[:-1]) if len(r) > 1 else 0.0
        all_ += float(r @ r)
    noise = max((s.noise_position for s in model.segments), default=0.0)
    return near / all_ > 0.8 and model.scale_p > 3 * noise


def _averaged(model: Model, x: np.ndarray, weights: Sequence[np.ndarray]) -> tuple[Model, np.ndarray]:
    """The same with a velocity that is a mean over a window, as many controllers report it,
    where that explains it better."""
    best = model.cost(x, weights)
    noise = max(s.noise_velocity for s in model.segments)
    if not model.has_position or model.i_dv is None or model.scale_v <= max(2 * noise, model.floor_v):
        return model, x
    chosen, there = model, x
    for window in (0.01, 0.05, 0.1):
        other = Model(model.segments, model.mechanism, averaged=True)
        other.pieces, other.starts = model.pieces, model.starts
        other.scale_v, other.scale_p = model.scale_v, model.scale_p
        i = other.i_w if other.i_w is not None else 0
        start = np.insert(x, i, window)
        start[model.i_dv] = max(0.0, start[model.i_dv] - 0.5 * window)
        start = other.solve(start, weights, rounds=6)
        cost = other.cost(start, weights)
        if cost < 0.95 * best:
            best, chosen, there = cost, other, start
    return chosen, there


def _held_out(model: Model, x: np.ndarray, weights: Sequence[np.ndarray], length: float = 0.5) -> float:
    """R^2 of velocity where each half of the half-second stretches is predicted from the other half."""
    error, total = 0.0, 0.0
    everything = np.concatenate([s.velocity for s in model.segments])
    for side in (0, 1):
        used = [
            (_stretch(s.velocity_time, length, side), _stretch(s.position_time, length, side))
            for s in model.segments
        ]
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


def _stretch(t: np.ndarray, length: float, side: int) -> np.ndarray:
    return (np.floor((t - (t[0] if len(t) else 0.0)) / length).astype(int) % 2) == side
