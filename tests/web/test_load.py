"""Sixty-four people at once for a minute, each uploading, checking, fitting and exporting."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import ASKED, MAPS, ONLY, Project, Server

CLIENTS, SECONDS = 64, float(os.environ.get("BACKEMF_LOAD_SECONDS", "60"))
P95 = 0.5
"""Seconds within which 95 of 100 requests are answered, whatever is computed meanwhile."""


class Client(threading.Thread):
    """One person, who starts anew until the time is over; what was begun is brought to its end."""

    def __init__(self, server: Server, recording: bytes, until: float):
        super().__init__(daemon=True)
        self.server, self.recording, self.until = server, recording, until
        self.took: dict[str, list[float]] = defaultdict(list)
        self.failures: list[str] = []

    def timed(self, kind: str, method: str, path: str, body: Any = None) -> Any:
        begin = time.perf_counter()
        status, said = self.server.ask(method, path, body)
        self.took[kind].append(time.perf_counter() - begin)
        if status != 200:
            raise RuntimeError(f"{kind}: {status} {said}")
        return said

    def command(self, project: Project, **asked: Any) -> dict[str, Any]:
        begin = time.perf_counter()
        job = self.timed("ask", "POST", f"/projects/{project.id}/jobs", asked)
        while not job["over"]:
            time.sleep(0.25)
            job = self.timed("poll", "GET", f"/projects/{project.id}/jobs/{job['id']}")
        if job["state"] != "done":
            raise RuntimeError(f"{asked['command']}: {job['error']} {job['remedy']}")
        self.timed("answer", "GET", f"/projects/{project.id}/jobs/{job['id']}/answer")
        self.took[f"{asked['command']}, from asked to done"].append(time.perf_counter() - begin)
        return job

    def run(self) -> None:
        try:
            while time.monotonic() < self.until:
                project = Project(self.server, self.timed("new", "POST", "/projects", {"name": "x"})["id"])
                begin = time.perf_counter()
                status, _ = project.put("run.csv", self.recording)
                self.took["upload"].append(time.perf_counter() - begin)
                assert status == 200
                self.command(project, command="log", logs=["run.csv"], map=MAPS)
                self.command(project, command="check", **ASKED, only=ONLY)
                fitted = self.command(project, command="fit", **ASKED, starts=1)
                how = {"to": "mujoco-classic", "method": "formula"}
                made = self.command(project, command="export", source=fitted["made"][0], **how)
                begin = time.perf_counter()
                assert project.download(made["made"][0])
                self.took["download"].append(time.perf_counter() - begin)
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")


@pytest.mark.proof
def test_many_clients_at_once(server, recording):
    until = time.monotonic() + SECONDS
    clients = [Client(server, recording, until) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(SECONDS + 600.0)
    assert [f for client in clients for f in client.failures] == []
    assert not any(client.is_alive() for client in clients)
    took: dict[str, list[float]] = defaultdict(list)
    for client in clients:
        for kind, seconds in client.took.items():
            took[kind] += seconds
    for kind, seconds in took.items():
        p50, p95 = np.percentile(seconds, [50, 95])
        print(f"{kind:28} {len(seconds):6} times, median {1e3 * p50:8.1f} ms, p95 {1e3 * p95:8.1f} ms")
    requests = [s for kind, seconds in took.items() if "from asked" not in kind for s in seconds]
    p95 = float(np.percentile(requests, 95))
    print(f"{'all requests':28} {len(requests):6} times, p95 {1e3 * p95:8.1f} ms")
    assert p95 < P95
    assert not list(Path(server.folder).glob("*.part"))
