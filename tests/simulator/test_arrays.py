"""A dcmotor in and out of a live model."""

from __future__ import annotations

import dataclasses

import pytest

pytest.importorskip("mujoco")

import mujoco

from backemf.errors import InvalidValue, UnknownName
from backemf.mujoco.arrays import dcmotors, engine_of, from_model, place, read_state, write_state, write_to
from backemf.mujoco.dcmotor import DcMotorJoint
from backemf.mujoco.step import step
from backemf.physics.quantity import substitute

ARM = """<mujoco><option timestep="0.001" integrator="implicitfast" gravity="0 0 0"/>
<worldbody>
  <body><joint name="hip" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/></body>
  <body pos="1 0 0"><joint name="lift" type="slide" axis="0 0 1"/><inertial pos="0 0 0" mass="0.5"
    diaginertia="0.01 0.01 0.01"/></body>
  <body pos="2 0 0"><joint name="ball" type="ball"/><inertial pos="0 0 0" mass="0.5"
    diaginertia="0.01 0.01 0.01"/></body>
</worldbody>
<actuator>
  <motor name="plain" joint="hip"/>
  <dcmotor name="pair" joint="lift" gear="20" motorconst="0.05" resistance="1.5" input="pos vel"
    controller="0.2 0 0.01" ctrlrange="-3 3"/>
  <dcmotor name="full" joint="hip" gear="-4" motorconst="0.08" resistance="2" inductance="0.004"
    thermal="2 0.4 0 0.0039 25 20"
           saturation="0.4 0 300" cogging="0.02 6 0.1" lugre="8 0.02 0.04 0.06 0.5" damping="1e-3 1e-4 1e-5"
             armature="2e-4"
           input="pos" controller="0.5 0.6 0.02 4 0.1 8"/>
  <dcmotor name="odd" joint="ball" gear="0 0 1" motorconst="0.08" resistance="2"/>
</actuator></mujoco>"""


@pytest.fixture
def live():
    model = mujoco.MjModel.from_xml_string(ARM)
    return model, mujoco.MjData(model)


def test_reading_gives_what_the_file_says(live):
    model, _ = live
    full = from_model(model, "full")
    assert full.gear == -4.0
    assert full.motor.limits.torque == 0.4
    assert full.controller.inputs == ("pos",)
    assert full.friction.viscous_cubic == 1e-5
    pair = from_model(model, 1)
    assert pair.controller.inputs == ("pos", "vel")
    assert pair.controller.ctrlrange == ((-3.0, 3.0), (-3.0, 3.0))
    assert dcmotors(model) == [1, 2, 3]
    assert place(model, "full").ctrl == slice(3, 4)  # the actuators before it have one and two inputs


def test_the_states_come_in_the_engines_order(live):
    model, data = live
    data.act[:] = [1.0, 2.0, 3.0, 4.0, 5.0]
    data.qpos[0], data.qvel[0] = 0.3, -0.1
    seen = read_state(model, data, "full")
    assert seen == {
        "position": 0.3,
        "velocity": -0.1,
        "setpoint": 1.0,
        "integral": 2.0,
        "temperature_rise": 3.0,
        "bristle": 4.0,
        "current": 5.0,
    }
    write_state(model, data, "full", {"bristle": 0.5, "velocity": 2.0})
    assert read_state(model, data, "full") == {**seen, "bristle": 0.5, "velocity": 2.0}
    with pytest.raises(UnknownName, match="unknown state 'bristel'"):
        write_state(model, data, "full", {"bristel": 1.0})


