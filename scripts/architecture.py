"""The picture and the table of rooms in docs/architecture.md, drawn from the table in tests/test_layers.py.

python scripts/architecture.py            writes docs/img/architecture.svg and the table in the page
python scripts/architecture.py --check    changes nothing; names what is out of date and ends with 1
"""

from __future__ import annotations

import argparse
import ast
import colorsys
import importlib.util
import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from docs_tables import PAGES, ROOT, filled, markdown

PAGE, PICTURE = PAGES / "architecture.md", PAGES / "img" / "architecture.svg"
BASE = "base"
"""The files beside the rooms, which every room may import, drawn as one box."""
WIDTH, HEIGHT, LANE, GAP, RISE, MARGIN = 184, 74, 14, 26, 42, 12
"""Of a box; the width of an arrow that passes a layer; between neighbours; between layers; around it all."""
LETTERS, LINES = 29, 3
"""What fits into a box under its name."""
FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
GROUND, SKY = 40, 275
"""Hues of the lowest and the highest layer; boxes bring their own background, dark text on light."""
INK, SOFT, LINE = "#1c2530", "#43505e", "#7d8a97"
"""Names, sentences, and lines: a grey that shows on white and on black."""

Graph = Mapping[str, set[str]]
"""Room -> rooms."""


# What the picture shows


def layers() -> Any:
    """tests/test_layers.py as a module."""
    spec = importlib.util.spec_from_file_location("test_layers", ROOT / "tests" / "test_layers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def grounded(may_import: Graph, base: set[str]) -> dict[str, set[str]]:
    """The same with the base as one room."""
    rooms = {room: {BASE if x in base else x for x in may} for room, may in may_import.items()}
    return {BASE: set(), **{room: may for room, may in rooms.items() if room not in base}}


def reachable(graph: Graph, room: str, way: tuple[str, ...] = ()) -> set[str]:
    """Every room that arrows lead to."""
    if room in way:
        raise SystemExit(f"the table goes in a circle: {' -> '.join((*way[way.index(room) :], room))}")
    return graph[room].union(*(reachable(graph, x, (*way, room)) for x in graph[room]))


def reduced(graph: Graph) -> dict[str, set[str]]:
    """The transitive reduction: no arrow where a longer way leads to the same room."""
    return {
        room: may - set().union(*(reachable(graph, x, (room,)) for x in may)) for room, may in graph.items()
    }


def sentence(room: str) -> str:
    """What a room says it is: the first paragraph of its docstring."""
    source = ROOT / "src" / "backemf"
    for path in (
        source / room / "__init__.py",
        source / "apps" / room / "__init__.py",
        source / f"{room}.py",
    ):
        if path.exists():
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            return " ".join(text.partition("\n\n")[0].split())
    return "still to be built."


def rooms_table(may_import: Graph, base: set[str]) -> str:
    """Every room, what it is, and every room it may import."""
    rows = []
    for room, may in may_import.items():
        names = [f"`{x}`" for x in may_import if x in may and not (x in base and base <= may)]
        if base <= may:
            names.insert(0, f"the {BASE}")
        source = ROOT / "src" / "backemf"
        inside = "apps/" if (source / "apps" / room).is_dir() else ""
        place = f"`{room}.py`" if (source / f"{room}.py").exists() else f"`{inside}{room}/`"
        what = sentence(room).replace("<", "&lt;")
        rows.append((place, what, ", ".join(names) or "nothing"))
    return markdown(("room", "what it is", "may import"), rows)


# Where it stands


@dataclass
class Place:
    """A box, or the lane of an arrow that passes a layer."""

    layer: int
    width: float
    x: float = 0.0
    """Of its middle."""
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


def heights(graph: Graph) -> dict[str, int]:
    """The length of the longest way to the ground."""
    found: dict[str, int] = {}
    for room in sorted(graph, key=lambda r: len(reachable(graph, r))):
        found[room] = 1 + max((found[x] for x in graph[room]), default=-1)
    return found


def laid_out(graph: Graph) -> tuple[dict[str, Place], list[list[str]]]:
    """(places, chains of names from box to box), with a lane in every layer that an arrow passes."""
    height = heights(graph)
    places = {room: Place(height[room], WIDTH) for room in graph}
    chains = []
    arrows = [(room, to) for room in graph for to in graph if to in graph[room]]
    for room, to in arrows:
        lanes = {f"{room}>{to}>{k}": k for k in range(height[room] - 1, height[to], -1)}
        places |= {name: Place(k, LANE) for name, k in lanes.items()}
        chains.append([room, *lanes, to])
        for upper, lower in zip(chains[-1], chains[-1][1:], strict=False):
            places[upper].below.append(lower)
            places[lower].above.append(upper)
    rows = [[n for n, p in places.items() if p.layer == k] for k in range(max(height.values()) + 1)]
    rows = ordered(rows, places)
    for row in rows:
        spread(row, places, [0.0] * len(row))
    for _ in range(60):
        for row in (*rows, *rows[::-1]):
            spread(row, places, [_middle(places, name) for name in row])
    return places, chains


def _middle(places: Mapping[str, Place], name: str) -> float:
    """Where a box would like to stand: in the middle of its neighbours; the long ways want to be straight."""
    near = [*places[name].above, *places[name].below]
    weights = [8.0 if ">" in name and ">" in x else 1.0 for x in near]
    return sum(w * places[x].x for w, x in zip(weights, near, strict=True)) / sum(weights)


def crossings(rows: Sequence[Sequence[str]], places: Mapping[str, Place]) -> int:
    total = 0
    for lower, upper in itertools.pairwise(rows):
        at = {name: k for k, name in enumerate(lower)}
        ends = [(k, at[x]) for k, name in enumerate(upper) for x in places[name].below]
        total += sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[:i])
    return total


