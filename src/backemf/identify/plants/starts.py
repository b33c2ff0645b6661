"""Where the joints of a robot start from: parts by pattern, or what the model itself says, with the gains of
whoever commanded it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...bounds import json_of
from ...datasheets import parts
from ...datasheets.datasheet import Datasheet
from ...errors import InvalidValue, MissingValue, UnknownName
from ...findings import Finding, finding
from ...logs.log import Log
from ...logs.robot import Joint, Robot
from ...physics.actuator import Actuator
from ...physics.drive import Impedance
from ...physics.friction import Coulomb
from ...physics.motor import Limits, Motor
from ...units import si

TORQUE = "torque"
"""The start of joints whose motors nobody knows: armature, friction and a limit, driven by torque."""
LEAST = 1e-3
"""Friction at which a joint starts whose model has none [N m, N m s/rad]."""


class Starts(NamedTuple):
    """Each joint's actuator before the fit, and what is stated of all."""

    actuators: dict[str, Actuator]
    prior: Any
    findings: tuple[Finding, ...]


def starts(
    robot: Robot,
    given: Any,
    logs: Sequence[Log],
    *,
    joints: Sequence[str] | None = None,
    gains: Any = None,
    firmware: str | None = None,
    prior: Any = None,
    values: Mapping[str, Any] | None = None,
) -> Starts:
    """Actuators for the joints that were recorded and are to be fitted.

    Args:
        robot: its model.
        given: a part, an actuator or "torque" for all joints, or these by pattern of joint names.
        logs: of the robot.
        joints: names of those to fit; without them all but grippers.
        gains: of whoever commanded them, as `gains_of` takes them.
        firmware: the profile of a part's sheet, such as "lerobot".
        prior: a datasheet, or path -> (value, standard error); without it the sheet that all start from.
        values: numbers in place of those of all joints, by path, or of one, behind its name.

    Returns:
        An actuator for each joint, the prior, and what is said of joints left out.

    Raises:
        UnknownName: no pattern fits a joint, or there is no such joint.
        MissingValue: no joint has both a position and a command.
        InvalidValue: gains that cannot be read.
    """
    wanted = given if isinstance(given, Mapping) else {".*": given}
    usual = [joint.name for joint in robot.joints if not joint.tool]
    chosen = [robot.joint(name).name for name in joints] if joints else usual
    driven = _driven_joints(chosen, logs)
    by_joint = gains_of(robot, gains, logs)
    actuators: dict[str, Actuator] = {}
    for name in driven:
        matching = [p for p in wanted if p == name] or [p for p in wanted if re.fullmatch(p, name)]
        if matching:
            actuators[name] = _actuator(wanted[matching[0]], robot.joint(name), firmware, by_joint.get(name))
    if not actuators:
        raise UnknownName("joint", next(iter(wanted)), driven)
    prior = _sheet(wanted, firmware) if prior is None else prior
    actuators = _with_values(actuators, values)
    return Starts(actuators, prior, _not_fitted(robot, actuators, logs))


def joint_and_path(word: str, joints: Iterable[str]) -> tuple[str | None, str]:
    """("elbow", "motor.resistance") of elbow.motor.resistance; None where no joint is named first.

    Args:
        word: a path, perhaps behind a joint's name and a dot.
        joints: names there are.

    Returns:
        The joint and the path.
    """
    joint = next((name for name in joints if word.startswith(f"{name}.")), None)
    return joint, word if joint is None else word.removeprefix(f"{joint}.")


def _with_values(actuators: Mapping[str, Actuator], values: Mapping[str, Any] | None) -> dict[str, Actuator]:
    """The same with other numbers, text in a unit of its own."""
    made = dict(actuators)
    for word, value in (values or {}).items():
        joint, path = joint_and_path(word, made)
        for name in made if joint is None else (joint,):
            made[name] = made[name].replace(**{path: si(str(value), made[name].unit(path), path)})
    return made


def _driven_joints(chosen: Sequence[str], logs: Sequence[Log]) -> list[str]:
    """Those of the chosen joints that were commanded."""
    driven = [name for name in chosen if any(_has_command(log, name) for log in logs)]
    if not driven:
        there = sorted({name for log in logs for name in log.joints})
        raise MissingValue(
            f"no joint has both a position and a command; the logs have {', '.join(there)}: record what each"
            " joint was told"
        )
    return driven


def _not_fitted(robot: Robot, actuators: Mapping[str, Actuator], logs: Sequence[Log]) -> tuple[Finding, ...]:
    recorded = {name for log in logs for name in log.joints}
    left = [joint.name for joint in robot.joints if joint.name not in actuators and joint.name in recorded]
    if not left:
        return ()
    text = f"{', '.join(left)} moves as recorded and is not fitted: a gripper's load is what it holds."
    return (finding("not_fitted", text, "name it to fit it: --joints"),)


def _has_command(log: Log, name: str) -> bool:
    one = log.joints.get(name)
    return one is not None and "position" in one and any(s.endswith("_target") for s in one.signals)


def _sheet(wanted: Mapping[str, Any], firmware: str | None) -> Datasheet | None:
    """The one sheet that all start from, as the prior."""
    named = {str(x) for x in wanted.values() if isinstance(x, str)}
    sheets = [x for x in wanted.values() if isinstance(x, Datasheet)]
    for name in named:
        if (
            name != TORQUE
            and parts.is_part(name)
            and (name.endswith(".toml") or name.lower() in parts.names())
        ):
            sheets.append(parts.sheet(name))
    if len(sheets) != 1:
        return None
    return sheets[0].with_profile(firmware) if firmware else sheets[0]


