"""A bench in words, or in a file of its own: "pendulum mass=0.5kg length=0.1m", `rig.toml`, `rig.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import store
from ..bounds import limits, text_of, toml
from ..errors import InvalidValue, MissingValue, UnknownName
from ..physics.bench import BENCHES, Bench
from ..physics.maths import is_number
from ..physics.quantity import quantities_of
from ..signal import words
from ..units import number_alone
from .robot import Robot

FILES = (".toml", ".json")
"""What a bench's file may end in."""
LINE = 'bench = "pendulum"'


def bench_of(text: str) -> Bench:
    """A bench from its words, separated by blanks or commas, or from the file that the text names."""
    if text.strip().lower().endswith(FILES) and "=" not in text:
        return bench_file(Path(text.strip()).expanduser())
    return _make_bench(*words(text))


def bench_and_robot(given: Bench | Robot | str | None) -> tuple[Bench | None, Robot | None]:
    """What was carried, as a bench or on a robot, from whatever says it: a bench also in words."""
    if isinstance(given, Robot):
        return None, given
    return bench_of(given) if isinstance(given, str) else given, None


def bench_name(bench: Bench) -> str:
    """What a bench is called in words: "pendulum"."""
    return next(name for name, cls in BENCHES.items() if cls is type(bench))


def bench_file(path: Path) -> Bench:
    """A bench from TOML, a line each number with its unit; or from JSON, as backemf stores it."""
    if not path.is_file():
        raise MissingValue(
            f"there is no file {str(path)!r}; expected a bench in words, or a .toml or .json file with one"
        )
    if path.suffix.lower() == ".json":
        return store.read(path, Bench)
    try:
        content = toml(text_of(path, "utf-8-sig", limits().short))
    except (OSError, ValueError) as error:
        raise InvalidValue(f"{path} cannot be read as TOML: {error}") from None
    name = str(content.pop("bench", ""))
    if not name:
        raise MissingValue(f"{path} does not say which bench it is; expected a line such as {LINE}")
    return _make_bench(name, content)


def _make_bench(name: str, given: Mapping[str, Any]) -> Bench:
    if name not in BENCHES:
        raise UnknownName("bench", name, BENCHES)
    known = quantities_of(BENCHES[name])
    fields: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            raise UnknownName(f"word of {name}", key, known)
        if not (is_number(value) or isinstance(value, str)):
            raise InvalidValue(f"{key} of {name} is {value!r}; expected a number, or text such as '0.5 kg'")
        alone = float(value) if is_number(value) else number_alone(value, key)
        fields[key] = value if alone is None else alone  # a unit, and a tolerance, are read by the bench
    return BENCHES[name](**fields)
