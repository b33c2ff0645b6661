"""Lost rows: how many steps a step is, by hand; when that is said; and the time put back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from backemf.identify.inspect.samples import LostRows, find_lost_rows, multiples, row_findings, whole_clock

from .hand_made import STEP, codes, log, moving, track, wavy

N = 21
MIDDLE = 10


def classified(changes: dict[int, float], *, exact: bool = False, noise: float = 0.0, rate: float = 1.0):
    """A motion of even steps, some of them changed: what each is called."""
    steps = np.ones(N)
    for place, factor in changes.items():
        steps[MIDDLE + place] = factor
    return multiples(track(moving(rate * steps), noise=noise), exact=exact).tolist()


EVEN = [0] * 3 + [1] * (N - 6) + [0] * 3
STEPS = {
    # the middle step against its neighbours, and what it is called
    1.0: 1,
    1.45: 1,
    1.5: 0,
    1.58: 0,
    1.65: 2,
    2.0: 2,
    2.35: 2,
    2.45: 0,
    3.0: 3,
    3.5: 0,
    4.0: 4,
    4.35: 4,
    4.7: 0,
    5.0: 0,
    0.65: 1,
    0.62: 1,
    0.58: -1,
    0.3: -1,
    0.0: -1,
    -0.6: -1,
}


@pytest.mark.parametrize("rate", [1.0, -2.5])
@pytest.mark.parametrize("factor", STEPS)
def test_what_a_step_is_called(factor, rate):
    called = classified({0: factor}, rate=rate)
    assert called[MIDDLE] == STEPS[factor]
    elsewhere = np.delete(called, MIDDLE)
    if factor > 0.6:
        assert elsewhere.tolist() == np.delete(EVEN, MIDDLE).tolist()


def test_nothing_is_said_of_the_ends_and_of_short_tracks():
    assert classified({}) == EVEN
    assert multiples(track(np.arange(9.0))).tolist() == [0] * 8
    assert multiples(track(np.arange(10.0), noise=0.0)).tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(("noise", "told"), [(0.117, True), (0.119, False)])
def test_only_clear_motion_tells(noise, told):
    """A step must be six times the noise of a difference, sqrt(2) times that of a sample."""
    assert (classified({}, noise=noise) == EVEN) is told
    assert (classified({}, noise=noise, rate=-1.0) == EVEN) is told
    assert classified({}, noise=noise, exact=True) == EVEN  # a command has none


UNEVEN = {
    # changed neighbours, the middle is twice: what it is called
    "one neighbour longer": ({1: 1.3}, 2),
    "too long to tell": ({1: 1.34}, 0),
    "before it too": ({-1: 1.34}, 0),
    "the next is short": ({1: 0.7}, 2),
    "the next makes up for it: a late sample": ({1: 0.55}, 0),
    "the one before is short": ({-1: 0.55}, 0),
    "side by side": ({1: 2.0}, 0),
    "two of six neighbours are off": ({-3: 0.6, 3: 1.4}, 2),
    "three of six are off": ({-3: 0.6, 3: 1.4, 2: 1.5}, 0),
}


def test_a_short_step_is_shorter_than_either_neighbour_too():
    assert classified({0: 0.58, 1: 0.95})[MIDDLE] == -1
    assert classified({0: 0.58, 1: 0.7})[MIDDLE] == 1
    assert classified({0: 0.58, -1: 0.7})[MIDDLE] == 1


@pytest.mark.parametrize("row", UNEVEN)
def test_a_long_step_among_uneven_neighbours(row):
    changes, called = UNEVEN[row]
    assert classified({0: 2.0, **changes})[MIDDLE] == called


COMMANDS = {
    # the same of a command, which is exact
    "alone": ({}, 2),
    "side by side": ({1: 2.0}, 2),
    "on both sides": ({1: 2.0, -1: 2.0}, 0),
    "an uneven neighbour": ({1: 1.5}, 0),
    "an uneven one before": ({-1: 1.5}, 0),
}


@pytest.mark.parametrize("row", COMMANDS)
def test_a_long_step_of_a_command(row):
    changes, called = COMMANDS[row]
    assert classified({0: 2.0, **changes}, exact=True)[MIDDLE] == called


def test_times_count_as_they_are_stamped():
    """A sample that took twice as long and says so is no lost row."""
    steps = np.ones(N)
    steps[MIDDLE] = 2.0
    one = track(moving(steps), noise=0.0)
    stamped = type(one)(one.places, STEP * one.values, one.values)
    stamped.__dict__["noise"] = 0.0
    assert multiples(stamped).tolist() == EVEN


def test_the_share_of_what_is_lost():
    assert LostRows(5, 95, 0, np.zeros(1)).share == 0.05
    assert LostRows(0, 0, 0, np.zeros(1)).share == 0.0


PLACES = np.cumsum([11, 14, 9, 17, 12, 21, 8, 13, 19, 10, 15])
"""Steps in which a row is lost: at no regular distance."""


def motion(n: int = 180, losses=PLACES, times: float = 2.0) -> np.ndarray:
    """Fast one way; in some steps it goes several at once."""
    steps = 0.05 * wavy(n)
    steps[list(losses)] *= times
    return moving(steps)


def test_lost_rows_are_counted_where_the_motion_makes_two_steps_in_one():
    seen = find_lost_rows(log(motion()))
    assert np.flatnonzero(seen.found > 1).tolist() == PLACES.tolist()
    assert (seen.rows, seen.short) == (11, 0)
    assert seen.looked == 180 - 6
    thrice = find_lost_rows(log(motion(times=3.0)))
    assert thrice.rows == 22


def test_steps_that_are_too_short_are_counted_against_it():
    seen = find_lost_rows(log(motion(times=0.3)))
    assert (seen.rows, seen.short) == (0, 11)


def test_samples_that_are_missing_do_not_move_the_places():
    q = motion()
    q[100] = np.nan
    found = find_lost_rows(log(q)).found
    assert len(found) == 180
    assert found[[99, 100]].tolist() == [0, 1]  # no step ends in it; the one over it is an even rate
    assert np.flatnonzero(found > 1).tolist() == PLACES.tolist()


REGULAR = {
    # losses, steps in all: rows that are counted
    "every third for a while": (range(20, 95, 3), 180, 0),  # 25 of 174, more than an eighth
    "fewer": (range(20, 80, 3), 180, 20),
    "at one distance or another": (np.cumsum([20, *[3, 4, 3, 4, 5, 3, 4, 5] * 3]), 180, 25),
    "mostly at one": (np.cumsum([20, *[3, 3, 3, 4] * 6]), 180, 0),
    "nine": (range(20, 47, 3), 60, 0),
    "eight": (range(20, 44, 3), 56, 8),
}


@pytest.mark.parametrize("row", REGULAR)
def test_many_long_steps_at_a_regular_distance_are_those_of_a_command(row):
    losses, n, rows = REGULAR[row]
    seen = find_lost_rows(log(motion(n=n, losses=losses)))
    assert seen.rows == rows
    assert (seen.looked > 0) == (rows > 0)


def asked_and_done(command_losses=PLACES, motion_losses=PLACES) -> tuple[np.ndarray, np.ndarray]:
    """A command of even steps and a motion that follows with waves of its own."""
    asked, done = 0.05 * np.ones(180), 0.05 * wavy(180)
    asked[list(command_losses)] *= 2.0
    done[list(motion_losses)] *= 2.0
    return moving(asked), moving(done)


def test_a_command_that_skips_with_the_motion_tells_lost_rows_more_clearly():
    """Three at once, two of them where the motion's noise hides them."""
    asked, done = asked_and_done()
    seen = find_lost_rows(log(done, position_target=asked))
    assert np.flatnonzero(seen.found > 1).tolist() == PLACES.tolist()
    assert seen.looked == 180 - 6
    noisy = done.copy()
    noisy[30:60] += 0.02 * np.random.default_rng(0).standard_normal(30)
    by_both = find_lost_rows(log(noisy, position_target=asked))
    assert np.flatnonzero(by_both.found > 1).tolist() == PLACES.tolist()


