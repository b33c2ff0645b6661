"""Conversions against the documents' numbers, the catalogue's, WPILib's and a simulation; round trips."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import pytest

import backemf as be
from backemf.analysis.motor_constants import SYMBOLS
from backemf.errors import BackemfError, InvalidValue, MissingValue, UnknownName
from backemf.kits.frc.mechanism_constants import theoretical
from backemf.physics import steady
from backemf.physics.joint_law import JointLaw
from backemf.units import parse

STALL, AMPERES, SPEED, VOLTS = 30.0, 2.7, 45.0 * 2 * math.pi / 60.0, 12.0
SHEET = {"voltage": "12 V", "stall_torque": "30 kg cm", "stall_current": "2.7 A", "no_load_speed": "45 rpm"}
SHEET |= {"no_load_current": "0.18 A"}


def codes(made) -> list[str]:
    return [f.code for f in made.findings]


# The servo torque model.


@pytest.mark.parametrize(("gravity", "kp", "kv"), [(9.8, 748.665, 2.73124), (9.80665, 749.17, 2.7331)])
def test_servo_torque_model(gravity, kp, kv):
    """ST-3215-C047 as its script has it: R taken as 1 ohm, the motor constants each from their own entry."""
    K_m = STALL * gravity / 100.0 / AMPERES
    K_b = (VOLTS - 0.18 * 1.0) / SPEED
    assert K_b == pytest.approx(2.50828, rel=1e-5)
    for volts_per_degree, stiffness in ((12.0, kp), (16.0, kp * 16 / 12)):
        servo = be.convert.servo_actuator(
            torque_constant=K_m, back_emf_constant=K_b, resistance=1.0, volts_per_degree=volts_per_degree
        )
        assert servo.kp == pytest.approx(stiffness, rel=1e-5)
        assert servo.kv == pytest.approx(kv, rel=1e-5)
        assert (servo.a, servo.b_1, servo.b_2) == (servo.kp, -servo.kp, -servo.kv)
    assert kp * 16 / 12 == pytest.approx(998.22 * gravity / 9.8, rel=1e-5)


def test_a_servo_from_its_sheet():
    published = be.convert.servo(**SHEET, resistance="1 ohm", volts_per_radian="12 V/deg")
    assert (published.kp, published.kv) == pytest.approx((749.17, 2.7331), rel=1e-5)
    assert published.torque_constant == pytest.approx(1.08963, rel=1e-5)
    assert codes(published) == ["constants_disagree", "stall_torque_differs"]
    assert published.findings[0].numbers["resistance"] == pytest.approx(1 / 4.4444, rel=1e-4)
    assert published.findings[1].numbers["model"] == pytest.approx(published.torque_constant * 12.0)
    sound = be.convert.servo(**SHEET, volts_per_radian="12 V/deg")
    assert sound.resistance == pytest.approx(4.444, rel=1e-3)
    assert sound.kv == pytest.approx(0.582, rel=2e-3)  # as the errata have it
    assert sound.torque_limit == pytest.approx(parse("30 kg cm", "N m", "stall").value)
    assert math.degrees(sound.saturation_error) == pytest.approx(1.0)  # 12 V at 12 V per degree
    assert codes(sound) == ["constants_disagree"]
    half = be.convert.servo(**SHEET, volts_per_radian="12 V/deg", duty_limit=0.5)
    for name in ("torque_limit", "saturation_error", "no_load_speed"):
        assert getattr(half, name) == pytest.approx(getattr(sound, name) / 2)
    assert sound.no_load_speed == pytest.approx(12.0 / sound.back_emf_constant)


@pytest.mark.parametrize("name", ["mx-106/m1", "sts3215-7.4v", "sts3215-7.4v/m1", "xl430-w250"])
def test_a_servo_of_the_catalogue_has_the_stiffness_that_exports_write(name):
    actuator = be.Actuator.read(name)
    x, made = JointLaw.of(actuator), be.convert.servo(actuator)
    assert (made.kp, made.torque_limit) == pytest.approx((x.stiffness, x.effort_limit))
    assert made.saturation_error == pytest.approx(x.effort_limit / x.stiffness)
    assert be.convert.gain(actuator).torque == pytest.approx(x.stiffness)


def test_a_servo_whose_controller_is_more_than_proportional_says_so():
    servo = firmware(derivative=5.0, firmware_derivative_gain=0.003)
    made = be.convert.servo(servo)
    assert made.kv == be.convert.servo(firmware()).kv
    assert "the D of its controller, 0.2475 N m s/rad" in made.lost[-1]
    assert len(made.lost) == 1 + len(be.convert.servo(firmware()).lost)


# Gains of a firmware.


@pytest.mark.parametrize(
    ("name", "register", "duty"),
    [
        ("xl430-w250", 640, 3.68),
        ("xm430-w350", 800, 4.60),
        ("xc330-m288", 900, 5.18),
        ("xl330-m288", 400, 1.15),
        ("mx-106", 32, 5.06),
        ("xl-320", 32, 1.62),
        ("sts3215-7.4v", 32, 5.31),
    ],
)
def test_registers_as_benches_and_manuals_have_them(name, register, duty):
    """Duty per radian from vendor manuals and benches, printed to three digits."""
    made = be.convert.gain(be.Actuator.read(name), register=register)
    assert made.duty == pytest.approx(duty, abs=0.006)
    assert made.volts == pytest.approx(made.duty * be.Datasheet.read(name).voltage)


def firmware(**drive) -> be.Actuator:
    return be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.011, rotor_inertia=1e-5),
        gearbox=be.gearbox.Gearbox(ratio=100.0, n_motors=2),
        drive=be.drive.Servo(firmware_gain=0.158, proportional=32.0, supply=15.0, duty_limit=0.9, **drive),
    )


def test_a_gain_by_hand_and_in_a_simulation():
    servo = firmware()
    made = be.convert.gain(servo, register=32)
    assert made.volts == pytest.approx(5.056 * 15)
    assert made.amperes == pytest.approx(5.056 * 15 / 2.0)
    assert made.torque == pytest.approx(2 * 100 * 0.011 / 2.0 * 5.056 * 15)  # n N K_t / R k_V
    assert made.saturation_error == pytest.approx(0.9 / 5.056)

    def held(error):
        return be.simulate(servo, be.bench.Locked(), error, duration=0.01).torque[-1]

    assert held(0.01) / 0.01 == pytest.approx(made.torque)
    e = made.saturation_error
    assert held(0.99 * e) == pytest.approx(0.99 * held(2 * e))
    assert held(1.01 * e) == pytest.approx(held(2 * e))


@pytest.mark.parametrize("of", ["proportional", "integral", "derivative"])
def test_every_unit_of_a_gain_gives_the_others(of):
    servo = firmware(integral=8.0, firmware_integral_gain=0.4, derivative=5.0, firmware_derivative_gain=0.003)
    own = be.convert.gain(servo, of=of)
    scale = {"proportional": (32, 0.158), "integral": (8, 0.4), "derivative": (5, 0.003)}[of]
    assert (own.register, own.duty) == pytest.approx((scale[0], scale[0] * scale[1]))
    loop = steady.torque_loop(servo)
    torque = {"proportional": loop.stiffness, "integral": loop.integral, "derivative": loop.damping}[of]
    assert own.torque == pytest.approx(torque)
    for n in own.numbers()[:5]:
        again = be.convert.gain(servo, of=of, **{n.name: n.value})
        assert [x.value for x in again.numbers()] == pytest.approx([x.value for x in own.numbers()])
        text = f"{n.value!r} {n.unit}" if n.unit != "1" else f"{n.value!r}"
        assert be.convert.gain(servo, of=of, **{n.name: text}).torque == pytest.approx(torque)
        for unit, value in n.also.items():
            assert be.convert.gain(servo, of=of, **{n.name: f"{value!r} {unit}"}).torque == pytest.approx(
                torque
            )
    seconds = {"proportional": "V/rad", "integral": "V/(rad s)", "derivative": "V s/rad"}[of]
    assert next(n.unit for n in own.numbers() if n.name == "volts") == seconds


def test_degrees_and_the_nearest_register():
    made = be.convert.gain(firmware(), volts="1 V/deg")
    assert made.volts == pytest.approx(180 / math.pi)
    assert made.numbers()[2].also == {"V/deg": pytest.approx(1.0)}
    whole = round(made.register)
    assert made.register != pytest.approx(whole)
    expected = be.convert.gain(firmware(), register=whole).torque
    assert f"{whole} gives {expected:.4g}" in made.lost[0]
    assert "whole" not in "".join(be.convert.gain(firmware(), register=32).lost)


def test_a_gain_through_a_current_loop():
    """Amperes carry the stiffness; what the gears lose of it is said."""
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=0.5, torque_constant=0.1, limits=be.motor.Limits(current=20.0)),
        gearbox=be.gearbox.Gearbox(ratio=9.0, efficiency=0.8),
        drive=be.drive.Impedance(newton_metres_per_radian=18.0, supply=48.0),
    )
    made = be.convert.gain(actuator)
    assert made.amperes == pytest.approx(18.0 / 0.9)
    assert made.torque == pytest.approx(0.8 * 18.0)
    assert made.saturation_error == pytest.approx(20.0 * 0.9 / 18.0)
    assert made.register is None
    assert be.convert.gain(actuator, torque=made.torque).amperes == pytest.approx(made.amperes)


def test_a_scale_of_ones_own():
    plain = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=2.2), drive=be.drive.Voltage(supply=15.0)
    )
    made = be.convert.gain(plain, register="32", firmware_gain="0.158 1/rad")
    assert made.torque == pytest.approx(1.1 * 5.056 * 15)
    assert be.convert.gain(plain, torque=made.torque, firmware_gain=0.158).register == pytest.approx(32)


# The constants of a motor.

R, K, V, I_0 = 1.25, 0.02, 12.0, 0.3
IDEAL = {
    "voltage": V,
    "resistance": R,
    "torque_constant": K,
    "back_emf_constant": K,
    "speed_constant": 1 / K,
    "stall_current": V / R,
    "stall_torque": K * V / R,
    "no_load_current": I_0,
    "no_load_speed": (V - R * I_0) / K,
    "friction": K * I_0,
}


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_any_few_constants_give_the_rest_or_say_that_they_do_not(n):
    """Of an ideal motor with drag whatever is determined is right, unless drag was taken as 0, which is said;
    what is not determined is listed."""
    whole = 0
    for names in itertools.combinations(IDEAL, n):
        made = be.convert.constants(**{name: IDEAL[name] for name in names})
        free = any("I_0 = 0" in text for text in made.assumptions)
        unknown = [name for name in IDEAL if getattr(made, name) is None]
        assert bool(made.lost) == bool(unknown)
        assert all(name.replace("_", " ") in made.lost[0] for name in unknown)
        if free:
            assert made.no_load_current == 0
            assert not {"no_load_current", "friction"} & {*names}, names
            continue
        assert not made.findings, names
        for name in set(IDEAL) - set(unknown):
            assert getattr(made, name) == pytest.approx(IDEAL[name]), (name, names)
        whole += not unknown
    # V, R, K and I_0 are four unknowns. Of the 210 sets of four, 99 have independent equations; in three of
    # them the drag is the small difference between stall torque and no-load speed, and is taken as 0 instead.
    assert whole == (96 if n == 4 else 0)


def test_drag_of_nothing():
    made = be.convert.constants(voltage=V, stall_torque=K * V / R, no_load_speed=V / K)
    assert (made.resistance, made.torque_constant) == pytest.approx((R, K))
    assert (made.no_load_current, made.friction, made.viscous_friction) == (0, 0, 0)
    assert made.formulas["no_load_current"] == "taken as 0"
    assert len(made.assumptions) == 3
    told = be.convert.constants(voltage=V, friction=0, no_load_speed=V / K)
    assert (told.no_load_current, told.back_emf_constant) == (0, pytest.approx(K))
    assert not any("I_0 = 0" in text for text in told.assumptions)


def test_what_follows_of_a_motor():
    made = be.convert.constants(
        **{k: IDEAL[k] for k in ("voltage", "resistance", "torque_constant", "friction")}
    )
    assert made.motor_constant == pytest.approx(K / math.sqrt(R))
    assert made.speed_torque_gradient == pytest.approx(R / K**2)
    assert made.back_emf_damping == pytest.approx(K**2 / R)
    assert made.greatest_power == pytest.approx(IDEAL["stall_torque"] * IDEAL["no_load_speed"] / 4)
    assert made.viscous_friction == pytest.approx(K * I_0 / IDEAL["no_load_speed"])
    assert made.output_stall_torque is None


def test_constants_behind_gears_and_given_there():
    inside = {k: IDEAL[k] for k in ("voltage", "stall_current", "no_load_current")}
    made = be.convert.constants(**{**inside, "torque_constant": K}, ratio=50, n_motors=3)
    assert made.output_stall_torque == pytest.approx(150 * IDEAL["stall_torque"])
    assert made.output_no_load_speed == pytest.approx(IDEAL["no_load_speed"] / 50)
    assert made.output_torque_constant == pytest.approx(150 * K)
    assert made.output_back_emf_constant == pytest.approx(50 * K)
    assert made.total_stall_current == pytest.approx(3 * V / R)
    outside = {"stall_torque": made.output_stall_torque, "no_load_speed": made.output_no_load_speed}
    back = be.convert.constants(**inside, **outside, ratio=50, n_motors=3, side="output")
    assert back.torque_constant == pytest.approx(K)
    assert back.back_emf_constant == pytest.approx(K)
    assert not back.findings
    powers = {"speed_constant": 1 / 50, "back_emf_constant": 50, "friction": 150, "torque_constant": 150}
    for name, n in powers.items():
        again = be.convert.constants(**{name: IDEAL[name] * n}, ratio=50, n_motors=3, side="output")
        assert getattr(again, name) == pytest.approx(IDEAL[name])


def test_wpilib_motors(shared_data):
    """WPILib's DCMotor has R = V / I_s, K_t = tau_s / I_s, K_v = w_0 / (V - R I_0)."""
    ratios = {}
    for m in json.loads((shared_data / "frc_motors.json").read_text(encoding="utf-8")):
        V, tau, I_s = m["nominal_voltage_V"], m["stall_torque_Nm"], m["stall_current_A"]
        I_0, w = m["free_current_A"], m["free_speed_rpm"] * math.pi / 30
        made = be.convert.constants(
            voltage=V,
            stall_torque=tau,
            stall_current=I_s,
            no_load_current=I_0,
            no_load_speed=f"{m['free_speed_rpm']} rpm",
        )
        assert made.resistance == pytest.approx(V / I_s)
        assert made.torque_constant == pytest.approx(tau / I_s)
        assert made.speed_constant == pytest.approx(w / (V - V / I_s * I_0))
        ratios[m["name"]] = made.constants_ratio
        assert bool(made.findings) == (abs(math.log(made.constants_ratio)) > 0.03)
    printed = {"CIM": 0.861, "NEO": 1.248, "Falcon500": 1.022}  # as servos' consistency checks list them
    for name, ratio in printed.items():
        assert ratios[name] == pytest.approx(ratio, abs=6e-4)
    assert min(ratios.values()) == pytest.approx(0.550, abs=6e-4)  # Romi


