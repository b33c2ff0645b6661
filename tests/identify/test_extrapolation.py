"""What a log asks of its joint, and how far beyond the fitted ones that is."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.identify.holdout import demands_of, extrapolations, of_benches

T = 0.005 * np.arange(800)


def swung(
    name: str, mass: float = 0.3, amplitude: float = 0.5, rate: float = 2.0, gain: float = 16.0
) -> be.Log:
    """q = A sin(w t) on a pendulum of 0.1 m without an arm."""
    bench = be.bench.Pendulum(mass=mass, length=0.1)
    q = amplitude * np.sin(rate * T)
    return be.log(name, T, position=q, position_target=q, bench=bench, settings={"drive.proportional": gain})


def test_what_a_swing_asks_for_in_closed_form():
    asked = demands_of(swung("a"))
    assert asked["speed"] == pytest.approx(0.5 * 2.0, rel=0.02)  # A w
    # m l^2 q'' + m g l sin q, in phase: of opposite signs at the ends
    most = abs(-0.3 * 0.01 * 0.5 * 4.0 + 0.3 * 9.80665 * 0.1 * np.sin(0.5))
    assert asked["torque"] == pytest.approx(most, rel=0.02)
    assert asked["gain"] == 16.0


def test_a_heavier_rig_a_faster_motion_and_another_gain_are_said_with_how_far():
    fitted = [swung("a"), swung("b", gain=8.0)]
    assert of_benches(fitted, [swung("c", mass=0.33)]) == []
    (f,) = of_benches(fitted, [swung("c"), swung("d", mass=0.6, gain=4.0), swung("e", rate=3.0)])
    assert f.code == "extrapolates"
    assert f.numbers["torque"] == pytest.approx(2.0, rel=0.02)
    assert f.numbers["speed"] == pytest.approx(1.5, rel=0.03)
    assert f.numbers["gain"] == pytest.approx(2.0)  # half the least
    assert f.logs == ("d", "e")
    assert "(d), where 8 to 16 was fitted" in f.text
    (high,) = of_benches(fitted, [swung("f", gain=48.0)])
    assert dict(high.numbers) == {"gain": pytest.approx(3.0)}


def test_a_locked_rotor_and_an_empty_hold_out_ask_nothing():
    assert of_benches([swung("a")], []) == []
    assert list(extrapolations({"a": {"speed": 1.0}}, {"b": {"torque": 5.0}})) == []
    (f,) = extrapolations({"a": {"speed": 1.0}}, {"b": {"speed": 5.0}}, motion="linear")
    assert "5 m/s (b)" in f.text
