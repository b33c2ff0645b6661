"""A mechanism as its gains describe it, u = kS sgn(v) + kV v + kA a + gravity, and its motion while the input
holds.

Between changes of the input the motion is followed exactly, through a standstill on the way too: there it
stays at rest, or leaves the other way. Only gravity that turns with the angle is held over a step, at the
step's middle.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...engine.compile.kernels import Kernels, kernels
from ...engine.rows import HeldInputs, hold_inputs
from ...engine.system import Results, Row
from ...physics.maths import SMALL, Scalar, absolute, cos, expm1, log1p, mean_decay, side, sin, where
from ...physics.quantity import Part, parameters, part, quantity, structure, substitute


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
    """(position, velocity) after h seconds at a held input."""
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
    x = rate * h
    first = h * mean_decay(x)
    second = h * h * _second_decay(x)
    slope = a - rate * v
    return v * h + slope * second, v + slope * first


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
    """What `System` is for an actuator on a bench:
    the names of the numbers, the step and what can be seen."""

    mechanism: Mechanism
    inputs: tuple[str, ...] = ("effort",)
    outputs: tuple[str, ...] = ("position", "velocity", "acceleration")

    @property
    def parameters(self) -> dict[str, float]:
        return parameters(self.mechanism)

    @property
    def states(self) -> tuple[str, ...]:
        return "position", "velocity"

    @property
    def extra(self) -> tuple[str, ...]:
        return ()

    @property
    def key(self) -> tuple:
        return structure(self.mechanism), self.inputs, self.outputs

    def initial_state(self, **given: float) -> dict[str, float]:
        return {"position": 0.0, "velocity": 0.0, **given}

    def with_parameters(self, p: Row) -> Mechanism:
        return substitute(self.mechanism, dict(zip(self.parameters, p, strict=True)))

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        return step(self.with_parameters(p), s[0], s[1], u[0], h)

    def observe(self, p: Row, s: Row, u: Row) -> Results:
        now = {
            "position": s[0],
            "velocity": s[1],
            "acceleration": acceleration(self.with_parameters(p), s[0], s[1], u[0]),
        }
        return tuple(now[name] for name in self.outputs)


@functools.cache
def mechanism_kernels(turning: bool) -> Kernels:
    """The loops of a mechanism; `turning` is an arm, whose gravity changes with its angle.
    Every gain and the start are free."""
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
    places = (
        np.split(place[2 + len(changes) : len(place) - len(fine)], np.cumsum([len(m) for m in late])[:-1])
        if late
        else []
    )
    acting = np.clip(np.searchsorted(input_time, times, side="right") - 1, 0, len(input) - 1)
    return hold_inputs(input[acting][:, None], np.diff(times)), places


def _parameters(gains: Sequence[float], gravity: Sequence[float]) -> tuple[list[float], bool]:
    turning = gravity[1] != 0.0 or gravity[2] != 0.0
    return [*gains, gravity[0], *(gravity[1:] if turning else ())], turning


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
    """(velocity, position) at their times. `start` is (time, position, velocity), `gains` (kS, kV,
    kA), `gravity` (g_1, g_c, g_s)."""
    p, turning = _parameters(gains, gravity)
    rows, (at_v, at_p) = _rows(
        input_time, input, start[0], (velocity_time - velocity_delay, position_time - position_delay), turning
    )
    states = mechanism_kernels(turning).trajectory(p, start[1:], rows)
    return states[at_v, 1], states[at_p, 0]


def positions(
    input_time: np.ndarray,
    input: np.ndarray,
    *,
    start: tuple[float, float, float],
    moments: Sequence[np.ndarray],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
) -> list[np.ndarray]:
    """Position at several sets of moments of one motion."""
    p, turning = _parameters(gains, gravity)
    rows, places = _rows(input_time, input, start[0], moments, turning)
    states = mechanism_kernels(turning).trajectory(p, start[1:], rows)
    return [states[at, 0] for at in places]


def sensitive_motion(
    input_time: np.ndarray,
    input: np.ndarray,
    *,
    start: tuple[float, float, float],
    moments: Sequence[np.ndarray],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
    turning: bool,
) -> list[SampledMotion]:
    """Everything at several sets of moments of one motion.
    `turning` asks for the columns of an arm even where its gravity is 0."""
    p = [*gains, gravity[0], *(gravity[1:] if turning else ())]
    rows, places = _rows(input_time, input, start[0], moments, turning)
    values, slopes = mechanism_kernels(turning).sensitivities(p, start[1:], rows)
    begun = [(m >= start[0]).astype(float) for m in moments]
    return [
        SampledMotion(values=values[at], slopes=slopes[at], moving=b)
        for at, b in zip(places, begun, strict=True)
    ]
