"""What is pasted works: constants in three languages and two seasons, compiled or executed, give the model's
voltages. C++ with its own headers, Python with WPILib itself, Java with stubs of what is documented."""

import math
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from backemf.errors import UnknownName
from backemf.kits.frc.characterize import UNITS
from backemf.kits.frc.loop_gains import feedforward
from backemf.kits.frc.mechanism_constants import SEASONS, constants

from ..conftest import needed, unavailable

GAINS = {"kS": 0.1234567891234, "kG": 0.456789123456, "kV": 1.357913579, "kA": 0.0246802468}
"""In SI."""
CASES = [
    (mechanism, units, season)
    for mechanism, several in {
        "simple": ("rotations", "radians", "degrees", "meters"),
        "elevator": ("meters", "inches"),
        "drivetrain": ("feet",),
        "arm": ("rotations", "degrees", "radians"),
    }.items()
    for units in several
    for season in SEASONS
]
STATES = [(0.3, 1.5, 2.0), (-1.1, -0.7, 4.0), (2.0, 0.2, -3.0)]
"""Position, velocity, acceleration, in SI."""
CLOSE = {"rel": 1e-9, "abs": 1e-9}
"""Constants have ten digits."""


def written(mechanism, units, season, language):
    size, short = UNITS[units]
    gains = {name: value * (size if name in ("kV", "kA") else 1.0) for name, value in GAINS.items()}
    if mechanism not in ("elevator", "arm"):
        del gains["kG"]
    named = {"kV": f"V/({short}/s)", "kA": f"V/({short}/s^2)"}
    return constants(gains, mechanism=mechanism, units=named, language=language, season=season)


def wanted(mechanism):
    """Voltages of the model."""
    gains = {name: GAINS[name] for name in ("kS", "kV", "kA")}
    gains |= {"kG": GAINS["kG"]} if mechanism in ("elevator", "arm") else {}
    return [feedforward(v, a, **gains, angle=p if mechanism == "arm" else None) for p, v, a in STATES]


def states_for(text):
    """The states in the unit that the pasted comment says, as a student would give them."""
    size, short = UNITS[re.search(r"kFeedforward takes (\w+) and \1 per second", text)[1]]
    return short, [[x / size for x in state] for state in STATES]


@pytest.mark.parametrize(("mechanism", "units", "season"), CASES)
def test_python_is_executed_by_wpilib(mechanism, units, season, monkeypatch):
    controller = needed("wpimath.controller")
    if season == "2027":  # its alpha's wheels want a newer system: its names, for today's classes
        flat = {name: vars(controller)[name] for name in ("ArmFeedforward", "ElevatorFeedforward")}
        flat["SimpleMotorFeedforward"] = controller.SimpleMotorFeedforwardMeters
        monkeypatch.setitem(sys.modules, "wpimath", types.SimpleNamespace(**flat))
    space: dict = {}
    text = written(mechanism, units, season, "python")
    exec(text, space)
    made, (_, states) = space["kFeedforward"], states_for(text)
    for (p, v, a), volts in zip(states, wanted(mechanism), strict=True):
        given = (p, v) if mechanism == "arm" else (v,)
        assert made.calculate(*given) + made.getKa() * a == pytest.approx(volts, **CLOSE)


SHIM = """#pragma once
#include <frc/controller/ArmFeedforward.h>
#include <frc/controller/ElevatorFeedforward.h>
#include <frc/controller/SimpleMotorFeedforward.h>
#include <units/length.h>
namespace wpi {
namespace units = ::units;
namespace math {
using frc::ArmFeedforward;
using frc::ElevatorFeedforward;
using frc::SimpleMotorFeedforward;
}
}
"""
"""The names of 2027 for the classes of 2026."""


def test_cpp_is_compiled_with_wpilibs_headers(tmp_path):
    if shutil.which("g++") is None:
        unavailable("g++")
    needed("wpimath")
    native = Path(sys.modules["wpimath"].__file__).parents[1] / "native"
    (tmp_path / "shim.h").write_text(SHIM)
    lines = ["#include <cstdio>", '#include "shim.h"', "using namespace units::literals;"]
    body = []
    for k, (mechanism, units, season) in enumerate(CASES):
        text = written(mechanism, units, season, "c++")
        for place in re.findall(r"#include <(wpi/.*)>", text):
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).write_text('#include "shim.h"\n')
        (tmp_path / f"case{k}.h").write_text(f"// case {k}: alike files would be one\n{text}")
        lines += [f"#define constants case{k}", f'#include "case{k}.h"', "#undef constants"]
        short, states = states_for(text)
        one = {"rot": "1_tr"}.get(short, f"1_{short}")
        for p, v, a in states:
            angle = f"{p!r} * {one}, " if mechanism == "arm" else ""
            calls = (
                f"case{k}::kFeedforward.Calculate({angle}{v!r} * {one} / 1_s)",
                f"units::volt_t{{case{k}::kFeedforward.GetKa() * ({a!r} * {one} / 1_s / 1_s)}}",
            )
            body.append(f'std::printf("%.17g\\n", ({" + ".join(calls)}).value());')
    source = tmp_path / "all.cpp"
    source.write_text("\n".join([*lines, "int main() {", *body, "}"]))
    include = [f"-I{tmp_path}", *(f"-I{native / name / 'include'}" for name in ("wpimath", "wpiutil"))]
    libraries = [f"{native / name / 'lib' / f'lib{name}.so'}" for name in ("wpimath", "wpiutil")]
    paths = ":".join(str(Path(library).parent) for library in libraries)
    command = ["g++", "-std=c++20", "-O0", *include, str(source), "-o", str(tmp_path / "all"), *libraries]
    subprocess.run([*command, f"-Wl,-rpath,{paths}"], check=True, capture_output=True, text=True)
    out = subprocess.run([tmp_path / "all"], check=True, capture_output=True, text=True).stdout.split()
    volts = [value for mechanism, _, _ in CASES for value in wanted(mechanism)]
    assert [float(word) for word in out] == pytest.approx(volts, **CLOSE)


