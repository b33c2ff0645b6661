"""An actuator as a block diagram: from the command to the joint, with its numbers (MuJoCo's DC-motor note,
figure 7)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....figure import Arrow, Box, Diagram, Panel
from ....physics.actuator import Actuator, linear_unit
from ....physics.quantity import TARGET_UNITS, quantities
from ....physics.steady import armature
from ....tables import number

MARGIN, GAP, BOX = 0.15, 0.62, 1.95
"""Of the sheet's edge, between boxes, and of a box [inches]."""
LINE, HEAD, BACK = 0.155, 0.42, 0.6
"""Height of a line of text, of a title with its edges, and of the room between the rows."""
MOST_LINES = 12
COMMAND = ("command_low", "command_high", "slew", "delay")
LIMIT = ("supply", "duty_limit", "voltage_limit")
CONTROL, PLANT, LIMITS, JOINT = 0, 1, 3, 2
"""Colours."""


class _Stage(NamedTuple):
    title: str
    lines: Sequence[str]
    color: int
    out: str
    """What it hands on."""


def pipeline(actuator: Actuator, title: str = "") -> Panel:
    """Two rows of boxes: what the drive makes of a command, and what the motor makes of a voltage."""
    upper, lower, heat = _control(actuator), _plant(actuator), _heat(actuator)
    tall = [max(map(_height, row)) for row in (upper, lower)]
    below = 0.0 if heat is None else _height(heat) + 0.7 * BACK
    height = sum(tall) + below + BACK + 2 * MARGIN
    width = 2 * MARGIN + max(map(len, (upper, lower))) * (BOX + GAP) - GAP
    first = _row(upper, height - MARGIN - tall[0] / 2)
    last = _row(lower, MARGIN + below + tall[1] / 2)
    edge = MARGIN + below + tall[1]
    down = _around(first[-1], last[0], edge + 0.68 * BACK, 0.0)
    arrows = [*_arrows_between(upper, first), *_arrows_between(lower, last), Arrow(path=down, label="v")]
    if actuator.drive.loop is not None:
        back = _around(last[-1], first[1], edge + 0.26 * BACK, 0.25 * BOX)
        arrows.append(Arrow(path=back, label=_sensor_words(actuator)))
    blocks = [*first, *last]
    if heat is not None:
        (warm,), motor = _row([heat], MARGIN + _height(heat) / 2), last[0]
        ends = warm.y + warm.height / 2, motor.y - motor.height / 2
        blocks.append(warm)
        for aside, (start, end) in ((-0.25, ends[::-1]), (0.25, ends)):
            x = warm.x + aside * BOX
            arrows.append(Arrow(path=[(x, start), (x, end)]))
    diagram = Diagram(width=width, height=height, blocks=blocks, arrows=arrows)
    return Panel(x_label="", y_label="", title=title, diagram=diagram)


def _height(stage: _Stage) -> float:
    return HEAD + LINE * len(stage.lines)


def _row(stages: Sequence[_Stage], y: float) -> list[Box]:
    return [
        Box(
            x=MARGIN + BOX / 2 + k * (BOX + GAP),
            y=y,
            width=BOX,
            height=_height(s),
            title=s.title,
            lines=s.lines,
            color=s.color,
        )
        for k, s in enumerate(stages)
    ]


def _arrows_between(stages: Sequence[_Stage], blocks: Sequence[Box]) -> list[Arrow]:
    """From box to box of a row."""
    return [
        Arrow(path=[(a.x + BOX / 2, a.y), (b.x - BOX / 2, b.y)], label=s.out)
        for s, (a, b) in zip(stages, itertools.pairwise(blocks), strict=False)
    ]


def _around(a: Box, b: Box, y: float, aside: float) -> list[tuple[float, float]]:
    """A way between the rows, at a height; it ends `aside` of the middle of the other box."""
    up = 1.0 if b.y > a.y else -1.0
    start, end = (a.x, a.y + up * a.height / 2), (b.x + aside, b.y - up * b.height / 2)
    return [start, (start[0], y), (end[0], y), end]


