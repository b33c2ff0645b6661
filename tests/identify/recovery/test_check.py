"""The gate: planted defects are found, sound logs raise no alarm, and expected errors are honest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import backemf as be
from backemf.identify.check import identifiability
from backemf.identify.plants.bench_plant import identifiability_problem

from ..recordings import SERVO, changed, clean, record, sines

TRUE = {"only_in_combination", "not_determined", "no_slow_motion"}
"""Findings that are true of these sound logs: position and voltage alone do not tell R, K and B apart, and
nothing moves slowly."""


def with_position(change: Callable[[np.ndarray], np.ndarray]) -> list[be.Log]:
    log = record(0)
    return [changed(log, position=be.Signal(time=log.time, values=change(log["position"])))]


def with_drifting_clock() -> list[be.Log]:
    log = record(0)
    return [changed(log, position_target=be.Signal(time=1.02 * log.time, values=log["position_target"]))]


def with_holes() -> list[be.Log]:
    log, lost = record(0), np.r_[100:110, 400:420]
    return [
        changed(
            log,
            **{
                n: be.Signal(time=np.delete(s.time, lost), values=np.delete(s.values, lost))
                for n, s in log.signals.items()
            },
        )
    ]


DEFECTS: dict[str, Callable[[], list[be.Log]]] = {
    "wrong_sign": lambda: with_position(lambda q: -q),
    "delay": lambda: [record(5, delay=0.007), record(6, delay=0.007, gain=8.0, mass=0.5)],
    "clock_drift": with_drifting_clock,
    "gaps": with_holes,
    "wrapped_counter": lambda: with_position(lambda q: (q + np.pi + 2.6) % (2 * np.pi)),
    "coarse_encoder": lambda: [record(3, grain=2 * np.pi / 256)],
    "no_reversal": lambda: [record(4, command=lambda t: 0.4 * t)],
    "one_load": lambda: [record(4), record(5, gain=8.0)],
}
"""The finding that a defect deserves, and logs with the defect:
a delay of 7 ms, a clock 2 % slow, an encoder of 8 bits."""


@pytest.mark.parametrize("code", DEFECTS)
def test_planted_defects_are_found(code):
    checked = be.check(SERVO, DEFECTS[code]())
    assert code in [f.code for f in checked.findings]
    if code == "delay":
        (late,) = [f for f in checked.findings if f.code == "delay"]
        assert late.numbers["delay"] == pytest.approx(0.007, abs=0.0015)
    if code in ("wrapped_counter", "clock_drift"):  # the counter's zero is elsewhere: unwrapping does not do
        assert checked.verdict == "record more"


@pytest.mark.slow
@pytest.mark.parametrize("every", [25, pytest.param(10, marks=pytest.mark.proof)])
def test_sound_logs_raise_no_alarm(every):
    for seed in range(0, 1000, every):
        alarms = {f.code for f in be.check(SERVO, clean(seed, rig=-seed - 1)).findings} - TRUE
        assert not alarms, f"seed {seed}: {alarms}"


def test_r_k_and_b_are_only_known_in_combination_from_position_alone():
    checked = be.check(SERVO, clean(0))
    (combined,) = [f for f in checked.findings if f.code == "only_in_combination"]
    assert set(combined.numbers) == {"motor.resistance", "motor.torque_constant", "friction.viscous"}
    assert "current" in combined.remedy
    assert checked.verdict == "fit with priors"
    by = {p.path: p for p in checked.parameters}
    assert by["motor.rotor_inertia"].determined
    assert not by["motor.resistance"].determined
    assert "friction.viscous" in str(checked)


def test_a_phase_with_the_drive_off_separates_them():
    logs = [*clean(0), record(7, off_after=2.0), record(8, off_after=2.0, mass=0.5)]
    checked = be.check(SERVO, logs)
    assert "only_in_combination" not in [f.code for f in checked.findings]
    assert checked.verdict == "fit"


def test_a_current_channel_separates_them():
    logs = []
    for log in clean(0):
        actuator = SERVO.replace(**{"drive.proportional": log.settings["drive.proportional"]})
        run = be.simulate(actuator, log.bench, log["position_target"], time=log.time, substeps=10)
        current = run.current + 0.01 * np.random.default_rng(1).standard_normal(len(run))
        logs.append(changed(log, current=be.Signal(time=log.time, values=current)))
    by = {p.path: p for p in be.check(SERVO, logs).parameters}
    assert by["motor.resistance"].determined
    assert by["motor.torque_constant"].determined


def test_expected_errors_agree_with_the_spread_of_fits():
    """Fit 12 noisy copies on benches of their own; the scatter of each determined parameter is what the check
    expects of it."""
    p = identifiability_problem(clean(0), SERVO, None, None)
    expected = {e.path: e.relative_error for e in identifiability(p)[0]}
    spread: dict[str, list[float]] = {
        path: [] for path in ("motor.rotor_inertia", "friction.coulomb", "friction.static")
    }
    for seed in range(12):
        fit = be.fit(SERVO, clean(1000 + 10 * seed, rig=seed), n_starts=1, offset=False)
        for path, values in spread.items():
            values.append(fit.parameters[path].value)
    for path, values in spread.items():
        spread = np.std(values, ddof=1) / np.mean(values)
        assert 0.4 < spread / expected[path] < 2.2, path


def test_too_little_motion_and_no_bench_are_said():
    t = np.arange(0, 3, 0.005)
    still = be.log(
        "still",
        t,
        position=1e-4 * np.random.default_rng(0).standard_normal(len(t)),
        position_target=sines(t),
        bench=be.bench.Pendulum(mass=0.3, length=0.1),
    )
    assert "no_motion" in [f.code for f in be.check(SERVO, [still]).findings]
    with pytest.raises(be.BackemfError, match="has no bench"):
        be.check(SERVO, [be.log("x", t, position=sines(t), position_target=sines(t))])
