"""Numbers as a person would write them."""

from __future__ import annotations

import pytest

from backemf.tables import interval, table


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


ROWS = [
    ("motor.resistance", 4.393, "4.1 .. 4.7", "told by what the maker printed on the box"),
    ("x", 1e-7, "-", "y"),
]
HEADER = ("parameter", "value of it", "95 % interval", "told by")


@pytest.mark.parametrize("width", [200, 80, 60, 52])
def test_a_table_fits_its_terminal_and_keeps_every_word(width):
    shown = table(ROWS, HEADER, width=width)
    assert max(map(len, shown.splitlines())) <= width
    texts = [cell for row in [HEADER, *ROWS] for cell in row if isinstance(cell, str)]
    assert {word for text in texts for word in text.split()} | {"4.393", "1e-7"} <= set(shown.split())


def test_columns_are_dropped_before_anything_is_folded():
    shown = table(ROWS, HEADER, width=50, drop=("told by",))
    assert shown.splitlines()[0].split() == ["parameter", "value", "of", "it", "95", "%", "interval"]
    assert len(shown.splitlines()) == 4
    assert "told by" in table(ROWS, HEADER, width=200, drop=("told by",))


def test_a_number_is_never_cut():
    shown = table([(123456.0, 0.001234, "a b")], ("one", "two", "three"), width=8)
    assert {"123456", "0.001234"} <= set(shown.split())
