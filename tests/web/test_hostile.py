"""Uploads and requests that mean harm: refused or read, in words; no crash, no hang, bounded memory, and no
file outside the upload's own folder."""

from __future__ import annotations

import io
import json
import socket
import struct
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from ..conftest import needed
from ..fuzz import mutations
from ..fuzz.seeds import seeds
from .conftest import Project, Server
from .test_names import ODD

FEW, MANY = 10, 500
REQUESTS, MORE_REQUESTS = 40, 200
MEMORY = 1500 << 20
"""What the server and its workers may have in memory together at the end; they begin with about 500 MB."""
COMMANDS = {".xml": "explain", ".urdf": "explain", ".toml": "datasheet", ".py": "log"}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server with narrow limits, so that a test of them is quick."""
    needed("fastapi")
    limits = {
        "file_bytes": 2 << 20,
        "unpacked_bytes": 64 << 20,
        "rows": 100_000,
        "project_bytes": 8 << 20,
        "project_files": 60,
        "memory": 1 << 30,
        "quick_seconds": 20.0,
        "body_seconds": 2.0,
        "waiting_each": 5,
    }
    started = Server(tmp_path_factory.mktemp("small"), limits).start()
    yield started
    started.end()


def mat_bomb() -> bytes:
    """A matrix of 72 MB of zeros in a tenth of a megabyte."""
    n = 9_000_000
    body = (
        struct.pack("<IIIIIIIIII", 6, 8, 6, 0, 5, 8, n, 1, 1, 1)
        + b"x\0\0\0\0\0\0\0"
        + struct.pack("<II", 9, 8 * n)
    )
    machine = zlib.compressobj(6)
    packed = machine.compress(struct.pack("<II", 14, len(body) + 8 * n) + body)
    zeros = bytes(1 << 20)
    packed += b"".join(machine.compress(zeros) for _ in range(8 * n >> 20)) + machine.flush()
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    return header + struct.pack("<II", 15, len(packed)) + packed


def zip_bomb() -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        archive.open("time.npy", "w") as f,
    ):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (9_000_000,)}
        )
        f.write(header.getvalue())
        for _ in range(72):
            f.write(bytes(1_000_000))
    return out.getvalue()


def parquet_bomb() -> bytes:
    needed("pyarrow")
    import pyarrow
    import pyarrow.parquet

    column = pyarrow.array(np.zeros(10_000_000))
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"time": column}), out, compression="zstd")
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("x.mat", mat_bomb),
        ("x.npz", zip_bomb),
        ("x.parquet", parquet_bomb),
        ("x.csv", lambda: b"1,2\n" * 200_000),
    ],
)
def test_what_unpacks_to_too_much_is_refused_before_it_is_read(small, name, make):
    project = small.project()
    content = make()
    assert len(content) < 2 << 20
    status, said = project.put(name, content)
    assert status == 200, said
    job = project.run(command="log", logs=[name])
    assert job["state"] == "failed"
    assert "unpacks to more than 64 MB" in job["error"] or "has more than 100000 rows" in job["error"]
    assert job["remedy"] == "cut the recording into shorter ones"


def test_uploads_are_limited(small):
    project = small.project()
    status, said = project.put("big.csv", bytes((2 << 20) + 1))
    assert (status, "more than 2 MB" in said["error"]) == (400, True)
    for k in range(4):
        assert project.put(f"{k}.csv", bytes(2 << 20))[0] == 200
    status, said = project.put("more.csv", bytes(2 << 20))
    assert (status, "over 8 MB together" in said["error"]) == (400, True)
    assert sorted(p.name for p in project.files.iterdir()) == ["0.csv", "1.csv", "2.csv", "3.csv"]


def test_an_upload_without_a_length_is_limited_too(small):
    """Chunks of an upload that does not say how long it is."""
    project = small.project()
    with socket.create_connection(("127.0.0.1", small.port), timeout=30) as sent:
        head = f"PUT /api/projects/{project.id}/files?name=x.csv HTTP/1.1\r\nHost: 127.0.0.1:{small.port}\r\n"
        head += f"X-Backemf-Token: {small.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
        sent.sendall(head.encode())
        try:
            for _ in range(40):
                sent.sendall(b"10000\r\n" + bytes(0x10000) + b"\r\n")
        except OSError:
            pass  # the server has heard enough
        assert b"400" in sent.recv(100)
    assert list(project.files.iterdir()) == []


def test_a_slow_request_is_ended(small):
    with socket.create_connection(("127.0.0.1", small.port), timeout=30) as sent:
        head = f"POST /api/projects HTTP/1.1\r\nHost: 127.0.0.1:{small.port}\r\n"
        head += f"X-Backemf-Token: {small.token}\r\n"
        sent.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        begin = time.monotonic()
        assert b"400" in sent.recv(100)
        assert time.monotonic() - begin < 10.0  # body_seconds is 2


def test_commands_are_limited(small):
    project = small.project()
    assert project.put("x.csv", b"time,position\n0,1\n1,2\n")[0] == 200
    answers = [project.begin(command="log", logs=["x.csv"]) for _ in range(12)]
    assert any("commands wait already" in said.get("error", "") for _, said in answers)
    for status, job in answers:
        if status == 200:
            project.over(job)


def broken(folder: Path, n: int) -> list[tuple[str, bytes]]:
    """Files of every format, broken in every way, n of them."""
    rng = np.random.default_rng(7)
    every = [
        (name, bad)
        for kind, (name, content) in seeds(folder).items()
        for _, bad in mutations.of(kind, content, rng)
        if len(bad) < 1 << 20
    ]
    chosen = [every[int(k)] for k in rng.permutation(len(every))[:n]]
    return [
        (ODD[k % len(ODD)][:-4] + name[-9:] if k % 4 == 0 else name, bad)
        for k, (name, bad) in enumerate(chosen)
    ]


def outside(folder: Path) -> set[str]:
    """Everything that lies in a workspace where no upload and no state does."""
    known = ("files/", "state/")
    return {
        name
        for p in folder.rglob("*")
        if p.is_file() and not (name := p.relative_to(folder).as_posix()).startswith(known)
    }


def memory_of(process: int) -> int:
    """Resident bytes of a process and all that it started."""
    total, waiting = 0, [process]
    while waiting:
        pid = waiting.pop()
        try:
            total += 4096 * int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return total


def throw(server: Server, files: list[tuple[str, bytes]]) -> dict[str, int]:
    """Upload every file and let the command for its kind look into it."""
    counts = {"refused": 0, "failed": 0, "done": 0}
    beside = {p.name for p in server.folder.parent.iterdir()}
    project: Project | None = None
    for k, (name, content) in enumerate(files):
        if k % 10 == 0:
            project = server.project()
        assert project is not None
        status, kept = project.put(name, content)
        assert status in (200, 400), (name, kept)
        if status == 400:
            assert kept["error"], name
            counts["refused"] += 1
            continue
        command = COMMANDS.get(Path(kept["name"]).suffix, "log")
        key = {"explain": "model", "datasheet": "part"}.get(command)
        job = project.run(command=command, **({key: kept["name"]} if key else {"logs": [kept["name"]]}))
        assert job["state"] in ("done", "failed"), job
        assert job["state"] == "done" or (job["error"] and job["remedy"]), job
        assert "fault of backemf's own" not in job["error"], (name, job["error"])
        counts[job["state"]] += 1
    assert server.ask("GET", "/hello")[0] == 200
    assert outside(server.folder) == set()
    assert {p.name for p in server.folder.parent.iterdir()} == beside
    if Path("/proc/self/statm").exists():
        assert memory_of(server.process.pid) < MEMORY
    return counts


def test_broken_files_harm_nobody(small, tmp_path):
    for package in ("mcap_ros2", "mujoco", "pyarrow", "rosbags", "yaml"):
        needed(package)
    counts = throw(small, broken(tmp_path, FEW))
    assert sum(counts.values()) == FEW


@pytest.mark.proof
def test_many_broken_files_harm_nobody(server, tmp_path):
    print(throw(server, broken(tmp_path, MANY)))


def malformed(server: Server, n: int) -> list[bytes]:
    """Requests that no browser sends."""
    rng = np.random.default_rng(3)
    project = server.project().id
    host = f"Host: 127.0.0.1:{server.port}\r\nX-Backemf-Token: {server.token}\r\n"
    paths = [
        "/",
        "/api/projects",
        f"/api/projects/{project}",
        f"/api/projects/{project}/jobs",
        "/static/app.js",
    ]
    paths += [
        "/api/projects/../../etc",
        "/%00",
        "/" + "a" * 5000,
        "//",
        "/api/projects/%2e%2e",
        "*",
        "http://evil/",
    ]
    paths += [
        f"/api/projects/{project}/files/..%2f..%2fstate%2flock",
        f"/api/projects/{project}/files/%2fetc%2fpasswd",
    ]
    bodies = [
        b"",
        b"{",
        b"[" * 100_000,
        b"null",
        b"[]",
        b'{"command": 3}',
        b'{"command": "check", "logs": 5}',
        b"\xff\xfe",
    ]
    bodies += [
        b'{"command": "log", "logs": [' + b"9" * 5000 + b"]}",
        json.dumps({"name": "x" * 500}).encode(),
    ]
    made = []
    for _ in range(n):
        method = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "G\x00T", "CONNECT"][
            int(rng.integers(9))
        ]
        path, body = paths[int(rng.integers(len(paths)))], bodies[int(rng.integers(len(bodies)))]
        length = [str(len(body)), "-1", "99999999999999", "x", ""][
            int(rng.integers(5)) if rng.random() < 0.3 else 0
        ]
        more = [
            "",
            "X: " + "y" * 100_000 + "\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Cookie: \xff=;;;\r\n",
            host,
            "\r\r\n",
        ]
        extra = more[int(rng.integers(len(more))) if rng.random() < 0.4 else 0]
        head = (
            f"{method} {path} HTTP/1.1\r\n{host}{extra}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        )
        made.append(head.encode("latin-1") + body)
    return made


def shout(server: Server, requests: list[bytes]) -> dict[str, int]:
    """Send each as it is; every answer is one of HTTP's, and none says that the server is at fault."""
    counts: dict[str, int] = {}
    for request in requests:
        answer = b""
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as sent:
                sent.sendall(request)
                sent.shutdown(socket.SHUT_WR)
                answer = sent.recv(64)
        except ConnectionError:
            pass  # it need not listen to the end
        status = answer[9:12].decode() if answer.startswith(b"HTTP/1.1") else "closed"
        assert status != "500", request[:200]
        counts[status] = counts.get(status, 0) + 1
    assert server.ask("GET", "/hello")[0] == 200
    return counts


def test_malformed_requests_harm_nobody(small):
    counts = shout(small, malformed(small, REQUESTS))
    assert sum(counts.values()) == REQUESTS


@pytest.mark.proof
def test_many_malformed_requests_harm_nobody(server):
    print(shout(server, malformed(server, MORE_REQUESTS)))
