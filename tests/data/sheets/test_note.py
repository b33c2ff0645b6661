"""Everything that the tables of MuJoCo's DC-motor note print can be written down under the note's symbols,
and arrives in the actuator or among what is printed and not used."""

from __future__ import annotations

import math
import re

import pytest

import backemf as be
from backemf.apps.cli import sheets
from backemf.datasheets.datasheet import ENTRIES, canonical, either
from backemf.datasheets.toml import DatasheetError
from backemf.physics import steady
from backemf.physics.quantity import quantities

from ...cli.runner import runner

HEAD = (
    'name = "n"\nmaker = "m"\nkind = "gearmotor"\nside = "rotor"\nvoltage = "24 V"\nsource = "made up for a'
    ' test"\ncontrol = "{control}"\n[entries]\n'
)
# K = 0.05, R = 2, tau_c = 0.005, B = 1e-5: w_0 = 24 K / R - tau_c over K^2 / R + B, and so on
R, K, TAU_C, B, V, J = 2.0, 0.05, 0.005, 1e-5, 24.0, 1e-5
W0 = (K * V / R - TAU_C) / (K * K / R + B)
TABLE = {
    "R": f"{R:.5f} ohm",
    "K_t": f"{K:.6f} N m/A",
    "ke": f"{K:.6f} V s/rad",
    "kn": f"{1 / K:.6f} rad/(s V)",
    "Un": "24 V",
    "n0": f"{W0:.6f} rad/s",
    "MH": f"{K * V / R:.6f} N m",
    "IA": f"{V / R:.6f} A",
    "I_N": "2 A",
    "IpK": "9 A",
    "t_peak": "3 s",
    "T_f": f"{TAU_C:.7f} N m",
    "C_v": f"{B:.5e} N m s/rad",
    "J": f"{J} kg m^2",
    "N": "5",
    "\u03b7": "80 %",
    "N_p": "84",
    "A": "1 mN m",
    "\u03c6": "0.3 rad",
    "M_N": f"{2 * K:.6f} N m",
    "I_0": f"{(TAU_C + B * W0) / K:.6f} A",
    "\u0394n/\u0394M": f"{R / K**2:.6f} rad/(s N m)",
    "\u03c4_m": f"{R * J / K**2:.8f} s",
    "L": "1 mH",
    "\u03c4_e": "0.5 ms",
    "Rth": "6 K/W",
    "C_th": "20 J/K",
    "\u03c4_th": "120 s",
    "T_ref": "22 degC",
    "T_a": "21 degC",
    "T_max": "150 degC",
    "\u03b1_Cu": "0.0039 1/K",
    "\u03b1_m": "-0.1 %/K",
    "T_1": "90 degC",
    "T_2": "130 degC",
    "i_safe": "1 A",
    "K_fe": "1e-7 W s^2/rad^2",
    "B_2": "1e-8 N m s^2/rad^2",
    "B_3": "1e-11 N m s^3/rad^3",
    "\u03c3_0": "40 N m/rad",
    "\u03c3_1": "0.01 N m s/rad",
    "\u03c4_s": "8 mN m",
    "\u03c9_s": "0.5 rad/s",
    "\u03b3": "2",
    "\u03b2": "2",
    "(di/dt)_max": "900 A/s",
    "i_sat": "40 A",
    "backlash": "12 arcmin",
}
FIRMWARE = {"k_p": "40 V/rad", "k_i": "3 V/(rad s)", "k_d": "0.5 V s/rad", "slewmax": "6 rad/s"}
FIRMWARE |= {"I_max": "0.4 rad s", "v_max": "20 V"}


def sheet(entries=TABLE, firmware=FIRMWARE, control="position") -> be.Datasheet:
    def lines(table):
        return "".join(f'"{key}" = "{value}"\n' for key, value in table.items())

    return be.Datasheet.parse(
        HEAD.format(control=control) + lines(entries) + (f"[firmware]\n{lines(firmware)}" if firmware else "")
    )


