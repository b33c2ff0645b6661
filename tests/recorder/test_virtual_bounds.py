"""What a virtual servo keeps to, looked at from both sides: currents at speed, a wheel that is held,
overload, silence, heat, a supply that sags; and what it says of itself. Nothing here waits for a clock."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backemf.kits.recorder.virtual.plants import VirtualPlant

from .test_firmware import TURN, Wire

HELD = "stuck=0s"
FULL = 1.0 / (0.166 * 32)
"""An STS3215 gives all of its supply at this error [rad]: 0.166 of it per radian and count of 32."""


def on(protocol, *faults, before=(), **registers):
    """One servo whose torque is on, and registers that were written before and after that."""
    wire = Wire(protocol, ids=(1,), faults=faults)
    for name, value in dict(before).items():
        wire.write(name, value)
    wire.write("torque_enable", 1)
    for name, value in registers.items():
        wire.write(name, value)
    return wire


@pytest.mark.parametrize("sign", [1, -1])
def test_a_current_is_the_same_at_any_speed(sign):
    """Until that would take more than the supply."""
    wire, seen = on("dynamixel2", before={"mode": 0}, goal_current=sign * 60), []
    for _ in range(8):
        wire.wait(0.003)
        seen.append([wire.plant.sensor_values(0)[name] for name in ("velocity", "current", "voltage")])
    w, i, volts = sign * np.array(seen).T
    before = volts < 11.0
    assert np.ptp(w[before]) > 3.0
    np.testing.assert_allclose(i[before], 60 * 2.69e-3, rtol=0.15)
    assert np.all(volts < 12.001)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_wheel_that_is_held_winds_up_no_further_than_its_duty(sign, share):
    """What it asks for is ahead by the error that gives the duty it is allowed, and turns back at once."""
    wire = on("feetech", HELD, before={"mode": 1}, torque_limit=round(1000 * share), goal_velocity=sign * 400)
    wire.wait(1.5)
    ahead = wire.one._setpoint - wire.get("position")
    assert ahead * TURN == pytest.approx(sign * share * FULL, rel=0.02)
    seen = wire.plant.sensor_values(0)
    assert seen["voltage"] / seen["supply"] == pytest.approx(sign * share, abs=0.01)
    wire.write("goal_velocity", -sign * 400)
    wire.wait(2.2 * share * FULL / (400 * TURN))
    assert wire.one._setpoint - wire.get("position") == pytest.approx(-ahead, abs=3)


FEETECH, MX = "feetech", "dynamixel1"
OVERLOADS = [(FEETECH, 720, 0.0, 2.6, False), (FEETECH, 900, 0.0, 1.7, False), (FEETECH, 900, 0.0, 2.3, True),
             (MX, 730, 0.0, 2.6, False), (MX, 920, 0.0, 1.7, False), (MX, 920, 0.0, 2.3, True),
             (MX, 920, 0.04, 2.3, True), (MX, 920, 0.06, 2.3, False)]  # fmt: skip
"""A limit of torque in counts of a thousandth, or 1/1023; a speed [rad/s]; how long: more than four fifths of
the duty for 2 s at a standstill are an overload."""


@pytest.mark.parametrize(("protocol", "torque", "speed", "seconds", "overload"), OVERLOADS)
def test_nearly_all_of_the_duty_for_two_seconds_at_a_standstill_is_an_overload(
    protocol, torque, speed, seconds, overload
):
    wire = on(protocol, HELD, torque_limit=torque, goal=3500)
    values = wire.plant.sensor_values
    wire.plant.sensor_values = lambda k: {**values(k), "velocity": -speed}
    for _ in range(round(seconds / 0.1)):
        wire.wait(0.1)
        wire.one.refresh()
    assert bool(wire.one.alarms >> 5 & 1) == overload


@pytest.mark.parametrize(("count", "silence", "stops"), [(50, 0.8, False), (50, 1.2, True), (0, 9.0, False),
                                                         (127, 2.3, False), (127, 2.7, True)])  # fmt: skip
def test_silence_stops_a_servo_that_watches_its_bus(count, silence, stops):
    """A count is 20 ms."""
    wire = on("dynamixel2", before={"bus_watchdog": count})
    wire.one.watch(silence)
    assert (wire.get("torque_enable"), wire.get("bus_watchdog")) == ((0, 0xFF) if stops else (1, count))
    wire.one.watch(9.0)  # what it has stopped for stays
    assert wire.get("bus_watchdog") == (0xFF if count else 0)
    Wire("feetech").one.watch(9.0)


@pytest.mark.parametrize(("degrees", "bits"), [(60, 0), (79, 0), (81, 4)])
def test_heat_beyond_its_limit_is_said(degrees, bits):
    wire = on("dynamixel1", f"hot={degrees}degC", before={"temperature_limit": 80})
    assert wire.one.status == bits
    assert wire.get("temperature") == degrees
    two = on("dynamixel2", f"hot={degrees}degC", before={"temperature_limit": 80})
    assert two.one.status == (0x80 if bits else 0), "an alert; what it is about stands in a register"
    assert two.get("hardware_error") == bits


def test_a_supply_that_sags_switches_it_off_and_it_starts_anew():
    wire = on("feetech", "brown-out=0.2s", goal=2400)
    wire.write("lock", 1)
    wire.write("proportional", 20)
    wire.wait(0.19)
    wire.one.refresh()
    assert (wire.get("torque_enable"), wire.get("proportional"), wire.get("voltage")) == (1, 20, 74)
    wire.wait(0.02)
    wire.one.refresh()
    assert wire.get("voltage") < 0.6 * 74
    wire.wait(2.0)
    wire.one.refresh()
    assert wire.get("torque_enable") == 0
    assert (wire.get("proportional"), wire.get("voltage")) == (32, 74)
    assert wire.get("goal") == wire.get("position")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_servo_says_where_its_profile_is_and_whether_it_moves(sign):
    before = {"homing_offset": 200}
    wire = on("dynamixel2", before=before, profile_velocity=30, goal=2248 + sign * 600)
    wire.wait(0.5)
    way = sign * 30 * 0.229 * math.pi / 30 / TURN * 0.5
    assert wire.get("position_trajectory") == pytest.approx(2248 + way, abs=2)
    assert wire.get("velocity_trajectory") == sign * 30
    assert (wire.get("moving"), wire.get("moving_status")) == (1, 2)
    wire.wait(1.5)
    assert wire.get("position_trajectory") == 2248 + sign * 600
    assert (wire.get("moving"), wire.get("moving_status"), wire.get("velocity_trajectory")) == (0, 1, 0)


@pytest.mark.parametrize(("share", "moving"), [(0.8, 1), (1.2, 0)])
def test_a_wheel_moves_where_it_is_faster_than_its_threshold(share, moving):
    wire = on("dynamixel2", before={"mode": 1, "moving_threshold": round(share * 100)}, goal_velocity=-100)
    wire.wait(1.0)
    assert wire.get("velocity") == pytest.approx(-100, abs=6)
    assert wire.get("moving") == moving


def test_a_counter_may_begin_anew_in_the_middle():
    plain, wrapped = Wire("feetech"), Wire("feetech", faults=["wrapped"])
    assert (plain.get("position"), wrapped.get("position")) == (2048, 0)
    for plant in (plain.plant, wrapped.plant):
        assert isinstance(plant, VirtualPlant)
        plant.state[0, plant._states["position"]] = -10 * TURN
    assert (plain.get("position"), wrapped.get("position")) == (2038, 4086)
