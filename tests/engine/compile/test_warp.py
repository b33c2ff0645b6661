"""The traced step as Warp kernels, on Warp's CPU device: every primitive as JAX has it, and the engine's own
numbers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import backemf as be
from backemf.engine.compile.dialects.warp import HELPERS, emit, words
from backemf.engine.compile.ir import Graph, Level, Tangents, evaluate
from backemf.engine.compile.lower import lower_attached
from backemf.engine.compile.passes import is_truth
from backemf.engine.compile.trace import trace
from backemf.engine.hosted import attached
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem

from ...conftest import unavailable
from .test_primitives import ALL, NEWER, POINTS, A
from .test_torch import CASES, RARE, H, actuator


@pytest.fixture(scope="module")
def wp() -> Any:
    if importlib.util.find_spec("warp") is None:
        unavailable("warp-lang")
    import warp

    warp.config.log_level = warp.LOG_ERROR
    warp.init()
    return warp


def loaded(name: str, text: str, folder: Path) -> Any:
    """The text as a module: Warp reads kernels from their file."""
    path = folder / f"{name}.py"
    path.write_text("import warp as wp\n\n" + text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_every_row_and_corner_is_as_jax_has_it(wp, tmp_path):
    real, names = "wp.float64", [name for name in ALL if name not in NEWER]
    w, lines = words(real), [HELPERS.format(real=real), "", "@wp.kernel"]
    lines.append("def rows(x: wp.array(dtype=wp.float64), a: wp.float64, y: wp.array2d(dtype=wp.float64)):")
    lines += ["    c = wp.tid()", "    s0 = x[c]", "    p0 = a"]
    for k, name in enumerate(names):
        graph = Graph()
        x, a = graph.leaf("s0", Level.STATE), graph.leaf("p0", Level.PARAMETER)
        (node,) = evaluate(trace(lambda x, a, name=name: [ALL[name](x, a)], 2), [x, a], Tangents(graph))
        written = w.statements([node], Level.CONSTANT, Level.PARAMETER, Level.STATE)
        mine = [line.replace("v", f"r{k}v").replace(f"in{'r'}{k}v", "inv") for line in written]
        result = w.text(node).replace("v", f"r{k}v")
        if is_truth(node):
            result = f"wp.where({result}, wp.float64(1.0), wp.float64(0.0))"
        lines += [f"    {line}" for line in mine] + [f"    y[{k}, c] = {result}"]
    module = loaded("warp_rows", "\n".join(lines) + "\n", tmp_path)
    points = wp.array(POINTS, dtype=wp.float64, device="cpu")
    found = wp.zeros((len(names), len(POINTS)), dtype=wp.float64, device="cpu")
    wp.launch(module.rows, dim=len(POINTS), inputs=[points, A, found], device="cpu")
    for name, row in zip(names, found.numpy(), strict=True):
        with jax.enable_x64(True):
            expected = np.array([float(ALL[name](jax.numpy.asarray(p), A)) for p in POINTS])
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-15, err_msg=name)


def run(wp: Any, name: str, real: str, folder: Path, steps: int, n: int = 96):
    """Largest difference from the engine's stepper over a varied motion, by state, and each state's size."""
    act: be.Actuator = actuator(name)
    system = attached(act)
    lowered = lower_attached(system)
    module = loaded(f"warp_{abs(hash((name, real)))}", emit(lowered, real), folder)
    kind = wp.float64 if real == "wp.float64" else wp.float32
    # a name for an expression:
    array = lambda x: wp.array(np.ascontiguousarray(x), dtype=kind, device="cpu")  # noqa: E731
    p = np.repeat(np.array([[*system.parameters.values()]]).T, n, axis=1)
    P, kept = wp.array(p, dtype=wp.float64, device="cpu"), wp.zeros((200, n), dtype=kind, device="cpu")
    # a name for an expression:
    go = lambda kernel, *given: wp.launch(kernel, dim=n, inputs=list(given), device="cpu")  # noqa: E731
    go(module.prepare, P, H, kept)
    kept_load, J = wp.zeros((200, n), dtype=kind, device="cpu"), wp.zeros(n, dtype=kind, device="cpu")
    go(module.prepare_load, P, H, kept_load)
    go(module.armature, P, J)
    assert J.numpy()[0] == pytest.approx(float(system.armature(tuple(p[:, 0]))), rel=1e-6)
    engine = stepper(ActuatorSystem(actuator=act, bench=system.bench, inputs=system.inputs), n)
    rng = np.random.default_rng(0)
    size, frequency = rng.uniform(0.1, 1, n), rng.uniform(0.3, 3, n)
    inertia, load = rng.uniform(0.002, 0.02, n), rng.uniform(0, 0.3, n)
    state = engine.start(position=rng.normal(0, 0.3, n))
    S, carried = array(state.T), array(np.zeros_like(state.T))
    effort, seen = array(np.zeros(n)), array(np.zeros(n))
    worst, largest, v = np.zeros(state.shape[1]), np.zeros(state.shape[1]), system.states.index("velocity")
    for k in range(steps):
        asked = [
            size * np.sin(2 * np.pi * frequency * k * H) * (0.1 if t == "torque_target" else 1.0)
            for t in system.inputs[2:]
        ]
        u = np.stack([inertia, load * np.sin(3 * k * H), *asked], axis=1)
        state = engine(state, u, H)
        before, U = array(S.numpy()[v]), array(u.T)
        go(module.advance, kept, S, carried, U, effort)
        go(module.load_seen, kept_load, U, before, array(S.numpy()[v]), effort, seen)
        off = np.abs(seen.numpy() - u[:, 1]).max()
        assert off < (1e-9 if real == "wp.float64" else 0.05)
        worst = np.maximum(worst, np.abs(S.numpy().T - state).max(axis=0))
        largest = np.maximum(largest, np.abs(state).max(axis=0))
    return dict(zip(system.states, worst, strict=True)), dict(zip(system.states, largest, strict=True))


@pytest.mark.parametrize("name", [*CASES, *RARE])
def test_sixty_four_bits_are_the_engines(wp, name, tmp_path):
    worst, largest = run(wp, name, "wp.float64", tmp_path, 150)
    for state, difference in worst.items():
        assert difference <= 1e-11 * max(largest[state], 1.0), state


@pytest.mark.parametrize("name", CASES)
def test_thirty_two_bits_stay_within_a_microradian_over_a_thousand_steps(wp, name, tmp_path):
    worst, _ = run(wp, name, "wp.float32", tmp_path, 1000)
    assert worst["position"] < 1e-6
