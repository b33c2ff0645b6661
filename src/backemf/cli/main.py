"""The `backemf` command: one verb per subcommand, each loaded when it is called."""

from __future__ import annotations

import sys

import typer

from .. import __version__
from ..errors import BackemfError
from . import characterize, conform, demo, exports, identify, logs, measure, sheets

app = typer.Typer(
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="From a motor's datasheet and bench logs to an actuator model you can trust.",
)
app.command()(sheets.catalog)
app.command()(sheets.datasheet)
app.command()(logs.log)
app.add_typer(measure.app, name="measure")
app.command()(identify.check)
app.command()(identify.fit)
app.command()(characterize.characterize)
app.command()(exports.export)
app.command()(exports.replay)
app.command()(exports.explain)
app.command()(conform.conform)
app.command()(demo.demo)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(f"backemf {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a deliberate error is printed without a traceback and exits with 2."""
    try:
        app()
    except BackemfError as error:
        typer.echo(f"backemf: {error}", err=True)
        sys.exit(2)