EXPECTED = {
    "motor.resistance": R,
    "motor.torque_constant": K,
    "motor.rotor_inertia": J,
    "motor.inductance": 1e-3,
    "motor.iron_loss": 1e-7,
    "motor.saturation_current": 40.0,
    "motor.limits.continuous_current": 2.0,
    "motor.limits.peak_current": 9.0,
    "motor.limits.peak_time": 3.0,
    "motor.limits.current_rate": 900.0,
    "motor.limits.derating_start": 90.0,
    "motor.limits.derating_end": 130.0,
    "motor.limits.safe_current": 1.0,
    "motor.thermal.resistance": 6.0,
    "motor.thermal.capacitance": 20.0,
    "motor.thermal.ambient": 21.0,
    "motor.thermal.reference": 22.0,
    "motor.thermal.resistance_coefficient": 0.0039,
    "motor.thermal.magnet_coefficient": -1e-3,
    "motor.cogging.amplitude": 1e-3,
    "motor.cogging.periods": 84.0,
    "motor.cogging.phase": 0.3,
    "gearbox.ratio": 5.0,
    "gearbox.efficiency": 0.8,
    "gearbox.backlash": math.radians(0.2),
    # a torque grows with N, a speed shrinks, B_1, B_2, B_3 grow with N^2, N^3, N^4; behind gears of
    # efficiency eta the motor feels 1/eta of what the output loses
    "friction.coulomb": 0.8 * 5 * TAU_C,
    "friction.viscous": 0.8 * 25 * B,
    "friction.viscous_quadratic": 0.8 * 125 * 1e-8,
    "friction.viscous_cubic": 0.8 * 625 * 1e-11,
    "friction.static": 0.8 * 5 * 8e-3,
    "friction.stribeck_velocity": 0.5 / 5,
    "friction.stribeck_exponent": 2.0,
    "friction.stiffness": 0.8 * 25 * 40.0,
    "friction.damping": 0.8 * 25 * 0.01,
    "friction.damping_exponent": 2.0,
    "drive.volts_per_radian": 40.0,
    "drive.volts_per_radian_second": 3.0,
    "drive.volt_seconds_per_radian": 0.5,
    "drive.slew": 6.0,
    "drive.integral_limit": 0.4,
    "drive.voltage_limit": 20.0,
    "drive.supply": 24.0,
    "motor.thermal.max_temperature": 150.0,
}


def test_every_number_of_the_table_arrives():
    made = sheet()
    assert made.reconciled.left_out == ()
    found = made.actuator().parameters
    told = {path: found.get(path) for path in EXPECTED}
    assert told == pytest.approx(EXPECTED, rel=1e-3)  # the constants are solved from digits that are rounded
    assert made.reconciled.unused == ()


@pytest.mark.parametrize("symbol", TABLE)
def test_nothing_printed_is_dropped(symbol):
    """Alone beside what any sheet needs, an entry is in the actuator, compared, or listed as not used."""
    needed = {key: TABLE[key] for key in ("R", "K_t", "T_f", "J", symbol)}
    made, without = sheet(needed, {}), sheet({k: v for k, v in needed.items() if k != symbol}, {})
    (name,) = [e.name for e in made.entries if e.name not in [o.name for o in without.entries]]
    solved = made.reconciled
    listed = any(text.startswith(name.replace("_", " ")) for text in solved.unused)
    compared = any(r.entry.name == name for r in solved.residuals)
    said = any("for ever" in text for text in solved.assumed) or name == "nominal_voltage"
    try:
        arrives = made.actuator().parameters != without.actuator().parameters
    except be.BackemfError:  # without R or K there is no actuator
        arrives = True
    assert listed or compared or arrives or said