def test_where_the_command_rests_or_goes_evenly_the_motion_says():
    """A loss that only the motion shows counts as well; where both show one, the command says how large."""
    asked, done = 0.05 * np.ones(180), 0.05 * wavy(180)
    for steps in (asked, done):
        steps[PLACES] *= 2.0
    asked[160:175] = 0.0
    done[[154, 168]] *= 2.0
    done[PLACES[3]] *= 1.5
    found = find_lost_rows(log(moving(done), position_target=moving(asked))).found
    assert np.flatnonzero(found > 1).tolist() == [*PLACES, 154, 168]
    assert set(found[[*PLACES, 154, 168]]) == {2}


def test_a_command_alone_that_skips_says_nothing():
    """What was sent late moves the motion later: its own steps count."""
    asked, done = asked_and_done(motion_losses=())
    assert find_lost_rows(log(done, position_target=asked)).rows == 0
    few = PLACES[:4]  # too few to believe the command
    asked, done = asked_and_done(command_losses=few)
    assert find_lost_rows(log(done, position_target=asked)).rows == 11
    asked, done = asked_and_done()
    asked[50] = np.nan
    assert find_lost_rows(log(done, position_target=asked)).rows == 11


@pytest.mark.parametrize(("times", "believed"), [(1.5, False), (1.8, True), (2.25, True), (2.5, False)])
def test_a_command_is_believed_where_the_motion_makes_as_much_of_its_steps(times, believed):
    """To a third of what it should: less is an answer to it, more is something else. The motion's own steps
    would tell nothing here: each has a neighbour as long."""
    asked, done = 0.05 * np.ones(180), 0.05 * wavy(180)
    asked[PLACES] *= 2.0
    done[PLACES] *= times
    for sign in (1.0, -1.0):
        seen = find_lost_rows(log(sign * moving(done), position_target=sign * moving(asked)))
        told = np.flatnonzero(seen.found > 1).tolist()
        by_motion = np.flatnonzero(find_lost_rows(log(sign * moving(done))).found > 1).tolist()
        assert told == (PLACES.tolist() if believed else by_motion)


