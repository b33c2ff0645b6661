"""The file for Warp in the simulators that are installed here; `make conformance` has each in an environment
of its own. mjlab's class against a stand-in with mjlab's arguments."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import sys
import types
from typing import Any

import numpy as np
import pytest

from backemf.targets.export import export

from ...conftest import unavailable
from ..clock import DRIVES
from .hosts import INERTIA, STEP, Host, MujocoWarp, Newton, module_of
from .proofs import SERVO, proofs
from .test_torch import torch
from .test_torch_hosts import stand_in

INSTALLED = {"newton": Newton, "mujoco_warp": MujocoWarp}


@pytest.fixture(autouse=True)
def _quiet():
    if importlib.util.find_spec("warp") is None:
        unavailable("warp-lang")
    warp: Any = importlib.import_module("warp")
    warp.config.log_level = warp.LOG_ERROR


def needs(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        unavailable(f"{name} (the extra 'peers')")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", INSTALLED)
def test_a_pendulum_in_the_simulator_itself_moves_sticks_resets_and_is_drawn(name, tmp_path):
    needs(name)
    found = proofs(INSTALLED[name], tmp_path)
    assert len(found) == 9
    for one in found:
        assert one.holds, one


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_in_mujoco_warp_a_forward_changes_nothing(tmp_path):
    """The memory is the activations, which only a step moves on."""
    needs("mujoco_warp")
    targets = np.full((30, 2), 0.4)
    once, often = (MujocoWarp(SERVO, np.zeros(2), tmp_path) for _ in range(2))
    expected = once.run(targets)
    for k, row in enumerate(targets):
        often.mjw.forward(often.m, often.d)
        assert np.array_equal(often.positions(), expected[k])
        often.step(row)


@pytest.mark.filterwarnings("ignore")
def test_newton_is_told_what_does_not_fit(tmp_path):
    needs("newton")
    worlds = Newton(SERVO, np.zeros(2), tmp_path)
    drive = worlds.file.KneeDrive
    with pytest.raises(ValueError, match="inertia is None; expected a number above 0"):
        drive.resolve_arguments({"timestep": STEP})
    with pytest.raises(ValueError, match=r"dt is 0\.002 s; this drive was made for a timestep of 0\.001 s"):
        worlds.actuator.step(worlds.now, worlds.control, worlds.mine, worlds.next, dt=2 * STEP)
    assert drive.evaluate_force is None  # Newton's implicit mode is not offered
    copy = worlds.actuator.state()
    worlds.run(np.full((20, 2), 0.4))
    copy.assign(worlds.mine)
    assert np.array_equal(copy.drive_state.memory.numpy(), worlds.mine.drive_state.memory.numpy())


@pytest.mark.filterwarnings("ignore")
def test_mujoco_warp_is_told_what_does_not_fit(tmp_path):
    needs("mujoco_warp")
    import mujoco

    text = export(SERVO, "warp@mujoco-warp", joint="knee", replay=False).text
    file = module_of(text, "knee_refused", tmp_path)
    spec = mujoco.MjSpec.from_string(
        '<mujoco><worldbody><body><joint name="knee"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    spec.option.timestep = STEP
    file.add_actuator(spec, "knee")
    model = spec.compile()
    assert model.dof_armature[0] == pytest.approx(1e-3)
    assert model.actuator_actnum[0] == file.rows(STEP)
    given = {"joints": ["knee"], "inertia": INERTIA}
    model.opt.timestep = 2 * STEP  # the delay line is another one then
    with pytest.raises(ValueError, match="the joint 'knee' has no user actuator with"):
        file.KneeCallback(model, None, None, **given)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(ValueError, match="RK4 asks for a step's torque four times"):
        file.KneeCallback(model, None, None, **given)


@pytest.fixture
def mjlab(monkeypatch) -> None:
    """What the file uses of mjlab 1.6.0."""

    class Base:
        def __init__(self, cfg, entity, target_ids, target_names):
            self.cfg, self.target_names, self._mjs_actuators, self.resets = cfg, target_names, [], 0

        def initialize(self, mj_model, model, data, device):
            pass

        def reset(self, env_ids=None):
            self.resets += 1

    cfg_class = dataclasses.make_dataclass(
        "ActuatorCfg", [("target_names_expr", tuple), ("transmission_type", str, "joint")], kw_only=True
    )
    stand_in(monkeypatch, "mjlab")
    inside = types.SimpleNamespace(Actuator=Base, ActuatorCfg=cfg_class)
    stand_in(monkeypatch, "mjlab.actuator", actuator=inside)
    stand_in(monkeypatch, "mjlab.utils")
    made = {"create_motor_actuator": lambda spec, name, **settings: (name, settings)}
    stand_in(monkeypatch, "mjlab.utils.spec", **made)


@pytest.mark.parametrize("name", ["servo", "impedance"])
def test_mjlabs_class_has_mjlabs_form(name, mjlab, tmp_path):
    if torch is None:
        unavailable("torch")
    actuator = DRIVES[name]
    file = module_of(export(actuator, "warp@mjlab", joint="knee", replay=False).text, "knee_form", tmp_path)
    made = file.KneeActuatorCfg(target_names_expr=("knee",), inertia=INERTIA).build(None, [0, 1], ["a", "b"])
    made.edit_spec(None, ["a", "b"])
    assert made._mjs_actuators[1][0] == "b"
    assert made._mjs_actuators[1][1]["armature"] == pytest.approx(1e-3)
    option = types.SimpleNamespace(opt=types.SimpleNamespace(timestep=0.005))
    made.initialize(option, None, types.SimpleNamespace(nworld=3), "cpu")
    asked = {"position_target": 0.5, "velocity_target": 0.2, "effort_target": 0.1, "pos": 0.0, "vel": 0.0}
    cmd = types.SimpleNamespace(**{k: torch.full((3, 2), x) for k, x in asked.items()})
    plain = file.Actuator(3, 2, timestep=0.005, inertia=INERTIA, device="cpu")
    names = {"position_target": 0.5, "velocity_target": 0.2, "torque_target": 0.1}
    zero, targets = plain.array(0.0), [plain.array(names[t]) for t in actuator.drive.targets]
    first = plain.compute(zero, zero, *targets).numpy().copy()
    assert np.array_equal(made.compute(cmd), first)
    assert np.array_equal(made.compute(cmd), first)  # asked again before the physics moved
    made.update(0.005)
    second = plain.compute(zero, zero, *targets).numpy().copy()
    assert np.array_equal(made.compute(cmd), second)
    made.update(0.005)
    made.reset(torch.tensor([1]))
    assert made.resets == 1
    torque = made.compute(cmd).numpy().copy()
    assert np.array_equal(torque[1], first[1])
    third = plain.compute(zero, zero, *targets).numpy()
    assert np.array_equal(torque[0], third[0])
    made.reset(slice(None))
    assert np.array_equal(made.compute(cmd), first)
    sys.modules.pop("knee_form", None)


def test_every_simulator_has_a_version():
    assert {host.version for host in Host.__subclasses__()} == {"mjlab", "newton", "mujoco-warp"}
