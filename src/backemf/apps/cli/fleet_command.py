"""`backemf fleet`: the commands of the fleets, and their page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from ...kits.fleets.commands import COMMANDS
from .command_builder import Verb, from_data
from .terminal import Force, Json, answer, inside, keep, making, option, place, working


class Group(TyperGroup):
    """What is no command of its own is logs to fit: `backemf fleet LOGS` is `backemf fleet run LOGS`."""

    default: ClassVar = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = args and (args[0] in self.commands or args[0] in ("--help", "-h"))
        return super().parse_args(ctx, args if known or not args else [self.default, *args])


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Fit thousands of units: backemf fleet LOGS --by folder --start mx-106 -o fleet/",
)


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a fleet.")],
    output: Annotated[Path, place("The page, an .html file.")],
    name: Annotated[str, option("What to call it.")] = "",
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page: distributions, pairs, the worst units, drift.

    Example: backemf fleet report fleet/ -o fleet.html
    """
    from ...kits.fleets.fleet import Fleet
    from ...kits.fleets.page import fleet_page
    from ..report.html import write

    output = inside(output, "fleet.html")
    keep(output, force)
    with working("looking at the units", not json), making(output):
        write(fleet_page(Fleet.read(folder), name), output, force=force)
    answer(json, lambda: {"report": output}, lambda: "", written=[output])


for _name in ("run", "status", "retry", "population"):
    app.command(_name, cls=Verb)(from_data(COMMANDS[_name], _name))
app.command("report", cls=Verb)(report)
app.command("simulate", cls=Verb)(from_data(COMMANDS["simulate"], "simulate"))
