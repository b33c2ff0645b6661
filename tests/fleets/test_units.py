"""Which logs belong to which unit."""

from __future__ import annotations

import importlib

import pytest

from backemf.errors import InvalidValue, MissingValue
from backemf.kits.fleets.request import Unit, units


@pytest.fixture
def line(tmp_path):
    for path in ("a/one.json", "a/two.json", "b/day1/one.csv", "b/day2/one.csv", "b/notes.md"):
        (tmp_path / "line" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "line" / path).write_text("{}")
    return tmp_path / "line"


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("folder", ["a", "b/day1", "b/day2"]),
        ("file", ["a/one", "a/two", "b/day1/one", "b/day2/one"]),
        ("{unit}/{session}/*.csv", ["b@day1", "b@day2"]),
        ("line/{unit}/*.json", ["a"]),
        ("{unit}.json", ["one", "two"]),
    ],
)
def test_what_makes_a_unit(line, by, keys):
    found = units([str(line)], by)
    assert [unit.key for unit in found] == keys
    assert all(log.startswith(line.as_posix()) for unit in found for log in unit.logs)


def test_a_pattern_of_files_and_a_folder_of_one_unit(line):
    assert units([f"{line}/*/*.json"], "folder") == [
        Unit("a", (f"{line.as_posix()}/a/one.json", f"{line.as_posix()}/a/two.json"))
    ]
    assert [unit.name for unit in units([str(line / "a")], "folder")] == ["a"]


@pytest.mark.parametrize(
    ("by", "error", "text"),
    [
        ("colour", InvalidValue, "--by is 'colour'; expected folder, file, joint, column=NAME"),
        ("{unit}{unit}", InvalidValue, "expected {unit} once"),
        ("{unit}.nothing", MissingValue, "names a unit in none of the logs"),
    ],
)
def test_what_makes_no_unit(line, by, error, text):
    with pytest.raises(error, match=text.replace("{", r"\{").replace("}", r"\}")):
        units([str(line)], by)


def test_a_column_of_a_table(tmp_path):
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    table = arrow.table({"serial": [7, 7, 9, 8], "time": [0.0, 1.0, 0.0, 0.0]})
    parquet.write_table(table, tmp_path / "all.parquet")
    where = str(tmp_path / "all.parquet")
    assert units([where], "column=serial") == [Unit(n, (where,), column="serial") for n in "789"]
    with pytest.raises(InvalidValue, match="there is no column 'name'; the tables have serial, time"):
        units([where], "column=name")
    with pytest.raises(InvalidValue, match="cannot be read as tables"):
        units([str(tmp_path / "none.parquet")], "column=serial")


def test_urls():
    fsspec = importlib.import_module("fsspec")
    files = fsspec.filesystem("memory")
    for path in ("/urls/a/1.json", "/urls/a/2.json", "/urls/b/1.json", "/urls/b/readme.md"):
        files.pipe_file(path, b"{}")
    try:
        found = units(["memory://urls"], "folder")
        assert [unit.name for unit in found] == ["a", "b"]
        assert len(found[0].logs) == 2
        assert found[0].logs[0].startswith("memory://")
        assert [unit.name for unit in units(["memory://urls/*/1.json"], "folder")] == ["a", "b"]
    finally:
        files.rm("/urls", recursive=True)
    with pytest.raises(InvalidValue, match="expected a URL such as s3://bucket/line"):
        units(["nonsense://x"], "folder")
