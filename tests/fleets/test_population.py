"""Populations: what they say, draw and export, and the page about a fleet."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest

import backemf as be
from backemf.apps.report import html
from backemf.datasheets.datasheet import Datasheet
from backemf.errors import InvalidValue, MissingValue, UnknownName
from backemf.kits.fleets.estimates import estimates
from backemf.kits.fleets.fleet import Fleet
from backemf.kits.fleets.page import fleet_page
from backemf.kits.fleets.summary import drawn_together, population, summarize
from backemf.results.spread import UNITS

from .drawn import PATHS, drawn, servo, write


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A fleet of 60 units in four sessions, one of which is odd and one wears."""
    made = drawn(np.random.default_rng(13), 60, (0.05, 0.3), sessions=4)
    x = made.seen.x.copy()
    x[: 4 * 1, 1] -= 12 * made.spread[1]  # unit 0: a weak magnet
    x[4:8, 4] += 6 * made.spread[4] * np.arange(4) / 3  # unit 1 wears
    folder = write(tmp_path_factory.mktemp("known") / "fleet", made.seen._replace(x=x), servo())
    return made, Fleet.read(folder)


def test_the_middle_and_the_spread_are_those_drawn(known):
    made, fleet = known
    found = population(fleet, "line")
    assert (found.n_units, found.n_left_out) == (59, 1)
    for k, path in enumerate(PATHS):
        p = found.parameters[path]
        assert p.spread_low < made.spread[k] < p.spread_high or abs(p.spread / made.spread[k] - 1) < 0.3
        assert abs(p.x - made.mean[k]) < 4 * made.spread[k] / math.sqrt(59)
        assert found.actuator.parameters.get(path, p.value) == pytest.approx(p.value)
        base = found.parameters[p.above].value if p.above else 0.0
        assert p.value == pytest.approx(base + math.exp(p.x))
        assert p.slope == pytest.approx(math.exp(p.x))  # of its excess over the base, whatever that is
    assert found.held_out == pytest.approx(2e-3)
    assert "line: 59 units, 1 that do not belong left out." in str(found)


def test_draws_differ_as_the_units_do(known):
    found = population(known[1])
    units = found.draws(4000, seed=1)
    free = [k for k, path in enumerate(PATHS) if path not in ("friction.static", "friction.load")]
    x = np.log([[unit.parameters[PATHS[k]] for k in free] for unit in units])
    spread = np.array([p.spread for p in found.parameters.values()])
    # 4,000 draws know a standard deviation to 1.1 %, and a correlation to 0.016
    np.testing.assert_allclose(x.std(axis=0), spread[free], rtol=0.05)
    np.testing.assert_allclose(np.corrcoef(x.T), found.correlation[np.ix_(free, free)], atol=0.07)


def test_ranges_hold_the_share_of_units_that_they_say(known):
    found = population(known[1])
    low, high = found.range("motor.resistance", 0.9)
    inside = [low < unit.parameters["motor.resistance"] < high for unit in found.draws(2000)]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)
    with pytest.raises(InvalidValue, match=r"share is 1\.5"):
        found.range("motor.resistance", 1.5)
    with pytest.raises(UnknownName, match=r"motor\.resistence"):
        found.range("motor.resistence")


def test_it_replaces_the_assumed_spread_of_a_training_file(known, tmp_path):
    found = population(known[1])
    path = found.write(tmp_path / "population.json")
    assert be.Population.read(path) == found
    spread = found.spread()
    assert spread.units is not None
    assert spread.units[("motor.resistance",)] == pytest.approx(found.parameters["motor.resistance"].spread)
    assert spread.units[("motor.resistance",)] != UNITS[("motor.resistance",)]
    made = be.export(found.actuator, "torch", spread=spread, replay=False)
    assert f"{spread.units[('motor.resistance',)]!r}" in made.text
    assert "an assumption of backemf" not in made.text
    assert be.Actuator.read(path) == found.actuator


