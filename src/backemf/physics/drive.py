"""Drives: how a command becomes the motor's voltage. One small class per control law.

Every law ends in a voltage that its supply and limits allow. Gains are at the output and name both ends, so a
positive error pushes the output forwards whichever way the gears turn. A delay acts on the command series,
outside the time step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..errors import InvalidValue, MissingValue
from ..registry import Registry
from .law import (
    TIE as TIE,
    ControllerState as ControllerState,
    Drive as Drive,
    Inputs as Inputs,
    Loop as Loop,
    Sample as Sample,
)
from .maths import Scalar, clip, maximum, minimum, where, whole
from .quantity import check_derived, part, present, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .gearbox import Gearbox
    from .motor import Motor


@part
class Brake(Drive):
    """The winding is shorted: the motor brakes against its own back-EMF."""

    @property
    def equation(self) -> str:
        return "v = 0"

    def effort(self, inputs: Inputs, seen: ControllerState) -> Scalar:
        return 0.0 * seen.velocity


@part
class Off(Brake):
    """No drive at all: the winding is open, the motor coasts."""

    open_circuit: ClassVar[bool] = True

    @property
    def equation(self) -> str:
        return "i = 0"


@part
class Voltage(Drive):
    """The command is the voltage at the motor's terminals."""

    target: ClassVar[str] = "voltage_target"

    @property
    def equation(self) -> str:
        return "v = u"


@part
class Current(Drive):
    """The command is the current of each motor; the drive finds the voltage, as far as its supply reaches."""

    target: ClassVar[str] = "current_target"

    @property
    def equation(self) -> str:
        return "i = u"

    hides_back_emf: ClassVar[bool] = True

    bandwidth: float = quantity("rad/s", "w_i", default=6283.0, above=0)
    """Speed of the current loop; it matters only with an inductance."""

    def terminal_voltage(
        self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: ControllerState, effort: Scalar
    ) -> Scalar:
        return for_current(motor, effort, seen, self.bandwidth)


@part
class Regulator(Drive):
    """What the laws with an integrator share: its limit, its freeze while the voltage is at its limit, and a
    voltage that pushes the output forwards."""

    integral_limit: float | None = quantity("command s", "I_max", default=None, above=0)
    freeze_when_saturated: bool = False
    """Stop integrating while the voltage is at its limit and the error would push it further."""
    deadband: float | None = quantity("command", "e_0", default=None, least=0, zero_is_absent=True)
    """Errors up to this size count as zero; larger ones are reduced by it, where there is no punch."""
    punch: float | None = quantity("command", "e_p", default=None, least=0)
    """Added to every error beyond the dead band, as a start-up duty is. Absent: the dead band is taken off
    instead."""
    count: float | None = quantity("command", "c", default=None, above=0)
    """One count of the encoder, in which goal and position are whole. Absent: they are not rounded."""
    integral_gain: ClassVar[str] = ""
    """Name of the field that switches the integral on."""

    @property
    def has_integral(self) -> bool:
        return getattr(self, self.integral_gain) is not None

    @property
    def without_integral(self) -> dict[str, None]:
        return {self.integral_gain: None} if self.has_integral else {}

    def _terms(self, integral: str, derivative: str) -> str:
        """Those terms of its equation that are there."""
        return (integral if self.has_integral else "") + (derivative if self.needs_velocity else "")

    @property
    def freezes(self) -> bool:
        return self.has_integral and self.freeze_when_saturated

    def error(self, e: Scalar) -> Scalar:
        """An error as the law takes it: nothing in the dead band, behind it with the punch."""
        if self.deadband is None and self.punch is None:
            return e
        e_0 = 0.0 if self.deadband is None else self.deadband
        jump = -e_0 if self.punch is None else self.punch
        return where(e > e_0, e + jump, where(e < -e_0, e - jump, 0.0))

    def error_seen(self, seen: ControllerState) -> Scalar:
        """The error of a position, between the whole counts that the firmware sees."""
        u, q, c = seen.setpoint, seen.position, self.count
        if c is not None:
            u, q = c * whole(u / c), c * whole(q / c)
        return self.error(u - q)

    def terminal_voltage(
        self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: ControllerState, effort: Scalar
    ) -> Scalar:
        return gearbox.forwards * effort

    def integrate(self, x: Scalar, error: Scalar, v: Scalar, inputs: Inputs, h: Scalar) -> Scalar:
        ceiling = self.ceiling(inputs)
        e = self.error(error)
        if self.freeze_when_saturated and ceiling is not None:
            e = where(v >= ceiling, minimum(e, 0.0), where(v <= -ceiling, maximum(e, 0.0), e))
        x1 = x + h * e
        if "enabled" in inputs:
            x1 = where(inputs["enabled"] > 0.5, x1, 0.0)
        return x1 if self.integral_limit is None else clip(x1, -self.integral_limit, self.integral_limit)


