"""A dcmotor's controller by hand in both eras, what it does not know, and its activations."""

from __future__ import annotations

import pytest

from backemf.errors import InvalidValue, UnknownName
from backemf.mujoco.dcmotor import (
    Controller,
    DcMotor,
    DcMotorJoint,
    Engine,
    initial_state,
    release,
    rules,
    states,
    unknown_effects,
)
from backemf.physics.friction import Coulomb, LuGre, Viscous
from backemf.physics.motor import Limits, Motor
from backemf.physics.thermal import Thermal, TwoNodeThermal

MOTOR = Motor(resistance=2.0, torque_constant=0.5)
U, L, W, X = 3.0, 1.0, 0.4, 0.7
"""Command, length, velocity and integral: four numbers that nothing cancels."""
ERA_1 = {"kp": 5.0, "ki": 2.0, "kd": 0.3}
PLAIN = {"resistance": 2.0, "torque_constant": 0.5}


@pytest.mark.parametrize(
    ("inputs", "volts"),
    [
        ("position", 5.0 * (3.0 - 1.0) + 2.0 * 0.7 - 0.3 * 0.4),
        ("velocity", 5.0 * (3.0 - 0.4) + 2.0 * (0.7 - 1.0)),
        ("voltage", 3.0),
    ],
)
def test_gains_in_volts(inputs, volts):
    law = Controller(inputs=inputs, **ERA_1)
    assert law.regulate(MOTOR, (U,), L, W, X) == pytest.approx(volts)
    assert Controller(inputs=inputs, **ERA_1, voltage_limit=2.5).regulate(MOTOR, (U,), L, W, X) == 2.5
    assert Controller(inputs=inputs, **ERA_1, voltage_limit=2.5).regulate(MOTOR, (-9.0,), L, W, X) == -2.5
    assert (law.added_voltage((U,)), law.era, law.n_inputs) == (0.0, 1, 1)
    assert law.regulates == (inputs != "voltage")
    # what it answers to a little more velocity, and to a little more length
    d = 1e-6
    slope = (law.regulate(MOTOR, (U,), L, W + d, X) - volts) / d
    assert law.slope(MOTOR) == pytest.approx(slope, abs=1e-6)
    stiffness = -(law.regulate(MOTOR, (U,), L + d, W, X) - volts) / d
    assert law.stiffness(MOTOR) == pytest.approx(stiffness, abs=1e-6)
    without = Controller(inputs=inputs, kp=5.0)
    assert without.regulate(MOTOR, (U,), L, W, X) == pytest.approx(
        {"position": 10.0, "velocity": 13.0}.get(inputs, U)
    )


@pytest.mark.parametrize(
    ("inputs", "u", "torque", "added"),
    [
        (("pos",), (3.0,), 5.0 * 2.0 - 0.3 * 0.4 + 2.0 * 0.7, 0.0),
        (("pos", "vel"), (3.0, 2.0), 5.0 * 2.0 + 0.3 * 1.6 + 2.0 * 0.7, 0.0),
        (("pos", "ff"), (3.0, 0.9), 5.0 * 2.0 - 0.3 * 0.4 + 2.0 * 0.7 + 0.9, 0.0),
        (("pos", "vel", "ff", "voltage"), (3.0, 2.0, 0.9, 7.0), 10.0 + 0.3 * 1.6 + 1.4 + 0.9, 7.0),
    ],
)
def test_gains_in_newton_metres(inputs, u, torque, added):
    """R / K of the torque, and the back-EMF."""
    law = Controller(inputs=inputs, **ERA_1)
    volts = 4.0 * torque + 0.5 * 0.4
    assert law.regulate(MOTOR, u, L, W, X) == pytest.approx(volts)
    assert (law.added_voltage(u), law.era, law.n_inputs, law.regulates) == (added, 2, len(inputs), True)
    assert law.slope(MOTOR) == pytest.approx(0.5 - 0.3 * 4.0)
    assert law.stiffness(MOTOR) == pytest.approx(5.0 * 4.0)


