"""Every benchmark, one after the other, each in a process of its own; what pages state goes into
docs/numbers.json.

python -m benchmarks                all of them: some two hours of CPU
python -m benchmarks --quick        a small part of each, to see that it runs; nothing is written
python -m benchmarks fit engines    only these
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measured_numbers import FILE

ROOT = Path(__file__).resolve().parent.parent
NUMBERS: dict[str, tuple[str, ...]] = {
    "engines": ("",),
    "fit": ("--coverage 200",),
    "bam_loop": ("",),
    "robot": ("",),
    "bands": ("",),
    "characterize": ("",),
    "demo": ("",),
    "fleet": ("", "--line 1000"),
    "sizing": ("",),
    "steps": ("",),
    "gradients": ("",),
}
"""Those that pages quote, each with the words that it is run with, one run after the other."""
OTHERS = ("emps", "live", "live_population", "live_report", "live_training", "days")
BENCHMARKS = (*NUMBERS, *OTHERS)


def lines(name: str, quick: bool) -> list[list[str]]:
    """The words behind a benchmark's name, for each of its runs."""
    if quick:
        return [["--quick"]]
    return [[*more.split(), "--numbers"] for more in NUMBERS.get(name, ())] or [[]]


def left(since: str, file: Path = FILE) -> list[str]:
    """Numbers of pages that nobody measured from a day on, each with its command.

    Args:
        since: the day, as 2026-01-31.
        file: where the numbers are.
    """
    known = json.loads(file.read_text(encoding="utf-8"))
    return [
        f"{name}, by {row['command']}"
        for name, row in known.items()
        if not row["measured"].startswith("20") or row["measured"] < since
    ]


def main() -> int:
    given = sys.argv[1:]
    names = [word for word in given if not word.startswith("-")] or [*BENCHMARKS]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; expected one of {', '.join(BENCHMARKS)}")
        return 2
    failed, quick = [], "--quick" in given
    day = datetime.now(UTC).date().isoformat()
    for name, words in [(one, words) for one in names for words in lines(one, quick)]:
        print(f"== benchmarks/{name}.py {' '.join(words)}", flush=True)
        began = time.monotonic()
        path = ROOT / "benchmarks" / f"{name}.py"
        if subprocess.run([sys.executable, path, *words], cwd=ROOT, check=False).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - began:.0f} s", flush=True)
    if not quick and len(names) == len(BENCHMARKS):
        print("".join(f"not measured: {row}\n" for row in left(day)), end="")
    print(f"failed: {', '.join(failed)}" if failed else f"{len(names)} benchmarks ran")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
