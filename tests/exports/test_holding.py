"""Files that hold still: springs that yield in MuJoCo 4, bristles within the drive's damping, and the creep
that a header says, each in MuJoCo itself."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.mujoco.arrays import rest_springs
from backemf.physics.friction import M4, MaxwellSlip
from backemf.targets.code.plugin import build_library
from backemf.targets.export import Request, export
from backemf.targets.mujoco.dcmotor_target import apply, read
from backemf.targets.mujoco.holding import as_springs, creep, friction_of, springs_of, stiff_bristle
from backemf.targets.replay import replay

SERVO = be.Actuator.read("mx-106/m1")
LEVEL = SERVO.friction.breakaway
SLIPPING = MaxwellSlip(coulomb=LEVEL, stiffness=50.0, softening=2.0, viscous=0.1)


def written(friction: Any = None, **how: Any) -> Any:
    servo = SERVO if friction is None else replace(SERVO, friction=friction)
    return export(servo, "mujoco@4.0", joint="knee", **{"replay": False, **how})


def limp(text):
    """The file's model without its actuator, so that friction alone holds."""
    spec = mujoco.MjSpec.from_string(text)
    for one in list(spec.actuators):
        spec.delete(one)
    model = spec.compile()
    return model, mujoco.MjData(model)


def pushed(model, data, torque, seconds):
    data.qfrc_applied[0] = torque
    mujoco.mj_step(model, data, nstep=round(seconds / model.opt.timestep))
    return float(data.qpos[0]), float(data.qvel[0])


def test_springs_hold_a_load_where_they_bend_and_slip_beyond_their_level():
    made = written(at_rest="springyield")
    assert "frictionloss=" not in made.text.partition("<mujoco")[2].replace('frictionloss="0"', "")
    model, data = limp(made.text)
    k = made.carried.parameters["friction.stiffness"]
    h, J = made.timestep, model.dof_armature[0]
    assert h * np.sqrt(k / (J or 1e-3)) < 1.0 + 1e-9 or J == 0
    model.dof_damping[0] = 1.0  # so that it settles
    q, w = pushed(model, data, 0.4 * LEVEL, 10.0)
    assert q == pytest.approx(0.4 * LEVEL / k, rel=1e-6)  # Hooke
    assert abs(w) < 1e-12
    _, w = pushed(model, data, 1.5 * LEVEL, 10.0)
    assert w == pytest.approx(0.5 * LEVEL / 1.0, rel=1e-3)  # what is beyond the level, over the damping


def test_the_header_says_the_creep_that_the_file_has():
    still, sticks = written(at_rest="springyield"), written(at_rest="frictionloss")
    for made in (still, sticks):
        said = re.search(r"Creep: (\S+) rad a minute under (\S+) N m", made.text)
        assert said is not None
        ran = creep(made.text, "knee", float(said[2]))
        assert ran == pytest.approx(float(said[1]), rel=0.1, abs=1e-12)
        assert abs(ran) < (1e-12 if made is still else 1e-2)
    # with the solver's own settings friction creeps; the header's cure holds it
    loose = re.sub(r' sol(ref|imp)friction="[^"]*"', "", limp_text(sticks.text))
    slow, cured = creep(loose, "knee", 0.6 * LEVEL), creep(loose, "knee", 0.6 * LEVEL, 5)
    assert slow > 0.01 > 1e-6 > abs(cured)


def limp_text(text):
    head, _, rest = text.partition("  <actuator>")
    return head + rest.partition("</actuator>")[2]


def test_classic_files_name_their_creep_too():
    made = export(SERVO, "mujoco-classic", joint="knee", replay=False)
    assert re.search(r"Creep: \S+ rad a minute under \S+ N m", made.text)
    free = replace(SERVO, friction=be.friction.Viscous(viscous=0.1), drive=be.drive.Voltage(supply=12.0))
    assert "Creep: nothing holds it" in export(free, "mujoco", joint="knee", replay=False).text


def test_maxwell_slip_is_four_tendons_and_moves_as_it_does():
    made = written(SLIPPING)
    assert made.text.count("<fixed ") == 4
    assert made.lossless
    (case, *_) = replay(made).cases
    assert case.target_native < 3e-3  # of steps of 0.85 rad, the engine's own step with it
    again = read_text(made.text).friction
    assert again.coulomb == pytest.approx(SLIPPING.coulomb)
    assert again.softening == pytest.approx(2.0)


def read_text(text: str) -> Any:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "file.xml"
        place.write_text(text, encoding="utf-8")
        return read(place).actuator


