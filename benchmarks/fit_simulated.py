"""Fits of simulated recordings: success from many starts, intervals that hold, and a pendulum that MuJoCo
made."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

import backemf as be
from backemf.identify.optimize import homotopy, levenberg_marquardt
from backemf.identify.parameters import free, spread
from backemf.identify.plants.bench_plant import SCHEDULE
from backemf.identify.problem import problem
from tests.identify.recordings import COVERED, SERVO, record, steps, sweep

LUGRE = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.55, rotor_inertia=0.004),
    friction=be.friction.LuGre(
        coulomb=0.055, static=0.09, stribeck_velocity=0.35, stiffness=6.0, damping=0.06, viscous=0.02
    ),
    drive=be.drive.Position(volts_per_radian=60.0, supply=12.0),
)
FREE = [
    p
    for p in LUGRE.parameters
    if p in ("motor.resistance", "motor.torque_constant", "motor.rotor_inertia", "drive.volts_per_radian")
    or p.startswith("friction.")
]


def normal(t: np.ndarray) -> np.ndarray:
    """Steps, a slow triangle, a chirp."""
    T, u = t[-1], np.zeros_like(t)
    a, b, c = t < 0.25 * T, (t >= 0.25 * T) & (t < 0.55 * T), t >= 0.55 * T
    u[a] = 0.8 * np.sign(np.sin(2 * np.pi * t[a] / 1.1))
    u[b] = 0.5 * np.abs((((t[b] - 0.25 * T) / 1.5) % 2) - 1)
    s = t[c] - 0.55 * T
    u[c] = 0.6 * np.sin(2 * np.pi * (0.3 * s + 5.7 * s**2 / (0.9 * T)))
    return u


def slow(t: np.ndarray) -> np.ndarray:
    return 0.35 * np.sin(2 * np.pi * 0.12 * t) + 0.02 * np.sin(2 * np.pi * 0.9 * t)


def lugre_log(command) -> be.Log:
    bench = be.bench.Pendulum(mass=0.12 / 9.80665 / 0.1, length=0.1)
    run = be.simulate(LUGRE, bench, command, duration=10.0, dt=0.002, substeps=5)
    rng, grain = np.random.default_rng(0), 2 * np.pi / 4096
    seen = np.round((run.position + 2e-4 * rng.standard_normal(len(run))) / grain) * grain
    current = run.current + 0.01 * rng.standard_normal(len(run))
    return be.log(
        "lugre", run.time, position=seen, current=current, position_target=run["position_target"], bench=bench
    )


def lugre(starts: int = 32) -> list[dict]:
    rows = []
    for name, command in (("normal", normal), ("slow", slow)):
        p = problem(LUGRE, [lugre_log(command)], free(LUGRE, FREE), substeps=1)
        truth = p.free.to_x({q: LUGRE.parameters[q] for q in FREE}, p.fixed)
        floor = levenberg_marquardt(p, truth, most=40).data_cost
        for within in (3.0, 5.0):
            good, cpu = 0, []
            for seed in range(starts):
                x = spread(p.free, within, np.random.default_rng(seed), truth)
                begun = time.process_time()
                found = homotopy(p, x, stages=SCHEDULE.legs(p.step)[0])
                cpu.append(time.process_time() - begun)
                good += bool(np.sqrt(found.data_cost / floor) < 1.01)
            rows.append(
                {
                    "log": name,
                    "within": within,
                    "good": good,
                    "of": starts,
                    "cpu_median_s": float(np.median(cpu)),
                    "cpu_max_s": float(np.max(cpu)),
                }
            )
    return rows


def coverage_logs(actuator: be.Actuator, seed: int, correlated: bool) -> list[be.Log]:
    """Five logs that determine everything. Weights, lengths and the supply are as stated only within their
    tolerances."""
    more = {"actuator": actuator, "correlated": correlated, "noise": 1e-3, "grain": 0.0, "rig": seed}
    k = 100 * seed
    return [
        record(k, **more),
        record(k + 1, mass=0.5, gain=8.0, command=steps, **more),
        record(k + 2, length=0.15, gain=32.0, command=sweep, **more),
        record(k + 3, off_after=2.0, **more),
        record(k + 4, off_after=2.0, mass=0.5, gain=8.0, **more),
    ]


def coverage(seeds: int) -> list[dict]:
    """How often 95 % intervals contain the truth, pooled over parameters and both sorts of noise."""
    rows = []
    for name, friction in COVERED.items():
        truth = replace(SERVO, friction=friction)
        inside, if_right, ratios, begun = [], [], [], time.process_time()
        for seed in range(seeds):
            for correlated in (False, True):
                logs = coverage_logs(truth, seed, correlated)
                found = be.fit(truth, logs, n_starts=1, offset=False)
                for path, p in found.parameters.items():
                    assert p.low_if_right is not None
                    assert p.high_if_right is not None
                    assert p.error_if_right
                    inside.append(p.low <= truth.parameters[path] <= p.high)
                    if_right.append(p.low_if_right <= truth.parameters[path] <= p.high_if_right)
                    ratios.append(p.error / p.error_if_right)
        rows.append(
            {
                "friction": name,
                "fits": 2 * seeds,
                "intervals": len(inside),
                "hold_%": 100 * float(np.mean(inside)),
                "hold_if_right_%": 100 * float(np.mean(if_right)),
                "median_error_over_error_if_right": float(np.median(ratios)),
                "cpu_s": time.process_time() - begun,
            }
        )
    return rows


PENDULUM = """
<mujoco>
  <option timestep="{step}" integrator="implicitfast"/>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0" stiffness="0.4" damping="0.02" frictionloss="0.03" armature="0.004"
             solreffriction="{yields} 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"/>
      <geom type="sphere" size="0.01" pos="0 0 -0.15" mass="0.3"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
  <sensor><jointpos name="position" joint="hinge"/></sensor>
