"""Recordings from a command line, with what was said of them: channels, bench, command, settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..terminal import working

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A number that held while it was recorded, by its path: drive.proportional=16,"
        " drive.supply=7.4V. May be repeated.",
    ),
]


def read_logs(
    files: list[str],
    maps: list[str] | None = None,
    shown: bool = True,
    bench: str | None = None,
    command: str | None = None,
    *,
    source: Any = None,
    robot: Any = None,
    **more: Any,
) -> list[Any]:
    """Logs as they were told to be read; where the source is a stored fit, otherwise as it read its own; on a
    robot, where one is given. `more` are further options of `be.read`."""
    from ....logs.read import read
    from ....results.reread import read_again

    told = {**told_of(bench, command), **more, **({} if robot is None else {"bench": robot})}
    fit = fit_of(source)
    with working("reading", shown) as say:
        if fit is not None:
            return read_again(fit, *files, map=maps or None, progress=say, **told)
        return read(*files, map=maps or None, progress=say, **told)


def told_of(bench: str | None, command: str | None) -> dict[str, Any]:
    """--bench and --command as `be.read` takes them; what was not given is left out."""
    from .benches import bench_of
    from .commands import command_of

    told: dict[str, Any] = {} if bench is None else {"bench": bench_of(bench)}
    return told | ({} if command is None else {"command": command_of(command)})


def fit_of(source: Any) -> Any:
    """The stored fit that a source is or names; None where it is something else."""
    from ....errors import BackemfError
    from ....results.fit import Fit

    if isinstance(source, Fit) or source is None:
        return source
    try:
        return Fit.read(source) if str(source).endswith(".json") else None
    except BackemfError:
        return None


def with_sets(logs: list[Any], values: dict[str, float]) -> list[Any]:
    """Logs that say another number than the one that was typed, corrected: what is typed comes first."""
    from dataclasses import replace

    made = []
    for log in logs:
        other = {p: v for p, v in values.items() if p in log.settings and log.settings[p] != v}
        words = ", ".join(f"{p} = {v:g}" for p, v in other.items())
        done = (*log.conversions, f"settings as told: {words}")
        made.append(replace(log, settings={**log.settings, **other}, conversions=done) if other else log)
    return made


def settings_of(sets: list[str] | None, actuator: Any = None) -> dict[str, float]:
    """What `--set` says of recordings: path=number, with a unit where an actuator is known to have it."""
    from ....errors import InvalidValue
    from ....targets.sourcing import set_values

    if actuator is not None:
        return {
            path: value
            for path, value in set_values(actuator, sets).items()
            if actuator.replace(**{path: value})
        }
    settings = {}
    for text in sets or ():
        path, _, number = (word.strip() for word in text.partition("="))
        try:
            settings[path] = float(number)
        except ValueError:
            wanted = "expected PATH=NUMBER in SI, such as drive.proportional=16"
            raise InvalidValue(f"--set is {text!r}; {wanted}") from None
    return settings
