"""Curves of an actuator against closed forms, hand-made recursions, simulated motions and the real MuJoCo."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.analysis import curves
from backemf.errors import InvalidValue, MissingValue
from backemf.physics import steady

from ..conftest import needed, unavailable

MOTOR = be.motor.Motor(resistance=2.0, torque_constant=0.01, rotor_inertia=1e-6)
LUGRE = be.friction.LuGre(
    coulomb=0.05, static=0.08, stribeck_velocity=0.1, stiffness=100.0, damping=0.05, viscous=0.02
)
BRISTLES = {
    "ringing": (1e-3, 100.0, 0.05, 0.01, 0.00125),
    "micro-damped": (1e-3, 100.0, 3.0, 0.1, 0.00125),
    "viscous": (1e-3, 100.0, 0.3, 1.5, 0.00125),
    "motor-damped": (1e-3, 100.0, 2.0, 0.1, 2.0),
    "Dahl": (1e-3, 100.0, 0.0, 0.4, 5e-5),
}
"""J, sigma_0, sigma_1, sigma_2 and the motor's damping."""


def near(name: str) -> curves.Presliding:
    return curves.Presliding(*BRISTLES[name])


def test_a_bristle_near_rest_is_a_spring_and_a_damper():
    """J q'' + (sigma_1 + sigma_2) q' + sigma_0 q = 0: its roots, against those of the polynomial."""
    J = 2e-4
    one = curves.presliding(LUGRE, J)
    assert one is not None
    roots = np.roots([J, 0.07, 100.0])
    assert one.natural_frequency == pytest.approx(abs(roots[0]))
    assert one.damping_ratio == pytest.approx(-roots[0].real / abs(roots[0]))
    critical = np.roots([J, one.critical_micro_damping + 0.02, 100.0])
    assert critical[0] == pytest.approx(critical[1], rel=1e-6)  # a double root is known to sqrt(rounding)
    driven = curves.presliding(LUGRE, J, motor=1.0)
    assert driven is not None
    assert driven.critical_micro_damping == 0.0  # the motor alone damps it


def test_the_passivity_limit_is_where_the_finding_begins():
    """sigma_2 > sigma_1 (tau_s - tau_c) / tau_c (Barabanov and Ortega 2000, as the DC-motor note has it)."""
    limit = LUGRE.passive_limit
    assert limit == pytest.approx(0.02 * 0.05 / 0.03)
    assert limit is not None
    for factor, codes in ((0.999, []), (1.001, ["not_passive"])):
        changed = be.friction.LuGre(
            coulomb=0.05,
            static=0.08,
            stribeck_velocity=0.1,
            stiffness=100.0,
            damping=factor * limit,
            viscous=0.02,
        )
        assert [f.code for f in changed.findings()] == codes
        one = curves.presliding(changed, 1e-3)
        assert one is not None
        assert one.is_passive == (not codes)
    assert be.friction.Dahl(coulomb=0.05, stiffness=9.0).passive_limit is None


def grows(step: np.ndarray) -> bool:
    return bool(np.max(np.abs(np.linalg.eigvals(step))) > 1.0)


def recursion(integrator: str, one: curves.Presliding, h: float) -> np.ndarray:
    """One step of (deflection, velocity), written out for each integrator."""
    J, k, d = one.inertia, one.stiffness, one.damping
    if integrator == "semi-implicit":  # v first, then the deflection with the new v
        v = np.array([-h * k / J, 1.0 - h * d / J])
        return np.array([[1.0, 0.0] + h * v, v])
    M = {"explicit": J, "Euler": J + h * one.viscous, "implicitfast": J + h * d}[integrator]
    return np.array([[1.0, h], [-h * k / M, 1.0 - h * d / M]])


@pytest.mark.parametrize("integrator", ["explicit", "semi-implicit", "Euler", "implicitfast"])
@pytest.mark.parametrize("name", BRISTLES)
def test_the_largest_step_is_where_small_motions_begin_to_grow(name, integrator):
    one = near(name)
    h = one.largest_step(integrator)
    assert not grows(recursion(integrator, one, (1 - 1e-6) * h))
    assert grows(recursion(integrator, one, (1 + 1e-6) * h))
    for share in (0.01, 0.1, 0.5, 0.9):  # and there is no other bound below it
        assert not grows(recursion(integrator, one, share * h))


