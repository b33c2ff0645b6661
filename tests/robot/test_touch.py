"""What touches: the lowest point of every shape, pushes felt there, and when something counts as a plane."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import backemf as be
from backemf.logs.robot import Ground
from backemf.mujoco.robot.contact import (
    Clearance,
    Outside,
    Pushes,
    clearance,
    ground_of,
    pushes,
    scatter_of,
    touching_samples,
)
from backemf.mujoco.robot.robot_motion import bare_model

from .arms import CRANE

RNG = np.random.default_rng(5)
STEP = 0.01


def bell(n):
    """So many numbers as a normal distribution of scatter 1 has them."""
    return np.array([NormalDist().inv_cdf((k + 0.5) / n) for k in range(n)])


def flat(R):
    return np.hypot(R[2, 0], R[2, 1])


SHAPES = {
    'size=".03"': lambda R: 0.03,
    'type="capsule" size=".02 .05"': lambda R: 0.02 + 0.05 * abs(R[2, 2]),
    'type="box" size=".02 .03 .05"': lambda R: np.abs(R[2]) @ [0.02, 0.03, 0.05],
    'type="ellipsoid" size=".02 .03 .05"': lambda R: np.linalg.norm(R[2] * [0.02, 0.03, 0.05]),
    'type="cylinder" size=".02 .05"': lambda R: 0.02 * flat(R) + 0.05 * abs(R[2, 2]),
    'type="mesh" mesh="wedge"': None,
}
"""How far below its middle each reaches, by the turned frame: the support of a convex body."""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.split('"')[1])
def test_the_lowest_point_of_every_shape_and_what_a_push_there_does(tmp_path, shape):
    """A push upwards does the work by which it lifts the lowest point."""
    import mujoco

    (tmp_path / "crane.xml").write_text(CRANE.format(shape=shape))
    robot = be.Robot.read(tmp_path / "crane.xml")
    model = bare_model(robot)
    data, g = mujoco.MjData(model), int(model.body("hook").geomadr[0])
    postures = RNG.uniform(-1.2, 1.2, (12, 4)) * [0.3, 1.0, 1.0, 1.0]
    found = clearance(robot, postures)
    assert found is not None
    for k, q in enumerate(postures):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        x, R = data.geom_xpos[g], data.geom_xmat[g].reshape(3, 3)
        depth = SHAPES[shape](R) if SHAPES[shape] else np.max(-(R @ model.mesh_vert.T)[2])
        small = data.geom_xpos[g + 1][2] - 0.02
        assert found.height[k] == pytest.approx(min(x[2] - depth, small), abs=1e-7)
        assert found.height[k] == found.point[k, 2]
        assert model.body(found.body[k]).rootid == model.body("cart").id
    nudge = 1e-5 * np.eye(4)
    up, down = (np.stack([clearance(robot, postures + s * e).height for e in nudge], 1) for s in (1, -1))
    np.testing.assert_allclose(found.push, (up - down) / 2e-5, atol=2e-5)
    assert np.all(found.push[:, 3] == 0)


def test_the_force_below_is_the_one_that_explains_the_torques_best():
    """By least squares, each torque in its scatter; a joint that nobody has an actuator for tells nothing."""
    lever, torque = RNG.normal(size=(40, 4)), RNG.normal(size=(40, 4))
    torque[:, 2], scatter = 0.0, np.array([0.1, 0.3, 0.2, 0.5])
    outside = Outside(torque, np.tile([1.0, 0.0, 0.0, 0.0], (40, 1)), torque != 0)
    there = Clearance(height=lever[:, 0], body=np.ones(40, int), point=lever[:, :3], push=lever)
    felt = pushes(outside, scatter, there, 0.1 * np.arange(40))
    told = [0, 1, 3]
    for k in range(40):
        a, b = lever[k, told] / scatter[told], torque[k, told] / scatter[told]
        (force,), *_ = np.linalg.lstsq(a[:, None], b, rcond=None)
        assert felt.force[k] == pytest.approx(force)
        assert felt.sure[k] == pytest.approx(force / (a @ a) ** -0.5)


@pytest.mark.parametrize(("lasts", "felt"), [(0.04, False), (0.07, True)])
def test_a_moment_is_no_push(lasts, felt):
    t = STEP * np.arange(100)
    torque = np.where((t > 0.4) & (t < 0.4 + lasts), 5.0, 0.0)[:, None]
    lever = np.full((100, 1), 0.5)
    there = Clearance(height=t, body=np.ones(100, int), point=np.zeros((100, 3)), push=lever)
    found = pushes(Outside(torque, 1 + torque, torque > 0), np.array([0.1]), there, t)
    assert found.force.max() == (10.0 if felt else 0.0)


def test_what_torques_scatter_by_while_nothing_touches():
    """That of a normal distribution, and 15 % of the level of friction; at rest only that."""
    normal = bell(2001)
    torque, level = np.outer(normal, [0.3, 0.3, 0.3, 0.0]), np.tile([0.5, 1.0, 1.0, 0.0], (2001, 1))
    moving = np.ones((2001, 4), bool)
    moving[:, 1], moving[40:, 2] = False, False
    two = [Outside(torque[a:b], level[a:b], moving[a:b]) for a, b in ((0, 700), (700, 2001))]
    found = scatter_of(two)
    assert found[:3] == pytest.approx([np.hypot(0.3, 0.075), 0.15, 0.15], rel=2e-3)
    assert 0 < found[3] < 1e-6


@pytest.mark.parametrize(
    ("gap", "sure", "touches"),
    [
        (None, 2.4, False),
        (None, 3.6, True),
        (8e-3, 0.0, True),  # as near as the ground is known, and 6 mm
        (12e-3, 0.0, False),
        (17e-3, 3.6, True),
        (17e-3, 2.4, False),
        (24e-3, 3.6, False),
        (24e-3, 5.0, False),
        (24e-3, 7.0, True),
        (-8e-3, 0.0, True),
    ],
)
def test_when_a_robot_may_touch(gap, sure, touches):
    """Together with 0.15 s before and after."""
    t = STEP * np.arange(101)
    here = np.arange(101) == 50
    ground = None if gap is None else Ground(height=0.1, x_slope=0.1, y_slope=-0.05, error=4e-3)
    point = np.tile([0.3, 0.2, 0.0], (101, 1))
    point[:, 2] = 0.1 + 0.03 - 0.01 + np.where(here, gap or 0.0, 0.5)
    there = Clearance(height=point[:, 2], body=0 * t, point=point, push=t[:, None])
    felt = Pushes(force=sure * here, sure=sure * here)
    found = touching_samples(there, felt, ground, t)
    np.testing.assert_array_equal(found, (np.abs(t - 0.5) < 0.155) & touches)


def plane(z, pushed, x=None, y=0.0):
    z = np.asarray(z, float)
    point = np.column_stack([np.linspace(0.1, 0.4, len(z)) if x is None else x, y + 0 * z, z])
    there = Clearance(height=z, body=0 * z, point=point, push=z[:, None])
    felt = Pushes(force=1.0 * pushed, sure=np.where(pushed, 3.6, 2.4))
    half = len(z) // 2  # of two recordings
    parts = [slice(0, half), slice(half, None)]
    return ground_of(
        [Clearance(**{n: getattr(there, n)[p] for n in vars(there)}) for p in parts],
        [Pushes(force=felt.force[p], sure=felt.sure[p]) for p in parts],
        [STEP * np.arange(p.indices(len(z))[1] - p.indices(len(z))[0]) for p in parts],
    )[0]


def share(of, n):
    """True for so much of n, evenly."""
    return np.diff(np.floor(np.linspace(0, of * n + 1e-9, n + 1))) > 0


@pytest.mark.parametrize(
    ("on", "above", "below", "found"),
    [
        (0.5, 0.04, 0.0, True),
        (0.5, 0.06, 0.0, False),  # more than a tenth
        (0.12, 8e-4, 0.0, True),
        (0.12, 2e-3, 0.0, False),  # it leans lightly, and next to nothing above may push
        (0.18, 0.01, 0.0, True),
        (0.06, 0.0, 0.0, True),
        (0.04, 0.0, 0.0, False),
        (0.8, 0.0, 8e-3, True),
        (0.8, 0.0, 0.012, False),
    ],
)
def test_a_plane_is_pushed_on_and_nothing_pushes_elsewhere(on, above, below, found):
    n_on, n_above, n_below = 4000, 8000, round(12_000 * below)
    z = np.concatenate([np.tile([-1e-4, -1e-4, 1e-4, 1e-4], n_on // 4), np.linspace(0.05, 0.3, n_above)])
    z = np.concatenate([z, np.full(n_below, -0.2)])
    pushed = np.concatenate([share(on, n_on), share(above, n_above), np.zeros(n_below, bool)])
    ground = plane(z, pushed)
    assert (ground is not None) == found
    if ground is not None:
        assert ground.height == pytest.approx(0.0, abs=2e-4)


@pytest.mark.parametrize(
    ("seconds", "touches", "scatter", "error"),
    [
        (0.4, 4, 1e-4, None),  # half a second is needed
        (0.6, 4, 1e-4, 1e-3),  # links bend
        (0.6, 2, 1e-4, 3e-3),  # two touches do not tell
        (0.6, 3, 1.5e-3, 1.5e-3),
        (0.6, 2, 4.5e-3, 4.5e-3),
        (2.0, 4, 0.025, 0.025),
    ],
)
def test_how_well_a_plane_is_known(seconds, touches, scatter, error):
    n = round(seconds / STEP / touches)
    high = np.linspace(0.15 + 3 * scatter, 0.45, 4000 // touches)
    spread = RNG.permutation(np.tile(bell(n), touches))
    parts = [(scatter * spread[k * n : (k + 1) * n], high) for k in range(touches)]
    z = np.concatenate([part for both in parts for part in both])
    pushed = np.concatenate([np.repeat([True, False], [n, len(high)]) for _ in range(touches)])
    found = plane(z, pushed)
    assert (found and found.error) == (error and pytest.approx(error, rel=0.12))


@pytest.mark.parametrize(
    ("slope", "touches", "noise", "tilted"),
    [
        (0.17, 7, 1e-3, True),
        (0.17, 5, 1e-3, False),  # six touches tell a slope
        (0.24, 7, 1e-3, False),  # a ramp is no table
        (0.1, 7, 3.2e-3, True),
        (0.1, 7, 6.5e-3, False),  # the level one is nearly as good
    ],
)
def test_when_a_table_leans(slope, touches, noise, tilted):
    n, high = 60, np.linspace(0.15, 0.45, 500)
    z, x = [], []
    for _ in range(touches):
        at = RNG.uniform(-0.15, 0.15, n)
        z += [slope * at + noise * RNG.normal(size=n), high]
        x += [at, 0 * high]
    pushed = np.concatenate([np.repeat([True, False], [n, len(high)]) for _ in range(touches)])
    for mirror in (1.0, -1.0):
        found = plane(np.concatenate(z), pushed, x=mirror * np.concatenate(x))
        assert found is not None
        assert (found.x_slope, found.y_slope) == pytest.approx((mirror * slope * tilted, 0.0), abs=0.02)
        assert found.height == pytest.approx(0.0, abs=4e-3)
