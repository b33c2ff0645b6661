"""Whether a time step holds an actuator."""

from __future__ import annotations

import numpy as np
import pytest

import backemf as be
from backemf.mujoco.live import safe


def test_an_error_is_a_share_of_the_motion():
    servo = be.Actuator.read("mx-106/m1")
    positions = safe._let_go(servo, 0.02, 0.002, 1, 50, 1)
    assert safe.error_of(servo, 0.02, 0.002, 1, positions) == 0.0
    far = safe.error_of(servo, 0.02, 0.002, 1, positions + 10.0)
    assert far == pytest.approx(10.0 / np.ptp(positions))
