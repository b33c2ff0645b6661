"""Sliders beside the figures of a fit: which numbers move, how far, what else was said of them, and the logs
that follow."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...figure import Block
from ...identify.predict import Prediction
from ...results.fit_result import Fit, FittedParameter
from ...tables import interval, number
from .document import escape
from .page_kernels import PageKernels, layout, pack

MOST_STEPS = 150_000
"""Steps of one log that a page takes while a slider moves: 25 ms of them."""
MOST_TOGETHER = 600_000
BEYOND = 3.0
"""How far a slider goes beyond the interval, in half intervals; and at least half of the value either way."""
FAR = 8.0
"""A number that was said of a parameter and is this many times too large or small is not on its slider."""


def title(path: str) -> str:
    """A parameter's name as people read it, without its part where the word says enough."""
    part, _, word = path.rpartition(".")
    return f"{part}: {word.replace('_', ' ')}" if part in ("bench", "drive") else word.replace("_", " ")


def unit_text(unit: str) -> str:
    """A unit as people write it; nothing for a plain number."""
    return "" if unit == "1" else unit.replace("^2", "\u00b2").replace("^3", "\u00b3")


class Tick(NamedTuple):
    """A value with what says so: the datasheet, or a rung of the ladder."""

    at: float
    sign: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Slider:
    """One fitted number that a reader may move."""

    path: str
    unit: str
    value: float
    low: float
    high: float
    least: float
    most: float
    """Where the slider ends."""
    ticks: tuple[Tick, ...] = ()
    over: str | None = None
    """The parameter that it is never smaller than."""

    def share(self, value: float) -> float:
        """Where a value stands on the slider, from 0 to 1."""
        return (value - self.least) / (self.most - self.least)

    @property
    def words(self) -> str:
        """What was said of it, in words."""
        said = [f"fit {number(self.value)}", f"95 % interval {interval(self.low, self.high, 'to', 4)}"]
        return ", ".join([*said, *(f"{t.text} {number(t.at)}" for t in self.ticks)])


@dataclass(frozen=True, kw_only=True)
class LivePanel(Block):
    """Sliders, and the logs that are run again when one moves."""

    sliders: tuple[Slider, ...]
    runs: tuple[Prediction, ...] = field(repr=False)
    """Those that are run again, in the order in which they are drawn."""
    note: str
    unit: str
    """Of small positions: mrad or mm."""


def live(fit: Fit, runs: Sequence[Prediction], stated: Mapping[str, float], who: str) -> LivePanel | None:
    """The sliders of a fit; None where there is nothing to move or to run.

    Args:
        fit: Whose numbers move.
        runs: Recordings that may follow, in the order in which they are drawn.
        stated: By path, what was said of a number before.
        who: Said so.

    Returns:
        Sliders and the runs that follow, or None.
    """
    sliders = tuple(
        slider(fit, path, p, stated.get(path), who) for path, p in fit.parameters.items() if p.path == path
    )
    moved, late, total = [], [], 0
    for run in runs:
        steps = len(run.posed.logs[0].time) * run.posed.substeps
        if steps > MOST_STEPS or total + steps > MOST_TOGETHER:
            late.append(run.log.name)
        else:
            moved.append(run)
            total += steps
    if not sliders or not moved:
        return None
    some = f"{', '.join(late[:3])}{' and others' if len(late) > 3 else ''}"
    which = f". Too long to follow a slider: {some}" if late else ": every curve of this section follows"
    note = f"The page runs the model itself{which}. Shaded: the 95 % interval."
    if any(one.log.bench is not None and one.log.bench.series for one in moved):
        note += (
            " The load is as recorded: a robot's joint is run by itself along the recorded motion of the"
            " others, and what it does to them does not come back."
        )
    return LivePanel(
        sliders=sliders,
        runs=tuple(moved),
        note=note,
        unit="mrad" if fit.actuator.motion == "rotary" else "mm",
    )


def slider(fit: Fit, path: str, p: FittedParameter, stated: float | None, who: str) -> Slider:
    """A slider around a fitted number: beyond its interval, and to what else was said of it, `stated` before
    by `who` or by a rung of the ladder."""
    said = [Tick(stated, "s", who)] if stated is not None else []
    rungs = [r for r in fit.rungs if not r.chosen and path in r.parameters]
    numbers = {r.friction: k + 1 for k, r in enumerate(fit.rungs)}
    said += [Tick(r.parameters[path], str(numbers[r.friction]), f"rung {r.friction}") for r in rungs]
    near = [t for t in said if p.value and 1 / FAR <= t.at / p.value <= FAR] if p.value else said
    least, most = _ends(fit, path, p, [t.at for t in near])
    return Slider(
        path=path,
        unit=p.unit,
        value=p.value,
        low=p.low,
        high=p.high,
        least=least,
        most=most,
        ticks=tuple(near),
        over=fit.actuator.over(path),
    )


def _ends(fit: Fit, path: str, p: FittedParameter, ticks: Sequence[float]) -> tuple[float, float]:
    """Where a slider ends: beyond the interval and the ticks, and where the number may be."""
    traits, other = fit.actuator.traits(path), fit.actuator.over(path)
    half = max(p.high - p.value, p.value - p.low, 0.0)
    half = half if math.isfinite(half) else 0.0
    wide = 0.5 * abs(p.value) or max(half, traits["signed"] or 0.0) or 1.0
    least = min(p.value - max(BEYOND * half, wide), *ticks, math.inf)
    most = max(p.value + max(BEYOND * half, wide), *ticks, -math.inf)
    if traits["signed"] is None:  # a wide interval must not squeeze the value into a corner
        least, most = max(least, 0.0), min(most, FAR * p.value if p.value else most)
    if traits["above"] is not None:
        least = max(least, traits["above"] + 0.02 * (p.value - traits["above"]))
    if traits["least"] is not None:
        least = max(least, traits["least"])
    if traits["most"] is not None:
        most = min(most, traits["most"])
    if other is not None and other not in fit.parameters:  # it stands on a number that does not move
        least = max(least, fit.actuator.parameters.get(other, least))
    return least, most


