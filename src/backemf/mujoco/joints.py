"""Which joints of a model a name or a regular expression means, and whose actuator each of them gets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeVar

from ..errors import InvalidValue, UnknownName

T = TypeVar("T")


def matched(pattern: str, names: Collection[str], where: str, also: Collection[str] = ()) -> list[str]:
    """The joints that a pattern means: one by its name, or those that it fits as a regular expression. `also`
    are joints that only their own name means."""
    if pattern in names or pattern in also:
        return [pattern]
    try:
        found = [name for name in names if re.fullmatch(pattern, name)]
    except re.error as error:
        raise InvalidValue(f"--joint {pattern!r} is no joint and no regular expression: {error}") from None
    if not found:
        raise UnknownName(f"joint in {where}", pattern, {*names, *also})
    return found


def by_joint(
    wanted: Iterable[str], names: Collection[str], where: str, also: Collection[str] = ()
) -> dict[str, str]:
    """Joint -> the pattern that decides over it, in the order of the patterns: its own name before any
    regular
    expression, and a later one before an earlier."""
    patterns = [*wanted]
    meant = {pattern: matched(pattern, names, where, also) for pattern in patterns}
    deciding = {joint: pattern for pattern in patterns for joint in meant[pattern]}
    return {joint: joint if joint in patterns else pattern for joint, pattern in deciding.items()}