@pytest.mark.parametrize("name", ["maxon-re-25-118743", "maxon-re-40-24v", "faulhaber-1331t012sr"])
def test_catalogue_motors_hold_their_own_no_load_speed(name):
    """These makers compute it by the same equation; 1 % allows for their rounding of R, K and I_0."""
    sheet = be.Datasheet.read(name)
    given = {n: sheet.value(n) for n in ("resistance", "torque_constant", "no_load_current")}
    made = be.convert.constants(voltage=sheet.voltage, **given)
    assert made.no_load_speed == pytest.approx(sheet.value("no_load_speed"), rel=0.01)
    if sheet.value("speed_constant"):
        assert made.speed_constant == pytest.approx(sheet.value("speed_constant"), rel=0.01)


def test_the_entry_that_is_wrong_is_told():
    given = {n: IDEAL[n] for n in ("voltage", "resistance", "torque_constant", "speed_constant")}
    wrong = be.convert.constants(**{**given, "speed_constant": 1.5 / K})
    assert wrong.findings[0].numbers == pytest.approx({"torque_constant": 1.5, "speed_constant": 1.5})
    assert wrong.torque_constant == K
    assert wrong.constants_ratio == pytest.approx(1.5)
    assert not be.convert.constants(**{**given, "speed_constant": 1.02 / K}).findings