def test_what_is_not_used_is_printed(tmp_path):
    path = tmp_path / "n.toml"
    rows = {
        key: TABLE[key] for key in ("R", "K_t", "T_f", "T_max", "T_ref", "backlash", "\u03c3_1", "\u03c9_s")
    }
    path.write_text(
        HEAD.format(control="voltage") + "".join(f'"{k}" = "{v}"\n' for k, v in rows.items()),
        encoding="utf-8",
    )
    told = runner(sheets.datasheet, sheets.catalog)("datasheet", path)
    for text in (
        "max winding temperature 150 degC",
        "reference temperature 22 degC (nothing is printed on heating)",
        "backlash 12 arcmin (play needs a rotor inertia, which is not printed)",
        "bristle damping 0.01 N m s/rad (no bristle stiffness is printed)",
        "stribeck velocity 0.5 rad/s (stiction needs a torque, a speed over which it fades",
    ):
        assert text in re.sub(r"\s+", " ", told)


def test_settings_of_another_interface_are_listed():
    made = sheet(firmware={"k_p": "60 N m/rad", "k_d": "1.5 N m s/rad", "velocity_gain": "2 V s/rad"})
    assert made.actuator().parameters["drive.newton_metres_per_radian"] == 60.0
    assert "firmware velocity gain 2 V s/rad (of another law: velocity)" in made.reconciled.unused
    spun = made.actuator(control="velocity").parameters
    assert spun["drive.volt_seconds_per_radian"] == 2.0
    volts = sheet(firmware={"k_p": "2 V s/rad", "k_i": "5 V/rad"}, control="velocity").actuator().parameters
    assert (volts["drive.volt_seconds_per_radian"], volts["drive.volts_per_radian"]) == (2.0, 5.0)


def test_a_symbol_with_two_meanings_goes_by_its_unit():
    assert either("\u03c4_s") == ("thermal_time_constant_housing", "stiction_torque")
    names = [e.name for text in ("800 s", "8 mN m") for e in sheet({**TABLE, "\u03c4_s": text}).entries]
    assert {"thermal_time_constant_housing", "stiction_torque"} <= {*names}
    with pytest.raises(DatasheetError, match="k_p is '3 A'; expected a number in V/rad, N m/rad, V s/rad"):
        sheet(firmware={"k_p": "3 A"})


def test_the_stall_torque_is_what_friction_at_rest_leaves():
    made = sheet(firmware={}, control="voltage")
    expected = steady.stall_torque(made.actuator(), V)
    assert made.reconciled.derived["stall_torque"].value == pytest.approx(expected, rel=1e-6)
    soft = {k: v for k, v in TABLE.items() if not k.startswith(("\u03c3", "\u03b2", "\u03c4_s"))}
    difference = sheet(soft, {}, "voltage").reconciled.derived["stall_torque"].value - expected
    assert difference == pytest.approx(0.8 * 5 * (8e-3 - TAU_C), rel=1e-3)


def test_without_stiction_a_bristle_is_dahl_s():
    rows = {key: TABLE[key] for key in ("R", "K_t", "T_f", "J", "\u03c3_0")}
    assert sheet(rows, {}, "voltage").actuator().friction.kind == "friction.Dahl"
    less = sheet({**TABLE, "\u03c4_s": "1 mN m"}).reconciled.unused
    assert "stiction torque 1 mN m (it is less than the dry friction in motion)" in less


def test_where_an_entry_goes_is_a_parameter():
    known = {path for path, _, _ in quantities(sheet().actuator())}
    two = {k: v for k, v in TABLE.items() if k not in ("Rth", "C_th")}
    two |= {"Rth1": "2 K/W", "Rth2": "4 K/W", "tau_w1": "10 s", "tau_w2": "600 s"}
    known |= {path for path, _, _ in quantities(sheet(two).actuator())}
    known |= {"motor.limits.current", "motor.back_emf_constant"}  # of other sheets
    for name, kind in ENTRIES.items():
        paths = re.findall(r"(?:motor|gearbox|friction)\.[a-z_.]+[a-z]", kind.becomes)
        assert canonical(name) == name
        assert {*paths} <= known, name
