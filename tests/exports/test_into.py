"""Editing a user's own model: the actuator and its joint change, every other byte stays,
and a failure leaves all files alone."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, UnknownName
from backemf.targets.export import export
from backemf.targets.mujoco.dcmotor_target import read
from backemf.targets.mujoco.edited_model import EditedModel

ARM = """<mujoco model="arm">
  <!-- my own robot: keep   this <joint name="elbow"/> -->
  <include file="defaults.xml"/>
  <worldbody>
    <body name="upper"  pos="0 0 1">\t
      <joint  name='shoulder' axis="0 1 0"   damping = "0.5" />
      <geom type="capsule" size="0.03 0.2" mass="1"/>
      <body name="fore" pos="0 0 -0.4"><joint name="elbow" class="servo" axis="0 1 0"/><geom type="capsule"
        size="0.02 0.15" mass="0.5"/></body>
    </body>
  </worldbody>
  <include file="actuators.xml"/>
  <sensor><actuatorfrc actuator="a_elbow"/></sensor>
</mujoco>
"""
DEFAULTS = (
    '<mujocoinclude><default><default class="servo"><joint armature="0.01" damping="0.1" frictionloss="0.2"/>'
    '<position kp="20" forcerange="-3 3"/></default></default></mujocoinclude>\n'
)
ACTUATORS = """<mujocoinclude>
 <actuator>
  <position name="a_shoulder" joint="shoulder" kp="1000" kv="3"/>
  <position name="a_elbow" joint="elbow" class="servo" ctrlrange="-1 1"/>
 </actuator>
</mujocoinclude>
"""


@pytest.fixture
def arm(tmp_path):
    for name, text in (("arm.xml", ARM), ("defaults.xml", DEFAULTS), ("actuators.xml", ACTUATORS)):
        (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode())
    return tmp_path / "arm.xml"


def put(path, joint, to="mujoco", part="mx-106/m1", **how):
    edited = export(be.Actuator.read(part), to, joint=joint, into=path, **{"method": "formula", **how})
    assert isinstance(edited, EditedModel)
    return edited


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_only_the_actuator_and_its_joint_change(arm):
    before = contents(arm.parent)
    edited = put(arm, "elbow")
    assert contents(arm.parent) == before  # nothing is written yet, and nothing is left behind
    with pytest.raises(BackemfError, match=r"exists; give another name"):
        edited.write()
    edited.write(force=True)
    after = contents(arm.parent)
    assert after["defaults.xml"] == before["defaults.xml"]
    head, tail = before["arm.xml"].split(b'<joint name="elbow" class="servo" axis="0 1 0"/>')
    assert after["arm.xml"].startswith(
        head + b'<joint name="elbow" class="servo" axis="0 1 0" armature="0" damping="0"'
        b' frictionloss="0.10352026623606064"'
    )
    assert after["arm.xml"].endswith(tail)
    old = b'<position name="a_elbow" joint="elbow" class="servo" ctrlrange="-1 1"/>'
    head, tail = before["actuators.xml"].split(old)
    assert after["actuators.xml"].startswith(
        head + b'<dcmotor name="a_elbow" ctrlrange="-1 1" joint="elbow" '
    )
    assert after["actuators.xml"].endswith(tail)
    assert "every number of actuator and joint is the export's" in edited.verified
    assert "actuator of elbow: <position> (kp 20, at most 3) became <dcmotor>" in edited.changes
    assert b'ctrlrange="-1 1"' in after["actuators.xml"]
    assert [m.joint for m in edited.moved] == ["elbow"]
    found = read(arm, "a_elbow").actuator
    assert found.motor == be.Actuator.read("mx-106/m1").motor
    assert found.friction == be.Actuator.read("mx-106/m1").friction


@pytest.mark.parametrize("joint", ["shoulder", "elbow"])
def test_classic_actuators_too(arm, joint):
    put(arm, joint, "mujoco-classic").write(force=True)
    model = mujoco.MjModel.from_xml_path(str(arm))
    i = model.actuator(f"a_{joint}").id
    assert model.actuator_gainprm[i, 0] == pytest.approx(44.84167859907256)
    assert model.joint(joint).damping[0] == pytest.approx(1.6548121650255068)


def test_a_joint_without_an_actuator_gets_one(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco>\n <worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>\n</mujoco>\n'
    )
    put(path, "j").write(tmp_path / "two.xml")
    assert "<actuator>" not in path.read_text()
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "two.xml")).nu == 1


def test_a_joint_and_a_note_may_speak_of_backlash(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="with_backlash"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    assert put(path, "with_backlash", notes="measured with_backlash").verified.startswith("compiled")


SWING = """<mujoco>
 <option timestep="0.001" integrator="implicitfast"/>
 <default><joint damping="0.3" stiffness="1" armature="0.7" frictionloss="0.2" ref="5"/></default>
 <worldbody><body><joint name="knee" axis="0 1 0" stiffness="0" ref="0" range="-170 170"/>
  <inertial pos="0 0 -0.1" mass="1" diaginertia="0.02 0.02 0.02"/>
  <body pos="0 0 -0.1"><joint name="toe" axis="1 0 0"/><inertial pos="0 0 0" mass="1e-6"
   diaginertia="1e-9 1e-9 1e-9"/></body></body></worldbody>
 <actuator><position name="a" joint="knee" kp="5"/></actuator>
 <keyframe><key name="home" qpos="0.1 0.2" qvel="0 1" ctrl="0.1"/><key name="away" ctrl="0.3"/></keyframe>
