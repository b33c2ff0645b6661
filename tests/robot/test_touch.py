"""What touches: the lowest point of every shape, pushes felt there, and when something counts as a plane."""

from __future__ import annotations

from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import mujoco
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
    unexplained_torque,
)
from backemf.mujoco.robot.robot_motion import bare_model

from .arms import CRANE

RNG = np.random.default_rng(5)
STEP = 0.01
SHAPES = {
    'size=".03"': lambda R: 0.03,
    'type="capsule" size=".02 .05"': lambda R: 0.02 + 0.05 * abs(R[2, 2]),
    'type="box" size=".02 .03 .05"': lambda R: np.abs(R[2]) @ [0.02, 0.03, 0.05],
    'type="ellipsoid" size=".02 .03 .05"': lambda R: np.linalg.norm(R[2] * [0.02, 0.03, 0.05]),
    'type="cylinder" size=".02 .05"': lambda R: 0.02 * np.hypot(*R[2, :2]) + 0.05 * abs(R[2, 2]),
    'type="mesh" mesh="wedge"': None,
}
"""How far below its middle each reaches, by the turned frame: the support of a convex body."""


def bell(n):
    """So many numbers as a normal distribution of scatter 1 has them."""
    return np.array([NormalDist().inv_cdf((k + 0.5) / n) for k in range(n)])


def at(point, push=None):
    push = point[:, :1] if push is None else push
    return Clearance(height=point[:, 2], body=np.ones(len(point), int), point=point, push=push)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.split('"')[1])
def test_the_lowest_point_of_every_shape_and_what_a_push_there_does(tmp_path, shape):
    """A push upwards does the work by which it lifts the lowest point."""
    (tmp_path / "crane.xml").write_text(CRANE.format(shape=shape))
    robot = be.Robot.read(tmp_path / "crane.xml")
    model = bare_model(robot)
    data, g = mujoco.MjData(model), int(model.body("hook").geomadr[0])
    postures = RNG.uniform(-1.2, 1.2, (12, 4)) * [0.3, 1.0, 1.0, 1.0]
    found = clearance(robot, postures)
    for k, q in enumerate(postures):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        x, R = data.geom_xpos[g], data.geom_xmat[g].reshape(3, 3)
        wedge = model.mesh("wedge")
        corners = model.mesh_vert[wedge.vertadr[0] :][: wedge.vertnum[0]]
        depth = SHAPES[shape](R) if SHAPES[shape] else np.max(-corners @ R[2])
        small = data.geom_xpos[g + 1][2] - 0.02
        assert found.height[k] == found.point[k, 2] == pytest.approx(min(x[2] - depth, small), abs=1e-7)
    nudge = 1e-5 * np.eye(4)
    up, down = (np.stack([clearance(robot, postures + s * e).height for e in nudge], 1) for s in (1, -1))
    np.testing.assert_allclose(found.push, (up - down) / 2e-5, atol=2e-5)
    assert np.all(found.push[:, 3] == 0)


def test_the_force_below_is_the_one_that_explains_the_torques_best():
    """By least squares, each torque in its scatter; a joint that nobody has an actuator for tells nothing."""
    lever, torque = RNG.normal(size=(40, 4)), RNG.normal(size=(40, 4))
    torque[:, 2], scatter = 0.0, np.array([0.1, 0.3, 0.2, 0.5])
    outside = Outside(torque, np.tile([1.0, 0.0, 0.0, 0.0], (40, 1)), torque != 0)
    felt, told = pushes(outside, scatter, at(lever, lever), 0.1 * np.arange(40)), [0, 1, 3]
    for k in range(40):
        a, b = lever[k, told] / scatter[told], torque[k, told] / scatter[told]
        (force,), *_ = np.linalg.lstsq(a[:, None], b, rcond=None)
        assert (felt.force[k], felt.sure[k]) == pytest.approx((force, force * np.sqrt(a @ a)))


@pytest.mark.parametrize(("lasts", "felt"), [(0.04, 0.0), (0.07, 10.0)])
def test_a_moment_is_no_push(lasts, felt):
    t = STEP * np.arange(100)
    torque = np.where((t > 0.4) & (t < 0.4 + lasts), 5.0, 0.0)[:, None]
    there = at(np.zeros((100, 3)), np.full((100, 1), 0.5))
    found = pushes(Outside(torque, 1 + torque, torque > 0), np.array([0.1]), there, t)
    assert found.force.max() == felt


