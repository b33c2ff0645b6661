"""The accurate time step: second order away from friction events, exact sticking, stable for stiff bristles.

One step linearises the equation of motion in the mean velocity of the step and follows the linear answer
exactly (an exponential, in Pade form). With dry friction the moment of standstill is found inside the step,
and the rest of the step starts from exactly zero: stuck, or in the other direction. Internal states (current,
temperature, bristle, integral) then advance with the mean velocity that resulted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .actuator import (
    Actuator,
    Inertias,
    Loads,
    Over,
    State,
    bend,
    bristle_deflections,
    inertias,
    over,
    resistance,
)
from .bench import Bench
from .drive import Inputs
from .maths import Scalar, clip, growth, side, slope, where


class StepResult(NamedTuple):
    """A step that was taken."""

    state: dict[str, Scalar]
    """After it."""
    w: Scalar
    """Mean velocity of the output."""
    w_rotor: Scalar
    """Mean velocity of the rotor, at the output's scale."""
    over: Over
    """What happened meanwhile."""
    loads: Loads
    """The torques that friction saw: behind backlash the teeth's in place of the motor's."""
    J: Inertias
    """What friction saw of the inertias."""


def step(actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar) -> StepResult:
    """One time step.

    Args:
        actuator: its parts.
        bench: what its output carries.
        state: before it, by name.
        inputs: held over it.
        h: its length [s].

    Returns:
        The state h seconds later, and what happened meanwhile.
    """
    if bench.locked:
        still = 0.0 * state["velocity"]
        return _commit(actuator, bench, state, inputs, still, still, h)
    if actuator.gearbox.backlash is not None:
        return _step_with_backlash(actuator, bench, state, inputs, h)
    if actuator.friction.bristle:
        v1, w = _bristle_velocity(actuator, bench, state, inputs, h)
    elif actuator.friction.dry or actuator.gearbox.efficiency is not None:
        v1, w = _dry_velocity(actuator, bench, state, inputs, h)
    else:
        v1, w = _smooth_velocity(actuator, bench, state, inputs, h)
    return _commit(actuator, bench, state, inputs, v1, w, h)


def _commit(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, v1: Scalar, w: Scalar, h: Scalar
) -> StepResult:
    """The state after the step, for its final velocity v1 and mean velocity w."""
    t = over(actuator, bench, state, inputs, w, h)
    J = inertias(actuator, bench, inputs)
    after = {"position": state["position"] + h * w, "velocity": v1, **t.hidden}
    if actuator.gearbox.backlash is not None:
        after["rotor_position"], after["rotor_velocity"] = state["rotor_position"] + h * w, v1
    z = bristle_deflections(actuator, state)
    if z and not bench.locked:
        z = bend(actuator, J, t.loads, z, w, h)[0]
    after |= dict(zip(actuator.friction.bristles, z, strict=True))
    return StepResult({name: after[name] for name in actuator.states}, w, w, t, t.loads, J)


