"""Actuators that are no dcmotor, by their numbers at the joint."""

from __future__ import annotations

import pytest

from backemf.mujoco.arrays import DrivenJoint, plain

from ..conftest import needed


@pytest.mark.parametrize("gear", [3.0, -0.5])
def test_damping_and_armature_of_an_actuator_grow_with_the_square_of_its_gear(gear):
    mujoco = needed("mujoco")
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco>
        <worldbody><body><joint name="a" damping=".03" armature=".01"/><geom size=".1"/></body></worldbody>
        <actuator><position joint="a" gear="{gear}" kp="5" damping=".2" armature=".1"/></actuator>
      </mujoco>""")
    found = plain(model, 0, DrivenJoint(joint=0, dof=0, name="a", slides=False))
    assert found.damping == pytest.approx(0.03 + 0.2 * gear**2)
    assert found.armature == pytest.approx(0.01 + 0.1 * gear**2)
    assert found.gain == pytest.approx(5.0 * gear)
    assert found.gear == gear
