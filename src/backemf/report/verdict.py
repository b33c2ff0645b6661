"""The verdict on a fit, in two sentences: how far off it is where it was not fitted,
and what stands against using it."""

from __future__ import annotations

from ..data.fit import Fit

GOOD, FAIR = 2.0, 10.0
"""Times the noise floor up to which an error on unseen logs is good, or fair."""
SERIOUS = ("at_bound", "model_error", "worse_held_out", "interrupted")
"""Findings that no good fit has, the worst first."""
GRAVE = (
    *SERIOUS,
    "clock_drift",
    "delay",
    "sheet_disagrees",
    "mounting_angle",
    "not_identifiable",
    "correlated",
    "firmware_gain_fitted",
)
"""Findings of a fit, the worst first; before them all comes what is wrong with the bench or the sheet."""


def serious(code: str) -> bool:
    """Whether no good fit has this finding: one of those, or something stated that is wrong."""
    return code in SERIOUS or code.startswith("wrong_")


def _rank(code: str) -> int:
    if code.startswith("wrong_"):
        return -1
    return GRAVE.index(code) if code in GRAVE else len(GRAVE)


def level(fit: Fit) -> str:
    """'good', 'fair' or 'poor'."""
    codes = {f.code for f in fit.findings}
    error = fit.held_out_mae if fit.held_out_mae is not None else fit.training_mae
    ratio = error / fit.noise_floor if fit.noise_floor > 0 else float("inf")
    if ratio > FAIR and {"model_error", "worse_held_out"} & codes:
        return "poor"
    return "fair" if ratio > GOOD or fit.held_out_mae is None or any(map(serious, codes)) else "good"


def verdict(fit: Fit) -> tuple[str, str]:
    """Two sentences."""
    unit = "mrad" if fit.actuator.motion == "rotary" else "mm"
    word = {"good": "Ready to use", "fair": "Use with care", "poor": "Not to be trusted yet"}[level(fit)]
    held, trained = fit.held_out_mae, fit.training_mae
    n = len(fit.training)
    if held is None:
        on = "log" if n == 1 else f"{n} logs"
        off = f"{1e3 * trained:.3g} {unit} on average, {_noise(trained, fit)}"
        first = f"{word}: on the {on} it was fitted to, the model is off by {off}; no log was held out"
    else:
        first = (
            f"{word}: on {_logs(len(fit.held_out))} it never saw, the model is off by {1e3 * held:.3g} {unit}"
            f" on average, {_noise(held, fit)} ({1e3 * trained:.3g} {unit} on the {'one' if n == 1 else n} it"
            " was fitted to)"
        )
    told = sum(p.told_by != "prior" for p in fit.parameters.values())
    second = f"{told} of {len(fit.parameters)} parameters are told by the logs"
    worst = sorted(fit.findings, key=lambda f: _rank(f.code))
    if worst:
        rest = "" if len(worst) == 1 else f" (the first of {len(worst)} findings)"
        second += f"; {worst[0].text.rstrip('.')}{rest}: {worst[0].remedy.rstrip('.')}"
    else:
        second += ", and nothing was found that stands against using them"
    return f"{first}.", f"{second}."


def _logs(n: int) -> str:
    return "a log" if n == 1 else f"{n} logs"


def _noise(error: float, fit: Fit) -> str:
    if fit.noise_floor <= 0:
        return "with no noise to compare it with"
    ratio = error / fit.noise_floor
    return f"{'no more than' if ratio < 1.15 else f'{ratio:.2g} times what'} noise alone would leave"
