"""What fleets share and how units differ, where a formula of a textbook says it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from backemf import store
from backemf.errors import MissingValue
from backemf.kits.fleets import folder as kept
from backemf.kits.fleets.estimates import SEEN, UNTOLD, Estimates, estimates, population_model, shrink
from backemf.kits.fleets.page import distributions, pairs
from backemf.kits.fleets.request import FleetRequest
from backemf.kits.fleets.summary import (
    CHANGE_ALARMS,
    COPPER,
    FEW,
    MAGNET,
    MIDDLE,
    ODD_ALARMS,
    POOR,
    YEAR,
    _common,
    _findings,
    _values,
    changes,
    meaning,
    odd_units,
)
from backemf.kits.fleets.work import BROKEN, in_coordinates
from backemf.statistics import Coordinate

from .drawn import drawn, servo

K, R = "motor.torque_constant", "motor.resistance"


def seen_of(x: np.ndarray, V: np.ndarray, **more: object) -> Estimates:
    """One session of every unit, unless told otherwise."""
    n, p = x.shape
    plain = Estimates(
        paths=(R, K, "friction.coulomb")[:p],
        units=tuple(f"unit {k}" for k in range(n)),
        sessions=("",) * n,
        x=x,
        V=V,
        told=np.ones((n, p), bool),
        knee=np.zeros(p),
        signed=np.zeros(p, bool),
        above=("",) * p,
        unit=("",) * p,
        time=np.zeros(n),
        temperature=np.full(n, np.nan),
        excess=np.zeros(n),
    )
    return plain._replace(**more)


def even(n: int, v: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Units of one number whose fits err alike: (x, V)."""
    return np.random.default_rng(seed).normal(3.0, 0.4, (n, 1)), np.full((n, 1, 1), v)


def test_units_that_are_told_alike_are_an_analysis_of_variance():
    n, v = 40, 0.05
    x, V = even(n, v)
    model = population_model(x, V)
    total = x.var(ddof=1)
    S, error = total - v, total * np.sqrt(2.0 / n)  # of a variance, from n squares of that variance
    assert model.mean == pytest.approx(x.mean(axis=0), rel=1e-6)
    assert model.S[0, 0] == pytest.approx(S, rel=1e-4)  # where the search ends
    assert model.mean_covariance[0, 0] == pytest.approx(total / n, rel=1e-4)
    assert model.spread[0] == pytest.approx(np.sqrt(S), rel=1e-4)
    assert model.spread_error[0] == pytest.approx(error / (2 * np.sqrt(S)), rel=1e-4)
    freedom = 2.0 * S**2 / error**2
    ends = np.sqrt(S * freedom / chi2.isf([0.025, 0.975], freedom))
    assert (model.spread_low[0], model.spread_high[0]) == pytest.approx(ends, rel=1e-3)
    assert (model.n_units, model.correlation[0, 0]) == (n, 1.0)
    drawn, errors = shrink(model, x, V)
    np.testing.assert_allclose(drawn, x.mean() + S / total * (x - x.mean()), rtol=1e-4)
    left = S * v / total + (v / total) ** 2 * total / n
    np.testing.assert_allclose(errors, np.sqrt(left), rtol=1e-4)


def test_two_units_tell_no_spread_and_three_do():
    x, V = even(3, 0.01)
    assert population_model(x, V).n_units == 3
    with pytest.raises(MissingValue, match="2 units tell no spread; expected at least 3"):
        population_model(x[:2], V[:2])


def test_a_spread_that_is_not_told_from_none_reaches_down_to_it():
    x, _ = even(30, 0.0)
    model = population_model(x, np.full((30, 1, 1), 0.75 * x.var(ddof=1)))
    error = x.var(ddof=1) * np.sqrt(2.0 / 30)
    assert 0 < model.S[0, 0] < norm.isf(0.025) * error
    assert model.spread_low[0] == 0.0
    assert model.spread_high[0] == pytest.approx(np.sqrt(model.S[0, 0] + norm.isf(0.025) * error), rel=1e-3)


