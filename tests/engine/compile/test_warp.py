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

from backemf.engine.compile.dialects.warp_dialect import HELPERS, words
from backemf.engine.compile.ir import Graph, Level, Tangents, evaluate
from backemf.engine.compile.passes import is_truth
from backemf.engine.compile.trace import trace

from ...conftest import unavailable
from .test_primitives import ALL, NEWER, POINTS, A


@pytest.fixture(scope="module")
def wp() -> Any:
    if importlib.util.find_spec("warp") is None:
        unavailable("warp-lang")
    import warp  # pyright: ignore[reportMissingImports]  # a peer

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
