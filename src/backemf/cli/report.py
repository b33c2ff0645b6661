"""`backemf report`: a stored fit as one HTML page for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .terminal import Force, Json, Maps, Strict, answer, keep, option, place, working

Recordings = Annotated[
    list[str] | None,
    typer.Argument(
        help="Its recordings: files, folders or patterns; without any, those that the fit remembers."
    ),
]
Exports = Annotated[
    bool, option("Export to every target, and replay where the simulator is here.", "--exports/--no-exports")
]


def report(
    fit: Annotated[Path, typer.Argument(help="A stored fit (JSON), as `backemf fit -o` writes it.")],
    logs: Recordings = None,
    output: Annotated[Path, place("The page to write.")] = Path("report.html"),
    sheet: Annotated[
        str | None, option("A datasheet to compare with: a part of the catalogue, or a TOML file.")
    ] = None,
    map: Maps = None,
    exports: Exports = True,
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
    stored = Fit.read(fit)
    printed = parts.sheet(sheet) if sheet is not None else None
    with working("report", not json) as say:
        files = [str(path) for path in logs or stored_logs(stored, fit.parent)]
        reading = {"map": map or None, "progress": lambda name, share: say(f"read {name}")}
        recordings = read(*files, **reading) if files else []
        made = run(stored, recordings, sheet=printed, exported=exports, name=fit.name, progress=say)
        page = html.write(made, output, force=force)

    def text() -> str:
        size = f"{page.stat().st_size / 1e6:.1f} MB, {len(made.runs)} logs"
        return "\n".join([*made.verdict, f"wrote {page} ({size})"])

    answer(json, lambda: {**made.summary(), "file": page}, text, stored.findings, strict)
