"""What the readings of `backemf measure` share: their options, how they are read, shown and drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..terminal import Force, Json, Strict, answer, drawable, finding_lines, option, picked, place, under

Plot = Annotated[
    Path | None,
    place("Draw the readings, the line and its 95 % band into this file (png, svg, pdf, html).", "--plot"),
]


def column(what: str, unit: str) -> Any:
    """An option for readings separated by commas."""
    spelled = "" if unit == "1" else f" [{unit}]; another unit may stand behind the last"
    return option(f"{what}, separated by commas{spelled}.")


def known(what: str, unit: str) -> Any:
    """An option for a number from elsewhere."""
    return option(f"{what} [{unit}]; '2.1 +- 0.05' says how well it is known.")


Log = Annotated[str, typer.Argument(help="A recording.")]
Resistance = Annotated[str | None, known("Resistance", "ohm")]
TorqueConstant = Annotated[str | None, known("Torque constant", "N m/A")]


def read(**given: Any) -> dict[str, Any]:
    """Options as the reading's function takes them; what was not given is left out."""
    from ....analysis.measure import argument

    return {name: argument(name, value) for name, value in given.items() if value is not None}


def recording(path: str, maps: list[str] | None = None, bench: str | None = None) -> Any:
    from ..inputs.recordings import read_logs

    return read_logs([path], maps, bench=bench)[0]


def reading(command: Callable[..., Any]) -> Callable[..., None]:
    """The command that shows what a function measured: with the function's own options, and those that every
    reading has."""

    def run(
        *, plot: Plot = None, force: Force = False, strict: Strict = False, json: Json = False, **given: Any
    ) -> None:
        drawable(plot, force)
        show(command(**given), plot, force, json, strict)

    own, common = (inspect.signature(one, eval_str=True) for one in (command, run))
    named = [*own.parameters.values(), *(p for p in common.parameters.values() if p.name != "given")]
    signature = own.replace(parameters=named, return_annotation=None)
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    vars(run).update(__signature__=signature)
    run.__annotations__ = {p.name: p.annotation for p in named}
    return run


def show(measured: Any, plot: Path | None, force: bool, json: bool, strict: bool) -> None:
    """Print a measured number, draw it, and end."""
    if plot is not None:
        draw(measured, plot, force)

    def text() -> str:
        lines = [_line(measured)]
        for key, other in measured.others.items():
            if (other.name, other.value, other.low) == (measured.name, measured.value, measured.low):
                continue
            alike = f" ({key.replace('_', ' ')})" if other.name == measured.name else ""
            lines.append(f"  {_line(other, alike)}")
        words = (("assumed", measured.assumption), ("sharper with", measured.sharpen))
        notes = "\n".join(f"{word}: {said}" for word, said in words if said)
        findings = under("Findings", finding_lines(measured.findings))
        return "\n\n".join(part for part in ("\n".join(lines), notes, findings) if part)

    answer(json, lambda: plain(measured, plot), text, measured.findings, strict, [plot])


def _line(m: Any, alike: str = "") -> str:
    from ....tables import interval

    said = f"{m.name}{alike} {m.number()}"
    if m.value is not None and m.low is not None and m.high is not None and m.error:
        said += f", 95 %: {interval(m.low, m.high, 'to', 4)}"
    return said


def plain(m: Any, plot: Path | None = None) -> dict[str, Any]:
    """A measured number as it stands in `--json`."""
    said = picked(m, "name value error low high spare unit route assumption sharpen findings")
    drawn = {} if plot is None else {"plot": plot}
    return {**said, "others": {k: plain(o) for k, o in m.others.items()}, **drawn}


def draw(noun: Any, path: Path, force: bool) -> None:
    """A picture, or a page, of what was measured."""
    from ...report.figures import draw
    from ...report.figures.show import drawing

    draw.save(drawing(noun).figure, path, force=force)