</mujoco>
"""


def with_play(**changes):
    """A servo whose teeth leave 10 mrad, seen before them as MuJoCo's own law sees it."""
    actuator = be.Actuator.read("mx-106/m1")
    teeth = {"backlash": 0.01, "contact_stiffness": 2000.0, "contact_damping": 2.0}
    return dataclasses.replace(
        actuator,
        gearbox=dataclasses.replace(actuator.gearbox, **teeth),
        drive=dataclasses.replace(actuator.drive, sensor="rotor"),
        **changes,
    )


def swing(path, loose: bool) -> tuple[np.ndarray, np.ndarray]:
    """(time, the link's position in MuJoCo), for a pendulum that swings slowly about where it hangs."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data, t = mujoco.MjData(model), np.arange(0.0, 4.0, 0.001)
    asked = 0.1 * np.sin(2 * np.pi * 0.5 * t)
    joints = ["knee", *(["knee_backlash"] if loose else [])]
    found = np.empty(len(t))
    for k, u in enumerate(asked):
        found[k] = sum(data.joint(name).qpos[0] for name in joints)
        data.ctrl[0] = u
        mujoco.mj_step(model, data)
    return t, found


def test_play_goes_into_a_model_as_a_joint_that_moves_as_our_teeth_do(tmp_path):
    (tmp_path / "own.xml").write_text(SWING)
    ways = {}
    for loose in (True, False):
        edited = export(with_play(), "mujoco", joint="knee", into=tmp_path / "own.xml", backlash=loose)
        assert isinstance(edited, EditedModel)
        ways[loose] = edited.write(tmp_path / f"{loose}.xml")[0]
        assert [f.code for f in edited.findings].count("play_joint") == loose
    bench = be.bench.Pendulum(mass=1.0, length=0.1, inertia=0.02)
    t, loose = swing(ways[True], True)
    ours = be.simulate(with_play(), bench, lambda s: 0.1 * np.sin(np.pi * s), time=t, warn=False).position
    off, stiff_off = (np.sqrt(np.mean((q - ours) ** 2)) for q in (loose, swing(ways[False], False)[1]))
    assert off < 0.3e-3 < 3e-3 < stiff_off  # 10 mrad of play: the link lies half of it to either side


def test_keyframes_keep_their_states_where_play_comes_in(tmp_path):
    (tmp_path / "own.xml").write_text(SWING)
    how = {"joint": "knee", "backlash": True, "method": "formula", "replay": False}
    path = export(with_play(), "mujoco", into=tmp_path / "own.xml", **how).write(tmp_path / "one.xml")[0]
    old, new = (mujoco.MjModel.from_xml_path(str(p)) for p in (tmp_path / "own.xml", path))
    for name in ("knee", "toe"):
        for k, at in ((0, "qpos"), (0, "qvel"), (1, "qpos")):
            a, b = (getattr(m, f"key_{at}")[k] for m in (old, new))
            place = "jnt_qposadr" if at == "qpos" else "jnt_dofadr"
            assert a[getattr(old, place)[old.joint(name).id]] == b[getattr(new, place)[new.joint(name).id]]
    play = new.joint("knee_backlash")
    assert (new.key_qpos[0][play.qposadr[0]], new.key_qvel[0][play.dofadr[0]]) == (0.0, 0.0)
    np.testing.assert_array_equal(new.key_ctrl, old.key_ctrl)
    np.testing.assert_allclose(play.range, [-0.005, 0.005], rtol=1e-12)  # written in degrees
    assert float(play.damping[0]) == float(play.armature[0]) == float(play.stiffness[0]) == 0.0
    again = export(with_play(), "mujoco", into=path, **how)
    assert (again.text.count('name="knee_backlash"'), again.text.count("<fixed")) == (1, 1)
    assert read(path, "a").actuator.friction == with_play().friction  # it holds the joint with its play
    wider = with_play().replace(**{"gearbox.backlash": 0.03})
    (wide,) = export(wider, "mujoco", into=path, **how).write(tmp_path / "two.xml")
    wide = mujoco.MjModel.from_xml_path(str(wide))
    assert float(wide.joint("knee_backlash").range[1]) == pytest.approx(0.015, rel=1e-12)
    np.testing.assert_array_equal(wide.key_qpos, new.key_qpos)


def test_includes_inside_includes_are_followed(arm):
    (arm.parent / "outer.xml").write_text('<mujocoinclude><include file="actuators.xml"/></mujocoinclude>')
    arm.write_text(ARM.replace("actuators.xml", "outer.xml"))
    edited = put(arm, "elbow")
    assert sorted(f.name for f in edited.files) == ["actuators.xml", "arm.xml"]
    assert edited.verified.startswith("compiled")


def test_an_unknown_joint_is_named_with_the_nearest(arm):
    before = contents(arm.parent)
    with pytest.raises(UnknownName, match=r"unknown joint in arm\.xml 'elbw'; did you mean 'elbow'"):
        put(arm, "elbw")
    assert contents(arm.parent) == before


def test_a_default_that_limits_every_force_is_overridden(arm):
    arm.write_text(
        ARM.replace(
            '<include file="defaults.xml"/>',
            '<include file="defaults.xml"/><default><general forcerange="-1 1"/></default>',
        )
    )
    put(arm, "shoulder").write(force=True)
    model = mujoco.MjModel.from_xml_path(str(arm))
    assert model.actuator_forcerange[model.actuator("a_shoulder").id, 1] >= 1e9


def test_a_model_that_does_not_compile_is_refused(arm):
    arm.write_text(ARM.replace("<sensor>", "<sensor><oops/>"))
    with pytest.raises(InvalidValue, match=r"MuJoCo \S+ does not load arm\.xml: XML Error"):
        put(arm, "elbow")


def test_another_era_is_edited_but_not_compiled(arm):
    assert put(arm, "elbow", "mujoco@3.11").verified.startswith("not compiled: the installed MuJoCo")


def test_urdf_joints_are_edited(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(
        '<robot name="r">\n <link name="a"/><link name="b"/>\n <joint name="knee" type="revolute"><parent'
        ' link="a"/><child link="b"/>\n  <limit lower="-1" upper="1"  effort="1" velocity="1"/>\n'
        " </joint>\n</robot>\n"
    )
    made = export(be.Actuator.read("mx-106/m1"), "urdf", replay=False)
    put(path, "knee", "urdf").write(force=True)
    text = path.read_text()
    assert (
        f'<limit lower="-1" upper="1"  effort="{made.numbers["effort"]!r}"'
        f' velocity="{made.numbers["velocity"]!r}"/>' in text
    )
    assert '<dynamics damping="' in text
    assert text.startswith('<robot name="r">\n <link name="a"/><link name="b"/>\n')


WALKER = """<mujoco>
  <option timestep="0.004" integrator="Euler"/>
  <default><default class="leg"><joint armature="0.02" damping="0.3" frictionloss="0.1"/>
    <motor ctrlrange="-23 23" gear="2"/></default></default>
  <worldbody><body name="hip"><joint name="l_hip" class="leg" axis="0 1 0" range="-1 1" limited="true"/>
    <inertial pos="0 0 -0.1" mass="1" diaginertia="0.02 0.02 0.02"/>
    <body name="shin" pos="0 0 -0.2"><joint name="l_knee" class="leg" axis="0 1 0"/>
    <inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.01 0.01 0.01"/></body></body></worldbody>
  <actuator><motor class="leg" name="m_hip" joint="l_hip"/>
    <motor class="leg" name="m_knee" joint="l_knee"/></actuator>
  <keyframe><key name="home" qpos="0.1 0" ctrl="1 2"/></keyframe>
