"""From logs to errors: what each log brings, how errors and their slopes gather, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify import bench_numbers
from backemf.identify.parameters import FreeParameters, free
from backemf.identify.problem import (
    Problem,
    default_substeps,
    fitted_drive,
    mean_absolute_errors,
    prepare,
    problem,
    with_some_inertia,
)
from backemf.identify.uncertainty import uncertainty
from backemf.logs.log import Signal, check_recordings

from .recordings import SERVO, changed, record, steps

PATHS = ["motor.resistance", "friction.coulomb", "friction.static"]
ARM = be.bench.Pendulum(mass=0.3, length=0.1)
T = np.arange(0.0, 1.0, 0.005)


def log(
    name: str = "run", t: np.ndarray = T, bench: Any = ARM, settings: Any = None, **signals: Any
) -> be.Log:
    given = {"position": 0.1 * np.sin(3 * t), "position_target": 0.1 * t} | signals
    given = {n: np.asarray(v, float) + 0 * t for n, v in given.items() if v is not None}
    return be.log(name, t, bench=bench, settings=settings or {}, **given)


@pytest.fixture(scope="module")
def p() -> Problem:
    """Three logs, two of one weight; the masses are free by weight and the winding is common."""
    logs = [
        record(0, duration=0.6),
        record(1, mass=0.5, gain=8.0, command=steps, duration=0.6),
        record(2, gain=32.0, duration=0.6),
    ]
    masses = [q for q in bench_numbers.measured_parameters(logs) if q.path == "bench.mass"]
    return problem(SERVO, logs, free(SERVO, PATHS).with_(masses))


def jacobians(p: Problem, x: np.ndarray) -> list[np.ndarray]:
    """d errors / d x of each log, by differences."""
    columns = []
    for k in range(len(x)):
        up, down = x.copy(), x.copy()
        up[k] += 1e-5
        down[k] -= 1e-5
        columns.append((p.sensitivities(up)[0] - p.sensitivities(down)[0])[:, 0] / 2e-5)
    return p.batch.split(np.stack(columns, axis=1))


def test_curvature_and_slope_gather_over_logs_that_share_a_number(p):
    """J'J and J'r by differences of every error, log by log and in all."""
    x = p.first + np.array([0.1, -0.05, 0.1, 0.02, -0.03])
    J, r = jacobians(p, x), [e[:, 0] for e in p.batch.split(p.sensitivities(x)[0])]
    H, g, cost = p.normal(x)
    assert cost == pytest.approx(0.5 * sum(float(e @ e) for e in r), rel=1e-9)
    size = np.sqrt(np.outer(np.diag(H), np.diag(H)))
    assert H / size == pytest.approx(sum(j.T @ j for j in J) / size, abs=1e-4)
    slope = sum(j.T @ e for j, e in zip(J, r, strict=True))
    assert g / np.sqrt(np.diag(H)) == pytest.approx(slope / np.sqrt(np.diag(H)), rel=1e-3, abs=1e-2)
    by_log, scores, _ = p.normal_of_logs(x)
    for k, j in enumerate(J):
        assert p.in_x(by_log[k], k, x) / size == pytest.approx(j.T @ j / size, abs=1e-4)
    assert p.scores(scores, x).sum(axis=0) == pytest.approx(g)
    assert p.scores(scores, x)[0][4] == 0.0  # the other weight is not in this log
    assert p.gather(by_log, x) == pytest.approx(H)


def test_errors_count_in_units_of_their_noise(p):
    x = p.first
    errors, tangents = p.sensitivities(x)
    seen = np.concatenate(p.predictions(x)) - p.measured[:, 0]
    assert errors[:, 0] * p.sigma[0] == pytest.approx(seen, abs=1e-9)
    wider = replace(p)
    wider.sigma = 3.0 * p.sigma
    assert wider.sensitivities(x)[0] == pytest.approx(errors / 3.0)
    assert wider.sensitivities(x)[1] == pytest.approx(tangents / 3.0)
    assert wider.normal(x)[2] == pytest.approx(p.normal(x)[2] / 9.0)
    assert mean_absolute_errors(p, x) == {
        f"log {k}": pytest.approx(np.mean(np.abs(e))) for k, e in enumerate(p.batch.split(seen))
    }


def test_finer_steps_and_an_observer_are_asked_for_by_call(p):
    x = p.first + 0.3
    plain = p.normal(x)[2]
    assert p.normal(x, substeps=p.substeps)[2] == plain
    assert p.normal(x, substeps=1)[2] != plain
    assert p.normal(x, 60.0)[2] < 0.9 * plain  # it follows the recording
    assert p.normal(x, robust=0.5)[2] < plain
    assert p.observer(0.0) is None
    assert p.observer(0.5).bandwidth == 0.5
    assert p.observer(20.0).bandwidth == 20.0
    assert p.observer(20.0).position == pytest.approx(p.measured[:, 0])


def test_each_log_has_its_own_numbers_and_the_free_ones(p):
    values = p.values(p.first) | {
        "motor.resistance": 5.0,
        "bench.mass[0.3 kg]": 0.31,
        "bench.mass[0.5 kg]": 0.52,
    }
    P = p.rows_of(p.free.to_x(values, p.fixed))
    column = {name: P[:, k].tolist() for k, name in enumerate(p.names)}
    assert column["motor.resistance"] == pytest.approx([5.0] * 3)
    assert column["bench.mass"] == pytest.approx([0.31, 0.52, 0.31])
    assert column["drive.proportional"] == [16.0, 8.0, 32.0]
    assert column["motor.torque_constant"] == [0.9] * 3
    assert p.actuator_at(p.free.to_x(values, p.fixed)).parameters["motor.resistance"] == pytest.approx(5.0)
    assert p.n_measured == sum(len(one.log) for one in p.logs)


def test_an_actuator_has_what_is_common_to_all_logs_and_its_own():
    """Not a supply of some logs, nor a delay that belongs to the recording."""
    logs = [record(0, duration=0.3), record(1, duration=0.3)]
    R = free(SERVO, ["motor.resistance"]).parameters[0]
    supply = replace(bench_numbers.supplies(SERVO, logs)[0], logs=(0,), beside=False)
    late = bench_numbers.latency(0.005, 0.0)
    both = problem(SERVO, logs, FreeParameters((R, supply, late)))
    x = both.free.to_x({"motor.resistance": 5.0, supply.name: 7.0, late.name: 0.004}, both.fixed)
    assert both.actuator_at(x) == SERVO.replace(**{"motor.resistance": both.values(x)["motor.resistance"]})
    assert both.rows_of(x)[:, both.names.index("drive.supply")] == pytest.approx([7.0, 7.4])


def test_a_free_delay_moves_what_was_asked():
    one = record(0, duration=0.6)
    late = bench_numbers.latency(0.005, 0.0)
    moved = problem(SERVO, [one], FreeParameters((late,)))
    asked = moved.batch.values[:, 0].copy()
    moved.normal(np.array([0.01]))
    k = moved.system.inputs.index("position_target")
    assert moved.batch.values[4:-1, k] == pytest.approx(one["position_target"][2:-3])  # two samples later
    assert asked[:5] == pytest.approx(one["position_target"][:5], abs=1e-3)
    fixed = replace(SERVO, drive=replace(SERVO.drive, delay=0.01))
    same = problem(fixed, [one], free(SERVO, ["motor.resistance"]))
    assert same.normal(same.first)[2] == pytest.approx(moved.normal(np.array([0.01]))[2], rel=1e-9)


# one log as the engine takes it


NO_FREE = FreeParameters(())


def test_what_a_log_brings():
    one = log(settings={"drive.supply": 6.0, "nobody.knows": 1.0}, supply=6.5)
    taken = prepare(SERVO, one, ("position", "current"), NO_FREE)
    assert taken.settings == {
        "bench.mass": 0.3,
        "bench.length": 0.1,
        "bench.arm_mass": 0.0,
        "bench.gravity": be.bench.GRAVITY,
        "drive.supply": 6.0,
    }
    assert taken.inputs[:, 0] == pytest.approx(0.1 * T)  # in alphabetic order
    assert set(taken.inputs[:, 1]) == {6.5}
    assert taken.measured[:, 0] == pytest.approx(one["position"])
    assert np.isnan(taken.measured[:, 1]).all()
    assert taken.rows.dt == pytest.approx(np.diff(T))
    assert taken.starts[0]["position"] == pytest.approx(0.0, abs=1e-3)
    assert taken.starts[0]["velocity"] == pytest.approx(0.3, rel=0.02)
    assert [one.sample for one in taken.stretches] == [0]


def test_a_locked_rotor_does_not_move():
    one = log(bench=be.bench.Locked())
    assert prepare(SERVO, one, ("position",), NO_FREE).starts[0]["velocity"] == 0.0


def test_a_winding_starts_as_warm_as_it_was_measured():
    warm = replace(
        SERVO, motor=replace(SERVO.motor, thermal=be.motor.Thermal(resistance=5.0, capacitance=20.0))
    )
    start = prepare(warm, log(temperature=40.0 + T), ("position",), NO_FREE).starts[0]
    assert start["winding_temperature"] == 40.0
    assert prepare(warm, log(), ("position",), NO_FREE).starts[0]["winding_temperature"] != 40.0
    cold = prepare(SERVO, log(temperature=40.0), ("position",), NO_FREE)
    assert "winding_temperature" not in cold.starts[0]


def test_free_numbers_of_a_bench_are_there():
    one = log(supply=7.0)
    angle = FreeParameters(tuple(bench_numbers.angles([one])))
    # a pendulum's:
    assert prepare(SERVO, one, ("position",), angle).bench.hanging == 0.0  # type: ignore[attr-defined]
    gauge = FreeParameters(tuple(bench_numbers.supplies(SERVO, [one])))
    assert prepare(SERVO, one, ("position",), gauge).bench.supply_factor == 1.0
    known = replace(one, bench=replace(ARM, supply_factor=1.1))
    assert prepare(SERVO, known, ("position",), gauge).bench.supply_factor == 1.1
    plain = prepare(SERVO, one, ("position",), NO_FREE).bench
    assert plain == ARM


def test_an_input_that_is_not_finite_is_refused():
    torn = np.where(np.arange(len(T)) == 7, np.nan, 0.1 * T)
    with pytest.raises(be.BackemfError, match="position_target is not finite at sample 7"):
        prepare(SERVO, log(position_target=torn), ("position",), NO_FREE)


def test_samples_behind_a_long_gap_are_starts():
    gap = np.r_[np.arange(50), np.arange(70, 120)] * 0.005
    one = log(t=gap, position=0.3 * gap + 1e-4 * np.random.default_rng(0).standard_normal(100))
    taken = prepare(SERVO, one, ("position",), NO_FREE)
    _, behind = taken.stretches
    assert (behind.sample, behind.position) == (50, pytest.approx(one["position"][50], abs=1e-3))
    assert behind.velocity == pytest.approx(0.3, rel=0.1)
    assert np.isfinite(taken.measured[:, 0]).all()
    held = prepare(SERVO, log(t=gap, bench=be.bench.Locked()), ("position",), NO_FREE)
    assert len(held.stretches) == 1


def test_states_behind_a_gap_are_those_that_errors_are_taken_of():
    """In every log its own gaps; the last one begins at the very last sample."""
    one, two = record(0, duration=0.9), record(1, mass=0.5, command=steps, duration=0.9)

    def torn(some: be.Log, *gaps: tuple[int, int]) -> be.Log:
        kept = np.ones(len(some), bool)
        for begin, end in gaps:
            kept[begin:end] = False
        return replace(
            some,
            signals={
                n: replace(s, time=s.time[kept], values=s.values[kept]) for n, s in some.signals.items()
            },
        )

    logs = [torn(one, (60, 80)), torn(two, (30, 45), (100, 120), (150, 180))]
    p = problem(SERVO, logs, free(SERVO, ["motor.resistance"]))
    assert [[one.sample for one in taken.stretches] for taken in p.logs] == [[0, 60], [0, 30, 85, 115]]
    assert len(logs[1]) == 116
    errors, _ = p.sensitivities(p.first)
    by_states = (np.concatenate(p.predictions(p.first)) - p.measured[:, 0]) / p.sigma[0]
    counted = np.isfinite(p.measured[:, 0])
    assert by_states[counted] == pytest.approx(errors[counted, 0], abs=1e-6)
    for taken, states in zip(p.logs, p.states(p.first), strict=True):
        for one in taken.stretches:
            assert states[one.sample, :2] == pytest.approx([one.position, one.velocity])


def test_a_drive_that_follows_nothing_has_no_inputs():
    coasting = replace(SERVO, drive=be.drive.Off())
    assert prepare(coasting, log(), ("position",), NO_FREE).inputs.shape == (len(T), 0)


# drives and inertias that the logs call for

REGISTER = {"drive.proportional": 8.0}
PLAIN = replace(SERVO, drive=be.drive.Position(volts_per_radian=5.0, supply=7.0))
UNSUPPLIED = replace(SERVO, drive=be.drive.Position(volts_per_radian=5.0))
DRIVES: dict[str, tuple] = {
    # the actuator, a log: the supply of the servo that it becomes, or nothing
    "the log sets a register": (PLAIN, log(settings=REGISTER), 7.0),
    "no log does": (PLAIN, log(), None),
    "it has a register": (SERVO, log(settings=REGISTER), None),
    "it follows no position": (
        replace(SERVO, drive=be.drive.Voltage(supply=7.0)),
        log(settings=REGISTER),
        None,
    ),
    "the log's own supply": (PLAIN, log(settings={**REGISTER, "drive.supply": 6.0}), 6.0),
    "the supply it recorded": (UNSUPPLIED, log(settings=REGISTER, supply=6.5), 6.5),
    "the actuator's before that": (PLAIN, log(settings=REGISTER, supply=6.5), 7.0),
}


@pytest.mark.parametrize("row", DRIVES)
def test_a_drive_that_the_settings_of_logs_fit(row):
    actuator, one, supply = DRIVES[row]
    fitted, guessed = fitted_drive(actuator, [log(), one])
    assert guessed == (supply is not None)
    if supply is None:
        assert fitted is actuator
    else:
        assert fitted.drive == be.drive.Servo(firmware_gain=0.16, proportional=8.0, supply=supply)


def test_a_register_without_a_supply_is_refused():
    with pytest.raises(be.BackemfError, match=r"give drive\.supply"):
        fitted_drive(UNSUPPLIED, [log(settings=REGISTER)])


def test_some_inertia_is_a_fifth_of_the_lightest_load():
    geared = replace(SERVO, gearbox=be.gearbox.Gearbox(ratio=10.0))
    logs = [log(), log(bench=be.bench.Pendulum(mass=0.2, length=0.1)), replace(log(), bench=None)]
    J = with_some_inertia(geared, logs).motor.rotor_inertia
    assert pytest.approx(0.2 * 0.2 * 0.1**2 / 10.0**2) == J
    alone = with_some_inertia(geared, logs[2:]).motor.rotor_inertia
    assert alone == pytest.approx(0.2e-3 / 10.0**2)
    assert with_some_inertia(SERVO, [log(bench=be.bench.FreeShaft())]).motor.rotor_inertia == 1e-12


# the problem of several logs


def made(*logs: be.Log, **options: Any) -> Problem:
    return problem(SERVO, logs, free(SERVO, ["motor.resistance"]), **options)


def test_logs_that_lack_a_common_input_get_its_usual_value():
    """One log has a supply and a switch, the other not: that one ran at the nominal supply, always on."""
    told = log("told", supply=7.0, enabled=0.0)
    plain, lower = log("plain"), log("set", settings={"drive.supply": 6.0})
    p = made(told, plain, lower)
    names = p.system.inputs
    for k, (volts, on) in enumerate(((7.0, 0.0), (7.4, 1.0), (6.0, 1.0))):
        values = p.logs[k].rows.values
        assert set(values[:, names.index("supply")]) == {volts}
        assert set(values[:, names.index("enabled")]) == {on}


def test_a_supply_that_only_some_logs_recorded_must_be_stated_for_the_others():
    """Nobody may guess one: it limits the motor."""
    by_volts = replace(SERVO, drive=be.drive.Voltage())
    R = free(by_volts, ["motor.resistance"])
    told, plain = log(voltage_target=1.0, supply=7.0), log("plain", voltage_target=1.0)
    with pytest.raises(be.BackemfError, match=r"plain has no supply.*give drive\.supply"):
        problem(by_volts, [told, plain], R)
    assert problem(by_volts, [plain], R).system.inputs == ("voltage_target",)
    stated = replace(plain, settings={"drive.supply": 6.0})
    assert set(problem(by_volts, [told, stated], R).logs[1].inputs[:, 0]) == {6.0}


def test_what_is_compared_is_what_was_recorded():
    assert made(log()).outputs == ("position",)
    both = made(log(), log(current=0.1))
    assert both.outputs == ("position", "current")
    assert np.isnan(both.measured[: len(T), 1]).all()
    assert made(log(), log(current=0.1), outputs=["position"]).outputs == ("position",)


def test_noise_is_the_median_over_logs_and_never_nothing():
    rng = np.random.default_rng(0)
    noisy = [log(position=0.1 * np.sin(3 * T) + s * rng.standard_normal(len(T))) for s in (1e-4, 1e-3, 1e-1)]
    assert made(*noisy).sigma[0] == pytest.approx(1e-3, rel=0.2)
    assert made(log(position=0.0)).sigma[0] == 1e-6
    assert made(log(current=0.0)).sigma[1] == 1e-4


def test_what_makes_no_problem_is_refused():
    with pytest.raises(be.BackemfError, match="no logs"):
        made()
    with pytest.raises(be.BackemfError, match="has 1 sample"):
        made(log(t=T[:1]))
    with pytest.raises(be.BackemfError, match="none of the logs has a position; they have: position_target"):
        made(log(position=None))
    with pytest.raises(be.BackemfError, match="different benches"):
        made(log(), log(bench=be.bench.Flywheel(inertia=0.1)))


@pytest.mark.parametrize(
    ("step", "period", "n"),
    [
        (0.002, None, 1),
        (0.001, None, 1),
        (0.004, None, 2),
        (0.005, None, 3),
        (0.005, 0.001, 5),
        (0.005, 0.1, 3),
    ],
)
def test_steps_are_2_ms_or_the_drives_period_at_most(step, period, n):
    servo = replace(SERVO, drive=replace(SERVO.drive, period=period))
    one = prepare(SERVO, log(t=step * np.arange(100)), ("position",), NO_FREE)
    assert default_substeps([one, one], servo) == n
    assert made(log(), substeps=7).substeps == 7


def test_errors_leave_out_what_was_not_measured():
    one = record(0, duration=0.6)
    torn = one["position"].copy()
    torn[20:40] = np.nan
    p = made(changed(one, position=be.Signal(time=one.time, values=torn)))
    (error,) = mean_absolute_errors(p, p.first).values()
    seen = np.abs(p.predictions(p.first)[0] - torn)
    assert error == pytest.approx(np.mean(seen[np.isfinite(seen)]))


def test_two_samples_are_a_recording_and_one_is_not():
    two = be.log("two", [0.0, 0.1], position=[0.0, 0.1])
    check_recordings([two])
    with pytest.raises(be.BackemfError, match="has 1 sample"):
        check_recordings([replace(two, signals={"position": Signal(time=np.zeros(1), values=np.zeros(1))})])


@pytest.mark.parametrize(
    ("times", "size", "said"),
    [
        (1e150, 1.0, "has steps of 1e+150 s over"),
        (1e-300, 1.0, "has steps of 1e-300 s over"),
        (0.01, 1e300, "position is up to"),
    ],
)
def test_numbers_that_no_machine_has_are_refused(times, size, said):
    """Their squares are no numbers: a fit would end in the middle of its arithmetic."""
    wild = be.log("wild", times * np.arange(50.0), position=size * np.arange(50.0), voltage=np.ones(50))
    for ask in (be.fit, be.check):
        with pytest.raises(be.BackemfError, match=f"wild.*{re.escape(said)}.*expected"):
            ask(be.Actuator.read("mx-106"), [replace(wild, bench=be.bench.Pendulum(mass=1.0, length=0.1))])


def test_rows_that_run_away_do_not_swamp_the_others(p, monkeypatch):
    """Tangents of 1e12, as where a simulation slips for ever, leave covariances that are some."""
    x = p.first
    errors, tangents = p.sensitivities(x)
    quiet = p.bounded_sensitivities(x)[1]
    np.testing.assert_array_equal(quiet, tangents)
    wild = tangents.copy()
    wild[40:60] *= 1e12
    monkeypatch.setattr(p, "sensitivities", lambda x: (errors, wild))
    bounded = p.bounded_sensitivities(x)[1]
    np.testing.assert_array_equal(bounded[:40], tangents[:40])
    first = p.logs[0]
    width = np.ptp(first.measured[first.samples, 0]) / float(np.ravel(p.sigma)[0])
    slopes = np.append(np.diag(p.free.slopes(x)), 0.0)[p.index[0]]
    assert np.max(np.abs(bounded[40:60, 0] * slopes)) == pytest.approx(width)
    assert np.all(np.linalg.eigvalsh(uncertainty(p, x).covariance) > 0)
