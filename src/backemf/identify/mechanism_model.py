"""The unknowns of a mechanism and its recordings -> weighted residuals, their derivatives, and the descent to the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .mechanism_motion import motion
from .segments import Segment

FLOOR = 1e-4
"""No recording is taken for better than this share of its range."""
LONGEST_DELAY = 0.25
DELAY_ASSUMED = 0.02
"""Standard error of the delay, about 0, where no step tells it [s]."""


class Model:
    """Unknowns -> weighted residuals and their derivatives."""

    def __init__(self, segments: Sequence[Segment], mechanism: str, averaged: bool = False):
        self.segments, self.mechanism = segments, mechanism
        self.names = ("kS", "kV", "kA", *{"elevator": ("kG",), "arm": ("g_c", "g_s")}.get(mechanism, ()))
        self.n = len(self.names)
        self.has_position = any(len(s.position) for s in segments)
        self.i_dv = self.n
        self.i_dp = self.n + 1 if self.has_position else None
        self.i_v0: list[int | None] = []
        self.pieces = [np.zeros(1, int) for _ in segments]
        self.starts = [s.start_position for s in segments]
        at = self.n + 1 + self.has_position
        self.i_w = at if averaged else None
        at += averaged
        for s in segments:
            self.i_v0.append(None if s.rests else at)
            at += not s.rests
        self.n_all = at
        span = max(float(np.max(np.abs(s.smooth))) for s in segments)
        self.span, self.effort = span, max(float(np.max(np.abs(s.input))) for s in segments)
        self.floor_v = FLOOR * min(float(np.max(np.abs(s.smooth))) for s in segments)
        self.scale_v = max(float(np.median([s.noise_velocity for s in segments])), self.floor_v)
        self.scale_p = max((s.noise_position for s in segments if len(s.position)), default=1.0)
        reach = min((float(np.ptp(s.position)) for s in segments if len(s.position)), default=1.0)
        self.floor_p = max(FLOOR * reach, 1e-12)
        # A ramp alone cannot tell a delay from friction: without a step, sensors are taken to be about as late as they usually are.
        self.assumed = 0.0 if any(not s.run.slow for s in segments) else 1.0 / DELAY_ASSUMED
        self.scale_p = max(self.scale_p, self.floor_p)

    def gravity(self, x: np.ndarray) -> tuple[float, float, float]:
        if self.mechanism == "elevator":
            return float(x[3]), 0.0, 0.0
        if self.mechanism == "arm":
            return 0.0, float(x[3]), float(x[4])
        return 0.0, 0.0, 0.0

    def one(self, x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Velocity and position of a segment, the position's constant not yet adjusted."""
        s, i = self.segments[k], self.i_v0[k]
        d_v = float(x[self.i_dv])
        d_p = float(x[self.i_dp]) if self.i_dp is not None else d_v
        gains = (float(x[0]), float(x[1]), math.exp(float(x[2])))
        if s.rests:
            start = (s.onset, self.starts[k], 0.0)
        else:
            start = (s.velocity_time[0] - d_v, self.starts[k], float(x[i]) if i is not None else 0.0)
        more = {"start": start, "gains": gains, "gravity": self.gravity(x)}
        if self.i_w is None:
            return motion(s.time, s.input, velocity_time=s.velocity_time, position_time=s.position_time, velocity_delay=d_v, position_delay=d_p, **more)
        w, none = float(x[self.i_w]), s.velocity_time[:0]
        if not s.rests:  # what was averaged began before the segment did: as fast as at its beginning
            more["start"] = (start[0] - w, start[1] - w * start[2], start[2])
        _, p = motion(s.time, s.input, velocity_time=none, position_time=s.position_time, position_delay=d_p, **more)
        _, new = motion(s.time, s.input, velocity_time=none, position_time=s.velocity_time, position_delay=d_v, **more)
        _, old = motion(s.time, s.input, velocity_time=none, position_time=s.velocity_time, position_delay=d_v + w, **more)
        return (new - old) / w, p

    def level(self, p: np.ndarray, k: int) -> np.ndarray:
        """Position less its mean, piece by piece: where a mechanism was set down is not the question."""
        starts = self.pieces[k]
        counts = np.diff(starts, append=len(p))
        return p - np.repeat(np.add.reduceat(p, starts) / counts, counts) if len(p) else p

    def cut(self, length: float) -> None:
        """Compare position in pieces of this many seconds, so that a slow drift does not outweigh everything."""
        for k, s in enumerate(self.segments):
            if len(s.position):
                number = np.floor((s.position_time - s.position_time[0]) / length)
                self.pieces[k] = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])

    def settle(self, x: np.ndarray) -> None:
        """Set each first position to where the whole run says it was: a single sample's noise would turn an arm's gravity."""
        if self.mechanism != "arm":
            return
        for k, s in enumerate(self.segments):
            if len(s.position) and len(self.pieces[k]) == 1:
                self.starts[k] += float(np.mean(s.position - self.one(x, k)[1]))

    def stacked(self, x: np.ndarray, k: int) -> np.ndarray:
        """Prediction of a segment over the scatter of its channels."""
        v, p = self.one(x, k)
        return np.concatenate([v / self.scale_v, self.level(p, k) / self.scale_p])

    def measured(self, k: int) -> np.ndarray:
        s = self.segments[k]
        return np.concatenate([s.velocity / self.scale_v, self.level(s.position, k) / self.scale_p])

    def linearised(self, x: np.ndarray, central: bool = False) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(residuals, derivatives of the prediction) by segment."""
        residuals, slopes = [], []
        for k in range(len(self.segments)):
            base = self.stacked(x, k)
            J = np.zeros((len(base), self.n_all))
            for j in [*range(self.n), self.i_dv, self.i_dp, self.i_w, self.i_v0[k]]:
                if j is None:
                    continue
                h = 1e-6 * max(abs(float(x[j])), self._typical(j))
                up, down = x.copy(), x.copy()
                up[j] += h
                down[j] -= h
                J[:, j] = (self.stacked(up, k) - self.stacked(down, k)) / (2 * h) if central else (self.stacked(up, k) - base) / h
            residuals.append(self.measured(k) - base)
            slopes.append(J)
        return residuals, slopes

    def _typical(self, j: int) -> float:
        if j == 2:
            return 1.0
        if j in (self.i_dv, self.i_dp, self.i_w):
            return 0.1
        return 0.1 * self.span if j > self.n else 0.1

    def cost(self, x: np.ndarray, weights: Sequence[np.ndarray]) -> float:
        total = 0.0
        for k in range(len(self.segments)):
            r = self.measured(k) - self.stacked(x, k)
            total += float(np.sum(weights[k] * r * r))
        total += sum((self.assumed * float(x[j])) ** 2 for j in (self.i_dv, self.i_dp) if j is not None)
        return total if math.isfinite(total) else math.inf

    def solve(self, x: np.ndarray, weights: Sequence[np.ndarray], *, rounds: int = 40) -> np.ndarray:
        """Levenberg and Marquardt's descent, scaled by the derivatives."""
        damping, best = 1e-3, self.cost(x, weights)
        for _ in range(rounds):
            residuals, slopes = self.linearised(x)
            A, b = np.zeros((self.n_all, self.n_all)), np.zeros(self.n_all)
            for J, w, r in zip(slopes, weights, residuals, strict=True):
                A += (J * w[:, None]).T @ J
                b += J.T @ (w * r)
            for j in (self.i_dv, self.i_dp):
                if j is not None:
                    A[j, j] += self.assumed**2
                    b[j] -= self.assumed**2 * x[j]
            D = np.maximum(np.diag(A), 1e-12 * np.max(np.diag(A)))
            if not np.isfinite(A).all() or not D.any():
                return x
            trial, cost = x, best
            for _ in range(12):
                try:
                    step = np.linalg.solve(A + damping * np.diag(D), b)
                except np.linalg.LinAlgError:  # nothing moves with these gains, so nothing can be learnt from them
                    return x
                step[2] = np.clip(step[2], -1.5, 1.5)
                trial = self._bounded(x + step)
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

    def _bounded(self, x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x[0] = np.clip(x[0], -self.effort, self.effort)
        size = math.log(self.effort / self.span)
        x[2] = np.clip(x[2], size - 9.0, size + 5.0)  # time constants from 0.1 ms to 150 s
        for j in (self.i_dv, self.i_dp):
            if j is not None:
                x[j] = np.clip(x[j], -0.05, 2 * LONGEST_DELAY)
        if self.i_w is not None:
            x[self.i_w] = np.clip(x[self.i_w], 1e-3, LONGEST_DELAY)
        return x
