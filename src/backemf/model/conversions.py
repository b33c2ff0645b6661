"""Closed forms: the source documents' own formulas, corrected where they are wrong (see docs/errata.md).

Nothing here simulates. These are the numbers people compute by hand: servo gains for a simulator's position
actuator, feedforward gains of a mechanism, Isaac Lab's triple.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class PositionActuator(NamedTuple):
    """MuJoCo's affine actuator tau = a u + b_1 l + b_2 l', and the same as the attributes of `<position>`."""

    a: float
    b_1: float
    b_2: float

    @property
    def kp(self) -> float:
        """N m/rad."""
        return self.a

    @property
    def kv(self) -> float:
        """N m s/rad; positive."""
        return -self.b_2


def servo_actuator(
    *, torque_constant: float, back_emf_constant: float, resistance: float, volts_per_degree: float
) -> PositionActuator:
    """Document 000, equation 7: a proportional servo whose gain is in volts per degree of error.

    K_m, K_b are taken as given, even where they differ; k_v = +K_m K_b / R (the document's minus sign is a
    slip).
    """
    K_m, K_b, R, G_p = torque_constant, back_emf_constant, resistance, volts_per_degree
    a = K_m * G_p * (180.0 / math.pi) / R
    return PositionActuator(a, -a, -K_m * K_b / R)


class ClassicServo(NamedTuple):
    """Attributes of MuJoCo's `<position>` and its joint."""

    kp: float
    """N m/rad."""
    damping: float
    """N m s/rad: back-EMF and viscous friction together."""
    frictionloss: float
    """N m."""
    forcerange: float
    """N m: stall torque at the greatest duty."""


def classic_servo(
    *,
    torque_constant: float,
    resistance: float,
    firmware_gain: float,
    proportional: float,
    supply: float,
    static: float,
    viscous: float,
    duty_limit: float = 1.0,
) -> ClassicServo:
    """Document 002: kp = k_t k_p H V_in / R, damping = k_t^2 / R + f_v, frictionloss = f_s;
    forcerange = d_max V_in k_t / R."""
    k_t, R, H, k_p, V_in, f_s, f_v = (
        torque_constant,
        resistance,
        firmware_gain,
        proportional,
        supply,
        static,
        viscous,
    )
    return ClassicServo(k_t * k_p * H * V_in / R, k_t * k_t / R + f_v, f_s, duty_limit * V_in * k_t / R)


class ServoGains(NamedTuple):
    """One servo gain in the three units people use: register counts, volts and newton-metres per radian."""

    register: float
    volts: float
    """V/rad, or V s/rad for a derivative gain."""
    torque: float
    """N m/rad, or N m s/rad."""


def servo_gain(
    *, register: float, firmware_gain: float, supply: float, torque_constant: float, resistance: float
) -> ServoGains:
    """From a register: duty per radian is firmware_gain x register, volts are duty x supply,
    torque is K / R x volts."""
    volts = firmware_gain * register * supply
    return ServoGains(register, volts, torque_constant / resistance * volts)


def servo_register(
    torque: float, *, firmware_gain: float, supply: float, torque_constant: float, resistance: float
) -> ServoGains:
    """The register that gives a stiffness in N m/rad (or a damping in N m s/rad):
    the inverse of `servo_gain`."""
    volts = torque * resistance / torque_constant
    return ServoGains(volts / (firmware_gain * supply), volts, torque)


class Feedforward(NamedTuple):
    """u = kS sgn(w) + kV w + kA dw/dt; u in volts or amperes, w in rad/s at the output."""

    kS: float
    kV: float
    kA: float


class Mechanism(NamedTuple):
    """What a motor and its gains tell of the mechanism behind the gearbox."""

    inertia: float
    """Total at the output, rotors included [kg m^2]."""
    friction: float
    """Coulomb torque at the output, the motors' own included [N m]."""
    viscous: float
    """At the output [N m s/rad]."""


def feedforward_voltage(
    *,
    torque_constant: float,
    speed_constant: float,
    resistance: float,
    ratio: float,
    n_motors: int,
    inertia: float,
    motor_friction: float = 0.0,
    output_friction: float = 0.0,
    viscous: float = 0.0,
) -> Feedforward:
    """Document 004 in volts, corrected: kS = R (tau_s / K_t + T_f / (n G K_t)), kV = G / K_v + R b / (n G
    K_t), kA = R J / (n G K_t).

    speed_constant is K_v in rad/(s V), inertia the total at the output with n G^2 J_rotor, motor_friction
    each motor's own.
    """
    K_t, R, nGK = torque_constant, resistance, n_motors * ratio * torque_constant
    return Feedforward(
        R * (motor_friction / K_t + output_friction / nGK),
        ratio / speed_constant + R * viscous / nGK,
        R * inertia / nGK,
    )


def feedforward_current(
    *,
    torque_constant: float,
    ratio: float,
    n_motors: int,
    inertia: float,
    motor_friction: float = 0.0,
    output_friction: float = 0.0,
    viscous: float = 0.0,
) -> Feedforward:
    """Document 004 in amperes per motor, corrected: kS = tau_s / K_t + T_f / (n G K_t),
    kV = b / (n G K_t), kA = J / (n G K_t)."""
    K_t, nGK = torque_constant, n_motors * ratio * torque_constant
    return Feedforward(motor_friction / K_t + output_friction / nGK, viscous / nGK, inertia / nGK)


def mechanism_from_voltage(
    gains: Feedforward,
    *,
    torque_constant: float,
    speed_constant: float,
    resistance: float,
    ratio: float,
    n_motors: int,
) -> Mechanism:
    """The mechanism behind gains measured in volts: the inverse of `feedforward_voltage`,
    friction counted at the output."""
    nGK = n_motors * ratio * torque_constant
    return Mechanism(
        gains.kA * nGK / resistance,
        gains.kS * nGK / resistance,
        (gains.kV - ratio / speed_constant) * nGK / resistance,
    )


def mechanism_from_current(
    gains: Feedforward, *, torque_constant: float, ratio: float, n_motors: int
) -> Mechanism:
    """The mechanism behind gains measured in amperes per motor: the inverse of `feedforward_current`."""
    nGK = n_motors * ratio * torque_constant
    return Mechanism(gains.kA * nGK, gains.kS * nGK, gains.kV * nGK)


class IsaacMotor(NamedTuple):
    """Isaac Lab's stateless DC motor (document 001, table 9)."""

    saturation_effort: float
    """Stall torque at the output [N m]."""
    velocity_limit: float
    """No-load speed at the output [rad/s]."""
    effort_limit: float
    """Greatest torque at the output [N m]."""


def isaac_motor(
    *,
    torque_constant: float,
    resistance: float,
    supply: float,
    ratio: float = 1.0,
    n_motors: int = 1,
    current_limit: float | None = None,
) -> IsaacMotor:
    """saturation_effort = n N K V / R, velocity_limit = V / (N K),
    effort_limit = n N K i_max (stall where none is given)."""
    K, R, V, N = torque_constant, resistance, supply, ratio
    stall = n_motors * N * K * V / R
    return IsaacMotor(
        stall, V / (N * K), stall if current_limit is None else min(stall, n_motors * N * K * current_limit)
    )
