"""What cannot be is said, with a remedy; several routes are compared; each answer can be drawn."""

from __future__ import annotations

import math
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import backemf as be
from backemf.analysis.measurement import Measurement, derive, estimate
from backemf.analysis.routes import combine
from backemf.apps.report.figures.measurement_figures import measurement_figure as figure

from .test_measure import GIVEN

ROOT = Path(__file__).resolve().parents[2]
measure = be.measure


def codes(m) -> list[str]:
    return [f.code for f in m.findings]


LINE = {"voltage": [3.0, 6.0, 9.0, 12.0], "speed": [5.0, 10.1, 15.0, 20.0]}  # slope 0.6
IMPOSSIBLE = {
    "a resistance below zero": (lambda: measure.resistance([1, 2, 3], [-2, -4, -6.1]), "impossible_value"),
    "a turned meter": (lambda: measure.back_emf([1, 2, 3], [-2, -4, -6.1]), "impossible_value"),
    "K above the slope": (
        lambda: measure.no_load(**LINE, resistance=2.0, torque_constant=0.9),
        "impossible_value",
    ),
    "K a little above the slope": (
        lambda: measure.no_load(**LINE, resistance=2.0, torque_constant=(0.605, 0.02)),
        "below_zero",
    ),
    "K a little below the slope": (
        lambda: measure.no_load(**LINE, resistance=2.0, torque_constant=(0.595, 0.02)),
        "not_told",
    ),
    "a current that falls with speed": (
        lambda: measure.no_load_current([10, 20, 30], [0.3, 0.2, 0.11], torque_constant=0.5),
        "impossible_value",
    ),
    "an impedance that falls": (lambda: measure.impedance([10, 20, 30], [3, 2, 1]), "impossible_value"),
    "a load that pulls the other way": (
        lambda: measure.torque_constant([-1, -2, -3.01], current=[1, 2, 3]),
        "impossible_value",
    ),
    "bounds below zero": (
        lambda: measure.torque_constant([-1, -2], current=[1, 2], static=0.1),
        "impossible_value",
    ),
    "friction as large as the load": (
        lambda: measure.torque_constant([1, 2], current=[1, 2], static=1.5),
        "not_told",
    ),
    "an inertia below zero": (
        lambda: measure.acceleration([1, 2, 3], torque=[-1, -2, -3.01]),
        "impossible_value",
    ),
    "no reading to spare": (
        lambda: measure.torque_constant([0.9, 0.7], current=[0.5, 0.5], directions=[-1, 1]),
        "error_unknown",
    ),
    "torque that grows less and less": (
        lambda: measure.torque_constant([1.0, 1.9, 2.6, 3.1, 3.4, 3.5], current=[1, 2, 3, 4, 5, 6]),
        "saturation",
    ),
    "a bent line": (
        lambda: measure.back_emf(np.arange(1, 9), 2 * np.arange(1, 9) + 0.1 * np.arange(1, 9) ** 2),
        "not_a_line",
    ),
    "a meter with an offset": (
        lambda: measure.back_emf([10, 20, 30, 40], [2.0, 2.51, 3.0, 3.51]),
        "voltage_offset",
    ),
    "one wrong reading": (
        lambda: measure.resistance([1, 2, 3, 4, 5, 6], [2.0, 4.01, 5.99, 9.5, 10.0, 12.01]),
        "outlier",
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_is_said(name):
    make, code = IMPOSSIBLE[name]
    m = make()
    assert code in codes(m)
    assert all(f.remedy and f.text for f in m.findings)


X, T = np.arange(1.0, 9.0), 1e-3 * np.arange(400)
ODD, RISE = (-1.0) ** X, 2.0 * (1 - np.exp(-T / 0.02))


def stepped(current, **more):
    return measure.current_step(be.log("s", T, current=current), voltage=4.0, **more)


def ran_up(lasts):
    n = round(20 * lasts)
    return measure.run_up(be.log("s", T[:n], velocity=RISE[:n]), resistance=2.0, torque_constant=0.5)


def warmed(share):
    T_2 = 20 + 30 * (1 - np.exp(-50 * T)) + share * 30 * (1 - np.exp(-5 * T))
    return measure.thermal(be.log("h", 5000 * T, temperature=T_2), power=5.0)


BOUNDS = {
    "voltage_drop": (lambda x: measure.resistance(X, 2.0 * X + 16 * x), 0.026, 0.036),  # 3 % of the most
    "voltage_offset": (lambda x: measure.back_emf(X, 2.0 * X + 16 * x), 0.017, 0.026),  # 2 %
    "not_settled": (ran_up, 2.4, 1.8),  # two time constants
    "too_coarse": (lambda x: stepped(np.where(T < 0.1, 0.0, 1 - np.exp(-1e3 * (T - 0.1) / x))), 3.6, 2.5),
    "rotor_moved": (lambda x: stepped(RISE * (1 - x * np.clip(10 * T - 2, 0, 1)), after=0.0), 0.042, 0.062),
    "saturation": (lambda x: measure.torque_constant(X - x * X**2 / 8, current=X), 0.042, 0.06),  # 5 %
    "not_a_line": (lambda x: measure.back_emf(X, 2 * X + x * X**2 + 0.01 * ODD), 0.0, 0.02),
    "not_told": (lambda x: measure.torque_constant(X, current=X, static=x), 0.9, 1.1),
    "duty_offset": (lambda x: measure.firmware_gain(X, 1 + 0 * X, X / 20 + x + ODD / 1e3), 1e-3, 6e-3),
    "second_node": (warmed, 0.1, 0.4),
}  # fmt: skip


@pytest.mark.parametrize("code", BOUNDS)
def test_what_is_worth_a_word_is_told_from_a_bound_on(code):
    """An offset as a share, how long a step was seen in time constants, a slope that falls by a share."""
    make, little, much = BOUNDS[code]
    assert code not in codes(make(little))
    assert code in codes(make(much))


def test_what_can_be_is_not_complained_about():
    given = {"resistance": (2.0, 0.02), "torque_constant": (0.5, 0.005)}
    assert codes(measure.no_load([3, 6, 9, 12], [4.0, 9.0, 14.01, 19.0], **given)) == []
    assert codes(measure.resistance([1, 2, 3, 4], [2.0, 4.01, 6.0, 7.99])) == []


def test_a_wrong_reading_is_named_with_what_it_does():
    m = measure.resistance([1, 2, 3, 4, 5, 6], [2.0, 4.01, 5.99, 9.5, 10.0, 12.01])
    (f,) = m.findings
    assert f.text.startswith("reading 4 of 6 stands apart")
    assert f.numbers["without"] == pytest.approx(2.0, abs=0.005)
    assert m.value > 2.05  # nothing is left out in silence
    assert [*np.flatnonzero(m.shown.readings[0].outliers)] == [3]


def test_a_rotor_that_turns_and_a_rise_that_is_too_fast_are_noticed():
    t = 1e-4 * np.arange(200)
    i = np.where(t < 1e-3, 0.0, 2.0 * (1 - np.exp(-(t - 1e-3) / 1e-3)))
    slips = i * np.where(t < 8e-3, 1.0, np.exp(-(t - 8e-3) / 8e-3))
    assert "rotor_moved" in codes(measure.current_step(be.log("s", t, current=slips), voltage=4.0))
    fast = np.where(t < 1e-3, 0.0, 2.0 * (1 - np.exp(-(t - 1e-3) / 1.5e-4)))
    assert codes(measure.current_step(be.log("s", t, current=fast), voltage=4.0)) == ["too_coarse"]
    assert codes(measure.current_step(be.log("s", t, current=i), voltage=4.0)) == []


def test_a_recording_that_ends_too_early_is_said():
    t = 1e-3 * np.arange(60)
    w = 20 * (1 - np.exp(-t / 0.05))
    m = measure.run_up(be.log("s", t, velocity=w), resistance=2.0, torque_constant=0.5)
    assert codes(m) == ["not_settled"]
    assert m.value == pytest.approx(0.05 * 0.125, rel=1e-3)


def test_a_housing_that_warms_slowly_is_said():
    t = 5.0 * np.arange(200)
    T = 20 + 15 * (1 - np.exp(-t / 20)) + 25 * (1 - np.exp(-t / 400))
    assert "second_node" in codes(measure.thermal(be.log("h", t, temperature=T), power=5.0))


def test_power_may_come_from_volts_and_amperes():
    t = 5.0 * np.arange(80)
    T, one = 20 + 20 * (1 - np.exp(-t / 50.0)), np.ones(80)
    log = be.log("h", t, temperature=T, voltage=2.0 * one, current=one)
    m = measure.thermal(log)
    assert m.value == pytest.approx(10.0, rel=1e-6)
    assert m.others["time_constant"].value == pytest.approx(50.0, rel=1e-6)


def test_errors_propagate_as_the_textbook_has_it():
    a, b = estimate("a", "1", 3.0, 0.1**2), estimate("b", "1", 5.0, 0.2**2)
    m = derive("a b", "1", lambda x, y: x * y, a, b)
    assert m.error == pytest.approx(math.hypot(0.1 * 5, 0.2 * 3), rel=1e-6)
    C = [[0.01, -0.015], [-0.015, 0.04]]
    m = derive("a b", "1", lambda x, y: x * y, a, b, covariance=C)
    assert m.error**2 == pytest.approx(0.01 * 25 + 0.04 * 9 - 2 * 0.015 * 15, rel=1e-6)


def test_a_resistance_known_badly_makes_a_torque_constant_known_badly():
    load, v = [1.0, 2.0, 3.0, 4.0], [2.0, 4.02, 5.99, 8.0]
    sure, unsure = (measure.torque_constant(load, v, resistance=R) for R in (2.0, (2.0, 0.2)))
    assert unsure.value == pytest.approx(sure.value)
    assert unsure.error == pytest.approx(math.hypot(sure.error, 0.1 * sure.value), rel=1e-6)
    wide = measure.torque_constant(load, v, resistance=(2.0, 0.2), static=0.1)
    narrow = measure.torque_constant(load, v, resistance=2.0, static=0.1)
    assert wide.low == pytest.approx(narrow.low * (1 - 0.1959964), rel=1e-6)
    assert wide.high == pytest.approx(narrow.high * (1 + 0.1959964), rel=1e-6)


def test_routes_that_agree_are_averaged_by_their_errors():
    ways = {"one": estimate("K", "1", 1.0, 0.01), "two": estimate("K", "1", 1.1, 0.0225)}
    m = combine("K", ways)
    assert m.value == pytest.approx((1.0 / 0.01 + 1.1 / 0.0225) / (1 / 0.01 + 1 / 0.0225))
    assert m.error == pytest.approx((1 / 0.01 + 1 / 0.0225) ** -0.5)


def test_routes_that_contradict_each_other_span_both():
    ways = {"one": estimate("K", "1", 1.0, 0.0001), "two": estimate("K", "1", 2.0, 0.0001)}
    m = combine("K", ways)
    assert (m.low, m.high) == pytest.approx((1 - 0.0195996, 2 + 0.0195996), rel=1e-6)
    assert m.error == pytest.approx(0.5, rel=1e-6)  # Birge: as far as either is from the mean
    unknown = {"one": Measurement(name="K", unit="1", value=2.0)}
    assert combine("K", unknown).error is None


def test_more_torque_than_back_emf_cannot_be_and_less_is_a_loss():
    readings = {
        "back-emf": {"speed": [50, 100, 150], "voltage": [2.5, 5.02, 7.49]},
        "torque-constant": {"load": [0.1, 0.2, 0.3], "current": [1.6, 2.92, 4.21]},
    }
    assert codes(measure.constants(readings)) == ["torque_above_back_emf"]
    readings["torque-constant"]["current"] = [3.5, 6.42, 9.31]
    found = measure.constants(readings)
    assert codes(found) == ["torque_below_back_emf"]
    assert found.findings[0].numbers["K"] == pytest.approx(0.05, rel=2e-3)
    readings["torque-constant"]["current"] = [2.0, 4.02, 5.99]
    assert codes(measure.constants(readings)) == []


def test_what_a_reading_needs_is_lent_by_the_others():
    made = measure.constants(
        {
            "resistance": {"current": [1, 2, 3], "voltage": [2.0, 4.02, 5.99]},
            "back-emf": {"speed": [10, 20, 30], "voltage": [5.0, 10.02, 14.99]},
            "no-load": {"voltage": [3, 6, 9, 12], "speed": [5.21, 10.77, 16.33, 21.9]},
            "slip": {"mass": 0.2, "length": 0.1, "angle": "60 deg"},
            "torque-constant": {"load": [1.0, 2.0, 3.0], "voltage": [4.0, 8.1, 12.0]},
        }
    )
    K, R = made.combined["motor.back_emf_constant"], made.combined["motor.resistance"]
    line = np.polyfit([5.21, 10.77, 16.33, 21.9], [3, 6, 9, 12], 1)
    viscous = made.routes["friction.viscous"]["no-load"]
    assert viscous.value == pytest.approx((line[0] - K.value) * K.value / R.value, rel=1e-6)
    bounds = made.routes["motor.torque_constant"]["torque-constant by voltage"]
    f_s = made.combined["friction.static"].value
    assert bounds.value is None
    assert bounds.high == pytest.approx(
        max((1 + f_s) / 4.0, (2 + f_s) / 8.1, (3 + f_s) / 12.0) * (R.value + R.factor * R.error), rel=1e-6
    )


@pytest.mark.parametrize(
    ("readings", "said"),
    [
        ({}, "no readings were given"),
        ({"resistence": {}}, "unknown reading 'resistence'; did you mean 'resistance'"),
        ({"resistance": {"current": [1, 2]}}, "[resistance] lacks voltage; expected current, voltage"),
        ({"resistance": {"amps": [1, 2]}}, "unknown entry of [resistance] 'amps'"),
        ({"resistance": 3}, "[resistance] is 3; expected its numbers by name"),
        (
            {"fall": {"mass": 1, "length": 1, "angle": 64}},
            "angle is 64 rad; expected at most 3.14, half a turn: degrees are written as 64deg",
        ),
        ({"resistance": {"current": "1, 2 V", "voltage": [1, 2]}}, "'V'"),
        ({"stated": {"motor.resistence": 2}}, "unknown constant 'motor.resistence'"),
        ({"stated": {"motor.resistance": "two"}}, "motor.resistance is 'two'; expected a number in ohm"),
    ],
)
def test_a_file_that_cannot_be_meant_gets_a_sentence(readings, said):
    with pytest.raises(be.BackemfError) as caught:
        measure.constants(readings)
    assert said in str(caught.value)


def test_units_and_errors_are_read_as_people_write_them():
    from backemf.analysis.measure import argument, column, known_number

    for text in ("300, 600 rpm", "300rpm, 600rpm", "5 rev/s; 600 rpm"):
        assert column(text, "rad/s", "speed") == pytest.approx([10 * math.pi, 20 * math.pi])
    assert column("100mA,200mA,300mA", "A", "current") == pytest.approx([0.1, 0.2, 0.3])
    assert column("0.5 kg, 600 g", "N", "scale") == pytest.approx([4.903325, 5.88399])
    assert column("0.5 kg, 600 g", "N", "scale").half == pytest.approx(0.5 * 9.80665e-3)  # of the grams
    assert argument("current", ["100 mA", "0.2 A"]) == pytest.approx([0.1, 0.2])
    with pytest.raises(be.BackemfError, match="expected a unit behind each, or behind the last"):
        column("100mA, 200", "A", "current")
    assert column("61,64 mA", "A", "current") == pytest.approx([0.061, 0.064])
    assert column("1e-3;2e-3", "A", "current") == [1e-3, 2e-3]
    for text in ("2.1 +- 0.05", "2.1+-0.05 ohm", "2100 +- 50 mohm", "2.1 ohm +- 0.05 ohm"):
        assert known_number(text, "ohm", "R") == pytest.approx((2.1, 0.05))
    assert known_number("2.0 ohm +- 5 %", "ohm", "R") == pytest.approx((2.0, 0.1))
    assert known_number("4e-5", "kg m^2", "J") == 4e-5


@pytest.mark.parametrize("reading", GIVEN)
def test_every_answer_can_be_drawn(reading, tmp_path):
    given, named = GIVEN[reading]
    m = be.measure(reading, *(given() if callable(given) else given), **named)
    picture = figure(m)
    first = picture.panels[0]
    assert all("[" in label for label in (first.x_label, first.y_label)), "an axis without a unit"
    points = [line for line in first.lines if line.style in ("points", "dots")]
    assert sum(len(line.x) for line in points) == sum(len(r.x) for r in m.shown.readings)
    drawn = m.plot(tmp_path / "picture.png")
    assert len(drawn.axes) == len(picture.panels)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert m._repr_html_().startswith("<p><b>Measurement</b>: ")


def test_outliers_and_bands_are_in_the_picture():
    m = measure.resistance([1, 2, 3, 4, 5, 6], [2.0, 4.01, 5.99, 9.5, 10.0, 12.01])
    first, rest = figure(m).panels
    (apart,) = [line for line in first.lines if line.style == "crosses"]
    assert ([*apart.x], [*apart.y]) == ([4.0], [9.5])
    (band,) = first.regions
    # half the band at 6 A: t of 5 degrees (2.570582) times the standard error of the slope, times 6
    assert band.high[-1] - band.low[-1] == pytest.approx(2 * 2.570582 * 6 * m.error, rel=1e-6)
    (left,) = [line for line in rest.lines if line.style == "crosses"]
    assert left.y[0] == pytest.approx(9.5 - 4 * m.value)


def test_the_table_of_the_mx_servos_is_current(shared_data):
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import mx_table
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    page = (ROOT / "docs" / "mx-table.md").read_text(encoding="utf-8")
    for name, text in mx_table.made().items():
        between = page.partition(f"<!-- begin {name} -->\n")[2].partition(f"\n<!-- end {name} -->")[0]
        assert between == text, "run python scripts/mx_table.py"


def test_the_file_shown_beside_the_table_works():
    page = (ROOT / "docs" / "mx-table.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    made = measure.constants(tomllib.loads(text))
    assert made.name == "MX-106, my unit"
    assert set(made.routes["motor.resistance"]) >= {"resistance", "multimeter"}
    assert made.combined["motor.resistance"].value == pytest.approx(2.08, abs=0.03)


def test_an_angle_that_was_not_read_is_refused():
    with pytest.raises(be.BackemfError, match=r"angle_error is 100 rad; expected at most 0.39"):
        be.measure.slip(mass=0.33, length=0.15, angle=1.0, angle_error=100.0)


def test_a_slip_errs_as_its_angle_does():
    m = measure.slip(mass=0.33, length=0.15, angle=math.radians(60), angle_error=math.radians(2))
    moment, sine = 0.33 * 9.80665 * 0.15, math.sin(math.radians(60))
    assert m.error == pytest.approx(
        moment * sine * math.radians(2), rel=1e-3
    )  # the second order is 4e-4 of it
    flat = measure.slip(mass=0.33, length=0.15, angle=0.0, angle_error=0.1)
    assert flat.error == pytest.approx(moment * 0.1**2 / math.sqrt(2), rel=1e-6)  # never 0: cos is flat there


def test_viscous_friction_shortens_a_run_up():
    t = 1e-3 * np.arange(300)
    w = be.log("s", t, velocity=20 * (1 - np.exp(-t / 0.05)))
    m = measure.run_up(w, resistance=2.0, torque_constant=0.5, viscous=0.025)
    assert m.value == pytest.approx(0.05 * (0.5**2 / 2.0 + 0.025), rel=1e-6)
