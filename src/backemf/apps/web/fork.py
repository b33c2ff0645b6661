"""The worker's side: a program that has everything loaded, and a copy of it, with bounds, for every command.

Questions come as lines of JSON and so do answers; nothing else is read from the server, and nothing is
unpickled. A command's words, its folder and its bounds go in; what it prints goes into files of its job.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ...bounds import narrow

Command = Callable[[list[str], Path], int]
"""Runs a command's words and gives its exit code; progress goes into the given folder."""
OFTEN = 0.1
"""Seconds between two notes of progress at least."""


class Bounds(NamedTuple):
    """What one command may use."""

    cpu: float
    memory: int
    written: int
    unpacked: int
    rows: int
    nice: int = 0


def bound(bounds: Bounds) -> list[str]:
    """Bound this process where the system can; what it cannot bound is named."""
    try:
        import resource
    except ImportError:  # Windows: the server still ends what takes too long on the clock
        return ["cpu", "memory", "written"]
    pages = Path("/proc/self/statm")
    own = (
        int(pages.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        if pages.exists()
        else 2 << 30
    )
    wanted = {
        "cpu": (resource.RLIMIT_CPU, int(bounds.cpu) + 1),
        "memory": (resource.RLIMIT_AS, own + bounds.memory),
        "written": (resource.RLIMIT_FSIZE, bounds.written),
        "core": (resource.RLIMIT_CORE, 0),
    }
    left = []
    for name, (kind, most) in wanted.items():
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            left.append(name)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(bounds.nice)
    return left


def run_alone(run: Command, words: list[str], folder: Path, job: Path, bounds: Bounds) -> int:
    """Run one command in this process, its output in files of the job.

    Args:
        run: takes the words and the job's folder.
        words: of the command line.
        folder: in which it runs.
        job: folder of what it prints and how far it is.
        bounds: what it may use.

    Returns:
        The exit code.
    """
    for name, number in (("out.txt", 1), ("err.txt", 2)):
        opened = os.open(job / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.chdir(folder)
    bound(bounds)
    try:
        narrow(unpacked=bounds.unpacked, rows=bounds.rows)
        code = run(words, job)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:
        code = 130
    except MemoryError:
        os.write(2, b"backemf: there is not enough memory for this; give fewer or shorter recordings\n")
        code = 2
    except BaseException:
        traceback.print_exc()
        code = 2
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code


def progress_writer(job: Path) -> Callable[[dict[str, Any]], None]:
    """What writes down how far a command is, whole or not at all, and not too often."""
    last = [0.0]

    def note(progress: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - last[0] < OFTEN and not progress.get("curves"):
            return
        last[0] = now
        beside = job / ".progress.part"
        with contextlib.suppress(OSError):  # nobody needs it
            beside.write_text(json.dumps(progress), encoding="utf-8")
            os.replace(beside, job / "progress.json")

    return note


def serve(run: Command, load: Callable[[], None]) -> None:
    """Load everything once, then start a copy for every line on stdin, and say when each has ended."""
    load()
    gc.collect()
    gc.freeze()  # what is loaded is not looked through again, and so stays shared with every copy
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the server's
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    running: dict[int, str] = {}
    waiting = b""
    _say({"ready": os.getpid()})
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _reap(running)
        if 0 in ready:
            got = os.read(0, 65536)
            if not got:  # the server has gone
                for pid in running:
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                return
            *lines, waiting = (waiting + got).split(b"\n")
            for line in lines:
                asked = json.loads(line)
                pid = _copy(run, asked, (woken, wake))
                running[pid] = asked["id"]
                _say({"id": asked["id"], "pid": pid})


def _copy(run: Command, asked: dict[str, Any], pipes: tuple[int, int]) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # one that comes early waits
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        for pipe in pipes:
            os.close(pipe)
        bounds = Bounds(**asked["bounds"])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        code = run_alone(run, asked["words"], Path(asked["folder"]), Path(asked["job"]), bounds)
    except BaseException:
        code = 2
    os._exit(code & 0xFF)


def _reap(running: dict[int, str]) -> None:
    while running:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _say({"id": running.pop(pid, ""), "ended": os.waitstatus_to_exitcode(status)})


def _say(answer: dict[str, Any]) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")
