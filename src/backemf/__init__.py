"""backemf: from a motor's datasheet and its recordings to an actuator model you can trust.

A *Datasheet* suggests an *Actuator*; *Logs* recorded on a *Bench* turn it into a *Fit*; the Fit's Actuator
becomes an *Export*, and every Export is replayed and compared with the Logs.

The parts of an actuator and what surrounds it live in namespaces: `be.motor.Motor`, `be.gearbox.Gearbox`,
`be.friction.LuGre`, `be.drive.Servo`, `be.bench.Pendulum`, `be.signal.step`; closed forms in `be.steady`,
curves in `be.curves`, conversions between units of gains and constants in `be.convert`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

# Nouns and verbs in the order of the flow; each is loaded from its room when first used.
_ROOMS: dict[str, tuple[str, ...]] = {
    "datasheets.datasheet": ("Datasheet",),
    "physics.actuator": ("Actuator",),
    "physics.bench": ("Bench",),
    "logs.robot": ("Robot",),
    "logs.log": ("Log", "Signal", "log"),
    "planning.motions": ("Motions",),
    "planning.plan": ("plan", "Plan"),
    "kits.recorder.recorder": ("record",),
    "kits.recorder.virtual.process": ("virtual",),
    "logs.read": ("read",),
    "engine.simulate": ("simulate", "Trajectory"),
    "engine.candidates": ("simulate_many", "Many"),
    "sizing.task": ("Task",),
    "sizing.size": ("size",),
    "physics.supply": ("Supply",),
    "sizing.power": ("power",),
    "analysis.measure": ("measure",),
    "identify.check": ("check",),
    "identify.fit": ("fit",),
    "identify.ladder": ("ladder",),
    "kits.fleets.fleet": ("fleet", "Fleet"),
    "results.fit_result": ("Fit",),
    "kits.frc.characterize": ("characterize",),
    "kits.frc.characterization": ("Characterization",),
    "results.spread": ("Spread",),
    "results.population": ("Population",),
    "targets.export": ("export", "Export"),
    "targets.replay": ("replay",),
    "mujoco.live.attach": ("attach", "Motors"),
    "targets.training.rollout": ("rollout", "Rollout"),
    "mujoco.explain.explanation": ("explain",),
    "apps.playback.playback": ("playback",),
    "findings": ("Finding",),
    "errors": ("BackemfError",),
}
_SPACES = {
    **{name: f"physics.{name}" for name in ("motor", "gearbox", "friction", "drive", "bench")},
    "steady": "physics.steady",
    "curves": "analysis.curves",
    "convert": "analysis.conversion",
    "signal": "signal",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = ["__version__", *_HOME, *_SPACES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _SPACES:
        value: Any = importlib.import_module(f".{_SPACES[name]}", __name__)
    elif name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    else:
        raise AttributeError(
            f"module 'backemf' has no {name!r}; it has: {', '.join(sorted(__all__))}{_nearby(name)}"
        )
    globals()[name] = value
    return value


def _nearby(name: str) -> str:
    """Where a part is that was looked for at the top level."""
    for space, module in _SPACES.items():
        if hasattr(importlib.import_module(f".{module}", __name__), name):
            return f"; {name} is be.{space}.{name}"
    return ""


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from . import signal as signal
    from .analysis import conversion as convert, curves as curves  # noqa: F401  # `convert`: not its room's
    from .analysis.measure import measure as measure
    from .apps.playback.playback import playback as playback
    from .datasheets.datasheet import Datasheet as Datasheet
    from .engine.candidates import Many as Many, simulate_many as simulate_many
    from .engine.simulate import Trajectory as Trajectory, simulate as simulate
    from .errors import BackemfError as BackemfError
    from .findings import Finding as Finding
    from .identify.check import check as check
    from .identify.fit import fit as fit
    from .identify.ladder import ladder as ladder
    from .kits.fleets.fleet import Fleet as Fleet, fleet as fleet
    from .kits.frc.characterization import Characterization as Characterization
    from .kits.frc.characterize import characterize as characterize
    from .kits.recorder.recorder import record as record
    from .kits.recorder.virtual.process import virtual as virtual
    from .logs.log import Log as Log, Signal as Signal, log as log
    from .logs.read import read as read
    from .logs.robot import Robot as Robot
    from .mujoco.explain.explanation import explain as explain
    from .mujoco.live.attach import Motors as Motors, attach as attach
    from .physics import (
        bench as bench,
        drive as drive,
        friction as friction,
        gearbox as gearbox,
        motor as motor,
        steady as steady,
    )
    from .physics.actuator import Actuator as Actuator
    from .physics.bench import Bench as Bench
    from .physics.supply import Supply as Supply
    from .planning.motions import Motions as Motions
    from .planning.plan import Plan as Plan, plan as plan
    from .results.fit_result import Fit as Fit
    from .results.population import Population as Population
    from .results.spread import Spread as Spread
    from .sizing.power import power as power
    from .sizing.size import size as size
    from .sizing.task import Task as Task
    from .targets.export import Export as Export, export as export
    from .targets.replay import replay as replay
    from .targets.training.rollout import Rollout as Rollout, rollout as rollout
