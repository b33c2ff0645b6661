"""Printed numbers into constants with errors: the whole sheet solved as one weighted problem.

The unknowns are R, K, dry friction tau_c, viscous friction B, rotor inertia J, inductance L, gear ratio N and
efficiency eta, each as a logarithm. Every printed number is an equation (document 001, table 19 and equation
5), weighted by its rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import BackemfError, InvalidValue
from ...findings import Finding
from . import checks
from .datasheet import Datasheet, Entry
from .entries import ENTRIES

FLOOR = 1e-3
"""Relative error below which no printed number is believed: makers compute sheets from rounded numbers too.
"""
LOOSE = {"nominal_torque": 0.1, "nominal_speed": 0.3, "max_efficiency": 0.05, "stall_torque": 0.005}
"""Entries that makers compute in their own ways (hot winding, friction taken off or not):
believed no better than this."""
UNKNOWNS = {
    "R": "ohm",
    "K": "V s/rad",
    "tau_c": "N m",
    "B": "N m s/rad",
    "J": "kg m^2",
    "L": "H",
    "N": "1",
    "eta": "1",
    "kappa": "1",
}
"""K is the back-EMF constant; kappa, torque constant over back-EMF constant,
is 1 unless the sheet contradicts that."""
DERIVED = (
    "no_load_speed",
    "no_load_current",
    "stall_torque",
    "stall_current",
    "torque_constant",
    "back_emf_constant",
    "speed_constant",
    "speed_torque_gradient",
    "mechanical_time_constant",
    "electrical_time_constant",
    "nominal_torque",
    "nominal_speed",
    "max_efficiency",
)


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A number with its standard error."""

    value: float
    error: float
    unit: str


