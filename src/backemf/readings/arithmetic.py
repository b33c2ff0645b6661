"""Bench measurements with honest errors: the arithmetic of document 002, corrected, and a few more of its
kind.

Each answers with a value and its standard error (or a bound), what it assumed, and what else would sharpen
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..findings import Finding
from ..model.bench import GRAVITY, Pendulum


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measured number: a value with its error, or an interval (low,
    high) where the reading allows no more."""

    name: str
    unit: str
    value: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    assumption: str = ""
    sharpen: str = ""
    findings: tuple[Finding, ...] = ()
    others: Mapping[str, Measured] = field(default_factory=dict)
    """Further numbers from the same reading, by name."""

    def __str__(self) -> str:
        if self.value is not None:
            text = f"{self.name} = {self.value:.6g} +- {self.error or 0:.2g} {self.unit}"
        elif self.high is None:
            text = f"{self.name} >= {self.low:.4g} {self.unit}"
        else:
            text = f"{self.name} between {self.low:.4g} and {self.high:.4g} {self.unit}"
        notes = [f"assumed: {self.assumption}"] * bool(self.assumption) + [
            f"sharper with: {self.sharpen}"
        ] * bool(self.sharpen)
        return f"{text} ({'; '.join(notes)})" if notes else text


def _column(name: str, values: Any, least: int) -> np.ndarray:
    found = np.asarray(values, float)
    if found.ndim != 1 or len(found) < least:
        raise InvalidValue(f"{name} has {found.size} readings; expected at least {least}")
    if not np.isfinite(found).all():
        raise InvalidValue(f"{name} is not finite at reading {int(np.argmax(~np.isfinite(found)))}")
    return found


