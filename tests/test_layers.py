"""Imports point one way. This table is the architecture: each room and the rooms it may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "backemf"
BASE = {
    *("errors", "registry", "findings", "finding_codes", "units", "tables", "files", "statistics", "figure"),
    "bounds",
    "options",
    "signal",
}
LIBRARY = ("physics", "store", "engine", "logs", "results", "analysis", "datasheets", "mujoco")
"""Each may import those before it, and BASE."""
APART = {
    **{"engine": {"logs"}, "logs": {"engine"}, "identify": {"targets"}},
    **{"targets": {"identify", "planning", "sizing"}, "sizing": {"identify", "planning"}},
}
"""Neighbours that do not see each other."""
APPS = ("kits", "playground", "report", "film", "playback", "cli", "web", "demo")
"""Likewise, on top of the library. Kits do not see each other."""
WITHIN_BASE = {
    "errors": set(),
    "registry": {"errors"},
    "finding_codes": {"registry"},
    "findings": {"errors", "finding_codes"},
    "tables": {"errors", "findings", "registry"},
    "statistics": set(),
    "files": {"errors"},
    "units": {"errors"},
    "figure": {"findings"},
    "bounds": {"errors"},
    "options": {"errors", "bounds"},
    "signal": {"errors", "units"},
}


def _may_import() -> dict[str, set[str]]:
    table, below = dict(WITHIN_BASE), set(BASE)
    for room in (*LIBRARY, "identify", "planning", "sizing", "targets", *APPS):
        table[room] = below - APART.get(room, set())
        below = below | {room}
        if room == "store":
            table["codec"] = table["store"]
            below |= {"codec"}
            table["store"] = below - {"store"}
    return table


MAY_IMPORT = _may_import()
HEAVY = (
    "fastapi",
    "uvicorn",
    "serial",
    "can",
    "jax",
    "torch",
    "numba",
    "scipy",
    "mujoco",
    "matplotlib",
    "plotly",
    "pint",
)
MOST_FILES = 20
"""In one folder: what one can see at a glance."""
MOST_LINES = 600
"""In one file."""


def room_of(path: Path) -> str:
    return room_in(path.relative_to(SOURCE).with_suffix("").parts)


def room_in(parts: tuple[str, ...]) -> str:
    """The room of a dotted name behind `backemf`: each app is one, and each kit."""
    if parts[0] in ("apps", "kits") and len(parts) > 1:
        return parts[1] if parts[0] == "apps" else "/".join(parts[:2])
    return parts[0]


def imported_rooms(text: str, place: tuple[str, ...]) -> set[str]:
    """Rooms that a file imports, anywhere in it, by statement or by name; `place` is its own dotted name."""
    rooms = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            package = place[: len(place) - node.level] if node.level else ()
            target = (*package, *((node.module or "").split(".") if node.module else ()))
            if target[:1] == ("backemf",):
                named = [target[1:]] if len(target) > 1 else [(alias.name,) for alias in node.names]
                rooms |= {room_in((*n, *(a.name for a in node.names))) for n in named}
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("backemf.")]
            rooms |= {room_in(tuple(name.split(".")[1:])) for name in names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            rooms |= _called(node, room_in(place[1:]))
    return rooms - {"__version__"}


def _called(call: ast.Call, own: str) -> set[str]:
    """What `importlib.import_module` or `__import__` may reach: its own room by a relative name, or a package
    of somebody else's that is spelled out."""
    name = call.args[0]
    if len(call.args) == 2 and ast.unparse(call.args[1]) == "__package__":
        dots = ast.unparse(name).lstrip("frb").lstrip("'\"")
        inside = dots.startswith(".") and not dots.startswith("..")
        return {own} if inside else {"a relative name beyond its room"}
    if isinstance(name, ast.Constant) and not str(name.value).startswith("backemf"):
        return set()
    return {f"import_module({ast.unparse(name)})"}


SPELLED_OUT = {"apps/film/offscreen.py", "registry.py"}
"""One imports a name from a list of MuJoCo's own, spelled out beside it; the other is the one file that loads
by name."""


def forbidden_imports(path: Path) -> set[str]:
    """Rooms that a file imports and may not; a room that the table does not know may import none."""
    room, name = room_of(path), path.relative_to(SOURCE)
    if room == "__init__":
        return set()
    kit, room = room, room.partition("/")[0]
    if room not in MAY_IMPORT:
        return {f"a new room {room!r}: say in this table what it may import"}
    place = ("backemf", *name.with_suffix("").parts)
    wrong = imported_rooms(path.read_text(encoding="utf-8"), place) - MAY_IMPORT[room] - {room, kit}
    if "kits" in MAY_IMPORT[room]:
        wrong = {room for room in wrong if not room.startswith("kits/")}
    spelled_out = name.as_posix() in SPELLED_OUT
    return {room for room in wrong if not (spelled_out and room.startswith("import_module("))}


def test_imports_point_one_way():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    offenders = {str(path.relative_to(SOURCE)): sorted(forbidden_imports(path)) for path in files}
    assert not {name: rooms for name, rooms in offenders.items() if rooms}


def test_nothing_slips_past_the_table():
    place = ("backemf", "physics", "motor")
    for text, room in (
        ("from ..logs import read", "logs"),
        ("import backemf.targets.export", "targets"),
        ("from backemf import identify", "identify"),
        ("def f():\n from ..engine.compile import cache", "engine"),
        ("importlib.import_module('backemf.store')", "import_module('backemf.store')"),
        ("from importlib import import_module\nimport_module(name)", "import_module(name)"),
        ("__import__('backemf.logs')", "import_module('backemf.logs')"),
        ("importlib.import_module('..data', __package__)", "a relative name beyond its room"),
    ):
        assert imported_rooms(text, place) == {room}
    assert imported_rooms("importlib.import_module('mujoco')", place) == set()


def test_a_room_shows_at_a_glance():
    shown = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    files = Counter(path.parent.relative_to(SOURCE).as_posix() for path in shown)
    crowded = {folder: n for folder, n in files.items() if n > MOST_FILES}
    assert not crowded, f"more than {MOST_FILES} files: {crowded}; a family of files is a folder of its own"


def test_every_file_says_what_it_is_and_stays_short():
    offenders = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not ast.get_docstring(ast.parse(text)):
            offenders.append(f"{path.relative_to(SOURCE)} has no docstring")
        if text.count("\n") > MOST_LINES:
            offenders.append(f"{path.relative_to(SOURCE)} has {text.count(chr(10))} lines; split it by noun")
    assert not offenders, "\n".join(offenders)


@pytest.mark.parametrize(
    "statement",
    [
        "import backemf",
        "from backemf import Actuator, friction, bench; friction.LuGre, bench.Pendulum",
        "import backemf.apps.cli.main",
    ],
)
def test_heavy_packages_load_only_when_needed(statement):
    code = f"{statement}\nimport sys\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    seen = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert seen == "[]"


def test_every_public_name_resolves():
    import backemf

    for name in backemf.__all__:
        assert getattr(backemf, name) is not None
    with pytest.raises(AttributeError, match="has no 'Actuatr'"):
        _ = backemf.Actuatr
    with pytest.raises(AttributeError, match=r"LuGre is be\.friction\.LuGre"):
        _ = backemf.LuGre
