"""Remedies that were tried: what is offered by which errors, in which order, and what is said; and units that
nobody stated."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backemf.errors import InvalidValue
from backemf.findings import Finding, finding
from backemf.identify.inspect import remedies
from backemf.identify.inspect.remedies import (
    _half,
    _held_out,
    _judge_remedy,
    _mrad,
    _spread,
    apply,
    judged_by,
    merge_findings,
    on_trial,
    try_remedies,
)
from backemf.identify.plants.bench_plant import identifiability_problem

from ..recordings import SERVO, in_degrees, record, with_values
from .hand_made import log

T = 0.01 * np.arange(400)
WAVE = np.sin(2 * np.pi * 0.7 * T)


def fault(code: str, *names: str, **numbers: float) -> Finding:
    return replace(finding(code, f"{code}.", f"mend {code}", **numbers), logs=names)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (0.0123, "12.3 mrad"),
        (0.99, "990 mrad"),
        (1.01, "1,010 mrad"),
        (12.0, "12,000 mrad"),
        (0.9e8, "90,000,000,000 mrad"),
        (1.1e8, "a simulation that runs away"),
        (1e9, "a simulation that runs away"),
    ],
)
def test_errors_in_words(error, words):
    assert _mrad(error) == words


def test_the_same_in_many_logs_is_said_once():
    rows = [fault("gaps", "a"), fault("jitter", "a"), fault("gaps", "b"), fault("gaps", "b", "c")]
    gaps, jitter = merge_findings(rows)
    assert (gaps.code, gaps.logs) == ("gaps", ("a", "b", "c"))
    assert gaps.text == "gaps. The same in 2 more."
    assert jitter == rows[1]
    other = replace(rows[2], remedy="something else")
    assert len(merge_findings([rows[0], other])) == 2


def test_what_a_remedy_was_worth():
    offered = _judge_remedy(fault("zeros", "a", share=0.1), 0.02, 0.001, True)
    assert offered.numbers == {"share": 0.1, "before": 0.02, "after": 0.001, "offered": 1.0}
    assert offered.text == "zeros. Mended, what was not fitted is missed by 1 mrad instead of 20 mrad."
    assert offered.remedy == "mend zeros: be.check(...).apply(logs), or --apply"
    tried_ = _judge_remedy(fault("zeros", "a"), 0.02, 0.03, False)
    assert tried_.numbers["offered"] == 0.0
    assert "Mending it was tried" in tried_.text
    assert tried_.remedy == "record again; 'mend zeros' does not help here"


def test_half_of_a_log_and_how_it_begins():
    one = log(WAVE)
    first, second = (np.isfinite(_half(one, which)["position"]) for which in (0, 1))
    assert np.flatnonzero(first).tolist() == list(range(200))
    assert np.flatnonzero(second).tolist() == [*range(30), *range(200, 400)]
    assert _half(one, 0)["position"][:200] == pytest.approx(WAVE[:200])
    odd = np.isfinite(_half(log(WAVE[:399]), 1)["position"])
    assert np.flatnonzero(odd)[30] == 199


def test_how_far_the_faulty_logs_move():
    logs = [log(WAVE, name="a"), log(3 * WAVE, name="b"), log(9 * WAVE, name="c")]
    assert _spread(logs, fault("zeros", "a", "b")) == pytest.approx(2 * np.std(WAVE))


def by(**errors: Any) -> remedies.Judge:
    """A judge who knows what each remedy comes to."""
    return lambda logs, mended, one: errors[one.code]


def unused(some: Any) -> Any:
    raise AssertionError("no model was asked for")


SOUND = log(WAVE, name="a")
OTHER = log(WAVE, name="b")
OFFERS = {
    # code, sure or not, (before, after, scale): offered, said, left open
    "helps clearly": ("wrong_sign", {}, (0.1, 0.084, 1.0), (True, True, False)),
    "helps a little": ("wrong_sign", {}, (0.1, 0.086, 1.0), (False, True, True)),
    "does no harm": ("zeros", {}, (0.1, 0.104, 1.0), (True, True, False)),
    "does harm": ("zeros", {}, (0.1, 0.106, 1.0), (False, True, True)),
    "in another unit": ("degrees", {"sure": 1.0}, (1.0, 0.9 * 0.0175, 0.0175), (False, True, True)),
    "in another unit, clearly": ("degrees", {"sure": 1.0}, (1.0, 0.8 * 0.0175, 0.0175), (True, True, False)),
    "not sure, and helps": ("coarse_command", {"sure": 0.0}, (0.1, 0.05, 1.0), (True, True, False)),
    "not sure, and does not": ("coarse_command", {"sure": 0.0}, (0.1, 0.09, 1.0), (False, False, False)),
    "helps, but the model is lost": ("wrong_sign", {}, (1.0, 0.22, 1.0), (True, True, True)),
    "helps enough": ("wrong_sign", {}, (1.0, 0.20, 1.0), (True, True, False)),
    "runs away": ("wrong_sign", {}, (0.1, 1e9, 1.0), (False, True, True)),
}
"""The wave's standard deviation is 0.71: an error of 0.21 is 0.3 of it."""


