"""What the recorder writes, read back: numbers, clocks, settings, and how it ended."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be

from ...robot.arms import ARM

COLUMNS = [
    {"name": "position", "unit": "rad", "factor": 0.001, "zero": 2048, "offset": 0.1},
    {"name": "current", "unit": "A", "factor": 0.0065, "zero": 0.0},
    {"name": "duty", "unit": "1", "factor": 0.001, "zero": 0.0},
]
JOINT = {"name": "elbow", "id": 3, "model": "sts3215", "firmware": "3.10", "columns": COLUMNS}
HEAD = {
    **{"backemf_recording": 1, "bus": "feetech", "began": "2026-11-01T10:00:00", "speed": 1.0},
    "bench": {"part": "Pendulum", "mass": 0.5, "length": 0.1},
    "joints": [{**JOINT, "settings": {"drive.proportional": 16.0, "drive.integral": 0.0}}],
}
ROWS = [
    *(["e", 0.0, 0, 1], ["g", 0.0, 0, 0.0], ["g", 0.013, 0, 0.5]),
    *([("s"), 0.01 * k, 0, 2148 + 10 * k, -4 + k, 100] for k in range(1, 6)),
    ["e", 0.045, 0, 0],
]


def written(path, head=HEAD, end=None, rows=ROWS):
    lines = [head, {"ended": "complete"} if end is None else end, *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_counts_become_si_each_signal_on_its_own_clock(tmp_path):
    (log,) = be.read(written(tmp_path / "steps.jsonl"))
    assert log.name == "steps"
    np.testing.assert_allclose(log["position"], [0.01, 0.02, 0.03, 0.04, 0.05])  # 1e-3 (count - 2048) - 0.1
    np.testing.assert_allclose(log["current"], [-0.0195, -0.013, -0.0065, 0.0, 0.0065])
    np.testing.assert_allclose(log.signals["position_target"].time, [0.0, 0.013])
    np.testing.assert_allclose(log["enabled"], [1, 1, 1, 1, 0])
    assert log.bench == be.bench.Pendulum(mass=0.5, length=0.1)
    assert log.settings == {"drive.proportional": 16.0}, "an integral of 0 is none"
    assert "duty" not in log
    assert "recorded from sts3215, firmware 3.10, id 3 on feetech" in log.conversions[0]
    assert not [f for f in log.findings if f.code in ("ended_early", "lost_replies")]


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ({"ended": "early", "reason": "elbow is at 70 degC"}, "elbow is at 70 degC"),
        ({"ended": None}, "the recorder was killed"),
    ],
)
def test_a_recording_says_that_and_why_it_ended_early(tmp_path, end, text):
    (log,) = be.read(written(tmp_path / "a.jsonl", end=end))
    (early,) = [f for f in log.findings if f.code == "ended_early"]
    assert text in early.text
    assert early.numbers["seconds"] == pytest.approx(0.05)


def test_lost_replies_are_a_finding(tmp_path):
    rows = [*ROWS, ["x", 0.06, 0, "no answer"]]
    (log,) = be.read(written(tmp_path / "a.jsonl", rows=rows))
    (lost,) = [f for f in log.findings if f.code == "lost_replies"]
    assert lost.numbers == {"lost": 1, "share": pytest.approx(1 / 6)}


def test_two_joints_are_two_logs_and_one_without_samples_is_none(tmp_path):
    head = {**HEAD, "joints": [JOINT, {**JOINT, "name": "wrist"}, {**JOINT, "name": "hand"}]}
    rows = [*ROWS, *([row[0], row[1], 1, *row[3:]] for row in ROWS)]
    logs = be.read(written(tmp_path / "arm.jsonl", head=head, rows=rows))
    assert [log.name for log in logs] == ["arm elbow", "arm wrist"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"head": {**HEAD, "backemf_recording": 9}}, "version 9; this release reads 1"),
        ({"rows": []}, "ended before the first sample"),
        ({"rows": [["s", 0.0, 0, 1.0]]}, "rows of joint elbow"),
        ({"rows": [*ROWS, {"s": 1}]}, "expected a row of a recording"),
        ({"head": {**HEAD, "joints": [{"name": "x"}]}}, "not a whole recording"),
        ({"head": {**HEAD, "bench": {"part": "Pendulm"}}}, "unknown part 'Pendulm'"),
    ],
)
def test_what_is_damaged_is_refused_in_words(tmp_path, change, text):
    with pytest.raises(be.BackemfError, match=text):
        be.read(written(tmp_path / "a.jsonl", **change))


def test_an_arm_s_recording_is_one_log_of_its_robot(tmp_path):
    """Joints by the names that they were recorded under, each on its own clock; alone they stay logs."""
    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    joints = [{**HEAD["joints"][0], "name": name, "id": k + 1} for k, name in enumerate(robot.names)]
    rows = [
        [kind, t + 1e-4 * k, k, *(x + k if kind == "s" else x for x in rest)]
        for k in range(3)
        for kind, t, _, *rest in (*ROWS, *(["s", 0.05 + 0.01 * n, 0, 2200 + n, 0, 0] for n in range(1, 5)))
    ]
    path = written(tmp_path / "swing.jsonl", head={**HEAD, "bench": None, "joints": joints}, rows=rows)
    (log,) = be.read(path, bench=robot)
    assert log.name == "swing"
    assert tuple(log.joints) == robot.names
    assert log.joints["elbow"].settings == {"drive.proportional": 16.0}
    np.testing.assert_allclose(log["elbow.position"][:3], [0.011, 0.021, 0.031], atol=1e-9)
    assert [one.name for one in be.read(path)] == ["swing shoulder", "swing elbow", "swing wrist"]
