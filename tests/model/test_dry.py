"""Dry friction by hand: what each kind takes in every quarter of motor and load, and what it cannot be."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import pytest

from backemf.errors import InvalidValue
from backemf.physics.friction import (
    FRICTIONS,
    M3,
    M4,
    M5,
    M6,
    Coulomb,
    Dahl,
    LuGre,
    Stribeck,
    TorqueProportional,
    Viscous,
    fading,
)

BASE = {"coulomb": 0.2, "static": 0.5, "stribeck_velocity": 0.4}
SHARES = {"load_motor": 0.1, "load_external": 0.2, "load_motor_stribeck": 0.3, "load_external_stribeck": 0.4}


@pytest.mark.parametrize("s", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("m", "e"), [(3.0, -2.0), (3.0, 2.0), (-3.0, 2.0), (1.0, -4.0), (-1.0, -4.0), (0.5, 0.5)]
)
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_levels(m, e, s, way):
    """Motor torque m, load e, share s of what is added at rest, direction."""

    def level(friction):
        sided = dataclasses.replace(friction, asymmetry=0.25)
        assert float(sided.level(s, m, e, way)) == pytest.approx(
            (1 + 0.25 * way) * friction.level(s, m, e, way)
        )
        return float(friction.level(s, m, e, way))

    assert level(Viscous(viscous=1.0)) == 0.0
    assert level(Coulomb(coulomb=0.2)) == 0.2
    assert level(Stribeck(**BASE)) == pytest.approx(0.2 + 0.3 * s)
    share = 0.1 if m * way > 0 else 0.3
    gear = TorqueProportional(coulomb=0.2, load_driving=0.1, load_back_driving=0.3)
    assert level(gear) == pytest.approx(0.2 + share * abs(m))
    assert level(M3(coulomb=0.2, load=0.1)) == pytest.approx(0.2 + 0.1 * abs(m - e))
    m4 = M4(**BASE, load=0.1, load_stribeck=0.6)
    assert level(m4) == pytest.approx(0.2 + 0.1 * abs(m - e) + s * (0.3 + 0.6 * abs(m - e)))
    rest = 0.3 + abs(0.3 * m - 0.4 * e)
    assert level(M5(**BASE, **SHARES)) == pytest.approx(0.2 + abs(0.1 * m - 0.2 * e) + s * rest)
    rest += {(3, -2): 0.7 * 4, (-3, 2): 0.7 * 4, (1, -4): 0.5 * 1}.get((m, e), 0.0)
    m6 = M6(**BASE, **SHARES, load_motor_quadratic=0.5, load_external_quadratic=0.7)
    assert level(m6) == pytest.approx(0.2 + abs(0.1 * m - 0.2 * e) + s * rest)


@pytest.mark.parametrize("w", [-2.0, 0.5])
def test_drag_opposes_and_friction_at_rest_fades(w):
    assert float(Viscous(viscous=0.3).drag(w)) == pytest.approx(0.3 * w)
    full = Viscous(viscous=0.3, viscous_quadratic=0.2, viscous_cubic=0.1)
    assert float(full.drag(w)) == pytest.approx(0.3 * w + 0.2 * abs(w) * w + 0.1 * w**3)
    assert float(Stribeck(**BASE).stribeck(w)) == pytest.approx(math.exp(-((w / 0.4) ** 2)))
    assert float(fading(w, 0.4, 1.5)) == pytest.approx(math.exp(-((abs(w) / 0.4) ** 1.5)))
    assert float(fading(0.0, 0.4, 1.5)) == 1.0
    assert Coulomb(coulomb=0.2).stribeck(w) == 0.0


def test_what_a_friction_says_of_itself():
    assert (Viscous().moving, Viscous().breakaway, Viscous().fades_at, Viscous().bristle) == (
        0.0,
        0.0,
        None,
        False,
    )
    assert (Coulomb(coulomb=0.2).moving, Coulomb(coulomb=0.2).breakaway) == (0.2, 0.2)
    assert (Stribeck(**BASE).moving, Stribeck(**BASE).breakaway, Stribeck(**BASE).fades_at) == (0.2, 0.5, 0.4)
    assert Viscous().bristle_energy(()) == 0.0
    assert {name for name, kind in FRICTIONS.items() if not kind.dry} == {"viscous"}
    assert (Stribeck(**BASE).name, M6.loaded, Stribeck.loaded) == ("stribeck", True, False)


@pytest.mark.parametrize(
    ("kind", "given", "allowed"),
    [
        (Viscous, {"viscous": -0.1}, {"viscous": 0.0}),
        (Viscous, {"asymmetry": 1.1}, {"asymmetry": 1.0}),
        (Viscous, {"asymmetry": -1.1}, {"asymmetry": -1.0}),
        (Coulomb, {"coulomb": -0.1}, {"coulomb": 0.0}),
        (Stribeck, BASE | {"stribeck_velocity": 0.0}, BASE | {"stribeck_velocity": 1e-3}),
        (Stribeck, BASE | {"static": 0.19}, BASE | {"static": 0.2}),
        (Stribeck, BASE | {"stribeck_exponent": 0.0}, BASE | {"stribeck_exponent": 0.5}),
        # a gear that drives loses at most all of it; one that is driven back may lock
        (
            TorqueProportional,
            {"coulomb": 0.1, "load_driving": 1.1, "load_back_driving": 0.1},
            {"coulomb": 0.1, "load_driving": 1.0, "load_back_driving": 9.0},
        ),
        (M3, {"coulomb": 0.1, "load": -0.1}, {"coulomb": 0.1, "load": 2.0}),
        (M4, {**BASE, "load": 0.1, "load_stribeck": -0.1}, {**BASE, "load": 0.1, "load_stribeck": 0.0}),
    ],
)
def test_what_a_friction_cannot_be(kind, given, allowed):
    with pytest.raises(InvalidValue, match=r"friction\.\w+ is "):
        kind(**given)
    assert kind(**allowed)


@pytest.mark.parametrize(
    ("kind", "starts"),
    [
        (Viscous, {"viscous": 0.004}),  # 2 permille of the torque at full speed
        (Stribeck, {"coulomb": 0.1, "static": 0.16, "stribeck_velocity": 0.5}),
        (TorqueProportional, {"load_driving": 0.2, "load_back_driving": 0.2}),
        (M3, {"load": 0.06}),
        (M4, {"load": 0.06, "load_stribeck": 0.03}),
        (
            M5,
            {
                "load_motor": 0.08,
                "load_external": 0.04,
                "load_motor_stribeck": 0.06,
                "stribeck_exponent": 1.2,
            },
        ),
        (
            M6,
            {"load_external_stribeck": 0.04, "load_motor_quadratic": 0.002, "load_external_quadratic": 0.002},
        ),
    ],
)
def test_a_fit_starts_from_the_size_of_the_servo(kind, starts):
    size = SimpleNamespace(torque=10.0, speed=5.0, dry=0.1, lost=0.2)
    given = {f.name: f.metadata["start"] for f in dataclasses.fields(kind) if "start" in f.metadata}
    assert {name: given[name](size) for name in starts} == pytest.approx(starts)


@pytest.mark.parametrize(
    "law",
    [Dahl(coulomb=0.2, stiffness=40.0), LuGre(**BASE, stiffness=40.0, damping=0.3)],
    ids=["dahl", "lugre"],
)
def test_the_slope_of_what_a_bristle_stores_is_its_torque(law):
    """At rest, where nothing is lost."""
    for z in (-2e-3, 1e-3, 5e-3):
        step = 1e-6
        slope = (law.bristle_energy((z + step,)) - law.bristle_energy((z - step,))) / (2 * step)
        assert slope == pytest.approx(law.spring((z,), 0.0)[0], rel=1e-9)
