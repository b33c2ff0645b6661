"""The accurate time step: second order away from friction events, exact sticking, stable for stiff bristles.

One step linearises the equation of motion in the mean velocity of the step and follows the linear answer
exactly (an exponential, in Pade form). With dry friction the moment of standstill is found inside the step,
and the rest of the step starts from exactly zero: stuck, or in the other direction. Internal states (current,
temperature, bristle, integral) then advance with the mean velocity that resulted.
"""

from __future__ import annotations

from typing import Any

from .actuator import Actuator, Over, State, bend, inertias, over, resistance
from .bench import Bench
from .drive import Inputs
from .friction import Bristle
from .maths import Scalar, clip, growth, side, slope, where


def step(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[dict[str, Scalar], Scalar, Over]:
    """(state after h seconds, mean velocity, what happened meanwhile)."""
    if bench.locked:
        return _commit(actuator, bench, state, inputs, 0.0 * state["velocity"], 0.0 * state["velocity"], h)
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
) -> tuple[dict[str, Scalar], Scalar, Over]:
    """The state after the step, for its final velocity v1 and mean velocity w."""
    t = over(actuator, bench, state, inputs, w, h)
    after = {"position": state["position"] + h * w, "velocity": v1, **t.hidden}
    if actuator.gearbox.backlash is not None:
        after["rotor_position"], after["rotor_velocity"] = state["rotor_position"] + h * w, v1
    if actuator.friction.bristle:
        J_load, J_rotor = inertias(actuator, bench, inputs)
        after["bristle"] = (
            state["bristle"]
            if bench.locked
            else bend(actuator, state["bristle"], *t[:4], J_load, J_rotor, w, h)[0]
        )
    return {name: after[name] for name in actuator.states}, w, t


