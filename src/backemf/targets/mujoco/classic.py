"""Classic MuJoCo, any version and MJX: `<position>`, `<velocity>` or `<motor>` with the joint's own armature,
damping and friction; for a version from 3.12 on `<pid>`, where that holds more of a drive.

    torque at the joint = clip(kp (u - q) - kv w, forcerange) - damping w - frictionloss

Back-EMF acts behind the limited voltage, so it is damping of the joint; a drive's own derivative gain is kv.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...findings import Finding
from ...mujoco.arrays import PID_MOST, PID_SLEW, load_mujoco
from ...mujoco.dcmotor import VERSIONS, release
from ...mujoco.explain.servos import LONG
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.drive import Drive
from ...physics.joint_law import JointLaw
from ..approximate import positions
from ..reduce import OF_DRIVE
from ..reference_motions import motions_of, reference_inertia
from ..result import Export, Request, changed_numbers, number, request_of, xml_comment
from ..spec import (
    LAW_DRIVE,
    LAW_FRICTION,
    LAW_LOSS,
    LAW_MOTOR,
    LAW_PLAY,
    NO_INTEGRAL_ROW,
    ONE_INPUT,
    SENSOR_AT_GEAR,
    Filling,
    Loss,
    Row,
    TargetLaw,
    TargetSpec,
    carry,
    rows_without,
)
from ..write import account, closed_law, fit_law, tune_actuator, tuned_law, weigh_losses
from .dcmotor_target import attributes, delay_words, frame, frame_fields, sticking
from .holding import hold_lines
from .run import Adjust, check_version, run, settings_of, simulator, timestep_of

PID_FROM = (3, 12)
"""The first MuJoCo with `<pid>`."""
INTEGRAL = "drive.newton_metres_per_radian_second, volts_per_radian_second, integral, firmware_integral_gain"


def pid_terms(actuator: Actuator) -> list[str]:
    """Paths of a drive that a `<pid>` holds and other classic elements do not."""
    drive = actuator.drive
    if drive.followed not in ("position_target", "velocity_target"):
        return []
    terms = [f"drive.{name}" for name in drive.targets if name != drive.followed]
    if drive.followed == "position_target":
        terms += ["drive.slew"] if drive.slew is not None else []
        terms += ["drive integral"] if drive.has_integral else []
    return terms


def has_pid(request: Request) -> bool:
    """Whether the version that a file is for has a `<pid>`; "any" leaves it to no version."""
    return request.version != "any" and release(request.version) >= PID_FROM


def by_pid(actuator: Actuator, request: Request) -> bool:
    """Whether an actuator becomes a `<pid>`: where another element would lose something of its drive."""
    return has_pid(request) and bool(pid_terms(actuator))


def check_pid(actuator: Actuator, request: Request) -> None:
    """Refuse a named version without `<pid>` for a drive that needs one, and say which has it."""
    terms = pid_terms(actuator)
    if request.version != "any" and not has_pid(request) and terms:
        raise InvalidValue(
            f"MuJoCo {request.version} has no <pid>, which holds {', '.join(terms)}; expected"
            f" {request.target}@3.12 or later, or {request.target} without a version, which leaves them"
            " out and says what that costs"
        )


class PidLaw(JointLaw):
    """The law at the joint, with the drive's own integral, slew and delay beside it."""

    __slots__ = ()

    def integral(self, like: Actuator) -> float:
        """Its gain [N m/(rad s)], in proportion to the stiffness."""
        loop = steady.torque_loop(like)
        if loop is None or not (loop.stiffness > 0 and like.drive.followed == "position_target"):
            return 0.0
        return self.stiffness * loop.integral / loop.stiffness

    def actuator(self, like: Actuator) -> Actuator:
        """What moves so; commands are late, slewed and summed up as those of another.

        Args:
            like: whose drive it stands for.
        """
        plain, drive = JointLaw.actuator(self, like), like.drive
        if not pid_terms(like):
            return replace(plain, drive=replace(plain.drive, delay=drive.delay))
        own = {
            "newton_metres_per_radian_second": self.integral(like) or None,
            "integral_limit": most_sum(like),
        }
        return replace(plain, drive=replace(plain.drive, delay=drive.delay, slew=slew_of(like), **own))


def slew_of(actuator: Actuator) -> float | None:
    """Of a position [rad/s]; the targets of other drives jump."""
    return actuator.drive.slew if "drive.slew" in pid_terms(actuator) else None


