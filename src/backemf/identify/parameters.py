"""Free parameters: which numbers may vary, between which bounds, in which coordinate, and what is believed of
them before.

Positive numbers vary as their logarithm; those that may vanish as log(1 + v / knee), in which 0 is a point
like any other; static friction as its excess over Coulomb friction, so that tau_s >= tau_c always holds;
numbers that may be negative vary linearly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..datasheets.datasheet import Datasheet
from ..errors import InvalidValue, UnknownName
from ..physics.actuator import Actuator
from ..physics.friction import FRICTIONS
from ..physics.motor import Cogging
from ..physics.quantity import Size, fields_of, quantities
from ..physics.steady import line
from ..statistics import Coordinate

WIDE = 2.0
"""Standard error of the logarithm of a number nothing is known of but its start:
a factor of seven either way."""
SMALLEST = 1e-6
"""Lower end of a positive parameter, and the inverse of its upper one, relative to its start."""
KNEE = 0.1
"""Below this share of its start or of a usual size, the coordinate of a number that may vanish is linear."""
OPEN = 0.7
"""Share of its prior's width that an undetermined parameter still has after the data."""
ABSENT = 2e-3
"""Size at which a play or a dead band starts that the actuator does not have [rad or m]."""
DERIVATIVE_FILTER = 0.01
"""Time over which a change of the setpoint acts on a firmware's D, where the sheet does not say [s]: between
a sample of a fast bus and one of a slow one, which logs tell hardly apart."""
RISE = 0.05
"""Time in which a profile that the actuator does not have reaches its greatest speed at the start [s]."""
SLOW = 0.01
"""Share of its proportional gain that an integral which the actuator does not have adds in a second."""
JUMPY = {
    **{"drive.count": "0.00153", "drive.duty_step": "0.001", "drive.period": "0.001"},
    "drive.n_velocity_periods": "4",
}
"""What acts in jumps, whole counts or instants, which no search can follow -> an example of it."""
COGGED, POLES = 0.01, 2.0
"""Share of its stall torque that a motor cogs by at the start, and how often in a turn: what stops of an
SO-101's lightly loaded joints show, pi / 345 at the output."""
OWN = "friction."
"""How paths of a friction's numbers begin."""
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
    logs: tuple[int, ...] | None = None
    """The logs whose number it is, by place; None for all."""
    group: str = ""
    """In words, what those logs have in common."""
    alike: float = 0.0
    """Correlation, before any data, with the same number of other groups: one gauge, one ruler."""
    family: str = ""
    """Of which groups that holds: those of the same family."""

    beside: bool = False
    """Whether it belongs to the bench or the recording, not to the actuator."""

    @property
    def name(self) -> str:
        """Its path, and whose it is where others have one of their own."""
        return f"{self.path}[{self.group}]" if self.group else self.path

    @functools.cached_property
    def coordinate(self) -> Coordinate:
        return Coordinate(self.signed is not None, self.knee or 0.0)

    def inward(self, v: float) -> float:
        """The coordinate of a value, or of its excess over the parameter it stands on."""
        if self.signed is None and self.knee is None:
            v = max(v, SMALLEST * max(abs(self.start), 1e-12))
        return self.coordinate.inward(v)

    def outward(self, x: float) -> float:
        """The value of a coordinate, or its excess over the parameter it stands on."""
        return self.coordinate.outward(x)

    def slope(self, x: float) -> float:
        """d value / d x."""
        return 1.0 if self.signed is not None else (self.knee or 1.0) * math.exp(min(x, 300.0))


