"""What a user hears before training on a time step that does not follow the model."""

from __future__ import annotations

import numpy as np
import pytest

from backemf.errors import InvalidValue
from backemf.mujoco.actuator_conversion import to_actuator
from backemf.mujoco.attributes import DcMotorAttributes, compile_dcmotor
from backemf.mujoco.dcmotor import Engine
from backemf.targets.mujoco.finding import Scheme, accurate, integrator_finding, scheme

GEAR = 345.0
INERTIA = 0.01


def servo(stiffness: float, damping: float = 0.0, control: str = "pos"):
    """A bus servo whose bristle is given at the output."""
    lugre = (stiffness / GEAR**2, damping / GEAR**2, 0.08 / GEAR, 0.1 / GEAR, 0.1 * GEAR) if stiffness else ()
    gains = (1e-3, 0.0, 4e-7) if control == "pos" else ()
    return compile_dcmotor(
        DcMotorAttributes(
            resistance=(2.6,),
            motorconst=(0.0047,),
            armature=(2.4e-7,),
            damping=(1e-7,),
            gear=(GEAR,),
            lugre=lugre,
            controller=gains,
            input=control,
        ),
        "4.0.0",
    )


def test_a_smooth_servo_is_followed():
    assert integrator_finding(servo(0.0), INERTIA, 0.002, "implicitfast") is None
    assert integrator_finding(servo(0.0), INERTIA, 0.002, "RK4") is None


def test_a_soft_bristle_is_followed():
    assert integrator_finding(servo(60.0, 0.5), INERTIA, 0.001, "Euler") is None


def test_a_stiff_bristle_diverges_under_runge_kutta():
    found = integrator_finding(servo(6000.0, 3.0), INERTIA, 0.002, "RK4")
    assert found.code == "integrator_diverges"
    assert found.text.startswith("MuJoCo 4.0.0 with RK4 at 2 ms diverges after ")
    assert "a time step of 0.5 ms, or a softer bristle" in found.remedy
    assert found.numbers["timestep_enough"] <= 5e-4


def test_the_remedy_helps():
    stiff = servo(6000.0, 3.0)
    found = integrator_finding(stiff, INERTIA, 0.002, "RK4")
    assert integrator_finding(stiff, INERTIA, found.numbers["timestep_enough"], "RK4") is None
    soft = found.numbers["stiffness_enough"] * GEAR**2
    # the same damping ratio, d / sqrt(k), as of 3 N m s/rad at 6000 N m/rad; a fourth, a sixteenth, ... of it
    damping = 3.0 * (soft / 6000.0) ** 0.5 / GEAR**2
    assert f"lugre stiffness {soft / GEAR**2:.2g} and damping {damping:.2g} at the actuator" in found.remedy
    assert 6000.0 / soft in (4, 16, 64, 256, 1024)
    assert integrator_finding(servo(soft, 3.0 * (soft / 6000.0) ** 0.5), INERTIA, 0.002, "RK4") is None


def test_a_stiff_bristle_is_far_off_under_implicitfast():
    found = integrator_finding(servo(1e5, 10.0), INERTIA, 0.002, "implicitfast")
    assert found.code == "integrator_far_off"
    assert found.numbers["position"] > 0.05
    assert "% of the motion in position" in found.text


def test_any_time_step_can_be_asked_about():
    assert integrator_finding(servo(0.0), INERTIA, 0.003, "RK4") is None  # looked at as 3.33 ms
    assert integrator_finding(servo(0.0), INERTIA, 0.1, "Euler").numbers["timestep"] == 0.1


def test_an_actuator_is_looked_at_too():
    assert integrator_finding(to_actuator(servo(0.0)).actuator, INERTIA, 0.002) is None


def test_a_shorter_step_is_closer():
    reference = accurate(servo(60.0, 0.5, "voltage"), INERTIA)
    errors = [
        scheme(reference, Engine(integrator="Euler", timestep=h)).position
        for h in (0.005, 0.002, 0.001, 0.0005)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(errors[0] / 10, rel=0.1)  # first order
    with pytest.raises(InvalidValue, match=r"timestep is 0.003 s; expected a whole fraction of 0.01 s"):
        scheme(reference, Engine(timestep=0.003))


FAR = [(0.045, 0.18, None, False), (0.055, 0.0, None, True), (0.0, 0.22, None, True), (0.0, 0.0, 0.3, True)]


@pytest.mark.parametrize(("position", "velocity", "diverged", "far"), FAR)
def test_what_is_far_off(position, velocity, diverged, far):
    assert Scheme(position, velocity, diverged).far is far


def test_a_motion_that_is_off_by_a_share_is_said_to_be():
    """Of the way in position, of the root mean square in velocity."""
    reference = accurate(servo(0.0, control="voltage"), INERTIA)
    start, way = reference.position[0], reference.position - reference.position[0]
    other = reference._replace(position=start + 0.8 * way, velocity=0.8 * reference.velocity)
    found = scheme(other, Engine(integrator="implicitfast", timestep=1e-3))
    share = 0.25 * max(abs(way)) / np.ptp(way)
    assert (found.position, found.velocity) == pytest.approx((share, 0.25), abs=0.01)


@pytest.mark.parametrize("inertia", [0.01, 0.2])
def test_what_it_is_asked_moves_it_there_and_back_and_stops(inertia):
    """A position to 0.4 rad; a voltage with the torque for 20 rad/s^2, and 3 rad/s more."""
    run = accurate(servo(0.0, control="voltage"), inertia)
    R, K = 2.6, 0.0047 * GEAR
    volts = 20 * (inertia + GEAR**2 * 2.4e-7) * R / K + 3.0 * K
    t = run.time[:-1]
    asked = np.where(t < 0.7 - 1e-9, volts * np.sin(2 * np.pi * 1.6 * t), 0.0)
    np.testing.assert_allclose(run.ctrl[:, 0], asked, atol=1e-9 * volts)
    held = accurate(servo(0.0), inertia).ctrl[:, 0]
    np.testing.assert_allclose(held, 0.4 * GEAR * np.sin(2 * np.pi * 1.6 * np.minimum(t, 0.7)), atol=1e-6)
