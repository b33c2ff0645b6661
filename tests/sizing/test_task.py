"""Tasks: moves against integrals, tables of times against what their clocks allow, means by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

import backemf as be
from backemf.errors import SignalError
from backemf.physics.duty import moment_terms
from backemf.sizing.task import bench_and_series, corners, read_move, task_of_log


@pytest.mark.parametrize(
    ("move", "start", "at", "speeds"),
    [
        ("trapezoid from=0.2rad to=1.4rad time=0.6s dwell=0.3s", 0.2,
         (0, 2, 4, 6, 9, 11, 13, 15, 18), (0, 3, 3, 0, 0, -3, -3, 0, 0)),
        ("trapezoid to=-0.9rad time=0.3s", 0.0, (0, 1, 2, 3, 4, 5, 6), (0, -4.5, -4.5, 0, 4.5, 4.5, 0)),
        ("spin speed=4rad/s", 0.0, (0, 10), (4, 4)),
        ("spin speed=-4rad/s time=0.3s", 0.0, (0, 3), (-4, -4)),
        ("spin-up speed=6rad/s time=0.5s hold=0.2s", 0.0, (0, 5, 7), (0, 6, 6)),
        ("spin-up speed=6rad/s time=0.5s", 0.0, (0, 5), (0, 6)),
        ("hold at=0.3rad time=0.2s", 0.3, (0, 2), (0, 0)),
        ("hold", 0.0, (0, 10), (0, 0)),
    ],
)  # fmt: skip
def test_a_move_is_the_integral_of_its_speed(move, start, at, speeds):
    """Its speeds at the corners, in tenths of a second, joined by lines."""
    t, q, w, a = read_move(move)
    speed = make_interp_spline(np.array(at) / 10.0, np.array(speeds, float), k=1)
    np.testing.assert_allclose(t, 1e-3 * (np.arange(round(100 * at[-1])) + 0.5))
    np.testing.assert_allclose(w, speed(t), atol=1e-12)
    np.testing.assert_allclose(q, start + speed.antiderivative()(t) - speed.antiderivative()(0.0), atol=1e-12)
    np.testing.assert_allclose(a, speed.derivative()(t), atol=1e-9)


def test_a_sine_is_one_and_clocks_have_a_sensible_number_of_samples():
    t, q, w, a = read_move("sine amplitude=0.4rad period=0.5s around=0.1rad")
    W = 4 * np.pi
    np.testing.assert_allclose(
        [q, w, a],
        [0.1 + 0.4 * np.sin(W * t), 0.4 * W * np.cos(W * t), -0.4 * W**2 * np.sin(W * t)],
        atol=1e-9,
    )
    assert len(t) == 500
    np.testing.assert_allclose(read_move("sine amplitude=0.4rad period=0.5s")[1], q - 0.1, atol=1e-12)
    assert [len(read_move(f"spin speed=1rad/s time={s}s")[0]) for s in (0.01, 15, 30)] == [50, 15_000, 20_000]


def test_the_torque_is_what_the_load_takes():
    task = be.Task.of_bench(
        "spring inertia=0.02kg*m^2 stiffness=3N*m/rad damping=0.1N*m*s/rad rest=0.2rad",
        "sine amplitude=0.4rad period=0.5s",
    )
    by_hand = 0.02 * task.acceleration + 3.0 * (task.position - 0.2) + 0.1 * task.velocity
    np.testing.assert_allclose(task.torque, by_hand, atol=1e-12)
    assert task.name == "spring, sine"
    assert task.period == pytest.approx(0.5)
    bench, series = bench_and_series(task)
    assert (bench, series) == (task.bench, {})
    bench, series = bench_and_series(replace(task, bench=None))
    J = np.sum(task.torque * task.acceleration) / np.sum(task.acceleration**2)  # a spring takes from it
    np.testing.assert_allclose(series["inertia"], abs(J))
    np.testing.assert_allclose(
        series["inertia"] * task.acceleration - series["load"], task.torque, atol=1e-12
    )


def task_of(t: np.ndarray, clock: np.ndarray) -> be.Task:
    """A task of a log with a velocity at times and a torque at its own."""
    moves, gives = be.log("x", t, velocity=2.0 * np.cos(t)), be.log("x", clock, torque=3.0 + np.sin(clock))
    return task_of_log(replace(moves, signals={**moves.signals, **gives.signals}))


@pytest.mark.parametrize(
    ("n", "long", "own", "said"),
    [
        (40, 1.5, True, "fine"),
        (40, 1.9, True, "missing"),
        (40, 2.3, True, "missing"),
        (40, 2.8, True, "gap"),
        (9, 1.9, True, "fine"),
        (10, 1.9, True, "missing"),
        (9, 2.8, True, "gap"),
        (40, 1.4, False, "fine"),
        (40, 1.7, False, "gap"),
    ],
)
def test_one_long_step_is_fine_or_misses_a_sample_or_is_a_gap(n, long, own, said):
    """By how many usual steps it lasts, and less where the torque has a sample in it."""
    step = np.full(n - 1, 0.01)
    step[n // 2] *= long
    t = np.append(0.0, np.cumsum(step))
    clock = t if own else np.sort(np.append(t, t[n // 2] + 0.5 * step[n // 2]))
    if said == "gap":
        with pytest.raises(SignalError, match=f"gap at {t[n // 2]:.4g} s, where samples are 0.01 s apart"):
            task_of(t, clock)
        return
    task = task_of(5.0 + t, 5.0 + clock)
    assert [f.code for f in task.findings] == ["samples_missing"] * (said == "missing")
    np.testing.assert_allclose(task.time, t, atol=1e-12)
    np.testing.assert_allclose(task.position, 2.0 * (np.sin(5 + t) - np.sin(5.0)), atol=1e-4)  # trapezia
    np.testing.assert_allclose(task.acceleration[1:-1], -2.0 * np.sin(5 + t[1:-1]), atol=2e-3)
    np.testing.assert_allclose(task.torque, 3.0 + np.sin(5 + t), atol=1e-4)


def made(time, w, T, a=None) -> be.Task:
    w, T = np.array(w, float), np.array(T, float)
    a = np.zeros(len(w)) if a is None else np.array(a, float)
    return be.Task(
        name="x", time=np.array(time, float), position=0.0 * w, velocity=w, acceleration=a, torque=T
    )


def test_means_count_how_long_samples_last():
    task = made([2.0, 3.0, 5.0], [1.0, -4.0, 2.0], [1.0, -2.0, 3.0])
    share = np.array([1.0, 2.0, 2.0]) / 5.0
    assert (task.period, task.top_speed, task.peak_torque) == (5.0, 4.0, 3.0)
    np.testing.assert_allclose(task.samples.weight, share)
    assert task.rms_torque == pytest.approx(np.sqrt(share @ [1.0, 4.0, 9.0]))
    cubic = (share @ [1.0, 32.0, 54.0] / (share @ [1.0, 4.0, 2.0])) ** (1 / 3)
    assert task.lasting_torques == pytest.approx((cubic, task.rms_torque))
    assert made([0, 1, 2], [0, 0, 0], [1, 2, 3]).lasting_torques == pytest.approx((np.sqrt(14 / 3),) * 2)


@pytest.mark.parametrize(
    ("w", "closes"),
    [
        (np.linspace(1.0, 1.04, 200), True),  # it ends within 5 % of the greatest speed
        (np.linspace(1.0, 1.07, 200), False),
        (np.array([0.0, 1.0, 1.9]), True),  # a step that is less than twice the others
        (np.array([0.0, 1.0, 1.2, 2.2]), False),
    ],
)
def test_a_cycle_closes_where_its_end_leads_to_its_beginning(w, closes):
    for side in (1.0, -1.0):
        task = made(0.01 * np.arange(len(w)), side * w, side * w)
        assert task.closes == closes
        assert ("begins anew" in task.summary()) != closes


@pytest.mark.parametrize("closes", [True, False])
def test_more_samples_are_of_the_same_motion(closes):
    W = 2 * np.pi * (1.0 if closes else 0.4)
    t = 0.02 * np.arange(50) + 3.0
    coarse = be.Task(name="x", time=t, position=np.sin(W * (t - 3)), velocity=W * np.cos(W * (t - 3)),
                     acceleration=-(W**2) * np.sin(W * (t - 3)), torque=np.cos(W * (t - 3)))  # fmt: skip
    assert coarse.closes == closes
    fine, x = coarse.resample(0.006), 0.005 * np.arange(200)
    x = x if closes else x[:197]  # what lasts beyond the last sample of another motion stays as it is
    np.testing.assert_allclose(fine.time, 3.0 + 0.005 * np.arange(200))
    assert fine.period == pytest.approx(1.0, abs=0.02)
    curves = {
        "position": np.sin(W * x),
        "velocity": W * np.cos(W * x),
        "acceleration": -(W**2) * np.sin(W * x),
    }
    for name, values in {**curves, "torque": np.cos(W * x)}.items():
        size = 0.5 * (0.01 * W) ** 2 * np.abs(values).max()  # a line between two samples
        np.testing.assert_allclose(getattr(fine, name)[: len(x)], values, atol=1.01 * size, err_msg=name)
    assert coarse.resample(0.0201) is coarse
    assert fine.torque[-1] == pytest.approx(coarse.torque[-1], abs=0.02 if closes else 1e-9) or closes


def test_stretches_are_short_but_where_nothing_changes():
    rng = np.random.default_rng(0)
    w, T, a = (np.append(rng.normal(size=100), np.full(100, x)) for x in (2.0, 1.0, 0.0))
    task = made(0.01 * np.arange(200), w, T, a)
    terms = moment_terms(task.samples)
    for quickest, n in ((1.01, 21), (0.39, 101), (1e-9, 101)):  # of 0.05 s, of a sample, of a sample at least
        found = task.stretches(quickest)
        assert len(found.lengths) == n
        assert found.lengths.sum() == pytest.approx(2.0)
        assert found.lengths[-1] == pytest.approx(1.0), "what is even is one stretch, however long"
        np.testing.assert_allclose(found.moments @ found.lengths / 2.0, terms.sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.moments[:, -1], 2.0 * terms[100:].sum(axis=0), atol=1e-12)
    long = made(0.01 * np.arange(6000), np.arange(6000.0), np.ones(6000))
    assert 550 < len(long.stretches(1e-9).lengths) < 660, "some 600 at most, however quick the winding"


def test_corners_are_those_of_a_box_a_plane_and_a_line():
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 2, 7)] * 3), axis=-1).reshape(-1, 3)
    for scale in (np.ones(3), np.array([1e-3, 5.0, 1e4])):
        for flat, n in ((np.ones(3), 8), (np.array([1, 0, 1.0]), 4), (np.array([0, 0, 1.0]), 2)):
            found = corners(grid * scale * flat)
            wanted = np.unique(
                np.array(np.meshgrid(*[(-1.0, 2.0)] * 3)).reshape(3, -1).T * scale * flat, axis=0
            )
            np.testing.assert_allclose(np.unique(found, axis=0), wanted)
            assert len(found) == n
    assert len(corners(grid[:5])) == 5
    assert len(corners(np.outer(np.arange(7.0), [1.0, 1.0, 0.0]))) == 7, "on a line that no axis follows"
