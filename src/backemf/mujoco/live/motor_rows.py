"""An actuator's numbers as they lie in a model: its terms and settings in `actuator_user`; see
`kernel.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...engine.hosted_system import LiveSystem
from ...physics.actuator import Actuator
from ...physics.supply import BUS, NUMBERS, Supply
from .places import SETTINGS

LINES = 2
"""Room in the line of late commands, as a multiple of the delay: draws may have a longer one."""


def line_of(actuator: Actuator, h: float) -> int:
    """Commands of the past that a drive's delay needs at this time step."""
    delay = actuator.drive.delay
    return 1 if delay is None else LINES * math.ceil(delay / h + 0.5) + 1


def size(system: LiveSystem, n_line: int) -> int:
    """Activations of an actuator; see `kernel.py`."""
    return len(system.states) + 1 + len(system.inputs) + n_line * (len(system.inputs) - 3)


def width(functions: Any, system: LiveSystem) -> int:
    """Numbers of an actuator in `actuator_user`."""
    shared = len(NUMBERS) + len(BUS) if "sag" in system.inputs else 0
    return functions.WIDTH + len(SETTINGS) + len(system.states) + len(system.inputs) - 3 + shared


def trees(model: Any, actuators: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """For each joint, how many of ours move each other if it is the last of them, and the next one's
    actuator."""
    found: dict[int, list[tuple[int, str]]] = {}
    for joint, name in actuators.items():
        tree = int(model.dof_treeid[model.joint(joint).dofadr[0]])
        found.setdefault(tree, []).append((int(model.actuator(name).id), joint))
    linked = {}
    for members in found.values():
        members.sort(
            reverse=True
        )  # MuJoCo clears an actuator's rates when its turn comes, so the last one writes
        for (_, joint), (after, _) in zip(members, [*members[1:], (-1, "")], strict=True):
            linked[joint] = {"n_tree": len(members) if joint == members[0][1] else 0, "next": after}
    return linked


def armature_of(system: LiveSystem) -> float:
    """Of the rotors, at the joint [kg m^2 or kg]."""
    return float(system.armature([*system.parameters.values()]))


def row(
    functions: Any,
    system: LiveSystem,
    kept: Mapping[str, float],
    channels: Sequence[int],
    supply: Supply | None = None,
) -> np.ndarray:
    """An actuator's numbers in `actuator_user`; see `kernel.py`.

    Args:
        functions: of its structure, compiled.
        system: the actuator in a simulation.
        kept: its settings, apart from delay and armature.
        channels: the element of ctrl of each target; -1: none.
        supply: that it shares with others; None: what stands there stays.

    Returns:
        Terms, settings, states at rest and channels, one after the other.
    """
    actuator, terms = system.actuator, np.empty((1, functions.WIDTH))
    functions.prepare(np.array([[*system.parameters.values()]], float), terms)
    settings = {**kept, "delay": actuator.drive.delay or 0.0, "armature": armature_of(system)}
    rest = [*actuator.initial_state().values()]
    shared = [] if supply is None else [*supply.numbers, *supply.begin()]
    return np.concatenate([terms[0], [settings[k] for k in SETTINGS], rest, channels, shared])


def settings_of(model: Any, index: int) -> dict[str, float]:
    """Of an actuator in a model."""
    return dict(zip(SETTINGS, map(float, _behind_terms(model, index)), strict=False))


def channels_of(model: Any, index: int, system: LiveSystem) -> list[int]:
    """Which elements of ctrl an actuator in a model reads.

    Args:
        model: compiled.
        index: of the actuator.
        system: the actuator.

    Returns:
        An element for each target; -1: none.
    """
    at, n = len(SETTINGS) + len(system.states), len(system.inputs) - 3
    return [int(x) for x in _behind_terms(model, index)[at : at + n]]


def _behind_terms(model: Any, index: int) -> np.ndarray:
    first, n_terms = (int(model.actuator_dynprm[index, k]) for k in (3, 4))
    return model.actuator_user[index, first + n_terms :]


def put(model: Any, index: int, numbers: np.ndarray) -> None:
    """Write an actuator's numbers into a model.

    Args:
        model: compiled, which is changed.
        index: of the actuator.
        numbers: as `row` gives them.
    """
    first = int(model.actuator_dynprm[index, 3])
    model.actuator_user[index, first : first + len(numbers)] = numbers


def remove_ctrl_range(model: Any, index: int) -> None:
    """Take the range of an actuator's ctrl away."""
    behind = _behind_terms(model, index)
    behind[SETTINGS.index("ctrl_low")], behind[SETTINGS.index("ctrl_high")] = -math.inf, math.inf
