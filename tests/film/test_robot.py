"""A robot's film: model and ghost stand where simulation and recording say, before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.render import render
from backemf.apps.film.robot import RobotStage, robot_film, shown
from backemf.errors import InvalidValue, MissingValue

from ..cli.runner import runner
from ..conftest import needed
from ..robot.arms import ARM
from ..robot.known import known_fit
from ..robot.simulated import recording
from .benches import needs_renderer


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return path


@pytest.fixture(scope="module")
def log(arm):
    return recording(be.Robot.read(arm), 1, seconds=3.0)


@pytest.fixture(scope="module")
def fit(arm, log):
    return known_fit(be.Robot.read(arm), [log], [])


def test_both_stand_where_they_should(fit, log):
    course = shown(fit, log)
    stage = RobotStage(fit.robot, course, (640, 360))
    moment = float(course.time[70])
    for motion in stage.motions.values():
        stage.place(moment, motion)
        for j, name in enumerate(fit.robot.names):
            for prefix, q in (("", motion), ("ghost_", course.recorded)):
                at = stage.model.joint(prefix + name).qposadr[0]
                assert stage.state.qpos[at] == pytest.approx(q[70, j], abs=1e-9)
    assert [*stage.motions] == ["as shipped", "identified"]
    assert course.shipped is not None
    assert course.off(course.shipped) > 3 * course.rms


def test_the_ghost_is_seen_through_and_moves_in_the_same_frame(fit, log):
    model = RobotStage(fit.robot, shown(fit, log), (640, 360)).model
    ghost = [k for k in range(model.ngeom) if model.body(int(model.geom_bodyid[k])).name.startswith("ghost_")]
    assert len(ghost) == 3
    assert (model.geom_rgba[ghost, 3] < 0.5).all()
    assert model.body("ghost_upper").pos == pytest.approx(model.body("upper").pos)


def test_a_film_is_written_with_every_picture(fit, log, tmp_path):
    needs_renderer()
    short = replace(log.between(0.0, 0.5), name=log.name)
    made = robot_film(fit, short, tmp_path / "arm.gif", size=(480, 320), fps=10)
    assert (made.frames, made.size) == (6, (480, 320))
    with needed("PIL.Image").open(made.file) as image:
        assert image.size == (480, 320)
        left = np.asarray(image.convert("RGB"))[:160, :240].astype(float)
    assert np.ptp(left, axis=(0, 1)).max() > 50  # something stands there


def test_what_cannot_be_filmed_is_said(fit, tmp_path):
    run = runner(render)
    fit.write(tmp_path / "fit.json")
    with pytest.raises(MissingValue, match="needs one recording"):
        run(tmp_path / "fit.json", "-o", tmp_path / "f.gif")
    with pytest.raises(InvalidValue, match="is not the fit of a robot"):
        run("mx-106/m1", "log.json", "-o", tmp_path / "f.gif", "--robot", "arm.xml")
    with pytest.raises(MissingValue, match="has no robot"):
        shown(replace(fit, robot=None), recording(fit.robot, 1, seconds=0.5))
