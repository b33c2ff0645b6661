"""The command plot: anything that can be an actuator, as a picture, a page, rows or an object."""

from __future__ import annotations

import csv
import json

import pytest

import backemf as be
from backemf.apps.cli import report as plot
from backemf.apps.report.figures.show import KINDS
from backemf.errors import BackemfError, InvalidValue, MissingValue, UnknownName

from .runner import runner

run = runner(plot.plot)
ARM = """<mujoco><worldbody><body><joint name="elbow" armature="0.01"/><geom size="0.1" mass="1"/></body>
</worldbody><actuator><dcmotor name="elbow" joint="elbow" resistance="2" motorconst="0.5 0.5"
lugre="100 1 0.05 0.08 0.1" damping="0.05" ctrlrange="-12 12"/></actuator></mujoco>"""


def panels(*words: object) -> list[dict]:
    return json.loads(run(*words, "--json"))["panels"]


def test_names_in_the_help_are_those_that_can_be_drawn():
    named = plot.WHAT.partition(";")[0].replace(" or ", ", ").split(", ")
    assert named == [*KINDS]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_a_part_becomes_a_picture_or_a_page(tmp_path, ending):
    file = tmp_path / f"a.{ending}"
    told = run("mx-106/m6", "--what", "friction,pipeline", "-o", file)
    assert f"wrote {file}" in told
    head = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}[ending]
    assert file.read_bytes().startswith(head)
    with pytest.raises(BackemfError, match="exists; give another name, or --force"):
        run("mx-106/m6", "--what", "friction", "-o", file)
    assert f"wrote {file}" in run("mx-106/m6", "--what", "friction", "-o", file, "--force")


def test_every_kind_of_source_shares_a_figure(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    be.Actuator.read("mx-64/m1").write(tmp_path / "own.json")
    (tmp_path / "own.toml").write_text(
        'name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nvoltage = "12 V"\nsource = "s"\n[entries]\n'
        'resistance = "2 ohm"\ntorque_constant = "50 mN m/A"\nno_load_current = "0.1 A"\n'
    )
    sources = ["mx-106", "mx-106/m6", f"{tmp_path}/arm.xml", tmp_path / "own.json", tmp_path / "own.toml"]
    (shared,) = panels(*sources, "--what", "torque-speed")
    named = [curve["name"] for curve in shared["curves"] if curve["name"]]
    assert len(named) == 5
    assert [name.partition(",")[0] for name in named] == [
        "mx-106",
        "mx-106/m6",
        "arm.xml",
        "own.json",
        "own.toml",
    ]
    loop, *_ = panels(tmp_path / "arm.xml", "-w", "hysteresis")
    assert "stable steps in MuJoCo" in loop["note"]


def test_what_the_user_changes_is_what_is_drawn(tmp_path):
    def stiffness(*words: object) -> float:
        volts, _ = panels("mx-106/m6", "-w", "drive", *words)
        applied = next(c for c in volts["curves"] if c["name"].startswith("applied"))
        k = len(applied["x"]) // 2
        return (applied["y"][k + 1] - applied["y"][k]) / (applied["x"][k + 1] - applied["x"][k])

    assert stiffness("--voltage", 15) == pytest.approx(15 / 12 * stiffness())
    assert stiffness("--set", "drive.proportional=16") == pytest.approx(stiffness() / 2)
    light, heavy = (
        panels("mx-106/m6", "-w", "frequency", *words)[0]["marks"][0]["x"] for words in ((), ("--inertia", 1))
    )
    assert heavy < 0.5 * light
    held = panels("maxon-re-40-24v", "-w", "torque-speed")[0]["regions"]
    assert held[0]["name"] == "continuous, 5.77 A"  # as its sheet prints it
    assert "position" in panels("sg90", "--control", "position", "-w", "drive")[0]["x"]


def test_numbers_go_into_a_file(tmp_path):
    file = tmp_path / "a.csv"
    told = run("mx-106/m6", "mx-64/m6", "--what", "friction", "--what", "no-load", "--data", file)
    assert f"wrote {file}" in told
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert {row["curve"] for row in rows} >= {"mx-106/m6", "mx-64/m6"}
    assert all(row["x_label"].endswith("]") for row in rows)
    with pytest.raises(BackemfError, match="exists"):
        run("mx-106/m6", "--data", file)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("mx-106/m6",), "expected -o FILE, --data FILE or --json"),
        (("mx-106/m6", "-o", "a.bmp"), "expected one of .png, .svg, .pdf, .html"),
        (("mx-106/m6", "-w", "hysteresis", "--json"), "has no bristle"),
        (("mx-106/m6", "-w", "torque", "--json"), "unknown figure 'torque'; did you mean"),
        (
            ("stribeck", "mx-106/m6", "--json"),
            "unknown part 'stribeck'.*what can be drawn of a part: torque-s",
        ),
        (("friction", "--json"), "friction of what?"),
        (("mx-106/m6", "--inertia", "-1", "--json"), "--inertia is -1; expected at least 0"),
        (("mx-106/m6", "--control", "voltage", "--json"), "control"),
    ],
)
def test_what_cannot_be_done_says_why(words, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidValue, MissingValue, BackemfError), match=error):
        run(*words)
    assert not list(tmp_path.iterdir())


def test_one_equation_is_one_command():
    """Its name stands before the source, however its words are joined."""
    (one,) = panels("torque_speed", "mx-106/m6")
    assert [one] == panels("mx-106/m6", "--what", "torque-speed")
    assert all("friction" in panel["title"].lower() for panel in panels("friction", "mx-106/m6", "mx-64/m6"))


def test_findings_of_a_part_are_told():
    told = json.loads(run("mx-106/m6", "-w", "friction", "--json"))
    assert [f["code"] for f in told["findings"]] == ["outside_identified_supply"]
    assert told["file"] is None


@pytest.mark.parametrize(("typed", "meant"), [("torque-sped", "torque-speed"), ("fricton", "friction")])
def test_a_misspelt_panel_is_named_before_a_place_to_write(typed, meant):
    with pytest.raises(UnknownName, match=rf"unknown panel '{typed}'; did you mean '{meant}'\?"):
        run(typed, "mx-106")
