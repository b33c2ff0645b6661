"""A robot's log with the tests of two mechanisms: which one is meant, in which unit, with which loops,
and what is printed, pasted and handed to programs."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from backemf.apps.cli.command_builder import from_data
from backemf.apps.web.uploads import stored_name
from backemf.errors import BackemfError, InvalidValue, MissingValue, UnknownName
from backemf.kits.frc import wpilog
from backemf.kits.frc.characterize import characterize
from backemf.kits.frc.commands import (
    CHARACTERIZE,
    CharacterizeOptions,
    CharacterizeWords,
    _ask_mechanism as asked_name,
    characterize as run_command,
)
from backemf.kits.frc.demo_robot import mechanisms, write_robot_log
from backemf.kits.frc.figures import step_panels
from backemf.kits.frc.loop_gains import loops_of, position_gains, simulate_step, step_response
from backemf.kits.frc.mechanism_constants import constants, physics
from backemf.kits.frc.trials import TESTS, make_run
from backemf.kits.frc.wpilog_runs import mechanism_logs
from backemf.kits.frc.wpilog_units import OpenSignal, UnitNotStated, likely_unit
from backemf.logs.read import read
from backemf.logs.recording import ReadError
from backemf.tables import number

from ..cli.runner import runner
from .test_characterize import WEAK, codes, record, recorded

SEVERAL = (
    "these recordings are of 2 mechanisms: arm (4 runs), flywheel (4 runs); say which with --name arm (in"
    " Python, name='arm')"
)
HOW = {"slow": 1.0, "T": 3.0, "dt": 0.01}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return write_robot_log(tmp_path_factory.mktemp("robot") / "robot.wpilog")


def test_two_mechanisms_are_never_merged(robot):
    logs = mechanism_logs(str(robot))
    assert [log.mechanism for log in logs] == ["arm"] * 4 + ["flywheel"] * 4
    with pytest.raises(MissingValue) as caught:
        characterize(logs, "arm")
    assert str(caught.value) == SEVERAL
    with pytest.raises(UnknownName) as unknown:
        characterize(logs, "arm", name="arn")
    assert str(unknown.value) == "unknown mechanism 'arn'; did you mean 'arm'? Valid: arm, flywheel"
    with pytest.raises(InvalidValue) as nameless:
        characterize(recorded(WEAK, **HOW), name="arm")
    assert str(nameless.value) == ("name is 'arm', but the recordings do not say which mechanism they are of")


@pytest.mark.parametrize("how", [{"name": "arm"}, {"name": "ARM"}, {"preset": "sysid:arm"}])
def test_one_of_them_is_chosen_by_name(robot, how):
    logs = mechanism_logs(str(robot), **how)
    assert [log.mechanism for log in logs] == ["arm"] * 4
    measured = characterize(logs, "arm", units="rotations")
    arm = mechanisms()["arm"].actuator
    # back-EMF of the motor behind its gears: G K_e, and a little more for viscous friction
    expected = 60 * arm.motor.back_emf_constant * 2 * math.pi
    assert measured["kV"] == pytest.approx(expected, rel=0.01)


def test_the_physics_behind_both_is_that_which_was_simulated(robot):
    logs = mechanism_logs(str(robot))
    arm = physics(characterize(logs, "arm", name="arm"), "neo", ratio=60.0)
    assert arm.inertia == pytest.approx(4 * 0.6**2, rel=0.01)
    assert arm.friction == pytest.approx(1.5, rel=0.02)  # nobody says that a ramp holds its samples
    assert arm.gravity == pytest.approx(4 * 0.6 * 9.81, rel=0.01)
    wheel = physics(characterize(logs, "flywheel", name="flywheel"), "kraken-x60", ratio=1.0)
    assert wheel.inertia == pytest.approx(0.004, rel=0.01)
    assert wheel.friction == pytest.approx(0.06, rel=0.01)
    assert (arm.units["inertia"], arm.units["friction"]) == ("kg m^2", "N m")


def test_in_a_script_the_question_is_an_error(robot):
    words = ["characterize", str(robot), "--mechanism", "arm", "--constants", "java", "--json"]
    program = "from backemf.apps.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == f"backemf: {SEVERAL}\n"
    error, remedy = SEVERAL.split("; ")
    assert json.loads(done.stdout) == {"error": error, "remedy": remedy}


def test_at_a_terminal_it_asks(robot, monkeypatch):
    from backemf.apps.cli import terminal as module

    asked = []
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(module.sys, name, type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr(module.typer, "prompt", lambda text, err: asked.append(text) or "flywheel")
    logs = mechanism_logs(str(robot))
    with module.at_terminal("", json=False) as terminal:
        assert asked_name(logs, terminal) == "flywheel"
        assert asked == ["Tests of which mechanism? There are arm, flywheel"]
        assert asked_name(logs[:4], terminal) is None
    with module.at_terminal("", json=True) as terminal:
        assert asked_name(logs, terminal) is None


def test_a_name_for_files_that_have_none(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time [s],voltage [V],position [rad]\n0,0,0\n1,1,1\n")
    with pytest.raises(ReadError) as caught:
        mechanism_logs(str(path), name="arm")
    assert str(caught.value) == (
        f"{path}: the name of a mechanism, 'arm', chooses among the tests of a WPILOG"
    )


def test_a_mechanism_whose_name_ends_as_another_keeps_its_own_motors(tmp_path):
    """`arm` and `forearm`, and `left-arm`: the motor m of each is in its own tests only."""
    logged: dict = {}
    for k, name in enumerate(("arm", "forearm", "left-arm")):
        t, u, p, v = record(TESTS[0], (0.2, 1.0 + k, 0.1), **HOW)
        logged[f"sysid-test-state-{name}"] = ("string", "", [(10.0 * k, TESTS[0]), (10.0 * k + 3, "none")])
        for signal, unit, x in (("voltage", "Volt", u), ("position", "Radian", p), ("velocity", "rad/s", v)):
            rows = [(10.0 * k + a, float(b)) for a, b in zip(t, x, strict=True)]
            logged[f"{signal}-m-{name}"] = ("double", unit, rows)
    path = wpilog.write_wpilog(tmp_path / "arms.wpilog", logged)
    logs = mechanism_logs(str(path))
    assert [log.mechanism for log in logs] == ["arm", "forearm", "left-arm"]
    assert all(len(log.signals) == 3 for log in logs)


def linear_log(path, unit="Meter"):
    logged: dict = {"sysid-test-state-lift": ("string", "", [])}
    for k, test in enumerate(TESTS):
        t, u, p, v = record(
            test, WEAK, (0.4, 0.0, 0.0), noise=(0.01, 0.001), rng=np.random.default_rng(k), **HOW
        )
        logged["sysid-test-state-lift"][2].extend([(10.0 * k, test), (10.0 * k + 4, "none")])
        for signal, word, x in (
            ("voltage", "Volt", u),
            ("position", unit, p),
            ("velocity", f"{unit} per Second", v),
        ):
            rows = logged.setdefault(f"{signal}-m-lift", ("double", word, []))[2]
            rows.extend((10.0 * k + a, float(b)) for a, b in zip(t, x, strict=True))
    return mechanism_logs(str(wpilog.write_wpilog(path, logged, force=True)))


def test_the_files_unit_wins_over_one_of_the_other_kind(tmp_path):
    metres, turns = linear_log(tmp_path / "m.wpilog"), linear_log(tmp_path / "rot.wpilog", "Rotation")
    with pytest.raises(InvalidValue) as caught:
        characterize(metres, "elevator", units="rotations")
    assert str(caught.value) == (
        "units is 'rotations', but the position in dynamic-reverse m (m lift 1) is a length; expected meters,"
        " feet or inches"
    )
    with pytest.raises(InvalidValue) as caught:
        characterize(turns, "elevator", units="feet")
    assert str(caught.value) == (
        "units is 'feet', but the position in dynamic-reverse m (rot lift 1) is an angle; expected radians,"
        " degrees or rotations"
    )
    with pytest.raises(
        InvalidValue, match=r"is in a unit of angle and .* in one of length; expected one kind"
    ):
        characterize([*metres[:2], *turns[2:]], "elevator")
    assert characterize(metres, "elevator", units="feet")["kV"] == pytest.approx(1.5 * 0.3048, rel=0.01)
    assert characterize(turns, "elevator").units == "radians"
    assert characterize(turns, "elevator", units="rotations")["kV"] == pytest.approx(1.5, rel=0.01)
    assert characterize(recorded(WEAK, (0.4, 0, 0), **HOW), "elevator").units == "meters"  # nobody said


def test_what_is_asked_of_the_regulator(robot):
    logs = mechanism_logs(str(robot), name="arm")
    how = {"max_error": 0.1, "max_velocity_error": 2.0, "max_effort": 6.0, "period": 0.005, "delay": 0.01}
    measured = characterize(logs, "arm", units="rotations", **how)
    expected = position_gains(
        measured["kV"],
        measured["kA"],
        max_position_error=0.1,
        max_velocity_error=2.0,
        max_effort=6.0,
        period=0.005,
        delay=0.01,
    )
    loop = measured.feedback["position"]
    assert (loop.kP, loop.kD) == (expected.kP, expected.kD)
    assert loop.design == "LQR: 0.1 rot and 2 rot/s off are worth 6 V; every 5 ms, measured 10 ms late"
    velocity = measured.feedback["velocity"].design
    assert velocity == "LQR: 2 rot/s off is worth 6 V; every 5 ms, measured 10 ms late"


def test_a_slow_position_loop_is_pointed_out_with_a_remedy_that_works(robot):
    logs = mechanism_logs(str(robot), name="arm")
    slow, quick = (characterize(logs, "arm", units="rotations", max_error=e) for e in (0.5, 0.1))
    (said,) = [f for f in slow.findings if f.code == "slow_loop"]
    assert said.text == "the position loop takes 4.8 s to come within 2 % of a step of 0.443 rot."
    reached = quick.feedback["position"].settles
    assert said.remedy.startswith(f"--max-error 0.1 [rot] makes it {reached:.2g} s; or ask for a time")
    assert "slow_loop" not in codes(quick)
    assert reached < 1.0 < slow.feedback["position"].settles == said.numbers["time"]
    never = characterize(logs, "arm", units="rotations")
    assert "of a step of 0.88 rot: it has not settled after 8 s." in str(never.findings)
    wheel = characterize(mechanism_logs(str(robot)), "flywheel", name="flywheel")
    assert set(wheel.feedback) == {"velocity"}


def settling_by_poles(kV, kA, kP, kD):
    """Until kA p'' + (kV + kD) p' + kP p = kP stays within 2 %: without friction, delay or limit."""
    a, b = np.roots([kA, kV + kD, kP]).astype(complex)
    t = np.linspace(0.0, -10.0 / max(a.real, b.real), 40001)
    off = np.abs((b * np.exp(a * t) - a * np.exp(b * t)) / (b - a))
    return float(t[np.flatnonzero(off > 0.02)[-1]])


