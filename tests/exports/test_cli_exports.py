"""The commands export, replay and explain: text for people, documented keys for programs."""

from __future__ import annotations

import json

import pytest

import backemf as be
from backemf.cli import exports
from backemf.errors import BackemfError, UnknownName

from ..cli.runner import runner

run = runner(exports.export, exports.replay, exports.explain)


def test_export_writes_and_reports(tmp_path):
    out = run("export", "mx-106/m1", "--to", "mujoco", "--joint", "knee", "-o", tmp_path / "knee.xml")
    assert "nothing is lost" in out
    assert "wrote" in out
    with pytest.raises(BackemfError, match="exists"):
        run("export", "mx-106/m1", "--to", "mujoco", "--joint", "knee", "-o", tmp_path / "knee.xml")
    report = json.loads(run("explain", tmp_path / "knee.xml", "--json"))
    assert report["actuators"][0]["joint"] == "knee"
    assert "stall [N m]" in run("explain", tmp_path / "knee.xml")


def test_export_as_json_has_its_keys():
    report = json.loads(run("export", "mx-106/m1", "--to", "mujoco-classic", "--replay", "--json"))
    assert {"files", "dropped", "approximated", "replay"} <= set(report)
    assert report["replay"]["simulator"].startswith("MuJoCo")
    assert {"target_log", "native_log", "target_native", "refinement"} <= set(report["replay"]["cases"][0])


def test_a_bam_file_and_a_stored_actuator_are_sources(tmp_path):
    be.Actuator.read("mx-106/m1").write(tmp_path / "servo.json")
    out = run(
        "export", tmp_path / "servo.json", "--to", "bam", "--joint", "mx106", "-o", tmp_path / "bam.json"
    )
    assert "wrote" in out
    assert "From: BAM parameters bam.json, model m1 of mx106" in run(
        "export", tmp_path / "bam.json", "--to", "mujoco"
    )


def test_editing_a_model(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    out = run("export", "mx-106/m1", "--to", "mujoco", "--into", path, "--joint", "j", "--force")
    assert "new <dcmotor>" in out
    assert "<dcmotor" in path.read_text()


def test_replay_of_reference_motions():
    out = run("replay", "mx-106/m1", "--to", "mujoco-classic")
    assert "target-backemf" in out
    report = json.loads(run("replay", "mx-106/m1", "--json"))
    assert len(report["replay"]["cases"]) == 4


def test_unknown_target():
    with pytest.raises(UnknownName, match="did you mean 'mujoco'"):
        run("export", "mx-106/m1", "--to", "mujocoo")
