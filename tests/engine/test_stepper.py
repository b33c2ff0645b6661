"""One compiled step for many actuators: equal to the reference, fast, and plain about mistakes."""

from __future__ import annotations

import time

import jax.numpy as jnp
import numpy as np
import pytest

import backemf as be
from backemf.engine import reference
from backemf.engine.rows import hold_inputs
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem
from backemf.errors import BackemfWarning, InvalidValue, UnknownName
from backemf.physics.quantity import part

M6 = be.friction.M6(
    coulomb=0.05,
    static=0.1,
    stribeck_velocity=0.4,
    stribeck_exponent=1.2,
    viscous=0.02,
    load_motor=0.1,
    load_external=0.03,
    load_motor_stribeck=0.08,
    load_external_stribeck=0.05,
    load_motor_quadratic=0.01,
    load_external_quadratic=0.005,
)
SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
    friction=M6,
    drive=be.drive.Servo(firmware_gain=0.158, proportional=16.0, supply=12.0, duty_limit=0.96),
)


def system(**changes: float) -> ActuatorSystem:
    return ActuatorSystem(
        actuator=SERVO.replace(**changes),
        bench=be.bench.Recorded(),
        inputs=("inertia", "load", "position_target"),
    )


@pytest.fixture(scope="module")
def twelve():
    """Twelve servos, each with its own resistance."""
    return [system(**{"motor.resistance": 1.5 + 0.1 * i}) for i in range(12)]


def test_each_actuator_steps_as_the_reference_does(twelve):
    steps = stepper(twelve)
    rng = np.random.default_rng(0)
    state = steps.start(position=rng.normal(0, 0.3, 12))
    inputs = np.stack([np.full(12, 0.01), rng.normal(0, 0.5, 12), rng.normal(0, 0.5, 12)], axis=1)
    for n in (1, 3):
        expected = [
            reference.run(
                s, list(s.parameters.values()), state[i], hold_inputs(inputs[i : i + 1], np.array([2e-3])), n
            )[1]
            for i, s in enumerate(twelve)
        ]
        after = steps(state, inputs, 2e-3, substeps=n)
        np.testing.assert_allclose(after, expected, rtol=1e-12, atol=1e-14)
        state = after
    assert steps.states == ("position", "velocity")
    assert len(steps) == 12


def test_a_step_may_be_taken_in_place_and_parameters_changed(twelve):
    steps = stepper(twelve[0], 3)
    inputs = np.tile([0.01, 0.1, 0.4], (3, 1))
    state = steps.start()
    expected = steps(state, inputs, 1e-3)
    assert steps(state, inputs, 1e-3, out=state) is state
    assert np.array_equal(state, expected)
    steps.set_parameters(np.array([list(twelve[5].parameters.values())] * 3))
    assert np.array_equal(
        steps(steps.start(), inputs, 1e-3), stepper(twelve[5], 3)(steps.start(), inputs, 1e-3)
    )


def test_any_arrays_will_do(twelve):
    steps = stepper(twelve[0], 2)
    inputs = np.tile([0.01, 0.1, 0.4], (2, 1))
    plain = steps(steps.start(), inputs, 1e-3)
    strided = np.zeros((4, 3))
    strided[::2] = inputs
    assert np.array_equal(steps(np.asfortranarray(steps.start()), strided[::2], 1e-3), plain)


def test_twelve_servos_take_at_most_five_microseconds(twelve):
    steps = stepper(twelve)
    state, inputs = steps.start(position=0.2), np.tile([0.01, 0.1, 0.4], (12, 1))
    times = []
    for _ in range(30):
        start = time.process_time()
        for _ in range(200):
            state = steps(state, inputs, 1e-3)
        times.append((time.process_time() - start) / 200)
    assert np.median(times) < 5e-6


def test_mistakes_are_named(twelve):
    steps = stepper(twelve[0], 2)
    with pytest.raises(
        InvalidValue,
        match=(
            r"state has shape \(1, 2\), inputs \(2, 3\).*expected \(2, 2\) for position, velocity, \(2, 3\)"
            r" for inertia"
        ),
    ):
        steps(np.zeros((1, 2)), np.zeros((2, 3)), 1e-3)
    with pytest.raises(InvalidValue, match=r"h is 0\.0"):
        steps(np.zeros((2, 2)), np.zeros((2, 3)), 0.0)
    with pytest.raises(InvalidValue, match="system 1 has another structure than system 0"):
        stepper(
            [
                twelve[0],
                ActuatorSystem(
                    actuator=SERVO, bench=be.bench.Flywheel(inertia=1.0), inputs=("position_target",)
                ),
            ]
        )
    with pytest.raises(InvalidValue, match="n is 3 for 12 systems"):
        stepper(twelve, 3)
    with pytest.raises(UnknownName, match="unknown state 'speed'"):
        steps.start(speed=1.0)


@part
class Rooted(be.friction.Coulomb):
    """A friction that cannot be compiled."""

    def drag(self, w):
        return jnp.sum(jnp.stack([w, w])) * self.viscous


def test_what_cannot_be_compiled_steps_on_the_reference():
    actuator = be.Actuator(motor=SERVO.motor, friction=Rooted(coulomb=0.1, viscous=0.1), drive=SERVO.drive)
    one = ActuatorSystem(
        actuator=actuator, bench=be.bench.Flywheel(inertia=0.01), inputs=("position_target",)
    )
    with pytest.warns(BackemfWarning, match="cannot compile this actuator"):
        steps = stepper(one, 2)
    after = steps(steps.start(), np.full((2, 1), 0.5), 1e-3, substeps=2)
    expected = reference.run(
        one, list(one.parameters.values()), [0.0, 0.0], hold_inputs(np.full((1, 1), 0.5), np.array([1e-3])), 2
    )
    np.testing.assert_allclose(after, [expected[1]] * 2, rtol=1e-12)
