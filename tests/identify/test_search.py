"""The search: what is free for which actuator, stages and weights by hand, and latencies."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.datasheets.datasheet import PrintedNumber
from backemf.identify.bench_numbers import latency
from backemf.identify.frictions import with_friction
from backemf.identify.optimize import Minimum, part_progress
from backemf.identify.parameters import FreeParameters, free
from backemf.identify.plants.bench_plant import (
    SCHEDULE,
    BenchPlant,
    _scale,
    _shift_latency,
    _slide,
    motions,
    residual_weights,
    with_registers,
)
from backemf.identify.plants.plant import SearchResult, StartResult, Weights
from backemf.identify.problem import problem
from backemf.identify.search import agree, bench_search

from .linear import Linear, Logs
from .recordings import SERVO, record

WINDING = ["motor.resistance", "motor.torque_constant", "motor.rotor_inertia"]
FRICTION = [f"friction.{name}" for name in ("viscous", "coulomb", "static", "stribeck_velocity")]
T = np.arange(0.0, 0.5, 0.005)


def log(bench: Any = None, settings: Any = None, step: float = 0.005, **signals: Any) -> be.Log:
    bench = bench or be.bench.Pendulum(mass=0.3, length=0.1, arm_mass=0.03)
    t = step * np.arange(100)
    return be.log(
        "run", t, bench=bench, settings=settings or {}, position=0.1 * t, position_target=t, **signals
    )


# what is free


def paths(actuator: be.Actuator = SERVO, *logs: be.Log, **options: Any) -> list[str]:
    return list(bench_search(actuator, logs or [log()], **options).plant.problem().free.paths)


def test_a_pendulum_has_its_angle_found_along():
    assert paths() == [*WINDING, *FRICTION, "bench.hanging"]
    assert paths(offset=False) == [*WINDING, *FRICTION]
    assert paths(SERVO, log(be.bench.Flywheel(inertia=0.01))) == [*WINDING, *FRICTION]
    assert paths(free_paths=["motor.resistance"]) == ["motor.resistance"]
    # the caller's own angle is one for all
    assert paths(also=["bench.hanging"]) == [*WINDING, *FRICTION, "bench.hanging"]
    own = bench_search(SERVO, [log()], also=["bench.hanging"]).plant.problem().free
    assert own.names[-1] == "bench.hanging"
    assert not own.parameters[-1].beside
    assert own.parameters[-1].start == 0.0


def test_an_arm_that_nobody_weighed_is_found_along_from_next_to_nothing():
    bare, heavy = (log(be.bench.Pendulum(mass=m, length=0.1)) for m in (0.3, 0.5))
    p = bench_search(SERVO, [heavy, bare]).plant.problem()
    (arm,) = [q for q in p.free.parameters if q.path == "bench.arm_mass"]
    assert (arm.start, arm.beside) == (pytest.approx(0.03 * 0.3), True)
    assert "bench.arm_mass" not in paths(SERVO, log(), bare)  # one of them was weighed
    assert "bench.arm_mass" not in paths(SERVO, bare, offset=False)


def test_further_numbers_are_free_once():
    assert paths(also=["drive.supply", "motor.resistance"], offset=False) == [
        *WINDING,
        *FRICTION,
        "drive.supply",
    ]
    with pytest.raises(be.BackemfError, match="no parameter is free"):
        paths(free_paths=[])


def test_a_delay_starts_at_half_a_sample():
    p = bench_search(SERVO, [log()], delay=True, offset=False).plant.problem()
    assert p.free.paths[-1] == "drive.delay"
    assert p.free.parameters[-1].start == pytest.approx(0.0025)
    late = replace(SERVO, drive=replace(SERVO.drive, delay=0.01))
    p = bench_search(late, [log()], delay=True, offset=False).plant.problem()
    assert p.free.parameters[-1].start == 0.01
    assert "drive.delay" not in paths(late)


def test_a_rotor_without_inertia_gets_some():
    light = SERVO.replace(**{"motor.rotor_inertia": 0.0})
    p = bench_search(light, [log()]).plant.problem()
    assert p.actuator.motor.rotor_inertia == pytest.approx(0.2 * (0.3 + 0.01) * 0.01)
    assert bench_search(SERVO, [log()]).plant.problem().actuator.motor.rotor_inertia == 3e-3


def test_a_firmware_gain_is_free_where_it_is_a_guess_or_somebody_stated_it():
    plain = replace(SERVO, drive=be.drive.Position(volts_per_radian=5.0, supply=7.0))
    register = log(settings={"drive.proportional": 8.0})
    plant: Any = bench_search(plain, [register]).plant
    assert plant.guessed_gain
    p = plant.problem()
    assert "drive.firmware_gain" in p.free.paths
    assert "drive.firmware_gain" not in paths(plain, register, free_paths=["motor.resistance"])
    assert "drive.firmware_gain" not in paths()
    assert "drive.firmware_gain" in paths(prior={"drive.firmware_gain": (0.16, 0.01)})
    plant = bench_search(SERVO, [log()]).plant
    assert isinstance(plant, BenchPlant)
    assert not plant.guessed_gain


def test_what_gears_lose_is_free_beside_a_friction_that_knows_the_load():
    geared = replace(SERVO, gearbox=be.gearbox.Gearbox(ratio=10.0, efficiency=0.8))
    loaded = with_friction(geared, "m4")
    assert "gearbox.efficiency" in paths(loaded)
    assert "gearbox.efficiency" not in paths(geared)
    assert "gearbox.efficiency" not in paths(with_friction(SERVO, "m4"))
    assert "gearbox.efficiency" not in paths(loaded, free_paths=["motor.resistance"])


def printed(value: float) -> PrintedNumber:
    return PrintedNumber(text=str(value), value=value, half=0.5, unit="1")


def test_a_d_register_that_the_sheet_prints_is_there():
    sheet = be.Datasheet.read("sts3215-7.4v")
    assert sheet.firmware["derivative"].value == 32.0
    given, paths_ = with_registers(SERVO, sheet)
    drive: Any = given.drive
    assert paths_ == ["drive.firmware_derivative_gain"]
    assert (drive.derivative, drive.firmware_derivative_gain, drive.derivative_filter) == (32.0, 0.0, 0.01)
    filtered = replace(sheet, firmware={**sheet.firmware, "derivative_filter": printed(0.004)})
    # a servo's drive:
    assert with_registers(SERVO, filtered)[0].drive.derivative_filter == 0.004  # type: ignore[attr-defined]
    # nothing to add
    assert with_registers(SERVO, None) == (SERVO, [])
    assert with_registers(given, sheet) == (given, [])
    none = replace(sheet, firmware={**sheet.firmware, "derivative": printed(0.0)})
    assert with_registers(SERVO, none) == (SERVO, [])
    bare = replace(sheet, firmware={})
    assert with_registers(SERVO, bare) == (SERVO, [])
    volts = replace(SERVO, drive=be.drive.Position(volts_per_radian=5.0, supply=7.0))
    assert with_registers(volts, sheet) == (volts, [])
    assert "drive.firmware_derivative_gain" in paths(prior=sheet)
    assert "drive.firmware_derivative_gain" not in paths(prior=sheet, free_paths=["motor.resistance"])


# stages and weights


STAGES = {
    # the usual sample interval: bandwidths of the observer
    0.001: (120.0, 60.0, 20.0, 6.0, 2.0, 0.0),
    0.003: (120.0, 60.0, 20.0, 6.0, 2.0, 0.0),
    0.004: (60.0, 20.0, 6.0, 2.0, 0.0),
    0.01: (20.0, 6.0, 2.0, 0.0),
    0.03: (6.0, 2.0, 0.0),
    0.1: (4.0, 1.3, 0.4, 0.0),
}


@pytest.mark.parametrize("step", STAGES)
def test_an_observer_is_never_faster_than_the_samples(step):
    (leg,) = SCHEDULE.legs(step)
    assert [stage.bandwidth for stage in leg] == pytest.approx(STAGES[step])


def errors_of(*errors: np.ndarray, noise: float = 1.0) -> Logs:
    """Logs whose errors at x = 0 are these."""
    return Logs([(np.zeros((len(e), *e.shape[1:], 1)), -e) for e in errors], noise=noise)


X = np.zeros(1)
WHITE = np.random.default_rng(0).normal(size=2000)


def test_errors_that_noise_explains_keep_the_weight_of_noise():
    for scale in (0.1, 1.0, 1.25):
        p = errors_of(2.0 * scale * WHITE, noise=2.0)
        assert residual_weights(p, X) == Weights(p.sigma_noise, np.inf)
    assert residual_weights(errors_of(np.full(60, np.nan)), X).robust == np.inf


def test_errors_that_are_larger_weigh_as_they_scatter():
    """The median of a normal error is 0.6745 of its standard deviation; independent ones count each."""
    assert residual_weights(errors_of(1.4 * WHITE), X).robust < np.inf
    p = errors_of(2.0 * 3.0 * WHITE, noise=2.0)
    weights = residual_weights(p, X)
    assert weights.sigma == pytest.approx([6.0], rel=0.05)
    assert weights.robust == pytest.approx(1.5)
    p.sigma = 5.0 * p.sigma_noise  # whatever weight they had before
    again = residual_weights(p, X)
    assert again.sigma == pytest.approx(weights.sigma)


def test_errors_that_stay_alike_weigh_less():
    slow = np.repeat(10.0 * np.tile([1.0, -1.0], 60), 5)  # alike over 1, 0.6, 0.2 of a sample: 1 + 2 * 0.8
    weights = residual_weights(errors_of(slow, slow), X)
    alike = 1 + 2 * 0.8
    assert weights.sigma == pytest.approx([1.4826 * 10.0 * np.sqrt(alike)], rel=0.02)
    assert weights.robust == pytest.approx(1.5 / np.sqrt(alike), rel=0.02)


def test_each_output_weighs_by_itself():
    both = np.stack([1.0 * WHITE, 4.0 * WHITE], axis=1)
    weights = residual_weights(errors_of(both), X)
    assert weights.sigma == pytest.approx([1.0, 4.0], rel=0.06)
    empty = np.stack([3.0 * WHITE, np.full(2000, np.nan)], axis=1)
    assert residual_weights(errors_of(empty), X).sigma == pytest.approx([3.0, 1.0], rel=0.06)


# the climb, on one short log of known friction


def ended(cost: float) -> StartResult:
    return StartResult({}, cost, 1.0, "converged", 1)


def test_the_best_end_has_the_least_cost():
    p: Any = SimpleNamespace()
    found = SearchResult(
        plant=p, problem=p, ends=[ended(3.0), ended(1.0), ended(2.0)], weights=Weights(np.ones(1))
    )
    assert found.best.cost == 1.0


def test_where_a_start_ended():
    p = problem(SERVO, [record(0, duration=0.6)], free(SERVO, ["motor.resistance"]))
    at = Minimum(x=p.first, cost=2.0, data_cost=1.0, n_evaluations=3, ended="converged")
    here = StartResult.of(p, at)
    assert here.mae == pytest.approx(np.mean(np.abs(p.predictions(p.first)[0] - p.measured[:, 0])))
    assert (here.values, here.cost, here.n_evaluations) == ({"motor.resistance": pytest.approx(4.0)}, 2.0, 3)
    assert StartResult.of(p, replace(at, cost=np.inf)).mae == np.inf


@pytest.mark.parametrize(
    ("friction", "given", "below"),
    [
        ("stribeck", {}, ()),  # it has this friction already
        ("coulomb", {}, ()),
        ("m3", {}, ("coulomb",)),
        ("m4", {}, ("m3", "stribeck")),
        ("m4", {"free_paths": ["motor.resistance"]}, ()),
    ],
)
def test_rungs_that_are_climbed_first(friction, given, below):
    assert bench_search(SERVO, [log()], **given).plant.rungs_below(friction) == below


@pytest.mark.parametrize(
    ("costs", "enough"),
    [
        ([1.0, 1.0], False),
        ([1.0, 1.001, 1.0019], True),
        ([1.0, 1.001, 1.0021], False),
        ([2.0, 2.0, 2.0, 1.0], False),  # a better one was found
        ([2.0, 1.0, 1.0, 1.0], True),
    ],
)
def test_three_starts_that_found_the_same_are_enough(costs, enough):
    assert agree([ended(cost) for cost in costs]) is enough


# settling


class Valley(Linear):
    """One log whose misfit is least at a latency of some samples."""

    def __init__(self, best: float, misfit: float = 1.0) -> None:
        self.free = FreeParameters((latency(0.01, 0.0),))
        self.step = 0.01
        self.best, self.misfit, self.tried = best, misfit, []

    def normal(self, x, bandwidth=0.0, robust=np.inf, substeps=None):
        self.tried.append(float(x[0]))
        cost = 1.0 + self.misfit * abs(x[0] - self.best) / 0.01
        return np.eye(1), np.zeros(1), cost


@pytest.mark.parametrize(
    ("best", "misfit", "found"),
    [
        (0.05, 1.0, 0.05),  # five samples late
        (0.0, 1.0, 0.0),
        (0.12, 1.0, 0.12),  # the farthest that is looked at
        (0.20, 1.0, 0.12),
        (0.01, 0.2, 0.0),  # 1 of 1.2: not clearly less
        (0.01, 0.3, 0.01),  # 1 of 1.3: less than 0.8 of it
    ],
)
def test_a_latency_of_whole_samples_where_it_leaves_clearly_less(best, misfit, found):
    q: Any = Valley(best, misfit)
    assert _shift_latency(q, np.zeros(1), np.inf, 1) == pytest.approx([found], abs=1e-9)


@pytest.mark.parametrize(("best", "farthest"), [(0.02, 0.03), (0.0, 0.02), (-0.03, 0.02)])
def test_a_latency_is_looked_for_until_it_is_worse_again(best, farthest):
    q: Any = Valley(best)
    _shift_latency(q, np.zeros(1), np.inf, 1)
    assert max(q.tried) == pytest.approx(farthest)


def test_how_much_larger_than_the_noise_errors_were():
    p: Any = SimpleNamespace(sigma=np.array([6.0, 2.0]), sigma_noise=np.array([2.0, 1.0]))
    assert _scale(p) == 3.0


def test_numbers_slide_with_the_latency_held_and_then_with_it():
    """The two act alike here: first the one alone, then both."""

    class Two(Linear):
        def __init__(self):
            number = free(SERVO, ["friction.viscous"]).parameters[0]
            self.free, self.asked = FreeParameters((number, latency(0.01, 0.0))), []

        def normal(self, x, bandwidth=0.0, robust=np.inf, substeps=None):
            self.asked.append((float(x[0]), float(x[1]), robust, substeps))
            target = np.array([1.0, 0.02])
            A = np.diag([1e6, 1e10])
            r = x - target
            return A, A @ r, 0.5 * float(r @ A @ r)

    p: Any = Two()
    end = _slide(p, np.array([0.5, 0.0]), 2.0, 3)
    assert end.x == pytest.approx([1.0, 0.02], abs=2e-3)
    assert {(robust, n) for _, _, robust, n in p.asked} == {(2.0, 3)}
    held = [row for row in p.asked if row[1] == 0.0]
    assert held[-1][0] == pytest.approx(1.0, abs=0.2)  # before the latency moved at all
    assert p.asked[0][:2] == (0.5, 0.0)


def test_progress_is_told_as_a_share_of_a_part():
    told = []
    note = part_progress(lambda *row: told.append(row), "start 2", 0.5, 0.9)
    note("observer", 3.0, 0.25)  # type: ignore[misc]  # a listener takes any words
    assert told == [("start 2, observer", 3.0, pytest.approx(0.6))]
    assert part_progress(None, "start 2", 0.5, 0.9) is None


CLOCK = np.linspace(0.0, 4.0, 401)
WAVE = np.sign(CLOCK - 1.055) + 0.3 * np.sin(2.0 * CLOCK) - 0.46
MOTIONS = {
    # a clock, a command and what else is known, beside one that was asked before: whether it is the same
    "again": (CLOCK, WAVE, {}, True),
    "a sample later": (CLOCK + 7.0, np.r_[WAVE[0], WAVE[:-1]], {}, True),
    "a tenth more": (CLOCK, 1.1 * WAVE, {}, True),
    "a fifth more": (CLOCK, 1.25 * WAVE, {}, False),
    "a tenth longer": (1.1 * CLOCK, WAVE, {}, True),
    "a fifth longer": (1.2 * CLOCK, WAVE, {}, False),
    "a little elsewhere": (CLOCK, WAVE + 0.12 * np.std(WAVE), {}, True),
    "elsewhere": (CLOCK, WAVE + 0.2 * np.std(WAVE), {}, False),
    "the other way round": (CLOCK, -WAVE, {}, False),
    "switched off in between": (CLOCK, WAVE, {"enabled": np.where(CLOCK < 2.0, 1.0, 0.0)}, False),
}


@pytest.mark.parametrize("row", MOTIONS)
def test_logs_that_were_asked_for_the_same_motion(row):
    time, asked, more, same = MOTIONS[row]
    first = be.log("first", CLOCK, position=CLOCK, position_target=WAVE)
    other = be.log("other", time, position=CLOCK, position_target=asked, **more)
    assert motions([first, other, first, other]) == [0, 1 - same, 0, 1 - same]
    nothing = be.log("nothing", CLOCK, position=WAVE)
    assert motions([nothing, nothing, first]) == [0, 0, 1]
