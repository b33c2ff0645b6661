"""Text with a unit becomes SI with its printed rounding;
anything else is an error that names the entry and the remedy."""

from __future__ import annotations

import math
import re

import pytest

from backemf.apps.cli.command_builder import number_of
from backemf.apps.cli.inputs import ControlWords
from backemf.options import options_of
from backemf.units import KNOWN, UnitError, convert, factor, parse, si

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
    ("10 kgxcm", "N m", "unknown unit 'kgxcm' in '10 kgxcm' for stall_torque; did you mean 'kg*cm'?"),
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


@pytest.mark.parametrize(
    "spelled", ["kg-cm", "kg.cm", "kg cm", "kgcm", "kgf.cm", "kgf-cm", "kgfcm", "kg\u00b7cm", "KG-CM"]
)
def test_the_trade_s_spellings_of_a_torque_are_one(spelled):
    assert si(f"15 {spelled}", "N m", "torque") == pytest.approx(0.15 * G, rel=1e-12)
    assert si(f"15{spelled}", "N m", "torque") == pytest.approx(0.15 * G, rel=1e-12)


CAPITALS = (str.upper, str.lower, str.title, str.capitalize, str.swapcase)
TYPED = [(f"3 {one}", convert(f"3 {one}").unit) for one in KNOWN] + [
    (text, unit) for text, unit, *_ in GOOD if text.isascii()
]
VOLTAGE = next(one for one in options_of(ControlWords) if one.name == "voltage")
ENTRIES = {
    "a sheet": lambda text, unit: parse(text, unit, "entry").value,
    "an option": lambda text, unit: si(text, unit, "--x"),
    "a conversion": lambda text, unit: convert(text, unit).value,
    "a form": lambda text, unit: number_of(VOLTAGE._replace(unit=unit), text),
}


@pytest.mark.parametrize("change", CAPITALS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_capitals_never_change_what_a_number_is(entry, change):
    """It is the same, or a sentence: of M, which may be a million, and of h, which is an hour."""
    read = ENTRIES[entry]
    for text, unit in TYPED:
        try:
            value = read(text, unit)
        except UnitError:
            continue  # a range, or a number without a unit, is not for every entry
        try:
            other = read(change(text), unit)
        except UnitError as error:
            other, said = None, str(error)
        if other is None:
            assert re.search(r"thousandths or millions; write m|\bh', which is not|3 h' is a time", said), (
                text
            )
        else:
            assert other == pytest.approx(value, rel=1e-12), change(text)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        *(
            ("7.4 v", "V", 7.4),
            ("2.5 a", "A", 2.5),
            ("1.9nm", "N m", 1.9),
            ("2hz", "Hz", 2.0),
            ("2 h", "s", 7200.0),
        ),
        *(("0.2 Sec/60deg", "rad/s", math.pi / 0.6), ("10 Kgf.cm", "N m", 0.1 * G), ("0.33 Kg", "kg", 0.33)),
        *(("15 KG-CM", "N m", 0.15 * G), ("2 mA", "A", 0.002), ("90 Deg", "rad", math.pi / 2)),
        *(('2"', "m", 0.0508), ("2\u2033", "m", 0.0508), ("3 nm", "m", 3e-9), ("3 Newton CM", "N m", 0.03)),
    ],
)
def test_capitals_of_the_trade_and_the_mark_of_an_inch(text, unit, value):
    assert si(text, unit, "--x") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["2500 MA", "3 MV", "3 MNM", "3 MOHM", "2 MN.m/A", "3 Mm"])
def test_a_million_is_asked_for(text):
    with pytest.raises(UnitError, match=r"may be thousandths or millions; write m.*, or e6"):
        convert(text)


