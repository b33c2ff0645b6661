"""The friction ladder: fit every rung, judge each on logs it never saw,
and take the simplest that is as good as the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..datasheets.datasheet import Datasheet
from ..errors import BackemfError, InvalidValue
from ..logs.log import Log, actuator_and_logs
from ..physics.actuator import Actuator
from ..results.fit import Fit, Tried
from ..tables import table
from .bench_numbers import words
from .check import inspection
from .fit import climb_of, run_fit
from .fit_findings import of_search
from .frictions import LADDER
from .holdout import KEYS, split
from .optimize import Progress
from .options import FitOptions, SearchCache


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One friction model on the ladder."""

    name: str
    fit: Fit | None
    reason: str = ""
    """Why there is no fit."""

    errors: Mapping[str, float] = field(default_factory=dict)
    """Error of each log while it was held out."""

    @property
    def held_out(self) -> float:
        return float(np.mean(list(self.errors.values()))) if self.errors else np.inf

    @property
    def standard_error(self) -> float:
        """Of the held-out error, over the logs."""
        errors = np.array(list(self.errors.values()))
        return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.inf

    @property
    def untold(self) -> tuple[str, ...]:
        """Numbers of its friction that the logs do not tell."""
        if self.fit is None:
            return ()
        return tuple(
            path
            for path, p in self.fit.parameters.items()
            if path.startswith("friction.") and p.told_by == "prior" and p.value > 0
        )

    def tried(self, chosen: bool) -> Tried:
        """What the chosen fit remembers of this rung."""
        f = self.fit
        return Tried(
            friction=self.name,
            n_parameters=None if f is None else len(f.parameters),
            training_mae=None if f is None else f.training_mae,
            held_out_mae=None if f is None else self.held_out,
            standard_error=self.standard_error if np.isfinite(self.standard_error) else 0.0,
            chosen=chosen,
            reason=self.reason,
            parameters={} if f is None else {name: p.value for name, p in f.parameters.items()},
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
            error = f" +- {1e3 * r.standard_error:.2f}" if np.isfinite(r.standard_error) else ""
            held = f"{1e3 * r.held_out:.3f}{error}"
            rows.append((r.name, n, trained, held, bought, "chosen" if r.name == self.chosen else ""))
        unit = "mrad" if self.fit.actuator.motion == "rotary" else "mm"
        head = ("friction", "parameters", f"fitted [{unit}]", f"held out [{unit}]", "better than before", "")
        return (
            f"Judged on {self.held_out}.\n\n{table(rows, head)}\n\nThe simplest that is as good as the best,"
            f" log by log: {self.chosen}."
        )


STOPPED = "the ladder was interrupted before it"
"""Why there is no fit of a rung that nobody waited for."""
FEWEST_GROUPS = 3
"""Groups of held-out logs below which one log's luck would choose: then every group is held out in turn."""
MOST_FOLDS = 4


def default_hold_out(logs: Sequence[Log]) -> tuple[Any, str]:
    """Logs to judge on where nobody says: those of the middle gain, or else mass,
    where most logs have another; or every fourth log."""
    for key in ("gain", "mass"):
        values = sorted({KEYS[key](log) for log in logs if KEYS[key](log) is not None})
        middle = values[(len(values) - 1) // 2] if len(values) >= 3 else None
        if middle is not None and sum(KEYS[key](log) == middle for log in logs) <= 0.6 * len(logs):
            return [{key: middle}], f"the logs with {key} {middle:g}"
    if len(logs) < 2:
        raise InvalidValue(
            f"{len(logs)} log is too little to hold some out; record more, or name hold_out yourself"
        )
    names = [log.name for log in logs][1 :: min(4, len(logs))]
    return names, f"every fourth log ({len(names)} of {len(logs)})" if len(logs) >= 4 else "one log"


def in_words(hold_out: Any) -> str:
    """What is held out, as a person says it: "gain 16", "name log 2"."""
    if isinstance(hold_out, Mapping):
        return " and ".join(
            f"{key} {value:g}" if isinstance(value, (int, float)) else f"{key} {value}"
            for key, value in hold_out.items()
        )
    if isinstance(hold_out, (list, tuple)):
        return ", ".join(map(in_words, hold_out))
    return "those of a function" if callable(hold_out) else str(hold_out)


def folds_of(logs: Sequence[Log], hold_out: Any) -> tuple[list[list[str]], str]:
    """Groups of log names to hold out in turn: the one that was asked for where it holds enough groups, or
    else every group of the training logs as well."""
    _, judged = split(logs, hold_out)
    groups = grouped(logs)
    told = [name for name in groups if all(log in judged for log in groups[name])]
    if len(told) >= FEWEST_GROUPS or len(judged) >= FEWEST_GROUPS + 1 or len(groups) < 2:
        return [[log.name for log in judged]], ""
    parts = [[log.name for log in members] for members in groups.values()]
    while len(parts) > MOST_FOLDS:  # the smallest together
        parts.sort(key=len)
        parts = [parts[0] + parts[1], *parts[2:]]
    return parts, f"{len(parts)} groups of logs, each held out in turn"


def grouped(logs: Sequence[Log]) -> dict[Any, list[Log]]:
    """Logs by rig and settings; each by itself where all are of one."""
    groups: dict[Any, list[Log]] = {}
    for log in logs:
        rig = None if log.bench is None else words(log.bench)
        groups.setdefault((rig, tuple(sorted(log.settings.items()))), []).append(log)
    return groups if len(groups) > 1 else {log.name: [log] for log in logs}


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
    apply: bool = False,
    **more: Any,
) -> Ladder:
    """Fit each friction of the ladder and judge it on held-out logs; each rung starts from what the rungs
    that it contains found. Where fewer than three groups of logs would be held out, every group is in
    turn."""
    actuator, logs = actuator_and_logs("ladder", actuator, logs)
    _, looked = inspection(actuator, logs, more.get("free_paths"), prior)
    logs = looked.mended if apply else looked.logs
    if hold_out is None:
        hold_out, words_ = default_hold_out(logs)
    else:
        words_ = f"the logs held out ({in_words(hold_out)})"
    options = {"prior": prior, "n_starts": n_starts, "seed": seed, **more}
    folds, turned = folds_of(logs, hold_out)
    asked = [hold_out, *(fold for fold in folds if turned)]
    climbs = [climb_of(actuator, split(logs, held)[0], **options) for held in asked]
    climbed: list[Rung] = []
    for k, name in enumerate(rungs):

        def note(text: str, cost: float, share: float, k: int = k, name: str = name) -> None:
            if progress is not None:
                progress(f"{name}: {text}", cost, (k + share) / len(rungs))

        try:
            fits = [
                run_fit(
                    actuator,
                    logs,
                    FitOptions(friction=name, hold_out=held, progress=note, inspect=False, **options),
                    SearchCache(climb=climb),
                )
                for held, climb in zip(asked, climbs, strict=True)
            ]
            if any(f.code == "interrupted" for one in fits for f in one.findings):
                raise KeyboardInterrupt
            errors = {n: e for one in (fits[1:] or fits) for n, e in one.held_out.items()}
            climbed.append(Rung(name=name, fit=fits[0], errors=errors))
        except (BackemfError, np.linalg.LinAlgError) as error:
            climbed.append(Rung(name=name, fit=None, reason=str(error)))
        except KeyboardInterrupt:
            if all(rung.fit is None for rung in climbed):
                raise
            climbed += [Rung(name=rest, fit=None, reason=STOPPED) for rest in rungs[k:]]
            break
    chosen = simplest(climbed)
    options |= {"apply": apply, "friction": chosen.name, "hold_out": hold_out, "progress": progress}
    best = run_fit(actuator, logs, FitOptions(**options), SearchCache(climb=climbs[0], looked=looked))
    if climbed[-1].reason == STOPPED:
        best = replace(best, findings=(*best.findings, *of_search(guessed=False, interrupted=True)))
    climbed = [replace(r, fit=best) if r.name == chosen.name else r for r in climbed]
    return Ladder(rungs=tuple(climbed), chosen=chosen.name, held_out=turned or words_)


def simplest(climbed: Sequence[Rung]) -> Rung:
    """The rung with the fewest numbers that is as good as the best, by how each log judges the two; one with
    numbers that the logs do not tell only where no other is left."""
    best = min(climbed, key=lambda r: r.held_out)
    if best.fit is None:
        raise InvalidValue(f"no rung could be fitted: {best.reason}")
    good = [r for r in climbed if r.fit is not None and as_good(r, best)]
    told = [r for r in good if not r.untold]
    return min(told or good, key=_size)


def _size(rung: Rung) -> tuple[int, float]:
    """How many numbers a rung has that was fitted, and its error."""
    assert rung.fit is not None
    return len(rung.fit.parameters), rung.held_out


def as_good(one: Rung, best: Rung) -> bool:
    """Whether a rung is within one standard error of the best, log by log: what both find hard cancels."""
    pairs = np.array([(one.errors[n], e) for n, e in best.errors.items() if n in one.errors])
    worse = pairs[:, 0] - pairs[:, 1]
    # a standard error of a few logs is itself uncertain
    floor = 0.1 * best.held_out / np.sqrt(len(worse))
    error = float(np.std(worse, ddof=1) / np.sqrt(len(worse))) if len(worse) > 1 else 0.0
    return bool(np.mean(worse) <= max(error, floor))
