"""Relations between two runs that hold whatever the numbers are, of actuators whose parts and numbers are
drawn. Nobody has to know the right answer: a mirrored joint moves as a mirror image, in other units the
motion is the same. docs/testing.md lists them, with those that are tested elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf import codec
from backemf.mujoco.robot.contact import unexplained_torque

from .conftest import needed
from .model.variants import BACKLASH, DRIVES, FRICTIONS, LIMITED, PLAIN, RICH

SEEDS = range(10)
SECONDS, DT, SUBSTEPS = 0.6, 2e-3, 8
ROUNDING = 1e-9
"""[rad]: what 64 bits lose over 2,400 steps of sums in another order, a thousandfold for what sticks."""
LAWS = (
    "position",
    "servo",
    "voltage",
    "velocity",
    "impedance",
    "current",
    "sampled-position",
    "firmware",
    "off",
    "brake",
)
RESTS = (
    "stribeck",
    "m6",
    "lugre",
    "maxwell-slip",
    "coulomb",
    "m4",
    "load-lugre",
    "viscous",
    "dahl",
    "torque-proportional",
)
TERMINALS = ("voltage_target", "current_target")
Drawn = tuple[be.Actuator, Any, dict[str, Any]]


def scaled(part: Any, rng: np.random.Generator, names: str) -> Any:
    """A part with some of its numbers up to a third more or less."""
    there = {name: getattr(part, name) for name in names.split() if getattr(part, name, None)}
    return replace(part, **{name: float(x * rng.uniform(0.75, 1.33)) for name, x in there.items()})


def drawn(seed: int) -> Drawn:
    """An actuator, what it carries, and what it is asked for; each seed has its law and friction."""
    rng = np.random.default_rng(seed)
    drive, at = DRIVES[LAWS[seed % len(LAWS)]]
    motor = (PLAIN, RICH, LIMITED)[seed % 3]
    geared = be.gearbox.Gearbox(ratio=float(rng.uniform(15, 40)), n_motors=2, efficiency=0.85)
    actuator = be.Actuator(
        motor=scaled(motor, rng, "resistance torque_constant rotor_inertia"),
        gearbox=geared
        if motor is RICH
        else replace(BACKLASH, ratio=-2.0)
        if seed % 4 == 3
        else be.gearbox.Gearbox(),
        friction=scaled(FRICTIONS[RESTS[seed % len(RESTS)]], rng, "coulomb viscous"),
        drive=drive,
    )
    benches = (
        be.bench.Pendulum(mass=0.4, length=0.15, tilt=0.2, hanging=0.1),
        be.bench.Spring(inertia=float(rng.uniform(3e-3, 6e-3)), stiffness=1.5, damping=0.02, rest=0.2),
        be.bench.Flywheel(inertia=float(rng.uniform(3e-3, 6e-3))),
    )
    steady = {name: value for name, value in at.items() if name in ("enabled", "supply")}
    wave = be.signal.square(1.0, 3.0, at=0.04)
    asked = {name: lambda t, u=u: u * wave(t) for name, u in at.items() if name not in steady}
    return actuator, benches[seed % 3], {**steady, **asked}


def moved(case: Drawn, *, time: np.ndarray | None = None, **more: Any) -> be.Trajectory:
    actuator, bench, asked = case
    times = np.arange(0.0, SECONDS, DT) if time is None else time
    start = more.pop("start", {"position": 0.3, "velocity": 1.0})
    return be.simulate(actuator, bench, asked, time=times, substeps=SUBSTEPS, start=start, warn=False, **more)


def changed(part: Any, **change: Any) -> Any:
    """A part with what is said of the numbers it has."""
    there = {
        name: f(getattr(part, name)) for name, f in change.items() if getattr(part, name, None) is not None
    }
    return replace(part, **there)


def negative(x: float) -> float:
    return -x


@pytest.fixture(params=SEEDS)
def case(request) -> Drawn:
    return drawn(request.param)


def test_a_mirrored_joint_moves_as_a_mirror_image(case):
    actuator, bench, asked = case
    drive, motor = actuator.drive, actuator.motor
    if getattr(drive, "command_high", None) is not None or getattr(drive, "command_low", None) is not None:
        low, high = drive.command_low, drive.command_high
        drive = replace(
            drive, command_low=low and -high if high else None, command_high=high and low and -low
        )
    other = replace(
        actuator,
        motor=motor
        if motor.cogging is None
        else replace(motor, cogging=changed(motor.cogging, phase=negative)),
        friction=changed(actuator.friction, asymmetry=negative, offset=negative),
        drive=drive,
    )
    mirror = changed(bench, tilt=negative, hanging=negative, rest=negative)
    steady = {name: u for name, u in asked.items() if name in ("enabled", "supply")}
    turned = {name: lambda t, u=u: -u(t) for name, u in asked.items() if name not in steady}
    one = moved(case)
    two = moved((other, mirror, {**steady, **turned}), start={"position": -0.3, "velocity": -1.0})
    np.testing.assert_allclose(two.position, -one.position, atol=ROUNDING)
    assert np.ptp(one.position) > 0.01


PER_ANGLE = {
    "N m": -1, "N m s/rad": -2, "N m s^2/rad^2": -3, "N m s^3/rad^3": -4, "N m/rad": -2, "N m/(rad s)": -2,
    "1/(N m)": 1, "rad": 1, "rad s": 1, "rad/s": 1, "rad/s^2": 1, "1/rad": -1, "s/rad": -1, "V/rad": -1,
    "V s/rad": -1, "V/(rad s)": -1, "1": 0, "s": 0, "V": 0, "V/s": 0, "A": 0,
}  # fmt: skip
"""How a number at the output grows where the angle is counted in a unit that is k times smaller."""


@pytest.mark.parametrize("linear", [False, True])
def test_in_other_units_of_length_the_motion_is_the_same(case, linear):
    """An angle counted in tenths of a radian, or a joint that slides so far."""
    k, (actuator, _, asked) = 10.0, case
    bench = be.bench.Spring(inertia=4e-3, stiffness=1.5, damping=0.02, rest=0.2)
    outside = [p for p in actuator.parameters if not p.startswith("motor.")]
    factors = {p: k ** PER_ANGLE[actuator.unit(p)] for p in outside if p != "drive.bandwidth"}
    factors["gearbox.ratio"] = 1 / k
    ratio = {"gearbox.ratio": actuator.gearbox.ratio}
    numbers = actuator.parameters | ratio
    other = actuator.replace(**{p: f * numbers[p] for p, f in factors.items()})
    other = replace(other, motion="linear" if linear else "rotary")
    assert other.unit("drive.bandwidth" if "drive.bandwidth" in outside else "drive.supply") in ("rad/s", "V")
    wide = be.bench.Spring(inertia=4e-3 / k**2, stiffness=1.5 / k**2, damping=0.02 / k**2, rest=0.2 * k)
    per = {"position_target": k, "velocity_target": k, "torque_target": 1 / k,
           "newton_metre_seconds_per_radian": k**-2}  # fmt: skip
    steady = ("enabled", "supply")
    new = {n: u if n in steady else lambda t, u=u, n=n: per.get(n, 1.0) * u(t) for n, u in asked.items()}
    one = moved((actuator, bench, asked))
    two = moved((other, wide, new), start={"position": 0.3 * k, "velocity": 1.0 * k})
    np.testing.assert_allclose(two.position / k, one.position, atol=1e-7)  # divisions that round otherwise


def test_a_run_that_is_cut_goes_on(case):
    times = np.arange(0.0, SECONDS, DT)
    whole = moved(case, time=times)
    first = moved(case, time=times[:151])
    rest = moved(case, time=times[150:], start=first.final_state())
    np.testing.assert_allclose(rest.position, whole.position[150:], atol=ROUNDING)


def test_it_does_not_matter_when_it_happens(case):
    actuator, bench, asked = case
    late = {n: (lambda t, u=u: u(t - 8.0)) if callable(u) else u for n, u in asked.items()}
    times = np.arange(0.0, SECONDS, DT)
    two = moved((actuator, bench, late), time=8.0 + times)
    # 8 + t rounds to 1e-15 s, by which steps differ in length
    np.testing.assert_allclose(two.position, moved(case, time=times).position, atol=1e-7)


def test_two_motors_are_one_of_twice_the_effect_and_gears_a_slower_one(case):
    actuator, bench, asked = case
    n = actuator.gearbox.n_motors
    shared = replace(actuator.gearbox, n_motors=1)
    joined = replace(actuator, motor=actuator.motor.in_parallel(n), gearbox=shared)
    one = moved(case)
    np.testing.assert_allclose(moved((joined, bench, asked)).position, one.position, atol=1e-8)
    for ratio in (1.0, 7.0, -3.0):
        turned = ratio * actuator.gearbox.ratio < 0  # at the terminals: the other way round
        at = {n: (lambda t, u=u: -u(t)) if turned and n in TERMINALS else u for n, u in asked.items()}
        two = moved((actuator.at_ratio(ratio), bench, at))
        np.testing.assert_allclose(two.position, one.position, atol=1e-7, err_msg=f"{ratio}")


def test_energy_is_neither_made_nor_lost(case):
    e = moved(case, energy=True).energy
    lost = ("copper", "iron", "conversion", "friction", "gear", "load")
    missing = e["electrical"] - sum(e[name] for name in lost) - (e["stored"] - e["stored"][0])
    turnover = np.ptp(e["stored"]) + sum(np.ptp(e[name]) for name in lost)
    assert (
        np.max(np.abs(missing)) < 2e-3 * turnover
    )  # second order in steps of 0.25 ms; first where teeth meet


def test_the_engines_are_twins(case):
    one, two = moved(case), moved(case, engine="reference")
    for name in case[0].states:
        np.testing.assert_allclose(two[name], one[name], rtol=1e-8, atol=ROUNDING, err_msg=name)


def test_what_is_stored_is_what_comes_back(case):
    for noun in case[:2]:
        assert codec.load(json.loads(json.dumps(codec.plain(noun)))) == noun


ARM = """<mujoco><worldbody>{}</worldbody></mujoco>"""
BODY = """<body name="{0}" pos="{1} 0 1"><joint name="{0}" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.{2}"/></body>"""


