"""The `backemf` command: one verb per subcommand, each loaded when it is called."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ... import __version__
from ...errors import BackemfError, BackemfWarning
from ...options import CommandSpec
from ...registry import Registry
from .command_builder import Verb, from_data
from .terminal import failure, print_json

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
CODES = "0 done, 1 there are findings and --strict was given, 2 the request or its input is wrong"
_SHOW: Any = warnings.showwarning
_Misused: Any = typer.BadParameter.__mro__[2]
"""What every complaint of typer's is, wherever its version keeps the class."""


class CommandGroup(TyperGroup):
    """Our commands, and those of other packages where one is not ours or all are listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        self.commands.update(other_commands())
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self.commands.update(other_commands())
        return super().get_command(ctx, cmd_name)


@functools.cache
def other_commands() -> dict[str, Any]:
    """Commands of other packages by name, as typer makes them."""
    others = typer.Typer()
    others.callback()(lambda: None)  # a group, be it of one command
    add_commands(others, COMMANDS.other_names)
    return dict(typer.main.get_group(others).commands)


app = typer.Typer(
    cls=CommandGroup,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="From a motor's datasheet and bench logs to an actuator model you can trust.",
    epilog=f"Exit codes: {CODES}.",
)
COMMANDS: Registry[Any] = Registry(
    "command",
    {
        "measure": "backemf.apps.cli.measure_commands:app",
        "convert": "backemf.apps.cli.convert:app",
        "fleet": "backemf.apps.cli.fleet_command:app",
        "catalog": "backemf.apps.cli.sheets:catalog",
        "datasheet": "backemf.apps.cli.sheets:datasheet",
        "simulate": "backemf.apps.cli.simulate_command:simulate",
        "size": "backemf.apps.cli.size_command:size",
        "power": "backemf.apps.cli.size_command:power",
        "plot": "backemf.apps.cli.report:plot",
        "plan": "backemf.apps.cli.plan_command:plan",
        "record": "backemf.kits.recorder.commands:RECORD",
        "virtual": "backemf.kits.recorder.commands:VIRTUAL",
        "log": "backemf.apps.cli.logs:log",
        "check": "backemf.apps.cli.identify:check",
        "fit": "backemf.apps.cli.identify:fit",
        "characterize": "backemf.kits.frc.commands:CHARACTERIZE",
        "export": "backemf.apps.cli.exports:export",
        "replay": "backemf.apps.cli.exports:replay",
        "explain": "backemf.apps.cli.exports:explain",
        "report": "backemf.apps.cli.report:report",
        "playground": "backemf.apps.cli.report:playground",
        "render": "backemf.apps.cli.report:render",
        "conform": "backemf.apps.cli.exports:conform",
        "web": "backemf.apps.web.web_command:web",
        "demo": "backemf.apps.demo.demo_command:demo",
    },
    group="backemf.commands",
)
"""Verbs in the order of the flow: a `CommandSpec`, a function with typer's options, or a group of them."""


def add_commands(app: typer.Typer, names: Iterable[str]) -> None:
    """Add commands to an app, by name."""
    for name in names:
        command = COMMANDS[name]
        if isinstance(command, CommandSpec):
            command = from_data(command, name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=Verb)(command)


add_commands(app, COMMANDS.own_names)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"backemf {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(FLOW)


def main() -> None:
    """Run the command line. A deliberate error is printed without a traceback and exits with 2,
    an interruption with 130."""
    for stream in (sys.stdout, sys.stderr):
        # a console that cannot show a letter gets a mark in its place; a stream of another kind is left
        with contextlib.suppress(AttributeError, ValueError):
            # a stream of text, where it can:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            warnings.filterwarnings("always", category=BackemfWarning)
            code = app(standalone_mode=False)
    except BackemfError as error:
        _fail(str(error))
    except _Misused as error:  # words that are no command line
        if type(error).__name__ == "NoArgsIsHelpError":  # a group alone: its help
            error.show()
            _end(2)
        from .misuse import misuse

        _fail(misuse(error, typer.main.get_command(app), sys.argv[1:]))
    except RecursionError:
        wanted = "expected a file of the formats that `backemf log --help` and the documentation name"
        _fail(f"the input is nested too deeply; {wanted}")
    except MemoryError:
        _fail("there is not enough memory for this; give fewer or shorter recordings")
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        _end(130)
    except OSError as error:
        wanted = "expected a file that can be read, or a place that can be written"
        _fail(f"{error.filename or 'a file'}: {error.strerror or error}; {wanted}")
    except Exception as error:
        if os.environ.get("BACKEMF_TRACEBACK"):
            raise
        where = "with BACKEMF_TRACEBACK=1 in the environment it says where: please report that"
        _fail(f"{FAULT}: {type(error).__name__}: {error}; {where}")
    else:
        _end(code or 0)


def _fail(text: str) -> NoReturn:
    """End with 2 and the reason: for people, and for a program that asked for JSON."""
    typer.echo(f"backemf: {text}", err=True)
    if "--json" in sys.argv[1:]:
        print_json(failure(text))
    _end(2)


def _print_warning(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
    """A warning of our own as a note to the user; any other as Python writes it."""
    if issubclass(category, BackemfWarning):
        typer.echo(f"backemf: note: {message}", err=True)
    else:
        _SHOW(message, category, *rest, **more)


def _end(code: int) -> NoReturn:
    if code == 130:  # typer makes an interruption into this
        typer.echo("backemf: interrupted", err=True)
    sys.exit(code)
