"""The gate before a fit: are the recordings sound, and can they answer the question at all?

Identifiability comes from exact sensitivities: the curvature of the errors in every direction of the free
parameters, against the noise of the recording. A direction without curvature is a combination that the data
leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..findings import Finding, finding
from ..logs.log import Log, actuator_and_logs, check_recordings
from ..options import takes
from ..physics.actuator import Actuator
from ..tables import number, table
from .fit_options import CheckOptions
from .inspect.remedies import PATCHED, Inspection, apply, limits_of, merge_findings
from .inspect.signals import coverage, motions_lacking
from .optimize import Progress
from .outliers import diagnose
from .parameters import WIDE, with_absent
from .plants.bench_plant import inspection
from .problem import Problem
from .search import bench_search
from .uncertainty import inverse

FATAL = ("no_motion", "clock_drift")
"""Defects that no fit survives, beside faults that no remedy mends."""
DETERMINED = 0.15
"""Relative error up to which a parameter counts as determined by the data."""

MOSTLY, PARTLY = 0.7, 0.34
"""Shares of parameters left undetermined from which on more must be recorded, or priors be given."""


def _friction(*names: str) -> tuple[str, ...]:
    return tuple(f"friction.{name}" for name in names)


REMEDIES = {
    ("motor.resistance", "motor.torque_constant", "friction.viscous"): (
        "record the current, lock the rotor for one reading, add a phase with the drive off, or give a"
        " datasheet as prior"
    ),
    ("motor.rotor_inertia",): "record fast reversals with a light load",
    _friction(
        "static", "stribeck_velocity", "stribeck_exponent", "peak"
    ): "record slow reversals that stick and slip",
    _friction(
        "dwell"
    ): "record stops of a tenth of a second to some seconds, each with a slow start behind it",
    _friction(
        *("load", "load_stribeck", "load_motor", "load_external", "load_driving", "load_back_driving"),
        *("load_quadratic", "load_asymmetry"),
    ): "record with a heavier arm, and both lifting and lowering",
    _friction(
        "load_motor_quadratic", "load_external_quadratic", "load_motor_stribeck", "load_external_stribeck"
    ): "record heavy loads at low gains, close to sticking",
    ("drive.delay",): "record steps at a high rate",
    ("drive.punch", "drive.deadband"): (
        "record stops under different small loads, with the duty or current there: where a joint stops, and"
        " what holds it, tells a dead zone from a start-up duty"
    ),
    ("drive.firmware_derivative_gain", "drive.volt_seconds_per_radian"): (
        "record steps and fast sines at two settings of D, at a rate that shows the overshoot"
    ),
    (
        *("drive.firmware_integral_gain", "drive.volts_per_radian_second", "drive.volts_per_radian"),
        "drive.newton_metres_per_radian_second",
    ): "record holds of some seconds under load: an integral creeps on where nothing else moves",
    ("drive.acceleration",): "record steps, and sines fast enough to fall behind",
    ("drive.slew",): "record jumps so large that the speed stays the same for a while",
    ("drive.duty_limit",): "record large jumps under load, at which the duty is at its end",
    ("gearbox.backlash", "gearbox.contact_stiffness", "gearbox.contact_damping"): (
        "record slow reversals under a small load, where the output stands still while the teeth cross over"
    ),
}
"""What to record for parameters that the logs leave open."""


def _remedy(paths: Iterable[str], otherwise: str) -> str:
    return next((text for group, text in REMEDIES.items() if set(group) & set(paths)), otherwise)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What the data will tell of one parameter."""

    path: str
    value: float
    unit: str
    relative_error: float
    """To expect of the fit, data and prior together; of the size where the parameter may have either sign."""
    from_data: float
    """The same from the data alone; infinite where the data says nothing."""

    @property
    def determined(self) -> bool:
        return self.from_data <= DETERMINED


