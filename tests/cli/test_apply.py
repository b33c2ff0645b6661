"""`check --apply` and `fit --apply`: what was offered is mended, and said."""

from __future__ import annotations

import json

import pytest

from backemf.apps.cli.identify import check, fit
from backemf.errors import NotAvailable, UnknownName

from ..conftest import needed
from ..identify.recordings import SERVO, in_degrees, record, repeating
from .runner import runner


def written(log, folder):
    """A pendulum recording in a file, and the words that name it and what to start from."""
    rows = zip(log.time, log["position"], log["position_target"], strict=True)
    entries = [{"timestamp": t, "position": q, "goal_position": g} for t, q, g in rows]
    facts = {"mass": 0.3, "length": 0.1, "arm_mass": 0.03, "kp": 16, "vin": 7.4}
    (folder / "run.json").write_text(json.dumps({**facts, "entries": entries}))
    SERVO.write(folder / "servo.json")
    return (folder / "run.json", "--start", folder / "servo.json", "--json")


@pytest.fixture
def in_degrees_untold(tmp_path):
    """A recording whose format is in radians, written in degrees."""
    return written(in_degrees(record(1)), tmp_path)


def test_check_offers_and_applies(in_degrees_untold):
    told = json.loads(runner(check)(*in_degrees_untold))
    (offer,) = [f for f in told["findings"] if f["code"] == "degrees"]
    assert told["verdict"] == "mend first"
    assert offer["logs"] == ["run"]
    assert "--apply" in offer["remedy"]
    assert "mended" not in told
    mended = json.loads(runner(check)(*in_degrees_untold, "--apply"))
    assert "degrees" not in [f["code"] for f in mended["findings"]]
    (words,) = mended["mended"]
    assert words.startswith("run: read in another unit: position times 0.0174533")


def test_fit_says_what_is_wrong_or_mends_it(in_degrees_untold):
    words = (*in_degrees_untold, "--starts", 1)
    told = json.loads(runner(fit)(*words, "--apply"))
    assert told["training_mae"] < 1e-3  # the noise's is 0.5 mrad
    assert len(told["mended"]) == 1
    assert "degrees" not in [f["code"] for f in told["findings"]]


def test_a_fault_is_said_once(tmp_path):
    told = json.loads(runner(fit)(*written(repeating(record(1)), tmp_path), "--starts", 1))
    assert [f["code"] for f in told["findings"]].count("repeats") == 1


def test_a_gpu_that_is_not_there_is_said_before_the_fit(tmp_path):
    warp = needed("warp")
    words = written(record(1), tmp_path)
    with pytest.raises(UnknownName, match="place to run on 'tpu'"):
        runner(fit)(*words, "--on", "tpu")
    if not warp.is_cuda_available():
        with pytest.raises(NotAvailable, match="no NVIDIA GPU here"):
            runner(fit)(*words, "--on", "gpu")
