"""The fit of a robot in the robot's own MJCF: every joint's actuator fitted to the motions that it met, and
the edited model driven as recordings say, all joints together."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...engine.rows import Delay
from ...errors import BackemfError, InvalidValue
from ...findings import Finding
from ...logs.coupling import joints_of_motors
from ...logs.log import Log
from ...logs.robot import Ground, Robot
from ...mujoco.arrays import installed_era, load_mujoco, play_joint, rest_springs, without_log
from ...mujoco.joint_interface import ModelJoint, read_joint
from ...mujoco.models import LoadedModel
from ...mujoco.robot.robot_motion import (
    RobotMotion,
    add_ground,
    excerpts,
    ground_geom,
    motion_of,
    restarts_every,
)
from ...mujoco.xml import check_text, compile_edited, parse_elements, scan
from ...physics.actuator import Actuator
from ...physics.quantity import present
from ...results.fit_result import Fit
from ...results.reread import read_again, stored_logs
from ..result import NOT_RUN, Request, number
from .dcmotor_target import attributes
from .edited_model import EditedModel, Together
from .into import edit_model

PART = re.compile(r"(?P<log>.*) \(last (?P<share>[0-9.]+) ?%\)")
"""How the end of a recording that was held out is called."""
MUCH = 1.3
"""Times the fit's own error on recordings from which on what the file loses is a finding."""


class SplitRecordings(NamedTuple):
    """Recordings of a robot: what its fit saw, and what it did not."""

    seen: list[Log]
    unseen: list[Log]


def split_recordings(fit: Fit, logs: Sequence[Log]) -> SplitRecordings:
    """By the names of those that it was fitted to; where it saw all of them, or none, they serve for both."""
    logs = joints_of_motors(logs, fit.robot)
    if any(f.code == "torque_is_law" for f in fit.findings):
        logs = [_without_echo(log) for log in logs]
    held = fit.score.logs if fit.score is not None and fit.score.held_out else {}
    unseen = [log for log in logs if log.name not in fit.training]
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
    ground: bool = True,
    replay: bool = True,
    unknown: Mapping[str, Sequence[str]] | None = None,
) -> EditedModel:
    """A robot's actuators in its own model, with the table or floor that its recordings show.

    Args:
        fit: of a robot.
        path: of its MJCF.
        request: how each joint's actuator is written.
        module: of the target.
        ground: whether the table or floor goes into the model.
        replay: whether the result is then driven as the recordings say, and its header tells what came of it.
        unknown: by joint, paths of what an actuator does not know.

    Returns:
        The edited files, not yet written.
    """
    robot = fit.robot
    if robot is None:
        raise InvalidValue("the fit has joints and no robot; expected one that be.fit made of a robot's logs")
    logs, why = recordings(fit, request.logs)
    seen, unseen = split_recordings(fit, logs)
    own = excerpts(robot, seen, [*fit.actuators])
    request = request._replace(logs=())
    made = edit_model(fit.actuators, path, request, module, replay=replay, unknown=unknown, own=own)
    left = [j.name for j in robot.joints if j.actuator and j.name not in fit.actuators]
    made = replace(
        made, changes=(*made.changes, *(f"{name}: not fitted, and stays as it was" for name in left))
    )
    if ground and robot.ground is not None:
        made = _with_ground(made, robot.ground)
    if not replay:
        return _sign_model(made, fit, NOT_RUN)
    if not unseen or robot.base != "fixed":
        why = why or f"the robot's base was {robot.base}, and that of the model is free"
        return _sign_model(made, fit, f"Not driven as recorded: {why}.")
    rows, late = together(fit, robot, Path(path), made, unseen)
    made = replace(made, together=tuple(rows), unit="m" if fit.actuator.motion == "linear" else "rad")
    ran = _sentence(made, float(compile_edited(load_mujoco(), Path(path), made.files).opt.timestep))
    return _sign_model(replace(made, findings=(*made.findings, *_loses(made, late))), fit, ran)


