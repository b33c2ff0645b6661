"""`backemf report`: a stored fit as one HTML page for people."""

from __future__ import annotations

import contextlib
import json as json_
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer


def report(
    fit: Annotated[Path, typer.Argument(help="A stored fit (JSON), as `backemf fit -o` writes it.")],
    logs: Annotated[list[str] | None, typer.Argument(help="Its recordings: files, folders or patterns; without any, those that the fit remembers.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
    sheet: Annotated[str | None, typer.Option("--sheet", help="A datasheet to compare with: a part of the catalogue, or a TOML file.")] = None,
    map: Annotated[list[str] | None, typer.Option("--map", help="How to read a signal: position=motor_pos[deg],-1. May be given several times.")] = None,
    exports: Annotated[bool, typer.Option("--exports/--no-exports", help="Export to every target, and replay where the simulator is here.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the page if it exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what the report says as one JSON object.")] = False,
) -> None:
    """Write everything about a fit as one HTML file that opens offline.

    Example: backemf report fit.json logs/*.json --sheet mx-106 -o report.html
    """
    from ..data import parts
    from ..data.read import read
    from ..errors import BackemfError
    from ..identify.result import Fit
    from ..report import html
    from ..report.contents import report as run
    from ..report.contents import stored_logs

    if output.exists() and not force:
        raise BackemfError(f"{output} exists; give another name, or --force to overwrite it")
    found = Fit.read(fit)
    printed = parts.sheet(sheet) if sheet is not None else None
    with telling() as tell:
        files = [str(path) for path in logs or stored_logs(found, fit.parent)]
        recordings = read(*files, map=map or None, progress=lambda name, share: tell(f"read {name}")) if files else []
        made = run(found, recordings, sheet=printed, exported=exports, name=fit.name, progress=tell)
        tell("draw")
        written = html.write(made, output, force=force)
    if json:
        typer.echo(json_.dumps({**made.summary(), "file": str(written)}, indent=1))
        return
    typer.echo("\n".join(made.verdict))
    typer.echo(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB, {len(made.runs)} logs)")


@contextlib.contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """A line on the terminal that says what is being done; silent where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("report") as status:
        yield lambda text: status.update(f"report: {escape(text)}")
