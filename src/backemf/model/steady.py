"""Steady states in closed form: torque at a speed, current at a load,
the current a winding can carry for ever."""

from __future__ import annotations

import math

from .actuator import Actuator
from .maths import Scalar, exp, mean_decay, side, where
from .thermal import Thermal, TwoNodeThermal


def ideal_speed(actuator: Actuator, v: float) -> float:
    """Speed at the output at which the back-EMF equals the voltage [rad/s]."""
    return v / (actuator.motor.back_emf_at(None) * abs(actuator.gearbox.ratio))


def steady_current(actuator: Actuator, v: Scalar, w: Scalar) -> Scalar:
    """Current of each motor at output speed w, cold, within its limit [A]."""
    motor = actuator.motor
    return motor.steady_current(
        v, actuator.gearbox.rotor_speed(w), None, None if motor.limits is None else motor.limits.current
    )


def electrical_torque(actuator: Actuator, v: Scalar, w: Scalar) -> Scalar:
    """Torque of the motors at the output before friction and gears [N m]."""
    return actuator.gearbox.output_torque(actuator.motor.torque_at(steady_current(actuator, v, w), None))


def net_torque(actuator: Actuator, v: Scalar, w: Scalar) -> Scalar:
    """Torque left at the output at steady speed: after iron drag, gear loss, drag and dry friction [N m]."""
    motor, gearbox, friction = actuator.motor, actuator.gearbox, actuator.friction
    direction = side(w)
    tau = electrical_torque(actuator, v, w) - gearbox.output_torque(motor.iron_drag(gearbox.rotor_speed(w)))
    if gearbox.efficiency is not None:
        tau = where(tau * direction > 0, gearbox.efficiency * tau, tau / gearbox.efficiency)
    return tau - friction.drag(w) - direction * friction.level(friction.stribeck(w), tau, -tau, direction)


def thermal_resistance(thermal: Thermal | TwoNodeThermal) -> float:
    """Winding to ambient [K/W]."""
    return (
        thermal.winding_resistance + thermal.housing_resistance
        if isinstance(thermal, TwoNodeThermal)
        else thermal.resistance
    )


def continuous_current(actuator: Actuator, most: float) -> float:
    """Current that holds the winding at a temperature `most` for ever [A]."""
    thermal, motor = actuator.motor.thermal, actuator.motor
    assert thermal is not None
    return math.sqrt(
        max(most - thermal.ambient, 0.0) / (thermal_resistance(thermal) * motor.resistance_at(most))
    )


def coasting_speed(t: Scalar, w_0: Scalar, dry: Scalar, drag: Scalar) -> Scalar:
    """Speed of a shaft left alone: dw/dt = -dry - drag w, with tau_c / J and B / J [rad/s^2, 1/s],
    until it stops."""
    return w_0 * exp(-drag * t) - dry * t * mean_decay(drag * t)
