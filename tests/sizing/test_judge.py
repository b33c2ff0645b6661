"""One motor behind one gear at one steady task, by hand; and each limit from both of its sides."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.datasheets.gearhead import Gearhead
from backemf.errors import MissingValue
from backemf.sizing.components import MotorPart, gear_columns, motor_columns
from backemf.sizing.judge import LIMITS, PRINTED_AT, Judge
from backemf.sizing.mgdb import read_mgdb

MOTOR = {
    **{"resistance": 0.5, "torque_constant": 0.04, "back_emf_constant": 0.041, "rotor_inertia": 2e-5},
    **{"viscous": 3e-6, "friction": 0.004, "iron_loss": 1e-6, "ratio": 2.0, "efficiency": 0.9},
    **{"continuous_current": 4.0, "peak_current": 20.0, "speed_limit": 900.0, "max_temperature": 125.0},
    **{"R_1": 1.5, "R_2": 4.0, "C_1": 20.0, "C_2": 300.0, "alpha": 0.0039, "reference": 20.0},
    **{"mass": 0.4, "price": 100.0},
}
GEAR = Gearhead(name="G", sort="planetary", ratio=15.0, efficiency=0.8, inertia=1e-6, peak_torque=9.0,
                continuous_torque=6.0, input_speed=700.0, mass=0.3, price=50.0)  # fmt: skip
BUS, AMBIENT = 24.0, 40.0


def steady(torque: float, speed: float) -> be.Task:
    """So fast all the time, against so much; the two halves of a cycle are alike."""
    t, one = 0.01 * np.arange(50), np.ones(50)
    return be.Task(
        name="x", time=t, position=speed * t, velocity=speed * one, acceleration=0 * t, torque=torque * one
    )


def judge(
    torque: float = 2.0,
    speed: float = 12.0,
    gear: Gearhead = GEAR,
    ambient: float = AMBIENT,
    errors: Any = (),
    **motor: Any,
) -> Judge:
    part = MotorPart(name="m", numbers={**MOTOR, **motor}, errors=dict(errors), missing=(), make=be.Actuator)
    return Judge(
        steady(torque, speed), motor_columns([part]), gear_columns([gear]), BUS, ambient, max_mass=1.0
    )


def by_hand(
    torque: float, speed: float, ambient: float = AMBIENT, **motor: float
) -> tuple[dict[str, float], dict[str, float]]:
    """(uses, numbers): friction lies behind the teeth, which carry it and the load; R grows with heat that
    grows with R."""
    m = {**MOTOR, **motor}
    N, eta, w = 30.0, 0.72 * m["efficiency"] / 0.9, 30.0 * speed
    drag = eta * N * (m["friction"] + (m["viscous"] - m["iron_loss"]) * w)
    tau = m["iron_loss"] * w + (torque + drag) / N * (1 / eta if torque > 0 else eta)
    i, iron = tau / m["torque_constant"], m["iron_loss"] * w**2
    T = ambient
    for _ in range(200):
        R = m["resistance"] * (1 + m["alpha"] * (T - m["reference"]))
        T = ambient + (m["R_1"] + m["R_2"]) * R * i**2 + m["R_2"] * iron
    volts = R * i + m["back_emf_constant"] * w
    fades = math.sqrt((m["max_temperature"] - ambient) / (m["max_temperature"] - PRINTED_AT))
    uses = {
        **{"mass": 0.7, "gear speed": 15 * speed / 700, "gear peak torque": abs(torque) / 9},
        **{"gear torque": abs(torque) / 6, "motor speed": w / 900, "voltage": abs(volts) / BUS},
        **{"continuous current": abs(i) / (fades * 4), "peak current": abs(i) / 20},
        "temperature": (T - ambient) / (m["max_temperature"] - ambient),
    }
    numbers = {
        **{"ratio": 30.0, "mass": 0.7, "price": 150.0, "current_rms": abs(i), "current_peak": abs(i)},
        **{"voltage": abs(volts), "temperature": T, "copper_loss": R * i**2, "drawn": volts * i},
        **{"loss": volts * i - torque * speed, "reflected_inertia": 900 * 2.1e-5},
    }
    return uses, numbers


@pytest.mark.parametrize(("torque", "speed"), [(2.0, 12.0), (-3.0, 12.0), (0.5, 20.0)])
def test_a_steady_task_is_a_line_of_arithmetic(torque, speed):
    off = {
        "resistance": 0.1,
        "torque_constant": 0.05,
        "friction": 0.3,
        "efficiency": 0.05,
        "rotor_inertia": 0.2,
    }
    mine = judge(torque, speed, errors=off)
    m, g = np.zeros(1, int), np.ones(1, int)
    found = mine.evaluate(m, g)
    uses, numbers = by_hand(torque, speed)
    assert {n: float(x[0]) for n, x in found.uses.items()} == pytest.approx(
        uses, rel=1e-5
    )  # peaks in float32
    assert {n: float(x[0]) for n, x in found.numbers.items()} == pytest.approx(numbers, rel=1e-5)
    assert mine.drawn_without_regeneration(0, 1) == pytest.approx(max(numbers["drawn"], 0.0))
    others = [by_hand(torque, speed, **{n: MOTOR[n] * (1 + x)})[0] for n, x in off.items()]
    errors = {n: math.sqrt(sum((other[n] - uses[n]) ** 2 for other in others)) for n in uses}
    assert {n: float(x[0]) for n, x in found.errors.items()} == pytest.approx(errors, rel=1e-2, abs=1e-6)
    assert not any(x.any() for x in mine.evaluate(m, g, with_errors=False).errors.values())
    for margin in (0.0, 2.0):
        worst = max(uses[n] + margin * errors[n] for n in uses)
        assert found.worst(margin)[0] == pytest.approx(worst, rel=1e-3)


SETS = {
    "gear speed": ("gear", "input_speed"), "gear peak torque": ("gear", "peak_torque"),
    "gear torque": ("gear", "continuous_torque"), "motor speed": ("motor", "speed_limit"),
    "continuous current": ("motor", "continuous_current"), "peak current": ("motor", "peak_current"),
}  # fmt: skip
"""Where a limit stands."""


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_each_limit_rules_out_what_uses_more_of_it(limit, share):
    """All the others are wide; the one that is looked at is so that this share of it is used."""
    wide = replace(GEAR, input_speed=1e4, peak_torque=100.0, continuous_torque=90.0)
    loose = {"speed_limit": 1e5, "continuous_current": 50.0, "peak_current": 500.0, "max_temperature": 900.0}
    mine = judge(gear=wide, **loose)
    kind, name = SETS.get(limit, ("", ""))
    use = mine.evaluate(np.zeros(1, int), np.ones(1, int)).uses[limit][0]
    match kind:
        case "gear":
            narrow = {"continuous_torque": None, name: getattr(wide, name) * float(use) / share}
            mine = judge(gear=replace(wide, **narrow), **loose)
        case "motor":
            mine = judge(gear=wide, **{**loose, name: loose[name] * use / share})
        case _ if limit == "temperature":
            mine = judge(gear=wide, **{**loose, "max_temperature": AMBIENT + (900.0 - AMBIENT) * use / share})
        case _ if limit == "mass":
            mine = replace(mine, max_mass=0.7 / share)
        case _:
            mine = replace(mine, bus=BUS * use / share)
    found = mine.screen(np.zeros(3, int), np.ones(3, int))
    assert found.killed == {**dict.fromkeys(LIMITS, 0), limit: 3 * (share > 1)}
    assert len(found.feasible) == 3 * (share < 1)
    assert (found.nearest is None) == (share < 1)
    if found.nearest is not None:
        assert found.nearest.worst()[0] == pytest.approx(share, rel=1e-5)


def test_what_nobody_prints_rules_nothing_out_but_heat_that_no_winding_stands():
    nan = dict.fromkeys(("max_temperature", "speed_limit", "continuous_current", "peak_current"), math.nan)
    found = {
        a: judge(ambient=a, **nan).evaluate(np.zeros(1, int), np.ones(1, int)) for a in (40.0, 150.0, 160.0)
    }
    for ambient, one in found.items():
        assert np.isinf(one.uses["temperature"][0]) == (ambient > 155.0)
        assert np.isnan(one.uses["continuous current"][0])
    assert np.isfinite(found[40.0].worst()[0])
    warm, cold = (
        judge(ambient=a, max_temperature=100.0).evaluate(np.zeros(1, int), np.ones(1, int)) for a in (99, 101)
    )
    assert np.isfinite(warm.uses["temperature"][0])
    assert np.isinf(cold.uses["temperature"][0])


def test_gears_that_wear_by_their_turns_count_a_cubic_mean():
    t = 0.01 * np.arange(40)
    w, T = np.where(t < 0.2, 1.0, 9.0), np.where(t < 0.2, 4.0, 1.0)
    task = be.Task(name="x", time=t, position=0 * t, velocity=w, acceleration=0 * t, torque=T)
    for sort, torque in (
        ("strain wave", (73.0 / 10.0) ** (1 / 3)),
        ("harmonic", 7.3 ** (1 / 3)),
        ("spur", math.sqrt(8.5)),
    ):
        mine = replace(judge(gear=replace(GEAR, sort=sort)), task=task)
        assert mine.evaluate(np.zeros(1, int), np.ones(1, int)).uses["gear torque"][0] == pytest.approx(
            torque / 6.0
        )


ROW = {
    **{"key": "m", "manufacturer": "maker", "ID": "7", "type": "DC", "V": 24.0, "k_t": 0.03, "R": 0.3},
    **{"L": 8e-5, "mass": 0.48, "inertia": 1.4e-5, "omega_nl": 790.0, "I_nl": 0.14, "I_nom": 5.8},
    **{"max_int_torque": 2.4, "max_int_speed": 1256.0, "Rth1": 1.9, "Rth2": 4.6},
}


def clone(folder: Path, gear: str = "g,maker,8,planetary,43,0.46,1.5e-6,0.72,22.5,15", **row: Any) -> Any:
    """What is read of a clone of MGDB with one motor and one gearbox."""
    folder.mkdir()
    values = ",".join(map(str, {**ROW, **row}.values()))
    (folder / "a_motors.csv").write_text(f"{','.join(ROW)}\n{values}\n")
    head = "key,manufacturer,ID,type,ratio,mass,inertia,efficiency,max_int_torque,max_cont_torque"
    (folder / "a_gearboxes.csv").write_text(f"{head}\n{gear}\n")
    (folder / "a_compatibility.csv").write_text("m,g\n")
    return read_mgdb(folder)


def test_a_row_of_mgdb_is_read_in_full(tmp_path):
    (motor,), (gear,), notes = clone(tmp_path / "a")
    assert notes == []
    assert motor.numbers == pytest.approx({
        **{"resistance": 0.3, "torque_constant": 0.03, "back_emf_constant": 0.03, "rotor_inertia": 1.4e-5},
        **{"viscous": 0.0, "friction": 0.0042, "iron_loss": 0.0, "ratio": 1.0, "efficiency": 1.0},
        **{"continuous_current": 5.8, "peak_current": 80.0, "speed_limit": 1256.0, "mass": 0.48},
        **{"R_1": 1.9, "R_2": 4.6, "alpha": 0.00393, "reference": 25.0},
    })  # fmt: skip
    assert (motor.name, motor.missing, motor.source) == ("m", (), "MGDB, maker 7")
    made = motor.make()
    assert (made.motor.inductance, made.motor.resistance, made.motor.torque_constant) == (8e-5, 0.3, 0.03)
    assert made.motor.thermal.total_resistance == pytest.approx(6.5)
    about = {"name": "g", "maker": "maker", "ratio": 43.0, "fits": ("m",), "source": "MGDB"}
    torques = {"peak_torque": 22.5, "continuous_torque": 15.0}
    assert gear == Gearhead(sort="planetary", mass=0.46, inertia=1.5e-6, efficiency=0.72, **torques, **about)
    open_ = {"L": 0, "inertia": "", "I_nl": "", "I_nom": "", "Rth1": "", "omega_nl": ""}
    (bare,), (gear,), _ = clone(tmp_path / "b", "g,maker,8,spur,43,0,0,1.2,inf,", **open_)
    assert set(bare.missing) == {"rotor_inertia", "I_nl", "I_nom"}
    assert gear == Gearhead(sort="spur", **about)


def test_a_rotor_whose_inertia_nobody_printed_may_be_neglected_apart_from_the_gears(tmp_path):
    clone(tmp_path / "MGDB", inertia="")
    given = {"bus": 24.0, "parts": [str(tmp_path / "MGDB")], "only_parts": True}
    (choice,) = be.size(steady(1.0, 5.0), **given, neglect=["rotor_inertia"]).choices
    assert (choice.motor, choice.actuator().motor.rotor_inertia) == ("m", 1.5e-6), "that of the gears"
    with pytest.raises(MissingValue, match="m prints no rotor_inertia"):
        be.size(steady(1.0, 5.0), **given, neglect=["gear_inertia"])


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"R": 0.0}, "no resistance"),
        ({"k_t": ""}, "no resistance"),
        ({"I_nl": -0.1}, "a negative no-load current"),
        ({"max_int_torque": 0.9 * 0.03 * 5.8}, "less torque for a moment"),
        ({"max_int_torque": 1.1 * 0.03 * 5.8}, ""),
        *(({"omega_nl": (share * 24 - 0.3 * 0.14) / 0.03}, "" if 0.75 < share < 1.25 else "no-load speed")
          for share in (0.7, 0.8, 1.2, 1.3)),
        ({"gear": "g,maker,8,planetary,0,0.46,1.5e-6,0.72,22.5,15"}, "a gearbox without a ratio"),
        ({"gear": "g,maker,8,planetary,43,0.46,1.5e-6,0.72,14,15"}, "a gearbox without a ratio"),
        ({"gear": "g,maker,8,planetary,43,0.46,1.5e-6,0.72,16,15"}, ""),
        ({"gear": "h,maker,8,planetary,43,0.46,1.5e-6,0.72,22.5,15"}, "no motor is said to fit"),
    ],
)  # fmt: skip
def test_a_row_of_mgdb_that_contradicts_itself_is_left_out_and_counted(tmp_path, row, why):
    motors, gears, notes = clone(tmp_path / "MGDB", **row)
    assert len(motors) + len(gears) == 2 - bool(why)
    assert [note.partition(": ")[0] for note in notes] == ["1 rows of MGDB left out"] * bool(why)
    assert all(why in note for note in notes)
