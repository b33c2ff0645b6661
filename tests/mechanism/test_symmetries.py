"""Relations between two characterisations that hold whatever the numbers are: a mirrored mechanism has the
same gains, in other units they are scaled, later and in another order they are the same."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from backemf.kits.frc.characterize import characterize
from backemf.kits.frc.trials import make_run

from .test_characterize import TESTS, WEAK, gravity_of, record, recorded

KINDS = {
    "simple": {"noise": (0.02, 0.002)},
    "elevator": {"noise": (0.0, 0.0), "quantum": 0.003, "differ": True},
    "arm": {"noise": (0.02, 0.002), "delay": 0.03},
}
"""What is recorded of each: two noisy signals, a coarse position alone, and two that are late."""


def made(mechanism, seed=0):
    how = {"dt": 0.02, "T": 2.0, "slow": 1.5, "rng": np.random.default_rng(seed), **KINDS[mechanism]}
    return recorded(WEAK, gravity_of(mechanism, 0.3, 0.4), **how)


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    runs = made(request.param)
    return request.param, runs, characterize(runs, request.param)


def told(measured):
    """All numbers of a result by name, and the codes of its findings."""
    ends = ("value", "low", "high")
    gains = {(name, end): getattr(g, end) for name, g in measured.gains.items() for end in ends}
    whole = ("r2", "velocity_error", "timescale", "delay", "position_delay")
    return {**gains, **{(name, ""): getattr(measured, name) for name in whole}}, [
        f.code for f in measured.findings
    ]


def same(measured, other, *, gain=1.0, length=1.0):
    """Whether two results say the same of a mechanism whose input is `gain`, and whose way `length` times."""
    (one, codes), (two, others) = told(measured), told(other)
    assert codes == others
    sizes = {"kS": gain, "kG": gain, "kV": gain / length, "kA": gain / length, "velocity_error": length}
    for (name, end), x in one.items():
        size = sizes.get(name, 1.0)
        assert two[name, end] == pytest.approx(x * size, rel=1e-4, abs=2e-6 * size), (name, end)


def test_mirrored_later_in_another_order_and_in_other_units_it_is_the_same(case):
    mechanism, runs, measured = case
    gain, length = 0.7, 1.0 if mechanism == "arm" else 25.0
    other = {"forward": "reverse", "reverse": "forward"}
    moved = []
    for r in (runs[2], runs[0], runs[3], runs[1]):
        kind, _, way = r.test.partition("-")
        test = f"{kind}-{other[way]}"
        times = {name: getattr(r, name) + 40.0 for name in ("time", "velocity_time", "position_time")}
        values = {"velocity": -length * r.velocity, "position": -length * r.position}
        moved.append(replace(r, test=test, name=test, input=-gain * r.input, **times, **values))
    mirrored = characterize(moved, mechanism)
    gains, turned = dict(mirrored.gains), {"elevator": ("kG", 0.0), "arm": ("offset", math.pi)}.get(mechanism)
    if turned:  # a weight pulls up, and the angle of an arm counts from the other side
        name, whole = turned
        g = gains[name]
        gains[name] = replace(g, value=whole - g.value, low=whole - g.high, high=whole - g.low)
    same(measured, replace(mirrored, gains=gains), gain=gain, length=length)


def test_gains_are_told_in_the_unit_that_is_asked_for():
    size, runs = 2 * math.pi, made("simple")
    plain, asked = (characterize(runs, **how) for how in ({}, {"units": "rotations"}))
    same(plain, asked, length=1 / size)
    for method in ("sysid", "one-step"):
        how = ({"threshold": 0.6}, {"threshold": 0.6 / size, "units": "rotations"})
        plain, asked = (characterize(runs, method=method, **one) for one in how)
        assert asked["kS"] == pytest.approx(plain["kS"])
        assert (asked["kV"], asked["kA"]) == pytest.approx((size * plain["kV"], size * plain["kA"]))
        assert plain["kS"] != characterize(runs, method=method)["kS"]


def test_what_is_told_of_the_fit_is_what_noise_leaves(case):
    """A hundredth of noise in velocity: the error that is told, and the share of R^2."""
    mechanism, _, measured = case
    v = np.concatenate([s.segment.velocity for s in measured.shown])
    left = np.concatenate([s.segment.velocity - s.velocity for s in measured.shown])
    assert measured.velocity_error == pytest.approx(math.sqrt(np.mean(left**2)))
    if mechanism == "simple":
        assert measured.velocity_error == pytest.approx(0.02, rel=0.12)
        assert 1 - measured.r2 == pytest.approx(0.02**2 / np.var(v), rel=0.3)
    assert measured.timescale == pytest.approx(WEAK[2] / WEAK[1], rel=0.05)
    assert measured.delay == pytest.approx(KINDS[mechanism].get("delay", 0.0), abs=5e-3)


def test_a_velocity_that_is_a_mean_is_known_as_one():
    """Over 0.1 s, as some controllers report it: the window is found and the gains are the true ones."""
    runs = []
    for test in TESTS:
        t, u, p, _ = record(test, WEAK, dt=0.02, T=2.0, slow=1.5)
        v = (p - np.concatenate([np.zeros(5), p[:-5]])) / 0.1
        noise = np.random.default_rng(0).standard_normal((2, len(t)))
        runs.append(make_run(test, t, u, p + 1e-4 * noise[0], v + 1e-3 * noise[1]))
    measured = characterize(runs)
    assert measured.window == pytest.approx(0.1, abs=0.01)
    assert measured.delay == pytest.approx(0.05, abs=0.006)
    assert measured.position_delay == pytest.approx(0.0, abs=0.005)
    for name, value in zip(("kS", "kV", "kA"), WEAK, strict=True):
        assert measured.gains[name].low < value < measured.gains[name].high
        assert measured[name] == pytest.approx(value, rel=0.05)
