"""The motions by which an export is judged, by hand: what an actuator can do, the bench, the commands."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue, MissingValue
from backemf.logs.log import log
from backemf.physics.joint_law import capability
from backemf.targets.export import Request
from backemf.targets.reference_motions import (
    ReferenceMotion,
    make_case,
    motions_of,
    recorded_motion,
    reference_bench,
    reference_inertia,
    reference_motions,
    reference_words,
)

from .clock import DRIVES as LIMITED

DRIVES = {
    name: dataclasses.replace(given, motor=dataclasses.replace(given.motor, limits=None))
    for name, given in LIMITED.items()
}
GEARED = DRIVES["servo"]
"""At the joint: 3 N m stalled, 12 rad/s, 1e-3 kg m^2."""
REQUEST = Request("mujoco", "4.0", "knee", (), "formula", 0.002, "implicitfast", 0.5, 0.25, False)
G = 9.80665
"""Standard gravity [m/s^2]."""


def driven(**drive):
    return dataclasses.replace(GEARED, drive=be.drive.Position(volts_per_radian=40.0, **drive))


def test_what_an_actuator_can_do():
    """12 V over 4 ohm and 1 N m/A at the joint, and 1 V s/rad there."""
    assert capability(GEARED) == pytest.approx((12.0, 3.0, 12.0))
    assert capability(DRIVES["mirrored voltage"]) == pytest.approx((12.0, 3.0, 12.0))
    assert capability(LIMITED["servo"]) == pytest.approx((12.0, 2.0, 12.0))  # 0.02 N m at the rotor
    # without a supply: what an error of `amplitude` takes of 40 V/rad
    assert capability(driven(), 0.2) == pytest.approx((8.0, 2.0, 8.0))
    torque = be.drive.Impedance(newton_metres_per_radian=6.0)  # 1.2 N m at 0.25 N m/V
    assert capability(dataclasses.replace(GEARED, drive=torque), 0.2).volts == pytest.approx(4.8)
    # without a position either: 10 rad/s
    for drive in (be.drive.Voltage(), be.drive.Velocity(volt_seconds_per_radian=4.0)):
        assert capability(dataclasses.replace(GEARED, drive=drive), 0.2) == pytest.approx((10.0, 2.5, 10.0))
        halved = dataclasses.replace(GEARED, drive=drive, gearbox=be.gearbox.Gearbox(ratio=50.0))
        assert capability(halved).volts == pytest.approx(5.0)
    assert capability(driven()).volts == pytest.approx(20.0)  # 0.5 rad where nothing is said
    soft = dataclasses.replace(GEARED, drive=be.drive.Position(volts_per_radian=0.5))
    assert capability(soft, 0.2).volts == pytest.approx(0.1)
    assert float(reference_bench(driven()).load(np.pi / 2, 0.0, {})) == pytest.approx(-0.25 * 5.0)
    open_loop = dataclasses.replace(GEARED, drive=be.drive.Position(volts_per_radian=0.0))
    assert capability(open_loop) == pytest.approx((10.0, 2.5, 10.0))


def test_the_pendulum_takes_a_share_of_the_stall_torque():
    bench = reference_bench(GEARED, 0.25)
    assert float(bench.load(np.pi / 2, 0.0, {})) == pytest.approx(-0.75)
    assert float(bench.inertia_at({})) == pytest.approx(0.75 / (G * 0.1) * 0.01)
    assert reference_inertia(GEARED, REQUEST) == pytest.approx(0.75 / (G * 0.1) * 0.01)
    # at least what takes 2 % of the stall torque to full speed in a second: 0.06 N m, 12 rad/s
    light = reference_bench(GEARED, 0.05)
    assert float(light.load(np.pi / 2, 0.0, {})) == pytest.approx(-0.15)
    assert float(light.inertia_at({})) == pytest.approx(0.005)
    # and at least the rotor's own
    motor = dataclasses.replace(GEARED.motor, rotor_inertia=2e-6)
    heavy = reference_bench(dataclasses.replace(GEARED, motor=motor), 0.25)
    assert float(heavy.inertia_at({})) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("name", "load", "inertia"),
    [
        ("servo", 0.0, 0.005),
        *((name, 0.25, 0.075 / G) for name in ("linear", "voltage", "torque", "velocity")),
    ],
)
def test_what_does_not_hold_a_position_turns_a_plain_inertia(name, load, inertia):
    bench = reference_bench(DRIVES[name], load)
    assert float(bench.load(np.pi / 2, 0.0, {})) == 0.0
    assert float(bench.inertia_at({})) == pytest.approx(inertia)


SIZES = {"servo": 0.3, "voltage": 7.2, "velocity": 4.8, "torque": 1.8}
"""0.3 rad as asked, 0.6 of 12 V, 0.4 of 12 rad/s, 0.6 of 3 N m."""


@pytest.mark.parametrize("name", SIZES)
def test_steps_and_sines_over_the_operating_range(name):
    actuator, A = DRIVES[name], SIZES[name]
    motions = {m.name: m for m in reference_motions(actuator, amplitude=0.3, load=0.1)}
    time = motions["steps"].time
    assert (len(time), time[1], time[-1]) == (501, pytest.approx(0.004), pytest.approx(2.0))
    target = actuator.drive.followed
    given = {k: m.command[target] for k, m in motions.items()}
    at = np.searchsorted(time, [0.05, 0.5, 1.0, 1.9])
    assert given["steps"][at] == pytest.approx(A * np.array([0.0, 0.7, -0.4, 0.1]))
    changes = time[np.flatnonzero(np.diff(given["steps"])) + 1]
    assert changes == pytest.approx([0.1, 0.8, 1.4], abs=0.004)
    for word, size, hertz in (("slow sine", 1.0, 0.5), ("sine", 0.7, 1.0), ("fast sine", 0.3, 3.0)):
        quarter = np.searchsorted(time, 0.25 / hertz)
        assert given[word][0] == 0.0
        assert given[word][quarter] == pytest.approx(size * A, rel=1e-3)
        assert np.sum(np.diff(np.sign(given[word][1:-1])) != 0) == round(2 * 2.0 * hertz) - 1
    assert all(dict(m.start) == {"position": 0.0, "velocity": 0.0} for m in motions.values())
    assert motions["sine"].bench == reference_bench(actuator, 0.1, 0.3)


def test_a_current_is_asked_for_within_its_limit_and_a_brake_is_let_go_at_speed():
    current = dataclasses.replace(GEARED, drive=be.drive.Current(supply=12.0))
    slow = reference_motions(current)[1]
    assert np.max(slow.command["current_target"]) == pytest.approx(0.6 * 3.0)  # 12 V over 4 ohm
    motor = dataclasses.replace(GEARED.motor, limits=be.motor.Limits(current=2.0))
    slow = reference_motions(dataclasses.replace(current, motor=motor))[1]
    assert np.max(slow.command["current_target"]) == pytest.approx(1.2)
    (brake,) = reference_motions(dataclasses.replace(GEARED, drive=be.drive.Brake()))
    assert (brake.name, dict(brake.command)) == ("braked from speed", {})
    assert dict(brake.start) == pytest.approx({"position": 0.0, "velocity": 3.0})  # 0.3 of 10 rad/s


def test_the_operating_range_in_words():
    words = reference_words(GEARED, 0.5, 0.25)
    assert "amplitude 0.5 rad" in words
    assert "pendulum with 0.25 of the stall torque as weight (0.00765 kg m^2), at 12 V" in words
    assert "on a plain inertia (0.00765 kg), at 12 V" in reference_words(DRIVES["linear"], 0.5, 0.25)


def recording(name="one", bench=None, **signals):
    t = 3.0 + 0.01 * np.arange(50)
    given = {"position": 0.2 + 0 * t, "position_target": 0.3 + 0 * t, **signals}
    bench = be.bench.Flywheel(inertia=0.01) if bench is None else bench
    return log(name, t, bench=bench, **{k: v for k, v in given.items() if v is not None})


def test_a_recording_is_a_motion():
    t = 0.01 * np.arange(50)
    supply = np.where(t < 0.4, 11.0, np.nan)
    motion = recorded_motion(GEARED, recording(supply=supply, enabled=1 + 0 * t))
    assert motion.time == pytest.approx(t)
    assert set(motion.command) == {"position_target", "enabled"}
    assert dict(motion.start) == pytest.approx({"position": 0.2, "velocity": 0.0})
    assert dict(motion.settings) == {"drive.supply": 11.0}
    assert motion.measured == pytest.approx(np.full(50, 0.2))
    # a drive without a supply has none to set
    assert dict(recorded_motion(driven(voltage_limit=5.0), recording(supply=supply)).settings) == {}


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"bench": be.bench.Locked()}, InvalidValue, "one was recorded with the output locked"),
        ({"position": None}, MissingValue, "one has no position to compare with"),
        ({"position": np.r_[0.1, np.full(49, np.nan)]}, MissingValue, "fewer than two samples of position"),
    ],
)
def test_what_cannot_be_replayed(given, error, text):
    with pytest.raises(error, match=text):
        recorded_motion(GEARED, recording(**given))
    assert recorded_motion(GEARED, recording(position=np.r_[0.1, 0.1, np.full(48, np.nan)])).name == "one"


@pytest.mark.parametrize(
    ("n", "taken", "words"),
    [
        (1, [0], "1 recording, against backemf: 0"),
        (4, [0, 1, 2, 3], "4 recordings, against backemf: 0, 1, 2, 3"),
        (5, [0, 1, 2, 3, 4], "5 recordings, against backemf: 0, 1, 2, 3 and 1 more"),
        (12, [*range(12)], "12 recordings, against backemf: 0, 1, 2, 3 and 8 more"),
        # twelve of them, evenly, the first and the last among them
        (23, [*range(0, 23, 2)], "12 of 23 recordings, against backemf: 0, 2, 4, 6 and 8 more"),
    ],
)
def test_of_many_recordings_some_are_taken(n, taken, words):
    logs = tuple(recording(str(k)) for k in range(n))
    motions, said = motions_of(GEARED, REQUEST._replace(logs=logs))
    assert [m.name for m in motions] == [str(k) for k in taken]
    assert said == f"the motions of {words}"


def test_without_recordings_the_range_is_that_of_the_request():
    motions, said = motions_of(GEARED, REQUEST._replace(amplitude=0.2, load=0.1))
    assert np.max(motions[1].command["position_target"]) == pytest.approx(0.2)
    assert float(motions[0].bench.load(np.pi / 2, 0.0, {})) == pytest.approx(-0.3)
    assert said == reference_words(GEARED, 0.2, 0.1)


@pytest.mark.parametrize("h", [0.002, 0.005, 0.013, 0.03])
def test_a_simulators_clock_gets_the_newest_sample_and_the_mean_over_its_step(h):
    """Commands that are held between samples at their own uneven moments; the last one goes on."""
    rng = np.random.default_rng(4)
    time = np.concatenate([[0.0], np.cumsum(rng.uniform(0.004, 0.012, 30))])
    asked = {name: rng.normal(size=31) for name in ("position_target", "load", "enabled")}
    start = {"position": 0.3, "velocity": -0.2}
    command = {**asked, "inertia": 0.02 + 0 * time}
    given = ReferenceMotion("one", be.bench.Recorded(), time, command, start)
    case = make_case(given, {"velocity_target": 3.0, "position_target": -2.0}, h, "linear")
    n, moments = len(case.moments), h * np.arange(len(case.moments))
    newest = np.searchsorted(time, moments + 1e-12, side="right") - 1
    held = asked["position_target"][newest]
    assert moments[-2] < time[-1] - 1e-12 < moments[-1] + 1e-9
    np.testing.assert_array_equal(case.command["position_target"], held)
    np.testing.assert_array_equal(case.inputs, np.column_stack([0 * held, -2.0 * held]))
    fine = moments[:, None] + h * (np.arange(20_000) + 0.5) / 20_000
    mean = asked["position_target"][np.searchsorted(time, fine, side="right") - 1].mean(axis=1)
    np.testing.assert_allclose(case.mean_inputs[:, 1], -2.0 * mean, atol=2e-3)
    np.testing.assert_array_equal(case.enabled, asked["enabled"][newest] > 0.5)
    assert case.load(n - 1, 9.0, 9.0) == asked["load"][newest[-1]]
    assert (case.inertia, case.position, case.velocity, case.motion) == (0.02, 0.3, -0.2, "linear")
    assert case.check("x", np.array([0.9e6]))[0] == 0.9e6
    with pytest.raises(InvalidValue, match=f"diverges at a step of {1e3 * h:g} ms"):
        case.check("x", np.array([0.0, -1.1e6]))
    uneven = given._replace(command={**command, "inertia": 0.02 + 1e-3 * time})
    with pytest.raises(InvalidValue, match="the recorded inertia varies"):
        make_case(uneven, {}, h, "rotary")
