"""The training file for Warp on its CPU device: it stands alone, moves as the engine and the file for torch
do, allocates nothing in a step, and draws what it says."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import re
import sys
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.engine.hosted_system import hosted_system
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem
from backemf.errors import InvalidValue
from backemf.results.spread import UNITS, Spread
from backemf.targets.export import export
from backemf.targets.reference_motions import make_case
from backemf.targets.replay import read_export
from backemf.targets.training import warp as target

from ...conftest import ROOT, unavailable
from ...engine.compile.test_torch import BACKLASH, LUGRE
from ..clock import DRIVES, GEARED, driven
from .hosts import module_of
from .test_torch import FITTED, PARTS, SERVO, SPREAD, torch

H = 2e-3
GAINS = {"volts_per_radian": 40.0, "volt_seconds_per_radian": 0.2, "supply": 12.0}
REGISTERS = {"firmware_gain": 0.2, "proportional": 16.0, "derivative": 32.0, "supply": 12.0}
ON_ERROR = {**REGISTERS, "firmware_derivative_gain": 2e-3, "derivative_filter": 0.009}
LAWS = {  # each starts its memory of the setpoint in another place
    "plain": SERVO.drive,
    "late": be.drive.Position(**GAINS, delay=0.008, period=0.0071, n_velocity_periods=2),
    "late, within limits": be.drive.Servo(**ON_ERROR, delay=0.006, command_low=0.25, command_high=0.5),
    "slewed": be.drive.Servo(**ON_ERROR, slew=2.0, period=0.0071),
}
MADE: dict[Any, Any] = {}


@pytest.fixture(scope="module")
def wp() -> Any:
    if importlib.util.find_spec("warp") is None:
        unavailable("warp-lang")
    warp = importlib.import_module("warp")
    warp.config.log_level = warp.LOG_ERROR
    return warp


@pytest.fixture
def made(wp, tmp_path_factory) -> Any:
    """A file as a module; one for each actuator and spread, because Warp compiles it."""

    def one(actuator: be.Actuator = SERVO, spread: Spread | None = None) -> Any:
        text = export(actuator, "warp", joint="knee", spread=spread, replay=False).text
        key = text.partition("\n\n")[2]  # without the date
        if key not in MADE:
            MADE[key] = module_of(text, f"knee_{len(MADE)}", tmp_path_factory.mktemp("warp"))
        return MADE[key]

    return one


def with_law(name: str) -> be.Actuator:
    return dataclasses.replace(SERVO, drive=LAWS[name])


@pytest.mark.parametrize("part", [*PARTS, SERVO], ids=str)
def test_the_file_imports_only_warp_and_numpy_and_holds_every_number(part, made):
    actuator = part if isinstance(part, be.Actuator) else be.Actuator.read(part)
    text = export(actuator, "warp", joint="knee", notes="measured on a bench", replay=False).text
    imported = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    assert [[a.name for a in n.names] for n in imported] == [["numpy"], ["warp"]]
    assert actuator.parameters == made(actuator).PARAMETERS
    assert "From: measured on a bench" in text
    assert "Nothing was dropped" in text


@pytest.mark.parametrize("name", LAWS)
def test_its_own_joints_move_as_the_engines_do(name, wp, made):
    actuator, n, t = with_law(name), 8, np.arange(251) * H
    joints = made(actuator).Actuator(n, 3, timestep=H, inertia=0.004, dtype=wp.float64, device="cpu")
    asked, load, u = 0.4 * np.sin(9 * t) + 0.2, joints.array(0.05), joints.array(0.0)
    found = []
    for x in asked[:-1]:
        u.fill_(x)
        found.append(joints.step(u, load=load)[0].numpy()[n - 1, 2])
    inputs = {"position_target": asked, "inertia": 0.004, "load": 0.05}
    engine = be.simulate(actuator, be.bench.Recorded(), inputs, time=t, substeps=1)
    np.testing.assert_allclose(found, engine.position[1:], atol=1e-11)


@pytest.mark.parametrize("name", [*LAWS, "delay of a part of a step", "backlash"])
def test_a_simulators_joints_get_the_same_torque_as_from_the_file_for_torch(name, wp, made):
    """Random motions, a reset of some in the middle, and a ring of commands that goes round many times."""
    if torch is None:
        unavailable("torch")
    law = be.drive.Position(**GAINS, delay=0.0093)
    others = {"delay of a part of a step": dataclasses.replace(SERVO, drive=law), "backlash": BACKLASH}
    actuator = others.get(name) or with_law(name)
    space: dict[str, Any] = {}
    exec(export(actuator, "torch", joint="knee", replay=False).text, space)
    theirs = space["Actuator"](5, 2, inertia=0.004, dtype=torch.float64)
    ours = made(actuator).Actuator(5, 2, timestep=H, inertia=0.004, dtype=wp.float64, device="cpu")
    rng = np.random.default_rng(0)
    q, v, u = (ours.array(0.0) for _ in range(3))
    for k in range(60):
        for x, size in ((q, 0.1), (v, 0.5 * (k % 7 > 3)), (u, 0.3)):
            x.assign(rng.normal(0, size, (5, 2)))
        if k == 30:
            ours.reset([1, 4])
            theirs.reset([1, 4])
        expected = theirs.compute(*(torch.tensor(x.numpy()) for x in (u, q, v)), H).numpy()
        found = ours.compute(q, v, u).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    for state, x in theirs.state.items():
        np.testing.assert_allclose(ours.state[state].numpy(), x.numpy(), rtol=1e-9, atol=1e-12)
    assert ours.armature.numpy()[0, 0] == pytest.approx(float(theirs.armature[0, 0]))


CASES = {"lugre": LUGRE, "mx-106/m6": "mx-106/m6", "sts3215-7.4v": "sts3215-7.4v"}


@pytest.mark.parametrize("name", CASES)
def test_thirty_two_bits_stay_within_a_microradian_over_a_thousand_steps(name, wp, made):
    given = CASES[name]
    actuator = be.Actuator.read(given) if isinstance(given, str) else given
    n, rng, system = 96, np.random.default_rng(0), hosted_system(actuator)
    engine = stepper(ActuatorSystem(actuator=actuator, bench=system.bench, inputs=system.inputs), n)
    size, frequency = rng.uniform(0.1, 1, n), rng.uniform(0.3, 3, n)
    inertia, pull = rng.uniform(0.002, 0.02, n), rng.uniform(0, 0.3, n)
    state = engine.start(position=rng.normal(0, 0.3, n))
    joints = made(actuator).Actuator(n, 1, timestep=H, inertia=inertia[:, None], device="cpu")
    for i, x in enumerate(joints.state.values()):
        x.assign(state[:, i : i + 1].astype(np.float32))
    joints.memory.numpy()[made(actuator).PLACE] = 1.0  # not after a reset: as the engine
    target, load, worst = joints.array(0.0), joints.array(0.0), np.zeros(n)
    for k in range(1000):
        asked, against = size * np.sin(2 * np.pi * frequency * k * H), pull * np.sin(3 * k * H)
        state = engine(state, np.stack([inertia, against, asked], axis=1), H)
        target.assign(asked[:, None].astype(np.float32))
        load.assign(against[:, None].astype(np.float32))
        q, _ = joints.step(target, load=load)
        worst = np.maximum(worst, np.abs(q.numpy()[:, 0] - state[:, 0]))
    assert worst.max() < 1e-6  # rad, absolute


def test_a_step_allocates_nothing_and_repeats_to_the_bit(wp, made, monkeypatch):
    joints, again = (
        made(with_law("late")).Actuator(16, 3, timestep=H, inertia=0.004, device="cpu") for _ in range(2)
    )
    q, v, u = (joints.array(x) for x in (0.1, 0.5, 0.6))
    first = joints.compute(q, v, u)
    places = joints.memory.ptr, joints.kept.ptr, first.ptr
    with monkeypatch.context() as patch:
        for name in ("zeros", "empty", "clone", "copy", "array", "launch"):
            patch.setattr(wp, name, lambda *_, name=name, **__: pytest.fail(f"wp.{name} in a step"))
        for _ in range(40):
            assert joints.compute(q, v, u) is first
    assert places == (joints.memory.ptr, joints.kept.ptr, first.ptr)
    for _ in range(41):
        other = again.compute(q, v, u)
    assert np.array_equal(first.numpy(), other.numpy())
    out = joints.array(0.0)
    assert joints.compute(q, v, u, out=out) is out
    assert np.array_equal(out.numpy(), again.compute(q, v, u).numpy())


def test_a_pending_step_leaves_the_memory(wp, made):
    joints = made(with_law("late")).Actuator(4, 2, timestep=H, inertia=0.004, device="cpu")
    q, v, u = (joints.array(x) for x in (0.1, 0.5, 0.6))
    joints.compute(q, v, u)
    saved, pending = joints.save(), wp.zeros_like(joints.memory)
    torque = joints.compute(q, v, u, pending=pending).numpy().copy()
    assert np.array_equal(joints.memory.numpy(), saved.numpy())
    assert np.array_equal(joints.compute(q, v, u).numpy(), torque)
    assert np.array_equal(joints.memory.numpy(), pending.numpy())
    joints.restore(saved)
    assert np.array_equal(joints.compute(q, v, u).numpy(), torque)


def _mask(wp: Any) -> Any:
    return wp.array(np.isin(np.arange(64), (3, 5)), dtype=wp.bool, device="cpu")


CHOICES = {
    "a list": lambda wp: [3, 5],
    "NumPy's mask": lambda wp: np.isin(np.arange(64), (3, 5)),
    "Warp's numbers": lambda wp: wp.array([3, 5], dtype=wp.int32, device="cpu"),
    "Warp's mask": _mask,
}


@pytest.mark.parametrize("choice", CHOICES)
def test_a_reset_leaves_the_others_and_starts_again(choice, wp, made):
    joints = made(with_law("late")).Actuator(64, 12, timestep=H, inertia=0.004, device="cpu")
    q, v, u = (joints.array(x) for x in (0.1, 0.0, 0.6))
    fast = joints.array(1.0)
    first = joints.compute(q, v, u).numpy().copy()
    for _ in range(20):
        joints.compute(q, fast, u)
    before = {name: x.numpy().copy() for name, x in joints.state.items()}
    joints.reset(CHOICES[choice](wp))
    rest = [i for i in range(64) if i not in (3, 5)]
    for name, x in joints.state.items():
        assert np.array_equal(x.numpy()[rest], before[name][rest])
    assert (joints.state["winding_temperature"].numpy()[[3, 5]] == 25.0).all()
    assert (before["winding_temperature"] > 25.0).all()
    torque = joints.compute(q, v, u).numpy()
    assert np.array_equal(torque[[3, 5]], first[[3, 5]])
    assert not np.array_equal(torque[rest], first[rest])
    joints.reset()
    assert np.array_equal(joints.compute(q, v, u).numpy(), first)


def test_draws_have_the_stated_size_and_correlation(wp, made):
    file, settings = made(spread=SPREAD), {"timestep": H, "inertia": 0.004, "device": "cpu", "seed": 1}
    joints = file.Actuator(20000, 2, randomise=("parameter_error",), **settings)
    z = np.stack([joints.parameters[path] - SERVO.parameters[path] for path in FITTED])
    assert np.array_equal(z[..., 0], z[..., 1])  # one truth for all joints of an environment
    np.testing.assert_allclose(z[..., 0].std(axis=1), list(SPREAD.errors.values()), rtol=0.03)
    np.testing.assert_allclose(np.corrcoef(z[..., 0]), SPREAD.correlation, atol=0.03)
    joints = file.Actuator(10000, 2, randomise=("unit_spread", "held_out"), **settings)
    for paths, share in UNITS.items():
        x = np.log(joints.parameters[paths[0]] / SERVO.parameters[paths[0]])
        assert x.std() == pytest.approx(share, rel=0.03)
        assert abs(np.corrcoef(x.T)[0, 1]) < 0.03  # each joint is a unit of its own
    ratio = joints.parameters["motor.back_emf_constant"] / joints.parameters["motor.torque_constant"]
    np.testing.assert_allclose(ratio, 1.1)  # they move together
    assert np.abs(joints.offset.numpy()).mean() == pytest.approx(0.004, rel=0.03)


def test_what_is_drawn_acts_and_stays_in_its_own_environments(wp, made):
    wide = Spread(
        errors={"friction.coulomb": 0.05, "friction.static": 0.05},
        units={"motor.resistance": 2.0, ("friction.coulomb",): 0.5},
        held_out=0.004,
    )
    names = ("parameter_error", "unit_spread", "held_out")
    settings = {"timestep": H, "inertia": 0.004, "device": "cpu", "dtype": wp.float64}
    file = made(spread=wide)
    joints = file.Actuator(500, 2, randomise=names, seed=3, **settings)
    p = joints.parameters
    assert p["motor.resistance"].min() == pytest.approx(0.05 * 4.0)
    assert (p["friction.coulomb"] == 0).any()
    assert (p["friction.static"] >= p["friction.coulomb"]).all()
    q, v, u = (joints.array(x) for x in (0.1, 2.0, 0.5))
    torque = joints.compute(q, v, u).numpy().copy()
    one = file.Actuator(1, 1, **settings)
    for e, j in ((0, 0), (7, 1), (499, 0)):  # each as an actuator of its own with these numbers
        one.parameters.update({path: np.array(np.broadcast_to(x, (500, 2))[e, j]) for path, x in p.items()})
        one.prepare()
        one.reset()
        asked = one.array(0.5 + joints.offset.numpy()[e, j])
        alone = one.compute(one.array(0.1), one.array(2.0), asked).numpy()[0, 0]
        assert torque[e, j] == pytest.approx(alone, rel=1e-9)
    before = p["motor.resistance"].copy()
    joints.resample([7])
    changed = np.flatnonzero((joints.parameters["motor.resistance"] != before).any(axis=1))
    assert changed.tolist() == [7]
    joints.reset()
    again = joints.compute(q, v, u).numpy()
    assert np.flatnonzero((again != torque).any(axis=1)).tolist() == [7]


def test_nothing_is_drawn_unless_asked_for(wp, made):
    settings = {"timestep": H, "inertia": 0.004, "device": "cpu"}
    joints = made(spread=SPREAD).Actuator(4, 2, **settings)
    assert {path: float(x) for path, x in joints.parameters.items()} == SERVO.parameters
    assert joints.kept.shape[1] == 1  # and one set of terms serves all
    with pytest.raises(ValueError, match="unknown randomisation 'friction'; valid: parameter_error, "):
        made().Actuator(4, 2, randomise=("friction",), **settings)
    with pytest.raises(ValueError, match="this file holds no numbers for 'held_out'; export a fit"):
        made().Actuator(4, 2, randomise=("held_out",), **settings)


def test_what_is_given_is_checked(wp, made):
    joints = made().Actuator(4, 2, timestep=H, inertia=0.004, device="cpu")
    q = joints.array(0.0)
    with pytest.raises(ValueError, match=r"an array has shape \(2, 4\); expected \(4, 2\)"):
        joints.compute(q, q, wp.zeros((2, 4), dtype=wp.float32, device="cpu"))
    with pytest.raises(ValueError, match="0 targets were given; expected position_target"):
        joints.compute(q, q)
    with pytest.raises(ValueError, match="timestep is 0; expected seconds, above 0"):
        made().Actuator(4, 2, timestep=0, inertia=0.004, device="cpu")
    light = SERVO.replace(**{"motor.rotor_inertia": 0.0})
    with pytest.raises(ValueError, match="inertia is 0 for a joint without an armature"):
        made(light).Actuator(2, 2, timestep=H, inertia=0.0, device="cpu")


def test_a_file_is_executed_as_it_stands(wp, tmp_path):
    made = export(DRIVES["servo"], "warp", joint="knee")
    assert made.ran.startswith("Run in Warp ")
    assert made.replayed.worst < 3e-3  # one long step for what backemf integrates to tolerance
    case = make_case(driven(GEARED), made.ctrl, 0.002, "rotary")
    for path, value in GEARED.parameters.items():
        if not value:
            continue
        line = f'    "{path}": {value!r},'
        assert line in made.text
        text = made.text.replace(line, f'    "{path}": {1.3 * value!r},')
        off = target.run({"changed.py": text}, "knee", case) - target.run(made.files, "knee", case)
        assert np.max(np.abs(off)) > 1e-9, path
    with pytest.raises(InvalidValue, match=r"knee\.py does not run: SyntaxError"):
        target.run({"knee.py": "import warp\nclass (:"}, "knee", case)
    for version in ("plain", "mjlab", "newton", "mujoco-warp"):
        path = tmp_path / "knee.py"
        path.write_text(export(GEARED, f"warp@{version}", joint="knee", replay=False).text)
        assert read_export(str(path), GEARED).target == "warp"


@pytest.mark.parametrize(
    ("version", "name"),
    [(v, d) for v in ("mjlab", "newton", "mujoco-warp") for d in DRIVES if d != "mirrored voltage"],
)
def test_a_simulators_part_compiles_or_is_refused(version, name):
    if version == "mjlab" and name == "voltage":
        words = r"mjlab asks for positions, velocities and efforts; drive\.Voltage follows voltage_target"
        with pytest.raises(InvalidValue, match=words):
            export(DRIVES[name], f"warp@{version}", replay=False)
        return
    text = export(DRIVES[name], f"warp@{version}", joint="left_knee", replay=False).text
    compile(text, "knee.py", "exec", dont_inherit=True)
    assert "class LeftKnee" in text


def test_the_pages_blocks_run(wp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "targets" / "warp.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py(?:thon)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.syspath_prepend(str(tmp_path))
    space: dict = {}
    for block in blocks:
        exec(compile(block, "warp.md", "exec", dont_inherit=True), space)
    sys.modules.pop("knee_warp", None)
