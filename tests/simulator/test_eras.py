"""Era 1 to era 2 and back: the same voltage in every state, or a refusal with the reason."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backemf.errors import InvalidValue
from backemf.mujoco.dcmotor import (
    Controller,
    DcMotor,
    DcMotorJoint,
    Engine,
    gains_to_era1,
    gains_to_era2,
    in_volts,
    initial_state,
    states,
)
from backemf.mujoco.step import step
from backemf.physics.friction import LuGre
from backemf.physics.motor import Cogging, Limits, Motor
from backemf.physics.thermal import Thermal

MOTOR = Motor(
    resistance=2.0,
    torque_constant=0.08,
    rotor_inertia=2e-4,
    inductance=0.004,
    limits=Limits(torque=0.3, current_rate=500.0),
    thermal=Thermal(resistance=2.0, capacitance=0.4, ambient=20.0),
    cogging=Cogging(amplitude=0.02, periods=6.0, phase=0.3),
)
FRICTION = LuGre(viscous=1e-3, stiffness=8.0, damping=0.02, coulomb=0.04, static=0.06, stribeck_velocity=0.5)
RANGE = ((-2.0, 1.5),)


def motor_with(inductive: bool = True, **controller) -> DcMotor:
    motor = MOTOR if inductive else dataclasses.replace(MOTOR, inductance=None)
    return DcMotor(motor=motor, friction=FRICTION, gear=5.0, controller=Controller(**controller))


def run(dcmotor: DcMotor, version: str, integrator: str, scale: float) -> np.ndarray:
    joint = DcMotorJoint(inertia=0.01, load=lambda q, v: -0.4 * np.sin(q))
    engine, state, rows = (
        Engine(version=version, integrator=integrator, timestep=1e-3),
        initial_state(dcmotor, position=0.3),
        [],
    )
    for k in range(600):
        u = 2.5 * np.sin(0.01 * k) + 1.5 * (k > 250)
        state = step(dcmotor, joint, engine, state, (scale * u,))
        rows.append((state["position"], state["velocity"], state["temperature_rise"]))
    return np.array(rows)


CASES_1 = [
    {"inputs": "position", "kp": 9.0, "kd": 0.4},
    {
        "inputs": "position",
        "kp": 9.0,
        "ki": 12.0,
        "kd": 0.4,
        "slew": 4.0,
        "integral_limit": 0.2,
        "voltage_limit": 8.0,
        "ctrlrange": RANGE,
    },
    {"inputs": "voltage"},
    {"inputs": "voltage", "slew": 20.0, "voltage_limit": 2.0, "ctrlrange": RANGE},
    {"inputs": "voltage", "slew": 20.0, "inductive": False},
    {"inputs": "voltage", "voltage_limit": 2.0, "ctrlrange": RANGE, "inductive": False},
    {"inputs": "velocity", "kp": 0.6},
    {"inputs": "velocity", "kp": 0.6, "slew": 20.0, "voltage_limit": 1.0, "ctrlrange": RANGE},
    {"inputs": "velocity", "kp": -0.08},
]
CASES_2 = [
    {
        "inputs": ("pos",),
        "kp": 0.4,
        "ki": 0.5,
        "kd": 0.02,
        "slew": 4.0,
        "integral_limit": 0.2,
        "voltage_limit": 8.0,
        "ctrlrange": RANGE,
    },
    {"inputs": ("pos",), "kp": 0.4, "kd": 0.001},
    {"inputs": ("vel",), "kd": 0.03, "slew": 20.0, "voltage_limit": 3.0, "ctrlrange": RANGE},
    {"inputs": ("vel",), "kp": 0.05, "kd": 0.03},
    {"inputs": ("ff",), "kd": 0.004, "slew": 3.0},
    {"inputs": ("ff",), "kd": 0.0032, "voltage_limit": 4.0},
    {"inputs": ("voltage",), "voltage_limit": 2.0},
]


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize(
    "case",
    [*CASES_1, *CASES_2],
    ids=lambda c: " ".join(f"{k}" for k in c if k != "inputs") + f" {c['inputs']}",
)
def test_same_motion_in_both_eras(case, integrator):
    """3.11 and 3.12 differ in their controllers only, so the same voltage is the same trajectory."""
    given = motor_with(**case)
    first = given.controller.era
    other = (gains_to_era2 if first == 1 else gains_to_era1)(given)
    versions = ("3.11.0", "3.12.0") if first == 1 else ("3.12.0", "3.11.0")
    a, b = (
        run(given, versions[0], integrator, 1.0),
        run(other.dcmotor, versions[1], integrator, other.ctrl_scale),
    )
    assert other.dcmotor.controller.era != first
    assert np.max(np.abs(a - b) / np.max(np.abs(a), axis=0)) < 1e-9


def test_the_gains_are_the_published_ones():
    R, K = 2.0, 0.08
    found = gains_to_era2(motor_with(inputs="position", kp=9.0, ki=12.0, kd=0.4)).dcmotor.controller
    assert (found.kp, found.ki, found.kd) == pytest.approx((9 * K / R, 12 * K / R, 0.4 * K / R + K * K / R))
    there = gains_to_era2(motor_with(inputs="velocity", kp=0.6))
    assert there.dcmotor.controller.kd == pytest.approx(K * (0.6 + K) / R)
    assert there.ctrl_scale == pytest.approx(0.6 / (0.6 + K))
    assert states(there.dcmotor) == states(motor_with(inputs="velocity", kp=0.6))


@pytest.mark.parametrize(
    ("given", "kept"), [((), (-0.48, 0.48)), (((-0.1, 0.9),), (-0.1, 0.48)), (((-0.9, 0.2),), (-0.48, 0.2))]
)
def test_a_torque_within_a_voltage_becomes_a_range_of_volts(given, kept):
    """12 V through 2 ohm give 0.48 N m; what was the narrower bound stays."""
    R, K = 2.0, 0.08
    control = Controller(inputs=("ff",), kd=K * K / R, voltage_limit=12.0, ctrlrange=given)
    plain = dataclasses.replace(MOTOR, inductance=None)
    made = in_volts(DcMotor(motor=plain, friction=FRICTION, gear=5.0, controller=control))
    assert made.dcmotor.controller.voltage_limit is None
    assert made.dcmotor.controller.inputs == "voltage"
    (volts,) = made.dcmotor.controller.ctrlrange
    assert volts == pytest.approx([torque * R / K for torque in kept])
    assert made.ctrl_scale == pytest.approx(R / K)


def test_what_has_no_volts_stays_as_it_is():
    two = DcMotor(motor=MOTOR, gear=5.0, controller=Controller(inputs=("pos", "vel"), kp=1.0, kd=0.5))
    assert in_volts(two) == (two, 1.0)


@pytest.mark.parametrize("case", [CASES_1[0], CASES_1[1], CASES_1[6]])
def test_there_and_back(case):
    given = motor_with(**case)
    there = gains_to_era2(given)
    back = gains_to_era1(there.dcmotor)
    assert there.ctrl_scale * back.ctrl_scale == pytest.approx(1.0)
    assert (back.dcmotor.controller.kp, back.dcmotor.controller.kd) == pytest.approx(
        (given.controller.kp, given.controller.kd)
    )
    assert gains_to_era2(there.dcmotor) == (there.dcmotor, 1.0)
    assert gains_to_era1(given) == (given, 1.0)


@pytest.mark.parametrize(
    ("convert", "given", "text"),
    [
        (
            gains_to_era2,
            {"inputs": "velocity", "kp": 0.5, "ki": 3.0},
            "era 1's velocity input with ki > 0 has no equivalent in era 2",
        ),
        (gains_to_era2, {"inputs": "velocity"}, "era 1's velocity input with kp = 0 ignores its command"),
        (
            gains_to_era2,
            {"inputs": "voltage", "voltage_limit": 5.0, "inductive": False},
            "era 1's voltage input with a voltage limit, a thermal model",
        ),
        (gains_to_era1, {"inputs": ("pos", "vel")}, "the inputs are 'pos vel'; era 1 has exactly one input"),
        (gains_to_era1, {"inputs": ()}, "the inputs are 'none'; era 1 has exactly one input"),
        (
            gains_to_era1,
            {"inputs": ("ff",), "kd": 0.0032, "voltage_limit": 4.0, "inductive": False},
            "this law is a plain voltage with a limit",
        ),
    ],
)
def test_no_equivalent(convert, given, text):
    with pytest.raises(InvalidValue) as caught:
        convert(motor_with(**given))
    assert str(caught.value).startswith(text)
