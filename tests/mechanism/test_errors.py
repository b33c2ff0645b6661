"""Errors of gains by hand: how long residuals stay alike, what is left of the input, which part of the data
says what, and how wide an interval may be."""

from __future__ import annotations

import math
import types
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backemf.kits.frc.gain_fit import (
    MechanismFit,
    Split,
    _crossing,
    _first,
    _halves,
    _invert,
    _memory,
    _noise_covariance,
    _on_one_clock,
    _unexplained_input,
    slow_ways,
)
from backemf.kits.frc.gain_intervals import gains_of
from backemf.kits.frc.trials import make_run, segment

from .test_characterize import WEAK, gravity_of, record
from .test_model import model_of, run_of


def test_memory_is_twice_the_time_over_which_residuals_stay_alike():
    """Blocks of ten equal numbers: alike up to lag 9 or so; few samples have none."""
    blocks = np.repeat(np.random.default_rng(0).normal(size=400), 10)
    alike = _memory(blocks) / 2
    assert 7 <= alike <= 10
    assert _memory(blocks[:19]) == 1
    assert _memory(np.repeat([1.0, -1.0], 40)) == 10  # never more than an eighth of the samples


def test_a_grid_keeps_errors_alike_while_it_is_crossed():
    """At 0.1 rad/s and 10 ms a sample, a step of 0.01 rad takes ten samples; three of them count."""
    time = 0.01 * np.arange(400)
    made = types.SimpleNamespace(
        resolution=None, smooth=np.full(400, 0.1), velocity_time=time, velocity=np.zeros(400)
    )
    assert _crossing(made) == 1  # pyright: ignore[reportArgumentType]  # of a segment it reads just these
    made.resolution = 0.01
    assert _crossing(made) in (30, 31)  # pyright: ignore[reportArgumentType]


def test_an_inverse_leaves_out_what_nothing_is_said_about():
    rows = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 1e3, 1e-4, 10.0]
    inverse, blind = _invert(rows, 3)
    np.testing.assert_allclose(inverse, np.linalg.inv(rows.T @ rows), rtol=1e-9)
    assert blind.shape == (0, 4)
    rows[:, 2] = 2e-3 * rows[:, 0]  # only a sum of the two is told
    inverse, blind = _invert(rows, 3)
    np.testing.assert_allclose(rows @ blind.T, 0.0, atol=1e-9)
    assert blind.shape == (1, 4)
    np.testing.assert_allclose(rows @ inverse @ rows.T @ rows, rows, atol=1e-9 * np.max(rows))
    rows[:, 2:] = np.random.default_rng(1).standard_normal((30, 1))  # the last is no gain
    assert _invert(rows, 3)[1].shape == (1, 4)
    assert _invert(rows, 2)[1].shape == (0, 4)


def test_scores_of_one_moment_are_summed():
    s: Any = types.SimpleNamespace(
        velocity_time=np.array([5.0, 5.1, 5.2]), position=np.ones(2), position_time=np.array([5.12, 5.4])
    )
    out = _on_one_clock(s, np.array([[1.0], [2.0], [4.0], [8.0], [16.0]]))
    assert out.T.tolist() == [[1.0, 10.0, 4.0, 0.0, 16.0]]


@pytest.mark.parametrize(
    ("back", "ways"), [(0.0, (True, False)), (-0.08, (True, False)), (-0.13, (True, True))]
)
def test_a_slow_test_goes_a_way_where_it_is_a_tenth_as_fast(back, ways):
    s = segment(run_of("quasistatic-forward"))
    for way in (1, -1):
        there = replace(s, smooth=3.0 * way * np.linspace(back, 1.0, 9))
        assert slow_ways([there, segment(run_of("dynamic-reverse"))]) == ways[::way]


def residuals(model, x, k, push, noise):
    """A constant push of so many volts, and noise: of a segment, over the scatter of its channels."""
    J = model.push_slopes(x, k)[1][:, -1]
    return push * J + noise * np.random.default_rng(3).standard_normal(len(J)), J


