"""SDF: limits, damping and friction of a joint; read by Gazebo, Drake and others."""

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
    ("gearbox.ratio", "-", "everything is at the joint"),
    ("motor.rotor_inertia", "-", "SDF has no armature"),
    ("winding, heat, cogging, backlash", "-", "dropped"),
)
"""Ours -> theirs, for the documentation page."""
INERT: dict[str, str] = joints.INERT
"""Numbers of the file that a run in Drake does not feel, and why."""


def write(actuator: Actuator, request: Request) -> Export:
    made = described(actuator, request, "SDF")
    model = _model(request.joint, actuator.motion, made.numbers, reference_inertia(actuator, request))
    text = '<?xml version="1.0"?>\n' + xml_comment(top(request, UNITS, made)) + model
    files = {f"{request.joint}.sdf": text}
    shown = {**made.numbers, **made.law._asdict()}
    return complete(request, actuator, made.costs, files=files, carried=made.carried, numbers=shown)


def run(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions [rad or m] when Drake loads the file and the header's law drives its joint."""
    return joints.run(next(iter(files.values())), "sdf", joint, case)


def _model(joint: str, motion: str, x: Mapping[str, float], load: float) -> str:
    name, slides = quoteattr(joint), motion == "linear"
    kind, half = (
        ("prismatic", "1") if slides else ("revolute", "3.14159")
    )  # of the stand-in: 1 m, or half a turn
    J, mass = number(load), number(load if slides else 1.0)
    return f"""<sdf version="1.9">
  <model name={name}>
    <link name="base"/>
    <link name="{joint}_load">
      <inertial>
        <mass>{mass}</mass>
        <inertia><ixx>{J}</ixx><iyy>{J}</iyy><izz>{J}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia>
      </inertial>
    </link>
    <joint name={name} type="{kind}">
      <parent>base</parent>
      <child>{joint}_load</child>
      <axis>
        <xyz>0 0 1</xyz>
        <limit>
          <lower>-{half}</lower>
          <upper>{half}</upper>
          <effort>{number(x["effort"])}</effort>
          <velocity>{number(x["velocity"])}</velocity>
        </limit>
        <dynamics>
          <damping>{number(x["damping"])}</damping>
          <friction>{number(x["friction"])}</friction>
        </dynamics>
      </axis>
    </joint>
  </model>
</sdf>
"""
