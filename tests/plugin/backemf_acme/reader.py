"""Recordings of Acme's bench: a first line that says so, then time [ms], position and goal [deg]."""

from pathlib import Path

import numpy as np

from backemf.finding_codes import Code
from backemf.findings import finding
from backemf.logs.recording import Channel, Recording, everything, silent

FORMAT = "Acme"
SUFFIXES = (".acme",)
RESTARTED = Code("log", "Acme's bench was switched on again during the recording")


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(b"ACME BENCH")


def entries(path: Path, keep=everything, report=silent) -> list[Recording]:
    """The one recording of a file."""
    time, position, goal = np.loadtxt(path, skiprows=1, unpack=True)
    again = np.flatnonzero(np.diff(time) < 0)
    for k in again:
        time[k + 1 :] += time[k] - time[k + 1] + 10.0
    text = f"the bench was switched on again after row {again[0] + 1}." if len(again) else ""
    findings = [finding("acme_restarted", text, "record anew", times=len(again))] if text else []
    channels = (
        Channel.of("time", time, unit="ms", signal="time"),
        Channel.of("angle", position, unit="deg", signal="position"),
        Channel.of("goal", goal, unit="deg", signal="position_target"),
    )
    return [Recording.of(path, FORMAT, channels, findings=tuple(findings))]