def ordered(rows: list[list[str]], places: Mapping[str, Place]) -> list[list[str]]:
    """The order in every layer with few crossings: sorted by neighbours, up and down, then by swaps."""
    best = [list(row) for row in rows]
    trial = [list(row) for row in rows]
    for sweep in range(24):
        beside: Callable[[Place], list[str]] = (lambda p: p.below) if sweep % 2 == 0 else (lambda p: p.above)
        for k in range(1, len(trial)) if sweep % 2 == 0 else range(len(trial) - 2, -1, -1):
            near = trial[k - 1] if sweep % 2 == 0 else trial[k + 1]
            at = {name: i / max(len(near) - 1, 1) for i, name in enumerate(near)}
            ranks = {n: [at[x] for x in beside(places[n])] or [0.5] for n in trial[k]}
            trial[k].sort(key=lambda n, ranks=ranks: sum(ranks[n]) / len(ranks[n]))
        if crossings(trial, places) < crossings(best, places):
            best = [list(row) for row in trial]
    improved = True
    while improved:
        improved = False
        for row in best:
            for i in range(len(row) - 1):
                before = crossings(best, places)
                row[i], row[i + 1] = row[i + 1], row[i]
                if crossings(best, places) < before:
                    improved = True
                else:
                    row[i], row[i + 1] = row[i + 1], row[i]
    return best


def spread(row: Sequence[str], places: Mapping[str, Place], wanted: Sequence[float]) -> None:
    """Stand as near to the wanted places as the order and the gaps allow, in the least squares sense."""
    widths = [places[name].width for name in row]
    offset = [0.0]
    for a, b in itertools.pairwise(widths):
        offset.append(offset[-1] + (a + b) / 2 + GAP)
    blocks: list[tuple[float, int]] = []  # (mean, how many): neighbours that would overlap move together
    for want, off in zip(wanted, offset, strict=True):
        mean, n = want - off, 1
        while blocks and blocks[-1][0] > mean:
            before, m = blocks.pop()
            mean, n = (mean * n + before * m) / (n + m), n + m
        blocks.append((mean, n))
    free = [mean for mean, n in blocks for _ in range(n)]
    for name, mean, off in zip(row, free, offset, strict=True):
        places[name].x = mean + off


# How it is drawn