def test_the_order_of_a_robots_joints_does_not_matter(tmp_path):
    needed("mujoco")
    from backemf.logs.log import Log
    from backemf.mujoco.robot.joint_simulation import simulate_joints

    servo = be.Actuator(motor=PLAIN, friction=FRICTIONS["m4"], drive=DRIVES["servo"][0])
    t = np.arange(0.0, 0.5, 0.01)
    found = {}
    for order in ("abc", "cab"):
        path = tmp_path / f"{order}.xml"
        path.write_text(
            ARM.format("".join(BODY.format(n, "abc".index(n), "abc".index(n) + 1) for n in order))
        )
        robot = be.Robot.read(path)
        asked = {n: 0.2 * np.sin(9 * t + "abc".index(n)) for n in order}
        logs = {n: be.log(n, t, position=0.0 * t, position_target=u) for n, u in asked.items()}
        log = Log(name="run", signals={}, joints=logs, robot=robot)
        acts = {n: servo.replace(**{"friction.coulomb": 0.02 * (1 + "abc".index(n))}) for n in order}
        q = simulate_joints(robot, acts, log, delays=dict(zip("abc", (0.0, 0.004, 0.011), strict=True)))
        found[order] = {n: q[:, robot.place(n)] for n in order}
    for n in "abc":
        np.testing.assert_allclose(found["abc"][n], found["cab"][n], atol=1e-9)  # sums in another order
        assert np.ptp(found["abc"][n]) > 0.05


