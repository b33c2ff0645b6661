"""Free numbers: bounds, priors and starts of every kind, whose number it is in which log, and their order."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.datasheets.datasheet import PrintedNumber
from backemf.identify.frictions import with_friction
from backemf.identify.parameters import FreeParameters, Parameter, default_paths, free, priors, spread

from .recordings import SERVO

STALL, IDEAL = 0.9 * 7.4 / 4.0, 7.4 / 0.9
"""Stall torque and ideal speed of SERVO: K V / R and V / K."""


def number(path: str = "a", **more) -> Parameter:
    """A positive number that nobody stated."""
    return Parameter(
        **({"start": 1.0, "unit": "1", "low": 1e-6, "high": 1e6, "prior": (0.0, 2.0)} | more), path=path
    )


def one(path: str, changes: dict | None = None, **more) -> Parameter:
    return free(SERVO.replace(**(changes or {})), [path], **more).parameters[0]


USUAL_VISCOUS = 2e-3 * STALL / IDEAL
RANGES = {
    # path, what is changed of SERVO: low, high, knee
    "positive": ("motor.resistance", {}, (4e-6, 4e6, None)),
    "may vanish": ("motor.rotor_inertia", {}, (0.0, 3e3, 3e-4)),
    "may vanish, larger than usual": ("friction.viscous", {}, (0.0, 2e4, 2e-3)),
    "may vanish, smaller than usual": (
        "friction.viscous",
        {"friction.viscous": 1e-6},
        (0.0, USUAL_VISCOUS * 1e6, 0.1 * USUAL_VISCOUS),
    ),
    "is 0, and nobody knows a usual size": ("gearbox.contact_damping", {}, (0.0, 1e-3, 1e-10)),
    "stands on another": ("friction.static", {}, (0.0, 0.064e6, 0.0064)),
    "stands on another, far above": ("friction.static", {"friction.static": 0.24}, (0.0, 0.2e6, 0.02)),
    "has a greatest value": ("drive.duty_limit", {}, (0.97e-6, 1.0, None)),
    "within a factor of usual": ("friction.stribeck_velocity", {}, (0.1 * IDEAL / 30, 3.0 * IDEAL, None)),
    "below that": (
        "friction.stribeck_velocity",
        {"friction.stribeck_velocity": 0.02},
        (0.02, 3.0 * IDEAL, None),
    ),
    "above that": (
        "friction.stribeck_velocity",
        {"friction.stribeck_velocity": 30.0},
        (0.1 * IDEAL / 30, 30.0, None),
    ),
    "within a factor of its start": (
        "friction.stribeck_exponent",
        {"friction.stribeck_exponent": 2.0},
        (0.5, 8.0, None),
    ),
    "either sign": ("friction.offset", {"friction.offset": -0.01}, (-10.01, 9.99, None)),
}


@pytest.mark.parametrize("row", RANGES)
def test_how_far_a_number_may_go(row):
    path, changes, (low, high, knee) = RANGES[row]
    p = one(path, changes)
    assert (p.low, p.high) == pytest.approx((low, high))
    assert p.knee == (None if knee is None else pytest.approx(knee))
    assert p.start == (SERVO.parameters | changes)[path]
    assert not p.stated


@pytest.mark.parametrize(("peak", "excess"), [(3.0, 2.0), (1.0001, 1.0001e-3)])
def test_a_number_goes_as_far_as_its_excess_over_another(peak, excess):
    limits = be.motor.Limits(continuous_current=1.0, peak_current=peak, peak_time=0.5)
    limited = replace(SERVO, motor=replace(SERVO.motor, limits=limits))
    p = free(limited, ["motor.limits.peak_current"]).parameters[0]
    assert (p.low, p.high) == pytest.approx((1e-6 * excess, 1e6 * excess))


def test_a_number_stays_below_one_that_is_held_and_stands_on_it():
    """Static friction that is not free is never less than Coulomb's; freed along, it moves with it."""
    law = be.friction.Stribeck(coulomb=0.05, static=0.07, stribeck_velocity=0.1)
    servo = be.Actuator(motor=be.motor.Motor(resistance=2.0, torque_constant=0.5), friction=law)
    (alone,) = free(servo, ["friction.coulomb"]).parameters
    assert alone.high == 0.07
    together = free(servo, ["friction.coulomb", "friction.static"]).parameters[0]
    assert together.high > 1.0