@dataclass(frozen=True)
class FreeParameters:
    """Several free numbers and the change of coordinates between them and the optimiser's x.

    Most numbers are the same in all logs; some belong to a group of them (a mounting, a weight, one log).
    """

    parameters: tuple[Parameter, ...]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)

    @functools.cached_property
    def paths(self) -> tuple[str, ...]:
        """Every path that some parameter sets, once: the columns of derivatives."""
        return tuple(dict.fromkeys(p.path for p in self.parameters))

    def __len__(self) -> int:
        return len(self.parameters)

    def columns(self, n_logs: int) -> np.ndarray:
        """(n_logs, n_paths): which parameter sets a path in a log; -1 where the log's own number stands."""
        index = np.full((n_logs, len(self.paths)), -1)
        for k, p in enumerate(self.parameters):
            index[slice(None) if p.logs is None else list(p.logs), self.paths.index(p.path)] = k
        return index

    @functools.cached_property
    def _bases(self) -> tuple[int | None, ...]:
        """The place of the parameter that an ordered one stands on; None where that is not free."""
        places = {(p.path, p.logs): k for k, p in enumerate(self.parameters)}
        return tuple(
            None if p.above is None else places.get((p.above, p.logs), places.get((p.above, None)))
            for p in self.parameters
        )

    def base(self, k: int, values: Mapping[str, float], fixed: Mapping[str, float]) -> float:
        """What a parameter stands on: 0, or the number that it is never below.

        Args:
            k: its place.
            values: of the free numbers, by name.
            fixed: of those that are not free, by path.

        Returns:
            The number, in the parameter's own unit.
        """
        above, place = self.parameters[k].above, self._bases[k]
        if above is None:
            return 0.0
        return float(fixed.get(above, 0.0) if place is None else values[self.names[place]])

    def to_x(self, values: Mapping[str, float], fixed: Mapping[str, float]) -> np.ndarray:
        """The coordinates of values by name."""
        rows = enumerate(self.parameters)
        return self.inside(
            np.array([p.inward(values[p.name] - self.base(k, values, fixed)) for k, p in rows])
        )

    def to_values(self, x: np.ndarray, fixed: Mapping[str, float]) -> dict[str, float]:
        """Values by name."""
        values: dict[str, float] = {}
        for k in sorted(range(len(self)), key=lambda k: self.parameters[k].above is not None):
            values[self.names[k]] = self.base(k, values, fixed) + self.parameters[k].outward(x[k])
        return {name: values[name] for name in self.names}

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """d values / d x."""
        T = np.diag([p.slope(v) for p, v in zip(self.parameters, x, strict=True)])
        for k, j in enumerate(self._bases):
            if j is not None:
                T[k, j] = T[j, j]
        return T

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest x."""
        return (
            np.array([p.inward(p.low) for p in self.parameters]),
            np.array([p.inward(p.high) for p in self.parameters]),
        )

    def inside(self, x: np.ndarray) -> np.ndarray:
        """The nearest x within the bounds."""
        return np.clip(x, *self.bounds())

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard errors in x."""
        return np.array([p.prior[0] for p in self.parameters]), np.array(
            [p.prior[1] for p in self.parameters]
        )

    @functools.cached_property
    def precision(self) -> np.ndarray:
        """Inverse of the prior's covariance in x."""
        error = self.prior()[1]
        like = np.eye(len(self))
        for k, p in enumerate(self.parameters):
            for j in range(k):
                other = self.parameters[j]
                if p.alike and (other.path, other.family) == (p.path, p.family):
                    like[j, k] = like[k, j] = p.alike
        return np.linalg.inv(like) / np.outer(error, error)

    def with_(self, more: Sequence[Parameter]) -> FreeParameters:
        """The same and further ones, which come first where both are the same number."""
        named = {p.name for p in more}
        return FreeParameters((*(p for p in self.parameters if p.name not in named), *more))


def possible(actuator: Actuator, paths: Sequence[str]) -> list[str]:
    """The wanted numbers without those that another friction has and its own cannot: a rung on the way to
    that one is searched without them."""
    others = {f.name for law in FRICTIONS.values() for f in fields_of(law)}
    others -= {f.name for f in fields_of(type(actuator.friction))}
    return [path for path in paths if not path.startswith(OWN) or path.removeprefix(OWN) not in others]


def default_paths(actuator: Actuator) -> list[str]:
    """What a recording of position usually tells: winding, rotor inertia and friction."""
    return [p for p in actuator.parameters if p in USUAL or p.startswith(OWN)]


