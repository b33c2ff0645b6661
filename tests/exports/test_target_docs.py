"""One page for each target, its mapping table generated from the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from backemf.targets.export import TARGETS, mapping_table

PAGES = Path(__file__).resolve().parents[2] / "docs" / "targets"


@pytest.mark.parametrize("name", TARGETS)
def test_the_page_has_the_codes_own_table(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"<!-- begin mapping {name} -->\n{mapping_table(name)}\n<!-- end mapping -->" in text
