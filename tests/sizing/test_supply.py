"""The bus against its own equation, against a scan from above, and against a robot without it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.physics.supply import bus_voltage, draw_power, feed_joints
from backemf.sizing.robot_power import PowerRun, RobotMotionLoad, run_on_supply, supply_of

LIMIT = 0.95


def draw(rng: np.random.Generator, n: int = 12) -> tuple[float, float, list[list[float]]]:
    R, E, i = rng.uniform(0.2, 1.0, n), rng.uniform(-25.0, 25.0, n), rng.uniform(-30.0, 30.0, n)
    by_duty = rng.random(n) < 0.3
    duty, limit = rng.uniform(-0.9, 0.9, n), np.where(by_duty, 0.0, LIMIT)
    rows = np.stack([R * i + E, i, E, R, duty, limit, 0.0 * i, 0.0 * i], axis=1)
    return rng.uniform(20.0, 30.0), rng.uniform(0.01, 0.3), rows.tolist()


def residual(V: np.ndarray, V_oc: float, R_b: float, joints: list[list[float]]) -> np.ndarray:
    """What is left of Kirchhoff's law, each joint drawing what it draws at that voltage."""
    V = np.asarray(V, float)[..., None]
    v, i, E, R, duty, limit, _, _ = np.array(joints).T
    saturated = (limit > 0.0) & (np.abs(v) > limit * V)
    u = np.where(limit > 0.0, limit * np.sign(v), duty)
    i = np.where(saturated | (limit == 0.0), u * (u * V - E) / R, v * i / V)
    return V[..., 0] + R_b * (i.sum(axis=-1) + 1.0) - V_oc


def test_the_bus_is_at_the_largest_root_of_kirchhoffs_law():
    rng, carried = np.random.default_rng(0), 0
    for _ in range(1000):
        V_oc, R_b, d = draw(rng)
        V = bus_voltage(1.0, V_oc - R_b, 0.0, R_b, d)  # with 1 A of everything else
        if math.isnan(V):
            above = np.linspace(0.5, 200.0, 4000)
            assert (residual(above, V_oc, R_b, d) > -1e-9).all() or residual(200.0, V_oc, R_b, d) < 0
            continue
        carried += 1
        assert abs(residual(V, V_oc, R_b, d)) < 1e-12 * max(V_oc, V)
        above = np.linspace(V + 1e-6, 1.5 * max(V, V_oc) + 200.0, 2000)
        assert (residual(above, V_oc, R_b, d) > -1e-9).all()
    assert carried > 500


def test_more_power_than_a_supply_carries_is_a_collapse():
    def one(power: float) -> list[list[float]]:
        return [[5.0, power / 5.0, 0.0, 25.0 / power, 0.0, 1.0, 0.0, 0.0]]

    most = 24.0**2 / (4.0 * 0.1)  # P = V'^2 / 4 R_b, at half the voltage
    assert bus_voltage(1.0, 24.0, 0.0, 0.1, one(0.999 * most)) == pytest.approx(12.0, abs=0.5)
    # beyond it the joint saturates: a resistance of 25 / 1441 ohm now, behind 0.1 ohm
    fallen = bus_voltage(1.0, 24.0, 0.0, 0.1, one(1.001 * most))
    assert fallen == pytest.approx(24.0 * (25 / 1441.44) / (25 / 1441.44 + 0.1), rel=1e-9)


def test_at_its_limit_a_supply_gives_just_that():
    """Shared out by a controller that knows the joints; and by a voltage that falls, where none does."""
    rng, seen = np.random.default_rng(4), 0
    supply = be.Supply(voltage=29.6, resistance=0.08, current_limit=60.0, auxiliary_current=2.0)
    for _ in range(50):
        _, _, d = draw(rng)
        bus = supply.begin()
        share = feed_joints(supply.numbers, 0.0, 1e-3, bus, d)
        _, _, _, voltage, current, _, _, ceiling = bus
        if share == 1.0:
            assert current <= 60.0
            continue
        seen += 1
        E, R, i = (np.array(d)[:, k] for k in (2, 3, 6))
        left = 58.0 * (29.6 - 0.08 * 60.0)
        assert (voltage, current) == (pytest.approx(29.6 - 0.08 * 60.0), 60.0)
        assert np.sum((R * share * i + E) * share * i) == pytest.approx(left, rel=1e-9)
        assert draw_power(ceiling, d) == pytest.approx(left, rel=1e-9)
    assert seen > 10


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


