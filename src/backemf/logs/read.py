"""`read`: recordings of any format become Logs in SI; one broken file does not lose the others."""

from __future__ import annotations

import glob
import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BackemfError, BackemfWarning
from ..physics.bench import Bench
from ..registry import SERVICES
from ..signal import Command
from . import joint_channels, joint_plausibility
from .benches import bench_and_robot
from .log import Log, command_of, several
from .mapping import NONE, WHOLE, ChannelMapping, Origin, for_each, mapping, plan
from .names import TARGETS
from .readers import ReadError, lerobot, reader_of, suffixes
from .recording import Channel, Recording
from .robot import Robot
from .to_log import check_decided, to_log

Progress = Callable[[str, float], None]
"""Told a file's name and the fraction of it that is read."""


def read(
    *paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    bench: Bench | Robot | str | None = None,
    map: Any = None,
    between: tuple[float, float] | None = None,
    settings: Mapping[str, float] | None = None,
    command: Command | str | None = None,
    progress: Progress | None = None,
) -> list[Log]:
    """Read recordings; files that cannot be read are named in a warning.

    Args:
        paths: files, folders, datasets ("arm#8" or "arm#0-5,8" for some of its episodes), or patterns such as
            "logs/*.json"; also lists of them.
        bench: what the output carried: a bench, its words ("pendulum mass=0.5kg length=0.1m"), or a file with
            it; or a robot (`be.Robot.read(...)`), of which a recording is one log with one of each joint.
        map: what is what where the names do not say: "position=motor_pos[deg],-1", several of these, or a
            saved file.
        between: the part of each recording to keep [s].
        settings: parameters of the actuator that were set, by path, in SI.
        command: what was asked as a function of time, or its words: "square from=0 to=1rad period=2s".
        progress: told how far each file is read.

    Returns:
        A log for each recording; bench, settings and command come before what the files say.

    Raises:
        ReadError: none of the files can be read, or there are none.
    """
    carried, robot = bench_and_robot(bench)
    asked = command_of(command)
    origins = _with_command(mapping(map, () if robot is None else robot.at_motors.names), asked)
    logs: list[Log] = []
    broken: list[str] = []
    files = find(*(path for given in paths for path in several(given)))
    for path in files:
        try:
            if robot is not None:
                recorded, left = joint_channels.logs(wholes(path, robot, origins, progress), robot)
            else:
                recorded, left = _readable(for_each(_recordings(path, origins, progress), origins))
            words = tuple(str(origin) for origin in origins)
            finished = (_finish_log(log, carried, between, settings, asked) for log in recorded)
            logs += [replace(log, told=words) for log in finished]
            broken += [f"{path}: {text}" for text in left]
        except BackemfError as error:
            if len(files) == 1:
                raise _name_file(path, error) from None
            broken.append(str(_name_file(path, error)))
    logs = _told_apart(logs if robot is None else _judge_signs(logs, robot, origins))
    _say_what_is_broken(broken, len(files), nothing=not logs)
    return logs


def _say_what_is_broken(broken: Sequence[str], n_files: int, *, nothing: bool) -> None:
    """An error where nothing could be read, a warning where something could not."""
    if broken and nothing:
        raise ReadError(f"none of the {n_files} files can be read:\n  " + "\n  ".join(broken))
    if broken and n_files == 1:
        warnings.warn(BackemfWarning(f"left out: {'; '.join(broken)}"), stacklevel=3)
    elif broken:
        said = "\n  ".join([f"{len(broken)} of {n_files} files cannot be read and are left out:", *broken])
        warnings.warn(BackemfWarning(said), stacklevel=3)


def _with_command(origins: tuple[Origin, ...], command: Command | None) -> tuple[Origin, ...]:
    """Where a command is known as a function, what a file sampled of it is not needed, whatever its name."""
    there = {origin.signal for origin in origins}
    unread = (Origin(signal=name, channel=NONE) for name in TARGETS if name not in there)
    return origins if command is None else (*origins, *unread)


def wholes(
    path: Path, robot: Robot, told: Sequence[Origin], progress: Progress | None = None
) -> list[joint_channels.Whole]:
    """A file's recordings of a robot, with the channels of each joint apart."""
    dataset, episodes = lerobot.split_episodes(path)
    recordings = _recordings(dataset, told, progress, whole=True)
    if recordings and recordings[0].format == lerobot.FORMAT:  # whose units all episodes tell together
        recordings, told = lerobot.in_radians(recordings, robot, told)
        recordings = lerobot.choose_episodes(recordings, episodes)
    return joint_channels.split_joints(recordings, robot.at_motors, told)


