"""`backemf report`: a stored fit as one HTML page for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .terminal import Force, Json, Maps, Strict, end, keep, print_json, working


def report(
    fit: Annotated[Path, typer.Argument(help="A stored fit (JSON), as `backemf fit -o` writes it.")],
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Its recordings: files, folders or patterns; without any, those that the fit remembers."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
    sheet: Annotated[
        str | None,
        typer.Option("--sheet", help="A datasheet to compare with: a part of the catalogue, or a TOML file."),
    ] = None,
    map: Maps = None,
    exports: Annotated[
        bool,
        typer.Option(
            "--exports/--no-exports", help="Export to every target, and replay where the simulator is here."
        ),
    ] = True,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Write everything about a fit as one HTML file that opens offline.

    Example: backemf report fit.json logs/*.json --sheet mx-106 -o report.html
    """
    from ..data.fit import Fit
    from ..data.logs.read import read
    from ..data.sheets import parts
    from ..report import html
    from ..report.contents import report as run, stored_logs

    keep(output, force)
    found = Fit.read(fit)
    printed = parts.sheet(sheet) if sheet is not None else None
    with working("report", not json) as say:
        files = [str(path) for path in logs or stored_logs(found, fit.parent)]
        recordings = (
            read(*files, map=map or None, progress=lambda name, share: say(f"read {name}")) if files else []
        )
        made = run(found, recordings, sheet=printed, exported=exports, name=fit.name, progress=say)
        written = html.write(made, output, force=force)
    if json:
        print_json({**made.summary(), "file": written})
    else:
        typer.echo("\n".join(made.verdict))
        typer.echo(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB, {len(made.runs)} logs)")
    end(found.findings, strict)
