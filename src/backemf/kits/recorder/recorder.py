"""`record`: play motions on real servos, and write down everything that they say."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...codec import plain
from ...errors import BackemfError, InvalidValue, NotAvailable, UnknownName
from ...logs.benches import bench_of
from ...logs.log import Log
from ...logs.read import read
from ...logs.robot import Robot
from ...options import takes
from ...physics.bench import Bench
from ...planning.arm_paths import arm_problems
from ...planning.motions import Motions, SafetyLimits, usual
from ...planning.plan_options import with_limits
from .arm_motions import arm_motions, robot_of
from .buses import BUSES, BusError, BusServo
from .partner import Guardian, GuardianLost, signals_as_interruptions
from .preflight import briefing, postures, problems, sheet_currents, watch_limits, zero_of
from .reader import SUFFIXES, ending, lines
from .record_options import USUAL, RecordOptions, named_ids, scopes_of

FASTEST = 2000.0
"""Samples a second that are asked for at most."""


ALIVE = 5.0
"""A guardian that plays says something at least this often [s]; it says so ten times a second."""


class RecordingStopped(BackemfError):
    """A motion that ended before its time; what was recorded is in its log."""


def scopes(options: RecordOptions) -> set[str]:
    """Which of its options apply: by its bus, and by whether the motions are the usual ones."""
    usual_ones = {"usual"} if options.motions == USUAL else set()
    return scopes_of(options.bus) | usual_ones | ({"robot"} if options.robot is not None else set())


def run_record(options: RecordOptions) -> list[Log]:
    """Record motions into a folder, one log each, and read them back.

    The first motion needs `yes`, or a `confirm` that is shown what will happen and says True. A motion whose
    log is complete is not played again.

    Returns:
        The logs, in the order of the motions; none with `dry_run`.

    Raises:
        InvalidValue: of a number out of range, or where nobody said that things may move.
        RecordingStopped: where a motion ended before its time.
    """
    _check(options)
    named, zero = named_ids(options.ids), _zero(options.zero)
    robot = None if options.robot is None else robot_of(options.robot, named)
    bench = bench_of(options.bench) if isinstance(options.bench, str) else options.bench
    plan = _early_plan(options, robot, named)
    limits = _limits(options, plan)
    job = {
        **{name: getattr(options, name) for name in ("bus", "baud", "interface", "rate", "speed")},
        **{"port": str(options.port), "zero": zero, "gains": list(options.gains)},
        "ids": {str(id): name for name, id in named.items()},
        "limits": plain(limits, inside=True),
    }
    guardian = Guardian(job)
    with signals_as_interruptions() as again, _tell_of_torque(guardian), guardian:
        survey = guardian.hear()
        limits, by_sheet = sheet_currents(limits, survey, options.start)
        plan = _checked_plan(options, plan, survey, limits, robot)
        kept, places = watch_limits(limits, plan, survey, zero), _places(options, plan, named)
        text = briefing(survey, plan, kept, zero, {k: (str(p), done) for k, (p, done) in places.items()})
        text = f"{text}\n{by_sheet}" if by_sheet else text
        if options.show is not None:
            options.show(text)
        if options.dry_run:
            return []
        todo = [motion for motion in plan.motions if not places[motion.name][1]]
        if todo:
            _need_consent(options, text)
        Path(options.to).mkdir(parents=True, exist_ok=True)
        guardian.send({"do": "limits", "limits": plain(kept, inside=True)})
        for one in todo:
            head = _head(job, survey, one, bench, kept, zero)
            _play(guardian, one, places[one.name][0], head, options.watch, again)
    return read(*[str(path) for path, _ in places.values()], bench=robot)


def _early_plan(options: RecordOptions, robot: Robot | None, named: Mapping[str, int]) -> Motions | None:
    """The motions as far as they are known before a port is opened, so that what is wrong is said then; the
    usual ones of a robot begin where it stands."""
    if robot is not None and options.motions == USUAL:
        return None
    plan = _plan(options)
    plan.for_joints(list(named))
    _places(options, plan, named)
    return plan


def _checked_plan(
    options: RecordOptions,
    plan: Motions | None,
    survey: dict[str, Any],
    limits: SafetyLimits,
    robot: Robot | None,
) -> Motions:
    """The motions, of a robot from where it stands; or why they should not be made."""
    zero = _zero(options.zero)
    here = postures(survey, zero)
    if plan is None and robot is not None and here and not survey["missing"]:
        plan = arm_motions(robot, here, options.amplitude, options.seconds)
    plan = _plan(options) if plan is None else plan
    mistakes = list(problems(survey, plan, limits, zero, str(options.port)))
    if robot is not None and not mistakes:
        mistakes += arm_problems(robot, plan, here, options.table)
    if mistakes:
        raise BusError("\n".join(mistakes))
    return plan


@contextlib.contextmanager
def _tell_of_torque(guardian: Guardian) -> Iterator[None]:
    """An interruption that says whether the torque is off, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as error:
        torque = guardian.help_needed or "every servo confirms that its torque is off"
        words = f"interrupted: {torque}; the same command goes on with the motions that are not done"
        raise type(error)(words) from None


