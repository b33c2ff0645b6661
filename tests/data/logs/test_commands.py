"""Logs whose command is a function of time: from arrays, from files, refined and kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError
from backemf.results.fit_result import FittedLog
from backemf.store import load, plain

SQUARE = be.signal.square(np.pi / 2, 0.5, offset=np.pi / 2, at=0.5015946)
TIME = np.arange(100) / 30.0


def test_samples_stand_on_the_commands_own_clock():
    log = be.log("a", TIME, position=np.zeros(100), command=SQUARE)
    asked = log.signals["position_target"]
    assert asked.time == pytest.approx([0.0, 0.5015946, 1.5015946, 2.5015946])
    assert asked.values == pytest.approx([0.0, np.pi, 0.0, np.pi])
    assert log["position_target"] == pytest.approx(SQUARE(TIME))
    assert log.commands == {"position_target": SQUARE}
    assert log.between(1.0, 2.0).signals["position_target"].time == pytest.approx([1.0, 1.5015946])


@pytest.mark.parametrize(
    ("given", "signal"),
    [
        ({"command": "sine amplitude=6V frequency=1Hz"}, "voltage_target"),
        ({"command": "step size=10rpm"}, "velocity_target"),
        ({"command": "step size=10"}, "position_target"),
        ({"current_target": be.signal.step(1.0)}, "current_target"),
        ({"enabled": be.signal.step(-1.0, at=0.3, start=1.0)}, "enabled"),
    ],
)
def test_its_unit_or_its_name_says_what_it_asks_for(given, signal):
    log = be.log("a", TIME, position=np.zeros(100), **given)
    assert list(log.commands) == [signal]


def test_a_measured_signal_is_no_command():
    with pytest.raises(BackemfError, match="unknown signal that can be asked 'position'"):
        be.log("a", TIME, position=SQUARE)


def test_the_refined_clock_has_every_jump_and_measures_nothing_there():
    q, i = np.arange(100.0), np.arange(100.0) ** 2
    log = be.log("a", TIME, position=q, current=i, supply=np.full(100, 5.0), command=SQUARE)
    fine, places = log.refine()
    assert len(fine) == 103
    assert np.array_equal(fine.time[places], TIME)
    between = np.setdiff1d(np.arange(103), places)
    assert fine.time[between] == pytest.approx([0.5015946, 1.5015946, 2.5015946])
    for name, values in (("position", q), ("current", i)):
        assert np.array_equal(fine[name][places], values)
        assert np.isnan(fine[name][between]).all()
    assert np.array_equal(fine["supply"], np.full(103, 5.0))
    assert np.array_equal(fine["position_target"], SQUARE(fine.time))


def test_a_jump_at_a_sample_or_a_sampled_command_refines_nothing():
    at_sample = be.log("a", TIME, position=np.zeros(100), command=be.signal.step(1.0, at=TIME[7] + 1e-12))
    sampled = be.log("a", TIME, position=np.zeros(100), position_target=SQUARE(TIME))
    for log in (at_sample, sampled):
        fine, places = log.refine()
        assert fine is log
        assert np.array_equal(places, np.arange(100))


def write(path, content) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML too


@pytest.mark.parametrize("name", ["servo.yml", "servo.json"])
def test_a_file_names_its_command(tmp_path, name):
    """As the SG90 article stores it: A, f, w, b, t_0 beside t and theta_u."""
    article = {"A": np.pi, "f": 0.5, "w": 0.5, "b": 0.0, "t_0": 0.5015946}
    write(tmp_path / name, {"t": TIME.tolist(), "theta_u": TIME.tolist(), **article})
    (log,) = be.read(tmp_path / name)
    assert log.commands == {"position_target": SQUARE}
    assert any("position_target as the file names it: square" in words for words in log.conversions)
    write(tmp_path / name, {"t": TIME.tolist(), "volts": TIME.tolist(), "command": "step size=3V at=1s"})
    (log,) = be.read(tmp_path / name)
    assert log.commands["voltage_target"] == be.signal.read("step size=3V at=1s")


def test_what_a_file_says_and_nobody_understands_is_noted(tmp_path):
    write(tmp_path / "a.json", {"t": TIME.tolist(), "theta": TIME.tolist(), "command": "stp size=3V"})
    (log,) = be.read(tmp_path / "a.json")
    assert not log.commands
    assert any("did you mean 'step'?" in words for words in log.conversions)


def test_what_is_told_comes_before_the_files_samples(tmp_path):
    rows = "\n".join(f"{t:.5f},0,0" for t in TIME)
    (tmp_path / "a.csv").write_text(f"t,theta,command\n{rows}\n")
    with pytest.raises(BackemfError, match="'command' may be position_target"):
        be.read(tmp_path / "a.csv")
    (log,) = be.read(tmp_path / "a.csv", command="square from=0deg to=180deg period=2s at=0.5015946s")
    assert log.commands["position_target"].fields == pytest.approx(SQUARE.fields)
    assert log["position_target"].max() == pytest.approx(np.pi)


def test_a_fit_remembers_the_command_in_words():
    log = be.log("a", TIME, position=np.zeros(100), command=SQUARE)
    kept = load(json.loads(json.dumps(plain(FittedLog.of(log)))), kind=FittedLog)
    assert be.signal.read(kept.commands["position_target"]) == SQUARE


def test_a_recorded_command_keeps_its_own_clock():
    """A command sampled four times as often as the position, 3 ms off it: each change stands at its moment,
    and what stays the same adds none."""
    t, at = np.arange(0.0, 0.1, 0.02), np.arange(0.003, 0.1, 0.005)
    asked = np.floor(np.arange(len(at)) / 2.0)
    signals = {
        "position": be.Signal(time=t, values=np.zeros(len(t))),
        "position_target": be.Signal(time=at, values=asked),
    }
    fine, places = be.Log(name="a", signals=signals).refine()
    np.testing.assert_allclose(fine.time[places], t)
    between = np.delete(fine.time, places)
    np.testing.assert_allclose(between, [x for x in at[2::2] if x < t[-1]])
    np.testing.assert_array_equal(fine["position_target"], signals["position_target"].hold_at(fine.time))
    assert np.isnan(np.delete(fine["position"], places)).all()


def test_a_command_that_was_given_once_holds_in_every_part_of_a_log():
    clock = np.linspace(0.0, 2.0, 21)
    signals = {
        "position": be.Signal(time=clock, values=0.1 * clock),
        "position_target": be.Signal(time=np.array([0.0]), values=np.array([0.3])),
        "enabled": be.Signal(time=np.array([0.0, 0.55, 1.5]), values=np.array([1.0, 0.0, 1.0])),
    }
    part = be.Log(name="held", signals=signals).between(1.0, 2.0)
    assert np.all(part["position_target"] == 0.3)
    np.testing.assert_array_equal(part["enabled"], np.where(part.time < 1.5, 0.0, 1.0))
    assert len(part["position"]) == 11
