"""A stored fit remembers its logs and its ladder, older files still read,
and draws follow the errors it states."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.results.fit_result import FittedLog, LadderRung

from ..identify.recordings import clean


def test_logs_and_ladder_are_stored_and_read_back(fit, tmp_path):
    rung = LadderRung(
        friction="stribeck",
        n_parameters=9,
        training_mae=5e-4,
        held_out_mae=6e-4,
        standard_error=1e-4,
        chosen=True,
    )
    lost = LadderRung(
        friction="m6",
        n_parameters=None,
        training_mae=None,
        held_out_mae=None,
        standard_error=0.0,
        chosen=False,
        reason="not finite",
    )
    logs = tuple(FittedLog.of(log) for log in clean(0))
    told = replace(fit, logs=logs, rungs=(rung, lost), judged_on="one log")
    told.write(tmp_path / "fit.json")
    back = be.Fit.read(tmp_path / "fit.json")
    assert back == told
    assert back.logs == logs
    assert back.logs[1].bench == be.bench.Pendulum(mass=0.5, length=0.1, arm_mass=0.03)
    assert (back.logs[0].duration, back.logs[0].rate, back.logs[0].n_samples) == pytest.approx(
        (6.0, 200.0, 1201)
    )
    assert back.rungs == (rung, lost)


def test_a_fit_stored_before_logs_were_kept_still_reads(fit, tmp_path):
    fit.write(tmp_path / "new.json")
    content = json.loads((tmp_path / "new.json").read_text())
    for key in ("logs", "rungs", "judged_on"):
        del content[key]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = be.Fit.read(tmp_path / "old.json")
    assert (old.logs, old.rungs, old.judged_on) == ((), (), "")
    assert old.parameters == fit.parameters


def test_a_broken_log_entry_is_refused(fit, tmp_path):
    content = {"backemf": 2, **fit.to_dict(), "logs": [{"name": "x"}]}
    (tmp_path / "fit.json").write_text(json.dumps(content))
    with pytest.raises(be.BackemfError, match="logs 0: FittedLog needs source"):
        be.Fit.read(tmp_path / "fit.json")


def test_draws_have_the_errors_and_correlations_that_the_fit_states(fit):
    paths = [p for p in fit.parameters if not p.startswith("bench.")]
    drawn = np.array([[a.parameters[p] for p in paths] for a in fit.draws(2000)])
    for k, path in enumerate(paths):
        p = fit.parameters[path]
        if p.error < 0.1 * abs(p.value):  # where a logarithm is straight
            assert np.std(drawn[:, k]) == pytest.approx(p.error, rel=0.08), path
            assert np.mean(drawn[:, k]) == pytest.approx(p.value, abs=0.2 * p.error), path
    R, K = paths.index("motor.resistance"), paths.index("motor.torque_constant")
    names = list(fit.parameters)
    stated = fit.correlation[names.index("motor.resistance"), names.index("motor.torque_constant")]
    assert np.corrcoef(drawn[:, R], drawn[:, K])[0, 1] == pytest.approx(stated, abs=0.05)
    assert np.all(drawn[:, paths.index("friction.static")] >= drawn[:, paths.index("friction.coulomb")])
    assert fit.draws(3, seed=1) == fit.draws(3, seed=1)
