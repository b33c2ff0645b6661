"""Recordings of a robot: each channel belongs to the joint that its name has in it, or to all of them; and
logs of a robot from arrays: a matrix or a table of columns by joint for each signal."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import BackemfError, InvalidValue, MissingValue, SignalError, UnknownName
from ..findings import Finding, finding
from . import joint_matching, joint_plausibility, names
from .coupling import uncouple
from .log import ASKED, MEASURED, Log, Signal
from .mapping import GOALS, NONE, WHOLE, ChannelMapping, MappingError, Origin, plan
from .recording import Channel, ReadError, Recording
from .robot import Joint, Robot
from .to_log import to_log

FEWEST = 7
"""Samples that a motion has at least: velocities and accelerations are taken from cubics through five."""


@dataclass(frozen=True, kw_only=True)
class Whole:
    """One recording of a robot, with the channels of each joint apart."""

    name: str
    source: str
    parts: Mapping[str, Recording] = field(default_factory=dict)
    told: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict)
    """What was told of each joint."""
    findings: tuple[Finding, ...] = ()
    left: tuple[str, ...] = ()
    """Channels that belong to no joint, and are none of those that all share."""
    numbered: bool = False
    """Whether columns are the joints' by their order alone."""


def logs(wholes: Sequence[Whole], robot: Robot) -> tuple[list[Log], list[str]]:
    """One log of all joints for each recording, and why some are none; an error where all are."""
    logs: list[Log] = []
    left: dict[str, list[str]] = {}
    for whole in wholes:
        try:
            logs.append(_log(whole, robot))
        except Short as error:
            left.setdefault(str(error), []).append(whole.name)
    said = [f"{', '.join(each)}: {text}" for text, each in left.items()]
    if not logs and said:
        raise ReadError("; ".join(said))
    return logs, said


class Short(ReadError):
    """A recording that is too short for a motion: the others of its file are read without it."""


def _log(whole: Whole, robot: Robot) -> Log:
    joints: dict[str, Log] = {}
    for joint, part in whole.parts.items():
        try:
            one = to_log(part, [o for o in whole.told[joint] if o.signal != WHOLE])
        except BackemfError as error:
            if not part.optional or len(whole.parts) == 1:
                raise ReadError(f"{joint}: {error}") from None
            text = f"{joint} cannot be read and is left out: {error}"
            remedy = "say its unit and range, or leave it: the others are read"
            left_out = finding("joint_left_out", text, remedy)
            whole = replace(whole, findings=(*whole.findings, left_out))
            continue
        for origin in (o for o in whole.told[joint] if o.signal == WHOLE):
            one = apply_sign(one, origin)
        joints[joint] = one
    if robot.coupling is not None:
        joints = uncouple(joints, robot.coupling, whole.name)
    log = together(robot, whole, joints)
    if len(log) < FEWEST:
        raise Short(f"{len(log)} samples of a motion; expected {FEWEST} at least: record longer")
    joint_plausibility.check(log, robot, whole.numbered)
    return log


def together(robot: Robot, whole: Whole, joints: Mapping[str, Log]) -> Log:
    """A log of all joints from those of each, in the robot's order."""
    if not joints:
        raise ReadError(f"{whole.name}: no joint can be read")
    ordered = {joint: joints[joint] for joint in robot.names if joint in joints}
    whose: dict[str, list[str]] = {}
    for joint, one in ordered.items():
        for text in dict.fromkeys(one.conversions):
            whose.setdefault(text, []).append(joint)
    said = [
        text if len(each) == len(ordered) > 1 else f"{', '.join(each)}: {text}"
        for text, each in whose.items()
    ]
    if whole.left:
        said.append(f"of no joint, not used: {', '.join(whole.left)}")
    findings = [*_common_findings(robot, ordered), *whole.findings]
    alone = [j for j in robot.names if j not in ordered]
    if alone:
        text = (
            f"{', '.join(alone)} of {robot.name} {'have' if len(alone) > 1 else 'has'} no channel in"
            f" {whole.name}: taken to rest in the middle of its range."
        )
        remedy = f'record all joints, or say where one is: --map "{alone[0]}=NAME"'
        findings.append(finding("joints_not_recorded", text, remedy, joints=len(alone)))
    return Log(
        name=whole.name,
        signals={},
        joints={joint: replace(one, name=f"{whole.name}/{joint}") for joint, one in ordered.items()},
        robot=robot,
        conversions=tuple(said),
        findings=tuple(findings),
        source=whole.source,
    )


