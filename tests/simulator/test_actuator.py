"""A dcmotor as an actuator and back: the same motion once both are stepped finely,
and nothing lost silently."""

from __future__ import annotations

import numpy as np
import pytest

from backemf.engine.simulate import simulate
from backemf.errors import InvalidValue, MissingValue
from backemf.mujoco.actuator_conversion import from_actuator, to_actuator
from backemf.mujoco.dcmotor import Controller, DcMotor, DcMotorJoint, Engine, initial_state
from backemf.mujoco.step import step
from backemf.physics import drive as drives
from backemf.physics.actuator import Actuator
from backemf.physics.bench import Flywheel
from backemf.physics.drive import Brake, Off
from backemf.physics.friction import M4, Coulomb, LuGre, Viscous
from backemf.physics.gearbox import Gearbox
from backemf.physics.motor import Cogging, Limits, Motor
from backemf.physics.thermal import Thermal, TwoNodeThermal

MOTOR = Motor(
    resistance=2.0,
    torque_constant=0.08,
    rotor_inertia=2e-4,
    thermal=Thermal(resistance=2.0, capacitance=0.4, ambient=20.0),
    cogging=Cogging(amplitude=0.01, periods=6.0, phase=0.3),
    limits=Limits(torque=0.35),
)
SMOOTH = Viscous(viscous=1e-3, viscous_quadratic=1e-4, viscous_cubic=1e-5)
BRISTLE = LuGre(viscous=1e-3, stiffness=8.0, damping=0.02, coulomb=0.02, static=0.03, stribeck_velocity=0.5)


def made(
    controller: Controller, gear: float = 5.0, friction: Viscous = SMOOTH, motor: Motor = MOTOR
) -> DcMotor:
    return DcMotor(motor=motor, friction=friction, gear=gear, controller=controller)


@pytest.mark.parametrize(
    ("controller", "gear", "friction"),
    [
        (Controller(inputs=("voltage",)), -5.0, SMOOTH),
        (Controller(inputs=("voltage",)), 5.0, BRISTLE),
        (
            Controller(
                inputs="position",
                kp=9.0,
                ki=12.0,
                kd=0.4,
                slew=6.0,
                integral_limit=0.3,
                voltage_limit=8.0,
                ctrlrange=((-3.0, 2.0),),
            ),
            -5.0,
            SMOOTH,
        ),
        (Controller(inputs="velocity", kp=0.6, ki=2.0, voltage_limit=6.0), 3.0, SMOOTH),
        (Controller(inputs=("pos", "vel", "ff"), kp=0.4, ki=0.5, kd=0.02, voltage_limit=9.0), -5.0, BRISTLE),
        (Controller(inputs=()), 5.0, SMOOTH),
    ],
    ids=[
        "voltage mirrored",
        "voltage bristle",
        "position mirrored",
        "velocity",
        "impedance mirrored",
        "shorted",
    ],
)
def test_both_move_alike_when_stepped_finely(controller, gear, friction):
    dcmotor = made(controller, gear, friction)
    equal = to_actuator(dcmotor)
    version, h, n, hold = "3.11.0" if controller.era == 1 else "4.0.0", 2e-5, 30, 500
    engine, joint, state = (
        Engine(version=version, timestep=h),
        DcMotorJoint(inertia=0.02),
        initial_state(dcmotor, velocity=1.0),
    )
    shapes = {"voltage_target": 6.0, "position_target": 0.5, "velocity_target": 2.0, "torque_target": 0.4}
    time = h * hold * np.arange(n + 1)
    command = {name: shapes[name] * np.sin(15.0 * time + 0.3) for name in equal.targets}
    native = simulate(
        equal.actuator, Flywheel(inertia=0.02), command, time=time, start={"velocity": 1.0}, tolerance=1e-6
    )
    rows = []
    for k in range(n):
        rows.append((state["position"], state["velocity"]))
        for _ in range(hold):
            state = step(
                dcmotor,
                joint,
                engine,
                state,
                tuple(command[name][k] / factor for name, factor in equal.targets.items()),
            )
    q, v = np.array(rows).T
    assert np.max(np.abs(q - native["position"][:-1])) < 2e-3 * np.ptp(native["position"])
    assert np.max(np.abs(v - native["velocity"][:-1])) < 1e-2 * np.max(np.abs(native["velocity"]))


