"""The C of a plugin, compiled and run inside the real MuJoCo, beside attached actuators and broken
text."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from mujoco import rollout

import backemf as be
from backemf.engine.hosted_system import live_system
from backemf.errors import NotAvailable
from backemf.targets.code import c_language as cc, plugin as target
from backemf.targets.export import export
from backemf.targets.replay import replay

from ...simulator.live.arms import arm, pendulum
from .plugged import STRICT, apart, both, plugged, written
from .variants import LATE, SERVO, VARIANTS

JOINTS = ("a", "b", "c")
CASES = {**VARIANTS, "late": LATE}
CLOSE = 1e-12
"""The same algorithm on the same graph: what is left is the order of sums, 1e-13 over 300 steps."""


def slides(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    for joint in spec.joints:
        joint.type = mujoco.mjtJoint.mjJNT_SLIDE
    return spec


def asked(one: be.Actuator, model: mujoco.MjModel, n_joints: int, n: int = 300) -> np.ndarray:
    """Every target of every joint moves, and the drives are off for a while."""
    k = np.arange(n)[:, None] + 40.0 * np.arange(model.nu)
    ctrl = 0.1 * np.sin(0.03 * k)
    ctrl[:, :n_joints] *= 4.0 if one.drive.error_of == "position" else 30.0
    for i in range(model.nu):
        if model.actuator(i).name.endswith("_disabled"):
            ctrl[:, i] = (k[:, 0] > 200) & (k[:, 0] < 230)
    return ctrl


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.proof] if k % 3 else []) for k, n in enumerate(CASES)]
)
def test_a_pendulum_moves_as_with_an_attached_actuator(name):
    """Every friction, drive, gearbox and heat; the C compiles without a warning."""
    one = CASES[name]
    spec = slides(pendulum()) if one.motion == "linear" else pendulum()
    models = both(spec, {"hinge": one})
    worst, size = apart(models, asked(one, models[0], 1), start=1.0)
    assert worst < CLOSE
    assert size > 0.05


@pytest.mark.parametrize(
    "name", ["friction stribeck", "friction lugre", "drive impedance", "two nodes", "late"]
)
def test_an_arm_moves_as_with_attached_actuators(name):
    """Three joints that move each other, each with a plugin of its own."""
    one = CASES[name]
    models = both(arm(), dict.fromkeys(JOINTS, one))
    worst, size = apart(models, asked(one, models[0], 3))
    assert worst < CLOSE
    assert size > 0.1


def test_other_parts_share_a_tree():
    """One library with an actuator of other structure for each joint."""
    kinds = ("friction lugre", "drive delay and period", "inductance and heat")
    actuators = {joint: CASES[name] for joint, name in zip(JOINTS, kinds, strict=True)}
    motors = be.attach(arm(), actuators, feedforward=True, switch=True, substeps=2)
    model = plugged(arm(), actuators, substeps=2)
    assert apart((motors.model, model), asked(SERVO, model, 3))[0] < CLOSE


def test_joints_may_share_an_instance():
    """Three actuators of one instance, each with its own memory."""
    apiece = plugged(arm(), dict.fromkeys(JOINTS, LATE))
    files = written({"a": LATE}, 2e-3).files
    spec, made = arm(), target.build_library(files, *STRICT)
    name = f"backemf.a{made.tag}"
    spec.activate_plugin(name)
    instance = spec.add_plugin(name="all", plugin_name=name, active=True)
    for joint in JOINTS:
        spec.joint(joint).armature = _armature(LATE)
        spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT).plugin = instance
    shared = spec.compile()
    assert shared.nplugin == 1
    ctrl = asked(LATE, shared, 3)
    runs = [mujoco.MjData(m) for m in (apiece, shared)]
    for row in ctrl:
        for m, data in zip((apiece, shared), runs, strict=True):
            data.ctrl[:3] = row
            mujoco.mj_step(m, data)
    assert np.array_equal(runs[0].qpos, runs[1].qpos)


def _armature(one: be.Actuator) -> float:
    system = live_system(one)
    return float(system.armature([*system.parameters.values()]))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
def test_friction_holds_an_arm_for_a_minute(share):
    """Three links under gravity, each joint's friction so that its load is this share of what starts it."""
    spec = arm()
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    one = dataclasses.replace(
        SERVO, friction=be.friction.Coulomb(coulomb=1.0), drive=be.drive.Voltage(supply=12.0)
    )
    actuators = {
        joint: one.replace(**{"friction.coulomb": float(load) / share})
        for joint, load in zip(JOINTS, np.abs(data.qfrc_bias), strict=True)
    }
    model = plugged(spec, actuators)
    data = mujoco.MjData(model)
    for _ in range(round(60.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    assert np.max(np.abs(data.qpos)) < 1e-6


def test_what_exceeds_the_friction_moves():
    one = dataclasses.replace(
        SERVO, friction=be.friction.Coulomb(coulomb=0.01), drive=be.drive.Voltage(supply=12.0)
    )
    model = plugged(arm(), dict.fromkeys(JOINTS, one))
    data = mujoco.MjData(model)
    for _ in range(500):
        mujoco.mj_step(model, data)
    assert np.max(np.abs(data.qpos)) > 0.1


@pytest.fixture(scope="module")
def late_arm() -> mujoco.MjModel:
    return plugged(arm(), dict.fromkeys(JOINTS, LATE))


def run(model: mujoco.MjModel, data: mujoco.MjData, first: int, last: int) -> np.ndarray:
    for k in range(first, last):
        data.ctrl[:3] = 0.3 * np.sin(0.03 * k)
        mujoco.mj_step(model, data)
    return data.qpos.copy()


def test_states_are_stored_restored_reset_copied_and_pickled(late_arm):
    data = mujoco.MjData(late_arm)
    first = run(late_arm, data, 0, 200)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    stored = np.empty(mujoco.mj_stateSize(late_arm, kind))
    mujoco.mj_getState(late_arm, data, stored, kind)
    others = [copy.copy(data), pickle.loads(pickle.dumps(data)), mujoco.MjData(late_arm)]
    mujoco.mj_setState(late_arm, others[2], stored, kind)
    onward = run(late_arm, data, 200, 300)
    for other in others:
        assert np.array_equal(run(late_arm, other, 200, 300), onward)
    mujoco.mj_resetData(late_arm, data)
    assert not data.plugin_state.any()
    assert np.array_equal(run(late_arm, data, 0, 200), first)


def test_asking_twice_changes_nothing(late_arm):
    """Viewers and sensors call mj_forward between steps."""
    once, often = mujoco.MjData(late_arm), mujoco.MjData(late_arm)
    for k in range(100):
        for data in (once, often):
            data.ctrl[:3] = 0.3 * np.sin(0.02 * k)
        mujoco.mj_forward(late_arm, often)
        mujoco.mj_forward(late_arm, often)
        mujoco.mj_step(late_arm, once)
        mujoco.mj_step(late_arm, often)
    assert np.array_equal(once.qpos, often.qpos)
    assert np.array_equal(once.plugin_state, often.plugin_state)


def test_threads_move_it_alike(late_arm):
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    data = mujoco.MjData(late_arm)
    start = np.empty((8, mujoco.mj_stateSize(late_arm, full)))
    mujoco.mj_getState(late_arm, data, start[0], full)
    start[:] = start[0]
    ctrl = np.zeros((8, 200, late_arm.nu))
    ctrl[:, :, :3] = (0.3 * np.sin(0.03 * np.arange(200)))[None, :, None]
    states, _ = rollout.rollout(late_arm, [mujoco.MjData(late_arm) for _ in range(4)], start, ctrl)
    end = run(late_arm, data, 0, 200)
    for k in range(8):
        assert np.array_equal(states[k, -1, 1:4], end)


def test_a_disabled_group_lets_its_joint_go(late_arm):
    model = copy.copy(late_arm)
    model.opt.disableactuator = 1
    data = mujoco.MjData(model)
    data.ctrl[:3] = 0.3
    mujoco.mj_step(model, data)
    assert not data.actuator_force.any()
    assert not data.plugin_state.any()


def test_ctrl_stays_within_its_range():
    spec = pendulum()
    model = plugged(spec, {"hinge": SERVO})
    free, held = copy.copy(model), copy.copy(model)
    held.actuator_ctrllimited[0], held.actuator_ctrlrange[0] = 1, [-0.1, 0.1]
    ends = []
    for m, x in ((free, 0.1), (held, 0.5), (free, 0.5)):
        data = mujoco.MjData(m)
        data.ctrl[0] = x
        mujoco.mj_step(m, data, 100)
        ends.append(data.qpos[0])
    assert ends[0] == ends[1] != ends[2]


def test_a_configuration_acts_as_another_parameter_would():
    changed = {"friction.coulomb": 0.01, "drive.delay": 0.013, "motor.resistance": 6.0}
    files = written({"hinge": LATE}, 1e-3).files
    mine = plugged(pendulum(), {"hinge": LATE}, files, **changed)
    fresh = plugged(pendulum(), {"hinge": LATE.replace(**changed)}, substeps=1)
    ctrl = asked(LATE, mine, 1)
    assert apart((mine, fresh), ctrl)[0] < CLOSE
    assert apart((mine, plugged(pendulum(), {"hinge": LATE}, files)), ctrl)[0] > 1e-3


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"friction.coulomb": "much"}, "friction.coulomb is 'much'; expected a number"),
        ({"friction.coulomb": -1}, "friction.coulomb is -1; expected a number not below 0"),
        ({"motor.resistance": 0}, "motor.resistance is 0; expected a number above 0"),
        ({"friction.coulomb": 1}, "friction.static is 0.055; expected at least friction.coulomb, which is 1"),
        ({"disabled": "nobody"}, "disabled is 'nobody'; expected the name of an actuator"),
        ({"substeps": 0}, "substeps is '0'; expected a whole number above 0"),
        ({"friction.colour": 1}, "unrecognized attribute 'plugin:friction.colour'"),
    ],
)
def test_what_cannot_be_configured_is_said(config, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        plugged(pendulum(), {"hinge": SERVO}, **config)


def test_what_a_joint_must_not_have_is_said():
    files = written({"hinge": SERVO}, 1e-3).files
    made = target.build_library(files, *STRICT)
    spec = pendulum()  # whose joint has damping, dry friction and armature of its own
    name = f"backemf.hinge{made.tag}"
    spec.activate_plugin(name)
    own = spec.add_actuator(name="hinge", target="hinge", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    own.plugin = spec.add_plugin(name="own", plugin_name=name, active=True)
    spec.joint("hinge").armature = _armature(SERVO)
    with pytest.warns(UserWarning, match="has damping 0.3 and frictionloss 0.2 besides its actuator's"):
        spec.compile()
    spec.joint("hinge").damping[:], spec.joint("hinge").frictionloss, spec.joint("hinge").armature = (
        0.0,
        0.0,
        0.0001,
    )
    with pytest.warns(UserWarning, match="has armature 0.0001; expected at least the rotor's, 0.001"):
        spec.compile()
    spec.joint("hinge").armature = _armature(SERVO)
    own.gear[0] = 2.0
    with pytest.raises(ValueError, match=r'expected joint="\.\.\." with a hinge, and gear 1'):
        spec.compile()
    own.gear[0], spec.option.integrator = 1.0, mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(ValueError, match="the integrator is RK4, which asks actuators several times a step"):
        spec.compile()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("d->qpos[one->qpos] - 0.5 * h * v", "d->qpos[one->qpos] + 0.5 * h * v"),
        ("acceleration += inverse", "acceleration -= inverse"),
        ("/ h + 0.5;\n", "/ h;\n"),
        ("changes[k] = effort - efforts[k];", "changes[k] = effort;"),
        ("d->qfrc_passive[j] - d->qfrc_bias[j]", "d->qfrc_passive[j] + d->qfrc_bias[j]"),
    ],
)
def test_a_flipped_sign_is_seen(right, wrong):
    """The comparison with attached actuators can fail."""
    spec, one = arm(), {joint: LATE for joint in JOINTS}
    files = dict(written(one, 2e-3).files)
    assert files["a_plugin.c"].count(right) == 1
    files["a_plugin.c"] = files["a_plugin.c"].replace(right, wrong)
    models = both(spec, one, files)
    assert apart(models, asked(LATE, models[0], 3, 50))[0] > 1e-6