def test_what_torques_scatter_by_while_nothing_touches():
    """That of a normal distribution, and 15 % of the level of friction; at rest only that."""
    torque, level = np.outer(bell(2001), [0.3, 0.3, 0.3]), np.tile([0.5, 1.0, 1.0], (2001, 1))
    moving = np.ones((2001, 3), bool)
    moving[:, 1], moving[40:, 2] = False, False
    two = [Outside(torque[a:b], level[a:b], moving[a:b]) for a, b in ((0, 700), (700, 2001))]
    assert scatter_of(two) == pytest.approx([np.hypot(0.3, 0.075), 0.15, 0.15], rel=2e-3)


NEAR = [(None, 2.4, False), (None, 3.6, True), (8e-3, 0.0, True), (12e-3, 0.0, False), (17e-3, 3.6, True),
        (17e-3, 2.4, False), (24e-3, 5.0, False), (24e-3, 7.0, True), (-8e-3, 0.0, True)]  # fmt: skip
"""Above a ground that is known to 4 mm, how sure a push is, and whether that is a touch."""


@pytest.mark.parametrize(("gap", "sure", "touches"), NEAR)
def test_when_a_robot_may_touch(gap, sure, touches):
    """Together with 0.15 s before and after."""
    t, here = STEP * np.arange(101), np.arange(101) == 50
    ground = None if gap is None else Ground(height=0.1, x_slope=0.1, y_slope=-0.05, error=4e-3)
    point = np.tile([0.3, 0.2, 0.0], (101, 1))
    point[:, 2] = 0.1 + 0.03 - 0.01 + np.where(here, gap or 0.0, 0.5)
    found = touching_samples(at(point), Pushes(force=sure * here, sure=sure * here), ground, t)
    np.testing.assert_array_equal(found, (np.abs(t - 0.5) < 0.155) & touches)


def plane(z, pushed, x):
    """The ground of two recordings in which something pushes at some heights."""
    point, half = np.column_stack([x + 0 * z, 0 * z, z]), len(z) // 2
    sure = np.where(pushed, 3.6, 2.4)
    parts = [slice(0, half), slice(half, len(z))]
    felt = [Pushes(force=sure[p], sure=sure[p]) for p in parts]
    return ground_of([at(point[p]) for p in parts], felt, [STEP * np.arange(half)] * 2)[0]


ON = [(0.5, 0.04, 0.0, True), (0.5, 0.06, 0.0, False),  # a tenth may push above
      (0.12, 8e-4, 0.0, True), (0.12, 2e-3, 0.0, False), (0.18, 0.01, 0.0, True),  # what leans lightly: less
      (0.06, 0.0, 0.0, True), (0.04, 0.0, 0.0, False),
      (0.8, 0.0, 8e-3, True), (0.8, 0.0, 0.012, False)]  # fmt: skip


@pytest.mark.parametrize(("on", "above", "below", "found"), ON)
def test_a_plane_is_pushed_on_and_nothing_pushes_elsewhere(on, above, below, found):
    """By the shares of the time there in which something pushes, and the share that is spent below."""
    z = [np.tile([-1e-4, -1e-4, 1e-4, 1e-4], 1000), np.linspace(0.05, 0.3, 8000)]
    z = np.concatenate([*z, np.full(round(12_000 * below), -0.2)])
    share = np.repeat([on, above, 0.0], [4000, 8000, len(z) - 12_000])
    ground = plane(z, (np.cumsum(share) + 1e-6) % 1.0 < share, 0.3)
    assert (ground is not None) == found
    assert ground is None or abs(ground.height) < 2e-4


TOLD = [(0.4, 4, 1e-4, None), (0.6, 4, 1e-4, 1e-3), (0.6, 2, 1e-4, 3e-3), (0.6, 3, 1.5e-3, 1.5e-3),
        (0.6, 2, 4.5e-3, 4.5e-3), (2.0, 4, 0.025, 0.025)]  # fmt: skip
"""Half a second of touches is needed; links bend by a millimetre, and two touches tell no scatter."""


