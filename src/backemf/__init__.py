"""backemf: from a motor's datasheet and its bench logs to an actuator model you can trust.

A *Datasheet* suggests an *Actuator*; *Logs* recorded on a *Bench* turn it into a *Fit*; the Fit's Actuator
becomes an *Export*, and every Export is replayed and compared with the Logs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Nouns and verbs in the order of the flow; each is loaded from its room when first used.
_ROOMS: dict[str, tuple[str, ...]] = {
    "data.datasheet": ("Datasheet",),
    "model.actuator": ("Actuator",),
    "model.motor": ("Motor", "Limits"),
    "model.thermal": ("Thermal", "TwoNodeThermal"),
    "model.cogging": ("Cogging",),
    "model.gearbox": ("Gearbox",),
    "model.friction": (
        "Viscous",
        "Coulomb",
        "Stribeck",
        "TorqueProportional",
        "M3",
        "M4",
        "M5",
        "M6",
        "Dahl",
        "LuGre",
        "LoadLuGre",
    ),
    "model.drive": (
        "Off",
        "Brake",
        "VoltageDrive",
        "CurrentDrive",
        "PositionDrive",
        "ServoDrive",
        "VelocityDrive",
        "ImpedanceDrive",
    ),
    "model.bench": (
        "Bench",
        "Locked",
        "FreeShaft",
        "Flywheel",
        "Pendulum",
        "Elevator",
        "Spring",
        "Recorded",
        "rod",
        "disc",
        "cylinder",
        "box",
        "shifted",
    ),
    "engine.command": ("constant", "step", "ramp", "sine", "chirp", "square", "random_binary", "held"),
    "engine.simulate": ("simulate",),
    "engine.trajectory": ("Trajectory",),
    "data.log": ("Log", "Signal", "log"),
    "data.read": ("read",),
    "identify.check": ("check",),
    "identify.fit": ("fit",),
    "identify.ladder": ("ladder",),
    "identify.result": ("Fit",),
    "identify.characterize": ("characterize", "Characterization"),
    "targets.export": ("export", "Export"),
    "targets.replay": ("replay",),
    "targets.explain": ("explain",),
    "findings": ("Finding",),
    "errors": ("BackemfError",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'backemf' has no {name!r}; it has: {', '.join(sorted(_HOME))}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from .data.datasheet import Datasheet as Datasheet
    from .data.log import Log as Log
    from .data.log import Signal as Signal
    from .data.log import log as log
    from .data.read import read as read
    from .engine.command import chirp as chirp
    from .engine.command import constant as constant
    from .engine.command import held as held
    from .engine.command import ramp as ramp
    from .engine.command import random_binary as random_binary
    from .engine.command import sine as sine
    from .engine.command import square as square
    from .engine.command import step as step
    from .engine.simulate import simulate as simulate
    from .engine.trajectory import Trajectory as Trajectory
    from .errors import BackemfError as BackemfError
    from .findings import Finding as Finding
    from .identify.characterize import Characterization as Characterization
    from .identify.characterize import characterize as characterize
    from .identify.check import check as check
    from .identify.fit import fit as fit
    from .identify.ladder import ladder as ladder
    from .identify.result import Fit as Fit
    from .model.actuator import Actuator as Actuator
    from .model.bench import Bench as Bench
    from .model.bench import Elevator as Elevator
    from .model.bench import Flywheel as Flywheel
    from .model.bench import FreeShaft as FreeShaft
    from .model.bench import Locked as Locked
    from .model.bench import Pendulum as Pendulum
    from .model.bench import Recorded as Recorded
    from .model.bench import Spring as Spring
    from .model.bench import box as box
    from .model.bench import cylinder as cylinder
    from .model.bench import disc as disc
    from .model.bench import rod as rod
    from .model.bench import shifted as shifted
    from .model.cogging import Cogging as Cogging
    from .model.drive import Brake as Brake
    from .model.drive import CurrentDrive as CurrentDrive
    from .model.drive import ImpedanceDrive as ImpedanceDrive
    from .model.drive import Off as Off
    from .model.drive import PositionDrive as PositionDrive
    from .model.drive import ServoDrive as ServoDrive
    from .model.drive import VelocityDrive as VelocityDrive
    from .model.drive import VoltageDrive as VoltageDrive
    from .model.friction import M3 as M3
    from .model.friction import M4 as M4
    from .model.friction import M5 as M5
    from .model.friction import M6 as M6
    from .model.friction import Coulomb as Coulomb
    from .model.friction import Dahl as Dahl
    from .model.friction import LoadLuGre as LoadLuGre
    from .model.friction import LuGre as LuGre
    from .model.friction import Stribeck as Stribeck
    from .model.friction import TorqueProportional as TorqueProportional
    from .model.friction import Viscous as Viscous
    from .model.gearbox import Gearbox as Gearbox
    from .model.motor import Limits as Limits
    from .model.motor import Motor as Motor
    from .model.thermal import Thermal as Thermal
    from .model.thermal import TwoNodeThermal as TwoNodeThermal
    from .targets.explain import explain as explain
    from .targets.export import Export as Export
    from .targets.export import export as export
    from .targets.replay import replay as replay
