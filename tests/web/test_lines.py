"""Forms become command lines, word for word, and nothing that is not a file of the project gets into one."""

from __future__ import annotations

from typing import Any

import pytest

from backemf.apps.cli.inputs import bench_of
from backemf.apps.web.command_lines import COMMANDS, form_fields, line
from backemf.apps.web.workspace import File, JobLimits, Project, Workspace
from backemf.errors import BackemfError
from backemf.options import OWN_UNIT, options_of


@pytest.fixture
def place(tmp_path):
    names = ("fit-1.json", "run.csv", "arm.xml")
    files = {name: File(name=name, given=name, bytes=1) for name in names}
    project = Project(id="0123456789ab", name="arm", kind="robot", at="2026-01-01T00:00:00", files=files)
    return project, Workspace(tmp_path, JobLimits())


def test_a_report_of_a_robot_has_its_recordings_and_its_model(place):
    form = {"command": "report", "fit": "fit-1.json", "logs": ["run.csv"], "robot": "arm.xml"}
    made = line(form, *place)
    words = ["report", "fit-1.json", "run.csv", "--robot", "arm.xml", "--no-exports", "-o", "report-1.html"]
    assert made.words == words
    assert (made.lane, made.outputs) == ("long", ["report-1.html"])


@pytest.mark.parametrize("model", ["../arm.xml", "/etc/passwd", "other.xml", ["arm.xml"], 3])
def test_a_model_is_a_file_of_the_project(place, model):
    with pytest.raises(BackemfError, match="robot: there is no file"):
        line({"command": "report", "fit": "fit-1.json", "robot": model}, *place)


ASKED = {"command": "characterize", "logs": ["run.csv"]}


def numbers() -> list[tuple[str, Any]]:
    """Every number of the mechanism page's form, with its option."""
    row = COMMANDS["characterize"]
    options = {one.spelled.removeprefix("--").replace("-", "_"): one for one in options_of(row.kind)}
    return [(key, options[key]) for key in row.options.split() if options[key].is_number]


def test_every_number_of_a_form_takes_a_unit_and_says_a_wrong_one_in_our_words(place):
    shown = {f["name"]: f for f in form_fields("characterize")}
    assert len(numbers()) >= 14
    for key, one in numbers():
        unit = "" if one.unit in (None, "1", OWN_UNIT) else one.unit.split(" | ")[0]
        assert shown[key]["unit"].split(" | ")[0] == unit
        pair = one.annotation.startswith("tuple")
        typed = f"2 {unit}".strip()
        made = line({**ASKED, key: f"{typed}, {typed}" if pair else typed}, *place)
        assert made.words[2:] == [one.spelled, typed, *([typed] if pair else [])]
        with pytest.raises(BackemfError, match=rf"{one.spelled}.*2 parsnips|2 parsnips.*{one.spelled}"):
            line({**ASKED, key: "2 parsnips, 3" if pair else "2 parsnips"}, *place)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ({"command": "record", "port": "servo-1", "amplitude": "30 deg", "seconds": "1 min"}, "30 deg"),
        ({"command": "datasheet", "part": "mx-106", "voltage": "4800 mV"}, "4800 mV"),
        ({**ASKED, "between": "2 s 10 s"}, "2 s"),
    ],
)
def test_units_of_other_forms_reach_the_command_line(place, command, word):
    assert word in line(command, *place).words


def test_a_number_outside_its_ends_says_them_with_the_unit(place):
    with pytest.raises(BackemfError, match="--seconds is '2 h'; expected 1 to 600 s"):
        line({"command": "record", "port": "servo-1", "seconds": "2 h"}, *place)


@pytest.mark.parametrize(
    ("typed", "inertia"),
    [
        *(("100 g cm^2", 1e-5), ("100 g·cm²", 1e-5), ("0.02 kg m^2", 0.02), ("0.02", 0.02), ("0,02", 0.02)),
        *(("0,2 Kg m²", 0.2), ("0.5 ± 0.01 kg m^2", 0.5), ("1 to 3 KG.M^2", 2.0)),
    ],
)
def test_a_bench_takes_units_with_blanks_as_people_write_them(place, typed, inertia):
    bench = {"kind": "flywheel", "inertia": typed}
    words = line({"command": "check", "logs": ["run.csv"], "start": "mx-106", "bench": bench}, *place).words
    made: Any = bench_of(words[words.index("--bench") + 1])
    assert made.inertia == pytest.approx(inertia, rel=1e-12)


def test_a_task_and_a_bus_become_a_sizing_with_a_page(place):
    bench, move = {"kind": "pendulum", "mass": "1 kg", "length": "0.2 m"}, "trapezoid to=90deg time=0.5s"
    form = {
        "command": "size",
        "bench": bench,
        "move": move,
        "bus": "24 V",
        "by": "loss",
        "parts": ["run.csv"],
    }
    made = line(form, *place)
    words = [
        "size",
        "--bus",
        "24 V",
        "--by",
        "loss",
        "--bench",
        "pendulum mass=1kg length=0.2m",
        "--move",
        move,
    ]
    assert made.words == [*words, "--parts", "run.csv", "--plot", "sizing-1.html"]
    assert made.outputs == ["sizing-1.html"]
    for wrong in (
        {"move": "hold --plot=/etc/x"},
        {"bus": None},
        {"by": "colour"},
        {"parts": ["/etc/passwd"]},
    ):
        with pytest.raises(BackemfError):
            line({**form, **wrong}, *place)
