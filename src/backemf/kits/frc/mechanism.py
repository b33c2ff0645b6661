"""A mechanism as its gains describe it, u = kS sgn(v) + kV v + kA a + gravity, and its motion while the input
holds; and the unknowns of its recordings -> weighted residuals, their derivatives, the descent to the best.

Between changes of the input the motion is followed exactly, through a standstill on the way too: there it
stays at rest, or leaves the other way. Only gravity that turns with the angle is held over a step, at the
step's middle.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.compile.kernels import Kernels, kernels
from ...engine.rows import HeldInputs, hold_inputs
from ...engine.system import Results, Row
from ...physics.maths import SMALL, Scalar, absolute, cos, expm1, log1p, mean_decay, side, sin, where
from ...physics.quantity import Part, parameters, part, quantity, structure, substitute
from .trials import Segment


@part
class Mechanism(Part):
    """Gains; the input is in volts, or in amperes where current is controlled."""

    friction: float = quantity("V", "kS", default=0.0)
    """Input that dry friction takes. (A fit may try less than 0.)"""
    effort_per_velocity: float = quantity("V s/rad", "kV", default=0.0)
    effort_per_acceleration: float = quantity("V s^2/rad", "kA", above=0)
    gravity: float = quantity("V", "kG", default=0.0)
    """Input that holds a load which weighs the same everywhere, as an elevator's does."""
    gravity_cosine: float | None = quantity("V", "g_c", default=None)
    """Of an arm: what holds it is g_c cos(angle) + g_s sin(angle); None: it does not turn in gravity."""
    gravity_sine: float | None = quantity("V", "g_s", default=None)


def holding(mechanism: Mechanism, position: Scalar) -> Scalar:
    """The input that gravity takes at a position."""
    g = mechanism.gravity
    if mechanism.gravity_cosine is not None:
        g = g + mechanism.gravity_cosine * cos(position)
    if mechanism.gravity_sine is not None:
        g = g + mechanism.gravity_sine * sin(position)
    return g


def acceleration(mechanism: Mechanism, position: Scalar, velocity: Scalar, effort: Scalar) -> Scalar:
    """How the velocity changes at a moment; 0 where friction holds it at rest."""
    kS, kV, kA = mechanism.friction, mechanism.effort_per_velocity, mechanism.effort_per_acceleration
    net = effort - holding(mechanism, position)
    at_rest = velocity == 0
    way = where(at_rest, side(net), side(velocity))
    return where(at_rest & (absolute(net) <= kS), 0.0, (net - way * kS - kV * velocity) / kA)


def step(
    mechanism: Mechanism, position: Scalar, velocity: Scalar, effort: Scalar, h: Scalar
) -> tuple[Scalar, Scalar]:
    """What a held input makes of a state.

    Args:
        mechanism: its gains.
        position: at the beginning [rad, or m].
        velocity: at the beginning, per second.
        effort: the input [V, or A].
        h: for how long it holds [s].

    Returns:
        (position, velocity) at the end.
    """
    p, v = position, velocity
    kS, kV, kA = mechanism.friction, mechanism.effort_per_velocity, mechanism.effort_per_acceleration
    net = effort - holding(mechanism, p + 0.5 * h * v)
    rate = kV / kA
    leaves = absolute(net) > kS
    at_rest = v == 0
    way = where(at_rest, side(net), side(v))
    a = (net - way * kS) / kA
    moved, v1 = _coast(v, a, rate, h)
    # Where the velocity would change sign it comes to rest on the way: 0 = v exp(-rate t) + a (1 - exp(-rate
    # t)) / rate.
    stops = (v1 * way < 0) & (v != 0)
    y = where(stops, -rate * v / where(stops, a, 1.0), 0.0)
    until = where(stops, -v / where(stops, a, 1.0) * _log_ratio(y), h)
    moved_0, _ = _coast(v, a, rate, until)
    moved_1, v_1 = _coast(0.0, where(leaves, (net - side(net) * kS) / kA, 0.0), rate, h - until)
    sticks = at_rest & (absolute(net) <= kS)
    after = where(stops, moved_0 + moved_1, moved)
    return p + where(sticks, 0.0, after), where(sticks, 0.0, where(stops, v_1, v1))


def _coast(v: Scalar, a: Scalar, rate: Scalar, h: Scalar) -> tuple[Scalar, Scalar]:
    """(way, velocity) after h seconds of v' = a - rate v."""
    first, second = _decays(rate, h)
    slope = a - rate * v
    return v * h + slope * second, v + slope * first


def _decays(rate: Scalar, h: Scalar) -> tuple[Scalar, Scalar]:
    """What an acceleration at the beginning of h seconds makes of velocity, and of position."""
    return h * mean_decay(rate * h), h * h * _second_decay(rate * h)


