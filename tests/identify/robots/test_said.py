"""What is said of a robot's fit, and which recordings and joints count: recordings made of numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify.plants import recordings, robot_plant, robot_result
from backemf.identify.plants.plant import Optimum
from backemf.identify.plants.robot_plant import RobotPlant
from backemf.logs.robot import Ground

T = 0.01 * np.arange(1001)
PLACES = {"a": 0, "b": 1}
ROBOT: Any = SimpleNamespace(place=PLACES.__getitem__)


def recording(name: str = "run", touched: Any = (), velocity: Any = None, **joints: Any) -> Any:
    """Ten seconds of joints; what they were asked for, and where they were."""
    log = SimpleNamespace(
        name=name, joints={n: be.log(n, T, **dict(zip(("position_target", "position"), x, strict=False)))
                           for n, x in joints.items()}
    )  # fmt: skip
    mask = np.zeros(len(T), bool)
    for begin, end in touched:
        mask |= (begin - 1e-9 <= T) & (end - 1e-9 > T)
    recorded = np.stack([x[-1] for x in joints.values()], axis=1) if joints else np.zeros((len(T), 2))
    motion = SimpleNamespace(time=T, recorded=recorded, velocity=velocity)
    return SimpleNamespace(log=log, motion=motion, touched=mask, carried=SimpleNamespace(torque=recorded))


def codes(findings: Any) -> list[str]:
    return [f.code for f in findings]


FALLS = {
    # from when on [s] it is how far off, and usually: whether it fell
    "for two seconds": (8.0, 0.35, 0.02, True),
    "not that far": (8.0, 0.25, 0.02, False),
    "for a good second": (8.8, 0.35, 0.02, True),
    "for less": (9.2, 0.35, 0.02, False),
    "ten times the usual": (8.0, 1.1, 0.1, True),
    "less than that": (8.0, 0.9, 0.1, False),
    "all the while": (0.0, 0.9, 0.1, False),
}


@pytest.mark.parametrize("row", FALLS)
def test_a_robot_that_fell_stands_far_from_what_was_asked_to_the_end(row):
    since, by, usual, said = FALLS[row]
    asked, off = np.sin(T), np.where(since - 1e-9 <= T, by, usual)
    both = [recording(a=(asked, asked + off), b=(asked, asked - off), **more) for more in ({}, {"c": (T, T)})]
    assert [codes(robot_result.of_falls([one])) for one in both] == [["fell"] if said else []] * 2
    for f in robot_result.of_falls(both[:1]):
        assert f.numbers["begin"] == pytest.approx(since)
    half = recording(a=(asked, asked + off), b=(asked, asked))
    assert codes(robot_result.of_falls([half, recording()])) == []  # most joints must
    back = np.where(T < 9.9, off, 0.0)
    assert codes(robot_result.of_falls([recording(a=(asked, asked + back))])) == []  # to the end


def test_errors_by_joint_and_by_recording():
    """Joint b is missed by 0.3; a is not recorded in the second, and touches something in the first."""
    zero, gone = 0.0 * T, np.full(len(T), np.nan)
    one, two = (
        recording("one", [(0.0, 2.0)], a=(zero, zero), b=(zero, zero)),
        recording("two", b=(zero, zero)),
    )
    for made in (one, two):
        made.motion.velocity = np.zeros((len(T), 2))
    two.motion.recorded = np.stack([gone, zero], axis=1)
    two.log.joints["a"] = two.log.joints["b"]
    q = np.stack([np.where(T < 2.0 - 1e-9, 0.4, 0.1), np.full(len(T), 0.3)], axis=1)
    score = robot_result.score_runs(ROBOT, ["a", "b"], [one, two], [q, q], held_out=True)
    n, k = 1001, 200
    a2, free2 = k * 0.16 + (n - k) * 0.01, (n - k) * 0.01
    assert score.joints == pytest.approx({"a": np.sqrt(a2 / n), "b": 0.3})
    assert score.joints_free == pytest.approx({"a": 0.1, "b": 0.3})
    assert score.rms == pytest.approx(np.sqrt((a2 + 2 * n * 0.09) / (3 * n)))
    assert score.rms_free == pytest.approx(np.sqrt((free2 + (2 * n - k) * 0.09) / (3 * n - 2 * k)))
    assert score.logs == pytest.approx({"one": np.sqrt((a2 / n + 0.09) / 2), "two": 0.3})
    assert (score.share_touched, score.held_out, score.joints_held) == (k / (2 * n), True, {})
    runs_away = robot_result.score_runs(ROBOT, ["b"], [one], [np.full_like(q, np.nan)], held_out=False)
    assert runs_away.rms == np.inf


@pytest.mark.parametrize(("after", "step", "speed", "held"), [
    (0.6, 0.0, 0.12, True), (0.4, 0.0, 0.12, False), (0.6, 0.0, 0.08, False),
    (0.6, 0.8e-4, 0.12, True), (0.6, 1.3e-4, 0.12, False),
])  # fmt: skip
def test_a_joint_is_held_where_others_move_and_it_was_asked_to_stay(after, step, speed, held):
    """Half a second behind the last step of its command; by less than 0.1 mrad it was asked for nothing."""
    asked = np.where(T < 2.0 - 1e-9, 0.0, 1.0) + step * np.arange(len(T))
    one = recording(touched=[(5.0, 6.0)], velocity=np.tile([9.0, speed], (len(T), 1)), a=(asked, asked))
    k = 200 + round(100 * after)
    found = recordings.held_samples(one, 0, "a")
    assert found[k] == held
    assert not found[520]
    assert not recordings.held_samples(
        recording(a=(asked, asked), velocity=0 * one.motion.velocity), 0, "a"
    ).any()


def profile(demand: float, at: float = 5.0) -> np.ndarray:
    """A speed that jumps: on average over three samples so much acceleration."""
    return np.where(at < T, 3 * demand * 0.01 * (T - at), 0.0)


@pytest.mark.parametrize(("demand", "beyond"), [(10.0, False), (12.0, True)])
def test_what_asks_for_more_than_a_profile_is_left_out_around_it(demand, beyond):
    """From a second before to three behind, a tenth of slack for what rounding does."""
    asked = profile(demand)
    mask = recordings.demanding(recording(a=(asked, asked)), "a", 10.0)
    assert mask.sum() == pytest.approx(400 if beyond else 0, abs=4)
    if beyond:
        assert T[mask][[0, -1]] == pytest.approx([4.0, 8.0], abs=0.03)
    assert not recordings.demanding(recording(a=(asked, asked)), "a", None).any()


def test_contact_is_told_with_its_times_and_the_ground(monkeypatch):
    touching = recording("run 1", [(1.0, 2.0), (3.0, 4.5)])
    for ground, said in (
        (
            Ground(height=-0.02, error=0.003, x_slope=0.05),
            "at -20 mm, rising 50 mm per metre of x (found to 3 mm)",
        ),
        (Ground(height=0.1), "at 100 mm (as told)"),
        (None, "no ground was put there, because it flies"),
    ):
        monkeypatch.setattr(robot_result, "why_no_ground", lambda *given: "it flies")
        plant = SimpleNamespace(recordings=[touching, recording("run 2")], ground=ground, robot=None)
        s: Any = SimpleNamespace(plant=plant, actuators={}, delays={})
        (f,) = robot_result.of_contact(s, [])
        assert f.numbers["share"] == pytest.approx(2.5 / 20)
        assert f.logs == ("run 1",)
        assert "for 12 % of the time" in f.text
        assert "run 1 (2.5 s: 1.0 to 2.0 s, 3.0 to 4.5 s)" in f.text
        assert said in f.text
    plant.recordings = plant.recordings[1:]
    assert list(robot_result.of_contact(s, [])) == []


def test_joints_that_tell_how_strong_a_motor_is_and_those_that_borrow_it():
    borrowed = robot_result._of_borrowers
    (f,) = borrowed({"a": 0.14, "b": 0.16, "c": 0.5})
    assert (f.code, f.numbers) == ("scale_borrowed", {"a": 0.14, "b": 0.16, "c": 0.5})
    assert f.text.startswith("a tell how strong the motor is; b, c borrow it")
    assert "open to 16 % or more" in f.text
    assert codes(borrowed({"a": 0.2, "b": 0.16})) == ["scale_open"]
    assert codes(borrowed({"a": 0.1, "b": 0.12})) == codes(borrowed({"a": 9.0})) == []


@pytest.mark.parametrize(("errors", "named"), [([1, 1, 3.3], "c"), ([1, 1, 2.7], None), ([1, 3.3], None)])
def test_a_recording_that_is_followed_much_worse(errors, named):
    each = [e * np.array([1.0, -1.0, np.nan]) for e in (*errors, errors[-1])]
    p = SimpleNamespace(
        recordings=[*"abc"[: len(errors)], "abc"[len(errors) - 1]], position_errors=lambda x: each
    )
    findings = list(robot_result.of_followed(SimpleNamespace(problem=p, x=None)))
    assert [f.text.partition(" ")[0] for f in findings] == ([named] if named else [])
    for f in findings:
        assert f.numbers == {"error": pytest.approx(3.3), "usual": 1.0}


def test_a_shift_is_no_larger_than_its_prior():
    move = robot_result._within_prior(np.array([3.0, -3.0, 0.4, np.nan]), np.diag([1.0, 0.25, 4.0, 1.0]))
    assert move.tolist() == [1.0, -2.0, 0.4, 0.0]


@pytest.mark.parametrize(("torques", "held"), [
    ([1, 9, 1, 1], [1]), ([9, 1, 1, 1, 1], [0, 1, 4]), ([1, -9, 1, 1, 1, 1, 1], [1, 4]),
])  # fmt: skip
def test_motions_that_judge_a_choice(torques, held):
    """Every third; of five and more the one of the largest torque too."""
    every = [
        SimpleNamespace(place=k, carried=SimpleNamespace(torque=np.array([[float(x), 0.1]])))
        for k, x in enumerate(torques)
    ]
    plant = RobotPlant(robot=ROBOT, starts={}, recordings=every, options=None, given=())
    fold: Any = plant.fold()
    judged, left = ([one.place for one in some] for some in (fold.held_out, fold.recordings))
    assert (judged, left) == (held, [k for k in range(len(every)) if k not in held])


@pytest.mark.parametrize(("scatter", "robust"), [([0.01, 0.01], True), ([1.2e-3, 1.2e-3], False)])
def test_joints_are_weighed_by_how_they_err(scatter, robust):
    """A normal scatter is 1.4826 times its median; where errors stay alike n samples count as one."""
    quantiles = np.repeat(0.6745 * np.tile([1.0, -1.0], 100), 5)  # in fives: 1 + 2 (0.6 + 0.2) count as one
    errors = [s * quantiles for s in (*scatter, 4 * scatter[1], 0.1 * scatter[1])]
    logs = [SimpleNamespace(joint=j) for j in "abbb"]
    p: Any = SimpleNamespace(
        position_errors=lambda x: errors, sigma_noise=[1e-3], joints=("a", "b"), logs=logs,
        places_of=lambda j: [k for k, log in enumerate(logs) if log.joint == j],
    )  # fmt: skip
    alike = 2.6 if robust else 1.0  # where noise explains the joints all count
    found = robot_plant.joint_weights(p, np.zeros(1))
    assert found.sigma[:, 0] == pytest.approx(
        np.sqrt(alike) * np.array([scatter[0], scatter[1], 4 * scatter[1], scatter[1]]), rel=0.02
    )
    assert found.robust == pytest.approx(1.5 / np.sqrt(alike), rel=0.02)


@pytest.mark.parametrize("substeps", [1, 4])
def test_what_a_step_does_to_the_optimum_is_all_that_one_of_nothing_would_undo(monkeypatch, substeps):
    """An optimum that moves in proportion to the step, and a point beside it."""
    H, exact, slope = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([2.0, -1.0]), np.array([0.3, 0.5])

    def normal(p, x, robust):
        return (H, H @ (x - exact - slope / p.substeps))

    monkeypatch.setattr(robot_result, "bounded_normal", normal)
    p: Any = SimpleNamespace(substeps=substeps, free=SimpleNamespace(precision=1e-6 * np.eye(2)))
    s: Any = SimpleNamespace(problem=p, x=exact + slope / substeps + 0.1, robust=np.inf)
    (term,) = robot_result.step_terms(s)
    assert term.covariance == pytest.approx(np.outer(slope, slope) / substeps**2)
    assert (term.if_right, p.substeps) == (True, substeps)


def test_commands_beyond_a_profile_are_said_with_their_share():
    """Of one recording a quarter of both joints' samples, of another nothing, of a third no joint."""
    some, none = np.arange(100) < 25, np.zeros(300, bool)
    plant: Any = SimpleNamespace(
        most_demand=12.0,
        joints=("a", "b"),
        recordings=[recording(name) for name in ("one", "two", "three")],
        left_out=lambda joint: {"one": some, "two": none},
    )
    (f,) = robot_result.of_profile(plant)
    assert f.numbers == {"share": pytest.approx(50 / 800)}
    assert f.text.startswith("6 % of the samples lie around commands that ask for more than 12 rad/s^2")
    assert f.text.endswith("are not fitted: one (25 %).")
    plant.recordings = plant.recordings[1:]
    assert list(robot_result.of_profile(plant)) == []


