"""What every drive has: a supply, limits on voltage and command, a slew of the setpoint, a delay, a sensor.

The control laws themselves are in drive.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..errors import InvalidValue, MissingValue
from .maths import Scalar, clip, maximum, minimum
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
        before = present(previous)
        return clip(u, before - self.slew * h, before + self.slew * h)

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: Seen) -> Scalar:
        """Terminal voltage before limits."""
        raise NotImplementedError

    def integrated(self, x: Scalar, error: Scalar, v: Scalar, inputs: Inputs, h: Scalar) -> Scalar:
        """The integral after h seconds of an error, anti-windup included."""
        return x
