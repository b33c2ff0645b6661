"""Report: everything there is to say about a fit, computed once, as data;
`html` sets it on a page, `summary` is its JSON."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import __version__
from ...datasheets.datasheet import Datasheet
from ...errors import BackemfError
from ...identify.predict import ROLES, Prediction, as_found, predict_joint, role, run
from ...logs.log import Log, has_positions
from ...physics.bench import Bench
from ...physics.quantity import quantities
from ...results.fit_result import Fit, FittedLog, PredictedMotion
from ...results.reread import stored_logs as stored_logs
from ...tables import number
from .export_results import ReportedExport, edit_model, exports, n_steps
from .robot_runs import RobotRuns, simulate_together
from .stated_values import StatedValue, parameters, performance
from .verdict import ATTACHED, Deployment, find_deployment, level, level_together, verdict, verdict_together

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
class JointReport:
    """One joint: what was fitted of it, the recordings run by it alone, and what it met in them. A servo is
    one joint without a name."""

    name: str
    fit: Fit
    runs: tuple[Prediction, ...] = field(repr=False)
    """Training first, then held out, then others; of a robot's joint, the recording on which it is worst."""
    usual_load: float
    """A load that it carried [N m or N]: nine tenths of the samples stay below it, to two digits."""
    fastest: float | None
    """The greatest speed [rad/s or m/s], a few outliers aside."""
    parameters: tuple[StatedValue, ...]


