"""Sheets printed from a known truth: a speed that electronics limit costs no constant, and a unit that was
mixed up is still named."""

from __future__ import annotations

import math
import random

import pytest

import backemf as be
from backemf.datasheets.agreement import SLIPS

from .test_agreement import SMALL
from .test_datasheet import HEAD, codes

MOTOR = 'motor = "brushless"\nside ='
SETS = {
    "K_t": ("torque_constant",),
    "K_t and K_v": ("torque_constant", "speed_constant"),
    "with stall": ("torque_constant", "stall_torque", "stall_current"),
    "with all": ("torque_constant", "back_emf_constant", "stall_torque", "stall_current", "nominal_torque"),
}
"""What a sheet prints beside resistance, no-load current and no-load speed."""


class Truth:
    """A brushless motor with all its drag at no load dry, its numbers as a sheet has them at the rotor."""

    def __init__(self, seed: int):
        draw = random.Random(seed)
        self.seed, self.V, self.draw = seed, draw.choice([12.0, 24.0, 36.0, 48.0, 72.0]), draw
        K, R = 10 ** draw.uniform(-2, -0.5), 10 ** draw.uniform(-1, 0.5)
        i_0, i_n = (share * self.V / R for share in (draw.uniform(0.003, 0.03), draw.uniform(0.05, 0.2)))
        self.N = round(draw.uniform(5.0, 40.0), 2)
        self.values = {
            "resistance": (R, "ohm"),
            "torque_constant": (K, "N m/A"),
            "back_emf_constant": (K * 1000 * math.pi / 30, "V/krpm"),
            "speed_constant": (30 / math.pi / K, "rpm/V"),
            "no_load_current": (i_0, "A"),
            "no_load_speed": ((self.V - R * i_0) / K * 30 / math.pi, "rpm"),
            "stall_torque": (K * self.V / R, "N m"),
            "stall_current": (self.V / R, "A"),
            "nominal_current": (i_n, "A"),
            "nominal_torque": (K * (i_n - i_0), "N m"),
        }

    def sheet(self, names: tuple[str, ...], kind: str, **factors: float) -> be.Datasheet:
        """Printed with three digits, entries multiplied as asked; an actuator's speed and torques are at its
        output."""
        head = HEAD.format(kind=kind, side="rotor", voltage=f"{self.V:g} V")
        rows = [] if kind == "motor" else [f'gear_ratio = "{self.N:g}"']
        for name in ("resistance", "no_load_current", "no_load_speed", *names):
            value, unit = self.values[name]
            behind = kind == "actuator" and name == "no_load_speed"
            printed = f"{value * factors.get(name, 1.0) / (self.N if behind else 1.0):.2e} {unit}"
            rows.append(f'{name} = {{ value = "{printed}", side = "{"output" if behind else "rotor"}" }}')
        text = head.replace("side =", MOTOR) + "\n".join(rows)
        return be.Datasheet.parse(text)


def as_printed(sheet: be.Datasheet) -> None:
    """Every printed constant within its digits, or within the 0.1 % that no number is believed better."""
    for r in sheet.reconciled.residuals:
        if r.entry.name in ("resistance", "torque_constant", "back_emf_constant", "speed_constant"):
            slack = 3.0 * math.hypot(r.entry.half / r.entry.value, 1e-3)
            assert abs(math.log(r.ratio)) <= slack, f"{r.entry}: {r.ratio}"


@pytest.mark.parametrize("kind", ["motor", "actuator"])
@pytest.mark.parametrize("names", SETS.values(), ids=SETS)
def test_a_limited_speed_costs_no_constant(names, kind):
    for seed in range(60):
        truth = Truth(seed)
        share = truth.draw.uniform(0.55, 0.9)
        limited = truth.sheet(names, kind, no_load_speed=share)
        (told,) = [f for f in limited.reconciled.findings if f.code == "speed_limited"]
        assert told.numbers["factor"] == pytest.approx(share, rel=0.02), seed  # four times three digits
        unlike = {"unit_slip", "entry_disagrees", "no_load_speed", "torque_and_back_emf_constant"}
        assert not unlike & {*codes(limited)}, f"{seed}: {codes(limited)}"
        assert [e.name for e in limited.reconciled.left_out] == ["no_load_speed"], seed
        as_printed(limited)
        free = truth.sheet(names, kind)
        assert not {"speed_limited", "unit_slip"} & {*codes(free)}, seed
        as_printed(free)


def test_behind_gears_a_back_emf_constant_tells_a_limit_from_losses():
    for seed in range(40):
        truth = Truth(seed)
        share, eta = truth.draw.uniform(0.55, 0.9), truth.draw.uniform(0.7, 0.95)
        K, _ = truth.values["torque_constant"]
        limited = truth.sheet(("back_emf_constant",), "actuator", no_load_speed=share)
        behind = f'torque_constant = {{ value = "{K * truth.N * eta:.2e} N m/A", side = "output" }}\n'
        head = HEAD.format(kind="actuator", side="rotor", voltage=f"{truth.V:g} V")
        rows = [f'{e.name} = {{ value = "{e.printed.text}", side = "{e.side}" }}\n' for e in limited.entries]
        printed = be.Datasheet.parse(head.replace("side =", MOTOR) + "".join(rows) + behind)
        assert "speed_limited" in codes(printed), seed
        assert not {"unit_slip", "entry_disagrees", "no_load_speed"} & {*codes(printed)}, seed
        solved = printed.reconciled.constants["eta"].value
        assert solved == pytest.approx(eta, rel=0.02), seed  # K_e and K_t have three digits each
        as_printed(printed)


