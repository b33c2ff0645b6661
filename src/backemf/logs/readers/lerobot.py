"""LeRobot datasets (version 2 and 3): one recording per episode and joint, from `observation.state` and
`action`, as radians of a robot's joints.

Which unit a dataset has is told first; then what meta/info.json, the statistics, the numbers and the steps of
the encoder leave no choice about. A share needs its range: from the calibration file, else from the encoder's
step, which is 200 (a gripper's 100) over the range's counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import json_of, text_of
from ...files import list_in, table_in
from ...findings import Finding, finding
from .. import joint_matching, robot
from ..joint_plausibility import grain
from ..mapping import NONE, SHARES, Origin
from ..recording import MUST_TELL, Channel, Keep, ReadError, Recording, Report, everything, silent
from ..robot import CalibratedJoint, Joint, Robot, grips
from . import parquet

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
    """A dataset's numbers of one robot, what was told of them, and what was found out."""

    folder: Path
    content: Mapping[str, Any]
    """What meta/info.json says."""
    states: Mapping[str, np.ndarray]
    """All that each joint's state was, by its name in the set."""
    joints: Mapping[str, Joint]
    """The robot's joint for each."""
    robot: Robot
    origins: Sequence[Origin]
    findings: list[Finding]

    @property
    def body(self) -> dict[str, np.ndarray]:
        """Joints other than a gripper."""
        return {n: q for n, q in self.states.items() if not robot.grips(n)}


def in_radians(
    recordings: Sequence[Recording], robot: Robot, origins: Sequence[Origin]
) -> tuple[list[Recording], tuple[Origin, ...]]:
    """Recordings of a robot's joints in radians.

    Args:
        recordings: of one dataset, one for each episode and joint.
        robot: whose joints they are.
        origins: what was told of the channels.

    Returns:
        (the recordings with what was found out about their units, a mapping of every joint to radians at the
        robot's zero).

    Raises:
        ReadError: their unit, or the range that a share is of, must be told.
    """
    one = _gather(recordings, robot, origins)
    if one is None:
        return list(recordings), tuple(origins)
    ranges, unit = _ranges(one), _unit(one)
    asks = any(c.name == ACTION for r in recordings for c in r.channels)
    unknown = [name for name in one.states if not _is_told(name, one.joints[name], origins)]
    made = [o for name in unknown for o in _origins(one, name, unit, ranges.get(name), asks)]
    rest = [o for o in origins if not o.calibrated]
    fresh = []
    for r in recordings:
        others = (f for f in r.findings if f.code != "units_understood")
        fresh.append(replace(r, findings=(*others, *one.findings), optional=False))
    return fresh, (*rest, *made)


def _gather(recordings: Sequence[Recording], robot: Robot, origins: Sequence[Origin]) -> _Set | None:
    """The numbers of the dataset that recordings are of; None where they are of none, or where names of
    joints are strange and will be asked for."""
    folder = home(Path(recordings[0].source))
    if folder is None:
        return None
    names = list(dict.fromkeys(r.joint for r in recordings))
    found = joint_matching.match(names, robot, origins)
    left_out = {o.channel for o in origins if o.signal == NONE}
    strange = [n for n in names if n not in found and n not in left_out]
    states = {n: _all(recordings, n) for n in names if n in found}
    if not states or (strange and len(states) < len(robot.joints)):
        return None
    return _Set(
        folder=folder,
        content=describe_dataset(folder),
        states=states,
        joints={n: robot.joint(found[n]) for n in states},
        robot=robot,
        origins=origins,
        findings=[],
    )


def _is_told(name: str, joint: Joint, origins: Sequence[Origin]) -> bool:
    """Whether somebody said what a joint's position is, under either name."""
    positions = [o for o in origins if o.signal == "position"]
    spoken = {o.channel.removesuffix(".pos") for o in positions if not o.calibrated}
    return name in spoken or any(o.joint == joint.name for o in positions)