@dataclass(frozen=True, kw_only=True)
class Residual:
    """A printed number against what the solved constants predict."""

    entry: Entry
    predicted: float
    """In the unit and at the side of the entry."""

    @property
    def ratio(self) -> float:
        return self.predicted / self.entry.value

    @property
    def within_rounding(self) -> bool:
        return abs(self.predicted - self.entry.value) <= self.entry.half * 1.0001


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """What follows from a sheet. Constants are at the rotor, unless the sheet knows no gear ratio;
    then all is at the output."""

    constants: Mapping[str, Constant]
    derived: Mapping[str, Constant]
    residuals: tuple[Residual, ...]
    findings: tuple[Finding, ...]
    assumed: tuple[str, ...]
    geared: bool
    covariance: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """Of the constants' logarithms, in their order."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Every unknown, also those the sheet leaves open."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """What else the equations need: the nominal current, and whether stall torque is printed after friction.
    """
    thermal: Mapping[str, float] = field(default_factory=dict)


def predict(
    name: str, side: str, voltage: float, c: Mapping[str, float], extra: Mapping[str, float]
) -> float | None:
    """What an entry should be for constants c at a voltage; None where no equation says."""
    R, K, tau_c, B = c["R"], c["K"], c["tau_c"], c.get("B", 0.0)
    J, L, N, eta = c.get("J"), c.get("L"), c.get("N", 1.0), c.get("eta", 1.0)
    K_t = c.get("kappa", 1.0) * K
    w0 = (K_t * voltage / R - tau_c) / (K_t * K / R + B)
    i0 = (tau_c + B * w0) / K_t
    i_n = extra.get("nominal_current")
    at_rotor: dict[str, float | None] = {
        "resistance": R,
        "inductance": L,
        "torque_constant": K_t,
        "back_emf_constant": K,
        "speed_constant": 1.0 / K,
        "no_load_speed": w0,
        "no_load_current": i0,
        "stall_torque": K_t * voltage / R - (tau_c if extra.get("stall_torque_is_net") else 0.0),
        "stall_current": voltage / R,
        "speed_torque_gradient": R / (K * K_t),
        "mechanical_time_constant": None if J is None else R * J / (K * K_t),
        "electrical_time_constant": None if L is None else L / R,
        "rotor_inertia": J,
        "coulomb_torque": tau_c,
        "viscous_friction": B if B > 0 else None,
        "nominal_torque": None if i_n is None else K_t * i_n - tau_c - B * w0,
        "nominal_speed": None if i_n is None else (voltage - R * i_n) / K,
        "max_efficiency": (1.0 - math.sqrt(max(i0 * R / voltage, 0.0))) ** 2 if i0 * R < voltage else None,
        "gear_ratio": c.get("N"),
        "gear_efficiency": c.get("eta"),
    }
    value = at_rotor.get(name)
    if value is None:
        return None
    if side == "output":
        kind = ENTRIES[name]
        value *= N**kind.gear
        if kind.lossy:
            value *= eta if kind.gear > 0 else 1.0 / eta
    return value


def reconcile(sheet: Datasheet) -> Reconciled:
    verdict = checks.judge(sheet)
    problem = _Problem(sheet, verdict)
    try:
        values, errors = problem.solve()
    except BackemfError:
        raise
    except (ValueError, ArithmeticError):  # logarithms of what is not above 0, or beyond all numbers
        odd = [f"{e.name} = {e.printed.text:.40}" for e in sheet.entries if not 1e-12 < e.value < 1e12]
        raise InvalidValue(
            f"the numbers of {sheet.name!r} make no motor; check {', '.join(odd) or 'their units'}"
        ) from None
    constants = {
        name: Constant(value=values[name], error=errors[name], unit=UNKNOWNS[name])
        for name in values
        if math.isfinite(errors[name])
    }
    residuals = tuple(
        Residual(entry=e, predicted=p)
        for e in sheet.entries
        if (p := predict(e.name, e.side, e.voltage or sheet.voltage, values, problem.extra)) is not None
    )
    thermal = thermal_constants(sheet)
    found = Reconciled(
        constants=constants,
        derived=derived(sheet, sheet.voltage, values, problem.covariance, problem.extra),
        residuals=residuals,
        findings=(),
        assumed=tuple(problem.assumed),
        geared=problem.geared,
        thermal=thermal,
        extra=problem.extra,
        covariance=problem.covariance,
        values=values,
    )
    return replace(found, findings=tuple(checks.findings(sheet, verdict, found)))


class _Problem:
    """The unknowns a sheet has, and its equations."""

    def __init__(self, sheet: Datasheet, verdict: checks.Verdict):
        self.sheet, self.left_out, self.suspects = sheet, verdict.left_out, verdict.suspects
        self.assumed: list[str] = []
        has = {e.name for e in sheet.entries}
        ratio = sheet.get("gear_ratio")
        self.geared = sheet.kind != "motor"
        rated = sheet.get("nominal_current")
        self.extra = {} if rated is None or rated.kind == "peak" else {"nominal_current": rated.value}
        if _stall_torque_is_net(sheet):
            self.extra["stall_torque_is_net"] = 1.0
        self.names = ["R", "K", "tau_c"]
        self.priors: dict[str, tuple[float, float]] = {}
        """name -> (logarithm, its standard error)."""
        electrical = bool(has & {"stall_current", "resistance"})
        if ratio is not None:
            self.names.append("N")
        elif self.geared:
            self.assumed.append(
                "no gear ratio is printed: motor constants are those of a motor without gears at the output"
            )
        if self.geared and (electrical or "gear_efficiency" in has):
            self.names.append("eta")
            self.priors["eta"] = (math.log(0.75), 0.5)
        elif self.geared:
            self.assumed.append(
                "no stall current and no resistance are printed: gear efficiency is taken as 1; a stall"
                " current would tell it"
            )
        if not self.geared and verdict.two_constants:
            self.names.append("kappa")
            self.assumed.append(
                "torque and back-EMF constant disagree and are kept apart, as printed; the difference is"
                " booked as a loss"
            )
        if has & {"rotor_inertia", "mechanical_time_constant"}:
            self.names.append("J")
        if has & {"inductance", "electrical_time_constant"}:
            self.names.append("L")
        drags = [e for e in sheet.entries if e.name == "no_load_current"]
        if "viscous_friction" in has or len({e.voltage for e in drags}) > 1:
            self.names.append("B")
        elif "no_load_current" in has or "coulomb_torque" in has:
            self.assumed.append(
                "all drag at no load is dry friction: a no-load current at a second voltage would split it"
                " into dry and viscous"
            )
        self.drag_known = bool(has & {"no_load_current", "coulomb_torque"})
        if not self.drag_known:
            self.assumed.append(
                "no no-load current is printed: friction is taken as 5 % of the stall torque, within a factor"
                " of 2; a no-load current would settle it"
            )
        if "rotor_inertia" not in has and "mechanical_time_constant" not in has:
            self.assumed.append(
                "no rotor inertia is printed: it is taken as 0; a coast-down or a step response would tell it"
            )

    def start(self) -> dict[str, float]:
        """Rough values from whatever is printed."""
        s, V = self.sheet, self.sheet.voltage

        def rotor(name: str) -> float | None:
            e = s.get(name)
            if e is None:
                return None
            n = s.get("gear_ratio")
            return e.value / (n.value if n is not None and e.side == "output" else 1.0) ** ENTRIES[name].gear

        w0, tau0 = rotor("no_load_speed"), rotor("stall_torque")
        speed_constant = rotor("speed_constant")
        K = (
            rotor("back_emf_constant")
            or rotor("torque_constant")
            or (1.0 / speed_constant if speed_constant else None)
            or (V / w0 if w0 else None)
            or 0.01
        )
        stall, printed = s.get("stall_current"), s.get("resistance")
        if stall is not None:
            R = (stall.voltage or V) / stall.value
        elif printed is not None:
            R = printed.value
        else:
            R = K * V / tau0 if tau0 else 1.0
        i0 = s.get("no_load_current")
        found = {
            "R": R,
            "K": K,
            "tau_c": K * (i0.value if i0 is not None else 0.05 * V / R),
            "B": 1e-3 * K * K / R,
            "N": 1.0,
            "eta": 0.75,
            "kappa": 1.0,
        }
        ratio, gradient_inertia, t_m = (
            s.get("gear_ratio"),
            rotor("rotor_inertia"),
            s.get("mechanical_time_constant"),
        )
        found["N"] = ratio.value if ratio is not None else 1.0
        found["J"] = gradient_inertia or (t_m.value * K * K / R if t_m is not None else 1e-6)
        inductance, t_e = s.get("inductance"), s.get("electrical_time_constant")
        found["L"] = (
            inductance.value if inductance is not None else (t_e.value * R if t_e is not None else 1e-4)
        )
        return {name: found[name] for name in self.names}

    def solve(self) -> tuple[dict[str, float], dict[str, float]]:
        from scipy.optimize import least_squares

        start = self.start()
        equations = self.equations(start)

        def residuals(x: np.ndarray) -> np.ndarray:
            c = {name: math.exp(v) for name, v in zip(self.names, x, strict=True)}
            rows = [(math.log(max(p(c), 1e-300)) - target) / sigma for p, target, sigma in equations]
            rows += [(math.log(c[name]) - mean) / sigma for name, (mean, sigma) in self.priors.items()]
            if not self.drag_known:  # the stated assumption: 5 % of the stall torque, within a factor of two
                rows.append(
                    (math.log(c["tau_c"] * c["R"] / (c["K"] * self.sheet.voltage)) - math.log(0.05))
                    / math.log(2.0)
                )
            return np.array(rows)

        x0 = np.array([math.log(start[name]) for name in self.names])
        found = least_squares(
            residuals, x0, method="trf", loss="linear", x_scale=1.0, bounds=(x0 - 12.0, self.upper(x0))
        )
        J = found.jac
        _, s, vt = np.linalg.svd(J, full_matrices=True)
        s = np.concatenate(
            [s, np.zeros(len(self.names) - len(s))]
        )  # more unknowns than equations: the rest is open
        freedom = max(len(found.fun) - len(self.names), 1)
        scale = max(1.0, 2.0 * found.cost / freedom)  # a sheet that contradicts itself is believed less
        weak = s < 1e-8 * s[0]
        half = vt.T / np.where(weak, np.inf, s)
        self.covariance = scale * half @ half.T
        variance = np.diag(self.covariance)
        open_ = np.any(np.abs(vt[weak]) > 1e-3, axis=0) if np.any(weak) else np.zeros(len(self.names), bool)
        values = {name: math.exp(v) for name, v in zip(self.names, found.x, strict=True)}
        errors = {
            name: math.inf if open_[k] else values[name] * math.sqrt(variance[k])
            for k, name in enumerate(self.names)
        }
        return values, errors

    def upper(self, x0: np.ndarray) -> np.ndarray:
        """Upper bounds: no gearbox gives more than it gets."""
        top = x0 + 12.0
        if "eta" in self.names:
            top[self.names.index("eta")] = 0.0
        return top

    def equations(
        self, start: Mapping[str, float]
    ) -> list[tuple[Callable[[Mapping[str, float]], float], float, float]]:
        """(prediction, logarithm of the printed value,
        its standard error) of every entry with an equation."""
        rows = []
        for e in self.sheet.entries:
            V = e.voltage or self.sheet.voltage
            if (
                e is self.left_out
                or e.value <= 0
                or e.kind == "peak"
                or predict(e.name, e.side, V, start, self.extra) is None
            ):
                continue
            sigma = math.hypot(e.half / e.value, FLOOR)
            if e.kind == "assumed" or any(e is suspect for suspect in self.suspects):
                sigma = max(
                    sigma, 0.5
                )  # an assumption, or an entry that a usual slip would explain, is a hint and no more
            sigma = max(sigma, LOOSE.get(e.name, 0.0))
            if e.name == "torque_constant" and e.side == "output" and self.geared:
                sigma = max(
                    sigma, 0.02
                )  # a servo's is its rounded stall torque over its rounded stall current
            rows.append(
                (
                    lambda c, e=e, V=V: predict(e.name, e.side, V, c, self.extra) or 1e-300,
                    math.log(e.value),
                    sigma,
                )
            )
        return rows


def derived(
    sheet: Datasheet,
    voltage: float,
    c: Mapping[str, float],
    covariance: np.ndarray,
    extra: Mapping[str, float],
) -> dict[str, Constant]:
    """Every computed quantity of table 19 at a voltage, at the output where there are gears."""
    side = "rotor" if sheet.kind == "motor" else "output"
    found: dict[str, Constant] = {}
    for name in DERIVED:
        value = predict(name, side, voltage, c, extra)
        if value is None or not math.isfinite(value):
            continue
        moved = [
            predict(name, side, voltage, {**c, unknown: c[unknown] * (1.0 + 1e-6)}, extra) or value
            for unknown in c
        ]
        slope = (np.array(moved) - value) / 1e-6  # by the logarithm of each constant
        found[name] = Constant(
            value=value, error=float(np.sqrt(max(slope @ covariance @ slope, 0.0))), unit=ENTRIES[name].unit
        )
    return found


def derived_at(sheet: Datasheet, voltage: float | None = None) -> dict[str, Constant]:
    """The derived quantities at another voltage than the sheet's."""
    solved = sheet.reconciled
    if voltage is None:
        return dict(solved.derived)
    if not (voltage > 0 and math.isfinite(voltage)):
        raise InvalidValue(f"voltage is {voltage!r}; expected volts above 0")
    return derived(sheet, voltage, solved.values, solved.covariance, solved.extra)


