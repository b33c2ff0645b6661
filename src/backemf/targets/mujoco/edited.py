"""A user's model with new actuators in it, not yet written: its files, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import BackemfError
from ...files import write_all
from ...findings import Finding
from ...tables import table
from ..result import Export
from .moves import Moved


class Together(NamedTuple):
    """All joints of an edited model driven as a recording says; differences from it are RMS [rad or m]."""

    log: str
    before: float | None
    """Of the model as it was."""
    after: float
    """Of the model as it is now."""
    whole: float | None
    """Of the fit itself, with nothing lost."""

    def row(self) -> tuple[str, ...]:
        numbers = (self.before, self.after, self.whole)
        return (self.log, *("-" if x is None else f"{1e3 * x:.3g}" for x in numbers))


@dataclass(frozen=True)
class Edited:
    """The edited files, not yet written."""

    files: dict[Path, bytes]
    changes: tuple[str, ...]
    """What was changed, in words, with the model's old numbers."""
    verified: str
    """How the result was checked."""
    moved: tuple[Moved, ...] = ()
    """How far each joint moves for the same command, before and after."""
    findings: tuple[Finding, ...] = ()
    exports: tuple[Export, ...] = ()
    beside: Mapping[str, str | bytes] = field(default_factory=dict)
    """Files that go into the folder of the result."""
    together: tuple[Together, ...] = ()
    """Of a robot, its joints driven together, by recording."""
    unit: str = "rad"
    placed: tuple[Any, ...] = field(default=(), repr=False)
    """Each joint's new actuator and its old one."""

    @property
    def text(self) -> str:
        """The edited model; of several files, the first that changed."""
        return next(iter(self.files.values())).decode()

    def table(self) -> str:
        """Before and after, for people."""
        rows = [m.row() for m in self.moved]
        parts = [table(rows, ("joint", "command", "moves before", "moves after"))] if rows else []
        if self.together:
            head = (f"recording [m{self.unit} RMS]", "model before", "model after", "the fit itself")
            parts.append(table([one.row() for one in self.together], head))
        return "\n\n".join(parts)

    def off_by(self, which: str = "after") -> float | None:
        """Root mean square over recordings of "before", "after" or "whole"; None where it is not known."""
        values = [getattr(one, which) for one in self.together]
        return None if not values or None in values else float(np.sqrt(np.mean(np.square(values))))

    def write(self, path: Path | str | None = None, *, force: bool = False) -> list[Path]:
        """Write in place (with `force`), or, where only the model itself changes,
        under another name in the same folder."""
        folder = next(iter(self.files)).parent if path is None else Path(path).parent
        beside = {folder / name: content for name, content in self.beside.items()}
        if path is None:
            return write_all({**self.files, **beside}, force=force)
        if len(self.files) != 1:
            raise BackemfError(
                f"{len(self.files)} files change ({', '.join(f.name for f in self.files)}); they can only be"
                " edited in place"
            )
        return write_all({Path(path): next(iter(self.files.values())), **beside}, force=force)
