"""Which tests reach which lines: measured once for every file of tests, kept until something changes."""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .plugin import ON_IMPORT
from .sandbox import Sandbox, each
from .sites import Mutant

PACKAGE = "src/backemf"
NOT_USED = (
    "tests/film/",
    "tests/fuzz/",
    "tests/recorder/test_kills.py",
    "tests/report/test_browser.py",
    "tests/test_layers.py",
    "tests/test_mutants.py",
)
"""Tests that are slow, look at other rooms, or read the source instead of running it."""
READ_BY = {
    f"{PACKAGE}/mujoco/live/{name}.py": f"{PACKAGE}/mujoco/live/callback.py"
    for name in ("addresses", "kernel", "places")
}
"""Sources that are read as text and compiled: none of their lines runs in Python, so that tests reach them
through the file that reads them."""
LONGEST = 1800.0
"""Seconds after which measuring one file of tests is given up."""
Lines = dict[str, int]
"""By file, a number whose bit n is set where line n ran."""
EVERY_LINE = (1 << 2000) - 1
Move = Sequence[tuple[str, int, int, int, int]] | None
"""difflib's steps from an older text to a newer one; None where they are the same."""


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test that passes on the unchanged source."""

    name: str
    seconds: float
    lines: Lines

    @property
    def family(self) -> str:
        """The function, without its parameters."""
        return self.name.partition("[")[0]

    def reaches(self, wanted: Lines) -> bool:
        return _meet(self.lines, wanted)


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Tests that may notice a mutant, the likeliest and quickest first."""

    direct: list[Test]
    """They ran its line themselves."""
    others: list[Test]
    """Neighbours of those: what they use may have been computed, or traced and compiled, before them."""


class Coverage:
    """Which lines every test runs; kept on disk until the test file or one of the lines' files changes.

    With `stale` a map of an older source serves too: its lines are moved along with the text. That finds
    nearly the same tests, and measures only the files of tests that are new or changed.
    """

    def __init__(self, sandbox: Sandbox, store: Path, only: Sequence[str] = (), *, stale: bool = False):
        self.sandbox, self.store, self.stale = sandbox, store, stale
        root = sandbox.root
        files = sorted(p.relative_to(root).as_posix() for p in (root / "tests").rglob("test_*.py"))
        self.files = [
            f for f in files if not f.startswith(NOT_USED) and (not only or any(word in f for word in only))
        ]
        self.known: dict[str, dict] = json.loads(store.read_text("utf-8")) if store.exists() else {}
        self.tests: dict[str, list[Test]] = {}
        self.on_import: dict[str, Lines] = {}

    def measure(self, workers: int = 1) -> None:
        """Run what has changed since the last time, each file of tests in a process of its own."""
        own = {file: _checksum(*_support(self.sandbox.root, file)) for file in self.files}
        due = [file for file in self.files if not self._is_current(self.known.get(file), own[file])]
        for k, (file, content) in enumerate(zip(due, each(self._measured, due, workers), strict=True), 1):
            print(f"measured [{k}/{len(due)}] {file}: {content['seconds']:.0f} s", flush=True)
            for name, outcome in content["left_out"].items():
                if outcome != "skipped":
                    print(f"  not used, it {outcome}: {name}", flush=True)
            self.known[file] = {"own": own[file], **content}
            write(self.store, json.dumps(self.known))
        for file in self.files:
            content = self.known[file]
            moves = {f: self._move(f, was) for f, was in content["sources"].items()}
            self.tests[file] = [
                Test(name=name, seconds=one["seconds"], lines=_unpacked(one["lines"], moves))
                for name, one in content["tests"].items()
            ]
            self.on_import[file] = _unpacked(content["on_import"], moves)

    def _is_current(self, content: dict | None, own: str) -> bool:
        if content is None or content["own"] != own:
            return False
        if self.stale and set(content["left_out"].values()) <= {"skipped"}:
            return True  # else a test that failed then would be left out for ever
        return self._sources(content["sources"]) == content["sources"]

    def _sources(self, files: Iterable[str]) -> dict[str, str]:
        """Checksums; what they stand for is kept beside the map."""
        found = {}
        for file in files:
            path = self.sandbox.root / file
            found[file] = _checksum(path) if path.exists() else ""
            kept = self.store.parent / "sources" / found[file]
            if found[file] and not kept.exists():
                write(kept, path.read_text(encoding="utf-8"))
        return found

    @functools.cache  # noqa: B019  # there is one map in a run
    def _move(self, file: str, was: str) -> Move:
        """How the lines of a file have moved since it had a checksum."""
        path, kept = self.sandbox.root / file, self.store.parent / "sources" / was
        if not path.exists() or not kept.exists() or _checksum(path) == was:
            return None
        before, after = (p.read_text(encoding="utf-8").splitlines() for p in (kept, path))
        return difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()

    def _measured(self, file: str) -> dict:
        # In a folder that starts empty: the first test that needs a kernel runs the lines of the physics.
        ended = self.sandbox.run([file], limit=LONGEST, kernels=self.sandbox.home / "kernels", measure=True)
        outcomes, lines = ended.notes.get("outcomes", {}), ended.notes.get("lines", {})
        if ended.code is None:
            outcomes, lines = {file: f"took more than {LONGEST:g} s"}, {}
        elif ended.code not in (0, 1, 5):
            outcomes, lines = {file: f"ended with {ended.code}: {ended.output[-2000:]}"}, {}
        packed = {
            name: {f"src/{f}": f"{_mask(numbers):x}" for f, numbers in files.items()}
            for name, files in lines.items()
        }
        passed = [name for name, outcome in outcomes.items() if outcome == "passed"]
        return {
            "seconds": ended.seconds,
            "sources": self._sources(sorted({f for files in packed.values() for f in files})),
            "on_import": packed.get(ON_IMPORT, {}),
            "tests": {
                name: {"seconds": ended.notes["seconds"][name], "lines": packed.get(name, {})}
                for name in passed
            },
            "left_out": {name: outcome for name, outcome in outcomes.items() if outcome != "passed"},
        }

    def drop(self, names: set[str]) -> None:
        """Use these tests no more."""
        self.tests = {file: [t for t in tests if t.name not in names] for file, tests in self.tests.items()}

    def reach(self, mutant: Mutant, sources: dict[str, bytes]) -> Reach:
        """The tests for a mutant. A constant or a field runs on import, so every test has it:
        those that run a line which names it come first."""
        own = {mutant.file: _mask(range(mutant.statement[0], mutant.statement[1] + 1))}
        wanted = _uses(mutant.defines, sources) if mutant.defines else {}
        wanted[mutant.file] = wanted.get(mutant.file, 0) | own[mutant.file]
        if mutant.file in READ_BY:
            wanted[READ_BY[mutant.file]] = EVERY_LINE
        direct, others = [], []
        for file, tests in self.tests.items():
            here = [t for t in tests if t.reaches(wanted)]
            if here or _meet(self.on_import[file], own):
                names = {t.name for t in here}
                direct += here
                others += [t for t in tests if t.name not in names]
        room = mutant.file.removeprefix(PACKAGE).strip("/").partition("/")[0]
        return Reach(direct=_varied(direct, ""), others=_varied(others, room))


