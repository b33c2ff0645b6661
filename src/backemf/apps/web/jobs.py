"""Commands that wait, run and have ended: a queue that can be seen, and that a restart does not lose."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import shutil
import signal
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ...errors import InvalidValue, MissingValue
from .command_lines import CommandLine
from .fork import Bounds
from .workers import LOST, Workers
from .workspace import JobLimits, Project, Workspace, fresh, full_disk, keep, now, wall

OVER = ("done", "failed", "stopped", "interrupted")
"""States in which a job stays."""
KIND_SECONDS: dict[str, float] = {"fit": 60.0, "record": 60.0, "virtual": 60.0}
"""What a command has after it was asked to stop [s]: a fit keeps the best so far, a servo is let go."""
AT_ONCE = 1.0
"""The same for all others [s]."""
NO_MEMORY = ("MemoryError", "failed to map segment", "Cannot allocate memory", "bad_alloc", "malloc of size")
"""What programs say that ran into the bound on their memory, in places where nobody expects that."""
LEFT = 1 << 16
"""Bytes below which a disk is full: a command that ends without an answer had no place for it."""
KEPT = 60
"""Jobs of one project that are remembered; older ones that nobody needs are forgotten."""


@dataclass(kw_only=True)
class Job:
    """One command: what was asked, where it is, what came of it."""

    id: str
    project: str
    command: str
    asked: dict[str, Any]
    words: list[str]
    shown: str
    """The command line that does the same."""
    lane: str
    outputs: list[str] = field(default_factory=list)
    """Places that it writes."""
    state: str = "waiting"
    at: str = ""
    began: str = ""
    ended: str = ""
    seconds: float | None = None
    made: list[str] = field(default_factory=list)
    """Files that it wrote."""
    error: str = ""
    remedy: str = ""
    stopped: bool = False
    """Whether a person ended it."""


class Queue:
    """Lanes of jobs: quick commands do not wait for fits."""

    def __init__(self, workspace: Workspace, workers: Workers, limits: JobLimits):
        self.workspace, self.workers, self.limits = workspace, workers, limits
        self.jobs: dict[str, Job] = {}
        self.lanes = {"quick": 2, "exports": 1, "long": max(1, (os.cpu_count() or 2) - 1), "bus": 4}
        self._waiting: dict[str, list[str]] = {lane: [] for lane in self.lanes}
        self._running: dict[str, asyncio.Task[None]] = {}
        for project in workspace.projects.values():
            self._remember(project)

    def _remember(self, project: Project) -> None:
        """Jobs of an earlier server: what ran then was interrupted."""
        known = {f.name for f in fields(Job)}
        for path in sorted((self.workspace.state(project) / "jobs").glob("*/job.json")):
            with contextlib.suppress(OSError, ValueError, TypeError):
                content = json.loads(path.read_text(encoding="utf-8"))
                job = Job(**{key: value for key, value in content.items() if key in known})
                if job.id != path.parent.name or job.project != project.id:
                    continue
                if job.state not in OVER:
                    job.state, job.ended = "interrupted", now()
                    job.error = "the server ended while this ran or waited"
                    job.remedy = "start it again"
                    self._save(job)
                self.jobs[job.id] = job

    def folder(self, job: Job) -> Path:
        """Where a job's state, answer and progress are kept."""
        return self.workspace.root / "state" / job.project / "jobs" / job.id

    def of(self, project: Project) -> list[Job]:
        """Every job of a project, the oldest first."""
        return sorted((j for j in self.jobs.values() if j.project == project.id), key=lambda j: j.at)

    def job(self, project: Project, key: str) -> Job:
        """A project's job of this id."""
        job = self.jobs.get(key)
        if job is None or job.project != project.id:
            raise MissingValue("there is no such command in this project; look at its list")
        return job

    def ahead(self, job: Job) -> int:
        """How many wait before this one."""
        waiting = self._waiting[job.lane]
        return waiting.index(job.id) if job.id in waiting else 0

    def add(self, project: Project, line: CommandLine) -> Job:
        """Let a command wait for its turn."""
        mine = sum(j.project == project.id and j.state not in OVER for j in self.jobs.values())
        total = sum(map(len, self._waiting.values())) + len(self._running)
        if mine >= self.limits.waiting_each or total >= self.limits.waiting:
            raise InvalidValue(f"{max(mine, total)} commands wait already; stop one, or wait for one to end")
        job = Job(id=fresh(), project=project.id, at=now(), shown=line.shown, **line._asdict())
        try:
            self.folder(job).mkdir(parents=True)
            self._save(job)
        except OSError:
            shutil.rmtree(self.folder(job), ignore_errors=True)
            raise
        self.jobs[job.id] = job
        self._waiting[job.lane].append(job.id)
        self._forget(project)
        self._next()
        return job

    def _forget(self, project: Project) -> None:
        over = [j for j in self.of(project) if j.state in OVER and not j.made]
        for job in over[: max(0, len(over) - KEPT)]:
            self.jobs.pop(job.id, None)
            shutil.rmtree(self.folder(job), ignore_errors=True)

    def _next(self) -> None:
        for lane, most in self.lanes.items():
            waiting = self._waiting[lane]
            while waiting and sum(self.jobs[key].lane == lane for key in self._running) < most:
                key = waiting.pop(0)
                self._running[key] = asyncio.create_task(self._run(self.jobs[key]))

    async def _run(self, job: Job) -> None:
        began = asyncio.get_running_loop().time()
        try:
            project = self.workspace.project(job.project)
            job.state, job.began = "running", now()
            self._save(job)
            most = self.limits.quick_seconds if job.lane == "quick" else self.limits.long_seconds
            bounds = Bounds(
                cpu=most,
                memory=self.limits.memory,
                written=self.limits.written_bytes,
                unpacked=self.limits.unpacked_bytes,
                rows=self.limits.rows,
                nice={"long": 10, "exports": 5}.get(job.lane, 0),
            )
            words = [*job.words, "--json"]
            running = self.workers.run(job.id, words, self.workspace.files(project), self.folder(job), bounds)
            code = await self._watch(job, asyncio.ensure_future(running), wall(most))
            job.seconds = asyncio.get_running_loop().time() - began
            self._over(job, project, code)
        except Exception as error:
            words = full_disk(error) or f"{str(error) or type(error).__name__}; start it again"
            job.state, (job.error, _, job.remedy) = "failed", words.partition("; ")
        finally:
            job.ended = now()
            with contextlib.suppress(OSError):
                self._save(job)
            self._running.pop(job.id, None)
            self._next()

    async def _watch(self, job: Job, running: asyncio.Future[int], seconds: float) -> int:
        try:
            return await asyncio.wait_for(asyncio.shield(running), seconds)
        except TimeoutError:
            job.error = f"it took more than {seconds:g} s and was ended"
            job.remedy = "give fewer or shorter recordings, or run the command in a terminal"
            self.workers.stop(job.id, kindly=False)
            return await running

    def _over(self, job: Job, project: Project, code: int) -> None:
        job.made = [
            name for place in job.outputs for name in self.workspace.take_outputs(project, place, job.id)
        ]
        if code in (0, 1):
            job.state = "done"
            return
        job.state = "stopped" if job.stopped else "failed"
        if job.stopped:
            job.error = "it was stopped" if job.made else "it was stopped before anything was found"
            job.remedy = "start it again"
        elif not job.error:
            job.error, job.remedy = self._reason(job, code)

    def _reason(self, job: Job, code: int) -> tuple[str, str]:
        """Why a command failed, and what to do, in words."""
        smaller = "give fewer or shorter recordings, or run the command in a terminal"
        xcpu, xfsz = getattr(signal, "SIGXCPU", 24), getattr(signal, "SIGXFSZ", 25)
        if code == -xcpu:
            return "it took more computing time than a command may here and was ended", smaller
        if code == -xfsz:
            return "it wanted to write more than a command may here and was ended", smaller
        if code == LOST:
            return "the worker that ran it has gone", "start it again"
        if code < 0:
            if -code == getattr(signal, "SIGKILL", 9):
                return "it was ended by the system, most likely for want of memory", smaller
            again = "look whether the recording is damaged; if not, please report it with the recording"
            return f"the program broke down (signal {-code}), as a library does over a damaged file", again
        answer = self.answer(job)
        if isinstance(answer, dict) and answer.get("error"):
            error, remedy = str(answer["error"]), str(answer.get("remedy", ""))
            scarce = any(words in error for words in NO_MEMORY)
            return ("there is not enough memory for this here", smaller) if scarce else (error, remedy)
        said = self.folder(job) / "err.txt"
        text = said.read_text(encoding="utf-8", errors="replace").strip() if said.exists() else ""
        lines = [line for line in text.splitlines() if line.startswith("backemf: ")]
        words = lines[-1].removeprefix("backemf: ") if lines else self._without_words(job)
        error, _, remedy = words.partition("; ")
        return error[:2000], remedy[:2000] or smaller

    def _without_words(self, job: Job) -> str:
        """What is said of a command that said nothing: perhaps it had no place for it."""
        full = shutil.disk_usage(self.folder(job)).free < LEFT
        return full_disk(OSError(errno.ENOSPC, "")) if full else "the command ended without an answer"

    def answer(self, job: Job) -> Any:
        """What a command printed: its JSON; None where there is none."""
        path = self.folder(job) / "out.txt"
        if not path.exists() or path.stat().st_size > self.limits.answer_bytes:
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8", errors="replace"))
        except (ValueError, RecursionError):
            return None

    def progress(self, job: Job) -> Any:
        """How far a command is, as it said last."""
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self.folder(job) / "progress.json").read_text(encoding="utf-8"))
        return None

    def stop(self, job: Job) -> None:
        """End a job: one that waits at once, one that runs with what it has found."""
        if job.state == "waiting":
            self._waiting[job.lane].remove(job.id)
            job.state, job.stopped, job.ended = "stopped", True, now()
            self._save(job)
        elif job.state == "running":
            job.stopped = True
            self.workers.stop(job.id, kindly=True)
            loop = asyncio.get_running_loop()
            seconds = KIND_SECONDS.get(str(job.command), AT_ONCE)
            loop.call_later(seconds, lambda: self.workers.stop(job.id, kindly=False))

    def forget(self, project: Project) -> None:
        """End and forget every job of a project that is deleted."""
        for job in self.of(project):
            if job.state == "running":
                self.workers.stop(job.id, kindly=False)
            self.stop(job)
            self.jobs.pop(job.id, None)

    def _save(self, job: Job) -> None:
        if self.folder(job).is_dir():
            keep(self.folder(job) / "job.json", vars(job))

    async def warm(self) -> None:
        """Start a worker before the first command wants one."""
        with contextlib.suppress(OSError):
            await self.workers.warm()

    async def close(self) -> None:
        """End the workers, and wait until every job that ran has noticed."""
        await self.workers.close()
        for task in list(self._running.values()):
            with contextlib.suppress(Exception):
                await task
