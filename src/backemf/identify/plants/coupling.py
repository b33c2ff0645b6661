"""Motors that move several joints, and joints that several motors move, as a matrix: recordings made at the
motors as recordings of the joints.

With tau the torques of joints and m those of motors, tau = C m; since both give the same power, the motors
turn by C' q where the joints turn by q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...bounds import json_of
from ...errors import InvalidValue, UnknownName
from ...logs.log import Log, Signal
from ...logs.robot import Robot

EFFORTS = ("torque_target",)
"""Signals that are torques."""
TURNS = ("position", "velocity", "position_target", "velocity_target")
"""Signals that turn as the motors do, where they were recorded there."""
AT = "at"
EXAMPLE = '{"wrist_pitch": {"left": 1, "right": 1}, "wrist_roll": {"left": 1, "right": -1}}'


class Coupling(NamedTuple):
    """How some joints hang on some motors, which a recording calls by names of joints or of their own."""

    joints: tuple[str, ...]
    motors: tuple[str, ...]
    matrix: np.ndarray
    """(joints, motors): torque of a joint for one of a motor."""
    at_motors: bool
    """Whether positions and velocities were recorded at the motors too, not only torques."""


def coupling_of(robot: Robot, given: Any) -> Coupling | None:
    """What was given as a matrix.

    Args:
        robot: whose joints they are.
        given: {joint: {motor: factor}}, and "at": "motors" where positions are the motors' too; or a JSON
            file with that; None for motors that each move one joint.

    Returns:
        The coupling; None where nothing was given.

    Raises:
        InvalidValue: it cannot be read, or no joint can be told from the motors.
        UnknownName: a joint that the robot does not have.
    """
    if given is None:
        return None
    try:
        rows = dict(given if hasattr(given, "items") else json_of(given))
        at = rows.pop(AT, "joints")
        factors = {str(j): {str(m): float(f) for m, f in row.items()} for j, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InvalidValue(f"coupling is {given!r}; expected {EXAMPLE}: {error}") from None
    for joint in factors:
        if joint not in robot.names:
            raise UnknownName("joint", joint, robot.names)
    motors = tuple(dict.fromkeys(motor for row in factors.values() for motor in row))
    matrix = np.array([[row.get(motor, 0.0) for motor in motors] for row in factors.values()])
    if at not in ("joints", "motors"):
        raise InvalidValue(
            f"coupling: at is {at!r}; expected 'joints' or 'motors', where positions were read"
        )
    if matrix.shape[0] != matrix.shape[1] or np.linalg.matrix_rank(matrix) < len(matrix):
        raise InvalidValue(
            f"coupling has {len(factors)} joints and {len(motors)} motors that do not tell each other;"
            f" expected as many motors as joints, none a combination of others: {EXAMPLE}"
        )
    return Coupling(tuple(factors), motors, matrix, at == "motors")


def joints_of_motors(logs: Sequence[Log], coupling: Coupling | None) -> list[Log]:
    """Logs with torques of joints in place of those of motors, and their positions where the motors' are.

    Args:
        logs: of a robot; a motor's channels stand under its name.
        coupling: between them; None: each motor moves its own joint.

    Returns:
        The logs, as if every joint had a motor of its own.

    Raises:
        UnknownName: a log has no channels of a motor.
    """
    return list(logs) if coupling is None else [_uncouple(log, coupling) for log in logs]


def _uncouple(log: Log, coupling: Coupling) -> Log:
    for motor in coupling.motors:
        if motor not in log.joints:
            raise UnknownName("motor", motor, [*log.joints])
    given = [log.joints[motor] for motor in coupling.motors]
    joints = {name: one for name, one in log.joints.items() if name not in coupling.motors}
    back = np.linalg.inv(coupling.matrix.T)
    for k, joint in enumerate(coupling.joints):
        own = log.joints.get(joint, given[k])
        signals = dict(own.signals)
        signals |= _combine(given, EFFORTS, coupling.matrix[k])
        if coupling.at_motors:
            signals |= _combine(given, TURNS, back[k])
        joints[joint] = replace(own, name=f"{log.name}/{joint}", signals=signals)
    return replace(log, joints=joints)


def _combine(logs: Sequence[Log], names: Sequence[str], factors: np.ndarray) -> dict[str, Signal]:
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