def test_a_number_stands_on_nothing_where_the_other_is_absent():
    limited = replace(SERVO, drive=replace(SERVO.drive, command_high=1.5))
    p = free(limited, ["drive.command_high"]).parameters[0]
    assert (p.low, p.high, p.above) == (pytest.approx(1.5e-6), pytest.approx(1.5e6), "drive.command_low")


GUESSES = {
    "positive": ("motor.resistance", {}, math.log(4.0)),
    "may vanish": ("motor.rotor_inertia", {}, math.log1p(10.0)),
    "larger than usual": ("friction.viscous", {}, math.log1p(10.0)),
    "what it has above another": ("friction.static", {}, math.log1p(0.03 / 0.0064)),
    "nothing above another: as much as usual": (
        "friction.static",
        {"friction.static": 0.04},
        math.log1p(0.064 / 0.0064),
    ),
}


@pytest.mark.parametrize("row", GUESSES)
def test_what_nobody_stated_is_believed_within_a_factor_of_seven(row):
    path, changes, mean = GUESSES[row]
    assert one(path, changes).prior == pytest.approx((mean, 2.0))


STATEMENTS = {
    # path, (value, error) as stated: (mean, error) of the coordinate
    "positive": ("motor.resistance", (3.6, 0.1), (math.log(3.6), 0.1 / 3.6)),
    "may vanish": ("friction.viscous", (0.03, 0.004), (math.log1p(0.03 / 2e-3), 0.004 / 0.032)),
    "above another": ("friction.static", (0.06, 0.01), (math.log1p(0.02 / 0.0064), 0.01 / 0.0264)),
    "below that other": ("friction.static", (0.03, 0.01), (0.0, 0.01 / 0.0064)),
    "better than anybody can": ("motor.resistance", (4.0, 1e-9), (math.log(4.0), 1e-4)),
    "either sign": ("friction.offset", (0.01, 0.002), (0.01, 0.002)),
}


@pytest.mark.parametrize("row", STATEMENTS)
def test_a_statement_becomes_a_prior_of_the_coordinate(row):
    path, stated, expected = STATEMENTS[row]
    p = one(path, {"friction.offset": -0.01}, prior={path: stated})
    assert p.prior == pytest.approx(expected)
    assert p.stated


def test_bounds_are_as_the_caller_says_as_far_as_the_number_can_be_there():
    assert (one("motor.resistance", bounds={"motor.resistance": (1.0, 9.0)}).low) == 1.0
    assert one("motor.resistance", bounds={"motor.resistance": (1.0, 9.0)}).high == 9.0
    assert one("motor.resistance", bounds={"motor.resistance": (0.0, 9.0)}).low == pytest.approx(4e-6)
    assert one("friction.viscous", bounds={"friction.viscous": (0.0, 9.0)}).low == 0.0
    assert one("drive.duty_limit", bounds={"drive.duty_limit": (0.5, 7.0)}).high == 1.0
    offset = {"friction.offset": 0.0}
    p = one("friction.offset", offset, bounds={"friction.offset": (-0.2, 0.1)})
    assert (p.low, p.high) == (-0.2, 0.1)
    for at_an_end in ((4.0, 9.0), (1.0, 4.0)):
        assert one("motor.resistance", bounds={"motor.resistance": at_an_end}).start == 4.0


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((9.0, 1.0), "lower one first"),
        ((4.0, 4.0), "lower one first"),
        ((5.0, 9.0), "outside its bounds"),
        ((1.0, 3.0), "outside its bounds"),
    ],
)
def test_bounds_that_cannot_be_are_refused(bounds, said):
    with pytest.raises(be.BackemfError, match=said):
        one("motor.resistance", bounds={"motor.resistance": bounds})


def test_what_is_not_there_cannot_be_free_or_known_or_bounded():
    for options in (
        {"paths": ["motor.resistence"]},
        {"paths": ["motor.resistance"], "prior": {"motor.resistence": (1.0, 0.1)}},
        {"paths": ["motor.resistance"], "bounds": {"motor.resistence": (1.0, 2.0)}},
    ):
        with pytest.raises(be.BackemfError, match=r"unknown parameter 'motor\.resistence'"):
            free(SERVO, **options)
    with pytest.raises(be.BackemfError, match="twice"):
        free(SERVO, ["motor.resistance", "motor.resistance"])


