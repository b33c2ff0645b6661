"""The energy book: what goes in, what comes out, what is lost where, and what is stored.

electrical = copper + iron + conversion + friction + gear + load + change of (kinetic, magnetic, bristle,
cogging, potential)
"""

from __future__ import annotations

from .actuator import Actuator, Over, State, bend, inertias, resistance, winding_temperature
from .bench import Bench
from .drive import Inputs
from .friction import Bristle
from .maths import Scalar, absolute, side, where

FLOWS = ("electrical", "copper", "iron", "conversion", "friction", "gear", "load")
"""Energy that moved in an interval [J]: taken in at the terminals, lost in the parts, or given to the load.
"""


def flows(
    actuator: Actuator,
    bench: Bench,
    state: State,
    after: State,
    inputs: Inputs,
    w: Scalar,
    t: Over,
    h: Scalar,
) -> dict[str, Scalar]:
    """Energy moved in an interval of h seconds that ran at mean velocity w, for all motors together [J]."""
    motor, gearbox = actuator.motor, actuator.gearbox
    n, T = gearbox.n_motors, winding_temperature(actuator, state)
    q0, q1 = state["position"], after["position"]
    w_r = gearbox.rotor_speed(w)
    i, R = t.electrical.current, motor.resistance_at(T)
    copper = n * R * i.square * h
    converted = n * motor.back_emf_at(T) * w_r * i.mean * h
    magnetic = (
        0.0
        if motor.inductance is None
        else 0.5 * n * motor.inductance * (after["current"] ** 2 - state["current"] ** 2)
    )
    if motor.limits is None:
        electrical = n * t.electrical.voltage * i.mean * h
    else:  # a driver that holds the current lowers its voltage: the circuit tells by how much
        electrical = copper + converted + magnetic
    shaft = n * t.electrical.torque * w_r * h
    J_load, J_rotor = inertias(actuator, bench, inputs)
    drag = actuator.friction.drag(w) * w * h
    if actuator.friction.bristle:
        z0, z1, k = state["bristle"], after["bristle"], _stiffness(actuator)
        friction = (
            drag
            + bend(actuator, z0, *t[:4], J_load, J_rotor, w, h)[1] * w * h
            - 0.5 * k * (z1 * z1 - z0 * z0)
        )
        gear = 0.0 * w
    else:
        d = side(w)
        level = actuator.friction.level(t.stribeck, t.motor, t.load, d)
        friction = drag + level * absolute(w) * h
        gear = (
            (resistance(actuator, J_load, J_rotor, t.motor, t.load, t.drag, t.stribeck, d) - level)
            * absolute(w)
            * h
        )
    if actuator.friction.offset is not None:
        friction = friction - actuator.friction.offset * w * h
    # Work done on what the load does not store: a damper, a recorded torque.
    load = -t.load * w * h - (bench.stored(q1) - bench.stored(q0))
    iron = 0.0 * w if motor.iron_loss is None else n * motor.iron_loss * w_r * w_r * h
    return {
        "electrical": electrical,
        "copper": copper,
        "iron": iron,
        "conversion": converted - shaft,
        "friction": where(w == 0, 0.0, friction) if not actuator.friction.bristle else friction,
        "gear": gear,
        "load": load,
    }


def stored(actuator: Actuator, bench: Bench, state: State, inputs: Inputs) -> Scalar:
    """Energy held in motion, magnetic field, bristle, cogging and the bench [J]; heat is not counted."""
    motor, gearbox = actuator.motor, actuator.gearbox
    J = sum(inertias(actuator, bench, inputs))
    q, v = state["position"], state["velocity"]
    total = 0.5 * J * v * v + bench.stored(q)
    if motor.inductance is not None:
        total = total + 0.5 * gearbox.n_motors * motor.inductance * state["current"] ** 2
    if actuator.friction.bristle:
        total = total + 0.5 * _stiffness(actuator) * state["bristle"] ** 2
    if motor.cogging is not None:
        total = total + gearbox.n_motors * motor.cogging.stored(gearbox.rotor_speed(q))
    return total


def _stiffness(actuator: Actuator) -> Scalar:
    assert isinstance(actuator.friction, Bristle)
    return actuator.friction.stiffness
