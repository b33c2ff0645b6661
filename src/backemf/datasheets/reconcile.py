"""Printed numbers into constants with errors: the whole sheet solved as one weighted problem.

The unknowns are R, K, dry friction tau_c, viscous friction B, rotor inertia J, inductance L and efficiency
eta, each as a logarithm. Every printed number is an equation (constants_problem.py), weighted by its
tolerance or rounding; entries that the rest contradicts are left out and named (agreement.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import BackemfError, InvalidValue
from . import agreement as slips, checks
from .agreement import agree
from .constants_problem import UNKNOWNS, Solution, predict
from .datasheet import ENTRIES, Datasheet, Reconciliation as Reconciliation, Residual, SolvedConstant
from .suggest import largest_current, lost_at_stall, plan as planned

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

STALL = "what the output gives at standstill, friction and gear losses taken off"
"""The one definition of stall torque."""


def reconcile(sheet: Datasheet) -> Reconciliation:
    """What follows from a sheet.

    Raises:
        InvalidValue: its numbers are those of no motor.
    """
    verdict = slips.judge(sheet)
    try:
        agreement = agree(sheet, verdict)
    except BackemfError:
        raise
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        # logarithms of what is not above 0, or beyond all numbers
        odd = [f"{e.name} = {e.printed.text:.40}" for e in sheet.entries if not 1e-12 < e.value < 1e12]
        raise InvalidValue(
            f"the numbers of {sheet.name!r} make no motor; check {', '.join(odd) or 'their units'}"
        ) from None
    verdict = slips.judge_without(sheet, [d.entry for d in agreement.limited])
    problem, values = agreement.solution.problem, agreement.solution.constants
    covariance, errors = _errors(agreement.solution, values)
    predicted = [(e, problem.predict(e, values)) for e in sheet.entries]
    solved = Reconciliation(
        constants={
            name: SolvedConstant(value=values[name], error=errors[name], unit=UNKNOWNS[name])
            for name in values
            if math.isfinite(errors[name])
        },
        derived={},
        residuals=tuple(Residual(entry=e, predicted=p) for e, p in predicted if p is not None),
        findings=(),
        assumed=tuple(problem.assumptions()),
        geared=problem.geared,
        thermal=thermal_constants(sheet),
        extra=problem.extra,
        covariance=covariance,
        values=values,
        left_out=tuple(d.entry for d in agreement.left_out),
        alternatives=tuple(d.entry for d in agreement.alternatives),
    )
    solved = replace(solved, derived=derive_quantities(sheet, sheet.voltage, solved))
    plan = planned(sheet, solved)
    return replace(
        solved,
        findings=tuple(checks.findings(sheet, verdict, agreement, solved)),
        assumed=(*solved.assumed, *plan.assumed),
        unused=plan.unused,
    )


def _errors(solution: Solution, values: Mapping[str, float]) -> tuple[np.ndarray, dict[str, float]]:
    """(covariance of the logarithms, standard errors) of all constants, in the order of `values`; an error is
    infinite where the sheet leaves a constant open, and 0 where it is exact."""
    names, spread = solution.problem.names, solution.spread()
    n = len(names)
    covariance = np.zeros((len(values), len(values)))
    covariance[:n, :n] = spread.covariance
    errors = {
        name: math.inf if k < n and spread.open[k] else values[name] * math.sqrt(covariance[k, k])
        for k, name in enumerate(values)
    }
    return covariance, errors


def derive_quantities(sheet: Datasheet, voltage: float, solved: Reconciliation) -> dict[str, SolvedConstant]:
    """Every computed quantity of table 19 at a voltage, at the output where there are gears.

    Stall torque has one definition, that of `steady.stall_torque`: what the output gives at standstill,
    within the current limit, friction and gear losses taken off.
    """
    c = solved.values
    side = "output" if solved.geared else "rotor"
    extra = {**solved.extra, "stall_torque_is_net": 1.0, "torque_constant_at_stall": 0.0}
    most, lost = largest_current(sheet, solved), lost_at_stall(sheet, solved)

    def at(name: str, c: Mapping[str, float]) -> float | None:
        stalled = name in ("stall_torque", "stall_current")
        V = min(voltage, c["R"] * most) if stalled else voltage
        value = predict(name, side, V, c, extra)
        return value - lost(V / c["R"]) if name == "stall_torque" and value is not None else value

    constants: dict[str, SolvedConstant] = {}
    for name in DERIVED:
        value = at(name, c)
        if value is None or not math.isfinite(value) or value <= 0:
            continue  # such as a speed at a rated torque that it cannot give
        moved = [at(name, {**c, unknown: c[unknown] * (1.0 + 1e-6)}) or value for unknown in c]
        slope = (np.array(moved) - value) / 1e-6  # by the logarithm of each constant
        with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond all sense have no error
            variance = float(slope @ solved.covariance @ slope)
        error = math.sqrt(max(variance, 0.0)) if math.isfinite(variance) else math.inf
        constants[name] = SolvedConstant(value=value, error=error, unit=ENTRIES[name].unit)
    return constants


def derived_at(sheet: Datasheet, voltage: float | None = None) -> dict[str, SolvedConstant]:
    """The derived quantities at another voltage than the sheet's."""
    solved = sheet.reconciled
    if voltage is None:
        return dict(solved.derived)
    if not (voltage > 0 and math.isfinite(voltage)):
        raise InvalidValue(f"voltage is {voltage!r}; expected volts above 0")
    return derive_quantities(sheet, voltage, solved)


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
