"""`backemf web`: open the app in a browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from ...options import Terminal, option, options
from ..cli.command_builder import command
from ..cli.inputs import CommandWords


@options
class WebWords(CommandWords):
    """What one may ask of `web`."""

    port: int = option(default=0, help="The port to serve on; 0 takes any that is free.")
    no_open: bool = option(default=False, help="Print the address and leave the browser alone.")
    folder: Path = option(
        default=Path("backemf-web"), help="Where uploads and results are kept, for the next time as well."
    )


@command(WebWords, has_findings=False)
def web(options: WebWords, terminal: Terminal) -> None:
    """Open the app in a browser: the same commands, by clicking. For this machine alone.

    Example: backemf web --port 0 --no-open
    """
    from .web_server import serve

    folder = options.folder

    def open_browser(address: str) -> None:
        terminal.announce({"address": address, "folder": folder}, address)
        typer.echo(f"uploads and results are kept in {folder}; Ctrl-C ends the server", err=True)
        if not options.no_open:
            import webbrowser

            webbrowser.open(private_page(page, address).as_uri())

    program = [sys.executable, "-m", "backemf.apps.web.worker"]
    page = folder.resolve() / "state" / "open.html"
    try:
        serve(folder, port=options.port, program=program, told=open_browser)
    finally:
        page.unlink(missing_ok=True)


def private_page(page: Path, address: str) -> Path:
    """A page that only this user can read and that leads to the address: what stands on a browser's command
    line is seen by every user of the machine.

    Args:
        page: where it goes.
        address: with the token in it.

    Returns:
        The page.
    """
    page.unlink(missing_ok=True)
    head = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
    with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f'{head}<a href="{address}">backemf</a>\n')
    return page
