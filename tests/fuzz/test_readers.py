"""Broken files of every format: each gives a result or an error that says why;
never another exception, a crash, a hang or all of the memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from ..conftest import ROOT
from . import mutations

FORMATS = (
    "pendulum",
    "arrays",
    "table",
    "yaml",
    "sysid",
    "recorded",
    "motions",
    "wpilog",
    "mat",
    "mat compressed",
    "npz",
    "npy",
    "parquet",
    "lerobot",
    "lerobot facts",
    "mcap",
    "db3",
    "mapping",
    "sheet",
    "actuator",
    "fit",
    "bam",
    "mjcf explained",
    "mjcf edited",
    "mjcf read",
    "mjcf source",
    "isaac",
    "urdf edited",
)


class Worker:
    """A process that answers questions, such as what comes of reading a file;
    started anew where one brought it down."""

    def __init__(self, errors: Path, module: str = "tests.fuzz.worker"):
        self.errors, self.module, self.process = errors, module, None

    def ask(self, *question: object) -> tuple[str, str, float]:
        if self.process is None:
            with self.errors.open("w") as file:
                words = [sys.executable, "-m", self.module]
                place = {
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
                }
                self.process = subprocess.Popen(
                    words,
                    cwd=self.errors.parent,
                    env=place,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=file,
                    text=True,
                )
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(question) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if answer:
            return tuple(json.loads(answer))
        code = self.process.wait()
        self.close()
        said = self.errors.read_text(errors="replace")[:1500]
        return "wrong", f"the process ended with {code}: {said}", 0.0

    def close(self) -> None:
        if self.process is not None:
            for pipe in (self.process.stdin, self.process.stdout):
                assert pipe is not None
                pipe.close()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("worker") / "errors.txt")
    yield made
    made.close()


def written(folder: Path, valid: dict, kind: str, content: bytes) -> Path:
    """A file of some format in a folder with spaces in its name; a dataset with its other half."""
    path = folder / "größe und so" / valid[kind][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    other = {"lerobot": "lerobot facts", "lerobot facts": "lerobot"}.get(kind)
    if other is not None:
        whole = folder / "größe und so" / valid[other][0]
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(valid[other][1])
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files_are_read(tmp_path, valid, worker, kind):
    """What is broken below is whole before."""
    result, words, _ = worker.ask(kind, str(written(tmp_path, valid, kind, valid[kind][1])))
    assert result == "read", words


@pytest.mark.parametrize("kind", FORMATS)
def test_broken_files_are_read_or_refused(tmp_path, valid, worker, kind):
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    content = valid[kind][1]
    broken = list(mutations.of(kind, content, rng))
    if kind in ("actuator", "fit"):
        broken += mutations.nested_parts(json.loads(content))
    wrong, refused = [], 0
    for label, bad in broken:
        result, words, _ = worker.ask(kind, str(written(tmp_path, valid, kind, bad)))
        refused += result == "refused"
        if result == "wrong":
            wrong.append(f"{label}: {words}")
    assert not wrong, f"{len(wrong)} of {len(broken)} broken files:\n" + "\n".join(wrong)
    assert len(broken) >= 40
    assert refused >= 0.2 * len(broken), "hardly any is refused: is anything read at all?"
