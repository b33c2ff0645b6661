"""Recording from a virtual servo: what is written, what is refused, and that the torque is off afterwards."""

from __future__ import annotations

import errno
import json
import os
import re
import signal

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, UnknownName
from backemf.kits.recorder.buses import BusError
from backemf.kits.recorder.buses.bus import port_refusal
from backemf.kits.recorder.record_options import named_ids
from backemf.kits.recorder.recorder import RecordingStopped
from backemf.planning.motions import Motion, Motions, SafetyLimits, Track

from .rig import BENCH, hold, short, started, torque, until, virtual


@pytest.fixture(scope="module")
def servo():
    with virtual() as port:
        yield port


def record(servo, to, **more):
    """With the patience that a busy machine needs."""
    more.setdefault("limits", SafetyLimits(silence=2.0))
    return be.record(**{"bus": "feetech", "port": servo, "to": to, "bench": BENCH, "yes": True, **more})


def test_a_log_knows_its_servo_and_everything_it_said(servo, tmp_path):
    (log,) = record(servo, tmp_path, motions=short("steps"))
    assert set(log.signals) >= {"position", "velocity", "current", "supply", "temperature", "position_target"}
    assert log.bench == BENCH
    assert log.settings == {"drive.proportional": 16.0, "drive.derivative": 32.0}
    assert torque(servo) == 0
    q, u, i = log["position"], log["position_target"], log["current"]
    assert abs(q[0]) < 0.05
    assert np.ptp(u) == pytest.approx(0.6, abs=2e-3)  # one count
    assert np.max(q) > 0.2 > -0.2 > np.min(q)
    assert np.min(i) < -0.05 < 0.05 < np.max(i), "the current has a sign"
    assert np.nanmedian(log["supply"]) == pytest.approx(12.0, abs=0.1)
    assert not [f for f in log.findings if f.code == "ended_early"]
    head, end = (json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()[:2])
    assert head["joints"][0]["model"] == "sts3215"
    assert head["joints"][0]["firmware"] == "3.10"
    assert head["joints"][0]["registers"]["position_high"] == 4095
    said = end["joints"][0]
    assert said["samples"] == len(log)
    assert said["lost"] == 0
    assert said["rate"] == pytest.approx(log.signals["position"].rate, rel=0.02)
    assert said["jitter"] == pytest.approx(log.signals["position"].jitter, rel=0.02)


def test_a_coast_switches_the_torque_off_and_says_when(servo, tmp_path):
    (log,) = record(servo, tmp_path, motions=short("coast"))
    off = log.signals["enabled"]
    assert list(off.values) == [1.0, 0.0]
    assert off.time[1] >= 0.45  # where the track says
    assert abs(log["position"][-1]) < 0.3, "it has fallen, or slid, from where it was held"


def test_what_is_done_is_not_played_again(servo, tmp_path):
    plan, seen = short("steps", "sweep", seconds=3.0), []
    record(servo, tmp_path, motions=Motions(motions=plan.motions[:1]))
    before = (tmp_path / "steps.jsonl").read_bytes()
    logs = record(servo, tmp_path, motions=plan, watch=seen.append)
    assert [e["motion"] for e in seen if e["event"] == "done"] == ["sweep"]
    assert [log.name for log in logs] == ["steps", "sweep"]
    assert (tmp_path / "steps.jsonl").read_bytes() == before
    other = Motions(motions=(Motion(name="steps", duration=1.0, tracks=plan.motions[0].tracks),))
    with pytest.raises(InvalidValue, match="complete log of another motion"):
        record(servo, tmp_path, motions=other)


