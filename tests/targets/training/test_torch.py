"""The training file: it stands alone, moves as the engine does, sticks in a real simulator,
and draws what it says."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import re
import shutil
import sys
import types
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue, UnknownName
from backemf.results.spread import UNITS, Spread
from backemf.targets.export import export

from ...conftest import ROOT, unavailable

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

SERVO = be.Actuator(
    motor=be.motor.Motor(
        resistance=4.0,
        torque_constant=0.01,
        back_emf_constant=0.011,
        rotor_inertia=1e-7,
        thermal=be.motor.Thermal(resistance=8.0, capacitance=12.0),
    ),
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.Stribeck(coulomb=0.05, static=0.055, stribeck_velocity=0.1, viscous=0.01),
    drive=be.drive.Position(volts_per_radian=40.0, volt_seconds_per_radian=0.2, supply=12.0, slew=8.0),
)
FITTED = ("motor.resistance", "friction.coulomb", "friction.viscous")
SPREAD = Spread(
    errors=dict(zip(FITTED, (0.2, 0.005, 0.002), strict=True)),
    correlation=[[1.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 1.0]],
    held_out=0.004,
)
PARTS = ("mx-106/m6", "xl430-w250", "sts3215-7.4v")


@pytest.fixture(autouse=True)
def _torch():
    if torch is None:
        unavailable("torch")


def made(actuator: be.Actuator = SERVO, to: str = "torch", **settings) -> types.ModuleType:
    module = types.ModuleType("training_file")
    exec(
        compile(
            export(actuator, to, joint="knee", **settings).text, "knee_torch.py", "exec", dont_inherit=True
        ),
        module.__dict__,
    )
    return module


@pytest.mark.parametrize("part", [*PARTS, SERVO], ids=str)
def test_the_file_imports_only_torch_and_holds_every_number(part):
    actuator = part if isinstance(part, be.Actuator) else be.Actuator.read(part)
    text = export(actuator, "torch", joint="knee", notes="measured on a bench").text
    imported = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    assert [[a.name for a in n.names] for n in imported] == [["warnings"], ["torch"]]
    assert actuator.parameters == made(actuator).PARAMETERS
    assert "From: measured on a bench" in text
    assert "Nothing was dropped" in text


def test_its_own_joints_move_as_the_engines_do():
    n, h, steps = 8, 2e-3, 250
    gains = {"volts_per_radian": 40.0, "volt_seconds_per_radian": 0.2, "supply": 12.0}
    late = be.drive.Position(**gains, delay=0.008, period=0.0071, n_velocity_periods=2)
    delayed = be.Actuator(motor=SERVO.motor, gearbox=SERVO.gearbox, friction=SERVO.friction, drive=late)
    t = np.arange(steps + 1) * h
    registers = {"firmware_gain": 0.2, "proportional": 16.0, "derivative": 32.0, "supply": 12.0}
    on_error = {**registers, "firmware_derivative_gain": 2e-3, "derivative_filter": 0.009}
    laws = [
        be.drive.Servo(**on_error),  # each starts its memory of the setpoint in another place
        be.drive.Servo(**on_error, delay=0.006, command_low=0.25, command_high=0.5),
        be.drive.Servo(**on_error, slew=2.0, period=0.0071),
    ]
    pushed = [dataclasses.replace(SERVO, drive=law) for law in laws]
    for actuator, file in ((a, made(a)) for a in (SERVO, delayed, *pushed)):
        joints = file.Actuator(n, 3, inertia=0.004, dtype=torch.float64)
        asked = 0.4 * np.sin(9 * t) + 0.2
        found = [joints.step(float(u), h, load=0.05)[0][n - 1, 2].item() for u in asked[:-1]]
        engine = be.simulate(
            actuator,
            be.bench.Recorded(),
            {"position_target": asked, "inertia": 0.004, "load": 0.05},
            time=t,
            substeps=1,
        )
        np.testing.assert_allclose(found, engine.position[1:], atol=1e-11)


def test_a_delay_of_a_part_of_a_step_acts_as_the_mean_of_both_commands():
    """The engine splits the step there; the file does not, and at 2 ms is off by less than what the command
    moves in a quarter of a step (0.4 x 9 rad/s x 0.5 ms)."""
    h, t = 2e-3, np.arange(251) * 2e-3
    law = be.drive.Position(volts_per_radian=40.0, volt_seconds_per_radian=0.2, supply=12.0, delay=0.0093)
    actuator = dataclasses.replace(SERVO, drive=law)
    joints = made(actuator).Actuator(1, 1, inertia=0.004, dtype=torch.float64)
    asked = 0.4 * np.sin(9 * t) + 0.2
    found = [joints.step(float(u), h, load=0.05)[0][0, 0].item() for u in asked[:-1]]
    inputs = {"position_target": asked, "inertia": 0.004, "load": 0.05}
    engine = be.simulate(actuator, be.bench.Recorded(), inputs, time=t, substeps=1)
    np.testing.assert_allclose(found, engine.position[1:], atol=1.8e-3)


def test_a_reset_leaves_the_others_and_starts_again():
    joints, again = (made().Actuator(64, 12, inertia=0.004) for _ in range(2))
    q, v = torch.full((64, 12), 0.1), torch.zeros(64, 12)
    first = joints.compute(0.6, q, v, 2e-3)
    for _ in range(20):
        joints.compute(0.6, q, v + 1.0, 2e-3)
    before = {name: x.clone() for name, x in joints.state.items()}
    joints.reset([3, 5])
    rest = [i for i in range(64) if i not in (3, 5)]
    for name, x in joints.state.items():
        assert torch.equal(x[rest], before[name][rest])
    assert not torch.equal(joints.state["winding_temperature"][3], before["winding_temperature"][3])
    torque = joints.compute(0.6, q, v, 2e-3)
    assert torch.equal(torque[[3, 5]], first[[3, 5]])
    assert not torch.equal(torque[rest], first[rest])
    assert torch.equal(again.compute(0.6, q, v, 2e-3), first)


@pytest.mark.parametrize("part", [*PARTS, SERVO], ids=str)
def test_gradients_flow_and_are_finite(part):
    actuator = part if isinstance(part, be.Actuator) else be.Actuator.read(part)
    joints = made(actuator).Actuator(64, 12, inertia=0.004, dtype=torch.float64)
    rng = torch.Generator().manual_seed(0)
    q, v, u = (torch.randn(64, 12, generator=rng, dtype=torch.float64, requires_grad=True) for _ in range(3))
    with torch.no_grad():
        v[::2] = 0.0  # at rest, where branches meet
    R = joints.parameters["motor.resistance"].requires_grad_()
    joints.forget()
    total = sum(joints.compute(u, q + 1e-3 * k, v, 2e-3).sum() for k in range(5))
    # the checker knows its base class only
    total.backward()  # type: ignore[attr-defined]  # a tensor
    for x in (q, v, u, R):
        assert torch.isfinite(x.grad).all()
        assert (x.grad != 0).any()
    joints.detach()
    assert not any(x.requires_grad for x in joints.state.values())


def test_dry_friction_sticks_in_the_real_mujoco():
    """A pendulum held by friction alone, the drive commanding less than it takes:
    it must not creep, and a motion must be the engine's."""
    if not importlib.util.find_spec("mujoco"):
        unavailable("mujoco")
    mujoco: Any = importlib.import_module("mujoco")
    joints = made().Actuator(1, 1, inertia=0.004, dtype=torch.float64)
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="0.001" integrator="Euler"/><worldbody><body><joint name="j" axis="0 1 0"
          armature="{float(joints.armature)}"/>
        <inertial pos="0 0 -0.05" mass="0.04" diaginertia="0.0039 0.0039 0.0039"/></body></worldbody>
        <actuator><motor joint="j"/></actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    target = np.where(np.arange(1200) < 300, 0.3, 0.9)
    data.qpos[0] = 0.3
    positions = []
    for u in target:
        data.ctrl[0] = joints.compute(float(u), float(data.qpos[0]), float(data.qvel[0]), 0.001).item()
        mujoco.mj_step(model, data)
        positions.append(float(data.qpos[0]))
    assert np.ptp(positions[50:300]) < 1e-9  # gravity pulls with 6 mN m, friction holds with 55
    bench = be.bench.Pendulum(mass=0.04, length=0.05, inertia=0.0039, gravity=9.81)
    engine = be.simulate(SERVO, bench, np.append(target, 0.9), dt=0.001, start={"position": 0.3}).position
    difference = np.array(positions) - engine[1:]
    assert np.sqrt(np.mean(difference**2)) < 2e-3
    assert abs(difference[-1]) < 2e-3
    assert np.ptp(positions[-100:]) < 1e-9


