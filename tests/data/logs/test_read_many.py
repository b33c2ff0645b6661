"""Many files at once: what is found, what is broken, and that one does not lose the others;
and every real recording."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from backemf.errors import BackemfError, BackemfWarning
from backemf.logs.read import look, read
from backemf.physics.bench import Pendulum

GOOD = "t [s],angle [rad]\n0,1\n1,2\n"


@pytest.fixture
def folder(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(GOOD)
    (tmp_path / "notes.md").write_text("no recording")
    (tmp_path / ".hidden.csv").write_text("junk")
    return tmp_path


def test_files_folders_and_patterns(folder, monkeypatch):
    assert [log.name for log in read(folder)] == ["a", "b"]
    assert [log.name for log in read(folder / "b.csv", str(folder / "*.csv"))] == ["b", "a"]
    monkeypatch.chdir(folder)
    assert len(read("*.csv")) == len(read("**/*.csv")) == len(read(".")) == 2


BROKEN = [
    (
        "cut.json",
        b'{"mass": 1, "length": 0.1, "entries": [{"timestamp": 0.0, "position": 1.0',
        "cut.json: not complete JSON at line 1, character 74 of the file: the file ends inside a value",
    ),
    (
        "bad.json",
        b'{"mass": 1,\n "entries": [{"timestamp": 0.0},\n {"timestamp" 1.0}]}' + b" " * 99,
        "bad.json: not complete JSON at line 3, character 60 of the file: Expecting ':' delimiter",
    ),
    (
        "more.json",
        b'{"t": [1]} {}',
        "more.json: not complete JSON at line 1, character 12 of the file: more text after the end",
    ),
    (
        "none.json",
        b'{"a": 1, "b": "x"}',
        (
            "none.json: no entries and no lists of numbers; expected 'entries' with one object a sample,"
            " found: 'a', 'b'"
        ),
    ),
    (
        "junk.csv",
        bytes(range(256)) * 20,
        (
            "junk.csv: not a recording of a known format (it begins with"
            " b'\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07')"
        ),
    ),
    ("junk.json", b'{"a": "\xff\xfe\xfd' + bytes(range(256)), "junk.json: not a text file"),
    ("junk.mat", bytes(range(256)) * 20, "junk.mat: not a MAT file of version 5 to 7"),
    ("empty.json", b"", "empty.json: the file is empty"),
    ("blank.csv", b" \n\n", "blank.csv: not a recording of a known format"),
    (
        "ragged.csv",
        b"t,q\n0,1\n1,2,3\n2,3\n3,4\n",
        "ragged.csv: line 3 has 3 cells, but line 1, the header, has 2: '1,2,3'",
    ),
    ("deep.json", b'{"a": ' + b"[" * 100_000, "deep.json: not complete JSON"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN, ids=[b[0] for b in BROKEN])
def test_a_broken_file_says_where_and_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BackemfError) as caught:
        read(tmp_path / name)
    assert message in str(caught.value)


@pytest.mark.parametrize(("name", "content", "message"), BROKEN, ids=[b[0] for b in BROKEN])
def test_one_broken_file_does_not_lose_the_others(folder, name, content, message):
    (folder / name).write_bytes(content)
    with pytest.warns(BackemfWarning) as caught:
        logs = read(folder)
    assert [log.name for log in logs] == ["a", "b"]
    (warning,) = caught
    assert str(warning.message).startswith("1 of 3 files cannot be read and are left out:\n  ")
    assert message in str(warning.message)


def test_all_broken_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\x00")
    (tmp_path / "b.json").write_bytes(b"{")
    with pytest.raises(
        BackemfError,
        match=(
            r"none of the 2 files can be read:\n  .*a.csv: not a recording.*\n  .*b.json: not complete JSON"
        ),
    ):
        read(tmp_path)


def test_nothing_found(tmp_path):
    with pytest.raises(BackemfError, match=r"there is no file or folder '.*gone.csv'"):
        read(tmp_path / "gone.csv")
    with pytest.raises(BackemfError, match=r"no file matches '.*\*.json' \(looked in "):
        read(str(tmp_path / "*.json"))
    with pytest.raises(
        BackemfError, match=r"no recordings in the folder '.*'; expected files that end in .csv, .tsv"
    ):
        read(tmp_path)
    with pytest.raises(BackemfError, match="nothing to read"):
        read()


def test_look_lists_what_it_cannot_decide(tmp_path):
    (tmp_path / "a.csv").write_text("t,q,v\n0,1,5\n1,2,6\n")
    (one,) = look(tmp_path / "a.csv")
    assert one.log is None
    assert "'v' may be velocity or voltage" in one.problem
    assert [(c.name, c.low, c.high) for c in one.recording.channels] == [
        ("t", 0, 1),
        ("q", 1, 2),
        ("v", 5, 6),
    ]


def test_the_64_servo_recordings(shared_data):
    logs = read(shared_data / "sts3032" / "*.json")
    assert len(logs) == 64
    assert {log.bench for log in logs} == {
        Pendulum(mass=m, length=l) for m in (0.259, 0.3247) for l in (0.05, 0.07)
    }
    assert {log.settings["drive.proportional"] for log in logs} == {4, 8, 16, 32}
    assert {log.settings["drive.supply"] for log in logs} == {6.0}
    named = [{f.code for f in log.findings} for log in logs]
    assert all({"supply_scaled", "arm_mass_missing", "not_recorded"} <= codes for codes in named)
    assert sum("torque_off" in codes for codes in named) == 16
    assert set().union(*named) == {"supply_scaled", "arm_mass_missing", "not_recorded", "torque_off"}
    for log in logs:
        assert set(log.signals) == {"position", "velocity", "supply", "position_target", "enabled"}
        assert 5.0 < np.median(log["supply"]) < 7.0
        written = json.loads((shared_data / "sts3032" / f"{log.name}.json").read_text())["entries"]
        assert np.array_equal(log.time, [e["timestamp"] for e in written]), "times are kept to the last bit"
        assert np.array_equal(log["position"], [e["position"] for e in written])


def test_the_20_simulated_recordings(shared_data):
    logs = read(shared_data / "mx106_pendulum")
    assert len(logs) == 20
    # the checker knows its base class only
    assert {log.bench.arm_mass for log in logs} == {0.09}  # type: ignore[attr-defined]  # these are pendulums
    # the checker knows its base class only
    assert {(log.bench.mass, log.bench.length) for log in logs} == {  # type: ignore[attr-defined]
        (0.535, 0.105),
        (1.085, 0.105),
        (1.085, 0.155),
        (2.12, 0.155),
        (3.12, 0.155),
    }
    assert sum("torque_off" in {f.code for f in log.findings} for log in logs) == 5
    assert {f.code for log in logs for f in log.findings} == {"torque_off", "not_recorded"}
    assert all(np.all(log["supply"] == 15.0) and np.all(log["temperature"] == 35.0) for log in logs)


def test_the_micro_servo_table(shared_data):
    (log,) = read(
        shared_data / "sg90" / "sg90_theta.csv", map=["position=theta[rad]", "position_target=command[rad]"]
    )
    assert len(log) == 214
    assert log.findings == ()
    assert log.time[1] == 0.03343964
    assert np.unique(log["position_target"]) == pytest.approx([0.0, math.pi])


def test_the_positioning_system(shared_data):
    (log,) = read(
        shared_data / "emps",
        map=["position=qm[m]", "position_target=qg[m]", "torque_target=vir[N],35.15065188"],
    )
    assert log.motion == "linear"
    assert len(log) == 24841
    assert log.signals["position"].rate == pytest.approx(1000, rel=1e-4)
    assert np.max(log["position"]) == pytest.approx(0.2464, abs=1e-4)


def test_the_falling_arm(shared_data):
    (log,) = read(shared_data / "mx" / "friction_1.json", bench=Pendulum(mass=0.335, length=0.105))
    assert len(log) == 313
    assert [f.code for f in log.findings] == ["unit_assumed"]
