"""Small recordings for pictures, simulated in a moment, and whether anything here can draw."""

from __future__ import annotations

import numpy as np

import backemf as be
from backemf.errors import NotAvailable

from ..conftest import unavailable

MOTOR = be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3)
SERVO = be.Actuator(
    motor=MOTOR,
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=8.0, voltage_limit=7.4),
)


def pendulum_log(offset: float = 0.0, **changes: object) -> be.Log:
    """Half a second of a swing; the recording is `offset` away from the simulation."""
    bench = be.bench.Pendulum(mass=0.3, length=0.1)
    time = 0.01 * np.arange(51)
    run = be.simulate(SERVO, bench, {"position_target": np.full(51, 1.0)}, time=time, substeps=5)
    given: dict = {
        "position": run.position + offset,
        "position_target": run["position_target"],
        "bench": bench,
        **changes,
    }
    return be.log("swing", time, **{k: v for k, v in given.items() if v is not None})


def needs_renderer() -> None:
    """Skip, or fail in CI, where no picture can be drawn."""
    from backemf.apps.film.offscreen import context

    try:
        context(64, 64).free()
    except NotAvailable:
        unavailable("an OpenGL library for MuJoCo (EGL or OSMesa)")
