"""Numbers as a person would write them."""

from __future__ import annotations

import pytest

from backemf.tables import interval


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        (0.1234, 0.4567, "0.123 .. 0.457"),
        (0.1599, 0.1601, "0.1599 .. 0.1601"),  # not 0.16 .. 0.16
        (0.15990, 0.16011, "0.1599 .. 0.16011"),
        (-0.002, 9.7, "-0.002 .. 9.7"),
        (0.0, 0.00512, "0 .. 0.00512"),
        (2.0, 2.0, "2 .. 2"),
        (0.0, float("inf"), "0 .. inf"),
    ],
)
def test_the_ends_of_an_interval_can_be_told_apart(low, high, written):
    assert interval(low, high) == written
