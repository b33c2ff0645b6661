"""What comes late, gaps in a clock, and steps that cannot be fine enough: each is followed, or said."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.engine import simulate
from backemf.engine.rows import Delay, hold_inputs, split
from backemf.errors import BackemfWarning

MOTOR = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
BENCH = be.bench.Flywheel(inertia=5e-3)


def servo(**drive) -> be.Actuator:
    return be.Actuator(
        motor=MOTOR, friction=be.friction.Coulomb(coulomb=0.02, viscous=0.01), drive=be.drive.Voltage(**drive)
    )


def test_what_is_shown_has_arrived():
    """Voltage, current and torque are those of the motor, not of a command that is still on its way; the book
    of the energy and the integral of v i are the same."""
    run = be.simulate(servo(delay=0.0503), BENCH, be.signal.step(5.0), duration=0.4, dt=1e-3, energy=True)
    early = run.time < 0.0503
    assert (run.voltage[early] == 0.0).all()
    assert (run.position[early] == 0.0).all()
    assert (run.voltage[~early] == 5.0).all()
    assert run["voltage_target"][0] == 5.0  # what was asked is shown as it was asked
    power = np.trapezoid(run.voltage * run.current, run.time)
    assert power == pytest.approx(run.energy["electrical"][-1], rel=5e-3)  # the jump inside an interval
    prompt = be.simulate(servo(), BENCH, be.signal.step(5.0), duration=0.4, dt=1e-3)
    late = np.interp(run.time - 0.0503, prompt.time, prompt.position, left=0.0)
    np.testing.assert_allclose(run.position, late, atol=2e-4)


def test_recorded_samples_held_before_they_began():
    """Of an array nobody knows what was asked before; its first value is taken to have held."""
    run = be.simulate(servo(delay=0.05), BENCH, np.full(101, 5.0), dt=1e-3)
    assert (run.voltage == 5.0).all()


def test_an_integral_and_gains_of_an_impedance_come_late_too():
    drive = be.drive.Impedance(newton_metres_per_radian=2.0, newton_metre_seconds_per_radian=0.1, delay=0.02)
    actuator = be.Actuator(motor=MOTOR, drive=drive)
    stiffer = {"position_target": 0.3, "newton_metres_per_radian": be.signal.step(4.0, at=0.1, start=2.0)}
    run = be.simulate(actuator, BENCH, stiffer, duration=0.3, dt=1e-3)
    at = int(np.argmin(np.abs(run.time - 0.11)))
    assert run.torque[at] == pytest.approx(2.0 * (0.3 - run.position[at]) - 0.1 * run.velocity[at], rel=1e-6)


def test_a_long_gap_costs_only_itself():
    time = np.concatenate([np.arange(0, 0.2, 0.002), 10.2 + np.arange(0, 0.2, 0.002)])
    command = np.where(time < 5, 3.0, -3.0)
    run = be.simulate(servo(), BENCH, command, time=time)
    assert run.substeps <= 64  # and not 40,000
    even = np.arange(0, time[-1] + 1e-9, 0.002)
    whole = be.simulate(servo(), BENCH, be.signal.held(time, command), time=even)
    np.testing.assert_allclose(run.position, np.interp(time, even, whole.position), atol=2e-3)


def test_pieces_of_an_interval_are_the_interval():
    values = np.array([[1.0], [2.0], [3.0], [4.0]])
    before = np.array([[1.0], [1.0], [2.0], [3.0]])
    rows = hold_inputs(values, np.array([0.1, 0.1, 0.55, 0.1]), before, np.array([0.0, 0.5, 0.45, 0.0]))
    cut, samples = split(rows)
    assert samples.tolist() == [0, 1, 2, 8, 9]
    assert cut.dt.sum() == pytest.approx(rows.dt.sum())
    for array in (rows, cut):  # the integral of the input, interval by interval
        array_sum = (array.switch * array.before[:, 0] + (1 - array.switch) * array.values[:, 0]) * array.dt
        if array is rows:
            expected = array_sum
        else:
            found = np.add.reduceat(array_sum, samples[:-1])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    even = hold_inputs(values, np.full(4, 0.1))
    assert split(even)[0] is even


def test_in_force_is_what_the_rows_hold():
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(1.9e-3, 2.0e-3, 200))  # at most one change an interval
    values = rng.normal(size=(200, 2))
    late = Delay(values, times, 0.0113, [True, False])
    rows = late.rows()
    at_sample = np.where(rows.switch[:, None] > 0, rows.before, rows.values)
    np.testing.assert_array_equal(late.in_force()[:-1], at_sample)
    np.testing.assert_array_equal(rows.values[:, 1], values[:-1, 1])


def test_a_jump_arrives_where_it_must_between_irregular_samples():
    """The same value asked again is no change, so that a free delay has a slope everywhere."""
    times = np.cumsum(np.tile([1e-3, 3e-3], 50))
    late = Delay(np.where(times < 0.05, 0.0, 1.0)[:, None], times, 0.0117, [True]).rows()
    on = (1.0 - late.switch) * late.values[:, 0] + late.switch * late.before[:, 0]
    begun = times[times >= 0.05][0] + 0.0117
    assert np.sum(on * late.dt) == pytest.approx(times[-1] - begun, abs=1e-12)


def test_a_missed_tolerance_is_said():
    stiff = be.Actuator(
        motor=be.motor.Motor(resistance=0.1, torque_constant=0.5, rotor_inertia=1e-7),
        gearbox=be.gearbox.Gearbox(ratio=5.0, backlash=0.05, contact_stiffness=1e9),
        friction=be.friction.Coulomb(coulomb=0.05),
        drive=be.drive.Position(volts_per_radian=500.0, supply=48.0),
    )
    with pytest.warns(BackemfWarning, match="halving the step still changes position"):
        run = be.simulate(stiff, be.bench.Flywheel(inertia=1e-4), be.signal.square(1.0, 20.0), duration=0.2)
    assert [f.code for f in run.findings] == ["tolerance_missed"]
    assert run.refinement is not None
    assert run.findings[0].numbers["change"] == run.refinement > 1e-4


def test_a_motion_that_runs_away_is_said():
    with pytest.warns(BackemfWarning, match="the motion runs away"):
        run = be.simulate(servo(), BENCH, 1e308, duration=0.1, dt=0.01)
    assert [f.code for f in run.findings] == ["not_finite"]


def test_the_first_sample_that_is_no_number_is_named():
    states = np.zeros((9, 2))
    states[4:, 1] = np.nan
    states[6, 0] = np.inf
    (said,) = simulate._findings(states, None, 1e-4)
    assert "from sample 4 on" in said.text
    states[0, 0] = np.nan
    assert "from sample 0 on" in simulate._findings(states, None, 1e-4)[0].text


@pytest.mark.parametrize(("change", "codes"), [(1.1e-4, ["tolerance_missed"]), (0.9e-4, []), (None, [])])
def test_a_change_beyond_the_tolerance_is_said(change, codes):
    assert [f.code for f in simulate._findings(np.zeros((9, 2)), change, 1e-4)] == codes


def test_a_coarse_overflow_is_refined_away():
    """Where the first, coarse runs overflow, finer ones are tried; before, NaN came back in silence."""
    asked = []

    def run(n: int, energy: bool):
        asked.append(n)
        return np.array([[np.nan if n < 4 else 0.5]]), None

    fine, _, n, change = simulate._run(
        run, hold_inputs(np.zeros((1, 1)), np.array([1e-3])), None, 1e-4, False
    )
    assert asked == [1, 2, 4, 8, 16]
    assert (fine[0, 0], n, change) == (0.5, 16, 0.0)


@pytest.mark.parametrize(
    ("changes", "stops_after"),
    [
        ([0.5, 0.2], 2),  # of the tolerance: two in a row, the second a quarter
        ([0.5, 0.3, 0.2], 3),  # 0.3 is more than a quarter
        ([0.1, 0.1], 2),
        ([3.0, 0.1, 0.1], 3),  # after a large change one small one can be luck
        ([0.1, 3.0, 0.2, 0.2], 4),
        ([1e6, 0.5, 0.1], 3),
    ],
)
def test_steps_are_halved_until_two_changes_in_a_row_are_small(changes, stops_after):
    tolerance, asked = 1e-3, []
    places = np.cumsum([0.0, *(tolerance * c for c in changes), *[0.0] * 20])

    def run(n: int, energy: bool):
        asked.append(n)
        return np.array([[places[len(asked) - 1]]]), None

    rows = hold_inputs(np.zeros((1, 1)), np.array([1e-3]))
    _, _, n, change = simulate._run(run, rows, None, tolerance, False)
    assert len(asked) == stops_after + 1
    assert asked == [min(2**k, 100) for k in range(stops_after + 1)]
    assert n == asked[-1]
    assert change == pytest.approx(tolerance * changes[stops_after - 1])


def test_of_three_changes_in_one_interval_the_one_before_the_last_holds_until_it():
    """A long interval that sees three changes: from its start on the second, then the third at its own
    moment."""
    times = np.array([0.0, 0.010, 0.020, 0.030, 0.040, 0.100])
    values = np.array([[0.0], [1.0], [2.0], [3.0], [3.0], [3.0]])
    rows = Delay(values, times, 0.035, [True]).rows()
    assert rows.before[-1, 0] == 2.0  # 1 arrives at 45 ms, 2 at 55, 3 at 65, all between 40 and 100
    assert rows.values[-1, 0] == 3.0
    assert rows.switch[-1] == pytest.approx((0.065 - 0.040) / 0.060)
