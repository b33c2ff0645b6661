"""Bench arithmetic: on the published bench of two servos, and on simulated readings whose truth is known."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.analysis.measure import READINGS, Measure, argument
from backemf.analysis.measurement import estimate, judge, measure_typed
from backemf.analysis.transients import inverse_dynamics

measure = be.measure


@pytest.fixture
def mx(shared_data):
    return lambda name: json.loads((shared_data / "mx" / name).read_text())


@pytest.mark.parametrize(("part", "gain"), [("mx64", 0.15941036), ("mx106", 0.15754579)])
def test_firmware_gain_of_the_oscilloscope(mx, part, gain):
    recorded = mx(f"pwm_{part}.json")
    samples = recorded["samples"]
    error = [math.radians(s["target"] - s["position"]) for s in samples]
    answer = measure.firmware_gain(
        error, [s["kp"] for s in samples], [s["period"] / recorded["pwm_period"] for s in samples]
    )
    assert answer.value == pytest.approx(gain, abs=5e-9)
    assert 0 < answer.error < 0.002


def test_locked_rotor_resistance(mx):
    table = mx("bench_tables.json")["mx106_locked_rotor_VI"]
    answer = measure.resistance(table["I_A"], table["V_working_unit"])
    assert 2.08 <= answer.value <= 2.10
    assert 2.08 <= answer.others["with_drop"].value <= 2.10
    broken = measure.resistance(table["I_A"], table["V_broken_unit"])
    assert [f.code for f in broken.findings] == ["voltage_drop"]


@pytest.mark.parametrize(("part", "value"), [("mx64", 0.158), ("mx106", 0.213)])
def test_a_falling_arm_bounds_static_friction(mx, part, value):
    table = mx("bench_tables.json")["static_friction"][part]
    answer = measure.fall(mass=table["m_kg"], length=table["l_m"], angle=math.radians(table["theta_deg"]))
    assert answer.value is None
    assert answer.low == pytest.approx(value, abs=6e-4)
    assert ">=" in str(answer)
    slip = measure.slip(mass=table["m_kg"], length=table["l_m"], angle=math.radians(table["theta_deg"]))
    assert slip.value == pytest.approx(answer.low)
    assert slip.error > 0


@pytest.mark.parametrize(("part", "slope", "intercept"), [("mx64", 1.698, 0.110), ("mx106", 2.327, 0.425)])
def test_no_load_lines(mx, part, slope, intercept):
    table = mx(f"velocity_{part}.json")
    answer = measure.no_load([float(v) for v in table], list(table.values()), resistance=2.1)
    assert answer.value == pytest.approx(slope, abs=5e-4)
    assert answer.others["intercept"].value == pytest.approx(intercept, abs=5e-4)
    assert answer.others["coulomb"].value == pytest.approx(intercept * slope / 2.1, rel=2e-3)


def test_the_mx_106_disagrees_with_itself_and_load_friction_explains_it(mx):
    loads = mx("bench_tables.json")["stall_static_load"]
    torque = (
        loads["mass_kg"]
        * be.bench.Pendulum(mass=1, length=1).gravity
        * loads["length_m"]
        * np.cos(np.radians(np.array(loads["pos_deg"]) - 180))
    )
    static = measure.torque_constant(torque, loads["V"], resistance=2.1, static=0.212)
    assert static.value is None
    assert static.low == pytest.approx(1.21, abs=0.01)
    assert 1.5 < static.high < 1.65
    by_current = measure.torque_constant(torque, current=loads["I_A"], static=0.212)
    assert (by_current.low, by_current.high) == pytest.approx((1.259, 1.650), abs=2e-3)
    # the slope alone, friction taken off by its intercept
    slope = measure.torque_constant(torque, current=loads["I_A"])
    assert slope.value == pytest.approx(np.polyfit(loads["I_A"], torque, 1)[0], rel=1e-9)
    assert slope.low < 1.45 < slope.high
    table = mx("velocity_mx106.json")
    several = measure.constants(
        {
            "resistance": {"current": [1.0, 2.0, 3.0], "voltage": [2.1, 4.21, 6.29]},
            "no-load": {"voltage": [float(v) for v in table], "speed": list(table.values())},
            "torque-constant": {"load": torque, "current": loads["I_A"], "static": 0.212},
            "stated": {"motor.torque_constant": {"fitted": (2.2, 0.02)}},
        }
    )
    codes = [f.code for f in several.findings]
    assert codes == ["routes_disagree", "load_friction"]
    assert "friction that grows with the load" in several.findings[1].text
    # 2.2 N m/A on the currents that were read, less the loads, over the loads
    share = np.mean((2.2 * np.array(loads["I_A"]) - torque) / torque)
    assert several.findings[1].numbers["share"] == pytest.approx(share)


def test_static_loads_from_both_directions_pin_the_torque_constant():
    K, R, f = 1.4, 2.0, 0.2
    load = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    way = np.array([1, -1, 1, -1, 1, -1])
    answer = measure.torque_constant(load, (load + way * f) * R / K, resistance=R, static=f, directions=way)
    assert answer.value == pytest.approx(K)
    assert answer.others["friction"].value == pytest.approx(f)


def test_no_load_line_of_a_simulated_motor():
    motor, friction = (
        be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=1e-3),
        be.friction.Coulomb(coulomb=0.05, viscous=0.01),
    )
    volts = [3.0, 6.0, 9.0, 12.0]
    speeds = [
        be.simulate(
            be.Actuator(motor=motor, friction=friction), be.bench.FreeShaft(), v, duration=1.0
        ).velocity[-1]
        for v in volts
    ]
    answer = measure.no_load(volts, speeds, resistance=2.0, torque_constant=0.5)
    assert answer.value == pytest.approx(0.5 + 2.0 * 0.01 / 0.5, rel=1e-6)
    assert answer.others["coulomb"].value == pytest.approx(0.05, rel=1e-5)
    assert answer.others["viscous"].value == pytest.approx(0.01, rel=1e-5)


def coast(inertia: float, seed: int) -> be.Log:
    actuator = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.5),
        friction=be.friction.Coulomb(coulomb=0.02, viscous=3e-4),
        drive=be.drive.Off(),
    )
    run = be.simulate(
        actuator, be.bench.Flywheel(inertia=inertia), start={"velocity": 60.0}, duration=4.0, dt=0.01
    )
    return be.log(
        "coast",
        run.time,
        velocity=run.velocity + 0.05 * np.random.default_rng(seed).standard_normal(len(run)),
    )


def test_coast_down_and_inertia_from_two_of_them():
    answer = measure.coast_down(coast(2e-3, 1), inertia=2e-3)
    assert answer.value == pytest.approx(0.02, abs=4 * answer.error + 2e-4)
    assert answer.others["viscous"].value == pytest.approx(
        3e-4, abs=4 * answer.others["viscous"].error + 1e-5
    )
    J = measure.inertia(coast(5e-3, 2), coast(2e-3, 3), added=3e-3)
    assert J.value == pytest.approx(2e-3, rel=0.1)


def test_heating_gives_thermal_constants():
    thermal = be.motor.Thermal(resistance=12.0, capacitance=5.0, ambient=21.0, resistance_coefficient=0.0)
    motor = be.motor.Motor(resistance=2.0, torque_constant=0.5, thermal=thermal)
    run = be.simulate(
        be.Actuator(motor=motor),
        be.bench.Locked(),
        be.signal.step(-3.0, at=200.0, start=3.0),
        duration=400.0,
        dt=1.0,
    )
    seen = np.round(run.temperature + 0.2 * np.random.default_rng(0).standard_normal(len(run)))
    answer = measure.thermal(
        be.log("heat", run.time, temperature=seen), power=2.0 * run.current**2, ambient=21.0
    )
    assert answer.value == pytest.approx(12.0, rel=0.03)
    assert answer.others["capacitance"].value == pytest.approx(5.0, rel=0.05)


def test_backlash_from_slow_reversals():
    t = np.arange(0, 20, 0.01)
    drive = 0.5 * np.abs(((t / 5.0) % 2) - 1)
    out, gap = np.zeros_like(drive), 0.03
    for k in range(1, len(t)):
        out[k] = np.clip(out[k - 1], drive[k] - gap / 2, drive[k] + gap / 2)
    answer = measure.backlash(be.log("reversal", t, position=out, position_target=drive))
    assert answer.value == pytest.approx(gap, abs=2e-3)


def test_bad_readings_are_refused():
    with pytest.raises(be.BackemfError, match="mass is -1"):
        measure.fall(mass=-1, length=0.1, angle=0.5)
    with pytest.raises(be.BackemfError, match="arm_mass is -1"):
        measure.fall(mass=1, length=0.1, angle=0.5, arm_mass=-1)
    with pytest.raises(be.BackemfError, match="2 currents and 3 voltages"):
        measure.resistance([1, 2], [1, 2, 3])
    with pytest.raises(be.BackemfError, match="not finite at reading 1"):
        measure.no_load([1, math.nan, 3], [1, 2, 3])
    with pytest.raises(be.BackemfError, match="do not determine the answer"):
        measure.torque_constant([1, 2, 3], current=[1, 1, 1])
    with pytest.raises(be.BackemfError, match="below the duty limit"):
        measure.firmware_gain([1, 2], [32, 32], [1.0, 1.0])


@pytest.mark.parametrize(
    ("n", "decimation", "said"),
    [
        (120, 10, "push has 120 samples, to be thinned by 10; expected"),
        (500, 0, "expected thinning by 1"),
        (500, 10, "do not determine the answer"),
    ],
)
def test_inverse_dynamics_needs_samples_in_motion(n, decimation, said):
    still = be.log("push", 1e-3 * np.arange(n), position=np.zeros(n), torque=np.ones(n))
    with pytest.raises(be.BackemfError, match=said):
        inverse_dynamics(still, decimation=decimation)


def pushed() -> be.Log:
    """A mass moved by a known force: inertia 2 kg m^2, viscous 0.5 N m s/rad, dry 0.3 N m."""
    t = 1e-3 * np.arange(4000)
    q, v, a = np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)
    return be.log("push", t, position=q, torque=2.0 * a + 0.5 * v + 0.3 * np.sign(v))


def heated() -> be.Log:
    """2 W into 10 K/W and 5 J/K from 20 degC."""
    t = np.arange(0.0, 300.0, 2.0)
    return be.log("heat", t, temperature=20.0 + 20.0 * (1 - np.exp(-t / 50.0)))


def reversed_slowly() -> be.Log:
    t = np.arange(0, 20, 0.01)
    drive = 0.5 * np.abs(((t / 5.0) % 2) - 1)
    out = np.zeros_like(drive)
    for k in range(1, len(t)):
        out[k] = np.clip(out[k - 1], drive[k] - 0.015, drive[k] + 0.015)
    return be.log("reversal", t, position=out, position_target=drive)


def stepped() -> be.Log:
    """4 V on 2 ohm and 1 mH, the rotor locked, from 1 ms on: the exact solution."""
    t = 5e-5 * np.arange(100)
    return be.log("step", t, current=np.where(t < 1e-3, 0.0, 2.0 * (1 - np.exp(-(t - 1e-3) / 5e-4))))


def ran_up() -> be.Log:
    """2 ohm, 0.5 N m/A and 2e-3 kg m^2 run up: the time constant is J R / K^2 = 16 ms."""
    t = 1e-3 * np.arange(150)
    return be.log("run-up", t, velocity=np.where(t < 0.01, 0.0, 20.0 * (1 - np.exp(-(t - 0.01) / 0.016))))


ARM = {"mass": 1.0, "length": 0.2, "angle": math.radians(60)}
GIVEN = {
    "fall": ((), ARM),
    "slip": ((), ARM),
    "resistance": (([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), {}),
    "impedance": (
        ([100.0, 500.0], np.abs(2.0 + 2j * np.pi * 1e-3 * np.array([100, 500]))),
        {"resistance": 2.0},
    ),
    "current-step": (lambda: (stepped(),), {"voltage": 4.0}),
    "back-emf": (([10.0, 20.0, 30.0], [0.5, 1.0, 1.5]), {}),
    "no-load-current": (([10.0, 20.0, 30.0], [0.12, 0.14, 0.16]), {"torque_constant": 0.5}),
    "run-up": (lambda: (ran_up(),), {"resistance": 2.0, "torque_constant": 0.5}),
    "acceleration": (([10.0, 20.0, 30.0],), {"torque": [0.5, 0.9, 1.3]}),
    "no-load": (([3.0, 6.0, 9.0], [5.0, 11.0, 17.0]), {}),
    "torque-constant": (([0.9, 0.7], [1.0, 1.0]), {"resistance": 2.0, "static": 0.1, "directions": [-1, 1]}),
    "stall-torque": (([5.0, 6.0, 7.0],), {"arm": 0.025, "current": [0.5, 0.6, 0.7]}),
    "firmware-gain": (([0.1, 0.2], [32.0, 32.0], [0.32, 0.64]), {}),
    "coast-down": (lambda: (coast(2e-3, 1),), {"inertia": 2e-3}),
    "inertia": (lambda: (coast(5e-3, 2), coast(2e-3, 3)), {"added": 3e-3}),
    "thermal": (lambda: (heated(),), {"power": 2.0}),
    "backlash": (lambda: (reversed_slowly(),), {}),
    "inverse-dynamics": (lambda: (pushed(),), {}),
}
"""What each reading is given; logs are made when they are needed."""
ANSWERS = {
    "fall": ("friction.static", None, "N m"),
    "slip": ("friction.static", 0.2 * 9.80665 * 0.5, "N m"),
    "resistance": ("motor.resistance", 2.0, "ohm"),
    "impedance": ("motor.inductance", 1e-3, "H"),
    "current-step": ("motor.inductance", 1e-3, "H"),
    "back-emf": ("motor.back_emf_constant", 0.05, "V s/rad"),
    "no-load-current": ("friction.coulomb", 0.05, "N m"),
    "run-up": ("inertia", 2e-3, "kg m^2"),
    "acceleration": ("inertia", 0.04, "kg m^2"),
    "no-load": ("K + R f_v / K", 0.5, "V s/rad"),
    "torque-constant": ("motor.torque_constant", 1.6, "N m/A"),
    "stall-torque": ("stall torque", 0.15, "N m"),
    "firmware-gain": ("drive.firmware_gain", 0.1, "1/rad"),
    "coast-down": ("friction.coulomb", 0.02, "N m"),
    "inertia": ("inertia", 2e-3, "kg m^2"),
    "thermal": ("motor.thermal.resistance", 10.0, "K/W"),
    "backlash": ("gearbox.backlash", 0.03, "rad"),
    "inverse-dynamics": ("inertia", 2.0, "kg m^2"),
}


@pytest.mark.parametrize("reading", READINGS)
def test_the_verb_takes_every_reading_by_name(reading):
    given, named = GIVEN[reading]
    answer = be.measure(reading, *(given() if callable(given) else given), **named)
    name, value, unit = ANSWERS[reading]
    assert (answer.name, answer.unit) == (name, unit)
    if value is None:
        assert answer.low == pytest.approx(0.2 * 9.80665 * 0.5)
    else:
        assert answer.value == pytest.approx(value, rel=0.1)  # noise of the coast-downs; the others are exact


def test_the_verb_documents_every_reading():
    for name in READINGS:
        assert name.replace("-", "_") in (Measure.__doc__ or ""), name
        assert callable(getattr(be.measure, name.replace("-", "_")))


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        (("resistence", [1], [2]), {}, "unknown reading 'resistence'; did you mean 'resistance'? Valid: "),
        (
            ("resistance", [1, 2]),
            {},
            "measure('resistance'): missing a required argument: 'voltage'; expected",
        ),
        (
            ("fall",),
            {"mas": 1.0},
            "measure('fall'): missing a required argument: 'mass'; expected mass, length",
        ),
        (
            ("slip",),
            {**ARM, "weight": 1.0},
            "measure('slip'): got an unexpected keyword argument 'weight'; expected mass, length, angle,",
        ),
        (("resistance", [1.0], [2.0]), {}, "current has 1 readings; expected at least 2"),
    ],
    ids=["a wrong name", "too few", "a wrong word", "too many", "too few readings"],
)
def test_what_the_verb_cannot_do_gets_a_sentence(given, named, said):
    with pytest.raises(be.BackemfError) as caught:
        be.measure(*given, **named)
    assert str(caught.value).startswith(said)


def typed(**columns: list[float]) -> dict[str, str]:
    """Readings as somebody types them, to one decimal."""
    return {name: ", ".join(f"{x:.1f}" for x in column) for name, column in columns.items()}


def test_an_error_is_never_below_the_rounding_of_the_digits_as_typed():
    """R through the origin: by hand, the variance of sum(i v) / sum(i^2) with every digit rounded."""
    i, v, R = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]), 10.0
    for digits in (1, 2):
        texts = {
            "current": ",".join(f"{x:.{digits}f}" for x in i),
            "voltage": ",".join(f"{x:.{digits}f}" for x in v),
        }
        given = {name: argument(name, text) for name, text in texts.items()}
        answer = measure("resistance", **given)
        half = 0.5 * 10.0**-digits
        by_v, by_i = i / np.sum(i**2), (v - 2 * R * i) / np.sum(i**2)
        error = half / math.sqrt(3.0) * math.sqrt(np.sum(by_v**2 + by_i**2))
        assert answer.error == pytest.approx(error, rel=0.1)  # the function bends within a digit
        assert answer.high - answer.value == pytest.approx(1.96 * answer.error, rel=1e-3)
        assert "rounded as they were typed" in answer.assumption
    assert measure("resistance", current=[0.1, 0.2, 0.3], voltage=[1.0, 2.0, 3.0]).error < 1e-12, "no digits"


@pytest.mark.parametrize("n", [2, 3, 12])
def test_equal_readings_share_one_rounding_error(n):
    """0.62 however often: half a digit is 0.81 % of it, and no number of repeats makes that less."""
    text = ",".join(["0.62 kg"] * n)
    answer = measure("stall-torque", argument("scale", text), arm=argument("arm", "2.5 cm"))
    share = 0.005 / 0.62
    assert answer.error / answer.value == pytest.approx(share / math.sqrt(3.0), rel=1e-6)
    # as far as half a digit, or as Student's t of so few that scatter not at all makes of nothing
    assert answer.high / answer.value - 1.0 == pytest.approx(share, rel=0.06)


def test_a_number_is_judged_with_the_error_that_its_digits_leave_it():
    """Currents that are equal as typed: no slope, and none below zero either. And a number that is below zero
    by less than its digits, or above, is said to be so with their error."""
    how = {"speed": argument("speed", "10,20,30"), "torque_constant": 0.02}
    flat = measure("no-load-current", current=argument("current", "0.1,0.1,0.1"), **how)
    slope = flat.others["viscous"]
    assert slope.value == 0.0
    assert slope.high == -slope.low > 1e-5
    assert not flat.findings
    assert "= 0.0" in slope.number()
    readings = argument("scale", "0.62, 0.62, 0.62")
    for offset, code in ((0.622, "below_zero"), (0.618, "not_told"), (0.63, "impossible_value")):

        def less(scale, offset=offset):
            x, y = (
                judge(estimate(name, "N", sum(scale) / 3.0 - offset, 1e-12, 5.0), remedy="turn it round")
                for name in "xy"
            )
            return replace(x.noting(*y.findings), others={"y": y})

        answer = measure_typed(less, {"scale": readings})
        assert answer.error == pytest.approx(0.005 / math.sqrt(3.0), rel=1e-6)
        (of_y,) = answer.others["y"].findings
        assert answer.findings == (replace(of_y, text=of_y.text.replace("y ", "x ", 1)), of_y)
        assert (of_y.code, of_y.text[:2]) == (code, "y ")
        assert f"+- {answer.error:.4f} N" in of_y.text


def test_scatter_that_is_wider_than_the_digits_stays_as_it_is():
    current, voltage = "0.600,1.200,1.800,2.400", "1.250,2.460,3.700,5.150"
    bare = measure.resistance(*([float(x) for x in text.split(",")] for text in (current, voltage)))
    answer = measure("resistance", argument("current", current), argument("voltage", voltage))
    assert (answer.error, answer.low, answer.high) == (bare.error, bare.low, bare.high)


def test_intervals_of_rounded_readings_hold_the_truth():
    """Readings without any noise, rounded to coarse digits: 95 of 100 intervals have the truth in them."""
    rng, held = np.random.default_rng(3), 0
    for _ in range(200):
        R, i = rng.uniform(1.0, 3.0), np.sort(rng.uniform(0.5, 3.0, 5))
        texts = typed(current=list(i), voltage=list(R * i))
        answer = measure("resistance", **{name: argument(name, text) for name, text in texts.items()})
        held += answer.low <= R <= answer.high
    assert 0.90 <= held / 200 <= 1.0  # 95 %, four standard deviations of a count of 200 below


def test_digits_of_a_file_count_as_those_of_the_command_line(tmp_path):
    content = "[resistance]\ncurrent = [0.1, 0.2, 0.3]\nvoltage = [1, 2, 3.0]\n"
    (tmp_path / "bench.toml").write_text(content)
    (tmp_path / "bench.json").write_text(
        '{"resistance": {"current": [0.1, 0.2, 0.3], "voltage": [1, 2, 3.0]}}'
    )
    in_text = measure(
        "resistance", current=argument("current", "0.1,0.2,0.3"), voltage=argument("voltage", "1,2,3.0")
    )
    for name in ("bench.toml", "bench.json"):
        filed = measure.constants(tmp_path / name).routes["motor.resistance"]["resistance"]
        assert filed.error == pytest.approx(in_text.error, rel=1e-9) == pytest.approx(0.774, rel=0.1)


def test_a_stall_torque_is_force_times_arm_and_its_constants_follow():
    F, l, i = np.array([6.0, 6.3, 6.1, 6.2]), 0.025, np.array([0.60, 0.63, 0.61, 0.62])
    answer = measure.stall_torque(F, arm=(l, 0.0005), current=i, supply=4.8)
    mean, error = float(np.mean(F)), float(np.std(F, ddof=1)) / 2.0
    assert answer.value == pytest.approx(mean * l, rel=1e-12)
    assert answer.error == pytest.approx(math.hypot(error * l, mean * 0.0005), rel=1e-6)
    assert answer.others["torque_constant"].value == pytest.approx(10.0 * l, rel=1e-12)
    assert answer.others["resistance"].value == pytest.approx(4.8 / float(np.mean(i)), rel=1e-12)
    bounds = measure.stall_torque(F, arm=l, current=i, static=0.012).others["torque_constant"]
    assert (bounds.low, bounds.high) == pytest.approx((0.25 - 0.02, 0.25 + 0.02), rel=1e-9)
    assert [f.code for f in measure.stall_torque([6.0], arm=l).findings] == ["error_unknown"]
    with pytest.raises(be.BackemfError, match="give --current too"):
        measure.stall_torque(F, arm=l, supply=4.8)
    with pytest.raises(be.BackemfError, match="a current is 0"):
        measure.stall_torque(F, arm=l, current=0 * i)
    weight = measure(
        "stall-torque", argument("scale", "0.62, 0.64 kg"), arm=argument("arm", "2.5 cm +- 0.5 mm")
    )
    assert weight.value == pytest.approx(0.63 * 9.80665 * 0.025, rel=1e-9)
    assert weight.error > 0.63 * 9.80665 * 0.0005
