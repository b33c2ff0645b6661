"""Drives: how a command becomes the motor's voltage. One small class per control law.

Every law ends in a voltage that its supply and limits allow. Gains are at the output and name both ends, so a
positive error pushes the output forwards whichever way the gears turn. A delay acts on the command series,
outside the time step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..errors import InvalidValue, MissingValue
from .maths import Scalar, clip, maximum, minimum, where
from .quantity import Part, part, present, quantity

if TYPE_CHECKING:
    from .gearbox import Gearbox
    from .motor import Motor

Inputs = Mapping[str, Scalar]
"""What is asked at one moment, by name: targets, `enabled`, `supply`, gains that vary."""


class Seen(NamedTuple):
    """What a law looks at: the setpoint, the motion its sensor sees, its integral, the winding."""

    setpoint: Scalar
    position: Scalar
    velocity: Scalar
    integral: Scalar
    current: Scalar
    rotor_speed: Scalar
    """Of the rotor itself, which the back-EMF follows [rad/s]."""
    temperature: Scalar | None


class Loop(NamedTuple):
    """A feedback law in one form: gains on the error of `of`, in volts or newton-metres at the output."""

    of: str
    """'position' or 'velocity'."""
    effort: str
    """'V' or 'N m'."""
    proportional: float
    integral: float
    derivative: float


@part
class Drive(Part):
    """What every drive has: supply, limits on voltage and command, a slew of the setpoint, a delay."""

    path: ClassVar[str] = "drive"
    target: ClassVar[str] = ""
    """Name of the signal it follows."""
    error_of: ClassVar[str] = ""
    """What its integrator integrates: 'position', 'velocity' or nothing."""
    hides_back_emf: ClassVar[bool] = False
    """Whether it asks for a current or torque, so that its motor does not brake by itself."""
    open_circuit: ClassVar[bool] = False
    """Whether no current can flow."""

    supply: float | None = quantity("V", "V_in", default=None, above=0)
    """Supply voltage; the recording's own `supply` signal, where there is one, comes first. Absent:
    unlimited.
    """
    duty_limit: float | None = quantity("1", "d_max", default=None, above=0, most=1)
    voltage_limit: float | None = quantity("V", "v_max", default=None, above=0)
    command_low: float | None = quantity("command", "u_min", default=None)
    command_high: float | None = quantity("command", "u_max", default=None, over="command_low")
    slew: float | None = quantity("command/s", "s", default=None, above=0)
    """Greatest rate of the setpoint."""
    delay: float | None = quantity("s", "t_d", default=None, least=0)
    """From command to effect; it need not be a whole number of samples."""
    disabled: str = "open"
    """What the motor sees while `enabled` is 0: 'open' (no current) or 'brake' (shorted)."""
    sensor: str = "output"
    """Where position and velocity are measured; with backlash that differs: 'output' (most servos) or 'rotor'
    (an encoder on the motor)."""

    def check(self) -> None:
        if self.disabled not in ("open", "brake"):
            raise InvalidValue(f"drive.disabled is {self.disabled!r}; expected 'open' or 'brake'")
        if self.sensor not in ("output", "rotor"):
            raise InvalidValue(f"drive.sensor is {self.sensor!r}; expected 'output' or 'rotor'")
        if self.duty_limit is not None and self.supply is None:
            raise MissingValue("drive.duty_limit needs drive.supply, the voltage that a duty of 1 stands for")
        low, high = self.command_low, self.command_high
        if low is not None and high is not None and low > high:
            raise InvalidValue(f"drive.command_low is {low:g}, above drive.command_high, {high:g}")

    @property
    def targets(self) -> tuple[str, ...]:
        """Every signal it may follow."""
        return (self.target,) if self.target else ()

    @property
    def optional_inputs(self) -> tuple[str, ...]:
        """Further signals it can do without: other targets, gains that vary in time."""
        return ()

    @property
    def followed(self) -> str:
        """The one signal that moves it, where only one is given."""
        return self.target

    @property
    def loop(self) -> Loop | None:
        """Its feedback in the common form; None where there is none."""
        return None

    @property
    def has_integral(self) -> bool:
        return False

    @property
    def without_integral(self) -> dict[str, None]:
        """The change that takes its integral away; empty where it has none."""
        return {}

    @property
    def freezes(self) -> bool:
        """Whether its integral stops while the voltage is at its limit."""
        return False

    def supply_now(self, inputs: Inputs) -> Scalar | None:
        return inputs.get("supply", self.supply)

    def ceiling(self, inputs: Inputs) -> Scalar | None:
        """The largest voltage possible now, or None where nothing limits it."""
        supply = self.supply_now(inputs)
        reach = supply if self.duty_limit is None or supply is None else self.duty_limit * supply
        if self.voltage_limit is None:
            return reach
        return self.voltage_limit if reach is None else minimum(reach, self.voltage_limit)

    def limited(self, v: Scalar, inputs: Inputs) -> Scalar:
        ceiling = self.ceiling(inputs)
        return v if ceiling is None else clip(v, -ceiling, ceiling)

    def setpoint(self, inputs: Inputs, previous: Scalar | None, h: Scalar) -> Scalar:
        """The command after its limits and its slew."""
        u = inputs[self.target] if self.target else 0.0
        if self.command_low is not None:
            u = maximum(u, self.command_low)
        if self.command_high is not None:
            u = minimum(u, self.command_high)
        if self.slew is None:
            return u
        return clip(u, previous - self.slew * h, previous + self.slew * h)

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        """Terminal voltage before limits."""
        raise NotImplementedError

    def integrated(self, x: Scalar, error: Scalar, v: Scalar, inputs: Inputs, h: Scalar) -> Scalar:
        """The integral after h seconds of an error, anti-windup included."""
        return x


@part
class Off(Drive):
    """No drive at all: the winding is open, the motor coasts."""

    open_circuit: ClassVar[bool] = True

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        return 0.0 * seen.velocity


@part
class Brake(Drive):
    """The winding is shorted: the motor brakes against its own back-EMF."""

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        return 0.0 * seen.velocity


@part
class Voltage(Drive):
    """The command is the voltage at the motor's terminals."""

    target: ClassVar[str] = "voltage_target"

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        return seen.setpoint


