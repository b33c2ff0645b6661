"""What is told of a fleet: what its units share, which do not belong and are left out, how they change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...identify.frictions import with_friction
from ...results.population import Common, Population
from ...statistics import Coordinate
from .ageing import Change, changes
from .estimates import Estimates, PopulationModel, estimates, population_model, shrink
from .fleet import Fleet
from .outliers import OddUnit, odd_units

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
