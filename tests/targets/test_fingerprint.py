"""Numbers that somebody changed in a file since it was exported are named, whatever they do to its score."""

from __future__ import annotations

import re

import pytest

import backemf as be
from backemf.apps.cli import exports
from backemf.targets.export import TARGETS, export
from backemf.targets.fingerprint import body_numbers, changes_since_export
from backemf.targets.replay import read_export

from ..cli.runner import runner

SERVO = be.Actuator.read("mx-106/m4")
ELSEWHERE = ("fmu", "bam", "mujoco-live")
"""An archive, a file without comments, and one whose numbers are in the actuator stored beside it."""


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ELSEWHERE])
def test_an_export_is_as_it_was_exported_until_a_number_changes(target):
    text = export(SERVO, target, joint="knee", method="formula", replay=False).text
    assert body_numbers(text)
    assert [*changes_since_export(text)] == []
    assert [*changes_since_export(text.replace("\n", "\n\n"))] == []  # only laid out otherwise
    *_, last = re.finditer(r"(?<=[ =\"(])\d+\.?\d*(?=[ ,;\")])", text)  # some number of the body
    (finding,) = changes_since_export(text[: last.start()] + "0.125" + text[last.end() :])
    assert finding.code == "file_changed"


def test_a_replay_names_what_changed_also_where_it_comes_out_better(tmp_path):
    """The exported file's friction is fitted; another damping may be nearer on one motion."""
    path = tmp_path / "knee.urdf"
    made = export(SERVO, "urdf", joint="knee", replay=False)
    made.write(path)
    assert read_export(str(path), SERVO).findings == ()
    before = next(n.value for n in body_numbers(made.text) if n.label == "damping")
    path.write_text(path.read_text().replace(f'damping="{before!r}"', f'damping="{1.25 * before!r}"'))
    (finding,) = read_export(str(path), SERVO).findings
    assert f"damping {before:g} -> {1.25 * before:g} (+25 %)" in finding.text
    said = runner(exports.replay)(path, "--actuator", "mx-106/m4")
    assert "the file is not as it was exported" in said + said.said


def test_what_is_gone_and_what_is_new_is_told():
    text = export(SERVO, "mujoco-classic", joint="knee", method="formula", replay=False).text
    (finding,) = changes_since_export(text.replace(" frictionloss=", ' stiffness="3" frictionloss='))
    assert "stiffness 3.0 is new" in finding.text
