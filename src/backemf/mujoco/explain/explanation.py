"""Any MJCF's actuators in physical terms: stall torque, no-load speed, stiffness, natural frequency,
damping, what looks wrong, and by how much each number is off from the part that drives it."""

from __future__ import annotations

import math
import re
import shlex
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ...bounds import outside
from ...errors import BackemfError, UnknownName
from ...findings import Finding
from ...physics import steady
from ...tables import number
from ..arrays import actuator_names, driven_joint, joint_inertia, kind_of, load_mujoco, without_log
from ..models import LoadedModel, load, mjx_findings, split_model
from . import actuator_findings as found, compare
from .actuator_findings import BristleAtRest as BristleAtRest, units
from .compare import OFF, ComparedPart as ComparedPart, PartComparison as PartComparison, Parts as Parts
from .servos import ActuatorLaw, PartKind, kind_alike, law_of


@dataclass(frozen=True, kw_only=True)
class ActuatorExplanation:
    """One actuator at the joint, at the initial pose (the first keyframe where there is one). None:
    the model does not say. On a slide: newtons, metres and kilograms."""

    actuator: str
    kind: str
    joint: str
    slides: bool = False
    """Whether the joint is a slide."""
    stall_torque: float | None = None
    """N m."""
    no_load_speed: float | None = None
    """rad/s."""
    stiffness: float | None = None
    """N m/rad."""
    damping: float | None = None
    """N m s/rad: actuator and joint together."""
    inertia: float | None = None
    """The joint's own entry of the mass matrix, armature included [kg m^2]: the other joints held."""
    armature: float | None = None
    friction: float | None = None
    """Dry [N m]."""
    natural_frequency: float | None = None
    """Hz."""
    damping_ratio: float | None = None
    bristle: BristleAtRest | None = None
    """Of a dcmotor with LuGre friction."""
    alike: str | None = None
    """The kind and size of the parts that it was measured by, and why; None: by none, or by its own part."""
    part: str | None = None
    """What it was compared with."""
    compared: tuple[PartComparison, ...] = ()
    """Each number beside the part's, the worst first."""
    command: str | None = None
    """What writes the part into the model, after the commands of the actuators before it."""
    findings: tuple[Finding, ...] = ()


@without_log()
def explain(
    path: str | Path, parts: Parts | None = None, *, allow_outside: bool = False
) -> list[ActuatorExplanation]:
    """A row for every actuator of an MJCF file; of "arm.xml#elbow" for that joint or actuator alone.

    Args:
        path: of the model.
        parts: what drives the joints: a part of the catalogue, an identified set, a file, or an Actuator, for
            all of them or by patterns of their names, as {"shoulder_.*": "sts3215-12v"}; each actuator is
            then compared with its own.
        allow_outside: let the model include files from outside its own folder.

    Returns:
        The rows, in the order of the model.
    """
    path, wanted = split_model(path)
    with outside(allow_outside):
        given, loaded, pairs = compare.parts_of(parts), load(path), _merged_constants(path)
    mujoco, model = load_mujoco(), loaded.model
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    flags = model.opt.disableflags
    model.opt.disableflags = flags | mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_forward(model, data)  # contacts say nothing of an actuator, and may be millions
    model.opt.disableflags = flags
    rows: list[ActuatorExplanation] = []
    leaders, written = _leaders(loaded), False
    for i, name in enumerate(actuator_names(model)):
        rows.append(_row(loaded, data, i, name, pairs, leaders, given, path, written))
        written = written or bool(rows[-1].command)
    if rows:  # of the model as a whole; what MJX refuses it says itself
        ignored = [f for f in mjx_findings(model) if f.code == "mjx_ignores"]
        rows[0] = replace(rows[0], findings=(*rows[0].findings, *ignored))
    if wanted is not None:
        some = [r for r in rows if wanted in _names(r)]
        if not some:
            known = dict.fromkeys(name for r in rows for name in _names(r))
            raise UnknownName(f"actuator or joint in {path.name}", wanted, known)
        rows = some
    _all_used(given, rows)
    return rows