@pytest.mark.parametrize("share", [0.5, 1.0, 1.3])
def test_sticking_forgives_an_inertia_that_is_wrong(share):
    """Up to 4/3 of the true one: beyond, what the load was taken for overshoots,
    and a stuck joint chatters."""
    joints = made().Actuator(1, 1, inertia=0.004, dtype=torch.float64)
    armature, h, q, v = float(joints.armature), 2e-3, 0.3, 0.0
    J, speeds = 0.004 + armature, []
    joints.inertia = joints.tensor(share * J - armature)
    for k in range(550):  # near 4/3 it takes its time to settle
        load = -0.02 * np.sin(q) + (0.01 * np.sin(0.05 * k) if k < 150 else 0.0)
        v += h * (joints.compute(0.3, q, v, h).item() + load) / J
        q += h * v
        speeds.append(abs(v))
    assert abs(q - 0.3) < 1e-4
    assert max(speeds[-10:]) < 1e-9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # torch's, of its own
def test_a_compiled_step_is_the_eager_one():
    """Another order of rounding is all that may differ."""
    if not shutil.which("g++") and not shutil.which("clang++"):
        unavailable("a C++ compiler, which torch.compile needs on a CPU")
    file = made(spread=SPREAD)
    settings = {"inertia": 0.004, "dtype": torch.float64, "randomise": ("unit_spread",), "seed": 1}
    eager, compiled = (file.Actuator(16, 3, **settings, compiled=x) for x in (False, True))
    rng, graphs = torch.Generator().manual_seed(0), torch._dynamo.utils.counters["stats"]["unique_graphs"]
    for k in range(30):
        q, v, u = (0.3 * torch.randn(16, 3, generator=rng, dtype=torch.float64) for _ in range(3))
        if k == 20:
            eager.reset([1])
            compiled.reset([1])
        a, b = (one.compute(u, q, v, 2e-3) for one in (eager, compiled))
        assert torch.allclose(a, b, rtol=1e-11, atol=1e-12)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] - graphs == 1  # once, resets and all
    assert compiled.compiled  # it did not fall back
    for name, x in eager.state.items():
        assert torch.allclose(x, compiled.state[name], rtol=1e-11, atol=1e-12), name


