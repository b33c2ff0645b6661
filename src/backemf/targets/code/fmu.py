"""A co-simulation FMU, version 2.0 or 3.0 of the standard: the C export, a description of its variables, and
a binary for this machine.

A communication step is cut into equal inner steps, none longer than the parameter `step`. What a simulation
changes stands in one struct without pointers, so a state is saved by copying it.
"""

from __future__ import annotations

import hashlib
import html
import platform
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ...engine.hosted_system import LONG_DELAY
from ...errors import InvalidValue, NotAvailable
from ...findings import Finding
from ...physics.actuator import Actuator
from ..reference_motions import SimulationCase, check_enabled, run_alone
from ..result import BROKEN, UNITS, Export, Request, complete, header, pack_files, unpack_files
from ..spec import whole_rows
from . import c_language as cc
from .c import ActuatorFrame, adjustment as adjustment, findings_of, frame_actuator, line_for
from .c_language import comment, literal, macro, quote
from .fmi import Variable, build_description, description, functions, ordered_pairs, variables

OWN_STEP = True
"""It takes the engine's own steps."""
rows = whole_rows(
    ("every parameter of the actuator", "parameters, by path", "tunable, with unit, range and every digit"),
    ("the drive's targets", "inputs position_target, ...", "held over a communication step"),
    ("the bench's load", "input load", "every other torque on the joint"),
    ("the bench's inertia", "parameter inertia", "without the rotor's share, which the FMU adds"),
    ("the engine's time step", "parameter step", "the longest inner step"),
    ("where it starts", "parameters start.position, start.velocity", "at rest and cold otherwise"),
    ("position, velocity", "outputs position, velocity", "of the joint"),
    ("torque on the joint", "output effort", "mean over the last inner step, friction included"),
    ("voltage, current, torque, temperature", "outputs of these names", "at the end of a communication step"),
    ("drive.delay", "a line of commands", "mixed where a command arrives inside a step"),
    ("every state", "fmi2GetFMUstate, fmi3GetFMUState", "saved, restored and serialised to the bit"),
    ("how sure a fit is", "not carried", "the torch file draws from it"),
)
"""Ours -> theirs, for the documentation page."""
LEAST_LINE = 1024
"""Commands that an FMU's line holds at least: its user chooses the steps."""
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def platform_of(version: str) -> str:
    """The folder of this machine's binary in an FMU."""
    system = platform.system()
    if version == "2.0":
        return {"Windows": "win64", "Darwin": "darwin64"}.get(system, "linux64")
    machine = platform.machine().lower()
    return f"{MACHINES.get(machine, machine)}-{system.lower()}"


def write(actuator: Actuator, request: Request) -> Export:
    findings, binary = findings_of(actuator), None
    frame = _frame_actuator(actuator, request, ())
    rows = variables(actuator, request, frame)
    token = _token(request, [frame.header, frame.source, repr(rows)])
    bare = {**frame.files, "fmu.c": _interface(actuator, request, frame, rows, token, ())}
    try:
        binary = _build(bare)
    except NotAvailable as error:
        text = f"The FMU holds no binary, only sources: {error}."
        remedy = "export again with a compiler, or let the tool that imports it compile the sources"
        findings.append(Finding(code="no_binary", text=text, remedy=remedy))
    top = header(request, UNITS, findings=findings)
    named = _frame_actuator(actuator, request, top)
    sources = {**named.files, "fmu.c": _interface(actuator, request, named, rows, token, top)}
    compiled = [name for name in sources if name.endswith(".c")]
    about = f"{actuator.drive.kind} with {actuator.friction.kind}, {actuator.motion}"
    files: dict[str, str | bytes] = {
        "modelDescription.xml": description(
            request, rows, identifier=named.name, token=token, about=about, sources=compiled, top=top
        )
    }
    if binary is not None:
        files[f"binaries/{platform_of(request.version)}/{named.name}{cc.ending()}"] = binary
    files |= {f"sources/{name}": text for name, text in sources.items()}
    if request.version != "2.0":
        files["sources/buildDescription.xml"] = build_description(named.name, compiled)
    files["documentation/index.html"] = _page(request, top, rows)
    return complete(request, actuator, files={f"{named.name}.fmu": pack_files(files)}, findings=findings)


