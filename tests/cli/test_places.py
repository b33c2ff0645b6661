"""Where commands write: `new` is a file, `new/` a folder that is made, and what cannot be is refused."""

from __future__ import annotations

import pytest

from backemf.apps.cli import exports, identify, logs, report, report as render, sheets
from backemf.apps.cli.command_builder import from_data
from backemf.errors import BackemfError
from backemf.kits.frc.commands import CHARACTERIZE

from ..data.test_codec import FIT
from .runner import runner

COMMANDS = (
    from_data(CHARACTERIZE, "characterize"),
    identify.fit,
    logs.log,
    render.render,
    report.report,
    sheets.datasheet,
)
run = runner(exports.export, *COMMANDS)
EXPORT = ("export", "mx-106/m1", "--method", "formula", "--joint", "knee", "--to", "urdf")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_slash_makes_a_folder(here):
    assert run(*EXPORT, "-o", "new/").said.endswith("wrote new/knee.urdf\n")
    assert [p.name for p in (here / "new").iterdir()] == ["knee.urdf"]
    run(*EXPORT, "--to", "mujoco", "-o", "both/")
    assert sorted(p.suffix for p in (here / "both").iterdir()) == [".urdf", ".xml"]


def test_without_a_slash_it_is_a_file(here):
    run(*EXPORT, "-o", "new/")
    run(*EXPORT, "-o", "new2")
    assert (here / "new2").is_file()
    with pytest.raises(BackemfError, match=r"new/knee.urdf exists"):
        run(*EXPORT, "-o", "new")
    run(*EXPORT, "-o", "new", "--force")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no/such/", "there is no folder 'no'; make it first, or give another name"),
        ("old/", "'old/' is the name of a folder, but there is a file; give another name"),
    ],
)
def test_a_folder_that_cannot_be_made(here, place, message):
    (here / "old").write_text("mine")
    with pytest.raises(BackemfError) as error:
        run(*EXPORT, "-o", place)
    assert str(error.value) == message
    assert [p.name for p in here.iterdir()] == ["old"]


def test_no_folder_is_left_behind_where_nothing_is_written(here):
    with pytest.raises(BackemfError, match="unknown target"):
        run(*EXPORT[:-1], "nonsense", "-o", "new/")
    assert list(here.iterdir()) == []


def test_two_targets_need_a_folder(here):
    with pytest.raises(BackemfError) as error:
        run(*EXPORT, "--to", "mujoco", "-o", "both")
    wanted = "expected a folder: one that exists, or a new one with a slash behind it, as in models/"
    assert str(error.value) == f"-o is 'both'; for 2 targets {wanted}"


@pytest.mark.parametrize(
    "words",
    [
        ("characterize", "logs", "--plot"),
        ("datasheet", "mx-106", "--plot"),
        ("export", "mx-106/m1", "--to", "mujoco", "--into", "arm.xml", "-o"),
        ("log", "logs", "--save-map"),
        ("render", "mx-106/m1", "--log", "log.csv", "-o"),
    ],
    ids=lambda words: words[0],
)
def test_a_folder_where_a_file_is_wanted(here, words):
    with pytest.raises(BackemfError) as error:
        run(*words, "new/")
    assert str(error.value) == "'new/' is a folder; expected the name of a file to write"
    assert list(here.iterdir()) == []


def test_one_file_goes_into_the_folder_that_is_named(here):
    FIT.write("fit.json")
    assert "wrote new/report.html (" in run("report", "fit.json", "-o", "new/", "--no-exports")
    assert [p.name for p in (here / "new").iterdir()] == ["report.html"]
    with pytest.raises(BackemfError, match=r"new/report.html exists"):
        run("report", "fit.json", "-o", "new", "--no-exports")
    with pytest.raises(BackemfError, match="there is no file or folder 'logs'"):
        run("fit", "logs", "--start", "mx-106", "-o", "other/")
    assert not (here / "other").exists()
