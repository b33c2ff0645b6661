"""The traced step as JavaScript: every primitive as JAX has it, every variant step by step as the physics
itself, rows and delays as the engine lays them out, in node and in a browser."""

from __future__ import annotations

from importlib.resources import files

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import backemf as be
from backemf.engine import reference
from backemf.engine.compile.dialects.js import JS, emit
from backemf.engine.compile.ir import Graph, Level, Tangents, evaluate
from backemf.engine.compile.lower import lower
from backemf.engine.compile.trace import PRIMITIVES, trace
from backemf.engine.rows import Delay
from backemf.engine.system import ActuatorSystem

from ...browser import node, opened
from ...model.variants import variants
from ..lockstep import asked_of, brought_to_rest
from .test_primitives import ALL, NEWER, POINTS, A

ROWS = files("backemf.engine").joinpath("rows.js").read_text(encoding="utf-8")
LOCKSTEP = """
function lockstep(kernel, given) {
  const { P, start, rows, widths } = given;
  const way = runOf(kernel, Float64Array.from(P), start, rows, 1, widths, [], []).states;
  return { way: Array.from(way) };
}
function steps(kernel, given) {
  const { P, states, rows, widths } = given, after = [], n = rows.dt.length;
  for (let k = 0; k + 1 < n; k++) {
    const s = Float64Array.from(states[k]), all = new Float64Array(n * widths.states);
    const seen = new Float64Array(n * widths.seen);
    kernel(Float64Array.from(P), s, rows, k, k + 2, 1, all, seen);
    after.push([Array.from(s), Array.from(seen.subarray(k * widths.seen, (k + 1) * widths.seen))]);
  }
  return after;
}
"""


def test_every_row_and_corner_is_as_jax_has_it():
    """One function a row, all in one script."""
    names, levels = [n for n in ALL if n not in NEWER], (Level.CONSTANT, Level.PARAMETER, Level.STATE)
    bodies = []
    for name in names:
        graph = Graph()
        x, a = graph.leaf("s0", Level.STATE), graph.leaf("p0", Level.PARAMETER)
        (made,) = evaluate(trace(lambda x, a, name=name: [ALL[name](x, a)], 2), [x, a], Tangents(graph))
        lines = "\n".join([*JS.statements([made], *levels), f"return {JS.text(made)};"])
        bodies.append(f"(s0, p0) => {{\n{lines}\n}}")
    text = f"const F = [{', '.join(bodies)}];\nfunction answer(g) {{ return F.map("
    text += "(f) => g.x.map((x) => { const y = f(x, g.a); return Number.isFinite(y) ? y : String(y); })); }"
    found = node(text, {"x": POINTS.tolist(), "a": A})  # -0.0 is written, and read, as such
    for name, values in zip(names, found, strict=True):
        with jax.enable_x64(True):
            expected = np.asarray(jax.vmap(lambda x, name=name: 1.0 * ALL[name](x, A))(jnp.asarray(POINTS)))
        numbers = np.array([float(v.replace("Infinity", "inf")) if isinstance(v, str) else v for v in values])
        np.testing.assert_allclose(numbers, expected, rtol=1e-12, atol=1e-15, err_msg=name)


def test_the_table_has_every_row():
    assert JS.primitives.keys() == PRIMITIVES


def system_of(name: str, **more) -> ActuatorSystem:
    actuator, bench, asked = variants()[name]
    return ActuatorSystem(actuator=actuator, bench=bench, inputs=tuple(sorted(asked)), **more)


def told(system: ActuatorSystem, asked: dict[str, float]) -> dict:
    inputs, dt = asked_of(asked)
    rows = {"values": inputs.ravel().tolist(), "dt": dt.tolist()}
    rows |= {"before": rows["values"], "share": [0.0] * len(dt)}
    start = system.actuator.initial_state(position=0.15)
    widths = {"states": len(system.states), "seen": len(system.outputs)}
    given = {"P": list(system.parameters.values()), "start": list(start.values())}
    return {**given, "rows": rows, "widths": widths}


@pytest.fixture(scope="module")
def walked():
    """For every variant: its system, states on the way, and what one step makes of each; by node."""
    systems = {name: system_of(name, outputs=variants()[name][0].states) for name in variants()}
    kernels = "\n".join(emit(f"k{i}", lower(s)) for i, s in enumerate(systems.values()))
    text = f"{ROWS}{kernels}{LOCKSTEP}const K = [{', '.join(f'k{i}' for i in range(len(systems)))}];"
    given = [told(system, variants()[name][2]) for name, system in systems.items()]
    ways = node(f"{text}function answer(g) {{ return g.map((one, i) => lockstep(K[i], one).way); }}", given)
    for one, system, way in zip(given, systems.values(), ways, strict=True):
        states = np.array(way, float).reshape(-1, len(system.states))
        assert np.isfinite(states).all()
        one["states"] = brought_to_rest(system, states).tolist()
    after = node(f"{text}function answer(g) {{ return g.map((one, i) => steps(K[i], one)); }}", given)
    return {name: (systems[name], one, rows) for name, one, rows in zip(systems, given, after, strict=True)}