def test_a_bare_voltage_is_no_feedback():
    law = Controller(inputs=("voltage",))
    assert (law.regulate(MOTOR, (3.0,), L, W, X), law.added_voltage((3.0,)), law.regulates) == (
        0.0,
        3.0,
        False,
    )
    assert law.regulate(MOTOR, (3.0,), L, 0.0, X) == 0.0
    assert (law.slope(MOTOR), law.stiffness(MOTOR)) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("inputs", "x", "gate", "took"),
    [
        ("position", 0.0, True, 2.0),
        (("pos",), 0.0, True, 2.0),
        ("velocity", 0.0, True, 3.0),
        ("voltage", 0.0, True, 3.0),
        ("position", 0.5, True, 0.0),  # at its limit it only lets go
        ("position", -0.5, True, 2.0),
        ("position", 0.5, False, 2.0),
    ],
)
def test_what_the_integral_takes_in(inputs, x, gate, took):
    law = Controller(inputs=inputs, ki=1.0, integral_limit=0.5)
    assert float(law.integrand((U,), L, x, gate)) == took
    assert float(Controller(inputs="position", ki=1.0).integrand((U,), L, 9.0, gate)) == 2.0
    away = Controller(inputs="position", ki=1.0, integral_limit=0.5)
    assert float(away.integrand((0.0,), L, 0.5, True)) == -1.0
    assert float(away.integrand((0.0,), L, -0.5, True)) == 0.0
    assert float(away.integrand((0.0,), L, 0.0, True)) == -1.0


@pytest.mark.parametrize("name", ["ki", "slew", "integral_limit", "voltage_limit"])
def test_small_numbers_are_taken_and_negative_ones_refused(name):
    assert getattr(Controller(inputs=("pos",), **{name: 0.01}), name) == 0.01
    assert getattr(Controller(inputs=("pos",), **{name: 0.0}), name) is None
    with pytest.raises(InvalidValue, match=f"controller.{name} is -0.01"):
        Controller(inputs=("pos",), **{name: -0.01})
    assert (Controller().kp, Controller().kd, Controller().inputs) == (0.0, 0.0, ("voltage",))
    assert (Engine().timestep, Engine(timestep=0.5).timestep) == (0.002, 0.5)
    with pytest.raises(InvalidValue, match=r"engine\.timestep is 0"):
        Engine(timestep=0.0)


def test_inputs_are_held_within_their_ranges():
    law = Controller(inputs=("pos", "vel"), ctrlrange=((-1.0, 2.0), None))
    assert law.commands((3.0, 5.0)) == (2.0, 5.0)
    assert law.commands((-3.0, -5.0)) == (-1.0, -5.0)
    assert Controller(inputs=("pos",)).commands((9.0,)) == (9.0,)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"inputs": "pos"}, "unknown input of era 1"),
        ({"inputs": ("position",)}, "unknown input of era 2"),
        ({"inputs": ("vel", "pos")}, "expected each once, in the order"),
        ({"inputs": ("pos", "pos")}, "expected each once, in the order"),
        ({"inputs": ("vel",), "ki": 1.0}, "expected pos among them"),
        ({"inputs": ("voltage",), "kp": 1.0}, "kp is 1 and kd is 0"),
        ({"inputs": ("voltage",), "kd": 1.0}, "kp is 0 and kd is 1"),
        ({"inputs": ("voltage",), "slew": 2.0}, "slew is 2"),
        ({"inputs": (), "kp": 1.0}, "with the inputs 'none'"),
    ],
)
def test_what_a_controller_cannot_be(given, text):
    with pytest.raises((InvalidValue, UnknownName), match=text):
        Controller(**given)
    assert Controller(inputs=("ff",), kp=1.0, slew=2.0).regulates


LUGRE = {"coulomb": 0.05, "static": 0.08, "stribeck_velocity": 0.3, "stiffness": 50.0, "damping": 0.4}
HEAT = {"resistance": 20.0, "capacitance": 0.05}
NODES = TwoNodeThermal(
    winding_resistance=2.0, winding_capacitance=5.0, housing_resistance=8.0, housing_capacitance=50.0
)


