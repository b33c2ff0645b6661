"""Drake: URDF with Drake's own elements, the rotor's inertia behind its gears and a position controller.

    effort at the joint = clip(p (q_desired - q) + d (w_desired - w) + actuation, effort) - damping w

Drake has no dry friction in a joint: its parsers ignore the number. The effort limit is Drake's own, the
gains are solved with the step, and everything is at the joint but the rotor's inertia.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from ...errors import InvalidValue
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.friction import Viscous
from ..approximate import best, positions
from ..clocked import Clocked
from ..export import Account, Export, Request, complete, header, number, xml_comment
from ..losses import Losses, account, weighed
from ..motions import motions_of, reach, reference_inertia
from ..mujoco.classic import Numbers, formula, lost, stand_in, tuned
from .joint import checked
from .plant import moved, parsed, simulator as simulator

UNITS = (
    "SI: effort N m, p N m/rad, d and damping N m s/rad at the joint, rotor_inertia kg m^2 at the rotor; on a"
    " prismatic joint N and m."
)
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("volts per radian x n N K_t / R", "drake:controller_gains p", "N m/rad at the joint"),
    (
        "volt seconds per radian x n N K_t / R",
        "drake:controller_gains d",
        "N m s/rad, inside the effort limit",
    ),
    ("greatest voltage x n N K_t / R, or the current limit's torque", "limit effort", "N m at the joint"),
    (
        "n N K_t / R (voltage) or n N K_t (current)",
        "-",
        "N m per unit of command: the header says by how much",
    ),
    ("n N^2 K_t K_e / R + friction.viscous + n N^2 K_fe", "dynamics damping", "N m s/rad at the joint"),
    ("n motor.rotor_inertia", "drake:rotor_inertia", "kg m^2 at the rotors, all of them"),
    ("gearbox.ratio", "drake:gear_ratio", "for the rotor's inertia alone; efforts are at the joint"),
    ("no-load speed", "limit velocity", "rad/s; for planners"),
    ("dry friction", "-", "Drake has none; `--method simulation` puts what it can into the damping"),
    ("inductance, heat, cogging, slew, integral, delay, period, deadband, derivative_filter", "-", "dropped"),
)
"""Ours -> theirs, for the documentation page."""
INERT: dict[str, str] = {
    "velocity": "Drake keeps it for planners; its simulation does not limit a speed",
    "mass": "of the stand-in body; the bench's inertia takes its place",
    **dict.fromkeys(("ixx", "iyy", "izz"), "of the stand-in body; the bench's inertia takes its place"),
}
"""Numbers of the file that a run does not feel, and why."""
FRICTIONLESS = "Drake has no dry friction in a joint"


def write(actuator: Actuator, request: Request) -> Export:
    if not actuator.drive.followed:
        raise InvalidValue(
            f"Drake has no actuator for {actuator.drive.kind}; expected a drive that follows a target"
        )
    x = formula(actuator, request.load, request.amplitude)._replace(frictionloss=0.0)
    absorbed = request.method == "simulation" and actuator.friction.dry
    losses = _lost(actuator, absorbed)
    x, costs = (
        _damped(actuator, x, losses, request) if absorbed else (x, _weighed(actuator, x, losses, request))
    )
    numbers = _numbers(actuator, x, request)
    checked(numbers)
    lines = header(request, UNITS, costs)
    for name, factor in inputs(actuator).items():
        if name not in ("position_target", "velocity_target"):
            lines.append(
                f"Input: the actuation port takes N m at the joint, {number(factor)} times the {name}."
            )
    robot = _robot(request.joint, actuator.motion, numbers, reference_inertia(actuator, request))
    text = '<?xml version="1.0"?>\n' + xml_comment(lines) + robot
    files = {f"{request.joint}_drake.urdf": text}
    shown: dict[str, Any] = {"numbers": numbers, "ctrl": inputs(actuator)}
    return complete(request, actuator, costs, files=files, carried=stand_in(actuator, x), **shown)


def inputs(actuator: Actuator) -> dict[str, float]:
    """Factor from each target to Drake's desired state or actuation, the followed one first."""
    x, drive = steady.plain_servo(actuator), actuator.drive
    factors = {"position_target": 1.0, "velocity_target": 1.0}
    others = [name for name in drive.targets if name != drive.followed]
    if x.stiffness == 0:  # no position to hold
        others = [name for name in others if name != "position_target"]
    gain = x.gain or actuator.gearbox.efficiency or 1.0
    return {name: factors.get(name, gain) for name in (drive.followed, *others)}


