"""URDF: limits, damping and friction of a joint, and a transmission with the reduction;
read by ROS, Gazebo, Drake and others."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import numpy as np

from ...physics.actuator import Actuator
from ..clocked import Clocked
from ..export import Export, Request, complete, number, xml_comment
from ..motions import reference_inertia
from . import joint as joints
from .joint import described, inputs as inputs, top
from .plant import simulator as simulator

UNITS = joints.UNITS
MAPPING: tuple[tuple[str, str, str], ...] = (
    *joints.MAPPING,
    ("gearbox.ratio", "transmission mechanicalReduction", ""),
    ("motor.rotor_inertia", "-", "URDF has no armature"),
    ("winding, heat, cogging, backlash", "-", "dropped"),
)
"""Ours -> theirs, for the documentation page."""
INERT: dict[str, str] = {
    **joints.INERT,
    "mechanicalReduction": "Drake ignores it: effort and velocity are at the joint already",
}
"""Numbers of the file that a run in Drake does not feel, and why."""


def write(actuator: Actuator, request: Request) -> Export:
    made = described(actuator, request, "URDF")
    numbers = {**made.numbers, "mechanicalReduction": actuator.gearbox.ratio}
    robot = _robot(request.joint, actuator.motion, numbers, reference_inertia(actuator, request))
    text = '<?xml version="1.0"?>\n' + xml_comment(top(request, UNITS, made)) + robot
    files = {f"{request.joint}.urdf": text}
    shown = {**numbers, **made.law._asdict()}
    return complete(request, actuator, made.costs, files=files, carried=made.carried, numbers=shown)


def run(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions [rad or m] when Drake loads the file and the header's law drives its joint."""
    return joints.run(next(iter(files.values())), "urdf", joint, case)


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