@pytest.mark.parametrize(("seconds", "touches", "scatter", "error"), TOLD)
def test_how_well_a_plane_is_known(seconds, touches, scatter, error):
    n = round(seconds / STEP / touches)
    high = np.linspace(0.15 + 3 * scatter, 0.45, 4000 // touches)
    spread = scatter * RNG.permutation(np.tile(bell(n), touches)).reshape(touches, n)
    z = np.concatenate([part for one in spread for part in (one, high)])
    found = plane(z, np.tile(np.repeat([True, False], [n, len(high)]), touches), 0.3)
    assert (found and found.error) == (error and pytest.approx(error, rel=0.12))


LEANS = [(0.17, 7, 1e-3, True), (0.17, 5, 1e-3, False), (0.24, 7, 1e-3, False), (0.1, 7, 3.2e-3, True),
         (0.1, 7, 6.5e-3, False)]  # fmt: skip
"""Slope, touches, scatter: six touches tell a slope, a ramp is no table, and a level one may do as well."""


@pytest.mark.parametrize(("slope", "touches", "noise", "leans"), LEANS)
def test_when_a_table_leans(slope, touches, noise, leans):
    at_x, high = RNG.uniform(-0.15, 0.15, (touches, 60)), np.linspace(0.15, 0.45, 500)
    z = np.concatenate([p for x in at_x for p in (slope * x + noise * RNG.normal(size=60), high)])
    x = np.concatenate([p for x in at_x for p in (x, 0 * high)])
    for mirror in (1.0, -1.0):
        found = plane(z, np.tile(np.repeat([True, False], [60, 500]), touches), mirror * x)
        assert (found.x_slope, found.y_slope) == pytest.approx((mirror * slope * leans, 0.0), abs=0.02)
        assert found.height == pytest.approx(0.0, abs=4e-3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_no_motor_and_no_friction_explains_by_hand(sign):
    """J a - tau_motor - tau_load + drag, less what dry friction opposes to a motion, or can hold at rest; the
    mirrored joint, the mirrored torque."""
    rng, t = np.random.default_rng(8), STEP * np.arange(200)
    shares = {"load_driving": 0.1, "load_back_driving": 0.4, "viscous_quadratic": 0.05}
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.05, rotor_inertia=1e-5),
        gearbox=be.gearbox.Gearbox(ratio=20.0),
        friction=be.friction.TorqueProportional(coulomb=0.3, viscous=0.2, **shares),
        drive=be.drive.Position(volts_per_radian=30.0, volt_seconds_per_radian=0.3),
    )
    q, v, a, asked, load = sign * rng.normal(size=(5, 200)) * [[0.2], [0.2], [3.0], [0.2], [1.0]]
    v[::4] *= 1e-2
    J = rng.uniform(0.01, 0.05, 200)
    log = be.log("run", t, position=q, position_target=asked)
    column = {"position": 0 * q, "velocity": v, "acceleration": a, "recorded": q}  # a law sees the last one
    motion: Any = SimpleNamespace(time=t, **{k: np.column_stack([0 * x, x]) for k, x in column.items()})
    carried: Any = SimpleNamespace(
        load=np.column_stack([0 * load, load]), inertia=np.column_stack([0 * J, J])
    )
    torque, level, moves = unexplained_torque(actuator, log, 0.015, motion, carried, 1)
    held = asked[np.maximum(np.arange(200) - 2, 0)]  # the newest that is 15 ms old
    given = (30.0 * (held - q) - 0.3 * v - 0.05 * 20.0 * v) / 2.0 * 0.05 * 20.0
    needed = (J + 1e-5 * 400.0) * a - given - load + (0.2 + 0.05 * np.abs(v)) * v
    still = np.abs(v) < 0.05
    way = np.where(still, -np.sign(needed), np.sign(v))
    dry = 0.3 + np.where(given * way > 0, 0.1, 0.4) * np.abs(given)
    at_rest = np.sign(needed) * np.maximum(np.abs(needed) - dry, 0.0)
    np.testing.assert_array_equal(moves, ~still)
    np.testing.assert_allclose(level, dry)
    np.testing.assert_allclose(torque, np.where(still, at_rest, needed + way * dry), atol=1e-12)
    assert 2 < np.sum(torque[still] == 0.0) < np.sum(still) < 100
