"""Robots as benches: ours beside the anchors, in one run.

Usage: python benchmarks/robot.py ../shared/data [--numbers]
With --numbers what it measures goes into docs/numbers.json, from where pages are filled.
Held-out errors are RMS over joints and samples of the simulation of all joints together [mrad].
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from measured_numbers import record

import backemf as be
from backemf.identify.plants.recordings import recording_of
from backemf.identify.plants.robot_result import score_runs
from backemf.mujoco.robot.joint_simulation import simulate_joints
from backemf.physics.drive import Impedance
from backemf.physics.friction import Coulomb
from backemf.physics.motor import Limits, Motor
from backemf.results.fit_result import Score
from backemf.tables import table
from backemf.targets.mujoco.edited_model import EditedModel

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
COMMAND = "python benchmarks/robot.py ../shared/data --numbers"
UNSEEN = ["figure_eight", "pick_place", "hold_under_gravity", "random_waypoints", "fast_transitions"]
HALF = ["friction_gravity", "large_amplitude", "step_response", "hold_under_gravity", "random_waypoints",
        "chirp_sweep"]  # fmt: skip
FILES = {"dcmotor": "mujoco", "position": "mujoco-classic"}
"""Targets that are written into the arm's own file."""
SHIPPED = {"so101": "34.6 (the model as shipped)", "go2": "9.0 (as shipped, in sample)", "z1": "-"}
SKETCH = {"so101": "9.4; 6.6 in the air", "go2": "6.5 (each joint alone)", "z1": "-"}


def shipped(robot: be.Robot, gains: tuple[np.ndarray, np.ndarray] | None) -> dict[str, be.Actuator]:
    """The joints as the public model has them: armature, damping, friction, its own or the given gains."""
    made = {}
    for k, joint in enumerate(robot.joints):
        if joint.tool:
            continue
        s = joint.shipped
        kp, kd = (s["kp"], s["kv"]) if gains is None else (gains[0][k], gains[1][k])
        limits = None if joint.torque_limit is None else Limits(torque=joint.torque_limit)
        motor = Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=s["armature"], limits=limits)
        friction = Coulomb(coulomb=s["frictionloss"], viscous=s["damping"])
        drive = Impedance(newton_metres_per_radian=kp, newton_metre_seconds_per_radian=kd)
        made[joint.name] = be.Actuator(motor=motor, friction=friction, drive=drive)
    return made


def measured(
    name: str, fit: be.Fit, as_shipped: Score, n_logs: int, n_judged: int, spent: float
) -> dict[str, str]:
    """What pages say of a robot, by name; errors in mrad."""
    ours, ground = fit.score, fit.robot.ground if fit.robot is not None else None
    assert ours is not None
    values = {
        "motions": str(n_logs),
        "judged": str(n_judged),
        "shipped": f"{1e3 * as_shipped.rms:.1f}",
        "held_out": f"{1e3 * ours.rms:.1f}",
        "in_the_air": f"{1e3 * ours.rms_free:.1f}",
        "touching_percent": f"{100 * ours.share_touched:.0f}",
        "friction": fit.friction,
        "cpu_s": f"{spent:.0f}",
    }
    if name == "so101":
        for joint in fit.joints:
            values[f"{joint}.shipped"] = f"{1e3 * as_shipped.joints[joint]:.1f}"
            values[f"{joint}.held_out"] = f"{1e3 * ours.joints[joint]:.1f}"
            values[f"{joint}.in_the_air"] = f"{1e3 * ours.joints_free[joint]:.1f}"
    if ground is not None:
        values["table_mm"] = f"{-1e3 * ground.height:.0f}"
        values["table_error_mm"] = f"{1e3 * ground.error:.0f}"
    return {f"{name}.{key}": value for key, value in values.items()}


def main(words: Sequence[str] | None = None) -> None:
    given = sys.argv[1:] if words is None else words
    places = [word for word in given if not word.startswith("--")]
    folder, quick, numbers = Path(places[0] if places else DATA), "--quick" in given, "--numbers" in given
    if not folder.is_dir():
        print(f"no recordings in {folder}; nothing to measure")
        return
    rows = [compare(name, folder, numbers) for name in (("z1",) if quick else ("so101", "go2", "z1"))]
    head = ("robot", "shipped, here", "published", "sketch", "ours", "in the air", "friction", "CPU [s]")
    print(table(rows, head))
    if not quick:
        halves(folder, numbers)


