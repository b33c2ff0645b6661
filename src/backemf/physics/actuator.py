"""The actuator: motor, gearbox, friction and drive, its state, and the one equation of motion.

    (J_load + n N^2 J_r) dw/dt = n N (K_t i - K_fe w_r + cogging) + load - drag(w) - dry friction - gear loss

`over` evaluates everything on the right for an interval in which the output moves with a mean velocity w.
Every time step, engine, fit and export calls it; nobody writes these equations again.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from ..errors import InvalidValue, UnknownName
from ..findings import Finding
from ..registry import SERVICES
from . import quantity as q_
from .bench import BENCH_TRAITS, Bench
from .drive import TIE, ControllerState, Drive, Inputs, Sample, Voltage
from .friction import Bent, Viscous
from .gearbox import Gearbox
from .maths import Scalar, side, where
from .motor import CurrentOver, Motor

State = Mapping[str, Scalar]
"""The state by name, in the order of `Actuator.states`."""


@q_.part
class Actuator(q_.Part):
    """A motor behind a gearbox, with friction, driven by a controller."""

    motor: Motor
    gearbox: Gearbox = field(default_factory=Gearbox)
    friction: Viscous = field(default_factory=Viscous)
    drive: Drive = field(default_factory=Voltage)
    motion: str = "rotary"
    """'rotary' (rad, N m) or 'linear' (m, N in the same fields)."""

    def check(self) -> None:
        """Refuse a motion or a part of a kind that does not exist."""
        if self.motion not in ("rotary", "linear"):
            raise InvalidValue(f"motion is {self.motion!r}; expected 'rotary' or 'linear'")
        for name, kind in {"motor": Motor, "gearbox": Gearbox, "friction": Viscous, "drive": Drive}.items():
            part = getattr(self, name)
            if not isinstance(part, kind):
                raise InvalidValue(
                    f"{name} is {part!r:.60}; expected a part of be.{name},"
                    " or leave it out for the simplest one"
                )

    @staticmethod
    def read(source: Any) -> Actuator:
        """From a stored JSON file, a part of the catalogue ("xl430-w250"), a datasheet in TOML, an identified
        set ("mx-106/m6"), a joint of a model ("arm.xml#elbow") or of an Isaac Lab file ("leg.py#calf")."""
        return SERVICES.sources.read(source).actuator

    def write(self, path: Any, *, force: bool = False) -> None:
        """Store as JSON; an existing file is kept unless `force`."""
        SERVICES.store.write(self, path, force=force)

    @property
    def parameters(self) -> dict[str, float]:
        """Path -> value of every number in the actuator."""
        return q_.parameters(self)

    def replace(self, **changes: Any) -> Actuator:
        """A copy with some numbers changed, by path: `actuator.replace(**{"motor.resistance": 2.0})`."""
        return q_.substitute(self, changes)

    def traits(self, path: str) -> Mapping[str, Any]:
        """What a parameter's field says of it, present or absent: unit, symbol, range, sign, what it is never
        smaller than."""
        known = q_.absent(self) | {name: f for name, f, _ in q_.quantities(self)}
        if path in known:
            return known[path].metadata
        if path in BENCH_TRAITS:
            return BENCH_TRAITS[path]
        raise UnknownName("parameter", path, self.parameters)

    def over(self, path: str) -> str | None:
        """Path of the parameter that this one is never smaller than."""
        other = self.traits(path)["over"]
        return None if other is None else f"{path.rpartition('.')[0]}.{other}"

    def unit(self, path: str) -> str:
        """Unit of a parameter, in metres and newtons where the axis is linear."""
        unit = self.traits(path)["unit"]
        at_output = not path.startswith("motor.") or self.gearbox == Gearbox()
        at_output = at_output and path != "drive.bandwidth"  # of the current, not of the joint
        return linear_unit(unit) if self.motion == "linear" and at_output else unit

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states that this actuator has; an absent effect has none."""
        m, names = self.motor, ["position", "velocity"]
        if self.gearbox.backlash is not None:
            names += ["rotor_position", "rotor_velocity"]
        if m.has_current_state:
            names.append("current")
        names += (*self.friction.bristles, *self.friction.memory)
        if self.drive.has_integral:
            names.append("integral")
        names += self.drive.setpoint_states
        if self.drive.setpoint_lag is not None:
            names.append("lagged_setpoint")
        names += self.drive.memory
        if m.has_peak_rule:
            names.append("overload")
        if m.thermal is not None:
            names += m.thermal.nodes
        return tuple(names)

    def initial_state(self, asked: Inputs | None = None, /, **given: float) -> dict[str, float]:
        """A state at rest at the ambient temperature, with what is given put in. What is asked first is what
        was asked before, too; where that is not known, the position was."""
        start = {name: 0.0 for name in self.states}
        if self.motor.thermal is not None:
            for name in self.motor.thermal.nodes:
                start[name] = self.motor.thermal.ambient
        for name in given:
            if name not in start:
                raise UnknownName("state", name, start)
        start.update(given)
        if self.gearbox.backlash is not None and "rotor_position" not in given:
            start["rotor_position"] = start["position"]
        self._start_setpoints(start, given, asked)
        memory = self.drive.memory_at_start(start["velocity"])
        start.update({name: x for name, x in memory.items() if name not in given})
        return start

    def _start_setpoints(
        self, start: dict[str, float], given: Mapping[str, float], asked: Inputs | None
    ) -> None:
        """Put what the drive follows at first into a state, where it is not given."""
        drive = self.drive
        if drive.setpoint_states and "setpoint" not in given and drive.error_of == "position":
            start["setpoint"] = start["position"]
        if drive.setpoint_lag is not None and "lagged_setpoint" not in given:
            before = start.get("setpoint", start["position"])
            known = not drive.setpoint_states and drive.target in (asked or {})
            start["lagged_setpoint"] = drive.setpoint(asked, start, 0.0) if asked and known else before

    def at_ratio(self, ratio: float = 1.0) -> Actuator:
        """The same at the output, written for gears of another ratio: its motors as one, turned into a slower
        and stronger one. Where the gears turn the other way then, the rotor is a mirrored one."""
        gearbox, motor = self.gearbox, self.motor.in_parallel(self.gearbox.n_motors)
        motor = motor.turned_down(abs(gearbox.ratio / ratio))
        if motor.cogging is not None and gearbox.ratio * ratio < 0:
            motor = dc.replace(motor, cogging=dc.replace(motor.cogging, phase=-motor.cogging.phase))
        return dc.replace(self, motor=motor, gearbox=dc.replace(gearbox, ratio=ratio, n_motors=1))

    def findings(self) -> list[Finding]:
        """What is noteworthy about its numbers."""
        return self.friction.findings()

    def plot(self, *what: str, path: Any = None, inertia: float = 0.0) -> Any:
        """Draw it as `backemf plot` does: plot("friction", "hysteresis").

        Args:
            what: names of figures; none: the usual ones.
            path: a file to write, whose suffix says the format.
            inertia: of a load at the output [kg m^2].

        Returns:
            The figure of matplotlib.
        """
        return SERVICES.figures.drawing(self, *what, inertia=inertia).draw(path)