@pytest.mark.parametrize(("touched", "spans"), [
    ([(3.0, 4.0)], [(240, 500)]), ([(3.0, 4.0), (5.5, 6.0)], [(240, 700)]),
    ([(3.0, 4.0), (5.7, 6.0)], [(240, 500), (510, 700)]),
    ([(0.0, 0.5), (9.8, 11.0)], [(0, 150), (920, 1001)]),
])  # fmt: skip
def test_moments_around_contacts(touched, spans):
    """From 0.6 s before to 1 s behind; those that are near each other together."""
    assert list(recordings._spans(recording(touched=touched))) == spans


def test_all_recordings_have_their_turn_as_long_as_there_is_time(monkeypatch):
    """20 s of all together."""
    monkeypatch.setattr(recordings, "part_of", lambda motion, cut: (cut.start, cut.stop))
    touched = [[(1.0, 2.0), (6.0, 7.0)], [(4.0, 4.5)], *[[(0.0, 11.0)]] * 5]
    every = [recording(f"{k}", spans) for k, spans in enumerate(touched)]
    for one in every:
        one.log.between = lambda a, b, name=one.log.name: (name, round(100 * a), round(100 * b) + 1)
    found = [(*log, *cut, len(inside)) for log, cut, inside in recordings.windows(every[:2])]
    spans = ("0", 40, 300), ("1", 340, 550), ("0", 540, 800)
    assert found == [(name, a, b, a, b, b - a) for name, a, b in spans]
    assert [log[0] for log, *_ in recordings.windows(every[2:])] == ["2", "3", "4"]


