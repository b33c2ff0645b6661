"""Small robots for tests."""

from __future__ import annotations

ARM = """
<mujoco model="arm"><compiler angle="radian"/>
  <default>
    <default class="servo"><joint axis="0 1 0" range="-2 2"/><position kp="10" forcerange="-3 3"/></default>
  </default>
  <worldbody>
    <body name="upper" pos="0 0 0.4">
      <joint name="shoulder" class="servo"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0.2 0 0" size="0.01" mass="0.2"/>
      <body name="fore" pos="0.2 0 0">
        <joint name="elbow" class="servo"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.01" mass="0.15"/>
        <body name="hand" pos="0.2 0 0">
          <joint name="wrist" class="servo"/>
          <geom name="tip" type="capsule" fromto="0 0 0 0.1 0 0" size="0.01" mass="0.1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="m_shoulder" joint="shoulder" class="servo"/>
    <position name="m_elbow" joint="elbow" class="servo"/>
    <position name="m_wrist" joint="wrist" class="servo"/>
  </actuator>
</mujoco>
"""
"""Three joints of one servo, lifting against gravity."""
URDF = """
<robot name="two">
  <link name="world"/>
  <link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="0.3"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/></joint>
  <joint name="j2" type="revolute"><parent link="a"/><child link="b"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/></joint>
</robot>
"""
CRANE = """
<mujoco model="crane">
  <asset><mesh name="chip" vertex=".1 0 0  0 .1 0  0 0 .1  -.1 -.1 -.1  .2 .2 .2"/>
    <mesh name="wedge" vertex=".06 .05 .04  -.07 .03 .01  .02 -.08 .05  0 .01 -.09"/></asset>
  <worldbody>
    <geom type="box" size=".1 .1 .1" pos="0 0 -2"/>
    <body name="cart" pos=".1 .2 .9">
      <joint name="lift" type="slide" axis=".6 0 .8" range="-.5 .4"/>
      <inertial pos=".02 .01 .03" quat=".9 .1 .3 .2" mass=".4" diaginertia="2e-3 3e-3 4e-3"/>
      <body name="boom" pos=".05 .02 0" euler="20 30 -40">
        <joint name="swing" axis="1 2 .5" pos="0 .01 0" ref="10"/>
        <geom size=".01" mass=".3" contype="0" conaffinity="0" pos="0 0 -.5"/>
        <body name="hook" pos=".2 .05 0"><joint name="nod" axis="0 1 .2"/>
          <geom {shape} mass=".2" pos=".05 .02 -.03" quat=".8 .2 -.4 .1"/>
          <body><geom size=".02" mass=".05" pos=".01 0 0"/></body>
        </body>
      </body>
    </body>
    <body name="away" pos="1 0 2">
      <joint name="other" axis="0 1 0"/><geom size=".05" mass=".1" pos=".3 0 0"/>
      <geom type="mesh" mesh="chip" mass="0"/></body>
  </worldbody>
</mujoco>
"""
"""A slide, turned axes, links without a name, what cannot touch, and a branch of its own far above."""
