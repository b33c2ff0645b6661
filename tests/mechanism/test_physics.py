"""The mechanism behind gains, by hand: torque per input, inertia, resistance, and what is off."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from backemf.apps.cli.command_builder import from_data
from backemf.datasheets.parts import sheet
from backemf.errors import BackemfError, InvalidValue, MissingValue
from backemf.kits.frc.characterization import Characterization, FeedforwardGain
from backemf.kits.frc.commands import CHARACTERIZE, CharacterizeWords
from backemf.kits.frc.mechanism_constants import physics, theoretical
from backemf.kits.frc.trials import TESTS, make_run, roll
from backemf.kits.frc.wpilog import write_wpilog
from backemf.physics.motor import Motor

from ..cli.runner import runner
from .test_characterize import record

MOTOR = Motor(resistance=0.1, torque_constant=0.02, rotor_inertia=1e-5)
HOW = {"ratio": 20.0, "n_motors": 2}
"""At the output: 0.4 V s/rad, 2 * 20 * 0.02 = 0.8 N m/A, 8 N m/V, and 2 * 400 * 1e-5 = 0.008 kg m^2."""
SIZES = {"radians": 1.0, "rotations": 6.283185, "degrees": 0.01745329, "feet": 0.3048}


def measured(control="voltage", units="radians", **values):
    gains = {
        name: FeedforwardGain(value=value, low=None, high=None, unit="") for name, value in values.items()
    }
    nothing = dict.fromkeys(("r2", "velocity_error", "timescale", "delay", "position_delay", "limit"), 0.0)
    return Characterization(
        mechanism="simple",
        control=control,
        method="",
        units=units,
        gains=gains,
        feedback={},
        findings=(),
        window=None,
        tests=(),
        **nothing,
    )


@pytest.mark.parametrize("units", SIZES)
def test_gains_in_volts(units):
    size = SIZES[units]
    given = measured(units=units, kS=0.05, kV=0.42 * size, kA=0.03 * size, kG=0.25)
    back = physics(given, MOTOR, inertia=0.12, **HOW)
    assert back.inertia == pytest.approx(0.03 * 8, rel=1e-6)
    assert back.friction == pytest.approx(0.05 * 8)
    assert back.viscous == pytest.approx((0.42 - 0.4) * 8, rel=1e-5)
    assert back.gravity == pytest.approx(0.25 * 8)
    # kA = R J / K_t
    assert back.resistance == pytest.approx(0.03 * 0.8 / 0.12, rel=1e-6)
    assert dict(back.predicted) == pytest.approx({"kV": 0.4 * size, "kA": 0.1 * 0.12 / 0.8 * size}, rel=1e-6)
    assert [f.code for f in back.findings] == ["resistance_high"]
    assert back.findings[0].text == "the effective resistance is 0.2 ohm, the motor's own 0.1 ohm."


@pytest.mark.parametrize("units", SIZES)
def test_gains_in_amperes(units):
    size = SIZES[units]
    given = measured("current", units, kS=0.5, kV=0.1 * size, kA=0.3 * size, kG=0.25)
    back = physics(given, MOTOR, inertia=0.12, **HOW)
    assert (back.inertia, back.friction) == pytest.approx((0.3 * 0.8, 0.5 * 0.8), rel=1e-6)
    assert (back.viscous, back.gravity) == pytest.approx((0.1 * 0.8, 0.25 * 0.8), rel=1e-6)
    assert dict(back.predicted) == pytest.approx({"kV": 0.0, "kA": 0.12 / 0.8 * size}, rel=1e-6)
    assert back.resistance is None
    assert not back.findings


def test_what_was_not_measured_is_not_told():
    back = physics(measured(kV=0.4, kA=0.03), MOTOR, **HOW)
    assert (back.friction, back.gravity, back.resistance) == (None, None, None)
    assert dict(back.predicted) == pytest.approx({"kV": 0.4})
    assert physics(measured(kV=0.4, kA=0.03), MOTOR, ratio=20.0).inertia == pytest.approx(0.03 * 4)
    with pytest.raises(MissingValue, match="needs kV and kA"):
        physics(measured(kS=0.1, kV=0.4), MOTOR, **HOW)
    with pytest.raises(MissingValue, match="needs kV and kA"):
        physics(measured(kS=0.1, kV=None, kA=0.4), MOTOR, **HOW)


@pytest.mark.parametrize(("share", "said"), [(1.4, False), (1.6, True)])
def test_a_resistance_may_be_half_as_much_again(share, said):
    back = physics(measured(kV=0.4, kA=share * 0.1 * 0.12 / 0.8), MOTOR, inertia=0.12, **HOW)
    assert back.resistance == pytest.approx(share * 0.1)
    assert [f.code for f in back.findings] == (["resistance_high"] if said else [])


@pytest.mark.parametrize(("inertia", "said"), [(0.0079, True), (0.0081, False)])
def test_an_inertia_is_at_least_that_of_the_rotors(inertia, said):
    back = physics(measured(kV=0.4, kA=inertia / 8), MOTOR, **HOW)
    assert [f.code for f in back.findings] == (["inertia_low"] if said else [])


@pytest.mark.parametrize(
    ("mechanism", "units", "low", "high"),
    [("drivetrain", "feet", 15.0, 75.0), ("elevator", "feet", 1.0, 40.0),
     ("arm", "degrees", 1e-3, 20.0), ("flywheel", "degrees", 1e-5, 0.1)],
)  # fmt: skip
def test_a_mass_or_inertia_of_a_size_that_robots_have(mechanism, units, low, high):
    """Of its own kind of motion: an elevator that is told in radians is no mass, nor is a plain mechanism."""
    light, other = replace(MOTOR, rotor_inertia=1e-9), "degrees" if units == "feet" else "feet"

    def told(inertia, kind=mechanism, unit=units):
        given = measured(units=unit, kV=0.4 * SIZES[unit], kA=inertia / 8 * SIZES[unit])
        back = physics(replace(given, mechanism=kind), light, **HOW)
        assert (back.linear, back.units["inertia"]) == (unit == "feet", "kg" if unit == "feet" else "kg m^2")
        return [f.code for f in back.findings]

    for inside, outside in ((1.1 * low, 0.9 * low), (0.9 * high, 1.1 * high)):
        assert told(inside) == told(outside, kind="simple") == told(outside, unit=other) == []
        assert told(outside) == ["inertia_implausible"]


@pytest.mark.parametrize(
    ("ratio", "slip"),
    [
        # a turn is 2 pi rad, a degree pi / 180 rad, a minute 60 s
        (6.2832, "rotations read as radians"),
        (0.15915, "radians read as rotations"),
        (0.017453, "degrees read as radians"),
        (0.016667, "velocity per minute, not per second"),
        (0.10472, "rotations per minute read as radians per second"),
        (0.86, None),
        (1.29, None),
        (0.84, "no"),
        (1.31, "no"),
        (3.0, "no"),
        (-1.0, "no"),
        (0.0, "no"),
    ],
)
def test_a_kV_that_motor_and_gears_do_not_explain(ratio, slip):
    found = physics(measured(kV=0.4 * ratio, kA=0.03), MOTOR, **HOW).findings
    if slip is None:
        assert not found
        return
    (only,) = found
    assert only.code == ("kV_unexpected" if slip == "no" else "units_suspect")
    assert (f": as {slip} gives." in only.text) == (slip != "no")
    assert only.numbers["ratio"] == pytest.approx(ratio)


@pytest.mark.parametrize("units", SIZES)
def test_gains_to_expect(units):
    size = SIZES[units]
    load = {"inertia": 0.1, "motor_friction": 0.01, "output_friction": 0.5, "viscous": 0.05, "units": units}
    volts = theoretical(MOTOR, **HOW, **load)
    # friction: 2 * 20 * 0.01 + 0.5 N m, over 8 N m/V; inertia: 0.1 + 0.008
    assert tuple(volts) == pytest.approx((0.9 / 8, (0.4 + 0.05 / 8) * size, 0.108 / 8 * size), rel=1e-6)
    amperes = theoretical(MOTOR, **HOW, **load, control="current")
    assert tuple(amperes) == pytest.approx((0.9 / 0.8, 0.05 / 0.8 * size, 0.108 / 0.8 * size), rel=1e-6)
    plain = theoretical(MOTOR, ratio=20.0, inertia=0.1)
    assert tuple(plain) == pytest.approx((0.0, 0.4, 0.104 / 4), rel=1e-6)


@pytest.fixture(scope="module")
def elevator(tmp_path_factory):
    """Tests of an elevator of 12 kg on a drum of 44.5 mm behind a NEO and 9:1, as a WPILOG in metres, as
    SysId's JSON in inches, whose encoder counts turns of the drum, and as a WPILOG in such turns."""
    folder, neo = tmp_path_factory.mktemp("elevator"), sheet("neo").actuator(control="voltage").motor
    radius, force = 0.5 * 0.0445, neo.torque_constant * 9.0 / (0.5 * 0.0445)  # of an ampere at the drum [N]
    kV, kA = neo.torque_constant * 9.0 / radius, neo.resistance * 12.0 / force
    logged: dict = {"sysid-test-state-lift": ("string", "", []), "voltage-m-lift": ("double", "", [])}
    logged |= {
        "position-m-lift": ("double", "Meter", []),
        "velocity-m-lift": ("double", "Meter per Second", []),
    }
    keys = ("slow-forward", "slow-backward", "fast-forward", "fast-backward")
    inches = math.pi * 44.5 / 25.4  # a turn
    content: dict = {"sysid": True, "test": "Elevator", "units": "Inches", "unitsPerRotation": inches}
    for k, (test, key) in enumerate(zip(TESTS, keys, strict=True)):
        t, u, p, v = record(test, (0.3, kV, kA), (0.5, 0.0, 0.0), dt=0.01, T=3.0, slow=1.0, step=6.0)
        logged["sysid-test-state-lift"][2].extend(
            [(10.0 * k + x, test) for x in t] + [(10.0 * k + 3.0, "none")]
        )
        for name, values in (("voltage", u), ("position", p), ("velocity", v)):
            logged[f"{name}-m-lift"][2].extend(zip(10.0 * k + t, values, strict=True))
        turns = 0.0254 * inches
        content[key] = [list(row) for row in zip(t, u, p / turns, v / turns, strict=True)]
    (folder / "lift.json").write_text(json.dumps(content))
    turning = {
        name: (
            kind,
            unit.replace("Meter", "Rotation"),
            [(t, x if type(x) is str else x / turns) for t, x in rows],
        )
        for name, (kind, unit, rows) in logged.items()
    } | {"voltage-m-lift": logged["voltage-m-lift"]}
    metres, rotations = (
        write_wpilog(folder / f"{n}.wpilog", x) for n, x in (("m", logged), ("rot", turning))
    )
    return metres, folder / "lift.json", rotations