def test_constants_of_an_actuator():
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=R, torque_constant=K),
        gearbox=be.gearbox.Gearbox(ratio=-50.0, n_motors=2),
        friction=be.friction.Coulomb(coulomb=100 * K * I_0),
        drive=be.drive.Voltage(supply=V),
    )
    made = be.convert.constants_of(actuator)
    for name in SYMBOLS:
        assert getattr(made, name) == pytest.approx(IDEAL[name]), name
    assert made.output_no_load_speed == pytest.approx(steady.no_load_speed(actuator, V))


def test_sg90_article():
    """Its R, k_t and the corrected start of b."""
    given = {"stall_torque": "15 N cm", "stall_current": "600 mA", "no_load_current": "200 mA"}
    made = be.convert.constants(
        voltage="6 V", no_load_speed="0.66 deg/ms", ratio=55.5, side="output", **given
    )
    assert made.resistance == pytest.approx(10.0)
    assert made.viscous_friction == pytest.approx(1.409168e-6, rel=1e-6)


# Gains of a mechanism.

MOTOR = be.Actuator(
    motor=be.motor.Motor(resistance=0.1, torque_constant=0.02, back_emf_constant=0.018, rotor_inertia=2e-5),
    friction=be.friction.Coulomb(coulomb=0.03),
    drive=be.drive.Voltage(supply=12.0),
)