def _places(options: RecordOptions, plan: Motions, named: Mapping[str, int]) -> dict[str, tuple[Path, bool]]:
    """Motion -> where its log goes, and whether a complete one is there. The usual ones of a robot begin
    where it stands: one of the same name is the same."""
    exact = options.robot is None or options.motions != USUAL
    return {motion.name: _place(Path(options.to), motion, named, exact) for motion in plan.motions}


record = takes(RecordOptions)(run_record)


def _check(options: RecordOptions) -> None:
    """Refuse what cannot be recorded, before a port is opened."""
    if not hasattr(os, "pwrite"):
        raise NotAvailable(
            "recording needs processes and files as Linux and macOS have them; use one of these"
        )
    if options.bus not in BUSES:
        raise UnknownName("bus", options.bus, BUSES)
    if not 1.0 <= options.rate <= FASTEST:
        raise InvalidValue(f"rate is {options.rate:g} Hz; expected from 1 to {FASTEST:g}")
    if not options.speed > 0:
        raise InvalidValue(f"speed is {options.speed:g}; expected a number above 0, 1 for real servos")
    if options.robot is not None and options.bench is not None:
        raise InvalidValue(
            f"bench is {options.bench}, and a robot's model says what its joints carry; give one"
        )
    options.check(scopes(options), options.bus)


def _limits(options: RecordOptions, plan: Motions | None) -> SafetyLimits:
    """What holds while something moves: as it is given, or in words on top of the plan's."""
    planned = SafetyLimits() if plan is None else plan.limits
    given = options.limits or planned
    return given if isinstance(given, SafetyLimits) else with_limits(given, planned)


def _need_consent(options: RecordOptions, text: str) -> None:
    """Nothing moves before somebody said so; `text` is what a person is shown."""
    if not options.yes and not (options.confirm is not None and options.confirm(text)):
        raise InvalidValue(
            "nothing was moved: the first motion needs --yes (in Python: yes=True), or a person's"
            " confirmation"
        )


def _play(
    guardian: Guardian,
    motion: Any,
    path: Path,
    head: dict[str, Any],
    watch: Any,
    again: Callable[[], None] = lambda: None,
) -> None:
    guardian.path = path
    guardian.send({"do": "play", "motion": plain(motion), "path": str(path.resolve()), "head": head})
    while True:
        try:
            event = guardian.hear(ALIVE)
        except GuardianLost as error:
            raise RecordingStopped(f"{motion.name} ended early: {error}; its log is {path}") from None
        again()
        if watch is not None:
            watch(event)
        if event["event"] == "done":
            break
    guardian.path = None
    if event["ended"] != "complete":
        raise RecordingStopped(f"{motion.name} ended early: {event['reason']}; its log is {path}")


def _plan(options: RecordOptions) -> Motions:
    given = options.motions
    if given == USUAL:
        return usual(options.amplitude, seconds=options.seconds)
    return given if isinstance(given, Motions) else Motions.read(given)


def _zero(zero: str | float) -> str | float:
    if zero in ("here", "middle"):
        return zero
    try:
        return float(zero)
    except ValueError:
        raise InvalidValue(f"zero is {zero!r}; expected 'middle', 'here' or an angle in radians") from None


def _place(folder: Path, motion: Any, named: Mapping[str, int], exact: bool) -> tuple[Path, bool]:
    """(where the log of a motion goes, whether a complete one is there, `exact` of this very motion). One
    that ended early is kept."""
    if folder.exists() and not folder.is_dir():
        raise InvalidValue(f"{str(folder)!r} is a file; expected a folder for the logs")
    for k in itertools.count(1):
        path = folder / f"{motion.name}{'' if k == 1 else f'-{k}'}{SUFFIXES[0]}"
        if not path.exists():
            return path, False
        try:
            head, end, _ = lines(path)
        except (BackemfError, OSError):
            continue
        same = [j["id"] for j in head["joints"]] == [*named.values()]
        same = same and (not exact or head.get("motion") == plain(motion))
        if ending(end)[0] and not same:
            raise InvalidValue(
                f"{path} is a complete log of another motion or of other servos; give another folder"
            )
        if ending(end)[0]:
            return path, True
    raise AssertionError  # a count never ends


def _head(
    job: dict[str, Any],
    survey: dict[str, Any],
    motion: Any,
    bench: Bench | None,
    limits: SafetyLimits,
    zero: Any,
) -> dict[str, Any]:
    """The first line of a log: everything that is known about it."""
    rows = []
    for said in survey["servos"]:
        offset = zero_of(zero, said["seen"])
        columns = [
            c._replace(offset=offset) if c.name == "position" else c for c in BusServo.of(said).columns
        ]
        rows.append(
            {
                **{key: said[key] for key in ("name", "id", "model", "number", "firmware")},
                **{key: said[key] for key in ("settings", "registers")},
                "columns": [c._asdict() for c in columns],
            }
        )
    began = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    return {
        **{"bus": job["bus"], "port": job["port"], "began": began, "speed": job["speed"]},
        **{"joints": rows, "bench": None if bench is None else plain(bench)},
        **{"motion": plain(motion), "limits": plain(limits, inside=True)},
    }