@pytest.mark.parametrize("name", variants())
def test_one_step_is_the_physics_own(name, walked):
    """From rest, in motion and saturated: within 1e-12 of the greatest value on the way, which is rounding of
    a few hundred operations."""
    system, given, after = walked[name]
    found = np.array([states for states, _ in after])
    n = len(found)
    S = np.array(given["states"])[:n]
    U = np.array(given["rows"]["values"]).reshape(len(S) + 1, -1)[:n]
    with jax.enable_x64(True):
        columns = [jnp.asarray(c) for c in S.T], [jnp.asarray(c) for c in U.T]
        P = tuple(jnp.asarray(p) for p in given["P"])
        expected = system.step(P, *columns, jnp.asarray(given["rows"]["dt"][:n]))
        expected = np.stack([np.broadcast_to(np.asarray(x), n) for x in expected], axis=1)
    allowed = 1e-12 * np.max(np.abs(expected), axis=0)
    assert (np.abs(found - expected).max(axis=0) <= allowed).all()
    np.testing.assert_array_equal([seen for _, seen in after], S)  # the outputs are the states here


FOLLOWED = """
function answer(g) {
  const rows = rowsOf(Float64Array.from(g.times), Float64Array.from(g.asked), g.width, g.delay, g.moved);
  const run = runOf(kernel, Float64Array.from(g.P), g.start, rows, g.n, g.widths, g.restarts, g.pairs);
  return { values: Array.from(rows.values), before: Array.from(rows.before), share: Array.from(rows.share),
    states: Array.from(run.states), seen: Array.from(run.seen) };
}
"""


def followed(name: str = "drive-servo", delay: float = 0.0047, n: int = 3) -> tuple:
    """(text of a script, what it is given, the system, rows by Python)."""
    system = system_of(name, outputs=("position", "current"))
    rng = np.random.default_rng(0)
    times = np.cumsum(2e-3 * rng.uniform(0.5, 1.5, 300))
    asked = np.repeat(rng.uniform(-1, 1, (60, 1)), 5, axis=0)
    columns = {"enabled": np.ones(300), "position_target": asked[:, 0], "supply": np.full(300, 11.0)}
    values = np.stack([columns[name] for name in system.inputs], axis=1)
    moved = [name == "position_target" for name in system.inputs]
    start = system.actuator.initial_state({k: float(v[0]) for k, v in columns.items()}, position=0.1)
    given = {"times": times.tolist(), "asked": values.ravel().tolist(), "width": values.shape[1]}
    given |= {"delay": delay, "moved": moved, "P": list(system.parameters.values()), "n": n}
    given |= {"start": list(start.values()), "widths": {"states": len(system.states), "seen": 2}}
    given |= {"restarts": [], "pairs": [[0, 1]]}
    text = ROWS + emit("kernel", lower(system, delayed=delay != 0)) + FOLLOWED
    rows = Delay(values, times, delay, moved).rows() if delay else None
    return text, given, system, rows


def test_a_late_command_is_laid_out_and_followed_as_the_engine_does():
    """Over 900 steps of a stiff servo the differences of one step grow to 1e-10 at most."""
    text, given, system, rows = followed()
    found = node(text, given)
    assert rows is not None
    n, width = len(rows.dt), given["width"]
    for name, expected in (("values", rows.values), ("before", rows.before)):
        np.testing.assert_array_equal(np.array(found[name]).reshape(-1, width)[:n], expected)
    np.testing.assert_allclose(found["share"][:n], rows.switch, atol=1e-12)
    assert np.count_nonzero(rows.switch) > 50  # it does change inside intervals
    expected = reference.run(system, given["P"], given["start"], rows, given["n"])
    states = np.array(found["states"]).reshape(expected.shape)
    np.testing.assert_allclose(states, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    seen = np.array(found["seen"]).reshape(-1, 2)
    np.testing.assert_array_equal(seen[:, 0], states[:, 0])
    assert np.abs(seen[:, 1]).max() > 0.1  # a current flows


def test_a_motion_that_starts_anew_does():
    text, given, _, _ = followed(delay=0.0)
    given["restarts"] = [[100, 0.5, -2.0]]
    whole = np.array(node(text, {**given, "restarts": []})["states"]).reshape(300, -1)
    parts = np.array(node(text, given)["states"]).reshape(300, -1)
    np.testing.assert_array_equal(parts[:100], whole[:100])
    assert parts[100, :2].tolist() == [0.5, -2.0]
    assert abs(parts[101] - whole[101]).max() > 0.01


def test_a_browser_has_the_same_numbers():
    """Its Math is its own: within 1e-12 after a step, and what that grows to over hundreds."""
    scripts = {"late": followed()[:2]}
    for name in ("friction-load-lugre", "backlash-m4"):
        system = system_of(name)
        text = f"{ROWS}{emit('kernel', lower(system))}{LOCKSTEP}"
        text += "function answer(g) { return { states: lockstep(kernel, g).way }; }"
        scripts[name] = text, told(system, variants()[name][2])
    with opened("<title>kernel</title>") as page:
        for name, (text, given) in scripts.items():
            there = page.evaluate(f"(given) => {{ 'use strict'; {text}; return answer(given); }}", given)
            expected = np.array(node(text, given)["states"], float)
            allowed = 1e-10 * np.abs(expected).max()
            np.testing.assert_allclose(there["states"], expected, rtol=0, atol=allowed, err_msg=name)


def test_a_kernel_asks_for_nothing_but_arithmetic():
    """No eval, no Function, nothing of the page: only Math, Number and its own names."""
    text = emit("kernel", lower(system_of("motor-limited-lugre"), delayed=True))
    for word in ("eval", "Function", "document", "window", "import", "require", "fetch"):
        assert word not in text


def test_parts_of_equal_structure_share_a_kernel():
    one, two = be.Actuator.read("mx-64/m4"), be.Actuator.read("mx-106/m4")
    bench = be.bench.Pendulum(mass=0.5, length=0.1)
    texts = [
        emit("k", lower(ActuatorSystem(actuator=a, bench=bench, inputs=("position_target",))))
        for a in (one, two)
    ]
    assert texts[0] == texts[1]
