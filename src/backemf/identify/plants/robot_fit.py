"""`fit` for a robot: every joint's actuator from recordings of commands and positions, judged by the
simulation of all joints together."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InvalidValue
from ...findings import Finding
from ...logs.log import Log
from ...logs.robot import Robot
from ...physics.actuator import Actuator
from ...results.fit import Fit, FittedLog, Score, Tried
from ..frictions import law
from ..holdout import split
from ..optimize import Progress
from ..options import LADDER, FitOptions
from ..uncertainty import uncertainty
from . import robot_findings as said
from .coupling import with_coupling, with_steps
from .ground import refined
from .inertia import with_unknowns
from .recordings import RobotRecording, recording_of, with_contact
from .robot_numbers import joint_fits, whole_fit
from .robot_score import score
from .robot_search import Settled, climbed, finished, searched, seen_again, with_law
from .sharing import Setup, actuators_at, check_share
from .starts import starts, without_echo

RUNGS = ("coulomb", "stribeck", "m3", "m4", "m5", "m6")
"""Frictions that a robot's ladder tries, from poor to rich."""
BELOW = {"stribeck": "coulomb", "m3": "coulomb", "m4": "m3", "m5": "m4", "m6": "m5", "lugre": "stribeck"}
QUICK = 7e-3
"""Step of the simulations that rungs are compared by [s]."""
GEARED = "m4"
AS_GOOD = 1.01
"""How much more than the best a poorer friction may leave and is still as good."""
NEAR = 1.03
"""How much more than the best it may leave before the last steps and still come out ahead."""
LAST = re.compile(r"last\s+(\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One friction that was tried."""

    name: str
    settled: Settled
    unseen: list[RobotRecording]
    """What it is judged on, with contact marked."""
    score: Score | None = None

    @property
    def n_numbers(self) -> int:
        return len(self.settled.problem.free)


def fit_robot(given: Any, logs: Sequence[Log], options: FitOptions) -> Fit:
    """Fit every joint of a robot."""
    begun = time.process_time()
    say: Progress = options.progress or (lambda *_: None)
    robot = robot_of(logs)
    training, judged = divided(logs, options.hold_out)
    begin = starts(
        robot,
        given,
        logs,
        joints=None if options.joints is None else tuple(options.joints),
        gains=options.gains,
        firmware=options.firmware,
        prior=options.prior,
    )
    training, echoed = without_echo(training, begin.actuators)
    judged, _ = without_echo(judged, begin.actuators)
    first = next(iter(begin.actuators.values()))
    share = tuple(options.share)
    check_share(share, first)
    wanted = options.friction or usual_law(first)
    seen, unseen = (
        [recording_of(robot, log) for log in training],
        [recording_of(robot, log) for log in judged],
    )
    setup = Setup(
        robot=robot, starts=begin.actuators, share=share, prior=begin.prior, also=tuple(options.also)
    )
    tried: tuple[Tried, ...] = ()
    if wanted == LADDER:
        rungs = _ladder(setup, seen, unseen, options, say)
        say("settling", 0.0, 0.8)
        chosen = simplest([_ended(rung, unseen, options) for rung in nearest(rungs)])
        tried = tuple(_tried(r, r.name == chosen.name) for r in rungs)
    else:
        chosen = _rung(setup, law(wanted), seen, unseen, options, say)
        say("settling", 0.0, 0.85)
        chosen = _ended(chosen, unseen, options, judge=not options.free_inertia)
    s = chosen.settled
    of_inertia: Iterable[Finding] = ()
    if options.free_inertia:
        say("with the robot's own numbers", s.cost, 0.87)
        stated, s = s, with_unknowns(s, options.free_inertia)
        of_inertia = said.of_inertia(
            *(_score(_with_unseen("", one, [], False), QUICK) for one in (stated, s))
        )
        unseen = [recording_of(s.setup.robot, one.log) for one in unseen]
        s = refined(s)
        chosen = _with_unseen(chosen.name, s, unseen, True)
        chosen = replace(chosen, score=_score(chosen))
    assert chosen.score is not None
    sure = uncertainty(s.problem, s.x, robust=s.robust, groupings=(s.problem.of,), own=True)
    sure = with_coupling(s, with_steps(s, sure))
    joints = joint_fits(s, sure, chosen.unseen, options.seed)
    notes: list[Finding] = [*robot.findings, *_common(logs), *begin.findings, *echoed]
    notes += said.of_falls([*seen, *unseen])
    notes += said.of_contact(s, chosen.unseen)
    notes += of_inertia
    notes += said.of_scale(s, joints)
    notes += said.of_followed(s)
    notes += said.of_joints(joints)
    return whole_fit(
        s,
        sure,
        joints,
        score=chosen.score,
        robot=s.setup.robot.on(s.ground),
        findings=tuple(notes),
        rungs=tried,
        judged_on="the coupled simulation of the logs held out" if tried and judged else "",
        logs=tuple(FittedLog.of(log) for log in logs),
        seed=options.seed,
        cpu_s=time.process_time() - begun,
    )


def robot_of(logs: Sequence[Log]) -> Robot:
    """The one robot of all logs."""
    robots = [log.robot for log in logs if log.robot is not None]
    if len(robots) < len(logs):
        alone = next(log.name for log in logs if log.robot is None)
        raise InvalidValue(f"{alone} belongs to no robot; read all logs with bench=be.Robot.read(...)")
    if any(robot != robots[0] for robot in robots):
        raise InvalidValue("the logs belong to different robots; fit one robot at a time")
    if robots[0].base == "recorded":
        raise InvalidValue(
            "base is 'recorded', but logs have no channels for the motion of a base yet; hold it and say"
            " base='held', or give gravity= as the base stood"
        )
    return robots[0]


def usual_law(actuator: Actuator) -> str:
    """The friction of a robot's joints where nobody says: geared servos lose more the more they carry; behind
    a drive that commands torque there is little to tell that by."""
    return actuator.friction.name if actuator.drive.hides_back_emf else GEARED


def divided(logs: Sequence[Log], hold_out: Any) -> tuple[list[Log], list[Log]]:
    """(logs to fit, logs to judge on); "last 40 %" parts every log in time."""
    if isinstance(hold_out, Sequence) and not isinstance(hold_out, str) and len(hold_out) == 1:
        hold_out = hold_out[0]
    last = LAST.fullmatch(hold_out.strip()) if isinstance(hold_out, str) else None
    if last is None:
        return split(logs, hold_out)
    share = 1.0 - float(last[1]) / 100.0
    if not 0.0 < share < 1.0:
        raise InvalidValue(f"hold_out is {hold_out!r}; expected a share above 0 % and below 100 %")
    first, rest = [], []
    for log in logs:
        begin, end = float(log.time[0]), float(log.time[-1])
        cut = begin + share * (end - begin)
        first.append(log.between(begin, cut))
        rest.append(replace(log.between(cut, end), name=f"{log.name} ({hold_out})"))
    return first, rest


def _rung(
    setup: Setup,
    name: str,
    seen: list[RobotRecording],
    unseen: list[RobotRecording],
    options: FitOptions,
    say: Progress,
) -> Rung:
    """One friction, by way of those that it contains."""
    path = [name]
    while path[0] in BELOW:
        path.insert(0, BELOW[path[0]])
    ground = setup.robot.ground
    first = setup.with_starts({j: with_law(a, path[0]) for j, a in setup.starts.items()})
    settled = searched(first, seen, ground, say, True, settle=len(path) == 1)
    for above in path[1:]:
        settled = climbed(settled, above, settle=above == name)
        say(above, 0.0, 0.8)
    return _with_unseen(name, settled, unseen, True)


def _ladder(
    setup: Setup, seen: list[RobotRecording], unseen: list[RobotRecording], options: FitOptions, say: Progress
) -> list[Rung]:
    """Every rung, each from the poorer one that it contains, judged by the coupled simulation."""
    done: dict[str, Settled] = {}
    rungs = []
    for k, name in enumerate(RUNGS):
        below = BELOW.get(name)
        if below in done:
            done[name] = climbed(done[below], name)
        else:
            first = setup.with_starts({j: with_law(a, name) for j, a in setup.starts.items()})
            done[name] = searched(first, seen, setup.robot.ground, None, True)
        rung = _with_unseen(name, done[name], unseen, True)
        together = _score(rung, QUICK)
        rungs.append(replace(rung, score=together))
        done_so_far = 0.85 * (k + 1) / len(RUNGS)
        say(f"{name}: {1e3 * together.rms:.3g} mrad together", 0.0, done_so_far)
    return rungs


def _with_unseen(name: str, settled: Settled, unseen: list[RobotRecording], contact: bool) -> Rung:
    if unseen and contact:
        acts, delays = actuators_at(settled.problem, settled.setup, settled.x)
        unseen, _, _ = with_contact(settled.setup.robot, unseen, acts, delays, settled.ground)
    return Rung(name=name, settled=settled, unseen=unseen)


def _score(rung: Rung, step: float | None = None) -> Score:
    """Of the unseen recordings; where there are none, of those that were fitted."""
    s = rung.settled
    acts, delays = actuators_at(s.problem, s.setup, s.x)
    recordings = rung.unseen or s.recordings
    more = {} if step is None else {"step": step}
    return score(s.setup.robot, acts, delays, s.ground, recordings, held_out=bool(rung.unseen), **more)


def _ended(rung: Rung, unseen: list[RobotRecording], options: FitOptions, judge: bool = True) -> Rung:
    """A rung with contact looked for again, settled with finer steps, and judged."""
    s = rung.settled
    s = seen_again(s, s.setup.robot.ground)
    s = refined(finished(s))
    ended = _with_unseen(rung.name, s, unseen, True)
    return replace(ended, score=_score(ended)) if judge else ended


def nearest(rungs: Sequence[Rung]) -> list[Rung]:
    """The best rung, and the simplest that is near it: only the last steps tell which of them is better."""
    best = min(rungs, key=lambda r: r.score.rms if r.score else np.inf)
    assert best.score is not None
    near = [r for r in rungs if r.score is not None and r.score.rms <= NEAR * best.score.rms]
    first = min(near, key=lambda r: r.n_numbers, default=best)
    return [best] if first is best else [first, best]


def simplest(rungs: Sequence[Rung]) -> Rung:
    """The rung with the fewest numbers that is as good as the best."""
    best = min(rungs, key=lambda r: r.score.rms if r.score else np.inf)
    assert best.score is not None
    good = []
    for rung in rungs:
        assert rung.score is not None
        if rung.score.rms <= AS_GOOD * best.score.rms:
            good.append(rung)
    return min(good, key=lambda r: r.n_numbers)


def _tried(rung: Rung, chosen: bool) -> Tried:
    errors = np.array(list(rung.score.logs.values())) if rung.score else np.zeros(1)
    return Tried(
        friction=rung.name,
        n_parameters=rung.n_numbers,
        training_mae=None,
        held_out_mae=rung.score.rms if rung.score else None,
        standard_error=float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else 0.0,
        chosen=chosen,
    )


def _common(logs: Sequence[Log]) -> list[Finding]:
    """What reading said of all logs, once."""
    seen: dict[tuple[str, str], Finding] = {}
    for log in logs:
        for f in log.findings:
            seen.setdefault((f.code, f.text), f)
    return list(seen.values())
