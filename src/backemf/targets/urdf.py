"""URDF: limits, damping and friction of a joint, and a transmission with the reduction;
read by ROS, Gazebo, Drake and others."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from ..errors import MissingValue
from ..model import steady
from ..model.actuator import Actuator
from .export import Effect, Export, Request, complete, header, number, xml_comment
from .losses import Losses, lacking, weighed
from .motions import reach, reference_inertia
from .mujoco.classic import NO_EMF, formula, lost, stand_in, tuned

UNITS = "SI: effort N m, velocity rad/s, damping N m s/rad, friction N m; on a prismatic joint N and m."
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("stall torque, or the torque of the current limit", "limit effort", "N m"),
    ("no-load speed", "limit velocity", "rad/s"),
    (
        "friction.viscous (and iron loss)",
        "dynamics damping",
        "N m s/rad; a controller's law and back-EMF are not the joint's",
    ),
    ("friction.coulomb, or the level at half the reference load", "dynamics friction", "N m"),
    ("gearbox.ratio", "transmission mechanicalReduction", ""),
    ("motor.rotor_inertia", "-", "URDF has no armature"),
    ("drive, winding, heat, cogging, backlash", "-", "dropped"),
)
"""Ours -> theirs, for the documentation page."""


def write(actuator: Actuator, request: Request) -> Export:
    motor, x = actuator.motor, formula(actuator, request.load, request.amplitude)
    if actuator.drive.ceiling({}) is None and (motor.limits is None or motor.limits.current is None):
        raise MissingValue(
            "URDF's <limit> needs an effort and a velocity; give drive.supply, drive.voltage_limit or"
            " motor.limits.current"
        )
    able, kept_apart = reach(actuator, request.amplitude), ("inductance", "saturation_current")
    # The controller keeps the drive's law, so costs are those of the joint: what classic MuJoCo loses, and
    # the rotor's inertia and back-EMF.
    losses = Losses(loss for loss in lost(actuator, False) if not loss.path.startswith("drive"))
    for k, loss in enumerate(losses):
        name = loss.path.removeprefix("motor.")
        if name in kept_apart:
            losses[k] = loss._replace(kept=False, without=lacking("motor", **{name: None}))
    if motor.rotor_inertia > 0:
        text = f"URDF has no armature; {x.armature:.4g} kg m^2 at the joint must be added elsewhere"
        losses.drop("motor.rotor_inertia", text, "motor", rotor_inertia=0.0)
    text = "torque does not fall with speed, only the velocity is limited"
    losses.drop("motor.back_emf_constant", text, "motor", back_emf_constant=NO_EMF)
    costs = weighed(actuator, tuned(actuator, x, request), losses, request)
    law = Effect(path="drive", text="URDF has no actuator law: the controller keeps it")
    costs = costs._replace(dropped=(law, *costs.dropped))
    numbers = {
        "effort": x.force or able.stall,
        "velocity": able.speed,
        "damping": steady.line(actuator).viscous,
        "friction": x.frictionloss,
        "mechanicalReduction": actuator.gearbox.ratio,
    }
    robot = _robot(request.joint, actuator.motion, numbers, reference_inertia(actuator, request))
    text = '<?xml version="1.0"?>\n' + xml_comment(header(request, UNITS, costs)) + robot
    made = stand_in(actuator, x) if actuator.friction.dry else actuator
    files = {f"{request.joint}.urdf": text}
    return complete(request, actuator, costs, files=files, carried=made, numbers=numbers)


def _robot(joint: str, motion: str, x: dict[str, float], load: float) -> str:
    name, kind = quoteattr(joint), "prismatic" if motion == "linear" else "revolute"
    inertia = (
        f'<inertia ixx="{number(load)}" iyy="{number(load)}" izz="{number(load)}" ixy="0" ixz="0" iyz="0"/>'
    )
    half = "1" if kind == "prismatic" else "3.14159"  # of the stand-in: 1 m, or half a turn
    mass = number(load if kind == "prismatic" else 1.0)
    return f"""<robot name={name}>
  <link name="base"/>
  <link name="{joint}_load">
    <inertial><origin xyz="0 0 0"/><mass value="{mass}"/>{inertia}</inertial>
  </link>
  <joint name={name} type="{kind}">
    <parent link="base"/>
    <child link="{joint}_load"/>
    <axis xyz="0 0 1"/>
    <limit lower="-{half}" upper="{half}" effort="{number(x["effort"])}" velocity="{number(x["velocity"])}"/>
    <dynamics damping="{number(x["damping"])}" friction="{number(x["friction"])}"/>
  </joint>
  <transmission name="{joint}_transmission">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name={name}>
      <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>
    </joint>
    <actuator name="{joint}_motor">
      <mechanicalReduction>{number(x["mechanicalReduction"])}</mechanicalReduction>
    </actuator>
  </transmission>
</robot>
"""
