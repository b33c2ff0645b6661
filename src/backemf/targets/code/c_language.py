"""C: names, numbers and comments as it wants them, and the system's compiler: found, named, and asked to
build a shared library."""

from __future__ import annotations

import math
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidValue, NotAvailable
from ..result import as_bytes

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
    """Compile files of a folder into a shared library there.

    Args:
        folder: in which the compiler runs.
        sources: names of the files, and of libraries to link.
        library: name of the result.
        more: further options of the compiler.

    Returns:
        The library.

    Raises:
        NotAvailable: there is no compiler, or it does not run.
        InvalidValue: it refuses the files.
    """
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
            path.write_bytes(as_bytes(content))
        yield Path(name)


MOST = 64
"""Letters of a name: every compiler tells them apart that far."""


def identifier(text: str) -> str:
    """A joint's name as the beginning of names in C: "left/knee" -> "left_knee"."""
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in text).strip("_")[:MOST]
    if not letters:
        return "joint"
    return f"joint_{letters}" if letters[0].isdigit() else letters


def macro(*words: str) -> str:
    """`KNEE_P_MOTOR_RESISTANCE` of its words."""
    return "_".join(words).replace(".", "_").upper()


def literal(value: float, real: str = "double") -> str:
    """A number with every digit."""
    if not math.isfinite(value):
        return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}[str(float(value))]
    return repr(float(value)) + ("f" if real == "float" else "")


def array(values: Sequence[float], real: str = "double", remarks: Iterable[str] = ()) -> str:
    """The inside of an array's braces, a line a number.

    Args:
        values: the numbers.
        real: their type: "double" or "float".
        remarks: one behind each number, where there are some.

    Returns:
        The lines.
    """
    texts = [f"    {literal(value, real)}," for value in values]
    return "\n".join(_with_remarks(texts, remarks))


def _with_remarks(lines: Sequence[str], remarks: Iterable[str]) -> list[str]:
    """Lines with a comment behind each, where there are some."""
    said = [*remarks] or [""] * len(lines)
    pairs = zip(lines, said, strict=True)
    return [line + (f" /* {harmless(text)} */" if text else "") for line, text in pairs]


def enumeration(names: Sequence[str], remarks: Iterable[str] = ()) -> str:
    """Places in an array, by name."""
    rows = [f"    {name} = {i}{',' if i < len(names) - 1 else ''}" for i, name in enumerate(names)]
    return "\n".join(["enum {", *_with_remarks(rows, remarks), "};", ""])


def comment(lines: Sequence[str]) -> str:
    """Lines as a comment of C."""
    inside = "\n   ".join(map(harmless, lines))
    return f"/* {inside} */\n"


def harmless(text: str) -> str:
    """Without what would end a comment, or begin one in it."""
    for bad, good in (("*/", "* /"), ("/*", "/ *"), ("??", "? ?")):
        while bad in text:
            text = text.replace(bad, good)
    return text.removesuffix("\\")


def quote(text: str) -> str:
    """A string of C."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("??", '?""?')
    return f'"{escaped}"'
