"""The verdict on a fit, in a few sentences: how far off it is where it is used, how far off where it was not
fitted, and what stands against using it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...logs.log import Log
from ...results.fit_result import Fit
from ...targets.mujoco.robots import split_recordings
from .export_results import ReportedExport
from .robot_runs import RobotRuns, simulate_together

GOOD, FAIR = 2.0, 10.0
"""Times the noise floor up to which an error on unseen logs is good, or fair."""
BETTER = 0.5
"""Share of the error of a robot's model as shipped from which on a fit is no gain worth its care."""
ATTACHED = "mujoco-live"
"""The target that carries the whole model into a simulator."""
SERIOUS = ("at_bound", "model_error", "worse_held_out", "interrupted")
"""Findings that no good fit has, the worst first."""
GRAVE = (
    *SERIOUS,
    "clock_drift",
    "delay",
    "sheet_disagrees",
    "mounting_angle",
    "not_identifiable",
    "correlated",
    "firmware_gain_fitted",
)
"""Findings of a fit, the worst first; before them all comes what is wrong with the bench or the sheet."""
WORDS = {"good": "Ready to use", "fair": "Use with care", "poor": "Not to be trusted yet"}


class Deployment(NamedTuple):
    """An export as it runs in its simulator, on recordings; differences are RMS [rad or m]."""

    target: str
    simulator: str
    n_logs: int
    file: float
    """The file against the recordings."""
    model: float
    """The model itself against them."""

    @property
    def costs(self) -> bool:
        """Whether the file is clearly further off than the model."""
        return self.file > GOOD * self.model


def find_deployment(exported: Sequence[ReportedExport] | None, target: str) -> Deployment | None:
    """What a target's file does to the recordings, where it was replayed on some."""
    one = next((e for e in exported or () if e.target == target), None)
    pairs = [
        (c.target_log, c.native_log)
        for r in (one.replays if one is not None else ())
        for c in r.cases
        if c.target_log is not None and c.native_log is not None
    ]
    if one is None or not pairs:
        return None
    file, model = np.sqrt(np.mean(np.square(np.array(pairs, float)), axis=0))
    return Deployment(target, one.replays[0].simulator, len(pairs), float(file), float(model))


def serious(code: str) -> bool:
    """Whether no good fit has this finding: one of those, or something stated that is wrong."""
    return code in SERIOUS or code.startswith("wrong_")


def brief_verdict(fit: Fit, logs: Sequence[Log], tell: Callable[[str], None]) -> dict[str, str]:
    """The verdict as shells and pages show it, that of the report.

    Args:
        fit: a servo's, or a robot's.
        logs: what it was made of; those of a robot that it is judged on are simulated, as shipped too.
        tell: is told what is simulated.

    Returns:
        "level" and "text", the first sentence.
    """
    if fit.robot is None:
        return {"level": level(fit), "text": verdict(fit)[0]}
    robot = simulate_together(fit, split_recordings(fit, logs).unseen, tell)
    return {"level": level_together(fit, robot), "text": verdict_together(fit, robot)[0]}


def _rank(code: str) -> int:
    if code.startswith("wrong_"):
        return -1
    return GRAVE.index(code) if code in GRAVE else len(GRAVE)


def level(fit: Fit, used: Deployment | None = None) -> str:
    """'good', 'fair' or 'poor'; an export that is clearly worse than its model is at best fair."""
    codes = {f.code for f in fit.findings}
    error = fit.held_out_mae if fit.held_out_mae is not None else fit.training_mae
    ratio = error / fit.noise_floor if fit.noise_floor > 0 else float("inf")
    if ratio > FAIR and {"model_error", "worse_held_out"} & codes:
        return "poor"
    if used is not None and used.costs:
        return "fair"
    return "fair" if ratio > GOOD or fit.held_out_mae is None or any(map(serious, codes)) else "good"


def verdict(fit: Fit, used: Deployment | None = None, attached: Deployment | None = None) -> tuple[str, ...]:
    """Two sentences about the model; before them, where an export was run on recordings, one about that.

    Args:
        fit: A servo's.
        used: The export that is to be used, as it ran on recordings.
        attached: The whole model, attached to the simulator, likewise.

    Returns:
        Sentences, the most important first.
    """
    word = WORDS[level(fit, used)]
    unit = "mrad" if fit.actuator.motion == "rotary" else "mm"
    about = _model(fit, unit)
    first = f"{word}: {about}" if used is None else about[0].upper() + about[1:]
    second = f"{_n_told(fit)} parameters are told by the logs"
    worst = sorted(fit.findings, key=lambda f: _rank(f.code))
    if worst:
        rest = "" if len(worst) == 1 else f" (the first of {len(worst)} findings)"
        second += f"; {worst[0].text.rstrip('.')}{rest}: {worst[0].remedy.rstrip('.')}"
    else:
        second += ", and nothing was found that stands against using them"
    lead = () if used is None else (f"{word}: {_use_words(fit, used, attached, unit)}.",)
    return (*lead, f"{first}.", f"{second}.")


