"""Compiled steps and Jacobians equal the reference for every friction, drive, bench and motor, in motion,
at rest and saturated."""

from __future__ import annotations

import numpy as np
import pytest

from ..model.variants import marked, variants
from .lockstep import assert_close, compiled_jacobian, compiled_step, reference_jacobian, rounding_of, walk

# These few touch every primitive and every kind of state; the others run too, marked slow.
FEW = {"drive-servo", "drive-error-derivative", "backlash-m4", "bench-recorded", "bench-locked"}
ALL = [pytest.param(*one.values, marks=() if one.values[0] in FEW else one.marks) for one in marked()]


@pytest.mark.parametrize("name", ALL)
def test_step_and_jacobian_in_lockstep(name):
    w = walk(*variants()[name])
    free, start = tuple(w.system.parameters), w.system.states
    expected, slopes = reference_jacobian(w, free, start, 1)
    if name in FEW:
        assert_close(compiled_step(w, 1), expected, 1e-12)
    found, found_slopes = compiled_jacobian(w, free, start, 1)
    assert_close(found, expected, 1e-12)
    assert_close(found_slopes, slopes, 1e-10, rounding_of(w, free, start))


def test_the_walk_visits_rest_motion_and_saturation():
    w = walk(*variants()["drive-servo"])
    after, _ = reference_jacobian(w, (), (), 1)
    at_rest = w.states[:, 1] == 0
    assert np.any(at_rest & (after[:, 1] == 0))  # it sticks
    assert np.any(at_rest & (after[:, 1] != 0))  # it breaks away
    assert np.any(~at_rest & (after[:, 1] == 0))  # it comes to rest
    asked = 0.158 * 16 * (w.inputs[:, 1] - w.states[:, 0])
    assert np.any(np.abs(asked) > 1)
    assert np.any(np.abs(asked) < 0.9)  # the duty is limited to 0.96
