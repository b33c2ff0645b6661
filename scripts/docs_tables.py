"""The parts of the documentation that come from the code: the command line's reference and the table of
parameters; and the numbers that benchmarks measured (docs/numbers.json), wherever a page states one between
<!--n:NAME--> and <!--/n-->.

python scripts/docs_tables.py            writes them into docs/
python scripts/docs_tables.py --check    changes nothing; names what is out of date and ends with 1
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for cells in [header, ["---"] * len(header), *rows]
    )


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its words, in the order of the flow; a group comes before its own."""
    for name, one in group.commands.items():
        yield (*words, name), one
        if hasattr(one, "commands"):
            yield from commands(one, (*words, name))


def command_line() -> str:
    """Every command with its help, example, arguments and options."""
    import typer

    from backemf.apps.cli.main import app

    group: Any = typer.main.get_command(app)
    group.list_commands(None)  # adds those of other packages
    found = list(commands(group))
    flow = sorted(
        found, key=lambda row: row[0][0] == "demo"
    )  # the demonstration is last; sorting keeps the rest in order
    return "\n\n".join(_command(words, _described(one)) for words, one in flow)


def _described(one: Any) -> Any:
    """A command with the choices in its help spelled out."""
    return one.describe() if hasattr(one, "describe") else one


def _command(words: tuple[str, ...], one: Any) -> str:
    said, _, example = re.sub(r"[ \t]*\n[ \t]*", "\n", one.help.strip()).partition("Example:")
    parts = ["#" * (1 + len(words)) + f" `backemf {' '.join(words)}`", said.strip()]
    if example:
        parts.append(f"```sh\n{example.strip()}\n```")
    hints = typing.get_type_hints(inspect.unwrap(one.callback)) if one.callback else {}
    rows = [
        _parameter(p, _kind(hints.get(p.name, str)))
        for p in one.params
        if not getattr(p, "hidden", False) and p.name != "help"
    ]
    if rows:
        parts.append(markdown(("option", "what it does", "default"), rows))
    return "\n\n".join(parts)


def _kind(hint: Any) -> str:
    """What to write behind an option of that type."""
    inside = [a for a in typing.get_args(hint) if a is not type(None)]
    if typing.get_origin(hint) is tuple:
        return " ".join(_kind(a) for a in inside)
    return _kind(inside[0]) if inside else {float: "NUMBER", int: "COUNT", Path: "PATH"}.get(hint, "TEXT")


def _typed(p: Any, kind: str) -> str:
    """What is typed behind an option: a number is text to typer, for its unit may stand behind it."""
    number = {"<number>": "NUMBER", "<number[unit]>": "NUMBER[UNIT]", "<count>": "COUNT"}.get(p.metavar, "")
    return " ".join([number] * p.nargs) or kind


def _parameter(p: Any, kind: str) -> tuple[str, str, str]:
    many = " ..." if p.nargs == -1 or getattr(p, "multiple", False) else ""
    if p.param_type_name == "argument":
        name = f"`{p.name.upper()}`{many}"
    else:
        kind = "" if p.is_flag else f" {_typed(p, kind)}"
        name = (
            ", ".join(f"`{o}{kind}`" for o in (*sorted(p.opts, key=len, reverse=True), *p.secondary_opts))
            + many
        )
    shown = not (p.default in (None, "") or isinstance(p.default, bool) or p.is_eager)
    return name, (p.help or "").strip(), "required" if p.required else f"`{p.default}`" if shown else ""


def parameters() -> str:
    """Every quantity of the model: path, symbol, unit, range, and the functions in which it acts."""
    from backemf.physics import bench, drive, friction, gearbox, law, motor, quantity, thermal

    acts = _readers()
    tables = []
    for title, modules in (
        ("Motor", (motor, thermal)),
        ("Gearbox", (gearbox,)),
        ("Friction", (friction, *_modules(friction.FRICTIONS))),
        ("Drive", (law, drive, *_modules(drive.DRIVES))),
        ("Bench", (bench,)),
    ):
        rows: list[tuple[str, ...]] = []
        for module in modules:
            for cls in [
                v
                for v in vars(module).values()
                if isinstance(v, type) and issubclass(v, quantity.Part) and v.__module__ == module.__name__
            ]:
                rows += _quantities(cls, acts)
        tables.append(
            f"## {title}\n\n" + markdown(("name", "symbol", "unit", "range", "of", "acts in"), _merged(rows))
        )
    return "\n\n".join(tables)