BEHIND = ("--mechanism", "elevator", "--motor", "neo", "--ratio", "9", "--json")


@pytest.mark.parametrize(
    ("words", "of_file"),
    [
        (("--drum-diameter", "44.5 mm"), 0),
        (("--drum-diameter", "0.0445"), 0),
        (("--wheel-diameter", "1.751968504in"), 0),
        ((), 1),
        (("--drum-diameter", "44.5 mm"), 2),
    ],
)
def test_a_mass_follows_from_the_diameter_that_is_told_or_that_the_file_tells(elevator, words, of_file):
    """m = kA K_t G / (R r): in closed form, whichever way the radius is known."""
    run = runner(from_data(CHARACTERIZE, "characterize"))
    answer = json.loads(run(elevator[of_file], *BEHIND, *words))
    back = answer["physics"]
    assert answer["travel_per_turn"] == pytest.approx(math.pi * 0.0445, rel=1e-6)
    assert back["inertia"] == pytest.approx(12.0, rel=5e-3)  # what a fit of its samples leaves
    assert back["units"]["inertia"] == "kg"
    assert back["plausible"][0] < 12.0 < back["plausible"][1]


@pytest.mark.parametrize("of_file", [0, 2])
def test_gains_of_a_log_in_rotations_are_in_metres_with_the_drum_and_pasted_as_such(elevator, of_file):
    """With and without a motor, in any unit of length, and typed for C++, whose class takes metres."""
    run, words = runner(from_data(CHARACTERIZE, "characterize")), ("--mechanism", "elevator", "--json")
    drum = ("--drum-diameter", "44.5mm") if of_file == 2 else ()
    metres = json.loads(run(elevator[0], *words))["gains"]
    asked = json.loads(run(elevator[of_file], *words, *drum, "--constants", "c++"))
    for name, gain in asked["gains"].items():  # of one motion, in two units
        assert (gain["value"], gain["unit"]) == (
            pytest.approx(metres[name]["value"], rel=1e-6),
            metres[name]["unit"],
        )
    assert "kFeedforward takes meters and meters per second" in asked["constants"]
    assert re.search(r"ElevatorFeedforward\s+kFeedforward\{kS, kG, kV, kA\}", asked["constants"])
    feet = json.loads(run(elevator[of_file], *words, *drum, "--units", "feet"))["gains"]
    assert feet["kV"]["value"] == pytest.approx(0.3048 * metres["kV"]["value"], rel=1e-6)


