"""What stands against a robot's fit: contact, joints that borrow the scale of their torques, motions that no
model of the actuators follows, and numbers that the recordings do not tell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...findings import Finding, finding
from ...logs.log import Log
from ...mujoco.robot.contact import stretches
from ...physics.joint_law import JointLaw
from ...results.fit import Fit, Score
from ..uncertainty import inverse
from .plant import Optimum
from .recordings import RobotRecording

if TYPE_CHECKING:
    from .robot import RobotPlant

TELLS = 0.15
"""Relative error of the stiffness up to which a joint's own recordings tell it."""
COLLAPSED = 2.0
"""Factor between the stiffnesses of equal servos from which on their scale has collapsed."""
FALLEN, LOST, LASTING = 10.0, 0.3, 1.0
"""Errors [usual ones; rad] beyond which, and time [s] for which, a joint no longer does what it is told."""
NOT_FOLLOWED = 3.0
"""How much worse than usual a recording is followed that is named."""


def of_contact(s: Optimum[RobotPlant], unseen: Sequence[RobotRecording]) -> Iterator[Finding]:
    """Where the robot touched something."""
    touching = [one for one in (*s.plant.recordings, *unseen) if one.touched.any()]
    if not touching:
        return
    rows, seconds, total = [], 0.0, 0.0
    for one in touching:
        t = one.motion.time
        found = stretches(one.touched)
        spent = sum(float(t[min(b, len(t) - 1)] - t[a]) for a, b in found)
        shown = ", ".join(f"{t[a]:.1f} to {t[b - 1]:.1f} s" for a, b in found[:3])
        rows.append(f"{one.log.name} ({spent:.1f} s: {shown}{', ...' if len(found) > 3 else ''})")
        seconds += spent
    total = sum(float(one.motion.time[-1] - one.motion.time[0]) for one in (*s.plant.recordings, *unseen))
    ground = s.plant.ground
    where = "it is not on one plane, so that no ground was put there"
    numbers = {"share": seconds / total}
    if ground is not None:
        told = "as told" if not ground.error else f"found to {1e3 * ground.error:.2g} mm"
        where = f"the ground there is at {1e3 * ground.height:.3g} mm ({told})"
        numbers |= {"height": ground.height, "error": ground.error}
    text = (
        f"the robot touches something for {100 * seconds / total:.0f} % of the time; {where}; those samples"
        f" are not fitted: {'; '.join(rows)}."
    )
    remedy = "record in the air, or give the height of the table where it is known (ground=)"
    made = finding("contact", text, remedy, **numbers)
    yield Finding(
        code=made.code,
        text=text,
        remedy=remedy,
        numbers=made.numbers,
        logs=tuple(one.log.name for one in touching),
    )


