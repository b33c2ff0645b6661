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

from . import data, model, tables

__version__ = "0.2.0"

# Nouns and verbs in the order of the flow; each is loaded from its room when first used.
_ROOMS: dict[str, tuple[str, ...]] = {
    "data.sheets.datasheet": ("Datasheet",),
    "model.actuator": ("Actuator",),
    "model.bench": ("Bench",),
    "data.robot": ("Robot",),
    "data.log": ("Log", "Signal", "log"),
    "data.motions": ("Motions",),
    "identify.planning.plan": ("plan", "Plan"),
    "recorder.record": ("record",),
    "recorder.virtual.start": ("virtual",),
    "data.logs.read": ("read",),
    "engine.simulate": ("simulate",),
    "engine.many": ("simulate_many", "Many"),
    "engine.trajectory": ("Trajectory",),
    "readings.measure": ("measure",),
    "identify.check": ("check",),
    "identify.fit": ("fit",),
    "identify.ladder": ("ladder",),
    "fleets.fleet": ("fleet", "Fleet"),
    "data.fit": ("Fit",),
    "mechanism.characterize": ("characterize",),
    "data.characterization": ("Characterization",),
    "data.spread": ("Spread",),
    "data.population": ("Population",),
    "targets.export": ("export", "Export"),
    "targets.replay": ("replay",),
    "simulator.live.attach": ("attach", "Motors"),
    "targets.explain": ("explain",),
    "findings": ("Finding",),
    "errors": ("BackemfError",),
}
_SPACES = {
    **{name: f"model.{name}" for name in ("motor", "gearbox", "friction", "drive", "bench")},
    **{name: f"model.{name}" for name in ("steady", "curves")},
    "convert": "model.conversion",
    "signal": "signal",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = ["__version__", *_HOME, *_SPACES]  # pyright: ignore[reportUnsupportedDunderAll]

model.store = lambda: importlib.import_module(".data.store", __name__)
model.sources = lambda: importlib.import_module(".targets.sources", __name__)
data.signs = lambda: importlib.import_module(".robot.signs", __name__)
data.robots = lambda: importlib.import_module(".robot.describe", __name__)
tables.drawing.append(
    lambda *noun, **more: importlib.import_module(".report.figures.show", __name__).drawing(*noun, **more)
)


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
    from .data.characterization import Characterization as Characterization
    from .data.fit import Fit as Fit
    from .data.log import Log as Log, Signal as Signal, log as log
    from .data.logs.read import read as read
    from .data.motions import Motions as Motions
    from .data.population import Population as Population
    from .data.robot import Robot as Robot
    from .data.sheets.datasheet import Datasheet as Datasheet
    from .data.spread import Spread as Spread
    from .engine.many import Many as Many, simulate_many as simulate_many
    from .engine.simulate import simulate as simulate
    from .engine.trajectory import Trajectory as Trajectory
    from .errors import BackemfError as BackemfError
    from .findings import Finding as Finding
    from .fleets.fleet import Fleet as Fleet, fleet as fleet
    from .identify.check import check as check
    from .identify.fit import fit as fit
    from .identify.ladder import ladder as ladder
    from .identify.planning.plan import Plan as Plan, plan as plan
    from .mechanism.characterize import characterize as characterize
    from .model import (
        bench as bench,
        conversion as convert,  # noqa: F401  # the one name that differs from its room's
        curves as curves,
        drive as drive,
        friction as friction,
        gearbox as gearbox,
        motor as motor,
        steady as steady,
    )
    from .model.actuator import Actuator as Actuator
    from .model.bench import Bench as Bench
    from .readings.measure import measure as measure
    from .recorder.record import record as record
    from .recorder.virtual.start import virtual as virtual
    from .targets.explain import explain as explain
    from .targets.export import Export as Export, export as export
    from .targets.replay import replay as replay
