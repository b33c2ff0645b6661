"""Zero is a point like any other: numbers that may vanish are found from a sheet that says nothing of them,
and told to be small where they are."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.identify.frictions import with_friction
from backemf.identify.parameters import free, give_sizes
from backemf.physics import steady

SHEETS = ("sts3215-7.4v", "mx-28", "xl430-w250", "mg996r")
NOISE = 5e-4


def truth_of(name: str, friction: str, viscous: float) -> be.Actuator:
    """What the sheet describes, with some inertia, that friction, and so much of the back-EMF's damping."""
    made = with_friction(be.Datasheet.read(name).actuator(), friction)
    at = steady.line(made, made.drive.supply)
    N = made.gearbox.ratio
    return made.replace(
        **{
            "motor.rotor_inertia": 0.02 * at.stall_torque / at.ideal_speed / N**2,
            "friction.viscous": viscous * at.damping,
        }
    )


def recordings(truth: be.Actuator, seed: int = 0) -> list[be.Log]:
    """Four motions on two loads, a second of rest among them."""
    rng, logs = np.random.default_rng(seed), []
    weight = 0.25 * steady.line(truth, truth.drive.supply).stall_torque / 9.81
    t = 0.005 * np.arange(800)
    shapes = (
        0.8 * np.sin(2 * np.pi * 0.5 * t),
        0.5 * np.sin(2 * np.pi * (0.2 + 0.5 * t) * t),
        np.select([t < 1, t < 2, t < 3], [0.0, 1.0, -0.6], 0.3),
        0.9 * np.clip(t - 0.5, 0, 2) / 2,
    )
    for k, wanted in enumerate(shapes):
        bench = be.bench.Pendulum(mass=weight / 0.12 * (1 + k % 2), length=0.06)
        run = be.simulate(truth, bench, {"position_target": wanted}, time=t)
        seen = run.position + NOISE * rng.standard_normal(len(t))
        logs.append(be.log(f"log {k}", t, position=seen, position_target=wanted, bench=bench))
    return logs


@pytest.mark.slow
@pytest.mark.parametrize(
    "friction",
    [
        pytest.param("coulomb", marks=pytest.mark.proof),
        pytest.param("stribeck", marks=pytest.mark.proof),
        "m4",
    ],
)
@pytest.mark.parametrize("name", SHEETS)
def test_viscous_friction_is_found_from_a_sheet_that_prints_none(name, friction):
    """The first line of the README: a sheet, recordings, a fit."""
    sheet = be.Datasheet.read(name)
    truth = truth_of(name, friction, 0.15)
    start = with_friction(sheet.actuator(), friction).replace(**{"friction.viscous": 0.0})
    fit = be.fit(start, recordings(truth), prior=sheet)
    found = fit.parameters["friction.viscous"]
    true = truth.parameters["friction.viscous"]
    assert fit.training_mae < 1.2 * 0.8 * NOISE  # of normal noise the mean absolute value is 0.8 sigma
    # R, K and B are told apart by the sheet's prior alone: what is found is what the data tell, their sum
    at, seen = steady.line(truth), steady.line(fit.actuator)
    assert seen.damping + seen.viscous == pytest.approx(at.damping + at.viscous, rel=0.05)
    assert abs(found.value - true) < 3.5 * found.error  # one of these twelve may well be beyond two


def test_a_parameter_that_is_0_can_be_moved_and_reached():
    servo = be.Actuator.read("mx-106/m1").replace(**{"friction.viscous": 0.0})
    begun = give_sizes(servo, ["friction.viscous"])
    assert begun.parameters["friction.viscous"] > 0
    numbers = free(begun, ["friction.viscous", "motor.resistance"])
    (viscous, _), fixed = numbers.parameters, {}
    low, high = numbers.bounds()
    assert numbers.to_values(low, fixed)["friction.viscous"] == 0.0
    assert numbers.to_values(high, fixed)["friction.viscous"] > 1e3 * viscous.start
    at_zero = numbers.slopes(low)[0, 0]
    assert at_zero == pytest.approx(viscous.knee)  # the data can move it away from 0
    x = numbers.to_x({"friction.viscous": 0.3, "motor.resistance": 2.0}, fixed)
    assert numbers.to_values(x, fixed) == pytest.approx({"friction.viscous": 0.3, "motor.resistance": 2.0})


def test_what_is_not_there_is_told_to_be_small():
    """Without viscous friction the interval reaches 0, and the others are not pushed away."""
    truth = truth_of("mx-28", "coulomb", 0.0)
    fit = be.fit(truth, recordings(truth, 3), n_starts=1)
    found = fit.parameters["friction.viscous"]
    at = steady.line(truth, truth.drive.supply)
    assert found.low == 0.0
    assert found.high < 0.3 * at.damping
