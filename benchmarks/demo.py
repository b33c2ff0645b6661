"""The demonstration's servo in MuJoCo: its file and the attached model, on recordings that the fit never saw.

python benchmarks/demo.py [--numbers] [--quick]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import backemf as be
from backemf.identify.ladder import ladder
from backemf.planning import example_servo
from backemf.targets.replay import Replay, replay
from benchmarks.measured_numbers import record

COMMAND = "python benchmarks/demo.py --numbers"
RUNGS = ("coulomb", "stribeck", "m4")
"""As `backemf demo` tries them."""


def replays(rungs: Sequence[str] = RUNGS, n_starts: int = 2) -> dict[str, Replay]:
    """The fit of the demonstration, replayed on its held-out logs.

    Args:
        rungs: friction models that are tried.
        n_starts: of each.

    Returns:
        By what runs: "files" is a `<dcmotor>` of its own, "held_out" the whole model attached.
    """
    with tempfile.TemporaryDirectory() as folder:
        logs = be.read([*map(str, example_servo.record(Path(folder)))])
    options = {"hold_out": {"gain": 16}, "delay": True, "n_starts": n_starts}
    fit = ladder(example_servo.start(), logs, rungs=rungs, **options).fit
    judged = [log for log in logs if log.name in fit.held_out]
    fitted = [log for log in logs if log.name in fit.training]
    made = {
        "files": be.export(fit.actuator, "mujoco", joint="servo", logs=fitted),
        "held_out": be.export(fit.actuator, "mujoco-live", joint="servo", replay=False),
    }
    return {name: replay(one, judged, refine=False) for name, one in made.items()}


def spread(run: Replay) -> str:
    """The least and the largest difference from the recordings [mrad RMS]."""
    errors = [1e3 * case.target_log for case in run.cases if case.target_log is not None]
    return " to ".join(f"{x:.1f}" if x >= 1 else f"{x:.2f}" for x in (min(errors), max(errors)))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    found = replays(("coulomb",), 1) if given.quick else replays()
    for name, run in found.items():
        print(f"{name}: {spread(run)} mrad RMS from the recordings\n{run}\n")
    if given.numbers:
        record(COMMAND, {f"live.{name}": spread(run) for name, run in found.items()})


if __name__ == "__main__":
    main()
