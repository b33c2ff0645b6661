"""One step of MuJoCo's `dcmotor` beside our copy of it, from its first version on, in every combination.

python benchmarks/steps.py [--numbers]    each version in an environment of its own, half an hour of CPU
python benchmarks/steps.py --pairwise     every pair of settings only, two minutes; a sample, not stated
python benchmarks/steps.py --quick        a few cases, by the version that is installed
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import mujoco
from conformance import ROOT, VERSIONS, compared  # pyright: ignore[reportMissingImports]  # in scripts/

from benchmarks.measured_numbers import record
from tests.conformance.cases import pairwise
from tests.conformance.lockstep import compare, groups

FEW = 4
"""Groups of cases in the quick part."""


def worst_here() -> float:
    """The largest difference of one step, relative to its state, of a few cases in the installed version."""
    cases = groups(pairwise(mujoco.__version__))[:FEW]
    return max(d.one_step for group in cases for d in compare(group, free=False))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "conformance")
    parser.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    parser.add_argument("--pairwise", action="store_true", help="every pair of settings only")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    if given.quick:
        print(f"MuJoCo {mujoco.__version__}: {worst_here():.1e} of the state at most, {FEW} groups of cases")
        return
    given.build.mkdir(parents=True, exist_ok=True)
    worst = 0.0
    for version in VERSIONS:
        found = compared(version, given.build, given.pairwise)["integrators"]
        here, cases = (
            max(one["one_step"] for one in found.values()),
            sum(one["cases"] for one in found.values()),
        )
        print(f"MuJoCo {version}: {here:.1e} of the state at most, {cases} cases", flush=True)
        worst = max(worst, here)
    if given.numbers and not given.pairwise:
        record("python benchmarks/steps.py --numbers", {"mujoco.step": f"{worst:.0e}".replace("e-0", "e-")})


if __name__ == "__main__":
    main()
