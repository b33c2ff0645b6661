"""What is told of a fleet: what its units share, which do not belong and are left out, how they change.

Which do not belong: with r the distance of an estimate from the mean and W the inverse of its covariance
there, t = d'W r / sqrt(d'W d) is normal for a sound unit, and the best test for a fault that moves it along
d: one parameter, or what a wrong supply or a hot winding does to several.

How they change, by a drift with time or temperature, or a jump between two sessions: a unit's estimates are
compared with its own earlier ones, each weighed by its error, which is widened by what sound units show:
sessions of one unit differ by more than their fits' errors where nothing changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...identify.frictions import with_friction
from ...results.population import Common, Population
from ...statistics import Coordinate
from .estimates import Estimates, PopulationModel, estimates, population_model, shrink
from .fleet import Fleet

ROUNDS = 4
"""Times that units which do not belong are looked for and left out: each makes the spread that judges the
others a little less."""
FEW = 20
"""Units below which a spread is known only roughly."""
POOR = 0.5
"""Share of a parameter's spread that the errors of fits may have for its spread to be told well."""


def one_session(seen: Estimates) -> Estimates:
    """The first session of each unit."""
    order = np.lexsort((np.nan_to_num(seen.time), np.array(seen.units)))
    first = {seen.units[k]: k for k in order[::-1]}
    return seen.some(np.array(sorted(first.values())))


def sound_units(seen: Estimates) -> tuple[PopulationModel, np.ndarray, list[OddUnit]]:
    """(what the units share that belong, which those are, the others)."""
    keep, model, odd = np.ones(len(seen.units), bool), None, []
    for _ in range(ROUNDS):
        model = population_model(seen.x[keep], seen.V[keep])
        odd = odd_units(model, seen)
        out = {one.unit for one in odd}
        fresh = np.array([unit not in out for unit in seen.units])
        if (fresh == keep).all() or fresh.sum() < max(3, 0.5 * len(fresh)):
            break
        keep = fresh
    assert model is not None
    return model, keep, odd


def population(fleet: Fleet, name: str = "") -> Population:
    """What the units of a fleet share."""
    seen = one_session(estimates(fleet.rows()))
    return describe(fleet, seen, *sound_units(seen)[:2], name)


def describe(
    fleet: Fleet, seen: Estimates, model: PopulationModel, keep: np.ndarray, name: str = ""
) -> Population:
    """The noun of what was estimated."""
    asked = fleet.asked
    values = _values(seen, model)
    actuator = asked.actuator
    friction = next((row["friction"] for row in fleet.rows() if row.get("friction")), None)
    if friction is not None and friction != actuator.friction.name:
        actuator = with_friction(actuator, friction)
    own = {path: value for path, value in values.items() if path in actuator.parameters}
    held = [row["held_out_mae"] for row in fleet.rows() if row.get("held_out_mae") is not None]
    return Population(
        name=name or asked.start.rpartition("/")[2].removesuffix(".json") or "fleet",
        actuator=actuator.replace(**own),
        parameters=_common(seen, model, values),
        correlation=model.correlation,
        correlation_error=model.correlation_error,
        n_units=int(keep.sum()),
        n_left_out=int((~keep).sum()),
        left_out=seen.left_out,
        findings=(*_findings(seen.some(keep), model, asked.same_bench), *_of_joints(asked.by)),
        held_out=float(np.median(held)) if held else None,
    )


def _values(seen: Estimates, model: PopulationModel) -> dict[str, float]:
    """The middle unit's numbers."""
    values: dict[str, float] = {}
    for k in sorted(range(len(seen.paths)), key=lambda k: bool(seen.above[k])):
        scale = Coordinate(bool(seen.signed[k]), float(seen.knee[k]))
        values[seen.paths[k]] = values.get(seen.above[k], 0.0) + scale.outward(float(model.mean[k]))
    return values


def _common(seen: Estimates, model: PopulationModel, values: dict[str, float]) -> dict[str, Common]:
    made = {}
    for k, path in enumerate(seen.paths):
        scale = Coordinate(bool(seen.signed[k]), float(seen.knee[k]))
        excess = values[path] - values.get(seen.above[k], 0.0)
        made[path] = Common(
            value=values[path],
            error=float(np.sqrt(model.mean_covariance[k, k])) * scale.slope(excess),
            x=float(model.mean[k]),
            spread=float(model.spread[k]),
            spread_error=float(model.spread_error[k]),
            spread_low=float(model.spread_low[k]),
            spread_high=float(model.spread_high[k]),
            unit=seen.unit[k],
            knee=float(seen.knee[k]),
            signed=bool(seen.signed[k]),
            above=seen.above[k],
            slope=scale.slope(excess),
        )
    return made


