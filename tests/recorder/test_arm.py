"""A whole arm: motions that go joint by joint and let nothing fall, checked against the model before anything
moves, and the way from a virtual arm through the shell to its model."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue, UnknownName
from backemf.kits.recorder.arm_motions import arm_motions
from backemf.kits.recorder.buses import BusError, BusServo
from backemf.kits.recorder.preflight import sheet_currents
from backemf.kits.recorder.recorder import RecordingStopped
from backemf.kits.recorder.session import over
from backemf.mujoco.robot.joint_simulation import simulate_joints
from backemf.mujoco.robot.robot_motion import motion_of
from backemf.physics.joint_law import dry_levels
from backemf.planning.arm_paths import arm_problems
from backemf.planning.motions import Motion, Motions, SafetyLimits, Track

from ..robot.arms import ARM
from .rig import started, virtual

FOLDING = ARM.replace('range="-2 2"', 'range="-3.1 3.1"')
"""The arm with joints that may fold back onto the link before."""
NAMES = ("shoulder", "elbow", "wrist")


def record(port, to, **more):
    """With the patience that a busy machine needs."""
    more.setdefault("limits", SafetyLimits(silence=2.0))
    return be.record(bus="feetech", port=port, to=to, yes=True, **more)


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "arm.xml").write_text(FOLDING)
    return be.Robot.read(tmp_path / "arm.xml")


def one_motion(**tracks):
    made = {name: Track(times=(0.0, 1.0), positions=to) for name, to in tracks.items()}
    return Motions(motions=(Motion(name="swing", duration=1.5, tracks=made),))


def test_usual_motions_of_an_arm_go_joint_by_joint_and_stay_on(robot):
    here = {"shoulder": 0.312, "elbow": 2.9, "wrist": -0.04}
    plan = arm_motions(robot, here, amplitude=0.5, seconds=20.0)
    assert [motion.name for motion in plan.motions] == [*NAMES, "all-joints"]
    assert plan.duration == pytest.approx(20.0)
    for motion in plan.motions:
        assert all(track.coast is None for track in motion.tracks.values())
    for motion, name in zip(plan.motions, NAMES, strict=False):
        assert list(motion.tracks) == [name]
        _, q = motion.sample(name)
        assert np.ptp(q) == pytest.approx(1.0, abs=0.02)
        assert abs(q[0] - here[name]) < 0.6
        assert np.max(np.abs(q)) <= 3.05 + 1e-6, "inside the joint's range"
    again = arm_motions(robot, {**here, "shoulder": 0.318}, amplitude=0.5, seconds=20.0)
    assert again == plan, "the same where it stands nearly there: what is done is not played again"


def test_what_would_touch_or_leave_its_range_is_said_before_anything_moves(robot):
    here = dict.fromkeys(NAMES, 0.0)
    assert list(arm_problems(robot, one_motion(elbow=(0.0, 1.5)), here, None)) == []
    (folds,) = arm_problems(robot, one_motion(elbow=(0.0, 3.05)), here, None)
    assert re.match(r"swing: (fore|hand) touches upper on its way, at shoulder 0.00, elbow \d", folds)
    said = arm_problems(robot, one_motion(wrist=(0.0, 3.3)), here, None)
    (beyond,) = [text for text in said if "range" in text]
    assert "swing takes wrist to 0.000 .. 3.300 rad, and its range in the model is -3.1 .. 3.1" in beyond
    down = one_motion(shoulder=(0.0, 1.2))
    assert list(arm_problems(robot, down, here, None)) == []
    (table,) = arm_problems(robot, down, here, 0.1)
    assert "touches what stands still" in table


def test_the_way_to_the_start_counts_too(robot):
    """From a folded posture on one side straight to the other, through the link between."""
    start = Track(times=(0.0, 1.0), positions=(2.0, 2.0))
    plan = Motions(motions=(Motion(name="swing", duration=1.0, tracks={"elbow": start}),))
    away = {"shoulder": 0.0, "elbow": 0.0, "wrist": 0.0}
    assert list(arm_problems(robot, plan, away, None)) == []
    low = {"shoulder": 0.9, "elbow": -0.9, "wrist": 0.0}  # level above the table; then the elbow swings down
    assert list(arm_problems(robot, plan, low, 0.2))


def test_a_jump_passes_what_is_between(robot):
    """Stretched out and folded back the arm is above the table; in between it hangs down to 0.1 m."""
    jump = Track(times=(0.0, 0.5, 0.8), positions=(0.2, 2.9, 0.2), between="hold")
    plan = Motions(motions=(Motion(name="swing", duration=1.0, tracks={"elbow": jump}),))
    here = {"shoulder": 0.0, "elbow": 0.2, "wrist": 0.0}
    assert list(arm_problems(robot, plan, here, None)) == []
    (down,) = arm_problems(robot, plan, here, 0.25)
    assert "touches what stands still" in down


def survey(model: str, volts: float | None) -> dict:
    seen = {"position": 0.0} | ({} if volts is None else {"supply": volts})
    return {"servos": [{"name": name, "model": model, "seen": seen} for name in ("elbow", "wrist")]}


def test_currents_are_limited_by_the_sheets_of_the_parts():
    """Twice the current at stall: 2.7 A of the 12 V servo; what somebody says comes first."""
    usual = SafetyLimits()
    limits, said = sheet_currents(usual, survey("sts3215", 12.3), None)
    assert limits.currents == {"elbow": 5.4, "wrist": 5.4}
    assert "of elbow, wrist at 5.4 A, twice what the sheet of sts3215-12v says at stall" in said
    other, _ = sheet_currents(usual, survey("sts3215", 7.2), None)
    stall = be.Datasheet.read("sts3215-7.4v").value("stall_current")
    assert other.current_of("elbow") == pytest.approx(2.0 * stall)
    assert sheet_currents(usual, survey("unknown", 12.0), None) == (usual, "")
    named, _ = sheet_currents(usual, survey("unknown", 12.0), "sts3215-12v")
    assert named.current_of("wrist") == 5.4
    mine = SafetyLimits(current=1.5)
    assert sheet_currents(mine, survey("sts3215", 12.0), None) == (mine, "")
    one, _ = sheet_currents(SafetyLimits(currents={"elbow": 1.0}), survey("sts3215", 12.0), None)
    assert (one.current_of("elbow"), one.current_of("wrist")) == (1.0, 5.4)
    servo = BusServo(id=1, model="sts3215", columns=())
    assert "elbow has a current of -1.2 A, above its limit of 1" in over(
        "elbow", {"current": -1.2}, one, servo
    )
    assert over("wrist", {"current": -1.2}, one, servo) == ""


@pytest.mark.parametrize(
    ("more", "error", "text"),
    [
        ({"ids": {"ellbow": 1}}, UnknownName, "unknown joint of arm 'ellbow'; did you mean 'elbow'"),
        ({"bench": "pendulum mass=1 length=1"}, InvalidValue, "a robot's model says what its joints carry"),
    ],
)
def test_what_does_not_fit_a_robot_is_refused_before_a_port_is_opened(robot, tmp_path, more, error, text):
    given = {"ids": {"elbow": 1}, "robot": robot, **more}
    with pytest.raises(error, match=text):
        be.record(bus="feetech", port="/dev/none", to=tmp_path / "logs", yes=True, **given)


@pytest.mark.realtime
def test_a_blocked_joint_ends_the_motion(tmp_path):
    track = Track(times=(0.0, 2.0, 2.5), positions=(0.0, 0.0, 1.0))
    plan = Motions(motions=(Motion(name="push", duration=20.0, tracks={"*": track}),))
    blocked = pytest.raises(RecordingStopped, match=r"1 is asked for .* rad and stands at .*: is it blocked")
    with virtual("--fault", "stuck=2") as port, blocked:
        record(port, tmp_path, motions=plan)
    (log,) = be.read(str(tmp_path / "push.jsonl"))
    late = log.time[-1] - np.interp(0.2, log["position_target"], log.time)
    assert late < 1.5, "a busy machine may take a little longer than half a second"


@pytest.mark.realtime
def test_a_motion_that_the_model_forbids_is_not_played(robot, tmp_path):
    (tmp_path / "arm.xml").write_text(FOLDING)
    words = ("sts3215-12v", "--firmware", "lerobot", "--robot", str(tmp_path / "arm.xml"))
    ids = {name: k + 1 for k, name in enumerate(NAMES)}
    with virtual(*words, "--ids", ",".join(f"{n}={k}" for n, k in ids.items())) as port:
        with pytest.raises(BusError, match=r"swing: (hand|fore) touches"):
            record(port, tmp_path / "logs", ids=ids, motions=one_motion(elbow=(0.0, 3.05)), robot=robot)
        assert not (tmp_path / "logs").exists()


def arm_line(tmp_path, truth):
    """What starts a virtual arm and a recorder of it, in words."""
    (tmp_path / "arm.xml").write_text(ARM)
    truth.write(tmp_path / "truth.json")
    robot, ids = ("--robot", str(tmp_path / "arm.xml")), ("--ids", "shoulder=1,elbow=2,wrist=3")
    line = ("--bus", "feetech", *ids, *robot, "--speed", "2", "--yes", "--limit", "silence=2", "-o", "logs")
    return (str(tmp_path / "truth.json"), *robot, *ids, "--speed", "2"), line, robot


def run(tmp_path, *words: object) -> str:
    process = started(*map(str, words), cwd=tmp_path)
    said, _ = process.communicate(timeout=240)
    assert process.returncode == 0, said
    return said


@pytest.mark.realtime
def test_a_virtual_arm_is_recorded_as_it_moves(tmp_path):
    """One log a motion with all joints, which the arm's own actuators predict."""
    truth = be.Actuator.read("sts3215-12v/so101").replace(**{"friction.coulomb": 0.12, "friction.load": 0.2})
    arm, line, _ = arm_line(tmp_path, truth)
    with virtual(*arm) as port:
        run(tmp_path, "record", "--port", port, *line, "--seconds", "8")
    robot = be.Robot.read(tmp_path / "arm.xml")
    logs = be.read(tmp_path / "logs", bench=robot)
    assert [log.name for log in logs] == ["all-joints", "elbow", "shoulder", "wrist"]
    for log in logs:
        motion = motion_of(robot, log)
        q = simulate_joints(robot, dict.fromkeys(NAMES, truth), log, motion=motion)
        assert np.sqrt(np.nanmean((q - motion.recorded) ** 2)) < 0.02, "a busy machine stamps late"


