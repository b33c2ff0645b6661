"""The fit of a robot in the robot's own MJCF: every joint's actuator fitted to the motions that it met, and
the edited model driven as recordings say, all joints together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...engine.rows import Delay
from ...errors import BackemfError, InvalidValue
from ...findings import Finding
from ...logs.log import Log
from ...logs.robot import Robot
from ...mujoco.arrays import installed_era, load_mujoco, without_log
from ...mujoco.models import LoadedModel
from ...mujoco.robot.robot_motion import RobotMotion, add_ground, excerpts, motion_of
from ...mujoco.xml import compile_edited, parse_elements
from ...physics.actuator import Actuator
from ...results.fit_result import Fit
from ...results.reread import read_again, stored_logs
from ..result import NOT_RUN, Request
from .into import EditedModel, Together, edit_model
from .joint_interface import Old, old_of

PART = re.compile(r"(?P<log>.*) \(last (?P<share>[0-9.]+) ?%\)")
"""How the end of a recording that was held out is called."""
MUCH = 1.3
"""Times the fit's own error on recordings from which on what the file loses is a finding."""


class SplitRecordings(NamedTuple):
    """Recordings of a robot: what its fit saw, and what it did not."""

    seen: list[Log]
    unseen: list[Log]


def split_recordings(fit: Fit, logs: Sequence[Log]) -> SplitRecordings:
    """Where a fit saw all of them, or none, they serve for both."""
    if any(f.code == "torque_is_law" for f in fit.findings):
        logs = [_without_echo(log) for log in logs]
    held = fit.score.logs if fit.score is not None and fit.score.held_out else {}
    unseen = [log for log in logs if log.name in held]
    unseen += [part for name in held for part in _held_parts(name, logs)]
    names = {log.name for log in unseen}
    seen = [log for log in logs if log.name not in names]
    return SplitRecordings(seen or list(logs), unseen or list(logs))


def _held_parts(name: str, logs: Sequence[Log]) -> list[Log]:
    """The end of a recording that was held out under a name such as "walk (last 30 %)"."""
    part, ends = PART.fullmatch(name), []
    if part is None:
        return []
    for log in (log for log in logs if log.name == part["log"]):
        begin, end = float(log.time[0]), float(log.time[-1])
        cut = begin + (1.0 - float(part["share"]) / 100.0) * (end - begin)
        ends.append(replace(log.between(cut, end), name=name))
    return ends


def _without_echo(log: Log) -> Log:
    """Without torques that the drive's own law makes again."""
    joints = {
        name: replace(joint, signals={n: s for n, s in joint.signals.items() if n != "torque_target"})
        for name, joint in log.joints.items()
    }
    return replace(log, joints=joints)


def recordings(fit: Fit, given: Sequence[Log] | None) -> tuple[list[Log], str]:
    """(the recordings given, or those that the fit remembers and that are there, why there are none)."""
    if given:
        return list(given), ""
    files = stored_logs(fit)
    if not files:
        return [], "the recordings that the fit remembers are not there any more: give them"
    try:
        return read_again(fit, *files), ""
    except BackemfError as error:
        return [], str(error)


@without_log()
def robot_edited(
    fit: Fit,
    path: Path | str,
    request: Request,
    module: Any,
    *,
    replay: bool = True,
    unknown: Mapping[str, Sequence[str]] | None = None,
) -> EditedModel:
    """A robot's actuators in its own model, as a request says; with `replay` the result is then driven."""
    if fit.robot is None:
        raise InvalidValue("the fit has joints and no robot; expected one that be.fit made of a robot's logs")
    logs, why = recordings(fit, request.logs)
    seen, unseen = split_recordings(fit, logs)
    own = excerpts(fit.robot, seen, [*fit.actuators])
    request = request._replace(logs=())
    made = edit_model(fit.actuators, path, request, module, replay=replay, unknown=unknown, own=own)
    left = [j.name for j in fit.robot.joints if j.actuator and j.name not in fit.actuators]
    made = replace(
        made, changes=(*made.changes, *(f"{name}: not fitted, and stays as it was" for name in left))
    )
    ran = NOT_RUN
    if replay and (not unseen or fit.robot.base != "fixed"):
        why = why or f"the robot's base was {fit.robot.base}, and that of the model is free"
        ran = f"Not driven as recorded: {why}."
    elif replay:
        rows = together(fit, fit.robot, Path(path), made, unseen)
        made = replace(made, together=tuple(rows), unit="m" if fit.actuator.motion == "linear" else "rad")
        ran = _sentence(made, float(compile_edited(load_mujoco(), Path(path), made.files).opt.timestep))
    told = tuple(replace(export, ran=ran) for export in made.exports)
    files = {place: _sign_file(content, fit, made, ran) for place, content in made.files.items()}
    return replace(made, files=files, exports=told, findings=(*made.findings, *_loses(made)))