def braked(supply: be.Supply, dt: float) -> PowerRun:
    """Half a second of steady braking: 35.6 J go back."""
    t = np.arange(0.0, 0.5, dt)
    one = np.ones((len(t), 1))
    return run_on_supply("one", actuators(1), RobotMotionLoad(t, 20.0 * one, 0.0 * one, -5.0 * one), supply)


@pytest.mark.parametrize("dt", [0.01, 0.002, 0.0005])
def test_what_nobody_takes_pumps_the_bus_whatever_the_samples(dt):
    run = braked(be.Supply(voltage=24.0, charge_limit=0.0, capacitance=1e-3), dt)
    back = -run.energy["rotors"] - run.energy["copper"]
    assert back == pytest.approx(35.6, abs=0.1)
    assert run.voltage[-1] == pytest.approx(math.sqrt(24.0**2 + 2.0 * back / 1e-3), rel=1e-9)  # C V^2 / 2
    assert [f.code for f in run.findings] == ["supply_pumped"]


def test_a_brake_takes_no_more_than_its_resistance_lets_through():
    back = braked(be.Supply(voltage=24.0), 0.002)
    watts = -back.energy["source"] / 0.5
    small, large = (braked(be.Supply(voltage=24.0, charge_limit=0.0, brake=R), 0.002) for R in (2.0, 1000.0))
    assert np.all(small.voltage == 24.0)
    assert small.energy["brake"] == pytest.approx(0.5 * watts, rel=1e-3)
    assert not small.findings
    assert large.voltage.max() == pytest.approx(math.sqrt(1000.0 * watts), rel=0.02)  # it warms meanwhile
    assert [f.code for f in large.findings] == ["supply_pumped"]
    nobody = braked(be.Supply(voltage=24.0, charge_limit=0.0), 0.002)
    assert [f.code for f in nobody.findings] == ["supply_pumped"]
    assert nobody.energy["pumped"] == pytest.approx(small.energy["brake"], rel=1e-9)


def test_one_joule_into_a_millifarad():
    supply, one = (
        be.Supply(voltage=24.0, charge_limit=0.0, capacitance=1e-3),
        [[-10.0, 1.0, -11.0, 1.0, 0, 1, 0, 0]],
    )
    bus = supply.begin()
    feed_joints(supply.numbers, 0.0, 0.1, bus, one)  # 10 W for 0.1 s
    assert bus[3] == pytest.approx(50.8, abs=0.05)  # published with one digit


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
        mujoco.mj_step(motors.model, data)
        if supply is not None:
            seen.append(motors.bus(data))
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
        motors.bus(mujoco.MjData(motors.model))


ONE = """<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody><body><joint name="a" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass="2"/></body></worldbody>
<actuator><motor joint="a"/></actuator></mujoco>"""


def braking(**supply: float) -> tuple[list[dict[str, float]], list[float], list[be.Finding]]:
    """A motor that speeds its arm up and brakes it: the bus at each step, what it drew [W], what is said."""
    import mujoco

    source = be.Supply(voltage=24.0, **supply)
    motors = be.attach(mujoco.MjSpec.from_string(ONE), "mini-cheetah", supply=source, check=False)
    data, seen, power = mujoco.MjData(motors.model), [], []
    for k in range(400):
        data.ctrl[0] = 10.0 if k < 200 else -10.0
        told = motors.signals_of("a", data)
        power.append(told["voltage"] * told["current"])
        mujoco.mj_step(motors.model, data)
        seen.append(motors.bus(data))
    return seen, power, motors.findings_of(data)