</mujoco>
"""


@pytest.mark.parametrize("to", ["mujoco", "mujoco-classic"])
def test_a_torque_actuator_stays_one(tmp_path, to):
    """ctrl is a torque before the model's own gear, with its range, step and number of inputs."""
    path = tmp_path / "walker.xml"
    path.write_text(WALKER)
    motor = be.Actuator.read("maxon-re-65-353297").replace(
        **{"gearbox.ratio": 20.0, "gearbox.efficiency": None}
    )
    edited = export({"l_.*": motor}, to, into=path, method="formula")
    assert isinstance(edited, EditedModel)
    edited.write(tmp_path / "new.xml")
    old, new = (mujoco.MjModel.from_xml_path(str(tmp_path / name)) for name in ("walker.xml", "new.xml"))
    assert (new.nu, new.opt.timestep, new.opt.integrator) == (old.nu, old.opt.timestep, old.opt.integrator)
    assert new.actuator_ctrlrange.tolist() == old.actuator_ctrlrange.tolist()
    assert edited.exports[0].timestep == 0.004
    data = mujoco.MjData(new)
    data.ctrl[:] = 3.0, 0.0
    mujoco.mj_step(new, data)  # the current of an inductive winding arrives with the step
    mujoco.mj_forward(new, data)
    assert data.qfrc_actuator[0] == pytest.approx(2 * 3.0, rel=0.02)
    assert all(m.after * m.before > 0 and not m.dead for m in edited.moved)


