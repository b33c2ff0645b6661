"""How fits do: success from many starts, CPU time, and errors on recordings with published numbers.

    python benchmarks/fit.py [--json] [--data FOLDER] [--coverage 200] [--only lugre sts3032]

What cannot be measured here is said at the end, with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import fit_recorded, fit_simulated

RECORDED: dict[str, tuple[str, Callable[[Path], list[dict]]]] = {
    "mx106": ("mx106_pendulum", fit_recorded.mx106),
    "regions": ("mx106_pendulum", fit_recorded.regions),
    "sts3032": ("sts3032", fit_recorded.sts3032),
    "rigs": ("sts3032", fit_recorded.rigs),
    "sg90": ("sg90", fit_recorded.sg90),
    "emps": ("emps", fit_recorded.emps),
}
"""Rows that need recordings: the folder they are in, and what measures them."""
ROWS = ("lugre", "coverage", "mujoco_sysid", *RECORDED)


def measure(name: str, given: argparse.Namespace) -> list[dict] | str:
    """The rows of one name, or why there are none."""
    if name == "lugre":
        return fit_simulated.lugre()
    if name == "coverage":
        if not given.coverage:
            return "takes long; ask for it with --coverage SEEDS (200 in the docs)"
        return fit_simulated.coverage(given.coverage)
    if name == "mujoco_sysid":
        found = fit_simulated.against_mujoco_sysid()
        return found if isinstance(found, str) else [found]
    folder, function = RECORDED[name]
    if not (given.data / folder).is_dir():
        return f"no recordings in {given.data / folder}"
    return function(given.data)


def shown(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {k: shown(v) for k, v in value.items()}
    return [shown(v) for v in value] if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument(
        "--coverage",
        type=int,
        default=0,
        metavar="SEEDS",
        help="also measure how often 95 %% intervals cover, with this many seeds",
    )
    parser.add_argument("--only", nargs="+", choices=ROWS, default=ROWS, help="only these rows")
    given = parser.parse_args()
    found: dict[str, list[dict]] = {}
    left_out = {name: "not asked for" for name in ROWS if name not in given.only}
    for name in given.only:
        rows = measure(name, given)
        if isinstance(rows, str):
            left_out[name] = rows
            continue
        found[name] = rows
        if not given.json:
            print(name)
            for row in rows:
                print("  ", ", ".join(f"{k} {shown(v)}" for k, v in row.items()), flush=True)
    if given.json:
        print(json.dumps({**found, "left_out": left_out}, indent=1))
        return
    print("left out" if left_out else "nothing left out")
    for name, reason in left_out.items():
        print(f"   {name}: {reason}")


if __name__ == "__main__":
    main()
