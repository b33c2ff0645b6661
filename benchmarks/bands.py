"""Bands held against recordings that were never fitted: half of the rigs or motions of each set is fitted,
the other half judged.

Usage: python benchmarks/bands.py ../shared/data [SET ...] [--quick] [--numbers]
With --numbers what it measures goes into docs/numbers.json, from where pages are filled.
Inside: share of samples in the 95 % band. Half-width: of the band, over the root mean square error. Said:
expected over real mean absolute error, by recording, the median. Ranks: where samples lie among the draws,
as the share in the lowest, the middle and the highest fifth.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measured_numbers import record

import backemf as be
import backemf.identify.fit as identify
from backemf.results.variation import rank_histogram
from backemf.tables import table

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
STRETCH = 3.0
"""Length of the stretches that one long run is cut into [s]."""
SO101 = ("chirp_sweep", "friction_gravity", "prbs_excitation", "step_response", "workspace_sweep",
         "large_amplitude", "dual_joint_rotation_pitch", "reaching_points", "velocity_ramp",
         "staircase_motion")  # fmt: skip
XL330 = ("kp100_lift_and_drop", "kp800_sin_sin", "kp100_sin_time_square", "kp800_up_and_down")
HEAD = (
    "set",
    "fitted",
    "judged",
    "inside",
    "half/RMS",
    "said/real",
    "ranks",
    "left out",
    "CPU [s]",
    "bands [s]",
)
COMMAND = "python benchmarks/bands.py ../shared/data --numbers"


class Halves(NamedTuple):
    """What is fitted, and what is judged."""

    start: Any
    fitted: Sequence[be.Log]
    judged: Sequence[be.Log]
    options: Mapping[str, Any]


def servo(folder: Path, name: str, part: str, is_fitted: Callable[[be.Log], bool], quick: bool) -> Halves:
    """A servo on pendulums."""
    sheet, logs = be.Datasheet.read(part), be.read(str(folder / name / "*.json"))
    fitted, judged = ([log for log in logs if is_fitted(log) == which] for which in (True, False))
    if quick:
        fitted, judged = fitted[::4] or fitted, judged[::8] or judged[:1]
    options = {"friction": "coulomb" if quick else "m4", "prior": sheet, "n_starts": 2, "inspect": False}
    return Halves(sheet.actuator(), fitted, judged, options)


def light(log: be.Log) -> bool:
    """Whether a log is of the lighter rigs."""
    assert isinstance(log.bench, be.bench.Pendulum)
    return log.bench.mass < 0.3


def arm(folder: Path, quick: bool) -> Halves:
    """SO-101: half of its motions."""
    robot = be.Robot.read(folder / "so101" / "so101.xml")
    logs = be.read(str(folder / "so101" / "*.csv"), bench=robot)
    fitted, judged = ([log for log in logs if (log.name in SO101) == which] for which in (True, False))
    return Halves({".*": "sts3215-12v"}, fitted, judged, {"friction": "m4", "firmware": "lerobot"})


def stretches(folder: Path, name: str, torque: bool = False) -> Halves:
    """One run of a robot, cut: every other stretch; with torques as the only command, where these are
    wanted."""
    robot = be.Robot.read(folder / name / f"{name}.xml")
    (log,) = be.read(str(folder / name / "*.csv"), bench=robot)
    told: dict[str, Any] = {"friction": "coulomb"} | (
        {} if torque else {"gains": folder / name / "gains.json"}
    )
    if torque:
        log = replace(log, joints={j: _without_targets(one) for j, one in log.joints.items()})
    begin = np.arange(log.time[0], log.time[-1] - STRETCH, STRETCH)
    logs = [replace(log.between(t, t + STRETCH), name=f"{name} from {t:.0f} s") for t in begin]
    return Halves("torque", logs[::2], logs[1::2], told)


def _without_targets(log: be.Log) -> be.Log:
    """Of a joint that nobody's loop holds."""
    left_out = ("position_target", "velocity_target")
    return replace(log, signals={n: s for n, s in log.signals.items() if n not in left_out})


