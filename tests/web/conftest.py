"""A server in a process of its own, with a folder of its own, and what asks it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlparse

import pytest

from ..conftest import ROOT, needed

START = """
import sys
from pathlib import Path
from backemf.apps.web.workspace import JobLimits as Limits
from backemf.apps.web.web_server import serve
def told(address):
    print(address, flush=True)
worker = [sys.executable, "-m", "backemf.apps.web.worker"]
serve(Path(sys.argv[1]), port=0, program=worker, told=told, limits=Limits(**eval(sys.argv[2])))
"""
SECONDS = 120.0
"""What a command may take in a test, on a machine that is busy."""


@dataclass
class Server:
    """A running server and its address."""

    folder: Path
    limits: dict[str, Any] = field(default_factory=dict)
    python: str = sys.executable
    process: Any = None
    address: str = ""

    def start(self) -> Server:
        place = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        }
        words = [self.python, "-c", START, str(self.folder), repr(self.limits)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=place)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:")
        return self

    def end(self, kindly: bool = True) -> None:
        self.process.send_signal(signal.SIGINT if kindly else signal.SIGKILL)
        self.process.wait(30)
        self.process.stdout.close()

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    @property
    def port(self) -> int:
        return urlparse(self.address).port or 0

    def raw(self, method: str, path: str, body: Any = None, **headers: str | None) -> tuple[int, Any, Any]:
        """(status, headers, content); a header of None is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given: dict[str, str | None] = {"X-Backemf-Token": self.token}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, content, {k: v for k, v in given.items() if v is not None})
            answer = connection.getresponse()
            got = answer.read()
            return answer.status, answer.headers, got
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, _, got = self.raw(method, f"/api{path}", body)
        return status, json.loads(got)

    def project(self, kind: str = "servo") -> Project:
        status, made = self.ask("POST", "/projects", {"name": "a test", "kind": kind})
        assert status == 200, made
        return Project(self, made["id"])


@dataclass
class Project:
    """One project of a server."""

    server: Server
    id: str

    @property
    def files(self) -> Path:
        return self.server.folder / "files" / self.id

    def put(self, name: str, content: bytes, **more: str) -> tuple[int, Any]:
        query = urlencode({"name": name, **more}, errors="replace")
        return self.server.ask("PUT", f"/projects/{self.id}/files?{query}", content)

    def begin(self, **asked: Any) -> tuple[int, Any]:
        return self.server.ask("POST", f"/projects/{self.id}/jobs", asked)

    def over(self, job: dict[str, Any]) -> dict[str, Any]:
        """The job once it has ended."""
        last = time.monotonic() + SECONDS
        while not job["over"]:
            assert time.monotonic() < last, f"{job['shown']} hangs"
            time.sleep(0.05)
            _, job = self.server.ask("GET", f"/projects/{self.id}/jobs/{job['id']}")
        return job

    def run(self, **asked: Any) -> dict[str, Any]:
        status, job = self.begin(**asked)
        assert status == 200, job
        return self.over(job)

    def answer(self, job: dict[str, Any]) -> Any:
        return self.server.ask("GET", f"/projects/{self.id}/jobs/{job['id']}/answer")[1]

    def download(self, name: str) -> bytes:
        status, _, got = self.server.raw("GET", f"/api/projects/{self.id}/files/{quote(name)}")
        assert status == 200
        return got


@pytest.fixture(scope="package")
def server(tmp_path_factory) -> Iterator[Server]:
    needed("fastapi")
    started = Server(tmp_path_factory.mktemp("web")).start()
    yield started
    started.end()


@pytest.fixture(scope="package")
def recording() -> bytes:
    """Four seconds of a servo on a pendulum, in milliseconds and degrees: a person's own program wrote it."""
    import numpy as np

    import backemf as be

    servo = be.Datasheet.read("sts3215-7.4v").actuator()
    arm = be.bench.Pendulum(mass=0.2, length=0.1)
    run = be.simulate(servo, arm, be.signal.square(0.5, 0.5), duration=4.0, dt=0.01)
    seen = run.position + 5e-4 * np.random.default_rng(0).standard_normal(len(run))
    rows = np.stack([1e3 * run.time, np.degrees(seen), np.degrees(run["position_target"])], axis=1)
    lines = [",".join(f"{x:.5f}" for x in row) for row in rows]
    return ("ms,angle,goal\n" + "\n".join(lines) + "\n").encode()


MAPS = ["time=ms[ms]", "position=angle[deg]", "position_target=goal[deg]"]
BENCH = {"kind": "pendulum", "mass": "0.2 kg", "length": "0.1 m"}
ASKED = {"logs": ["run.csv"], "map": MAPS, "bench": BENCH, "start": "sts3215-7.4v"}
"""What a person says of that recording."""
ONLY = ["motor.resistance", "friction.coulomb"]