def stepper(mechanism: Mechanism, h: Any) -> Callable[[float, float, float], tuple[Any, Any]]:
    """`step` of a weight that is the same everywhere, for taking one after another.

    Args:
        mechanism: its gains.
        h: for how long each input holds, or several times up to that [s].

    Returns:
        From position, velocity and input to (position, velocity) at these times: quickly while it keeps
        moving one way.
    """
    rate = mechanism.effort_per_velocity / mechanism.effort_per_acceleration
    first, second = _decays(rate, h)

    def take(position: float, velocity: float, effort: float) -> tuple[Any, Any]:
        way = math.copysign(1.0, velocity)
        push = effort - mechanism.gravity - way * mechanism.friction
        slope = push / mechanism.effort_per_acceleration - rate * velocity
        after = velocity + slope * first
        if velocity == 0 or np.min(after * way) <= 0:
            return step(mechanism, position, velocity, effort, h)
        return position + velocity * h + slope * second, after

    return take


def _second_decay(x: Scalar) -> Scalar:
    """(x - 1 + exp(-x)) / x^2, for either sign of x."""
    small = absolute(x) < SMALL
    safe = where(small, 1.0, x)
    return where(
        small, 0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x / 120.0)), (safe + expm1(-safe)) / (safe * safe)
    )


def _log_ratio(y: Scalar) -> Scalar:
    """log(1 + y) / y for y > -1."""
    small = absolute(y) < SMALL
    safe = where(small, 1.0, y)
    return where(small, 1.0 - y * (0.5 - y * (1.0 / 3.0 - y / 4.0)), log1p(safe) / safe)


@dataclass(frozen=True, kw_only=True)
class MechanismSystem:
    """What `System` is for an actuator on a bench: names of the numbers, the step, what can be seen."""

    mechanism: Mechanism
    inputs: tuple[str, ...] = ("effort",)
    outputs: tuple[str, ...] = ("position", "velocity", "acceleration")
    extra: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, float]:
        return parameters(self.mechanism)

    @property
    def states(self) -> tuple[str, ...]:
        return "position", "velocity"

    @property
    def key(self) -> tuple:
        return structure(self.mechanism), self.inputs, self.outputs

    def initial_state(self, **given: float) -> dict[str, float]:
        """At rest at 0, but for what is given."""
        return {"position": 0.0, "velocity": 0.0, **given}

    def with_parameters(self, p: Row) -> Mechanism:
        """The mechanism with other numbers, in the order of their names."""
        return substitute(self.mechanism, dict(zip(self.parameters, p, strict=True)))

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        """The states after a held input.

        Args:
            p: parameters in the order of their names.
            s: position and velocity.
            u: the input [V, or A].
            h: for how long it holds [s].

        Returns:
            Position and velocity.
        """
        return step(self.with_parameters(p), s[0], s[1], u[0], h)

    def observe(self, p: Row, s: Row, u: Row) -> Results:
        """What can be seen at a moment.

        Args:
            p: parameters in the order of their names.
            s: position and velocity.
            u: the input that holds from then on [V, or A].

        Returns:
            The outputs in their order.
        """
        now = {"position": s[0], "velocity": s[1]}
        now["acceleration"] = acceleration(self.with_parameters(p), s[0], s[1], u[0])
        return tuple(now[name] for name in self.outputs)


@functools.cache
def mechanism_kernels(turning: bool) -> Kernels:
    """The loops of a mechanism, every gain and the start free; `turning`: an arm, with an angle's gravity."""
    arm = {"gravity_cosine": 1.0, "gravity_sine": 1.0} if turning else {}
    system = MechanismSystem(mechanism=Mechanism(effort_per_acceleration=1.0, **arm))
    return kernels(system, free=tuple(system.parameters), start=system.states)


LONGEST = 0.005
"""Longest step where gravity depends on position [s]."""


@dataclass(frozen=True, kw_only=True)
class SampledMotion:
    """The motion at some moments, a row each: position, velocity and acceleration, and their derivatives."""

    values: np.ndarray
    slopes: np.ndarray
    """(moments, 3, columns): in kS, kV, kA, g_1, for an arm g_c and g_s,
    then in the first position and the first velocity."""
    moving: np.ndarray
    """1 where the motion has begun, 0 before: there nothing changes with time."""


