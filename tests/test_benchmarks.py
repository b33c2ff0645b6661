"""The benchmarks run what the library is today: what they compare is the same, and each can be imported."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from .conftest import needed, unavailable

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    """As `python benchmarks/...` finds what lies beside it; what a benchmark adds to the path goes again."""
    monkeypatch.setattr(sys, "path", [str(ROOT), str(ROOT / "benchmarks"), *sys.path])


def test_all_benchmarks_are_run_by_one_command():
    """Those that can be run; the others are parts of them."""
    alone = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if "def main(" in path.read_text(encoding="utf-8") and path.stem != "__main__"
    }
    assert alone == {*importlib.import_module("benchmarks.__main__").BENCHMARKS}


def test_each_number_of_the_pages_is_written_by_a_benchmark_that_all_are_run_with():
    """By the command that stands beside it; and what no run has measured since a day is named."""
    every = importlib.import_module("benchmarks.__main__")
    known = json.loads((ROOT / "docs" / "numbers.json").read_text(encoding="utf-8"))
    wrote = {
        name: re.search(r"python benchmarks/(\w+)\.py( --(?:coverage|line) \d+)?", row["command"])
        for name, row in known.items()
    }
    for name, by in wrote.items():
        assert by is not None, f"{name}: {known[name]['command']}"
        assert by[1] in every.NUMBERS, f"{name}: {known[name]['command']}"
        source = (ROOT / "benchmarks" / f"{by[1]}.py").read_text(encoding="utf-8")
        assert name.partition(".")[0] in source, f"{by[1]}.py writes no {name}"
        assert (by[2] or "").strip() in every.NUMBERS[by[1]] or not by[2], name
    assert len(every.left("9999-12-31")) == len(known)
    assert not any(row.startswith("sizing.cpu") for row in every.left(known["sizing.cpu"]["measured"]))


def test_every_run_of_a_benchmark_writes_its_numbers():
    every = importlib.import_module("benchmarks.__main__")
    assert every.lines("fleet", False) == [["--numbers"], ["--line", "1000", "--numbers"]]
    assert every.lines("emps", False) == [[]]
    assert every.lines("fleet", True) == [["--quick"]]


ELSEWHERE = ("live_report", "days")
QUICK = [name for name in importlib.import_module("benchmarks.__main__").BENCHMARKS if name not in ELSEWHERE]
"""Opening a report in a browser is tested with the reports, and days with the commands of their pages."""
NEEDED = {"live_training": ("warp", "torch")}
"""Packages that a benchmark does nothing without."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:torch.compile is not possible here:UserWarning")  # live_training says so
@pytest.mark.parametrize("name", QUICK)
def test_a_small_part_of_every_benchmark_runs(name, capfd):
    for package in NEEDED.get(name, ()):
        needed(package)
    assert not importlib.import_module(f"benchmarks.{name}").main(["--quick"])
    assert capfd.readouterr().out


@pytest.mark.slow
def test_loops_in_c_and_numpy_and_derivatives_by_jax_are_those_of_the_engine(monkeypatch):
    """300 steps: the first standstill inside a step, from which versions of the step differ, is the 153rd."""
    if shutil.which("gcc") is None:
        unavailable("gcc")
    engines = importlib.import_module("benchmarks.engines")
    engines.check(300)
    importlib.import_module("benchmarks.live_population").check(300, many=64)
    loop = engines.numpy_loop
    monkeypatch.setattr(engines, "numpy_loop", lambda n: loop(n) + 1e-8)  # ten times the bound
    with pytest.raises(AssertionError):
        engines.check(300)
