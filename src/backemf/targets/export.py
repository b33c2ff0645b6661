"""Export: an actuator written for somebody else's simulator, with what could not be carried and what that
costs.

`export(actuator, "mujoco@3.12", joint="knee")` picks the target from `TARGETS`; each target's own file does
the rest.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..datasheets.datasheet import Datasheet
from ..datasheets.parts import Part, part
from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding
from ..logs.log import Log
from ..mujoco.dcmotor import INTEGRATORS, VERSIONS, release
from ..physics.actuator import Actuator
from ..results.fit import Fit
from ..results.spread import Spread
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

DRAWING = ("torch", "warp")
"""Targets whose files draw from a spread."""
SEVERAL = ("mujoco-plugin",)
"""Targets whose files hold several actuators."""
METHODS = ("simulation", "formula")
SHORTEST, LONGEST = 1e-5, 1.0
"""Time steps of a simulation [s]; shorter ones take for ever, longer ones see no motion."""


def module_of(target: str) -> Any:
    """A target: its spec, or the file with its `write`, its tables and, where it can be run, its `run`."""
    place, _, name = TARGETS[target].module.partition(":")
    found = importlib.import_module(f".{place}", __package__)
    return getattr(found, name) if name else found


def parse_target(text: str) -> tuple[str, str]:
    """(name, version) of "mujoco@3.12"; without a version, the installed or the only one."""
    name, at, version = text.partition("@")
    if name not in TARGETS:
        raise UnknownName("target", name, TARGETS)
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


def export(
    actuator: Actuator | Fit | Datasheet | Mapping[str, Any],
    to: str,
    *,
    joint: str = "joint",
    notes: Sequence[str] | str = (),
    method: str = "simulation",
    timestep: float = 0.002,
    integrator: str = "implicitfast",
    amplitude: float = 0.5,
    load: float = 0.25,
    backlash: bool = False,
    logs: Iterable[Log] | Log | None = None,
    spread: Spread | None = None,
    replay: bool = True,
    into: Path | str | None = None,
    unknown: Mapping[str, Sequence[str]] | None = None,
    findings: Sequence[Finding] = (),
) -> Any:
    """Write an actuator for a target, such as "mujoco", "mujoco@3.12", "mujoco-live", "mujoco-plugin",
    "mujoco-classic", "mjlab", "isaaclab@3.0", "isaaclab@bam", "newton", "drake", "urdf", "sdf", "bam",
    "torch", "warp@mjlab", "c@float" or "fmu@3.0".

    joint       name of the joint in the file.
    notes       where the numbers came from, in words; they go into the file's header.
    method      'simulation' fits what the target cannot hold so that it replays the reference motions best;
                'formula' uses closed forms.
    timestep    of the target's simulation [s], with its `integrator`; a finding says where they cannot hold
                the model.
    amplitude   of the reference motions [rad or m]; `load` is their gravity torque as a share of the stall
                torque.
    backlash    in MuJoCo, carry the gearbox's play as an extra joint in series.
    spread      for torch and warp, how far the numbers may be from the truth: what a training file draws
                from.
    logs        your own recordings: what the target cannot hold is then fitted to their motions instead of
                the reference motions.
    replay      run the very file in its simulator, where that is installed, over these motions; the header
                says what was run and what came of it.
    into        the user's own MJCF or URDF: the joint's old actuator is replaced, and what comes back are the
                edited files. The actuator may be a mapping then, from joints (names or regular expressions),
                or the fit of a robot, which is then driven as its held-out recordings say.
    findings    what is known about the numbers, such as a gain that no sheet prints; it goes into the header.
    unknown     by joint, paths of what an actuator does not really know; those numbers stay the model's.
    """
    name, version = parse_target(to)
    robot = actuator if isinstance(actuator, Fit) and actuator.joints else None
    if robot is not None:
        actuator = robot.actuators if into is not None or name in SEVERAL else _of_joint(robot, joint, name)
    given = dict(actuator) if isinstance(actuator, Mapping) else {joint: actuator}
    sheets = {k: part(v) for k, v in given.items() if isinstance(v, Datasheet)}
    wanted = {k: _actuator(sheets.get(k, v)) for k, v in given.items()}
    findings = [*findings, *(f for one in sheets.values() for f in one.findings)]
    unknown = {**{k: one.unknown for k, one in sheets.items()}, **(unknown or {})}
    if not wanted:
        raise MissingValue("export got no actuators; expected joints and their actuators")
    if isinstance(actuator, Mapping) and into is None:
        if name not in SEVERAL:
            raise InvalidValue(
                "export got several actuators; expected one, or `into` for a model with their joints"
            )
        joint = next(iter(wanted))
    if spread is not None and name not in DRAWING:
        raise InvalidValue(
            f"spread was given for {name}, which draws nothing; expected the target torch or warp,"
            " or no spread"
        )
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if integrator not in INTEGRATORS:
        raise UnknownName("integrator", integrator, INTEGRATORS)
    if not SHORTEST <= timestep <= LONGEST:
        raise InvalidValue(f"timestep is {timestep!r}; expected seconds, from {SHORTEST:g} to {LONGEST:g}")
    if not 0 < amplitude < math.inf:
        raise InvalidValue(f"amplitude is {amplitude!r}; expected a number above 0")
    if not 0 <= load < 1:
        raise InvalidValue(f"load is {load!r}; expected a share of the stall torque, from 0 to less than 1")
    for one in wanted if into is None else ():
        if not one or not one.isprintable() or any(c in one for c in "<>&\"'\\"):
            raise InvalidValue(f"joint is {one!r}; expected a name without quotes or angle brackets")
    texts = [notes] if isinstance(notes, str) else [str(note) for note in notes]
    lines = [line for text in texts for line in text.splitlines()]
    printable = tuple("".join(c if c.isprintable() else " " for c in line) for line in lines)
    range_ = (amplitude, load, backlash, given_logs(logs) or (), spread)
    request = Request(name, version, joint, printable, method, timestep, integrator, *range_)
    request = request._replace(findings=tuple(findings))
    if backlash and any(one.gearbox.backlash is None for one in wanted.values()):
        raise InvalidValue(
            "backlash was asked for, and the actuator has none; give gearbox.backlash and"
            " gearbox.contact_stiffness, or leave it out"
        )
    module = module_of(name)
    if into is not None and robot is not None and name in ("mujoco", "mujoco-classic"):
        from .mujoco.robots import robot_edited

        return robot_edited(robot, into, request, module, replay=replay, unknown=unknown)
    if into is not None:
        from .mujoco.into import edited

        return edited(wanted, into, request, module, replay=replay, unknown=unknown)
    made = (
        write_target(module, wanted[joint], request) if len(wanted) == 1 else module.several(wanted, request)
    )
    if not replay:
        return made
    from .replay import proven

    return proven(made, request.logs or None)


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
