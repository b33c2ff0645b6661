"""One command for many candidates: each as `simulate` has it alone, wherever they run."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue, NotAvailable, SignalError, UnknownName

from ..conftest import needed
from .test_population import here  # noqa: F401  # a fixture

SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=30.0, supply=12.0),
)
BENCH = be.bench.Pendulum(mass=0.4, length=0.15)
STEP = {"command": be.signal.step(0.5, at=0.0107), "duration": 0.3}
"""It jumps between two samples."""
R = np.linspace(1.5, 2.5, 70)


def test_each_candidate_is_as_simulated_alone():
    many = be.simulate_many(
        SERVO,
        BENCH,
        **STEP,
        vary={"motor.resistance": R, "bench.mass": 0.3},
        keep=("position", "velocity"),
        substeps=2,
    )
    assert len(many) == 70
    for k in (0, 69):
        alone = be.simulate(
            SERVO.replace(**{"motor.resistance": R[k]}),
            be.bench.Pendulum(mass=0.3, length=0.15),
            **STEP,
            substeps=2,
        )
        np.testing.assert_allclose(many.signals["position"][k], alone.position, atol=1e-12)
        np.testing.assert_allclose(many.signals["velocity"][k], alone.velocity, atol=1e-12)


def test_the_error_against_a_recording_finds_the_true_number():
    truth = be.simulate(SERVO, BENCH, **STEP, substeps=2).position
    truth[40:60] = np.nan
    vary = {"motor.resistance": np.append(R, 2.0)}
    many = be.simulate_many(SERVO, BENCH, **STEP, vary=vary, measured=truth, substeps=2)
    kept = be.simulate_many(SERVO, BENCH, **STEP, vary=vary, substeps=2).signals["position"]
    assert many.best == {"motor.resistance": 2.0}
    np.testing.assert_allclose(many.error, np.sqrt(np.nanmean((kept - truth) ** 2, axis=1)), atol=1e-12)


@pytest.mark.usefixtures("here")
def test_a_gpu_gives_the_same():
    truth = be.simulate(SERVO, BENCH, **STEP, substeps=2).position
    for more in ({}, {"measured": truth}):
        options = {"vary": {"motor.resistance": R}, "substeps": 2, **more}
        cpu = be.simulate_many(SERVO, BENCH, **STEP, **options)
        for precision, bound in (("double", 1e-12), ("single", 1e-6)):
            gpu = be.simulate_many(SERVO, BENCH, **STEP, **options, on="gpu", precision=precision)
            if more:
                np.testing.assert_allclose(gpu.error, cpu.error, atol=bound)
            else:
                np.testing.assert_allclose(gpu.signals["position"], cpu.signals["position"], atol=bound)


def test_steps_are_as_many_as_the_actuator_needs():
    many = be.simulate_many(SERVO, BENCH, **STEP, vary={"motor.resistance": R[:2]})
    assert many.substeps == be.simulate(SERVO, BENCH, **STEP).substeps


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"vary": {"motor.reistance": R}}, UnknownName, "did you mean 'motor.resistance'"),
        ({"vary": {}}, InvalidValue, "vary is empty"),
        ({"vary": {"motor.resistance": R, "bench.mass": R[:3]}}, InvalidValue, "expected 70"),
        ({"vary": {"motor.resistance": R}, "measured": [1.0]}, SignalError, "one a sample"),
        (
            {"vary": {"motor.resistance": R}, "measured": np.full(301, np.nan)},
            SignalError,
            "no finite number",
        ),
        ({"vary": {"motor.resistance": R}, "keep": ("current",)}, UnknownName, "unknown state 'current'"),
        ({"vary": {"motor.resistance": R}, "on": "tpu"}, UnknownName, "place to run on"),
    ],
)
def test_what_cannot_be_is_said(options, error, words):
    with pytest.raises(error, match=words):
        be.simulate_many(SERVO, BENCH, **STEP, **options)


def test_none_is_best_where_nothing_was_measured():
    many = be.simulate_many(SERVO, BENCH, **STEP, vary={"motor.resistance": R[:2]}, substeps=1)
    with pytest.raises(InvalidValue, match="not given what was measured"):
        _ = many.best


def test_a_fit_without_a_gpu_says_so_before_it_begins():
    warp = needed("warp")
    if warp.is_cuda_available():
        pytest.skip("there is a GPU")
    with pytest.raises(NotAvailable, match="no NVIDIA GPU"):
        be.simulate_many(SERVO, BENCH, **STEP, vary={"motor.resistance": R}, on="gpu")
