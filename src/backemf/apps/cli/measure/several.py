"""`backemf measure constants`: several routes to the same constants at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..terminal import Force, Json, Strict, answer, drawable, finding_lines, option, under
from .answers import Plot, draw, plain


def constants(
    file: Annotated[
        Path | None, typer.Argument(help="Readings by name, and stated constants (TOML or JSON).")
    ] = None,
    reading: Annotated[
        list[str] | None,
        option('A reading in words: "resistance current=0.6,1.2 voltage=1.25,2.46". May be repeated.'),
    ] = None,
    stated: Annotated[
        list[str] | None,
        option('A constant known otherwise: "motor.torque_constant=2.2+-0.02 datasheet". May be repeated.'),
    ] = None,
    plot: Plot = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Every constant by every route, what they come to together, and where they disagree.

    Example: backemf measure constants bench.toml --plot routes.png
    """
    from ....analysis.measure import constants as measure, read_readings

    drawable(plot, force)
    content: dict[str, Any] = {} if file is None else dict(read_readings(file))
    for words in reading or ():
        name, numbers = _reading(words)
        before = content.get(name, [])
        content[name] = [*(before if isinstance(before, list) else [before]), numbers]
    told = {k: v if isinstance(v, dict) else {"stated": v} for k, v in (content.get("stated") or {}).items()}
    for words in stated or ():
        constant, label, value = _stated(words)
        told.setdefault(constant, {})[label] = value
    content["stated"] = told
    where: dict[str, Any] = {} if file is None else {"name": file.stem, "folder": file.parent}
    made = measure(content, **where)
    if plot is not None:
        draw(made, plot, force)
    answer(json, lambda: _plain(made, plot), lambda: _text(made), made.findings, strict, [plot])


def _reading(words: str) -> tuple[str, dict[str, Any]]:
    """ "fall mass=0.33 angle=64deg" as (name, numbers)."""
    import shlex

    from ....errors import InvalidValue

    try:
        name, *rest = shlex.split(words)
        numbers = dict(one.split("=", 1) for one in rest)
    except ValueError:
        wanted = 'a name and numbers, such as "resistance current=0.6,1.2 voltage=1.25,2.46"'
        raise InvalidValue(f"--reading is {words!r}; expected {wanted}") from None
    return name, numbers


def _stated(words: str) -> tuple[str, str, str]:
    """ "motor.resistance=2.3+-0.1 multimeter" as (constant, label, value)."""
    from ....errors import InvalidValue

    constant, equals, rest = words.partition("=")
    if not (equals and rest.strip()):
        wanted = '"motor.torque_constant=2.2+-0.02 datasheet"'
        raise InvalidValue(f"--stated is {words!r}; expected a constant and its value, such as {wanted}")
    value, _, label = rest.strip().partition(" ")
    return constant.strip(), label.strip() or "stated", value


def _plain(made: Any, plot: Path | None) -> dict[str, Any]:
    routes = {c: {route: plain(m) for route, m in ways.items()} for c, ways in made.routes.items()}
    together = {c: plain(m) for c, m in made.combined.items()}
    drawn = {} if plot is None else {"plot": plot}
    return {"name": made.name, "routes": routes, "together": together, "findings": made.findings, **drawn}


def _text(made: Any) -> str:
    from ....tables import number, table

    overview = made.overview()
    rows = []
    last = ""
    for constant, route, value, error, low, high, unit in overview.rows:
        numbers = ("-" if v is None else number(v, 4) for v in (value, low, high))
        value, low, high = numbers
        name = f"{constant} [{unit}]" if constant != last else ""
        rows.append((name, route, value, "-" if error is None else number(error, 2), low, high))
        last = constant
    header = ("constant", "route", "value", "error", "low", "high")
    findings = under("Findings", finding_lines(made.findings))
    return "\n\n".join(part for part in (overview.title, table(rows, header), findings) if part)
