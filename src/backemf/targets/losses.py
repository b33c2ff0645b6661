"""What a target loses of an actuator, and what each loss costs in position over the motions an export is
judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import BackemfError
from ..model import drive as drives
from ..model.actuator import Actuator
from ..model.drive import Drive, Regulator
from ..model.motor import Limits
from .approximate import Difference, Tuned, difference, positions
from .export import Effect, Request
from .motions import Motion, motions_of

NO_PLAY: dict[str, Any] = {"backlash": None, "contact_stiffness": None, "contact_damping": 0.0}
"""The change that takes a gearbox's play away."""


class Loss(NamedTuple):
    """An effect that is not carried as it is."""

    path: str
    text: str
    kept: bool
    """Approximated by other numbers, rather than dropped."""
    touches: str = ""
    """Which numbers may make up for it: 'motor', 'friction' or both words."""
    without: Callable[[Actuator], Actuator] | None = None
    measured: bool = True
    """Whether the stand-in has it, so that its error can be measured without the simulator itself."""


class Account(NamedTuple):
    """What was lost, and over which motions that was measured."""

    dropped: tuple[Effect, ...] = ()
    approximated: tuple[Effect, ...] = ()
    range: str = ""


def lacking(part: str, **changes: Any) -> Callable[[Actuator], Actuator]:
    """The same actuator with one part changed."""
    return lambda actuator: replace(actuator, **{part: replace(getattr(actuator, part), **changes)})


def cooled(limits: Limits | None) -> Limits | None:
    """Limits that do not know a temperature."""
    return (
        None if limits is None else replace(limits, safe_current=None, derating_start=None, derating_end=None)
    )


def no_integral(drive: Drive) -> dict[str, None]:
    """The change that takes a drive's integral away; empty where it has none."""
    if not (isinstance(drive, Regulator) and drive.has_integral):
        return {}
    if isinstance(drive, drives.Servo):
        return {"integral": None}
    if isinstance(drive, drives.Impedance):
        return {"newton_metres_per_radian_second": None}
    return (
        {"volts_per_radian_second": None}
        if isinstance(drive, drives.Position)
        else {"volts_per_radian": None}
    )


def account(
    actuator: Actuator,
    losses: Sequence[Loss],
    left: Difference,
    rich: np.ndarray,
    motions: Sequence[Motion],
    over: str,
) -> Account:
    """Each loss with its cost: of leaving it out where dropped, of the whole export where approximated."""
    dropped, approximated, unit = [], [], "m" if actuator.motion == "linear" else "rad"
    for loss in losses:
        if loss.kept:
            seen = loss.measured
            approximated.append(
                Effect(
                    path=loss.path,
                    text=loss.text,
                    error=left.rms if seen else None,
                    worst=left.worst if seen else None,
                    unit=unit,
                )
            )
            continue
        cost = None
        if loss.without is not None:
            try:
                cost = difference(positions(loss.without(actuator), motions), rich)
            except BackemfError:
                cost = None
        dropped.append(
            Effect(
                path=loss.path, text=loss.text, error=cost and cost.rms, worst=cost and cost.worst, unit=unit
            )
        )
    return Account(tuple(dropped), tuple(approximated), over)


def weighed(
    actuator: Actuator, stand_in: Actuator | Tuned, losses: Sequence[Loss], request: Request
) -> Account:
    """The account of a stand-in whose numbers are settled."""
    if not losses:
        return Account()
    motions, over = motions_of(actuator, request)
    rich = positions(actuator, motions)
    return account(actuator, losses, difference(positions(stand_in, motions), rich), rich, motions, over)