def _judge_signs(logs: Sequence[Log], robot: Robot, origins: Sequence[Origin]) -> list[Log]:
    """Logs of a robot in radians, with what contradicts its model; an error where that was told."""
    logs = joint_plausibility.unfold_shares(logs)
    answer = SERVICES.signs.find_contradiction(robot, logs) if logs and robot.model else None
    mistakes, said = answer or ((), None)
    for origin in origins:
        if said is not None and origin.signal == WHOLE and origin.factor < 0 and origin.joint in mistakes:
            raise ReadError(f"'{origin}' turns {origin.joint} round, but {said.text} Leave the -1 out")
    more = (said,) if said is not None else ()
    return [
        replace(log, findings=(*log.findings, *joint_plausibility.findings(log, robot), *more))
        for log in logs
    ]


def _readable(rows: Sequence[tuple[Recording, tuple[Origin, ...]]]) -> tuple[list[Log], list[str]]:
    """The logs of one file's recordings, and why some of them are none; an error where all are, or one that
    is needed."""
    logs: list[Log] = []
    left: dict[str, list[str]] = {}
    for recording, told in rows:
        try:
            logs.append(to_log(recording, told))
        except BackemfError as error:
            if not recording.optional:
                raise
            left.setdefault(str(error), []).append(recording.name)
    if not logs and left:
        raise ReadError(next(iter(left)))
    return logs, [f"{', '.join(names)}: {text}" for text, names in left.items()]


def _told_apart(logs: list[Log]) -> list[Log]:
    """Logs of one name get their folder's name before it,
    and a number behind it where that does not help: errors are kept by name."""
    for rename in (
        lambda log, k: f"{Path(log.source).parent.name}/{log.name}" if log.source else log.name,
        lambda log, k: f"{log.name} ({k})",
    ):
        count = Counter(log.name for log in logs)
        seen: Counter[str] = Counter()
        fresh = []
        for log in logs:
            seen[log.name] += 1
            fresh.append(replace(log, name=rename(log, seen[log.name])) if count[log.name] > 1 else log)
        logs = fresh
    return logs


@dataclass(frozen=True, kw_only=True)
class Look:
    """A recording as it is, and the log it becomes or the reason why it does not."""

    file: str
    recording: Recording | None = None
    plan: ChannelMapping | None = None
    log: Log | None = None
    problem: str = ""
    whole: joint_channels.Whole | None = None
    """Of a robot, the channels of each joint."""


def look(
    *paths: str | os.PathLike[str],
    map: Any = None,
    bench: Bench | None = None,
    settings: Mapping[str, float] | None = None,
    command: Command | None = None,
    progress: Progress | None = None,
    robot: Robot | None = None,
) -> list[Look]:
    """What is in recordings and what would be read, without giving up where something is unclear.

    Args:
        paths: files, folders, datasets or patterns.
        map: what is what, as for `read`.
        bench: what the output carried.
        settings: parameters of the actuator that were set, by path, in SI.
        command: what was asked as a function of time.
        progress: told how far each file is read.
        robot: that they were recorded on; bench, settings and command do not count then.

    Returns:
        A look at each recording.

    Raises:
        ReadError: there are no such files.
    """
    if robot is not None:
        return _look_at(find(*paths), robot, mapping(map, robot.at_motors.names), progress)
    origins = _with_command(mapping(map), command)
    looks: list[Look] = []
    for path in find(*paths):
        try:
            recordings = _recordings(path, origins, progress, strict=False)
        except BackemfError as error:
            looks.append(Look(file=str(path), problem=str(error)))
            continue
        for recording, mine in for_each(recordings, origins):
            one = Look(file=str(path), recording=recording)
            try:
                one = replace(one, plan=plan(recording.channels, mine))
                log = _finish_log(to_log(recording, mine), bench, None, settings, command)
                looks.append(replace(one, log=log))
            except BackemfError as error:
                looks.append(replace(one, problem=str(error)))
    return looks


def _look_at(
    files: Sequence[Path], robot: Robot, origins: Sequence[Origin], progress: Progress | None
) -> list[Look]:
    """The same of a robot, all joints of a recording at once."""
    looks: list[Look] = []
    for path in files:
        try:
            found_wholes = wholes(path, robot, origins, progress)
        except BackemfError as error:
            looks.append(Look(file=str(path), problem=str(error)))
            continue
        for whole in found_wholes:
            look = Look(file=str(path), whole=whole)
            try:
                looks.append(replace(look, log=joint_channels.logs([whole], robot)[0][0]))
            except BackemfError as error:
                looks.append(replace(look, problem=str(error)))
    read_well = [look.log for look in looks if look.log is not None]
    judged = iter(_judge_signs(read_well, robot, origins) if read_well else ())
    return [look if look.log is None else replace(look, log=next(judged)) for look in looks]