def _smooth_velocity(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[Scalar, Scalar]:
    v, J = state["velocity"], sum(inertias(actuator, bench, inputs))

    def acceleration(w: Scalar) -> Scalar:
        t = over(actuator, bench, state, inputs, w, h)
        return (t.motor + t.load - t.drag) / J

    a, da = slope(acceleration, v)
    v1 = v + h * a * growth(h * da)
    return v1, 0.5 * (v + v1)


def _dry_velocity(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[Scalar, Scalar]:
    """Velocity after the step, and its mean, with friction that sticks."""
    v = state["velocity"]
    J_load, J_rotor = inertias(actuator, bench, inputs)
    J = J_load + J_rotor

    def torques(w: Scalar) -> tuple[Scalar, ...]:
        t = over(actuator, bench, state, inputs, w, h)
        forward, backward = (
            resistance(actuator, J_load, J_rotor, t.motor, t.load, t.drag, t.stribeck, d) for d in (1.0, -1.0)
        )
        return t.motor, t.load, t.drag, forward, backward

    (t_m, t_e, drag, forward, backward), (dt_m, dt_e, ddrag, dforward, dbackward) = slope(torques, v)
    free, dfree = t_m + t_e - drag, dt_m + dt_e - ddrag

    # From rest it moves only where the free torque exceeds what resists in that direction.
    ahead = (v > 0) | ((v == 0) & (free > forward))
    back = (v < 0) | ((v == 0) & (free < -backward))
    moves = ahead | back
    a = where(ahead, free - forward, free + backward) / J
    da = where(ahead, dfree - dforward, dfree + dbackward) / J
    v1 = where(moves, v + h * a * growth(h * da), 0.0)

    # Where the velocity would change sign it stops on the way, and the rest of the step starts from
    # standstill.
    stops = ((v > 0) & (v1 < 0)) | ((v < 0) & (v1 > 0))
    share = where(stops, v / where(stops, v - v1, 1.0), 1.0)
    t_m0, t_e0, drag0 = t_m - v * dt_m, t_e - v * dt_e, drag - v * ddrag
    free0 = t_m0 + t_e0 - drag0
    forward0, backward0 = (
        resistance(actuator, J_load, J_rotor, t_m0, t_e0, drag0, 1.0, d) for d in (1.0, -1.0)
    )
    a0 = where(free0 > forward0, free0 - forward0, where(free0 < -backward0, free0 + backward0, 0.0)) / J
    rest = (1.0 - share) * h * a0
    w = 0.5 * where(stops, share * v + (1.0 - share) * rest, v + v1)
    return where(stops, rest, v1), where(moves, w, 0.0)


def _bristle_velocity(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[Scalar, Scalar]:
    """Velocity after the step, and its mean, with a bristle.

    The bristle may be so stiff that it bends from end to end within a step. So the mean velocity is first
    guessed with the bristle as a spring that slips at its level, which has a closed answer, and linearised
    there.
    """
    assert isinstance(actuator.friction, Bristle)
    v, z = state["velocity"], state["bristle"]
    J_load, J_rotor = inertias(actuator, bench, inputs)
    J = J_load + J_rotor
    (t_m, t_e, drag, s), (dt_m, dt_e, ddrag, _) = slope(
        lambda w: over(actuator, bench, state, inputs, w, h)[:4], v
    )
    free, dfree = t_m + t_e - drag, dt_m + dt_e - ddrag

    # Guess: 2 J (w - v) / h = free + dfree (w - v) - bristle(w), bristle = clip(k z + (k h / 2 + c) w, -g, g)
    k, c = actuator.friction.stiffness, actuator.friction.micro_damping(v)
    g = resistance(actuator, J_load, J_rotor, t_m, t_e, drag, s, side(v))
    mass = 2.0 * J / h - dfree
    spring = (mass * v + free - k * z) / (mass + 0.5 * k * h + c)
    torque = clip(k * z + (0.5 * k * h + c) * spring, -g, g)
    guess = v + (free - torque) / mass

    def bristle(w: Scalar) -> Scalar:
        m, e, d = t_m + dt_m * (w - v), t_e + dt_e * (w - v), drag + ddrag * (w - v)
        return bend(actuator, z, m, e, d, actuator.friction.stribeck(w), J_load, J_rotor, w, h)[1]

    friction, dfriction = slope(bristle, guess)
    da = (dfree - dfriction) / J
    a = (free - friction) / J - dfriction / J * (
        v - guess
    )  # the linearisation, read off at the start of the step
    v1 = v + h * a * growth(h * da)
    return v1, 0.5 * (v + v1)


def _step_with_backlash(
    actuator: Actuator, bench: Bench, state: State, inputs: Inputs, h: Scalar
) -> tuple[dict[str, Scalar], Scalar, Over]:
    """Rotor and output as two masses with the teeth between them, both linearised at once;
    friction is the output's."""
    gearbox, friction = actuator.gearbox, actuator.friction
    q, v, q_r, v_r = state["position"], state["velocity"], state["rotor_position"], state["rotor_velocity"]
    J_load, J_rotor = inertias(actuator, bench, inputs)

    def rotor_side(w_r: Scalar) -> Scalar:
        return over(actuator, bench, state, inputs, v, h, rotor=w_r).motor

    def output_side(w: Scalar) -> tuple[Scalar, Scalar]:
        t = over(actuator, bench, state, inputs, w, h, rotor=v_r)
        return t.load, t.drag

    def teeth(closing: Scalar) -> Scalar:
        return gearbox.contact(q_r - q + 0.5 * h * closing, closing)

    tau, dtau = slope(rotor_side, v_r)
    (t_e, drag), (dt_e, ddrag) = slope(output_side, v)
    c, dc = slope(teeth, v_r - v)
    free = c + t_e - drag
    s = friction.stribeck(v)
    bristle_torque, dbristle = 0.0, 0.0
    if friction.bristle:
        assert isinstance(friction, Bristle)
        z = state["bristle"]
        bristle_torque, dbristle = slope(
            lambda w: friction.bend(z, w, friction.level(friction.stribeck(w), c, t_e, side(w)), h)[1], v
        )
        forward = backward = 0.0
    else:
        forward = resistance(actuator, J_load, 0.0, c, t_e, drag, s, 1.0)
        backward = resistance(actuator, J_load, 0.0, c, t_e, drag, s, -1.0)
    free = free - bristle_torque
    ahead = (v > 0) | ((v == 0) & (free > forward))
    back = (v < 0) | ((v == 0) & (free < -backward))
    resisting = where(ahead, -forward, where(back, backward, 0.0))
    moves = ahead | back
    # Implicit midpoint for both velocities: x = J dv / h, solved by Cramer's rule.
    a11 = J_rotor / h - 0.5 * (dtau - dc)
    a12 = -0.5 * dc
    a22 = J_load / h - 0.5 * (dt_e - ddrag - dc - dbristle)
    r1, r2 = tau - c, free + resisting
    determinant = a11 * a22 - a12 * a12
    v_r1 = v_r + where(moves, (r1 * a22 - a12 * r2) / determinant, r1 / a11)
    v1 = v + where(moves, (a11 * r2 - a12 * r1) / determinant, 0.0)
    if not friction.bristle:
        stops = ((v > 0) & (v1 < 0)) | ((v < 0) & (v1 > 0))
        share = where(stops, v / where(stops, v - v1, 1.0), 1.0)
        w = where(stops, 0.5 * share * v, 0.5 * (v + v1))
        v1 = where(stops, 0.0, v1)
    else:
        w = 0.5 * (v + v1)
    w_r = 0.5 * (v_r + v_r1)
    t = over(actuator, bench, state, inputs, w, h, rotor=w_r)
    after: dict[str, Any] = {
        "position": q + h * w,
        "velocity": v1,
        "rotor_position": q_r + h * w_r,
        "rotor_velocity": v_r1,
        **t.hidden,
    }
    if friction.bristle:
        assert isinstance(friction, Bristle)
        after["bristle"] = friction.bend(
            state["bristle"], w, friction.level(t.stribeck, c, t.load, side(w)), h
        )[0]
    return {name: after[name] for name in actuator.states}, w, t
