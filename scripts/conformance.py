"""The whole proof: every combination against each MuJoCo in an environment of its own, the tests of
`be.attach` with each that it is for, the file for Warp in its simulators (hosts.py), and the docs' tables.

python scripts/conformance.py                 everything, about half an hour
python scripts/conformance.py --pairwise      every pair only, about 2 minutes; the docs stay as they are
python scripts/conformance.py --attach        only `be.attach`, half a minute a version
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

from docs_tables import fill, markdown

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

VERSIONS = ("3.7.0", "3.11.0", "3.12.0", "3.17.0", "4.0.0")
ATTACHED = ("3.11.0", "3.12.0", "3.13.0", "3.14.0", "3.15.0", "3.16.0", "3.17.0", "4.0.0")
"""Every release that `be.attach` is for: each lays out its structures anew."""
LIVE = "tests/simulator/live"


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


def beside(version: str, build: Path) -> Path:
    """A folder with that MuJoCo alone, to be put before our own environment's; made once, then kept."""
    folder = build / f"attach-{version}"
    if not (folder / "mujoco" / "__init__.py").exists():
        print(f"fetching MuJoCo {version}", flush=True)
        _fetch(f"mujoco=={version}", folder)
        for needed in metadata.Distribution.at(next(folder.glob("mujoco-*.dist-info"))).requires or ():
            if needed.startswith("mujoco"):  # from some release on it comes in parts
                _fetch(needed.partition(";")[0].strip(), folder)
    return folder


def _fetch(package: str, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", folder, "--upgrade", package], check=True)


def attached(version: str, build: Path) -> list[str]:
    """The version that was imported, and how many tests of `be.attach` passed and failed with it."""
    path = os.pathsep.join([str(beside(version, build)), str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    which = [sys.executable, "-c", "import mujoco; print(mujoco.__version__)"]
    ran = subprocess.run(which, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    command = [sys.executable, "-m", "pytest", LIVE, "-q", "-m", "", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    last = (done.stdout.strip().splitlines() or [done.stderr])[-1]
    print(f"MuJoCo {ran}: {last}", flush=True)
    counts = {word: n for n, word in re.findall(r"(\d+) (passed|failed|error)", last)}
    wrong = sum(int(n) for word, n in counts.items() if word != "passed")
    if done.returncode and not wrong:  # it did not come to an end
        wrong = 1
    return [ran, counts.get("passed", "0"), str(wrong)]


def attach_report(versions: tuple[str, ...], build: Path) -> int:
    """Print the table, fill it into the docs where it is whole; how many tests failed."""
    rows = [attached(version, build) for version in versions]
    text = markdown(["MuJoCo", "tests passed", "failed"], rows)
    print(text)
    if versions == ATTACHED:
        fill(ROOT / "docs" / "targets" / "mujoco-live.md", "attached", text)
    return sum(int(row[-1]) for row in rows)


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
    parser.add_argument("--versions", nargs="+", default=None)
    parser.add_argument("--attach", action="store_true", help="only the tests of `be.attach`")
    parser.add_argument("--pairwise", action="store_true", help="pairs only, and leave the docs alone")
    parser.add_argument(
        "--pages-only",
        action="store_true",
        help="only what needs no engine: the cost of each departure and the schemes",
    )
    asked = parser.parse_args()
    build = asked.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    if asked.attach:
        return 1 if attach_report(tuple(asked.versions or ATTACHED), build) else 0
    versions = tuple(asked.versions or VERSIONS)
    found = [] if asked.pages_only else [compared(version, build, asked.pairwise) for version in versions]
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
        if found and versions == VERSIONS:
            fill(page, "versions", versions_table(found))
            fill(page, "compiled", compile_table(found))
        fill(
            page,
            "schemes",
            markdown(["actuator", "integrator", *(f"{1e3 * h:g} ms" for h in TIMESTEPS)], schemes()),
        )
        fill(note, "departures", markdown(["the note", "the engine", "where", "what it costs"], departures()))
    failed = 0
    if not (asked.pairwise or asked.pages_only):
        import hosts

        failed = hosts.report(hosts.PARTS, build) + attach_report(ATTACHED, build)
    for text in wrong:
        print(f"disagrees: {text}")
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
