"""Isaac Lab 2.3 and 3.0: a `DCMotorCfg`, whose straight torque-speed line is exactly that of a motor without
inductance; and its configurations as a source, read from the literals of somebody's Python file.

    torque = clip(stiffness (u - q) - damping w, saturation_effort (+-1 - w / velocity_limit), +-effort_limit)

A servo's clipped voltage and its back-EMF make the same: stiffness = k_p K / R, damping = (K + k_d) K / R at
the joint.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..analysis.conversion import isaac_constants
from ..bounds import limits, text_of
from ..errors import InvalidValue, MissingValue, UnknownName
from ..physics import drive as drives
from ..physics.actuator import Actuator
from ..physics.friction import Coulomb
from ..physics.joint_law import JointLaw, dry_levels
from ..physics.maths import is_number
from ..physics.motor import Limits, Motor
from . import bam
from .approximate import Difference, Tuned, difference, positions, refit
from .reduce import LACKED, reduce_actuator
from .reference_motions import ReferenceMotion, motions_of
from .result import NOTHING_LOST, Account, Request, hash_comment, number
from .spec import (
    NO_INTEGRAL_ROW,
    UNLIMITED,
    Filling,
    Loss,
    TargetLaw,
    TargetSpec,
    absorb,
    carry,
    drop,
    present_at,
    reduce_by,
    rows_without,
    without_heat,
)
from .write import account, tune_actuator

THREE = {"effort_limit": "actuator_effort_limit", "velocity_limit": "actuator_velocity_limit"}
"""Names of 2.3 that 3.0 calls otherwise."""


class Candidate(NamedTuple):
    """A configuration that Isaac Lab has, and how far it is off."""

    kind: str
    actuator: Actuator
    values: dict[str, float]
    left: Difference


def _check(actuator: Actuator) -> None:
    drive = actuator.drive
    if drive.loop is None or drive.loop.of != "position":
        raise InvalidValue(
            f"Isaac Lab's DCMotorCfg follows a position; {drive.kind} does not: expected a"
            " position, servo or impedance drive"
        )
    if drive.ceiling({}) is None:
        raise MissingValue(
            "Isaac Lab's DCMotorCfg needs a stall torque and a no-load speed; give drive.supply or"
            " drive.voltage_limit"
        )


def _settle(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    chosen, costs = candidate(actuator, request)
    names = THREE if request.version == "3.0" else {}
    law = {"kind": chosen.kind, **{names.get(k, k): v for k, v in chosen.values.items()}}
    return TargetLaw(law, chosen.actuator, costs)


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    lines = ["friction is an effort from Isaac Sim 5.0 on, a coefficient in 4.5: leave it out there."]
    if "max_delay" in numbers:
        lines.append(f"Delays are counted in physics steps of {1e3 * request.timestep:g} ms.")
    arguments = "\n".join(f"    {k}={number(v)}," for k, v in numbers.items())
    return Filling({"kind": settled.law["kind"], "arguments": arguments}, lines)


def candidate(actuator: Actuator, request: Request, late: bool = True) -> tuple[Candidate, Account]:
    """The best numbers for a straight torque-speed line, or for a plain law behind a delay.

    Args:
        actuator: the whole one.
        request: the motions and the clock that it is judged over.
        late: whether a law behind a delay may be taken where that is closer.

    Returns:
        The numbers, and what they lose.
    """
    drive = actuator.drive
    bare, losses = reduce_by(BARE, actuator, request)
    reduced_actuator, more, _ = reduce_actuator(bare, request._replace(backlash=False), 1)
    losses += more
    losses += [*BRISTLE.lose(reduced_actuator, request), *DRAG.lose(reduced_actuator, request)]
    moving = reduced_actuator.friction.moving
    if reduced_actuator.friction.bristle:
        moving = dry_levels(actuator, request.load, request.amplitude).moving
    reduced_actuator = replace(
        reduced_actuator, friction=Coulomb(coulomb=moving, viscous=reduced_actuator.friction.viscous)
    )
    motions, over = motions_of(actuator, request)
    reference = positions(actuator, motions) if losses else np.zeros(0)
    left = difference(positions(reduced_actuator, motions), reference) if losses else Difference(0.0, 0.0)
    if request.method == "simulation" and any(loss.kept for loss in losses):
        reduced_actuator, left = refit(reduced_actuator, {"friction", "motor"}, actuator, request)
    chosen = Candidate("DCMotorCfg", reduced_actuator, numbers(reduced_actuator, actuator), left)
    if drive.delay and late:
        delayed = _late(actuator, chosen, reference, motions, request)
        if delayed.left.rms < left.rms:  # a delay matters more than the torque-speed line
            chosen = delayed
            losses = [loss for loss in losses if loss.path != "drive.delay"]
            losses.append(Loss("motor.back_emf_constant", "the torque limit does not fall with speed", True))
    costs = account(actuator, losses, chosen.left, reference, motions, over) if losses else NOTHING_LOST
    return chosen, costs


def _late(
    actuator: Actuator,
    motor: Candidate,
    reference: np.ndarray,
    motions: list[ReferenceMotion],
    request: Request,
) -> Candidate:
    """The same law as a `DelayedPDActuatorCfg`: a delay in whole physics steps,
    and a torque limit that knows no speed."""
    steps, v = max(1, round(float(actuator.drive.delay or 0.0) / request.timestep)), motor.values
    base = replace(actuator, drive=replace(actuator.drive, delay=None))
    x = JointLaw(
        stiffness=v["stiffness"],
        damping=v["damping"],
        effort_limit=v["effort_limit"],
        viscous=v["viscous_friction"],
        friction=v["dynamic_friction"],
        armature=v["armature"],
    )

    prompt: Tuned = tune_actuator(base, x, request)

    def delay_drive(settings: Mapping[str, float]) -> Actuator:
        now = prompt({k: value for k, value in settings.items() if k != "drive.delay"})
        return replace(now, drive=replace(now.drive, delay=steps * request.timestep))

    values = {k: value for k, value in v.items() if k not in ("saturation_effort", "velocity_limit")}
    values |= {"min_delay": steps, "max_delay": steps}
    left = difference(positions(delay_drive, motions), reference)
    return Candidate("DelayedPDActuatorCfg", delay_drive({}), values, left)


BARE = (
    drop("motor.inductance", "the torque follows at once"),
    drop(
        "motor.thermal, limits.safe_current, limits.derating_start, limits.derating_end",
        "nothing warms",
        when=present_at("motor.thermal"),
        path="motor.thermal",
        thermal=None,
        limits=without_heat,
    ),
    drop("motor.cogging", "no cogging"),
    NO_INTEGRAL_ROW,
    drop("drive.slew", "the setpoint jumps"),
    drop("drive.delay", "no delay"),
)
"""What only a dcmotor has."""
BRISTLE = absorb("friction", "sticking at once", when=lambda a: a.friction.bristle, path="friction bristle")
DRAG = absorb(
    "friction.viscous_quadratic, viscous_cubic",
    "one drag",
    when=lambda a: (
        not a.friction.bristle
        and (a.friction.viscous_quadratic is not None or a.friction.viscous_cubic is not None)
    ),
)
"""What PhysX, with friction at rest, in motion, and a drag, lacks of what a dcmotor or its joint has."""


def numbers(reduced: Actuator, actuator: Actuator) -> dict[str, float]:
    """The configuration's numbers, at the joint, in the names of 2.3."""
    own, x, moving = actuator.friction, JointLaw.of(reduced), reduced.friction.moving
    more = own.name == "stribeck" and own.moving > 0.01 * own.breakaway
    return {
        "effort_limit": x.effort_limit,
        "velocity_limit": x.no_load_speed,
        "saturation_effort": x.stall_torque,
        "stiffness": x.stiffness,
        "damping": x.damping + x.back_emf,
        "armature": x.armature,
        "friction": moving * own.breakaway / own.moving if more else moving,
        "dynamic_friction": moving,
        "viscous_friction": reduced.friction.viscous,
    }


