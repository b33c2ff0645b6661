"""The compiled loops: against the same loops in JAX, against finite differences, and against each other."""

from __future__ import annotations

import platform
import re
import tracemalloc
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import backemf as be
from backemf.engine import reference, reference as fallback
from backemf.engine.compile import kernels as kernels_module, kernels as memory
from backemf.engine.compile.kernels import Kernels, kernels
from backemf.engine.compile.loops import kernel_source
from backemf.engine.compile.lower import lower
from backemf.engine.rows import Delay, HeldInputs, Observer, Resets, hold_inputs
from backemf.engine.system import ActuatorSystem
from backemf.errors import (
    BackemfWarning,
    InvalidValue,
    MissingValue,
    NotLowered,
    SignalError,
    TooLarge,
    UnknownName,
)
from backemf.physics.quantity import part, quantity

N, DT, DELAY = 160, 2e-3, 3.3e-3
FREE = ("motor.resistance", "friction.coulomb", "bench.mass", "drive.delay", "drive.volts_per_radian")
START = ("position", "velocity")
ACTUATOR = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=30.0, volt_seconds_per_radian=0.2, supply=12.0, delay=DELAY),
)
SYSTEM = ActuatorSystem(
    actuator=ACTUATOR,
    bench=be.bench.Pendulum(mass=0.4, length=0.15),
    inputs=("position_target", "supply"),
    outputs=("position", "current"),
)
P = np.array(list(SYSTEM.parameters.values()))
S0 = np.array([0.2, 0.5])
NO_CORRECTION = 0.0, np.empty(0), np.empty(0, bool), np.empty((0, 2))


def times_and_inputs(n=N, seed=0):
    rng = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.cumsum(DT * (1 + 0.3 * rng.random(n)))])
    target = 0.8 * np.sin(9 * times) + 0.3 * np.sign(np.sin(40 * times))
    return times, np.stack([target, 11.0 + np.cos(5 * times)], axis=1)


def log(n=N, seed=0, delay=DELAY) -> HeldInputs:
    times, values = times_and_inputs(n, seed)
    return Delay(values, times, delay, [True, False]).rows()


def measurements(n=N, seed=1):
    """Recorded position and current, with gaps."""
    rng = np.random.default_rng(seed)
    y = kernels(SYSTEM, free=FREE, start=START).sensitivities(P, S0, log(n), 3)[0] + rng.normal(
        0, [0.01, 0.1], (n + 1, 2)
    )
    y[5:9, 0], y[::7, 1] = np.nan, np.nan
    return y


def by_jax(k: Kernels, rows: HeldInputs, substeps: int, corrections=NO_CORRECTION):
    logs = k.batch(rows)
    y, J = (
        np.empty((logs.n_samples, len(k.system.outputs))),
        np.empty((logs.n_samples, len(k.system.outputs), k.n_columns)),
    )
    given = logs.offsets, logs.values, logs.before, logs.switch, logs.dt
    fallback.kernel("sensitivities", k.system, k.free, k.start)(
        0, 1, substeps, P[None], S0[None], np.zeros(1, int), *given, *corrections, y, J
    )
    return y, J


def close(a, b, tolerance=1e-9):
    scale = np.nanmax(np.abs(b), axis=0)
    assert np.all(np.abs(a - b) <= tolerance * np.where(scale > 0, scale, 1.0))


@pytest.fixture(scope="module")
def k() -> Kernels:
    return kernels(SYSTEM, free=FREE, start=START)


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_trajectory_equals_the_reference_with_a_delay_and_uneven_samples(k, substeps):
    expected = reference.run(SYSTEM, P, S0, log(), substeps)
    close(k.trajectory(P, S0, log(), substeps), expected, 1e-12)


def test_a_trajectory_without_delay_equals_the_reference(k):
    times, values = times_and_inputs()
    rows = hold_inputs(values[:-1], np.diff(times))
    close(k.trajectory(P, S0, rows, 2), reference.run(SYSTEM, P, S0, rows, 2), 1e-12)


