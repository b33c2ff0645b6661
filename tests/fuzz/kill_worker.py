"""Runs commands in copies of itself and has each ended at a chosen moment, as a user or a crash would:
one line of JSON about each."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

LOADED = ("scipy.optimize", "matplotlib.pyplot", "mujoco", "pint", "PIL.Image", "numba")
"""Loaded once, before the copies are made; JAX is not: its threads would not be copied."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def moments(folder: Path) -> Any:
    """What tells the moment from Python's own audit events:
    "open" (to write), "rename" and "after", the first event past the rename."""
    renamed = False
    place = f"{folder}{os.sep}"

    def moment(event: str, given: tuple) -> str:
        nonlocal renamed
        if renamed:
            return "after"
        inside = (
            given
            and isinstance(given[0], (str, os.PathLike))
            and os.path.abspath(os.fspath(given[0])).startswith(place)
        )
        if event == "open" and inside and (given[2] or 0) & WRITING:
            return "open"
        if event == "os.rename" and inside:
            renamed = True
            return "rename"
        return ""

    return moment


def command(folder: Path, words: list[str], at: str | None, number: int) -> None:
    """In the copy: `backemf WORDS`, with a signal to itself when its moment comes."""
    out = os.open(folder.parent / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(folder)
    moment, done = moments(folder), False

    def hook(event: str, given: tuple) -> None:
        nonlocal done
        if not done and threading.current_thread() is threading.main_thread() and moment(event, given) == at:
            done = True
            os.kill(os.getpid(), number)

    if at is not None:
        sys.addaudithook(hook)
    from backemf.apps.cli.main import main

    sys.argv = ["backemf", *words]
    main()


def run(folder: Path, words: list[str], at: str | float | None, number: int) -> tuple[int, float]:
    """(exit code, negative where a signal ended it; seconds). `at` is a moment's name, or seconds."""
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        code = 0
        try:
            command(folder, words, at if isinstance(at, str) else None, number)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        except BaseException:
            traceback.print_exc()
            code = 99
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    if isinstance(at, float):
        time.sleep(at)
        os.kill(pid, number)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - begun


def main() -> None:
    """Questions come as lines of JSON with a folder, the words, the moment and the signal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        folder, words, at, number = json.loads(line)
        print(json.dumps(run(Path(folder), words, at, number)), flush=True)


if __name__ == "__main__":
    main()