@dataclass(frozen=True, kw_only=True)
class Report:
    """A fit with its logs run through it, its numbers beside the sheet's, and its exports."""

    fit: Fit
    name: str
    """Of the fit's file."""
    sheet: Datasheet | None
    verdict: tuple[str, ...]
    level: str
    used: Deployment | None
    """The export that is to be used, as it ran on the recordings."""
    logs: tuple[LogRow, ...]
    joints: Mapping[str, JointReport]
    performance: tuple[StatedValue, ...]
    """What follows from a servo's parameters."""
    exports: tuple[ReportedExport, ...] | None
    """None where nobody wanted them, and of a robot, whose own file `robot` has."""
    robot: RobotRuns | None
    """All joints together; None of a servo on a bench."""
    date: str
    version: str = __version__

    @property
    def servo(self) -> JointReport | None:
        """The only joint, of a servo on a bench; None of a robot."""
        return self.joints[""] if self.robot is None else None

    @property
    def runs(self) -> tuple[Prediction, ...]:
        """A servo's."""
        return () if self.servo is None else self.servo.runs

    @property
    def motions(self) -> list[PredictedMotion]:
        """Every recording that was run, of all joints."""
        return [run.motion for run in (self.runs if self.robot is None else self.robot.runs)]

    @property
    def unit(self) -> str:
        """Of small positions: a thousandth of the model's own."""
        return "mrad" if self.fit.actuator.motion == "rotary" else "mm"

    def summary(self) -> dict[str, Any]:
        """What the report says, as plain data: the object of `--json`. Errors of logs are in rad (or m)."""
        about = {
            "fit": self.name,
            "backemf": self.version,
            "date": self.date,
            "verdict": list(self.verdict),
            "level": self.level,
            "findings": [f.to_dict() for f in self.fit.findings],
        }
        return about | (self._servo_summary() if self.robot is None else self.robot.summary(self.fit))

    def _servo_summary(self) -> dict[str, Any]:
        fit = self.fit
        return {
            "servo": fit.name,
            "deployed": None if self.used is None else self.used._asdict(),
            "training_mae": fit.training_mae,
            "held_out_mae": fit.held_out_mae,
            "noise_floor": fit.noise_floor,
            "friction": fit.friction,
            "sheet": None if self.sheet is None else self.sheet.name,
            "parameters": {p.name: p.summary() for p in self.joints[""].parameters},
            "performance": {p.name: p.summary() for p in self.performance},
            "bench": [{**one.to_dict(), "pull": one.pull} for one in fit.bench],
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
    """Run every log through a fit, compare its numbers with a sheet, export and replay it.

    A robot's joints are simulated together, as fitted and as its own model has them, and the fit is put into
    that model, where it is still there. Without logs the report says what the fit itself remembers.

    Args:
        fit: of a servo on a bench, or of a robot.
        logs: recordings of it, of the fit or others.
        sheet: a datasheet to compare with.
        exported: False leaves the exports out, which take longest.
        used: the target that a servo's verdict leads with.
        name: of the fit's file.
        progress: is told what is being done, and how much of it all is done.

    Returns:
        Everything there is to say, as data; `html.write` makes a page of it.
    """
    if not fit.name and sheet is not None:
        fit = replace(fit, name=sheet.name)
    steps = len(logs) + 1 + (n_steps(len(logs)) if exported and not fit.joints else 0)
    started = itertools.count()

    def tell(text: str) -> None:
        if progress is not None:
            progress(text, min(next(started) / steps, 1.0))

    robot = simulate_together(fit, logs, tell) if fit.joints else None
    rows = () if robot is not None else tuple(_row(fit, log, tell) for log in logs)
    joints = {
        joint: _joint(joint, one, rows, robot, sheet) for joint, one in (fit.joints or {"": fit}).items()
    }
    if robot is not None:
        about = _robot_verdict(fit, robot, logs, exported, tell)
    else:
        about = _servo_verdict(fit, rows, exported, used, tell)
    tell("what follows from the parameters")
    return Report(
        fit=fit,
        name=name,
        sheet=sheet,
        logs=(*rows, *_not_given(fit, rows)),
        joints=joints,
        performance=() if fit.joints else performance(fit, sheet),
        date=datetime.date.today().isoformat(),
        **about,
    )


def _servo_verdict(
    fit: Fit, rows: Sequence[LogRow], exported: bool, used: str, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Exports, replayed on the logs, held-out ones first; and what they mean for the verdict."""
    found = [as_found(fit, row.run.log) for row in rows if row.run is not None]
    found.sort(key=lambda log: role(fit, log.name) != "held out")
    files = exports(fit, found, tell) if exported else None
    deployment = find_deployment(files, used)
    return {
        "verdict": verdict(fit, deployment, find_deployment(files, ATTACHED)),
        "level": level(fit, deployment),
        "used": deployment,
        "exports": files,
        "robot": None,
    }


def _robot_verdict(
    fit: Fit, robot: RobotRuns, logs: Sequence[Log], exported: bool, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The robot's own file with the fit in it, and the verdict."""
    tell("the robot's own file")
    edited, why = edit_model(fit, logs) if exported else (None, "left out as asked")
    robot = replace(robot, edited=edited, no_file=why)
    both = {"verdict": verdict_together(fit, robot), "level": level_together(fit, robot)}
    return {**both, "used": None, "exports": None, "robot": robot}


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


def _joint(
    name: str, fit: Fit, rows: Sequence[LogRow], robot: RobotRuns | None, sheet: Datasheet | None
) -> JointReport:
    """What there is to say of one joint; `rows` are a servo's logs, `robot` has those of a robot."""
    stated = parameters(fit, sheet)
    if robot is not None:
        worst = robot.worst_run(name)
        runs = () if worst is None or name not in worst.motion.asked else (predict_joint(worst.motion, name),)
        load, fastest = robot.usual_load(name), robot.fastest(name)
    else:
        runs = sorted((r.run for r in rows if r.run is not None), key=lambda run: ROLES.index(run.role))
        load, fastest = 0.0, None
        if runs:
            load = float(f"{np.percentile(np.abs(np.concatenate([r.load for r in runs])), 90):.2g}")
            fastest = max(float(np.percentile(np.abs(r.velocity), 99.5)) for r in runs) or None
    return JointReport(
        name=name, fit=fit, runs=tuple(runs), usual_load=load, fastest=fastest, parameters=stated
    )


def _not_given(fit: Fit, rows: Sequence[LogRow]) -> list[LogRow]:
    """Logs that the fit remembers and nobody gave; of a robot, whose recordings are simulated, none."""
    given, known = {row.name for row in rows}, {r.name: r for r in fit.logs}
    names = () if fit.joints else (*fit.training, *fit.held_out)
    return [_remembered_row(fit, name, known.get(name)) for name in names if name not in given]


def _row(fit: Fit, log: Log, tell: Callable[[str], None]) -> LogRow:
    tell(f"predict {log.name}")
    row = replace(
        _remembered_row(fit, log.name, FittedLog.of(log)),
        error=None,
        simulated=any(SIMULATED.match(word) for word in log.conversions),
    )
    if not has_positions(log):
        return replace(row, reason="it has no positions to compare with")
    try:
        prediction = run(fit, log)
    except BackemfError as error:
        return replace(row, reason=str(error))
    return replace(row, error=prediction.error, run=prediction, reason="")


def _remembered_row(fit: Fit, name: str, facts: FittedLog | None) -> LogRow:
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
