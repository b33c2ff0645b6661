"""Arrays for results, refused with a text where the machine has not the memory for them."""

from __future__ import annotations

import math
import os
import sys

import numpy as np

from ...errors import TooLarge

ASSUMED = 8e9
"""Bytes that are free, where the system does not say."""
UNASKED = 1e8
"""Bytes that are taken without asking the system, which takes longer than a short simulation."""


def new_array(what: str, instead: str, *shape: int) -> np.ndarray:
    """An uninitialised array; the error names its size and what to use instead."""
    wanted = 8.0 * math.prod(shape)
    if wanted > UNASKED and wanted > 0.8 * (free := available()):
        raise TooLarge(
            f"{what} of shape {shape} need {_bytes(wanted)}, and {_bytes(free)} of memory are free; {instead}"
        )
    return np.empty(shape)


def available() -> float:
    """Bytes of memory that are free or can be freed."""
    try:
        if sys.platform.startswith("linux"):
            with open("/proc/meminfo", encoding="ascii") as file:
                return next(
                    float(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")
                )
        if sys.platform == "win32":
            return _available_on_windows()
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, StopIteration, AttributeError):
        return ASSUMED


def _available_on_windows() -> float:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulong) for name in ("length", "load")] + [
            (name, ctypes.c_ulonglong) for name in ("total", "free", *"abcde")
        ]

    status = Status(length=ctypes.sizeof(Status))
    # there on Windows only
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return float(status.free)


def _bytes(n: float) -> str:
    return f"{n / 1e9:.3g} GB" if n >= 1e9 else f"{n / 1e6:.3g} MB"