HINGE = """<mujoco><option timestep="{h}" integrator="{integrator}" gravity="0 0 0"/><worldbody><body>
<joint name="a" axis="0 1 0" armature="{J}"/><geom type="sphere" size="0.01" mass="1e-9"/></body></worldbody>
<actuator><dcmotor joint="a" resistance="2" motorconst="{K}" damping="{B}"
lugre="{stiffness} {damping} 1e3 1e3 1"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit"])
@pytest.mark.parametrize("name", BRISTLES)
def test_mujoco_itself_bears_that_step_and_no_longer_one(name, integrator):
    """Its own step from a bent bristle and from a velocity, both tiny: the matrix of one step."""
    mujoco = needed("mujoco")
    if tuple(map(int, mujoco.__version__.split(".")[:2])) < (3, 7):
        unavailable("a MuJoCo that has dcmotor")
    one = near(name)
    bound = one.largest_step("Euler" if integrator == "Euler" else "implicitfast")
    for factor in (0.999, 1.001):
        words = {"h": factor * bound, "integrator": integrator, "J": one.inertia, "B": one.viscous}
        words |= {"K": math.sqrt(2 * one.motor), "stiffness": one.stiffness, "damping": one.micro_damping}
        model = mujoco.MjModel.from_xml_string(HINGE.format(**words))
        data, small, columns = mujoco.MjData(model), 1e-9, []
        for bent, moving in ((small, 0.0), (0.0, small)):
            mujoco.mj_resetData(model, data)
            data.act[-1], data.qvel[0] = bent, moving
            mujoco.mj_step(model, data)
            columns.append([data.act[-1] / small, data.qvel[0] / small])
        assert grows(np.array(columns).T) == (factor > 1)


def test_our_own_step_bears_any_and_names_are_checked():
    assert near("ringing").largest_step("backemf") == math.inf
    with pytest.raises(InvalidValue, match="expected one of explicit"):
        near("ringing").largest_step("RK9")
    with pytest.raises(InvalidValue, match="more than 0"):
        curves.presliding(LUGRE, 0.0)
    assert curves.presliding(be.friction.Coulomb(coulomb=0.1), 1.0) is None


def test_a_sliding_bristle_bears_what_the_note_says():
    """Explicit Euler of dz/dt = w - sigma_0 |w| z / g is stable below 2 g / (sigma_0 |w|)."""
    w = -0.3
    g = 0.05 + 0.03 * math.exp(-9.0)
    h = curves.sliding_step(LUGRE, w)
    assert h == pytest.approx(2 * g / (100.0 * 0.3))
    assert h is not None
    for factor, ends in ((0.99, True), (1.01, False)):
        z = 0.0
        for _ in range(3000):
            z += factor * h * (w - 100.0 * abs(w) * z / g)
        assert (abs(z + g / 100.0) < 1e-9) == ends  # 0.98^3000 is nothing, 1.02^3000 is 1e25
    assert curves.sliding_step(LUGRE, 0.0) == math.inf
    assert curves.sliding_step(be.friction.Viscous(), 1.0) is None


def test_the_loop_of_a_dahl_bristle_loses_what_its_closed_form_says():
    """From -x to x the torque is tau_c (1 - c exp(-s (q + x))) with s = sigma_0 / tau_c; large loops lose
    4 tau_c x less what the reversals keep: 2 tau_c (2 x - 2 c (1 - exp(-2 s x)) / (2 s)) per cycle."""
    tau_c, sigma_0, x = 0.05, 60.0, 4e-3
    friction = be.friction.Dahl(coulomb=tau_c, stiffness=sigma_0)
    s = sigma_0 / tau_c
    c = 2.0 / (1.0 + math.exp(-2 * s * x))
    lost = 2 * tau_c * (2 * x - c * (1 - math.exp(-2 * s * x)) / s)
    loop = curves.reversals(friction, x, 1e-3, n=4000)
    assert loop.lost == pytest.approx(lost, rel=2e-3)  # trapezia of 4000 points
    assert curves.reach(friction) == pytest.approx(tau_c / sigma_0)


DRIVES = {
    "position": be.drive.Position(
        volts_per_radian=20.0, volt_seconds_per_radian=0.3, volts_per_radian_second=30.0
    ),
    "servo": be.drive.Servo(
        firmware_gain=0.02,
        proportional=8.0,
        supply=1e3,
        derivative=2.0,
        firmware_derivative_gain=2e-4,
        derivative_filter=5e-3,
        delay=3e-3,
    ),
    "velocity": be.drive.Velocity(volt_seconds_per_radian=0.5, volts_per_radian=4.0),
    "impedance": be.drive.Impedance(
        newton_metres_per_radian=5.0, newton_metre_seconds_per_radian=0.3, newton_metres_per_radian_second=2.0
    ),
    "torque by voltage": be.drive.Impedance(
        newton_metres_per_radian=5.0, newton_metre_seconds_per_radian=0.3, through="voltage"
    ),
    "sampled": be.drive.Position(
        volts_per_radian=20.0, volt_seconds_per_radian=0.3, volts_per_radian_second=30.0, period=2e-3
    ),
}


@pytest.mark.parametrize("name", DRIVES)
def test_the_response_is_that_of_a_simulated_sine(name):
    inertia, amplitude = 5e-3, 1e-3
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.01, rotor_inertia=1e-6, inductance=2e-3)
    actuator = be.Actuator(
        motor=motor,
        gearbox=be.gearbox.Gearbox(ratio=-50.0, n_motors=2),
        friction=be.friction.Viscous(viscous=0.02),
        drive=DRIVES[name],
    )
    band = curves.response(actuator, inertia=inertia).bandwidth
    assert band is not None
    f = 0.8 * band
    t = np.arange(0.0, 14.0 / f, 1.0 / (1000.0 * f))
    asked = amplitude * np.sin(2 * np.pi * f * t)
    run = be.simulate(actuator, be.bench.Flywheel(inertia=inertia), {actuator.drive.target: asked}, time=t)
    followed = run[actuator.drive.error_of]
    last = t >= 10.0 / f
    turn = np.exp(-2j * np.pi * f * t[last])
    measured = np.mean(followed[last] * turn) / np.mean(asked[last] * turn)
    found = curves.response(actuator, [f, 1.01 * f], inertia).closed[0]
    # a command held over a thousandth of a period is late by half of that: pi / 1000; transients have died
    assert found * np.exp(-1j * np.pi / 1000) == pytest.approx(measured, rel=2e-3)


def test_bandwidth_peak_and_margin_of_a_second_order_loop():
    """w_n^2 / (s^2 + 2 zeta w_n s + w_n^2): its 3 dB frequency, its peak and its margin are textbook's."""
    K, R, J, k_p = 0.5, 2.0, 2e-3, 30.0
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=R, torque_constant=K, rotor_inertia=J),
        drive=be.drive.Position(volts_per_radian=k_p, deadband=0.01),
    )
    w_n = math.sqrt(K * k_p / R / J)
    zeta = K * K / R / (2 * J * w_n)
    a = 1 - 2 * zeta**2
    level = 10 ** (3 / 10)
    at = w_n * math.sqrt(a + math.sqrt(a * a - 1 + level)) / (2 * math.pi)
    one = curves.response(actuator, np.geomspace(0.01, 1e3, 20001))
    assert one.bandwidth == pytest.approx(at, rel=1e-4)  # a grid of 20001 points over five decades
    assert one.peak is not None
    assert one.peak[0] == pytest.approx(w_n * math.sqrt(a) / (2 * math.pi), rel=1e-3)
    assert one.peak[1] == pytest.approx(-20 * math.log10(2 * zeta * math.sqrt(1 - zeta**2)), rel=1e-4)
    crossing = math.sqrt(math.sqrt(1 + 4 * zeta**4) - 2 * zeta**2)
    assert one.phase_margin == pytest.approx(math.degrees(math.atan(2 * zeta / crossing)), abs=0.02)
    assert curves.response(actuator).bandwidth == pytest.approx(at, rel=1e-3)