SETS: dict[str, Callable[[Path, bool], Halves]] = {
    "sts3032": lambda folder, quick: servo(folder, "sts3032", "sts3032", light, quick),
    "xl330": lambda folder, quick: servo(folder, "xl330", "xl330-m288", lambda log: log.name in XL330, quick),
    "so101": arm,
    "go2": lambda folder, quick: stretches(folder, "go2"),
    "z1": lambda folder, quick: stretches(folder, "z1"),
    "z1t": lambda folder, quick: stretches(folder, "z1", torque=True),
}


def judge(fit: be.Fit, logs: Sequence[be.Log]) -> dict[str, Any]:
    """A fit's bands on logs that it never saw."""
    inside, half, errors, said, ranks = [], [], [], [], np.zeros(5)
    for log in logs:
        motion = fit.predict(log)
        expected = fit.expected_error(log)
        off = []
        for joint in motion.joints:
            seen = np.isfinite(motion.recorded[joint]) & ~motion.touched
            q = motion.recorded[joint][seen]
            inside.append((motion.low[joint][seen] <= q) & (q <= motion.high[joint][seen]))
            half.append(motion.band.half(joint)[seen])
            off.append(np.abs(motion.positions[joint][seen] - q))
        errors += off
        said.append(expected.mae / np.mean([np.mean(e) for e in off if len(e)]))
        ranks += rank_histogram(motion, 5)
    rms = float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))
    return {
        "inside": float(np.mean(np.concatenate(inside))),
        "half_over_rms": float(np.mean(np.concatenate(half))) / rms,
        "said_over_real": float(np.median(said)),
        "said": said,
        "ranks": ranks / ranks.sum(),
        "rms": rms,
    }


def row(name: str, folder: Path, quick: bool, numbers: bool = False) -> tuple[str, ...]:
    """One line of the table; with `numbers` also for the pages."""
    halves, timed = SETS[name](folder, quick), []
    original = identify.with_variation

    def with_variation(*given: Any) -> be.Fit:
        begun = time.process_time()
        made = original(*given)
        timed.append(time.process_time() - begun)
        return made

    identify.with_variation = with_variation
    begun = time.process_time()
    try:
        fit = be.fit(halves.start, halves.fitted, **halves.options)
    finally:
        identify.with_variation = original
    spent, variation = time.process_time() - begun, fit.variation
    assert variation is not None
    found = judge(fit, halves.judged)
    if numbers:
        said = {"inside": f"{100 * found['inside']:.1f}", "half": f"{found['half_over_rms']:.2f}"}
        said |= {"said": f"{found['said_over_real']:.2f}"}
        record(COMMAND, {f"bands.{name}.{what}": value for what, value in said.items()})
    ranks = " ".join(f"{share:.2f}" for share in found["ranks"])
    return (
        name,
        f"{len(halves.fitted)}",
        f"{len(halves.judged)}",
        f"{100 * found['inside']:.1f} %",
        f"{found['half_over_rms']:.2f}",
        f"{found['said_over_real']:.2f}",
        ranks,
        f"{variation.left_out}; c {variation.factor:.2f}",
        f"{spent - sum(timed):.0f}",
        f"{sum(timed):.1f}",
    )


def main(words: Sequence[str] | None = None) -> None:
    given = sys.argv[1:] if words is None else words
    places = [word for word in given if not word.startswith("--")]
    folder, quick, numbers = Path(places[0] if places else DATA), "--quick" in given, "--numbers" in given
    names = places[1:] or (["go2"] if quick else [*SETS])
    if not folder.is_dir():
        print(f"no recordings in {folder}; nothing to measure")
        return
    print(table([row(name, folder, quick, numbers) for name in names], HEAD))


if __name__ == "__main__":
    main()
