"""What each small effect must give, in numbers worked out by hand: one sign or factor wrong, and one of these
fails."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.physics import native
from backemf.physics.actuator import over
from backemf.physics.joint_law import JointLaw
from backemf.physics.steady import (
    Line,
    armature,
    continuous_current,
    damping_ratio,
    electrical_torque,
    iron_drag,
    line,
    natural_frequency,
    net_torque,
    no_load_speed,
    stall_torque,
    torque_limit,
    torque_loop,
)

from .variants import FRICTIONS

LIMITS = be.motor.Limits(
    continuous_current=2.0,
    peak_current=6.0,
    peak_time=0.5,
    safe_current=1.0,
    derating_start=40.0,
    derating_end=80.0,
)


@pytest.mark.parametrize(
    ("T", "share"), [(20, 1.0), (40, 1.0), (50, 0.84375), (60, 0.5), (70, 0.15625), (90, 0.0)]
)
def test_derating_falls_smoothly_from_rated_to_safe(T, share):
    """1 - x^2 (3 - 2 x) between the two temperatures."""
    assert LIMITS.ceiling(float(T), 0.0) == pytest.approx(1.0 + 5.0 * share)
    low = be.motor.Limits(current=0.5, safe_current=1.0, derating_start=40.0, derating_end=80.0)
    assert low.ceiling(90.0, None) == 0.5  # a safe current above the rated one raises nothing


def test_the_peak_budget_is_used_and_recovers():
    used = LIMITS.overload_after(0.0, 36.0, 0.25)  # half of the peak time at the peak current
    assert used == pytest.approx(0.5)
    # the continuous current neither uses it
    assert LIMITS.overload_after(used, 4.0, 10.0) == pytest.approx(used)
    back = LIMITS.overload_after(used, 0.0, 1.0)  # nor, without current, does it stay used
    assert back == pytest.approx(0.5 - 4.0 / ((36.0 - 4.0) * 0.5))
    assert LIMITS.ceiling(20.0, 0.99) == pytest.approx(2.0 + 4.0 * 0.5)  # the last 2 % fade
    assert LIMITS.ceiling(20.0, 1.0) == 2.0


def test_a_current_under_a_limit_runs_on_a_straight_line():
    motor = be.motor.Motor(
        resistance=1.0, torque_constant=0.1, inductance=1e-3, limits=be.motor.Limits(current_rate=100.0)
    )
    c = motor.current_over(1.0, 12.0, 0.0, None, None, 0.02)  # wants 12 A, may rise by 2
    assert c.end == pytest.approx(3.0)
    t = np.linspace(0, 1, 100001)
    assert c.mean == pytest.approx(2.0)
    assert c.square == pytest.approx(np.trapezoid((1.0 + 2.0 * t) ** 2, t))
    free = be.motor.Motor(resistance=1.0, torque_constant=0.1, inductance=1e-3)
    c = free.current_over(1.0, 12.0, 0.0, None, None, 2e-3)
    i = 12.0 + (1.0 - 12.0) * np.exp(-2.0 * t)
    assert (c.mean, c.end, c.square) == pytest.approx(
        (np.trapezoid(i, t), i[-1], np.trapezoid(i * i, t)), rel=1e-8
    )


def test_asymmetry_is_more_in_the_positive_direction():
    friction = be.friction.Coulomb(coulomb=0.5, asymmetry=0.2)
    assert friction.level(0.0, 0.0, 0.0, 1.0) == pytest.approx(0.6)
    assert friction.level(0.0, 0.0, 0.0, -1.0) == pytest.approx(0.4)
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=1e-3), friction=friction
    )
    moved = [
        abs(be.simulate(actuator, be.bench.FreeShaft(), v, duration=0.5).position[-1]) for v in (0.5, -0.5)
    ]
    assert moved[0] == 0.0
    assert moved[1] > 0.03


def test_iron_heats_the_motor_at_the_rotor_speed():
    """K_fe (N w)^2 for each motor: in its temperature, in the energy book, and as drag at the output."""
    thermal = be.motor.Thermal(resistance=1e6, capacitance=2.0, ambient=20.0)
    motor = be.motor.Motor(
        resistance=1.0, torque_constant=0.1, rotor_inertia=1e-5, iron_loss=1e-4, thermal=thermal
    )
    actuator = be.Actuator(
        motor=motor, gearbox=be.gearbox.Gearbox(ratio=10.0, n_motors=3), drive=be.drive.Off()
    )
    bench, state = be.bench.Flywheel(inertia=1e3), actuator.initial_state(velocity=5.0)
    h, power = 0.01, 1e-4 * 50.0**2
    t = over(actuator, bench, state, {}, 5.0, h)
    assert t.hidden["winding_temperature"] == pytest.approx(20.0 + power * h / 2.0, rel=1e-9)
    assert t.loads.motor == pytest.approx(-3 * 10.0 * 1e-4 * 50.0)
    assert iron_drag(actuator) == pytest.approx(3 * 100.0 * 1e-4)
    run = be.simulate(actuator, bench, duration=0.1, start={"velocity": 5.0}, energy=True)
    assert run.energy["iron"][-1] == pytest.approx(3 * power * 0.1, rel=1e-3)


def test_one_node_loses_what_its_warmth_drives_out():
    one = be.motor.Thermal(resistance=2.0, capacitance=3.0, ambient=20.0)
    (T,) = one.advance((20.0,), 4.0, 3.0, 1e9)
    assert pytest.approx(20.0 + 2.0 * 7.0) == T
    assert (one.leaving((T,)), one.stored_heat((T,))) == pytest.approx((7.0, 3.0 * 14.0))


def test_two_nodes_have_their_own_capacitances():
    two = be.motor.TwoNodeThermal(
        winding_resistance=2.0, housing_resistance=4.0, winding_capacitance=3.0, housing_capacitance=50.0
    )
    w, h = two.advance((25.0, 25.0), 6.0, 5.0, 1e-3)
    assert (w - 25.0, h - 25.0) == pytest.approx((6.0 / 3.0 * 1e-3, 5.0 / 50.0 * 1e-3), rel=1e-3)
    settled = two.advance((25.0, 25.0), 6.0, 5.0, 1e9)
    T = (25.0, 25.0)
    for _ in range(4000):
        T = two.advance(T, 6.0, 5.0, 1.0)
    assert pytest.approx((25.0 + 4.0 * 11.0 + 2.0 * 6.0, 25.0 + 4.0 * 11.0), rel=1e-6) == T
    assert np.isfinite(settled).all()
    assert two.stored_heat(T) == pytest.approx(3.0 * 56.0 + 50.0 * 44.0)
    assert two.leaving(T) == pytest.approx(11.0)
    one = two.one_node()
    assert (one.total_resistance, one.capacitance) == (two.total_resistance, 3.0) == (6.0, 3.0)
    assert two.time_constants == {"winding": 6.0, "housing": 200.0}


def test_a_deadband_is_taken_off_both_ways():
    drive = be.drive.Position(volts_per_radian=10.0, deadband=0.1)
    assert [float(drive.error(e)) for e in (-0.3, -0.1, -0.05, 0.0, 0.05, 0.1, 0.3)] == pytest.approx(
        [-0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2]
    )


def test_an_integral_is_forgotten_while_off_and_frozen_at_the_limit():
    drive = be.drive.Position(
        volts_per_radian=10.0,
        volts_per_radian_second=5.0,
        supply=6.0,
        freeze_when_saturated=True,
        integral_limit=0.5,
    )
    assert drive.integrate(0.2, 0.1, 1.0, {}, 0.5) == pytest.approx(0.25)
    assert drive.integrate(0.2, 0.1, 1.0, {"enabled": 1.0}, 0.5) == pytest.approx(0.25)
    assert drive.integrate(0.2, 0.1, 1.0, {"enabled": 0.0}, 0.5) == 0.0
    assert drive.integrate(0.2, 0.1, 6.0, {}, 0.5) == pytest.approx(0.2)  # at the limit, pushing further
    assert drive.integrate(0.2, -0.1, 6.0, {}, 0.5) == pytest.approx(0.15)  # at the limit, coming back
    assert drive.integrate(0.2, -0.1, -6.0, {}, 0.5) == pytest.approx(0.2)
    assert drive.integrate(0.4, 1.0, 1.0, {}, 0.5) == 0.5
    assert drive.integrate(-0.4, -1.0, -1.0, {}, 0.5) == -0.5


def test_the_loop_of_a_servo_in_volts():
    servo = be.drive.Servo(
        firmware_gain=0.1,
        proportional=8.0,
        integral=2.0,
        firmware_integral_gain=0.03,
        derivative=4.0,
        firmware_derivative_gain=0.005,
        supply=12.0,
    )
    assert servo.loop[2:] == pytest.approx((9.6, 0.72, 0.24))
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=1e-5),
        gearbox=be.gearbox.Gearbox(ratio=100.0, n_motors=2, efficiency=0.5),
        friction=be.friction.M4(
            coulomb=0.1, static=0.2, stribeck_velocity=0.1, load=0.1, load_stribeck=0.1, viscous=0.3
        ),
        drive=servo,
    )
    per_volt, emf = 2 * 100 * 0.02 / 2.0, 2 * 100**2 * 0.02**2 / 2.0
    assert torque_loop(actuator) == pytest.approx((9.6 * per_volt, 0.72 * per_volt, 0.24 * per_volt))
    plain = JointLaw.of(actuator, load=0.0)
    assert (plain.stiffness, plain.damping) == pytest.approx((0.5 * 9.6 * per_volt, 0.5 * 0.24 * per_volt))
    assert (plain.drag, plain.friction, plain.armature) == pytest.approx((emf + 0.3, 0.1, 2 * 100**2 * 1e-5))
    assert plain.effort_limit == pytest.approx(0.5 * 12.0 * per_volt)
    assert plain.gain == 0.0
    spun = be.Actuator(
        motor=actuator.motor,
        gearbox=actuator.gearbox,
        drive=be.drive.Velocity(volt_seconds_per_radian=3.0, volts_per_radian=7.0),
    )
    assert torque_loop(spun) == pytest.approx((7.0 * per_volt, 0.0, 3.0 * per_volt))
    assert torque_loop(be.Actuator(motor=actuator.motor)) is None
    assert natural_frequency(8.0, 0.5) == 4.0
    assert damping_ratio(8.0, 2.0, 0.5) == pytest.approx(0.5)


def test_a_law_that_asks_for_a_current_hides_the_back_emf():
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.5, back_emf_constant=0.45, iron_loss=0.01)
    for drive, gain, damping in (
        (be.drive.Voltage(), 0.25, 0.5 * 0.45 / 2.0 + 0.01),
        (be.drive.Current(), 0.5, 0.01),
        (be.drive.Impedance(), 1.0, 0.01),
    ):
        plain = JointLaw.of(be.Actuator(motor=motor, drive=drive))
        assert (plain.gain, plain.drag, plain.effort_limit) == pytest.approx((gain, damping, 0.0))
    turned = be.Actuator(motor=motor, gearbox=be.gearbox.Gearbox(ratio=-4.0))
    assert JointLaw.of(turned).gain == pytest.approx(-1.0)


def test_a_line_in_the_letters_of_a_sheet():
    """R 2 ohm, K_t 0.02 N m/A, K_e 0.025 V s/rad at 12 V, 3 mN m dry, 1e-5 N m s/rad viscous."""
    at = Line(2.0, 0.02, 0.025, 12.0, 3e-3, 1e-5)
    w0 = (0.12 - 3e-3) / (2.5e-4 + 1e-5)
    i0 = (3e-3 + 1e-5 * w0) / 0.02
    assert (at.stall_current, at.stall_torque, at.ideal_speed) == pytest.approx((6.0, 0.12, 480.0))
    assert (at.no_load_speed, at.no_load_current) == pytest.approx((w0, i0))
    assert at.gradient == pytest.approx(2.0 / (0.02 * 0.025))
    assert at.time_constant(3e-6) == pytest.approx(3e-6 * 4000.0)
    assert at.speed_at(1.5) == pytest.approx((12.0 - 3.0) / 0.025)
    assert at.shaft_torque_at(1.5) == pytest.approx(0.03 - 3e-3 - 1e-5 * w0)
    assert at.best_efficiency == pytest.approx((1 - math.sqrt(i0 * 2.0 / 12.0)) ** 2)
    assert at._replace(dry=0.2).no_load_speed == 0.0
    w = np.linspace(0, 600, 20001)
    dry = Line(2.0, 0.02, 0.02, 12.0, 3e-3)
    i = (12.0 - 0.02 * w) / 2.0
    share = (0.02 * i - 3e-3) * w / np.maximum(12.0 * i, 1e-9)
    assert dry.best_efficiency == pytest.approx(share.max(), rel=1e-6)
    out = at.behind_gears(-50.0, 2)
    assert out == pytest.approx((2.0, 2.0, 1.25, 12.0, 0.3, 2 * 2500 * 1e-5))


@pytest.mark.parametrize("name", FRICTIONS)
@pytest.mark.parametrize("efficiency", [None, 0.7])
def test_the_steady_state_is_where_the_simulation_ends(name, efficiency):
    """The speed at which nothing is left, and the torque left while a load is lifted or lowered."""
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.05, rotor_inertia=1e-5, iron_loss=1e-6),
        gearbox=be.gearbox.Gearbox(ratio=20.0, efficiency=efficiency),
        friction=FRICTIONS[name],
    )
    free = be.simulate(actuator, be.bench.Flywheel(inertia=1e-3), 8.0, duration=4.0, dt=0.01, tolerance=1e-3)
    assert no_load_speed(actuator, 8.0) == pytest.approx(free.velocity[-1], rel=1e-6)
    assert float(net_torque(actuator, 8.0, free.velocity[-1])) == pytest.approx(0.0, abs=1e-6)
    for weight in (1.0, -1.0):  # lifted against the motor, then pushing with it
        lift = be.bench.Elevator(
            mass=abs(weight) / 9.81 / 0.1,
            drum_radius=0.1,
            incline=math.copysign(math.pi / 2, weight),
            gravity=9.81,
        )
        run = be.simulate(actuator, lift, 8.0, duration=6.0, dt=0.01, tolerance=1e-3)
        assert float(net_torque(actuator, 8.0, run.velocity[-1])) == pytest.approx(weight, rel=1e-5)


def test_stall_is_after_friction_and_gears():
    friction = be.friction.M3(coulomb=0.1, load=0.2)
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.5),
        friction=friction,
        gearbox=be.gearbox.Gearbox(ratio=4.0, efficiency=0.9),
    )
    tau = 4.0 * 0.5 * 6.0 / 2.0
    assert float(electrical_torque(actuator, 6.0, 0.0)) == tau
    # net = 0.9 tau - 0.1 - 0.2 (tau + net)
    assert stall_torque(actuator, 6.0) == pytest.approx((0.9 * tau - 0.1 - 0.2 * tau) / 1.2)
    assert line(actuator, 6.0).stall_torque == tau
    turned = be.Actuator(motor=actuator.motor, friction=friction, gearbox=be.gearbox.Gearbox(ratio=-4.0))
    straight = be.Actuator(motor=actuator.motor, friction=friction, gearbox=be.gearbox.Gearbox(ratio=4.0))
    assert stall_torque(turned, 6.0) == stall_torque(straight, 6.0) > 0
    assert no_load_speed(turned, 6.0) == no_load_speed(straight, 6.0) > 0


def test_the_smallest_of_the_limits_holds():
    motor = {"resistance": 2.0, "torque_constant": 0.5}
    for limits, volts, most in (
        (None, 8.0, 4.0 * 0.5 * 4.0),
        (be.motor.Limits(current=3.0), 8.0, 4.0 * 1.5),
        (be.motor.Limits(current=30.0), 8.0, 4.0 * 0.5 * 4.0),
        (be.motor.Limits(torque=0.7, current=3.0), 8.0, 4.0 * 0.7),
        (be.motor.Limits(continuous_current=1.0, peak_current=2.0, peak_time=1.0), 8.0, 4.0 * 1.0),
        (None, None, None),
    ):
        actuator = be.Actuator(
            motor=be.motor.Motor(**motor, limits=limits),
            gearbox=be.gearbox.Gearbox(ratio=-4.0),
            drive=be.drive.Position(volts_per_radian=1.0, voltage_limit=volts),
        )
        assert torque_limit(actuator) == (most if most is None else pytest.approx(most))
        assert armature(actuator) == 0.0


def test_what_a_winding_carries_for_ever():
    thermal = be.motor.Thermal(resistance=8.0, capacitance=1.0, ambient=25.0, reference=25.0)
    actuator = be.Actuator(motor=be.motor.Motor(resistance=2.0, torque_constant=0.1, thermal=thermal))
    hot = 2.0 * (1.0 + 0.00393 * 75.0)
    assert continuous_current(actuator, 100.0) == pytest.approx(math.sqrt(75.0 / (8.0 * hot)))


def test_n_motors_on_a_shaft_are_one_of_the_same_effect():
    """Everything a motor can have, three times on one gear, against its stand-in."""
    motor = be.motor.Motor(
        resistance=1.2,
        torque_constant=0.05,
        back_emf_constant=0.052,
        rotor_inertia=4e-6,
        inductance=6e-4,
        saturation_current=6.0,
        iron_loss=2e-6,
        limits=be.motor.Limits(
            current=5.0,
            torque=0.24,
            current_rate=4000.0,
            continuous_current=2.0,
            peak_current=4.5,
            peak_time=0.2,
            safe_current=0.5,
            derating_start=30.0,
            derating_end=60.0,
        ),
        thermal=be.motor.TwoNodeThermal(
            winding_resistance=2.0, housing_resistance=6.0, winding_capacitance=1.0, housing_capacitance=30.0
        ),
        cogging=be.motor.Cogging(amplitude=2e-3, periods=12.0, phase=0.3),
    )
    runs = []
    for m, n in ((motor, 3), (motor.in_parallel(3), 1)):
        actuator = be.Actuator(
            motor=m,
            gearbox=be.gearbox.Gearbox(ratio=5.0, n_motors=n),
            friction=FRICTIONS["coulomb"],
            drive=be.drive.Position(volts_per_radian=40.0, supply=12.0),
        )
        runs.append(
            be.simulate(
                actuator,
                be.bench.Flywheel(inertia=0.02),
                be.signal.square(1.0, 1.0),
                duration=2.0,
                substeps=4,
            )
        )
    np.testing.assert_allclose(runs[1].position, runs[0].position, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(runs[1].temperature, runs[0].temperature, rtol=1e-9)
    np.testing.assert_allclose(runs[1].current, 3.0 * runs[0].current, rtol=1e-8, atol=1e-9)
    assert motor.in_parallel(1) is motor


def test_gears_pass_on_their_share_whichever_way_power_flows():
    """J_load a = k T - other with T = tau - J_rotor a: checked by putting the answer back."""
    gearbox = be.gearbox.Gearbox(ratio=2.0, efficiency=0.7)
    for tau, other, direction in ((3.0, 1.0, 1.0), (-3.0, -1.0, 1.0), (0.5, 2.0, 1.0), (0.5, 2.0, -1.0)):
        loss = gearbox.loss(tau, other, 0.2, 0.5, direction)
        a = (tau - other - direction * loss) / 0.7
        T = tau - 0.2 * a
        k = 0.7 if T * direction > 0 else 1 / 0.7
        assert 0.5 * a == pytest.approx(k * T - other)
        assert loss >= 0


def test_a_step_that_was_taken_says_what_happened():
    """The record of a step agrees with the state it ends in, with play and without."""
    for play in ({}, {"backlash": 0.02, "contact_stiffness": 300.0}):
        actuator = be.Actuator(
            motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
            gearbox=be.gearbox.Gearbox(ratio=2.0, **play),
            friction=FRICTIONS["stribeck"],
        )
        state = actuator.initial_state(
            position=0.1, velocity=2.0, **({"rotor_velocity": 2.5} if play else {})
        )
        taken = native.step(actuator, be.bench.Flywheel(inertia=0.01), state, {"voltage_target": 3.0}, 1e-3)
        assert taken.state["position"] == pytest.approx(0.1 + 1e-3 * float(taken.w))
        if play:
            assert taken.state["rotor_position"] == pytest.approx(0.1 + 1e-3 * float(taken.w_rotor))
            assert taken.w_rotor != taken.w
        else:
            assert taken.w_rotor == taken.w