def _all(recordings: Sequence[Recording], joint: str) -> np.ndarray:
    """A joint's state in every episode."""
    channels = [c for r in recordings if r.joint == joint for c in r.channels if c.name == STATE]
    return np.concatenate([c.values for c in channels if c.values is not None] or [np.empty(0)])


def _ranges(one: _Set) -> dict[str, CalibratedJoint]:
    """Calibrated ranges, by the set's names: as told, else from a file that lies with the set."""
    given = {o.channel.removesuffix(".pos"): o.calibrated for o in one.origins if o.calibrated}
    if not given:
        places = (one.folder, one.folder / "meta", one.folder / "calibration")
        files = [f for place in places if place.is_dir() for f in sorted(place.glob("*.json"))]
        given = next((ranges for f in files if (ranges := robot.read(f))), {})
    if given and not set(one.states) & set(given):
        raise ReadError(
            f"the calibration file has none of the joints of {one.folder.name}: it has"
            f" {', '.join(given)}; the dataset has {', '.join(one.states)}"
        )
    return given


def _unit(one: _Set) -> str:
    """What the numbers of the body's joints are in."""
    for origin in one.origins:
        if origin.signal == "position" and origin.channel == STATE and origin.unit:
            return SHARE if origin.unit in SHARES else UNITS.get(origin.unit.lower(), DEG)
    for understood in (_stated_unit, _legacy, _too_far, _by_steps, _at_its_ends):
        answer = understood(one)
        if answer is not None:
            unit, why = answer
            remedy = f'say so if it is not: --map "position={STATE}[deg]" or "position={STATE}[-100..100]"'
            text = f"{one.folder.name} is in {unit}: {why}."
            one.findings.append(finding("units_understood", text, remedy))
            return unit
    joints = ", ".join(one.states)
    raise ReadError(
        f"{one.folder.name} may be in degrees or in -100..100 of each joint's range (RANGE_M100_100):"
        f" meta/info.json and its statistics do not say, and its numbers (up to {_most(one):.4g}) leave both"
        f' open. Say which: --map "position={STATE}[deg]", or --map "position={STATE}[-100..100]" with the'
        f" calibration file (--map follower.json); the joints are {joints}"
    )


def _stated_unit(one: _Set) -> tuple[str, str] | None:
    """A unit that meta/info.json states, where its writer put one."""
    for place in (table_in(one.content["features"].get(STATE)), one.content):
        for key in ("unit", "units", "norm_mode"):
            said = str(place.get(key, "")).lower()
            if said in UNITS:
                return UNITS[said], f"meta/info.json says {key} {place[key]!r}"
        degrees = place.get("use_degrees")
        if degrees in (True, False):
            return DEG if degrees else SHARE, f"meta/info.json says use_degrees {degrees}"
    return None


def _legacy(one: _Set) -> tuple[str, str] | None:
    """Sets from before LeRobot had shares for anything but a gripper call their joints main_*."""
    if one.states and all(n.startswith("main_") for n in one.states):
        why = "its joints are called main_..., as before LeRobot wrote shares; its zeros are of that time"
        return DEG, why
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
            rows.append(json_of(meta / "stats.json"))
        if (meta / "episodes_stats.jsonl").is_file():
            lines = text_of(meta / "episodes_stats.jsonl").splitlines()
            rows += [json.loads(line)["stats"] for line in lines if line.strip()]
        body = [k for k, name in enumerate(one.states) if not robot.grips(name)]
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
    for unit, step in ((DEG, robot.DEGREES), (RAD, robot.COUNT)):
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