@pytest.mark.parametrize(("period", "top"), [(None, None), (0.01, 50.0), (0.04, None)])
def test_a_response_is_looked_at_about_its_corner(period, top):
    """From a hundredth to thirty times the bandwidth, up to half a sampling rate, but twice the bandwidth."""
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
        drive=be.drive.Position(volts_per_radian=30.0, period=period),
    )
    f = curves.response(actuator).frequency
    band = curves.response(actuator, np.geomspace(0.01, 1e3, 4001)).bandwidth
    assert (len(f), f[0]) == (400, pytest.approx(0.01 * band, rel=1e-2))
    assert f[-1] == pytest.approx(top or (2.0 if period else 30.0) * band, rel=1e-2)


def test_a_response_says_what_it_lacks():
    with pytest.raises(MissingValue, match="no feedback"):
        curves.response(be.Actuator(motor=MOTOR))
    still = be.motor.Motor(resistance=2.0, torque_constant=0.01)
    with pytest.raises(MissingValue, match="rotor has no inertia"):
        curves.response(be.Actuator(motor=still, drive=be.drive.Position(volts_per_radian=1.0)))


@pytest.mark.parametrize("ratio", [50.0, -50.0])
def test_operation_keeps_the_books(ratio):
    """What is taken is what is given, the winding's heat and what gears and friction lose."""
    actuator = be.Actuator(
        motor=MOTOR,
        gearbox=be.gearbox.Gearbox(ratio=ratio, n_motors=2, efficiency=0.8),
        friction=be.friction.Coulomb(coulomb=0.05, viscous=0.01),
    )
    top = steady.no_load_speed(actuator, 12.0)
    at = curves.operation(actuator, 12.0, np.linspace(0.0, 0.99 * top, 50))
    heat = 2 * 2.0 * at.current**2
    lost = (0.2 * at.electrical + 0.05 + 0.01 * at.speed) * at.speed
    np.testing.assert_allclose(at.taken, at.given + heat + lost, rtol=1e-9)  # float64, and a bisection
    assert at.torque[0] == pytest.approx(0.8 * 2 * 50 * 0.01 * 12 / 2 - 0.05)
    assert math.isnan(at.efficiency[0])
    assert np.all((at.efficiency[1:] > 0) & (at.efficiency[1:] < 0.8))


