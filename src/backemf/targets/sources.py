"""Where an actuator may come from: a stored one or a fit, a part of the catalogue, a BAM file, a joint of an
MJCF model, a configuration of Isaac Lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import store
from ..bounds import json_of
from ..datasheets import parts
from ..errors import InvalidValue, MissingValue, UnknownName
from ..physics.actuator import Actuator
from ..registry import Registry
from ..results.fit_result import Fit
from ..results.population import Population

MODELS = (".xml", ".mjcf")
"""Endings of MJCF models."""


class ActuatorSource(NamedTuple):
    """An actuator that was read, where its numbers came from, and its joint where the source names one."""

    actuator: Actuator
    notes: tuple[str, ...]
    joint: str | None = None
    options: Mapping[str, Any] = {}
    """Of an export, where the source says them and nobody else: BAM's name of it."""


class SourceReader(NamedTuple):
    """A row of the table of sources: files with these endings, and how an actuator is read from one."""

    suffixes: tuple[str, ...]
    read: Callable[[Path, str | None, str | None], ActuatorSource]
    """Of the file, the name behind its #, and a hint where there is none."""
    several: bool = False
    """Whether a file may hold several actuators: the one meant stands behind a #."""


def split(source: Path | str) -> tuple[Path, str | None]:
    """The file, and the joint or actuator behind its #: `arm.xml#elbow`."""
    head, sharp, name = str(source).rpartition("#")
    if not sharp or Path(source).is_file() or (reader := _reader_of(Path(head))) is None:
        return Path(source), None
    if not reader.several:
        raise one_alone(source, head)
    if not name:
        raise InvalidValue(f"{str(source)!r} names nothing behind the #; expected a joint or an actuator")
    return Path(head), name


def _reader_of(path: Path) -> SourceReader | None:
    """The row for a file's ending; other packages are asked about files that are there and not ours."""
    names = SOURCES.own_names
    if path.suffix and path.is_file() and not path.name.lower().endswith(_own_endings()):
        names = SOURCES.other_names
    rows = (SOURCES[name] for name in names)
    return next((row for row in rows if path.name.lower().endswith(row.suffixes)), None)


def _own_endings() -> tuple[str, ...]:
    return tuple(suffix for row in SOURCES.own().values() for suffix in row.suffixes)


def one_alone(source: Path | str, head: Path | str) -> InvalidValue:
    """Somebody named one of several actuators in a file that has one."""
    return InvalidValue(f"{str(source)!r}: {Path(head).name} holds one actuator; expected no # behind it")


def is_model(source: Path | str) -> bool:
    """Whether a source is an MJCF model, or a joint of one."""
    return split(source)[0].suffix.lower() in MODELS


def read(source: Path | str, hint: str | None = None) -> ActuatorSource:
    """An actuator from whatever holds one. `hint` helps to choose where a model has several and the source
    itself names none."""
    path, name = split(source)
    reader = _reader_of(path)
    if reader is None:
        return ActuatorSource(_sheet(source), (f"catalogue: {path}",))
    return reader.read(path, name, hint)


def _model(path: Path, name: str | None, hint: str | None) -> ActuatorSource:
    from .mujoco import mjcf_source as mjcf

    source = mjcf.read(path, name, hint)
    return ActuatorSource(source.actuator, source.notes, source.joint)


def _configuration(path: Path, name: str | None, hint: str | None) -> ActuatorSource:
    from . import isaaclab

    actuator = isaaclab.read(path, name, hint)
    return ActuatorSource(actuator.actuator, actuator.notes, actuator.joint)


def _datasheet(path: Path, name: str | None, hint: str | None) -> ActuatorSource:
    return ActuatorSource(_sheet(path), (f"datasheet: {path.name}",))


def _json(path: Path, name: str | None, hint: str | None) -> ActuatorSource:
    content = _content(path)
    keys = content if isinstance(content, dict) else {}
    if keys.get("noun") == "Fit" and (joint := _joint(path, name, hint)):
        return joint
    if name is not None:
        raise one_alone(f"{path}#{name}", path)
    if "backemf" not in keys and "kt" in keys:
        return _bam(str(path))
    if keys.get("noun") == "Population":
        shared = Population.read(path)
        return ActuatorSource(shared.actuator, (f"the middle of {shared.n_units} units: {path.name}",))
    if keys.get("noun") == "Fit":
        fit = Fit.read(path)
        return ActuatorSource(
            fit.actuator, (f"fit: {path.name}", *fit.summary()), options={"q_offset": fit.zero}
        )
    return ActuatorSource(_read_stored(path), (f"actuator: {path.name}",))


def _joint(path: Path, name: str | None, hint: str | None) -> ActuatorSource | None:
    """A joint of a robot's fit; None where it is one servo's."""

    fit = Fit.read(path)
    if not fit.joints:
        return None
    wanted = name or (hint if hint in fit.joints else None)
    if wanted is None:
        raise MissingValue(
            f"{path.name} has {len(fit.joints)} joints ({', '.join(fit.joints)}); say which one, as"
            f" {path.name}#{next(iter(fit.joints))}"
        )
    if wanted not in fit.joints:
        raise UnknownName(f"joint of {path.name}", wanted, fit.joints)
    one = fit.joints[wanted]
    return ActuatorSource(one.actuator, (f"fit: {path.name}, {wanted}", *one.summary()), wanted)


def _content(path: Path) -> Any:
    """A JSON file's content; None where it is none, which whoever reads it says."""
    try:
        return json_of(path)
    except FileNotFoundError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError, RecursionError):
        return None


def _bam(file: str) -> ActuatorSource:
    from . import bam

    actuator = bam.read(file)
    notes = [f"BAM parameters {Path(file).name}, model {actuator.model} of {actuator.name}"]
    if actuator.offset is not None:
        notes.append(f"q_offset {actuator.offset:g} rad of the recordings is not part of the actuator")
    options: dict[str, Any] = {"q_offset": actuator.offset}
    if actuator.name in bam.FIRMWARE:
        options["bam_name"] = actuator.name
    return ActuatorSource(actuator.actuator, tuple(notes), options=options)


def _read_stored(path: Path | str) -> Actuator:
    """The actuator of a stored actuator, fit or population."""
    noun = store.load(store.read_json(path), str(path))
    if isinstance(noun, (Fit, Population)):
        return noun.actuator
    if not isinstance(noun, Actuator):
        raise store.StoreError(
            f"{path} holds a {type(noun).__name__}; expected an Actuator, a Fit or a Population"
        )
    return noun


def _sheet(source: Path | str) -> Actuator:
    """The actuator of a part of the catalogue, a datasheet in TOML, or an identified set "part/set"."""
    text = str(source)
    part, slash, _ = text.partition("/")
    if slash and part.lower() in parts.names():
        return parts.identified_actuator(text.lower())
    return parts.sheet(source).actuator()


SOURCES: Registry[SourceReader] = Registry(
    "source",
    {
        "mjcf": SourceReader(MODELS, _model, several=True),
        "isaaclab": SourceReader((".py",), _configuration, several=True),
        "stored": SourceReader((".json",), _json, several=True),
        "datasheet": SourceReader((".toml",), _datasheet),
    },
    group="backemf.sources",
)
"""Files that hold actuators; whatever is none of them is a name of the catalogue."""
