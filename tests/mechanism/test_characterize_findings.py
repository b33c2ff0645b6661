"""What goes wrong on robots: each slip has its finding; and what follows from gains:
physics, constants, drivetrain, command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from backemf.apps.cli.command_builder import from_data
from backemf.errors import BackemfError, MissingValue, UnknownName
from backemf.kits.frc import wpilog
from backemf.kits.frc.characterize import FeedforwardGain, _timescale, _track_width, characterize
from backemf.kits.frc.commands import CHARACTERIZE, CharacterizeWords, _constants
from backemf.kits.frc.figures import test_runs as figure_of
from backemf.kits.frc.loop_gains import velocity_gains
from backemf.kits.frc.mechanism_constants import constants, physics, theoretical
from backemf.kits.frc.sysid_regression import sysid
from backemf.kits.frc.trials import TESTS, make_run, split
from backemf.kits.frc.wpilog_runs import mechanism_logs
from backemf.logs.log import log
from backemf.physics.motor import Motor

from .test_characterize import WEAK, codes, record, recorded

HOW = {"slow": 1.0, "T": 3.0, "dt": 0.01}


def noisy(gains=WEAK, gravity=(0.0, 0.0, 0.0), **more):
    return recorded(gains, gravity, noise=(0.01, 0.001), rng=np.random.default_rng(5), **{**HOW, **more})


def test_an_inverted_input_is_said_and_gains_stay_positive():
    runs = [replace(r, velocity=-r.velocity, position=-r.position) for r in noisy()]
    assert all(value < 0 for name, value in sysid(runs).gains.items() if name in ("kV", "kA"))
    measured = characterize(runs)
    assert "inverted" in codes(measured)
    assert measured["kV"] == pytest.approx(1.5, rel=0.01)
    assert "negative_gain" in codes(characterize(runs, method="sysid"))


def test_inverted_position_and_units_that_disagree():
    measured = characterize([replace(r, position=-r.position) for r in noisy()])
    assert "position_inverted" in codes(measured)
    assert measured["kA"] == pytest.approx(0.3, rel=0.02)
    measured = characterize([replace(r, position=r.position / (2 * math.pi)) for r in noisy()])
    said = next(f for f in measured.findings if f.code == "units_disagree")
    assert "radians against rotations" in said.text
    assert measured["kV"] == pytest.approx(1.5, rel=0.01)


@pytest.mark.parametrize("seed", [0, 5, 10])
def test_steps_alone_determine_nothing_of_an_elevator_and_break_nothing(seed):
    """Whatever their noise: parts that say nothing, and gains that run away on the way, are no numbers."""
    rng, runs = np.random.default_rng(seed), []
    for test, volts in (("dynamic-forward", 5.0), ("dynamic-reverse", -4.0)):
        how = {"dt": 0.01, "T": 1.2, "step": abs(volts), "noise": (2e-3, 2e-4), "rng": rng}
        t, _, p, v = record(test, (0.15, 8.0, 0.25), (0.35, 0.0, 0.0), **how)
        runs.append(make_run(test, t, np.full_like(t, volts), p, v))
    measured = characterize(runs, "elevator")
    assert all(gain.value is None for gain in measured.gains.values())
    assert "not_determined" in codes(measured)


def test_a_test_that_hardly_moves_is_left_out_and_named():
    runs = noisy()
    idle = make_run("quasistatic-forward", *record("quasistatic-forward", WEAK, slow=0.05, T=3.0, dt=0.01))
    measured = characterize([idle, *runs[1:]])
    said = next(f for f in measured.findings if f.code == "too_little_motion")
    assert "quasistatic-forward" in said.text
    with pytest.raises(MissingValue, match="nothing moves in quasistatic-forward"):
        characterize([idle])


def test_a_short_test_is_said():
    assert "too_short" in codes(characterize([*noisy()[:3], *noisy(T=0.25)[3:]]))


def test_a_hard_stop_is_found_and_left_out():
    runs = noisy()
    t, u, p, v = record("dynamic-forward", WEAK, dt=0.01, T=3.0)
    hit = np.flatnonzero(p > 6.0)[0]
    p, v = np.where(np.arange(len(p)) >= hit, p[hit], p), np.where(np.arange(len(v)) >= hit, 0.0, v)
    runs[2] = make_run(
        "dynamic-forward", t, u, p, v + 0.01 * np.random.default_rng(0).standard_normal(len(v))
    )
    measured = characterize(runs)
    said = next(f for f in measured.findings if f.code == "hard_stop")
    assert said.numbers["time"] == pytest.approx(t[hit], abs=0.15)
    assert measured["kV"] == pytest.approx(1.5, rel=0.01)
    assert measured["kA"] == pytest.approx(0.3, rel=0.03)


def test_a_brown_out_is_said():
    runs = noisy()
    assert "brown_out" not in codes(characterize(runs))
    assert "brown_out" in codes(characterize([replace(r, supply=np.full(len(r), 6.2)) for r in runs]))
    sag = np.where(np.arange(len(runs[2])) < 30, runs[2].input * 0.7, runs[2].input)
    assert "brown_out" in codes(characterize([*runs[:2], replace(runs[2], input=sag), runs[3]]))


def test_stiction_at_the_start_does_not_bend_the_gains():
    runs = noisy(slow=0.5, T=5.0)
    for k in (0, 1):
        t, u, _, _ = record(TESTS[k], WEAK, slow=0.5, T=5.0, dt=0.01)
        held = np.where(np.abs(u) < 0.9, 0.0, u)  # sticks until 0.9 V
        from backemf.kits.frc.mechanism import motion

        v, p = motion(t, held, start=(0.0, 0.0, 0.0), velocity_time=t, position_time=t, gains=WEAK)
        runs[k] = make_run(TESTS[k], t, u, p, v + 0.005 * np.random.default_rng(k).standard_normal(len(v)))
    measured = characterize(runs)
    assert "stiction" in codes(measured)
    assert measured["kS"] == pytest.approx(0.25, abs=0.02)


COULOMB = {
    "a fast ramp": ((0.1105, 0.12, 0.02), "voltage", {"slow": 1.0, "T": 6.0, "dt": 0.01}),
    "a slow ramp": ((0.1105, 2.0, 0.05), "voltage", {"slow": 0.25, "T": 5.0, "dt": 0.02, "step": 4.0}),
    "a current": ((1.105, 0.0, 0.4), "current", {"slow": 1.0, "T": 4.0, "dt": 0.01, "step": 8.0}),
    "a current with drag": ((1.105, 0.02, 0.1), "current", {"slow": 1.0, "T": 4.0, "dt": 0.02, "step": 8.0}),
}
SEEN = {
    "clean": {},
    "noisy": {"noise": (0.05, 0.001)},
    "coarse": {"quantum": 0.002, "differ": True, "noise": (0.0, 0.0)},
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("mechanism", COULOMB)
def test_dry_friction_alone_does_not_stick(mechanism, seen, seed):
    """When a ramp is seen to move, its input is above kS by what speed, inertia and averaging take: that is
    no stiction."""
    gains, control, how = COULOMB[mechanism]
    runs = recorded(gains, rng=np.random.default_rng(seed), **how, **SEEN[seen])
    measured = characterize(runs, control=control)
    assert "stiction" not in codes(measured)
    assert measured["kS"] == pytest.approx(gains[0], rel=0.06)
    # without back-EMF there is no time constant: what is left of kV is rounding
    assert math.isnan(measured.timescale) == (gains[1] == 0.0)


@pytest.mark.parametrize("seen", ["clean", "noisy"])
@pytest.mark.parametrize(("mechanism", "at"), [("a fast ramp", 0.6), ("a current", 2.06)])
def test_what_sticks_is_told_with_its_breakaway(mechanism, at, seen):
    from backemf.kits.frc.mechanism import motion

    gains, control, how = COULOMB[mechanism]
    rng, noise = np.random.default_rng(0), SEEN[seen].get("noise", (0.0, 0.0))[0]
    runs = recorded(gains, rng=rng, **how, **SEEN[seen])
    for k in (0, 1):
        t, u, _, _ = record(TESTS[k], gains, **how)
        held = np.where(np.abs(u) < at, 0.0, u)
        v, p = motion(t, held, start=(0.0, 0.0, 0.0), velocity_time=t, position_time=t, gains=gains)
        runs[k] = make_run(TESTS[k], t, u, p, v + noise * rng.standard_normal(len(v)))
    told = next(f for f in characterize(runs, control=control).findings if f.code == "stiction")
    # the ramp rises by 0.01 a sample, and motion is seen a few samples late
    assert told.numbers["breakaway"] == pytest.approx(at, abs=0.04)


def test_an_arm_in_degrees_and_an_arm_without_position():
    runs = noisy(gravity=(0.0, 0.3, 0.0))
    assert "units_suspect" in codes(
        characterize(
            [replace(r, position=57.3 * r.position, velocity=57.3 * r.velocity) for r in runs], "arm"
        )
    )
    with pytest.raises(MissingValue, match="an arm needs its position"):
        characterize(
            [replace(r, position=r.position[:0], position_time=r.position_time[:0]) for r in runs], "arm"
        )


def test_a_test_whose_name_and_sign_disagree():
    runs = noisy()
    assert "test_direction" in codes(characterize([replace(runs[0], test="quasistatic-reverse"), *runs[1:]]))


def test_current_control_where_kV_may_be_zero():
    gains = (2.0, 0.0, 0.5)
    runs = [
        make_run(
            t,
            *record(
                t,
                gains,
                slow=2.0,
                step=6.0,
                T=3.0,
                dt=0.01,
                noise=(0.02, 0.002),
                rng=np.random.default_rng(2),
            ),
        )
        for t in TESTS
    ]
    measured = characterize(runs, control="current")
    assert measured["kS"] == pytest.approx(2.0, rel=0.02)
    assert measured["kA"] == pytest.approx(0.5, rel=0.02)
    assert measured.gains["kV"].low < 0 < measured.gains["kV"].high
    assert measured.gains["kA"].unit == "A/(rad/s^2)"


def test_a_log_without_names_is_split_by_the_shape_of_its_input():
    parts, start = [], 0.0
    for test in TESTS:
        t, u, p, v = record(test, WEAK, **HOW)
        parts += [np.stack([start + t, u, p, v]), np.array([[start + 3.1], [0.0], [p[-1]], [0.0]])]
        start += 4.0
    t, u, p, v = np.concatenate(parts, axis=1)
    whole = log("whole", t, voltage=u, position=p, velocity=v)
    assert [run.test for run in split(whole)] == list(TESTS)
    assert characterize(whole)["kV"] == pytest.approx(1.5, rel=0.01)
    with pytest.raises(MissingValue, match="current control needs the signal current or current_target"):
        split(whole, "current")


def drivetrain_runs():
    """Both sides straight, then against each other while a gyro watches: wheels 0.6 m apart."""
    straight, turning = [], []
    for test in TESTS:
        for side in ("left", "right"):
            straight.append(
                make_run(
                    test,
                    *record(test, WEAK, noise=(0.01, 0.001), rng=np.random.default_rng(7), **HOW),
                    part=side,
                )
            )
        t, u, p, v = record(test, (0.3, 0.5, 0.1), **HOW)
        turning.append(make_run(test, t, u, p, v, part="angular"))
        turning += [
            make_run(test, t, s * u, s * p * 0.3, s * v * 0.3, part=f"{side} turning")
            for side, s in (("left", -1), ("right", 1))
        ]
    return straight, turning


def check_drivetrain(measured):
    assert measured["kV"] == pytest.approx(1.5 * 0.3048, rel=0.01)
    assert measured["kV_angular"] == pytest.approx(0.5, rel=0.01)
    assert measured["track_width"] == pytest.approx(0.6 / 0.3048, rel=1e-3)
    assert measured.gains["kV"].unit == "V/(ft/s)"
    assert measured.gains["kV_angular"].unit == "V/(rad/s)"
    assert set(measured.feedback) == {"velocity", "position", "velocity_angular", "position_angular"}
    assert measured.feedback["velocity_angular"].kP == pytest.approx(
        velocity_gains(measured["kV_angular"], measured["kA_angular"]).kP
    )


def test_drivetrain_straight_and_turning_with_its_track_width():
    straight, turning = drivetrain_runs()
    told: list[tuple[str, float]] = []
    how = {"units": "feet", "progress": lambda text, share: told.append((text.partition(", ")[0], share))}
    check_drivetrain(characterize([*straight, *turning], "drivetrain", **how))
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert {(text, share < 0.5) for text, share in told} == {("straight on", True), ("turning", False)}
    only = characterize([r for r in turning if r.part == "angular"], "drivetrain")
    assert (only["kV"], only.units) == (pytest.approx(0.5, rel=0.01), "radians")
    with pytest.raises(MissingValue, match="no gyro's angle or rate"):
        characterize([r for r in turning if r.part != "angular"], "drivetrain")


@pytest.mark.parametrize(("late", "known"), [(0.07, True), (0.14, False)])
def test_the_track_width_is_the_mean_of_its_runs_with_their_scatter(late, known):
    """Of two runs the scatter over the root of two; of one a twentieth; sides must be of the same run."""
    t, u, p, v = record("dynamic-forward", WEAK, **HOW)
    runs = []
    for test, half in (("dynamic-forward", 0.3), ("dynamic-reverse", 0.32)):
        runs += [make_run(test, t, u, p, v, part="angular")]
        runs += [
            make_run(test, t + late, u, way * half * np.interp(t + late, t, p), v, part=f"{side} turning")
            for side, way in (("left", -1), ("right", 1))
        ]
    assert _track_width(runs) == (
        pytest.approx((0.62, 0.04 / math.sqrt(2) / math.sqrt(2)), rel=1e-6) if known else None
    )
    assert _track_width(runs[:3]) == (pytest.approx((0.6, 0.03), rel=1e-6) if known else None)
    assert _track_width(runs[:2]) is None


@pytest.mark.parametrize(("times", "told"), [(70.0, True), (130.0, False)])
def test_a_time_constant_is_told_where_a_test_was_a_hundredth_as_long(times, told):
    runs = [noisy()[2], noisy(T=1.0)[3]]
    longest = runs[0].time[-1] - runs[0].time[0]
    sure = FeedforwardGain(value=2.0, low=0.1, high=3.0, unit="")
    found = _timescale(sure, 2.0, 2.0 * times * longest, runs)
    assert found == pytest.approx(times * longest if told else math.nan, nan_ok=True)
    assert math.isnan(_timescale(replace(sure, low=-0.1), 2.0, 2.0, runs))


def test_drivetrain_from_a_wpilog_with_a_gyro(tmp_path):
    logged = {"sysid-test-state-drive": ("string", "", [])}
    straight, turning = drivetrain_runs()

    def log_run(start, run, motor, signals):
        unit = {
            "voltage": "Volt",
            "position": "Radian" if motor == "gyro" else "Meter",
            "velocity": f"{'Radian' if motor == 'gyro' else 'Meter'} per Second",
        }
        for name in signals:
            values = run.input if name == "voltage" else getattr(run, name)
            rows = logged.setdefault(f"{name}-{motor}-drive", ("double", unit[name], []))[2]
            rows.extend((start + t, float(x)) for t, x in zip(run.time, values, strict=True))

    everything = ("voltage", "position", "velocity")
    for k, runs in enumerate(
        [straight[i : i + 2] for i in range(0, 8, 2)] + [turning[i : i + 3] for i in range(0, 12, 3)]
    ):
        logged["sysid-test-state-drive"][2].extend([(10.0 * k, runs[0].test), (10.0 * k + 5, "none")])
        for run in runs:
            side = run.part.split()[0]
            log_run(
                10.0 * k,
                run,
                "gyro" if side == "angular" else f"drive-{side}",
                everything[1:] if side == "angular" else everything,
            )
    path = str(wpilog.write_wpilog(tmp_path / "robot.wpilog", logged))
    logs = mechanism_logs(path)
    assert len(logs) == 8 + 12
    assert sum(" turning " in log.name for log in logs) == 8
    two_motors = mechanism_logs(path, mechanism="elevator")  # whatever it is called, no side turns it
    assert [log.name for log in two_motors if " turning" in log.name or " angular" in log.name] == []
    assert len(two_motors) == 8 + 8
    check_drivetrain(characterize(logs, "drivetrain", units="feet"))


def test_physics_there_and_back():
    motor = Motor(resistance=0.1, torque_constant=0.02, rotor_inertia=1e-5)
    expected = theoretical(motor, ratio=20.0, n_motors=2, inertia=0.1, output_friction=0.5, viscous=0.05)
    measured = characterize(noisy(gains=tuple(expected)), "simple")
    back = physics(measured, motor, ratio=20.0, n_motors=2, inertia=0.1 + 2 * 400 * 1e-5)
    assert back.inertia == pytest.approx(0.108, rel=0.02)
    assert back.friction == pytest.approx(0.5, rel=0.1)
    assert back.resistance == pytest.approx(0.1, rel=0.02)
    assert back.predicted["kV"] == pytest.approx(0.4)
    assert not back.findings
    slipped = characterize(
        [
            replace(r, velocity=r.velocity / (2 * math.pi), position=r.position / (2 * math.pi))
            for r in noisy(gains=tuple(expected))
        ]
    )
    said = physics(slipped, motor, ratio=20.0, n_motors=2).findings
    assert any(f.code == "units_suspect" and "rotations read as radians" in f.text for f in said)
    assert theoretical("neo", ratio=10.0, inertia=0.01).kV > 0


def test_constants_in_three_languages():
    gains = {"kS": 0.25, "kG": None, "kV": 3.0, "kA": 0.3}
    java = constants(gains, mechanism="elevator", language="java", units={"kV": "V/(m/s)"})
    assert "public static final double kV = 3.0;  // V/(m/s)" in java
    assert "// kG: not determined" in java
    assert "ElevatorFeedforward" not in java
    cpp = constants(gains, mechanism="elevator", language="c++", notes="from a test")
    assert "inline constexpr auto kS = 0.25_V;" in cpp
    assert "kFeedforward{" not in cpp
    space: dict = {}
    exec(
        constants(
            {"kS": 1e-7, "kV": 3.0, "kV_angular": 2.0},
            language="python",
            feedback={"velocity": {"kP": 2.0, "kD": 0.0}},
        ),
        space,
    )
    assert (space["kS"], space["kVAngular"], space["kPVelocity"]) == (1e-7, 2.0, 2.0)
    with pytest.raises(UnknownName, match="unknown language"):
        constants(gains, language="rust")
    with pytest.raises(MissingValue, match="nothing to write"):
        constants({"kS": None})


def write_log(path, runs):
    logged = {"sysid-test-state-flywheel": ("string", "", [])}
    for name, unit in (
        ("voltage-m-flywheel", "Volt"),
        ("position-m-flywheel", "Rotation"),
        ("velocity-m-flywheel", "Rotation per Second"),
    ):
        logged[name] = ("double", unit, [])
    for k, run in enumerate(runs):
        start = 10.0 * k
        logged["sysid-test-state-flywheel"][2].extend([(start, run.test), (start + 9, "none")])
        for name, values, scale in (
            ("voltage", run.input, 1.0),
            ("position", run.position, 1 / (2 * math.pi)),
            ("velocity", run.velocity, 1 / (2 * math.pi)),
        ):
            logged[f"{name}-m-flywheel"][2].extend(
                (start + t, scale * float(x)) for t, x in zip(run.time, values, strict=True)
            )
    return wpilog.write_wpilog(path, logged)


def command_line():
    app = typer.Typer()
    app.command()(from_data(CHARACTERIZE, "characterize"))
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_command_line(tmp_path):
    path, run = write_log(tmp_path / "fly.wpilog", noisy()), command_line()
    plot = tmp_path / "fly.png"
    told = (
        "--plot",
        plot,
        "--constants",
        "python",
        "--motor",
        "neo",
        "--ratio",
        "60",
        "--settle",
        "0.6",
        "--step",
        "1",
        "--controller",
        "ctre-v6",
    )
    text = run(path, *told).stdout
    assert plot.stat().st_size > 10_000
    assert "kV = " in text
    assert "kPSettling = " in text
    assert "behind the gains: inertia" in text
    assert "settling feedback: kP" in text
    assert "LQR: 1.5 rad/s off is worth 7 V" in " ".join(text.split())
    assert "exists; give another name, or --force" in str(run(path, "--plot", plot).exception)
    assert "--motor needs --ratio" in str(run(path, "--motor", "neo").exception)
    assert "--settle and --step go together" in str(run(path, "--settle", "1").exception)
    assert "unknown preset 'advantage'" in str(run(path, "--preset", "advantage").exception)
    hoot = tmp_path / "a.hoot"
    hoot.write_bytes(b"12345")
    assert "owlet -f wpilog" in str(run(hoot).exception)


def test_command_line_json(tmp_path):
    path, run = write_log(tmp_path / "fly.wpilog", noisy()), command_line()
    out = json.loads(
        run(
            path,
            "--units",
            "rotations",
            "--json",
            "--settle",
            "0.6",
            "--step",
            "0.2",
            "--preset",
            "sysid:m-flywheel",
        ).stdout
    )
    gains = out["gains"]
    assert set(gains) == {"kS", "kV", "kA"}
    assert all(set(gain) == {"value", "low", "high", "unit"} for gain in gains.values())
    assert gains["kV"]["value"] == pytest.approx(1.5 * 2 * math.pi, rel=0.01)
    assert gains["kV"]["low"] < gains["kV"]["value"] < gains["kV"]["high"]
    assert {"feedback", "findings", "r2", "timescale", "delay", "velocity_error", "tests", "method"} <= set(
        out
    )
    assert set(out["feedback"]) == {"velocity", "position", "settling"}
    assert out["feedback"]["settling"]["step"] == 0.2
    assert out["r2"] > 0.99
    assert out["timescale"] == pytest.approx(0.2, rel=0.02)
    cut = json.loads(run(path, "--json", "--between", "0", "12").stdout)
    assert cut["tests"] == ["quasistatic-forward", "quasistatic-reverse"]
    assert {f["code"] for f in cut["findings"]} >= {"delay_assumed"}
    for method in ("sysid", "one-step"):
        classic = json.loads(run(path, "--json", "--method", method, "--threshold", "0.05").stdout)
        assert classic["method"] == method
        assert classic["gains"]["kV"]["low"] is None
        assert classic["gains"]["kV"]["value"] == pytest.approx(1.5, rel=0.02)


def test_command_line_by_current(tmp_path):
    t, u, p, v = (
        np.concatenate(c)
        for c in zip(
            *(np.stack(record(test, (2.0, 0.0, 0.5), slow=2.0, step=6.0, T=3.0, dt=0.01)) for test in TESTS),
            strict=True,
        )
    )
    clock = np.concatenate([4.0 * k + np.arange(300) * 0.01 for k in range(4)])
    del t
    rows = [
        "time [s],current [A],position [rad],velocity [rad/s]",
        *(f"{a:.3f},{b},{c},{d}" for a, b, c, d in zip(clock, u, p, v, strict=True)),
    ]
    path = tmp_path / "current.csv"
    path.write_text("\n".join(rows))
    out = json.loads(command_line()(path, "--control", "current", "--json").stdout)
    assert out["control"] == "current"
    assert out["gains"]["kA"]["unit"] == "A/(rad/s^2)"
    assert out["gains"]["kA"]["value"] == pytest.approx(0.5, rel=0.02)
    assert out["gains"]["kS"]["value"] == pytest.approx(2.0, rel=0.02)


def test_the_plot_shows_every_run_with_its_residual_and_every_step_with_its_input():
    arm = characterize(noisy(gravity=(0.0, 0.3, -0.1)), "arm", settling_time=0.8, step=0.5)
    titles = [panel.title for panel in figure_of(arm).panels]
    assert len(titles) == 2 * 4 + 2 + 2 * 3
    assert titles[0] == "quasistatic, forward"
    assert titles[1].startswith("measured less predicted, rms 0.00")
    assert titles[-2].startswith("settling step: kP")
    assert "settles in 0.7" in titles[-2]
    assert "friction holds it 0." in titles[-4]
    assert (
        len(figure_of(characterize(noisy()[2:], "simple")).panels) == 5
    )  # nothing is determined, so there is no line and no loop to show


def test_the_line_of_ks_and_kv_goes_through_what_the_slow_tests_measured():
    """What is left of the input is kS sgn(v) + kV v of the simulated arm."""
    kS, kV, _ = WEAK
    arm = characterize(noisy(gravity=(0.0, 0.3, -0.1)), "arm")
    *dots, line = next(p for p in figure_of(arm).panels if p.title.startswith("slow tests")).lines
    v, taken = (np.concatenate([d[k] for d in ([c.x, c.y] for c in dots)]) for k in (0, 1))
    fast = np.abs(v) > 0.3 * np.max(np.abs(v))
    left = (taken - kS * np.sign(v) - kV * v)[fast]
    assert (
        abs(np.mean(left)) < 0.01 > abs(np.polyfit(v[fast], left, 1)[0])
    )  # V, of 1 to 3: noise averages out
    np.testing.assert_allclose(line.y, kS * np.sign(line.x) + kV * line.x, atol=0.02)


def test_position_alone_is_enough():
    runs = [make_run(r.test, r.time, r.input, r.position) for r in noisy()]
    measured = characterize(runs)
    assert all(s.segment.derived for s in measured.shown)
    for name, value in zip(("kS", "kV", "kA"), WEAK, strict=True):
        assert measured.gains[name].low < value < measured.gains[name].high
    assert measured.r2 > 0.99


def test_the_table_for_people():
    text = str(characterize(noisy()[:1], "elevator"))
    assert "not determined" in text
    assert "add quasistatic-reverse" in text


def test_gains_that_explain_less_than_the_mean_are_not_pasted_without_a_warning():
    """R^2 of a velocity that has nothing to do with the input is 0, less what degrees of freedom take."""
    rng, runs = np.random.default_rng(0), noisy()
    runs = [replace(r, velocity=rng.normal(size=len(r.velocity)), position=r.position[:0]) for r in runs]
    measured = characterize([replace(r, position_time=r.position_time[:0]) for r in runs], method="sysid")
    assert measured.r2 < 0
    assert "worse_than_mean" in codes(measured)
    for language in ("java", "c++", "python"):
        words = CharacterizeWords(logs=[], constants=language)
        assert "DO NOT USE: these gains explain less than none would" in _constants(measured, words)
        good = replace(measured, r2=0.99)
        assert "DO NOT USE" not in _constants(good, words)


def walk(seed: int):
    """A velocity that walks at random beside a ramp and a step."""
    t = np.arange(0.0, 8.0, 0.02)
    v = 0.3 * np.cumsum(np.random.default_rng(seed).normal(size=len(t)))
    volts = np.where(t < 4.0, 0.25 * t, 7.0 * (t < 6.0))
    return log("walk", t, voltage=volts, velocity=v, position=0.02 * np.cumsum(v))


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_a_velocity_that_has_nothing_to_do_with_the_input_is_said(seed):
    assert characterize([walk(seed)], mechanism="simple", method="simulation").findings


@pytest.mark.parametrize(("seed", "words"), [(3, "nothing moves"), (5, "runs away; check that voltage")])
def test_one_that_no_mechanism_could_have_gets_a_sentence(seed, words):
    with pytest.raises(BackemfError, match=words):
        characterize([walk(seed)], mechanism="simple", method="simulation")
