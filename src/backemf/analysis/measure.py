"""`measure`: a constant from bench readings, with its error, by the reading's name.

What the words and numbers that a reading is given mean; one reading at a time, or several ways to the same
constants at once: each with its error, what they come to together, and where they disagree.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..bounds import limits, text_of, toml
from ..errors import InvalidValue, MissingValue, UnknownName
from ..findings import Finding
from ..options import option, options
from ..physics.quantity import present
from ..tables import NotebookDisplay, Overview, number
from ..units import factor, rounding, si
from . import electrical, torque, transients
from .measurement import Measurement, TypedColumn, estimate, known_number as known, measure_typed
from .routes import CONSTANTS, K_E, K_T, combine, compare_motor_constants, contradict, disagreements

LOGS = ("log", "slow", "fast")
"""What is a recording."""
COLUMNS = {
    "scale": "N",
    "current": "A",
    "voltage": "V",
    "speed": "rad/s",
    "load": "N m",
    "torque": "N m",
    "acceleration": "rad/s^2",
    "frequency": "Hz",
    "impedance": "ohm",
    "error": "rad",
    "register": "1",
    "duty": "1",
    "directions": "1",
}
"""Units of what is read several times."""
COUNTED = ("register", "directions")
"""Of these, what is a whole number and not rounded."""
KNOWN = {
    "resistance": "ohm",
    "torque_constant": "N m/A",
    "viscous": "N m s/rad",
    "coulomb": "N m",
    "inertia": "kg m^2",
    "added": "kg m^2",
    "arm": "m",
    "supply": "V",
}
"""Units of what is known from elsewhere, with its error."""
PLAIN = {
    "mass": "kg",
    "length": "m",
    "angle": "rad",
    "angle_error": "rad",
    "arm_mass": "kg",
    "gravity": "m/s^2",
    "static": "N m",
    "power": "W",
    "ambient": "degC",
    "until": "s",
    "after": "s",
    "moved": "rad",
    "cutoff": "Hz",
    "duty_limit": "1",
    "decimation": "1",
}
"""Units of single numbers."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_KNOWN = re.compile(
    rf"\s*(?P<value>{_NUMBER})\s*(?:(?:\+-|\u00b1)\s*(?P<error>{_NUMBER})\s*(?P<share>%)?)?\s*(?P<unit>[^\d\s+].*?)?"
    rf"(?:\s*(?:\+-|\u00b1)\s*(?P<later>{_NUMBER})\s*(?P<part>%|[^\d\s+].*?)?)?\s*"
)


def known_number(text: str, unit: str, entry: str) -> float | tuple[float, float]:
    """ "2.1", "2.1 +- 0.05", "2.1 ohm +- 2 %": a number, with its standard error where it is stated."""
    match = _KNOWN.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{entry} is {text!r}; expected a number in {unit}, such as 2.1 or '2.1 +- 0.05'")
    scale = _scale(match["unit"], unit, entry)
    value = float(match["value"]) * scale
    error, behind = match["error"] or match["later"], match["share"] or match["part"]
    if error is None:
        return value
    if behind and behind != "%":
        return value, float(error) * abs(_scale(behind, unit, entry))
    return value, abs(value) * float(error) / 100.0 if behind else float(error) * abs(scale)


def column(text: str, unit: str, entry: str) -> TypedColumn:
    """Readings separated by commas, in SI or with a unit behind each, or behind the last: "300, 600 rpm"."""
    parts = [*filter(None, map(str.strip, text.replace(";", ",").split(",")))]
    cut = [re.fullmatch(rf"({_NUMBER})\s*([^\d\s+.-].*)?", part) for part in parts]
    digits = [part if one is None else one[1] for one, part in zip(cut, parts, strict=True)]
    spelled = [None if one is None else one[2] for one in cut]
    if any(spelled) and not spelled[-1]:
        raise InvalidValue(f"{entry} is {text!r}; expected a unit behind each, or behind the last")
    scales = [_scale(own or spelled[-1], unit, entry) for own in spelled]
    try:
        numbers = TypedColumn(float(part) * scale for part, scale in zip(digits, scales, strict=True))
        numbers.half = min(rounding(part) * abs(scale) for part, scale in zip(digits, scales, strict=True))
    except ValueError:
        raise InvalidValue(f"{entry} is {text!r}; expected numbers separated by commas") from None
    numbers.half = 0.0 if entry in COUNTED else numbers.half
    return numbers


