"""`backemf fleet`: the commands of the fleets, and their page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from ...kits.fleets.commands import COMMANDS, FolderOptions
from ...options import Answer, Terminal, option, option_of, options
from .command_builder import Verb, command, from_data
from .inputs import WritingWords


class Group(TyperGroup):
    """What is no command of its own is logs to fit: `backemf fleet LOGS` is `backemf fleet run LOGS`."""

    default: ClassVar = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words as typer reads them, with the command that is meant where none is named.

        Args:
            ctx: typer's.
            args: as typed.

        Returns:
            What is left for the command.
        """
        known = args and (args[0] in self.commands or args[0] in ("--help", "-h"))
        return super().parse_args(ctx, args if known or not args else [self.default, *args])


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Fit thousands of units: backemf fleet LOGS --by folder --start mx-106 -o fleet/",
)


@options
class FleetReportWords(WritingWords):
    """What one may ask of `fleet report`."""

    folder: Path = option_of(FolderOptions, "folder")
    output: Path = option(help="The page, an .html file.", cli="--output -o", writes="fleet.html")
    name: str = option(default="", help="What to call it.")


@command(FleetReportWords, "looking at the units", has_findings=False)
def report(options: FleetReportWords, terminal: Terminal) -> Answer:
    """Write a page: distributions, pairs, the worst units, drift.

    Example: backemf fleet report fleet/ -o fleet.html
    """
    from ...kits.fleets.fleet import Fleet
    from ...kits.fleets.page import fleet_page
    from ..report.html import write

    page = fleet_page(Fleet.read(options.folder), options.name)
    write(page, options.output, force=options.force)
    return Answer(content=lambda: {"report": options.output}, text=lambda: "", written=[options.output])


for _name in ("run", "status", "retry", "population"):
    app.command(_name, cls=Verb)(from_data(COMMANDS[_name], _name))
app.command("report", cls=Verb)(report)
app.command("simulate", cls=Verb)(from_data(COMMANDS["simulate"], "simulate"))
