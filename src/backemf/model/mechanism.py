"""A mechanism as its gains describe it, u = kS sgn(v) + kV v + kA a + gravity, and its motion while the input
holds.

Between changes of the input the motion is followed exactly, through a standstill on the way too: there it
stays at rest, or leaves the other way. Only gravity that turns with the angle is held over a step, at the
step's middle.
"""

from __future__ import annotations

from .maths import SMALL, Scalar, absolute, cos, expm1, log1p, mean_decay, side, sin, where
from .quantity import Part, part, quantity


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