def test_nothing_moves_without_a_word(servo, tmp_path):
    shown = []
    assert record(servo, tmp_path / "a", dry_run=True, yes=False, show=shown.append) == []
    assert "slow-ramps" in shown[0]
    assert "sts3215" in shown[0]
    assert not (tmp_path / "a").exists()
    with pytest.raises(InvalidValue, match="needs --yes"):
        record(servo, tmp_path, yes=False)
    with pytest.raises(InvalidValue, match="needs --yes"):
        record(servo, tmp_path, yes=False, confirm=lambda text: False)
    assert torque(servo) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_joints_zero_may_be_where_it_stands(tmp_path):
    with virtual("--start-angle", "0.5", "--noise", "0") as port:
        (log,) = record(port, tmp_path, motions=short("sweep"), zero="here")
        assert abs(log["position"][0]) < 0.05
        assert np.max(np.abs(log["position"])) < 0.25
        assert np.max(np.abs(log["position_target"])) < 0.16, "what was asked is counted from there too"


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (SafetyLimits(velocity=0.05), "velocity of .* above its limit of 0.05"),
        (SafetyLimits(current=0.02), "current of .* above its limit of 0.02"),
    ],
)
def test_beyond_a_limit_the_torque_goes_off_and_the_log_says_why(servo, tmp_path, limits, text):
    with pytest.raises(RecordingStopped, match=text):
        record(servo, tmp_path, motions=hold(), limits=limits)
    assert torque(servo) == 0
    try:
        (log,) = be.read(str(tmp_path / "hold.jsonl"))
        said = " ".join(f.text for f in log.findings)
    except BackemfError as error:  # it happened on the way, before the first sample
        said = str(error)
    assert re.search(text, said)


@pytest.mark.parametrize(
    ("fault", "limits", "text"),
    [
        (
            "silent=4",
            SafetyLimits(silence=1.0),
            r"has not answered for [1-4]\.\d+ s",
        ),  # at a busy machine's pace
        ("brown-out=4", SafetyLimits(silence=2.0), "supply of 1 is .* below its limit"),
        ("brown-out=4", SafetyLimits(silence=2.0, supply_low=1.0), "the torque of 1 went off by itself"),
    ],
)
def test_faults_end_a_motion(tmp_path, fault, limits, text):
    with virtual("--fault", fault) as port:
        with pytest.raises(RecordingStopped, match=text):
            record(port, tmp_path, motions=hold(), limits=limits)
        (log,) = be.read(str(tmp_path / "hold.jsonl"))
        (early,) = [f for f in log.findings if f.code == "ended_early"]
        assert early.numbers["seconds"] > 0


def test_an_overloaded_servo_ends_it_by_its_own_word(tmp_path):
    track = Track(times=(0.0, 2.0, 2.5), positions=(0.0, 0.0, 1.5))
    plan = Motions(motions=(Motion(name="push", duration=20.0, tracks={"*": track}),))
    with virtual("--fault", "stuck=2", "--register", "protection_time=10") as port:
        with pytest.raises(RecordingStopped, match="1 reports overload"):
            record(port, tmp_path, motions=plan)
        assert torque(port) == 0


def test_lost_and_late_replies_are_counted_and_survived(tmp_path):
    with virtual("--fault", "lose=0.02", "--fault", "late=0.005") as port:
        (log,) = record(port, tmp_path, motions=short("sweep", seconds=8.0))
    end = json.loads((tmp_path / "sweep.jsonl").read_text().splitlines()[1])
    assert end["ended"] == "complete"
    assert end["joints"][0]["lost"] > 0
    assert np.max(np.abs(log["position"])) < 0.5, "no damaged reply got through"


def test_ctrl_c_sigterm_and_a_closed_terminal_switch_the_torque_off(servo, tmp_path):
    hold().write(tmp_path / "plan.json")
    for number, text in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")):
        to = tmp_path / text
        words = ("--bus", "feetech", "--port", servo, "--motions", str(tmp_path / "plan.json"))
        process = started("record", *words, "-o", str(to), "--yes")
        until(lambda to=to: (to / "hold.jsonl").exists(), "the recording")
        until(lambda to=to: b'["s"' in (to / "hold.jsonl").read_bytes(), "the first sample")
        os.kill(process.pid, number)
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert torque(servo) == 0
        (log,) = be.read(str(to / "hold.jsonl"))
        assert any(text in f.text for f in log.findings), log.findings