def test_gains_by_hand():
    """The gearbox equations, corrected: kS = R (tau_s / K_t + T_f / (n G K_t)), and so on."""
    n, G, J, T_f, b = 2, 10.0, 0.4, 0.5, 0.06
    made = be.convert.gains(MOTOR, ratio=G, n_motors=n, inertia=J, friction=T_f, viscous=b)
    amps = be.convert.gains(MOTOR, ratio=G, n_motors=n, inertia=J, friction=T_f, viscous=b, control="current")
    total = J + n * G**2 * 2e-5
    assert amps.kS == pytest.approx(0.03 / 0.02 + T_f / (n * G * 0.02))
    assert amps.kV == pytest.approx(b / (n * G * 0.02))
    assert amps.kA == pytest.approx(total / (n * G * 0.02))
    assert made.kS == pytest.approx(0.1 * amps.kS)
    assert made.kV == pytest.approx(G * 0.018 + 0.1 * amps.kV)
    assert made.kA == pytest.approx(0.1 * amps.kA)
    assert (made.inertia, made.time_constant) == pytest.approx((total, made.kA / made.kV))
    assert made.top_speed == pytest.approx((12.0 - made.kS) / made.kV)
    assert {x.name: x.unit for x in amps.numbers()}["kA"] == "A s^2/rad"
    assert "back-EMF" in {x.name: x.formula for x in amps.numbers()}["kV"]
    assert amps.top_speed is None