def test_sensitivities_equal_those_of_jax(k):
    y, J = k.sensitivities(P, S0, log(), 3)
    expected_y, expected_J = by_jax(k, log(), 3)
    close(y, expected_y, 1e-12)
    close(J, expected_J)
    assert J.shape == (N + 1, 2, 7)


def test_corrections_are_carried_through_the_sensitivities(k):
    seen = measurements()[:, 0]
    at = np.arange(N + 1) % 40 == 30
    position, velocity = np.where(np.isnan(seen), 0.0, seen), np.full(N + 1, 0.3)
    y, J = k.sensitivities(P, S0, log(), 2, Observer(60.0, seen), Resets(at, position, velocity))
    expected = by_jax(k, log(), 2, (60.0, seen, at, np.stack([position, velocity], axis=1)))
    close(y, expected[0], 1e-11)
    close(J, expected[1])
    # After a reset, the start no longer matters, and neither does a parameter until it has acted again.
    assert np.all(J[31:71, 0, 5:] == 0)
    assert np.all(J[30, 0, :3] != 0)


def test_an_observer_without_bandwidth_is_the_plain_simulation(k):
    plain = k.sensitivities(P, S0, log())
    watched = k.sensitivities(P, S0, log(), 1, Observer(0.0, measurements()[:, 0]))
    assert np.array_equal(plain[0], watched[0])
    assert np.array_equal(plain[1], watched[1])


