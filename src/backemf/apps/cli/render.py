"""`backemf render`: a film of a bench, the recording as a ghost behind the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs.benches import Bench
from .inputs.commands import Named
from .inputs.recordings import fit_of, read_logs
from .inputs.sources import ActuatorFrom, Sets
from .terminal import Json, Maps, answer, keep, option, place, working


def _size(text: str) -> tuple[int, int]:
    """ "960x540" -> (960, 540)."""
    from ...errors import InvalidValue

    width, cross, height = text.lower().partition("x")
    if not (cross and all(side.isdecimal() and len(side) < 6 for side in (width, height))):
        raise InvalidValue(f"--size is {text!r}; expected width x height in pixels, as in 960x540")
    return int(width), int(height)


def _fit_or_actuator(text: str, sets: list[str] | None) -> Any:
    """A stored fit as it is (its bench is known better), anything else as an actuator; with numbers of the
    user's own."""
    from dataclasses import replace

    from ...targets.sourcing import set_values
    from .inputs.sources import actuator_of

    actuator = actuator_of(text)[0]
    actuator = actuator.replace(**set_values(actuator, sets))
    fit = fit_of(text)
    return actuator if fit is None else replace(fit, actuator=actuator)


def render(
    source: ActuatorFrom,
    output: Annotated[Path, place("The film: a file that ends in .mp4 or .gif.")],
    recording: Annotated[
        str | None, typer.Argument(help="The recording, of any format that can be read.")
    ] = None,
    log: Annotated[str | None, option("The same as an option.")] = None,
    robot: Annotated[
        Path | None, option("A robot's model, where it is not where its fit found it (MJCF).")
    ] = None,
    engine: Annotated[
        str, option("Where the model's motion comes from: backemf, or mujoco to replay its export.")
    ] = "backemf",
    speed: Annotated[float, option("1 is real time, 0.5 half of it.")] = 1.0,
    fps: Annotated[float | None, option("Pictures per second; without it 30, or 20 in a gif.")] = None,
    size: Annotated[str, option("Width x height in pixels, both even.")] = "960x540",
    between: Annotated[
        tuple[float, float] | None, option("Show only this part of the recording [s].")
    ] = None,
    bench: Bench = None,
    set: Sets = None,
    command: Named = None,
    map: Maps = None,
    force: Annotated[bool, option("Overwrite the film if it exists.", "--force")] = False,
    json: Json = False,
) -> None:
    """Film a bench or a robot: the model in motion, the recording as a ghost behind it, and their curves.

    Example: backemf render fit.json logs/lift.json -o lift.mp4 --speed 0.5
    """
    from ...errors import InvalidValue, MissingValue
    from ..film.film import film, writable
    from .report import with_robot

    if (recording is None) == (log is None):
        raise MissingValue("render needs one recording; expected: backemf render SOURCE RECORDING -o FILM")
    log = recording or log or ""
    keep(output, force)
    writable(output, force)
    wanted = _size(size)
    fit = fit_of(source)
    if robot is not None and (fit is None or not fit.joints):
        raise InvalidValue(f"--robot is {str(robot)!r}, and {source} is not the fit of a robot; leave it out")
    if fit is not None and fit.joints:
        if engine != "backemf" or set:
            word = "--set" if set else "--engine"
            raise InvalidValue(f"{word} is for benches; a robot is filmed as its fit simulates it")
        shown = fit if robot is None else with_robot(fit, robot)
    else:
        shown = _fit_or_actuator(source, set)
    logs = read_logs([log], map, not json, bench, command, source=source, between=between)
    if len(logs) != 1:
        names = ", ".join(one.name for one in logs[:8])
        raise InvalidValue(f"{log} holds {len(logs)} recordings: {names}; a film shows one, so name one file")
    looks: dict[str, Any] = {"engine": engine, "speed": speed, "fps": fps, "size": wanted}
    looks["name"] = Path(source).name if source.endswith((".json", ".toml")) else source
    with working("drawing", not json) as say:

        def note(done: int, total: int) -> None:
            say("drawing", done / total)

        made = film(shown, logs[0], output, force=force, progress=note, **looks)
    unit = "mrad" if logs[0].motion == "rotary" else "mm"
    told = (
        f"wrote {made.file}: {made.frames} pictures, {made.duration:.3g} s at {made.fps:.3g} per second; RMS"
        f" {1e3 * made.rms:.3g} {unit}"
    )
    answer(json, made.to_dict, lambda: told)
