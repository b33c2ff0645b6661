"""The traced step as C: every primitive as JAX has it, compiled without a warning, with the engine's own
numbers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest

import backemf as be
from backemf.engine.compile.dialects.c_dialect import declarations, declare, emit, words
from backemf.engine.compile.ir import Graph, Level, Tangents, evaluate
from backemf.engine.compile.lower import lower_hosted
from backemf.engine.compile.trace import trace
from backemf.engine.hosted_system import hosted_system
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem

from ...conftest import unavailable
from .test_primitives import ALL, NEWER, POINTS, A
from .test_torch import CASES, RARE, H, actuator

STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Werror")


@pytest.fixture(autouse=True)
def _compiler():
    if shutil.which("gcc") is None:
        unavailable("gcc")


def built(source: str, folder: Path, *more: str) -> ctypes.CDLL:
    (folder / "made.c").write_text(source)
    command = [
        "gcc",
        *STRICT,
        "-O2",
        "-ffp-contract=off",
        "-fPIC",
        "-shared",
        "made.c",
        "-o",
        "made.so",
        "-lm",
    ]
    done = subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "made.so"))


def test_every_row_and_corner_is_as_jax_has_it(tmp_path):
    """One function a row, all in one file."""
    c, texts, names = words("double"), [], [name for name in ALL if name not in NEWER]
    for name in names:
        graph = Graph()
        x, a = graph.leaf("s0", Level.STATE), graph.leaf("p0", Level.PARAMETER)
        (node,) = evaluate(trace(lambda x, a, name=name: [ALL[name](x, a)], 2), [x, a], Tangents(graph))
        levels = (Level.CONSTANT, Level.PARAMETER, Level.STATE)
        lines = [*declare([node], levels, "double", c), *c.statements([node], *levels)]
        body = ["(void)s0; (void)p0;", *lines, f"return {c.text(node)};"]
        texts.append(f"double row_{len(texts)}(double s0, double p0) {{\n" + "\n".join(body) + "\n}\n")
    library = built(
        "#include <math.h>\n"
        + "".join(f"double row_{k}(double, double);\n" for k in range(len(names)))
        + "".join(texts),
        tmp_path,
    )
    for k, name in enumerate(names):
        function = getattr(library, f"row_{k}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 2
        with jax.enable_x64(True):
            expected = np.array([float(ALL[name](jax.numpy.asarray(p), A)) for p in POINTS])
        found = np.array([function(p, A) for p in POINTS])
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15, err_msg=name)


def run(act: be.Actuator, real: str, folder: Path, steps: int, n: int = 24):
    """Largest difference from the engine's stepper over a varied motion, by state, and each state's size."""
    system = hosted_system(act)
    lowered = lower_hosted(system)
    text = f"#include <math.h>\n{declarations('servo', lowered, real)}{emit('servo', lowered, real)}"
    library = built(text, folder)
    kind = np.float64 if real == "double" else np.float32
    number = ctypes.c_double if real == "double" else ctypes.c_float
    library.servo_advance.restype = library.servo_load_seen.restype = number
    library.servo_armature.restype = ctypes.c_double
    pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)  # noqa: E731  # a name for an expression
    p = np.array([*system.parameters.values()])
    kept, kept_load = np.zeros(200, kind), np.zeros(200, kind)
    library.servo_prepare(pointer(p), ctypes.c_double(H), pointer(kept))
    library.servo_prepare_load(pointer(p), ctypes.c_double(H), pointer(kept_load))
    assert library.servo_armature(pointer(p)) == pytest.approx(float(system.armature(tuple(p))), rel=1e-14)
    engine = stepper(ActuatorSystem(actuator=act, bench=system.bench, inputs=system.inputs), n)
    rng = np.random.default_rng(0)
    size, frequency = rng.uniform(0.1, 1, n), rng.uniform(0.3, 3, n)
    inertia, load = rng.uniform(0.002, 0.02, n), rng.uniform(0, 0.3, n)
    state = engine.start(position=rng.normal(0, 0.3, n))
    s, carried = state.astype(kind), np.zeros_like(state, dtype=kind)
    worst, largest, v = np.zeros(state.shape[1]), np.zeros(state.shape[1]), system.states.index("velocity")
    for k in range(steps):
        asked = [
            size * np.sin(2 * np.pi * frequency * k * H) * (0.1 if t == "torque_target" else 1.0)
            for t in system.inputs[2:]
        ]
        u = np.stack([inertia, load * np.sin(3 * k * H), *asked], axis=1)
        state = engine(state, u, H)
        given = u.astype(kind)
        for i in range(n):
            before = number(s[i, v])
            effort = library.servo_advance(
                pointer(kept), pointer(s[i]), pointer(carried[i]), pointer(given[i])
            )
            if i == 0:
                seen = library.servo_load_seen(
                    pointer(kept_load), pointer(given[i]), before, number(s[i, v]), number(effort)
                )
                assert seen == pytest.approx(given[i, 1], abs=1e-9 if real == "double" else 2e-2)
        worst = np.maximum(worst, np.abs(s - state).max(axis=0))
        largest = np.maximum(largest, np.abs(state).max(axis=0))
    return dict(zip(system.states, worst, strict=True)), dict(zip(system.states, largest, strict=True))


@pytest.mark.parametrize("name", [*CASES, *RARE])
def test_doubles_are_the_engines(name, tmp_path):
    worst, largest = run(actuator(name), "double", tmp_path, 150)
    for state, difference in worst.items():
        assert difference <= 1e-11 * max(largest[state], 1.0), state


@pytest.mark.parametrize("name", CASES)
def test_floats_stay_within_a_microradian_over_a_thousand_steps(name, tmp_path):
    """As the torch file does; without what is carried from step to step it would be ten times as far."""
    worst, _ = run(actuator(name), "float", tmp_path, 1000)
    assert worst["position"] < 1e-6