def test_in_mujoco_what_is_braked_goes_where_it_can():
    free, power, _ = braking(resistance=0.1)
    assert min(one["current"] for one in free) < -1.0
    pumped, power, said = braking(resistance=0.1, charge_limit=0.0, capacitance=1e-3)
    V = np.array([24.0, *(one["voltage"] for one in pumped)])
    steady = slice(205, 300)  # braking, once the command has arrived
    stored = 0.5e-3 * np.diff(V**2)
    assert stored[steady] == pytest.approx(-0.001 * np.array(power)[steady], rel=1e-9)  # h P: nobody else
    assert V.max() > 40.0
    assert "supply_pumped" in {f.code for f in said}
    held, power, said = braking(resistance=0.1, charge_limit=0.0, brake=2.0)
    assert max(one["voltage"] for one in held) == 24.0
    brake = np.array([one["brake"] for one in held])
    assert brake[steady] == pytest.approx(-np.array(power)[steady], rel=1e-9)
    assert not said


def test_in_mujoco_a_bus_that_falls_is_said_with_its_time():
    _, _, said = braking(resistance=6.0)
    codes = {f.code: f for f in said}
    assert codes["supply_collapses"].numbers["time"] == pytest.approx(0.4)


def test_in_mujoco_a_hot_winding_is_said_with_its_time():
    """As good as locked at 24 V it is at its limit when `simulate` has it there; said is when it was seen."""
    import mujoco

    motors = be.attach(
        mujoco.MjSpec.from_string(ONE.replace('mass="2"', 'mass="2e5"')), "maxon-re-25-118743", check=False
    )
    data = mujoco.MjData(motors.model)
    data.ctrl[0] = 24.0
    while not (said := motors.findings_of(data)) and data.time < 10.0:
        mujoco.mj_step(motors.model, data, 50)
    (hot,) = said
    run = be.simulate(
        be.Actuator.read("maxon-re-25-118743"), be.bench.Locked(), 24.0, duration=10.0, dt=0.01, warn=False
    )
    assert hot.numbers["time"] == data.time
    assert data.time == pytest.approx(run.findings[0].numbers["time"], abs=0.06)  # looked at every 0.05 s
    assert f"at {data.time:.3g} s" in hot.text


def test_a_robot_with_a_supply_is_simulated_on_it(tmp_path):
    """A stiff one changes nothing at all; a weak one is missed and said, in Python and in the shell."""
    from backemf.apps.cli.simulate_command import simulate

    from ..cli.runner import runner
    from ..robot.arms import ARM
    from ..robot.known import known_fit
    from ..robot.simulated import recording

    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    log = recording(robot, 1, seconds=2.0)
    fit = known_fit(robot, [log], [])

    def on(supply: be.Supply | None):
        return replace(fit, robot=replace(robot, supply=supply)).predict(log)

    alone, stiff, weak = (
        on(s) for s in (None, be.Supply(voltage=12.0), be.Supply(voltage=12.0, resistance=30.0))
    )
    assert np.array_equal(alone.array(), stiff.array())
    assert not stiff.findings
    assert "supply_collapses" in {f.code for f in weak.findings}
    assert np.abs(weak.array() - alone.array()).max() > 0.02
    run = be.power(robot, log, part="elbow=sts3215-12v", battery=be.Supply(voltage=12.0))
    assert run.left_out == ("shoulder", "wrist")
    assert "Nothing moves shoulder, wrist" in str(run)
    path = fit.write(tmp_path / "arm.json")
    shell, words = runner(simulate), ("--command", "elbow=step size=0.6rad", "--duration", "0.5")
    told = shell(path, *words, "--battery", "voc=12V r=30ohm")
    assert "supply_collapses" in told
    with pytest.raises(be.BackemfError, match="applies to a fit of a robot"):
        shell("mx-106/m6", "--command", "step size=1rad", "--battery", "voc=12V")


def test_servos_without_a_current_loop_miss_what_the_bus_misses():
    """Their duty is given, so at standstill torque falls as the voltage does; with a loop it does not."""
    servo = be.Actuator.read("sts3215-12v")
    t = np.arange(0.0, 0.1, 0.001)
    still, torque = np.zeros((len(t), 2)), 0.8 * np.ones((len(t), 2))
    load = RobotMotionLoad(t, still, still, torque)
    weak = be.Supply(voltage=12.0, resistance=0.3)
    runs = [
        run_on_supply("two", {"a": replace(servo, drive=drive), "b": replace(servo, drive=drive)}, load, weak)
        for drive in (servo.drive, be.drive.Impedance(supply=12.0))
    ]
    for one in runs[0].joints:
        assert one.missing == pytest.approx(0.8 * runs[0].sag[0] / 12.0, rel=1e-9)
    assert runs[0].sag[0] > 0.02
    assert all(one.missing < 1e-12 for one in runs[1].joints)


