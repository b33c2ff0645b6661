"""Torque and friction: the torque constant from loads, friction from no-load lines and no-load currents,
static friction from an arm that falls or slips."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import InvalidValue, MissingValue
from ..findings import Finding, finding
from ..physics.bench import GRAVITY, Pendulum
from ..physics.quantity import present
from ..physics.steady import Feedforward, Line
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
)
from .regression import regress, straight


def no_load(
    voltage: Column,
    speed: Column,
    *,
    current: Column | None = None,
    resistance: Known | None = None,
    torque_constant: Known | None = None,
) -> Measurement:
    """Motor constant and friction from no-load speed over voltage.

    V = (K_e + R f_v / K_t) w + R tau_c / K_t: with R and K the line also gives dry and viscous friction; with
    R and the current of each reading V - R i = K_e w gives the back-EMF constant by itself.

    Args:
        voltage: Voltages [V].
        speed: No-load speeds [rad/s].
        current: No-load currents, to get K_e by itself [A].
        resistance: Resistance, to get friction torques [ohm].
        torque_constant: Torque constant, to split off viscous friction [N m/A].

    Returns:
        The slope K + R f_v / K [V s/rad], and what else was asked for, at the shaft whose speed was read.
    """
    v, w = columns(3, voltage=voltage, speed=speed)
    R = None if resistance is None else known_number("resistance", resistance)
    K = None if torque_constant is None else known_number("torque_constant", torque_constant)
    line = straight(w, v)
    slope = line.of(0, "K + R f_v / K", "V s/rad")
    intercept = line.of(1, "R tau_c / K", "V")
    others: dict[str, Measurement] = {"intercept": intercept}
    if R is not None:
        whose = "is the slope" if K is None else "as given"
        dry = derive(
            "friction.coulomb",
            "N m",
            lambda slope, level, R, K=None: Line(R, K or slope, K or slope).torque_per_volt * level,
            *(slope, intercept, R, *([] if K is None else [K])),
            covariance=line.covariance,
            assumption=f"the motor constant {whose}",
        )
        others["coulomb"] = judge(dry, zero=True, remedy="check for an offset of the voltmeter")
        if K is not None:
            others["viscous"] = _viscous(slope, intercept, R, K, line.covariance)
        if current is not None:
            (i,) = columns(3, current=current)
            others |= _with_currents(v, w, i, R)
    elif current is not None:
        raise MissingValue("currents were given without the resistance; expected both, to take R i off")
    made = replace(
        slope,
        route="no-load",
        others=others,
        shown=line.plot_data("no-load speed [rad/s]", "voltage [V]", f"slope {line.slope:.4g} V s/rad"),
        assumption="steady speeds, nothing on the shaft, dry friction that does not depend on speed",
        sharpen="a locked-rotor resistance and a torque constant split the slope into K and viscous friction",
    )
    findings = [f for other in others.values() for f in other.findings]
    return judge(made, remedy="check the signs of voltage and speed").noting(
        line.outlier(0, "the slope", "V s/rad"), line.bend_finding("the voltage over speed", "V"), *findings
    )


def _viscous(
    slope: Measurement, intercept: Measurement, R: Measurement, K: Measurement, covariance: np.ndarray
) -> Measurement:
    """What the slope exceeds the motor constant by is viscous friction."""

    def drag(slope: float, level: float, R: float, K: float) -> float:
        return Line(R, K, K).behind_voltage(Feedforward(level, slope, 0.0)).viscous

    m = derive(
        "friction.viscous",
        "N m s/rad",
        drag,
        *(slope, intercept, R, K),
        covariance=covariance,
        assumption="what the slope exceeds the motor constant by is viscous friction",
    )
    why = (
        f"The slope, {slope.value:.4g} V s/rad, is K + R f_v / K and so never below K, but K was given as"
        f" {K.value:.4g}."
    )
    remedy = (
        "measure K again (open-circuit volts while driven, or torque over current); check whether speed and K"
        " are of the same side of the gears, and R warm"
    )
    return judge(m, zero=True, why=why, remedy=remedy)


def _with_currents(v: np.ndarray, w: np.ndarray, i: np.ndarray, R: Measurement) -> dict[str, Measurement]:
    """K_e from V - R i, and friction as K_e i, with the current of every reading known."""
    columns(3, voltage=v, current=i)
    r, dr = present(R.value), R.error or 0.0
    line = straight(w, v - r * i, origin=True)
    moved = float(regress(w[:, None], -i).coefficients[0]) * dr
    of_R = estimate("R", "ohm", 0.0, moved**2, R.spare)
    K = derive(
        "motor.back_emf_constant",
        "V s/rad",
        lambda own, more: own + more,
        *(line.of(0, "K_e", "V s/rad"), of_R),
        assumption="what R i leaves of the volts is back-EMF",
    )
    if not (K.value and K.value > 0):
        return {"back_emf": judge(K, remedy="check the signs, and that R i is below the voltage")}
    friction = no_load_current(w, i, torque_constant=K)
    return {"back_emf": K, "coulomb": friction, "viscous": friction.others["viscous"]}


def no_load_current(speed: Column, current: Column, *, torque_constant: Known) -> Measurement:
    """Dry and viscous friction from the no-load current at several speeds.

    K i_0 = tau_c + B w (MuJoCo's DC-motor note, equation 5). Speeds and currents are both signed or both not.

    Args:
        speed: Speeds [rad/s].
        current: No-load currents [A].
        torque_constant: Torque constant [N m/A].

    Returns:
        Dry friction [N m] and viscous friction [N m s/rad], at the shaft whose speed was read.
    """
    w, i = columns(3, speed=speed, current=current)
    K = known_number("torque_constant", torque_constant)
    way = np.where(w < 0, -1.0, 1.0)
    line = straight(way * w, way * i)
    slope, level = line.of(0, "i_0 per speed", "A s/rad"), line.of(1, "i_0 at standstill", "A")

    def load(k: int):
        def of(slope: float, level: float, K: float) -> float:
            return Line(1.0, K, K).behind_current(Feedforward(level, slope, 0.0))[k]

        return of

    inputs = {"covariance": line.covariance}
    dry = derive("friction.coulomb", "N m", load(1), slope, level, K, **inputs)
    drag = derive("friction.viscous", "N m s/rad", load(2), slope, level, K, **inputs)
    remedy = "read currents at more and higher speeds, after the gears and the grease have warmed up"
    drag = judge(
        drag,
        zero=True,
        why="A current that falls with speed is friction that fades (Stribeck), or a cold gear warming up.",
        remedy=remedy,
    )
    dry = judge(dry, zero=True, remedy="read at lower speeds, and check the ammeter's zero")
    made = replace(
        dry,
        route="no-load-current",
        others={"viscous": drag, "current": level, "current_per_speed": slope},
        shown=line.plot_data("speed [rad/s]", "no-load current [A]", "K i = tau_c + B w"),
        assumption="steady speeds, nothing on the shaft, and all of K i goes into friction",
        sharpen="both directions, and low speeds for the intercept, high ones for the slope",
    )
    return made.noting(
        *drag.findings, line.outlier(1, "i_0 at standstill", "A"), line.bend_finding("the current", "A")
    )


def torque_constant(
    load: Column,
    voltage: Column | None = None,
    *,
    current: Column | None = None,
    resistance: Known | None = None,
    static: float | None = None,
    directions: Column | None = None,
) -> Measurement:
    """Torque constant from loads held at rest, by their current, or by voltage and resistance.

    load = K i -+ friction, and at rest i = V / R. Bounds from one direction and a static friction; a value
    from both directions, or from the slope, where friction is taken to hold the same share in every reading.

    Args:
        load: Torques of the loads [N m].
        voltage: Voltages that held them [V].
        current: Currents that held them [A].
        resistance: Resistance [ohm].
        static: Static friction [N m]: the answer is then bounds.
        directions: For each reading 1 if the arm last moved up, -1 if down [1].

    Returns:
        K [N m/A] at the output that carries the loads, or its bounds.

    Raises:
        MissingValue: where neither currents nor voltages with R are given, or too few loads.
        InvalidValue: where a current is 0, or directions are not 1 or -1.
    """
    route, tau, i, R = _loads(load, voltage, current, resistance)
    if static is not None:
        known_number("static", static, zero=True)
    if directions is not None and (len(directions) != len(tau) or not set(directions) <= {1, -1}):
        raise InvalidValue(
            f"directions is {list(directions)!r}; expected 1 or -1 for each of the {len(tau)} loads"
        )
    ways = set() if directions is None else set(directions)
    sharpen = (
        "readings with the arm arriving from both directions; a no-load line; loads as heavy as in use,"
        " because friction grows with load"
    )
    measurement = Measurement(name="motor.torque_constant", unit="N m/A", route=route, sharpen=sharpen)
    if ways == {1, -1}:
        return _fit_with_friction(measurement, tau, i, np.asarray(directions, float), R)
    if static is None and len(tau) < 3:
        raise MissingValue(
            f"{len(tau)} loads do not tell K from friction; give the static friction for bounds (--static),"
            " the directions of arrival, or at least 3 loads"
        )
    if static is None:
        return _fit_slope(measurement, tau, i, R)
    slope = _fit_slope(measurement, tau, i, R) if len(tau) >= 3 and np.ptp(np.abs(i)) > 0 else None
    return _bound(measurement, tau, i, R, static, slope)


def stall_torque(
    scale: Column,
    *,
    arm: Known,
    current: Column | None = None,
    supply: Known | None = None,
    static: float | None = None,
) -> Measurement:
    """Stall torque from what a lever presses on a scale with, the drive full on and the output held.

    tau = F l; with the stall currents K_t = tau / i, and with the volts R = V / i. A scale that shows
    kilograms is welcome: "1.2, 1.3 kg" are their weight.

    Args:
        scale: What the scale showed [N].
        arm: Lever arm, from the axis to the scale [m].
        current: Stall currents, one for each reading [A].
        supply: Voltage at the motor [V].
        static: Static friction [N m]: K_t is then bounds.

    Returns:
        The stall torque [N m] at the output; with currents also K_t there, and R where the volts are given.
    """
    (F,) = columns(1, scale=scale)
    l = known_number("arm", arm)
    pressed = regress(np.ones((len(F), 1)), F).of(0, "force", "N")
    tau = derive("stall torque", "N m", lambda F, l: F * l, pressed, l)
    others: dict[str, Measurement] = {}
    if current is not None:
        _, i = columns(1, scale=F, current=current)
        if not i.all():
            raise InvalidValue("a current is 0; expected the currents of the stalled motor")
        drawn = regress(np.ones((len(i), 1)), i).of(0, "stall current", "A")
        ratio = regress(np.ones((len(i), 1)), F / i).of(0, "force per current", "N/A")
        others["current"] = drawn
        others["torque_constant"] = _stall_constant(
            derive("K", "N m/A", lambda k, l: k * l, ratio, l), static, i
        )
        if supply is not None:
            V = known_number("supply", supply)
            others["resistance"] = derive("motor.resistance", "ohm", lambda i, V: V / i, drawn, V)
    elif static is not None or supply is not None:
        raise MissingValue("--static and --supply tell K_t and R from the stall current; give --current too")
    made = replace(
        tau,
        route="stall-torque",
        others=others,
        shown=_pressed_plot(F, tau, present(l.value)),
        assumption="the lever stood square to the scale, and the winding had not warmed up yet",
        sharpen="short pulls, with pauses to cool; both directions: half their difference is friction",
    )
    return judge(made, remedy="check the sign of the scale's reading").noting(
        blind(made), *(f for other in others.values() for f in other.findings)
    )


def _stall_constant(K: Measurement, static: float | None, i: np.ndarray) -> Measurement:
    """K_t of a stalled motor: a value where friction takes nothing, bounds where it may take some."""
    if static is None:
        words = "friction takes nothing of it: K_t is larger by what friction takes, over the current"
        return judge(replace(K, name="motor.torque_constant", assumption=words), remedy="check the signs")
    known_number("static", static, zero=True)
    far = K.factor * (K.error or 0.0) + static / float(np.min(np.abs(i)))
    value = present(K.value)
    words = "friction at rest lies anywhere within +-f_s"
    return Measurement(
        name="motor.torque_constant", unit=K.unit, low=value - far, high=value + far, assumption=words
    )


def _pressed_plot(F: np.ndarray, tau: Measurement, arm: float) -> PlotData:
    """Torque of each reading, and their mean."""
    x = np.arange(1.0, len(F) + 1.0)
    ends = np.array([0.5, len(F) + 0.5])
    line = FittedCurve(x=ends, y=np.full(2, tau.value), label="stall torque")
    if tau.low is not None and tau.high is not None:
        line = replace(line, low=np.full(2, tau.low), high=np.full(2, tau.high))
    return PlotData(
        x_label="reading [1]",
        y_label="torque [N m]",
        readings=(Readings(x=x, y=F * arm),),
        curves=(line,),
        fitted=False,
    )


def _loads(
    load: Column, voltage: Column | None, current: Column | None, resistance: Known | None
) -> tuple[str, np.ndarray, np.ndarray, Measurement | None]:
    """(route, loads [N m], currents [A], the resistance where they follow from voltages)."""
    route, i, R = "torque-constant by current", current, None
    if current is None:
        if voltage is None or resistance is None:
            raise MissingValue("a torque constant needs currents, or voltages with the resistance")
        R = known_number("resistance", resistance)
        route, i = "torque-constant by voltage", np.asarray(voltage, float) / present(R.value)
    name = "voltage" if current is None else "current"
    tau, i = columns(1, load=load, **{name: i})
    if not i.all():
        raise InvalidValue(f"a {name} is 0; expected the {name}s that held the loads")
    return route, tau, i, R


def _bound(
    measurement: Measurement,
    tau: np.ndarray,
    i: np.ndarray,
    R: Measurement | None,
    static: float,
    slope: Measurement | None,
) -> Measurement:
    """Bounds where friction at rest lies anywhere within +-static."""
    ends = [float(f((tau + s * static) / i)) for f, s in ((np.min, -1), (np.max, 1))]
    if R is not None:  # i = V / R: K errs as R does
        share = R.factor * (R.error or 0.0) / present(R.value)
        ends = [ends[0] * (1 - share), ends[1] * (1 + share)]
    found = [] if slope is None else list(slope.findings)
    if ends[1] <= 0:
        text = f"the torque constant lies between {ends[0]:.3g} and {ends[1]:.3g} N m/A: below zero."
        found.append(finding("impossible_value", text, "check the signs of load and current", high=ends[1]))
    elif ends[0] <= 0:
        text = f"static friction, {static:.3g} N m, is as large as a load: K is bounded from above alone."
        found.append(finding("not_told", text, "use heavier loads", low=ends[0], high=ends[1]))
    return replace(
        measurement,
        low=ends[0],
        high=ends[1],
        others={} if slope is None else {"slope": replace(slope, others={}, findings=())},
        findings=tuple(found),
        assumption="friction at rest lies anywhere within +-f_s, and f_s does not grow with the load",
        shown=_between(tau, i, static, ends),
    )


def _between(tau: np.ndarray, i: np.ndarray, static: float, ends: list[float]) -> PlotData:
    x = np.linspace(0.0, float(np.max(np.abs(i))), 51)
    band = FittedCurve(
        x=x,
        y=np.full_like(x, np.nan),
        low=ends[0] * x,
        high=ends[1] * x,
        label="",
        band=f"K from {ends[0]:.3g} to {ends[1]:.3g} N m/A: friction within +-{static:.3g} N m",
    )
    return PlotData(
        x_label="current [A]",
        y_label="load [N m]",
        readings=(Readings(x=np.abs(i), y=np.sign(i) * tau),),
        curves=(band,),
        fitted=False,
    )


def _divide_by_resistance(K: Measurement, R: Measurement | None) -> Measurement:
    """A slope over V / R, with what the error of R adds."""
    if R is None or not R.error:
        return K
    more = estimate("R", "1", 1.0, (R.error / present(R.value)) ** 2, R.spare)
    return derive(K.name, K.unit, lambda slope, share: slope * share, K, more)


def _fit_slope(
    measurement: Measurement, tau: np.ndarray, i: np.ndarray, R: Measurement | None
) -> Measurement:
    line = straight(i, tau)
    K = _divide_by_resistance(line.of(0, measurement.name, measurement.unit), R)
    K = replace(
        K,
        route=measurement.route,
        sharpen=measurement.sharpen,
        others={"friction": replace(line.of(1, "friction taken off", "N m"), assumption="")},
        shown=line.plot_data("current [A]", "load [N m]", f"K = {line.slope:.4g} N m/A"),
        assumption="friction holds or hinders alike in every reading, and does not grow with the load",
    )
    return judge(K, remedy="check the signs of load and current").noting(
        line.outlier(0, measurement.name, measurement.unit), _saturation(tau, i)
    )


def _fit_with_friction(
    measurement: Measurement, tau: np.ndarray, i: np.ndarray, way: np.ndarray, R: Measurement | None
) -> Measurement:
    """K i = load + d f: least squares for K and f."""
    fit = regress(np.stack([i, -way], axis=1), tau)
    K = _divide_by_resistance(fit.of(0, measurement.name, measurement.unit), R)
    friction = judge(
        fit.of(1, "friction.static", "N m"),
        zero=True,
        remedy="check which readings arrived from below (1) and from above (-1)",
    )
    x = np.linspace(0.0, float(np.max(np.abs(i))), 51)
    lines = [
        FittedCurve(x=x, y=fit.coefficients[0] * x - d * fit.coefficients[1], label=label)
        for d, label in ((1.0, "after moving up"), (-1.0, "after coming down"))
    ]
    read = [
        Readings(x=i[way == d], y=tau[way == d], label=label)
        for d, label in ((1.0, "loads after moving up"), (-1.0, "loads after coming down"))
    ]
    K = replace(
        K,
        route=measurement.route,
        sharpen=measurement.sharpen,
        others={"friction": friction},
        shown=PlotData(
            x_label="current [A]", y_label="load [N m]", readings=tuple(read), curves=tuple(lines)
        ),
        assumption="friction is the same in both directions and does not grow with the load",
    )
    return judge(K, remedy="check the signs of load and current").noting(blind(K), *friction.findings)


def _saturation(tau: np.ndarray, i: np.ndarray) -> Finding | None:
    """Said where torque grows less and less with the current."""
    if len(tau) < 5:
        return None
    try:
        bent = regress(np.stack([i, np.ones_like(i), i * np.abs(i)], axis=1), tau)
    except InvalidValue:
        return None
    m = bent.of(2, "curvature", "N m/A^2")
    most = float(np.max(np.abs(i)))
    if m.high is None or m.high >= 0 or abs(present(m.value)) * most < 0.05 * abs(bent.coefficients[0]):
        return None
    least = float(np.min(np.abs(i)))
    first, last = (float(bent.coefficients[0] + 2 * bent.coefficients[2] * x) for x in (least, most))
    text = (
        f"torque grows less and less with the current: by {first:.3g} N m/A at {least:.3g} A, by {last:.3g}"
        f" at {most:.3g} A. The iron saturates, or friction grows with the load."
    )
    remedy = "quote K with its current, read small ones more densely, and fit a load-dependent friction"
    return finding("saturation", text, remedy, first=first, last=last)


DEGREE = math.radians(1.0)
"""How well an angle is read unless said otherwise."""


def _arm(mass: float, length: float, arm_mass: float, angle: float, gravity: float) -> Pendulum:
    """The arm, once all that was read makes sense."""
    known_number("mass", mass)
    known_number("length", length)
    if not abs(angle) <= math.pi:
        raise InvalidValue(
            f"angle is {angle:g} rad; expected at most 3.14, half a turn: degrees are written as {angle:g}deg"
        )
    if not 0 <= arm_mass < math.inf:
        raise InvalidValue(f"arm_mass is {arm_mass!r}; expected 0 or more")
    return Pendulum(mass=mass, length=length, arm_mass=arm_mass, gravity=gravity)


def _gravity_plot(moment: float, angle: float, label: str, m: Measurement | None = None) -> PlotData:
    """Gravity's torque over the angle, and where the arm was; with the friction that follows."""
    drawn = np.radians(np.linspace(0.0, 90.0, 91))
    at = abs(math.degrees(math.asin(math.sin(angle))))
    read = Readings(x=np.array([at]), y=np.array([moment * abs(math.cos(angle))]), label=label)
    line = FittedCurve(x=np.degrees(drawn), y=moment * np.cos(drawn), label="gravity's torque")
    curves = [line]
    if m is not None and m.value is not None:
        wide, (low, high) = np.array([0.0, 90.0]), (np.full(2, v) for v in (m.low, m.high))
        curves.append(FittedCurve(x=wide, y=np.full(2, m.value), label="static friction", low=low, high=high))
    return PlotData(
        x_label="angle from the horizontal [deg]",
        y_label="torque [N m]",
        readings=(read,),
        curves=tuple(curves),
        fitted=False,
    )


def fall(
    *, mass: float, length: float, angle: float, arm_mass: float = 0.0, gravity: float = GRAVITY
) -> Measurement:
    """Static friction from where a falling arm came to rest: a bound, for friction holds it there.

    Args:
        mass: Mass at the end of the arm [kg].
        length: Length of the arm [m].
        angle: Angle from the horizontal [rad].
        arm_mass: Mass of the arm [kg].
        gravity: Gravity [m/s^2].

    Returns:
        A lower bound of the static friction at the output [N m].
    """
    moment = float(_arm(mass, length, arm_mass, angle, gravity).moment())
    return Measurement(
        name="friction.static",
        unit="N m",
        low=moment * abs(math.cos(angle)),
        route="fall",
        shown=_gravity_plot(moment, angle, "where it came to rest: static friction is here or above"),
        assumption="an arm that came to rest is held by friction at or below stiction",
        sharpen="raise the arm slowly until it just starts to slip: that angle gives the value",
    )


def slip(
    *,
    mass: float,
    length: float,
    angle: float,
    angle_error: float = DEGREE,
    arm_mass: float = 0.0,
    gravity: float = GRAVITY,
) -> Measurement:
    """Static friction from the angle at which a raised arm starts to slip: a value, that of gravity.

    Args:
        mass: Mass at the end of the arm [kg].
        length: Length of the arm [m].
        angle: Angle from the horizontal [rad].
        angle_error: How well the angle was read [rad].
        arm_mass: Mass of the arm [kg].
        gravity: Gravity [m/s^2].

    Returns:
        The static friction at the output [N m].

    Raises:
        InvalidValue: where the angle is not known to 22 degrees.
    """
    moment = float(_arm(mass, length, arm_mass, angle, gravity).moment())
    known_number("angle_error", angle_error, zero=True)
    if angle_error > math.pi / 8:
        raise InvalidValue(
            f"angle_error is {angle_error:.4g} rad; expected at most 0.39: degrees are"
            f" written as {angle_error:g}deg"
        )
    # to second order, so that an arm that slips near the horizontal, where cos is flat, has an error too
    bent = math.hypot(math.sin(angle) * angle_error, math.cos(angle) * angle_error**2 / math.sqrt(2.0))
    f_s = estimate("friction.static", "N m", moment * abs(math.cos(angle)), (moment * bent) ** 2)
    return replace(
        f_s,
        route="slip",
        shown=_gravity_plot(moment, angle, "where it slipped", f_s),
        assumption=f"moved slowly, the drive off, the angle read to {math.degrees(angle_error):g} deg",
        sharpen=(
            "several slips in both directions: their half-difference is friction, their mean the mounting"
            " offset"
        ),
    )
