"""Fleets: fits per core and second, what scheduling costs, what a million units would take, and how small a
fault is found.

python benchmarks/fleet.py [--units 60] [--jobs 2] [--seeds 4]
python benchmarks/fleet.py --line 1000           a whole line in one process: CPU time and memory
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import backemf as be
from backemf.kits.fleets import example_line as simulated, folder as kept
from backemf.kits.fleets.summary import sound_units
from backemf.tables import table
from benchmarks.measured_numbers import record
from tests.fleets.drawn import PATHS, drawn

NOISE = (0.05, 0.3)
"""A fit's error in spreads, where one bench served all units."""


def timed(line: Path, into: Path, **options) -> dict:
    """One fleet: what it took, by the clock of its workers and by the wall's."""
    begun = time.perf_counter()
    made = be.fleet(str(line / "logs"), start=str(line / "start.json"), friction="m4", into=into, **options)
    wall = time.perf_counter() - begun
    rows = list(made.rows())
    rows.sort(key=lambda row: row["ended"])
    warm = rows[len(rows) // 4 :]  # without what is loaded and compiled once
    return {
        "units": len(rows),
        "failed": made.status.failed,
        "wall": wall,
        "cpu": float(np.mean([row["cpu_s"] for row in warm])),
        "median": float(np.median([row["cpu_s"] for row in warm])),
        "busy": float(np.sum([row["wall_s"] for row in warm])),
        "span": warm[-1]["ended"] - warm[0]["ended"] + warm[0]["wall_s"],
        "journal": (made.folder / kept.JOURNAL).stat().st_size / len(rows),
        "table": made.table.stat().st_size / len(rows),
    }


def speed(units: int, jobs: int) -> float:
    """What fits cost, alone and in processes; gives the fits per core and second of one process."""
    with tempfile.TemporaryDirectory() as folder:
        line = Path(folder) / "line"
        simulated.record(line, units)
        cases = {
            "one process": {"on": "here"},
            "one process, one bench": {"on": "here", "same_bench": True},
            f"{jobs} processes": {"on": "local", "jobs": jobs},
        }
        found = {
            name: timed(line, Path(folder) / f"{k}", **more) for k, (name, more) in enumerate(cases.items())
        }
        rows = [(n, f["units"], f["failed"], f["cpu"], f["median"], 1 / f["cpu"]) for n, f in found.items()]
        head = ("case", "units", "failed", "CPU s, mean", "CPU s, median", "fits per core and second")
        print(table(rows, head))
        many, one = found[f"{jobs} processes"], found["one process"]
        share = 1 - many["busy"] / (jobs * many["span"])
        print(f"\nscheduling and writing: {100 * share:.1f} % of the workers' time")
        print(f"bytes of a unit: {many['journal']:.0f} in the journal, {many['table']:.0f} in the table")
        rows = []
        for n, cores in ((10_000, 2), (10_000, 16), (1_000_000, 64), (1_000_000, 512)):
            hours = n * one["cpu"] / (1 - max(share, 0.0)) / cores / 3600
            rows.append((n, cores, hours, n * many["journal"] / 1e9, n * many["table"] / 1e9))
        print(f"\n{table(rows, ('units', 'cores', 'hours', 'journal [GB]', 'table [GB]'))}")
        shutil.rmtree(line)
        return 1 / one["cpu"]


def whole_line(units: int) -> dict[str, str]:
    """What a line takes from its first file to its table, in one process: CPU time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        line = Path(folder) / "line"
        simulated.record(line, units)
        began = time.process_time()
        made = timed(line, Path(folder) / "fleet", on="here")
        cpu, memory = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{made['units']} units, {made['failed']} failed: {cpu:.0f} s of CPU, {memory:.0f} MB at most")
    return {
        "fleet.line_cpu_s": f"{cpu:.0f}",
        "fleet.line_mb": f"{memory:.0f}",
        "fleet.line_units": f"{units}",
    }


def faults(seeds: int) -> None:
    """The share of planted faults that are found, by their size in spreads; sound units called odd."""
    alarms = [
        len(sound_units(drawn(np.random.default_rng(s), 1000, NOISE).seen)[2]) / 1000 for s in range(seeds)
    ]
    print(f"\nsound units called odd: {100 * np.mean(alarms):.2f} % of {seeds} fleets of 1,000")
    rows = []
    for size in (2.0, 3.0, 4.0, 5.0, 6.0):
        hit, named = [], []
        for seed in range(seeds):
            rng = np.random.default_rng([100, seed])
            fleet = drawn(rng, 500, NOISE)
            which, side = rng.integers(len(PATHS), size=50), rng.choice([-1, 1], 50)
            x = fleet.seen.x.copy()
            x[np.arange(50), which] += size * side * fleet.spread[which]
            odd = {one.unit: one for one in sound_units(fleet.seen._replace(x=x))[2]}
            hit += [f"unit {k}" in odd for k in range(50)]
            named += [odd[f"unit {k}"].path == PATHS[which[k]] for k in range(50) if f"unit {k}" in odd]
        rows.append((size, 100 * float(np.mean(hit)), 100 * float(np.mean(named))))
    print(f"\n{table(rows, ('spreads', 'found [%]', 'parameter named right [%]'))}")


def main(words: Sequence[str] | None = None) -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--units", type=int, default=60)
    given.add_argument("--jobs", type=int, default=2)
    given.add_argument("--seeds", type=int, default=4)
    given.add_argument("--line", type=int, help="fit so many units in one process, and nothing else")
    given.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    given.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    asked = given.parse_args(words)
    if asked.quick:
        asked.units, asked.jobs, asked.seeds = 2, 1, 1
    if asked.line:
        found = whole_line(asked.line)
        if asked.numbers:
            record(f"python benchmarks/fleet.py --line {asked.line} --numbers", found)
        return
    rate = speed(asked.units, asked.jobs)
    if asked.numbers:
        record("python benchmarks/fleet.py --numbers", {"fleet.fits_per_core_second": f"{rate:.1f}"})
    faults(asked.seeds)


if __name__ == "__main__":
    main()
