"""The catalogue: every part cites its source, reconciles, makes an actuator and simulates."""

from __future__ import annotations

import json
import math
import tomllib
from importlib import resources

import numpy as np
import pytest

import backemf as be
from backemf.datasheets import parts
from backemf.datasheets.reconcile import derived_at
from backemf.physics import steady

NAMES = parts.names()
IDENTIFIED = [f"{name}/{label}" for name in NAMES for label in parts.sheet(name).identified]
VENDOR_SHEETS = [
    "faulhaber-0816k003sr",
    "faulhaber-0816k006sr",
    "faulhaber-0816k009sr",
    "faulhaber-0816k012sr",
    "faulhaber-1331t006sr",
    "faulhaber-1331t012sr",
    "faulhaber-1331t024sr",
    "maxon-a-max-12-265376",
    "maxon-a-max-16-110064",
    "maxon-a-max-22-110121",
    "maxon-a-max-22-110147",
    "maxon-ec-13-305194",
    "maxon-re-40-24v",
]
FRC = {
    "CIM": "cim",
    "Vex775Pro": "775pro",
    "NEO": "neo",
    "MiniCIM": "mini-cim",
    "Bag": "bag",
    "AndymarkRs775_125": "andymark-rs775-125",
    "BanebotsRs775": "banebots-rs775",
    "Andymark9015": "andymark-9015",
    "BanebotsRs550": "banebots-rs550",
    "Neo550": "neo-550",
    "Falcon500": "falcon-500",
    "Falcon500Foc": "falcon-500-foc",
    "RomiBuiltIn": "romi",
    "KrakenX60": "kraken-x60",
    "KrakenX60Foc": "kraken-x60-foc",
    "KrakenX44": "kraken-x44",
    "KrakenX44Foc": "kraken-x44-foc",
    "Minion": "minion",
    "NeoVortex": "neo-vortex",
}


