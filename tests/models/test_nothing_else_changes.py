"""A model that was given actuators, beside the model as it was: every array that MuJoCo compiles, field by
field. Only what an actuator may change differs, and only at the chosen joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backemf as be

from .known import (
    MODELS,
    ROTOR,
    SCENES,
    SERVO,
    THRUST,
    actuators_on,
    begin,
    edit,
    fields,
    load,
    mujoco,
    put,
    rows,
    scene,
)

OF_JOINT = ("armature", "damping", "frictionloss", "solref", "solimp", "dampingpoly")
DERIVED = {
    "dof_M0",
    "dof_invweight0",
    "body_invweight0",
    "tendon_invweight0",
    "actuator_acc0",
    "actuator_actadr",
    "stat.meaninertia",
}
"""Computed from all armatures together, or a place in act."""
STATES = {"na", "key_act"}
BUFFERS = {"nbuffer", "nJmom", "nB", "signature", "narena"}
"""Sizes of memory."""
COMMANDS = {"actuator_ctrladr", "actuator_ctrlnum", "actuator_ctrlrange", "actuator_ctrllimited"}
"""What the user commands, which stays."""
ADDED = {"nu", "nactuator", "nout", "nnames", "nnames_map", "names", "names_map", "name_keyadr", "key_ctrl"}
ADDED |= {"name_pluginadr", "tree_sleep_policy"}
"""With an actuator for a joint that had none."""


def contents() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(SCENES.rglob("*")) if path.is_file()}


def assert_only_these(old: Any, new: Any, joints: list[str], *, added: bool) -> None:
    """That nothing differs but the joints' own numbers and their actuators."""
    dofs = {int(old.joint(joint).dofadr[0]) for joint in joints}
    mine = {i for joint in joints for i in actuators_on(new, joint)}
    before, after = fields(old), fields(new)
    assert before.keys() == after.keys()
    for name, was in before.items():
        now = after[name]
        differ = rows(was, now)
        if not differ or name in DERIVED | STATES | BUFFERS or (added and name in ADDED):
            continue
        if added and differ == {-1} and np.ndim(was):  # the old rows stay, the new one is behind them
            differ = rows(was, now[: len(was)])
            assert len(now) > len(was), name
        if name == "jnt_actuatorid":  # the one whose armature is the joint's
            assert differ <= {int(old.joint(joint).id) for joint in joints}
        elif name == "opt.ls_iterations":
            assert now == max(was, 50)
        elif name.removeprefix("dof_") in OF_JOINT:
            assert differ <= dofs, name
        elif name.startswith("actuator_") and name not in COMMANDS:
            assert differ <= mine, name
        else:
            assert not differ, f"{name}: {was} became {now}"


def assert_states_stay(old: Any, new: Any, joints: list[str]) -> None:
    """That activations of the other actuators are in the keyframes as they were."""
    mine = {i for joint in joints for i in actuators_on(old, joint)}
    for i in set(range(old.nactuator)) - mine:
        n = int(old.actuator_actnum[i])
        assert n == new.actuator_actnum[i]
        if n:
            was, now = int(old.actuator_actadr[i]), int(new.actuator_actadr[i])
            assert (new.key_act[:, now : now + n] == old.key_act[:, was : was + n]).all()


@pytest.mark.parametrize("to", ["mujoco", "mujoco-classic"])
@pytest.mark.parametrize("name", MODELS)
def test_only_the_chosen_joints_and_their_actuators(name, to, tmp_path):
    """Written into another folder and loaded from there; the user's own files keep every byte."""
    here, joints = contents(), [*MODELS[name].driven]
    edited = edit(name, {".*": SERVO}, to)
    assert contents() == here
    written = edited.write(tmp_path / "new.xml")
    assert contents() == here
    assert {path.parent for path in written} == {tmp_path}
    old, new = load(scene(name)), load(written[0])
    assert [move.joint for move in edited.moved] == joints
    assert_only_these(old, new, joints, added=name == "bare")
    assert_states_stay(old, new, joints)
    names = [new.actuator(i).name for i in range(new.nactuator)]
    assert names[: old.nactuator] == [old.actuator(i).name for i in range(old.nactuator)]
    for joint in joints:
        dof, i = int(new.joint(joint).dofadr[0]), actuators_on(new, joint)[0]
        own = new.actuator_armature[i] * new.actuator_gear[new.actuator_outadr[i], 0] ** 2
        assert new.dof_armature[dof] + own == pytest.approx(ROTOR, rel=1e-9)  # N^2 J, the rotor's
        assert new.dof_frictionloss[dof] == pytest.approx(0.05, rel=1e-9)


