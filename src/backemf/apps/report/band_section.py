"""The section of a report that holds bands against recordings that were never fitted: what was said of each,
what came true, and where they lie among the draws that one trains on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import NotAvailable
from ...figure import Block, Curve, Drawing, Figure, Findings, Panel, Region, Table, missing, note
from ...results.fit_result import PredictedMotion
from ...results.variation import rank_histogram, variation_in
from .contents import Report

N_RANKS = 10
"""Parts of the histogram of ranks."""
READING = (
    "Recorded samples by how many of the draws lie below them. Even: recordings lie among the draws as often"
    " as they should. High at both ends: the draws are too narrow; high in the middle: too wide; high at one"
    " end: the model is off to that side."
)


def bands(report: Report) -> Iterator[Block]:
    """Bands of every recording that was not fitted, and what they came to.

    Args:
        report: of a servo or a robot.

    Returns:
        A table, the histogram of ranks, and what stands against it.
    """
    try:
        variation = variation_in(report.fit)
    except NotAvailable as refused:
        yield missing(f"{str(refused).rstrip('.')}.")
        return
    motions = [motion for motion in report.motions if motion.has_band]
    nearer = ""
    if variation.n_shrunk:
        nearer = (
            f" Of {len(variation.members)} draws {variation.n_shrunk} would have left the fitted recordings,"
            " and were drawn nearer."
        )
    yield note(
        f"A band reaches {variation.factor:.2f} stated deviations to either side: it takes so many to hold"
        f" what was left out, {variation.left_out}.{nearer}"
    )
    if not motions:
        yield missing("No recording that was not fitted: hold some out (--hold-out), or give others.")
        return
    unit = report.unit
    head = ("recording", f"off by [{unit}]", f"expected [{unit}]", f"band, half [{unit}]", "inside the band")
    yield Table(head=head, rows=[_row(motion) for motion in motions], caption="Mean absolute errors")
    found = {f.text: f for motion in motions for f in motion.findings}
    if found:
        yield Findings(findings=[*found.values()])
    yield Drawing(figure=_ranks(motions), heading="Where recordings lie among the draws", text=READING)


def _row(motion: PredictedMotion) -> tuple[str, ...]:
    expected, off, inside = motion.expected.mae, motion.mean_absolute(), motion.inside()
    half = float(np.mean([np.mean(motion.band.half(joint)) for joint in motion.joints]))
    seen = "-" if np.isnan(inside) else f"{100 * inside:.0f} %"
    cells = (f"{1e3 * x:.3g}" if np.isfinite(x) else "-" for x in (off, expected, half))
    return motion.log.name, *cells, seen


def _ranks(motions: Sequence[PredictedMotion]) -> Figure:
    counts = np.sum([rank_histogram(motion, N_RANKS) for motion in motions], axis=0)
    shares = 100 * counts / max(counts.sum(), 1)
    x = np.repeat(np.linspace(0, 100, N_RANKS + 1), 2)[1:-1]
    y = np.repeat(shares, 2)
    even = Curve(x=[0, 100], y=[100 / N_RANKS] * 2, label="even", style="dashed", color=0)
    panel = Panel(
        lines=[Curve(x=x, y=y, color=2), even],
        regions=[Region(x=x, low=0 * y, high=y, label="recorded samples", color=2)],
        x_label="draws below the sample [%]",
        y_label="share of samples [%]",
        y_range=(0.0, 1.1 * max(float(shares.max()), 200 / N_RANKS)),
    )
    return Figure(title="Ranks among the draws", panels=[panel])
