"""A poorer model made to move like a richer one: reference motions, their differences, and the numbers that replay them best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.simulate import simulate
from ..errors import BackemfError
from ..model.actuator import Actuator
from ..model.bench import GRAVITY, Bench, Flywheel, Pendulum
from ..model.drive import CurrentDrive, ImpedanceDrive, PositionDrive
from ..model.steady import electrical_torque, ideal_speed

DT = 0.004
SUBSTEPS = 4
DURATION = 2.0
ARM = 0.1
"""Length of the reference pendulum [m]."""


class Reach(NamedTuple):
    """What an actuator can do."""

    volts: float
    stall: float
    """Torque at the output at rest [N m]."""
    speed: float
    """Speed at which back-EMF eats all the voltage [rad/s]."""


class Motion(NamedTuple):
    """One reference motion."""

    name: str
    bench: Bench
    command: Mapping[str, np.ndarray]
    time: np.ndarray
    start: Mapping[str, float]


class Difference(NamedTuple):
    """Between two sets of positions [rad or m]."""

    rms: float
    worst: float


def reach(actuator: Actuator, amplitude: float = 0.5) -> Reach:
    """At the supply's voltage; without one, at the voltage that an error of `amplitude`, or 10 rad/s, takes."""
    drive, motor, N = actuator.drive, actuator.motor, abs(actuator.gearbox.ratio)
    volts = drive.ceiling({})
    if volts is None:
        K, R = motor.torque_constant, motor.resistance
        volts = 10.0 * motor.back_emf_at(None) * N
        if isinstance(drive, PositionDrive):
            volts = max(drive.volts_per_radian * amplitude, 1e-6)
        elif isinstance(drive, ImpedanceDrive) and drive.newton_metres_per_radian > 0:
            volts = drive.newton_metres_per_radian * amplitude * R / (actuator.gearbox.output_torque(K) or 1.0)
    volts = abs(float(volts))
    return Reach(volts, abs(float(electrical_torque(actuator, volts, 0.0))), abs(float(ideal_speed(actuator, volts))))


def reference_bench(actuator: Actuator, load: float = 0.25, amplitude: float = 0.5) -> Bench:
    """A pendulum whose weight takes `load` of the stall torque, with at least the rotor's own inertia.

    A plain inertia on a linear axis, and for a drive that does not hold a position: it would swing the pendulum over the
    top, where the smallest difference decides which way it falls.
    """
    able = reach(actuator, amplitude)
    J = actuator.gearbox.output_inertia(actuator.motor.rotor_inertia)
    mass = load * able.stall / (GRAVITY * ARM)
    own = mass * ARM * ARM
    least = max(J, 0.02 * able.stall / max(able.speed, 1e-9))  # a free shaft without inertia would have no motion to compare
    if actuator.motion == "linear" or load == 0 or actuator.drive.error_of != "position":
        return Flywheel(inertia=max(own, least, 1e-9))
    return Pendulum(mass=mass, length=ARM, inertia=max(least - own, 0.0) or None)


def reference_motions(actuator: Actuator, *, amplitude: float = 0.5, load: float = 0.25) -> list[Motion]:
    """Steps and sines of the drive's own target over the operating range, on the reference bench."""
    able, bench, drive = reach(actuator, amplitude), reference_bench(actuator, load, amplitude), actuator.drive
    time = DT * np.arange(round(DURATION / DT) + 1)
    size = {"voltage_target": 0.6 * able.volts, "velocity_target": 0.4 * able.speed, "position_target": amplitude, "torque_target": 0.6 * able.stall}
    if isinstance(drive, CurrentDrive):
        held = able.volts / actuator.motor.resistance
        most = actuator.motor.limits.current if actuator.motor.limits is not None and actuator.motor.limits.current else held
        size["current_target"] = 0.6 * min(held, most)
    target = drive.target
    if isinstance(drive, ImpedanceDrive) and drive.newton_metres_per_radian == 0:
        target = "velocity_target" if drive.newton_metre_seconds_per_radian > 0 else "torque_target"
    if not target:
        return [Motion("braked from speed", bench, {}, time, {"velocity": 0.3 * able.speed})]
    A = size[target]
    slow, middle, fast = 0.5, 1.0, 3.0
    shapes = {
        "steps": A * np.where(time < 0.1, 0.0, np.where(time < 0.8, 0.7, np.where(time < 1.4, -0.4, 0.1))),
        "slow sine": A * np.sin(2 * np.pi * slow * time),
        "sine": 0.7 * A * np.sin(2 * np.pi * middle * time),
        "fast sine": 0.3 * A * np.sin(2 * np.pi * fast * time),
    }
    return [Motion(name, bench, {target: values}, time, {}) for name, values in shapes.items()]


