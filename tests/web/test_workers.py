"""Workers: bounds that hold, ends that are noticed, and words for each."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from backemf.apps.web.fork import Bounds
from backemf.apps.web.jobs import Queue
from backemf.apps.web.workers import LOST, Copies, Programs, Workers, workers

from ..conftest import ROOT

PROGRAM = f"""
import json, os, signal, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT / "src")!r})
from backemf.apps.web.fork import Bounds, run_alone as alone, progress_writer as noted, serve
def run(words, job):
    if words[0] == "say":
        print(json.dumps({{"said": words[1], "here": os.getcwd()}}))
        noted(job)({{"text": "half", "share": 0.5}})
    elif words[0] == "memory":
        bytearray(2 << 30)
    elif words[0] == "spin":
        while True: pass
    elif words[0] == "write":
        Path("big").write_bytes(bytes(5 << 20))
    elif words[0] == "signal":
        os.kill(os.getpid(), int(words[1]))
    elif words[0] == "sleep":
        time.sleep(60)
    return 0
if len(sys.argv) == 2:
    asked = json.loads(sys.argv[1])
    sys.exit(alone(run, asked["words"], Path(asked["folder"]), Path(asked["job"]), Bounds(**asked["bounds"])))
serve(run, lambda: None)
"""
BOUNDS = Bounds(cpu=1.0, memory=1 << 30, written=1 << 20, unpacked=1 << 30, rows=1000)
posix = pytest.mark.skipif(sys.platform != "linux", reason="memory and CPU time are bounded on Linux")


def ran(tmp_path: Path, *words: str, kind: type = Copies, stop: str = "") -> tuple[int, Path]:
    """(exit code, the job's folder)."""
    job, folder = tmp_path / "job", tmp_path / "files"
    job.mkdir()
    folder.mkdir()

    async def go() -> int:
        at: Workers = kind([sys.executable, "-c", PROGRAM])
        running = asyncio.ensure_future(at.run("a", words, folder, job, BOUNDS))
        if stop:
            await asyncio.sleep(1.0)
            at.stop("a", kindly=stop == "kindly")
        code = await running
        await at.close()
        return code

    return asyncio.run(go()), job


@pytest.mark.parametrize("kind", [Copies, Programs])
def test_what_a_command_prints_is_its_jobs(tmp_path, kind):
    if kind is Copies and sys.platform != "linux":
        pytest.skip("a program is copied on Linux alone")
    code, job = ran(tmp_path, "say", "hällo", kind=kind)
    assert code == 0
    said = json.loads((job / "out.txt").read_text(encoding="utf-8"))
    assert said == {"said": "hällo", "here": str(tmp_path / "files")}
    assert json.loads((job / "progress.json").read_text()) == {"text": "half", "share": 0.5}


@posix
@pytest.mark.parametrize("kind", [Copies, Programs])
def test_too_much_memory_is_an_error(tmp_path, kind):
    code, job = ran(tmp_path, "memory", kind=kind)
    assert code == 2
    assert "not enough memory" in (job / "err.txt").read_text()


@posix
def test_too_much_time_and_too_large_a_file_end_a_command(tmp_path):
    assert ran(tmp_path, "spin")[0] in (-signal.SIGXCPU, -signal.SIGKILL)
    (tmp_path / "again").mkdir()
    code, _ = ran(tmp_path / "again", "write")
    assert code in (2, -signal.SIGXFSZ)  # Python turns the signal into an error
    assert (tmp_path / "again" / "files" / "big").stat().st_size <= BOUNDS.written


@posix
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_command_that_dies_is_noticed(tmp_path, number):
    assert ran(tmp_path, "signal", str(int(number)))[0] == -number


def test_a_library_that_breaks_down_is_no_want_of_memory():
    queue: Any = types.SimpleNamespace()
    reasons = {number: Queue._reason(queue, queue, -number)[0] for number in (9, 11)}
    assert "want of memory" in reasons[9]
    assert "broke down (signal 11)" in reasons[11]
    assert "memory" not in reasons[11]


@posix
def test_a_command_is_stopped_kindly_or_not(tmp_path):
    assert ran(tmp_path, "sleep", stop="kindly")[0] == 130
    (tmp_path / "again").mkdir()
    assert ran(tmp_path / "again", "sleep", stop="now")[0] == -signal.SIGKILL


@posix
def test_a_worker_that_goes_away_is_started_again(tmp_path):
    jobs = [tmp_path / name for name in "ab"]
    for job in jobs:
        job.mkdir()

    async def go() -> list[int]:
        at = Copies([sys.executable, "-c", PROGRAM])
        first = asyncio.ensure_future(at.run("a", ["sleep"], tmp_path, jobs[0], BOUNDS))
        await asyncio.sleep(1.0)
        assert at._process is not None
        at._process.kill()
        codes = [await first, await at.run("b", ["say", "x"], tmp_path, jobs[1], BOUNDS)]
        await at.close()
        return codes

    assert asyncio.run(go()) == [LOST, 0]


def test_everywhere_there_is_a_kind_of_worker(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert isinstance(workers(["python"]), Programs)
    monkeypatch.setattr(sys, "platform", "linux")
    assert isinstance(workers(["python"]), Copies)
