"""Numbers of a bench: whose they are, how far they may move, and which of them a log has after a fit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.identify import bench_numbers as numbers
from backemf.results.fit_result import BenchNumber

from .recordings import SERVO

T = np.linspace(0.0, 1.0, 101)


def log(
    name: str = "run", mass: float = 0.3, supply: float | None = None, volts: float | None = None, **bench
):
    """A log of 10 ms steps, on a pendulum unless a bench is given."""
    on = bench.pop("bench", None) or be.bench.Pendulum(**({"mass": mass, "length": 0.1} | bench))
    signals = {"position": T, "position_target": T}
    if supply is not None:
        signals["supply"] = np.full(len(T), supply)
    settings = {} if volts is None else {"drive.supply": volts}
    return be.log(name, T, bench=on, settings=settings, **signals)


def found(path: str, value: float, group: str = "", logs: tuple[str, ...] = ()) -> BenchNumber:
    return BenchNumber(
        path=path, group=group, stated=1.0, tolerance=0.1, value=value, error=0.01, unit="1", logs=logs
    )


def test_a_mounting_in_words():
    arm = be.bench.Pendulum(mass=0.3, length=0.1, arm_mass=0.03, hanging=0.2)
    assert numbers.words(arm) == "mass 0.3 kg, length 0.1 m, arm mass 0.03 kg"
    assert numbers.words(be.bench.Pendulum(mass=0.3, length=0.1)) == "mass 0.3 kg, length 0.1 m"
    assert numbers.words(be.bench.FreeShaft()) == "bench"
    assert numbers.number_of("length", 0.123456) == "0.1235 m"


def test_only_an_arm_that_hangs_gets_an_angle_and_only_where_it_has_none():
    arm, known = be.bench.Pendulum(mass=0.3, length=0.1), be.bench.Pendulum(mass=0.3, length=0.1, hanging=0.2)
    assert numbers.with_angle(arm).hanging == 0.0  # type: ignore[attr-defined]  # a pendulum's
    assert numbers.with_angle(known) is known
    wheel = be.bench.Flywheel(inertia=0.1)
    assert numbers.with_angle(wheel) is wheel


def test_each_mounting_has_an_angle_of_its_own():
    first, second = numbers.angles([log("a"), log("b", mass=0.5, hanging=0.2), log("c")])
    assert (first.logs, second.logs) == ((0, 2), (1,))
    assert (first.group, second.group) == ("mass 0.3 kg, length 0.1 m", "mass 0.5 kg, length 0.1 m")
    assert first.prior == (0.0, pytest.approx(math.radians(2.0)))
    assert (first.low, first.high, first.signed) == (-1.5, 1.5, first.prior[1])
    assert second.prior[0] == second.start == 0.2
    assert (second.low, second.high) == (pytest.approx(-1.3), pytest.approx(1.7))
    assert first.stated
    assert first.beside


def test_the_same_number_in_several_logs_is_the_same_thing():
    logs = [log("a", mass=0.5), log("b", arm_mass=0.02), log("c", mass=0.5, tolerances={"mass": 0.002})]
    light, heavy, length, arm = numbers.measured_parameters(logs)
    assert [(q.path, q.start, q.logs) for q in (light, heavy, length, arm)] == [
        ("bench.mass", 0.3, (1,)),
        ("bench.mass", 0.5, (0, 2)),
        ("bench.length", 0.1, (0, 1, 2)),
        ("bench.arm_mass", 0.02, (1,)),
    ]
    assert heavy.prior == pytest.approx((math.log(0.5), 0.01))  # 1 % by the first log that has it
    assert length.prior == pytest.approx((math.log(0.1), 0.01))  # 1 mm
    assert arm.prior == pytest.approx((math.log(0.02), 0.05))
    assert (heavy.low, heavy.high, heavy.group, heavy.unit) == (pytest.approx(0.1), 2.5, "0.5 kg", "kg")
    assert heavy.signed is None
    assert heavy.beside
    assert [q.path for q in numbers.measured_parameters(logs, ["bench.mass"])] == [
        "bench.length",
        "bench.arm_mass",
    ]


def test_what_nobody_measures_has_no_tolerance_and_stays():
    body = log(bench=be.bench.Pendulum(mass=0.3, length=0.1, inertia=1e-3))
    assert "bench.inertia" not in [q.path for q in numbers.measured_parameters([body])]
    wheel = log(bench=be.bench.Flywheel(inertia=0.1))
    assert [(q.path, q.prior[1]) for q in numbers.measured_parameters([wheel])] == [
        ("bench.inertia", pytest.approx(0.02))
    ]


def test_a_recorded_supply_has_a_factor_in_every_log_and_their_gauges_have_half_in_common():
    own = log("b", supply=7.0, tolerances={"supply_factor": 0.005})
    first, second = numbers.supplies(SERVO, [log("a"), own])
    assert [(q.path, q.start, q.logs, q.group) for q in (first, second)] == [
        ("bench.supply_factor", 1.0, (0,), "a"),
        ("bench.supply_factor", 1.0, (1,), "b"),
    ]
    assert (first.prior, second.prior) == ((0.0, 0.02), (0.0, 0.005))
    assert first.alike == second.alike == 0.5
    (alone,) = numbers.supplies(SERVO, [own])
    assert alone.alike == 0.0


def test_a_stated_supply_is_that_of_the_logs_that_share_it():
    low, usual = numbers.supplies(SERVO, [log("a"), log("b", volts=6.0), log("c", volts=7.4)])
    assert [(q.start, q.logs, q.group) for q in (low, usual)] == [(6.0, (1,), "6 V"), (7.4, (0, 2), "7.4 V")]
    assert low.prior == pytest.approx((math.log(6.0), 0.02))
    assert (low.low, low.high) == (pytest.approx(1.2), 30.0)
    assert low.beside
    assert low.stated


def test_where_no_supply_can_move():
    unsupplied = replace(SERVO, drive=be.drive.Voltage())
    assert numbers.supplies(unsupplied, [log()]) == []
    assert numbers.supplies(SERVO, [log()], ["drive.supply"]) == []
    recorded = [log(supply=7.0)]
    assert [q.path for q in numbers.supplies(SERVO, recorded, ["bench.supply_factor"])] == ["drive.supply"]


DRIVES = {
    "follows something": (SERVO.drive, (), True),
    "its delay is free already": (SERVO.drive, ("drive.delay",), False),
    "says when it looks": (replace(SERVO.drive, period=0.01), (), False),
    "follows nothing": (be.drive.Off(), (), False),
}


@pytest.mark.parametrize("row", DRIVES)
def test_a_command_may_count_later_or_earlier_where_nobody_says_when(row):
    drive, taken, late = DRIVES[row]
    more = numbers.within_tolerance(replace(SERVO, drive=drive), [log()], taken)
    assert ("drive.delay" in [q.path for q in more]) == late
    assert more[0].path == "bench.mass"
    if late:
        assert more[-1].prior == (0.0, pytest.approx(0.02))


def test_everything_that_may_move_is_there_once():
    paths = [q.path for q in numbers.within_tolerance(SERVO, [log()], ["bench.length"])]
    assert paths == ["bench.mass", "drive.supply", "drive.delay"]


def test_a_latency_is_within_two_samples_of_the_drives_own():
    q = numbers.latency(0.01, 0.005)
    assert q.prior == (0.005, 0.02)
    assert (q.low, q.high, q.signed) == (pytest.approx(-0.055), pytest.approx(0.405), 0.02)
    assert q.start == pytest.approx(0.00501)  # off the kink at its own place
    assert q.beside
    assert q.stated
    late = replace(SERVO, drive=replace(SERVO.drive, delay=0.03))
    (more,) = [q for q in numbers.within_tolerance(late, [log()], ()) if q.path == "drive.delay"]
    assert more.prior == pytest.approx((0.03, 0.02))


HERE = log("here", arm_mass=0.02)
MOUNTING = numbers.words(HERE.bench)
AFTER = {
    # what a fit found, and the log's bench after it: what is not named is as it was
    "its own": ([found("bench.mass", 0.29, "other", ("here",))], {"mass": 0.29}),
    "the same weight of another log": ([found("bench.mass", 0.29, "0.3 kg", ("there",))], {"mass": 0.29}),
    "another weight": ([found("bench.mass", 0.52, "0.5 kg", ("there",))], {}),
    "common to all": ([found("bench.mass", 0.29)], {"mass": 0.29}),
    "the angle of the same mounting": ([found("bench.hanging", 0.1, MOUNTING, ("there",))], {"hanging": 0.1}),
    "of another mounting": ([found("bench.hanging", 0.1, "mass 0.5 kg", ("there",))], {"hanging": 0.1}),
    "its own gauge": ([found("bench.supply_factor", 1.1, "here", ("here",))], {"supply_factor": 1.1}),
    "a gauge of another log, and no supply here": (
        [found("bench.supply_factor", 1.1, "there", ("there",))],
        {},
    ),
    "what this bench has not": ([found("bench.drum_radius", 0.1)], {}),
    "what is not of the bench": ([found("drive.delay", 0.01)], {}),
    "nothing": ([], {}),
}


@pytest.mark.parametrize("row", AFTER)
def test_a_log_has_the_numbers_of_its_own_bench_after_a_fit(row):
    of_bench, changes = AFTER[row]
    after = numbers.as_found(of_bench, HERE)
    assert after.bench == replace(HERE.bench, **changes)
    assert after.settings == HERE.settings


def test_gauges_of_other_logs_speak_for_a_log_with_a_supply():
    gauges = [found("bench.supply_factor", v, name, (name,)) for v, name in ((1.1, "a"), (1.2, "b"))]
    other = numbers.as_found(gauges, log("c", supply=7.0)).bench
    assert other.supply_factor == pytest.approx(1.15)
    mine = numbers.as_found(gauges, log("b", supply=7.0)).bench
    assert mine.supply_factor == 1.2
    without = replace(log("x"), bench=None)
    assert numbers.as_found(gauges, without) is without


VOLTS = {
    # numbers found, the log: its supply after that
    "the only one": ([("7.4 V", 7.3, ("a",))], log("x"), 7.3),
    "one of two": ([("7.4 V", 7.3, ("a",)), ("6 V", 5.9, ("b",))], log("x"), None),
    "its own of two": ([("7.4 V", 7.3, ("a",)), ("6 V", 5.9, ("b",))], log("b"), 5.9),
    "the same voltage": ([("7.4 V", 7.3, ("a",)), ("6 V", 5.9, ("b",))], log("x", volts=6.0), 5.9),
    "another voltage": ([("7.4 V", 7.3, ("a",))], log("x", volts=6.0), None),
    "its own is recorded": ([("7.4 V", 7.3, ("a",))], log("x", supply=7.0), None),
    "nothing was found": ([], log("x"), None),
}


@pytest.mark.parametrize("row", VOLTS)
def test_the_supply_that_a_fit_found(row):
    rows, one, volts = VOLTS[row]
    of_bench = [found("bench.mass", 9.0, "9 kg"), *(found("drive.supply", v, g, who) for g, v, who in rows)]
    after = numbers.as_found(of_bench, one).settings
    assert after == (one.settings if volts is None else {**one.settings, "drive.supply": volts})


def test_a_group_is_called_by_its_number_or_the_log():
    assert numbers.number_of_or_name(log("a"), "mass") == "0.3 kg"
    assert numbers.number_of_or_name(log("a"), "supply_factor") == "a"


def test_an_actuator_can_be_late_and_not_early():
    late = numbers.with_latency(SERVO, [found("bench.mass", 1.0), found("drive.delay", 0.02)])
    assert late.drive.delay == 0.02
    for value in (0.0, -0.01):
        assert numbers.with_latency(SERVO, [found("drive.delay", value)]) is SERVO
    assert numbers.with_latency(SERVO, [found("bench.mass", 1.0)]) is SERVO


def test_a_latency_that_was_found_is_a_start_to_leave():
    (q,) = numbers.as_late(SERVO, [log()], [found("drive.delay", -0.003)])
    assert (q.start, q.prior) == (-0.003, (0.0, pytest.approx(0.02)))
    own = replace(SERVO, drive=replace(SERVO.drive, delay=0.03))
    (q,) = numbers.as_late(own, [log()], [found("drive.delay", 0.04)])
    assert (q.start, q.prior[0]) == (0.04, 0.03)
    assert numbers.as_late(SERVO, [log()], []) == []
    assert numbers.latency_of([]) is None


def test_the_usual_step_is_over_all_logs():
    t = np.linspace(0.0, 1.0, 21)
    slow = be.log("slow", t, position=t)
    assert numbers.median_step([slow, log()]) == pytest.approx(0.01)
    assert numbers.median_step([slow]) == pytest.approx(0.05)
