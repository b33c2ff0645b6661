"""The training file for torch in Isaac Lab's and mjlab's own form, against stand-ins with their arguments."""

from __future__ import annotations

import dataclasses
import sys
import types

import pytest

from ...conftest import unavailable
from .test_torch import made, torch


@pytest.fixture(autouse=True)
def _torch():
    if torch is None:
        unavailable("torch")


def stand_in(monkeypatch, name: str, **members) -> None:
    """A package that is not here, with only what the file uses of it."""
    module = types.ModuleType(name)
    module.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_isaac_labs_class_has_isaac_labs_form(monkeypatch):
    class ActuatorBase:  # of isaaclab 2.3.2: the arguments, and the names it keeps them under
        def __init__(self, cfg, joint_names, joint_ids, num_envs, device, **defaults):
            self.cfg, self._joint_names, self._num_envs, self._device = cfg, joint_names, num_envs, device

        num_joints = property(lambda self: len(self._joint_names))

    stand_in(monkeypatch, "isaaclab")
    stand_in(monkeypatch, "isaaclab.actuators", ActuatorBase=ActuatorBase, ActuatorBaseCfg=object)
    stand_in(monkeypatch, "isaaclab.utils", configclass=lambda cls: cls)
    file = made(to="torch@isaaclab", timestep=0.005)
    cfg = file.KneeActuatorCfg()
    cfg.inertia = 0.004
    assert cfg.armature == pytest.approx(1e-3)
    assert cfg.dt == 0.005
    assert cfg.friction == cfg.viscous_friction == cfg.stiffness == 0.0
    actuator = cfg.class_type(cfg, ["a", "b"], slice(None), 3, "cpu", armature=0.0)
    action = types.SimpleNamespace(
        joint_positions=torch.full((3, 2), 0.5),
        joint_velocities=torch.zeros(3, 2),
        joint_efforts=torch.zeros(3, 2),
    )
    given = actuator.compute(action, torch.zeros(3, 2), torch.zeros(3, 2))
    expected = file.Actuator(3, 2, inertia=0.004).compute(0.5, torch.zeros(3, 2), torch.zeros(3, 2), 0.005)
    assert torch.equal(given.joint_efforts, expected)
    assert given.joint_positions is None
    assert given.joint_velocities is None
    assert torch.equal(actuator.applied_effort, expected)
    actuator.reset(slice(None))


def test_mjlabs_class_has_mjlabs_form(monkeypatch):
    class Base:  # of mjlab 1.6.0
        def __init__(self, cfg, entity, target_ids, target_names):
            self.cfg, self.target_names, self._mjs_actuators, self.resets = cfg, target_names, [], 0

        def initialize(self, mj_model, model, data, device):
            pass

        def reset(self, env_ids=None):
            self.resets += 1

    cfg_class = dataclasses.make_dataclass(
        "ActuatorCfg", [("target_names_expr", tuple), ("transmission_type", str, "joint")], kw_only=True
    )
    inside = types.SimpleNamespace(Actuator=Base, ActuatorCfg=cfg_class)
    stand_in(monkeypatch, "mjlab")
    stand_in(monkeypatch, "mjlab.actuator", actuator=inside)
    stand_in(monkeypatch, "mjlab.utils")
    stand_in(
        monkeypatch, "mjlab.utils.spec", create_motor_actuator=lambda spec, name, **settings: (name, settings)
    )
    file = made(to="torch@mjlab")
    actuator = file.KneeActuatorCfg(target_names_expr=("knee",), inertia=0.004).build(
        None, [0, 1], ["a", "b"]
    )
    actuator.edit_spec(None, ["a", "b"])
    assert actuator._mjs_actuators[1][0] == "b"
    assert actuator._mjs_actuators[1][1]["armature"] == pytest.approx(1e-3)
    actuator.initialize(
        types.SimpleNamespace(opt=types.SimpleNamespace(timestep=0.005)),
        None,
        types.SimpleNamespace(nworld=3),
        "cpu",
    )
    zero = torch.zeros(3, 2)
    cmd = types.SimpleNamespace(
        position_target=zero + 0.5, velocity_target=zero, effort_target=zero, pos=zero, vel=zero
    )
    plain = file.Actuator(3, 2, inertia=0.004)
    first = plain.compute(0.5, zero, zero, 0.005)
    assert torch.equal(actuator.compute(cmd), first)
    assert torch.equal(
        actuator.compute(cmd), first
    )  # asked again before the physics moved: nothing has happened in between
    actuator.update(0.005)
    assert torch.equal(actuator.compute(cmd), plain.compute(0.5, zero, zero, 0.005))
    actuator.reset([1])
    assert actuator.resets == 1
    assert torch.equal(actuator.compute(cmd)[1], first[1])