def _frame_actuator(actuator: Actuator, request: Request, top: Sequence[str]) -> ActuatorFrame:
    line = max(line_for(actuator, request.timestep, 4), LEAST_LINE)
    return frame_actuator(actuator, request.joint, top, real="double", line=line)


def _token(request: Request, texts: Sequence[str]) -> str:
    """The same for the same model: it ties the description to the binary."""
    digest = hashlib.sha256("\0".join([request.version, request.joint, *texts]).encode()).digest()
    return f"{{{uuid.UUID(bytes=digest[:16], version=4)}}}"


def _interface(
    actuator: Actuator,
    request: Request,
    frame: ActuatorFrame,
    rows: Sequence[Variable],
    token: str,
    top: Sequence[str],
) -> str:
    """fmu.c: the standard's functions around the actuator's."""
    pairs = ordered_pairs(actuator)
    own = {row.name: row.start for row in rows[1:5]}
    words = {
        "top": comment(top),
        "name": frame.name,
        "long_delay": quote(LONG_DELAY),
        "DELAY": macro(frame.name, "p", "drive.delay"),
        "NAME": frame.name.upper(),
        "token": quote(token),
        "n_inputs": str(1 + len(frame.targets)),
        "n_outputs": str(3 + len(frame.signals)),
        "n_variables": str(len(rows)),
        "variables": "\n".join(row.row for row in rows),
        "n_ordered": str(len(pairs)),
        "ordered": ", ".join(f"{{{low}, {high}}}" for low, high in pairs or [(0, 0)]),
        "own": ", ".join(literal(value) for value in own.values()),
        "targets": "".join(f", now->input[{k}]" for k in range(1, 1 + len(frame.targets))),
    }
    return functions(request.version, **words)


def _build(sources: Mapping[str, str]) -> bytes:
    with cc.laid_out(sources) as folder:
        names = [name for name in sources if name.endswith(".c")]
        strip = () if platform.system() == "Darwin" else ("-s",)
        return cc.build(folder, names, f"fmu{cc.ending()}", *strip).read_bytes()


def _page(request: Request, top: Sequence[str], rows: Sequence[Variable]) -> str:
    """The FMU's own documentation: the header, and its variables."""
    said = html.escape("\n".join(top), quote=False)
    cells = "".join(
        "<tr>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in (r.name, r.kind, r.unit, r.about))
        + "</tr>\n"
        for r in rows
    )
    title = html.escape(request.joint)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n<h1>{title}</h1>\n<pre>\n{said}\n</pre>\n"
        f"<table>\n<tr><th>variable</th><th>kind</th><th>unit</th><th>what it is</th></tr>\n{cells}</table>\n"
        "</body>\n</html>\n"
    )


def _fmpy() -> Any:
    try:
        import fmpy
    except ImportError:
        raise NotAvailable("FMPy is not installed; install it with: pip install 'backemf[fmu]'") from None
    return fmpy


def simulator() -> str:
    """FMPy and its version."""
    return f"FMPy {_fmpy().__version__}"


def run_all(
    files: Mapping[str, str | bytes],
    joint: str,
    cases: Sequence[SimulationCase],
    adjust: Mapping[str, float] | None = None,
) -> list[np.ndarray]:
    """Several cases, one after the other, each after a reset of one instance."""
    check_enabled(cases, "an FMU")
    name, content = next(iter(files.items()))
    if not isinstance(content, bytes):
        raise InvalidValue(f"{name} is a text; expected an FMU")
    _fmpy()
    with cc.laid_out(_check_content(name, content)) as folder, open_fmu(folder, name) as fmu:
        return [case.check(simulator(), fmu.run_case(case, adjust or {})) for case in cases]


run = run_alone(run_all)
"""Positions [rad or m] at a case's moments when FMPy runs the FMU itself, with other parameters where some
are given."""