def _rows(
    input_time: np.ndarray, input: np.ndarray, begin: float, moments: Sequence[np.ndarray], turning: bool
) -> tuple[HeldInputs, list[np.ndarray]]:
    """Intervals between everything that happens, and where each moment lies among their ends."""
    late = [np.maximum(m, begin) for m in moments]
    end = max((float(m[-1]) for m in late if len(m)), default=begin)
    end = max(end, begin + 1e-9)  # at least one interval
    changes = input_time[(input_time > begin) & (input_time < end)]
    fine = np.arange(begin, end, LONGEST) if turning else np.empty(0)
    parts = [np.array([begin, end]), changes, *late]
    times, place = np.unique(np.concatenate([*parts, fine]), return_inverse=True)
    of_moments = place[2 + len(changes) : len(place) - len(fine)]
    places = np.split(of_moments, np.cumsum([len(m) for m in late])[:-1])
    acting = np.clip(np.searchsorted(input_time, times, side="right") - 1, 0, len(input) - 1)
    return hold_inputs(input[acting][:, None], np.diff(times)), places


def _states(
    input_time: np.ndarray,
    input: np.ndarray,
    moments: Sequence[np.ndarray],
    *,
    start: tuple[float, float, float],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
) -> list[np.ndarray]:
    """(position, velocity) in rows, at several sets of moments of one motion."""
    turning = gravity[1] != 0.0 or gravity[2] != 0.0
    p = [*gains, gravity[0], *(gravity[1:] if turning else ())]
    rows, places = _rows(input_time, input, start[0], moments, turning)
    states = mechanism_kernels(turning).trajectory(p, start[1:], rows)
    return [states[at] for at in places]


def motion(
    input_time: np.ndarray,
    input: np.ndarray,
    *,
    start: tuple[float, float, float],
    velocity_time: np.ndarray,
    position_time: np.ndarray,
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    velocity_delay: float = 0.0,
    position_delay: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """The motion that an input gives, as delayed sensors see it.

    Args:
        input_time: when the input changes [s].
        input: what holds from each of these times to the next [V, or A].
        start: (time, position, velocity) at which the motion begins [s, rad or m, and per second].
        velocity_time: when velocity is looked at [s].
        position_time: when position is [s].
        gains: (kS, kV, kA), at the output.
        gravity: (g_1, g_c, g_s): g_1 + g_c cos(angle) + g_s sin(angle) is the input that holds the weight.
        velocity_delay: by how much the velocity that is seen is old [s].
        position_delay: the same of the position.

    Returns:
        (velocity, position) at their times.
    """
    moments = (velocity_time - velocity_delay, position_time - position_delay)
    at_v, at_p = _states(input_time, input, moments, start=start, gains=gains, gravity=gravity)
    return at_v[:, 1], at_p[:, 0]


def _sensitive_motion(
    input_time: np.ndarray,
    input: np.ndarray,
    moments: Sequence[np.ndarray],
    turning: bool,
    *,
    start: tuple[float, float, float],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
) -> list[SampledMotion]:
    """Everything at several sets of moments of one motion.
    `turning` asks for the columns of an arm even where its gravity is 0."""
    p = [*gains, gravity[0], *(gravity[1:] if turning else ())]
    rows, places = _rows(input_time, input, start[0], moments, turning)
    values, slopes = mechanism_kernels(turning).sensitivities(p, start[1:], rows)
    return [
        SampledMotion(values=values[at], slopes=slopes[at], moving=(m >= start[0]).astype(float))
        for at, m in zip(places, moments, strict=True)
    ]


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
        *ends, p = (states[:, 0] for states in _states(s.time, s.input, moments, **how))
        return (ends[0] - ends[1]) / float(x[self.i_w]) if self.i_w is not None and ends else np.empty(0), p

    def predicted_velocity(self, x: np.ndarray, k: int) -> np.ndarray:
        """Velocity as it was reported, also where it was left out because position says it all."""
        if self.uses_velocity[k]:
            return self.one(x, k)[0]
        s, (_, d) = self.segments[k], self._delay(x, k)
        step = float(np.median(np.diff(s.position_time)))
        between = len(s.velocity) and np.min(np.abs(s.position_time - s.velocity_time[-1])) > 0.25 * step
        ends = s.velocity_time - d + (0.5 * step if between else 0.0)
        new, old = _states(s.time, s.input, [ends, ends - step], **self._segment_motion(x, k))
        return (new[:, 0] - old[:, 0]) / step

    def push_slopes(self, x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(prediction, its derivatives in the unknowns) of a segment, over the scatter of its channels; and
        one more derivative: in a constant that is taken off the input."""
        s, i_v, i_p = self.segments[k], self.i_v0[k], self.i_p0[k]
        how = self._segment_motion(x, k)
        begin, kA = how["start"], how["gains"][2]
        moments = [*self._moments(x, k), np.array([begin[0]])]
        *seen, first = _sensitive_motion(s.time, s.input, moments, self.turning, **how)
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
