"""Whatever has a name: frictions, drives, benches, readers, sources, targets, buses, commands, sections of a
report, codes of findings.

A row is an object, or the text "package.module:name" of one that is loaded when it is first asked for; this
is the only file that loads by name. Other packages add rows through entry points of the registry's group:
docs/extend.md walks through one of each.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from .errors import BackemfWarning, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def load(text: str) -> Any:
    """What "package.module:name" names; a module alone where there is no name behind it.

    Args:
        text: a dotted module of an installed package, with the name of something in it behind a colon.
    """
    module, _, name = text.partition(":")
    loaded: Any = importlib.import_module(module)
    for part in name.split(".") if name else ():
        loaded = getattr(loaded, part)
    return loaded


class Registry(Mapping[str, T]):
    """Rows by name, in the order in which they are listed; rows of other packages stand behind ours.

    A row is loaded when it is asked for. Entry points are looked for when a name is unknown or the rows are
    listed, never at import: to look costs some ten milliseconds. One that cannot be loaded is a warning that
    names its package.
    """

    def __init__(
        self,
        kind: str,
        rows: Mapping[str, T | str],
        *,
        aliases: Mapping[str, str] | None = None,
        group: str | None = None,
        check: Callable[[Any], object] | None = None,
    ) -> None:
        """Args:
        kind: what a row is, in a word, for messages: "friction".
        rows: objects, or "package.module:name" of them.
        aliases: other names of rows: {"m1": "coulomb"}.
        group: of entry points through which other packages add rows: "backemf.targets".
        check: is called with what an entry point gave; whatever it raises makes the row a warning.
        """
        self.kind, self.aliases, self.group = kind, dict(aliases or {}), group
        self._rows: dict[str, T | str] = dict(rows)
        self._check = check
        self.own_names = tuple(self._rows)
        """Names of our own rows."""
        self._looked = group is None

    def __getitem__(self, name: str) -> T:
        known = self.aliases.get(name, name)
        if known not in self._rows:
            self._add_entry_points()
        if known not in self._rows:
            raise UnknownName(self.kind, name, [*self, *self.aliases])
        row = self._rows[known]
        if isinstance(row, str):
            row = self._rows[known] = cast(T, load(row))
        return row

    def __iter__(self) -> Iterator[str]:
        self._add_entry_points()
        return iter(self._rows)

    def __len__(self) -> int:
        self._add_entry_points()
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        if name in self._rows or name in self.aliases:
            return True
        self._add_entry_points()
        return name in self._rows

    def own(self) -> dict[str, T]:
        """Our own rows alone, loaded."""
        return {name: self[name] for name in self.own_names}

    @property
    def other_names(self) -> tuple[str, ...]:
        """Names that other packages added."""
        return tuple(name for name in self if name not in self.own_names)

    def name_of(self, row: T) -> str:
        """The name under which a row stands: ours are looked through first.

        Raises:
            UnknownName: it stands in no row.
        """
        for name in self.own_names:
            if self[name] is row:
                return name
        for name in self.other_names:
            if self[name] is row:
                return name
        raise UnknownName(self.kind, getattr(row, "__name__", row), self)

    def _add_entry_points(self) -> None:
        """Add the rows of other packages, once; a name of ours stays ours."""
        if self._looked or self.group is None:
            return
        self._looked = True
        for point in _entry_points(self.group):
            package = point.dist.name if point.dist else point.value
            try:
                if point.name in self._rows or point.name in self.aliases:
                    raise ValueError("the name is taken")
                row = point.load()
                if self._check is not None:
                    self._check(row)
            except Exception as error:  # whatever a stranger's package raises, ours goes on
                warnings.warn(
                    f"the {self.kind} {point.name!r} of the package {package} cannot be loaded"
                    f" ({type(error).__name__}: {error}); update or remove that package",
                    BackemfWarning,
                    stacklevel=3,
                )
                continue
            self._rows[point.name] = row


def _entry_points(group: str) -> list[EntryPoint]:
    """Those of a group, in the order of their names; of two packages with one name the first counts."""
    from importlib.metadata import entry_points  # costs some milliseconds

    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        points.setdefault(point.name, point)
    return [points[name] for name in sorted(points)]


class Store(Protocol):
    """Reads and writes nouns."""

    def write(self, owner: Any, path: Path | str, *, force: bool = False) -> Path:
        """Store a part or a noun as JSON.

        Args:
            owner: it.
            path: of the file.
            force: overwrite an existing one.

        Returns:
            The file.
        """
        ...


class Sources(Protocol):
    """Reads actuators from whatever holds one."""

    def read(self, source: Path | str, hint: str | None = None) -> Any:
        """An actuator from a file or a name; the hint names the reader."""
        ...


class Figures(Protocol):
    """Draws a noun."""

    def drawing(self, noun: Any, *what: str, **more: Any) -> Any:
        """A figure of a noun, ready to be drawn.

        Args:
            noun: an actuator, a fit, a log, ...
            what: names of figures; none: the usual ones.
            more: what these figures take.

        Returns:
            It has a method `draw(path)`.
        """
        ...


class Robots(Protocol):
    """Reads robots from their models, which takes MuJoCo."""

    def read(self, path: Path | str, **options: Any) -> Any:
        """A robot from its MJCF or URDF."""
        ...


class Signs(Protocol):
    """Asks gravity about the signs of a robot's joints."""

    def find_contradiction(self, robot: Any, logs: Any) -> Any:
        """What gravity says against the signs of a robot's joints; None where it agrees."""
        ...


class Predictions(Protocol):
    """Simulates logs with what a fit found."""

    def predict_motion(self, fit: Any, log: Any) -> Any:
        """A log as the fit says that it must have gone."""
        ...

    def band_of(self, motion: Any) -> Any:
        """Where its recording is to be expected."""
        ...

    def expected_error(self, fit: Any, log: Any) -> Any:
        """How far off the prediction of a log is to be expected."""
        ...


class Services:
    """What lower layers ask of higher ones, by name: nouns read and draw themselves without knowing how."""

    @functools.cached_property
    def store(self) -> Store:
        return load("backemf.store")

    @functools.cached_property
    def sources(self) -> Sources:
        return load("backemf.targets.sources")

    @functools.cached_property
    def figures(self) -> Figures:
        return load("backemf.apps.report.figures.show")

    @functools.cached_property
    def robots(self) -> Robots:
        return load("backemf.mujoco.robot.describe")

    @functools.cached_property
    def signs(self) -> Signs:
        return load("backemf.mujoco.robot.signs")

    @functools.cached_property
    def predictions(self) -> Predictions:
        return load("backemf.identify.predict")


SERVICES = Services()
