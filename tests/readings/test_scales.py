"""Relations between two answers of every reading that hold whatever was read: in other units of mass, length, time,
current and temperature each number grows as its unit does, and in another order readings say the same."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.analysis.measure import READINGS
from backemf.logs.log import Log

from . import test_coverage as known

BASE = {"kg": 3.0, "m": 0.5, "s": 2.5, "A": 0.2, "K": 7.0, "rad": 1.0, "1": 1.0, "deg": 1.0, "mrad": 1.0}
SIZES: dict[str, float] = {**BASE, "Hz": 1 / BASE["s"], "N": 3.0 * 0.5 / 2.5**2, "degC": BASE["K"]}
SIZES |= {"W": SIZES["N"] * 0.5 / 2.5}
SIZES |= {"V": SIZES["W"] / 0.2, "J": SIZES["N"] * 0.5}
SIZES |= {"ohm": SIZES["V"] / 0.2, "H": SIZES["V"] / 0.2 * 2.5}
SIGNALS = {"velocity": "rad/s", "position": "rad", "position_target": "rad", "current": "A", "voltage": "V"}
SIGNALS |= {"temperature": "degC", "torque": "N m"}


def size_of(unit):
    """How a number of a unit grows, from those of its parts: "N m s/rad" is N times m times s over rad."""
    above, *below = unit.replace("(", "").replace(")", "").split("/")

    def product(words):
        return math.prod(SIZES[w.partition("^")[0]] ** int(w.partition("^")[2] or 1) for w in words.split())

    return product(above) / math.prod(map(product, below))


def units_of(reading):
    """The unit of each argument, as the docstring of its reading says it."""
    return dict(
        re.findall(r"^ +(\w+): [^\n]*\[(.+?)\]", inspect.getdoc(READINGS[reading]) or "", re.MULTILINE)
    )


def grown(given, unit):
    if isinstance(given, Log):
        columns = {name: s.values * size_of(SIGNALS[name]) for name, s in given.signals.items()}
        return be.log(given.name, given.time * BASE["s"], **columns)
    if isinstance(given, tuple):
        return tuple(x * size_of(unit) for x in given)
    return given if unit == "1" else given * size_of(unit)


def recording(n=120, dt=1e-2, **columns):
    rng, t = np.random.default_rng(1), dt * np.arange(n)
    made = {name: f(t) for name, f in columns.items()}
    return be.log("run", t, **{k: v + 0.004 * np.ptp(v) * rng.standard_normal(n) for k, v in made.items()})


def rise(t):
    return np.where(t < 0.2, 0.0, 2.0 * (1 - np.exp(-(t - 0.2) / 0.15)))


WIGGLE = 0.01 * np.array([1.0, -2.0, 0.5, 1.5, -1.0, 0.3])
SIX = np.array([1.0, 2.0, 3.5, 4.0, 5.0, 6.5])
WAYS = np.array([1, -1, 1, -1, 1, -1])
COAST = {"velocity": lambda t: 80.0 * np.exp(-0.9 * t) - 20.0}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "resistance": ("resistance", {"current": SIX, "voltage": 2.1 * SIX + WIGGLE}),
    "with a drop": ("resistance", {"current": SIX, "voltage": 2.1 * SIX + 0.8 + WIGGLE}),
    "back-emf": ("back-emf", {"speed": 10 * SIX, "voltage": 0.5 * SIX + 0.3 + WIGGLE}),
    "bent": ("back-emf", {"speed": 10 * SIX, "voltage": 0.5 * SIX + 0.1 * SIX**2 + WIGGLE}),
    "a wrong one": ("back-emf", {"speed": 10 * SIX, "voltage": 0.5 * SIX + WIGGLE + 0.5 * (SIX == 4.0)}),
    "no-load": ("no-load", {"voltage": 5.4 * SIX + 0.2, "speed": 10 * SIX + 10 * WIGGLE, "resistance": (2.0, 0.04),
                            "current": 0.1 + 0.02 * SIX + WIGGLE / 9, "torque_constant": (0.5, 0.01)}),
    "no-load alone": ("no-load", {"voltage": 5.4 * SIX + 0.2, "speed": 10 * SIX + 10 * WIGGLE, "resistance": 2.0}),
    "no-load-current": ("no-load-current", {"speed": SIX, "current": 0.1 + 0.02 * SIX + WIGGLE / 9,
                                            "torque_constant": (0.5, 0.01)}),
    "loads": ("torque-constant", {"load": SIX, "voltage": (SIX + 0.2 * WAYS) * 1.3 + WIGGLE,
                                  "resistance": (2.0, 0.05), "directions": WAYS}),
    "bounds": ("torque-constant", {"load": SIX, "voltage": SIX * 1.3 + WIGGLE, "resistance": (2.0, 0.05), "static": 0.2}),
    "saturated": ("torque-constant", {"load": SIX - 0.04 * SIX**2, "current": SIX + WIGGLE}),
    "stall-torque": ("stall-torque", {"scale": 5.0 + WIGGLE, "arm": (0.1, 0.001), "current": 2.0 - WIGGLE, "supply": (12.0, 0.1)}),
    "stall bounds": ("stall-torque", {"scale": 5.0 + WIGGLE, "arm": (0.1, 0.001), "current": 2.0 - WIGGLE, "static": 0.05}),
    "impedance": ("impedance", {"frequency": 60 * SIX, "impedance": np.hypot(2.0, 0.5 * SIX) * (1 + WIGGLE)}),
    "impedance of R": ("impedance", {"frequency": 60 * SIX, "impedance": np.hypot(2.0, 0.5 * SIX) * (1 + WIGGLE),
                                     "resistance": (2.0, 0.05)}),
    "firmware-gain": ("firmware-gain", {"error": 0.02 * SIX, "register": 32.0 + 0 * SIX, "duty": 0.1 * SIX + WIGGLE}),
    "acceleration": ("acceleration", {"acceleration": SIX, "current": 0.2 * SIX + 0.1 + WIGGLE, "torque_constant": (0.5, 0.02)}),
    "slip": ("slip", {"mass": 0.4, "length": 0.2, "arm_mass": 0.1, "gravity": 9.8, "angle": 1.0, "angle_error": 0.05}),
    "fall": ("fall", {"mass": 0.4, "length": 0.2, "arm_mass": 0.1, "gravity": 9.8, "angle": 2.5}),
    "current-step": ("current-step", {"log": recording(current=rise), "voltage": 4.0}),
    "step of the log": ("current-step", {"log": recording(current=rise, voltage=lambda t: 4.0 * (t >= 0.2)), "after": 0.2}),
    "step with R": ("current-step", {"log": recording(current=rise), "resistance": (2.0, 0.1)}),
    "run-up": ("run-up", {"log": recording(velocity=rise), "resistance": (2.0, 0.1), "torque_constant": (0.5, 0.01),
                          "viscous": (0.01, 0.001)}),
    "a short run-up": ("run-up", {"log": recording(n=45, velocity=rise), "resistance": 2.0, "torque_constant": 0.5}),
    "coast-down": ("coast-down", {"log": recording(**COAST), "inertia": (2e-3, 1e-5)}),
    "coast of positions": ("coast-down", {"log": be.log("run", 0.02 * np.arange(60), position=np.cumsum(
        COAST["velocity"](0.02 * np.arange(60)))), "coulomb": (0.02, 1e-3)}),
    "inertia": ("inertia", {"slow": recording(velocity=lambda t: 80.0 * np.exp(-0.4 * t) - 20.0),
                            "fast": recording(**COAST), "added": (3e-3, 1e-5)}),
    "thermal": ("thermal", {"log": recording(dt=4.0, temperature=lambda t: 20.0 + 20.0 * (1 - np.exp(-t / 80.0))),
                            "power": 2.0, "ambient": 20.0, "until": 450.0}),
    "thermal of the log": ("thermal", {"log": recording(dt=4.0, temperature=lambda t: 40.0 - 20.0 * np.exp(-t / 80.0),
                                                        voltage=lambda t: 4.0 + 0 * t, current=lambda t: 0.5 + 0 * t)}),
    "backlash": ("backlash", {"log": recording(900, 0.033, position_target=lambda t: 0.3 * np.abs((t / 5.0) % 2 - 1))}),
    "inverse-dynamics": ("inverse-dynamics", {"log": be.log("push", 1e-3 * np.arange(2000), position=np.sin(
        9 * 1e-3 * np.arange(2000)), torque=np.cos(8 * 1e-3 * np.arange(2000))), "cutoff": 40.0, "decimation": 7}),
}  # fmt: skip


def played(log):
    """The output of a gear with play, whose drive side is what was asked."""
    drive = log["position_target"]
    out = np.zeros_like(drive)
    for k in range(1, len(drive)):
        out[k] = min(max(out[k - 1], drive[k] - 0.01), drive[k] + 0.01)
    return be.log("run", log.time, position=out, position_target=drive)


CASES["backlash"][1]["log"] = played(CASES["backlash"][1]["log"])


def numbers_of(m):
    """Every number of an answer with its unit: values, errors, intervals, findings' shares, and what is drawn."""
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


@pytest.mark.parametrize(
    "name", [n for n, (_, given) in CASES.items() if isinstance([*given.values()][0], np.ndarray)]
)
def test_in_another_order_readings_say_the_same(name):
    reading, given = CASES[name]
    order = np.array([4, 0, 3, 5, 1, 2])
    one = READINGS[reading](**given)
    two = READINGS[reading](**{k: x[order] if isinstance(x, np.ndarray) else x for k, x in given.items()})
    assert [f.code for f in one.findings] == [f.code for f in two.findings]
    for (what, x, _), (_, y, _) in zip(numbers_of(one), numbers_of(two), strict=True):
        if x is not None:
            np.testing.assert_allclose(np.sort(y, None), np.sort(x, None), rtol=1e-6, atol=1e-9, err_msg=what)
