"""The equations between a DC motor's constants, once, and their three solutions.

`solve_exactly` chains them from any sufficient few: a number that is given is never changed, a rule fills in
what is missing (conversions). `minimise` and `spread` weigh many that contradict each other a little, by
their logarithms (datasheets). `weigh` brings several ways to one constant together (readings on a bench).

For one DC motor: I_s = V / R, tau_s = K_t I_s, K_v = 1 / K_e, w_0 = (V - R I_0) / K_e, and K_t = K_e, which
energy demands and sheets do not always keep. What a motor does for given constants is `physics.steady.Line`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..physics.steady import Line

NO_DRAG = "no no-load current is given: the motor is taken to run free, I_0 = 0"
ONE_CONSTANT = "K_t = K_e, which energy demands of an ideal motor"
ORDINARY = 0.03
"""Share by which the numbers of a sound sheet differ from each other; more is a finding."""


class ConstantRule(NamedTuple):
    """How one constant follows from others."""

    makes: str
    of: tuple[str, ...]
    formula: str
    by: Callable[..., float]


SYMBOLS = {
    "voltage": "V",
    "resistance": "R",
    "torque_constant": "K_t",
    "back_emf_constant": "K_e",
    "speed_constant": "K_v",
    "stall_current": "I_s",
    "stall_torque": "tau_s",
    "no_load_current": "I_0",
    "no_load_speed": "w_0",
    "friction": "tau_f",
}
"""What may be given, and its symbol."""
_EXACT = (
    ConstantRule("K_e", ("K_v",), "1 / K_v", lambda K_v: 1 / K_v),
    ConstantRule("K_v", ("K_e",), "1 / K_e", lambda K_e: 1 / K_e),
    ConstantRule("R", ("V", "I_s"), "V / I_s", lambda V, I_s: V / I_s),
    ConstantRule("I_s", ("V", "R"), "V / R", lambda V, R: V / R),
    ConstantRule("V", ("R", "I_s"), "R I_s", lambda R, I_s: R * I_s),
    ConstantRule("K_t", ("tau_s", "I_s"), "tau_s / I_s", lambda tau_s, I_s: tau_s / I_s),
    ConstantRule("I_s", ("tau_s", "K_t"), "tau_s / K_t", lambda tau_s, K_t: tau_s / K_t),
    ConstantRule("tau_s", ("K_t", "I_s"), "K_t I_s, before friction", lambda K_t, I_s: K_t * I_s),
    ConstantRule("K_t", ("tau_f", "I_0"), "tau_f / I_0", lambda tau_f, I_0: tau_f / I_0),
    ConstantRule("I_0", ("tau_f", "K_t"), "tau_f / K_t", lambda tau_f, K_t: tau_f / K_t),
    ConstantRule(
        "K_e", ("V", "R", "I_0", "w_0"), "(V - R I_0) / w_0", lambda V, R, I_0, w_0: (V - R * I_0) / w_0
    ),
    ConstantRule(
        "w_0",
        ("V", "R", "I_0", "K_e"),
        "(V - R I_0) / K_e",
        lambda V, R, I_0, K_e: Line(R, K_e, K_e, V).speed_at(I_0),
    ),
    ConstantRule(
        "I_0", ("V", "R", "K_e", "w_0"), "(V - K_e w_0) / R", lambda V, R, K_e, w_0: (V - K_e * w_0) / R
    ),
    ConstantRule(
        "R", ("V", "K_e", "w_0", "I_0"), "(V - K_e w_0) / I_0", lambda V, K_e, w_0, I_0: (V - K_e * w_0) / I_0
    ),
    ConstantRule(
        "R",
        ("K_e", "w_0", "I_s", "I_0"),
        "K_e w_0 / (I_s - I_0)",
        lambda K_e, w_0, I_s, I_0: K_e * w_0 / (I_s - I_0),
    ),
    ConstantRule(
        "V", ("R", "I_0", "K_e", "w_0"), "R I_0 + K_e w_0", lambda R, I_0, K_e, w_0: R * I_0 + K_e * w_0
    ),
    ConstantRule("tau_f", ("K_t", "I_0"), "K_t I_0, if all drag is dry", lambda K_t, I_0: K_t * I_0),
)
"""True of every motor whose numbers agree."""
_IDEAL = (
    # at no load V I_0 = R I_0^2 + K w_0 I_0, and K = tau_s / I_s, R = V / I_s
    ConstantRule(
        "I_s",
        ("V", "tau_s", "w_0", "I_0"),
        "I_0 + tau_s w_0 / V",
        lambda V, tau_s, w_0, I_0: I_0 + tau_s * w_0 / V,
    ),
    ConstantRule(
        "I_s",
        ("V", "tau_s", "w_0", "tau_f"),
        "tau_s w_0 / (V (1 - tau_f / tau_s))",
        lambda V, tau_s, w_0, tau_f: tau_s * w_0 / (V * (1 - tau_f / tau_s)),
    ),
    ConstantRule(
        "I_s",
        ("R", "tau_s", "w_0", "I_0"),
        "(I_0 + sqrt(I_0^2 + 4 tau_s w_0 / R)) / 2",
        lambda R, tau_s, w_0, I_0: (I_0 + math.sqrt(I_0 * I_0 + 4 * tau_s * w_0 / R)) / 2,
    ),
    ConstantRule(
        "I_s",
        ("R", "tau_s", "w_0", "tau_f"),
        "sqrt(tau_s w_0 / (R (1 - tau_f / tau_s)))",
        lambda R, tau_s, w_0, tau_f: math.sqrt(tau_s * w_0 / (R * (1 - tau_f / tau_s))),
    ),
    ConstantRule(
        "K_e",
        ("V", "R", "w_0", "tau_f"),
        "(V + sqrt(V^2 - 4 w_0 R tau_f)) / (2 w_0)",
        lambda V, R, w_0, tau_f: (V + math.sqrt(V * V - 4 * w_0 * R * tau_f)) / (2 * w_0),
    ),
    ConstantRule("K_t", ("K_e",), "K_e", lambda K_e: K_e),
    ConstantRule("K_e", ("K_t",), "K_t", lambda K_t: K_t),
)
"""True where K_t = K_e, and these with w_0 = (V - R I_0) / K_e make an equation of one unknown."""
_FREE = (
    ConstantRule("K_e", ("V", "w_0"), "V / w_0", lambda V, w_0: V / w_0),
    ConstantRule("w_0", ("V", "K_e"), "V / K_e", lambda V, K_e: V / K_e),
)
"""True where I_0 = 0."""


_BY_SYMBOLS = {(rule.makes, frozenset(rule.of)): rule for rule in (*_EXACT, *_IDEAL, *_FREE)}


def derive(makes: str, **known: float) -> float:
    """One constant by one equation: `derive("R", V=12.0, I_s=2.0)`.

    Args:
        makes: the symbol of the constant.
        known: the other constants of the equation by symbol, in SI, all at one side of the gears.
    """
    rule = _BY_SYMBOLS[makes, frozenset(known)]
    return rule.by(*(known[name] for name in rule.of))


def differ(x: float, y: float) -> bool:
    """Whether two numbers above 0 are further apart than those of a sound sheet."""
    return not abs(math.log(x) - math.log(y)) <= ORDINARY


class SolvedConstants(NamedTuple):
    """What follows from a few constants, by symbol."""

    values: dict[str, float]
    formulas: dict[str, str]
    """How each was found that was not given."""
    assumptions: tuple[str, ...]


def _fill_in(values: dict[str, float], how: dict[str, str], rules: tuple[ConstantRule, ...]) -> bool:
    """Fill in the first constant that a rule makes of known ones."""
    for rule in rules:
        if rule.makes in values or not all(name in values for name in rule.of):
            continue
        try:
            x = rule.by(*(values[name] for name in rule.of))
        except (ZeroDivisionError, ValueError):  # numbers of no motor: the comparison says so
            continue
        if x > 0 or (x == 0 and rule.makes in ("I_0", "tau_f")):
            values[rule.makes], how[rule.makes] = x, rule.formula
            return True
    return False


def solve_exactly(known: Mapping[str, float]) -> SolvedConstants:
    """Every constant that follows from those given.

    Args:
        known: by symbol (`SYMBOLS`), in SI, at the rotor of one motor.
    """
    values, how, assumed = dict(known), {}, []
    while True:
        if _fill_in(values, how, _EXACT):
            continue
        if values.get("I_0") == 0.0 and _fill_in(values, how, _FREE):
            continue
        drags = "I_0" in values or "tau_f" in values
        if values.get("tau_f") == 0 and "I_0" not in values:
            values["I_0"], how["I_0"] = 0.0, "tau_f / K_t"
            continue
        # a constant that is printed itself tells the drag; torque per ampere at stall has lost some of it
        by_speed = {"V", "w_0"} <= {*values} and "K_e" not in values and "K_t" not in known
        if by_speed and not drags:
            values["I_0"], how["I_0"] = 0.0, "taken as 0"
            assumed.append(NO_DRAG)
            continue
        if _fill_in(values, how, _IDEAL):
            assumed.append(ONE_CONSTANT)
            continue
        if not drags and {"V", "K_e"} <= {*values}:
            values["I_0"], how["I_0"] = 0.0, "taken as 0"
            assumed.append(NO_DRAG)
            continue
        return SolvedConstants(values, how, tuple(dict.fromkeys(assumed)))


STEP = 1e-6
"""Of a logarithm, for differences."""


class SolvedMinimum(NamedTuple):
    """Where the sum of squares is least."""

    x: np.ndarray
    residuals: np.ndarray
    slopes: np.ndarray
    """Of the residuals by x."""

    @property
    def cost(self) -> float:
        return float(self.residuals @ self.residuals)


def slopes(residuals: Callable[[np.ndarray], np.ndarray], x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forward differences of the residuals, which are `at` in x."""
    columns = []
    for k in range(len(x)):
        moved = x.copy()
        moved[k] += STEP
        columns.append((residuals(moved) - at) / STEP)
    return np.array(columns).T


