"""From logs to a model you can trust: multi-start least squares with an observer homotopy, priors,
a bench that may be a little wrong, and errors that hold."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..engine.candidates import check_place
from ..engine.rows import DELAY
from ..errors import InvalidValue
from ..findings import Finding
from ..logs.benches import bench_name
from ..logs.log import Log, actuator_and_logs, check_recordings, several
from ..options import takes
from ..physics.actuator import Actuator
from ..results.fit_result import Fit, FittedLog
from .calibrate import with_variation
from .fit_numbers import of_search
from .fit_options import LADDER, FitOptions
from .frictions import check_possible, law, with_friction
from .holdout import split
from .inspect.remedies import PATCHED, UNDERSTOOD, merge_findings
from .optimize import hide_steps
from .plants.bench_plant import BenchPlant, inspection
from .plants.plant import Optimum, Plant
from .play import OF_TEETH, PLAY, rigid
from .search import FrictionSearch
from .uncertainty import Uncertainty, uncertainty, with_terms


def run_fit(
    actuator: Any, logs: Sequence[Log], options: FitOptions, begin: Mapping[str, float] | None = None
) -> Fit:
    """Fit an actuator to logs; or every joint of a robot, where the logs are a robot's.

    Args:
        actuator: where the search starts; of a robot also parts by pattern of joint names,
            {".*": "sts3215-12v"}, or "torque" for motors that nobody knows.
        logs: recordings of one bench or several, or of one robot.
        options: what one may ask.
        begin: numbers of others of its make, by path: tried first, and the only start where they lead to the
            noise of the recordings.

    Returns:
        The fitted actuator, with an error on every number and what stands against it.
    """
    started_at = time.process_time()
    plant = build_plant(actuator, logs, options)
    if options.friction == LADDER:
        from .ladder import climb_ladder

        found = climb_ladder(plant).fit
    else:
        if options.also:
            check_possible(options.also, [options.friction or plant.usual_friction])
        found = make_fit(find_optimum(FrictionSearch(plant, options, begin), options.friction))
    return replace(found, cpu_s=time.process_time() - started_at)


fit = takes(FitOptions)(run_fit)


def build_plant(actuator: Any, logs: Sequence[Log], options: FitOptions, verb: str = "fit") -> Plant:
    """What carries the joints of these logs, with its starts.

    Args:
        actuator: where the search starts, as `run_fit` takes it.
        logs: of benches, or of one robot.
        options: what one may ask.
        verb: what errors call the caller: "fit", "ladder".

    Returns:
        A bench, or a robot where one of the logs has joints.

    Raises:
        InvalidValue: an option does not apply to it, or the arguments are something else.
    """
    recordings = several(logs)
    of_robot = any(isinstance(log, Log) and log.joints for log in recordings)
    options = _with_own_delay(options, not of_robot)
    if of_robot:
        from ..logs.coupling import logs_of_robot
        from .plants.robot_plant import robot_plant

        options.check("robot")
        recordings = logs_of_robot(recordings, options.coupling)
        check_recordings(recordings)
        return robot_plant(actuator, recordings, options)
    actuator, logs = actuator_and_logs(verb, actuator, logs)
    check_recordings(logs)
    options.check("bench", carried_by(logs))
    if options.on != "cpu":
        check_place(options.on)
    return bench_plant(actuator, logs, options)


def _with_own_delay(options: FitOptions, switched: bool) -> FitOptions:
    """A delay among the paths is the recordings' own: a bench's has a switch, a robot's is always free."""
    paths = options.free_paths
    if DELAY not in (*options.also, *(paths or ())):
        return options
    also, only = ([path for path in one if path != DELAY] for one in (options.also, paths or ()))
    return replace(options, also=also, free_paths=paths and only, delay=options.delay or switched)


def bench_plant(actuator: Actuator, logs: Sequence[Log], options: FitOptions) -> BenchPlant:
    """A bench, its recordings inspected and, where that was asked for, mended."""
    faults: list[Finding] = []
    sound, friction = True, options.friction
    if options.inspect:
        other = friction not in (None, LADDER) and law(friction) != actuator.friction.name
        fitted = with_friction(actuator, friction) if friction and other else actuator
        _, inspected = inspection(fitted, logs, options.free_paths, options.prior)
        logs = inspected.mended if options.apply else inspected.logs
        faults = [f for log in inspected.logs for f in log.findings if f.code == UNDERSTOOD]
        faults = merge_findings([*faults, *(() if options.apply else inspected.findings)])
        sound = not inspected.findings or (options.apply and not inspected.open)
        sound = sound and not any(f.code == PATCHED for f in inspected.findings)
    training, held_out = split(logs, options.hold_out)
    start, searched = without_play(actuator, options)
    return BenchPlant(
        start=start,
        logs=training,
        seeks_play=PLAY in options.also,
        options=searched,
        held_out=held_out,
        given=logs,
        faults=tuple(faults),
        sound=sound,
    )


def without_play(actuator: Actuator, options: FitOptions) -> tuple[Actuator, FitOptions]:
    """What is searched first where play is to be found: rigid gears, and all other numbers."""
    if PLAY not in options.also:
        return actuator, options
    return rigid(actuator), replace(options, also=[path for path in options.also if path not in OF_TEETH])


def carried_by(logs: Sequence[Log]) -> str:
    """What these logs are of, in a word: the kind of their bench."""
    benches = [log.bench for log in logs if log.bench is not None]
    return bench_name(benches[0]) if benches else "bench"


def find_optimum(search: FrictionSearch, friction: str | None) -> Optimum:
    """Where the search with a friction comes to rest; without one, with the plant's usual."""
    name = law(friction) if friction else search.plant.usual_friction
    found = search.find(name, search.options.progress)
    if not math.isfinite(found.best.cost):
        raise InvalidValue(
            "the simulation is not finite from any start; check the actuator's numbers and the logs' units"
        )
    return search.settle(found)


def make_fit(optimum: Optimum) -> Fit:
    """The result: judged on the logs held out, with an error on every number; of a search that is stopped
    meanwhile, without what takes long."""
    optimum = optimum.plant.free_unknowns(optimum)
    try:
        fit, uncertainties = _judge(optimum)
    except KeyboardInterrupt:
        optimum = replace(optimum, found=replace(optimum.found, interrupted=True))
        fit, uncertainties = _judge(optimum)
    if optimum.plant.options.bands and not optimum.found.interrupted:
        try:
            with hide_steps():
                fit = with_variation(fit, optimum, uncertainties)
        except KeyboardInterrupt:
            fit = replace(fit, findings=(*fit.findings, *of_search(guessed=False, interrupted=True)))
    asked = optimum.plant.demands() if fit.variation is not None else {}
    rows = (replace(FittedLog.of(log), demands=asked.get(log.name, {})) for log in optimum.plant.given)
    return replace(fit, logs=tuple(rows))


def _judge(optimum: Optimum) -> tuple[Fit, Uncertainty]:
    """(the fit, the errors of its numbers)."""
    plant, p, x = optimum.plant, optimum.problem, optimum.x
    judgement = plant.judge(optimum)
    uncertainties = uncertainty(
        p, x, robust=optimum.robust, groupings=plant.groupings(p), own=plant.schedule.own_logs
    )
    uncertainties = with_terms(uncertainties, plant.error_terms(optimum))
    return plant.make_fit(optimum, judgement, uncertainties), uncertainties
