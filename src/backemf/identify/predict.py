"""What a fit says a log should have looked like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.log import Log
from .free import Free
from .residual import fitted_drive, problem
from .result import Fit


def predict(fit: Fit, log: Log) -> np.ndarray:
    """Simulated position on a log's samples, from its start and what was asked; nothing is fitted."""
    bench = {path.removeprefix("bench."): p.value for path, p in fit.parameters.items() if path.startswith("bench.")}
    if bench and log.bench is not None:
        log = replace(log, bench=replace(log.bench, **bench))
    actuator, _ = fitted_drive(fit.actuator, [log])
    p = problem(actuator, [log], Free(()), outputs=("position",), substeps=fit.substeps)
    return p.predictions(np.zeros(0))[0]
