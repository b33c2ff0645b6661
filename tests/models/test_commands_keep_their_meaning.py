"""The same commands to a model before and after it was given actuators: what is asked for is reached, a pose
that was held is held, and joints that nobody meant are left as they were."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue, UnknownName
from backemf.mujoco.joint_moves import resting

from .known import (
    MODELS,
    SERVO,
    STALL,
    STATIC,
    THRUST,
    WAYS,
    actuators_on,
    at,
    begin,
    ctrl_of,
    edit,
    load,
    put,
    run,
    scene,
)

WHOLE = ("mujoco-plugin", "attach")
"""Ways in which the actuator's effort holds its friction too, of 0.05 N m."""
TORQUES = {"pushed": 4.0, "left_hip": 2.0, "right_hip": -2.0}
"""Joint whose ctrl is a torque before this gear."""
SPEEDS = {"left_wheel": (2.0, 0.75), "right_wheel": (2.0, 0.75), "spun": (0.5, 0.6)}
"""Joint whose ctrl is a velocity -> rad/s for one unit of it, 1 / gear; and its kv gear^2 [N m s/rad]."""
ABOUT_JOINTS = {
    "ctrl_kept",
    "ctrl_rescaled",
    "damping_removed",
    "drive_without_gain",
    "joint_shared",
    "joints_left_alone",
    "kept_from_model",
    "replaced",
}


def positions_of(name: str) -> list[str]:
    """Joints of a model that are asked for positions."""
    return [joint for joint in MODELS[name].driven if joint not in {*TORQUES, *SPEEDS}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_asked_for_is_reached(name, way, tmp_path):
    """Poses of keyframes are held, ctrl moves a joint as far as before, stalled it gives N K V / R, and a
    torque or velocity stays one; whatever the gear of the model's own actuator."""
    joints, moving = MODELS[name].driven, positions_of(name)
    old, new = load(scene(name)), put(name, {".*": SERVO}, way, tmp_path).model
    for k in range(new.nkey):
        data = begin(new, k)
        pose = data.qpos.copy()
        run(new, data, 1.0)
        for joint in joints:
            place = new.joint(joint).qposadr[0]
            assert abs(data.qpos[place] - pose[place]) < 1e-3, f"{joint} left the keyframe"
    ends = {}
    for which, model in (("before", old), ("after", new)):
        data = begin(model)
        if name == "bare" and which == "before":  # it has no actuators: ctrl is in the joint's units
            ends[which] = {joint: at(model, data, joint) + 0.3 for joint in moving}
            continue
        for joint in moving:
            data.ctrl[ctrl_of(model, joint)] += 0.3
        run(model, data, 3.0)
        ends[which] = {joint: at(model, data, joint) for joint in moving}
    for joint in moving:  # twice: a joint is stopped by its own friction, and moved by that of its neighbours
        assert ends["after"][joint] == pytest.approx(ends["before"][joint], abs=2 * STATIC), joint
    check_torques_and_speeds(name, way, new)


def check_torques_and_speeds(name, way, new):
    """A torque that is asked for arrives behind the gear; a velocity is reached, less friction over kv."""
    friction = 0.06 if way in WHOLE else 1e-6
    for joint, gear in TORQUES.items():
        if joint in MODELS[name].driven:
            data = begin(new)
            data.ctrl[ctrl_of(new, joint)] = 0.3
            mujoco.mj_forward(new, data)
            force = data.qfrc_actuator[new.joint(joint).dofadr[0]]
            assert force == pytest.approx(gear * 0.3, abs=friction), joint
    for joint, (speed, kv) in SPEEDS.items():
        if joint in MODELS[name].driven:
            data = begin(new)
            data.ctrl[ctrl_of(new, joint)] = 1.0
            run(new, data, 1.5)
            wanted = (kv * speed - 0.05) / (kv + 0.02)  # less the servo's coulomb and viscous friction
            assert data.qvel[new.joint(joint).dofadr[0]] == pytest.approx(wanted, rel=0.02), joint


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["leg", "hand", "gantry", "crowd", "zoo"])
def test_stalled_it_gives_what_the_motor_has(name, way, tmp_path):
    """N K V / R at the joint, forwards where the model's own actuator pushed forwards."""
    at_once = dataclasses.replace(SERVO, drive=dataclasses.replace(SERVO.drive, slew=None))
    friction = 0.06 if way in WHOLE else 1e-3
    old, new = load(scene(name)), put(name, {".*": at_once}, way, tmp_path).model
    for joint in positions_of(name):
        pushed = []
        for model in (old, new):
            data = begin(model)
            model.opt.timestep = 1e-8  # so short that nothing moves while a filter sees the command
            data.ctrl[ctrl_of(model, joint)] += 3.0
            run(model, data, 1e-7)
            pushed.append(float(data.qfrc_actuator[model.joint(joint).dofadr[0]]))
        assert np.sign(pushed[0]) == np.sign(pushed[1]), joint
        assert abs(pushed[1]) == pytest.approx(STALL, abs=friction), joint


