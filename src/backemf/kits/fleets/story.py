"""All that is told of a fleet: what its units share, which do not belong, and how they change."""

from __future__ import annotations

from typing import NamedTuple

from ...results.population import Population
from .ageing import Change, changes
from .estimates import Estimates, estimates
from .fleet import Fleet
from .outliers import Odd
from .population import described, one_session, sound
from .shared import Shared


class Story(NamedTuple):
    """A fleet, looked at once."""

    seen: Estimates
    """Every session of every unit."""
    first: Estimates
    """The first of each."""
    model: Shared
    population: Population
    odd: list[Odd]
    changes: list[Change]


def story(fleet: Fleet, name: str = "") -> Story:
    """Everything there is to tell of a fleet."""
    seen = estimates(fleet.rows())
    first = one_session(seen)
    model, keep, odd = sound(first)
    return Story(seen, first, model, described(fleet, first, model, keep, name), odd, changes(seen))
