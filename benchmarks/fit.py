"""How fits do: success from many starts, CPU time, and errors on recordings with published numbers.

    python benchmarks/fit.py [--json] [--data FOLDER] [--coverage 200]

Rows that need recorded data are left out where the folder is absent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path

import numpy as np

import backemf as be
from backemf.identify.fit import _problem, _stages
from backemf.identify.free import free, spread
from backemf.identify.frictions import with_friction
from backemf.identify.optimize import homotopy, levenberg_marquardt
from backemf.identify.residual import mean_absolute_errors, problem

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
                found = homotopy(p, x, stages=_stages(p))
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


def mx106(data: Path) -> dict:
    sheet = be.Datasheet.read("mx-106")
    logs = be.read(str(data / "mx106_pendulum" / "*.json"))
    p, _ = _problem(with_friction(sheet.actuator(), "m6"), logs, None, (), sheet, None, False, True, None)
    first = p.free.to_x({q.path: q.start for q in p.free.parameters}, p.fixed)
    homotopy(p, first, stages=(60.0, 0.0))  # compile
    rng, good, cpu, errors = np.random.default_rng(0), 0, 0.0, []
    for k in range(8):
        x = first if k == 0 else spread(p.free, 3.0, rng, first)
        begun = time.process_time()
        found = homotopy(p, x, stages=_stages(p))
        cpu += time.process_time() - begun
        errors.append(1e3 * float(np.mean(list(mean_absolute_errors(p, found.x).values()))))
        good += errors[-1] < 0.92
    return {"good": good, "of": 8, "cpu_s": cpu, "mae_mrad": errors}


def sts3032(data: Path, friction: str = "m4") -> list[dict]:
    sheet, logs = be.Datasheet.read("sts3032"), be.read(str(data / "sts3032" / "*.json"))
    rows = []
    for name, held in (
        ("gain 8", {"gain": 8}),
        ("length 0.07", {"length": 0.07}),
        ("both", [{"gain": 8}, {"length": 0.07}]),
    ):
        found = be.fit(sheet.actuator(), logs, friction=friction, prior=sheet, hold_out=held, n_starts=2)
        judged = [v for k, v in found.held_out.items() if name != "both" or ("kp8" in k and "l0.07" in k)]
        rows.append(
            {
                "held_out": name,
                "friction": friction,
                "held_out_mrad": 1e3 * float(np.mean(judged)),
                "fitted_mrad": 1e3 * found.training_mae,
                "cpu_s": found.cpu_s,
            }
        )
    return rows


COVERED = {
    "coulomb": be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    "stribeck": be.friction.Stribeck(coulomb=0.04, static=0.07, stribeck_velocity=0.3, viscous=0.02),
    "m4": be.friction.M4(
        coulomb=0.03, static=0.06, stribeck_velocity=0.3, viscous=0.02, load=0.06, load_stribeck=0.04
    ),
    "lugre": be.friction.LuGre(
        coulomb=0.04, static=0.06, stribeck_velocity=0.3, viscous=0.03, stiffness=20.0, damping=0.1
    ),
}
SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
    drive=be.drive.Servo(firmware_gain=0.16, proportional=16.0, supply=7.4, duty_limit=0.97),
)
RIGS = (
    (0.3, 0.1, 16.0, False),
    (0.5, 0.1, 8.0, False),
    (0.3, 0.15, 32.0, False),
    (0.3, 0.1, 16.0, True),
    (0.5, 0.1, 8.0, True),
)
"""(mass, length, gain, whether the drive is switched off after 2 s) of each log of a coverage run."""


def coverage_logs(actuator: be.Actuator, seed: int, correlated: bool) -> list[be.Log]:
    logs = []
    for k, (mass, length, gain, off) in enumerate(RIGS):
        rng = np.random.default_rng(10 * seed + k)
        bench = be.bench.Pendulum(mass=mass, length=length, arm_mass=0.03)
        asked = {
            "position_target": [
                be.signal.sine(0.8, 0.5),
                be.signal.square(0.7, 0.4),
                be.signal.chirp(0.9, 0.2, 1.2, 6.0),
            ][k % 3],
            "enabled": be.signal.step(-1.0 if off else 0.0, at=2.0, start=1.0),
        }
        run = be.simulate(
            actuator.replace(**{"drive.proportional": gain}),
            bench,
            asked,
            duration=6.0,
            dt=0.005,
            substeps=10,
        )
        noise = 1e-3 * rng.standard_normal(len(run))
        if correlated:
            for j in range(1, len(noise)):
                noise[j] += 0.9 * noise[j - 1]
            noise *= np.sqrt(1 - 0.9**2)
        signals = {
            "position": run.position + noise,
            "position_target": run["position_target"],
            "enabled": run["enabled"],
        }
        logs.append(
            be.log(f"log {k}", run.time, bench=bench, settings={"drive.proportional": gain}, **signals)
        )
    return logs


def coverage(seeds: int) -> list[dict]:
    """How often 95 % intervals contain the truth,
    pooled per model over parameters and both sorts of noise."""
    rows = []
    for name, friction in COVERED.items():
        truth = dataclasses.replace(SERVO, friction=friction)
        inside = total = 0
        for seed in range(seeds):
            for correlated in (False, True):
                found = be.fit(truth, coverage_logs(truth, seed, correlated), n_starts=1, offset=False)
                for path, p in found.parameters.items():
                    inside += p.low <= truth.parameters[path] <= p.high
                    total += 1
        rows.append({"model": name, "seeds": seeds, "inside": inside, "of": total, "share": inside / total})
    return rows


PENDULUM = """
<mujoco>
  <option timestep="0.001" integrator="implicitfast"/>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0" stiffness="0.4" damping="0.02" frictionloss="0.03" armature="0.004"
             solreffriction="0.002 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"/>
      <geom type="sphere" size="0.01" pos="0 0 -0.15" mass="0.3"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
  <sensor><jointpos name="position" joint="hinge"/></sensor>
