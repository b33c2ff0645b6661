"""What entries may do to each other: printed constants stay, and the entry that disagrees is named."""

from __future__ import annotations

import math

import pytest

import backemf as be
from backemf.datasheets import parts

from .test_datasheet import codes, ideal, sheet

SMALL = """resistance = "0.40 ohm"
torque_constant = "5.77 mN m/A"
no_load_speed = "9000 rpm"
no_load_current = "170 mA"
coulomb_torque = "0.98 mN m"
nominal_current = "2.0 A"
"""
FAST = """resistance = { value = "2.00 ohm", convention = "line" }
torque_constant = "10.3 mN m/A"
no_load_speed = "22200 rpm"
no_load_current = "159 mA"
coulomb_torque = "0.746 mN m"
nominal_current = "1.0 A"
"""


def test_a_wrong_no_load_speed_leaves_the_resistance_alone():
    """(V - R I_0) / K is 1028 rad/s, 942 are printed: R would have to be 3.3 ohm to explain it."""
    printed = sheet(SMALL, voltage="6 V")
    solved = printed.reconciled
    assert solved.constants["R"].value == pytest.approx(0.40, rel=1e-6)
    assert solved.constants["K"].value == pytest.approx(5.77e-3, rel=1e-3)  # the dry torque has two digits
    assert [e.name for e in solved.left_out] == ["no_load_speed"]
    (told,) = [f for f in solved.findings if f.code == "entry_disagrees"]
    assert told.numbers["printed"] == pytest.approx(942.5, rel=1e-3)
    assert told.numbers["others"] == pytest.approx((6 - 0.4 * 0.17) / 5.77e-3, rel=2e-3)
    assert told.numbers["factor"] == pytest.approx(0.917, abs=0.002)
    assert solved.derived["nominal_speed"].value == pytest.approx((6 - 0.4 * 2) / 5.77e-3, rel=2e-3)


@pytest.mark.parametrize(("text", "slack"), [("2.00 ohm", 0.0075), ("2 ohm", 0.25)])
def test_what_dry_friction_leaves_of_the_no_load_current_is_viscous(text, slack):
    """B = (K I_0 - tau_c) / w_0. The resistance stays within its printed digits."""
    solved = sheet(FAST.replace("2.00 ohm", text)).reconciled
    assert solved.constants["R"].value == pytest.approx(2.0, rel=slack)
    assert solved.constants["tau_c"].value == pytest.approx(0.746e-3, rel=1e-3)
    w = 22200 * math.pi / 30
    assert solved.constants["B"].value == pytest.approx((10.3e-3 * 0.159 - 0.746e-3) / w, rel=0.03)
    assert not solved.left_out  # 1 % of the no-load speed is ordinary
    assert solved.derived["nominal_speed"].value > 0


def test_dry_friction_above_the_no_load_drag_is_said():
    printed = sheet(FAST.replace("0.746", "2.46"))
    (told,) = [f for f in printed.reconciled.findings if f.code == "negative_viscous_drag"]
    assert told.numbers["coulomb"] == pytest.approx(2.46e-3)
    assert told.numbers["no_load"] == pytest.approx(10.3e-3 * 0.159, rel=0.02)
    assert "B" not in printed.reconciled.constants
    assert {e.name for e in printed.reconciled.left_out} <= {"coulomb_torque", "no_load_current"}


def test_a_ratio_is_exact_unless_it_has_a_tolerance():
    body = """torque_constant = "1.05 N m/A"
back_emf_constant = { value = "0.132 V s/rad", side = "rotor" }
resistance = "0.5 ohm"
no_load_current = "0.5 A"
gear_ratio = %s
"""
    exact = sheet(body % '"9"', "gearmotor", "output").reconciled
    assert exact.constants["N"].value == 9.0
    assert exact.constants["N"].error == 0.0
    loose = sheet(body % '{ value = "9", tolerance = "10 %" }', "gearmotor", "output").reconciled
    assert loose.constants["N"].value != 9.0
    assert loose.constants["N"].error > 0


def test_an_ordinary_difference_is_nobodys_fault():
    """A no-load speed 2 % below the constants' moves none of them and is no finding."""
    printed = ideal(no_load_speed="9388 rpm")
    assert codes(printed) == ["missing"]
    for name, c in ideal().reconciled.constants.items():
        assert printed.reconciled.constants[name].value == pytest.approx(c.value, rel=3e-3)


def test_printed_constants_stay_within_three_tolerances_or_are_named():
    """In the whole catalogue; a servo's torque constant is a rounded quotient of rounded numbers (2 %)."""
    for name in parts.names():
        solved = parts.sheet(name).reconciled
        for r in solved.residuals:
            constants = ("resistance", "back_emf_constant", "speed_constant", "inductance", "rotor_inertia")
            if r.entry.name in constants and r.entry.kind != "assumed" and r.entry not in solved.left_out:
                tolerance = math.hypot(r.entry.half / r.entry.value, 1e-3)
                assert abs(math.log(r.ratio)) <= 3.0 * tolerance, f"{name}: {r.entry}"


