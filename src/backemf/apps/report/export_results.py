"""What becomes of a fit in other simulators: each target's export, what it loses,
and its replay where the simulator is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import BackemfError
from ...logs.log import Log
from ...results.fit_result import Fit
from ...targets.export import TARGETS, Effect, export
from ...targets.replay import Replay, replay, summary

REPLAYED = ("mujoco", "mujoco-live", "mujoco-classic")
"""Targets whose replays a report shows; `backemf replay` runs the others."""
WHOLE = ("mujoco-plugin", "torch", "jax", "warp", "c", "fmu")
"""Targets that take the engine's own step, as mujoco-live does: they lose nothing, and writing their files to
find that out again would take seconds each."""
N_LOGS = 4
"""Logs replayed at most, held-out ones first."""


@dataclass(frozen=True, kw_only=True)
class ReportedExport:
    """One target: what was lost, the replays, or why there are none."""

    target: str
    version: str = ""
    dropped: tuple[Effect, ...] = ()
    approximated: tuple[Effect, ...] = ()
    over: str = ""
    """What the cost of an effect was measured over, in words."""
    replays: tuple[Replay, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why there is no export, or why a log was not replayed."""

    def summary(self) -> dict[str, Any]:
        """As plain data, for `--json`."""
        effects = {
            name: [{"path": e.path, "text": e.text, "error": e.error, "worst": e.worst} for e in rows]
            for name, rows in (("dropped", self.dropped), ("approximated", self.approximated))
        }
        return {
            "target": self.target,
            "version": self.version,
            **effects,
            "over": self.over,
            "replays": [
                {"simulator": r.simulator, "timestep": r.timestep, **case}
                for r in self.replays
                for case in summary(r)["cases"]
            ],
            "reasons": list(self.reasons),
        }


def n_steps(n_logs: int) -> int:
    """How often `exports` says what it is doing."""
    return len(TARGETS) + len(REPLAYED) * min(max(n_logs, 1), N_LOGS)


def exports(fit: Fit, logs: Sequence[Log], progress: Callable[[str], None]) -> tuple[ReportedExport, ...]:
    """Every target. Those that can be run here are replayed on some logs,
    or without any on the reference motions.

    Args:
        fit: A servo's.
        logs: To replay on, the first few.
        progress: Is told what is done next.

    Returns:
        One result for each target.
    """
    return tuple(_export_and_replay(fit, target, logs, progress) for target in TARGETS)


def _export_and_replay(
    fit: Fit, target: str, logs: Sequence[Log], progress: Callable[[str], None]
) -> ReportedExport:
    progress(f"export to {target}")
    if target in WHOLE:
        return ReportedExport(target=target, version=TARGETS[target].default)
    try:
        made = export(fit.actuator, target, notes=fit.summary(), replay=False)
    except BackemfError as error:
        return ReportedExport(target=target, reasons=(str(error),))
    replays, reasons = [], []
    for log in (logs[:N_LOGS] or [None]) if target in REPLAYED else ():
        progress(f"replay in {target}" + (f": {log.name}" if log is not None else ""))
        try:
            replays.append(replay(made, log, refine=False))
        except BackemfError as error:
            reasons.append(f"not replayed: {error}")
    return ReportedExport(
        target=target,
        version=made.version,
        dropped=made.dropped,
        approximated=made.approximated,
        over=made.range,
        replays=tuple(replays),
        reasons=tuple(dict.fromkeys(reasons)),
    )


def edit_model(fit: Fit, logs: Sequence[Log]) -> tuple[Any, str]:
    """(a robot's own file with the fit in it, driven; why there is none)."""
    source = "" if fit.robot is None else fit.robot.source
    if not source or not Path(source).is_file():
        return None, f"the robot's model {source or 'has no file'} is not here; give it: --robot MODEL.xml"
    if Path(source).suffix.lower() == ".urdf":
        return None, "the robot's model is a URDF, which has no words for actuators that MuJoCo runs"
    try:
        return export(fit, "mujoco", into=source, logs=list(logs) or None), ""
    except BackemfError as error:
        return None, str(error)