@part
class Position(Regulator):
    """v = k_p (u - q) + k_i x - k_d w, with x the integral of u - q (MuJoCo's DC-motor note, equation 12)."""

    target: ClassVar[str] = "position_target"
    error_of: ClassVar[str] = "position"
    integral_gain: ClassVar[str] = "volts_per_radian_second"

    volts_per_radian: float = quantity("V/rad", "k_p", least=0)
    volts_per_radian_second: float | None = quantity(
        "V/(rad s)", "k_i", default=None, least=0, zero_is_absent=True
    )
    volt_seconds_per_radian: float | None = quantity(
        "V s/rad", "k_d", default=None, least=0, zero_is_absent=True
    )

    @property
    def equation(self) -> str:
        return "v = k_p (u - q)" + self._terms(" + k_i x", " - k_d w")

    @property
    def loop(self) -> Loop:
        gains = (self.volts_per_radian, self.volts_per_radian_second, self.volt_seconds_per_radian)
        return Loop("position", "V", *(k or 0.0 for k in gains))

    @property
    def needs_velocity(self) -> bool:
        return self.volt_seconds_per_radian is not None

    def effort(self, inputs: Inputs, seen: ControllerState) -> Scalar:
        v = self.volts_per_radian * self.error_seen(seen)
        if self.volts_per_radian_second is not None:
            v = v + self.volts_per_radian_second * seen.integral
        if self.volt_seconds_per_radian is not None:
            v = v - self.volt_seconds_per_radian * seen.velocity
        return v