def _all_used(given: dict[str, ComparedPart], rows: list[ActuatorExplanation]) -> None:
    """A pattern that no joint has is a slip of the pen."""
    for pattern in given:
        if pattern != ".*" and not any(compare.part_for({pattern: given[pattern]}, *_names(r)) for r in rows):
            raise UnknownName("joint", pattern, dict.fromkeys(name for r in rows for name in _names(r)))


def _leaders(loaded: LoadedModel) -> dict[bool, PartKind | None]:
    """The kind of the strongest actuator that takes positions, and of the strongest of the others: a robot is
    mostly built of one."""
    strongest: dict[bool, ActuatorLaw] = {}
    for i in range(len(actuator_names(loaded.model))):
        at = driven_joint(loaded.model, i)
        try:
            law = None if isinstance(at, str) or at.slides else law_of(loaded, i, at)
        except BackemfError:  # said in its row
            law = None
        if law is not None and law.stall:
            most = strongest.get(law.regulates_position)
            if most is None or (most.stall or 0.0) < law.stall:
                strongest[law.regulates_position] = law
    return {takes: kind_alike(law) for takes, law in strongest.items()}


def _names(row: ActuatorExplanation) -> tuple[str, str]:
    return row.actuator, row.joint


def _row(
    loaded: LoadedModel,
    data: Any,
    i: int,
    name: str,
    pairs: dict[str, tuple[float, float]],
    leaders: dict[bool, PartKind | None],
    given: dict[str, ComparedPart],
    path: Path,
    made: bool,
) -> ActuatorExplanation:
    model = loaded.model
    at = driven_joint(model, i)
    if isinstance(at, str):
        return ActuatorExplanation(actuator=name, kind=kind_of(model, i), joint=at)
    row = ActuatorExplanation(actuator=name, kind=kind_of(model, i), joint=at.name, slides=at.slides)
    try:
        law = law_of(loaded, i, at)
    except BackemfError as error:
        note = Finding(code="not_read", text=f"{name}: {error}", remedy="check this actuator by hand")
        return replace(row, findings=(note,))
    M, k = joint_inertia(model, data, at.dof), law.stiffness
    swings = k > 0 and M > 0
    row = replace(
        row,
        kind=law.kind,
        stall_torque=law.stall,
        no_load_speed=law.speed,
        stiffness=k if k > 0 else None,
        damping=law.damping,
        inertia=M,
        armature=law.armature,
        friction=law.friction,
        natural_frequency=steady.natural_frequency(k, M) / (2 * math.pi) if swings else None,
        damping_ratio=steady.damping_ratio(k, law.damping, M) if swings else None,
        bristle=found.bristle(law, M, model),
    )
    leader = leaders.get(law.regulates_position)
    row, told = _beside(row, law, compare.part_for(given, name, at.name), leader, path, made)
    told += found.of_dcmotor(law, at.slides)
    told += found.merged_constants(pairs.get(name, pairs.get(at.name)))
    told += found.of_the_step(law, M, float(model.opt.timestep))
    told += found.findings(row.bristle, float(model.opt.timestep), found.units(at.slides)[2])
    return replace(row, findings=tuple(replace(f, text=f"{name}: {f.text}") for f in told))


def _beside(
    row: ActuatorExplanation,
    law: ActuatorLaw,
    part: ComparedPart | None,
    leader: PartKind | None,
    path: Path,
    made: bool,
) -> tuple[ActuatorExplanation, list[Finding]]:
    """The row with its part's comparison; without a part, beside parts of its kind and size."""
    if part is None or (part.actuator.motion == "linear") != row.slides:
        kind = None if row.slides else kind_alike(law, leader)
        told = [] if part is None else [compare.other_motion(part, row.slides)]
        told += found.against_kind(law, row.slides, kind)
        return replace(row, alike=found.alike(law, kind)), told
    rows = compare.compare_part(law, part, row.slides)
    told, off = list(compare.findings(rows, part)), any(c.is_off for c in rows)
    line = compare.command(law, part, path, row.joint, made) if off else None
    return replace(row, part=part.name, compared=tuple(rows), command=line), told


