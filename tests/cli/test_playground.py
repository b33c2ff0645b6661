"""The command playground: a page, a line or an object about it, and refusals that say what to do."""

from __future__ import annotations

import json

import pytest

from backemf.apps.cli import report
from backemf.errors import BackemfError, InvalidValue, UnknownName

from .runner import runner

run = runner(report.playground)


def test_a_lesson_is_one_page(tmp_path):
    place = tmp_path / "sg90.html"
    assert f"wrote {place} (0.1 MB, the lesson sg90)" in run("--lesson", "sg90", "-o", place)
    text = place.read_text(encoding="utf-8")
    assert "An SG90, two numbers" in text
    assert "Content-Security-Policy" in text
    with pytest.raises(BackemfError, match="exists; give another name"):
        run("--lesson", "sg90", "-o", place)


def test_parts_are_named_and_told(tmp_path):
    place = tmp_path / "play.html"
    told = json.loads(run("sts3032", "-o", place, "--json"))
    assert told["parts"] == ["sts3032"]
    assert told["lesson"] is None
    assert '"key":"sts3032"' in place.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (("mx-10",), UnknownName, "unknown part 'mx-10'; did you mean 'mx-106'"),
        (("--lesson", "calculus"), UnknownName, "unknown lesson 'calculus'"),
        (("sg90", "--lesson", "sg90"), InvalidValue, "has a servo of its own; leave sg90 out"),
    ],
)
def test_what_is_not_there_is_said(tmp_path, words, kind, said):
    with pytest.raises(kind, match=said):
        run(*words, "-o", tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