def linear_unit(unit: str) -> str:
    """The same unit with newtons for newton-metres, metres for radians, kilograms for kg m^2."""
    return unit.replace("kg m^2", "kg").replace("N m", "N").replace("rad", "m")


class Electrical(NamedTuple):
    """The drive and winding over an interval."""

    setpoint: Scalar
    voltage: Scalar
    current: CurrentOver
    torque: Scalar
    """Electromagnetic torque of one motor at its rotor."""
    lagged_setpoint: Scalar
    """At the end, where the drive differentiates the setpoint."""
    effort: Scalar
    """What the law asks for where it looks."""
    sample: Sample | None
    """Where it looks, if it has a period."""
    setpoint_rate: Scalar
    """Of a setpoint on a profile, at the end."""


class Loads(NamedTuple):
    """The torques at the output that friction sees."""

    motor: Scalar
    """Of the rotors: electromagnetic, cogging, minus iron drag; behind backlash, of the teeth."""
    load: Scalar
    """Every other torque on the joint except friction."""
    drag: Scalar
    """Torque that grows with speed, minus the constant offset."""
    stribeck: Scalar
    """How much of the extra friction at rest is left; with a peak more than 1 at rest."""

    @property
    def free(self) -> Scalar:
        """What would accelerate the joint without dry friction."""
        return self.motor + self.load - self.drag