def _sign_model(model: EditedModel, fit: Fit, ran: str) -> EditedModel:
    """The edited model with a word at its head on where its numbers came from and how it was run."""
    files = {place: _sign_file(content, fit, model, ran) for place, content in model.files.items()}
    return replace(model, files=files, exports=tuple(replace(export, ran=ran) for export in model.exports))


def _with_ground(model: EditedModel, ground: Ground) -> EditedModel:
    """A table or floor in the main file of an edited model, and the result loaded again."""
    main = present(model.main)
    content = model.files[main] if main in model.files else main.read_bytes()
    names = {e.attributes.get("name") for e in scan(main) if e.tag == "geom"}
    name = next(name for name in chain(["ground"], map("ground_{}".format, count(2))) if name not in names)
    rows = {k: " ".join(map(number, np.atleast_1d(v))) for k, v in ground_geom(ground).items()}
    words = attributes({"name": name, "type": "plane", **rows, "rgba": "0.75 0.75 0.75 1"})
    section = f"  <worldbody>\n    <geom {words}/>\n  </worldbody>\n".encode()
    end = content.rindex(b"</mujoco")
    files = {**model.files, main: content[:end] + section + content[end:]}
    if model.loads:
        compile_edited(load_mujoco(), main, files)
    tilt = math.degrees(math.atan(math.hypot(ground.x_slope, ground.y_slope)))
    change = (
        f"worldbody: new geom {name!r}, the table or floor that the recordings show:"
        f" {1e3 * ground.height:.3g} mm high, tilted by {tilt:.2g} deg, friction {ground.friction:.2g}"
    )
    return replace(model, files=files, changes=(*model.changes, change))


