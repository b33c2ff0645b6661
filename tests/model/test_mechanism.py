"""A mechanism of gains: exact while its input holds, exact sticking, and the same from every engine."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from backemf.engine import reference as fallback
from backemf.engine.rows import hold_inputs
from backemf.kits.frc.mechanism import Mechanism, MechanismSystem, acceleration, mechanism_kernels, step

M = Mechanism(friction=0.3, effort_per_velocity=1.2, effort_per_acceleration=0.2, gravity=0.1)


@pytest.mark.parametrize("kV", [1.2, 1e-7, 0.0, -0.4])
@pytest.mark.parametrize(
    ("v", "u"), [(0.0, 2.0), (1.0, 2.0), (1.0, 0.2), (1.0, -3.0), (-0.5, 1.0), (0.0, 0.2), (0.0, -0.35)]
)
def test_one_long_step_is_many_short_ones(kV, v, u):
    m = Mechanism(friction=0.3, effort_per_velocity=kV, effort_per_acceleration=0.2, gravity=0.1)
    p, w = 0.0, v
    for _ in range(1000):
        p, w = step(m, p, w, u, 0.0003)
    np.testing.assert_allclose(step(m, 0.0, v, u, 0.3), (p, w), rtol=1e-9, atol=1e-12)


def test_it_stops_exactly_and_stays():
    p, v = step(M, 0.0, 0.5, 0.2, 0.5)
    assert v == 0.0  # not nearly: exactly
    assert step(M, p, v, 0.39, 1.0) == (p, 0.0)
    rest = 0.2 / 1.2 * math.log1p(1.2 * 0.5 / 0.2)  # kA v' = 0.2 - 0.1 - 0.3 - 1.2 v
    assert p == pytest.approx(0.5 * 0.2 / 1.2 - 0.2 / 1.2 * rest, rel=1e-12)
    assert step(M, p, v, 0.41, 1.0)[1] > 0
    assert step(M, p, v, -0.21, 1.0)[1] < 0


def test_acceleration_is_what_changes_the_velocity():
    for v, u in ((0.0, 2.0), (1.0, 0.2), (-1.0, 0.2), (0.0, 0.2)):
        assert acceleration(M, 0.0, v, u) == pytest.approx(
            (step(M, 0.0, v, u, 1e-7)[1] - v) / 1e-7, rel=1e-5, abs=1e-9
        )


def test_an_arm_swings_with_the_energy_it_has():
    arm = Mechanism(effort_per_acceleration=0.2, gravity_cosine=0.5)
    p, v = 0.3, 0.0
    for _ in range(2000):
        p, v = step(arm, p, v, 0.0, 0.002)
    assert 0.5 * 0.2 * v * v + 0.5 * math.sin(p) == pytest.approx(0.5 * math.sin(0.3), abs=2e-4)


@pytest.mark.parametrize("turning", [False, True])
def test_compiled_and_plain_loops_agree_with_their_derivatives(turning):
    kernels = mechanism_kernels(turning)
    rng = np.random.default_rng(0)
    rows = hold_inputs(np.repeat(rng.normal(0.0, 2.0, (12, 1)), 5, axis=0), rng.uniform(1e-3, 1e-2, 60))
    p, s0 = [0.3, 1.5, 0.2, 0.1, *((0.4, -0.2) if turning else ())], [0.2, 0.7]
    outputs, slopes = kernels.sensitivities(p, s0, rows)
    plain, plain_slopes = np.empty_like(outputs), np.empty_like(slopes)
    batch = kernels.batch(rows)
    given = (
        np.array([p]),
        np.array([s0]),
        np.zeros(1, int),
        batch.offsets,
        batch.values,
        batch.before,
        batch.switch,
        batch.dt,
    )
    none = (0.0, np.empty(0), np.empty(0, bool), np.empty((0, 2)))
    fallback.kernel("sensitivities", kernels.system, kernels.free, kernels.start)(
        0, 1, 1, *given, *none, plain, plain_slopes
    )
    np.testing.assert_allclose(outputs, plain, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(slopes, plain_slopes, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(kernels.trajectory(p, s0, rows), outputs[:, :2], rtol=1e-12, atol=1e-13)


def test_it_can_be_traced():
    system = MechanismSystem(mechanism=M)
    slope = jax.jit(
        jax.grad(lambda h: system.step(tuple(system.parameters.values()), (0.0, 1.0), (2.0,), h)[1])
    )(0.01)
    p, v = step(M, 0.0, 1.0, 2.0, 0.01)
    assert float(slope) == pytest.approx(acceleration(M, p, v, 2.0), rel=1e-4)
