"""A target's file from its rows: what the actuator has and the target lacks is lost, and weighed over the
motions; a law's numbers are moved where that makes up for it; the numbers fill the target's template."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BackemfError
from ..physics.actuator import Actuator
from ..physics.joint_law import JointLaw, capability
from .approximate import Difference, Tuned, best, difference, near, positions
from .reference_motions import ReferenceMotion, motions_of
from .result import NOTHING_LOST, Account, Effect, Export, Request
from .spec import Loss

BETTER = 0.9
"""Other numbers than the closed forms are taken where they leave less than this share of the error."""
GAINS, OF_JOINT = ("gain", "stiffness", "damping"), ("effort_limit", "viscous", "friction")
"""What a user has chosen, and what the joint has."""


def write_target(target: Any, actuator: Actuator, request: Request) -> Export:
    """The files of a target.

    Args:
        target: its spec, or a module with a `write` of its own.
        actuator: what is to be carried.
        request: for which version, joint and motions.

    Returns:
        The export, not yet run.
    """
    return target.write(actuator, request)


# A law at the joint.


def closed_law(actuator: Actuator, load: float = 0.25, amplitude: float = 0.5) -> JointLaw:
    """Closed forms, with one damping for back-EMF and friction; a stiffness where a position is followed.

    Args:
        actuator: whose law it is.
        load: share of the stall torque at which friction is taken.
        amplitude: of the motions it is for [rad or m].

    Returns:
        The law.
    """
    law = JointLaw.of(actuator, load, amplitude).lump()
    return law if actuator.drive.followed == "position_target" else law._replace(stiffness=0.0)


def tune_actuator(actuator: Actuator, law: JointLaw, request: Request) -> Tuned:
    """The actuator that moves like a law, for other settings of the drive.

    Args:
        actuator: the whole one.
        law: that stands for it.
        request: whose load and amplitude the law is for.

    Returns:
        A function of the settings.
    """
    at = tuned_law(actuator, law, request)
    return lambda settings: at(settings).actuator(actuator.replace(**settings))


def tuned_law(
    actuator: Actuator, law: JointLaw, request: Request
) -> Callable[[Mapping[str, float]], JointLaw]:
    """The law for other settings of the drive: its numbers change as the closed forms do.

    Args:
        actuator: the whole one.
        law: that stands for it.
        request: whose load and amplitude the law is for.

    Returns:
        A function of the settings.
    """
    before = closed_law(actuator, request.load, request.amplitude)

    def at(settings: Mapping[str, float]) -> JointLaw:
        if not settings:
            return law
        after = closed_law(actuator.replace(**settings), request.load, request.amplitude)
        names = [n for n in (*GAINS, "effort_limit") if getattr(before, n) != 0]
        return law._replace(**{n: getattr(law, n) * getattr(after, n) / getattr(before, n) for n in names})

    return at


def fit_law(
    actuator: Actuator, law: JointLaw, reference: np.ndarray, motions: list[ReferenceMotion], request: Request
) -> tuple[JointLaw, Difference]:
    """The law that comes closest to the rich positions, starting from closed forms; no sign changes.

    Closed forms stay unless others are clearly closer; the user's own gains stay unless the rest cannot make
    up for what is lost.

    Args:
        actuator: the whole one.
        law: closed forms.
        reference: positions of the whole one [rad or m].
        motions: in which it has them.
        request: whose load and amplitude the law is for.

    Returns:
        (the law, how far it is off).
    """
    closed = difference(positions(tune_actuator(actuator, law, request), motions), reference)
    kept = (law, closed)
    for names in (OF_JOINT, GAINS + OF_JOINT):
        fit = _fit_numbers(actuator, law, names, reference, motions, request)
        if fit[1].rms < BETTER * kept[1].rms:
            kept = fit
    return kept


def _fit_numbers(
    actuator: Actuator,
    law: JointLaw,
    names: Sequence[str],
    reference: np.ndarray,
    motions: list[ReferenceMotion],
    request: Request,
) -> tuple[JointLaw, Difference]:
    free = [n for n in names if getattr(law, n) != 0 or n == "friction"]
    least = {"friction": 0.02 * capability(actuator, request.amplitude).stall}
    x0 = [abs(getattr(law, n)) for n in free]
    scale = [max(v, least.get(n, 0.0)) for n, v in zip(free, x0, strict=True)]

    def at(y: np.ndarray) -> JointLaw:
        size = {n: near(float(v), a) for n, v, a in zip(free, y, x0, strict=True)}
        return law._replace(**{n: math.copysign(v, getattr(law, n)) for n, v in size.items()})

    fit = best(lambda y: tune_actuator(actuator, at(y), request), x0, scale, reference, motions)
    return at(fit.x), fit.difference


# What was lost, and what that costs.


def account(
    actuator: Actuator,
    losses: Sequence[Loss],
    left: Difference,
    reference: np.ndarray,
    motions: Sequence[ReferenceMotion],
    over: str,
) -> Account:
    """Each loss with its cost: of leaving it out where dropped, of the whole export where approximated.

    Args:
        actuator: the whole one.
        losses: what the target lacks of it.
        left: how far the export is off.
        reference: positions of the whole one [rad or m].
        motions: in which it has them.
        over: the motions in words.

    Returns:
        What was dropped and what approximated.
    """
    unit = "m" if actuator.motion == "linear" else "rad"

    def effect(loss: Loss, cost: Difference | None) -> Effect:
        rms, worst = (None, None) if cost is None else cost
        return Effect(path=loss.path, text=loss.text, error=rms, worst=worst, unit=unit)

    def cost(loss: Loss) -> Difference | None:
        try:
            return loss.without and difference(positions(loss.without(actuator), motions), reference)
        except BackemfError:
            return None

    dropped = tuple(effect(loss, cost(loss)) for loss in losses if not loss.kept)
    kept = tuple(effect(loss, left if loss.measured else None) for loss in losses if loss.kept)
    return Account(dropped, kept, over)


def weigh_losses(
    actuator: Actuator, stand_in: Actuator | Tuned, losses: Sequence[Loss], request: Request
) -> Account:
    """The account of a stand-in whose numbers are settled.

    Args:
        actuator: the whole one.
        stand_in: what the target simulates.
        losses: what it lacks.
        request: the motions it is judged over.

    Returns:
        What was dropped and what approximated.
    """
    if not losses:
        return NOTHING_LOST
    motions, over = motions_of(actuator, request)
    reference = positions(actuator, motions)
    return account(
        actuator, losses, difference(positions(stand_in, motions), reference), reference, motions, over
    )
