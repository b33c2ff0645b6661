"""Forms become command lines, word for word, and nothing that is not a file of the project gets into one."""

from __future__ import annotations

import pytest

from backemf.apps.web.command_lines import line
from backemf.apps.web.workspace import File, JobLimits, Project, Workspace
from backemf.errors import BackemfError


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