def test_units_that_are_told_exactly_have_a_samples_covariance():
    n, rng = 50, np.random.default_rng(1)
    x = rng.normal(size=(n, 3)) @ np.array([[0.3, 0.2, 0.0], [0.0, 0.5, -0.3], [0.0, 0.0, 0.4]])
    model = population_model(x, np.tile(1e-9 * np.eye(3), (n, 1, 1)))
    rho = np.corrcoef(x.T)
    np.testing.assert_allclose(model.S, np.cov(x.T), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.correlation, rho, atol=1e-3)
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(model.correlation_error[off], (1 - rho[off] ** 2) / np.sqrt(n), rtol=5e-3)
    np.testing.assert_allclose(model.spread_error, x.std(axis=0, ddof=1) / np.sqrt(2 * n), rtol=1e-3)
    alone = population_model(x, np.tile(1e-9 * np.eye(3), (n, 1, 1)), correlated=False)
    np.testing.assert_allclose(alone.S, np.diag(x.var(axis=0, ddof=1)), rtol=1e-3, atol=1e-9)
    assert not alone.correlation_error.any()


def test_units_that_are_odd_are_so_by_the_normal_distribution():
    """One unit just inside and one just outside of what so many sound ones may be."""
    n, v = 60, 0.02
    x, V = even(n, v, seed=3)
    model = population_model(x, V)
    wide = np.sqrt(model.S + v + model.mean_covariance)[0, 0]
    limit = norm.isf(ODD_ALARMS / 4)  # on either side, for the number and for the misfit
    for share in (-1.1, -0.9, 0.9, 1.1):
        x[0] = model.mean + share * limit * wide
        found = [one for one in odd_units(model, seen_of(x, V)) if one.unit == "unit 0"]
        assert len(found) == (abs(share) > 1)
        for one in found:
            assert (one.path, one.t) == (R, pytest.approx(share * limit))
            assert one.spreads == pytest.approx(share * limit * wide / model.spread[0])
    excess = 0.1 * np.random.default_rng(4).normal(size=n)
    excess[1] = 9.0
    middle = np.median(excess)
    size = 1.4826 * np.median(np.abs(excess - middle))
    for share in (0.9, 1.1):
        excess[1] = middle + share * limit * size
        found = [one for one in odd_units(model, seen_of(x, V, excess=excess)) if one.path == "misfit"]
        assert [one.unit for one in found] == ["unit 1"] * (share > 1)
        assert all(one.t == pytest.approx(share * limit) for one in found)


@pytest.mark.parametrize(
    ("name", "moved"), [("wrong supply", (2.0, 1.0)), ("a hot winding", (COPPER, MAGNET))]
)
def test_what_moves_several_numbers_is_told_by_how_surely_it_does(name, moved):
    n, rng = 60, np.random.default_rng(5)
    x, V = rng.normal(size=(n, 2)), np.tile(1e-6 * np.eye(2), (n, 1, 1))
    model, d = population_model(x, V), np.array(moved)
    W = np.linalg.inv(model.S + V[0] + model.mean_covariance)
    x[0] = model.mean + 9.0 * d / np.sqrt(d @ W @ d)
    (one,) = [one for one in odd_units(model, seen_of(x, V)) if one.unit == "unit 0"]
    assert (one.path, one.t, one.spreads) == (name, pytest.approx(9.0), pytest.approx(9.0))
    assert one.meaning.removeprefix("a ") == name.removeprefix("a ")


@pytest.mark.parametrize(
    ("path", "below", "above"),
    [
        (K, "magnet", "gear ratio"),
        (R, "shorted turns", "bad contact"),
        ("motor.rotor_inertia", "gives", "loose or heavier"),
        ("friction.load", "lost preload", "grows with the load"),
        ("friction.viscous", "lost preload", "cold or thick"),
        ("friction.coulomb", "lost preload", "tight bearing"),
        ("drive.proportional", "firmware setting", "firmware setting"),
        ("gearbox.backlash", "others do not have", "others do not have"),
    ],
)
def test_too_little_and_too_much_mean_different_things(path, below, above):
    assert below in meaning(path, -0.5)
    assert above in meaning(path, 0.5)