@pytest.mark.parametrize(
    "gains",
    [
        (3.06, 0.327, 6.4, 2.5),
        pytest.param((3.06, 0.327, 60.0, 0.1), marks=pytest.mark.proof),
        pytest.param((0.0, 0.3, 5.0, 1.0), marks=pytest.mark.proof),
    ],
)
def test_a_simulated_step_settles_as_its_poles_say(gains):
    kV, kA, kP, kD = gains
    loop = replace(position_gains(3.0, 0.3, period=1e-3), volts_per_error=kP, volts_per_rate=kD, step=1.0)
    run = simulate_step(loop, {"kS": 0.0, "kV": kV, "kA": kA}, 1e6)
    # the loop runs every millisecond, which delays it by half of one
    assert run.settling_time == pytest.approx(settling_by_poles(*gains), rel=0.01)


def test_one_settling_time_is_in_text_finding_picture_and_json(robot):
    """Simulated with friction and the limit of the input, of the step that is said."""
    logs = mechanism_logs(str(robot), name="arm")
    arm = characterize(logs, "arm", units="degrees", settling_time=0.5, step=90.0, max_error=0.1)
    known = {name: arm.gains[name].value for name in ("kS", "kV", "kA", "kG")}
    titles = [panel.title for panel in step_panels(arm)]
    told = " ".join(str(arm).split())
    for name, loop in arm.feedback.items():
        run = step_response(loop, **known, step=loop.step, limit=12.0, duration=4.0)
        (title,) = [title for title in titles if title.startswith(f"{name} step")]
        if loop.settles is None:
            off = abs(loop.step - run.position[-1])
            assert loop.note == f"friction holds it {off:.2g} deg off" != ""
            assert off == pytest.approx(known["kS"] / loop.volts_per_error, rel=0.02)
            assert title.endswith(loop.note)
            assert f"Friction holds it {off:.2g} deg off." in told
        else:
            assert loop.settles == pytest.approx(run.settling_time)
            assert title.endswith(f"settles in {loop.settles:.2g} s")
            assert f"comes within 2 % in {number(loop.settles, 2)} s" in told
    (said,) = [f for f in arm.findings if f.code == "slow_loop"]
    assert said.text.endswith(f"a step of 0.1 deg: {arm.feedback['position'].note}.")
    settling = arm.feedback["settling"]
    assert settling.settles > 0.5
    assert settling.note == "the limit of the input does not allow 0.5 s"
    assert "10.1899" not in told