def _sign_file(content: bytes, fit: Fit, model: EditedModel, ran: str) -> bytes:
    """A file whose actuators say where they are from."""
    section = next((e for e in parse_elements(content, Path("model.xml")) if e.tag == "actuator"), None)
    if section is None or section.end == section.opened:
        return content
    lines = [
        f"backemf {__version__}: {', '.join(fit.joints)} as identified from {len(fit.training)} recordings of"
        f" this robot, with friction {fit.friction}.",
        ran,
        *dict.fromkeys(f"{e.text}." for one in model.exports for e in (*one.dropped, *one.approximated)),
    ]
    text = "\n         ".join(lines)
    while "--" in text:
        text = text.replace("--", "- -")
    return content[: section.opened] + f"\n    <!-- {text} -->".encode() + content[section.opened :]


def _sentence(model: EditedModel, timestep: float) -> str:
    """What was run and what came of it."""
    names = ", ".join(one.log for one in model.together[:5])
    names += f" and {len(model.together) - 5} more" if len(model.together) > 5 else ""
    after, before, whole = model.off_by("after"), model.off_by("before"), model.off_by("whole")
    said = (
        f"Run in MuJoCo {load_mujoco().__version__} at {1e3 * timestep:g} ms, all joints together ({names}):"
        f" {1e3 * (after or 0.0):.3g} m{model.unit} RMS from the recordings"
    )
    said += "" if whole is None else f", the fit itself {1e3 * whole:.3g}"
    return said + ("." if before is None else f", the model as it was {1e3 * before:.3g}.")


def _loses(model: EditedModel) -> list[Finding]:
    """A file that is clearly further off than its fit."""
    after, whole = model.off_by("after"), model.off_by("whole")
    if after is None or whole is None or after < MUCH * whole:
        return []
    text = (
        f"driven as the recordings say, the file is off by {1e3 * after:.3g} m{model.unit}, the fit itself by"
        f" {1e3 * whole:.3g}."
    )
    remedy = "a shorter timestep in the model; or be.attach(model, fit), which loses nothing"
    numbers = {"file": after, "fit": whole}
    return [Finding(code="file_loses", text=text, remedy=remedy, numbers=numbers)]


def together(fit: Fit, robot: Robot, path: Path, model: EditedModel, logs: Sequence[Log]) -> list[Together]:
    """The old and the new model driven as recordings say, beside what the fit itself makes of them."""
    mujoco = load_mujoco()

    def load_model(place: str) -> Any:
        spec = mujoco.MjSpec.from_file(place)
        return add_ground(spec, robot.ground).compile()

    new = compile_edited(mujoco, path, model.files, load_model)
    olds = [one.old for one in model.placed]
    news = [old_of(LoadedModel(new, installed_era()), old.joint) for old in olds]
    factors = {one.old.joint: one.export.ctrl.get(one.old.follows, one.old.gear) for one in model.placed}
    known = fit.score.logs if fit.score is not None else {}
    old = load_model(str(path)) if all(one.actuator is not None for one in olds) else None
    rows = []
    for log in logs:
        motion = motion_of(robot, log)
        before = None
        if old is not None:
            sent = _ctrl_inputs(
                fit, robot, log, motion, olds, {one.joint: one.gear / one.scale for one in olds}
            )
            before = _off(drive_robot(old, robot, motion, sent), motion, robot, fit)
        sent = _ctrl_inputs(fit, robot, log, motion, news, factors)
        after = _off(drive_robot(new, robot, motion, sent), motion, robot, fit)
        rows.append(Together(log.name, before, after, known.get(log.name)))
    return rows


def as_shipped(fit: Fit, log: Log, motion: RobotMotion | None = None) -> np.ndarray | None:
    """Positions (samples, joints) of a fit's robot with the actuators that its own model has, driven as a
    recording says; None where the model drives none of the joints, or by other commands."""
    robot = fit.robot
    if robot is None:
        return None
    spec = add_ground(load_mujoco().MjSpec.from_string(robot.model), robot.ground)
    model = spec.compile()
    try:
        olds = [old_of(LoadedModel(model, installed_era()), name) for name in fit.actuators]
        motion = motion_of(robot, log) if motion is None else motion
        sent = _ctrl_inputs(fit, robot, log, motion, olds, {one.joint: one.gear / one.scale for one in olds})
    except InvalidValue:
        return None
    if len(sent) < len(fit.actuators):
        return None
    with without_log():
        return drive_robot(model, robot, motion, sent)