@pytest.mark.parametrize("only_position", [False, True])
@pytest.mark.parametrize(("push", "noise"), [(0.5, 0.0), (0.5, 0.3), (0.0, 0.3), (0.0, 30.0)])
def test_what_is_left_of_the_input_is_what_pushes(push, noise, only_position):
    t, u, p, v = record("dynamic-forward", WEAK, dt=0.01, T=6.0)
    model, x = model_of(make_run("dynamic-forward", t, u, p, None if only_position else v))
    r, J = residuals(model, x, 0, push, noise / model.scale_v * np.ptp(v) * 0.01)
    assert _unexplained_input(model, 0, r, J) == pytest.approx(push, abs=1e-9 + 0.06 * push)
    assert _unexplained_input(model, 0, r[:50], 0 * J[:50]) == 0.0


def test_halves_share_all_that_there_is():
    """Every residual is in one part or the other; of steps, slow tests are in both."""
    t, u, p, v = record("dynamic-forward", WEAK, dt=0.01, T=2.0)
    runs = [make_run("dynamic-forward", t, u, p, v, part="left"), run_of("quasistatic-reverse")]
    runs[1] = replace(runs[1], part="right")
    model, _ = model_of(*runs)
    halves = dict(_halves(model.segments, model))
    assert list(halves) == ["directions", "sides", "steps"]
    for name, (one, other) in halves.items():
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert a.shape == b.shape == model.scaled_measurement(k).shape
            both = name == "steps" and model.segments[k].run.slow
            assert set(a + b) == {2.0 if both else 1.0}
    assert [set(a) for a in halves["directions"][0]] == [set(a) for a in halves["sides"][0]] == [{1.0}, {0.0}]
    early = halves["steps"][0][0][: model.n_velocity(0)]
    speed = model.segments[0].velocity / np.max(v)
    assert speed[int(np.sum(early)) - 1] == pytest.approx(0.63, abs=0.03)  # a time constant is 20 samples
    alone = model_of(run_of("quasistatic-forward"))[0]
    assert not list(_halves(alone.segments, alone))


@pytest.mark.parametrize("delay", [0.0, 0.05])
@pytest.mark.parametrize(("mechanism", "kG"), [("simple", 0.0), ("elevator", 0.2), ("arm", 0.2)])
def test_a_descent_begins_near_the_truth(mechanism, kG, delay):
    gravity = gravity_of(mechanism, kG, 0.4)
    own = {"elevator": gravity[:1], "arm": gravity[1:]}.get(mechanism, ())
    tests = [f"{kind}-{way}" for kind in ("quasistatic", "dynamic") for way in ("forward", "reverse")]
    model, x = model_of(*(run_of(t, gravity, delay=delay) for t in tests), mechanism=mechanism, gravity=own)
    found = _first(model.segments, model, 1e-9)
    assert found[: model.n] == pytest.approx(x[: model.n], abs=0.08)
    assert found[model.delays] == pytest.approx(delay, abs=0.011)


