"""The benchmarks run what the library is today: what they compare is the same, and each can be imported."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest

from .conftest import unavailable

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


ELSEWHERE = ("live_report", "days")
QUICK = [name for name in importlib.import_module("benchmarks.__main__").BENCHMARKS if name not in ELSEWHERE]
"""Opening a report in a browser is tested with the reports, and days with the commands of their pages."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:torch.compile is not possible here:UserWarning")  # live_training says so
@pytest.mark.parametrize("name", QUICK)
def test_a_small_part_of_every_benchmark_runs(name, capfd):
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
