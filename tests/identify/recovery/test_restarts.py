"""Long gaps in a recording: the model starts anew behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.identify.parameters import free
from backemf.identify.predict import predict
from backemf.identify.problem import problem

from ..recordings import SERVO, record


def with_gaps(log: be.Log, *gaps: tuple[float, float]) -> be.Log:
    """The log without what was recorded in between."""
    t = log.time
    kept = ~np.any([(t > begin) & (t < end) for begin, end in gaps], axis=0)
    signals = {n: replace(s, time=s.time[kept], values=s.values[kept]) for n, s in log.signals.items()}
    return replace(log, signals=signals)


GAPS = (1.0, 1.6), (3.02, 3.9)


@pytest.fixture(scope="module")
def torn() -> be.Log:
    return with_gaps(record(3), *GAPS)


def test_a_fit_across_gaps_finds_what_one_without_them_does(torn):
    found = be.fit(SERVO, [torn], n_starts=1, offset=False, inspect=False)
    assert 1e3 * found.training_mae < 0.6  # noise of 0.5 mrad
    for path in ("motor.resistance", "motor.torque_constant", "friction.coulomb"):
        p = found.parameters[path]
        assert abs(p.value - SERVO.parameters[path]) < 4 * p.error, path


def test_predictions_behind_a_gap_begin_at_the_recording(torn):
    found = be.fit(SERVO, [torn], n_starts=1, offset=False, inspect=False)
    seen = predict(found, torn)
    behind = np.flatnonzero(np.diff(torn.time) > 0.1) + 1
    assert len(behind) == len(GAPS)
    assert np.abs(seen - torn["position"])[behind] == pytest.approx(0.0, abs=2e-3)


def test_slopes_and_sums_know_the_restarts(torn):
    """J'r by the kernels against differences of the cost."""
    p = problem(SERVO, [torn], free(SERVO, ["motor.resistance", "friction.coulomb"]))
    x = p.first + 0.05
    _, gradient, _ = p.normal(x)
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1e-5
        slope = (p.normal(x + step)[2] - p.normal(x - step)[2]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-4)
    errors, _ = p.sensitivities(x)
    by_states = (p.predictions(x)[0] - p.measured[:, 0]) / p.sigma[0]
    counted = np.isfinite(p.measured[:, 0])
    assert counted.sum() == len(torn)
    assert by_states[counted] == pytest.approx(errors[counted, 0], abs=1e-6)


def test_short_gaps_are_no_restarts():
    log = record(3)
    assert problem(SERVO, [log], free(SERVO, ["motor.resistance"])).log_of.tolist() == [0]
    short = with_gaps(log, (1.0, 1.02))
    assert problem(SERVO, [short], free(SERVO, ["motor.resistance"])).log_of.tolist() == [0]


def test_a_command_on_a_clock_of_its_own_acts_at_its_moments():
    """Positions at 50 Hz of a servo that is told something every 5 ms: what is known of the command between
    the samples leaves the noise; held from sample to sample it leaves ten times as much."""
    fast = record(3, duration=4.0)
    every = slice(2, None, 4)
    slow = replace(
        fast,
        signals={
            "position": replace(
                fast.signals["position"], time=fast.time[every], values=fast["position"][every]
            ),
            "position_target": fast.signals["position_target"],
        },
    )
    held = replace(slow, signals={n: be.Signal(time=slow.time, values=slow[n]) for n in slow.signals})
    free_ = free(SERVO, ["motor.resistance"])
    known, guessed = (problem(SERVO, [log], free_, substeps=4) for log in (slow, held))
    errors = [np.nanmean(np.abs(p.predictions(p.first)[0] - slow["position"])) for p in (known, guessed)]
    assert errors[0] < 6e-4
    assert errors[1] > 5 * errors[0]
