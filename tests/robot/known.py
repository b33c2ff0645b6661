"""The fit of the simulated arm as it should come out, made of what was put in: nothing is searched."""

from __future__ import annotations

import numpy as np

import backemf as be
from backemf.results.fit_result import BenchNumber, FittedLog, FittedParameter, Score

from .simulated import DELAYS, truth

PATHS = ("motor.torque_constant", "friction.coulomb", "friction.viscous")


def known_fit(robot, seen, unseen) -> be.Fit:
    """Of these logs; the score is that of noise alone."""
    joints = {name: _one(name, actuator, seen, unseen) for name, actuator in truth().items()}
    every = {f"{n}.{p}": one for n, fit in joints.items() for p, one in fit.parameters.items()}
    score = Score(
        rms=6e-4,
        rms_free=6e-4,
        held_out=True,
        joints=dict.fromkeys(joints, 6e-4),
        logs={log.name: 6e-4 for log in unseen},
        joints_free=dict.fromkeys(joints, 6e-4),
    )
    first = next(iter(joints.values()))
    return be.Fit(
        **_common(first.actuator, every, seen, unseen),
        joints=joints,
        robot=robot,
        score=score,
        bench=tuple(b for one in joints.values() for b in one.bench),
        logs=tuple(FittedLog.of(log) for log in (*seen, *unseen)),
    )


def _one(name, actuator, seen, unseen) -> be.Fit:
    own = {path: _number(path, actuator) for path in PATHS}
    late = BenchNumber(
        path="drive.delay",
        group=name,
        stated=0.0,
        tolerance=0.02,
        value=DELAYS[name],
        error=1e-3,
        unit="s",
        logs=(),
    )
    return be.Fit(**_common(actuator, own, seen, unseen), bench=(late,))


def _number(path, actuator) -> FittedParameter:
    value = actuator.parameters[path]
    spread = {"error": 0.05 * value, "low": 0.9 * value, "high": 1.1 * value}
    return FittedParameter(path=path, value=value, **spread, unit=actuator.unit(path), start=value)


def _common(actuator, parameters, seen, unseen) -> dict:
    return {
        "actuator": actuator,
        "parameters": parameters,
        "training": {log.name: 6e-4 for log in seen} or {"run": 6e-4},
        "held_out": {log.name: 6e-4 for log in unseen},
        "noise_floor": 5e-4,
        "findings": (),
        "starts": (),
        "correlation": np.eye(len(parameters)),
        "substeps": 4,
        "seed": 0,
        "cpu_s": 0.0,
        "friction": "coulomb",
    }
