"""What a form says, read key by key: a choice from a list, a file of the project, or harmless text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import InvalidValue, MissingValue, UnknownName
from .workspace import Project, Workspace, folders

PART = re.compile(r"^[A-Za-z0-9][A-Za-z0-9.\-]*(/[A-Za-z0-9\-]+)?$")
WORD = re.compile(r"^[A-Za-z0-9_.][A-Za-z0-9_.\- ]{0,79}$")
QUANTITY = re.compile(r"^[0-9.+\-][A-Za-z0-9.+\-*/^() °%]{0,79}$")


@dataclass
class FormReader:
    """What a form says, read key by key; a key that nobody reads is an error."""

    content: dict[str, Any]
    project: Project
    workspace: Workspace
    read: set[str] = field(default_factory=lambda: {"command"})

    def get(self, key: str) -> Any:
        self.read.add(key)
        value = self.content.get(key)
        return None if value in ("", [], {}) else value

    def text(self, key: str, pattern: re.Pattern[str], wanted: str) -> str | None:
        value = self.get(key)
        return None if value is None else self._match(key, value, pattern, wanted)

    def texts(self, key: str, pattern: re.Pattern[str], wanted: str) -> list[str]:
        values = self.get(key) or []
        if not isinstance(values, list) or len(values) > 200:
            raise InvalidValue(f"{key} is {_short(values)}; expected a list such as [{wanted}]")
        return [self._match(key, value, pattern, wanted) for value in values]

    def _match(self, key: str, value: Any, pattern: re.Pattern[str], wanted: str) -> str:
        if not isinstance(value, str) or not pattern.match(value):
            raise InvalidValue(f"{key} is {_short(value)}; expected {wanted}")
        return value

    def choice(self, key: str, valid: Sequence[str]) -> str | None:
        value = self.get(key)
        if value is not None and value not in valid:
            raise UnknownName(key, bare(value), valid)
        return value

    def flag(self, key: str) -> bool:
        return self.get(key) is True

    def number(self, key: str, low: float, high: float) -> str | None:
        value = self.get(key)
        if value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if isinstance(value, bool) or not low <= number <= high:
            raise InvalidValue(f"{key} is {_short(value)}; expected a number from {low:g} to {high:g}")
        return f"{number:.12g}"

    def file(self, key: str) -> str | None:
        """A file or an uploaded folder of the project, by the name that it has here."""
        value = self.get(key)
        return None if value is None else self._known_file(key, value)

    def files(self, key: str) -> list[str]:
        values = self.get(key) or []
        if not isinstance(values, list) or len(values) > self.workspace.limits.project_files:
            raise InvalidValue(f"{key} is {_short(values)}; expected a list of files")
        if not values:
            raise MissingValue("no file is chosen; choose at least one recording above")
        return [self._known_file(key, value) for value in values]

    def _known_file(self, key: str, value: Any) -> str:
        if isinstance(value, str) and (value in self.project.files or value in folders(self.project)):
            return value
        raise MissingValue(f"{key}: there is no file {_short(value)} in this project; upload it first")

    def source(self, key: str) -> str | None:
        """A part of the catalogue, a file, or a joint of a model: `arm.xml#elbow`."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, str):
            name, mark, joint = value.partition("#")
            if name in self.project.files and (not mark or WORD.match(joint)):
                return value
            if PART.match(value):
                return value
        wanted = "a part of the catalogue such as sts3215-7.4v, or a file of this project"
        raise InvalidValue(f"{key} is {_short(value)}; expected {wanted}")

    def bench(self, key: str = "bench") -> str | None:
        """A bench from the words of a form: {"kind": "pendulum", "mass": "0.2 kg"}."""
        from ...physics.bench import BENCHES
        from ...physics.quantity import quantities_of

        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, dict) or value.get("kind") not in BENCHES:
            raise UnknownName("bench", bare(value), BENCHES)
        kind = value["kind"]
        known = quantities_of(BENCHES[kind])
        words = [kind]
        for name, number in value.items():
            if name == "kind" or number in ("", None):
                continue
            if name not in known:
                raise UnknownName(f"word of {kind}", bare(name), known)
            text = str(number).strip()
            if not QUANTITY.match(text):
                raise InvalidValue(
                    f"{name} is {_short(text)}; expected a number with its unit, such as 0.2 kg"
                )
            words.append(f"{name}={text.replace(' ', '')}")
        return " ".join(words)

    def refuse_unread(self) -> None:
        """Refuse what nobody asked for."""
        left = sorted(set(self.content) - self.read)
        if left:
            raise UnknownName("word of this command", bare(left[0]), self.read)


def _short(value: Any) -> str:
    return repr(value)[:80]


def bare(value: Any) -> str:
    return value[:60] if isinstance(value, str) else _short(value)
