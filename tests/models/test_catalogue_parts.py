"""Every part of the catalogue on a joint that a position servo drove: it follows, or is refused in words."""

from __future__ import annotations

import pytest

import backemf as be
from backemf.datasheets import parts
from backemf.errors import InvalidValue
from backemf.targets.mujoco.edited_model import EditedModel

from .known import at, begin, load, run

KNEE = """<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody><body><joint name="knee" axis="0 1 0" armature="0.01" damping="0.05"/>
    <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" mass="1"/></body></worldbody>
  <actuator><position name="servo" joint="knee" kp="20" kv="1"/></actuator>
</mujoco>
"""
STEP = 0.3
"""What is asked for [rad]: 6 N m at first, with the model's own kp."""
TOO_WEAK = {
    "faulhaber-0816k003sr",
    "faulhaber-0816k006sr",
    "faulhaber-0816k009sr",
    "faulhaber-0816k012sr",
    "maxon-a-max-12-265376",
    "rmd-x8-120",
}
"""Bare motors of a watt, which cannot swing a kilogram; and gears whose dry friction is above 6 N m."""
NAMES = parts.names()


def excursion(model):
    """How far the knee goes within a second [rad]."""
    data, far = begin(model), 0.0
    data.ctrl[0] = STEP
    for _ in range(50):
        run(model, data, 0.02)
        far = max(far, at(model, data, "knee"))
    return far


def with_part(name, way, path):
    """The knee with a part."""
    sheet = be.Datasheet.read(name)
    if way == "attach":
        return be.attach(path, {"knee": sheet}).model
    edited = be.export({"knee": sheet}, way, into=path, method="formula")
    assert isinstance(edited, EditedModel)
    return load(edited.write(path.with_name("new.xml"), force=True)[0])


def check_part(name: str, path) -> None:
    far, said = {}, {}
    for way in ("attach", "mujoco", "mujoco-classic"):
        try:
            far[way] = excursion(with_part(name, way, path))
        except InvalidValue as error:
            said[way] = str(error)
    assert not said or name in TOO_WEAK, f"{name}: {said}"
    for words in said.values():
        assert "no longer follows its command: knee moves" in words
        assert "is this the part for that joint, at its supply?" in words
    assert all(moved >= 0.1 * STEP for moved in far.values()), f"{name}: {far}"
    if name not in TOO_WEAK and not name.startswith("rmd"):  # whose friction eats most of what kp asks for
        assert max(far.values()) < 2.0 * min(far.values()), f"{name}: {far}"


def test_some_parts_follow(tmp_path):
    path = tmp_path / "knee.xml"
    path.write_text(KNEE)
    assert excursion(load(path)) == pytest.approx(STEP, rel=0.2)
    for name in NAMES[::6]:
        check_part(name, path)


@pytest.mark.proof
@pytest.mark.parametrize("name", NAMES)
def test_every_part_follows(name, tmp_path):
    (tmp_path / "knee.xml").write_text(KNEE)
    check_part(name, tmp_path / "knee.xml")
