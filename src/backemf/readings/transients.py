"""Measurements from short recordings: coast-down, heating and cooling, a reversal across backlash."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import curve_fit, least_squares

from ..data.log import Log
from ..data.logs.start import noise_of
from ..errors import InvalidValue, MissingValue
from ..model.steady import coasting_speed
from ..model.thermal import Thermal
from .arithmetic import Measured, estimate


def coast_down(log: Log, *, inertia: float) -> Measured:
    """A shaft of known inertia left alone: its slowing gives dry and viscous friction.

    See `model.steady.coasting_speed` for the curve it follows until it stops.
    """
    if not 0 < inertia < math.inf:
        raise InvalidValue(f"inertia is {inertia!r} kg m^2; expected more than 0")
    if len(log) < 10:
        raise MissingValue(f"{log.name} has {len(log)} samples; expected at least 10 of a shaft that slows")
    t = log.time - log.time[0]
    if "velocity" in log:
        w = log["velocity"]
    elif "position" in log:
        w = np.gradient(log["position"], t)
    else:
        raise MissingValue(f"{log.name} has neither velocity nor position")
    sign = 1.0 if np.nanmean(w[: max(3, len(w) // 20)]) >= 0 else -1.0
    w = sign * w
    moving = np.isfinite(w) & (w > 0.03 * np.nanmax(w))
    if moving.sum() < 10:
        raise MissingValue(f"{log.name} has fewer than 10 samples in motion")
    end = int(np.flatnonzero(moving)[-1])
    t, w = t[: end + 1][moving[: end + 1]], w[: end + 1][moving[: end + 1]]

    guess = (w[0], (w[0] - w[-1]) / (t[-1] - t[0]), 1e-3)
    try:
        values, cov = curve_fit(coasting_speed, t, w, p0=guess, bounds=([0, 0, 0], np.inf), maxfev=20000)
    except (ValueError, RuntimeError):  # it speeds up, or jumps
        raise InvalidValue(
            f"{log.name} is no coast-down: the speed goes from {w[0]:.3g} to {w[-1]:.3g}; expected a shaft"
            " that slows by itself"
        ) from None
    _, dry, drag = inertia * values
    _, of_dry, of_drag = inertia**2 * np.diag(cov)
    return estimate(
        "friction.coulomb",
        "N m",
        dry,
        of_dry,
        others={"viscous": estimate("friction.viscous", "N m s/rad", drag, of_drag)},
        assumption="the inertia is known, the terminals are open, and nothing else drives or loads the shaft",
        sharpen="a second coast-down with a known inertia added gives the inertia itself",
    )


def inertia_from_two_coasts(slow: Log, fast: Log, *, added: float) -> Measured:
    """Two coast-downs, the slow one with a known inertia added:
    friction is the same, so the slowing tells the inertia."""
    with_, without = coast_down(slow, inertia=1.0), coast_down(fast, inertia=1.0)
    a, b = with_.value or 0.0, without.value or 0.0  # tau_c / J of each
    if not 0 < a < b:
        raise InvalidValue(
            f"the shaft slows by {a:.3g} rad/s^2 with the added inertia and {b:.3g} without; expected it to"
            " slow less with it"
        )
    J = added * a / (b - a)
    relative = math.hypot((with_.error or 0) / a, (without.error or 0) / b) * b / (b - a)
    return Measured(
        name="inertia",
        unit="kg m^2",
        value=J,
        error=J * relative,
        assumption="dry friction is the same in both",
        sharpen="a larger added inertia, several coasts",
    )


def thermal(log: Log, *, power: np.ndarray | float, ambient: float | None = None) -> Measured:
    """Heating and cooling under a known power [W]: thermal resistance,
    and capacitance from the time constant (one node)."""
    if "temperature" not in log:
        raise MissingValue(f"{log.name} has no temperature")
    T, t = log["temperature"], log.time - log.time[0]
    P = np.broadcast_to(np.asarray(power, float), T.shape)
    around = float(T[0]) if ambient is None else ambient
    if not (np.isfinite(P).all() and np.max(P) > 0):
        raise InvalidValue(f"power is {power!r} W; expected finite numbers, and heating somewhere")
    if not math.isfinite(around):
        raise InvalidValue(f"ambient is {around!r} degC; expected a finite number")

    def rise(x: np.ndarray) -> np.ndarray:
        node = Thermal(resistance=float(np.exp(x[0])), capacitance=float(np.exp(x[1])), ambient=around)
        followed = np.empty_like(T)
        followed[0] = T[0]
        for k, h in enumerate(np.diff(t)):
            (followed[k + 1],) = node.advance((followed[k],), P[k], 0.0, h)
        return followed - T

    R = max(float(np.max(T) - around), 1e-3) / max(float(np.max(P)), 1e-9)
    try:
        end = least_squares(rise, np.log([R, max(t[-1] / 5.0, 1e-3) / R]))
    except ValueError:
        raise InvalidValue(
            f"{log.name} cannot be followed by a thermal model; check the power, and the unit of the"
            " temperature"
        ) from None
    cov = np.linalg.pinv(end.jac.T @ end.jac) * 2 * end.cost / max(len(T) - 2, 1)
    (R, C), (of_R, of_C) = np.exp(end.x), np.exp(2 * end.x) * np.diag(cov)
    return estimate(
        "motor.thermal.resistance",
        "K/W",
        R,
        of_R,
        others={"capacitance": estimate("motor.thermal.capacitance", "J/K", C, of_C)},
        assumption="one node, a known power, and a constant ambient",
        sharpen="a cooling phase, and heating until the temperature settles",
    )


def backlash(log: Log, *, moved: float | None = None) -> Measured:
    """A slow reversal: how far the drive side turns before the output follows. Needs `position_target` (drive
    side) and `position`.

    `moved` is the output motion that counts as following; four times the noise unless given.
    """
    for name in ("position", "position_target"):
        if name not in log:
            raise MissingValue(
                f"{log.name} has no {name}; a reversal needs the drive side as position_target and the output"
                " as position"
            )
    drive, out = log["position_target"], log["position"]
    least = moved if moved is not None else max(4.0 * noise_of(out), 1e-9)
    direction = np.sign(np.diff(drive))
    turns = np.flatnonzero(direction[1:] * direction[:-1] < 0) + 1
    gaps = []
    for k in turns:
        later = np.flatnonzero(direction[k] * (out[k:] - out[k]) > least)
        if len(later):
            gaps.append(abs(drive[k + later[0]] - drive[k]) - least)
    if not gaps:
        raise MissingValue(f"{log.name} has no reversal after which the output followed")
    spread = float(np.std(gaps) / math.sqrt(len(gaps))) if len(gaps) > 1 else least
    return Measured(
        name="gearbox.backlash",
        unit="rad",
        value=float(np.mean(gaps)),
        error=max(spread, least / math.sqrt(3)),
        assumption="the motion is slow and the drive side is what was asked",
        sharpen="several slow reversals in both directions, with a light load",
    )
