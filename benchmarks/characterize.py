"""Characterisation against the classic regression, its speed, and how often its intervals hold:
`python benchmarks/characterize.py [--coverage N] [--numbers]`; with --numbers docs/numbers.json gets them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from backemf.kits.frc.characterize import characterize
from backemf.kits.frc.sysid_regression import sysid
from benchmarks.measured_numbers import record
from tests.mechanism.test_characterize import WEAK_POINTS, error, gravity_of, recorded
from tests.mechanism.test_characterize_coverage import MECHANISMS, trial


def weak_points(seeds: int) -> float:
    """Median relative errors of the gain that suffers, both ways, in one run; gives the largest share of the
    classic error that is left."""
    shares = []
    for name, (truth, gain, how, setting) in WEAK_POINTS.items():
        errors = []
        for seed in range(seeds):
            runs = recorded(truth, slow=1.0, T=4.0, noise=(1e-3, 0.0), rng=np.random.default_rng(seed), **how)
            errors.append(
                (
                    error(sysid(runs, **setting).gains, truth, gain),
                    error(characterize(runs).gains, truth, gain),
                )
            )
        classic, better = np.median(errors, axis=0)
        print(
            f"{name:20s} relative error of {gain}: classic {classic:.2e}, here {better:.2e}, ratio"
            f" {better / classic:.1e}"
        )
        shares.append(better / classic)
    return max(shares)


def speed(mechanisms: Sequence[str] = ("simple", "elevator", "arm")) -> None:
    for mechanism in mechanisms:
        how = {"T": 7.5, "slow": 0.8, "delay": 0.03, "noise": (0.02, 0.002), "rng": np.random.default_rng(0)}
        runs = recorded((0.4, 1.5, 0.2), gravity_of(mechanism, 0.3, 0.5), **how)
        characterize(runs, mechanism)
        start = time.process_time()
        characterize(runs, mechanism)
        print(f"{mechanism}: 30 s at 5 ms in {time.process_time() - start:.2f} s of CPU")


def coverage(seeds: int) -> None:
    for mechanism in MECHANISMS if seeds else ():
        results = [trial(mechanism, 1000 + seed) for seed in range(seeds)]
        n = sum(n for _, n in results)
        print(
            f"{mechanism}: intervals of 95 % hold in {100 * sum(hit for hit, _ in results) / n:.1f} % of {n}"
            " gains",
            flush=True,
        )


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--coverage", type=int, default=40, metavar="N", help="random mechanisms of each kind; 0: none"
    )
    parser.add_argument("--seeds", type=int, default=9, help="recordings of each weak point")
    parser.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    if given.quick:
        speed(["simple"])
        return
    share = weak_points(given.seeds)
    if given.numbers:
        record(
            "python benchmarks/characterize.py --numbers", {"frc.share_of_regression": f"1/{int(1 / share)}"}
        )
    speed()
    coverage(given.coverage)


if __name__ == "__main__":
    main()