</mujoco>
"""
TRUE = {"stiffness": 0.4, "damping": 0.02, "frictionloss": 0.03, "armature": 0.004}


def against_mujoco_sysid() -> dict | None:
    """The same pendulum, made by MuJoCo, identified by mujoco.sysid and by backemf in one run;
    None where it is not installed."""
    try:
        import mujoco
        from mujoco import rollout, sysid

        optimize = sysid.optimize
    except (ImportError, AttributeError):
        return None
    spec = mujoco.MjSpec.from_string(PENDULUM)
    model = spec.compile()
    data = mujoco.MjData(model)
    h, every = model.opt.timestep, 5
    t = np.arange(int(10.0 / h)) * h
    held = np.repeat(
        0.5 * np.sin(2 * np.pi * 0.7 * t[::every]) + 0.3 * np.sign(np.sin(2 * np.pi * 0.23 * t[::every])),
        every,
    )
    start = sysid.create_initial_state(model, data.qpos, data.qvel, data.act)
    state, _ = rollout.rollout(model, data, start, held[:, None])
    q = np.concatenate([[0.0], state[0, :, 1]])[:-1][::every]
    seen = q + 2e-4 * np.random.default_rng(0).standard_normal(len(q))
    times = t[::every]

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
    shifted = sysid.TimeSeries.from_names(times[1:], seen[1:, None], model)
    sequence = sysid.ModelSequences(
        "pendulum", spec, "log", start, sysid.TimeSeries(t, held[:, None]), shifted
    )
    begun = time.process_time()
    theirs, _ = optimize(
        initial_params=params,
        residual_fn=sysid.build_residual_fn(models_sequences=[sequence]),
        optimizer="mujoco",
        verbose=False,
    )
    their_cpu = time.process_time() - begun

    inertia = be.bench.Pendulum(mass=0.3, length=0.15, inertia=0.4 * 0.3 * 0.01**2, gravity=9.81)
    log = be.log(
        "pendulum",
        times,
        position=seen,
        torque_target=held[::every],
        position_target=np.zeros(len(times)),
        bench=inertia,
    )
    first = be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=0.008),
        friction=be.friction.Coulomb(coulomb=0.06, viscous=0.04),
        drive=be.drive.Impedance(newton_metres_per_radian=0.8),
    )
    free_paths = [
        "drive.newton_metres_per_radian",
        "friction.viscous",
        "friction.coulomb",
        "motor.rotor_inertia",
    ]
    be.fit(first, [log], free_paths=free_paths, n_starts=1)  # compile
    begun = time.process_time()
    ours = be.fit(first, [log], free_paths=free_paths, n_starts=1)
    our_cpu = time.process_time() - begun
    found = dict(zip(TRUE, (ours.parameters[p].value for p in free_paths), strict=True))
    return {
        "their_cpu_s": their_cpu,
        "our_cpu_s": our_cpu,
        "times_less": their_cpu / our_cpu,
        "their_error": {k: float(theirs[k].value[0] / v - 1) for k, v in TRUE.items()},
        "our_error": {k: found[k] / v - 1 for k, v in TRUE.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--data", type=Path, default=Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    )
    parser.add_argument(
        "--coverage",
        type=int,
        default=0,
        metavar="SEEDS",
        help="also measure how often 95 %% intervals cover, with this many seeds",
    )
    given = parser.parse_args()
    found: dict = {"lugre": lugre()}
    if given.coverage:
        found["coverage"] = coverage(given.coverage)
    other = against_mujoco_sysid()
    if other is not None:
        found["mujoco_sysid"] = other
    if given.data.is_dir():
        found["mx106_pendulum"] = mx106(given.data)
        found["sts3032"] = sts3032(given.data)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for name, rows in found.items():
        print(name)
        for row in rows if isinstance(rows, list) else [rows]:
            print("  ", {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()})


if __name__ == "__main__":
    main()
