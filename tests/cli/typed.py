"""A command line in this process, which has everything loaded: the same words, files and answers."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from ..fuzz.command_worker import run


def typed(*words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """`backemf WORDS`, in a folder, as if a process of its own had run it."""
    with contextlib.chdir(cwd or Path.cwd()), pytest.MonkeyPatch.context() as patch:
        for name, value in {"COLUMNS": "120", **environment}.items():
            patch.setenv(name, value)
        code, out, err = run(list(words))
    assert isinstance(code, int), code
    return subprocess.CompletedProcess(list(words), code, out, err)