def _findings(seen: Estimates, model: PopulationModel, same_bench: bool) -> list[Finding]:
    said = []
    n = len(seen.units)
    if n < FEW:
        text = f"{n} units tell a spread to about {100 / np.sqrt(2 * max(n - 1, 1)):.0f} % of itself."
        said.append(finding("few_units", text, f"fit {FEW} units or more", n_units=float(n)))
    own = np.sqrt(np.median(np.diagonal(seen.V, axis1=1, axis2=2), axis=0))
    poor = {
        p: float(own[k] / model.spread[k])
        for k, p in enumerate(seen.paths)
        if own[k] > POOR * model.spread[k]
    }
    if poor:
        names = ", ".join(poor)
        text = (
            f"a fit's own error is more than {POOR:.0%} of the spread of {names}: that spread is told poorly."
        )
        bench = "" if same_bench else ", or give --same-bench where one bench served all"
        remedy = f"record more for each unit{bench}"
        said.append(finding("spread_in_noise", text, remedy, **poor))
    return said


def _of_joints(by: str) -> list[Finding]:
    """What joints of one robot cannot tell."""
    if by != "joint":
        return []
    text = "joints of one robot are fitted with one motor in common: of its numbers, units here are robots."
    remedy = "record several robots; the spread of friction is that of joints"
    return [finding("shared_by_joints", text, remedy)]


def drawn_together(fleet: Fleet) -> dict[str, dict[str, tuple[float, float]]]:
    """Unit -> path -> (value, standard error) drawn towards the population by how little its logs say."""
    seen = one_session(estimates(fleet.rows()))
    model, _, _ = sound_units(seen)
    x, errors = shrink(model, seen.x, seen.V)
    made: dict[str, dict[str, tuple[float, float]]] = {}
    for i, unit in enumerate(seen.units):
        values: dict[str, float] = {}
        row: dict[str, tuple[float, float]] = {}
        for k in sorted(range(len(seen.paths)), key=lambda k: bool(seen.above[k])):
            scale = Coordinate(bool(seen.signed[k]), float(seen.knee[k]))
            excess = scale.outward(float(x[i, k]))
            values[seen.paths[k]] = values.get(seen.above[k], 0.0) + excess
            row[seen.paths[k]] = (values[seen.paths[k]], float(errors[i, k]) * scale.slope(excess))
        made[unit] = row
    return made


class FleetSummary(NamedTuple):
    """A fleet, looked at once."""

    seen: Estimates
    """Every session of every unit."""
    first: Estimates
    """The first of each."""
    model: PopulationModel
    population: Population
    odd: list[OddUnit]
    changes: list[Change]


def summarize(fleet: Fleet, name: str = "") -> FleetSummary:
    """Everything there is to tell of a fleet."""
    seen = estimates(fleet.rows())
    first = one_session(seen)
    model, keep, odd = sound_units(first)
    return FleetSummary(seen, first, model, describe(fleet, first, model, keep, name), odd, changes(seen))


CHANGE_ALARMS = 0.008
"""Share of units that may be called changing though they are not."""
FEWEST = 3
"""Sessions from which on a drift is looked for; a jump needs two on each side."""
LEAST_WARMING = 2.0
"""Kelvin over which a unit's temperature must vary for it to be told from time."""
YEAR = 365.25 * 86400.0
MIDDLE = 0.4549
"""Median of a chi-square with one degree of freedom."""


class Change(NamedTuple):
    """What became of one number of one unit."""

    unit: str
    path: str
    kind: str
    """'time', 'temperature', or 'jump'."""
    size: float
    """On the number's own scale (a share of it, where that is a logarithm): over all sessions."""
    error: float
    t: float
    after: str
    """The session before a jump; empty for a drift."""
    rate: float
    """Of a drift: per year, or per kelvin."""
    share: float | None = None
    """The change as a share of the number; None where it may have either sign."""

    @property
    def finding(self) -> Finding:
        much, wide = f"{self.size:+.3g}", f"+- {self.error:.2g}"
        if self.share is not None:
            wide = f"+- {abs(100 * self.share * self.error / self.size):.2g} %"
            much = f"{100 * self.share:+.3g} %"
        if self.kind == "jump":
            text = f"{self.unit}: {self.path} jumped by {much} ({wide}) after session {self.after}."
            remedy = "look at what happened then: a fall, a repair, another bench or supply"
            return finding("jumped", text, remedy, size=self.size, t=self.t)
        against = "over the time recorded" if self.kind == "time" else "over the temperatures recorded"
        text = f"{self.unit}: {self.path} changed by {much} ({wide}) {against}."
        remedy = "plan its replacement" if self.kind == "time" else "give the temperature, or a thermal model"
        return finding("drifts", text, remedy, size=self.size, t=self.t, rate=self.rate)


