"""The demonstration's servo and its little story, in one place."""

from __future__ import annotations

import numpy as np

from ...engine.simulate import Trajectory
from ...figure import Band
from ...physics import drive as drives
from ...physics.actuator import Actuator
from ...physics.bench import Pendulum
from ...physics.friction import M4
from ...physics.gearbox import Gearbox
from ...physics.motor import Limits, Motor
from ...physics.thermal import Thermal

BENCH = Pendulum(mass=0.9, length=0.18, arm_mass=0.1)
TARGETS = [(0.0, 0.0), (0.5, np.pi / 2)]
CUT = 20.0
"""Moment at which the servo is switched off [s]."""
END = 24.0


def servo() -> Actuator:
    """A made-up servo of the size of a large hobby servo: plausible numbers, no maker's."""
    return Actuator(
        motor=Motor(
            resistance=4.4,
            torque_constant=0.0068,
            rotor_inertia=6e-8,
            inductance=8e-4,
            thermal=Thermal(resistance=18.0, capacitance=1.0),
            limits=Limits(current=2.4, safe_current=0.3, derating_start=55.0, derating_end=80.0),
        ),
        gearbox=Gearbox(ratio=210.0, efficiency=0.9),
        friction=M4(
            coulomb=0.05, static=0.11, stribeck_velocity=0.12, viscous=0.02, load=0.03, load_stribeck=0.05
        ),
        drive=drives.Servo(firmware_gain=0.16, proportional=32.0, supply=12.0, duty_limit=0.97),
    )


def slip_begins(run: Trajectory) -> int | None:
    """Sample at which the arm first gives way while the servo still holds."""
    moving = np.flatnonzero((run.time > 2.0) & (run.time < CUT) & (run.velocity < 0))
    return int(moving[0]) if len(moving) else None


def bands(run: Trajectory) -> list[Band]:
    """What happens when, for the plots."""
    slip = slip_begins(run)
    marked = [Band(low=0.5, high=1.3, label="lifts"), Band(low=CUT, high=END, label="off")]
    if slip is not None:
        marked.append(Band(low=float(run.time[slip]), high=CUT, label="too warm to hold: it slips"))
    return marked


def rows(run: Trajectory) -> list[tuple[str, str, float, float, float]]:
    """The moments worth a line in the table."""
    q, t, T, i = run.position, run.time, run["winding_temperature"], run.current
    after = np.flatnonzero((t > CUT + 0.2) & (run.velocity == 0))
    moments = [(0, "hangs"), (int(np.argmax(t >= 2.0)), "lifted, holds")]
    if (slip := slip_begins(run)) is not None:
        moments += [(slip, "derated, begins to slip"), (int(np.argmax(t >= CUT)) - 1, "has slipped down")]
    if len(after):
        moments += [(int(after[0]), "switched off, fell, sticks"), (len(t) - 1, "has not moved since")]
    return [(f"{t[k]:.2f}", what, float(np.degrees(q[k])), float(i[k]), float(T[k])) for k, what in moments]
