"""Export: an actuator written for somebody else's simulator, with what could not be carried and what that
costs.

`export(actuator, "mujoco@3.12", joint="knee")` picks the target from `TARGETS`; each target's own file does
the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, cast, overload

from ..datasheets.datasheet import Datasheet
from ..datasheets.parts import part
from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding
from ..logs.log import Log
from ..mujoco.dcmotor import INTEGRATORS, VERSIONS, release
from ..options import takes
from ..physics.actuator import Actuator
from ..registry import load
from ..results.fit_result import Fit
from ..results.spread import Spread
from ..results.variation import variation_in
from .export_options import AT_REST, DRAWS, METHODS, ExportOptions, FileOptions, bam_names, scopes_of
from .fingerprint import sign_numbers
from .result import (
    NOT_RUN as NOT_RUN,
    Effect as Effect,
    Export as Export,
    Request as Request,
    complete as complete,
    hash_comment as hash_comment,
    header as header,
    number as number,
    xml_comment as xml_comment,
)
from .table import TARGETS as TARGETS

if TYPE_CHECKING:
    from .mujoco.edited_model import EditedModel

P = ParamSpec("P")
Q = ParamSpec("Q")
Exported = Actuator | Fit | Datasheet | Mapping[str, Any]
"""What is written: one actuator in some form, or several by joint."""
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
        version = _mujoco_version() if target.default == "installed" else target.default
    if target.versions == ("any",):
        return name, version or "any"
    if name == "mujoco":
        release(version)
        return name, version
    found = [known for known in target.versions if f"{version}.".startswith(f"{known}.")]
    if not found:
        raise UnknownName(f"version of {name}", version, target.versions)
    return name, found[0]


def _mujoco_version() -> str:
    try:
        import mujoco
    except ImportError:
        return VERSIONS[-1]
    return str(mujoco.__version__)


def run_export(actuator: Exported, to: str, options: ExportOptions) -> Export | EditedModel:
    """Write an actuator for a target.

    Args:
        actuator: one, the fit of one, a datasheet; with `into` also a mapping from joints, or a robot's fit.
        to: a target by name, with a version where it has several: "mujoco", "mujoco@3.12", "warp@mjlab".
        options: how; `into` names the model that the actuator goes into.

    Returns:
        An `Export`: files and what they cannot hold; with `into` the edited model.

    Raises:
        UnknownName: of a target, version, method or integrator.
        InvalidValue: of a number out of range, or an option that does not apply to the target.
    """
    if options.into is None:
        return _export_files(actuator, to, options)
    parts, request = _prepare(actuator, to, options)
    from .mujoco.into import edit_model
    from .mujoco.robots import robot_edited

    target, how = module_of(request.target), {"replay": options.replay, "unknown": parts.unknown}
    if parts.robot is not None and request.target in ("mujoco", "mujoco-classic"):
        return robot_edited(parts.robot, options.into, request, target, ground=options.ground, **how)
    return edit_model(parts.actuators, options.into, request, target, **how)


def _export_files(actuator: Exported, to: str, options: ExportOptions) -> Export:
    """Files of their own, run where that is asked for."""
    parts, request = _prepare(actuator, to, options)
    target, several = module_of(request.target), len(parts.actuators) > 1
    made: Export = (
        target.several(parts.actuators, request)
        if several
        else target.write(parts.actuators[parts.joint], request)
    )
    made = sign_numbers(made)
    if not options.replay:
        return made
    from .replay import replay_export

    return replay_export(made, request.logs or None)


def _prepare(actuator: Any, to: str, options: ExportOptions) -> tuple[ExportedParts, Request]:
    """What is to be exported, and how, once both were checked."""
    name, version = parse_target(to)
    robot = bool(getattr(actuator, "joints", None))
    what = name if options.into is None else f"{name} into a model"
    options.check(scopes_of(name, options.into, robot), what)
    parts = _exported_parts(actuator, name, options)
    if name == "bam" and options.q_offset is None and isinstance(actuator, Fit):
        options = replace(options, q_offset=actuator.zero)
    if options.draws and options.spread is None and hasattr(actuator, "variation"):
        variation_in(actuator)  # or why there are no bands
        each = {
            joint: Spread.of_fit(actuator, one, joint if actuator.joints else "")
            for joint, one in parts.actuators.items()
        }
        spread = each.get(parts.joint) or next(iter(each.values()))
        options = replace(options, spread=replace(spread, joints=each if options.into is not None else {}))
    _check_numbers(options)
    _check_parts(parts, options)
    return parts, _request_for(name, version, parts, options)


class ExportedParts(NamedTuple):
    """What is to be exported, by joint."""

    actuators: dict[str, Actuator]
    robot: Fit | None
    """The fit of a robot that they came from."""
    joint: str
    """Of the file."""
    findings: tuple[Finding, ...]
    unknown: dict[str, Sequence[str]]
    """By joint, paths of what an actuator does not really know."""


def _exported_parts(actuator: Any, target: str, options: ExportOptions) -> ExportedParts:
    """Fits, datasheets and actuators as actuators by joint."""
    robot = actuator if getattr(actuator, "joints", None) else None
    if robot is not None:
        whole = options.into is not None or target in SEVERAL
        actuator = robot.actuators if whole else _of_joint(robot, options.joint, target)
    given, joint = _given_by_joint(actuator, target, options)
    sheets = {k: part(v) for k, v in given.items() if isinstance(v, Datasheet)}
    return ExportedParts(
        actuators={k: _actuator(sheets.get(k, v)) for k, v in given.items()},
        robot=robot,
        joint=joint,
        findings=(*options.findings, *(f for sheet in sheets.values() for f in sheet.findings)),
        unknown={**{k: sheet.unknown for k, sheet in sheets.items()}, **(options.unknown or {})},
    )


def _given_by_joint(actuator: Any, target: str, options: ExportOptions) -> tuple[dict[str, Any], str]:
    """(what was given, by joint; the joint that the file is named after)."""
    if not isinstance(actuator, Mapping):
        return {options.joint: actuator}, options.joint
    if not actuator:
        raise MissingValue("export got no actuators; expected joints and their actuators")
    if options.into is not None:
        return dict(actuator), options.joint
    if target not in SEVERAL:
        raise InvalidValue(
            "export got several actuators; expected one, or `into` for a model with their joints"
        )
    return dict(actuator), next(iter(actuator))


def _check_parts(parts: ExportedParts, options: ExportOptions) -> None:
    """Refuse names that no file can hold, and play where there is none."""
    for joint in parts.actuators if options.into is None else ():
        if not joint or not joint.isprintable() or any(c in joint for c in "<>&\"'\\"):
            raise InvalidValue(f"joint is {joint!r}; expected a name without quotes or angle brackets")
    if options.backlash and all(actuator.gearbox.backlash is None for actuator in parts.actuators.values()):
        raise InvalidValue(
            "backlash was asked for, and the actuator has none; give gearbox.backlash and"
            " gearbox.contact_stiffness, or leave it out"
        )


def _request_for(target: str, version: str, parts: ExportedParts, options: ExportOptions) -> Request:
    notes = options.notes
    texts = [notes] if isinstance(notes, str) else [str(note) for note in notes]
    lines = [line for text in texts for line in text.splitlines()]
    return Request(
        target=target,
        version=version,
        joint=parts.joint,
        notes=tuple("".join(c if c.isprintable() else " " for c in line) for line in lines),
        method=options.method,
        timestep=options.timestep,
        integrator=options.integrator,
        amplitude=options.amplitude,
        load=options.load,
        backlash=options.backlash,
        at_rest=options.at_rest,
        logs=given_logs(options.logs) or (),
        spread=options.spread,
        draws=options.draws,
        findings=parts.findings,
        bam_name=options.bam_name,
        q_offset=options.q_offset,
    )


class ExportVerb(Protocol[P, Q]):
    """`export` as type checkers see it: files of their own are an `Export`; with `into` it may be either."""

    @overload
    def __call__(self, actuator: Exported, to: str, *args: P.args, **how: P.kwargs) -> Export: ...
    @overload
    def __call__(
        self, actuator: Exported, to: str, *args: Q.args, **how: Q.kwargs
    ) -> Export | EditedModel: ...


def _as_verb(files: Callable[P, FileOptions], every: Callable[Q, ExportOptions]) -> ExportVerb[P, Q]:
    return cast("ExportVerb[P, Q]", takes(every)(run_export))


export = _as_verb(FileOptions, ExportOptions)


def _check_numbers(options: ExportOptions) -> None:
    """Refuse names that nobody knows and numbers out of range."""
    if options.method not in METHODS:
        raise UnknownName("method", options.method, METHODS)
    if options.at_rest not in AT_REST:
        raise UnknownName("friction at rest", options.at_rest, AT_REST)
    if options.bam_name is not None and options.bam_name not in bam_names():
        raise UnknownName("actuator of BAM", options.bam_name, bam_names())
    if options.draws is not None and options.draws not in DRAWS:
        raise UnknownName("draws", options.draws, DRAWS)
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
    """An actuator, or that of a fit or a part."""
    actuator = getattr(given, "actuator", given)
    if not isinstance(actuator, Actuator):
        raise InvalidValue(f"export got a {type(given).__name__}; expected an Actuator, a Fit or a Datasheet")
    return actuator


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