OUNCE, POUND, INCH = 0.028349523125, 0.45359237, 0.0254  # international avoirdupois, 1959


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        *(
            (f"10 {spelled}", "N m", 10 * OUNCE * G * INCH)
            for spelled in ("oz-in", "ozf.in", "ozin", "oz in")
        ),
        *(
            (f"10 {spelled}", "N m", 10 * POUND * G * INCH)
            for spelled in ("lb-in", "lbf-in", "in-lb", "lbf.in")
        ),
        *((f"3 {spelled}", "N m", 3.0) for spelled in ("N-m", "Nm", "N.m", "N*m")),
        *(("3 mNm", "N m", 3e-3), ("3 g-cm^2", "kg m^2", 3e-7), ("300rpm", "rad/s", 300 * RPM)),
        *((f"2 {spelled}", "rad", 4 * math.pi) for spelled in ("rot", "rotations", "rev", "turns")),
        *((f"300 {spelled}", "rad/s", 300 * RPM) for spelled in ("RPM", "r/min", "rev/min", "rot/min")),
        *(("1000 mAh", "A s", 3600.0), ("15 kp-cm", "N m", 0.15 * G)),
        *(("20ms", "s", 0.02), ("4.8V", "V", 4.8), ("4.8", "V", 4.8), ("-3 cm", "m", -0.03)),
        *(("30deg", "rad", math.pi / 6), ("0.18 s/60deg", "rad/s", math.pi / 3 / 0.18)),
        *(("5 g", "kg m^2 | kg", 0.005), ("5 g cm^2", "kg m^2 | kg", 5e-7), ("10 %", "1", 0.1)),
        *(("25 degC", "degC", 25.0), ("1/4", None, None), ("0,5 s", "s", 0.5), ("1e-3", "s", 0.001)),
        *(("0.166 1/rad", "1/rad", 0.166), ("50 Hz", "Hz", 50.0), ("3.", "1", 3.0)),
    ],
)
def test_a_number_alone_is_si_and_a_unit_is_welcome(text, unit, value):
    if unit is None:
        with pytest.raises(UnitError):
            si(text, "1", "--x")
    else:
        assert si(text, unit, "--x") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("12kg", "V", "--x is '12kg', which is not a voltage; expected a unit such as 'V'"),
        ("much", "V", "--x is 'much'; expected a number in V, or one with its unit, such as 0.5 or '0.5 V'"),
        ("4.8-6V", "V", "--x is '4.8-6V'; expected a number in V, or one with its unit"),
        ("30%", "rad", "--x is '30%', which is not an angle"),
        ("60rpm", "Hz", "--x is '60rpm', which is not a frequency"),
        ("3deg", "1", "--x is '3deg', which is not a plain number"),
        ("5 V", "kg m^2 | kg", "--x is '5 V', which is not a mass"),
        ("nan", "s", "--x is 'nan'; expected a number in s"),
        ("3 parsnips", "V", "unknown unit 'parsnips' in '3 parsnips' for --x"),
    ],
)
def test_what_is_no_such_number_gets_our_own_sentence(text, unit, said):
    with pytest.raises(UnitError) as caught:
        si(text, unit, "--x")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "unit", "value", "weight"),
    [
        ("15 kg.cm", "N.m", 0.15 * G, True),
        ("15 kg.cm", "", 0.15 * G, True),
        ("15 kgf.cm", "N-m", 0.15 * G, False),
        ("16 oz-in", "lb-in", 1.0, False),
        ("0.2 s/60deg", "rpm", 50.0, False),
        ("50 rpm", "s/60deg", 0.2, False),
        ("2 rot/s", "rpm", 120.0, False),
        ("1000 mAh", "A s", 3600.0, False),
        ("25 degC", "K", 298.15, False),
        ("212 degF", "C", 100.0, False),
        ("5 kg", "g", 5000.0, False),
        ("2 V/krpm", "mN m/A", 2 / (1000 * RPM) * 1e3, False),
    ],
)
def test_a_number_in_another_unit(text, unit, value, weight):
    made = convert(text, unit)
    assert (made.value, made.by_weight) == (pytest.approx(value, rel=1e-12), weight)


def test_two_kinds_of_units_are_a_sentence():
    with pytest.raises(UnitError, match=r"^'15 kg.cm' is a torque, and 'V' is a unit of a voltage; expected"):
        convert("15 kg.cm", "V")
    with pytest.raises(UnitError, match="unknown unit 'foo' in '3 V to foo'"):
        convert("3 V", "foo")
    with pytest.raises(UnitError, match="'0 rpm' has no s/60deg; expected a speed above 0"):
        convert("0 rpm", "s/60deg")
    for text, unit, said in (
        ("5 counts", "rad", "'5 counts' is a plain number, and 'rad' is a unit of an angle"),
        ("5 rad", "1/rad", "'5 rad' is an angle, and '1/rad' is a unit of a gain per radian"),
        ("5 V", "3 mV", "unknown unit '3 mV' in '5 V to 3 mV' for the conversion; did you mean 'mV'?"),
        ("15 kg cm", "Nm.", "unknown unit 'Nm.' in '15 kg cm to Nm.'"),
    ):
        with pytest.raises(UnitError, match=re.escape(said)):
            convert(text, unit)
    with pytest.raises(UnitError, match="'15' is no number with a unit"):
        convert("15", "V")


@pytest.mark.parametrize(
    "unit",
    [
        "V**9**9**9**9",
        "9**9**9**9*V",
        "((9**9)**9)**9*V",
        "V**99999999",
        "V^1e9",
        "(V**2)**9**9",
        "(" * 5000 + "V" + ")" * 5000,
    ],
)
def test_powers_without_end_are_no_units(unit):
    """Raising them would take for ever, in whatever asks: a form, a column's title, an option."""
    with pytest.raises(UnitError, match=r"^unknown unit .*; (expected|did you)") as refused:
        factor(unit, "V", "--voltage", f"3 {unit}")
    assert len(str(refused.value)) < 300
