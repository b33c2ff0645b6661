"""An actuator on a joint that somebody else moves: the torque it puts there, found with its own time step.

A simulator that owns the joint knows position and velocity and asks for a torque. The actuator takes the step
it would take with the joint's inertia and the load on it, and gives the mean torque of that step,

    effort = J (v' - v) / h - load

so that a simulator which adds h (effort + load) / J to the velocity arrives where the actuator's own step
does: sticking, stops inside the step and stiff bristles included. J is what the simulator accelerates: the
joint's inertia and its armature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InvalidValue
from ..physics.actuator import Actuator, inertias, signals, winding_temperature
from ..physics.bench import Recorded
from ..physics.maths import Scalar, floor, where
from ..physics.quantity import present
from .system import ActuatorSystem, Results, Row

LEAD = 0.5
"""Steps by which MuJoCo's velocity leads its position: commands reach an actuator as much later."""
LONG_DELAY = (
    "drive.delay is %g s, and a line of %d commands in steps of %g s holds %g s at most;"
    " expected a shorter delay, a longer step, or %s"
)
"""What every host says where commands would be under way for longer than it remembers them: the delay [s],
the commands of its line with the newest, the step [s], the longest delay [s], and what else helps. It is a
format in C and in Python alike."""
AMPLE = 1e6
"""A supply at which no drive is at its limit [V]."""
ANEW = "to attach anew at this timestep"


def longest_delay(line: int, h: float, lead: float = 0.0) -> float:
    """The longest delay that a line of commands holds.

    Args:
        line: Commands that it remembers, the newest one with them.
        h: Length of a step [s].
        lead: Steps by which the host's velocity leads: 0.5 in MuJoCo.

    Returns:
        The delay [s].
    """
    return (line - 1 - lead) * h


def check_delay(delay: float, line: int, h: float, remedy: str, *, lead: float = 0.0) -> None:
    """Refuse a delay that is too long for a line of commands.

    Args:
        delay: By which commands come late [s].
        line: Commands that it remembers, the newest one with them.
        h: Length of a step [s].
        remedy: What else than a shorter delay or a longer step helps.
        lead: Steps by which the host's velocity leads: 0.5 in MuJoCo.

    Raises:
        InvalidValue: The delay is too long.
    """
    longest = longest_delay(line, h, lead)
    if delay > longest * (1.0 + 1e-12):
        raise InvalidValue(LONG_DELAY % (delay, line, h, longest, remedy))


@dataclass(frozen=True, kw_only=True)
class HostedSystem(ActuatorSystem):
    """A system whose step gives the effort after the states. Its bench is `Recorded`:
    inertia and load come with the command."""

    @property
    def extra(self) -> tuple[str, ...]:
        return ("effort",)

    @property
    def key(self) -> tuple:
        return (*super().key, "effort")

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        after = ActuatorSystem.step(self, p, s, u, h)
        v = self.states.index("velocity")
        return *after, self.moved_inertia(p, u) * (after[v] - s[v]) / h - self.input_values(u)["load"]

    lead = 0.0
    """Steps by which the host's velocity leads."""

    @property
    def targets(self) -> tuple[str, ...]:
        """What its drive follows, among the inputs."""
        return tuple(name for name in self.inputs if name in self.actuator.drive.targets)

    def begin(self, p: Row, q: Scalar, v: Scalar, targets: Row) -> Results:
        """The states of a joint as cold as its surroundings, whose targets were asked all along.

        Args:
            p: parameters, in order.
            q: position of the joint [rad].
            v: velocity of the joint [rad/s].
            targets: what its drive follows, in order.

        Returns:
            The states, in order.
        """
        actuator, _ = self.with_parameters(p)
        asked = dict(zip(self.targets, targets, strict=True))
        state = actuator.initial_state(asked, position=q, velocity=v)
        return tuple(state[name] for name in self.states)

    def lag(self, p: Row, h: Scalar) -> Results:
        """Whole steps by which commands come late, and the part of one after them, whose slope over the delay
        is 1 at 0 too."""
        actuator, _ = self.with_parameters(p)
        late = present(actuator.drive.delay) / h + self.lead
        whole = floor(late + 1e-9)
        return whole, where(late >= whole, late - whole, 0.0)

    def armature(self, p: Row) -> Scalar:
        """Inertia that the simulator must add to the joint:
        the rotors', unless backlash parts them from it [kg m^2]."""
        actuator, _ = self.with_parameters(p)
        parted = actuator.gearbox.backlash is not None
        return 0.0 if parted else inertias(actuator, Recorded(), {"inertia": 0.0}).rotor

    def moved_inertia(self, p: Row, u: Row) -> Scalar:
        """J: the inertia that the effort and the load accelerate [kg m^2]."""
        return self.input_values(u)["inertia"] + self.armature(p)

    def load_seen(self, p: Row, u: Row, v_before: Scalar, v: Scalar, effort: Scalar, h: Scalar) -> Scalar:
        """The load that must have acted over the last step.

        Args:
            p: parameters, in order.
            u: inputs of that step, in order.
            v_before: velocity of the joint at its start [rad/s].
            v: velocity of the joint at its end [rad/s].
            effort: mean torque that the actuator put there [N m].
            h: its length [s].

        Returns:
            Torque on the joint [N m].
        """
        return self.moved_inertia(p, u) * (v - v_before) / h - effort


