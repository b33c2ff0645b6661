"""The file for Warp in the simulators it is for, each in an environment of its own, on their CPU devices:
what a pendulum must do with it as its actuator (tests/targets/training/proofs.py), and the table in the docs.

python scripts/hosts.py                     all three, some minutes
python scripts/hosts.py --only newton       one of them; the docs stay as they are
python scripts/hosts.py --only usd          layers of USD in Newton
python scripts/hosts.py --only jax c        tests of files for JAX, MJX and C, and their rows of docs/live.md
python scripts/hosts.py --only live         every way beside the other: the table of docs/live.md
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from conformance import ROOT
from docs_tables import fill, fill_numbers, markdown
from replays import MJLAB, borrowing, numpy_like_ours, printed

USD = (
    "1.7.0",
    ("newton==1.7.0", "mujoco~=3.15.0", "mujoco-warp~=3.15.0", "newton-usd-schemas", "usd-core<26.9"),
)
"""Newton with its importers and the MuJoCo that it asks for, which reads layers of USD."""
HOSTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mjlab": (MJLAB, ("torch==2.13.0", f"mjlab=={MJLAB}")),
    "newton": ("1.7.0", ("newton==1.7.0",)),
    "mujoco-warp": ("4.0.0", ("mujoco==4.0.0", "mujoco-warp==4.0.0")),
}
"""They exclude one another: each asks for a MuJoCo of its own."""
LANGUAGES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "jax": ("0.10.2", ("jax==0.10.2", "mujoco==4.0.0", "mujoco-mjx==3.17.0"),
            "tests/targets/training/test_jax.py"),
    "c": ("cc", (), "tests/targets/code/test_c.py"),
}  # fmt: skip
"""Hosts of code: version, packages of an environment without the simulators, and the tests that run there."""


def environment(name: str, build: Path) -> Path:
    """A Python with that simulator; made once, then kept."""
    version, packages, *_ = USD if name == "usd" else {**HOSTS, **LANGUAGES}[name]
    home = build / f"{name}-{version}"
    name = "newton" if name == "usd" else name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = f"import importlib.metadata as m; raise SystemExit(m.version({name!r}) != {version!r})"
    asked = asked if packages else "import numpy"
    if not python.exists() or subprocess.run([python, "-c", asked], check=False).returncode:
        print(f"making an environment with {name} {version}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for package in packages:
            subprocess.run([*pip, package], check=True)
    numpy_like_ours(python)
    return borrowing(python)


def proven(names: list[str], build: Path) -> tuple[list[list[str]], list[str]]:
    """(rows of the table, what does not hold): a row for each proof, a column for each simulator."""
    found = {n: printed(environment(n, build), "tests.targets.training.proofs", build, n) for n in names}
    wrong = [
        f"warp@{name}: {one['what']} is {one['value']:.3g}, expected {one['least']:g} to {one['most']:g}"
        for name, result in found.items()
        for one in result["proofs"]
        if not one["holds"]
    ]
    rows = []
    for same in zip(*(result["proofs"] for result in found.values()), strict=True):
        bound = f"{same[0]['least']:g} to {same[0]['most']:g}"
        rows.append([same[0]["what"], bound, *(f"{one['value']:.2g}" for one in same)])
    return [["", "must be", *(result["versions"] for result in found.values())], *rows], wrong


def layers(build: Path) -> list[str]:
    """What does not hold of the layers in Newton; the table goes into the docs."""
    found = printed(environment("usd", build), "tests.targets.training.usd_run", build)
    head = [
        "part",
        "against the Python file, at most",
        "against the actuator carried, RMS",
        "plain drive as read",
    ]
    rows = [[one["part"], one["python"], one["native"], one["plain"]] for one in found["parts"]]
    text = f"{found['simulator']}\n\n{markdown(head, rows)}"
    print(text)
    fill(ROOT / "docs" / "targets" / "usd.md", "layers", text)
    return [f"usd: {one['part']}: {word}" for one in found["parts"] for word in one["wrong"]]


def language(name: str, build: Path) -> list[str]:
    """What does not hold of the tests of a host of code, run by its own environment."""
    python = environment(name, build)
    wanted = ("backemf.targets.code.c_language", "compiler") if name == "c" else ("jax", "__version__")
    shown = f"import {wanted[0]} as m; x = m.{wanted[1]}; print(x() if callable(x) else x)"
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    how: dict[str, Any] = {"cwd": ROOT, "env": path, "stdout": subprocess.PIPE, "text": True, "check": False}
    version = subprocess.run([python, "-c", shown], **how).stdout.strip()
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not proof and not slow"]
    done = subprocess.run([python, *words, LANGUAGES[name][2]], **how)
    last = (done.stdout.strip().splitlines() or ["no answer"])[-1]
    print(f"{name} {version}: {last}", flush=True)
    return [f"{name}: {last}"] if done.returncode else []


EXACT = "0"
"""Of hosts that take the engine's own step: its friction holds what it can hold."""
WAYS = (
    ("MuJoCo, and the file must stand alone", "[`--to mujoco`](targets/mujoco.md)", "mujoco", "", "no",
     "none: MuJoCo's own step", "MuJoCo"),
    ("MuJoCo from Python, `mujoco.rollout`, viewers",
     "[`be.attach`, `--to mujoco-live`](targets/mujoco-live.md)", "mujoco-live", EXACT, "no",
     "0.93 of the whole step that the file's own drives take (SO-101, six joints); twelve motors add 4 us,"
     " each more substep 0.2 us", "backemf, MuJoCo 3.11 to 4.0"),
    ("MuJoCo from any language, its stock viewer", "[`--to mujoco-plugin`](targets/mujoco-plugin.md)",
     "mujoco-plugin", EXACT, "no", "about 1.2 us a joint more than `be.attach`", "MuJoCo, a C compiler once"),
    ("MuJoCo Warp, mjlab, Newton, on a GPU", "[`--to warp`](targets/warp.md)", "warp", EXACT, "no",
     "one kernel for all environments: 3.9 us a step of 4096 x 12 joints in a CUDA graph on an H200", "Warp"),
    ("your own torch code, Isaac Lab, mjlab, gradients", "[`--to torch`](targets/torch.md)", "torch", EXACT,
     "yes", "the same 1.9 ms eagerly, 0.20 to 0.24 ms with `compiled=True`", "torch"),
    ("MJX, Playground, gradients in JAX", "[`--to jax`, `jax@mjx`](targets/jax.md)", "jax", EXACT,
     "yes, exact in every number", "<!--n:jax.step_us-->-<!--/n--> us a step of 4096 joints on one core; a"
     " value and its gradient <!--n:jax.gradient_rollouts-->-<!--/n--> rollouts; on an H200"
     " <!--n:jax.gpu_step_us-->-<!--/n--> us for 4096 x 12, <!--n:jax.gpu_gradient_rollouts-->-<!--/n-->"
     " rollouts; memory in `data.userdata`",
     "jax"),
    ("Newton from USD or Python, Isaac's hosts",
     "[`--to usd`](targets/usd.md), [`--to newton`](targets/newton.md)", "newton", "at most 3e-5", "no",
     "none: Newton's own drive", "Newton 1.7"),
    ("firmware, C or C++", "[`--to c`](targets/c.md)", "c", EXACT, "no", "one function call, no allocation",
     "a C99 compiler"),
    ("Simulink, Dymola, OpenModelica", "[`--to fmu`](targets/fmu.md)", "fmu", EXACT, "no", "the C file's",
     "a tool that reads FMI 2.0 or 3.0"),
)  # fmt: skip
"""What one simulates with, what to take there, its target, creep, gradients, cost, and what it needs."""


