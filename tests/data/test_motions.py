"""Motions: read back as written, and refused where they cannot be played."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue, UnknownName
from backemf.planning.motions import Motion, SafetyLimits, Track, usual

LINE = Track(times=(0.0, 1.0, 3.0), positions=(0.0, 1.0, 0.0))


def test_the_usual_four_are_read_back_as_written(tmp_path):
    made = usual(0.4, centre=0.1, seconds=20.0, limits=SafetyLimits(current=1.5))
    assert be.Motions.read(made.write(tmp_path / "plan.json")) == made
    assert [one.name for one in made.motions] == ["slow-ramps", "steps", "sweep", "coast"]
    assert made.duration == pytest.approx(20.0)
    for one in made.motions:
        _, q = one.sample("any joint")
        assert np.all(np.abs(q - 0.1) <= 0.4 + 1e-12), one.name
        assert q[0] == pytest.approx(0.1), "each starts in the middle"
    assert made.motions[3].tracks["*"].coast == pytest.approx(0.45 * 5.0)


def test_positions_are_joined_by_lines_or_held():
    t = np.array([0.0, 0.5, 1.0, 2.0, 5.0])
    np.testing.assert_allclose(LINE.at(t), [0.0, 0.5, 1.0, 0.5, 0.0])
    held = Track(times=LINE.times, positions=LINE.positions, between="hold")
    np.testing.assert_allclose(held.at(t), [0.0, 0.0, 1.0, 1.0, 0.0])
    words = Track(command="step size=0.5rad at=1s")
    np.testing.assert_allclose(words.at(t), [0.0, 0.0, 0.5, 0.5, 0.5])
    for track in (LINE, held, words):
        player = track.player()
        np.testing.assert_allclose([player(x) for x in t], track.at(t))


def test_a_joint_has_its_own_track_or_that_of_all_or_none():
    other = Track(command="constant value=0.3")
    arm = Motion(name="arm", duration=1.0, tracks={"*": LINE, "elbow": other})
    assert arm.track("elbow") is other
    assert arm.track("wrist") is LINE
    alone = Motion(name="arm", duration=1.0, tracks={"elbow": other})
    assert alone.track("wrist") is None
    assert len(alone.sample("wrist")[0]) == 0
    with pytest.raises(UnknownName, match="unknown joint of arm 'elbow'"):
        be.Motions(motions=(alone,)).for_joints(["wrist"])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Track(), "either a command or times"),
        (lambda: Track(command="constant value=0", times=(0.0,), positions=(0.0,)), "either a command"),
        (lambda: Track(times=(0.0, 1.0), positions=(0.0,)), "2 times and 1 positions"),
        (lambda: Track(times=(1.0, 0.0), positions=(0.0, 0.0)), "increase from 0 on"),
        (lambda: Track(times=(0.0,), positions=(float("nan"),)), "finite"),
        (lambda: Track(command="step size=1V"), "is in V; expected an angle"),
        (lambda: Track(command="jump size=1"), "unknown command 'jump'"),
        (lambda: Track(times=(0.0,), positions=(0.0,), between="curve"), "unknown way between positions"),
        (lambda: Motion(name="a/b", duration=1.0, tracks={"*": LINE}), "its log is called so"),
        (lambda: Motion(name="", duration=1.0, tracks={"*": LINE}), "its log is called so"),
        (lambda: Motion(name="a", duration=0.0, tracks={"*": LINE}), "duration of a is 0.0"),
        (lambda: Motion(name="a", duration=1.0, tracks={}), "no tracks"),
        (lambda: be.Motions(motions=()), "no motions"),
        (lambda: be.Motions(motions=2 * usual().motions), "two motions are named 'slow-ramps'"),
        (lambda: SafetyLimits(silence=0.0), "limit silence is 0.0"),
        (lambda: SafetyLimits(position_low=1.0, position_high=-1.0), "expected the first below"),
        (lambda: usual(4.0), "amplitude is 4.0"),
        (lambda: usual(seconds=1.0), "seconds is 1.0"),
    ],
)
def test_what_cannot_be_played_is_refused(make, text):
    with pytest.raises((InvalidValue, UnknownName), match=text):
        make()


def test_a_file_with_an_unknown_key_is_refused(tmp_path):
    path = usual().write(tmp_path / "plan.json")
    content = json.loads(path.read_text())
    content["motions"][0]["tracks"]["*"]["speed"] = 3
    path.write_text(json.dumps(content))
    with pytest.raises(be.BackemfError, match="unknown field of Track 'speed'"):
        be.Motions.read(path)