def test_damping_reaches_the_output_with_the_square_of_the_gear():
    found = to_actuator(made(Controller(), gear=10.0)).actuator.friction
    assert (found.viscous, found.viscous_quadratic, found.viscous_cubic) == pytest.approx((0.1, 1e-2, 1e-3))


@pytest.mark.parametrize(
    "controller",
    [
        Controller(
            inputs="position",
            kp=9.0,
            ki=12.0,
            kd=0.4,
            slew=6.0,
            integral_limit=0.3,
            voltage_limit=8.0,
            ctrlrange=((-3.0, 2.0),),
        ),
        Controller(inputs="velocity", kp=0.6, ki=2.0, voltage_limit=6.0),
        Controller(inputs="voltage", slew=9.0, ctrlrange=((-12.0, 12.0),)),
        Controller(inputs=("pos", "vel", "ff"), kp=0.4, ki=0.5, kd=0.02, voltage_limit=9.0),
    ],
    ids=["position", "velocity", "voltage", "impedance"],
)
def test_there_and_back(controller):
    dcmotor = made(controller, friction=BRISTLE)
    there = to_actuator(dcmotor)
    back = from_actuator(there.actuator, controller.era)
    assert back.dropped == []
    assert {name: 1.0 / factor for name, factor in there.targets.items()} == pytest.approx(back.ctrl)
    assert back.dcmotor.motor == dcmotor.motor
    numbers = ("kp", "ki", "kd", "slew", "integral_limit", "voltage_limit")
    got, want = ([getattr(d.controller, n) or 0.0 for n in numbers] for d in (back.dcmotor, dcmotor))
    assert got == pytest.approx(want)


def test_what_a_dcmotor_cannot_carry_is_named():
    actuator = Actuator(
        motor=Motor(
            resistance=1.0,
            torque_constant=0.1,
            back_emf_constant=0.12,
            iron_loss=1e-6,
            limits=Limits(current=5.0),
            thermal=TwoNodeThermal(
                winding_resistance=1.0,
                housing_resistance=2.0,
                winding_capacitance=3.0,
                housing_capacitance=4.0,
            ),
        ),
        gearbox=Gearbox(ratio=10.0, efficiency=0.9),
        friction=M4(
            coulomb=0.1, static=0.2, stribeck_velocity=0.1, load=0.05, load_stribeck=0.01, viscous=0.3
        ),
        drive=drives.Servo(
            firmware_gain=0.01,
            proportional=32.0,
            derivative=32.0,
            firmware_derivative_gain=1e-4,
            derivative_filter=0.01,
            supply=12.0,
            deadband=0.01,
            delay=0.002,
        ),
    )
    found = from_actuator(actuator, 1)
    assert set(found.dropped) == {
        "gearbox.efficiency",
        "motor.back_emf_constant",
        "motor.iron_loss",
        "motor.limits.current",
        "motor.thermal",
        "friction.coulomb",
        "friction.static",
        "friction.stribeck_velocity",
        "friction.load",
        "friction.load_stribeck",
        "drive.delay",
        "drive.deadband",
        "drive.derivative_filter",
    }
    assert found.dcmotor.motor.torque_constant == pytest.approx(np.sqrt(0.012))
    assert found.dcmotor.friction == Viscous(viscous=0.003)
    assert found.dcmotor.controller.kp == pytest.approx(12.0 * 0.01 * 32.0 / 10.0)
    assert found.dcmotor.controller.voltage_limit == 12.0


