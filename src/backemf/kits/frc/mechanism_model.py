"""The unknowns of a mechanism's recordings -> weighted residuals, their derivatives, and the descent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .mechanism import SampledMotion, motion, sampled_states, sensitive_motion
from .trials import Segment

FLOOR = 1e-4
"""No recording is taken for better than this share of its range."""
LONGEST_DELAY = 0.25
LEAD = 1.2
"""A ramp leads its samples by a quarter of their period, to one over this part of it: so 95 % intervals hold,
whether it rises between samples or not."""
DELAY_ASSUMED = 0.02
"""Standard error of the delay, about 0, where no step tells it [s]."""


def _ramp_lead(segments: Sequence[Segment], at: int) -> tuple[int | None, float]:
    """(place of a ramp's lead among the unknowns, what it is about [s]); none without both kinds of test."""
    steps = [float(np.median(np.diff(s.time))) for s in segments if s.run.slow]
    return at if 0 < len(steps) < len(segments) else None, 0.25 * float(np.median(steps)) if steps else 0.0


class MechanismModel:
    """Unknowns -> weighted residuals and their derivatives.

    The unknowns: gains (kA by its logarithm), delays of velocity and position, the window of an averaged
    velocity, by how much a ramp leads its samples (half a period where it rises between them, nothing where
    each holds until the next: no file tells), then for each segment its first velocity where it begins in
    motion, and its first angle where gravity depends on it. A velocity that is nothing but differences of the
    position adds nothing to it, and is only predicted.
    """

    def __init__(self, segments: Sequence[Segment], mechanism: str, averaged: bool = False):
        self.segments, self.mechanism, self.turning = segments, mechanism, mechanism == "arm"
        self.names = ("kS", "kV", "kA", *{"elevator": ("kG",), "arm": ("g_c", "g_s")}.get(mechanism, ()))
        self.n = at = len(self.names)
        self.has_position = any(len(s.position) for s in segments)
        self.uses_velocity = [not (s.derived and len(s.position)) for s in segments]
        self.i_dv, self.i_dp, self.i_w = None, None, None
        if any(self.uses_velocity):
            self.i_dv, at = at, at + 1
        if self.has_position:
            self.i_dp, at = at, at + 1
        if averaged:
            self.i_w, at = at, at + 1
        self.i_lead, self.lead = _ramp_lead(segments, at)
        at += self.i_lead is not None
        self.i_v0: list[int | None] = []
        self.i_p0: list[int | None] = []
        for s in segments:
            self.i_v0.append(None if s.rests else at)
            at += not s.rests
            free = self.turning and len(s.position) > 0
            self.i_p0.append(at if free else None)
            at += free
        self.n_all = at
        self.pieces = [np.zeros(1, int) for _ in segments]
        self.starts = [s.start_position for s in segments]
        self._set_scales(segments)
        # A ramp alone cannot tell a delay from friction: without a step, sensors are taken to be about as
        # late as they usually are.
        self.assumed = 0.0 if any(not s.run.slow for s in segments) else 1.0 / DELAY_ASSUMED
        self.held: dict[int, float] = {}
        """Unknowns that stay as they are, each with how unsure it is all the same."""

    def _set_scales(self, segments: Sequence[Segment]) -> None:
        """How large motion and input are, and the scatter of each channel to begin with."""
        fastest = [float(np.max(np.abs(s.smooth))) for s in segments]
        self.span, self.effort = max(fastest), max(float(np.max(np.abs(s.input))) for s in segments)
        self.floor_v = FLOOR * min(fastest)
        self.scale_v = max(float(np.median([s.noise_velocity for s in segments])), self.floor_v)
        placed = [s for s in segments if len(s.position)]
        self.floor_p = max(FLOOR * min((float(np.ptp(s.position)) for s in placed), default=1.0), 1e-12)
        self.scale_p = max(max((s.noise_position for s in placed), default=1.0), self.floor_p)

    @property
    def priors(self) -> dict[int, tuple[float, float]]:
        """What is assumed of unknowns beforehand: (value, one over its standard error) by place."""
        lead = {} if self.i_lead is None else {self.i_lead: (self.lead, LEAD / self.lead)}
        return {**{j: (0.0, self.assumed) for j in self.delays}, **lead}

    @property
    def delays(self) -> list[int]:
        """Places of the delays among the unknowns."""
        return [i for i in (self.i_dv, self.i_dp) if i is not None]

    def start(self) -> np.ndarray:
        """Unknowns that are all 0 but for how each segment begins."""
        x = np.zeros(self.n_all)
        for s, i_v, i_p in zip(self.segments, self.i_v0, self.i_p0, strict=True):
            if i_v is not None:
                x[i_v] = s.smooth[0]
            if i_p is not None:
                x[i_p] = s.start_position
        return x

    def gains(self, x: np.ndarray) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """(kS, kV, kA) and (g_1, g_c, g_s)."""
        own = float(x[0]), float(x[1]), math.exp(float(x[2]))
        if self.mechanism == "elevator":
            return own, (float(x[3]), 0.0, 0.0)
        return own, (0.0, float(x[3]), float(x[4])) if self.turning else (0.0, 0.0, 0.0)

    def _delay(self, x: np.ndarray, k: int) -> tuple[int, float]:
        """Place and value of the delay by which a segment's beginning is seen."""
        i = self.i_dv if self.uses_velocity[k] and self.i_dv is not None else self.i_dp
        assert i is not None  # a segment has one or the other
        return i, float(x[i]) - self._lead(x, k)

    def _lead(self, x: np.ndarray, k: int) -> float:
        """By how much a segment's input leads its samples [s]."""
        return float(x[self.i_lead]) if self.i_lead is not None and self.segments[k].run.slow else 0.0

    def _begin(self, x: np.ndarray, k: int) -> tuple[float, float, float]:
        """(time, position, velocity) at which a segment's motion begins."""
        s, i_v, i_p = self.segments[k], self.i_v0[k], self.i_p0[k]
        p0 = self.starts[k] if i_p is None else float(x[i_p])
        if i_v is None:
            return s.onset, p0, 0.0
        w = 0.0 if self.i_w is None else float(x[self.i_w])
        v0 = float(x[i_v])  # what was averaged began before the segment did: as fast as at its beginning
        return float(s.velocity_time[0]) - self._delay(x, k)[1] - w, p0 - w * v0, v0

    def _segment_motion(self, x: np.ndarray, k: int) -> dict[str, Any]:
        """How a segment's motion begins, and what it answers to."""
        gains, gravity = self.gains(x)
        return {"start": self._begin(x, k), "gains": gains, "gravity": gravity}

    def _moments(self, x: np.ndarray, k: int) -> list[np.ndarray]:
        """When what was measured happened: velocity (the end and the beginning of what it is a mean of),
        then position."""
        s, (_, d) = self.segments[k], self._delay(x, k)
        place = s.position_time - (float(x[self.i_dp]) - self._lead(x, k) if self.i_dp is not None else d)
        if not self.uses_velocity[k]:
            return [place]
        if self.i_w is None:
            return [s.velocity_time - d, place]
        return [s.velocity_time - d, s.velocity_time - d - float(x[self.i_w]), place]

    def one(self, x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Velocity and position of a segment, the position's constant not yet adjusted;
        no velocity where position says it all."""
        s, how, moments = self.segments[k], self._segment_motion(x, k), self._moments(x, k)
        if self.uses_velocity[k] and self.i_w is None:
            return motion(s.time, s.input, velocity_time=moments[0], position_time=moments[1], **how)
        *ends, p = (states[:, 0] for states in sampled_states(s.time, s.input, moments, **how))
        return (ends[0] - ends[1]) / float(x[self.i_w]) if self.i_w is not None and ends else np.empty(0), p

    def predicted_velocity(self, x: np.ndarray, k: int) -> np.ndarray:
        """Velocity as it was reported, also where it was left out because position says it all."""
        if self.uses_velocity[k]:
            return self.one(x, k)[0]
        s, (_, d) = self.segments[k], self._delay(x, k)
        step = float(np.median(np.diff(s.position_time)))
        between = len(s.velocity) and np.min(np.abs(s.position_time - s.velocity_time[-1])) > 0.25 * step
        ends = s.velocity_time - d + (0.5 * step if between else 0.0)
        new, old = sampled_states(s.time, s.input, [ends, ends - step], **self._segment_motion(x, k))
        return (new[:, 0] - old[:, 0]) / step

    def push_slopes(self, x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(prediction, its derivatives in the unknowns) of a segment, over the scatter of its channels; and
        one more derivative: in a constant that is taken off the input."""
        s, i_v, i_p = self.segments[k], self.i_v0[k], self.i_p0[k]
        how = self._segment_motion(x, k)
        begin, kA = how["start"], how["gains"][2]
        moments = [*self._moments(x, k), np.array([begin[0]])]
        *seen, first = sensitive_motion(s.time, s.input, moments, self.turning, **how)
        a0, v0 = float(first.values[0, 2]), begin[2]
        # Gains, first position, first velocity; then the moment, and the time of the beginning.
        width = first.slopes.shape[2]
        L = np.zeros((width + 2, self.n_all + 1))
        L[3, -1] = 1.0  # as a weight does
        for i, name in enumerate(self.names):
            L[{"kG": 3, "g_c": 4, "g_s": 5}.get(name, i), i] = kA if name == "kA" else 1.0
        p_row, v_row, moment, time = width - 2, width - 1, width, width + 1
        i_d, _ = self._delay(x, k)
        i_lead = [self.i_lead] if self.i_lead is not None and s.run.slow else []
        if i_p is not None and len(self.pieces[k]) == 1:  # in pieces, it no longer tells where it began
            L[p_row, i_p] = 1.0
        if i_v is not None:
            L[v_row, i_v], L[time, i_d] = 1.0, -1.0
            L[time, i_lead] = 1.0
            if self.i_w is not None:
                L[p_row, i_v], L[p_row, self.i_w], L[time, self.i_w] = -float(x[self.i_w]), -v0, -1.0

        def chain_slopes(part: SampledMotion, row: int, late: Sequence[int | None]) -> np.ndarray:
            there = L.copy()
            there[moment, [i for i in late if i is not None]] = -1.0
            there[moment, i_lead] = 1.0
            of_time = -(part.slopes[:, row, p_row] * v0 + part.slopes[:, row, v_row] * a0)
            rates = part.moving * np.stack([part.values[:, row + 1], of_time])
            return np.concatenate([part.slopes[:, row, :], rates.T], axis=1) @ there

        p, J_p = seen[-1].values[:, 0], chain_slopes(seen[-1], 0, [self.i_dp])
        out = [(self.level(p, k) / self.scale_p, self.level(J_p, k) / self.scale_p)]
        if len(seen) == 2:
            out.insert(
                0, (seen[0].values[:, 1] / self.scale_v, chain_slopes(seen[0], 1, [i_d]) / self.scale_v)
            )
        elif len(seen) == 3 and self.i_w is not None:
            w = float(x[self.i_w])
            v = (seen[0].values[:, 0] - seen[1].values[:, 0]) / w
            J = (chain_slopes(seen[0], 0, [i_d]) - chain_slopes(seen[1], 0, [i_d, self.i_w])) / w
            J[:, self.i_w] -= v / w
            out.insert(0, (v / self.scale_v, J / self.scale_v))
        return np.concatenate([y for y, _ in out]), np.concatenate([J for _, J in out])

    def level(self, p: np.ndarray, k: int) -> np.ndarray:
        """Position less its mean, piece by piece: where a mechanism was set down is not the question.
        (For an arm it is.)"""
        starts = self.pieces[k]
        if not len(p) or (self.i_p0[k] is not None and len(starts) == 1):
            return p
        counts = np.diff(starts, append=len(p))
        means = np.add.reduceat(p, starts, axis=0) / (counts if p.ndim == 1 else counts[:, None])
        return p - np.repeat(means, counts, axis=0)

    def cut(self, length: float) -> None:
        """Compare position in pieces of this many seconds, so that a slow drift does not outweigh all."""
        for k, s in enumerate(self.segments):
            if len(s.position):
                number = np.floor((s.position_time - s.position_time[0]) / length)
                self.pieces[k] = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])

    def scaled_prediction(self, x: np.ndarray, k: int) -> np.ndarray:
        """Prediction of a segment over the scatter of its channels."""
        v, p = self.one(x, k)
        return np.concatenate([v / self.scale_v, self.level(p, k) / self.scale_p])

    def n_velocity(self, k: int) -> int:
        """How many of a segment's residuals are velocities; they come first."""
        return len(self.segments[k].velocity) if self.uses_velocity[k] else 0

    def scaled_measurement(self, k: int) -> np.ndarray:
        """What was measured of a segment over the scatter of its channels."""
        s = self.segments[k]
        v = s.velocity[: self.n_velocity(k)]
        return np.concatenate([v / self.scale_v, self.level(s.position, k) / self.scale_p])

    def linearise(self, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(residuals, derivatives of the prediction) by segment; 0 in what is held."""
        pairs = [self.push_slopes(x, k) for k in range(len(self.segments))]
        slopes = [J[:, : self.n_all].copy() for _, J in pairs]
        for J in slopes:
            J[:, list(self.held)] = 0.0
        return [self.scaled_measurement(k) - y for k, (y, _) in enumerate(pairs)], slopes

    def cost(self, x: np.ndarray, weights: Sequence[np.ndarray]) -> float:
        """The weighted sum of squares; infinite where gains run away."""
        total = 0.0
        for k in range(len(self.segments)):
            with np.errstate(over="ignore", invalid="ignore"):
                r = self.scaled_measurement(k) - self.scaled_prediction(x, k)
                total += float(np.sum(weights[k] * r * r))
        total += sum((weight * (float(x[j]) - value)) ** 2 for j, (value, weight) in self.priors.items())
        return total if math.isfinite(total) else math.inf

    def solve(self, x: np.ndarray, weights: Sequence[np.ndarray], *, rounds: int = 40) -> np.ndarray:
        """Levenberg and Marquardt's descent, scaled by the derivatives.

        Args:
            x: the unknowns to begin with.
            weights: of every residual, by segment.
            rounds: the most steps down.

        Returns:
            The unknowns where it ends.
        """
        damping, best = 1e-3, self.cost(x, weights)
        for _ in range(rounds):
            residuals, slopes = self.linearise(x)
            A, b = np.zeros((self.n_all, self.n_all)), np.zeros(self.n_all)
            for J, w, r in zip(slopes, weights, residuals, strict=True):
                A += (J * w[:, None]).T @ J
                b += J.T @ (w * r)
            for j, (value, weight) in self.priors.items():
                A[j, j] += weight**2
                b[j] += weight**2 * (value - x[j])
            for j in self.held:
                A[j, :], A[:, j], b[j] = 0.0, 0.0, 0.0  # also what is assumed of it
                A[j, j] = np.max(np.diag(A))
            D = np.maximum(np.diag(A), 1e-12 * np.max(np.diag(A)))
            if not np.isfinite(A).all() or not D.any():
                return x
            trial, cost = x, best
            for _ in range(12):
                try:
                    step = np.linalg.solve(A + damping * np.diag(D), b)
                except np.linalg.LinAlgError:  # nothing moves with these gains: nothing to learn from them
                    return x
                step[2] = np.clip(step[2], -1.5, 1.5)
                trial = self._bound(x + step)
                cost = self.cost(trial, weights)
                if cost < best:
                    break
                damping *= 8
            if not cost < best:
                break
            gain, x, best = best - cost, trial, cost
            damping = max(damping / 10, 1e-12)
            if gain < 1e-9 * best + 1e-14:
                break
        return x

    def _bound(self, x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x[0] = np.clip(x[0], -self.effort, self.effort)
        size = math.log(self.effort / self.span)
        x[2] = np.clip(x[2], size - 9.0, size + 5.0)  # time constants from 0.1 ms to 150 s
        for j in self.delays:
            x[j] = np.clip(x[j], -0.05, 2 * LONGEST_DELAY)
        if self.i_w is not None:
            x[self.i_w] = np.clip(x[self.i_w], 1e-3, LONGEST_DELAY)
        return x
