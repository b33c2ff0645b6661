"""Files are written whole or not at all, where they were asked for, with the rights that a file there has."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from backemf.errors import BackemfError
from backemf.files import may_write, replacing, write_all

posix = pytest.mark.skipif(os.name == "nt", reason="links, rights and devices of POSIX")


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text("old")
    names = []

    def interrupted() -> None:
        with replacing(place, force=True) as temporary:
            temporary.write_text("half of")
            names.extend(p.name for p in tmp_path.iterdir() if p != place)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (name,) = names
    assert name.startswith(".a.txt.")
    assert name.endswith(".part")
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_the_second_of_two_files_that_cannot_be_written_keeps_the_first_from_being(tmp_path):
    with pytest.raises(BackemfError, match="there is no folder"):
        write_all({tmp_path / "a": "1", tmp_path / "missing" / "b": b"2"})
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_link_stays_a_link_and_rights_stay_rights(tmp_path):
    place, link = tmp_path / "model.xml", tmp_path / "link.xml"
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to(place)
    write_all({link: "new"}, force=True)
    assert link.is_symlink()
    assert place.read_text() == "new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


@posix
def test_a_new_file_has_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "any").touch()
    write_all({tmp_path / "ours": "x"})
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode


@posix
def test_a_device_is_not_replaced_by_a_file():
    with pytest.raises(BackemfError, match="is no ordinary file"):
        may_write("/dev/null", force=True)
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("force", [True, False])
def test_a_folder_is_not_a_file(tmp_path, force):
    with pytest.raises(BackemfError, match="is a folder; expected the name of a file to write"):
        write_all({tmp_path: "x"}, force=force)


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path):
    (written,) = write_all({tmp_path / ("ä" * 120): "x"})
    assert written.read_text() == "x"
