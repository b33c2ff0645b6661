"""Play, of what was tried: the least that the recordings would tell, and what joints share beside it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backemf.identify import play
from backemf.identify.optimize import Minimum
from backemf.identify.parameters import FreeParameters
from backemf.identify.play import GAPS, Play

from .linear import numbers


def at(cost: float, x: Any = ()) -> Minimum:
    return Minimum(x=np.array(x, float), cost=cost, data_cost=cost, n_evaluations=1, ended="", begin=None)


@pytest.mark.parametrize(
    ("worse", "bound"),
    [
        ([0, 1, 2.9, 3.1, 9], GAPS[3]),  # from where on all are less likely by more than 3
        ([0, 1, 3.1, 2.9, 9], GAPS[4]),
        ([3.5, 0, 3.1, 9], GAPS[2]),  # than the best of the small ones
        ([0] * 12, GAPS[-1]),
        ([0, 4], GAPS[1]),
    ],
)
def test_the_play_from_which_on_recordings_would_tell(worse, bound):
    """Of two stiffnesses the better one counts; large gaps that could not be simulated are none."""
    costs = [*worse, *[worse[-1]] * (len(GAPS) - len(worse))]
    rows = [*zip(GAPS, costs, strict=True)]
    tries = [(gap, at(7.0 + cost + more)) for more in (5.0, 0.0) for gap, cost in rows]
    assert play._bound(tries) == bound
    assert play._bound([one for one in tries if one[0] < GAPS[-1] or bound == GAPS[-1]]) == bound


def test_what_joints_share_is_the_mean_of_what_they_say_weighed_by_how_sure_they_are(monkeypatch):
    """1 +- 0.1 and 2 +- 0.2 make 1.2; what is a joint's own settles beside that."""
    a, b, c = numbers(3).parameters
    own = {"left": (a, replace(b, group="left")), "right": (a, replace(c, group="right"))}
    parts: Any = {
        joint: SimpleNamespace(free=FreeParameters(rows), begin=None) for joint, rows in own.items()
    }
    plays = {"left": Play(None, at(0.0, [1.0, 5.0]), 0.0), "right": Play(None, at(0.0, [2.0, 6.0]), 0.0)}
    sure = {1.0: 0.01, 2.0: 0.04}

    def covariance(x):
        return np.diag([sure[x[0]], 9.0])

    monkeypatch.setattr(
        play, "uncertainty", lambda part, x, robust: SimpleNamespace(covariance=covariance(x))
    )
    monkeypatch.setattr(play, "levenberg_marquardt", lambda q, y, still, **how: at(len(still), y))
    found = play._agree(parts, plays, np.inf)
    assert found["left"].end.x == pytest.approx([1.2, 5.0])
    assert found["right"].end.x == pytest.approx([1.2, 6.0])
    assert found["left"].end.cost == 1.0
    assert plays["left"].end.x.tolist() == [1.0, 5.0]
