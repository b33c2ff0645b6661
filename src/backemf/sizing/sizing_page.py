"""The answer of `size` as a page: the verdict, mass against loss, and a table that can be filtered."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence

from .. import __version__
from ..figure import Block, Drawing, Findings, Page, Paragraph, Section, Table, note
from ..tables import number
from .choice import HEADS, Choice, Sizing, check_line, choice_name, error_words, not_judged_words, used_limits
from .judge import LIMITS


def sizing_page(sizing: Sizing) -> Page:
    """The whole page.

    Args:
        sizing: what `size` found.
    """
    today = datetime.date.today().isoformat()
    origin = f"Written by backemf {__version__} on {today}."
    title = f"{sizing.task.name}: motor and gears"
    return Page(title=title, note=origin, sections=[*_sections(sizing)])


def _sections(sizing: Sizing) -> Iterator[Section]:
    lead = Paragraph(text=sizing.headline().replace("\n", ". "), kind="lead")
    blocks: list[Block] = [lead]
    if sizing.findings:
        blocks.append(Findings(findings=sizing.findings))
    yield Section(key="summary", title="Summary", blocks=blocks)
    picture = sizing.figure()
    text = "Each point is a motor with its gears; along the line none is lighter and loses less."
    yield Section(key="picture", title="Picture", blocks=[Drawing(figure=picture, text=text)])
    shown = {(c.motor, c.gearhead): c for c in (*sizing.choices, *sizing.further, *sizing.pareto)}
    if shown:
        yield Section(key="choices", title="Choices", blocks=[*_choices([*shown.values()])])
    checks = [check_line(c).strip() for c in sizing.choices if c.check is not None]
    if checks:
        told = Paragraph(text="Whole actuator, load and heat; in brackets what the closed form says.")
        yield Section(key="simulated", title="Simulated in full", blocks=[told, *map(note, checks)])
    rows = [(name, f"{n:,}") for name, n in sizing.killed.items() if n]
    out: list[Block] = [Table(head=("limit", "combinations"), rows=rows)] if rows else []
    if sizing.not_judged:
        lines = not_judged_words(sizing.not_judged, most=1000).splitlines()[1:]
        out += [Paragraph(text="Not judged", kind="heading"), *(note(line.strip(" -")) for line in lines)]
    if out:
        yield Section(key="ruled-out", title="Ruled out", blocks=out)


def _choices(choices: Sequence[Choice]) -> Iterator[Block]:
    used = used_limits(choices)
    head = ("motor", "gearhead", "ratio", "kg", "loss [W]", "drawn [W]", "price", "binds")
    head = (*head, *(f"{HEADS[k]} [%]" for k in used))
    rows = [
        (
            *(c.motor, c.gearhead or "-"),
            *(_cell(c.numbers[n]) for n in ("ratio", "mass", "loss", "drawn_without_regeneration", "price")),
            c.binding,
            *(_cell(100.0 * c.uses[LIMITS[k]]) for k in used),
        )
        for c in choices
    ]
    names = ", ".join(f"{HEADS[k]}: {LIMITS[k]}" for k in used)
    text = f"The best, and those that none beats in mass and loss. Use of each limit: {names}."
    yield Table(head=head, rows=rows, caption=text, filtered=True)
    errors = [f"{choice_name(c)}: {words}" for c in choices[:10] if (words := error_words(c))]
    yield from map(note, errors)


def _cell(value: float) -> str:
    return number(value, 3) if math.isfinite(value) else "-"
