"""Limits, each by itself: which reply breaks which, and what is said before anything moves."""

from __future__ import annotations

import pytest

from backemf.kits.recorder.buses import BusServo, Reply, ReplyColumn
from backemf.kits.recorder.preflight import problems, watch_limits, zero_of
from backemf.kits.recorder.session import violation
from backemf.planning.motions import Motion, Motions, SafetyLimits, Track

COLUMNS = tuple(
    ReplyColumn(name, unit)
    for name, unit in (
        *(("position", "rad"), ("velocity", "rad/s"), ("current", "A")),
        *(("temperature", "degC"), ("supply", "V")),
    )
)
SERVO = BusServo(id=1, model="m", columns=COLUMNS, supply=(9.0, 14.0), temperature_limit=70.0)
GOOD = {"position": 0.5, "velocity": 1.0, "current": 0.3, "temperature": 40.0, "supply": 12.0}
LIMITS = SafetyLimits(position_low=-1.0, position_high=1.0, velocity=3.0, current=1.0)


def said(limits: SafetyLimits = LIMITS, offset: float = 0.0, alarm: str = "", **seen: float) -> str:
    values = {**GOOD, **seen}
    return violation("elbow", SERVO, Reply(1, 0.0, tuple(values.values()), alarm), limits, offset)


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        ({}, ""),
        ({"position": 1.1}, "elbow is at 1.100 rad, above its limit of 1"),
        ({"position": -1.1}, "elbow is at -1.100 rad, below its limit of -1"),
        ({"velocity": 3.1}, "elbow has a velocity of 3.1 rad/s, above its limit of 3"),
        ({"velocity": -3.1}, "elbow has a velocity of -3.1 rad/s, above its limit of 3"),
        ({"current": -1.2}, "elbow has a current of -1.2 A, above its limit of 1"),
        ({"temperature": 66.0}, "elbow is at 66 degC, above its limit of 65"),
        ({"supply": 8.5}, "the supply of elbow is 8.5 V, below its limit of 9"),
        ({"supply": 14.5}, "the supply of elbow is 14.5 V, above its limit of 14"),
        ({"alarm": "overload"}, "elbow reports overload"),
        ({"offset": 1.0, "position": 1.9}, ""),
        ({"offset": 1.0, "position": -0.1}, "elbow is at -1.100 rad, below its limit of -1"),
    ],
)
def test_a_reply_outside_a_limit_is_told(seen, text):
    assert said(**seen) == text


def test_a_given_limit_comes_before_the_servos_own_except_for_heat():
    assert said(SafetyLimits(supply_low=8.0), supply=8.5) == ""
    assert "above its limit of 70" in said(SafetyLimits(temperature=90.0), temperature=75.0)
    assert said(SafetyLimits(temperature=None), temperature=69.0) == ""


PLAN = Motions(
    motions=(Motion(name="up", duration=1.0, tracks={"*": Track(times=(0.0, 0.5), positions=(0.0, 0.8))}),)
)


def survey(**more):
    servo = {
        **{"id": 1, "name": "elbow", "model": "m", "number": 0, "firmware": "1", "settings": {}},
        **{"columns": [c._asdict() for c in COLUMNS], "low": -2.0, "high": 2.0, "resolution": 1e-3},
        **{"supply": (9.0, 14.0), "temperature_limit": 70.0, "problems": [], "seen": GOOD, "alarm": ""},
    }
    servo |= {k: v for k, v in more.items() if k in servo}
    about = {"servos": [servo], "missing": [], "elsewhere": "", "noise": 0, "watchdog": False}
    return about | {k: v for k, v in more.items() if k in about}


@pytest.mark.parametrize(
    ("more", "zero", "text"),
    [
        ({}, "middle", None),
        ({"high": 0.7}, "middle", "up asks elbow for 0.800 rad, above 0.700, the upper of the limits stored"),
        ({"high": 1.2}, "here", "up asks elbow for 0.800 rad, above 0.700"),
        ({"low": 0.1}, "middle", "up asks elbow for 0.000 rad, below 0.100, the lower"),
        ({"noise": 8}, "middle", "8 bytes came on port without being asked for"),
        ({"seen": None}, "middle", "servo 1 answers, but does not say where it is"),
        ({"alarm": "overload"}, "middle", "servo 1 reports overload"),
        ({"missing": [4], "elsewhere": "nobody"}, "middle", "servo 4 does not answer on port; nobody"),
        ({"problems": ["it sulks"]}, "middle", "it sulks"),
    ],
)
def test_what_is_wrong_is_a_sentence(more, zero, text):
    found = list(problems(survey(**more), PLAN, SafetyLimits(), zero, "port"))
    assert found == [] if text is None else found[0].startswith(text), found


def test_limits_that_nobody_gave_leave_some_room():
    here = watch_limits(SafetyLimits(), PLAN, survey(), "middle")
    assert (here.position_low, here.position_high) == pytest.approx((-1.0, 1.8))  # 0 .. 0.8, and 1 rad
    moved = watch_limits(
        SafetyLimits(position_low=-0.2), PLAN, survey(seen={**GOOD, "position": 1.5}), "middle"
    )
    assert (moved.position_low, moved.position_high) == pytest.approx((-0.2, 2.5))
    assert zero_of("here", GOOD) == 0.5
    assert zero_of("middle", GOOD) == 0.0
    assert zero_of(0.3, GOOD) == 0.3