def _common_findings(robot: Robot, joints: Mapping[str, Log]) -> list[Finding]:
    """Those of every joint."""
    first, ranged = next(iter(joints.values())), all(j.low is not None for j in robot.joints)
    return [
        f
        for f in first.findings
        if all(f in joint.findings for joint in joints.values())
        and not (ranged and f.code == "unit_assumed")  # what is no radians contradicts the ranges
    ]


def apply_sign(log: Log, origin: Origin) -> Log:
    """A joint's log with another sign, scale or zero: `elbow=Elbow,-1+0.1`, the zero in rad."""
    if origin.unit or origin.clock:
        raise MappingError(f"'{origin}' has a unit or a clock; say those of {origin.joint}.position=...")
    if (origin.factor, origin.offset) == (1.0, 0.0):
        return log
    words = (*log.conversions, f"'{origin}' as told")
    return replace(log.rescale(origin.factor, origin.offset), conversions=words)


def split_joints(recordings: Sequence[Recording], robot: Robot, origins: Sequence[Origin]) -> list[Whole]:
    """Recordings with the channels of each joint apart: those of single joints are put together, and those
    of all of them taken apart.

    Args:
        recordings: of one file.
        robot: whose joints they are.
        origins: what was told of the channels.

    Returns:
        One of the whole robot for each time that it was recorded.

    Raises:
        ReadError: names of joints do not match, or a joint was told of that is not there.
    """
    groups: dict[str, list[Recording]] = {}
    for recording in recordings:
        name = recording.name
        if recording.joint and name != recording.joint:
            name = name.removesuffix(recording.joint).rstrip("/ ")
        groups.setdefault(name, []).append(recording)
    return [_split_group(name, group, robot, origins) for name, group in groups.items()]


def _split_group(name: str, group: Sequence[Recording], robot: Robot, origins: Sequence[Origin]) -> Whole:
    """One recording of a robot from those of single joints and those of several."""
    single = _single_joints(group, origins)
    shared = [r for r in group if not r.joint]
    found = joint_matching.match(single, robot, origins)
    strange = [joint for joint in single if joint not in found]
    parts = {mine: single[joint] for joint, mine in found.items()}
    left, numbered = _split_rest(shared, parts, robot, origins, alone=not single)
    ordered = _order_parts(name, parts, robot)
    if single and (not found or (strange and len(ordered) < len(robot.names))):
        raise ReadError(joint_matching.mismatch_words([*single], robot, found))
    seen, findings = joint_matching.assign_commands(ordered, origins)
    of = {joint: _joint_origins(part, joint, (*origins, *seen), robot) for joint, part in ordered.items()}
    absent = next((o for o in origins if o.joint and o.joint not in of), None)
    if absent is not None:
        raise ReadError(
            f"'{absent}' is told, but no channel is {absent.joint}'s; those are there: {', '.join(of)}"
        )
    return Whole(
        name=name,
        source=group[0].source,
        parts=ordered,
        told=of,
        findings=findings,
        left=(*left, *strange),
        numbered=numbered,
    )


def _single_joints(group: Sequence[Recording], origins: Sequence[Origin]) -> dict[str, Recording]:
    """Recordings of a single joint, by its name there, without those that are not wanted."""
    unwanted = {o.channel for o in origins if o.signal == NONE}
    return {r.joint: r for r in group if r.joint and r.joint not in unwanted}