def shell(words: list[str], folder: Path, python: Path | str = sys.executable) -> dict:
    """What a command of ours answers with `--json`, run by an interpreter; empty where it refuses."""
    call = "import sys; from backemf.apps.cli.main import main; sys.exit(main())"
    command = [str(python), "-c", call, *words, "--json"]
    path = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=path, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def ways(build: Path, only: tuple[str, ...] = ()) -> None:
    """Every way off by the demonstration's held-out recordings, and how still it holds; into docs/live.md,
    unless `only` some are asked for. Hosts of code are run by their own environment."""
    out = build / "demo"
    if not (out / "fit.json").is_file():
        shell(["demo", "-o", str(out)], build)
    held = [str(out / "logs" / f"m0.9_l0.{name}.json") for name in ("15_kp16_2", "1_kp16_6")]
    seen = sorted(
        {*map(str, (out / "logs").iterdir())} - {*held, str(out / "logs" / "m0.6_l0.1_kp16_5.json")}
    )
    off, own, rows = str(out / "logs" / "m0.6_l0.1_kp16_5.json"), {}, []
    for simulated, take, target, creep, *others in WAYS:
        if only and target not in only:
            continue
        python, errors = environment(target, build) if target in LANGUAGES else sys.executable, []
        for logs in (held, [off]):
            words = [str(out / "fit.json"), *logs, "--to", target, "--set", "drive.proportional=16"]
            if target == "mujoco":  # as the demonstration does: its numbers are chosen on the logs of the fit
                words += [word for log in seen for word in ("--log", log)]
            cases = shell(["replay", *words], build, python).get("replay", {}).get("cases", ())
            errors.append(", ".join(f"{1e3 * case['target_log']:.3g}" for case in cases) or "no switch")
            own |= {case["name"]: f"{1e3 * case['native_log']:.3g}" for case in cases}
        print(target, *errors, flush=True)
        rows.append([simulated, take, *errors, creep or file_creep(out, build), *others])
    if only:
        return
    last = [f"{own[Path(held[0]).stem]}, {own[Path(held[1]).stem]}", own.get(Path(off).stem, "-")]
    last = ["Python, and nothing else", "[`be.simulate`](simulate.md), [a stepper](engines.md)", *last]
    rows.append([*last, EXACT, "no", "[engines](engines.md)", "backemf"])
    head = ["you simulate with", "take", "off by, two held-out logs [mrad]", "with the drive off"]
    head += ["creep [rad a minute]", "gradients", "cost of the actuator", "needs there"]
    known = json.loads((ROOT / "docs" / "numbers.json").read_text(encoding="utf-8"))
    fill(ROOT / "docs" / "live.md", "ways", fill_numbers(markdown(head, rows), "live.md", known))


