"""What stands against a fit, or is worth knowing of it:
parameters, pairs of them, errors, and the search; each with its remedy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..findings import Finding, finding
from ..results.fit import Fitted
from .problem import Problem

TIED = 0.98
"""Correlation from which on two parameters are only known together."""
NOISES = 3.0
"""Times the recording's noise from which on errors are the model's."""


def of_parameters(
    p: Problem, x: np.ndarray, fitted: Mapping[str, Fitted], wrong: Sequence[Finding]
) -> Iterator[Finding]:
    """Parameters at a bound, left where they were, or away from what was stated; `wrong` is what has been
    named already."""
    low, high = p.free.bounds()
    for k, q in enumerate(p.free.parameters):
        if q.beside:
            continue
        one = fitted[q.name]
        value = f"{one.value:.4g} {q.unit}"
        if x[k] >= high[k] - 1e-6 or (q.signed and x[k] <= low[k] + 1e-6):
            text = f"{q.path} ended at its bound, {value}."
            yield finding("at_bound", text, "widen its bounds, or fix it", value=one.value)
        away = one.prior is not None and abs(one.value - one.prior[0]) > 3 * math.hypot(
            one.error, one.prior[1]
        )
        if away and one.prior is not None and not wrong:
            stated, error = one.prior
            text = (
                f"{q.path} is {one.value:.4g} by the logs and {stated:.4g} +- {error:.2g} {q.unit} by the"
                " sheet."
            )
            remedy = "trust the logs for this unit; check the sheet's conditions"
            yield finding("sheet_disagrees", text, remedy, fitted=one.value, sheet=stated)
        elif one.told_by == "prior" and not away:
            stated = "" if one.prior is None else f" (stated: {one.prior[0]:.4g} +- {one.prior[1]:.2g})"
            text = (
                f"these logs hardly tell {q.path}: {value}{stated}, and anything from {one.low:.3g} to"
                f" {one.high:.3g} would do."
            )
            yield finding("not_identifiable", text, "see `backemf check` for what to record", value=one.value)


def of_pairs(paths: Sequence[str], correlation: np.ndarray) -> Iterator[Finding]:
    """Parameters that move together; the first five pairs."""
    tied = [(i, j) for i in range(len(paths)) for j in range(i) if abs(correlation[i, j]) > TIED]
    for i, j in tied[:5]:
        text = (
            f"{paths[j]} and {paths[i]} move together (correlation {correlation[i, j]:.3f}): their"
            " combination is known better than either."
        )
        remedy = "fix one, give a prior, or record what separates them"
        yield finding("correlated", text, remedy, correlation=float(correlation[i, j]))


def of_errors(
    training: Mapping[str, float], held: Mapping[str, float], times_noise: float
) -> Iterator[Finding]:
    """Errors on logs that were held out, and errors beyond the recording's noise."""
    ratio = float(np.mean(list(held.values())) / np.mean(list(training.values()))) if held else None
    if ratio is not None and ratio > 1.5:
        text = f"the error on held-out logs is {ratio:.2g} times that on the fitted ones."
        remedy = "fit logs that cover these conditions too"
        yield finding("worse_held_out", text, remedy, ratio=ratio)
    if times_noise > NOISES:
        text = f"errors are {times_noise:.2g} times the noise of the recording: the model misses something."
        remedy = (
            "let `--friction ladder` compare friction models on logs that are held out: it keeps what helps"
        )
        yield finding("model_error", text, remedy, ratio=times_noise)


def of_search(guessed: bool, interrupted: bool) -> Iterator[Finding]:
    """A firmware gain that nobody printed, and a search that did not end by itself."""
    if guessed:
        yield finding(
            "firmware_gain_fitted",
            "nobody printed this servo's firmware gain; it was fitted along, from a usual value.",
            "measure it with an oscilloscope (`backemf measure firmware-gain`): it and K/R act alike where"
            " the voltage is not at its limit",
        )
    if interrupted:
        text = "the search was interrupted; this is the best so far."
        yield finding("interrupted", text, "let it run for all starts")
