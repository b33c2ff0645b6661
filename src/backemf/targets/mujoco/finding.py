"""How far MuJoCo's way of stepping is from the accurate one, found by simulation,
and a finding where it is too far to train on."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from ...engine.simulate import simulate
from ...errors import InvalidValue
from ...findings import Finding
from ...model.actuator import Actuator
from ...model.bench import Flywheel, FreeShaft
from ...model.friction import LuGre
from ...simulator.actuator import from_actuator, to_actuator
from ...simulator.dcmotor import Controller, DcMotor, Engine, Joint, initial_state, rules
from ...simulator.step import step

HOLD = 0.01
"""Commands change this often [s], so that every time step up to it sees the same ones."""
FAR = 0.05
"""A difference in position of this share of the motion is reported; in velocity, of four times this share."""
LOST = 1e6
"""Rotations [rad] or speeds [rad/s] beyond this count as divergence;
the engine itself resets at accelerations of 1e10."""


class Scheme(NamedTuple):
    """MuJoCo's trajectory next to the accurate one."""

    position: float
    """Largest difference in position, as a share of the range of the accurate motion."""
    velocity: float
    """RMS difference in velocity, as a share of the accurate one's RMS."""
    diverged: float | None
    """Time at which it was lost [s]."""

    @property
    def far(self) -> bool:
        return self.diverged is not None or self.position > FAR or self.velocity > 4 * FAR


class Accurate(NamedTuple):
    """The accurate motion, the inputs that made it and when they change."""

    dcmotor: DcMotor
    inertia: float
    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    ctrl: np.ndarray
    """One row for each held interval."""
    hold: float


def accurate(
    dcmotor: DcMotor, inertia: float, *, duration: float = 1.0, hold: float = HOLD, tolerance: float = 1e-4
) -> Accurate:
    """A move, a reversal and a rest, simulated accurately with a plain inertia on the joint."""
    try:
        equal = to_actuator(dcmotor)
    except InvalidValue:  # no drive follows this controller: look at the motor alone
        dcmotor = dataclasses.replace(
            dcmotor, controller=Controller(inputs="voltage" if dcmotor.controller.era == 1 else ("voltage",))
        )
        equal = to_actuator(dcmotor)
    n = round(duration / hold)
    time = hold * np.arange(n + 1)
    wave = np.where(time < 0.7 * duration, np.sin(2 * np.pi * 1.6 / duration * time), 0.0)
    rest = np.where(
        time < 0.7 * duration, wave, np.sin(2 * np.pi * 1.6 * 0.7)
    )  # a position is held, anything else stops
    shapes = {
        "position_target": 0.4 * rest,
        "velocity_target": 3.0 * wave,
        "torque_target": _torque(equal.actuator, inertia) * wave,
    }
    shapes["voltage_target"] = _volts(dcmotor, equal.actuator, inertia) * wave
    command = {name: shapes[name] for name in equal.targets}
    if "position_target" in command and "torque_target" in command:
        command["torque_target"] = 0.0 * wave  # the feedback alone moves it
        command["velocity_target"] = np.gradient(command["position_target"], hold)
    bench = Flywheel(inertia=inertia) if inertia > 0 else FreeShaft()
    start = {} if command else {"velocity": 3.0}  # without an input, look at it coasting
    found = simulate(equal.actuator, bench, command, time=time, start=start, tolerance=tolerance)
    columns = [command[name] / factor for name, factor in equal.targets.items()]
    ctrl = np.stack(columns, axis=1)[:-1] if columns else np.zeros((n, 0))
    return Accurate(dcmotor, inertia, time, found["position"], found["velocity"], ctrl, hold)


def _torque(actuator: Actuator, inertia: float) -> float:
    """A torque at the output that breaks it free and accelerates it with 20 rad/s^2."""
    level = getattr(actuator.friction, "static", getattr(actuator.friction, "coulomb", 0.0))
    return 2.0 * level + 20.0 * (inertia + actuator.gearbox.output_inertia(actuator.motor.rotor_inertia))


def _volts(dcmotor: DcMotor, actuator: Actuator, inertia: float) -> float:
    R, K, N = dcmotor.motor.resistance, dcmotor.motor.torque_constant, abs(dcmotor.gear)
    return R / K * _torque(actuator, inertia) / N + 3.0 * K * N


