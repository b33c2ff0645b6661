"""LeRobot's own motor buses, in an environment of their own, on our virtual servos: motors set up, calibrated
and moved (tests/recorder/lerobot_run.py), and the table in the docs.

python scripts/lerobot_bus.py                     both buses, a minute
python scripts/lerobot_bus.py --only feetech      one of them; the docs stay as they are
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from conformance import ROOT
from docs_tables import fill, markdown
from replays import printed

LEROBOT = "0.4.4"
NEEDS = ("pyserial", "deepdiff<9", "tqdm", "numpy", "feetech-servo-sdk<2", "dynamixel-sdk>=3.7.31,<3.9")
"""What its motors import; the rest of its requirements, torch among them, they never call."""
BUSES = {
    "feetech": ("sts3215", "sts3215-12v", {"protocol": "feetech", "firmware": "lerobot"}, 115_200),
    "dynamixel": ("xm430-w350", "xm430-w350", {"protocol": "dynamixel"}, 57_600),
}
"""LeRobot's name of the model, the part, how it is served, and the rate at which a new one listens."""


def environment(build: Path) -> Path:
    """A Python with LeRobot's motors; made once, then kept."""
    home = build / f"lerobot-{LEROBOT}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = f"import importlib.metadata as m; raise SystemExit(m.version('lerobot') != {LEROBOT!r})"
    if not python.exists() or subprocess.run([python, "-c", asked], check=False).returncode:
        print(f"making an environment with LeRobot {LEROBOT}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *NEEDS], check=True)
        subprocess.run([*pip, "--no-deps", f"lerobot=={LEROBOT}"], check=True)
    return python


def checked(kind: str, build: Path) -> tuple[str, list[list]]:
    """(versions, [what, whether it holds]) of one bus."""
    import backemf as be

    model, part, options, rate = BUSES[kind]
    options = {**options, "noise": 0.0, "bench": "pendulum mass=0.05 length=0.05"}
    with (
        be.virtual(part, ids=[1, 2, 3], **options) as arm,
        be.virtual(part, ids=[9], baud=rate, **options) as new,
    ):
        words = (kind, model, arm.port, new.port)
        found = printed(environment(build), "tests.recorder.lerobot_run", build, *words)
    return found["versions"], found["checks"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    build = ROOT / "build" / "conformance"
    parser.add_argument("build", type=Path, nargs="?", default=build, help="folder for the environment")
    parser.add_argument("--only", nargs="+", choices=BUSES, default=list(BUSES))
    asked = parser.parse_args()
    asked.build.mkdir(parents=True, exist_ok=True)
    found = {kind: checked(kind, asked.build.resolve()) for kind in asked.only}
    version = next(iter(found.values()))[0]
    rows = [
        [same[0][0], *("yes" if one[1] else "no" for one in same)]
        for same in zip(*(checks for _, checks in found.values()), strict=True)
    ]
    table = markdown([version, *found], rows)
    print(table)
    if asked.only == list(BUSES):
        fill(ROOT / "docs" / "how-to" / "virtual.md", "lerobot", table)
    return 1 if any("no" in row for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
