"""The command line as a person uses it: separate processes, real files."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import backemf


def backemf_command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    code = "from backemf.cli.main import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, env={**os.environ, "COLUMNS": "120"}, check=False)


def test_help_is_quick_and_names_the_commands():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = backemf_command("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert "demo" in done.stdout
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert cpu < 0.6, "0.3 s is the promise; twice that is allowed for a busy machine"


def test_version():
    assert backemf_command("--version").stdout.strip() == f"backemf {backemf.__version__}"


def test_an_unknown_command_is_a_usage_error():
    done = backemf_command("dmeo")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_demo_tells_its_story_and_writes_pictures(tmp_path):
    done = backemf_command("demo", "--output", "pictures and more", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Nothing here was recorded" in done.stdout
    for word in ("lifted, holds", "begins to slip", "fell, sticks", "has not moved since"):
        assert word in done.stdout
    pictures = sorted((tmp_path / "pictures and more").iterdir())
    assert [p.name for p in pictures] == ["energy.png", "lift.png", "stick-slip.png"]
    assert all(p.read_bytes().startswith(b"\x89PNG") and p.stat().st_size > 20_000 for p in pictures)


def test_catalog_lists_and_filters():
    everything = json.loads(backemf_command("catalog", "--json").stdout)
    assert len(everything) >= 35
    assert {"name", "maker", "kind", "findings"} <= set(everything[0])
    some = backemf_command("catalog", "dynamixel-is-not-a-maker")
    assert some.returncode == 0
    assert "no part has" in some.stdout
    assert "mx-106" in backemf_command("catalog", "robotis").stdout


def test_datasheet_answers_in_text_and_json(tmp_path):
    text = backemf_command("datasheet", "st-3215-c047")
    assert text.returncode == 0
    assert "resistance_and_stall_current" in text.stdout
    found = json.loads(backemf_command("datasheet", "st-3215-c047", "--json").stdout)
    assert {"printed", "constants", "derived", "findings", "assumed"} <= set(found)
    assert {"code", "text", "remedy"} <= set(found["findings"][0])
    assert set(found["constants"]["R"]) == {"value", "error", "unit"}
    half = json.loads(backemf_command("datasheet", "st-3215-c047", "--json", "--voltage", "6").stdout)
    assert half["derived"]["stall_current"]["value"] == pytest.approx(found["derived"]["stall_current"]["value"] / 2)


def test_datasheet_plots_once_and_does_not_overwrite(tmp_path):
    assert backemf_command("datasheet", "maxon-re-40-24v", "--plot", "re40.png", cwd=tmp_path).returncode == 0
    before = (tmp_path / "re40.png").read_bytes()
    again = backemf_command("datasheet", "maxon-re-40-24v", "--plot", "re40.png", cwd=tmp_path)
    assert again.returncode == 2
    assert "re40.png exists" in again.stderr
    assert (tmp_path / "re40.png").read_bytes() == before


def test_an_unreadable_sheet_exits_2_with_the_line(tmp_path):
    (tmp_path / "bad.toml").write_text('name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nvoltage = "12 V"\nsource = "s"\n[entries]\nR = "2 parsecs"\n')
    done = backemf_command("datasheet", "bad.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "bad.toml, line 8" in done.stderr
    assert "Traceback" not in done.stderr
