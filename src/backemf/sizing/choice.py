"""The answer of `size`: choices with the use of each limit, what ruled the others out, and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..datasheets.gearhead import Gearhead
from ..errors import MissingValue
from ..figure import Curve, Figure, Mark, Panel
from ..findings import Finding
from ..physics.actuator import Actuator
from ..physics.steady import ideal_speed, net_torque
from ..tables import NotebookDisplay, Overview, number, table
from .components import MotorPart, with_gears
from .judge import HOTTEST, LIMITS
from .size_options import NEGLECTED
from .task import Task

HEADS = ("kg", "gear n", "gear pk", "gear T", "motor n", "V", "I", "temp", "I pk")
"""Of the limits, in a table."""


class SimulatedCheck(NamedTuple):
    """One choice simulated in full, beside what the closed form says of the same time."""

    seconds: float
    temperature: tuple[float, float]
    """(closed form, simulated) peak of the winding at that time [degC]; NaN where nothing is printed on
    heat."""
    current_rms: tuple[float, float]
    """[A]"""
    voltage: tuple[float, float]
    """Peak [V]."""
    at_limit: float
    """Share of the time that the bus was too low."""
    off: float
    """Largest distance from where the joint should be [rad]."""

    @property
    def agrees(self) -> bool:
        """Within 3 K and 3 %, and not short of voltage."""
        dT = abs(self.temperature[1] - self.temperature[0])
        far = [abs(b / a - 1.0) for a, b in (self.current_rms, self.voltage) if a > 0]
        return not dT > 3.0 and max(far, default=0.0) <= 0.03 and self.at_limit < 1e-3


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A motor with its gears, and what the task makes of it."""

    part: MotorPart
    gears: Gearhead | None
    bus: float
    numbers: Mapping[str, float]
    """Ratio, mass, loss and drawn power [W], currents [A], voltage [V], temperature [degC], ..."""
    uses: Mapping[str, float]
    """By limit, the share that is used; NaN where the limit is not printed."""
    errors: Mapping[str, float]
    """Standard errors of the uses."""
    check: SimulatedCheck | None = None

    @property
    def motor(self) -> str:
        return self.part.name

    @property
    def gearhead(self) -> str:
        return "" if self.gears is None else self.gears.name

    @property
    def binding(self) -> str:
        """The limit that is nearest."""
        known = {name: use for name, use in self.uses.items() if not math.isnan(use)}
        return max(known, key=lambda name: known[name])

    @property
    def chances(self) -> dict[str, float]:
        """By limit, the probability that it is exceeded, from the errors of the part's numbers."""
        return {
            name: 0.5 * math.erfc((1.0 - use) / (self.errors[name] * math.sqrt(2.0)))
            for name, use in self.uses.items()
            if self.errors[name] > 0 and math.isfinite(use)
        }

    @property
    def currency(self) -> str:
        """Of its price, as it was given."""
        return self.part.currency or ("" if self.gears is None else self.gears.currency)

    def cell(self, name: str, open_: str = "?") -> str:
        """One of its numbers as a table has it."""
        value = self.numbers[name]
        return number(value, 3) if math.isfinite(value) else open_

    def actuator(self) -> Actuator:
        """It as an actuator on the bus: for `simulate`, `export`, `attach`."""
        return with_gears(self.part, self.gears, self.bus)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in `--json`."""
        check = None if self.check is None else {**self.check._asdict(), "agrees": self.check.agrees}
        return {
            **{"motor": self.motor, "gearhead": self.gearhead or None, **self.numbers},
            **({"currency": self.currency} if self.currency else {}),
            **{"uses": dict(self.uses), "errors": dict(self.errors), "exceeded": self.chances},
            **{"binding": self.binding, "simulated": check, "source": self.part.source},
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Sizing(NotebookDisplay):
    """What `size` found."""

    task: Task
    bus: float
    ambient: float
    choices: tuple[Choice, ...]
    """Feasible ones, the best first."""
    further: tuple[Choice, ...]
    """Those behind them, for pages."""
    pareto: tuple[Choice, ...]
    """Those of the feasible that none beats in mass and in loss, or in price and in loss."""
    n_combinations: int
    n_feasible: int
    killed: Mapping[str, int]
    """How many each limit ruled out, the first that did."""
    nearest: Choice | None
    not_judged: Mapping[str, tuple[str, ...]]
    """By part, what it does not print."""
    findings: tuple[Finding, ...]
    cloud: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    """(mass, loss, price) of the feasible ones, thinned out."""

    @property
    def best(self) -> Choice:
        """The first choice.

        Raises:
            MissingValue: nothing is feasible.
        """
        if not self.choices:
            raise MissingValue(f"nothing is feasible, so there is no best: {self.near_miss()}")
        return self.choices[0]

    def near_miss(self) -> str:
        """What came nearest, in words."""
        if self.nearest is None:
            return "no part was judged"
        one, use = self.nearest, self.nearest.uses[self.nearest.binding]
        if math.isinf(use) and one.binding == "temperature":
            warm = self.ambient >= one.part.numbers.get("max_temperature", HOTTEST)
            why = "the surroundings are warmer than it stands" if warm else "it would warm up without end"
            return f"{choice_name(one)} comes nearest, and {why}"
        needs = {
            "voltage": f"it needs {number(one.numbers['voltage'], 3)} V of {number(self.bus, 3)}",
            "temperature": f"its winding would be at {number(one.numbers['temperature'], 3)} degC",
            "continuous current": f"it needs {number(one.numbers['current_rms'], 3)} A for ever",
            "peak current": f"it needs {number(one.numbers['current_peak'], 3)} A for a moment",
        }
        whose = "the mass that is allowed" if one.binding == "mass" else f"its {one.binding}"
        share = f"{100 * use:.0f} % of {whose}"
        why = needs.get(one.binding)
        return f"{choice_name(one)} comes nearest, at {share}{'; ' + why if why else ''}"

    def overview(self) -> Overview:
        head, rows = _cells(self.choices, range(len(LIMITS)))
        return Overview(self.headline(), head, rows, self.findings)

    def headline(self) -> str:
        """The answer in a sentence."""
        n = f"{self.n_feasible:,} of {self.n_combinations:,} combinations do it"
        where = f"on {number(self.bus)} V at {number(self.ambient)} degC"
        return f"{self.task.summary()}\n{n} {where}."

    def __str__(self) -> str:
        parts = [self.headline()]
        if self.choices:
            parts.append(f"{choice_table(self.choices)}\n{legend(self.choices)}")
        sure = [f"  {choice_name(c)}: {words}" for c in self.choices[:3] if (words := error_words(c))]
        if sure:
            parts.append("How sure, by the errors of the parts' numbers:\n" + "\n".join(sure))
        ruled_out = [f"{name} {n:,}" for name, n in self.killed.items() if n]
        if ruled_out:
            parts.append(f"Ruled out, each by the first limit it exceeds: {', '.join(ruled_out)}.")
        if not self.choices:
            parts.append(f"Nearest: {self.near_miss()}.")
        checked = [check_line(c) for c in self.choices if c.check is not None]
        if checked:
            parts.append("Simulated in full, beside the closed form:\n" + "\n".join(checked))
        if self.not_judged:
            parts.append(not_judged_words(self.not_judged))
        return "\n\n".join(parts)

    def figure(self) -> Figure:
        """Mass against loss, and the best in the plane of torque and speed."""
        title = f"{self.task.name} on {number(self.bus)} V"
        return Figure(title=title, panels=_panels(self), shared_x=False, columns=2)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` has it."""
        task = {name: getattr(self.task, name) for name in ("name", "period", "top_speed", "peak_torque")}
        return {
            "task": {**task, "rms_torque": self.task.rms_torque},
            **{"combinations": self.n_combinations, "feasible": self.n_feasible},
            "ruled_out": dict(self.killed),
            "choices": [c.to_dict() for c in self.choices],
            "pareto": [c.to_dict() for c in self.pareto],
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
            "not_judged": [{"part": p, "missing": list(m)} for p, m in self.not_judged.items()],
            "findings": self.findings,
        }