def changes(seen: Estimates, alarms: float = CHANGE_ALARMS) -> list[Change]:
    """Units that change, the surest first; one line for each number."""
    from scipy.stats import norm

    places = [at for at in _sessions(seen) if len(at) >= FEWEST]
    found = []
    for k, path in enumerate(seen.paths):
        wider = _repeatability(seen, places, k)
        for at in places:
            at = at[seen.told[at, k]]
            if len(at) < FEWEST:
                continue
            tries = list(_tries(seen, at, k, wider))
            if not tries:
                continue
            limit = float(norm.isf(alarms / (2 * len(tries) * len(seen.paths))))
            best = max(tries, key=lambda one: abs(one.t))
            if abs(best.t) > limit:
                found.append(best._replace(path=path))
    return sorted(found, key=lambda one: -abs(one.t))


def _sessions(seen: Estimates) -> Iterator[np.ndarray]:
    """The rows of each unit, in the order of time; of sessions without one, in that of their names."""
    names = np.array(seen.units)
    for unit in dict.fromkeys(seen.units):
        at = np.flatnonzero(names == unit)
        yield at[np.lexsort((np.array(seen.sessions)[at], np.nan_to_num(seen.time[at])))]


def _repeatability(seen: Estimates, places: list[np.ndarray], k: int) -> float:
    """By how much the variance of a session is more than its fit says: from the steps between neighbouring
    sessions of all units, whose median a few changing units do not move."""
    steps = []
    for at in places:
        x, v = seen.x[at, k], seen.V[at, k, k]
        steps.append(np.diff(x) ** 2 / (v[1:] + v[:-1]))
    together = np.concatenate(steps) if steps else np.zeros(0)
    return max(1.0, float(np.median(together)) / MIDDLE) if len(together) else 1.0


def _tries(seen: Estimates, at: np.ndarray, k: int, wider: float) -> Iterator[Change]:
    x, v = seen.x[at, k], wider * seen.V[at, k, k]
    unit, middle = seen.units[at[0]], _mean(x, v)[0]
    scale = Coordinate(bool(seen.signed[k]), float(seen.knee[k]))

    def share(size: float) -> float | None:
        before, after = (scale.outward(middle + side * size / 2) for side in (-1, 1))
        return None if scale.signed or before <= 0 else after / before - 1.0

    for kind, against, least, per in (
        ("time", seen.time[at], 0.0, YEAR),
        ("temperature", seen.temperature[at], LEAST_WARMING, 1.0),
    ):
        known = np.isfinite(against)
        span = float(np.ptp(against[known])) if known.sum() >= FEWEST else 0.0
        if span > least:
            slope, error = _line(against[known] / span, x[known], v[known])
            rate = slope / span * per
            yield Change(unit, "", kind, slope, error, slope / error, "", rate, share(slope))
    for n in range(2, len(at) - 1):
        (a, va), (b, vb) = (_mean(x[part], v[part]) for part in (slice(n), slice(n, None)))
        error = math.sqrt(va + vb)
        size, after = b - a, seen.sessions[at[n - 1]]
        yield Change(unit, "", "jump", size, error, size / error, after, 0.0, share(size))


def _mean(x: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    weight = 1.0 / v
    return float(np.sum(weight * x) / weight.sum()), float(1.0 / weight.sum())


def _line(t: np.ndarray, x: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """(slope, standard error) of a weighted line."""
    middle, _ = _mean(t, v)
    weight = 1.0 / v
    inertia = float(np.sum(weight * (t - middle) ** 2))
    return float(np.sum(weight * (t - middle) * x) / inertia), inertia**-0.5


ODD_ALARMS = 0.006
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


def odd_units(model: PopulationModel, seen: Estimates, alarms: float = ODD_ALARMS) -> list[OddUnit]:
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