@part
class Current(Drive):
    """The command is the current of each motor; the drive finds the voltage, as far as its supply reaches."""

    target: ClassVar[str] = "current_target"
    hides_back_emf: ClassVar[bool] = True

    bandwidth: float = quantity("rad/s", "w_i", default=6283.0, above=0)
    """Speed of the current loop; it matters only with an inductance."""

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        return for_current(motor, seen.setpoint, seen, self.bandwidth)


@part
class Regulator(Drive):
    """What the laws with an integrator share: its limit, and its freeze while the voltage is at its limit."""

    integral_limit: float | None = quantity("command s", "I_max", default=None, above=0)
    freeze_when_saturated: bool = False
    """Stop integrating while the voltage is at its limit and the error would push it further."""
    deadband: float | None = quantity("command", "e_0", default=None, least=0, zero_is_absent=True)
    """Errors up to this size count as zero; larger ones are reduced by it."""
    integral_gain: ClassVar[str] = ""
    """Name of the field that switches the integral on."""

    @property
    def has_integral(self) -> bool:
        return getattr(self, self.integral_gain) is not None

    @property
    def without_integral(self) -> dict[str, None]:
        return {self.integral_gain: None} if self.has_integral else {}

    @property
    def freezes(self) -> bool:
        return self.has_integral and self.freeze_when_saturated

    def error(self, e: Scalar) -> Scalar:
        if self.deadband is None:
            return e
        e_0 = self.deadband
        return where(e > e_0, e - e_0, where(e < -e_0, e + e_0, 0.0))

    def integrated(self, x: Scalar, error: Scalar, v: Scalar, inputs: Inputs, h: Scalar) -> Scalar:
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
    def loop(self) -> Loop:
        gains = (self.volts_per_radian, self.volts_per_radian_second, self.volt_seconds_per_radian)
        return Loop("position", "V", *(k or 0.0 for k in gains))

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        v = self.volts_per_radian * self.error(seen.setpoint - seen.position)
        if self.volts_per_radian_second is not None:
            v = v + self.volts_per_radian_second * seen.integral
        if self.volt_seconds_per_radian is not None:
            v = v - self.volt_seconds_per_radian * seen.velocity
        return gearbox.forwards * v


