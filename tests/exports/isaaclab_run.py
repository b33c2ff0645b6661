"""Generated configurations executed by Isaac Lab's own classes, on the CPU and without Isaac Sim; prints one
JSON object.

python -m tests.exports.isaaclab_run     with Isaac Lab's sources and their packages on PYTHONPATH

Isaac Sim's own modules `carb` and `omni.client`, which only fetch files, are stood in for. A file's class
makes its actuator, and that answers with torques; physics is Isaac Sim's and is not run.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from unittest.mock import MagicMock

for _name in ("carb", "omni", "omni.client"):
    sys.modules[_name] = MagicMock(name=_name)

import isaaclab.actuators as actuators  # type: ignore[import-not-found]  # noqa: E402  # after the stand-ins
import torch  # type: ignore[import-not-found]  # noqa: E402  # Isaac Lab's
from isaaclab.utils.types import ArticulationActions  # type: ignore[import-not-found]  # noqa: E402

import backemf as be  # noqa: E402  # after Isaac Lab, whose packages come first
from backemf.errors import BackemfError  # noqa: E402
from backemf.targets.export import export  # noqa: E402

from .worker import names  # noqa: E402

TARGETS = ("isaaclab@2.3",)
SMALL = 1e-3
"""An error of position [rad] for which no torque is limited."""


def torque(actuator: Any, target: float, velocity: float) -> float:
    """What an actuator gives at position 0 [N m]."""
    column = lambda x: torch.full((1, 1), x, dtype=torch.float64)  # noqa: E731  # one joint, one environment
    asked = ArticulationActions(column(target), column(0.0), column(0.0))
    actuator.reset([0])
    return float(actuator.compute(asked, column(0.0), column(velocity)).joint_efforts[0, 0])


def judge(name: str, text: str) -> dict[str, Any]:
    """How many numbers a file has and what is wrong with it, by its own class."""
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    (cfg,) = (v for v in namespace.values() if isinstance(v, actuators.ActuatorBaseCfg))
    made = cfg.class_type(cfg, ["joint"], [0], 1, "cpu", stiffness=1.0, damping=1.0)
    wrong, first = [], cfg.stiffness or 0.0
    if not cfg.class_type.is_implicit_model:
        got = torque(made, SMALL, 0.0)
        expected = [(got, SMALL * first, "kp times a small error")]
        most = min(cfg.effort_limit, getattr(cfg, "saturation_effort", cfg.effort_limit))
        if first:
            expected.append((torque(made, 1e6, 0.0), most, "the most that it gives at rest"))
        if first and hasattr(cfg, "saturation_effort"):
            expected.append((torque(made, 1e6, cfg.velocity_limit), 0.0, "nothing at full speed"))
        wrong = [
            f"{words}: {a:g}, expected {b:g}" for a, b, words in expected if abs(a - b) > 1e-5 * max(most, 1)
        ]
    return {"name": name, "class": type(cfg).__name__, "numbers": len(vars(cfg)), "wrong": wrong}


def main() -> None:
    rows = []
    for name in names():
        for target in TARGETS:
            try:
                text = export(be.Actuator.read(name), target, method="formula").text
            except BackemfError:
                continue
            rows.append(judge(name, text))
    print(json.dumps({"parts": rows}))


if __name__ == "__main__":
    main()