SPEC = TargetSpec(
    label="Isaac Lab",
    units="SI at the joint: stiffness N m/rad, damping N m s/rad, efforts N m, speeds rad/s, armature kg m^2,"
    " frictions N m and N m s/rad.",
    rows=(
        carry("law.effort_limit", "effort_limit", "N m (3.0: actuator_effort_limit)"),
        carry("law.no_load_speed", "velocity_limit", "rad/s (3.0: actuator_velocity_limit)"),
        carry("law.stall_torque", "saturation_effort", "N m"),
        carry("law.stiffness", "stiffness", "N m/rad"),
        carry("law.damping, law.back_emf", "damping", "N m s/rad, with back-EMF"),
        carry("law.armature", "armature", "kg m^2"),
        carry(
            "friction.static",
            "friction",
            "N m at rest: an effort in Isaac Sim 5.0 and later, a coefficient in 4.5",
        ),
        carry("law.friction", "dynamic_friction", "N m in motion; Isaac Sim 5.0 and later"),
        carry("law.viscous", "viscous_friction", "N m s/rad; Isaac Sim 5.0 and later"),
        carry(
            "law.delay",
            "min_delay",
            "physics steps of DelayedPDActuatorCfg, taken where its error is less than DCMotorCfg's without a"
            " delay",
        ),
        carry("law.delay", "max_delay", "the same"),
        *BARE,
        *rows_without(LACKED, *(row.paths[0] for row in BARE), "friction"),
        BRISTLE,
        DRAG,
        UNLIMITED,
    ),
    file="{joint}_isaaclab.py",
    template="isaaclab.py",
    comment=hash_comment,
    check=_check,
    settle=_settle,
    place=_place,
    why_not_run="Isaac Lab needs Isaac Sim",
)
_NEW = tuple(row._replace(name=THREE.get(row.name, row.name)) for row in SPEC.rows)
SPEC = replace(SPEC, versions={"3.0": replace(SPEC, rows=_NEW), "bam": bam.ISAAC})


