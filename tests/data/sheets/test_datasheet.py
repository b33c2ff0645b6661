"""Reading a sheet, reconciling it, and saying what disagrees."""

from __future__ import annotations

import json
import math

import pytest

import backemf as be
from backemf.datasheets.datasheet import ENTRIES
from backemf.datasheets.toml import DatasheetError, json_schema
from backemf.physics import steady

from ...published.routes import servo_torque_model, sg90_article

HEAD = (
    'name = "test"\nmaker = "nobody"\nkind = "{kind}"\nside = "{side}"\nvoltage = "{voltage}"\nsource = "made'
    ' up for a test"\n[entries]\n'
)


def sheet(body: str, kind: str = "motor", side: str = "rotor", voltage: str = "24 V") -> be.Datasheet:
    return be.Datasheet.parse(HEAD.format(kind=kind, side=side, voltage=voltage) + body)


def ideal(R=2.43, K=0.0238, tau_c=8.8e-4, J=9.9e-7, L=2.4e-4, V=24.0, **changes) -> be.Datasheet:
    """A sheet printed from known constants, with four digits each; `changes` overwrite entries."""
    w0 = (K * V / R - tau_c) * R / K**2
    rows = {
        "resistance": f"{R:.4g} ohm",
        "torque_constant": f"{1e3 * K:.4g} mN m/A",
        "speed_constant": f"{60 / (2 * math.pi * K):.4g} rpm/V",
        "no_load_speed": f"{w0 * 60 / (2 * math.pi):.4g} rpm".replace("e+03", "e3"),
        "no_load_current": f"{1e3 * tau_c / K:.4g} mA",
        "stall_torque": f"{1e3 * K * V / R:.4g} mN m",
        "stall_current": f"{V / R:.4g} A",
        "speed_torque_gradient": f"{R / K**2 * 60 / (2 * math.pi) / 1e3:.4g} rpm/(mN m)",
        "mechanical_time_constant": f"{1e3 * R * J / K**2:.4g} ms",
        "rotor_inertia": f"{1e7 * J:.4g} g cm^2",
        "inductance": f"{1e3 * L:.4g} mH",
    }
    rows |= changes
    return sheet(
        "\n".join(
            f'{k} = "{v}"' if not str(v).startswith("{") else f"{k} = {v}"
            for k, v in rows.items()
            if v is not None
        )
    )


def codes(printed: be.Datasheet) -> list[str]:
    return [f.code for f in printed.reconciled.findings]


def test_a_consistent_sheet_gives_back_its_constants_within_their_errors():
    solved = ideal().reconciled
    for name, truth in {"R": 2.43, "K": 0.0238, "tau_c": 8.8e-4, "J": 9.9e-7, "L": 2.4e-4}.items():
        c = solved.constants[name]
        assert abs(c.value - truth) < 4 * c.error + 1e-12
        assert c.error / c.value < 0.025
    assert [f.code for f in solved.findings] == ["missing"]  # nothing on heating
    assert "heating" in solved.findings[0].text


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        (
            {
                "torque_constant": "26.8 mN m/A",
                "speed_torque_gradient": None,
                "mechanical_time_constant": None,
                "stall_torque": None,
            },
            "torque_and_back_emf_constant",
        ),
        (
            {"resistance": "3.1 ohm", "speed_torque_gradient": None, "mechanical_time_constant": None},
            "resistance_and_stall_current",
        ),
        ({"no_load_speed": "8000 rpm"}, "no_load_speed"),
        ({"stall_torque": "300 mN m"}, "stall_torque"),
        ({"speed_torque_gradient": "55 rpm/(mN m)"}, "gradient"),
        ({"mechanical_time_constant": "6.5 ms"}, "mechanical_time_constant"),
        ({"nominal_torque": "45 mN m", "nominal_current": "1.26 A"}, "nominal_torque"),
        ({"electrical_time_constant": "0.2 ms"}, "electrical_time_constant"),
        ({"nominal_torque": "200 mN m"}, "peak_as_continuous"),
    ],
)
def test_contradictions_are_found(changes, code):
    printed = ideal(**changes)
    assert code in codes(printed)
    assert printed.actuator() is not None  # it still answers