def _lines(actuator: Actuator, wanted: Callable[[str], bool]) -> list[str]:
    """Every number whose path is wanted, as symbol = value unit."""
    made = []
    for path, field, value in quantities(actuator):
        if wanted(path) and value != 0:
            unit = "" if actuator.unit(path) == "1" else f" {actuator.unit(path)}"
            made.append(f"{field.metadata['symbol']} = {number(float(value), 3)}{unit}")
    return (
        made
        if len(made) <= MOST_LINES
        else [*made[: MOST_LINES - 1], f"and {len(made) - MOST_LINES + 1} more"]
    )


def _command_unit(actuator: Actuator) -> str:
    unit = TARGET_UNITS.get(actuator.drive.followed, "command")
    return unit if actuator.motion == "rotary" else linear_unit(unit)


def _is_among(path: str, owner: str, names: Sequence[str]) -> bool:
    head, _, tail = path.rpartition(".")
    return head == owner and tail in names


def _control(actuator: Actuator) -> list[_Stage]:
    drive = actuator.drive
    asked = drive.followed.replace("_target", "")
    command = _lines(actuator, lambda p: _is_among(p, "drive", COMMAND))
    law = _lines(
        actuator, lambda p: p.startswith("drive.") and not _is_among(p, "drive", (*COMMAND, *LIMIT, "period"))
    )
    limit = _lines(actuator, lambda p: _is_among(p, "drive", LIMIT))
    stages = [_Stage("command u", [f"{asked or 'none'} [{_command_unit(actuator)}]", *command], CONTROL, "u")]
    sampled = [] if drive.period is None else [f"every {number(1e3 * drive.period, 3)} ms, then held"]
    words = [*_wrap_equation(drive.equation), *sampled, *law]
    stages.append(_Stage(f"law: {drive.kind}", words, CONTROL, "asked"))
    if limit:
        stages.append(_Stage("voltage limit", limit, LIMITS, "v"))
    return stages


def _plant(actuator: Actuator) -> list[_Stage]:
    motor = (
        ["v = L di/dt + R i + K_e w_r", "tau = K_t i"]
        if actuator.motor.inductance
        else ["i = (v - K_e w_r) / R", "tau = K_t i"]
    )
    own = _lines(actuator, lambda p: p.startswith("motor.") and p.count(".") == 1)
    stages = [_Stage("motor", [*motor, *own], PLANT, "tau")]
    limits = _lines(actuator, lambda p: p.startswith("motor.limits."))
    if limits:
        stages.append(_Stage("limits of the motor", limits, LIMITS, "tau"))
    cogging = _lines(actuator, lambda p: p.startswith("motor.cogging."))
    if cogging:
        stages.append(_Stage("cogging", ["tau + A sin(N_p q_r + phi)", *cogging], PLANT, "tau"))
    gears = _lines(actuator, lambda p: p.startswith("gearbox."))
    n = actuator.gearbox.n_motors
    if n > 1:
        gears.insert(0, f"n = {n} motors")
    stages.append(_Stage("gears", gears, PLANT, "n N tau"))
    friction = _lines(actuator, lambda p: p.startswith("friction."))
    stages.append(_Stage(f"friction: {actuator.friction.name}", friction, JOINT, "torque"))
    unit = "kg m^2" if actuator.motion == "rotary" else "kg"
    joint = ["J dw/dt = torque + load", "dq/dt = w", f"rotors: {number(armature(actuator), 3)} {unit}"]
    return [*stages, _Stage("joint", joint, JOINT, "")]


def _heat(actuator: Actuator) -> _Stage | None:
    """What warms the winding, and what that changes."""
    if actuator.motor.thermal is None:
        return None
    lines = _lines(actuator, lambda p: p.startswith("motor.thermal."))
    return _Stage("heat: R i^2 to R(T)", lines, LIMITS, "")


def _sensor_words(actuator: Actuator) -> str:
    drive = actuator.drive
    seen = ["q"] if drive.error_of == "position" else []
    seen += ["w"] if drive.needs_velocity else []
    return f"{', '.join(seen)} measured at the {drive.sensor}"


def _wrap_equation(text: str) -> list[str]:
    """An equation on lines that a box holds, broken before its signs."""
    lines = [""]
    for term in re.split(r"(?= [+-] [A-Za-z])", text):
        if lines[-1] and len(lines[-1] + term) > 28:
            lines.append(f"  {term.strip()}")
        else:
            lines[-1] += term
    return lines if text else []
