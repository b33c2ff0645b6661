"""Whole fleets, fitted: the spread comes out as it was drawn, broken files cost themselves alone, and
killed workers nothing."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import backemf as be
from backemf.kits.fleets import example_line as simulated
from backemf.kits.fleets.summary import population
from backemf.kits.fleets.work import BROKEN

from .lines import options

FLEETS, UNITS = 20, 100


@pytest.mark.proof
def test_spreads_of_fitted_fleets(tmp_path):
    """As of estimates that are drawn (tests/fleets/test_shared.py), with logs read and fitted in between."""
    near, inside = [], []
    for seed in range(FLEETS):
        line = tmp_path / f"line {seed}"
        simulated.record(line, UNITS, seed=100 + seed, samples=600)
        made = be.fleet(str(line / "logs"), into=tmp_path / f"fleet {seed}", **options(line))
        found = population(made)
        for path, truth in simulated.SPREAD.items():
            p = found.parameters[path]
            near.append(abs(p.spread * p.as_share / truth - 1) < 0.15)
            inside.append(p.spread_low * p.as_share <= truth <= p.spread_high * p.as_share)
    print(f"\n{np.mean(near):.1%} of the spreads within 15 %, {np.mean(inside):.1%} of the intervals hold")
    assert np.mean(near) >= 0.9
    assert 0.90 <= np.mean(inside) <= 0.98


@pytest.mark.proof
def test_a_hundredth_of_broken_files_and_a_killed_worker(tmp_path):
    line, n = tmp_path / "line", 300
    simulated.record(line, n, samples=600)
    broken = [f"unit-{k:05d}" for k in range(50, n, 100)]
    for name in broken:
        file = line / "logs" / name / "rig2.json"
        file.write_bytes(file.read_bytes()[:5000])
    psutil = pytest.importorskip("psutil")
    killed = []

    def kill(step) -> None:
        if step.done == 40 and not killed:
            workers = [
                p for p in psutil.Process().children(recursive=True) if "loky" in " ".join(p.cmdline())
            ]
            killed.append(workers[-1].pid)
            threading.Timer(0.05, os.kill, (workers[-1].pid, signal.SIGKILL)).start()

    begun = time.monotonic()
    made = be.fleet(str(line / "logs"), into=tmp_path / "fleet", progress=kill, **options(line))
    status = made.status
    print(f"\n{n} units in {time.monotonic() - begun:.0f} s: {status}")
    assert killed
    assert (status.fitted, status.failed, status.codes) == (n, 0, {BROKEN: len(broken)})
    said = {row["unit"] for row in made.rows() if any(f["code"] == BROKEN for f in row["findings"])}
    assert sorted(said) == broken
    assert {len(row["logs"]) for row in made.rows() if row["unit"] in said} == {3}
