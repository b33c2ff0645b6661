"""What a browser may ask for at most; every number can be seen in the documentation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class JobLimits:
    """Bounds on uploads, commands and what they may use."""

    file_bytes: int = 200 << 20
    """Of one uploaded file."""
    unpacked_bytes: int = 1 << 30
    """Of what a compressed file holds."""
    rows: int = 2_000_000
    """Of one channel of a recording."""
    project_bytes: int = 1 << 30
    project_files: int = 500
    projects: int = 500
    body_bytes: int = 1 << 20
    """Of any request that is no upload."""
    upload_seconds: float = 300.0
    body_seconds: float = 20.0
    waiting: int = 200
    """Commands that wait or run, of all projects."""
    waiting_each: int = 30
    """Of one project."""
    memory: int = 3 << 30
    """Address space that one command may take, beyond that of the program."""
    quick_seconds: float = 120.0
    """CPU time of a command that is no fit."""
    long_seconds: float = 1800.0
    """CPU time of a fit or a report."""
    written_bytes: int = 512 << 20
    """Of one file that a command writes."""
    answer_bytes: int = 64 << 20
    """Of what a command prints."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def wall(cpu: float) -> float:
    """Time on the clock after which a command is ended, where its CPU time may be so long: a busy machine
    gives a command a part of its time."""
    return 60.0 + 4.0 * cpu
