"""The system's C compiler: found, named, and asked to build a shared library."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidValue, NotAvailable

KNOWN = ("cc", "gcc", "clang")
PATIENCE = 300
"""Seconds after which a compiler is not waited for any more."""
ENDINGS = {"Windows": ".dll", "Darwin": ".dylib"}


class Compiler(NamedTuple):
    """A compiler and what it calls itself."""

    program: str
    version: str

    def __str__(self) -> str:
        return f"{Path(self.program).name} {self.version}"


def ending() -> str:
    """Of a shared library on this machine."""
    return ENDINGS.get(platform.system(), ".so")


def compiler() -> Compiler:
    """The first of cc, gcc and clang that is there; the environment's CC comes before them."""
    for name in (*filter(None, [os.environ.get("CC")]), *KNOWN):
        program = shutil.which(name)
        if program is not None:
            asked = _run([program, "-dumpfullversion", "-dumpversion"], None)
            return Compiler(program, asked.stdout.strip() or "of unknown version")
    raise NotAvailable(
        f"there is no C compiler ({', '.join(KNOWN)}); install one, for example with: apt install gcc"
    )


def build(folder: Path, sources: Sequence[str], library: str, *more: str) -> Path:
    """Compile files of a folder into a shared library there."""
    # Products and sums stay apart, so that every machine computes the same.
    flags = ("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-shared")
    done = _run([compiler().program, *flags, *more, *sources, "-o", library, "-lm"], folder)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise InvalidValue(f"{', '.join(sources)} does not compile: {(said or ['no reason given'])[0]}")
    return folder / library


def _run(command: list[str], folder: Path | None) -> subprocess.CompletedProcess[str]:
    plain = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, cwd=folder, env=plain, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailable(f"the C compiler {command[0]} does not run: {error}") from None


@contextmanager
def laid_out(files: Mapping[str, str | bytes]) -> Iterator[Path]:
    """A temporary folder with these files."""
    with tempfile.TemporaryDirectory(prefix="backemf-", ignore_cleanup_errors=True) as name:
        for place, content in files.items():
            path = Path(name) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        yield Path(name)
