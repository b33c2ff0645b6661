"""Classic files of MuJoCo 3.12 and later: drives with feed-forward, integral, slew or delay as `<pid>`, run
in MuJoCo and compared with the engine."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.targets.export import export
from backemf.targets.replay import read_export, replay
from backemf.targets.result import as_bytes

MOTOR = be.motor.Motor(resistance=3.0, torque_constant=2.2, rotor_inertia=0.02)
FRICTION = be.friction.Coulomb(coulomb=0.1, viscous=0.04)
STIFF = be.drive.Impedance(newton_metres_per_radian=30.0, newton_metre_seconds_per_radian=1.0)
WHOLE = dataclasses.replace(
    STIFF, newton_metres_per_radian_second=40.0, integral_limit=0.02, slew=3.0, delay=0.011
)
SERVO = be.drive.Position(
    volts_per_radian=50.0, volts_per_radian_second=40.0, supply=12.0, slew=3.0, delay=0.01
)


def joint(drive, **parts):
    return be.Actuator(motor=MOTOR, friction=FRICTION, drive=drive, **parts)


def swing(drive):
    """A pendulum that is asked for a swing with its speed and its weight ahead of time."""
    t, bench = 0.005 * np.arange(400), be.bench.Pendulum(mass=1.0, length=0.3)
    q = 0.8 * np.sin(4.0 * t)
    command = {
        "position_target": q,
        "velocity_target": 3.2 * np.cos(4.0 * t),
        "torque_target": 1.0 * 9.81 * 0.3 * np.sin(q),
    }
    run = be.simulate(joint(drive), bench, command, time=t)
    return be.log("swing", t, position=run.position, bench=bench, **command)


@pytest.mark.parametrize("drive", [STIFF, WHOLE], ids=["feed-forward", "whole"])
def test_feed_forward_moves_in_mujoco_as_in_the_engine(drive):
    log = swing(drive)
    pid, plain = (
        export(joint(drive), f"mujoco-classic{at}", logs=[log], timestep=0.001) for at in ("@4.0", "")
    )
    assert pid.lossless
    assert [*pid.ctrl] == ["position_target", "velocity_target", "torque_target"]
    (case,) = replay(pid, [log]).cases
    assert case.worst_native <= 1.2 * case.refinement + 3e-4  # the step's own error, and the held command's
    (without,) = replay(plain, [log]).cases
    assert without.worst_native > 10 * case.worst_native


@pytest.mark.parametrize("drive", [WHOLE, SERVO], ids=["impedance", "servo"])
def test_integral_slew_and_delay_move_in_mujoco_as_in_the_engine(drive):
    made = export(joint(drive), "mujoco-classic@3.12", timestep=0.001)
    assert made.lossless
    for case in replay(made).cases:
        # a step's own error; an integral of MuJoCo stops one step after its limit, at 3 rad/s within 3 mrad s
        assert case.worst_native <= 1.2 * case.refinement + 1e-3, case.name
    with_less = {"newton_metres_per_radian_second": None} if drive is WHOLE else {"slew": None}
    other = export(joint(dataclasses.replace(drive, **with_less)), "mujoco-classic@3.12", timestep=0.001)
    worst = [
        max(case.worst_native for case in replay(dataclasses.replace(made, files=one.files)).cases)
        for one in (made, other)
    ]
    assert worst[1] > 3 * worst[0]  # what is not written is missed


def test_a_velocity_is_followed_with_its_feed_forward():
    drive = be.drive.Impedance(newton_metre_seconds_per_radian=1.0)
    made = export(joint(drive), "mujoco-classic@4.0", timestep=0.001)
    assert [*made.ctrl] == ["velocity_target", "torque_target"]
    assert made.lossless
    for case in replay(made).cases:
        assert case.worst_native <= 1.2 * case.refinement + 3e-4, case.name


def test_what_a_pid_does_not_hold_stays_a_loss():
    velocity = be.drive.Velocity(volt_seconds_per_radian=20.0, volts_per_radian=5.0, supply=12.0, slew=9.0)
    made = export(joint(velocity), "mujoco-classic@4.0", method="formula", replay=False)
    assert [effect.path for effect in made.dropped] == ["drive.slew", "drive integral"]
    assert "<velocity " in made.text
    frozen = dataclasses.replace(SERVO, freeze_when_saturated=True)
    made = export(joint(frozen), "mujoco-classic@4.0", method="formula", replay=False)
    assert [effect.path for effect in made.dropped] == ["drive.freeze_when_saturated"]


@pytest.mark.parametrize("drive", [STIFF, SERVO], ids=["feed-forward", "servo"])
def test_versions_without_it_refuse_and_say_which_has_it(drive):
    with pytest.raises(InvalidValue, match=r"3\.11 has no <pid>, .*mujoco-classic@3\.12 or later") as refused:
        export(joint(drive), "mujoco-classic@3.11", replay=False)
    assert ("drive.torque_target" in str(refused.value)) == (drive is STIFF)
    bare = be.drive.Position(volts_per_radian=50.0, supply=12.0)
    old = export(joint(bare), "mujoco-classic@3.11", timestep=0.001)
    assert "<position " in old.text
    assert old.ran.startswith("Run in MuJoCo")


def test_friction_is_fitted_beside_an_integral():
    rich = dataclasses.replace(be.Actuator.read("mx-106/m6"), drive=SERVO)
    fitted, plain = (
        export(rich, "mujoco-classic@4.0", method=m, replay=False) for m in ("simulation", "formula")
    )
    assert [effect.path for effect in fitted.dropped] == []
    assert fitted.approximated[0].error < 0.9 * plain.approximated[0].error
    assert fitted.numbers["ki"] / fitted.numbers["kp"] == pytest.approx(40.0 / 50.0)


def test_a_file_reads_back_and_is_replayed(tmp_path):
    log = swing(WHOLE)
    made = export(joint(WHOLE), "mujoco-classic@4.0", joint="knee", timestep=0.001)
    made.write(tmp_path / "knee.xml")
    read = be.Actuator.read(tmp_path / "knee.xml")
    for name in ("newton_metres_per_radian", "newton_metres_per_radian_second", "slew", "delay"):
        assert getattr(read.drive, name) == pytest.approx(getattr(WHOLE, name)), name
    assert read.parameters["drive.integral_limit"] == pytest.approx(0.02)
    (case,) = replay(read_export(str(tmp_path / "knee.xml")), [log]).cases
    assert case.worst_native < 5e-3


@pytest.mark.parametrize("gear", [2.0, -2.0])
def test_into_a_model_it_keeps_the_commands_that_are_there(tmp_path, gear):
    (tmp_path / "arm.xml").write_text(
        f"""<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody><body>
        <joint name="knee" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".3"/>
        </body></worldbody><actuator><position name="k" joint="knee" kp="5" gear="{gear:g}"/></actuator>
        <keyframe><key qpos="0.3" ctrl="0.6"/></keyframe></mujoco>"""
    )
    edited = export({"knee": joint(SERVO)}, "mujoco-classic@4.0", into=tmp_path / "arm.xml")
    (text,) = map(as_bytes, edited.files.values())
    model = mujoco.MjModel.from_xml_string(str(text, "utf-8"))
    assert model.nu == 1
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    assert data.act[0] == pytest.approx(gear * 0.3)  # the slewed position begins where the joint stands
    data.ctrl[0] = gear * 0.5
    mujoco.mj_step(model, data, nstep=3000)
    assert data.qpos[0] == pytest.approx(0.5, abs=2e-3)  # the integral carries the weight
