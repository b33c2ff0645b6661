"""Curves of steady operation: torque, current and power over speed, friction over speed and load, what a
voltage does without load, and what a drive does for an error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...physics.actuator import Actuator
from ...physics.drive import Seen
from ...physics.steady import electrical_torque, ideal_speed, net_torque, steady_current


def full_voltage(actuator: Actuator) -> float | None:
    """The most voltage that its drive applies: supply and limits, or what its command may be; None: nobody
    says."""
    drive, held = actuator.drive, actuator.drive.ceiling({})
    if held is not None:
        return float(held)
    if drive.followed != "voltage_target":
        return None
    return max((abs(u) for u in (drive.command_low, drive.command_high) if u is not None), default=None)


class Operation(NamedTuple):
    """Steady operation at one voltage, over output speeds."""

    speed: np.ndarray
    """rad/s, or m/s on a linear axis."""
    electrical: np.ndarray
    """Torque of the motors at the output, before friction and gears [N m]."""
    torque: np.ndarray
    """What is left for the load [N m]."""
    current: np.ndarray
    """Of each motor [A]."""
    taken: np.ndarray
    """Electrical power of all motors [W]."""
    given: np.ndarray
    """Mechanical power at the output [W]."""

    @property
    def efficiency(self) -> np.ndarray:
        """Given over taken where it drives a load, else not a number."""
        drives = (self.given > 0) & (self.taken > 0)
        return np.where(drives, self.given / np.where(drives, self.taken, 1.0), np.nan)


def operation(actuator: Actuator, v: float, w: Any) -> Operation:
    """Torques, current and powers at a voltage that turns the output forwards, cold."""
    motor, gearbox, w = actuator.motor, actuator.gearbox, np.asarray(w, float)
    V = gearbox.forwards * v
    i, tau = np.asarray(steady_current(actuator, V, w)), net_torque(actuator, V, w)
    terminals = motor.resistance * i + motor.back_emf_at(None) * gearbox.rotor_speed(w)
    electrical = np.asarray(electrical_torque(actuator, V, w))
    return Operation(w, electrical, tau, np.abs(i), gearbox.n_motors * i * terminals, tau * w)


def friction_size(actuator: Actuator, w: Any, t_m: Any, t_e: Any) -> np.ndarray:
    """Friction torque over speed (an array) at a load."""
    f = actuator.friction
    direction: Any = np.where(np.asarray(w) >= 0, 1.0, -1.0)
    return np.asarray(f.drag(w) + direction * f.level(f.stribeck(w), t_m, t_e, direction))


def no_load(actuator: Actuator, voltages: Any) -> tuple[np.ndarray, np.ndarray]:
    """(speed, current of each motor) of the free output over voltages [rad/s, A]; in the dead zone it rests,
    and the current is that of a locked rotor."""
    v = np.asarray(voltages, float)
    forwards = actuator.gearbox.forwards * np.abs(v)
    low, high = np.zeros_like(v), np.abs(v) * ideal_speed(actuator, 1.0)  # all voltages are halved at once
    starts = net_torque(actuator, forwards, 1e-12 * high) > 0
    for _ in range(60):
        middle = 0.5 * (low + high)
        turns = net_torque(actuator, forwards, middle) > 0
        low, high = np.where(turns, middle, low), np.where(turns, high, middle)
    speed = np.where(starts, high, 0.0)
    return speed, np.abs(np.asarray(steady_current(actuator, forwards, speed)))


def held_current(actuator: Actuator, voltages: Any) -> np.ndarray:
    """Current of each motor over voltages while the output is held [A]."""
    return np.abs(np.asarray(steady_current(actuator, np.asarray(voltages, float), 0.0)))


class Driven(NamedTuple):
    """What a drive does for an error, at rest."""

    error: np.ndarray
    """rad for a position, rad/s for a velocity."""
    asked: np.ndarray
    """Voltage before limits, forwards [V]."""
    voltage: np.ndarray
    """Within the limits [V]."""
    torque: np.ndarray
    """Of the motors at the output, at rest [N m]."""


def drive_law(actuator: Actuator, errors: Any) -> Driven:
    """The voltage of a law that sees an error, its integral empty, and the torque of the resting motor."""
    drive, gearbox = actuator.drive, actuator.gearbox
    e: Any = np.asarray(errors, float)
    still: Any = np.zeros_like(e)
    seen = Seen(e, still, still, still, still, still, None)
    v: Any = drive.voltage(actuator.motor, gearbox, {drive.target: e}, seen) + still
    held: Any = drive.limited(v, {})
    torque = np.asarray(electrical_torque(actuator, held, 0.0)) + still
    return Driven(e, gearbox.forwards * v, gearbox.forwards * held, torque)


def full_error(actuator: Actuator) -> float | None:
    """The error from which the drive's voltage is at its limit; None without feedback or limit."""
    loop, ceiling = actuator.drive.loop, actuator.drive.ceiling({})
    if loop is None or ceiling is None or loop.proportional <= 0:
        return None
    law = drive_law(actuator, np.array([BEYOND, BEYOND + 1.0])).asked  # affine there, whatever the deadband
    per = float(law[1] - law[0])
    return None if per <= 0 else BEYOND - (float(law[0]) - float(ceiling)) / per


BEYOND = 1e3
"""An error beyond any deadband."""