@pytest.mark.parametrize(
    "words", [("--motor", "neo", "--ratio", "9"), ("--constants", "c++"), ("--units", "meters")]
)
def test_a_person_at_a_terminal_is_asked_for_the_drum_until_it_is_a_length(elevator, words):
    from .test_robot_log import Person

    given = dict(zip((word.lstrip("-") for word in words[::2]), words[1::2], strict=True))
    given |= {"ratio": 9.0} if "ratio" in given else {}
    person = Person("3 kg", "0.01 mm", "44.5mm")
    options = CharacterizeWords(logs=[str(elevator[2])], mechanism="elevator", **given)
    answer = CHARACTERIZE.run(options, person).content()
    assert person.asked[0] == "How far does a turn take it? Diameter of its drum or wheel, such as 50mm"
    assert person.asked[1].startswith("the diameter is '3 kg', which is not a length; expected a unit")
    assert person.asked[2].startswith("drum_diameter is 1e-05; expected 0.0001 or more. How far")
    assert answer["gains"]["kV"]["unit"] == "V/(m/s)"
    run = runner(from_data(CHARACTERIZE, "characterize"))
    with pytest.raises(MissingValue, match=r"give --drum-diameter 0\.05 for a drum of 50 mm"):
        run(elevator[2], "--mechanism", "elevator", *words)