def _modules(table: Any) -> list[Any]:
    """Files of the rows that other packages added."""
    return [sys.modules[table[name].__module__] for name in table.other_names]


def _quantities(cls: Any, acts: Mapping[tuple[str, str], list[str]]) -> list[tuple[str, ...]]:
    """The rows of one class: what it adds to the classes it is made of."""
    rows = []
    for f in dataclasses.fields(cls):
        if "unit" not in f.metadata or f.name not in cls.__annotations__:
            continue
        own = [
            place for c in (*cls.__mro__, *_descendants(cls)) for place in acts.get((c.__name__, f.name), ())
        ]
        where = own or acts.get((cls.path.rpartition(".")[2], f.name), [])
        unit = "-" if f.metadata["unit"] == "1" else f.metadata["unit"].replace(" ", "\u00a0")
        rows.append(
            (
                f"`{cls.path}.{f.name}`",
                f.metadata["symbol"],
                unit,
                _range(f),
                f"`{cls.__name__}`",
                _few(where),
            )
        )
    return rows


def _merged(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """One row for a name that means the same in several classes."""
    found: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    for *what, of, places in rows:
        classes, where = found.setdefault(tuple(what), ([], []))
        classes.append(of)
        where += [place for place in places.split(", ") if place not in where]
    return [(*what, ", ".join(classes), ", ".join(where)) for what, (classes, where) in found.items()]


def _few(places: list[str]) -> str:
    return ", ".join(f"`{p}`" for p in places[:3]) + (", ..." if len(places) > 3 else "") or "-"


def _descendants(cls: type) -> list[type]:
    return [d for c in cls.__subclasses__() for d in (c, *_descendants(c))]


def _range(f: Any) -> str:
    above, least, most = (f.metadata[k] for k in ("above", "least", "most"))
    low = f"> {above:g}" if above is not None else f">= {least:g}" if least is not None else ""
    text = ", ".join(x for x in (low, f"<= {most:g}" if most is not None else "") if x) or "any"
    return (text + (", or none" if f.default is None else "")).replace(" ", "\u00a0")  # kept on one line


def _readers() -> dict[tuple[str, str], list[str]]:
    """(class or part, field) -> the functions that read it, found in the source:
    `self.static` of a class, `motor.rotor_inertia` of a part."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in [
        *sorted((ROOT / "src/backemf/physics").glob("*.py")),
        ROOT / "src/backemf/engine/simulate.py",
    ]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [(path.stem, n) for n in tree.body if isinstance(n, ast.FunctionDef)]
        functions += [
            (c.name, n)
            for c in tree.body
            if isinstance(c, ast.ClassDef)
            for n in c.body
            if isinstance(n, ast.FunctionDef)
        ]
        for home, function in functions:
            if function.name.startswith(("__", "has_")) or function.name in (
                "check",
                "findings",
                "reflect",
                "time_constant",
            ):
                continue
            place = home if function.name.startswith("_") else f"{home}.{function.name}"
            for node in ast.walk(function):
                if not isinstance(node, ast.Attribute) or not isinstance(
                    node.value, ast.Name | ast.Attribute
                ):
                    continue
                owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                places = found.setdefault((home if owner == "self" else owner, node.attr), [])
                if place not in places:
                    places.append(place)
    return found


def smallest() -> Any:
    """The smallest step, lowered: a motor with viscous friction, driven by a voltage."""
    from backemf.engine.compile.lower import lower
    from backemf.engine.system import ActuatorSystem
    from backemf.physics.actuator import Actuator
    from backemf.physics.bench import FreeShaft
    from backemf.physics.friction import Viscous
    from backemf.physics.motor import Motor

    motor = Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
    actuator = Actuator(motor=motor, friction=Viscous(viscous=0.01))
    return lower(ActuatorSystem(actuator=actuator, bench=FreeShaft(), inputs=("voltage_target",)))


def kernel() -> str:
    """The smallest step as machine.py gets it."""
    from backemf.engine.compile.dialects.numba import stepper_source

    source = stepper_source(smallest())
    step = source[source.index("def step(") :].partition('"""')[0]
    return f"```text\n{step.strip()}\n```"


def kernel_js() -> str:
    """The same in JavaScript."""
    from backemf.engine.compile.dialects.js import emit

    return f"```text\n{emit('kernel', smallest()).strip()}\n```"


def entries() -> str:
    """Everything that a datasheet may print: names, symbols, unit, and where it goes."""
    from backemf.datasheets.datasheet import ENTRIES, TWICE
    from backemf.datasheets.toml import FIRMWARE, OTHER_UNITS, SYMBOLS

    also = {name: bare for bare, names in TWICE.items() for name in names[1:]}
    rows = []
    for name, kind in ENTRIES.items():
        symbols = [*kind.aliases, *([also[name]] if name in also else [])]
        unit = "-" if kind.unit == "1" else kind.unit.replace(" ", "\u00a0")
        goes = kind.becomes or "solved with the others, and compared"
        rows.append((f"`{name}`", " ".join(f"`{s}`" for s in symbols) or "-", unit, kind.text, goes))
    by = {name: [s for s, names in SYMBOLS.items() if name in names] for name in FIRMWARE}
    settings = []
    for name, unit in FIRMWARE.items():
        units = " or ".join(u for u in (unit, OTHER_UNITS.get(name)) if u)
        symbols = " ".join(f"`{s}`" for s in by[name]) or "-"
        settings.append((f"`{name}`", symbols, "-" if units == "1" else units))
    head = ("entry", "symbols", "unit", "what it is", "where it goes")
    return f"{markdown(head, rows)}\n\n{markdown(('firmware', 'symbols', 'unit'), settings)}"


def rows() -> str:
    """Every registry with its entry points, its rows and what they are."""
    from backemf.apps.cli.main import COMMANDS
    from backemf.apps.report.sections import SECTIONS
    from backemf.kits.recorder.buses import BUSES
    from backemf.logs.readers import READERS
    from backemf.physics.bench import BENCHES
    from backemf.physics.drive import DRIVES
    from backemf.physics.friction import FRICTIONS
    from backemf.targets.sources import SOURCES
    from backemf.targets.table import TARGETS

    kinds = (READERS, SOURCES, FRICTIONS, DRIVES, BENCHES, TARGETS, BUSES, COMMANDS, SECTIONS)
    cells = [(one.kind, f"`{name}`", _about(one[name])) for one in kinds for name in one]
    return markdown(("registry", "row", "what it is"), cells)


def _about(row: Any) -> str:
    """What a row says of itself: a target's text, a reader's format, a section's title, or the first sentence
    of a docstring; of a command as data, that of what it runs."""
    said = getattr(row, "what", "") or getattr(row, "FORMAT", "") or ", ".join(getattr(row, "suffixes", ()))
    said = said or getattr(row, "title", "") or getattr(getattr(row, "info", row), "help", "")
    text = said or getattr(row, "run", row).__doc__ or ""
    return " ".join(re.split(r"\.\s|\n\n", text.strip())[0].split()).rstrip(".").replace("<", "\\<")


def findings() -> str:
    """Every code by what it is about."""
    from backemf.finding_codes import FINDINGS

    by: dict[str, list[tuple[str, ...]]] = {}
    for code, row in FINDINGS.items():
        by.setdefault(row.about, []).append((f"`{code}`", row.meaning, row.remedy, row.since))
    head = ("code", "meaning", "what to do", "since")
    return "\n\n".join(f"## {about}\n\n{markdown(head, cells)}" for about, cells in by.items())


MADE = {
    "findings": ("findings.md", findings),
    "rows": ("extend.md", rows),
    "cli": ("cli.md", command_line),
    "parameters": ("parameters.md", parameters),
    "kernel": ("engines.md", kernel),
    "kernel-js": ("engines.md", kernel_js),
    "entries": ("datasheets.md", entries),
}


def filled(page: Path, name: str, text: str) -> str:
    """The page with a text between its marks."""
    before, first, rest = page.read_text(encoding="utf-8").partition(f"<!-- begin {name} -->\n")
    _, last, after = rest.partition(f"<!-- end {name} -->")
    if not (first and last):
        raise SystemExit(
            f"{page.name} has no marks for {name!r}; expected <!-- begin {name} --> and <!-- end {name} -->"
        )
    return f"{before}{first}{text}\n{last}{after}"


def fill(page: Path, name: str, text: str) -> None:
    """Put a text between its marks in a page."""
    whole = page.with_suffix(".new")
    whole.write_text(filled(page, name, text), encoding="utf-8")
    whole.replace(page)


def mapping(target: str) -> str:
    """What becomes of each of our numbers in a target."""
    from backemf.targets.export import module_of

    found = module_of(target)
    rows, known = [row[:3] for row in found.rows], {(row.ours, row.remarks) for row in found.rows}
    first = {id(spec): version for version, spec in reversed(getattr(found, "versions", {}).items())}
    for version in reversed(first.values()):
        spec = found.versions[version]
        for row in spec.rows:
            if spec.template != found.template or (row.ours, row.remarks) not in known:
                rows.append((row.ours, f"{version}: {row.theirs}", row.remarks))
    return markdown(("backemf", target, "remarks"), rows)


def made() -> dict[str, tuple[str, Any]]:
    """Name -> (page, what makes it), a page of every target among them."""
    from backemf.targets.export import TARGETS

    pages = {
        f"mapping {name}": (f"targets/{name}.md", lambda name=name: mapping(name))
        for name in TARGETS.own_names
    }
    return {**MADE, **pages}


STATED = re.compile(r"<!--n:(?P<name>[^>]*?)-->(?P<value>.*?)<!--/n-->")
"""A measured number in a page."""


def fill_numbers(text: str, page: str, known: Mapping[str, Mapping[str, str]]) -> str:
    """A page with every measured number as it was measured; an error where nobody has."""

    def number(match: re.Match[str]) -> str:
        if match["name"] not in known:
            raise SystemExit(f"{page} states {match['name']!r}, which is not in docs/numbers.json")
        return f"<!--n:{match['name']}-->{known[match['name']]['value']}<!--/n-->"

    return STATED.sub(number, text)


def numbers_stale(check: bool) -> int:
    """Fill the measured numbers of every page; how many pages were out of date."""
    known = json.loads((PAGES / "numbers.json").read_text(encoding="utf-8"))
    stale = 0
    for page in (ROOT / "README.md", *sorted(PAGES.rglob("*.md"))):
        before = page.read_text(encoding="utf-8")
        after, name = fill_numbers(before, page.name, known), page.relative_to(ROOT)
        if before == after:
            continue
        stale += 1
        if not check:
            page.write_text(after, encoding="utf-8")
        print(f"{name} is out of date; run python scripts/docs_tables.py" if check else f"wrote {name}")
    return stale


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; end with 1 if something is out of date"
    )
    asked = parser.parse_args()
    stale = numbers_stale(asked.check)
    for name, (file, make) in made().items():
        page = PAGES / file
        text = make()
        if filled(page, name, text) == page.read_text(encoding="utf-8"):
            continue
        stale += 1
        if asked.check:
            print(f"docs/{file} is out of date; run python scripts/docs_tables.py")
            continue
        fill(page, name, text)
        print(f"wrote docs/{file}")
    return 1 if stale and asked.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
