"""Free parameters: which numbers may vary, between which bounds, in which coordinate, and what is believed of
them before.

Positive numbers vary as their logarithm; static friction as its excess over Coulomb friction, so that tau_s
>= tau_c always holds; numbers that may be negative vary linearly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.sheets.datasheet import Datasheet
from ..errors import InvalidValue, UnknownName
from ..model.actuator import Actuator
from ..model.quantity import quantities

WIDE = 2.0
"""Standard error of the logarithm of a number nothing is known of but its start:
a factor of seven either way."""
SMALLEST = 1e-6
"""Lower end of a positive parameter that may vanish, relative to its start."""
USUAL = ("motor.resistance", "motor.torque_constant", "motor.rotor_inertia")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One free number."""

    path: str
    start: float
    unit: str
    low: float
    high: float
    prior: tuple[float, float]
    """(mean, standard error) in its own coordinate."""
    stated: bool = False
    """Whether the prior is somebody's statement (a datasheet, the caller),
    not just a wide guess around the start."""

    signed: float | None = None
    """Where it may have either sign: by how much it is expected to differ from its start."""
    above: str | None = None
    """The parameter that it is at least as large as."""


@dataclass(frozen=True)
class Free:
    """Several free numbers and the change of coordinates between them and the optimiser's x."""

    parameters: tuple[Parameter, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(p.path for p in self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def base(self, p: Parameter, values: Mapping[str, float], fixed: Mapping[str, float]) -> float:
        """What an ordered parameter stands on."""
        return 0.0 if p.above is None else float(values.get(p.above, fixed.get(p.above, 0.0)))

    def to_x(self, values: Mapping[str, float], fixed: Mapping[str, float]) -> np.ndarray:
        x = []
        for p in self.parameters:
            v, least = values[p.path], SMALLEST * max(abs(p.start), 1e-12)
            above = max(v - self.base(p, values, fixed), least)
            x.append(v if p.signed is not None else math.log(above))
        return self.inside(np.array(x))

    def to_values(self, x: np.ndarray, fixed: Mapping[str, float]) -> dict[str, float]:
        values: dict[str, float] = {}
        for p, v in sorted(zip(self.parameters, x, strict=True), key=lambda row: row[0].above is not None):
            values[p.path] = float(v) if p.signed is not None else self.base(p, values, fixed) + math.exp(v)
        return {p.path: values[p.path] for p in self.parameters}

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """d values / d x."""
        T = np.zeros((len(self), len(self)))
        for k, (p, v) in enumerate(zip(self.parameters, x, strict=True)):
            T[k, k] = 1.0 if p.signed is not None else math.exp(v)
            if p.above in self.paths:
                j = self.paths.index(p.above)
                T[k, j] = math.exp(x[j])
        return T

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low = [p.low if p.signed is not None else math.log(max(p.low, 1e-300)) for p in self.parameters]
        high = [p.high if p.signed is not None else math.log(p.high) for p in self.parameters]
        return np.array(low), np.array(high)

    def inside(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, *self.bounds())

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard errors in x."""
        means, errors = np.array([p.prior for p in self.parameters]).reshape(-1, 2).T
        return means, errors


def default_paths(actuator: Actuator) -> list[str]:
    """What a recording of position usually tells: winding, rotor inertia and friction."""
    return [p for p in actuator.parameters if p in USUAL or p.startswith("friction.")]


def free(
    actuator: Actuator,
    paths: Sequence[str],
    extra: Mapping[str, float] | None = None,
    *,
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> Free:
    """Make parameters free. `extra` are parameters outside the actuator (the bench's);
    `prior` a datasheet, or path -> (value, error)."""
    known = {path: (f, value) for path, f, value in quantities(actuator)}
    stated = priors(actuator, prior)
    extra = extra or {}
    valid = [*known, *extra]
    for path in [*paths, *stated, *(bounds or {})]:
        if path not in valid:
            raise UnknownName("parameter", path, valid)
    if len(set(paths)) < len(paths):
        raise InvalidValue(f"free names a parameter twice: {', '.join(paths)}")
    values = {path: value for path, (_, value) in known.items()} | dict(extra)
    stated_of, bound_of = stated.get, (bounds or {}).get
    return Free(tuple(_parameter(actuator, path, values, stated_of(path), bound_of(path)) for path in paths))


def _parameter(
    actuator: Actuator,
    path: str,
    values: Mapping[str, float],
    stated: tuple[float, float] | None,
    bound: tuple[float, float] | None,
) -> Parameter:
    start, most, signed = float(values[path]), actuator.traits(path)["most"], actuator.traits(path)["signed"]
    above = actuator.over(path)
    if bound is not None and not bound[0] < bound[1]:
        raise InvalidValue(f"bounds of {path} are {bound[0]:g} to {bound[1]:g}; expected the lower one first")
    if signed is not None:
        low, high = bound or (start - 10 * signed, start + 10 * signed)
        prior = stated or (start, signed)
    else:
        base = float(values.get(above, 0.0)) if above else 0.0
        scale = max(start - base, 1e-3 * max(start, base), 1e-9)
        low, high = bound or (scale * SMALLEST, scale / SMALLEST)
        if most is not None:
            high = min(high, most)
        if low <= 0:
            low = scale * SMALLEST
        if bound is not None and not bound[0] <= start <= bound[1]:
            raise InvalidValue(f"{path} starts at {start:g}, outside its bounds {bound[0]:g} to {bound[1]:g}")
        prior = (math.log(scale), WIDE)
        if stated is not None:
            value, error = stated[0] - base, stated[1]
            prior = (math.log(max(value, 1e-300)), max(error / max(value, 1e-300), 1e-4))
    return Parameter(
        path=path,
        start=start,
        unit=actuator.unit(path),
        low=low,
        high=high,
        prior=prior,
        stated=stated is not None,
        signed=signed,
        above=above,
    )


def priors(
    actuator: Actuator, given: Datasheet | Mapping[str, tuple[float, float]] | None
) -> dict[str, tuple[float, float]]:
    """path -> (value, standard error) from a datasheet's constants, or as the caller states them."""
    if given is None:
        return {}
    if not isinstance(given, Datasheet):
        return dict(given)
    c = given.reconciled.constants
    start = given.actuator()
    # Drag printed at no load belongs to no single friction parameter of a richer model; it is left out.
    symbols = {"resistance": "R", "torque_constant": "K", "rotor_inertia": "J", "inductance": "L"}
    stated = {}
    for name, symbol in symbols.items():
        path = f"motor.{name}"
        if symbol in c and path in start.parameters and path in actuator.parameters:
            value = start.parameters[path]
            # Units of one type differ by some per cent.
            relative = max(c[symbol].error / c[symbol].value, 0.05)
            stated[path] = (value, value * relative)
    return stated


def spread(free_: Free, factor: float, rng: np.random.Generator, around: np.ndarray) -> np.ndarray:
    """A random start: within a factor of `around` (log-uniform),
    but where something was stated no farther than twice its error."""
    moved = []
    for p, x in zip(free_.parameters, around, strict=True):
        width = 0.1 * p.signed if p.signed is not None else math.log(factor)
        if p.stated:
            width = min(width, 2.0 * p.prior[1])
        moved.append(x + rng.uniform(-1, 1) * width)
    return free_.inside(np.array(moved))
