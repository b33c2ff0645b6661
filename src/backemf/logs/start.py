"""How a log begins and what it asks: position and velocity at its first sample,
the signals that a drive follows, the bench."""

from __future__ import annotations

import numpy as np

from ..errors import MissingValue
from ..physics.bench import Bench
from ..physics.drive import Drive
from .log import Log


def bench_of(log: Log) -> Bench:
    """What the output carried."""
    if log.bench is None:
        as_in = '--bench "pendulum mass=0.5kg length=0.1m" (in Python: be.read(..., bench=...))'
        raise MissingValue(f"{log.name} has no bench; say what the output carried, as in {as_in}")
    return log.bench


def targets(log: Log, drive: Drive) -> list[str]:
    """The log's signals that a drive follows."""
    if len(drive.targets) > 1:  # any of them will do
        return [n for n in drive.targets if n in log]
    if drive.followed and drive.followed not in log:
        lacks = f"{log.name} has no {drive.followed!r}, which {drive.kind} follows"
        raise MissingValue(f"{lacks}; it has: {', '.join(log.signals)}")
    return list(drive.targets)


def noise_of(values: np.ndarray) -> float:
    """Standard deviation of the noise of a smooth signal:
    from its fourth differences, and at least its quantisation's."""
    seen = values[np.isfinite(values)]
    if len(seen) < 8:
        return 0.0
    d = np.diff(values, n=4)
    d = d[np.isfinite(d)]  # not across samples that are left out,
    d = d if len(d) >= 0.2 * len(seen) else np.diff(seen, n=4)  # unless next to nothing remains
    steps = np.abs(np.diff(seen))
    steps = steps[steps > 0]
    grain = float(np.min(steps)) if len(steps) else 0.0
    counts = seen / grain if grain > 0 else seen
    quantised = grain > 0 and np.median(np.abs(counts - counts[0] - np.round(counts - counts[0]))) < 1e-3
    smooth = float(np.percentile(np.abs(d), 80) / 1.2816 / np.sqrt(70.0))
    return max(smooth, grain / np.sqrt(12.0) if quantised else 0.0)


def start_of(log: Log) -> tuple[float, float]:
    """Position and velocity at a log's first sample: a cubic through as many first samples as it fits;
    at rest unless it clearly moves."""
    q, t = log["position"], log.time - log.time[0]
    good = np.isfinite(q)
    q, t = q[good], t[good]
    sigma = max(noise_of(q), 1e-9)
    windows = [n for n in (24, 18, 13, 9, 6) if n <= len(q)]
    for powers in ((0, 2, 3), (0, 1, 2, 3)):  # starting from rest, before starting in motion
        for n in windows if len(powers) == 3 else windows[:4]:
            basis = t[:n, None] ** np.array(powers)
            cubic, *_ = np.linalg.lstsq(basis, q[:n], rcond=None)
            if np.std(q[:n] - basis @ cubic) * np.sqrt(n / (n - len(powers))) > 1.3 * sigma:
                continue
            if len(powers) == 3:
                return float(cubic[0]), 0.0
            error = sigma * np.sqrt(np.linalg.inv(basis.T @ basis)[1, 1])
            if abs(cubic[1]) > 5.0 * error:
                return float(cubic[0]), float(cubic[1])
    return float(q[0]), 0.0


LONG_GAP = 5.0
"""Steps from which on nobody knows what happened between two samples: a model starts anew behind them."""


def restarts_of(log: Log) -> list[tuple[int, float, float]]:
    """(sample, position, velocity) behind each long gap of a recording."""
    dt, q = np.diff(log.time), log["position"]
    long = np.flatnonzero(dt > LONG_GAP * np.median(dt)) + 1 if len(dt) else []
    return [(int(k), *start_of(log.between(log.time[k], log.time[-1]))) for k in long if np.isfinite(q[k])]
