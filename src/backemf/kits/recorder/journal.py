"""A recording on its way to the disk: every row is written as it comes, and how it ended has its place from
the beginning, so that even a full disk can be told of."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from ...errors import BackemfError
from .reader import GOAL, LOST, MARK, SAMPLE, SWITCH, VERSION

SLOT = 1024
"""Bytes that are kept for how it ended."""


class RecordingJournal:
    """One log file. Rows go to the disk one by one: what is killed loses at most the row being written."""

    def __init__(self, path: Path, head: dict[str, Any]):
        self.path = path
        whole = {MARK: VERSION, **head}
        first = (json.dumps(whole) + "\n").encode()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            raise BackemfError(f"{path} exists; expected a new name") from None
        self._slot = len(first)
        self._write(first + _slot({"ended": None}))
        os.fsync(self._file)
        self.n = 0

    def _write(self, content: bytes) -> None:
        while content:
            content = content[os.write(self._file, content) :]

    def row(self, kind: str, time: float, joint: int, *values: Any) -> None:
        numbers = ",".join(
            repr(v) if isinstance(v, int) else f"{v:.7g}" if isinstance(v, float) else json.dumps(v)
            for v in values
        )
        self._write(f'["{kind}",{time:.6f},{joint},{numbers}]\n'.encode())

    def sample(self, time: float, joint: int, values: tuple[float, ...]) -> None:
        self.row(SAMPLE, time, joint, *values)
        self.n += 1

    def goal(self, time: float, joint: int, position: float) -> None:
        self.row(GOAL, time, joint, position)

    def switch(self, time: float, joint: int, on: bool) -> None:
        self.row(SWITCH, time, joint, int(on))

    def lose(self, time: float, joint: int, why: str) -> None:
        self.row(LOST, time, joint, why)

    def end(self, ended: str, reason: str = "", **facts: Any) -> None:
        """Say how it ended, in its own place, and close."""
        with contextlib.suppress(OSError):
            say(self._file, self._slot, {"ended": ended, "reason": reason, **facts})
        with contextlib.suppress(OSError):
            os.fsync(self._file)
        with contextlib.suppress(OSError):
            os.close(self._file)


def _slot(end: dict[str, Any]) -> bytes:
    text = json.dumps(end).encode()
    if len(text) >= SLOT:
        text = json.dumps({**end, "reason": str(end.get("reason", ""))[:300], "joints": []}).encode()
    return text[: SLOT - 1].ljust(SLOT - 1) + b"\n"


def say(file: int, place: int, end: dict[str, Any]) -> None:
    os.pwrite(file, _slot(end), place)


def close_for(path: Path, reason: str) -> None:
    """Say why a recording ended whose writer is gone."""
    with contextlib.suppress(OSError, ValueError), path.open("r+b") as file:
        first, second = file.readline(), file.readline()
        if len(second) == SLOT and json.loads(second).get("ended") is None:
            say(file.fileno(), len(first), {"ended": "early", "reason": reason})
