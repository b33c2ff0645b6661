"""File names that strangers chose."""

from __future__ import annotations

import re

import pytest

from backemf.apps.web import uploads
from backemf.errors import InvalidValue
from backemf.kits.frc.wpilog import CONVERTERS
from backemf.logs.readers import READERS

ODD = [
    "../../../etc/passwd.csv",
    "..\\..\\windows\\win.csv",
    "/etc/cron.d/x.csv",
    "C:\\x.csv",
    "a/b/c.csv",
    ".hidden.csv",
    "...csv",
    ".csv",
    "-rf.csv",
    "--force.csv",
    "con.csv",
    "NUL.csv",
    "a\x00b.csv",
    "new\nline.csv",
    "\u202egnp.csv",
    "größe und so.csv",
    "*.csv",
    "~root.csv",
    "a" * 500 + ".csv",
    "a.exe.csv",
    "$(id).csv",
    "x.csv ",
    "\u0000.csv",
]


@pytest.mark.parametrize("given", [name for name in ODD if name.strip().endswith(".csv")])
def test_what_is_left_of_a_name_is_no_path(given):
    kept = uploads.stored_name(given.strip())
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,84}\.csv", kept), kept
    assert ".." not in kept.split("/")
    assert not uploads.RESERVED.match(kept)


def test_a_plain_name_stays_as_it_is():
    assert uploads.stored_name("run_1-fast.v2.CSV") == "run_1-fast.v2.csv"
    assert uploads.stored_name("run.csv", ["RUN.csv", "run-2.csv"]) == "run-3.csv"


def test_what_readers_read_may_be_uploaded():
    for ending in {ending for reader in READERS.values() for ending in reader.SUFFIXES}:
        if ending not in CONVERTERS and ending not in (".dat", ".log", ".asc", ".tab"):  # too much else
            assert uploads.stored_name(f"run{ending}") == f"run{ending}"


@pytest.mark.parametrize("given", ["x.exe", "x", "x.html", "x.svg", "x.js", "x.pkl", "x.csv/", ""])
def test_other_kinds_are_refused(given):
    with pytest.raises(InvalidValue, match="expected one of"):
        uploads.stored_name(given)


def test_folders_keep_their_inside_and_nothing_else():
    kept = uploads.stored_in("my set", "../data/chunk-000/../file-000.parquet")
    assert kept == "my_set/data/chunk-000/file-000.parquet"
    assert uploads.stored_in("..", "a.csv") == "file/a.csv"
    with pytest.raises(InvalidValue, match="folders deep"):
        uploads.stored_in("set", "/".join("abcdefgh") + "/x.csv")
    with pytest.raises(InvalidValue, match="folders deep"):
        uploads.stored_in("set", "../..")
