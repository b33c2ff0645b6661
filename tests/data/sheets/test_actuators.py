"""The catalogue's actuators with a driver inside: every number has a source, and what follows from a sheet is
what the sheet prints."""

from __future__ import annotations

import math
import tomllib
from importlib import resources

import pytest

import backemf as be
from backemf.datasheets import parts
from backemf.datasheets.reconcile import derived_at
from backemf.physics import steady

FOLDER = resources.files("backemf.datasheets") / "catalog"
SHEETS = [name for name in parts.names() if parts.sheet(name).kind == "actuator"]
MAKERS = {"CubeMars": 15, "RobStride": 8, "Damiao": 9, "MyActuator": 6, "Xiaomi": 1, "Unitree": 1, "MIT": 1}
SLOWER_THAN_PRINTED = {
    "ak80-64": "75 rpm is 25 % above KV x V / ratio",
    "rmd-x8-120": "158 rpm is 24 % above V / back-EMF / ratio",
}
FASTER_THAN_PRINTED = {
    "dm-j6006-2ec": "408 rpm is 25 % below speed constant x V / ratio",
    "mini-cheetah": "40 rad/s is a greatest speed, 13 % below V / K / ratio",
}
"""Sheets whose no-load speed contradicts their motor constants; their quirks say so."""


def _toml(name: str) -> dict:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("maker", "least"), MAKERS.items())
def test_every_maker_is_there(maker, least):
    assert sum(parts.sheet(name).maker.startswith(maker) for name in SHEETS) >= least


@pytest.mark.parametrize("name", SHEETS)
def test_every_number_has_a_source_that_names_a_place_and_a_date(name):
    toml, sheet = _toml(name), be.Datasheet.read(name)
    assert "2026-1" in sheet.source
    assert any(word in sheet.source for word in (".com", ".co.jp", ".edu"))
    for entry in sheet.entries:
        assert entry.source or sheet.source
        if entry.kind == "assumed":
            assert entry.source, f"{entry.name} is assumed, and must say from what"
    for key, given in toml.get("firmware", {}).items():
        assert given["source"], key


@pytest.mark.parametrize("name", SHEETS)
def test_numbers_that_nobody_printed_say_so(name):
    """Friction and inertia found on a bench stand apart from the maker's numbers."""
    for entry in be.Datasheet.read(name).entries:
        if "identif" in entry.source or "measured on" in entry.source:
            assert "not printed" in entry.source or entry.kind == "assumed", entry.name


@pytest.mark.parametrize("name", SHEETS)
def test_the_actuator_has_the_interface_of_its_sheet(name):
    sheet = be.Datasheet.read(name)
    assert sheet.control in ("impedance", "torque")
    actuator = sheet.actuator()
    assert isinstance(actuator.drive, be.drive.Impedance)
    assert actuator.drive.supply == sheet.voltage
    assert actuator.gearbox.ratio == sheet.value("gear_ratio")
    assert actuator.motor.limits is not None  # every sheet prints a peak current


@pytest.mark.parametrize("name", SHEETS)
def test_no_load_speed_is_the_printed_one(name):
    """Within 15 %: these sheets print it to 10 %, and a drive does not use all of its supply."""
    sheet = be.Datasheet.read(name)
    for printed in sheet.all("no_load_speed"):
        ratio = derived_at(sheet, printed.voltage)["no_load_speed"].value / printed.value
        if name in SLOWER_THAN_PRINTED:
            assert 0.75 < ratio < 0.85
            assert any("no-load speed" in text for text in sheet.quirks)
        elif name in FASTER_THAN_PRINTED:
            assert 1.15 < ratio < 1.35
            assert any("no-load speed" in text for text in sheet.quirks)
        else:
            assert ratio == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("name", SHEETS)
def test_peak_torque_is_reached_within_the_current_limit(name):
    """At standstill the peak current gives at least 0.84 of the peak torque (AK10-9, whose currents look like
    RMS ones) and at most 1.6 times it (J10010L, whose iron saturates)."""
    sheet = be.Datasheet.read(name)
    torque, printed = derived_at(sheet)["stall_torque"].value, sheet.value("peak_torque")
    assert printed is not None
    assert 0.84 < torque / printed < 1.6
    actuator = sheet.actuator(control="voltage")
    assert steady.stall_torque(actuator, sheet.voltage) == pytest.approx(torque, rel=0.02)


@pytest.mark.parametrize("name", SHEETS)
def test_constants_are_those_of_a_sound_actuator(name):
    """Gears of at least 50 %, friction below a fifth of the rated torque; the rotor of a printed inertia."""
    sheet = be.Datasheet.read(name)
    c = sheet.reconciled.values
    assert c.get("eta", 1.0) > 0.5
    rated = sheet.value("nominal_torque") or sheet.value("peak_torque")
    assert rated is not None
    assert c["tau_c"] * c["N"] < 0.36 * rated
    for inertia in sheet.all("rotor_inertia"):
        assert c["J"] == pytest.approx(inertia.value, rel=0.02)
    for inertia in sheet.all("reflected_inertia"):
        assert c["J"] * c["N"] ** 2 == pytest.approx(inertia.value, rel=0.02)


@pytest.mark.parametrize("name", SHEETS)
def test_no_entry_is_left_out_but_the_known_ones(name):
    """What a sheet contradicts itself in is in its quirks, and does not throw printed constants away."""
    known = {"ak80-6": {"speed_constant"}}
    assert {e.name for e in be.Datasheet.read(name).reconciled.left_out} == known.get(name, set())


def test_damiao_torque_constants_are_flux_linkage_times_pole_pairs():
    """1.5 p lambda N per ampere of amplitude and 1 / (sqrt 3 p lambda) per volt of line: one constant."""
    for name in (n for n in SHEETS if n.startswith("dm-")):
        sheet = be.Datasheet.read(name)
        K_t, k_n, N = (sheet.value(key) for key in ("torque_constant", "speed_constant", "gear_ratio"))
        assert K_t
        assert k_n
        assert N
        assert K_t / N * k_n == pytest.approx(1.0, rel=1e-3)


def test_mini_cheetah_holds_its_continuous_torque_below_its_winding_limit():
    """1.23 K/W and the printed 15.4 A of phase amplitude heat the winding from 25 to 100 degC, its resistance
    30 % up: within 10 %, as the thesis rounds. A resistance or current of the wrong convention fails this."""
    sheet = be.Datasheet.read("mini-cheetah")
    R, i, R_T = (sheet.value(key) for key in ("resistance", "nominal_current", "thermal_resistance"))
    assert R
    assert i
    assert R_T
    rise = R_T * 1.3 * R * i**2
    assert math.isclose(rise, 75.0, rel_tol=0.1)