def _order_parts(name: str, parts: Mapping[str, Recording], robot: Robot) -> dict[str, Recording]:
    """The recording of each joint in the robot's order, named after the whole and with one clock."""
    return {
        joint: replace(parts[joint], name=f"{name}/{joint}", channels=_one_clock(parts[joint].channels))
        for joint in robot.names
        if joint in parts
    }


def _split_rest(
    shared: Sequence[Recording],
    parts: dict[str, Recording],
    robot: Robot,
    origins: Sequence[Origin],
    *,
    alone: bool,
) -> tuple[list[str], bool]:
    """Add to `parts` what recordings of several joints hold of each; (channels left over, whether columns
    were taken by number)."""
    left: list[str] = []
    numbered = False
    for recording in shared:
        more, rest, by_number = split(recording, robot, origins, alone=alone)
        numbered = numbered or by_number
        left += rest
        for joint, part in more.items():
            if joint in parts:
                both = (*parts[joint].channels, *part.channels)
                parts[joint] = replace(parts[joint], channels=both)
            elif alone:
                parts[joint] = part
    return left, numbered


def _one_clock(channels: Sequence[Channel]) -> tuple[Channel, ...]:
    """Without the clock of all, where a joint has its own."""
    clocks = [c for c in channels if _is(c, "time")]
    shared = {id(c) for c in clocks if not c.also}
    drop = shared if len(shared) < len(clocks) else set()
    return tuple(c for c in channels if id(c) not in drop)


def _is(channel: Channel, signal: str) -> bool:
    """Whether a channel is a signal by its format, or else by its name."""
    signals = (channel.signal,) if channel.signal else names.recognise(channel.name, channel.unit).signals
    return signals == (signal,)


def split(
    recording: Recording, robot: Robot, origins: Sequence[Origin] = (), alone: bool = True
) -> tuple[dict[str, Recording], list[str], bool]:
    """(the recording of each joint: its own channels under the names they have without it, and those that no
    joint has; channels left over; whether columns were taken by number)."""
    owners, by_number = _owners(recording, robot, origins)
    fronts = _fronts(recording, owners)
    nobody = [c for c in recording.channels if not owners[c.name][0]]
    left = [c.name for c in nobody if _front(c) in fronts]
    common = [c for c in nobody if c.name not in left]
    named = {joint for joint, _ in owners.values()}
    own = {joint: _own_channels(recording, joint, owners) for joint in robot.names if joint in named}
    if alone:
        _check_families(recording, own, robot)
        _check_fronts(fronts, own, robot)
        motors = () if robot.coupling is None else robot.coupling.motors
        own = _with_position(own, recording, origins, motors)
    parts = {joint: replace(recording, channels=(*common, *channels)) for joint, channels in own.items()}
    return parts, left, by_number and bool(named - {""})


def _check_families(recording: Recording, own: Collection[str], robot: Robot) -> None:
    """An error where no joint has channels, and there are vectors of another length than the robot's."""
    for stem, members in _families(recording.channels).items() if not own else ():
        raise ReadError(
            f"{stem} has {len(members)} elements, and {robot.name} has {len(robot.joints)} joints; say whose"
            f' they are: --map "{robot.names[0]}.position={members[0]}", one for each of'
            f" {', '.join(robot.names)}"
        )


def _check_fronts(fronts: Sequence[str], own: Collection[str], robot: Robot) -> None:
    """An error where no joint has channels, or a name is nearly that of a joint without any."""
    missing = [j for j in robot.names if j not in own]
    if not own or any(joint_matching.nearest(f, missing) for f in fronts):
        found = {j: j for j in own}
        raise ReadError(joint_matching.mismatch_words([*found, *fronts], robot, found))


