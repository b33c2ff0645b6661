"""The file for Warp in the simulators it is for, each in an environment of its own, on their CPU devices:
what a pendulum must do with it as its actuator (tests/targets/training/proofs.py), and the table in the docs.

python scripts/hosts.py                     all three, some minutes
python scripts/hosts.py --only newton       one of them; the docs stay as they are
python scripts/hosts.py --only usd          layers of USD in Newton
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from conformance import ROOT
from docs_tables import fill, markdown
from replays import MJLAB, borrowing, numpy_like_ours, printed

USD = (
    "1.7.0",
    ("newton==1.7.0", "mujoco~=3.15.0", "mujoco-warp~=3.15.0", "newton-usd-schemas", "usd-core<26.9"),
)
"""Newton with its importers and the MuJoCo that it asks for, which reads layers of USD."""
HOSTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mjlab": (MJLAB, ("torch==2.13.0", f"mjlab=={MJLAB}")),
    "newton": ("1.7.0", ("newton==1.7.0",)),
    "mujoco-warp": ("4.0.0", ("mujoco==4.0.0", "mujoco-warp==4.0.0")),
}
"""They exclude one another: each asks for a MuJoCo of its own."""


def environment(name: str, build: Path) -> Path:
    """A Python with that simulator; made once, then kept."""
    version, packages = USD if name == "usd" else HOSTS[name]
    home = build / f"{name}-{version}"
    name = "newton" if name == "usd" else name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = f"import importlib.metadata as m; raise SystemExit(m.version({name!r}) != {version!r})"
    if not python.exists() or subprocess.run([python, "-c", asked], check=False).returncode:
        print(f"making an environment with {name} {version}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for package in packages:
            subprocess.run([*pip, package], check=True)
    numpy_like_ours(python)
    return borrowing(python)


def proven(names: list[str], build: Path) -> tuple[list[list[str]], list[str]]:
    """(rows of the table, what does not hold): a row for each proof, a column for each simulator."""
    found = {n: printed(environment(n, build), "tests.targets.training.proofs", build, n) for n in names}
    wrong = [
        f"warp@{name}: {one['what']} is {one['value']:.3g}, expected {one['least']:g} to {one['most']:g}"
        for name, result in found.items()
        for one in result["proofs"]
        if not one["holds"]
    ]
    rows = []
    for same in zip(*(result["proofs"] for result in found.values()), strict=True):
        bound = f"{same[0]['least']:g} to {same[0]['most']:g}"
        rows.append([same[0]["what"], bound, *(f"{one['value']:.2g}" for one in same)])
    return [["", "must be", *(result["versions"] for result in found.values())], *rows], wrong


def layers(build: Path) -> list[str]:
    """What does not hold of the layers in Newton; the table goes into the docs."""
    found = printed(environment("usd", build), "tests.targets.training.usd_run", build)
    head = [
        "part",
        "against the Python file, at most",
        "against the actuator carried, RMS",
        "plain drive as read",
    ]
    rows = [[one["part"], one["python"], one["native"], one["plain"]] for one in found["parts"]]
    text = f"{found['simulator']}\n\n{markdown(head, rows)}"
    print(text)
    fill(ROOT / "docs" / "targets" / "usd.md", "layers", text)
    return [f"usd: {one['part']}: {word}" for one in found["parts"] for word in one["wrong"]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    build = ROOT / "build" / "conformance"
    parser.add_argument("build", type=Path, nargs="?", default=build, help="folder for the environments")
    parser.add_argument("--only", nargs="+", choices=[*HOSTS, "usd"], default=[*HOSTS, "usd"])
    asked = parser.parse_args()
    return report(asked.only, asked.build.resolve())


def report(names: list[str], build: Path) -> int:
    """Print the table, fill it into the docs where it is whole, and say what does not hold."""
    build.mkdir(parents=True, exist_ok=True)
    wrong = layers(build) if "usd" in names else []
    names = [name for name in names if name != "usd"]
    if names:
        (head, *rows), more = proven(names, build)
        wrong += more
        print(markdown(head, rows))
        if names == list(HOSTS):
            fill(ROOT / "docs" / "targets" / "warp.md", "hosts", markdown(head, rows))
    for text in wrong:
        print(f"does not hold: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
