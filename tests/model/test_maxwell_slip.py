"""Maxwell-slip friction: its curve of first bending, its memory of a reversal, and the energy
of its loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import backemf as be

LAW = be.friction.MaxwellSlip(coulomb=0.4, stiffness=100.0, softening=2.0)
START = (0.0, 0.0, 0.0, 0.0)


def path(points: list[float], n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Torque along a slow motion through these positions."""
    z, torques, places = START, [0.0], [points[0]]
    for a, b in itertools.pairwise(points):
        for _ in range(n):
            z, _ = LAW.deflect(z, b - a, LAW.coulomb, 1.0 / n)
            places.append(places[-1] + (b - a) / n)
            torques.append(float(LAW.spring(z, 0.0)[0]))
    return np.array(places), np.array(torques)


def test_first_bending_softens_spring_by_spring():
    """Slopes fall by what each spring had, at the deflections where it reaches its quarter."""
    k = np.array(LAW.springs())
    assert k.sum() == pytest.approx(100.0)
    assert k[:-1] / k[1:] == pytest.approx([2.0] * 3)
    reach = 0.1 / k
    x, torque = path([0.0, 0.03])
    expected = np.minimum(x[:, None], reach) @ k
    np.testing.assert_allclose(torque, expected, atol=1e-12)
    assert torque[-1] == pytest.approx(0.4)


def test_a_reversal_is_the_first_curve_twice_as_large_and_is_remembered():
    """Masing's rules: after a reversal the curve is the first one, doubled; a closed loop comes back to where
    it began and the old curve goes on."""
    x, torque = path([0.0, 0.006, 0.002, 0.006, 0.009])
    first, back = torque[400], torque[800]
    x1, t1 = path([0.0, 0.002])
    assert back == pytest.approx(first - 2.0 * t1[-1], rel=1e-9)
    assert torque[1200] == pytest.approx(first, rel=1e-9)
    assert torque[-1] == pytest.approx(path([0.0, 0.009])[1][-1], rel=1e-9)
    assert x1[-1] == pytest.approx(0.5 * (x[400] - x[800]))


def test_the_mean_torque_of_a_step_is_its_work():
    rng = np.random.default_rng(0)
    z = START
    for w in rng.normal(0, 0.4, 300):
        after, torque = LAW.deflect(z, w, LAW.coulomb, 0.02)
        lost = torque * w * 0.02 - (LAW.bristle_energy(after) - LAW.bristle_energy(z))
        assert lost >= -1e-15
        fine, work = z, 0.0
        for _ in range(200):
            fine, part = LAW.deflect(fine, w, LAW.coulomb, 1e-4)
            work += part * w * 1e-4
        assert fine == pytest.approx(after, abs=1e-12)
        assert work == pytest.approx(torque * w * 0.02, abs=1e-12)
        z = after


def test_it_sticks_and_springs_back():
    """Pushed below its level it bends and holds; let go, it swings back and rests bent a little."""
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=1e-4),
        friction=be.friction.MaxwellSlip(coulomb=0.4, stiffness=100.0, viscous=0.02),
    )
    command = be.signal.step(-0.3, at=0.5, start=0.3)
    run = be.simulate(actuator, be.bench.FreeShaft(), command, duration=1.0)
    held = run.position[450]
    assert 0.3 / 100.0 < held < 0.02
    assert abs(run.velocity[450]) < 1e-4
    assert 0.0 < run.position[-1] < 0.6 * held
