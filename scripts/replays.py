"""Exports in the simulators they are for: every part replayed in each MuJoCo, mjlab's own build of its
configuration, Isaac Lab's fields.

python scripts/replays.py                        everything, about 15 minutes, and the table in the docs
python scripts/replays.py --only mujoco-3.7.0    one of them; the docs stay as they are
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from conformance import ROOT, VERSIONS, interpreter
from docs_tables import fill, markdown

MJLAB, ISAAC_LAB = "1.6.0", "2.3.2.post1"
JOBS = (*(f"mujoco-{v}" for v in VERSIONS), f"mjlab-{MJLAB}", f"isaaclab-{ISAAC_LAB}")


def borrowing(python: Path) -> Path:
    """Let an environment fall back on this one's packages, after its own."""
    asked = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    home = Path(
        subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    )
    (home / "zz_borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return python


def numpy_like_ours(python: Path) -> None:
    """The borrowed packages were built against this NumPy."""
    import numpy

    subprocess.run(
        [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"numpy=={numpy.__version__}",
        ],
        check=True,
    )


def printed(python: Path, module: str, build: Path, *words: str) -> dict:
    """The JSON object that a module prints last, run by another interpreter."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [str(python), "-m", module, *words],
        cwd=build,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def in_mujoco(version: str, build: Path) -> tuple[list[str], list[str]]:
    """(row of the table, what is wrong)."""
    python = interpreter(version, build)
    numpy_like_ours(python)
    found = printed(borrowing(python), "tests.exports.worker", build, "mujoco")["parts"]
    wrong = [f"{one['name']}: {text}" for one in found for text in one["wrong"]]
    lossless = [one for one in found if "step" in one]
    worst, ratio = max(one["step"] for one in lossless), max(one.get("ratio", 0.0) for one in found)
    return [f"MuJoCo {version}", str(len(found)), f"{worst:.1e} rad", f"{ratio:.2f}", str(len(wrong))], wrong


def in_mjlab(version: str, build: Path) -> tuple[list[str], list[str]]:
    """mjlab in an environment of its own builds what we wrote."""
    home = build / f"mjlab-{version}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists() or subprocess.run([python, "-c", "import mjlab"], check=False).returncode:
        print(f"making an environment with mjlab {version}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "torch==2.13.0"], check=True)
        subprocess.run([*pip, f"mjlab=={version}"], check=True)
    numpy_like_ours(python)
    found = printed(borrowing(python), "tests.exports.worker", build, "mjlab")["parts"]
    wrong = [f"{one['name']}: {text}" for one in found for text in one["wrong"]]
    built = [one for one in found if "refused" not in one]
    numbers = sum(one["numbers"] for one in built)
    runs = printed(python, "tests.exports.mjlab_run", build)["runs"]
    wrong += [f"{one['target']} {one['name']}: {text}" for one in runs for text in one["wrong"]]
    (build / "mjlab_runs.json").write_text(json.dumps(runs, indent=1), encoding="utf-8")
    return [
        f"mjlab {version}",
        str(len(built)),
        f"{numbers} numbers as mjlab compiles them",
        "-",
        str(len(wrong)),
    ], wrong


def in_isaac_lab(version: str, build: Path) -> tuple[list[str], list[str]]:
    """Isaac Lab needs Isaac Sim to run; its configuration classes are read from the package's
    source instead."""
    import backemf as be
    from backemf.errors import BackemfError
    from backemf.targets.export import export
    from tests.exports.worker import names

    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            f"isaaclab=={version}",
            "-d",
            folder,
        ]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            files = [
                n for n in wheel.namelist() if "/isaaclab/actuators/actuator_" in n and n.endswith("_cfg.py")
            ]
            source = "\n".join(wheel.read(n).decode() for n in files)
    classes = {n.name: n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef)}

    def fields(name: str) -> set[str]:
        node = classes.get(name)
        if node is None:
            return set()
        own = {
            s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        }
        return own.union(*(fields(b.id) for b in node.bases if isinstance(b, ast.Name)))

    wrong, n, numbers = [], 0, 0
    for name in names():
        try:
            text = export(be.Actuator.read(name), "isaaclab@2.3", method="formula").text
        except BackemfError:
            continue
        (call,) = (c for c in ast.walk(ast.parse(text)) if isinstance(c, ast.Call))
        given = {k.arg for k in call.keywords if k.arg}
        unknown = given - fields(ast.unparse(call.func))
        n, numbers = n + 1, numbers + len(given)
        wrong += [f"{name}: {ast.unparse(call.func)} has no {', '.join(sorted(unknown))}"] if unknown else []
    return [
        f"Isaac Lab {version} (read, not run)",
        str(n),
        f"{numbers} fields exist",
        "-",
        str(len(wrong)),
    ], wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "build",
        type=Path,
        nargs="?",
        default=ROOT / "build" / "conformance",
        help="folder for the environments",
    )
    parser.add_argument("--only", nargs="+", choices=JOBS, default=JOBS)
    asked = parser.parse_args()
    build = asked.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    rows, wrong = [], []
    for job in asked.only:
        kind, _, version = job.partition("-")
        row, bad = {"mujoco": in_mujoco, "mjlab": in_mjlab, "isaaclab": in_isaac_lab}[kind](version, build)
        rows.append(row)
        wrong += [f"{job}: {text}" for text in bad]
        print(" | ".join(row), flush=True)
    if tuple(asked.only) == JOBS:
        head = [
            "simulator",
            "parts",
            "lossless export against its copy here",
            "difference to backemf / (own step error + 2 mrad), at most",
            "wrong",
        ]
        fill(ROOT / "docs" / "mujoco-conformance.md", "replays", markdown(head, rows))
    if f"mjlab-{MJLAB}" in asked.only:
        runs = json.loads((build / "mjlab_runs.json").read_text(encoding="utf-8"))
        cells = [
            [one["name"], one["target"], f"{one['rms']:.2g} mrad", f"{one['worst']:.2g} mrad"] for one in runs
        ]
        fill(
            ROOT / "docs" / "mujoco-conformance.md",
            "mjlab runs",
            markdown(["part", "export", "RMS difference to backemf", "at most"], cells),
        )
    for text in wrong:
        print(f"wrong: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
