"""How far an actuator's numbers may be from what is exported:
errors of a fit, spread from unit to unit, and what the model leaves unexplained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..codec import Noun
from ..errors import InvalidValue, UnknownName
from ..physics.actuator import Actuator
from ..physics.quantity import quantities
from .variation import Variation

Paths = str | tuple[str, ...]
QUICKEST = 1e-3
"""Time that a slow error lasts at least [s]."""
"""One parameter, or several that move together by the same factor."""

UNITS: dict[tuple[str, ...], float] = {
    ("motor.resistance",): 0.05,
    ("motor.torque_constant", "motor.back_emf_constant"): 0.05,
    ("friction.coulomb", "friction.static"): 0.2,
    ("friction.viscous",): 0.2,
}
"""Relative standard deviation from unit to unit where nothing better is known. These are assumptions, not
measurements: winding and magnets are made to a tolerance of the order of 10 % (taken as two standard
deviations), and friction depends on grease, preload and wear. Measure several units, and give your own."""


@dataclass(frozen=True, kw_only=True)
class Spread(Noun):
    """What a training file draws from. Each part may be absent."""

    errors: Mapping[str, float] = field(default_factory=dict)
    """Path -> standard error of a fit, in the parameter's own unit."""
    correlation: Sequence[Sequence[float]] | np.ndarray | None = None
    """Between the errors, in their order; absent: none."""
    units: Mapping[Paths, float] | None = None
    """Path or paths -> relative standard deviation from unit to unit; absent:
    `UNITS`, and an empty mapping is none."""
    held_out: float | None = None
    """Mean absolute error of position on recordings that the fit did not see [rad or m]."""
    draws: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Path -> its number in each draw of a fit's bands: what belongs together stays so."""
    slow: tuple[float, float] | None = None
    """What goes with them: standard deviation [rad or m] of a slow error of the position, and the time [s]
    after which it is down to 1/e of itself."""
    joints: Mapping[str, Spread] = field(default_factory=dict)
    """Of a robot, each joint's: the same draws, so that what joints share stays the same in all of them."""

    def __post_init__(self) -> None:
        for what, table in (("errors", self.errors), ("units", self.units or {})):
            for path, value in table.items():
                if not (math.isfinite(value) and value >= 0):
                    raise InvalidValue(
                        f"spread.{what} has {value!r} for {path!r}; expected a number of at least 0"
                    )
        if self.held_out is not None and not (math.isfinite(self.held_out) and self.held_out >= 0):
            raise InvalidValue(
                f"spread.held_out is {self.held_out!r}; expected a mean absolute error of at least 0"
            )
        _check_rows(self.draws)
        n = len(self.errors)
        if self.correlation is not None:
            r = np.asarray(self.correlation, float)
            if (
                r.shape != (n, n)
                or not np.isfinite(r).all()
                or not np.allclose(np.diag(r), 1.0)
                or not np.allclose(r, r.T, atol=1e-6)
            ):
                raise InvalidValue(
                    f"spread.correlation has shape {r.shape}; expected {n} x {n} finite numbers, symmetric,"
                    " with 1 on the diagonal"
                )

    @staticmethod
    def of(
        actuator: Actuator,
        errors: Mapping[str, float],
        correlation: np.ndarray,
        held_out: float | None = None,
        units: Mapping[Paths, float] | None = None,
    ) -> Spread:
        """From the errors of a fit; what belongs to the bench and not to the actuator is left out.

        Args:
            actuator: whose numbers they are.
            errors: path -> standard error, in its own unit.
            correlation: between them, in their order.
            held_out: mean absolute error of position on recordings that the fit did not see [rad or m].
            units: path or paths -> relative standard deviation from unit to unit; without it `UNITS`.

        Returns:
            The spread, in plain numbers.
        """
        at = [i for i, path in enumerate(errors) if path in actuator.parameters]
        mine = {path: float(error) for path, error in errors.items() if path in actuator.parameters}
        return Spread(
            errors=mine,
            correlation=np.asarray(correlation, float)[np.ix_(at, at)],
            units=units,
            held_out=held_out,
        )

    @staticmethod
    def of_fit(fit: Any, actuator: Actuator, joint: str = "") -> Spread:
        """Everything that a fit says of an actuator: errors, what it missed where it was held out, bands.

        Args:
            fit: of a servo or a robot.
            actuator: whose numbers are drawn.
            joint: of a robot, whose it is.

        Returns:
            The spread, in plain numbers.
        """
        one = fit.joints.get(joint, fit)
        errors = {path: p.error for path, p in one.parameters.items()}
        found = Spread.of(actuator, errors, one.correlation, one.held_out_mae)
        return found.with_bands(fit.variation, actuator, joint)

    def with_bands(self, variation: Variation | None, actuator: Actuator, joint: str = "") -> Spread:
        """The same with whole draws that recordings lie among as often as they should, and the slow error.

        Args:
            variation: of a fit; None: nothing is added.
            actuator: whose numbers they are.
            joint: of a robot, whose it is.

        Returns:
            The same spread otherwise.
        """
        if variation is None:
            return self
        share, rows = variation.for_training, [{} for _ in variation.members]
        for row, member in zip(rows, variation.members, strict=True):
            row |= variation.by_joint(member, share).get(joint, {})
        paths = [path for path in rows[0] if path in actuator.parameters]
        slow = (share * variation.floor[joint], max(variation.slow, QUICKEST))
        return replace(self, draws={path: tuple(row[path] for row in rows) for path in paths}, slow=slow)

    def cholesky(self) -> list[list[float]]:
        """L with L L' the correlation: independent draws times it are correlated ones.
        What is not quite a correlation is brought back to one."""
        n = len(self.errors)
        r = np.eye(n) if self.correlation is None else np.asarray(self.correlation, float)
        if n == 0:
            return []
        values, vectors = np.linalg.eigh(0.5 * (r + r.T))
        r = (vectors * np.maximum(values, 1e-9)) @ vectors.T
        size = np.sqrt(np.diag(r))
        return np.linalg.cholesky(r / np.outer(size, size)).tolist()

    def units_of(self, actuator: Actuator) -> dict[tuple[str, ...], float]:
        """The spread from unit to unit of this actuator's own parameters. What was stated must exist;
        of `UNITS`, what there is is taken."""
        stated = (
            UNITS
            if self.units is None
            else {(k,) if isinstance(k, str) else tuple(k): float(v) for k, v in self.units.items()}
        )
        if self.units is not None:
            check_paths(actuator, [path for group in stated for path in group])
        present = {
            tuple(path for path in group if path in actuator.parameters): share
            for group, share in stated.items()
        }
        return {group: share for group, share in present.items() if group and share > 0}

    def unit(self, actuator: Actuator, random: np.random.Generator) -> Actuator:
        """Another piece from the same box: every group of parameters times a factor drawn for it."""
        known = {path: f.metadata for path, f, _ in quantities(actuator)}
        drawn = {}
        for group, share in self.units_of(actuator).items():
            factor = math.exp(share * random.standard_normal())
            for path in group:
                least, most = (known[path][end] for end in ("least", "most"))
                value = actuator.parameters[path] * factor
                value = value if least is None else max(value, least)
                drawn[path] = value if most is None else min(value, most)
        return actuator.replace(**drawn)


def check_paths(actuator: Actuator, paths: Sequence[str]) -> None:
    """Refuse a path that the actuator does not have."""
    for path in paths:
        if path not in actuator.parameters:
            raise UnknownName("parameter", path, actuator.parameters)


def _check_rows(draws: Mapping[str, Sequence[float]]) -> None:
    if len({len(values) for values in draws.values()}) > 1:
        raise InvalidValue("spread.draws has rows of different lengths; expected one number a draw in each")