def test_a_step_is_half_of_what_the_input_reaches_and_no_longer_than_its_error():
    gains = {"kS": 0.0, "kV": 2.0, "kA": 0.2, "kG": 1.0}
    loops = loops_of(gains, CharacterizeOptions(max_error=0.05), ("m", "V"), 12.0)
    assert loops["position"].step == 0.05  # 0.5 * 12 V would be further
    assert loops["velocity"].step == pytest.approx(0.5 * (12.0 - 1.0) / 2.0)
    heavy = loops_of(gains | {"kV": 0.0}, CharacterizeOptions(), ("m", "A"), 12.0)
    assert heavy["velocity"].step == pytest.approx(0.5 * (12.0 - 1.0) / 0.2)  # in a second
    far = loops_of(gains, CharacterizeOptions(max_error=10.0), ("m", "V"), 12.0)["position"]
    assert far.step == pytest.approx(min(0.5 * 12.0 / far.volts_per_error, 10.0))


def test_what_is_printed_fits_a_terminal_and_reads_as_sentences(robot):
    run = runner(from_data(CHARACTERIZE, "characterize"))
    words = ("--mechanism", "arm", "--units", "rotations", "--motor", "neo", "--ratio", "60")
    text = run(robot, "--name", "arm", *words, "--constants", "java")
    assert max(map(len, text.splitlines())) <= 80
    told = " ".join(text.split())
    assert "velocity feedback: kP 1.166 V per rot/s. LQR: 1.5 rot/s off is worth 7 V; every 20 ms," in told
    assert "behind the gains: inertia 1.44 kg m^2 (0.001 to 20 is plausible); friction 1.517 N m;" in told
    rev = " ".join(run(robot, "--name", "arm", *words, "--controller", "rev-neo").split())
    assert "V per rot/s) as rev-neo counts. LQR" in rev
    for line in text.splitlines():
        if line[:2] in ("kS", "kV", "kA", "kG"):
            _, value, low, high, _ = line.split()
            assert float(low) < float(value) < float(high)