# As a source.


class ConfiguredActuator(NamedTuple):
    """An actuator read from a configuration, where its numbers came from, and the joint asked for."""

    actuator: Actuator
    notes: tuple[str, ...]
    joint: str | None = None


class Call(NamedTuple):
    """One configuration in a file: its class, its arguments as they are written, and its joints' patterns."""

    kind: str
    arguments: dict[str, Any]
    patterns: tuple[str, ...]

    def drives(self, joint: str | None) -> bool:
        return joint is not None and any(_matches(pattern, joint) for pattern in self.patterns)


IDEAL = ("IdealPDActuatorCfg", "ImplicitActuatorCfg", "DelayedPDActuatorCfg")
"""Configurations without a torque-speed line."""


def read(path: Path | str, name: str | None = None, hint: str | None = None) -> ConfiguredActuator:
    """The actuator of a `DCMotorCfg(...)`, or of a configuration without a torque-speed line, in a file.

    Nothing is run: the arguments must be plain numbers.

    Args:
        path: of the file.
        name: chooses among several, by the variable or key they are given to, or by a joint that they drive.
        hint: the same, where it is one of those.

    Returns:
        The actuator, where its numbers came from, and its joint.

    Raises:
        InvalidValue: an argument is no plain number, or several configurations fit.
    """
    path = Path(path)
    calls = _configurations(path)
    key, joint = _choose(calls, path, name, hint)
    call = calls[key]
    x = _numbers(path.name, call, joint)
    words = f"Isaac Lab: {path.name}, {call.kind} {key}" + (f" on {joint}" if joint else "")
    return ConfiguredActuator(_actuator(path.name, call.kind, x), (words, *_left_out(call.kind, x)), joint)


def _choose(
    calls: Mapping[str, Call], path: Path, name: str | None, hint: str | None
) -> tuple[str, str | None]:
    """(the configuration that is meant, the joint where it was named by one)."""
    word = name if name is not None else hint
    named = [key for key in calls if key == word]
    chosen = named or [key for key, call in calls.items() if call.drives(word)]
    joint = word if chosen and word not in calls else None
    if not chosen and name is not None:
        patterns = [pattern for call in calls.values() for pattern in call.patterns]
        raise UnknownName(f"configuration or joint in {path.name}", name, dict.fromkeys([*calls, *patterns]))
    return _the_one(chosen or [*calls], path, joint), joint


def _the_one(chosen: Sequence[str], path: Path, joint: str | None) -> str:
    """The only configuration of several that could be meant."""
    if len(chosen) != 1:
        raise MissingValue(
            f"{path.name} has {len(chosen)} actuator configurations{f' for {joint}' if joint else ''}"
            f" ({', '.join(chosen) or 'none'}); expected one, or say which, as"
            f" {path.name}#{next(iter(chosen), 'ACTUATOR')}"
        )
    return chosen[0]


def _matches(pattern: str, joint: str) -> bool:
    try:
        return pattern == joint or re.fullmatch(pattern, joint) is not None
    except re.error:
        return False


def _configurations(path: Path) -> dict[str, Call]:
    """Name -> every actuator configuration in a Python text."""
    try:
        tree = ast.parse(text_of(path, most=limits().short))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise InvalidValue(f"{path.name} is not Python that can be read: {error}") from None
    calls, named = {}, _assigned_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kind = ast.unparse(node.func).rpartition(".")[2]
            if kind == "DCMotorCfg" or kind in IDEAL:
                calls[named.get(id(node), f"line {node.lineno}")] = _call(kind, node)
    return calls


