"""What a plan is made of: motions that differ, information that is counted once, limits, and words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.report.figures.runs import plan_figure as figure
from backemf.identify.inspect.signals import motions_lacking
from backemf.planning.choose import Budget, MotionChoice, bound_information, choose
from backemf.planning.family import (
    INSIDE,
    Extremes,
    MotionRange,
    extremes,
    family,
    heat_of,
    positions,
    within,
)
from backemf.planning.motions import Motions, SafetyLimits
from backemf.planning.outlook import Sensing, outlook, rounding, standstills
from backemf.results.fit_result import FittedParameter

from .servos import servo

ONE = servo(1)
OWN = ONE.start.friction.name
QUICK = Sensing(rate=100.0)


@pytest.fixture(scope="module")
def plan() -> be.Plan:
    return be.plan(ONE.start, ONE.bench, friction=OWN, seconds=6.0, sensing=QUICK)


def test_motions_stay_within_their_reach_and_differ():
    made = family(MotionRange(0.2, 0.5))
    for one in made:
        _, q = one.sample("any")
        assert np.all(np.abs(q - 0.2) <= 0.5 + 1e-9), one.name
    assert len({one.name for one in made}) == len(made)
    kinds = {one.name.rstrip("0123456789-") for one in made}
    assert {"steps", "reversals", "chirp", "slow", "breakaway", "lift-coast", "throw-coast", "hold"} == kinds
    slow = family(MotionRange(0.2, 0.5, pace=2.0))
    assert [one.duration for one in slow] == pytest.approx([2.0 * one.duration for one in made])


def test_a_standstill_is_one_sample_and_a_motion_many():
    grain = 1e-3
    q = np.concatenate([np.zeros(10), np.linspace(0.0, 0.1, 20), np.full(10, 0.1)])
    assert len(standstills(q, grain)) == 1 + 19 + 0  # the two rests belong to the samples before them
    e = rounding(q, grain)
    assert np.abs(e).max() <= 0.5 * grain * (1 + 1e-9)
    # its counts lie anywhere: over all of them a standstill errs as a count divided by the root of 12
    assert np.sqrt(np.mean(e[:, 0] ** 2)) == pytest.approx(grain / math.sqrt(12.0), rel=0.01)


def test_what_one_motion_tells_is_bounded():
    told = bound_information(np.diag([1e12, 100.0, 0.0])[None], np.ones(3))[0]
    assert told[0, 0] == pytest.approx(1e4, rel=1e-3)  # 1 % at best
    assert told[1, 1] == pytest.approx(100.0, rel=0.02)
    assert told[2, 2] == pytest.approx(0.0, abs=1e-9)


def lasting(*seconds: float, most: float) -> Budget:
    return Budget(np.array([seconds]), np.array([most]))


def test_a_second_cost_bounds_the_choice_too():
    """Both motions tell the same; only the cooler one may be played."""
    information = np.array([np.diag([1e4]), np.diag([1e4])])[None]
    choice = MotionChoice(information, np.diag([0.25])[None], [0])
    budget = Budget(np.array([[1.0, 1.0], [30.0, 8.0]]), np.array([2.0, 20.0]))
    assert choose(choice, budget) == [1, 1]
    assert choose(choice, budget._replace(most=np.array([2.0, 10.0]))) == [1]


def test_the_choice_takes_what_tells_the_unknown():
    """Three motions: one tells what is known already, one tells the other number, one both but at length."""
    information = np.array([np.diag([1e4, 0.0]), np.diag([0.0, 1e4]), np.diag([5e3, 5e3])])[None]
    before = np.diag([1e6, 0.25])[None]
    assert choose(MotionChoice(information, before, [0, 1]), lasting(1.0, 1.0, 3.0, most=1.0)) == [1]
    wanted = MotionChoice(information, np.diag([0.25, 0.25])[None], [0])
    assert choose(wanted, lasting(1.0, 1.0, 3.0, most=1.0)) == [0]
    assert choose(wanted, lasting(1.0, 1.0, 3.0, most=0.5)) == []


def test_an_exchange_mends_what_greed_began():
    """The best single motion leaves no room for the pair that tells more."""
    information = np.array([np.diag([900.0, 900.0]), np.diag([2e4, 0.0]), np.diag([0.0, 2e4])])[None]
    choice = MotionChoice(information, np.diag([0.25, 0.25])[None], [0, 1])
    assert sorted(choose(choice, lasting(1.0, 1.0, 1.0, most=2.0))) == [1, 2]


def test_limits_have_both_ends():
    assert (positions(SafetyLimits()).position_low, positions(SafetyLimits()).position_high) == (-1.0, 1.0)
    upper = positions(SafetyLimits(position_high=0.3))
    assert upper.position_low is not None
    assert upper.position_low < 0.3
    lower = positions(SafetyLimits(position_low=-0.3))
    assert lower.position_high is not None
    assert lower.position_high > -0.3


def test_a_plan_is_a_file_that_the_recorder_plays(plan, tmp_path):
    assert plan.seconds <= 6.0
    again = Motions.read(plan.write(tmp_path / "plan.json"))
    assert again == plan.motions
    assert [one.name for one in again.motions] == [one.name for one in plan.foreseen]
    assert (again.limits.position_low, again.limits.position_high) == (-1.0, 1.0)
    for one in again.motions:
        _, q = one.sample("1")
        assert np.all(np.abs(q) < 1.0)
    text = str(plan)
    assert "friction.static" in text
    assert "the most telling first" in text
    assert figure(plan).panels[2].bars is not None


def test_a_plan_has_what_a_check_would_miss(plan):
    """A motion as slow as friction at rest needs it, and one that turns round, whatever curvatures say."""
    logs = [
        be.log(f.name, f.time, bench=ONE.bench, position=f.position, position_target=f.target)
        for f in plan.foreseen
    ]
    assert not list(motions_lacking({"": logs}))
    targeted = be.plan(ONE.start, ONE.bench, friction=OWN, seconds=4.0, target="motor", sensing=QUICK)
    assert not any("breakaway" in motion.name for motion in targeted.motions.motions)


def test_more_time_tells_more(plan):
    shorter = be.plan(ONE.start, ONE.bench, friction=OWN, seconds=2.5, sensing=QUICK)
    errors = [sum(p.relative_error for p in one.parameters) for one in (plan, shorter)]
    assert errors[0] < 0.9 * errors[1]


def test_what_is_looked_for_is_told_better(plan):
    path = "friction.stribeck_velocity"
    single = be.plan(ONE.start, ONE.bench, friction=OWN, seconds=4.0, target=path, sensing=QUICK)
    other = be.plan(ONE.start, ONE.bench, friction=OWN, seconds=4.0, target="motor", sensing=QUICK)
    told = [next(p for p in one.parameters if p.path == path).relative_error for one in (single, other)]
    assert told[0] < told[1]


def test_a_fit_before_counts_as_known(plan):
    """A number that a fit knows to 1 % is known to 1 % before, and not worse after."""
    fitted = {
        p.path: FittedParameter(
            path=p.path,
            value=p.value,
            error=0.01 * p.value,
            low=0.98 * p.value,
            high=1.02 * p.value,
            unit=p.unit,
            start=p.value,
            prior=None,
            told_by="data",
        )
        for p in plan.parameters
    }
    fit = be.Fit(
        actuator=ONE.start,
        parameters=fitted,
        training={"a": 1e-3},
        held_out={},
        noise_floor=1e-3,
        findings=(),
        starts=(),
        correlation=np.eye(len(fitted)),
        substeps=2,
        seed=0,
        cpu_s=0.0,
        friction=OWN,
    )
    after = be.plan(ONE.start, ONE.bench, after=fit, seconds=4.0, sensing=QUICK)
    for p in after.parameters:
        assert p.before == pytest.approx(0.01, rel=0.01), p.path
        assert p.relative_error < 0.0125, p.path


def test_current_limits_what_is_asked():
    limits = SafetyLimits(current=0.8)
    gentle = be.plan(ONE.start, ONE.bench, friction=OWN, seconds=5.0, sensing=QUICK, limits=limits)
    assert max(float(np.abs(one.current).max()) for one in gentle.foreseen) <= INSIDE * 0.8
    assert gentle.motions.limits.current == 0.8


def test_a_winding_that_warms_up_limits_what_is_asked():
    """A tiny winding: a step heats it by tens of kelvins, a slow motion does not."""
    thermal = be.motor.Thermal(resistance=10.0, capacitance=0.15)
    small = replace(ONE.start, motor=replace(ONE.start.motor, thermal=thermal))
    look = outlook(small, ONE.bench, family(MotionRange(0.0, 0.85)), sensing=QUICK)
    most = extremes(look)
    all_ = within(most, replace(positions(SafetyLimits()), temperature=None))
    cool = within(most, replace(positions(SafetyLimits()), temperature=32.0))
    assert 0 < cool.sum() < all_.sum()
    assert np.all(most.hottest[cool] < 30.0)


def test_without_a_current_less_is_told():
    motions = family(MotionRange(0.0, 0.8))[:6]
    errors = []
    for sensing in (QUICK, replace(QUICK, current=None)):
        look = outlook(ONE.start, ONE.bench, motions, sensing=sensing)
        x = look.problem.first
        errors.append(look.relative(x, look.covariance(x, range(6), look.problem.free.precision)))
    with_, without = (dict(zip(look.problem.free.names, e, strict=False)) for e in errors)
    assert without["motor.resistance"] > 3.0 * with_["motor.resistance"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"seconds": 1.0}, "seconds is 1; expected from 2 to 3600"),
        ({"target": "bearing"}, "unknown target 'bearing'"),
        ({"limits": SafetyLimits(current=1e-3)}, "no motion keeps to the limit current=0.001 A"),
        ({"friction": "m9"}, "unknown friction 'm9'"),
    ],
)
def test_what_cannot_be_planned_is_a_sentence(given, text):
    with pytest.raises(be.BackemfError) as error:
        be.plan(ONE.start, ONE.bench, **{"friction": OWN, "sensing": QUICK, **given})
    assert text in str(error.value)


def test_a_plan_needs_a_position_to_ask_for():
    volts = replace(ONE.start, drive=be.drive.Voltage(supply=12.0))
    with pytest.raises(be.BackemfError, match="follows voltage_target"):
        be.plan(volts, ONE.bench)
    with pytest.raises(be.BackemfError, match=r"nothing can be planned on bench\.Locked"):
        be.plan(ONE.start, be.bench.Locked())
    with pytest.raises(be.BackemfError, match="expected plan"):
        be.plan(ONE.bench, ONE.start)  # type: ignore[arg-type]  # the wrong order


ARM = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody><body name="upper">
<joint name="shoulder" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 -0.1" mass="0.5" diaginertia="1e-3 1e-3 1e-4"/>
<body name="lower" pos="0 0 -0.2"><joint name="elbow" axis="0 1 0" range="-1.5 1.5"/>
<inertial pos="0.05 0 -0.08" mass="0.3" diaginertia="5e-4 5e-4 1e-4"/>
<body name="hand" pos="0 0 -0.15"><joint name="roll" axis="0 0 1" range="-2 2"/>
<inertial pos="0 0 -0.02" mass="0.1" diaginertia="2e-4 2e-4 1e-4"/>
</body></body></body></worldbody></mujoco>"""