class Over(NamedTuple):
    """What an interval does at a mean velocity: torques at the output, and the hidden states at its end."""

    loads: Loads
    electrical: Electrical
    hidden: dict[str, Scalar]
    """Hidden states after the interval; the bristle is added by `bend`."""


class Inertias(NamedTuple):
    """Both sides of the gears, at the output [kg m^2]."""

    load: Scalar
    rotor: Scalar


class MeanMotion(NamedTuple):
    """Mean position and velocity of the output and of the rotor (at the output's scale) in an interval."""

    q: Scalar
    w: Scalar
    q_rotor: Scalar
    w_rotor: Scalar

    def seen_by(self, drive: Drive) -> tuple[Scalar, Scalar]:
        """What the drive's sensor sees of it."""
        return (self.q_rotor, self.w_rotor) if drive.sensor == "rotor" else (self.q, self.w)


def winding_temperature(actuator: Actuator, state: State) -> Scalar | None:
    """Of a state [degC]; None where the motor has no thermal model."""
    return state["winding_temperature"] if actuator.motor.thermal is not None else None


def electrical_over(
    actuator: Actuator, state: State, inputs: Inputs, m: MeanMotion, x: Scalar, h: Scalar
) -> Electrical:
    """Drive and winding over h seconds of a motion, with the drive's integral x in the middle of it."""
    motor, gearbox, drive = actuator.motor, actuator.gearbox, actuator.drive
    T, i = winding_temperature(actuator, state), state.get("current", 0.0)
    u, climb = drive.setpoint_over(inputs, state, h)
    w_r, sample = gearbox.rotor_speed(m.w_rotor), None
    if drive.period is not None:
        sample = drive.sample(state, inputs, motion_now(state).seen_by(drive), h)
    rate, lagged = drive.setpoint_rate(state, u, h, sample)
    seen = ControllerState(drive.mean_setpoint(state, u), *m.seen_by(drive), x, i, w_r, T, rate)
    seen = seen if sample is None else seen.at(sample)
    asked = drive.effort(inputs, seen)
    effort = asked if sample is None else sample.mean(state["held_effort"], asked)
    v = drive.limit_voltage(drive.terminal_voltage(motor, gearbox, inputs, seen, effort), inputs)
    enabled = inputs.get("enabled")
    if enabled is not None and drive.disabled == "brake":
        v = where(enabled > 0.5, v, 0.0)
    current = motor.current_over(i, v, w_r, T, motor.ceiling(T, state.get("overload")), h)
    if drive.open_circuit:
        current = CurrentOver(*(0.0 * c for c in current))
    elif enabled is not None and drive.disabled == "open":
        current = CurrentOver(*(where(enabled > 0.5, c, 0.0) for c in current))
    return Electrical(u, v, current, motor.torque_at(current.mean, T), lagged, asked, sample, climb)


def motion_over(state: State, w: Scalar, rotor: Scalar | None, h: Scalar) -> MeanMotion:
    """An interval of h seconds at mean velocity w; the rotor's too, unless backlash parts them."""
    q = state["position"] + 0.5 * h * w
    return (
        MeanMotion(q, w, q, w)
        if rotor is None
        else MeanMotion(q, w, state["rotor_position"] + 0.5 * h * rotor, rotor)
    )


def motion_now(state: State) -> MeanMotion:
    """The motion at this moment."""
    return motion_over(state, state["velocity"], state.get("rotor_velocity"), 0.0)


