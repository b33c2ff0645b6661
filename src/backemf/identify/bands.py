"""Bands: the draws of a fit simulated along a log, and where the recording is to be expected among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine.rows import DELAY
from ..errors import NotAvailable
from ..logs.log import Log, Signal
from ..physics.actuator import Actuator
from ..results.fit_result import Fit, PredictedMotion
from ..results.variation import PredictionBand, Variation, band_around
from . import bench_numbers
from .parameters import FreeParameters
from .plants.recordings import joint_log, recording_of
from .problem import fitted_drive, problem


def variation_in(fit: Fit) -> Variation:
    """What the fit's bands are made of.

    Raises:
        NotAvailable: it has none, with the reason.
    """
    if fit.variation is not None:
        return fit.variation
    refused = next((f for f in fit.findings if f.code == "no_band"), None)
    if refused is not None:
        raise NotAvailable(f"{refused.text} To get a band, {refused.remedy}")
    raise NotAvailable(
        "this fit says nothing of how recordings differ from each other: it is of a version before bands, or"
        " was asked for none; fit again"
    )


def band_of(motion: PredictedMotion) -> PredictionBand:
    """Where the recording of a predicted motion is to be expected.

    Args:
        motion: as `predict_logs` gives it.

    Returns:
        The band on the motion's clock, by joint.

    Raises:
        NotAvailable: the fit has none to give.
    """
    variation = variation_in(motion.fit)
    draws = [variation.by_joint(member) for member in variation.members]
    members = _of_bench(motion, draws) if motion.recording is None else _of_robot(motion, draws)
    return band_around({joint: motion.positions[joint] for joint in motion.joints}, members, variation)


def _of_bench(motion: PredictedMotion, draws: Sequence[Mapping[str, Mapping[str, float]]]) -> Any:
    """By joint, (draws, samples): every draw on the bench, which may hang elsewhere if it was never
    fitted."""
    fit, log = motion.fit, motion.log
    numbers = [draw.get("", {}) for draw in draws]
    logs = [_with_numbers(log, own) for own in numbers]
    if motion.mounting is not None:
        mean, spread = motion.mounting
        angles = mean + spread * np.random.default_rng([fit.seed, 1]).standard_normal(len(logs))
        logs = [
            replace(one, bench=replace(one.bench, **{"hanging": float(a)}))  # pyright: ignore
            for one, a in zip(logs, angles, strict=True)
        ]
    actuator, _ = fitted_drive(fit.actuator, [log])
    late = bench_numbers.latency_of(fit.bench)
    delays = [own.get(DELAY, late) for own in numbers]
    return {"": np.array(_simulate_apart(actuator, logs, delays, fit.substeps))}


def _with_numbers(log: Log, numbers: Mapping[str, float]) -> Log:
    """The log with other numbers of the actuator and its bench; the delay is the caller's."""
    bench = {path.partition(".")[2]: v for path, v in numbers.items() if path.startswith("bench.")}
    own = {path: v for path, v in numbers.items() if path != DELAY and not path.startswith("bench.")}
    carried = replace(log.bench, **bench) if bench and log.bench is not None else log.bench
    return replace(log, settings={**log.settings, **own}, bench=carried)


def _of_robot(motion: PredictedMotion, draws: Sequence[Mapping[str, Mapping[str, float]]]) -> Any:
    """By joint, (draws, samples): every draw of each joint by itself, on a bench that is all the others, and
    as far from the joint as fitted as it is there."""
    fit, robot = motion.fit, motion.fit.robot
    recording = motion.recording
    if not any("position" in joint for joint in motion.log.joints.values()):  # as predicted
        joints = {
            name: replace(one, signals={**one.signals, "position": Signal(time=motion.time, values=q)})
            for name, one in motion.log.joints.items()
            if (q := motion.positions[name]) is not None
        }
        recording = recording_of(robot, replace(motion.log, joints=joints))
    recording = replace(recording, touched=np.zeros(len(motion.time), bool))
    actuator, logs, delays = next(iter(fit.actuators.values())), [], []
    for joint in motion.joints:
        own = {p: v for p, v in fit.actuators[joint].parameters.items() if p != DELAY}
        alone = joint_log(recording, robot, joint, own)
        late = fit.delays.get(joint)
        for numbers in ({}, *(draw.get(joint, {}) for draw in draws)):
            logs.append(_with_numbers(alone, numbers))
            delays.append(numbers.get(DELAY, late))
    runs = _simulate_apart(actuator, logs, delays, fit.substeps)
    each = len(draws) + 1
    found = {}
    for k, joint in enumerate(motion.joints):
        middle, *others = runs[k * each : (k + 1) * each]
        clock = logs[k * each].time
        moved = np.array([np.interp(motion.time, clock, other - middle) for other in others])
        found[joint] = motion.positions[joint] + moved
    return found


def _simulate_apart(
    actuator: Actuator, logs: Sequence[Log], delays: Sequence[float | None], substeps: int
) -> list[np.ndarray]:
    """Positions of logs, each with numbers and a delay of its own."""
    step = bench_numbers.median_step(logs[:1])
    late = bench_numbers.latency(step, actuator.drive.delay or 0.0)
    rows = [
        replace(late, start=delay, low=delay - step, high=delay + step, logs=(k,), group=str(k))
        for k, delay in enumerate(delays)
        if delay is not None
    ]
    p = problem(actuator, logs, FreeParameters(tuple(rows)), outputs=("position",), substeps=substeps)
    return p.predictions(p.first)
