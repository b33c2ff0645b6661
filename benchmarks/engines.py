"""How fast are the engines? Everything is measured side by side in one run, on one model, in CPU time.

    python benchmarks/engines.py            a table
    python benchmarks/engines.py --json     one object
    python benchmarks/engines.py --plot docs/img/engines-scaling.png

The model is a position-controlled servo with load-dependent friction that sticks, on a pendulum. A step is
one integration step of the same scheme, except MuJoCo's, which is its own step of a servo on one hinge.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import backemf as be
from backemf.engine.compile.kernels import kernels
from backemf.engine.rows import HeldInputs, hold_inputs
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem
from benchmarks.measured_numbers import record

STEPS, DT, ROUNDS = 5000, 1e-3, 15
FREE = (
    "motor.resistance",
    "motor.torque_constant",
    "motor.rotor_inertia",
    "friction.viscous",
    "friction.coulomb",
    "friction.static",
    "friction.stribeck_velocity",
    "friction.load",
    "friction.load_stribeck",
    "drive.volts_per_radian",
    "drive.volt_seconds_per_radian",
    "bench.mass",
)
SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.01, rotor_inertia=1e-6),
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.M4(
        coulomb=0.05, static=0.08, stribeck_velocity=0.3, load=0.05, load_stribeck=0.05, viscous=0.01
    ),
    drive=be.drive.Position(volts_per_radian=20.0, volt_seconds_per_radian=0.3, supply=12.0),
)
SYSTEM = ActuatorSystem(
    actuator=SERVO, bench=be.bench.Pendulum(mass=0.5, length=0.1), inputs=("position_target",)
)
P, S0 = np.array(list(SYSTEM.parameters.values())), np.zeros(2)
# The order in which benchmarks/engines_servo.c wants its numbers.
IN_C = (
    "motor.resistance",
    "motor.torque_constant",
    "motor.rotor_inertia",
    "gearbox.ratio",
    "friction.viscous",
    "friction.coulomb",
    "friction.static",
    "friction.stribeck_velocity",
    "friction.load",
    "friction.load_stribeck",
    "drive.supply",
    "drive.volts_per_radian",
    "drive.volt_seconds_per_radian",
    "bench.mass",
    "bench.length",
    "bench.arm_mass",
    "bench.gravity",
)


def command(n: int) -> np.ndarray:
    """Jumps, a sine, and a slow triangle on which the servo sticks and slips."""
    t = np.arange(n) * DT
    fast = 0.5 * np.sign(np.sin(2 * np.pi * t / 0.7)) + 0.3 * np.sin(2 * np.pi * 3 * t)
    return np.where((t % 2.0) < 1.0, fast, 0.3 * np.abs(((t / 1.5) % 2) - 1))


def rows(n: int = STEPS) -> HeldInputs:
    return hold_inputs(command(n)[:, None].copy(), np.full(n, DT))


def medians(contenders: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """CPU seconds of each. They take turns, so that whatever else the machine does is shared fairly; a turn
    is one call to warm the caches, then as many as last some milliseconds."""
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    calls = {}
    for name, run in contenders.items():
        run()  # compile
        start = time.process_time()
        run()
        calls[name] = max(1, round(4e-3 / max(time.process_time() - start, 1e-6)))
    for _ in range(rounds):
        for name, run in contenders.items():
            run()
            start = time.process_time()
            for _ in range(calls[name]):
                run()
            spent[name].append((time.process_time() - start) / calls[name])
    return {name: float(np.median(times)) for name, times in spent.items()}


def c_loop(n: int = STEPS) -> Callable[[], np.ndarray] | None:
    """The hand-written loop, compiled for this machine; None without gcc."""
    if shutil.which("gcc") is None:
        return None
    folder = tempfile.mkdtemp()
    library = str(Path(folder) / "servo.so")
    source = str(Path(__file__).with_name("engines_servo.c"))
    subprocess.run(
        ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True
    )
    run = ctypes.CDLL(library).run
    array = np.ctypeslib.ndpointer(dtype=np.float64, flags="C")
    run.argtypes, run.restype = [array, ctypes.c_size_t, array, array, array], None
    numbers = np.array([SYSTEM.parameters[name] for name in IN_C])
    target, dt = command(n), np.full(n, DT)

    def loop() -> np.ndarray:
        states = np.empty((n + 1, 2))
        states[0] = S0
        run(numbers, n, target, dt, states)
        return states

    return loop


def numpy_loop(n: int) -> np.ndarray:
    """The same step again, NumPy call by NumPy call, as simulators in pure Python do it."""
    R, K, J_r, N, B, tau_c, tau_s, w_s, K_l, K_ls, V, k_p, k_d, m, l, m_a, g = (
        np.float64(SYSTEM.parameters[name]) for name in IN_C
    )
    J, moment = (m + m_a / 3) * l * l + N * N * J_r, (m + 0.5 * m_a) * g * l
    target, h, q, v = command(n), DT, np.float64(0.0), np.float64(0.0)
    states = np.zeros((n + 1, 2))

    def level(c: np.float64, s: np.float64) -> np.float64:
        return tau_c + K_l * np.abs(c) + s * (tau_s - tau_c + K_ls * np.abs(c))

    def growth(y: Any) -> Any:
        return (1 - y / 6) / (1 - y * (2 / 3 - y / 6))

    for k in range(n):
        q_mid = q + 0.5 * h * v
        wanted = k_p * (target[k] - q_mid) - k_d * v
        volts, dvolts = np.clip(wanted, -V, V), np.where(np.abs(wanted) < V, -(k_p * 0.5 * h + k_d), 0.0)
        t_m, dt_m = N * K / R * (volts - N * K * v), N * K / R * (dvolts - N * K)
        t_e, dt_e = -moment * np.sin(q_mid), -moment * np.cos(q_mid) * 0.5 * h
        s = np.exp(-((v / w_s) ** 2))
        ds = -2 * s * v / w_s**2
        c, dc = t_m - t_e, np.sign(t_m - t_e) * (dt_m - dt_e)
        f, df = level(c, s), K_l * dc + s * K_ls * dc + ds * (tau_s - tau_c + K_ls * np.abs(c))
        free, dfree = t_m + t_e - B * v, dt_m + dt_e - B
        d = np.sign(v) if v != 0 else np.where(free > f, 1.0, np.where(free < -f, -1.0, 0.0))
        a, y = np.where(d == 0, 0.0, (free - d * f) / J), np.where(d == 0, 0.0, h * (dfree - d * df) / J)
        v1 = v + h * a * growth(y)
        w = 0.5 * (v + v1)
        if v * v1 < 0:
            share, t_m0, t_e0 = v / (v - v1), t_m - v * dt_m, t_e - v * dt_e
            free0, f0, left = t_m0 + t_e0, level(t_m0 - t_e0, np.float64(1.0)), (1 - share) * h
            push = np.where(free0 > f0, free0 - f0, np.where(free0 < -f0, free0 + f0, 0.0))
            v1 = left * push / J * growth(left * dfree / J)
            w = 0.5 * (share * v + (1 - share) * v1)
        q, v = q + h * w, v1
        states[k + 1] = q, v
    return states


def mujoco_loop() -> Callable[[], object] | None:
    """MuJoCo's own step of a servo on one hinge, all steps in one call; None where it is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <option timestep="{DT}"/>
          <worldbody>
            <body>
              <joint name="j" type="hinge" axis="0 1 0" armature="0.01" damping="0.01" frictionloss="0.05"/>
              <geom type="sphere" size="0.02" mass="0.5" pos="0 0 -0.1" contype="0" conaffinity="0"/>
            </body>
          </worldbody>
          <actuator><position joint="j" kp="10" kv="0.15" forcerange="-6 6"/></actuator>
        </mujoco>""")
    state = mujoco.MjData(model)
    state.ctrl[0] = 0.5

    def loop() -> None:
        state.qpos[0], state.qvel[0] = -0.5, 0.0
        mujoco.mj_step(model, state, nstep=STEPS)

    return loop


def jacfwd(n: int = STEPS) -> Callable[[], np.ndarray]:
    """The derivatives of the positions in the twelve parameters, by JAX: the same step in a plain scan."""
    import jax
    import jax.numpy as jnp

    at = np.array([list(SYSTEM.parameters).index(name) for name in FREE])

    def positions(x: Any) -> Any:
        p, rest = tuple(jnp.asarray(P).at[at].set(x)), 0.0 * x[0]

        def step(s: Any, u: Any) -> Any:
            return SYSTEM.step(p, s, (u,), DT)[:2], s[0]

        last, before = jax.lax.scan(step, (rest, rest), jnp.asarray(command(n)))
        return jnp.append(before, last[0])

    f = jax.jit(jax.jacfwd(positions))

    def loop() -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(f(jnp.asarray(P[at])))

    return loop


FIRST = """
import time
import numpy, numba
import backemf as be
from backemf.engine.compile.kernels import kernels
from benchmarks.engines import *
start = time.process_time()
{what}
print(time.process_time() - start)
"""
RESULTS = {
    "simulate": "be.simulate(SERVO, SYSTEM.bench, 0.5, duration=1.0, substeps=1)",
    "normal": "kernels(SYSTEM, free=FREE).normal(P, S0, rows(), 1, numpy.zeros(STEPS + 1))",
}


def first_result(what: str, folder: str) -> float:
    """CPU seconds beyond imports to the first result in a new process that keeps its kernels in a folder."""
    here = {**os.environ, "BACKEMF_CACHE": folder, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    code = FIRST.format(what=RESULTS[what])
    return float(
        subprocess.run(
            [sys.executable, "-c", code], env=here, capture_output=True, text=True, check=True
        ).stdout
    )


def measure(quick: bool = False) -> dict[str, float | None]:
    """What everything costs; quickly: once each, few candidates, and no new processes."""
    from backemf.engine import reference

    k = kernels(SYSTEM, free=FREE)
    logs, measured = k.batch(rows()), np.zeros(STEPS + 1)
    contenders: dict[str, Callable[[], object]] = {
        "reference": lambda: reference.run(SYSTEM, P, S0, rows(), 1),
        "compiled": lambda: k.trajectory(P, S0, logs, 1),
        "jacobian": lambda: k.sensitivities(P, S0, logs, 1),
        "normal": lambda: k.normal(P, S0, logs, 1, measured),
        "jacfwd": jacfwd(),
        "numpy": lambda: numpy_loop(STEPS // 10),
    }
    c, mujoco = c_loop(), mujoco_loop()
    contenders |= {"c": c} if c else {}
    contenders |= {"mujoco": mujoco} if mujoco else {}
    check(300 if quick else STEPS)
    spent = medians(contenders, 1 if quick else ROUNDS)
    per_step = {
        name: seconds / (STEPS // 10 if name == "numpy" else STEPS) * 1e9 for name, seconds in spent.items()
    }

    many = P * np.random.default_rng(0).uniform(0.9, 1.1, (8 if quick else 1024, len(P)))
    candidates = medians({"cost": lambda: k.cost(many, S0, logs, 1, measured)}, rounds=3)["cost"]
    servos = stepper(
        ActuatorSystem(
            actuator=SERVO, bench=be.bench.Recorded(), inputs=("inertia", "load", "position_target")
        ),
        12,
    )
    state, inputs = servos.start(position=0.2), np.tile([0.005, 0.1, 0.4], (12, 1))
    first = dict.fromkeys(("cold_s", "warm_s", "cold_normal_s", "warm_normal_s"), math.nan)
    with tempfile.TemporaryDirectory() as folder:
        for name in () if quick else first:
            first[name] = first_result("normal" if "normal" in name else "simulate", folder)
    return {
        "reference_ns": per_step["reference"],
        "compiled_ns": per_step["compiled"],
        "c_ns": per_step.get("c"),
        "mujoco_ns": per_step.get("mujoco"),
        "numpy_ns": per_step["numpy"],
        "jacobian_over_primal": spent["jacobian"] / spent["compiled"],
        "jacfwd_over_jacobian": spent["jacfwd"] / spent["jacobian"],
        "candidates_mcs": len(many) * STEPS / candidates / 1e6,
        **first,
        "normal_over_primal": spent["normal"] / spent["compiled"],
        "stepper_us": (
            medians({"step": lambda: [servos(state, inputs, DT) for _ in range(1000)]})["step"] * 1e3
        ),
    }


def check(n: int) -> None:
    """What is compared must be the same over n steps: the loops in C and NumPy, and JAX's derivatives."""
    k, few = kernels(SYSTEM, free=FREE), min(n, 500)
    states, tangents = k.trajectory(P, S0, rows(n), 1), k.sensitivities(P, S0, rows(n), 1)[1]
    c, expected = c_loop(n), jacfwd(n)()
    assert np.max(np.abs(states[: few + 1] - numpy_loop(few))) < 1e-9
    assert c is None or np.max(np.abs(states - c())) < 1e-6
    assert np.max(np.abs(tangents[:, 0] - expected) / np.max(np.abs(expected), axis=0)) < 1e-6