def minimise(
    residuals: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    tolerance: float,
) -> SolvedMinimum:
    """The nearest minimum from x between bounds; a coordinate at its bound stays while it is pushed out.

    It ends where a step gains less than `tolerance` of the sum of squares.

    Args:
        residuals: of logarithms, each over its standard error.
        x: logarithms to start from.
        low: least logarithms.
        high: greatest logarithms.
        tolerance: the share of the sum of squares.

    Returns:
        Where it is, with residuals and slopes there.
    """
    x = np.clip(x, low, high)
    r = residuals(x)
    J, damping = slopes(residuals, x, r), 1e-4
    for _ in range(40):
        g, A = J.T @ r, J.T @ J
        held = ((x >= high) & (g < 0)) | ((x <= low) & (g > 0))
        step = np.zeros_like(x)
        for _ in range(12):
            free = np.flatnonzero(~held)
            sub = A[np.ix_(free, free)]
            damped = sub + np.diag(damping * np.diag(sub) + 1e-10)
            step[free] = np.clip(np.linalg.solve(damped, -g[free]), -1.5, 1.5)
            new = np.clip(x + step, low, high)
            r_new = residuals(new)
            if r_new @ r_new < r @ r:
                break
            damping *= 6.0
        else:
            break
        gain = r @ r - r_new @ r_new
        moved = float(np.max(np.abs(new - x)))
        x, r, damping = new, r_new, max(damping / 10.0, 1e-9)
        J = slopes(residuals, x, r)
        if moved < 1e-8 or gain <= tolerance * (1e-4 + r @ r):
            break
    return SolvedMinimum(x, r, J)


