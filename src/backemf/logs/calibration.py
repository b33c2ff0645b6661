"""Calibration files of LeRobot: the range of each joint in encoder counts makes angles of its numbers.

LeRobot writes a position as a share of that range, -100 to 100 (a gripper 0 to 100), which stays within it,
or in degrees from its middle. A turn has 4096 counts, but a turn of its degrees 4095. A servo that is mounted
the other way round (`drive_mode` 1) is turned in shares and not in degrees. `homing_offset` is subtracted in
the servo itself, so counts and range have it already.
(Facts: huggingface/lerobot, motors/motors_bus.py and motors/feetech.)
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

COUNTS = 4096.0
DEGREES = 360.0 / 4095.0
"""What LeRobot calls a count, in its degrees."""
GRIPPER = "gripper"
"""The joint whose share is from 0 to 100."""
COUNT = 2.0 * math.pi / COUNTS


class Calibrated(NamedTuple):
    """One joint of a calibration file, in counts as the servo gives them."""

    low: float
    high: float
    homing: float = 0.0
    turned: bool = False
    """Mounted the other way round."""

    @property
    def span(self) -> float:
        """The width of its range [rad]."""
        return (self.high - self.low) * COUNT

    @property
    def whole_turn(self) -> bool:
        """Whether nothing stops it: LeRobot then writes the whole encoder as its range."""
        return self.high - self.low >= COUNTS - 1.0


def grips(joint: str) -> bool:
    """Whether a joint's share is from 0 to 100: the gripper's, or one of two arms'."""
    return joint == GRIPPER or joint.endswith(f"_{GRIPPER}")


class Share(NamedTuple):
    """Turns = factor * share + offset, from the middle of the range (a gripper: from its lower end)."""

    factor: float
    offset: float = 0.0


def read(path: Path | str) -> dict[str, Calibrated]:
    """The ranges in a calibration file, by joint; none where the file is something else."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or not content:
        return {}
    ranges = {joint: _calibrated(row) for joint, row in content.items()}
    return {} if None in ranges.values() else {joint: r for joint, r in ranges.items() if r is not None}


def share(joint: str, of: Calibrated) -> Share:
    """What a joint's shares are."""
    return Share((of.high - of.low) / COUNTS / (100.0 if grips(joint) else 200.0))


def _calibrated(row: Any) -> Calibrated | None:
    if not isinstance(row, dict):
        return None
    low, high, homing = row.get("range_min"), row.get("range_max"), row.get("homing_offset", 0)
    if not isinstance(low, int | float) or not isinstance(high, int | float) or high <= low:
        return None
    homing = float(homing) if isinstance(homing, int | float) else 0.0
    return Calibrated(float(low), float(high), homing, row.get("drive_mode") == 1)