@pytest.mark.parametrize(("n", "G"), [(1, 1.0), (1, 50.0), (4, 10.0)])
def test_friction_of_the_motors_does_not_grow_with_the_gears(n, G):
    made = be.convert.gains(MOTOR, ratio=G, n_motors=n, inertia=1.0)
    assert made.kS == pytest.approx(0.1 * 0.03 / 0.02)


def test_gains_are_those_of_a_simulated_mechanism():
    made = be.convert.gains(MOTOR, ratio=10.0, n_motors=2, inertia=0.4, friction=0.5, viscous=0.06)
    geared = be.Actuator(
        motor=MOTOR.motor,
        gearbox=be.gearbox.Gearbox(ratio=10.0, n_motors=2),
        friction=be.friction.Coulomb(coulomb=2 * 10 * 0.03 + 0.5, viscous=0.06),
    )
    run = be.simulate(geared, be.bench.Flywheel(inertia=0.4), 6.0, duration=2.0, dt=1e-3)
    speed = (6.0 - made.kS) / made.kV
    after = speed * (1 - math.exp(-run.time[-1] * made.kV / made.kA))
    assert run.velocity[-1] == pytest.approx(
        after, rel=2e-3
    )  # steps of 1 ms against a time constant of 0.1 s


def test_an_elevator_and_an_arm_by_hand():
    lift = be.convert.gains(
        MOTOR, mechanism="elevator", ratio=8.0, n_motors=2, mass="12 kg", radius="2 in", friction="5 N"
    )
    r = 2 * 0.0254
    assert lift.kV == pytest.approx(8.0 * 0.018 / r)
    assert lift.kA == pytest.approx(0.1 * (12.0 + 2 * (8 / r) ** 2 * 2e-5) * r / (2 * 8.0 * 0.02))
    assert lift.kG == pytest.approx(0.1 * 12.0 * 9.80665 * r / (2 * 8.0 * 0.02))
    assert lift.kS == pytest.approx(0.1 * (0.03 / 0.02 + 5.0 * r / (2 * 8.0 * 0.02)))
    assert lift.top_speed == pytest.approx((12.0 - lift.kS - lift.kG) / lift.kV)
    assert {x.name: x.unit for x in lift.numbers()}["kV"] == "V s/m"
    drive = be.convert.gains(MOTOR, mechanism="drivetrain", ratio=8.0, n_motors=2, mass=12.0, radius=r)
    assert (drive.kA, drive.kG) == (pytest.approx(lift.kA), None)
    arm = be.convert.gains(MOTOR, mechanism="arm", ratio=60.0, mass=3.0, radius=0.4)
    assert arm.kG == pytest.approx(0.1 * 3.0 * 9.80665 * 0.4 / (60.0 * 0.02))
    assert arm.inertia == pytest.approx(3.0 * 0.16 + 60.0**2 * 2e-5)
    assert arm.top_speed == pytest.approx((12.0 - arm.kS) / arm.kV)  # gravity helps as often as it hinders
    known = be.convert.gains(MOTOR, mechanism="arm", ratio=60.0, mass=3.0, radius=0.4, inertia="0.6 kg m^2")
    assert known.inertia == pytest.approx(0.6 + 60.0**2 * 2e-5)
    assert known.kG == arm.kG


