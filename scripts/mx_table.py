"""The MX-64 and MX-106 by every route: docs/mx-table.md, from the bench readings in ../shared/data/mx and
what others printed.

python scripts/mx_table.py            writes the tables into docs/mx-table.md
python scripts/mx_table.py --check    changes nothing; ends with 1 if they are out of date
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from docs_tables import PAGES, filled, markdown

import backemf as be
from backemf.analysis.measure import MeasuredConstants
from backemf.analysis.measurement import Measurement, derive, estimate
from backemf.analysis.routes import CONSTANTS
from backemf.datasheets import parts
from backemf.physics.bench import Pendulum
from backemf.tables import number

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT.parent / "shared" / "data" / "mx"
PAGE = PAGES / "mx-table.md"
SERVOS = {"mx64": ("MX-64", "mx-64"), "mx106": ("MX-106", "mx-106")}
VOLTS = 12.0
"""At which the maker's numbers are taken."""
PRINTED = {
    "mx64": {"motor.resistance": "2.1", "drive.firmware_gain": "0.15941036"},
    "mx106": {"motor.resistance": "2.3", "friction.static": "0.212", "drive.firmware_gain": "0.15754579"},
}
"""Rhoban's identification of Dynamixels, its table: multimeter, falling arm (printed as a value, though it is
a bound), oscilloscope."""
SHOWN = {
    "motor.resistance": "R [ohm]",
    "motor.torque_constant": "K_t [N m/A]",
    "motor.back_emf_constant": "K_e [V s/rad]",
    "friction.static": "f_s, static [N m]",
    "friction.coulomb": "tau_c, dry [N m]",
    "friction.viscous": "f_v, viscous [N m s/rad]",
    "drive.firmware_gain": "H [1/rad]",
    "inertia": "J at the output [kg m^2]",
}
WORDS = {
    "resistance": "volts over amperes, rotor locked",
    "resistance, with drop": "the same, with a constant voltage drop",
    "torque-constant by current": "static loads over current, friction within +-f_s",
    "torque-constant by current, slope": "static loads over current, slope",
    "torque-constant by voltage": "static loads over voltage, friction within +-f_s",
    "torque-constant by voltage, slope": "static loads over voltage, slope",
    "no-load slope": "no-load line: K + R f_v / K is at least K",
    "no-load": "no-load line, with K of the trajectory fits",
    "fall": "arm that fell and came to rest",
    "firmware-gain": "duty on an oscilloscope",
}


def readings(servo: str) -> dict[str, Any]:
    """What was read on the bench, as `measure.constants` takes it."""
    tables = json.loads((BENCH / "bench_tables.json").read_text(encoding="utf-8"))
    speeds = json.loads((BENCH / f"velocity_{servo}.json").read_text(encoding="utf-8"))
    scope = json.loads((BENCH / f"pwm_{servo}.json").read_text(encoding="utf-8"))
    fell, samples = tables["static_friction"][servo], scope["samples"]
    made: dict[str, Any] = {
        "name": SERVOS[servo][0],
        "fall": {"mass": fell["m_kg"], "length": fell["l_m"], "angle": f"{fell['theta_deg']} deg"},
        "no-load": {
            "voltage": [float(v) for v in speeds],
            "speed": [*speeds.values()],
            "torque_constant": spread([fit.motor.torque_constant for fit in identified(servo)]),
        },
        "firmware-gain": {
            "error": [math.radians(s["target"] - s["position"]) for s in samples],
            "register": [s["kp"] for s in samples],
            "duty": [s["period"] / scope["pwm_period"] for s in samples],
        },
    }
    if servo == "mx106":
        locked, held = tables["mx106_locked_rotor_VI"], tables["stall_static_load"]
        made["resistance"] = {"current": locked["I_A"], "voltage": locked["V_working_unit"]}
        arm = Pendulum(mass=held["mass_kg"], length=held["length_m"])
        load = arm.moment() * np.cos(np.radians(np.array(held["pos_deg"]) - 180.0))
        made["torque-constant"] = [
            {"load": load, "current": held["I_A"]},
            {"load": load, "voltage": held["V"]},
        ]
    return made


def identified(servo: str) -> list[be.Actuator]:
    """BAM's published sets, M1 to M6."""
    return [parts.identified_actuator(f"{SERVOS[servo][1]}/m{k}") for k in range(1, 7)]


def spread(values: list[float]) -> tuple[float, float]:
    """Six friction laws on the same logs: how much they differ is the error that choosing one leaves."""
    return float(np.mean(values)), float(np.std(values, ddof=1))


