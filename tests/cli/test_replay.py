"""The command replay: what it is told about a recording that says nothing itself, and its picture."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import exports
from backemf.apps.report.figures.runs import replay_figure
from backemf.errors import BackemfError
from backemf.targets.export import export
from backemf.targets.replay import replay

from .runner import runner

run = runner(exports.replay)
SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=10.0, torque_constant=0.0045),
    gearbox=be.gearbox.Gearbox(ratio=55.5),
    friction=be.friction.Viscous(viscous=0.0055),
    drive=be.drive.Position(volts_per_radian=14.0, voltage_limit=5.0),
)
WHEEL = be.bench.Flywheel(inertia=3.28e-6)
WORDS = "square from=0deg to=180deg period=2s at=0.513s"


@pytest.fixture
def files(tmp_path):
    """A servo, and its pictures: 30 a second, with nothing said but times and angles."""
    time = np.arange(70) / 30
    seen = be.simulate(SERVO, WHEEL, be.signal.read(WORDS), time=time)
    rows = [f"{t:.6f},{q:.6f}" for t, q in zip(time, seen.position, strict=True)]
    (tmp_path / "seen.csv").write_text("time [s],position [rad]\n" + "\n".join(rows) + "\n")
    SERVO.write(tmp_path / "servo.json")
    return tmp_path


def test_a_command_that_jumps_between_pictures_is_replayed_at_its_moment(files):
    told = ("--bench", "flywheel inertia=3.28e-6kg*m^2", "--command", WORDS)
    words = (files / "servo.json", files / "seen.csv", *told, "--json")
    (case,) = json.loads(run(*words, "--plot", files / "replay.png"))["replay"]["cases"]
    assert case["native_log"] < 1e-4  # a jump at the next picture, 20 ms late, would be 0.06 rad
    assert case["target_log"] < 0.022  # one step of 2 ms at 10.7 rad/s
    assert (files / "replay.png").stat().st_size > 10_000
    with pytest.raises(BackemfError, match=r"replay\.png"):  # never written over
        run(*words, "--plot", files / "replay.png")


def test_its_picture_has_target_recording_simulator_and_backemf():
    log = be.log("seen", np.arange(40) / 30, position=np.ones(40), command=be.signal.read(WORDS), bench=WHEEL)
    ran = replay(export(SERVO, "mujoco", replay=False), log, refine=False)
    figure = replay_figure(ran, "servo")
    (panel,) = figure.panels
    assert [line.label for line in panel.lines] == ["target", "recording", ran.simulator, "backemf"]
    target, recording, *_ = panel.lines
    assert len(recording.x) == 40  # and nothing at the moment of the jump, which the target has
    assert len(target.x) == 41
    assert np.max(target.y) == pytest.approx(180.0)
    assert "from the recordings" in figure.note