@pytest.mark.parametrize(("height", "friction", "without", "found"), [
    (0.0, 0.0, 9.0, (0.0, 0.0)), (0.8, 0.0, 9.0, (0.75, 0.0)), (-0.3, 0.0, 9.0, (-0.25, 0.0)),
    (0.0, 0.1, 9.0, (0.0, 0.12)), (0.0, 0.02, 9.0, (0.0, 0.03)),
    (0.3, 0.0, 0.06, (0.25, 0.0)), (0.3, 0.0, 0.04, None),
])  # fmt: skip
def test_the_ground_is_where_least_is_missed(height, friction, without, found, monkeypatch):
    """Errors are as far as height and friction are off; before the contact, and of another joint, they are
    anything."""
    calls = []

    def simulated(robot: Any, acts: Any, log: Any, **how: Any) -> np.ndarray:
        calls.append(g := how["ground"])
        off = without if g is None else np.hypot((g.height - 0.1) / 0.01 - height, g.friction - friction)
        before = np.arange(len(how["motion"].recorded)) < 60
        errors = np.full((len(before), 2), 1.0 / len(calls))
        errors[~before, 0] = 0.1 * off
        return how["motion"].recorded + errors

    def cut_out(motion, cut):
        return SimpleNamespace(recorded=motion.recorded[cut])

    monkeypatch.setattr(recordings, "part_of", cut_out)
    monkeypatch.setattr(recordings, "simulate_joints", simulated)
    monkeypatch.setattr(Optimum, "actuators", {"a": None})
    monkeypatch.setattr(Optimum, "delays", {"a": 0.0})
    one = recording(touched=[(3.0, 4.0)], a=(T, T), b=(T, T))
    one.log.between = lambda a, b: None
    told = Ground(height=0.1, error=0.01)
    plant = RobotPlant(robot=ROBOT, starts={}, recordings=[one], options=None, given=(), ground=told)
    s: Any = Optimum(plant=plant, problem=None, end=None, robust=1.0, found=None)
    ground = recordings.refine_ground(s).plant.ground
    assert (ground and ((ground.height - 0.1) / 0.01, ground.friction)) == (found and pytest.approx(found))


