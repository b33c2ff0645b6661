"""MuJoCo's dcmotor: one time step exactly as the engine takes it, from the same winding, friction and cogging
functions as `native`.

The state is the joint's position and velocity and the engine's own activations, in the order of `states`.
Plain numbers, arrays of many states and JAX tracers all pass through; `dcmotor.py` has the parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..physics.friction import LuGre, Viscous
from ..physics.maths import Scalar, absolute, clip, exp, is_number, where
from ..physics.motor import Motor
from ..physics.quantity import present
from .dcmotor import (
    DcMotor as DcMotor,
    DcMotorJoint,
    Engine as Engine,
    Rules as Rules,
    initial_state as initial_state,
    rules as rules,
    states as states,
)

State = Mapping[str, Scalar]
STILL = 1e-15
"""Below this rate [1/s] the engine takes a bristle's growth for linear in time."""
_C_EXP = np.frompyfunc(math.exp, 1, 1)


class Moment(NamedTuple):
    """What the actuator does in one state: the activations' rates, its force, and what limits act."""

    rates: dict[str, Scalar]
    force: Scalar
    """`actuator_force`: electrical, cogging and bristle."""
    electrical: Scalar
    regulated: Scalar
    """Voltage of the controller alone."""


def moment(dcmotor: DcMotor, engine: Engine, state: State, ctrl: Sequence[Scalar]) -> Moment:
    """Rates of the activations, and the force, at the joint's position and velocity.

    Args:
        dcmotor: the actuator.
        engine: the version of MuJoCo, and its time step.
        state: position and velocity of the joint, and the activations, by name.
        ctrl: a number for each input of its controller.

    Returns:
        What the actuator does, on its own side of the gear.

    Raises:
        InvalidValue: its inputs are of another era than the engine's, or ctrl of another length.
    """
    motor, controller, rule, h = dcmotor.motor, dcmotor.controller, engine.rules, engine.timestep
    lugre, heat = dcmotor.lugre, dcmotor.heat
    if controller.era != rule.era:
        raise InvalidValue(
            f"the inputs {controller.inputs!r} are of era {controller.era}, MuJoCo {engine.version} of era"
            f" {rule.era}; convert the gains first"
        )
    l, w = dcmotor.gear * state["position"], dcmotor.gear * state["velocity"]
    u, rates = controller.commands(ctrl), {}
    if controller.slew is not None:
        before, most = state["setpoint"], controller.slew * h
        first = clip(u[0], before - most, before + most)
        rates["setpoint"] = (first - before) / h
        u = (first, *u[1:])
    x = state.get("integral", 0.0)
    if controller.ki is not None:
        rates["integral"] = controller.integrand(u, l, x, rule.integral_gate)
    regulated = controller.regulate(motor, u, l, w, x)
    v, T = regulated + controller.added_voltage(u), _temperature(dcmotor, state)
    steady = motor.steady_current(v, w, T, None)
    i = steady if motor.inductance is None else state["current"]
    if heat is not None:
        R_T, C, heating = (
            heat.resistance,
            heat.capacitance,
            _hold_current(motor, i) if rule.heat_limited else i,
        )
        P = motor.resistance_at(T) * heating * heating
        rates["temperature_rise"] = (P - state["temperature_rise"] / R_T) / C
    if motor.inductance is not None:
        rate = None if motor.limits is None else motor.limits.current_rate
        t_e = _time_constant(motor, T, rule)
        rates["current"] = (steady - i) / t_e if rate is None else clip((steady - i) / t_e, -rate, rate)
        if rule.next_current:
            i = i + rates["current"] * t_e * (1.0 - exp(-h / t_e))
    elif controller.inputs == "voltage" and not rule.voltage_mode_limited:
        # era 1 heats with the limited voltage and pushes with the unlimited one
        i = motor.steady_current(u[0], w, T, None)
    electrical = motor.torque_at(i, T)
    force = electrical if motor.cogging is None else electrical + motor.cogging.torque(l)
    if lugre is not None:
        z, sigma_0, sigma_1 = state["bristle"], lugre.stiffness, lugre.damping
        rates["bristle"] = w - sigma_0 * absolute(w) / _slip(lugre, w) * z
        force = force - (sigma_0 * z + sigma_1 * rates["bristle"])
    return Moment(rates, force, electrical, regulated)


