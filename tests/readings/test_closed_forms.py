"""Readings against formulas: the force that a model asks for, what is drawn of an answer, how much of a
recording counts, and how little of it is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.analysis.transients import force_error

measure = be.measure
T = 0.002 * np.arange(2000)
LEVEL, REST, GROWS, AWAY, IRON = 0.05, 0.09, 0.02, 0.03, 2e-5
"""Of the friction below, and of the iron, at the output."""


def arm(eta, ratio=60.0, n_motors=2):
    """A geared arm with every term that resists it."""
    friction = be.friction.Stribeck(
        coulomb=LEVEL, static=REST, stribeck_velocity=0.5, viscous=GROWS, offset=AWAY
    )
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=2e-6, iron_loss=IRON)
    gearbox = be.gearbox.Gearbox(ratio=ratio, n_motors=n_motors, efficiency=eta)
    return be.Actuator(motor=motor, gearbox=gearbox, friction=friction)


@pytest.mark.parametrize("ratio", [60.0, -60.0])
@pytest.mark.parametrize("eta", [None, 0.7])
def test_the_force_of_the_right_numbers_is_the_recorded_one(eta, ratio):
    """J_l a = k (tau - iron - J_r a) - drag - friction - weight, solved for tau; k is eta where the gears
    drive, 1 / eta where they brake. A push that no number explains is its share of the whole."""
    q, v = 0.8 * np.sin(4 * T) + 0.3 * np.sin(9 * T), 3.2 * np.cos(4 * T) + 2.7 * np.cos(9 * T)
    a = -12.8 * np.sin(4 * T) - 24.3 * np.sin(9 * T)
    bench = be.bench.Pendulum(mass=0.4, length=0.2, arm_mass=0.1)
    J_l, J_r = 0.4 * 0.2**2 + 0.1 * 0.2**2 / 3, 2 * 60**2 * 2e-6
    dry = np.sign(v) * (LEVEL + (REST - LEVEL) * np.exp(-((v / 0.5) ** 2)))
    weight = (0.4 + 0.05) * 9.80665 * 0.2 * np.sin(q)
    needed = J_l * a + GROWS * v - AWAY + dry + weight
    k = np.where(needed * v > 0, eta or 1.0, 1.0 / (eta or 1.0))
    tau = J_r * a + 2 * 60**2 * IRON * v + needed / k
    log = be.log("arm", T, position=q, torque=tau, bench=bench)
    assert force_error(log, arm(eta, ratio), decimation=2) < 2e-3
    pushed = be.log("arm", T, position=q, torque=tau + (0.5 if eta is None else 0.0), bench=bench)
    share = 0.5 / np.sqrt(np.mean((tau + 0.5) ** 2))
    if eta is None:
        assert force_error(pushed, arm(eta, ratio), decimation=2) == pytest.approx(share, rel=0.03)
