"""Known mechanisms are recorded and characterised: every subset of tests,
every weak point of the classic way, intervals that hold."""

from __future__ import annotations

import itertools
import json
import math
import time

import numpy as np
import pytest

from backemf.errors import InvalidValue, MissingValue, UnknownName
from backemf.kits.frc.characterize import characterize
from backemf.kits.frc.mechanism import motion
from backemf.kits.frc.sysid_regression import differentiate, filter_trials, one_step, regress, resample, sysid
from backemf.kits.frc.trials import TESTS, Trial, make_run, runs_from
from backemf.kits.frc.wpilog_runs import mechanism_logs

A = (1.01, 3.060, 0.327)
"""kS, kV, kA of test set A."""
WEAK = (0.25, 1.5, 0.3)


def record(
    test,
    gains,
    gravity=(0.0, 0.0, 0.0),
    *,
    dt=0.005,
    T=5.0,
    slow=0.25,
    step=7.0,
    delay=0.0,
    noise=(0.0, 0.0),
    quantum=0.0,
    differ=False,
    rng=None,
    rising=False,
):
    """Columns t, u, position, velocity of one test."""
    n, way = round(T / dt), 1.0 if test.endswith("forward") else -1.0
    t = np.arange(n) * dt

    def volts(x):
        return way * slow * x if test.startswith("quasi") else np.where(x >= 0.999 * dt, way * step, 0.0)

    # a ramp that rises between its samples, or one that a program holds from each to the next
    acting = np.arange(20 * n) * dt / 20 if rising else t
    u = volts(t)
    more = {"velocity_delay": delay, "position_delay": delay, "gains": gains, "gravity": gravity}
    first = (
        rng.uniform(0.0, quantum) if rng is not None and quantum else 0.0
    )  # else both directions err alike
    v, p = motion(acting, volts(acting), start=(0.0, first, 0.0), velocity_time=t, position_time=t, **more)
    if rng is not None:
        v, p = v + noise[0] * rng.standard_normal(n), p + noise[1] * rng.standard_normal(n)
    if quantum:
        p = np.round(p / quantum) * quantum
    return t, u, p, np.diff(p, prepend=p[0]) / dt if differ else v


def recorded(gains, gravity=(0.0, 0.0, 0.0), tests=TESTS, **more) -> list[Trial]:
    return [make_run(test, *record(test, gains, gravity, **more)) for test in tests]


def gravity_of(mechanism, kG, offset=0.0):
    return {"elevator": (kG, 0.0, 0.0), "arm": (0.0, kG * math.cos(offset), -kG * math.sin(offset))}.get(
        mechanism, (0.0, 0.0, 0.0)
    )


def codes(measured):
    return {f.code for f in measured.findings}


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.4, 0.0, 0.0), (0.0, 0.5, -0.2)])
def test_motion_agrees_with_small_plain_steps(gravity):
    kS, kV, kA = 0.3, 1.2, 0.2
    t = np.arange(0, 2, 0.02)
    u = np.where(t < 0.7, 3.0, np.where(t < 1.4, -2.0, 0.1))
    v, p = motion(
        t, u, start=(0.0, 0.3, 0.0), velocity_time=t, position_time=t, gains=(kS, kV, kA), gravity=gravity
    )
    x, w, h, stepped = 0.3, 0.0, 1e-5, []
    for k, effort in enumerate(u):
        stepped.append((w, x))
        for _ in range(round(0.02 / h)) if k + 1 < len(u) else ():
            net = effort - gravity[0] - gravity[1] * math.cos(x) - gravity[2] * math.sin(x)
            new = (
                0.0
                if w == 0.0 and abs(net) <= kS
                else w + h * (net - kS * math.copysign(1.0, w if w else net) - kV * w) / kA
            )
            w = 0.0 if new * w < 0 else new
            x += h * w
    np.testing.assert_allclose(np.stack([v, p], axis=1), stepped, atol=2e-4)


def test_the_classic_regression_on_exact_accelerations():
    for mechanism, kG, offset in (
        ("simple", 0.0, 0.0),
        ("elevator", -0.211, 0.0),
        *(("arm", 0.211, o) for o in (-2.0, -0.5, 1.0, 2.0)),
    ):
        g = gravity_of(mechanism, kG, offset)
        columns = [[], [], [], []]
        for test in TESTS:
            _, u, p, v = record(test, A, g)
            moving = v != 0
            a = (u - g[0] - g[1] * np.cos(p) - g[2] * np.sin(p) - A[0] * np.sign(v) - A[1] * v) / A[2]
            for column, x in zip(columns, (v, u, a, p), strict=True):
                column.append(x[moving])
        gains, r2 = regress(*(np.concatenate(c) for c in columns[:3]), mechanism, np.concatenate(columns[3]))
        truth = {"kS": A[0], "kV": A[1], "kA": A[2], "kG": kG, "offset": offset}
        for name, value in gains.items():
            assert value == pytest.approx(truth[name], abs=8e-3)
        assert r2 > 0.999


