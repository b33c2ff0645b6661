"""What an export is asked for and what comes of it: files, what was dropped or approximated at what cost,
what was moved to make up for it, and the header in which a file says so."""

from __future__ import annotations

import datetime
import html
import io
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from .. import __version__
from ..errors import InvalidValue, NotAvailable
from ..files import write_all
from ..findings import Finding
from ..logs.log import Log
from ..mujoco.arrays import play_joint
from ..physics.actuator import Actuator
from ..results.spread import Spread
from ..tables import NotebookDisplay, Overview

if TYPE_CHECKING:
    from .replay import Replay

UNITS = (
    "SI at the joint: rad, rad/s, N m, kg m^2, s, V, A, degC; on a linear axis m and N in the same places."
)
"""Of a file that carries the whole actuator."""
NOT_RUN = "Not run in a simulator."
"""The line of a header that says what was run, before anything was."""


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


def changed_numbers(
    before: Mapping[str, float], after: Mapping[str, float], units: Mapping[str, str]
) -> tuple[str, ...]:
    """Numbers that differ, in words: "kp 60 -> 51.9 N m/rad".

    Args:
        before: by name.
        after: by the same names; what is missing is left out.
        units: by name, of both.

    Returns:
        A sentence for each number that moved by more than rounding.
    """
    return tuple(
        f"{name} {a:.4g} -> {after[name]:.4g} {units.get(name, '')}".rstrip()
        for name, a in before.items()
        if name in after and not math.isclose(a, after[name], rel_tol=1e-6, abs_tol=1e-12)
    )


class Account(NamedTuple):
    """What was lost, and over which motions that was measured."""

    dropped: tuple[Effect, ...] = ()
    approximated: tuple[Effect, ...] = ()
    range: str = ""
    adjusted: tuple[str, ...] = ()
    """Numbers that were moved from their closed forms to make up for what was lost, each in words."""


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
    draws: str | None = None
    """What it draws unless told otherwise."""
    gear: float | None = None
    """MuJoCo's gear of an actuator that is replaced: ctrl stays in its units."""
    findings: tuple[Finding, ...] = ()
    """What is already known about the actuator's numbers, such as a gain that nobody printed."""
    similar: Actuator | None = None
    """As the target carries an actuator that differs in its drive alone; losses are made up for alike."""
    bam_name: str | None = None
    """Which of BAM's actuators it is."""
    at_rest: str = "closest"
    """What MuJoCo's joint is held by: "frictionloss", "lugre", "springyield", or the closest of them."""
    q_offset: float | None = None
    """From the joint's zero to the recordings' [rad], where it was identified."""


def header(
    request: Request, units: str, account: Account = NOTHING_LOST, findings: Sequence[Finding] = ()
) -> list[str]:
    """Lines for the top of a file.

    Args:
        request: for which target and version, with its findings and notes.
        units: of the file's numbers, with the side of the gear.
        account: what was lost at what cost.
        findings: about the export, besides the request's.

    Returns:
        Who wrote it when, units, what was lost, findings, where the numbers came from.
    """
    version = "" if request.version == "any" else f" {request.version}"
    today, lossy = datetime.date.today().isoformat(), bool(account.dropped or account.approximated)
    lines = [f"Written by backemf {__version__} on {today} for {request.target}{version}.", f"Units: {units}"]
    lines += [f"Dropped: {effect}" for effect in account.dropped]
    lines += [f"Approximated: {effect}" for effect in account.approximated]
    lines += [f"Adjusted: {text}" for text in account.adjusted]
    lines += [] if lossy else ["Nothing was dropped or approximated."]
    lines += [f"Measured over: {account.range}"] if account.range and lossy else []
    lines += [f"Finding: {finding}" for finding in (*request.findings, *findings)]
    lines.append(NOT_RUN)
    return lines + [f"From: {note}" for note in request.notes]


def xml_comment(lines: Sequence[str]) -> str:
    """Lines as an XML comment; two hyphens in a row are not allowed inside one."""
    inside = "\n".join(f"  {line}" for line in lines)
    while "--" in inside:
        inside = inside.replace("--", "- -")
    return f"<!--\n{inside}\n-->\n"


def hash_comment(lines: Sequence[str]) -> str:
    """Lines as a comment of Python."""
    return "".join(f"# {line}\n" for line in lines)


def number(value: float) -> str:
    """Every digit, and no trailing '.0' where there is nothing behind the point."""
    text = repr(float(value))
    return text.removesuffix(".0")


