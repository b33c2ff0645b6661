"""`<dcmotor>` exports, replayed in the real MuJoCo:
lossless ones step for step, the others as well as a fit can make them."""

from __future__ import annotations

import dataclasses
import re

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.engine.simulate import simulate
from backemf.errors import InvalidValue, NotAvailable
from backemf.logs.log import log
from backemf.mujoco.attributes import DcMotorAttributes, compile_dcmotor
from backemf.mujoco.dcmotor import VERSIONS, gains_to_era2, rules
from backemf.targets.export import export
from backemf.targets.mujoco import dcmotor_target as mj
from backemf.targets.reference_motions import reference_bench
from backemf.targets.replay import replay

from .worker import plain, without_dry_friction

SERVO = be.drive.Servo(firmware_gain=0.158, proportional=32.0, supply=12.0, duty_limit=0.9625)
STRONG = be.motor.Motor(resistance=2.96, torque_constant=2.19, rotor_inertia=0.0266)
BRISTLE = be.friction.LuGre(
    coulomb=0.1, static=0.15, stribeck_velocity=0.3, stiffness=200.0, damping=1.0, viscous=0.1
)
GEARED = without_dry_friction()["everything on"]


@pytest.mark.parametrize(
    "actuator",
    [
        be.Actuator(motor=STRONG, friction=be.friction.Viscous(viscous=0.035), drive=SERVO),
        be.Actuator(motor=STRONG, friction=BRISTLE, drive=SERVO),
        GEARED,
    ],
    ids=["resistive servo", "bristle", "everything on, geared, two motors"],
)
def test_a_lossless_export_replays_step_for_step_and_within_the_engines_own_step_error(actuator):
    made = export(actuator, "mujoco", joint="knee", timestep=0.001, replay=False)
    assert made.lossless
    assert "Nothing was dropped or approximated." in made.text
    found = replay(made)
    for case in found.cases:
        assert case.step_difference is not None
        assert case.step_difference < 1e-6
        assert case.refinement is not None
        assert case.worst_native <= 1.15 * case.refinement + 2e-5, case.name


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "RK4"])
def test_every_integrator_is_replayed_step_for_step(integrator):
    made = export(
        be.Actuator(motor=STRONG, friction=be.friction.Viscous(viscous=0.035), drive=SERVO),
        "mujoco",
        integrator=integrator,
        timestep=0.001,
        replay=False,
    )
    assert all(case.step_difference < 1e-6 for case in replay(made).cases)


def test_the_text_of_every_version_compiles_to_the_same_voltage():
    era_1, era_2 = (export(GEARED, f"mujoco@{v}", joint="knee", replay=False) for v in ("3.11", "3.12"))
    assert 'input="position"' in era_1.text
    assert 'input="pos"' in era_2.text
    for version in VERSIONS:
        made = export(GEARED, f"mujoco@{version}", joint="knee", replay=False)
        same = era_1 if rules(version).era == 1 else era_2
        assert made.text.split("-->")[1] == same.text.split("-->")[1]
    meant = {version: mj.parts(GEARED, version, 0.002) for version in ("3.11", "3.12")}
    for version, parts in meant.items():
        found = compile_dcmotor(DcMotorAttributes.read(parts.element), version)
        assert found.controller.inputs == parts.dcmotor.controller.inputs
        assert plain(found) == pytest.approx(plain(parts.dcmotor), rel=1e-12)
    converted = gains_to_era2(meant["3.11"].dcmotor)  # exact: the same voltage in every state
    assert plain(converted.dcmotor) == pytest.approx(plain(meant["3.12"].dcmotor), rel=1e-12)
    assert meant["3.12"].ctrl == pytest.approx(
        {name: converted.ctrl_scale * factor for name, factor in meant["3.11"].ctrl.items()}
    )


def test_another_era_than_the_installed_is_not_replayed_here():
    made = export(be.Actuator(motor=STRONG, drive=SERVO), "mujoco@3.11")
    with pytest.raises(NotAvailable, match=r"for MuJoCo 3\.11, and 4\.0\.0 is installed"):
        replay(made)


