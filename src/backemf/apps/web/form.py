"""What a form says, read key by key: a choice from a list, a file of the project, or harmless text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...errors import InvalidValue, MissingValue, UnknownName
from ...options import OWN_UNIT, Option
from ..cli.command_builder import number_of
from .workspace import Project, Workspace, folders

PART = re.compile(r"^[A-Za-z0-9][A-Za-z0-9.\-]*(/[A-Za-z0-9\-]+)?$")
WORD = re.compile(r"^[A-Za-z0-9_.][A-Za-z0-9_.\- ]{0,79}$")
SEVERAL = re.compile(r"[+-]?[\d.]+(?:e[+-]?\d+)?\s*[A-Za-z]*")
"""Numbers behind each other, each perhaps with its unit."""
DEEPEST = 20
"""Levels of a form: those of the pages have four."""
LARGEST = 2**53
"""Whole numbers beyond this are others in a browser."""
LONGEST = 200
"""Words of one list."""
Shape = tuple[str, str]
"""The pattern that a text must match, and what is expected in words, with an example."""
T = TypeVar("T")


def expect_kind(value: Any, kind: type[T], complaint: str) -> T:
    """A value that a browser sent, of the kind that JSON should have there.

    Args:
        value: as it came.
        kind: `str`, `list` or `dict`.
        complaint: what is said otherwise, with what to do.

    Returns:
        The value.

    Raises:
        InvalidValue: it is of another kind.
    """
    if not isinstance(value, kind):
        raise InvalidValue(complaint)
    return value


def check_content(content: Any) -> Any:
    """Content that a browser sent, which may be kept: not deep, with finite numbers and whole letters.

    Args:
        content: as JSON gives it.

    Returns:
        The content.

    Raises:
        InvalidValue: it is something else.
    """
    waiting = [(content, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEEPEST:
            raise InvalidValue(f"the request is more than {DEEPEST} levels deep; reload the page")
        match value:
            case dict():
                waiting += [(one, depth + 1) for pair in value.items() for one in pair]
            case list():
                waiting += [(one, depth + 1) for one in value]
            case float() if not math.isfinite(value):
                raise InvalidValue(f"the request has the number {value}; expected finite ones")
            case int() if abs(value) > LARGEST:
                raise InvalidValue(
                    f"the request has a number of {len(str(value))} digits; expected fewer than 17"
                )
            case str() if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
                raise InvalidValue("the request has half a letter in it (a lone surrogate); type it anew")
    return content


@dataclass
class FormReader:
    """What a form says, read key by key; a key that nobody reads is an error."""

    content: dict[str, Any]
    project: Project
    workspace: Workspace
    read: set[str] = field(default_factory=lambda: {"command"})

    def get(self, key: str) -> Any:
        """A value as it came; None where the form leaves it empty."""
        self.read.add(key)
        value = self.content.get(key)
        return None if value in ("", [], {}) else value

    def text(self, key: str, shape: Shape) -> str | None:
        """Text of a shape; None where the form has none."""
        value = self.get(key)
        return None if value is None else _match(key, value, shape)

    def texts(self, key: str, shape: Shape) -> list[str]:
        """Several texts of a shape, as many as the form has."""
        values = self._list(key, LONGEST, f"a list such as [{shape[1]}]")
        return [_match(key, value, shape) for value in values]

    def _list(self, key: str, most: int, wanted: str) -> list[Any]:
        complaint = f"{key} is {_short(self.get(key))}; expected {wanted}"
        values = expect_kind(self.get(key) or [], list, complaint)
        if len(values) > most:
            raise InvalidValue(complaint)
        return values

    def choice(self, key: str, valid: Sequence[str]) -> str | None:
        """One of the valid words; None where the form chooses none."""
        value = self.get(key)
        if value is not None and value not in valid:
            raise UnknownName(key, str(value)[:60], valid)
        return value

    def flag(self, key: str) -> bool:
        """Whether a box is ticked."""
        return self.get(key) is True

    def numbers(self, key: str, option: Option, ends: tuple[float, float]) -> list[str]:
        """A number of an option, or a pair, between two ends, as it was typed: alone in SI, or with its unit.

        Args:
            key: of the form.
            option: which says the unit, and how many there are.
            ends: the least and the most that a form may ask for, in that unit.

        Returns:
            Words of a command line; none where the form has none.

        Raises:
            BackemfError: it is no number, or of another unit, in the words of the option.
        """
        value, (low, high) = self.get(key), ends
        text = "" if value is None else str(value).strip()
        pair = option.annotation.startswith("tuple")
        words = (text.split(",") if "," in text else SEVERAL.findall(text)) if pair and text else [text]
        if pair and text and len(words) != 2:
            raise InvalidValue(
                f"{option.spelled} is {_short(text)}; expected two numbers such as '2 s, 10 s'"
            )
        words = [word.strip() for word in words if word]
        for word in words:
            if not low <= number_of(option, word) <= high:
                unit = "" if option.unit in (None, "1", OWN_UNIT) else f" {option.unit}"
                raise InvalidValue(f"{option.spelled} is {word!r:.60}; expected {low:g} to {high:g}{unit}")
        return words

    def file(self, key: str) -> str | None:
        """A file or an uploaded folder of the project, by the name that it has here."""
        value = self.get(key)
        return None if value is None else self._known_file(key, value)

    def files(self, key: str) -> list[str]:
        """Files or folders of the project, at least one."""
        values = self._list(key, self.workspace.limits.project_files, "a list of files")
        if not values:
            raise MissingValue("no file is chosen; choose at least one recording above")
        return [self._known_file(key, value) for value in values]

    def _known_file(self, key: str, value: Any) -> str:
        if value not in [*self.project.files, *folders(self.project)]:
            raise MissingValue(f"{key}: there is no file {_short(value)} in this project; upload it first")
        return value

    def source(self, key: str) -> str | None:
        """A part of the catalogue, a file, or a joint of a model: `arm.xml#elbow`."""
        value = self.get(key)
        if value is None:
            return None
        wanted = "a part of the catalogue such as sts3215-7.4v, or a file of this project"
        complaint = f"{key} is {_short(value)}; expected {wanted}"
        name, mark, joint = expect_kind(value, str, complaint).partition("#")
        if name in self.project.files and (not mark or WORD.match(joint)):
            return value
        if not PART.match(value):
            raise InvalidValue(complaint)
        return value

    def bench(self) -> str | None:
        """A bench from the words of a form: {"kind": "pendulum", "mass": "0.2 kg"}."""
        from ...physics.bench import BENCH_TRAITS, BENCHES
        from ...physics.quantity import quantities_of
        from ...units import number_alone, parse

        value = self.get("bench")
        if value is None:
            return None
        example = 'an object such as {"kind": "pendulum", "mass": "0.2 kg"}'
        content = expect_kind(value, dict, f"bench is {_short(value)}; expected {example}")
        kind = str(content.get("kind"))
        if kind not in BENCHES:
            raise UnknownName("bench", kind[:60], BENCHES)
        known = quantities_of(BENCHES[kind])
        words = [kind]
        for name, number in content.items():
            if name == "kind" or number in ("", None):
                continue
            if name not in known:
                raise UnknownName(f"word of {kind}", name[:60], known)
            text = str(number).strip()
            if number_alone(text, name) is None:
                parse(text, BENCH_TRAITS[f"bench.{name}"]["unit"], name)
            words.append(f"{name}={_one_word(text)}")
        return " ".join(words)

    def unused_name(self, kind: str) -> str:
        """A name for what a command writes: fit-1.json for fit.json."""
        return self.workspace.unused_name(self.project, kind)

    def refuse_unread(self) -> None:
        """Refuse what nobody asked for."""
        left = sorted(set(self.content) - self.read)
        if left:
            raise UnknownName("word of this command", left[0][:60], self.read)


def _match(key: str, value: Any, shape: Shape) -> str:
    pattern, wanted = shape
    complaint = f"{key} is {_short(value)}; expected {wanted}"
    if not re.match(pattern, expect_kind(value, str, complaint)):
        raise InvalidValue(complaint)
    return value


def _one_word(text: str) -> str:
    """A number with its unit without blanks: 0.1 N m as 0.1N*m."""
    return re.sub(r"(?<=[A-Za-z)²³])\s+(?=[A-Za-z(])", "*", text).replace(" ", "")


def _short(value: Any) -> str:
    return repr(value)[:80]