def _lost(actuator: Actuator, absorbed: bool) -> Losses:
    """What classic MuJoCo loses, with every target kept, and all dry friction."""
    kept = [loss for loss in lost(actuator, False) if "_target" not in loss.path]
    losses = Losses(loss for loss in kept if not loss.path.startswith("friction."))
    friction = actuator.friction
    own = [path for path, v in actuator.parameters.items() if path.startswith("friction.") and v]
    drag = [path for path in own if path in ("friction.viscous_quadratic", "friction.viscous_cubic")]
    if drag:
        losses.keep(", ".join(drag), "one damping")
    losses.drop_each(actuator, "friction", offset="no constant torque")
    if friction.dry:
        paths = ", ".join(path for path in own if path not in (*drag, "friction.viscous", "friction.offset"))
        if absorbed:
            losses.keep(paths, f"{FRICTIONLESS}: more damping instead, and nothing sticks")
        else:
            losses.drop(paths, FRICTIONLESS)
            smooth = Viscous(**friction.drag_terms)
            losses[-1] = losses[-1]._replace(without=lambda a: replace(a, friction=smooth))
    return losses


def _weighed(actuator: Actuator, x: Numbers, losses: Losses, request: Request) -> Account:
    return weighed(actuator, tuned(actuator, x, request), losses, request)


def _damped(actuator: Actuator, x: Numbers, losses: Losses, request: Request) -> tuple[Numbers, Account]:
    """With the damping that makes up best for the friction; nothing else is moved, least of all the gains."""
    motions, over = motions_of(actuator, request)
    rich = positions(actuator, motions)
    able = reach(actuator, request.amplitude)
    start, scale = [x.damping], [max(x.damping, 0.02 * able.stall / able.speed)]

    def at(y: np.ndarray) -> Numbers:
        return x._replace(damping=max(float(y[0]), x.damping))

    fit = best(lambda y: tuned(actuator, at(y), request), start, scale, rich, motions)
    return at(fit.x), account(actuator, losses, fit.difference, rich, motions, over)


def _numbers(actuator: Actuator, x: Numbers, request: Request) -> dict[str, float]:
    """The file's numbers by their own names; a limit or gain that is not there is left out."""
    gearbox, volts = actuator.gearbox, actuator.drive.ceiling({})
    numbers = {"damping": x.damping, "gear_ratio": abs(gearbox.ratio)}
    numbers["rotor_inertia"] = gearbox.n_motors * actuator.motor.rotor_inertia
    if x.force > 0:
        numbers["effort"] = x.force
    if volts is not None:
        numbers["velocity"] = reach(actuator, request.amplitude).speed
    if x.kp or x.kv:
        numbers |= {"p": x.kp, "d": x.kv}
    return numbers


def _robot(joint: str, motion: str, x: Mapping[str, float], load: float) -> str:
    name, slides = quoteattr(joint), motion == "linear"
    J, mass = number(load), number(load if slides else 1.0)
    limits = "".join(f' {k}="{number(x[k])}"' for k in ("effort", "velocity") if k in x)
    gains = ""
    if "p" in x:
        gains = f'\n      <drake:controller_gains p="{number(x["p"])}" d="{number(x["d"])}"/>'
    return f"""<robot name={name} xmlns:drake="http://drake.mit.edu">
  <link name="base"/>
  <link name="{joint}_load">
    <inertial>
      <mass value="{mass}"/>
      <inertia ixx="{J}" iyy="{J}" izz="{J}" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name={name} type="{"prismatic" if slides else "continuous"}">
    <parent link="base"/>
    <child link="{joint}_load"/>
    <axis xyz="0 0 1"/>
    <limit{limits}/>
    <dynamics damping="{number(x["damping"])}"/>
  </joint>
  <transmission name="{joint}_transmission">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name={name}/>
    <actuator name="{joint}_motor">
      <drake:rotor_inertia value="{number(x["rotor_inertia"])}"/>
      <drake:gear_ratio value="{number(x["gear_ratio"])}"/>{gains}
    </actuator>
  </transmission>
</robot>
"""


def run(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions [rad or m] when Drake loads the file and its own controller and actuator drive it."""
    return moved(parsed(next(iter(files.values())), "urdf", joint, case.timestep), case)
