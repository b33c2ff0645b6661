"""The benchmarks run what the library is today: what they compare is the same, and each can be imported."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest

from .conftest import unavailable

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    """As `python benchmarks/...` finds what lies beside it; what a benchmark adds to the path goes again."""
    monkeypatch.setattr(sys, "path", [str(ROOT), str(ROOT / "benchmarks"), *sys.path])


def test_every_benchmark_finds_what_it_imports():
    names = [path.stem for path in (ROOT / "benchmarks").glob("*.py")]
    assert len(names) > 10
    for name in names:
        importlib.import_module(f"benchmarks.{name}")


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
