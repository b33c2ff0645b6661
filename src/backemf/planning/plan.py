"""`plan`: the short motions whose logs will tell most of a servo, on a bench or in the joints of a robot, and
what errors to expect of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidValue, UnknownName
from ..findings import Finding, finding
from ..identify.check import DETERMINED
from ..identify.fit_options import parse_paths
from ..identify.frictions import law, with_friction
from ..identify.inspect.signals import STEADY, is_loaded, slow_seconds
from ..identify.parameters import OPEN
from ..identify.play import PLAY, rigid
from ..identify.uncertainty import inverse
from ..logs.benches import bench_name
from ..logs.log import several
from ..logs.robot import Robot
from ..mujoco.robot.robot_motion import Room, joint_bench, posture_of, room as room_of
from ..options import takes
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..results.fit_result import Fit
from ..tables import number, room, table
from .choose import Budget, MotionChoice, bound_information, choose, find_alternatives
from .family import SHY, HeatBudget, MotionRange, extremes, family, heat_of, nothing_fits, positions, within
from .motions import EVERY, Motion, Motions, SafetyLimits, Track
from .outlook import Outlook, Sensing, outlook
from .plan_options import PlanOptions
from .stations import CLEAR, NARROW

SECONDS = 20.0
"""Of all motions together, unless told [s]."""
N_DRAWS = 4
"""Draws of the start beside the start itself, over which the choice is good on average."""
PACES = (((1.0, 0.4), 1.0), ((1.0, 0.4), 2.5), ((0.4, 0.1), 6.0))
"""Sizes and slownesses of the motions that are looked at, one set after the other."""
ENOUGH = 0.6
"""Share of the motions that must keep to the limits, for no slower ones to be looked at."""
LEFT = 0.005
"""Relative error that is left of any number: by clocks, and by the steps in which a fit integrates."""
UNLOADED = 0.5
"""Share of a motion in which an arm may load its joint, where the teeth shall cross over."""
PLANNED = "m4"
"""Friction that is planned for where the start knows of Coulomb friction only: a plan for that alone would
leave out the motions that tell the rest."""


@dataclass(frozen=True, kw_only=True)
class ExpectedParameter:
    """What the planned logs will tell of one number."""

    path: str
    joint: str = ""
    """Of a robot whose joints are planned together; empty otherwise."""
    value: float
    unit: str
    before: float
    """Relative error of what is known now; infinite where that is next to nothing."""
    relative_error: float
    """To expect of the fit."""
    remedy: str = ""
    """What would tell it, where these motions do not."""

    @property
    def determined(self) -> bool:
        return self.relative_error <= DETERMINED and self.relative_error <= OPEN * self.before

    @property
    def error(self) -> float:
        """In the number's own unit."""
        return self.relative_error * abs(self.value)