def test_an_observer_follows_the_recording_at_any_bandwidth(k):
    seen = np.nan_to_num(measurements()[:, 0], nan=0.3)
    errors = [
        np.nanmean(np.abs(k.sensitivities(P * 1.3, S0, log(), 3, Observer(b, seen))[0][20:, 0] - seen[20:]))
        for b in (0.0, 20.0, 60.0, 1e6)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[3] < 0.2  # it does not blow up where bandwidth times interval is far above 1


def test_behind_backlash_the_rotor_is_corrected_along():
    actuator = be.Actuator(
        motor=ACTUATOR.motor,
        friction=be.friction.Viscous(viscous=0.02),
        drive=be.drive.Voltage(),
        gearbox=be.gearbox.Gearbox(backlash=0.05, contact_stiffness=100.0),
    )
    system = ActuatorSystem(
        actuator=actuator,
        bench=be.bench.Flywheel(inertia=0.01),
        inputs=("voltage_target",),
        outputs=("position", "rotor_position"),
    )
    k = kernels(system, free=("motor.resistance",))
    rows = hold_inputs(np.zeros((40, 1)), np.full(40, DT))
    y, _ = k.sensitivities(
        list(system.parameters.values()), np.zeros(4), rows, 1, Observer(50.0, np.full(41, 0.5))
    )
    assert y[-1, 0] > 0.3
    assert np.max(np.abs(y[:, 0] - y[:, 1])) < 0.1  # and does not stay behind, which would press the teeth


def test_the_slope_in_the_delay_is_that_of_finite_differences(k):
    _, J = k.sensitivities(P, S0, log(), 5)
    e = 1e-8  # small enough that no command moves from one substep to the next
    slope = (
        k.sensitivities(P, S0, log(delay=DELAY + e), 5)[0]
        - k.sensitivities(P, S0, log(delay=DELAY - e), 5)[0]
    ) / (2 * e)
    column = J[:, 0, FREE.index("drive.delay")]
    assert np.max(np.abs(column)) > 1.0
    np.testing.assert_allclose(column, slope[:, 0], atol=1e-5 * np.max(np.abs(column)))


@pytest.mark.parametrize("robust", [np.inf, 1.5])
def test_normal_equations_are_the_sums_of_the_sensitivities(k, robust):
    measured = measurements()
    weights = np.stack([np.full(N + 1, 100.0), np.linspace(1, 10, N + 1)], axis=1)
    JtJ, Jtr, cost = k.normal(P * 1.02, S0, log(), 2, measured, weights, robust=robust)
    y, J = k.sensitivities(P * 1.02, S0, log(), 2)
    expected, weight, error = fallback._judge_errors(y, measured, weights, robust)
    assert cost == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(JtJ, np.einsum("ki,kia,kib->ab", weight, J, J), rtol=1e-9)
    np.testing.assert_allclose(Jtr, np.einsum("ki,ki,kia->a", weight, error, J), rtol=1e-8)
    assert k.cost([P * 1.02], S0, log(), 2, measured, weights, robust=robust) == pytest.approx(
        [cost], rel=1e-12
    )


def test_the_gradient_is_that_of_the_cost(k):
    measured, e = measurements(), 1e-6
    _, gradient, _ = k.normal(P, S0, log(), 2, measured, [100.0, 10.0], robust=1.0)
    for column, path in enumerate(FREE):
        if path == "drive.delay":
            continue  # it acts through the rows
        i = list(SYSTEM.parameters).index(path)
        shifted = np.stack([P, P])
        shifted[:, i] *= [1 + e, 1 - e]
        high, low = k.cost(shifted, S0, log(), 2, measured, [100.0, 10.0], robust=1.0)
        assert gradient[column] == pytest.approx(
            (high - low) / (2 * e * P[i]), rel=1e-4, abs=1e-4 * abs(gradient).max()
        )


def test_logs_of_different_length_rig_and_start_in_one_call_equal_separate_calls(k):
    lengths = [40, 160, 90]
    logs = [log(n, seed=n) for n in lengths]
    together = k.batch(logs)
    p = np.stack([P, P, P])
    p[:, list(SYSTEM.parameters).index("bench.mass")] = [0.2, 0.4, 0.6]
    s0 = np.array([[0.0, 0.0], [0.3, -1.0], [-0.2, 0.0]])
    measured = np.concatenate([measurements(n) for n in lengths])
    y, J = k.sensitivities(p, s0, together, 2)
    JtJ, Jtr, cost = k.normal(p, s0, together, 2, measured)
    states = together.split(k.trajectory(p, s0, together, 2))
    for i, rows in enumerate(logs):
        one_y, one_J = k.sensitivities(p[i], s0[i], rows, 2)
        assert np.array_equal(together.split(y)[i], one_y)
        assert np.array_equal(together.split(J)[i], one_J)
        one = k.normal(p[i], s0[i], rows, 2, together.split(measured)[i])
        assert np.array_equal(JtJ[i], one[0])
        assert np.array_equal(Jtr[i], one[1])
        assert cost[i] == one[2]
        assert np.array_equal(states[i], k.trajectory(p[i], s0[i], rows, 2))


def test_candidates_cost_what_they_cost_alone_on_any_number_of_threads(k, monkeypatch):
    rng = np.random.default_rng(3)
    together = k.batch([log(60, seed=1), log(90, seed=2)])
    measured = np.concatenate([measurements(60), measurements(90)])
    candidates = P * rng.uniform(0.8, 1.2, (37, len(P)))
    alone = k.cost(candidates, S0, together, 1, measured)
    assert alone.shape == (37, 2)
    monkeypatch.setattr(kernels_module, "WORTH_A_THREAD", 100)
    monkeypatch.setattr(kernels_module, "_processors", lambda: 3)
    assert np.array_equal(k.cost(candidates, S0, together, 1, measured), alone)
    assert np.array_equal(
        k.cost(candidates[:, None].repeat(2, axis=1), np.tile(S0, (37, 1)), together, 1, measured), alone
    )


def test_a_nan_spoils_its_own_candidate_alone(k):
    candidates = np.stack([P, P, P])
    candidates[1, list(SYSTEM.parameters).index("drive.supply")] = np.nan  # one that a limit would swallow
    cost = k.cost(candidates, S0, log(), 1, measurements())
    assert np.isnan(cost[1])
    assert np.isfinite(cost[[0, 2]]).all()
    p = np.stack([P, candidates[1]])
    both = k.batch([log(), log()])
    y, _ = k.sensitivities(p, S0, both)
    JtJ, _, _ = k.normal(p, S0, both, 1, np.concatenate([measurements(), measurements()]))
    assert np.isfinite(y[: N + 1]).all()
    assert np.isnan(y[N + 1 :]).all()
    assert np.isfinite(JtJ[0]).all()
    assert np.isnan(JtJ[1]).all()


def test_an_observation_at_the_last_sample_uses_its_own_inputs(k):
    times, values = times_and_inputs()
    dt = np.diff(times)
    held_on, own = (k.sensitivities(P, S0, hold_inputs(v, dt))[0] for v in (values[:-1], values))
    assert np.array_equal(held_on[:-1], own[:-1])
    assert held_on[-1, 1] != own[-1, 1]


def test_normal_equations_need_no_memory_for_the_trajectory(k):
    n = 200_000
    rows = k.batch(hold_inputs(np.tile([0.3, 12.0], (n, 1)), np.full(n, 1e-3)))
    measured = np.zeros((n + 1, 2))
    k.normal(P, S0, log(), 1, measurements())
    tracemalloc.start()
    k.normal(P, S0, rows, 1, measured)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        peak < 4 * n
    )  # bytes, of the checks' truth values; the outputs and their derivatives would take 128 n


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of instructions")
def test_lanes_run_in_vector_instructions():
    """If the loop over lanes were not vectorised, every sensitivity would cost a step of its own,
    and no other test would notice."""
    space = {"CACHE": False}
    exec(
        compile(
            kernel_source(
                "sensitivities",
                lower(SYSTEM, free=[path for path in SYSTEM.parameters if path != "drive.delay"]),
            ),
            "<kernel>",
            "exec",
        ),
        space,
    )
    # the checker knows its base class only
    (assembly,) = space["kernel"].inspect_asm().values()  # type: ignore[attr-defined]
    assert len(re.findall(r"\tv?(?:mul|fn?m(?:add|sub)\d*)pd\t", assembly)) > 10