def test_there_are_enough_parts_of_every_sort():
    assert len(NAMES) >= 35
    servos = (
        "xl330-m288 xl430-w250 xc330-m288 xm430-w350 xm540-w270 mx-28 mx-64 mx-106 xl-320 sts3215-7.4v"
        " sts3215-12v sts3032 sts3250 sg90 mg90s mg996r"
    )
    for name in (*servos.split(), "st-3215-c047", *FRC.values()):
        assert name in NAMES
    assert {n.split("/")[0] for n in IDENTIFIED} >= {
        "mx-64",
        "mx-106",
        "xl-320",
        "xl330-m288",
        "sts3215-7.4v",
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_part_cites_its_source_and_simulates(name):
    sheet = be.Datasheet.read(name)
    assert len(sheet.source) > 20
    for finding in sheet.reconciled.findings:
        assert finding.code
        assert finding.text
        assert finding.remedy
    actuator = sheet.actuator(control="voltage")
    derived = derived_at(sheet, sheet.voltage * (actuator.drive.duty_limit or 1.0))
    assert all(math.isfinite(c.value) and math.isfinite(c.error) for c in derived.values())
    J = actuator.gearbox.output_inertia(actuator.motor.rotor_inertia)
    K = abs(actuator.gearbox.ratio) * actuator.motor.torque_constant
    settle = 0.02  # seconds: give the load an inertia that reaches its speed in a few of these
    wheel = be.bench.Flywheel(
        inertia=max(settle * actuator.gearbox.n_motors * K**2 / actuator.motor.resistance - J, 1e-9)
    )
    run = be.simulate(actuator, wheel, sheet.voltage, duration=0.5, dt=0.005)
    assert run.velocity[-1] == pytest.approx(derived["no_load_speed"].value, rel=0.03)
    stall = be.simulate(actuator, be.bench.Locked(), sheet.voltage, duration=0.3, dt=0.001)
    net = stall.torque[-1] * (actuator.gearbox.efficiency or 1.0) - actuator.friction.breakaway
    assert net == pytest.approx(derived["stall_torque"].value, rel=0.12)  # small windings warm in 0.3 s
    exact = steady.stall_torque(actuator, sheet.voltage * (actuator.drive.duty_limit or 1.0))
    assert derived["stall_torque"].value == pytest.approx(exact, rel=1e-9)  # one definition


@pytest.mark.parametrize("name", [n for n in NAMES if parts.sheet(n).kind == "servo"])
def test_servos_hold_a_position(name):
    actuator = be.Datasheet.read(name).actuator()
    stall = be.Datasheet.read(name).reconciled.derived["stall_torque"].value
    bench = be.bench.Pendulum(mass=0.05 * stall / (9.81 * 0.1), length=0.1)
    run = be.simulate(actuator, bench, be.signal.step(0.5), duration=3.0, dt=0.005)
    assert run.position[-1] == pytest.approx(0.5, abs=0.15)
    assert abs(run.velocity[-1]) < 1e-6


@pytest.mark.parametrize("name", IDENTIFIED)
def test_identified_sets_simulate(name):
    actuator = be.Actuator.read(name)
    run = be.simulate(
        actuator, be.bench.Pendulum(mass=0.1, length=0.1), be.signal.sine(0.5, 0.5), duration=2.0, dt=0.005
    )
    assert np.ptp(run.position) > 0.3


@pytest.mark.parametrize("name", ["sts3032/m4", "sts3215-12v/so101"])
def test_own_sets_say_how_sure_they_are_and_what_they_stand_on(name):
    """Written by scripts/identified.py: errors, correlation, data, held-out score; and the whole servo."""
    part, _, label = name.partition("/")
    own = parts.sheet(part).identified[label]
    assert set(own.errors) <= set(own.parameters)
    assert [len(row) for row in own.correlation] == list(range(1, len(own.errors) + 1))
    assert "mrad" in own.error
    assert own.data
    actuator = be.Actuator.read(name)
    for path, value in own.parameters.items():
        assert actuator.parameters[path] == value
    assert actuator.drive.supply == own.supply
    spread = parts.spread(name)
    assert spread is not None
    assert spread.errors == own.errors
    np.testing.assert_allclose(np.asarray(spread.correlation), np.asarray(spread.correlation).T)
    assert np.linalg.eigvalsh(spread.correlation).min() > -1e-2  # three digits of it are printed
    assert "assumed_gain" not in {f.code for f in parts.part(name).findings}


def test_published_sets_without_errors_have_no_spread():
    assert parts.spread("mx-106/m6") is None
    assert parts.spread("mx-106") is None


def test_identified_numbers_are_the_published_ones(shared_data):
    published = json.loads((shared_data / "bam_params" / "mx106" / "m6.json").read_text())
    actuator = be.Actuator.read("mx-106/m6")
    assert isinstance(actuator.friction, be.friction.M6)
    assert actuator.motor.resistance == published["R"]
    assert actuator.motor.torque_constant == published["kt"]
    assert actuator.motor.rotor_inertia == published["armature"]
    assert actuator.friction.load_motor_quadratic == published["load_friction_motor_quad"]
    assert actuator.friction.static == pytest.approx(
        published["friction_base"] + published["friction_stribeck"]
    )


def test_frc_constants(shared_data):
    """Resistance, torque constant and speed constant as the motor tables of FRC compute them,
    from the nameplate alone."""
    for motor in json.loads((shared_data / "frc_motors.json").read_text()):
        sheet = be.Datasheet.read(FRC[motor["name"]])
        V, w0 = motor["nominal_voltage_V"], motor["free_speed_rpm"] * 2 * math.pi / 60
        assert sheet.voltage == V
        R, K_t = V / motor["stall_current_A"], motor["stall_torque_Nm"] / motor["stall_current_A"]
        K_v = w0 / (V - R * motor["free_current_A"])
        c = sheet.reconciled.constants
        assert c["R"].value == pytest.approx(R, rel=0.02)
        assert 1 / c["K"].value == pytest.approx(K_v, rel=0.02)
        if sheet.kind == "motor":
            ratio = c["kappa"].value if "kappa" in c else 1.0
            assert ratio * c["K"].value == pytest.approx(K_t, rel=0.05)
        disagree = abs(math.log(K_t * K_v)) > 0.05
        flagged = "torque_and_back_emf_constant" in [f.code for f in sheet.reconciled.findings]
        if sheet.kind == "motor":
            assert flagged == disagree, motor["name"]


@pytest.mark.parametrize("name", VENDOR_SHEETS)
def test_redundant_entries_come_back_within_their_rounding(name):
    """Gradient, time constants and stall current of a vendor's sheet follow from its constants,
    within rounding and 0.1 %."""
    rows = {r.entry.name: r for r in be.Datasheet.read(name).reconciled.residuals}
    checked = 0
    for entry in (
        "speed_torque_gradient",
        "mechanical_time_constant",
        "stall_current",
        "electrical_time_constant",
    ):
        if entry in rows:
            r = rows[entry]
            assert abs(r.predicted - r.entry.value) <= r.entry.half + 1e-3 * r.entry.value, (
                f"{entry}: {r.predicted} against {r.entry.value}"
            )
            checked += 1
    assert checked >= 2


def test_files_carry_no_foreign_keys():
    folder = resources.files("backemf.datasheets") / "catalog"
    for name in NAMES:
        toml = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
        assert set(toml) <= {
            "name",
            "maker",
            "series",
            "kind",
            "motor",
            "control",
            "side",
            "voltage",
            "temperature",
            "source",
            "quirks",
            "entries",
            "firmware",
            "profiles",
            "identified",
        }
