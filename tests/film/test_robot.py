"""A robot's film: model and ghost stand where simulation and recording say, before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.report import render
from backemf.apps.film.film import film
from backemf.apps.film.recorded_run import recorded_run
from backemf.apps.film.stage import RobotStage
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
    run = recorded_run(fit, log)
    stage = RobotStage(fit.robot, run, (640, 360))
    moment = float(run.time[70])
    for motion in stage.motions.values():
        stage.place(moment, motion)
        for name in fit.robot.names:
            for prefix, q in (("", motion), ("ghost_", run.recorded)):
                at = stage.model.joint(prefix + name).qposadr[0]
                assert stage.state.qpos[at] == pytest.approx(q[name][70], abs=1e-9)
    assert [*stage.motions] == ["as shipped", "identified"]
    assert run.shipped is not None
    assert run.off(run.shipped) > 3 * run.rms


def test_the_ghost_is_seen_through_and_moves_in_the_same_frame(fit, log):
    model = RobotStage(fit.robot, recorded_run(fit, log), (640, 360)).model
    ghost = [k for k in range(model.ngeom) if model.body(int(model.geom_bodyid[k])).name.startswith("ghost_")]
    assert len(ghost) == 3
    assert (model.geom_rgba[ghost, 3] < 0.5).all()
    assert model.body("ghost_upper").pos == pytest.approx(model.body("upper").pos)


def test_a_film_is_written_with_every_picture(fit, log, tmp_path):
    needs_renderer()
    short = replace(log.between(0.0, 0.5), name=log.name)
    made = film(fit, short, tmp_path / "arm.gif", size=(480, 320), fps=10)
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
        recorded_run(replace(fit, robot=None), recording(fit.robot, 1, seconds=0.5))