@dataclass(frozen=True, kw_only=True)
class Check:
    """What the gate says: a verdict, findings with remedies, and the error to expect of each parameter."""

    verdict: str
    """'fit', 'fit with priors', 'mend first' or 'record more'."""
    findings: tuple[Finding, ...]
    parameters: tuple[Expectation, ...]
    open_combinations: tuple[Mapping[str, float], ...] = field(default_factory=tuple)
    """Directions that the data leaves open: path -> share."""
    n_logs: int = 0
    n_samples: int = 0

    @property
    def level(self) -> str:
        """Of the verdict, as a fit's: good, fair or poor."""
        return {"fit": "good", "fit with priors": "fair"}.get(self.verdict, "poor")

    def apply(self, logs: Sequence[Log]) -> list[Log]:
        """The logs with every remedy that the findings offer; their `conversions` say what was done."""
        return apply(self.findings, logs)

    def __str__(self) -> str:
        said = ("no", "yes")
        rows = [
            (p.path, p.value, p.unit, _percent(p.from_data), _percent(p.relative_error), said[p.determined])
            for p in self.parameters
        ]
        head = ("parameter", "around", "unit", "from data", "with prior", "determined")
        text = table(rows, head) if rows else ""
        notes = "\n".join(f"  - {f.code}: {f.text}\n    {f.remedy}" for f in self.findings)
        return f"{self.n_logs} logs, {self.n_samples} samples. Verdict: {self.verdict}.\n\n{text}" + (
            f"\n\nFindings:\n{notes}" if notes else ""
        )


def _percent(x: float) -> str:
    return "open" if not math.isfinite(x) or x > 3 else f"{number(100 * x, 2)} %"


def run_check(actuator: Actuator, logs: Sequence[Log], options: CheckOptions) -> Check:
    """Inspect recordings before anything is fitted, and say what they can tell of an actuator.

    Args:
        actuator: where a fit would start.
        logs: recordings of one bench or several.
        options: what one may ask.

    Returns:
        The verdict, the findings, and the error to expect of each parameter.

    Raises:
        InvalidValue: the arguments are in the wrong order, or no actuator and logs.
        MissingValue: there are no logs, or one holds a single sample.
    """
    free_paths, prior = options.free_paths, options.prior
    say = options.progress or (lambda text, share: None)
    actuator, logs = actuator_and_logs("check", actuator, logs)
    check_recordings(logs)
    if any(log.joints for log in logs):
        return _check_robot(logs)
    actuator = with_absent(actuator, free_paths)
    # What is wrong with the recordings themselves comes first, and the rest is said of the mended logs:
    # no delay or drift is blamed for what a fault of the recording explains.
    say("looking for faults of the recordings", 0.0)
    build, log_inspection = inspection(actuator, logs, free_paths, prior)
    seen = _findings_of(log_inspection)
    expectations: tuple[Expectation, ...] = ()
    combinations: list[dict[str, float]] = []
    if not _fatal(seen) and not log_inspection.open:
        p = build(log_inspection.mended)
        seen += diagnosis(
            actuator,
            _whole(log_inspection),
            free_paths,
            prior,
            lambda text, cost, share: say(f"a first fit: {text}", 0.3 + 0.5 * share),
        )
        say("what the recordings tell", 0.9)
        expectations, combinations = identifiability(p)
        seen += _identifiability_findings(expectations, combinations)
    share = sum(not e.determined for e in expectations) / max(len(expectations), 1)
    if _fatal(seen) or log_inspection.open or share > MOSTLY:
        verdict = "record more"
    elif any(f.numbers.get("offered") for f in log_inspection.findings):
        verdict = "mend first"
    else:
        verdict = "fit with priors" if combinations or share > PARTLY else "fit"
    return Check(
        verdict=verdict,
        findings=tuple(merge_findings(seen)),
        parameters=expectations,
        open_combinations=tuple(combinations),
        n_logs=len(logs),
        n_samples=sum(len(log) for log in logs),
    )


check = takes(CheckOptions)(run_check)


def _findings_of(inspected: Inspection) -> list[Finding]:
    """What is wrong with a bench's recordings, and what they lack."""
    mended = inspected.mended
    pairs = zip(inspected.logs, mended, strict=True)
    own = [f for log, one in pairs for f in (*log.findings, *limits_of(log, one))]
    return [*own, *inspected.findings, *coverage(mended), *motions_lacking({"": mended})]


def _check_robot(logs: Sequence[Log]) -> Check:
    """What a robot's recordings lack; what they tell of each number its fit says."""
    names = dict.fromkeys(name for log in logs for name in log.joints)
    joints = {name: [log.joints[name] for log in logs if name in log.joints] for name in names}
    findings = [*(f for log in logs for f in log.findings), *motions_lacking(joints)]
    return Check(
        verdict="record more" if _fatal(findings) else "fit",
        findings=tuple(merge_findings(findings)),
        parameters=(),
        n_logs=len(logs),
        n_samples=sum(len(log) for log in logs),
    )


