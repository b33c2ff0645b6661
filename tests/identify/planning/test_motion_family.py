"""Motions that are made, chosen and written: scaled, slowed and moved they are the same, and a choice is what
an exhaustive look says."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import backemf as be
from backemf.kits.fleets import example_line
from backemf.planning import example_servo
from backemf.planning.arm_paths import motion_path, straight_way
from backemf.planning.choose import KNOWN, Budget, MotionChoice, choose
from backemf.planning.family import MotionRange, family
from backemf.planning.motions import Motion, SafetyLimits, Track, usual
from backemf.planning.stations import _slow_together, _waves


def test_a_family_is_the_same_wherever_it_is_and_however_slow():
    plain = family(MotionRange(0.0, 1.0, "a"))
    there = family(MotionRange(-0.4, 0.5, "b", 3.0))
    t = np.linspace(0.0, 2.6, 500)
    for one, two in zip(plain, there, strict=True):
        a, b = one.tracks["a"], two.tracks["b"]
        assert two.duration == pytest.approx(3.0 * one.duration)
        np.testing.assert_allclose(b.at(3.0 * t), -0.4 + 0.5 * a.at(t), atol=1e-5)  # rounded to a microsecond
        assert b.coast == (a.coast and pytest.approx(3.0 * a.coast))
    assert len(family(MotionRange(0.0, 1.0), coasts=False)) == len(
        [m for m in plain if "coast" not in m.name]
    )


def test_motions_of_a_family_are_short_begin_in_the_middle_and_end_before_their_time():
    made = family(MotionRange(0.0, 1.0, "a"))
    for one in made:
        track = one.tracks["a"]
        assert 1.5 <= one.duration <= 2.6
        assert abs(track.at(np.zeros(1))[0]) < (1e-9 if "throw" not in one.name else 0.3), one.name
        assert not track.times or track.times[-1] <= one.duration
        if track.coast is not None:
            assert track.times[-1] < track.coast < one.duration - 0.5, "long enough to see it fall"
    for kind, levels in (
        ("slow", (-0.75, 0.0, 0.75)),
        ("breakaway", (-0.75, 0.0, 0.75)),
        ("hold", (-0.9, 0.9)),
    ):
        tracks = [one.tracks["a"] for one in made if one.name.startswith(kind)]
        middles = {round(track.positions[2], 3) for track in tracks}
        assert middles == set(levels), "with a load to either side"
        for track in tracks:
            turns = np.array(track.positions[2:]) - track.positions[2]
            assert 0.02 < np.ptp(turns) < 0.45, "a small motion about it"
            if kind == "slow":
                assert np.sum(turns) == pytest.approx(0.0, abs=1e-5), "as far to one side as to the other"
    sizes = [np.ptp(one.sample("a")[1]) for one in made if one.name.startswith("steps")]
    assert np.array(sizes) / sizes[0] == pytest.approx([1.0, 0.5, 0.2, 0.07], abs=1e-5)


def test_the_usual_motions_use_the_whole_amplitude_in_a_quarter_of_the_time_each():
    for A, c, seconds in ((0.4, 0.1, 20.0), (0.8, -0.3, 4.0)):
        ramps, steps, sweep, coast = (one.tracks["*"] for one in usual(A, centre=c, seconds=seconds).motions)
        T = seconds / 4.0
        x = T * np.arange(9) / 8
        np.testing.assert_allclose(ramps.at(x), c + A * np.array([0, 0.5, 1, 0.5, 0, -0.5, -1, -0.5, 0]))
        held = steps.at(x[:-1] + 1e-6)
        np.testing.assert_allclose(held, steps.at(x[1:] - 1e-6))
        assert (held.min(), held.max(), held[0]) == pytest.approx((c - A, c + A, c))
        assert len(set(np.round(np.abs(np.diff(held)), 9))) > 4, "steps of many sizes"
        words = f"amplitude={A / 2}rad low={0.5 / T}Hz high={max(3, 4 / T)}Hz duration={T}s offset={c}rad"
        t = np.linspace(0.0, T, 300)
        np.testing.assert_allclose(sweep.at(t), be.signal.read(f"chirp {words}")(t), atol=1e-9)
        np.testing.assert_allclose(
            coast.at(np.array([0.0, 0.15, 0.3, 1.0]) * T), c + A * np.array([0, 0.5, 1, 1])
        )
        assert coast.coast == pytest.approx(0.45 * T)
    assert usual().duration == 40.0
    limits = SafetyLimits(currents={"a": 2.0})
    assert (limits.current_of("a"), limits.current_of("b")) == (2.0, None)
    assert limits.way_time(0.4) == pytest.approx(1.2)
    assert replace(limits, current=1.0).current_of("a") == 1.0


def test_ways_pass_what_is_between_in_even_steps():
    a, b = np.array([0.1, -0.4, 0.0]), np.array([0.5, -0.395, 0.0])
    way = straight_way(a, b)
    np.testing.assert_allclose(way[[0, -1]], [a, b])
    np.testing.assert_allclose(np.diff(way, axis=0), np.tile((b - a) / 20, (20, 1)), atol=1e-12)
    track = Track(times=(0.0, 0.5), positions=(0.3, -0.2), between="hold")
    robot = SimpleNamespace(names=("a", "b"))
    path = motion_path(robot, Motion(name="m", duration=1.0, tracks={"b": track}), np.array([0.7, 0.1]))
    np.testing.assert_allclose(path[:, 0], 0.7)
    np.testing.assert_allclose(path[[0, -1], 1], 0.1)
    assert np.max(np.abs(np.diff(path[:, 1]))) <= 0.02 + 1e-12
    assert (path[:, 1].min(), path[:, 1].max()) == pytest.approx((-0.2, 0.3))
    moved = np.sum(np.abs(np.diff(path[:, 1])))
    assert moved == pytest.approx(0.2 + 0.5 + 0.3), "there, over, and back"


def test_joints_that_move_at_once_keep_to_their_size_and_speed_and_differ():
    centres = {"a": 0.2, "b": -0.5, "c": 0.0}
    waves, slow = _waves(centres, 0.2, 10.0, 1.5), _slow_together(centres, 0.2, 10.0)
    t = np.linspace(0.0, 10.0, 20_001)
    for motion in (waves, slow):
        q = np.array([motion.tracks[name].at(t) - centre for name, centre in centres.items()])
        np.testing.assert_allclose(np.abs(q).max(axis=1), 0.2, rtol=0.02)
        assert np.max(np.abs(np.diff(q) / np.diff(t))) < 1.51
        assert np.all(np.abs(np.corrcoef(q)[np.tril_indices(3, -1)]) < 0.9)
        np.testing.assert_allclose(q[:, 0], 0.0, atol=1e-6)
    turns = [np.sum(np.diff(np.sign(np.diff(motion))) != 0) for motion in np.round(q, 9)]
    assert turns == [2, 3, 4]
    assert np.max(np.abs(np.diff(_waves(centres, 0.2, 10.0, math.inf).tracks["a"].at(t)) / np.diff(t))) > 1.6


def test_a_choice_is_best_among_all_that_differ_by_one():
    """Of drawn motions: the first is the most telling a second, and no exchange tells more."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 9, 4, 2)) * rng.uniform(1.0, 60.0, (9, 1, 1))
    information, before = root @ root.swapaxes(-1, -2), np.tile(np.diag([1.0, 4.0, 0.25, 1.0]), (3, 1, 1))
    seconds, wanted = rng.uniform(1.0, 3.0, 9), [0, 2, 3]

    def worth(some) -> float:
        found = []
        for k in range(3):
            covariance = np.linalg.inv(before[k] + sum(information[k, i] for i in some))[
                np.ix_(wanted, wanted)
            ]
            found.append(-np.linalg.slogdet(covariance + KNOWN**2 * np.eye(3))[1])
        return float(np.mean(found))

    choice = MotionChoice(information, before, wanted)
    for most in (3.0, 6.0, 9.0):
        budget = Budget(seconds[None], np.array([most]))
        picked = choose(choice, budget)
        assert choice.worth(choice.of(picked)) == pytest.approx(worth(picked), rel=1e-6)
        assert seconds[picked].sum() <= most
        for place, other in itertools.product(range(len(picked)), range(9)):
            swapped = [*picked[:place], *picked[place + 1 :], other]
            if seconds[swapped].sum() <= most and swapped.count(other) <= 2:
                assert worth(swapped) <= worth(picked) + 1e-5
        left = most - seconds[picked].sum()
        assert not any(seconds[k] <= left and picked.count(k) < 2 for k in range(9)), (
            "there is no time for more"
        )
    gains = [(worth([k]) - worth([])) / seconds[k] for k in range(9)]
    fits = Budget(seconds[None], np.array([seconds[int(np.argmax(gains))]]))
    assert choose(choice, fits, [[4]])[:1] == ([4] if seconds[4] <= fits.most[0] else choose(choice, fits))


