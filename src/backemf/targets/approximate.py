"""A poorer model made to move like a richer one:
how far apart two actuators move, and the numbers that come closest."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.simulate import Trajectory, simulate
from ..errors import BackemfError
from ..physics.actuator import Actuator
from ..physics.joint_law import Capability, capability
from .reference_motions import ReferenceMotion, judged_over, motions_of
from .result import Request

CLOSE = 2e-5
"""References are integrated until halving the step changes no position by more [rad or m]."""
COARSE = 1e-3
"""The same while numbers are searched; what is found is then judged as closely as the reference."""
PULL = 0.1
"""How hard numbers are held to their closed forms: doubling one must save this share of the error. Motions
that say little about a number would otherwise send it far away, and the export would be poor outside them."""
FEW = 6
"""Evaluations of a search that starts from the best numbers of a similar actuator."""
OF_PEAK = ("friction.static", "friction.stribeck_velocity")
"""Numbers of the extra friction at rest."""
Tuned = Callable[[Mapping[str, float]], Actuator]
"""An actuator for the settings of the drive during a recording."""


class Difference(NamedTuple):
    """Between two sets of positions [rad or m]."""

    rms: float
    worst: float


def with_settings(actuator: Actuator) -> Tuned:
    """An actuator that takes over those settings it has."""
    own = actuator.parameters
    return lambda settings: actuator.replace(**{k: v for k, v in settings.items() if k in own})


def positions(
    actuator: Actuator | Tuned, motions: Sequence[ReferenceMotion], substeps: Sequence[int] | None = None
) -> np.ndarray:
    """Run every motion.

    Args:
        actuator: or one for each setting of the drive.
        motions: what it is asked to do.
        substeps: steps in a sample, for each motion; None: as many as the tolerance needs.

    Returns:
        Positions, one motion after the other [rad or m].
    """
    return np.concatenate([run.position for run in _runs(actuator, motions, substeps)])


def enough(actuator: Actuator | Tuned, motions: Sequence[ReferenceMotion]) -> list[int]:
    """Steps in a sample that each motion needs in a search; actuators like it then need no trials."""
    return [run.substeps for run in _runs(actuator, motions, close=COARSE)]


def _runs(
    actuator: Actuator | Tuned,
    motions: Sequence[ReferenceMotion],
    substeps: Sequence[int] | None = None,
    close: float = CLOSE,
) -> Iterator[Trajectory]:
    tuned = with_settings(actuator) if isinstance(actuator, Actuator) else actuator
    for k, m in enumerate(motions):
        now = tuned(m.settings)
        start = {name: v for name, v in m.start.items() if name in now.states}
        # teeth that hit each other allow no closer
        within = close if now.gearbox.backlash is None else max(close, 10 * CLOSE)
        how: dict[str, Any] = {"tolerance": within} if substeps is None else {"substeps": substeps[k]}
        command = dict(m.command)
        if now.drive.followed == "current_target" and "torque_target" in command:
            command["current_target"] = command.pop("torque_target")  # a stand-in's ampere
        yield simulate(now, m.bench, command, time=m.time, start=start, warn=False, **how)


def difference(a: np.ndarray, b: np.ndarray) -> Difference:
    """How far two sets of positions are apart; infinitely where one ran away."""
    d = np.asarray(a) - np.asarray(b)
    if not np.isfinite(d).all():
        return Difference(float("inf"), float("inf"))
    return Difference(float(np.sqrt(np.mean(d * d))), float(np.max(np.abs(d))))


FACTOR = 3.0
"""Numbers stay within this factor of their closed forms."""


def near(value: float, closed: float) -> float:
    """A number that a fit asks for, near its closed form; one whose closed form is 0 is not negative."""
    return min(max(value, closed / FACTOR), FACTOR * closed) if closed > 0 else max(value, 0.0)


class BestNumbers(NamedTuple):
    """The best numbers found, and how far they are off."""

    x: np.ndarray
    difference: Difference


def best(
    make: Callable[[np.ndarray], Actuator | Tuned],
    x0: Sequence[float],
    scale: Sequence[float],
    reference: np.ndarray,
    motions: Sequence[ReferenceMotion],
    most: int = 25,
    near_by: Sequence[float] | None = None,
) -> BestNumbers:
    """Numbers x >= 0 with which `make(x)` comes closest to the rich positions.

    Args:
        make: an actuator, or one for each setting of the drive, of such numbers.
        x0: their closed forms, kept where nothing is better.
        scale: what counts as one of each.
        reference: positions of the rich actuator [rad or m], of all motions.
        motions: over which they are compared.
        most: evaluations from each start.
        near_by: the best numbers of an actuator that is nearly the same: the one start then.

    Returns:
        The numbers, and how far they are off.
    """
    from scipy.optimize import least_squares

    x0_, size = np.asarray(x0, float), np.asarray(scale, float)
    fine = enough(make(x0_), motions)
    before = positions(make(x0_), motions, fine)
    weight = _weights(before - reference, motions)
    y_start, pull = x0_ / size, PULL * np.sqrt(reference.size)

    def residual(y: np.ndarray) -> np.ndarray:
        try:
            off = weight * (positions(make(np.abs(y) * size), motions, fine) - reference)
        except BackemfError:
            return np.full(reference.size + x0_.size, 1e3)
        bounded = np.nan_to_num(off, nan=1e3, posinf=1e3, neginf=-1e3).clip(-1e3, 1e3)
        return np.concatenate([bounded, pull * (y - y_start)])

    tried: list[Any] = []
    how: dict[str, Any] = {"bounds": (0.0, np.inf), "diff_step": 3e-3, "max_nfev": most}
    # a second start, since sticking makes steps in the errors
    starts = [nudge * np.maximum(y_start, 1e-3) for nudge in (1.0, 1.2)]
    if near_by is not None:
        starts, how["max_nfev"] = [np.maximum(np.asarray(near_by) / size, 1e-3)], FEW
    for y0 in starts:
        tried.append(least_squares(residual, y0, x_scale=np.maximum(y0, 0.1), **how))
    least = min(tried, key=lambda r: r.cost)
    if not least.cost < 0.5 * float(np.sum(residual(y_start) ** 2)):
        return BestNumbers(x0_, difference(positions(make(x0_), motions), reference))
    x = np.abs(least.x) * size
    after = difference(positions(make(x), motions), reference)
    kept = difference(positions(make(x0_), motions), reference)
    return BestNumbers(x, after) if after.rms < kept.rms else BestNumbers(x0_, kept)


def _weights(d: np.ndarray, motions: Sequence[ReferenceMotion]) -> np.ndarray:
    """One over the closed forms' own RMS error in each motion,
    so that one which the poor model cannot make does not spoil the others."""
    parts = np.split(d, np.cumsum([len(m.time) for m in motions])[:-1])
    rms = np.array([min(difference(part, np.zeros_like(part)).rms, 1e3) for part in parts])
    floor = max(0.3 * float(np.median(rms)), 1e-9)
    return np.concatenate(
        [np.full(len(part), 1.0 / max(r, floor)) for part, r in zip(parts, rms, strict=True)]
    )


class RefittedActuator(NamedTuple):
    """A candidate with its best numbers, and how far it is off."""

    actuator: Actuator
    left: Difference


def floors_of(able: Capability) -> dict[str, float]:
    """Frictions that count as small: 2 % of the stall torque, at full speed for a drag."""
    small = 0.02 * able.stall
    drag = small / max(able.speed, 1e-9)
    return {"friction.viscous": drag, "friction.coulomb": small, "friction.static": small}


def refit(reduced: Actuator, touched: set[str], actuator: Actuator, request: Request) -> RefittedActuator:
    """A candidate with its best numbers.

    Args:
        reduced: the candidate.
        touched: which numbers may make up for what is lost: "friction", "motor".
        actuator: the whole one.
        request: the motions it is judged over.

    Returns:
        It, and how far it is off.
    """
    search = _search_numbers if request.logs else _remembered
    return search(reduced, frozenset(touched), actuator, judged_over(request))


def _search_numbers(
    reduced: Actuator, touched: frozenset[str], actuator: Actuator, request: Request
) -> RefittedActuator:
    motions, _ = motions_of(actuator, request)
    reference = positions(actuator, motions)
    friction = reduced.friction
    paths: list[str] = []
    if "friction" in touched:
        paths += ["friction.viscous", *(["friction.coulomb"] if friction.dry else [])]
        paths += [path for path in OF_PEAK if path in reduced.parameters]
    if "motor" in touched:
        paths += ["motor.torque_constant", "motor.resistance"]
    x0 = [reduced.parameters[path] for path in paths]
    near_by = None if request.similar is None else [request.similar.parameters[path] for path in paths]
    for values, own in ((x0, reduced), (near_by, request.similar)):
        if "friction.static" in paths and values is not None and own is not None:  # what is added at rest
            values[paths.index("friction.static")] -= own.parameters["friction.coulomb"]
    floors = floors_of(capability(actuator, request.amplitude))
    scale = [max(value, floors.get(path, 0.0)) for path, value in zip(paths, x0, strict=True)]
    bottom = dict.fromkeys(("motor.torque_constant", "motor.resistance"), 1e-9)
    bottom |= {"friction.coulomb": 1e-9 if friction.bristle else 0.0, "friction.stribeck_velocity": 1e-6}

    def make(x: np.ndarray) -> Actuator:
        pairs = zip(paths, x, x0, strict=True)
        values = {path: max(near(float(v), a), bottom.get(path, 0.0)) for path, v, a in pairs}
        if "friction.static" in values:
            values["friction.static"] += values["friction.coulomb"]
        return reduced.replace(**values)

    fit = best(make, x0, scale, reference, motions, near_by=near_by)
    return RefittedActuator(make(fit.x), fit.difference)


_remembered = functools.lru_cache(maxsize=64)(_search_numbers)
"""Several targets lose the same over the reference motions, and have the same best numbers."""
