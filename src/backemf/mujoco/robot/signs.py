"""Whether gravity agrees with the signs of a recording: what a servo's error or torque must hold up along the
motion, with each joint as it is and turned round.

A servo holds up what it carries by an error: error = a weight + b sign(velocity) + c velocity
+ d acceleration + e with a >= 0, and numbers of its own in every recording. With a joint turned round, the
arm would stand elsewhere and carry another weight: the sign that leaves the smaller residuals, over all
joints, is the right one. Only samples in motion count: at rest stiction hides the weight. What gravity does
not load says nothing, nor does a pendulum, which weighs the same on both sides.

Every log votes, and none counts for more than MOST: a sign is contradicted where the sum, most of the votes,
and their scatter say so. In 441 draws of 1 to 20 recordings of a real arm no right sign was; with 12 of them
a turned joint that gravity loads was found in 57 to 60 of 60, with 16 always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import BackemfError
from ...findings import Finding, finding
from ...logs.log import Log
from ...logs.robot import Robot
from .robot_motion import RobotMotion, bare_model, joint_loads, motion_of

SAMPLES = 1000
"""Of all logs together that are looked at; of each log at least LEAST."""
LEAST = 400
CLEARLY = 0.35
"""Fall of the logarithm of the squared residuals, summed over joints and logs, from which on a sign is
contradicted, where the votes agree."""
MOST, TELLS = 1.0, 0.05
"""A log's vote counts no more than the first, and none at all below the second."""
AGREEING, SIGNIFICANT = 2 / 3, 1.5
"""Share of the votes that must say the same, and their mean over its standard error from three logs on."""
ALIKE = 0.8
"""Share of the best fall from which on another joint's turning would do as well."""
MOVING = 0.1
"""Share of a joint's usual top speed from which on it moves."""
FLOOR = 3e-3
"""Error that no model of a servo goes below [rad]."""
FEWEST = 30
"""Samples in motion, below which nothing is said."""
ROUNDS = 4
"""Of weighing what is far off."""


class Sign(NamedTuple):
    """What gravity says of one joint's sign."""

    gain: float
    """Fall of the logarithm of the squared residuals where it is turned round; below 0 a rise."""
    votes: tuple[float, ...]
    """The same of each log."""
    felt: str
    """The joint whose error tells most of it."""
    explained: float
    """Share of that joint's error which the weight explains as it is."""
    turned: float
    """The same with the joint turned round."""

    @property
    def told(self) -> bool:
        """Whether the sum is clear, and the logs agree on it."""
        votes = np.sign(self.gain) * np.array(self.votes)
        telling = votes[np.abs(votes) > TELLS]
        if abs(self.gain) < CLEARLY or not len(telling) or np.mean(telling > 0) < AGREEING:
            return False
        error = float(np.std(votes, ddof=1)) / len(votes) ** 0.5 if len(votes) > 2 else 0.0
        return float(np.mean(votes)) >= SIGNIFICANT * error

    @property
    def verdict(self) -> str:
        """ "agrees", "contradicted" or "not told"."""
        if not self.told:
            return "not told"
        return "contradicted" if self.gain > 0 else "agrees"


@dataclass(frozen=True, kw_only=True)
class _FeltMotion:
    """A motion and what was felt along it, thinned."""

    motion: RobotMotion
    felt: np.ndarray
    """(samples, joints): errors [rad] or torques [N m]; NaN where neither is known."""


