"""What URDF and SDF hold of an actuator alike: limits, damping and friction of a joint; and the law of the
controller beside it, as a line of the file's header that people read and a run obeys.

    effort = clip(stiffness (position_target - q) + derivative (velocity_target - w) + gain u, limit)
             - back_emf w
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...errors import InvalidValue, MissingValue
from ...physics import steady
from ...physics.actuator import Actuator
from ..clocked import Clocked
from ..export import Account, Effect, Request, header, number
from ..losses import Losses, lacking, weighed
from ..motions import reach
from ..mujoco.classic import NO_EMF, Numbers, formula, lost, stand_in, tuned
from .plant import asked_at, moved, parsed

UNITS = (
    "SI at the joint: effort N m, velocity rad/s, damping N m s/rad, friction N m; on a prismatic joint N and"
    " m."
)
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("stall torque, or the torque of the current limit", "limit effort", "N m at the joint"),
    ("no-load speed", "limit velocity", "rad/s at the joint"),
    (
        "friction.viscous (and iron loss)",
        "dynamics damping",
        "N m s/rad; a controller's law and back-EMF are not the joint's",
    ),
    ("friction.coulomb, or the level at half the reference load", "dynamics friction", "N m"),
    (
        "drive and back-EMF as `steady.plain_servo` has them",
        "a line `Controller:` of the header",
        "stiffness N m/rad, derivative and back_emf N m s/rad, gain N m per unit of the command",
    ),
    ("drive.derivative_filter", "-", "dropped: the rate of the target, sent as velocity_target, stands in"),
)
"""Rows that every description has, ours -> theirs."""
INERT: dict[str, str] = {
    "friction": "Drake has no dry friction in a joint and ignores the number",
    "velocity": "Drake keeps it for planners; its simulation does not limit a speed",
    "lower": "the range of the stand-in body; the bench has no stops",
    "upper": "the range of the stand-in body; the bench has no stops",
    "mass": "of the stand-in body; the bench's inertia takes its place",
    **dict.fromkeys(("ixx", "iyy", "izz"), "of the stand-in body; the bench's inertia takes its place"),
}
"""Numbers of a file that a run in Drake does not feel, and why."""


class Law(NamedTuple):
    """The controller's law at the joint; what is 0 is not there."""

    stiffness: float = 0.0
    derivative: float = 0.0
    gain: float = 0.0
    back_emf: float = 0.0

    @property
    def line(self) -> str:
        """As a line of the header."""
        shown = {name: number(value) for name, value in self._asdict().items() if value}
        terms = {
            "stiffness": "stiffness (position_target - q)",
            "derivative": "derivative (velocity_target - w)",
            "gain": "gain u",
        }
        inside = " + ".join(text for name, text in terms.items() if name in shown) or "u"
        behind = " - back_emf w" if self.back_emf else ""
        given = ", ".join(f"{name}={text}" for name, text in shown.items())
        return f"Controller: effort = clip({inside}, limit){behind}, at the joint; {given}"


class Described(NamedTuple):
    """A joint's numbers, the law beside it, and what was lost."""

    numbers: dict[str, float]
    law: Law
    costs: Account
    carried: Actuator


