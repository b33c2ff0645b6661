"""Every benchmark, one after the other, each in a process of its own; what pages state goes into
docs/numbers.json.

python -m benchmarks                all of them: an hour of CPU
python -m benchmarks --quick        a small part of each, to see that it runs; nothing is written
python -m benchmarks fit engines    only these
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBERS = ("engines", "fit", "bam_loop", "robot", "bands", "characterize", "fleet", "sizing", "gradients")
"""Those that pages quote."""
OTHERS = ("emps", "live", "live_population", "live_report", "live_training", "days")
BENCHMARKS = (*NUMBERS, *OTHERS)


def main() -> int:
    given = sys.argv[1:]
    names = [word for word in given if not word.startswith("-")] or [*BENCHMARKS]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; expected one of {', '.join(BENCHMARKS)}")
        return 2
    failed = []
    for name in names:
        words = ["--quick"] if "--quick" in given else ["--numbers"] if name in NUMBERS else []
        print(f"== benchmarks/{name}.py {' '.join(words)}", flush=True)
        began = time.monotonic()
        path = ROOT / "benchmarks" / f"{name}.py"
        if subprocess.run([sys.executable, path, *words], cwd=ROOT, check=False).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - began:.0f} s", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else f"{len(names)} benchmarks ran")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
