"""A user's model with other actuators: the edited files, what was changed, and how it was tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...files import write_all
from ...findings import Finding
from ...mujoco.arrays import load_mujoco
from ...mujoco.joint_moves import JointMove
from ...mujoco.xml import compile_edited, relocate
from ...tables import table
from ..result import Export


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
        """For a table, in mrad or mm."""
        numbers = (self.before, self.after, self.whole)
        return (self.log, *("-" if x is None else f"{1e3 * x:.3g}" for x in numbers))


@dataclass(frozen=True)
class EditedModel:
    """The edited files, not yet written."""

    files: dict[Path, bytes]
    changes: tuple[str, ...]
    """What was changed, in words, with the model's old numbers."""
    verified: str
    """How the result was checked."""
    creep: tuple[str, ...] = ()
    """How still each joint holds, as the header of a file of its own says it."""
    moved: tuple[JointMove, ...] = ()
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
    main: Path | None = None
    """The model's own file, which may include those that changed; None: the first that changed."""
    loads: bool = False
    """Whether the installed MuJoCo can load the result by itself."""

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
        """Write the edited model, and load it again before anything takes its place.

        Args:
            path: of the model; included files that changed are copied beside the ones they come from, under
                names of their own that the model then includes. None: every file where it is, with `force`.
            force: overwrite what is there.

        Returns:
            Every file that was written, the model itself first.

        Raises:
            BackemfError: something is there already, or the model does not load from there.
        """
        main = self.main or next(iter(self.files))
        place = main if path is None else Path(path)
        beside = {place.parent / name: content for name, content in self.beside.items()}
        files = self.files if path is None else relocate(main, self.files, place)
        if self.loads and path is not None and place.parent.is_dir():
            compile_edited(load_mujoco(), main, self.files, at=place)
        return write_all({**files, **beside}, force=force)
