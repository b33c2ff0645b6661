"""What a run did, in a few numbers: where it came to, how it got there, and what that took."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..engine.simulate import Trajectory
from ..physics import energy as energy_book
from ..signal import moments

WITHIN = 0.02
"""Share of a step within which an answer counts as settled."""


class StepAnswer(NamedTuple):
    """The answer to a jump of the position's target, until the next one."""

    at: float
    """When it jumped [s]."""
    size: float
    """From where the output was to where it should go [rad or m]."""
    overshoot: float
    """Beyond the target, as a share of the step."""
    settling: float | None
    """How long after the jump it stays within 2 % of the step around the target [s]; None: it does not."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run in a few numbers, SI, at the output."""

    reached: float
    """Position at the end [rad or m]."""
    target: float | None
    """What was asked at the end, where a position was."""
    step: StepAnswer | None
    """The first jump's answer, where the position's target jumps."""
    largest_error: float | None
    rms_error: float | None
    """Of position against its target over the whole run."""
    peak_speed: float
    peak_current: float
    peak_torque: float
    energy: dict[str, float]
    """What moved since the start [J], by name, and what is stored more than before."""
    unexplained: float | None
    """What the energy book leaves over, as a share of the largest entry; None without a book."""
    temperature_rise: float | None
    """Of the winding [K], where it has a thermal model."""


def response(run: Trajectory, command: Any = None) -> RunSummary:
    """The numbers of a run; `command` is what it was given, which knows its jumps."""
    s = run.signals
    target = s.get("position_target")
    off = None if target is None else run.position - target
    energy = {name: float(x[-1] - x[0]) for name, x in run.energy.items()}
    unexplained = None
    if energy:
        lost = sum(energy[name] for name in energy_book.FLOWS if name != "electrical")
        size = max(abs(x) for x in energy.values())
        unexplained = abs(energy["electrical"] - lost - energy["stored"]) / size if size else 0.0
    warm = s.get("temperature") if run.actuator.motor.thermal is not None else None
    return RunSummary(
        reached=float(run.position[-1]),
        target=None if target is None else float(target[-1]),
        step=next(_steps(run, command), None),
        largest_error=None if off is None else float(np.max(np.abs(off))),
        rms_error=None if off is None else float(np.sqrt(np.mean(off**2))),
        peak_speed=float(np.max(np.abs(run.velocity))),
        peak_current=float(np.max(np.abs(run.current))),
        peak_torque=float(np.max(np.abs(run.torque))),
        energy=energy,
        unexplained=unexplained,
        temperature_rise=None if warm is None else float(np.max(warm) - warm[0]),
    )


def _steps(run: Trajectory, command: Any) -> Iterator[StepAnswer]:
    """The answers to the jumps of a position's target, where it does nothing but jump."""
    target = run.signals.get("position_target")
    if target is None or not getattr(command, "constant", True):
        return
    t, q = run.time, run.position
    if callable(command):
        jumps = moments(command, t[0], t[-1])
    else:
        changes = np.flatnonzero(np.diff(target) != 0) + 1
        if len(changes) > 0.2 * len(t):
            return
        jumps = t[changes]
    edges = [t[0], *jumps, np.inf]
    for begin, end in itertools.pairwise(edges):
        inside = (t >= begin) & (t < end)
        if inside.sum() < 3:
            continue
        asked = float(target[inside][0])
        size = asked - float(np.interp(begin, t, q))
        if abs(size) < 1e-6:
            continue
        beyond = np.sign(size) * (q[inside] - asked) / abs(size)
        away = np.flatnonzero(np.abs(q[inside] - asked) > WITHIN * abs(size))
        settled = 0.0 if not len(away) else None
        if len(away) and away[-1] + 1 < inside.sum():
            settled = float(t[inside][away[-1] + 1] - begin)
        yield StepAnswer(float(begin), size, float(max(np.max(beyond), 0.0)), settled)