def _use_words(fit: Fit, used: Deployment, attached: Deployment | None, unit: str) -> str:
    """What the file does where it is used, and the way to lose less."""
    who = fit.name or "this actuator"
    said = (
        f"in {used.simulator} the file of {who} for {used.target} is off by {1e3 * used.file:.3g} {unit} on"
        f" {_logs(used.n_logs)} (root mean square), the model itself by {1e3 * used.model:.3g}"
    )
    if used.costs and attached is not None and attached.file * GOOD < used.file:
        said += (
            f"; attached to the simulator whole (--to {attached.target}) it is off by"
            f" {1e3 * attached.file:.3g} {unit}"
        )
    return said


def _model(fit: Fit, unit: str) -> str:
    held, trained, n = fit.held_out_mae, fit.training_mae, len(fit.training)
    if held is None:
        on = "log" if n == 1 else f"{n} logs"
        off = f"{1e3 * trained:.3g} {unit} on average, {_noise(trained, fit)}"
        return f"on the {on} it was fitted to, the model is off by {off}; no log was held out"
    return (
        f"on {_logs(len(fit.held_out))} it never saw, the model is off by {1e3 * held:.3g} {unit}"
        f" on average, {_noise(held, fit)} ({1e3 * trained:.3g} {unit} on the {'one' if n == 1 else n} it"
        " was fitted to)"
    )


def _logs(n: int) -> str:
    return "a log" if n == 1 else f"{n} logs"


def _noise(error: float, fit: Fit) -> str:
    if fit.noise_floor <= 0:
        return "with no noise to compare it with"
    ratio = error / fit.noise_floor
    return f"{'no more than' if ratio < 1.15 else f'{ratio:.2g} times what'} noise alone would leave"


def _n_told(fit: Fit) -> str:
    told = sum(p.told_by != "prior" for p in fit.parameters.values())
    return f"{told} of {len(fit.parameters)}"


def level_together(fit: Fit, robot: RobotRuns) -> str:
    """Of a robot: 'good' near the noise, 'poor' where little is gained over the model as shipped, else
    'fair'."""
    score, shipped = robot.score, robot.shipped
    if not np.isfinite(score.rms) or (shipped is not None and score.rms > BETTER * shipped.rms):
        return "poor"
    near = score.held_out and score.rms_free < 1.25 * GOOD * fit.noise_floor  # RMS against mean absolute
    return "good" if near else "fair"


def verdict_together(fit: Fit, robot: RobotRuns) -> tuple[str, ...]:
    """Three sentences about a robot, how far off all joints together are first."""
    score, shipped, edited = robot.score, robot.shipped, robot.edited
    unit, n = "mrad" if fit.actuator.motion == "rotary" else "mm", len(score.logs)
    some = "a recording" if n == 1 else f"{n} recordings"
    on = f"{some} {'it never saw' if score.held_out else 'it was fitted to'}"
    first = (
        f"{WORDS[level_together(fit, robot)]}: on {on}, all {len(fit.joints)} joints together in"
        f" MuJoCo, the model is off by {1e3 * score.rms:.3g} {unit} (root mean square),"
        f" {1e3 * score.rms_free:.3g} where nothing touches"
    )
    if shipped is not None:
        first += f"; the model as shipped is off by {1e3 * shipped.rms:.3g} and {1e3 * shipped.rms_free:.3g}"
    second = ""
    if edited is not None and edited.off_by() is not None:
        second = (
            f"The robot's own file with these actuators in it, run in MuJoCo, is off by"
            f" {1e3 * edited.off_by():.3g} {unit}."
        )
    worst = max(score.joints, key=lambda name: score.joints[name])
    third = (
        f"{_n_told(fit)} parameters are told by the recordings; the worst joint is {worst},"
        f" with {1e3 * score.joints[worst]:.3g} {unit}."
    )
    return tuple(text for text in (f"{first}.", second, third) if text)