def test_recordings_of_the_demonstration_are_what_its_servo_does(tmp_path):
    """A simulation of the truth, on the bench that a file tells of, is the file but for noise and jitter."""
    line = example_line.record(tmp_path / "line", 1, samples=300)
    ((_, drawn, _),) = example_line.units(1)
    cases = [
        (path, example_servo.truth(), example_servo.DELAY) for path in example_servo.record(tmp_path)[:4]
    ]
    cases += [(path, drawn, None) for path in line]
    for path, servo, delay in cases:
        (log,) = be.read(path)
        there = replace(
            servo, drive=replace(servo.drive, proportional=log.settings["drive.proportional"], delay=delay)
        )
        asked = {"position_target": log["position_target"]}
        if "enabled" in log:
            asked["enabled"] = log["enabled"]
        run = be.simulate(there, log.bench, asked, time=log.signals["position"].time, substeps=10)
        off = log["position"] - run.position
        assert np.sqrt(np.mean(off[:240] ** 2)) < 2e-3 + 2e-3 * (delay is not None)
        assert np.ptp(log["position"]) > 0.3


def test_units_of_the_example_line_differ_by_its_spread():
    made = [unit.parameters for _, unit, _ in example_line.units(400)]
    usual_one = example_servo.truth().parameters
    for path, spread in example_line.SPREAD.items():
        x = np.log([one[path] / usual_one[path] for one in made])
        assert (x.mean(), x.std()) == (pytest.approx(0.0, abs=0.2 * spread), pytest.approx(spread, rel=0.12))
    excess = {round(one["friction.static"] - one["friction.coulomb"], 9) for one in made}
    assert excess == {round(usual_one["friction.static"] - usual_one["friction.coulomb"], 9)}