def test_the_documented_keys_are_those_that_are_printed(robot):
    run = runner(from_data(CHARACTERIZE, "characterize"))
    words = ("--name", "flywheel", "--mechanism", "flywheel", "--motor", "kraken-x60", "--ratio", "1")
    out = json.loads(run(robot, *words, "--constants", "python", "--json"))
    assert set(out) == {
        *("mechanism", "control", "method", "units", "tests", "gains", "feedback", "findings", "r2"),
        "options",
        *(
            "velocity_error",
            "timescale",
            "delay",
            "position_delay",
            "window",
            "limit",
            "constants",
            "physics",
        ),
    }
    assert set(out["gains"]["kV"]) == {"value", "low", "high", "unit"}
    assert set(out["feedback"]["velocity"]) == {
        *("loop", "kP", "kD", "volts_per_error", "volts_per_rate", "period", "delay", "design", "note"),
        *("step", "settles", "controller", "against_friction"),
    }
    assert set(out["physics"]) == {
        *("inertia", "friction", "viscous", "gravity", "resistance", "units", "ratio", "motors", "predicted"),
        "plausible",
    }
    space: dict = {}
    exec(out["constants"], space)
    assert space["kInertia"] == pytest.approx(0.004, rel=0.01)
    assert space["kGearing"] == 1.0