def _sign_file(content: bytes, fit: Fit, model: EditedModel, ran: str) -> bytes:
    """A file whose actuators say where they are from."""
    section = next((e for e in parse_elements(content, Path("model.xml")) if e.tag == "actuator"), None)
    if section is None or section.end == section.opened:
        return content
    lines = [
        f"backemf {__version__}: {', '.join(fit.joints)} as identified from {len(fit.training)} recordings of"
        f" this robot, with friction {fit.friction}.",
        ran,
        *model.creep,
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


def _loses(model: EditedModel, late: float | None) -> list[Finding]:
    """A file that is clearly further off than its fit, and what a delay costs that it does not carry.

    Args:
        late: how far off the file is with its commands as late as they were recorded [rad or m].
    """
    after, whole = model.off_by("after"), model.off_by("whole")
    return [*_loses_delay(model, after, late), *_loses_much(model, after, whole)]


def _loses_delay(model: EditedModel, after: float | None, late: float | None) -> list[Finding]:
    if after is None or late is None:
        return []
    text = (
        f"the file carries no delay of its commands: driven as the recordings say it is off by"
        f" {1e3 * after:.3g} m{model.unit}, and by {1e3 * late:.3g} with commands as late as the fit says."
    )
    remedy = "send commands late by fit.delays; or be.attach(model, fit), which carries them"
    return [Finding(code="delay_left_out", text=text, remedy=remedy, numbers={"file": after, "late": late})]


def _loses_much(model: EditedModel, after: float | None, whole: float | None) -> list[Finding]:
    if after is None or whole is None or after < MUCH * whole:
        return []
    text = (
        f"driven as the recordings say, the file is off by {1e3 * after:.3g} m{model.unit}, the fit itself by"
        f" {1e3 * whole:.3g}."
    )
    remedy = "a shorter timestep in the model; or be.attach(model, fit), which loses nothing"
    numbers = {"file": after, "fit": whole}
    return [Finding(code="file_loses", text=text, remedy=remedy, numbers=numbers)]


def together(
    fit: Fit, robot: Robot, path: Path, model: EditedModel, logs: Sequence[Log]
) -> tuple[list[Together], float | None]:
    """The old and the new model driven as recordings say, beside what the fit itself makes of them.

    The new one is the very file, with what it carries of ground and delays; the old one, which knows neither,
    stands on the same ground and gets its commands as late as they were.

    Args:
        fit: of the robot's joints.
        robot: that the recordings are of.
        path: of the old model.
        model: the new one.
        logs: recordings to drive them by.

    Returns:
        (a row for each recording, RMS of the new model with delays that it does not carry [rad or m], None
        where it carries all).
    """
    mujoco = load_mujoco()
    motions = [motion_of(robot, log) for log in logs]
    shortest = min(float(np.min(np.diff(motion.time))) for motion in motions)

    def load_new(place: str) -> Any:
        spec = mujoco.MjSpec.from_file(place)
        step = min(shortest, 0.5 * spec.option.timestep)
        for a in spec.actuators:  # as many samples as the delay takes at the steps between recorded samples
            if getattr(a, "delay", 0.0) > 0:
                a.nsample = max(int(a.nsample), math.ceil(a.delay / step) + 2)
        return spec.compile()

    new = compile_edited(mujoco, path, model.files, load_new)
    olds = [one.old for one in model.placed]
    news = [read_joint(LoadedModel(new, installed_era()), old.joint) for old in olds]
    factors = {one.old.joint: one.export.ctrl.get(one.old.follows, one.old.gear) for one in model.placed}
    known = fit.score.logs if fit.score is not None else {}
    old = None
    if all(one.actuator is not None for one in olds):
        old = add_ground(mujoco.MjSpec.from_file(str(path)), robot.ground).compile()
    early = {name: min(late, 0.0) for name, late in fit.delays.items()}
    lost = _lost_delays(new, news, fit.delays)
    old_factors = {one.joint: one.gear / one.scale for one in olds}

    def off_by(
        driven: Any, places: Sequence[ModelJoint], factors: Mapping[str, float], k: int, late: Any
    ) -> float:
        sent = _ctrl_inputs(fit, robot, logs[k], motions[k], places, factors, late)
        return _off(drive_robot(driven, robot, motions[k], sent, fit.stretch), motions[k], robot, fit)

    rows, squares = [], []
    for k, log in enumerate(logs):
        before = None if old is None else off_by(old, olds, old_factors, k, fit.delays)
        after = off_by(new, news, factors, k, early)
        rows.append(Together(log.name, before, after, known.get(log.name)))
        squares += [off_by(new, news, factors, k, early | lost) ** 2] if lost else []
    return rows, float(np.sqrt(np.mean(squares))) if squares else None


def _lost_delays(model: Any, places: Sequence[ModelJoint], delays: Mapping[str, float]) -> dict[str, float]:
    """By joint, delays of commands [s] that a model does not carry."""
    carried = getattr(model, "actuator_delay", np.zeros(model.nu))
    return {
        one.joint: delays[one.joint]
        for one in places
        if delays.get(one.joint, 0.0) > 0 and (one.actuator is None or carried[one.actuator] == 0)
    }


def as_shipped(fit: Fit, log: Log, motion: RobotMotion | None = None) -> np.ndarray | None:
    """A fit's robot with the actuators that its own model has, driven as a recording says.

    Args:
        fit: of a robot.
        log: the recording.
        motion: of the recording, where it is known already.

    Returns:
        Positions (samples, joints) [rad or m]; None where the model drives none of the joints, or by other
        commands.
    """
    robot = fit.robot
    if robot is None:
        return None
    spec = add_ground(load_mujoco().MjSpec.from_string(check_text(robot.model)), robot.ground)
    model = spec.compile()
    try:
        olds = [read_joint(LoadedModel(model, installed_era()), name) for name in fit.actuators]
        motion = motion_of(robot, log) if motion is None else motion
        factors = {one.joint: one.gear / one.scale for one in olds}
        sent = _ctrl_inputs(fit, robot, log, motion, olds, factors, fit.delays)
    except InvalidValue:
        return None
    if len(sent) < len(fit.actuators):
        return None
    with without_log():
        return drive_robot(model, robot, motion, sent, fit.stretch)


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
        """The element of ctrl.

        Args:
            k: interval between two samples.
            share: of the interval that is over.
            q: position of the joint [rad or m], for a law outside of the model.
            v: velocity of the joint [rad/s or m/s].

        Returns:
            Its value, in the model's units.
        """
        u = (self.after if share >= self.switch[k] else self.before)[k]
        if not self.by_law:
            return self.factor * float(u[0])
        return self.factor * float(self.kp * (u[0] - q) + self.kd * (u[1] - v) + u[2])


def _ctrl_inputs(
    fit: Fit,
    robot: Robot,
    log: Log,
    motion: RobotMotion,
    places: Sequence[ModelJoint],
    factors: Mapping[str, float],
    delays: Mapping[str, float],
) -> list[CtrlInput]:
    """What the recording asked of each joint, so much later than its time stamps [s]."""
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
        columns = [signals[n].hold_at(t) if n in signals else np.zeros(len(t)) for n in names]
        rows = Delay(np.stack(columns, axis=1), t, delays.get(one.joint, 0.0), [True] * len(names)).rows()
        factor = 1.0 / one.gear if law else factors[one.joint]
        gains = {"kp": law[0], "kd": law[1], "by_law": True} if law else {}
        place = robot.place(one.joint)
        found.append(CtrlInput(place, one.ctrl, factor, rows.before, rows.values, rows.switch, **gains))
    return found


def _law(actuator: Actuator, place: ModelJoint, signals: Sequence[str]) -> tuple[float, float] | None:
    """Gains of a law that the model leaves to its user: its ctrl is a torque, and positions were asked."""
    loop = actuator.drive.loop
    if place.follows != "torque_target" or loop is None or "position_target" not in signals:
        return None
    return (loop.proportional, loop.derivative) if loop.effort == "N m" else None


def _fill_delays(model: Any, data: Any, sent: Sequence[CtrlInput], motion: RobotMotion) -> None:
    """Delayed commands before the first: that it was always so."""
    for one in sent if hasattr(model, "actuator_delay") else ():
        if model.actuator_delay[one.element] > 0:
            n = int(model.actuator_history[one.element, 0])
            before = data.time - float(model.opt.timestep) * np.arange(n, 0, -1)
            first = one.at(0, 0.0, float(motion.position[0, one.joint]), 0.0)
            load_mujoco().mj_initCtrlHistory(model, data, one.element, before, np.full(n, first))


def drive_robot(
    model: Any, robot: Robot, motion: RobotMotion, sent: Sequence[CtrlInput], stretch: float = 0.0
) -> np.ndarray:
    """Positions of the robot's joints at the motion's samples, (samples, joints), in a model with its own
    actuators; joints that nothing is sent to move as recorded.

    Args:
        model: compiled.
        robot: whose joints they are.
        motion: as recorded.
        sent: what goes into its ctrl.
        stretch: every so many seconds joints are put where they were recorded; 0: only at the start.
    """
    mujoco = load_mujoco()
    data, t = mujoco.MjData(model), motion.time
    ids = [model.joint(name).id for name in robot.names]
    at_q, at_v = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    known = {model.joint(j).name: j for j in range(model.njnt)}
    loose = [j for j, name in enumerate(robot.names) if play_joint(name) in known]
    gaps = model.jnt_qposadr[[known[play_joint(robot.names[j])] for j in loose]].astype(int)
    led = [j for j in range(len(ids)) if j not in {ctrl_input.joint for ctrl_input in sent}]
    longest, found = float(model.opt.timestep), np.full(motion.position.shape, np.nan)
    again = {*restarts_every(t, stretch)}
    data.qpos[at_q] = motion.position[0]
    rest_springs(model, data)
    _fill_delays(model, data, sent, motion)
    for k in range(len(t)):
        found[k] = data.qpos[at_q]
        found[k, loose] += data.qpos[gaps]
        if k in again:
            data.qpos[at_q], data.qvel[at_v], data.act[:] = motion.position[k], motion.velocity[k], 0.0
            data.qpos[gaps] = 0.0
            rest_springs(model, data)
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