def test_too_large_a_request_names_its_size_and_the_way_out(k, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1e4)
    monkeypatch.setattr(memory, "UNASKED", 0.0)
    with pytest.raises(
        TooLarge,
        match=(
            r"the sensitivities of shape \(161, 2, 7\) need 0.018 MB, and 0.01 MB of memory are free;"
            r" normal\(\) sums"
        ),
    ):
        k.sensitivities(P, S0, log())


def test_available_memory_is_known():
    assert 1e8 < memory.available() < 1e15


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda k: kernels(SYSTEM, free=["motor.resistence"]),
            UnknownName,
            "unknown parameter 'motor.resistence'; did you mean 'motor.resistance'",
        ),
        (lambda k: kernels(SYSTEM, start=["speed"]), UnknownName, "unknown state 'speed'"),
        (
            lambda k: kernels(SYSTEM, free=["motor.resistance", "motor.resistance"]),
            InvalidValue,
            "expected each once",
        ),
        (lambda k: kernels(SYSTEM).sensitivities(P, S0, log()), MissingValue, "no free parameters"),
        (
            lambda k: k.trajectory(P[:-1], S0, log()),
            InvalidValue,
            r"p has shape \(14,\); expected \(15,\), or \(1, 15\)",
        ),
        (
            lambda k: k.trajectory(P, S0, log(), 0),
            InvalidValue,
            "substeps is 0; expected a whole number of at least 1",
        ),
        (
            lambda k: k.trajectory(P, S0, hold_inputs(np.full((3, 2), np.nan), np.ones(3))),
            SignalError,
            "values is nan at sample 0; expected finite numbers",
        ),
        (
            lambda k: k.trajectory(P, S0, hold_inputs(np.zeros((3, 2)), np.array([1.0, 0.0, 1.0]))),
            SignalError,
            "dt is 0 s at interval 1; expected more than 0",
        ),
        (
            lambda k: k.trajectory(P, S0, hold_inputs(np.zeros((3, 1)), np.ones(3))),
            SignalError,
            "have 1 inputs; expected 2",
        ),
        (
            lambda k: k.trajectory(P, S0, hold_inputs(np.zeros((5, 2)), np.ones(3))),
            SignalError,
            "values has 5 rows for 3 intervals; expected 3, or 4",
        ),
        (lambda k: k.batch([]), InvalidValue, "no logs"),
        (
            lambda k: k.batch([log(), hold_inputs(np.zeros((3, 2)), np.full(3, np.inf))]),
            SignalError,
            "dt of log 1 is inf at sample 0",
        ),
        (
            lambda k: k.normal(P, S0, log(), 1, np.full((N + 1, 2), np.inf)),
            SignalError,
            "or NaN where nothing was measured",
        ),
        (
            lambda k: k.normal(P, S0, log(), 1, np.zeros(N)),
            SignalError,
            r"measured has shape \(160,\); expected \(161, 2\)",
        ),
        (lambda k: k.normal(P, S0, log(), 1, measurements(), robust=0.0), InvalidValue, "robust is 0.0"),
        (
            lambda k: k.normal(P, S0, log(), 1, measurements(), observer=Observer(-1.0, np.zeros(N + 1))),
            InvalidValue,
            "bandwidth is -1 rad/s",
        ),
        (
            lambda k: k.sensitivities(P, S0, log(), 1, None, Resets([True], [0.0], [0.0])),
            SignalError,
            r"resets.at has shape \(1,\)",
        ),
        (
            lambda k: k.cost(P, S0, log(), 1, measurements()),
            InvalidValue,
            r"p has shape \(15,\); expected \(candidates, 15\)",
        ),
    ],
)
def test_mistakes_are_named(k, call, error, text):
    with pytest.raises(error, match=text):
        call(k)


