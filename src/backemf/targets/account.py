"""The account of an export: what was dropped or approximated at what cost, what was moved to make up for it,
and the header in which a file says so."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .. import __version__
from ..findings import Finding

if TYPE_CHECKING:
    from .export import Request

NOT_RUN = "Not run in a simulator."
"""The line of a header that says what was run, before anything was."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Something the actuator has and the target has not, or only nearly."""

    path: str
    text: str
    """What became of it."""
    error: float | None = None
    """RMS difference in position [rad or m] over the reference motions:
    of leaving it out where dropped, of the whole export where approximated."""
    worst: float | None = None
    """Largest difference [rad or m]."""
    unit: str = "rad"
    """Of both."""

    def __str__(self) -> str:
        if self.error is None:
            return f"{self.path}: {self.text}; its cost shows in a replay only"
        return (
            f"{self.path}: {self.text}; {1e3 * self.error:.3g} m{self.unit} RMS, at most"
            f" {1e3 * (self.worst or 0.0):.3g} m{self.unit}"
        )


def moved(
    before: Mapping[str, float], after: Mapping[str, float], units: Mapping[str, str]
) -> tuple[str, ...]:
    """Numbers that differ, in words: "kp 60 -> 51.9 N m/rad"."""
    return tuple(
        f"{name} {a:.4g} -> {after[name]:.4g} {units.get(name, '')}".rstrip()
        for name, a in before.items()
        if name in after and not math.isclose(a, after[name], rel_tol=1e-6, abs_tol=1e-12)
    )


class Account(NamedTuple):
    """What was lost, and over which motions that was measured."""

    dropped: tuple[Effect, ...] = ()
    approximated: tuple[Effect, ...] = ()
    range: str = ""
    adjusted: tuple[str, ...] = ()
    """Numbers that were moved from their closed forms to make up for what was lost, each in words."""


NOTHING_LOST = Account()


def header(
    request: Request, units: str, account: Account = NOTHING_LOST, findings: Sequence[Finding] = ()
) -> list[str]:
    """Lines for the top of a file: who wrote it, units, what was lost at what cost,
    where the numbers came from."""
    version = "" if request.version == "any" else f" {request.version}"
    today, lossy = datetime.date.today().isoformat(), bool(account.dropped or account.approximated)
    lines = [f"Written by backemf {__version__} on {today} for {request.target}{version}.", f"Units: {units}"]
    lines += [f"Dropped: {effect}" for effect in account.dropped]
    lines += [f"Approximated: {effect}" for effect in account.approximated]
    lines += [f"Adjusted: {text}" for text in account.adjusted]
    lines += [] if lossy else ["Nothing was dropped or approximated."]
    lines += [f"Measured over: {account.range}"] if account.range and lossy else []
    lines += [f"Finding: {finding}" for finding in (*request.findings, *findings)]
    lines.append(NOT_RUN)
    return lines + [f"From: {note}" for note in request.notes]


def xml_comment(lines: Sequence[str]) -> str:
    """Lines as an XML comment; two hyphens in a row are not allowed inside one."""
    inside = "\n".join(f"  {line}" for line in lines)
    while "--" in inside:
        inside = inside.replace("--", "- -")
    return f"<!--\n{inside}\n-->\n"


def hash_comment(lines: Sequence[str]) -> str:
    return "".join(f"# {line}\n" for line in lines)


def number(value: float) -> str:
    """Every digit, and no trailing '.0' where there is nothing behind the point."""
    text = repr(float(value))
    return text.removesuffix(".0")
