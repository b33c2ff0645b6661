"""Numbers to sweep, from a command line: `--vary drive.volts_per_radian=2,4,20`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

MOST_RUNS = 100
"""More than these are no table that a person reads."""


class Varied(NamedTuple):
    """One number that is swept: `drive.volts_per_radian`, `bench.mass` or `command.amplitude`."""

    path: str
    values: tuple[float, ...]
    unit: str


def varied(text: str, actuator: Any, bench: Any, command: Any) -> Varied:
    """ "drive.volts_per_radian=2,4,20" -> that path and its values; a unit behind the last is that of all."""
    from ....errors import InvalidValue, UnknownName
    from ....physics.bench import BENCH_TRAITS
    from ....physics.quantity import absent, quantities_of
    from ....signal.commands import numbers_of, unit_of
    from ....signal.words import number_and_unit, si

    path, equals, given = (word.strip() for word in text.partition("="))
    numbers = [word.strip() for word in given.split(",")]
    if not equals or not path or not all(numbers):
        wanted = "expected PATH=VALUE,VALUE, such as drive.volts_per_radian=2,4,20"
        raise InvalidValue(f"--vary is {text!r}; {wanted}")
    known = {f"bench.{name}": BENCH_TRAITS[f"bench.{name}"]["unit"] for name in quantities_of(type(bench))}
    known |= {f"command.{f.name}": unit_of(f, command.unit) for f in numbers_of(command)}
    if path not in known:
        if path not in {*actuator.parameters, *absent(actuator)}:
            raise UnknownName("number to vary", path, [*actuator.parameters, *known])
        known[path] = actuator.unit(path)
    unit, last = known[path] or "1", number_and_unit(numbers[-1])[1]
    spelled = [word if number_and_unit(word)[1] else f"{word}{last}" for word in numbers]
    return Varied(path, tuple(si(word, unit, path) for word in spelled), unit)


def every(swept: Sequence[Varied]) -> list[tuple[float, ...]]:
    """Every combination of the values."""
    from ....errors import InvalidValue

    paths = [one.path for one in swept]
    if len(set(paths)) < len(paths):
        raise InvalidValue(f"--vary names a number twice: {', '.join(paths)}; give all its values at once")
    combinations = list(itertools.product(*(one.values for one in swept)))
    if len(combinations) > MOST_RUNS:
        wanted = f"expected {MOST_RUNS} at most: vary less at once"
        raise InvalidValue(f"--vary asks for {len(combinations)} runs; {wanted}")
    return combinations
