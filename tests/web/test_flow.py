"""From an upload to a file for a simulator, by the addresses that the pages ask."""

from __future__ import annotations

import json
import shlex
import time

import pytest

from .conftest import ASKED, MAPS, ONLY


@pytest.fixture(scope="module")
def project(server, recording):
    made = server.project()
    status, kept = made.put("run.csv", recording)
    assert (status, kept["name"]) == (200, "run.csv")
    return made


def test_a_recording_is_looked_into_before_and_after_its_columns_are_said(project):
    before = project.run(command="log", logs=["run.csv"])
    assert before["state"] == "failed"
    (one,) = project.answer(before)["recordings"]
    assert "no channel is recognised as the time" in one["problem"]
    assert [c["name"] for c in one["channels"]] == ["ms", "angle", "goal"]
    after = project.run(command="log", logs=["run.csv"], map=MAPS)
    (one,) = project.answer(after)["recordings"]
    assert [s["name"] for s in one["signals"]] == ["position", "position_target"]
    assert one["signals"][0]["high"] == pytest.approx(0.49, abs=0.01)  # radians


def test_the_whole_way(project):
    """Check, fit, export: each job is the command line that it shows."""
    checked = project.run(command="check", **ASKED, only=ONLY)
    assert checked["state"] == "done", checked["error"]
    assert project.answer(checked)["verdict"] == "fit"
    words = shlex.split(checked["shown"])
    assert words[:3] == ["backemf", "check", "run.csv"]
    assert "pendulum mass=0.2kg length=0.1m" in words
    fitted = project.run(command="fit", **ASKED, only=ONLY, starts=1)
    assert fitted["state"] == "done", fitted["error"]
    assert fitted["made"] == ["fit-1.json"]
    found = project.answer(fitted)["parameters"]
    assert set(found) == set(ONLY)
    assert json.loads(project.download("fit-1.json"))
    exported = project.run(command="export", source="fit-1.json", to="mujoco-classic", method="formula")
    assert exported["state"] == "done", exported["error"]
    assert exported["made"] == ["mujoco-classic-1/joint.xml"]
    assert b"<mujoco" in project.download("mujoco-classic-1/joint.xml")


def test_progress_and_curves_of_a_fit(project):
    """A fit of every number says where it is, and shows recorded and predicted as it moves."""
    status, job = project.begin(command="fit", **ASKED, starts=2)
    assert status == 200
    seen = []
    while not job["over"]:
        _, job = project.server.ask("GET", f"/projects/{project.id}/jobs/{job['id']}")
        seen += [job["progress"]] if job["progress"] else []
    assert job["state"] == "done", job["error"]
    curves = [p["curves"] for p in seen if p.get("curves")]
    assert curves
    (one,) = curves[-1]
    assert one["name"] == "run"
    assert len(one["time"]) == len(one["recorded"]) == len(one["predicted"]) <= 450
    off = max(abs(a - b) for a, b in zip(one["recorded"], one["predicted"], strict=True))
    assert off < 0.2  # the recording moves by 1 rad: the curve is that of this log, in its unit


def test_stopping_keeps_the_best(project):
    """Stopped by hand, a fit ends early with what it has, also where it was just about to be done."""
    _, job = project.begin(command="fit", **ASKED, friction="stribeck", starts=50)
    while not (job["progress"] or {}).get("curves"):
        _, job = project.server.ask("GET", f"/projects/{project.id}/jobs/{job['id']}")
        assert not job["over"], job["error"]
    assert project.server.ask("POST", f"/projects/{project.id}/jobs/{job['id']}/stop", {})[0] == 200
    job = project.over(job)
    assert job["stopped"]
    assert (job["state"], len(job["made"])) == ("done", 1), job["error"]
    assert len(project.answer(job)["starts"]) < 50


def test_fits_wait_for_each_other(project):
    jobs = [project.begin(command="fit", **ASKED, only=ONLY, starts=1)[1] for _ in range(3)]
    assert len({tuple(job["outputs"]) for job in jobs}) == 3
    assert max(job["ahead"] for job in jobs) >= 1
    _, last = project.server.ask("POST", f"/projects/{project.id}/jobs/{jobs[-1]['id']}/stop", {})
    assert last["state"] == "stopped"
    assert {project.over(job)["state"] for job in jobs[:-1]} == {"done"}


def test_mistakes_are_sentences(project):
    for asked, words in (
        ({"command": "check"}, "no file is chosen"),
        ({"command": "check", "logs": ["none.csv"], "start": "mx-106"}, "there is no file 'none.csv'"),
        ({"command": "check", "logs": ["run.csv"]}, "nothing to start from is chosen"),
        ({"command": "render"}, "unknown command 'render'"),
        ({"command": "check", **ASKED, "bench": {"kind": "pendulum", "mass": "a lot"}}, "mass is 'a lot'"),
        ({"command": "check", **ASKED, "bench": {"kind": "swing"}}, "unknown bench"),
        ({"command": "check", **ASKED, "only": ["--force"]}, "only is '--force'"),
        ({"command": "check", **ASKED, "strict": True}, "unknown word of this command"),
        ({"command": "fit", **ASKED, "starts": 1e9}, "--starts is '1000000000.0'"),
    ):
        status, said = project.begin(**asked)
        assert status in (400, 404), asked
        assert words in f"{said['error']}; {said['remedy']}"
        assert said["remedy"]
    wrong = project.run(command="check", **{**ASKED, "start": "sts3215-9v"})
    assert (wrong["state"], wrong["error"].partition(" ")[0]) == ("failed", "unknown")
    assert wrong["remedy"]


def test_nothing_typed_becomes_a_path(project):
    """Where a command takes a file as well as a word, only files of the project pass."""
    for key, value in (
        ("start", "/etc/passwd"),
        ("start", "../secret.json"),
        ("start", "a/../../b"),
        ("start", "~root/x.json"),
        ("map", ["/etc/passwd"]),
        ("map", ["saved.json"]),
        ("set", ["a=$(id)"]),
        ("bench", "rig.toml"),
        ("bench", {"kind": "/etc/rig.toml"}),
        ("logs", ["/etc/passwd"]),
        ("logs", ["*"]),
        ("logs", ["../../state/lock"]),
        ("friction", "/x"),
    ):
        status, said = project.begin(**{"command": "check", **ASKED, key: value})
        assert status in (400, 404), (key, value, said)


@pytest.mark.realtime
@pytest.mark.parametrize("friction", ["stribeck", "m6", "load-lugre"])
def test_a_stopped_fit_ends_with_the_best_so_far_within_two_seconds(project, friction):
    """From the request to the job's end by the clock, over HTTP, behind the first look at the fit."""
    _, job = project.begin(command="fit", **ASKED, friction=friction, starts=50)
    while not (job["progress"] or {}).get("curves"):
        time.sleep(0.05)
        _, job = project.server.ask("GET", f"/projects/{project.id}/jobs/{job['id']}")
        assert not job["over"], job["error"]
    asked = time.monotonic()
    project.server.ask("POST", f"/projects/{project.id}/jobs/{job['id']}/stop", {})
    job = project.over(job)
    took = time.monotonic() - asked
    assert (job["state"], job["stopped"], len(job["made"])) == ("done", True, 1), job["error"]
    assert "interrupted" in [f["code"] for f in project.answer(job)["findings"]]
    assert took < 2.0, took
