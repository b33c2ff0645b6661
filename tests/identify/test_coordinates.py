"""The coordinates a fit moves in, and the factors its errors grow by: each against numbers of its own."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.identify.check import Expectation
from backemf.identify.free import free
from backemf.identify.residual import problem
from backemf.identify.uncertainty import _short_sample, inverse
from backemf.statistics import autocorrelation, lag_alike, long_run

ACTUATOR = be.Actuator(
    motor=be.motor.Motor(
        resistance=2.0,
        torque_constant=0.5,
        limits=be.motor.Limits(continuous_current=1.0, peak_current=3.0, peak_time=0.5),
    ),
    friction=be.friction.Stribeck(
        coulomb=0.1, static=0.25, stribeck_velocity=0.3, viscous=0.02, offset=-0.01
    ),
)
PATHS = [
    "motor.resistance",
    "friction.coulomb",
    "friction.static",
    "friction.offset",
    "motor.limits.continuous_current",
    "motor.limits.peak_current",
]


def test_tangents_are_those_of_the_values():
    """d value / d x by differences, for logarithms, ordered pairs and signed numbers alike."""
    p = free(ACTUATOR, PATHS)
    fixed = ACTUATOR.parameters
    x = p.to_x({path: fixed[path] for path in PATHS}, fixed)
    T = p.slopes(x)
    for j in range(len(PATHS)):
        up, down = x.copy(), x.copy()
        up[j] += 1e-6
        down[j] -= 1e-6
        a, b = p.to_values(up, fixed), p.to_values(down, fixed)
        column = [(a[path] - b[path]) / 2e-6 for path in PATHS]
        assert T[:, j] == pytest.approx(column, rel=1e-6, abs=1e-9)
    coulomb = PATHS.index("friction.coulomb")
    # static friction stands on Coulomb's, which may vanish: its slope is its value and the knee's
    assert T[PATHS.index("friction.static"), coulomb] == pytest.approx(
        0.1 + (p.parameters[coulomb].knee or 0)
    )


def test_values_come_back_and_stay_in_order():
    p, fixed = free(ACTUATOR, PATHS), ACTUATOR.parameters
    given = {path: fixed[path] for path in PATHS}
    assert p.to_values(p.to_x(given, fixed), fixed) == pytest.approx(given)
    rng = np.random.default_rng(0)
    for _ in range(50):
        v = p.to_values(p.to_x(given, fixed) + rng.normal(0, 1, len(PATHS)), fixed)
        assert v["friction.static"] >= v["friction.coulomb"] >= 0
        assert v["motor.limits.peak_current"] >= v["motor.limits.continuous_current"] > 0
    above = {q.path: q.above for q in p.parameters}
    assert above["friction.static"] == "friction.coulomb"
    assert above["motor.limits.peak_current"] == "motor.limits.continuous_current"
    assert above["friction.offset"] is None
    signed = {q.path: q.signed for q in p.parameters}
    assert signed["friction.offset"] == 1.0
    assert signed["friction.coulomb"] is None


@pytest.mark.parametrize(("share", "factor"), [(0.0, 1.0), (0.1, 1.1533), (0.5, 1.7758), (1.0, 2.4556)])
def test_few_samples_widen_as_kiefer_and_vogelsang_say(share, factor):
    assert _short_sample(share) == pytest.approx(factor, abs=2e-3)


def test_the_long_run_sum_of_errors_that_stay_alike():
    """An AR(1) of 0.8: its long-run variance is (1 + 0.8) / (1 - 0.8) times the plain one."""
    rng = np.random.default_rng(1)
    e = rng.normal(size=200_000)
    r = np.empty_like(e)
    r[0] = e[0]
    for k in range(1, len(e)):
        r[k] = 0.8 * r[k - 1] + e[k]
    plain = float(r @ r)
    assert long_run(r[:, None], 0)[0, 0] == pytest.approx(plain)
    assert long_run(r[:, None], 60)[0, 0] / plain == pytest.approx(9.0, rel=0.12)
    assert autocorrelation(r)[1] == pytest.approx(0.8, abs=0.01)
    assert 11 <= lag_alike(r) <= 16  # 0.8^13 = 0.055
    assert lag_alike(np.zeros(40)) == 1
    both = np.stack([r, -r], axis=1)
    V = long_run(both, 30)
    assert V[0, 1] == pytest.approx(-V[0, 0])
    assert V[0, 1] == V[1, 0]


def test_an_inverse_that_is_nearly_singular():
    A = np.diag([1e12, 1.0, 1e-12])
    A[0, 1] = A[1, 0] = 3e5
    np.testing.assert_allclose(inverse(A) @ A, np.eye(3), atol=1e-6)


def test_logs_that_lack_a_common_input_get_its_usual_value():
    """One log has a supply and a switch, the other not: that one ran at the nominal supply, always on."""
    t = np.arange(0, 1, 0.01)
    servo = be.Actuator(
        motor=ACTUATOR.motor, drive=be.drive.Servo(firmware_gain=0.1, proportional=8.0, supply=12.0)
    )
    bench = be.bench.Flywheel(inertia=0.01)
    one = be.log("told", t, position=t, position_target=t, supply=11.0 + 0 * t, enabled=0 * t, bench=bench)
    two = be.log("plain", t, position=t, position_target=t, bench=bench)
    three = be.log("set", t, position=t, position_target=t, bench=bench, settings={"drive.supply": 9.0})
    p = problem(servo, [one, two, three], free(servo, ["motor.resistance"]))
    names = p.system.inputs
    for k, (volts, on) in enumerate(((11.0, 0.0), (12.0, 1.0), (9.0, 1.0))):
        values = p.logs[k].rows.values
        assert set(values[:, names.index("supply")]) == {volts}
        assert set(values[:, names.index("enabled")]) == {on}


@pytest.mark.parametrize(
    ("error", "determined"), [(0.0, True), (0.15, True), (0.151, False), (np.inf, False)]
)
def test_what_counts_as_determined(error, determined):
    row = Expectation(path="x", value=1.0, unit="1", relative_error=0.01, from_data=error)
    assert row.determined == determined
