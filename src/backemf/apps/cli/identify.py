"""`backemf check` and `backemf fit`: can these logs answer the question, and what do they answer?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs.benches import Bench
from .inputs.commands import Named
from .inputs.recordings import fit_of, read_logs, with_sets
from .inputs.sources import Firmware, Sets
from .terminal import (
    Force,
    Json,
    Maps,
    Strict,
    Working,
    answer,
    drawable,
    inside,
    keep,
    making,
    option,
    picked,
    place,
    under,
    working,
)

Apply = Annotated[
    bool, option("Mend what a check finds wrong with the recordings and has tried to mend.", "--apply")
]
Only = Annotated[
    list[str] | None,
    option("Exactly these are free, by path: a,b or given several times; nothing of the bench moves either."),
]
Logs = Annotated[list[str], typer.Argument(help="Log files, folders or patterns.")]
StartFrom = Annotated[
    str,
    option(
        "What to start from: a part of the catalogue, an identified set (mx-106/m6), a TOML sheet, a"
        " stored actuator or fit, or a joint of a model (arm.xml#elbow).",
        "--start",
    ),
]


def named_start(name: str, sets: list[str] | None = None) -> tuple[Any, Any, dict[str, float]]:
    """(actuator, its datasheet or None, numbers of the user's own in it) for what --start and --set say."""
    from ...datasheets import parts
    from .inputs.sources import actuator_of, values_of

    is_sheet = name.endswith(".toml") or name.lower() in parts.names()
    actuator = actuator_of(name)[0]
    values = values_of(actuator, sets)
    return actuator.replace(**values), parts.sheet(name) if is_sheet else None, values


def only_paths(given: list[str] | None) -> list[str] | None:
    """["a,b", "c"] -> ["a", "b", "c"]; nothing where nothing was given."""
    return [path.strip() for text in given for path in text.split(",") if path.strip()] if given else None


def check(
    logs: Logs,
    start: StartFrom,
    friction: Annotated[str | None, option("Another friction model than the start's.")] = None,
    only: Only = None,
    bench: Bench = None,
    set: Sets = None,
    command: Named = None,
    map: Maps = None,
    apply: Apply = False,
    strict: Annotated[bool, option("Exit with 1 if the verdict is not 'fit'.", "--strict")] = False,
    json: Json = False,
) -> None:
    """Inspect recordings before a fit: are they sound, and what can they tell?

    Example: backemf check logs/*.json --start mx-106 --friction m4
    """
    from ...identify.check import check as run
    from ...identify.frictions import with_friction
    from .missing import commands

    actuator, sheet, numbers = named_start(start, set)
    recordings = with_sets(read_logs(logs, map, not json, bench, command, source=start), numbers)
    if friction is not None:
        actuator = with_friction(actuator, friction)
    options: dict[str, Any] = {"prior": sheet, "free_paths": only_paths(only)}
    verdict = run(actuator, recordings, **options)
    words = []
    if apply:
        mended = verdict.apply(recordings)
        words = what_was_done(recordings, mended)
        verdict = run(actuator, mended, **options) if words else verdict
    further = commands(start, recordings, verdict, friction=friction, sets=set)

    def content() -> dict[str, Any]:
        columns = "path value unit relative_error from_data determined"
        rows = [picked(p, columns) for p in verdict.parameters]
        counts = picked(verdict, "verdict n_logs n_samples")
        told = {**counts, "parameters": rows, "findings": verdict.findings, "next": further}
        return told | ({"mended": words} if apply else {})

    def text() -> str:
        record = "\n".join(["To record what is missing:", *(f"  {line}" for line in further)])
        parts = (under("Mended", words), str(verdict), record if further else "")
        return "\n\n".join(part for part in parts if part)

    answer(json, content, text)
    if strict and verdict.verdict != "fit":
        raise typer.Exit(1)


def what_was_done(before: list[Any], after: list[Any]) -> list[str]:
    """What mending added to the conversions of each log, a line each."""
    pairs = zip(before, after, strict=True)
    return [f"{new.name}: {words}" for old, new in pairs for words in new.conversions[len(old.conversions) :]]


def best_so_far(say: Working) -> Callable[[str, float, float], None]:
    """A fit's progress in words."""
    return lambda text, cost, share: say(text, share)


def parse_hold_out(texts: list[str] | None) -> list[Any] | None:
    """["gain=8", "length=0.07"] or ["gain=8,length=0.07"] -> selections; each is held out."""
    parts = [part.strip() for text in texts or () for part in text.split(",")]
    return [_selection(part) for part in parts if part] or None


def _selection(text: str) -> str | dict[str, Any]:
    from ...errors import InvalidValue

    key, equals, value = text.partition("=")
    try:
        return {key: value if key == "name" else float(value)} if equals else text
    except ValueError:
        wanted = "expected a number behind the =, as in gain=8"
        raise InvalidValue(f"--hold-out is {text!r}; {wanted}") from None


def fit(
    logs: Logs,
    start: StartFrom,
    friction: Annotated[
        str | None,
        option(
            "coulomb, stribeck, torque-proportional, m3 to m6, dahl, maxwell-slip, lugre, load-lugre;"
            " or ladder for all."
        ),
    ] = None,
    free: Annotated[
        list[str] | None,
        option("Parameters to free, by path, beside the usual ones. May be given several times."),
    ] = None,
    only: Only = None,
    hold_out: Annotated[
        list[str] | None, option("Logs to judge on: gain=8, length=0.07, mass=0.3, or a name pattern.")
    ] = None,
    bench: Bench = None,
    set: Sets = None,
    command: Named = None,
    map: Maps = None,
    apply: Apply = False,
    starts: Annotated[int, option("How many starts at most.")] = 6,
    seed: Annotated[int, option("Seed of the random starts.")] = 0,
    on: Annotated[
        str, option("cpu, or gpu: thousands of starts are scored on an NVIDIA GPU, the best are taken.")
    ] = "cpu",
    robot: Annotated[
        Path | None, option("The recordings are of a robot with this MJCF or URDF: fit every joint.")
    ] = None,
    share: Annotated[
        list[str] | None,
        option("Of a robot: what joints of equal hardware have in common. The motor, unless given."),
    ] = None,
    firmware: Firmware = None,
    gains: Annotated[
        Path | None, option('Of a robot: its PD gains in a JSON file, {"kp": ..., "kd": ...} [N m/rad].')
    ] = None,
    joints: Annotated[
        str | None, option("Of a robot: joints to fit, as a,b; all but grippers, unless given.")
    ] = None,
    ground: Annotated[
        float | None, option("Of a robot: the height of its table or floor [m]; found, unless given.")
    ] = None,
    free_inertia: Annotated[
        str | None,
        option("Of a robot: how far masses and lengths of its model may be off, as in 10%; as stated, else."),
    ] = None,
    plot: Annotated[
        Path | None, place("Draw recorded and predicted into this file (.png, .svg, .pdf, .html).", "--plot")
    ] = None,
    output: Annotated[Path | None, place("Store the fit here as JSON.")] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Fit an actuator to recordings, with an error on every number; with --robot, that of every joint.

    Example: backemf fit logs/*.json --start mx-106 --friction m6 --hold-out gain=8 -o fit.json
    """
    if robot is not None:
        from .robot_fit import fit_robot

        return fit_robot(
            logs,
            robot,
            start=start,
            friction=friction,
            free=free,
            hold_out=hold_out,
            map=map,
            seed=seed,
            share=share,
            firmware=firmware,
            gains=gains,
            joints=joints,
            ground=ground,
            free_inertia=free_inertia,
            output=output,
            force=force,
            strict=strict,
            json=json,
        )
    from ...errors import InvalidValue
    from ...identify.check import inspection
    from ...identify.fit import fit as run
    from ...identify.ladder import ladder
    from ...logs.log import actuator_and_logs

    output = inside(output, "fit.json")
    keep(output, force)
    drawable(plot, force)
    exactly = only_paths(only)
    if exactly and free:
        raise InvalidValue(
            f"--only and --free are given; --only names all that is free: add {', '.join(free)}"
        )
    actuator, sheet, numbers = named_start(start, set)
    recordings = with_sets(read_logs(logs, map, not json, bench, command, source=start), numbers)
    given = actuator_and_logs("fit", actuator, recordings)
    _, looked = inspection(*given, free_paths=exactly, prior=sheet)
    recordings, read = looked.mended if apply else looked.logs, recordings
    words = what_was_done(read, recordings)
    freed = free or []
    late = "drive.delay" in (exactly or freed)
    options: dict[str, Any] = {
        "prior": sheet,
        "hold_out": parse_hold_out(hold_out),
        "n_starts": starts,
        "seed": seed,
        "on": on,
        "also": [path for path in freed if path != "drive.delay"],
        "delay": late,
    }
    if exactly is not None:  # not even the bench and the clock may move
        exactly = [path for path in exactly if path != "drive.delay"]
        options |= {"free_paths": exactly, "tolerances": False, "offset": False}
    steps = None
    with working("fitting", not json) as say:
        options["progress"] = best_so_far(say)
        if friction == "ladder":
            steps = ladder(actuator, recordings, **options)
            fitted = steps.fit
        else:
            fitted = run(actuator, recordings, friction=friction, **options)
    fitted = fitted if fitted.name else replace(fitted, name=_name(start))
    if output is not None:
        with making(output):
            fitted.write(output, force=force)
    if plot is not None:
        _draw(fitted, recordings, plot, force)

    def content() -> dict[str, Any]:
        done = {"mended": words} if apply else {}
        return fitted.to_dict() | done | ({"ladder": _ladder(steps)} if steps is not None else {})

    def text() -> str:
        parts = (under("Mended", words), "" if steps is None else str(steps), str(fitted))
        return "\n\n".join(part for part in parts if part)

    answer(json, content, text, fitted.findings, strict, [output, plot])


def _name(start: str) -> str:
    """What a start calls its servo: a stored fit's own name, or the name it is known by."""
    stored = fit_of(start)
    if stored is not None:
        return stored.name
    return Path(start).stem if start.endswith((".json", ".toml")) else start


def _draw(fitted: Any, logs: list[Any], path: Path, force: bool) -> None:
    from ..report.figures import draw
    from ..report.figures.fit import predictions

    made = f"{fitted.friction} friction, {len(fitted.parameters)} numbers fitted"
    draw.save(predictions(fitted, logs, "Recorded and predicted"), path, note=f"{made}.", force=force)


def _ladder(steps: Any) -> list[dict[str, Any]]:
    return [
        {
            "friction": r.name,
            "held_out_mae": r.held_out if r.fit is not None else None,
            "n_parameters": len(r.fit.parameters) if r.fit else None,
            "chosen": r.name == steps.chosen,
            "reason": r.reason,
        }
        for r in steps.rungs
    ]
