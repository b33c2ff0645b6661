"""C99: one header and one source file without allocation, for firmware and real-time loops.

The step is the engine's own, traced and written as C (`engine/compile/dialects/c_dialect.py`). `NAME_torque`
gives the torque on a joint that somebody else moves, `NAME_step` moves a joint of its own; a struct holds
parameters, states and the commands under way. `c@float` computes in 32 bits and carries what additions round
away.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...engine.hosted_system import HostedSystem, check_delay, hosted_system
from ...errors import InvalidValue
from ...findings import Finding
from ...physics.actuator import Actuator
from ..reference_motions import SimulationCase, check_enabled, run_alone
from ..result import UNITS as UNITS, Export, Request, complete, header
from ..spec import whole_rows
from ..template import fill
from . import c_language as cc
from .c_language import array, comment, enumeration, identifier, literal, macro

OWN_STEP = True
"""It takes the engine's own steps."""
rows = whole_rows(
    ("every parameter of the actuator", "`p[KNEE_P_...]`", "by path, in double, with every digit"),
    ("the engine's time step", "knee_prepare, knee_advance", "traced, so the physics is the engine's"),
    ("every state", "`s[KNEE_S_...]`", "by name; position and velocity are yours in knee_torque"),
    ("voltage, current, torque, temperature", "knee_observe, `KNEE_O_...`", "of the last step's commands"),
    ("n N^2 motor.rotor_inertia", "knee_armature", "your joint must have it; 0 with backlash"),
    ("drive.delay", "a line of KNEE_LINE commands", "mixed where a command arrives inside a step"),
    (
        "drive.period",
        "states held_effort, until_sample, travel_...",
        "looks once a step where that is longer",
    ),
    ("drive.derivative_filter", "state lagged_setpoint", "starts at the first target"),
    ("how sure a fit is", "not carried", "the torch file draws from it"),
)
"""Ours -> theirs, for the documentation page; of a joint named knee."""


def simulator() -> str:
    """The compiler and its version; the file moves a joint of its own."""
    return f"C built by {cc.compiler()}"


def adjustment(export: Export, other: Mapping[str, float]) -> dict[str, float]:
    """A recording's own settings: the parameters have them."""
    return dict(other)


def run_all(
    files: Mapping[str, str],
    joint: str,
    cases: Sequence[SimulationCase],
    adjust: Mapping[str, float] | None = None,
) -> list[np.ndarray]:
    """Several cases, one after the other, of one build."""
    check_enabled(cases, "a C file")
    source = next((name for name in files if name.endswith(".c")), None)
    if source is None or f"{source[:-2]}.h" not in files:
        raise InvalidValue(f"{', '.join(files)}: expected a source file NAME.c and its header NAME.h")
    name, real = _file_names(files[source])
    targets = [*cases[0].ctrl]
    driver = fill(
        "driver.c",
        name=name,
        file=source[:-2],
        real=real,
        adjusted=" ".join(f"a->p[{macro(name, 'p', k)}] = {literal(v)};" for k, v in (adjust or {}).items()),
        asked="".join(f", ({real})asked[{i}]" for i in range(len(targets))),
        POSITION=macro(name, "s", "position"),
        VELOCITY=macro(name, "s", "velocity"),
        NAME=name.upper(),
        DELAY=macro(name, "p", "drive.delay"),
    )
    with cc.laid_out({**files, "driver.c": driver}) as folder:
        path = cc.build(folder, [source, "driver.c"], f"driver{cc.ending()}")
        library: Any = ctypes.CDLL(str(path))
        return [case.check(simulator(), _run_case(library, case)) for case in cases]


run = run_alone(run_all)
"""Positions [rad or m] at a case's moments when the files themselves are compiled and run, with other
parameters where some are given."""


def _file_names(text: str) -> tuple[str, str]:
    """The beginning of a file's names, and the type of its numbers."""
    found = re.search(r"^int (\w+)_init\(\w+ \*a, double h, (double|float) position\)", text, re.MULTILINE)
    if found is None:
        raise InvalidValue("the C file has no NAME_init; expected a file of `backemf export --to c`")
    return found[1], found[2]


def _run_case(library: Any, case: SimulationCase) -> np.ndarray:
    real, pointer = ctypes.c_double, ctypes.c_void_p
    library.driver_made.restype, library.driver_made.argtypes = pointer, [real] * 3 + [pointer]
    library.driver_freed.argtypes = [pointer]
    library.driver_moved.argtypes = [pointer, real, real, pointer, pointer]
    line = np.zeros(2)
    one = library.driver_made(case.timestep, case.position, case.velocity, line.ctypes.data)
    if not one:
        remedy = "an export for this --timestep"
        check_delay(line[0], int(line[1]), case.timestep, remedy, lead=1.0)  # one more where steps differ
        raise InvalidValue(f"the C file takes no step of {1e3 * case.timestep:g} ms; expected a time above 0")
    sent = np.ascontiguousarray(case.mean_inputs)
    positions, after = np.empty(len(case.moments)), np.array([case.position, case.velocity])
    try:
        for k in range(len(positions)):
            positions[k] = after[0]
            load = case.load(k, float(after[0]), float(after[1]))
            row = sent[k].ctypes.data if sent.size else None
            library.driver_moved(one, case.inertia, load, row, after.ctypes.data)
    finally:
        library.driver_freed(one)
    return positions