def test_drives_that_derate_give_less_when_warm():
    plain = be.Actuator.read("mini-cheetah")
    limits = be.motor.Limits(current=30.0, safe_current=1.0, derating_start=26.0, derating_end=30.0)
    careful = replace(plain, motor=replace(plain.motor, limits=limits))
    t = np.arange(0.0, 60.0, 0.05)
    one = np.ones((len(t), 1))
    load = RobotMotionLoad(t, 0.0 * one, 0.0 * one, 10.0 * one)
    runs = {n: run_on_supply(n, {"a": a}, load, STIFF) for n, a in (("plain", plain), ("careful", careful))}
    assert runs["plain"].temperatures["a"][-1] > 60.0
    assert runs["careful"].temperatures["a"][-1] < 30.0  # where the safe current is left
    assert runs["careful"].joints[0].missing > 3.0
    assert runs["plain"].joints[0].missing == 0.0


def test_surroundings_and_turns_count_for_the_limit():
    hot = {"knee": be.Actuator.read("maxon-re-25-118743")}  # 100 degC
    load = swinging(1, amplitude=0.1, torque=0.1)
    cool, warm = (run_on_supply("one", hot, load, STIFF, ambient=T).joints[0] for T in (25.0, 60.0))
    assert warm.seconds_to_limit < 0.7 * cool.seconds_to_limit
    run = run_on_supply("one", hot, load, STIFF, repeat=30)
    (said,) = [f for f in run.findings if f.code == "too_hot"]
    assert said.numbers["time"] == pytest.approx(cool.seconds_to_limit, rel=0.2)  # 2 s a turn, and their mean
    assert said.numbers["most"] == pytest.approx(run.temperatures["knee"][-1])


def test_what_nobody_prints_is_said_to_be_missing():
    run = run_on_supply(
        "two",
        {"a": be.Actuator.read("sts3215-12v"), "b": be.Actuator.read("mini-cheetah")},
        swinging(2, amplitude=0.1, torque=0.1),
        be.Supply(voltage=12.0),
    )
    assert run.not_judged == {"a": ("rotor inertia", "lasting current", "thermal resistance")}
    assert "a prints no rotor inertia, lasting current, thermal resistance" in str(run)
    assert run.to_dict()["not_judged"] == [{"part": "a", "missing": list(run.not_judged["a"])}]


def test_sag_is_what_the_load_makes_of_it():
    half = be.Supply(voltage=24.0, empty_voltage=20.0, capacity=3600.0, charge=0.5, resistance=0.01)
    run = run_on_supply("one", actuators(1), swinging(1), half)
    assert run.sag == pytest.approx(0.01 * run.current, abs=1e-9)  # Ohm's law, from 22 V
    assert run.voltage[0] + run.sag[0] == pytest.approx(22.0, rel=1e-9)


def mechanical(run_load: RobotMotionLoad, actuator: be.Actuator) -> float:
    """What one rotor must be given over a motion: its kinetic energy, what friction takes, what the gears
    pass on; sample by sample, as the textbook has it."""
    motor, N, eta = actuator.motor, actuator.gearbox.ratio, actuator.gearbox.efficiency or 1.0
    w, a, T = run_load.velocity[:, 0], run_load.acceleration[:, 0], run_load.torque[:, 0]
    moving = np.abs(w) > 1e-3 * np.max(np.abs(w))
    friction = actuator.friction  # behind the teeth, as the engine has it: they carry it, too
    carried = T * w + np.where(moving, float(friction.moving) * np.abs(w), 0.0) + friction.viscous * w * w
    given = np.where(carried > 0.0, carried / eta, eta * carried)
    rotor = motor.rotor_inertia * N * N * a * w
    return float(np.sum(0.002 * (rotor + np.where(moving, given, carried))))


