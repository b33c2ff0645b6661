"""How large the source is, how it is named, and how far a reader walks through it; `make check` holds it.

python scripts/measures.py            lines, files, functions, isinstance, names, docstrings
python scripts/measures.py --paths    also the files that a fit and an export run, and changes of folder
python scripts/measures.py --suite    also the whole suite with no kernel compiled yet; on a quiet machine
python scripts/measures.py --names    lists every name and docstring that is against the rules
python scripts/measures.py --list     lists every function that is too long or too complex, and the files run
python scripts/measures.py --check    ends with 1, and a sentence for each measure that is exceeded
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measuring import names, source
from measuring.paths import call_paths

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "backemf"


@dataclass(frozen=True)
class Limit:
    """The most that a measure may be."""

    goal: float
    now: float | None = None
    """What it was when it was last lowered: until the goal is met, it may not grow beyond that."""

    @property
    def held(self) -> float:
        return self.goal if self.now is None else max(self.goal, self.now)


ALLOWANCES: dict[str, int] = {
    "one way into a model": 500,
    "an arm from its owner's desk": 800,
    "plans of whole robots": 1_400,
    "virtual servos as clients see them": 900,
    "data sets, lists in cells, measured numbers": 450,
    "constants that work, the mechanism's page": 1_050,
    "one rule for units, questions in lessons": 800,
    "starts that are free, errors of few groups": 500,
    "odd logs, ladders by folds, joints driven by torque": 1_100,
    "bands and draws": 1_300,
    "JAX and MJX": 700,
    "sizes of motors and gears, a supply for all joints, heat": 3_600,
    "springs that yield, layers of USD": 1_100,
    "bounds of readers, an app that holds": 800,
    "motions to look at": 750,
    "bands wherever motions are shown, one draw for all hosts": 450,
    "mistakes in words, units in forms, logs of other teams": 350,
    "firmware between the samples": 250,
    "numbers set before a robot's fit, odd logs": 200,
    "a supply inside MuJoCo's step, pages for tasks and batteries": 400,
    "firmware by part, what motions lack": 350,
    "how far beyond the fit a prediction goes": 250,
    "diameters asked for, one settling time": 250,
    "joints with delays in one file for MJX, powers and sizes that are bounded": 100,
    "play of gears, found and planned for": 280,
    "capitals of units, answers that numbers contradict, stops within seconds": 230,
    "verdicts of what was never seen, causes that look alike, logs without positions": 170,
    "rest, layers and rollouts that say what they cost": 240,
    "tasks at uneven times, lasting currents, tables as people write them": 440,
    "channels that are bounded, what MuJoCo gives up for": 140,
    "friction at rest, numbers beside a law": 240,
    "play in a user's model and in coupled motions, joints that are held": 400,
    "pid in classic files, creep in every file": 320,
    "play that a model has already": 30,
}
"""Lines by which a feature that came later may raise the limit, by the feature."""
FILES = 45
"""Files that these features brought."""
LIMITS = {
    "lines of Python and templates": Limit(68_000 + sum(ALLOWANCES.values()), now=104_550),
    "files of Python": Limit(345 + FILES),
    "functions over 60 lines": Limit(0),
    "functions of complexity above 15": Limit(0),
    "exceptions to these two": Limit(10),
    "exceptions without need or reason": Limit(0),
    "lines of be.fit": Limit(60),
    "isinstance outside physics": Limit(149),
    "class names used twice": Limit(0),
    "module names used twice": Limit(0),
    "bare participles": Limit(0),
    "docstrings that leave arguments open": Limit(0),
    "bench fit: files": Limit(30, now=43),
    "bench fit: changes of folder": Limit(12, now=21),
    "robot fit: files": Limit(40, now=49),
    "robot fit: changes of folder": Limit(16, now=29),
    "export --into: files": Limit(35, now=46),
    "export --into: changes of folder": Limit(15, now=24),
    "suite: minutes": Limit(10),
}
"""Measures in the order in which they are printed."""


def measure_source(files: list[source.File]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Counts of the source as it is written, and the functions behind some of them."""
    sizes = source.function_sizes(files)
    lists = {
        "functions over 60 lines": sizes.long,
        "functions of complexity above 15": sizes.complex,
        "exceptions to these two": sizes.exceptions,
        "exceptions without need or reason": sizes.unfounded,
    }
    counts: dict[str, float] = {
        "lines of Python and templates": source.count_lines(files, SOURCE),
        "files of Python": len(files),
        **{measure: len(places) for measure, places in lists.items()},
        "lines of be.fit": source.longest_door(files),
        "isinstance outside physics": source.isinstance_calls(files),
    }
    return counts, lists


