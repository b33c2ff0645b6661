"""The C files: compiled without a warning, they move as the engine does, give the torch file's torque, hold
in somebody else's simulator, and say what is wrong."""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
import shutil
import subprocess
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, NotAvailable
from backemf.logs.log import log
from backemf.targets.code import c_language as cc
from backemf.targets.code.c_language import array, comment, identifier, literal, quote
from backemf.targets.export import export
from backemf.targets.replay import replay

from ...conftest import ROOT, unavailable
from .variants import GAINS, INERTIA, LATE, LOAD, SERVO, VARIANTS, H, N, asked, engine

STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow", "-Wdouble-promotion")
STRICT += ("-Wstrict-prototypes", "-Wmissing-prototypes", "-Werror")
DRIVER = """
#include "knee.h"
#define SHOWN __attribute__((visibility("default")))
SHOWN unsigned long size(void) { return sizeof(knee_actuator); }
SHOWN int start(knee_actuator *a, double h, double q) { return knee_init(a, h, (REAL)q); }
SHOWN void speed(knee_actuator *a, double v) { a->s[KNEE_S_VELOCITY] = (REAL)v; }
SHOWN void number(knee_actuator *a, int i, double x) { a->p[i] = x; }
SHOWN int other(knee_actuator *a, double h) { a->h = h; return knee_changed(a); }
SHOWN void again(knee_actuator *a, double q) { knee_reset(a, (REAL)q); }
SHOWN void step(knee_actuator *a, double J, double load, const double *u) {
    (void)u; knee_step(a, (REAL)J, (REAL)load ASKED);
}
SHOWN double torque(knee_actuator *a, double q, double v, double J, const double *u) {
    (void)u; return (double)knee_torque(a, (REAL)q, (REAL)v, (REAL)J ASKED);
}
SHOWN void state(const knee_actuator *a, double *s) {
    int i; for (i = 0; i < KNEE_STATES; i++) s[i] = a->s[i];
}
SHOWN void seen(const knee_actuator *a, double *o) {
    REAL x[KNEE_SIGNALS]; int i; knee_observe(a, x); for (i = 0; i < KNEE_SIGNALS; i++) o[i] = (double)x[i];
}
SHOWN double armature(const knee_actuator *a) { return knee_armature(a->p); }
"""


@pytest.fixture(autouse=True)
def _compiler():
    if shutil.which("gcc") is None:
        unavailable("gcc")


class Knee:
    """A built file, called from here."""

    def __init__(self, actuator: be.Actuator, folder: Path, version: str = "double", edit: Any = None):
        files = dict(export(actuator, f"c@{version}", joint="knee", timestep=5e-4, replay=False).files)
        if edit is not None:
            files["knee.c"] = edit(files["knee.c"])
        passed = "".join(f", (REAL)u[{i}]" for i in range(len(actuator.drive.targets)))
        for name, text in {**files, "driver.c": DRIVER.replace("ASKED", passed)}.items():
            (folder / name).write_text(text)
        path = cc.build(folder, ["knee.c", "driver.c"], "knee.so", f"-DREAL={version}")
        self.library: Any = ctypes.CDLL(str(path))
        number, pointer = ctypes.c_double, ctypes.c_void_p
        self.library.size.restype = ctypes.c_ulong
        self.library.torque.restype = self.library.armature.restype = number
        arguments = {
            "start": [number, number],
            "speed": [number],
            "number": [ctypes.c_int, number],
            "other": [number],
            "again": [number],
            "step": [number, number, pointer],
            "torque": [number, number, number, pointer],
            "state": [pointer],
            "seen": [pointer],
            "armature": [],
        }
        for name, kinds in arguments.items():
            getattr(self.library, name).argtypes = [pointer, *kinds]
        self.states, self.paths = actuator.states, [*actuator.parameters]
        self.memory = ctypes.create_string_buffer(self.library.size())

    def __getattr__(self, name: str) -> Any:
        return lambda *given: getattr(self.library, name)(self.memory, *given)

    def values(self) -> dict[str, float]:
        s = np.empty(len(self.states))
        self.state(s.ctypes.data)
        return dict(zip(self.states, s.tolist(), strict=True))

    def signals(self, n: int) -> list[float]:
        o = np.empty(n)
        self.seen(o.ctypes.data)
        return o.tolist()


def rows(actuator: be.Actuator, n: int = N) -> np.ndarray:
    columns = [*asked(actuator, n).values()]
    return np.ascontiguousarray(np.stack(columns, axis=1)) if columns else np.zeros((n, 1))


