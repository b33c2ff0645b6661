"""Motors that move several joints, and joints that several motors move, as a matrix: recordings made at the
motors as recordings of the joints.

With tau the torques of joints and m those of motors, tau = C m; since both give the same power, the motors
turn by C' q where the joints turn by q.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..bounds import json_of
from ..errors import InvalidValue, UnknownName
from .log import Log, Signal
from .robot import Coupling, Robot

EFFORTS = ("torque_target",)
"""Signals that are torques."""
TURNS = ("position", "velocity", "position_target", "velocity_target")
"""Signals that turn as the motors do, where they were recorded there."""
AT = "at"
EXAMPLE = '{"wrist_pitch": {"left": 1, "right": 1}, "wrist_roll": {"left": 1, "right": -1}}'


def with_coupling(robot: Robot, given: Any) -> Robot:
    """A robot whose recordings are made at motors that each move several joints.

    Args:
        robot: whose joints they are.
        given: {joint: {motor: factor}}, and "at": "motors" where positions are the motors' too; or a JSON
            file with that; None: as the robot has it.

    Returns:
        The same robot otherwise.

    Raises:
        InvalidValue: it cannot be read, or no joint can be told from the motors.
        UnknownName: a joint that the robot does not have.
    """
    if given is None:
        return robot
    factors, at = _factors(given)
    for joint in factors:
        if joint not in robot.names:
            raise UnknownName("joint", joint, robot.names)
    motors = tuple(dict.fromkeys(motor for row in factors.values() for motor in row))
    matrix = tuple(tuple(row.get(motor, 0.0) for motor in motors) for row in factors.values())
    if len(matrix) != len(motors) or not motors or np.linalg.matrix_rank(matrix) < len(matrix):
        raise InvalidValue(
            f"coupling has {len(factors)} joints and {len(motors)} motors that do not tell each other;"
            f" expected as many motors as joints, none a combination of others: {EXAMPLE}"
        )
    coupling = Coupling(joints=tuple(factors), motors=motors, matrix=matrix, at_motors=at == "motors")
    if robot.coupling not in (None, coupling):
        raise InvalidValue(
            f"coupling is {given!r}, and the recordings were read with another; expected the same, or none"
        )
    return replace(robot, coupling=coupling)


def _factors(given: Any) -> tuple[dict[str, dict[str, float]], str]:
    """(each joint's factors by motor, where positions were read)."""
    try:
        rows = dict(given if hasattr(given, "items") else json_of(given))
        at = rows.pop(AT, "joints")
        factors = {str(j): {str(m): float(f) for m, f in row.items()} for j, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InvalidValue(f"coupling is {given!r}; expected {EXAMPLE}: {error}") from None
    if at not in ("joints", "motors"):
        raise InvalidValue(
            f"coupling: at is {at!r}; expected 'joints' or 'motors', where positions were read"
        )
    return factors, at


def logs_of_robot(logs: Sequence[Log], coupling: Any) -> list[Log]:
    """Logs of the joints of one robot.

    Args:
        logs: as they were read.
        coupling: as `with_coupling` takes it.

    Returns:
        The logs, as if every joint had a motor of its own.

    Raises:
        InvalidValue: the logs are of several robots or of none, or its base moves.
    """
    return joints_of_motors(logs, with_coupling(_one_robot(logs), coupling))


def _one_robot(logs: Sequence[Log]) -> Robot:
    """The one robot of all logs."""
    robots = [log.robot for log in logs if log.robot is not None]
    if len(robots) < len(logs):
        alone = next(log.name for log in logs if log.robot is None)
        raise InvalidValue(f"{alone} belongs to no robot; read all logs with bench=be.Robot.read(...)")
    if any(robot != robots[0] for robot in robots):
        raise InvalidValue("the logs belong to different robots; fit one robot at a time")
    if robots[0].base == "recorded":
        raise InvalidValue(
            "base is 'recorded', but logs have no channels for the motion of a base yet; hold it and say"
            " base='held', or give gravity= as the base stood"
        )
    return robots[0]


def joints_of_motors(logs: Sequence[Log], robot: Robot | None) -> list[Log]:
    """Logs with torques of joints in place of those of motors, and their positions where the motors' are;
    those whose own robot has its coupling were read that way.

    Args:
        logs: of a robot; a motor's channels stand under its name.
        robot: with the coupling, if any.

    Returns:
        The logs, as if every joint had a motor of its own.

    Raises:
        UnknownName: a log has no channels of a motor.
    """
    if robot is None or robot.coupling is None:
        return list(logs)
    coupled = [log.robot is None or log.robot.coupling is None for log in logs]
    rows = zip(logs, coupled, strict=True)
    return [
        replace(log, robot=robot, joints=uncouple(log.joints, robot.coupling, log.name)) if raw else log
        for log, raw in rows
    ]


def uncouple(motors: Mapping[str, Log], coupling: Coupling, name: str) -> dict[str, Log]:
    """Logs of joints from those of motors, and of joints that have their own.

    Args:
        motors: by name of motor or joint.
        coupling: between them.
        name: of the whole recording.

    Returns:
        By joint.
    """
    for motor in coupling.motors:
        if motor not in motors:
            raise UnknownName("motor", motor, [*motors])
    given = [motors[motor] for motor in coupling.motors]
    joints = {one: log for one, log in motors.items() if one not in coupling.motors}
    back = np.linalg.inv(np.transpose(coupling.matrix))
    for k, joint in enumerate(coupling.joints):
        own = motors.get(joint, given[k])
        signals = dict(own.signals)
        signals |= _combine(given, EFFORTS, coupling.matrix[k])
        if coupling.at_motors:
            signals |= _combine(given, TURNS, back[k])
        joints[joint] = replace(own, name=f"{name}/{joint}", signals=signals)
    return joints


def _combine(logs: Sequence[Log], names: Sequence[str], factors: Iterable[float]) -> dict[str, Signal]:
    """Sums of signals that all logs have, on the clock of the first."""
    made: dict[str, Signal] = {}
    for name in names:
        if all(name in log.signals for log in logs):
            t = logs[0].signals[name].time
            total = sum(
                f * np.interp(t, log.signals[name].time, log.signals[name].values)
                for f, log in zip(factors, logs, strict=True)
            )
            made[name] = Signal(time=t, values=np.asarray(total))
    return made