SLIPPED = [
    ("no_load_speed", f"{60 * 9579:.4g} rpm", "60"),
    ("speed_constant", f"{60 / (2 * math.pi * 0.0238) / (2 * math.pi):.4g} rpm/V", "2 pi"),
    ("inductance", "240 mH", "1000"),
    ("rotor_inertia", "9900 g cm^2", "1000"),
    ("stall_torque", f"{0.0238 * 24 / 2.43 / 9.80665 * 1e3:.4g} mN m", "9.81"),
    ("speed_torque_gradient", f"{2.43 / 0.0238**2 / 1e3 / (2 * math.pi) * 60 / 60:.4g} rpm/(mN m)", "60"),
]
WRONG = [
    ("rotor_inertia", f"{9.9 / (2 * math.pi):.4g} g cm^2"),
    ("mechanical_time_constant", f"{2 * 2.43 * 9.9e-7 / 0.0238**2 * 1e3:.4g} ms"),
    ("torque_constant", f"{23.8 * math.sqrt(2):.4g} mN m/A"),
    ("resistance", f"{2.43 * 1.5:.4g} ohm"),
    ("resistance", f"{2.43 * 60:.4g} ohm"),
    ("no_load_speed", "16590 rpm"),
]
"""Factors that no unit explains: a resistance has no minutes, a brushed motor no phases."""


@pytest.mark.parametrize(("entry", "text", "word"), [*SLIPPED, *((*wrong, "") for wrong in WRONG)])
def test_one_wrong_entry_is_named(entry, text, word):
    changes = {entry: text} | (
        {"electrical_time_constant": f"{2.4e-4 / 2.43 * 1e3:.4g} ms"} if entry == "inductance" else {}
    )
    printed = ideal(**changes)
    slips, named = (
        [f for f in printed.reconciled.findings if f.code == code]
        for code in ("unit_slip", "entry_disagrees")
    )
    (told,) = slips if word else named
    assert f"{entry} {text}" in told.text
    assert f"factor of {word}" in told.text
    assert bool(slips) == bool(word)
    solved = printed.reconciled
    pair = {"rotor_inertia": "mechanical_time_constant", "inductance": "electrical_time_constant"}
    if entry in pair:  # two numbers for one constant: either may be wrong, and the printed constant is kept
        assert [e.name for e in solved.left_out] == [pair[entry]]
        assert [e.name for e in solved.alternatives] == [entry]
    else:
        assert [e.name for e in solved.left_out] == [entry]
    truth = ideal().reconciled.constants
    for name in ("R", "K", *(() if entry in pair else ("J", "L"))):
        assert printed.reconciled.constants[name].value == pytest.approx(truth[name].value, rel=0.01)


def test_phases_explain_brushless_sheets_only():
    """Twice the resistance is a phase for a line on a brushless sheet, and an error on a brushed one."""
    body = {e.name: e.printed.text for e in ideal().entries} | {"resistance": "4.86 ohm"}
    rows = "\n".join(f'{k} = "{v}"' for k, v in body.items())
    head = HEAD.format(kind="motor", side="rotor", voltage="24 V")
    brushless = be.Datasheet.parse(head.replace("side =", 'motor = "brushless"\nside =') + rows)
    assert "factor of 2 (line for phase)" in next(
        f.text for f in brushless.reconciled.findings if f.code == "unit_slip"
    )
    assert "unit_slip" not in codes(be.Datasheet.parse(head + rows))


C047 = """stall_torque = "30 kg cm"
stall_current = "2.7 A"
no_load_speed = "45 rpm"
no_load_current = "0.18 A"
resistance = { value = "1 ohm", kind = "assumed" }
"""


def test_the_st_3215_c047_sheet_is_flagged():
    printed = sheet(C047, "servo", "output", "12 V")
    assert {"torque_and_back_emf_constant", "resistance_and_stall_current", "implausible_efficiency"} <= set(
        codes(printed)
    )
    (assumed,) = [f for f in printed.reconciled.findings if f.code == "resistance_and_stall_current"]
    assert "resistance is an assumption" in assumed.text
    assert printed.reconciled.constants["R"].value == pytest.approx(12 / 2.7, rel=0.01)


