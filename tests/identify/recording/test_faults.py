"""Faults of a recording itself: each is named, its remedy was tried and mends it; sound logs have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.identify.inspect import remedies, remedies as mend
from backemf.identify.inspect.remedies import REMEDIES, faults_of
from backemf.identify.inspect.samples import SignalTrack, find_lost_rows, odd_ones, repeated_samples
from backemf.identify.plants.bench_plant import identifiability_problem

from ..recordings import (
    SERVO,
    clean,
    command_logged_coarsely,
    commanded_coarsely,
    dropping_out,
    in_degrees,
    losing_rows,
    read_too_often,
    record,
    repeating,
    sines,
    spiking,
    steps,
    sweep,
    with_values,
)

Fault = Callable[[be.Log], be.Log]


def turned(log: be.Log) -> be.Log:
    return with_values(log, position=-log["position"])


def wrapped(log: be.Log) -> be.Log:
    return with_values(log, position=log["position"] % (2 * np.pi))


def in_counts(log: be.Log) -> be.Log:
    counts = {n: np.round(log[n] * 4096 / (2 * np.pi)) for n in ("position", "position_target")}
    return with_values(log, **counts)


FAULTS: dict[str, Fault] = {
    "degrees": in_degrees,
    "encoder_counts": in_counts,
    "lost_rows": losing_rows,
    "repeats": repeating,
    "duplicates": read_too_often,
    "zeros": dropping_out,
    "spikes": spiking,
    "coarse_command": command_logged_coarsely,
    "wrong_sign": turned,
    "wrapped_counter": wrapped,
}
BASES: dict[str, Callable[[], be.Log]] = {
    "1 mrad of noise at 5 ms": lambda: record(1, noise=1e-3),
    "an encoder alone": lambda: record(2, noise=0.0, command=sweep, gain=32.0),
    "no encoder": lambda: record(3, grain=0.0),
    "7 ms": lambda: record(4, dt=0.007, noise=1e-3),
    "2 ms": lambda: record(5, dt=0.002),
    "steps": lambda: record(6, command=steps, gain=8.0, mass=0.5),
    "a drop": lambda: record(7, off_after=3.0, noise=1e-3),
}


def codes(log: be.Log) -> list[str]:
    return [f.code for f in faults_of(log, SERVO)]


@pytest.mark.parametrize("base", BASES)
def test_each_fault_is_named_alone(base):
    log = BASES[base]()
    assert codes(log) == []
    for code, spoil in FAULTS.items():
        if base == "steps" and code == "coarse_command":
            continue  # a square wave has no steps that are too coarse
        assert codes(spoil(log)) == [code], code


def test_where_only_one_of_position_and_target_is_in_degrees():
    log = record(1, off_after=4.0)
    for name in ("position", "position_target"):
        (f,) = faults_of(in_degrees(log, name), SERVO)
        assert f.code == "degrees"
        assert f.numbers == {"sure": 1.0, name: pytest.approx(np.pi / 180)}


def test_turns_and_milliradians_are_told_from_what_was_asked():
    log = record(1)
    for code, scale in (("turns", 1 / (2 * np.pi)), ("milliradians", 1e3)):
        (f,) = faults_of(with_values(log, position=scale * log["position"]), SERVO)
        assert f.code == code
        assert f.numbers["position"] == pytest.approx(1 / scale)


def test_two_faults_are_two_findings_and_hide_nothing():
    log = record(1)
    assert codes(dropping_out(in_degrees(log))) == ["zeros", "degrees"]
    assert codes(losing_rows(wrapped(log))) == ["wrapped_counter", "lost_rows"]
    assert codes(turned(repeating(log))) == ["repeats", "wrong_sign"]


@pytest.mark.parametrize("constant", [0.0, -1.0, 0.31])
def test_dropouts_are_found_one_by_one(constant):
    log = record(1)
    spoilt = dropping_out(log, to=constant)
    track = SignalTrack.of(spoilt)
    truly = np.flatnonzero(np.random.default_rng(0).random(len(log)) < 0.05)
    clear = truly[np.abs(log["position"][truly] - constant) > 0.15]  # nearer to it they look like motion
    assert set(odd_ones(track).dropouts) >= set(clear)
    assert set(odd_ones(track).dropouts) <= set(truly)


def test_dropouts_may_last():
    """Five samples at a time, as a bus that times out leaves them."""
    log, q = record(1), record(1)["position"].copy()
    for k in range(100, 1200, 150):
        q[k : k + 5] = 0.0
    (f,) = faults_of(with_values(log, position=q), SERVO)
    assert (f.code, f.numbers["samples"] >= 30) == ("zeros", True)


def test_repeats_are_found_one_by_one():
    log = record(1, grain=0.0)
    found = repeated_samples(SignalTrack.of(repeating(log)))
    truly = np.flatnonzero(np.random.default_rng(0).random(len(log)) < 0.06)
    assert set(found) <= set(truly)
    fast = truly[np.abs(np.gradient(log["position"], log.time))[truly] > 1.5]
    assert np.mean(np.isin(fast, found)) > 0.8  # two in a row at a turn of the motion may go unseen


@pytest.mark.parametrize("share", [0.02, 0.05, 0.10])
def test_the_share_of_lost_rows(share):
    """To a third of itself: a loss beside another is not always told from a faster motion."""
    seen = find_lost_rows(losing_rows(record(1, noise=1e-3, duration=12.0), share))
    assert seen.share == pytest.approx(share, rel=0.34)
    assert seen.short < 0.05 * seen.rows


def test_lost_time_is_put_back():
    log = record(1)
    spoilt = losing_rows(log)
    kept = np.random.default_rng(0).random(len(log)) > 0.05
    kept[0] = True
    assert abs(spoilt.time[-1] - log.time[kept][-1]) > 0.2
    off = mend.with_lost_time(spoilt).time - log.time[kept]
    assert np.max(np.abs(off)) < 0.03  # of 0.27 s that are missing: a few rows in slow motion go unseen


def stick_slip() -> be.Log:
    """Slow steps of a heavy arm that sticks: rests and slips, recorded without noise."""
    sticky = SERVO.replace(**{"friction.static": 0.25, "friction.coulomb": 0.08})
    slow = lambda t: 0.25 * np.sin(2 * np.pi * 0.1 * t)  # noqa: E731  # a name for an expression
    return record(1, actuator=sticky, command=slow, gain=4.0, noise=0.0, grain=0.0, duration=10.0)


def stopping_for_a_moment() -> be.Log:
    """A motion that rests for three samples again and again and goes on from there: nothing is made up."""
    k = np.arange(1200)
    steps = np.where(k % 40 < 3, 0.0, 0.01 + 0.002 * np.sin(0.37 * k)) * np.sign(np.sin(k / 100 + 1e-9))
    time = 0.005 * k
    return be.log("stops", time, position=np.cumsum(steps), bench=record(0).bench)


def hitting_a_stop() -> be.Log:
    """A motion that is reversed at once: an impact."""
    log = record(1)
    return with_values(log, position=0.35 - np.abs(log["position"] - 0.35))


def at_irregular_times() -> be.Log:
    """The clock of a busy computer, with the times as they were."""
    rng = np.random.default_rng(1)
    time = np.cumsum(0.007 * np.clip(1 + 0.3 * rng.standard_normal(800), 0.4, 3.0))
    run = be.simulate(SERVO, record(0).bench, sines(time), time=time, substeps=5)
    q = run.position + 1e-3 * rng.standard_normal(len(time))
    return be.log("busy", time, position=q, position_target=sines(time), bench=record(0).bench)


def position_starting_late() -> be.Log:
    """Position on a clock that began 60 ms after the command's: a matter of delay, not of these."""
    log = record(1)
    q = log.signals["position"]
    return with_late(log, be.Signal(time=q.time + 0.06, values=q.values))