@pytest.mark.parametrize("alike", [1, 8])
def test_errors_are_those_of_independent_samples_times_how_many_are_alike(alike):
    """Noise that stays for 8 samples tells an eighth of what as many samples tell: (J' J)^-1 times 8."""
    rng, runs = np.random.default_rng(2), []
    for test in ("quasistatic-forward", "dynamic-forward", "dynamic-reverse"):
        t, u, _, v = record(test, WEAK, dt=0.005, T=5.0, slow=1.0)
        noise = np.repeat(rng.standard_normal(len(t) // alike), alike)
        runs.append(make_run(test, t, u, None, v + 0.02 * noise))
    model, x = model_of(*runs)
    model.scale_v = 0.02
    ones = [np.ones(model.n_velocity(k)) for k in range(3)]
    r, slopes = model.linearise(x)
    covariance, inverse, blind = _noise_covariance(model, r, slopes, ones)
    J = np.concatenate(slopes)
    told = np.linalg.inv(J.T @ J + np.diag([model.priors.get(j, (0, 0))[1] ** 2 for j in range(model.n_all)]))
    np.testing.assert_allclose(inverse, told, rtol=1e-6)
    assert not len(blind)
    assert np.diag(covariance)[:3] / np.diag(told)[:3] == pytest.approx(alike, rel=0.5)


FIT: dict[str, Any] = dict.fromkeys(("velocity_delay", "r2", "early", "unexplained"), 0.0)
FIT |= {"position_delay": None, "window": None, "predicted": [], "singular": np.zeros((0, 5)), "splits": []}
VALUES = {"kS": 0.5, "kV": 2.0, "kA": 0.4, "kG": 0.3, "g_c": 0.3, "g_s": -0.4}


def intervals(mechanism, errors, **more):
    """Intervals of a fit to a ramp up to 6 V, by the errors of its numbers."""
    names = ("kS", "kV", "kA", *{"elevator": ("kG",), "arm": ("g_c", "g_s")}.get(mechanism, ()))
    values = np.array([VALUES[n] for n in names])
    covariance = np.diag([errors.get(name, 1e-3) ** 2 for name in names])
    fit = MechanismFit(**FIT | {"names": names, "values": values, "covariance": covariance} | more)
    s = segment(run_of("dynamic-forward"))
    s = replace(s, input=6.0 * s.input / np.max(s.input), smooth=3.0 * s.smooth / np.max(s.smooth))
    return gains_of(fit, [s], mechanism)


@pytest.mark.parametrize(
    ("mechanism", "gain", "of", "error", "widest"),
    [
        ("simple", "kS", "kS", 1.0, 0.6),  # a tenth of 6 V
        ("simple", "kV", "kV", 1.0, 0.5),  # a quarter of 6 V over 3 rad/s
        ("simple", "kA", "kA", 1.0, 0.3),  # three quarters of 0.4
        ("elevator", "kG", "kG", 1.0, 0.6),
        ("arm", "kG", "g_c", 0.6, 0.6),  # of (0.3, -0.4) a change of g_c is one of 0.6 along
        ("arm", "kG", "g_s", 0.8, 0.6),
        ("arm", "offset", "g_c", 1.6, 0.7),  # and of 0.8 across, over 0.5
        ("arm", "offset", "g_s", 1.2, 0.7),
    ],
)
def test_an_interval_is_1_96_errors_and_none_where_it_says_nothing(mechanism, gain, of, error, widest):
    value = {"kG": 0.5, "offset": math.atan2(0.4, 0.3)} if mechanism == "arm" else VALUES
    for share in (0.2, 0.8, 1.2):
        found = intervals(mechanism, {of: share * widest / 1.96 / error})[gain]
        half = share * widest
        low = max(value[gain] - half, 0.0) if gain == "kS" else value[gain] - half
        wanted = (None, None, None) if share > 1 else (value[gain], low, value[gain] + half)
        assert found == (wanted if share > 1 else pytest.approx(wanted, abs=2e-3))


@pytest.mark.parametrize(
    ("direction", "lost"),
    [((6.0, 0.0, 0.0), "kS"), ((6.0, 2e-4 * 2.0, 0.0), "kS"), ((6.0, 5e-3 * 2.0, 0.0), "kS kV"),
     ((0.0, 2.0, 1.0), "kV kA"), ((6.0, 0.0, 2e-4), "kS"), ((6.0, 0.0, 5e-3), "kS kA")],
)  # fmt: skip
def test_gains_of_a_direction_without_information_are_none(direction, lost):
    """In shares of what is typical: 6 V, 2 V s/rad, and kA by its logarithm."""
    found = intervals("simple", {}, singular=np.array([direction]))
    assert " ".join(name for name, (value, *_) in found.items() if value is None) == lost


def test_an_interval_holds_what_the_parts_say():
    sides = (np.array([0.1, 2.0, math.log(0.5)]), np.array([0.6, 2.0, math.log(0.3)]))
    errors = (np.array([0.2, 1.0, 0.1]), np.array([0.05, 1.0, 0.2]))
    split = Split("steps", sides, errors, np.array([True, False, True]))
    found = intervals("simple", {}, splits=[split])
    assert found["kS"] == pytest.approx((0.5, 0.0, 0.6 + 1.96 * 0.05), abs=1e-4)
    assert found["kV"] == pytest.approx((2.0, 2.0 - 1.96e-3, 2.0 + 1.96e-3), rel=1e-6)
    assert found["kA"] == pytest.approx((0.4, 0.3 * math.exp(-0.392), 0.5 * math.exp(0.196)), rel=1e-4)
