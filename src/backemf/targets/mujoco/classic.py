"""Classic MuJoCo, any version and MJX: `<position>`, `<velocity>` or `<motor>` with the joint's own armature,
damping and friction.

    torque at the joint = clip(kp (u - q) - kv w, forcerange) - damping w - frictionloss

Back-EMF acts behind the limited voltage, so it is damping of the joint; a drive's own derivative gain is kv.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...findings import Finding
from ...model import drive as drives
from ...model.actuator import Actuator
from ...model.drive import Drive, Regulator
from ...model.friction import Coulomb
from ...model.motor import Limits, Motor
from ...simulator.actuator import servo_gains
from ..approximate import Difference, Tuned, best, positions
from ..explain import LONG
from ..export import Export, Request, complete, header, number, request_of, xml_comment
from ..losses import NO_PLAY, Loss, account, cooled, lacking, no_integral, weighed
from ..motions import Motion, motions_of, reach, reference_inertia
from ..reduce import iron_drag, levels
from .dcmotor import attributes, frame, sticking

UNITS = (
    "SI at the joint: kp N m/rad, kv and damping N m s/rad, forcerange and frictionloss N m, armature kg m^2;"
    " on a slide N and m."
)
NO_EMF = 1e-12
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("volts per radian x n N K_t / R", "position kp", "N m/rad"),
    ("volt seconds per radian x n N K_t / R", "position kv", "N m s/rad, inside the force limit"),
    ("greatest voltage x n N K_t / R, or the current limit's torque", "forcerange", "N m"),
    ("n N K_t / R (voltage) or n N K_t (current)", "motor gear", "N m per unit of ctrl"),
    ("n N^2 K_t K_e / R + friction.viscous + n N^2 K_fe", "joint damping", "N m s/rad"),
    ("n N^2 motor.rotor_inertia", "joint armature", "kg m^2"),
    (
        "friction.coulomb, or the level at half the reference load",
        "joint frictionloss, solreffriction, solimpfriction",
        "N m",
    ),
    (
        "inductance, heat, cogging, slew, integral, delay, deadband",
        "-",
        "dropped or absorbed by the numbers above",
    ),
)
"""Ours -> theirs, for the documentation page."""


class Numbers(NamedTuple):
    """What the target holds, at the joint."""

    gain: float = 0.0
    """N m per unit of ctrl of a `<motor>`."""
    kp: float = 0.0
    kv: float = 0.0
    force: float = 0.0
    """0: no limit."""
    damping: float = 0.0
    frictionloss: float = 0.0
    armature: float = 0.0


def kind_of(drive: Drive) -> str:
    if isinstance(drive, (drives.Position, drives.Servo)) or (
        isinstance(drive, drives.Impedance) and drive.newton_metres_per_radian > 0
    ):
        return "position"
    if isinstance(drive, drives.Velocity) or (
        isinstance(drive, drives.Impedance) and drive.newton_metre_seconds_per_radian > 0
    ):
        return "velocity"
    if isinstance(drive, (drives.Voltage, drives.Current, drives.Impedance)):
        return "motor"
    raise InvalidValue(
        f"classic MuJoCo has no actuator for {drive.kind}; expected a drive that follows a target"
    )


def formula(actuator: Actuator, load: float = 0.25, amplitude: float = 0.5) -> Numbers:
    """Closed forms: what a resistive motor behind its gears does at the joint."""
    motor, gearbox, drive, friction = actuator.motor, actuator.gearbox, actuator.drive, actuator.friction
    N, n = gearbox.ratio, gearbox.n_motors
    R, K_t, K_e = motor.resistance, motor.torque_constant, motor.back_emf_at(None)
    per_volt, per_amp = n * N * K_t / R, n * N * K_t
    emf, volts = n * N * N * K_t * K_e / R, drive.ceiling({})
    limits = [] if volts is None else [abs(per_volt) * volts]
    if motor.limits is not None:
        held = (
            motor.limits.torque,
            *(
                None if i is None else float(motor.torque_at(i, None))
                for i in (motor.limits.current, motor.limits.peak_current)
            ),
        )
        limits += [abs(float(gearbox.output_torque(t))) for t in held if t is not None]
    eta = gearbox.efficiency or 1.0
    found = Numbers(
        force=eta * min(limits) if limits else 0.0,
        damping=emf + friction.viscous + iron_drag(actuator),
        frictionloss=levels(actuator, load, amplitude)[0],
        armature=float(gearbox.output_inertia(motor.rotor_inertia)),
    )
    if isinstance(drive, (drives.Position, drives.Servo)):
        kp, _, kd = servo_gains(drive)
        return found._replace(kp=eta * per_volt * kp, kv=eta * per_volt * kd)
    if isinstance(drive, drives.Velocity):
        return found._replace(kv=eta * per_volt * drive.volt_seconds_per_radian)
    if isinstance(drive, drives.Voltage):
        return found._replace(gain=eta * per_volt)
    found = found._replace(damping=found.damping - emf)  # a current loop hides the back-EMF
    if isinstance(drive, drives.Impedance):
        gain = eta if kind_of(drive) == "motor" else 0.0
        return found._replace(
            gain=gain, kp=eta * drive.newton_metres_per_radian, kv=eta * drive.newton_metre_seconds_per_radian
        )
    return found._replace(gain=eta * per_amp)


def stand_in(actuator: Actuator, x: Numbers) -> Actuator:
    """The target as an actuator: an ideal source of torque with a limit,
    behind Coulomb friction and damping."""
    drive, limits = actuator.drive, Limits(torque=x.force) if x.force > 0 else None
    friction = Coulomb(coulomb=x.frictionloss, viscous=x.damping)
    base: dict[str, Any] = {"resistance": 1.0, "rotor_inertia": x.armature, "limits": limits}
    if isinstance(drive, drives.Voltage):
        motor, law = (
            Motor(torque_constant=abs(x.gain), back_emf_constant=NO_EMF, **base),
            drives.Voltage(voltage_limit=drive.ceiling({})),
        )
        turned = replace(
            actuator.gearbox,
            ratio=-1.0 if x.gain < 0 else 1.0,
            n_motors=1,
            efficiency=None,
            backlash=None,
            contact_stiffness=None,
        )
        return Actuator(motor=motor, gearbox=turned, friction=friction, drive=law, motion=actuator.motion)
    if isinstance(drive, drives.Current):
        return Actuator(
            motor=Motor(torque_constant=x.gain, **base),
            friction=friction,
            drive=drives.Current(),
            motion=actuator.motion,
        )
    law = drives.Impedance(newton_metres_per_radian=x.kp, newton_metre_seconds_per_radian=x.kv)
    return Actuator(
        motor=Motor(torque_constant=1.0, **base), friction=friction, drive=law, motion=actuator.motion
    )


def lost(actuator: Actuator, backlash: bool) -> list[Loss]:
    """Every effect that classic MuJoCo lacks."""
    motor, gearbox, friction, drive, found = (
        actuator.motor,
        actuator.gearbox,
        actuator.friction,
        actuator.drive,
        [],
    )

    def add(present: object, path: str, text: str, kept: bool, part: str = "", **changes: Any) -> None:
        if present:
            found.append(Loss(path, text, kept, without=lacking(part, **changes) if part else None))

    add(motor.inductance is not None, "motor.inductance", "the torque follows at once", True)
    add(
        motor.saturation_current is not None,
        "motor.saturation_current",
        "the torque constant does not fall with current",
        True,
    )
    add(
        motor.thermal is not None,
        "motor.thermal",
        "nothing warms",
        False,
        "motor",
        thermal=None,
        limits=cooled(motor.limits),
    )
    add(motor.cogging is not None, "motor.cogging", "no cogging", False, "motor", cogging=None)
    limits = motor.limits
    if limits is not None:
        limited = limits.current is not None or limits.torque is not None
        add(limited, "motor.limits", "a limit before damping, so that back-EMF acts beyond it", True)
        add(limits.current_rate is not None, "motor.limits.current_rate", "the torque follows at once", True)
        if limits.peak_current is not None:
            most = min(limits.peak_current, limits.current or math.inf)
            for_ever = replace(
                limits,
                peak_current=None,
                peak_time=None,
                safe_current=None,
                derating_start=None,
                derating_end=None,
                current=most,
            )
            add(
                True,
                "motor.limits.peak_time",
                "the peak current may flow for ever",
                False,
                "motor",
                limits=for_ever,
            )
    lossy, play = gearbox.efficiency is not None and gearbox.efficiency < 1, gearbox.backlash is not None
    add(lossy, "gearbox.efficiency", "the loss is spread over all numbers, the same in both directions", True)
    add(
        play and backlash,
        "gearbox.backlash",
        "an extra joint with stops for the play, as hard as the solver's",
        True,
    )
    add(play and not backlash, "gearbox.backlash", "no play", False, "gearbox", **NO_PLAY)
    rest = [
        f.name
        for f in fields(friction)
        if f.name not in ("viscous", "coulomb", "asymmetry", "offset")
        and getattr(friction, f.name) not in (None, 0.0)
    ]
    add(
        rest,
        ", ".join(f"friction.{n}" for n in rest),
        f"{friction.kind} became one friction and one damping",
        True,
    )
    add(
        friction.asymmetry is not None,
        "friction.asymmetry",
        "the same friction in both directions",
        False,
        "friction",
        asymmetry=None,
    )
    add(friction.offset is not None, "friction.offset", "no constant torque", False, "friction", offset=None)
    add(drive.slew is not None, "drive.slew", "the setpoint jumps", False, "drive", slew=None)
    add(drive.delay, "drive.delay", "no delay", False, "drive", delay=None)
    add(no_integral(drive), "drive integral", "no integral", False, "drive", **no_integral(drive))
    if isinstance(drive, Regulator):
        add(drive.deadband is not None, "drive.deadband", "every error counts", False, "drive", deadband=None)
    hides = isinstance(drive, (drives.Current, drives.Impedance))
    add(
        hides and drive.ceiling({}) is not None,
        "drive.supply",
        "the torque limit does not fall with speed",
        True,
    )
    if isinstance(drive, drives.Impedance):
        add(True, "drive.velocity_target, drive.torque_target", "one input only", False)
    return found


def tuned(actuator: Actuator, x: Numbers, request: Request) -> Tuned:
    """The stand-in for other settings of the drive: its numbers change as the closed forms do."""
    before = formula(actuator, request.load, request.amplitude)

    def at(settings: Mapping[str, float]) -> Actuator:
        if not settings:
            return stand_in(actuator, x)
        other = actuator.replace(**settings)
        after = formula(other, request.load, request.amplitude)
        changed = {
            n: getattr(x, n) * getattr(after, n) / getattr(before, n)
            for n in ("gain", "kp", "kv", "force")
            if getattr(before, n) > 0
        }
        return stand_in(other, x._replace(**changed))

    return at


def fitted(
    actuator: Actuator, x: Numbers, rich: np.ndarray, motions: list[Motion], request: Request
) -> tuple[Numbers, Difference]:
    """The numbers that come closest to the rich positions, starting from closed forms."""
    free = [
        n
        for n in ("gain", "kp", "kv", "force", "damping", "frictionloss")
        if getattr(x, n) > 0 or n == "frictionloss"
    ]
    stall = reach(actuator, request.amplitude).stall
    x0 = [getattr(x, n) for n in free]
    scale = [max(v, 0.02 * stall if n == "frictionloss" else 0.0) for n, v in zip(free, x0, strict=True)]

    def at(y: np.ndarray) -> Numbers:
        return x._replace(
            **{n: max(float(v), 0.0 if n == "frictionloss" else 1e-9) for n, v in zip(free, y, strict=True)}
        )

    found = best(lambda y: tuned(actuator, at(y), request), x0, scale, rich, motions)
    return at(found.x), found.difference


def write(actuator: Actuator, request: Request) -> Export:
    kind_of(actuator.drive)  # refuses one that follows nothing
    numbers, losses = formula(actuator, request.load, request.amplitude), lost(actuator, request.backlash)
    if numbers.gain < 0 or numbers.kp < 0:
        raise InvalidValue(
            f"gearbox.ratio is {actuator.gearbox.ratio:g}; classic MuJoCo expects a positive ratio: turn the"
            " joint's axis round instead"
        )
    if request.method == "simulation" and any(loss.kept for loss in losses):
        motions, over = motions_of(actuator, request)
        rich = positions(actuator, motions)
        numbers, left = fitted(actuator, numbers, rich, motions, request)
        dropped, approximated, over = account(actuator, losses, left, rich, motions, over)
    else:
        dropped, approximated, over = weighed(actuator, tuned(actuator, numbers, request), losses, request)
    load = reference_inertia(actuator, request)
    findings = _too_long(numbers, load, request.timestep)
    top = header(request, UNITS, dropped=dropped, approximated=approximated, findings=findings, over=over)
    element, joint, _ = parts(actuator, numbers, request.joint, request.timestep)
    play = actuator.gearbox.backlash if request.backlash else None
    text = frame(
        request.joint,
        actuator.motion,
        joint,
        element,
        load,
        request.timestep,
        request.integrator,
        xml_comment(top),
        play,
    )
    account_of: dict[str, Any] = {
        "dropped": dropped,
        "approximated": approximated,
        "findings": findings,
        "over": over,
    }
    files, made = {f"{request.joint}.xml": text}, stand_in(actuator, numbers)
    return complete(request, actuator, files=files, carried=made, numbers=numbers._asdict(), **account_of)


def _too_long(x: Numbers, load: float, timestep: float) -> tuple[Finding, ...]:
    """Whether a step is too long for the stiffness."""
    w_n = math.sqrt(x.kp / (x.armature + load))
    if w_n * timestep <= LONG:
        return ()
    text = (
        f"stiffness {x.kp:.3g} N m/rad on {x.armature + load:.3g} kg m^2 turns {w_n * timestep:.2g} rad in a"
        f" step of {1e3 * timestep:g} ms."
    )
    most = 0.5 * LONG / w_n
    return (
        Finding(
            code="step_too_long",
            text=text,
            remedy=f"a step of at most {1e3 * most:.2g} ms",
            numbers={"timestep": timestep, "timestep_enough": most},
        ),
    )


def parts(
    actuator: Actuator, x: Numbers, joint: str, timestep: float
) -> tuple[str, dict[str, str], dict[str, float]]:
    """(the actuator's element, the joint's attributes, target -> factor of ctrl)."""
    drive, kind = actuator.drive, kind_of(actuator.drive)
    given: dict[str, str] = {"name": joint, "joint": joint}
    if kind == "position":
        given |= {"kp": number(x.kp), **({"kv": number(x.kv)} if x.kv > 0 else {})}
    elif kind == "velocity":
        given["kv"] = number(x.kv)
    else:
        given["gear"] = number(x.gain)
    if x.force > 0:  # a motor's force is measured before its gear
        most = number(x.force / x.gain if kind == "motor" else x.force)
        given["forcerange"] = f"-{most} {most}"
    low, high, volts = drive.command_low, drive.command_high, drive.ceiling({})
    if low is not None and high is not None:
        given["ctrlrange"] = f"{number(low)} {number(high)}"
    elif isinstance(drive, drives.Voltage) and volts is not None:
        given["ctrlrange"] = f"-{number(volts)} {number(volts)}"
    on_joint = {"armature": number(x.armature), "damping": number(x.damping)}
    if x.frictionloss > 0:
        on_joint |= sticking(x.frictionloss, timestep)
    target = (
        "velocity_target"
        if kind == "velocity"
        else "torque_target"
        if kind == "motor" and isinstance(drive, drives.Impedance)
        else drive.target
    )
    return f"<{kind} {attributes(given)}/>", on_joint, {target: 1.0}


def retuned(export: Export, settings: Mapping[str, float]) -> Actuator:
    """What the target simulates with other settings of the drive."""
    return tuned(export.actuator, Numbers(**export.numbers), request_of(export))(settings)


def retext(export: Export, actuator: Actuator, timestep: float) -> tuple[str, dict[str, float]]:
    """The export's file with a carried actuator and time step, and the factors of its ctrl."""
    drive, motor, friction = actuator.drive, actuator.motor, actuator.friction
    impedance = drive if isinstance(drive, drives.Impedance) else None
    x = Numbers(
        gain=motor.torque_constant if impedance is None else export.numbers["gain"],
        kp=0.0 if impedance is None else impedance.newton_metres_per_radian,
        kv=0.0 if impedance is None else impedance.newton_metre_seconds_per_radian,
        force=motor.limits.torque or 0.0 if motor.limits is not None else 0.0,
        damping=friction.viscous,
        frictionloss=friction.coulomb if isinstance(friction, Coulomb) else 0.0,
        armature=motor.rotor_inertia,
    )
    element, joint, ctrl = parts(export.actuator, x, export.joint, export.timestep)
    play = export.actuator.gearbox.backlash if export.has_play_joint else None
    return (
        frame(export.joint, actuator.motion, joint, element, 1.0, timestep, export.integrator, "", play),
        ctrl,
    )