def test_its_datasheet_reads_as_a_set_of_one(known):
    found = population(known[1], "my line")
    text = found.datasheet()
    low, high = found.range("motor.resistance")
    assert text.count(" .. ") == len(PATHS)
    assert low < high
    head = 'name = "x"\nmaker = "y"\nkind = "servo"\nmotor = "brushed"\nside = "output"\nvoltage = "12 V"\n'
    head += 'source = "s"\n[entries]\nstall_torque = "1 N m"\n'
    assert tomllib.loads(text)["identified"]["my-line"]["friction"] == "stribeck"
    sheet = Datasheet.parse(head + text)
    assert sheet.identified["my-line"].parameters["motor.resistance"] == pytest.approx(
        found.parameters["motor.resistance"].value
    )


def test_a_story_names_the_odd_unit_and_the_one_that_wears(known):
    told = summarize(known[1])
    assert [one.unit for one in told.odd] == ["unit 0"]
    assert told.odd[0].path == "motor.torque_constant"
    assert told.changes[0].unit == "unit 1"
    assert told.changes[0].path == "friction.coulomb"


def test_poor_logs_are_drawn_towards_the_others(known):
    made, fleet = known
    units = drawn_together(fleet)
    assert len(units) == 60
    value, error = units["unit 30"]["motor.resistance"]
    assert error > 0
    assert abs(math.log(value) - made.truth[30, 0]) < 5 * made.spread[0]


def test_the_page_of_a_fleet(known, tmp_path):
    text = html.write(fleet_page(known[1], "line"), tmp_path / "fleet.html").read_text(encoding="utf-8")
    for words in ("Distributions", "What goes together", "unit 0", "demagnetised", "unit 1", "drifts"):
        assert words in text
    assert "http" not in text.split("<script>")[0].replace("http-equiv", "")


def test_few_units_say_so(tmp_path):
    made = drawn(np.random.default_rng(12), 5)
    fleet = Fleet.read(write(tmp_path / "fleet", made.seen, servo()))
    found = population(fleet)
    assert next(f.code for f in found.findings) == "few_units"
    text = html.page_of(fleet_page(fleet))
    assert "Too few units to tell what goes together" in text
    assert "Each unit was recorded in one session" in text


def test_what_only_a_prior_tells_is_left_out():
    rows = []
    for k in range(4):
        told = {"value": 1.0, "error": 0.1, "unit": "ohm"}
        numbers = {
            "motor.resistance": told | {"told_by": "data"},
            "friction.load": told | {"told_by": "prior"},
        }
        where = {"x": [0.1 * k, 0.0], "covariance": [0.01, 0.0, 1.0], "knee": [0.0, 0.0]}
        where |= {"signed": [False, False], "above": ["", ""]}
        row = {"unit": f"{k}", "session": "", "state": "fitted", "parameters": numbers, "coordinates": where}
        rows.append(row | {"noise_floor": 1e-3, "training_mae": 1e-3})
    seen = estimates(rows)
    assert (seen.paths, seen.left_out) == (("motor.resistance",), ("friction.load",))
    np.testing.assert_allclose(seen.values[:, 0], np.exp([0.0, 0.1, 0.2, 0.3]))
    with pytest.raises(MissingValue, match="no unit of the fleet was fitted"):
        estimates([{"state": "failed"}])


def test_of_many_units_a_sample_is_taken():
    rows = []
    for k in range(50):
        told = {"value": 1.0, "error": 0.1, "unit": "ohm", "told_by": "data"}
        where = {"x": [float(k)], "covariance": [0.01], "knee": [0.0], "signed": [False], "above": [""]}
        row = {"unit": f"{k}", "session": "", "state": "fitted", "parameters": {"a.b": told}}
        rows.append(row | {"coordinates": where, "noise_floor": 1.0, "training_mae": 1.0})
    seen = estimates(rows, most=10)
    assert len(set(seen.units)) == 10
    assert max(seen.x[:, 0]) >= 10  # not the first ones alone
