"""Inverse dynamics: mass, viscous and dry friction from force and position by linear regression, as robot
calibration does it.

Quick and classical; it differentiates position twice, so its filter matters and is stated with the answer. A
simulation-error fit (`fit`) needs neither.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.log import Log
from ..errors import InvalidValue, MissingValue
from .arithmetic import Measured, estimate, least_squares

ENDS = 50
"""Samples left out at either end, where the filter has not settled."""


def inverse_dynamics(log: Log, *, cutoff: float = 50.0, decimation: int = 10) -> Measured:
    """M a + F_v v + F_c sgn(v) + offset = force, with the log's `torque` as force.

    cutoff      of the zero-phase fourth-order Butterworth low pass on position [Hz]
    decimation  both sides are low-passed alike and thinned by this factor
    """
    from scipy.signal import butter, decimate, sosfiltfilt

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
    columns = np.stack([a, v, np.sign(v), np.ones_like(v)])[:, inner]
    rows = np.concatenate([columns, log["torque"][None, inner]])
    if decimation > 1:
        rows = np.stack([decimate(row, decimation, ftype="fir") for row in rows])
    W, y = rows[:-1].T, rows[-1]
    x, covariance = least_squares(W, y)
    linear = log.motion == "linear"
    units = ("kg", "N s/m", "N", "N") if linear else ("kg m^2", "N m s/rad", "N m", "N m")
    names = ("inertia", "viscous", "coulomb", "offset")
    numbers = zip(names, units, x, np.diag(covariance), strict=True)
    terms = {name: estimate(name, unit, value, variance) for name, unit, value, variance in numbers}
    relative = float(np.linalg.norm(y - W @ x) / np.linalg.norm(y))
    terms["force_error"] = estimate("relative force error", "1", relative, 0.0)
    return replace(
        terms["inertia"],
        others=terms,
        assumption=(
            f"zero-phase Butterworth of order 4 at {cutoff:g} Hz, central differences, thinned by"
            f" {decimation}"
        ),
        sharpen="a simulation-error fit of the closed loop",
    )
