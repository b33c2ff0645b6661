"""A process that answers in time goes before others, where the system lets it."""

from __future__ import annotations

import contextlib
import os

NICE = -15
"""What the system calls eager: -20 is the most."""


def go_first() -> None:
    """Go before other programs; without the right to do so, nothing changes."""
    with contextlib.suppress(OSError, AttributeError):  # not allowed, or a system without such numbers
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
