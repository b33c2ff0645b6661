"""Units that change are found, and what they do is told apart: a drift, a jump, a temperature."""

from __future__ import annotations

import numpy as np

from backemf.kits.fleets.summary import changes

from .drawn import PATHS, drawn

SESSIONS = 8
WEAR = PATHS.index("friction.coulomb")


def test_sound_units_hardly_ever_change():
    # 0.8 % of 200 units are allowed for each of the 8 numbers together: 2 +- 1.3
    fleet = drawn(np.random.default_rng(0), 200, sessions=SESSIONS)
    assert len({one.unit for one in changes(fleet.seen)}) <= 6


def test_a_drift_and_a_jump_are_told_apart():
    fleet = drawn(np.random.default_rng(1), 30, sessions=SESSIONS)
    x, day = fleet.seen.x.copy(), np.arange(SESSIONS)
    error = np.sqrt(fleet.seen.V[:, WEAR, WEAR]).mean()
    x[:SESSIONS, WEAR] += 12 * error * day / (SESSIONS - 1)
    x[SESSIONS : 2 * SESSIONS, WEAR] += 12 * error * (day >= 5)
    found = {one.unit: one for one in changes(fleet.seen._replace(x=x))[:2]}
    drift, jump = found["unit 0"], found["unit 1"]
    assert (drift.kind, drift.path) == ("time", PATHS[WEAR])
    assert (jump.kind, jump.path, jump.after) == ("jump", PATHS[WEAR], "4")
    # 12 errors over all sessions, told to about one: a line's slope errs by 1.1 errors of a session here
    assert abs(drift.size / error - 12) < 5
    years = 30 * (SESSIONS - 1) / 365.25
    np.testing.assert_allclose(drift.rate, drift.size / years)
    assert "after session 4" in jump.finding.text
    assert drift.finding.code == "drifts"


def test_temperature_is_told_from_time():
    fleet = drawn(np.random.default_rng(2), 20, sessions=SESSIONS)
    rng = np.random.default_rng(3)
    warm = rng.uniform(20, 60, len(fleet.seen.units))
    x = fleet.seen.x.copy()
    error = np.sqrt(fleet.seen.V[:, 0, 0]).mean()
    x[:SESSIONS, 0] += 20 * error * (warm[:SESSIONS] - 20) / 40
    found = changes(fleet.seen._replace(x=x, temperature=warm))[0]
    assert (found.unit, found.kind, found.path) == ("unit 0", "temperature", PATHS[0])
    assert found.rate > 0


def test_errors_that_are_stated_too_small_raise_no_alarm():
    """Sessions that differ by three times what fits say are what all units show, not a change."""
    fleet = drawn(np.random.default_rng(4), 100, sessions=SESSIONS)
    assert len({one.unit for one in changes(fleet.seen._replace(V=fleet.seen.V / 9))}) <= 4