PLANTS = {
    ("arm", "neo", "java", "2026"): (
        "LinearSystemId.createSingleJointedArmSystem(",
        "DCMotor.getNEO(2), kInertia, kGearing);",
    ),
    ("elevator", "kraken-x60", "java", "2026"): (
        "LinearSystemId.createElevatorSystem(",
        "DCMotor.getKrakenX60(2), kInertia, kRadius, kGearing);",
    ),
    ("flywheel", "neo-vortex", "c++", "2026"): (
        "frc::LinearSystemId::FlywheelSystem(",
        "frc::DCMotor::NeoVortex(2), kInertia, kGearing);",
    ),
    ("simple", "neo-550", "java", "2026"): (
        "LinearSystemId.createFlywheelSystem(",
        "DCMotor.getNeo550(2), kInertia, kGearing);",
    ),
    ("flywheel", "falcon-500", "python", "2026"): (
        "LinearSystemId.flywheelSystem(",
        "DCMotor.falcon500(2), kInertia, kGearing)",
    ),
    ("arm", "neo", "java", "2027"): (
        "Models.singleJointedArmFromPhysicalConstants(",
        "DCMotor.getNEO(2), kInertia, kGearing);",
    ),
    ("elevator", "kraken-x60", "c++", "2027"): (
        "wpi::math::Models::ElevatorFromPhysicalConstants(",
        "wpi::math::DCMotor::KrakenX60(2), kInertia, kRadius, kGearing);",
    ),
    ("arm", "kraken-x60-foc", "python", "2027"): (
        "Models.single_jointed_arm_from_physical_constants(",
        "DCMotor.kraken_x60_foc(2), kInertia, kGearing)",
    ),
}
"""What WPILib's documentation calls for a plant (docs.wpilib.org, physics simulation; of 2027, CTRE's
examples for its alpha 7)."""


@pytest.mark.parametrize(("mechanism", "motor", "language", "season"), PLANTS)
def test_constants_of_a_simulation(mechanism, motor, language, season):
    gains = {"kS": 0.1, "kV": 3.0, "kA": 0.2, "kG": 0.5}
    plant = {"gearing": (60.0, "turns"), "inertia": (1.5, "kg m^2"), "friction": (0.2, "N m")}
    plant |= {"radius": (0.02, "m")} if mechanism == "elevator" else {}
    how = {"mechanism": mechanism, "language": language, "season": season, "simulation": plant}
    text = constants(gains, **how, motor=motor, n_motors=2)
    joined = " ".join(line.lstrip("/# ") for line in text.splitlines())
    assert "".join(PLANTS[mechanism, motor, language, season]).replace(" ", "") in joined.replace(" ", "")
    assert max(map(len, text.splitlines())) <= 80
    assert "kFriction = 0.2" in text
    assert "DCMotor" not in constants(gains, **how)


def test_what_is_done_is_told_with_its_share(robot):
    told: list[tuple[str, float]] = []
    logs = mechanism_logs(str(robot), name="arm", progress=lambda *row: told.append(row))
    assert {words for words, _ in told} == {f"reading {robot.name}"}
    assert told[-1][1] == 1.0
    del told[:]
    characterize(logs, "arm", progress=lambda *row: told.append(row))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert len(set(shares)) == len(told) >= 6
    assert 0.0 < shares[0] < 0.1
    assert 0.6 < shares[-1] < 1.0
    assert told[-1][0].startswith("whether")


def test_a_run_by_hand_says_nothing_of_its_motion():
    assert make_run(TESTS[0], *record(TESTS[0], WEAK, **HOW)).motion == ""


def without_units(robot, place, rpm=False):
    """The same log as a logger writes it that states no unit."""
    logged = {}
    for series in wpilog.read_entries(robot):
        fast = 60.0 if rpm and series.name.startswith("velocity") else 1.0
        values = [v if series.type == "string" else fast * v for v in series.values]
        logged[series.name] = (series.type, "", list(zip(series.times, values, strict=True)))
    return wpilog.write_wpilog(place, logged)