def test_the_export_runs_what_it_wrote():
    made = export(SERVO, "mujoco-plugin", joint="knee", timestep=1e-3)
    assert [*made.files] == ["knee_plugin.c", "Makefile", "knee_plugin.xml"]
    assert made.lossless
    assert made.replayed is not None
    assert made.replayed.worst < 3e-3  # a step of 1 ms, of motions of 0.5 rad
    assert "as a plugin built by" in made.text
    live = replay(export(SERVO, "mujoco-live", joint="knee", timestep=1e-3, replay=False))
    for a, b in zip(made.replayed.cases, live.cases, strict=True):
        assert np.max(np.abs(a.target - b.target)) < 1e-9
    with pytest.raises(be.BackemfError, match="integrator is RK4"):
        export(SERVO, "mujoco-plugin", integrator="RK4")


USE = """
import sys, mujoco
mujoco.mj_loadPluginLibrary(sys.argv[1])
model = mujoco.MjModel.from_xml_path(sys.argv[2])
data = mujoco.MjData(model)
data.ctrl[0] = 0.4
mujoco.mj_step(model, data, 1000)
print(data.qpos[0])
"""


def test_the_makefile_builds_it_and_the_example_uses_it(tmp_path):
    """As a user does: make, load, move; also where the files have another name."""
    made = export(SERVO, "mujoco-plugin", joint="knee", timestep=1e-3, replay=False)
    made.write(tmp_path / "leg.c")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["Makefile", "leg.c", "leg.xml"]
    flags = f"CFLAGS={' '.join(STRICT)}"
    subprocess.run(["make", f"PYTHON={sys.executable}", flags], cwd=tmp_path, check=True, capture_output=True)
    command = [sys.executable, "-c", USE, str(tmp_path / "libleg.so"), str(tmp_path / "leg.xml")]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert abs(float(done.stdout) - 0.4) < 0.01
    assert not done.stderr


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    made = export(SERVO, "mujoco-plugin", joint="elbow", replay=False)
    monkeypatch.setattr(target, "_loaded", {})  # as in another process
    monkeypatch.setattr(mujoco, "__file__", str(tmp_path / "mujoco" / "__init__.py"))
    with pytest.raises(NotAvailable, match="has no headers or library to build a plugin against"):
        target.build_library(made.files)
    monkeypatch.setattr(cc, "KNOWN", ())
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(NotAvailable, match="there is no C compiler"):
        replay(made)
    unknown = export(SERVO, "mujoco-plugin", joint="elbow", replay=False).text
    assert "Creep: not measured: the installed mujoco" in unknown
    with pytest.raises(be.BackemfError, match="expected the C of"):
        target.build_library({"knee.c": "int main(void);"})


BESIDE = """<mujoco><option timestep="0.001"/><worldbody>
<body><joint name="x" axis="0 1 0"/><geom size=".1"/></body>
<body pos="1 0 0"><joint name="hinge" axis="0 1 0"/><geom size=".1"/></body></worldbody><actuator>
<dcmotor name="dc" joint="x" motorconst="0.1" resistance="1" input="pos vel ff" controller="1 0 0"/>
</actuator></mujoco>"""


@pytest.mark.skipif(int(mujoco.__version__.split(".")[0]) < 4, reason="actuators of one input until MuJoCo 4")
def test_an_actuator_of_several_inputs_before_it_moves_its_ctrl():
    model = plugged(mujoco.MjSpec.from_string(BESIDE), {"hinge": SERVO})
    at = int(model.actuator("hinge").id)
    data = mujoco.MjData(model)
    data.ctrl[model.actuator_ctrladr[at]] = 0.5
    mujoco.mj_step(model, data, 2000)
    assert model.actuator_ctrladr[at] == 3
    assert abs(data.qpos[1] - 0.5) < 0.02
    assert data.qpos[0] == 0.0