def free(
    actuator: Actuator,
    paths: Sequence[str],
    extra: Mapping[str, float] | None = None,
    *,
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> FreeParameters:
    """Make parameters free.

    Args:
        actuator: with the numbers at which they start.
        paths: of the parameters.
        extra: numbers outside the actuator by path: the bench's.
        prior: a datasheet, or path -> (value, standard error).
        bounds: path -> (lowest, highest) in its own unit.

    Returns:
        The free numbers, in the order of the paths.

    Raises:
        UnknownName: the actuator has no such path.
        InvalidValue: a path comes twice, or bounds do not hold the start.
    """
    for path in JUMPY.keys() & {*paths}:
        raise InvalidValue(
            f"{path} acts in jumps, which a fit cannot follow; give it, such as"
            f" {path}={JUMPY[path]}, and compare fits of several"
        )
    known = {path: (f, value) for path, f, value in quantities(actuator)}
    stated = priors(actuator, prior)
    extra = extra or {}
    valid = [*known, *extra]
    for path in [*paths, *stated, *(bounds or {})]:
        if path not in valid:
            raise UnknownName("parameter", path, [*valid, *_smallest(actuator)])
    if len(set(paths)) < len(paths):
        raise InvalidValue(f"free names a parameter twice: {', '.join(paths)}")
    values = {path: value for path, (_, value) in known.items()} | dict(extra)
    stated_of, bound_of = stated.get, (bounds or {}).get
    held = {}  # what stands on a free number and is held itself, which that must stay below
    for path in known:
        if path not in paths and (below := actuator.over(path)) is not None:
            held[below] = min(values[path], held.get(below, math.inf))
    return FreeParameters(
        tuple(
            _parameter(actuator, path, values, stated_of(path), bound_of(path), held.get(path))
            for path in paths
        )
    )


def _parameter(
    actuator: Actuator,
    path: str,
    values: Mapping[str, float],
    stated: tuple[float, float] | None,
    bound: tuple[float, float] | None,
    held: float | None = None,
) -> Parameter:
    start, most, signed = float(values[path]), actuator.traits(path)["most"], actuator.traits(path)["signed"]
    most = held if most is None else most if held is None else min(most, held)
    above = actuator.over(path)
    _check_bounds(path, bound, start, may_start_outside=signed is not None)
    knee: float | None = None
    if signed is not None:
        least = actuator.traits(path)["least"]
        low, high = bound or (start - 10 * signed, start + 10 * signed)
        low, high = low if least is None else max(low, least), high if most is None else min(high, most)
        prior = stated or (start, signed)
    else:
        base, usual = float(values.get(above, 0.0)) if above else 0.0, size_of(actuator, path) or 0.0
        scale = max(start - base, 1e-3 * start, 1e-9)
        knee = KNEE * max(scale, usual) if actuator.traits(path)["least"] == 0 else None
        low, high = bound or _reach(actuator.traits(path), start, scale, usual, knee)
        high = high if most is None else min(high, most)
        low = scale * SMALLEST if low <= 0 and knee is None else low
        prior = _belief(start, base, scale, usual, stated, knee)
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


def _check_bounds(
    path: str, bound: tuple[float, float] | None, start: float, *, may_start_outside: bool
) -> None:
    if bound is None:
        return
    low, high = bound
    if not low < high:
        raise InvalidValue(f"bounds of {path} are {low:g} to {high:g}; expected the lower one first")
    if not may_start_outside and not low <= start <= high:
        raise InvalidValue(f"{path} starts at {start:g}, outside its bounds {low:g} to {high:g}")


def _reach(
    traits: Mapping[str, Any], start: float, scale: float, usual: float, knee: float | None
) -> tuple[float, float]:
    """Bounds of a number that is not negative, where nobody gave any."""
    within = traits["within"]
    if within is not None:
        middle = usual or start
        return min(middle / within, start), max(middle * within, start)
    least = 0.0 if knee else max(scale * SMALLEST, traits["least"] or 0.0)
    return least, max(scale, usual) / SMALLEST


def _belief(
    start: float,
    base: float,
    scale: float,
    usual: float,
    stated: tuple[float, float] | None,
    knee: float | None,
) -> tuple[float, float]:
    """(mean, standard error) in the coordinate of a number that is not negative, before any data."""
    value = max(scale, 0.0 if start > base else usual) if stated is None else max(stated[0] - base, 0.0)
    near = max(value, 1e-300) if knee is None else knee + value  # d value / d x there
    mean = math.log(near) if knee is None else math.log1p(value / knee)
    return mean, WIDE if stated is None else max(stated[1] / near, 1e-4)


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


def give_sizes(actuator: Actuator, paths: Sequence[str]) -> Actuator:
    """The same with those of the free numbers that may vanish, and are 0, at a usual size: a start that the
    data can move."""
    own, start = actuator.parameters, {}
    for path in paths:
        if own.get(path) == 0 and actuator.traits(path)["least"] == 0:
            usual = size_of(actuator, path)
            if usual:
                start[path] = usual
    return actuator.replace(**start) if start else actuator


def with_absent(actuator: Actuator, paths: Sequence[str] | None) -> Actuator:
    """The same with those of the wanted numbers that it does not have but may: play, what firmware does, and
    frictions that differ by direction, each so small or so fast that little changes. A gain of firmware is of
    a register at 1 where nobody says what the register is.

    Args:
        actuator: where a fit starts.
        paths: of numbers that are wanted free.

    Returns:
        An actuator that has all of them.
    """
    for path, numbers in _smallest(actuator).items():
        if path in (paths or ()):
            part = path.partition(".")[0]
            old = getattr(actuator, part)
            own = {name: v for name, v in numbers.items() if getattr(old, name) is None}
            actuator = replace(actuator, **{part: replace(old, **own)})
    return actuator


def _smallest(actuator: Actuator) -> dict[str, dict[str, Any]]:
    """By path, numbers or parts that an actuator does not have but may, so small or so fast that little
    changes."""
    at, loop, supply = size(actuator), actuator.drive.loop, actuator.drive.supply or 1.0
    slow = SLOW * loop.proportional if loop is not None else 0.0
    rotor = at.torque / abs(actuator.gearbox.ratio * actuator.gearbox.n_motors)
    table = {
        "motor.cogging.amplitude": {"cogging": Cogging(amplitude=COGGED * rotor, periods=POLES)},
        "friction.asymmetry": {"asymmetry": 0.0},
        "friction.load_asymmetry": {"load_asymmetry": 0.0},
        "friction.load_quadratic": {"load_quadratic": 0.1 / at.torque},
        "friction.stribeck_exponent": {"stribeck_exponent": 2.0},
        "friction.peak": {"peak": 0.1},
        "friction.dwell": {"dwell": 0.05},
        "drive.deadband": {"deadband": ABSENT},
        "drive.punch": {"punch": ABSENT},
        "drive.slew": {"slew": at.speed},
        "drive.acceleration": {"acceleration": at.speed / RISE},
        "drive.duty_limit": {"duty_limit": 1.0},
        "drive.volts_per_radian_second": {"volts_per_radian_second": slow},
        "drive.volts_per_radian": {"volts_per_radian": slow},
        "drive.newton_metres_per_radian_second": {"newton_metres_per_radian_second": slow},
        "drive.firmware_integral_gain": {"integral": 1.0, "firmware_integral_gain": slow / supply},
        "drive.volt_seconds_per_radian": {"volt_seconds_per_radian": slow},
        "drive.firmware_derivative_gain": {
            **{"derivative": 1.0, "firmware_derivative_gain": 0.0, "derivative_filter": DERIVATIVE_FILTER}
        },
        "gearbox.backlash": {"backlash": ABSENT, "contact_stiffness": at.torque / ABSENT},
    }
    parts = {path: path.partition(".") for path in table}
    return {
        path: table[path]
        for path, (part, _, name) in parts.items()
        if getattr(getattr(actuator, part), name.partition(".")[0], ABSENT) is None
    }


UNIT_TO_UNIT = 0.05
"""Units of one type differ by some per cent."""
INFERRED = {"resistance": 0.2, "torque_constant": 0.15}
"""Relative error of a servo's winding: its sheet tells of it through gears and electronics, and divides stall
torque by stall current for a torque constant. Resistances that Rhoban BAM identified on an MX-64, MX-106,
XL330 and STS3215 are 0 to 38 % off what their sheets imply, torque constants 5 to 19 %."""


def sheet_or_numbers(
    prior: Datasheet | Mapping[str, tuple[float, float]] | None,
) -> tuple[Datasheet | None, Mapping[str, tuple[float, float]]]:
    """What a prior is: a datasheet, or path -> (value, standard error)."""
    return (prior, {}) if isinstance(prior, Datasheet) else (None, prior or {})


def with_registers(actuator: Actuator, prior: Any) -> tuple[Actuator, list[str]]:
    """With the D register that a sheet says the firmware has, where nobody measured what one count does.

    Args:
        actuator: where a fit starts.
        prior: a datasheet, or anything else that is believed.

    Returns:
        The actuator, and the paths of the numbers that tell such registers.
    """
    drive, (sheet, _) = actuator.drive, sheet_or_numbers(prior)
    if sheet is None or "drive.proportional" not in actuator.parameters:
        return actuator, []
    printed = sheet.firmware.get("derivative")
    if printed is None or not printed.value or "drive.derivative" in actuator.parameters:
        return actuator, []
    stated = sheet.firmware.get("derivative_filter")
    unknown = {"derivative": printed.value, "firmware_derivative_gain": 0.0}
    unknown |= {"derivative_filter": DERIVATIVE_FILTER if stated is None else stated.value}
    drive = replace(drive, **unknown)
    return replace(actuator, drive=drive), ["drive.firmware_derivative_gain"]


def priors(
    actuator: Actuator, given: Datasheet | Mapping[str, tuple[float, float]] | None
) -> dict[str, tuple[float, float]]:
    """path -> (value, standard error) from a datasheet's constants, or as the caller states them."""
    sheet, numbers = sheet_or_numbers(given)
    if sheet is None:
        return dict(numbers)
    c = sheet.reconciled.constants
    start = sheet.actuator()
    # Drag printed at no load belongs to no single friction parameter of a richer model; it is left out.
    symbols = {"resistance": "R", "torque_constant": "K", "rotor_inertia": "J", "inductance": "L"}
    stated = {}
    gain = sheet.firmware.get("error_gain")
    if gain is not None and "drive.firmware_gain" in actuator.parameters and gain.half >= 0.01 * gain.value:
        stated["drive.firmware_gain"] = (gain.value, gain.half)
    for name, symbol in symbols.items():
        path = f"motor.{name}"
        if symbol in c and path in start.parameters and path in actuator.parameters:
            value = start.parameters[path]
            least = INFERRED.get(name, UNIT_TO_UNIT) if sheet.kind == "servo" else UNIT_TO_UNIT
            relative = max(c[symbol].error / c[symbol].value, least)
            stated[path] = (value, value * relative)
    return stated


def spread(free_: FreeParameters, factor: float, rng: np.random.Generator, around: np.ndarray) -> np.ndarray:
    """A random start, log-uniform; where something was stated no farther than twice its error.

    Args:
        free_: the free numbers.
        factor: by which a number may differ at most.
        rng: draws it.
        around: the x in the middle.

    Returns:
        The x of the start, inside the bounds.
    """
    moved = []
    for p, x in zip(free_.parameters, around, strict=True):
        width = 0.1 * p.signed if p.signed is not None else math.log(factor)
        if p.stated:
            width = min(width, 2.0 * p.prior[1])
        moved.append(x + rng.uniform(-1, 1) * width)
    return free_.inside(np.array(moved))
