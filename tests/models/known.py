"""The models of this folder, the parts that go onto their joints, and what MuJoCo says of both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

import backemf as be
from backemf.targets.code import plugin
from backemf.targets.mujoco.edited_model import EditedModel

SCENES = Path(__file__).parent / "scenes"
SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=2e-7),
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=30.0, volt_seconds_per_radian=0.5, supply=12.0, slew=4.0),
)
"""Its setpoint moves at most 4 rad/s, which is a state of its own."""
STALL = 100 * 0.02 * 12.0 / 2.0
"""N K V / R of the servo [N m]."""
ROTOR = 100**2 * 2e-7
"""N^2 J of the servo [kg m^2]."""
STATIC = 0.05 / 30.0
"""Where the servo's dry friction stops it: coulomb over the stiffness N K / R volts_per_radian [rad]."""
THRUST = be.Actuator(
    motor=be.motor.Motor(resistance=1.0, torque_constant=0.05, rotor_inertia=1e-6),
    gearbox=be.gearbox.Gearbox(ratio=1000.0),
    friction=be.friction.Coulomb(coulomb=1.0, viscous=1.0),
    drive=be.drive.Position(volts_per_radian=200.0, volt_seconds_per_radian=2.0, supply=24.0),
    motion="linear",
)
"""A spindle: its newtons are N m and its metres radians."""


class Scene(NamedTuple):
    """A model, and what of it a pattern for all joints means for a rotary actuator."""

    driven: tuple[str, ...]
    left: Mapping[str, str] = {}
    """Joint that is left alone -> a word of the reason."""
    named: tuple[str, ...] = ()
    """Joints that are left alone unless they are named exactly."""


MODELS = {
    "leg": Scene(("hip", "knee", "ankle")),
    "hand": Scene(
        ("wrist", "thumb_base"),
        {"index_base": "tendon", "index_tip": "tendon", "thumb_tip": "equality", "wheel": "nothing"},
        ("index_tip", "thumb_tip", "wheel"),
    ),
    "gantry": Scene(("turn", "tilt"), {"rail": "a slide"}),
    "crowd": Scene(
        ("first", "second"), {"spin_0": "replicate", "spin_1": "replicate", "spin_2": "replicate"}
    ),
    "zoo": Scene(
        ("posed", "pushed", "halved", "paired", "wound", "filtered", "spun"),
        {"looped": "plugin", "flexed": "muscle", "idle": "nothing"},
        ("idle",),
    ),
    "walker": Scene(("left_hip", "left_wheel", "right_hip", "right_wheel", "neck")),
    "bare": Scene(("base", "shoulder", "elbow")),
}
WAYS = ("mujoco", "mujoco-classic", "mujoco-plugin", "attach")


def scene(name: str) -> Path:
    return SCENES / f"{name}.xml"


def load(path: Path | str) -> Any:
    return mujoco.MjModel.from_xml_path(str(path))


def edit(name: str, parts: Mapping[str, Any], to: str = "mujoco", **how: Any) -> EditedModel:
    """Parts put into a model of this folder; nothing is written."""
    edited = be.export(parts, to, into=scene(name), **{"method": "formula", **how})
    assert isinstance(edited, EditedModel)
    return edited


class Changed(NamedTuple):
    """A model with other actuators, compiled, and what was said of it."""

    model: Any
    findings: tuple[be.Finding, ...]


def put(name: str, parts: Mapping[str, Any], way: str, folder: Path, **how: Any) -> Changed:
    """Parts put onto a model of this folder, in one of the three ways; files are written elsewhere."""
    if way == "attach":
        motors = be.attach(scene(name), parts)
        return Changed(motors.model, motors.findings)
    edited = edit(name, parts, way, **how)
    written = edited.write(folder / "new.xml")
    if way == "mujoco-plugin":
        _name_library(edited, written)
    return Changed(load(written[0]), edited.findings)


def _name_library(edited: EditedModel, written: list[Path]) -> None:
    """Build a model's plugins and name them as this process knows them."""
    library = plugin.build_library({k: str(v) for k, v in edited.beside.items() if k.endswith(".c")})
    for path in (path for path in written if path.suffix == ".xml"):
        text = path.read_text()
        for name in library.names:
            text = text.replace(f'plugin="backemf.{name}"', f'plugin="backemf.{name}{library.tag}"')
        path.write_text(text)


def actuators_on(model: Any, joint: str) -> list[int]:
    """Indices of the actuators that act on a joint."""
    j = model.joint(joint).id
    on_joint = np.isin(model.actuator_trntype, [mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT])
    return [int(i) for i in np.flatnonzero(on_joint & (model.actuator_trnid[:, 0] == j))]


def ctrl_of(model: Any, joint: str) -> int:
    """Place in ctrl of a joint's first actuator."""
    return int(model.actuator_ctrladr[actuators_on(model, joint)[0]])


def begin(model: Any, key: int = 0) -> Any:
    """A simulation at a keyframe, where there is one, without gravity."""
    model.opt.gravity[:] = 0.0
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, key)
    return data


def run(model: Any, data: Any, seconds: float) -> Any:
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return data


def at(model: Any, data: Any, joint: str) -> float:
    return float(data.qpos[model.joint(joint).qposadr[0]])


def fields(part: Any, prefix: str = "") -> dict[str, Any]:
    """Every public number of a compiled model, those of opt, vis and stat too, and its names."""
    found: dict[str, Any] = {}
    for name in dir(part):
        if name.startswith("_") or callable(value := getattr(part, name)):
            continue
        if name in ("opt", "vis", "stat") or prefix.startswith("vis"):
            found |= fields(value, f"{prefix}{name}.") if not _plain(value) else {prefix + name: value}
        elif _plain(value):
            found[prefix + name] = value
    return found


def _plain(value: Any) -> bool:
    return isinstance(value, int | float | str | bytes | np.ndarray | np.generic)


def rows(old: Any, new: Any) -> set[int]:
    """Rows of an array that differ; -1 where the shapes do."""
    old, new = np.atleast_1d(np.asarray(old)), np.atleast_1d(np.asarray(new))
    if old.shape != new.shape:
        return {-1}
    unlike = old != new
    return {int(k) for k in np.flatnonzero(unlike.any(axis=tuple(range(1, unlike.ndim))))}