def sessions_of(x: np.ndarray, v: np.ndarray, **more: object) -> Estimates:
    """Sessions of one unit that changes, of nine that differ by just what their fits err."""
    n, steps = len(x), np.sqrt(MIDDLE * 2.0 * np.median(v))
    still = np.tile(steps * (np.arange(n) % 2), (9, 1))  # the median step of what is normal
    times = {"time": np.tile(YEAR * np.arange(n) / 4, 10), "temperature": np.full(10 * n, np.nan)}
    return seen_of(
        np.vstack([x[None], still]).reshape(-1, 1),
        np.vstack([v[None], np.full((9, n), np.median(v))]).reshape(-1, 1, 1),
        units=tuple(f"unit {k}" for k in range(10) for _ in range(n)),
        sessions=tuple(f"{k}" for _ in range(10) for k in range(n)),
        **{**times, **more},
    )


@pytest.mark.parametrize("kind", ["time", "temperature"])
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_drift_is_the_slope_of_a_weighted_line(kind, share):
    v = np.array([1.0, 2.0, 0.5, 1.0, 1.5, 1.0]) * 1e-4
    t = np.array([0.0, 1.0, 2.5, 3.0, 4.0, 5.0])
    (_, _), ((variance, _), _) = np.polyfit(t, t, 1, w=v**-0.5, cov="unscaled")
    tries = 4  # a drift with one of the two, and jumps after sessions 2, 3 and 4
    limit = norm.isf(CHANGE_ALARMS / (2 * tries))
    slope = share * limit * np.sqrt(variance)
    against = np.full((10, 6), np.nan) if kind == "temperature" else np.zeros((10, 6))
    against[0] = t
    there = {"time": np.zeros(60), "temperature": np.full(60, np.nan)}
    there[kind] = (against * (YEAR if kind == "time" else 1.0)).ravel()
    found = changes(sessions_of(0.2 + slope * t, v, **there))
    assert [one.unit for one in found] == ["unit 0"] * (share > 1)
    for one in found:
        assert (one.kind, one.t) == (kind, pytest.approx(share * limit))
        assert (one.size, one.error) == pytest.approx((5 * slope, 5 * np.sqrt(variance)))
        assert (one.rate, one.share) == pytest.approx((slope, np.expm1(5 * slope)))


def test_a_jump_is_the_difference_of_two_weighted_means():
    v = np.array([1.0, 2.0, 0.5, 1.0, 1.5, 1.0]) * 1e-4
    x = np.array([0.0, 0.01, -0.01, 0.0, 0.2, 0.21])
    (one,) = changes(sessions_of(x, v, time=np.zeros(60)))
    (a, va), (b, vb) = (
        (np.average(x[k], weights=1 / v[k]), 1 / np.sum(1 / v[k])) for k in (slice(4), slice(4, 6))
    )
    assert (one.kind, one.after, one.rate) == ("jump", "3", 0.0)
    assert (one.size, one.error, one.t) == pytest.approx(
        (b - a, np.hypot(va**0.5, vb**0.5), (b - a) / np.sqrt(va + vb))
    )
    assert one.share == pytest.approx(np.expm1(b - a))
    (wide,) = changes(sessions_of(x, v, time=np.zeros(60))._replace(V=sessions_of(x, v).V / 4))
    assert (wide.size, wide.error) == pytest.approx(
        (one.size, one.error)
    )  # sessions differ by as much as before
    (signed,) = changes(sessions_of(x, v, time=np.zeros(60), signed=np.ones(1, bool)))
    assert (signed.size, signed.share) == (one.size, None)


@pytest.mark.parametrize(
    ("n", "noise", "said"), [(15, 0.1, {"few_units"}), (25, 0.1, set()), (25, 0.3, {"spread_in_noise"})]
)
def test_few_units_and_poor_logs_are_said(n, noise, said):
    assert 15 < FEW < 25
    assert 0.1 / 0.4 < POOR < 0.3 / 0.4
    x, _ = even(n, 0.0)
    V = np.full((n, 1, 1), noise**2)
    model = population_model(x, V)._replace(spread=np.array([0.4]))
    found = {one.code: one for one in _findings(seen_of(x, V), model, False)}
    assert found.keys() == said
    if n < FEW:  # of itself, as of n - 1 squares
        assert f"about {100 / np.sqrt(2 * (n - 1)):.0f} %" in found["few_units"].text