@pytest.mark.parametrize(
    ("motor", "friction", "paths"),
    [
        ({}, Viscous(viscous=0.1, viscous_cubic=0.2), []),
        ({}, LuGre(**LUGRE), []),
        ({"thermal": Thermal(**HEAT)}, Viscous(), []),
        (
            {"thermal": Thermal(**HEAT, magnet_coefficient=-0.002)},
            Viscous(),
            ["motor.thermal.magnet_coefficient"],
        ),
        ({"thermal": NODES}, Viscous(), ["motor.thermal.housing_resistance"]),
        ({"back_emf_constant": 0.4}, Viscous(), ["motor.back_emf_constant"]),
        ({"saturation_current": 4.0}, Viscous(), ["motor.saturation_current"]),
        ({"limits": Limits(torque=1.0, current_rate=2.0)}, Viscous(), []),
        ({"limits": Limits(current=1.0)}, Viscous(), ["motor.limits.current"]),
        ({}, Coulomb(coulomb=0.1), ["friction of kind friction.Coulomb"]),
        ({}, LuGre(**LUGRE, stribeck_exponent=1.0), ["friction.stribeck_exponent"]),
        ({}, Viscous(offset=0.1, asymmetry=0.2), ["friction.asymmetry", "friction.offset"]),
    ],
)
def test_what_has_no_place(motor, friction, paths):
    made = Motor(**PLAIN, **motor)
    assert unknown_effects(made, friction) == paths
    if paths:
        with pytest.raises(InvalidValue, match="MuJoCo's dcmotor does not know"):
            DcMotor(motor=made, friction=friction)


def test_activations_come_in_the_engines_order():
    bare = DcMotor(motor=MOTOR)
    assert states(bare) == ()
    assert (bare.lugre, bare.heat) == (None, None)
    full = DcMotor(
        motor=Motor(**PLAIN, inductance=1e-3, thermal=Thermal(**HEAT)),
        friction=LuGre(**LUGRE),
        controller=Controller(inputs=("pos",), kp=1.0, ki=2.0, slew=3.0),
    )
    assert states(full) == ("setpoint", "integral", "temperature_rise", "bristle", "current")
    assert full.lugre == LuGre(**LUGRE)
    assert full.heat == Thermal(**HEAT)
    assert initial_state(full, current=2.0)["current"] == 2.0
    assert sum(initial_state(full).values()) == 0.0
    with pytest.raises(UnknownName, match="unknown state 'bristle'"):
        initial_state(bare, bristle=1.0)


@pytest.mark.parametrize(
    ("version", "era", "derivative", "bristle"),
    [
        *((f"3.{n}", 1, 1, "last stage") for n in range(7, 12)),
        *((f"3.{n}.1", 2, 1, "last stage") for n in (12, 13)),
        *((f"3.{n}.0", 2, 2, "last stage") for n in range(14, 18)),
        ("4.0.0", 2, 3, "start"),
    ],
)
def test_how_each_version_steps(version, era, derivative, bristle):
    rule = rules(version)
    assert (rule.era, rule.derivative, rule.bristle_velocity) == (era, derivative, bristle)
    assert release(version) == tuple(map(int, version.split(".")[:2]))
    for unknown in ("3.6", "3.18", "5.0", "4", "4.0.0.0"):
        with pytest.raises(UnknownName, match="unknown MuJoCo version"):
            release(unknown)


def test_the_load_of_a_joint():
    assert DcMotorJoint(inertia=1.0).torque(2.0, 3.0) == 0.0
    assert DcMotorJoint(inertia=1.0, load=4.0).torque(2.0, 3.0) == 4.0
    assert DcMotorJoint(inertia=1.0, load=lambda q, v: q - 10 * v).torque(2.0, 3.0) == -28.0
    assert (DcMotorJoint(inertia=1.0).armature, DcMotorJoint(inertia=1.0).damping) == (0.0, Viscous())
