"""A log of a robot from arrays: a matrix or a table of columns by joint for each signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue, SignalError, UnknownName
from ..log import ASKED, MEASURED, Log, Signal
from ..recording import ReadError
from ..robot import Robot
from . import plausible
from .joints import Whole, together
from .matching import match, unmatched


def of_robot(
    name: str,
    time: Any,
    robot: Robot,
    signals: Mapping[str, Any],
    joints: Sequence[str] | None = None,
    settings: Mapping[str, float] | None = None,
) -> Log:
    """One log with a log of each joint. A signal is a matrix (samples, joints), whose columns are `joints` or
    the robot's in its order, or arrays by joint; so is the time, where joints have clocks of their own."""
    if "position" not in signals:
        raise MissingValue(
            f"{name}: a log of a robot has positions; given: {', '.join(signals) or 'nothing'}"
        )
    columns: dict[str, dict[str, np.ndarray]] = {}
    for signal, given in signals.items():
        if signal not in (*MEASURED, *ASKED):
            raise UnknownName(f"signal in {name}", signal, (*MEASURED, *ASKED))
        for joint, values in _by_joint(name, signal, given, robot, joints).items():
            columns.setdefault(joint, {})[signal] = values
    clocks = _by_joint(name, "time", time, robot, joints) if isinstance(time, Mapping) else {}
    known = {joint: own for joint, own in columns.items() if "position" in own}
    made = {}
    for joint, own in known.items():
        if clocks and joint not in clocks:
            raise MissingValue(f"{name}: {joint} has no time of its own; there are: {', '.join(clocks)}")
        clock = clocks[joint] if clocks else np.asarray(time, float)
        try:
            every = {signal: Signal(time=clock, values=values) for signal, values in own.items()}
        except SignalError as error:
            raise SignalError(f"{name}, {joint}: {error}") from None
        made[joint] = Log(
            name=joint, signals=every, motion=robot.joint(joint).motion, settings=settings or {}
        )
    log = together(robot, Whole(name=name, source=""), made)
    by_place = joints is None and not any(isinstance(given, Mapping) for given in signals.values())
    plausible.check(log, robot, by_place)
    return log


def _by_joint(
    name: str, signal: str, given: Any, robot: Robot, joints: Sequence[str] | None
) -> dict[str, np.ndarray]:
    """The columns of one signal, by joint of the robot."""
    if isinstance(given, Mapping):
        found = match(given, robot)
        strange = [key for key in given if key not in found]
        if strange:
            raise ReadError(f"{name}, {signal}: {unmatched(list(given), robot, found)}")
        return {found[key]: np.asarray(values, float) for key, values in given.items()}
    try:
        matrix = np.asarray(given, float)
    except (TypeError, ValueError):
        raise InvalidValue(f"{name}: {signal} is {given!r:.60}; expected numbers (samples, joints)") from None
    if matrix.ndim != 2:
        shape = f"{signal} has the shape {matrix.shape}"
        raise InvalidValue(f"{name}: {shape}; expected (samples, joints), or arrays by joint in a dictionary")
    listed = list(robot.names if joints is None else joints)
    if matrix.shape[1] != len(listed):
        turned = " (is it (joints, samples)? transpose it)" if matrix.shape[0] == len(listed) else ""
        raise InvalidValue(
            f"{name}: {signal} has {matrix.shape[1]} columns for {len(listed)} joints{turned}; name those"
            f" that were recorded: joints=[...] of {', '.join(robot.names)}"
        )
    found = match(listed, robot)
    if len(found) < len(listed):
        raise ReadError(f"{name}: {unmatched(listed, robot, found)}")
    return {found[joint]: matrix[:, k] for k, joint in enumerate(listed)}