def stated(servo: str) -> dict[str, dict[str, Any]]:
    """What others printed: the note's own table, the maker's sheet, and BAM's fits of trajectories."""
    told: dict[str, dict[str, Any]] = {}
    for constant, text in PRINTED[servo].items():
        half = 0.5 * 10.0 ** -len(text.partition(".")[2])
        alone = constant == "motor.resistance"
        label = "multimeter" if alone else "the same, as printed"
        told.setdefault(constant, {})[label] = printed(constant, float(text), half, not alone)
    sheet = be.Datasheet.read(SERVOS[servo][1])
    at = {
        name: next(e for e in sheet.all(name) if e.voltage == VOLTS)
        for name in ("stall_torque", "stall_current", "no_load_speed")
    }
    torque, current, speed = (estimate("", "", e.value, e.half**2 / 3.0) for e in at.values())
    # friction, a warm winding and the driver's drop are in these: listed, not counted
    R = derive("motor.resistance", "ohm", lambda i: VOLTS / i, current, secondary=True)
    K = derive("motor.torque_constant", "N m/A", lambda tau, i: tau / i, torque, current, secondary=True)
    K_e = derive("motor.back_emf_constant", "V s/rad", lambda w: VOLTS / w, speed)
    told.setdefault("motor.resistance", {})["maker: 12 V over the stall current"] = R
    told.setdefault("motor.torque_constant", {})["maker: stall torque over stall current"] = K
    told["motor.back_emf_constant"] = {
        "maker: 12 V over the no-load speed, at least K": replace(K_e, value=None, error=None, low=None)
    }
    fits = identified(servo)
    ways = {
        "motor.resistance": [fit.motor.resistance for fit in fits],
        "motor.torque_constant": [fit.motor.torque_constant for fit in fits],
        "friction.viscous": [fit.friction.viscous for fit in fits],
        "inertia": [fit.motor.rotor_inertia for fit in fits],
    }
    for constant, values in ways.items():
        told.setdefault(constant, {})["trajectory fits, M1 to M6"] = spread(values)
    told["friction.coulomb"] = {"trajectory fit, M1": float(fits[0].friction.moving)}
    return told


def printed(constant: str, value: float, half: float, secondary: bool) -> Measurement:
    """A printed number: anywhere within half a unit of its last digit."""
    m = estimate(constant, CONSTANTS[constant], value, half**2 / 3.0, secondary=secondary)
    return replace(m, error=None, low=None, high=None) if secondary else m


def constants(servo: str) -> MeasuredConstants:
    return be.measure.constants({**readings(servo), "stated": stated(servo)})


def cell(m: Measurement) -> str:
    if m.value is None:
        low, high = ("" if v is None else number(v, 4) for v in (m.low, m.high))
        return f"{low} to {high}" if low and high else f">= {low}" if low else f"<= {high}"
    if m.error is None:
        return number(m.value, 8)
    return m.number().removeprefix("= ").rsplit(f" {m.unit}", 1)[0].replace("+-", "±")


def interval(m: Measurement) -> str:
    if m.value is None or m.low is None or m.high is None or not m.error:
        return ""
    return f"{number(m.low)} to {number(m.high)}"


def n_routes(made: MeasuredConstants, constant: str) -> int:
    """Routes that count."""
    return sum(not m.secondary for m in made.routes.get(constant, {}).values())


def table(ways: Mapping[str, MeasuredConstants]) -> str:
    """Constants, then routes, then servos."""
    rows = []
    for constant, symbol in SHOWN.items():
        known = [made.routes.get(constant, {}) for made in ways.values()]
        labels = dict.fromkeys(r for routes in known for r in routes)
        printed = [r for r in labels if r.startswith("the same")]
        labels = [*(r for r in labels if r not in printed), *printed]
        for route in labels:
            row = [symbol, WORDS.get(route, route)]
            for made in ways.values():
                m = made.routes.get(constant, {}).get(route)
                row += ["", ""] if m is None else [cell(m), interval(m)]
            rows.append(row)
            symbol = ""
        together = [made.combined.get(constant) for made in ways.values()]
        if any(n_routes(made, constant) > 1 for made in ways.values()):
            row = ["", "**together**"]
            for m, made in zip(together, ways.values(), strict=True):
                alone = n_routes(made, constant) < 2
                row += ["", ""] if m is None or alone else [f"**{cell(m)}**", interval(m)]
            if any(row[2:]):
                rows.append(row)
    header = ["constant", "route"]
    for made in ways.values():
        header += [made.name, "95 %"]
    return markdown(header, rows)


def said(ways: Mapping[str, MeasuredConstants]) -> str:
    """What the routes say against each other."""
    lines = []
    for made in ways.values():
        lines += [f"- **{made.name}**, `{f.code}`: {f.text}" for f in made.findings]
    return "\n".join(lines)


def made() -> dict[str, str]:
    """Marks of the page, and what stands between them."""
    ways = {servo: constants(servo) for servo in SERVOS}
    return {"mx table": table(ways), "mx findings": said(ways)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; end with 1 if the page is out of date"
    )
    asked = parser.parse_args()
    if not BENCH.is_dir():
        print(f"the bench readings are not here ({BENCH}); docs/{PAGE.name} stays as it is", file=sys.stderr)
        return 2
    old = PAGE.read_text(encoding="utf-8")
    for name, text in made().items():
        new = filled(PAGE, name, text)
        if not asked.check:
            PAGE.write_text(new, encoding="utf-8")
        elif new != old:
            print(f"docs/{PAGE.name} is out of date; run python scripts/mx_table.py")
            return 1
    print(f"docs/{PAGE.name} is current")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
