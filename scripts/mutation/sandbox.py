"""A private copy of the repository, in which tests run with or without a mutant."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .sites import Mutant, applied

A = TypeVar("A")
B = TypeVar("B")
COPIED = (
    *("src", "tests", "docs", "scripts", "benchmarks"),
    *("pyproject.toml", "Makefile", "README.md", "CHANGELOG.md", "constraints.txt"),
)
MEMORY = 12 * 2**30
"""Bytes a test run may take: a mutant may well ask for everything."""
WAITED = 10.0
"""Seconds on the clock for a second of computing: a busy machine does not make a mutant hang."""
OUT_OF_TIME = getattr(signal, "SIGXCPU", 0)
"""What ends a process that computed too long, where there is such a thing."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a run of tests ended."""

    code: int | None
    """pytest's exit code; None where it was stopped because it took too long."""
    output: str
    seconds: float
    notes: dict = field(default_factory=dict)
    """What the plugin wrote."""

    @property
    def failed(self) -> list[str]:
        return [name for name, outcome in self.notes.get("outcomes", {}).items() if outcome == "failed"]


class Sandbox:
    """A copy of the repository, in a temporary folder with the shared recordings beside it."""

    def __init__(self, root: Path, kernels: Path, shared: Path):
        self.home = Path(tempfile.mkdtemp(prefix="backemf-mutants-"))
        self.root, self.kernels = self.home / "work" / "main", kernels
        self.root.mkdir(parents=True)
        for name in COPIED:
            if (root / name).is_dir():
                skipped = shutil.ignore_patterns("__pycache__", "*.egg-info", ".pytest_cache")
                shutil.copytree(root / name, self.root / name, ignore=skipped)
            elif (root / name).exists():
                shutil.copy2(root / name, self.root / name)
        if shared.is_dir():
            with contextlib.suppress(OSError):  # where links need a right: tests of recordings are skipped
                (self.root.parent / "shared").symlink_to(shared, target_is_directory=True)

    def remove(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    @contextlib.contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """With the mutant in place of its file."""
        path = self.root / mutant.file
        source = path.read_bytes()
        try:
            self._write(path, applied(source, mutant))
            yield
        finally:
            self._write(path, source)

    def _write(self, path: Path, text: bytes) -> None:
        """Python knows compiled files by time and size, which two mutants may share: they are removed."""
        path.write_bytes(text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink(missing_ok=True)

    def run(
        self, tests: Sequence[str], *words: str, limit: float, kernels: Path | None, measure: bool = False
    ) -> Ended:
        """pytest on some tests, in a process of its own that may compute for `limit` seconds;
        without kernels they are compiled anew."""
        scratch = Path(tempfile.mkdtemp(dir=self.home))
        asked, result, printed = scratch / "tests.txt", scratch / "result.json", scratch / "printed.txt"
        asked.write_text("\n".join(tests), encoding="utf-8")
        home = self.home / "home"
        home.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(self.root / "scripts")]),
            "BACKEMF_CACHE": str(kernels or scratch / "kernels"),
            "MUTANTS_RESULT": str(result),
            "MUTANTS_SOURCE": str(self.root / "src") if measure else "",
            "MUTANTS_MEMORY": str(MEMORY),
            "MUTANTS_CPU": str(int(limit)),
            # A mutant may write or remove anything in the user's folders: these are not the user's.
            **dict.fromkeys(("HOME", "USERPROFILE", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(home)),
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutation.plugin"]
        command += ["-m", "not proof"]
        command += [f"--basetemp={scratch / 'tmp'}", *words, f"@{asked}"]
        start = time.monotonic()
        with printed.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(WAITED * limit)
                if code == -OUT_OF_TIME:
                    code = None
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _stop(process)
        ended = Ended(
            code=code,
            output=printed.read_text(encoding="utf-8", errors="replace"),
            seconds=time.monotonic() - start,
            notes=json.loads(result.read_text(encoding="utf-8") or "{}") if result.exists() else {},
        )
        shutil.rmtree(scratch, ignore_errors=True)
        return ended


def _stop(process: subprocess.Popen) -> None:
    """End a run and what it started."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def each(work: Callable[[A], B], items: Iterable[A], workers: int) -> Iterator[B]:
    """Results in order; one worker is this thread itself, so that an interruption stops what it runs."""
    if workers == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
