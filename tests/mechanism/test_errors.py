"""How long residuals of a mechanism stay alike, by hand."""

from __future__ import annotations

import types

import numpy as np

from backemf.kits.frc.gain_fit import _crossing, _memory


def test_memory_is_twice_the_time_over_which_residuals_stay_alike():
    """Blocks of ten equal numbers: alike up to lag 9 or so; few samples have none."""
    blocks = np.repeat(np.random.default_rng(0).normal(size=400), 10)
    alike = _memory(blocks) / 2
    assert 7 <= alike <= 10
    assert _memory(blocks[:19]) == 1
    assert _memory(np.repeat([1.0, -1.0], 40)) == 10  # never more than an eighth of the samples


def test_a_grid_keeps_errors_alike_while_it_is_crossed():
    """At 0.1 rad/s and 10 ms a sample, a step of 0.01 rad takes ten samples; three of them count."""
    time = 0.01 * np.arange(400)
    made = types.SimpleNamespace(
        resolution=None, smooth=np.full(400, 0.1), velocity_time=time, velocity=np.zeros(400)
    )
    assert _crossing(made) == 1  # pyright: ignore[reportArgumentType]  # of a segment it reads just these
    made.resolution = 0.01
    assert _crossing(made) in (30, 31)  # pyright: ignore[reportArgumentType]
