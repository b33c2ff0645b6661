"""How far a virtual servo's wheel winds up, and what it says of its own profile, without a clock."""

from __future__ import annotations

import math

import pytest

from .test_firmware import TURN, Wire

FULL = 1.0 / (0.166 * 32)
"""An STS3215 gives all of its supply at this error [rad]: 0.166 of it per radian and count of 32."""


def on(protocol, *faults, before, **registers):
    """One servo whose torque is on, and registers that were written before and after that."""
    wire = Wire(protocol, ids=(1,), faults=faults)
    for name, value in {**before, "torque_enable": 1, **registers}.items():
        wire.write(name, value)
    return wire


@pytest.mark.parametrize(("sign", "share"), [(1, 0.3), (-1, 0.6)])
def test_a_wheel_that_is_held_winds_up_no_further_than_its_duty(sign, share):
    """What it asks for is ahead by the error that gives the duty it is allowed, and turns back at once."""
    asked = {"torque_limit": round(1000 * share), "goal_velocity": sign * 400}
    wire = on("feetech", "stuck=0s", before={"mode": 1}, **asked)
    wire.wait(1.5)
    ahead = wire.one._setpoint - wire.get("position")
    assert ahead * TURN == pytest.approx(sign * share * FULL, rel=0.02)
    seen = wire.plant.sensor_values(0)
    assert seen["voltage"] / seen["supply"] == pytest.approx(sign * share, abs=0.01)
    wire.write("goal_velocity", -sign * 400)
    wire.wait(2.2 * share * FULL / (400 * TURN))
    assert wire.one._setpoint - wire.get("position") == pytest.approx(-ahead, abs=3)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_servo_says_where_its_profile_is_and_whether_it_moves(sign):
    wire = on("dynamixel2", before={"homing_offset": 200}, profile_velocity=30, goal=2248 + sign * 600)
    wire.wait(0.5)
    names = ("velocity_trajectory", "moving", "moving_status")
    way = sign * 30 * 0.229 * math.pi / 30 / TURN * 0.5
    assert wire.get("position_trajectory") == pytest.approx(2248 + way, abs=2)
    assert [wire.get(name) for name in names] == [sign * 30, 1, 2]
    wire.wait(1.5)
    assert wire.get("position_trajectory") == 2248 + sign * 600
    assert [wire.get(name) for name in names] == [0, 0, 1]
