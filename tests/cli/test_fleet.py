"""`backemf fleet`: what it prints, as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from backemf.apps.cli.main import app
from backemf.kits.fleets import example_line as simulated, folder as kept
from backemf.kits.fleets.commands import progress_words as _shown
from backemf.kits.fleets.fleet import FleetStep

from ..fleets.drawn import drawn, servo, write


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Thirty units, of which one failed."""
    made = drawn(np.random.default_rng(20), 30, (0.05, 0.3))
    folder = write(tmp_path_factory.mktemp("cli") / "fleet", made.seen, servo())
    journal = kept.FleetJournal(folder)
    said = {"code": "broken_log", "text": "unit 7: torn", "remedy": "mend it", "numbers": {}}
    row = {"unit": "unit 7", "session": "", "state": "failed", "findings": [said], "cpu_s": 0.1}
    journal.append("unit 7@", [row])
    journal.close()
    return folder


def asked(*words: str) -> str:
    done = CliRunner().invoke(app, ["fleet", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_status(fleet):
    text = asked("status", str(fleet))
    assert "29 of 30 units fitted, 1 failed, 0 left" in text
    assert "broken_log: unit 7: torn" in text
    told = json.loads(asked("status", str(fleet), "--json"))
    assert {k: told[k] for k in ("n_units", "fitted", "failed", "left")} == {
        "n_units": 30,
        "fitted": 29,
        "failed": 1,
        "left": 0,
    }
    assert [f["code"] for f in told["findings"]] == ["broken_log"]
    strict = CliRunner().invoke(app, ["fleet", "status", str(fleet), "--strict"])
    assert strict.exit_code == 1


def test_population(fleet, tmp_path):
    told = json.loads(asked("population", str(fleet), "--json", "-o", str(tmp_path / "p.json")))
    assert told["n_units"] + told["n_left_out"] == 29
    assert set(told["parameters"]["motor.resistance"]) >= {"value", "error", "unit", "spread", "spread_low"}
    assert told["odd"] == []
    assert (tmp_path / "p.json").exists()
    assert "95 % of units" in asked("population", str(fleet))


def test_logs_need_no_word_before_them(tmp_path):
    """`fleet LOGS` is `fleet run LOGS`, whatever stands first."""
    simulated.record(tmp_path / "line", 1, samples=300)
    words = ["--start", str(tmp_path / "line" / "start.json"), "--on", "here", "--friction", "m4"]
    text = asked(*words, "-o", str(tmp_path / "fleet"), str(tmp_path / "line" / "logs"))
    assert "1 of 1 units fitted, 0 failed, 0 left" in text
    again = asked(str(tmp_path / "line" / "logs"), *words, "-o", str(tmp_path / "fleet"))
    assert "1 of 1 units fitted" in again


def test_progress_says_how_fast_and_what_failed():
    said = []
    _shown(lambda *words: said.append(words))(
        FleetStep(done=30, failed=2, of=120, per_minute=412.4, left_s=13.0)
    )
    assert said == [("30 of 120 units, 2 failed, 412 a minute", 0.25)]


def test_its_words_are_found():
    group: Any = typer.main.get_command(app)
    assert set(group.commands["fleet"].commands) == {
        "run",
        "status",
        "retry",
        "population",
        "report",
        "simulate",
    }
