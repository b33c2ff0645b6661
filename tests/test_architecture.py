"""The picture of the rooms is that of the table that the tests enforce, and paths that pages name exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))


def test_the_picture_is_current():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "architecture.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_rooms_stand_right_of_what_they_import(monkeypatch):
    """By hand: two that do not see each other in one column, and one that sees only the second of them."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import architecture

    table = {"x": set(), "a": {"x"}, "b": {"a"}, "c": {"a"}, "d": {"a", "c"}, "e": {"a", "b", "c", "d"}}
    assert architecture.columns(table, ["a", "b", "c", "d", "e"]) == [["a"], ["b", "c"], ["", "d"], ["e"]]
    with pytest.raises(SystemExit, match="in a circle: p -> q -> p"):
        architecture.columns({"p": {"q"}, "q": {"p"}}, ["p", "q"])


def test_every_room_has_its_box():
    shown = (ROOT / "docs" / "img" / "architecture.svg").read_text(encoding="utf-8")
    source = ROOT / "src" / "backemf"
    rooms = [p for p in source.iterdir() if p.is_dir() and (p / "__init__.py").exists()]
    inner = [p.parent for tier in ("apps", "kits") for p in (source / tier).glob("*/__init__.py")]
    for room in (*rooms, *inner):
        assert room.name in ("apps", "kits") or f"{room.name}/" in shown, room.name


PATH = re.compile(r"`((?:src/backemf|tests|docs|scripts|benchmarks|typings)/[\w./*<>-]*)`")
WITHIN = re.compile(
    r"`((?:physics|engine|logs|results|analysis|datasheets|mujoco|identify|planning|targets|kits|apps)/[\w./*<>-]*)`"
)


def named_paths(page: Path) -> set[str]:
    """Files and folders that a page names; those with a <hole> in them up to it."""
    text = page.read_text(encoding="utf-8")
    named = {*PATH.findall(text), *(f"src/backemf/{name}" for name in WITHIN.findall(text))}
    return {name.partition("<")[0] for name in named}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", *PAGES])
def test_paths_that_pages_name_exist(page):
    lost = [name for name in sorted(named_paths(ROOT / page)) if not [*ROOT.glob(name.rstrip("/"))]]
    assert not lost, f"{page} names {', '.join(lost)}"


def test_contributing_names_paths():
    assert len(named_paths(ROOT / "CONTRIBUTING.md")) > 15


def test_the_door_is_one_page():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700
