"""One joint's bench is what the others make of it, between the samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be
from backemf.identify.fit import build_plant
from backemf.identify.fit_options import FitOptions
from backemf.identify.plants.recordings import demanding, recording_of
from backemf.identify.plants.robot_plant import RobotPlant
from backemf.identify.plants.robot_result import of_profile
from backemf.mujoco.robot.robot_motion import between

D = "drive.firmware_derivative_gain"


def test_what_holds_from_a_sample_to_the_next_is_the_mean_of_both():
    """A load that rises evenly is met half a step on; the last sample has no next one."""
    np.testing.assert_array_equal(between(np.array([1.0, 3.0, 4.0, 4.0])), [2.0, 3.5, 4.0, 4.0])


@pytest.mark.parametrize(
    ("motion", "since", "until", "share"),
    [
        ("prbs_excitation", 11.0, 19.5, 1.0),  # random steps
        ("chirp_sweep", 60.0, 100.0, 0.0),  # a sine of 0.15 rad: 23 rad/s^2 at 2 Hz
        ("chirp_sweep", 114.0, 120.0, 1.0),  # 62 rad/s^2 at 3.2 Hz
        ("slow_precision", 0.0, 20.0, 0.0),
    ],
)
def test_commands_beyond_a_profile_are_told_from_smooth_ones(motion, since, until, share, shared_data):
    """LeRobot's profile of an STS3215 is 39 rad/s^2."""
    robot = be.Robot.read(shared_data / "so101" / "so101.xml")
    log = be.read(shared_data / "so101" / f"{motion}.csv", bench=robot)[0].between(since, until)
    recording = recording_of(robot, log)
    assert np.mean(demanding(recording, "wrist_roll", 38.96)) == pytest.approx(share, abs=0.01)
    assert not demanding(recording, "wrist_roll", None).any()


def test_a_robots_fit_has_its_profiles_d_where_asked_and_leaves_out_what_asks_for_more(shared_data):
    """LeRobot writes D 32 and Acceleration 254, in 100 of 4096 steps a turn."""
    robot = be.Robot.read(shared_data / "so101" / "so101.xml")
    steps, smooth = (
        be.read(shared_data / "so101" / f"{motion}.csv", bench=robot)[0].between(11.0, 11.0 + seconds)
        for motion, seconds in (("prbs_excitation", 4.0), ("slow_precision", 6.0))
    )
    plant = build_plant("sts3215-12v", [steps, smooth], FitOptions(firmware="lerobot", also=(D,)))
    assert isinstance(plant, RobotPlant)
    assert plant.starts["elbow_flex"].parameters["drive.derivative"] == 32.0
    assert plant.most_demand == pytest.approx(25_400 * 2 * math.pi / 4096, rel=1e-3)
    problem = plant.problem()
    assert D in problem.free.paths
    count = {
        name: sum(len(log.samples) for log in problem.logs if log.recording == name)
        for name in problem.recordings
    }
    assert count[smooth.name] % len(smooth.time) == 0, "nothing is missing of a joint that moves"
    (said,) = of_profile(plant)
    assert said.code == "command_beyond_profile"
    left = round(said.numbers["share"] * 5 * (len(steps.time) + len(smooth.time)))
    assert count.get(steps.name, 0) == 5 * len(steps.time) - left < 0.5 * 5 * len(steps.time)
    alone = build_plant("sts3215-12v", [steps], FitOptions(firmware="lerobot"))
    assert D not in alone.problem().free.paths, "only where it was asked for"
    assert len(alone.problem().logs) == 5, "nothing else is there to fit"
