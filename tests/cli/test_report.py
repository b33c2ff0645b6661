"""`backemf report`: a page and its JSON from a stored fit, with logs given, remembered or absent."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import backemf as be
from backemf.apps.cli import report as command
from backemf.errors import BackemfError
from backemf.planning import example_servo as bench_story
from backemf.results.fit_result import FittedLog

from .runner import runner

run = runner(command.report)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Simulated bench files, a quick fit that remembers two of them, and the same without its memory."""
    place = tmp_path_factory.mktemp("bench")
    bench_story.record(place / "logs")
    logs = be.read(place / "logs")[:3]
    fit = be.fit(
        bench_story.truth(),
        logs,
        hold_out=[logs[2].name],
        free_paths=["motor.resistance", "friction.coulomb"],
        n_starts=1,
    )
    sources = [replace(FittedLog.of(log), source=f"logs/{log.name}.json") for log in logs]
    replace(fit, logs=tuple(sources[:2])).write(place / "fit.json")
    replace(fit, logs=()).write(place / "bare.json")
    return place


def test_it_writes_once_and_says_what_it_says(folder, tmp_path):
    out = run(folder / "bare.json", folder / "logs", "-o", tmp_path / "r.html", "--no-exports")
    assert "wrote" in out
    assert "8 logs" in out
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Actuator report: bare.json" in text
    assert "Every log here is simulated" in text
    with pytest.raises(BackemfError, match="exists"):
        run(folder / "bare.json", "-o", tmp_path / "r.html", "--no-exports")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == text
    run(folder / "bare.json", "-o", tmp_path / "r.html", "--no-exports", "--force")
    assert "a fit stores no samples" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_logs_that_the_fit_remembers_are_used(folder, tmp_path):
    told = json.loads(run(folder / "fit.json", "-o", tmp_path / "r.html", "--no-exports", "--json"))
    ran = {row["name"] for row in told["logs"] if not row["reason"]}
    fit = be.Fit.read(folder / "fit.json")
    assert ran == {r.name for r in fit.logs}
    assert told["file"] == str(tmp_path / "r.html")
    assert told["exports"] is None
    assert {row["name"]: row["error"] for row in told["logs"]} == pytest.approx(
        {**fit.training, **fit.held_out}, rel=1e-6
    )


def test_a_sheet_is_compared_with(folder, tmp_path):
    told = json.loads(
        run(folder / "bare.json", "-o", tmp_path / "r.html", "--no-exports", "--sheet", "mx-106", "--json")
    )
    assert told["sheet"] == "MX-106"
    sheet = be.Datasheet.read("mx-106").actuator()
    R = told["parameters"]["motor.resistance"]
    assert R["stated"]["value"] == pytest.approx(sheet.motor.resistance)
    assert R["ratio"] == pytest.approx(R["value"] / sheet.motor.resistance)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.json",), "there is no file"),
        (("logs/m0.3_l0.1_kp8_0.json",), "not written by backemf"),
        (("bare.json", "--sheet", "mx-107"), "unknown part 'mx-107'; did you mean 'mx-106'"),
        (("bare.json", "nowhere"), "there is no file or folder"),
        (("bare.json", "-o", "nowhere/r.html"), "there is no folder"),
    ],
)
def test_mistakes_are_named(folder, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    given = words if "-o" in words else (*words, "-o", tmp_path / "r.html")
    with pytest.raises(BackemfError, match=message):
        run(*given, "--no-exports")
    assert sorted(folder.rglob("*")) == before
    assert not (tmp_path / "r.html").exists()
