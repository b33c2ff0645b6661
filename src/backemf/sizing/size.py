"""`size`: every motor behind every gearhead against a task, the best of them simulated in full."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np

from ..datasheets.gearhead import Gearhead
from ..errors import InvalidValue, MissingValue
from ..findings import Finding, finding
from ..logs.log import Log
from ..options import takes
from ..physics.duty import best_ratio
from ..physics.steady import torque_limit
from .choice import Choice, Sizing
from .components import (
    GEAR_COLUMNS,
    MotorPart,
    PartColumns,
    catalogue_motors,
    gear_columns,
    motor_columns,
    pairs,
    read_parts,
)
from .judge import PRINTED_AT, Judge, Verdicts
from .size_options import NEGLECTED, SizeOptions
from .task import Task, task_of_log
from .verification import simulate_choice

SHARES = (1.0, 0.7, 0.5, 0.35)
"""Of the ratio with the least current, that are tried where any ratio is to be had: a bus may be too low."""
MOST_POINTS = 4000
"""Feasible combinations that a picture shows."""
MOST_PARETO = 200


def run_size(task: Task | Log | Path | str, options: SizeOptions) -> Sizing:
    """Judge every motor behind every gearhead against a task.

    Args:
        task: how the joint moves and what it gives to its load: a `be.Task`, a log, or a table's file.

    Returns:
        The choices, the best first, with the use of every limit; what ruled the others out; and what was not
        judged, because a part does not print it.

    Raises:
        BackemfError: the task has gaps, or a table of parts cannot be read.
    """
    asked = _task(task)
    options.say("reading parts", 0.0)
    motors, gears, findings = _parts(asked, options)
    columns = _without_gaps(motor_columns(motors), gear_columns(gears), options.neglect)
    options.say(f"judging {len(motors)} motors and {len(gears)} gearheads", 0.2)
    margin = 0.0 if options.confidence is None else NormalDist().inv_cdf(options.confidence)
    most = math.inf if options.max_mass is None else options.max_mass
    judge = Judge(asked, *columns, options.bus, options.ambient, margin, most)
    rows, columns_, alone = pairs(judge.motors, gears)
    if alone and len(alone) == len(gears):
        names = ", ".join(m.name for m in motors[:3])
        raise InvalidValue(
            f"{alone[0]}, which is none of the {len(motors)} motors ({names}, ...); expected names of motors"
            " in `fits`, or patterns such as maxon-*"
        )
    findings += [_fits_none(alone)] if alone else []
    rows, columns_, gaps = _judgeable(judge, rows, columns_)
    screened = judge.screen(rows, columns_)
    order, front = _order(screened.feasible, options.by), _fronts(screened.feasible)
    made = _Maker(motors, gears, judge, screened.feasible)
    choices = [made.choice(k) for k in order[: options.show]]
    for k in range(min(options.verify, len(choices))):
        options.say(f"simulating {choices[k].motor}", 0.5 + 0.15 * k)
        choices[k] = simulate_choice(judge, choices[k])
    nearest = None
    if screened.nearest is not None:
        nearest = _Maker(motors, gears, judge, screened.nearest).choice(0)
    sizing = Sizing(
        task=asked,
        bus=options.bus,
        ambient=options.ambient,
        choices=tuple(choices),
        further=tuple(made.choice(k) for k in order[options.show : MOST_PARETO]),
        pareto=tuple(made.choice(k) for k in front),
        n_combinations=len(rows),
        n_feasible=len(screened.feasible),
        killed=screened.killed,
        nearest=nearest,
        not_judged=gaps,
        findings=(),
        cloud=_cloud(screened.feasible),
    )
    return replace(sizing, findings=(*asked.findings, *findings, *_verdict_findings(sizing, options)))


size = takes(SizeOptions)(run_size)


def _task(given: Task | Log | Path | str) -> Task:
    """The task, whatever says it."""
    match given:
        case Task():
            return given
        case Log():
            return task_of_log(given)
    return Task.read(given)


class _Maker:
    """Makes choices of verdicts."""

    def __init__(
        self, motors: Sequence[MotorPart], gears: Sequence[Gearhead], judge: Judge, verdicts: Verdicts
    ):
        self.motors, self.gears, self.judge, self.verdicts = motors, gears, judge, verdicts

    def choice(self, k: int) -> Choice:
        v = self.verdicts
        m, g = int(v.motor[k]), int(v.gear[k])
        uses, numbers, errors = (
            {n: float(x[k]) for n, x in one.items()} for one in (v.uses, v.numbers, v.errors)
        )
        gear = None if g == 0 else self.gears[g - 1]
        numbers["drawn_without_regeneration"] = self.judge.drawn_without_regeneration(m, g)
        bus = self.judge.bus
        return Choice(part=self.motors[m], gears=gear, bus=bus, numbers=numbers, uses=uses, errors=errors)


def _parts(task: Task, options: SizeOptions) -> tuple[list[MotorPart], list[Gearhead], list[Finding]]:
    """Every part that is asked for."""
    motors, gears, notes = read_parts(options.parts)
    if not options.only_parts:
        own = {m.name for m in motors}
        motors += [m for m in catalogue_motors() if m.name not in own]
    motors = _of_name(motors, options.motor)
    gears = _of_sort(gears, options.gear)
    if options.any_ratio is not None:
        gears += [*_free_gears(task, motors, options.any_ratio, options.bus)]
    findings = [
        finding("rows_left_out", f"{text}.", "correct the rows in your copy, or leave them") for text in notes
    ]
    return motors, gears, findings


def _of_name(motors: list[MotorPart], pattern: str | None) -> list[MotorPart]:
    """Motors of a name or pattern."""
    if not motors:
        raise MissingValue("the parts given have no motor; leave out --only-parts to use the catalogue's")
    kept = [m for m in motors if pattern is None or fnmatch.fnmatch(m.name, pattern)]
    if not kept:
        raise InvalidValue(f"motor is {pattern!r}, which is none of {len(motors)}: see backemf catalog")
    return kept


def _of_sort(gears: list[Gearhead], sort: str | None) -> list[Gearhead]:
    """Gearheads of a sort."""
    kept = [g for g in gears if sort is None or g.sort.lower().startswith(sort.lower())]
    if sort is not None and not kept:
        sorts = ", ".join(sorted({g.sort or "no sort" for g in gears})) or "none at all"
        raise InvalidValue(
            f"gear is {sort!r}, and no gearhead is of that sort; there are: {sorts}. Gearheads come with"
            " --parts FILE"
        )
    return kept


def _free_gears(task: Task, motors: Sequence[MotorPart], eta: float, bus: float) -> Iterator[Gearhead]:
    """For each bare motor, gears of the ratios that suit it: the one of least current, the one at which the
    bus just turns it fast enough, and shares of both."""
    for m in motors:
        n = m.numbers
        if n["ratio"] != 1.0:
            continue
        J = 0.0 if math.isnan(n["rotor_inertia"]) else n["rotor_inertia"]
        cool = best_ratio(task.moments, J, n["viscous"], n["friction"], eta, n["iron_loss"])
        fast = bus / (n["back_emf_constant"] * task.top_speed) if task.top_speed > 0.0 else math.inf
        for N in sorted(
            {float(f"{share * x:.3g}") for x in (cool, fast) if math.isfinite(x) for share in SHARES}
        ):
            if N > 0:
                yield Gearhead(name=f"{ANY} {N:g}:1", sort=ANY, ratio=N, efficiency=eta, fits=(m.name,))


ANY = "any"
"""Sort of gears that nobody printed."""


def _without_gaps(
    motors: PartColumns, gears: PartColumns, neglect: Sequence[str]
) -> tuple[PartColumns, PartColumns]:
    """What is not printed counted as none, where that was asked."""
    entries = {NEGLECTED[word] for word in neglect}

    def without(columns: PartColumns, none: Mapping[str, float]) -> PartColumns:
        values = {
            name: np.where(np.isnan(x), none[name], x) if name in none else x
            for name, x in columns.values.items()
        }
        return replace(
            columns, values=values, missing=[tuple(e for e in m if e not in entries) for m in columns.missing]
        )

    none = {"rotor_inertia": 0.0} if "rotor_inertia" in neglect else {}
    spared = {"inertia": 0.0} if "gear_inertia" in neglect else {}
    spared |= {"efficiency": 1.0} if "gear_efficiency" in neglect else {}
    if "gear_efficiency" in neglect:
        entries.add("efficiency")
    return without(motors, none), without(gears, spared)


def _judgeable(
    judge: Judge, m: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[str, tuple[str, ...]]]:
    """Combinations of which everything is printed that must be, and what the other parts lack."""
    motors, gears = judge.motors, judge.gears
    free = np.array([name.startswith(f"{ANY} ") for name in gears.names])
    for name in GEAR_COLUMNS:  # of gears that nobody printed nothing is judged
        none = {"inertia": 0.0, "mass": 0.0, "price": 0.0}.get(name, math.nan)
        if name not in ("ratio", "efficiency"):
            gears[name][free] = none
    lists, gaps, good = (motors.missing, gears.missing), dict[str, tuple[str, ...]](), []
    for part, missing in zip((motors, gears), lists, strict=True):
        open_ = np.isnan(part["mass"]) & math.isfinite(judge.max_mass)
        rows = [(*x, *(("mass",) if no_mass else ())) for x, no_mass in zip(missing, open_, strict=True)]
        if part is gears:
            rows = [() if any_gears else x for x, any_gears in zip(rows, free, strict=True)]
        gaps |= {name: x for name, x in zip(part.names, rows, strict=True) if x}
        good.append(~np.array([bool(x) for x in rows]))
    both = good[0][m] & good[1][g]
    if not both.any():
        part, lacks = next(iter(gaps.items()))
        raise MissingValue(
            f"no part prints all that it is judged by: {part} prints no {' and no '.join(lacks)}; give parts"
            " that do, or say which numbers may be left out: --neglect rotor_inertia"
        )
    return m[both], g[both], gaps


def _order(v: Verdicts, by: str) -> np.ndarray:
    """Rows, the best first; what is not known comes last."""
    if by == "price" and len(v) and np.isnan(v.numbers[by]).all():
        raise MissingValue(
            "nothing that does the task has a price; give prices with --parts, or another --by"
        )
    numbers = {name: np.nan_to_num(v.numbers[name], nan=np.inf) for name in (by, "loss")}
    return np.lexsort([numbers["loss"], numbers[by]])


def _front(v: Verdicts, cost: str) -> np.ndarray:
    """Rows that none beats in mass, or price, and in loss."""
    mass, loss = v.numbers[cost], v.numbers["loss"]
    rows = np.lexsort([loss, np.nan_to_num(mass, nan=np.inf)])
    rows = rows[np.isfinite(mass[rows])]
    if not len(rows):
        return rows
    best = np.minimum.accumulate(loss[rows])
    new = np.append(True, best[1:] < best[:-1])
    return rows[new][:MOST_PARETO]


def _fronts(v: Verdicts) -> np.ndarray:
    """Rows of both fronts, the lightest first."""
    rows = np.unique(np.concatenate([_front(v, "mass"), _front(v, "price")]))
    return rows[np.argsort(v.numbers["mass"][rows], kind="stable")]


def _cloud(v: Verdicts) -> np.ndarray:
    """(mass, loss, price), thinned out."""
    points = np.stack([v.numbers[name] for name in ("mass", "loss", "price")], axis=1)
    return points[:: max(1, math.ceil(len(points) / MOST_POINTS))]


def _fits_none(alone: Sequence[str]) -> Finding:
    more = f", and {len(alone) - 1} others likewise" if len(alone) > 1 else ""
    text = f"{alone[0]}, which is none of the motors{more}."
    return finding(
        "gearhead_fits_none", text, "name motors as `backemf size` does, or use a pattern: maxon-*"
    )


def _verdict_findings(sizing: Sizing, options: SizeOptions) -> Iterator[Finding]:
    """What is to be said of the answer."""
    if not sizing.choices:
        remedy = "ask for less, raise the bus, or give more parts and gearheads: --parts FILE"
        yield finding("nothing_feasible", f"nothing does the task: {sizing.near_miss()}.", remedy)
    for c in sizing.choices:
        if c.check is not None and not c.check.agrees:
            closed, run = c.check.temperature
            volts, amperes = c.check.voltage, c.check.current_rms
            heat = "" if math.isnan(run) else f"is at {run:.3g} degC for {closed:.3g} in closed form, and "
            text = (
                f"{c.motor}, {c.check.seconds:.0f} s simulated in full, {heat}takes {volts[1]:.3g} V for"
                f" {volts[0]:.3g} and {amperes[1]:.3g} A for {amperes[0]:.3g}."
            )
            yield finding("closed_form_differs", text, "believe the simulation, and leave more margin")
    cool = [c.motor for c in sizing.choices if math.isnan(c.part.numbers.get("max_temperature", math.nan))]
    if sizing.ambient > PRINTED_AT and cool:
        more = f" and {len(cool) - 1} more" if len(cool) > 1 else ""
        text = (
            f"currents for ever are printed for {PRINTED_AT:g} degC, and no largest temperature of"
            f" {cool[0]}{more}: at {sizing.ambient:g} degC they stand less, nobody says how much."
        )
        yield finding(
            "warm_surroundings", text, "leave room, or take a part whose winding's limit is printed"
        )
    if sizing.choices and sizing.choices[0].gears is not None:
        yield from _gear_findings(sizing.choices[0], sizing.choices[0].gears)
    if options.neglect:
        words = ", ".join(word.replace("_", " ") for word in options.neglect)
        text = f"where nobody prints it, {words} counts as none: the choices are better here than they are."
        yield finding("numbers_neglected", text, "measure it (backemf measure) and give it with --parts")


def _gear_findings(best: Choice, gears: Gearhead) -> Iterator[Finding]:
    """What the best as an actuator does not have of its gears."""
    actuator = best.actuator()
    most = torque_limit(actuator)
    lost = [] if not gears.backlash else [f"play of {gears.backlash:.2g} rad"]
    if gears.peak_torque is not None and most is not None and most > gears.peak_torque:
        able = most * (actuator.gearbox.efficiency or 1.0)
        lost += [f"limit of {gears.peak_torque:.3g} N m, of which it can give {able:.3g}"]
    if lost:
        text = f"{best.motor} + {best.gearhead} as an actuator, simulated or exported, lacks the gears' "
        remedy = "limit the torque in the drive (motor.limits); give the play with its stiffness, if known"
        yield finding("gears_not_whole", f"{text}{' and '.join(lost)}.", remedy)
