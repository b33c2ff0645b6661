"""`backemf measure`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import typer

from backemf.analysis.measure import READINGS
from backemf.apps.cli.command_builder import UNITS_HELP
from backemf.apps.cli.main import app
from backemf.apps.cli.measure_commands import app as measure_app
from backemf.errors import BackemfError

from .runner import Output, invoked


def run(*words: object) -> Output:
    return invoked(app, "measure", *words)


VI = ("--current", "0.6,1.2,1.8,2.4", "--voltage", "1.25,2.46,3.7,5.15")


def test_every_reading_of_python_is_a_command():
    group: Any = typer.main.get_command(measure_app)
    assert set(group.commands) == {*READINGS, "constants"}


READ = [*(f"measure {name}" for name in READINGS), *map("convert {}".format, ("gain", "servo", "gains"))]
READ += ["convert isaac", "convert constants", "characterize"]


@pytest.mark.parametrize("words", READ)
def test_help_says_what_a_number_alone_is(words):
    said = " ".join(invoked(app, *words.split(), "--help").split())
    assert said.endswith(UNITS_HELP)


def test_a_number_is_printed_with_error_interval_assumption_and_remedy():
    printed = run("no-load", "--voltage", "3.00,6,9,12", "--speed", "5,10.10,15,20", "--resistance", "2")
    assert printed.splitlines()[0].startswith("K + R f_v / K = 0.6012 +- 0.0032 V s/rad")
    assert "95 %: " in printed
    assert "assumed: steady speeds" in printed
    assert "sharper with: " in printed
    said = run(
        *[
            "no-load",
            "--voltage",
            "3,6,9,12",
            "--speed",
            "5,10.1,15,20",
            "--resistance",
            "2",
            "--torque-constant",
            "0.9",
        ]
    )
    assert "impossible_value: friction.viscous is -0.1" in said


def test_json_has_value_error_and_unit_of_every_number():
    told = json.loads(run("resistance", *VI, "--json"))
    assert (told["name"], told["unit"], told["route"]) == ("motor.resistance", "ohm", "resistance")
    assert told["low"] < told["value"] - told["error"] < told["value"] < told["high"]
    assert told["spare"] == 3
    assert set(told["others"]) == {"with_drop", "drop"}
    assert all({"value", "error", "unit"} <= set(one) for one in told["others"].values())


@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE")]
)
def test_pictures_of_every_kind(tmp_path, ending, begins):
    path = tmp_path / f"line.{ending}"
    assert f"wrote {path}" in run("resistance", *VI, "--plot", path)
    assert path.read_bytes().startswith(begins)
    if ending == "html":
        page = path.read_text(encoding="utf-8")
        assert "motor.resistance = 2.104" in page
        assert "95 % band" in page
    with pytest.raises(BackemfError, match="exists; give another name"):
        run("resistance", *VI, "--plot", path)
    run("resistance", *VI, "--plot", path, "--force")


def test_another_ending_is_refused_before_anything_is_done(tmp_path):
    with pytest.raises(BackemfError, match=r"expected one of \.png, \.svg, \.pdf, \.html"):
        run("resistance", *VI, "--plot", tmp_path / "line.bmp")


def test_routes_from_a_file_and_typed_beside_it(tmp_path):
    bench = tmp_path / "bench.toml"
    t = 0.02 * np.arange(120)
    w = (60 + 200 / 3) * np.exp(-0.15 * t) - 200 / 3
    rows = "\n".join(f"{a:.4f},{b:.5f}" for a, b in zip(t, w, strict=True))
    (tmp_path / "coast.csv").write_text(f"time,velocity\n{rows}\n")
    bench.write_text(
        'name = "one"\n[resistance]\ncurrent = "600, 1200, 1800 mA"\nvoltage = [1.25, 2.46, 3.7]\n'
        '[coast-down]\nlog = "coast.csv"\ninertia = "2e-3 +- 1e-5"\n'
    )
    given = ("constants", bench, "--stated", "motor.resistance=2.3+-0.03 multimeter")
    told = json.loads(run(*given, "--reading", "slip mass=0.33 length=0.15 angle=62deg", "--json"))
    assert told["name"] == "one"
    assert [*told["routes"]["motor.resistance"]] == ["multimeter", "resistance", "resistance, with drop"]
    assert told["routes"]["friction.coulomb"]["coast-down"]["value"] == pytest.approx(0.02, rel=1e-3)
    assert told["routes"]["friction.static"]["slip"]["value"] == pytest.approx(0.22790, rel=1e-4)
    assert [f["code"] for f in told["findings"]] == ["routes_disagree"]
    assert told["together"]["motor.resistance"]["high"] == pytest.approx(2.3 + 1.959964 * 0.03)
    printed = run(*given, "--plot", tmp_path / "routes.svg")
    assert "one: 3 constants by 4 routes" in printed
    assert (tmp_path / "routes.svg").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("constants",), "no readings were given"),
        (("constants", "nothing.toml"), "there is no file 'nothing.toml'"),
        (("constants", "--reading", "resistance current"), "--reading is 'resistance current'; expected"),
        (("constants", "--stated", "motor.resistance"), "--stated is 'motor.resistance'; expected"),
        (("resistance", "--current", "1,2 V", "--voltage", "1,2"), "'V'"),
        (("torque-constant", "--load", "1,2"), "needs currents, or voltages with the resistance"),
        (("torque-constant", "--load", "1,2", "--current", "1,2"), "2 loads do not tell K from friction"),
    ],
)
def test_what_cannot_be_answered_gets_a_sentence(words, said):
    with pytest.raises(BackemfError) as caught:
        run(*words)
    assert said in str(caught.value)
