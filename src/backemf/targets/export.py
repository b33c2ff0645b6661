"""Export: an actuator written for somebody else's simulator, with what could not be carried and what that
costs.

`export(actuator, "mujoco@3.12", joint="knee")` picks the target from `TARGETS`; each target's own file does
the rest.
"""

from __future__ import annotations

import datetime
import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..data.log import Log
from ..data.spread import Spread
from ..errors import InvalidValue, MissingValue, UnknownName
from ..files import write_all
from ..findings import Finding
from ..model.actuator import Actuator
from ..simulator.dcmotor import INTEGRATORS, VERSIONS, release
from ..tables import Displayed, Overview

METHODS = ("simulation", "formula")
SHORTEST, LONGEST = 1e-5, 1.0
"""Time steps of a simulation [s]; shorter ones take for ever, longer ones see no motion."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Something the actuator has and the target has not, or only nearly."""

    path: str
    text: str
    """What became of it."""
    error: float | None = None
    """RMS difference in position [rad or m] over the reference motions:
    of leaving it out where dropped, of the whole export where approximated."""
    worst: float | None = None
    """Largest difference [rad or m]."""
    unit: str = "rad"
    """Of both."""

    def __str__(self) -> str:
        if self.error is None:
            return f"{self.path}: {self.text}; its cost shows in a replay only"
        return (
            f"{self.path}: {self.text}; {1e3 * self.error:.3g} m{self.unit} RMS, at most"
            f" {1e3 * (self.worst or 0.0):.3g} m{self.unit}"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Export(Displayed):
    """Files for a target, and an honest account of them."""

    target: str
    version: str
    joint: str
    files: Mapping[str, str]
    """Name -> text; the first is the main one."""
    actuator: Actuator
    """What was to be carried."""
    carried: Actuator
    """What the target simulates, as an actuator."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The target's own numbers, by its own names."""
    dropped: tuple[Effect, ...] = ()
    approximated: tuple[Effect, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    timestep: float = 0.002
    integrator: str = "implicitfast"
    amplitude: float = 0.5
    load: float = 0.25
    """Of the reference motions."""
    range: str = ""
    """The operating range over which errors were measured, in words."""

    @property
    def text(self) -> str:
        """The main file."""
        return next(iter(self.files.values()))

    @property
    def has_play_joint(self) -> bool:
        """Whether the gearbox's play is an extra joint in the main file."""
        return f'"{self.joint}_backlash"' in self.text

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
        if self.lossless:
            lines.append("  nothing is lost")
        elif self.range:
            lines.append(f"  measured over: {self.range}")
        return "\n".join([*lines, *(f"  finding: {f}" for f in self.findings)])

    def write(self, path: Path | str, *, force: bool = False) -> list[Path]:
        """Write every file, or none; nothing is overwritten unless `force`."""
        return write_all(self.places(path), force=force)

    def places(self, path: Path | str) -> dict[Path, str]:
        """Where each file goes: into a folder, or the main one under this name and the others beside it."""
        path = Path(path)
        if path.is_dir():  # "left/knee" names a joint, not a folder
            return {path / name.replace("/", "_").lstrip("."): text for name, text in self.files.items()}
        _, *others = self.files
        beside = {path.with_name(path.stem + n.removeprefix(self.joint)): self.files[n] for n in others}
        return {path: self.text, **beside}


class Account(NamedTuple):
    """What was lost, and over which motions that was measured."""

    dropped: tuple[Effect, ...] = ()
    approximated: tuple[Effect, ...] = ()
    range: str = ""


NOTHING_LOST = Account()


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


class Target(NamedTuple):
    """A row of the table of targets."""

    module: str
    versions: tuple[str, ...]
    default: str
    what: str


TARGETS: dict[str, Target] = {
    "mujoco": Target("mujoco.dcmotor", VERSIONS, "installed", "MJCF with <dcmotor>"),
    "mujoco-classic": Target(
        "mujoco.classic",
        ("any",),
        "any",
        "MJCF with <position>, <velocity> or <motor>, for any version and MJX",
    ),
    "mjlab": Target("mjlab", ("1.6",), "1.6", "Python with BuiltinDcMotorActuatorCfg"),
    "isaaclab": Target("isaaclab", ("2.3", "3.0"), "2.3", "Python with DCMotorCfg or DelayedPDActuatorCfg"),
    "urdf": Target("urdf", ("any",), "any", "URDF with a transmission"),
    "bam": Target("bam", ("any",), "any", "parameter JSON, models m1 to m6"),
    "torch": Target(
        "training.torch",
        ("plain", "isaaclab", "mjlab"),
        "plain",
        "a Python file that imports only torch, for learning environments",
    ),
}
"""Every target by name."""


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
    short = ".".join(version.split(".")[:2])
    if short not in target.versions:
        raise UnknownName(f"version of {name}", version, target.versions)
    return name, short


def _installed() -> str:
    try:
        import mujoco
    except ImportError:
        return VERSIONS[-1]
    return str(mujoco.__version__)


def export(
    actuator: Actuator,
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
) -> Export:
    """Write an actuator for a target, such as "mujoco", "mujoco@3.12", "mujoco-classic", "mjlab",
    "isaaclab@3.0", "urdf", "bam" or "torch".

    joint       name of the joint in the file.
    notes       where the numbers came from, in words; they go into the file's header.
    method      'simulation' fits what the target cannot hold so that it replays the reference motions best;
                'formula' uses closed forms.
    timestep    of the target's simulation [s], with its `integrator`; a finding says where they cannot hold
                the model.
    amplitude   of the reference motions [rad or m]; `load` is their gravity torque as a share of the stall
                torque.
    backlash    in MuJoCo, carry the gearbox's play as an extra joint in series.
    spread      for torch, how far the numbers may be from the truth: what a training file draws from.
    logs        your own recordings: what the target cannot hold is then fitted to their motions instead of
                the reference motions.
    """
    name, version = parse_target(to)
    if not isinstance(actuator, Actuator):
        given = type(actuator).__name__
        raise InvalidValue(f"export got a {given}; expected an Actuator, such as fit.actuator")
    if spread is not None and name != "torch":
        raise InvalidValue(
            f"spread was given for {name}, which draws nothing; expected the target torch, or no spread"
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
    if not joint or not joint.isprintable() or any(c in joint for c in "<>&\"'\\"):
        raise InvalidValue(f"joint is {joint!r}; expected a name without quotes or angle brackets")
    texts = [notes] if isinstance(notes, str) else [str(note) for note in notes]
    lines = [line for text in texts for line in text.splitlines()]
    printable = tuple("".join(c if c.isprintable() else " " for c in line) for line in lines)
    range_ = (amplitude, load, backlash, given_logs(logs) or (), spread)
    request = Request(name, version, joint, printable, method, timestep, integrator, *range_)
    module: Any = importlib.import_module(f".{TARGETS[name].module}", __package__)
    return module.write(actuator, request)


def complete(
    request: Request,
    actuator: Actuator,
    account: Account = NOTHING_LOST,
    *,
    files: Mapping[str, str],
    carried: Actuator,
    numbers: Mapping[str, float],
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
        findings=tuple(findings),
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


def header(
    request: Request, units: str, account: Account = NOTHING_LOST, findings: Sequence[Finding] = ()
) -> list[str]:
    """Lines for the top of a file: who wrote it, units, what was lost at what cost,
    where the numbers came from."""
    version = "" if request.version == "any" else f" {request.version}"
    today, lossy = datetime.date.today().isoformat(), bool(account.dropped or account.approximated)
    lines = [f"Written by backemf {__version__} on {today} for {request.target}{version}.", f"Units: {units}"]
    lines += [f"Dropped: {effect}" for effect in account.dropped]
    lines += [f"Approximated: {effect}" for effect in account.approximated]
    lines += [] if lossy else ["Nothing was dropped or approximated."]
    lines += [f"Measured over: {account.range}"] if account.range and lossy else []
    lines += [f"Finding: {finding}" for finding in findings]
    return lines + [f"From: {note}" for note in request.notes]


def xml_comment(lines: Sequence[str]) -> str:
    """Lines as an XML comment; two hyphens in a row are not allowed inside one."""
    inside = "\n".join(f"  {line}" for line in lines)
    while "--" in inside:
        inside = inside.replace("--", "- -")
    return f"<!--\n{inside}\n-->\n"


def mapping_table(name: str) -> str:
    """What becomes of each of our numbers in a target, as a Markdown table:
    the documentation's pages are made of it."""
    module: Any = importlib.import_module(f".{TARGETS[name].module}", __package__)
    rows = [f"| {ours} | {theirs} | {remark} |" for ours, theirs, remark in module.MAPPING]
    return "\n".join([f"| backemf | {name} | remarks |", "|---|---|---|", *rows])


def hash_comment(lines: Sequence[str]) -> str:
    return "".join(f"# {line}\n" for line in lines)


def number(value: float) -> str:
    """Every digit, and no trailing '.0' where there is nothing behind the point."""
    text = repr(float(value))
    return text.removesuffix(".0")
