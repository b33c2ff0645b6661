"""What the tool answers, as one JSON file, to compare before and after a change that should change nothing:
commands with --json, help, signatures, simulations, exports, stored files, and what generated code computes.

    python scripts/snapshot.py before.json --jobs 2
    python scripts/snapshot.py after.json --jobs 2 --against before.json

The tree that is asked is the `backemf` that Python finds (PYTHONPATH). Only its public names and its commands
are used, so that one script serves trees whose folders differ. Numbers may differ by 1e-9 of their size, what
generated code computes by 1e-15 of its largest, texts not at all; dates, versions, CPU times and places of
files are left out. Stored files of the snapshot given with --against are read back by today's code.

With --only the other answers already in the output file are kept. Without the folder of shared recordings
(../shared/data) the cases that need it are left out, and named.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import functools
import importlib
import inspect
import io
import json
import math
import multiprocessing
import os
import re
import resource
import shlex
import sys
import tempfile
import tomllib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from snapshot_cases import (
    DESCRIPTIONS,
    EVERY_PART,
    HOSTS,
    NUMBERS,
    PENDULUM,
    REPRESENTATIVE,
    SHARED,
    VARIANTS,
    WRAPPED,
    recorded_lines,
    shared_files,
)

import backemf as be

Case = Callable[[], Any]
VOLATILE = ("cpu_s",)
TOLERANCE, CODE_TOLERANCE = 1e-9, 1e-15
STORED = "stored "
"""How the names of cases begin that keep files."""

# ---- how it is answered ----------------------------------------------------------------------------------


@functools.cache
def entry() -> Callable[[], None]:
    """The function behind the command `backemf`, wherever this tree has it."""
    project = Path(be.__file__).parent.parent.parent / "pyproject.toml"
    place = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["scripts"]["backemf"]
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def said(*words: str) -> tuple[Any, str, str]:
    """Exit code, stdout and stderr of a command line."""
    out, err, code = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ["backemf", *words]
        try:
            entry()()
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


def command(line: str) -> Any:
    """What a command prints with --json and its exit code."""
    code, out, err = said(*shlex.split(line), "--json")
    try:
        return {"exit": code, **json.loads(out)}
    except ValueError:
        return {"exit": code, "out": out, "err": err}


def session(lines: Iterable[str]) -> dict[str, Any]:
    """Commands in a new folder, one after another, and the files that they leave there."""
    with working_folder() as folder:
        answers: dict[str, Any] = {f"$ {line}": command(line) for line in lines}
        answers["files"] = {name: _parsed(name, text) for name, text in stored(folder).items()}
    return answers


@contextlib.contextmanager
def working_folder() -> Iterator[Path]:
    """A new folder to work in, which is removed."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="snapshot-") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def stored(folder: Path) -> dict[str, str]:
    """Every file of a folder but code: text, or bytes in base 64."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not _is_code(p.name)):
        content, name = path.read_bytes(), str(path.relative_to(folder))
        try:
            found[name] = content.decode()
        except UnicodeDecodeError:
            found[name] = "base64:" + base64.b64encode(content).decode()
    return found


def _is_code(name: str) -> bool:
    return name.endswith((".c", ".h", ".so", "Makefile"))


def _parsed(name: str, text: str) -> Any:
    """JSON as what it says, so that numbers are compared as numbers; other text as it is."""
    return json.loads(text) if name.endswith(".json") else text


def clean(value: Any) -> Any:
    """Without dates, versions, places of files and the text of code."""
    if isinstance(value, Mapping):
        rest = {str(key): one for key, one in value.items() if key not in VOLATILE}
        return {clean(key): "code" if _is_code(key) else clean(one) for key, one in rest.items()}
    if isinstance(value, (list, tuple)):
        return [clean(one) for one in value]
    if not isinstance(value, str):
        return value
    value = value.replace(str(SHARED), "SHARED").replace(str(SHARED.resolve()), "SHARED")
    value = re.sub(rf"{re.escape(tempfile.gettempdir())}/snapshot-\w+", "HERE", value)
    value = re.sub(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d[:.\d]*(Z|\+\d\d:\d\d)?)?", "DATE", value)
    value = re.sub(r"[\d.e+-]+ s of CPU", "SOME s of CPU", value)
    return re.sub(rf"\bbackemf {re.escape(be.__version__)}", "backemf VERSION", value)


def simulated(actuator: be.Actuator) -> dict[str, Any]:
    """Signals and energies of one motion on a pendulum that the stall torque of 1 V lifts five times."""
    stall = abs(actuator.gearbox.output_torque(actuator.motor.torque_constant)) / actuator.motor.resistance
    bench = be.bench.Pendulum(mass=0.2 * stall / 9.81 / 0.1, length=0.1)
    square, sine = be.signal.square(0.5, 1.0), be.signal.sine(2.0, 0.7)
    asked = square if actuator.drive.error_of == "position" else sine if actuator.drive.targets else None
    start: dict[str, Any] = {} if asked else {"start": {"position": 0.5, "velocity": 1.0}}
    run = be.simulate(actuator, bench, asked, duration=1.5, dt=0.005, energy=True, substeps=8, **start)
    return {
        **{k: run[k][::30].tolist() for k in run.signals},
        **{f"energy {k}": float(v[-1]) for k, v in run.energy.items()},
    }


def exported(actuator: be.Actuator, target: str, method: str = "formula") -> Any:
    """The text of an export, what it says of itself, and its numbers."""
    try:
        made = be.export(actuator, target, method=method)
    except be.BackemfError as error:
        return str(error)
    code = target in HOSTS + WRAPPED
    return {
        "files": [*made.files] if code else dict(made.files),
        "summary": str(made),
        "numbers": dict(made.numbers),
        "carried": str(made.carried),
    }


def hosted(actuator: be.Actuator, target: str) -> Any:
    """What generated code computes: its positions over the reference motions, in its own host."""
    try:
        run = be.replay(be.export(actuator, target, replay=False), refine=False)
    except be.BackemfError as error:
        return str(error)
    return {"code": {case.name: case.target.tolist()[::4] for case in run.cases}}


def helps() -> dict[str, str]:
    """The help of every command, found by the lists of commands in it."""
    found, waiting = {}, [""]
    while waiting:
        name = waiting.pop()
        text = said(*name.split(), "--help")[1]
        found[name or "backemf"] = text
        listed = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
        waiting += [f"{name} {word}".strip() for word in re.findall(r"^  ([a-z][a-z-]*)", listed, re.M)]
    return found


def signatures() -> dict[str, str]:
    """Of every public function and class, of the methods of classes, and of what its namespaces hold."""
    found = {"backemf": ", ".join(be.__all__)}
    for name in be.__all__:
        value = getattr(be, name)
        if isinstance(value, types.ModuleType):
            own = {k: v for k, v in vars(value).items() if not k.startswith("_") and callable(v)}
            own = {k: v for k, v in own.items() if _public_in(value, v)}
            found |= {f"{name}.{k}": _signature(v) for k, v in own.items()}
        elif not isinstance(value, str):
            found[name] = _signature(value)
            own = {k: getattr(value, k) for k in dir(value) if not k.startswith("_")}
            found |= {f"{name}.{k}": _signature(v) for k, v in own.items()}
    return found


def _public_in(module: types.ModuleType, value: Any) -> bool:
    """Whether it is the namespace's own: defined there or in its folder, or a part that it passes on."""
    place = str(getattr(value, "__module__", ""))
    passed_on = isinstance(value, type) and "Part" in [base.__name__ for base in value.__mro__[1:]]
    return place.startswith(module.__name__) or passed_on


