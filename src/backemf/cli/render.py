"""`backemf render`: a film of a bench, the recording as a ghost behind the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from .inputs.benches import bench_of
from .inputs.commands import Named, command_of
from .inputs.sources import ActuatorFrom
from .terminal import Json, Maps, answer, keep, option, place, working


def _size(text: str) -> tuple[int, int]:
    """ "960x540" -> (960, 540)."""
    from ..errors import InvalidValue

    width, cross, height = text.lower().partition("x")
    if not (cross and all(side.isdecimal() and len(side) < 6 for side in (width, height))):
        raise InvalidValue(f"--size is {text!r}; expected width x height in pixels, as in 960x540")
    return int(width), int(height)


def _fit_or_actuator(text: str) -> Any:
    """A stored fit as it is (its bench is known better), anything else as an actuator."""
    from .inputs.sources import actuator_of

    actuator, notes = actuator_of(text)
    if notes and notes[0].startswith("fit: "):
        from ..data.fit import Fit

        return Fit.read(text)
    return actuator


def render(
    source: ActuatorFrom,
    log: Annotated[str, option("The recording, of any format that can be read.")],
    output: Annotated[Path, place("The film: a file that ends in .mp4 or .gif.")],
    engine: Annotated[
        str, option("Where the model's motion comes from: backemf, or mujoco to replay its export.")
    ] = "backemf",
    speed: Annotated[float, option("1 is real time, 0.5 half of it.")] = 1.0,
    fps: Annotated[float | None, option("Pictures per second; without it 30, or 20 in a gif.")] = None,
    size: Annotated[str, option("Width x height in pixels, both even.")] = "960x540",
    between: Annotated[
        tuple[float, float] | None, option("Show only this part of the recording [s].")
    ] = None,
    bench: Annotated[
        str | None,
        option('What the output carried, where the log does not say: "pendulum mass=0.5kg length=0.1m".'),
    ] = None,
    command: Named = None,
    map: Maps = None,
    force: Annotated[bool, option("Overwrite the film if it exists.", "--force")] = False,
    json: Json = False,
) -> None:
    """Film a bench: the model in motion, the recording as a ghost behind it, and their curves.

    Example: backemf render fit.json --log logs/lift.json -o lift.mp4 --speed 0.5
    """
    from ..data.logs.read import read
    from ..errors import InvalidValue
    from ..film.film import film, writable

    keep(output, force)
    writable(output, force)
    wanted = _size(size)
    asked = None if command is None else command_of(command)
    logs = read(
        log, bench=bench_of(bench) if bench else None, map=map or None, between=between, command=asked
    )
    if len(logs) != 1:
        names = ", ".join(one.name for one in logs[:8])
        raise InvalidValue(f"{log} holds {len(logs)} recordings: {names}; a film shows one, so name one file")
    looks: dict[str, Any] = {"engine": engine, "speed": speed, "fps": fps, "size": wanted}
    looks["name"] = Path(source).name if source.endswith((".json", ".toml")) else source
    with working("drawing", not json) as say:

        def note(done: int, total: int) -> None:
            say("drawing", done / total)

        made = film(_fit_or_actuator(source), logs[0], output, force=force, progress=note, **looks)
    unit = "mrad" if logs[0].motion == "rotary" else "mm"
    told = (
        f"wrote {made.file}: {made.frames} pictures, {made.duration:.3g} s at {made.fps:.3g} per second; RMS"
        f" {1e3 * made.rms:.3g} {unit}"
    )
    answer(json, made.to_dict, lambda: told)
