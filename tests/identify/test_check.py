"""The gate without recordings: what a known curvature tells of each number, which combinations it leaves
open, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.findings import finding
from backemf.identify import check
from backemf.identify.check import Check, Expectation, identifiability
from backemf.identify.parameters import FreeParameters, Parameter
from backemf.identify.plants.bench_plant import identifiability_problem

from .recordings import SERVO, record, steps


def number(path: str, start: float = 1.0, **more: Any) -> Parameter:
    given = {"unit": "1", "low": 1e-6, "high": 1e6, "prior": (math.log(start), 2.0)} | more
    return Parameter(path=path, start=start, **given)


def told(H: Any, *numbers: Parameter, **fixed: float) -> tuple:
    """What a problem with this curvature would say."""
    p: Any = SimpleNamespace(
        free=FreeParameters(numbers),
        first=np.zeros(len(numbers)),
        normal=lambda x: (np.array(H), 0, 0),
        fixed=fixed,
    )
    rows, combinations = identifiability(p)
    return {row.path: row for row in rows}, combinations


def test_errors_to_expect_are_those_of_the_curvature_and_the_prior():
    rows, combinations = told(np.diag([1e4, 4.0]), number("a", 3.0), number("b"))
    assert rows["a"].value == 3.0
    assert rows["a"].from_data == pytest.approx(0.01, rel=1e-3)
    assert rows["a"].relative_error == pytest.approx(1 / math.sqrt(1e4 + 0.25))
    assert rows["b"].from_data == pytest.approx(0.5, rel=1e-3)
    assert rows["b"].relative_error == pytest.approx(1 / math.sqrt(4.25))
    assert combinations == []


def test_a_number_of_which_the_data_say_nothing():
    rows, _ = told(np.diag([1e4, 1e-9]), number("a"), number("b", prior=(0.0, 0.1)))
    assert rows["b"].from_data == math.inf
    assert rows["b"].relative_error == pytest.approx(0.1)
    for curvature, known in ((1 / 9.8**2, True), (1 / 10.4**2, False)):  # a factor of e^10 is nothing
        rows, _ = told(np.diag([1e4, curvature]), number("a"), number("b"))
        assert math.isfinite(rows["b"].from_data) is known


def test_what_the_bench_leaves_of_it():
    """The bench's number is held by its tolerance of 0.1: what it may explain does not count."""
    mass = number("bench.mass", prior=(0.0, 0.1), beside=True)
    H = np.array([[400.0, 300.0], [300.0, 300.0]])
    rows, _ = told(H, number("a"), mass)
    left = 400.0 - 300.0**2 / (300.0 + 100.0)
    assert set(rows) == {"a"}
    assert rows["a"].from_data == pytest.approx(1 / math.sqrt(left), rel=1e-3)
    assert rows["a"].relative_error == pytest.approx(1 / math.sqrt(left + 0.25))


def test_the_error_of_an_excess_counts_of_the_whole():
    """Static friction of 5 stands on one of 4: the excess is a fifth of it."""
    rows, _ = told(np.diag([1e4, 100.0]), number("c", 4.0), number("s", 5.0, above="c"))
    assert rows["s"].from_data == pytest.approx(0.1 / 5, rel=1e-3)
    assert rows["s"].relative_error == pytest.approx(1 / math.sqrt(100.25) / 5)
    alone, _ = told(np.diag([100.0]), number("s", 5.0, above="c"), c=4.0)
    assert alone["s"].from_data == pytest.approx(0.1 / 5, rel=1e-3)
    none, _ = told(np.diag([1e-12]), number("s", 5.0, above="c"), c=4.0)
    assert none["s"].from_data == math.inf


def tied(weight: float = 1e6, weak: float = 0.0) -> np.ndarray:
    """Only the sum of the first two is told, and the third by itself."""
    H = np.diag([weak, weak, 1e4])
    H[:2, :2] += weight
    return H