def over(
    actuator: Actuator,
    bench: Bench,
    state: State,
    inputs: Inputs,
    w: Scalar,
    h: Scalar,
    rotor: Scalar | None = None,
) -> Over:
    """The interval of h seconds in which the output's mean velocity is w.

    Args:
        actuator: its parts.
        bench: what its output carries.
        state: at the start of the interval.
        inputs: targets and whatever else the drive and the bench read, held over the interval.
        w: mean velocity of the output [rad/s].
        h: length of the interval [s].
        rotor: mean velocity of the rotor at the output's scale [rad/s], where backlash parts it from the
            output.

    Returns:
        Torques at the output, what drive and winding did, and the hidden states at the end.
    """
    motor, gearbox, friction, drive = actuator.motor, actuator.gearbox, actuator.friction, actuator.drive
    m = motion_over(state, w, rotor, h)
    error, x = 0.0, 0.0
    if drive.has_integral:
        x = state["integral"]
        if drive.period is None:  # the integral at mid-interval, so that the step stays second order
            error = integrand(drive, state, inputs, m, h)
            x = x + 0.5 * h * error
    e = electrical_over(actuator, state, inputs, m, x, h)
    w_r = gearbox.rotor_speed(m.w_rotor)
    tau = e.torque - motor.iron_drag(w_r)
    if motor.cogging is not None:
        tau = tau + motor.cogging.torque(gearbox.rotor_speed(m.q_rotor))
    drag = friction.drag(w)
    if friction.offset is not None:
        drag = drag - friction.offset
    hidden = _hidden_states(actuator, state, inputs, e, error, m, h) | friction.remember(state, w, h)
    left = friction.remaining(state, w, h)
    return Over(Loads(gearbox.output_torque(tau), bench.load(m.q, w, inputs), drag, left), e, hidden)


def integrand(drive: Drive, state: State, inputs: Inputs, m: MeanMotion, h: Scalar) -> Scalar:
    """What the drive's integrator integrates: the error of position or velocity, as its sensor sees it."""
    u = drive.mean_setpoint(state, drive.setpoint(inputs, state, h))
    q, w = m.seen_by(drive)
    return u - q if drive.error_of == "position" else u - w


def _hidden_states(
    actuator: Actuator, state: State, inputs: Inputs, e: Electrical, error: Scalar, m: MeanMotion, h: Scalar
) -> dict[str, Scalar]:
    motor, drive, sample, after = actuator.motor, actuator.drive, e.sample, {}
    if motor.has_current_state:
        after["current"] = e.current.end
    if drive.has_integral:
        forwards, x = actuator.gearbox.forwards * e.voltage, state["integral"]
        if sample is None:
            after["integral"] = drive.integrate(x, error, forwards, inputs, h)
        else:  # one error a period
            error = sample.setpoint - (sample.position if drive.error_of == "position" else sample.velocity)
            summed = drive.integrate(x, error, forwards, inputs, q_.present(drive.period))
            after["integral"] = where(sample.due, summed, x)
    profile = zip(drive.setpoint_states, (e.setpoint, e.setpoint_rate), strict=False)
    after.update(profile)
    if drive.setpoint_lag is not None:
        after["lagged_setpoint"] = e.lagged_setpoint
    if sample is not None:
        after |= drive.next_memory(state, sample, e.effort, m.seen_by(drive)[1], h)
    if motor.limits is not None and motor.has_peak_rule:
        after["overload"] = motor.limits.overload_after(state["overload"], e.current.square, h)
    if motor.thermal is not None:
        T = tuple(state[name] for name in motor.thermal.nodes)
        w_r = actuator.gearbox.rotor_speed(m.w_rotor)
        copper, iron = motor.resistance_at(T[0]) * e.current.square, motor.iron_heat(w_r)
        after.update(zip(motor.thermal.nodes, motor.thermal.advance(T, copper, iron, h), strict=True))
    return after


def inertias(actuator: Actuator, bench: Bench, inputs: Inputs) -> Inertias:
    """What the bench carries, and the rotors seen at the output.

    Args:
        actuator: with the rotors.
        bench: with the load.
        inputs: an inertia that varies in time is one of them.

    Returns:
        Both [kg m^2], at the output.
    """
    return Inertias(bench.inertia_at(inputs), actuator.gearbox.output_inertia(actuator.motor.rotor_inertia))


