"""A mechanism as its gains describe it, u = kS sgn(v) + kV v + kA a + gravity, and its motion while the input
holds.

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


def sampled_states(
    input_time: np.ndarray,
    input: np.ndarray,
    moments: Sequence[np.ndarray],
    *,
    start: tuple[float, float, float],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
) -> list[np.ndarray]:
    """What a motion is at several sets of moments.

    Args:
        input_time: when the input changes [s].
        input: what holds from each of these times to the next [V, or A].
        moments: sets of times, each in order [s].
        start: (time, position, velocity) at which the motion begins [s, rad or m, and per second].
        gains: (kS, kV, kA), at the output.
        gravity: as of `motion`.

    Returns:
        For each set (position, velocity) in rows.
    """
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
    at_v, at_p = sampled_states(input_time, input, moments, start=start, gains=gains, gravity=gravity)
    return at_v[:, 1], at_p[:, 0]


def sensitive_motion(
    input_time: np.ndarray,
    input: np.ndarray,
    moments: Sequence[np.ndarray],
    turning: bool,
    *,
    start: tuple[float, float, float],
    gains: tuple[float, float, float],
    gravity: tuple[float, float, float],
) -> list[SampledMotion]:
    """What a motion is at several sets of moments, and how it answers to its numbers.

    Args:
        input_time: as of `sampled_states`, like `input`, `moments`, `start`, `gains` and `gravity`.
        input: see there.
        moments: see there.
        turning: an arm, which has its columns also where its gravity is 0.
        start: see `sampled_states`.
        gains: see there.
        gravity: see there.

    Returns:
        The motion of each set.
    """
    p = [*gains, gravity[0], *(gravity[1:] if turning else ())]
    rows, places = _rows(input_time, input, start[0], moments, turning)
    values, slopes = mechanism_kernels(turning).sensitivities(p, start[1:], rows)
    return [
        SampledMotion(values=values[at], slopes=slopes[at], moving=(m >= start[0]).astype(float))
        for at, m in zip(places, moments, strict=True)
    ]