def _varied(tests: list[Test], room: str) -> list[Test]:
    """The quickest first, but one of every function before a second case of any;
    a room's own tests before all others."""
    seen: dict[str, int] = {}
    ranked = []
    for test in sorted(tests, key=lambda t: (t.seconds, t.name)):
        seen[test.family] = seen.get(test.family, 0) + 1
        away = bool(room) and f"/{room}/" not in test.name
        ranked.append((away, seen[test.family], test.seconds, test.name, test))
    return [row[-1] for row in sorted(ranked, key=lambda row: row[:-1])]


def _uses(name: str, sources: dict[str, bytes]) -> Lines:
    """Lines that read a constant or a field, wherever they are."""
    found: Lines = {}
    for file, source in sources.items():
        if name.encode() not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Name | ast.Attribute) and _named(node) == name:
                found[file] = found.get(file, 0) | 1 << node.lineno
    return found


def _named(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _checksum(*paths: Path) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def _mask(numbers: Iterable[int]) -> int:
    found = 0
    for n in numbers:
        found |= 1 << n
    return found


def _meet(a: Lines, b: Lines) -> bool:
    return any(a.get(file, 0) & mask for file, mask in b.items())


def _unpacked(files: dict[str, str], moves: dict[str, Move]) -> Lines:
    return {file: moved(int(mask, 16), moves[file]) for file, mask in files.items()}


def moved(mask: int, move: Move) -> int:
    """Lines of an older text in a newer one; a new line counts where the one that it replaces, or follows,
    did."""
    if move is None:
        return mask
    found = 0
    for tag, i1, i2, j1, j2 in move:  # lines count from 0 here, bits from 1
        if tag == "equal":
            found |= (mask >> i1 + 1 & (1 << i2 - i1) - 1) << j1 + 1
        elif mask >> (i1 + 1 if i2 > i1 else i1) & (1 << max(i2 - i1, 1)) - 1:
            found |= (1 << j2 - j1) - 1 << j1 + 1
    return found


def _support(root: Path, file: str) -> list[Path]:
    """A file of tests and what it stands on among the tests: fixtures, and modules that it imports."""
    found: list[Path] = []
    left = [root / file]
    for folder in (root / file).relative_to(root).parents:
        left.append(root / folder / "conftest.py")
    while left:
        path = left.pop()
        if path in found or not path.exists():
            continue
        found.append(path)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("tests")):
                base = path.parents[node.level - 1] if node.level else root
                base = base.joinpath(*(node.module or "").split("."))
                left += [base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)]
    return sorted(found)


def write(path: Path, text: str) -> None:
    """A file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".new")
    whole.write_text(text, encoding="utf-8")
    whole.replace(path)
