"""Plugins put into a user's own model."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.targets.code import plugin as target
from backemf.targets.export import export
from backemf.targets.mujoco.edited_model import EditedModel

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
    assert isinstance(done, EditedModel)
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


@pytest.mark.parametrize(("old", "new"), [('kp="10"', 'kp="10" gear="2"'), ("<position", '<motor gear="3"')])
def test_ctrl_goes_on_to_mean_what_it_meant(tmp_path, old, new):
    """A position in ctrl's own units, and a torque; in the plugin as attached."""
    text = ROBOT.replace(old, new)
    text = text.replace(' kp="10"', "") if "<motor" in text else text
    (tmp_path / "robot.xml").write_text(text)
    done = export({"hip": SERVO}, "mujoco-plugin", into=tmp_path / "robot.xml", replay=False)
    assert isinstance(done, EditedModel)
    assert "ctrl_scale" in done.text
    library = target.build_library({name: text for name, text in done.beside.items() if name.endswith(".c")})
    model = mujoco.MjModel.from_xml_string(done.text.replace('"backemf.hip"', f'"backemf.hip{library.tag}"'))
    motors = be.attach(tmp_path / "robot.xml", {"hip": SERVO}, substeps=1)
    ctrl = 0.3 * np.sin(0.03 * np.arange(200)[:, None])
    assert apart((motors.model, model), ctrl)[0] < 1e-12  # as in test_plugin.py
    data = mujoco.MjData(model)
    if "<motor" in text:
        data.ctrl[0] = 0.2
        mujoco.mj_step(model, data)
        mujoco.mj_step(model, data)
        friction = SERVO.friction.breakaway
        assert data.qfrc_actuator[0] == pytest.approx(3 * 0.2, abs=friction + 0.05)
