"""The command line as a person uses it: real files; a process of its own where that is what matters."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import backemf
from backemf.apps.cli.main import app

from .cli.typed import typed


def backemf_command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    code = "from backemf.apps.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120"},
        check=False,
    )


def test_help_is_quick_and_names_the_commands():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = backemf_command("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]  # a group of commands
        assert re.search(rf"^\W*{name}\b", done.stdout, re.MULTILINE), name
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert cpu < 0.6, "0.3 s is the promise; twice that is allowed for a busy machine"


def test_no_command_loads_numpy_before_it_runs():
    """What the help costs, without a clock."""
    code = "import sys, backemf.apps.cli.main; print(sorted({'numpy', 'scipy', 'pint'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version():
    assert backemf_command("--version").stdout.strip() == f"backemf {backemf.__version__}"


def test_an_unknown_command_is_a_usage_error():
    done = backemf_command("dmeo")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_demo_tells_its_story_and_writes_pictures(tmp_path):
    done = backemf_command("demo", "--output", "pictures and more", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Nothing here was recorded" in done.stdout
    for word in ("lifted, holds", "begins to slip", "fell, sticks", "has not moved since"):
        assert word in done.stdout
    assert "simulated and written to files" in done.stdout
    assert "The simplest that is as good as the best, log by log: m4." in done.stdout
    assert (tmp_path / "pictures and more" / "fit.json").exists()
    assert "replayed in MuJoCo" in done.stdout
    assert "plotly" in (tmp_path / "pictures and more" / "report.html").read_text(encoding="utf-8")
    assert "<dcmotor" in (tmp_path / "pictures and more" / "servo.xml").read_text(encoding="utf-8")
    assert len(list((tmp_path / "pictures and more" / "logs").glob("*.json"))) == 8
    pictures = sorted((tmp_path / "pictures and more").glob("*.png"))
    assert "plan, record, check, fit" in done.stdout
    if (
        "Recorded through" in done.stdout
    ):  # where there is a package of a bus, and the machine is not too busy
        assert "truth in 95 %" in done.stdout.partition("Recorded through")[2]
        assert pictures.pop([p.name for p in pictures].index("plan.png")).stat().st_size > 20_000
    assert [p.name for p in pictures] == [
        "energy.png",
        "friction.png",
        "lift.png",
        "prediction.png",
        "stick-slip.png",
    ]
    assert all(p.read_bytes().startswith(b"\x89PNG") and p.stat().st_size > 20_000 for p in pictures)


def test_catalog_lists_and_filters():
    everything = json.loads(typed("catalog", "--json").stdout)["parts"]
    assert len(everything) >= 35
    assert {"name", "maker", "kind", "findings"} <= set(everything[0])
    for word, near in (
        ("sts3251", "sts3215"),
        ("mx106", "mx-106"),
        ("sg-90", "sg90"),
        ("Robotiss", "robotis"),
    ):
        none = typed("catalog", word)
        assert (none.returncode, none.stdout) == (2, "")
        assert f"unknown part, maker or kind '{word}'" in none.stderr
        assert len(none.stderr.partition("nearest are: ")[2].partition(";")[0].split(", ")) == 5
        assert near in none.stderr.partition("nearest are: ")[2]
    assert "mx-106" in typed("catalog", "robotis").stdout


def test_datasheet_answers_in_text_and_json():
    text = typed("datasheet", "st-3215-c047")
    assert text.returncode == 0
    assert "resistance_and_stall_current" in text.stdout
    told = json.loads(typed("datasheet", "st-3215-c047", "--json").stdout)
    assert {"printed", "constants", "derived", "findings", "assumed"} <= set(told)
    assert {"code", "text", "remedy"} <= set(told["findings"][0])
    assert set(told["constants"]["R"]) == {"value", "error", "unit"}
    half = json.loads(typed("datasheet", "st-3215-c047", "--json", "--voltage", "6").stdout)
    assert half["derived"]["stall_current"]["value"] == pytest.approx(
        told["derived"]["stall_current"]["value"] / 2
    )


def test_datasheet_plots_once_and_does_not_overwrite(tmp_path):
    assert typed("datasheet", "maxon-re-40-24v", "--plot", "re40.png", cwd=tmp_path).returncode == 0
    before = (tmp_path / "re40.png").read_bytes()
    again = typed("datasheet", "maxon-re-40-24v", "--plot", "re40.png", cwd=tmp_path)
    assert again.returncode == 2
    assert "re40.png exists" in again.stderr
    assert (tmp_path / "re40.png").read_bytes() == before


def test_an_unreadable_sheet_exits_2_with_the_line(tmp_path):
    (tmp_path / "bad.toml").write_text(
        'name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nvoltage = "12 V"\nsource ='
        ' "s"\n[entries]\nR = "2 parsecs"\n'
    )
    done = typed("datasheet", "bad.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "bad.toml, line 8" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def bench_logs(tmp_path_factory):
    from backemf.planning import example_servo as bench_story

    folder = tmp_path_factory.mktemp("bench")
    bench_story.record(folder / "logs")
    bench_story.start().write(folder / "start.json")
    return folder


def test_check_speaks_in_text_and_json(bench_logs):
    told = json.loads(typed("check", "logs", "--start", "start.json", "--json", cwd=bench_logs).stdout)
    assert told["verdict"] == "fit"
    assert "delay" in [f["code"] for f in told["findings"]]
    assert {"path", "value", "unit", "relative_error", "from_data", "determined"} <= set(
        told["parameters"][0]
    )


@pytest.fixture(scope="module")
def fitted(bench_logs):
    """What `backemf fit` says of these logs, with --json; the fit is stored beside them."""
    words = "fit logs --start start.json --free drive.delay --hold-out gain=16 --starts 1 -o fit.json --json"
    done = typed(*words.split(), cwd=bench_logs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.proof
def test_a_stored_fit_is_a_start(bench_logs, fitted):
    words = ("logs", "--start", "fit.json", "--json")
    done = typed("check", *words, cwd=bench_logs)
    assert done.returncode == 0, done.stderr
    begun = {p["path"]: p["value"] for p in json.loads(done.stdout)["parameters"]}
    for path in ("motor.resistance", "motor.torque_constant", "friction.coulomb"):
        assert begun[path] == pytest.approx(fitted["parameters"][path]["value"], rel=1e-12), "as stored"
    again = typed("fit", *words, "--starts", "1", "--hold-out", "gain=16", cwd=bench_logs)
    assert again.returncode == 0, again.stderr
    off = json.loads(again.stdout)["held_out_mae"]
    assert off == pytest.approx(fitted["held_out_mae"], rel=0.05)  # it begins where the other one ended


def test_fit_answers_and_keeps_what_is_there(bench_logs, fitted):
    told = fitted
    keys = {"parameters", "training_mae", "held_out_mae", "noise_floor", "findings", "starts", "cpu_s"}
    assert keys <= set(told)
    assert {"value", "error", "unit", "prior"} <= set(told["parameters"]["motor.resistance"])
    assert told["held_out_mae"] < 1e-3
    before = (bench_logs / "fit.json").read_bytes()
    again = typed("fit", "logs", "--start", "start.json", "-o", "fit.json", cwd=bench_logs)
    assert again.returncode == 2
    assert "fit.json exists" in again.stderr
    assert (bench_logs / "fit.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("fit", "nothing/*.json", "--start", "mx-106"), "nothing"),
        (("fit", "logs", "--start", "mx-107"), "unknown part 'mx-107'; did you mean 'mx-106'"),
        (
            ("fit", "logs", "--start", "start.json", "--free", "motor.resistence"),
            "did you mean 'motor.resistance'",
        ),
        (("fit", "logs", "--start", "start.json", "--hold-out", "gain=7"), "matches none"),
        (("fit", "logs", "--start", "start.json", "--hold-out", "gain=16", "gane"), "--hold-out A,B"),
        (("check", "logs", "--start", "start.json", "--friction", "m9"), "unknown friction 'm9'"),
        (
            ("measure", "resistance", "--current", "1,2", "--voltage", "1,x"),
            "expected numbers separated by commas",
        ),
    ],
)
def test_bad_requests_exit_2_with_a_clear_word(bench_logs, arguments, error):
    done = typed(*arguments, cwd=bench_logs)
    assert done.returncode == 2
    assert error in done.stderr
    assert "Traceback" not in done.stderr


def test_measure_prints_value_error_and_assumption():
    done = typed("measure", "resistance", "--current", "0.6,1.2,1.8,2.4", "--voltage", "1.25,2.46,3.7,5.15")
    assert done.returncode == 0
    assert "motor.resistance = 2.10" in done.stdout
    told = json.loads(
        typed("measure", "fall", "--mass", "0.33", "--length", "0.15", "--angle", "64deg", "--json").stdout
    )
    assert told["low"] == pytest.approx(0.2128, abs=1e-3)
    assert told["value"] is None


def test_datasheet_of_several_parts_and_any_interface(tmp_path):
    both = json.loads(typed("datasheet", "sg90", "sts3215-12v", "--json").stdout)
    assert [sheet["name"] for sheet in both["sheets"]] == ["SG90", "STS3215 (ST-3215-C018), 12 V"]
    assert "mass 55 g" in both["sheets"][1]["unused"]
    text = typed("datasheet", "sg90", "sts3215-12v").stdout
    assert "Printed, not used by the model:" in text
    assert text.count("stall torque: what the output gives at standstill") == 2
    done = typed("datasheet", "sg90", "--control", "torque", "-o", "a.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert backemf.Actuator.read(tmp_path / "a.json").drive.followed == "torque_target"
    refused = typed("datasheet", "sg90", "mx-28", "-o", "b.json", cwd=tmp_path)
    assert refused.returncode == 2
    assert "for one sheet; 2 were given" in refused.stderr