def test_how_well_a_joint_tells_the_scale_of_its_torques():
    """Errors of relative changes, a resistance being known to 1e-3 and the others to 1: those of plain linear
    algebra, of each joint's own logs that did not run away."""
    J = np.random.default_rng(4).normal(size=(4, 9, 3))
    H = np.einsum("kij,kil->kjl", J, J)
    paths = ("motor.resistance", "motor.torque_constant", "drive.delay")
    p: Any = SimpleNamespace(
        free=SimpleNamespace(paths=paths), joints=("a", "b"), index=np.tile([0, 1, -1], (4, 1)),
        values=lambda x: {"R": 3.0, "K": -0.2}, places_of=lambda joint: {"a": [0, 2], "b": [1, 3]}[joint],
        normal_of_logs=lambda *given: (np.array([*H[:3], np.inf * H[3]]), None, None),
    )  # fmt: skip
    s: Any = SimpleNamespace(problem=p, x=None, robust=1.0)
    size, before = np.diag([3.0, 0.2, 1.0]), np.diag([1e6, 1.0, 1.0])
    V = [np.linalg.inv(size @ one @ size + before) for one in (H[0] + H[2], H[1])]
    assert robot_result.scale_errors(s) == pytest.approx(
        {j: v[1, 1] ** 0.5 for j, v in zip("ab", V, strict=True)}
    )
