"""Laws of physics that every simulation must obey."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.physics.steady import Line, no_load_speed

from .variants import BENCHES, FRICTIONS, GEARED, RICH

R, K, J = 2.0, 0.05, 1e-4
MOTOR = be.motor.Motor(resistance=R, torque_constant=K, rotor_inertia=J)


def run(motor=MOTOR, bench=None, command=6.0, friction=None, gearbox=None, drive=None, **more):
    actuator = be.Actuator(
        motor=motor,
        gearbox=gearbox or be.gearbox.Gearbox(),
        friction=friction or be.friction.Viscous(),
        drive=drive or be.drive.Voltage(),
    )
    return be.simulate(actuator, bench or be.bench.FreeShaft(), command, **more)


def test_stall_torque_is_k_v_over_r():
    t = run(bench=be.bench.Locked(), duration=0.01)
    assert t.torque[-1] == pytest.approx(K * 6.0 / R, rel=1e-14)
    assert Line(R, K, K, 6.0).stall_torque == pytest.approx(K * 6.0 / R, rel=1e-14)
    assert np.all(t.velocity == 0)


def test_no_load_speed_with_coulomb_viscous_and_iron_drag():
    B, tau_c, K_fe = 1e-4, 2e-3, 5e-5
    motor = be.motor.Motor(resistance=R, torque_constant=K, rotor_inertia=J, iron_loss=K_fe)
    t = run(motor=motor, friction=be.friction.Coulomb(coulomb=tau_c, viscous=B), duration=3.0)
    expected = (K * 6.0 / R - tau_c) / (K * K / R + B + K_fe)
    assert t.velocity[-1] == pytest.approx(expected, rel=1e-9)
    assert no_load_speed(
        be.Actuator(motor=motor, friction=be.friction.Coulomb(coulomb=tau_c, viscous=B)), 6.0
    ) == pytest.approx(expected, rel=1e-12)
    # With viscous drag alone it is MuJoCo's DC-motor note's v K / (K^2 + R B); MuJoCo's DC-motor note's
    # equation 5 gives the current there.
    assert Line(R, K, K, 6.0, viscous=B).no_load_speed == pytest.approx(6.0 * K / (K * K + R * B), rel=1e-12)
    assert K * t.current[-1] == pytest.approx(tau_c + (B + K_fe) * t.velocity[-1], rel=1e-9)


def test_torque_speed_gradient_is_minus_r_over_k_squared():
    speeds = []
    for load in (0.0, 0.05):
        t = run(
            bench=be.bench.Recorded(),
            command={"voltage_target": 6.0, "inertia": 1e-4, "load": -load},
            duration=5.0,
        )
        speeds.append(t.velocity[-1])
    assert (speeds[1] - speeds[0]) / 0.05 == pytest.approx(-R / K**2, rel=1e-9)


def test_envelope_with_current_limit_is_a_parallelogram():
    motor = be.motor.Motor(
        resistance=R, torque_constant=K, rotor_inertia=J, limits=be.motor.Limits(current=1.5)
    )
    w = np.linspace(-200, 200, 41)
    for v in (6.0, -6.0):
        tau = motor.torque_at(motor.steady_current(v, w, None, motor.ceiling(None, None)), None)
        assert tau == pytest.approx(np.clip(K / R * (v - K * w), -K * 1.5, K * 1.5), rel=1e-14)


def test_torque_limit_leaves_current_and_heating_alone():
    thermal = be.motor.Thermal(resistance=5.0, capacitance=2.0, resistance_coefficient=0.0)
    motor = be.motor.Motor(
        resistance=R, torque_constant=K, limits=be.motor.Limits(torque=0.02), rotor_inertia=J, thermal=thermal
    )
    t = run(motor=motor, bench=be.bench.Locked(), duration=10.0, dt=0.1)
    assert t.current[-1] == pytest.approx(3.0)
    assert t.torque[-1] == pytest.approx(0.02)
    assert t.temperature[-1] - 25.0 == pytest.approx(5.0 * R * 3.0**2 * (1 - math.exp(-1)), rel=1e-9)


def test_mechanical_time_constant():
    t_m = R * J / K**2
    t = run(duration=t_m, dt=t_m / 100)
    assert t.velocity[-1] / (6.0 / K) == pytest.approx(1 - math.exp(-1), rel=1e-6)


def test_electrical_time_constant():
    L = 1e-3
    motor = be.motor.Motor(resistance=R, torque_constant=K, rotor_inertia=J, inductance=L)
    t = run(motor=motor, bench=be.bench.Locked(), duration=L / R, dt=L / R)
    assert t.current[-1] == pytest.approx(3.0 * (1 - math.exp(-1)), rel=1e-14)


def test_current_rate_limit_bounds_the_torque_ramp():
    motor = be.motor.Motor(
        resistance=R,
        torque_constant=K,
        rotor_inertia=J,
        inductance=1e-3,
        limits=be.motor.Limits(current_rate=500.0),
    )
    t = run(motor=motor, bench=be.bench.Locked(), duration=0.004, dt=0.001)
    assert t.current == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0], rel=1e-12)


def test_thermal_rise_to_ambient_plus_r_p_with_63_percent_at_its_time_constant():
    thermal = be.motor.Thermal(resistance=5.0, capacitance=20.0, resistance_coefficient=0.0, ambient=22.0)
    motor = be.motor.Motor(resistance=R, torque_constant=K, thermal=thermal, rotor_inertia=J)
    P = R * 3.0**2
    t = run(motor=motor, bench=be.bench.Locked(), duration=1000.0, dt=1.0)
    assert t.temperature[100] - 22.0 == pytest.approx(5.0 * P * (1 - math.exp(-1)), rel=1e-9)
    assert t.temperature[-1] == pytest.approx(22.0 + 5.0 * P, rel=1e-4)


def test_resistance_rises_with_temperature_and_lowers_the_torque():
    thermal = be.motor.Thermal(resistance=2.0, capacitance=10.0)
    motor = be.motor.Motor(resistance=R, torque_constant=K, thermal=thermal, rotor_inertia=J)
    t = run(motor=motor, bench=be.bench.Locked(), duration=600.0, dt=1.0)
    hot = R * (1 + 0.00393 * (t.temperature[-1] - 25.0))
    assert t.torque[-1] == pytest.approx(K * 6.0 / hot, rel=1e-12)
    assert t.temperature[-1] - 25.0 == pytest.approx(2.0 * 36.0 / hot, rel=1e-6)


def test_magnets_weaken_with_temperature():
    thermal = be.motor.Thermal(
        resistance=2.0, capacitance=10.0, magnet_coefficient=-0.002, resistance_coefficient=0.0
    )
    motor = be.motor.Motor(resistance=R, torque_constant=K, thermal=thermal, rotor_inertia=J)
    t = run(motor=motor, bench=be.bench.Locked(), duration=600.0, dt=1.0)
    assert t.torque[-1] == pytest.approx(K * (1 - 0.002 * 36.0) * 3.0, rel=1e-6)


def test_two_thermal_nodes_reach_their_steady_state_and_keep_the_heat():
    thermal = be.motor.TwoNodeThermal(
        winding_resistance=2.0,
        housing_resistance=6.0,
        winding_capacitance=3.0,
        housing_capacitance=30.0,
        resistance_coefficient=0.0,
    )
    motor = be.motor.Motor(resistance=R, torque_constant=K, thermal=thermal, rotor_inertia=J)
    t = run(motor=motor, bench=be.bench.Locked(), duration=3000.0, dt=1.0, energy=True)
    P = 18.0
    assert t["winding_temperature"][-1] == pytest.approx(25.0 + 8.0 * P, rel=1e-5)
    assert t["housing_temperature"][-1] == pytest.approx(25.0 + 6.0 * P, rel=1e-5)
    held = thermal.stored_heat((t["winding_temperature"], t["housing_temperature"]))
    leaving = thermal.leaving((None, t["housing_temperature"]))
    gone = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t.time) * (leaving[1:] + leaving[:-1]))])
    assert held + gone == pytest.approx(t.energy["copper"], rel=1e-3, abs=1.0)


def test_thermal_derating_lowers_the_current_to_its_safe_value():
    motor = be.motor.Motor(
        resistance=R,
        torque_constant=K,
        rotor_inertia=J,
        thermal=be.motor.Thermal(resistance=20.0, capacitance=1.0),
        limits=be.motor.Limits(current=3.0, safe_current=0.5, derating_start=60.0, derating_end=100.0),
    )
    assert motor.ceiling(60.0, None) == 3.0
    assert motor.ceiling(80.0, None) == pytest.approx(1.75)
    assert motor.ceiling(100.0, None) == 0.5
    t = run(motor=motor, bench=be.bench.Locked(), duration=300.0, dt=0.1, substeps=1)
    assert 60.0 < t.temperature[-1] < 100.0
    assert t.current[-1] == pytest.approx(motor.ceiling(t.temperature[-1], None), rel=1e-9)


def test_peak_current_lasts_its_time_then_continuous():
    motor = be.motor.Motor(
        resistance=R,
        torque_constant=K,
        rotor_inertia=J,
        limits=be.motor.Limits(continuous_current=1.0, peak_current=2.5, peak_time=2.0),
    )
    t = run(motor=motor, bench=be.bench.Locked(), duration=6.0, dt=0.01)
    assert t.current[t.time < 1.9] == pytest.approx(2.5)
    assert t.current[-1] == pytest.approx(1.0, rel=1e-3)
    assert np.all(np.diff(t.current) <= 1e-12)


def test_torque_constant_saturates_with_current():
    motor = be.motor.Motor(resistance=R, torque_constant=K, saturation_current=3.0, rotor_inertia=J)
    t = run(motor=motor, bench=be.bench.Locked(), duration=0.01)
    assert t.torque[-1] == pytest.approx(0.5 * K * 3.0)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_dahl_and_lugre_reach_their_steady_state(direction):
    w = 0.2 * direction
    for friction in (
        FRICTIONS["dahl"],
        be.friction.LuGre(
            coulomb=0.08, static=0.12, stribeck_velocity=0.3, viscous=0.05, stiffness=80.0, damping=0.4
        ),
    ):
        g = friction.level(friction.stribeck(w), 0.0, 0.0, direction)
        z, torque = friction.bend(0.0, w, g, 50.0)
        assert z == pytest.approx(g / friction.stiffness * direction)
        _, torque = friction.bend(z, w, g, 0.01)
        expected = (
            0.08 if isinstance(friction, be.friction.Dahl) else 0.08 + 0.04 * math.exp(-((0.2 / 0.3) ** 2))
        ) * direction
        assert torque == pytest.approx(expected, rel=1e-12)


def test_stribeck_curve_falls_from_static_to_coulomb_and_rises_with_drag():
    f = be.friction.Stribeck(
        coulomb=0.1, static=0.3, stribeck_velocity=0.5, stribeck_exponent=1.5, viscous=0.02
    )
    w = np.array([0.0, 0.5, 50.0])
    assert f.level(f.stribeck(w), 0.0, 0.0, 1.0) == pytest.approx([0.3, 0.1 + 0.2 / math.e, 0.1])
    assert f.stribeck(-w) == pytest.approx(
        f.stribeck(w)
    )  # |w / w_s|: the note's form grows for w < 0 and gamma = 1
    assert f.drag(50.0) == pytest.approx(1.0)


def test_hysteresis_loop_area_is_the_dissipated_energy():
    """A slow cycle with Dahl friction: the loop of friction torque over position encloses what the book calls
    friction."""
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=0.5, rotor_inertia=1e-3),
        friction=be.friction.Dahl(coulomb=0.1, stiffness=5.0),
        drive=be.drive.Impedance(newton_metres_per_radian=20.0, newton_metre_seconds_per_radian=0.3),
    )
    t = be.simulate(
        actuator,
        be.bench.FreeShaft(),
        be.signal.sine(0.1, 0.5),
        duration=6.0,
        dt=0.001,
        substeps=10,
        energy=True,
    )
    one = slice(2000, 4001)  # one period after the first
    torque = 5.0 * t["bristle"][one]
    area = np.sum(0.5 * (torque[1:] + torque[:-1]) * np.diff(t.position[one]))
    lost = t.energy["friction"][4000] - t.energy["friction"][2000]
    stored = 0.5 * 5.0 * (t["bristle"][4000] ** 2 - t["bristle"][2000] ** 2)
    assert lost > 0.02
    assert area == pytest.approx(lost + stored, rel=1e-5)


def everything_on(friction: be.friction.Viscous) -> be.Actuator:
    drive = be.drive.Position(
        volts_per_radian=40.0,
        volts_per_radian_second=30.0,
        volt_seconds_per_radian=0.4,
        supply=18.0,
        slew=6.0,
    )
    return be.Actuator(motor=RICH, gearbox=GEARED, friction=friction, drive=drive)


@pytest.mark.parametrize("name", ["viscous", "m6", "lugre", "torque-proportional"])
def test_electrical_power_is_work_plus_losses_plus_stored_energy(name):
    bench = be.bench.Pendulum(mass=1.0, length=0.2, arm_mass=0.1)
    off = []
    for n in (10, 20):
        t = be.simulate(
            everything_on(FRICTIONS[name]),
            bench,
            be.signal.sine(1.2, 0.7),
            duration=3.0,
            dt=0.001,
            substeps=n,
            energy=True,
        )
        e = t.energy
        lost = sum(e[part] for part in ("copper", "iron", "conversion", "friction", "gear", "load"))
        off.append(
            np.max(np.abs(e["electrical"] - lost - (e["stored"] - e["stored"][0]))) / e["electrical"][-1]
        )
        assert all(e[part][-1] > 0 for part in ("copper", "iron", "conversion", "friction"))
    assert off[1] < 1e-6
    assert off[1] < 0.35 * off[0]  # second order: what is left is the step's, not a missing term


@pytest.mark.parametrize("load", [-0.4, 0.4])
def test_gearbox_in_is_out_plus_loss_in_both_directions(load):
    """At steady speed the output gets eta times the motor's torque when driven,
    and 1/eta times when it drives the motor."""
    motor = be.motor.Motor(resistance=1.0, torque_constant=0.05, rotor_inertia=1e-5)
    drive = be.drive.Velocity(volt_seconds_per_radian=5.0, volts_per_radian=50.0)
    t = run(
        motor=motor,
        gearbox=be.gearbox.Gearbox(ratio=10.0, efficiency=0.8),
        drive=drive,
        bench=be.bench.Recorded(),
        energy=True,
        command={"velocity_target": 2.0, "inertia": 1e-3, "load": load},
        duration=4.0,
    )
    k = 0.8 if load < 0 else 1 / 0.8
    assert t.velocity[-1] == pytest.approx(2.0, rel=1e-6)
    assert k * t.torque[-1] == pytest.approx(-load, rel=1e-6)
    work = t.torque[-1] * 2.0
    lost = (t.energy["gear"][-1] - t.energy["gear"][-2]) / 0.001
    assert work == pytest.approx(-load * 2.0 + lost, rel=1e-6)
    assert lost > 0


def test_gear_loss_counts_the_rotors_own_inertia():
    """Spinning up a rotor alone costs no gear loss: nothing passes through the teeth."""
    gearbox = be.gearbox.Gearbox(ratio=10.0, efficiency=0.5)
    assert gearbox.loss(1.0, 0.0, 1e-3, 0.0, 1.0) == 0
    assert gearbox.loss(1.0, 0.0, 0.0, 1e-3, 1.0) == pytest.approx(0.5)


def test_motors_share_inertia_and_torque_and_drag_reflects_with_the_right_power():
    gearbox = be.gearbox.Gearbox(ratio=10.0, n_motors=2)
    assert gearbox.output_inertia(1e-5) == pytest.approx(2e-3)
    at_rotor = be.friction.Stribeck(
        coulomb=1e-3,
        static=2e-3,
        stribeck_velocity=5.0,
        viscous=1e-5,
        viscous_quadratic=1e-7,
        viscous_cubic=1e-9,
    )
    at_output = gearbox.reflect(at_rotor)
    for w in (0.3, -2.0):
        assert at_output.drag(w) == pytest.approx(2 * 10 * at_rotor.drag(10 * w))
        assert at_output.level(at_output.stribeck(w), 0, 0, 1.0) == pytest.approx(
            2 * 10 * at_rotor.level(at_rotor.stribeck(10 * w), 0, 0, 1.0)
        )


def test_backlash_lets_the_rotor_turn_before_the_output_moves():
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=0.1, rotor_inertia=1e-4),
        friction=be.friction.Coulomb(coulomb=0.05),
        gearbox=be.gearbox.Gearbox(ratio=5.0, backlash=0.1, contact_stiffness=200.0, contact_damping=0.2),
        drive=be.drive.Position(volts_per_radian=20.0, volt_seconds_per_radian=0.5),
    )
    t = be.simulate(
        actuator,
        be.bench.Flywheel(inertia=5e-3),
        be.signal.ramp(0.5, until=0.4),
        duration=1.0,
        dt=0.001,
        energy=False,
    )
    free = t["rotor_position"] < 0.05
    assert np.all(t.position[free] == 0)
    assert t["rotor_position"][-1] - t.position[-1] == pytest.approx(0.05, abs=0.01)
    assert t.position[-1] > 0.1


def test_gearbox_equations_in_volts_and_in_amperes():
    """kS, kV and kA predict the steady speed and the first acceleration of the simulated mechanism."""
    n, G, K_t, J_r, T_f, b, J_load = 2, 8.0, 0.02, 1e-5, 0.1, 0.01, 0.02
    motor = be.motor.Motor(resistance=0.5, torque_constant=K_t, rotor_inertia=J_r)
    gearbox, friction = be.gearbox.Gearbox(ratio=G, n_motors=n), be.friction.Coulomb(coulomb=T_f, viscous=b)
    total = J_load + gearbox.output_inertia(J_r)
    line = Line(0.5, K_t, K_t).behind_gears(G, n)._replace(dry=T_f, viscous=b)
    volts = line.voltage_gains(total)
    assert volts == pytest.approx(  # the document's own letters
        (0.5 * T_f / (n * G * K_t), G * K_t + 0.5 * b / (n * G * K_t), 0.5 * total / (n * G * K_t))
    )
    t = run(
        motor=motor,
        gearbox=gearbox,
        friction=friction,
        bench=be.bench.Flywheel(inertia=J_load),
        command=6.0,
        duration=8.0,
        dt=0.001,
    )
    assert pytest.approx(volts.kS + volts.kV * t.velocity[-1], rel=1e-6) == 6.0
    first = t.velocity[1] / 0.001
    assert pytest.approx(volts.kS + volts.kV * 0.5 * t.velocity[1] + volts.kA * first, rel=1e-5) == 6.0
    amps = line.current_gains(total)
    t = run(
        motor=motor,
        gearbox=gearbox,
        friction=friction,
        bench=be.bench.Flywheel(inertia=J_load),
        drive=be.drive.Current(),
        command=2.0,
        duration=0.5,
    )
    rate = (t.velocity[301] - t.velocity[300]) / 0.001
    assert (
        pytest.approx(
            amps.kS + amps.kV * 0.5 * (t.velocity[300] + t.velocity[301]) + amps.kA * rate, rel=1e-6
        )
        == 2.0
    )
    assert line.behind_voltage(volts) == pytest.approx((total, T_f, b))
    assert line.behind_current(amps) == pytest.approx((total, T_f, b))
    own = Line(0.5, K_t, K_t, dry=1e-3).behind_gears(G, n)  # each motor's own friction counts n G times
    assert own.voltage_gains(total).kS == pytest.approx(0.5 * 1e-3 / K_t)


def test_effective_stiffness_and_damping_of_a_position_drive():
    """MuJoCo's DC-motor note, section 2.5: stiffness K k_p / R, damping K (K + k_d) / R;
    the free oscillation shows both."""
    k_p, k_d, inertia = 8.0, 0.02, 2e-3
    stiffness, damping = K * k_p / R, K * (K + k_d) / R
    t = run(
        drive=be.drive.Position(volts_per_radian=k_p, volt_seconds_per_radian=k_d),
        bench=be.bench.Flywheel(inertia=inertia),
        command=0.0,
        start={"position": 0.1},
        duration=2.0,
        dt=0.001,
    )
    total = inertia + J
    decay, frequency = damping / (2 * total), math.sqrt(stiffness / total - (damping / (2 * total)) ** 2)
    expected = (
        0.1
        * np.exp(-decay * t.time)
        * (np.cos(frequency * t.time) + decay / frequency * np.sin(frequency * t.time))
    )
    assert t.position == pytest.approx(expected, abs=2e-5)


def test_linearised_lugre_frequency():
    """J th'' + (s1 + s2) th' + s0 th = tau near rest: it rings at sqrt(s0 / J) with damping s1 + s2."""
    s0, s1, s2, inertia = 1000.0, 0.2, 0.05, 1e-2
    friction = be.friction.LuGre(
        coulomb=1.0, static=1.5, stribeck_velocity=0.1, stiffness=s0, damping=s1, viscous=s2
    )
    motor, wheel = be.motor.Motor(resistance=1.0, torque_constant=0.1), be.bench.Flywheel(inertia=inertia)
    t = run(
        friction=friction,
        motor=motor,
        bench=wheel,
        drive=be.drive.Off(),
        command=None,
        start={"velocity": 1e-4},
        duration=0.1,
        dt=1e-4,
        substeps=20,
    )
    decay = (s1 + s2) / (2 * inertia)
    frequency = math.sqrt(s0 / inertia - decay**2)
    expected = 1e-4 / frequency * np.exp(-decay * t.time) * np.sin(frequency * t.time)
    assert t.position == pytest.approx(expected, abs=2e-3 * np.max(expected))


