"""The traced step as torch code: every primitive as JAX has it, the engine's own numbers,
and a torque that a foreign simulator may apply."""

from __future__ import annotations

import importlib.util
from typing import Any

import jax
import numpy as np
import pytest

import backemf as be
from backemf.engine.compile.dialects.numba import NUMBA
from backemf.engine.compile.dialects.torch_dialect import TORCH, TorchLines, emit
from backemf.engine.compile.ir import Graph, Level, Tangents, evaluate
from backemf.engine.compile.lower import lower_hosted
from backemf.engine.compile.passes import change
from backemf.engine.compile.trace import PRIMITIVES, trace
from backemf.engine.hosted_system import hosted_system
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem

from ...conftest import unavailable
from .test_primitives import ALL, NEWER, POINTS, A

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

LUGRE = be.Actuator(
    motor=be.motor.Motor(
        resistance=2.0,
        torque_constant=0.05,
        rotor_inertia=2e-6,
        inductance=1e-3,
        thermal=be.motor.Thermal(resistance=8.0, capacitance=12.0),
    ),
    gearbox=be.gearbox.Gearbox(ratio=50.0),
    friction=be.friction.LuGre(
        coulomb=0.05, static=0.08, stribeck_velocity=0.1, viscous=0.02, stiffness=200.0, damping=0.3
    ),
    drive=be.drive.Position(
        volts_per_radian=20.0,
        volts_per_radian_second=5.0,
        volt_seconds_per_radian=0.1,
        integral_limit=0.3,
        supply=12.0,
        slew=6.0,
    ),
)
BACKLASH = be.Actuator(
    motor=be.motor.Motor(
        resistance=2.0,
        torque_constant=0.05,
        rotor_inertia=4e-6,
        limits=be.motor.Limits(continuous_current=1.0, peak_current=3.0, peak_time=0.5),
    ),
    gearbox=be.gearbox.Gearbox(ratio=50.0, backlash=0.01, contact_stiffness=300.0, contact_damping=0.5),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Impedance(newton_metres_per_radian=4.0, newton_metre_seconds_per_radian=0.1, supply=12.0),
)
TWO_NODES = be.Actuator(
    motor=be.motor.Motor(
        resistance=2.0,
        torque_constant=0.5,
        rotor_inertia=2e-3,
        iron_loss=1e-4,
        cogging=be.motor.Cogging(amplitude=0.02, periods=7.0),
        thermal=be.motor.TwoNodeThermal(
            winding_resistance=3.0, housing_resistance=8.0, winding_capacitance=5.0, housing_capacitance=60.0
        ),
    ),
    friction=be.friction.Dahl(coulomb=0.05, viscous=0.02, stiffness=100.0),
    drive=be.drive.Velocity(volt_seconds_per_radian=2.0, volts_per_radian=4.0, supply=12.0),
)
CASES = {"lugre": LUGRE, "mx-106/m6": "mx-106/m6", "xl430-w250": "xl430-w250", "sts3215-7.4v": "sts3215-7.4v"}
RARE = {"backlash": BACKLASH, "two nodes": TWO_NODES}
H = 2e-3


@pytest.fixture(autouse=True)
def _torch():
    if torch is None:
        unavailable("torch")


def actuator(name: str) -> be.Actuator:
    made = {**CASES, **RARE}[name]
    return be.Actuator.read(made) if isinstance(made, str) else made


def functions(source: str) -> dict:
    space = {"torch": torch}
    exec(compile(source, "emitted", "exec", dont_inherit=True), space)
    return space


def test_both_tables_have_the_same_rows():
    assert TORCH.primitives.keys() == NUMBA.primitives.keys() == PRIMITIVES