def most_sum(actuator: Actuator) -> float | None:
    """Where the sum of errors stops [rad s]."""
    has_it = "drive integral" in pid_terms(actuator)
    return actuator.parameters.get("drive.integral_limit") if has_it else None


def pid_element(actuator: Actuator, law: PidLaw, gear: float) -> tuple[dict[str, str], dict[str, float]]:
    """A `<pid>` in its own words.

    Args:
        actuator: what it is for.
        law: at the joint.
        gear: MuJoCo's.

    Returns:
        Its attributes, and the factor from each target of the drive to ctrl.
    """
    names = {"position_target": "pos", "velocity_target": "vel", "torque_target": "ff"}
    factors = {"pos": gear, "vel": gear, "ff": 1.0 / gear}
    blind = set() if actuator.drive.followed == "position_target" else {"position_target"}
    inputs = {target: names[target] for target in actuator.drive.targets if target not in blind}
    numbers = {
        "kp": law.stiffness / gear**2,
        "kv": law.damping / gear**2,
        "ki": law.integral(actuator) / gear**2,
        "slewmax": abs(gear) * (slew_of(actuator) or 0.0),
        "imax": abs(gear) * (most_sum(actuator) or 0.0),
    }
    words = {name: number(value) for name, value in numbers.items() if value or name in ("kp", "kv")}
    ctrl = {target: factors[word] for target, word in inputs.items()}
    return words | {"input": " ".join(inputs.values())}, ctrl


def read_pid(model: Any, i: int, gear: float, drive: Drive) -> Drive:
    """The drive of a `<pid>` in a compiled model.

    Args:
        model: compiled.
        i: index of the actuator.
        gear: MuJoCo's.
        drive: with its gains and range.

    Returns:
        An impedance with the model's integral, slew and delay.
    """
    n, late = abs(gear), getattr(model, "actuator_delay", None)
    own = {
        "newton_metres_per_radian_second": float(model.actuator_gainprm[i, 0]) * n**2,
        "slew": float(model.actuator_dynprm[i, PID_SLEW]) / n,
        "integral_limit": float(model.actuator_dynprm[i, PID_MOST]) / n,
        "delay": 0.0 if late is None else float(late[i]),
    }
    return replace(drive, **{name: value or None for name, value in own.items()})


KINDS = {"position_target": "position", "velocity_target": "velocity"}
"""The actuator for what a drive follows; a `<motor>` for everything else."""


def kind_of(drive: Drive) -> str:
    """The element for what a drive follows; InvalidValue where it follows nothing."""
    if drive.followed:
        return KINDS.get(drive.followed, "motor")
    raise InvalidValue(
        f"classic MuJoCo has no actuator for {drive.kind}; expected a drive that follows a target"
    )


def _lose_play(actuator: Actuator, request: Request) -> Iterable[Loss]:
    if actuator.gearbox.backlash and request.backlash:
        return [
            Loss("gearbox.backlash", "an extra joint with stops for the play, as hard as the solver's", True)
        ]
    return LAW_PLAY.lose(actuator, request)


