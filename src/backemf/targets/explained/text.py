"""An explained model for people: tables that fit the terminal, findings told once for all joints alike."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...tables import number
from .compare import OFF
from .findings import units

if TYPE_CHECKING:
    from ..explain import Explained

WIDTH = 80
LEGEND = (
    f"To write: what is off by more than a factor of {OFF:g}. From..to: the part's own number is not known,"
    " servos of its torque have that."
)


class Column(NamedTuple):
    """One column: two lines of head, and a cell for each row."""

    head: str
    unit: str
    cells: list[str]
    right: bool = True

    @property
    def width(self) -> int:
        return max(len(text) for text in (self.head, self.unit, *self.cells))

    def lines(self) -> list[str]:
        side = str.rjust if self.right else str.ljust
        rule = "-" * self.width
        head = [side(text, self.width) for text in (self.head, self.unit)]
        return [*head, rule, *(side(cell, self.width) for cell in self.cells)]


def laid_out(columns: Sequence[Column], width: int) -> str:
    """Columns side by side; those beyond the width go into another table below, with the first one again."""
    first, *others = columns
    blocks, now, used = [], [first], first.width
    for column in others:
        if len(now) > 1 and used + 2 + column.width > width:
            blocks.append(now)
            now, used = [first], first.width
        now.append(column)
        used += 2 + column.width
    texts = []
    for block in [*blocks, now]:
        lines = zip(*(column.lines() for column in block), strict=True)
        texts.append("\n".join(line for cells in lines if (line := "  ".join(cells).rstrip())))
    return "\n\n".join(texts)


def text(rows: list[Explained], width: int = WIDTH) -> str:
    """As a table for people, with the findings under it."""
    if not rows:
        return "the model has no actuators"
    kinds = [[r for r in rows if r.slides == slides] for slides in (False, True)]
    parts = [_table(some, width) for some in kinds if some]
    parts += [_bristles(some, width) for some in kinds]
    parts += _comparisons(rows, width)
    parts += [_told(rows, width)]
    return "\n\n".join(part for part in parts if part)


def _table(rows: list[Explained], width: int) -> str:
    slides = rows[0].slides
    torque, stiffness, _, inertia = units(slides)
    speed = "m/s" if slides else "rad/s"
    names = Column("actuator", "", [r.actuator for r in rows], right=False)
    joints = Column("joint", "", [r.joint for r in rows], right=False)
    kinds = Column("kind", "", [r.kind for r in rows], right=False)
    numbers = [
        ("stall", torque, [r.stall_torque for r in rows]),
        ("no-load", speed, [r.no_load_speed for r in rows]),
        ("stiffness", stiffness, [r.stiffness for r in rows]),
        ("inertia", inertia, [r.inertia for r in rows]),
        ("natural", "Hz", [r.natural_frequency for r in rows]),
        ("damping", "ratio", [r.damping_ratio for r in rows]),
    ]
    columns = [names, kinds, *([joints] if joints.cells != names.cells else [])]
    columns += [Column(head, unit, _cells(v)) for head, unit, v in numbers if any(x is not None for x in v)]
    return laid_out(columns, width)


def _bristles(rows: list[Explained], width: int) -> str:
    """Those that bend before they slip."""
    bent = [(r.actuator, r.bristle) for r in rows if r.bristle is not None]
    if not bent:
        return ""
    damping, step = units(rows[0].slides)[2], f"ms, {bent[0][1].integrator}"
    columns = [
        Column("bristle", "", [name for name, _ in bent], right=False),
        Column("natural", "Hz", _cells(b.natural_frequency for _, b in bent)),
        Column("damping", "ratio", _cells(b.damping_ratio for _, b in bent)),
        Column("sigma_1", damping, _cells(b.damping for _, b in bent)),
        Column("critical", damping, _cells(b.critical_damping for _, b in bent)),
        Column("passive below", damping, _cells(b.passive_limit for _, b in bent)),
        Column("stable below", step, _cells(b.largest_step and 1e3 * b.largest_step for _, b in bent)),
    ]
    return laid_out(columns, width)


def _cells(values: Iterable[float | None]) -> list[str]:
    return ["-" if value is None else number(value, 3) for value in values]


def _comparisons(rows: list[Explained], width: int) -> list[str]:
    """What the model has beside what its parts have, once for all joints with the same numbers."""
    groups: dict[Any, list[Explained]] = {}
    for r in rows:
        if r.compared:
            groups.setdefault((r.part, r.compared), []).append(r)
    made = []
    for (part, compared), some in groups.items():
        title = f"{', '.join(r.actuator for r in some)} beside {part}:"
        table = laid_out(
            [
                Column("", "", [c.attribute for c in compared], right=False),
                Column("", "unit", [c.unit for c in compared], right=False),
                Column("", "model", _cells(c.model for c in compared)),
                Column("", "part", [_known(c) for c in compared]),
                Column(
                    "model /", "part", ["-" if c.factor is None else number(c.factor, 2) for c in compared]
                ),
                Column("", "write", [c.should_be if c.is_off else "" for c in compared], right=False),
            ],
            width,
        )
        made.append("\n".join([_wrapped(title, width, ""), table]))
    if not made:
        return []
    made.append(_wrapped(LEGEND, width, ""))
    lines = commands(rows)
    if lines:
        title = "What writes it:" if len(lines) == 1 else "What writes it, one after the other:"
        made.append("\n".join([title, *(f"  {line}" for line in lines)]))
    return made


def commands(rows: Sequence[Any]) -> list[str]:
    """The commands of all actuators, those with the same part and target as one."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for r in rows:
        if r.command:
            words = shlex.split(r.command)
            groups.setdefault((words[2], words[words.index("--to") + 1]), []).append(r)
    lines = []
    for first, *others in groups.values():
        words = shlex.split(first.command)
        joints = [re.escape(r.joint) if others else r.joint for r in (first, *others)]
        words[words.index("--joint") + 1] = "|".join(joints)
        lines.append(shlex.join(words))
    return lines


def _known(compared: Any) -> str:
    """The part's number; where only servos alike have one, from the least to the largest."""
    if compared.range is None:
        return "-" if compared.part is None else number(compared.part, 3)
    low, high = (number(value, 2) for value in compared.range)
    return f"about {low}" if low == high else f"{low}..{high}"


def _told(rows: list[Explained], width: int) -> str:
    """Findings, each once with all the actuators that have it. What a comparison's table shows is not told
    again."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for r in rows:
        shown = {f"{c.attribute.replace(' ', '_')}_off" for c in r.compared}
        for f in r.findings:
            if f.code not in shown:
                plain = f.text.removeprefix(f"{r.actuator}: ")
                told.setdefault((f.code, plain, f.remedy), []).append(r.actuator)
    lines = []
    for (code, plain, remedy), names in told.items():
        who = ", ".join(names) if len(names) < len(rows) or len(rows) == 1 else f"all {len(rows)} actuators"
        lines += [_wrapped(f"- {code}: {who}: {plain}", width), _wrapped(f"  Remedy: {remedy}", width)]
    return "\n".join(lines)


def _wrapped(line: str, width: int, indent: str = "  ") -> str:
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
