"""Characterisation against the classic regression, and how often its intervals hold: `python benchmarks/characterize.py [seeds]`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from backemf.identify.characterize import characterize
from backemf.identify.regression import sysid
from tests.identify.test_characterize import WEAK, recorded, trial

CASES = {
    "median edges, kA": (WEAK, "kA", {}, {"median": 9}),
    "100 ms delay, kS": (WEAK, "kS", {"delay": 0.1}, {}),
    "kA 0.02 at 20 ms, kA": ((0.25, 1.5, 0.02), "kA", {"dt": 0.02}, {}),
    "1 mm position, kS": (WEAK, "kS", {"quantum": 0.001, "differ": True}, {}),
}


def main(seeds: int) -> None:
    for name, (truth, gain, how, setting) in CASES.items():
        runs = recorded(truth, slow=1.0, T=4.0, noise=(1e-3, 0.0), rng=np.random.default_rng(1), **how)
        true = truth[("kS", "kV", "kA").index(gain)]
        classic, better = abs(sysid(runs, **setting).gains[gain] / true - 1), abs(characterize(runs)[gain] / true - 1)
        print(f"{name:22s} relative error: classic {classic:.2e}, here {better:.2e}, ratio {better / classic:.1e}")
    runs = recorded((0.4, 1.5, 0.2), T=7.5, slow=0.8, delay=0.03, noise=(0.02, 0.002), rng=np.random.default_rng(0))
    start = time.process_time()
    characterize(runs)
    print(f"30 s at 5 ms: {time.process_time() - start:.2f} s of CPU")
    for mechanism in ("simple", "elevator", "arm"):
        results = [trial(mechanism, 1000 + seed) for seed in range(seeds)]
        share = sum(hit for hit, _ in results) / sum(n for _, n in results)
        print(f"{mechanism}: intervals of 95 % hold in {100 * share:.1f} % of {sum(n for _, n in results)} gains")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