def _stall_torque_is_net(sheet: Datasheet) -> bool:
    """Some makers print K V / R, others take the friction at no load off:
    whichever the sheet's own numbers are nearer to."""
    tau, K, i_0 = sheet.get("stall_torque"), sheet.get("torque_constant"), sheet.get("no_load_current")
    R, stall = sheet.get("resistance"), sheet.get("stall_current")
    if tau is None or K is None or i_0 is None or (R is None and stall is None) or sheet.kind != "motor":
        return False
    i = stall.value if stall is not None else sheet.voltage / (R.value if R is not None else 1.0)
    return abs(tau.value - K.value * (i - i_0.value)) < abs(tau.value - K.value * i)


def thermal_constants(sheet: Datasheet) -> dict[str, float]:
    """Thermal resistances and capacitances, as far as they are printed: one node, or two."""

    def get(name: str) -> float | None:
        entry = sheet.get(name)
        return None if entry is None else entry.value

    R1, R2, R_T = (
        get("thermal_resistance_winding"),
        get("thermal_resistance_housing"),
        get("thermal_resistance"),
    )
    t1, t2, C = get("thermal_time_constant"), get("thermal_time_constant_housing"), get("thermal_capacitance")
    found: dict[str, float] = {}
    if R1 and R2 and t1 and t2:
        found = {
            "winding_resistance": R1,
            "housing_resistance": R2,
            "winding_capacitance": t1 / R1,
            "housing_capacitance": t2 / R2,
        }
    else:
        R_T = R_T or (R1 + R2 if R1 and R2 else None)
        C = C or (t1 / R_T if t1 and R_T else None)
        if R_T and C:
            found = {"resistance": R_T, "capacitance": C}
    return found