def determined(mechanism, tests):
    """What physics allows: a step alone gives ratios only,
    one direction alone the sum of friction and gravity."""
    if not any(t.startswith("quasi") for t in tests):
        return set()
    one_way = len({t.rpartition("-")[2] for t in tests}) == 1
    if mechanism == "elevator":
        return {"kV", "kA"} | (set() if one_way else {"kS", "kG"})
    return {"kS", "kV", "kA"} | ({"kG", "offset"} if mechanism == "arm" else set())


@pytest.mark.parametrize(
    "tests", [c for n in (1, 2, 3, 4) for c in itertools.combinations(TESTS, n)], ids="+".join
)
@pytest.mark.parametrize(
    ("mechanism", "kG", "offset"), [("simple", 0.0, 0.0), ("elevator", -0.211, 0.0), ("arm", 0.211, 0.7)]
)
def test_set_A_every_subset_of_tests(mechanism, kG, offset, tests):
    measured = characterize(recorded(A, gravity_of(mechanism, kG, offset), tests), mechanism)
    truth = {"kS": A[0], "kV": A[1], "kA": A[2], "kG": kG, "offset": offset}
    expected = determined(mechanism, tests)
    for name, gain in measured.gains.items():
        if gain.value is not None:
            assert gain.value == pytest.approx(truth[name], abs=8e-3), name
        else:
            said = [f for f in measured.findings if f.code == "not_determined" and f.text.startswith(name)]
            assert len(said) == 1
            assert "not determined by these tests" in said[0].text
            assert "quasistatic" in said[0].remedy or "dynamic" in said[0].remedy
            with pytest.raises(MissingValue, match="not determined by these tests"):
                measured[name]
    got = {name for name, gain in measured.gains.items() if gain.value is not None}
    if mechanism == "arm" and len(tests) == 1:
        assert (
            got <= expected
        )  # one slow test moves the arm by a few degrees: gravity and friction may look the same
    else:
        assert got == expected


@pytest.mark.parametrize("offset", [-2.0, -1.0, 0.0, 2.0])
def test_set_A_arm_offsets(offset):
    measured = characterize(recorded(A, gravity_of("arm", 0.211, offset)), "arm")
    assert measured["kG"] == pytest.approx(0.211, abs=8e-3)
    assert measured["offset"] == pytest.approx(offset, abs=8e-3)


def error(gains, truth, name):
    k = ("kS", "kV", "kA").index(name)
    value = gains[name]
    return abs((value if isinstance(value, float) else value.value) / truth[k] - 1)


WEAK_POINTS = {
    "median edges": (WEAK, "kA", {}, {"median": 9}),
    "delay": (WEAK, "kS", {"delay": 0.1}, {}),
    "low inertia": ((0.25, 1.5, 0.02), "kA", {"dt": 0.02}, {}),
    "quantised position": (WEAK, "kS", {"quantum": 0.001, "differ": True}, {}),
}
"""What the classic way is bad at: gains, the one that suffers, how it is recorded,
and the setting of the regression."""


@pytest.mark.parametrize("name", WEAK_POINTS)
def test_weak_points_of_the_classic_way(name):
    truth, gain, how, setting = WEAK_POINTS[name]
    classic, better = [], []
    for seed in range(5):
        runs = recorded(truth, slow=1.0, T=4.0, **how, noise=(1e-3, 0.0), rng=np.random.default_rng(seed))
        measured = characterize(runs)
        classic.append(error(sysid(runs, **setting).gains, truth, gain))
        better.append(error(measured.gains, truth, gain))
        if name == "delay":
            assert measured.delay == pytest.approx(0.1, abs=1e-3)
            assert "delay" in codes(measured)
    assert np.median(classic) > 0.02, "this is no weak point"
    assert np.median(better) <= 0.25 * np.median(classic)
    assert np.max(better) <= 0.25 * np.max(classic)


def motor_logs(shared_data):
    return mechanism_logs(str(shared_data / "sysid" / "simple_motor.json"))


def test_the_published_gains_of_the_classic_tools_sample_to_their_digits(shared_data):
    measured = characterize(motor_logs(shared_data), method="one-step", units="rotations")
    assert (round(measured["kS"], 3), round(measured["kV"], 4), round(measured["kA"], 5)) == (
        0.741,
        0.1099,
        0.00914,
    )
    assert measured.gains["kS"].low is None
    assert (
        round(
            characterize(motor_logs(shared_data), method="one-step", units="rotations", threshold=0.5)["kS"],
            3,
        )
        == 0.744
    )
    with pytest.raises(InvalidValue, match="0 samples are as fast as the threshold of 1000"):
        one_step(runs_from(motor_logs(shared_data)), threshold=1000.0)


