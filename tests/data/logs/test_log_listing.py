"""`backemf log`: what people see, and the keys of its JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from backemf.apps.cli.logs import log as command
from backemf.errors import BackemfError
from backemf.logs.log import Signal
from backemf.logs.read import read

app = typer.Typer()
app.command()(command)
TABLE = "t [ms],motor_pos,v,load\n0,0,1,0\n5,90,2,0\n10,180,3,0\n"
MAP = ("--map", "position=motor_pos[deg],-1", "--map", "velocity=v[rpm]")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "run1.csv").write_text(TABLE)
    return lambda *arguments: CliRunner().invoke(app, arguments)


def test_what_is_there_what_is_read_and_what_is_guessed(run):
    done = run("run1.csv", *MAP)
    assert done.exit_code == 0
    for line in (
        "run1 (table): 0.01 s, rotary",
        "t [ms]     ms          3       0       10  time (guessed)",
        "motor_pos  -           3       0      180  position (told)",
        "load       -           3       0        0  -",
        "position  rad          3        200            0                  5  -3.142        0",
        "  - position=motor_pos[deg],-1 as told",
        "  - channel 't [ms]' read as time in ms",
        "  - not_recorded: load: 0 throughout, so not recorded; left out",
    ):
        assert line in done.output


def test_what_is_unclear_is_listed_with_the_way_out(run):
    done = run("run1.csv")
    assert done.exit_code == 2
    assert "v          -           3       1        3  -" in done.output
    assert (
        "Cannot be read: say what is what (--map, or map=...): 'v' may be velocity or voltage: write"
        " velocity=v[unit], or none=v" in done.output
    )


def test_json_keys(run):
    done = run("run1.csv", *MAP, "--json")
    (recording,) = json.loads(done.stdout)["recordings"]
    assert list(recording) == [
        *(
            "name",
            "file",
            "format",
            "problem",
            "motion",
            "mechanism",
            "duration",
            "bench",
            "settings",
            "channels",
            "signals",
            "conversions",
            "findings",
        )
    ]
    assert recording["channels"][1] == {
        "name": "motor_pos",
        "unit": None,
        "samples": 3,
        "low": 0,
        "high": 180,
        "read_as": "position",
        "by": "told",
    }
    signal = recording["signals"][0]
    assert {k: signal[k] for k in ("name", "unit", "samples", "high")} == {
        "name": "position",
        "unit": "rad",
        "samples": 3,
        "high": 0,
    }
    assert (signal["rate"], signal["gap"]) == (pytest.approx(200), pytest.approx(0.005))
    assert recording["findings"][0]["code"] == "not_recorded"
    (recording,) = json.loads(run("run1.csv", "--json").stdout)["recordings"]
    assert recording["signals"] == []
    assert "'v' may be velocity or voltage" in recording["problem"]


def test_a_mapping_is_saved_and_used_again(run, tmp_path):
    assert "wrote rig.json" in run("run1.csv", *MAP, "--save-map", "rig.json").output
    assert run("run1.csv", "--map", "rig.json").exit_code == 0
    assert np.allclose(read("run1.csv", map="rig.json")[0]["position"], -np.radians([0, 90, 180]))
    again = run("run1.csv", *MAP, "--save-map", "rig.json")
    assert isinstance(again.exception, BackemfError)
    assert run("run1.csv", *MAP, "--save-map", "rig.json", "--force").exit_code == 0


def test_many_recordings_take_a_line_each(run, tmp_path):
    for k in range(6):
        (tmp_path / f"more{k}.csv").write_text("t [s],angle [rad]\n0,1\n1,2\n")
    (tmp_path / "more9.csv").write_bytes(b"\x00")
    done = run("more*.csv")
    assert done.exit_code == 0
    assert ["more3", "2", "1", "1", "0", "-"] in [line.split() for line in done.output.splitlines()]
    assert "6 recordings; one of them in full" in done.output
    assert "Cannot be read: more9.csv: not a recording of a known format" in done.output


def test_a_signal_knows_its_clock():
    signal = Signal(time=np.array([0.0, 0.01, 0.02, 0.05]), values=np.zeros(4))
    assert signal.rate == pytest.approx(100)
    assert signal.gap == pytest.approx(0.03)
    assert signal.jitter == pytest.approx(np.std([0.01, 0.01, 0.03]))
    assert repr(signal) == "Signal(4 samples from 0 to 0.05 s)"
    assert np.isnan(Signal(time=np.zeros(1), values=np.zeros(1)).rate)
