"""Effects in combination: every pair of them closes the energy book, and compiled code is the reference's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import backemf as be
from backemf.physics.energy import FLOWS

from .variants import FRICTIONS

MOTOR = {"resistance": 1.5, "torque_constant": 0.4, "rotor_inertia": 2e-3}
EFFECTS: dict[str, dict] = {
    "delay": {"drive": {"delay": 0.0037}},
    "backlash": {"gearbox": {"backlash": 0.03, "contact_stiffness": 400.0, "contact_damping": 0.4}},
    "efficiency": {"gearbox": {"efficiency": 0.8}},
    "bristle": {"friction": FRICTIONS["lugre"]},
    "thermal": {
        "motor": {
            "iron_loss": 1e-4,
            "thermal": be.motor.TwoNodeThermal(
                winding_resistance=2.0,
                housing_resistance=5.0,
                winding_capacitance=0.5,
                housing_capacitance=9.0,
            ),
        }
    },
    "limits": {
        "motor": {
            "inductance": 3e-3,
            "limits": be.motor.Limits(
                current=5.0, current_rate=3000.0, continuous_current=1.0, peak_current=4.0, peak_time=0.1
            ),
        }
    },
    "n motors": {"gearbox": {"n_motors": 3}},
    "negative": {"gearbox": {"ratio": -2.0}},
    "linear": {"motion": "linear"},
}
PAIRS = [*itertools.combinations(EFFECTS, 2)]


def combined(*names: str, **more) -> be.Actuator:
    parts: dict[str, dict] = {"motor": dict(MOTOR), "gearbox": {"ratio": 2.0}, "drive": {}}
    friction, motion = FRICTIONS["m4"], "rotary"
    for name in names:
        for part, what in EFFECTS[name].items():
            if part == "friction":
                friction = what
            elif part == "motion":
                motion = what
            else:
                parts[part] |= what
    return be.Actuator(
        motor=be.motor.Motor(**parts["motor"]),
        gearbox=be.gearbox.Gearbox(**parts["gearbox"]),
        friction=friction,
        drive=be.drive.Position(
            volts_per_radian=40.0, volts_per_radian_second=30.0, supply=12.0, **parts["drive"]
        ),
        motion=motion,
    )


def move(actuator: be.Actuator, **more) -> be.Trajectory:
    linear = actuator.motion == "linear"
    bench = (
        be.bench.Spring(inertia=0.02, stiffness=2.0) if linear else be.bench.Pendulum(mass=0.6, length=0.15)
    )
    return be.simulate(actuator, bench, be.signal.square(0.5, 4.0), duration=0.3, energy=True, **more)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_the_book_closes_and_the_engines_agree(pair):
    actuator = combined(*pair)
    run = move(actuator, substeps=16)
    e = run.energy
    turnover = sum(np.ptp(e[name]) for name in FLOWS)
    lost = sum(e[name][-1] for name in FLOWS[1:])
    missing = e["electrical"][-1] - lost - (e["stored"][-1] - e["stored"][0])
    assert turnover > 0.05
    # Second order: 62 us steps leave at most 2.7e-8; behind teeth a stop inside a step is first order,
    # 1.6e-5.
    assert abs(missing) < (3e-5 if "backlash" in pair else 5e-8) * turnover
    assert min(e["friction"][-1], e["gear"][-1], e["copper"][-1], e["iron"][-1]) >= -1e-9
    reference = move(actuator, substeps=16, engine="reference")
    for name in actuator.states:
        np.testing.assert_allclose(run[name], reference[name], rtol=1e-8, atol=1e-9, err_msg=name)
    assert np.max(run.position) > 0.3  # it moves, and first towards its target
    assert np.mean(run.position) > 0


def test_with_play_every_term_of_a_law_sees_what_its_sensor_sees():
    """A rotor free in its teeth, far from the output: P, I and D on the output's side give no
    voltage at all."""
    play = be.gearbox.Gearbox(ratio=1.0, backlash=2.0, contact_stiffness=1e3)
    law = {"volts_per_radian": 5.0, "volts_per_radian_second": 7.0, "volt_seconds_per_radian": 0.3}
    start = {"position": 0.0, "rotor_position": 0.5, "rotor_velocity": 1.5}
    for sensor, still in (("output", True), ("rotor", False)):
        actuator = be.Actuator(
            motor=be.motor.Motor(**MOTOR), gearbox=play, drive=be.drive.Position(**law, sensor=sensor)
        )
        run = be.simulate(actuator, be.bench.Flywheel(inertia=0.1), 0.0, duration=0.02, start=start)
        assert (run.voltage == 0.0).all() == still
        assert (run["integral"] == 0.0).all() == still
        if sensor == "rotor":
            assert run.voltage[0] == pytest.approx(-5.0 * 0.5 - 0.3 * 1.5)
            assert run["integral"][1] == pytest.approx(-0.5e-3, rel=2e-3)


@pytest.mark.parametrize("friction", ["coulomb", "lugre"])
def test_gears_lose_the_same_share_with_play_and_without(friction):
    """A steady lift with efficiency, with a little play in the teeth and without: the same
    torque is needed."""
    speeds = []
    for play in ({}, {"backlash": 1e-4, "contact_stiffness": 5e3, "contact_damping": 2.0}):
        actuator = be.Actuator(
            motor=be.motor.Motor(**MOTOR),
            gearbox=be.gearbox.Gearbox(ratio=3.0, efficiency=0.6, **play),
            friction=FRICTIONS[friction],
        )
        run = be.simulate(actuator, be.bench.Elevator(mass=0.5, drum_radius=0.1), 6.0, duration=1.5)
        speeds.append(run.velocity[-1])
    lossless = be.Actuator(
        motor=be.motor.Motor(**MOTOR), gearbox=be.gearbox.Gearbox(ratio=3.0), friction=FRICTIONS[friction]
    )
    free = be.simulate(lossless, be.bench.Elevator(mass=0.5, drum_radius=0.1), 6.0, duration=1.5).velocity[-1]
    assert speeds[1] == pytest.approx(speeds[0], rel=1e-3)
    assert speeds[0] < 0.95 * free


@pytest.mark.parametrize(
    ("drive", "command"),
    [
        (be.drive.Position(volts_per_radian=30.0, supply=12.0), 0.5),
        (be.drive.Servo(firmware_gain=0.16, proportional=16.0, supply=12.0), 0.5),
        (be.drive.Impedance(newton_metres_per_radian=20.0, newton_metre_seconds_per_radian=0.5), 0.5),
        (be.drive.Velocity(volt_seconds_per_radian=5.0, supply=12.0), 2.0),
    ],
)
def test_a_law_goes_forwards_whichever_way_the_gears_turn(drive, command):
    runs = []
    for ratio in (20.0, -20.0):
        actuator = be.Actuator(
            motor=be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=1e-6),
            gearbox=be.gearbox.Gearbox(ratio=ratio),
            friction=FRICTIONS["m4"],
            drive=drive,
        )
        runs.append(be.simulate(actuator, be.bench.Flywheel(inertia=1e-3), command, duration=1.0))
    np.testing.assert_allclose(runs[1].position, runs[0].position, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(runs[1].voltage, -runs[0].voltage, rtol=1e-9, atol=1e-9)
    assert runs[0].position[-1] > 0.3


def test_a_stiff_drive_holds_at_coarse_steps():
    """1e5 V/rad at 1 ms: the rest of a step after a stop is followed like a step of its own."""
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
        friction=be.friction.Coulomb(coulomb=0.05),
        drive=be.drive.Position(volts_per_radian=1e5),
    )
    run = be.simulate(actuator, be.bench.Flywheel(inertia=1e-3), 0.5, duration=1.0, dt=1e-3, substeps=1)
    away = np.abs(run.position - 0.5)  # 2900 rad/s cannot be followed at 1 ms, but it rings and fades
    assert np.max(away) <= 0.55
    assert np.max(away[-100:]) < 0.2


def test_an_integral_freezes_the_same_whichever_way_the_gears_turn():
    """Far from its target the voltage is at its limit; the integral must not wind up, with N and with -N."""
    law = {
        "volts_per_radian": 20.0,
        "volts_per_radian_second": 60.0,
        "freeze_when_saturated": True,
        "supply": 6.0,
    }
    runs = []
    for ratio in (20.0, -20.0):
        actuator = be.Actuator(
            motor=be.motor.Motor(resistance=2.0, torque_constant=0.02, rotor_inertia=1e-6),
            gearbox=be.gearbox.Gearbox(ratio=ratio),
            friction=FRICTIONS["coulomb"],
            drive=be.drive.Position(**law),
        )
        runs.append(be.simulate(actuator, be.bench.Flywheel(inertia=2e-3), 3.0, duration=3.0))
    np.testing.assert_allclose(runs[1].position, runs[0].position, rtol=1e-9, atol=1e-9)
    wound = be.simulate(
        be.Actuator(
            motor=actuator.motor,
            gearbox=actuator.gearbox,
            friction=actuator.friction,
            drive=be.drive.Position(**{**law, "freeze_when_saturated": False}),
        ),
        be.bench.Flywheel(inertia=2e-3),
        3.0,
        duration=3.0,
    )
    assert np.max(wound["integral"]) > 2.0 * np.max(runs[1]["integral"])
