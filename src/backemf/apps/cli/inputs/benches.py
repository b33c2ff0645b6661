"""What the output carried, from a command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Bench = Annotated[
    str | None,
    typer.Option(
        "--bench",
        help='What the output carried: "pendulum mass=0.5kg length=0.1m", "flywheel inertia=2e-4kg*m^2", or a'
        ' file with it (rig.toml); plain numbers are in SI, and "0.5+-0.01 kg" states a tolerance. It comes'
        " before what a log says.",
    ),
]


def bench_of(text: str) -> Any:
    """ "pendulum mass=0.5kg length=0.1" -> that bench; words may be separated by commas too; or a file."""
    from ....logs.benches import bench_of as read

    return read(text)


def words_of(bench: Any) -> str:
    """A bench as a person says it: "pendulum, mass 0.5 kg, length 0.1 m"; what is usual is left out."""
    import dataclasses

    from ....physics.bench import BENCHES
    from ....tables import number

    name = next(name for name, cls in BENCHES.items() if cls is type(bench))
    told = [
        f"{f.name.replace('_', ' ')} {number(getattr(bench, f.name))} {f.metadata['unit']}"
        for f in dataclasses.fields(bench)
        if "unit" in f.metadata and getattr(bench, f.name) != f.default
    ]
    return ", ".join([name.replace("-", " "), *told])