def of_falls(recordings: Sequence[RobotRecording]) -> Iterator[Finding]:
    """Recordings at whose end most joints stand far from what was asked: the robot fell, or was switched
    off."""
    for one in recordings:
        t = one.motion.time
        far = []
        for log in one.log.joints.values():
            if "position" not in log or "position_target" not in log:
                continue
            asked = log.signals["position_target"].held(t)
            error = np.abs(np.nan_to_num(log.signals["position"].held(t) - asked))
            usual = float(np.median(error[: len(t) // 2]))
            far.append(error > max(FALLEN * usual, LOST))
        if not far:
            continue
        most = np.mean(far, axis=0) > 0.5
        begin = len(t) - int(np.argmin(most[::-1])) if not most.all() else 0
        if begin < len(t) and t[-1] - t[begin] > LASTING:
            text = (
                f"in {one.log.name} most joints stand far from what was asked from {t[begin]:.1f} s to the"
                " end: the robot fell, or its motors were off."
            )
            remedy = f"cut the log there: log.between(0, {t[begin]:.1f})"
            yield finding("fell", text, remedy, begin=float(t[begin]))


def of_inertia(stated: Score, found: Score) -> tuple[Finding, ...]:
    """Whether all joints together are nearer to the recordings with the robot's own numbers found."""
    before, after = 1e3 * stated.rms_free, 1e3 * found.rms_free
    numbers = {"before": stated.rms_free, "after": found.rms_free}
    if found.rms_free <= stated.rms_free:
        return ()
    text = (
        f"with masses and zeros free all joints together are {after:.3g} mrad from the fitted recordings, as"
        f" stated {before:.3g}: they take up what the model of the actuators lacks."
    )
    return (
        finding(
            "inertia_not_believed", text, "leave --free-inertia away, or give a smaller share", **numbers
        ),
    )


def of_scale(s: Optimum[RobotPlant], joints: Mapping[str, Fit]) -> Iterator[Finding]:
    """Which joints tell how strong the motor is, and which borrow it; and stiffnesses that cannot be of equal
    servos."""
    stiffness = {name: _stiffness(fit) for name, fit in joints.items()}
    for group, members in s.plant.groups.items():
        known = {m: k for m in members if (k := stiffness[m])}
        if len(known) > 1 and max(known.values()) > COLLAPSED * min(known.values()):
            low, high = min(known, key=lambda m: known[m]), max(known, key=lambda m: known[m])
            text = (
                f"the servos of {group} are alike, but their stiffness runs from {known[low]:.3g} ({low}) to"
                f" {known[high]:.3g} N m/rad ({high}): where gravity is slight, the scale of all torques of a"
                " joint is free."
            )
            yield finding("scale_collapse", text, 'let them share a motor: share=["motor"]', **known)
    yield from _of_borrowers(scale_errors(s))


def _of_borrowers(errors: Mapping[str, float]) -> Iterator[Finding]:
    """Joints that tell how strong their motor is, and those that do not, by the relative error of that."""
    if len(errors) > 1:
        tell = [name for name, e in errors.items() if e <= TELLS]
        borrow = [name for name in errors if name not in tell]
        if tell and borrow:
            text = (
                f"{', '.join(tell)} tell how strong the motor is; {', '.join(borrow)} borrow it: their own"
                f" recordings would leave it open to {100 * min(errors[n] for n in borrow):.0f} % or more."
            )
            yield finding("scale_borrowed", text, "nothing, where their servos are equal", **errors)
        elif borrow:
            text = "no joint tells how strong its motor is: gravity and inertia move them too little."
            remedy = "lift against gravity, hold a known weight, or trust the sheet that was given as prior"
            yield finding("scale_open", text, remedy, **errors)


def _stiffness(fit: Fit) -> float | None:
    """Torque at the joint for a radian of error, near rest [N m/rad]."""
    loop = fit.actuator.drive.loop
    if loop is None or loop.of != "position" or loop.effort != "V":
        return None
    return JointLaw.of(fit.actuator).stiffness


def scale_errors(s: Optimum[RobotPlant]) -> dict[str, float]:
    """Relative error of a common factor on all torques of a joint, by its recordings alone; by joint."""
    p, x = s.problem, s.x
    paths = list(p.free.paths)
    if "motor.torque_constant" not in paths:
        return {}
    JtJ, _, _ = p.normal_of_logs(x, 0.0, s.robust)
    values = list(p.values(x).values())
    found = {}
    for joint in p.joints:
        mine = p.places_of(joint)
        H = JtJ[mine].sum(axis=0)
        size = np.array([abs(values[i]) if i >= 0 else 1.0 for i in p.index[mine[0]]])
        size = np.maximum(size, 1e-12)
        H = H * np.outer(size, size)  # relative changes
        width = np.full(len(paths), 1.0)
        for k, path in enumerate(paths):
            if path == "motor.resistance":  # K and R scale one another: one of them stays
                width[k] = 1e-3
        error = inverse(H + np.diag(1.0 / width**2))
        k = paths.index("motor.torque_constant")
        found[joint] = float(math.sqrt(max(error[k, k], 0.0)))
    return found


def of_followed(s: Optimum[RobotPlant]) -> Iterator[Finding]:
    """Recordings that are followed much worse than the others."""
    rms = _rms_by(s.problem.recordings, s.problem.position_errors(s.x))
    usual = float(np.median(list(rms.values())))
    for of, error in rms.items():
        if error > NOT_FOLLOWED * usual and len(rms) > 2:
            text = (
                f"{of} is followed to {1e3 * error:.3g} mrad, the others to {1e3 * usual:.3g}: it counts"
                " little in the fit."
            )
            remedy = "look for a limit of the firmware's own that it asks beyond: of acceleration, or speed"
            yield finding("not_followed", text, remedy, error=error, usual=usual)


def of_joints(joints: Mapping[str, Fit]) -> Iterator[Finding]:
    """Numbers that the recordings do not tell, in one sentence."""
    open_ = [
        f"{name}.{path}"
        for name, fit in joints.items()
        for path, q in fit.parameters.items()
        if q.told_by == "prior"
    ]
    open_ = list(dict.fromkeys(open_))
    if open_:
        shown = ", ".join(open_[:8]) + (f" and {len(open_) - 8} more" if len(open_) > 8 else "")
        text = f"these recordings hardly tell {shown}."
        yield finding(
            "not_identifiable", text, "take a simpler friction, or record what separates them", n=len(open_)
        )


def _rms_by(labels: Sequence[str], errors: Sequence[np.ndarray]) -> dict[str, float]:
    """Root mean square of errors by what their logs are labelled: joints, or recordings."""
    squares: dict[str, list[np.ndarray]] = {}
    for label, e in zip(labels, errors, strict=True):
        squares.setdefault(label, []).append(e**2)
    return {label: float(np.sqrt(np.nanmean(np.concatenate(parts)))) for label, parts in squares.items()}


def of_reading(logs: Sequence[Log]) -> list[Finding]:
    """What reading said of all logs, once."""
    seen: dict[tuple[str, str], Finding] = {}
    for log in logs:
        for f in log.findings:
            seen.setdefault((f.code, f.text), f)
    return list(seen.values())