def find(*paths: str | os.PathLike[str], episodes: str | None = None) -> list[Path]:
    """The files and datasets that paths, folders and patterns stand for, each once, in order; with
    `episodes`, "0-5,8", these of each dataset."""
    matched = _matching(*paths)
    return matched if episodes is None else [lerobot.name_episodes(path, episodes) for path in matched]


def exist(*paths: str | os.PathLike[str]) -> bool:
    """Whether all paths, folders and patterns stand for a file or dataset."""
    try:
        return bool(_matching(*paths))
    except ReadError:
        return False


def _matching(*paths: str | os.PathLike[str]) -> list[Path]:
    """The files and datasets alone."""
    if not paths:
        raise ReadError('nothing to read; expected files, folders or patterns such as "logs/*.json"')
    matched: dict[Path, None] = {}
    for given in paths:
        path = Path(os.path.expanduser(given))
        if lerobot.split_episodes(path)[1]:
            files, problem = [path], ""
        elif path.is_dir():
            files = [path] if lerobot.is_dataset(path) else _inside(path)
            problem = f"no recordings in the folder {str(given)!r}; expected files that end in"
            problem = f"{problem} {', '.join(suffixes())}"
        elif path.exists():
            files, problem = [path], ""
        else:
            pattern = glob.has_magic(str(path))
            names = sorted(glob.glob(str(path), recursive=True)) if pattern else []
            files = [p for p in map(Path, names) if p.is_file() or lerobot.is_dataset(p)]
            what = "no file matches" if pattern else "there is no file or folder"
            problem = f"{what} {str(given)!r} (looked in {path.parent if path.is_absolute() else Path.cwd()})"
        if not files:
            raise ReadError(problem)
        matched.update(dict.fromkeys(files))
    return list(matched)


def _inside(folder: Path) -> list[Path]:
    """The recordings directly in a folder; a ROS bag's description of itself is none."""
    there = (p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    files = sorted(p for p in there if p.suffix.lower() in suffixes())
    bag = any(p.suffix.lower() in (".mcap", ".db3") for p in files)
    return [p for p in files if not (bag and p.name == "metadata.yaml")]


def _recordings(
    path: Path, origins: Sequence[Origin], progress: Progress | None, strict: bool = True, whole: bool = False
) -> list[Recording]:
    """The raw recordings of a file, with the values that the mapping needs; or `whole`."""

    def keep(channels: Sequence[Channel]) -> Collection[str]:
        if whole:
            return [c.name for c in channels]
        try:
            steps = plan(channels, origins)
        except BackemfError:
            if strict:
                raise
            return ()
        return check_decided(steps).channels if strict else steps.channels

    def report(fraction: float) -> None:
        if progress is not None:
            progress(path.name, fraction)

    path, episodes = lerobot.split_episodes(path)
    try:
        return lerobot.choose_episodes(reader_of(path).entries(path, keep, report), episodes)
    except OSError as error:
        raise ReadError(f"cannot be opened: {error.strerror or error}") from None


def _finish_log(
    log: Log,
    bench: Bench | None,
    between: tuple[float, float] | None,
    settings: Mapping[str, float] | None,
    command: Command | None,
) -> Log:
    each = {name: _finish_log(joint, bench, None, settings, command) for name, joint in log.joints.items()}
    log = replace(log, joints=each)
    if log.joints:  # which have what is told of them
        return log if between is None else log.between(*between)
    if command is not None:
        log = log.with_command(command)
    if bench is not None:
        kept = tuple(f for f in log.findings if f.code not in ("bench_missing", "arm_mass_missing"))
        words = (*log.conversions, f"bench as told: {bench}")
        log = replace(log, bench=bench, findings=kept, conversions=words)
    if settings:
        told = ", ".join(f"{k} = {v:g}" for k, v in settings.items())
        words = (*log.conversions, f"settings as told: {told}")
        log = replace(log, settings={**log.settings, **settings}, conversions=words)
    return log if between is None else log.between(*between)


def _name_file(path: Path, error: BackemfError) -> BackemfError:
    """The same kind of error, with the file in front."""
    text = f"{path}: {error}"
    try:
        return type(error)(text)
    except TypeError:  # an error that builds its own text
        return ReadError(text)