def scaling() -> dict[str, tuple[list[int], list[float]]]:
    """CPU milliseconds against the number of steps, parameters, candidates and logs."""
    found: dict[str, tuple[list[int], list[float]]] = {}
    k, zeros = kernels(SYSTEM, free=FREE), np.zeros(STEPS + 1)

    def add(name: str, sizes: list[int], run: Callable[[int], Callable[[], object]]) -> None:
        spent = medians({str(n): run(n) for n in sizes}, rounds=7)
        found[name] = sizes, [1e3 * spent[str(n)] for n in sizes]

    def steps(n: int) -> Callable[[], object]:
        logs, measured = k.batch(rows(n)), np.zeros(n + 1)
        return lambda: k.normal(P, S0, logs, 1, measured)

    def parameters(n: int) -> Callable[[], object]:
        names = FREE + tuple(name for name in SYSTEM.parameters if name not in FREE)
        few = kernels(SYSTEM, free=names[:n], start=SYSTEM.states[: max(0, n - len(names))])
        logs = few.batch(rows())
        return lambda: few.sensitivities(P, S0, logs, 1)

    def candidates(n: int) -> Callable[[], object]:
        many, logs = np.tile(P, (n, 1)), k.batch(rows())
        return lambda: k.cost(many, S0, logs, 1, zeros)

    def logs(n: int) -> Callable[[], object]:
        together, measured = k.batch([rows()] * n), np.tile(zeros, n)
        return lambda: k.normal(P, S0, together, 1, measured)

    add("steps", [1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000], steps)
    add("parameters", [4, 8, 12, 16, 20], parameters)
    add("candidates", [1, 4, 16, 64, 256, 1024], candidates)
    add("logs", [1, 2, 5, 10, 20, 50, 100], logs)
    return found


