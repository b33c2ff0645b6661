"""The winding by itself: resistance, inductance, back-EMF constant, and the firmware's duty."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..findings import Finding, finding
from ..logs.log import Log
from ..physics.quantity import present
from .measurement import (
    Column,
    FittedCurve,
    Known,
    Measurement,
    PlotData,
    Readings,
    blind,
    columns,
    derive,
    estimate,
    judge,
    known_number,
    plot_over_time,
)
from .regression import CurveFit, Straight, curve, half_band, jacobian, regress, rises, straight

NOT_LOCKED = 0.05
"""Share of the step by which a current may fall again before the rotor must have turned."""


def resistance(current: Column, voltage: Column) -> Measurement:
    """Resistance from voltage and current with the rotor locked.

    It is the slope through the origin; an intercept is the drop of brushes and driver.

    Args:
        current: Currents [A].
        voltage: Voltages [V].

    Returns:
        R [ohm]; with at least three readings also R beside a constant drop, and that drop.
    """
    i, v = columns(2, current=current, voltage=voltage)
    line = straight(i, v, origin=True)
    remedy = "check the polarity of both meters; read volts and amperes of the same terminals"
    findings, others = [line.outlier(0, "motor.resistance", "ohm")], {}
    if len(i) >= 3:
        both = straight(i, v)
        findings.append(both.bend_finding("the voltage", "V"))
        assumption = "a constant voltage drop"
        others["with_drop"] = both.of(0, "motor.resistance", "ohm", assumption=assumption)
        others["drop"] = both.of(1, "voltage drop", "V")
        drop, error = both.intercept, math.sqrt(both.covariance[1, 1])
        if abs(drop) > 2 * error and abs(drop) > 0.03 * np.max(np.abs(v)):
            text = (
                f"the line misses the origin by {drop:.3g} V: resistance is {both.slope:.4g} ohm with that"
                f" drop, {line.slope:.4g} without."
            )
            mend = "check the meter's leads and the driver, and take readings at small currents"
            findings.append(finding("voltage_drop", text, mend, drop=drop, slope=both.slope))
    R = line.of(
        0,
        "motor.resistance",
        "ohm",
        route="resistance",
        others=others,
        shown=line.plot_data("current [A]", "voltage [V]", f"R = {line.slope:.4g} ohm"),
        assumption="the rotor was locked and the winding stayed at one temperature",
        sharpen="short readings at several rotor angles: brushes and warming move it",
    )
    return judge(R, remedy=remedy).noting(*findings)


def current_step(
    log: Log, *, voltage: float | None = None, resistance: Known | None = None, after: float | None = None
) -> Measurement:
    """Inductance from how the current rises after a voltage step, the rotor locked.

    i = i_end + (i_0 - i_end) exp(-t R / L); R is given, or follows from the height of the step.

    Args:
        log: A recording of the current.
        voltage: Height of the voltage step [V]; the log's own unless given.
        resistance: Resistance [ohm].
        after: When the voltage stepped [s]; found, at the steepest place, unless given.

    Returns:
        L [H], with the time constant [s], and R where it was not given.

    Raises:
        MissingValue: where the log has no current, too few samples, or nothing tells R.
    """
    t, i, first = _current_rise(log, after)
    x, y = t[first:] - t[first], i[first:]
    rise = rises(x, y, log.name)
    end = rise.of(1, "current", "A")
    rest = i[: int(0.8 * max(first - 2, 0))]  # well before it, wherever the steepest place was
    before = float(np.mean(rest)) if len(rest) else 0.0
    still = estimate("before", "A", before, rise.noise**2 / max(len(rest), 1))
    t_e = rise.of(2, "electrical time constant", "s")
    others = {"time_constant": t_e}
    if resistance is not None:
        L = derive("motor.inductance", "H", lambda T, R: T * R, t_e, known_number("resistance", resistance))
    else:
        volts = _height(log, voltage, end.value != before)
        others["resistance"] = derive("motor.resistance", "ohm", lambda i, i_0: volts / (i - i_0), end, still)
        L = derive(
            "motor.inductance",
            "H",
            lambda i, T, i_0: T * volts / (i - i_0),
            *(end, t_e, still),
            covariance=rise.covariance[1:, 1:],
        )
    curve = rise.fitted_curve(f"time constant {1e3 * present(t_e.value):.3g} ms")
    findings = [_too_coarse(t_e, x), _rotor_turned(y, before)]
    remedy = "sample the current at least ten times within the rise, and turn the polarity round if need be"
    made = replace(
        L,
        route="current-step",
        others=others,
        shown=plot_over_time("current [A]", t, i, replace(curve, x=curve.x + t[first]), "current"),
        assumption="the rotor was locked, and the voltage stepped at once and then stood still",
        sharpen="a faster recording of a smaller step, at several rotor angles",
    )
    return judge(made, remedy=remedy).noting(*findings)


def _current_rise(log: Log, after: float | None) -> tuple[np.ndarray, np.ndarray, int]:
    """(time from 0 [s], current [A], the sample from which on it rises)."""
    if "current" not in log:
        raise MissingValue(f"{log.name} has no current; an inductance needs how the current rises")
    if len(log) < 8:
        raise MissingValue(f"{log.name} has {len(log)} samples; expected at least 8 of a rising current")
    t, i = log.time - log.time[0], log["current"]
    t, i = t[np.isfinite(i)], i[np.isfinite(i)]
    steepest = int(np.argmax(np.abs(np.diff(i)))) + 1 if len(i) > 1 else 0
    # from the sample after it on, for a sample that is chosen for its noise is no fair one
    first = steepest + 1 if after is None else int(np.searchsorted(t, after - log.time[0]))
    if len(t) - first < 6:
        raise MissingValue(f"{log.name} has fewer than 6 samples after the step; record longer")
    return t, i, first


def _height(log: Log, voltage: float | None, rises: bool) -> float:
    """The height of the step of the voltage: as given, or the log's own."""
    volts = voltage if voltage is not None else _step_of_voltage(log)
    if volts is None:
        raise MissingValue(f"{log.name} has no voltage; give the step's height (--voltage) or the resistance")
    if not (math.isfinite(volts) and volts and rises):
        raise InvalidValue(f"voltage is {volts!r}; expected the height of the step")
    return volts


