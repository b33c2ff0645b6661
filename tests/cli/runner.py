"""Commands run inside the test's own process: their errors are raised, anything else must end well."""

from __future__ import annotations

from collections.abc import Callable

import typer
from typer.testing import CliRunner


def runner(*commands: Callable[..., None]) -> Callable[..., str]:
    """A function that takes a command line's words and gives what was printed."""
    app = typer.Typer()
    for command in commands:
        app.command()(command)

    def run(*words: object) -> str:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return run
