"""LeRobot's numbers as radians of a robot's joints: which unit a dataset has, and where a share's range lies.

Told first; then what meta/info.json, the statistics, the numbers and the steps of the encoder leave no choice
about. A share needs its range: from the calibration file, else from the encoder's step, which is 200 (a
gripper's 100) over the range's counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...findings import Finding, finding
from .. import calibration
from ..calibration import Calibrated
from ..joints import matching
from ..joints.shares import grain
from ..mapping import NONE, SHARES, Origin
from ..recording import Channel, ReadError, Recording
from ..robot import Joint, Robot
from .lerobot import ACTION, BEYOND, STATE, described, home

DEG, SHARE, RAD = "degrees", "-100..100", "radians"
SAME = 0.01
"""Relative difference up to which an encoder's step is what it may be."""
COUNTS = (250.0, 4096.5)
"""Counts that a joint's range may have."""
CENTRED = 0.1
"""A model's range whose middle is within this of 0 [rad] is taken to have its zero where LeRobot has it."""
LIKE = 1.15
"""How far a calibrated range may be from the model's, as a factor, before that is said."""
CLIPPED = 0.01
"""Share of samples at an end of the range from which on that is said."""
UNITS = {"deg": DEG, "degree": DEG, "degrees": DEG, "rad": RAD, "radian": RAD, "radians": RAD}
UNITS |= {"range_m100_100": SHARE, "-100..100": SHARE, "normalized": SHARE, "percent": SHARE}


@dataclass(frozen=True, kw_only=True)
class _Set:
    """A dataset's numbers of one robot."""

    folder: Path
    states: Mapping[str, np.ndarray]
    """All that each joint's state was, by its name in the set."""
    joints: Mapping[str, Joint]
    """The robot's joint for each."""
    robot: Robot

    @property
    def body(self) -> dict[str, np.ndarray]:
        """Joints other than a gripper."""
        return {n: q for n, q in self.states.items() if not calibration.grips(n)}


def in_radians(
    recordings: Sequence[Recording], robot: Robot, told: Sequence[Origin]
) -> tuple[list[Recording], tuple[Origin, ...]]:
    """The recordings with what was found out about their units, and a mapping of every joint to radians."""
    folder = home(Path(recordings[0].source))
    if folder is None:
        return list(recordings), tuple(told)
    names = list(dict.fromkeys(r.joint for r in recordings))
    found = matching.match(names, robot, told)
    left_out = {o.channel for o in told if o.signal == NONE}
    strange = [n for n in names if n not in found and n not in left_out]
    states = {n: _all(recordings, n) for n in names if n in found}
    one = _Set(folder=folder, states=states, joints={n: robot.joint(found[n]) for n in states}, robot=robot)
    if not states or (strange and len(states) < len(robot.joints)):
        return list(recordings), tuple(told)  # the names will be asked for
    spoken = {o.channel.removesuffix(".pos") for o in told if not o.calibrated and o.signal == "position"}
    known = {n for n in states if n in spoken or _named(one.joints[n], told)}
    ranges = _ranges(one, told)
    findings: list[Finding] = []
    unit = _unit(one, told, ranges, findings)
    made = [
        origin
        for name in states
        if name not in known
        for origin in _origins(
            one, name, unit, ranges.get(name), told, findings, ACTION in _channels(recordings)
        )
    ]
    rest = [o for o in told if not o.calibrated]
    fresh = [replace(r, findings=(*_others(r), *findings), optional=False) for r in recordings]
    return fresh, (*rest, *made)


def _others(recording: Recording) -> list[Finding]:
    return [f for f in recording.findings if f.code != "units_understood"]


def _channels(recordings: Sequence[Recording]) -> set[str]:
    return {c.name for r in recordings for c in r.channels}


def _named(joint: Joint, told: Sequence[Origin]) -> bool:
    return any(o.joint == joint.name and o.signal == "position" for o in told)


def _all(recordings: Sequence[Recording], joint: str) -> np.ndarray:
    """A joint's state in every episode."""
    channels: list[Channel] = [
        c for r in recordings if r.joint == joint for c in r.channels if c.name == STATE
    ]
    return np.concatenate([c.values for c in channels if c.values is not None] or [np.empty(0)])


def _ranges(one: _Set, told: Sequence[Origin]) -> dict[str, Calibrated]:
    """Calibrated ranges, by the set's names: as told, else from a file that lies with the set."""
    given = {o.channel.removesuffix(".pos"): o.calibrated for o in told if o.calibrated}
    if not given:
        places = (one.folder, one.folder / "meta", one.folder / "calibration")
        files = [f for place in places if place.is_dir() for f in sorted(place.glob("*.json"))]
        given = next((ranges for f in files if (ranges := calibration.read(f))), {})
    listed = {name: r for name, r in given.items() if r is not None}
    if listed and not set(one.states) & set(listed):
        raise ReadError(
            f"the calibration file has none of the joints of {one.folder.name}: it has"
            f" {', '.join(listed)}; the dataset has {', '.join(one.states)}"
        )
    return listed