@pytest.mark.parametrize("control", ["voltage", "current"])
@pytest.mark.parametrize("mechanism", ["simple", "elevator", "arm", "drivetrain"])
def test_gains_and_back(control, mechanism):
    how = {"ratio": 8.0, "n_motors": 2, "control": control, "mechanism": mechanism, "radius": 0.3}
    made = be.convert.gains(MOTOR, **how, mass=12.0, friction=1.5, viscous=0.2)
    back = be.convert.load(MOTOR, **how, kS=made.kS, kV=made.kV, kA=made.kA, kG=made.kG)
    linear = mechanism in ("elevator", "drivetrain")
    assert back.load_inertia == pytest.approx(12.0 if linear else 12.0 * 0.09)
    assert (back.load_friction, back.viscous) == pytest.approx((1.5, 0.2))
    assert back.inertia == pytest.approx(made.inertia)
    assert back.mass == (pytest.approx(12.0) if mechanism in ("elevator", "arm") else None)
    assert not back.findings


def test_nothing_but_the_motors_leaves_nothing():
    for ratio in (3.0, 7.0, 8.1, 60.0):  # rounding differs
        made = be.convert.gains(MOTOR, ratio=ratio, n_motors=3, inertia=0.0)
        back = be.convert.load(MOTOR, ratio=ratio, n_motors=3, kS=made.kS, kV=made.kV, kA=made.kA)
        assert (back.load_inertia, back.load_friction) == (0, 0)
        assert not back.findings


def test_gains_that_no_such_motor_has():
    made = be.convert.gains(MOTOR, ratio=8.0, inertia=0.001)
    low = be.convert.load(MOTOR, ratio=8.0, kV=made.kV / (2 * math.pi), kA=made.kA / (2 * math.pi))
    assert codes(low) == ["kV_below_back_emf", "inertia_low"]
    assert low.findings[0].numbers["ratio"] == pytest.approx(1 / (2 * math.pi))


