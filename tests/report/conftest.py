"""One small simulated fit and its report, made once for every test of the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

import backemf as be
from backemf.apps.report.contents import report
from backemf.results.fit_result import FittedLog, LadderRung

from ..identify.recordings import SERVO, clean, record

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="session")
def logs() -> list[be.Log]:
    """Four sound logs; the last has a name that must be harmless, and says that it was simulated."""
    return [*clean(0), replace(record(3, off_after=2.0), name=HOSTILE, conversions=("motor 'simulated'",))]


@pytest.fixture(scope="session")
def fit(logs) -> be.Fit:
    fitted = be.fit(SERVO, logs, hold_out=["log 2"], prior={"motor.resistance": (3.8, 0.2)}, n_starts=1)
    rungs = (
        LadderRung(
            friction="coulomb",
            n_parameters=7,
            training_mae=2e-3,
            held_out_mae=4e-3,
            standard_error=5e-4,
            chosen=False,
            parameters={"friction.coulomb": 0.05, "motor.resistance": 4.4},
        ),
        LadderRung(
            friction="stribeck",
            n_parameters=9,
            training_mae=5e-4,
            held_out_mae=6e-4,
            standard_error=1e-4,
            chosen=True,
        ),
        LadderRung(
            friction="m6",
            n_parameters=None,
            training_mae=None,
            held_out_mae=None,
            standard_error=0.0,
            chosen=False,
            reason="<b>not finite</b>",
        ),
    )
    return replace(fitted, logs=tuple(FittedLog.of(log) for log in logs), rungs=rungs, judged_on="one log")


@pytest.fixture(scope="session")
def made(fit, logs):
    """The whole report, exports included."""
    return report(fit, logs, sheet=be.Datasheet.read("sts3032"), name="<b>fit</b>.json")
