"""Findings that name the cause: the bench, the clock or the sheet, alone or among the few that the data
cannot tell apart; and none where everything is as good as its tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.identify import causes
from backemf.identify.causes import CAUSES
from backemf.identify.search import bench_search

from ..recordings import SERVO, changed, clean, record, sines, steps, sweep
from .test_fit import logs_with_off

PRIOR = {"motor.resistance": (4.0, 0.2), "motor.torque_constant": (0.9, 0.045)}
"""What a sheet says of the servo: its winding to 5 %."""
NOT_A_CAUSE = {"not_identifiable", "correlated", "only_in_combination", "not_determined", "no_slow_motion"}


def stated(logs: list[be.Log], **factors: float) -> list[be.Log]:
    """The same recordings with a bench that was written down wrongly."""
    wrong = []
    for log in logs:
        numbers = {name: getattr(log.bench, name) * factor for name, factor in factors.items()}
        wrong.append(replace(log, bench=replace(log.bench, **numbers)))
    return wrong


def with_supply(logs: list[be.Log], factor: float) -> list[be.Log]:
    return [replace(log, settings={**log.settings, "drive.supply": 7.4 * factor}) for log in logs]


def late(delay: float) -> list[be.Log]:
    """The servo rests until the recording begins."""

    def from_rest(command):
        return lambda t: command(np.maximum(t, 0.0))

    return [
        record(0, delay=delay, command=from_rest(sines)),
        record(1, delay=delay, mass=0.5, gain=8.0, command=from_rest(steps)),
        record(2, delay=delay, length=0.15, gain=32.0, command=from_rest(sweep)),
    ]


WRONG = {
    "mass 20 % too much": (lambda: stated(logs_with_off(0), mass=1.2), "mass", 1 / 1.2),
    "mass 20 % too little": (lambda: stated(logs_with_off(0), mass=0.8), "mass", 1 / 0.8),
    "length 20 % too much": (lambda: stated(clean(0), length=1.2), "length", 1 / 1.2),
    "length 20 % too little": (lambda: stated(clean(0), length=0.8), "length", 1 / 0.8),
    "supply 20 % too much": (lambda: with_supply(logs_with_off(0), 1.2), "supply", 1 / 1.2),
    "supply 20 % too little": (lambda: with_supply(logs_with_off(0), 0.8), "supply", 1 / 0.8),
}
"""Recordings, the cause, and what it must be multiplied by."""


@pytest.mark.parametrize("row", WRONG)
def test_what_is_wrong_with_the_bench_is_named(row):
    make, cause, factor = WRONG[row]
    logs = make()
    for findings in (
        be.fit(SERVO, logs, prior=PRIOR, n_starts=1).findings,
        be.check(SERVO, logs, prior=PRIOR).findings,
    ):
        (named,) = [f for f in findings if f.code.startswith("wrong_")]
        assert 1 <= len(named.numbers) <= 3
        assert named.numbers[cause] == pytest.approx(factor, rel=0.08)
        assert cause in named.text
        assert {f.code for f in findings} - NOT_A_CAUSE == {named.code}


def test_the_length_alone_is_named_where_the_swing_tells_it():
    (named,) = [
        f for f in be.fit(SERVO, stated(clean(0), length=1.2), prior=PRIOR).findings if "wrong" in f.code
    ]
    assert named.code == "wrong_length"
    assert set(named.numbers) == {"length"}


@pytest.mark.parametrize("factor", [1.2, 0.8])
def test_a_gauge_of_the_supply_that_reads_wrong_is_named(factor):
    """The supply was recorded in every log, by one gauge."""
    logs = [
        changed(log, supply=be.Signal(time=log.time, values=np.full(len(log), 7.4 * factor)))
        for log in logs_with_off(0)
    ]
    fitted = be.fit(SERVO, logs, prior=PRIOR, n_starts=1)
    (named,) = [f for f in fitted.findings if f.code.startswith("wrong_")]
    assert named.numbers["supply"] == pytest.approx(1 / factor, rel=0.08)
    assert len([one for one in fitted.bench if one.path == "bench.supply_factor"]) == len(logs)


def test_what_freeing_a_cause_promises_is_what_it_saves():
    """The linear promise chooses which causes are tried: nearly right for an error of 10 %."""
    logs = stated(logs_with_off(0), mass=1.1)
    climb = bench_search(SERVO, logs, prior=PRIOR, n_starts=1)
    optimum = climb.settle(climb.find("stribeck"))
    p, end, robust = optimum.problem, optimum.end, optimum.robust
    H, g, _ = p.normal(end.x)
    for cause in CAUSES:
        places = [k for k, q in enumerate(p.free.parameters) if q.path in cause.paths and q.stated]
        if places:
            one = causes.CauseCandidate(*causes._promise(p, end.x, H, g, places), cause, places)
            saved = causes._try_cause(p, end.x, end.cost, robust, one).saved
            saved += 0.5 * (
                len(cause.paths) - 1 if cause.code == "wrong_winding" else 0
            )  # its freedom's cost
            assert one.promise == pytest.approx(saved, abs=0.15), cause.code


@pytest.mark.parametrize("delay", [0.0083, 0.015])
def test_a_latency_is_named_and_nothing_else(delay):
    fitted = be.fit(SERVO, late(delay), prior=PRIOR, n_starts=1)
    named = [f for f in fitted.findings if f.code not in NOT_A_CAUSE]
    assert [f.code for f in named] == ["delay"]
    assert named[0].numbers["delay"] == pytest.approx(delay, abs=1.5e-3)
    assert [
        f.code for f in be.check(SERVO, late(delay), prior=PRIOR).findings if f.code not in NOT_A_CAUSE
    ] == ["delay"]


def test_sound_recordings_on_benches_within_their_tolerances_blame_nobody():
    for seed in range(0, 80, 10):
        fitted = be.fit(SERVO, clean(seed, rig=-seed - 1), prior=PRIOR, n_starts=1)
        assert not {f.code for f in fitted.findings} - NOT_A_CAUSE, seed


def test_an_arm_that_hangs_elsewhere_is_said_and_allowed_for():
    logs = [replace(log, bench=replace(log.bench, hanging=0.0)) for log in clean(0)]
    turned = [
        replace(
            log,
            signals={
                n: replace(s, values=s.values + 0.15 * (k == 1) * (n != "enabled"))
                for n, s in log.signals.items()
            },
        )
        for k, log in enumerate(logs)
    ]
    fitted = be.fit(SERVO, turned, prior=PRIOR, n_starts=1)
    (named,) = [f for f in fitted.findings if f.code == "mounting_angle"]
    assert named.numbers["hanging"] == pytest.approx(0.15, abs=3e-3)
    assert "mass 0.5 kg" in named.text
    plain = be.fit(SERVO, logs, prior=PRIOR, n_starts=1)
    assert fitted.training_mae == pytest.approx(plain.training_mae, rel=0.02)


def test_a_mounting_that_was_held_out_has_its_angle_read_from_the_log():
    logs = clean(0)
    turned = replace(
        logs[2], signals={n: replace(s, values=s.values + 0.1) for n, s in logs[2].signals.items()}
    )
    fitted = be.fit(SERVO, [*logs[:2], turned], n_starts=1, hold_out=[turned.name])
    assert fitted.held_out_mae < 1.5 * fitted.noise_floor
    (read,) = fitted.read_from_held_out
    assert "hanging" in read
    assert "length 0.15 m" in read


def test_tolerances_are_inside_the_errors():
    logs = clean(0)
    tight = [
        replace(log, bench=replace(log.bench, tolerances={"mass": 1e-6, "length": 1e-6, "arm_mass": 1e-6}))
        for log in logs
    ]
    usual = be.fit(SERVO, logs, n_starts=1).parameters["motor.rotor_inertia"]
    known = be.fit(SERVO, tight, n_starts=1).parameters["motor.rotor_inertia"]
    assert usual.error > 2 * known.error  # 1 % of mass and 1 mm of length are most of it
    assert usual.error / usual.value == pytest.approx(0.012, rel=0.6)


def test_a_text_states_a_tolerance():
    bench = be.bench.Pendulum(mass="0.535 +- 0.002 kg", length="100 mm")
    assert (bench.mass, bench.tolerance("mass")) == (0.535, 0.002)
    assert (bench.length, bench.tolerance("length")) == (0.1, 1e-3)
    assert bench.tolerance("hanging") is None
    with pytest.raises(be.BackemfError, match=r"tolerance of bench\.mass"):
        be.bench.Pendulum(mass=0.5, length=0.1, tolerances={"mass": 0.0})
    with pytest.raises(be.BackemfError, match="unknown tolerance"):
        be.bench.Pendulum(mass=0.5, length=0.1, tolerances={"masse": 0.1})
    with pytest.raises(be.BackemfError, match="expected"):
        be.bench.Pendulum(mass="0.5 m", length=0.1)


def test_errors_follow_how_much_recordings_disagree():
    fitted = be.fit(SERVO, logs_with_off(0), n_starts=1)
    ratios = [p.error / p.error_if_right for p in fitted.parameters.values()]
    assert min(ratios) >= 1.0
    assert np.median(ratios) < 1.3  # all were made by one model