def test_without_load_a_voltage_turns_it_by_the_dynamixel_documents_line():
    """w = (K V - R f_s) / (K^2 + R f_v), and the current of a held output is V / R."""
    K, R, f_s, f_v = 2.2, 2.1, 0.212, 0.05
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=R, torque_constant=K),
        friction=be.friction.Coulomb(coulomb=f_s, viscous=f_v),
    )
    v = np.array([0.1, 4.0, 12.0])
    w, i = curves.no_load(actuator, v)
    expected = np.maximum(K * v - R * f_s, 0.0) / (K * K + R * f_v)
    np.testing.assert_allclose(w, expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(i, np.where(expected > 0, (v - K * expected) / R, v / R), rtol=1e-6)
    np.testing.assert_allclose(curves.held_current(actuator, v), v / R)


def test_the_drive_law_has_its_deadband_and_its_limit():
    actuator = be.Actuator(
        motor=MOTOR,
        gearbox=be.gearbox.Gearbox(ratio=-50.0),
        drive=be.drive.Position(volts_per_radian=30.0, deadband=0.1, supply=12.0),
    )
    law = curves.drive_law(actuator, [-1.0, 0.0, 0.05, 0.2, 1.0])
    np.testing.assert_allclose(law.asked, [-27.0, 0.0, 0.0, 3.0, 27.0], atol=1e-12)
    np.testing.assert_allclose(law.voltage, [-12.0, 0.0, 0.0, 3.0, 12.0], atol=1e-12)
    np.testing.assert_allclose(law.torque, 0.25 * law.voltage, atol=1e-12)  # N K / R, forwards
    assert curves.full_error(actuator) == pytest.approx(0.1 + 12.0 / 30.0)
    assert curves.full_error(be.Actuator(motor=MOTOR)) is None


def test_heating_at_constant_power_and_current_has_the_closed_forms():
    """One node: T_a + R_T P (1 - exp(-t / t_T)); at a current R grows with T, and so do end and time."""
    R_T, C, alpha = 10.0, 5.0, 0.004
    thermal = be.motor.Thermal(
        resistance=R_T, capacitance=C, ambient=25.0, reference=25.0, resistance_coefficient=alpha
    )
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.01, thermal=thermal)
    actuator = be.Actuator(motor=motor)
    t = np.linspace(0.0, 200.0, 4001)
    winding = curves.heating(actuator, t, power=3.0).temperatures["winding_temperature"]
    np.testing.assert_allclose(winding, 25.0 + 30.0 * (1 - np.exp(-t / 50.0)), rtol=1e-12)
    i = 1.0
    share = 1.0 - R_T * 2.0 * i * i * alpha  # dT/dt = P / C - share (T - T_a) / t_T
    warm = curves.heating(actuator, t, current=[i]).temperatures["winding_temperature"][0]
    expected = 25.0 + R_T * 2.0 / share * (1 - np.exp(-share * t / 50.0))
    np.testing.assert_allclose(warm, expected, rtol=1e-3)  # the resistance is held for a step of 50 ms
    reached = curves.time_to(actuator, 40.0, [i, 0.1])
    assert reached[0] == pytest.approx(-50.0 / share * math.log(1 - 15.0 * share / 20.0), rel=5e-3)
    assert math.isnan(reached[1])
    with pytest.raises(MissingValue, match=r"motor\.thermal"):
        curves.heating(be.Actuator(motor=MOTOR), t, power=1.0)


def test_the_full_voltage_is_the_drives_or_its_commands():
    def volts(drive):
        return curves.full_voltage(be.Actuator(motor=MOTOR, drive=drive))

    assert volts(be.drive.Voltage(supply=12.0, duty_limit=0.9)) == pytest.approx(10.8)
    assert volts(be.drive.Voltage(command_low=-6.0, command_high=5.0)) == 6.0
    assert volts(be.drive.Position(volts_per_radian=1.0, command_low=-6.0)) is None