def _check_content(name: str, content: bytes) -> dict[str, bytes]:
    try:
        inside = unpack_files(content)
    except BROKEN as error:
        raise InvalidValue(f"{name} is no FMU: {error}") from None
    for part in map(PurePosixPath, inside):
        if part.is_absolute() or ".." in part.parts:
            raise InvalidValue(f"{name} is no FMU: its file {str(part)!r} would lie outside of it")
    if "modelDescription.xml" not in inside:
        raise InvalidValue(f"{name} is no FMU: it holds no modelDescription.xml")
    if not any(part.startswith("binaries/") for part in inside):
        raise NotAvailable(f"{name} holds no binary for this machine, only sources")
    return inside


class Running:
    """One instance of an FMU, by the names of its variables."""

    def __init__(self, folder: Path, name: str):
        import fmpy

        self.said: list[str] = []
        """What the FMU logged."""
        self.model: Any = fmpy.read_model_description(str(folder))
        self.two = self.model.fmiVersion == "2.0"
        self.references = {v.name: v.valueReference for v in self.model.modelVariables}
        self.inputs = [v.name for v in self.model.modelVariables if v.causality == "input"]
        self.fmu = self._instantiate(
            guid=self.model.guid,
            unzipDirectory=str(folder),
            modelIdentifier=self.model.coSimulation.modelIdentifier,
            instanceName=name,
        )

    def _instantiate(self, **about: str) -> Any:
        from fmpy import fmi2, fmi3

        def log(*words: Any) -> None:
            self.said.append(words[-1].decode())  # whatever else a version logs, the message is the last

        self.logger: Any = fmi2.fmi2CallbackLoggerTYPE(log) if self.two else log  # kept while the FMU lives
        if not self.two:
            three = fmi3.FMU3Slave(**about)
            three.instantiate(logMessage=self.logger)
            return three
        two, memory = fmi2.FMU2Slave(**about), fmi2.defaultCallbacks
        self.callbacks = fmi2.fmi2CallbackFunctions(
            logger=self.logger, allocateMemory=memory.allocateMemory, freeMemory=memory.freeMemory
        )
        two.instantiate(callbacks=self.callbacks)
        return two

    def set(self, values: Mapping[str, float]) -> None:
        """Values by the variables' names."""
        at = [self.references[name] for name in values]
        (self.fmu.setReal if self.two else self.fmu.setFloat64)(at, [*values.values()])

    def get(self, *names: str) -> list[float]:
        """The variables' values now."""
        at = [self.references[name] for name in names]
        return [*(self.fmu.getReal if self.two else self.fmu.getFloat64)(at)]

    def begin(self, values: Mapping[str, float]) -> None:
        """Set values and pass through initialization."""
        start: dict[str, Any] = {"startTime": 0.0}
        if self.two:
            self.fmu.setupExperiment(**start)
        self.set(values)
        self.fmu.enterInitializationMode(**({} if self.two else start))
        self.fmu.exitInitializationMode()

    def step(self, time: float, length: float) -> None:
        """A communication step, from a time on [s]."""
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=length)

    def run_case(self, case: SimulationCase, adjust: Mapping[str, float]) -> np.ndarray:
        """Positions of a case, from a reset on."""
        h, sent = case.timestep, case.mean_inputs
        positions, q, w = np.empty(len(case.moments)), case.position, case.velocity
        self.fmu.reset()
        try:
            own = {"step": h, "inertia": case.inertia, "start.position": q, "start.velocity": w}
            self.begin({**own, **adjust})
            for k in range(len(positions)):
                positions[k] = q
                asked = dict(zip(case.ctrl, sent[k].tolist(), strict=True))
                self.set({"load": case.load(k, q, w), **asked})
                self.step(k * h, h)
                q, w = self.get("position", "velocity")
        except Exception as error:  # FMPy's own, with the status alone; the FMU itself has said why
            why = self.said[-1] if self.said else str(error)
            raise InvalidValue(f"the FMU refuses to go on: {why}") from None
        return positions


@contextmanager
def open_fmu(folder: Path, name: str) -> Iterator[Running]:
    """An FMU, loaded until the end."""
    try:
        running = Running(folder, name)
    except Exception as error:  # a broken description or library fails in any way
        raise InvalidValue(f"{name} cannot be loaded: {type(error).__name__}: {error}") from None
    try:
        yield running
    finally:
        running.fmu.freeInstance()
