"""Frictions of an actuator: usual sizes, and richer ones that start where poorer ones are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.analysis.curves import friction_size
from backemf.errors import UnknownName
from backemf.identify.frictions import BELOW, above, law, usual, with_friction
from backemf.identify.parameters import default_paths, give_sizes, size, size_of
from backemf.identify.plants.bench_plant import SCHEDULE
from backemf.physics.friction import FRICTIONS

from .recordings import SERVO

STALL, IDEAL = 0.9 * 7.4 / 4.0, 7.4 / 0.9
"""Stall torque and ideal speed of SERVO: K V / R and V / K."""
USUAL_VISCOUS = 2e-3 * STALL / IDEAL


def test_the_size_of_an_actuator():
    assert size(SERVO) == pytest.approx((STALL, IDEAL, 0.04, 0.15))
    hardly_any = SERVO.replace(**{"friction.coulomb": 1e-4})
    assert size(hardly_any).dry == pytest.approx(0.01 * STALL)
    geared = replace(SERVO, gearbox=replace(SERVO.gearbox, efficiency=0.7))
    assert size(geared).lost == pytest.approx(0.3)
    unsupplied = replace(SERVO, drive=be.drive.Voltage())
    assert size(unsupplied).torque == pytest.approx(0.9 * 12.0 / 4.0)
    assert size_of(SERVO, "friction.static") == pytest.approx(0.064)
    assert size_of(SERVO, "motor.resistance") is None


def test_only_a_number_that_is_0_and_free_gets_a_usual_size():
    start = SERVO.replace(**{"friction.viscous": 0.0, "motor.rotor_inertia": 0.0})
    assert give_sizes(start, ["friction.viscous"]).parameters["friction.viscous"] == pytest.approx(
        USUAL_VISCOUS
    )
    assert give_sizes(start, ["friction.coulomb"]) is start  # not 0
    assert give_sizes(start, []) is start  # not free
    assert give_sizes(start, ["motor.rotor_inertia", "bench.mass"]) is start  # nobody knows a usual one


def test_a_friction_by_any_of_its_names():
    assert [law(name) for name in ("m1", "M2", "LuGre", "m4")] == ["coulomb", "stribeck", "lugre", "m4"]
    with pytest.raises(be.BackemfError, match="unknown friction 'm7'"):
        law("m7")


def of(actuator: be.Actuator) -> dict[str, float]:
    return {
        k.removeprefix("friction."): v for k, v in actuator.parameters.items() if k.startswith("friction.")
    }


def test_what_two_frictions_share_is_kept_and_what_is_new_is_usual():
    assert of(with_friction(SERVO, "m4")) == pytest.approx(
        {
            "viscous": 0.02,
            "coulomb": 0.04,
            "static": 0.07,
            "stribeck_velocity": 0.3,
            "load": 0.3 * 0.15,
            "load_stribeck": 0.15 * 0.15,
        }
    )
    assert with_friction(SERVO, "stribeck") == SERVO


def test_torques_that_are_next_to_nothing_start_at_a_usual_size_in_another_friction():
    """What is hardly there is hard to move; but the same friction stays as it is."""
    still = SERVO.replace(**{"friction.viscous": 0.0, "friction.coulomb": 1e-4, "friction.static": 1e-3})
    dry = 0.01 * STALL
    richer = of(with_friction(still, "m4"))
    assert richer["viscous"] == pytest.approx(USUAL_VISCOUS)
    assert richer["coulomb"] == pytest.approx(dry)
    assert richer["static"] == pytest.approx(1.6 * dry)
    assert richer["stribeck_velocity"] == 0.3
    assert with_friction(still, "stribeck") == still


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("stribeck", "m4", 0.8, 0.95),  # what gears lose is the friction's now
        ("stribeck", "m4", 0.97, 0.97),
        ("stribeck", "coulomb", 0.8, 0.8),
        ("m3", "m4", 0.8, 0.8),  # it was before
        ("stribeck", "m4", None, None),
    ],
)
def test_gears_lose_next_to_nothing_beside_a_friction_that_knows_the_load(old, new, before, after):
    geared = replace(with_friction(SERVO, old), gearbox=be.gearbox.Gearbox(ratio=1.0, efficiency=before))
    assert with_friction(geared, new).gearbox.efficiency == after


def test_usual_numbers_are_those_that_say_how_they_start():
    assert usual(SERVO, FRICTIONS["stribeck"]) == pytest.approx(
        {"viscous": USUAL_VISCOUS, "coulomb": 0.04, "static": 0.064, "stribeck_velocity": 0.1 * IDEAL}
    )


SPEEDS = np.array([-3.0, -0.2, 0.05, 0.4, 5.0])


@pytest.mark.parametrize(
    ("poor", "rich"), [(a, b) for b, below in BELOW.items() for a in below if b in FRICTIONS]
)
def test_a_richer_friction_can_do_what_the_poorer_one_does(poor, rich):
    """To a thousandth at any speed and load, where it is a torque over speed at all."""
    found = with_friction(SERVO, poor)
    richer = above(found, rich)
    assert richer.friction.name == rich
    if rich in ("dahl", "maxwell-slip", "lugre", "load-lugre"):
        assert of(richer)["coulomb"] == of(found)["coulomb"]
        return
    for t_m, t_e in ((0.0, 0.0), (0.5, -0.2)):
        a, b = friction_size(found, SPEEDS, t_m, t_e), friction_size(richer, SPEEDS, t_m, t_e)
        assert b == pytest.approx(a, rel=1e-3, abs=1e-5)


def test_numbers_that_a_richer_friction_has_twice_are_both_those_of_the_poorer():
    m4, m5 = with_friction(SERVO, "m4"), of(above(with_friction(SERVO, "m4"), "m5"))
    assert m5["load_motor"] == m5["load_external"] == of(m4)["load"]
    assert m5["load_motor_stribeck"] == m5["load_external_stribeck"] == of(m4)["load_stribeck"]
    assert m5["stribeck_exponent"] == 2.0
    given = above(SERVO.replace(**{"friction.stribeck_exponent": 1.5}), "m5")
    assert of(given)["stribeck_exponent"] == 1.5
    # from nothing that knows a Stribeck velocity its usual one
    plain = with_friction(SERVO, "m3")
    assert of(above(plain, "m5"))["stribeck_exponent"] == 1.2
    assert of(above(with_friction(SERVO, "coulomb"), "m3"))["load"] == pytest.approx(0.3 * 0.15 * 1e-6)


def test_friction_over_speed_is_drag_and_what_opposes_the_motion():
    """Stribeck: viscous w and coulomb + (static - coulomb) exp(-(w / w_s)^2), against the motion."""
    w = np.array([-1.0, 0.0, 0.3, 2.0])
    size_ = 0.04 + 0.03 * np.exp(-((w / 0.3) ** 2))
    assert friction_size(SERVO, w, 0.0, 0.0) == pytest.approx(0.02 * w + np.where(w >= 0, 1, -1) * size_)


def test_a_law_may_have_a_number_beside_its_own():
    """By one word wherever a friction's name stands: m4+dwell is M4 and the number at its start, free with
    the others; what it starts from is the law without."""
    plain, aged = with_friction(SERVO, "m4"), with_friction(SERVO, "M4+Dwell")
    assert aged.parameters["friction.dwell"] == pytest.approx(0.05)
    assert {p: v for p, v in aged.parameters.items() if p != "friction.dwell"} == plain.parameters
    assert set(default_paths(aged)) - set(default_paths(plain)) == {"friction.dwell"}
    assert law("m2+peak+dwell") == "stribeck+peak+dwell"
    assert SCHEDULE.rungs_under("m4+dwell+peak") == ("m4+dwell",)
    assert SCHEDULE.rungs_under("m4+dwell") == ("m4",)
    assert SCHEDULE.rungs_under("m4") == ("m3", "stribeck")
    richer = above(aged, "m4+dwell+peak").parameters
    assert richer == {**aged.parameters, "friction.peak": 0.1}
    for name, wrong in {"m3+dwell": "dwell", "lugre+peak": "peak", "m4+age": "age"}.items():
        with pytest.raises(UnknownName, match=f"number beside {name.partition('+')[0]}.*{wrong}"):
            law(name)
    with pytest.raises(UnknownName, match="friction"):
        law("m9+dwell")