def test_a_limit_that_happens_to_be_a_usual_factor_is_a_limit():
    for words, usual in SLIPS.items():
        if 1.0 < usual.factor < 2.5:
            limited = Truth(3).sheet(SETS["with stall"], "motor", no_load_speed=1 / usual.factor)
            assert "speed_limited" in codes(limited), words
            assert "unit_slip" not in codes(limited), words
            as_printed(limited)


def test_one_limit_at_two_voltages():
    """The lower voltage does not reach the limit; two speeds that grow with the voltage are none."""
    body = """resistance = { value = "0.200 ohm", convention = "line" }
torque_constant = "95.5 mN m/A"
no_load_current = "0.300 A"
no_load_speed = [%s]
"""
    head = HEAD.format(kind="actuator", side="rotor", voltage="48 V").replace("side =", MOTOR)

    def read(**speeds: float) -> be.Datasheet:
        rows = (f'{{ value = "{w:g} rpm", voltage = "{at[1:]} V" }}' for at, w in speeds.items())
        return be.Datasheet.parse(head + body % ", ".join(rows))

    limited = read(V24=2394, V36=2900, V48=2900)  # the constants give 100 rpm/V
    assert codes(limited).count("speed_limited") == 2
    assert [e.voltage for e in limited.reconciled.left_out] == [36.0, 48.0]
    as_printed(limited)
    slower = read(V24=1200, V36=1800, V48=2400)
    assert "speed_limited" not in codes(slower)
    assert [e.name for e in slower.reconciled.left_out] == ["torque_constant"]  # three agree against it


def test_brushed_motors_have_no_electronics():
    body = SMALL.replace("9000 rpm", "6000 rpm")
    printed = be.Datasheet.parse(HEAD.format(kind="motor", side="rotor", voltage="6 V") + body)
    assert "entry_disagrees" in codes(printed)
    assert "speed_limited" not in codes(printed)


WRONG_UNITS = [
    ("torque_constant", 1000.0, "1000"),
    ("torque_constant", 1 / 1000.0, "1000"),
    ("torque_constant", 9.80665, "9.81"),
    ("torque_constant", math.sqrt(2), "sqrt 2"),
    ("torque_constant", math.sqrt(3), "sqrt 3"),
    ("speed_constant", 2 * math.pi, "2 pi"),
    ("speed_constant", math.pi / 30, "60 / 2 pi"),
]


@pytest.mark.parametrize(("name", "factor", "word"), WRONG_UNITS)
@pytest.mark.parametrize("kind", ["motor", "actuator"])
def test_a_unit_that_was_mixed_up_is_named(name, factor, word, kind):
    """Three entries agree against it: it is left out, and what they say is the truth."""
    for seed in range(40):
        truth = Truth(seed)
        names = ("torque_constant", "speed_constant", "stall_torque", "stall_current")
        printed = truth.sheet(names, kind, **{name: factor})
        (told,) = [f for f in printed.reconciled.findings if f.code == "unit_slip"]
        assert f"{name} " in told.text, seed
        assert f"a factor of {word}" in told.text, f"{seed}: {told.text}"
        assert [e.name for e in printed.reconciled.left_out] == [name], seed
        assert "speed_limited" not in codes(printed), seed
        solved, K = printed.reconciled.constants["K"].value, truth.values["torque_constant"][0]
        assert solved == pytest.approx(K, rel=0.02), seed  # three entries of three digits


@pytest.mark.parametrize("factor", [1000.0, 1 / 1000.0, 9.80665])
def test_one_computed_entry_takes_no_constant_away(factor):
    """The slip is named, and nothing tells whether it is one: the constant stays."""
    for seed in range(40):
        printed = Truth(seed).sheet(SETS["K_t"], "motor", torque_constant=factor)
        (told,) = [f for f in printed.reconciled.findings if f.code == "unit_slip"]
        assert "torque_constant" in told.text
        assert [e.name for e in printed.reconciled.left_out] == ["no_load_speed"], seed
        assert [e.name for e in printed.reconciled.alternatives] == ["torque_constant"], seed
        as_printed(printed)


def test_a_factor_that_is_only_near_explains_nothing():
    """2 % beside sqrt 2 with three digits; and exactly sqrt 2, where one digit could be 3/2 as well."""
    for factor, digits in ((1.02 * math.sqrt(2), 3), (math.sqrt(2), 1)):
        K, R, V, i_n = 0.0524, 0.251, 24.0, 6.0
        body = "\n".join(
            [
                f'torque_constant = "{K:.3g} N m/A"',
                f'back_emf_constant = "{K:.3g} V s/rad"',
                f'resistance = "{R:.3g} ohm"',
                f'nominal_current = "{i_n * factor:.{digits}g} A"',
                f'nominal_torque = "{K * i_n:.{digits}g} N m"',
            ]
        )
        head = HEAD.format(kind="motor", side="rotor", voltage=f"{V:g} V")
        printed = be.Datasheet.parse(head.replace("side =", MOTOR) + body)
        assert "nominal_torque" in codes(printed)
        assert "unit_slip" not in codes(printed)