@part
class Servo(Regulator):
    """A bus servo's firmware: duty = H P (u - q) + H_I I x - H_D D w, and the voltage is duty times supply.

    P, I and D are the registers as written to the servo; the H are the firmware's own scale, in duty per
    count. With `derivative_filter` D acts on the error, H_D D (dy/dt - w), so that a moving setpoint pushes;
    y is the setpoint, low-passed over that time: T_f dy/dt = u - y.
    """

    target: ClassVar[str] = "position_target"
    error_of: ClassVar[str] = "position"
    integral_gain: ClassVar[str] = "integral"

    firmware_gain: float = quantity("1/rad", "H", above=0)
    """Duty per radian of error and count of the P register."""
    proportional: float = quantity("1", "P", least=0)
    integral: float | None = quantity("1", "I", default=None, least=0, zero_is_absent=True)
    firmware_integral_gain: float | None = quantity("1/(rad s)", "H_I", default=None, above=0)
    derivative: float | None = quantity("1", "D", default=None, least=0, zero_is_absent=True)
    firmware_derivative_gain: float | None = quantity(
        "s/rad", "H_D", default=None, least=0, start=lambda size: 1e-3
    )
    duty_step: float | None = quantity("1", "d_1", default=None, above=0, most=1)
    """Smallest change of the duty. Absent: it is not rounded."""
    derivative_filter: float | None = quantity("s", "T_f", default=None, above=0)
    """Time over which the push of a setpoint's change is spread. Absent: D acts on the motion alone."""

    def check(self) -> None:
        """Refuse gains without what a count of them does, and a duty without a supply."""
        Drive.check(self)
        if self.supply is None:
            raise MissingValue(
                "drive.Servo needs drive.supply: its firmware computes a duty, and a duty of 1 is the supply"
                " voltage"
            )
        if self.integral is not None and self.firmware_integral_gain is None:
            raise MissingValue(
                "drive.integral needs drive.firmware_integral_gain, the duty per count, radian and second"
            )
        if self.derivative is not None and self.firmware_derivative_gain is None:
            raise MissingValue(
                "drive.derivative needs drive.firmware_derivative_gain, the duty per count and rad/s"
            )

    @property
    def equation(self) -> str:
        return f"v = V_in (H P (u - q){self._terms(' + H_I I x', ' - H_D D w')})"

    @property
    def loop(self) -> Loop:
        V, H, P = present(self.supply), self.firmware_gain, self.proportional
        k_i = (self.firmware_integral_gain or 0.0) * (self.integral or 0.0)
        k_d = (self.firmware_derivative_gain or 0.0) * (self.derivative or 0.0)
        return Loop("position", "V", V * H * P, V * k_i, V * k_d)

    @property
    def duty_per_count(self) -> dict[str, float]:
        scales = {"integral": self.firmware_integral_gain, "derivative": self.firmware_derivative_gain}
        return {"proportional": self.firmware_gain} | {k: H for k, H in scales.items() if H}

    @property
    def setpoint_lag(self) -> Scalar | None:
        return None if self.derivative is None else self.derivative_filter

    @property
    def without_push(self) -> dict[str, None]:
        pushes = self.setpoint_lag is not None and self.firmware_derivative_gain
        return {"derivative_filter": None} if pushes else {}

    @property
    def needs_velocity(self) -> bool:
        return self.derivative is not None

    def effort(self, inputs: Inputs, seen: ControllerState) -> Scalar:
        duty = self.firmware_gain * self.proportional * self.error_seen(seen)
        if self.integral is not None:
            duty = duty + present(self.firmware_integral_gain) * self.integral * seen.integral
        if self.derivative is not None:
            rate = seen.setpoint_rate - seen.velocity
            duty = duty + present(self.firmware_derivative_gain) * self.derivative * rate
        return duty if self.duty_step is None else self.duty_step * whole(duty / self.duty_step)

    def terminal_voltage(
        self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: ControllerState, effort: Scalar
    ) -> Scalar:
        return gearbox.forwards * present(self.supply_now(inputs)) * effort


@part
class Velocity(Regulator):
    """v = k_p (u - w) + k_i x, with x the integral of u - w (MuJoCo's DC-motor note, equation 13)."""

    target: ClassVar[str] = "velocity_target"
    error_of: ClassVar[str] = "velocity"
    integral_gain: ClassVar[str] = "volts_per_radian"

    volt_seconds_per_radian: float = quantity("V s/rad", "k_p", least=0)
    volts_per_radian: float | None = quantity("V/rad", "k_i", default=None, least=0, zero_is_absent=True)

    @property
    def equation(self) -> str:
        return "v = k_p (u - w)" + self._terms(" + k_i x", "")

    @property
    def loop(self) -> Loop:
        return Loop("velocity", "V", self.volt_seconds_per_radian, self.volts_per_radian or 0.0, 0.0)

    @property
    def needs_velocity(self) -> bool:
        return True

    def effort(self, inputs: Inputs, seen: ControllerState) -> Scalar:
        v = self.volt_seconds_per_radian * self.error(seen.setpoint - seen.velocity)
        return v if self.volts_per_radian is None else v + self.volts_per_radian * seen.integral