def test_a_bristle_that_is_too_stiff_is_as_stiff_as_the_step_holds():
    made = written(replace(SLIPPING, stiffness=1e6))
    assert [effect.path for effect in made.approximated] == ["friction.stiffness"]
    assert made.carried.parameters["friction.stiffness"] < 1e6
    assert all(case.target_native < 5e-3 for case in replay(made).cases)


@pytest.mark.parametrize("version", ["3.7", "3.11", "3.17"])
def test_older_versions_refuse_and_say_which_can(version):
    with pytest.raises(InvalidValue, match=r"expected mujoco@4\.0"):
        export(SERVO, f"mujoco@{version}", at_rest="springyield")
    # a contact of several springs is one bristle there
    made = export(replace(SERVO, friction=SLIPPING), f"mujoco@{version}", method="formula", replay=False)
    assert "friction.softening" in [effect.path for effect in made.approximated]


LEG = """<mujoco><compiler angle="degree"/><option timestep="0.002" integrator="implicitfast"/>
<default><tendon frictionloss="3" damping="2"/><joint stiffness="0.5"/></default>
<worldbody><body name="b"><joint name="knee" axis="0 1 0" ref="10"/>
<geom size="0.05" mass="0.2" pos="0.1 0 0"/></body></worldbody>
<actuator><position name="k" joint="knee" kp="20"/></actuator>
<keyframe><key qpos="1.2" ctrl="1.2"/></keyframe></mujoco>"""


def test_into_a_model_with_degrees_defaults_and_a_keyframe(tmp_path):
    path = tmp_path / "leg.xml"
    path.write_text(LEG)
    made = export({"knee": SERVO}, "mujoco", into=path, at_rest="springyield")
    assert "springs_rest" in [f.code for f in made.findings]
    out = tmp_path / "new.xml"
    made.write(out)
    model = mujoco.MjModel.from_xml_path(str(out))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    pushed(model, data, 0.0, 0.01)
    assert abs(data.qvel[0]) < 0.5
    data = mujoco.MjData(model)
    data.qpos[0] = 1.2
    rested = mujoco.MjData(model)
    rested.qpos[0] = 1.2
    rest_springs(model, rested)
    for one, far in ((data, True), (rested, False)):  # what the finding warns of
        one.ctrl[0] = 1.2
        mujoco.mj_step(model, one)
        assert bool(abs(one.qvel[0]) > 5.0) is far
    again = export({"knee": SERVO}, "mujoco", into=out, at_rest="frictionloss")  # and they go again
    again.write(tmp_path / "third.xml")
    assert "springyield" not in (tmp_path / "third.xml").read_text()


@pytest.mark.parametrize("to", ["mujoco@4.0", "mujoco-classic", "mujoco-plugin", "jax@mjx", "attach"])
def test_a_new_actuator_takes_out_the_springs_of_the_one_before(to, tmp_path):
    """Whoever drives the joint has its friction; left there, a spring would hold it a second time."""
    path = tmp_path / "leg.xml"
    path.write_text(LEG.replace("</worldbody>", "</worldbody><tendon><fixed name='own' stiffness='0'>"
                                "<joint joint='knee' coef='1'/></fixed></tendon>", 1))  # fmt: skip
    export({"knee": SERVO}, "mujoco@4.0", into=path, at_rest="springyield", replay=False).write(
        path, force=True
    )
    assert "springyield" in path.read_text()
    if to == "attach":
        model = be.attach(path, {"knee": SERVO}).model
    else:
        how: Any = {"at_rest": "frictionloss"} if to == "mujoco@4.0" else {}
        made: Any = export({"knee": SERVO}, to, into=path, replay=False, **how)
        assert any("springs that yielded are out" in change for change in made.changes)
        text = made.files[path.resolve()] if path.resolve() in made.files else made.files[path]
        assert b"springyield" not in text
        if to == "mujoco-plugin":
            return
        model = mujoco.MjModel.from_xml_string(text.decode())
    assert [model.tendon(k).name for k in range(model.ntendon)] == ["own"]
    assert model.nplastic == 0


BENDING = be.friction.LuGre(coulomb=0.1, static=0.12, stribeck_velocity=0.1, stiffness=100.0, damping=0.5)


@pytest.mark.parametrize("friction", [SERVO.friction, SLIPPING, BENDING], ids=lambda one: one.name)
@pytest.mark.parametrize("kind", ["frictionloss", "lugre", "springyield"])
def test_what_is_asked_for_at_rest_is_written_or_refused(friction, kind):
    """Also where nothing else is lost; another form than the friction's own is said."""
    made = written(friction, at_rest=kind)
    held = re.findall(r'(frictionloss|lugre|springyield)="(?!0[" ])', made.text.partition("<mujoco")[2])
    assert set(held) == {kind}
    own = {"coulomb": ("frictionloss", "springyield"), "maxwell-slip": ("springyield",), "lugre": ("lugre",)}
    assert made.lossless == (kind in own[friction.name])
    with pytest.raises(InvalidValue, match=r"holds no bristle of this actuator.*shorter timestep"):
        written(at_rest="lugre", timestep=0.5)