def _unit(
    one: _Set, told: Sequence[Origin], ranges: Mapping[str, Calibrated], findings: list[Finding]
) -> str:
    """What the numbers of the body's joints are in."""
    for origin in told:
        if origin.signal == "position" and origin.channel == STATE and origin.unit:
            return SHARE if origin.unit in SHARES else UNITS.get(origin.unit.lower(), DEG)
    for understood in (_stated, _legacy, _too_far, _by_steps, _at_its_ends):
        answer = understood(one)
        if answer is not None:
            unit, why = answer
            say = f'say so if it is not: --map "position={STATE}[deg]" or "position={STATE}[-100..100]"'
            findings.append(finding("units_understood", f"{one.folder.name} is in {unit}: {why}.", say))
            return unit
    joints = ", ".join(one.states)
    raise ReadError(
        f"{one.folder.name} may be in degrees or in -100..100 of each joint's range (RANGE_M100_100):"
        f" meta/info.json and its statistics do not say, and its numbers (up to {_most(one):.4g}) leave both"
        f' open. Say which: --map "position={STATE}[deg]", or --map "position={STATE}[-100..100]" with the'
        f" calibration file (--map follower.json); the joints are {joints}"
    )


def _stated(one: _Set) -> tuple[str, str] | None:
    """A unit that meta/info.json states, where its writer put one."""
    content = described(one.folder)
    feature = content["features"].get(STATE)
    places = [("features", feature if isinstance(feature, dict) else {}), ("info", content)]
    for _, place in places:
        for key in ("unit", "units", "norm_mode"):
            said = str(place.get(key, "")).lower()
            if said in UNITS:
                return UNITS[said], f"meta/info.json says {key} {place[key]!r}"
        if isinstance(place.get("use_degrees"), bool):
            unit = DEG if place["use_degrees"] else SHARE
            return unit, f"meta/info.json says use_degrees {place['use_degrees']}"
    return None


def _legacy(one: _Set) -> tuple[str, str] | None:
    """Sets from before LeRobot had shares for anything but a gripper call their joints main_*."""
    if one.states and all(n.startswith("main_") for n in one.states):
        return (
            DEG,
            "its joints are called main_..., as before LeRobot wrote shares; its zeros are of that time",
        )
    return None


def _most(one: _Set) -> float:
    """The largest number of the body's joints, in the data and in the set's statistics."""
    seen = [float(np.nanmax(np.abs(q))) for q in one.body.values() if np.isfinite(q).any()]
    return max([*seen, *_statistics(one)], default=0.0)


def _statistics(one: _Set) -> list[float]:
    """Extremes of the body's joints that the set's statistics have: of all episodes, whatever was read."""
    meta, rows = one.folder / "meta", []
    try:
        if (meta / "stats.json").is_file():
            rows.append(json.loads((meta / "stats.json").read_text(encoding="utf-8")))
        if (meta / "episodes_stats.jsonl").is_file():
            lines = (meta / "episodes_stats.jsonl").read_text(encoding="utf-8").splitlines()
            rows += [json.loads(line)["stats"] for line in lines if line.strip()]
        body = [k for k, name in enumerate(one.states) if not calibration.grips(name)]
        return [abs(float(row[STATE][end][k])) for row in rows for end in ("min", "max") for k in body]
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return []  # statistics that cannot be read say nothing


def _too_far(one: _Set) -> tuple[str, str] | None:
    most = _most(one)
    return (DEG, f"it reaches {most:.4g}, and a share only 100") if most > BEYOND else None


def _by_steps(one: _Set) -> tuple[str, str] | None:
    """The encoder's step: the same 0.0879 in degrees, another for each range in shares."""
    steps = {n: s for n, q in one.body.items() if (s := grain(q)) is not None}
    if len(steps) < 2:
        return None
    shown = ", ".join(f"{n} {s:.4g}" for n, s in steps.items())
    values = np.array(list(steps.values()))
    for unit, step in ((DEG, calibration.DEGREES), (RAD, calibration.COUNT)):
        if np.all(np.abs(values / step - 1) < SAME):
            return unit, f"its encoder's step is {step:.4g} in every joint ({shown})"
    counts = 200.0 / values
    if np.all((counts > COUNTS[0]) & (counts < COUNTS[1])) and np.ptp(values) > SAME * values.max():
        return SHARE, f"its encoder's step differs between joints, as ranges do ({shown})"
    return None


def _at_its_ends(one: _Set) -> tuple[str, str] | None:
    """LeRobot keeps a share within its range: an end that is met exactly."""
    at = sum(int(np.sum(np.abs(q) == 100.0)) for q in one.body.values())
    return (SHARE, f"{at} samples are at exactly 100, where LeRobot cuts shares off") if at else None