def scheme(reference: Accurate, engine: Engine) -> Scheme:
    """The same inputs through MuJoCo's step; its time step must divide the hold."""
    h, hold, joint = engine.timestep, reference.hold, Joint(inertia=reference.inertia)
    inside = round(hold / h)
    if abs(inside * h - hold) > 1e-9:
        raise InvalidValue(
            f"timestep is {h:g} s; expected a whole fraction of {hold:g} s, in which the commands of this"
            " comparison change"
        )
    state = initial_state(
        reference.dcmotor, position=float(reference.position[0]), velocity=float(reference.velocity[0])
    )
    rows = [(state["position"], state["velocity"])]
    with np.errstate(all="ignore"):
        for k, u in enumerate(reference.ctrl):
            for _ in range(inside):
                state = step(reference.dcmotor, joint, engine, state, tuple(u))
            rows.append((state["position"], state["velocity"]))
            if not (abs(state["position"]) < LOST and abs(state["velocity"]) < LOST):
                return Scheme(np.inf, np.inf, float(reference.time[k + 1]))
    q, v = np.array(rows).T
    span = max(np.ptp(reference.position), 1e-9)
    speed = max(np.sqrt(np.mean(reference.velocity**2)), 1e-9)
    return Scheme(
        float(np.max(np.abs(q - reference.position)) / span),
        float(np.sqrt(np.mean((v - reference.velocity) ** 2)) / speed),
        None,
    )


def integrator_finding(
    actuator: DcMotor | Actuator,
    inertia: float,
    timestep: float,
    integrator: str = "Euler",
    version: str = "4.0.0",
) -> Finding | None:
    """Whether MuJoCo, stepping like this, follows the model it is given on a joint of this inertia [kg m^2];
    None where it does.

    It does where position stays within 5 % of the motion and velocity within 20 % (RMS). A time step that
    does not divide 10 ms is looked at as the next longer one that does.
    """
    hold = max(HOLD, timestep)
    dcmotor = (
        actuator if isinstance(actuator, DcMotor) else from_actuator(actuator, rules(version).era).dcmotor
    )
    h = hold / int(hold / timestep + 1e-9)
    reference = accurate(dcmotor, inertia, hold=hold)
    found = scheme(reference, Engine(version=version, integrator=integrator, timestep=h))
    if not found.far:
        return None
    same = Engine(version=version, integrator=integrator, timestep=h)
    enough = next(
        (
            h / n
            for n in (2, 4, 8, 16)
            if not scheme(reference, dataclasses.replace(same, timestep=h / n)).far
        ),
        None,
    )
    what = f"MuJoCo {version} with {integrator} at {1e3 * h:g} ms"
    numbers = {"timestep": h, "position": found.position, "velocity": found.velocity}
    if enough is not None:
        numbers["timestep_enough"] = enough
    if found.diverged is not None:
        text, code = (
            f"{what} diverges after {found.diverged:g} s on a joint of {inertia:g} kg m^2.",
            "integrator_diverges",
        )
        numbers["diverged"] = found.diverged
    else:
        far = (
            f"{100 * found.position:.0f} % of the motion in position and {100 * found.velocity:.0f} % in"
            " velocity"
        )
        text, code = f"{what} is off by {far} on a joint of {inertia:g} kg m^2.", "integrator_far_off"
    soft = _softer(reference, same)
    advice = [f"a time step of {1e3 * enough:g} ms"] if enough is not None else []
    if soft is not None:
        numbers["stiffness_enough"] = soft.stiffness
        advice.append(
            f"a softer bristle, lugre stiffness {soft.stiffness:.2g} and damping {soft.damping:.2g} at the"
            " actuator, which moves alike"
        )
    remedy = (
        ", or ".join(advice)
        or "neither a sixteenth of the time step nor a softer bristle is enough:"
        " try another integrator or lower gains"
    )
    return Finding(code=code, text=text, remedy=remedy, numbers=numbers)


def _softer(reference: Accurate, engine: Engine) -> LuGre | None:
    """The stiffest bristle with which the engine still makes the accurate motion of the true one;
    its damping ratio is kept."""
    friction = reference.dcmotor.friction
    if not isinstance(friction, LuGre):
        return None
    for n in (4, 16, 64, 256, 1024):
        soft = dataclasses.replace(
            friction, stiffness=friction.stiffness / n, damping=friction.damping / n**0.5
        )
        if not scheme(
            reference._replace(dcmotor=dataclasses.replace(reference.dcmotor, friction=soft)), engine
        ).far:
            return soft
    return None