def test_lugre_reports_when_it_is_not_passive():
    lively = be.friction.LuGre(
        coulomb=0.1, static=0.3, stribeck_velocity=0.1, stiffness=100.0, damping=1.0, viscous=0.1
    )
    (finding,) = lively.findings()
    assert finding.code == "not_passive"
    assert finding.numbers["bound"] == pytest.approx(2.0)
    calm = be.friction.LuGre(
        coulomb=0.1, static=0.3, stribeck_velocity=0.1, stiffness=100.0, damping=1.0, viscous=2.1
    )
    assert calm.findings() == []


def test_cogging_from_percent_and_poles():
    cogging = be.motor.Cogging.percent(3.0, of=0.5, poles=8, slots=9)
    assert cogging.amplitude == pytest.approx(0.015)
    assert cogging.periods == 72


def test_iron_loss_is_drag_and_heat():
    insulated = be.motor.Thermal(resistance=1e4, capacitance=0.2)
    motor = be.motor.Motor(
        resistance=R, torque_constant=K, rotor_inertia=J, iron_loss=1e-4, thermal=insulated
    )
    t = run(
        motor=motor, drive=be.drive.Off(), command=None, start={"velocity": 100.0}, duration=1.0, energy=True
    )
    assert t.velocity[-1] == pytest.approx(100.0 * math.exp(-1e-4 / J), rel=1e-6)
    assert t.energy["iron"][-1] == pytest.approx(0.5 * J * (100.0**2 - t.velocity[-1] ** 2), rel=1e-6)
    assert 0.2 * (t.temperature[-1] - 25.0) == pytest.approx(
        t.energy["iron"][-1], rel=1e-3
    )  # a little leaks out


