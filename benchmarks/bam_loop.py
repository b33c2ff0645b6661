"""The published fit of the STS3032, run by the program it was made with: BAM resamples the recordings and
rolls them out by its own loop, in an environment of its own.

python benchmarks/bam_loop.py [--data FOLDER] [--numbers]
python benchmarks/bam_loop.py --quick    two recordings by our engine, and by BAM's loop where it is there
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from replays import BAM, python_for_bam  # pyright: ignore[reportMissingImports]  # in scripts/

import backemf as be
from benchmarks.fit_recorded import published_errors as our_errors
from benchmarks.measured_numbers import record

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "tests" / "exports" / "bam_run.py"
SISTER = "sts3215"
"""The actuator of BAM whose code drives the STS3032; the published numbers are for it."""
JUDGED = {"gain": ("_kp8_",), "length": ("_l0.07_",), "both": ("_kp8_", "_l0.07_")}
"""Words that names of logs have: those on which our fits are judged, which the published one has seen."""
FEW = 2
"""Recordings of the quick part."""


def published_file(folder: Path) -> Path:
    """The published Coulomb fit, in BAM's own words."""
    one = be.Datasheet.read("sts3032").identified["m1"]
    p, other = one.parameters, one.other
    words = {
        "model": "m1",
        "actuator": SISTER,
        "kt": p["motor.torque_constant"],
        "R": p["motor.resistance"],
        "armature": p["motor.rotor_inertia"],
        "friction_base": p["friction.coulomb"],
        "friction_viscous": p["friction.viscous"],
        **other,
    }
    path = folder / "published.json"
    path.write_text(json.dumps(words), encoding="utf-8")
    return path


def published_errors(data: Path, python: Path, most: int | None = None) -> dict[str, float]:
    """Mean absolute errors [rad] of the published fit, by the name of the log.

    Args:
        data: folder of the recordings, as they were published.
        python: one that has BAM.
        most: how many logs; None: all.

    Returns:
        What BAM's own loop leaves of each log.
    """
    with tempfile.TemporaryDirectory() as home:
        raw, resampled = Path(home) / "raw", Path(home) / "resampled"
        raw.mkdir()
        resampled.mkdir()
        for path in sorted(data.glob("*.json"))[:most]:
            (raw / path.name).symlink_to(path.resolve())
        words = [python, "-m", "bam.process", "--raw", raw, "--logdir", resampled]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        file = str(published_file(Path(home)))
        logs = {path.stem: json.loads(path.read_text()) for path in sorted(resampled.glob("*.json"))}
        jobs = [{"file": file, "log": {"arm_mass": 0.0, **log}} for log in logs.values()]
        request = Path(home) / "request.json"
        request.write_text(json.dumps(jobs), encoding="utf-8")
        done = subprocess.run([python, WORKER, request], stdout=subprocess.PIPE, text=True, check=True)
        tracks = json.loads(done.stdout.strip().splitlines()[-1])
    return {
        name: float(np.mean(np.abs(np.ravel(track) - [entry["position"] for entry in log["entries"]])))
        for (name, log), track in zip(logs.items(), tracks, strict=True)
    }


def compare(data: Path, build: Path) -> None:
    """Print what the published fit leaves of two recordings [mrad]: by our engine, and by BAM's own loop
    where an environment with BAM has been made.

    Args:
        data: folder of the recordings, as they were published.
        build: folder of the environments.
    """
    files = sorted(data.glob("*.json"))[:FEW]
    ours = our_errors(be.read([*map(str, files)]))
    made = (build / f"bam-{BAM}").is_dir()
    theirs = published_errors(data, python_for_bam(BAM, build), FEW) if made else {}
    for path in files:
        own = f"{1e3 * theirs[path.stem]:.1f}" if made else "not measured, there is no environment with it"
        our = f"{1e3 * ours[path.stem]:.1f} mrad mean absolute error by our engine"
        print(f"{path.stem}: {our}; by BAM {BAM} {own}")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "conformance")
    parser.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    if not (given.data / "sts3032").is_dir():
        print(f"no recordings in {given.data / 'sts3032'}; nothing to measure")
        return
    if given.quick:
        compare(given.data / "sts3032", given.build)
        return
    given.build.mkdir(parents=True, exist_ok=True)
    try:
        python = python_for_bam(BAM, given.build)
    except (SystemExit, subprocess.CalledProcessError) as reason:  # the other benchmarks go on
        print(f"the published fit by BAM {BAM}: not measured: {reason}")
        return
    errors = published_errors(given.data / "sts3032", python)
    found = {
        f"sts3032.published_{name}": 1e3
        * float(np.mean([errors[k] for k in errors if all(w in k for w in has)]))
        for name, has in JUDGED.items()
    }
    for name, value in found.items():
        print(f"{name}: {value:.1f} mrad mean absolute error, by BAM {BAM}")
    if given.numbers:
        record("python benchmarks/bam_loop.py --numbers", {k: f"{v:.1f}" for k, v in found.items()})


if __name__ == "__main__":
    main()
