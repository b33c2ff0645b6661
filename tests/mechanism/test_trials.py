"""A recording cut into its tests."""

from __future__ import annotations

import numpy as np

from backemf.kits.frc.trials import _before


def test_a_stretch_begins_with_a_few_samples_at_rest():
    t = 0.01 * np.arange(12)
    u = np.where(np.arange(12) < 6, 0.0, 2.0)
    assert _before(t, u, 6) == 3
    assert _before(t, u, 2) == 0, "no more than there are"
    assert _before(t, np.where(np.arange(12) == 4, 1.0, u), 6) == 5, "none of what was pushed before"
    gap = t + np.where(np.arange(12) >= 5, 1.0, 0.0)
    assert _before(gap, u, 6) == 5, "none from before a gap"