def picture(graph: Graph, base: Sequence[str]) -> str:
    """The whole picture as SVG."""
    places, chains = laid_out(graph)
    left = min(p.x - p.width / 2 for p in places.values()) - MARGIN
    right = max(p.x + p.width / 2 for p in places.values()) + MARGIN
    top = max(p.layer for p in places.values())
    places[BASE].width, places[BASE].x = right - left - 2 * MARGIN, (left + right) / 2
    y = {k: MARGIN + (top - k) * (HEIGHT + RISE) for k in range(top + 1)}
    width, height = right - left, y[0] + HEIGHT + MARGIN
    names = ", ".join(graph)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" font-family="{FONT}" role="img">',
        f"<title>Rooms of backemf and what each may import: {escape(names)}</title>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9"'
        ' markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0,0.8 L10,5 L0,9.2 z" fill="{LINE}"/></marker></defs>',
        f'<g fill="none" stroke="{LINE}" stroke-width="1.6">',
        *(_arrow(chain, places, y, left) for chain in chains),
        "</g>",
    ]
    for room in graph:
        what = " ".join(f"{x}.py" for x in base) if room == BASE else sentence(room)
        hue = GROUND + (SKY - GROUND) * places[room].layer / top
        lines += _box(room, what, places[room], y[places[room].layer], left, hue)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _ports(name: str, near: Sequence[str], places: Mapping[str, Place]) -> dict[str, float]:
    """Where arrows leave or reach a box: side by side, in the order of their other ends."""
    step = min(24.0, 0.7 * places[name].width / max(len(near), 1))
    inner = sorted(near, key=lambda n: places[n].x)
    return {n: places[name].x + step * (i - (len(inner) - 1) / 2) for i, n in enumerate(inner)}


def _arrow(chain: Sequence[str], places: Mapping[str, Place], y: Mapping[int, float], left: float) -> str:
    """A line that leaves a box straight down, passes layers in its lanes, and ends with a head."""
    path = ""
    for upper, lower in itertools.pairwise(chain):
        x0 = _ports(upper, places[upper].below, places)[lower] - left
        x1 = _ports(lower, places[lower].above, places)[upper] - left
        if lower == BASE:  # as wide as the picture: arrows fall straight onto it
            x1 = x0
        y0, y1 = y[places[upper].layer] + HEIGHT, y[places[lower].layer]
        bend = RISE * 0.55
        path += f"{'L' if path else 'M'}{x0:.1f},{y0:.1f} "
        path += f"C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f} "
    return f'<path d="{path.strip()}" marker-end="url(#head)"/>'


def _box(room: str, what: str, place: Place, y: float, left: float, hue: float) -> list[str]:
    x, middle = place.x - place.width / 2 - left, place.x - left
    title = BASE if room == BASE else f"{room}/"
    said = textwrap.wrap(_short(what), LETTERS if room != BASE else 200)[:LINES]
    first = y + HEIGHT / 2 + 5 - 7.5 * len(said)
    r, g, b = (round(255 * c) for c in colorsys.hls_to_rgb(hue / 360, 0.88, 0.5))
    return [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{place.width:.1f}" height="{HEIGHT}" rx="7"'
        f' fill="#{r:02x}{g:02x}{b:02x}"'
        f' stroke="{LINE}"/>',
        f'<text x="{middle:.1f}" y="{first:.1f}" text-anchor="middle" font-size="15" font-weight="600"'
        f' fill="{INK}">{escape(title)}</text>',
        *(
            f'<text x="{middle:.1f}" y="{first + 16 + 14 * k:.1f}" text-anchor="middle" font-size="11.5"'
            f' fill="{SOFT}">{escape(line)}</text>'
            for k, line in enumerate(said)
        ),
    ]


def _short(what: str) -> str:
    """As much of a sentence as a box can hold: up to its colon, or to the last comma that fits."""
    text = what.partition(":")[0].rstrip(".")
    while len(textwrap.wrap(text, LETTERS)) > LINES and "," in text:
        text = text.rpartition(",")[0]
    return text


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; end with 1 if something is out of date"
    )
    asked = parser.parse_args()
    table = layers()
    graph = reduced(grounded(table.MAY_IMPORT, table.BASE))
    base = [room for room in table.MAY_IMPORT if room in table.BASE]
    made = {
        PICTURE: picture(graph, base),
        PAGE: filled(PAGE, "rooms", rooms_table(table.MAY_IMPORT, table.BASE)),
    }
    stale = [p for p, text in made.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    for path in stale:
        name = path.relative_to(ROOT).as_posix()
        if asked.check:
            print(f"{name} is out of date; run python scripts/architecture.py")
            continue
        path.write_text(made[path], encoding="utf-8", newline="\n")
        print(f"wrote {name}")
    return 1 if stale and asked.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
