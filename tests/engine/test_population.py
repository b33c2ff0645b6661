"""Populations as a GPU runs them, here on Warp's processor device: the compiled loops' costs, for frictions,
drives, corrections and rows of every sort."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.engine import candidates
from backemf.engine.compile import cache
from backemf.engine.compile.kernels import kernels
from backemf.engine.rows import HeldInputs, Observer, Resets, hold_inputs
from backemf.engine.system import ActuatorSystem
from backemf.errors import NotAvailable, UnknownName

from ..conftest import needed, unavailable
from .compile.test_torch import BACKLASH, LUGRE, TWO_NODES

T, N, DT = 300, 24, 2e-3
TIGHT = 1e-11
"""64 bits differ from the compiled loop by the order of sums and products: 1e-14 is seen."""
SINGLE, WORST = 2e-5, 2e-3
"""32 bits: the median candidate's cost within the first (1e-6 is seen), every one within the second: where
stick and slip are nearly tied, one rounding moves a slip by a step."""
MOTOR = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
LEVELS = {"coulomb": 0.03, "static": 0.06, "stribeck_velocity": 0.3, "viscous": 0.02}
POSITION = be.drive.Position(volts_per_radian=20.0, volt_seconds_per_radian=0.2, supply=12.0)
ACTUATORS = {
    "m6, servo": "mx-106/m6",
    "viscous, voltage": be.Actuator(
        motor=MOTOR, friction=be.friction.Viscous(viscous=0.02), drive=be.drive.Voltage(supply=12.0)
    ),
    "coulomb, position": be.Actuator(
        motor=MOTOR, friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02), drive=POSITION
    ),
    "m4, position": be.Actuator(
        motor=MOTOR, friction=be.friction.M4(**LEVELS, load=0.06, load_stribeck=0.04), drive=POSITION
    ),
    "asymmetric, position": be.Actuator(
        motor=MOTOR, friction=be.friction.Stribeck(**LEVELS, asymmetry=0.2), drive=POSITION
    ),
    "lugre, integral and slew": LUGRE,
    "backlash, impedance": BACKLASH,
    "dahl, velocity": TWO_NODES,
}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warp's processor device in place of the GPU."""
    if importlib.util.find_spec("warp") is None:
        unavailable("warp-lang")
    monkeypatch.setattr(candidates, "DEVICE", "cpu")


def system_of(name: str, outputs: tuple[str, ...] = ("position",)) -> ActuatorSystem:
    given = ACTUATORS[name]
    actuator: Any = be.Actuator.read(given) if isinstance(given, str) else given
    bench = be.bench.Pendulum(mass=0.5, length=0.12)
    return ActuatorSystem(actuator=actuator, bench=bench, inputs=(actuator.drive.followed,), outputs=outputs)


def command(n: int = T + 1) -> np.ndarray:
    """Jumps to and fro, and a rest between them."""
    t = np.arange(n) * DT
    return 0.5 * np.sign(np.sin(2 * np.pi * t / 0.17)) * (t % 0.4 < 0.3)


