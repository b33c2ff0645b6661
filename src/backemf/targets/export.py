"""Export: an actuator written for somebody else's simulator, with what could not be carried and what that
costs.

`export(actuator, "mujoco@3.12", joint="knee")` picks the target from `TARGETS`; each target's own file does
the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..datasheets.datasheet import Datasheet
from ..datasheets.parts import Part, part
from ..errors import InvalidValue, MissingValue, NotAvailable, UnknownName
from ..files import write_all
from ..findings import Finding
from ..logs.log import Log
from ..mujoco.dcmotor import INTEGRATORS, VERSIONS, release
from ..options import takes
from ..physics.actuator import Actuator
from ..registry import load
from ..results.fit import Fit
from ..results.spread import Spread
from ..tables import Displayed, Overview
from .account import (
    NOT_RUN as NOT_RUN,
    NOTHING_LOST as NOTHING_LOST,
    Account as Account,
    Effect as Effect,
    hash_comment as hash_comment,
    header as header,
    moved as moved,
    number as number,
    xml_comment as xml_comment,
)
from .options import DRAWING as DRAWING, METHODS, ExportOptions, scopes_of
from .table import TARGETS as TARGETS, Target as Target

if TYPE_CHECKING:
    from .replay import Replay

SEVERAL = ("mujoco-plugin",)
"""Targets whose files hold several actuators."""
SHORTEST, LONGEST = 1e-5, 1.0
"""Time steps of a simulation [s]; shorter ones take for ever, longer ones see no motion."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Export(Displayed):
    """Files for a target, and an honest account of them."""

    target: str
    version: str
    joint: str
    files: Mapping[str, str | bytes]
    """Name -> text, or what is no text; the first is the main one."""
    actuator: Actuator
    """What was to be carried."""
    carried: Actuator
    """What the target simulates, as an actuator."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The target's own numbers, by its own names."""
    ctrl: Mapping[str, float] = field(default_factory=dict)
    """Factor from each of the drive's targets to the file's inputs, in their order."""
    dropped: tuple[Effect, ...] = ()
    approximated: tuple[Effect, ...] = ()
    adjusted: tuple[str, ...] = ()
    """Numbers moved from their closed forms to make up for what is lost, each in words."""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    timestep: float = 0.002
    integrator: str = "implicitfast"
    amplitude: float = 0.5
    load: float = 0.25
    """Of the reference motions."""
    range: str = ""
    """The operating range over which errors were measured, in words."""
    judged: bool = True
    """Whether what is lost was looked for; of somebody's file it is not known."""
    ran: str = NOT_RUN
    """What was run and what came of it, as the header says."""
    replayed: Replay | None = None

    @property
    def text(self) -> str:
        """The main file, where it is text."""
        name, content = next(iter(self.files.items()))
        if isinstance(content, bytes):
            raise NotAvailable(f"{name} is no text; write it into a file: -o {name}")
        return content

    @property
    def has_play_joint(self) -> bool:
        """Whether the gearbox's play is an extra joint in the main file."""
        return f'"{self.joint}_backlash"' in self.text

    def with_replay(self, replayed: Replay) -> Export:
        """The same after a run, its files as they are."""
        return replace(self, replayed=replayed, ran=replayed.sentence())

    def overview(self) -> Overview:
        title = f"{self.target}@{self.version}, joint {self.joint!r}: {', '.join(self.files)}"
        kinds = (("dropped", self.dropped), ("approximated", self.approximated))
        rows = [(kind, e.path, e.text, e.error, e.worst, e.unit) for kind, effects in kinds for e in effects]
        rows = rows or [("carried", "everything", "nothing is lost", 0.0, 0.0, "")]
        return Overview(
            title, ("effect", "of", "what became of it", "RMS", "worst", "unit"), rows, self.findings
        )

    @property
    def lossless(self) -> bool:
        return not self.dropped and not self.approximated

    def __str__(self) -> str:
        lines = [f"{self.target}@{self.version}, joint {self.joint!r}: {', '.join(self.files)}"]
        for title, effects in (("dropped", self.dropped), ("approximated", self.approximated)):
            lines += [f"  {title}: {effect}" for effect in effects]
        lines += [f"  adjusted: {text}" for text in self.adjusted]
        if self.lossless and self.judged:
            lines.append("  nothing is lost")
        elif self.range:
            lines.append(f"  measured over: {self.range}")
        lines.append(f"  {self.ran}")
        return "\n".join([*lines, *(f"  finding: {f}" for f in self.findings)])

    def write(self, path: Path | str, *, force: bool = False) -> list[Path]:
        """Write every file, or none; nothing is overwritten unless `force`."""
        return write_all(self.places(path), force=force)

    def places(self, path: Path | str) -> dict[Path, str | bytes]:
        """Where each file goes: into a folder, or the one that ends so under this name and the others beside
        it. Files that name each other in quotes do so by their new names."""
        path, names = Path(path), [*self.files]
        if path.is_dir():  # "left/knee" names a joint, not a folder
            new = {name: path / name.replace("/", "_").lstrip(".") for name in names}
        else:
            main = next((name for name in names if Path(name).suffix == path.suffix), names[0])
            own = main.removesuffix(Path(main).suffix)
            beside = {n: path.stem + n.removeprefix(own) if n.startswith(own) else n for n in names}
            new = {n: path if n == main else path.with_name(beside[n]) for n in names}
        return {new[name]: _renamed(content, new) for name, content in self.files.items()}


