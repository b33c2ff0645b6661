"""A file for mjlab built and moved by mjlab itself, on its CPU device. Needs mjlab's own environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InvalidValue
from ..clocked import Clocked
from ..mujoco.dcmotor import attributes, sticking


def moved(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions at the case's moments; the joint's solver settings are those that the header asks for."""
    import mujoco
    import torch

    # in an environment of its own
    from mjlab.entity import EntityArticulationInfoCfg, EntityCfg  # type: ignore[import-not-found]
    from mjlab.sim import MujocoCfg, Simulation, SimulationCfg  # type: ignore[import-not-found]

    law, h, J = _law(files), case.timestep, max(case.inertia, 1e-9)
    kind, mass = ("slide", J) if case.motion == "linear" else ("hinge", 1.0)
    solver = {k: v for k, v in sticking(0.0, h).items() if k != "frictionloss"}
    on_joint = attributes({"name": joint, "type": kind, "axis": "0 0 1", **solver})
    inertial = f'<inertial pos="0 0 0" mass="{mass!r}" diaginertia="{J!r} {J!r} {J!r}"/>'
    xml = f'<mujoco><worldbody><body name="arm"><joint {on_joint}/>{inertial}</body></worldbody></mujoco>'
    arm = EntityCfg(
        spec_fn=lambda: mujoco.MjSpec.from_string(xml),
        articulation=EntityArticulationInfoCfg(actuators=(law,)),
    ).build()
    model = arm.compile()
    options = MujocoCfg(timestep=h, integrator="implicitfast", gravity=(0.0, 0.0, 0.0))
    simulation = Simulation(num_envs=1, cfg=SimulationCfg(mujoco=options), model=model, device="cpu")
    arm.initialize(model, simulation.model, simulation.data, "cpu")
    arm.write_joint_state_to_sim(torch.tensor([[case.position]]), torch.tensor([[case.velocity]]))
    send = {
        "position_target": arm.set_joint_position_target,
        "velocity_target": arm.set_joint_velocity_target,
    }
    send |= {"torque_target": arm.set_joint_effort_target, "voltage_target": arm.set_joint_effort_target}
    positions = np.empty(len(case.moments))
    for k in range(len(case.moments)):
        q, w = arm.data.joint_pos[0, 0].item(), arm.data.joint_vel[0, 0].item()
        positions[k] = q
        for name, values in case.command.items():
            send[name](torch.tensor([[float(values[k])]]))
        arm.write_data_to_sim()
        simulation.data.qfrc_applied[0, 0] = case.load(k, q, w)
        simulation.step()
        arm.update(h)
    return case.check("mjlab", positions)


def _law(files: Mapping[str, str]) -> Any:
    name, text = next(iter(files.items()))
    space: dict[str, Any] = {}
    try:
        exec(compile(text, name, "exec"), space)
        return space["ACTUATOR"]
    except Exception as error:  # somebody's changes of a Python file may fail in any way
        raise InvalidValue(f"{name} does not run: {type(error).__name__}: {error}") from None
