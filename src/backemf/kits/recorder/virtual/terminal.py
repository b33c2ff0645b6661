"""Pseudo-terminals, where the system has them."""

from __future__ import annotations

import os

from ....errors import NotAvailable


def opened() -> tuple[int, int, str]:
    """The end that a virtual servo holds, the end that others open, and the name under which they do."""
    try:
        import tty
    except ImportError as error:
        raise NotAvailable(
            "a virtual servo needs a pseudo-terminal, which this system has not; "
            "run it on Linux or macOS, or use a CAN protocol, which needs none"
        ) from error
    master, slave = os.openpty()
    for end in (master, slave):
        tty.setraw(end)
    return master, slave, os.ttyname(slave)
