"""Report: everything there is to say about a fit, computed once, as data;
`html` sets it on a page, `summary` is its JSON."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import __version__
from ...datasheets.datasheet import Datasheet
from ...errors import BackemfError
from ...identify.predict import ROLES, Prediction, as_found, role, run
from ...logs.log import Log
from ...physics.bench import Bench
from ...physics.quantity import quantities
from ...results.fit import Fit, FittedLog
from ...results.reread import stored_logs as stored_logs
from ...tables import number
from .exported import Exported, exports, n_steps
from .stated import Compared, parameters, performance
from .verdict import ATTACHED, Deployed, deployed, level, verdict

SIMULATED = re.compile(r"(motor|trajectory) .*simulat|'simulated' = true", re.IGNORECASE)
"""How a recording's own notes say that it was simulated."""


@dataclass(frozen=True, kw_only=True)
class LogRow:
    """One log: what it was, how far off the model is, or why that is not known."""

    name: str
    role: str
    bench: str
    duration: float | None = None
    rate: float | None = None
    n_samples: int | None = None
    settings: dict[str, float] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    simulated: bool = False
    error: float | None = None
    stored: float | None = None
    run: Prediction | None = field(default=None, repr=False)
    reason: str = ""
    """Why there is no run."""

    def summary(self) -> dict[str, Any]:
        """As plain data, for `--json`."""
        same = ("name", "role", "bench", "duration", "rate", "n_samples", "settings", "simulated", "error")
        return {key: getattr(self, key) for key in (*same, "reason")} | {"stored_error": self.stored}


@dataclass(frozen=True, kw_only=True)
class Report:
    """A fit with its logs run through it, its numbers beside the sheet's, and its exports."""

    fit: Fit
    name: str
    """Of the fit's file."""
    sheet: Datasheet | None
    verdict: tuple[str, ...]
    level: str
    used: Deployed | None
    """The export that is to be used, as it ran on the recordings."""
    logs: tuple[LogRow, ...]
    parameters: tuple[Compared, ...]
    performance: tuple[Compared, ...]
    exports: tuple[Exported, ...] | None
    """None where nobody wanted them."""
    date: str
    version: str = __version__

    @property
    def runs(self) -> list[Prediction]:
        """Runs, training first, then held out, then others."""
        return sorted(
            (row.run for row in self.logs if row.run is not None), key=lambda r: ROLES.index(r.role)
        )

    @property
    def fastest(self) -> float | None:
        """The greatest speed in the logs, a few outliers aside."""
        return max((float(np.percentile(np.abs(r.velocity), 99.5)) for r in self.runs), default=0.0) or None

    @property
    def usual_load(self) -> float:
        """A load that the joint carried in the logs:
        what nine tenths of the samples stay below, to two digits."""
        if not self.runs:
            return 0.0
        return float(f"{np.percentile(np.abs(np.concatenate([r.load for r in self.runs])), 90):.2g}")

    def summary(self) -> dict[str, Any]:
        """What the report says, as plain data: the object of `--json`. Errors of logs are in rad (or m)."""
        fit = self.fit
        return {
            "fit": self.name,
            "servo": self.fit.name,
            "backemf": self.version,
            "date": self.date,
            "verdict": list(self.verdict),
            "level": self.level,
            "deployed": None if self.used is None else self.used._asdict(),
            "training_mae": fit.training_mae,
            "held_out_mae": fit.held_out_mae,
            "noise_floor": fit.noise_floor,
            "friction": fit.friction,
            "sheet": None if self.sheet is None else self.sheet.name,
            "parameters": {p.name: p.summary() for p in self.parameters},
            "performance": {p.name: p.summary() for p in self.performance},
            "bench": [{**one.to_dict(), "pull": one.pull} for one in fit.bench],
            "findings": [f.to_dict() for f in fit.findings],
            "logs": [row.summary() for row in self.logs],
            "ladder": [dict(vars(r)) for r in fit.rungs],
            "exports": None if self.exports is None else [e.summary() for e in self.exports],
        }


def report(
    fit: Fit,
    logs: Sequence[Log] = (),
    *,
    sheet: Datasheet | None = None,
    exported: bool = True,
    used: str = "mujoco",
    name: str = "fit",
    progress: Callable[[str, float], None] | None = None,
) -> Report:
    """Predict every log through a fit, compare its numbers with a sheet, export and replay it.

    Without logs the report says what the fit itself remembers. `exported=False` leaves the exports out, which
    take longest. The verdict leads with how far off the target `used` is in its simulator.
    `progress` is told what is being done, and how much of it all is done.
    """
    if not fit.name and sheet is not None:
        fit = replace(fit, name=sheet.name)
    steps = len(logs) + 1 + (n_steps(len(logs)) if exported else 0)
    begun = itertools.count()

    def tell(text: str) -> None:
        if progress is not None:
            progress(text, min(next(begun) / steps, 1.0))

    rows = tuple(_row(fit, log, tell) for log in logs)
    there = {row.name for row in rows}
    known = {r.name: r for r in fit.logs}
    others = [_remembered(fit, n, known.get(n)) for n in (*fit.training, *fit.held_out) if n not in there]
    first = sorted(
        (as_found(fit, row.run.log) for row in rows if row.run is not None),
        key=lambda log: role(fit, log.name) != "held out",
    )
    made = exports(fit, first, tell) if exported else None
    tell("what follows from the parameters")
    deployment, attached = deployed(made, used), deployed(made, ATTACHED)
    return Report(
        fit=fit,
        name=name,
        sheet=sheet,
        verdict=verdict(fit, deployment, attached),
        level=level(fit, deployment),
        used=deployment,
        logs=(*rows, *others),
        parameters=parameters(fit, sheet),
        performance=performance(fit, sheet),
        exports=made,
        date=datetime.date.today().isoformat(),
    )


def bench_words(bench: Bench | None) -> str:
    """A bench as a person says it: its kind and its numbers."""
    if bench is None:
        return "not known"
    numbers = [
        f"{path.replace('_', ' ')} {number(value)} {f.metadata['unit']}"
        for path, f, value in quantities(bench)
        if value != f.default
    ]
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", bench.kind.rpartition(".")[2]).lower()
    return f"{kind}: {', '.join(numbers)}" if numbers else kind


def _row(fit: Fit, log: Log, tell: Callable[[str], None]) -> LogRow:
    tell(f"predict {log.name}")
    row = replace(
        _remembered(fit, log.name, FittedLog.of(log)),
        error=None,
        signals=tuple(log.signals),
        simulated=any(SIMULATED.match(word) for word in log.conversions),
    )
    try:
        one = run(fit, log)
    except BackemfError as error:
        return replace(row, reason=str(error))
    return replace(row, error=one.error, run=one, reason="")


def _remembered(fit: Fit, name: str, facts: FittedLog | None) -> LogRow:
    stored = {**fit.training, **fit.held_out}.get(name)
    row = LogRow(
        name=name,
        role=role(fit, name),
        bench="not stored",
        error=stored,
        stored=stored,
        reason="the recording was not given",
    )
    if facts is None:
        return row
    same = {key: getattr(facts, key) for key in ("duration", "rate", "n_samples")}
    return replace(row, bench=bench_words(facts.bench), settings=dict(facts.settings), **same)