def with_late(log: be.Log, position: be.Signal) -> be.Log:
    return be.Log(name=log.name, signals={**log.signals, "position": position}, bench=log.bench)


SOUND: dict[str, Callable[[], be.Log]] = {
    "stick and slip": stick_slip,
    "short rests": stopping_for_a_moment,
    "impacts": hitting_a_stop,
    "irregular times": at_irregular_times,
    "a late clock": position_starting_late,
    "a coarse encoder": lambda: record(3, grain=2 * np.pi / 256),
    "no noise at all": lambda: record(3, noise=0.0, grain=0.0, command=steps),
    "50 Hz": lambda: record(3, dt=0.02, command=steps, gain=32.0),
    "500 Hz": lambda: record(3, dt=0.002, command=sweep, noise=1e-3),
    "chirps to 5 Hz at 50 Hz": lambda: record(
        3, dt=0.02, command=lambda t: 0.3 * np.sin(2 * np.pi * 0.4 * t**2)
    ),
    "a voltage": lambda: be.log(
        "volts",
        np.arange(0, 6, 0.01),
        position=np.cumsum(0.1 * np.sin(np.arange(0, 6, 0.01))),
        voltage_target=10 * np.sin(np.arange(0, 6, 0.01)),
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_logs_are_not_blamed(name):
    sure = [f.code for f in faults_of(SOUND[name](), SERVO) if f.numbers.get("sure", 1.0)]
    assert sure == []


@pytest.mark.parametrize(
    ("folder", "start", "every"), [("sts3032", "sts3032", 5), ("mx106_pendulum", "mx-106", 4)]
)
def test_real_recordings_are_not_blamed_and_what_is_planted_in_them_is_found(
    shared_data, folder, start, every
):
    """An irregular clock of 7 ms, encoders, drops; rows lost at random are found in all but the slowest."""
    files = sorted((shared_data / folder).glob("*.json"))[::every]
    actuator = be.Actuator.read(start)
    found = []
    for log in be.read(files):
        assert faults_of(log, actuator) == [], log.name
        for code, spoil in (("degrees", in_degrees), ("zeros", dropping_out), ("wrong_sign", turned)):
            assert [f.code for f in faults_of(spoil(log), actuator)] == [code], log.name
        found.append([f.code for f in faults_of(losing_rows(log), actuator)] == ["lost_rows"])
    assert np.mean(found) > 0.9


def test_a_fit_mends_what_it_is_told_to_and_nothing_else():
    """The same recording, its sign turned: as it is, the loop would push away from what is asked."""
    logs = [turned(record(1, noise=1e-3))]
    one = {"free_paths": ["friction.coulomb"], "n_starts": 1}
    left, mended = be.fit(SERVO, logs, **one), be.fit(SERVO, logs, apply=True, **one)
    assert "wrong_sign" in [f.code for f in left.findings]
    assert "wrong_sign" not in [f.code for f in mended.findings]
    assert sum(mended.training.values()) < 0.01 * sum(left.training.values())


@pytest.mark.parametrize("code", FAULTS)
def test_a_remedy_that_is_offered_has_been_tried_and_mends(code):
    logs = [FAULTS[code](log) for log in (record(1, noise=1e-3), record(2, mass=0.5, command=sweep))]
    checked = be.check(SERVO, logs)
    assert checked.verdict == "mend first"
    (f,) = [f for f in checked.findings if f.code in REMEDIES]
    assert f.code == code
    assert f.logs == ("log 1", "log 2")
    assert f.numbers["offered"] == 1.0
    assert f.numbers["after"] < f.numbers["before"]
    assert "mrad" in f.text
    assert not {"delay", "clock_drift"} & {g.code for g in checked.findings}
    mended = checked.apply(logs)
    assert all(log.conversions for log in mended)
    left = [g.code for log in mended for g in faults_of(log, SERVO)]
    assert code not in left
    sound = 6e-3 if code in ("lost_rows", "duplicates", "encoder_counts") else 1.5e-3
    # Noise is 0.4 to 0.8 mrad in the mean; lost time and stale samples cannot all be put right.
    assert f.numbers["after"] < sound


def test_a_command_that_really_comes_in_steps_is_left_alone():
    logs = [commanded_coarsely(1), commanded_coarsely(2, mass=0.5)]
    assert codes(logs[0]) == ["coarse_command"]  # a candidate, and the model says no
    assert "coarse_command" not in [f.code for f in be.check(SERVO, logs).findings]


def test_a_fault_that_no_remedy_mends_is_named_and_nothing_is_offered():
    """A counter that wraps, and whose zero is elsewhere too."""
    checked = be.check(SERVO, [wrapped(with_values(record(1), position=record(1)["position"] + 5.74))])
    (f,) = [f for f in checked.findings if f.code in REMEDIES]
    assert f.code == "wrapped_counter"
    assert checked.verdict == "record more"
    assert not {"delay", "clock_drift", "not_determined"} & {g.code for g in checked.findings}


def halves_that_differ() -> be.Log:
    """Half a log with one load and half with twice that, under one name: either is followed well alone."""
    light, heavy = record(1), record(1, mass=0.6, gain=16.0)
    first = np.arange(len(light)) < len(light) // 2
    return with_values(light, position=np.where(first, light["position"], heavy["position"]))


def test_what_is_judged_was_not_fitted():
    def build(some):
        return identifiability_problem(some, SERVO, None, None)

    alike, differ = record(1), halves_that_differ()
    sound, torn = (remedies._held_out(build, [log], [log], 1) for log in (alike, differ))
    assert sound is not None
    assert torn is not None
    assert torn > 10 * sound  # in what was fitted they differ by less than that


@pytest.mark.parametrize("code", ["wrong_sign", "lost_rows"])
def test_a_remedy_that_does_not_help_is_not_offered(code):
    """A sound log called faulty: turned it is worse, with its clock made whole the same; that stays open."""
    log = record(1)
    accused = replace(next(iter(faults_of(FAULTS[code](log), SERVO))), logs=(log.name,))
    tried = remedies.try_remedies(
        lambda some: identifiability_problem(some, SERVO, None, None), [log], [accused]
    )
    (f,) = tried.findings
    assert f.numbers["offered"] == 0.0
    assert f.remedy.startswith("record again")
    assert tried.open
    assert tried.mended == [log]
    assert remedies.apply(tried.findings, [log]) == [log]


def test_what_cannot_be_tried_is_still_named():
    short = in_degrees(record(1)).between(0.0, 0.7)
    tried = remedies.try_remedies(
        lambda some: identifiability_problem(some, SERVO, None, None), [short], faults_of(short, SERVO)
    )
    (f,) = tried.findings
    assert (f.code, f.numbers["offered"], "before" in f.numbers) == ("degrees", 1.0, False)


def test_only_the_logs_with_the_fault_are_mended():
    sound = clean(0)
    logs = [sound[0], in_degrees(sound[1]), sound[2]]
    checked = be.check(SERVO, logs)
    (f,) = [f for f in checked.findings if f.code == "degrees"]
    assert f.logs == (sound[1].name,)
    mended = checked.apply(logs)
    assert mended[0] is logs[0]
    assert mended[2] is logs[2]
    assert np.allclose(mended[1]["position"], sound[1]["position"])


def test_a_table_without_units_is_understood(tmp_path):
    """`time, position, goal`, in degrees: what the goal is and which unit, both said."""
    log = record(1)
    rows = [
        f"{t:.4f},{q:.4f},{g:.4f}"
        for t, q, g in zip(
            log.time, np.degrees(log["position"]), np.degrees(log["position_target"]), strict=True
        )
    ]
    (tmp_path / "run.csv").write_text("\n".join(["time,position,goal", *rows]))
    (raw,) = be.read(tmp_path / "run.csv", bench=log.bench, settings=log.settings)
    checked = be.check(SERVO, [raw])
    (f,) = [f for f in checked.findings if f.code in ("units_understood", "unit_assumed", *REMEDIES)]
    assert f.code == "units_understood"
    assert "degrees" in f.text
    assert checked.verdict != "mend first"  # it is done already
    (read,) = checked.apply([raw])
    assert np.allclose(read["position"], log["position"], atol=1e-5)
    assert any("position times 0.0174533" in words for words in read.conversions)
    assert np.allclose(checked.apply([read])[0]["position"], read["position"])  # once