def test_a_combination_that_the_data_leave_open():
    numbers = number("a"), number("b"), number("c")
    rows, combinations = told(tied(), *numbers)
    (open_,) = combinations
    assert set(open_) == {"a", "b"}
    assert abs(open_["a"]) == pytest.approx(math.sqrt(0.5), rel=1e-3)
    assert open_["a"] == pytest.approx(-open_["b"])
    assert not rows["a"].determined
    assert rows["c"].determined
    # apart to 10 % each, by something else
    _, none = told(tied(weak=200.0), *numbers)
    assert none == []


def test_a_direction_of_one_number_is_no_combination():
    _, combinations = told(np.diag([0.0, 1e4]), number("a"), number("b"))
    assert combinations == []


@pytest.mark.parametrize(("weak", "there"), [(0.7, True), (0.8, False)])
def test_a_direction_is_open_where_the_data_tell_less_than_the_prior(weak, there):
    """Three times the prior's own curvature, 1 / 4 for a factor of e^2, or less."""
    _, combinations = told(tied(weak=weak), number("a"), number("b"), number("c"))
    assert bool(combinations) is there


@pytest.mark.parametrize(
    ("error", "determined"), [(0.0, True), (0.15, True), (0.151, False), (np.inf, False)]
)
def test_what_counts_as_determined(error, determined):
    row = Expectation(path="x", value=1.0, unit="1", relative_error=0.01, from_data=error)
    assert row.determined == determined


def test_what_is_said_of_numbers_that_the_logs_leave_open():
    def row(path: str, from_data: float) -> Expectation:
        return Expectation(path=path, value=1.0, unit="1", relative_error=0.5, from_data=from_data)

    rows = [row("motor.resistance", 0.4), row("a", 0.1), row("b", 0.3), row("c", math.inf)]
    combined, some, nothing = check._identifiability_findings(rows, [{"motor.resistance": 0.7, "d": -0.7}])
    assert (combined.code, combined.numbers) == ("only_in_combination", {"motor.resistance": 0.7, "d": -0.7})
    assert combined.text == "the data tells motor.resistance, d only in combination, not apart."
    assert combined.remedy.startswith("record the current")
    assert (some.code, some.text) == ("not_determined", "b is determined to 30 % by these logs.")
    assert some.numbers == {"relative_error": 0.3}
    assert nothing.text == "c is determined not at all by these logs."
    assert nothing.numbers == {"relative_error": 1e9}
    assert nothing.remedy == "add a log in which it matters, or give a prior"


def test_remedies_are_those_of_the_first_group_that_is_concerned():
    assert check._remedy(["motor.rotor_inertia"], "x") == "record fast reversals with a light load"
    assert check._remedy(["friction.load", "a"], "x").startswith("record with a heavier arm")
    assert check._remedy(["a"], "x") == "x"


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("drive.punch", "stops under different small loads"),
        ("drive.firmware_derivative_gain", "steps and fast sines"),
        ("drive.firmware_integral_gain", "holds of some seconds under load"),
        ("drive.acceleration", "steps, and sines fast enough"),
        ("drive.slew", "jumps so large"),
        ("drive.duty_limit", "large jumps under load"),
        ("gearbox.backlash", "slow reversals under a small load"),
    ],
)
def test_what_would_tell_a_number_of_the_firmware(path, remedy):
    """An even motion says nothing of it, and the actuator need not have it."""
    log = record(0, duration=1.5, command=lambda t: 0.8 * t)
    found = be.check(SERVO, [log], free_paths=["motor.resistance", path])
    (said,) = (f for f in found.findings if path in f.text and "determined" in f.code)
    assert remedy in said.remedy


@pytest.mark.parametrize(
    ("share", "text"), [(0.05, "5 %"), (0.123, "12 %"), (2.9, "290 %"), (3.1, "open"), (math.inf, "open")]
)
def test_errors_in_per_cent(share, text):
    assert check._percent(share) == text


