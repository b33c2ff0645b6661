"""Models with plugins beside the same ones with attached actuators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

import backemf as be
from backemf.engine.hosted_system import live_system
from backemf.targets.code import plugin as target
from backemf.targets.export import Request

STRICT = ("-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Werror")


def written(actuators: Mapping[str, be.Actuator], h: float) -> Any:
    """A library with a plugin for each joint."""
    first = next(iter(actuators))
    rest = ((), "simulation", h, "implicitfast", 0.5, 0.25, False)
    return target.several(actuators, Request("mujoco-plugin", "any", first, *rest))


def plugged(
    spec: mujoco.MjSpec,
    actuators: Mapping[str, be.Actuator],
    files: Mapping[str, str] | None = None,
    shared: bool = False,
    **config: Any,
) -> mujoco.MjModel:
    """The model with plugins on these joints, every target and a switch behind them; with `shared`, the
    joints have one instance of the first one's plugin."""
    spec = spec.copy()
    made = target.build_library(
        written(actuators, spec.option.timestep).files if files is None else files, *STRICT
    )
    names = dict(zip(actuators, [f"backemf.{name}{made.tag}" for name in made.names], strict=True))
    for name in names.values():
        spec.activate_plugin(name)
    first, instance = next(iter(actuators)), None
    for joint, one in actuators.items():
        system = live_system(one)
        place = spec.joint(joint)
        place.damping[:], place.frictionloss = 0.0, 0.0
        place.armature = float(system.armature([*system.parameters.values()]))
        driven = spec.add_actuator(name=joint, target=joint)
        driven.trntype = mujoco.mjtTrn.mjTRN_JOINT
        if instance is None or not shared:
            name = names[first if shared else joint]
            instance = spec.add_plugin(name=f"{joint}_numbers", plugin_name=name, active=True)
            asked = {} if shared else {target: f"{joint}_{target}" for target in _further(one)}
            instance.config = {**asked, **{key: str(value) for key, value in config.items()}}
        driven.plugin = instance
    for joint, one in actuators.items():
        for asked in () if shared else _further(one):
            extra = spec.add_actuator(name=f"{joint}_{asked}", target=joint)
            extra.trntype = mujoco.mjtTrn.mjTRN_JOINT
            extra.gainprm[:] = 0.0
    return spec.compile()


def _further(one: be.Actuator) -> list[str]:
    return [*(t for t in one.drive.targets if t != one.drive.followed), "disabled"]


def both(spec: mujoco.MjSpec, actuators: Mapping[str, be.Actuator], files: Any = None, **config: Any):
    """The attached model and the plugged one, with equal elements of ctrl."""
    motors = be.attach(spec, actuators, feedforward=True, switch=True)
    parts = {one.substeps for one in motors.joints.values()}
    model = plugged(spec, actuators, files, substeps=parts.pop(), **config)
    assert not parts
    names = [[m.actuator(i).name for i in range(m.nu)] for m in (motors.model, model)]
    assert names[0] == names[1]
    return motors.model, model


def apart(models: Any, ctrl: np.ndarray, start: float = 0.1) -> tuple[float, float]:
    """The largest difference of positions and efforts, and the largest motion."""
    runs, worst, size = [mujoco.MjData(m) for m in models], 0.0, 0.0
    for data in runs:
        data.qpos[:] = start
    for row in ctrl:
        for m, data in zip(models, runs, strict=True):
            data.ctrl[:] = row
            mujoco.mj_step(m, data)
        a, b = runs
        worst = max(worst, *np.abs(a.qpos - b.qpos), *np.abs(a.actuator_force - b.actuator_force))
        size = max(size, *np.abs(a.qpos - start))
    return worst, size