def _renamed(content: str | bytes, new: Mapping[str, Path]) -> str | bytes:
    if isinstance(content, str):
        for name, path in new.items():
            content = content.replace(f'"{name}"', f'"{path.name}"') if len(new) > 1 else content
    return content


class Request(NamedTuple):
    """What an export was asked for, besides the actuator."""

    target: str
    version: str
    joint: str
    notes: tuple[str, ...]
    method: str
    timestep: float
    integrator: str
    amplitude: float
    load: float
    backlash: bool
    logs: tuple[Log, ...] = ()
    """The recordings to fit to instead of the reference motions."""
    spread: Spread | None = None
    """What a training file draws from."""
    gear: float | None = None
    """MuJoCo's gear of an actuator that is replaced: ctrl stays in its units."""
    findings: tuple[Finding, ...] = ()
    """What is already known about the actuator's numbers, such as a gain that nobody printed."""


def module_of(target: str) -> Any:
    """The file of a target: its `write`, its tables and, where it can be run, its `run`."""
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
    made = module.write(wanted[joint], request) if len(wanted) == 1 else module.several(wanted, request)
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


def complete(
    request: Request,
    actuator: Actuator,
    account: Account = NOTHING_LOST,
    *,
    files: Mapping[str, str | bytes],
    carried: Actuator,
    numbers: Mapping[str, float],
    ctrl: Mapping[str, float] | None = None,
    findings: Sequence[Finding] = (),
    notes: Sequence[str] = (),
) -> Export:
    """The export that a request asked for."""
    kept = ("target", "version", "joint", "timestep", "integrator", "amplitude", "load")
    return Export(
        **{name: getattr(request, name) for name in kept},
        **account._asdict(),
        files=files,
        actuator=actuator,
        carried=carried,
        numbers=numbers,
        ctrl={name: 1.0 for name in actuator.drive.targets} if ctrl is None else ctrl,
        findings=(*request.findings, *findings),
        notes=(*request.notes, *notes),
    )


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


def request_of(export: Export) -> Request:
    """What an export was asked for, so far as it still says."""
    asked = (export.target, export.version, export.joint, export.notes, "simulation")
    over = (export.amplitude, export.load, export.has_play_joint)
    return Request(*asked, export.timestep, export.integrator, *over)