def test_what_a_sheet_does_not_know_stays(tmp_path):
    path = tmp_path / "walker.xml"
    path.write_text(
        WALKER.replace("<motor ctrlrange", '<position kp="5" kv="0.1" ctrlrange').replace(
            "<motor class", "<position class"
        )
    )
    edited = export(be.Datasheet.read("sts3215-12v"), "mujoco", joint="l_knee", into=path, method="formula")
    assert isinstance(edited, EditedModel)
    kept = next(f for f in edited.findings if f.code == "kept_from_model")
    assert kept.text.startswith("l_knee: armature 0.02")
    assert "armature" not in edited.text.split('name="l_knee"')[1].split("/>")[0]
    assert "assumed_gain" in [f.code for f in edited.findings]


def test_a_dead_joint_does_not_pass(tmp_path):
    path = tmp_path / "walker.xml"
    path.write_text(
        WALKER.replace("<motor ctrlrange", '<position kp="500" ctrlrange').replace(
            "<motor class", "<position class"
        )
    )
    weak = be.Actuator.read("mx-106/m1").replace(**{"drive.proportional": 0.001})
    with pytest.raises(InvalidValue, match=r"no longer follows its command: l_knee moves .*"):
        export(weak, "mujoco", joint="l_knee", into=path, method="formula")
    edited = export(weak, "mujoco", joint="l_knee", into=path, method="formula", replay=False)
    assert isinstance(edited, EditedModel)
    assert edited.moved == ()


@pytest.mark.parametrize("file", ["so101/so101.xml", "go2/go2.xml", "z1/z1.xml"])
def test_real_robots(shared_data, file):
    """Every joint of a public model, and no byte elsewhere."""
    path = shared_data / file
    before = path.read_bytes()
    part = "mx-106/m1" if "so101" in file else "go-m8010-6"
    joints = {"so101": "shoulder_.*|elbow_flex|wrist_.*|gripper", "go2": ".*_joint", "z1": "joint[1-6]"}
    edited = export(
        be.Actuator.read(part), "mujoco", joint=joints[path.parent.name], into=path, method="formula"
    )
    assert isinstance(edited, EditedModel)
    assert path.read_bytes() == before
    lines = [
        (a, b) for a, b in zip(before.decode().splitlines(), edited.text.splitlines(), strict=True) if a != b
    ]
    assert all("<joint" in b or "<dcmotor" in b or "ls_iterations" in b for _, b in lines)
    assert len(lines) == 2 * len(edited.moved) + any("ls_iterations" in b for _, b in lines)
    assert len(edited.moved) == {"so101": 6, "go2": 12, "z1": 6}[path.parent.name]
    for m in edited.moved:
        assert not m.dead
        if "so101" in file:  # a servo goes where it is told, in the joint's own units
            assert m.after == pytest.approx(0.3, rel=0.3)


def test_of_several_motors_one_must_be_named(tmp_path):
    text = """<mujoco><worldbody><body><joint name="a"/><geom size="0.1"/></body>
    <body pos="1 0 0"><joint name="b"/><geom size="0.1"/></body></worldbody><actuator>
    <dcmotor name="left" joint="a" motorconst="0.1" resistance="2"/>
    <dcmotor name="right" joint="b" motorconst="0.2" resistance="3"/></actuator></mujoco>"""
    (tmp_path / "two.xml").write_text(text)
    with pytest.raises(be.BackemfError, match=r"2 dcmotors \(left, right\); say which one to read"):
        read(tmp_path / "two.xml")
    assert read(tmp_path / "two.xml", "right").actuator.motor.resistance == pytest.approx(3.0)