def write(actuator: Actuator, request: Request) -> Export:
    findings, name = findings_of(actuator), identifier(request.joint)
    targets = "".join(f", {target}" for target in actuator.drive.targets)
    top = [
        *header(request, UNITS, findings=findings),
        "",
        f"Use: {name}_actuator a; {name}_init(&a, {request.timestep:g}, position); and then once a step",
        f"     torque = {name}_torque(&a, position, velocity, inertia{targets});",
        f"Compile {name}.c as C99 with the mathematical library (-lm); with -ffp-contract=off it computes",
        "     what backemf computes, to the last digits.",
    ]
    line = line_for(actuator, request.timestep, 2)
    frame = frame_actuator(actuator, request.joint, top, real=request.version, line=line)
    return complete(request, actuator, files=frame.files, findings=findings)


def findings_of(actuator: Actuator) -> list[Finding]:
    """What whoever uses the files must know."""
    if actuator.motor.rotor_inertia != 0:
        return []
    text = "motor.rotor_inertia is 0, so the joint's own inertia is all there is."
    remedy = "give motor.rotor_inertia, or an inertia above 0 for the joint"
    return [Finding(code="no_rotor_inertia", text=text, remedy=remedy)]


ROOM = 8
"""Commands that the line holds at least: whoever changes the step or the delay a little need not define
another length."""


class ActuatorFrame(NamedTuple):
    """The two files, and the names of what they hold in the order of their arrays."""

    name: str
    header: str
    source: str
    real: str
    system: HostedSystem
    signals: tuple[str, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        return self.system.inputs[2:]

    @property
    def files(self) -> dict[str, str]:
        return {f"{self.name}.c": self.source, f"{self.name}.h": self.header}


def frame_actuator(
    actuator: Actuator, joint: str, top: Sequence[str], *, real: str, line: int
) -> ActuatorFrame:
    """An actuator as C.

    Args:
        actuator: what is written.
        joint: whose name begins every name in C.
        top: lines of the files' header.
        real: type of the numbers in a step: "double" or "float".
        line: how many commands may be under way; of no use without a delay.

    Returns:
        The two files, and what they hold.
    """
    from ...engine.compile.compiler import lowered_hosted, lowered_signals
    from ...engine.compile.dialects import c_dialect

    system, name = hosted_system(actuator), identifier(joint)
    lowered, shown = lowered_hosted(system), lowered_signals(system)
    targets, late = system.targets, bool(lowered.lag)
    sizes, functions = c_dialect.declarations(name, lowered, real).split("\n\n", 1)
    signal_sizes, signal_functions = c_dialect.signal_declarations(name, shown, real).split("\n\n", 1)
    rows = [row.split() for row in f"{sizes}\n{signal_sizes}".splitlines()]
    count = {macro.removeprefix(f"{name.upper()}_").lower(): int(n) for _, macro, n in rows}
    paths = [*system.parameters]
    units = [actuator.unit(path) for path in paths]
    words = {"top": comment(top), "late": late, "line": line, **_words(name, real, targets)}
    places = (
        enumeration([macro(name, "p", path) for path in paths], units)
        + enumeration([macro(name, "s", state) for state in system.states])
        + enumeration([macro(name, "o", signal) for signal in shown.names])
    )
    header = fill(
        "actuator.h",
        places=places,
        sizes=sizes,
        signal_sizes=signal_sizes,
        functions=functions.rstrip("\n"),
        signal_functions=signal_functions,
        **{f"n_{what}": max(n, 1) for what, n in count.items()},
        **words,
    )
    plain = [f"    a->u[{i}] = {target};" for i, target in enumerate(targets, 2)]
    source = fill(
        "actuator.c",
        numbers=array(
            [*system.parameters.values()], remarks=[f"{a} [{b}]" for a, b in zip(paths, units, strict=True)]
        ),
        arrives=f"    {name}_arrive(a, given, a->u + 2);" if late else "\n".join(plain),
        step=c_dialect.emit(name, lowered, real),
        signals=c_dialect.emit_signals(name, shown, real),
        **words,
    )
    return ActuatorFrame(name, header, source, real, system, shown.names)


def _words(name: str, real: str, targets: Sequence[str]) -> dict[str, object]:
    """What stands at the places of both files."""
    zero = "0.0f" if real == "float" else "0.0"
    return {
        "name": name,
        "NAME": name.upper(),
        "real": real,
        "zero": zero,
        "asked": "".join(f", {real} {target}" for target in targets),
        "passed": "".join(f", {target}" for target in targets),
        "given": ", ".join(targets) or zero,
        "POSITION": macro(name, "s", "position"),
        "VELOCITY": macro(name, "s", "velocity"),
        "DELAY": macro(name, "p", "drive.delay"),
        "n_targets": len(targets),
    }


def line_for(actuator: Actuator, timestep: float, room: int = 1) -> int:
    """Commands that are under way at once, with room for a shorter step or a longer delay.

    Args:
        actuator: whose drive may have a delay.
        timestep: of the simulation [s].
        room: times the steps that the delay takes.

    Returns:
        Their number; 0 without a delay.
    """
    delay = actuator.drive.delay
    return 0 if delay is None else max(room * math.ceil(delay / timestep) + 2, ROOM)