def _origins(one: _Set, name: str, unit: str, range_: CalibratedJoint | None, asked: bool) -> list[Origin]:
    """How one joint's numbers become radians of the model."""
    joint = one.joints[name]
    if robot.grips(name):
        factor, offset = _gripper(one, name, range_)
    elif unit == RAD:
        factor, offset = 1.0, 0.0
    elif unit == DEG:
        sign = -1.0 if range_ is not None and range_.turned else 1.0
        factor, offset = sign * robot.COUNT / robot.DEGREES, _zero(joint, range_)
    else:
        factor, offset = _span(one, name, range_) / 200.0, _zero(joint, range_)
    one.findings.extend((*_compare(name, joint, range_), *_ends(name, one.states[name], unit)))
    numbers: dict[str, Any] = {"channel": STATE, "unit": "rad", "factor": factor, "offset": offset}
    made = [Origin(signal="position", joint=joint.name, by="format", **numbers)]
    if asked:
        numbers["channel"] = ACTION
        made.append(Origin(signal="position_target", joint=joint.name, by="format", **numbers))
    return made


def _zero(joint: Joint, range_: CalibratedJoint | None) -> float:
    """Where the middle of the calibrated range is in the model [rad]: in the middle of its range, which is
    its zero where it is about there."""
    if joint.low is None or joint.high is None or (range_ is not None and range_.whole_turn):
        return 0.0
    middle = 0.5 * (joint.low + joint.high)
    return 0.0 if abs(middle) < CENTRED else middle


def _counts(one: _Set, name: str, share: float) -> float | None:
    """Counts of a joint's range, by its encoder's step in shares of which the range has so many."""
    step = grain(one.states[name])
    return share / step if step is not None and COUNTS[0] < share / step < COUNTS[1] else None


def _assume_range(one: _Set, name: str, share: str, low: float) -> None:
    """Say that a share is taken for one of the model's range."""
    text = f"{name}: {share} is taken for the model's range, {low:.4g} to {one.joints[name].high:.4g} rad."
    remedy = "give the calibration file (--map follower.json)"
    one.findings.append(finding("range_assumed", text, remedy))


def _span(one: _Set, name: str, range_: CalibratedJoint | None) -> float:
    """The width of what -100..100 stands for [rad]."""
    if range_ is not None:
        return range_.span
    joint, counts = one.joints[name], _counts(one, name, 200.0)
    if counts is not None:
        text = f"{name}: -100..100 are {counts:.0f} counts, by its encoder's step of {200.0 / counts:.4g}."
        remedy = "give the calibration file to be sure"
        one.findings.append(finding("range_by_steps", text, remedy, counts=counts))
        return counts * robot.COUNT
    chosen = any(o.channel == STATE and o.unit in SHARES for o in one.origins)
    if chosen and math.isfinite(joint.span):
        _assume_range(one, name, "-100..100", joint.low or 0.0)
        return joint.span
    kind = one.content.get("robot_type") or "ROBOT"
    raise ReadError(
        f"{one.folder.name} is in -100..100 (RANGE_M100_100), the share of each joint's calibrated range, and"
        f" the range of {name} is not known: no calibration file lies with the dataset. LeRobot keeps it in"
        f" ~/.cache/huggingface/lerobot/calibration/robots/{kind}/ID.json: give it (--map ID.json); or say"
        f' that the ranges are those of {one.robot.name}: --map "position={STATE}[-100..100]"'
    )


def _gripper(one: _Set, name: str, range_: CalibratedJoint | None) -> tuple[float, float]:
    """(factor, offset) of a gripper, which is 0 to 100 of its range whatever the others are in."""
    low, span = one.joints[name].low or 0.0, one.joints[name].span
    counts = _counts(one, name, 100.0)
    if range_ is not None:
        span = range_.span
    elif counts is not None:
        span = counts * robot.COUNT
    elif math.isfinite(span):
        _assume_range(one, name, "0..100", low)
    else:
        raise ReadError(f"{name}: 0..100 of a range that neither the model nor a calibration file tells")
    return span / 100.0, low