@part
class Impedance(Regulator):
    """tau = k_p (u - q) + k_d (u_w - w) + k_i x + u_tau at the output, in newton-metres.

    `position_target`, `velocity_target` and `torque_target` are followed where they are given; the gains may
    come as series of their own (`newton_metres_per_radian`, `newton_metre_seconds_per_radian`) and then vary
    in time. `through='current'` asks a current loop for the torque; `through='voltage'` applies R_0 tau / K +
    K w, as MuJoCo's controller does from 3.12 on.
    """

    target: ClassVar[str] = "position_target"
    error_of: ClassVar[str] = "position"
    hides_back_emf: ClassVar[bool] = True
    integral_gain: ClassVar[str] = "newton_metres_per_radian_second"

    newton_metres_per_radian: float = quantity("N m/rad", "k_p", default=0.0, least=0)
    newton_metres_per_radian_second: float | None = quantity(
        "N m/(rad s)", "k_i", default=None, least=0, zero_is_absent=True
    )
    newton_metre_seconds_per_radian: float = quantity("N m s/rad", "k_d", default=0.0, least=0)
    bandwidth: float = quantity("rad/s", "w_i", default=6283.0, above=0)
    through: str = "current"

    def check(self) -> None:
        """Refuse another way to the torque than a current or a voltage."""
        Drive.check(self)
        if self.through not in ("current", "voltage"):
            raise InvalidValue(f"drive.through is {self.through!r}; expected 'current' or 'voltage'")

    @property
    def targets(self) -> tuple[str, ...]:
        return ("position_target", "velocity_target", "torque_target")

    @property
    def optional_inputs(self) -> tuple[str, ...]:
        return (*self.targets, "newton_metres_per_radian", "newton_metre_seconds_per_radian")

    @property
    def followed(self) -> str:
        if self.newton_metres_per_radian > 0:
            return "position_target"
        return "velocity_target" if self.newton_metre_seconds_per_radian > 0 else "torque_target"

    @property
    def equation(self) -> str:
        return "tau = k_p (u - q)" + self._terms(" + k_i x", " + k_d (u_w - w)") + " + u_tau"

    @property
    def loop(self) -> Loop:
        k_i = self.newton_metres_per_radian_second or 0.0
        k_p, k_d = self.newton_metres_per_radian, self.newton_metre_seconds_per_radian
        return Loop("position", "N m", k_p, k_i, k_d)

    def setpoint_over(self, inputs: Inputs, state: Mapping[str, Scalar], h: Scalar) -> tuple[Scalar, Scalar]:
        return Drive.setpoint_over(self, inputs, state, h) if self.target in inputs else (0.0, 0.0)

    @property
    def needs_velocity(self) -> bool:
        return True

    def effort(self, inputs: Inputs, seen: ControllerState) -> Scalar:
        """Torque asked for at the output [N m]."""
        k_p = inputs.get("newton_metres_per_radian", self.newton_metres_per_radian)
        k_d = inputs.get("newton_metre_seconds_per_radian", self.newton_metre_seconds_per_radian)
        tau = k_d * (inputs.get("velocity_target", 0.0) - seen.velocity) + inputs.get("torque_target", 0.0)
        if self.target in inputs:
            tau = tau + k_p * self.error_seen(seen)
        k_i = self.newton_metres_per_radian_second
        return tau if k_i is None else tau + k_i * seen.integral

    def terminal_voltage(
        self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: ControllerState, effort: Scalar
    ) -> Scalar:
        per_ampere = gearbox.output_torque(motor.torque_constant)
        asked = effort / per_ampere  # the current that gives it
        if self.through == "voltage":
            return motor.resistance * asked + motor.back_emf_at(None) * seen.rotor_speed
        return for_current(motor, asked, seen, self.bandwidth)


def for_current(motor: Motor, asked: Scalar, seen: ControllerState, bandwidth: Scalar) -> Scalar:
    """Voltage of a current loop: what holds the asked current, plus what changes it at the loop's
    bandwidth."""
    T = seen.temperature
    v = motor.resistance_at(T) * asked + motor.back_emf_at(T) * seen.rotor_speed
    return v if motor.inductance is None else v + motor.inductance * bandwidth * (asked - seen.current)


DRIVES: Registry[type[Drive]] = Registry(
    "drive",
    {
        "off": Off,
        "brake": Brake,
        "voltage": Voltage,
        "current": Current,
        "position": Position,
        "servo": Servo,
        "velocity": Velocity,
        "impedance": Impedance,
    },
    group="backemf.drives",
    check=lambda drive: check_derived(drive, Drive, DRIVES.own()),
)
"""Every drive by name."""