def _settle(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    """The law by closed forms, or moved to make up for what is lost."""
    check_pid(actuator, request)
    closed, losses = closed_law(actuator, request.load, request.amplitude), spec.losses(actuator, request)
    closed = PidLaw(*closed) if has_pid(request) else closed
    if request.method == "simulation" and any(loss.kept for loss in losses):
        motions, over = motions_of(actuator, request)
        reference = positions(actuator, motions)
        law, left = fit_law(actuator, closed, reference, motions, request)
        costs = account(actuator, losses, left, reference, motions, over)
        before, after = (spec.numbers(one, actuator) for one in (closed, law))
        costs = costs._replace(adjusted=changed_numbers(before, after, UNIT))
    else:
        law, costs = closed, weigh_losses(actuator, tune_actuator(actuator, closed, request), losses, request)
    findings = _find_long_step(law, reference_inertia(actuator, request), request.timestep)
    return TargetLaw(law, law.actuator(actuator), costs, findings)


def _find_long_step(law: JointLaw, load: float, timestep: float) -> tuple[Finding, ...]:
    """Whether a step is too long for the stiffness."""
    J = law.armature + load
    w_n = steady.natural_frequency(law.stiffness, J)
    if w_n * timestep <= LONG:
        return ()
    turned, most = f"{w_n * timestep:.2g} rad in a step of {1e3 * timestep:g} ms", 0.5 * LONG / w_n
    return (
        Finding(
            code="step_too_long",
            text=f"stiffness {law.stiffness:.3g} N m/rad on {J:.3g} kg m^2 turns {turned}.",
            remedy=f"a step of at most {1e3 * most:.2g} ms",
            numbers={"timestep": timestep, "timestep_enough": most},
        ),
    )


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    parts = _parts(actuator, settled.law, request)
    load = reference_inertia(actuator, request)
    made = (request, actuator, parts.joint, parts.element, load)
    template, fields = frame_fields(*made)
    return Filling(fields, hold_lines(frame(*made), settled.carried, request), parts.ctrl, template)


def law_holds(law: JointLaw, actuator: Actuator, carried: Actuator, request: Request) -> list[str]:
    """How still somebody else's law at the joint holds, run as a file of any version of MuJoCo.

    Args:
        law: of the joint.
        actuator: whose drive says what is followed.
        carried: what the law simulates.
        request: with the time step and the reference load.

    Returns:
        Lines of a header.
    """
    request = request._replace(version="any", gear=None)
    parts = _parts(actuator, law, request)
    text = frame(request, actuator, parts.joint, parts.element, reference_inertia(actuator, request))
    return hold_lines(text, carried, request, how="run as MJCF")


class Parts(NamedTuple):
    """What goes into a classic file."""

    element: str
    joint: dict[str, str]
    """Attributes."""
    ctrl: dict[str, float]
    """Factor from each target to ctrl."""


def _parts(actuator: Actuator, law: JointLaw, request: Request) -> Parts:
    """The actuator's element and the joint's attributes. With a gear, a position or speed is the joint's
    times it, and the ctrl of a current is the torque before it."""
    drive, kind = actuator.drive, kind_of(actuator.drive)
    g = lever = 1.0 if request.gear is None else request.gear
    given: dict[str, str] = {"name": request.joint, "joint": request.joint}
    ctrl = {drive.followed: g}
    if by_pid(actuator, request):
        kind, (words, ctrl) = "pid", pid_element(actuator, PidLaw(*law), g)
        given |= words
    elif kind == "position":
        kv = {"kv": number(law.damping / g**2)} if law.damping > 0 else {}
        given |= {"kp": number(law.stiffness / g**2), **kv}
    elif kind == "velocity":
        given["kv"] = number(law.damping / g**2)
    if kind == "motor":
        by_torque = request.gear is not None and drive.followed == "current_target"
        lever = g if by_torque else law.gain
        given["gear"], ctrl = number(lever), {drive.followed: law.gain / g if by_torque else 1.0}
    elif g != 1:
        given["gear"] = number(g)
    if law.effort_limit > 0:  # measured before the gear
        most = number(law.effort_limit / abs(lever))
        given["forcerange"] = f"-{most} {most}"
    given |= _ctrlrange(drive, g) | (delay_words(actuator, request.timestep) if has_pid(request) else {})
    on_joint = {"armature": number(law.armature), "damping": number(law.viscous)}
    if law.friction > 0:
        on_joint |= sticking(law.friction, request.timestep)
    return Parts(f"<{kind} {attributes(given)}/>", on_joint, ctrl)


def _ctrlrange(drive: Drive, gear: float) -> dict[str, str]:
    low, high, volts = drive.command_low, drive.command_high, drive.ceiling({})
    if low is not None and high is not None:
        low, high = sorted((gear * low, gear * high))
        return {"ctrlrange": f"{number(low)} {number(high)}"}
    if drive.followed == "voltage_target" and volts is not None:
        return {"ctrlrange": f"-{number(volts)} {number(volts)}"}
    return {}


def adjustment(export: Export, settings: Mapping[str, float]) -> Adjust:
    """What other settings of the drive, such as a recording's own gain, change in the file's numbers."""
    request = request_of(export)
    closed = closed_law(export.actuator, request.load, request.amplitude)
    law = SPEC.read_law(export.numbers) if export.numbers else closed  # a file from elsewhere says no numbers
    at, after = tuned_law(export.actuator, law, request), export.actuator.replace(**settings)
    return settings_of(
        _compile_model(export.actuator, law, request), _compile_model(after, at(settings), request)
    )


def _compile_model(actuator: Actuator, law: JointLaw, request: Request) -> Any:
    parts = _parts(actuator, law, request)
    return load_mujoco().MjModel.from_xml_string(frame(request, actuator, parts.joint, parts.element, 1.0))


def _check_version(version: str) -> None:
    """Refuse to run a file with a `<pid>` where the installed MuJoCo has none."""
    if version != "any" and release(version) >= PID_FROM:
        check_version(version)


def _where(row: Row, term: str, held: bool) -> Row:
    """A row that loses something only where a `<pid>` holds a term of the drive, or only where none does."""

    def lose(actuator: Actuator, request: Request) -> Iterable[Loss]:
        return row.lose(actuator, request) if (term in pid_terms(actuator)) == held else ()

    return row._replace(lose=lose)


NUMBERS = (
    carry("law.gain", "motor/@gear", "N m per unit of ctrl", name="gain"),
    carry("law.stiffness", "position/@kp", "N m/rad at the joint"),
    carry("law.damping", "position/@kv", "N m s/rad, inside the force limit; of a velocity its gain"),
    carry("law.effort_limit", "forcerange", "N m: by voltage, current or torque limit", name="force"),
    carry("law.viscous, law.back_emf", "joint/@damping", "N m s/rad, with back-EMF"),
    carry("law.friction", "joint/@frictionloss, solreffriction, solimpfriction", "N m", name="frictionloss"),
    carry("law.armature", "joint/@armature", "kg m^2"),
)
UNIT = {"kp": "N m/rad", "kv": "N m s/rad", "damping": "N m s/rad", "force": "N m", "frictionloss": "N m"}
RANGE = Row(
    "drive.command_low, command_high, voltage_limit, duty_limit", "ctrlrange", "of a voltage its supply"
)
EXTRA_JOINT = LAW_PLAY._replace(
    theirs="an extra joint in series", remarks="only where asked for", lose=_lose_play
)
COMMON = (*NUMBERS, RANGE, *LAW_MOTOR, LAW_LOSS, EXTRA_JOINT, SENSOR_AT_GEAR, *LAW_FRICTION)
_DRIVE = {row.paths[0]: row for row in (*OF_DRIVE, *LAW_DRIVE)}
_SLEW = carry("drive.slew", "pid/@slewmax", "of a position; else dropped", value=lambda law, a: slew_of(a))
_SUM = "N m/(rad s) at the joint, of a position; else dropped"
PID_ROWS = (
    _where(_SLEW._replace(lose=_DRIVE["drive.slew"].lose), "drive.slew", held=False),
    carry("drive.delay", "delay, nsample", name="delay"),
    _where(
        carry(INTEGRAL, "pid/@ki", _SUM, value=lambda law, actuator: law.integral(actuator) or None)._replace(
            lose=NO_INTEGRAL_ROW.lose
        ),
        "drive integral",
        held=False,
    ),
    carry(
        "drive.integral_limit",
        "pid/@imax",
        "rad s; the engine stops a step after it",
        value=lambda law, actuator: most_sum(actuator),
    ),
    _where(_DRIVE["drive.freeze_when_saturated"], "drive integral", held=True),
    *rows_without(LAW_DRIVE, "drive.slew", "drive.delay", NO_INTEGRAL_ROW.paths[0]),
    Row("drive.targets", "pid/@input", "pos vel ff, as many as the drive follows"),
)
"""What becomes of a drive where the version has `<pid>`."""
_SPEC = TargetSpec(
    label="classic MuJoCo",
    units="SI at the joint: kp N m/rad, kv and damping N m s/rad, forcerange and frictionloss N m, armature"
    " kg m^2; on a slide N and m.",
    rows=(*COMMON, *LAW_DRIVE, ONE_INPUT),
    file="{joint}.xml",
    template="mujoco.xml",
    comment=xml_comment,
    check=lambda actuator: kind_of(actuator.drive),
    settle=_settle,
    place=_place,
    signed=tuple(row.name for row in NUMBERS),
    run=run,
    simulator=simulator,
    timestep_of=timestep_of,
    adjustment=adjustment,
    check_version=_check_version,
)
_PID = replace(
    _SPEC, units=f"{_SPEC.units} ki N m/(rad s), slewmax rad/s, imax rad s.", rows=(*COMMON, *PID_ROWS)
)
SPEC = replace(_SPEC, versions={version: _PID for version in VERSIONS if release(version) >= PID_FROM})
