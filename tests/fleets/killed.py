"""A worker's work that ends its own process, as a lack of memory would; alone in its file, so that a worker
starts quickly."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def killed(folder: str, unit: str) -> int:
    """How often this unit was begun. One called `once` takes its process down the first time, `always` each
    time."""
    mark = Path(folder) / unit
    times = int(mark.read_text()) if mark.exists() else 0
    mark.write_text(str(times + 1))
    if (unit.startswith("once") and times == 0) or unit.startswith("always"):
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return times + 1


def slow(folder: str, unit: str) -> int:
    """How often this unit was begun; it takes a moment, in which its worker may be killed from outside."""
    mark = Path(folder) / unit
    times = int(mark.read_text()) if mark.exists() else 0
    mark.write_text(str(times + 1))
    time.sleep(0.3)
    return times + 1
