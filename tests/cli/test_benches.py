"""A person's own table: what it was recorded on, said once, in words, in a file or in the table itself."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import exports, identify, logs, measure_commands, report, report as render
from backemf.errors import BackemfError
from backemf.logs.benches import bench_of
from backemf.results.reread import read_again

from ..film.benches import needs_renderer
from .runner import invoked, runner

run = runner(identify.check, identify.fit, report.report, exports.replay, exports.export, logs.log)
film = runner(render.render)
WHEEL = "flywheel inertia=2e-3kg*m^2"
SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=2e-3),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=20.0, supply=7.4),
)
ONLY = ("--only", "motor.resistance,friction.viscous")
MAPS = ("--map", "position=a[deg]", "--map", "position_target=b[deg]", "--map", "time=n[ms],5")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A servo's start, and a table of degrees whose names say nothing; its bench is said nowhere."""
    place = tmp_path_factory.mktemp("own")
    bench = bench_of(WHEEL)
    t = 0.005 * np.arange(400)
    asked = {"position_target": be.signal.square(0.5, 1.0, at=0.1)}
    moved = be.simulate(SERVO, bench, asked, time=t)
    seen = np.degrees(moved.position + 1e-4 * np.random.default_rng(0).standard_normal(400))
    rows = zip(range(400), seen, np.degrees(moved["position_target"]), strict=True)
    text = "n,a,b\n" + "".join(f"{n},{q:.5f},{g:.5f}\n" for n, q, g in rows)
    (place / "run.csv").write_text(text, encoding="utf-8")
    SERVO.replace(**{"motor.resistance": 5.0}).write(place / "servo.json")
    return place


@pytest.fixture(scope="module")
def fitted(table):
    words = (table / "run.csv", "--start", table / "servo.json", "--bench", WHEEL, *MAPS, *ONLY)
    run("fit", *words, "--starts", "1", "--plot", table / "fit.png", "-o", table / "fit.json")
    return table / "fit.json"


def test_a_fit_is_one_line_and_draws_itself(fitted, table):
    fit = be.Fit.read(fitted)
    assert fit.parameters["motor.resistance"].value == pytest.approx(4.0, rel=0.01)
    assert (table / "fit.png").read_bytes().startswith(b"\x89PNG")
    (one,) = fit.logs
    assert one.bench == be.bench.Flywheel(inertia=2e-3)
    assert one.told == ("position=a[deg]", "position_target=b[deg]", "time=n[ms],5")


def test_a_report_needs_nothing_twice(fitted, table, tmp_path):
    words = (fitted, table / "run.csv", "--no-exports", "--json", "-o", tmp_path / "r.html")
    (log,) = json.loads(run("report", *words))["logs"]
    assert log["reason"] == ""
    assert log["error"] == pytest.approx(log["stored_error"], rel=1e-3)
    # another bench, said by hand, comes first: four times the inertia is another motion
    other = ("--bench", "flywheel inertia=8e-3", "--force")
    (log,) = json.loads(run("report", *words, *other))["logs"]
    assert log["error"] > 3 * log["stored_error"]


def test_a_new_recording_is_read_as_all_of_the_fit_were(fitted, table, tmp_path):
    (tmp_path / "second.csv").write_text((table / "run.csv").read_text(), encoding="utf-8")
    (log,) = read_again(be.Fit.read(fitted), tmp_path / "second.csv")
    assert log.bench == be.bench.Flywheel(inertia=2e-3)
    assert max(abs(log["position"])) < 1.0  # radians, not the degrees of the table
    named = (table / "run.csv").read_text().replace("n,a,b", "time [s],position [rad],position_target [rad]")
    (tmp_path / "third.csv").write_text(named, encoding="utf-8")  # its names speak for themselves
    (log,) = read_again(be.Fit.read(fitted), tmp_path / "third.csv")
    assert max(abs(log["position"])) > 10.0


def test_settings_and_commands_of_a_fit_come_back(fitted, table):
    fit = be.Fit.read(fitted)
    told = replace(
        fit.logs[0], settings={"drive.supply": 5.0}, commands={"position_target": "step size=0.5rad at=0.1s"}
    )
    (log,) = read_again(replace(fit, logs=(told,)), table / "run.csv")
    assert log.settings == {"drive.supply": 5.0}
    assert log["position_target"][-1] == 0.5
    (log,) = read_again(replace(fit, logs=(told,)), table / "run.csv", settings={"drive.supply": 6.0})
    assert log.settings == {"drive.supply": 6.0}


def test_a_replay_and_an_export_need_nothing_twice(fitted, table):
    told = json.loads(run("replay", fitted, table / "run.csv", "--to", "mujoco", "--json"))
    (case,) = told["replay"]["cases"]
    assert case["name"] == "run"
    made = json.loads(run("export", fitted, "--to", "mujoco-classic", "--log", table / "run.csv", "--json"))
    assert [case["name"] for case in made["replay"]["cases"]] == ["run"]


def test_a_film_needs_nothing_twice(fitted, table, tmp_path):
    needs_renderer()
    words = (fitted, "--log", table / "run.csv", "--size", "160x160", "--fps", "5", "--between", "0", "0.4")
    assert "wrote" in film(*words, "-o", tmp_path / "f.gif")


