"""The command simulate: numbers, sweeps, tables, pictures, and refusals that say what to do; and benches in
words."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import simulate_command
from backemf.apps.cli.inputs import bench_of, words_of
from backemf.errors import BackemfError

from .runner import runner

run = runner(simulate_command.simulate)
PENDULUM = ("--bench", "pendulum mass=1kg length=15cm")
SHORT = ("--duration", "0.3", "--timestep", "0.005")
STEP = ("--command", "step size=45deg")


def told(*words: object) -> dict:
    return json.loads(run(*words, "--json"))


def test_it_is_what_python_simulates():
    content = told("mx-106/m6", *PENDULUM, *STEP, *SHORT)
    actuator, bench = be.Actuator.read("mx-106/m6"), be.bench.Pendulum(mass=1.0, length=0.15)
    same = be.simulate(actuator, bench, be.signal.step(np.pi / 4), duration=0.3, dt=0.005, energy=True)
    (one,) = content["runs"]
    assert one["reached"] == pytest.approx(same.position[-1])
    assert one["peak_current"] == pytest.approx(np.max(np.abs(same.current)))
    assert one["energy"]["electrical"] == pytest.approx(same.energy["electrical"][-1])
    assert one["unexplained"] < 1e-3
    assert content["bench"] == {"part": "Pendulum", "mass": 1.0, "length": 0.15, "arm_mass": 0.0} | {
        "gravity": content["bench"]["gravity"]
    }
    assert be.signal.read(content["command"]) == be.signal.read("step size=45deg")


def test_a_person_reads_a_short_table():
    text = run(
        "maxon-re-25-118743", "--command", "step size=6V", "--bench", "flywheel inertia=10g*cm^2", *SHORT
    )
    for words in (
        "reached",
        "peak current",
        "winding warmer by",
        "taken in",
        "winding heat",
        "closes within",
    ):
        assert words in text


def test_sweeps_give_every_combination(tmp_path):
    words = ("mx-106/m6", *PENDULUM, *SHORT, "--command", "step size=0.5rad")
    sweep = (
        "--vary",
        "drive.proportional=8,32",
        "--vary",
        "bench.mass=500,1000g",
        "--vary",
        "command.size=30deg",
    )
    content = told(*words, *sweep, "-o", tmp_path / "runs.csv")
    varied = [tuple(one["varied"].values()) for one in content["runs"]]
    assert varied == [(p, m, pytest.approx(np.pi / 6)) for p in (8.0, 32.0) for m in (0.5, 1.0)]
    alone = told(*words[:-1], "step size=30deg", "--set", "drive.proportional=32")["runs"][0]
    assert content["runs"][-1]["reached"] == pytest.approx(alone["reached"])
    header, *rows = (tmp_path / "runs.csv").read_text().splitlines()
    assert header.startswith("drive.proportional,bench.mass [kg],command.size [rad],time [s],position [rad]")
    assert "current [A]" in header
    assert "energy_electrical [J]" in header
    assert len(rows) == 4 * 61
    assert "energy books close" in run(*words, *sweep)


def test_each_run_of_a_sweep_has_its_own_finding():
    """Locked at 24 V, 2 and 2.3 ohm pass 100 degC and 100 ohm stay cold; the one of less resistance first."""
    words = ("maxon-re-25-118743", "--bench", "locked", "--duration", "30", "--timestep", "0.05")
    hot = ("--command", "constant value=24V", "--vary", "motor.resistance=2,2.3,100")
    found = [f["text"] for f in told(*words, *hot)["findings"] if f["code"] == "too_hot"]
    assert [text.partition(",")[0] for text in found] == [f"with motor.resistance={R}" for R in ("2", "2.3")]
    times = [float(text.partition("from ")[2].split()[0]) for text in found]
    assert times == sorted(times)


def test_an_effect_that_is_absent_can_be_varied():
    words = ("maxon-re-25-118743", "--bench", "locked", *SHORT, "--command", "constant value=6V")
    half, most = told(*words, "--vary", "motor.saturation_current=2750,1e9mA")["runs"]
    # K_t / (1 + (i / i_sat)^2) is K_t / 2 at i_sat = 6 V / 2.18 ohm, to the digits of the sheet
    assert half["peak_torque"] == pytest.approx(most["peak_torque"] / 2, rel=0.01)
    (same,) = told(*words, "--set", "motor.saturation_current=2750mA")["runs"]
    assert same["peak_torque"] == half["peak_torque"]


def test_a_part_that_is_absent_can_be_given_by_its_numbers():
    words = ("neo", "--bench", "locked", "--timestep", "0.001", "--command", "constant value=4V")
    rate = ("--set", "motor.limits.current_rate=2000A/s", "--duration", "0.01")
    assert told(*words, *rate)["runs"][0]["peak_current"] == pytest.approx(20.0)
    cogging = ("--set", "motor.cogging.amplitude=5mNm")
    with pytest.raises(
        BackemfError, match=r"there is no motor\.cogging yet; expected motor\.cogging\.periods"
    ):
        run(*words, *cogging)
    run(*words, *cogging, "--set", "motor.cogging.periods=24", *SHORT)


def test_numbers_of_the_firmware_take_their_units():
    words = ("sts3215-12v/so101", *PENDULUM, *SHORT, "--command", "step size=0.2rad")
    degrees = ("deadband=1deg", "punch=2deg", "acceleration=1000deg/s^2", "slew=30rpm", "count=0.1deg")
    sizes = (1.0, 2.0, 1000.0, 180.0, 0.1)
    radians = [f"{word.partition('=')[0]}={np.radians(x)}" for word, x in zip(degrees, sizes, strict=True)]
    runs = [
        told(*words, *(w for one in given for w in ("--set", f"drive.{one}")))["runs"][0]
        for given in (degrees, radians)
    ]
    assert runs[0]["reached"] == pytest.approx(runs[1]["reached"], rel=1e-12)
    with pytest.raises(BackemfError, match="which is not an angle; expected a unit such as 'deg'"):
        run(*words, "--set", "drive.punch=2V")


def test_the_table_of_a_motor_that_heats_is_a_recording(tmp_path):
    words = ("maxon-re-25-118743", "--bench", "locked", *SHORT, "--command", "constant value=6V")
    run(*words, "-o", tmp_path / "a.csv", "--start-temperature", "40")
    (log,) = be.read(tmp_path / "a.csv")
    assert log["temperature"][0] == 40.0


def test_a_table_of_times_is_a_command(tmp_path):
    (tmp_path / "volts.csv").write_text("time_ms,command [V]\n0,0\n100,6\n200,-6\n")
    wheel = ("--bench", "flywheel inertia=10g*cm^2")
    one = told("maxon-re-25-118743", *wheel, *SHORT, "--command", tmp_path / "volts.csv")["runs"][0]
    held = be.signal.held(np.array([0.0, 0.1, 0.2]), np.array([0.0, 6.0, -6.0]))
    actuator = be.Actuator.read("maxon-re-25-118743")
    same = be.simulate(actuator, be.bench.Flywheel(inertia=1e-6), held, duration=0.3, dt=0.005)
    assert one["reached"] == pytest.approx(same.position[-1])


def test_where_it_starts(tmp_path):
    words = ("mx-106/m6", *PENDULUM, *SHORT, "--command", "constant value=0rad", "-o", tmp_path / "a.csv")
    run(*words, "--start-angle", "90deg", "--start-speed", "30rpm")
    (log,) = be.read(tmp_path / "a.csv")
    assert log["position"][0] == pytest.approx(np.pi / 2)
    assert log["velocity"][0] == pytest.approx(np.pi)


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.html"])
def test_pictures(tmp_path, name):
    run("mx-106/m6", *PENDULUM, *STEP, *SHORT, "--plot", tmp_path / name)
    assert (tmp_path / name).stat().st_size > 10_000
    with pytest.raises(BackemfError, match="exists; give another name, or --force"):
        run("mx-106/m6", *PENDULUM, *STEP, *SHORT, "--plot", tmp_path / name)


def test_a_sweeps_picture_names_its_runs_and_energy():
    from backemf.apps.report.figures import runs as figures

    bench, step = be.bench.Pendulum(mass=1.0, length=0.15), be.signal.step(0.5)
    made = [be.simulate(be.Actuator.read("mx-106/m6"), bench, step, duration=0.1, energy=True)] * 9
    figure = figures.runs(made, [str(k) for k in range(9)], "nine")
    assert [line.label for line in figure.panels[0].lines] == ["target", *map(str, range(9))]
    assert [panel.y_label for panel in figure.panels] == [
        "position [deg]",
        "current [A]",
        "energy taken in [J]",
    ]
    looks = {(line.color, line.style) for line in figure.panels[0].lines[1:]}
    assert len(looks) == 9
    with pytest.raises(BackemfError, match="15 runs are too many for one picture"):
        figures.runs(made[:1] * 15, ["a"] * 15, "too many")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sg90", *STEP), "sg90 has no rotor inertia, and nothing is attached to it; say what the output"),
        (("mx-106/m6", "--command", "step size=1V"), "size of step is '1V', which is not an angle"),
        (("mx-106/m6", "--command", "stp size=1"), "unknown command 'stp'; did you mean 'step'?"),
        (("mx-106/m6", *STEP, "--vary", "drive.proportinal=1,2"), "did you mean 'drive.proportional'?"),
        (("mx-106/m6", *STEP, "--vary", "drive.proportional"), "expected PATH=VALUE,VALUE"),
        (("mx-106/m6", *STEP, "--vary", "bench.mass=1,2"), "unknown number to vary 'bench.mass'"),
        (
            ("mx-106/m6", *STEP, "--vary", f"drive.proportional={'1,' * 100}1"),
            "asks for 101 runs; expected 100",
        ),
        (("mx-106/m6", *STEP, *["--vary", "drive.proportional=1"] * 2), "names a number twice"),
        (("mx-106/m6", *STEP, "--plot", "a.bmp"), "'a.bmp' ends in '.bmp'; expected one of .png"),
        (("mx-106/m6", *STEP, "-o", "a.xlsx"), "expected a table that ends in .csv, .npz, .parquet"),
        (("mx-106/m6", *STEP, "--timestep", "1e-9"), "samples; expected 2e\\+06 at most"),
        (("mx-106/m6", "--command", "not-there.csv"), "there is no file 'not-there.csv'"),
        (("mx-106/m6", *STEP, "--start-temperature", "60"), "no thermal model of its winding"),
    ],
)
def test_refusals(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BackemfError, match=said):
        run(*words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "bench"),
    [
        ("pendulum,mass=0.5,length=0.1", be.bench.Pendulum(mass=0.5, length=0.1)),
        (
            "pendulum mass=500g length=10 cm arm_mass=20g",
            be.bench.Pendulum(mass=0.5, length=0.1, arm_mass=0.02),
        ),
        (
            "pendulum mass=0.535 +- 0.002 kg, length=0.1",
            be.bench.Pendulum(mass=0.535, length=0.1, tolerances={"mass": 0.002}),
        ),
        ("Flywheel inertia=2e-4kg*m^2", be.bench.Flywheel(inertia=2e-4)),
        ("free-shaft", be.bench.FreeShaft()),
    ],
)
def test_a_bench_in_words(text, bench):
    assert bench_of(text) == bench


def test_a_bench_is_said_as_a_person_says_it():
    assert words_of(bench_of("pendulum mass=500g length=10cm")) == "pendulum, mass 0.5 kg, length 0.1 m"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pendulm mass=1", "unknown bench 'pendulm'; did you mean 'pendulum'?"),
        ("pendulum mas=1 length=1", "unknown word of pendulum 'mas'; did you mean 'mass'?"),
        ("pendulum mass=1", r"Pendulum needs length \(in m\)"),
        ("pendulum mass=1 ohm length=1", "bench.mass is '1 ohm', which is not a mass"),
        ("flywheel inertia=-1", "bench.inertia is -1 kg m\\^2; expected more than 0"),
    ],
)
def test_a_bench_that_cannot_be_understood(text, said):
    with pytest.raises(BackemfError, match=said):
        bench_of(text)


GEARED = ("falcon-500", "--ratio", "10", "--motors", "2", "--set", "motor.rotor_inertia=1e-4")


def test_motors_behind_gears_accelerate_as_the_gearbox_equations_say():
    """alpha = (n G K_t I - n G tau_s) / (J + n G^2 J_r): friction counts G once, inertia twice. One part in a
    thousand is left for the rise of the current."""
    motor = be.Actuator.read("falcon-500")
    words = ("--control", "current", "--command", "constant value=20A", "--duration", "1")
    content = told(*GEARED, *words, "--bench", "flywheel inertia=0.5kg*m^2")
    torque = 2 * 10 * (motor.motor.torque_constant * 20.0 - motor.friction.moving)
    (one,) = content["runs"]
    assert one["peak_speed"] == pytest.approx(torque / (0.5 + 2 * 100 * 1e-4), rel=1e-3)
    assert one["peak_torque"] == pytest.approx(2 * 10 * motor.motor.torque_constant * 20.0)
    assert content["notes"][-1] == "2 of it behind 10:1"


def test_the_gains_of_motors_behind_gears_hold_in_their_simulation():
    gains = be.convert.gains(
        be.Actuator.read("falcon-500").replace(**{"motor.rotor_inertia": 1e-4}),
        ratio=10.0,
        n_motors=2,
        inertia=0.05,
    )
    (one,) = told(*GEARED, "--bench", "flywheel inertia=0.05", "--command", "step size=6V")["runs"]
    assert one["peak_speed"] == pytest.approx((6.0 - gains.kS) / gains.kV, rel=1e-4)


@pytest.mark.parametrize("source", ["mx-106/m6", "xl430-w250"])
def test_gears_behind_a_servo_with_its_own_loop_are_refused(source):
    with pytest.raises(BackemfError, match="told volts or amperes"):
        run(source, "--ratio", "2", *STEP, "--bench", "locked")
