"""Several routes to one constant: what they come to together, and whether they contradict each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..findings import Finding, finding
from ..physics.quantity import present
from ..tables import number
from .measurement import Measurement, estimate, quantile
from .motor_constants import WeighedMean, weigh
from .regression import straight

CONSTANTS = {
    "motor.resistance": "ohm",
    "motor.inductance": "H",
    "motor.torque_constant": "N m/A",
    "motor.back_emf_constant": "V s/rad",
    "friction.static": "N m",
    "friction.coulomb": "N m",
    "friction.viscous": "N m s/rad",
    "drive.firmware_gain": "1/rad",
    "inertia": "kg m^2",
    "motor.thermal.resistance": "K/W",
    "motor.thermal.capacitance": "J/K",
    "gearbox.backlash": "rad",
}
"""What readings can tell, with its unit."""
K_T, K_E = "motor.torque_constant", "motor.back_emf_constant"


def combine(constant: str, ways: Mapping[str, Measurement]) -> Measurement | None:
    """What several routes come to together; None where none has a value."""
    m = _mean(constant, ways)
    return None if m is None else _span_routes(m, ways)


def _mean(constant: str, ways: Mapping[str, Measurement]) -> Measurement | None:
    """The weighted mean, its error widened by as much as routes disagree (Birge); a route whose error nobody
    knows counts only where there is no other."""
    valued = [m for m in ways.values() if m.value is not None and not m.secondary]
    sure = [m for m in valued if m.error]
    if len(sure) == 1 or len(valued) < 2:
        return next(iter(sure or valued), None)
    if not sure:
        mean = float(np.mean([present(m.value) for m in valued]))
        return Measurement(name=constant, unit=valued[0].unit, value=mean)
    mean, variance, ratio = _weigh_measurements(sure)
    text = "independent routes"
    if ratio > 1.0:
        text = f"the routes disagree: the error is widened {ratio:.2g} times"
    return estimate(constant, sure[0].unit, mean, variance, assumption=text)


def _weigh_measurements(sure: list[Measurement]) -> WeighedMean:
    """An error of few readings is a small sample's: as wide as its 95 % interval says."""
    errors = [present(m.error) * m.factor / quantile(None) for m in sure]
    return weigh([present(m.value) for m in sure], errors)


def contradict(ways: Mapping[str, Measurement]) -> bool:
    """Whether two of the routes cannot both be right."""
    told = [way for way in ways.values() if not way.secondary]
    return any(_contradict(a, b) for a in told for b in told)


def _span_routes(m: Measurement, ways: Mapping[str, Measurement]) -> Measurement:
    """Where routes contradict each other, what they come to is no better than from the lowest to the
    highest."""
    told = [way for way in ways.values() if not way.secondary]
    if not contradict(ways):
        return m
    ends = [v for one in told for v in (one.low, one.high, one.value) if v is not None]
    text = "the routes contradict each other: from the lowest to the highest of them"
    return replace(m, low=min(ends), high=max(ends), assumption=text)


def span(m: Measurement) -> tuple[float, float]:
    """The 95 % interval, or the bounds; a number without an error stands alone."""
    low = m.low if m.low is not None else m.value if m.value is not None else -math.inf
    high = m.high if m.high is not None else m.value if m.value is not None else math.inf
    return low, high


def _contradict(a: Measurement, b: Measurement) -> bool:
    """Whether two routes contradict each other; one whose error nobody knows contradicts nothing."""
    if any(m.value is not None and m.error is None for m in (a, b)):
        return False
    return span(a)[1] < span(b)[0] or span(b)[1] < span(a)[0]


def _range_text(label: str, m: Measurement) -> str:
    low, high = (number(v, 3) for v in span(m))
    if m.high is None and m.value is None:
        return f"{label} >= {low}"
    return f"{label} <= {high}" if m.low is None and m.value is None else f"{label} {low} to {high}"


def disagreements(routes: Mapping[str, Mapping[str, Measurement]]) -> list[Finding]:
    """Constants whose routes contradict each other beyond their errors."""
    findings = []
    for constant, ways in routes.items():
        pairs = [
            (a, b)
            for a, way in ways.items()
            for b, other in ways.items()
            if a < b and not (way.secondary or other.secondary) and _contradict(way, other)
        ]
        if pairs:
            shown = "; ".join(_range_text(label, m) for label, m in ways.items() if not m.secondary)
            text = f"the routes to {constant} disagree beyond their errors [{CONSTANTS[constant]}]: {shown}."
            remedy = (
                "look at what each assumes: the same unit, the same temperature, the same side of the gears;"
                " repeat the one that stands alone"
            )
            findings.append(finding("routes_disagree", text, remedy, n_routes=len(ways)))
    return findings


