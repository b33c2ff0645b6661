"""Every Python we promise, each in an environment of its own, one of them with the newest JAX: a fixed small
part of the tests.

python scripts/pythons.py                 every Python that is found; five to ten minutes each
python scripts/pythons.py --only 3.13     one of them
python scripts/pythons.py --quick         only what is loaded when, and the laws of the model; a minute each
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from docs_tables import markdown

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The last is no promise yet: not every dependency says that it runs there, and no result is known."""
NEWEST_JAX = "3.13"
"""The Python that takes the newest JAX; JAX drops old Pythons first, so it is the newest one."""
OF_JAX = ("jax", "jaxlib", "ml_dtypes", "opt_einsum")
"""What moves with JAX, and is not pinned there."""
TESTS = ("tests/model", "tests/engine", "tests/test_layers.py")
"""The physics, what compiles it, and what is loaded when: where a new Python or JAX would show first."""
QUICK = ("tests/model/test_laws.py", "tests/engine/test_simulate.py", "tests/test_layers.py")
SHOWN = ("jax", "numba", "numpy")
HEADER = ("Python", *SHOWN, "pinned", "result")


class Outcome(NamedTuple):
    """What one Python came to."""

    row: tuple[str, ...]
    good: bool


def candidates(version: str) -> Iterator[Path]:
    """Where a Python of that version may be: this one, on the path, pyenv's."""
    yield Path(sys.executable)
    for name in (f"python{version}", f"python{version}.exe"):
        found = shutil.which(name)
        if found:
            yield Path(found)
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for folder in sorted(home.glob(f"{version}.*"), reverse=True):
        yield folder / "bin" / "python"
        yield folder / "python.exe"


def interpreter(version: str) -> Path | None:
    """One that runs, is of that version, and can make environments; a launcher may be none of that."""
    asked = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for python in candidates(version):
        if python.exists():
            done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
            if done.returncode == 0 and done.stdout.strip() == version:
                return python
    return None


def pins(newest_jax: bool) -> str:
    """The text of constraints.txt, without JAX where the newest is wanted."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    free = {name.replace("_", "-") for name in OF_JAX} if newest_jax else set()
    kept = [x for x in lines if x.partition("==")[0].strip().lower().replace("_", "-") not in free]
    return "\n".join(kept) + "\n"


def install(python: Path, home: Path, newest_jax: bool) -> str:
    """Install the package with its tools; says which versions were pinned."""
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if newest_jax:
        pip += ["--upgrade", "--upgrade-strategy", "only-if-needed"]
    wanted = ["-e", f"{ROOT}[dev]", *(["jax", "jaxlib"] if newest_jax else [])]
    held = home / "constraints.txt"
    held.write_text(pins(newest_jax), encoding="utf-8")
    if subprocess.run([*pip, "-c", str(held), *wanted], check=False).returncode == 0:
        return "all but JAX" if newest_jax else "all"
    print("the pinned versions do not fit this Python; installing without them", flush=True)
    subprocess.run([*pip, *wanted], check=True)
    return "none"


def environment(base: Path, version: str, build: Path) -> tuple[Path, str]:
    """(its interpreter, which versions are pinned); made once, and renewed when what it was made of has
    changed. The newest JAX is looked for each time."""
    home, newest_jax = build / version, version == NEWEST_JAX
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made_of = hashlib.sha256(
        (ROOT / "pyproject.toml").read_bytes() + pins(newest_jax).encode() + str(base).encode()
    ).hexdigest()
    stamp = home / ".installed"
    digest, _, pinned = stamp.read_text(encoding="utf-8").partition(" ") if stamp.exists() else ("", "", "")
    if digest != made_of:
        print(f"making an environment with Python {version}", flush=True)
        subprocess.run([base, "-m", "venv", "--clear", home], check=True)
    if digest != made_of or newest_jax:
        pinned = install(python, home, newest_jax)
        stamp.write_text(f"{made_of} {pinned}", encoding="utf-8")
    return python, pinned


def versions(python: Path) -> list[str]:
    """Python's own, then those of the packages that are shown."""
    asked = (
        "import platform, importlib.metadata as m;"
        f"print(platform.python_version(), *(m.version(n) for n in {SHOWN!r}))"
    )
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    return done.stdout.split()


def tested(version: str, build: Path, tests: Sequence[str]) -> Outcome:
    """One Python's row: its versions and how the tests ended."""
    base = interpreter(version)
    if base is None:
        return Outcome((version, *("-" for _ in SHOWN), "-", "not on this machine"), True)
    try:
        python, pinned = environment(base, version, build)
    except subprocess.CalledProcessError as error:
        return Outcome((version, *("-" for _ in SHOWN), "-", f"cannot be installed: {error}"), False)
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        # What tests compare with is left out here on purpose, and CI would call that a failure; the flags
        # that tests compile with are those of the pinned JAX, and others may not know them.
        env={**os.environ, "CI": "", "XLA_FLAGS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout, flush=True)
    lines = done.stdout.strip().splitlines() or ["no answer"]
    ended = re.sub(r"^=+ | =+$", "", lines[-1])
    return Outcome((*versions(python), pinned, ended), done.returncode == 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "build", type=Path, nargs="?", default=ROOT / "build" / "pythons", help="folder for the environments"
    )
    parser.add_argument("--only", nargs="+", choices=PYTHONS, default=PYTHONS)
    parser.add_argument("--quick", action="store_true", help="the quickest of the tests")
    asked = parser.parse_args()
    build = asked.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for version in asked.only:
        outcomes.append(tested(version, build, QUICK if asked.quick else TESTS))
        print(" | ".join(outcomes[-1].row), flush=True)
    print("", markdown(HEADER, [outcome.row for outcome in outcomes]), sep="\n")
    return 0 if all(outcome.good for outcome in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
