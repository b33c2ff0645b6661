"""The page of each source document names everything in it: every section, equation, table and figure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .bench_documents import DYNAMIXEL, SG90
from .equation_documents import DC_MOTOR_NOTE, GEARBOX_SYSID, SERVO_TORQUE_MODEL

PAGES = Path(__file__).resolve().parents[2] / "docs" / "documents"
IN_ORDER = {
    "servo-torque-model.md": SERVO_TORQUE_MODEL,
    "gearbox-sysid.md": [x for head, inside in GEARBOX_SYSID.items() for x in (head, *inside)],
    "dynamixel.md": DYNAMIXEL,
    "sg90.md": SG90,
}
"""What a page must name, in the document's own order."""


WORDS = (
    (r"\\(?:mathrm|text|operatorname)\{([^{}]*)\}", r"\1"),
    (r"_\{(\w+)\}", r"_\1"),
    (r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1/\2"),
    (r"\\dot\{?(\\?\w+)\}?", r"\1'"),
    (r"\\ddot\{?(\\?\w+)\}?", r"\1''"),
    (r"\\(?:left|right)", ""),
    (r"\\cdot ", ""),
    (r"[\\{}$`()]", ""),
    (r" */ *", "/"),
)
"""What stands for an equation's marks in plain words, one after the other."""


def plain(text: str) -> str:
    """A page with its equations in plain words, without brackets: a quotient as `a / b`."""
    for mark, word in WORDS:
        before = ""
        while before != text:
            before, text = text, re.sub(mark, word, text)
    return text


def names(page: str, thing: str) -> bool:
    """Whether a heading or the first cell of a row names a thing."""
    wanted = rf"^(?:#+|\|) (?:[^|\n]*[ ,])?{re.escape(plain(thing))}(?![.\w])"
    return re.search(wanted, plain(page), re.MULTILINE) is not None


@pytest.mark.parametrize("thing", DC_MOTOR_NOTE)
def test_the_page_of_the_note_names_it(thing):
    """The note has numbers for its things, and the page has them in tables."""
    assert names((PAGES / "dcmotor-note.md").read_text(encoding="utf-8"), thing)


@pytest.mark.parametrize("page", IN_ORDER)
def test_a_page_names_everything_of_its_document_in_order(page):
    text = plain((PAGES / page).read_text(encoding="utf-8"))
    at = 0
    for thing in IN_ORDER[page]:
        found = text.find(plain(thing), at)
        assert found >= 0, f"{page} does not name {thing!r} after {text[max(at - 60, 0) : at]!r}"
        at = found + 1


def test_every_page_has_a_list():
    assert {page.name for page in PAGES.glob("*.md")} == {"dcmotor-note.md", *IN_ORDER}


@pytest.mark.parametrize(
    ("line", "thing", "found"),
    [
        ("## 1.3 Heat", "1.3", True),
        ("## 1.3.1 Heat", "1.3", False),
        ("| 1.3.1, Eq. 7 | a |", "Eq. 7", True),
        ("| Eq. 13 | a |", "Eq. 1", False),
        ("| a | Eq. 7 |", "Eq. 7", False),
        ("see Eq. 7", "Eq. 7", False),
    ],
)
def test_what_counts_as_named(line, thing, found):
    assert names(line, thing) is found
