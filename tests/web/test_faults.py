"""Strangers on the same machine, odd programs beside, and a disk that is full: each let somebody in, or kept
somebody out, of an earlier release."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from ..conftest import ROOT, needed, needed_mounts
from .conftest import START, Server

posix = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and the modes of files")
BROWSER = """#!/bin/sh
echo "$@" > {told}
sleep 60
"""


@posix
def test_the_token_is_in_no_process_list(tmp_path):
    """A browser's command line is everybody's to read; the page that it opens is not."""
    needed("fastapi")
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(BROWSER.format(told=told))
    browser.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "BROWSER": f"{browser} %s &"}
    words = [sys.executable, "-m", "backemf.apps.cli.main", "web", "--folder", str(tmp_path / "kept")]
    program = [
        sys.executable,
        "-c",
        f"import sys; sys.argv = {words[2:]}; import backemf.apps.cli.main as m; m.main()",
    ]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            token = address.partition("token=")[2]
            last = time.monotonic() + 30
            while not (told.exists() and told.read_text().strip()):
                assert time.monotonic() < last
                time.sleep(0.05)
            lines = [p.read_bytes() for p in _readable(Path("/proc").glob("[0-9]*/cmdline"))]
            assert any(str(browser).encode() in line for line in lines)
            assert not any(token.encode() in line for line in lines)
            page = Path(urllib.request.url2pathname(told.read_text().strip().removeprefix("file://")))
            assert address in page.read_text()
            assert stat.S_IMODE(page.stat().st_mode) == 0o600
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    assert not page.exists()


def _readable(paths):
    for path in paths:
        with contextlib.suppress(OSError):
            path.read_bytes()
            yield path


@posix
def test_what_is_uploaded_is_its_owners_alone(server):
    project = server.project()
    project.put("run.csv", b"time,position\n0,1\n1,2\n")
    project.run(command="log", logs=["run.csv"])
    assert stat.S_IMODE(server.folder.stat().st_mode) & 0o077 == 0
    for path in server.folder.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


@posix
def test_folders_of_an_earlier_release_are_closed(tmp_path):
    from backemf.apps.web.workspace import JobLimits, Workspace

    for name in ("files", "state"):
        (tmp_path / name).mkdir(mode=0o755)
    Workspace(tmp_path, JobLimits()).release()
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("files", "state")} == {0o700}


ODD = (
    'a="unclosed',
    "b={x:1}",
    "c=\u00e4;;",
    "=",
    "d e=f",
    'json={"k":"v, w"}',
    "x@y=1",
    "expires=a,b",
    "[]=()",
)


@pytest.mark.parametrize("odd", ODD)
def test_odd_cookies_of_other_programs_lock_nobody_out(server, odd):
    own = f"backemf-{server.port}={server.token}"
    for both in (f"{odd}; {own}", f"{own}; {odd}", f"{odd};{own}"):
        encoded = both.encode().decode("latin-1")
        assert server.raw("GET", "/api/hello", X_Backemf_Token=None, Cookie=encoded)[0] == 200
    assert (
        server.raw(
            "GET", "/api/hello", X_Backemf_Token=None, Cookie=f"x{own}; {odd}".encode().decode("latin-1")
        )[0]
        == 403
    )


FORMS = {
    "NaN": b'{"a": NaN}',
    "infinite": b'{"a": [1e400]}',
    "minus infinite": b'{"a": -Infinity}',
    "half a letter": b'{"a": "\\ud800"}',
    "half a letter as a key": b'{"\\udfff": 1}',
    "deep": b'{"a":' + b"[" * 500 + b"]" * 500 + b"}",
    "deeper": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a long number": b'{"a": ' + b"9" * 300 + b"}",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_cannot_be_kept_is_refused(server, name):
    project = server.project()
    path = f"/projects/{project.id}"
    good = {"map": {"ms": {"signal": "time"}}, "note": "\U0001f600 ok"}
    assert server.ask("PUT", f"{path}/form", good)[0] == 200
    for method, to in (("PUT", f"{path}/form"), ("PUT", f"{path}/name"), ("POST", f"{path}/jobs")):
        status, _, said = server.raw(method, f"/api{to}", FORMS[name])
        assert status == 400, said
        assert json.loads(said)["remedy"] or json.loads(said)["error"]
    status, seen = server.ask("GET", path)
    assert (status, seen["form"]) == (200, good)


@pytest.fixture
def brisk(tmp_path):
    """A server that waits a second for the head of a request."""
    needed("fastapi")
    started = Server(tmp_path / "brisk", {"header_seconds": 1.0}).start()
    yield started
    started.end()


def test_heads_that_never_end_keep_nobody_out(brisk):
    half = f"GET /api/hello HTTP/1.1\r\nHost: 127.0.0.1:{brisk.port}\r\nX-".encode()
    with contextlib.ExitStack() as opened:
        for _ in range(310):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", brisk.port), timeout=30))
            with contextlib.suppress(OSError):  # the oldest ones are closed meanwhile
                one.sendall(half)
        assert brisk.ask("GET", "/hello")[0] == 200, "while they are open"
        begin = time.monotonic()
        with contextlib.suppress(ConnectionError):
            assert one.recv(100) == b""
        assert time.monotonic() - begin < 20.0  # a second, and a busy machine


def test_a_second_head_must_end_too(brisk):
    whole = (
        f"GET /api/hello HTTP/1.1\r\nHost: 127.0.0.1:{brisk.port}\r\nX-Backemf-Token: {brisk.token}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", brisk.port), timeout=30) as one:
        one.sendall(whole.encode())
        assert one.recv(15) == b"HTTP/1.1 200 OK"
        with contextlib.suppress(ConnectionError):
            for letter in whole[:-4]:  # a letter each quarter of a second would take a minute
                time.sleep(0.25)
                one.sendall(letter.encode())
                if letter == "\r":
                    break
            one.settimeout(20)
            while one.recv(65536):
                pass


def _slow_upload(
    server: Server, project: str, name: str, content: bytes, begun: threading.Event, go: threading.Event, said
):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as one:
        head = f"PUT /api/projects/{project}/files?name={name} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += (
            f"X-Backemf-Token: {server.token}\r\nConnection: close\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        one.sendall(head.encode() + content[:1])
        begun.set()
        go.wait(30)
        one.sendall(content[1:])
        got = b""
        while part := one.recv(65536):
            got += part
        said.append(json.loads(got.partition(b"\r\n\r\n")[2]))


def test_two_slow_uploads_of_one_name_are_two_files(server):
    project, said, go = server.project(), [], threading.Event()
    threads = []
    for content in (b"time,position\n0,1\n", b"time,position\n0,2\n"):
        begun = threading.Event()
        given = (server, project.id, "run.csv", content, begun, go, said)
        threads.append(threading.Thread(target=_slow_upload, args=given))
        threads[-1].start()
        begun.wait(30)
    time.sleep(0.3)  # both have begun to arrive
    go.set()
    for thread in threads:
        thread.join(60)
    assert sorted(one["name"] for one in said) == ["run-2.csv", "run.csv"]
    kept = {project.download(name) for name in ("run.csv", "run-2.csv")}
    assert kept == {b"time,position\n0,1\n", b"time,position\n0,2\n"}


def test_uploads_on_their_way_count(tmp_path):
    from backemf.apps.web.workspace import JobLimits, Workspace
    from backemf.errors import InvalidValue

    room = Workspace(tmp_path, JobLimits(project_bytes=100))
    project = room.new("x", "servo")
    with room.arriving(project, "a.csv") as first, room.arriving(project, "b.csv") as second:
        first(60)
        with pytest.raises(InvalidValue, match="together"):
            second(60)
    with room.arriving(project, "b.csv") as second:
        second(60)
    room.release()


def test_an_uploaded_model_includes_nothing_from_outside(server, tmp_path):
    secret = tmp_path / "secret.xml"
    secret.write_text(
        '<mujocoinclude><body name="not yours"><joint name="knee"/><geom size="1"/></body></mujocoinclude>'
    )
    project = server.project("model")
    for place in (secret, "../../state/lock", "/etc/hostname"):
        text = f'<mujoco><worldbody><include file="{place}"/></worldbody></mujoco>'
        assert project.put("arm.xml", text.encode(), replace="1")[0] == 200
        job = project.run(command="explain", model="arm.xml")
        assert job["state"] == "failed"
        assert "outside the model's folder" in job["error"], job
        assert "not yours" not in json.dumps(project.answer(job))


def test_a_folder_and_a_file_of_one_name_are_refused(server):
    project, rows = server.project(), b"time [s],position [deg]\n0,1\n1,2\n2,3\n"
    assert project.put("y.csv", rows)[0] == 200
    assert project.put("d.csv", rows, folder="f.csv")[0] == 200
    for name, folder in (("a.csv", "y.csv"), ("y.csv/z.csv", "y.csv"), ("d.csv/z.csv", "f.csv")):
        status, said = project.put(name, rows, folder=folder)
        assert (status, "rename one" in said["remedy"]) == (400, True), (name, said)
    assert project.put("f.csv", rows, replace="1")[0] == 400
    assert project.put("f.csv", rows)[1]["name"] == "f-2.csv"


MOUNTED = """
mount -t tmpfs -o size=3m none {folder} && exec "$@"
"""


@pytest.fixture
def cramped(tmp_path):
    """A server whose disk holds 3 MB."""
    needed("fastapi")
    needed_mounts()
    folder = tmp_path / "disk"
    folder.mkdir()
    made = Server(folder)
    script = ["unshare", "-rm", "sh", "-c", MOUNTED.format(folder=folder), "sh", sys.executable, "-c", START]
    place = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    made.process = subprocess.Popen(
        [*script, str(folder), "{}"], stdout=subprocess.PIPE, text=True, env=place
    )
    made.address = made.process.stdout.readline().strip()
    yield made
    made.end()


@posix
def test_a_full_disk_is_said_and_recovered_from(cramped):
    project = cramped.project()
    assert project.put("run.csv", b"time [s],position [deg]\n0,1\n1,2\n2,3\n")[0] == 200
    assert project.run(command="log", logs=["run.csv"])["state"] == "done"
    assert project.put("large.csv", bytes(1 << 20))[0] == 200
    disk = Path(f"/proc/{cramped.process.pid}/root{cramped.folder}")  # as the server sees it
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))
    status, said = project.put("more.csv", bytes(1 << 16))
    assert (status, "no room left on the disk" in said["error"], "delete" in said["remedy"]) == (
        507,
        True,
        True,
    )
    before = cramped.ask("GET", f"/projects/{project.id}")[1]
    refused = [
        project.begin(command="log", logs=["run.csv"]),
        cramped.ask("POST", "/projects", {"name": "more", "kind": "servo"}),
        cramped.ask("PUT", f"/projects/{project.id}/form", {"note": "x" * 100_000}),
    ]
    for status, said in refused:
        assert (status, "no room left" in said["error"]) == (507, True), said
    after = cramped.ask("GET", f"/projects/{project.id}")[1]
    assert after == before, "what was refused has left nothing behind"
    assert len(cramped.ask("GET", "/projects")[1]["projects"]) == 1
    assert cramped.ask("DELETE", f"/projects/{project.id}/files/large.csv")[0] == 200
    assert project.run(command="log", logs=["run.csv"])["state"] == "done"
    assert cramped.ask("PUT", f"/projects/{project.id}/form", {"note": "kept"})[0] == 200
    assert cramped.ask("POST", "/projects", {"name": "more", "kind": "servo"})[0] == 200


def test_a_project_without_one_of_its_files_is_read(tmp_path):
    """A file went and the disk had no room to say so."""
    from backemf.apps.web.workspace import JobLimits, Workspace

    first = Workspace(tmp_path, JobLimits())
    project = first.new("x", "servo")
    (first.files(project) / "a.csv").write_text("1")
    first.add(project, "a.csv", "a.csv")
    (first.files(project) / "a.csv").unlink()
    first.release()
    second = Workspace(tmp_path, JobLimits())
    assert list(second.projects[project.id].files) == []
    second.release()
