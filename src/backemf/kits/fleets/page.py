"""The report of a fleet, as data: what units share, which do not belong, and how they change."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from ... import __version__
from ...figure import Block, Drawing, Findings, Page, Paragraph, Section, Table, missing, note
from ...findings import Finding
from ...results.population import Population
from ...tables import interval, number
from . import figures
from .fleet import Fleet
from .folder import FleetStatus, failures
from .summary import FleetSummary, summarize

MOST = 20
"""Units that a table lists."""


def fleet_page(fleet: Fleet, name: str = "") -> Page:
    """The whole page.

    Args:
        fleet: with its units fitted.
        name: of the line, in the title.
    """
    summary, status, asked = summarize(fleet, name), fleet.status, fleet.asked
    title = f"{summary.population.name}: {status.n_units} units"
    today = datetime.date.today().isoformat()
    friction = summary.population.actuator.friction.name
    origin = (
        f"Written by backemf {__version__} on {today}. Units by {asked.by}, started from"
        f" {Path(asked.start).name or 'an actuator'}, friction {friction}; {status.cpu_s:.3g} s of CPU."
    )
    lost = list(failures(fleet.folder))
    parts = [
        _summary(summary, status),
        _shared_section(summary.population),
        _distributions(summary),
        _pairs(summary),
        _worst(summary, lost),
        _ageing(summary),
    ]
    return Page(title=title, note=origin, sections=parts)


def _summary(summary: FleetSummary, status: FleetStatus) -> Section:
    n, odd, moved = status.fitted, len(summary.odd), len({change.unit for change in summary.changes})
    text = f"{n} of {status.n_units} units fitted, {status.failed} failed, {status.left} left."
    belong = (
        "Every unit belongs to the others"
        if not odd
        else f"{odd} unit{'s do' if odd > 1 else ' does'} not belong"
    )
    change = (
        "none changes" if not moved else f"{moved} change{'s' if moved == 1 else ''} with time or temperature"
    )
    lead = f"{text} {belong}; {change}."
    blocks: list[Block] = [Paragraph(text=lead, kind="lead")]
    if summary.population.findings:
        blocks.append(Findings(findings=summary.population.findings))
    return Section(key="summary", title="Summary", blocks=blocks)


def _shared_section(shared: Population) -> Section:
    rows = []
    for path, p in shared.parameters.items():
        k = 100 * p.as_share
        spread = number(p.spread, 2) if p.signed else f"{k * p.spread:.2g} %"
        ends = interval(p.spread_low, p.spread_high)
        ends = ends if p.signed else f"{interval(k * p.spread_low, k * p.spread_high)} %"
        middle = f"{number(p.value)} ± {number(p.error, 2)}"
        rows.append((path, middle, spread, ends, interval(*shared.range(path)), p.unit))
    head = ("parameter", "middle", "spread", "95 % interval", "95 % of units", "unit")
    text = (
        "The middle unit, and the standard deviation from unit to unit with the errors of the fits taken out."
    )
    blocks: list[Block] = [Paragraph(text=text), Table(head=head, rows=rows)]
    if shared.left_out:
        blocks.append(note(f"Too few units' logs tell: {', '.join(shared.left_out)}."))
    return Section(key="shared", title="What the units share", blocks=blocks)


def _distributions(summary: FleetSummary) -> Section:
    figure = figures.distributions(summary.first, summary.population)
    text = "Columns are units as they were fitted. Dashed: how far units really differ."
    return Section(key="distributions", title="Distributions", blocks=[Drawing(figure=figure, text=text)])


def _pairs(summary: FleetSummary) -> Section:
    shared = summary.population
    if len(shared.parameters) < 2 or not (shared.correlation_error > 0).any():
        why = "Too few units to tell what goes together; fit more than there are parameters."
        return Section(key="pairs", title="What goes together", blocks=[missing(why)])
    clouds = figures.pairs(summary.first, shared, [one.unit for one in summary.odd])
    blocks = [
        Drawing(
            figure=figures.together(shared), text="Correlations from unit to unit, fits' errors taken out."
        ),
        Drawing(figure=clouds, text="The pairs that most surely go together, units as they were fitted."),
    ]
    return Section(key="pairs", title="What goes together", blocks=blocks)


def _worst(summary: FleetSummary, lost: Sequence[Finding]) -> Section:
    blocks: list[Block] = []
    if summary.odd:
        rows = [(o.unit, o.path, f"{o.spreads:+.1f}", f"{o.t:+.1f}", o.meaning) for o in summary.odd[:MOST]]
        head = ("unit", "what is off", "spreads", "standard errors", "it may mean")
        more = f"The first {MOST} of {len(summary.odd)}." if len(summary.odd) > MOST else ""
        blocks.append(Table(head=head, rows=rows, caption=more))
    else:
        blocks.append(Paragraph(text="Every unit belongs to the others."))
    if lost:
        blocks += [Paragraph(text="Failed", kind="heading"), Findings(findings=lost[:MOST])]
        if len(lost) > MOST:
            blocks.append(note(f"... and {len(lost) - MOST} more."))
    return Section(key="worst", title="Units that do not belong", blocks=blocks)


def _ageing(summary: FleetSummary) -> Section:
    if not any(summary.seen.sessions):
        why = "Each unit was recorded in one session. Name several: --by '{unit}/{session}/*.json'."
        return Section(key="ageing", title="Drift and jumps", blocks=[missing(why)])
    if not summary.changes:
        text = "No unit changes by more than its sessions differ anyway."
        return Section(key="ageing", title="Drift and jumps", blocks=[Paragraph(text=text)])
    figure = figures.ageing(summary.seen, summary.changes)
    said = Findings(findings=[change.finding for change in summary.changes[:MOST]])
    return Section(key="ageing", title="Drift and jumps", blocks=[Drawing(figure=figure), said])