@pytest.mark.parametrize("push", [-0.4, 0.0, 0.7])
def test_what_nothing_explains_is_what_was_pushed(push):
    """A joint in motion under a load and a push that nobody tells: the push is left over, with its sign."""
    friction = be.friction.Coulomb(coulomb=0.08, viscous=0.3, viscous_quadratic=0.02)
    drive = be.drive.Position(volts_per_radian=30.0, volt_seconds_per_radian=0.3, supply=24.0)
    actuator = be.Actuator(motor=PLAIN, friction=friction, drive=drive)
    t = np.arange(0.0, 1.0, 1e-3)
    asked = 2.0 * np.sin(4.0 * t)
    inputs = {"position_target": asked, "inertia": 0.02, "load": -0.2 + push}
    run = be.simulate(actuator, be.bench.Recorded(), inputs, time=t, substeps=4)
    column: Any = {"position": run.position, "velocity": run.velocity, "recorded": run.position}
    column["acceleration"] = np.gradient(run.velocity, t)
    motion = SimpleNamespace(time=t, **{name: values[:, None] for name, values in column.items()})
    carried = SimpleNamespace(load=np.full((len(t), 1), -0.2), inertia=np.full((len(t), 1), 0.02))
    log = be.log("run", t, position=run.position, position_target=asked)
    torque, _, moves = unexplained_torque(actuator, log, 0.0, motion, carried, 0)  # type: ignore[arg-type]
    seen = torque[moves & (np.abs(run.velocity) > 1.0)]
    assert len(seen) > 300
    assert np.median(seen) == pytest.approx(
        push, abs=0.03
    )  # the command is held for 1 ms: 8 rad/s by 30 V/rad
