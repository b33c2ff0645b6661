"""Free parameters: which numbers may vary, between which bounds, in which coordinate, and what is believed of
them before.

Positive numbers vary as their logarithm; those that may vanish as log(1 + v / knee), in which 0 is a point
like any other; static friction as its excess over Coulomb friction, so that tau_s >= tau_c always holds;
numbers that may be negative vary linearly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.sheets.datasheet import Datasheet
from ..errors import InvalidValue, UnknownName
from ..model.actuator import Actuator
from ..model.quantity import Size, quantities
from ..model.steady import line

WIDE = 2.0
"""Standard error of the logarithm of a number nothing is known of but its start:
a factor of seven either way."""
SMALLEST = 1e-6
"""Lower end of a positive parameter, and the inverse of its upper one, relative to its start."""
KNEE = 0.1
"""Below this share of its start or of a usual size, the coordinate of a number that may vanish is linear."""
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
    knee: float | None = None
    """Where it may vanish: the size below which its coordinate is linear."""

    def inward(self, v: float) -> float:
        """The coordinate of a value, or of its excess over the parameter it stands on."""
        if self.signed is not None:
            return v
        if self.knee is not None:
            return math.log1p(max(v, 0.0) / self.knee)
        return math.log(max(v, SMALLEST * max(abs(self.start), 1e-12)))

    def outward(self, x: float) -> float:
        if self.signed is not None:
            return float(x)
        return math.exp(x) if self.knee is None else self.knee * math.expm1(max(x, 0.0))

    def slope(self, x: float) -> float:
        """d value / d x."""
        return 1.0 if self.signed is not None else (self.knee or 1.0) * math.exp(x)


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
        return self.inside(
            np.array([p.inward(values[p.path] - self.base(p, values, fixed)) for p in self.parameters])
        )

    def to_values(self, x: np.ndarray, fixed: Mapping[str, float]) -> dict[str, float]:
        values: dict[str, float] = {}
        for p, v in sorted(zip(self.parameters, x, strict=True), key=lambda row: row[0].above is not None):
            values[p.path] = self.base(p, values, fixed) + p.outward(v)
        return {p.path: values[p.path] for p in self.parameters}

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """d values / d x."""
        T = np.zeros((len(self), len(self)))
        for k, (p, v) in enumerate(zip(self.parameters, x, strict=True)):
            T[k, k] = p.slope(v)
            if p.above in self.paths:
                j = self.paths.index(p.above)
                T[k, j] = self.parameters[j].slope(x[j])
        return T

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return (
            np.array([p.inward(p.low) for p in self.parameters]),
            np.array([p.inward(p.high) for p in self.parameters]),
        )

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
    knee: float | None = None
    if signed is not None:
        low, high = bound or (start - 10 * signed, start + 10 * signed)
        prior = stated or (start, signed)
    else:
        base, usual = float(values.get(above, 0.0)) if above else 0.0, size_of(actuator, path)
        scale = max(start - base, 1e-3 * max(start, base), 1e-9)
        knee = KNEE * max(scale, usual or 0.0) if actuator.traits(path)["least"] == 0 else None
        low, high = bound or (0.0 if knee else scale * SMALLEST, max(scale, usual or 0.0) / SMALLEST)
        if most is not None:
            high = min(high, most)
        if low <= 0 and knee is None:
            low = scale * SMALLEST
        if bound is not None and not bound[0] <= start <= bound[1]:
            raise InvalidValue(f"{path} starts at {start:g}, outside its bounds {bound[0]:g} to {bound[1]:g}")
        if stated is not None:
            value, error = max(stated[0] - base, 0.0), stated[1]
        else:
            value, error = max(scale, 0.0 if start > base else usual or 0.0), None
        near = max(value, 1e-300) if knee is None else knee + value  # d value / d x there
        mean = math.log(near) if knee is None else math.log1p(value / knee)
        width = WIDE if error is None else max(error / near, 1e-4)
        prior = (mean, width)
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
        knee=knee,
    )


def size(actuator: Actuator) -> Size:
    """How strong and fast an actuator is, and what it loses."""
    at = line(actuator, actuator.drive.supply or 12.0)
    dry = max(float(actuator.friction.moving), 0.01 * at.stall_torque)
    lost = 1.0 - (actuator.gearbox.efficiency or 0.85)
    return Size(torque=at.stall_torque, speed=at.ideal_speed, dry=dry, lost=lost)


def size_of(actuator: Actuator, path: str) -> float | None:
    """A usual size of a parameter for an actuator like this one; None where nobody said."""
    start = actuator.traits(path).get("start")
    return None if start is None else float(start(size(actuator)))


def sized(actuator: Actuator, paths: Sequence[str]) -> Actuator:
    """The same with those of the free numbers that may vanish, and are 0, at a usual size: a start that the
    data can move."""
    own, start = actuator.parameters, {}
    for path in paths:
        if own.get(path) == 0 and actuator.traits(path)["least"] == 0:
            usual = size_of(actuator, path)
            if usual:
                start[path] = usual
    return actuator.replace(**start) if start else actuator


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