def test_the_gains_that_characterise_expects_are_these():
    same = {"ratio": 20.0, "inertia": 0.1, "n_motors": 2, "viscous": 0.05}
    expected = theoretical(MOTOR.motor, **same, motor_friction=0.03, output_friction=0.5)
    assert expected == pytest.approx(be.convert.gains(MOTOR, **same, friction=0.5).feedforward)
    turns = theoretical(MOTOR.motor, ratio=20.0, inertia=0.1, units="rotations")
    assert turns.kV == pytest.approx(2 * math.pi * 20 * 0.018)


# Isaac Lab.


def test_isaac_and_back():
    made = be.convert.isaac(firmware())
    assert made.viscous_friction == 0
    dragged = be.convert.isaac(
        be.Actuator(
            motor=firmware().motor,
            gearbox=firmware().gearbox,
            friction=be.friction.Coulomb(coulomb=0.2, viscous=0.3),
            drive=firmware(derivative=5.0, firmware_derivative_gain=0.003).drive,
        )
    )
    assert (dragged.friction, dragged.viscous_friction) == pytest.approx((0.2, 0.3))
    assert dragged.damping == pytest.approx(made.damping + 1.1 * 15 * 5 * 0.003)  # n N K_t / R x V_in H_D D
    assert made.saturation_effort == pytest.approx(2 * 100 * 0.011 * 13.5 / 2.0)
    assert made.velocity_limit == pytest.approx(13.5 / (100 * 0.011))
    assert made.stiffness == pytest.approx(be.convert.gain(firmware()).torque)
    assert made.damping == pytest.approx(made.saturation_effort / made.velocity_limit)
    assert made.armature == pytest.approx(2 * 100**2 * 1e-5)
    line = {"saturation_effort": made.saturation_effort, "velocity_limit": made.velocity_limit}
    back = be.convert.from_isaac(
        **line, stiffness=made.stiffness, damping=made.damping + 1.1, voltage=13.5, ratio=100, n_motors=2
    )
    assert (back.resistance, back.torque_constant) == pytest.approx((2.0, 0.011))
    assert back.volts_per_radian == pytest.approx(5.056 * 15)
    assert back.volt_seconds_per_radian == pytest.approx(1.0)  # 1.1 N m s/rad over n N K / R = 1.1 N m/V
    assert (back.stall_current, back.speed_constant) == pytest.approx((6.75, 1 / 0.011))
    limited = be.convert.from_isaac(**line, effort_limit=made.saturation_effort / 2, voltage=13.5, ratio=100)
    assert limited.current_limit == pytest.approx(limited.stall_current / 2)


@pytest.mark.parametrize("voltage", [1.0, 24.0])
def test_whatever_the_voltage_the_line_is_the_same(voltage):
    back = be.convert.from_isaac(saturation_effort="23.7 N m", velocity_limit="30.1 rad/s", voltage=voltage)
    line = steady.Line(back.resistance, back.torque_constant, back.torque_constant, voltage)
    assert (line.stall_torque, line.ideal_speed) == pytest.approx((23.7, 30.1))
    assert back.back_emf_damping == pytest.approx(line.damping)


def test_isaac_says_what_a_voltage_loop_cannot():
    back = be.convert.from_isaac(saturation_effort=23.7, velocity_limit=30.1, damping=0.5)
    assert back.volt_seconds_per_radian is None
    assert "a current loop can" in back.lost[1]
    made = be.convert.isaac(firmware(), voltage="6 V")
    assert made.dcmotor == 'nominal="1 6.6 5.45455" saturation="6.6" ctrlrange="-1 1"'


# What every answer has.