def test_load_dependent_friction_is_fitted_better_than_the_formula_and_named_with_its_cost():
    actuator = be.Actuator.read("mx-106/m6")
    by_simulation = export(actuator, "mujoco", joint="knee", notes="identified by Rhoban")
    by_formula = export(actuator, "mujoco", joint="knee", method="formula")
    (fitted,), (plain,) = by_simulation.approximated, by_formula.approximated
    assert "friction.load_motor" in fitted.path
    assert fitted.error < 0.85 * plain.error
    assert f"{1e3 * fitted.error:.3g} mrad RMS" in by_simulation.text
    assert "From: identified by Rhoban" in by_simulation.text
    found = replay(by_simulation, refine=False)
    assert np.sqrt(np.mean([c.target_native**2 for c in found.cases])) < 1.3 * fitted.error + 3e-3


def test_a_log_is_replayed_with_its_own_gain_and_release():
    actuator = be.Actuator(motor=STRONG, friction=be.friction.Viscous(viscous=0.05), drive=SERVO)
    t = 0.01 * np.arange(151)
    command = {"position_target": 0.5 * np.sin(4 * t), "enabled": (t < 1.0).astype(float)}
    bench = be.bench.Pendulum(mass=1.0, length=0.1)
    truth = simulate(actuator.replace(**{"drive.proportional": 8.0}), bench, command, time=t)
    recorded = log(
        "released", t, position=truth.position, bench=bench, settings={"drive.proportional": 8.0}, **command
    )
    (case,) = replay(export(actuator, "mujoco", timestep=0.0005), [recorded]).cases
    assert case.native_log < 1e-4
    assert case.target_log < 2e-3
    assert case.step_difference < 1e-6


def _recordings(actuator, gains=(8.0, 32.0)):
    """Two sines and a hold at several gains, heavier than the reference motions and slower."""
    t = 0.01 * np.arange(201)
    bench, found = be.bench.Pendulum(mass=2.0, length=0.15), []
    for gain in gains:
        for name, target in (("sine", 0.9 * np.sin(2.5 * t)), ("hold", np.where(t < 0.2, 0.0, 1.2))):
            seen = simulate(
                actuator.replace(**{"drive.proportional": gain}), bench, {"position_target": target}, time=t
            )
            found.append(
                log(
                    f"{name} at {gain:g}",
                    t,
                    position=seen.position,
                    bench=bench,
                    position_target=target,
                    settings={"drive.proportional": gain},
                )
            )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("target", ["mujoco", "mujoco-classic"])
def test_fitted_to_recordings_an_export_replays_them_better(target):
    actuator = be.Actuator.read("mx-106/m6")
    logs = _recordings(actuator)
    own = export(actuator, target, logs=logs)
    assert (
        "the motions of 4 recordings, against backemf: sine at 8, hold at 8, sine at 32, hold at 32"
        in own.text
    )
    on_logs, by_formula, by_reference = (
        np.mean([c.target_native for c in replay(e, logs, refine=False).cases])
        for e in (
            own,
            export(actuator, target, method="formula", replay=False),
            export(actuator, target, replay=False),
        )
    )
    assert on_logs < 0.9 * by_formula
    assert on_logs < 0.9 * by_reference


def test_delay_reaches_the_engine():
    late = dataclasses.replace(SERVO, delay=0.02)
    actuator = be.Actuator(motor=STRONG, friction=be.friction.Viscous(viscous=0.035), drive=late)
    made = export(actuator, "mujoco", timestep=0.001, replay=False)
    assert 'delay="0.02"' in made.text
    for case in replay(made).cases:
        assert case.worst_native <= 1.15 * case.refinement + 1e-3, case.name


def test_frictionloss_sticks_with_the_settings_that_are_written():
    actuator = be.Actuator.read("mx-106/m1")
    made = export(actuator, "mujoco", joint="knee", replay=False, at_rest="frictionloss")
    crept = {}
    bare = re.sub(r' sol(ref|imp)friction="[^"]*"', "", made.text)
    for label, text in (("written", made.text), ("default", bare)):
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        model.actuator_gainprm[0, 0] = 1e9  # no motor: friction alone must hold
        model.actuator_gainprm[0, 4:7] = 0.0
        data.qfrc_applied[0] = 0.5 * actuator.parameters["friction.coulomb"]
        for _ in range(2500):
            mujoco.mj_step(model, data)
        crept[label] = abs(float(data.qpos[0]))
    assert crept["written"] < 1e-3
    assert crept["written"] < 0.1 * crept["default"]


