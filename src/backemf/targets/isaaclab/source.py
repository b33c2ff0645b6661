"""Isaac Lab's configurations as a source: an actuator out of the literals of somebody's Python file."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from ...analysis.conversion import isaac_constants
from ...errors import InvalidValue, MissingValue, UnknownName
from ...physics import drive as drives
from ...physics.actuator import Actuator
from ...physics.friction import Coulomb
from ...physics.maths import is_number
from ...physics.motor import Limits, Motor
from .motor import NAMES


class Configured(NamedTuple):
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


def read(path: Path | str, name: str | None = None, hint: str | None = None) -> Configured:
    """The actuator of a `DCMotorCfg(...)`, or of a configuration without a torque-speed line, in a file.

    Nothing is run: the arguments must be plain numbers. `name` chooses among several by the variable or key
    they are given to, or by a joint that they drive; `hint` too where it is one of those.
    """
    path = Path(path)
    calls = _configurations(path)
    word = name if name is not None else hint
    chosen = [word] if word in calls else [key for key, call in calls.items() if call.drives(word)]
    joint = word if chosen and word not in calls else None
    if not chosen and name is not None:
        patterns = [pattern for call in calls.values() for pattern in call.patterns]
        raise UnknownName(f"configuration or joint in {path.name}", name, dict.fromkeys([*calls, *patterns]))
    chosen = chosen or [*calls]
    if len(chosen) != 1:
        raise MissingValue(
            f"{path.name} has {len(chosen)} actuator configurations{f' for {joint}' if joint else ''}"
            f" ({', '.join(chosen) or 'none'}); expected one, or say which, as"
            f" {path.name}#{next(iter(chosen), 'ACTUATOR')}"
        )
    (key,) = chosen
    call = calls[key]
    x = _numbers(path.name, call, joint)
    words = f"Isaac Lab: {path.name}, {call.kind} {key}" + (f" on {joint}" if joint else "")
    return Configured(_actuator(path.name, call.kind, x), (words, *_untold(call.kind, x)), joint)


def _matches(pattern: str, joint: str) -> bool:
    try:
        return pattern == joint or re.fullmatch(pattern, joint) is not None
    except re.error:
        return False


def _configurations(path: Path) -> dict[str, Call]:
    """Name -> every actuator configuration in a Python text."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise InvalidValue(f"{path.name} is not Python that can be read: {error}") from None
    named: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[id(node.value)] = node.targets[0].id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            named[id(node.value)] = node.target.id
        elif isinstance(node, ast.Dict):
            keys = zip(node.keys, node.values, strict=True)
            named |= {id(v): str(k.value) for k, v in keys if isinstance(k, ast.Constant)}
    calls: dict[str, Call] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kind = ast.unparse(node.func).rpartition(".")[2]
            if kind == "DCMotorCfg" or kind in IDEAL:
                calls[named.get(id(node), f"line {node.lineno}")] = _call(kind, node)
    return calls


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
    old = {new: NAMES["2.3"][key] for key, new in NAMES["3.0"].items()}
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
        effort = None if effort is None or effort >= x["saturation_effort"] else effort
    return Actuator(
        motor=Motor(
            **motor,
            rotor_inertia=x.get("armature", 0.0),
            limits=None if effort is None else Limits(torque=effort),
        ),
        friction=Coulomb(coulomb=loss, viscous=x.get("viscous_friction", 0.0)),
        drive=drives.Impedance(**gains),
    )


def _untold(kind: str, x: dict[str, float]) -> list[str]:
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