Gains = tuple[float, float] | None
"""(kp, kd) of whoever commanded a joint, where that is known."""


@functools.singledispatch
def _actuator(given: Any, joint: Joint, firmware: str | None, gains: Gains) -> Actuator:
    """Where a joint starts: at what was given, a part, what its model says, or what a file holds."""
    return torque_level(joint, gains) if given is None else Actuator.read(given)


@_actuator.register
def _(given: Actuator, joint: Joint, firmware: str | None, gains: Gains) -> Actuator:
    return given


@_actuator.register
def _(given: Datasheet, joint: Joint, firmware: str | None, gains: Gains) -> Actuator:
    return parts.part(given, firmware=firmware).actuator


@_actuator.register
def _(given: str, joint: Joint, firmware: str | None, gains: Gains) -> Actuator:
    if given == TORQUE:
        return torque_level(joint, gains)
    return parts.part(given, firmware=firmware).actuator if parts.is_part(given) else Actuator.read(given)


def torque_level(joint: Joint, gains: Gains) -> Actuator:
    """A joint whose winding does not matter: its armature and friction as shipped, a torque limit, and PD at
    the encoder, or a torque command. An armature that nobody states is 0 until recordings are there."""
    kp, kd = gains or (0.0, 0.0)
    shipped = joint.shipped
    limits = None if joint.torque_limit is None else Limits(torque=joint.torque_limit)
    return Actuator(
        motor=Motor(
            resistance=1.0, torque_constant=1.0, rotor_inertia=shipped.get("armature", 0.0), limits=limits
        ),
        friction=Coulomb(
            offset=0.0,
            coulomb=max(shipped.get("frictionloss", 0.0), LEAST),
            viscous=max(shipped.get("damping", 0.0), LEAST),
        ),
        drive=Impedance(newton_metres_per_radian=kp, newton_metre_seconds_per_radian=kd),
        motion=joint.motion,
    )


def gains_of(robot: Robot, given: Any, logs: Sequence[Log]) -> dict[str, tuple[float, float]]:
    """(kp, kd) of each joint [N m/rad, N m s/rad] from {"kp": ..., "kd": ...}: one number for all, a list in
    the order of the recorded joints, or numbers by joint; or a JSON file with that."""
    if given is None:
        return {}
    if isinstance(given, (str, Path)):
        try:
            given = json_of(given)
        except (OSError, ValueError) as error:
            raise InvalidValue(f"gains: {given} cannot be read: {error}") from None
    if not isinstance(given, Mapping) or "kp" not in given:
        raise InvalidValue('gains have no "kp"; expected {"kp": ..., "kd": ...} in N m/rad and N m s/rad')
    order = [name for name in robot.names if any(name in log.joints for log in logs)]
    columns = {word: _by_joint(word, given.get(word, 0.0), order) for word in ("kp", "kd")}
    return {name: (columns["kp"][name], columns["kd"][name]) for name in order}


def _by_joint(word: str, values: Any, order: Sequence[str]) -> dict[str, float]:
    if isinstance(values, Mapping):
        missing = [name for name in order if name not in values]
        if missing:
            raise MissingValue(f"gains: {word} lacks {', '.join(missing)}; expected a number for each joint")
        return {name: float(values[name]) for name in order}
    row = np.atleast_1d(np.asarray(values, float))
    if len(row) not in (1, len(order)):
        raise InvalidValue(
            f"gains: {word} has {len(row)} numbers for {len(order)} joints; expected one for each"
        )
    return dict(zip(order, map(float, np.broadcast_to(row, len(order))), strict=True))


def _likeness(log: Log, loop: Any) -> float:
    """Correlation of a recorded torque with what a PD law asks for."""
    law = loop.proportional * (log["position_target"] - log["position"])
    if "velocity" in log:
        law = law - loop.derivative * log["velocity"]
    if "velocity_target" in log:
        law = law + loop.derivative * log["velocity_target"]
    torque = log["torque_target"]
    good = np.isfinite(law) & np.isfinite(torque)
    return float(np.corrcoef(law[good], torque[good])[0, 1]) if good.sum() > 10 else 0.0


def without_echo(logs: Sequence[Log], actuators: Mapping[str, Actuator]) -> tuple[list[Log], list[Finding]]:
    """Logs without a torque that is no command but what the drive's own law makes of position and velocity:
    added to the law it would count twice."""
    made, said = [], set()
    for log in logs:
        joints = dict(log.joints)
        for name, actuator in actuators.items():
            one, loop = joints.get(name), actuator.drive.loop
            if one is None or loop is None or loop.effort != "N m" or not loop.proportional:
                continue
            if "torque_target" not in one or "position_target" not in one:
                continue
            if _likeness(one, loop) > 0.9:
                signals = {n: s for n, s in one.signals.items() if n != "torque_target"}
                joints[name] = replace(one, signals=signals)
                said.add(name)
        made.append(replace(log, joints=joints))
    if not said:
        return made, []
    named = ", ".join(sorted(said))
    text = f"torque_target of {named} is what the PD law asks for, not a command beside it; left out."
    remedy = "record the feed-forward torque by itself, where there is one"
    return made, [finding("torque_is_law", text, remedy)]