def test_dropped_effects_are_named_with_what_they_cost():
    play = be.gearbox.Gearbox(backlash=0.02, contact_stiffness=200.0, contact_damping=0.5)
    actuator = be.Actuator(
        motor=STRONG,
        gearbox=play,
        friction=be.friction.Coulomb(coulomb=0.1, viscous=0.03),
        drive=dataclasses.replace(SERVO, deadband=0.01),
    )
    made = export(actuator, "mujoco", joint="knee", replay=False)
    assert [e.path for e in made.dropped] == ["gearbox.backlash", "drive.deadband"]
    assert all(e.error is not None and 1e-4 < e.error < 0.1 for e in made.dropped)


@pytest.mark.parametrize("sensor", ["rotor", "output"])
def test_backlash_becomes_an_extra_joint_where_asked(sensor):
    """The engine's controller sees the joint it acts on, before the play; where ours sees the output, that is
    a loss with a cost."""
    play = be.gearbox.Gearbox(backlash=0.03, contact_stiffness=2000.0, contact_damping=2.0)
    actuator = be.Actuator(
        motor=STRONG,
        gearbox=play,
        friction=be.friction.Coulomb(coulomb=0.1, viscous=0.03),
        drive=dataclasses.replace(SERVO, sensor=sensor),
    )
    with_joint, without = (
        export(actuator, "mujoco", joint="knee", backlash=asked, timestep=0.001, replay=False)
        for asked in (True, False)
    )
    assert [e.path for e in with_joint.approximated] == ["gearbox.backlash"]
    assert [e.path for e in with_joint.dropped] == ([] if sensor == "rotor" else ["drive.sensor"])
    assert mujoco.MjModel.from_xml_string(with_joint.text).njnt == 2
    loose, tight = (
        np.mean([c.target_native for c in replay(e, refine=False).cases]) for e in (with_joint, without)
    )
    if sensor == "rotor":
        assert loose < 0.4 * tight
    else:
        assert loose == pytest.approx(with_joint.dropped[0].error, rel=0.3)


def test_unequal_constants_keep_both_ends_of_the_torque_speed_line():
    motor = be.motor.Motor(resistance=1.0, torque_constant=1.0, back_emf_constant=2.0, rotor_inertia=0.01)
    made = export(be.Actuator(motor=motor, drive=SERVO), "mujoco", method="formula", replay=False)
    K, R = made.carried.motor.torque_constant, made.carried.motor.resistance
    assert (K, K / R) == (2.0, 1.0)
    assert made.approximated[0].error < 1e-9


def test_an_export_on_a_spec_is_the_same_as_its_file_and_reads_back(tmp_path):
    made = export(GEARED, "mujoco", joint="knee", replay=False)
    spec = mujoco.MjSpec.from_string(
        '<mujoco><worldbody><body><joint name="hip" armature="1" damping="3"/><geom'
        ' size="0.1"/></body></worldbody><actuator><position joint="hip" kp="3"/></actuator></mujoco>'
    )
    mj.apply(made, spec, "hip")
    model, alone = spec.compile(), mujoco.MjModel.from_xml_string(made.text)
    for name in mj.actuator_arrays(model):
        np.testing.assert_array_equal(getattr(model, name), getattr(alone, name))
    assert (model.dof_armature[0], model.dof_damping[0], model.nu) == (0.0, 0.0, 1)
    (tmp_path / "spec.xml").write_text(spec.to_xml())
    back = mj.read(tmp_path / "spec.xml")
    assert (back.joint, back.targets) == ("hip", {"position_target": 1.0})  # in the joint's own radians
    assert back.actuator.motor.torque_constant == pytest.approx(150 * 0.01, rel=1e-14)
    assert back.actuator.motor.resistance == pytest.approx(2.0, rel=1e-14)  # two motors became one
    assert "K_t and K_e apart (only sqrt(K_t K_e) is kept)" in back.unknown


def test_a_saved_model_reads_back_to_the_same_actuator(tmp_path):
    made = export(be.Actuator.read("mx-106/m1"), "mujoco", joint="knee", replay=False, at_rest="frictionloss")
    spec = mujoco.MjSpec.from_string(made.text)
    spec.compile()
    (tmp_path / "saved.xml").write_text(spec.to_xml())
    assert "<general" in spec.to_xml()
    made.write(tmp_path / "written.xml")
    saved, written = mj.read(tmp_path / "saved.xml").actuator, mj.read(tmp_path / "written.xml").actuator
    for path, value in written.parameters.items():
        assert saved.parameters[path] == pytest.approx(value, rel=1e-4), path  # the engine saves few digits
    assert written.motor == made.actuator.motor
    assert written.friction == made.actuator.friction


