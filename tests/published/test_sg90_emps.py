"""The SG90 article's numbers, as published and at the true times;
and the EMPS axis by regression and by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import backemf as be
from backemf.readings.inverse import inverse_dynamics

from .sg90 import Article, servo


@pytest.fixture
def article(shared_data):
    return Article(shared_data)


@pytest.mark.parametrize(
    ("kp", "b", "published", "true"),
    [
        (15.0, 7.045839391367083e-07, 3.056988, 3.937934),
        (15.0, 1.409168e-6, 1.458971, 1.465125),
        (13.9163, 1.78498e-6, None, 0.611943),
    ],
)
def test_the_articles_errors(article, kp, b, published, true):
    if published is not None:
        assert article.error(kp, b, as_published=True) == pytest.approx(published, abs=1e-6)
    assert article.error(kp, b, as_published=False) == pytest.approx(true, abs=1e-6)


def test_the_articles_optimum_and_the_true_one(article):
    for as_published, kp, b, least in (
        (True, 8.895, 1.4039e-6, 1.43569),
        (False, 13.9163, 1.78498e-6, 0.611943),
    ):
        found = minimize(
            lambda x, s=as_published: article.error(x[0], 1e-6 * x[1], as_published=s),
            [15.0, 1.409168],
            method="nelder-mead",
            options={"fatol": 1e-7},
        )
        assert found.fun == pytest.approx(least, abs=1e-5)
        assert found.x == pytest.approx([kp, 1e6 * b], rel=2e-3)


def test_a_better_model_predicts_the_second_half(article):
    """Fitted on the first 107 samples; the article's two parameters score 0.48365 on the rest."""
    start = servo(15.0, 1.409168e-6)
    start = replace(
        start, friction=be.friction.Coulomb(coulomb=0.002, viscous=start.friction.viscous)
    ).replace(**{"motor.rotor_inertia": 1e-13})
    free = ["drive.volts_per_radian", "friction.viscous", "friction.coulomb"]
    found = be.fit(start, [article.log(107)], free_paths=free, n_starts=2)
    assert article.score(found.actuator, 107) < 0.48


def test_emps_by_inverse_dynamics_and_by_simulation(shared_data):
    from scipy.io import loadmat

    mat = {
        k: np.ravel(v)
        for k, v in loadmat(shared_data / "emps" / "DATA_EMPS.mat").items()
        if not k.startswith("__")
    }
    gain = float(mat["gtau"][0])
    log = be.log(
        "emps",
        mat["t"],
        position=mat["qm"],
        position_target=mat["qg"],
        torque=gain * mat["vir"],
        bench=be.bench.FreeShaft(),
        motion="linear",
    )
    found = inverse_dynamics(log)
    for name, value in {"inertia": 95.109, "viscous": 203.50, "coulomb": 20.394, "offset": -3.165}.items():
        assert found.others[name].value == pytest.approx(value, rel=0.01)
    assert found.others["force_error"].value == pytest.approx(0.04083, abs=3e-4)
    loop = gain * 243.45
    axis = be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=90.0),
        friction=be.friction.Coulomb(coulomb=18.0, viscous=180.0, offset=0.1),
        motion="linear",
        drive=be.drive.Impedance(
            newton_metres_per_radian=160.18 * loop, newton_metre_seconds_per_radian=loop
        ),
    )
    free = [
        "motor.rotor_inertia",
        "friction.viscous",
        "friction.coulomb",
        "friction.offset",
        "drive.newton_metres_per_radian",
    ]
    moved = replace(log, signals={k: v for k, v in log.signals.items() if k != "torque"})
    fit = be.fit(axis, [moved], free_paths=free, n_starts=1)
    run = be.simulate(
        fit.actuator,
        be.bench.FreeShaft(),
        log["position_target"],
        time=log.time,
        start={"position": mat["qm"][0]},
        substeps=2,
    )
    assert np.linalg.norm(run.position - mat["qm"]) / np.linalg.norm(mat["qm"]) < 3e-5
    assert fit.parameters["motor.rotor_inertia"].unit == "kg"