PACKAGES = {"2026": "edu.wpi.first.math.controller", "2027": "org.wpilib.math.controller"}
CLASSES = {
    "SimpleMotorFeedforward": ("kS kV kA", "velocity", ""),
    "ElevatorFeedforward": ("kS kG kV kA", "velocity", " + kG"),
    "ArmFeedforward": ("kS kG kV kA", "angle velocity", " + kG * Math.cos(angle)"),
}
"""Arguments of WPILib's constructors and of `calculate`, as documented (docs.wpilib.org, feedforward), and
what holds the load."""


def stub(package, name):
    """A class with the documented signatures."""
    gains, state, gravity = CLASSES[name]
    listed, given = ", ".join(f"double {g}" for g in gains.split()), state.split()
    fields = "".join(f"  private final double {g};\n" for g in gains.split())
    sets = " ".join(f"this.{g} = {g};" for g in gains.split())
    return (
        f"package {package};\npublic class {name} {{\n{fields}  public {name}({listed}) {{ {sets} }}\n"
        f"  public double calculate({', '.join(f'double {g}' for g in given)}) {{\n"
        f"    return kS * Math.signum(velocity) + kV * velocity{gravity};\n  }}\n"
        "  public double getKa() { return kA; }\n}\n"
    )


def test_java_is_compiled_and_run(tmp_path):
    if shutil.which("javac") is None:
        unavailable("javac")
    sources = {
        f"{package.replace('.', '/')}/{name}.java": stub(package, name)
        for package in PACKAGES.values()
        for name in CLASSES
    }
    body = []
    for k, (mechanism, units, season) in enumerate(CASES):
        text = written(mechanism, units, season, "java")
        assert f"import {PACKAGES[season]}." in text
        sources[f"case{k}/Constants.java"] = f"package case{k};\n{text}"
        for p, v, a in states_for(text)[1]:
            made = f"case{k}.Constants.kFeedforward"
            given = f"{p!r}, {v!r}" if mechanism == "arm" else repr(v)
            body.append(f"System.out.println({made}.calculate({given}) + {made}.getKa() * {a!r});")
    sources["Main.java"] = "\n".join(
        ["public class Main {", "public static void main(String[] words) {", *body, "}", "}"]
    )
    for place, text in sources.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    places = [str(tmp_path / place) for place in sources]
    subprocess.run(
        ["javac", "-Werror", "-d", str(tmp_path / "out"), *places], check=True, capture_output=True
    )
    run = subprocess.run(
        ["java", "-Xshare:auto", "-cp", str(tmp_path / "out"), "Main"], check=True, capture_output=True
    )
    volts = [value for mechanism, _, _ in CASES for value in wanted(mechanism)]
    assert [float(word) for word in run.stdout.split()] == pytest.approx(volts, **CLOSE)


def test_what_a_class_cannot_take_is_said_and_not_written():
    gains = {"kS": 0.1, "kV": 1.0, "kA": 0.1, "kG": 0.3}
    amperes = {"kS": "A", "kG": "A", "kV": "A/(rad/s)", "kA": "A/(rad/s^2)"}
    text = constants(gains, mechanism="arm", units=amperes, language="c++")
    assert "kFeedforward" not in text
    assert "0.1_A;" in text
    assert "in amperes" in text
    turned = {"kV": "V/(rot/s)", "kA": "V/(rot/s^2)"}
    text = constants(gains, mechanism="elevator", units=turned, language="c++")
    assert "inline const frc" not in text
    assert "takes metres, and these gains are in rotations" in " ".join(text.replace("//", "").split())
    with pytest.raises(UnknownName, match="unknown season '2025'"):
        constants(gains, season="2025")


def test_an_arms_loop_and_offset_are_in_radians_too():
    gains = {"kS": 0.1, "kV": 1.0, "kA": 0.1, "kG": 0.3, "offset": 0.25}
    turned = {"kV": "V/(rot/s)", "kA": "V/(rot/s^2)"}
    loops = {"position": {"kP": 2 * math.pi, "kD": math.pi}}
    how = {"mechanism": "arm", "units": turned, "language": "python", "feedback": loops}
    needed("wpimath")
    space: dict = {}
    text = constants(gains, **how)
    exec(text, space)
    assert (space["kPPosition"], space["kDPosition"], space["kOffset"]) == pytest.approx((1.0, 0.5, 0.25))
    assert "kPPosition = 1.0  # position loop, per rad\n" in text
    assert "kDPosition = 0.5  # position loop, per rad/s" in text
    exec(constants(gains, **how, controller="rev-neo"), space)
    assert space["kPPosition"] == pytest.approx(2 * math.pi)  # in the controller's own counting
