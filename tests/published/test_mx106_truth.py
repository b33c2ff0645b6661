"""The accurate step on the finely integrated pendulum logs:
the true parameters reach the noise floor, even in few substeps."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be


def true_servo(truth: dict, proportional: float) -> be.Actuator:
    friction = be.friction.M6(
        coulomb=truth["friction_base"],
        static=truth["friction_base"] + truth["friction_stribeck"],
        viscous=truth["friction_viscous"],
        stribeck_velocity=truth["dtheta_stribeck"],
        stribeck_exponent=truth["alpha"],
        load_motor=truth["load_friction_motor"],
        load_external=truth["load_friction_external"],
        load_motor_stribeck=truth["load_friction_motor_stribeck"],
        load_external_stribeck=truth["load_friction_external_stribeck"],
        load_motor_quadratic=truth["load_friction_motor_quad"],
        load_external_quadratic=truth["load_friction_external_quad"],
    )
    return be.Actuator(
        motor=be.motor.Motor(
            resistance=truth["R"], torque_constant=truth["kt"], rotor_inertia=truth["armature"]
        ),
        friction=friction,
        drive=be.drive.Servo(firmware_gain=0.158, proportional=proportional, supply=15.0, duty_limit=0.9625),
    )


@pytest.mark.parametrize(("substeps", "most"), [(None, 0.89), (5, 0.89), (1, 0.93)])
def test_noise_floor(shared_data, substeps, most):
    """The floor is 0.871 mrad; the start is one noisy sample, which costs the rest.
    One 5 ms step a sample costs little more."""
    truth = json.loads((shared_data / "mx106_pendulum_truth.json").read_text())
    errors = []
    for path in sorted((shared_data / "mx106_pendulum").glob("*.json")):
        log = json.loads(path.read_text())
        column = {
            k: np.array([entry[k] for entry in log["entries"]], float)
            for k in ("timestamp", "position", "goal_position", "torque_enable")
        }
        run = be.simulate(
            true_servo(truth, log["kp"]),
            be.bench.Pendulum(mass=log["mass"], length=log["length"], arm_mass=log["arm_mass"]),
            {"position_target": column["goal_position"], "enabled": column["torque_enable"]},
            time=column["timestamp"],
            start={"position": column["position"][0]},
            substeps=substeps,
        )
        errors.append(1e3 * np.mean(np.abs(run.position - column["position"])))
    assert len(errors) == 20
    assert np.mean(errors) < most
