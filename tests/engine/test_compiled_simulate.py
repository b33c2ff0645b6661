"""simulate() on the compiled engine: the same signals, energy book and refinement as the reference;
fast-math changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.engine.compile import cache
from backemf.engine.compile.loops import kernel_source
from backemf.engine.compile.lower import lower
from backemf.engine.rows import hold_inputs
from backemf.engine.system import ActuatorSystem
from backemf.errors import UnknownName

SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3, inductance=1e-3),
    friction=be.friction.M4(
        coulomb=0.05, static=0.1, stribeck_velocity=0.4, viscous=0.02, load=0.08, load_stribeck=0.05
    ),
    drive=be.drive.Position(volts_per_radian=30.0, supply=12.0, delay=1.7e-3),
)
PENDULUM = be.bench.Pendulum(mass=0.4, length=0.15)


@pytest.mark.parametrize("energy", [False, True])
def test_engines_agree(energy):
    command = {
        "position_target": be.signal.square(0.5, 3.0),
        "enabled": be.signal.step(-1.0, at=0.5, start=1.0),
    }
    one, other = (
        be.simulate(SERVO, PENDULUM, command, duration=0.8, substeps=2, energy=energy, engine=engine)
        for engine in ("auto", "reference")
    )
    for name in one.signals:
        np.testing.assert_allclose(
            one[name], other[name], rtol=1e-9, atol=1e-9 * np.max(np.abs(other[name])), err_msg=name
        )
    assert set(one.energy) == set(other.energy)
    for name in one.energy:
        np.testing.assert_allclose(one.energy[name], other.energy[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_number_of_substeps_is_found_alike():
    one, other = (
        be.simulate(SERVO, PENDULUM, be.signal.sine(0.4, 2.0), duration=0.3, engine=engine)
        for engine in ("compiled", "reference")
    )
    assert one.substeps == other.substeps
    assert one.refinement == pytest.approx(other.refinement, rel=1e-6)


def test_unknown_engines_are_named():
    with pytest.raises(UnknownName, match=r"unknown engine 'fast'.* auto, compiled, reference"):
        be.simulate(SERVO, PENDULUM, 0.1, duration=0.1, engine="fast")


def test_fast_math_does_not_decide_whether_a_joint_sticks():
    """Fused multiply-add rounds differently; a step that branched on a rounding residue would
    go another way."""
    system = ActuatorSystem(
        actuator=SERVO.replace(**{"drive.volts_per_radian": 8.0}), bench=PENDULUM, inputs=("position_target",)
    )
    lowered = lower(system)
    n = 4000
    time = np.arange(n) * 1e-3
    target = 0.2 * np.floor(2 * time) + 0.1 * np.abs(
        (time / 0.8) % 2 - 1
    )  # stairs on a slow triangle: stick and slip
    rows = hold_inputs(target[:, None].copy(), np.full(n, 1e-3))
    found = []
    for fastmath in (True, False):
        kernel = cache.load(
            None, lambda fastmath=fastmath: kernel_source("trajectory", lowered, fastmath=fastmath)
        ).kernel
        states = np.empty((n + 1, len(system.states)))
        given = (np.concatenate([rows.values, rows.values[-1:]]),) * 2 + (
            np.zeros(n + 1),
            np.append(rows.dt, 0.0),
        )
        kernel(
            0,
            1,
            2,
            np.array([list(system.parameters.values())]),
            np.zeros((1, len(system.states))),
            np.zeros(1, int),
            np.array([0, n + 1]),
            *given,
            states,
        )
        found.append(states)
    stuck = [states[:, 1] == 0 for states in found]
    assert 0.02 < np.mean(stuck[0]) < 0.95
    assert np.array_equal(*stuck)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)
