"""Drawn hostile files over every reader: a sentence within 5 s of CPU and 500 MB, in Python and typed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from . import bombs
from .test_readers import Worker

SEED = 20260
CPU, MEMORY = 5.0, 500 << 20
"""Of one file, the interpreter and its libraries included; those take 200 MB of it."""
FEW, MANY = 40, 500

posix = pytest.mark.skipif(sys.platform != "linux", reason="needs pipes, devices and copies of a process")


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("worker") / "errors.txt", "tests.fuzz.bounded_worker")
    yield made
    made.close()


def open_each(chosen, folder: Path, worker: Worker, inputs: Path) -> dict[str, float]:
    """Open every file both ways; what broke a bound is listed."""
    beside = {"table": str(inputs / "table.csv"), "actuator": str(inputs / "actuator.json")}
    wrong, most = [], {"cpu": 0.0, "memory": 0.0, "refused": 0}
    for bomb in chosen:
        here = folder / "here"
        here.mkdir()
        path = bomb.make(here)
        for way, answer in zip(("Python", "shell"), worker.ask(bomb.kind, str(path), beside), strict=True):
            if not isinstance(answer, list):  # the worker itself is gone
                wrong.append(f"{bomb.name}, {way}: {answer}")
                continue
            result, words, cpu, memory = answer
            if result == "wrong" or cpu > CPU or memory > MEMORY:
                wrong.append(f"{bomb.name}, {way}: {result} {words} ({cpu:.1f} s, {memory >> 20} MB)")
            most["cpu"], most["memory"] = max(most["cpu"], cpu), max(most["memory"], memory)
            most["refused"] += result == "refused"
        shutil.rmtree(here)
    assert not wrong, f"{len(wrong)} of {2 * len(chosen)}:\n" + "\n".join(wrong)
    return most


@posix
@pytest.mark.slow
def test_some_hostile_files_are_refused_within_bounds(tmp_path, valid, inputs, worker):
    most = open_each(bombs.drawn(FEW, SEED, valid), tmp_path, worker, inputs)
    assert most["refused"] > FEW


@posix
@pytest.mark.proof
def test_many_hostile_files_are_refused_within_bounds(tmp_path, valid, inputs, worker):
    chosen = bombs.drawn(MANY, SEED + 1, valid)
    assert len(chosen) == MANY
    print(open_each(chosen, tmp_path, worker, inputs))
