"""What a fit reports of an optimum: errors, intervals, what tells each number, the bench, and held-out logs;
and what it predicts of a log."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify import predict
from backemf.identify.bench_numbers import angles, measured_parameters
from backemf.identify.fit_numbers import bench_numbers_of, fitted_numbers, start_of
from backemf.identify.optimize import with_read_starts
from backemf.identify.parameters import free, with_absent
from backemf.identify.plants.bench_plant import judge_logs
from backemf.identify.plants.plant import StartResult
from backemf.identify.problem import Problem, mean_absolute_errors, problem
from backemf.identify.uncertainty import Uncertainty
from backemf.physics.quantity import parameters
from backemf.results.fit_result import BenchNumber

from .recordings import SERVO, record, steps

PATHS = ["motor.resistance", "friction.viscous", "friction.coulomb", "friction.static", "drive.duty_limit"]
PRIOR = {"motor.resistance": (3.6, 0.4), "friction.static": (0.06, 0.01)}


def made(prior: Any = None) -> Problem:
    logs = [record(0, duration=0.6), record(1, mass=0.5, gain=8.0, command=steps, duration=0.6)]
    masses = [q for q in measured_parameters(logs) if q.path == "bench.mass"]
    return problem(SERVO, logs, free(SERVO, PATHS, prior=prior).with_(masses))


def sure(p: Problem, *errors: float, right: float = 0.5) -> Uncertainty:
    """Errors of the coordinates, and half of them if the model is right."""
    V = np.diag(np.square([*errors, *[0.01] * (len(p.free) - len(errors))]))
    return Uncertainty(covariance=V, if_right=right**2 * V, scatter=1.0)


def test_errors_and_intervals_are_those_of_the_coordinates():
    """A positive number: R exp(+- error); one that may vanish: (knee + v) exp(...) - knee."""
    p = made()
    rows = fitted_numbers(p, p.first, sure(p, 0.1, 0.3))
    R = rows["motor.resistance"]
    assert (R.value, R.start, R.unit, R.prior, R.knee) == (pytest.approx(4.0), 4.0, "ohm", None, 0.0)
    assert R.error == pytest.approx(0.4)
    assert (R.low, R.high) == pytest.approx((4 * math.exp(-0.196), 4 * math.exp(0.196)))
    assert R.error_if_right == pytest.approx(0.2)
    assert (R.low_if_right, R.high_if_right) == pytest.approx((4 * math.exp(-0.098), 4 * math.exp(0.098)))
    B = rows["friction.viscous"]
    assert B.knee == pytest.approx(0.002)
    assert B.error == pytest.approx(0.3 * 0.022)
    assert B.high == pytest.approx(0.022 * math.exp(0.588) - 0.002)
    assert set(rows) == set(PATHS)  # what is beside the actuator is told elsewhere


def test_static_friction_errs_with_what_it_stands_on():
    p = made()
    rows = fitted_numbers(p, p.first, sure(p, 0.1, 0.1, 0.2, 0.3))
    knee = {q.path: q.knee for q in p.free.parameters}
    coulomb = 0.2 * (0.04 + knee["friction.coulomb"])
    excess = 0.3 * (0.03 + knee["friction.static"])
    assert rows["friction.coulomb"].error == pytest.approx(coulomb)
    assert rows["friction.static"].error == pytest.approx(math.hypot(coulomb, excess))


def test_no_interval_goes_beyond_the_most_that_a_number_can_be():
    p = made()
    wide = fitted_numbers(p, p.first, sure(p, 0.1, 0.1, 0.1, 0.1, 0.5))["drive.duty_limit"]
    assert (wide.high, wide.high_if_right) == (1.0, 1.0)
    assert wide.low < 0.4
    narrow = fitted_numbers(p, p.first, sure(p, 0.1, 0.1, 0.1, 0.1, 0.001))["drive.duty_limit"]
    assert narrow.high == pytest.approx(0.97 * math.exp(0.00196))
    tilted, path = with_absent(SERVO, ["friction.asymmetry"]), "friction.asymmetry"
    p = problem(tilted, [record(0, duration=0.6)], free(tilted, [path]))
    one = fitted_numbers(p, p.first, sure(p, 5.4))[path]
    assert (one.low, one.high) == (tilted.traits(path)["least"], tilted.traits(path)["most"]) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("path", "error", "told"),
    [
        ("friction.viscous", 1.39, "data"),  # of 2, which is what nothing but its start says
        ("friction.viscous", 1.41, "prior"),
        ("motor.resistance", 0.032, "data"),  # of 0.4 / 3.6, which is what was stated
        ("motor.resistance", 0.034, "both"),
        ("motor.resistance", 0.077, "both"),
        ("motor.resistance", 0.079, "prior"),
    ],
)
def test_what_tells_a_number(path, error, told):
    """The prior where it keeps seven tenths of its width, both where it was stated and keeps three;
    recordings that disagree do not leave a number open."""
    p = made(PRIOR)
    errors = [error if path == name else 0.01 for name in PATHS]
    assert fitted_numbers(p, p.first, sure(p, *errors, right=1.0))[path].told_by == told
    agreed = fitted_numbers(p, p.first, sure(p, *errors, right=0.01))
    assert agreed[path].told_by == "data"


def test_what_was_stated_is_told_as_it_was():
    rows = fitted_numbers(made(PRIOR), made(PRIOR).first, sure(made(PRIOR)))
    assert rows["motor.resistance"].prior == pytest.approx((3.6, 0.4))
    assert rows["friction.static"].prior == pytest.approx((0.06, 0.01))
    assert rows["friction.viscous"].prior is None
    signed = SERVO.replace(**{"friction.offset": 0.01})
    p = problem(
        signed,
        [record(0, duration=0.5)],
        free(signed, ["friction.offset"], prior={"friction.offset": (0.02, 0.003)}),
    )
    row = fitted_numbers(p, p.first, sure(p, 0.001))["friction.offset"]
    assert row.prior == (0.02, 0.003)
    assert (row.error, row.low) == (pytest.approx(0.001), pytest.approx(0.01 - 0.00196))


def test_what_was_found_of_the_bench():
    p = made()
    values = p.values(p.first) | {"bench.mass[0.5 kg]": 0.55}
    x = p.free.to_x(values, p.fixed)
    light, heavy = bench_numbers_of(p, x, np.diag(np.full(len(x), 1e-4)))
    assert (light.path, light.group, light.logs) == ("bench.mass", "0.3 kg", ("log 0",))
    assert (heavy.stated, heavy.tolerance) == (pytest.approx(0.5), pytest.approx(0.005))
    assert (heavy.value, heavy.error, heavy.unit) == (pytest.approx(0.55), pytest.approx(0.0055), "kg")
    (arm,) = bench_numbers_of(
        problem(
            SERVO,
            [one.log for one in p.logs],
            free(SERVO, ["motor.resistance"]).with_(
                [
                    replace(
                        free(SERVO, ["bench.arm_mass"], {"bench.arm_mass": 0.02}).parameters[0], beside=True
                    )
                ]
            ),
        ),
        np.zeros(2),
        np.eye(2),
    )
    assert arm.stated == 0.0  # nobody did
    assert arm.logs == ("log 0", "log 1")


def test_held_out_logs_are_judged_with_what_was_found():
    p = made()
    other = record(5, duration=0.6)
    errors, read = judge_logs(p, p.first, [other], ())
    how = {"substeps": p.substeps, "free_starts": True}
    alone = problem(SERVO, [other], free(SERVO, ["motor.resistance"]), **how)
    assert errors == pytest.approx(mean_absolute_errors(with_read_starts(alone, alone.first), alone.first))
    held = replace(alone, begin=None)
    assert errors["log 5"] < 0.99 * mean_absolute_errors(held, held.first)["log 5"]  # as `start_of` says
    assert read == ()
    _, none = judge_logs(p, p.first, [record(6, mass=0.4, duration=0.6)], ())
    assert none == ()  # no angle was free, and none is read
    # a mass that the fit found is that of the log as well
    found = BenchNumber(
        path="bench.mass", group="0.3 kg", stated=0.3, tolerance=1.0, value=0.6, error=0.1, unit="kg", logs=()
    )
    wrong, _ = judge_logs(p, p.first, [other], [found])
    assert wrong["log 5"] > 2 * errors["log 5"]


def test_the_angle_of_a_mounting_that_was_never_fitted_is_read_from_its_log():
    logs = [record(0, duration=1.0)]
    hanging = problem(SERVO, logs, free(SERVO, ["motor.resistance"]).with_(angles(logs)))
    turned = record(5, mass=0.5, duration=1.0)
    turned = replace(
        turned, signals={n: replace(s, values=s.values + 0.1) for n, s in turned.signals.items()}
    )
    errors, (read,) = judge_logs(hanging, hanging.first, [turned], ())
    assert read.value == pytest.approx(0.1, abs=0.02)
    assert (read.path, read.stated, read.logs) == ("bench.hanging", 0.0, ("log 5",))
    assert 0 < read.error < 0.02
    assert errors["log 5"] < 1e-3
    # the same mounting has the angle of the fit
    _, none = judge_logs(hanging, hanging.first, [record(6, duration=1.0)], ())
    assert none == ()


def test_a_start_is_remembered_as_it_ended():
    row = start_of(StartResult({"a": 1.0}, 2.0, 3.0, "converged", 4))
    assert (row.cost, row.mae, row.ended, row.n_evaluations, row.parameters) == (
        2.0,
        3.0,
        "converged",
        4,
        {"a": 1.0},
    )


@pytest.fixture(scope="module")
def fitted() -> be.Fit:
    logs = [
        record(0, duration=1.5),
        record(1, mass=0.5, gain=8.0, command=steps, duration=1.5),
        record(2, duration=1.5),
    ]
    return be.fit(SERVO, logs, n_starts=1, inspect=False, hold_out=["log 2"])


def test_a_short_fit(fitted):
    """Everything that a fit says of itself, of three seconds of sound logs."""
    assert set(fitted.training) == {"log 0", "log 1"}
    assert set(fitted.held_out) == {"log 2"}
    assert fitted.noise_floor == pytest.approx(5e-4 * math.sqrt(2 / math.pi), rel=0.35)  # and its encoder's
    assert fitted.training_mae < 1.2 * fitted.noise_floor
    assert np.diag(fitted.correlation) == pytest.approx(np.ones(len(fitted.parameters)))
    assert np.abs(fitted.correlation).max() <= 1 + 1e-9
    assert fitted.read_from_held_out == ()  # the same mounting
    assert [one.name for one in fitted.logs] == ["log 0", "log 1", "log 2"]
    assert fitted.cpu_s > 0
    assert not {"model_error", "worse_held_out", "interrupted"} & {f.code for f in fitted.findings}
    assert fitted.friction == "stribeck"


def test_bad_numbers_are_refused():
    for options, said in (
        ({"seed": -1}, "seed is -1; expected 0"),
        ({"n_starts": 0}, "n_starts is 0; expected 1"),
    ):
        with pytest.raises(be.BackemfError, match=said):
            be.fit(SERVO, [record(0, duration=0.5)], **options)


def test_a_prediction_is_what_the_fit_says_of_its_logs(fitted):
    for seed, role in ((0, "training"), (2, "held out")):
        one = predict.run(fitted, record(seed, duration=1.5))
        assert one.role == role
        stored = {**fitted.training, **fitted.held_out}[f"log {seed}"]
        assert one.error == pytest.approx(stored, rel=1e-4)
        assert one.stored == stored
        assert not one.another
        assert one.position is one.states["position"]
        assert one.velocity is one.states["velocity"]
        assert predict.predict(fitted, record(seed, duration=1.5)) == pytest.approx(one.position)
        arm: Any = one.log.bench
        assert one.load == pytest.approx(
            -arm.moment() * np.sin(one.position - (arm.hanging or 0.0)), rel=1e-9
        )
    assert predict.role(fitted, "nobody") == "not in the fit"
    other = predict.run(fitted, replace(record(7, duration=1.5), name="log 0"))
    assert other.another  # a log of the same name that is another
    new = predict.run(fitted, record(8, duration=1.5))
    assert new.stored is None
    assert not new.another


def test_signals_of_a_prediction_are_those_of_the_drive(fitted):
    """The voltage is the firmware's: supply times its gain times the error, within its duty; by what had been
    asked the latency before that the fit found."""
    log = record(1, mass=0.5, gain=8.0, command=steps, duration=1.5)
    one = predict.run(fitted, log)
    (late,) = [n.value for n in fitted.bench if n.path == "drive.delay"]
    (supply,) = [n.value for n in fitted.bench if n.path == "drive.supply"]
    k = np.clip(np.searchsorted(log.time, log.time - late, side="right") - 1, 0, len(log) - 1)
    duty = np.clip(0.16 * 8.0 * (log["position_target"][k] - one.position), -0.97, 0.97)
    assert one.signals["voltage"] == pytest.approx(supply * duty)
    assert one.actuator.drive.proportional == 8.0  # type: ignore[attr-defined]  # a servo's drive


def test_numbers_of_the_bench_that_the_fit_found_are_those_of_the_log(fitted):
    log = record(0, duration=1.5)
    there = predict.as_found(fitted, log)
    (mass,) = [n for n in fitted.bench if n.path == "bench.mass" and "log 0" in n.logs]
    assert parameters(there.bench)["mass"] == mass.value
    tilted = replace(
        fitted,
        parameters={
            **fitted.parameters,
            "bench.tilt": replace(fitted.parameters["motor.resistance"], value=0.2),
        },
    )
    assert parameters(predict.as_found(tilted, log).bench)["tilt"] == 0.2
    bare = replace(log, bench=None)
    assert predict.as_found(tilted, bare).bench is None