def _signature(value: Any) -> str:
    """With the word for what has none; without addresses."""
    try:
        return re.sub(r" at 0x[0-9a-f]+|backemf(\.\w+)*\.", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return type(value).__name__


# ---- stored files ----------------------------------------------------------------------------------------


def kept(noun: str) -> dict[str, Any]:
    """One stored noun: the files, and what today's code reads from them."""
    with working_folder() as folder:
        NOUNS[noun][0]()
        files = stored(folder)
    return {"stored": files, "read": restored(noun, files)}


def restored(noun: str, files: Mapping[str, str]) -> Any:
    """What today's code reads from the files of a stored noun."""
    with working_folder() as folder:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            coded = text.startswith("base64:")
            path.write_bytes(base64.b64decode(text[7:]) if coded else text.encode())
        return clean(NOUNS[noun][1]())


def _again(noun: str) -> Any:
    """A noun read and written again, as what the file says."""
    getattr(be, noun).read("one.json").write("again.json")
    return json.loads(Path("again.json").read_text(encoding="utf-8"))


def _write_fit() -> None:
    logs = " ".join(shared_files("mx106_pendulum/*.json")[::5])
    command(f"fit {logs} --start mx-106/m4 --friction m4 --starts 1 -o one.json")


def _write_robot_fit() -> None:
    here = SHARED / "z1"
    logs = be.read(str(here / "z1.csv"), bench=be.Robot.read(here / "z1.xml"))
    fit = be.fit("torque", logs, gains=here / "gains.json", hold_out="last 40 %", friction="coulomb")
    fit.write("one.json")


def _write_line() -> None:
    command("fleet simulate --units 3 -o line")


def _write_fleet() -> None:
    _write_line()
    command("fleet run line/logs --start line/start.json --starts 1 --on here -j 1 -o fleet")
    for path in sorted(Path("line").rglob("*.json")):
        path.unlink()


def _write_population() -> None:
    _write_fleet()
    command("fleet population fleet -o one.json --sheet sheet.toml")
    for path in sorted(Path("fleet").iterdir()):
        path.unlink()


def _write_log() -> None:
    _write_line()
    Path("line/logs/unit-00001/rig1.json").rename("one.json")
    for path in sorted(Path("line").rglob("*.json")):
        path.unlink()


def _read_log() -> Any:
    (log,) = be.read("one.json")
    signals = {name: [s.time[::20].tolist(), s.values[::20].tolist()] for name, s in log.signals.items()}
    return {"signals": signals, "log": command("log one.json")}


def _read_population() -> Any:
    made = be.Population.read("one.json")
    spread = made.spread
    spread = spread() if callable(spread) else spread
    return {
        "again": _again("Population"),
        "spread": spread.to_dict(),
        "sheet": command("datasheet sheet.toml"),
        "export": command("export one.json --to urdf --method formula -o one.urdf"),
    }


NOUNS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "Actuator": (lambda: VARIANTS["rich"].write("one.json"), lambda: _again("Actuator")),
    "Actuator limited": (lambda: VARIANTS["limited"].write("one.json"), lambda: _again("Actuator")),
    "Actuator part": (lambda: be.Actuator.read("ak60-39").write("one.json"), lambda: _again("Actuator")),
    "Motions": (
        lambda: command(f"plan sts3215-12v {PENDULUM} --seconds 4 -o one.json"),
        lambda: _again("Motions"),
    ),
    "Fit": (_write_fit, lambda: {"again": _again("Fit"), "said": str(be.Fit.read("one.json"))}),
    "Fit robot": (_write_robot_fit, lambda: {"again": _again("Fit"), "said": str(be.Fit.read("one.json"))}),
    "Characterization": (
        lambda: be.characterize(be.read(shared_files("sysid/*.json")[0]), method="sysid").write("one.json"),
        lambda: {"again": _again("Characterization"), "said": str(be.Characterization.read("one.json"))},
    ),
    "Log": (_write_log, _read_log),
    "Fleet": (_write_fleet, lambda: [command("fleet status fleet"), command("fleet population fleet")]),
    "Population": (_write_population, _read_population),
}
"""How a file of each noun comes to be in a folder, and how it is read there."""
NEED_RECORDINGS = ("Fit", "Fit robot", "Characterization")


