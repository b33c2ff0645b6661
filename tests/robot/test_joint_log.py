"""One joint's bench is what the others make of it, between the samples."""

from __future__ import annotations

import numpy as np

from backemf.mujoco.robot.robot_motion import between


def test_what_holds_from_a_sample_to_the_next_is_the_mean_of_both():
    """A load that rises evenly is met half a step on; the last sample has no next one."""
    np.testing.assert_array_equal(between(np.array([1.0, 3.0, 4.0, 4.0])), [2.0, 3.5, 4.0, 4.0])
