"""What a release says of itself is one thing said four times, and its tag must say it too."""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import backemf

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))

from dist_check import BUILT_FROM, disagreements, left_out, runs_demo  # noqa: E402  # behind the path

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


def test_what_an_archive_lacks_is_named(tmp_path):
    there = [p for p in (ROOT / "src" / "backemf").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    names = [p.relative_to(ROOT).as_posix() for p in there]
    wheel, source = tmp_path / "b.whl", tmp_path / "b.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names[1:]:
            archive.writestr(name.removeprefix("src/"), "")
    with tarfile.open(source, "w:gz") as archive:
        for name in (*names, *BUILT_FROM[1:]):
            archive.addfile(tarfile.TarInfo(f"backemf-1.0/{name}"))
    assert left_out(wheel) == [names[0].removeprefix("src/")]
    assert left_out(source) == [BUILT_FROM[0]]


def test_a_tag_of_another_version_is_not_published():
    assert disagreements(f"v{backemf.__version__}") == []
    assert disagreements("v0.0.1") == [f"the tag says v0.0.1; expected v{backemf.__version__}"]


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
@pytest.mark.parametrize(
    ("writes", "ends", "good"), [("report.html", 0, True), ("report.html", 3, False), ("x", 0, False)]
)
def test_a_demonstration_that_fails_is_said(tmp_path, monkeypatch, capsys, writes, ends, good):
    program = tmp_path / "uvx"
    program.write_text(
        f'#!/bin/sh\nfor last; do :; done\n/bin/mkdir "$last";> "$last/{writes}";echo why>&2;exit {ends}\n'
    )
    program.chmod(0o755)
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert runs_demo(tmp_path / "a.whl", str(folder)) is good
    assert ("runs" if good else f"ends with {ends}: why") in capsys.readouterr().out