def compare(name: str, folder: Path, numbers: bool) -> tuple[str, ...]:
    """A robot as shipped and as fitted, on motions that were not fitted."""
    here = folder / name
    robot = be.Robot.read(here / f"{name}.xml")
    logs = be.read(str(here / "*.csv"), bench=robot)
    gains, options = None, {"hold_out": UNSEEN, "friction": "ladder", "firmware": "lerobot"}
    begin = time.process_time()
    if name == "so101":
        fit = be.fit({".*": "sts3215-12v"}, logs, **options)
    else:
        given = here / "gains.json"
        fit = be.fit("torque", logs, gains=given, hold_out="last 40 %", friction="coulomb")
        loaded = json.loads(given.read_text())
        gains = np.array(loaded["kp"]), np.array(loaded["kd"])
    spent = time.process_time() - begin
    judged = [log for log in logs if log.name in UNSEEN]
    if not judged:
        cut = logs[0].time[0] + 0.6 * (logs[0].time[-1] - logs[0].time[0])
        judged = [logs[0].between(cut, logs[0].time[-1])]
    recordings = [recording_of(robot, _plain(log)) for log in judged]
    old = shipped(robot, gains)
    runs = [simulate_joints(robot, old, one.log, motion=one.motion) for one in recordings]
    as_shipped = score_runs(robot, [*old], recordings, runs, held_out=True)
    ours = fit.score
    assert ours is not None
    if numbers:
        record(COMMAND, measured(name, fit, as_shipped, len(logs), len(judged), spent))
    if name == "so101":
        files(fit, here / f"{name}.xml", logs, numbers)
    return (
        name,
        f"{1e3 * as_shipped.rms:.1f}",
        SHIPPED[name],
        SKETCH[name],
        f"{1e3 * ours.rms:.2f}",
        f"{1e3 * ours.rms_free:.2f}",
        fit.friction,
        f"{spent:.0f}",
    )


def files(fit: be.Fit, model: Path, logs: Sequence[be.Log], numbers: bool) -> None:
    """The model's file as it was and with the fit in it, driven in MuJoCo as the judged motions say."""
    found = {}
    for key, target in FILES.items():
        made = be.export(fit, target, into=model, logs=logs)
        assert isinstance(made, EditedModel)
        found |= {f"so101.file_{key}": made.off_by(), "so101.file_shipped": made.off_by("before")}
    values = {key: f"{1e3 * error:.1f}" for key, error in found.items()}
    print(*(f"{key}: {value} mrad RMS" for key, value in values.items()), sep="\n")
    if numbers:
        record(COMMAND, values)


def halves(folder: Path, numbers: bool) -> None:
    """Two disjoint halves of the arm's motions: how many numbers agree within two errors; and the CPU time of
    one friction."""
    robot = be.Robot.read(folder / "so101" / "so101.xml")
    logs = be.read(str(folder / "so101" / "*.csv"), bench=robot)
    fits = []
    for k in (0, 1):
        own = [log for log in logs if (log.name in HALF) == bool(k)]
        fits.append(be.fit({".*": "sts3215-12v"}, own, firmware="lerobot", friction="m4"))
    one, two = ({**f.parameters, **{f"{b.group}.{b.path}": b for b in f.bench}} for f in fits)
    z = {n: (one[n].value - two[n].value) / np.hypot(one[n].error, two[n].error) for n in one}
    far = [f"{n} {v:.1f}" for n, v in z.items() if abs(v) >= 2]
    share = 1.0 - len(far) / len(z)
    if numbers:
        seconds = f"{max(f.cpu_s for f in fits):.0f}"
        record(COMMAND, {"so101.halves_percent": f"{100 * share:.0f}", "so101.one_friction_cpu_s": seconds})
    print(f"two halves of so101: {100 * share:.0f} % of {len(z)} numbers within z = 2 ({', '.join(far)})")
    print(f"one friction: {', '.join(f'{f.cpu_s:.0f} s' for f in fits)} of CPU")


def _plain(log: be.Log) -> be.Log:
    """Without torques that a PD law made: the law makes them again."""
    joints = {
        name: replace(one, signals={k: v for k, v in one.signals.items() if k != "torque_target"})
        for name, one in log.joints.items()
    }
    return replace(log, joints=joints)


if __name__ == "__main__":
    main()
