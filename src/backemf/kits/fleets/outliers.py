"""Units that do not belong: which number is off, how far, and what it may mean.

With r the distance of an estimate from the mean and W the inverse of its covariance there,
t = d'W r / sqrt(d'W d) is normal for a sound unit, and the best test for a fault that moves it along d: one
parameter, or what a wrong supply or a hot winding does to several.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from .estimates import Estimates, PopulationModel

ALARMS = 0.006
"""Share of sound units that may be called odd."""
K, R = "motor.torque_constant", "motor.resistance"
COPPER, MAGNET = 0.0039, -0.0015
"""Change per kelvin: of copper's resistance (IEC 60028), and of a magnet's flux, between NdFeB's -0.0011 and
ferrite's -0.002."""
JOINTLY: dict[str, dict[str, float]] = {
    "wrong supply": {K: 1.0, R: 2.0},
    "a hot winding": {R: COPPER, K: MAGNET},
}
"""What moves several numbers at once, on their logarithms: at a supply that is lower by a share than what was
told, K seems larger by that share and R by twice as much."""
MEANS: tuple[tuple[str, int, str], ...] = (
    (K, -1, "a weak or partly demagnetised magnet"),
    (K, 1, "another winding or gear ratio than the others have"),
    (R, 1, "a bad contact, a worn brush or a thin cable"),
    (R, -1, "shorted turns"),
    ("motor.rotor_inertia", 1, "something that turns with it: a loose or heavier mounting"),
    ("motor.rotor_inertia", -1, "a mounting that gives: it moves less than it should"),
    ("friction.load", 1, "gear damage or dry grease: friction that grows with the load"),
    ("friction.viscous", 1, "cold or thick grease"),
    ("friction.", 1, "gear damage, dry grease or a tight bearing"),
    ("friction.", -1, "worn gears or lost preload"),
    ("drive.", 0, "another firmware setting than the others have"),
)
"""What a number that is too small (-1), too large (1) or either (0) may mean; the first that fits."""


class OddUnit(NamedTuple):
    """A unit that does not belong."""

    unit: str
    path: str
    """The parameter that is off most, or the name of what moves several."""
    spreads: float
    """How far, in spreads from unit to unit."""
    t: float
    """How surely: a sound unit's is normal with a standard deviation of 1."""
    meaning: str

    @property
    def finding(self) -> Finding:
        side = "above" if self.spreads > 0 else "below"
        what = f"{self.path} is {abs(self.spreads):.1f} spreads {side} the others'"
        if self.path in JOINTLY:
            what = f"several numbers are off together, by {abs(self.t):.1f} standard errors"
        text = f"{self.unit}: {what}. It may mean {self.meaning}."
        remedy = "look at this unit, and record it again"
        return finding("odd_unit", text, remedy, spreads=self.spreads, t=self.t)


def odd_units(model: PopulationModel, seen: Estimates, alarms: float = ALARMS) -> list[OddUnit]:
    """Those that do not belong, the surest first."""
    from scipy.stats import norm

    directions = _directions(seen)
    singles = len(seen.paths)
    limit = float(norm.isf(alarms / (2 * (singles + 1))))  # one more for the misfit
    W = np.linalg.inv(model.predicted_covariance(seen.V))
    Wr = np.einsum("nij,nj->ni", W, seen.x - model.mean)
    found = []
    excess = _excess(seen.excess)
    strengths = np.stack(
        [(Wr @ d) / np.sqrt(np.maximum(np.einsum("i,nij,j->n", d, W, d), 1e-300)) for _, d in directions],
        axis=1,
    )
    for i, unit in enumerate(seen.units):
        t = strengths[i]
        alone = int(np.argmax(np.abs(t[:singles])))
        if abs(t[alone]) > limit:
            k = int(np.argmax(np.abs(t)))
            # several at once explain it only where they do so clearly better than any one
            k = k if t[k] ** 2 > t[alone] ** 2 + CLEARLY else alone
            name = directions[k][0]
            far = _far(model, seen, i, alone) if k < singles else float(t[k])
            found.append(OddUnit(unit, name, far, float(t[k]), meaning(name, float(t[k]))))
        elif excess[i] > limit:
            found.append(OddUnit(unit, "misfit", float(excess[i]), float(excess[i]), MISFIT))
    return sorted(found, key=lambda one: -abs(one.t))


CLEARLY = 2.0
"""By how much the square of t must be more for several numbers at once to be blamed."""
MISFIT = "play in the gears, a loose mounting, or a recording of another motion: the model cannot follow it"


def _far(model: PopulationModel, seen: Estimates, i: int, k: int) -> float:
    """How far one number is off, in spreads, when the others are as they are."""
    W = np.linalg.inv(model.predicted_covariance(seen.V[i]))
    return float((W @ (seen.x[i] - model.mean))[k] / W[k, k] / max(model.spread[k], 1e-12))


def _directions(seen: Estimates) -> list[tuple[str, np.ndarray]]:
    """Every parameter, then what moves several of them."""
    eye = np.eye(len(seen.paths))
    rows = [(path, eye[k]) for k, path in enumerate(seen.paths)]
    for name, moved in JOINTLY.items():
        if all(path in seen.paths for path in moved):
            rows.append((name, sum(share * eye[seen.paths.index(path)] for path, share in moved.items())))
    return rows


def _excess(excess: np.ndarray) -> np.ndarray:
    """How far each unit's misfit is above the usual, in standard deviations by the middle half."""
    middle = np.nanmedian(excess)
    size = 1.4826 * np.nanmedian(np.abs(excess - middle))
    return np.nan_to_num((excess - middle) / max(float(size), LEAST))


LEAST = 0.05
"""Standard deviation of the logarithm of a misfit below which differences are not looked at."""


def meaning(path: str, side: float) -> str:
    """What it may mean that a number is too large or too small."""
    if path in JOINTLY:
        return path if path.startswith("a ") else f"a {path}"
    fits = (text for begin, way, text in MEANS if path.startswith(begin) and (not way or way * side > 0))
    return next(fits, "something that the others do not have")