def resistance(actuator: Actuator, J: Inertias, t: Loads, direction: Scalar) -> Scalar:
    """Dry friction and gear loss against motion in a direction.

    Args:
        actuator: with the friction and the gears.
        J: both sides of the gears, at the output.
        t: torques that friction sees, at the output.
        direction: +1 or -1.

    Returns:
        The torque at the output [N m]; never negative.
    """
    level = actuator.friction.level(t.stribeck, t.motor, t.load, direction)
    other = level * direction + t.drag - t.load
    return level + actuator.gearbox.loss(t.motor, other, J.rotor, J.load, direction)


def bristle_deflections(actuator: Actuator, state: State) -> Bent:
    """How far the bristles are bent."""
    return tuple(state[name] for name in actuator.friction.bristles)


def bend(actuator: Actuator, J: Inertias, t: Loads, z: Bent, w: Scalar, h: Scalar) -> tuple[Bent, Scalar]:
    """What the bristles do over an interval.

    Args:
        actuator: with the friction.
        J: both sides of the gears, at the output.
        t: torques that friction sees, at the output.
        z: deflections at the start [rad].
        w: mean velocity of the output [rad/s].
        h: length of the interval [s].

    Returns:
        (deflections after it [rad], mean torque of the bristles at the output [N m]).
    """
    return actuator.friction.deflect(z, w, resistance(actuator, J, t, side(w)), h)


def _voltage_now(actuator: Actuator, state: State, inputs: Inputs, seen: ControllerState) -> Scalar:
    """Voltage before limits at one moment; a sampled law looks now where it is due."""
    drive, motor, gearbox = actuator.drive, actuator.motor, actuator.gearbox
    if drive.period is None:
        return drive.voltage(motor, gearbox, inputs, seen)
    moment = 2.0 * TIE * drive.period
    sample = drive.sample(state, inputs, (seen.position, seen.velocity), moment, 0.5 * moment)
    rate, _ = drive.setpoint_rate(state, seen.setpoint, moment, sample)
    asked = drive.effort(inputs, seen.at(sample)._replace(setpoint_rate=rate))
    return drive.terminal_voltage(
        motor, gearbox, inputs, seen, where(sample.due, asked, state["held_effort"])
    )


def signals(actuator: Actuator, state: State, inputs: Inputs) -> dict[str, Scalar]:
    """What can be seen from outside at one moment, or at many as arrays.

    Args:
        actuator: its parts.
        state: by name.
        inputs: what holds from that moment on.

    Returns:
        Voltage and current of each motor, the motors' torque at the output, and the winding's temperature
            where it has one.
    """
    motor, gearbox, drive = actuator.motor, actuator.gearbox, actuator.drive
    m = motion_now(state)
    T = winding_temperature(actuator, state)
    u = state["setpoint"] if drive.setpoint_states else drive.setpoint(inputs, state, 0.0)
    w_r = gearbox.rotor_speed(m.w_rotor)
    x, known = state.get("integral", 0.0), state.get("current", 0.0)
    rate, _ = drive.setpoint_rate(state, u, 0.0)
    seen = ControllerState(u, *m.seen_by(drive), x, known, w_r, T, rate)
    v = drive.limit_voltage(_voltage_now(actuator, state, inputs, seen), inputs)
    ceiling = motor.ceiling(T, state.get("overload"))
    i = known if motor.has_current_state else motor.steady_current(v, w_r, T, ceiling)
    enabled = inputs.get("enabled", 1.0)
    if drive.open_circuit or ("enabled" in inputs and drive.disabled == "open"):
        on = 0.0 * m.q if drive.open_circuit else enabled
        i = where(on > 0.5, i, 0.0)
        v = where(on > 0.5, v, motor.back_emf_at(T) * w_r)  # the open terminals show the back-EMF
    elif "enabled" in inputs:
        v = where(enabled > 0.5, v, 0.0)
        if not motor.has_current_state:
            i = where(enabled > 0.5, i, motor.steady_current(0.0 * w_r, w_r, T, ceiling))
    shown = {"voltage": v, "current": i, "torque": gearbox.output_torque(motor.torque_at(i, T))}
    if T is not None:
        shown["temperature"] = T
    return shown
