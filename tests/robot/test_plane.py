"""A table is found where one is, at any height and slope, and none where torques have other reasons."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.identify.plants.recordings import recording_of, with_contact
from backemf.logs.robot import Ground
from backemf.mujoco.robot.contact import Clearance, Pushes, ground_of

from .arms import ARM
from .simulated import DELAYS, recording, truth

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return be.Robot.read(path)


def _felt(robot, ground, low, factors=None):
    """The ground found in two runs, with the true actuators or ones that are off."""
    logs = [recording(robot, k, 8.0, ground=ground, low=low, step=2e-3) for k in (1, 3)]
    acts = {name: a.replace(**{p: f * a.parameters[p] for p, f in (factors or {}).items()})
            for name, a in truth().items()}  # fmt: skip
    return with_contact(robot, [recording_of(robot, log) for log in logs], acts, DELAYS, None)


@pytest.mark.parametrize(
    "table", [Ground(height=0.02), Ground(height=-0.02), Ground(height=0.0, x_slope=0.12)], ids=str
)
def test_a_table_is_found_at_its_height_and_slope(robot, table):
    recordings, found, _ = _felt(robot, table, 0.7)
    assert found is not None
    points = np.concatenate([one.clearance.point[one.touched] for one in recordings])
    # half the thickness of the hand: noise of the encoder alone moves the tip by a millimetre
    assert np.median(np.abs(found.under(points) - table.under(points))) < 5e-3
    share = np.mean(np.concatenate([one.touched for one in recordings]))
    assert 0.02 < share < 0.9


@pytest.mark.parametrize(
    "factors",
    [{}, {"motor.torque_constant": 1.1}, {"friction.coulomb": 0.6, "friction.viscous": 1.5}],
    ids=["true", "too strong", "other friction"],
)
def test_in_the_air_no_table_is_found(robot, factors):
    assert _felt(robot, None, 0.3, factors)[1] is None


def _moments(n: int = 4000) -> np.ndarray:
    """Points of a hand that moves about above z = 0."""
    return np.column_stack([RNG.uniform(0.1, 0.4, n), RNG.uniform(-0.3, 0.3, n), RNG.uniform(0.0, 0.3, n)])


def _ground(points, pushed):
    there = Clearance(
        height=points[:, 2], body=np.ones(len(points), int), point=points, push=np.ones((len(points), 1))
    )
    felt = Pushes(force=pushed * 1.0, sure=10.0 * pushed)
    return ground_of([there], [felt], [0.02 * np.arange(len(points))])[0]


def test_a_slope_is_believed_where_it_explains_the_heights():
    points = _moments()
    plane = 0.03 + 0.15 * points[:, 0] - 0.1 * points[:, 1]
    points[:, 2] = np.maximum(points[:, 2], plane) + RNG.normal(0, 1e-3, len(points))
    found = _ground(points, points[:, 2] < plane + 2e-3)
    assert found is not None
    # a scatter of 1 mm over 0.6 m and hundreds of points leaves slopes to 0.01
    assert (found.x_slope, found.y_slope) == pytest.approx((0.15, -0.1), abs=0.01)
    assert found.height == pytest.approx(0.03, abs=2e-3)


def test_pushes_at_every_height_are_no_table():
    points = _moments()
    assert _ground(points, RNG.uniform(size=len(points)) < 0.2) is None


def test_what_passes_below_unhindered_is_no_table():
    points = _moments()
    assert _ground(points, np.abs(points[:, 2] - 0.15) < 5e-3) is None


def test_a_moment_is_no_table():
    points = _moments()
    points[:, 2] += 0.05
    points[:10, 2] = 0.0
    assert _ground(points, points[:, 2] < 1e-3) is None