def choice_name(choice: Choice) -> str:
    """A choice in words."""
    return choice.motor + (f" + {choice.gearhead}" if choice.gearhead else "")


def error_words(c: Choice) -> str:
    """How sure the nearest limit is."""
    error, chance = c.errors[c.binding], c.chances.get(c.binding)
    if chance is None:
        return ""
    use = 100.0 * c.uses[c.binding]
    exceeded = f"exceeded with {100 * chance:.2g} %" if chance > 1e-6 else "never exceeded for that"
    return f"{c.binding} {use:.0f} +- {100 * error:.2g} %, {exceeded}"


NUMBERS = ("ratio", "mass", "loss", "drawn_without_regeneration", "price")


def percent(c: Choice, limit: str) -> str:
    """The use of a limit, with a mark where it binds."""
    use = c.uses[limit]
    if math.isnan(use):
        return "?"
    mark = "*" if limit == c.binding else ""
    return f"{100 * use:.0f}{mark}" if use < 99.995 else f">9999{mark}"


def choice_table(choices: Sequence[Choice]) -> str:
    """Choices with the use of each limit in per cent; columns in which nothing is limited are left out."""
    head, rows = _cells(choices, used_limits(choices))
    return table(rows, head, drop=("W", *HEADS[1:5]))


def _cells(choices: Sequence[Choice], used: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows; without the columns of gearheads and prices where there are none."""
    price = next((f"price {c.currency}" for c in choices if c.currency), "price")
    head = ["motor", "gearhead", "N", "kg", "loss", "W", price, *(HEADS[k] for k in used)]
    rows = [
        [c.motor, c.gearhead or "-", *map(c.cell, NUMBERS), *(percent(c, LIMITS[k]) for k in used)]
        for c in choices
    ]
    kept = [j for j in range(len(head)) if j not in (1, 6) or any(row[j] not in "-?" for row in rows)]
    return [head[j] for j in kept], [[row[j] for j in kept] for row in rows]


def used_limits(choices: Sequence[Choice]) -> list[int]:
    """Limits of which any of the choices uses something."""
    return [k for k, n in enumerate(LIMITS) if any(c.uses[n] > 0.0 for c in choices)]


def legend(choices: Sequence[Choice]) -> str:
    """What the columns are, and which limits nobody printed."""
    used = used_limits(choices)
    words = [f"{HEADS[k]} {LIMITS[k]}" for k in used if HEADS[k] != LIMITS[k]]
    open_ = [n for n in LIMITS if any(math.isnan(c.uses[n]) for c in choices)]
    text = (
        f"Uses in %, * the one that binds: {', '.join(words)}. loss and W, what a supply gives that takes"
        " nothing back, are means in watts."
    )
    some = f" Not printed by some of them, and not judged there: {', '.join(open_)}." if open_ else ""
    return text + some


def check_line(c: Choice) -> str:
    """One choice as it was simulated."""
    k = c.check
    assert k is not None
    heat = "" if math.isnan(k.temperature[1]) else f" {_both(k.temperature, 'degC')},"
    words = (
        f"{heat} {_both(k.current_rms, 'A')} RMS, {_both(k.voltage, 'V')} peak, {1e3 * k.off:.2g} mrad off"
    )
    held = f"; the bus was too low {100 * k.at_limit:.2g} % of the time" if k.at_limit > 0 else ""
    return f"  {choice_name(c)} after {number(k.seconds, 3)} s:{words}{held}"


def _both(pair: tuple[float, float], unit: str) -> str:
    return f"{number(pair[1], 3)} ({number(pair[0], 3)}) {unit}"


IN_WORDS = {
    "no_load_current": "current without load",
    NEGLECTED["heat"]: "lasting current or heat",
    NEGLECTED["gear_torque"]: "torque",
}
"""Gaps in few words."""


def not_judged_words(gaps: Mapping[str, tuple[str, ...]], most: int = 6) -> str:
    """Which parts print too little, by what they lack."""
    by: dict[str, list[str]] = {}
    for part, missing in gaps.items():
        by.setdefault(", ".join(IN_WORDS.get(m, m.replace("_", " ")) for m in missing), []).append(part)
    lines = []
    for missing, parts in by.items():
        more = f" and {len(parts) - most} more" if len(parts) > most else ""
        verb = "prints" if len(parts) == 1 else "print"
        lines.append(f"  - {', '.join(parts[:most])}{more} {verb} no {missing}")
    return "Not judged:\n" + "\n".join(lines)


def _panels(sizing: Sizing) -> list[Panel]:
    costs = {"mass": ("mass [kg]", 0, "lighter"), "price": ("price", 2, "cheaper")}
    panels = [_front(sizing, name, *row) for name, row in costs.items()]
    panels = [panels[0], *(panel for panel in panels[1:] if panel.lines)]
    shown = sizing.choices[0] if sizing.choices else sizing.nearest
    if shown is not None:
        panels.append(_plane(sizing.task, shown))
    return panels


def _front(sizing: Sizing, cost: str, label: str, column: int, less: str) -> Panel:
    """Mass or price against loss: all that is feasible, and what none beats in both."""
    lines, marks, front = list[Curve](), list[Mark](), list[Choice]()
    points = sizing.cloud[np.isfinite(sizing.cloud[:, column])]
    if len(points):
        lines.append(Curve(x=points[:, column], y=points[:, 1], label="feasible", style="points", color=5))
    known = [c for c in sizing.pareto if math.isfinite(c.numbers[cost])]
    for c in sorted(known, key=lambda c: (c.numbers[cost], c.numbers["loss"])):
        front += [c] if not front or c.numbers["loss"] < front[-1].numbers["loss"] else []
    if front:
        x, y = ([c.numbers[name] for c in front] for name in (cost, "loss"))
        lines.append(Curve(x=x, y=y, label=f"none is {less} and loses less", style="solid", color=0))
        lines.append(Curve(x=x, y=y, style="points", color=0))
        ends = [front[0], *front[1:][-1:]]
        marks = [Mark(x=c.numbers[cost], y=c.numbers["loss"], text=choice_name(c)) for c in ends]
    return Panel(lines=lines, marks=marks, legend_above=True, x_label=label, y_label="loss [W]")


def _plane(task: Task, c: Choice) -> Panel:
    """The task in the plane of torque and speed under what a choice can give there."""
    actuator = c.actuator()
    w = np.linspace(-1.0, 1.0, 401) * 1.02 * max(ideal_speed(actuator, c.bus), task.top_speed)
    high = net_torque(actuator, actuator.gearbox.forwards * c.bus, w)
    top = 1.4 * max(float(np.abs(np.interp(0.0, w, high))), task.peak_torque)
    name = f"{choice_name(c)} at {number(c.bus)} V, cold"
    lines = [
        Curve(x=w, y=np.clip(high, -2.0 * top, 2.0 * top), label=name, style="solid", color=0),
        Curve(x=w, y=np.clip(-high[::-1], -2.0 * top, 2.0 * top), style="solid", color=0),
        Curve(x=task.velocity, y=task.torque, label="the task", style="dots", color=1),
    ]
    ends = (-top, top)
    return Panel(
        lines=lines, x_label="speed [rad/s]", y_label="torque [N m]", y_range=ends, legend_above=True
    )