def _temperature(dcmotor: DcMotor, state: State) -> Scalar | None:
    heat = dcmotor.heat
    return None if heat is None else state["temperature_rise"] + heat.ambient


def _hold_current(motor: Motor, i: Scalar) -> Scalar:
    tau = None if motor.limits is None else motor.limits.torque
    return i if tau is None else clip(i, -tau / motor.torque_constant, tau / motor.torque_constant)


def _time_constant(motor: Motor, T: Scalar | None, rule: Rules) -> Scalar:
    R = motor.resistance if rule.fixed_time_constant else motor.resistance_at(T)
    return present(motor.inductance) / R


def _slip(lugre: LuGre, w: Scalar) -> Scalar:
    return lugre.level(lugre.stribeck(w), 0.0, 0.0, 1.0)


def _bend_bristle(lugre: LuGre, z: Scalar, w: Scalar, h: float) -> Scalar:
    """The bristle after a step, rounded as the engine rounds it: e^{ah} z + (e^{ah} - 1)/a w.

    For a slow bristle e^{ah} is next to 1, and its last digit is most of what is left of e^{ah} - 1; the
    model's own `bend` keeps those digits, the engine does not.
    """
    a = -lugre.stiffness * absolute(w) / _slip(lugre, w)
    kept, still = _exp_of_c(a * h), absolute(a) < STILL
    return kept * z + where(still, h, (kept - 1.0) / where(still, -1.0, a)) * w


def _exp_of_c(x: Any) -> Any:
    """e^x by the C library, as the engine has it: NumPy's own differs in the last bit."""
    if is_number(x):
        return math.exp(x)
    return np.asarray(_C_EXP(x), dtype=float) if isinstance(x, np.ndarray) else exp(x)


def advance(dcmotor: DcMotor, engine: Engine, state: State, rates: State, w: Scalar) -> dict[str, Scalar]:
    """The activations after a step: exact exponentials for current and bristle, Euler for the rest.

    Args:
        dcmotor: the actuator.
        engine: the version of MuJoCo, and its time step.
        state: where the step begins, by name.
        rates: of the activations.
        w: velocity that bends the bristle, on the actuator's side of the gear.

    Returns:
        The activations by name.
    """
    motor, lugre, controller, h = dcmotor.motor, dcmotor.lugre, dcmotor.controller, engine.timestep
    after = {name: state[name] + h * rates[name] for name in states(dcmotor)}
    if controller.ki is not None and controller.integral_limit is not None:
        after["integral"] = clip(after["integral"], -controller.integral_limit, controller.integral_limit)
    if lugre is not None:
        after["bristle"] = _bend_bristle(lugre, state["bristle"], w, h)
    if motor.inductance is not None:
        t_e = _time_constant(motor, _temperature(dcmotor, state), engine.rules)
        after["current"] = state["current"] + rates["current"] * t_e * (1.0 - exp(-h / t_e))
    return after


