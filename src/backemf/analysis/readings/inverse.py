"""Inverse dynamics: mass, viscous and dry friction from force and position by linear regression, as robot
calibration does it.

Quick and classical; it differentiates position twice, so its filter matters and is stated with the answer. A
simulation-error fit (`fit`) needs neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, MissingValue
from ...logs.log import Log
from ...logs.start import bench_of
from ...physics.actuator import Actuator, Loads, inertias, resistance
from ...physics.steady import iron_drag
from .measured import Followed, Measured, Readings, Shown, estimate, judged
from .regression import regress, sandwich

ENDS = 50
"""Samples left out at either end, where the filter has not settled."""


def inverse_dynamics(log: Log, *, cutoff: float = 50.0, decimation: int = 10) -> Measured:
    """M a + F_v v + F_c sgn(v) + offset = force, with the log's `torque` as force, and what its bench's load
    (gravity, a spring) adds to it, where the log has a bench.

    cutoff      of the zero-phase fourth-order Butterworth low pass on position [Hz]
    decimation  both sides are low-passed alike and thinned by this factor
    """
    motion = _filtered(log, cutoff, decimation)
    columns = [motion.acceleration, motion.velocity, np.sign(motion.velocity), np.ones_like(motion.velocity)]
    W, y = np.stack([_thinned(column, decimation) for column in columns]).T, motion.thin_torque
    load = _load(log, motion)
    if load is not None:
        y = y + _thinned(load, decimation)
    x = regress(W, y).coefficients
    covariance, spare = sandwich(W, y - W @ x)  # what the low pass leaves is alike for some samples
    linear = log.motion == "linear"
    units = ("kg", "N s/m", "N", "N") if linear else ("kg m^2", "N m s/rad", "N m", "N m")
    names = ("inertia", "friction.viscous", "friction.coulomb", "friction.offset")
    numbers = zip(names, units, x, np.diag(covariance), strict=True)
    terms = {
        name.rpartition(".")[2]: estimate(name, unit, value, variance, spare)
        for name, unit, value, variance in numbers
    }
    remedy = "excite more: accelerations of several sizes, speeds of both signs; check the sign of the force"
    for name in ("viscous", "coulomb"):
        terms[name] = judged(terms[name], zero=True, remedy=remedy)
    relative = float(np.linalg.norm(y - W @ x) / np.linalg.norm(y))
    terms["force_error"] = Measured(name="relative force error", unit="1", value=relative, error=0.0)
    t = np.linspace(0.0, float(log.time[-ENDS - 1] - log.time[ENDS]), len(y)) + log.time[ENDS]
    force = f"{'force [N]' if linear else 'torque [N m]'}"
    made = replace(
        terms["inertia"],
        others=terms,
        route="inverse-dynamics",
        shown=Shown(
            x_label="time [s]",
            y_label=force,
            readings=(Readings(x=t, y=y, label="measured"),),
            curves=(Followed(x=t, y=W @ x, label="M a + F_v v + F_c sgn(v) + offset"),),
        ),
        assumption=(
            f"zero-phase Butterworth of order 4 at {cutoff:g} Hz, central differences, thinned by"
            f" {decimation}; the force's own noise is the only error"
        ),
        sharpen="a simulation-error fit of the closed loop",
    )
    found = [f for name in ("viscous", "coulomb") for f in terms[name].findings]
    return judged(made, remedy=remedy).noting(*found)


def force_error(log: Log, actuator: Actuator, *, cutoff: float = 50.0, decimation: int = 10) -> float:
    """How far the force that an actuator's own numbers ask for along a recorded motion is from the recorded
    one, as a share of it: ||force - (M a + drag(v) + dry friction - load)|| / ||force||.

    Filtered and thinned as `inverse_dynamics` does; nothing is fitted. It tells a fit of positions with the
    right numbers from one with the wrong ones.
    """
    motion, bench = _filtered(log, cutoff, decimation), bench_of(log)
    q, v, a, tau = motion.position, motion.velocity, motion.acceleration, motion.torque
    inputs: dict[str, Any] = {name: log[name][ENDS:-ENDS] for name in bench.series}
    friction, J = actuator.friction, inertias(actuator, bench, inputs)
    drag = friction.drag(v) + iron_drag(actuator) * v - (friction.offset or 0.0)
    loads = Loads(tau, bench.load(q, v, inputs), drag, friction.stribeck(v))
    dry = np.sign(v) * resistance(actuator, J, loads, np.sign(v))
    asked = (J.load + J.rotor) * a + drag + dry - loads.load
    y = motion.thin_torque
    return float(np.linalg.norm(y - _thinned(asked, decimation)) / np.linalg.norm(y))


def _load(log: Log, motion: _Motion) -> np.ndarray | None:
    """The bench's torque on the joint along the motion; None where no bench is known."""
    if log.bench is None:
        return None
    inputs: dict[str, Any] = {name: log[name][ENDS:-ENDS] for name in log.bench.series}
    return np.asarray(log.bench.load(motion.position, motion.velocity, inputs)) + 0.0 * motion.position


class _Motion(NamedTuple):
    """A log's motion after the low pass, and its force, without the ends."""

    position: Any
    velocity: Any
    acceleration: Any
    torque: Any
    thin_torque: np.ndarray


def _filtered(log: Log, cutoff: float, decimation: int) -> _Motion:
    from scipy.signal import butter, sosfiltfilt

    for name in ("position", "torque"):
        if name not in log:
            raise MissingValue(
                f"{log.name} has no {name}; inverse dynamics needs position and force (as torque)"
            )
    if decimation < 1 or len(log) < 2 * ENDS + 10 * decimation:
        least = (
            f"at least {2 * ENDS + 10 * decimation}, or less thinning"
            if decimation >= 1
            else "thinning by 1 (none) or more"
        )
        raise InvalidValue(
            f"{log.name} has {len(log)} samples, to be thinned by {decimation}; expected {least}"
        )
    h = float(np.median(np.diff(log.time)))
    if not 0 < cutoff < 0.5 / h:
        raise InvalidValue(
            f"cutoff is {cutoff:g} Hz; expected between 0 and half the sampling rate, {0.5 / h:g} Hz"
        )
    q = np.asarray(sosfiltfilt(butter(4, 2 * cutoff * h, output="sos"), log["position"]))
    v, a = np.zeros_like(q), np.zeros_like(q)
    v[1:-1], a[1:-1] = (q[2:] - q[:-2]) / (2 * h), (q[2:] - 2 * q[1:-1] + q[:-2]) / h**2
    inner = slice(ENDS, -ENDS)
    torque = log["torque"][inner]
    return _Motion(q[inner], v[inner], a[inner], torque, _thinned(torque, decimation))


def _thinned(values: np.ndarray, decimation: int) -> np.ndarray:
    from scipy.signal import decimate

    return np.asarray(values if decimation == 1 else decimate(values, decimation, ftype="fir"))
