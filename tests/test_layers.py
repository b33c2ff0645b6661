"""Imports point one way. This table is the architecture: each room and the rooms it may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "backemf"
BASE = {"errors", "files", "findings", "units", "tables", "statistics", "signal"}
DATA = BASE | {"model", "data"}
RUNS = DATA | {"engine"}
MAY_IMPORT = {
    "errors": set(),
    "findings": set(),
    "tables": {"errors", "findings"},
    "statistics": set(),
    "files": {"errors"},
    "units": {"errors"},
    "signal": {"errors", "units"},
    "model": BASE,
    "engine": BASE | {"model"},
    "data": BASE | {"model"},
    "simulator": RUNS,
    "readings": RUNS,
    "mechanism": RUNS,
    "robot": RUNS | {"simulator"},
    "identify": RUNS | {"simulator", "robot"},
    "targets": RUNS | {"simulator", "robot"},
    "recorder": RUNS | {"simulator", "identify"},
    "fleets": RUNS | {"simulator", "robot", "identify"},
    "report": RUNS | {"simulator", "readings", "mechanism", "robot", "identify", "targets", "fleets"},
    "film": RUNS | {"simulator", "robot", "identify", "targets", "report"},
    "demo": RUNS
    | {"simulator", "readings", "mechanism", "identify", "targets", "report", "film"}
    | {"recorder"},
    "web": BASE | {"model", "data", "targets"},
    "cli": RUNS
    | {
        "simulator",
        "readings",
        "mechanism",
        "robot",
        "identify",
        "targets",
        "recorder",
        "fleets",
        "report",
        "film",
        "web",
        "demo",
    },
}
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
MOST_FILES = 15
"""In one folder: what one can see at a glance."""
MOST_LINES = 400
"""In one file."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(text: str, place: tuple[str, ...]) -> set[str]:
    """Rooms that a file imports, anywhere in it, by statement or by name; `place` is its own dotted name."""
    rooms = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            package = place[: len(place) - node.level] if node.level else ()
            target = (*package, *((node.module or "").split(".") if node.module else ()))
            if target[:1] == ("backemf",):
                rooms |= {target[1]} if len(target) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("backemf.")}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            rooms |= _called(node, place[1])
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


SPELLED_OUT = {"film/offscreen.py"}
"""Imports a name from a list of MuJoCo's own, spelled out beside it."""


def forbidden_imports(path: Path) -> set[str]:
    """Rooms that a file imports and may not; a room that the table does not know may import none."""
    room, name = room_of(path), path.relative_to(SOURCE)
    if room == "__init__":
        return set()
    if room not in MAY_IMPORT:
        return {f"a new room {room!r}: say in this table what it may import"}
    place = ("backemf", *name.with_suffix("").parts)
    wrong = imported_rooms(path.read_text(encoding="utf-8"), place) - MAY_IMPORT[room] - {room}
    spelled_out = name.as_posix() in SPELLED_OUT
    return {room for room in wrong if not (spelled_out and room.startswith("import_module("))}


def test_imports_point_one_way():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    offenders = {str(path.relative_to(SOURCE)): sorted(forbidden_imports(path)) for path in files}
    assert not {name: rooms for name, rooms in offenders.items() if rooms}


def test_nothing_slips_past_the_table():
    place = ("backemf", "model", "motor")
    for text, room in (
        ("from ..data import store", "data"),
        ("import backemf.targets.export", "targets"),
        ("from backemf import identify", "identify"),
        ("def f():\n from ..engine.compile import cache", "engine"),
        ("importlib.import_module('backemf.data.store')", "import_module('backemf.data.store')"),
        ("from importlib import import_module\nimport_module(name)", "import_module(name)"),
        ("__import__('backemf.data')", "import_module('backemf.data')"),
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
        "import backemf.cli.main",
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