def measure_names(files: list[source.File]) -> dict[str, list[str]]:
    """What is against the rules of names and docstrings, by measure."""
    return {
        "class names used twice": names.repeated_classes(files),
        "module names used twice": names.repeated_modules(files),
        "bare participles": names.participles(files),
        "docstrings that leave arguments open": names.Docstrings(files).open(),
    }


def measure_paths() -> tuple[dict[str, float], dict[str, list[str]]]:
    """Files run and changes of folder of each call, and the files in order."""
    counts: dict[str, float] = {}
    lists = {}
    for call, path in call_paths():
        counts[f"{call}: files"] = len(path.files)
        counts[f"{call}: changes of folder"] = path.changes
        subfolders = f"({path.subfolder_changes} changes where a subfolder counts as another folder)"
        lists[f"{call}: files"] = [*(file.as_posix() for file in path.files), subfolders]
    return counts, lists


def measure_suite() -> dict[str, float]:
    """Minutes of `make test` with kernels that nobody has compiled yet; what it prints goes through."""
    with tempfile.TemporaryDirectory() as folder:
        empty = {"BACKEMF_CACHE": f"{folder}/kernels", "WARP_CACHE_PATH": f"{folder}/warp"}
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(["make", "test"], cwd=ROOT, env={**os.environ, **empty}, check=False)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"make test ended with {done.returncode}; its time says nothing")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"the suite took {wall:.0f} s by the clock and {cpu:.0f} s of CPU time")
    return {"suite: minutes": wall / 60}


def exceeded(counts: dict[str, float]) -> list[str]:
    """A sentence for each measure beyond what is held."""
    sentences = []
    for measure, count in counts.items():
        limit = LIMITS[measure]
        if count > limit.held:
            goal = "" if limit.held == limit.goal else f" on the way to {limit.goal:,g}"
            sentences.append(f"{measure}: {count:,g}, and {limit.held:,g} is the most{goal}")
    return sentences


def table(counts: dict[str, float]) -> str:
    """Measures, what is held and the goals, as text."""
    rows = [("", "measured", "at most", "goal")]
    for measure, limit in LIMITS.items():
        if measure in counts:
            rows.append((measure, f"{counts[measure]:,.6g}", f"{limit.held:,g}", f"{limit.goal:,g}"))
    return "\n".join(f"{row[0]:<38}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for flag in ("paths", "suite", "names", "list", "check"):
        parser.add_argument(f"--{flag}", action="store_true")
    wanted = parser.parse_args()
    files = source.read_files(SOURCE)
    counts, lists = measure_source(files)
    of_names = measure_names(files)
    counts |= {measure: len(places) for measure, places in of_names.items()}
    if wanted.paths:
        of_paths, files_run = measure_paths()
        counts, lists = counts | of_paths, lists | files_run
    if wanted.suite:
        counts |= measure_suite()
    for measure, places in {**(lists if wanted.list else {}), **(of_names if wanted.names else {})}.items():
        print(f"{measure}:", *(f"  {place}" for place in places), "", sep="\n")
    print(table(counts))
    sentences = exceeded(counts) if wanted.check else []
    if sentences:
        raise SystemExit("\n".join(["", *sentences]))


if __name__ == "__main__":
    main()
