"""A pendulum with gravity in the simulators that the file for Warp is for, each with the exported file itself
as its actuator; on their CPU devices."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import backemf as be
from backemf.targets.export import export

STEP = 1e-3
BENCH = be.bench.Pendulum(mass=0.2, length=0.1, inertia=2e-3, gravity=9.81)
INERTIA = 4e-3
"""What the joint carries about its axis: the bob's own inertia, and its mass on 0.1 m."""


def module_of(text: str, name: str, folder: Path) -> Any:
    """The file as a module: Warp reads kernels from their file."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Host:
    """Worlds with one pendulum each. `model` is the file's own `Actuator`."""

    version = "plain"
    model: Any

    def __init__(self, actuator: be.Actuator, start: np.ndarray, folder: Path, **settings: Any):
        self.spread = settings.pop("spread", None)
        self.start, self.settings = np.asarray(start, np.float32), settings
        text = export(actuator, f"warp@{self.version}", joint="knee", spread=self.spread, replay=False).text
        self.file = module_of(text, f"knee_{self.version.replace('-', '_')}", folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.build()

    def build(self) -> None:
        raise NotImplementedError

    def positions(self) -> np.ndarray:
        raise NotImplementedError

    def step(self, targets: np.ndarray) -> None:
        raise NotImplementedError

    def reset(self, world: int) -> None:
        """One world back to where it started."""
        raise NotImplementedError

    def run(self, targets: np.ndarray) -> np.ndarray:
        """Positions before each step, (steps, worlds)."""
        found = np.empty(targets.shape)
        for k, row in enumerate(targets):
            found[k] = self.positions()
            self.step(row)
        return found


def pendulum_xml() -> str:
    i = BENCH.inertia
    return (
        '<mujoco><worldbody><body name="arm"><joint name="knee" axis="0 1 0"/>'
        f'<inertial pos="0 0 -{BENCH.length}" mass="{BENCH.mass}" diaginertia="{i} {i} {i}"/>'
        "</body></worldbody></mujoco>"
    )


class MujocoWarp(Host):
    """MuJoCo Warp: a callback of the model."""

    version = "mujoco-warp"

    def build(self) -> None:
        import mujoco

        mjw: Any = importlib.import_module("mujoco_warp")
        spec = mujoco.MjSpec.from_string(pendulum_xml())
        spec.option.timestep, spec.option.gravity = STEP, [0.0, 0.0, -BENCH.gravity]
        self.file.add_actuator(spec, "knee")
        mj_model = spec.compile()
        data = mujoco.MjData(mj_model)
        self.mjw, self.m = mjw, mjw.put_model(mj_model)
        self.d = mjw.put_data(mj_model, data, nworld=len(self.start))
        self.callback = self.file.KneeCallback(
            mj_model, self.m, self.d, joints=["knee"], inertia=INERTIA, **self.settings
        )
        self.model = self.callback.model
        self.d.qpos.numpy()[:, 0] = self.start

    def positions(self) -> np.ndarray:
        return self.d.qpos.numpy()[:, 0].copy()

    def step(self, targets: np.ndarray) -> None:
        self.d.ctrl.numpy()[:, 0] = targets
        self.mjw.step(self.m, self.d)

    def reset(self, world: int) -> None:
        wp: Any = importlib.import_module("warp")
        mask = wp.array(np.arange(len(self.start)) == world, dtype=wp.bool, device="cpu")
        self.mjw.reset_data(self.m, self.d, reset=mask)
        self.d.qpos.numpy()[world, 0] = self.start[world]


class Newton(Host):
    """Newton: a drive of an actuator; its solver on MuJoCo's C library, or Newton's own Featherstone."""

    version = "newton"
    n_solvers = 1

    def build(self) -> None:
        wp: Any = importlib.import_module("warp")
        newton: Any = importlib.import_module("newton")
        solvers: Any = importlib.import_module("newton.solvers")
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -BENCH.gravity))
        for _ in self.start:
            builder.begin_world()
            inertia = wp.mat33(BENCH.inertia * np.eye(3))
            com = wp.vec3(0.0, 0.0, -BENCH.length)
            link = builder.add_link(mass=BENCH.mass, com=com, inertia=inertia, lock_inertia=True)
            joint = builder.add_joint_revolute(parent=-1, child=link, axis=(0.0, 1.0, 0.0))
            builder.add_articulation([joint])
            self.file.add_actuator(builder, joint, timestep=STEP, inertia=INERTIA, **self.settings)
            builder.end_world()
        self.m, self.newton = builder.finalize(device="cpu"), newton
        (self.actuator,) = self.m.actuators
        assert self.actuator.is_graphable()
        self.model = self.actuator.drive.model
        self.solver = solvers.SolverFeatherstone(self.m, angular_damping=0.0)
        self.now, self.after, self.control = self.m.state(), self.m.state(), self.m.control()
        self.mine, self.next = self.actuator.state(), self.actuator.state()
        self.now.joint_q.assign(self.start)
        newton.eval_fk(self.m, self.now.joint_q, self.now.joint_qd, self.now)

    def positions(self) -> np.ndarray:
        return self.now.joint_q.numpy().copy()

    def step(self, targets: np.ndarray) -> None:
        self.control.joint_target_q.assign(np.asarray(targets, np.float32))
        self.control.joint_f.zero_()
        self.actuator.step(self.now, self.control, self.mine, self.next, dt=STEP)
        self.mine, self.next = self.next, self.mine
        self.now.clear_forces()
        self.solver.step(self.now, self.after, self.control, None, STEP)
        self.now, self.after = self.after, self.now

    def reset(self, world: int) -> None:
        wp: Any = importlib.import_module("warp")
        mask = wp.array(np.arange(len(self.start)) == world, dtype=wp.bool, device="cpu")
        self.mine.reset(mask)
        self.now.joint_q.numpy()[world], self.now.joint_qd.numpy()[world] = self.start[world], 0.0
        self.newton.eval_fk(self.m, self.now.joint_q, self.now.joint_qd, self.now)


