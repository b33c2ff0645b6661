"""What motions would tell, against differences of what they do; what a robot's servo may do, by statics."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.planning.motions import Motion, SafetyLimits, Track
from backemf.planning.outlook import Sensing, outlook
from backemf.planning.stations import RobotScene

from .servos import servo

RAMP = Track(times=(0.0, 0.2, 0.6), positions=(0.1, 0.1, 0.9))
STEP = Track(times=(0.0, 0.1), positions=(0.0, -0.7), between="hold", coast=0.4)


def test_information_and_errors_are_those_of_differences():
    """J'J in the errors of encoder and current; an error is one of a number, as a share of it."""
    one, sensing = servo(0), Sensing(rate=100.0, counts=2048.0, current=4e-3)
    motions = [Motion(name=name, duration=0.6, tracks={"*": t}) for name, t in (("a", RAMP), ("b", STEP))]
    look = outlook(one.start, one.bench, motions, sensing=sensing)
    p, x, step, own = look.problem, look.problem.first, 1e-5, look.own
    told, nudges = look.information(x), step * np.eye(len(x))
    assert sensing.sigma == pytest.approx([2 * math.pi / 2048 / math.sqrt(12), 4e-3, math.inf])
    for k in range(2):
        J = [(look.predict(x + d)[k] - look.predict(x - d)[k])[:, :2] / sensing.sigma[:2] for d in nudges]
        J = np.array(J).reshape(len(x), -1)[own] / (2 * step)
        size = np.outer(*[np.linalg.norm(J, axis=1)] * 2)
        assert np.abs((told.curvature[k][np.ix_(own, own)] - J @ J.T) / size).max() < 2e-3
        lost = (told.curvature[k] - told.worth[k])[np.ix_(own, own)] / size
        assert np.linalg.eigvalsh(lost).min() > -1e-6
    time, seen = p.logs[0].time, p.logs[0].samples
    command = {"position_target": RAMP.at(time)}
    run = be.simulate(p.actuator, one.bench, command, time=time, start={"position": 0.1}, tolerance=1e-6)
    np.testing.assert_allclose(look.predict(x)[0][:, 0], run.position[seen], atol=2e-4)
    states = np.column_stack([run[name] for name in p.system.states])[seen]
    driven, coasting = look.currents(x, [states, states])
    np.testing.assert_allclose(driven, run.current[seen], atol=1e-6)
    assert np.all(coasting[p.logs[1].time[p.logs[1].samples] >= 0.4] == 0.0)
    root = np.random.default_rng(3).normal(size=(len(x), len(x)))
    for place, k in enumerate(own):
        q = p.free.parameters[k]
        slope = [(p.values(x + d)[q.name] - p.values(x - d)[q.name]) / (2 * step) for d in nudges]
        error = np.linalg.norm(slope @ root) / abs(p.values(x)[q.name])
        assert look.relative(x, root @ root.T)[place] == pytest.approx(error, rel=1e-4)
    corners, widths = np.array(look.corners()) - x, np.minimum(p.free.prior()[1], 0.4)[own]
    np.testing.assert_allclose(corners[:, own], np.kron(np.diag(2.0 * widths), [[-1.0], [1.0]]), atol=1e-12)
    drawn = (np.array(look.draws(4000, 1)) - x)[:, own] / widths
    assert np.all(drawn[0] == 0.0)
    assert np.std(drawn, axis=0) == pytest.approx(0.96, abs=0.05)  # a normal distribution's, cut at 2
    assert np.abs(drawn).max() == pytest.approx(2.0)


POLE = """<mujoco><compiler angle="radian"/><worldbody><body><joint name="a" axis="0 1 0" range="-2 1.5"/>
<inertial pos="0 0 -.2" mass="1" diaginertia="1e-3 1e-3 1e-3"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("gain", "most"), [(20.0, 1.0), (80.0, 2.0)])
def test_what_a_servo_holds_and_where_it_may_go(tmp_path, gain, most):
    """Half of the 4 N m at which it stalls, or what 0.1 rad of its gain hold."""
    (tmp_path / "pole.xml").write_text(POLE)
    motor, drive = be.motor.Motor(resistance=2.0, torque_constant=1.0, rotor_inertia=1e-3), be.drive.Position
    law = be.Actuator(
        motor=motor, friction=be.friction.Viscous(), drive=drive(volts_per_radian=gain, supply=8)
    )
    one = RobotScene(robot=be.Robot.read(tmp_path / "pole.xml"), joints=("a",), home=np.array([0.8]),
                     actuators={"a": law}, table=None, limits=SafetyLimits())  # fmt: skip
    assert one.strength()[:, 0] == pytest.approx([most, gain / 2.0])
    angle = math.asin(most / (9.80665 * 0.2)) if most < 1.9 else math.inf
    q = np.array([0.5, -0.5, 0.56, -0.56, 1.5])
    assert list(one.holds(q[:, None])) == list(np.abs(q) < angle)
    limits = [(None, None), (-1.0, 0.5), (-3.0, 2.5)]
    within = [SafetyLimits(position_low=a, position_high=b) for a, b in limits]
    ends = [replace(one, limits=some).range_of("a") for some in within]
    np.testing.assert_allclose(ends, [(-1.95, 1.45), (-1.0, 0.5), (-1.95, 1.45)])
    drawn = one.draw(0)[1:]
    assert (drawn.min(), drawn.max()) == pytest.approx((-0.4, min(1.45, angle)), abs=0.1)