class TypedNumber(float):
    """A number of a file, with its digits."""

    def __new__(cls, text: str) -> TypedNumber:
        number = super().__new__(cls, text)
        number.typed = text
        return number

    typed: str


def _scale(spelled: str | None, unit: str, entry: str) -> float:
    if not spelled or spelled.strip() == unit or spelled.strip() in ("nan", "inf"):
        return 1.0
    return factor(spelled.strip(), unit, entry)


def argument(name: str, given: Any) -> Any:
    """What a reading's function is given, from what a file or a command line says."""
    match given:
        case str() if name in COLUMNS:
            return column(given, COLUMNS[name], name)
        case list() if name in COLUMNS and any(type(x) is str or hasattr(x, "typed") for x in given):
            return column(
                ",".join(getattr(value, "typed", str(value)) for value in given), COLUMNS[name], name
            )
        case str() if name in KNOWN:
            return known_number(given, KNOWN[name], name)
        case list() if name in KNOWN:
            return tuple(given)
        case str() if name in PLAIN:
            return si(given, PLAIN[name], name)
    return given


def reading_options(reading: str, base: type[Any]) -> type[Any]:
    """What one types for a reading: its function's arguments, with what its docstring says of them.

    Args:
        reading: its name, one of `READINGS`.
        base: a class of options that every reading has.

    Returns:
        A class of options: readings and known numbers as text, others as numbers; all with a unit, or in SI.
    """
    function = READINGS[reading]
    texts = dict(
        re.findall(r"^    (\w+): (.*?)(?=\n    \w|\n\n|\Z)", inspect.getdoc(function) or "", re.M | re.S)
    )
    fields: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind, text = parameter.annotation, " ".join(texts[name].split())
        optional, default = parameter.default is not inspect.Parameter.empty, parameter.default
        spelled: dict[str, Any] = {"default": None} if optional else {}
        what, _, unit = text.rstrip(".").partition(" [")
        spelled["unit"] = {**KNOWN, **PLAIN, **COLUMNS}.get(name)
        if name in LOGS:
            kinds[name], spelled["cli"] = "str", name
        elif kind.startswith("Column"):
            kinds[name] = "str | None" if optional else "str"
            behind = "" if unit == "1]" else f" [{unit}; another unit may stand behind each or the last"
            text = f"{what}, separated by commas{behind}."
        elif kind.startswith("Known"):
            kinds[name] = "str | None" if optional else "str"
            text = f"{what} [{unit}; '2.1 +- 0.05' says how well it is known."
        else:
            kinds[name] = "int" if kind == "int" else "float | None" if default is None else "float"
            spelled |= {"default": default} if optional else {}
        fields[name] = option(help=text, **spelled)
    title = "".join(word.title() for word in reading.split("-"))
    return options(type(f"{title}Options", (base,), {**fields, "__annotations__": kinds}))


def typed_arguments(given: Mapping[str, Any], read: Callable[[str], Any]) -> dict[str, Any]:
    """What a reading's function is given, from what was typed; what was not is left out.

    Args:
        given: by name, as `reading_options` has them.
        read: from the name of a file to its log.

    Returns:
        Arguments by name, in SI.
    """
    arguments = {}
    for name, value in given.items():
        if value is None:
            continue
        if name in LOGS:
            arguments[name] = read(value)
        else:
            arguments[name] = argument(name, value)
    return arguments


