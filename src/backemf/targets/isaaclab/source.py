"""Isaac Lab's configurations as a source: an actuator out of the literals of somebody's Python file."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidValue, MissingValue, UnknownName
from ...model import drive as drives
from ...model.actuator import Actuator
from ...model.friction import Coulomb
from ...model.maths import is_number
from ...model.motor import Limits, Motor
from .motor import NAMES


class Configured(NamedTuple):
    """An actuator read from a configuration, and where its numbers came from."""

    actuator: Actuator
    notes: tuple[str, ...]


IDEAL = ("IdealPDActuatorCfg", "ImplicitActuatorCfg", "DelayedPDActuatorCfg")
"""Configurations without a torque-speed line."""


def read(path: Path | str, name: str | None = None, hint: str | None = None) -> Configured:
    """The actuator of a `DCMotorCfg(...)`, or of a configuration without a torque-speed line, in a file.

    Nothing is run: the arguments must be plain numbers. `name` chooses among several by the variable or key
    they are given to, `hint` too where it is one of those.
    """
    path = Path(path)
    calls = _configurations(path)
    wanted = name if name is not None else hint if hint in calls else None
    if wanted is None and len(calls) != 1:
        raise MissingValue(
            f"{path.name} has {len(calls)} actuator configurations ({', '.join(calls) or 'none'}); expected"
            f" one, or say which, as {path.name}:{next(iter(calls), 'ACTUATOR')}"
        )
    chosen = next(iter(calls)) if wanted is None else wanted
    if chosen not in calls:
        raise UnknownName(f"configuration in {path.name}", chosen, calls)
    kind, x = calls[chosen]
    return Configured(
        _actuator(path.name, kind, x), (f"Isaac Lab: {path.name}, {kind} {chosen}", *_untold(kind, x))
    )


def _configurations(path: Path) -> dict[str, tuple[str, dict[str, float]]]:
    """Name -> (class, numbers) of every actuator configuration in a Python text."""
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
    calls: dict[str, tuple[str, dict[str, float]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kind = ast.unparse(node.func).rpartition(".")[2]
            if kind == "DCMotorCfg" or kind in IDEAL:
                name = named.get(id(node), f"line {node.lineno}")
                calls[name] = (kind, _literals(path.name, node))
    return calls


def _literals(file: str, call: ast.Call) -> dict[str, float]:
    """The numbers among a call's arguments, in the names of 2.3; a dictionary of joints must have one number
    for all of them."""
    old = {new: NAMES["2.3"][key] for key, new in NAMES["3.0"].items()}
    numbers: dict[str, float] = {}
    for word in call.keywords:
        if word.arg is None or word.arg == "joint_names_expr":
            continue
        try:
            value = ast.literal_eval(word.value)
        except (ValueError, TypeError, RecursionError):
            raise InvalidValue(
                f"{file}: {word.arg} is {ast.unparse(word.value)}; expected a plain number: nothing is run"
            ) from None
        if isinstance(value, dict):
            first, *others = [*value.values()] or [None]
            if any(other != first for other in others):
                raise InvalidValue(
                    f"{file}: {word.arg} is {value}; expected one number: joints that differ need"
                    " configurations of their own"
                )
            value = first
        if is_number(value) and math.isfinite(value):
            numbers[old.get(word.arg, word.arg)] = float(value)
        elif value is not None:
            raise InvalidValue(f"{file}: {word.arg} is {value!r}; expected a number")
    return numbers


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
        K = x["saturation_effort"] / x["velocity_limit"]
        motor = {"resistance": K, "torque_constant": K}  # a newton-metre a volt
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