def test_servo_torque_model_route():
    printed = sheet(C047, "servo", "output", "12 V")
    published = servo_torque_model(printed, volts_per_degree=12.0, gravity=9.8)
    assert published.K_m == pytest.approx(1.08889, rel=1e-5)
    assert published.K_b == pytest.approx(2.50828, rel=1e-5)
    assert (published.gains.kp, published.gains.kv) == pytest.approx((748.665, 2.73124), rel=1e-5)
    standard = servo_torque_model(printed, volts_per_degree=12.0)
    assert (standard.K_m, standard.gains.kp, standard.gains.kv) == pytest.approx(
        (1.08963, 749.17, 2.7331), rel=1e-5
    )


SG90 = """stall_torque = "15 N cm"
stall_current = "600 mA"
gear_ratio = "55.5"
no_load_current = { value = "200 mA", kind = "assumed" }
no_load_speed = [{ value = "0.66 deg/ms" }, { value = "1278.6 rad/s", side = "rotor" }]
"""


def test_sg90_article_factor_of_two_is_found():
    printed = sheet(SG90, "servo", "output", "6 V")
    assert "no_load_speed_twice" in codes(printed)
    (wrong,) = [f for f in printed.reconciled.findings if f.code == "entry_disagrees"]
    assert "1278.6 rad/s" in wrong.text
    assert wrong.numbers["factor"] == pytest.approx(2.0, rel=0.03)  # 0.66 deg/ms has two digits


def test_sg90_article_route():
    printed = sheet(SG90, "servo", "output", "6 V")
    assert sg90_article(printed, as_published=True).damping == pytest.approx(7.045839391367083e-07, rel=1e-9)
    assert sg90_article(printed).damping == pytest.approx(1.409168e-6, rel=1e-6)
    assert sg90_article(printed).resistance == pytest.approx(10.0)


def test_geared_sheet_gets_its_efficiency_from_torque_and_speed():
    R, K, eta, N = 4.0, 0.01, 0.7, 200.0
    body = (
        f'stall_torque = "{K * N * eta * 12 / R:.5g} N m"\nstall_current = "{12 / R:.5g} A"\nno_load_speed ='
        f' "{12 / (K * N) * 30 / math.pi:.5g} rpm"\n'
    )
    body += f'gear_ratio = "{N:g}"\nno_load_current = "1.00 mA"\n'
    printed = sheet(body, "servo", "output", "12 V")
    assert printed.reconciled.constants["eta"].value == pytest.approx(eta, rel=0.02)
    assert "gear_efficiency" in codes(printed)
    actuator = printed.actuator(control="voltage")
    assert actuator.gearbox.ratio == pytest.approx(N, rel=0.01)
    stall = be.simulate(actuator, be.bench.Locked(), 12.0, duration=0.01)
    assert stall.torque[-1] * actuator.gearbox.efficiency == pytest.approx(K * N * eta * 12 / R, rel=0.02)


def test_two_voltages_split_the_drag():
    R, K, tau_c, B = 2.0, 0.05, 2e-3, 2e-5
    rows = {"speed": [], "current": []}
    for V in (6.0, 12.0, 24.0):
        w = (K * V / R - tau_c) / (K * K / R + B)
        rows["speed"].append(f'{{ value = "{w:.6g} rad/s", voltage = "{V} V" }}')
        rows["current"].append(f'{{ value = "{(tau_c + B * w) / K:.6g} A", voltage = "{V} V" }}')
    solved = sheet(
        f'resistance = "2.000 ohm"\nno_load_speed = [{", ".join(rows["speed"])}]\nno_load_current ='
        f" [{', '.join(rows['current'])}]"
    ).reconciled
    assert solved.constants["B"].value == pytest.approx(B, rel=0.05)
    assert solved.constants["tau_c"].value == pytest.approx(tau_c, rel=0.05)
    assert not any("dry friction" in a for a in solved.assumed)


