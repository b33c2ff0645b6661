"""Calibration files of LeRobot: the range of each joint in encoder counts makes angles of its numbers.

LeRobot writes a position as a share of that range, -100 to 100 (a gripper 0 to 100), or in degrees from its
middle; a turn has 4096 counts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

COUNTS = 4096.0
GRIPPER = "gripper"
"""The joint whose share is from 0 to 100."""


class Share(NamedTuple):
    """Turns = factor * share + offset, from the middle of the range (a gripper: from its lower end)."""

    factor: float
    offset: float = 0.0


def read(path: Path | str) -> dict[str, Share]:
    """The ranges in a calibration file, by joint; none where the file is something else."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or not content:
        return {}
    ranges = {joint: _share(joint, row) for joint, row in content.items()}
    return {} if None in ranges.values() else {joint: r for joint, r in ranges.items() if r is not None}


def _share(joint: str, row: Any) -> Share | None:
    if not isinstance(row, dict):
        return None
    low, high = row.get("range_min"), row.get("range_max")
    if not isinstance(low, int | float) or not isinstance(high, int | float) or high <= low:
        return None
    sign = -1.0 if row.get("drive_mode") == 1 else 1.0
    return Share(sign * (high - low) / COUNTS / (100.0 if joint == GRIPPER else 200.0))