class CoordinateSpread(NamedTuple):
    """What a minimum tells about its coordinates."""

    covariance: np.ndarray
    open: np.ndarray
    """Which coordinates nothing determines."""


def spread(slopes_: np.ndarray, scale: float = 1.0) -> CoordinateSpread:
    """Covariance of the coordinates; directions that no residual feels have none and are said to be open.

    Args:
        slopes_: of the residuals by the coordinates.
        scale: by which the variances grow (`widening`).
    """
    n = slopes_.shape[1]
    _, s, vt = np.linalg.svd(slopes_, full_matrices=True)
    s = np.concatenate([s, np.zeros(n - len(s))])[:n]  # more unknowns than equations: the rest is open
    weak = s < 1e-8 * s[0]
    half = vt.T / np.where(weak, np.inf, s)
    felt = np.any(np.abs(vt[weak]) > 1e-3, axis=0) if np.any(weak) else np.zeros(n, bool)
    return CoordinateSpread(scale * half @ half.T, felt)


def widening(cost: float, spare: int) -> float:
    """By how much variances grow where numbers contradict each other beyond their errors (Birge); at least 1.

    Args:
        cost: sum of squares of the residuals.
        spare: equations beyond the unknowns.
    """
    return max(1.0, cost / max(spare, 1))


class WeighedMean(NamedTuple):
    """What several ways to one number come to."""

    value: float
    variance: float
    widened: float
    """By how much the standard error was widened; 1: they agree."""


def weigh(values: Sequence[float], errors: Sequence[float]) -> WeighedMean:
    """The weighted mean of at least two values, its error widened by as much as they disagree.

    Args:
        values: in any one unit.
        errors: their standard errors.
    """
    x, w = np.array(values), 1.0 / np.array(errors) ** 2
    mean = float(np.sum(w * x) / np.sum(w))
    scale = widening(float(np.sum(w * (x - mean) ** 2)), len(x) - 1)
    return WeighedMean(mean, scale / float(np.sum(w)), math.sqrt(scale))