@part
class Tabled(be.friction.Coulomb):
    """A friction from a table, which has arrays inside a step and so cannot be compiled."""

    path: ClassVar[str] = "friction"
    extra: float = quantity("N m", "tau_x", default=0.1)

    def drag(self, w):
        return self.extra * jnp.interp(w, jnp.array([-10.0, 0.0, 10.0]), jnp.array([-1.0, 0.0, 1.0]))


def test_what_cannot_be_compiled_runs_on_the_reference_with_one_warning():
    actuator = be.Actuator(motor=ACTUATOR.motor, friction=Tabled(coulomb=0.05), drive=ACTUATOR.drive)
    system = ActuatorSystem(
        actuator=actuator, bench=be.bench.Flywheel(inertia=0.01), inputs=("position_target", "supply")
    )
    p, rows = list(system.parameters.values()), log(30)
    k = kernels(system, free=("friction.extra",))
    with pytest.warns(
        BackemfWarning, match="cannot compile this actuator: .*array.* The reference engine runs it instead"
    ):
        states = k.trajectory(p, S0, rows)
    y, J = k.sensitivities(p, S0, rows)  # a second warning would be an error here
    JtJ, Jtr, cost = k.normal(p, S0, rows, 1, np.zeros(31), robust=0.1)
    candidates = k.cost([p, p], S0, rows, 1, np.zeros(31), robust=0.1)
    close(states, reference.run(system, p, S0, rows, 1), 1e-12)
    np.testing.assert_allclose(y[:, 0], states[:, 0], rtol=1e-12)
    assert np.any(J[:, 0, 0] != 0)
    assert JtJ.shape == (1, 1)
    assert Jtr.shape == (1,)
    assert list(candidates) == [pytest.approx(cost, rel=1e-12)] * 2
    with pytest.raises(NotLowered, match="array"):
        kernels(system, fallback=False).trajectory(p, S0, rows)


def test_one_lowering_serves_several_kernels():
    """Writing a kernel leaves what it is written from as it was: no source depends on the one before."""
    shared = lower(SYSTEM, free=FREE, start=START, delayed=True)
    for kind in ("sensitivities", "normal", "sensitivities"):
        alone = lower(SYSTEM, free=FREE, start=START, delayed=True)
        assert kernel_source(kind, shared) == kernel_source(kind, alone)
