"""Export: an actuator written for somebody else's simulator, with what could not be carried and what that
costs.

`export(actuator, "mujoco@3.12", joint="knee")` picks the target from `TARGETS`; each target's own file does
the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..datasheets.datasheet import Datasheet
from ..datasheets.parts import Part, part
from ..errors import InvalidValue, MissingValue, UnknownName
from ..logs.log import Log
from ..mujoco.dcmotor import INTEGRATORS, VERSIONS, release
from ..options import takes
from ..physics.actuator import Actuator
from ..registry import load
from ..results.fit import Fit
from .options import DRAWING as DRAWING, METHODS, ExportOptions, scopes_of
from .result import (
    NOT_RUN as NOT_RUN,
    NOTHING_LOST as NOTHING_LOST,
    Account as Account,
    Effect as Effect,
    Export as Export,
    Request as Request,
    complete as complete,
    hash_comment as hash_comment,
    header as header,
    moved as moved,
    number as number,
    request_of as request_of,
    xml_comment as xml_comment,
)
from .table import TARGETS as TARGETS, Target as Target
from .write import write_target

SEVERAL = ("mujoco-plugin",)
"""Targets whose files hold several actuators."""
SHORTEST, LONGEST = 1e-5, 1.0
"""Time steps of a simulation [s]; shorter ones take for ever, longer ones see no motion."""


def module_of(target: str) -> Any:
    """A target: its spec, or the file with its `write`, its tables and, where it can be run, its `run`."""
    return load(TARGETS[target].module)


def parse_target(text: str) -> tuple[str, str]:
    """(name, version) of "mujoco@3.12"; without a version, the installed or the only one."""
    name, at, version = text.partition("@")
    target = TARGETS[name]
    if not at:
        version = _installed() if target.default == "installed" else target.default
    if target.versions == ("any",):
        return name, version or "any"
    if name == "mujoco":
        release(version)
        return name, version
    found = [known for known in target.versions if f"{version}.".startswith(f"{known}.")]
    if not found:
        raise UnknownName(f"version of {name}", version, target.versions)
    return name, found[0]


def _installed() -> str:
    try:
        import mujoco
    except ImportError:
        return VERSIONS[-1]
    return str(mujoco.__version__)


def run_export(
    actuator: Actuator | Fit | Datasheet | Mapping[str, Any], to: str, options: ExportOptions
) -> Any:
    """Write an actuator for a target.

    Args:
        actuator: one, the fit of one, a datasheet; with `into` also a mapping from joints, or a robot's fit.
        to: a target by name, with a version where it has several: "mujoco", "mujoco@3.12", "warp@mjlab".

    Returns:
        An `Export`: files and what they cannot hold; with `into` the edited model.

    Raises:
        UnknownName: of a target, version, method or integrator.
        InvalidValue: of a number out of range, or an option that does not apply to the target.
    """
    name, version = parse_target(to)
    joint, into, spread, unknown = options.joint, options.into, options.spread, options.unknown
    options.check(scopes_of(name, into), name if into is None else f"{name} into a model")
    robot = actuator if isinstance(actuator, Fit) and actuator.joints else None
    if robot is not None:
        actuator = robot.actuators if into is not None or name in SEVERAL else _of_joint(robot, joint, name)
    given = dict(actuator) if isinstance(actuator, Mapping) else {joint: actuator}
    sheets = {k: part(v) for k, v in given.items() if isinstance(v, Datasheet)}
    wanted = {k: _actuator(sheets.get(k, v)) for k, v in given.items()}
    findings = [*options.findings, *(f for one in sheets.values() for f in one.findings)]
    unknown = {**{k: one.unknown for k, one in sheets.items()}, **(unknown or {})}
    if not wanted:
        raise MissingValue("export got no actuators; expected joints and their actuators")
    if isinstance(actuator, Mapping) and into is None:
        if name not in SEVERAL:
            raise InvalidValue(
                "export got several actuators; expected one, or `into` for a model with their joints"
            )
        joint = next(iter(wanted))
    _check_numbers(options)
    for one in wanted if into is None else ():
        if not one or not one.isprintable() or any(c in one for c in "<>&\"'\\"):
            raise InvalidValue(f"joint is {one!r}; expected a name without quotes or angle brackets")
    notes = options.notes
    texts = [notes] if isinstance(notes, str) else [str(note) for note in notes]
    lines = [line for text in texts for line in text.splitlines()]
    printable = tuple("".join(c if c.isprintable() else " " for c in line) for line in lines)
    range_ = (options.amplitude, options.load, options.backlash, given_logs(options.logs) or (), spread)
    how = (options.method, options.timestep, options.integrator)
    request = Request(name, version, joint, printable, *how, *range_)
    request = request._replace(findings=tuple(findings))
    if options.backlash and any(one.gearbox.backlash is None for one in wanted.values()):
        raise InvalidValue(
            "backlash was asked for, and the actuator has none; give gearbox.backlash and"
            " gearbox.contact_stiffness, or leave it out"
        )
    module = module_of(name)
    if into is not None and robot is not None and name in ("mujoco", "mujoco-classic"):
        from .mujoco.robots import robot_edited

        return robot_edited(robot, into, request, module, replay=options.replay, unknown=unknown)
    if into is not None:
        from .mujoco.into import edited

        return edited(wanted, into, request, module, replay=options.replay, unknown=unknown)
    made = (
        write_target(module, wanted[joint], request) if len(wanted) == 1 else module.several(wanted, request)
    )
    if not options.replay:
        return made
    from .replay import proven

    return proven(made, request.logs or None)


export = takes(ExportOptions)(run_export)


def _check_numbers(options: ExportOptions) -> None:
    """Refuse names that nobody knows and numbers out of range."""
    if options.method not in METHODS:
        raise UnknownName("method", options.method, METHODS)
    if options.integrator not in INTEGRATORS:
        raise UnknownName("integrator", options.integrator, INTEGRATORS)
    if not SHORTEST <= options.timestep <= LONGEST:
        wanted = f"expected seconds, from {SHORTEST:g} to {LONGEST:g}"
        raise InvalidValue(f"timestep is {options.timestep!r}; {wanted}")
    if not 0 < options.amplitude < math.inf:
        raise InvalidValue(f"amplitude is {options.amplitude!r}; expected a number above 0")
    if not 0 <= options.load < 1:
        wanted = "expected a share of the stall torque, from 0 to less than 1"
        raise InvalidValue(f"load is {options.load!r}; {wanted}")


def _of_joint(fit: Fit, joint: str, target: str) -> Fit:
    """One joint's part of a robot's fit."""
    if joint == "joint" and joint not in fit.joints:
        raise InvalidValue(
            f"the fit has {len(fit.joints)} joints, and a file for {target} holds one; expected `into` with"
            f" the robot's model, or joint= one of {', '.join(fit.joints)}"
        )
    if joint not in fit.joints:
        raise UnknownName("joint of the fit", joint, fit.joints)
    return fit.joints[joint]


def _actuator(given: Any) -> Actuator:
    if isinstance(given, Fit | Part):
        return given.actuator
    if not isinstance(given, Actuator):
        raise InvalidValue(f"export got a {type(given).__name__}; expected an Actuator, a Fit or a Datasheet")
    return given


def given_logs(logs: Iterable[Log] | Log | None) -> tuple[Log, ...] | None:
    """One log or several as a tuple; None stays None."""
    if logs is None:
        return None
    given = (logs,) if isinstance(logs, Log) else tuple(logs)
    if not given:
        raise MissingValue(
            "no logs were given; expected at least one recording, or none at all for the reference motions"
        )
    return given