@pytest.mark.parametrize("version", ["double", "float"])
@pytest.mark.parametrize("name", VARIANTS)
def test_it_compiles_without_a_warning(name, version, tmp_path):
    notes = "a */ note /* with ?? what C minds \\"
    export(VARIANTS[name], f"c@{version}", joint="left/knee 2", notes=notes, replay=False).write(tmp_path)
    command = ["gcc", *STRICT, "-c", "left_knee_2.c", "-o", "made.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    needed = subprocess.run(["nm", "-u", "made.o"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not {"malloc", "calloc", "free", "printf"} & set(needed.stdout.split())


@pytest.mark.parametrize("name", VARIANTS)
def test_a_joint_of_its_own_moves_as_the_engines_does(name, tmp_path):
    """Every state at every step; what differs is how sums are ordered, which stiff teeth magnify."""
    actuator = VARIANTS[name]
    knee, expected, u = Knee(actuator, tmp_path), engine(actuator), rows(actuator)
    assert knee.start(H, 0.1) == 0
    knee.speed(0.5)
    for k in range(N):
        knee.step(INERTIA, LOAD, u[k].ctypes.data)
        for state, value in knee.values().items():
            close = 1e-9 * max(1.0, np.abs(expected[state]).max())
            assert value == pytest.approx(expected[state][k + 1], abs=close), (state, k)


def test_a_changed_sign_in_the_text_shows(tmp_path):
    """The comparison above can fail: the sign of the step's first difference is turned round."""
    head, between, tail = _parted(SERVO)
    assert " - " in tail

    def edit(text: str) -> str:
        before, mark, after = text.partition(between)
        return before + mark + after.replace(" - ", " + ", 1)

    assert head
    knee, expected, u = Knee(SERVO, tmp_path, edit=edit), engine(SERVO), rows(SERVO)
    knee.start(H, 0.1)
    knee.speed(0.5)
    worst = 0.0
    for k in range(N):
        knee.step(INERTIA, LOAD, u[k].ctypes.data)
        worst = max(worst, abs(knee.values()["position"] - expected.position[k + 1]))
    assert not worst < 1e-6


def _parted(actuator: be.Actuator) -> tuple[str, str, str]:
    text = export(actuator, "c", joint="knee", replay=False).text
    return text.partition("double knee_advance(")


@pytest.mark.parametrize("name", ["friction m6", "inductance and heat", "drive delay and period"])
def test_what_it_shows_is_what_the_engine_shows(name, tmp_path):
    """Where the command does not change: there the engine already shows the next one."""
    actuator = VARIANTS[name]
    shown = ["voltage", "current", "torque", *(["temperature"] if actuator.motor.thermal else [])]
    knee, expected, u = Knee(actuator, tmp_path), engine(actuator), rows(actuator)
    knee.start(H, 0.1)
    knee.speed(0.5)
    for k in range(N):
        knee.step(INERTIA, LOAD, u[k].ctypes.data)
        if k > 10 and k + 1 < N and np.array_equal(u[k - 10], u[k + 1]):
            got = knee.signals(len(shown))
            for signal, value in zip(shown, got, strict=True):
                size = np.abs(expected[signal]).max()
                assert value == pytest.approx(expected[signal][k + 1], abs=1e-9 * size), (signal, k)


@pytest.mark.parametrize("name", ["friction m6", "friction lugre", "inductance and heat"])
def test_floats_stay_within_two_microradians(name, tmp_path):
    """As the torch file in 32 bits does over a thousand steps; its command's own rounding is among them."""
    actuator = VARIANTS[name]
    knee, u = Knee(actuator, tmp_path, "float"), rows(actuator, 1000)
    expected = engine(actuator, 1000)
    knee.start(H, 0.1)
    knee.speed(0.5)
    worst = 0.0
    for k in range(1000):
        knee.step(INERTIA, LOAD, u[k].ctypes.data)
        worst = max(worst, abs(knee.values()["position"] - expected.position[k + 1]))
    assert worst < 2e-6


def test_a_delay_of_a_part_of_a_step_acts_as_the_mean_of_both_commands(tmp_path):
    """The engine splits the step there; the file does not, so that a jump is up to half a step early or late:
    no more than half a step at the speed without a load, 12 V / 1.1 V s/rad."""
    knee = Knee(LATE, tmp_path)
    for h in (2e-3, 5e-4):
        n = round(0.5 / h)
        expected, u = engine(LATE, n, h), np.ascontiguousarray(asked(LATE, n, h)["position_target"])
        assert knee.start(h, 0.1) == 0
        knee.speed(0.5)
        worst = 0.0
        for k in range(n):
            knee.step(INERTIA, LOAD, u[k:].ctypes.data)
            worst = max(worst, abs(knee.values()["position"] - expected.position[k + 1]))
        assert worst < 0.5 * h * 12.0 / 1.1


@pytest.mark.parametrize("name", ["friction stribeck", "friction lugre", "drive filter", "late", "backlash"])
def test_its_torque_is_the_torch_files(name, tmp_path):
    """Of a joint that a plain integrator moves, loads seen from outside and a reset on the way included."""
    torch: Any = (
        importlib.import_module("torch") if importlib.util.find_spec("torch") else unavailable("torch")
    )
    actuator = {**VARIANTS, "late": LATE}[name]
    module = types.ModuleType("training_file")
    text = export(actuator, "torch", joint="knee", replay=False).text
    exec(compile(text, "knee_torch.py", "exec", dont_inherit=True), module.__dict__)
    theirs = module.Actuator(1, 1, inertia=INERTIA, dtype=torch.float64)
    knee, u, q, v = Knee(actuator, tmp_path), rows(actuator), 0.1, 0.0
    assert knee.start(H, q) == 0
    J = INERTIA + knee.armature()
    for k in range(N):
        if k == 140:
            knee.again(q)
            theirs.reset()
        mine = knee.torque(q, v, INERTIA, u[k].ctypes.data)
        other = theirs.compute(
            float(u[k, 0]), *(torch.tensor([[x]], dtype=torch.float64) for x in (q, v)), H
        ).item()
        assert mine == pytest.approx(other, abs=1e-8), k
        assert (knee.values()["position"], knee.values()["velocity"]) == (q, v)
        v += H * (mine + LOAD * np.sin(0.1 * k)) / J
        q += H * v
    assert abs(q - 0.1) > 0.05


def test_friction_holds_a_joint_that_somebody_else_moves(tmp_path):
    """Below its static friction nothing creeps, without a constraint of the one who moves it."""
    still = dataclasses.replace(SERVO, drive=be.drive.Voltage(supply=12.0))
    knee, q, v, zero = Knee(still, tmp_path), 0.2, 0.0, np.zeros(1)
    knee.start(H, q)
    J = INERTIA + knee.armature()
    for _ in range(1000):
        torque = knee.torque(q, v, INERTIA, zero.ctypes.data)
        v += H * (torque + 0.6 * 0.05) / J
        q += H * v
    assert abs(q - 0.2) < 1e-3  # the load is seen one step late: h^2 / J of it, once
    before = q
    for _ in range(1000):
        torque = knee.torque(q, v, INERTIA, zero.ctypes.data)
        v += H * (torque + 0.6 * 0.05) / J
        q += H * v
    assert abs(q - before) < 1e-9


def test_parameters_and_the_step_can_be_changed(tmp_path):
    other = SERVO.replace(**{"motor.resistance": 6.0, "friction.coulomb": 0.02})
    knee, u, h = Knee(SERVO, tmp_path), rows(SERVO), 1e-3
    assert knee.start(H, 0.1) == 0
    for path in ("motor.resistance", "friction.coulomb"):
        knee.number(knee.paths.index(path), other.parameters[path])
    assert knee.other(h) == 0
    knee.speed(0.5)
    expected, u = engine(other, N, h), np.ascontiguousarray(np.stack([*asked(other, N, h).values()], axis=1))
    for k in range(N):
        knee.step(INERTIA, LOAD, u[k].ctypes.data)
        assert knee.values()["position"] == pytest.approx(expected.position[k + 1], abs=1e-11)


def test_what_cannot_be_is_said(tmp_path):
    knee = Knee(LATE, tmp_path)
    assert knee.start(0.0, 0.0) == 1
    assert knee.start(float("nan"), 0.0) == 1
    assert knee.start(1e-5, 0.0) == 2  # 930 commands under way
    assert knee.start(H, 0.0) == 0
    knee.number(knee.paths.index("drive.delay"), 1.0)
    assert knee.other(H) == 2


def test_without_a_compiler_it_is_written_and_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    made = export(SERVO, "c", joint="knee")
    text = "Not run: there is no C compiler (cc, gcc, clang); install one, for example with: apt install gcc."
    assert made.ran == text
    assert text in made.text
    with pytest.raises(NotAvailable, match="there is no C compiler"):
        replay(made)


def test_its_header_says_what_was_run_and_both_files_have_it():
    made = export(SERVO, "c", joint="knee", notes="measured on a bench")
    assert made.replayed is not None
    assert made.replayed.worst < 2e-3  # of its time step
    for text in made.files.values():
        assert made.ran in text
        assert "From: measured on a bench" in text
        assert "Nothing was dropped or approximated." in text


def test_steps_that_are_too_long_are_a_finding():
    """A current loop of 6283 rad/s at 2 ms: the file takes such steps as they are."""
    made = export(be.Actuator.read("cybergear"), "c")
    (found,) = (f for f in made.findings if f.code == "step_too_long")
    assert found.text.startswith("Steps of 2 ms are too long for this actuator: ")
    short = export(be.Actuator.read("cybergear"), "c", timestep=1e-4)
    assert "step_too_long" not in [f.code for f in short.findings]
    assert short.replayed.rms < 0.01 * np.ptp(short.replayed.cases[0].native)


def test_a_file_changed_by_hand_is_replayed_and_a_broken_one_refused(tmp_path):
    from backemf.targets.replay import read_export

    export(SERVO, "c@float", joint="knee", replay=False).write(tmp_path / "motor.c")
    text = (tmp_path / "motor.c").read_text()
    assert '#include "motor.h"' in text
    plain = replay(read_export(str(tmp_path / "motor.c"), SERVO))
    (tmp_path / "motor.c").write_text(text.replace("    4.0, /* motor.resistance", "    8.0, /* motor.r"))
    other = replay(read_export(str(tmp_path / "motor.c"), SERVO))
    assert other.rms > 10 * plain.rms
    (tmp_path / "motor.c").write_text(text.replace("a->effort", "a->nothing"))
    with pytest.raises(InvalidValue, match=r"motor\.c, driver\.c does not compile: motor\.c:.*nothing"):
        replay(read_export(str(tmp_path / "motor.c"), SERVO))
    (tmp_path / "motor.h").unlink()
    with pytest.raises(BackemfError, match=r"motor\.c needs its header motor\.h beside it"):
        read_export(str(tmp_path / "motor.c"), SERVO)


def test_recordings_with_settings_of_their_own_are_replayed():
    servo = dataclasses.replace(SERVO, drive=be.drive.Position(**GAINS))
    t = 0.01 * np.arange(101)
    target = np.where(t < 0.1, 0.0, 0.4)
    low = servo.replace(**{"drive.volts_per_radian": 20.0})
    bench = be.bench.Flywheel(inertia=0.004)
    q = be.simulate(low, bench, {"position_target": target}, time=t).position
    own = {"drive.volts_per_radian": 20.0}
    one = log("soft", t, bench=bench, settings=own, position=q, position_target=target)
    for to in ("c", "c@float"):
        found = replay(export(servo, to, replay=False), one)
        assert found.cases[0].target_log < 2e-4


def test_the_pages_example_compiles_and_prints_where_the_joint_is(tmp_path):
    page = (ROOT / "docs" / "targets" / "c.md").read_text(encoding="utf-8")
    (tmp_path / "main.c").write_text(page.partition("```c\n")[2].partition("```")[0])
    servo = be.Actuator.read("mx-106/m6").replace(**{"drive.delay": 0.005})
    export(servo, "c", joint="knee", timestep=0.001, replay=False).write(tmp_path)
    command = ["gcc", *STRICT, "main.c", "knee.c", "-o", "example", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = subprocess.run([str(tmp_path / "example")], capture_output=True, text=True, check=True).stdout
    inputs = {"position_target": 0.4, "inertia": 0.02, "load": 0.0}
    ours = be.simulate(servo, be.bench.Recorded(), inputs, time=1e-3 * np.arange(501))
    assert float(said.split()[0]) == pytest.approx(ours.position[-1], abs=0.006)  # printed to 0.01


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("knee", "knee"),
        ("left/knee 2", "left_knee_2"),
        ("2nd", "joint_2nd"),
        ("größe", "gr__e"),
        ("-", "joint"),
    ],
)
def test_names(given, name):
    assert identifier(given) == name


def test_numbers_and_texts_keep_every_digit_and_end_nothing():
    assert literal(0.1) == "0.1"
    assert literal(1 / 3, "float") == "0.3333333333333333f"
    assert literal(float("-inf")) == "-INFINITY"
    assert array([1.0, 2.5], remarks=["a */ b", ""]) == "    1.0, /* a * / b */\n    2.5,"
    assert comment(["one */", "/* two"]) == "/* one * /\n   / * two */\n"
    assert quote('a "b" \\') == '"a \\"b\\" \\\\"'