def test_a_file_of_the_other_era_reads_back_with_its_own_gains(tmp_path):
    actuator = be.Actuator.read("mx-106/m1")
    export(actuator, "mujoco@3.11", joint="knee").write(tmp_path / "old.xml")
    old = mj.read(tmp_path / "old.xml").actuator
    assert isinstance(old.drive, be.drive.Position)
    assert old.drive.volts_per_radian == pytest.approx(actuator.drive.loop.proportional, rel=1e-12)
    # volts, not newton-metres
    assert (old.motor, old.friction) == (actuator.motor, actuator.friction)


@pytest.mark.parametrize(("mode", "kind"), [(1, be.drive.Position), (2, be.drive.Velocity)])
def test_a_general_saved_by_an_old_mujoco_reads_back_with_includes_and_classes(tmp_path, mode, kind):
    (tmp_path / "motors.xml").write_text(
        "<mujocoinclude><actuator>"
        '<general class="servo" name="knee" joint="knee" damping="0.035" armature="0.027" actearly="true"'
        ' dyntype="dcmotor" dynprm="0 0 0 0 0 0 0 0 0 0" '
        'gaintype="dcmotor" biastype="dcmotor" gainprm="2.965 2.191 0 0 60.67 0 0.5 11.55'
        f' {mode}"/></actuator></mujocoinclude>'
    )
    model = (
        '<mujoco><default><default class="servo"><general gear="3"/><joint'
        ' frictionloss="0.1"/></default></default><worldbody><body><joint name="knee" class="servo"/><geom'
        ' size="0.1" mass="1"/></body></worldbody><include file="motors.xml"/></mujoco>'
    )
    (tmp_path / "arm.xml").write_text(model)
    found = mj.read(tmp_path / "arm.xml", "knee")
    assert isinstance(found.actuator.drive, kind)
    assert found.actuator.drive.voltage_limit == 11.55
    assert found.actuator.gearbox.ratio == 3.0
    # the checker knows its base class only
    assert found.actuator.friction.coulomb == pytest.approx(0.1)  # type: ignore[attr-defined]
    assert {p.name for p in tmp_path.iterdir()} == {"arm.xml", "motors.xml"}
    assert (tmp_path / "arm.xml").read_text() == model


@pytest.mark.parametrize("to", ["mujoco", "mujoco@3.11", "mjlab"])
def test_a_step_that_cannot_hold_the_model_is_found(to):
    """With the file's own step, on the bench that it is judged on."""
    stiff = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=1e-4),
        friction=dataclasses.replace(BRISTLE, stiffness=5000.0),
        drive=SERVO,
    )
    made = export(stiff, to, timestep=0.005, method="formula", replay=False)
    (found,) = (f for f in made.findings if f.code.startswith("integrator_"))
    assert found.numbers["timestep"] == 0.005
    on = float(reference_bench(stiff, made.load, made.amplitude).inertia_at({}))
    assert (
        f"at 5 ms is off by {100 * found.numbers['position']:.0f} %" in found.text or "diverges" in found.text
    )
    assert found.text.endswith(f"on a joint of {on:g} kg m^2.")
    assert "Finding:" in made.text


def test_a_replay_that_diverges_says_so():
    stuck = dataclasses.replace(BRISTLE, damping=500.0)  # explicit in the engine under Euler
    made = export(
        be.Actuator(motor=STRONG, friction=stuck, drive=SERVO), "mujoco", timestep=0.005, integrator="Euler"
    )
    assert made.findings
    with pytest.raises(InvalidValue, match="diverges at a step of 5 ms"):
        replay(made, refine=False)


