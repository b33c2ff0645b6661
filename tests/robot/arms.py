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