def test_a_command_of_steps_three_times_as_long():
    asked, done = 0.05 * np.ones(180), 0.05 * wavy(180)
    asked[PLACES] *= 3.0
    done[PLACES] *= 2.6
    assert find_lost_rows(log(moving(done), position_target=moving(asked))).rows == 22


FOUND = {
    # steps lost, steps too short, of how many: whether it is said
    "enough": (5, 0, 200, True),
    "too few": (4, 0, 200, False),
    "too small a share": (5, 0, 480, False),
    "large enough a share": (5, 0, 380, True),
    "a fifth as many are short": (5, 1, 200, True),
    "more are short": (5, 2, 200, False),
}


@pytest.mark.parametrize("row", FOUND)
def test_when_lost_rows_are_said(row):
    n_lost, n_short, n, said = FOUND[row]
    places = np.round(np.linspace(12, n - 12, n_lost + n_short)).astype(int) + np.arange(n_lost + n_short) % 3
    steps = 0.05 * wavy(n)
    steps[places[n_short:]] *= 2.0
    steps[places[:n_short]] *= 0.3
    findings = list(row_findings(log(moving(steps))))
    assert codes(findings) == (["lost_rows"] if said else [])
    for f in findings:
        assert f.numbers["rows"] == n_lost
        assert f.numbers["share"] == pytest.approx(
            n_lost / (n - 6 - 2 * n_short + n_lost)
        )  # beside a short one none is told


def test_the_time_of_lost_rows_is_put_back():
    """Whole steps where they can be told; at both ends, where they cannot, the average."""
    one = log(motion())
    one = replace(one, signals={n: replace(s, time=7.0 + s.time) for n, s in one.signals.items()})
    clock = whole_clock(one)
    steps = np.ones(180)
    steps[PLACES] = 2.0
    steps[:3] = steps[-3:] = 1.0 + 11 / 174
    assert np.diff(clock) == pytest.approx(STEP * steps)
    assert clock[0] == one.time[0]
