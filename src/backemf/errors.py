"""Every deliberate error: one base class, and texts that say what was given,
what was expected and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BackemfError(Exception):
    """Base of every error backemf raises on purpose; the command line prints its text and exits with 2."""


class InvalidValue(BackemfError, ValueError):
    """A number that the physics does not allow."""


MANY = 40
"""Names from which on an error lists the nearest five alone."""


class UnknownName(BackemfError, ValueError):
    """A name that does not exist; the text lists the nearest and the valid ones, or of many the nearest."""

    def __init__(
        self, kind: str, given: object, valid: Iterable[str], listed_by: str = "", *, listed: int = MANY
    ):
        """Args:
        kind: what it is the name of: "part".
        given: the name.
        valid: names that exist.
        listed_by: what lists all of them, where they are many: "`backemf catalog`".
        listed: how many names are listed whole.
        """
        names = sorted(valid)
        longer = [name for name in names if len(str(given)) > 2 and name.startswith(str(given))]
        near = longer[:4] or difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
        many = len(names) > listed
        of = f"of {len(names)} the nearest are" if many else "valid"
        hint = f"; did you mean {' or '.join(map(repr, near))}? {of.capitalize()}" if near else f"; {of}"
        if many:
            others = [*near, *difflib.get_close_matches(str(given), names, n=9, cutoff=0.0)]
            names = [*dict.fromkeys(others)][:5]
        lists = f"; {listed_by} lists all" if many and listed_by else ""
        super().__init__(f"unknown {kind} {given!r}{hint}: {', '.join(names)}{lists}")


class MissingValue(BackemfError, ValueError):
    """A number without which the request has no answer."""


class SignalError(BackemfError, ValueError):
    """A time series that cannot be used: wrong length, not finite, time running backwards."""


class TooLarge(BackemfError, MemoryError):
    """A request whose result would not fit into memory."""


class NotLowered(BackemfError, NotImplementedError):
    """A step that cannot become a compiled loop; the reference engine runs it instead."""


class BackemfWarning(UserWarning):
    """Something was done another way than asked for, or left out; the text says what and why."""


class NotAvailable(BackemfError, RuntimeError):
    """An optional program or package that this request needs is not installed."""
