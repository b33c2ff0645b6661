"""Answers of `size` and `power` as pages: the verdict, pictures, and a table; choices can be filtered."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from .. import __version__
from ..figure import Block, Drawing, Findings, Page, Paragraph, Section, Table, note
from .choice import (
    HEADS,
    Choice,
    Sizing,
    check_line,
    choice_name,
    error_words,
    not_judged_words,
    percent,
    used_limits,
)
from .judge import LIMITS
from .robot_power import PowerRun


def page_of(result: Sizing | PowerRun) -> Page:
    """The whole page.

    Args:
        result: what `size` or `power` found.

    Returns:
        For `html.write`.
    """
    origin = f"Written by backemf {__version__} on {datetime.date.today().isoformat()}."
    match result:
        case Sizing():
            title, more = f"{result.task.name}: motor and gears", _sections(result)
            text = "Each point is a motor with its gears; along the line none is lighter and loses less."
        case PowerRun():
            title, more, text = f"{result.name} on its supply", _joints(result), ""
    lead = Paragraph(text=result.headline().replace("\n", ". "), kind="lead")
    said = [Findings(findings=result.findings)] if result.findings else []
    first = Section(key="summary", title="Summary", blocks=[lead, *said])
    picture = Section(key="picture", title="Picture", blocks=[Drawing(figure=result.figure(), text=text)])
    return Page(title=title, note=origin, sections=[first, picture, *more])


def _joints(run: PowerRun) -> Iterator[Section]:
    head, rows = run.cells()
    notes = [note(line.strip(" -")) for line in run.notes()]
    yield Section(key="joints", title="Joints", blocks=[Table(head=head, rows=rows), *notes])


def _sections(sizing: Sizing) -> Iterator[Section]:
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
    head = (
        "motor",
        "gearhead",
        "kind",
        "ratio",
        "kg",
        "loss [W]",
        "drawn [W]",
        "net [W]",
        "inertia [kg m^2]",
    )
    head = (*head, "price", "binds", *(f"{HEADS[k]} [%]" for k in used))
    numbers = ("ratio", "mass", "loss", "drawn_without_regeneration", "drawn", "reflected_inertia", "price")
    rows = [
        (
            *(c.motor, c.gearhead or "-", (c.gears and c.gears.sort) or "-"),
            *(c.cell(n, "-") for n in numbers),
            c.binding,
            *(percent(c, LIMITS[k]).strip("*?") or "-" for k in used),
        )
        for c in choices
    ]
    names = ", ".join(f"{HEADS[k]}: {LIMITS[k]}" for k in used)
    text = (
        "The best, and those that none beats in mass and loss, or in price and loss. Drawn is without"
        f" regeneration, net with it; inertia is the rotor's, seen from the load. Use of each limit: {names}."
    )
    yield Table(head=head, rows=rows, caption=text, filtered=True)
    errors = [f"{choice_name(c)}: {words}" for c in choices[:10] if (words := error_words(c))]
    yield from map(note, errors)