def test_a_joint_of_a_robot_is_a_pendulum(tmp_path):
    from backemf.mujoco.robot.robot_motion import joint_bench, posture_of

    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    stood = posture_of(robot, {"shoulder": 0.4})
    bench = joint_bench(robot, "elbow", stood)
    assert isinstance(bench, be.bench.Pendulum)
    # the elbow's own: masses 0.3 at (0.05, -0.08) and 0.1 at (0, -0.17) in its frame
    inertia = 5e-4 + 0.3 * (0.05**2 + 0.08**2) + 2e-4 + 0.1 * 0.17**2
    assert bench.inertia_at({}) == pytest.approx(inertia, rel=1e-6)
    moment = 9.81 * math.hypot(0.3 * 0.05, 0.3 * 0.08 + 0.1 * 0.17)
    assert bench.moment() == pytest.approx(moment, rel=1e-6)
    # a turn q about y takes (x, z) to x cos q + z sin q; the torque is that lever's, with both joints turned
    for q in (-0.7, 0.3):
        turned = q + 0.4
        lever = sum(
            m * (x * math.cos(turned) + z * math.sin(turned))
            for m, x, z in ((0.3, 0.05, -0.08), (0.1, 0.0, -0.17))
        )
        assert bench.load(q, 0.0, {}) == pytest.approx(9.81 * lever, rel=1e-6)
    roll = joint_bench(robot, "roll", posture_of(robot, {}))
    assert isinstance(roll, be.bench.Flywheel)
    assert roll.inertia == pytest.approx(1e-4)
    with pytest.raises(be.BackemfError, match="elbow stands at 3"):
        posture_of(robot, {"elbow": 3.0})