def test_two_wrong_entries_are_both_named():
    printed = ideal(no_load_speed="7000 rpm", speed_torque_gradient="60 rpm/(mN m)")
    assert {e.name for e in printed.reconciled.left_out} == {"no_load_speed", "speed_torque_gradient"}
    assert printed.reconciled.constants["R"].value == pytest.approx(2.43, rel=5e-3)


def test_nothing_is_negative_where_almost_everything_is_wrong():
    printed = ideal(
        no_load_speed="70 rpm", stall_torque="9 N m", resistance="200 ohm", speed_constant="9 rpm/V"
    )
    solved = printed.reconciled
    assert len(solved.left_out) >= 3
    assert all(c.value > 0 for c in solved.derived.values())


def test_the_friction_guess_respects_the_current_limit():
    """5 % of what 24 A give, not of V / R = 282 A."""
    body = """resistance = "0.17 ohm"
torque_constant = { value = "0.0955 N m/A", convention = "dc" }
gear_ratio = "9"
"""
    free = sheet(body, "actuator", "output", "48 V").reconciled.constants["tau_c"].value
    held = (
        sheet(body + 'peak_current = "24 A"', "actuator", "output", "48 V")
        .reconciled.constants["tau_c"]
        .value
    )
    K = 0.0955 / 9
    assert free == pytest.approx(0.05 * K * 48 / 0.17, rel=1e-2)
    assert held == pytest.approx(0.05 * K * 24, rel=1e-2)


def test_a_guess_does_not_explain_a_contradiction():
    """Friction that nothing tells could be anything, and would swallow a no-load speed 30 % too low; so could
    an efficiency of 0.1 % a stall current in milliamperes."""
    body = """resistance = "0.170 ohm"
torque_constant = "75.0 mN m/A"
no_load_speed = "2140 rpm"
"""
    solved = sheet(body).reconciled
    assert [e.name for e in solved.left_out] == ["no_load_speed"]
    assert solved.constants["tau_c"].value == pytest.approx(0.05 * 0.075 * 24 / 0.17, rel=1e-3)
    servo = """stall_torque = "4.41 N m"
stall_current = "1200 A"
no_load_speed = "11.6 rad/s"
no_load_current = "0.15 A"
"""
    solved = sheet(servo, "servo", "output", "6 V").reconciled
    assert "stall_current" in {e.name for e in (*solved.left_out, *solved.alternatives)}


def test_a_longer_name_comes_before_a_similar_one():
    with pytest.raises(be.BackemfError, match=r"unknown part 'sts3215'; did you mean 'sts3215-12v' or"):
        be.Datasheet.read("sts3215")


def test_a_wrong_ratio_is_named():
    """Speed, torque constant and inertia at both sides: only another ratio explains all three."""
    body = """resistance = "0.500 ohm"
back_emf_constant = [{ value = "0.1000 V s/rad", side = "rotor" }, { value = "0.900 V s/rad" }]
rotor_inertia = "6.00e-5 kg m^2"
reflected_inertia = "4.86e-3 kg m^2"
no_load_current = "0.50 A"
gear_ratio = "%s"
"""
    right = sheet(body % "9", "gearmotor", "output").reconciled
    assert not right.left_out
    wrong = sheet(body % "12", "gearmotor", "output").reconciled
    assert [e.name for e in wrong.left_out] == ["gear_ratio"]
    assert wrong.constants["N"].value == pytest.approx(9.0, rel=0.01)
    (told,) = [f for f in wrong.findings if f.code == "entry_disagrees"]
    assert (told.numbers["printed"], told.numbers["factor"]) == pytest.approx((12.0, 12 / 9), rel=0.01)


def test_errors_of_what_is_derived_follow_from_those_of_the_constants():
    """R to 3 %, K to 2 %: V / R errs by R alone, K and 1 / K by K alone, R / K^2 by both."""
    printed = sheet('resistance = "2.00 ohm +- 3 %"\ntorque_constant = "25.0 mN m/A +- 2 %"\n')
    solved = printed.reconciled
    R, K = (solved.constants[name].error / solved.constants[name].value for name in "RK")
    shares = {
        "stall_current": R,
        "torque_constant": K,
        "speed_constant": K,
        "speed_torque_gradient": math.hypot(R, 2 * K),
    }
    assert R > K > 0
    for name, share in shares.items():
        one = solved.derived[name]
        assert one.error / one.value == pytest.approx(share, rel=1e-3), name
