"""A joint of a larger model on a body of its own, its winding opened, its gains changed in proportion."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from backemf.errors import InvalidValue, NotAvailable, UnknownName
from backemf.mujoco.arrays import from_model
from backemf.targets.mujoco.run import (
    _switch,
    check_version,
    copy_number,
    open_winding,
    our_step,
    place_on_bench,
    run,
    settings_of,
    spec_of,
    timestep_of,
)
from backemf.targets.reference_motions import SimulationCase

ROBOT = """<mujoco><compiler angle="degree"/><option timestep="0.005" integrator="implicitfast"/>
<worldbody><body pos="0 0 1"><geom size="0.1" mass="3"/><joint name="hip" axis="0 1 0" damping="0.3"
  armature="0.02" frictionloss="0.1" stiffness="0.7" springref="30"/>
  <body pos="0 0 -1"><geom size="0.1" mass="2"/><joint name="knee" axis="1 0 0"/></body></body></worldbody>
<actuator>
  <position name="a" joint="hip" kp="7" forcerange="-2 2" gear="3"/>
  <motor name="b" joint="knee" gear="2"/>
</actuator></mujoco>"""
BARE = """<mujoco><option timestep="0.001"/><worldbody><body name="knee_load"><joint name="knee"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
<actuator><motor joint="knee"/></actuator></mujoco>"""
DC = """<mujoco><option timestep="0.001"/><worldbody><body name="knee_load"><joint name="knee"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
<actuator><dcmotor joint="knee" motorconst="0.5" resistance="2" input="pos" controller="3 1 0.1"/></actuator>
</mujoco>"""


def case(n=101, h=0.001, motion="rotary", ctrl=1.0, **more):
    given = {"inertia": 0.5, "load": lambda k, q, w: 0.0, "enabled": np.ones(n, bool), **more}
    asked = {"torque_target": np.full(n, 2.0)}
    return SimulationCase(h, h * np.arange(n), asked, {"torque_target": ctrl}, motion=motion, **given)


def test_a_joint_keeps_its_own_numbers_and_its_own_actuator():
    model, dofs = place_on_bench(spec_of(ROBOT), "hip", case(h=0.001))
    assert (model.nu, model.nv, dofs) == (1, 1, (0,))
    assert (model.opt.timestep, model.opt.integrator) == (0.001, mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    assert not model.opt.gravity.any()
    assert model.body_inertia[1] == pytest.approx([0.5] * 3)
    assert (model.dof_damping[0], model.dof_armature[0]) == pytest.approx((0.3, 0.02))
    assert (model.dof_frictionloss[0], model.jnt_stiffness[0]) == pytest.approx((0.1, 0.7))
    assert model.qpos_spring[0] == pytest.approx(np.pi / 6)
    assert (model.actuator_gainprm[0, 0], model.actuator_gear[0, 0]) == (7.0, 3.0)
    assert model.actuator_forcerange[0] == pytest.approx([-2.0, 2.0])
    with pytest.raises(UnknownName, match="unknown joint of the file 'ankle'"):
        place_on_bench(spec_of(ROBOT), "ankle", case())
    with pytest.raises(InvalidValue, match="no actuator on the joint 'knee'"):
        place_on_bench(spec_of(ROBOT.replace('joint="knee" gear', 'joint="hip" gear')), "knee", case())
    assert timestep_of({"robot.xml": ROBOT}) == 0.005


@pytest.mark.parametrize(("text", "joint", "gear"), [(ROBOT, "knee", 2.0), (BARE, "knee", 1.0)])
def test_a_constant_torque_moves_the_benchs_inertia(text, joint, gear):
    """Semi-implicit Euler: after k steps k (k + 1) / 2 times a h^2, a = (gear * 2 * factor + load) / J."""
    k = np.arange(101)
    pulled = case(ctrl=1.5, load=lambda k, q, w: -1.0, position=0.2, velocity=0.3)
    q = run({"file.xml": text}, joint, pulled)
    a = (gear * 3.0 - 1.0) / 0.5
    assert q == pytest.approx(0.2 + 0.3e-3 * k + a * 1e-6 * k * (k + 1) / 2, abs=1e-9)
    slide = text.replace('name="knee"', 'name="knee" type="slide"')
    assert run({"file.xml": slide}, joint, pulled._replace(motion="linear")) == pytest.approx(q, abs=1e-9)


def test_a_drive_that_is_off_pushes_nothing():
    on = np.arange(101) < 50
    q = run({"file.xml": BARE}, "knee", case(enabled=on))
    speed = 2.0 / 0.5 * 0.05  # after 50 steps
    assert np.diff(q[50:]) == pytest.approx(speed * 1e-3, abs=1e-12)
    with pytest.raises(InvalidValue, match="the file has 1 inputs; expected 2"):
        run({"file.xml": BARE}, "knee", case()._replace(ctrl={"torque_target": 1.0, "velocity_target": 1.0}))


@pytest.mark.parametrize("h", [0.001, 0.0005])
def test_a_delay_lasts_as_long_at_a_finer_step(h):
    """4 ms after the command the torque begins, and a step later the joint has moved."""
    text = BARE.replace('<motor joint="knee"/>', '<motor joint="knee" delay="0.004" nsample="5"/>')
    step = case(n=61, h=h)._replace(command={"torque_target": np.where(np.arange(61) < 20, 0.0, 2.0)})
    if not hasattr(mujoco.MjModel.from_xml_string(BARE), "actuator_delay"):
        pytest.skip("this MuJoCo has no delays")
    q = run({"file.xml": text}, "knee", step)
    assert np.flatnonzero(q)[0] == 20 + round(0.004 / h) + 1
    after = np.arange(1, 61 - np.flatnonzero(q)[0] + 1)
    assert q[q != 0] == pytest.approx(4.0 * h**2 * after * (after + 1) / 2, rel=1e-6)
    # what was asked before the beginning is what is asked there
    k = np.arange(61)
    assert run({"file.xml": text}, "knee", case(n=61, h=h)) == pytest.approx(4.0 * h**2 * k * (k + 1) / 2)
    assert our_step({"file.xml": text}, "knee", step) is None


def test_an_open_winding_and_back():
    model = mujoco.MjModel.from_xml_string(DC)
    on = {n: getattr(model, n).copy() for n in ("actuator_gainprm", "actuator_biasprm")}
    _switch(model, on, False)
    off = from_model(model, 0)
    assert (off.motor.resistance, off.motor.torque_constant) == (1e9, 0.5)
    assert (off.controller.kp, off.controller.kd) == (0.0, 0.0)
    _switch(model, on, True)
    assert (model.actuator_gainprm == on["actuator_gainprm"]).all()
    law = open_winding(from_model(model, 0))
    assert (law.motor.resistance, law.controller.kp, law.controller.kd) == (1e9, 0.0, 0.0)
    assert law.controller.ki == 1e-300  # next to nothing, but the activation stays
    bare = mujoco.MjModel.from_xml_string(DC.replace('"3 1 0.1"', '"3 0 0.1"'))
    assert open_winding(from_model(bare, 0)).controller.ki is None


def test_our_own_step_moves_as_the_engine_does():
    asked = case(n=40, inertia=0.01)._replace(
        command={"position_target": np.full(40, 0.3)},
        ctrl={"position_target": 1.0},
        enabled=np.arange(40) < 30,
        load=lambda k, q, w: -0.2 * q,
    )
    q = run({"a.xml": DC}, "knee", asked)
    assert our_step({"a.xml": DC}, "knee", asked) == pytest.approx(q, abs=1e-9)
    assert np.ptp(q) > 1e-3
    # with gears, a rotor and a setpoint that starts at the joint and may move by 2 rad/s
    slewed = DC.replace('"3 1 0.1"', '"3 1 0.1 20"').replace("<dcmotor", '<dcmotor gear="10" armature="1e-4"')
    there = asked._replace(position=0.2, ctrl={"position_target": 10.0})
    q = run({"a.xml": slewed}, "knee", there)
    assert our_step({"a.xml": slewed}, "knee", there) == pytest.approx(q, abs=1e-9)
    assert 1e-5 < q[1] - 0.2 < 1e-3  # it does not jump back to a setpoint of 0
    # the solver's own friction, a joint's damping and other actuators are not ours
    for text in (DC.replace('name="knee"', 'name="knee" damping="0.1"'), BARE):
        assert our_step({"a.xml": text}, "knee", asked) is None
    rubbing = DC.replace('name="knee"', 'name="knee" frictionloss="0.1"')
    assert our_step({"a.xml": rubbing}, "knee", asked) is None


def test_a_servo_that_is_off_coasts():
    """Its stiffness and its damping are gone too: 0.3 rad/s for ever."""
    text = BARE.replace('<motor joint="knee"/>', '<position joint="knee" kp="5" kv="2"/>')
    off = case(enabled=np.zeros(101, bool), position=0.2, velocity=0.3)
    assert run({"a.xml": text}, "knee", off) == pytest.approx(0.2 + 0.3e-3 * np.arange(101))


def test_gains_change_in_proportion_where_there_is_something():
    def model(kp, damping="0", low=-2):
        text = ROBOT.replace('kp="7" forcerange="-2 2"', f'kp="{kp}" forcerange="{low} 2"')
        return mujoco.MjModel.from_xml_string(text.replace('damping="0.3"', f'damping="{damping}"'))

    third = model(10, damping="0.4", low=-3)
    settings_of(model(7), model(14, damping="0.2", low=-1))(third)
    assert (third.actuator_gainprm[0, 0], third.actuator_biasprm[0, 1]) == pytest.approx((20.0, -20.0))
    assert third.actuator_forcerange[0] == pytest.approx([-1.5, 2.0])
    assert third.dof_damping[0] == pytest.approx(0.4 + 0.2)  # nothing to be in proportion to: added
    with pytest.raises(InvalidValue, match="other inputs than the actuator"):
        settings_of(model(7), model(14))(mujoco.MjModel.from_xml_string(BARE))


def test_versions_and_texts():
    check_version(mujoco.__version__)
    with pytest.raises(NotAvailable, match=r"the file is for MuJoCo 3\.8, and .* is installed"):
        check_version(
            "3.8" if from_model(mujoco.MjModel.from_xml_string(DC), 0).controller.era == 2 else "4.0"
        )
    with pytest.raises(InvalidValue, match="does not load the file"):
        spec_of("<mujoco><no/></mujoco>")
    a, b = (spec_of(BARE).joint("knee") for _ in range(2))
    b.damping[:] = 0.5
    copy_number(a, b, "damping")
    assert np.atleast_1d(a.damping)[0] == 0.5