def test_a_step_that_cannot_be_compiled_is_taken_eagerly_and_says_so(monkeypatch):
    def compile(function, **_):
        def fails(*_):
            raise RuntimeError("no compiler found")

        return fails

    monkeypatch.setattr(torch, "compile", compile)
    eager, asked = (made().Actuator(2, 2, inertia=0.004, compiled=x) for x in (False, True))
    zero = torch.zeros(2, 2)
    with pytest.warns(
        UserWarning, match=r"not possible here \(RuntimeError: no compiler found\); every step"
    ):
        torque = asked.compute(0.5, zero, zero, 2e-3)
    assert torch.equal(torque, eager.compute(0.5, zero, zero, 2e-3))
    assert torch.equal(asked.compute(0.5, zero, zero, 2e-3), eager.compute(0.5, zero, zero, 2e-3))


def test_draws_have_the_stated_size_and_correlation():
    file = made(spread=SPREAD)
    joints = file.Actuator(20000, 2, inertia=0.004, randomise=("parameter_error",), seed=1)
    z = torch.stack([joints.parameters[path] - SERVO.parameters[path] for path in FITTED])
    assert torch.equal(z[..., 0], z[..., 1])  # one truth for all joints of an environment
    np.testing.assert_allclose(z[..., 0].std(dim=1), list(SPREAD.errors.values()), rtol=0.03)
    np.testing.assert_allclose(np.corrcoef(z[..., 0]), SPREAD.correlation, atol=0.03)
    joints = file.Actuator(10000, 2, inertia=0.004, randomise=("unit_spread", "held_out"), seed=1)
    for paths, share in UNITS.items():
        x = torch.log(joints.parameters[paths[0]] / SERVO.parameters[paths[0]])
        assert x.std().item() == pytest.approx(share, rel=0.03)
        assert abs(np.corrcoef(x.T)[0, 1]) < 0.03  # each joint is a unit of its own
    ratio = joints.parameters["motor.back_emf_constant"] / joints.parameters["motor.torque_constant"]
    assert torch.allclose(ratio, torch.tensor(1.1, dtype=torch.float64))  # they move together
    assert joints.offset.abs().mean().item() == pytest.approx(
        0.004, rel=0.03
    )  # the held-out mean absolute error
    names = {"motor.inductance", "motor.rotor_inertia", "gearbox.ratio"} & set(file.PARAMETERS)
    assert all(joints.parameters[path].dim() == 0 for path in names)  # what nobody spread is one number


