"""Measurements from recordings: coast-down, run-up, heating and cooling, a reversal across backlash, and
inertia and friction along any motion."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..findings import Finding, finding
from ..logs.log import Log, bench_of, noise_of
from ..physics.actuator import Actuator, Loads, inertias, resistance
from ..physics.quantity import present
from ..physics.steady import Line, coasting_speed, iron_drag
from ..physics.thermal import Thermal
from ..statistics import FEWEST, lag_alike
from .measurement import (
    Column,
    FittedCurve,
    Known,
    Measurement,
    PlotData,
    Readings,
    columns,
    derive,
    estimate,
    judge,
    known_number,
    plot_over_time,
)
from .regression import CurveFit, curve, regress, rises, sandwich, straight

SLOW = 0.03
"""Share of the top speed below which a coasting shaft counts as standing."""


def _velocity(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """(time from 0, velocity) of a log, differentiated where it has positions alone."""
    t = log.time - log.time[0]
    if "velocity" in log:
        w = log["velocity"]
    elif "position" in log and len(log) > 2:
        w = np.gradient(log["position"], t)
    else:
        raise MissingValue(f"{log.name} has neither velocity nor position")
    good = np.isfinite(w)
    return t[good], w[good]


def _coast(log: Log) -> CurveFit:
    """(speed at first, dry friction over inertia, viscous over inertia) of a shaft left alone."""
    if len(log) < 10:
        raise MissingValue(f"{log.name} has {len(log)} samples; expected at least 10 of a shaft that slows")
    t, w = _velocity(log)
    sign = 1.0 if np.mean(w[: max(3, len(w) // 20)]) >= 0 else -1.0
    w = sign * w
    moving = w > SLOW * np.max(w)
    if moving.sum() < 10:
        raise MissingValue(f"{log.name} has fewer than 10 samples in motion")
    end = int(np.flatnonzero(moving)[-1])
    t, w = t[: end + 1][moving[: end + 1]], w[: end + 1][moving[: end + 1]]
    part = max(len(w) // 4, 1)
    start = (w[0], (w[0] - w[-1]) / (t[-1] - t[0]), 1e-3 / t[-1])
    slows = np.mean(w[-part:]) < np.mean(w[:part])
    try:
        if slows:
            return curve(coasting_speed, t, w, start)
    except (ValueError, RuntimeError):  # it jumps
        pass
    raise InvalidValue(
        f"{log.name} is no coast-down: the speed goes from {w[0]:.3g} to {w[-1]:.3g}; expected a shaft"
        " that slows by itself"
    )


def coast_down(log: Log, *, inertia: Known | None = None, coulomb: Known | None = None) -> Measurement:
    """Dry and viscous friction from a coast-down; or the inertia, if the dry friction is known.

    `physics.steady.coasting_speed` is the curve that the shaft follows until it stops.

    Args:
        log: A recording of position or velocity.
        inertia: Inertia, to get friction [kg m^2].
        coulomb: Dry friction, to get the inertia [N m].

    Returns:
        Dry friction [N m], or the inertia [kg m^2]; and viscous friction [N m s/rad], all at that shaft.

    Raises:
        MissingValue: where neither or both are given, or the log has too few samples in motion.
        InvalidValue: where the shaft does not slow by itself.
    """
    if (inertia is None) == (coulomb is None):
        raise MissingValue("a coast-down needs the inertia or the dry friction: one of them, not both")
    given = (
        known_number("inertia", inertia) if inertia is not None else known_number("coulomb", coulomb or 0.0)
    )
    fit = _coast(log)
    dry, drag = fit.of(1, "tau_c / J", "rad/s^2"), fit.of(2, "B / J", "1/s")
    line = fit.fitted_curve("dw/dt = -(tau_c + B w) / J")
    shown = plot_over_time("speed [rad/s]", fit.t, fit.y, line)
    assumption = "the terminals are open, and nothing else drives or loads the shaft"
    remedy = "start faster, sample more densely, and repeat; check the speed's zero"
    if inertia is None:
        J = derive("inertia", "kg m^2", lambda dry, tau: tau / dry, dry, given)
        B = derive("friction.viscous", "N m s/rad", lambda drag, J: drag * J, drag, J)
        made = replace(
            J,
            route="coast-down",
            others={"viscous": judge(B, zero=True, remedy=remedy)},
            shown=shown,
            assumption=f"the dry friction is known, {assumption}",
            sharpen="a second coast-down with a known inertia added needs no friction from elsewhere",
        )
        return judge(made, remedy=remedy).noting(*made.others["viscous"].findings)
    tau = derive("friction.coulomb", "N m", lambda dry, J: dry * J, dry, given)
    B = derive("friction.viscous", "N m s/rad", lambda drag, J: drag * J, drag, given)
    why = "The speed falls more and more slowly than friction that grows with speed would have it."
    made = replace(
        tau,
        route="coast-down",
        others={
            "viscous": judge(B, zero=True, why=why if drag.value and drag.value < 0 else "", remedy=remedy)
        },
        shown=shown,
        assumption=f"the inertia is known, {assumption}",
        sharpen="a second coast-down with a known inertia added gives the inertia itself",
    )
    return judge(made, zero=True, remedy=remedy).noting(*made.others["viscous"].findings)


def inertia(slow: Log, fast: Log, *, added: Known) -> Measurement:
    """Inertia from two coast-downs, one of them with a known inertia added: friction is the same.

    Args:
        slow: A coast-down with the inertia added.
        fast: A coast-down without it.
        added: Inertia that was added [kg m^2].

    Returns:
        The inertia without the added one, at that shaft [kg m^2].

    Raises:
        InvalidValue: where the shaft does not slow less with the added inertia.
    """
    more = known_number("added", added)
    fits = [_coast(log) for log in (slow, fast)]
    with_, without = (fit.of(1, "tau_c / J", "rad/s^2") for fit in fits)
    a, b = present(with_.value), present(without.value)
    if not 0 < a < b:
        raise InvalidValue(
            f"the shaft slows by {a:.3g} rad/s^2 with the added inertia and {b:.3g} without; expected it to"
            " slow less with it"
        )
    J = derive("inertia", "kg m^2", lambda a, b, J: J * a / (b - a), with_, without, more)
    names = ("with the added inertia", "without")
    shown = PlotData(
        x_label="time [s]",
        y_label="speed [rad/s]",
        readings=tuple(Readings(x=f.t, y=f.y, label=n) for f, n in zip(fits, names, strict=True)),
        curves=tuple(f.fitted_curve(f"fit {n}") for f, n in zip(fits, names, strict=True)),
    )
    made = replace(
        J,
        route="inertia",
        shown=shown,
        assumption="dry friction is the same in both",
        sharpen="a larger added inertia, several coasts",
    )
    return judge(made, remedy="add an inertia about as large as the shaft's own, and start faster")


def run_up(
    log: Log, *, resistance: Known, torque_constant: Known, viscous: Known = 0.0, after: float | None = None
) -> Measurement:
    """Inertia from the time constant with which the speed rises after a voltage step.

    It is J / (K^2 / R + B), whatever the dry friction, all at the same side of the gears.

    Args:
        log: A recording of position or velocity.
        resistance: Resistance [ohm].
        torque_constant: Torque constant [N m/A].
        viscous: Viscous friction [N m s/rad].
        after: When the voltage stepped [s]; found, where the shaft has begun to move, unless given.

    Returns:
        The inertia [kg m^2], with the time constant [s] and the speed in the end [rad/s].

    Raises:
        MissingValue: where the log has neither speed nor position, or too few samples.
    """
    R, K = known_number("resistance", resistance), known_number("torque_constant", torque_constant)
    B = known_number("viscous", viscous, zero=True)
    if len(log) < 10:
        raise MissingValue(f"{log.name} has {len(log)} samples; expected at least 10 of a rising speed")
    t, w = _velocity(log)
    if after is None:
        top = float(w[np.argmax(np.abs(w))])
        first = int(np.argmax(np.abs(w) > 0.1 * abs(top)))
    else:
        first = int(np.searchsorted(t, after - log.time[0]))
    if len(t) - first < 8:
        raise MissingValue(f"{log.name} has fewer than 8 samples after the step; record longer")
    fit = rises(t[first:] - t[first], w[first:], log.name)
    T = fit.of(2, "mechanical time constant", "s")
    end = fit.of(1, "speed in the end", "rad/s")

    def total(T: float, R: float, K: float, B: float) -> float:
        return T * (Line(R, K, K).damping + B)

    J = derive("inertia", "kg m^2", total, T, R, K, B)
    followed = fit.fitted_curve(f"time constant {1e3 * present(T.value):.3g} ms")
    remedy = "record until the speed settles, at ten samples within the rise or more"
    made = replace(
        J,
        route="run-up",
        others={"time_constant": T, "speed": end},
        shown=plot_over_time("speed [rad/s]", t, w, replace(followed, x=followed.x + t[first])),
        assumption="a voltage that stepped at once and stood still, one direction, no current limit reached",
        sharpen="a stiff supply, several steps of different height, and R and K known well",
    )
    return judge(made, remedy=remedy).noting(_settling_finding(T, t[-1] - t[first], "the speed"))


def _settling_finding(T: Measurement, span: float, what: str) -> Finding | None:
    if T.value is None or span > 2 * T.value:
        return None
    text = f"{what} was recorded for {span:.3g} s, {span / T.value:.2g} of its time constant."
    return finding("not_settled", text, "record until it settles, three time constants or more", span=span)


def acceleration(
    acceleration: Column,
    *,
    torque: Column | None = None,
    current: Column | None = None,
    torque_constant: Known | None = None,
) -> Measurement:
    """Inertia from torque (or current and torque constant) over acceleration: tau = J a + friction.

    Args:
        acceleration: Accelerations [rad/s^2].
        torque: Torques [N m].
        current: Currents [A].
        torque_constant: Torque constant [N m/A].

    Returns:
        The inertia [kg m^2] at the side of the gears where the torques are, and the friction [N m].

    Raises:
        MissingValue: where neither torques nor currents with the torque constant are given.
    """
    K = estimate("K", "1", 1.0, 0.0)
    if torque is None:
        if current is None or torque_constant is None:
            raise MissingValue("an inertia needs torques, or currents with the torque constant")
        K = known_number("torque_constant", torque_constant)
        torque = np.asarray(current, float) * present(K.value)
    a, tau = columns(3, acceleration=acceleration, torque=torque)
    line = straight(a, tau)
    share = estimate("share", "1", 1.0, ((K.error or 0.0) / present(K.value)) ** 2, K.spare)
    J = derive("inertia", "kg m^2", lambda J, k: J * k, line.of(0, "J", "kg m^2"), share)
    friction = derive("friction", "N m", lambda f, k: f * k, line.of(1, "friction", "N m"), share)
    made = replace(
        J,
        route="acceleration",
        others={"friction": friction},
        shown=line.plot_data("acceleration [rad/s^2]", "torque [N m]", f"J = {line.slope:.4g} kg m^2"),
        assumption="friction is the same in every reading: one direction, about the same speed",
        sharpen="large and small torques at one speed, both directions",
    )
    return judge(made, remedy="check the signs of torque and acceleration").noting(
        line.outlier(0, "inertia", "kg m^2")
    )


def thermal(
    log: Log,
    *,
    power: np.ndarray | float | None = None,
    ambient: float | None = None,
    until: float | None = None,
) -> Measurement:
    """Thermal resistance and capacitance from heating, and cooling, at a known power (one node).

    Args:
        log: A recording of temperature.
        power: Heating power [W]; the log's voltage times current, the rotor locked, unless given.
        ambient: Ambient temperature [degC]; where the log starts unless given.
        until: When the power went off [s], and cooling began.

    Returns:
        The thermal resistance [K/W], with the capacitance [J/K] and the time constant [s].

    Raises:
        MissingValue: where the log has no temperature, no power is known, or there are too few samples.
        InvalidValue: where no thermal model follows the temperatures.
    """
    if "temperature" not in log:
        raise MissingValue(f"{log.name} has no temperature")
    t, T = log.time - log.time[0], log["temperature"]
    P = _heating(log, power, until)
    fit = _fit_node(log, T, P, ambient)
    R, C = (
        derive(name, unit, math.exp, fit.of(k, name, "1"))
        for k, name, unit in ((0, "motor.thermal.resistance", "K/W"), (1, "motor.thermal.capacitance", "J/K"))
    )
    both = [fit.of(k, "log", "1") for k in (0, 1)]
    T_th = derive(
        "thermal time constant", "s", lambda r, c: math.exp(r + c), *both, covariance=fit.covariance[:2, :2]
    )
    line = fit.fitted_curve(f"time constant {T_th.value:.3g} s")
    made = replace(
        R,
        route="thermal",
        others={"capacitance": C, "time_constant": T_th},
        shown=plot_over_time("temperature [degC]", fit.t, fit.y, line),
        assumption="one node, a known power, and a constant ambient",
        sharpen="a cooling phase, and heating until the temperature settles",
    )
    heating = float(t[np.flatnonzero(P > 0)[-1]] - t[np.flatnonzero(P > 0)[0]])
    return judge(made, remedy="heat longer").noting(
        _settling_finding(T_th, max(heating, t[-1] - heating), "heating"), _second_node(fit, T)
    )


def _fit_node(log: Log, T: np.ndarray, P: np.ndarray, ambient: float | None) -> CurveFit:
    """(log R, log C, temperature at the start) of one node that a power heats."""
    t = log.time - log.time[0]
    if ambient is not None and not math.isfinite(ambient):
        raise InvalidValue(f"ambient is {ambient!r} degC; expected a finite number")
    if len(T) < 5:
        raise MissingValue(f"{log.name} has {len(T)} samples; expected at least 5")

    def follow(t: np.ndarray, log_R: float, log_C: float, start: float) -> np.ndarray:
        around = start if ambient is None else ambient
        node = Thermal(resistance=math.exp(log_R), capacitance=math.exp(log_C), ambient=around)
        made = np.empty_like(t)
        made[0] = start
        for k, h in enumerate(np.diff(t)):
            (made[k + 1],) = node.advance((made[k],), P[k], 0.0, h)
        return made

    around = float(T[0]) if ambient is None else ambient
    R = max(float(np.max(T) - around), 1e-3) / float(np.max(P))
    try:
        return curve(follow, t, T, (math.log(R), math.log(t[-1] / 5.0 / R), float(T[0])))
    except (ValueError, RuntimeError, OverflowError):
        raise InvalidValue(
            f"{log.name} cannot be followed by a thermal model; check the power, and the unit of the"
            " temperature"
        ) from None


def _heating(log: Log, power: np.ndarray | float | None, until: float | None) -> np.ndarray:
    """The power at every sample [W]: as given, or voltage times current; off from `until` on."""
    if power is None:
        if not ("voltage" in log and "current" in log):
            raise MissingValue(f"{log.name} has no voltage and current; give the heating power [W]")
        power = np.asarray(log["voltage"] * log["current"])
    P = np.broadcast_to(np.asarray(power, float), log["temperature"].shape)
    if until is not None:
        P = np.where(log.time < until, P, 0.0)
    if not (np.isfinite(P).all() and np.max(P) > 0):
        raise InvalidValue(f"power is {power!r} W; expected finite numbers, and heating somewhere")
    return P


def _second_node(fit: CurveFit, T: np.ndarray) -> Finding | None:
    """Said where one node misses the shape: the error stays alike for long, and is not small."""
    residual = fit.y - np.asarray(fit.function(fit.t, *fit.coefficients))
    rise = float(np.ptp(T))
    if len(T) < FEWEST or fit.noise < 0.015 * rise or lag_alike(residual) < len(T) / 20:
        return None
    text = (
        f"one node misses the temperatures by {fit.noise:.2g} K, for long stretches: winding and housing"
        " warm at different speeds."
    )
    remedy = "fit both nodes (motor.thermal with a housing), or use only the time that matters to you"
    return finding("second_node", text, remedy, noise=fit.noise)


def backlash(log: Log, *, moved: float | None = None) -> Measurement:
    """Backlash from slow reversals: how far the drive side turns before the output follows.

    Args:
        log: A slow reversal: drive side as position_target, output as position.
        moved: Motion of the output that counts as following [rad]; four times the noise unless given.

    Returns:
        The backlash at the output [rad].

    Raises:
        MissingValue: where the log lacks either.
    """
    for name in ("position", "position_target"):
        if name not in log:
            raise MissingValue(
                f"{log.name} has no {name}; a reversal needs the drive side as position_target and the output"
                " as position"
            )
    least = moved if moved is not None else max(4.0 * noise_of(log["position"]), 1e-9)
    gaps, step = _gaps(log, least)
    n = len(gaps)
    grain = math.hypot(least / math.sqrt(3), step / math.sqrt(12))
    spread = float(np.std(gaps, ddof=1) / math.sqrt(n)) if n > 1 else least
    mean = estimate(
        "gearbox.backlash", "rad", float(np.mean(gaps)), max(spread, grain) ** 2, n - 1.0 if n > 2 else None
    )
    x, y = np.arange(1.0, n + 1.0), 1e3 * np.array(gaps)
    marked = straight(np.ones(n), y, origin=True).outliers if n > 1 else np.zeros(n, bool)
    wide = np.array([0.5, n + 0.5])
    level = FittedCurve(
        x=wide,
        y=np.full(2, 1e3 * present(mean.value)),
        low=np.full(2, 1e3 * (mean.low or 0.0)),
        high=np.full(2, 1e3 * (mean.high or 0.0)),
        label=f"mean {1e3 * present(mean.value):.3g} mrad",
    )
    made = replace(
        mean,
        route="backlash",
        shown=PlotData(
            x_label="reversal [1]",
            y_label="play [mrad]",
            readings=(Readings(x=x, y=y, label="of each reversal", outliers=marked),),
            curves=(level,),
            fitted=False,
        ),
        assumption="the motion is slow and the drive side is what was asked",
        sharpen="several slow reversals in both directions, with a light load",
    )
    remedy = "reverse more slowly, or with a finer encoder: the play is below what the noise lets one see"
    return judge(made, zero=True, remedy=remedy)


def _gaps(log: Log, least: float) -> tuple[list[float], float]:
    """(how far the drive side turned at each reversal until the output followed, one of its steps) [rad]."""
    drive, out = log["position_target"], log["position"]
    direction = np.sign(np.diff(drive))
    turns = np.flatnonzero(direction[1:] * direction[:-1] < 0) + 1
    steps = np.abs(np.diff(drive))
    step = float(np.median(steps[steps > 0])) if steps.any() else 0.0
    gaps = []
    for k in turns:
        later = np.flatnonzero(direction[k] * (out[k:] - out[k]) > least)
        if len(later):
            # it follows between two samples: half a step too late on the average
            gaps.append(abs(drive[k + later[0]] - drive[k]) - least - 0.5 * step)
    if not gaps:
        raise MissingValue(f"{log.name} has no reversal after which the output followed")
    return gaps, step


ENDS = 50
"""Samples left out at either end, where the filter has not settled."""


def inverse_dynamics(log: Log, *, cutoff: float = 50.0, decimation: int = 10) -> Measurement:
    """Inertia, viscous and dry friction from position and force by linear regression.

    M a + F_v v + F_c sgn(v) + offset = force, the log's torque, and what its bench's load (gravity, a spring)
    adds to it, where it has one. Both sides are low-passed alike and thinned.

    Args:
        log: A recording of position and torque.
        cutoff: Cut-off of the low pass on position, a zero-phase fourth-order Butterworth [Hz].
        decimation: Samples of which one is kept, behind a low pass.

    Returns:
        The inertia [kg m^2, or kg], with viscous and dry friction and an offset, all at the output.

    Raises:
        MissingValue: where the log has no position or torque.
        InvalidValue: where it is too short, or the cut-off beyond half its rate.
    """
    motion = _filter_motion(log, cutoff, decimation)
    columns = [motion.acceleration, motion.velocity, np.sign(motion.velocity), np.ones_like(motion.velocity)]
    W, y = np.stack([_thin(column, decimation) for column in columns]).T, motion.thin_torque
    load = _load(log, motion)
    if load is not None:
        y = y + _thin(load, decimation)
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
        terms[name] = judge(terms[name], zero=True, remedy=remedy)
    relative = float(np.linalg.norm(y - W @ x) / np.linalg.norm(y))
    terms["force_error"] = Measurement(name="relative force error", unit="1", value=relative, error=0.0)
    t = np.linspace(0.0, float(log.time[-ENDS - 1] - log.time[ENDS]), len(y)) + log.time[ENDS]
    force = "force [N]" if linear else "torque [N m]"
    line = FittedCurve(x=t, y=W @ x, label="M a + F_v v + F_c sgn(v) + offset")
    made = replace(
        terms["inertia"],
        others=terms,
        route="inverse-dynamics",
        shown=plot_over_time(force, t, y, line),
        assumption=(
            f"zero-phase Butterworth of order 4 at {cutoff:g} Hz, central differences, thinned by"
            f" {decimation}; the force's own noise is the only error"
        ),
        sharpen="a simulation-error fit of the closed loop",
    )
    found = [f for name in ("viscous", "coulomb") for f in terms[name].findings]
    return judge(made, remedy=remedy).noting(*found)


def force_error(log: Log, actuator: Actuator, *, cutoff: float = 50.0, decimation: int = 10) -> float:
    """How far the force that an actuator's own numbers ask for along a recorded motion is from the recorded
    one, as a share of it: ||force - (M a + drag(v) + dry friction - load)|| / ||force||.

    Filtered and thinned as `inverse_dynamics` does; nothing is fitted. It tells a fit of positions with the
    right numbers from one with the wrong ones.
    """
    motion, bench = _filter_motion(log, cutoff, decimation), bench_of(log)
    q, v, a, tau = motion.position, motion.velocity, motion.acceleration, motion.torque
    inputs: dict[str, Any] = {name: log[name][ENDS:-ENDS] for name in bench.series}
    friction, J = actuator.friction, inertias(actuator, bench, inputs)
    drag, iron = friction.drag(v) - (friction.offset or 0.0), iron_drag(actuator) * v
    loads = Loads(tau - iron, bench.load(q, v, inputs), drag, friction.stribeck(v))
    dry = np.sign(v) * resistance(actuator, J, loads, np.sign(v))
    asked = (J.load + J.rotor) * a + drag + iron + dry - loads.load
    y = motion.thin_torque
    return float(np.linalg.norm(y - _thin(asked, decimation)) / np.linalg.norm(y))


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


def _filter_motion(log: Log, cutoff: float, decimation: int) -> _Motion:
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
    return _Motion(q[inner], v[inner], a[inner], torque, _thin(torque, decimation))


def _thin(values: np.ndarray, decimation: int) -> np.ndarray:
    from scipy.signal import decimate

    return np.asarray(values if decimation == 1 else decimate(values, decimation, ftype="fir"))
