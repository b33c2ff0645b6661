"""Recovery: a known actuator, noisy logs, and the fit that finds it again, with errors that hold."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.identify.frictions import LADDER, with_friction
from backemf.identify.holdout import split

from ..recordings import COVERED, SERVO, clean, record, steps, sweep


def logs_with_off(seed: int, **more) -> list[be.Log]:
    """Logs that determine everything: several loads and gains, and phases with the drive off."""
    return [
        record(seed, **more),
        record(seed + 1, mass=0.5, gain=8.0, command=steps, **more),
        record(seed + 2, length=0.15, gain=32.0, command=sweep, **more),
        record(seed + 3, off_after=2.0, **more),
        record(seed + 4, off_after=2.0, mass=0.5, gain=8.0, **more),
    ]


def start_from(truth: be.Actuator, factor: float = 1.6) -> be.Actuator:
    """Every free number off by a factor, up and down in turn."""
    off = {}
    for k, (path, value) in enumerate(truth.parameters.items()):
        if path.startswith(("motor.", "friction.")):
            off[path] = value * (factor if k % 2 else 1 / factor)
    if "friction.static" in off:
        off["friction.static"] = (
            off["friction.coulomb"]
            + (truth.parameters["friction.static"] - truth.parameters["friction.coulomb"]) * factor
        )
    return truth.replace(**off)


def test_a_known_servo_is_found_again_with_its_errors(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    fitted = be.fit(start_from(SERVO), logs_with_off(0), n_starts=2)
    assert fitted.training_mae < 1.08 * fitted.noise_floor
    for path, p in fitted.parameters.items():
        truth = SERVO.parameters.get(path)
        if truth is not None:
            assert abs(p.value - truth) < 4 * p.error + 1e-9, path
            assert p.low <= p.value <= p.high
    # R goes with the square of the supply, which is known to 2 %, and with the mass, to 1 %.
    assert 0.04 * 4.0 < fitted.parameters["motor.resistance"].error < 0.06 * 4.0
    known = be.fit(SERVO, logs_with_off(0), n_starts=1, tolerances=False)
    assert known.parameters["motor.resistance"].error < 0.03 * 4.0
    assert not [f.code for f in fitted.findings if f.code in ("at_bound", "model_error", "worse_held_out")]
    text = str(fitted)
    assert "motor.resistance" in text
    assert "told by" in text


def test_it_is_deterministic():
    a, b = (be.fit(start_from(SERVO), clean(0), n_starts=2, seed=3) for _ in range(2))
    assert {k: p.value for k, p in a.parameters.items()} == {k: p.value for k, p in b.parameters.items()}


def test_open_combinations_stay_where_the_prior_puts_them_and_are_said_to():
    prior = {"motor.resistance": (3.6, 0.1)}
    fitted = be.fit(SERVO, clean(0), prior=prior, n_starts=1)
    R = fitted.parameters["motor.resistance"]
    assert R.value == pytest.approx(3.6, abs=0.15)
    assert R.error == pytest.approx(0.1, rel=0.3)
    assert "not_identifiable" in [f.code for f in fitted.findings]
    ratio = fitted.actuator.motor.torque_constant / fitted.actuator.motor.resistance
    assert ratio == pytest.approx(0.9 / 4.0, rel=0.02)  # what the data tells is found all the same


def test_held_out_logs_are_judged_and_never_fitted():
    logs = logs_with_off(0)
    fitted = be.fit(SERVO, logs, hold_out={"gain": 32}, n_starts=1)
    assert set(fitted.held_out) == {"log 2"}
    assert "log 2" not in fitted.training
    assert fitted.held_out_mae < 1.35 * fitted.noise_floor
    with pytest.raises(be.BackemfError, match="matches none"):
        be.fit(SERVO, logs, hold_out={"gain": 31})
    with pytest.raises(be.BackemfError, match="unknown way to choose logs 'gian'; did you mean 'gain'"):
        be.fit(SERVO, logs, hold_out={"gian": 32})


def test_logs_of_one_name_are_held_out_by_their_settings():
    logs = [replace(log, name="run") for log in clean(0)]
    fitted, judged = split(logs, {"gain": 8})
    assert [log.settings["drive.proportional"] for log in fitted] == [16.0, 32.0]
    assert len(judged) == 1
    assert judged[0] is logs[1]


def test_a_delay_is_found():
    logs = [
        record(k, delay=0.0083, gain=g, mass=m)
        for k, (g, m) in enumerate([(16.0, 0.3), (8.0, 0.5), (32.0, 0.3)])
    ]
    fitted = be.fit(SERVO, logs, delay=True, n_starts=1)
    assert fitted.parameters["drive.delay"].value == pytest.approx(0.0083, abs=4e-4)


def test_an_offset_of_the_encoder_is_found():
    logs = [
        replace(
            log,
            signals={
                n: replace(s, values=s.values + (0.05 if n != "enabled" else 0.0))
                for n, s in log.signals.items()
            },
        )
        for log in logs_with_off(0)
    ]
    fitted = be.fit(SERVO, logs, n_starts=1)
    angles = [one for one in fitted.bench if one.path == "bench.hanging"]
    assert len(angles) == len({one.group for one in angles}) > 1
    for one in angles:
        assert one.value == pytest.approx(0.05, abs=2e-3), one.group


def test_a_fit_is_stored_and_read_back(tmp_path):
    fitted = be.fit(SERVO, clean(0), n_starts=1, hold_out=["log 2"])
    fitted.write(tmp_path / "fit.json")
    assert be.Fit.read(tmp_path / "fit.json") == fitted
    with pytest.raises(be.BackemfError, match="exists"):
        fitted.write(tmp_path / "fit.json")
    content = json.loads((tmp_path / "fit.json").read_text())
    assert {
        "parameters",
        "training_mae",
        "held_out_mae",
        "noise_floor",
        "findings",
        "starts",
        "cpu_s",
    } <= set(content)
    (tmp_path / "cut.json").write_text((tmp_path / "fit.json").read_text()[:-100])
    with pytest.raises(be.BackemfError, match="not a JSON file"):
        be.Fit.read(tmp_path / "cut.json")


def test_bad_requests_are_refused():
    logs = clean(0)
    with pytest.raises(
        be.BackemfError, match=r"unknown parameter 'motor\.resistence'; did you mean 'motor\.resistance'"
    ):
        be.fit(SERVO, logs, free_paths=["motor.resistence"])
    with pytest.raises(be.BackemfError, match="expected the lower one first"):
        be.fit(SERVO, logs, bounds={"motor.resistance": (5.0, 3.0)})
    with pytest.raises(be.BackemfError, match="outside its bounds"):
        be.fit(SERVO, logs, bounds={"motor.resistance": (5.0, 9.0)})
    with pytest.raises(be.BackemfError, match="fit was given no logs; expected at least one"):
        be.fit(SERVO, [])
    with pytest.raises(be.BackemfError, match="unknown friction 'm7'"):
        be.fit(SERVO, logs, friction="m7")


@pytest.mark.parametrize("name", LADDER)
def test_every_rung_has_a_start(name):
    actuator = with_friction(be.Datasheet.read("mx-106").actuator(), name)
    run = be.simulate(
        actuator, be.bench.Pendulum(mass=1.0, length=0.1), be.signal.step(0.5), duration=1.0, dt=0.005
    )
    assert np.all(np.isfinite(run.position))
    # the checker knows its base class only
    assert actuator.friction.coulomb > 0  # type: ignore[attr-defined]  # this friction has it


def test_the_ladder_chooses_the_simplest_that_explains_held_out_logs():
    """Logs made with Stribeck friction: Coulomb is poorer, richer rungs buy nothing."""
    logs = [
        record(k, gain=g, mass=m, command=c)
        for k, (g, m, c) in enumerate(
            [
                (8.0, 0.3, steps),
                (16.0, 0.5, sweep),
                (32.0, 0.3, sweep),
                (8.0, 0.5, sweep),
                (16.0, 0.3, steps),
                (32.0, 0.5, steps),
            ]
        )
    ]
    climbed = be.ladder(SERVO, logs, rungs=("coulomb", "stribeck", "m4"), n_starts=1)
    assert climbed.chosen == "stribeck"
    assert climbed.fit.friction == "stribeck"
    assert "each held out in turn" in climbed.held_out  # one gain is one group: too few to judge on
    assert "chosen" in str(climbed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[pytest.mark.proof] if m != "m4" else []) for m in COVERED]
)
def test_95_percent_intervals_cover(model):
    """Pooled over parameters, white and correlated noise, benches as good as their tolerances, and 20 seeds
    each; the benchmark has 200. The bench's errors are shared by a fit's parameters, so the share scatters
    more than that of as many independent ones."""
    truth = replace(SERVO, friction=COVERED[model])
    inside = if_right = total = 0
    for seed in range(20):
        for correlated in (False, True):
            logs = logs_with_off(
                100 * seed, actuator=truth, correlated=correlated, noise=1e-3, grain=0.0, rig=seed
            )
            fitted = be.fit(truth, logs, n_starts=1, offset=False)
            for path, p in fitted.parameters.items():
                if path in truth.parameters:
                    inside += p.low <= truth.parameters[path] <= p.high
                    if_right += p.low_if_right <= truth.parameters[path] <= p.high_if_right
                    total += 1
    # The model is right here. The other interval allows for five logs' word on how much logs disagree.
    assert 0.90 <= if_right / total <= 0.98, f"{if_right} of {total}"
    assert if_right <= inside, f"{inside} of {total}"
