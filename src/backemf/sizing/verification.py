"""A choice simulated in full: whole actuator, bench and heat, beside what the closed form says of the same
time."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine.simulate import simulate
from ..physics.actuator import Actuator, signals
from ..physics.drive import Impedance
from ..physics.duty import torque_series
from ..physics.steady import armature
from .choice import Choice, SimulatedCheck
from .components import gear_columns, motor_columns
from .judge import Judge, reduction
from .task import Task, bench_and_series

SECONDS = 600.0
"""Simulated at least, where a winding is followed [s]."""
CYCLES = 4
"""Simulated at least."""
STIFF = 60.0
"""Of the loop that follows the task [rad/s]."""
LONGEST_STEP = 2e-3
"""[s]"""
BANDWIDTH = 6283.0
"""Of the current loop, where the steps allow it [rad/s]."""
SAMPLE = 1e-3
"""Between samples at most [s]; a table of fewer is followed on a curve."""
SETTLED = 5.0 / STIFF
"""After a motion has begun anew, until its peaks count [s]."""
MOST_SAMPLES = 1_500_000
MOST_RUNS = 200
"""Of a motion that begins anew each time."""


def simulate_choice(judge: Judge, choice: Choice, seconds: float = SECONDS) -> Choice:
    """The same choice with what a full simulation says of it.

    Args:
        judge: whose task and bus it is.
        choice: it.
        seconds: for at least so long; whole cycles.

    Returns:
        It with its check.
    """
    task, actuator = judge.task.resample(SAMPLE), choice.actuator()
    motors, gears = motor_columns([choice.part]), gear_columns([] if choice.gears is None else [choice.gears])
    rows = {
        n: np.nan_to_num(x) if n in SPARED else x for n, x in gears.take(np.array([len(gears) - 1])).items()
    }
    m = motors.take(np.array([0]))
    m["rotor_inertia"] = np.nan_to_num(m["rotor_inertia"])
    r = reduction(m, rows)
    actuator = replace(actuator, gearbox=replace(actuator.gearbox, backlash=None))  # play is no heat
    thermal = actuator.motor.thermal
    if thermal is not None:
        heat = replace(thermal, ambient=judge.ambient)
        actuator = replace(actuator, motor=replace(actuator.motor, thermal=heat))
    longest = seconds if thermal is not None else 0.0
    most = max(CYCLES, MOST_SAMPLES // len(task.time)) if task.closes else MOST_RUNS
    n = int(np.clip(math.ceil(longest / task.period), CYCLES, most))
    run = _run(task, actuator, torque_series(task.samples, r)[0] * float(r.N[0]), n)
    last, whole = slice(-1 - len(task.time), -1), slice(-len(task.time), None)
    closed = judge.cycle_temperature(m, r, np.array([choice.numbers["temperature"]]), n)
    simulated = float(np.max(run.winding_temperature[last])) if thermal is not None else math.nan
    now: Any = {
        name: 0.5 * (x[1:] + x[:-1])[whole] for name, x in run.signals.items() if name in run.actuator.states
    }
    seen: Any = signals(
        run.actuator, now, {name: run.signals[name][last] for name in run.actuator.drive.targets}
    )
    i, motor, gearbox = seen["current"], actuator.motor, actuator.gearbox
    current = math.sqrt(float(np.sum(task.samples.weight * i**2))) * gearbox.n_motors
    T: Any = now.get("winding_temperature")
    settled = motor.resistance_at(T) * i + motor.back_emf_at(T) * gearbox.rotor_speed(now["velocity"])
    off = run.position[last] - run.position_target[last] + _lead(task)
    counts = slice(0 if task.closes else np.searchsorted(task.time - task.time[0], SETTLED), None)
    check = SimulatedCheck(
        seconds=n * task.period,
        temperature=(float(closed[0]), simulated),
        current_rms=(choice.numbers["current_rms"], current),
        voltage=(choice.numbers["voltage"], float(np.max(np.abs(settled[counts])))),
        at_limit=float(np.mean(np.abs(seen["voltage"]) >= judge.bus * (1.0 - 1e-9))),
        off=float(np.max(np.abs(off[counts]))),
    )
    return replace(choice, check=check)


SPARED = ("inertia",)
"""Columns of gears that may be left out."""


def _lead(task: Task) -> np.ndarray:
    """How far the joint moves in half a step."""
    return 0.5 * task.samples.weight * task.period * task.velocity


def _run(task: Task, actuator: Actuator, torque: np.ndarray, n: int) -> Any:
    """The task n times over, followed by a stiff loop that knows the torque it takes."""
    bench, series = bench_and_series(task)
    carried: Any = series
    J = armature(actuator) + float(np.max(bench.inertia_at(carried)))
    usual = float(np.median(np.diff(task.time)))
    substeps = max(1, math.ceil(usual / LONGEST_STEP))
    loop = Impedance(
        bandwidth=min(BANDWIDTH, 0.3 * substeps / usual),  # a current loop slower than its steps
        newton_metres_per_radian=J * STIFF**2,
        newton_metre_seconds_per_radian=2.0 * J * STIFF,
        supply=actuator.drive.supply,
    )
    turns = task.position[-1] + (task.time[-1] - task.time[-2]) * task.velocity[-1] - task.position[0]
    half = 0.5 * task.samples.weight * task.period  # targets hold over a step
    w, q = task.velocity + half * task.acceleration, task.position + _lead(task)
    times, together = (1, n) if task.closes else (n, 1)  # a cycle goes on where the last one ended, or anew
    cycles = np.arange(together)[:, None]
    t = np.append(task.time - task.time[0] + task.period * cycles, task.period * together)
    asked = {"velocity_target": w, "torque_target": torque, **series}
    command = {name: np.append(np.tile(x, together), x[-1]) for name, x in asked.items()}
    command["position_target"] = np.append(q + turns * cycles, q[-1] + turns * (together - 1))
    start = {"position": float(task.position[0]), "velocity": float(task.velocity[0])}
    actuator, warm, run = replace(actuator, drive=loop), actuator.motor.thermal, None
    for _ in range(times):
        run = simulate(actuator, bench, command, time=t, start=start, substeps=substeps, warn=False)
        ended = run.final_state()
        start |= {name: ended[name] for name in (warm.nodes if warm else ())}
    return run