def test_brushless_conventions():
    """Phase or line, peak or RMS: the same motor printed in four ways gives the same DC equivalent."""
    lam, R_phase = 0.02, 0.5  # EMF amplitude of one phase per rad/s; resistance of one phase
    K = math.sqrt(3) * lam
    for torque, convention in ((1.5 * lam, "peak"), (1.5 * lam * math.sqrt(2), "rms"), (K, "dc")):
        one = sheet(
            f'torque_constant = {{ value = "{torque:.6g} N m/A", convention = "{convention}" }}\n'
            f'resistance = {{ value = "{R_phase:.6g} ohm", convention = "phase" }}\n'
            f'back_emf_constant = {{ value = "{lam / math.sqrt(2):.6g} V s/rad", convention = "phase rms" }}'
        )
        assert one.reconciled.constants["K"].value == pytest.approx(K, rel=1e-4)
        assert one.reconciled.constants["R"].value == pytest.approx(2 * R_phase, rel=1e-4)
        assert "torque_and_back_emf_constant" not in codes(one)
    slipped = sheet(
        f'torque_constant = "{1.5 * lam * math.sqrt(2):.6g} N m/A"\nback_emf_constant = "{K:.6g} V'
        ' s/rad"\nresistance = "1 ohm"'
    )
    assert "torque_and_back_emf_constant" in codes(slipped)


def test_thermal_entries_make_one_node_or_two():
    two = ideal(
        thermal_resistance_winding="3.1 K/W",
        thermal_resistance_housing="14 K/W",
        thermal_time_constant="12.4 s",
        thermal_time_constant_housing="612 s",
    )
    assert isinstance(two.actuator().motor.thermal, be.motor.TwoNodeThermal)
    one = ideal(Rth="20 K/W", Cth="3 J/K", max_winding_temperature="155 degC")
    heat = be.motor.Thermal(resistance=20.0, capacitance=3.0, max_temperature=155.0)
    assert one.actuator().motor.thermal == heat


def test_the_actuator_stalls_and_spins_as_printed():
    printed = ideal()
    actuator = printed.actuator()
    assert steady.line(actuator, 24.0).stall_torque == pytest.approx(0.0238 * 24 / 2.43, rel=2e-3)
    w = steady.no_load_speed(actuator, 24.0)
    assert w == pytest.approx((0.0238 * 24 / 2.43 - 8.8e-4) * 2.43 / 0.0238**2, rel=2e-3)
    run = be.simulate(actuator, be.bench.FreeShaft(), 24.0, duration=0.1)
    assert run.velocity[-1] == pytest.approx(w, rel=1e-6)


BROKEN = [
    (
        (
            'name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nvoltage = "12 V"\nsource ='
            ' "s"\n[entries]\nresistence = "2 ohm"'
        ),
        "t.toml, line 8: unknown datasheet entry 'resistence'; did you mean 'resistance'?",
    ),
    (
        (
            'name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nvoltage = "12 V"\nsource ='
            ' "s"\n[entries]\nresistance = 2'
        ),
        "t.toml, line 8: resistance is 2, without a unit",
    ),
    (
        (
            'name = "x"\nmaker = "y"\nkind = "engine"\nside = "rotor"\nvoltage = "12 V"\nsource ='
            ' "s"\n[entries]\nR = "2 ohm"'
        ),
        "t.toml, line 3: unknown kind 'engine'",
    ),
    ('name = "x"\nkind = [', "t.toml: not a TOML file: "),
    (
        'name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nsource = "s"\n[entries]\nR = "2 ohm"',
        "t.toml: 'voltage' is missing;",
    ),
    (
        (
            'name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nvoltage = "12"\nsource ='
            ' "s"\n[entries]\nR = "2 ohm"'
        ),
        "t.toml, line 5: voltage is '12', without a unit",
    ),
]