def _merged_constants(path: Path) -> dict[str, tuple[float, float]]:
    """K_t and K_e of every `<dcmotor motorconst>` that gives both, by actuator and joint name;
    included files are read too."""
    pairs: dict[str, tuple[float, float]] = {}
    waiting, folder = [path], path.parent
    while waiting:
        try:
            root = ElementTree.parse(waiting.pop()).getroot()
        except (OSError, ElementTree.ParseError, LookupError):  # LookupError: an encoding that nobody knows
            continue
        waiting += [folder / e.attrib["file"] for e in root.iter("include") if "file" in e.attrib]
        for e in root.iter("dcmotor"):
            words = e.attrib.get("motorconst", "").split()
            if len(words) == 2 and float(words[0]) > 0 and float(words[1]) > 0:
                pair = (float(words[0]), float(words[1]))
                pairs |= {e.attrib[key]: pair for key in ("name", "joint") if key in e.attrib}
    return pairs


def summary(rows: list[ActuatorExplanation]) -> dict[str, Any]:
    """As plain data: the object of `--json`."""
    apart = ("findings", "compared", "bristle")
    plain = [f for f in ActuatorExplanation.__dataclass_fields__ if f not in apart]
    return {
        "actuators": [
            {
                **{f: getattr(r, f) for f in plain},
                "bristle": None if r.bristle is None else r.bristle._asdict(),
                "compared": [c._asdict() for c in r.compared],
                "findings": [f.to_dict() for f in r.findings],
            }
            for r in rows
        ]
    }


WIDTH = 80
LEGEND = (
    f"To write: what is off by more than a factor of {OFF:g}. From..to: the part's own number is not known,"
    " parts of its kind and torque have that."
)


class TextColumn(NamedTuple):
    """One column: two lines of head, and a cell for each row."""

    head: str
    unit: str
    cells: list[str]
    right: bool = True

    @property
    def width(self) -> int:
        return max(len(text) for text in (self.head, self.unit, *self.cells))

    def lines(self) -> list[str]:
        """Head, rule and cells, each as wide as the widest."""
        side = str.rjust if self.right else str.ljust
        rule = "-" * self.width
        head = [side(text, self.width) for text in (self.head, self.unit)]
        return [*head, rule, *(side(cell, self.width) for cell in self.cells)]


def laid_out(columns: Sequence[TextColumn], width: int) -> str:
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


def text(rows: list[ActuatorExplanation], width: int = WIDTH) -> str:
    """As a table for people, with the findings under it."""
    if not rows:
        return "the model has no actuators"
    kinds = [[r for r in rows if r.slides == slides] for slides in (False, True)]
    parts = [_table(some, width) for some in kinds if some]
    parts += [_bristles(some, width) for some in kinds]
    parts += [_alike_text(rows, width)]
    parts += _comparisons(rows, width)
    parts += [_findings_text(rows, width)]
    return "\n\n".join(part for part in parts if part)


def _table(rows: list[ActuatorExplanation], width: int) -> str:
    slides = rows[0].slides
    torque, stiffness, _, inertia = units(slides)
    speed = "m/s" if slides else "rad/s"
    names = TextColumn("actuator", "", [r.actuator for r in rows], right=False)
    joints = TextColumn("joint", "", [r.joint for r in rows], right=False)
    kinds = TextColumn("kind", "", [r.kind for r in rows], right=False)
    numbers = [
        ("stall", torque, [r.stall_torque for r in rows]),
        ("no-load", speed, [r.no_load_speed for r in rows]),
        ("stiffness", stiffness, [r.stiffness for r in rows]),
        ("inertia", inertia, [r.inertia for r in rows]),
        ("natural", "Hz", [r.natural_frequency for r in rows]),
        ("damping", "ratio", [r.damping_ratio for r in rows]),
    ]
    columns = [names, kinds, *([joints] if joints.cells != names.cells else [])]
    columns += [
        TextColumn(head, unit, _cells(v)) for head, unit, v in numbers if any(x is not None for x in v)
    ]
    return laid_out(columns, width)