def test_a_diameter_that_nothing_needs_is_refused(elevator):
    run, drum = runner(from_data(CHARACTERIZE, "characterize")), ("--drum-diameter", "44.5mm")
    with pytest.raises(InvalidValue, match=r"in a unit of length, where only --motor needs it; leave it out"):
        run(elevator[0], "--mechanism", "elevator", *drum)
    with pytest.raises(InvalidValue, match=r"the mechanism is arm, which turns; leave it out, or give"):
        run(elevator[2], "--mechanism", "arm", *drum)


def test_the_sides_of_a_drivetrain_roll_and_its_gyro_stays():
    run = make_run("dynamic-forward", *np.ones((4, 20)).cumsum(axis=1), part="left", motion="rotary")
    rolled = roll(run, 0.05)
    assert rolled.motion == "linear"
    np.testing.assert_allclose(rolled.velocity, 0.05 * run.velocity, rtol=1e-15)
    np.testing.assert_allclose(rolled.position, 0.05 * run.position, rtol=1e-15)
    np.testing.assert_array_equal(rolled.input, run.input)
    gyro = replace(run, part="angular")
    assert roll(gyro, 0.05) is gyro


def test_a_diameter_is_asked_for_and_refused_where_there_is_none(elevator):
    run = runner(from_data(CHARACTERIZE, "characterize"))
    with pytest.raises(
        MissingValue, match=r"needs the diameter .*give --drum-diameter 0\.05 for a drum of 50 mm"
    ):
        run(elevator[0], *BEHIND)
    with pytest.raises(InvalidValue, match=r"--wheel-diameter and --drum-diameter are both given"):
        run(elevator[0], *BEHIND, "--wheel-diameter", "4in", "--drum-diameter", "2in")
    for wide in ("--drum-diameter", "--wheel-diameter"):
        with pytest.raises(
            InvalidValue, match=rf"{wide} is 50 m; expected 5 m .*; did you mean 50mm or 50in\?"
        ):
            run(elevator[0], *BEHIND, wide, "50")
    with pytest.raises(BackemfError, match=r"--drum-diameter is '3 kg'.*not a length"):
        run(elevator[0], *BEHIND, "--drum-diameter", "3 kg")
