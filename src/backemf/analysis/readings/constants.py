"""Several ways to the same constants at once: each with its error, what they come to together, and where they
disagree."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue, UnknownName
from ...findings import Finding
from ...tables import Displayed, Overview, number
from .compare import CONSTANTS, K_E, K_T, combine, compare_motor_constants, contradict, disagreements
from .measured import Measured, estimate, known
from .routes import LOGS, READINGS, argument, known_number

SUPPLIES = {
    "resistance": ("motor.resistance",),
    "torque_constant": (K_E, K_T),
    "static": ("friction.static",),
    "inertia": ("inertia",),
}
"""Which constant a reading may take from another, where it is not given one: the first that has a value."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Constants(Displayed):
    """Constants of one motor by every route that was taken."""

    name: str
    routes: Mapping[str, Mapping[str, Measured]]
    """By constant, then by route."""
    combined: Mapping[str, Measured]
    """What the routes come to together; where they disagree, with an error as wide as that."""
    findings: tuple[Finding, ...] = field(default=())

    def overview(self) -> Overview:
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
) -> Constants:
    """Every constant by every route: `be.measure.constants("bench.toml")`, or the same as a mapping.

    Keys are readings as `backemf measure` spells them, each with its own numbers (or a list of several such),
    and `stated` for constants known otherwise. A resistance, a torque constant, a static friction or an
    inertia that a reading needs and is not given is taken from the other readings. Recordings are looked for
    in `folder`; those that a file names, beside it.
    """
    if not isinstance(readings, Mapping):
        folder = Path(readings).parent
        name = name or Path(readings).stem
        readings = read_readings(readings)
    made = _Bench(Path(folder))
    content = {k: v for k, v in readings.items() if k not in ("name", "stated")}
    for key in content:
        if key.replace("_", "-") not in READINGS:
            raise UnknownName("reading", key, [*READINGS, "name", "stated"])
    for constant, ways in (readings.get("stated") or {}).items():
        for label, given in (ways if isinstance(ways, Mapping) else {"stated": ways}).items():
            made.add(constant, label, _stated(constant, given))
    for reading in READINGS:
        for key in {reading, reading.replace("-", "_")} & set(content):
            several = content[key] if isinstance(content[key], Sequence) else [content[key]]
            for given in several:
                made.take(reading, given)
    if not made.routes:
        raise MissingValue(f"no readings were given; expected some of: {', '.join(READINGS)}, stated")
    ordered = {c: made.routes[c] for c in CONSTANTS if c in made.routes}
    together = {c: m for c, ways in ordered.items() if (m := combine(c, ways)) is not None}
    findings = [
        *made.findings,
        *disagreements(ordered),
        *compare_motor_constants(ordered, together, made.loads),
    ]
    unique = {(f.code, f.text): f for f in findings}
    called = str(readings.get("name") or name or "readings")
    return Constants(name=called, routes=ordered, combined=together, findings=tuple(unique.values()))


@dataclass
class _Bench:
    """What has been read so far."""

    folder: Path
    routes: dict[str, dict[str, Measured]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    loads: tuple[Any, Any] | None = None
    """(load, voltage or current x R) of static loads, for what friction must have held."""

    def add(self, constant: str, route: str, m: Measured) -> None:
        ways = self.routes.setdefault(constant, {})
        label, k = route, 2
        while label in ways:
            label, k = f"{route} {k}", k + 1
        ways[label] = m

    def supply(self, names: Iterable[str], *, needed: bool, bound: bool) -> Measured | float | None:
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
                return max(least)
        return None

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
        lent = self._lent(reading, wanted, arguments)
        missing = [
            k for k, p in wanted.items() if p.default is inspect.Parameter.empty and k not in arguments
        ]
        if missing:
            raise MissingValue(f"[{reading}] lacks {', '.join(missing)}; expected {', '.join(wanted)}")
        m = function(**arguments)
        if lent:
            m = replace(m, assumption=f"{m.assumption}; {lent}")
        label = str(given.get("label") or m.route or reading)
        self.findings += m.findings
        self._keep(label, m)
        if reading == "torque-constant":
            i = arguments.get("current")
            R = arguments.get("resistance")
            if i is None and R is not None:
                r = known("resistance", R).value or 1.0
                i = np.asarray(arguments["voltage"], float) / r
            self.loads = (np.asarray(arguments["load"], float), np.asarray(i, float))

    def _lent(self, reading: str, wanted: Any, arguments: dict[str, Any]) -> str:
        """Fill in what other readings told; in words, what that was."""
        said = []
        for name, constants in SUPPLIES.items():
            if name not in wanted or name in arguments or name == reading:
                continue
            if name == "resistance" and "current" in arguments and reading == "torque-constant":
                continue
            if reading in ("impedance", "current-step") and name == "resistance" and "voltage" in arguments:
                continue
            if name == "inertia" and "coulomb" in arguments:
                continue
            both = set(arguments.get("directions", ())) == {1, -1}
            if name == "static" and both:
                continue
            needed = name == "resistance" or wanted[name].default is inspect.Parameter.empty
            m = self.supply(constants, needed=needed, bound=name == "static")
            if m is None:
                continue
            value = m.value if isinstance(m, Measured) else m
            assert value is not None  # `supply` lends numbers only
            arguments[name] = float(value) if name == "static" else m
            said.append(f"{name.replace('_', ' ')} {number(float(value))} from the other readings")
        return ", ".join(said)

    def _keep(self, label: str, m: Measured) -> None:
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
        from ...logs.read import read

        if not isinstance(path, str):
            return path
        return read(self.folder / path)[0]


def read_readings(path: Path | str) -> Mapping[str, Any]:
    """A file of readings, TOML or JSON."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise InvalidValue(f"there is no file {str(path)!r}; expected readings in TOML or JSON") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidValue(f"{path}: not TOML or JSON that can be read: {error}") from None
    if not isinstance(content, dict):
        raise InvalidValue(f"{path}: expected readings by name, such as [resistance]")
    return content


def _stated(constant: str, given: Any) -> Measured:
    """A constant known otherwise: text with "+-", a number, (value, error), or measured."""
    if constant not in CONSTANTS:
        raise UnknownName("constant", constant, CONSTANTS)
    unit = CONSTANTS[constant]
    if isinstance(given, Measured):
        return given
    if isinstance(given, str):
        given = known_number(given, unit, constant)
    if isinstance(given, list):
        given = tuple(given)
    m = known(constant, given, zero=True)
    if not isinstance(given, tuple):
        return Measured(name=constant, unit=unit, value=m.value)
    return estimate(constant, unit, float(m.value or 0.0), float(m.error or 0.0) ** 2)
