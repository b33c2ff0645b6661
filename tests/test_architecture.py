"""The picture and the table of rooms in the docs are those of the table that the tests enforce."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_and_the_picture_are_current():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "architecture.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_arrows_that_a_longer_way_replaces_are_left_out(monkeypatch):
    """By hand: a diamond with its diagonal, and a base of two files drawn as one."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import architecture

    table = {"x": set(), "y": {"x"}, "a": {"x", "y"}, "b": {"a", "x"}, "c": {"a"}, "d": {"a", "b", "c", "y"}}
    arrows = architecture.reduced(architecture.grounded(table, {"x", "y"}))
    assert arrows == {"base": set(), "a": {"base"}, "b": {"a"}, "c": {"a"}, "d": {"b", "c"}}
    with pytest.raises(SystemExit, match="in a circle: p -> q -> p"):
        architecture.reduced({"p": {"q"}, "q": {"p"}})