@dataclass(frozen=True, kw_only=True, repr=False)
class Export(NotebookDisplay):
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
        return f'"{play_joint(self.joint)}"' in self.text

    def with_replay(self, replayed: Replay) -> Export:
        """The same after a run, its files as they are."""
        return replace(self, replayed=replayed, ran=replayed.sentence())

    def overview(self) -> Overview:
        """What is lost, a row for each effect, as a notebook shows it."""
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

    def losses(self) -> list[str]:
        """What is lost, a line for each effect."""
        kinds = (("dropped", self.dropped), ("approximated", self.approximated))
        return [f"{title}: {effect}" for title, effects in kinds for effect in effects]

    def __str__(self) -> str:
        lines = [f"{self.target}@{self.version}, joint {self.joint!r}: {', '.join(self.files)}"]
        lines += [f"  {line}" for line in self.losses()]
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
        path, names = check_ending(Path(path)), [*self.files]
        if path.is_dir():  # "left/knee" names a joint, not a folder
            new = {name: path / name.replace("/", "_").lstrip(".") for name in names}
        else:
            main = next((name for name in names if Path(name).suffix == path.suffix), names[0])
            own = main.removesuffix(Path(main).suffix)
            beside = {n: path.stem + n.removeprefix(own) if n.startswith(own) else n for n in names}
            new = {n: path if n == main else path.with_name(beside[n]) for n in names}
        return {new[name]: _rename_files(content, new) for name, content in self.files.items()}


BINARY = (".usdc", ".usdz")
"""Endings of files that text cannot be."""


def check_ending(path: Path) -> Path:
    """Refuse a name that would say that text is binary."""
    if path.suffix.lower() in BINARY:
        raise InvalidValue(
            f"{path.name} would be binary, and layers are written as text; expected another ending: -o"
            f" {path.stem}.usda (usdcat of usd-core turns it into {path.suffix.lower()})"
        )
    return path


def _rename_files(content: str | bytes, new: Mapping[str, Path]) -> str | bytes:
    if isinstance(content, str):
        for name, path in new.items():
            for named in (('"', '"'), ("@./", "@")) if len(new) > 1 else ():
                content = content.replace(name.join(named), path.name.join(named))
    return content


def complete(
    request: Request,
    actuator: Actuator,
    account: Account = NOTHING_LOST,
    *,
    files: Mapping[str, str | bytes],
    carried: Actuator | None = None,
    numbers: Mapping[str, float] | None = None,
    ctrl: Mapping[str, float] | None = None,
    findings: Sequence[Finding] = (),
    notes: Sequence[str] = (),
) -> Export:
    """The export that a request asked for.

    Args:
        request: whose target, joint, time step and motions the export keeps.
        actuator: what was to be carried.
        account: what was lost at what cost.
        files: name -> text, or bytes; the first is the main one.
        carried: what the target simulates; the whole actuator unless given.
        numbers: the target's, by its own names; the actuator's parameters by path unless given.
        ctrl: factor from each of the drive's targets to the file's inputs; 1 unless given.
        findings: besides the request's.
        notes: where the numbers came from, besides the request's.

    Returns:
        The export, not yet run.
    """
    kept = ("target", "version", "joint", "timestep", "integrator", "amplitude", "load")
    return Export(
        **{name: getattr(request, name) for name in kept},
        **account._asdict(),
        files=files,
        actuator=actuator,
        carried=actuator if carried is None else carried,
        numbers=dict(actuator.parameters) if numbers is None else numbers,
        ctrl={name: 1.0 for name in actuator.drive.targets} if ctrl is None else ctrl,
        findings=(*request.findings, *findings),
        notes=(*request.notes, *notes),
    )


def request_of(export: Export) -> Request:
    """What an export was asked for, so far as it still says."""
    asked = (export.target, export.version, export.joint, export.notes, "simulation")
    over = (export.amplitude, export.load, export.has_play_joint)
    return Request(*asked, export.timestep, export.integrator, *over)


DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file in an archive: the earliest that the format can say."""
TEXTS = (".xml", ".c", ".h", ".html")
PROGRAMS = (".so", ".dll", ".dylib")
ESCAPED = (".html",)
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading somebody's archive may raise."""


def as_bytes(content: str | bytes) -> bytes:
    """A file's content as it is stored: text in UTF-8."""
    return content.encode("utf-8") if isinstance(content, str) else content


def pack_files(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of these files, in this order."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3  # as written on POSIX
            mode = 0o755 if PurePosixPath(name).suffix in PROGRAMS else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, as_bytes(content))
    return into.getvalue()


def unpack_files(content: bytes) -> dict[str, bytes]:
    """The files of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def replace_text(content: bytes, old: str, new: str) -> bytes:
    """One text for another, once in each text inside an archive.

    Args:
        content: the archive.
        old: what stands there.
        new: what takes its place; escaped where the text is HTML.

    Returns:
        The archive anew.
    """
    files: dict[str, str | bytes] = {}
    for name, inside in unpack_files(content).items():
        ending = PurePosixPath(name).suffix
        text = html.escape(new, quote=False) if ending in ESCAPED else new
        files[name] = inside.replace(old.encode(), text.encode(), 1) if ending in TEXTS else inside
    return pack_files(files)