def drawn_servo(seed: int) -> be.Actuator:
    """A servo somewhat unlike its sheet: winding, friction, and how late it takes commands."""
    draw = np.random.default_rng(seed)
    known = be.Actuator.read("sts3215-12v/so101")
    numbers = {
        "motor.resistance": known.parameters["motor.resistance"] * draw.uniform(0.9, 1.15),
        "friction.coulomb": draw.uniform(0.06, 0.14),
        "friction.load": draw.uniform(0.1, 0.25),
        "drive.delay": draw.uniform(0.01, 0.03),
    }
    return known.replace(**numbers)


@pytest.mark.proof
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_virtual_arm_comes_back_through_the_shell(tmp_path, seed):
    """Planned, recorded, fitted, put into its model, and filmed; stiffness, friction at slip under what it
    carries, and delay within 15 %."""
    truth = drawn_servo(seed)
    arm, line, robot = arm_line(tmp_path, truth)
    start = ("--start", "sts3215-12v", "--firmware", "lerobot")
    run(tmp_path, "plan", *robot, *start, "--seconds", "60", "-o", "motions.json")
    with virtual(*arm) as port:
        run(tmp_path, "record", "--port", port, *line, "--motions", "motions.json")
    run(tmp_path, "fit", "logs", *robot, *start, "-o", "fit.json")
    run(tmp_path, "export", "fit.json", "--to", "mujoco", "--into", "arm.xml", "-o", "new.xml")
    fit = be.Fit.read(tmp_path / "fit.json")
    share = {"shoulder": 0.19, "elbow": 0.07, "wrist": 0.01}  # of the stall torque, by the links' weights
    for name, actuator in fit.actuators.items():
        law, true = (be.steady.joint_law(one, load=share[name]) for one in (actuator, truth))
        assert law.stiffness == pytest.approx(true.stiffness, rel=0.15), name
        slip, true_slip = (dry_levels(one, share[name], 0.5).at_rest for one in (actuator, truth))
        assert slip == pytest.approx(true_slip, rel=0.15), name
        assert fit.delays[name] == pytest.approx(truth.drive.delay, rel=0.15, abs=2e-3), name
    assert be.attach(tmp_path / "arm.xml", fit).model.nu == 3
    first = sorted((tmp_path / "logs").glob("*.jsonl"))[0]
    run(tmp_path, "render", "fit.json", first, "-o", "film.mp4")
    assert (tmp_path / "film.mp4").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("here", "low", "high", "centre", "reach"),
    [
        (0.27, None, None, 0.3, 0.4),
        (0.24, -2.0, 2.0, 0.2, 0.4),
        (1.9, -2.0, 2.0, 1.55, 0.4),  # 0.05 rad from the end
        (-1.9, -2.0, 2.0, -1.55, 0.4),
        (0.1, -0.2, 0.4, 0.1, 0.25),
    ],
)
def test_a_joints_motions_are_about_where_it_stands_and_keep_from_its_ends(here, low, high, centre, reach):
    joint = SimpleNamespace(low=low, high=high)
    robot = SimpleNamespace(name="arm", joint=lambda name: joint)
    plan = arm_motions(robot, {"a": here, "b": here}, 0.4, 30.0)
    assert [one.name for one in plan.motions] == ["a", "b", "all-joints"]
    assert [one.duration for one in plan.motions] == [10.0] * 3
    t = np.linspace(0.0, 9.999, 2000)
    q = plan.motions[0].tracks["a"].at(t)
    assert (q[0], q[-1]) == pytest.approx((centre, centre))
    assert (q.min(), q.max()) == pytest.approx((centre - reach, centre + reach), abs=2e-3)
    slow = np.abs(np.diff(q)) / np.diff(t) < 1.01 * reach / 1.4
    np.testing.assert_array_equal(slow[t[:-1] < 5.9], True)  # over the reach in 1.4 s, four times
    assert np.sum(~slow) == 5, "and as many jumps"
    waves = [plan.motions[2].tracks[name].at(t) - centre for name in "ab"]
    for wave in waves:
        np.testing.assert_allclose(np.abs(wave).max(), 0.3 * reach, rtol=0.02)
    assert abs(np.corrcoef(*waves)[0, 1]) < 0.9
