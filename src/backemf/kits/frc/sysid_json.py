"""SysId's JSON of seasons up to 2023: four tests of rows, in rotations;
one recording a test, and a side of a drivetrain."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import json_of
from ...logs.recording import Channel, Keep, ReadError, Recording, Report, everything, silent
from ...physics.maths import is_number

FORMAT = "SysId JSON"
SUFFIXES = (".json",)
TESTS = {
    "slow-forward": "quasistatic-forward",
    "slow-backward": "quasistatic-reverse",
    "fast-forward": "dynamic-forward",
    "fast-backward": "dynamic-reverse",
}
SHORT = {"radians": "rad", "degrees": "deg", "rotations": "rev", "meters": "m", "feet": "ft", "inches": "in"}
"""How a log spells the units of gains."""
LENGTHS = {"meters": 1.0, "feet": 0.3048, "inches": 0.0254}
OLD = 10
"""Numbers in a row of the tool before SysId (github.com/wpilibsuite/frc-characterization)."""
_KEY = re.compile(rb'"(?:slow|fast)-(?:forward|backward)"\s*:|"sysid"\s*:')


def can_read(path: Path, head: bytes) -> bool:
    fits = path.suffix.lower() in SUFFIXES and head.lstrip().startswith(b"{")
    return fits and _KEY.search(head) is not None


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """A recording for every test that has rows.

    Args:
        path: of the file.
        keep: as every reader takes it; all channels are signals here.
        report: told when it is read.

    Returns:
        The recordings, in rotations scaled to the unit that the file names.

    Raises:
        ReadError: where it is no such file, or holds no rows.
    """
    try:
        content = json_of(path)
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or an integer without end
        raise ReadError(f"not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise ReadError(f"expected an object with the tests of SysId, found {type(content).__name__}")
    word = str(content.get("units", "Rotations"))
    unit = SHORT.get(word.lower())
    if unit is None:
        raise ReadError(f"'units' is {word!r}; expected one of {', '.join(w.capitalize() for w in SHORT)}")
    scale = content.get("unitsPerRotation", 1.0)
    if not is_number(scale) or scale == 0:
        raise ReadError(f"'unitsPerRotation' is {scale!r}; expected a number other than 0")
    recordings: list[Recording] = []
    note = f"{word}, {scale:g} a rotation"
    for key, test in TESTS.items():
        rows = content.get(key) or []
        if rows:
            recordings += _recordings(path, test, _table(key, rows), float(scale), unit, note)
    if not recordings:
        raise ReadError(f"no rows in any of {', '.join(TESTS)}")
    report(1.0)
    return recordings


def travel_per_turn(path: Path) -> float | None:
    """How far a turn of the encoder takes a mechanism that slides, as its file says [m]; None where it does
    not."""
    try:
        content = json_of(path)
        unit, scale = str(content["units"]).lower(), float(content["unitsPerRotation"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return abs(scale) * LENGTHS[unit] if unit in LENGTHS and scale else None


def _table(key: str, rows: Any) -> np.ndarray:
    try:
        table = np.asarray(rows, float)
    except (TypeError, ValueError):
        raise ReadError(f"{key!r} has rows of different length, or text in them; expected numbers") from None
    if table.ndim == 2 and table.shape[1] == OLD:
        raise ReadError(
            f"{key!r} has rows of {OLD} numbers, as frc-characterization wrote them before SysId; expected"
            " 4, or 9 for a drivetrain. Write each test as a CSV and say what its columns are: time,"
            " battery, share of it, left and right voltage, left and right position, left and right"
            " velocity, angle of the gyro"
        )
    if table.ndim != 2 or table.shape[1] not in (4, 9):
        raise ReadError(f"{key!r} has rows of {table.shape[1:]} numbers; expected 4, or 9 for a drivetrain")
    _, first = np.unique(table[:, 0], return_index=True)  # in order, each moment once
    return table[first]


def _recordings(
    path: Path, test: str, table: np.ndarray, scale: float, unit: str, note: str
) -> list[Recording]:
    t = table[:, 0]

    def make_recording(
        part: str, volts: np.ndarray, position: np.ndarray, velocity: np.ndarray, size: float, in_unit: str
    ) -> Recording:
        channels = (
            Channel.of("time", t, unit="s", signal="time"),
            Channel.of("voltage", volts, unit="V", signal="voltage"),
            Channel.of("position", size * position, unit=in_unit, signal="position"),
            Channel.of("velocity", size * velocity, unit=f"{in_unit}/s", signal="velocity"),
        )
        name = " ".join(word for word in (test, part, f"({path.stem})") if word)
        return Recording.of(path, FORMAT, channels, name, notes=(f"rotations read as {note}",))

    if table.shape[1] == 4:
        return [make_recording("", table[:, 1], table[:, 2], table[:, 3], scale, unit)]
    left, right, l_pos, r_pos, l_vel, r_vel, angle, rate = table[:, 1:].T
    turning = float(np.sum(left * right)) < 0
    word = " turning" if turning else ""
    sides = [
        make_recording(f"left{word}", left, l_pos, l_vel, scale, unit),
        make_recording(f"right{word}", right, r_pos, r_vel, scale, unit),
    ]
    return (
        [*sides, make_recording("angular", 0.5 * (right - left), angle, rate, 1.0, "rad")]
        if turning
        else sides
    )
