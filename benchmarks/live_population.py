"""How many candidates a second? Populations on one core and, where there is one, on a GPU.

    python benchmarks/live_population.py            a table
    python benchmarks/live_population.py --json     one object

On the processor: the servo of benchmarks/engines.py (friction M4 on a pendulum), eight candidates in the
lanes of a vector against one after the other, and against lanes written by hand in C (engines_lanes.c), in
turn in one run and in CPU time. On a GPU: MX-106 with friction M6 on a pendulum, 24 parameters a candidate,
squared errors summed in the loop, kernels timed by events; costs are compared with those of 64 bits.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import backemf as be
from backemf.engine import candidates as population
from backemf.engine.compile import kernels as loops
from backemf.engine.compile.kernels import kernels
from backemf.engine.rows import hold_inputs
from backemf.engine.system import ActuatorSystem
from benchmarks.engines import DT, IN_C, S0, STEPS, SYSTEM, P, command, medians, rows

MANY, LANES_OF_C = 1024, 32
SIZES, COMPARED = (1 << 20, 1 << 14), 512
GPU_STEPS, ROUNDS = 4000, 3
M6 = ActuatorSystem(
    actuator=be.Actuator.read("mx-106/m6"),
    bench=be.bench.Pendulum(mass=0.9, length=0.18),
    inputs=("position_target",),
)


def candidates(n: int, p: np.ndarray, names: list[str], varied: Any) -> np.ndarray:
    """Numbers within a tenth of p, for the paths that vary."""
    many = np.tile(p, (n, 1))
    at = [names.index(name) for name in varied]
    many[:, at] *= np.random.default_rng(0).uniform(0.9, 1.1, (n, len(at)))
    return many


def c_lanes(many: np.ndarray, measured: np.ndarray) -> Callable[[], np.ndarray] | None:
    """The hand-written lanes, compiled for this machine; None without gcc."""
    if shutil.which("gcc") is None:
        return None
    library = str(Path(tempfile.mkdtemp()) / "lanes.so")
    flags = ["-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512", "-shared", "-fPIC"]
    source = str(Path(__file__).with_name("engines_lanes.c"))
    subprocess.run(["gcc", *flags, "-o", library, source, "-lm"], check=True)
    score, array = ctypes.CDLL(library).score, np.ctypeslib.ndpointer(dtype=np.float64, flags="C")
    count = ctypes.c_size_t
    score.argtypes, score.restype = [count, array, count, array, array, ctypes.c_double, array], None
    columns = [list(SYSTEM.parameters).index(name) for name in IN_C]
    blocks = many[:, columns].reshape(-1, LANES_OF_C, len(IN_C)).transpose(0, 2, 1)
    n = len(measured) - 1
    given, target, cost = np.ascontiguousarray(blocks), command(n), np.empty(len(many))

    def run() -> np.ndarray:
        score(len(given), given, n, target, measured, DT, cost)
        return cost

    return run


def check(n: int, many: int) -> None:
    """What is compared must be the same: costs of candidates over n steps, in lanes, alone and in C."""
    k, measured, few = kernels(SYSTEM), np.zeros(n + 1), many // 8
    p, log = candidates(many, P, list(SYSTEM.parameters), IN_C), rows(n)
    expected, c = k.cost(p, S0, log, 1, measured), c_lanes(p, measured)
    with one_by_one():
        np.testing.assert_allclose(k.cost(p[:few], S0, log, 1, measured), expected[:few], rtol=1e-9)
    if c is not None:  # other orders of sums, and -ffast-math: a slip may move by a step
        assert np.median(np.abs(c() / expected - 1)) < 1e-9


@contextlib.contextmanager
def one_by_one() -> Iterator[None]:
    """Candidates one after the other, however many there are."""
    least, loops.LEAST_IN_LANES = loops.LEAST_IN_LANES, 10**9
    try:
        yield
    finally:
        loops.LEAST_IN_LANES = least


def on_processor() -> dict[str, float | None]:
    """Million candidate-steps per core-second."""
    k, measured = kernels(SYSTEM), np.zeros(STEPS + 1)
    logs, many = k.batch(rows()), candidates(MANY, P, list(SYSTEM.parameters), IN_C)

    def alone() -> np.ndarray:
        with one_by_one():
            return k.cost(many[: MANY // 8], S0, logs, 1, measured)[:, 0]

    contenders: dict[str, Callable[[], Any]] = {"lanes": lambda: k.cost(many, S0, logs, 1, measured)[:, 0]}
    c = c_lanes(many, measured)
    contenders |= {"alone": alone} | ({"c": c} if c else {})
    check(STEPS, MANY)
    spent = medians(contenders, rounds=7)
    rate = {name: (MANY // 8 if name == "alone" else MANY) * STEPS / s / 1e6 for name, s in spent.items()}
    k6, rows6, y6 = kernels(M6), hold_inputs(command(STEPS)[:, None], np.full(STEPS, DT)), np.zeros(STEPS + 1)
    p6 = np.array(list(M6.parameters.values()))
    many6 = candidates(MANY, p6, list(M6.parameters), M6.parameters)
    spent6 = medians({"m6": lambda: k6.cost(many6, [0.0, 0.0], rows6, 1, y6)}, rounds=3)["m6"]
    return {
        "lanes_mcs": rate["lanes"],
        "alone_mcs": rate["alone"],
        "c_lanes_mcs": rate.get("c"),
        "lanes_over_c": rate["lanes"] / rate["c"] if c else None,
        "lanes_m6_mcs": MANY * STEPS / spent6 / 1e6,
    }


def on_gpu() -> dict[str, dict[str, float]]:
    """Candidate-steps a second, and how far costs are from those of 64 bits; empty without a GPU."""
    if importlib.util.find_spec("warp") is None:
        return {}
    import warp as wp  # pyright: ignore[reportMissingImports]  # optional

    if not wp.is_cuda_available():
        return {}
    found, p = {}, np.array(list(M6.parameters.values()))
    target = hold_inputs(command(GPU_STEPS)[:, None], np.full(GPU_STEPS, DT))
    log = kernels(M6).batch(target)
    nominal = population.outputs(M6, p[None], np.zeros((1, 2)), log, 1, precision="double")[0]
    y = nominal + np.random.default_rng(1).normal(0, 1e-3, nominal.shape)
    for n in SIZES:
        many = candidates(n, p, list(M6.parameters), M6.parameters)[:, None]
        start, weights = np.zeros((n, 1, 2)), np.ones_like(y)
        few = population.costs(M6, many[:COMPARED], start[:COMPARED], log, 1, y, weights, precision="double")
        for precision in population.PRECISIONS:
            timed: list[float] = []
            cost = few
            for _ in range(ROUNDS + 1):
                with wp.ScopedTimer("score", print=False, cuda_filter=wp.TIMING_KERNEL) as timer:
                    cost = population.costs(M6, many, start, log, 1, y, weights, precision=precision)
                timed.append(sum(x.elapsed for x in timer.timing_results) / 1e3)
            off = np.abs(cost[:COMPARED] / few - 1)
            found[f"{n} {precision}"] = {
                "rate": n * GPU_STEPS / float(np.median(timed[1:])),
                "median_off": float(np.median(off)),
                "most_off": float(np.max(off)),
            }
    return found


def measure() -> dict[str, Any]:
    return {"processor": on_processor(), "gpu": on_gpu()}


def table(found: dict[str, Any]) -> str:
    cpu = found["processor"]
    lines = [f"{'one core, M4':44s}{'million candidate-steps a second':>34s}"]
    names = {"lanes_mcs": "eight in the lanes of a vector", "c_lanes_mcs": "lanes written by hand in C"}
    names |= {"alone_mcs": "one after the other", "lanes_m6_mcs": "friction M6, in lanes"}
    for key, words in names.items():
        lines.append(f"  {words:42s}{'no gcc' if cpu[key] is None else f'{cpu[key]:.3g}':>34s}")
    if cpu["lanes_over_c"] is not None:
        lines.append(f"  {'lanes against C (aim: at least 0.6)':42s}{cpu['lanes_over_c']:>34.3g}")
    lines += ["", f"{'GPU, M6':28s}{'candidate-steps a second':>28s}{'cost off, median':>20s}{'most':>10s}"]
    for name, row in found["gpu"].items():
        n, precision = name.split()
        off = f"{row['median_off']:>20.2g}{row['most_off']:>10.2g}"
        lines.append(f"  {int(n):>9,d} {precision:16s}{row['rate']:>28.3g}{off}")
    return "\n".join(lines if found["gpu"] else [*lines[:-1], "no GPU here"])


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    if given.quick:
        check(300, 64)
        print("lanes, C and one after the other agree over 300 steps")
        return
    found = measure()
    print(json.dumps(found, indent=2) if given.json else table(found))


if __name__ == "__main__":
    main()
