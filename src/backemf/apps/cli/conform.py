"""`backemf conform MODEL.xml`: is our step the engine's, for a model nobody here wrote?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Json, answer, option, picked


def conform(
    model: Annotated[Path, typer.Argument(help="An MJCF file with dcmotors on hinges or slides.")],
    steps: Annotated[int, option("Time steps to compare.")] = 500,
    json: Json = False,
) -> None:
    """Drive each dcmotor of a model in the installed MuJoCo and print the worst one-step difference.

    Example: backemf conform arm.xml
    """
    from ...mujoco.arrays import load_mujoco
    from ...mujoco.conform import conform as run

    compared = run(model, steps=steps)

    def content() -> dict[str, Any]:
        rows = [picked(c, "actuator joint worst differences note") for c in compared]
        return {"mujoco": load_mujoco().__version__, "steps": steps, "actuators": rows}

    answer(json, content, lambda: _text(compared))


def _text(compared: Any) -> str:
    from ...tables import table

    rows = []
    for c in compared:
        worst = "-" if c.worst is None else f"{c.worst:.1e}"
        rows.append((c.actuator, c.joint, worst, " ".join(c.differences) or "nothing", c.note))
    return table(rows, ["actuator", "joint", "worst difference", "compared", "note"])