def data(one: LivePanel, plots: Sequence[str], kernels: PageKernels) -> dict[str, Any]:
    """What the page's script reads: sliders and logs.

    Args:
        one: The panel.
        plots: Names of the figures of its runs.
        kernels: Of the page, which the panel adds to.

    Returns:
        Plain data, under the names that the script reads.
    """
    paths = [s.path for s in one.sliders]
    return {
        "unit": one.unit,
        "sliders": [
            {
                "unit": unit_text(s.unit),
                "value": s.value,
                "least": s.least,
                "most": s.most,
                "over": paths.index(s.over) if s.over in paths else -1,
                "stated": next((t.at for t in s.ticks if t.sign == "s"), None),
            }
            for s in one.sliders
        ],
        "logs": [_log(run, plot, paths, kernels) for run, plot in zip(one.runs, plots, strict=True)],
    }


def _log(run: Prediction, plot: str, paths: Sequence[str], kernels: PageKernels) -> dict[str, Any]:
    """A log as the script runs it."""
    p, log = run.posed, run.log
    (one,) = p.logs
    outputs = ("position", "current") if "current" in log else ("position",)
    system = replace(p.system, outputs=outputs)
    names, places = p.names, [p.system.states.index(name) for name in ("position", "velocity")]
    even = len(one.samples) == len(one.time)
    return {
        "plot": plot,
        "held": run.role != "training",
        "kernel": kernels.place(system),
        **layout(system),
        "P": [float(v) for v in p.parameters_of(p.first)[0]],
        "S": [float(v) for v in p.S[0]],
        "columns": [names.index(q) if q in names and q not in log.settings else -1 for q in paths],
        "n": p.substeps,
        "time": pack(one.time),
        "asked": [pack(column) for column in one.inputs.T],
        "restarts": [[begin.sample, *p.S[k, places].tolist()] for k, begin in enumerate(one.stretches) if k],
        "samples": None if even else [int(k) for k in one.samples],
        "measured": pack(np.asarray(log["position"], float), short=True),
    }


def markup(live: LivePanel, index: int) -> str:
    """The panel over the figures."""
    rows = "\n".join(_slider(s, f"live-{index}-{k}") for k, s in enumerate(live.sliders))
    signs = {t.sign: re.sub("^rung ", "", t.text) for s in live.sliders for t in s.ticks}
    key = " ".join(
        f'<span class="key"><b class="sign {"sheet" if sign == "s" else "rung"}">{sign}</b>'
        f" {escape(text)}</span>"
        for sign, text in sorted(signs.items(), key=lambda one: one[0] != "s")
    )
    key = f'<span class="key"><b class="sign fit"></b> the fit</span> {key}'
    who = signs.get("s", "")
    as_who = "As stated before" if who == "stated" else f"As in {who}"
    buttons = '<button type="button" data-to="fit" disabled>Back to the fit</button>'
    if who:
        buttons += f'<button type="button" data-to="stated">{escape(as_who)}</button>'
    return f"""<div class="live" id="live-{index}" hidden>
<div class="live-head"><output class="live-error" aria-live="off"></output>
<span class="live-buttons">{buttons}</span>
</div>
<details><summary>Move the numbers ({len(live.sliders)} slider{"s" * (len(live.sliders) != 1)})</summary>
<div class="live-sliders" role="group" aria-label="Fitted numbers">
{rows}
<p class="note">{key} {escape(live.note)}</p>
</div>
</details>
<p class="unseen" role="status"></p>
</div>"""


def _slider(s: Slider, name: str) -> str:
    unit = f" {unit_text(s.unit)}".rstrip()
    ends = min(max(s.share(s.low), 0.0), 1.0), min(max(s.share(s.high), 0.0), 1.0)
    band = (
        f'<i class="band" style="{_place(ends[0])};width:calc((100% - 18px) * {ends[1] - ends[0]:.4f})"></i>'
    )
    ticks = "".join(
        f'<i class="tick {"sheet" if t.sign == "s" else "rung"}" style="{_place(s.share(t.at))}"'
        f' title="{escape(t.text)} {number(t.at)}{escape(unit)}">{t.sign}</i>'
        for t in s.ticks
    )
    return f"""<div class="slider">
<label for="{name}" title="{escape(s.path)}">{escape(title(s.path))}</label>
<output for="{name}" id="{name}-now">{number(s.value)}{escape(unit)}</output>
<div class="track">{band}<i class="tick fit" style="{_place(s.share(s.value))}"></i>
<input type="range" id="{name}" min="0" max="1000" step="1" value="{round(1000 * s.share(s.value))}"
 aria-valuetext="{number(s.value)}{escape(unit)}" aria-describedby="{name}-said">{ticks}</div>
<span class="unseen" id="{name}-said">{escape(s.words)}</span>
</div>"""


def _place(share: float) -> str:
    """Where the middle of the thumb is at this share of the way."""
    return f"left:calc(9px + (100% - 18px) * {share:.4f})"
