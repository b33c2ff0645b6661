"""The command line as a person uses it: separate processes, real files."""

from __future__ import annotations

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
