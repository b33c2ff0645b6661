"""Numbers of friction at rest that a servo may have beside its law: found where they are, refused where they
cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue

from ..recordings import COVERED, SERVO, record, sines

WORTH = {"peak": 0.4, "dwell": 0.1, "load_quadratic": 0.6, "load_asymmetry": 0.4}


def slow(t: np.ndarray) -> np.ndarray:
    return 0.9 * np.sin(2 * np.pi * 0.2 * t) + 0.15 * np.sin(2 * np.pi * 0.9 * t)


def recordings(actuator, seed=0):
    """Slow lifts and faster ones, of two masses and gains."""
    asked = [(0.3, 16.0, slow), (0.6, 16.0, slow), (0.6, 32.0, sines), (0.3, 8.0, slow)]
    return [
        record(seed + k, actuator=actuator, mass=mass, gain=gain, command=command, length=0.2, noise=2e-4)
        for k, (mass, gain, command) in enumerate(asked)
    ]


@pytest.mark.parametrize("number", WORTH)
def test_a_number_beside_the_law_is_found(number):
    friction = replace(
        COVERED["m4"],
        static=0.12,
        load=0.1,
        load_stribeck=0.1,
        stribeck_velocity=0.5,
        **{number: WORTH[number]},
    )
    truth = replace(SERVO, friction=friction)
    path = f"friction.{number}"
    fit = be.fit(
        replace(truth, friction=COVERED["m4"]),
        recordings(truth),
        also=[path],
        friction="m4",
        n_starts=1,
        offset=False,
        bands=False,
    )
    found = fit.parameters[path]
    assert abs(found.value - WORTH[number]) < 3.0 * found.error
    assert found.error < 0.5 * WORTH[number]


def test_cogging_is_found_with_its_phase():
    """Of a motor that nobody knows to cog, twice in a turn, behind gears of 20."""
    gearbox, cogging = (
        be.gearbox.Gearbox(ratio=20.0),
        be.motor.Cogging(amplitude=2e-3, periods=2.0, phase=0.7),
    )
    motor = be.motor.Motor(resistance=4.0, torque_constant=0.045, rotor_inertia=7.5e-6)
    plain = replace(SERVO, motor=motor, gearbox=gearbox)
    truth = replace(plain, motor=replace(motor, cogging=cogging))
    paths = ["motor.cogging.amplitude", "motor.cogging.phase"]
    fit = be.fit(plain, recordings(truth)[:3], also=paths, n_starts=1, offset=False, bands=False)
    amplitude, phase = (fit.parameters[path] for path in paths)
    assert amplitude.value == pytest.approx(2e-3, abs=3.0 * amplitude.error)
    assert phase.value == pytest.approx(0.7, abs=3.0 * phase.error)
    assert amplitude.error < 2e-4
    assert phase.error < 0.1


def test_a_rung_that_cannot_have_it_is_refused_unless_another_can():
    logs = recordings(SERVO)[:1]
    with pytest.raises(InvalidValue, match=r"friction\.load_quadratic, which coulomb cannot have.*m3, m4"):
        be.fit(SERVO, logs, also=["friction.load_quadratic"], friction="coulomb")
    with pytest.raises(InvalidValue, match=r"friction\.dwell, which coulomb, m3 cannot have"):
        be.ladder(SERVO, logs, also=["friction.dwell"], rungs=["coulomb", "m3"])