def _off(q: np.ndarray, motion: RobotMotion, robot: Robot, fit: Fit) -> float:
    places = [robot.place(name) for name in fit.actuators]
    error = (q - motion.recorded)[:, places]
    return float(np.sqrt(np.nanmean(np.where(np.isfinite(q[:, places]), error, np.inf) ** 2)))


class CtrlInput(NamedTuple):
    """What goes into an element of ctrl: a command, held, or the torque of a law that stays outside."""

    joint: int
    """Among the robot's."""
    element: int
    factor: float
    before: np.ndarray
    after: np.ndarray
    switch: np.ndarray
    """Share of each interval after which the newer command holds."""
    kp: float = 0.0
    kd: float = 0.0
    by_law: bool = False

    def at(self, k: int, share: float, q: float, v: float) -> float:
        u = (self.after if share >= self.switch[k] else self.before)[k]
        if not self.by_law:
            return self.factor * float(u[0])
        return self.factor * float(self.kp * (u[0] - q) + self.kd * (u[1] - v) + u[2])


def _ctrl_inputs(
    fit: Fit, robot: Robot, log: Log, motion: RobotMotion, places: Sequence[Old], factors: Mapping[str, float]
) -> list[CtrlInput]:
    """What the recording asked of each joint, at the moment at which it counts."""
    found, t = [], motion.time
    for one in places:
        if one.joint not in log.joints or one.ctrl is None:
            continue
        signals = log.joints[one.joint].signals
        law = _law(fit.actuators[one.joint], one, [*signals])
        names = ("position_target", "velocity_target", "torque_target") if law else (one.follows,)
        if not law and one.follows not in signals:
            raise InvalidValue(
                f"{log.name} has no {one.follows!r} of {one.joint}, which the model's ctrl asks for; it has:"
                f" {', '.join(signals)}"
            )
        columns = [signals[n].held(t) if n in signals else np.zeros(len(t)) for n in names]
        rows = Delay(np.stack(columns, axis=1), t, fit.delays.get(one.joint, 0.0), [True] * len(names)).rows()
        factor = 1.0 / one.gear if law else factors[one.joint]
        gains = {"kp": law[0], "kd": law[1], "by_law": True} if law else {}
        place = robot.place(one.joint)
        found.append(CtrlInput(place, one.ctrl, factor, rows.before, rows.values, rows.switch, **gains))
    return found


def _law(actuator: Actuator, place: Old, signals: Sequence[str]) -> tuple[float, float] | None:
    """Gains of a law that the model leaves to its user: its ctrl is a torque, and positions were asked."""
    loop = actuator.drive.loop
    if place.follows != "torque_target" or loop is None or "position_target" not in signals:
        return None
    return (loop.proportional, loop.derivative) if loop.effort == "N m" else None


def drive_robot(model: Any, robot: Robot, motion: RobotMotion, sent: Sequence[CtrlInput]) -> np.ndarray:
    """Positions of the robot's joints at the motion's samples, (samples, joints), in a model with its own
    actuators; joints that nothing is sent to move as recorded."""
    mujoco = load_mujoco()
    data, t = mujoco.MjData(model), motion.time
    ids = [model.joint(name).id for name in robot.names]
    at_q, at_v = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    led = [j for j in range(len(ids)) if j not in {ctrl_input.joint for ctrl_input in sent}]
    longest, found = float(model.opt.timestep), np.full(motion.position.shape, np.nan)
    data.qpos[at_q] = motion.position[0]
    for k in range(len(t)):
        found[k] = data.qpos[at_q]
        if k == len(t) - 1 or not np.isfinite(found[k]).all():
            break
        dt = float(t[k + 1] - t[k])
        n = max(1, int(np.ceil(dt / longest - 1e-6)))
        model.opt.timestep = dt / n
        slopes = (motion.position[k + 1, led] - motion.position[k, led]) / dt
        for i in range(n):
            data.qpos[at_q[led]] = motion.position[k, led] + slopes * (i * dt / n)
            data.qvel[at_v[led]] = slopes
            for ctrl_input in sent:
                q, v = data.qpos[at_q[ctrl_input.joint]], data.qvel[at_v[ctrl_input.joint]]
                data.ctrl[ctrl_input.element] = ctrl_input.at(k, (i + 0.5) / n, q, v)
            mujoco.mj_step(model, data)
    model.opt.timestep = longest
    found[:, led] = motion.position[:, led]
    return found
