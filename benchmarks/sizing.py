"""Sizing: CPU and memory of judging 2.6 million combinations of drawn parts, how both grow, and what a supply
adds to MuJoCo's step for twelve joints.

python benchmarks/sizing.py [--numbers] [--quick]
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import backemf as be
from backemf.sizing.components import MOTOR_COLUMNS, PartColumns
from backemf.sizing.judge import Judge
from backemf.tables import table
from benchmarks.measured_numbers import record

PICK = (
    "pendulum mass=1.5kg length=0.3m arm_mass=0.4kg",
    "trapezoid from=23deg to=100deg time=0.45s dwell=0.55s",
)
MOTORS, GEARS = 700, (942, 1884, 3768)
JOINTS, STEPS, TURNS = 12, 1500, 7


def drawn_judge(n: int, k: int) -> tuple[Judge, np.ndarray, np.ndarray]:
    """n motors from watches to wheels, each behind each of k gearheads: (judge, rows of both)."""
    rng = np.random.default_rng(0)
    size = np.exp(rng.uniform(-7.0, 0.0, n))
    K, none, one = 0.05 * size**0.3, np.zeros(n), np.ones(n)
    values = dict.fromkeys(MOTOR_COLUMNS, np.full(n, np.nan))
    values |= {"resistance": 10 * K * K / size, "torque_constant": K, "back_emf_constant": K}
    values |= {"rotor_inertia": 1e-5 * size**1.5, "viscous": none, "friction": 0.005 * size}
    values |= {"iron_loss": none, "ratio": one, "efficiency": one, "continuous_current": 5 * size**0.5}
    values |= {"R_1": 3 * one, "R_2": 10 / size**0.5, "C_1": 20 * size, "C_2": 200 * size}
    values |= {
        "alpha": 0.00393 * one,
        "reference": 25 * one,
        "max_temperature": 125 * one,
        "mass": 0.5 * size,
    }
    motors = PartColumns([str(j) for j in range(n)], values, {}, [()] * n)
    g = np.exp(rng.uniform(-7.0, 0.0, k))
    gears = {"ratio": rng.uniform(3, 300, k), "efficiency": rng.uniform(0.6, 0.95, k), "inertia": 1e-6 * g}
    gears |= {"peak_torque": 40 * g, "continuous_torque": 20 * g, "input_speed": 800 + 0 * g, "mass": 0.8 * g}
    gears |= {"price": np.nan * g, "wears": 0 * g}
    heads = PartColumns([str(j) for j in range(k)], gears, {}, [()] * k)
    judge = Judge(be.Task.of_bench(*PICK), motors, heads, 24.0, 25.0)
    return judge, np.repeat(np.arange(n, dtype=np.int32), k), np.tile(np.arange(k, dtype=np.int32), n)


def screened(n: int, k: int) -> tuple[int, int, float, float]:
    """(combinations, feasible, CPU seconds, MB that it takes at most beside the rows)."""
    judge, m, g = drawn_judge(n, k)
    judge.screen(m[:1000], g[:1000])  # what the task computes once
    begun = time.process_time()
    feasible = len(judge.screen(m, g).feasible)
    spent = time.process_time() - begun
    tracemalloc.start()
    judge.screen(m, g)
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return len(m), feasible, spent, most


def model_xml(joints: int) -> str:
    """Arms beside one another, each with a motor."""
    bodies, motors = "", ""
    for k in range(joints):
        bodies += (
            f"<body pos='{k} 0 0'><joint name='j{k}' axis='0 1 0'/>"
            "<geom type='capsule' size='.02' fromto='0 0 0 0 0 -.3' mass='1'/></body>"
        )
        motors += f"<motor joint='j{k}'/>"
    head = "<mujoco><option timestep='0.002'/><worldbody>"
    return f"{head}{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"


def supply_share(joints: int, steps: int, turns: int) -> float:
    """By how much a step of joints on one supply is longer than without; the quickest of some turns of each,
    taken by turns."""
    import mujoco

    runs = {}
    for name, supply in (("without", None), ("with", be.Supply(voltage=24.0, resistance=0.08))):
        spec = mujoco.MjSpec.from_string(model_xml(joints))
        motors = be.attach(spec, "mini-cheetah", supply=supply, check=False)
        data = mujoco.MjData(motors.model)
        data.ctrl[:] = 1.0
        mujoco.mj_step(motors.model, data, 200)
        runs[name] = (motors, data)
    best = dict.fromkeys(runs, np.inf)
    for _ in range(turns):
        for name, (motors, data) in runs.items():
            begun = time.process_time()
            mujoco.mj_step(motors.model, data, steps)
            best[name] = min(best[name], time.process_time() - begun)
    return best["with"] / best["without"] - 1.0


def main(words: Sequence[str] | None = None) -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    given.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    asked = given.parse_args(words)
    motors, gears, steps, turns = (20, (50, 100), 50, 1) if asked.quick else (MOTORS, GEARS, STEPS, TURNS)
    rows = [screened(motors, k) for k in gears]
    cells = [(f"{n:,}", f"{left:,}", f"{cpu:.2f}", f"{mb:.0f}") for n, left, cpu, mb in rows]
    print(table(cells, ("combinations", "feasible", "CPU [s]", "memory [MB]")))
    first, last = rows[0], rows[-1]
    growth = np.log(max(last[2], 1e-6) / max(first[2], 1e-6)) / np.log(last[0] / first[0])
    print(f"CPU grows with the number of combinations to the power of {growth:.2f}.")
    share = 100.0 * supply_share(JOINTS, steps, turns)
    print(f"{JOINTS} joints on one supply: a step takes {share:.1f} % longer.")
    if asked.numbers:
        values = {"sizing.cpu": f"{last[2]:.1f}", "sizing.memory": f"{last[3]:.0f}"}
        values |= {"sizing.growth": f"{growth:.2f}", "sizing.supply": f"{share:.0f}"}
        record("python benchmarks/sizing.py --numbers", values)


if __name__ == "__main__":
    main()