def _with_position(
    own: Mapping[str, list[Channel]], recording: Recording, origins: Sequence[Origin], motors: Sequence[str]
) -> dict[str, list[Channel]]:
    """Without joints of which only a command or a temperature is there, but for motors that move several; an
    error where none is left."""
    told = [o for o in origins if o.signal == "position"]

    def is_position(joint: str, channel: Channel) -> bool:
        names_it = any(o.joint == joint or o.channel in (channel.name, *channel.also) for o in told)
        return names_it or _is(channel, "position")

    kept = {j: c for j, c in own.items() if j in motors or any(is_position(j, one) for one in c)}
    if not kept:
        raise ReadError(
            f"no joint has a position; there are: {', '.join(c.name for c in recording.channels[:20])}"
        )
    return kept


def _owners(
    recording: Recording, robot: Robot, origins: Sequence[Origin]
) -> tuple[dict[str, tuple[str, str]], bool]:
    """(by channel, the joint and what is left of the name; whether columns were taken by number)."""
    spelled = joint_matching.spellings(robot, origins)
    owners = {c.name: owner(c.name, robot, spelled) for c in recording.channels}
    single = [o for o in origins if o.joint and o.signal != WHOLE]
    owners |= {o.channel: (o.joint, o.channel) for o in single if o.channel in owners}
    by_number = not any(joint for joint, _ in owners.values())
    return (owners | _by_number(recording.channels, robot) if by_number else owners), by_number


def _own_channels(recording: Recording, joint: str, owners: Mapping[str, tuple[str, str]]) -> list[Channel]:
    """The channels of one joint, under the names they have without it; a goal alone is its position's."""
    own = [(c, owners[c.name][1] or "position") for c in recording.channels if owners[c.name][0] == joint]
    goals = [c.name for c, rest in own if _is_goal(rest)]
    positions = any(names.recognise(rest, c.unit).signals == ("position",) for c, rest in own)
    channels = []
    for c, rest in own:
        plain = len(goals) == 1 and c.name in goals and positions and not c.signal
        also = (*c.also, c.name, *((rest,) if plain else ()))
        channels.append(replace(c, name="position_target" if plain else rest, also=also, written=c.name))
    return channels


def _front(channel: Channel) -> str:
    """What may be a joint's name before (or behind) what is a signal's."""
    bare, _ = names.split(channel.name)
    for apart in (bare.rpartition("."), bare.rpartition("/"), bare.rpartition("_")):
        if apart[0] and any("position" in s for s in names.recognise(apart[2]).signals):
            return apart[0]
    return ""


def _fronts(recording: Recording, owners: Mapping[str, tuple[str, str]]) -> list[str]:
    """Names that stand where a joint's would, and are no joint's of the robot."""
    fronts = [_front(c) for c in recording.channels if not owners[c.name][0]]
    listed = [f for f in dict.fromkeys(fronts) if f and not names.recognise(f).signals]
    if listed or any(joint for joint, _ in owners.values()):
        return listed
    others = (names.split(c.name)[0].rpartition(".")[0] or c.name for c in recording.channels)
    return [f for f in dict.fromkeys(others) if names.recognise(f).signals != ("time",)]


def owner(
    name: str, robot: Robot, spelled: Sequence[tuple[list[str], Joint]] | None = None
) -> tuple[str, str]:
    """(the joint that a channel's name has in it, what is left of the name); ("", name) where it is none's.
    The joint's actuator's name is as good as its own, and words that tell nothing apart do not count."""
    bare, unit = names.split(name)
    said = [w.lower() for w in names.words(bare)]
    best: tuple[int, str, list[str]] = (0, "", [])
    for mine, joint in joint_matching.spellings(robot) if spelled is None else spelled:
        n = len(mine)
        if n <= best[0]:
            continue
        place = next((k for k in range(len(said) - n + 1) if said[k : k + n] == mine), None)
        if place is not None:
            best = (n, joint.name, [*said[:place], *said[place + n :]])
    rest = "_".join(
        AS_SIGNALS.get(w, w) for w in best[2] if AS_SIGNALS.get(w, w) and w not in joint_matching.EXTRA
    )
    if not best[1]:
        return "", name
    rest = rest or "position"
    return best[1], f"{rest} [{unit}]" if unit else rest