# ---- cases -----------------------------------------------------------------------------------------------


@functools.cache
def cases() -> dict[str, Case]:
    """How to get each answer, by name."""
    parts = command("catalog")["parts"]
    sheets = [part["name"] for part in parts]
    names = [*sheets, *(f"{part['name']}/{k}" for part in parts for k in part["identified"])]
    found: dict[str, Case] = {"catalog": lambda: command("catalog"), "help": helps, "signatures": signatures}
    for name in names:
        found[f"simulate {name}"] = lambda name=name: simulated(be.Actuator.read(name))
        for to in EVERY_PART:
            found[f"export {name} {to}"] = lambda name=name, to=to: exported(be.Actuator.read(name), to)
    for name in ("mx-106/m6", "xl330-m077", "sts3032"):
        for to in ("mujoco", "mujoco-classic", "isaaclab", "urdf", "drake", "newton"):
            found[f"fitted export {name} {to}"] = lambda name=name, to=to: exported(
                be.Actuator.read(name), to, "simulation"
            )
    found |= {f"datasheet {name}": functools.partial(command, f"datasheet {name}") for name in sheets}
    for verb, lines in NUMBERS.items():
        found |= {f"{verb} {line}": functools.partial(session, [f"{verb} {line}"]) for line in lines}
    found |= _of_actuators()
    recorded = [f"{STORED}{noun}" for noun in NEED_RECORDINGS]
    found |= {f"{STORED}{noun}": functools.partial(kept, noun) for noun in NOUNS}
    if SHARED.is_dir():
        return found | {name: functools.partial(session, lines) for name, lines in recorded_lines().items()}
    print(f"left out, for want of {SHARED}: {', '.join(recorded)}, fits, checks, robots", file=sys.stderr)
    return {name: case for name, case in found.items() if name not in recorded}


def _of_actuators() -> dict[str, Case]:
    """Simulations of every variant; every target for some of them and for some parts."""
    found: dict[str, Case] = {}
    for name, one in VARIANTS.items():
        found[f"simulate variant {name}"] = functools.partial(simulated, one)
        for to in ("mujoco", "mujoco-classic", "isaaclab", "urdf"):
            found[f"export variant {name} {to}"] = functools.partial(exported, one, to)
    some = {f"variant {name}": VARIANTS[name] for name in ("rich", "limited", "linear", "drive velocity")}
    some |= {name: be.Actuator.read(name) for name in REPRESENTATIVE}
    for name, one in some.items():
        for to in DESCRIPTIONS + HOSTS + WRAPPED:
            found[f"export {name} {to}"] = functools.partial(exported, one, to)
    for name in ("mx-106/m6", "ak60-39", "variant rich", "variant limited"):
        for to in HOSTS:
            found[f"run {name} {to}"] = functools.partial(hosted, some[name], to)
    return found


