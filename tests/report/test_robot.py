"""The report of a robot's fit: the coupled number leads, and every joint has its section."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.report import report as command
from backemf.apps.playground.panel import LivePanel
from backemf.apps.report.contents import report
from backemf.apps.report.html import page, write
from backemf.apps.report.sections import sections
from backemf.apps.report.verdict import level_together
from backemf.errors import InvalidValue
from backemf.figure import Drawing, Table

from ..cli.runner import runner
from ..robot.arms import ARM
from ..robot.known import known_fit
from ..robot.simulated import recording


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return path


@pytest.fixture(scope="module")
def logs(arm):
    robot = be.Robot.read(arm)
    return [recording(robot, 1, seconds=6.0), recording(robot, 5, seconds=6.0, ground=0.02, low=0.7)]


@pytest.fixture(scope="module")
def made(arm, logs):
    fit = known_fit(be.Robot.read(arm, ground=0.02), logs[:1], logs[1:])
    return report(fit, logs, exported=False, name="fit.json")


def test_the_verdict_leads_with_all_joints_together_beside_the_model_as_shipped(made):
    assert made.robot.score.held_out
    assert [*made.robot.score.logs] == ["run 5"]
    assert made.robot.shipped is not None
    assert made.robot.shipped.rms > 5 * made.robot.score.rms
    first = made.verdict[0]
    assert "on a recording it never saw, all 3 joints together in MuJoCo, the model is off by" in first
    assert f"off by {1e3 * made.robot.score.rms:.3g} mrad (root mean square)" in first
    assert f"{1e3 * made.robot.score.rms_free:.3g} where nothing touches" in first
    assert f"the model as shipped is off by {1e3 * made.robot.shipped.rms:.3g}" in first


@pytest.mark.parametrize(("given", "judged", "words"), [
    ([1], "run 5", "it never saw"), ([0, 1], "run 5", "it never saw"), ([0], "run 1", "it was fitted to"),
])  # fmt: skip
def test_a_fit_without_held_out_recordings_is_judged_by_what_it_never_saw(arm, logs, given, judged, words):
    fit = known_fit(be.Robot.read(arm, ground=0.02), logs[:1], [])
    fit = replace(fit, score=replace(fit.score, held_out=False, logs={"run 1": 6e-4}))
    made = report(fit, [logs[k] for k in given], exported=False)
    assert [*made.robot.score.logs] == [judged]
    assert f"on a recording {words}, all 3 joints" in made.verdict[0]
    assert {run.name: run.unseen for run in made.robot.runs} == {f"run {1 + 4 * k}": k == 1 for k in given}


def test_the_score_is_that_of_the_runs_shown(made):
    run = made.robot.runs[0]
    assert run.unseen
    assert run.motion.rms() == pytest.approx(made.robot.score.rms)
    assert run.motion.rms(free=True) == pytest.approx(made.robot.score.rms_free)
    assert run.shipped_rms == pytest.approx(made.robot.shipped.rms)


def test_contact_has_times_and_places(made):
    begin, end, where = made.robot.runs[0].contacts()[0]
    assert made.robot.runs[0].time[0] <= begin < end <= made.robot.runs[0].time[-1]
    assert where is not None
    assert where[2] == pytest.approx(0.02, abs=0.02)


def test_every_joint_has_its_figure_friction_and_numbers(made):
    by = {s.key: s for s in sections(made)}
    for name in made.fit.joints:
        blocks = by[f"joint-{name}"].blocks
        assert sum(isinstance(b, Drawing) for b in blocks) == 3  # together, friction, and by itself
        assert sum(isinstance(b, LivePanel) for b in blocks) == 1
        table = next(b for b in blocks if isinstance(b, Table))
        rows = {row[0]: row for row in table.rows}
        assert {"friction.coulomb", "drive.delay"} <= set(rows)
        assert rows["friction.coulomb"][5] == "N m"
        labels = {
            line.label
            for p in next(b for b in blocks if isinstance(b, Drawing)).figure.panels
            for line in p.lines
        }
        assert labels == {"target", "recorded", "identified", "as shipped"}


def test_the_page_opens_alone_and_is_kept(made, tmp_path):
    text = page(made)
    assert "<title>arm: its actuators, identified</title>" in text
    assert "http" not in text.partition("</style>")[2].partition("<script")[0]
    path = write(made, tmp_path / "report.html")
    with pytest.raises(be.errors.BackemfError, match="exists"):
        write(made, path)


@pytest.mark.parametrize(
    ("rms", "shipped", "expected"),
    [
        (1.0, 20.0, "good"),
        (9.0, 35.0, "fair"),
        (20.0, 35.0, "poor"),
        (np.inf, None, "poor"),
        (9.0, None, "fair"),
    ],
)
def test_levels(made, rms, shipped, expected):
    score = replace(made.robot.score, rms=1e-3 * rms, rms_free=1e-3 * rms)
    old = None if shipped is None else replace(score, rms=1e-3 * shipped)
    assert (
        level_together(made.fit, replace(made.robot, score=score, shipped=old)) == expected
    )  # noise leaves 0.5 mrad


def test_from_the_shell_without_recordings_it_says_what_is_missing(made, arm, tmp_path):
    run = runner(command)
    made.fit.write(tmp_path / "fit.json")
    said = json.loads(run(tmp_path / "fit.json", "-o", tmp_path / "r.html", "--no-exports", "--json"))
    assert said["rms"] == made.fit.score.rms
    assert "No recordings to simulate" in (tmp_path / "r.html").read_text()
    other = tmp_path / "other.xml"
    other.write_text(ARM.replace("wrist", "hand_joint"))
    with pytest.raises(InvalidValue, match="has no joint wrist, which the fit has"):
        run(tmp_path / "fit.json", "-o", tmp_path / "r2.html", "--robot", other)