@pytest.mark.parametrize("rpm", [False, True])
def test_a_log_without_units_takes_one_question_and_one_answer(robot, tmp_path, rpm):
    bare, run = (
        without_units(robot, tmp_path / "bare.wpilog", rpm),
        runner(from_data(CHARACTERIZE, "characterize")),
    )
    words = ("--name", "arm", "--mechanism", "arm")
    with pytest.raises(UnitNotStated) as asked:
        run(bare, *words)
    text = str(asked.value)
    found = re.search(
        r"the log states no unit for position-motor-arm \(-0\.238 to 0\.239, likely rotations\) and"
        r" velocity-motor-arm \([^()]+, likely rotations\)\. In which unit are they\? \(radians, degrees,",
        text,
    )
    assert found, text
    assert "flywheel" not in text
    assert text.count(", likely rotations)") == 2
    assert "--units rotations" in text
    told = json.loads(run(bare, *words, "--units", "rotations", "--json"))["gains"]
    stated = json.loads(run(robot, *words, "--units", "rotations", "--json"))["gains"]
    for name, gain in stated.items():
        assert told[name]["value"] == pytest.approx(gain["value"], rel=1e-9, abs=1e-12)
        assert told[name]["unit"] == gain["unit"]


@pytest.mark.parametrize("mechanism", ["arm", "flywheel"])
@pytest.mark.parametrize("how", ["units", "map"])
@pytest.mark.parametrize("unit", ["rotations", "degrees"])
def test_a_unit_that_the_numbers_contradict_is_a_finding(robot, tmp_path, mechanism, how, unit):
    bare = without_units(robot, tmp_path / "bare.wpilog")
    run = runner(from_data(CHARACTERIZE, "characterize"))
    maps = [
        f"{what}={what}-motor-{mechanism}[{unit}{per}]"
        for what, per in (("position", ""), ("velocity", "/s"))
    ]
    entries = {series.name for series in wpilog.read_entries(bare)}
    mapped = [
        word
        for text in maps
        if text.partition("=")[2].partition("[")[0] in entries
        for word in ("--map", text)
    ]
    words = ("--units", unit) if how == "units" else mapped
    asked = (
        "--name",
        mechanism,
        "--mechanism",
        mechanism,
        "--method",
        "one-step",
        "--threshold",
        "1e-4",
        "--json",
    )
    said = [f for f in json.loads(run(bare, *asked, *words))["findings"] if f["code"] == "units_suspect"]
    assert [unit == "degrees"] == [bool(said)]
    if said:
        assert f"is read as {unit}, as told" in said[0]["text"]
        assert said[0]["text"].endswith(f"what tests of this kind ({mechanism}) reach suggests rotations.")
        assert "say so: --units rotations" in said[0]["remedy"] or how == "map"
    stated = json.loads(run(robot, *asked, "--units", unit))["findings"]
    assert not [f for f in stated if f["code"] == "units_suspect"]  # the file says it itself


class Person:
    """Somebody at a terminal, with answers to give; and what was asked."""

    attended = True

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def say(self, text, share=None):
        pass

    def prompt(self, question):
        self.asked.append(question)
        return self.answers.pop(0)


@pytest.mark.parametrize("answer", ["Rotations", "rot", "revolutions", "RPM", "rot/s"])
def test_a_person_at_a_terminal_is_asked_for_the_unit_until_it_is_one(robot, tmp_path, answer):
    bare = without_units(robot, tmp_path / "bare.wpilog", rpm=answer == "RPM")
    words, person = (
        CharacterizeWords(logs=[str(bare)], name="arm", mechanism="arm"),
        Person("turnips", answer),
    )
    gain = run_command(words, person).content()["gains"]["kV"]
    assert gain["unit"] == "V/(rot/s)"
    assert gain["value"] == pytest.approx(7.5, rel=0.01)  # 60 of a NEO, in volts per turn a second
    assert "In which unit are they? (radians, degrees, rotations" in person.asked[0]
    assert person.asked[1].startswith("unknown unit 'turnips'; valid: degrees, feet, inches, meters")
    assert person.asked[1].endswith(person.asked[0])


