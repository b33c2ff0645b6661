"""The gate before a fit: are the recordings sound, and can they answer the question at all?

Identifiability comes from exact sensitivities: the curvature of the errors in every direction of the free
parameters, against the noise of the recording. A direction without curvature is a combination that the data
leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..data.log import Log, actuator_and_logs
from ..data.sheets.datasheet import Datasheet
from ..findings import Finding, finding
from ..model.actuator import Actuator
from ..tables import number, table
from .free import WIDE, default_paths, free, sized
from .recording import coverage, findings_of
from .residual import Problem, fitted_drive, long_enough, problem
from .timing import timing
from .uncertainty import inverse

FATAL = ("wrong_sign", "wrapped_counter", "no_motion", "clock_drift")
"""Defects that no fit survives."""
DETERMINED = 0.15
"""Relative error up to which a parameter counts as determined by the data."""
OPEN = 0.7
"""Share of its prior's width that an undetermined parameter still has after the data."""


def _friction(*names: str) -> tuple[str, ...]:
    return tuple(f"friction.{name}" for name in names)


REMEDIES = {
    ("motor.resistance", "motor.torque_constant", "friction.viscous"): (
        "record the current, lock the rotor for one reading, add a phase with the drive off, or give a"
        " datasheet as prior"
    ),
    ("motor.rotor_inertia",): "record fast reversals with a light load",
    _friction(
        "static", "stribeck_velocity", "stribeck_exponent"
    ): "record slow reversals that stick and slip",
    _friction("load", "load_stribeck", "load_motor", "load_external", "load_driving", "load_back_driving"): (
        "record with a heavier arm, and both lifting and lowering"
    ),
    _friction(
        "load_motor_quadratic", "load_external_quadratic", "load_motor_stribeck", "load_external_stribeck"
    ): "record heavy loads at low gains, close to sticking",
    ("drive.delay",): "record steps at a high rate",
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
    """'fit', 'fit with priors' or 'record more'."""
    findings: tuple[Finding, ...]
    parameters: tuple[Expectation, ...]
    open_combinations: tuple[Mapping[str, float], ...] = field(default_factory=tuple)
    """Directions that the data leaves open: path -> share."""
    n_logs: int = 0
    n_samples: int = 0

    def __str__(self) -> str:
        said = ("no", "yes")
        rows = [
            (p.path, p.value, p.unit, _percent(p.from_data), _percent(p.relative_error), said[p.determined])
            for p in self.parameters
        ]
        text = table(rows, ("parameter", "around", "unit", "from data", "with prior", "determined"))
        notes = "\n".join(f"  - {f.code}: {f.text}\n    {f.remedy}" for f in self.findings)
        return f"{self.n_logs} logs, {self.n_samples} samples. Verdict: {self.verdict}.\n\n{text}" + (
            f"\n\nFindings:\n{notes}" if notes else ""
        )


def _percent(x: float) -> str:
    return "open" if not math.isfinite(x) or x > 3 else f"{number(100 * x, 2)} %"


def check(
    actuator: Actuator,
    logs: Sequence[Log],
    *,
    free_paths: Sequence[str] | None = None,
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = None,
) -> Check:
    """Inspect recordings before anything is fitted, and say what they can tell of an actuator."""
    actuator, logs = actuator_and_logs("check", actuator, logs)
    long_enough(logs)
    seen = [f for log in logs for f in (*log.findings, *findings_of(log))]
    seen += coverage(logs)
    expectations: tuple[Expectation, ...] = ()
    combinations: list[dict[str, float]] = []
    if not _fatal(seen):
        p = identifiability_problem(logs, actuator, free_paths, prior)
        seen += timing(p, logs)
        expectations, combinations = identifiability(p)
        seen += _identifiability_findings(expectations, combinations)
    open_ = [e for e in expectations if not e.determined]
    if _fatal(seen) or (expectations and len(open_) > 0.7 * len(expectations)):
        verdict = "record more"
    else:
        verdict = "fit with priors" if combinations or len(open_) > 0.34 * len(expectations) else "fit"
    return Check(
        verdict=verdict,
        findings=tuple(_merged(seen)),
        parameters=expectations,
        open_combinations=tuple(combinations),
        n_logs=len(logs),
        n_samples=sum(len(log) for log in logs),
    )


def _fatal(rows: Sequence[Finding]) -> bool:
    return any(f.code in FATAL for f in rows)


def identifiability_problem(
    logs: Sequence[Log], actuator: Actuator, free_paths: Sequence[str] | None, prior: Any
) -> Problem:
    """The fit's own problem at the start parameters."""
    actuator, guessed = fitted_drive(actuator, logs)
    usual = default_paths(actuator) + (["drive.firmware_gain"] if guessed else [])
    paths = usual if free_paths is None else list(free_paths)
    if "motor.rotor_inertia" in paths and actuator.motor.rotor_inertia == 0.0:
        actuator = with_some_inertia(actuator, logs)
    actuator = sized(actuator, paths)
    return problem(actuator, logs, free(actuator, paths, prior=prior))


def with_some_inertia(actuator: Actuator, logs: Sequence[Log]) -> Actuator:
    """A rotor inertia to start from where nobody printed one:
    a fifth of the lightest load's, at the rotor."""
    benches = [log.bench for log in logs if log.bench is not None and not log.bench.series]
    loads = [float(np.min(bench.inertia_at({}))) for bench in benches]
    J = 0.2 * min(loads, default=1e-3) / actuator.gearbox.output_inertia(1.0)
    return actuator.replace(**{"motor.rotor_inertia": max(J, 1e-12)})


def identifiability(p: Problem) -> tuple[tuple[Expectation, ...], list[dict[str, float]]]:
    """Expected errors of the free parameters, and the combinations that stay open."""
    H, _, _ = p.normal(p.first)
    _, error = p.free.prior()
    posterior = inverse(H + np.diag(1.0 / error**2))
    # Next to no prior: what the data says alone.
    vague = inverse(H + np.diag(np.full(len(error), 1.0 / (20 * WIDE) ** 2)))
    starts = {q.path: q.start for q in p.free.parameters}
    rows = []
    for k, q in enumerate(p.free.parameters):
        scale = 1.0
        if q.above is not None:  # the coordinate is the excess over another; report the error of the whole
            scale = (q.start - p.free.base(q, starts, p.fixed)) / max(q.start, 1e-300)
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
    # Combinations: directions in which the data says next to nothing, and the parameters whose error comes
    # from there.
    values, vectors = np.linalg.eigh(np.diag(error) @ H @ np.diag(error))
    combinations = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value < 3.0:
            share = (error * vector) ** 2 / (value + (error / (20 * WIDE)).mean() ** 2) / np.diag(vague)
            shares = {
                q.path: float(v) for q, v, s in zip(p.free.parameters, vector, share, strict=True) if s > 0.5
            }
            if len(shares) > 1:
                combinations.append(shares)
    return tuple(rows), combinations


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


def _merged(rows: Sequence[Finding]) -> list[Finding]:
    """Findings of the same code in many logs become one, with the count."""
    by: dict[tuple[str, str], list[Finding]] = {}
    for f in rows:
        by.setdefault((f.code, f.remedy), []).append(f)
    return [
        first
        if not others
        else replace(first, text=f"{first.text.rstrip('.')}. The same in {len(others)} more.")
        for first, *others in by.values()
    ]