def test_draws_stay_in_range_order_and_their_own_environments():
    wide = Spread(
        errors={"friction.coulomb": 0.05, "friction.static": 0.05},
        units={"motor.resistance": 2.0, ("friction.coulomb",): 0.5},
    )
    assert [f.code for f in export(SERVO, "torch", spread=wide).findings] == ["loosely_known"]
    joints = made(spread=wide).Actuator(2000, 2, inertia=0.004, randomise=("parameter_error", "unit_spread"))
    p = joints.parameters
    assert p["motor.resistance"].min().item() == pytest.approx(0.05 * 4.0)
    assert (p["friction.coulomb"] >= 0).all()
    assert (p["friction.coulomb"] == 0).any()
    assert (p["friction.static"] >= p["friction.coulomb"]).all()
    before = p["motor.resistance"].clone()
    joints.resample([7])
    changed = (joints.parameters["motor.resistance"] != before).any(dim=1).nonzero().flatten().tolist()
    assert changed == [7]
    assert torch.isfinite(joints.compute(0.5, torch.zeros(2000, 2), torch.zeros(2000, 2), 2e-3)).all()
    same = [
        made(spread=wide)
        .Actuator(5, 2, inertia=0.004, randomise=("unit_spread",), seed=3)
        .parameters["motor.resistance"]
        for _ in range(2)
    ]
    assert torch.equal(*same)


def test_nothing_is_drawn_unless_asked_for():
    joints = made(spread=SPREAD).Actuator(4, 2, inertia=0.004)
    assert {path: x.item() for path, x in joints.parameters.items()} == SERVO.parameters
    with pytest.raises(
        ValueError, match="unknown randomisation 'friction'; valid: parameter_error, unit_spread, held_out"
    ):
        made().Actuator(4, 2, inertia=0.004, randomise=("friction",))
    with pytest.raises(ValueError, match="this file holds no numbers for 'held_out'; export a fit"):
        made().Actuator(4, 2, inertia=0.004, randomise=("held_out",))


@pytest.mark.parametrize(
    ("spread", "error", "words"),
    [
        (
            {"errors": {"motor.resistance": -1.0}},
            InvalidValue,
            "spread.errors has -1.0 for 'motor.resistance'; expected a number of at least 0",
        ),
        (
            {"errors": {"motor.resistance": 1.0}, "correlation": [[1.0, 0.0]]},
            InvalidValue,
            r"correlation has shape \(1, 2\); expected 1 x 1",
        ),
        ({"held_out": float("nan")}, InvalidValue, "spread.held_out is nan"),
        ({"errors": {"motor.resistence": 1.0}}, UnknownName, "did you mean 'motor.resistance'"),
        ({"units": {"friction.load": 0.1}}, UnknownName, "unknown parameter 'friction.load'"),
    ],
)
def test_a_spread_is_checked(spread, error, words):
    with pytest.raises(error, match=words):
        export(SERVO, "torch", spread=Spread(**spread))


def test_a_fits_numbers_become_a_spread():
    r = np.array([[1.0, 0.2, 0.5], [0.2, 1.0, 0.1], [0.5, 0.1, 1.0]])
    spread = Spread.of(
        SERVO, {"motor.resistance": 0.2, "bench.mass": 0.01, "friction.viscous": 0.002}, r, held_out=0.003
    )
    assert spread.errors == {"motor.resistance": 0.2, "friction.viscous": 0.002}
    np.testing.assert_allclose(
        np.array(spread.cholesky()) @ np.array(spread.cholesky()).T, [[1.0, 0.5], [0.5, 1.0]], atol=1e-8
    )
    text = export(SERVO, "torch", spread=spread).text
    assert "the fit's standard errors" in text
    assert "an assumption of backemf, not a measurement" in text


def test_a_joint_needs_an_inertia():
    light = SERVO.replace(**{"motor.rotor_inertia": 0.0})
    assert [f.code for f in export(light, "torch").findings] == ["no_rotor_inertia"]
    with pytest.raises(ValueError, match="inertia is 0 for a joint without an armature"):
        made(light).Actuator(2, 2, inertia=0.0)


def test_the_pages_torch_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "targets" / "torch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py(?:thon)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.syspath_prepend(str(tmp_path))
    space: dict = {}
    for block in blocks:
        exec(compile(block, "torch.md", "exec", dont_inherit=True), space)
    sys.modules.pop("knee_torch", None)


def test_only_a_training_file_takes_a_spread():
    with pytest.raises(
        InvalidValue, match="and this is an export to urdf; it applies to the targets torch, warp, jax"
    ):
        export(SERVO, "urdf", spread=SPREAD)


def test_a_voltage_has_no_place_in_a_simulators_commands():
    motor = be.Actuator(motor=SERVO.motor, drive=be.drive.Voltage(supply=12.0))
    assert made(motor).Actuator(2, 2, inertia=0.01).compute(6.0, 0.0, 0.0, 2e-3).shape == (2, 2)
    with pytest.raises(
        InvalidValue,
        match=r"mjlab asks for positions, velocities and efforts; drive\.Voltage follows voltage_target",
    ):
        export(motor, "torch@mjlab")