def hosted_system(
    actuator: Actuator, asked: Sequence[str] | None = None, *, switched: bool = False
) -> HostedSystem:
    """The system of an actuator on a joint that somebody else moves.

    Args:
        actuator: its parts.
        asked: signals that are inputs besides inertia and load; absent: what its drive follows.
        switched: whether it may be switched off: `enabled` is an input then.

    Returns:
        The system; inertia [kg m^2] and load [N m] of the joint come first among its inputs.
    """
    targets = actuator.drive.targets if asked is None else asked
    inputs = ("inertia", "load", *targets, *(("enabled",) if switched else ()))
    return HostedSystem(actuator=actuator, bench=Recorded(), inputs=inputs)


@dataclass(frozen=True, kw_only=True)
class LiveSystem(HostedSystem):
    """The same for a simulator that asks once a step and remembers what became of the last one:
    in place of the load come the acceleration that the joint had over the last step and the effort that acted
    in it."""

    lead = LEAD

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        asked = self.input_values(u)
        load = self.load_seen(p, u, 0.0, asked["acceleration"], asked["acted"], 1.0)
        given = {**asked, "load": load, "enabled": 1.0 - asked.get("disabled", 0.0)}
        targets = self.actuator.drive.targets
        if "sag" in asked:
            actuator, _ = self.with_parameters(p)
            given["supply"] = present(actuator.drive.supply) - asked["sag"]
            targets = (*targets, "supply")
        known = hosted_system(self.actuator, targets, switched="disabled" in self.inputs)
        return known.step(p, s, tuple(given[name] for name in known.inputs), h)

    def demand(self, p: Row, s: Row, u: Row) -> Results:
        """What its motors together ask of a supply that they share with others.

        Args:
            p: parameters, in order.
            s: states, in order.
            u: inputs, in order.

        Returns:
            What `physics.supply` calls DEMAND.
        """
        actuator, _ = self.with_parameters(p)
        drive, motor, n = actuator.drive, actuator.motor, actuator.gearbox.n_motors
        state, asked, by_duty = (
            dict(zip(self.states, s, strict=True)),
            self.input_values(u),
            drive.duty_per_count,
        )
        given = {**asked, "supply": present(drive.supply) if by_duty else AMPLE}
        given |= {"enabled": 1.0 - asked["disabled"]} if "disabled" in asked else {}
        told, T = signals(actuator, state, given), winding_temperature(actuator, state)
        R = motor.resistance_at(T) / n
        E = motor.back_emf_at(T) * actuator.gearbox.rotor_speed(state["velocity"])
        v, i = told["voltage"], n * told["current"]
        duty, limit = (v / present(drive.supply), 0.0) if by_duty else (0.0, drive.duty_limit or 1.0)
        v = v if motor.has_current_state else where(i == 0.0, 0.0, R * i + E)
        return v, i, E, R, duty, limit, 0.0, 0.0


def live_system(actuator: Actuator, *, switched: bool = False, shared: bool = False) -> LiveSystem:
    """The system of an actuator inside a simulator; its inputs are the joint's inertia, what happened over
    the last step, what its drive follows, whether it is off where that may be switched, and what is missing
    of its supply where that is shared.

    Args:
        actuator: its parts.
        switched: whether it may be switched off.
        shared: whether it has its supply together with others.

    Returns:
        The system.
    """
    asked = (*actuator.drive.targets, *(("disabled",) if switched else ()), *(("sag",) if shared else ()))
    return LiveSystem(
        actuator=actuator, bench=Recorded(), inputs=("inertia", "acceleration", "acted", *asked)
    )
