"""`backemf acme-table SOURCE`: an actuator's numbers with their units."""

from typing import Annotated

import typer

import backemf as be
from backemf.apps.cli.terminal import print_json


def acme_table(
    source: Annotated[str, typer.Argument(help="A part, a datasheet or a stored actuator.")],
    only: Annotated[str, typer.Option(help="Numbers of this part alone: motor, friction, ...")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON, as the app wants it.")] = False,
) -> None:
    """Print every number of an actuator with its unit.

    Example: backemf acme-table mx-106 --only motor
    """
    actuator = be.Actuator.read(source)
    values = {path: value for path, value in actuator.parameters.items() if path.startswith(only)}
    if json:
        print_json({"values": values})
        return
    for path, value in values.items():
        typer.echo(f"{path} {value:.6g} {actuator.unit(path)}")