def test_brake_stops_faster_than_open_terminals():
    coast = run(drive=be.drive.Off(), command=None, start={"velocity": 50.0}, duration=0.1)
    brake = run(drive=be.drive.Brake(), command=None, start={"velocity": 50.0}, duration=0.1)
    assert coast.velocity[-1] == 50.0
    assert np.all(coast.current == 0)
    assert coast.voltage[-1] == pytest.approx(K * 50.0)
    assert brake.velocity[-1] == pytest.approx(50.0 * math.exp(-(K**2) / R / J * 0.1), rel=1e-4)


def test_pendulum_hangs_at_zero_and_tilt_takes_gravity_away():
    bench = BENCHES["pendulum"]
    assert bench.load(0.1, 0.0, {}) == pytest.approx(0.0)
    assert bench.load(0.1 + math.pi / 2, 0.0, {}) == pytest.approx(
        -(0.4 + 0.05) * 9.80665 * math.cos(0.2) * 0.15
    )
    assert bench.inertia_at({}) == pytest.approx((0.4 + 0.1 / 3) * 0.15**2 + 1e-4)


def test_shapes():
    assert be.bench.rod(1.2, 0.5) == pytest.approx(0.025)
    assert be.bench.disc(2.0, 0.1) == pytest.approx(0.01)
    assert be.bench.cylinder(0.016, 0.00725, 0.048) == pytest.approx(0.016 * (3 * 0.00725**2 + 0.048**2) / 12)
    assert be.bench.box(1.2, 0.3, 0.4) == pytest.approx(0.025)
    assert be.bench.parallel_axis_inertia(0.025, 2.0, 0.1) == pytest.approx(0.045)
    assert be.bench.shifted is be.bench.parallel_axis_inertia