def test_parts_that_may_be_added_are_among_the_valid_names():
    """`also=` adds them, so a misspelt one is told."""
    with pytest.raises(be.BackemfError, match=r"did you mean 'gearbox.backlash'.*drive.deadband"):
        free(SERVO, ["gearbox.backlsh"])


def test_numbers_of_the_bench_may_be_free_too():
    arm, tilt = free(
        SERVO, ["bench.arm_mass", "bench.tilt"], {"bench.arm_mass": 0.01, "bench.tilt": 0.1}
    ).parameters
    assert (arm.start, arm.unit) == (0.01, "kg")
    assert (tilt.low, tilt.high, *tilt.prior) == pytest.approx((-2.9, 3.1, 0.1, 0.3))  # ten times its size


def test_a_name_says_whose_it_is():
    assert number("bench.mass").name == "bench.mass"
    assert number("bench.mass", group="0.3 kg").name == "bench.mass[0.3 kg]"


def test_a_positive_number_never_reaches_zero_by_its_logarithm():
    p = number(start=5.0)
    assert p.inward(0.0) == pytest.approx(math.log(5e-6))
    assert p.inward(5.0) == pytest.approx(math.log(5.0))
    assert number(start=0.0).inward(0.0) == pytest.approx(math.log(1e-18))
    assert number(knee=0.5).inward(0.0) == 0.0
    assert number(signed=1.0).inward(-3.0) == -3.0


@pytest.mark.parametrize("p", [number(), number(knee=0.3), number(signed=2.0)], ids=["log", "knee", "signed"])
@pytest.mark.parametrize("x", [0.2, 1.7])
def test_slopes_are_those_of_the_coordinate(p, x):
    assert p.slope(x) == pytest.approx((p.outward(x + 1e-6) - p.outward(x - 1e-6)) / 2e-6, rel=1e-8)


def test_far_off_coordinates_are_still_numbers():
    assert number().slope(1e4) == number().outward(1e4) == pytest.approx(math.exp(300.0))


GROUPS = FreeParameters(
    (
        number("r"),
        number("m", group="light", logs=(0, 2), alike=0.5, prior=(0.0, 0.1)),
        number("m", group="heavy", logs=(3,), alike=0.5, prior=(0.0, 0.2)),
        number("s", alike=0.9),
    )
)


def test_columns_say_which_number_acts_in_which_log():
    assert GROUPS.paths == ("r", "m", "s")
    assert GROUPS.columns(4).tolist() == [[0, 1, 3], [0, -1, 3], [0, 1, 3], [0, 2, 3]]
    assert len(GROUPS) == 4


def test_only_the_same_number_of_other_groups_is_alike_before_any_data():
    """The prior's covariance is its inverse: 0.5 of one gauge's error is the other's too."""
    errors = np.array([2.0, 0.1, 0.2, 2.0])
    covariance = np.diag(errors**2)
    covariance[1, 2] = covariance[2, 1] = 0.5 * 0.1 * 0.2
    assert np.linalg.inv(GROUPS.precision) == pytest.approx(covariance)
    apart = FreeParameters((number("m", group="light"), number("m", group="heavy")))
    assert apart.precision == pytest.approx(np.eye(2) / 4.0)


def test_a_number_stands_on_that_of_its_own_logs_or_of_all_or_on_a_fixed_one():
    common, mine = number("c"), number("c", group="mine", logs=(1,))
    top, my_top = (
        number("t", above="c", start=3.0),
        number("t", above="c", group="mine", logs=(1,), start=4.0),
    )
    values = {"c": 1.0, "c[mine]": 2.0, "t": 3.0, "t[mine]": 5.0}
    both = FreeParameters((top, my_top, common, mine))
    assert [both.base(k, values, {"c": 9.0}) for k in range(4)] == [1.0, 2.0, 0.0, 0.0]
    assert both.to_x(values, {}) == pytest.approx(np.log([2.0, 3.0, 1.0, 2.0]))
    assert both.to_values(both.to_x(values, {}), {}) == pytest.approx(values)
    of_all = FreeParameters((my_top, common))
    assert of_all.base(0, {"c": 1.5, "t[mine]": 5.0}, {"c": 9.0}) == 1.5
    alone = FreeParameters((top,))
    assert alone.base(0, {"t": 3.0}, {"c": 2.5}) == 2.5
    assert alone.base(0, {"t": 3.0}, {}) == 0.0
    assert alone.to_values(np.zeros(1), {"c": 2.5}) == pytest.approx({"t": 3.5})