@pytest.mark.parametrize("row", OFFERS)
def test_what_is_offered_and_what_stays_open(row):
    code, numbers, errors, (offered, said, open_) = OFFERS[row]
    looked = try_remedies(unused, [SOUND, OTHER], [fault(code, "a", **numbers)], judge=by(**{code: errors}))
    assert [f.code for f in looked.findings] == ([code] if said else [])
    assert all(f.numbers["offered"] == float(offered) for f in looked.findings)
    assert looked.open is open_
    assert looked.logs == [SOUND, OTHER]
    assert looked.mended[1] is OTHER
    if code == "wrong_sign":
        assert looked.mended[0]["position"] == pytest.approx(-WAVE if offered else WAVE)


def test_what_cannot_be_tried_is_mended_where_it_is_certain():
    faults = [fault("wrong_sign", "a"), fault("coarse_command", "a", sure=0.0)]
    looked = try_remedies(unused, [SOUND], faults, judge=by(wrong_sign=None, coarse_command=None))
    (f,) = looked.findings
    assert (f.code, f.numbers) == ("wrong_sign", {"offered": 1.0})
    assert looked.mended[0]["position"] == pytest.approx(-WAVE)
    assert not looked.open


def test_remedies_are_tried_in_the_order_in_which_faults_hide_each_other():
    seen = []

    def judge(logs, mended, one):
        seen.append(one.code)
        return 0.1, 0.01, 1.0

    faults = [fault("wrong_sign", "a"), fault("degrees", "a", position=2.0, sure=1.0), fault("zeros", "a")]
    looked = try_remedies(unused, [SOUND], faults, judge=judge)
    assert seen == ["zeros", "degrees", "wrong_sign"]
    assert looked.mended[0]["position"] == pytest.approx(-2.0 * WAVE)  # each on what the one before left
    again = apply(looked.findings, [SOUND])
    assert again[0]["position"] == pytest.approx(-2.0 * WAVE)


def test_only_what_is_offered_is_applied_to_its_logs():
    faults = [fault("wrong_sign", "a", offered=1.0), fault("degrees", "b", position=2.0, offered=0.0)]
    turned, kept = apply(faults, [SOUND, OTHER])
    assert turned["position"] == pytest.approx(-WAVE)
    assert kept is OTHER
    assert apply([fault("wrong_sign", "a"), fault("gaps", "a", offered=1.0)], [SOUND]) == [SOUND]


ASSUMED = fault("unit_assumed", "a", position=1.0)


def test_a_unit_that_nobody_stated_is_read_once():
    unit = fault("units_understood", "a", position=0.5)
    silent, stated = replace(SOUND, findings=(ASSUMED,)), replace(OTHER, findings=())
    read, other = apply([unit], [silent, stated])
    assert read["position"] == pytest.approx(0.5 * WAVE)
    assert [f.code for f in read.findings] == ["units_understood"]
    assert other is stated
    assert apply([unit], [read])[0] is read
    named = replace(unit, logs=("b",))
    assert apply([named], [silent])[0] is silent


def build(some):
    return identifiability_problem(some, SERVO, ["motor.resistance", "friction.coulomb"], None)