class Mjlab(Host):
    """mjlab: an actuator of an entity. Needs an environment of its own."""

    version = "mjlab"

    def build(self) -> None:
        import mujoco
        import torch  # pyright: ignore[reportMissingImports]  # mjlab's

        entity: Any = importlib.import_module("mjlab.entity")
        sim: Any = importlib.import_module("mjlab.sim")
        law = self.file.KneeActuatorCfg(target_names_expr=("knee",), inertia=INERTIA, **self.settings)
        self.arm = entity.EntityCfg(
            spec_fn=lambda: mujoco.MjSpec.from_string(pendulum_xml()),
            articulation=entity.EntityArticulationInfoCfg(actuators=(law,)),
        ).build()
        model = self.arm.compile()
        options = sim.MujocoCfg(
            timestep=STEP, integrator="implicitfast", gravity=(0.0, 0.0, -float(BENCH.gravity or 0.0))
        )
        n = len(self.start)
        self.simulation = sim.Simulation(
            num_envs=n, cfg=sim.SimulationCfg(mujoco=options), model=model, device="cpu"
        )
        self.arm.initialize(model, self.simulation.model, self.simulation.data, "cpu")
        self.torch, self.actuator = torch, self.arm.actuators[0]
        self.model = self.actuator.model
        self.place(range(n))

    def place(self, worlds: Any) -> None:
        ids = self.torch.tensor(list(worlds))
        start = self.torch.tensor(self.start[list(worlds)])[:, None]
        self.arm.write_joint_state_to_sim(start, self.torch.zeros_like(start), env_ids=ids)

    def positions(self) -> np.ndarray:
        return self.arm.data.joint_pos[:, 0].numpy().copy()

    def step(self, targets: np.ndarray) -> None:
        self.arm.set_joint_position_target(self.torch.tensor(targets, dtype=self.torch.float32)[:, None])
        self.arm.write_data_to_sim()
        self.simulation.step()
        self.arm.update(STEP)

    def reset(self, world: int) -> None:
        self.arm.reset(self.torch.tensor([world]))
        self.arm.write_data_to_sim()  # as environments do: asked once before the physics moves
        self.place([world])


HOSTS = {host.version: host for host in (MujocoWarp, Newton, Mjlab)}
