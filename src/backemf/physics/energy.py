"""The energy book: what goes in, what comes out, what is lost where, and what is stored.

electrical = copper + iron + conversion + friction + gear + load
             + change of (kinetic, magnetic, bristle, teeth, cogging, potential)
"""

from __future__ import annotations

from .actuator import Actuator, State, bend, bristle_deflections, inertias, resistance, winding_temperature
from .bench import Bench
from .drive import Inputs
from .maths import Scalar, absolute, side, where
from .native import StepResult

FLOWS = ("electrical", "copper", "iron", "conversion", "friction", "gear", "load")
"""Energy that moved in an interval [J]: taken in at the terminals, lost in the parts, or
given to the load."""


def flows(actuator: Actuator, bench: Bench, state: State, step: StepResult, h: Scalar) -> dict[str, Scalar]:
    """Energy moved in a step, for all motors together.

    Args:
        actuator: its parts.
        bench: what its output carries.
        state: before the step.
        step: the step that was taken.
        h: its length [s].

    Returns:
        [J], by the names of `FLOWS`.
    """
    motor, gearbox, friction = actuator.motor, actuator.gearbox, actuator.friction
    after, t, e, w = step.state, step.loads, step.over.electrical, step.w
    n, T = gearbox.n_motors, winding_temperature(actuator, state)
    w_r = gearbox.rotor_speed(step.w_rotor)
    copper = n * motor.resistance_at(T) * e.current.square * h
    converted = n * motor.back_emf_at(T) * w_r * e.current.mean * h
    magnetic = 0.0 * w
    if motor.inductance is not None:
        magnetic = 0.5 * n * motor.inductance * (after["current"] ** 2 - state["current"] ** 2)
    if motor.limits is None:
        electrical = n * e.voltage * e.current.mean * h
    else:  # a driver that holds the current lowers its voltage: the circuit tells by how much
        electrical = copper + converted + magnetic
    lost = friction.drag(w) * w * h
    if friction.offset is not None:
        lost = lost - friction.offset * w * h
    gear = 0.0 * w
    if friction.bristle:
        z = bristle_deflections(actuator, state)
        lost = lost + bend(actuator, step.J, t, z, w, h)[1] * w * h
        lost = lost - (
            friction.bristle_energy(bristle_deflections(actuator, after)) - friction.bristle_energy(z)
        )
    else:
        d = side(w)
        level = friction.level(t.stribeck, t.motor, t.load, d)
        lost = where(w == 0, 0.0, lost + level * absolute(w) * h)
        # Gears at rest lose nothing, nor where a locked output and a rotor without inertia leave 0/0.
        gear = where(w == 0, 0.0, (resistance(actuator, step.J, t, d) - level) * absolute(w) * h)
    if gearbox.backlash is not None:  # what the rotor puts into the teeth and the output does not get
        kept = _teeth(actuator, after) - _teeth(actuator, state)
        gear = gear + t.motor * (step.w_rotor - w) * h - kept
    return {
        "electrical": electrical,
        "copper": copper,
        "iron": n * motor.iron_heat(w_r) * h,
        "conversion": converted - n * e.torque * w_r * h,
        "friction": lost,
        "gear": gear,
        # Work done on what the load does not store: a damper, a recorded torque.
        "load": -t.load * w * h
        - (bench.potential_energy(after["position"]) - bench.potential_energy(state["position"])),
    }


def stored_energy(actuator: Actuator, bench: Bench, state: State, inputs: Inputs) -> Scalar:
    """Energy held in motion, magnetic field, bristle, teeth, cogging and the bench [J]; heat
    is not counted.

    Args:
        actuator: its parts.
        bench: what its output carries.
        state: by name.
        inputs: an inertia that varies in time is one of them.

    Returns:
        Of all motors together [J].
    """
    motor, gearbox = actuator.motor, actuator.gearbox
    J = inertias(actuator, bench, inputs)
    q, v = state["position"], state["velocity"]
    q_r, v_r = state.get("rotor_position", q), state.get("rotor_velocity", v)
    total = 0.5 * J.load * v * v + 0.5 * J.rotor * v_r * v_r + bench.potential_energy(q)
    if motor.inductance is not None:
        total = total + 0.5 * gearbox.n_motors * motor.inductance * state["current"] ** 2
    if actuator.friction.bristle:
        total = total + actuator.friction.bristle_energy(bristle_deflections(actuator, state))
    if gearbox.backlash is not None:
        total = total + _teeth(actuator, state)
    if motor.cogging is not None:
        total = total + gearbox.n_motors * motor.cogging.energy(gearbox.rotor_speed(q_r))
    return total


def _teeth(actuator: Actuator, state: State) -> Scalar:
    return actuator.gearbox.contact_energy(state["rotor_position"] - state["position"])
