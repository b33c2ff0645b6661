"""A motion on a simulator's own clock: what every target's `run` is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..errors import InvalidValue
from .motions import Motion

LOST = 1e6
"""Positions beyond this [rad or m] are not a motion any more."""


class Clocked(NamedTuple):
    """A motion on the simulator's own clock."""

    timestep: float
    """[s]"""
    moments: np.ndarray
    """timestep * arange(n): the state is recorded before each step."""
    command: Mapping[str, np.ndarray]
    """The drive's targets by name at the moments, in joint units."""
    ctrl: Mapping[str, float]
    """Factor from each target to the file's own input, in the order of its inputs."""
    enabled: np.ndarray
    """Whether the drive is on, at the moments."""
    inertia: float
    """Of the bench on the joint [kg m^2, kg]; the stand-in body's is replaced by it."""
    load: Callable[[int, float, float], float]
    """Torque of the bench on the joint at row k, position, velocity [N m, N]."""
    position: float = 0.0
    velocity: float = 0.0
    motion: str = "rotary"
    means: Mapping[str, np.ndarray] = MappingProxyType({})
    """The targets' means over each step, for what acts at a command's own moment inside a step."""

    @property
    def inputs(self) -> np.ndarray:
        """What is sent to the file, a row for each moment."""
        return self._sent(self.command)

    @property
    def mean_inputs(self) -> np.ndarray:
        """The same as means over each step."""
        return self._sent({**self.command, **self.means})

    def _sent(self, command: Mapping[str, np.ndarray]) -> np.ndarray:
        sent = np.zeros((len(self.moments), len(self.ctrl)))
        for k, (name, factor) in enumerate(self.ctrl.items()):
            if name in command:
                sent[:, k] = factor * command[name]
        return sent

    def check(self, name: str, positions: np.ndarray) -> np.ndarray:
        """The positions, if they are a motion."""
        if not (np.abs(positions) < LOST).all():
            raise InvalidValue(
                f"{name} diverges at a step of {1e3 * self.timestep:g} ms; export with a shorter timestep"
            )
        return positions


def clocked(case: Motion, ctrl: Mapping[str, float], h: float, motion: str) -> Clocked:
    """A motion with its commands held between samples: at each moment the newest sample not later."""
    n = int(np.ceil(case.time[-1] / h - 1e-9)) + 1
    moments = h * np.arange(n)
    at = np.clip(np.searchsorted(case.time, moments + 1e-9, side="right") - 1, 0, len(case.time) - 1)
    held = {name: np.asarray(values, float)[at] for name, values in case.command.items()}
    series = {name: held[name] for name in case.bench.series}
    inertia = float(np.asarray(case.bench.inertia_at({k: v[0] for k, v in series.items()})))
    if "inertia" in series and np.ptp(series["inertia"]) > 1e-9 * inertia:
        raise InvalidValue(f"{case.name}: the recorded inertia varies; a replay has a constant one")

    def load(k: int, q: float, w: float) -> float:
        return float(np.asarray(case.bench.load(q, w, {name: v[k] for name, v in series.items()})))

    return Clocked(
        timestep=h,
        moments=moments,
        command={k: v for k, v in held.items() if k.endswith("_target")},
        means={
            k: _mean(case.time, np.asarray(v, float), moments, h)
            for k, v in case.command.items()
            if k.endswith("_target")
        },
        ctrl=ctrl,
        enabled=held["enabled"] > 0.5 if "enabled" in held else np.ones(n, bool),
        inertia=inertia,
        load=load,
        position=case.start["position"],
        velocity=case.start["velocity"],
        motion=motion,
    )


def _mean(time: np.ndarray, values: np.ndarray, moments: np.ndarray, h: float) -> np.ndarray:
    """Of a held signal over the h seconds from each moment on."""
    ends = np.append(time, time[-1] + 2 * h)  # the last sample holds
    sums = np.concatenate([[0.0], np.cumsum(values * np.diff(ends))])
    over = np.interp(moments + h, ends, sums) - np.interp(moments, ends, sums)
    return over / h