def test_two_motors_on_one_output_become_one():
    two = Actuator(motor=MOTOR, gearbox=Gearbox(ratio=5.0, n_motors=2), friction=Viscous(viscous=0.02))
    one = Actuator(
        motor=from_actuator(two, 2).dcmotor.motor, gearbox=Gearbox(ratio=5.0), friction=two.friction
    )
    runs = [
        simulate(a, Flywheel(inertia=0.02), {"voltage_target": 6.0}, duration=0.2, dt=0.01, tolerance=1e-6)
        for a in (two, one)
    ]
    assert runs[0]["position"] == pytest.approx(runs[1]["position"], abs=1e-9)
    assert runs[0]["temperature"] == pytest.approx(runs[1]["temperature"], abs=1e-9)


GANG = Motor(
    resistance=2.0,
    torque_constant=0.05,
    back_emf_constant=0.06,
    rotor_inertia=1e-5,
    inductance=2e-3,
    saturation_current=6.0,
    iron_loss=1e-6,
    thermal=TwoNodeThermal(
        winding_resistance=2.0, housing_resistance=5.0, winding_capacitance=0.4, housing_capacitance=3.0
    ),
    cogging=Cogging(amplitude=2e-3, periods=6.0, phase=0.3),
    limits=Limits(
        torque=0.2,
        current_rate=800.0,
        continuous_current=1.0,
        peak_current=4.0,
        peak_time=0.05,
        safe_current=0.5,
        derating_start=40.0,
        derating_end=80.0,
    ),
)


def test_three_motors_on_one_shaft_move_as_their_gang_does():
    """Every limit acts on the way: the same equations with n times the current, so only rounding differs."""
    drive = drives.Position(volts_per_radian=40.0, volts_per_radian_second=30.0, supply=12.0)
    load = Coulomb(coulomb=0.1, viscous=0.01)
    three = Actuator(motor=GANG, gearbox=Gearbox(ratio=20.0, n_motors=3), friction=load, drive=drive)
    one = Actuator(motor=GANG.in_parallel(3), gearbox=Gearbox(ratio=20.0), friction=load, drive=drive)
    time = 0.005 * np.arange(121)
    command = {"position_target": np.where(time < 0.02, 0.0, 0.8)}
    each, gang = (simulate(a, Flywheel(inertia=0.05), command, time=time, substeps=8) for a in (three, one))
    assert np.ptp(each["position"]) > 0.5
    assert np.max(np.abs(each["current"])) > 0.9 * 4.0
    assert np.max(np.abs(gang["position"] - each["position"])) < 1e-9
    assert np.max(np.abs(gang["current"] - 3.0 * each["current"])) < 1e-9
    assert np.max(np.abs(gang["temperature"] - each["temperature"])) < 1e-9


@pytest.mark.parametrize(
    ("drive", "era"),
    [
        (
            drives.Position(
                volts_per_radian=30.0,
                volts_per_radian_second=20.0,
                volt_seconds_per_radian=0.5,
                voltage_limit=8.0,
                slew=4.0,
                integral_limit=0.05,
                command_low=-0.1,
                command_high=0.4,
            ),
            1,
        ),
        (drives.Servo(firmware_gain=0.1, proportional=30.0, supply=9.0), 2),
        (drives.Velocity(volt_seconds_per_radian=3.0, volts_per_radian=9.0, voltage_limit=8.0), 1),
        (
            drives.Impedance(
                newton_metres_per_radian=3.0, newton_metre_seconds_per_radian=0.2, through="voltage"
            ),
            2,
        ),
        (drives.Voltage(), 2),
    ],
    ids=["position", "servo", "velocity", "impedance", "voltage"],
)
def test_gears_that_turn_the_other_way(drive, era):
    """A law pushes the output towards its target, a plain voltage the other way: as our actuator, so a
    dcmotor with a negative gear."""
    actuator = Actuator(motor=MOTOR, gearbox=Gearbox(ratio=-5.0), friction=BRISTLE, drive=drive)
    equal = from_actuator(actuator, era)
    assert equal.dcmotor.gear == -5.0
    assert equal.dcmotor.controller.kp >= 0.0
    h, n, hold = 2e-5, 30, 500
    engine = Engine(version="3.11.0" if era == 1 else "4.0.0", timestep=h)
    state, joint, time = initial_state(equal.dcmotor), DcMotorJoint(inertia=0.02), h * hold * np.arange(n + 1)
    sizes = {"position_target": 0.6, "velocity_target": 2.0, "voltage_target": 3.0, "torque_target": 0.1}
    command = {name: sizes[name] * np.sin(12.0 * time + 0.3) for name in equal.ctrl}
    native = simulate(actuator, Flywheel(inertia=0.02), command, time=time, tolerance=1e-6)["position"]
    rows = []
    for k in range(n):
        rows.append(state["position"])
        u = tuple(factor * command[name][k] for name, factor in equal.ctrl.items())
        for _ in range(hold):
            state = step(equal.dcmotor, joint, engine, state, u)
    assert np.ptp(native) > 0.05
    assert np.max(np.abs(np.array(rows) - native[:-1])) < 3e-3 * np.ptp(native)
    forwards = -1.0 if drive.loop is None else 1.0
    assert forwards * native[5] > 0  # it was asked to go forwards until then