WHOLE = 'name = "x"\nmaker = "y"\nkind = "servo"\nside = "output"\nvoltage = "12 V"\nsource = "s"\n'
PUBLISHED = '[identified.a]\nsource = "s"\nfriction = "m4"\nerror = "1 %"\n'
BROKEN += [
    (WHOLE + more + '[entries]\nR = "2 ohm"', "t.toml, line " + error)
    for more, error in (
        ("firmware = 3\n", "7: firmware is 3; expected a table, [firmware]"),
        ('[firmware]\nproportional = { note = "?" }\n', "8: proportional has no value"),
        ('[firmware]\ntarget_rate = "fast step/s"\n', "8: target_rate is 'fast '; expected a number"),
        (
            '[firmware]\ntarget_rate = "50 step/s"\ncounts_per_turn = "0"\n',
            "9: counts_per_turn is 0; expected more than 0",
        ),
        ('quirks = "none"\n', "7: quirks is 'none'; expected a list of texts"),
        (
            "[identified]\na = 3\n",
            "8: identified.a is 3; expected a table with source, friction, error and parameters",
        ),
        (PUBLISHED, "7: identified.a has no 'parameters'; expected source, friction, error and parameters"),
        (PUBLISHED + "parameters = 3\n", "7: identified.a.parameters is 3; expected a table of numbers"),
        (
            PUBLISHED + 'parameters = { "motor.resistance" = "2 ohm" }\n',
            "11: identified.a.parameters has motor.resistance = '2 ohm'; expected a number, in SI",
        ),
        (
            PUBLISHED + 'errors = 3\nparameters = { "motor.resistance" = 2.0 }\n',
            "7: identified.a.errors or .correlation is none; expected a table of numbers",
        ),
        (
            PUBLISHED + 'correlation = [[1.0, 0.5]]\nparameters = { "motor.resistance" = 2.0 }\n'
            'errors = { "motor.resistance" = 0.1 }\n',
            "7: identified.a.correlation has 1 rows; expected 1 rows of 1 to 1 numbers",
        ),
    )
]


@pytest.mark.parametrize(("text", "error"), BROKEN, ids=[e for _, e in BROKEN])
def test_broken_files_say_where_and_why(text, error):
    with pytest.raises(DatasheetError) as caught:
        be.Datasheet.parse(text, "t.toml")
    assert str(caught.value).startswith(error)


def test_what_a_sheet_does_not_determine_is_said():
    with pytest.raises(be.BackemfError, match="does not determine a resistance"):
        sheet('torque_constant = "20 mN m/A"').actuator()
    with pytest.raises(be.BackemfError, match="unknown part 'sts3251'"):
        be.Datasheet.read("sts3251")
    with pytest.raises(be.BackemfError, match="there is no file"):
        be.Datasheet.read("nowhere.toml")


def test_the_schema_knows_every_entry_and_is_json():
    schema = json.loads(json.dumps(json_schema()))
    assert set(schema["properties"]["entries"]["properties"]) == {
        *ENTRIES,
        *(alias for kind in ENTRIES.values() for alias in kind.aliases),
    }
    assert "MH" in ENTRIES["stall_torque"].aliases


def test_actuators_are_stored_and_read_back(tmp_path):
    actuator = ideal(Rth="20 K/W", Cth="3 J/K").actuator()
    actuator.write(tmp_path / "a.json")
    assert be.Actuator.read(tmp_path / "a.json") == actuator
    with pytest.raises(be.BackemfError, match="exists"):
        actuator.write(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text().replace('"resistance"', '"resistence"')
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(be.BackemfError, match="did you mean 'resistance'"):
        be.Actuator.read(tmp_path / "b.json")
    (tmp_path / "c.json").write_text('{"backemf": 99}')
    with pytest.raises(be.BackemfError, match="version 99"):
        be.Actuator.read(tmp_path / "c.json")


def test_nominal_point_efficiency_and_housing_in_numbers():
    """R 2 ohm, K 25 mN m/A, 24 V, no-load current 60 mA (1.5 mN m dry), nominal current 1.2 A."""
    printed = sheet(
        """resistance = "2.000 ohm"
torque_constant = "25.00 mN m/A"
no_load_current = "60.00 mA"
nominal_current = "1.200 A"
thermal_resistance_winding = "2.00 K/W"
thermal_resistance_housing = "8.00 K/W"
thermal_time_constant = "12.0 s"
thermal_time_constant_housing = "640 s"
"""
    )
    derived = printed.reconciled.derived
    assert derived["nominal_torque"].value == pytest.approx(0.025 * 1.2 - 1.5e-3, rel=2e-3)
    assert derived["nominal_speed"].value == pytest.approx((24.0 - 2.4) / 0.025, rel=2e-3)
    assert derived["max_efficiency"].value == pytest.approx((1 - math.sqrt(0.06 * 2 / 24)) ** 2, rel=2e-3)
    assert derived["stall_torque"].value == pytest.approx(0.3 - 1.5e-3, rel=1e-4)  # at the shaft
    numbers = printed.actuator().parameters
    assert numbers["motor.thermal.winding_capacitance"] == pytest.approx(12.0 / 2.0)
    assert numbers["motor.thermal.housing_capacitance"] == pytest.approx(640.0 / 8.0)
