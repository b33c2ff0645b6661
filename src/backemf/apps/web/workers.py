"""The server's side of its workers: commands start in processes of their own, are watched, and are ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from .fork import Bounds

LOST = -1000
"""In place of an exit code: the worker itself went away."""
LINE = 1 << 20


class Workers(Protocol):
    """Where commands run: `run` comes back with the exit code, negative for a signal."""

    async def run(self, key: str, words: Sequence[str], folder: Path, job: Path, bounds: Bounds) -> int:
        """Run a command to its end.

        Args:
            key: of the job, to stop it by.
            words: of the command line.
            folder: in which it runs.
            job: folder of what it prints and how far it is.
            bounds: what it may use.

        Returns:
            The exit code; the negative number of the signal that ended it; LOST where the worker went away.
        """
        ...

    def stop(self, key: str, kindly: bool) -> None:
        """End a command: with what it has found so far, or at once."""

    async def warm(self) -> None:
        """Load what commands need, before the first of them."""

    async def close(self) -> None:
        """End every worker."""


def workers(program: Sequence[str]) -> Workers:
    """Copies of one loaded program on Linux; elsewhere a new program for every command, where memory and CPU
    time are bounded only as far as the system can, and time on the clock always."""
    return Copies(program) if sys.platform == "linux" else Programs(program)


class Copies(Workers):
    """One loaded program that makes a copy of itself for every command."""

    def __init__(self, program: Sequence[str]):
        self._program = list(program)
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._ends: dict[str, asyncio.Future[int]] = {}
        self._pids: dict[str, int] = {}
        self._doomed: dict[str, bool] = {}
        """Commands that were stopped before they had a process, and whether kindly."""
        self._starting = asyncio.Lock()

    async def warm(self) -> None:
        async with self._starting:
            if self._process is not None and self._process.returncode is None:
                return
            pipe = asyncio.subprocess.PIPE
            own = {"stdin": pipe, "stdout": pipe, "limit": LINE, "start_new_session": True}
            self._process = await asyncio.create_subprocess_exec(
                *self._program, env=_worker_environment(), **own
            )
            assert self._process.stdout is not None
            first = await self._process.stdout.readline()
            if b"ready" in first:
                self._listening = asyncio.create_task(self._listen(self._process))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            answer = json.loads(line)
            key = answer["id"]
            if "pid" in answer:
                self._pids[key] = answer["pid"]
                if key in self._doomed:
                    self.stop(key, self._doomed.pop(key))
            elif "ended" in answer:
                self._pids.pop(key, None)
                self._end(key, answer["ended"])
        await process.wait()
        for key, pid in list(self._pids.items()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            self._pids.pop(key, None)
        for key in list(self._ends):
            self._end(key, LOST)

    def _end(self, key: str, code: int) -> None:
        self._doomed.pop(key, None)
        end = self._ends.pop(key, None)
        if end is not None and not end.done():
            end.set_result(code)

    async def run(self, key: str, words: Sequence[str], folder: Path, job: Path, bounds: Bounds) -> int:
        await self.warm()
        if self._process is None or self._process.stdin is None or self._process.returncode is not None:
            return LOST
        end: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ends[key] = end
        line = json.dumps({"id": key, **_question(words, folder, job, bounds)}).encode() + b"\n"
        try:
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        except (ConnectionError, OSError):
            self._end(key, LOST)
        return await end

    def stop(self, key: str, kindly: bool) -> None:
        pid = self._pids.get(key)
        if pid is None and key in self._ends:
            self._doomed[key] = kindly
        elif pid is not None:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGINT if kindly else signal.SIGKILL)

    async def close(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5.0)
        except TimeoutError:
            process.kill()
            await process.wait()
        if self._listening is not None:
            await self._listening


class Programs(Workers):
    """A new program for every command."""

    def __init__(self, program: Sequence[str]):
        self._program = list(program)
        self._running: dict[str, subprocess.Popen[Any]] = {}

    async def run(self, key: str, words: Sequence[str], folder: Path, job: Path, bounds: Bounds) -> int:
        line = json.dumps(_question(words, folder, job, bounds))
        group: dict[str, Any] = {}
        if sys.platform == "win32":
            group["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
        process = subprocess.Popen(
            [*self._program, line], env=_worker_environment(), stdin=subprocess.DEVNULL, **group
        )
        self._running[key] = process
        try:
            return await asyncio.to_thread(process.wait)
        finally:
            self._running.pop(key, None)

    def stop(self, key: str, kindly: bool) -> None:
        process = self._running.get(key)
        if process is None:
            return
        interrupt = signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGINT
        with contextlib.suppress(OSError):
            process.send_signal(interrupt) if kindly else process.kill()

    async def close(self) -> None:
        for process in list(self._running.values()):
            process.kill()


def _question(words: Sequence[str], folder: Path, job: Path, bounds: Bounds) -> dict[str, Any]:
    """What `fork` is asked, as JSON."""
    return {"words": list(words), "folder": str(folder), "job": str(job), "bounds": bounds._asdict()}


def _worker_environment() -> dict[str, str]:
    """The environment of a worker: one thread each, as several run beside each other, and allocators that do
    not reserve address space beforehand, which is bounded."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    modest = {"MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return {**os.environ, **one, **modest, "NO_COLOR": "1", "PYTHONUTF8": "1"}
