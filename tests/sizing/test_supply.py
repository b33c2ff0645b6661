"""The bus against its own equation, against a scan from above, and against a robot without it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.physics.supply import BusDemand, bus_power, held_share, solve_bus
from backemf.sizing.robot_power import RobotMotionLoad, run_on_supply, supply_of

LIMIT = 0.95


def draw(rng: np.random.Generator, n: int = 12) -> tuple[float, float, BusDemand]:
    R, E, i = rng.uniform(0.2, 1.0, n), rng.uniform(-25.0, 25.0, n), rng.uniform(-30.0, 30.0, n)
    duty = np.where(rng.random(n) < 0.3, rng.uniform(-0.9, 0.9, n), np.nan)
    return rng.uniform(20.0, 30.0), rng.uniform(0.01, 0.3), BusDemand(R * i + E, i, E, R, duty, LIMIT)


def residual(V: np.ndarray, V_oc: float, R_b: float, d: BusDemand) -> np.ndarray:
    """What is left of Kirchhoff's law, each joint drawing what it draws at that voltage."""
    V = np.asarray(V, float)[..., None]
    regulated = np.isnan(d.duty)
    saturated = regulated & (np.abs(d.v) > LIMIT * V)
    u = np.where(regulated, LIMIT * np.sign(d.v), np.nan_to_num(d.duty))
    i = np.where(saturated | ~regulated, u * (u * V - d.E) / d.R, d.v * d.i / V)
    return V[..., 0] + R_b * (i.sum(axis=-1) + 1.0) - V_oc


def test_the_bus_is_at_the_largest_root_of_kirchhoffs_law():
    rng, carried = np.random.default_rng(0), 0
    for _ in range(1000):
        V_oc, R_b, d = draw(rng)
        bus = solve_bus(V_oc, R_b, 1.0, d)
        if math.isnan(bus.voltage):
            above = np.linspace(0.5, 200.0, 4000)
            assert (residual(above, V_oc, R_b, d) > -1e-9).all() or residual(200.0, V_oc, R_b, d) < 0
            continue
        carried += 1
        assert abs(residual(bus.voltage, V_oc, R_b, d)) < 1e-12 * max(V_oc, bus.voltage)
        above = np.linspace(bus.voltage + 1e-6, 1.5 * max(bus.voltage, V_oc) + 200.0, 2000)
        assert (residual(above, V_oc, R_b, d) > -1e-9).all()
    assert carried > 500


def test_more_power_than_a_supply_carries_is_a_collapse():
    def one(power: float) -> BusDemand:
        v = np.array([5.0])
        return BusDemand(v, power / v, 0 * v, v * v / power, np.array([np.nan]), 1.0)

    most = 24.0**2 / (4.0 * 0.1)  # P = V'^2 / 4 R_b, at half the voltage
    assert solve_bus(24.0, 0.1, 0.0, one(0.999 * most)).voltage == pytest.approx(12.0, abs=0.5)
    fallen = solve_bus(24.0, 0.1, 0.0, one(1.001 * most))
    assert fallen.saturated.all()  # a resistance of 25 / 1441 ohm now, behind 0.1 ohm
    assert fallen.voltage == pytest.approx(24.0 * (25 / 1441.44) / (25 / 1441.44 + 0.1), rel=1e-9)


def test_at_its_limit_a_supply_gives_just_that():
    rng = np.random.default_rng(4)
    supply = be.Supply(voltage=29.6, resistance=0.08, current_limit=60.0, auxiliary_current=2.0)
    for _ in range(50):
        _, _, d = draw(rng)
        bus = solve_bus(29.6, 0.08, 2.0, d)
        if math.isnan(bus.voltage) or bus_power(bus, d) / bus.voltage + 2.0 <= 60.0:
            continue
        i = bus.i * held_share(supply, 29.6, bus.i, d)
        assert np.sum((d.R * i + d.E) * i) == pytest.approx(58.0 * (29.6 - 0.08 * 60.0), rel=1e-9)


def swinging(n: int, amplitude: float = 1.0, torque: float = 6.0) -> RobotMotionLoad:
    t = np.arange(0.0, 2.0, 0.002)[:, None]
    phase = 2 * np.pi * (t + np.arange(n) / n)
    w, a = amplitude * 6.0 * np.cos(phase), -amplitude * 6.0 * 2 * np.pi * np.sin(phase)
    return RobotMotionLoad(t[:, 0], w, a, torque * np.sin(phase + 0.3))


def actuators(n: int) -> dict[str, be.Actuator]:
    return {f"j{k}": be.Actuator.read("mini-cheetah") for k in range(n)}


STIFF = be.Supply(voltage=24.0)
SOFT = be.Supply(voltage=24.0, resistance=0.05, capacity=3600.0, slow_resistance=0.02, slow_capacitance=5.0)


def test_a_stiff_supply_is_none_and_a_soft_one_closes_its_book():
    load = swinging(6)
    stiff, soft = (run_on_supply("six", actuators(6), load, s) for s in (STIFF, SOFT))
    assert np.ptp(stiff.voltage) == 0.0
    assert not stiff.findings
    assert all(j.missing == 0.0 for j in stiff.joints)  # nothing saturates
    for one, other in zip(stiff.joints, soft.joints, strict=True):
        assert one.current_rms == pytest.approx(other.current_rms, rel=1e-12)
    for run in (stiff, soft):
        book = dict(run.energy)
        source = book.pop("source")
        assert sum(book.values()) == pytest.approx(source, rel=1e-6)
    assert soft.energy["internal"] > 0.0
    drawn = np.sum(soft.current * 0.002)
    assert soft.runtime == pytest.approx(3600.0 / (drawn / 2.0), rel=1e-3)  # ends of the sum


