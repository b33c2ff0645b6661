"""The `backemf` command: one verb per subcommand, each loaded when it is called."""

from __future__ import annotations

import contextlib
import os
import sys

import typer

from .. import __version__
from ..errors import BackemfError
from . import characterize, conform, demo, exports, identify, logs, measure, render, report, sheets

FLOW = """\
backemf turns a motor's datasheet and its bench logs into an actuator model you can trust.

  datasheet -> actuator -> logs -> check -> fit -> export -> replay -> report

Three commands to try first:

  backemf demo                              the whole flow on simulated recordings, into out/
  backemf datasheet mx-106                  what a datasheet says, and where it contradicts itself
  backemf export mx-106/m6 --to mujoco      an identified servo for MuJoCo, and what that costs

backemf --help lists every command; backemf COMMAND --help shows its options and an example."""

FAULT = "this is a fault of backemf's own"
"""How a message begins that should never be seen."""

app = typer.Typer(
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="From a motor's datasheet and bench logs to an actuator model you can trust.",
    epilog=(
        "Exit codes: 0 done, 1 there are findings and --strict was given, 2 the request or its input is"
        " wrong."
    ),
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
app.command()(report.report)
app.command()(render.render)
app.command()(conform.conform)
app.command()(demo.demo)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        typer.echo(f"backemf {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(FLOW)


def main() -> None:
    """Run the command line. A deliberate error is printed without a traceback and exits with 2,
    an interruption with 130."""
    for stream in (
        sys.stdout,
        sys.stderr,
    ):  # a console that cannot show a letter gets a mark in its place, not an end
        with contextlib.suppress(AttributeError, ValueError):
            # absent where a stream was replaced
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except BackemfError as error:
        _fail(str(error))
    except RecursionError:
        _fail(
            "the input is nested too deeply; expected a file of the formats that `backemf log --help` and the"
            " documentation name"
        )
    except MemoryError:
        _fail("there is not enough memory for this; give fewer or shorter recordings")
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (KeyboardInterrupt, SystemExit) as ended:  # typer makes the one into the other
        if isinstance(ended, SystemExit) and ended.code != 130:
            raise
        typer.echo("backemf: interrupted", err=True)
        sys.exit(130)
    except OSError as error:
        _fail(
            f"{error.filename or 'a file'}: {error.strerror or error}; expected a file that can be read, or a"
            " place that can be written"
        )
    except Exception as error:
        if os.environ.get("BACKEMF_TRACEBACK"):
            raise
        _fail(
            f"{FAULT}: {type(error).__name__}: {error}; with BACKEMF_TRACEBACK=1 in the environment it says"
            " where: please report that"
        )


def _fail(text: str) -> None:
    typer.echo(f"backemf: {text}", err=True)
    sys.exit(2)
