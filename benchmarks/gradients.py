"""What the file for JAX costs on one core: a step of many joints in `lax.scan`, and a gradient in rollouts.

    taskset -c 0 python benchmarks/gradients.py            both, in 32 bits; half a minute
    python benchmarks/gradients.py --joints 49152          as many as 4096 environments of twelve have, where
                                                           a GPU is the device
    python benchmarks/gradients.py --json out.json         the numbers besides
    taskset -c 0 python benchmarks/gradients.py --numbers  docs/numbers.json gets them

CPU time of this process where the device is a CPU, the clock elsewhere. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from measured_numbers import record

import backemf as be
from backemf.targets.training.jax import load_file

PART, TIMESTEP, INERTIA = "mx-106/m6", 0.002, 0.02
STEPS, ROUNDS = 200, 7
MOST_US, MOST_ROLLOUTS = 45.0, 13.0
"""What a step of 4096 joints and a value with its gradient may cost on one core."""


def least(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of several calls, the first not counted."""
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    jax.block_until_ready(call())
    spent = []
    for _ in range(ROUNDS):
        began = clock()
        jax.block_until_ready(call())
        spent.append(clock() - began)
    return min(spent)


def file_functions() -> dict[str, Any]:
    """The functions of the file for a servo with delay and slew, all 22 of its numbers."""
    servo = be.Actuator.read(PART).replace(**{"drive.delay": 0.0055, "drive.slew": 6.0})
    return load_file({k: str(v) for k, v in be.export(servo, "jax", replay=False).files.items()})


def swing(file: dict[str, Any], p: Any, asked: Any) -> Any:
    """Positions of joints that carry an inertia, `STEPS` steps after they were asked to move."""

    def one(memory: Any, u: Any, q: Any, w: Any) -> Any:
        memory, effort = file["step"](p, memory, u, q, w, TIMESTEP, inertia=INERTIA)
        w = w + TIMESTEP * effort / (INERTIA + file["armature"](p))
        return memory, q + TIMESTEP * w, w

    def step(carried: Any, _: Any) -> Any:
        memory, q, w = carried
        return jax.vmap(one)(memory, asked, q, w), None

    memory = jax.vmap(lambda _: file["init"](p, TIMESTEP))(asked)
    start = (memory, jnp.zeros_like(asked), jnp.zeros_like(asked))
    return jax.lax.scan(step, start, None, length=STEPS)[0][1]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--joints", type=int, default=4096)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    asked = parser.parse_args(words)
    if asked.quick:
        asked.joints = 2
    file, targets = file_functions(), jnp.linspace(-0.6, 0.6, asked.joints, dtype=jnp.float32)
    p = {path: jnp.float32(value) for path, value in file["params"]().items()}
    many = jax.jit(lambda p: swing(file, p, targets))
    a_step = 1e6 * least(lambda: many(p)) / STEPS

    def loss(p: Any) -> Any:
        return jnp.sum(swing(file, p, targets[:64]) ** 2)

    if asked.quick:
        print(f"a step of {asked.joints} joints: {a_step:.1f} us")
        return 0
    value, both = jax.jit(loss), jax.jit(jax.value_and_grad(loss))
    rollouts = least(lambda: both(p)) / least(lambda: value(p))
    device = jax.devices()[0]
    print(f"{PART} with delay and slew, JAX {jax.__version__} on {device.device_kind}, 32 bits")
    print(f"a step of {asked.joints} joints in lax.scan: {a_step:.1f} us (at most {MOST_US:g} for 4096)")
    print(f"value and gradient in {len(p)} numbers: {rollouts:.1f} rollouts (at most {MOST_ROLLOUTS:g})")
    if asked.json:
        found = {"device": device.device_kind, "step_us": a_step, "rollouts": rollouts}
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if asked.numbers:
        on_cpu = jax.default_backend() == "cpu"
        command = f"python benchmarks/gradients.py --joints {asked.joints} --numbers, on {device.device_kind}"
        record(
            "taskset -c 0 python benchmarks/gradients.py --numbers" if on_cpu else command,
            {
                f"jax.{'' if on_cpu else 'gpu_'}step_us": f"{a_step:.{0 if on_cpu else 1}f}",
                f"jax.{'' if on_cpu else 'gpu_'}gradient_rollouts": f"{rollouts:.0f}",
            },
        )
    return 0 if asked.joints != 4096 or (a_step <= MOST_US and rollouts <= MOST_ROLLOUTS) else 1


if __name__ == "__main__":
    raise SystemExit(main())
