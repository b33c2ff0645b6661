"""`backemf check` and `backemf fit`: can these logs answer the question, and what do they answer?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Force, Json, Maps, Strict, Working, end, keep, plain_findings, print_json, working

Logs = Annotated[list[str], typer.Argument(help="Log files, folders or patterns.")]
StartFrom = Annotated[
    str,
    typer.Option(
        "--start",
        help=(
            "What to start from: a part of the catalogue, an identified set (mx-106/m6), a TOML sheet or a"
            " stored actuator."
        ),
    ),
]


def start_of(name: str) -> tuple[Any, Any]:
    """(actuator, its datasheet or None) for what --start names."""
    from ..data.sheets import parts
    from ..data.store import actuator

    is_sheet = name.endswith(".toml") or name.lower() in parts.names()
    return actuator(name), parts.sheet(name) if is_sheet else None


def read_logs(files: list[str], maps: list[str] | None, shown: bool = True) -> list[Any]:
    from ..data.logs.read import read

    with working("reading", shown) as say:
        return read(*files, map=maps or None, progress=say)


def check(
    logs: Logs,
    start: StartFrom,
    friction: Annotated[
        str | None, typer.Option("--friction", help="Another friction model than the start's.")
    ] = None,
    map: Maps = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if the verdict is not 'fit'.")
    ] = False,
    json: Json = False,
) -> None:
    """Inspect recordings before a fit: are they sound, and what can they tell?

    Example: backemf check logs/*.json --start mx-106 --friction m4
    """
    from ..identify.check import check as run
    from ..identify.frictions import with_friction

    recordings = read_logs(logs, map, not json)
    actuator, sheet = start_of(start)
    if friction is not None:
        actuator = with_friction(actuator, friction)
    found = run(recordings, actuator, prior=sheet)
    if json:
        rows = [
            {
                "path": p.path,
                "value": p.value,
                "unit": p.unit,
                "relative_error": p.relative_error,
                "from_data": p.from_data,
                "determined": p.determined,
            }
            for p in found.parameters
        ]
        counts = {"verdict": found.verdict, "n_logs": found.n_logs, "n_samples": found.n_samples}
        print_json({**counts, "parameters": rows, "findings": plain_findings(found.findings)})
    else:
        typer.echo(str(found))
    if strict and found.verdict != "fit":
        raise typer.Exit(1)


def best_so_far(say: Working) -> Callable[[str, float, float], None]:
    """A fit's progress in words."""
    return lambda text, cost, share: say(f"fitting, {text}; cost {cost:.6g}", share)


def parse_hold_out(text: list[str] | None) -> Any:
    """["gain=8", "length=0.07"] -> selections; each is held out."""
    from ..errors import InvalidValue

    if not text:
        return None
    found: list[Any] = []
    for one in text:
        key, equals, value = one.partition("=")
        if not equals:
            found.append(one)
            continue
        try:
            found.append({key: float(value) if key != "name" else value})
        except ValueError:
            raise InvalidValue(
                f"--hold-out is {one!r}; expected a number behind the =, as in gain=8"
            ) from None
    return found


def fit(
    logs: Logs,
    start: StartFrom,
    friction: Annotated[
        str | None,
        typer.Option(
            "--friction",
            help=(
                "coulomb, stribeck, torque-proportional, m3 to m6, dahl, lugre, load-lugre; or ladder for"
                " all."
            ),
        ),
    ] = None,
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free", help="Parameters to free, by path, beside the usual ones. May be given several times."
        ),
    ] = None,
    hold_out: Annotated[
        list[str] | None,
        typer.Option(
            "--hold-out", help="Logs to judge on: gain=8, length=0.07, mass=0.3, or a name pattern."
        ),
    ] = None,
    map: Maps = None,
    starts: Annotated[int, typer.Option("--starts", help="How many starts at most.")] = 6,
    seed: Annotated[int, typer.Option("--seed", help="Of the random starts.")] = 0,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Store the fit here as JSON.")] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Fit an actuator to recordings, with an error on every number.

    Example: backemf fit logs/*.json --start mx-106 --friction m6 --hold-out gain=8 -o fit.json
    """
    from ..identify.fit import fit as run
    from ..identify.ladder import ladder

    keep(output, force)
    recordings = read_logs(logs, map, not json)
    actuator, sheet = start_of(start)
    options: dict[str, Any] = {
        "prior": sheet,
        "hold_out": parse_hold_out(hold_out),
        "n_starts": starts,
        "seed": seed,
        "also": [path for path in free or [] if path != "drive.delay"],
        "delay": "drive.delay" in (free or []),
    }
    steps = None
    with working("fitting", not json) as say:
        note = best_so_far(say)
        if friction == "ladder":
            steps = ladder(actuator, recordings, progress=note, **options)
            found = steps.fit
        else:
            found = run(actuator, recordings, friction=friction, progress=note, **options)
    if output is not None:
        found.write(output, force=force)
    if json:
        content = found.to_dict()
        if steps is not None:
            content["ladder"] = [
                {
                    "friction": r.name,
                    "held_out_mae": r.held_out if r.fit is not None else None,
                    "n_parameters": len(r.fit.parameters) if r.fit else None,
                    "chosen": r.name == steps.chosen,
                    "reason": r.reason,
                }
                for r in steps.rungs
            ]
        print_json(content)
    else:
        if steps is not None:
            typer.echo(f"{steps}\n")
        typer.echo(str(found))
        if output is not None:
            typer.echo(f"\nwrote {output}")
    end(found.findings, strict)