def _compare(name: str, joint: Joint, range_: CalibratedJoint | None) -> Iterator[Finding]:
    """A calibrated range that is not the model's."""
    if range_ is None or range_.whole_turn or not math.isfinite(joint.span):
        return
    if not 1 / LIKE < range_.span / joint.span < LIKE:
        text = (
            f"{name} was calibrated over {range_.span:.4g} rad, {range_.low:.0f} to {range_.high:.0f}"
            f" counts; its range in the model is {joint.span:.4g} rad: its zero, in the middle, may be off."
        )
        remedy = "move every joint to both its ends when calibrating, or use the model of this very robot"
        yield finding("calibrated_range", text, remedy, span=range_.span, model=joint.span)


def _ends(name: str, q: np.ndarray, unit: str) -> Iterator[Finding]:
    """Shares that were cut off at an end of the range."""
    if unit != SHARE or robot.grips(name) or not len(q):
        return
    share = float(np.mean(np.abs(q) >= 100.0))
    if share > CLIPPED:
        text = f"{name} is at an end of -100..100 in {100 * share:.0f} % of the samples, where it is cut off."
        yield finding("cut_off_share", text, "calibrate over the joint's whole range", share=share)


FORMAT = "LeRobot"
SUFFIXES = ()  # a folder, or its Parquet files
STATE, ACTION = "observation.state", "action"
BEYOND = 100.5
"""Beyond this a position is no share of a range."""
LFS = b"version https://git-lfs"
"""How a file begins that Git has not fetched."""
ROWS = ("timestamp", "episode_index", "frame_index")


def home(path: Path) -> Path | None:
    """The folder of the dataset that a path is, or lies in."""
    return next((folder for folder in (path, *path.resolve().parents[:4]) if is_dataset(folder)), None)


def is_dataset(folder: Path) -> bool:
    """Whether a folder is a dataset as LeRobot writes it."""
    return (folder / "meta" / "info.json").is_file()


def split_episodes(path: Path) -> tuple[Path, str]:
    """A dataset, and the episodes that are named behind its #, as in `arm#8` or `arm#0-5,8`; empty: all.

    Args:
        path: of anything; only a dataset's may name episodes.
    """
    head, sharp, words = str(path).rpartition("#")
    return (Path(head), words) if sharp and not path.exists() and is_dataset(Path(head)) else (path, "")


def name_episodes(path: Path, words: str) -> Path:
    """A dataset with some of its episodes named behind a #, in place of those that were.

    Args:
        path: of a dataset.
        words: numbers and ranges, "0-5,8".

    Raises:
        ReadError: it is no dataset, and has no episodes.
    """
    folder, _ = split_episodes(path)
    if not is_dataset(folder):
        raise ReadError(
            f"episodes are {words!r}, and {path} is no LeRobot dataset (it has no meta/info.json); expected"
            " the dataset's folder, or no episodes"
        )
    return Path(f"{folder}#{words.replace(' ', '')}")


def choose_episodes(recordings: Sequence[Recording], words: str) -> list[Recording]:
    """The recordings of some episodes of a dataset.

    Args:
        recordings: of every episode and joint.
        words: numbers and ranges, "0-5,8"; empty: all of them.

    Raises:
        ReadError: the words are none of these, or name an episode that is not there.
    """
    if not words:
        return list(recordings)
    there = {r.name: int(r.name.split("/")[-2]) for r in recordings}
    wanted: set[int] = set()
    for part in words.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (not dash or last.isdecimal())):
            raise ReadError(f"{words!r} names no episodes; expected numbers and ranges, such as 8 or 0-5,8")
        wanted |= {*range(int(first), int(last if dash else first) + 1)}
    absent = sorted(wanted - {*there.values()})
    if absent:
        known = _in_ranges(sorted({*there.values()}))
        raise ReadError(f"there is no episode {_in_ranges(absent)}; those are there: {known}")
    return [replace(r, source=f"{r.source}#{words}") for r in recordings if there[r.name] in wanted]