def test_rotors_get_what_the_motion_and_its_losses_take():
    """No load and no friction: what the rotors get over whole periods is nothing but what is lost."""
    plain = be.Actuator(motor=be.motor.Motor(resistance=0.2, torque_constant=0.1, rotor_inertia=1e-4))
    run = run_on_supply("one", {"a": plain}, swinging(1, torque=0.0), STIFF)
    kinetic = 1e-4 * 36.0
    assert abs(run.energy["rotors"]) < 1e-3 * kinetic  # a discrete sum over two periods


def test_findings_of_a_supply_that_is_too_small():
    load = swinging(6, amplitude=3.0, torque=20.0)
    weak = run_on_supply("six", actuators(6), load, be.Supply(voltage=24.0, resistance=1.0))
    assert {"supply_collapses", "torque_missing"} <= {f.code for f in weak.findings}
    held = run_on_supply("six", actuators(6), load, be.Supply(voltage=24.0, current_limit=5.0))
    assert "supply_limited" in {f.code for f in held.findings}
    assert np.nanmax(held.current) <= 5.0 + 1e-9


def test_braking_without_anybody_who_takes_it_pumps_the_bus():
    supply = be.Supply(voltage=24.0, charge_limit=0.0, capacitance=1e-3)
    load = swinging(1, amplitude=4.0, torque=-30.0)
    run = run_on_supply("one", actuators(1), load, supply)
    assert "supply_pumped" in {f.code for f in run.findings}
    braked = run_on_supply("one", actuators(1), load, replace(supply, brake=2.0))
    assert braked.energy["brake"] == pytest.approx(run.energy["pumped"], rel=1e-9)
    from backemf.physics.supply import voltage_after

    assert voltage_after(24.0, 1.0, 1e-3) == pytest.approx(50.8, abs=0.05)  # published with one digit


def test_words_of_a_supply():
    assert supply_of("voc=29.6V r=80mohm capacity=8Ah fuse=60A") == be.Supply(
        voltage=29.6, resistance=0.08, capacity=8 * 3600.0, current_limit=60.0
    )
    with pytest.raises(be.BackemfError, match="no voltage"):
        supply_of("r=1ohm")
    with pytest.raises(be.BackemfError, match="word of a supply"):
        supply_of("voc=24V colour=3")
    with pytest.raises(be.BackemfError, match="belong together"):
        be.Supply(voltage=24.0, slow_resistance=0.1)


def test_hot_windings_are_named_by_joint():
    hot = {"knee": be.Actuator.read("maxon-re-25-118743")}  # 100 degC, and 12 s
    run = run_on_supply("one", hot, swinging(1, amplitude=0.1, torque=0.2), STIFF, repeat=6)
    (said,) = [f for f in run.findings if f.code == "too_hot"]
    assert "knee" in said.text
    assert run.joints[0].seconds_to_limit == pytest.approx(6.0, abs=3.0)  # 6.7 s at its stall, see simulate


TWO = """<mujoco><option timestep="0.002"/><worldbody><body><joint name="a" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass=".2"/>
<body pos="0 0 -.3"><joint name="b" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass=".1"/></body></body>
</worldbody><actuator><position joint="a" kp="5"/><position joint="b" kp="5"/></actuator></mujoco>"""


def moved(supply: be.Supply | None, n: int = 150) -> tuple[np.ndarray, list[dict[str, float]]]:
    """Two servos in MuJoCo that are sent to and fro, on their own supplies or on one."""
    import mujoco

    motors = be.attach(mujoco.MjSpec.from_string(TWO), "sts3215-12v", supply=supply, check=False)
    data, places, seen = mujoco.MjData(motors.model), [], []
    for k in range(n):
        data.ctrl[:2] = 1.0 if k < 100 else -1.0
        if supply is not None:
            motors.feed(data)
            seen.append(motors.bus(data))
        mujoco.mj_step(motors.model, data)
        places.append(data.qpos.copy())
    return np.array(places), seen


def test_motors_in_mujoco_share_a_supply():
    alone, _ = moved(None)
    stiff, seen = moved(be.Supply(voltage=12.0))
    assert np.array_equal(alone, stiff)  # the very same steps
    assert {one["voltage"] for one in seen} == {12.0}
    soft, seen = moved(be.Supply(voltage=12.0, resistance=0.5, capacity=3600.0))
    sag = 12.0 - np.array([one["voltage"] for one in seen])
    assert sag == pytest.approx(0.5 * np.array([one["current"] for one in seen]), abs=1e-9)  # Ohm's law
    assert sag.max() > 1.0
    assert np.abs(soft - alone).max() > 5e-3
    assert seen[-1]["used"] == pytest.approx(0.002 * sum(one["current"] for one in seen[:-1]), rel=1e-6)
    import mujoco

    motors = be.attach(mujoco.MjSpec.from_string(TWO), "sts3215-12v", check=False)
    with pytest.raises(be.BackemfError, match="share no supply"):
        motors.feed(mujoco.MjData(motors.model))