def test_the_engine_cannot_limit_the_integral_of_a_velocity_error():
    limited = drives.Velocity(volt_seconds_per_radian=1.0, volts_per_radian=2.0, integral_limit=0.1)
    found = from_actuator(Actuator(motor=MOTOR, drive=limited), 1)
    assert found.dropped == ["drive.integral_limit"]
    assert found.dcmotor.controller.integral_limit is None


def test_other_drives():
    assert from_actuator(Actuator(motor=MOTOR, drive=Brake()), 2).dcmotor.controller.inputs == ()
    current = from_actuator(Actuator(motor=MOTOR, drive=drives.Current()), 2)
    assert current.ctrl == {"current_target": 0.08}
    assert current.dropped == ["drive.bandwidth"]
    limited = from_actuator(Actuator(motor=MOTOR, drive=drives.Voltage(voltage_limit=9.0)), 2)
    assert limited.dcmotor.controller.ctrlrange == ((-9.0, 9.0),)  # the raw voltage itself is never limited
    one_input = from_actuator(
        Actuator(motor=MOTOR, drive=drives.Impedance(newton_metres_per_radian=1.0, through="voltage")), 1
    )
    assert one_input.dcmotor.controller.inputs == "position"
    assert one_input.dropped == ["drive.velocity_target", "drive.torque_target"]
    with pytest.raises(InvalidValue, match=r"a dcmotor has no place for drive\.Off"):
        from_actuator(Actuator(motor=MOTOR, drive=Off()), 2)
    with pytest.raises(MissingValue, match="limits its command on both sides or not at all"):
        from_actuator(
            Actuator(motor=MOTOR, drive=drives.Velocity(volt_seconds_per_radian=1.0, command_low=-1.0)), 2
        )
    assert from_actuator(Actuator(motor=MOTOR, friction=Coulomb(coulomb=0.1)), 2).dropped == [
        "friction.coulomb"
    ]


@pytest.mark.parametrize(
    ("controller", "text"),
    [
        (Controller(inputs=("ff", "voltage")), "the inputs are 'ff voltage'; no drive adds a raw voltage"),
        (Controller(inputs=("vel",), kp=0.1, kd=0.1), "kp is 0.1 without the pos input"),
        (Controller(inputs=("vel",), kd=0.1, slew=3.0), "the slew acts on 'vel'"),
        (
            Controller(inputs=("pos", "vel"), kp=0.1, ctrlrange=((-1.0, 1.0), (-1.0, 1.0))),
            "the ctrlrange limits vel or ff",
        ),
        (
            Controller(inputs="velocity", kp=0.1, ki=1.0, integral_limit=1.0),
            "era 1's velocity input limits the integral of its command",
        ),
        (
            Controller(inputs="voltage", voltage_limit=5.0),
            "era 1's voltage input with a limit, heat and no inductance",
        ),
    ],
)
def test_laws_without_a_drive(controller, text):
    with pytest.raises(InvalidValue) as caught:
        to_actuator(made(controller))
    assert str(caught.value).startswith(text)
