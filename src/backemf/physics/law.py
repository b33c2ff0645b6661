"""What every drive has: supply, limits on voltage and command, slew, delay, sensor, sampling period.

The control laws themselves are in drive.py. A law with a period looks at target and measurement at instants
one period apart and holds its effort in between; the states that this needs are the drive's `memory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..errors import InvalidValue, MissingValue
from .maths import Scalar, clip, is_whole, maximum, mean_decay, mean_rise, minimum, where
from .profile import profile_step
from .quantity import Part, part, present, quantity

if TYPE_CHECKING:
    from .gearbox import Gearbox
    from .motor import Motor

Inputs = Mapping[str, Scalar]
"""What is asked at one moment, by name: targets, `enabled`, `supply`, gains that vary."""
TIE = 0.02
"""Share of a time step by which a sampling instant may miss the step's start and still be there: clocks that
differ by less are one clock, and a target that changes as the law looks is seen as new."""
FIRMWARE = ("acceleration", "deadband", "punch", "count", "duty_step")
"""Numbers of a drive that only firmware has."""
MOST_PERIODS = 16
"""Longest difference of positions that a law's velocity is taken over [periods]."""


class ControllerState(NamedTuple):
    """What a law looks at: the setpoint, the motion its sensor sees, its integral, the winding."""

    setpoint: Scalar
    position: Scalar
    velocity: Scalar
    integral: Scalar
    current: Scalar
    rotor_speed: Scalar
    """Of the rotor itself, which the back-EMF follows [rad/s]."""
    temperature: Scalar | None
    setpoint_rate: Scalar = 0.0
    """Of a setpoint that the law differentiates."""

    def at(self, sample: Sample) -> ControllerState:
        """What was there at a sampling instant."""
        motion = {"position": sample.position, "velocity": sample.velocity}
        return self._replace(setpoint=sample.setpoint, **motion)


class Loop(NamedTuple):
    """A feedback law in one form: gains on the error of `of`, in volts or newton-metres at the output."""

    of: str
    """'position' or 'velocity'."""
    effort: str
    """'V' or 'N m'."""
    proportional: float
    integral: float
    derivative: float


class Sample(NamedTuple):
    """The instant of an interval at which a sampled law looks, where there is one, and what it sees."""

    due: Scalar
    """Whether there is one."""
    share: Scalar
    """Of the interval that has passed by then."""
    setpoint: Scalar
    position: Scalar
    velocity: Scalar

    def mean(self, before: Scalar, after: Scalar) -> Scalar:
        """Over the interval, of what changes at the instant."""
        return where(self.due, self.share * before + (1.0 - self.share) * after, before)


