"""`backemf plot`: curves of anything that can be an actuator, as a picture, a page or numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs.sources import SOURCE, Control, Firmware, Motors, Ratio, Sets, Voltage
from .terminal import Force, Json, answer, drawable, finding_lines, keep, option, place, under, working

WHAT = (
    "torque-speed, envelope, power, no-load, friction, hysteresis, heating, heating-power, drive, frequency"
    " or pipeline; several with commas, or repeated. Without it: all that the actuator knows enough for."
)


def plot(
    sources: Annotated[list[str], typer.Argument(help=f"{SOURCE} Several share one figure.")],
    what: Annotated[list[str] | None, option(WHAT, "--what", "-w")] = None,
    output: Annotated[Path | None, place("The picture (png, svg, pdf) or page (html) to write.")] = None,
    data: Annotated[Path | None, place("Write the curves' numbers into this file (csv).", "--data")] = None,
    inertia: Annotated[
        float, option("Inertia of a load at the output [kg m^2, or kg], for frequency and hysteresis.")
    ] = 0.0,
    set: Sets = None,
    voltage: Voltage = None,
    firmware: Firmware = None,
    control: Control = None,
    ratio: Ratio = 1.0,
    motors: Motors = 1,
    force: Force = False,
    json: Json = False,
) -> None:
    """Draw an actuator: torque, power, friction, hysteresis, heating, drive law, frequency response.

    Example: backemf plot mx-106/m6 mx-64/m6 --what torque-speed,friction -o both.png
    """
    from ...errors import InvalidValue, MissingValue
    from ...files import write_all
    from ...targets.sourcing import choose_actuator
    from ..report.figures import draw, show as plots

    if inertia < 0:
        raise InvalidValue(f"--inertia is {inertia:g}; expected at least 0")
    names = [name for words in what or () for name in words.replace(",", " ").split()]
    if output is None and data is None and not json:
        raise MissingValue("there is nothing to write to; expected -o FILE, --data FILE or --json")
    drawable(output, force)
    keep(data, force)
    sources = [*dict.fromkeys(sources)]
    given: dict[str, Any] = {"sets": set, "voltage": voltage, "firmware": firmware, "control": control}
    found = {
        _name(source, sources): choose_actuator(source, **given, ratio=ratio, motors=motors)
        for source in sources
    }
    shown = [
        plots.Shown(name, one.actuator, inertia=inertia, **_rated(source))
        for (name, one), source in zip(found.items(), sources, strict=True)
    ]
    with working("drawing", not json):
        figure = plots.figure(shown, names)
        if output is not None:
            notes = "; ".join(note for one in found.values() for note in one.notes)
            draw.save(figure, output, note=f"{notes}.", force=force)
        if data is not None:
            write_all({data: plots.table(figure)}, force=force)
    findings = [f for one in found.values() for f in one.findings]

    def content() -> dict[str, Any]:
        told = {name: one.notes for name, one in found.items()}
        return {"sources": told, "panels": plots.plain(figure), "findings": findings, "file": output}

    def text() -> str:
        panels = [panel.title for panel in figure.panels]
        return "\n\n".join(
            part for part in (under(figure.title, panels), under("Findings", finding_lines(findings))) if part
        )

    answer(json, content, text, written=(output, data))


def _name(source: str, sources: list[str]) -> str:
    """What a legend calls a source: the shortest that tells it from the others."""
    short = Path(source).name if source.endswith((".json", ".toml")) or ".xml" in source else source
    return source if any(other != source and Path(other).name == short for other in sources) else short


def _rated(source: str) -> dict[str, Any]:
    """What a part's sheet says of its limits in heat."""
    from ...datasheets import parts
    from ..report.figures.show import Shown

    if not parts.is_part(source):
        return {}
    return Shown.rated(parts.sheet(source if source.endswith(".toml") else source.partition("/")[0]))