def plot(path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    about = {
        "steps": "Steps: J'J and J'r in 12 parameters",
        "parameters": "Parameters and start values: sensitivities, 5000 steps",
        "candidates": "Candidates: cost of 5000 steps",
        "logs": "Logs of 5000 steps: J'J and J'r of each",
    }
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 6.4), layout="constrained")
    for ax, (name, (sizes, spent)) in zip(axes.flat, scaling().items(), strict=True):
        straight = (
            name == "parameters"
        )  # a few, with an offset for the plain step: a straight line on plain axes
        slope, offset = (
            np.polyfit(sizes, spent, 1)
            if straight
            else (math.exp(np.mean(np.log(np.array(spent[-3:]) / sizes[-3:]))), 0.0)
        )
        line = np.array([0, max(sizes)]) if straight else np.array([min(sizes), max(sizes)])
        ax.plot(line, offset + slope * line, color="0.7", lw=1.2, zorder=1, label="linear")
        ax.plot(sizes, spent, "o", color="#1f5fa8", ms=6, zorder=2, label="measured")
        if straight:
            ax.set(xlim=(0, None), ylim=(0, None), xticks=[0, *sizes])
        else:
            ax.set(xscale="log", yscale="log")
            ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.yaxis.set_major_formatter("{x:g}")
        ax.set_title(about[name], fontsize=10, loc="left")
        ax.set_xlabel(name)
        ax.set_ylabel("CPU time [ms]")
        ax.grid(color="0.92", lw=0.8)
        ax.spines[["top", "right"]].set_visible(False)
    axes.flat[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    print(f"wrote {path}")


def table(found: dict[str, float | None]) -> str:
    def ratio(a: str, b: str) -> str:
        x, y = found[a], found[b]
        return "-" if x is None or y is None else f"{x / y:.3g}"

    lines = [f"{'one step of one trajectory':42s}{'ns':>12s}"]
    for name in ("compiled", "c", "reference", "mujoco", "numpy"):
        value = found[f"{name}_ns"]
        lines.append(f"  {name:40s}{'not installed' if value is None else f'{value:.4g}':>12s}")
    lines += [
        "",
        f"{'':42s}{'measured':>12s}{'target':>14s}",
        f"{'compiled against C':42s}{ratio('compiled_ns', 'c_ns'):>12s}{'at most 1.3':>14s}",
        f"{'12 sensitivities against compiled':42s}{found['jacobian_over_primal']:>12.3g}{'at most 3':>14s}",
        f"{'MuJoCo against compiled':42s}{ratio('mujoco_ns', 'compiled_ns'):>12s}{'at least 20':>14s}",
        f"{'jax.jacfwd against sensitivities':42s}{found['jacfwd_over_jacobian']:>12.3g}{'at least 15':>14s}",
        f"{'first simulate(), known structure [s]':42s}{found['warm_s']:>12.3g}{'at most 1.5':>14s}",
        f"{'  the same, new structure [s]':42s}{found['cold_s']:>12.3g}",
        f"{'first normal(), known structure [s]':42s}{found['warm_normal_s']:>12.3g}{'at most 1.5':>14s}",
        f"{'  the same, new structure [s]':42s}{found['cold_normal_s']:>12.3g}",
        f"{'12 servos, one step [us]':42s}{found['stepper_us']:>12.3g}{'at most 5':>14s}",
        f"{'normal equations against compiled':42s}{found['normal_over_primal']:>12.3g}",
        f"{'million candidate-steps per core-second':42s}{found['candidates_mcs']:>12.3g}",
    ]
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--plot", type=Path, help="measure how cost grows, and draw it here instead")
    parser.add_argument("--numbers", action="store_true", help="write docs/numbers.json")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    if given.plot:
        plot(given.plot)
        return
    found = measure(given.quick)
    if given.numbers and found["mujoco_ns"] is not None and found["compiled_ns"] is not None:
        values = {"times_mj_step": f"{found['mujoco_ns'] / found['compiled_ns']:.0f}"}
        if found["c_ns"] is not None:
            values["times_c"] = f"{found['compiled_ns'] / found['c_ns']:.2f}"
        values |= {name: f"{found[name]:.0f}" for name in found if name.endswith("_ns") and found[name]}
        keys = {
            "sensitivities": "jacobian_over_primal",
            "times_jacfwd": "jacfwd_over_jacobian",
            "normal": "normal_over_primal",
            "known_s": "warm_s",
            "new_s": "cold_s",
            "known_normal_s": "warm_normal_s",
            "new_normal_s": "cold_normal_s",
            "stepper_us": "stepper_us",
        }
        values |= {name: f"{found[key]:.2g}" for name, key in keys.items()}
        values["candidates"] = f"{found['candidates_mcs']:.0f}"
        numbers = {f"engine.{name}": value for name, value in values.items()}
        record("python benchmarks/engines.py --numbers", numbers)
    print(json.dumps(found, indent=2) if given.json else table(found))


if __name__ == "__main__":
    main()