def test_a_robot_keeps_its_other_joints_where_they_are(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    posture = {"shoulder": 0.4}
    plan = be.plan(ONE.start, robot, joint="elbow", posture=posture, friction=OWN, seconds=4.0, sensing=QUICK)
    first = plan.motions.motions[0]
    assert set(first.tracks) == {"shoulder", "elbow", "roll"}
    assert first.tracks["shoulder"].positions == (0.4,)
    assert (plan.motions.limits.position_low, plan.motions.limits.position_high) == (-1.5, 1.5)


WALLED = ARM.replace(
    "<worldbody>", '<worldbody><geom name="wall" type="box" pos="0.3 0 -0.3" size="0.02 1 1"/>'
)
WALLED = WALLED.replace(
    '<inertial pos="0.05 0 -0.08"',
    '<geom type="capsule" fromto="0 0 -0.02 0 0 -0.25" size="0.01"/><inertial pos="0.05 0 -0.08"',
)


def test_a_plan_keeps_clear_of_what_the_robot_would_touch(tmp_path):
    (tmp_path / "arm.xml").write_text(WALLED.replace("0.3 0 -0.3", "0.2 0 -0.3"))
    robot = be.Robot.read(tmp_path / "arm.xml")
    plan = be.plan(ONE.start, robot, joint="elbow", friction=OWN, seconds=4.0, sensing=QUICK)
    limits = plan.motions.limits
    # the capsule's axis ends 0.25 m below the elbow, which turns it by -q about y; its side is 0.01 m away
    meets = -math.asin((0.2 - 0.02 - 0.01) / 0.25)
    assert limits.position_low == pytest.approx(meets + 0.05, abs=0.02)
    assert limits.position_high == 1.5
    assert min(seen.position.min() for seen in plan.foreseen) > meets
    (told,) = [f for f in plan.findings if f.code == "less_room"]
    assert "lower touches the world" in told.text
    (stands,) = [f for f in plan.findings if f.code == "posture"]
    assert "collisions" not in stands.text
    (tmp_path / "arm.xml").write_text(WALLED.replace("0.3 0 -0.3", "0.04 0 -0.3"))
    narrow = SafetyLimits(position_low=-0.06, position_high=0.0)
    with pytest.raises(be.BackemfError, match="rad to move in"):
        be.plan(ONE.start, be.Robot.read(tmp_path / "arm.xml"), joint="elbow", limits=narrow)


def test_where_nothing_can_touch_that_is_said(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    robot = be.Robot.read(tmp_path / "arm.xml")
    plan = be.plan(ONE.start, robot, joint="elbow", friction=OWN, seconds=4.0, sensing=QUICK)
    (stands,) = [f for f in plan.findings if f.code == "posture"]
    assert "nothing was checked for collisions" in stands.text


def _hottest(actuator, plan) -> float:
    """Of the winding, with every motion begun as warm as the one before it ended."""
    most = warm = 25.0
    for one in plan.motions.motions:
        track, t = one.track("*"), np.arange(0.0, one.duration, 0.01)
        on = np.ones(len(t)) if track.coast is None else (t < track.coast).astype(float)
        asked = track.at(t)
        start = {"position": float(asked[0]), "winding_temperature": warm}
        command = {"position_target": asked, "enabled": on}
        run = be.simulate(actuator, ONE.bench, command, time=t, start=start, substeps=10)
        warm, most = float(run["winding_temperature"][-1]), max(most, run["winding_temperature"].max())
    return most


def test_motions_that_follow_one_another_stay_cool_together(monkeypatch):
    """Played without a rest, and started as warm as the one before ended, the winding keeps to the limit."""
    thermal = be.motor.Thermal(resistance=2000.0, capacitance=0.1)  # hours pass before it is cool again
    warm = replace(ONE.start, motor=replace(ONE.start.motor, thermal=thermal))
    asked = {"friction": OWN, "seconds": 40.0, "sensing": QUICK, "limits": SafetyLimits(temperature=33.0)}
    together = be.plan(warm, ONE.bench, **asked)
    assert together.motions.motions
    assert _hottest(warm, together) <= 33.0
    each = "backemf.planning.plan.heat_of"
    monkeypatch.setattr(each, lambda most, limits: heat_of(most, limits)._replace(most=math.inf))
    assert _hottest(warm, be.plan(warm, ONE.bench, **asked)) > 33.0, "each alone keeps to it, all do not"


def test_a_share_of_the_range_is_kept_free_on_either_side():
    """5 % of half the range: a motion that comes nearer is not within."""
    low, high = np.array([-0.94, -0.96]), np.array([0.5, 0.5])
    nothing = np.zeros(2)
    most = Extremes(
        low=low, high=high, velocity=nothing, current=nothing, hottest=nothing, warming=np.zeros((1, 2))
    )
    assert list(within(most, positions(SafetyLimits(temperature=None)))) == [True, False]


def test_where_limits_forbid_most_slower_motions_are_found():
    """Of the first family none is as slow as this."""
    limits = SafetyLimits(velocity=0.2)
    gentle = be.plan(ONE.start, ONE.bench, friction=OWN, seconds=16.0, sensing=QUICK, limits=limits)
    assert gentle.motions.motions
    longest = max(one.duration for one in family(MotionRange(0.0, 0.85)))
    assert max(one.duration for one in gentle.motions.motions) > longest


def test_play_is_planned_for_by_slow_motions_that_no_load_takes_to_one_side():
    """Whether the start has some or not; it is no number of a rigid gear, and no name that is misspelt."""
    loose = replace(ONE.start, gearbox=replace(ONE.start.gearbox, backlash=0.01, contact_stiffness=500.0))
    made = be.plan(
        loose, ONE.bench, friction=OWN, seconds=6.0, sensing=QUICK, target="gearbox.backlash"
    ).motions
    first = next(iter(made.motions))
    assert first.name.rpartition("-")[2] in ("slow", "breakaway")
    _, q = first.sample("any")
    assert np.mean(np.abs(np.sin(q)) > 0.5) < 0.5
    with pytest.raises(be.BackemfError, match="backlsh"):
        be.plan(loose, ONE.bench, friction=OWN, seconds=6.0, sensing=QUICK, target="gearbox.backlsh")
