"""Relations between two answers of every reading that hold whatever was read: in other units of mass,
length, time, current and temperature each number grows as its unit does, and in another order readings say
the same."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest

import backemf as be
from backemf.analysis.measure import READINGS
from backemf.logs.log import Log

SIZES = {"kg": 3.0, "m": 0.5, "s": 2.5, "A": 0.2, "degC": 7.0, "K": 7.0, "Hz": 0.4} | dict.fromkeys(
    ("1", "rad", "deg", "mrad"), 1.0)  # fmt: skip
SIZES |= {"N": 3.0 * 0.5 / 2.5**2, "J": 3.0 * 0.5**2 / 2.5**2, "W": 3.0 * 0.5**2 / 2.5**3}
SIZES |= {"V": SIZES["W"] / 0.2, "ohm": SIZES["W"] / 0.2**2, "H": SIZES["J"] / 0.2**2}
SIGNALS = {"velocity": "rad/s", "position": "rad", "position_target": "rad", "current": "A", "voltage": "V"}
SIGNALS |= {"temperature": "degC", "torque": "N m"}


def size_of(unit):
    """How a number of a unit grows, from those of its parts: "N m s/rad" is N times m times s over rad."""
    above, *below = unit.replace("(", "").replace(")", "").split("/")

    def product(words):
        parts = (w.partition("^") for w in words.split())
        return math.prod(SIZES[name] ** int(power or 1) for name, _, power in parts)

    return product(above) / math.prod(map(product, below))


def units_of(reading):
    """The unit of each argument, as the docstring of its reading says it."""
    return dict(re.findall(r"^ +(\w+): .*\[(.+?)\]", inspect.getdoc(READINGS[reading]) or "", re.MULTILINE))


def grown(given, unit):
    if isinstance(given, Log):
        columns = {name: s.values * size_of(SIGNALS[name]) for name, s in given.signals.items()}
        return be.log(given.name, given.time * SIZES["s"], **columns)
    if isinstance(given, tuple):
        return tuple(x * size_of(unit) for x in given)
    return given if unit == "1" else given * size_of(unit)


def recorded(n=120, dt=1e-2, **columns):
    """What functions of time give, with a noise of 0.4 %."""
    rng, t = np.random.default_rng(1), dt * np.arange(n)
    made = {name: f(t) for name, f in columns.items()}
    return be.log("run", t, **{k: v + 0.004 * np.ptp(v) * rng.standard_normal(n) for k, v in made.items()})


def rise(t):
    return np.where(t < 0.2, 0.0, 2.0 * (1 - np.exp(-(t - 0.2) / 0.15)))


def coast(t, rate=0.9):
    return 80.0 * np.exp(-rate * t) - 20.0


def play():
    """The output of a gear with 20 mrad of play."""
    t = 0.033 * np.arange(900)
    drive = 0.3 * np.abs((t / 5.0) % 2 - 1)
    out = np.zeros_like(drive)
    for k in range(1, len(t)):
        out[k] = min(max(out[k - 1], drive[k] - 0.01), drive[k] + 0.01)
    noise = 2e-4 * np.random.default_rng(0).standard_normal((2, len(t)))
    return be.log("run", t, position=out + noise[0], position_target=drive + 0.01 * noise[1])


def case(reading, **given):
    return reading, given


OFF = 0.01 * np.array([1.0, -2.0, 0.5, 1.5, -1.0, 0.3])
SIX, T = np.array([1.0, 2.0, 3.5, 4.0, 5.0, 6.5]), 1e-3 * np.arange(2000)
WAYS = np.array([1, -1, 1, -1, 1, -1])
R, K, ARM = (2.0, 0.04), (0.5, 0.01), {"mass": 0.4, "length": 0.2, "arm_mass": 0.1, "gravity": 9.8}
Z = np.hypot(2.0, 0.5 * SIX) * (1 + OFF)
SCALE = {"scale": 5.0 + OFF, "arm": (0.1, 1e-3), "current": 2.0 - OFF}
IDLE = {"voltage": 5.4 * SIX + 0.2, "speed": 10 * SIX + 10 * OFF}
CASES = {
    "resistance": case("resistance", current=SIX, voltage=2.1 * SIX + OFF),
    "a drop": case("resistance", current=SIX, voltage=2.1 * SIX + 0.8 + OFF),
    "an offset": case("back-emf", speed=10 * SIX, voltage=0.5 * SIX + 0.3 + OFF),
    "a bend": case("back-emf", speed=10 * SIX, voltage=0.5 * SIX + 0.1 * SIX**2 + OFF),
    "an outlier": case("back-emf", speed=10 * SIX, voltage=0.5 * SIX + OFF + 0.5 * (SIX == 4.0)),
    "no-load": case("no-load", **IDLE, resistance=R, torque_constant=K, current=0.1 + 0.02 * SIX + OFF / 9),
    "no-load alone": case("no-load", **IDLE, resistance=2.0),
    "i_0": case("no-load-current", speed=SIX, current=0.1 + 0.02 * SIX + OFF / 9, torque_constant=K),
    "loads": case("torque-constant", load=SIX, voltage=1.3 * (SIX + 0.2 * WAYS) + OFF, resistance=R,
                  directions=WAYS),
    "bounds": case("torque-constant", load=SIX, voltage=SIX * 1.3 + OFF, resistance=R, static=0.2),
    "saturated": case("torque-constant", load=SIX - 0.04 * SIX**2, current=SIX + OFF),
    "stall-torque": case("stall-torque", **SCALE, supply=(12.0, 0.1)),
    "stall bounds": case("stall-torque", **SCALE, static=0.05),
    "impedance": case("impedance", frequency=60 * SIX, impedance=Z),
    "impedance of R": case("impedance", frequency=60 * SIX, impedance=Z, resistance=R),
    "firmware-gain": case("firmware-gain", error=0.02 * SIX, register=32.0 + 0 * SIX, duty=0.1 * SIX + OFF),
    "acceleration": case("acceleration", acceleration=SIX, current=0.2 * SIX + 0.1 + OFF, torque_constant=K),
    "slip": case("slip", **ARM, angle=1.0, angle_error=0.05),
    "fall": case("fall", **ARM, angle=2.5),
    "step": case("current-step", log=recorded(current=rise), voltage=4.0),
    "step of the log": case("current-step", log=recorded(current=rise, voltage=lambda t: 4.0 * (t >= 0.2)),
                            after=0.2),
    "step with R": case("current-step", log=recorded(current=rise), resistance=R),
    "run-up": case("run-up", log=recorded(velocity=rise), resistance=R, torque_constant=K, viscous=K),
    "a short run-up": case("run-up", log=recorded(45, velocity=rise), resistance=R, torque_constant=K),
    "coast-down": case("coast-down", log=recorded(velocity=coast), inertia=(2e-3, 1e-5)),
    "positions": case("coast-down", log=recorded(60, 0.02, position=lambda t: 3e3 * np.tanh(t)), coulomb=K),
    "inertia": case("inertia", slow=recorded(velocity=lambda t: coast(t, 0.4)),
                    fast=recorded(velocity=coast), added=K),
    "thermal": case("thermal", log=recorded(dt=4.0, temperature=lambda t: 40.0 - 20.0 * np.exp(-t / 80.0)),
                    power=2.0, ambient=20.0, until=450.0),
    "power of the log": case("thermal", log=recorded(
        dt=4.0, temperature=lambda t: 40.0 - 20.0 * np.exp(-t / 80.0), voltage=lambda t: 4.0 + 0 * t,
        current=lambda t: 0.5 + 0 * t)),
    "backlash": case("backlash", log=play()),
    "inverse-dynamics": case("inverse-dynamics", cutoff=40.0, decimation=7, log=be.log(
        "push", T, position=np.sin(9 * T), torque=np.cos(8 * T))),
}  # fmt: skip


def numbers_of(m):
    """Every number of an answer with its unit: values, errors, intervals, and what is drawn."""
    for key, one in {"": m, **m.others}.items():
        for end in ("value", "error", "low", "high", "spare"):
            yield f"{key} {end}", getattr(one, end), "1" if end == "spare" else one.unit
    drawn = m.shown
    units = [re.findall(r"\[(.+)\]", label)[0] for label in (drawn.x_label, drawn.y_label)]
    for k, part in enumerate((*drawn.readings, *drawn.curves)):
        for name, unit in (("x", units[0]), ("y", units[1]), ("low", units[1]), ("high", units[1])):
            yield f"drawn {k} {name}", getattr(part, name, None), unit


@pytest.mark.parametrize("name", CASES)
def test_in_other_units_every_number_grows_as_its_unit_does(name):
    reading, given = CASES[name]
    units = units_of(reading)
    one = READINGS[reading](**given)
    two = READINGS[reading](**{k: grown(x, units.get(k, "1")) for k, x in given.items()})
    assert [f.code for f in one.findings] == [f.code for f in two.findings]
    for (what, x, unit), (_, y, _) in zip(numbers_of(one), numbers_of(two), strict=True):
        assert (x is None) == (y is None), what
        if x is not None:
            wanted = np.asarray(x, float) * size_of(unit)
            most = np.max(np.abs(np.nan_to_num(wanted)))
            np.testing.assert_allclose(y, wanted, rtol=2e-4, atol=2e-4 * most, err_msg=what)
    for line in one.shown.curves:
        assert np.all(np.diff(line.x) > 0)
        assert line.low is None or np.all(np.asarray(line.low) <= np.asarray(line.high))
    for read, line in zip(one.shown.readings, one.shown.curves, strict=False):
        if one.shown.fitted:  # it ends where the readings do, and goes through most of them
            assert np.max(line.x) == pytest.approx(max(np.max(r.x) for r in one.shown.readings))
            there = read.x >= np.min(line.x)
            off = np.interp(read.x[there], line.x, line.y) - read.y[there]
            assert np.median(np.abs(off)) < 0.1 * np.ptp(read.y) or reading == "inverse-dynamics"


@pytest.mark.parametrize("name", [n for n, (_, x) in CASES.items() if not {"log", "fast", "angle"} & {*x}])
def test_in_another_order_readings_say_the_same(name):
    reading, given = CASES[name]
    order = np.array([4, 0, 3, 5, 1, 2])
    one = READINGS[reading](**given)
    two = READINGS[reading](**{k: x[order] if isinstance(x, np.ndarray) else x for k, x in given.items()})
    assert [f.code for f in one.findings] == [f.code for f in two.findings]
    for (what, x, _), (_, y, _) in zip(numbers_of(one), numbers_of(two), strict=True):
        if x is not None:
            np.testing.assert_allclose(np.sort(y, None), np.sort(x, None), rtol=1e-6, atol=1e-9, err_msg=what)


LENT = {"resistance": "motor.resistance", "torque_constant": "motor.torque_constant", "inertia": "inertia"}


@pytest.mark.parametrize("name", [n for n, (_, x) in CASES.items() if {*LENT} & {*x}])
def test_what_other_readings_lend_is_as_good_as_what_is_typed(name):
    """A constant that is stated besides; not where the reading has what makes it needless."""
    reading, given = CASES[name]
    rest = {k: x.tolist() if isinstance(x, np.ndarray) else x for k, x in given.items() if k not in LENT}
    stated = {LENT[k]: x for k, x in given.items() if k in LENT}
    made = be.measure.constants({"stated": stated, reading: rest})
    alone = READINGS[reading](**given)
    for m in (alone, *alone.others.values()):
        if m.name in made.routes:
            told = [ends_of(way) for way in made.routes[m.name].values()]
            assert any(ends == pytest.approx(ends_of(m), rel=1e-6, nan_ok=True) for ends in told), m.name


def ends_of(m):
    return [math.nan if x is None else x for x in (m.value, m.low, m.high)]


@pytest.mark.parametrize("name", ["saturated", "step", "positions", "loads"])
def test_nothing_is_lent_where_it_is_not_needed(name):
    reading, given = CASES[name]
    rest = {k: x.tolist() if isinstance(x, np.ndarray) else x for k, x in given.items()}
    stated = {"motor.resistance": 9.0, "inertia": 9.0} | ({"friction.static": 0.5} if name == "loads" else {})
    alone, made = READINGS[reading](**given), be.measure.constants({"stated": stated, reading: rest})
    way = made.routes[alone.name][alone.route]
    assert ends_of(way) == pytest.approx(ends_of(alone), rel=1e-6, nan_ok=True)
    assert "from the other readings" not in way.assumption
