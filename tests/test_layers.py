"""Imports point one way. This table is the architecture: each room and the rooms it may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "backemf"
BASE = {"errors", "files", "findings", "units", "tables"}
MAY_IMPORT = {
    "errors": set(),
    "files": {"errors"},
    "findings": set(),
    "tables": set(),
    "units": {"errors"},
    "model": BASE,
    "engine": BASE | {"model"},
    "data": BASE | {"model"},
    "identify": BASE | {"model", "engine", "data"},
    "targets": BASE | {"model", "engine", "data"},
    "report": BASE | {"model", "engine", "data", "identify", "targets"},
    "cli": BASE | {"model", "engine", "data", "identify", "targets", "report"},
}
HEAVY = ("jax", "torch", "numba", "scipy", "mujoco", "matplotlib", "plotly", "pint")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of backemf that a file imports, anywhere in it."""
    inside = ("backemf", *path.relative_to(SOURCE).with_suffix("").parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            package = inside[: len(inside) - node.level] if node.level else ()
            target = (*package, *((node.module or "").split(".") if node.module else ()))
            if target[:1] == ("backemf",):
                found |= {target[1]} if len(target) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("backemf.")}
    return found - {"__version__"}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    room = room_of(path)
    if room == "__init__":
        return
    assert room in MAY_IMPORT, f"a new room {room!r}: say in this table what it may import"
    wrong = imported_rooms(path) - MAY_IMPORT[room] - {room}
    assert not wrong, f"{path.relative_to(SOURCE)} imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_file_says_what_it_is_and_stays_short(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{path.name} has no docstring"
    assert text.count("\n") <= 400, f"{path.name} has {text.count(chr(10))} lines; split it by noun"


@pytest.mark.parametrize(
    "statement",
    ["import backemf", "from backemf import Actuator, Motor, LuGre, Pendulum", "import backemf.cli.main"],
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