def in_words(actuator: Actuator, amplitude: float, load: float) -> str:
    """The operating range, for headers."""
    bench, able = reference_bench(actuator, load, amplitude), reach(actuator, amplitude)
    on = f"pendulum with {load:g} of the stall torque as weight" if isinstance(bench, Pendulum) else "plain inertia"
    return (
        f"steps and sines of 0.5, 1 and 3 Hz, amplitude {amplitude:g} rad (or 0.6 of the voltage, 0.4 of the speed), {DURATION:g} s each, on a {on} "
        f"({float(bench.inertia_at({})):.3g} kg m^2), at {able.volts:g} V"
    )


def positions(actuator: Actuator, motions: Sequence[Motion], substeps: int = SUBSTEPS) -> np.ndarray:
    """Positions of every motion, one row each."""
    rows = []
    for m in motions:
        start = {k: v for k, v in m.start.items() if k in actuator.states}
        rows.append(simulate(actuator, m.bench, m.command, time=m.time, start=start, substeps=substeps).position)
    return np.stack(rows)


def difference(a: np.ndarray, b: np.ndarray) -> Difference:
    d = np.asarray(a) - np.asarray(b)
    if not np.isfinite(d).all():
        return Difference(float("inf"), float("inf"))
    return Difference(float(np.sqrt(np.mean(d * d))), float(np.max(np.abs(d))))


class Fitted(NamedTuple):
    """The best numbers found, and how far they are off."""

    actuator: Actuator
    x: np.ndarray
    difference: Difference
    start: Difference
    """The same before fitting."""


def best(
    make: Callable[[np.ndarray], Actuator], x0: Sequence[float], scale: Sequence[float], rich: np.ndarray, motions: Sequence[Motion], most: int = 25
) -> Fitted:
    """Numbers x >= 0 with which `make(x)` comes closest to the rich positions; the start is kept where nothing is better."""
    from scipy.optimize import least_squares

    x0_, size = np.asarray(x0, float), np.asarray(scale, float)

    def residual(y: np.ndarray) -> np.ndarray:
        try:
            found = positions(make(np.abs(y) * size), motions) - rich
        except BackemfError:
            return np.full(rich.size, 1e3)
        return np.nan_to_num(found.ravel(), nan=1e3, posinf=1e3, neginf=-1e3).clip(-1e3, 1e3)

    before = difference(positions(make(x0_), motions), rich)
    tried: list[Any] = []
    for nudge in (1.0, 1.2):  # a second start, since sticking makes steps in the errors
        y0 = np.maximum(x0_ / size, 1e-3) * nudge
        tried.append(least_squares(residual, y0, bounds=(0.0, np.inf), diff_step=3e-3, max_nfev=most, x_scale=np.maximum(y0, 0.1)))
    found = min(tried, key=lambda r: r.cost)
    x = np.abs(found.x) * size
    after = difference(positions(make(x), motions), rich)
    return Fitted(make(x), x, after, before) if after.rms < before.rms else Fitted(make(x0_), x0_, before, before)