def case(system: ActuatorSystem, rows: HeldInputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(candidates, start states, what was measured)"""
    rng = np.random.default_rng(3)
    p = np.array(list(system.parameters.values()))
    s0 = np.array(list(system.initial_state(position=0.1).values()))
    first = next(iter(system.parameters))
    seen, _ = kernels(system, free=(first,)).sensitivities(p, s0, rows, 2)
    size = np.maximum(np.std(seen, axis=0), 1e-3)
    return p * rng.uniform(0.9, 1.1, (N, len(p))), s0, seen + rng.normal(0, 0.05 * size, seen.shape)


def check(system: ActuatorSystem, rows: HeldInputs, P: Any, s0: Any, y: Any, **more: Any) -> None:
    loops = kernels(system)
    expected = loops.cost(P, s0, rows, 2, y, **more)
    for precision, median, most in (("double", TIGHT, TIGHT), ("single", SINGLE, WORST)):
        found = loops.cost(P, s0, rows, 2, y, on="gpu", precision=precision, **more)
        off = np.abs(found - expected) / expected
        assert np.median(off) < median
        assert np.max(off) < most


@pytest.mark.parametrize("name", ACTUATORS)
def test_costs_are_the_compiled_loops_for_every_friction_and_drive(here, name):
    system = system_of(name)
    rows = hold_inputs(command()[:, None], np.full(T, DT))
    check(system, rows, *case(system, rows))


ROWS = {
    "uneven samples": hold_inputs(command()[:, None], np.random.default_rng(0).uniform(1e-3, 3e-3, T)),
    "a late command": hold_inputs(
        command()[:, None],
        np.full(T, DT),
        0.9 * command()[:, None],
        np.random.default_rng(1).uniform(0, 1, T + 1) * (np.arange(T + 1) % 2),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_every_sort(here, name):
    system = system_of("m6, servo", ("position", "current"))
    check(system, ROWS[name], *case(system, ROWS[name]))


@pytest.mark.parametrize("option", ["gaps", "weights", "robust", "observer", "resets"])
def test_corrections_and_weights_of_every_sort(here, option):
    system = system_of("m6, servo", ("position", "current"))
    rows = hold_inputs(command()[:, None], np.full(T, DT))
    P, s0, y = case(system, rows)
    at = np.arange(len(y)) == 100
    more: dict[str, Any] = {
        "gaps": {},
        "weights": {"weights": [1e3, 50.0]},
        "robust": {"weights": [1e3, 50.0], "robust": 2.0},
        "observer": {"observer": Observer(20.0, y[:, 0])},
        "resets": {"resets": Resets(at, 0.2, 0.5)},
    }[option]
    if option in ("gaps", "observer"):
        y[20:40] = np.nan
    check(system, rows, P, s0, y, **more)


def test_several_logs_each_with_numbers_of_its_own_and_nan_stays_alone(here):
    system = system_of("coulomb, position")
    loops = kernels(system)
    rows = hold_inputs(command()[:, None], np.full(T, DT))
    logs = loops.batch([rows, hold_inputs(command(101)[:, None], np.full(100, DT))])
    P, s0, _ = case(system, rows)
    each = np.stack([P, 1.05 * P], axis=1)
    each[3, 1, 0] = np.nan
    y = np.zeros(logs.n_samples)
    expected = loops.cost(each, s0, logs, 1, y)
    found = loops.cost(each, s0, logs, 1, y, on="gpu", precision="double")
    assert np.isnan(found[3, 1])
    assert np.isfinite(found).sum() == found.size - 1
    np.testing.assert_allclose(found, expected, rtol=TIGHT)


def test_what_an_addition_rounds_away_is_added_to_the_next(here):
    """A flywheel that turns on and on: each step rounds its position the same way. Compensated, what is left
    is the velocity's own rounding, 20 rad times 1e-7 and a few times that; the quickest variant shows what
    would be left without."""
    bench = be.bench.Flywheel(inertia=1e-3)
    actuator: Any = ACTUATORS["viscous, voltage"]
    system = ActuatorSystem(actuator=actuator, bench=bench, inputs=("voltage_target",))
    n = 20_000
    log = kernels(system).batch(hold_inputs(np.full((n, 1), 5.3), np.full(n, 1e-4)))
    P, S = np.array([list(system.parameters.values())]), np.zeros((1, 2))
    off = {}
    exact = kernels(system).trajectory(P[0], S[0], log, 1)[:, 0]
    assert exact[-1] > 10.0
    for precision in ("single", "fast"):
        found = candidates.outputs(system, P, S, log, 1, precision=precision)[0, :, 0]
        off[precision] = np.abs(found - exact).max()
    assert off["single"] < 1e-5
    assert off["fast"] > 10 * off["single"]


def test_an_angle_of_many_turns_is_reduced_as_the_gpu_does_it():
    """The polynomials that a GPU uses in place of the C library's, in 32 bits step by step."""
    one = np.float32
    x = np.random.default_rng(0).uniform(-200, 200, 100_000).astype(one)
    t = one(1) * (x.astype(float) * one(0.318309886) + one(12582912.0)).astype(one)
    n = t - one(12582912.0)
    fma = lambda a, b, c: (a.astype(float) * b + c).astype(one)  # noqa: E731  # a name for an expression
    r = fma(n, one(8.74227766e-8), fma(n, one(-3.14159274), x))
    z = r * r
    sign = np.where(n.astype(int) % 2, one(-1), one(1))
    y = np.full_like(z, 2.59990212e-6)
    for c in (-1.98065465e-4, 8.33301635e-3, -1.66666571e-1):
        y = fma(y, z, one(c))
    assert np.abs(sign * fma(r * z, y, r) - np.sin(x.astype(float))).max() < 2e-7
    y = np.full_like(z, -2.60756549e-7)
    for c in (2.47618077e-5, -1.38884021e-3, 4.16666406e-2, -4.99999995e-1, 1.0):
        y = fma(y, z, one(c))
    assert np.abs(sign * y - np.cos(x.astype(float))).max() < 2e-7


def test_without_a_gpu_it_says_what_to_do():
    warp = needed("warp")
    if warp.is_cuda_available():
        pytest.skip("there is a GPU")
    with pytest.raises(NotAvailable, match="no NVIDIA GPU here; run it where `nvidia-smi` shows one"):
        candidates.check_place("gpu")


def test_places_and_precisions_are_known_by_name(here):
    with pytest.raises(UnknownName, match="place to run on 'tpu'"):
        candidates.check_place("tpu")
    system = system_of("coulomb, position")
    rows = hold_inputs(command()[:, None], np.full(T, DT))
    with pytest.raises(UnknownName, match="precision 'half'"):
        kernels(system).cost(
            [list(system.parameters.values())],
            [0.0, 0.0],
            rows,
            1,
            np.zeros(T + 1),
            on="gpu",
            precision="half",
        )


def test_what_was_written_for_a_gpu_is_kept_beside_the_kernels(here):
    system = system_of("m6, servo")
    rows = hold_inputs(command()[:, None], np.full(T, DT))
    P, s0, y = case(system, rows)
    kernels(system).cost(P, s0, rows, 2, y, on="gpu", precision="double")
    kept = cache.directory()
    assert kept is not None
    assert list((kept / "warp").glob("backemf_population_*.py"))