@part
class Drive(Part):
    """What every drive has: supply, limits on voltage and command, a slew, a delay, a sampling period."""

    path: ClassVar[str] = "drive"
    target: ClassVar[str] = ""
    """Name of the signal it follows."""
    error_of: ClassVar[str] = ""
    """What its integrator integrates: 'position', 'velocity' or nothing."""
    hides_back_emf: ClassVar[bool] = False
    """Whether it asks for a current or torque, so that its motor does not brake by itself."""
    open_circuit: ClassVar[bool] = False
    """Whether no current can flow."""

    supply: float | None = quantity("V", "V_in", default=None, above=0, tolerance=lambda v: 0.02 * v)
    """Supply voltage; the recording's own `supply` signal, where there is one, comes first. Absent:
    unlimited.
    """
    duty_limit: float | None = quantity("1", "d_max", default=None, above=0, most=1)
    voltage_limit: float | None = quantity("V", "v_max", default=None, above=0)
    command_low: float | None = quantity("command", "u_min", default=None)
    command_high: float | None = quantity("command", "u_max", default=None, over="command_low")
    slew: float | None = quantity("command/s", "s", default=None, above=0)
    """Greatest rate of the setpoint."""
    acceleration: float | None = quantity("command/s^2", "a_u", default=None, above=0)
    """Greatest change of that rate: the setpoint speeds up, and brakes so as to stop at the command."""
    delay: float | None = quantity("s", "t_d", default=None, least=0)
    """From command to effect; it need not be a whole number of samples."""
    period: float | None = quantity("s", "T_s", default=None, above=0)
    """Between the instants at which the law looks at target and measurement; its effort is held in between,
    as firmware does. Absent: it looks all the time."""
    n_velocity_periods: int | None = None
    """Of a law with a period: how many periods apart the two positions are whose difference is its velocity.
    Absent: 1, as plain firmware does. 0: the velocity itself, as from a tachometer."""
    disabled: str = "open"
    """What the motor sees while `enabled` is 0: 'open' (no current) or 'brake' (shorted)."""
    sensor: str = "output"
    """Where position and velocity are measured; with backlash that differs: 'output' (most servos) or 'rotor'
    (an encoder on the motor)."""

    def check(self) -> None:
        """Refuse words, counts and limits that make no drive."""
        if self.disabled not in ("open", "brake"):
            raise InvalidValue(f"drive.disabled is {self.disabled!r}; expected 'open' or 'brake'")
        if self.sensor not in ("output", "rotor"):
            raise InvalidValue(f"drive.sensor is {self.sensor!r}; expected 'output' or 'rotor'")
        if self.duty_limit is not None and self.supply is None:
            raise MissingValue("drive.duty_limit needs drive.supply, the voltage that a duty of 1 stands for")
        n = self.n_velocity_periods
        if n is not None and not (is_whole(n) and 0 <= n <= MOST_PERIODS):
            raise InvalidValue(
                f"drive.n_velocity_periods is {n!r}; expected a whole number from 0 to {MOST_PERIODS}"
            )
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
    def equation(self) -> str:
        """The law in symbols, for diagrams."""
        return ""

    @property
    def loop(self) -> Loop | None:
        """Its feedback in the common form; None where there is none."""
        return None

    @property
    def duty_per_count(self) -> Mapping[str, float]:
        """What one count of a firmware's register does to the duty, by gain: 1/rad, 1/(rad s), s/rad."""
        return {}

    @property
    def has_integral(self) -> bool:
        return False

    @property
    def without_integral(self) -> dict[str, None]:
        """The change that takes its integral away; empty where it has none."""
        return {}

    @property
    def setpoint_lag(self) -> Scalar | None:
        """Time over which a change of the setpoint acts on a law that differentiates it [s]; None where it
        does not."""
        return None

    @property
    def without_push(self) -> dict[str, None]:
        """The change that takes the push of a moving setpoint away; empty where there is none."""
        return {}

    @property
    def without_firmware(self) -> dict[str, None]:
        """The changes that leave the bare law: what its firmware does to commands, errors and duties."""
        return {name: None for name in FIRMWARE if getattr(self, name, None) is not None}

    @property
    def needs_velocity(self) -> bool:
        """Whether its law looks at a velocity."""
        return False

    @property
    def memory(self) -> tuple[str, ...]:
        """States of a sampled law: the effort that is held, the time to its next look, and how far its sensor
        has moved since each of the looks that its velocity is taken from."""
        if self.period is None:
            return ()
        n = 1 if self.n_velocity_periods is None else self.n_velocity_periods
        n = n if self.needs_velocity else 0
        return ("held_effort", "until_sample", *(f"travel_{k + 1}" for k in range(n)))

    def memory_at_start(self, velocity: float) -> dict[str, float]:
        """It looks at once, and has moved steadily so far."""
        T = 0.0 if self.period is None else self.period
        travel = {name: velocity * T * (k + 1) for k, name in enumerate(self.memory[2:])}
        return {**dict.fromkeys(self.memory, 0.0), **travel}

    @property
    def freezes(self) -> bool:
        """Whether its integral stops while the voltage is at its limit."""
        return False

    def supply_now(self, inputs: Inputs) -> Scalar | None:
        """The recorded supply, else the drive's own [V]; None where there is none."""
        return inputs.get("supply", self.supply)

    def ceiling(self, inputs: Inputs) -> Scalar | None:
        """The largest voltage possible now, or None where nothing limits it."""
        supply = self.supply_now(inputs)
        reach = supply if self.duty_limit is None or supply is None else self.duty_limit * supply
        if self.voltage_limit is None:
            return reach
        return self.voltage_limit if reach is None else minimum(reach, self.voltage_limit)

    def limit_voltage(self, v: Scalar, inputs: Inputs) -> Scalar:
        """A voltage within what is possible now [V]."""
        ceiling = self.ceiling(inputs)
        return v if ceiling is None else clip(v, -ceiling, ceiling)

    @property
    def setpoint_states(self) -> tuple[str, ...]:
        """States of a setpoint that follows the command by a profile."""
        if self.acceleration is not None:
            return ("setpoint", "setpoint_velocity")
        return () if self.slew is None else ("setpoint",)

    def setpoint_over(self, inputs: Inputs, state: Mapping[str, Scalar], h: Scalar) -> tuple[Scalar, Scalar]:
        """The command after its limits and its profile.

        Args:
            inputs: what is asked.
            state: with its own states, as they were.
            h: seconds since then.

        Returns:
            (setpoint, its rate), in the command's own unit; the rate is 0 where nothing remembers it.
        """
        u = inputs[self.target] if self.target else 0.0
        if self.command_low is not None:
            u = maximum(u, self.command_low)
        if self.command_high is not None:
            u = minimum(u, self.command_high)
        if not self.setpoint_states:
            return u, 0.0
        before = state["setpoint"]
        if self.acceleration is not None:
            return profile_step(before, state["setpoint_velocity"], u, self.slew, self.acceleration, h)
        most = present(self.slew) * h
        return clip(u, before - most, before + most), 0.0

    def setpoint(self, inputs: Inputs, state: Mapping[str, Scalar], h: Scalar) -> Scalar:
        """What the law follows after h seconds, as `setpoint_over` says.

        Args:
            inputs: what is asked.
            state: with its memory.
            h: length of the interval [s].

        Returns:
            What is followed, in the unit of the command.
        """
        return self.setpoint_over(inputs, state, h)[0]

    def sample(
        self,
        state: Mapping[str, Scalar],
        inputs: Inputs,
        motion: tuple[Scalar, Scalar],
        h: Scalar,
        tie: Scalar | None = None,
    ) -> Sample:
        """When and what a sampled law sees in the next h seconds. With steps longer than its period it looks
        once a step.

        Args:
            state: with its memory.
            inputs: what is asked.
            motion: (position, velocity) of its sensor now, at the output's scale [rad, rad/s].
            h: length of the interval [s].
            tie: by how much an instant may miss the interval's ends and still be there [s]; absent: a
                small share of it.

        Returns:
            The instant, and what is seen at it.
        """
        (q, w), T, wait, memory = motion, present(self.period), state["until_sample"], self.memory[2:]
        tie = TIE * h if tie is None else tie
        share = where(wait < tie, 0.0, minimum(wait / h, 1.0))
        u = self.setpoint(inputs, state, h)
        if self.setpoint_states:
            u = state["setpoint"] + share * (u - state["setpoint"])
        if memory:  # what its positions say, the last of them now
            seen = (state[memory[-1]] + share * h * w) / (len(memory) * T)
        else:
            seen = w
        return Sample(wait < maximum(h - tie, tie), share, u, q + share * h * w, seen)

    def next_memory(
        self, state: Mapping[str, Scalar], sample: Sample, effort: Scalar, w: Scalar, h: Scalar
    ) -> dict[str, Scalar]:
        """The memory after an interval.

        Args:
            state: before it.
            sample: where the law looked in it.
            effort: what it asked for there, in its own unit.
            w: mean velocity that its sensor saw [rad/s].
            h: length of the interval [s].

        Returns:
            States of the memory, by name.
        """
        held, wait, *travels = self.memory
        due, T = sample.due, present(self.period)
        base = where(sample.share > 0, state[wait], 0.0) + T  # one clock, where the instant is at the start
        after = {held: where(due, effort, state[held]), wait: maximum(where(due, base, state[wait]) - h, 0.0)}
        gone = -sample.share * h * w  # since the look itself, once h w is added
        for name in travels:
            after[name] = where(due, gone, state[name]) + h * w
            gone = state[name]
        return after

    def effort(self, inputs: Inputs, seen: ControllerState) -> Scalar:
        """What the law asks for, in its own unit (V, duty, A or N m): what a sampled law holds. The setpoint
        itself, where a law says nothing else."""
        return seen.setpoint

    def terminal_voltage(
        self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: ControllerState, effort: Scalar
    ) -> Scalar:
        """Voltage for an effort, before limits: what acts all the time.

        Args:
            motor: whose winding it drives.
            gearbox: between the motor and the output, where gains are.
            inputs: a recorded supply is one of them.
            seen: what the law looks at.
            effort: what it asked for, in its own unit.

        Returns:
            At the terminals of each motor [V].
        """
        return effort

    def mean_setpoint(self, state: Mapping[str, Scalar], u: Scalar) -> Scalar:
        """The setpoint in the middle of an interval that ends with u: on a profile it ramps."""
        return 0.5 * (state["setpoint"] + u) if self.setpoint_states else u

    def setpoint_rate(
        self, state: Mapping[str, Scalar], u: Scalar, h: Scalar, sample: Sample | None = None
    ) -> tuple[Scalar, Scalar]:
        """How fast a setpoint moves that the law differentiates. A sampled law's moves a period at each look:
        the rate is held until the next, and a change between two looks is pushed for in full.

        Args:
            state: at the start of an interval.
            u: the setpoint at its end.
            h: its length [s].
            sample: where a sampled law looks in it.

        Returns:
            (mean rate of the low-passed setpoint, the low-passed setpoint at the end); 0 where the law
                does not differentiate it.
        """
        T_f = self.setpoint_lag
        if T_f is None:
            return 0.0, 0.0
        y = state["lagged_setpoint"]
        if sample is not None:
            T = maximum(present(self.period), h)
            rate = (sample.setpoint - y) * mean_decay(T / T_f) / T_f
            return rate, where(sample.due, y + T * rate, y)
        if not self.setpoint_states:
            rate = (u - y) * mean_decay(h / T_f) / T_f
        else:  # it ramps
            before = state["setpoint"]
            rate = ((before - y) * mean_decay(h / T_f) + (u - before) * mean_rise(h / T_f)) / T_f
        return rate, y + h * rate

    def voltage(self, motor: Motor, gearbox: Gearbox, inputs: Inputs, seen: ControllerState) -> Scalar:
        """Terminal voltage before limits, of a law that looks now.

        Args:
            motor: whose winding it drives.
            gearbox: between the motor and the output.
            inputs: what is asked.
            seen: what the law looks at.

        Returns:
            At the terminals of each motor [V].
        """
        return self.terminal_voltage(motor, gearbox, inputs, seen, self.effort(inputs, seen))

    def integrate(self, x: Scalar, error: Scalar, v: Scalar, inputs: Inputs, h: Scalar) -> Scalar:
        """The integral after a while, anti-windup included.

        Args:
            x: the integral before.
            error: of position [rad] or velocity [rad/s] at the output, as the sensor sees it.
            v: voltage that acts, positive where it pushes the output forwards [V].
            inputs: supply and `enabled` among them.
            h: for so long [s].

        Returns:
            The integral [rad s or rad].
        """
        return x