def _in_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as one says them: 0-5, 8."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def can_read(path: Path, head: bytes) -> bool:
    return is_dataset(path) if path.is_dir() else head.startswith(b"PAR1") and home(path) is not None


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """Every joint of every episode in a dataset, or in one of its data files."""
    folder = home(path)
    if folder is None:
        raise ReadError("no meta/info.json: not a LeRobot dataset")
    content = describe_dataset(folder)
    features = content["features"]
    files = [path] if path.is_file() else sorted((folder / "data").rglob("*.parquet"))
    if not files:
        raise ReadError(f"no data/**/*.parquet in {folder}: has the dataset been downloaded whole?")
    joined = _join(files, features, report)
    unit, why = _unit_of_names(joined[STATE].reshape(len(joined["timestamp"]), -1), features)
    recordings = []
    episodes = np.unique(joined["episode_index"]).astype(int)
    empty = _empty(content, episodes) if path.is_dir() else ()
    for episode in episodes:
        rows = joined["episode_index"] == episode
        columns = {name: values[rows] for name, values in joined.items()}
        recordings += _joints(folder, features, columns, episode, unit, why)
    return [replace(r, findings=(*r.findings, *empty)) for r in recordings] if empty else recordings


def _join(files: Sequence[Path], features: dict[str, Any], report: Report) -> dict[str, np.ndarray]:
    """The columns of all data files."""
    parts: dict[str, list[np.ndarray]] = {}
    for k, file in enumerate(files):
        for name, values in _table(file, features).items():
            parts.setdefault(name, []).append(values)
        report((k + 1) / len(files))
    try:
        joined = {name: np.concatenate(each) for name, each in parts.items()}
    except ValueError:
        raise ReadError("the data files differ in the number of joints") from None
    if len({len(v) for v in joined.values()}) != 1:
        raise ReadError("the data files differ in their columns")
    if not len(joined["timestamp"]):
        raise ReadError("the data files have no rows")
    return joined


def _empty(content: dict[str, Any], episodes: np.ndarray) -> tuple[Finding, ...]:
    """Episodes that are announced and have no rows."""
    total = content.get("total_episodes")
    missing = sorted(set(range(total)) - set(episodes.tolist())) if isinstance(total, int) else []
    if not missing:
        return ()
    some = ", ".join(map(str, missing[:8])) + (" ..." if len(missing) > 8 else "")
    text = f"{len(missing)} of {total} episodes have no rows: {some}"
    return (finding("empty_episodes", text, "download the dataset whole, or leave them", n=len(missing)),)


def describe_dataset(folder: Path) -> dict[str, Any]:
    """What meta/info.json says, with `features` that have a state."""
    where = folder / "meta" / "info.json"
    try:
        content = json_of(where)
        if STATE not in table_in(content["features"]):
            raise KeyError(STATE)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise ReadError(f"{where} has no 'features' with {STATE!r} ({why})") from None
    return content


def _table(path: Path, features: dict[str, Any]) -> dict[str, np.ndarray]:
    """The vectors and the clock of one data file."""
    pa = parquet.pyarrow()
    if path.stat().st_size < 1024 and path.read_bytes().startswith(LFS):
        raise ReadError(f"{path.name} is a pointer of Git LFS, not the data: run git lfs pull in the dataset")
    with parquet.open_file(path) as file:
        there = set(file.schema_arrow.names)
        _complete(path, there)
        signals = (f for f in features if f == ACTION or f.startswith("observation."))
        wanted = [name for name in (*ROWS, *signals) if name in there and "image" not in name]
        parquet.check_size(file, wanted)
        try:
            table = file.read(columns=wanted)
        except parquet.BROKEN as error:
            raise ReadError(f"{path.name} cannot be read: {parquet.reason(error)}") from None
    numbers = {}
    for name in wanted:
        column = table.column(name).combine_chunks()
        kind = parquet.kind_of(pa, column.type)
        if kind:
            numbers[name] = parquet.values_of(pa, column, kind, name)
    _complete(path, set(numbers))
    if not np.isfinite(numbers["episode_index"]).all():
        raise ReadError(f"{path.name} has rows without an episode_index")
    return numbers