def _bristles(rows: list[ActuatorExplanation], width: int) -> str:
    """Those that bend before they slip."""
    bent = [(r.actuator, r.bristle) for r in rows if r.bristle is not None]
    if not bent:
        return ""
    damping, step = units(rows[0].slides)[2], f"ms, {bent[0][1].integrator}"
    columns = [
        TextColumn("bristle", "", [name for name, _ in bent], right=False),
        TextColumn("natural", "Hz", _cells(b.natural_frequency for _, b in bent)),
        TextColumn("damping", "ratio", _cells(b.damping_ratio for _, b in bent)),
        TextColumn("sigma_1", damping, _cells(b.damping for _, b in bent)),
        TextColumn("critical", damping, _cells(b.critical_damping for _, b in bent)),
        TextColumn("passive below", damping, _cells(b.passive_limit for _, b in bent)),
        TextColumn("stable below", step, _cells(b.largest_step and 1e3 * b.largest_step for _, b in bent)),
    ]
    return laid_out(columns, width)


def _cells(values: Iterable[float | None]) -> list[str]:
    return ["-" if value is None else number(value, 3) for value in values]


def _comparison_columns(compared: Sequence[PartComparison]) -> list[TextColumn]:
    factors = ["-" if c.factor is None else number(c.factor, 2) for c in compared]
    return [
        TextColumn("", "", [c.attribute for c in compared], right=False),
        TextColumn("", "unit", [c.unit for c in compared], right=False),
        TextColumn("", "model", _cells(c.model for c in compared)),
        TextColumn("", "part", [_part_number(c) for c in compared]),
        TextColumn("model /", "part", factors),
        TextColumn("", "write", [c.should_be if c.is_off else "" for c in compared], right=False),
    ]


def _comparisons(rows: list[ActuatorExplanation], width: int) -> list[str]:
    """What the model has beside what its parts have, once for all joints with the same numbers."""
    groups: dict[Any, list[ActuatorExplanation]] = {}
    for r in rows:
        if r.compared:
            groups.setdefault((r.part, r.compared), []).append(r)
    made = []
    for (part, compared), some in groups.items():
        title = f"{', '.join(r.actuator for r in some)} beside {part}:"
        table = laid_out(_comparison_columns(compared), width)
        made.append("\n".join([_wrap_line(title, width, ""), table]))
    if not made:
        return []
    made.append(_wrap_line(LEGEND, width, ""))
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


def _alike_text(rows: list[ActuatorExplanation], width: int) -> str:
    """What actuators without a part of their own were measured by, once for all that are alike."""
    groups: dict[str, list[str]] = {}
    for r in rows:
        if r.alike:
            groups.setdefault(r.alike, []).append(r.actuator)
    lines = (f"{', '.join(names)}: measured by {alike}." for alike, names in groups.items())
    return "\n".join(_wrap_line(line, width) for line in lines)


def _part_number(compared: Any) -> str:
    """The part's number; where only parts alike have one, from the least to the largest."""
    if compared.range is None:
        return "-" if compared.part is None else number(compared.part, 3)
    low, high = (number(value, 2) for value in compared.range)
    return f"about {low}" if low == high else f"{low}..{high}"


def _findings_text(rows: list[ActuatorExplanation], width: int) -> str:
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
        lines += [_wrap_line(f"- {code}: {who}: {plain}", width), _wrap_line(f"  Remedy: {remedy}", width)]
    return "\n".join(lines)


def _wrap_line(line: str, width: int, indent: str = "  ") -> str:
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
