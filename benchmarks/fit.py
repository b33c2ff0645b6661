"""How fits do: success from many starts, CPU time, and errors on recordings with published numbers.

    python benchmarks/fit.py [--json] [--data FOLDER] [--coverage 200] [--only lugre sts3032]

What cannot be measured here is said at the end, with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import fit_recorded, fit_simulated
from benchmarks.measured_numbers import record

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
        return fit_simulated.lugre(1 if given.quick else 32)
    if name == "coverage":
        if not given.coverage:
            return "takes long; ask for it with --coverage SEEDS (200 in the docs)"
        return fit_simulated.coverage(given.coverage)
    if name == "mujoco_sysid":
        return fit_simulated.against_mujoco_sysid()
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


NUMBERS: dict[str, Callable[[list[dict]], dict[str, str]]] = {
    "mx106": lambda rows: {"mx106.starts_at_floor": f"{rows[0]['good']} of {rows[0]['of']}"},
    "coverage": lambda rows: {
        "coverage.least": f"{100 * min(row['if_right'] for row in rows):.0f}",
        "coverage.most": f"{100 * max(row['if_right'] for row in rows):.0f}",
    },
    "sts3032": lambda rows: {
        f"sts3032.{name}": f"{row['held_out_mrad']:.0f}"
        for name, held in (("gain", "gain 8"), ("length", "length 0.07"), ("both", "both"))
        for row in rows
        if row.get("held_out") == held and row["friction"] == "m6"
    },
}
"""What pages say of rows, by name; errors in mrad."""


def main(words: Sequence[str] | None = None) -> None:
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
    parser.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    if given.quick:
        given.only = ["lugre"]
    found: dict[str, list[dict]] = {}
    left_out = {name: "not asked for" for name in ROWS if name not in given.only}
    for name in given.only:
        rows = measure(name, given)
        if isinstance(rows, str):
            left_out[name] = rows
            continue
        found[name] = rows
        if given.numbers and name in NUMBERS:
            more = f" --coverage {given.coverage}" if name == "coverage" else ""
            record(f"python benchmarks/fit.py --numbers{more}", NUMBERS[name](rows))
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
