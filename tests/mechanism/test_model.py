"""What the model of a recording predicts with the true unknowns, and whether what is left over drifts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from backemf.kits.frc import mechanism
from backemf.kits.frc.gain_fit import _drifts, _trimmed_rms, _weights
from backemf.kits.frc.mechanism_model import MechanismModel
from backemf.kits.frc.trials import make_run, segment

from .test_characterize import WEAK, gravity_of, record


def model_of(*trials, mechanism="simple", gravity=(), delay=0.0, **more):
    """A model of runs, and the unknowns that they were made with."""
    model = MechanismModel([segment(run) for run in trials], mechanism, **more)
    x = model.start()
    x[: model.n] = [WEAK[0], WEAK[1], math.log(WEAK[2]), *gravity]
    x[model.delays] = delay
    return model, x


def run_of(test="dynamic-forward", gravity=(0.0, 0.0, 0.0), **more):
    return make_run(test, *record(test, WEAK, gravity, dt=0.01, T=2.0, slow=1.0, **more))


@pytest.mark.parametrize("delay", [0.0, 0.03])
@pytest.mark.parametrize("way", ["forward", "reverse"])
@pytest.mark.parametrize(("mechanism", "kG"), [("simple", 0.0), ("elevator", 0.2), ("arm", 0.2)])
def test_a_recording_is_predicted_by_its_own_gains(mechanism, kG, way, delay):
    gravity = gravity_of(mechanism, kG, 0.4)
    own = {"elevator": gravity[:1], "arm": gravity[1:]}.get(mechanism, ())
    run = run_of(f"dynamic-{way}", gravity, delay=delay)
    model, x = model_of(run, mechanism=mechanism, gravity=own, delay=delay)
    v, p = model.one(x, 0)
    s = model.segments[0]
    assert model.predicted_velocity(x, 0) == pytest.approx(v)
    # friction holds it against gravity until the input steps
    assert v == pytest.approx(s.velocity, abs=1e-6)
    assert p - p[0] == pytest.approx(s.position - s.position[0], abs=1e-6)


@pytest.mark.parametrize("delay", [0.0, 0.03])
@pytest.mark.parametrize("between", [False, True])
def test_a_velocity_of_differences_is_predicted_where_it_stands(between, delay):
    """At the end of the step over which it is the mean, or in the middle of it."""
    t, u, p, _ = record("dynamic-forward", WEAK, dt=0.01, T=2.0, delay=delay)
    v = None if between else np.diff(p, prepend=p[0]) / 0.01
    model, x = model_of(make_run("dynamic-forward", t, u, p, v), delay=delay)
    assert model.uses_velocity == [False]
    assert model.predicted_velocity(x, 0) == pytest.approx(model.segments[0].velocity, abs=1e-6)


@pytest.mark.parametrize("width", [3, 7])
def test_a_velocity_that_is_a_mean_is_predicted_as_one(width):
    """The change of position over the window that ends with each sample."""
    t, u, p, _ = record("dynamic-forward", WEAK, dt=0.01, T=2.0)
    v = (p - np.concatenate([np.zeros(width), p[:-width]])) / (0.01 * width)
    model, x = model_of(make_run("dynamic-forward", t, u, p, v), averaged=True)
    x[model.i_w] = 0.01 * width
    assert model.one(x, 0)[0] == pytest.approx(model.segments[0].velocity, abs=1e-6)


def errors_of(kind, n):
    rng = np.random.default_rng(0)
    if kind == "slow":
        return np.sin(2 * np.pi * np.arange(n) / 60)
    white = rng.standard_normal(n)
    if kind == "white":
        return white
    return np.convolve(
        rng.standard_normal(n + 1), [1.0, 1.0], mode="valid"
    )  # neighbours correlate by one half


@pytest.mark.parametrize("size", [0.001, 0.2])
@pytest.mark.parametrize(("kind", "drifts"), [("slow", True), ("white", False), ("smoothed", False)])
def test_a_drift_is_what_stays_alike_from_sample_to_sample(kind, drifts, size):
    run = run_of()
    model, x = model_of(replace(run, position=run.position + size * errors_of(kind, len(run.position))))
    model.scale_p = 3.5 * model.segments[0].noise_position
    assert _drifts(model, x) == drifts
    model.scale_p = 2.5 * model.segments[0].noise_position  # no more than the sensor's own noise
    assert not _drifts(model, x)


def test_scatter_and_weights_come_from_what_is_left_over():
    r = np.array([1.0, -1.0] * 50 + [100.0])
    assert (
        _trimmed_rms(r) == 1.0
    )  # one that is beyond four times the whole's root mean square, 10, is left out
    assert _trimmed_rms(np.array([3.0, -3.0])) == 3.0
    rng, run = np.random.default_rng(1), run_of()
    v = run.velocity + 0.02 * rng.standard_normal(len(run.velocity))
    v[100] += 1.0
    p = run.position + 0.003 * rng.standard_normal(len(run.position))
    model, x = model_of(replace(run, velocity=v, position=p))
    (weights,) = _weights(model, x)
    # 200 samples and 5 unknowns: the scatter is known to 5 %
    assert (model.scale_v, model.scale_p) == pytest.approx((0.02, 0.003), rel=0.15)
    assert np.argmin(weights) == 100
    assert weights[100] == pytest.approx(4.0 * model.scale_v / 1.0, rel=0.1)
    assert np.mean(weights == 1.0) > 0.98


def slopes_by_differences(model, x, k):
    """Central differences of what is predicted of a segment, in every unknown; last in what pushes back."""
    h, n = 1e-6, len(x)
    s, ends = model.segments[k], []
    for way in (1, -1):
        moved = [model.scaled_prediction(x + way * h * one, k) for one in np.eye(n)]
        model.segments[k] = replace(s, input=s.input - way * h)
        ends.append(np.stack([*moved, model.scaled_prediction(x, k)], axis=1))
        model.segments[k] = s
    return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("cut", [None, 0.4])
@pytest.mark.parametrize(("mechanism", "kG"), [("simple", 0.0), ("elevator", 0.2), ("arm", 0.2)])
def test_slopes_are_those_of_the_prediction(mechanism, kG, cut, averaged):
    """Of a step from rest, of a ramp in motion whose input leads its samples, and of one of positions."""
    gravity = gravity_of(mechanism, kG, 0.4)
    own = {"elevator": gravity[:1], "arm": gravity[1:]}.get(mechanism, ())
    step, ramp = (run_of(f"{kind}-forward", gravity) for kind in ("dynamic", "quasistatic"))
    t, u, p, _ = record("quasistatic-reverse", WEAK, gravity, dt=0.01, T=2.0, slow=1.0)
    placed = make_run("quasistatic-reverse", t, u, p)
    model, x = model_of(step, ramp, placed, mechanism=mechanism, gravity=own, delay=0.013, averaged=averaged)
    assert (model.uses_velocity, model.i_lead is None) == ([True, True, False], False)
    x[model.i_lead], x[model.i_dp] = 0.004, 0.018  # no sample is where the motion begins
    if averaged:
        x[model.i_w] = 0.033
    if cut:
        model.cut(cut)
    for k in range(len(model.segments)):
        y, J = model.push_slopes(x, k)
        np.testing.assert_allclose(y, model.scaled_prediction(x, k), atol=1e-9 * np.max(np.abs(y)))
        found = slopes_by_differences(model, x, k)
        if cut and mechanism == "arm":  # in pieces, a first angle is not taken to tell anything
            found[:, [i for i in model.i_p0 if i is not None]] = 0.0
        off = np.abs(J - found) / np.max(np.abs(found), axis=0, initial=1e-9)
        # where a sample lies within h of a change of the input, a difference sees both sides of it
        assert np.mean(off > 1e-3, axis=0).max() < 0.02


@pytest.mark.parametrize("x", [-3.0, -0.2, -1e-2, -1e-4, 0.0, 1e-7, 1e-3, 0.03, 0.5, 20.0])
def test_what_decays_is_the_sum_of_its_series(x):
    """(x - 1 + exp(-x)) / x^2 and log(1 + x) / x, each from its series in powers of x."""
    series = sum((-x) ** k / math.factorial(k + 2) for k in range(120))
    assert float(mechanism._second_decay(x)) == pytest.approx(series, rel=1e-6)
    if abs(x) < 0.6:
        series = sum((-x) ** k / (k + 1) for k in range(120))
        assert float(mechanism._log_ratio(x)) == pytest.approx(series, rel=1e-9)


@pytest.mark.parametrize("velocity", [-2.0, 0.0, 0.3])
@pytest.mark.parametrize("effort", [-6.0, 0.3, 6.0])
def test_an_acceleration_is_the_beginning_of_a_step(velocity, effort):
    """And many steps one after another are one; `stepper` takes several at once."""
    made = mechanism.Mechanism(
        friction=0.3, effort_per_velocity=1.5, effort_per_acceleration=0.3, gravity=0.2
    )
    h = 1e-6
    p, v = mechanism.step(made, 0.0, velocity, effort, h)
    rate = mechanism.acceleration(made, 0.0, velocity, effort)
    assert (v - velocity) / h == pytest.approx(rate, abs=1e-3)
    assert p == pytest.approx(velocity * h, abs=1e-10)
    times = 0.05 * np.arange(1, 9)
    ends = np.array([[float(x) for x in mechanism.step(made, 3.0, velocity, effort, h)] for h in times])
    np.testing.assert_allclose(
        np.stack(mechanism.stepper(made, times)(3.0, velocity, effort), 1), ends, rtol=1e-9
    )
    for h, (position, speed) in zip(times, ends, strict=True):
        state = (3.0, velocity)
        for _ in range(7):
            state = mechanism.step(made, *state, effort, h / 7)
        assert state == pytest.approx((position, speed), abs=1e-9)