@pytest.mark.parametrize("name", MODELS)
def test_a_pattern_means_what_is_driven(name, tmp_path):
    """Other joints are untouched and listed with the reason, by every way in the same words."""
    said, known = {}, MODELS[name]
    for way in WAYS:
        folder = tmp_path / way
        folder.mkdir()
        findings = put(name, {".*": SERVO}, way, folder).findings
        assert not {"command_scaled", "overshoots"} & {f.code for f in findings}
        said[way] = {(f.code, f.text) for f in findings if f.code in ABOUT_JOINTS}
    left = "\n".join(text for code, text in said["mujoco"] if code == "joints_left_alone")
    for joint, word in known.left.items():
        line = next(text for text in left.splitlines() if joint in text.split(":")[0].split(", "))
        assert word in line, joint
    assert len([*known.left]) == sum(len(text.split(":")[0].split(", ")) for text in left.splitlines())
    if name == "crowd":  # what has no place in a file can be driven alive
        said["attach"] = said["mujoco"]
    assert said["mujoco"] == said["mujoco-classic"] == said["attach"] == said["mujoco-plugin"]


def test_a_joint_that_is_named_gets_its_actuator(tmp_path):
    """Under a tendon or an equality that is said; keyframes ask a joint that nothing moved to stay."""
    for way in WAYS:
        for joint in MODELS["hand"].named:
            folder = tmp_path / way / joint
            folder.mkdir(parents=True)
            new, findings = put("hand", {joint: SERVO}, way, folder)
            assert len(actuators_on(new, joint)) == 1
            codes = [f.code for f in findings]
            assert ("joint_shared" in codes) == (joint != "wheel")
            assert "joints_left_alone" not in codes
            place = ctrl_of(new, joint)
            assert place == new.nu - 1
            assert new.key_ctrl[:, place] == pytest.approx(new.key_qpos[:, new.joint(joint).qposadr[0]])
    assert list(be.attach(scene("crowd"), {"spin_0": SERVO}).joints) == ["spin_0"]


@pytest.mark.parametrize(
    ("name", "joint", "part", "words"),
    [
        ("gantry", "rail", SERVO, r"joint 'rail' of gantry\.xml is a slide; expected .* motion='linear'"),
        ("gantry", "turn", THRUST, r"joint 'turn' of gantry\.xml is a hinge; expected .* motion='rotary'"),
        ("gantry", "float", SERVO, r"joint 'float' of gantry\.xml is a ball or free"),
        ("gantry", "bell", SERVO, r"joint 'bell' of gantry\.xml is a ball or free"),
        ("zoo", "flexed", SERVO, r"'z_flexed' of joint 'flexed' is a muscle, a plugin, .*; expected a <pos"),
        ("zoo", "looped", SERVO, r"'z_looped' of joint 'looped' is a muscle, a plugin, .*; expected a <pos"),
        ("leg", "kne", SERVO, r"unknown joint in leg\.xml 'kne'; did you mean 'knee'"),
    ],
)
def test_a_joint_that_cannot_have_it_is_named(name, joint, part, words):
    for put_on in (lambda: edit(name, {joint: part}), lambda: be.attach(scene(name), {joint: part})):
        with pytest.raises((InvalidValue, UnknownName), match=words):
            put_on()


