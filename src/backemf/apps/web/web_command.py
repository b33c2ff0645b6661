"""`backemf web`: open the app in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..cli.terminal import Json, option, print_json


def web(
    port: Annotated[int, option("The port to serve on; 0 takes any that is free.")] = 0,
    no_open: Annotated[bool, option("Print the address and leave the browser alone.", "--no-open")] = False,
    folder: Annotated[
        Path, option("Where uploads and results are kept, for the next time as well.", metavar="FOLDER")
    ] = Path("backemf-web"),
    json: Json = False,
) -> None:
    """Open the app in a browser: the same commands, by clicking. For this machine alone.

    Example: backemf web --port 0 --no-open
    """
    from .web_server import serve

    def open_browser(address: str) -> None:
        if json:
            print_json({"address": address, "folder": folder})
        else:
            typer.echo(address)
        typer.echo(f"uploads and results are kept in {folder}; Ctrl-C ends the server", err=True)
        sys.stdout.flush()
        if not no_open:
            import webbrowser

            webbrowser.open(address)

    serve(folder, port=port, program=[sys.executable, "-m", "backemf.apps.web.worker"], told=open_browser)