def described(actuator: Actuator, request: Request, format_: str) -> Described:
    """The numbers of a joint in a format without actuators."""
    motor, x = actuator.motor, formula(actuator, request.load, request.amplitude)
    if actuator.drive.ceiling({}) is None and (motor.limits is None or motor.limits.current is None):
        raise MissingValue(
            f"{format_}'s <limit> needs an effort and a velocity; give drive.supply, drive.voltage_limit or"
            " motor.limits.current"
        )
    able, at = reach(actuator, request.amplitude), steady.line(actuator)
    x = x._replace(force=x.force or able.stall)
    # The controller keeps the drive's law, so costs are those of the joint: what classic MuJoCo loses, and
    # the rotor's inertia and back-EMF.
    losses = Losses(loss for loss in lost(actuator, False) if not loss.path.startswith("drive"))
    losses.drop_push(actuator)  # which the header's law does not have
    for k, loss in enumerate(losses):
        name = loss.path.removeprefix("motor.")
        if name in ("inductance", "saturation_current"):
            losses[k] = loss._replace(kept=False, without=lacking("motor", **{name: None}))
    if motor.rotor_inertia > 0:
        text = f"{format_} has no armature; {x.armature:.4g} kg m^2 at the joint must be added elsewhere"
        losses.drop("motor.rotor_inertia", text, "motor", rotor_inertia=0.0)
    text = "not the joint's: where the controller leaves it out too, torque does not fall with speed"
    losses.drop("motor.back_emf_constant", text, "motor", back_emf_constant=NO_EMF)
    bare = x._replace(armature=0.0)
    costs = weighed(actuator, tuned(actuator, bare, request), losses, request)
    law = Effect(path="drive", text=f"{format_} has no actuator law: the controller keeps it")
    costs = costs._replace(dropped=(law, *costs.dropped))
    numbers = {"effort": x.force, "velocity": able.speed, "damping": at.viscous, "friction": x.frictionloss}
    checked(numbers)
    return Described(numbers, law_of(actuator, x), costs, stand_in(actuator, bare))


def law_of(actuator: Actuator, x: Numbers) -> Law:
    """A drive as stiffness, derivative or gain, and the back-EMF of its motor."""
    law = Law(x.kp, x.kv, x.gain, max(x.damping - steady.line(actuator).viscous, 0.0))
    checked({name: abs(value) if name == "gain" else value for name, value in law._asdict().items()})
    return law


def checked(numbers: Mapping[str, float]) -> None:
    """Refuse what must never be written: a number that is negative or not finite."""
    for name, value in numbers.items():
        if not 0.0 <= value < math.inf:
            raise InvalidValue(f"{name} for the joint is {value!r}; expected a finite number of 0 or more")


def inputs(actuator: Actuator) -> dict[str, float]:
    """Factor from each target to the controller's input: it takes them as they are."""
    return dict.fromkeys(actuator.drive.targets, 1.0)


def top(request: Request, units: str, made: Described) -> list[str]:
    """The header's lines, the controller's among them."""
    lines = [*header(request, units, made.costs), made.law.line]
    if made.numbers["friction"] > 0:
        lines.append(
            "Drake, which a replay runs, has no dry friction: it ignores the number; others take it."
        )
    return lines


def law_in(text: str) -> Law:
    """The law that a file's header states; MissingValue where it states none."""
    line = re.search(r"Controller: effort = .*; (.*)", text)
    if line is None:
        raise MissingValue(
            "the file's header has no line 'Controller: effort = ...' with the law of the drive; expected the"
            " file as it was exported"
        )
    given = dict(pair.split("=", 1) for pair in line[1].strip().split(", ") if "=" in pair)
    try:
        law = Law(**{name: float(value) for name, value in given.items()})
    except (TypeError, ValueError):
        raise InvalidValue(
            f"the controller's line says {line[1].strip()!r}; expected numbers for {', '.join(Law._fields)}"
        ) from None
    checked({name: abs(value) if name == "gain" else value for name, value in law._asdict().items()})
    return law


def run(text: str, language: str, joint: str, case: Clocked) -> np.ndarray:
    """Positions when Drake loads the file and the header's law drives its joint.

    Drake clips at the file's own effort limit; back-EMF acts behind it, and an open winding has none.
    """
    k_p, k_d, gain, K = law_in(text)

    def law(k: int, q: float, w: float) -> tuple[float, float]:
        asked = asked_at(case, k)
        return k_p * (asked.position - q) + k_d * (asked.velocity - w) + (gain or 1.0) * asked.effort, -K * w

    return moved(parsed(text, language, joint, case.timestep), case, law)