SUPPLIES = {
    "resistance": ("motor.resistance",),
    "torque_constant": (K_E, K_T),
    "static": ("friction.static",),
    "inertia": ("inertia",),
}
"""Which constant a reading may take from another, where it is not given one: the first that has a value."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasuredConstants(NotebookDisplay):
    """Constants of one motor by every route that was taken."""

    name: str
    routes: Mapping[str, Mapping[str, Measurement]]
    """By constant, then by route."""
    combined: Mapping[str, Measurement]
    """What the routes come to together; where they disagree, with an error as wide as that."""
    findings: tuple[Finding, ...] = field(default=())

    def overview(self) -> Overview:
        """A row for each route, and for what several come to together."""
        rows = []
        for constant, ways in self.routes.items():
            rows += [(constant, route, m.value, m.error, m.low, m.high, m.unit) for route, m in ways.items()]
            if constant in self.combined and sum(not m.secondary for m in ways.values()) > 1:
                m = self.combined[constant]
                rows.append((constant, "together", m.value, m.error, m.low, m.high, m.unit))
        n = sum(not m.secondary for ways in self.routes.values() for m in ways.values())
        said = [
            f"{k} {word}{'' if k == 1 else 's'}" for k, word in ((len(self.routes), "constant"), (n, "route"))
        ]
        title = f"{self.name}: {' by '.join(said)}"
        header = ("constant", "route", "value", "error", "low", "high", "unit")
        return Overview(title, header, rows, self.findings)


def constants(
    readings: Mapping[str, Any] | str | Path, *, name: str | None = None, folder: Path | str = "."
) -> MeasuredConstants:
    """Every constant by every route: `be.measure.constants("bench.toml")`, or the same as a mapping.

    Keys are readings as `backemf measure` spells them, each with its own numbers (or a list of several such),
    and `stated` for constants known otherwise. A resistance, a torque constant, a static friction or an
    inertia that a reading needs and is not given is taken from the other readings.

    Args:
        readings: a file, TOML or JSON, or what it would hold.
        name: of the motor; the file's unless given.
        folder: where recordings are looked for; those that a file names, beside it.

    Returns:
        Every constant by every route, together, and where routes disagree.

    Raises:
        BackemfError: where a reading is not known, or lacks a number.
    """
    if not isinstance(readings, Mapping):
        folder = Path(readings).parent
        name = name or Path(readings).stem
        readings = read_readings(readings)
    bench = _Bench(Path(folder))
    bench.take_all(readings)
    if not bench.routes:
        raise MissingValue(f"no readings were given; expected some of: {', '.join(READINGS)}, stated")
    ordered = {c: bench.routes[c] for c in CONSTANTS if c in bench.routes}
    together = {c: m for c, ways in ordered.items() if (m := combine(c, ways)) is not None}
    findings = [
        *bench.findings,
        *disagreements(ordered),
        *compare_motor_constants(ordered, together, bench.loads),
    ]
    unique = {(f.code, f.text): f for f in findings}
    called = str(readings.get("name") or name or "readings")
    return MeasuredConstants(name=called, routes=ordered, combined=together, findings=tuple(unique.values()))


def several(readings: Any) -> Sequence[Any]:
    """The numbers of one reading, or a list of several such, as a list."""
    return readings if isinstance(readings, Sequence) else [readings]


def by_label(stated: Any) -> Mapping[str, Any]:
    """What is stated of a constant, by who states it."""
    return stated if isinstance(stated, Mapping) else {"stated": stated}


@dataclass
class _Bench:
    """What has been read so far."""

    folder: Path
    routes: dict[str, dict[str, Measurement]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    loads: tuple[Any, Any] | None = None
    """(load, voltage or current x R) of static loads, for what friction must have held."""

    def add(self, constant: str, route: str, m: Measurement) -> None:
        ways = self.routes.setdefault(constant, {})
        label, k = route, 2
        while label in ways:
            label, k = f"{route} {k}", k + 1
        ways[label] = m

    def supply(self, names: Iterable[str], *, needed: bool, bound: bool) -> Measurement | None:
        """What is known of a constant by now; a bound where that will do. Routes that contradict each other
        lend nothing to a reading that can do without."""
        for constant in names:
            ways = self.routes.get(constant, {})
            if contradict(ways) and not needed:
                continue
            measured = {k: m for k, m in ways.items() if m.route}
            m = combine(constant, measured) or combine(constant, ways)
            if m is not None:
                return m
            least = [m.low for m in ways.values() if m.low is not None]
            if bound and least:
                return Measurement(name=constant, unit=CONSTANTS[constant], value=max(least))
        return None

    def take_all(self, readings: Mapping[str, Any]) -> None:
        """What is stated, then every reading, those first that others may need."""
        content = {k: v for k, v in readings.items() if k not in ("name", "stated")}
        for key in content:
            if key.replace("_", "-") not in READINGS:
                raise UnknownName("reading", key, [*READINGS, "name", "stated"])
        for constant, ways in (readings.get("stated") or {}).items():
            for label, given in by_label(ways).items():
                self.add(constant, label, _stated_measurement(constant, given))
        for reading in READINGS:
            for key in {reading, reading.replace("-", "_")} & set(content):
                for given in several(content[key]):
                    self.take(reading, given)

    def take(self, reading: str, given: Any) -> None:
        if not isinstance(given, Mapping):
            raise InvalidValue(f"[{reading}] is {given!r}; expected its numbers by name")
        function = READINGS[reading]
        wanted = inspect.signature(function).parameters
        arguments: dict[str, Any] = {}
        for key, value in given.items():
            if key == "label":
                continue
            if key not in wanted:
                raise UnknownName(f"entry of [{reading}]", key, [*wanted, "label"])
            arguments[key] = self.log(value) if key in LOGS else argument(key, value)
        lent = self._lend(reading, wanted, arguments)
        missing = [
            k for k, p in wanted.items() if p.default is inspect.Parameter.empty and k not in arguments
        ]
        if missing:
            raise MissingValue(f"[{reading}] lacks {', '.join(missing)}; expected {', '.join(wanted)}")
        m = measure_typed(function, arguments)
        if lent:
            m = replace(m, assumption=f"{m.assumption}; {lent}")
        label = str(given.get("label") or m.route or reading)
        self.findings += m.findings
        self._keep(label, m)
        if reading == "torque-constant":
            self._keep_loads(arguments)

    def _keep_loads(self, arguments: Mapping[str, Any]) -> None:
        i, R = arguments.get("current"), arguments.get("resistance")
        if i is None and R is not None:
            i = np.asarray(arguments["voltage"], float) / present(known("resistance", R).value)
        self.loads = (np.asarray(arguments["load"], float), np.asarray(i, float))

    def _lend(self, reading: str, wanted: Any, arguments: dict[str, Any]) -> str:
        """Fill in what other readings told; in words, what that was."""
        said = []
        for name, constants in SUPPLIES.items():
            if (
                name not in wanted
                or name in arguments
                or name == reading
                or _can_do_without(name, reading, arguments)
            ):
                continue
            needed = name == "resistance" or wanted[name].default is inspect.Parameter.empty
            m = self.supply(constants, needed=needed, bound=name == "static")
            if m is None:
                continue
            assert m.value is not None  # `supply` lends numbers only
            arguments[name] = float(m.value) if name == "static" else m
            said.append(f"{name.replace('_', ' ')} {number(float(m.value))} from the other readings")
        return ", ".join(said)

    def _keep(self, label: str, m: Measurement) -> None:
        """The numbers that are constants, each under its own name."""
        bare = replace(m, others={})
        if m.name in CONSTANTS:
            self.add(m.name, label, bare)
        if m.name == "K + R f_v / K" and m.high is not None:
            words = "drag takes some of the volts: K_e is at most the slope"
            bound = replace(bare, name=K_E, value=None, error=None, low=None, spare=None, assumption=words)
            self.add(K_E, f"{label} slope", bound)
        for key, other in m.others.items():
            if other.name in CONSTANTS and other is not m:
                again = other.name == m.name
                words = f"{label}, {key.replace('_', ' ')}" if again else label
                self.add(other.name, words, replace(other, route=m.route, secondary=again))

    def log(self, path: Any) -> Any:
        from ..logs.read import read

        if not isinstance(path, str):
            return path
        return read(self.folder / path)[0]


def _can_do_without(name: str, reading: str, arguments: Mapping[str, Any]) -> bool:
    """Whether what a reading was given makes a constant needless."""
    if name == "resistance" and reading == "torque-constant":
        return "current" in arguments
    if name == "resistance" and reading in ("impedance", "current-step"):
        return "voltage" in arguments
    if name == "inertia":
        return "coulomb" in arguments
    return name == "static" and set(arguments.get("directions", ())) == {1, -1}


def read_readings(path: Path | str) -> Mapping[str, Any]:
    """A file of readings, TOML or JSON."""
    path = Path(path)
    try:
        text = text_of(path, most=limits().short)
        if path.suffix.lower() == ".json":
            content = json.loads(text, parse_float=TypedNumber)
        else:
            content = toml(text, parse_float=TypedNumber)
    except FileNotFoundError:
        raise InvalidValue(f"there is no file {str(path)!r}; expected readings in TOML or JSON") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidValue(f"{path}: not TOML or JSON that can be read: {error}") from None
    if not isinstance(content, dict):
        raise InvalidValue(f"{path}: expected readings by name, such as [resistance]")
    return {name: _with_digits(readings) for name, readings in content.items()}


def _with_digits(content: Any) -> Any:
    """What a file says, its whole numbers with their digits too."""
    match content:
        case dict():
            return {name: _with_digits(value) for name, value in content.items()}
        case list():
            return [_with_digits(value) for value in content]
        case int() if type(content) is int:
            return TypedNumber(str(content))
    return content


def _stated_measurement(constant: str, given: Any) -> Measurement:
    """A constant known otherwise: text with "+-", a number, (value, error), or measured."""
    if constant not in CONSTANTS:
        raise UnknownName("constant", constant, CONSTANTS)
    unit = CONSTANTS[constant]
    match given:
        case Measurement():
            return given
        case str():
            given = known_number(given, unit, constant)
        case list():
            given = tuple(given)
    m = known(constant, given, zero=True)
    if type(given) is not tuple:
        return Measurement(name=constant, unit=unit, value=m.value)
    return estimate(constant, unit, present(m.value), present(m.error) ** 2)


class Measure:
    """A constant with its error from a bench reading, each by its own name:
    `be.measure.resistance(current, voltage)`, or `be.measure("resistance", current, voltage)`.

    fall, slip, resistance, current_step, impedance, back_emf, torque_constant, stall_torque, no_load,
    no_load_current, firmware_gain, coast_down, inertia, run_up, acceleration, inverse_dynamics, thermal,
    backlash; and `constants`, which compares several. The answer has a value, its standard error and its 95 %
    interval, or bounds; what was assumed, what would sharpen it, findings, further numbers of the same
    reading (`others`), and a picture (`plot`).
    """

    fall = staticmethod(torque.fall)
    slip = staticmethod(torque.slip)
    resistance = staticmethod(electrical.resistance)
    impedance = staticmethod(electrical.impedance)
    current_step = staticmethod(electrical.current_step)
    back_emf = staticmethod(electrical.back_emf)
    torque_constant = staticmethod(torque.torque_constant)
    stall_torque = staticmethod(torque.stall_torque)
    no_load = staticmethod(torque.no_load)
    no_load_current = staticmethod(torque.no_load_current)
    firmware_gain = staticmethod(electrical.firmware_gain)
    coast_down = staticmethod(transients.coast_down)
    inertia = staticmethod(transients.inertia)
    run_up = staticmethod(transients.run_up)
    acceleration = staticmethod(transients.acceleration)
    inverse_dynamics = staticmethod(transients.inverse_dynamics)
    thermal = staticmethod(transients.thermal)
    backlash = staticmethod(transients.backlash)
    constants = staticmethod(constants)

    def __call__(self, reading: str, *given: Any, **named: Any) -> Measurement:
        """By the reading's name, as `backemf measure` spells it: "no-load-current"."""
        name = reading.replace("_", "-")
        if name not in READINGS:
            raise UnknownName("reading", reading, READINGS)
        function: Callable[..., Measurement] = READINGS[name]
        try:
            arguments = inspect.signature(function).bind(*given, **named).arguments
        except TypeError as error:
            wanted = ", ".join(inspect.signature(function).parameters)
            raise InvalidValue(f"measure({reading!r}): {error}; expected {wanted}") from None
        return measure_typed(function, arguments)


measure = Measure()
READINGS: dict[str, Callable[..., Measurement]] = {
    name.replace("_", "-"): getattr(measure, name)
    for name in vars(Measure)
    if not name.startswith("_") and name != "constants"
}
"""By name, as `backemf measure` spells it; in this order one may need what another found."""
