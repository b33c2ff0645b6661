"""The picture in docs/architecture.md, drawn from the table in tests/test_layers.py.

python scripts/architecture.py            writes docs/img/architecture.svg
python scripts/architecture.py --check    changes nothing; says whether it is out of date and ends with 1
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "backemf"
PICTURE = ROOT / "docs" / "img" / "architecture.svg"
WIDTH, HEIGHT, GAP, EDGE, HEAD = 176, 92, 14, 16, 30
"""Of a box; between boxes; around a tier; of a tier's title [pixels]."""
COLUMNS = 5
"""Of the library in one row."""
LETTERS, LINES = 26, 4
"""What fits into a box under its name."""
FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
INK, SOFT, LINE = "#1c2530", "#43505e", "#7d8a97"
"""Names, sentences, and edges: a grey that shows on white and on black."""

Table = Mapping[str, set[str]]
"""Room -> rooms that it may import."""


def layers() -> Any:
    """tests/test_layers.py as a module."""
    spec = importlib.util.spec_from_file_location("test_layers", ROOT / "tests" / "test_layers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def columns(may_import: Table, rooms: Sequence[str]) -> list[list[str]]:
    """Rooms by the longest way down: none imports another of its column. One that sees only some of the
    column to its left stands level with those; "" is a gap."""
    heights: dict[str, int] = {}

    def height(room: str, way: tuple[str, ...] = ()) -> int:
        if room in way:
            raise SystemExit(f"the table goes in a circle: {' -> '.join((*way[way.index(room) :], room))}")
        if room not in heights:
            below = (height(x, (*way, room)) for x in may_import[room] if x in rooms)
            heights[room] = 1 + max(below, default=-1)
        return heights[room]

    found: dict[int, list[str]] = {}
    for room in rooms:
        found.setdefault(height(room), []).append(room)
    stacked = [found[k] for k in sorted(found)]
    for before, column in itertools.pairwise(stacked):
        room, *others = column
        if not others and not {x for x in before if x} <= may_import[room]:
            column[:] = [room if x in may_import[room] else "" for x in before]
    return stacked


def sentence(place: Path, letters: int = LETTERS) -> list[str]:
    """What a folder or a file says it is, in lines for a box: the first paragraph of its docstring, or as
    much of it as fits: without what stands behind its colon, then behind its last comma."""
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    said = " ".join(text.partition("\n\n")[0].split()).rstrip(".")
    for sign in (":", ";", ",", ","):
        if len(textwrap.wrap(said, letters)) > LINES:
            said = said.rpartition(sign)[0] or said
    return textwrap.wrap(said, letters)[:LINES]


def _box(x: float, y: float, name: str, lines: Sequence[str], width: float = WIDTH) -> list[str]:
    middle, first = x + width / 2, y + HEIGHT / 2 + 5 - 7.5 * len(lines)
    centred = f'x="{middle:.1f}" text-anchor="middle"'
    return [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="7" fill="#fff"'
        f' stroke="{LINE}"/>',
        f'<text {centred} y="{first:.1f}" font-size="15" font-weight="600" fill="{INK}">{escape(name)}'
        "</text>",
        *(
            f'<text {centred} y="{first + 16 + 14 * k:.1f}" font-size="11.5" fill="{SOFT}">{escape(line)}'
            "</text>"
            for k, line in enumerate(lines)
        ),
    ]


def _tier(y: float, title: str, rule: str, fill: str, rows: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """A band with rows of columns of rooms; rooms in one column stand above each other, and "" is a gap."""
    inside, top = [], y + HEAD + GAP / 2
    for row in rows:
        deep = max(map(len, row))
        left = EDGE + GAP + (COLUMNS - min(len(row), COLUMNS)) * (WIDTH + GAP) / 2
        squeezed = min(1.0, COLUMNS / len(row))
        width = WIDTH * squeezed - GAP * (1 - squeezed)
        for k, column in enumerate(row):
            first = top + (deep - len(column)) * (HEIGHT + GAP) / 2
            for j, room in enumerate(column):
                if room:
                    place, x = SOURCE / room, left + k * (width + GAP)
                    name = f"{place.name}/" if place.is_dir() else f"{place.name}.py"
                    said = sentence(place, int(LETTERS * width / WIDTH))
                    inside += _box(x, first + j * (HEIGHT + GAP), name, said, width)
        top += deep * (HEIGHT + GAP) + 2 * GAP
    tall = top - 2 * GAP - y
    frame = f'<rect x="{EDGE}" y="{y:.1f}" width="{_inner():.1f}" height="{tall:.1f}" rx="12" fill="{fill}"'
    words = f'<tspan font-weight="700">{escape(title)}</tspan>  {escape(rule)}'
    head = f'<text x="{EDGE + GAP}" y="{y + 22:.1f}" font-size="13.5" fill="{INK}">{words}</text>'
    return [f'{frame} stroke="{LINE}" data-tall="{tall:.1f}"/>', head, *inside]


def _inner() -> float:
    return COLUMNS * (WIDTH + GAP) + GAP


def picture(may_import: Table, base: set[str], apps: Sequence[str], kits: Sequence[str]) -> str:
    """The whole picture as SVG: apps above kits above the library above the base."""
    library = [room for room in may_import if room not in base and room not in apps]
    stacked = columns(may_import, library)
    rows = [stacked[k : k + COLUMNS] for k in range(0, len(stacked), COLUMNS)][::-1]
    files = ", ".join(
        f"{name}/" if (SOURCE / name).is_dir() else f"{name}.py" for name in may_import if name in base
    )
    tiers = (
        (
            "apps",
            "each may import those to its left",
            "#e8e4f3",
            [[[f"apps/{a}"] for a in apps if a != "kits"]],
        ),
        (
            "kits",
            "whole in their folders; they do not see each other",
            "#e2eef6",
            [[[f"kits/{k}"] for k in kits]],
        ),
        (
            "library",
            "a room may import what stands to its left or in a row below;"
            " beside two it stands level with the one it sees",
            "#e3f1e8",
            rows,
        ),
    )
    lines, y = [], float(EDGE)
    for title, rule, fill, shown in tiers:
        drawn = _tier(y, title, rule, fill, shown)
        lines += drawn
        y += float(drawn[0].rpartition('data-tall="')[2].split('"')[0]) + GAP
    lines += _box(EDGE, y, "base", textwrap.wrap(files, 150), _inner())
    width, height = _inner() + 2 * EDGE, y + HEIGHT + EDGE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
            f' width="{width:.0f}" height="{height:.0f}" font-family="{FONT}" role="img">',
            "<title>Tiers of backemf: apps, kits and the library, and the rooms of each</title>",
            *lines,
            "</svg>\n",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; end with 1 if it is out of date"
    )
    check = parser.parse_args().check
    table = layers()
    kits = sorted(path.parent.name for path in (SOURCE / "kits").glob("*/__init__.py"))
    text = picture(table.MAY_IMPORT, table.BASE, table.APPS, kits)
    name = PICTURE.relative_to(ROOT).as_posix()
    if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{name} is out of date; run python scripts/architecture.py")
        return 1
    PICTURE.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