def test_units_are_understood_where_nobody_stated_one_and_the_motion_leaves_no_choice():
    sound = record(1, duration=2.0)
    degrees = in_degrees(sound)
    assumed = fault("unit_assumed", sound.name, position=1.0, position_target=1.0)
    other = fault("gaps", sound.name)
    read = remedies._understand_unit(build, SERVO, replace(degrees, findings=(assumed, other)))
    assert read["position"] == pytest.approx(sound["position"])
    assert [f.code for f in read.findings] == ["gaps", "units_understood"]
    assert "The file states no unit, and it is read so." in read.findings[1].text
    assert set(read.findings[1].numbers) == {"position", "position_target"}
    # somebody stated them, or one of them
    assert remedies._understand_unit(build, SERVO, degrees) is degrees
    half = replace(degrees, findings=(replace(assumed, numbers={"position": 1.0}),))
    assert remedies._understand_unit(build, SERVO, half) is half
    fine = replace(sound, findings=(assumed,))
    assert remedies._understand_unit(build, SERVO, fine) is fine


def test_an_error_is_of_what_was_not_fitted():
    """Half a log each; a sample left out does not count, and of two logs only the first are judged."""
    sound = record(1, duration=2.0)
    error = _held_out(build, [sound], [sound], 1)
    assert error == pytest.approx(5e-4 * math.sqrt(2 / math.pi), rel=0.4)
    spiked = sound["position"].copy()
    spiked[150] += 50.0
    faulty = with_values(sound, position=spiked)
    mended = with_values(sound, position=np.where(np.arange(len(sound)) == 150, np.nan, spiked))
    counted, left_out = (_held_out(build, [faulty], [clean], 1) for clean in (faulty, mended))
    assert counted > 20 * error  # type: ignore[operator]  # None would fail here
    assert left_out < 0.3 * counted  # type: ignore[operator]  # None would fail here
    other = replace(record(2, duration=2.0), name="other")
    shifted = with_values(other, position=other["position"] + 1.0)
    pair = _held_out(build, [sound, other], [sound, other], 1)
    assert pair == pytest.approx(error, rel=0.5)
    # None would fail here:
    assert _held_out(build, [sound, shifted], [sound, shifted], 2) > 10 * error  # type: ignore[operator]


def test_short_logs_are_not_tried():
    for n, there in ((160, True), (159, False)):
        one = record(1, duration=0.005 * (n - 1))
        assert len(one) == n
        assert (_held_out(build, [one], [one], 1) is not None) is there


def test_a_trial_compares_the_faulty_logs_as_they_are_and_mended():
    sound = record(1, duration=2.0)
    turned = with_values(sound, position=-sound["position"])
    # None would fail here:
    before, after, scale = judged_by(build)([turned], [sound], fault("wrong_sign", sound.name))  # type: ignore[misc]
    assert after < 1e-3
    assert before > 100 * after
    assert scale == 1.0
    degrees = fault("degrees", sound.name, position=math.pi / 180)
    _, _, scale = judged_by(build)([in_degrees(sound)], [sound], degrees)  # type: ignore[misc]  # not None
    assert scale == pytest.approx(math.pi / 180)

    def refuse(some):
        raise InvalidValue("no such problem")

    assert judged_by(refuse)([turned], [sound], fault("wrong_sign", sound.name)) is None
    short = sound.between(0.0, 0.5)
    assert judged_by(build)([short], [short], fault("wrong_sign", sound.name)) is None


@pytest.mark.parametrize(
    ("n", "names", "faulty", "others"),
    [
        (9, (1, 3, 5, 7), [1, 3, 5], [0, 2, 4]),  # six at most, half of them faulty
        (3, (1,), [1], [0, 2]),
        (9, (8,), [8], [0, 1, 2, 3, 4]),
    ],
)
def test_logs_that_a_remedy_is_tried_on(n, names, faulty, others):
    logs = [log(WAVE, name=f"log {k}") for k in range(n)]
    assert on_trial(logs, fault("wrong_sign", *(f"log {k}" for k in names))) == (faulty, others)


def test_a_log_is_looked_at_and_mended():
    sound = record(1, duration=2.0)
    looked = remedies.inspect_logs(build, SERVO, [with_values(sound, position=-sound["position"])])
    (f,) = looked.findings
    assert (f.code, f.numbers["offered"], f.logs) == ("wrong_sign", 1.0, (sound.name,))
    assert looked.mended[0]["position"] == pytest.approx(sound["position"])
    assert not looked.open
    assert remedies.inspect_logs(build, SERVO, [sound]).findings == []