@pytest.mark.parametrize(
    ("told", "unit"), [("rot", "rot"), ("radian", "rad"), ("rpm", "rot"), ("Degrees", "deg")]
)
def test_units_are_taken_as_people_spell_them(robot, tmp_path, told, unit):
    bare, run = (
        without_units(robot, tmp_path / "bare.wpilog"),
        runner(from_data(CHARACTERIZE, "characterize")),
    )
    words = ("--name", "flywheel", "--mechanism", "flywheel", "--method", "one-step", "--json", "--units")
    assert json.loads(run(bare, *words, told))["gains"]["kV"]["unit"] == f"V/({unit}/s)"
    assert json.loads(run(robot, *words, told))["gains"]["kV"]["unit"] == f"V/({unit}/s)"
    with pytest.raises(BackemfError, match="unknown unit 'furlongs'; valid: degrees, feet"):
        run(bare, *words, "furlongs")


def test_each_signal_without_a_unit_has_its_own_guess(robot, tmp_path):
    """A kind that is told is that of one mechanism, not of every one in the log."""
    bare = str(without_units(robot, tmp_path / "bare.wpilog"))
    with pytest.raises(UnitNotStated) as asked:
        mechanism_logs(bare, mechanism="elevator")
    text = str(asked.value)
    for signal in ("position-motor-arm", "velocity-motor-arm", "velocity-motor-flywheel"):
        assert re.search(rf"{signal} \([-\d.]+ to [-\d.]+, likely rotations\)", text), signal
    with pytest.raises(UnitNotStated, match=r"position-motor-arm \(-0\.238 to 0\.239, likely meters\)"):
        mechanism_logs(bare, mechanism="elevator", name="arm")


@pytest.mark.parametrize(
    ("words", "rotations"),
    [(("--max-error", "18deg"), 0.05), (("--max-error", "0.05rot"), 0.05), (("--max-error", "0.1"), 0.1)],
)
def test_an_error_is_typed_with_a_unit_of_its_own(robot, words, rotations):
    run = runner(from_data(CHARACTERIZE, "characterize"))
    known = ("--name", "arm", "--mechanism", "arm", "--units", "rotations", "--method", "one-step", "--json")
    said = json.loads(run(robot, *known, *words))
    assert said["feedback"]["position"]["design"].startswith(f"LQR: {rotations} rot and 1.5 rot/s off")
    assert said["options"]["max_error"] == pytest.approx(rotations)


def test_a_step_is_typed_with_the_unit_of_what_settles(robot):
    run = runner(from_data(CHARACTERIZE, "characterize"))
    known = ("--name", "arm", "--mechanism", "arm", "--units", "rotations", "--method", "one-step", "--json")
    settle = (*known, "--settle", "500ms", "--max-velocity-error", "360deg/s")
    turned = json.loads(run(robot, *settle, "--step", "90deg"))["feedback"]
    assert turned["settling"]["step"] == pytest.approx(0.25)
    assert "1.5 rot/s" not in turned["velocity"]["design"]
    fast = json.loads(run(robot, *settle, "--step", "60rpm", "--loop", "velocity"))["feedback"]
    assert fast["settling"]["step"] == pytest.approx(1.0)
    with pytest.raises(BackemfError, match="--step is '60rpm', which is not an angle"):
        run(robot, *settle, "--step", "60rpm")
    with pytest.raises(BackemfError, match="--max-error is '50mm', which is not an angle"):
        run(robot, *known, "--max-error", "50mm")


def test_what_a_log_proposes_is_understood(robot, tmp_path):
    """The mappings that are written for signals without a unit can be given back as they are."""
    bare = str(without_units(robot, tmp_path / "bare.wpilog"))
    with pytest.raises(ReadError, match="by its numbers rotations are likely") as caught:
        read(bare)
    proposed = re.findall(r"write (\w+=[\w-]+\[[^]]+\])", str(caught.value))
    assert proposed == ["position=position-motor-arm[rotations]", "velocity=velocity-motor-arm[rotations/s]"]
    mapped, stated = mechanism_logs(bare, name="arm", map=proposed), mechanism_logs(str(robot), name="arm")
    for log, whole in zip(mapped, stated, strict=True):
        for signal in ("position", "velocity"):
            np.testing.assert_allclose(log[signal], whole[signal], rtol=1e-12)


