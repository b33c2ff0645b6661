"""The whole proof: every combination against each MuJoCo in an environment of its own, and the tables in the
docs.

python scripts/conformance.py                 everything, about 20 minutes
python scripts/conformance.py --pairwise      every pair only, about 2 minutes; the docs stay as they are
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

from docs_tables import fill, markdown

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

VERSIONS = ("3.7.0", "3.11.0", "3.12.0", "3.17.0", "4.0.0")


def interpreter(version: str, build: Path) -> Path:
    """A Python with that MuJoCo and nothing else; made once, then kept."""
    home = build / f"mujoco-{version}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    has = python.exists() and subprocess.run(
        [python, "-c", "import mujoco; print(mujoco.__version__)"],
        capture_output=True,
        text=True,
        check=False,
    )
    if not has or has.stdout.strip() != version:
        print(f"making an environment with MuJoCo {version}", flush=True)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"mujoco=={version}"],
            check=True,
        )
    return python


def compared(version: str, build: Path, pairwise: bool) -> dict:
    """What the worker found with one version."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    # The engine writes its warnings to a log file where it runs: let that be the build folder.
    command = [
        str(interpreter(version, build)),
        "-m",
        "tests.conformance.worker",
        *(["--pairwise"] if pairwise else []),
    ]
    done = subprocess.run(
        command,
        cwd=build,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def versions_table(found: list[dict]) -> str:
    header = [
        "MuJoCo",
        "integrator",
        "cases",
        "worst one-step difference",
        "worst free run",
        "chaotic",
        "engine diverged",
        "disagree",
    ]
    rows = []
    for one in found:
        for name, s in one["integrators"].items():
            counts = [str(s["sensitive"]), str(s["diverged"]), str(len(s["disagree"]))]
            rows.append(
                [
                    one["version"],
                    name,
                    str(s["cases"]),
                    f"{s['one_step']:.1e}",
                    f"{s['free_run']:.1e}",
                    *counts,
                ]
            )
    return markdown(header, rows)


def compile_table(found: list[dict]) -> str:
    rows = [[one["version"], str(one["compiled"]), str(len(one["compiled_disagree"]))] for one in found]
    return markdown(["MuJoCo", "sets of attributes", "disagree"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "build",
        type=Path,
        nargs="?",
        default=ROOT / "build" / "conformance",
        help="folder for the environments and results",
    )
    parser.add_argument("--versions", nargs="+", default=VERSIONS)
    parser.add_argument("--pairwise", action="store_true", help="pairs only, and leave the docs alone")
    parser.add_argument(
        "--pages-only",
        action="store_true",
        help="only what needs no engine: the cost of each departure and the schemes",
    )
    asked = parser.parse_args()
    build = asked.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    found = (
        [] if asked.pages_only else [compared(version, build, asked.pairwise) for version in asked.versions]
    )
    wrong = [
        text
        for one in found
        for text in [
            *one["compiled_disagree"],
            *(n for s in one["integrators"].values() for n in s["disagree"]),
        ]
    ]
    if found:
        (build / "results.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(versions_table(found), compile_table(found), sep="\n\n")
    if not asked.pairwise:
        from tests.conformance.departures import TIMESTEPS, departures, schemes

        page, note = ROOT / "docs" / "mujoco-conformance.md", ROOT / "docs" / "mujoco-vs-note.md"
        if found and tuple(asked.versions) == VERSIONS:
            fill(page, "versions", versions_table(found))
            fill(page, "compiled", compile_table(found))
        fill(
            page,
            "schemes",
            markdown(["actuator", "integrator", *(f"{1e3 * h:g} ms" for h in TIMESTEPS)], schemes()),
        )
        fill(note, "departures", markdown(["the note", "the engine", "where", "what it costs"], departures()))
    for text in wrong:
        print(f"disagrees: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
