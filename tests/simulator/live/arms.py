"""Models that the tests of attached actuators move."""

from __future__ import annotations

import mujoco

PENDULUM = """
<mujoco><option timestep="{h}" gravity="0 0 -9.81"/><worldbody><body>
<joint name="hinge" axis="0 -1 0" damping="0.3" frictionloss="0.2" armature="{armature}"/>
<inertial pos="0 0 -{length}" mass="{mass}" diaginertia="1e-9 1e-9 1e-9"/></body></worldbody></mujoco>
"""
"""A point mass that hangs at 0; what its joint says of friction must not matter."""


def pendulum(mass: float = 0.5, length: float = 0.1, h: float = 1e-3, armature: float = 0.1) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(PENDULUM.format(mass=mass, length=length, h=h, armature=armature))


LINK = """<body name="{name}" pos="{at}"><joint name="{name}" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .25 0 0" size=".02" mass="{mass}" contype="0"
conaffinity="0"/>{inner}</body>"""


def arm(masses: tuple[float, ...] = (0.6, 0.4, 0.2), h: float = 2e-3, drives: str = "") -> mujoco.MjSpec:
    """Links stretched out sideways, one after the other, under gravity."""
    inner = ""
    for k in reversed(range(len(masses))):
        at = "0 0 1" if k == 0 else ".25 0 0"
        inner = LINK.format(name="abcdefgh"[k], at=at, mass=masses[k], inner=inner)
    bodies = f"<worldbody>{inner}</worldbody><actuator>{drives}</actuator>"
    text = f'<mujoco><option timestep="{h}"/>{bodies}</mujoco>'
    return mujoco.MjSpec.from_string(text)
