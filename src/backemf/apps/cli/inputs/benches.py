"""What the output carried, from a command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ....logs.options import BENCH_HELP

Bench = Annotated[str | None, typer.Option("--bench", help=BENCH_HELP)]


def bench_of(text: str) -> Any:
    """ "pendulum mass=0.5kg length=0.1" -> that bench; words may be separated by commas too; or a file."""
    from ....logs.benches import bench_of as read

    return read(text)


def words_of(bench: Any) -> str:
    """A bench as a person says it: "pendulum, mass 0.5 kg, length 0.1 m"; what is usual is left out."""
    import dataclasses

    from ....logs.benches import bench_name
    from ....tables import number

    told = [
        f"{f.name.replace('_', ' ')} {number(getattr(bench, f.name))} {f.metadata['unit']}"
        for f in dataclasses.fields(bench)
        if "unit" in f.metadata and getattr(bench, f.name) != f.default
    ]
    return ", ".join([bench_name(bench).replace("-", " "), *told])
