"""Exports in the simulators they are for: every part replayed in each MuJoCo, mjlab's own build of its
configuration, Isaac Lab's own classes, BAM's own loop.

python scripts/replays.py                        everything, about 15 minutes, and the table in the docs
python scripts/replays.py --only mujoco-3.7.0    one of them; the docs stay as they are
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from conformance import ROOT, VERSIONS, interpreter
from docs_tables import fill, markdown
from pythons import interpreter as interpreter_of

MJLAB, ISAAC_LAB, BAM = "1.6.0", "2.3.2.post1", "1.0.2"
JOBS = (*(f"mujoco-{v}" for v in VERSIONS), f"mjlab-{MJLAB}", f"isaaclab-{ISAAC_LAB}", f"bam-{BAM}")
BAM_PARTS = {"mx-106": "mx106", "mx-64": "mx64", "xl-320": "xl320"}
"""Parts whose identified sets have all of BAM's models, and the name that each has there."""
BAM_SUPPLY = {"mx106": 15.0, "mx64": 15.0, "xl320": 7.5}
"""As BAM's code has it [V]."""
BAM_STEP, BAM_CLOSE = 1e-4, 2e-3
"""Step of BAM's own explicit loop [s], and how far it may then be from ours [rad]."""


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


def printed(python: Path, module: str, build: Path, *words: str, before: Sequence[Path] = ()) -> dict:
    """The JSON object that a module prints last, run by another interpreter; `before` are folders with
    packages that come before our own."""
    path = os.pathsep.join(map(str, [*before, ROOT, ROOT / "src"]))
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
    """Isaac Lab's own classes execute the files and answer with torques; its physics is Isaac Sim's, and is
    not run."""
    folder = build / f"isaaclab-{version}"
    source, needs = folder / "isaaclab" / "source" / "isaaclab", folder / "needs"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if not source.is_dir():
        print(f"fetching Isaac Lab {version}", flush=True)
        with tempfile.TemporaryDirectory() as wheels:
            subprocess.run([*pip, "download", "--no-deps", f"isaaclab=={version}", "-d", wheels], check=True)
            zipfile.ZipFile(next(Path(wheels).glob("*.whl"))).extractall(folder)
        packages = ("toml", "trimesh", "usd-core", "prettytable", "wcwidth")
        subprocess.run([*pip, "install", "--no-deps", "--target", needs, *packages], check=True)
    found = printed(Path(sys.executable), "tests.exports.isaaclab_run", build, before=(source, needs))[
        "parts"
    ]
    wrong = [f"{one['name']}: {text}" for one in found for text in one["wrong"]]
    numbers = sum(one["numbers"] for one in found)
    name = f"Isaac Lab {version} (its classes, not its physics)"
    return [
        name,
        str(len(found)),
        f"{numbers} fields, torques of its own classes",
        "-",
        str(len(wrong)),
    ], wrong


def in_bam(version: str, build: Path) -> tuple[list[str], list[str]]:
    """BAM loads each file that names one of its actuators, and moves a pendulum like backemf."""
    import backemf as be
    from backemf.targets.bam import MODELS
    from backemf.targets.export import export

    python = python_for_bam(version, build)
    time = np.arange(0.0, 1.5, BAM_STEP)
    goal = 0.6 * np.sin(2 * np.pi * 1.2 * time) + 0.3 * (time > 0.7)
    jobs, ours = [], {}
    for part, name in BAM_PARTS.items():
        for model in MODELS:
            servo = be.Actuator.read(f"{part}/{model}").replace(**{"drive.supply": BAM_SUPPLY[name]})
            file = build / f"bam_{name}_{model}.json"
            made = export(servo, "bam", bam_name=name, q_offset=0.05, replay=False)
            file.write_text(made.text, encoding="utf-8")
            supply, gain = (servo.parameters[f"drive.{name}"] for name in ("supply", "proportional"))
            mass = 0.2 * be.steady.stall_torque(servo, supply) / (9.80665 * 0.1)
            entries = [
                {"position": 0.0, "speed": 0.0, "goal_position": float(g), "torque_enable": True}
                for g in goal
            ]
            log = {"mass": mass, "arm_mass": 0.05, "length": 0.1, "dt": BAM_STEP, "entries": entries}
            log |= {"kp": gain, "vin": supply}
            jobs.append({"file": str(file), "log": log})
            bench = be.bench.Pendulum(mass=mass, arm_mass=0.05, length=0.1, hanging=-0.05)
            ours[f"{name} {model}"] = be.simulate(servo, bench, {"position_target": goal}, time=time).position
    request = build / "bam_request.json"
    request.write_text(json.dumps(jobs), encoding="utf-8")
    worker = ROOT / "tests" / "exports" / "bam_run.py"
    done = subprocess.run([python, worker, request], stdout=subprocess.PIPE, text=True, check=True)
    tracks = json.loads(done.stdout.strip().splitlines()[-1])
    off = {
        name: float(np.max(np.abs(np.array(track) - q)))
        for (name, q), track in zip(ours.items(), tracks, strict=True)
    }
    wrong = [f"{name}: {1e3 * far:.3g} mrad from backemf" for name, far in off.items() if far > BAM_CLOSE]
    at_most = f"at most {1e3 * max(off.values()):.2g} mrad from backemf over 1.5 s"
    return [f"BAM {version}", str(len(off)), at_most, "-", str(len(wrong))], wrong


def python_for_bam(version: str, build: Path) -> Path:
    """A Python 3.12, which BAM wants, with BAM and nothing of ours."""
    home = build / f"bam-{version}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists() or subprocess.run([python, "-c", "import bam.model"], check=False).returncode:
        print(f"making an environment with BAM {version}", flush=True)
        base = interpreter_of("3.12")
        if base is None:
            raise SystemExit(
                "BAM wants Python 3.12, and there is none here; expected one on the path or in pyenv"
            )
        subprocess.run([base, "-m", "venv", "--clear", home], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"better-actuator-models=={version}"], check=True)
    return python


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
        row, bad = {"mujoco": in_mujoco, "mjlab": in_mjlab, "isaaclab": in_isaac_lab, "bam": in_bam}[kind](
            version, build
        )
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
