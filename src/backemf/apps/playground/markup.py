"""Sliders as HTML: labelled, with ticks for what else was said of a number."""

from __future__ import annotations

import re

from ...tables import number
from .document import escaped
from .panel import Live, Slider, title, unit_text


def markup(live: Live, index: int) -> str:
    """The panel over the figures."""
    rows = "\n".join(_slider(s, f"live-{index}-{k}") for k, s in enumerate(live.sliders))
    signs = {t.sign: re.sub("^rung ", "", t.text) for s in live.sliders for t in s.ticks}
    key = " ".join(
        f'<span class="key"><b class="sign {"sheet" if sign == "s" else "rung"}">{sign}</b>'
        f" {escaped(text)}</span>"
        for sign, text in sorted(signs.items(), key=lambda one: one[0] != "s")
    )
    key = f'<span class="key"><b class="sign fit"></b> the fit</span> {key}'
    who = signs.get("s", "")
    as_who = "As stated before" if who == "stated" else f"As in {who}"
    buttons = '<button type="button" data-to="fit" disabled>Back to the fit</button>'
    if who:
        buttons += f'<button type="button" data-to="stated">{escaped(as_who)}</button>'
    return f"""<div class="live" id="live-{index}" hidden>
<div class="live-head"><output class="live-error" aria-live="off"></output>
<span class="live-buttons">{buttons}</span>
</div>
<details><summary>Move the numbers ({len(live.sliders)} slider{"s" * (len(live.sliders) != 1)})</summary>
<div class="live-sliders" role="group" aria-label="Fitted numbers">
{rows}
<p class="note">{key} {escaped(live.note)}</p>
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
        f' title="{escaped(t.text)} {number(t.at)}{escaped(unit)}">{t.sign}</i>'
        for t in s.ticks
    )
    return f"""<div class="slider">
<label for="{name}" title="{escaped(s.path)}">{escaped(title(s.path))}</label>
<output for="{name}" id="{name}-now">{number(s.value)}{escaped(unit)}</output>
<div class="track">{band}<i class="tick fit" style="{_place(s.share(s.value))}"></i>
<input type="range" id="{name}" min="0" max="1000" step="1" value="{round(1000 * s.share(s.value))}"
 aria-valuetext="{number(s.value)}{escaped(unit)}" aria-describedby="{name}-said">{ticks}</div>
<span class="unseen" id="{name}-said">{escaped(s.words)}</span>
</div>"""


def _place(share: float) -> str:
    """Where the middle of the thumb is at this share of the way."""
    return f"left:calc(9px + (100% - 18px) * {share:.4f})"