def test_elevator_as_drum_and_as_linear_axis():
    drum = be.bench.Elevator(mass=3.0, drum_radius=0.02, counterweight=1.0)
    assert drum.load(0.0, 0.0, {}) == pytest.approx(-2.0 * 9.80665 * 0.02)
    assert drum.inertia_at({}) == pytest.approx(4.0 * 0.02**2)
    straight = be.bench.Elevator(mass=3.0, incline=math.pi / 6)
    assert straight.load(0.0, 0.0, {}) == pytest.approx(-3.0 * 9.80665 * 0.5)
    lift = be.Actuator(
        motor=MOTOR, gearbox=be.gearbox.Gearbox(ratio=400.0), motion="linear", drive=be.drive.Voltage()
    )
    assert lift.unit("gearbox.ratio") == "1"
    assert lift.unit("friction.viscous") == "N s/m"
    t = be.simulate(lift, straight, 12.0, duration=2.0)
    expected = (12.0 - R * 3.0 * 9.80665 * 0.5 / (400.0 * K)) / (400.0 * K)
    assert t.velocity[-1] == pytest.approx(expected, rel=1e-6)


def test_the_smaller_of_supply_and_limit_is_the_ceiling():
    for limit, expected in ((6.0, 6.0), (20.0, 10.8)):
        drive = be.drive.Voltage(supply=12.0, duty_limit=0.9, voltage_limit=limit)
        assert drive.ceiling({}) == pytest.approx(expected)