def test_in_its_own_folder_and_in_place(tmp_path):
    """A copy beside the model, whose included files are copies beside theirs; and the model itself."""
    for path, content in contents().items():
        place = tmp_path / path.relative_to(SCENES)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)

    edited = be.export({"knee|ankle": SERVO}, "mujoco", into=tmp_path / "leg.xml", method="formula")
    beside = load(edited.write(tmp_path / "new.xml")[0])
    assert sorted(path.name for path in (tmp_path / "leg").iterdir()) == [
        "defaults.xml",
        "drives.xml",
        "foot.xml",
        "links.xml",
        "new_drives.xml",
        "new_foot.xml",
        "new_links.xml",
    ]
    same = {path: (tmp_path / path.relative_to(SCENES)).read_bytes() for path in contents()}
    assert same == contents()
    assert_only_these(load(scene("leg")), beside, ["knee", "ankle"], added=False)
    edited.write(force=True)
    now, then = fields(load(tmp_path / "leg.xml")), fields(beside)
    assert {name for name in then if rows(then[name], now[name])} <= {"signature"}


def test_a_spindle_on_the_slide_alone(tmp_path):
    """A linear actuator means the slide, and the hinges keep theirs."""
    old = load(scene("gantry"))
    for to in ("mujoco", "mujoco-classic"):
        (tmp_path / to).mkdir()
        new, findings = put("gantry", {".*": THRUST}, to, tmp_path / to)
        assert_only_these(old, new, ["rail"], added=False)
        said = [f.text for f in findings if f.code == "joints_left_alone"]
        assert said == ["turn, tilt: left alone, a hinge, and the actuator is linear."]


@pytest.mark.parametrize("to", ["mujoco", "mujoco-classic"])
def test_a_new_actuator_stands_behind_the_others(to, tmp_path):
    """Also where the model has several sections: every element of ctrl keeps its place."""
    for name, joint in (("crowd", "first"), ("hand", "wheel"), ("zoo", "idle")):
        old, folder = load(scene(name)), tmp_path / name
        folder.mkdir()
        new, _ = put(name, {joint: SERVO}, to, folder)
        added = not actuators_on(old, joint)
        assert_only_these(old, new, [joint], added=added)
        assert new.nu == old.nu + added
        assert (new.key_ctrl[:, : old.nu] == old.key_ctrl).all()


def test_attach_leaves_the_rest_alone_too(tmp_path):
    """The live model: poses, limits, geometry and the other actuators are the model's own."""
    for name, known in MODELS.items():
        joints = [*known.driven, *(["spin_1"] if name == "crowd" else [])]  # it has no file to stand in
        old, new = load(scene(name)), put(name, {".*": SERVO}, "attach", tmp_path).model
        free = {"nuser_actuator", "actuator_user", *(n for n in fields(old) if "actfrc" in n)}
        before, after = fields(old), fields(new)
        dofs = {int(old.joint(joint).dofadr[0]) for joint in joints}
        for field in before.keys() - DERIVED - STATES - BUFFERS - free:
            if field.startswith(("actuator_", "name", "nnames", "jnt_actuatorid")) or (
                name == "bare" and field in ADDED
            ):
                continue
            differ = rows(before[field], after[field])
            allowed = dofs if field.removeprefix("dof_") in OF_JOINT else set()
            assert differ <= allowed, f"{name}: {field}"
        assert_states_stay(old, new, joints)
        for k in range(new.nkey):
            data = begin(new, k)
            mujoco.mj_forward(new, data)
            assert np.isfinite(data.qacc).all()