def test_a_mapping_adds_to_what_was_recognised(robot, tmp_path):
    bare = str(without_units(robot, tmp_path / "bare.wpilog"))
    velocity = "velocity=velocity-motor-arm[rev/s]"
    with pytest.raises(
        UnitNotStated, match=r"for position-motor-arm \(-0\.2\d+ to [\d., a-z]+\)\. In which unit is it\? "
    ) as left:
        mechanism_logs(bare, map=[velocity], name="arm")
    assert "velocity-motor-arm" not in str(left.value)
    logs = mechanism_logs(bare, map=[velocity, "position=position-motor-arm[rev]"], name="arm")
    for log, whole in zip(logs, mechanism_logs(str(robot), name="arm"), strict=True):
        assert set(log.signals) == set(whole.signals) == {"voltage", "position", "velocity"}
        for name, signal in whole.signals.items():
            np.testing.assert_array_equal(log.signals[name].values, signal.values)
    left_out = mechanism_logs(str(robot), name="arm", map=["none=velocity-motor-arm"])
    assert set(left_out[0].signals) == {"voltage", "position"}


@pytest.mark.parametrize(
    ("mechanism", "low", "high", "unit"),
    [
        ("arm", -0.2, 0.3, "rotations"),
        ("arm", -1.4, 1.5, "radians"),
        ("wrist", -90.0, 80.0, "degrees"),
        ("elevator", 0.0, 0.9, "meters"),
        ("lift", 0.0, 40.0, "inches"),
        ("lift", 0.0, 3.0, "feet"),
    ],
)
def test_numbers_suggest_their_unit(mechanism, low, high, unit):
    assert likely_unit([OpenSignal("position-x", "position", mechanism, low, high)], "simple") == unit


def test_makers_formats_are_named_with_what_converts_them(tmp_path):
    for suffix, tool in ((".hoot", "owlet"), (".revlog", "revlog-converter"), (".rlog", "AdvantageScope")):
        path = tmp_path / f"match{suffix}"
        path.write_bytes(b"\x00\x01")
        with pytest.raises(ReadError, match=tool):
            mechanism_logs(str(path))
        with pytest.raises(InvalidValue, match=tool):
            stored_name(path.name)


def test_velocities_per_minute_are_told_by_positions_or_by_what_no_motor_reaches():
    """A flywheel at 3,130 rpm: beside its position in rotations, and alone."""
    top = OpenSignal("v", "velocity", "shooter", -3130.0, 3130.0)
    assert likely_unit([top._replace(per_minute=True)], "flywheel") == "rotations"
    assert likely_unit([top], "flywheel") == "rotations"
    assert likely_unit([top._replace(low=-400.0, high=400.0)], "flywheel") == "radians"


def test_a_velocity_that_no_motor_reaches_is_per_minute(tmp_path):
    logged: dict = {"sysid-test-state-shooter": ("string", "", []), "voltage-top-shooter": ("double", "", [])}
    logged["velocity-top-shooter"] = ("double", "", [])
    for k, test in enumerate(TESTS):
        t, u, _, v = record(test, (0.2, 0.0208, 0.004), dt=0.02, T=3.0, slow=1.0)
        logged["sysid-test-state-shooter"][2].extend((x, test) for x in 10.0 * k + t)
        logged["sysid-test-state-shooter"][2].append((10.0 * k + 3.0, "none"))
        logged["voltage-top-shooter"][2].extend(zip(10.0 * k + t, u, strict=True))
        logged["velocity-top-shooter"][2].extend(zip(10.0 * k + t, v * 60 / (2 * math.pi), strict=True))
    path = wpilog.write_wpilog(tmp_path / "rpm.wpilog", logged)
    with pytest.raises(UnitNotStated, match="likely rotations"):
        mechanism_logs(str(path), mechanism="flywheel")
    measured = characterize(mechanism_logs(str(path), units="rotations"), "flywheel", units="rotations")
    assert measured["kV"] == pytest.approx(0.0208 * 2 * math.pi, rel=0.01)