</mujoco>
"""
TRUE = {"stiffness": 0.4, "damping": 0.02, "frictionloss": 0.03, "armature": 0.004}


STEP, FINE, SAMPLED = 1e-3, 2.5e-5, 5e-3
"""The step of MuJoCo's fit, one so fine that a motion is that of the equations, and of recordings [s]."""
PATHS = ("drive.newton_metres_per_radian", "friction.viscous", "friction.coulomb", "motor.rotor_inertia")
"""Where our model has what `TRUE` names."""


def pendulum_of(step: float) -> Any:
    """The pendulum as MuJoCo steps it, with friction as hard as the step allows [s]."""
    import mujoco

    return mujoco.MjSpec.from_string(PENDULUM.format(step=step, yields=2 * step))


def pendulum_recorded(step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(times [s], torques that were held from each on [N m], positions with noise [rad]) at this step [s]."""
    import mujoco

    model = pendulum_of(step).compile()
    data, every = mujoco.MjData(model), round(SAMPLED / step)
    times = np.arange(2000) * SAMPLED
    held = 0.5 * np.sin(2 * np.pi * 0.7 * times) + 0.3 * np.sign(np.sin(2 * np.pi * 0.23 * times))
    q = []
    for torque in held:
        q.append(data.qpos[0])
        data.ctrl[0] = torque
        mujoco.mj_step(model, data, every)
    return times, held, np.array(q) + 2e-4 * np.random.default_rng(0).standard_normal(len(q))


def found_by_mujoco(times: np.ndarray, held: np.ndarray, seen: np.ndarray) -> dict[str, float]:
    """What `mujoco.sysid` finds, from twice the truth."""
    import mujoco
    from mujoco import sysid

    spec, every = pendulum_of(STEP), round(SAMPLED / STEP)
    model = spec.compile()
    data = mujoco.MjData(model)
    start = sysid.create_initial_state(model, data.qpos, data.qvel, data.act)
    params = sysid.ParameterDict()
    for name, value in TRUE.items():

        def change(spec, p, name=name):
            joint = spec.joint("hinge")
            if name in ("stiffness", "damping") and np.ndim(getattr(joint, name)) > 0:
                getattr(joint, name)[0] = p.value[0]
            else:
                setattr(joint, name, p.value[0])

        params.add(
            sysid.Parameter(name, nominal=value, min_value=value / 10, max_value=value * 10, modifier=change)
        )
        params[name].value[:] = 2.0 * value
    control = sysid.TimeSeries(np.arange(every * len(times)) * STEP, np.repeat(held, every)[:, None])
    # it reads sensors before a step and dates them after it
    dated = sysid.TimeSeries.from_names(times[1:] + STEP, seen[1:, None], model)
    sequence = sysid.ModelSequences("pendulum", spec, "log", start, control, dated)
    found, _ = sysid.optimize(
        initial_params=params,
        residual_fn=sysid.build_residual_fn(models_sequences=[sequence]),
        optimizer="mujoco",
        verbose=False,
    )
    return {name: float(found[name].value[0]) for name in TRUE}


def found_by_us(times: np.ndarray, held: np.ndarray, seen: np.ndarray) -> dict[str, float]:
    """What backemf finds, from twice the truth; the bench is exactly as stated, as in MuJoCo's fit."""
    bench = be.bench.Pendulum(mass=0.3, length=0.15, inertia=0.4 * 0.3 * 0.01**2, gravity=9.81)
    told = {"position": seen, "torque_target": held, "position_target": np.zeros(len(times))}
    first = be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=0.008),
        friction=be.friction.Coulomb(coulomb=0.06, viscous=0.04),
        drive=be.drive.Impedance(newton_metres_per_radian=0.8),
    )
    log = be.log("pendulum", times, bench=bench, **told)
    ours = be.fit(first, [log], free_paths=PATHS, n_starts=1, tolerances=False)
    return {name: ours.parameters[path].value for name, path in zip(TRUE, PATHS, strict=True)}


def against_mujoco_sysid() -> list[dict] | str:
    """The same pendulum, identified by mujoco.sysid and by backemf in one run; or why not. It is recorded by
    MuJoCo at the step of its own fit, and at a step so fine that it moves as the equations say."""
    try:
        import mujoco
    except ImportError as error:
        return f"MuJoCo is not installed ({error})"
    try:
        from mujoco import sysid

        _ = sysid.optimize
    except (ImportError, AttributeError) as error:
        return f"mujoco.sysid of MuJoCo {mujoco.__version__} cannot be used here: {error}"
    rows = []
    for step in (STEP, FINE):
        recorded = pendulum_recorded(step)
        found_by_us(*recorded)  # compiles
        row: dict[str, Any] = {"recorded_at_step_ms": 1e3 * step}
        for whose, fit in (("their", found_by_mujoco), ("our", found_by_us)):
            begun = time.process_time()
            found = fit(*recorded)
            row[f"{whose}_cpu_s"] = time.process_time() - begun
            row[f"{whose}_error"] = {name: found[name] / value - 1 for name, value in TRUE.items()}
        rows.append(row)
    return rows
