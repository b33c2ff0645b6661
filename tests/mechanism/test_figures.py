"""What is drawn of a mechanism's tests, beside what was measured and what its gains say, number by number."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from backemf.kits.frc.characterization import PredictedSegment
from backemf.kits.frc.figures import drawn_tests, test_runs as figure_of
from backemf.kits.frc.trials import make_run, segment

from .test_characterize import TESTS, WEAK, record
from .test_physics import measured

SIZE = math.pi / 180
GAINS = {"kS": 0.2, "kV": 0.03, "kA": 0.006}


def shown(test, part="", later=7.0, n=100):
    """A test that is predicted a tenth too slow."""
    t, u, p, v = record(test, WEAK, dt=0.02, T=0.02 * n, slow=1.0)
    s = segment(make_run(test, t + later, u, p, v, part=part))
    return PredictedSegment(segment=s, velocity=0.9 * s.velocity, position=s.position + 0.1)


@pytest.mark.parametrize("gravity", [{}, {"kG": 0.3}, {"kG": 0.3, "offset": 0.4}])
@pytest.mark.parametrize("n", [100, 700])
def test_tests_are_drawn_as_they_were_measured(gravity, n):
    both = [shown(test, n=n) for test in TESTS] + [shown(TESTS[0], "angular")]
    gains = GAINS | gravity | {f"{name}_angular": 2 * x for name, x in GAINS.items()}
    known = replace(measured(units="degrees", **gains), shown=tuple(both))
    rows, panels = drawn_tests(known), figure_of(known).panels
    slow = next(panel for panel in panels if panel.title.startswith("slow tests")).lines
    assert [(row["name"], row["slow"]) for row in rows[3:]] == [
        ("dynamic, reverse", False), ("quasistatic, forward, angular", True)]  # fmt: skip
    for k, (row, one) in enumerate(zip(rows, both, strict=True)):
        s, size = one.segment, 1.0 if one.segment.run.part else SIZE
        t = s.velocity_time
        v, guess, slope = s.velocity / size, one.velocity / size, np.gradient(one.velocity, t) / size
        held = np.array([s.input[s.time <= x][-1] for x in t])
        wanted = {
            "input": (t, held, None), "velocity": (t, v, guess), "residual": (t, v - guess, None),
            "position": (s.position_time, s.position / size, one.position / size),
            "acceleration": (t, np.gradient(s.smooth, t) / size, slope),
        }  # fmt: skip
        for name, (at, *columns) in wanted.items():
            told = row["signals"][name]
            every = max(1, len(at) // 300)
            for word, column in zip(
                ("time", "measured", "predicted"), (at - s.run.time[0], *columns), strict=True
            ):
                if column is not None:
                    np.testing.assert_allclose(told[word], column[::every], rtol=1e-5, atol=1e-9)
            assert ("predicted" in told) == (columns[1] is not None)
        names = [f"{name}_angular" if one.segment.run.part else name for name in ("kS", "kV", "kA")]
        weight = 0.0 if one.segment.run.part else gravity.get("kG", 0.0)
        if weight and "offset" in gravity:
            weight = weight * np.cos(np.interp(t, s.position_time, s.position) + 0.4)
        taken = held - gains[names[2]] * slope - weight
        assert ("line" in row) == s.run.slow
        if s.run.slow:
            np.testing.assert_allclose(
                row["line"]["effort"], taken[:: max(1, len(t) // 300)], rtol=1e-5, atol=1e-6
            )
        if k < 2:
            np.testing.assert_allclose(slow[k].x, v)
            np.testing.assert_allclose(slow[k].y, taken, atol=1e-12)
        compared, left = panels[2 * k : 2 * k + 2]
        for line, column in ((compared.lines[0], v), (compared.lines[1], guess), (left.lines[0], v - guess)):
            np.testing.assert_allclose(line.x, t - s.run.time[0])
            np.testing.assert_allclose(line.y, column)
        alike = [
            np.max(np.abs(x.segment.velocity - x.velocity)) for x in both if x.segment.run.part == s.run.part
        ]
        assert left.y_range == pytest.approx((-1.05 * max(alike) / size, 1.05 * max(alike) / size))
        assert f"rms {np.sqrt(np.mean((v - guess) ** 2)):.3g} " in left.title
    line = slow[2]
    assert (min(line.x), max(line.x)) == (min(slow[1].x), max(slow[0].x))
    np.testing.assert_allclose(line.y, 0.2 * np.sign(line.x) + 0.03 * np.asarray(line.x))
    assert len(panels) == 2 * 5 + 2  # and the inputs; no loops
    assert [len(panel.lines) for panel in panels[10:]] == [4, 3]
    unknown = drawn_tests(replace(known, gains={**known.gains, "kA": replace(known.gains["kA"], value=None)}))
    assert ["line" in row for row in unknown] == [False] * 4 + [True]
