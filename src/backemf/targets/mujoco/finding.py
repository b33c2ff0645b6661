"""How far MuJoCo's way of stepping is from the accurate one, found by simulation,
and a finding where it is too far to train on."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...engine.simulate import simulate
from ...errors import InvalidValue
from ...findings import Finding
from ...mujoco.actuator_conversion import from_actuator, to_actuator
from ...mujoco.dcmotor import Controller, DcMotor, DcMotorJoint, Engine, initial_state, rules
from ...mujoco.step import step
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.bench import Flywheel, FreeShaft
from ...physics.friction import LuGre

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
        plain = Controller(inputs="voltage" if dcmotor.controller.era == 1 else ("voltage",))
        dcmotor = replace(dcmotor, controller=plain)
        equal = to_actuator(dcmotor)
    n = round(duration / hold)
    time = hold * np.arange(n + 1)
    moves = time < 0.7 * duration
    wave = np.where(moves, np.sin(2 * np.pi * 1.6 / duration * time), 0.0)
    rest = np.where(moves, wave, np.sin(2 * np.pi * 1.6 * 0.7))  # a position is held, anything else stops
    torque, at = _torque(equal.actuator, inertia), steady.line(equal.actuator)
    shapes = {
        "position_target": 0.4 * rest,
        "velocity_target": 3.0 * wave,
        "torque_target": torque * wave,
        "voltage_target": (torque / at.torque_per_volt + 3.0 * at.K_e) * wave,
    }
    command = {name: shapes[name] for name in equal.targets}
    if "position_target" in command and "torque_target" in command:
        command["torque_target"] = 0.0 * wave  # the feedback alone moves it
        command["velocity_target"] = np.gradient(command["position_target"], hold)
    bench = Flywheel(inertia=inertia) if inertia > 0 else FreeShaft()
    start = {} if command else {"velocity": 3.0}  # without an input, look at it coasting
    run = simulate(equal.actuator, bench, command, time=time, start=start, tolerance=tolerance, warn=False)
    columns = [command[name] / factor for name, factor in equal.targets.items()]
    ctrl = np.stack(columns, axis=1)[:-1] if columns else np.zeros((n, 0))
    return Accurate(dcmotor, inertia, time, run["position"], run["velocity"], ctrl, hold)


def _torque(actuator: Actuator, inertia: float) -> float:
    """A torque at the output that breaks it free and accelerates it with 20 rad/s^2."""
    return 2.0 * actuator.friction.breakaway + 20.0 * (inertia + steady.armature(actuator))


def scheme(reference: Accurate, engine: Engine) -> Scheme:
    """The same inputs through MuJoCo's step; its time step must divide the hold."""
    h, hold, joint = engine.timestep, reference.hold, DcMotorJoint(inertia=reference.inertia)
    inside = round(hold / h)
    if abs(inside * h - hold) > 1e-9:
        raise InvalidValue(
            f"timestep is {h:g} s; expected a whole fraction of {hold:g} s, in which the commands of this"
            " comparison change"
        )
    start = {"position": float(reference.position[0]), "velocity": float(reference.velocity[0])}
    state, rows = initial_state(reference.dcmotor, **start), [tuple(start.values())]
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
    """Whether MuJoCo's step follows the model it is given.

    It does where position stays within 5 % of the motion and velocity within 20 % (RMS). A time step that
    does not divide 10 ms is looked at as the next longer one that does.

    Args:
        actuator: as MuJoCo has it.
        inertia: of the joint [kg m^2].
        timestep: of the simulation [s].
        integrator: one of MuJoCo's.
        version: of MuJoCo.

    Returns:
        What is wrong, or None.
    """
    hold = max(HOLD, timestep)
    given = isinstance(actuator, DcMotor)
    dcmotor = actuator if given else from_actuator(actuator, rules(version).era).dcmotor
    h = hold / int(hold / timestep + 1e-9)
    reference = accurate(dcmotor, inertia, hold=hold)
    engine = Engine(version=version, integrator=integrator, timestep=h)
    seen = scheme(reference, engine)
    if not seen.far:
        return None
    shorter = (h / n for n in (2, 4, 8, 16))
    enough = next((t for t in shorter if not scheme(reference, replace(engine, timestep=t)).far), None)
    what, on = f"MuJoCo {version} with {integrator} at {1e3 * h:g} ms", f"on a joint of {inertia:g} kg m^2."
    numbers = {"timestep": h, "position": seen.position, "velocity": seen.velocity}
    far = f"{100 * seen.position:.0f} % of the motion in position and {100 * seen.velocity:.0f} % in velocity"
    text, code, advice = f"{what} is off by {far} {on}", "integrator_far_off", []
    if seen.diverged is not None:
        text, code = f"{what} diverges after {seen.diverged:g} s {on}", "integrator_diverges"
        numbers["diverged"] = seen.diverged
    if enough is not None:
        numbers["timestep_enough"] = enough
        advice.append(f"a time step of {1e3 * enough:g} ms")
    soft = _softer(reference, engine)
    if soft is not None:
        numbers["stiffness_enough"] = soft.stiffness
        advice.append(
            f"a softer bristle, lugre stiffness {soft.stiffness:.2g} and damping {soft.damping:.2g} at the"
            " actuator, which moves alike"
        )
    none = "neither a sixteenth of the time step nor a softer bristle is enough: try another integrator or"
    remedy = ", or ".join(advice) or f"{none} lower gains"
    return Finding(code=code, text=text, remedy=remedy, numbers=numbers)


def _softer(reference: Accurate, engine: Engine) -> LuGre | None:
    """The stiffest bristle with which the engine still makes the accurate motion of the true one;
    its damping ratio is kept."""
    lugre = reference.dcmotor.lugre
    if lugre is None:
        return None
    for n in (4, 16, 64, 256, 1024):
        soft = replace(lugre, stiffness=lugre.stiffness / n, damping=lugre.damping / n**0.5)
        softened = reference._replace(dcmotor=replace(reference.dcmotor, friction=soft))
        if not scheme(softened, engine).far:
            return soft
    return None