def _line(x: np.ndarray, y: np.ndarray, through_origin: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(coefficients, covariance) of y = slope x (+ intercept) by least squares."""
    return least_squares(x[:, None] if through_origin else np.stack([x, np.ones_like(x)], axis=1), y)


def least_squares(A: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(coefficients, covariance) of y = A coefficients."""
    try:
        with np.errstate(all="ignore"):
            coefficients, *_ = np.linalg.lstsq(A, y, rcond=None)
            residual = y - A @ coefficients
            covariance = float(residual @ residual) / max(len(y) - A.shape[1], 1) * np.linalg.inv(A.T @ A)
    except np.linalg.LinAlgError:
        covariance = coefficients = np.full(A.shape[1], np.nan)
    if not (
        np.isfinite(coefficients).all() and np.isfinite(covariance).all() and (np.diag(covariance) >= 0).all()
    ):
        raise InvalidValue(
            "the readings do not determine the answer; expected ones that differ, of ordinary size, in the"
            " units that --help names"
        )
    return coefficients, covariance


def _positive(name: str, value: float | None) -> None:
    if value is not None and not 0 < value < math.inf:
        raise InvalidValue(f"{name} is {value!r}; expected more than 0")


def _moment(mass: float, length: float, arm_mass: float, angle: float, gravity: float) -> float:
    """Gravity's torque on the arm were it horizontal [N m], once all that was read makes sense."""
    _positive("mass", mass)
    _positive("length", length)
    if not math.isfinite(angle):
        raise InvalidValue(f"angle is {angle!r}; expected a finite number")
    if not 0 <= arm_mass < math.inf:
        raise InvalidValue(f"arm_mass is {arm_mass!r}; expected 0 or more")
    return float(Pendulum(mass=mass, length=length, arm_mass=arm_mass, gravity=gravity).moment())


def friction_from_fall(
    *, mass: float, length: float, angle: float, arm_mass: float = 0.0, gravity: float = GRAVITY
) -> Measured:
    """A falling arm came to rest at `angle` [rad] from the horizontal:
    friction holds it there, so stiction is at least its torque."""
    held = _moment(mass, length, arm_mass, angle, gravity) * abs(math.cos(angle))
    return Measured(
        name="friction.static",
        unit="N m",
        low=held,
        assumption="an arm that came to rest is held by friction at or below stiction",
        sharpen="raise the arm slowly until it just starts to slip: that angle gives the value",
    )


def friction_from_slip(
    *,
    mass: float,
    length: float,
    angle: float,
    angle_error: float = math.radians(1.0),
    arm_mass: float = 0.0,
    gravity: float = GRAVITY,
) -> Measured:
    """An arm raised slowly starts to slip at `angle` [rad] from the horizontal:
    there gravity equals stiction."""
    moment = _moment(mass, length, arm_mass, angle, gravity)
    return Measured(
        name="friction.static",
        unit="N m",
        value=moment * abs(math.cos(angle)),
        error=moment * abs(math.sin(angle)) * angle_error,
        assumption="it was moved slowly, and the drive was off",
        sharpen=(
            "several slips in both directions: their half-difference is friction, their mean the mounting"
            " offset"
        ),
    )


def resistance_from_locked(current: Sequence[float], voltage: Sequence[float]) -> Measured:
    """Voltage over current with the rotor locked: R is the slope;
    an intercept is the drop of brushes and driver."""
    i, v = _column("current", current, 2), _column("voltage", voltage, 2)
    if len(i) != len(v):
        raise InvalidValue(f"{len(i)} currents and {len(v)} voltages; expected as many")
    (R,), cov = _line(i, v, through_origin=True)
    found = []
    others = {}
    if len(i) >= 3:
        (slope, drop), both = _line(i, v)
        others["with_drop"] = Measured(
            name="motor.resistance",
            unit="ohm",
            value=float(slope),
            error=float(math.sqrt(both[0, 0])),
            assumption="a constant voltage drop",
        )
        others["drop"] = Measured(
            name="voltage drop", unit="V", value=float(drop), error=float(math.sqrt(both[1, 1]))
        )
        if abs(drop) > 2 * math.sqrt(both[1, 1]) and abs(drop) > 0.03 * np.max(np.abs(v)):
            found.append(
                Finding(
                    code="voltage_drop",
                    text=(
                        f"the line misses the origin by {drop:.3g} V: resistance is {slope:.4g} ohm with that"
                        f" drop, {R:.4g} without."
                    ),
                    remedy="check the meter's leads and the driver, and take readings at small currents",
                    numbers={"drop": float(drop), "slope": float(slope)},
                )
            )
    return Measured(
        name="motor.resistance",
        unit="ohm",
        value=float(R),
        error=float(math.sqrt(cov[0, 0])),
        findings=tuple(found),
        others=others,
        assumption="the rotor was locked and the winding stayed at one temperature",
        sharpen="short readings at several rotor angles: brushes and warming move it",
    )


def no_load_line(
    voltage: Sequence[float],
    speed: Sequence[float],
    *,
    resistance: float | None = None,
    torque_constant: float | None = None,
) -> Measured:
    """No-load speed over voltage: V = (K + R f_v / K) w + R tau_c / K.
    With R and K the line also gives dry and viscous friction."""
    v, w = _column("voltage", voltage, 3), _column("speed", speed, 3)
    if len(v) != len(w):
        raise InvalidValue(f"{len(v)} voltages and {len(w)} speeds; expected as many")
    _positive("resistance", resistance)
    _positive("torque_constant", torque_constant)
    (slope, intercept), cov = _line(w, v)
    others = {
        "intercept": Measured(
            name="R tau_c / K", unit="V", value=float(intercept), error=float(math.sqrt(cov[1, 1]))
        )
    }
    K = float(slope) if torque_constant is None else torque_constant
    if resistance is not None:
        others["coulomb"] = Measured(
            name="friction.coulomb",
            unit="N m",
            value=float(intercept) * K / resistance,
            error=float(math.sqrt(cov[1, 1])) * K / resistance,
            assumption=(
                "the motor constant is the slope"
                if torque_constant is None
                else "the motor constant as given"
            ),
        )
        if torque_constant is not None:
            others["viscous"] = Measured(
                name="friction.viscous",
                unit="N m s/rad",
                value=(float(slope) - K) * K / resistance,
                error=float(math.sqrt(cov[0, 0])) * K / resistance,
                assumption="what the slope exceeds the motor constant by is viscous friction",
            )
    return Measured(
        name="K + R f_v / K",
        unit="V s/rad",
        value=float(slope),
        error=float(math.sqrt(cov[0, 0])),
        others=others,
        assumption="steady speeds, nothing on the shaft, dry friction that does not depend on speed",
        sharpen="a locked-rotor resistance and a torque constant split the slope into K and viscous friction",
    )


def torque_constant_from_loads(
    load: Sequence[float],
    voltage: Sequence[float],
    *,
    resistance: float,
    static: float,
    directions: Sequence[float] | None = None,
) -> Measured:
    """Static loads held by a voltage at rest: K = (load -+ friction) R / V.

    At rest friction lies anywhere within +-f_s, so readings from one direction only bound K. `directions`
    says for each reading whether the arm last moved up against the load (+1) or came down with it (-1); with
    both, K is pinned.
    """
    tau, v = _column("load", load, 1), _column("voltage", voltage, 1)
    if len(tau) != len(v):
        raise InvalidValue(f"{len(tau)} loads and {len(v)} voltages; expected as many")
    _positive("resistance", resistance)
    if not 0 <= static < math.inf:
        raise InvalidValue(f"static is {static!r}; expected 0 or more")
    if not v.all():
        raise InvalidValue("a voltage is 0; expected the voltages that held the loads")
    if directions is not None and (len(directions) != len(tau) or not set(directions) <= {1, -1}):
        raise InvalidValue(
            f"directions is {list(directions)!r}; expected 1 or -1 for each of the {len(tau)} loads"
        )
    low, high = (tau - static) * resistance / v, (tau + static) * resistance / v
    both = directions is not None and {1, -1} <= set(directions)
    sharpen = (
        "readings with the arm arriving from both directions; a no-load line; loads as heavy as in use,"
        " because friction grows with load"
    )
    if not both:
        return Measured(
            name="motor.torque_constant",
            unit="N m/A",
            low=float(np.min(low)),
            high=float(np.max(high)),
            sharpen=sharpen,
            assumption="friction at rest lies anywhere within +-f_s, and f_s does not grow with the load",
        )
    d = np.asarray(directions, float)
    # K V / R = load + d f: least squares for K / R and f
    A = np.stack([v, -d], axis=1)
    (k, f), cov = least_squares(A, tau)
    return Measured(
        name="motor.torque_constant",
        unit="N m/A",
        value=float(k * resistance),
        error=float(math.sqrt(cov[0, 0]) * resistance),
        sharpen=sharpen,
        others={
            "friction": Measured(
                name="friction.static", unit="N m", value=float(f), error=float(math.sqrt(cov[1, 1]))
            )
        },
        assumption="friction is the same in both directions and does not grow with the load",
    )


def compare_torque_constants(
    found: Mapping[str, Measured],
    *,
    load: Sequence[float] = (),
    voltage: Sequence[float] = (),
    resistance: float | None = None,
) -> list[Finding]:
    """Whether several ways to K agree; where static loads fall short of the others,
    the load-dependent friction that explains it."""
    spans = {}
    for name, m in found.items():
        low = m.low if m.low is not None else (m.value or 0.0) - 2 * (m.error or 0.0)
        high = m.high if m.high is not None else (m.value or 0.0) + 2 * (m.error or 0.0)
        spans[name] = (low, high)
    worst = [(a, b) for a in spans for b in spans if spans[a][1] < spans[b][0]]
    if not worst:
        return []
    text = "; ".join(f"{name} {low:.3g} to {high:.3g}" for name, (low, high) in spans.items())
    numbers: dict[str, float] = {}
    reason = ""
    if len(load) and resistance is not None:
        K = max((m.value for m in found.values() if m.value is not None), default=None)
        if K is not None:
            tau, v = _column("load", load, 2), _column("voltage", voltage, 2)
            excess = K / resistance * v - tau  # what friction must have held while the motor pushed
            (share, rest), _ = _line(tau, excess)
            numbers = {"share": float(share), "dry": float(rest), "K": K}
            reason = (
                f" With K = {K:.3g} the motor pushed {np.mean(excess):.2g} N m more than the load: friction"
                f" that grows with the load, about {100 * np.mean(excess[tau != 0] / tau[tau != 0]):.0f} % of"
                " it, explains that."
            )
    return [
        Finding(
            code="torque_constants_disagree",
            text=f"the ways to the torque constant disagree: {text}.{reason}",
            remedy=(
                "fit a load-dependent friction (M3 to M6) from logs with several loads; use no single static"
                " reading"
            ),
            numbers=numbers,
        )
    ]


def firmware_gain(
    error: Sequence[float], register: Sequence[float], duty: Sequence[float], *, duty_limit: float = 0.95
) -> Measured:
    """Duty over register x position error [rad], as an oscilloscope shows it:
    H, through the origin; saturated readings are left out."""
    e, p, d = _column("error", error, 2), _column("register", register, 2), _column("duty", duty, 2)
    if not len(e) == len(p) == len(d):
        raise InvalidValue(f"{len(e)} errors, {len(p)} registers and {len(d)} duties; expected as many")
    keep = np.abs(d) < duty_limit
    if keep.sum() < 2:
        raise MissingValue(
            "fewer than two readings are below the duty limit; use smaller errors or a smaller gain"
        )
    x, y = (np.abs(e) * p)[keep], np.abs(d)[keep]
    (H,), cov = _line(x, y, through_origin=True)
    found = []
    if len(x) >= 4:
        (slope, offset), both = _line(x, y)
        if abs(offset) > 3 * math.sqrt(both[1, 1]):
            found.append(
                Finding(
                    code="duty_offset",
                    text=f"the readings fit better with an offset of {offset:.3g}: H would be {slope:.5g}.",
                    remedy=(
                        "look for a dead band or a dead time of the bridge in the readings at small errors"
                    ),
                    numbers={"offset": float(offset), "slope": float(slope)},
                )
            )
    return Measured(
        name="drive.firmware_gain",
        unit="1/rad",
        value=float(H),
        error=float(math.sqrt(cov[0, 0])),
        findings=tuple(found),
        assumption="duty is proportional to register x error",
        sharpen="readings at large duty: small ones are dominated by dead time",
    )
