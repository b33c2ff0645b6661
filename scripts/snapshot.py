"""What the tool answers, as one JSON file: simulations, exports, sheets, checks, fits and gains, to compare
before and after a change.

    python scripts/snapshot.py before.json
    python scripts/snapshot.py after.json --against before.json

Without the folder of shared recordings the cases that need it are left out, and named.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import backemf as be
from backemf.datasheets import parts

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
VOLATILE = ("cpu_s", "seconds", "version", "source")
TOLERANCE = 1e-9


def names() -> list[str]:
    """Every part of the catalogue, then every identified set."""
    sheets = parts.names()
    return [*sheets, *(f"{name}/{which}" for name in sheets for which in parts.sheet(name).identified)]


def command(*line: str) -> Any:
    """What a command prints with --json, or the line with which it refuses."""
    from backemf.apps.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ["backemf", *line, "--json"]
        code = None
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    if not out.getvalue().strip():
        return {"exit": code, "said": err.getvalue()}
    return json.loads(out.getvalue())


def simulated(name: str) -> dict[str, Any]:
    actuator = be.Actuator.read(name)
    stall = (
        abs(actuator.gearbox.output_torque(actuator.motor.torque_constant)) * 1.0 / actuator.motor.resistance
    )
    bench = be.bench.Pendulum(mass=0.2 * stall / 9.81 / 0.1, length=0.1)
    command = (
        be.signal.square(0.5, 1.0) if actuator.drive.error_of == "position" else be.signal.sine(2.0, 0.7)
    )
    run = be.simulate(actuator, bench, command, duration=1.5, dt=0.005, energy=True, substeps=8)
    return {
        **{k: run[k][::30].tolist() for k in run.signals},
        **{f"energy {k}": float(v[-1]) for k, v in run.energy.items()},
    }


def exported(name: str, target: str, method: str) -> Any:
    try:
        made = be.export(be.Actuator.read(name), target, method=method)
    except be.BackemfError as error:
        return str(error)
    text = "\n".join(made.files.values())
    return {
        "text": re.sub(r"on \d{4}-\d\d-\d\d", "on DATE", text),
        "summary": str(made),
        "numbers": dict(made.numbers),
    }


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, how to get it)"""
    for name in names():
        yield f"simulate {name}", lambda name=name: simulated(name)
        for target in ("mujoco", "mujoco@3.8", "mujoco-classic", "mjlab", "isaaclab", "urdf", "bam"):
            yield (
                f"export {name} {target}",
                lambda name=name, target=target: exported(name, target, "formula"),
            )
    for name in ("mx-106/m6", "xl330-m077", "sts3032"):
        for target in ("mujoco", "mujoco-classic", "torch"):
            yield f"fitted export {name} {target}", lambda n=name, t=target: exported(n, t, "simulation")
    for name in parts.names():
        yield f"datasheet {name}", lambda name=name: command("datasheet", name)
    yield "catalog", lambda: command("catalog")
    if not SHARED.is_dir():
        print(
            "left out, for want of the shared recordings: check, fit, characterize, measure", file=sys.stderr
        )
        return
    mx = sorted(str(p) for p in (SHARED / "mx106_pendulum").glob("*.json"))
    sts = sorted(str(p) for p in (SHARED / "sts3032").glob("*sin_time_square.json"))
    yield "log mx106", lambda: command("log", *mx[:2])
    yield "check mx106", lambda: command("check", *mx[::5], "--start", "mx-106", "--friction", "m4")
    yield (
        "fit mx106 m4",
        lambda: command("fit", *mx[::5], "--start", "mx-106/m4", "--friction", "m4", "--starts", "1"),
    )
    yield "fit mx106 m6", lambda: command("fit", *mx[::3], "--start", "mx-106/m6", "--starts", "2")
    yield (
        "fit sts3032",
        lambda: command(
            "fit", *sts, "--start", "sts3032", "--friction", "m4", "--hold-out", "gain=8", "--starts", "2"
        ),
    )
    yield (
        "ladder sts3032",
        lambda: command("fit", *sts[::3], "--start", "sts3032", "--friction", "ladder", "--starts", "1"),
    )
    for method in ("simulation", "sysid", "one-step"):
        yield (
            f"characterize {method}",
            lambda method=method: command(
                "characterize", str(next((SHARED / "sysid").iterdir())), "--method", method
            ),
        )


def differences(a: Any, b: Any, where: str = "") -> Iterator[str]:
    """Every place where two answers differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            if key in VOLATILE:
                continue
            if key not in a or key not in b:
                yield f"{where}/{key}: only {'after' if key not in a else 'before'}"
            else:
                yield from differences(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"{where}: {len(a)} rows, then {len(b)}"
        for k, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from differences(x, y, f"{where}[{k}]")
    elif isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if not math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12):
            yield f"{where}: {a!r}, then {b!r}"
    elif a != b:
        if isinstance(a, str) and isinstance(b, str) and "\n" in a:
            rows = [
                f"{x!r}, then {y!r}" for x, y in zip(a.splitlines(), b.splitlines(), strict=False) if x != y
            ]
            yield f"{where}: {'; '.join(rows[:3]) or 'another number of lines'}"
        else:
            yield f"{where}: {a!r:.300}, then {b!r:.300}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name, make in cases():
        if options.only in name:
            try:
                found[name] = make()
            except Exception as error:  # a crash is an answer too
                found[name] = f"{type(error).__name__}: {error}"
    options.output.write_text(
        json.dumps(found, indent=0, default=lambda x: np.asarray(x).tolist()), encoding="utf-8"
    )
    print(f"{len(found)} answers in {options.output}")
    if options.against:
        before = json.loads(options.against.read_text(encoding="utf-8"))
        after = json.loads(options.output.read_text(encoding="utf-8"))
        before = {k: v for k, v in before.items() if options.only in k}
        rows = list(differences(before, after))
        print("\n".join(rows) or "nothing differs")
        sys.exit(bool(rows))


if __name__ == "__main__":
    main()