def test_energy_closes_over_the_robot_against_an_independent_sum():
    load, legs = swinging(6), actuators(6)
    run = run_on_supply("six", legs, load, SOFT)
    work = sum(
        mechanical(RobotMotionLoad(load.time, *(x[:, [j]] for x in load[1:])), legs[f"j{j}"])
        for j in range(6)
    )
    kept = {name: joules for name, joules in run.energy.items() if name not in ("source", "rotors")}
    assert run.energy["source"] == pytest.approx(sum(kept.values()) + work, rel=1e-6)
    drawn = np.sum(0.002 * run.voltage * run.current)  # through the terminals of the battery
    assert run.energy["source"] - run.energy["internal"] == pytest.approx(drawn, rel=1e-9)


GEARED = be.Actuator(
    motor=be.motor.Motor(resistance=0.5, torque_constant=0.1, rotor_inertia=1e-4),
    gearbox=be.gearbox.Gearbox(ratio=6.0, efficiency=0.8, n_motors=2),
    friction=be.friction.Coulomb(coulomb=0.3, viscous=0.05),
    drive=be.drive.Impedance(supply=24.0),
)


def test_every_number_of_two_joints_on_a_bus_by_hand():
    """Two motors behind one gear are one of half the resistance; V (V_oc - V) / R = V I_aux + P."""
    supply = be.Supply(voltage=24.0, resistance=0.1, auxiliary_current=0.5, capacity=7200.0, charge=0.25)
    t, lasting = np.cumsum(np.random.default_rng(2).uniform(1e-3, 3e-3, 400)), {"a": 3.0, "b": 0.4}
    w = np.column_stack([4.0 * np.cos(9.0 * t), -2.0 * np.sin(7.0 * t)])
    a = np.column_stack([-36.0 * np.sin(9.0 * t), -14.0 * np.cos(7.0 * t)])
    load = RobotMotionLoad(t, w, a, T := 4.0 * np.column_stack([np.sin(5.0 * t), np.cos(4.0 * t)]))
    run = run_on_supply("two", {"a": GEARED, "b": GEARED}, load, supply, lasting=lasting, assumed=["b"])
    h, N, K, R = np.append(np.diff(t), t[-1] - t[-2]), 6.0, 0.1, 0.25
    side = np.where(np.abs(w) > 1e-3 * np.max(np.abs(w), axis=0), np.sign(w), 0.0)  # or it stands still
    carried = T + 0.3 * side + 0.05 * w
    i = (N * 2e-4 * a + carried * 0.8 ** -np.sign(carried * side) / N) / K
    E = N * K * w
    P = np.sum((R * i + E) * i, axis=1)
    free = 24.0 - 0.1 * 0.5
    V = 0.5 * (free + np.sqrt(free**2 - 4 * 0.1 * P))
    I = (24.0 - V) / 0.1
    np.testing.assert_allclose(run.voltage, V, rtol=1e-9)
    np.testing.assert_allclose(run.current, I, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(run.sag, 24.0 - V, atol=1e-9)
    book = {"source": 24.0 * I, "internal": (24.0 - V) * I, "auxiliary": V * 0.5, "brake": 0 * I}
    book |= {"pumped": 0 * I, "copper": np.sum(R * i * i, axis=1), "rotors": np.sum(E * i, axis=1)}
    assert run.energy == pytest.approx({name: np.sum(h * x) for name, x in book.items()}, abs=1e-9)
    assert run.runtime == pytest.approx(0.25 * 7200.0 / np.mean(I))
    for k, joint in enumerate(run.joints):
        square = np.average(i[:, k] ** 2, weights=h)
        found = (joint.name, joint.current_rms, joint.copper, joint.missing, joint.continuous_current)
        own = ("ab"[k], np.sqrt(square), R * square, 0.0, 2 * lasting["ab"[k]])
        assert found == (own[0], *(pytest.approx(x, rel=1e-9) for x in own[1:]))
        assert (joint.hottest, joint.seconds_to_limit) == (None, None)
    rms = np.sqrt(np.average(i**2, axis=0, weights=h))
    assert [f.code for f in run.findings] == ["lasting_current_exceeded", "friction_unknown"]
    assert run.findings[0].numbers["share"] == pytest.approx(rms[1] / 0.8)
    assert run.not_judged["b"] == ("friction", "thermal resistance")
    ends = run.to_dict()["bus"]["current"]
    assert list(ends.values()) == pytest.approx([np.mean(I), I.min(), I.max()])
