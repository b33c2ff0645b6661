"""`backemf conform MODEL.xml`: is our step the engine's, for a model nobody here wrote?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..tables import table
from .terminal import Json, print_json


def conform(
    model: Annotated[Path, typer.Argument(help="An MJCF file with dcmotors on hinges or slides.")],
    steps: Annotated[int, typer.Option(help="Time steps to compare.")] = 500,
    json: Json = False,
) -> None:
    """Drive each dcmotor of a model in the installed MuJoCo and print the worst one-step difference.

    Example: backemf conform arm.xml
    """
    from ..simulator.arrays import load_mujoco
    from ..simulator.conform import conform as run

    found = run(model, steps=steps)
    if json:
        rows = [
            {
                "actuator": r.actuator,
                "joint": r.joint,
                "worst": r.worst,
                "differences": r.differences,
                "note": r.note,
            }
            for r in found
        ]
        print_json({"mujoco": load_mujoco().__version__, "steps": steps, "actuators": rows})
        return
    cells = [
        (
            r.actuator,
            r.joint,
            "-" if r.worst is None else f"{r.worst:.1e}",
            " ".join(r.differences) or "nothing",
            r.note,
        )
        for r in found
    ]
    typer.echo(table(cells, ["actuator", "joint", "worst difference", "compared", "note"]))
