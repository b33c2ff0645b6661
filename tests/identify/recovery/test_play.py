"""Play of gears is found from an actuator without any, as large as it is, and none where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import backemf as be

SERVO = be.Actuator.read("sts3215-12v/so101")
ARM = be.bench.Pendulum(mass=0.3, length=0.12)
COMMANDS = (
    lambda t: 0.5 * np.sin(1.9 * t) + 0.2 * np.sign(np.sin(1.1 * t)),
    lambda t: 0.08 * 2 / np.pi * np.arcsin(np.sin(1.3 * t)),
    lambda t: 0.7 * np.sin(0.8 * t),
)


def recordings(gap: float, stiffness: float, damping: float) -> list[be.Log]:
    """Of a servo with this play, at 10 ms and to 0.5 mrad."""
    worn = SERVO
    if gap:
        teeth = {"contact_stiffness": stiffness, "contact_damping": damping}
        worn = replace(SERVO, gearbox=replace(SERVO.gearbox, backlash=gap, **teeth))
    logs = []
    for k, command in enumerate(COMMANDS):
        run = be.simulate(worn, ARM, {"position_target": command}, duration=8.0, dt=0.01, substeps=40)
        seen = run.position + 5e-4 * np.random.default_rng(k).standard_normal(len(run))
        asked = run["position_target"]
        logs.append(be.log(f"log {k}", run.time, bench=ARM, position=seen, position_target=asked))
    return logs


def fitted(logs: list[be.Log], start: be.Actuator = SERVO) -> be.Fit:
    also = ["gearbox.backlash"]
    return be.fit(start, logs, friction="m3", also=also, n_starts=1, inspect=False, bands=False)


@pytest.mark.parametrize(
    ("gap", "stiffness", "damping"), [(2e-3, 3000.0, 0.05), (5e-3, 800.0, 1.0), (0.02, 200.0, 0.5)]
)
def test_play_is_found_with_its_error(gap, stiffness, damping):
    fit = fitted(recordings(gap, stiffness, damping))
    found = fit.parameters["gearbox.backlash"]
    assert found.value == pytest.approx(gap, rel=0.2)
    assert found.told_by == "data"
    assert abs(found.value - gap) < 4 * found.error
    assert fit.actuator.gearbox.backlash == found.value
    assert "gearbox.contact_stiffness" in fit.parameters


def test_no_play_is_zero_with_an_upper_bound():
    """Also from a start that has some: its gears come out rigid, and draws of it can be made."""
    loose = replace(SERVO, gearbox=replace(SERVO.gearbox, backlash=0.01, contact_stiffness=1000.0))
    fit = fitted(recordings(0.0, 0.0, 0.0), loose)
    found = fit.parameters["gearbox.backlash"]
    assert (found.value, found.low) == (0.0, 0.0)
    assert 0.0 < found.high < 4e-3
    assert fit.actuator.gearbox.backlash is None
    assert [f.numbers["value"] for f in fit.findings if f.code == "no_play"] == [found.high]
    assert len(fit.draws(3)) == 3
