"""The target mujoco-live: the files that are written are what runs, and nothing of the actuator is lost."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import exports
from backemf.errors import BackemfError
from backemf.targets.export import export
from backemf.targets.mujoco import live
from backemf.targets.reference_motions import ReferenceMotion, make_case
from backemf.targets.replay import read_export, replay

from ..cli.runner import runner
from .clock import DRIVES, GEARED, driven

STEP = 0.001
RICH = dataclasses.replace(
    GEARED,
    motor=be.motor.Motor(
        resistance=4.0,
        torque_constant=0.01,
        rotor_inertia=1e-7,
        inductance=4e-3,
        thermal=be.motor.Thermal(resistance=20.0, capacitance=0.05),
        limits=be.motor.Limits(torque=0.015),
    ),
    friction=be.friction.M4(
        coulomb=0.05, static=0.08, stribeck_velocity=0.3, viscous=0.01, load=0.06, load_stribeck=0.05
    ),
    drive=be.drive.Position(
        volts_per_radian=40.0,
        volts_per_radian_second=60.0,
        volt_seconds_per_radian=0.2,
        supply=12.0,
        slew=8.0,
        integral_limit=0.01,
        command_low=-0.04,
        command_high=0.5,
        delay=0.0043,
    ),
)
"""Each of its numbers is at work in the motion of `driven`."""
INERT = {"backemf": "the version of the file", "n_motors": "a whole number"}


def made(actuator: be.Actuator, **how):
    return export(actuator, "mujoco-live", joint="knee", timestep=STEP, **({"replay": False} | how))


def moved(one, files=None, motion: ReferenceMotion | None = None) -> np.ndarray:
    case = make_case(motion or driven(one.actuator), one.ctrl, STEP, one.actuator.motion)
    return live.run(files or one.files, "knee", case)


def test_the_header_says_what_was_run():
    one = made(DRIVES["servo"], replay=True)
    assert one.ran.startswith(
        f"Run in MuJoCo {mujoco.__version__} at 1 ms (steps, slow sine, sine, fast sine): "
    )
    assert f"# {one.ran}"[:40] in one.files["knee_live.py"]
    assert not one.dropped
    assert not one.approximated
    assert one.replayed.rms < 5e-4
    # A jump that saturates acts when its step begins, half a millisecond early, at up to 10 rad/s.
    assert one.replayed.worst < 5e-3


@pytest.mark.parametrize("name", DRIVES)
def test_every_drive_moves_as_in_the_engine(name):
    one = made(DRIVES[name])
    motion = driven(one.actuator)
    run = be.simulate(
        one.actuator, motion.bench, dict(motion.command), time=motion.time, tolerance=1e-6, warn=False
    )
    q = moved(one)
    there = np.interp(motion.time, STEP * np.arange(len(q)), q)
    assert np.ptp(run.position) > 0.3
    # Three jumps that saturate act when their step begins, half a step early each.
    assert np.max(np.abs(there - run.position)) < 3 * 0.5 * STEP * np.max(np.abs(run.velocity))


def test_the_written_file_is_what_runs(tmp_path):
    """Imported as anybody would, its `attach` moves a model as the replay does."""
    one = made(DRIVES["servo"])
    paths = one.write(tmp_path / "leg.py")
    assert {p.name for p in paths} == {"leg.py", "leg_actuator.json"}
    spec = importlib.util.spec_from_file_location("leg", tmp_path / "leg.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert one.actuator == module.ACTUATOR
    case = make_case(driven(one.actuator), one.ctrl, STEP, "rotary")
    motors = module.attach(live.bench("knee", case.timestep, case.inertia, case.motion))
    data = mujoco.MjData(motors.model)
    positions = np.empty(len(case.moments))
    for k, target in enumerate(case.mean_inputs[:, 0]):
        positions[k] = data.qpos[0]
        data.ctrl[0] = target
        mujoco.mj_step(motors.model, data)
    assert np.array_equal(positions, moved(one))


def test_a_joint_may_have_a_path_for_a_name():
    one = export(DRIVES["servo"], "mujoco-live", joint="left/knee", timestep=STEP)
    assert one.ran.startswith("Run in MuJoCo")
    assert [*one.files] == ["left_knee_live.py", "left_knee_live_actuator.json"]


def test_every_number_of_the_file_beside_it_acts():
    one = made(RICH)
    before = moved(one)
    text = one.files["knee_live_actuator.json"]
    seen = 0
    for found in re.finditer(r'"(\w+)": ([-+\d.e]+)(?=[,\n])', text):
        name, value = found[1], float(found[2])
        if value == 0 or name in INERT:
            continue
        changed = f"{text[: found.start(2)]}{1.2 * value!r}{text[found.end(2) :]}"
        other = moved(one, {**one.files, "knee_live_actuator.json": changed})
        assert np.max(np.abs(other - before)) > 1e-7, f"{name} changes nothing"
        seen += 1
    assert seen > 20


def test_a_recordings_own_settings_take_the_files_place():
    one, time = made(DRIVES["servo"]), 0.004 * np.arange(100)
    target = 0.3 * np.sin(2 * np.pi * 2 * time)
    soft = one.actuator.replace(**{"drive.volts_per_radian": 12.0})
    bench = be.bench.Pendulum(mass=0.3, length=0.1)
    seen = be.simulate(soft, bench, target, time=time, tolerance=1e-6, warn=False).position
    given = {"bench": bench, "position": seen, "position_target": target}
    ours = be.log("soft", time, settings={"drive.volts_per_radian": 12.0}, **given)
    (case,) = replay(one, [ours], refine=False).cases
    assert case.target_log is not None
    assert case.target_log < 2e-4
    (stiff,) = replay(one, [be.log("stiff", time, **given)], refine=False).cases
    assert stiff.target_log is not None
    assert stiff.target_log > 20e-3


def test_a_disabled_drive_is_replayed_as_off():
    one, time = made(DRIVES["servo"]), 0.004 * np.arange(150)
    on = np.where((time > 0.2) & (time < 0.4), 0.0, 1.0)
    bench = be.bench.Pendulum(mass=0.6, length=0.15)
    given = {"position_target": np.full(len(time), 0.6), "enabled": on}
    seen = be.simulate(one.actuator, bench, given, time=time, tolerance=1e-6, warn=False).position
    assert np.min(seen[time > 0.3]) < 0.5  # it falls
    (case,) = replay(one, [be.log("let go", time, bench=bench, position=seen, **given)], refine=False).cases
    assert case.target_log is not None
    assert case.target_log < 3e-3  # a switch acts when its step begins, half a step early
    always = given | {"enabled": np.ones(len(time))}
    (held,) = replay(one, [be.log("held", time, bench=bench, position=seen, **always)], refine=False).cases
    assert held.target_log is not None
    assert held.target_log > 20 * case.target_log


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("knee_live.py", "def attach(", "def attach((", "knee_live.py does not run: SyntaxError"),
        ("knee_live.py", "def attach(", "def put(", "knee_live.py does not run: KeyError: 'attach'"),
        ("knee_live.py", "{'knee': ACTUATOR}", "{'elbow': ACTUATOR}", "unknown joint in the model 'elbow'"),
        ("knee_live_actuator.json", '"backemf"', '"front"', "not written by backemf"),
        ("knee_live_actuator.json", '"resistance": 4.0', '"resistance": -4.0', "motor.resistance is -4 ohm"),
    ],
)
def test_a_broken_file_gives_a_sentence(file, old, new, said):
    one = made(DRIVES["servo"])
    assert old in one.files[file]
    with pytest.raises(BackemfError, match=re.escape(said)):
        moved(one, {**one.files, file: one.files[file].replace(old, new)})


@pytest.mark.parametrize("h", [0.002, 0.0007, 0.011])
def test_means_over_a_step_are_those_of_the_held_signal(h):
    """Against sums over a thousand parts of each step, with samples at uneven moments."""
    rng = np.random.default_rng(1)
    time = np.concatenate([[0.0], np.cumsum(rng.uniform(0.002, 0.007, 40))])
    target = rng.standard_normal(len(time))
    start = {"position": 0.0, "velocity": 0.0}
    motion = ReferenceMotion(
        "held", be.bench.Flywheel(inertia=0.01), time, {"position_target": target}, start
    )
    case = make_case(motion, {"position_target": 2.0}, h, "rotary")
    parts = (np.arange(1000) + 0.5) / 1000 * h
    at = np.searchsorted(time, case.moments[:, None] + parts, side="right") - 1
    mean = 2.0 * target[at].mean(axis=1)
    # a part that a sample falls into is wrong by a jump of at most 2 x 6, for each of up to 6 samples
    assert np.max(np.abs(case.mean_inputs[:, 0] - mean)) < 12 * 6 / 1000
    assert np.max(np.abs(case.inputs[:, 0] - mean)) > 0.1
    still = motion._replace(command={"position_target": np.full(len(time), 0.3)})
    held = make_case(still, {"position_target": 1.0}, h, "rotary")
    assert held.mean_inputs[:, 0] == pytest.approx(0.3, abs=1e-12)


def test_the_command_replays_a_fit_in_it(tmp_path):
    """`backemf replay FIT LOGS --to mujoco-live` takes an actuator too."""
    actuator, time = DRIVES["servo"], 0.004 * np.arange(100)
    target = 0.3 * np.sin(2 * np.pi * 2 * time)
    bench = be.bench.Pendulum(mass=0.3, length=0.1)
    seen = be.simulate(actuator, bench, target, time=time, tolerance=1e-6, warn=False).position
    actuator.write(tmp_path / "servo.json")
    rows = [f"{t},{q},{u}" for t, q, u in zip(time, seen, target, strict=True)]
    text = "time [s],position [rad],position_target [rad]\n" + "\n".join(rows) + "\n"
    (tmp_path / "seen.csv").write_text(text)
    words = (tmp_path / "servo.json", tmp_path / "seen.csv", "--bench", "pendulum mass=0.3kg length=0.1m")
    answer = json.loads(runner(exports.replay)(*words, "--to", "mujoco-live", "--json"))
    (case,) = answer["replay"]["cases"]
    assert answer["replay"]["simulator"] == f"MuJoCo {mujoco.__version__}"
    assert case["target_log"] < 5e-4


def test_a_file_on_disk_says_itself_what_it_is(tmp_path):
    """Replayed as it stands, its numbers changed by hand or not; without the other file it says so."""
    one = made(DRIVES["servo"])
    one.write(tmp_path / "leg.py")
    read = read_export(str(tmp_path / "leg.py"))
    assert (read.target, read.joint, read.actuator) == ("mujoco-live", "knee", one.actuator)
    assert np.array_equal(moved(read), moved(one))
    beside = tmp_path / "leg_actuator.json"
    beside.write_text(beside.read_text().replace('"resistance": 4.0', '"resistance": 6.0'))
    weaker = read_export(str(tmp_path / "leg.py"), one.actuator)
    assert weaker.actuator == one.actuator
    assert np.max(np.abs(moved(weaker) - moved(one))) > 1e-3
    beside.unlink()
    with pytest.raises(BackemfError, match=r"^leg\.py needs its file leg_actuator\.json beside it$"):
        read_export(str(tmp_path / "leg.py"))
