"""`backemf render`: a film of a bench, the recording as a ghost behind the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .exports import Source
from .terminal import Json, Maps, print_json, working


def _size(text: str) -> tuple[int, int]:
    """ "960x540" -> (960, 540)."""
    from ..errors import InvalidValue

    width, cross, height = text.lower().partition("x")
    if not (cross and all(side.isdecimal() and len(side) < 6 for side in (width, height))):
        raise InvalidValue(f"--size is {text!r}; expected width x height in pixels, as in 960x540")
    return int(width), int(height)


def _bench(text: str) -> Any:
    """ "pendulum,mass=0.5,length=0.1" -> that bench."""
    from ..errors import InvalidValue, UnknownName
    from ..model.bench import BENCHES

    name, *given = (word.strip() for word in text.split(","))
    if name not in BENCHES:
        raise UnknownName("bench", name, BENCHES)
    fields = {}
    for one in given:
        key, _, value = one.partition("=")
        try:
            fields[key.strip()] = float(value)
        except ValueError:
            raise InvalidValue(
                f"--bench has {one!r}; expected a number in SI behind the =, as in mass=0.5"
            ) from None
    return BENCHES[name](**fields)


def _source(text: str) -> Any:
    """A stored fit as it is (its bench is known better), anything else as an actuator."""
    from .exports import actuator_of

    actuator, notes = actuator_of(text)
    if notes and notes[0].startswith("fit: "):
        from ..data.fit import Fit

        return Fit.read(text)
    return actuator


def render(
    source: Source,
    log: Annotated[str, typer.Option("--log", help="The recording, of any format that can be read.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The film: a file that ends in .mp4 or .gif.")
    ],
    engine: Annotated[
        str,
        typer.Option(
            "--engine", help="Where the model's motion comes from: backemf, or mujoco to replay its export."
        ),
    ] = "backemf",
    speed: Annotated[float, typer.Option("--speed", help="1 is real time, 0.5 half of it.")] = 1.0,
    fps: Annotated[
        float | None, typer.Option("--fps", help="Pictures per second; without it 30, or 20 in a gif.")
    ] = None,
    size: Annotated[str, typer.Option("--size", help="Width x height in pixels, both even.")] = "960x540",
    between: Annotated[
        tuple[float, float] | None,
        typer.Option("--between", help="Show only this part of the recording [s]."),
    ] = None,
    bench: Annotated[
        str | None,
        typer.Option(
            "--bench",
            help="What the output carried, where the log does not say: pendulum,mass=0.5,length=0.1 in SI.",
        ),
    ] = None,
    map: Maps = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the film if it exists.")] = False,
    json: Json = False,
) -> None:
    """Film a bench: the model in motion, the recording as a ghost behind it, and their curves.

    Example: backemf render fit.json --log logs/lift.json -o lift.mp4 --speed 0.5
    """
    from ..data.logs.read import read
    from ..errors import InvalidValue
    from ..film.film import film, writable

    writable(output, force)
    wanted = _size(size)
    logs = read(log, bench=_bench(bench) if bench else None, map=map or None, between=between)
    if len(logs) != 1:
        raise InvalidValue(
            f"{log} holds {len(logs)} recordings: {', '.join(one.name for one in logs[:8])}; a film shows"
            " one, so name one file"
        )
    with working("drawing", not json) as say:

        def note(done: int, total: int) -> None:
            say("drawing", done / total)

        made = film(
            _source(source),
            logs[0],
            output,
            engine=engine,
            name=_name(source),
            speed=speed,
            fps=fps,
            size=wanted,
            force=force,
            progress=note,
        )
    if json:
        print_json(made.to_dict())
        return
    unit = "mrad" if logs[0].motion == "rotary" else "mm"
    typer.echo(
        f"wrote {made.file}: {made.frames} pictures, {made.duration:.3g} s at {made.fps:.3g} per second; RMS"
        f" {1e3 * made.rms:.3g} {unit}"
    )


def _name(source: str) -> str:
    return Path(source).name if source.endswith((".json", ".toml")) else source
