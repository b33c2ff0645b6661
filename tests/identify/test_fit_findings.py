"""What is said of a fit: of its numbers, of pairs of them, of its errors, and of the search."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backemf.identify.fit_numbers import of_errors, of_pairs, of_parameters, of_search
from backemf.identify.parameters import FreeParameters, Parameter
from backemf.results.fit_result import FittedParameter


def codes(findings) -> list[str]:
    """What is said, in order; a text is a sentence, a remedy an advice."""
    findings = list(findings)
    assert all(f.text.endswith(".") and not f.remedy.endswith(".") for f in findings)
    return [f.code for f in findings]


def said(
    value: float = 1.0,
    x: float = 0.0,
    *,
    prior: tuple[float, float] | None = None,
    told_by: str = "data",
    wrong: Any = (),
    **number: Any,
) -> list:
    """Of one number between 0.5 and 2, or -1 and 3 where it has a sign, known to 0.3."""
    low, high = (-1.0, 3.0) if number.get("signed") else (0.5, 2.0)
    q = Parameter(path="a", start=1.0, unit="1", low=low, high=high, prior=(0.0, 2.0), **number)
    one = FittedParameter(
        path="a", value=value, error=0.3, low=0.1, high=9.0, unit="1", start=1.0, prior=prior, told_by=told_by
    )
    p: Any = SimpleNamespace(free=FreeParameters((q,)))
    return list(of_parameters(p, np.array([x]), {"a": one}, wrong))


@pytest.mark.parametrize(
    ("x", "signed", "there"),
    [
        (np.log(2.0), None, True),
        (np.log(2.0) - 1e-9, None, True),
        (0.6, None, False),
        (np.log(0.5), None, False),  # next to nothing is a place like any other
        (3.0, 1.0, True),
        (-1.0, 1.0, True),
        (-1.0 + 1e-9, 1.0, True),
        (-0.9, 1.0, False),
        (2.9, 1.0, False),
    ],
)
def test_a_number_at_its_bound(x, signed, there):
    findings = said(x=x, signed=signed)
    assert codes(findings) == (["at_bound"] if there else [])
    assert all(f.numbers == {"value": 1.0} for f in findings)


@pytest.mark.parametrize(
    ("off", "there"),
    # both errors, 0.3 of the fit and 0.4 of the sheet, are 0.5 together: 1.5 is three of them
    [(1.51, True), (1.49, False), (-1.51, True), (-1.49, False)],
)
def test_a_sheet_disagrees_beyond_three_of_both_errors(off, there):
    findings = said(1.0, prior=(1.0 - off, 0.4))
    assert codes(findings) == (["sheet_disagrees"] if there else [])
    assert all(f.numbers == {"fitted": 1.0, "sheet": 1.0 - off} for f in findings)


@pytest.mark.parametrize(
    ("told_by", "off", "wrong", "expected"),
    [
        ("prior", 0.1, [], ["not_identifiable"]),
        ("prior", None, [], ["not_identifiable"]),  # by nothing but the start
        ("prior", 9.0, [], ["sheet_disagrees"]),
        ("prior", 9.0, ["a cause"], []),  # what is wrong was named already
        ("prior", 0.1, ["a cause"], ["not_identifiable"]),
        ("both", 0.1, [], []),
        ("data", None, [], []),
        ("data", 9.0, [], ["sheet_disagrees"]),
        ("data", 9.0, ["a cause"], []),
    ],
)
def test_what_the_logs_hardly_tell(told_by, off, wrong, expected):
    prior = None if off is None else (1.0 - off, 0.4)
    findings = said(1.0, prior=prior, told_by=told_by, wrong=wrong)
    assert codes(findings) == expected
    for f in findings:
        assert ("stated" in f.text) == (f.code == "not_identifiable" and prior is not None)


def test_numbers_beside_the_actuator_are_not_spoken_of():
    assert said(x=np.log(2.0), beside=True) == []


def test_pairs_that_move_together_the_first_five():
    C = np.eye(4)
    C[1, 0] = C[0, 1] = -0.99
    C[3, 2] = C[2, 3] = 0.975  # 0.98 and less is apart
    (pair,) = of_pairs("abcd", C)
    assert pair.code == "correlated"
    assert pair.numbers == {"correlation": -0.99}
    assert pair.text.startswith("a and b move together")
    assert len(list(of_pairs("abcd", np.ones((4, 4))))) == 5  # of six
    assert len(list(of_pairs("ab", np.ones((2, 2))))) == 1  # none with itself


@pytest.mark.parametrize(
    ("held", "noise", "expected"),
    [
        ({}, 1.0, []),
        ({"c": 2.9}, 1.0, []),
        ({"c": 3.1}, 1.0, ["worse_held_out"]),
        ({"c": 4.1, "d": 2.1}, 1.0, ["worse_held_out"]),
        ({}, 2.9, []),
        ({}, 3.1, ["model_error"]),
        ({"c": 3.1}, 3.1, ["worse_held_out", "model_error"]),
    ],
)
def test_errors_that_are_too_large(held, noise, expected):
    """Half as much again on logs held out; three times the noise."""
    findings = list(of_errors({"a": 1.0, "b": 3.0}, held, noise))
    assert codes(findings) == expected
    for f in findings:
        ratio = noise if f.code == "model_error" else np.mean(list(held.values())) / 2.0
        assert f.numbers["ratio"] == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("guessed", "interrupted", "expected"),
    [
        (False, False, []),
        (True, False, ["firmware_gain_fitted"]),
        (False, True, ["interrupted"]),
        (True, True, ["firmware_gain_fitted", "interrupted"]),
    ],
)
def test_what_is_said_of_the_search(guessed, interrupted, expected):
    assert codes(of_search(guessed, interrupted)) == expected