def test_a_check_in_words():
    rows = (
        Expectation(path="a", value=2.0, unit="ohm", relative_error=0.02, from_data=0.05),
        Expectation(path="b", value=3.0, unit="1", relative_error=0.3, from_data=math.inf),
    )
    said = finding("gaps", "there are gaps.", "leave none")
    text = str(Check(verdict="fit", findings=(said,), parameters=rows, n_logs=2, n_samples=300))
    assert text.startswith("2 logs, 300 samples. Verdict: fit.")
    by = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert by["a"] == ["a", "2", "ohm", "5", "%", "2", "%", "yes"]
    assert by["b"][-1] == "no"
    assert "  - gaps: there are gaps.\n    leave none" in text
    assert "Findings" not in str(Check(verdict="fit", findings=(), parameters=rows))


def test_what_no_fit_survives():
    assert check._fatal([finding("gaps", "a.", "b"), finding("no_motion", "a.", "b")])
    assert not check._fatal([finding("gaps", "a.", "b")])


def test_the_clock_counts_as_recorded_and_the_position_as_mended():
    t = 0.01 * np.arange(200.0)
    gap, still = be.log("run", t + (t > 1.0), position=np.sin(3.0 * t)), be.log("run", t, position=0.0 * t)
    found = [f.code for f in check._findings_of(check.Inspection([], [gap], [still], False))]
    assert ("gaps" in found, "no_motion" in found) == (True, True)


def test_the_fits_own_problem():
    logs = [record(0, duration=0.5)]
    p = identifiability_problem(logs, SERVO, None, None)
    own = [q.path for q in p.free.parameters if not q.beside]
    assert own == [
        "motor.resistance",
        "motor.torque_constant",
        "motor.rotor_inertia",
        *(f"friction.{name}" for name in ("viscous", "coulomb", "static", "stribeck_velocity")),
    ]
    beside = [q.path for q in p.free.parameters if q.beside]
    assert beside == ["bench.mass", "bench.length", "bench.arm_mass", "drive.supply"]
    some = identifiability_problem(logs, SERVO, ["motor.resistance"], {"motor.resistance": (4.0, 0.1)})
    (R,) = [q for q in some.free.parameters if not q.beside]
    assert R.stated
    light = SERVO.replace(**{"motor.rotor_inertia": 0.0, "friction.viscous": 0.0})
    started = identifiability_problem(logs, light, None, None).actuator.parameters
    assert started["motor.rotor_inertia"] == pytest.approx(0.2 * 0.31 * 0.01)
    assert started["friction.viscous"] > 0
    kept = identifiability_problem(logs, light, ["motor.resistance"], None).actuator
    assert kept.motor.rotor_inertia == 0.0
    volts = replace(SERVO, drive=be.drive.Position(volts_per_radian=5.0, supply=7.0))
    assert "drive.firmware_gain" in identifiability_problem(logs, volts, None, None).free.paths


def test_sound_short_logs():
    """Position alone tells R and K only together, and a resting joint nothing."""
    logs = [record(0, duration=1.5), record(1, mass=0.5, gain=8.0, command=steps, duration=1.5)]
    checked = be.check(SERVO, logs)
    assert checked.verdict in ("fit with priors", "record more")
    assert (checked.n_logs, checked.n_samples) == (2, sum(map(len, logs)))
    assert "only_in_combination" in [f.code for f in checked.findings]
    assert len(checked.open_combinations) == 1
    one = be.check(SERVO, logs, free_paths=["motor.resistance"])
    assert one.verdict == "fit"
    assert [p.path for p in one.parameters] == ["motor.resistance"]
    still = record(2, command=lambda t: 0.0 * t, duration=1.5)
    resting = be.check(SERVO, [still])
    assert resting.verdict == "record more"
    assert resting.parameters == ()