@pytest.mark.parametrize("name", [name for name in ALL if name not in NEWER])
def test_every_row_and_corner_is_as_jax_has_it(name):
    graph = Graph()
    x, a = graph.leaf("s0", Level.STATE), graph.leaf("p0", Level.PARAMETER)
    (node,) = evaluate(trace(lambda x, a: [ALL[name](x, a)], 2), [x, a], Tangents(graph))
    lines = TorchLines([node], ())
    space = {
        "torch": torch,
        "one": torch.ones((), dtype=torch.float64),
        "s0": torch.tensor(POINTS),
        "p0": torch.tensor(A, dtype=torch.float64),
    }
    exec("\n".join([*lines.lines, f"result = {lines.name(node)}"]), space)
    with jax.enable_x64(True):
        expected = np.array([float(ALL[name](jax.numpy.asarray(p), A)) for p in POINTS])
    found = np.broadcast_to(np.asarray(space["result"], float), POINTS.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_a_change_is_written_without_what_it_is_added_to():
    graph = Graph()
    s, x, y = (graph.leaf(name, Level.STATE) for name in ("s", "x", "y"))
    apply, one = graph.apply, graph.constant(1.0)
    assert change(graph, s, s) is graph.constant(0.0)
    assert change(graph, apply("add", s, x), s) is x
    assert change(graph, apply("min", apply("add", s, x), y), s) is apply("min", x, apply("sub", y, s))
    assert change(graph, apply("select", apply("gt", x, y), x, apply("add", s, y)), s) is apply(
        "select", apply("gt", x, y), apply("sub", x, s), y
    )
    away = apply("sub", s, y)
    assert change(graph, apply("add", y, apply("mul", away, apply("exp", x))), s) is apply(
        "mul", away, apply("expm1", x)
    )
    assert change(graph, apply("add", y, apply("mul", away, apply("add", one, x))), s) is apply(
        "mul", away, x
    )
    assert change(graph, apply("mul", s, x), s) is None


def run(
    name: str, dtype: str, steps: int, n: int = 64 * 12
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Largest difference from the engine's stepper over a varied motion, for each joint, and the size of each
    state."""
    act = actuator(name)
    system = hosted_system(act)
    space, kind = functions(emit(lower_hosted(system))), getattr(torch, dtype)
    summed = lower_hosted(system).summed
    engine = stepper(ActuatorSystem(actuator=act, bench=system.bench, inputs=system.inputs), n)
    rng = np.random.default_rng(0)
    size, frequency, inertia, load = (
        rng.uniform(0.1, 1, n),
        rng.uniform(0.3, 3, n),
        rng.uniform(0.002, 0.02, n),
        rng.uniform(0, 0.3, n),
    )
    state = engine.start(position=rng.normal(0, 0.3, n))
    s = [torch.tensor(column, dtype=kind) for column in state.T]
    carried = [torch.zeros_like(x) for x in s]
    p = [torch.tensor(value, dtype=torch.float64) for value in system.parameters.values()]
    kept = space["prepare"](p, torch.tensor(H, dtype=torch.float64), kind)
    worst, largest = np.zeros((n, len(s))), np.zeros(len(s))
    for k in range(steps):
        asked = [
            size * np.sin(2 * np.pi * frequency * k * H) * (0.1 if t == "torque_target" else 1.0)
            for t in system.inputs[2:]
        ]
        u = np.stack([inertia, load * np.sin(3 * k * H), *asked], axis=1)
        state = engine(state, u, H)
        *changes, _ = space["advance"](kept, s, [torch.tensor(column, dtype=kind) for column in u.T])
        for i, d in enumerate(changes):
            total = d + carried[i] if summed[i] else d
            after = s[i] + total
            if summed[i]:
                carried[i] = total - (after - s[i])
            s[i] = after.expand(n)
        worst = np.maximum(worst, np.abs(np.stack([x.numpy() for x in s], axis=1) - state))
        largest = np.maximum(largest, np.abs(state).max(axis=0))
    return dict(zip(system.states, worst.T, strict=True)), dict(zip(system.states, largest, strict=True))


@pytest.mark.parametrize("name", [*CASES, *RARE])
def test_sixty_four_bits_are_the_engines(name):
    worst, largest = run(name, "float64", 150)
    for state, difference in worst.items():
        assert difference.max() <= 1e-11 * max(largest[state], 1.0), state


@pytest.mark.parametrize("name", CASES)
def test_thirty_two_bits_stay_within_a_microradian_over_a_thousand_steps(name):
    worst, largest = run(name, "float32", 1000)
    assert worst["position"].max() < 1e-6  # rad, absolute
    # A joint whose torque passes a kink of the friction law within rounding takes the other side's slope for
    # one step: one joint in a thousand, and it forgets.
    assert np.quantile(worst["velocity"], 0.998) < 1e-6 * largest["velocity"]
    assert worst["velocity"].max() < 2e-5 * largest["velocity"]
    for (
        state,
        difference,
    ) in worst.items():  # a stiff bristle and a current's exponential pass on the velocity's
        assert np.quantile(difference, 0.998) < 1e-5 * largest[state], state


@pytest.mark.parametrize("name", [*CASES, "backlash"])
def test_the_effort_takes_a_foreign_joint_where_the_engine_goes(name):
    """v + h (effort + load) / J is the engine's next velocity, from moving,
    stopping and resting states alike."""
    act = actuator(name)
    system = hosted_system(act)
    space, n = functions(emit(lower_hosted(system))), 200
    rng = np.random.default_rng(1)
    engine = stepper(ActuatorSystem(actuator=act, bench=system.bench, inputs=system.inputs), n)
    velocity = np.select(
        [np.arange(n) % 3 == 0, np.arange(n) % 3 == 1], [0.0, rng.normal(0, 1e-3, n)], rng.normal(0, 2, n)
    )
    state = engine.start(position=rng.normal(0, 0.3, n), velocity=velocity)
    u = np.stack(
        [
            rng.uniform(0.002, 0.02, n),
            rng.normal(0, 0.1, n),
            *[rng.normal(0, 0.05, n)] * (len(system.inputs) - 2),
        ],
        axis=1,
    )
    p, h = (
        [torch.tensor(value, dtype=torch.float64) for value in system.parameters.values()],
        torch.tensor(H, dtype=torch.float64),
    )
    columns = [torch.tensor(x) for x in u.T]
    effort = space["advance"](
        space["prepare"](p, h, torch.float64), [torch.tensor(x) for x in state.T], columns
    )[-1].numpy()
    armature = float(space["prepare_armature"](p, h, torch.float64)[1])
    after = engine(state, u, H)[:, 1]
    np.testing.assert_allclose(
        velocity + H * (effort + u[:, 1]) / (u[:, 0] + armature), after, rtol=1e-9, atol=1e-12
    )
    if name != "backlash" and not act.friction.bristle:
        assert (after == 0).any()  # some stick, some move
        assert (after != 0).any()
    seen = space["load_seen"](
        space["prepare_load"](p, h, torch.float64),
        columns,
        *(torch.tensor(x) for x in (velocity, after, effort)),
    )
    np.testing.assert_allclose(seen.numpy(), u[:, 1], atol=1e-9)