def test_where_nothing_is_lost_the_joints_own_friction_stays_unless_springs_are_asked_for():
    assert written(timestep=0.002).carried.friction.name == "coulomb"
    assert written(timestep=0.002, at_rest="springyield").carried.friction.name == "maxwell-slip"


def test_edited_models_and_mjlabs_files_say_their_creep(tmp_path):
    path = tmp_path / "leg.xml"
    path.write_text(LEG)
    made: Any = export({"knee": SERVO}, "mujoco-classic", into=path, replay=False)
    (said,) = made.creep
    ran = re.fullmatch(r"Creep of knee: (\S+) rad a minute under (\S+) N m, run in a file of its own\.", said)
    assert ran is not None
    assert creep(made.exports[0].text, "joint", float(ran[2])) == pytest.approx(float(ran[1]), rel=0.1)
    text = export(SERVO, "mjlab", joint="knee", replay=False).text
    assert re.search(r"# Creep: \S+ rad a minute under \S+ N m, run as MJCF of MuJoCo 4\.0\.", text)


def test_pd_files_of_mjlab_say_the_creep_of_their_own_numbers():
    plain, text = (
        export(be.Actuator.read("ak60-39"), to, joint="knee", replay=False).text
        for to in ("mujoco-classic", "mjlab")
    )
    (inertial,) = re.findall(r"<inertial .*/>", plain)
    said = re.search(r"# Creep: (\S+) rad a minute under (\S+) N m, run as MJCF\.", text)
    assert said is not None
    assert "DcMotorActuatorCfg" in text
    words = ("stiffness", "damping", "effort_limit", "armature", "frictionloss", "viscous_damping")
    p = {n: re.search(rf"(?m)^    {n}=([^,]+),", text)[1] for n in words}  # type: ignore[index]
    solver = re.search(r"in the MJCF: (.*)\.", text)
    body = f"""<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody><body>
      <joint name="knee" axis="0 0 1" armature="{p["armature"]}" damping="{p["viscous_damping"]}"
        frictionloss="{p["frictionloss"]}" SOLVER/>{inertial}
      </body></worldbody><actuator><position joint="knee" kp="{p["stiffness"]}" kv="{p["damping"]}"
      forcerange="-{p["effort_limit"]} {p["effort_limit"]}"/></actuator></mujoco>"""
    stuck, loose = (creep(body.replace("SOLVER", words), "knee", float(said[2])) for words in (solver[1], ""))
    assert stuck == pytest.approx(float(said[1]), rel=0.1)
    assert abs(loose) > 100 * abs(stuck)


def test_plugins_and_what_is_attached_say_their_creep(tmp_path):
    motor = be.motor.Motor(resistance=1.0, torque_constant=0.5, rotor_inertia=0.01)
    friction = be.friction.Coulomb(coulomb=0.2, viscous=0.5)
    hangs = be.Actuator(motor=motor, friction=friction, drive=be.drive.Voltage(supply=12.0))
    slips = replace(hangs, friction=be.friction.Viscous(viscous=0.5))
    made = export({"knee": hangs, "hip": slips}, "mujoco-plugin", replay=False)
    assert "Creep of knee: 0 rad a minute under 0.12 N m, run as this plugin." in made.text
    assert "Creep of hip: nothing holds it" in made.text
    live = export(hangs, "mujoco-live", joint="knee", replay=False).text
    assert "# Creep: 0 rad a minute under 0.12 N m, run in this file." in live
    # the same plugin under more than its friction, beside a bench written by hand
    library = build_library(made.files)
    bench = f"""<mujoco><extension><plugin plugin="backemf.knee{library.tag}"/></extension>
      <option integrator="implicitfast"/><worldbody><body><joint name="b" axis="0 0 1" armature="0.01"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/></body></worldbody><actuator>
      <plugin joint="b" plugin="backemf.knee{library.tag}"/></actuator></mujoco>"""
    assert creep(bench, "b", 0.199) == 0.0
    assert creep(bench, "b", 0.3) == pytest.approx(60 * 0.1 / (0.5 + 0.5**2 / 1.0), rel=1e-3)
    (tmp_path / "leg.xml").write_text(LEG)
    edited: Any = export({"knee": hangs}, "mujoco-plugin", into=tmp_path / "leg.xml", replay=False)
    assert edited.creep == ("Creep: 0 rad a minute under 0.12 N m, run as this plugin.",)