AS_SIGNALS = {"action": "target", "observation": "", "obs": "", "state": "", "states": "", "qpos": "position"}
"""Words of recorders that stand for words of signals, or for nothing."""


def _is_goal(rest: str) -> bool:
    said = {w.lower() for w in names.words(names.split(rest)[0])}
    return bool(said) and said <= {*GOALS, "command", "cmd", "action"}


def _by_number(channels: Sequence[Channel], robot: Robot) -> dict[str, tuple[str, str]]:
    """Columns of one matrix for each signal, in the order of the robot's joints: `position.0` to
    `position.5`, `dof_pos_0` to `dof_pos_5`, `q1` to `q6`."""
    owners = {c.name: ("", c.name) for c in channels}
    for stem, members in _families(channels).items():
        if len(members) == len(robot.joints):
            owners |= {c: (joint, stem) for c, joint in zip(members, robot.names, strict=True)}
    return owners


def _families(channels: Sequence[Channel]) -> dict[str, list[str]]:
    """Columns that are numbered without a gap, in the order of their numbers, by what they are called."""
    families: dict[str, dict[int, str]] = {}
    for c in channels:
        numbered = _NUMBERED.match(c.name)
        if numbered is not None:
            stem = f"{numbered['stem']}{numbered['unit'] or ''}"
            families.setdefault(stem, {})[int(numbered["number"])] = c.name
    return {
        stem: [members[k] for k in sorted(members)]
        for stem, members in families.items()
        if len(members) == max(members) - min(members) + 1 > 1
    }


_NUMBERED = re.compile(
    r"^(?P<stem>.*?[A-Za-z\])])[._ ]?\[?(?P<number>\d+)\]?(?P<unit>\s*[\[(][^\d\[\]()]+[\])])?$"
)
"""A column of a matrix: its name, which one, perhaps its unit."""


def _joint_origins(
    part: Recording, joint: str, origins: Sequence[Origin], robot: Robot
) -> tuple[Origin, ...]:
    """What was told of one joint: of it by name, of its own channels, and of those that are named without a
    joint."""
    mine = {name for c in part.channels for name in (c.name, *c.also)}
    spelled = joint_matching.spellings(robot, origins)

    def is_meant(origin: Origin) -> bool:
        if origin.joint:
            return origin.joint == joint
        of, rest = owner(origin.channel, robot, spelled)
        shared = not of and (rest in mine or origin.signal == "time")
        return origin.channel in mine or shared or origin.channel == NONE

    def names_joint(origin: Origin) -> bool:
        return bool(origin.joint) or bool(owner(origin.channel, robot, spelled)[0])

    kept = [origin for origin in origins if is_meant(origin)]
    special = {origin.signal for origin in kept if names_joint(origin)}
    return tuple(origin for origin in kept if names_joint(origin) or origin.signal not in special)


def plans(whole: Whole) -> dict[str, ChannelMapping]:
    """What each joint's channels are read as."""
    return {
        joint: plan(part.channels, [o for o in whole.told[joint] if o.signal != WHOLE])
        for joint, part in whole.parts.items()
    }