def _step_of_voltage(log: Log) -> float | None:
    for name in ("voltage", "voltage_target"):
        if name in log:
            v = log[name][np.isfinite(log[name])]
            last = float(np.mean(v[-max(len(v) // 10, 1) :]))
            first = float(v[0])
            return last - first if abs(first) < 0.5 * abs(last) else last
    return None


def _too_coarse(t_e: Measurement, x: np.ndarray) -> Finding | None:
    step = float(np.median(np.diff(x)))
    if t_e.value is None or t_e.value > 3 * step:
        return None
    text = f"the rise has a time constant of {t_e.value:.3g} s and was sampled every {step:.3g} s."
    return finding("too_coarse", text, "sample at least three times, better ten, within it", step=step)


def _rotor_turned(y: np.ndarray, before: float) -> Finding | None:
    """A current that falls again after its rise: the rotor turned, and its back-EMF took the volts."""
    n = max(len(y) // 20, 1)
    smooth = np.convolve(np.abs(y - before), np.ones(n) / n, mode="valid")
    most, last = float(np.max(smooth)), float(np.mean(np.abs(y[-n:] - before)))
    if most - last < NOT_LOCKED * most or int(np.argmax(smooth)) > 0.9 * len(smooth):
        return None
    text = f"the current falls again, by {100 * (1 - last / most):.0f} % of the step: the rotor turned."
    remedy = "lock the rotor, or keep only the time before it moves; R from the end value is too large"
    return finding("rotor_moved", text, remedy, fallen=1 - last / most)


def impedance(frequency: Column, impedance: Column, *, resistance: Known | None = None) -> Measurement:
    """Inductance from the impedance at several frequencies, the rotor locked.

    |Z|^2 = R^2 + (2 pi f L)^2: with R the line starts there; without, the readings tell it too. Every reading
    counts by its own size, as meters err.

    Args:
        frequency: Frequencies [Hz].
        impedance: Impedances, volts over amperes [ohm].
        resistance: Resistance [ohm].

    Returns:
        L [H], and R where it was not given.

    Raises:
        InvalidValue: where a number is 0 or less, or there are too few to tell R too.
    """
    f, Z = columns(2, frequency=frequency, impedance=impedance)
    if not ((f > 0).all() and (Z > 0).all()):
        raise InvalidValue("a frequency or an impedance is 0 or less; expected positive numbers")
    if resistance is None and len(f) < 3:
        text = f"frequency has {len(f)} readings; expected at least 3, or --resistance beside them"
        raise InvalidValue(text)
    given = None if resistance is None else known_number("resistance", resistance)
    R_0 = float(np.min(Z)) if given is None else present(given.value)
    remedy = "measure at higher frequencies, where 2 pi f L is at least R, and with less current"
    squares = (Z**2 - (0.0 if given is None else R_0**2)) / Z**2
    x = (2 * np.pi * f) ** 2 / Z**2
    A = x[:, None] if given is not None else np.stack([x, 1 / Z**2], axis=1)
    L2 = float(regress(A, squares).coefficients[0])
    if L2 <= 0:
        text = f"the impedance does not grow with frequency beyond R: L^2 would be {L2:.3g} H^2."
        broken = finding("impossible_value", text, remedy, value=L2)
        return Measurement(name="motor.inductance", unit="H", low=0.0, route="impedance", findings=(broken,))

    start = (math.sqrt(L2), R_0) if given is None else (math.sqrt(L2),)
    fit = _fit_impedance(f, Z, start, R_0)
    L = fit.of(0, "motor.inductance", "H")
    others = {}
    if given is None:
        others["resistance"] = fit.of(1, "motor.resistance", "ohm")
    elif given.error:
        other = _fit_impedance(f, Z, start, R_0 + given.error)
        by = float(other.coefficients[0] - fit.coefficients[0])
        R = estimate("R", "ohm", 0.0, by**2, given.spare)
        L = derive("motor.inductance", "H", lambda own, moved: own + moved, L, R)
    line = _drawn_impedance(fit, f, f"L = {1e3 * present(L.value):.4g} mH")
    seen = (Readings(x=f, y=Z),)
    made = replace(
        L,
        route="impedance",
        others=others,
        shown=PlotData(x_label="frequency [Hz]", y_label="impedance [ohm]", readings=seen, curves=(line,)),
        assumption="the rotor was locked, the current small, and iron loss little at these frequencies",
        sharpen="several frequencies about R / (2 pi L), and the rotor at several angles",
    )
    return judge(made, remedy=remedy).noting(blind(made))


def _fit_impedance(f: np.ndarray, Z: np.ndarray, start: tuple[float, ...], R: float) -> CurveFit:
    """log |Z| over frequency by L, and by R where the start has two."""
    return curve(lambda f, L, R=R: np.log(np.abs(R + 2j * np.pi * f * L)), f, np.log(Z), start)


def _drawn_impedance(fit: CurveFit, f: np.ndarray, label: str) -> FittedCurve:
    """The fitted impedance over frequency with its 95 % band."""
    drawn = np.linspace(0.0, float(f.max()), 101)
    lines = fit.function(drawn, *fit.coefficients)
    J = jacobian(lambda c: np.asarray(fit.function(drawn, *c)), fit.coefficients)
    far = half_band(J, fit.covariance, fit.spare)
    low, high = np.exp(lines - far), np.exp(lines + far)
    return FittedCurve(x=drawn, y=np.exp(lines), label=label, low=low, high=high)


def back_emf(speed: Column, voltage: Column) -> Measurement:
    """Back-EMF constant from open-circuit volts while something else turns the shaft: a slope through 0.

    Args:
        speed: Speeds at which the shaft was driven [rad/s].
        voltage: Open-circuit voltages [V].

    Returns:
        K_e [V s/rad] at the shaft that was driven; with at least three readings also beside an offset.
    """
    w, v = columns(2, speed=speed, voltage=voltage)
    line = straight(w, v, origin=True)
    findings, others = [line.outlier(0, "motor.back_emf_constant", "V s/rad")], {}
    if len(w) >= 3:
        both = straight(w, v)
        others["with_offset"] = both.of(
            0, "motor.back_emf_constant", "V s/rad", assumption="a meter that does not start at 0"
        )
        others["offset"] = both.of(1, "offset of the voltage", "V")
        findings += [_offset(both, line), both.bend_finding("the voltage", "V")]
    K = line.of(
        0,
        "motor.back_emf_constant",
        "V s/rad",
        route="back-emf",
        others=others,
        shown=line.plot_data("speed [rad/s]", "open-circuit voltage [V]", f"K_e = {line.slope:.4g} V s/rad"),
        assumption="the terminals were open, the volts those of the model's winding (line to line or phase)",
        sharpen="higher speeds, both directions: offsets of the meter then cancel",
    )
    return judge(K, remedy="turn the leads of the meter round, or the sign of the speed").noting(*findings)


def _offset(both: Straight, line: Straight) -> Finding | None:
    error = math.sqrt(both.covariance[1, 1])
    if both.spare <= 0 or abs(both.intercept) <= max(3 * error, 0.02 * float(np.max(np.abs(both.y)))):
        return None
    text = (
        f"the line misses the origin by {both.intercept:.3g} V: K_e is {both.slope:.4g} V s/rad with that"
        f" offset, {line.slope:.4g} without."
    )
    remedy = "zero the meter, or read both directions; a standing shaft makes no volts"
    return finding("voltage_offset", text, remedy, offset=both.intercept, slope=both.slope)


def firmware_gain(error: Column, register: Column, duty: Column, *, duty_limit: float = 0.95) -> Measurement:
    """Firmware gain H from position error, gain register and duty on an oscilloscope.

    Duty over register x error, through the origin; saturated readings are left out.

    Args:
        error: Position errors [rad].
        register: Gain registers [1].
        duty: Duties, 0 to 1 [1].
        duty_limit: Readings with this duty or more are saturated.

    Returns:
        H, the duty per count and radian of the output [1/rad].

    Raises:
        MissingValue: where fewer than two readings are below the limit.
    """
    e, p, d = columns(2, error=error, register=register, duty=duty)
    keep = np.abs(d) < duty_limit
    if keep.sum() < 2:
        raise MissingValue(
            "fewer than two readings are below the duty limit; use smaller errors or a smaller gain"
        )
    x, y = (np.abs(e) * p)[keep], np.abs(d)[keep]
    line = straight(x, y, origin=True)
    findings = [line.outlier(0, "drive.firmware_gain", "1/rad")]
    if len(x) >= 4:
        both = straight(x, y)
        findings.append(both.bend_finding("the duty", "of duty"))
        offset = both.intercept
        if abs(offset) > 3 * math.sqrt(both.covariance[1, 1]):
            text = f"the readings fit better with an offset of {offset:.3g}: H would be {both.slope:.5g}."
            remedy = "look for a dead band or a dead time of the bridge in the readings at small errors"
            findings.append(finding("duty_offset", text, remedy, offset=offset, slope=both.slope))
    H = line.of(
        0,
        "drive.firmware_gain",
        "1/rad",
        route="firmware-gain",
        shown=line.plot_data("register x error [rad]", "duty [1]", f"H = {line.slope:.5g} 1/rad"),
        assumption="duty is proportional to register x error",
        sharpen="readings at large duty: small ones are dominated by dead time",
    )
    remedy = "check which way the error and the register count"
    return judge(H, remedy=remedy).noting(*findings)