def test_an_answer_says_its_numbers_units_and_formulas():
    made = be.convert.constants(speed_constant="300 rpm/V")
    assert repr(made).startswith("Constants(torque_constant=0.031831 N m/A, back_emf_constant=")
    assert "300 rpm/V" in str(made)
    row = made.to_dict()["numbers"]["speed_constant"]
    assert (row["value"], row["unit"], row["given"]) == (pytest.approx(10 * math.pi), "rad/(s V)", True)
    assert row["also"] == {"rpm/V": pytest.approx(300.0)}


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: be.convert.gain(firmware(), volts="3 V"), InvalidValue, "has no angle in it"),
        (lambda: be.convert.gain(firmware(), volts=1, torque=1), InvalidValue, "volts and torque are given"),
        (lambda: be.convert.gain(firmware(), of="P"), UnknownName, "unknown gain 'P'"),
        (lambda: be.convert.gain(firmware(), of="derivative"), MissingValue, "has no derivative gain"),
        (lambda: be.convert.gain(firmware(), register=-1), InvalidValue, "expected 0 or more"),
        (lambda: be.convert.gain(MOTOR), MissingValue, "no gain of its own on position"),
        (lambda: be.convert.gain(MOTOR, register=4), MissingValue, "what one count of P does is not known"),
        (
            lambda: be.convert.gain(be.Actuator(motor=MOTOR.motor), duty=4),
            MissingValue,
            "duty needs the supply voltage",
        ),
        (lambda: be.convert.servo(**SHEET), MissingValue, "volts_per_radian is missing"),
        (
            lambda: be.convert.servo(volts_per_radian=1, voltage=12),
            MissingValue,
            "do not determine R and K_t",
        ),
        (lambda: be.convert.servo(volts_per_radian=1, ratio=2), UnknownName, "unknown sheet number 'ratio'"),
        (lambda: be.convert.constants(), MissingValue, "no constant is given"),
        (
            lambda: be.convert.constants(resistance=0),
            InvalidValue,
            "resistance is 0 ohm; expected more than 0",
        ),
        (lambda: be.convert.constants(resistance=1, side="left"), UnknownName, "unknown side"),
        (lambda: be.convert.constants(resistance=1, ratio=0), InvalidValue, "ratio is 0"),
        (lambda: be.convert.constants(resistance=math.nan), InvalidValue, "expected a finite number in ohm"),
        (lambda: be.convert.gains(MOTOR), MissingValue, "inertia is missing"),
        (lambda: be.convert.gains(MOTOR, inertia=1, ratio=0), InvalidValue, "a ratio other than 0"),
        (lambda: be.convert.gains(MOTOR, mechanism="arm", inertia=1), MissingValue, "needs mass and radius"),
        (lambda: be.convert.gains(MOTOR, mechanism="elevator", mass=1), MissingValue, "radius is missing"),
        (lambda: be.convert.gains(MOTOR, mechanism="elevator", radius=1), MissingValue, "mass is missing"),
        (
            lambda: be.convert.gains(MOTOR, mechanism="elevator", radius=1, mass=1, inertia=1),
            InvalidValue,
            "an elevator moves a mass",
        ),
        (lambda: be.convert.gains(MOTOR, inertia=1, control="duty"), UnknownName, "unknown control"),
        (lambda: be.convert.gains(MOTOR, inertia=1, mechanism="leg"), UnknownName, "unknown mechanism"),
        (lambda: be.convert.load(MOTOR, kV=1, kA=0), InvalidValue, "kA is 0 V s^2/rad; expected more than 0"),
        (lambda: be.convert.isaac(be.Actuator(motor=MOTOR.motor)), MissingValue, "voltage is missing"),
        (
            lambda: be.convert.from_isaac(saturation_effort=1, velocity_limit=1, ratio=0),
            InvalidValue,
            "expected not 0, and at least 1",
        ),
        (
            lambda: be.convert.from_isaac(saturation_effort=1, velocity_limit=1e308, voltage=1e-300),
            InvalidValue,
            "beyond what can be computed; check their units",
        ),
    ],
)
def test_errors_say_what_was_given_and_expected(call, kind, text):
    with pytest.raises(kind, match="^.*" + text.replace("^", r"\^")) as raised:
        call()
    assert isinstance(raised.value, BackemfError)


def test_a_loss_in_the_gears_is_said_where_there_is_one():
    plain = be.Actuator.read("mx-106/m1")
    lossy = replace(plain, gearbox=replace(plain.gearbox, efficiency=0.7))
    assert not any("eta" in text for text in be.convert.servo(plain).assumptions)
    (said,) = [text for text in be.convert.servo(lossy).assumptions if "eta" in text]
    assert "0.7" in said