def of_robot(
    name: str,
    time: Any,
    robot: Robot,
    signals: Mapping[str, Any],
    joints: Sequence[str] | None = None,
    settings: Mapping[str, float] | None = None,
) -> Log:
    """One log with a log of each joint.

    Args:
        name: of the log.
        time: of every sample [s]; by joint, where they have clocks of their own.
        robot: whose joints they are.
        signals: by signal, in SI at the joint, a matrix (samples, joints) or arrays by joint.
        joints: whose the columns of a matrix are; None: the robot's, in its order.
        settings: parameters of the actuators that were set, by path.

    Returns:
        The log.

    Raises:
        MissingValue: there are neither positions nor anything that was asked, or a joint has no time.
        InvalidValue: a matrix has another shape than joints and samples.
        ReadError: names, units or the order of columns contradict the robot.
    """
    columns = _columns(name, signals, robot, joints)
    clocks = _by_joint(name, "time", time, robot, joints) if _is_by_name(time) else {}
    known = {joint: own for joint, own in columns.items() if "position" in own or "position" not in signals}
    if unclocked := [joint for joint in known if clocks and joint not in clocks]:
        raise MissingValue(f"{name}: {unclocked[0]} has no time of its own; there are: {', '.join(clocks)}")
    made = {}
    for joint, own in known.items():
        clock = clocks[joint] if clocks else np.asarray(time, float)
        every = _joint_signals(f"{name}, {joint}", clock, own)
        motion = robot.joint(joint).motion
        made[joint] = Log(name=joint, signals=every, motion=motion, settings=settings or {})
    log = together(robot, Whole(name=name, source=""), made)
    by_place = joints is None and not any(map(_is_by_name, signals.values()))
    joint_plausibility.check(log, robot, by_place)
    return log


def _is_by_name(given: Any) -> bool:
    """Whether arrays are given by joint, and not as a matrix."""
    return isinstance(given, Mapping)


def _joint_signals(where: str, clock: Any, own: Mapping[str, np.ndarray]) -> dict[str, Signal]:
    """A joint's signals on its clock; errors say where."""
    try:
        return {signal: Signal(time=clock, values=values) for signal, values in own.items()}
    except SignalError as error:
        raise SignalError(f"{where}: {error}") from None


def _columns(
    name: str, signals: Mapping[str, Any], robot: Robot, joints: Sequence[str] | None
) -> dict[str, dict[str, np.ndarray]]:
    """Values by joint, then by signal; there is none without positions or something that was asked."""
    if not {"position", *ASKED} & {*signals}:
        raise MissingValue(
            f"{name}: a log of a robot has positions, or what is asked of one that nobody recorded"
            f" (position_target=...); given: {', '.join(signals) or 'nothing'}"
        )
    columns: dict[str, dict[str, np.ndarray]] = {}
    for signal, given in signals.items():
        if signal not in (*MEASURED, *ASKED):
            raise UnknownName(f"signal in {name}", signal, (*MEASURED, *ASKED))
        for joint, values in _by_joint(name, signal, given, robot, joints).items():
            columns.setdefault(joint, {})[signal] = values
    return columns


def _by_joint(
    name: str, signal: str, given: Any, robot: Robot, joints: Sequence[str] | None
) -> dict[str, np.ndarray]:
    """The columns of one signal, by joint of the robot."""
    if _is_by_name(given):
        found = joint_matching.match(given, robot)
        strange = [key for key in given if key not in found]
        if strange:
            raise ReadError(f"{name}, {signal}: {joint_matching.mismatch_words(list(given), robot, found)}")
        return {found[key]: np.asarray(values, float) for key, values in given.items()}
    try:
        matrix = np.asarray(given, float)
    except (TypeError, ValueError):
        raise InvalidValue(f"{name}: {signal} is {given!r:.60}; expected numbers (samples, joints)") from None
    if matrix.ndim != 2:
        shape = f"{signal} has the shape {matrix.shape}"
        raise InvalidValue(f"{name}: {shape}; expected (samples, joints), or arrays by joint in a dictionary")
    listed = list(robot.names if joints is None else joints)
    if matrix.shape[1] != len(listed):
        turned = " (is it (joints, samples)? transpose it)" if matrix.shape[0] == len(listed) else ""
        raise InvalidValue(
            f"{name}: {signal} has {matrix.shape[1]} columns for {len(listed)} joints{turned}; name those"
            f" that were recorded: joints=[...] of {', '.join(robot.names)}"
        )
    found = joint_matching.match(listed, robot)
    if len(found) < len(listed):
        raise ReadError(f"{name}: {joint_matching.mismatch_words(listed, robot, found)}")
    return {found[joint]: matrix[:, k] for k, joint in enumerate(listed)}
