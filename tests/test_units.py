"""Text with a unit becomes SI with its printed rounding;
anything else is an error that names the entry and the remedy."""

from __future__ import annotations

import math

import pytest

from backemf.units import UnitError, parse

RPM = 2 * math.pi / 60
G = 9.80665
GOOD = [
    ("330 rpm", "rad/s", 330 * RPM, 0.5 * RPM),
    ("9550 rpm", "rad/s", 9550 * RPM, 5 * RPM),
    ("50 rev/min", "rad/s", 50 * RPM, 0.5 * RPM),
    ("0.66 deg/ms", "rad/s", 660 * math.pi / 180, 5 * math.pi / 180),
    ("0.18 s/60deg", "rad/s", math.pi / 3 / 0.18, math.pi / 3 / 0.18 * 0.005 / 0.18),
    ("30 kg cm", "N m", 0.30 * G, 0.005 * G),
    ("30 kg*cm", "N m", 0.30 * G, 0.005 * G),
    ("30 kgf cm", "N m", 0.30 * G, 0.005 * G),
    ("10 oz in", "N m", 10 * 0.028349523125 * 0.0254 * G, None),
    ("3.4 mN\u00b7m", "N m", 0.0034, 5e-5),
    ("15 N cm", "N m", 0.15, 0.005),
    ("17,6 mNm/A", "N m/A", 0.0176, 5e-5),
    ("491 rpm/V", "rad/(s V)", 491 * RPM, 0.5 * RPM),
    ("2.2 V/krpm", "V s/rad", 2.2 / (1000 * RPM), None),
    ("40.9 rpm/(mN m)", "rad/(s N m)", 40.9e3 * RPM, 50 * RPM),
    ("40.9 rpm/mNm", "rad/(s N m)", 40.9e3 * RPM, 50 * RPM),
    ("10.4 g cm^2", "kg m^2", 10.4e-7, 5e-9),
    ("10.4 gcm\u00b2", "kg m^2", 10.4e-7, 5e-9),
    ("0.321 \u03a9", "ohm", 0.321, 5e-4),
    ("0.238 mH", "H", 0.238e-3, 5e-7),
    ("15 arcmin", "rad", math.radians(0.25), None),
    ("3.1 K/W", "K/W", 3.1, 0.05),
    ("125 \u00b0C", "degC", 125.0, 0.5),
    ("\u22120.2 %/K", "1/K", -0.002, 5e-4),
    ("85 %", "1", 0.85, 0.005),
    ("152.3", "1", 152.3, 0.05),
    ("4.8-6 V", "V", 5.4, 0.6),
    ("10.0 ~ 14.8 V", "V", 12.4, 2.4),
    ("12 V \u00b1 10 %", "V", 12.0, 1.2),
    ("1.5e-3 H", "H", 1.5e-3, 5e-5),
    ("23 g", "kg", 0.023, 5e-4),
]


@pytest.mark.parametrize(("text", "unit", "value", "half"), GOOD, ids=[g[0] for g in GOOD])
def test_reads(text, unit, value, half):
    printed = parse(text, unit, "entry")
    assert printed.value == pytest.approx(value, rel=1e-12)
    if half is not None:
        assert printed.half == pytest.approx(half, rel=1e-9)


BAD = [
    ("10 kgcm", "N m", "unknown unit 'kgcm' in '10 kgcm' for stall_torque; did you mean 'kg*cm'?"),
    (
        3.3,
        "ohm",
        'stall_torque is 3.3, without a unit; expected text with a unit of a resistance, such as "3.3 ohm"',
    ),
    ("3.3", "ohm", "stall_torque is '3.3', without a unit; expected a resistance, such as \"3.3 ohm\""),
    ("3 V", "ohm", "stall_torque is '3 V', which is not a resistance; expected a unit such as 'ohm'"),
    (
        "1,200 rpm",
        "rad/s",
        "stall_torque is '1,200 rpm': the comma may stand for thousands or for decimals; write 1200 or 1.200",
    ),
    (
        "3 parsnips",
        "V",
        "unknown unit 'parsnips' in '3 parsnips' for stall_torque; expected a unit of a voltage, such as 'V'",
    ),
    ("much", "V", "stall_torque is 'much'; expected a number and a unit of a voltage"),
    ("25 K", "degC", "stall_torque is '25 K'; expected a temperature in degC"),
    ("0 s/60deg", "rad/s", "stall_torque is '0 s/60deg'; expected a time above 0"),
    ("99999e305 V", "V", "stall_torque is '99999e305 V'; expected a number below 1e308"),
    ("1e" + "9" * 5000 + " V", "V", "stall_torque is '1e" + "9" * 57 + "; expected a number below 1e308"),
    ("1" + "0" * 400 + " V", "V", "stall_torque is '1" + "0" * 58 + "; expected a number below 1e308"),
    ("1.2.3 V", "V", "stall_torque is '1.2.3 V'; expected one number, without separators of thousands"),
]


@pytest.mark.parametrize(("text", "unit", "error"), BAD, ids=[str(b[0])[:20] for b in BAD])
def test_refuses(text, unit, error):
    with pytest.raises(UnitError) as caught:
        parse(text, unit, "stall_torque")
    assert str(caught.value) == error


def test_a_stated_tolerance_widens_the_interval():
    assert parse("10 A", "A", "x", "5 %").half == pytest.approx(0.5)
    assert parse("10 A", "A", "x", "20 %").half == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("text", "half"), [("12 V +- 10 %", 1.2), ("12 V ± 0.5 V", 0.5), ("12 ± 0.5 V", 0.5), ("12 V +-5%", 0.6)]
)
def test_a_tolerance_is_a_share_or_in_the_same_unit(text, half):
    assert parse(text, "V", "voltage").half == pytest.approx(half)


@pytest.mark.parametrize("text", ["12 V +- 10", "12 V +- 500 mV", "12 V +- x"])
def test_a_tolerance_of_nothing_is_refused(text):
    with pytest.raises(UnitError, match=r"expected a share or the same unit, such as '10 %' or '0\.5 V'"):
        parse(text, "V", "voltage")