def _origins(
    one: _Set,
    name: str,
    unit: str,
    range_: Calibrated | None,
    told: Sequence[Origin],
    findings: list[Finding],
    asked: bool,
) -> list[Origin]:
    """How one joint's numbers become radians of the model."""
    joint = one.joints[name]
    if calibration.grips(name):
        factor, offset = _gripper(one, name, joint, range_, findings)
    elif unit == RAD:
        factor, offset = 1.0, 0.0
    elif unit == DEG:
        sign = -1.0 if range_ is not None and range_.turned else 1.0
        factor, offset = sign * calibration.COUNT / calibration.DEGREES, _zero(joint, range_)
    else:
        span = _span(one, name, joint, range_, told, findings)
        factor, offset = span / 200.0, _zero(joint, range_)
    _compare(name, joint, range_, findings)
    _ends(name, one.states[name], unit, findings)
    numbers: dict[str, Any] = {"channel": STATE, "unit": "rad", "factor": factor, "offset": offset}
    made = [Origin(signal="position", joint=joint.name, by="format", **numbers)]
    if asked:
        numbers["channel"] = ACTION
        made.append(Origin(signal="position_target", joint=joint.name, by="format", **numbers))
    return made


def _zero(joint: Joint, range_: Calibrated | None) -> float:
    """Where the middle of the calibrated range is in the model [rad]: in the middle of its range, which is
    its zero where it is about there."""
    if joint.low is None or joint.high is None or (range_ is not None and range_.whole_turn):
        return 0.0
    middle = 0.5 * (joint.low + joint.high)
    return 0.0 if abs(middle) < CENTRED else middle


def _span(
    one: _Set,
    name: str,
    joint: Joint,
    range_: Calibrated | None,
    told: Sequence[Origin],
    findings: list[Finding],
) -> float:
    """The width of what -100..100 stands for [rad]."""
    if range_ is not None:
        return range_.span
    step = grain(one.states[name])
    if step is not None and COUNTS[0] < 200.0 / step < COUNTS[1]:
        counts = 200.0 / step
        text = f"{name}: -100..100 are {counts:.0f} counts, by its encoder's step of {step:.4g}."
        findings.append(
            finding("range_by_steps", text, "give the calibration file to be sure", counts=counts)
        )
        return counts * calibration.COUNT
    chosen = any(o.channel == STATE and o.unit in SHARES for o in told)
    if chosen and math.isfinite(joint.span):
        text = f"{name}: -100..100 is taken for the model's range, {joint.low:.4g} to {joint.high:.4g} rad."
        findings.append(finding("range_assumed", text, "give the calibration file (--map follower.json)"))
        return joint.span
    kind = described(one.folder).get("robot_type") or "ROBOT"
    raise ReadError(
        f"{one.folder.name} is in -100..100 (RANGE_M100_100), the share of each joint's calibrated range, and"
        f" the range of {name} is not known: no calibration file lies with the dataset. LeRobot keeps it in"
        f" ~/.cache/huggingface/lerobot/calibration/robots/{kind}/ID.json: give it (--map ID.json); or say"
        f' that the ranges are those of {one.robot.name}: --map "position={STATE}[-100..100]"'
    )


def _gripper(
    one: _Set, name: str, joint: Joint, range_: Calibrated | None, findings: list[Finding]
) -> tuple[float, float]:
    """(factor, offset) of a gripper, which is 0 to 100 of its range whatever the others are in."""
    low, span = joint.low or 0.0, joint.span
    step = grain(one.states[name])
    if range_ is not None:
        span = range_.span
    elif step is not None and COUNTS[0] < 100.0 / step < COUNTS[1]:
        span = 100.0 / step * calibration.COUNT
    elif math.isfinite(span):
        text = f"{name}: 0..100 is taken for the model's range, {low:.4g} to {joint.high:.4g} rad."
        findings.append(finding("range_assumed", text, "give the calibration file (--map follower.json)"))
    else:
        raise ReadError(f"{name}: 0..100 of a range that neither the model nor a calibration file tells")
    return span / 100.0, low


def _compare(name: str, joint: Joint, range_: Calibrated | None, findings: list[Finding]) -> None:
    if range_ is None or range_.whole_turn or not math.isfinite(joint.span):
        return
    if not 1 / LIKE < range_.span / joint.span < LIKE:
        text = (
            f"{name} was calibrated over {range_.span:.4g} rad, {range_.low:.0f} to {range_.high:.0f}"
            f" counts; its range in the model is {joint.span:.4g} rad: its zero, in the middle, may be off."
        )
        remedy = "move every joint to both its ends when calibrating, or use the model of this very robot"
        findings.append(finding("calibrated_range", text, remedy, span=range_.span, model=joint.span))


def _ends(name: str, q: np.ndarray, unit: str, findings: list[Finding]) -> None:
    """Shares that were cut off at an end of the range."""
    if unit != SHARE or calibration.grips(name) or not len(q):
        return
    share = float(np.mean(np.abs(q) >= 100.0))
    if share > CLIPPED:
        text = f"{name} is at an end of -100..100 in {100 * share:.0f} % of the samples, where it is cut off."
        findings.append(finding("cut_off_share", text, "calibrate over the joint's whole range", share=share))