def diagnosis(
    actuator: Actuator,
    logs: Sequence[Log],
    free_paths: Sequence[str] | None,
    prior: Any,
    progress: Progress | None = None,
) -> list[Finding]:
    """What a first fit says is wrong with clocks, bench or sheet.

    Args:
        actuator: where it starts.
        logs: of benches, mended.
        free_paths: what is free; the usual numbers without it.
        prior: a datasheet, or path -> (value, standard error).
        progress: is told how far the fit is.

    Returns:
        What it found.
    """
    search = bench_search(actuator, logs, free_paths=free_paths, prior=prior, n_starts=1)
    found = search.find(actuator.friction.name, progress)
    if not math.isfinite(found.best.cost):
        return []
    optimum = search.settle(found)
    return diagnose(optimum.problem, optimum.x, optimum.robust)


def _whole(inspected: Inspection) -> Sequence[Log]:
    """The mended logs without those that keep a part of their fault; all of them where none is left."""
    rough = {name for f in inspected.findings if f.code == PATCHED for name in f.logs}
    return [log for log in inspected.mended if log.name not in rough] or inspected.mended


def _fatal(rows: Sequence[Finding]) -> bool:
    return any(f.code in FATAL for f in rows)


def identifiability(p: Problem) -> tuple[tuple[Expectation, ...], list[dict[str, float]]]:
    """Expected errors of the free parameters, and the combinations that stay open."""
    whole, _, _ = p.normal(p.first)
    own = [k for k, q in enumerate(p.free.parameters) if not q.beside]
    bench = [k for k, q in enumerate(p.free.parameters) if q.beside]
    # What the bench's tolerances leave of it.
    across = whole[np.ix_(own, bench)]
    H = whole[np.ix_(own, own)]
    H = H - across @ inverse((whole + p.free.precision)[np.ix_(bench, bench)]) @ across.T if bench else H
    numbers = [p.free.parameters[k] for k in own]
    error = p.free.prior()[1][own]
    posterior = inverse(H + np.diag(1.0 / error**2))
    # Next to no prior: what the data says alone.
    vague = inverse(H + np.diag(np.full(len(error), 1.0 / (20 * WIDE) ** 2)))
    starts = {q.name: q.start for q in p.free.parameters}
    rows = []
    for k, q in enumerate(numbers):
        scale = 1.0
        if q.above is not None:  # the coordinate is the excess over another; report the error of the whole
            scale = (q.start - p.free.base(own[k], starts, p.fixed)) / max(q.start, 1e-300)
        alone = math.sqrt(vague[k, k]) * scale
        rows.append(
            Expectation(
                path=q.path,
                value=q.start,
                unit=q.unit,
                relative_error=math.sqrt(posterior[k, k]) * scale,
                from_data=alone if alone < 5 * WIDE * scale else math.inf,
            )
        )
    return tuple(rows), _open_combinations(H, error, vague, rows)


def _open_combinations(
    H: np.ndarray, error: np.ndarray, vague: np.ndarray, rows: Sequence[Expectation]
) -> list[dict[str, float]]:
    """Directions in which the data says next to nothing, and the parameters whose error comes from there."""
    values, vectors = np.linalg.eigh(np.diag(error) @ H @ np.diag(error))
    combinations = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value < 3.0:
            share = (error * vector) ** 2 / (value + (error / (20 * WIDE)).mean() ** 2) / np.diag(vague)
            shares = {row.path: float(v) for row, v, s in zip(rows, vector, share, strict=True) if s > 0.5}
            if len(shares) > 1 and any(not row.determined for row in rows if row.path in shares):
                combinations.append(shares)
    return combinations


def _identifiability_findings(
    rows: Sequence[Expectation], combinations: Sequence[Mapping[str, float]]
) -> Iterator[Finding]:
    for shares in combinations:
        text = f"the data tells {', '.join(shares)} only in combination, not apart."
        remedy = _remedy(shares, "add a log that moves these differently, or give a prior")
        yield finding("only_in_combination", text, remedy, **shares)
    tied = {path for shares in combinations for path in shares}
    for row in rows:
        if not row.determined and row.path not in tied:
            error = "not at all" if not math.isfinite(row.from_data) else f"to {100 * row.from_data:.0f} %"
            text = f"{row.path} is determined {error} by these logs."
            remedy = _remedy([row.path], "add a log in which it matters, or give a prior")
            yield finding("not_determined", text, remedy, relative_error=min(row.from_data, 1e9))