def test_simple_motor_of_the_classic_tool_both_methods(shared_data):
    classic = characterize(motor_logs(shared_data), method="sysid", units="rotations")
    better = characterize(motor_logs(shared_data), units="rotations")
    for found in (classic, better):
        assert found["kS"] == pytest.approx(0.741, rel=0.05)
        assert found["kV"] == pytest.approx(0.1099, rel=0.02)
        assert found.gains["kV"].unit == "V/(rot/s)"
    # Velocity is a mean over some 80 ms and position is not: the true time constant is shorter than the
    # reported velocity shows.
    assert better.window == pytest.approx(0.08, abs=0.02)
    assert 0.001 < better["kA"] < 0.005
    for gain in better.gains.values():
        assert gain.low < gain.value < gain.high
    width = {name: (g.high - g.low) / g.value for name, g in better.gains.items()}
    # 20 ms of sensor on a motor of 20 ms; and the directions disagree, which widens all of them
    assert width["kV"] < 0.05 < width["kS"] < 0.2 < width["kA"] < 1.0
    assert {"repeated_samples", "delay", "directions_disagree"} <= codes(better)
    assert better.r2 > 0.95


def test_ramps_alone_say_that_the_delay_was_assumed():
    runs = recorded(
        WEAK,
        tests=TESTS[:2],
        slow=1.0,
        T=3.0,
        dt=0.01,
        delay=0.015,
        noise=(0.01, 0.001),
        rng=np.random.default_rng(4),
    )
    measured = characterize(runs)
    said = next(f for f in measured.findings if f.code == "delay_assumed")
    assert "dynamic" in said.remedy
    assert measured.gains["kS"].low < WEAK[0] < measured.gains["kS"].high
    assert "delay_assumed" not in codes(characterize(recorded(WEAK, slow=1.0, T=3.0, dt=0.01)))


def test_thirty_seconds_at_5_ms_in_about_a_second():
    runs = recorded(
        (0.4, 1.5, 0.2), T=7.5, slow=0.8, delay=0.03, noise=(0.02, 0.002), rng=np.random.default_rng(0)
    )
    characterize(runs)
    start = time.process_time()
    characterize(runs)
    assert time.process_time() - start < 2.0  # 0.7 to 1.0 s, by what else the machine does


def test_filter_steps_of_the_classic_way():
    runs = recorded(WEAK, slow=1.0, T=4.0)
    rows = resample(runs[0])
    assert len(rows) == len(runs[0]) - 1
    assert differentiate(rows).acceleration[-1] == 0.0
    tests, delay = filter_trials({r.test: r for r in runs})
    assert set(tests) == set(TESTS)
    assert 0 <= delay < 0.03
    with pytest.raises(MissingValue, match="missing: dynamic-reverse"):
        sysid(runs[:3])


def test_several_runs_of_a_test_sharpen_the_answer():
    rng = np.random.default_rng(3)
    few = recorded(WEAK, slow=1.0, T=3.0, dt=0.01, noise=(0.05, 0.01), rng=rng)
    many = few + [
        run for _ in range(2) for run in recorded(WEAK, slow=1.0, T=3.0, dt=0.01, noise=(0.05, 0.01), rng=rng)
    ]
    one, all_ = characterize(few).gains["kA"], characterize(many).gains["kA"]
    assert all_.high - all_.low < 0.8 * (one.high - one.low)
    assert all_.low <= WEAK[2] <= all_.high


def test_inputs_are_checked():
    runs = recorded(WEAK, slow=1.0, T=3.0)
    for bad, words in (
        ({"mechanism": "crane"}, "unknown mechanism 'crane'"),
        ({"control": "torque"}, "unknown control"),
        ({"units": "furlongs"}, "unknown unit"),
    ):
        with pytest.raises(UnknownName, match=words):
            characterize(runs, **bad)
    with pytest.raises(InvalidValue, match="method='sysid'"):
        characterize(runs, median=5)
    with pytest.raises(MissingValue, match="go together"):
        characterize(runs, settling_time=0.5)
    with pytest.raises(MissingValue, match="no test was found"):
        characterize({})
    with pytest.raises(UnknownName, match="unknown test 'sideways'"):
        runs_from({"sideways": [[0, 1, 2, 3]]})
    rows = {
        run.test: np.stack([run.time, run.input, run.position, run.velocity], axis=1).tolist() for run in runs
    }
    assert json.loads(json.dumps(characterize(rows).to_dict()))["gains"]["kV"]["unit"] == "V/(rad/s)"
