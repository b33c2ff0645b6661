"""Wheel and source archive as a stranger gets them: everything in them, and the wheel installed without
extras into a clean environment, where the README's first Python example and the command run; where uvx or
pipx is there, the demonstration too, straight from the wheel.

python -m build && python scripts/dist_check.py    what `make dist` does
python scripts/dist_check.py --tag v1.2.3          only whether a tag, the version, changes and citation agree
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "PKG-INFO")
"""What a source archive needs besides the source."""
RELEASE = re.compile(r"^## (\S+), (\d{4}-\d{2}-\d{2})$", re.MULTILINE)
"""Heading of a release in CHANGELOG.md: its version and its day."""


def disagreements(tag: str | None = None, root: Path = ROOT) -> list[str]:
    """What does not say the same release: the newest in CHANGELOG.md, CITATION.cff, `__version__`, a tag.

    Args:
        tag: such as v1.2.3; without one, only the files are compared.
        root: of the repository.

    Returns:
        A sentence for each that differs.
    """
    version = re.search(
        r'^__version__ = "(.+)"$', (root / "src/backemf/__init__.py").read_text(), re.MULTILINE
    )
    release = RELEASE.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if version is None or release is None:
        return [
            "src/backemf/__init__.py has no __version__, or CHANGELOG.md no heading '## 1.2.3, 2026-01-31'"
        ]
    cited = dict(
        re.findall(r"^(version|date-released): (\S+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    )
    said = {
        "CHANGELOG.md": (release[1], version[1]),
        "CITATION.cff": (cited.get("version"), version[1]),
        "the date in CITATION.cff": (cited.get("date-released"), release[2]),
    }
    if tag is not None:
        said["the tag"] = (tag, f"v{version[1]}")
    return [
        f"{place} says {given}; expected {wanted}"
        for place, (given, wanted) in said.items()
        if given != wanted
    ]


def newest(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        raise SystemExit(f"there is no {pattern} in {folder}; run python -m build first")
    return found[-1]


def left_out(archive: Path) -> list[str]:
    """Files that a wheel or a source archive lacks: of the source, and what builds the one from the other."""
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in (source / "backemf").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return sorted(ours - set(wheel.namelist()))
    with tarfile.open(archive) as source_archive:
        there = {name.partition("/")[2] for name in source_archive.getnames()}
    return sorted(({f"src/{name}" for name in ours} | set(BUILT_FROM)) - there)


def example() -> str:
    """The README's first block of Python."""
    found = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit("README.md has no block of Python; expected ```python")
    return found[1]


def installed(wheel: Path, home: Path) -> Path:
    """The interpreter of a clean environment that has the wheel and what it needs, and nothing else."""
    venv.create(home, with_pip=True, clear=True)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True)
    return python


RUNNERS = {"uvx": ("--refresh-package", "backemf", "--from"), "pipx": ("run", "--no-cache", "--spec")}
"""Programs that run a command of a wheel in an environment of their own, and the words before the wheel, by
which they keep nothing of an older wheel of that name."""


def runs_demo(wheel: Path, folder: str) -> bool:
    """Whether `backemf demo` runs from the wheel by each of `RUNNERS` that this machine has."""
    went = True
    for runner, words in RUNNERS.items():
        program, output = shutil.which(runner), Path(folder, runner)
        if program is None:
            print(f"{runner} is not installed: the demonstration was not run by it")
            continue
        asked = [program, *words, wheel, "backemf", "demo", "--output", output]
        ended = subprocess.run(asked, cwd=folder, check=False, capture_output=True, text=True)
        good = ended.returncode == 0 and (output / "report.html").is_file()
        how = "runs" if good else f"ends with {ended.returncode}: {ended.stderr.strip()[-2000:]}"
        print(f"{runner}: the demonstration {how}")
        went = went and good
    return went


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder with the wheel")
    parser.add_argument(
        "--environment", type=Path, default=ROOT / "build" / "dist-env", help="made anew each time"
    )
    parser.add_argument("--tag", help="a tag to be published, such as v1.2.3; nothing is installed")
    asked = parser.parse_args()
    differences = disagreements(asked.tag)
    if differences or asked.tag:
        print("\n".join(differences) or f"{asked.tag}: version, changes and citation agree")
        return 1 if differences else 0
    wheel = newest(asked.dist, "backemf-*.whl").resolve()
    for archive in (wheel, newest(asked.dist, "backemf-*.tar.gz")):
        missing = left_out(archive)
        if missing:
            print(f"{archive.name} lacks {', '.join(missing)}; see [tool.setuptools] in pyproject.toml")
            return 1
    python = installed(wheel, asked.environment.resolve())
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "example.py"
        script.write_text(example(), encoding="utf-8")
        # -I: nothing of this folder, of the user's or of PYTHONPATH is seen
        code = subprocess.run([python, "-I", script], cwd=folder, check=False).returncode
        command = python.with_name("backemf.exe" if os.name == "nt" else "backemf")
        code = code or subprocess.run([command, "catalog"], cwd=folder, check=False).returncode
        shown = bool(code) or runs_demo(wheel, folder)
    ended = "end with an error" if code else "run"
    print(f"{wheel.name}: the README's first example and `backemf catalog` {ended}")
    return 1 if code or not shown else 0


if __name__ == "__main__":
    raise SystemExit(main())
