"""Where an actuator may come from: a stored one or a fit, a part of the catalogue, a BAM file, a joint of an
MJCF model, a configuration of Isaac Lab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from .. import store
from ..datasheets import parts
from ..errors import InvalidValue, MissingValue, UnknownName
from ..physics.actuator import Actuator
from ..results.fit import Fit
from ..results.population import Population

MODELS = (".xml", ".mjcf")
"""Endings of MJCF models."""
SEVERAL = (*MODELS, ".py")
"""Endings of files that may hold several actuators: the one meant stands behind a #."""


class Source(NamedTuple):
    """An actuator that was read, where its numbers came from, and its joint where the source names one."""

    actuator: Actuator
    notes: tuple[str, ...]
    joint: str | None = None


def split(source: Path | str) -> tuple[Path, str | None]:
    """The file, and the joint or actuator behind its #: `arm.xml#elbow`."""
    head, sharp, name = str(source).rpartition("#")
    if not sharp or Path(source).is_file() or not head.lower().endswith((*SEVERAL, ".json", ".toml")):
        return Path(source), None
    if not head.lower().endswith((*SEVERAL, ".json")):
        raise one_alone(source, head)
    if not name:
        raise InvalidValue(f"{str(source)!r} names nothing behind the #; expected a joint or an actuator")
    return Path(head), name


def one_alone(source: Path | str, head: Path | str) -> InvalidValue:
    """Somebody named one of several actuators in a file that has one."""
    return InvalidValue(f"{str(source)!r}: {Path(head).name} holds one actuator; expected no # behind it")


def is_model(source: Path | str) -> bool:
    """Whether a source is an MJCF model, or a joint of one."""
    return split(source)[0].suffix.lower() in MODELS


def read(source: Path | str, hint: str | None = None) -> Source:
    """An actuator from whatever holds one. `hint` helps to choose where a model has several and the source
    itself names none."""
    path, name = split(source)
    if path.suffix.lower() in MODELS:
        from .mujoco import source as mjcf

        found = mjcf.read(path, name, hint)
        return Source(found.actuator, found.notes, found.joint)
    if path.suffix.lower() == ".py":
        from . import isaaclab

        configured = isaaclab.read(path, name, hint)
        return Source(configured.actuator, configured.notes, configured.joint)
    text = str(path)
    if not text.endswith(".json"):
        note = f"datasheet: {path.name}" if text.endswith(".toml") else f"catalogue: {text}"
        return Source(_sheet(source), (note,))
    content = _content(path)
    if isinstance(content, dict) and content.get("noun") == "Fit" and (joint := _joint(path, name, hint)):
        return joint
    if name is not None:
        raise one_alone(source, path)
    if isinstance(content, dict) and "backemf" not in content and "kt" in content:
        return _bam(text)
    if isinstance(content, dict) and content.get("noun") == "Population":
        shared = Population.read(text)
        return Source(shared.actuator, (f"the middle of {shared.n_units} units: {path.name}",))
    if isinstance(content, dict) and content.get("noun") == "Fit":
        fit = Fit.read(text)
        return Source(fit.actuator, (f"fit: {path.name}", *fit.summary()))
    return Source(_stored(path), (f"actuator: {path.name}",))


def _joint(path: Path, name: str | None, hint: str | None) -> Source | None:
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
    return Source(one.actuator, (f"fit: {path.name}, {wanted}", *one.summary()), wanted)


def _content(path: Path) -> Any:
    """A JSON file's content; None where it is none, which whoever reads it says."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError, RecursionError):
        return None


def _bam(file: str) -> Source:
    from . import bam

    found = bam.read(file)
    notes = [f"BAM parameters {Path(file).name}, model {found.model} of {found.name}"]
    if found.offset is not None:
        notes.append(f"q_offset {found.offset:g} rad of the recordings is not part of the actuator")
    return Source(found.actuator, tuple(notes))


def _stored(path: Path | str) -> Actuator:
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
        return parts.identified(text.lower())
    return parts.sheet(source).actuator()
