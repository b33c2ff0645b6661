"""Tests in the logs of several loggers: states, presets, motors, repeats that were left out,
and both motions of a drivetrain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backemf.errors import UnknownName
from backemf.kits.frc import wpilog
from backemf.kits.frc.wpilog import Series
from backemf.kits.frc.wpilog_runs import (
    LOGGERS,
    Window,
    _cut,
    _driven_motors,
    _turn_together,
    mechanism_logs,
    name_of,
    windows_of,
)
from backemf.kits.frc.wpilog_units import OpenSignal, _likelier_unit, _per_minute, with_units
from backemf.logs.recording import MUST_TELL, Channel, ReadError, Recording

TEST_NAMES = ("quasistatic-forward", "quasistatic-reverse", "dynamic-forward", "dynamic-reverse")
NAMES = {
    "sysid": ("sysid-test-state-fly", "voltage-m-fly", "position-m-fly", "velocity-m-fly"),
    "phoenix": (
        "state",
        "Phoenix6/TalonFX-3/MotorVoltage",
        "Phoenix6/TalonFX-3/Position",
        "Phoenix6/TalonFX-3/Velocity",
    ),
    "urcl": (
        "NT:/sysid-test-state-fly",
        *(
            f"NT:/URCL/Spark-1/{name}"
            for name in ("AppliedOutputVoltage", "MotorPositionRotations", "MotorVelocityRPM")
        ),
    ),
    "advantagekit": (
        "/RealOutputs/SysIdTestState",
        "/Flywheel/AppliedVolts",
        "/Flywheel/PositionRad",
        "/Flywheel/VelocityRadPerSec",
    ),
}
SCALE = {
    "sysid": (1.0, 1.0),
    "phoenix": (1.0, 1.0),
    "urcl": (1.0, 60.0),
    "advantagekit": (2 * np.pi, 2 * np.pi),
}
"""Of a rotation, and of a rotation per second."""


def written(path, preset, *, more=None, strip=False, states=True):
    """Two seconds of each test; the state is written over and over while it lasts,
    the rest goes on in between."""
    state, volts, place, speed = NAMES[preset]
    meta = ("", "Volt", "Rotation", "Rotation per Second") if preset == "sysid" else ("", "", "", "")
    logged = {
        name: ("double" if k else "string", meta[k], [])
        for k, name in enumerate((state, volts, place, speed))
    }
    by_place, by_speed = SCALE[preset]
    for k, test in enumerate(TEST_NAMES):
        way = 1.0 if test.endswith("forward") else -1.0
        for i in range(150):
            t = 10.0 * k + 0.02 * i
            on = i < 100
            logged[state][2].append((t, test if on else "none"))
            u = way * (0.02 * i if test.startswith("quasi") else 7.0) * on
            rows = (
                (volts, u),
                (place, by_place * way * (0.02 * i) ** 2),
                (speed, by_speed * way * 2 * 0.02 * i),
            )
            for name, value in rows:
                if not strip or not logged[name][2] or logged[name][2][-1][1] != value:
                    logged[name][2].append((t, value))
    if not states:
        del logged[state]
    return wpilog.write_wpilog(path, {**logged, **(more or {})})


@pytest.mark.parametrize("preset", NAMES)
@pytest.mark.parametrize("named", [False, True])
def test_each_logger_is_known_by_its_names(tmp_path, preset, named):
    logs = mechanism_logs(str(written(tmp_path / "a.wpilog", preset)), preset=preset if named else None)
    assert [log.name.split()[0] for log in logs] == list(TEST_NAMES)
    log = logs[2]
    assert log["velocity"][50] == pytest.approx(2 * 2 * np.pi)
    assert log["position"][50] == pytest.approx(2 * np.pi)
    assert log["voltage"][50] == 7.0
    assert log.time[0] == pytest.approx(20.0)
    assert log.time[-1] == pytest.approx(21.98)
    assert set(NAMES) == set(LOGGERS)


def test_repeats_left_out_are_filled_in_and_the_input_holds(tmp_path):
    step = mechanism_logs(str(written(tmp_path / "a.wpilog", "advantagekit", strip=True)))[2]
    assert len(step.signals["voltage"].time) == 100
    assert np.all(step["voltage"] == 7.0)
    for preset in ("phoenix", "sysid"):
        step = mechanism_logs(str(written(tmp_path / f"{preset}.wpilog", preset, strip=True)))[2]
        held = step.signals["voltage"]
        assert held.values[-1] == 7.0
        assert held.time[-1] == pytest.approx(step.signals["velocity"].time[-1])


def test_several_motors_and_several_loggers_must_be_told(tmp_path):
    other = {
        f"Phoenix6/TalonFX-4/{name}": ("double", "", [(0.02 * i, 5.0) for i in range(2000)])
        for name in ("MotorVoltage", "Velocity")
    }
    idle = {
        f"Phoenix6/TalonFX-5/{name}": ("double", "", [(0.02 * i, 0.0) for i in range(2000)])
        for name in ("MotorVoltage", "Velocity")
    }
    path = str(written(tmp_path / "two.wpilog", "phoenix", more={**other, **idle}))
    with pytest.raises(
        ReadError, match=r"several motors run .* --preset phoenix:TalonFX-3 \(also TalonFX-4\)"
    ):
        mechanism_logs(path)
    assert len(mechanism_logs(path, preset="phoenix:TalonFX-3")) == 4
    assert len(mechanism_logs(path, preset="phoenix:TalonFX-3,TalonFX-4")) == 8
    with pytest.raises((ReadError, UnknownName), match="unknown motor of the preset phoenix 'TalonFX-9'"):
        mechanism_logs(path, preset="phoenix:TalonFX-9")
    urcl = {name: ("double", "", [(0.02 * i, 1.0) for i in range(2000)]) for name in NAMES["urcl"][1:]}
    path = str(written(tmp_path / "both.wpilog", "phoenix", more=urcl))
    with pytest.raises(
        ReadError, match="more than one logger wrote this; say which with --preset: phoenix, urcl"
    ):
        mechanism_logs(path)
    assert (
        len(mechanism_logs(str(written(tmp_path / "idle.wpilog", "phoenix", more=idle)))) == 4
    )  # the one that runs


def test_what_to_say_when_nothing_fits(tmp_path):
    path = str(written(tmp_path / "a.wpilog", "phoenix"))
    with pytest.raises((ReadError, UnknownName), match="unknown preset 'phenix'"):
        mechanism_logs(path, preset="phenix")
    with pytest.raises(
        ReadError,
        match=r"no motor of the preset urcl .*the presets: sysid .*phoenix .*urcl .*advantagekit .*--map",
    ):
        mechanism_logs(path, preset="urcl")
    strange = {
        name: ("double", "", [(0.02 * i, float(i)) for i in range(500)]) for name in ("x/volts", "x/place")
    }
    strange["s"] = ("string", "", [(1.0, "dynamic-forward"), (3.0, "none")])
    path = str(wpilog.write_wpilog(tmp_path / "strange.wpilog", strange))
    with pytest.raises(ReadError, match="no logger's entry names are known here; the presets: sysid"):
        mechanism_logs(path)
    (log,) = mechanism_logs(path, map=["voltage=x/volts", "position=x/place[rev]"])
    assert log.name.startswith("dynamic-forward")
    assert (log.time[0], log.time[-1]) == (pytest.approx(1.0), pytest.approx(3.0))


def test_a_broken_file_is_named_once(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("")
    with pytest.raises(ReadError) as caught:
        mechanism_logs(str(path))
    assert str(caught.value) == f"{path}: the file is empty"


def test_without_states_a_preset_still_names_the_signals(tmp_path):
    path = str(written(tmp_path / "a.wpilog", "phoenix", states=False))
    (log,) = mechanism_logs(path, preset="phoenix")
    assert set(log.signals) == {"voltage", "position", "velocity"}
    with pytest.raises(ReadError, match="give --preset phoenix to read its TalonFX-3"):
        mechanism_logs(path)


def test_runs_are_cut_by_time(tmp_path):
    logs = mechanism_logs(str(written(tmp_path / "a.wpilog", "sysid")), between=(20.5, 31.0))
    assert [log.name.split()[0] for log in logs] == ["dynamic-forward", "dynamic-reverse"]
    assert logs[0].time[0] == pytest.approx(20.5)


def test_the_same_test_twice_is_two_runs():
    states = [
        (0.0, "dynamic-forward"),
        (0.1, "dynamic-forward"),
        (1.0, "none"),
        (2.0, "dynamic-forward"),
        (2.5, "none"),
    ]
    entry = wpilog.Series(
        "sysid-test-state-arm", "string", "", [t for t, _ in states], [s for _, s in states]
    )
    assert [(w.start, w.end, w.number, w.mechanism) for w in windows_of([entry])] == [
        (0.0, 1.0, 1, "arm"),
        (2.0, 2.5, 2, "arm"),
    ]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("sysid-test-state-arm", "arm"),
        ("NT:/sysid-test-state-left-arm", "left-arm"),
        ("/RealOutputs/Drive/SysIdState", "Drive"),
        ("NT:/AdvantageKit/RealOutputs/Arm/SysIDState", "Arm"),
        ("/RealOutputs/Intake/PivotSysIdState", "Intake/Pivot"),
        ("SysIdSteer_State", "Steer"),
        ("/RealOutputs/Drive/SysIdTranslation_State", "Drive/Translation"),
        ("/RealOutputs/SysIdTestState", "SysIdTestState"),
        ("state", "state"),
    ],
)
def test_a_state_tells_whose_it_is(entry, name):
    assert name_of(entry) == name


def motor(prefix, ends, start, sizes=(1.0, 1.0, 1.0)):
    """Two seconds of a step, by the names of its entries."""
    columns = ((ends[0], lambda t: 7.0), (ends[1], lambda t: t * t), (ends[2], lambda t: 2 * t))
    return {
        f"{prefix}{end}": ("double", "", [(start + 0.02 * i, size * f(0.02 * i)) for i in range(100)])
        for (end, f), size in zip(columns, sizes, strict=True)
    }


@pytest.mark.parametrize(
    ("prefix", "ends", "unit", "scale"),
    [
        ("NT:/URCL/Spark-1/", ("AppliedOutputVoltage", "PrimaryEncoderPosition", "PrimaryEncoderVelocity"),
         (2 * np.pi, 2 * np.pi / 60), "rotary"),
        ("/Arm/", ("AppliedVolts", "PositionRotations", "VelocityRotationsPerSec"),
         (2 * np.pi, 2 * np.pi), "rotary"),
        ("/Arm/", ("AppliedVoltage", "PositionRads", "VelocityRPM"), (1.0, 2 * np.pi / 60), "rotary"),
        ("/Lift/", ("AppliedVolts", "PositionMeters", "VelocityMetersPerSec"), (1.0, 1.0), "linear"),
        ("/Lift/Leader", ("AppliedVolts", "PositionInches", "VelocityInchesPerSecond"),
         (0.0254, 0.0254), "linear"),
    ],
)  # fmt: skip
def test_units_that_stand_in_names_and_the_names_of_status_frames(tmp_path, prefix, ends, unit, scale):
    state = {"/RealOutputs/Arm/SysIdState": ("string", "", [(0.0, "dynamic-forward"), (2.0, "none")])}
    (log,) = mechanism_logs(
        str(wpilog.write_wpilog(tmp_path / "a.wpilog", {**state, **motor(prefix, ends, 0.0)}))
    )
    assert (log.mechanism, log.motion) == ("Arm", scale)
    assert log["position"][50] == pytest.approx(unit[0] * 1.0)
    assert log["velocity"][50] == pytest.approx(unit[1] * 2.0)


def test_motors_are_those_that_run_in_the_tests_of_their_own_mechanism(tmp_path):
    """A steering and a driving motor, each idle while the other is tested; one state is there twice."""
    ends = ("MotorVoltage", "Position", "Velocity")
    logged = {
        "SysIdSteer_State": ("string", "", [(0.0, "dynamic-forward"), (2.0, "none")]),
        "SysIdDrive_State": ("string", "", [(10.0, "dynamic-forward"), (12.0, "none")]),
        "/RealOutputs/SysIdDrive_State": ("string", "", [(10.0, "dynamic-forward"), (12.0, "none")]),
        **motor("Phoenix6/TalonFX-1/", ends, 0.0),
        **motor("Phoenix6/TalonFX-2/", ends, 10.0),
    }
    logs = mechanism_logs(str(wpilog.write_wpilog(tmp_path / "swerve.wpilog", logged)))
    assert [(log.mechanism, log.name.split()[1]) for log in logs] == [
        ("Steer", "TalonFX-1"),
        ("Drive", "TalonFX-2"),
    ]
    (drive,) = mechanism_logs(str(tmp_path / "swerve.wpilog"), name="drive")
    assert drive.mechanism == "Drive"
    with pytest.raises((ReadError, UnknownName), match="unknown mechanism 'arm'; valid: Drive, Steer"):
        mechanism_logs(str(tmp_path / "swerve.wpilog"), name="arm")


def test_motors_on_one_shaft_are_one_mechanism_and_others_are_asked_for(tmp_path):
    """A follower that is mounted the other way round, and a motor that does something else."""

    def second(scale):
        _, volts, place, speed = (name.replace("TalonFX-3", "TalonFX-4") for name in NAMES["phoenix"])
        more = {name: ("double", "", []) for name in (volts, place, speed)}
        for k, test in enumerate(TEST_NAMES):
            way = 1.0 if test.endswith("forward") else -1.0
            for i in range(150):
                t, u = 10.0 * k + 0.02 * i, way * (0.02 * i if test.startswith("quasi") else 7.0) * (i < 100)
                for name, value in (
                    (volts, -u),
                    (place, scale * way * (0.02 * i) ** 2),
                    (speed, scale * way * 0.04 * i),
                ):
                    more[name][2].append((t, value))
        return more

    logs = mechanism_logs(str(written(tmp_path / "a.wpilog", "phoenix", more=second(-1.0))))
    assert len(logs) == 8
    with pytest.raises(
        ReadError, match="several motors run during the tests; say which with --preset phoenix:"
    ):
        mechanism_logs(str(written(tmp_path / "b.wpilog", "phoenix", more=second(0.5))))


DURING = Window(test="dynamic-forward", start=1.0, end=2.0, mechanism="", number=1)
CLOCK = 0.01 * np.arange(300)


def of_motor(speed, volts=7.0, unit="rad/s"):
    """What was logged of a motor that runs in a test, and elsewhere more."""
    inside = (CLOCK >= 1.0) & (CLOCK < 2.0)
    columns = {
        "voltage": (np.where(inside, volts, 12.0), "V"),
        "velocity": (np.where(inside, speed * CLOCK, 9.0), unit),
    }
    return {
        name: (Series(name, "double", "", [*CLOCK], [*values]), u) for name, (values, u) in columns.items()
    }


@pytest.mark.parametrize(
    ("speed", "unit", "together"),
    [(1.02, "rad/s", True), (0.98, "rad/s", True), (1.05, "rad/s", False), (0.95, "rad/s", False),
     (-1.02, "rad/s", True), (1.0, "rev/s", False)],
)  # fmt: skip
def test_motors_on_one_shaft_move_alike_to_three_percent(speed, unit, together):
    assert _turn_together({"a": of_motor(1.0), "b": of_motor(speed, unit=unit)}, [DURING]) == together


@pytest.mark.parametrize(("volts", "driven"), [(1.7, "a"), (2.5, "a b"), (-2.5, "a b")])
def test_a_motor_is_driven_where_it_has_three_tenths_of_the_largest_input(volts, driven):
    assert " ".join(_driven_motors({"a": of_motor(1.0), "b": of_motor(1.0, volts)}, [DURING])) == driven


@pytest.mark.parametrize(("begins", "first"), [(1.07, 1.07), (1.13, 1.0), (1.0, 1.0)])
def test_an_input_that_is_not_written_again_holds(begins, first):
    """For as long as a tenth of a second it may just be late; nothing else is held."""
    series = Series("x", "double", "", [0.5, begins, 1.5, 2.0], [3.0, 4.0, 5.0, 6.0])
    volts, speed = (_cut(name, series, "", DURING, None) for name in ("voltage", "velocity"))
    assert (volts.time[0], volts.values[0]) == (first, 3.0 if first < begins else 4.0)
    assert (speed.time.tolist(), speed.values.tolist()) == ([begins, 1.5], [4.0, 5.0])
    cycles = np.array([0.9, 1.0, begins + 0.01, 1.6])  # of a program that writes only what changes
    told = _cut("velocity", series, "", DURING, cycles)
    assert told.time.tolist() == cycles[1:].tolist()
    assert told.values.tolist() == [4.0 if begins == 1.0 else 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("kind", "unit", "reach", "likely"),
    # 2 rad are usual, 0.8 m and 300 rad/s; doubted is what is off by three, where another unit is nearer
    [("arm", "radians", 0.7, ""), ("arm", "radians", 0.6, "rotations"), ("arm", "degrees", 16.0, ""),
     ("arm", "degrees", 14.0, "radians"), ("elevator", "meters", 5.0, "feet"),
     ("elevator", "inches", 5.0, "feet"),
     ("elevator", "feet", 1.3, ""), ("arm", "meters", 2.0, "radians"), ("drivetrain", "rotations", 9.0, "")],
)  # fmt: skip
def test_a_unit_is_doubted_where_another_makes_it_usual(kind, unit, reach, likely):
    what = "velocity" if kind == "drivetrain" else "position"
    signals = [
        OpenSignal("x", what, kind, -0.5 * reach, 0.5 * reach),
        OpenSignal("y", "voltage", kind, -99.0, 99.0),
    ]
    assert _likelier_unit(signals, kind, unit) == likely


def moved(ratio, top):
    """A run whose velocity says `ratio` times what its position does."""
    t = np.linspace(0.0, 2.0, 50)
    columns = {"position": top * t**2 / 4 / ratio, "velocity": 0.5 * top * t}
    channels = [Channel.of(name, x, unit=MUST_TELL, signal=name, time=t) for name, x in columns.items()]
    return Recording.of(Path("a.wpilog"), "WPILOG", channels, "run")


@pytest.mark.parametrize(("ratio", "minute"), [(60, True), (48, True), (41, False), (75, True), (88, False)])
def test_velocities_are_per_minute_where_positions_say_so(ratio, minute):
    assert _per_minute([moved(ratio, 100.0)]) == _per_minute([moved(-ratio, 100.0)]) == minute
    assert _per_minute([moved(1.0, 9.0), moved(60.0, 100.0), moved(60.0, 70.0)])  # most of them decide


@pytest.mark.parametrize(
    ("top", "told", "unit"),
    [(400.0, "rotations", "rev/s"), (620.0, "rotations", "rev/min"), (620.0, "degrees", "deg/s"),
     (40.0, "rpm", "rev/min")],
)  # fmt: skip
def test_no_motor_turns_more_than_500_times_a_second(top, told, unit):
    for run in (moved(1.0, top), moved(1.0, -top)):
        (known,) = with_units([run], told, "simple")
        assert [c.unit for c in known.channels] == [unit.partition("/")[0], unit]