@part
class Servo(Regulator):
    """A bus servo's firmware: duty = H P (u - q) + H_I I x - H_D D w, and the voltage is duty times supply.

    P, I and D are the registers as written to the servo; the H are the firmware's own scale, in duty per
    count.
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
    firmware_derivative_gain: float | None = quantity("s/rad", "H_D", default=None, above=0)

    def check(self) -> None:
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
    def loop(self) -> Loop:
        V, H, H_I, H_D = (
            present(self.supply),
            self.firmware_gain,
            self.firmware_integral_gain or 0.0,
            self.firmware_derivative_gain or 0.0,
        )
        P, I, D = self.proportional, self.integral or 0.0, self.derivative or 0.0
        return Loop("position", "V", V * H * P, V * H_I * I, V * H_D * D)

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        duty = self.firmware_gain * self.proportional * self.error(seen.setpoint - seen.position)
        if self.integral is not None:
            duty = duty + present(self.firmware_integral_gain) * self.integral * seen.integral
        if self.derivative is not None:
            duty = duty - present(self.firmware_derivative_gain) * self.derivative * seen.velocity
        return gearbox.forwards * self.supply_now(inputs) * duty


@part
class Velocity(Regulator):
    """v = k_p (u - w) + k_i x, with x the integral of u - w (MuJoCo's DC-motor note, equation 13)."""

    target: ClassVar[str] = "velocity_target"
    error_of: ClassVar[str] = "velocity"
    integral_gain: ClassVar[str] = "volts_per_radian"

    volt_seconds_per_radian: float = quantity("V s/rad", "k_p", least=0)
    volts_per_radian: float | None = quantity("V/rad", "k_i", default=None, least=0, zero_is_absent=True)

    @property
    def loop(self) -> Loop:
        return Loop("velocity", "V", self.volt_seconds_per_radian, self.volts_per_radian or 0.0, 0.0)

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        v = self.volt_seconds_per_radian * self.error(seen.setpoint - seen.velocity)
        v = v if self.volts_per_radian is None else v + self.volts_per_radian * seen.integral
        return gearbox.forwards * v


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
    def loop(self) -> Loop:
        k_i = self.newton_metres_per_radian_second or 0.0
        k_p, k_d = self.newton_metres_per_radian, self.newton_metre_seconds_per_radian
        return Loop("position", "N m", k_p, k_i, k_d)

    def setpoint(self, inputs: Inputs, previous: Scalar | None, h: Scalar) -> Scalar:
        return Drive.setpoint(self, inputs, previous, h) if self.target in inputs else 0.0

    def torque(self, inputs: Inputs, seen: Seen) -> Scalar:
        """Torque asked for at the output [N m]."""
        k_p = inputs.get("newton_metres_per_radian", self.newton_metres_per_radian)
        k_d = inputs.get("newton_metre_seconds_per_radian", self.newton_metre_seconds_per_radian)
        tau = k_d * (inputs.get("velocity_target", 0.0) - seen.velocity) + inputs.get("torque_target", 0.0)
        if self.target in inputs:
            tau = tau + k_p * self.error(seen.setpoint - seen.position)
        k_i = self.newton_metres_per_radian_second
        return tau if k_i is None else tau + k_i * seen.integral

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        per_ampere = gearbox.output_torque(motor.torque_constant)
        asked = self.torque(inputs, seen) / per_ampere  # the current that gives it
        if self.through == "voltage":
            return motor.resistance * asked + motor.back_emf_at(None) * seen.rotor_speed
        return for_current(motor, asked, seen, self.bandwidth)


def for_current(motor: Motor, asked: Scalar, seen: Seen, bandwidth: Scalar) -> Scalar:
    """Voltage of a current loop: what holds the asked current, plus what changes it at the loop's
    bandwidth."""
    T = seen.temperature
    v = motor.resistance_at(T) * asked + motor.back_emf_at(T) * seen.rotor_speed
    return v if motor.inductance is None else v + motor.inductance * bandwidth * (asked - seen.current)


DRIVES: dict[str, type[Drive]] = {
    "off": Off,
    "brake": Brake,
    "voltage": Voltage,
    "current": Current,
    "position": Position,
    "servo": Servo,
    "velocity": Velocity,
    "impedance": Impedance,
}
"""Every drive by name."""
