"""Exports moved by mjlab itself, on its CPU device, against backemf:
`python -m tests.exports.mjlab_run` prints one JSON object."""

from __future__ import annotations

import json
from typing import Any

import mujoco
import numpy as np
import torch  # type: ignore[import-not-found]  # mjlab's

# in an environment of its own
from mjlab.entity import EntityArticulationInfoCfg, EntityCfg  # type: ignore[import-not-found]

# in an environment of its own
from mjlab.sim import MujocoCfg, Simulation, SimulationCfg  # type: ignore[import-not-found]

import backemf as be
from backemf.targets.export import export
from backemf.targets.mujoco.dcmotor_target import sticking

STEP, N = 0.002, 500
BENCH = be.bench.Pendulum(mass=1.0, length=0.12)
TARGET = 0.8
RUNS = {
    ("mx-106/m1", "mjlab"): 2.0,
    ("mx-106/m1", "torch@mjlab"): 4.0,
    ("mx-106/m6", "mjlab"): 7.0,
    ("mx-106/m6", "torch@mjlab"): 4.0,
}
"""Part and target -> RMS difference to backemf [mrad] that is allowed:
the steps' own error, and what a dcmotor lacks of m6."""


def moved(name: str, target: str) -> np.ndarray:
    """Positions of a pendulum that steps to its target, sampled before each physics step."""
    space: dict[str, Any] = {}
    exec(
        compile(
            export(be.Actuator.read(name), target, joint="knee", timestep=STEP).text, f"{target}.py", "exec"
        ),
        space,
    )
    if target == "mjlab":
        law = space["ACTUATOR"]
        settings = {
            k: v for k, v in sticking(0.0, STEP).items() if k != "frictionloss"
        }  # as the file's header says
    else:
        law, settings = (
            space["KneeActuatorCfg"](target_names_expr=("knee",), inertia=float(BENCH.inertia_at({}))),
            {},
        )
    joint = " ".join(f'{k}="{v}"' for k, v in {"name": "knee", "axis": "0 1 0", **settings}.items())
    body = (
        f'<body name="arm"><joint {joint}/><geom type="sphere" size="0.001" mass="{BENCH.mass}" pos="0 0'
        f' -{BENCH.length}"/></body>'
    )
    xml = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    arm = EntityCfg(
        spec_fn=lambda: mujoco.MjSpec.from_string(xml),
        articulation=EntityArticulationInfoCfg(actuators=(law,)),
    ).build()
    model = arm.compile()
    options = MujocoCfg(
        timestep=STEP, integrator="implicitfast", gravity=(0.0, 0.0, -float(BENCH.gravity or 9.80665))
    )
    simulation = Simulation(num_envs=2, cfg=SimulationCfg(mujoco=options), model=model, device="cpu")
    arm.initialize(model, simulation.model, simulation.data, "cpu")
    positions = np.empty(N)
    for k in range(N):
        positions[k] = arm.data.joint_pos[1, 0].item()
        arm.set_joint_position_target(torch.full((2, 1), TARGET))
        arm.write_data_to_sim()
        simulation.step()
        arm.update(STEP)
    return positions


def main() -> None:
    found = []
    for (name, target), most in RUNS.items():
        native = be.simulate(
            be.Actuator.read(name), BENCH, be.signal.step(TARGET), time=STEP * np.arange(N)
        ).position
        d = 1e3 * (moved(name, target) - native)
        rms = float(np.sqrt(np.mean(d * d)))
        found.append(
            {
                "name": name,
                "target": target,
                "rms": rms,
                "worst": float(np.max(np.abs(d))),
                "wrong": [] if rms <= most else [f"{rms:.3g} mrad RMS"],
            }
        )
    print(json.dumps({"runs": found}))


if __name__ == "__main__":
    main()