def test_joints_without_actuators_get_one_input_each(tmp_path):
    """A law of three targets too; where the same ctrl asks for another share of a velocity, that is said."""
    drives = {
        "position": be.drive.Impedance(newton_metres_per_radian=20.0, newton_metre_seconds_per_radian=1.0),
        "velocity": be.drive.Velocity(volt_seconds_per_radian=3.0),
    }
    for law, drive in drives.items():
        part, reached = dataclasses.replace(SERVO, drive=dataclasses.replace(drive, supply=12.0)), {}
        for way in WAYS:
            folder = tmp_path / law / way
            folder.mkdir(parents=True)
            new, findings = put("bare", {".*": part}, way, folder)
            assert new.nu == 3
            data, scaled = begin(new), [f for f in findings if f.code == "command_scaled"]
            assert len(scaled) == (3 if (law, way) == ("velocity", "mujoco") else 0)
            data.ctrl[:] += 0.3 * (scaled[0].numbers["factor"] if scaled else 1.0)
            run(new, data, 2.0)
            reached[way] = (data.qpos - new.key_qpos[0] if law == "position" else data.qvel).copy()
        meant = 0.3 if law == "position" else (3.0 * 0.3 - 0.05) / (3.0 + 2.0 + 0.02)  # N K / R is 1
        for way in WAYS:
            assert reached[way] == pytest.approx(meant, abs=0.01), f"{law} {way}"


def test_a_model_moved_before_and_after(tmp_path):
    """What is said beside the files: each joint alone, by a step that its range allows, behind its gear."""
    for name in MODELS:
        model = load(scene(name))
        for k in range(model.nkey):  # a keyframe of ours is held by its commands
            ctrl = resting(model, model.key_qpos[k])
            for joint in positions_of(name) if model.key_ctrl[k].any() else ():
                assert ctrl[ctrl_of(model, joint)] == pytest.approx(model.key_ctrl[k, ctrl_of(model, joint)])
        for to in ("mujoco", "mujoco-classic"):
            moved = {move.joint: move for move in edit(name, {".*": SERVO}, to).moved}
            for joint in positions_of(name):
                move = moved[joint]
                assert 0.25 <= abs(move.step) <= 0.3
                assert name == "bare" or 0.9 < move.before / move.step < 1.5
                assert 0.9 < move.after / move.step < 1.2
                assert not move.dead
    for to in ("mujoco", "mujoco-classic"):
        exports = [export for name in ("walker", "zoo") for export in edit(name, {".*": SERVO}, to).exports]
        torques = [export.ctrl["current_target"] for export in exports if "current_target" in export.ctrl]
        assert torques == pytest.approx([100 * 0.02 / gear for gear in (2.0, -2.0, 4.0)])  # N K over the gear
    asked = {move.joint: move.asked for move in edit("walker", {".*": SERVO}).moved}
    assert asked["left_hip"] == "ctrl 3"  # 0.3 of 20 N m, which the joint allows, behind a gear of 2
    assert asked["left_wheel"] == "ctrl 1"


def test_a_slide_and_hinges_at_once(tmp_path):
    """A rotary and a linear actuator for one model, each on what it fits, and both follow."""
    for way in WAYS:
        folder = tmp_path / way
        folder.mkdir()
        new, _ = put("gantry", {"t.*": SERVO, "rail": THRUST}, way, folder)
        data = begin(new)
        pose = {joint: at(new, data, joint) for joint in ("rail", "turn", "tilt")}
        data.ctrl[:] += 0.1, 0.6, 0.6
        run(new, data, 2.0)
        for joint, far in (("rail", 0.1), ("turn", 0.2), ("tilt", -0.3)):
            assert at(new, data, joint) - pose[joint] == pytest.approx(far, abs=2 * STATIC), joint