def test_springs_stay_where_the_actuator_knows_no_friction(tmp_path):
    path = tmp_path / "leg.xml"
    path.write_text(LEG)
    export({"knee": SERVO}, "mujoco@4.0", into=path, at_rest="springyield", replay=False).write(
        path, force=True
    )
    made: Any = export(
        {"knee": SERVO}, "mujoco-classic", into=path, replay=False, unknown={"knee": ["friction"]}
    )
    assert b"springyield" in next(iter(made.files.values()))
    (kept,) = (f for f in made.findings if f.code == "kept_from_model")
    assert "a spring that yields stays as in the model" in kept.text


def test_springs_go_onto_a_spec():
    spec = mujoco.MjSpec.from_string(LEG)
    apply(written(at_rest="springyield"), spec)
    apply(written(SLIPPING), spec, "knee")
    assert spec.compile().ntendon == 4


def test_a_bristle_within_the_drives_damping_rests_and_one_beyond_rings():
    loaded = M4(
        coulomb=0.05, static=0.11, stribeck_velocity=0.25, load=0.06, load_stribeck=0.05, viscous=0.03
    )
    made = written(loaded, at_rest="lugre")
    sigma = made.carried.parameters["friction.stiffness"]

    def rings(factor):
        text = re.sub(r'lugre="(\S+)', lambda m: f'lugre="{factor * float(m[1])!r}', made.text)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        _, w = pushed(model, data, 0.05, 20.0)
        return abs(w)

    assert sigma > 0
    assert rings(1.0) < 1e-9
    assert rings(4.0) > 1e-6


def held(resistance: float = 1e9, gain: float | None = None, viscous: float = 0.0) -> Any:
    """0.01 kg m^2 with a back-EMF that damps by 0.25 N m s/rad over its resistance, and a law."""
    drive = be.drive.Voltage(supply=12.0)
    if gain is not None:
        drive = be.drive.Impedance(newton_metres_per_radian=gain, supply=12.0)
    motor = be.motor.Motor(resistance=resistance, torque_constant=0.5, rotor_inertia=0.01)
    return be.Actuator(motor=motor, friction=be.friction.Coulomb(coulomb=0.2, viscous=viscous), drive=drive)


@pytest.mark.parametrize(
    ("h", "damping", "bristle"),
    [
        (0.002, 0.35, (140.0, 0.0)),  # 0.8 of it over a step
        (0.05, 0.35, (4.0, 0.0)),  # J / h^2 at most
        (0.002, 0.08, (32.0, 0.0)),
        (0.002, 0.05, (250.0, 0.6 * np.sqrt(2.5))),  # next to none: a tenth of J / h^2, damped by itself
    ],
)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_bristle_holds_within_what_damps_it(h, damping, bristle, share):
    """Whether back-EMF damps or friction."""
    actuator = held(0.25 / max(share * damping, 1e-12), viscous=(1 - share) * damping)
    request = Request("mujoco", "4.0", "knee", (), "formula", h, "implicitfast", 0.5, 0.25, False)
    assert stiff_bristle(actuator, actuator, request) == pytest.approx(bristle, rel=1e-6)


@pytest.mark.parametrize(
    ("gain", "most"), [(None, 2500.0), (500.0, 2000.0), (2100.0, 400.0), (2400.0, 250.0)]
)
def test_springs_are_as_stiff_as_the_step_holds_beside_the_drive(gain, most):
    """h sqrt(k / J) is 1 with both, and a tenth of that is left for the springs."""
    request = Request("mujoco", "4.0", "knee", (), "formula", 0.002, "implicitfast", 0.5, 0.25, False)
    friction: Any = as_springs(held(gain=gain, viscous=0.3), request).friction
    assert (friction.stiffness, friction.coulomb, friction.viscous) == pytest.approx((most, 0.2, 0.3))
    limp = replace(held(), friction=be.friction.Viscous(viscous=0.3))
    assert as_springs(limp, request) is limp


@pytest.mark.parametrize("softening", [1.0, 2.0, 3.5])
def test_springs_are_the_friction_that_they_came_from(softening):
    slip = MaxwellSlip(coulomb=0.4, stiffness=50.0, softening=softening, viscous=0.1)
    springs = springs_of(slip)
    assert len(springs) == (1 if softening == 1 else 4)
    again = friction_of(springs, **slip.drag_terms)
    for name in ("coulomb", "stiffness", "softening", "viscous"):
        assert getattr(again, name) == pytest.approx(getattr(slip, name))
    assert springs_of(be.friction.Coulomb(coulomb=0.4)) == ()
