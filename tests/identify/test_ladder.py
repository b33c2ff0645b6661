"""The ladder without its fits: which logs are held out, and which rung is the simplest of the good ones."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.identify import ladder as ladder_module
from backemf.identify.holdout import (
    choice_of,
    default_hold_out,
    extreme_rig,
    folds_of,
    group_by_rig,
    split,
    spread_over,
)
from backemf.identify.ladder import STOPPED, Ladder, RungResult, as_good, simplest
from backemf.results.fit_result import Fit, FittedParameter, Score

from .recordings import SERVO, record, sweep

T = np.linspace(0.0, 1.0, 11)


def log(
    name: str, gain: float | None = None, mass: float | None = None, length: float = 0.1, **more
) -> be.Log:
    bench = None if mass is None else be.bench.Pendulum(mass=mass, length=length)
    settings = {"drive.proportional": gain} if gain is not None else {}
    return be.log(name, T, position=T, position_target=T, bench=bench, settings={**settings, **more})


def logs(*rows: tuple) -> list[be.Log]:
    return [log(f"log {k}", *row) for k, row in enumerate(rows)]


def names(some) -> list[str]:
    return [one.name for one in some]


ONE = log("arm 8", 8.0, 0.3, **{"drive.supply": 7.4})
SPECS = {
    "its gain": ({"gain": 8}, True),
    "another gain": ({"gain": 9}, False),
    "nearly its gain": ({"gain": 8.0 + 1e-10}, True),
    "not so nearly": ({"gain": 8.0 + 1e-6}, False),
    "its mass": ({"mass": 0.3}, True),
    "its mass, to a billionth": ({"mass": 0.3 + 5e-10}, True),
    "not to a billionth": ({"mass": 0.3 + 1.5e-9}, False),
    "another mass": ({"mass": 0.2}, False),
    "its length": ({"length": "0.1"}, True),
    "its supply": ({"supply": 7.4}, True),
    "all of it": ({"gain": 8, "mass": 0.3}, True),
    "one of it": ({"gain": 8, "mass": 0.5}, False),
    "the other of it": ({"gain": 9, "mass": 0.3}, False),
    "its name": ("arm 8", True),
    "a pattern of its name": ("arm*", True),
    "another name": ("leg*", False),
    "its name by key": ({"name": "arm ?"}, True),
    "another name by key": ({"name": "leg"}, False),
    "one of several": (["leg", {"gain": 8}], True),
    "none of several": (["leg", {"gain": 9}], False),
    "a function": (lambda one: one.settings["drive.proportional"] > 7, True),
    "a function that is not true": (lambda one: 0, False),
}


@pytest.mark.parametrize("row", SPECS)
def test_which_logs_are_meant(row):
    spec, meant = SPECS[row]
    assert choice_of(spec).holds(ONE) is meant


def test_a_pattern_may_name_the_folder_or_the_log_alone():
    assert choice_of("left/*").holds(log("left/run 1"))
    assert choice_of("run *").holds(log("left/run 1"))
    assert not choice_of("right/*").holds(log("left/run 1"))


def test_large_numbers_are_meant_to_a_billionth_of_themselves():
    assert choice_of({"gain": 800.0 + 5e-7}).holds(log("x", 800.0))
    assert not choice_of({"gain": 800.0 + 9e-7}).holds(log("x", 800.0))


def test_a_log_without_the_number_is_not_meant():
    assert not choice_of({"gain": 8}).holds(log("plain"))
    assert not choice_of({"mass": 0.3}).holds(log("plain"))
    with pytest.raises(be.BackemfError, match="unknown way to choose logs 'gian'"):
        choice_of({"gian": 8}).holds(ONE)
    with pytest.raises(be.BackemfError, match="expected a mapping"):
        choice_of(8).holds(ONE)


def test_logs_are_parted_into_those_to_fit_and_to_judge_on():
    three = logs((8.0,), (16.0,), (8.0,))
    training, judged = split(three, {"gain": 8})
    assert (names(training), names(judged)) == (["log 1"], ["log 0", "log 2"])
    assert split(three, None) == (three, [])
    for spec, said in (({"gain": 9}, "matches none of the 3 logs"), ("log*", "matches every log")):
        with pytest.raises(be.BackemfError, match=said):
            split(three, spec)
    with pytest.raises(be.BackemfError, match="no logs"):
        split([], None)


HOLD_OUTS = {
    "the middle of three gains": (
        [(g,) for g in (8.0, 16.0, 32.0)],
        [{"gain": 16.0}],
        "the logs with gain 16",
    ),
    "the lower middle of four": (
        [(g,) for g in (4.0, 8.0, 16.0, 32.0)],
        [{"gain": 8.0}],
        "the logs with gain 8",
    ),
    "most logs have the middle gain: masses": (
        [(8.0, 0.1), (16.0, 0.1), (16.0, 0.2), (16.0, 0.3), (16.0, 0.3), (32.0, 0.3)],
        [{"mass": 0.2}],
        "the logs with mass 0.2",
    ),
    "two gains: every fourth": ([(8.0,), (16.0,)] * 3, ["log 1", "log 5"], "every fourth log (2 of 6)"),
    "four of a kind": ([(8.0,)] * 4, ["log 1"], "every fourth log (1 of 4)"),
    "three of a kind": ([(8.0,)] * 3, ["log 1"], "one log"),
    "two": ([(8.0,)] * 2, ["log 1"], "one log"),
    "six tenths have the middle gain": (
        [(8.0,), (16.0,), (16.0,), (16.0,), (32.0,)],
        [{"gain": 16.0}],
        "the logs with gain 16",
    ),
}


@pytest.mark.parametrize("row", HOLD_OUTS)
def test_what_is_held_out_where_nobody_says(row):
    rows, held, words = HOLD_OUTS[row]
    assert default_hold_out(logs(*rows)) == (held, words)


def test_one_log_cannot_be_parted():
    with pytest.raises(be.BackemfError, match="1 log is too little"):
        default_hold_out(logs((8.0,)))


def test_logs_of_one_rig_and_settings_are_a_group():
    four = logs((8.0, 0.3), (8.0, 0.5), (8.0, 0.3), (16.0, 0.3))
    assert [names(members) for members in group_by_rig(four).values()] == [
        ["log 0", "log 2"],
        ["log 1"],
        ["log 3"],
    ]
    alike = logs((8.0, 0.3), (8.0, 0.3))
    assert [names(members) for members in group_by_rig(alike).values()] == [["log 0"], ["log 1"]]
    bare = logs((8.0,), (16.0,))
    assert len(group_by_rig(bare)) == 2


def parted(some: list[be.Log]) -> tuple[list[tuple[list[str], list[str]]], str]:
    """Names of the logs that are fitted and that judge, fold by fold."""
    folds, words = folds_of(some)
    return [(names(fold.training), names(fold.judged)) for fold in folds], words


def test_a_middle_gain_and_the_heaviest_rig_judge():
    """Three rigs of four gains: the lower middle gain, and the rig with the longest and heaviest arm."""
    some = logs(*[(g, m, l) for m, l in ((0.3, 0.1), (0.5, 0.1), (0.3, 0.2)) for g in (4.0, 8.0, 16.0, 32.0)])
    (first, second), words = parted(some)
    assert first[1] == ["log 1", "log 5", "log 9"]
    assert second[1] == ["log 8", "log 9", "log 10", "log 11"]
    for training, judged in (first, second):
        assert sorted([*training, *judged]) == sorted(names(some))
    assert words == (
        "the logs with gain 8, and those of the heaviest rig (mass 0.3 kg, length 0.2 m), each left out in"
        " turn"
    )


def test_two_rigs_have_no_extreme_one():
    some = logs(*[(g, m) for m in (0.3, 0.5) for g in (4.0, 8.0, 16.0)] * 2)
    assert extreme_rig(some) == []
    ((_, judged),), words = parted(some)
    assert judged == ["log 1", "log 4", "log 7", "log 10"]
    assert words == "the logs with gain 8"


def test_too_few_are_held_out_in_turn_with_all_others():
    some = logs((8.0, 0.3), (8.0, 0.3), (16.0, 0.3), (8.0, 0.3))
    folds, words = parted(some)
    assert [judged for _, judged in folds] == [["log 0", "log 1", "log 3"], ["log 2"]]
    assert [training for training, _ in folds] == [["log 2"], ["log 0", "log 1", "log 3"]]
    assert words == "2 groups of logs, each held out in turn"


def test_at_most_four_folds_the_smallest_together():
    rows = [(4.0,)] * 3 + [(5.0,)] * 2 + [(6.0,), (7.0,)] + [(8.0,)] * 2
    folds, words = parted(logs(*rows))
    left = [judged for _, judged in folds]
    assert sorted(map(len, left)) == [2, 2, 2, 3]
    assert ["log 5", "log 6"] in left
    assert words == "4 groups of logs, each held out in turn"
    assert sorted(name for fold in left for name in fold) == [f"log {k}" for k in range(9)]


def test_a_single_log_is_judged_by_its_end():
    ((training, judged),), words = parted(logs((8.0,)))
    assert (training, judged) == (["log 0"], ["log 0 (last 40 %)"])
    assert words == "the last 40 % of the log"


def test_of_many_logs_as_many_of_each_rig_and_setting():
    some = logs(*[(g, m) for m in (0.3, 0.5) for g in (4.0, 8.0) for _ in range(5)])
    few = spread_over(some, 8)
    assert [len(members) for members in group_by_rig(few).values()] == [2, 2, 2, 2]
    places = [some.index(log) for log in few]
    assert places == sorted(places)
    assert {k % 5 for k in places} == {0, 1, 2, 3, 4}  # not the same motion of each
    assert spread_over(some, 20) == some


def fit_of(n: int, untold: bool = False, training: float = 1e-3, motion: str = "rotary") -> Fit:
    """As much of a fit as a rung looks at: so many numbers, one of which the logs may not tell."""
    fitted = {
        f"friction.n{k}": FittedParameter(
            path=f"friction.n{k}",
            value=1.0,
            error=0.1,
            low=0.8,
            high=1.2,
            unit="1",
            start=1.0,
            told_by="prior" if untold and k == 0 else "data",
        )
        for k in range(n)
    }
    return Fit(
        actuator=SERVO if motion == "rotary" else be.Actuator(motor=SERVO.motor, motion="linear"),
        parameters=fitted,
        training={"t": training},
        held_out={},
        noise_floor=0.0,
        findings=(),
        starts=(),
        correlation=np.eye(n),
        substeps=1,
        seed=0,
        cpu_s=0.0,
        friction="coulomb",
    )


def rung(name: str, n: int, *errors: float, untold: bool = False) -> RungResult:
    return RungResult(name=name, fit=fit_of(n, untold), errors={f"log {k}": e for k, e in enumerate(errors)})


def test_a_rungs_error_and_how_sure_it_is():
    one = rung("m4", 3, 1.0, 2.0, 6.0)
    assert one.held_out == 3.0
    assert one.standard_error == pytest.approx(math.sqrt(7.0 / 3))  # squares off the mean: 4, 1, 9
    assert rung("m4", 3, 1.0).standard_error == np.inf
    failed = RungResult(name="m5", fit=None, reason="it ran away")
    assert failed.held_out == np.inf
    assert failed.untold == ()


@pytest.mark.parametrize(
    ("path", "told_by", "value", "untold"),
    [
        ("friction.load", "prior", 0.1, True),
        ("friction.load", "prior", 0.0, False),  # there is none of it, and that is told
        ("friction.load", "data", 0.1, False),
        ("friction.load", "both", 0.1, False),
        ("motor.resistance", "prior", 4.0, False),
    ],
)
def test_numbers_of_a_friction_that_nothing_tells(path, told_by, value, untold):
    number = FittedParameter(
        path=path, value=value, error=1.0, low=0.0, high=9.0, unit="1", start=1.0, told_by=told_by
    )
    fit = fit_of(0)
    object.__setattr__(fit, "parameters", {path: number})
    assert RungResult(name="m4", fit=fit).untold == ((path,) if untold else ())


BETTER = {
    # errors of one, of the best, and whether the first is as good
    "the same": ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], True),
    "worse in every log alike": ([1.2, 1.2, 1.2], [1.0, 1.0, 1.0], False),
    "within a tenth over the root of their number": ([1.057, 1.057, 1.057], [1.0, 1.0, 1.0], True),
    "just beyond it": ([1.059, 1.059, 1.059], [1.0, 1.0, 1.0], False),
    # worse by 0.1 on average; by -0.1, 0.1 and 0.3 its standard error is 0.2 / sqrt(3) = 0.115
    "worse by less than it scatters": ([0.9, 1.1, 1.3], [1.0, 1.0, 1.0], True),
    # by -0.03, 0.12, 0.27: 0.15 / sqrt(3) = 0.087
    "worse by more than it scatters": ([0.97, 1.12, 1.27], [1.0, 1.0, 1.0], False),
    "two logs that scatter": ([0.9, 1.3], [1.0, 1.0], True),
    "two logs that scatter by so much that anything would pass": ([0.5, 2.0], [1.0, 1.0], False),
    "what both find hard cancels": ([9.1, 1.09, 5.08], [9.0, 1.0, 5.0], True),
    "one log": ([1.09], [1.0], True),
    "one log, worse": ([1.11], [1.0], False),
}


@pytest.mark.parametrize("row", BETTER)
def test_what_is_as_good_as_the_best_log_by_log(row):
    one, best, good = BETTER[row]
    assert as_good(rung("a", 1, *one), rung("b", 2, *best)) is good


def test_only_logs_that_both_were_judged_on_count():
    one, best = rung("a", 1, 1.0, 1.0), rung("b", 2, 1.0, 1.0, 0.2)
    assert as_good(one, best)


CHOICES = {
    "the best": ([("a", 1, 2.0), ("b", 2, 1.0), ("c", 3, 1.5)], "b"),
    "as good, with fewer numbers": ([("a", 1, 2.0), ("b", 2, 1.02), ("c", 3, 1.0)], "b"),
    "of as many numbers the better": ([("a", 2, 1.02), ("b", 2, 1.0)], "b"),
}


@pytest.mark.parametrize("row", CHOICES)
def test_the_simplest_rung_that_is_good_enough(row):
    rows, chosen = CHOICES[row]
    climbed = [rung(name, n, *[error] * 3) for name, n, error in rows]
    failed = RungResult(name="failed", fit=None, reason="it ran away")
    assert simplest([*climbed, failed]).name == chosen


def test_of_few_logs_a_rung_must_follow_what_it_was_fitted_to():
    """Three of four logs say the law; the fourth is unlike all others, and its error would choose."""
    poor = rung("coulomb", 2, 3.0, 3.0, 3.0, 3.0)
    right = rung("m4", 5, 1.0, 1.0, 1.0, 11.0)
    poor = replace(poor, fit=fit_of(2, training=2.1e-3))
    right = replace(right, fit=fit_of(5, training=1e-3))
    assert simplest([poor, right]).name == "m4"
    assert simplest([replace(poor, fit=fit_of(2, training=1.9e-3)), right]).name == "coulomb"
    many = [replace(one, errors={str(k): one.held_out for k in range(6)}) for one in (poor, right)]
    assert simplest(many).name == "coulomb"


def test_a_rung_that_is_not_told_only_where_no_other_is_left():
    untold, told = rung("a", 1, 1.02, 1.02, untold=True), rung("b", 2, 1.0, 1.0)
    assert simplest([untold, told]).name == "b"
    assert simplest([untold, rung("b", 2, 1.0, 1.0, untold=True)]).name == "a"
    with pytest.raises(be.BackemfError, match="no rung could be fitted: it ran away"):
        simplest([RungResult(name="failed", fit=None, reason="it ran away")])


def climbed(motion: str = "rotary") -> Ladder:
    rungs = (
        RungResult(
            name="coulomb", fit=fit_of(2, training=2e-3, motion=motion), errors={"a": 3e-3, "b": 5e-3}
        ),
        RungResult(name="m4", fit=None, reason="it ran away"),
        RungResult(name="m5", fit=fit_of(4, motion=motion), errors={"a": 2e-3, "b": 2e-3}),
        RungResult(name="m6", fit=fit_of(5, motion=motion), errors={"a": 5e-3}),
        RungResult(name="lugre", fit=fit_of(3, motion=motion), errors={"a": 1e-3, "b": 2e-3}),
    )
    return Ladder(rungs=rungs, chosen="m5", held_out="two logs")


def test_the_chosen_fit_remembers_the_others():
    fit = climbed().fit
    assert len(fit.parameters) == 4
    assert fit.judged_on == "two logs"
    assert [(r.friction, r.n_parameters, r.held_out_mae, r.chosen) for r in fit.rungs] == [
        ("coulomb", 2, pytest.approx(4e-3), False),
        ("m4", None, None, False),
        ("m5", 4, 2e-3, True),
        ("m6", 5, 5e-3, False),
        ("lugre", 3, 1.5e-3, False),
    ]
    assert fit.rungs[0].training_mae == 2e-3
    assert fit.rungs[1].training_mae is None
    assert fit.rungs[0].standard_error == pytest.approx(1e-3)
    assert fit.rungs[3].standard_error == 0.0  # one log does not tell
    assert fit.rungs[2].parameters == {name: p.value for name, p in fit.parameters.items()}
    assert len(fit.rungs[3].parameters) == 5
    assert fit.rungs[1].parameters == {}


def test_a_ladder_in_words(monkeypatch):
    """Each rung against the best before it: 2 of 4 are half, 5 of 2 are half as much again too many twice,
    1.5 of 2 are three quarters."""
    monkeypatch.setenv("COLUMNS", "200")
    rows = {line.split()[0]: line for line in str(climbed()).splitlines() if line.strip()}
    assert "4.000 +- 1.00" in rows["coulomb"]
    assert "2.000" in rows["coulomb"]
    assert "%" not in rows["coulomb"]
    assert "it ran away" in rows["m4"]
    assert "+50.0 %" in rows["m5"]
    assert "chosen" in rows["m5"]
    assert "-150.0 %" in rows["m6"]
    assert "+-" not in rows["m6"]
    assert "+25.0 %" in rows["lugre"]
    assert "chosen" not in rows["lugre"]
    assert "held out [mrad]" in str(climbed())
    assert "held out [mm]" in str(climbed("linear"))


def test_rungs_are_fitted_judged_and_the_simplest_kept():
    """Short logs of Stribeck friction: each of two groups is held out in turn, what is named is not looked
    at, the one chosen is fitted to all others, and progress rises."""
    some = [record(k, gain=16.0, mass=0.3 + 0.2 * (k % 2), command=sweep, duration=1.2) for k in range(5)]
    told: list[tuple[str, float, float]] = []
    climbed = be.ladder(
        SERVO,
        some,
        rungs=("stribeck", "unknown", "coulomb"),
        hold_out=["log 4"],
        offset=False,
        n_starts=1,
        progress=lambda *row: told.append(row),
    )
    assert climbed.chosen == "stribeck"
    assert climbed.held_out == "2 groups of logs, each held out in turn"
    best, unknown, poorer = climbed.rungs
    assert set(best.errors) == {f"log {k}" for k in range(4)}
    assert best.held_out < poorer.held_out
    assert unknown.fit is None
    assert "unknown friction" in unknown.reason
    assert set(climbed.fit.held_out) == {"log 4"}
    assert set(climbed.fit.training) == {f"log {k}" for k in range(4)}
    assert climbed.fit.friction == "stribeck"
    of_rungs = [row for row in told if row[0].startswith(("stribeck: ", "coulomb: "))]
    assert all(cost > 0 for _, cost, _ in of_rungs)
    first = [share for text, _, share in of_rungs if text.startswith("stribeck")]
    last = [share for text, _, share in of_rungs if text.startswith("coulomb")]
    assert 0.0 < min(first) <= max(first) <= 1 / 3
    assert 2 / 3 < min(last) <= max(last) <= 1.0


def test_a_rung_alone_and_in_the_ladder_has_the_same_numbers_and_errors():
    """Both end where the fitted logs say; the ladder comes from a part of them, so to a part of an error."""
    some = [record(k, gain=16.0, mass=0.3 + 0.2 * (k % 2), command=sweep, duration=1.2) for k in range(4)]
    how: dict[str, Any] = {"offset": False, "n_starts": 1, "bands": False}
    climbed = be.ladder(SERVO, some, rungs=("stribeck",), **how).fit
    alone = be.fit(SERVO, some, friction="stribeck", **how)
    assert [*climbed.parameters] == [*alone.parameters]
    for p, q in zip(climbed.parameters.values(), alone.parameters.values(), strict=True):
        assert abs(p.value - q.value) < 0.05 * q.error, p.path
        assert p.error == pytest.approx(q.error, rel=0.01), p.path
        assert p.error_if_right == pytest.approx(q.error_if_right, rel=0.01), p.path
        assert p.told_by == q.told_by


def test_what_is_held_out_takes_no_part_in_the_choice():
    """A log of quite another servo, held out: the rungs are judged and chosen as without it."""
    some = [record(k, gain=16.0, mass=0.3 + 0.2 * (k % 2), command=sweep, duration=1.2) for k in range(2)]
    other = record(9, actuator=SERVO.replace(**{"motor.resistance": 9.0}), command=sweep, duration=1.2)
    how: dict[str, Any] = {"rungs": ("coulomb", "stribeck"), "offset": False, "n_starts": 1}
    plain, held = (
        be.ladder(SERVO, some, **how),
        be.ladder(SERVO, [*some, other], hold_out=[other.name], **how),
    )
    assert [r.errors for r in plain.rungs] == [r.errors for r in held.rungs]
    assert {p: q.value for p, q in plain.fit.parameters.items()} == {
        p: q.value for p, q in held.fit.parameters.items()
    }
    assert set(held.fit.held_out) == {other.name}
    assert held.fit.held_out_mae > 5 * held.fit.training_mae
    assert "extrapolates" not in {f.code for f in plain.fit.findings}


def test_the_ladder_says_what_it_cost_and_does_not_advise_itself():
    some = [record(k, gain=16.0, mass=0.3 + 0.2 * (k % 2), command=sweep, duration=1.2) for k in range(2)]
    begun = time.process_time()
    climbed = be.ladder(SERVO, some, rungs=("viscous",), offset=False, n_starts=1)
    spent = time.process_time() - begun
    assert 0.95 * spent < climbed.fit.cpu_s <= spent  # looking at the recordings counts too
    (missed,) = [f for f in climbed.fit.findings if f.code == "model_error"]
    assert "--friction ladder" not in missed.remedy
    (alone,) = [
        f for f in be.fit(SERVO, some, friction="viscous", n_starts=1).findings if f.code == "model_error"
    ]
    assert "--friction ladder" in alone.remedy


def test_a_ladder_that_is_interrupted_keeps_the_rungs_it_has():
    some = [record(k, gain=16.0, mass=0.3 + 0.2 * (k % 2), command=sweep, duration=1.2) for k in range(2)]

    def stop(text: str, cost: float, share: float) -> None:
        if text.startswith("stribeck: "):
            raise KeyboardInterrupt

    options: dict[str, Any] = {"offset": False, "n_starts": 1, "progress": stop}
    climbed = be.ladder(SERVO, some, rungs=("coulomb", "stribeck", "m4"), **options)
    assert climbed.chosen == "coulomb"
    assert [r.reason for r in climbed.rungs] == ["", STOPPED, STOPPED]
    assert "interrupted" in [f.code for f in climbed.fit.findings]
    begun = be.ladder(SERVO, some, rungs=("stribeck", "m4"), **options)  # amid the first: as far as it came
    assert (begun.chosen, [r.reason for r in begun.rungs]) == ("stribeck", ["", STOPPED])
    assert [f.code for f in begun.fit.findings].count("interrupted") == 1
    assert set(begun.fit.training) == {log.name for log in some}


@pytest.mark.parametrize(
    ("hold_out", "words"),
    [({"gain": 16.0}, "gain 16"), ([{"gain": 8.0}, "log *"], "gain 8, log *"), (len, "those of a function")],
)
def test_what_is_held_out_is_said_in_words(hold_out, words):
    assert choice_of(hold_out).words == words


def test_numbers_beside_a_law_stay_where_they_are_worth_it():
    """One after the other on the best so far; one that buys too little, fails or cannot be there changes
    nothing."""
    errors = {
        "m4": 5.0,
        "m4+load_asymmetry": 4.9,  # by less than two fits differ
        "m4+dwell": 4.0,
        "m4+dwell+load_quadratic": 3.5,
    }
    asked = []

    def rung(name):
        score = Score(rms=1e-3 * errors[name], rms_free=0.0, joints={}, logs={}, held_out=True)
        return RungResult(name=name, fit=None, score=score, n_numbers=len(name))

    def try_rung(name, note):
        asked.append(name)
        if name not in errors:
            raise InvalidValue("it diverges")
        return rung(name)

    beside = ("load_asymmetry", "dwell", "peak", "load_quadratic")
    tried = ladder_module._try_beside(rung("m4"), beside, try_rung, None)
    assert asked == ["m4+load_asymmetry", "m4+dwell", "m4+dwell+peak", "m4+dwell+load_quadratic"]
    stayed = [one.name for one in tried if not one.reason]
    assert stayed == ["m4+dwell", "m4+dwell+load_quadratic"]
    reasons = {one.name: one.reason for one in tried if one.reason}
    assert reasons == {"m4+load_asymmetry": ladder_module.NO_BETTER, "m4+dwell+peak": "it diverges"}
    asked.clear()
    assert ladder_module._try_beside(replace(rung("m4"), name="coulomb"), beside, try_rung, None) == []
    assert asked == []
