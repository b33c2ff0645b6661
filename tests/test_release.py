"""What a release says of itself is one thing said four times, and its tag must say it too."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import backemf

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))

from dist_check import disagreements  # noqa: E402  # after the path to scripts is set

FILES = ("src/backemf/__init__.py", "CHANGELOG.md", "CITATION.cff")


def test_version_changes_and_citation_agree():
    assert disagreements() == []


@pytest.mark.parametrize("file", FILES)
def test_one_that_was_forgotten_is_named(tmp_path, file):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    text = (tmp_path / file).read_text(encoding="utf-8")
    (tmp_path / file).write_text(text.replace(backemf.__version__, "9.8.7", 1), encoding="utf-8")
    assert any("9.8.7" in sentence for sentence in disagreements(root=tmp_path))


def test_a_tag_of_another_version_is_not_published():
    assert disagreements(f"v{backemf.__version__}") == []
    assert disagreements("v0.0.1") == [f"the tag says v0.0.1; expected v{backemf.__version__}"]