def test_rows_become_arrays_each_number_on_its_own_scale():
    """Of a law with a number that may vanish, one of either sign, and one that stands on another."""
    rng = np.random.default_rng(6)
    paths = ("a.zero", "a.plain", "a.signed", "a.above", "a.rare")
    knee, signed = [0.5, 0.0, 0.0, 0.0, 0.0], [False, False, True, False, False]
    above, rows, V = ["", "", "", "a.plain", ""], [], []
    x = rng.uniform(0.1, 1.0, (10, 5))
    for k in range(10):
        q = rng.normal(size=(5, 5))
        V.append(q @ q.T)
        told = {p: {"told_by": "data" if p != "a.rare" or k < 4 else "prior", "unit": p[2:]} for p in paths}
        told["a.above"]["told_by"] = "data" if k < 6 else "prior"
        where = {"x": x[k].tolist(), "covariance": V[k][np.tril_indices(5)].tolist()}
        where |= {"knee": knee, "signed": signed, "above": above}
        row = {"unit": f"{k}", "session": "s", "state": "fitted", "parameters": told, "coordinates": where}
        rows.append(
            {**row, "noise_floor": 1e-3, "training_mae": 2e-3, "recorded": 5.0 * k, "temperature": 30.0 + k}
        )
    seen = estimates(rows)
    assert 0.4 < SEEN < 0.6
    assert (seen.paths, seen.left_out, seen.unit) == (
        paths[:4],
        paths[4:],
        ("zero", "plain", "signed", "above"),
    )
    np.testing.assert_array_equal(seen.told.sum(axis=0), [10, 10, 10, 6])
    np.testing.assert_array_equal(seen.x[:6], x[:6, :4])
    np.testing.assert_array_equal(seen.x[6:, 3], np.full(4, np.median(x[:6, 3])))
    np.testing.assert_allclose(seen.V[:6], np.array(V)[:6, :4, :4])
    usual = np.median(np.array(V)[:6, 3, 3])
    np.testing.assert_allclose(seen.V[6:, 3], np.outer(np.full(4, UNTOLD * usual), [0, 0, 0, 1]))
    np.testing.assert_array_equal(seen.time, 5.0 * np.arange(10))
    np.testing.assert_array_equal(seen.temperature, 30.0 + np.arange(10))
    np.testing.assert_allclose(seen.excess, np.log(2.0))
    plain = np.exp(x[:6, 1])
    wanted = [0.5 * np.expm1(x[:6, 0]), plain, x[:6, 2], plain + np.exp(x[:6, 3])]
    np.testing.assert_allclose(seen.values[:6].T, wanted)
    assert Coordinate(False, 0.5).inward(wanted[0][0]) == pytest.approx(x[0, 0])
    some = seen.some(np.array([7, 2]))
    assert (some.units, some.time.tolist()) == (("7", "2"), [35.0, 10.0])


def test_a_row_keeps_a_fit_on_scales_from_which_it_comes_back():
    """Static friction stands on Coulomb's, and moves with it."""
    actuator, rng = servo(), np.random.default_rng(8)
    paths = ("motor.resistance", "friction.coulomb", "friction.static", "friction.viscous")
    q = rng.normal(size=(4, 4))
    covariance, values = 1e-6 * q @ q.T, [4.2, 0.05, 0.08, 0.03]
    found = {
        p: SimpleNamespace(path=p, value=v, knee=0.02 if p.endswith("viscous") else 0.0)
        for p, v in zip(paths, values, strict=True)
    }
    x, V = in_coordinates(SimpleNamespace(actuator=actuator, parameters=found, covariance=covariance))
    np.testing.assert_allclose(x, [np.log(4.2), np.log(0.05), np.log(0.03), np.log1p(0.03 / 0.02)])
    slopes = np.diag([4.2, 0.05, 0.03, 0.05])
    slopes[2, 1] = 0.05
    np.testing.assert_allclose(slopes @ V @ slopes.T, covariance, rtol=1e-9, atol=1e-18)


