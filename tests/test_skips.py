"""In CI nothing goes missing unseen: what may be skipped there is said beforehand, and counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PASSED = "def test_{k}(): pass\n"
ABSENT = "def test_absent(): conftest.unavailable({what!r})\n"
SKIPPED = "def test_skipped(): pytest.skip('not today')\n"


def run(folder: Path, body: str, **variables: str) -> tuple[int, str]:
    """How pytest ends on some tests and twenty that pass, by our rules of skipping; and what it printed."""
    file = folder / "test_some.py"
    passed = "".join(PASSED.format(k=k) for k in range(20))
    file.write_text(f"import pytest\nfrom tests import conftest\n{passed}{body}", encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "BACKEMF_ABSENT")} | variables
    words = ["-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", folder]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, file],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("kind", "what"), [("recordings", "the folder of recorded data"), ("peers", "torch")]
)
def test_what_is_absent_fails_in_ci_unless_it_is_said(tmp_path, kind, what):
    body = ABSENT.format(what=what)
    assert run(tmp_path, body)[0] == 0
    code, printed = run(tmp_path, body, CI="true")
    assert code == 1
    assert f"{what} is missing, and CI must have it" in printed
    code, printed = run(tmp_path, body, CI="true", BACKEMF_ABSENT=kind)
    assert code == 0
    assert f"1 skipped: 1 because {what}" in printed


def test_a_skip_that_nobody_expects_fails_in_ci(tmp_path):
    assert run(tmp_path, SKIPPED)[0] == 0
    code, printed = run(tmp_path, SKIPPED, CI="true", BACKEMF_ABSENT="recordings peers")
    assert code == 1
    assert "CI must not: not today" in printed


def test_too_many_skips_are_no_green(tmp_path):
    many = "".join(ABSENT.format(what="torch").replace("test_absent", f"test_absent_{k}") for k in range(6))
    assert run(tmp_path, many, CI="true", BACKEMF_ABSENT="peers")[0] == 1
