"""The frequency response of a drive's loop, linear: no limits, no dry friction, no play between the teeth.

The law is linearised by asking it (it is affine away from its deadband), so that every drive has a response.
A law with a period holds its effort in between, and takes its velocity from positions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import MissingValue
from ...physics.actuator import Actuator
from ...physics.drive import Seen
from ...physics.steady import armature, iron_drag
from .operation import BEYOND

THREE_DB = 10.0 ** (-3.0 / 20.0)


class Response(NamedTuple):
    """Position over the position asked for (or velocity over velocity), and the loop that makes it."""

    frequency: np.ndarray
    """Hz."""
    closed: np.ndarray
    """Complex: what follows over what is asked."""
    opened: np.ndarray
    """Complex: what comes back over what the law asks for, cut at the law."""

    @property
    def magnitude(self) -> np.ndarray:
        """dB."""
        return 20.0 * np.log10(np.maximum(np.abs(self.closed), 1e-30))

    @property
    def phase(self) -> np.ndarray:
        """Degrees, without jumps."""
        return np.degrees(np.unwrap(np.angle(self.closed)))

    @property
    def bandwidth(self) -> float | None:
        """Where it has lost 3 dB of what it had at the lowest frequency [Hz]; None: not in this range."""
        size = np.abs(self.closed)
        below = size < THREE_DB * size[0]
        k = int(np.argmax(below))
        return _crossing(self.frequency, np.log(size / (THREE_DB * size[0])), k) if below.any() else None

    @property
    def peak(self) -> tuple[float, float] | None:
        """(frequency [Hz], dB above the lowest frequency) where it rings; None where it does not."""
        k, gain = int(np.argmax(self.magnitude)), self.magnitude
        return (float(self.frequency[k]), float(gain[k] - gain[0])) if gain[k] - gain[0] > 0.1 else None

    @property
    def phase_margin(self) -> float | None:
        """Degrees left at the highest frequency where the loop's gain is 1; negative: it is unstable. None
        where the gain is less everywhere."""
        size = np.abs(self.opened)
        above = np.flatnonzero((size[:-1] >= 1.0) & (size[1:] < 1.0))
        if not len(above):
            return None
        k = int(above[-1]) + 1
        at = _crossing(self.frequency, np.log(size), k)
        phase = np.degrees(np.unwrap(np.angle(-self.opened)))
        return 180.0 + float(np.interp(np.log(at), np.log(self.frequency), phase))


def _crossing(f: np.ndarray, y: np.ndarray, k: int) -> float:
    """Where y falls through 0 between k - 1 and k, over the logarithm of f."""
    if k == 0:
        return float(f[0])
    share = y[k - 1] / (y[k - 1] - y[k])
    return float(np.exp(np.log(f[k - 1]) + share * np.log(f[k] / f[k - 1])))


def response(actuator: Actuator, frequency: Any = None, inertia: float = 0.0) -> Response:
    """Of its rotors with a load's inertia [kg m^2]; without frequencies, over those that matter."""
    loop, J = actuator.drive.loop, armature(actuator) + inertia
    if loop is None:
        raise MissingValue(f"{actuator.drive.kind} has no feedback, so there is no loop to respond")
    if J <= 0:
        raise MissingValue("the rotor has no inertia: give motor.rotor_inertia, or the inertia of a load")
    if frequency is None:
        frequency = _usual(actuator, J)
    f = np.asarray(frequency, float)
    s: Any = 2j * np.pi * f
    law, k = _law(actuator, s), actuator.gearbox.efficiency or 1.0
    # (R + L s - c) I = a U + (b - K_e N s) Q and (J s^2 + B s) Q = k n N K_t I, all at the output.
    motor, gearbox = actuator.motor, actuator.gearbox
    K_t = k * gearbox.output_torque(motor.torque_constant)
    K_e = motor.back_emf_at(None) * gearbox.rotor_speed(1.0)
    Z = motor.resistance + (motor.inductance or 0.0) * s - law.current
    B = actuator.friction.viscous + iron_drag(actuator)
    free = (J * s * s + B * s) * Z / K_t + (
        K_e - law.rotor_speed
    ) * s  # what a volt of the law's moves: 1 / free
    follows = law.asked / (free - law.back)
    if loop.of == "velocity":
        follows = s * follows
    late = np.exp(-s * (actuator.drive.delay or 0.0))
    return Response(f, follows * late, law.back / free)


def _usual(actuator: Actuator, J: float) -> np.ndarray:
    """From a hundredth to thirty times the loop's corner, and no further than half a sampling rate."""
    wide = np.geomspace(1e-3, 1e5, 1601)
    band = response(actuator, wide, J - armature(actuator)).bandwidth or 1.0
    top = 30.0 * band
    if actuator.drive.period is not None:
        top = min(top, 0.5 / actuator.drive.period)
    return np.geomspace(0.01 * band, max(top, 2.0 * band), 400)


class _Law(NamedTuple):
    """Volts of the law, linear: asked U + back Q + rotor_speed N w + current I."""

    asked: Any
    back: Any
    rotor_speed: float
    current: float


def _law(actuator: Actuator, s: Any) -> _Law:
    drive, motor, gearbox = actuator.drive, actuator.motor, actuator.gearbox
    inputs = {drive.target: BEYOND}
    base = Seen(BEYOND, 0.0, 0.0, 0.0, 0.0, 0.0, None)
    if drive.error_of == "velocity":
        of_position, of_velocity = 0.0, 1.0
    else:
        of_position, of_velocity = 1.0, 0.0

    def effort(**more: float) -> float:
        at = base._replace(**{name: getattr(base, name) + x for name, x in more.items()})
        return float(drive.effort(inputs, at)) - float(drive.effort(inputs, base))

    def volts(e: float, seen: Seen) -> float:
        return float(drive.applied(motor, gearbox, inputs, seen, e))

    per = volts(1.0, base) - volts(0.0, base)
    rotor = (volts(0.0, base._replace(rotor_speed=1.0)) - volts(0.0, base)) * gearbox.rotor_speed(1.0)
    current = volts(0.0, base._replace(current=1.0)) - volts(0.0, base)
    hold, speed, summed = _sampled(actuator, s)
    error = effort(integral=1.0) * summed
    push = effort(setpoint_rate=1.0) * s / (1.0 + (drive.setpoint_lag or 0.0) * s)
    asked = effort(setpoint=1.0) + error + push
    integrated = of_position + of_velocity * speed
    back = effort(position=1.0) + effort(velocity=1.0) * speed - error * integrated
    return _Law(per * hold * asked, per * hold * back, rotor, current)


def _sampled(actuator: Actuator, s: Any) -> tuple[Any, Any, Any]:
    """(hold of the effort, velocity from position, sum of an error), of a law that looks all the time or once
    a period."""
    T, n = actuator.drive.period, actuator.drive.n_velocity_periods
    if T is None:
        return 1.0, s, 1.0 / s
    n = 1 if n is None else n
    speed = s if n == 0 else (1.0 - np.exp(-s * n * T)) / (n * T)
    return (1.0 - np.exp(-s * T)) / (s * T), speed, T / np.expm1(s * T)
