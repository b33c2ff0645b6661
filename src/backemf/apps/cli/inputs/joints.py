"""Which joints of a model get which actuators: --joint, --joints, or a model as the source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def by_joint(
    source: str | None, joint: list[str] | None, joints: Path | None, into: Path | None
) -> dict[str, str]:
    """Joint, or pattern of joints -> source of its actuator."""
    from ....errors import InvalidValue, MissingValue

    rows: dict[str, str] = {} if joints is None else _mapping(joints)
    if into is not None and source is not None and not (joint or joints):
        rows = _all_of(source)
        if rows:
            return rows
    for words in joint or ([] if rows else ["joint"]):
        pattern, equals, name = words.partition("=")
        if not equals and source is None:
            raise MissingValue(
                f"--joint {words!r} has no actuator; give one before --to, or as --joint '{words}=SOURCE'"
            )
        rows[pattern] = name if equals else str(source)
    if source is not None and source not in rows.values():
        raise InvalidValue(
            f"{source!r} was given, and every --joint names a source of its own; drop one of them"
        )
    if into is None and len(rows) != 1:
        raise InvalidValue(
            f"{len(rows)} joints were given; expected one, or --into with a model that has them"
        )
    return rows


def robot_of(source: str | None, joint: Any, joints: Any, asked: Mapping[str, Any]) -> Any:
    """The fit of a robot that a source is, where all its joints are meant; None for anything else."""
    from ....errors import InvalidValue
    from .recordings import fit_of

    if source is None or joint or joints or not source.endswith(".json"):
        return None
    fit = fit_of(source)
    if fit is None or not fit.joints:
        return None
    usual = {"ratio": 1.0, "motors": 1}
    given = [word for word, value in asked.items() if value != usual.get(word)]
    if given:
        raise InvalidValue(
            f"--{given[0].rstrip('s')} changes one actuator, and {source} has {len(fit.joints)}; expected"
            " --joint with one of them"
        )
    return fit


def all_of(fit: Any, source: str | None) -> dict[str, str]:
    """Every joint of a robot's fit, by name."""
    return {name: f"{source}#{name}" for name in fit.joints}


def _all_of(source: str) -> dict[str, str]:
    """Every actuator of a model, each for the joint that it drives there; nothing for any other source."""
    from ....targets.mujoco.source import joints
    from ....targets.sources import is_model, split

    path, name = split(source)
    if not is_model(source):
        return {}
    all_ = {joint: f"{path}#{actuator}" for joint, actuator in joints(path).items()}
    return {k: v for k, v in all_.items() if name is None or name in (k, v.rpartition("#")[2])}


def _mapping(path: Path) -> dict[str, str]:
    import tomllib

    from ....errors import InvalidValue

    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidValue(f"--joints {str(path)!r} cannot be read as TOML: {error}") from None
    if not rows or not all(isinstance(name, str) for name in rows.values()):
        raise InvalidValue(f'{path.name}: expected lines such as "shoulder_.*" = "sts3215-12v"')
    return rows
