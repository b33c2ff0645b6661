"""`power`: a robot's recorded motion on one battery."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..datasheets import parts
from ..datasheets.suggest import lasting_current
from ..errors import InvalidValue, MissingValue
from ..logs.log import Log
from ..logs.robot import Robot
from ..options import takes
from ..physics.actuator import Actuator
from ..results.fit_result import Fit
from ..units import si
from .components import read_stored
from .robot_power import PowerRun, load_of, run_on_supply
from .size_options import PowerOptions
from .task import robot_and_recording


def run_power(robot: Robot | Path | str, log: Log | Path | str, options: PowerOptions) -> PowerRun:
    """A robot's recorded motion on one supply: sag, energy, what was not delivered, what gets too hot.

    Args:
        robot: a `be.Robot`, or its file.
        log: a recording of it, or its file.
        options: the battery, and what moves the joints.

    Returns:
        The bus over time, every joint, and findings.

    Raises:
        BackemfError: a joint has no part, or is not in the recording.
    """
    owner, recording = robot_and_recording(robot, log)
    battery = options.battery or owner.supply
    if battery is None:
        raise MissingValue("nothing says what feeds the joints; expected a battery: voc=24V r=80mohm")
    joints = _joint_parts(owner, recording, options)
    load = load_of(owner, recording, [*joints])
    how = {"ambient": options.ambient, "repeat": options.repeat, "limit": options.duty_limit}
    lasting = {name: one.continuous_current for name, one in joints.items()}
    assumed = [name for name, one in joints.items() if one.friction_assumed]
    actuators = {name: one.actuator for name, one in joints.items()}
    run = run_on_supply(owner.name, actuators, load, battery, lasting=lasting, assumed=assumed, **how)
    return replace(
        run, left_out=tuple(n for n in owner.names if n in recording.joints and n not in actuators)
    )


power = takes(PowerOptions)(run_power)


class JointPart(NamedTuple):
    """What moves a joint."""

    actuator: Actuator
    continuous_current: float | None = None
    """What each motor stands for ever, as printed [A]."""
    friction_assumed: bool = False
    """Whether nobody printed or measured it."""


def _joint_parts(robot: Robot, log: Log, options: PowerOptions) -> dict[str, JointPart]:
    """By joint of the recording, what moves it."""
    given = _words(options.part, "part")
    if (options.fit is None) == (not given):
        which = "a fit and parts are given" if given else "nothing says what moves the joints"
        raise MissingValue(f"{which}; expected part='go-m8010-6', or a fit of the robot")
    recorded = [name for name in robot.names if name in log.joints]
    ratios = {p: si(text, "1", f"--ratio {p}=") for p, text in _words(options.ratio, "ratio").items()}
    _check_patterns(recorded, given, ratios)
    by_joint = _of_parts(recorded, given) if options.fit is None else _of_fit(recorded, options.fit)
    found = {name: by_joint[name] for name in recorded if name in by_joint}
    if not found:
        there = ", ".join(recorded) or "none of them"
        raise MissingValue(f"no joint of {robot.name} has an actuator; its recording has: {there}")
    return {
        name: one._replace(actuator=_behind(one.actuator, _of(name, ratios))) for name, one in found.items()
    }


def _of_fit(joints: Sequence[str], given: Any) -> dict[str, JointPart]:
    """Actuators of a fit, of a stored one, or of one for all joints."""
    match given:
        case str() | Path():
            given = read_stored(given)
    match given:
        case Fit() if given.joints:
            return {name: _stored_part(one) for name, one in given.actuators.items()}
        case Fit():
            given = given.actuator
        case Actuator():
            pass
        case _:
            raise InvalidValue(f"fit is {given!r:.60}; expected a fit, an actuator, or the file of one")
    return dict.fromkeys(joints, _stored_part(given))


def _stored_part(actuator: Actuator) -> JointPart:
    limits = actuator.motor.limits
    return JointPart(actuator, None if limits is None else limits.continuous_current)


def _check_patterns(joints: Sequence[str], given: Mapping[str, str], ratios: Mapping[str, float]) -> None:
    """Refuse words for joints that are not there, and gears that are none."""
    for name, rows in (("part", given), ("ratio", ratios)):
        for pattern in rows:
            if not any(_of(joint, {pattern: True}) for joint in joints):
                there = ", ".join(joints) or "none"
                raise InvalidValue(f"{name} is for {pattern!r}, which is no joint of the recording: {there}")
    if bad := [f"{pattern}={N:g}" for pattern, N in ratios.items() if not N > 0]:
        raise InvalidValue(f"ratio is {bad[0]}; expected more than 0")


def _of_parts(joints: Sequence[str], given: Mapping[str, str]) -> dict[str, JointPart]:
    """Actuators of the parts that joints were given."""
    known = {part: _part(part) for part in set(given.values())}
    chosen = {name: _of(name, given) for name in joints}
    return {name: known[part] for name, part in chosen.items() if part is not None}


def _part(name: str) -> JointPart:
    """A part of the catalogue, with what its sheet says of it; or an actuator in a file."""
    if Path(name).suffix.lower() == ".json":
        (one, *others) = _of_fit([""], name).values()
        if others:
            raise InvalidValue(f"{name} is a fit of a robot; expected it as the fit: --fit {name}")
        return one
    known, sheet = parts.part(name), parts.sheet(name if name.endswith(".toml") else name.partition("/")[0])
    return JointPart(known.actuator, lasting_current(sheet, sheet.reconciled), "friction" in known.unknown)


def _behind(actuator: Actuator, ratio: float | None) -> Actuator:
    """An actuator behind further gears without loss."""
    if ratio is None:
        return actuator
    gearbox = replace(actuator.gearbox, ratio=actuator.gearbox.ratio * ratio, backlash=None)
    friction = replace(actuator.gearbox, ratio=ratio, n_motors=1).reflect(actuator.friction)
    return replace(actuator, gearbox=gearbox, friction=friction)


def _words(given: str | Sequence[str], name: str) -> dict[str, str]:
    """ "calf=1.9" -> {"calf": "1.9"}; without a pattern it is for all."""
    match given:
        case str():
            given = (given,)
    rows = {}
    for text in given:
        pattern, equals, value = text.rpartition("=")
        if equals and not (pattern and value):
            raise InvalidValue(f"{name} is {text!r}; expected PATTERN=VALUE")
        rows[pattern or ".*"] = value
    return rows


def _of(joint: str, rows: Mapping[str, Any]) -> Any:
    """What a joint was given: by its name first, then by a pattern in it."""
    if joint in rows:
        return rows[joint]
    return next((value for pattern, value in rows.items() if re.search(pattern, joint)), None)