def answer(name: str) -> tuple[str, Any, float]:
    """A case's name, its answer as JSON has it, and its CPU time [s]."""
    os.environ["COLUMNS"] = "100"
    begin = _cpu()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = cases()[name]()
    except Exception as error:  # a crash is an answer too
        found = f"{type(error).__name__}: {error}"
    found = json.loads(json.dumps(found, default=lambda x: np.asarray(x).tolist()))
    return name, found if name.startswith(STORED) else clean(found), _cpu() - begin


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def answers(names: list[str], jobs: int) -> Iterator[tuple[str, Any, float]]:
    """Every case, in as many processes."""
    if jobs == 1:
        yield from map(answer, names)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(answer, names, chunksize=4)


# ---- comparison ------------------------------------------------------------------------------------------


def differences(a: Any, b: Any, where: str = "", scale: float | None = None) -> Iterator[str]:
    """Every place where two answers differ; below "code", numbers by their list's largest."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            if key not in a or key not in b:
                yield f"{where}/{key}: only {'after' if key not in a else 'before'}"
            else:
                yield from differences(a[key], b[key], f"{where}/{key}", 0.0 if key == "code" else scale)
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"{where}: {len(a)} rows, then {len(b)}"
        largest = scale if scale is None else max((abs(x) for x in a if isinstance(x, float)), default=scale)
        for k, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from differences(x, y, f"{where}[{k}]", largest)
    elif _number(a) and _number(b):
        if scale is None:
            equal = math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12)
        else:
            equal = abs(a - b) <= CODE_TOLERANCE * scale
        if not equal and not (math.isnan(a) and math.isnan(b)):
            yield f"{where}: {a!r}, then {b!r}"
    elif a != b:
        yield f"{where}: {_texts(a, b)}"


def _number(x: Any) -> TypeGuard[float]:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def _texts(a: Any, b: Any) -> str:
    """Where two texts differ, the first lines of it."""
    if not (isinstance(a, str) and isinstance(b, str) and "\n" in a):
        return f"{a!r:.300}, then {b!r:.300}"
    rows = [
        f"line {k}: {x!r:.200}, then {y!r:.200}"
        for k, (x, y) in enumerate(zip(a.splitlines(), b.splitlines(), strict=False), 1)
        if x != y
    ]
    return "; ".join(rows[:3]) or f"{len(a.splitlines())} lines, then {len(b.splitlines())}"


def compared(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Where the answers differ, and where today's code reads old files otherwise."""
    rows = []
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in before or name not in after:
            rows.append(f"{name}: only {'after' if name not in before else 'before'}")
            continue
        old, new = before[name], after[name]
        if name.startswith(STORED) and isinstance(old, dict) and isinstance(new, dict):
            read = _read_back(name, old["stored"])
            rows += [f"{name}, its old file: {row}" for row in differences(old["read"], read)]
            old, new = old["read"], new["read"]  # their bytes have dates and CPU times
        rows += [f"{name}: {row}" for row in differences(old, new)]
    return rows


def _read_back(name: str, files: Mapping[str, str]) -> Any:
    try:
        return json.loads(json.dumps(restored(name.removeprefix(STORED), files)))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="the file to write")
    parser.add_argument("--against", type=Path, help="an earlier one to compare with")
    parser.add_argument("--only", default="", help="cases whose name this regular expression finds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--slowest", type=int, default=0, help="show so many cases with their CPU times")
    options = parser.parse_args()
    os.environ["COLUMNS"] = "100"
    wanted = [name for name in cases() if re.search(options.only, name)]
    found, spent = {}, {}
    for name, value, seconds in answers(wanted, options.jobs):
        found[name], spent[name] = value, seconds
    old = json.loads(options.output.read_text("utf-8")) if options.only and options.output.exists() else {}
    options.output.write_text(json.dumps({**old, **found}, indent=0), encoding="utf-8")
    print(f"{len(found)} answers in {options.output}, {sum(spent.values()):.0f} s of CPU, {be.__file__}")
    for name in sorted(spent, key=lambda name: -spent[name])[: options.slowest]:
        print(f"{spent[name]:8.1f} s  {name}")
    if options.against:
        before = json.loads(options.against.read_text(encoding="utf-8"))
        before = {name: value for name, value in before.items() if re.search(options.only, name)}
        rows = compared(before, json.loads(json.dumps(found)))
        print("\n".join(rows) or "nothing differs")
        sys.exit(bool(rows))


if __name__ == "__main__":
    main()