def _assigned_names(tree: ast.AST) -> dict[int, str]:
    """The variable or key that an expression is given to, by the expression's id."""
    named: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[id(node.value)] = node.targets[0].id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            named[id(node.value)] = node.target.id
        elif isinstance(node, ast.Dict):
            keys = zip(node.keys, node.values, strict=True)
            named |= {id(v): str(k.value) for k, v in keys if isinstance(k, ast.Constant)}
    return named


def _call(kind: str, node: ast.Call) -> Call:
    arguments = {word.arg: word.value for word in node.keywords if word.arg is not None}
    joints, patterns = arguments.pop("joint_names_expr", None), ()
    if joints is not None:
        try:
            given = ast.literal_eval(joints)
            patterns = tuple(str(p) for p in ([given] if isinstance(given, str) else given))
        except (ValueError, TypeError, RecursionError):
            patterns = ()
    return Call(kind, arguments, patterns)


def _numbers(file: str, call: Call, joint: str | None) -> dict[str, float]:
    """The numbers among a call's arguments, in the names of 2.3; of a dictionary by joints the one of
    `joint`, or the one that all of them have."""
    old = {new: name for name, new in THREE.items()}
    numbers: dict[str, float] = {}
    for name, node in call.arguments.items():
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, RecursionError):
            raise InvalidValue(
                f"{file}: {name} is {ast.unparse(node)}; expected a plain number: nothing is run"
            ) from None
        if isinstance(value, dict):
            value = _of_joint(file, name, value, joint)
        if is_number(value) and math.isfinite(value):
            numbers[old.get(name, name)] = float(value)
        elif value is not None:
            raise InvalidValue(f"{file}: {name} is {value!r}; expected a number")
    return numbers


def _of_joint(file: str, name: str, values: dict[Any, Any], joint: str | None) -> Any:
    """One joint's number of a dictionary by patterns; without a joint they must all be one."""
    mine = values if joint is None else {k: v for k, v in values.items() if _matches(str(k), joint)}
    first, *others = [*mine.values()] or [None]
    if any(other != first for other in others):
        said = f"say which joint, as {file}#JOINT" if joint is None else f"{joint} has {len(mine)} of them"
        raise InvalidValue(f"{file}: {name} is {values}; expected one number: {said}")
    return first


def _actuator(file: str, kind: str, x: dict[str, float]) -> Actuator:
    """torque = clip(stiffness (u - q) + damping (u_w - w) + u_tau) as an impedance; behind a
    `DCMotorCfg` a motor, whose stall torque is its saturation effort and no-load speed its velocity limit."""
    gains: dict[str, Any] = {
        "newton_metres_per_radian": x.get("stiffness", 0.0),
        "newton_metre_seconds_per_radian": x.get("damping", 0.0),
    }
    loss = x.get("dynamic_friction", x.get("friction", 0.0))
    effort = x.get("effort_limit")
    motor: dict[str, Any] = {"resistance": 1.0, "torque_constant": 1.0}
    if kind == "DCMotorCfg":
        missing = [n for n in ("saturation_effort", "velocity_limit") if not x.get(n, 0.0) > 0]
        if missing:
            raise MissingValue(
                f"{file}: DCMotorCfg without {' and '.join(missing)}; expected both above 0: the stall torque"
                " and the no-load speed"
            )
        line = (x["saturation_effort"], x["velocity_limit"])
        motor = isaac_constants(*line, voltage=x["saturation_effort"])._asdict()  # a newton-metre a volt
        gains |= {"through": "voltage", "voltage_limit": x["saturation_effort"]}
    return Actuator(
        motor=Motor(
            **motor,
            rotor_inertia=x.get("armature", 0.0),
            limits=None if effort is None else Limits(torque=effort),
        ),
        friction=Coulomb(coulomb=loss, viscous=x.get("viscous_friction", 0.0)),
        drive=drives.Impedance(**gains),
    )


def _left_out(kind: str, x: dict[str, float]) -> list[str]:
    """What an actuator cannot take over."""
    notes = []
    if x.get("friction", 0.0) > x.get("dynamic_friction", x.get("friction", 0.0)):
        notes.append(
            f"friction {x['friction']:g} at rest is not carried: the speed at which it fades is not known"
        )
    if x.get("min_delay") or x.get("max_delay"):
        notes.append(
            "min_delay and max_delay are physics steps of a length that the file does not say: no delay"
        )
    if kind in IDEAL:
        notes.append(f"{kind} has no torque-speed line: an ideal source of torque")
    return notes
