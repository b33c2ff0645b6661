"""Templates of files: text in the language of the file itself, with `@name@` where something is filled in,
and lines between `@if name@` and `@end@` that only some files have."""

from __future__ import annotations

import functools
import re
from importlib.resources import files

from ..errors import InvalidValue

PLACE = re.compile(r"^@(\w+)@\n|@(\w+)@", re.MULTILINE)
"""The first alternative is a place that has its line for itself: without a word there is no line."""
PART = re.compile(r"^@if (\w+)@\n(.*?)^@end@\n", re.MULTILINE | re.DOTALL)


@functools.cache
def template(name: str) -> str:
    """The text of a template.

    Args:
        name: Of the file in `targets/templates`, without its ending `.in`.

    Returns:
        The text, with its places.
    """
    return files("backemf.targets").joinpath("templates", f"{name}.in").read_text(encoding="utf-8")


def fill(name: str, /, **words: object) -> str:
    """A template with every place filled in.

    Args:
        name: Of the file in `targets/templates`, without its ending `.in`.
        **words: What stands at each place, and whether the file has a part; what a template has no place for
            is left out.

    Returns:
        The text of a file, or of a part of one.

    Raises:
        InvalidValue: There is no word for a place.
    """

    def word(key: str) -> object:
        if key not in words:
            raise InvalidValue(f"the template {name} has a place for {key}; expected a word for it")
        return words[key]

    def fill_place(place: re.Match[str]) -> str:
        if place[1] is None:
            return str(word(place[2]))
        return f"{word(place[1])}\n" if word(place[1]) else ""

    text = PART.sub(lambda part: part[2] if word(part[1]) else "", template(name))
    return PLACE.sub(fill_place, text)  # in one pass: what is filled in may itself have an @
