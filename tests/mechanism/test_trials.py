"""A recording cut into its tests, and what of each is looked at: on either side of every bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backemf.kits.frc.trials import (
    _before,
    _hard_stop,
    _is_still,
    _positions_within,
    _shape,
    _stale_share,
    _stretches,
    average_neighbours,
    calm,
    input_before,
    is_derived,
    make_run,
    moving,
    resolution_of,
    scatter_of,
    segment,
)

from .test_characterize import WEAK, record


def test_a_stretch_begins_with_a_few_samples_at_rest():
    t = 0.01 * np.arange(12)
    u = np.where(np.arange(12) < 6, 0.0, 2.0)
    assert _before(t, u, 6) == 3
    assert _before(t, u, 2) == 0, "no more than there are"
    assert _before(t, np.where(np.arange(12) == 4, 1.0, u), 6) == 5, "none of what was pushed before"
    gap = t + np.where(np.arange(12) >= 5, 1.0, 0.0)
    assert _before(gap, u, 6) == 5, "none from before a gap"


def test_scatter_is_that_of_noise_beside_any_smooth_motion():
    t = np.linspace(0.0, 1.0, 4000)
    noise = 0.3 * np.random.default_rng(0).standard_normal(len(t))
    assert scatter_of(noise + 50 * t**2 - 20 * t) == pytest.approx(0.3, rel=0.05)
    assert scatter_of(0.1 * np.round(40 * t)) == pytest.approx(
        0.1 / math.sqrt(12)
    )  # of a grid, evenly spread
    assert scatter_of(np.array([1.0, 3.0] * 3)) == 1.0  # of a few, about their mean


@pytest.mark.parametrize(
    ("steps", "grid"),
    [
        ([0.25] * 6, 0.25),  # one kind of step in six is fewer than a fifth of them
        ([0.25] * 4, 0.0),
        ([0.25, -0.5] * 6, 0.25),
        ([0.25, -0.5] * 4, 0.0),
        ([0.25, 0.0, 0.0] * 6, 0.25),
        ([0.1 * k for k in range(1, 30)], 0.0),
        ([0.0] * 20, 0.0),
    ],
)
def test_a_grid_has_few_kinds_of_steps(steps, grid):
    assert resolution_of(3.0 + np.cumsum([0.0, *steps])) == pytest.approx(grid)


def test_neighbours_are_averaged_with_as_many_as_there_are():
    v = np.array([6.0, 0.0, 3.0, 9.0])
    assert average_neighbours(v, 3) == pytest.approx(np.array([4.0, 3.0, 4.0, 7.0]))


@pytest.mark.parametrize(("size", "n", "width"), [(0.0034, 100, 1), (0.0042, 100, 3), (0.0042, 23, 1)])
def test_velocity_is_averaged_until_its_scatter_is_a_hundredth_where_it_is_long_enough(size, n, width):
    """Third differences of +-a are +-8 a, by which the scatter of single samples is 2.65 a."""
    v = 1.0 + size * (-1.0) ** np.arange(n)
    smooth, noise, used = calm(v)
    assert used == width
    np.testing.assert_allclose(smooth, average_neighbours(v, width))
    assert noise == pytest.approx(
        1.4826 * 8 * size / math.sqrt(20) if width == 1 else scatter_of(smooth[::3])
    )


@pytest.mark.parametrize(
    ("fast", "first"), [("0011110", 1), ("0101110", 1), ("0100111", 3), ("01001100", None), ("0000111", 3)]
)
def test_it_moves_from_the_first_four_samples_of_which_three_are_fast(fast, first):
    v = np.array([0.6 * int(one) for one in fast])
    assert moving(v, 0.5) == moving(-v, 0.5) == first
    assert moving(v, 0.7) is None


def test_the_input_in_force_is_the_one_before():
    run = make_run("dynamic-forward", [0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [0.0, 1.0, 2.0])
    assert [input_before(run, t) for t in (-1.0, 0.0, 1.0, 1.1, 2.0, 9.0)] == [3.0, 3.0, 3.0, 4.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("share", "shift", "n", "told"),
    [(0.0, 0.0, 50, True), (0.06, 0.0, 50, True), (0.14, 0.0, 50, False), (0.0, 8e-4, 50, True),
     (0.0, 1.3e-3, 50, False), (0.0, 0.0, 8, True), (0.0, 0.0, 7, False)],
)  # fmt: skip
@pytest.mark.parametrize("between", [False, True])
def test_a_velocity_is_derived_where_nine_in_ten_are_changes_of_position(share, shift, n, told, between):
    t = 0.01 * np.arange(n + between)
    p = np.sin(3 * t)
    v = np.diff(p) / 0.01 if between else np.diff(p, prepend=p[0]) / 0.01
    v = v + 1e-3 * (np.arange(n) >= round((1 - share) * n))
    at = 0.5 * (t[1:] + t[:-1]) if between else t
    assert is_derived(at + 0.01 * shift, v, t, p) == told


@pytest.mark.parametrize(
    ("speed", "noise", "still"),
    # of 4 samples: at most 0.02 of the top speed, and two scatters or a fifth of the top
    [(0.018, 0.0, True), (0.024, 0.0, False), (0.1, 0.05, True), (0.14, 0.05, False), (0.2, 0.5, True),
     (0.25, 0.5, False)],
)  # fmt: skip
def test_it_rests_where_it_is_slow_until_the_input_acts(speed, noise, still):
    t, v = 0.1 * np.arange(20), np.where(np.arange(20) < 4, speed, 1.0)
    assert _is_still(t, v, 0.3, noise, 1.0) == _is_still(t, -v, 0.3, noise, 1.0) == still


def stop(*, fall=12, still=20, left=0.0, held=1.0, before=1.0, noise=0.0):
    """When it stopped, of a velocity that falls from 1 to `left` in some samples from 1 s on."""
    n = 100 + fall + still
    v = np.interp(np.arange(n), [0, 100, 100 + fall], [before, 1.0, left])
    t = 0.01 * np.arange(n)
    run = make_run("dynamic-forward", t, np.where(t < 1.0, 1.0, held), None, v)
    found = [_hard_stop(run, t, way * v, 1.0, noise) for way in (1.0, -1.0)]
    assert found[0] == pytest.approx(found[1], nan_ok=True)
    return found[0]


@pytest.mark.parametrize(
    ("how", "stops"),
    [({}, True), ({"left": 0.025}, True), ({"left": 0.035}, False), ({"left": 0.035, "noise": 0.02}, True),
     ({"held": 0.8}, True), ({"held": 0.6}, False), ({"still": 9}, True), ({"still": 5}, False),
     ({"before": 0.0, "held": 0.75}, True)],
)  # fmt: skip
def test_a_stop_ends_a_motion_although_the_input_goes_on(how, stops):
    """It began to fall at 1 s: told to be that, less the 5 samples that a median looks ahead."""
    assert stop(**how) == pytest.approx(0.96 if stops else math.nan, abs=0.02, nan_ok=True)


@pytest.mark.parametrize(("top", "stops"), [(2.8, True), (3.8, False)])
def test_what_never_reached_a_third_of_its_speed_ran_into_nothing(top, stops):
    v = np.where(np.arange(140) < 100, 1.0, 0.0)
    run = make_run("dynamic-forward", 0.01 * np.arange(140), np.ones(140), None, v)
    assert math.isfinite(_hard_stop(run, run.velocity_time, v, top, 0.0)) == stops


@pytest.mark.parametrize("position", [False, True])
@pytest.mark.parametrize(("n", "every", "share"), [(60, 1, 0.0), (60, 2, 0.5), (60, 3, 2 / 3), (13, 2, 0.0)])
def test_repeats_count_while_it_moves(position, n, every, share):
    """Of the samples that are faster than a fifth of the top; of fewer than ten nothing is said."""
    k, moves = np.arange(n), np.arange(n) >= n // 3
    fresh = every * (k // every)
    p = np.where(moves, 0.3 * fresh + 1e-3 * fresh**2, 0.0) if position else None
    v = np.where(moves, 1.0 + 0.01 * (k if position else fresh), 0.15)
    run = make_run("dynamic-forward", 0.1 * k, np.ones(n), p, v)
    assert _stale_share(run, 1.0) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("n", "rests", "kept"), [(30, False, 20), (30, True, 15), (17, False, 0), (18, False, 8)]
)
def test_positions_are_those_of_the_velocities_and_at_least_eight(n, rests, kept):
    t = 0.1 * np.arange(n)
    at, found = _positions_within(t, np.maximum(t - 1.5, 0.0), np.array([1.0, 2.9]), rests)
    assert len(at) == len(found) == kept


@pytest.mark.parametrize(
    ("n", "dt", "parts"), [(12, 0.01, 2), (10, 0.01, 0), (5, 0.05, 2), (4, 0.05, 0), (30, 0.002, 0)]
)
def test_a_stretch_lasts_a_tenth_of_a_second_and_five_samples(n, dt, parts):
    u = np.concatenate([np.zeros(3), np.full(n, 2.0), np.full(n, -1.0), [0.0], np.full(3, 5.0)])
    found = _stretches(dt * np.arange(len(u)), u)
    assert found == [(3, 3 + n), (3 + n, 3 + 2 * n)][:parts]


@pytest.mark.parametrize(("middle", "kind"), [(0.7, "quasistatic"), (0.8, "dynamic")])
@pytest.mark.parametrize("way", [1, -1])
def test_a_step_is_near_its_top_at_two_fifths_of_its_time(middle, kind, way):
    u = way * np.interp(np.arange(11), [0, 4, 10], [0.2, middle, 1.0])
    assert _shape(np.arange(11.0), u) == f"{kind}-{'forward' if way > 0 else 'reverse'}"


@pytest.mark.parametrize("way", ["forward", "reverse"])
@pytest.mark.parametrize("later", [0.0, 30.0])
def test_a_step_is_looked_at_from_rest_and_a_ramp_from_where_it_moves(way, later):
    how = {"dt": 0.01, "T": 2.0, "slow": 1.0}
    t, u, p, v = record(f"dynamic-{way}", WEAK, **how)
    still, zero = np.arange(-20, 0) * 0.01, np.zeros(20)
    made = [np.concatenate(x) for x in ((still, t), (zero, u), (zero, p), (zero, v))]
    s = segment(make_run(f"dynamic-{way}", made[0] + later, *made[1:]))
    assert (s.rests, s.onset, s.start_position) == (True, pytest.approx(0.01 + later), 0.0)
    assert (s.width, s.stale, s.derived, s.resolution) == (1, 0.0, False, 0.0)
    assert np.isnan([s.breakaway, s.stopped]).all()
    at = (made[0] >= 0.01 - 0.05 - 1e-9) & (made[0] <= t[-1])
    np.testing.assert_allclose(s.velocity_time, made[0][at] + later)
    np.testing.assert_allclose(s.velocity, made[3][at])
    assert s.position_time[0] == pytest.approx(0.01 + later)  # at rest the last position says it all
    t, u, p, v = record(f"quasistatic-{way}", WEAK, **how)
    s = segment(make_run(f"quasistatic-{way}", t + later, u, 3.0 + p, v))
    # of the first four samples, three are clearly in motion
    first = int(np.argmax(np.abs(v) > 0.02 * np.percentile(np.abs(v), 98))) - 1
    assert (s.rests, s.onset, s.breakaway) == (False, pytest.approx(0.01 + later), u[first - 1])
    np.testing.assert_allclose(s.velocity, v[first:])
    np.testing.assert_allclose(s.position, 3.0 + p[first:])
    assert s.start_position == pytest.approx(3.0 + p[first])
    assert s.clear == pytest.approx(0.02 * np.percentile(np.abs(v), 98))
    assert segment(make_run("dynamic-forward", t, 0 * t, p, v)) is None  # without an input it moves by itself
