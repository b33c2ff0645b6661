"""Work survives the server: projects, files, answers, forms, and commands that it was killed under."""

from __future__ import annotations

import contextlib
import http.client
import random
import threading

import pytest

from backemf.apps.web.workspace import JobLimits, Workspace
from backemf.errors import InvalidValue

from ..conftest import needed
from .conftest import ASKED, MAPS, Project, Server


def test_a_server_that_is_killed_loses_nothing(tmp_path, recording):
    needed("fastapi")
    first = Server(tmp_path / "kept").start()
    project = first.project()
    assert project.put("run.csv", recording)[0] == 200
    looked = project.run(command="log", logs=["run.csv"], map=MAPS)
    form = {"map": {"ms": {"signal": "time", "unit": "ms"}}}
    assert first.ask("PUT", f"/projects/{project.id}/form", form)[0] == 200
    begun = [project.begin(command="fit", **ASKED, starts=50)[1] for _ in range(2)]
    assert {job["state"] for job in begun} <= {"running", "waiting"}
    old = first.token
    first.end(kindly=False)

    second = Server(tmp_path / "kept").start()
    try:
        assert second.token != old
        assert second.raw("GET", "/api/hello", X_Backemf_Token=old)[0] == 403
        again = Project(second, project.id)
        _, seen = second.ask("GET", f"/projects/{project.id}")
        assert seen["form"] == form
        assert [f["name"] for f in seen["files"]] == ["run.csv"]
        assert again.download("run.csv") == recording
        states = {job["id"]: job["state"] for job in seen["jobs"]}
        assert states == {looked["id"]: "done", **{job["id"]: "interrupted" for job in begun}}
        assert again.answer(looked)["recordings"][0]["name"] == "run"
        status, job = second.ask("POST", f"/projects/{project.id}/jobs/{begun[0]['id']}/again", {})
        assert (status, job["command"]) == (200, "fit")
        second.ask("POST", f"/projects/{project.id}/jobs/{job['id']}/stop", {})
        again.over(job)
    finally:
        second.end()


@pytest.mark.proof
def test_a_server_that_is_killed_again_and_again_loses_nothing(tmp_path, recording):
    """Killed 20 times in the middle of uploads, forms and commands: what was answered is there afterwards."""
    needed("fastapi")
    rng, kept, forms = random.Random(5), {}, {}
    for k in range(20):
        server = Server(tmp_path / "kept").start()
        for key, names in kept.items():
            again = Project(server, key)
            _, seen = server.ask("GET", f"/projects/{key}")
            assert names <= {f["name"] for f in seen["files"]}
            assert seen["form"].get("n", 0) >= forms[key]
            assert {job["over"] for job in seen["jobs"]} <= {True}
            assert again.download(min(names)) == recording
        project = server.project()
        kept[project.id], forms[project.id] = set(), 0
        kill = threading.Timer(rng.uniform(0.3, 2.0), server.process.kill)
        project.put("run.csv", recording)
        kept[project.id].add("run.csv")
        kill.start()
        with contextlib.suppress(OSError, http.client.HTTPException):
            for n in range(1, 1000):
                status, made = project.put(f"run{n}.csv", recording)
                assert status == 200
                kept[project.id].add(made["name"])
                assert server.ask("PUT", f"/projects/{project.id}/form", {"n": n})[0] == 200
                forms[project.id] = n
                if n % 5 == 1:
                    project.begin(command="log", logs=["run.csv"], map=MAPS)
        kill.join()
        server.end(kindly=False)
        assert not kill.is_alive(), k


def test_one_folder_has_one_server(tmp_path):
    first = Workspace(tmp_path, JobLimits())
    with pytest.raises(InvalidValue, match="another `backemf web` works in"):
        Workspace(tmp_path, JobLimits())
    first.release()
    Workspace(tmp_path, JobLimits()).release()


def test_a_broken_state_is_left_out(tmp_path):
    first = Workspace(tmp_path, JobLimits())
    good, bad = (first.new(name, "servo") for name in ("good", "bad"))
    first.release()
    (first.state(bad) / "project.json").write_text('{"format": 1, "id": "../../x", "files": []}')
    second = Workspace(tmp_path, JobLimits())
    assert list(second.projects) == [good.id]
    second.release()
