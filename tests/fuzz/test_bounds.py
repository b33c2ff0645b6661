"""Drawn hostile files over every reader: a sentence within 5 s and 500 MB, in Python and typed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import backemf as be
from backemf import bounds
from backemf.apps.cli.main import app
from backemf.errors import InvalidValue, TooLarge
from backemf.mujoco.explain.explanation import explain

from ..cli.runner import invoked
from ..conftest import needed
from . import bombs
from .test_readers import Worker

SEED = 20260
DRAWN = int(os.environ.get("BACKEMF_SEED", str(SEED + 1)))
"""Seed of the many files."""
SECONDS, MEMORY = 5.0, 500 << 20
"""Time, CPU time and memory of a file, the interpreter and its libraries included: 200 MB of it."""
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
    wrong, most = [], {"cpu": 0.0, "seconds": 0.0, "memory": 0.0, "refused": 0}
    for bomb in chosen:
        here = folder / "here"
        here.mkdir()
        path = bomb.make(here)
        for way, answer in zip(("Python", "shell"), worker.ask(bomb.kind, str(path), beside), strict=True):
            if not isinstance(answer, list):  # the worker itself is gone
                wrong.append(f"{bomb.name}, {way}: {answer}")
                continue
            result, words, cpu, seconds, memory = answer
            if result == "wrong" or max(cpu, seconds) > SECONDS or memory > MEMORY:
                took = f"{cpu:.1f} s of CPU, {seconds:.1f} s, {memory >> 20} MB"
                wrong.append(f"{bomb.name}, {way}: {result} {words} ({took})")
            for what, used in (("cpu", cpu), ("seconds", seconds), ("memory", memory)):
                most[what] = max(most[what], used)
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
    chosen = bombs.drawn(MANY, DRAWN, valid)
    assert len(chosen) == MANY
    assert {bomb.kind for bomb in chosen} >= set(valid), "no file for some reader"
    print(f"seed {DRAWN}:", open_each(chosen, tmp_path, worker, inputs))


@posix
@pytest.mark.slow
def test_files_of_many_channels_and_of_deep_blocks_are_refused_within_bounds(tmp_path, inputs, worker):
    deep = ("one another", "base of 60", "attributes", "bodies in")
    chosen = [b for b in bombs.every(np.random.default_rng(SEED)) if any(word in b.name for word in deep)]
    most = open_each([*bombs.wide(), *chosen], tmp_path, worker, inputs)
    assert most["refused"] >= 20  # 6 wide ones and 3 texts, each of them twice, and models


BODY = '<body name="arm"><joint name="knee" type="hinge"/><geom size="0.1"/></body>'
PART = f"<mujocoinclude>{BODY}</mujocoinclude>"


@pytest.fixture
def outside(tmp_path) -> Path:
    """A model that includes a file from the folder above, by a link too."""
    (tmp_path / "parts.xml").write_text(PART)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "inside.xml").write_text(PART)
    path = tmp_path / "model" / "arm.xml"
    path.write_text(
        '<mujoco><worldbody><include file="../parts.xml"/></worldbody>'
        '<actuator><position joint="knee" kp="5"/></actuator></mujoco>'
    )
    return path


def test_a_model_includes_nothing_from_outside_unless_it_may(outside, tmp_path):
    needed("mujoco")
    servo = be.Actuator.read("sts3215-12v")
    opened = {
        "robot": lambda **more: be.Robot.read(outside, **more).names,
        "explain": lambda **more: [row.joint for row in explain(outside, **more)],
        "attach": lambda **more: be.attach(outside, {"knee": servo}, check=False, **more).model.nu,
        "export": lambda **more: be.export(
            servo, "mujoco", into=outside, joint="knee", method="formula", **more
        ),
    }
    for name, run in opened.items():
        with pytest.raises(InvalidValue, match=r"outside the model's folder; .* --allow-outside"):
            run()
        assert run(allow_outside=True), name
        with pytest.raises(InvalidValue, match="outside the model's folder"):
            run()  # it was allowed once
    with pytest.raises(InvalidValue, match="outside the model's folder"):
        invoked(app, "explain", str(outside))
    assert "knee" in invoked(app, "explain", str(outside), "--allow-outside")
    text = outside.read_text()
    outside.write_text(text.replace("../parts.xml", "inside.xml"))
    assert opened["robot"]() == ("knee",)
    (outside.parent / "inside.xml").unlink()
    (outside.parent / "inside.xml").symlink_to(tmp_path / "parts.xml")
    with pytest.raises(InvalidValue, match="outside the model's folder"):
        opened["robot"]()


def test_bounds_are_widened_by_whoever_reads(tmp_path):
    path = tmp_path / "log.npz"
    t = 0.01 * np.arange(2_000_000)
    np.savez_compressed(path, time=t, position_rad=t)
    with bounds.reading(unpacked=16 << 20), pytest.raises(TooLarge, match="unpacks to more than 16 MB; cut"):
        be.read(path)
    with bounds.reading(unpacked=32 << 20):
        (log,) = be.read(path)
    assert len(log) == len(t)
    written = tmp_path / "log.csv"
    written.write_text("time,position\n" + "".join(f"{k},1\n" for k in range(1001)))
    with bounds.reading(rows=1000), pytest.raises(TooLarge, match="has more than 1000 rows"):
        be.read(written)
    with pytest.raises(InvalidValue, match="bounds are lines; expected some of file, whole"):
        bounds.reading(lines=3).__enter__()
