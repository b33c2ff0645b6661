"""Joints of a robot against the channels of a recording, for `backemf log --robot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ....logs.read import Look
    from ....logs.robot import Robot


def rows_of(one: Look, robot: Robot) -> list[dict[str, Any]]:
    """Every joint with its channels, what they are read as, and where it moved."""
    from ....errors import BackemfError
    from ....logs.joint_channels import plans

    if one.whole is None:
        return []
    try:
        read_as = plans(one.whole)
    except BackemfError:
        read_as = {}
    rows = []
    for joint in robot.joints:
        part = one.whole.parts.get(joint.name)
        log = None if one.log is None else one.log.joints.get(joint.name)
        names = {} if part is None else {c.name: c.written or c.name for c in part.channels}
        origins = read_as[joint.name].origins if joint.name in read_as else ()
        channels = [
            {"name": names.get(o.channel, o.channel), "read_as": o.signal, "unit": o.unit or None, "by": o.by}
            for o in origins
        ]
        q = log["position"] if log is not None and "position" in log else None
        row: dict[str, Any] = {"joint": joint.name, "channels": channels}
        row |= {"low": None if q is None else float(q.min()), "high": None if q is None else float(q.max())}
        row |= {"range": None if joint.low is None else [joint.low, joint.high]}
        rows.append(row)
    return rows


def text_of(rows: list[dict[str, Any]], left: list[str]) -> str:
    """The same as a table; joints without a channel are named in it."""
    from ....tables import number, table

    def cell(row: dict[str, Any], *signals: str) -> str:
        named = [c for c in row["channels"] if c["read_as"] in signals]
        return ", ".join(c["name"] + (f" [{c['unit']}]" if c["unit"] else "") for c in named) or "-"

    listed = []
    for row in rows:
        more = [
            c["read_as"]
            for c in row["channels"]
            if c["read_as"] not in ("time", "position", "position_target")
        ]
        seen = "-" if row["low"] is None else f"{number(row['low'], 3)} .. {number(row['high'], 3)}"
        of_it = "-" if row["range"] is None else " .. ".join(number(x, 3) for x in row["range"])
        position = cell(row, "position") if row["channels"] else "no channel"
        listed.append(
            (row["joint"], position, cell(row, "position_target"), " ".join(more) or "-", seen, of_it)
        )
    header = ("joint", "position", "its target", "also", "moved [rad]", "range [rad]")
    behind = f"\nOf no joint: {', '.join(left)}" if left else ""
    return f"Joints and their channels:\n{table(listed, header)}{behind}"
