"""What Windows and macOS do otherwise, as far as it can be run here: processes that are spawned, modules that
are POSIX's alone, encodings that are nobody's default."""

from __future__ import annotations

import ast
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import backemf as be

SOURCES = sorted((Path(be.__file__).parent).rglob("*.py"))
POSIX = ("fcntl", "grp", "posix", "pwd", "resource", "termios", "tty", "pty", "syslog")
OTHERS = (
    "numpy",
    "scipy.signal",
    "jax",
    "numba",
    "matplotlib.pyplot",
    "mujoco",
    "pint",
    "typer",
    "rich.progress",
)
TEXT = {"open", "read_text", "write_text"}


def swing(k: int) -> float:
    """Where a servo is after a moment: compiled in a process of its own, with the others at the same time."""
    servo = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
        friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
        drive=be.drive.Position(volts_per_radian=30.0, supply=12.0),
    )
    run = be.simulate(servo, be.bench.Pendulum(mass=0.3, length=0.1), be.signal.step(0.5), duration=0.2)
    return float(run.position[-1])


@pytest.mark.slow
def test_spawned_processes_share_a_new_cache(tmp_path, monkeypatch):
    """As on Windows and macOS: nothing is inherited, two processes fill the same empty cache at once."""
    monkeypatch.setenv("BACKEMF_CACHE", str(tmp_path / "new cache"))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(swing, range(2))
    np.testing.assert_array_equal(found, [swing(0)] * 2)


def test_nothing_needs_a_module_of_posix():
    """Every module is imported, and a servo described, where those are absent as on Windows."""
    code = f"""
import importlib, os, pkgutil, sys
for name in {OTHERS!r}:  # what others do here for themselves is theirs
    try:
        importlib.import_module(name)
    except ImportError:
        pass
for name in {POSIX!r}:
    if name != "posix":  # Python itself is built on it here
        sys.modules[name] = None
for name in ("register_at_fork", "fork", "getuid", "geteuid", "uname"):
    if hasattr(os, name):
        delattr(os, name)
import backemf
for one in pkgutil.walk_packages(backemf.__path__, "backemf."):
    importlib.import_module(one.name)
print(backemf.Datasheet.read("sg90").name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "SG90" in done.stdout


def text_calls(path: Path) -> list[str]:
    """Texts opened, read or written without saying their encoding, which on Windows is another."""
    found = []
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        mode = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        binary = any(set(m) <= set("rwxab+") and "b" in m for m in mode)
        said = any(k.arg == "encoding" for k in call.keywords)
        own = isinstance(call.func, ast.Name) or isinstance(getattr(call.func, "value", None), ast.Name)
        if name in TEXT and not binary and not said and own and name != "open":
            found.append(f"{path.name}:{call.lineno} {name}")
        if name == "open" and isinstance(call.func, ast.Name) and not binary and not said:
            found.append(f"{path.name}:{call.lineno} open")
    return found


def test_every_text_says_its_encoding():
    assert [line for path in SOURCES for line in text_calls(path)] == []


def test_a_text_without_encoding_would_be_found(tmp_path):
    (tmp_path / "a.py").write_text("open('x')\nopen('x', 'rb')\np.read_text()\n", encoding="utf-8")
    assert text_calls(tmp_path / "a.py") == ["a.py:1 open", "a.py:3 read_text"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_a_table_as_a_windows_program_saves_it(encoding, tmp_path):
    """Carriage returns, decimal commas, semicolons, a byte order mark."""
    rows = "".join(f"{0.01 * k:.2f};{k * 1.5:.1f}\r\n".replace(".", ",") for k in range(20))
    (tmp_path / "größe.csv").write_bytes(f"Zeit [s];position [°]\r\n{rows}".encode(encoding))
    (log,) = be.read(tmp_path / "größe.csv", map=["time=Zeit[s]", "position=position[deg]"])
    assert log["position"][-1] == pytest.approx(np.radians(28.5))
    assert log.name == "größe"


def test_a_name_that_windows_keeps_for_itself_is_only_a_name(tmp_path):
    place = tmp_path / "con" / "aux.json"
    os.makedirs(place.parent)
    swing_servo = be.Actuator.read("mx-106/m1")
    swing_servo.write(place)
    assert be.Actuator.read(place) == swing_servo
