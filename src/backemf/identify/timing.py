"""Delays and drifting clocks, seen through the model: which shift or stretch of the command explains the
motion best?

A delay hides in other parameters (it looks like damping), so they are refitted for every candidate and the
best fits compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..data.log import ASKED, Log, Signal
from ..findings import Finding, finding
from .optimize import levenberg_marquardt
from .residual import Problem, problem

BANDWIDTH = 6.0
"""Of the observer that keeps the simulation near the recording meanwhile [rad/s]."""
WORTH = 0.05
"""Share by which a candidate must lower the misfit to be believed."""
DRIFTS = (-0.04, -0.02, -0.01, 0.01, 0.02, 0.04)
MOST_SHIFTS = 12


def moved(log: Log, shift: float = 0.0, drift: float = 0.0) -> Log:
    """The log with everything that was asked coming `shift` seconds later,
    on a clock that runs slower by `drift`."""
    t0 = log.time[0]
    times = t0 + (log.time - shift - t0) / (1.0 + drift)
    late = {n: Signal(time=log.time, values=s.held(times)) for n, s in log.signals.items() if n in ASKED}
    return replace(log, signals={**log.signals, **late})


def _misfit(p: Problem, logs: Sequence[Log], shift: float = 0.0, drift: float = 0.0) -> float:
    """The best that a candidate allows, the other parameters refitted."""
    late = [moved(log, shift, drift) for log in logs]
    q = problem(p.actuator, late, p.free, outputs=p.outputs, substeps=p.substeps)
    q.sigma = p.sigma
    x = q.first
    for bandwidth in (60.0, 20.0):
        x = levenberg_marquardt(q, x, bandwidth=bandwidth, most=10, tolerance=2e-3).x
    return levenberg_marquardt(q, x, bandwidth=BANDWIDTH, most=12, tolerance=1e-3).data_cost


def timing(p: Problem, logs: Sequence[Log]) -> Iterator[Finding]:
    """Findings on delay and clock drift of logs that follow a command."""
    if not p.actuator.drive.target:
        return
    step = float(np.median(np.concatenate([np.diff(log.time) for log in logs])))
    nominal = _misfit(p, logs)
    stretched = {d: _misfit(p, logs, drift=d) for d in DRIFTS}
    drift = min(stretched, key=lambda d: stretched[d])
    costs = [nominal]
    for n in range(1, MOST_SHIFTS + 1):
        costs.append(_misfit(p, logs, shift=n * step))
        if n >= 2 and costs[-1] > 1.05 * min(costs):
            break
    best = int(np.argmin(costs))
    if stretched[drift] < (1 - 2 * WORTH) * min(costs):
        text = (
            "the motion fits much better with the command on a clock that differs by about"
            f" {100 * drift:.2g} %."
        )
        remedy = "record command and answer on one clock, or correct one of the time axes"
        yield finding("clock_drift", text, remedy, drift=drift)
        return
    if best == 0 or costs[best] > (1 - WORTH) * nominal:
        return
    delay = best * step
    if best + 1 < len(costs):
        bend = costs[best - 1] - 2 * costs[best] + costs[best + 1]
        delay += 0.5 * step * (costs[best - 1] - costs[best + 1]) / bend if bend > 0 else 0.0
    text = f"the motion answers about {1e3 * delay:.2g} ms after the command, beyond what the model says."
    remedy = "let the fit find the delay (delay=True, or --free drive.delay)"
    yield finding("delay", text, remedy, delay=float(delay))
