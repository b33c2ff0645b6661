"""The installed MuJoCo, step by step: every pair of effects, inputs, integrators, at three gears."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("mujoco")

import mujoco

from .cases import GEARS, Case, all_pairs, factors, pairwise
from .compile_cases import disagreement, table
from .lockstep import compare, free_run, groups

VERSION = mujoco.__version__
GROUPS = groups(pairwise(VERSION))


def test_there_are_enough_cases_and_every_pair_is_among_them():
    rows, values = all_pairs(factors(2)), factors(2)
    assert len(rows) * len(GEARS) >= 150
    for i, j in itertools.combinations(range(len(values)), 2):
        assert {(row[i], row[j]) for row in rows} == set(itertools.product(values[i], values[j]))


@pytest.mark.parametrize("cases", GROUPS, ids=lambda cases: cases[0].name.rsplit(" | ", 1)[0])
def test_one_step_and_a_free_run_are_the_engines(cases):
    for found in compare(cases):
        assert found.agrees, (
            f"{found.case.name}: one step {found.one_step:.1e}, free run {found.free_run:.1e}, amplification"
            f" {found.amplification:.1e}"
        )


def test_cases_run_side_by_side_as_they_do_alone():
    """A neutral number switches an effect off to the last bit."""
    some = [
        Case(effects=e, control="voltage", integrator="implicitfast", gear=5.0, era=2)
        for e in ((), ("thermal",), ("cogging", "saturation"))
    ]
    together = free_run(some)
    for k, case in enumerate(some):
        assert (free_run([case])[:, :, 0] == together[:, :, k]).all()


@pytest.mark.parametrize(("attributes", "default"), table(VERSION))
def test_attributes_compile_to_the_engines_numbers(attributes, default):
    assert disagreement(attributes, default, VERSION) is None