def signs(robot: Robot, logs: Sequence[Log]) -> dict[str, Sign]:
    """What gravity says of each joint's sign that has a target or a torque."""
    along = [
        one for log in logs if (one := _felt_motion(robot, log, max(LEAST, SAMPLES // len(logs)))) is not None
    ]
    if not along:
        return {}
    model, here = bare_model(robot), np.ones(len(robot.joints))
    as_is, out = [_residuals(robot, model, one, here) for one in along], {}
    for k, name in enumerate(robot.names):
        if not any(np.isfinite(one.felt[:, k]).any() for one in along):
            continue
        turn = here.copy()
        turn[k] = -1.0
        other = [_residuals(robot, model, one, turn) for one in along]
        raw = np.array([np.log(a[:, 1] / b[:, 1]) for a, b in zip(as_is, other, strict=True)])
        if not np.isfinite(raw).any():
            continue
        falls = np.nan_to_num(raw)
        most = int(np.argmax(np.where(np.isfinite(raw).any(axis=0), np.abs(np.sum(falls, axis=0)), -1.0)))
        shares = [np.nanmean([1 - r[most, 1] / r[most, 0] for r in each]) for each in (as_is, other)]
        votes = tuple(np.clip(np.sum(falls, axis=1), -MOST, MOST).tolist())
        out[name] = Sign(sum(votes), votes, robot.names[most], *map(float, shares))
    return out


def find_contradiction(robot: Robot, logs: Sequence[Log]) -> tuple[tuple[str, ...], Finding] | None:
    """The joint whose sign gravity contradicts most clearly, with those whose turning would do as well, and
    what to say of it: others may be wrong only because it is."""
    try:
        given_signs = signs(robot, logs)
    except BackemfError:
        return None  # a motion that cannot be followed says nothing of signs
    ordered = sorted(given_signs.items(), key=lambda row: -row[1].gain)
    mistakes = {n: s for n, s in ordered if s.verdict == "contradicted"}
    if not mistakes:
        return None
    (name, sign), *_ = mistakes.items()
    also = [n for n, s in mistakes.items() if s.gain > ALIKE * sign.gain]
    text = (
        f"gravity contradicts the sign of {' or '.join(also)}: with {name} turned round, the weight of"
        f" {robot.name} explains {100 * sign.turned:.0f} % of what {sign.felt} held up in motion, and"
        f" {100 * max(sign.explained, 0.0):.0f} % as it is read"
        f" ({sum(v > TELLS for v in sign.votes)} of {len(sign.votes)} recordings say so,"
        f" {sum(v < -TELLS for v in sign.votes)} the opposite)."
    )
    remedy = f'turn it: --map "{name}={name},-1", and see whether the others then agree'
    numbers = {"explained": sign.explained, "turned": sign.turned, "gain": sign.gain}
    return tuple(also), finding("sign_contradicted", text, remedy, **numbers)


def _felt_motion(robot: Robot, log: Log, n: int) -> _FeltMotion | None:
    motion = motion_of(robot, log)
    t = motion.time
    felt = np.full(motion.position.shape, np.nan)
    for k, name in enumerate(robot.names):
        one = log.joints.get(name)
        if one is None or "position" not in one or robot.joint(name).tool:
            continue
        if "position_target" in one:
            felt[:, k] = one.signals["position_target"].hold_at(t) - motion.position[:, k]
        elif "torque" in one and np.ptp(np.sign(one.signals["torque"].values)) == 2:
            torque = one.signals["torque"]
            felt[:, k] = np.interp(t, torque.time, torque.values)
    if not np.isfinite(felt).any():
        return None
    rows = np.unique(np.linspace(0, len(t) - 1, min(n, len(t))).astype(int))
    arrays = {
        a: getattr(motion, a)[rows] for a in ("time", "position", "velocity", "acceleration", "recorded")
    }
    thin = RobotMotion(window=motion.window, noise=motion.noise, **arrays)
    return _FeltMotion(motion=thin, felt=felt[rows])


def _residuals(robot: Robot, model: Any, one: _FeltMotion, turn: np.ndarray) -> np.ndarray:
    """(joints, 2): squared scale of what was felt without the weight, and of what the weight leaves of it;
    NaN where a joint says nothing."""
    m = one.motion
    still = np.zeros_like(m.position)
    held = replace(m, position=turn * m.position, velocity=still, acceleration=still)
    weight, error = joint_loads(robot, held, model).torque, turn * one.felt
    speed, rise = turn * m.velocity, turn * m.acceleration
    out = np.full((len(turn), 2), np.nan)
    for k in range(len(turn)):
        fast = np.abs(speed[:, k])
        good = np.isfinite(error[:, k]) & (fast > MOVING * np.percentile(fast, 95))
        if good.sum() > FEWEST:
            out[k] = _rest(weight[good, k], speed[good, k], rise[good, k], error[good, k])
    return out


def _rest(load: np.ndarray, speed: np.ndarray, rise: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Mean squares without and with the load; a load that would be held by the opposite error is none."""
    slow = max(float(np.percentile(np.abs(speed), 50)), 1e-6)
    friction = np.stack([np.tanh(speed / (0.2 * slow)), speed, rise, np.ones(len(speed))], axis=1)
    without = _scale(friction, error)[0]
    both, load_by = _scale(np.column_stack([load, friction]), error)
    return without, without if load_by <= 0 else both


def _scale(columns: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """(the squared scale of what columns leave of values, the factor of the first): samples that are far off,
    as in the moment after a step, count little."""
    weight = np.ones(len(values))
    fitted, rest = np.zeros(columns.shape[1]), values
    for _ in range(ROUNDS):
        root = np.sqrt(weight)[:, None]
        fitted, *_ = np.linalg.lstsq(columns * root, values * root[:, 0], rcond=None)
        rest = values - columns @ fitted
        scale = 1.4826 * float(np.median(np.abs(rest))) + FLOOR
        weight = 1.0 / np.maximum(1.0, np.abs(rest) / (1.5 * scale))
    return FLOOR**2 + float(np.average(rest**2, weights=weight)), float(fitted[0])
