"""The friction ladder: fit every rung, judge each on logs it never saw,
and take the simplest that is as good as the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.fit import Fit, Tried
from ..data.log import Log, actuator_and_logs
from ..data.sheets.datasheet import Datasheet
from ..errors import BackemfError, InvalidValue
from ..model.actuator import Actuator
from ..tables import table
from .fit import Progress, fit
from .frictions import LADDER, with_friction
from .residual import fitted_drive
from .select import KEYS


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One friction model on the ladder."""

    name: str
    fit: Fit | None
    reason: str = ""
    """Why there is no fit."""

    @property
    def held_out(self) -> float:
        return np.inf if self.fit is None or self.fit.held_out_mae is None else self.fit.held_out_mae

    @property
    def standard_error(self) -> float:
        if self.fit is None or len(self.fit.held_out) < 2:
            return 0.0
        errors = np.array(list(self.fit.held_out.values()))
        return float(np.std(errors, ddof=1) / np.sqrt(len(errors)))

    def tried(self, chosen: bool) -> Tried:
        """What the chosen fit remembers of this rung."""
        f = self.fit
        return Tried(
            friction=self.name,
            n_parameters=None if f is None else len(f.parameters),
            training_mae=None if f is None else f.training_mae,
            held_out_mae=None if f is None else f.held_out_mae,
            standard_error=self.standard_error,
            chosen=chosen,
            reason=self.reason,
        )


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Every rung with its fit, and the one chosen."""

    rungs: tuple[Rung, ...]
    chosen: str
    held_out: str
    """In words, what the rungs were judged on."""

    @property
    def fit(self) -> Fit:
        """The chosen rung's fit, which remembers the others."""
        chosen = next(r.fit for r in self.rungs if r.name == self.chosen)
        assert chosen is not None
        tried = tuple(r.tried(r.name == self.chosen) for r in self.rungs)
        return replace(chosen, rungs=tried, judged_on=self.held_out)

    def __str__(self) -> str:
        rows = []
        before = None
        for r in self.rungs:
            if r.fit is None:
                rows.append((r.name, "-", "-", "-", "-", r.reason))
                continue
            bought = "-" if before is None else f"{100 * (1 - r.held_out / before):+.1f} %"
            before = min(r.held_out, before) if before is not None else r.held_out
            n, trained = str(len(r.fit.parameters)), f"{1e3 * r.fit.training_mae:.3f}"
            held = f"{1e3 * r.held_out:.3f} +- {1e3 * r.standard_error:.2f}"
            rows.append((r.name, n, trained, held, bought, "chosen" if r.name == self.chosen else ""))
        unit = "mrad" if self.fit.actuator.motion == "rotary" else "mm"
        head = ("friction", "parameters", f"fitted [{unit}]", f"held out [{unit}]", "better than before", "")
        return (
            f"Judged on {self.held_out}.\n\n{table(rows, head)}\n\nThe simplest within one standard error of"
            f" the best: {self.chosen}."
        )


def default_hold_out(logs: Sequence[Log]) -> tuple[Any, str]:
    """Logs to judge on where nobody says: those of the middle gain, or else mass,
    where most logs have another; or every fourth log."""
    for key in ("gain", "mass"):
        values = sorted({KEYS[key](log) for log in logs if KEYS[key](log) is not None})
        middle = values[(len(values) - 1) // 2] if len(values) >= 3 else None
        if middle is not None and sum(KEYS[key](log) == middle for log in logs) <= 0.6 * len(logs):
            return [{key: middle}], f"the logs with {key} {middle:g}"
    if len(logs) < 4:
        raise InvalidValue(
            f"{len(logs)} logs are too few to hold some out; record more, or name hold_out yourself"
        )
    names = [log.name for log in logs][1::4]
    return names, f"every fourth log ({len(names)} of {len(logs)})"


def ladder(
    actuator: Actuator,
    logs: Sequence[Log],
    *,
    rungs: Sequence[str] = LADDER,
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = None,
    hold_out: Any = None,
    n_starts: int = 3,
    seed: int = 0,
    progress: Progress | None = None,
    **more: Any,
) -> Ladder:
    """Fit each friction of the ladder and judge it on held-out logs;
    each rung starts from the last one's winding and drag."""
    actuator, logs = actuator_and_logs("ladder", actuator, logs)
    if hold_out is None:
        hold_out, words = default_hold_out(logs)
    else:
        words = f"the logs held out ({hold_out})"
    climbed: list[Rung] = []
    start = actuator
    also = [*more.pop("also", ()), *(["drive.firmware_gain"] if fitted_drive(actuator, logs)[1] else [])]
    asked = {"prior": prior, "hold_out": hold_out, "n_starts": n_starts, "seed": seed, **more}
    for k, name in enumerate(rungs):

        def note(text: str, cost: float, share: float, k: int = k, name: str = name) -> None:
            if progress is not None:
                progress(f"{name}: {text}", cost, (k + share) / len(rungs))

        try:
            one = fit(with_friction(start, name), logs, progress=note, also=also, **asked)
            climbed.append(Rung(name=name, fit=one))
            if one.held_out_mae is not None and one.held_out_mae <= min(r.held_out for r in climbed):
                start = one.actuator
        except (BackemfError, np.linalg.LinAlgError) as error:
            climbed.append(Rung(name=name, fit=None, reason=str(error)))
    best = min(climbed, key=lambda r: r.held_out)
    if best.fit is None:
        raise InvalidValue(f"no rung could be fitted: {best.reason}")
    n = len(best.fit.held_out)
    floor = 0.1 * best.held_out / np.sqrt(n)  # a standard error of a few logs is itself uncertain
    limit = best.held_out + max(best.standard_error, floor)
    good = [r for r in climbed if r.fit is not None and r.held_out <= limit]
    chosen = min(good, key=lambda r: len(r.fit.parameters) if r.fit is not None else 99)
    return Ladder(rungs=tuple(climbed), chosen=chosen.name, held_out=words)
