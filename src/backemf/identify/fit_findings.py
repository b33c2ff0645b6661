"""What stands against a fit, or is worth knowing of it:
parameters, pairs of them, errors, and the search; each with its remedy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..data.fit import Found
from ..findings import Finding
from .residual import Problem

TIED = 0.98
"""Correlation from which on two parameters are only known together."""


def of_parameters(p: Problem, x: np.ndarray, found: Mapping[str, Found]) -> list[Finding]:
    """Parameters at a bound, left where they were, or away from what was stated."""
    notes = []
    low, high = p.free.bounds()
    for k, q in enumerate(p.free.parameters):
        one = found[q.path]
        if x[k] >= high[k] - 1e-6 or (q.signed and x[k] <= low[k] + 1e-6):
            text = f"{q.path} ended at its bound, {one.value:.4g} {q.unit}."
            notes.append(
                Finding(
                    code="at_bound",
                    text=text,
                    remedy="widen its bounds, or fix it",
                    numbers={"value": one.value},
                )
            )
        if one.told_by == "prior" and not q.path.startswith("bench."):
            where = "where the datasheet or the caller put it" if one.prior is not None else "near its start"
            text = f"{q.path} is not told by these logs; it stays {where}, {one.value:.4g} {q.unit}."
            notes.append(
                Finding(
                    code="not_identifiable",
                    text=text,
                    remedy="see `backemf check` for what to record",
                    numbers={"value": one.value},
                )
            )
        if one.prior is not None and abs(one.value - one.prior[0]) > 3 * math.hypot(one.error, one.prior[1]):
            text = (
                f"{q.path} is {one.value:.4g} by the logs and {one.prior[0]:.4g} +- {one.prior[1]:.2g}"
                f" {q.unit} by the sheet."
            )
            remedy = "trust the logs for this unit; check the sheet's conditions"
            notes.append(
                Finding(
                    code="sheet_disagrees",
                    text=text,
                    remedy=remedy,
                    numbers={"fitted": one.value, "sheet": one.prior[0]},
                )
            )
    return notes


def of_pairs(paths: Sequence[str], correlation: np.ndarray) -> list[Finding]:
    """Parameters that move together; the first five pairs."""
    notes = []
    tied = [(i, j) for i in range(len(paths)) for j in range(i) if abs(correlation[i, j]) > TIED]
    for i, j in tied[:5]:
        text = (
            f"{paths[j]} and {paths[i]} move together (correlation {correlation[i, j]:.3f}): their"
            " combination is known better than either."
        )
        remedy = "fix one, give a prior, or record what separates them"
        notes.append(
            Finding(
                code="correlated", text=text, remedy=remedy, numbers={"correlation": float(correlation[i, j])}
            )
        )
    return notes


def of_errors(training: Mapping[str, float], held: Mapping[str, float], times_noise: float) -> list[Finding]:
    """Errors on logs that were held out, and errors beyond the recording's noise."""
    notes = []
    ratio = float(np.mean(list(held.values())) / np.mean(list(training.values()))) if held else 0.0
    if ratio > 1.5:
        text = f"the error on held-out logs is {ratio:.2g} times that on the fitted ones."
        remedy = "try a simpler friction model, or fit logs that cover these conditions"
        notes.append(Finding(code="worse_held_out", text=text, remedy=remedy, numbers={"ratio": ratio}))
    if times_noise > 3:
        text = f"errors are {times_noise:.2g} times the noise of the recording: the model misses something."
        notes.append(
            Finding(
                code="model_error",
                text=text,
                remedy="try the friction ladder, a delay, or a thermal part",
                numbers={"ratio": times_noise},
            )
        )
    return notes


def of_search(guessed: bool, interrupted: bool) -> list[Finding]:
    """A firmware gain that nobody printed, and a search that did not end by itself."""
    notes = []
    if guessed:
        text = "nobody printed this servo's firmware gain; it was fitted along, from a usual value."
        remedy = (
            "measure it with an oscilloscope (`backemf measure firmware-gain`): it and K/R act alike where"
            " the voltage is not at its limit"
        )
        notes.append(Finding(code="firmware_gain_fitted", text=text, remedy=remedy))
    if interrupted:
        notes.append(
            Finding(
                code="interrupted",
                text="the search was interrupted; this is the best so far.",
                remedy="let it run for all starts",
            )
        )
    return notes