def compare_motor_constants(
    routes: Mapping[str, Mapping[str, Measurement]],
    together: Mapping[str, Measurement],
    loads: tuple[Any, Any] | None,
) -> list[Finding]:
    """Whether torque per ampere and volts per speed agree, as energy wants: K_t above K_e cannot be, K_t
    below it is a loss. Where static loads fall short, the friction that explains it.

    Args:
        routes: by constant, then by route.
        together: what the routes to each constant come to.
        loads: torques [N m] and currents [A] of loads that were held at rest; None without any.

    Returns:
        The findings; none where both agree.
    """
    torques = {k: m for k, m in routes.get(K_T, {}).items() if not m.secondary}
    volts = {k: m for k, m in routes.get(K_E, {}).items() if not m.secondary}
    above = _pairs(torques, volts, lambda t, e: span(t)[0] > span(e)[1])
    below = _pairs(torques, volts, lambda t, e: span(t)[1] < span(e)[0])
    findings = []
    if above:
        a, b = above[0]
        text = (
            f"torque per ampere is above volts per speed beyond their errors: {_range_text(a, torques[a])},"
            f" {_range_text(b, volts[b])}. More power would come out than goes in."
        )
        remedy = (
            "check the currents (of the motor, not of the supply), the side of the gears, and for brushless"
            " motors whether volts are line to line"
        )
        findings.append(
            finding(
                "torque_above_back_emf", text, remedy, torque=span(torques[a])[0], volts=span(volts[b])[1]
            )
        )
    reason, numbers = _load_friction(together, torques, loads)
    if below:
        a, b = below[0]
        both = f"{_range_text(a, torques[a])}, {_range_text(b, volts[b])}"
        text = f"torque per ampere falls short of volts per speed: {both}.{reason}"
        remedy = (
            "fit a load-dependent friction (M3 to M6) from logs with several loads; use no single static"
            " reading for the torque constant"
        )
        findings.append(finding("torque_below_back_emf", text, remedy, **numbers))
    elif reason and any(_contradict(s, o) for s in torques.values() for o in torques.values()):
        text = f"static loads fall short of the other routes to the torque constant.{reason}"
        remedy = "fit a load-dependent friction (M3 to M6) from logs with several loads"
        findings.append(finding("load_friction", text, remedy, **numbers))
    return findings


def _pairs(
    torques: Mapping[str, Measurement],
    volts: Mapping[str, Measurement],
    contradicts: Callable[[Measurement, Measurement], bool],
) -> list[tuple[str, str]]:
    """Routes to K_t and to K_e that contradict each other in one way."""
    both = itertools.product(torques.items(), volts.items())
    return [(a, b) for (a, t), (b, e) in both if _contradict(t, e) and contradicts(t, e)]


def _load_friction(
    together: Mapping[str, Measurement], torques: Mapping[str, Measurement], loads: tuple[Any, Any] | None
) -> tuple[str, dict[str, float]]:
    """How much friction the static loads imply, were K what the other routes say."""
    others = [m.value for k, m in torques.items() if m.value is not None and "torque-constant" not in k]
    emf = together.get(K_E)
    told = [*others, *([] if emf is None or emf.value is None else [emf.value])]
    K = max(told) if told else None
    if K is None or loads is None or len(loads[0]) < 2:
        return "", {}
    tau, i = loads
    excess = K * i - tau  # what friction must have held while the motor pushed
    if not (np.mean(excess) > 0 and np.ptp(tau) > 0):
        return "", {}
    line = straight(tau, excess)
    share = float(np.mean(excess[tau != 0] / tau[tau != 0]))
    text = (
        f" With K = {K:.3g} the motor pushed {np.mean(excess):.2g} N m more than the load: friction that"
        f" grows with the load, about {100 * share:.0f} % of it, explains that."
    )
    return text, {"share": share, "slope": line.slope, "dry": line.intercept, "K": float(K)}