@dataclass(frozen=True, kw_only=True)
class ForeseenMotion:
    """One planned motion as the start's model runs it."""

    name: str
    joint: str = ""
    """Which moves; several may in one motion of a robot."""
    time: np.ndarray = field(repr=False)
    target: np.ndarray = field(repr=False)
    position: np.ndarray = field(repr=False)
    current: np.ndarray = field(repr=False)
    enabled: np.ndarray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Motions to record, and what to expect of their logs; `record` plays what `write` writes."""

    motions: Motions
    parameters: tuple[ExpectedParameter, ...]
    findings: tuple[Finding, ...]
    foreseen: tuple[ForeseenMotion, ...] = field(repr=False)
    actuator: Actuator = field(repr=False)
    """What was planned for: the start, with the friction that is looked for."""
    bench: Bench | Robot = field(repr=False)
    ways: float = 0.0
    """What the ways to the motions and back take, where the robot moves all its joints [s]."""

    @property
    def seconds(self) -> float:
        return self.motions.duration

    @property
    def joints(self) -> tuple[str, ...]:
        """Of a robot whose joints are planned together; none otherwise."""
        return tuple(dict.fromkeys(p.joint for p in self.parameters if p.joint))

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the motions into a file that `record` plays."""
        return self.motions.write(path, force=force)

    def __str__(self) -> str:
        said = "\n".join(f"  - {f.code}: {f.text}\n    {f.remedy}" for f in self.findings)
        parts = [self._title(), self._moves(), *(self._joint_tables() or [self._numbers()])]
        return "\n\n".join(part for part in (*parts, f"Findings:\n{said}" if said else "") if part)

    def _title(self) -> str:
        text = f"{len(self.motions.motions)} motions, {self.seconds:.1f} s, the most telling first."
        return f"{text} With the ways between them {self.seconds + self.ways:.0f} s." if self.ways else text

    def _moves(self) -> str:
        """What each motion does."""
        if not self.joints:
            rows = [(m.name, f"{m.duration:.1f} s", *_goes(f), _off(f)) for m, f in self._pairs()]
            return table(rows, ("motion", "lasts", "from [rad]", "to [rad]", "current [A]", "torque off"))
        rows = []
        for motion in self.motions.motions:
            seen = [one for one in self.foreseen if one.name == motion.name]
            low, high, current = zip(*(_goes(one) for one in seen), strict=True)
            stand = {n: t.positions[0] for n, t in motion.tracks.items() if len(t.times) == 1}
            others = ", ".join(f"{name} {q:.2f}" for name, q in stand.items() if abs(q) > 0.005)
            rows.append((motion.name, f"{motion.duration:.1f} s", min(low), max(high), max(current), others))
        head = ("motion", "lasts", "from [rad]", "to [rad]", "current [A]", "the others at [rad]")
        return table(rows, head, drop=head[-1:])

    def _numbers(self) -> str:
        rows = [
            (p.path, p.value, p.unit, percent(p.before), percent(p.relative_error), _is_told(p), p.remedy)
            for p in self.parameters
        ]
        return table(rows, ("parameter", "around", "unit", "known", "expected", "told", "what would tell it"))

    def _joint_tables(self) -> list[str]:
        """Errors to expect by number and joint, as many joints beside each other as there is room for."""
        rows = {(p.path, p.joint): p for p in self.parameters}
        paths, titles = list(dict.fromkeys(p.path for p in self.parameters)), self.joints
        words = [max(len(word) for word in joint.split("_")) for joint in titles]
        wide = max([*words, 8]) + 2
        n = max((room() - max((len(path) for path in paths), default=0)) // wide, 1)
        tables = []
        for first in range(0, len(titles), n):
            some = titles[first : first + n]
            cells = [(path, *(percent(rows[path, joint].relative_error) for joint in some)) for path in paths]
            head = ("errors to expect", *(joint.replace("_", " ") for joint in some))
            tables.append(table(cells, head))
        return tables

    def _pairs(self) -> list[tuple[Motion, ForeseenMotion]]:
        return list(zip(self.motions.motions, self.foreseen, strict=True))


def _goes(motion: ForeseenMotion) -> tuple[float, float, float]:
    return float(motion.position.min()), float(motion.position.max()), float(np.abs(motion.current).max())


def _off(motion: ForeseenMotion) -> str:
    off = motion.time[motion.enabled < 0.5]
    return f"from {off[0]:.2f} s" if len(off) else ""


def _is_told(p: ExpectedParameter) -> str:
    return "yes" if p.determined else "no"


def percent(x: float) -> str:
    return "open" if not math.isfinite(x) or x > 1.5 else f"{number(100 * x, 2)} %"


def run_plan(actuator: Actuator | Fit, bench: Bench | Robot, options: PlanOptions) -> Plan:
    """Design the motions whose logs will tell most of an actuator, within limits, in some seconds.

    Args:
        actuator: the servo, or its fit of earlier logs.
        bench: what the output carries; or a robot, whose joints move in turn and together, or of which
            `joint` moves while the others stand in `posture`.
        options: what one may ask.

    Returns:
        The motions, and the errors to expect of their logs.

    Raises:
        InvalidValue: where nothing can be planned: no servo, no bench that moves, an option of robots.
    """
    actuator, after = (
        (actuator.actuator, actuator) if isinstance(actuator, Fit) else (actuator, options.after)
    )
    _check_given(actuator, bench, options.seconds)
    if isinstance(bench, Robot) and not options.joint:
        from .robot_plan import plan_robot

        options.check("robot")
        return plan_robot(actuator, bench, after, options)
    if after is not None:
        after = of_joint(after, options.joint)
        actuator = after.actuator
    if PLAY in (parse_paths(several(options.target)) or []):
        actuator = rigid(actuator)
    actuator = with_planned_friction(actuator, options.friction, fitted=after is not None)
    return _plan_joint(actuator, bench, after, options)


plan = takes(PlanOptions)(run_plan)


def _plan_joint(actuator: Actuator, bench: Bench | Robot, after: Fit | None, options: PlanOptions) -> Plan:
    """On a bench, or as one joint of a robot."""
    others: dict[str, Track] = {}
    limits, findings, rig = options.limits or SafetyLimits(), list[Finding](), True
    if isinstance(bench, Robot):
        options.check("robot")
        bench, limits, others, findings = on_robot(bench, options, limits)
        rig = False
    else:
        options.check("bench", bench_name(bench))
    _check_bench(bench)
    limits = positions(limits)
    options.say("simulating every motion", 0.0)
    look, feasible, heat = find_candidates(
        actuator,
        bench,
        limits,
        options.joint or EVERY,
        sensing=options.sensing or Sensing(),
        prior=options.prior,
        settings=dict(options.settings or {}),
        rig=rig,
    )
    before = known_precision(look, after)
    xs = look.draws(N_DRAWS, options.seed)
    options.say("choosing", 0.5)
    costs = np.vstack([[look.motions[k].duration for k in feasible], heat.of[:, feasible]])
    budget = Budget(costs, np.array([options.seconds or SECONDS, *[heat.most] * len(heat.of)]))
    targets = several(options.target)
    wanted = choice_of(look, feasible, xs, before, wanted_places(look, targets))
    first = _asked_for_anyway(look, feasible, after, targets)
    picked = [feasible[k] for k in choose(wanted, budget, first)]
    squares = [look.relative(x, look.covariance(x, picked, before)) ** 2 for x in xs]
    errors = np.sqrt(np.mean(squares, axis=0) + LEFT**2)
    rows = expect(look, errors, look.relative(look.problem.first, inverse(before)))
    untold = [p.path for p in rows if not p.determined]
    if untold:
        options.say("looking for what tells more", 0.8)
        found = find_alternatives(
            look, picked, before, {p.path: p.relative_error for p in rows}, untold, limits
        )
        rows = [replace(p, remedy=found.get(p.path, "")) for p in rows]
    findings += _findings(rows, look, limits)
    return _plan_of(look, picked, rows, findings, limits, others, targets)


def _asked_for_anyway(
    look: Outlook, feasible: Sequence[int], fitted: Any, targets: Sequence[str]
) -> list[list[int]]:
    """Places among those that may be played of slow motions under load, and of reversals: one of each is
    played, since no curvature at the start says what a law lacks there; none beside a fit or targets but
    play's."""
    if PLAY in (parse_paths(list(targets)) or ()):
        return [_slow_and_unloaded(look, feasible)]
    if fitted is not None or targets:
        return []
    names = [kind(look.motions[k]) for k in feasible]
    seen = [foresee(look, k, "") for k in feasible]
    slow = [slow_seconds(f.time, f.target, is_loaded(look.bench, f.target)) > STEADY for f in seen]
    return [
        [i for i, is_slow in enumerate(slow) if is_slow],
        [i for i, n in enumerate(names) if n == "reversals"],
    ]


def _slow_and_unloaded(look: Outlook, feasible: Sequence[int]) -> list[int]:
    """Places among those that may be played of slow motions under a small load: a loaded joint keeps its
    teeth together."""
    slow = [i for i, k in enumerate(feasible) if kind(look.motions[k]) in ("slow", "breakaway")]
    loads = {i: is_loaded(look.bench, foresee(look, feasible[i], "").target) for i in slow}
    return [i for i, loaded in loads.items() if loaded is None or np.mean(loaded) < UNLOADED]


def _check_given(actuator: Any, bench: Any, seconds: float | None) -> None:
    """Refuse what nothing can be planned for."""
    if not isinstance(actuator, Actuator) or not isinstance(bench, (Bench, Robot)):
        given = f"a {type(actuator).__name__} and a {type(bench).__name__}"
        raise InvalidValue(f"plan was given {given}; expected plan(actuator, bench)")
    if seconds is not None and not 2.0 <= seconds <= 3600.0:
        raise InvalidValue(f"seconds is {seconds:g}; expected from 2 to 3600")
    if actuator.drive.followed != "position_target" or actuator.motion != "rotary":
        raise InvalidValue(
            f"a plan asks for positions, but the {actuator.drive.kind} of this {actuator.motion} axis follows"
            f" {actuator.drive.followed or 'nothing'}; give a servo, or a part with --control position"
        )


def with_planned_friction(actuator: Actuator, friction: str | None, *, fitted: bool) -> Actuator:
    """With the friction that the logs shall tell: a richer one than Coulomb's, unless somebody says.

    Args:
        actuator: the start.
        friction: the law that was asked for.
        fitted: whether an earlier fit says what its friction is.

    Returns:
        The actuator to plan for.
    """
    if not fitted and friction is None and actuator.friction.name == "coulomb":
        friction = PLANNED
    other = friction is not None and law(friction) != actuator.friction.name
    return with_friction(actuator, friction) if friction and other else actuator


def _check_bench(bench: Bench) -> None:
    if bench.locked or bench.series:
        raise InvalidValue(f"nothing can be planned on {bench.kind}; expected a bench that moves by itself")


def _plan_of(
    look: Outlook,
    picked: Sequence[int],
    rows: Sequence[ExpectedParameter],
    findings: Sequence[Finding],
    limits: SafetyLimits,
    others: Mapping[str, Track],
    targets: Sequence[str],
) -> Plan:
    """The chosen motions by number and kind, with tracks that hold the other joints."""
    motions = [
        replace(look.motions[k], name=f"{n + 1:02d}-{kind(look.motions[k])}") for n, k in enumerate(picked)
    ]
    motions = [replace(motion, tracks={**others, **motion.tracks}) for motion in motions]
    note = f"planned for {', '.join(targets) or 'all'}"
    return Plan(
        motions=Motions(motions=tuple(motions), limits=limits, note=note),
        parameters=tuple(rows),
        findings=tuple(findings),
        foreseen=tuple(foresee(look, k, motion.name) for k, motion in zip(picked, motions, strict=True)),
        actuator=look.problem.actuator,
        bench=look.bench,
    )


def of_joint(fit: Fit, joint: str) -> Fit:
    """The fit of one joint; the fit itself where it is of a bench.

    Raises:
        UnknownName: the fit is of a robot without that joint.
    """
    if not fit.joints:
        return fit
    if joint not in fit.joints:
        raise UnknownName("joint of the fit", joint, fit.joints)
    return fit.joints[joint]


def find_candidates(
    actuator: Actuator, bench: Bench, limits: SafetyLimits, joint: str, *, coasts: bool = True, **more: Any
) -> tuple[Outlook, list[int], HeatBudget]:
    """Motions that may be chosen. Where most are too wild, slower and smaller ones are looked at beside.

    Args:
        actuator: the start.
        bench: what it carries.
        limits: with both positions [rad].
        joint: whose motions they are.
        coasts: whether the torque may go off.
        more: as `outlook` takes it.

    Returns:
        What every motion would tell, places of those that keep to the limits, how each warms the winding.
    """
    low, high = limits.position_low or 0.0, limits.position_high or 0.0
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    kept: list[Motion] = []
    name = "" if joint == EVERY else joint
    for sizes, pace in PACES:
        reaches = [MotionRange(centre, size * (1.0 - 3.0 * SHY) * half, joint, pace) for size in sizes]
        motions = kept + [one for reach in reaches for one in family(reach, coasts=coasts)]
        motions = [replace(motion, name=f"{kind(motion)}-{k}") for k, motion in enumerate(motions)]
        look = outlook(actuator, bench, motions, joint=name, **more)
        most = extremes(look)
        feasible = [int(k) for k in np.flatnonzero(within(most, limits))]
        last = pace == PACES[-1][1]
        if last and not feasible:
            raise nothing_fits(most, limits)
        if last or len(feasible) > max(ENOUGH * len(motions), len(kept) + 10):
            return look, feasible, heat_of(most, limits)
        kept = [motions[k] for k in feasible]
    raise AssertionError  # the last set returns or raises


def known_precision(look: Outlook, after: Fit | None) -> np.ndarray:
    """The precision of what is known before: the prior's, and what an earlier fit found.

    Args:
        look: what motions tell.
        after: an earlier fit.

    Returns:
        (n_x, n_x).
    """
    precision = look.problem.free.precision
    if after is None:
        return precision
    own = [k for k in look.own if look.problem.free.names[k] in after.parameters]
    paths = list(after.parameters)
    there = [paths.index(look.problem.free.names[k]) for k in own]
    slopes = look.problem.free.slopes(look.problem.first)[np.ix_(own, own)]
    inward = np.linalg.inv(slopes)
    found = inward @ after.covariance[np.ix_(there, there)] @ inward.T
    known = precision.copy()
    known[np.ix_(own, own)] = inverse(found)
    return known


def wanted_places(look: Outlook, targets: Sequence[str]) -> list[int]:
    """Places of the numbers that are looked for.

    Args:
        look: what motions tell.
        targets: paths, or their beginnings; all of the actuator's numbers where there are none.

    Raises:
        UnknownName: of a target that is no number of the actuator.
    """
    names = look.problem.free.names
    words = [word for word in parse_paths(list(targets)) or [] if word != PLAY]  # found beside the others
    places = list[int]()
    if not words:
        return look.own
    for word in words:
        mine = [k for k in look.own if names[k] == word or names[k].startswith(f"{word}.")]
        if not mine:
            valid = {names[k] for k in look.own} | {names[k].partition(".")[0] for k in look.own}
            raise UnknownName("target", word, valid)
        places += mine
    return sorted(set(places))


def choice_of(
    look: Outlook,
    feasible: Sequence[int],
    xs: Sequence[np.ndarray],
    before: np.ndarray,
    wanted: Sequence[int],
) -> MotionChoice:
    """What motions tell of the wanted numbers, at draws of the start where a simulation runs.

    Args:
        look: what they tell.
        feasible: places of motions that may be played.
        xs: the draws.
        before: precision of what is known.
        wanted: places of the numbers.

    Returns:
        What is chosen from.
    """
    signed = [q.prior[1] if q.signed is not None else 0.1 for q in look.problem.free.parameters]
    unit, some = 10.0 * np.array(signed), list(feasible)
    told = np.array([bound_information(look.information(x).worth[some], unit) for x in xs])
    usable = np.isfinite(told).all(axis=(1, 2, 3))
    return MotionChoice(told[usable], np.array([before] * int(usable.sum())), wanted)


def expect(look: Outlook, errors: np.ndarray, known: np.ndarray) -> list[ExpectedParameter]:
    """Rows of the actuator's numbers.

    Args:
        look: what motions tell.
        errors: relative ones to expect, in the order of the numbers.
        known: the same before.

    Returns:
        A row each.
    """
    values = look.problem.values(look.problem.first)
    rows = []
    for place, k in enumerate(look.own):
        q = look.problem.free.parameters[k]
        before = float(known[place])
        rows.append(
            ExpectedParameter(
                path=q.path,
                value=values[q.name],
                unit=q.unit,
                before=before if before < 1.5 else math.inf,
                relative_error=float(errors[place]),
            )
        )
    return rows


def _findings(rows: Sequence[ExpectedParameter], look: Outlook, limits: SafetyLimits) -> list[Finding]:
    told = []
    untold = [p for p in rows if not p.determined]
    if untold:
        text = f"{', '.join(p.path for p in untold)} will not be told by these motions."
        remedy = "; ".join(dict.fromkeys(f"{p.path}: {p.remedy}" for p in untold))
        told.append(finding("untold", text, remedy, **{p.path: min(p.relative_error, 1e9) for p in untold}))
    if any(q.path == "bench.arm_mass" and not q.stated for q in look.problem.free.parameters):
        text = (
            "nobody says what the arm weighs; a fit looks for that too, and torques are as unsure as it is."
        )
        remedy = "weigh the arm and say so: arm_mass=0.02kg behind the bench's other numbers"
        told.append(finding("arm_not_weighed", text, remedy))
    if limits.temperature is not None and "winding_temperature" not in look.problem.system.states:
        text = "the model does not know how the winding warms up, so the plan does not look at temperature."
        remedy = f"the recorder watches it and ends at {limits.temperature:g} degC"
        told.append(finding("temperature_not_modelled", text, remedy))
    return told


def kind(motion: Motion) -> str:
    """What sort of motion it is, by its name."""
    return motion.name.rstrip("0123456789-")


def foresee(look: Outlook, k: int, name: str) -> ForeseenMotion:
    """A motion as the start's model runs it.

    Args:
        look: that knows the motions.
        k: its place.
        name: what it is called in the plan.

    Returns:
        What is asked, and what comes of it.
    """
    one, seen = look.problem.logs[k], look.predict(look.problem.first)[k]
    asked = dict(zip(look.problem.system.inputs, one.inputs[one.samples].T, strict=True))
    return ForeseenMotion(
        name=name,
        time=one.time[one.samples],
        target=asked["position_target"],
        position=seen[:, 0],
        current=np.where(asked["enabled"] > 0.5, seen[:, 1], 0.0),
        enabled=asked["enabled"],
    )


def on_robot(
    robot: Robot, options: PlanOptions, limits: SafetyLimits
) -> tuple[Bench, SafetyLimits, dict[str, Track], list[Finding]]:
    """(what the joint carries, the limits with its range, tracks that hold the others, findings)."""
    joint, table = options.joint, options.table
    stood = posture_of(robot, options.posture or {})
    free = room_of(robot, joint, stood, table)
    limits, cut = _inside(limits, free)
    others = {n: Track(times=(0.0,), positions=(q,)) for n, q in stood.items() if n != joint}
    where = ", ".join(f"{name} {q:.2f}" for name, q in stood.items() if name != joint)
    told = [f"the other joints stand still at {where or 'nothing'} [rad]"]
    if not free.looked:
        told.append("nothing of the model can touch, so that nothing was checked for collisions")
    elif free.already:
        pairs = ", ".join(" and ".join(pair) for pair in free.already)
        told.append(f"the shapes of {pairs} touch already there and were not checked")
    remedy = "look whether the arm is free to go there, and to move: backemf record --dry-run shows how far"
    findings = [finding("posture", "; ".join(told) + ".", remedy)]
    if cut:
        remedy = "another --posture may leave more room"
        findings.append(finding("less_room", f"{joint} {' and '.join(cut)}, as the model has it.", remedy))
    return joint_bench(robot, joint, stood), limits, others, findings


def _inside(limits: SafetyLimits, free: Room) -> tuple[SafetyLimits, list[str]]:
    """(limits in which nothing touches, what cut them short)."""
    low, high, cut = limits.position_low, limits.position_high, list[str]()
    low, high = free.low if low is None else low, free.high if high is None else high
    if free.below and low is not None and free.low is not None and low <= free.low:
        low = free.low + CLEAR
        cut.append(f"stays above {low:.2f} rad, since {free.below} below")
    if free.above and high is not None and free.high is not None and high >= free.high:
        high = free.high - CLEAR
        cut.append(f"stays below {high:.2f} rad, since {free.above} above")
    if low is not None and high is not None and high - low < NARROW:
        raise InvalidValue(
            f"the joint has {max(high - low, 0.0):.2f} rad to move in{', since it ' if cut else ''}"
            f"{' and '.join(cut)}; expected a posture and limits that leave more"
        )
    return replace(limits, position_low=low, position_high=high), cut