def _smooth_velocity(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[Scalar, Scalar]:
    v, J = state["velocity"], sum(inertias(actuator, bench, inputs))
    a, da = slope(lambda w: over(actuator, bench, state, inputs, w, h).loads.free / J, v)
    v1 = v + h * a * growth(h * da)
    return v1, 0.5 * (v + v1)


def _dry_velocity(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[Scalar, Scalar]:
    """Velocity after the step, and its mean, with friction that sticks."""
    v, J = state["velocity"], inertias(actuator, bench, inputs)
    mass = J.load + J.rotor

    def torques(w: Scalar) -> tuple[Loads, Scalar, Scalar]:
        t = over(actuator, bench, state, inputs, w, h).loads
        return t, resistance(actuator, J, t, 1.0), resistance(actuator, J, t, -1.0)

    (t, forward, backward), (dt, dforward, dbackward) = slope(torques, v)

    # From rest it moves only where the free torque exceeds what resists in that direction.
    ahead = where(v == 0, t.free, v) >= 0
    moves = (v != 0) | (t.free > forward) | (t.free < -backward)
    a = (t.free - where(ahead, forward, -backward)) / mass
    da = (dt.free - where(ahead, dforward, -dbackward)) / mass
    v1 = where(moves, v + h * a * growth(h * da), 0.0)

    # Where the velocity would change sign it stops on the way, and the rest of the step starts from
    # standstill; it is followed like a step of its own, so that a stiff drive cannot throw it.
    stops = v * v1 < 0
    share = where(stops, v / where(stops, v - v1, 1.0), 1.0)
    rest = actuator.friction.resting(state, h)
    still = Loads(t.motor - v * dt.motor, t.load - v * dt.load, t.drag - v * dt.drag, rest)
    forward0, backward0 = resistance(actuator, J, still, 1.0), resistance(actuator, J, still, -1.0)
    leaves_ahead, leaves_back = still.free > forward0, still.free < -backward0
    a0 = where(leaves_ahead, still.free - forward0, where(leaves_back, still.free + backward0, 0.0)) / mass
    left = (1.0 - share) * h
    v2 = left * a0 * growth(left * dt.free / mass)
    w = 0.5 * where(stops, share * v + (1.0 - share) * v2, v + v1)
    return where(stops, v2, v1), w  # where nothing moves both velocities are 0, and their mean


def _bristle_velocity(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[Scalar, Scalar]:
    """Velocity after the step, and its mean, with a bristle.

    The bristle may be so stiff that it bends from end to end within a step. So the mean velocity is first
    guessed with the bristle as a spring that slips at its level, which has a closed answer, and linearised
    there.
    """
    v, z, J = state["velocity"], bristle_deflections(actuator, state), inertias(actuator, bench, inputs)
    mass = J.load + J.rotor
    t, dt = slope(lambda w: over(actuator, bench, state, inputs, w, h).loads, v)

    # Guess: 2 J (w - v) / h = free + dfree (w - v) - bristle(w), bristle = clip(p + (k h / 2 + c) w, -g, g)
    p, k, c = actuator.friction.spring(z, v)
    g = resistance(actuator, J, t, side(v))
    stiff = 2.0 * mass / h - dt.free
    spring = (stiff * v + t.free - p) / (stiff + 0.5 * k * h + c)
    torque = clip(p + (0.5 * k * h + c) * spring, -g, g)
    guess = v + (t.free - torque) / stiff

    def bristle(w: Scalar) -> Scalar:
        x = w - v
        moved = Loads(
            t.motor + dt.motor * x, t.load + dt.load * x, t.drag + dt.drag * x, actuator.friction.stribeck(w)
        )
        return bend(actuator, J, moved, z, w, h)[1]

    friction, dfriction = slope(bristle, guess)
    da = (dt.free - dfriction) / mass
    a = (t.free - friction - dfriction * (v - guess)) / mass  # the linearisation, read off at the start
    v1 = v + h * a * growth(h * da)
    return v1, 0.5 * (v + v1)


def _step_with_backlash(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> StepResult:
    """Rotor and output as two masses with the teeth between them, both linearised at once;
    friction and gear loss are the output's."""
    gearbox, friction = actuator.gearbox, actuator.friction
    q, v, q_r, v_r = (state[name] for name in ("position", "velocity", "rotor_position", "rotor_velocity"))
    both = inertias(actuator, bench, inputs)
    J = Inertias(both.load, 0.0 * both.rotor)  # the gears' loss is behind the teeth

    def teeth(closing: Scalar) -> Scalar:
        return gearbox.contact(q_r - q + 0.5 * h * closing, closing)

    t, dt = slope(lambda w: over(actuator, bench, state, inputs, w, h, rotor=v_r).loads, v)
    dtau = slope(lambda w_r: over(actuator, bench, state, inputs, v, h, rotor=w_r).loads.motor, v_r)[1]
    c, dc = slope(teeth, v_r - v)
    loads = t._replace(motor=c)
    dload = dt.load - dt.drag
    if friction.bristle:
        z = bristle_deflections(actuator, state)

        def hold_bristle(w: Scalar) -> Scalar:
            return bend(actuator, J, loads._replace(stribeck=friction.stribeck(w)), z, w, h)[1]

        torque, dtorque = slope(hold_bristle, v)
        resisting, moves = -torque, True
        dload = dload - dtorque
    else:
        forward, backward = resistance(actuator, J, loads, 1.0), resistance(actuator, J, loads, -1.0)
        ahead = (v > 0) | ((v == 0) & (loads.free > forward))
        back = (v < 0) | ((v == 0) & (loads.free < -backward))
        resisting, moves = where(ahead, -forward, where(back, backward, 0.0)), ahead | back
    # Implicit midpoint for both velocities, solved by Cramer's rule.
    a11 = both.rotor / h - 0.5 * (dtau - dc)
    a12 = -0.5 * (dt.motor + dc)
    a21 = -0.5 * dc
    a22 = both.load / h - 0.5 * (dload - dc)
    r1, r2 = t.motor - c, loads.free + resisting
    determinant = a11 * a22 - a12 * a21
    v_r1 = v_r + where(moves, (r1 * a22 - a12 * r2) / determinant, r1 / a11)
    v1 = v + where(moves, (a11 * r2 - a21 * r1) / determinant, 0.0)
    w, w_r = 0.5 * (v + v1), 0.5 * (v_r + v_r1)
    if not friction.bristle:
        stops = ((v > 0) & (v1 < 0)) | ((v < 0) & (v1 > 0))
        share = where(stops, v / where(stops, v - v1, 1.0), 1.0)
        w, v1 = where(stops, 0.5 * share * v, w), where(stops, 0.0, v1)
    after = over(actuator, bench, state, inputs, w, h, rotor=w_r)
    seen = after.loads._replace(motor=teeth(w_r - w))
    new: dict[str, Any] = {"position": q + h * w, "velocity": v1, **after.hidden}
    new |= {"rotor_position": q_r + h * w_r, "rotor_velocity": v_r1}
    if friction.bristle:
        z = bend(actuator, J, seen, bristle_deflections(actuator, state), w, h)[0]
        new |= dict(zip(friction.bristles, z, strict=True))
    return StepResult({name: new[name] for name in actuator.states}, w, w_r, after, seen, J)