def test_coordinates_stay_inside_the_bounds():
    p = FreeParameters((number(low=0.5, high=2.0), number("b", signed=1.0, low=-1.0, high=3.0)))
    low, high = p.bounds()
    assert (low.tolist(), high.tolist()) == ([math.log(0.5), -1.0], [math.log(2.0), 3.0])
    assert p.inside(np.array([-9.0, 9.0])).tolist() == [math.log(0.5), 3.0]
    assert p.prior()[0].tolist() == [0.0, 0.0]
    assert p.prior()[1].tolist() == [2.0, 2.0]


def test_what_comes_later_replaces_the_same_number():
    both = FreeParameters((number("a"), number("b"))).with_([number("b", start=7.0), number("c")])
    assert both.names == ("a", "b", "c")
    assert both.parameters[1].start == 7.0


def test_usual_numbers_are_winding_inertia_and_friction():
    assert default_paths(SERVO) == [
        "motor.resistance",
        "motor.torque_constant",
        "motor.rotor_inertia",
        *(f"friction.{name}" for name in ("viscous", "coulomb", "static", "stribeck_velocity")),
    ]


def test_a_caller_states_priors_as_they_are():
    given = {"motor.resistance": (4.0, 0.1)}
    assert priors(SERVO, given) == given
    assert priors(SERVO, None) == {}


def test_a_servos_sheet_tells_its_winding_through_gears_and_electronics():
    """Within 20 % and 15 %, or as well as the sheet itself; the firmware's gain as well as it says."""
    sheet = be.Datasheet.read("mx-28")
    own, told = sheet.actuator(), priors(sheet.actuator(), sheet)
    R, K = own.parameters["motor.resistance"], own.parameters["motor.torque_constant"]
    assert told == {
        "drive.firmware_gain": (0.158, pytest.approx(0.02 * 0.158)),
        "motor.resistance": (R, pytest.approx(0.2 * R)),
        "motor.torque_constant": (K, pytest.approx(0.15 * K)),
    }
    # a gain that is known better than any fit can tell is no prior, but a fact
    for share, there in ((0.0101, True), (0.0099, False)):
        gain = PrintedNumber(text="0.158", value=0.158, half=share * 0.158, unit="1/rad")
        known = replace(sheet, firmware={**sheet.firmware, "error_gain": gain})
        assert ("drive.firmware_gain" in priors(own, known)) == there
    without = replace(sheet, firmware={})
    assert "drive.firmware_gain" not in priors(own, without)
    by_volts = replace(own, drive=be.drive.Voltage())
    assert "drive.firmware_gain" not in priors(by_volts, sheet)


@pytest.mark.parametrize("name", ["775pro", "robstride-00", "rmd-x4-36"])
def test_a_motors_sheet_is_as_good_as_it_says_or_as_units_are_alike(name):
    sheet = be.Datasheet.read(name)
    own, c = sheet.actuator().parameters, sheet.reconciled.constants
    named = {"resistance": "R", "torque_constant": "K", "rotor_inertia": "J", "inductance": "L"}
    named = {
        f"motor.{word}": c[symbol] for word, symbol in named.items() if symbol in c and f"motor.{word}" in own
    }
    told = priors(sheet.actuator(), sheet)
    assert {path: error / value for path, (value, error) in told.items()} == pytest.approx(
        {path: max(one.error / one.value, 0.05) for path, one in named.items()}
    )
    assert {path: value for path, (value, _) in told.items()} == {path: own[path] for path in named}
    other = be.Actuator(motor=be.motor.Motor(resistance=1.0, torque_constant=1.0))  # it has no inductance
    assert set(priors(other, sheet)) == set(named) - {"motor.inductance"}


