"""Derivatives of one step by JAX: finite, and equal to finite differences, for every variant,
at rest and at saturation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from backemf.engine.system import ActuatorSystem

from .variants import marked, variants

H = 1e-3
MOMENTS = {
    "moving": {"position": 0.3, "velocity": 0.7},
    "backwards": {"position": 0.4, "velocity": -0.9},
    "at rest": {"position": 0.12, "velocity": 0.0},
    "saturated": {"position": -2.0, "velocity": 0.5},
}
HIDDEN = {
    "current": 0.4,
    "bristle": 4e-4,
    "integral": 0.05,
    "setpoint": 0.5,
    "lagged_setpoint": 0.47,
    "overload": 0.3,
    "winding_temperature": 41.0,
    "held_effort": 2.0,
    "until_sample": 4e-4,
    "travel_1": 2e-3,
}


def states_at(actuator, moment: str) -> np.ndarray:
    given = dict(MOMENTS[moment])
    if "rotor_position" in actuator.states:
        given |= {
            "rotor_position": given["position"] + 0.004,
            "rotor_velocity": given["velocity"] * 1.1 + 0.01,
        }
    given |= {name: value for name, value in HIDDEN.items() if name in actuator.states}
    return np.array(list(actuator.initial_state(**given).values()))


@pytest.mark.parametrize("name", marked())
def test_jax_agrees_with_finite_differences(name):
    actuator, bench, inputs = variants()[name]
    system = ActuatorSystem(actuator=actuator, bench=bench, inputs=tuple(inputs))
    p, u = np.array(list(system.parameters.values())), tuple(inputs.values())
    names = [*system.parameters, *system.states]

    def step(x):
        after = system.step(tuple(x[: len(p)]), tuple(x[len(p) :]), u, H)
        after = jnp.stack([jnp.asarray(v, float) for v in after])
        return after, after

    with jax.enable_x64(True):
        both = jax.jit(jax.jacfwd(step, has_aux=True))
        for moment in MOMENTS:
            if bench.locked and moment != "at rest":
                continue
            x = np.concatenate([p, states_at(actuator, moment)])
            exact, value = (np.asarray(a) for a in both(x))
            assert np.all(np.isfinite(exact)), moment
            size = np.max(np.abs(exact), axis=1)
            for k, parameter in enumerate(names):
                if moment == "at rest" and parameter in ("velocity", "rotor_velocity"):
                    continue  # a kink: the joint may stick, and the derivative is one-sided
                d = 1e-4 * max(abs(x[k]), 1e-2)

                def central(d, k=k, x=x):
                    return (
                        np.asarray(both(x + d * np.eye(len(x))[k])[1])
                        - np.asarray(both(x - d * np.eye(len(x))[k])[1])
                    ) / (2 * d)

                near = (4 * central(d / 2) - central(d)) / 3
                rounding = 1e-14 * (np.abs(value) + 1e-3) / d
                off = np.abs(exact[:, k] - near) - rounding
                allowed = 2e-4 * np.maximum(np.abs(exact[:, k]), np.abs(near)) + 1e-9 * size + 1e-10
                assert np.all(off <= allowed), (
                    f"{moment}: d {system.states[int(np.argmax(off - allowed))]} / d {parameter}:"
                    f" {exact[:, k]} against {near}"
                )


def test_a_stuck_joint_forgets_its_velocity():
    """From below stiction a small velocity is gone within the step, whatever its sign:
    the derivative at rest is zero."""
    actuator, bench, inputs = variants()["friction-stribeck"]
    system = ActuatorSystem(actuator=actuator, bench=bench, inputs=tuple(inputs))
    load = bench.load(0.9, 0.0, {})
    assert abs(load) > 0.15  # gravity exceeds friction here, so the drive holds it
    held = {
        **inputs,
        "position_target": 0.9 - load * actuator.motor.resistance / actuator.motor.torque_constant / 30.0,
    }
    s = actuator.initial_state(position=0.9, setpoint=held["position_target"])

    def stepped(v):
        after = system.step(
            tuple(system.parameters.values()),
            tuple(v if k == "velocity" else x for k, x in s.items()),
            tuple(held.values()),
            H,
        )
        return jnp.asarray(after[1], float)

    with jax.enable_x64(True):
        velocity = jax.jit(stepped)
        assert velocity(jnp.asarray(0.0)) == 0.0
        assert velocity(jnp.asarray(1e-6)) == 0.0
        assert velocity(jnp.asarray(-1e-6)) == 0.0
        assert jax.jacfwd(velocity)(jnp.asarray(0.0)) == 0.0