def test_a_fleet_says_how_far_it_is(tmp_path):
    asked = FleetRequest(logs=("nowhere",), by="joint", start="", actuator=servo(), n_units=7)
    store.write(asked, tmp_path / kept.REQUEST)
    journal = kept.FleetJournal(tmp_path)
    for k, states in enumerate((("fitted", "fitted"), ("failed",), ("fitted",))):
        row = {"unit": f"{k}", "cpu_s": 1.5, "ended": 100.0 + 60.0 * k, "parameters": {}}
        rows = [{**row, "state": state} for state in states]
        rows[0]["findings"] = [{"code": BROKEN if k < 2 else "other", "text": "t", "remedy": "r"}]
        journal.append(f"{k}@", rows)
    assert kept.keys(tmp_path, want=True) == {"0@", "1@"}
    journal.append("1@", [{"unit": "1", "state": "fitted", "cpu_s": 2.0, "ended": 280.0, "parameters": {}}])
    journal.close()
    with (tmp_path / kept.JOURNAL).open("ab") as file:
        file.write(b'{"key":"9@","rows":[{"un' + b"x" * 200_000)  # a crash
    found = kept.status(tmp_path)
    assert (found.n_units, found.fitted, found.failed, found.left) == (8, 4, 0, 4)  # a robot of two joints
    assert (found.cpu_s, found.codes) == (6.5, {BROKEN: 1})
    assert found.per_minute == pytest.approx(2.0 / 3.0), "two more units in three minutes"
    assert kept.keys(tmp_path) == {"0@", "1@", "2@"}
    assert [row["unit"] for row in kept.rows(tmp_path)] == ["0", "0", "2", "1"]
    kept.FleetJournal(tmp_path).close()
    assert (tmp_path / kept.JOURNAL).read_bytes().endswith(b"}\n"), "the unfinished line is cut off"
    assert kept.status(tmp_path) == found


def test_figures_of_a_fleet_show_every_unit_and_how_they_differ():
    made = drawn(np.random.default_rng(9), 200, (0.01, 0.02), even=1e6)
    seen = made.seen._replace(above=("",) * 8, unit=("ohm", *[""] * 7))
    model = population_model(seen.x, seen.V)
    shared = SimpleNamespace(
        parameters=_common(seen, model, _values(seen, model)),
        correlation=model.correlation,
        correlation_error=model.correlation_error,
    )
    figure = distributions(seen, shared)
    assert figure.panels[0].x_label == "motor.resistance [ohm]"
    for k, panel in enumerate(figure.panels):
        columns, curve = panel.lines
        assert np.sum(columns.y[1:-1:2]) == 200
        ends = seen.values[:, k].min(), seen.values[:, k].max()
        assert (columns.x[0], columns.x[-1]) == pytest.approx(ends)
        assert len(set(columns.x)) == 15, "about the root of 200 columns"
        area = np.trapezoid(curve.y, curve.x) / (columns.x[2] - columns.x[0])
        assert area == pytest.approx(200, rel=0.05), "as many under the curve"
        peak = np.exp(model.mean[k] - model.spread[k] ** 2)  # of a number whose logarithm is normal
        assert curve.x[np.argmax(curve.y)] == pytest.approx(peak, rel=0.02)
    clouds = pairs(seen, shared, ["unit 3"])
    sure = np.abs(model.correlation / np.where(np.eye(8) > 0, np.inf, model.correlation_error))
    i, j = sorted(np.unravel_index(np.argmax(np.tril(sure, -1)), (8, 8)), reverse=True)
    usual, odd = clouds.panels[0].lines
    assert len(clouds.panels) == 4
    assert (len(usual.x), len(odd.x)) == (199, 1)
    assert (odd.x[0], odd.y[0]) == (seen.values[3, j], seen.values[3, i])
    assert f"{model.correlation[i, j]:+.2f} ± {model.correlation_error[i, j]:.2f}" in clouds.panels[0].title
