"""Commands run inside the test's own process: their errors are raised, anything else must end well."""

from __future__ import annotations

from collections.abc import Callable

import typer
from typer.testing import CliRunner


class Output(str):
    """What a command printed, and what it said beside that on stderr."""

    said: str


def runner(*commands: Callable[..., None]) -> Callable[..., Output]:
    """A function that takes a command line's words and gives what was printed."""
    app = typer.Typer()
    for command in commands:
        app.command()(command)

    return lambda *words: invoked(app, *words)


def invoked(app: typer.Typer, *words: object) -> Output:
    """What an app printed for a command line's words; its errors are raised."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    printed = Output(result.stdout)
    printed.said = result.stderr
    return printed
