"""Plugins put into a user's own model."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.targets.code import plugin as target
from backemf.targets.export import export

from .plugged import apart
from .variants import LATE, SERVO

ROBOT = """<mujoco>
  <option timestep="0.001"/>
  <worldbody><!-- mine --><body><joint name="hip" axis="0 1 0" damping="1"/>
    <geom size=".05" pos="0 0 -.1" mass=".2"/><body pos="0 0 -.2"><joint name="knee" axis="0 1 0"/>
    <geom size=".05" pos="0 0 -.1" mass=".2"/></body></body></worldbody>
  <actuator><position name="h" joint="hip" kp="10" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def test_a_users_model_gets_plugins_of_one_library(tmp_path):
    """Joints and actuators change, the rest stays; the C goes beside the model, and both move as attached."""
    (tmp_path / "robot.xml").write_text(ROBOT)
    parts = {"hip": SERVO, "knee": LATE}
    done = export(parts, "mujoco-plugin", into=tmp_path / "robot.xml", replay=False)
    written = [path.name for path in done.write(tmp_path / "new.xml")]
    assert written == ["new.xml", "hip_plugin.c", "Makefile"]
    text = (tmp_path / "new.xml").read_text()
    assert "<!-- mine -->" in text
    assert "joint hip: damping 1 became 0" in done.changes
    assert "actuator of hip: <position> became <plugin> backemf.hip" in done.changes
    assert (tmp_path / "robot.xml").read_text() == ROBOT
    library = target.build_library({"hip_plugin.c": (tmp_path / "hip_plugin.c").read_text()})
    for name in parts:
        text = text.replace(f'"backemf.{name}"', f'"backemf.{name}{library.tag}"')
    model = mujoco.MjModel.from_xml_string(text)
    motors = be.attach(tmp_path / "robot.xml", parts, substeps=1)
    assert [model.actuator(i).name for i in range(model.nu)] == ["h", "knee"]
    ctrl = 0.3 * np.sin(0.03 * np.arange(200)[:, None] + [0.0, 1.0])
    assert apart((motors.model, model), ctrl)[0] < 1e-12  # as in test_plugin.py


def test_a_geared_actuator_is_not_replaced(tmp_path):
    (tmp_path / "robot.xml").write_text(ROBOT.replace('kp="10"', 'kp="10" gear="2"'))
    with pytest.raises(be.BackemfError, match="the actuator of 'hip' has gear 2; expected 1 for a plugin"):
        export({"hip": SERVO}, "mujoco-plugin", into=tmp_path / "robot.xml", replay=False)