@pytest.mark.parametrize(
    ("more", "kind", "text"),
    [
        ({"ids": [7]}, BusError, "servo 7 does not answer on .*at 1000000 baud these ids answer: 1"),
        ({"baud": 500_000}, BusError, "at 1000000 baud these ids answer: 1; give --baud 1000000"),
        ({"port": "/dev/ttyNo"}, BusError, "no port '/dev/ttyNo'; the serial ports of this machine"),
        ({"port": "/dev/null"}, BusError, "'/dev/null' cannot be opened as a serial port"),
        ({"bus": "usb"}, UnknownName, "unknown bus 'usb'"),
        ({"motions": "not there.json"}, BackemfError, "there is no file"),
        ({"rate": 0.0}, InvalidValue, "rate is 0 Hz"),
        ({"limits": SafetyLimits(position_high=0.2)}, BusError, "above the given limit of 0.2"),
        ({"limits": SafetyLimits(temperature=20.0)}, BusError, "above its limit of 20; nothing is switched"),
        ({"limits": SafetyLimits(supply_low=13.0)}, BusError, "below its limit of 13; nothing is switched"),
        ({"zero": "left"}, InvalidValue, "zero is 'left'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_moves(servo, tmp_path, more, kind, text):
    with pytest.raises(kind, match=text):
        record(servo, tmp_path / "logs", **{"motions": short("steps"), **more})
    assert torque(servo) == 0
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--register", "position_high=2200"), "steps asks 1 for 0.300 rad, above 0.233, the upper"),
        (("--register", "mode=1"), "servo 1 is in the velocity mode; expected the position mode"),
        (("--fault", "second-master"), "bytes came on .* without being asked for"),
        (("--fault", "hot=80degC"), "1 is at 80 degC, above its limit"),
    ],
)
def test_a_servo_that_is_not_ready_is_refused(tmp_path, words, text):
    with virtual(*words) as port, pytest.raises(BusError, match=text):
        record(port, tmp_path, motions=short("steps"))


def test_a_port_that_is_in_use_is_refused(servo, tmp_path):
    import serial

    with (
        serial.Serial(servo, 1_000_000, exclusive=True),
        pytest.raises(BusError, match="in use by another program"),
    ):
        record(servo, tmp_path)


def test_a_port_without_permission_names_its_group(tmp_path):
    """As the system refuses it; root, who may use every port, asks what would be said."""
    if os.geteuid() == 0:
        said = str(port_refusal("/dev/console", PermissionError(errno.EACCES, "Permission denied")))
    else:
        with pytest.raises(BusError) as caught:
            record("/dev/console", tmp_path)
        said = str(caught.value)
    assert "you may not use '/dev/console'" in said
    assert "usermod -aG" in said


def test_a_whole_arm_is_read_at_once(tmp_path):
    with virtual("--id", "1-6") as port:
        names = {f"joint{k}": k for k in range(1, 7)}
        steps = {
            "*": Track(times=(0.0, 0.4), positions=(0.0, 0.1)),
            "joint3": Track(command="constant value=0"),
        }
        plan = Motions(motions=(Motion(name="arm", duration=1.0, tracks=steps),))
        logs = record(port, tmp_path, ids=names, motions=plan)
    assert [log.name for log in logs] == [f"arm joint{k}" for k in range(1, 7)]
    assert np.max(logs[1]["position_target"]) == pytest.approx(0.1, abs=1e-3)
    assert np.max(np.abs(logs[2]["position_target"])) == 0.0
    stamps = np.array([log["time"][5] for log in logs])
    assert np.all(np.diff(stamps) > 0), "each reply has its own stamp, in the order of the ids"


@pytest.mark.parametrize("ids", [[], [1, 1], {"a": 300}, {"": 1}, [True]])
def test_ids_that_cannot_be(ids):
    with pytest.raises(InvalidValue):
        named_ids(ids)
