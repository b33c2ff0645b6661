"""What a target loses of an actuator, and what each loss costs in position over the motions an export is
judged by."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import BackemfError, InvalidValue
from ..physics.actuator import Actuator
from ..physics.motor import Limits
from .approximate import Difference, Tuned, difference, positions
from .export import NOTHING_LOST, Account, Effect, Request
from .motions import Motion, motions_of

NO_PLAY: dict[str, Any] = {"backlash": None, "contact_stiffness": None, "contact_damping": 0.0}
"""The change that takes a gearbox's play away."""

LOOKS = "the law looks at every step, and at the velocity itself"
"""What becomes of a drive's period where a simulator evaluates its law at every step."""
NO_PUSH = "D does not see the setpoint move: the push of a moving setpoint is lost"
"""What becomes of a D on the error where a target has D on the motion, or none."""


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


class Losses(list[Loss]):
    """Losses in the order in which they are found."""

    def keep(self, path: str, text: str, touches: str = "", measured: bool = True) -> None:
        """Something that other numbers make up for."""
        self.append(Loss(path, text, True, touches, measured=measured))

    def drop(self, path: str, text: str, part: str = "", **changes: Any) -> None:
        """Something left out, and the change of one part that leaves it out, where its cost can be known."""
        self.append(Loss(path, text, False, without=lacking(part, **changes) if part else None))

    def drop_each(self, actuator: Actuator, part: str, **texts: str) -> dict[str, None]:
        """Leave out those of a part's numbers that are there and not 0; the changes that do so."""
        there = [name for name in texts if getattr(getattr(actuator, part), name, None)]
        for name in there:
            self.drop(f"{part}.{name}", texts[name], part, **{name: None})
        return dict.fromkeys(there)

    def drop_push(self, actuator: Actuator) -> dict[str, None]:
        """Leave out the push that a D on the error gives a moving setpoint; the change that does so."""
        change = actuator.drive.without_push
        for name in change:
            self.drop(f"drive.{name}", NO_PUSH, "drive", **change)
        return change


def lacking(part: str, **changes: Any) -> Callable[[Actuator], Actuator]:
    """The same actuator with one part changed."""
    return lambda actuator: replace(actuator, **{part: replace(getattr(actuator, part), **changes)})


def cooled(limits: Limits | None) -> Limits | None:
    """Limits that do not know a temperature."""
    gone = dict.fromkeys(("safe_current", "derating_start", "derating_end"))
    return None if limits is None else replace(limits, **gone)


def for_ever(limits: Limits) -> Limits:
    """Limits that let the peak current flow without end, at any temperature."""
    most = min(limits.peak_current or math.inf, limits.current or math.inf)
    return Limits(torque=limits.torque, current_rate=limits.current_rate, current=most)


def at_the_gear(actuator: Actuator, losses: Losses) -> dict[str, str]:
    """The change of a drive where the play is a joint of its own: the target's controller sees the other."""
    drive = actuator.drive
    if actuator.gearbox.backlash is None or drive.loop is None or drive.sensor == "rotor":
        return {}
    losses.drop("drive.sensor", "the controller sees the gear before its play", "drive", sensor="rotor")
    return {"sensor": "rotor"}


def check_direction(actuator: Actuator) -> None:
    """Refuse a command that turns the output backwards, where the target has no sign for that."""
    drive, N = actuator.drive, actuator.gearbox.ratio
    if N < 0 and drive.followed and drive.loop is None:
        raise InvalidValue(
            f"gearbox.ratio is {N:g} with {drive.kind}; expected a positive ratio: turn the joint's axis"
            " round instead"
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
    unit = "m" if actuator.motion == "linear" else "rad"

    def effect(loss: Loss, cost: Difference | None) -> Effect:
        rms, worst = (None, None) if cost is None else cost
        return Effect(path=loss.path, text=loss.text, error=rms, worst=worst, unit=unit)

    def cost(loss: Loss) -> Difference | None:
        try:
            return loss.without and difference(positions(loss.without(actuator), motions), rich)
        except BackemfError:
            return None

    dropped = tuple(effect(loss, cost(loss)) for loss in losses if not loss.kept)
    kept = tuple(effect(loss, left if loss.measured else None) for loss in losses if loss.kept)
    return Account(dropped, kept, over)


def weighed(
    actuator: Actuator, stand_in: Actuator | Tuned, losses: Sequence[Loss], request: Request
) -> Account:
    """The account of a stand-in whose numbers are settled."""
    if not losses:
        return NOTHING_LOST
    motions, over = motions_of(actuator, request)
    rich = positions(actuator, motions)
    return account(actuator, losses, difference(positions(stand_in, motions), rich), rich, motions, over)
