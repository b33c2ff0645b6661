"""Classic MuJoCo, any version and MJX: `<position>`, `<velocity>` or `<motor>` with the joint's own armature,
damping and friction.

    torque at the joint = clip(kp (u - q) - kv w, forcerange) - damping w - frictionloss

Back-EMF acts behind the limited voltage, so it is damping of the joint; a drive's own derivative gain is kv.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...findings import Finding
from ...mujoco.arrays import load_mujoco
from ...physics import drive as drives, steady
from ...physics.actuator import Actuator
from ...physics.drive import Drive
from ...physics.friction import Coulomb
from ...physics.gearbox import Gearbox
from ...physics.motor import Limits, Motor
from ..approximate import Difference, Tuned, best, difference, near, positions
from ..explained.law import LONG
from ..export import Export, Request, complete, header, moved, number, request_of, xml_comment
from ..losses import LOOKS, NO_PLAY, Losses, account, at_the_gear, cooled, for_ever, weighed
from ..motions import Motion, motions_of, reach, reference_inertia
from ..reduce import levels
from .dcmotor import attributes, frame, sticking
from .run import Adjust, run as run, settings_of, simulator as simulator, timestep_of as timestep_of

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
        "inductance, heat, cogging, slew, integral, delay, period, deadband, derivative_filter",
        "-",
        "dropped or absorbed by the numbers above",
    ),
)
"""Ours -> theirs, for the documentation page."""
KINDS = {"position_target": "position", "velocity_target": "velocity"}
"""The actuator for what a drive follows; a `<motor>` for everything else."""


GAINS, JOINT_NUMBERS = ("gain", "kp", "kv"), ("force", "damping", "frictionloss")
"""What a user has chosen, and what the joint has."""
UNIT = {"kp": "N m/rad", "kv": "N m s/rad", "damping": "N m s/rad", "force": "N m", "frictionloss": "N m"}
BETTER = 0.9
"""Other numbers than the closed forms are taken where they leave less than this share of the error."""


class Numbers(NamedTuple):
    """What the target holds, at the joint."""

    gain: float = 0.0
    """N m per unit of ctrl of a `<motor>`; negative behind gears that turn the other way."""
    kp: float = 0.0
    kv: float = 0.0
    force: float = 0.0
    """0: no limit."""
    damping: float = 0.0
    frictionloss: float = 0.0
    armature: float = 0.0


def kind_of(drive: Drive) -> str:
    if drive.followed:
        return KINDS.get(drive.followed, "motor")
    raise InvalidValue(
        f"classic MuJoCo has no actuator for {drive.kind}; expected a drive that follows a target"
    )


def formula(actuator: Actuator, load: float = 0.25, amplitude: float = 0.5) -> Numbers:
    """Closed forms: what a resistive motor behind its gears does at the joint."""
    x = steady.plain_servo(actuator)
    return Numbers(
        gain=x.gain,
        kp=x.stiffness if actuator.drive.followed == "position_target" else 0.0,
        kv=x.derivative,
        force=x.limit or 0.0,
        damping=x.damping,
        frictionloss=levels(actuator, load, amplitude)[0],
        armature=x.armature,
    )


def stand_in(actuator: Actuator, x: Numbers) -> Actuator:
    """The target as an actuator: an ideal source of torque with a limit,
    behind Coulomb friction and damping."""
    drive, limits = actuator.drive, Limits(torque=x.force) if x.force > 0 else None
    base: dict[str, Any] = {"resistance": 1.0, "rotor_inertia": x.armature, "limits": limits}
    laws: dict[str, Drive] = {
        "voltage_target": drives.Voltage(voltage_limit=drive.ceiling({})),
        "current_target": drives.Current(),
    }
    if x.gain != 1 and not (
        x.kp or x.kv
    ):  # gears that lose a share of a torque: an ampere for a newton-metre
        laws["torque_target"] = drives.Current()
    law = laws.get(drive.followed)
    motor, ratio = {"torque_constant": 1.0}, 1.0
    if law is not None:
        motor, ratio = {"torque_constant": abs(x.gain)}, math.copysign(1.0, x.gain)
        motor |= {} if law.hides_back_emf else {"back_emf_constant": NO_EMF}
    return Actuator(
        motor=Motor(**motor, **base),
        gearbox=Gearbox(ratio=ratio),
        friction=Coulomb(coulomb=x.frictionloss, viscous=x.damping),
        drive=law or drives.Impedance(newton_metres_per_radian=x.kp, newton_metre_seconds_per_radian=x.kv),
        motion=actuator.motion,
    )


def lost(actuator: Actuator, backlash: bool) -> Losses:
    """Every effect that classic MuJoCo lacks."""
    motor, gearbox, friction, drive = actuator.motor, actuator.gearbox, actuator.friction, actuator.drive
    limits, losses = motor.limits or Limits(), Losses()

    def keep(present: object, path: str, text: str) -> None:
        if present:
            losses.keep(path, text)

    def drop(present: object, path: str, text: str, part: str = "", **changes: Any) -> None:
        if present:
            losses.drop(path, text, part, **changes)

    at_once, cold = "the torque follows at once", {"thermal": None, "limits": cooled(motor.limits)}
    keep(motor.inductance, "motor.inductance", at_once)
    text = "the torque constant does not fall with current"
    keep(motor.saturation_current, "motor.saturation_current", text)
    drop(motor.thermal, "motor.thermal", "nothing warms", "motor", **cold)
    drop(motor.cogging, "motor.cogging", "no cogging", "motor", cogging=None)
    text = "a limit before damping, so that back-EMF acts beyond it"
    keep(limits.current or limits.torque, "motor.limits", text)
    keep(limits.current_rate, "motor.limits.current_rate", at_once)
    if limits.peak_current is not None:
        text = "the peak current may flow for ever"
        losses.drop("motor.limits.peak_time", text, "motor", limits=for_ever(limits))
    text = "the loss is spread over all numbers, the same in both directions"
    keep((gearbox.efficiency or 1.0) < 1, "gearbox.efficiency", text)
    text = "an extra joint with stops for the play, as hard as the solver's"
    keep(gearbox.backlash and backlash, "gearbox.backlash", text)
    drop(gearbox.backlash and not backlash, "gearbox.backlash", "no play", "gearbox", **NO_PLAY)
    if backlash:
        at_the_gear(actuator, losses)
    same = {f"friction.{name}" for name in ("viscous", "coulomb", "asymmetry", "offset")}
    own = {path: v for path, v in actuator.parameters.items() if path.startswith("friction.") and v}
    rest = [path for path in own if path not in same]
    keep(rest, ", ".join(rest), f"{friction.kind} became one friction and one damping")
    both = {"asymmetry": "the same friction in both directions", "offset": "no constant torque"}
    losses.drop_each(actuator, "friction", **both)
    losses.drop_each(actuator, "drive", slew="the setpoint jumps", delay="no delay", period=LOOKS)
    drop(drive.has_integral, "drive integral", "no integral", "drive", **drive.without_integral)
    losses.drop_each(actuator, "drive", deadband="every error counts")
    losses.drop_push(actuator)
    falls = drive.hides_back_emf and drive.ceiling({}) is not None
    keep(falls, "drive.supply", "the torque limit does not fall with speed")
    others = [f"drive.{name}" for name in drive.targets[1:]]
    drop(others, ", ".join(others), "one input only")
    return losses


def tuned(actuator: Actuator, x: Numbers, request: Request) -> Tuned:
    """The stand-in for other settings of the drive."""
    numbers = tuned_numbers(actuator, x, request)
    return lambda settings: stand_in(actuator.replace(**settings), numbers(settings))


def tuned_numbers(
    actuator: Actuator, x: Numbers, request: Request
) -> Callable[[Mapping[str, float]], Numbers]:
    """The numbers for other settings of the drive: they change as the closed forms do."""
    before = formula(actuator, request.load, request.amplitude)

    def at(settings: Mapping[str, float]) -> Numbers:
        if not settings:
            return x
        after = formula(actuator.replace(**settings), request.load, request.amplitude)
        names = [n for n in ("gain", "kp", "kv", "force") if getattr(before, n) != 0]
        return x._replace(**{n: getattr(x, n) * getattr(after, n) / getattr(before, n) for n in names})

    return at


def fitted(
    actuator: Actuator, x: Numbers, rich: np.ndarray, motions: list[Motion], request: Request
) -> tuple[Numbers, Difference]:
    """The numbers that come closest to the rich positions, starting from closed forms; no sign changes.

    Closed forms stay unless others are clearly closer; the user's own gains stay unless the rest cannot make
    up for what is lost.
    """
    closed = difference(positions(tuned(actuator, x, request), motions), rich)
    kept = (x, closed)
    for names in (JOINT_NUMBERS, GAINS + JOINT_NUMBERS):
        found = _fitted(actuator, x, names, rich, motions, request)
        if found[1].rms < BETTER * kept[1].rms:
            kept = found
    return kept


def _fitted(
    actuator: Actuator,
    x: Numbers,
    names: Sequence[str],
    rich: np.ndarray,
    motions: list[Motion],
    request: Request,
) -> tuple[Numbers, Difference]:
    free = [n for n in names if getattr(x, n) != 0 or n == "frictionloss"]
    least = {"frictionloss": 0.02 * reach(actuator, request.amplitude).stall}
    x0 = [abs(getattr(x, n)) for n in free]
    scale = [max(v, least.get(n, 0.0)) for n, v in zip(free, x0, strict=True)]

    def at(y: np.ndarray) -> Numbers:
        size = {n: near(float(v), a) for n, v, a in zip(free, y, x0, strict=True)}
        return x._replace(**{n: math.copysign(v, getattr(x, n)) for n, v in size.items()})

    fit = best(lambda y: tuned(actuator, at(y), request), x0, scale, rich, motions)
    return at(fit.x), fit.difference


def write(actuator: Actuator, request: Request) -> Export:
    kind_of(actuator.drive)  # refuses one that follows nothing
    numbers, losses = formula(actuator, request.load, request.amplitude), lost(actuator, request.backlash)
    if request.method == "simulation" and any(loss.kept for loss in losses):
        motions, over = motions_of(actuator, request)
        rich = positions(actuator, motions)
        closed = numbers
        numbers, left = fitted(actuator, closed, rich, motions, request)
        costs = account(actuator, losses, left, rich, motions, over)
        costs = costs._replace(adjusted=moved(closed._asdict(), numbers._asdict(), UNIT))
    else:
        costs = weighed(actuator, tuned(actuator, numbers, request), losses, request)
    load = reference_inertia(actuator, request)
    findings = _too_long(numbers, load, request.timestep)
    element, joint, ctrl = parts(actuator, numbers, request.joint, request.timestep, request.gear)
    top = xml_comment(header(request, UNITS, costs, findings))
    files = {f"{request.joint}.xml": frame(request, actuator, joint, element, load, top)}
    shown: dict[str, Any] = {"numbers": numbers._asdict(), "findings": findings, "ctrl": ctrl}
    return complete(request, actuator, costs, files=files, carried=stand_in(actuator, numbers), **shown)


def _too_long(x: Numbers, load: float, timestep: float) -> list[Finding]:
    """Whether a step is too long for the stiffness."""
    J = x.armature + load
    w_n = steady.natural_frequency(x.kp, J)
    if w_n * timestep <= LONG:
        return []
    turned, most = f"{w_n * timestep:.2g} rad in a step of {1e3 * timestep:g} ms", 0.5 * LONG / w_n
    return [
        Finding(
            code="step_too_long",
            text=f"stiffness {x.kp:.3g} N m/rad on {J:.3g} kg m^2 turns {turned}.",
            remedy=f"a step of at most {1e3 * most:.2g} ms",
            numbers={"timestep": timestep, "timestep_enough": most},
        )
    ]


def parts(
    actuator: Actuator, x: Numbers, joint: str, timestep: float, gear: float | None = None
) -> tuple[str, dict[str, str], dict[str, float]]:
    """(the actuator's element, the joint's attributes, target -> factor of ctrl). With a gear, a position or
    speed is the joint's times it, and the ctrl of a current is the torque before it."""
    drive, kind, g = actuator.drive, kind_of(actuator.drive), 1.0 if gear is None else gear
    given: dict[str, str] = {"name": joint, "joint": joint}
    ctrl = {drive.followed: g}
    if kind == "position":
        given |= {"kp": number(x.kp / g**2), **({"kv": number(x.kv / g**2)} if x.kv > 0 else {})}
    elif kind == "velocity":
        given["kv"] = number(x.kv / g**2)
    if kind == "motor":
        by_torque = gear is not None and drive.followed == "current_target"
        lever = g if by_torque else x.gain
        given["gear"], ctrl = number(lever), {drive.followed: x.gain / g if by_torque else 1.0}
    else:
        lever = g
        given |= {} if g == 1 else {"gear": number(g)}
    if x.force > 0:  # measured before the gear
        most = number(x.force / abs(lever))
        given["forcerange"] = f"-{most} {most}"
    low, high, volts = drive.command_low, drive.command_high, drive.ceiling({})
    if low is not None and high is not None:
        low, high = sorted((g * low, g * high))
        given["ctrlrange"] = f"{number(low)} {number(high)}"
    elif drive.followed == "voltage_target" and volts is not None:
        given["ctrlrange"] = f"-{number(volts)} {number(volts)}"
    on_joint = {"armature": number(x.armature), "damping": number(x.damping)}
    if x.frictionloss > 0:
        on_joint |= sticking(x.frictionloss, timestep)
    return f"<{kind} {attributes(given)}/>", on_joint, ctrl


def adjustment(export: Export, settings: Mapping[str, float]) -> Adjust:
    """What other settings of the drive, such as a recording's own gain, change in the file's numbers."""
    x, request = Numbers(**export.numbers), request_of(export)
    at = tuned_numbers(export.actuator, x, request)
    return settings_of(*(_compiled(export, request, y) for y in (x, at(settings))))


def _compiled(export: Export, request: Request, x: Numbers) -> Any:
    element, joint, _ = parts(export.actuator, x, export.joint, export.timestep)
    return load_mujoco().MjModel.from_xml_string(frame(request, export.actuator, joint, element, 1.0))