def force_slope(dcmotor: DcMotor, engine: Engine, state: State, at: Moment) -> Scalar:
    """d force / d velocity in actuator space, as the implicit integrators use it:
    not the true one, see `Rules.derivative`."""
    motor, controller, rule, h = dcmotor.motor, dcmotor.controller, engine.rules, engine.timestep
    limits, K, R, dv = motor.limits, motor.torque_constant, motor.resistance, controller.slope(motor)
    torque = None if limits is None else limits.torque
    rate = None if limits is None else limits.current_rate
    if rule.derivative > 1:
        R = motor.resistance_at(_temperature(dcmotor, state))
    if rule.derivative == 3 and controller.regulates and controller.voltage_limit is not None:
        dv = where(absolute(at.regulated) >= controller.voltage_limit, 0.0, dv)
    b = K * (dv - K) / R
    if motor.inductance is not None:
        b = b * (1.0 - exp(-h * motor.resistance / motor.inductance))
        if rule.derivative == 3 and rate is not None:
            b = where(absolute(at.rates["current"]) >= rate, 0.0, b)
    if rule.derivative == 3 and torque is not None:
        b = where(absolute(at.electrical) >= torque, 0.0, b)
    if dcmotor.lugre is not None:
        b = b - dcmotor.lugre.damping
    if rule.derivative < 3 and torque is not None:
        b = where(absolute(at.force) >= torque, 0.0, b)
    return b


def drag_slope(friction: Viscous, v: Scalar) -> Scalar:
    """d drag / dv."""
    b = friction.viscous
    if friction.viscous_quadratic is not None:
        b = b + 2.0 * friction.viscous_quadratic * absolute(v)
    return b if friction.viscous_cubic is None else b + 3.0 * friction.viscous_cubic * v * v


def step(
    dcmotor: DcMotor, joint: DcMotorJoint, engine: Engine, state: State, ctrl: Sequence[Scalar]
) -> dict[str, Scalar]:
    """The state one time step later.

    Args:
        dcmotor: the actuator.
        joint: what it drives.
        engine: the version of MuJoCo, its integrator and time step.
        state: position and velocity of the joint, and the activations, by name.
        ctrl: a number for each input of its controller.

    Returns:
        The same names with their new numbers.

    Raises:
        InvalidValue: its inputs are of another era than the engine's, or ctrl of another length.
    """
    N, h, q, v = dcmotor.gear, engine.timestep, state["position"], state["velocity"]
    M = joint.inertia + joint.armature + N * N * dcmotor.motor.rotor_inertia

    def torque(s: State, at: Moment) -> Scalar:
        drag = N * N * dcmotor.friction.drag(s["velocity"]) + joint.damping.drag(s["velocity"])
        return N * at.force + joint.torque(s["position"], s["velocity"]) - drag

    at = moment(dcmotor, engine, state, ctrl)
    if engine.integrator == "RK4":
        return _runge_kutta(dcmotor, engine, state, ctrl, at, lambda s, a: torque(s, a) / M)
    b = N * N * drag_slope(dcmotor.friction, v) + drag_slope(joint.damping, v)
    if engine.integrator != "Euler":
        b = b - N * N * force_slope(dcmotor, engine, state, at)
    v1 = v + h * torque(state, at) / (M + h * b)
    return {"position": q + h * v1, "velocity": v1, **advance(dcmotor, engine, state, at.rates, N * v)}


def _runge_kutta(
    dcmotor: DcMotor,
    engine: Engine,
    state: State,
    ctrl: Sequence[Scalar],
    at: Moment,
    acceleration: Callable[..., Scalar],
) -> dict[str, Scalar]:
    """Four stages by Euler, then one advance of the activations with their mean rate and the whole step."""
    h, N, now, mean = engine.timestep, dcmotor.gear, state, dict.fromkeys(state, 0.0)
    for share, weight in ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (None, 1 / 6)):
        rates = {"position": now["velocity"], "velocity": acceleration(now, at), **at.rates}
        mean = {name: mean[name] + weight * rates[name] for name in mean}
        if share is not None:
            now = {name: state[name] + share * h * rates[name] for name in state}
            at = moment(dcmotor, engine, now, ctrl)
    w = N * (now if engine.rules.bristle_velocity == "last stage" else state)["velocity"]
    moved = {name: state[name] + h * mean[name] for name in ("position", "velocity")}
    return {**moved, **advance(dcmotor, engine, state, mean, w)}
