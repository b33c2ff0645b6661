"""LeRobot datasets (version 2 and 3): one recording per episode and joint,
from `observation.state` and `action`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...findings import Finding, finding
from ..calibration import grips
from ..recording import MUST_TELL, Channel, Keep, ReadError, Recording, Report, everything, silent
from . import parquet

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
    return (folder / "meta" / "info.json").is_file()


def can_read(path: Path, head: bytes) -> bool:
    return is_dataset(path) if path.is_dir() else head.startswith(b"PAR1") and home(path) is not None


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """Every joint of every episode in a dataset, or in one of its data files."""
    folder = home(path)
    if folder is None:
        raise ReadError("no meta/info.json: not a LeRobot dataset")
    content = described(folder)
    features = content["features"]
    files = [path] if path.is_file() else sorted((folder / "data").rglob("*.parquet"))
    if not files:
        raise ReadError(f"no data/**/*.parquet in {folder}: has the dataset been downloaded whole?")
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
    unit, why = _unit(joined[STATE].reshape(len(joined["timestamp"]), -1), features)
    recordings = []
    episodes = np.unique(joined["episode_index"]).astype(int)
    empty = _empty(content, episodes) if path.is_dir() else ()
    for episode in episodes:
        rows = joined["episode_index"] == episode
        columns = {name: values[rows] for name, values in joined.items()}
        recordings += _joints(folder, features, columns, episode, unit, why)
    return [replace(r, findings=(*r.findings, *empty)) for r in recordings] if empty else recordings


def _empty(content: dict[str, Any], episodes: np.ndarray) -> tuple[Finding, ...]:
    """Episodes that are announced and have no rows."""
    total = content.get("total_episodes")
    missing = sorted(set(range(total)) - set(episodes.tolist())) if isinstance(total, int) else []
    if not missing:
        return ()
    some = ", ".join(map(str, missing[:8])) + (" ..." if len(missing) > 8 else "")
    text = f"{len(missing)} of {total} episodes have no rows: {some}"
    return (finding("empty_episodes", text, "download the dataset whole, or leave them", n=len(missing)),)


def described(folder: Path) -> dict[str, Any]:
    """What meta/info.json says, with `features` that have a state."""
    where = folder / "meta" / "info.json"
    try:
        content = json.loads(where.read_text(encoding="utf-8"))
        features = content["features"]
        if not isinstance(features, dict) or STATE not in features:
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
    described = features.get(name)
    names = described.get("names") if isinstance(described, dict) else None
    if isinstance(names, dict):
        names = next(iter(names.values()), None)
    if not isinstance(names, list) or len(names) != width:
        return [str(j) for j in range(width)]
    return [str(n).removesuffix(".pos") for n in names]


def _unit(state: np.ndarray, features: dict[str, Any]) -> tuple[str, str]:
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
