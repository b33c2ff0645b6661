"""Bench measurements with honest errors: the arithmetic of the Dynamixel document, corrected, and a few more
of its kind.

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
from ..findings import Finding, finding
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
        words = (("assumed", self.assumption), ("sharper with", self.sharpen))
        notes = "; ".join(f"{word}: {said}" for word, said in words if said)
        return f"{text} ({notes})" if notes else text


def estimate(name: str, unit: str, value: float, variance: float, **words: Any) -> Measured:
    """A number as least squares gives it, with its variance."""
    return Measured(name=name, unit=unit, value=float(value), error=math.sqrt(variance), **words)


def _columns(least: int, **readings: Any) -> list[np.ndarray]:
    """Readings by name, each at least so many, all of them as many."""
    columns = {name: np.asarray(values, float) for name, values in readings.items()}
    for name, column in columns.items():
        if column.ndim != 1 or len(column) < least:
            raise InvalidValue(f"{name} has {column.size} readings; expected at least {least}")
        if not np.isfinite(column).all():
            raise InvalidValue(f"{name} is not finite at reading {int(np.argmax(~np.isfinite(column)))}")
    if len({len(column) for column in columns.values()}) > 1:
        plural = {name: f"{name[:-1]}ies" if name.endswith("y") else f"{name}s" for name in columns}
        *most, last = (f"{len(column)} {plural[name]}" for name, column in columns.items())
        raise InvalidValue(f"{', '.join(most)} and {last}; expected as many")
    return list(columns.values())


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
    i, v = _columns(2, current=current, voltage=voltage)
    (R,), cov = _line(i, v, through_origin=True)
    findings, others = [], {}
    if len(i) >= 3:
        (slope, drop), both = _line(i, v)
        assumption = "a constant voltage drop"
        others["with_drop"] = estimate("motor.resistance", "ohm", slope, both[0, 0], assumption=assumption)
        others["drop"] = estimate("voltage drop", "V", drop, both[1, 1])
        if abs(drop) > 2 * math.sqrt(both[1, 1]) and abs(drop) > 0.03 * np.max(np.abs(v)):
            text = (
                f"the line misses the origin by {drop:.3g} V: resistance is {slope:.4g} ohm with that drop,"
                f" {R:.4g} without."
            )
            remedy = "check the meter's leads and the driver, and take readings at small currents"
            findings.append(finding("voltage_drop", text, remedy, drop=float(drop), slope=float(slope)))
    return estimate(
        "motor.resistance",
        "ohm",
        R,
        cov[0, 0],
        findings=tuple(findings),
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
    v, w = _columns(3, voltage=voltage, speed=speed)
    _positive("resistance", resistance)
    _positive("torque_constant", torque_constant)
    (slope, intercept), cov = _line(w, v)
    others = {"intercept": estimate("R tau_c / K", "V", intercept, cov[1, 1])}
    K = float(slope) if torque_constant is None else torque_constant
    if resistance is not None:
        per = K / resistance
        whose = "is the slope" if torque_constant is None else "as given"
        others["coulomb"] = estimate(
            "friction.coulomb",
            "N m",
            intercept * per,
            cov[1, 1] * per**2,
            assumption=f"the motor constant {whose}",
        )
        if torque_constant is not None:
            others["viscous"] = estimate(
                "friction.viscous",
                "N m s/rad",
                (slope - K) * per,
                cov[0, 0] * per**2,
                assumption="what the slope exceeds the motor constant by is viscous friction",
            )
    return estimate(
        "K + R f_v / K",
        "V s/rad",
        slope,
        cov[0, 0],
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
    tau, v = _columns(1, load=load, voltage=voltage)
    _positive("resistance", resistance)
    if not 0 <= static < math.inf:
        raise InvalidValue(f"static is {static!r}; expected 0 or more")
    if not v.all():
        raise InvalidValue("a voltage is 0; expected the voltages that held the loads")
    if directions is not None and (len(directions) != len(tau) or not set(directions) <= {1, -1}):
        raise InvalidValue(
            f"directions is {list(directions)!r}; expected 1 or -1 for each of the {len(tau)} loads"
        )
    sharpen = (
        "readings with the arm arriving from both directions; a no-load line; loads as heavy as in use,"
        " because friction grows with load"
    )
    if directions is None or not {1, -1} <= set(directions):
        return Measured(
            name="motor.torque_constant",
            unit="N m/A",
            low=float(np.min((tau - static) * resistance / v)),
            high=float(np.max((tau + static) * resistance / v)),
            sharpen=sharpen,
            assumption="friction at rest lies anywhere within +-f_s, and f_s does not grow with the load",
        )
    # K V / R = load + d f: least squares for K / R and f
    A = np.stack([v, -np.asarray(directions, float)], axis=1)
    (k, f), cov = least_squares(A, tau)
    return estimate(
        "motor.torque_constant",
        "N m/A",
        k * resistance,
        cov[0, 0] * resistance**2,
        sharpen=sharpen,
        others={"friction": estimate("friction.static", "N m", f, cov[1, 1])},
        assumption="friction is the same in both directions and does not grow with the load",
    )


def compare_torque_constants(
    ways: Mapping[str, Measured],
    *,
    load: Sequence[float] = (),
    voltage: Sequence[float] = (),
    resistance: float | None = None,
) -> list[Finding]:
    """Whether several ways to K agree; where static loads fall short of the others,
    the load-dependent friction that explains it."""
    spans = {}
    for name, m in ways.items():
        low = m.low if m.low is not None else (m.value or 0.0) - 2 * (m.error or 0.0)
        high = m.high if m.high is not None else (m.value or 0.0) + 2 * (m.error or 0.0)
        spans[name] = (low, high)
    if not any(spans[a][1] < spans[b][0] for a in spans for b in spans):
        return []
    text = "; ".join(f"{name} {low:.3g} to {high:.3g}" for name, (low, high) in spans.items())
    numbers: dict[str, float] = {}
    reason = ""
    K = max((m.value for m in ways.values() if m.value is not None), default=None)
    if len(load) and resistance is not None and K is not None:
        tau, v = _columns(2, load=load, voltage=voltage)
        excess = K / resistance * v - tau  # what friction must have held while the motor pushed
        (share, rest), _ = _line(tau, excess)
        numbers = {"share": float(share), "dry": float(rest), "K": K}
        reason = (
            f" With K = {K:.3g} the motor pushed {np.mean(excess):.2g} N m more than the load: friction that"
            f" grows with the load, about {100 * np.mean(excess[tau != 0] / tau[tau != 0]):.0f} % of it,"
            " explains that."
        )
    text = f"the ways to the torque constant disagree: {text}.{reason}"
    remedy = (
        "fit a load-dependent friction (M3 to M6) from logs with several loads; use no single static reading"
    )
    return [finding("torque_constants_disagree", text, remedy, **numbers)]


def firmware_gain(
    error: Sequence[float], register: Sequence[float], duty: Sequence[float], *, duty_limit: float = 0.95
) -> Measured:
    """Duty over register x position error [rad], as an oscilloscope shows it:
    H, through the origin; saturated readings are left out."""
    e, p, d = _columns(2, error=error, register=register, duty=duty)
    keep = np.abs(d) < duty_limit
    if keep.sum() < 2:
        raise MissingValue(
            "fewer than two readings are below the duty limit; use smaller errors or a smaller gain"
        )
    x, y = (np.abs(e) * p)[keep], np.abs(d)[keep]
    (H,), cov = _line(x, y, through_origin=True)
    findings = []
    if len(x) >= 4:
        (slope, offset), both = _line(x, y)
        if abs(offset) > 3 * math.sqrt(both[1, 1]):
            text = f"the readings fit better with an offset of {offset:.3g}: H would be {slope:.5g}."
            remedy = "look for a dead band or a dead time of the bridge in the readings at small errors"
            findings.append(finding("duty_offset", text, remedy, offset=float(offset), slope=float(slope)))
    return estimate(
        "drive.firmware_gain",
        "1/rad",
        H,
        cov[0, 0],
        findings=tuple(findings),
        assumption="duty is proportional to register x error",
        sharpen="readings at large duty: small ones are dominated by dead time",
    )