def file_creep(out: Path, build: Path) -> str:
    """What the header of the demonstration's file says, and of one that friction of the solver holds."""
    words = ["export", str(out / "fit.json"), "--to", "mujoco", "--no-replay", "--at-rest", "frictionloss"]
    texts = [(out / "servo.xml").read_text(encoding="utf-8"), *shell(words, build).get("files", {}).values()]
    said = [f"{float(x):.1g}" for text in texts for x in re.findall(r"Creep: (\S+) rad", text)]
    return f"{said[0]}; {said[1]} as `frictionloss`"


PARTS = [*HOSTS, *LANGUAGES, "usd", "live"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    build = ROOT / "build" / "conformance"
    parser.add_argument("build", type=Path, nargs="?", default=build, help="folder for the environments")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    return report(asked.only, asked.build.resolve())


def report(names: list[str], build: Path) -> int:
    """Print the table, fill it into the docs where it is whole, and say what does not hold."""
    build.mkdir(parents=True, exist_ok=True)
    wrong = layers(build) if "usd" in names else []
    code = tuple(name for name in names if name in LANGUAGES)
    for name in code:
        wrong += language(name, build)
    if code or "live" in names:
        ways(build, () if "live" in names else code)
    names = [name for name in names if name in HOSTS]
    if names:
        (head, *rows), more = proven(names, build)
        wrong += more
        print(markdown(head, rows))
        if names == list(HOSTS):
            fill(ROOT / "docs" / "targets" / "warp.md", "hosts", markdown(head, rows))
    for text in wrong:
        print(f"does not hold: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