LAWS = {
    "position": be.drive.Position(
        volts_per_radian=30.0, volts_per_radian_second=30.0, volt_seconds_per_radian=0.5, supply=12.0
    ),
    "servo": be.drive.Servo(firmware_gain=0.158, proportional=32.0, supply=12.0),
    "velocity": be.drive.Velocity(volt_seconds_per_radian=3.0, supply=12.0),
    "impedance": be.drive.Impedance(
        newton_metres_per_radian=6.0, newton_metre_seconds_per_radian=0.4, supply=12.0
    ),
    "voltage": be.drive.Voltage(supply=12.0),
    "current": be.drive.Current(supply=12.0),
}


@pytest.mark.parametrize("target", ["mujoco", "mujoco-classic"])
@pytest.mark.parametrize("law", LAWS)
def test_gears_that_turn_the_other_way_run_as_backemf_does(law, target):
    """A law with a target goes there whichever way its gears turn; a voltage or a current goes backwards."""
    drive = LAWS[law]
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.01, rotor_inertia=1e-7),
        gearbox=be.gearbox.Gearbox(ratio=-100.0),
        friction=be.friction.Viscous(viscous=0.01),
        drive=drive,
    )
    forwards = dataclasses.replace(actuator, gearbox=be.gearbox.Gearbox(ratio=100.0))
    made, mirror = (
        export(a, target, timestep=0.001, method="formula", replay=False) for a in (actuator, forwards)
    )
    assert [e.path for e in made.dropped] == [e.path for e in mirror.dropped]
    t = 0.005 * np.arange(201)
    size = {"voltage_target": 4.0, "current_target": 0.1}.get(drive.followed, 0.5)
    command = {drive.followed: np.where(t < 0.05, 0.0, size)}
    bench = be.bench.Flywheel(inertia=0.01)
    truth = simulate(actuator, bench, command, time=t)
    case, other = (
        replay(e, [log("step", t, position=truth.position, bench=bench, **command)]).cases[0]
        for e in (made, mirror)
    )
    sign = -1.0 if drive.loop is None else 1.0
    np.testing.assert_allclose(case.target, sign * other.target, atol=1e-9)
    if drive.followed == "position_target":
        assert case.target[-1] == pytest.approx(0.5, abs=0.03)
    if drive.followed == "velocity_target":
        assert np.gradient(case.target, t)[-10] == pytest.approx(0.5, rel=0.3)
    assert sign * case.target[-1] > 0.1
    if target == "mujoco":
        assert case.step_difference < 1e-9
        assert case.worst_native < 0.01 * np.ptp(case.native)
    elif law in ("position", "servo", "impedance"):
        assert made.numbers["kp"] > 0


def test_several_springs_become_one_bristle_and_that_is_said():
    springs = be.friction.MaxwellSlip(coulomb=0.1, stiffness=200.0, viscous=0.1)
    made = export(be.Actuator(motor=STRONG, friction=springs, drive=SERVO), "mujoco@3.17", method="formula")
    (effect,) = made.approximated
    assert effect.path == "friction.softening"
    assert effect.error > 0
    # the checker knows its base class only
    assert made.carried.friction.stiffness == 200.0  # type: ignore[attr-defined]  # this friction has it


def test_a_velocity_integral_limit_is_not_the_engines():
    """Up to 3.11 the engine integrates the commanded velocity and limits that: left out, and named."""
    limited = be.drive.Velocity(
        volt_seconds_per_radian=3.0, volts_per_radian=20.0, integral_limit=0.01, supply=12.0
    )
    made = export(be.Actuator(motor=STRONG, drive=limited), "mujoco@3.11", method="formula")
    (effect,) = made.dropped
    assert effect.path == "drive.integral_limit"
    assert effect.error > 0


def test_an_actuator_that_cannot_be_carried_is_refused():
    with pytest.raises(InvalidValue, match=r"no place for drive\.Off"):
        export(be.Actuator(motor=STRONG, drive=be.drive.Off()), "mujoco")


def test_a_linear_axis_is_told_in_metres():
    friction = be.friction.Stribeck(coulomb=1.0, static=2.0, stribeck_velocity=0.1)
    axis = be.Actuator(
        motor=STRONG, gearbox=be.gearbox.Gearbox(ratio=100.0), friction=friction, drive=SERVO, motion="linear"
    )
    made = export(axis, "mujoco", method="formula")
    for words in (" mm RMS, at most ", "amplitude 0.5 m (or", " kg), at 11.55 V"):
        assert words in made.text
    shown = str(replay(made, refine=False))
    assert "differences in mm, RMS" in shown
    assert "rad" not in made.range + shown
