"""A finding: something true and noteworthy about a model, a sheet, a log or a fit,
with what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import UnknownName
from .finding_codes import FINDINGS


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`code` is stable and meant for programs, `text` says what was found with its numbers,
    `remedy` what helps. A code that `FINDINGS` does not know is refused."""

    code: str
    text: str
    remedy: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    logs: tuple[str, ...] = ()
    """Names of the logs it is about, where it is about single ones."""

    def __post_init__(self) -> None:
        if self.code not in FINDINGS:
            raise UnknownName("finding", self.code, FINDINGS)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in every `--json` and stored file."""
        said = {"code": self.code, "text": self.text, "remedy": self.remedy, "numbers": dict(self.numbers)}
        return said | ({"logs": list(self.logs)} if self.logs else {})

    def __str__(self) -> str:
        return f"{self.code}: {self.text} Remedy: {self.remedy}"


def finding(code: str, text: str, remedy: str, **numbers: float) -> Finding:
    """A finding in one call.

    Args:
        code: a row of `FINDINGS`.
        text: what was found, with its numbers.
        remedy: what helps.
        numbers: for programs, by name.

    Returns:
        The finding.

    Raises:
        UnknownName: the code is no row of `FINDINGS`.
    """
    return Finding(code=code, text=text, remedy=remedy, numbers=numbers)
