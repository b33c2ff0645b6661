"""One page for each target, its mapping table generated from the code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from backemf.targets.export import TARGETS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "targets"


@pytest.mark.parametrize("name", TARGETS)
def test_the_page_has_the_codes_own_table_and_says_units_and_side(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "scripts")])
    from docs_tables import filled, mapping

    page = PAGES / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    assert filled(page, f"mapping {name}", mapping(name)) == text
    assert any(unit in text for unit in ("N m/rad", "SI")), "the page does not state units"
    assert any(side in text for side in ("at the joint", "at the output", "rotor")), "nor which side"
