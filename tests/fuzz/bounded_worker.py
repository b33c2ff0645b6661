"""Opens hostile files, each in a copy of itself: in Python, and as a command line. Of each one line of JSON:
what came of it, in words, the CPU time and the time that it took, without what others had of the processor
[s], and the most memory that the copy held [bytes]."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .worker import attempt, openers

LOADED = (
    "scipy.optimize",
    "scipy.io",
    "mujoco",
    "pint",
    "numba",
    "yaml",
    "pyarrow.parquet",
    "rosbags.rosbag2",
    "apsw",
)
"""Loaded once, before the copies are made."""
CPU, WALL, SPACE = 20, 60.0, 4 << 30
"""Where a copy is ended, far beyond what it may take: CPU time [s], time [s], address space [bytes]."""
EXPORT = ("export", "{actuator}", "--to")
LONGEST = 4000
"""Letters of what may pass for a sentence, lists of names included."""
WORDS: dict[str, tuple[str, ...]] = {
    "mapping": ("log", "{table}", "--map", "{file}"),
    "sheet": ("datasheet", "{file}"),
    **dict.fromkeys(("bam", "actuator", "isaac"), ("convert", "gain", "{file}", "--torque", "2 N m/rad")),
    "fit": ("report", "{file}", "--no-exports", "-o", "report.html"),
    "motions": ("record", "--bus", "feetech", "--port", "/dev/ttyX", "--motions", "{file}", "-o", "logs"),
    "mjcf explained": ("explain", "{file}"),
    "mjcf source": ("convert", "gain", "{file}", "--torque", "2 N m/rad"),
    "mjcf read": ("conform", "{file}", "--steps", "5"),
    "robot": ("log", "{table}", "--robot", "{file}"),
    "sysid": ("characterize", "{file}"),
    "wpilog": ("characterize", "{file}"),
    "mjcf edited": (*EXPORT, "mujoco", "--into", "{file}", "--joint", "knee", "-o", "new.xml"),
    "urdf edited": (*EXPORT, "urdf", "--into", "{file}", "--joint", "knee", "-o", "new.urdf"),
}  # fmt: skip
"""What a person types about a file of each kind; recordings are looked at by `log`."""


def in_shell(kind: str, path: Path, beside: dict[str, str]) -> tuple[str, str]:
    """(what came of it, in words) of a command line."""
    from backemf.apps.cli.main import FAULT, main

    place = path if "set" not in path.parts else next(p for p in path.parents if p.name == "set")
    words = [w.format(file=place, **beside) for w in WORDS.get(kind, ("log", "{file}"))]
    said = Path("said.txt")
    with said.open("w+", encoding="utf-8") as out:
        sys.argv = ["backemf", *words]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                main()
                code: Any = 0
            except SystemExit as end:
                code = end.code
    text = said.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.startswith("backemf: ")]
    if FAULT in text or "Traceback" in text or code not in (0, 1, 2):
        return "wrong", f"exit {code}: {text[-300:]}"
    if code == 2 and not lines:
        return "wrong", f"exit 2 without a sentence: {text[-300:]}"
    return ("refused", lines[-1]) if code == 2 else ("read", "")


def in_copy(run: Any, kind: str, path: Path, beside: dict[str, str]) -> list[Any]:
    """The answer of a copy of this process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        folder = Path(tempfile.mkdtemp(dir=path.parent))
        os.chdir(folder)
        os.close(reading)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (pages + SPACE, pages + SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            answer = in_shell(kind, path, beside) if run is None else attempt(run, path)
        except BaseException as error:
            answer = ("wrong", f"{type(error).__name__}: {error}"[:300])
        if len(answer[1]) > LONGEST:
            answer = ("wrong", f"a sentence of {len(answer[1])} letters: {answer[1]}")
        os.write(writing, json.dumps([answer[0], answer[1][:500]]).encode())
        os._exit(0)
    os.close(writing)
    began = time.monotonic()
    last = began + WALL
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > last:
            os.kill(pid, signal.SIGKILL)
            last += WALL
        else:
            time.sleep(0.002)
    seconds = time.monotonic() - began - 1e-9 * int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    _, status, used = os.wait4(pid, 0)
    with os.fdopen(reading, "rb") as pipe:
        got = pipe.read()
    answer = json.loads(got) if got else ("wrong", f"it ended with {os.waitstatus_to_exitcode(status)}")
    return [*answer, used.ru_utime + used.ru_stime, seconds, used.ru_maxrss << 10]


def robot(path: Path) -> None:
    import backemf as be

    be.Robot.read(path)


def main() -> None:
    """A line of JSON in, with a kind and a path and files that commands take; a line out, of both ways."""
    import importlib

    for name in LOADED:
        importlib.import_module(name)
    by_kind = {**openers(), "robot": robot}
    from backemf import units
    from backemf.apps.cli import main as _  # noqa: F401  # loaded before the copies are made

    units.factor("deg", "rad", "position")
    for line in sys.stdin:
        kind, name, beside = json.loads(line)
        path = Path(name)
        run = by_kind.get(kind, by_kind[""])
        answers = [in_copy(one, kind, path, beside) for one in (run, None)]
        for made in path.parent.glob("tmp*"):
            shutil.rmtree(made, ignore_errors=True)
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
