"""Printed numbers into constants with errors: the whole sheet solved as one weighted problem.

The unknowns are R, K, dry friction tau_c, viscous friction B, rotor inertia J, inductance L, gear ratio N and
efficiency eta, each as a logarithm. Every printed number is an equation (MuJoCo's DC-motor note, table 19 and
equation 5), weighted by its rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...errors import BackemfError, InvalidValue
from ...model.steady import Line
from . import checks, slips
from .datasheet import Datasheet
from .entries import ENTRIES
from .printed import Entry
from .solved import Constant, Reconciled as Reconciled, Residual

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


def predict(
    name: str, side: str, voltage: float, c: Mapping[str, float], extra: Mapping[str, float]
) -> float | None:
    """What an entry should be for constants c at a voltage; None where no equation says."""
    R, K, tau_c, B = c["R"], c["K"], c["tau_c"], c.get("B", 0.0)
    J, L, N, eta = c.get("J"), c.get("L"), c.get("N", 1.0), c.get("eta", 1.0)
    line = Line(R, c.get("kappa", 1.0) * K, K, voltage, tau_c, B)
    i_n = extra.get("nominal_current")
    at_rotor: dict[str, float | None] = {
        "resistance": R,
        "inductance": L,
        "torque_constant": line.K_t,
        "back_emf_constant": K,
        "speed_constant": 1.0 / K,
        "no_load_speed": line.no_load_speed,
        "no_load_current": line.no_load_current,
        "stall_torque": line.stall_torque - (tau_c if extra.get("stall_torque_is_net") else 0.0),
        "stall_current": line.stall_current,
        "speed_torque_gradient": line.gradient,
        "mechanical_time_constant": None if J is None else line.time_constant(J),
        "electrical_time_constant": None if L is None else L / R,
        "rotor_inertia": J,
        "coulomb_torque": tau_c,
        "viscous_friction": B if B > 0 else None,
        "nominal_torque": None if i_n is None else line.shaft_torque_at(i_n),
        "nominal_speed": None if i_n is None else line.speed_at(i_n),
        "max_efficiency": line.best_efficiency,
        "gear_ratio": c.get("N"),
        "gear_efficiency": c.get("eta"),
    }
    value = at_rotor.get(name)
    if value is None or side == "rotor":
        return value
    kind = ENTRIES[name]
    loss = (eta if kind.gear > 0 else 1.0 / eta) if kind.lossy else 1.0
    return value * N**kind.gear * loss


def reconcile(sheet: Datasheet) -> Reconciled:
    verdict = slips.judge(sheet)
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
    predicted = [(e, problem.predicted(e, values)) for e in sheet.entries]
    solved = Reconciled(
        constants={
            name: Constant(value=values[name], error=errors[name], unit=UNKNOWNS[name])
            for name in values
            if math.isfinite(errors[name])
        },
        derived=derived(sheet, sheet.voltage, values, problem.covariance, problem.extra),
        residuals=tuple(Residual(entry=e, predicted=p) for e, p in predicted if p is not None),
        findings=(),
        assumed=tuple(problem.assumed),
        geared=problem.geared,
        thermal=thermal_constants(sheet),
        extra=problem.extra,
        covariance=problem.covariance,
        values=values,
    )
    return replace(solved, findings=tuple(checks.findings(sheet, verdict, solved)))


class _Problem:
    """The unknowns a sheet has, and its equations."""

    def __init__(self, sheet: Datasheet, verdict: slips.Verdict):
        self.sheet, self.left_out, self.suspects = sheet, verdict.left_out, verdict.suspects
        has = {e.name for e in sheet.entries}
        self.geared = sheet.kind != "motor"
        rated = sheet.get("nominal_current")
        self.extra = {} if rated is None or rated.kind == "peak" else {"nominal_current": rated.value}
        if _stall_torque_is_net(sheet):
            self.extra["stall_torque_is_net"] = 1.0
        efficiency = self.geared and bool(has & {"stall_current", "resistance", "gear_efficiency"})
        apart = not self.geared and verdict.two_constants
        inertia = bool(has & {"rotor_inertia", "mechanical_time_constant"})
        drags = {e.voltage for e in sheet.entries if e.name == "no_load_current"}
        viscous = "viscous_friction" in has or len(drags) > 1
        self.drag_known = bool(has & {"no_load_current", "coulomb_torque"})
        optional = {
            "N": "gear_ratio" in has,
            "eta": efficiency,
            "kappa": apart,
            "J": inertia,
            "L": bool(has & {"inductance", "electrical_time_constant"}),
            "B": viscous,
        }
        self.names = ["R", "K", "tau_c", *(name for name, there in optional.items() if there)]
        self.priors: dict[str, tuple[float, float]] = {"eta": (math.log(0.75), 0.5)} if efficiency else {}
        """name -> (logarithm, its standard error)."""
        assumptions = {
            "no gear ratio is printed: motor constants are those of a motor without gears at the output": (
                self.geared and "gear_ratio" not in has
            ),
            "no stall current and no resistance are printed: gear efficiency is taken as 1; a stall current"
            " would tell it": self.geared and not efficiency,
            "torque and back-EMF constant disagree and are kept apart, as printed; the difference is booked"
            " as a loss": apart,
            "all drag at no load is dry friction: a no-load current at a second voltage would split it into"
            " dry and viscous": self.drag_known and not viscous,
            "no no-load current is printed: friction is taken as 5 % of the stall torque, within a factor of"
            " 2; a no-load current would settle it": not self.drag_known,
            "no rotor inertia is printed: it is taken as 0; a coast-down or a step response would tell it": (
                not inertia
            ),
        }
        self.assumed = [text for text, holds in assumptions.items() if holds]

    def predicted(self, e: Entry, c: Mapping[str, float]) -> float | None:
        """What an entry of the sheet should be for constants c."""
        return predict(e.name, e.side, e.voltage or self.sheet.voltage, c, self.extra)

    def start(self) -> dict[str, float]:
        """Rough values from whatever is printed."""
        s, V = self.sheet, self.sheet.voltage
        N = s.value("gear_ratio")

        def rotor(name: str) -> float | None:
            e = s.get(name)
            if e is None:
                return None
            return e.value / (N if N is not None and e.side == "output" else 1.0) ** ENTRIES[name].gear

        w_0, tau_0, k_n = rotor("no_load_speed"), rotor("stall_torque"), rotor("speed_constant")
        from_speed = 1.0 / k_n if k_n else V / w_0 if w_0 else 0.01
        K = rotor("back_emf_constant") or rotor("torque_constant") or from_speed
        stall, R = s.get("stall_current"), s.value("resistance")
        if stall is not None:
            R = (stall.voltage or V) / stall.value
        elif R is None:
            R = K * V / tau_0 if tau_0 else 1.0
        i_0 = s.value("no_load_current")
        t_m, t_e, L = (
            s.value(name) for name in ("mechanical_time_constant", "electrical_time_constant", "inductance")
        )
        values = {
            "R": R,
            "K": K,
            "tau_c": K * (0.05 * V / R if i_0 is None else i_0),
            "B": 1e-3 * K * K / R,
            "N": 1.0 if N is None else N,
            "eta": 0.75,
            "kappa": 1.0,
            "J": rotor("rotor_inertia") or (1e-6 if t_m is None else t_m * K * K / R),
            "L": L if L is not None else 1e-4 if t_e is None else t_e * R,
        }
        return {name: values[name] for name in self.names}

    def solve(self) -> tuple[dict[str, float], dict[str, float]]:
        """(values, standard errors) of the unknowns; an error is infinite where the sheet leaves one open."""
        from scipy.optimize import least_squares

        start, n = self.start(), len(self.names)
        equations = self.equations(start)

        def residuals(x: np.ndarray) -> np.ndarray:
            c = {name: math.exp(v) for name, v in zip(self.names, x, strict=True)}
            rows = [(math.log(max(p(c), 1e-300)) - target) / sigma for p, target, sigma in equations]
            rows += [(math.log(c[name]) - mean) / sigma for name, (mean, sigma) in self.priors.items()]
            if not self.drag_known:  # the stated assumption: 5 % of the stall torque, within a factor of two
                share = c["tau_c"] * c["R"] / (c["K"] * self.sheet.voltage)
                rows.append((math.log(share) - math.log(0.05)) / math.log(2.0))
            return np.array(rows)

        x0 = np.array([math.log(start[name]) for name in self.names])
        end = least_squares(
            residuals, x0, method="trf", loss="linear", x_scale=1.0, bounds=(x0 - 12.0, self.upper(x0))
        )
        _, s, vt = np.linalg.svd(end.jac, full_matrices=True)
        s = np.concatenate([s, np.zeros(n - len(s))])  # more unknowns than equations: the rest is open
        # A sheet that contradicts itself is believed less.
        scale = max(1.0, 2.0 * end.cost / max(len(end.fun) - n, 1))
        weak = s < 1e-8 * s[0]
        half = vt.T / np.where(weak, np.inf, s)
        self.covariance = scale * half @ half.T
        variance = np.diag(self.covariance)
        open_ = np.any(np.abs(vt[weak]) > 1e-3, axis=0) if np.any(weak) else np.zeros(n, bool)
        values = {name: math.exp(v) for name, v in zip(self.names, end.x, strict=True)}
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
            silent = self.predicted(e, start) is None
            if e is self.left_out or e.value <= 0 or e.kind == "peak" or silent:
                continue
            sigma = max(math.hypot(e.half / e.value, FLOOR), LOOSE.get(e.name, 0.0))
            # An assumption, or an entry that a usual slip would explain, is a hint and no more.
            if e.kind == "assumed" or any(e is suspect for suspect in self.suspects):
                sigma = max(sigma, 0.5)
            # A servo's is its rounded stall torque over its rounded stall current.
            if e.name == "torque_constant" and e.side == "output" and self.geared:
                sigma = max(sigma, 0.02)
            rows.append((lambda c, e=e: self.predicted(e, c) or 1e-300, math.log(e.value), sigma))
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
    constants: dict[str, Constant] = {}
    for name in DERIVED:
        value = predict(name, side, voltage, c, extra)
        if value is None or not math.isfinite(value):
            continue
        moved = [
            predict(name, side, voltage, {**c, unknown: c[unknown] * (1.0 + 1e-6)}, extra) or value
            for unknown in c
        ]
        slope = (np.array(moved) - value) / 1e-6  # by the logarithm of each constant
        error = float(np.sqrt(max(slope @ covariance @ slope, 0.0)))
        constants[name] = Constant(value=value, error=error, unit=ENTRIES[name].unit)
    return constants


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
    names = ("stall_torque", "torque_constant", "no_load_current", "resistance", "stall_current")
    tau, K, i_0, R, stall = (sheet.value(name) for name in names)
    i = stall if stall is not None else sheet.voltage / R if R else None
    if tau is None or K is None or i_0 is None or i is None or sheet.kind != "motor":
        return False
    return abs(tau - K * (i - i_0)) < abs(tau - K * i)


def thermal_constants(sheet: Datasheet) -> dict[str, float]:
    """Thermal resistances and capacitances, as far as they are printed: one node, or two."""
    R_T, R1, R2 = (sheet.value(f"thermal_resistance{end}") for end in ("", "_winding", "_housing"))
    t1, t2 = (sheet.value(f"thermal_time_constant{end}") for end in ("", "_housing"))
    C = sheet.value("thermal_capacitance")
    if R1 and R2 and t1 and t2:
        capacitances = {"winding_capacitance": t1 / R1, "housing_capacitance": t2 / R2}
        return {"winding_resistance": R1, "housing_resistance": R2, **capacitances}
    R_T = R_T or (R1 + R2 if R1 and R2 else None)
    C = C or (t1 / R_T if t1 and R_T else None)
    return {"resistance": R_T, "capacitance": C} if R_T and C else {}