def test_a_number_of_the_start_is_set_and_comes_before_the_logs(table, tmp_path):
    words = (table / "run.csv", "--start", table / "servo.json", "--bench", WHEEL, *MAPS, *ONLY, "--json")
    plain, weaker = (
        json.loads(run("check", *words, *more)) for more in ((), ("--set", "motor.resistance=8ohm"))
    )
    values = [
        next(p["value"] for p in told["parameters"] if p["path"] == "motor.resistance")
        for told in (plain, weaker)
    ]
    assert values == [5.0, 8.0]
    with pytest.raises(BackemfError, match=r"unknown parameter .*ohms"):
        run("check", *words, "--set", "motor.ohms=8")


def test_what_is_typed_comes_before_what_a_log_says():
    from backemf.apps.cli.inputs import with_sets

    log = be.log("a", [0.0, 1.0], position=[0.0, 1.0], settings={"drive.proportional": 8.0})
    (said,) = with_sets([log], {"drive.proportional": 16.0, "motor.resistance": 2.0})
    assert said.settings == {"drive.proportional": 16.0}  # the start has the rest
    assert said.conversions == ("settings as told: drive.proportional = 16",)


def test_a_table_may_say_it_itself(table, tmp_path):
    text = (table / "run.csv").read_text()
    head = f"# bench: {WHEEL}\n# set: drive.supply=7.4, drive.volts_per_radian=20\n# made by hand\n"
    (tmp_path / "own.csv").write_text(head + text, encoding="utf-8")
    (log,) = be.read(tmp_path / "own.csv", map=[*MAPS[1::2]])
    assert log.bench == be.bench.Flywheel(inertia=2e-3)
    assert log.settings == {"drive.supply": 7.4, "drive.volts_per_radian": 20.0}
    (tmp_path / "bad.csv").write_text(f"# set: supply\n{text}", encoding="utf-8")
    wanted = "the comment 'set: supply' cannot be understood; expected PATH=NUMBER in SI, such as"
    with pytest.raises(BackemfError, match=wanted):
        be.read(tmp_path / "bad.csv", map=[*MAPS[1::2]])


def test_log_shows_what_was_said(table):
    told = json.loads(
        run("log", table / "run.csv", *MAPS, "--bench", WHEEL, "--set", "drive.supply=5", "--json")
    )
    (one,) = told["recordings"]
    assert (one["bench"]["inertia"], one["settings"]) == (2e-3, {"drive.supply": 5.0})


@pytest.mark.parametrize(
    ("name", "text"),
    [("rig.toml", 'bench = "pendulum"\nmass = "500 +- 2 g"\nlength = 0.1\n'), ("rig.json", None)],
)
def test_a_bench_in_a_file(name, text, tmp_path):
    bench = be.bench.Pendulum(mass="500 +- 2 g", length=0.1)
    path = tmp_path / name
    if text is None:
        from backemf import store

        store.write(bench, path)
    else:
        path.write_text(text, encoding="utf-8")
    assert bench_of(str(path)) == bench
    assert bench_of(str(path)).tolerance("mass") == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mass = 1\n", 'rig.toml does not say which bench it is; expected a line such as bench = "pendulum"'),
        ("mass =\n", "rig.toml cannot be read as TOML"),
        ('bench = "pendulum"\nmass = [1]\n', "mass of pendulum is [1]; expected a number, or text such as"),
        ('bench = "pendulum"\nmas = 1\n', "unknown word of pendulum 'mas'; did you mean 'mass'?"),
    ],
)
def test_a_bench_file_that_is_none(text, said, tmp_path):
    (tmp_path / "rig.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BackemfError) as raised:
        bench_of(str(tmp_path / "rig.toml"))
    assert said in str(raised.value)


def test_a_bench_file_that_is_not_there():
    with pytest.raises(BackemfError) as raised:
        bench_of("rig.toml")
    assert str(raised.value) == (
        "there is no file 'rig.toml'; expected a bench in words, or a .toml or .json file with one"
    )


def test_inverse_dynamics_takes_the_load_away(tmp_path):
    """A pendulum's gravity is no friction and no inertia: with its bench the numbers are those of the arm."""
    arm = be.bench.Pendulum(mass=0.5, length=0.2)
    t = np.arange(3000) * 1e-3
    q = 1.2 * np.sin(2 * np.pi * 0.9 * t) + 0.3 * np.sin(2 * np.pi * 2.3 * t)
    v, a = np.gradient(q, t), np.gradient(np.gradient(q, t), t)
    tau = 0.02 * a + 0.05 * v + 0.1 * np.sign(v) - arm.load(q, v, {})
    rows = "".join(f"{x:.4f},{y:.9f},{z:.9f}\n" for x, y, z in zip(t, q, tau, strict=True))
    (tmp_path / "arm.csv").write_text("time [s],position [rad],torque [N m]\n" + rows, encoding="utf-8")
    words = ("inverse-dynamics", tmp_path / "arm.csv", "--json")
    told = json.loads(invoked(measure_commands.app, *words, "--bench", "pendulum mass=0.5 length=0.2"))
    assert told["value"] == pytest.approx(0.02, rel=0.02)
    assert told["others"]["force_error"]["value"] < 0.05
    without = json.loads(invoked(measure_commands.app, *words))
    assert without["others"]["force_error"]["value"] > 0.1