def _complete(path: Path, columns: set[str]) -> None:
    lacking = {STATE, *ROWS[:2]} - columns
    if lacking:
        raise ReadError(f"{path.name} has no column of numbers {', '.join(sorted(lacking))}")


def _names(features: dict[str, Any], name: str, width: int) -> list[str]:
    """Names of a vector's elements: as listed, without ".pos" behind them;
    numbers where nothing is listed."""
    names = table_in(features.get(name)).get("names")
    names = list_in(next(iter(table_in(names).values()), names))
    if len(names) != width:
        return [str(j) for j in range(width)]
    return [str(n).removesuffix(".pos") for n in names]


def _unit_of_names(state: np.ndarray, features: dict[str, Any]) -> tuple[str, str]:
    """(the unit of the body's joints, why): degrees where a number is beyond 100, which a share of a range
    cannot be; otherwise it must be told."""
    joints = _names(features, STATE, state.shape[1])
    body = [j for j, joint in enumerate(joints) if not grips(joint)]
    most = float(np.nanmax(np.abs(state[:, body]))) if body and np.isfinite(state[:, body]).any() else 0.0
    if most > BEYOND:
        return "deg", f"{STATE} reaches {most:.4g}, and a share of a range only 100: read in degrees"
    sure = (
        "-100..100, the share of each joint's range" if most == 100.0 else "degrees or -100..100 of a range"
    )
    say = f"position={joints[0]}.pos[-100..100 is -110..110 deg] with its range, or map the calibration file"
    return MUST_TELL, f"LeRobot writes {sure}; the joints are {', '.join(joints)}: {say}"


def _joints(
    folder: Path, features: dict[str, Any], columns: dict[str, np.ndarray], episode: int, unit: str, why: str
) -> list[Recording]:
    state = columns[STATE].reshape(len(columns["timestamp"]), -1)
    joints = _names(features, STATE, state.shape[1])
    vectors = {n: v.reshape(len(state), -1) for n, v in columns.items() if n not in (*ROWS, STATE)}
    recordings = []
    for j, joint in enumerate(joints):
        # A gripper is from 0 to 100 of its range, whatever the others are in.
        known = unit if not grips(joint) else MUST_TELL
        state_is = {"signal": "position", "unit": known, "also": (f"{joint}.pos", joint), "ask": why}
        state_is["written"] = f"{STATE}.{joint}"
        channels = [
            Channel.of("timestamp", columns["timestamp"], signal="time", unit="s"),
            Channel.of(STATE, state[:, j], **state_is),
        ]
        notes = [f"joint {joint!r} of episode {episode}"]
        findings = ()
        if known != MUST_TELL:
            remedy = f"say so if it is not: position={STATE}[rad]"
            findings = (finding("units_understood", why, remedy, position=np.pi / 180.0),)
        for name, values in vectors.items():
            listed = _names(features, name, values.shape[1])
            if joint in listed:
                channels.append(_vector(name, values[:, listed.index(joint)], known, joint))
            elif values.shape[1] == state.shape[1]:
                channels.append(_vector(name, values[:, j], known, listed[j]))
                notes.append(f"{name} has no {joint!r}; its element {j}, {listed[j]!r}, is taken")
            else:
                notes.append(f"{name} has {values.shape[1]} elements, none of them {joint!r}: not used")
        name = f"{folder.resolve().name}/{episode}/{joint}"
        told = {"notes": (*notes, *(f.text for f in findings)), "findings": findings}
        told |= {"where": "frame {}".format, "optional": grips(joint), "joint": joint}
        recordings.append(Recording.of(folder, FORMAT, channels, name, **told))
    return recordings


def _vector(name: str, values: np.ndarray, unit: str, joint: str) -> Channel:
    """An action is what the position was asked to be, in the unit of the state;
    anything else waits to be told."""
    known = {"signal": "position_target", "unit": unit, "like": STATE} if name == ACTION else {}
    return Channel.of(name, values, written=f"{name}.{joint}", **known)
