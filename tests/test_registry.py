"""Registries: rows by name, and the table of findings' codes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import backemf as be
from backemf.datasheets.datasheet import ENTRIES
from backemf.errors import UnknownName
from backemf.finding_codes import FINDINGS
from backemf.findings import finding
from backemf.registry import Registry

SOURCE = Path(be.__file__).parent


def texts() -> set[str]:
    """Every text in the source but the table itself, and what stands between the braces of an f-string."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if path.name == "finding_codes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def given_codes() -> set[str]:
    """Codes that are spelled out where a finding is made."""
    codes = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            given = [k.value for k in node.keywords if name == "Finding" and k.arg == "code"]
            given += node.args[:1] if name in ("finding", "_note") else []
            given += node.args[1:2] if name == "failure" else []
            codes |= {one.value for one in given if isinstance(one, ast.Constant)}
    return codes


COMPOSED = {
    **dict.fromkeys((f"{entry}_twice" for entry in ENTRIES), "_twice"),
    **dict.fromkeys((f"{key}_missing" for key in ("kp", "vin")), "_missing"),
    **dict.fromkeys((f"{name}_not_known" for name in ("stiffness", "armature")), "_not_known"),
    **dict.fromkeys(
        (f"{name}_off" for name in ("stiffness", "damping", "torque_limit", "armature", "friction")), "_off"
    ),
}
"""Codes that are put together where they are used, and what of them is spelled out there."""


def test_every_code_that_is_given_is_a_row():
    given = given_codes()
    assert len(given) > 140
    assert given <= set(FINDINGS)


def test_no_row_is_unused():
    used = texts()
    unused = [code for code in FINDINGS.own_names if COMPOSED.get(code, code) not in used]
    assert not unused
    assert set(COMPOSED) <= set(FINDINGS)


def test_a_code_that_nobody_knows_is_refused():
    with pytest.raises(UnknownName, match=r"unknown finding 'clock_drifts'; did you mean 'clock_drift'"):
        finding("clock_drifts", "it drifts.", "mend it")
    with pytest.raises(UnknownName, match="unknown finding"):
        be.Finding(code="odd", text="it is odd.", remedy="look")


def test_every_meaning_is_a_clause_of_its_own():
    meanings = [row.meaning for row in FINDINGS.values()]
    assert len(set(meanings)) == len(meanings) > 150
    assert not [text for text in meanings if not text or text.endswith(".")]


def test_every_code_says_what_to_do_and_since_when():
    rows = [FINDINGS[code] for code in FINDINGS.own_names]
    assert not [row for row in rows if not row.remedy or row.remedy.endswith(".")]
    assert {row.since for row in rows} == {"0.1", "0.2", "0.3"}


def test_rows_are_loaded_when_they_are_asked_for():
    rows = Registry("thing", {"pi": "math:pi", "lost": "backemf.no_such_module:x"}, aliases={"circle": "pi"})
    assert list(rows) == ["pi", "lost"]
    assert rows["circle"] == pytest.approx(3.14159, rel=1e-5)
    assert rows.name_of(rows["pi"]) == "pi"
    with pytest.raises(UnknownName, match=r"unknown thing 'pie'.*circle, lost, pi"):
        rows["pie"]
    with pytest.raises(ModuleNotFoundError):
        rows["lost"]


def test_the_front_door_is_the_same_for_type_checkers():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    seen = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    home = {name: (room, name) for name, room in be._HOME.items()}
    spaces = {
        name: (module.rpartition(".")[0], module.rpartition(".")[2]) for name, module in be._SPACES.items()
    }
    assert seen == {**home, **spaces}