def test_a_changed_motor_steps_as_ours(live):
    model, data = live
    changed = substitute(
        from_model(model, "full"),
        {
            "motor.resistance": 3.0,
            "motor.inductance": 0.009,
            "motor.rotor_inertia": 5e-4,
            "friction.viscous": 2e-3,
            "gear": 3.0,
            "controller.kp": 0.7,
            "motor.limits.torque": 0.5,
            "friction.stiffness": 5.0,
            "motor.thermal.capacitance": 0.2,
        },
    )
    write_to(model, "full", changed)
    again = from_model(model, "full")
    assert again == dataclasses.replace(changed, motor=again.motor)
    assert again.motor.inductance == pytest.approx(changed.motor.inductance, rel=1e-15)
    state = {
        "position": 0.2,
        "velocity": -1.0,
        "setpoint": 0.1,
        "integral": 0.02,
        "temperature_rise": 5.0,
        "bristle": 1e-3,
        "current": 0.4,
    }
    write_state(model, data, "full", state)
    data.ctrl[place(model, "full").ctrl] = 0.8
    mine = step(changed, DcMotorJoint(inertia=0.01), engine_of(model), state, (0.8,))
    mujoco.mj_step(model, data)
    assert read_state(model, data, "full") == pytest.approx(mine, rel=1e-13)


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        (
            "pair",
            {"motor": {"inductance": 0.001}},
            (
                "dynprm[0], the electrical time constant, would go from 0 to 0.000666667 and add the"
                " activation 'current'"
            ),
        ),
        (
            "full",
            {"motor": {"inductance": None}},
            (
                "dynprm[0], the electrical time constant, would go from 0.002 to 0 and remove the activation"
                " 'current'"
            ),
        ),
        (
            "full",
            {"motor": {"thermal": None}},
            (
                "dynprm[2], the thermal resistance, would go from 2 to 0 and remove the activation"
                " 'temperature_rise'"
            ),
        ),
        (
            "full",
            {"controller": {"ki": None}},
            "gainprm[5], the integral gain, would go from 0.6 to 0 and remove the activation 'integral'",
        ),
        (
            "full",
            {"controller": {"slew": None}},
            "dynprm[7], the slew rate, would go from 4 to 0 and remove the activation 'setpoint'",
        ),
        (
            "pair",
            {"controller": {"inputs": ("pos",), "ctrlrange": ()}},
            "the inputs would change from ('pos', 'vel') to ('pos',)",
        ),
        (
            "pair",
            {"controller": {"inputs": "position", "ctrlrange": ()}},
            "the controller's inputs are 'position', of era 1; the installed MuJoCo is of era 2",
        ),
    ],
)
def test_a_change_that_toggles_a_state_is_refused(live, name, changes, text):
    model, _ = live
    now = from_model(model, name)
    changed = dataclasses.replace(
        now, **{part: dataclasses.replace(getattr(now, part), **values) for part, values in changes.items()}
    )
    before = model.actuator_gainprm.copy()
    with pytest.raises(InvalidValue) as caught:
        write_to(model, name, changed)
    assert str(caught.value).startswith(text)
    assert (model.actuator_gainprm == before).all()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", "actuator 'plain' is not a dcmotor"),
        ("odd", "actuator 'odd' acts on a ball or free joint; expected a hinge or a slide"),
        (7, "actuator is 7; the model has 4: expected 0 to 3"),
    ],
)
def test_what_cannot_be_placed(live, name, text):
    with pytest.raises(InvalidValue) as caught:
        place(live[0], name)
    assert str(caught.value).startswith(text)


def test_names_are_listed(live):
    with pytest.raises(UnknownName, match="unknown actuator 'fool'; did you mean 'full'"):
        place(live[0], "fool")


def test_a_saved_model_is_read_like_the_one_it_was_saved_from(live, tmp_path):
    model, _ = live
    mujoco.mj_saveLastXML(str(tmp_path / "saved.xml"), model)
    text = (tmp_path / "saved.xml").read_text()
    assert "<dcmotor" not in text
    saved = mujoco.MjModel.from_xml_string(text)
    mine, theirs = from_model(model, "full"), from_model(saved, "full")
    assert theirs.motor.torque_constant == pytest.approx(mine.motor.torque_constant, rel=1e-5)
    assert theirs.controller == mine.controller


def test_a_one_sided_force_range_is_refused(live):
    model, _ = live
    model.actuator_forcerange[2] = -1.0, 2.0
    with pytest.raises(InvalidValue, match="forcerange is -1 2; expected the same limit in both directions"):
        from_model(model, "full")


@pytest.mark.parametrize(("before", "after"), [((4.0, 1.0), (1e-3, 2.0)), ((1e-3, 2.0), (1e-3, 5.0))])
def test_the_engines_constants_follow_armature_and_gear(live, before, after):
    """The reflected inertia is armature times gear squared, whatever it was before; 1 / (0.01 + it)."""
    model, _ = live
    full = from_model(model, "full")
    for armature, gear in (before, after):
        write_to(model, "full", substitute(full, {"motor.rotor_inertia": armature, "gear": gear}))
        assert model.dof_invweight0[0] == pytest.approx(1 / (0.01 + armature * gear**2))