def test_starts_are_spread_within_a_factor_and_near_what_was_stated():
    p = FreeParameters(
        (
            number("a"),
            number("b", stated=True, prior=(0.0, 0.1)),
            number("c", stated=True, prior=(0.0, 9.0)),
            number("d", signed=2.0, low=-9.0, high=9.0),
            number("e", low=0.99, high=1.01),
        )
    )
    around = np.array([0.5, 0.5, 0.5, 0.5, 0.0])
    rng = np.random.default_rng(0)
    x = np.array([spread(p, 3.0, rng, around) for _ in range(4000)]) - around
    widths = [math.log(3.0), 0.2, math.log(3.0), 0.2]
    assert np.abs(x).max(axis=0)[:4] == pytest.approx(widths, rel=0.01)
    assert np.abs(x).max(axis=0)[4] == pytest.approx(-math.log(0.99))  # not beyond its bounds
    # evenly: a uniform spread has a standard deviation of its width over the root of 3
    assert x.std(axis=0)[:4] * math.sqrt(3) == pytest.approx(widths, rel=0.03)
    assert x.mean(axis=0) == pytest.approx(np.zeros(5), abs=0.03)


ORDERED = be.Actuator(
    motor=be.motor.Motor(
        resistance=2.0,
        torque_constant=0.5,
        limits=be.motor.Limits(continuous_current=1.0, peak_current=3.0, peak_time=0.5),
    ),
    friction=be.friction.Stribeck(
        coulomb=0.1, static=0.25, stribeck_velocity=0.3, viscous=0.02, offset=-0.01
    ),
)
ORDERED_PATHS = [
    "motor.resistance",
    "friction.coulomb",
    "friction.static",
    "friction.offset",
    "motor.limits.continuous_current",
    "motor.limits.peak_current",
]


def test_tangents_are_those_of_the_values():
    """d value / d x by differences, for logarithms, ordered pairs and signed numbers alike."""
    p = free(ORDERED, ORDERED_PATHS)
    fixed = ORDERED.parameters
    x = p.to_x({path: fixed[path] for path in ORDERED_PATHS}, fixed)
    T = p.slopes(x)
    for j in range(len(ORDERED_PATHS)):
        up, down = x.copy(), x.copy()
        up[j] += 1e-6
        down[j] -= 1e-6
        a, b = p.to_values(up, fixed), p.to_values(down, fixed)
        column = [(a[path] - b[path]) / 2e-6 for path in ORDERED_PATHS]
        assert T[:, j] == pytest.approx(column, rel=1e-6, abs=1e-9)
    coulomb = ORDERED_PATHS.index("friction.coulomb")
    # static friction stands on Coulomb's, which may vanish: its slope is its value and the knee's
    assert T[ORDERED_PATHS.index("friction.static"), coulomb] == pytest.approx(
        0.1 + (p.parameters[coulomb].knee or 0)
    )


def test_values_come_back_and_stay_in_order():
    p, fixed = free(ORDERED, ORDERED_PATHS), ORDERED.parameters
    given = {path: fixed[path] for path in ORDERED_PATHS}
    assert p.to_values(p.to_x(given, fixed), fixed) == pytest.approx(given)
    rng = np.random.default_rng(0)
    for _ in range(50):
        v = p.to_values(p.to_x(given, fixed) + rng.normal(0, 1, len(ORDERED_PATHS)), fixed)
        assert v["friction.static"] >= v["friction.coulomb"] >= 0
        assert v["motor.limits.peak_current"] >= v["motor.limits.continuous_current"] > 0
    above = {q.path: q.above for q in p.parameters}
    assert above["friction.static"] == "friction.coulomb"
    assert above["motor.limits.peak_current"] == "motor.limits.continuous_current"
    assert above["friction.offset"] is None
    signed = {q.path: q.signed for q in p.parameters}
    assert signed["friction.offset"] == 1.0
    assert signed["friction.coulomb"] is None


def test_a_search_stays_where_a_number_may_be():
    """Springs of Maxwell slip do not stiffen as they bend: softening is at least 1, for the search as for a
    part."""
    slip = with_friction(SERVO, "maxwell-slip")
    (softening,) = free(slip, ["friction.softening"]).parameters
    assert softening.low == 1.0
    assert softening.start == 2.0
