"""A header and a source file of C around an actuator's traced step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...engine.hosted import Attached, attached
from ...physics.actuator import Actuator
from .names import array, comment, enumeration, identifier, macro
from .text import ARRIVE, HEADER, SOURCE

ROOM = 8
"""Commands that the line holds at least: whoever changes the step or the delay a little need not define
another length."""


class Framed(NamedTuple):
    """The two files, and the names of what they hold in the order of their arrays."""

    name: str
    header: str
    source: str
    real: str
    system: Attached
    signals: tuple[str, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        return self.system.inputs[2:]

    @property
    def files(self) -> dict[str, str]:
        return {f"{self.name}.c": self.source, f"{self.name}.h": self.header}


def framed(actuator: Actuator, joint: str, top: Sequence[str], *, real: str, line: int) -> Framed:
    """An actuator as C; `top` are the lines of the files' header, `line` how many commands may wait."""
    from ...engine.compile.compiled import lowered_attached, lowered_signals
    from ...engine.compile.dialects import c

    system, name = attached(actuator), identifier(joint)
    lowered, shown = lowered_attached(system), lowered_signals(system)
    targets, drive = system.inputs[2:], actuator.drive
    late = drive.delay is not None and bool(targets)
    sizes, functions = c.declarations(name, lowered, real).split("\n\n", 1)
    signal_sizes, signal_functions = c.signal_declarations(name, shown, real).split("\n\n", 1)
    count = {row.split()[1]: max(int(row.split()[2]), 1) for row in f"{sizes}\n{signal_sizes}".splitlines()}
    upper = name.upper()
    words = {
        "name": name,
        "NAME": upper,
        "real": real,
        "zero": "0.0f" if real == "float" else "0.0",
        "asked": "".join(f", {real} {target}" for target in targets),
        "passed": "".join(f", {target}" for target in targets),
        "POSITION": macro(name, "s", "position"),
        "VELOCITY": macro(name, "s", "velocity"),
        "DELAY": macro(name, "p", "drive.delay"),
        "n_targets": len(targets),
        "n_kept": count[f"{upper}_KEPT"],
        "n_kept_load": count[f"{upper}_KEPT_LOAD"],
        "n_kept_signals": count[f"{upper}_KEPT_SIGNALS"],
    }
    paths = [*system.parameters]
    remarks = [actuator.unit(path) for path in paths]
    places = (
        enumeration([macro(name, "p", path) for path in paths], remarks)
        + enumeration([macro(name, "s", state) for state in system.states])
        + enumeration([macro(name, "o", signal) for signal in shown.names])
    )
    header = HEADER.format(
        top=comment(top),
        sizes=sizes + "\n",
        signal_sizes=signal_sizes + "\n",
        functions=functions.rstrip("\n"),
        signal_functions=signal_functions,
        places=places,
        line_size=_line_size(upper, line) if late else "",
        line_fields=_line_fields(upper, real) if late else "",
        **words,
    )
    given = f"    const {real} given[] = {{{', '.join(targets)}}};\n"
    plain = "".join(f"    a->u[{i}] = {target};\n" for i, target in enumerate(targets, 2))
    source = SOURCE.format(
        top=comment(top),
        file=name,
        numbers=array(
            [*system.parameters.values()], remarks=[f"{a} [{b}]" for a, b in zip(paths, remarks, strict=True)]
        ),
        starts=_starts(actuator, name, real),
        empty="    a->newest = 0;\n    a->n_line = 0;\n" if late else "",
        fits=_fits(upper, words["DELAY"]) if late else "",
        follows=_follows(actuator, name, real),
        unused="".join(f"    (void){target};\n" for target in targets),
        arrive=ARRIVE.format(**words) if late else "",
        given=given if late else "",
        arrives=f"    {name}_arrive(a, given, a->u + 2);\n" if late else plain,
        step=c.emit(name, lowered, real),
        signals=c.emit_signals(name, shown, real),
        **words,
    )
    return Framed(name, header, source, real, system, shown.names)


def line_for(actuator: Actuator, timestep: float, room: int = 1) -> int:
    """Commands that are under way at once, with room for a shorter step or a longer delay."""
    delay = actuator.drive.delay
    return 0 if delay is None else max(room * math.ceil(delay / timestep) + 2, ROOM)


def _line_size(upper: str, line: int) -> str:
    return (
        f"/* Commands that may be under way at once: at least drive.delay / h + 2. */\n"
        f"#ifndef {upper}_LINE\n#define {upper}_LINE {line}\n#endif\n\n"
    )


def _line_fields(upper: str, real: str) -> str:
    return (
        f"    {real} line[{upper}_LINE][{upper}_TARGETS]; /* commands under way */\n"
        f"    {real} lasted[{upper}_LINE];  /* seconds for which each was asked */\n"
        "    int newest, n_line;\n"
    )


def _fits(upper: str, delay: str) -> str:
    return (
        f"    if (!(a->p[{delay}] / a->h + 2.0 <= (double){upper}_LINE * (1.0 + 1e-12))) {{\n"
        f"        return {upper}_LONG_DELAY;\n    }}\n"
    )


def _starts(actuator: Actuator, name: str, real: str) -> str:
    """States that do not start at 0: what is warm is as warm as its surroundings."""
    thermal = actuator.motor.thermal
    nodes = () if thermal is None else thermal.nodes
    ambient = macro(name, "p", "motor.thermal.ambient")
    return "".join(f"    a->s[{macro(name, 's', node)}] = ({real})a->p[{ambient}];\n" for node in nodes)


def _follows(actuator: Actuator, name: str, real: str) -> str:
    """States that start where the joint is, or at what is asked first."""
    drive, states, known = actuator.drive, actuator.states, actuator.parameters
    position, velocity = macro(name, "s", "position"), macro(name, "s", "velocity")
    begin = ["rotor_position", *(["setpoint"] if drive.error_of == "position" else [])]
    here = [state for state in begin if state in states]
    lines = [f"a->s[{macro(name, 's', state)}] = a->s[{position}];" for state in here]
    if "lagged_setpoint" in states:
        lagged = f"a->s[{macro(name, 's', 'lagged_setpoint')}]"
        if "setpoint" in states:
            lines.append(f"{lagged} = a->s[{macro(name, 's', 'setpoint')}];")
        elif drive.target:
            lines.append(f"{lagged} = {drive.target};")
            for path, sign in (("drive.command_low", "<"), ("drive.command_high", ">")):
                if path in known:
                    limit = f"({real})a->p[{macro(name, 'p', path)}]"
                    lines.append(f"{lagged} = {lagged} {sign} {limit} ? {limit} : {lagged};")
    if drive.period is not None:
        period = macro(name, "p", "drive.period")
        for state, travel in drive.memory_at_start(1.0).items():
            if travel:  # it has moved steadily so far
                time = f"({real}){round(travel / drive.period)} * ({real})a->p[{period}]"
                lines.append(f"a->s[{macro(name, 's', state)}] = a->s[{velocity}] * {time};")
    return "".join(f"    {line}\n" for line in lines)
