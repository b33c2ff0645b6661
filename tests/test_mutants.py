"""Mutants: one place of a source changed, the same for the same seed, and never where no test has a say."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))

import mutants  # noqa: E402  # after the path to scripts is set
from mutation import judge, reach  # noqa: E402  # after the path to scripts is set
from mutation.sandbox import Sandbox, each  # noqa: E402  # after the path to scripts is set

# after the path to scripts is set:
from mutation.sites import KINDS, applied, is_python, mutants_of, sampled  # noqa: E402

SOURCE = b'''
"""A text with 2 * 3 and a < b."""
from __future__ import annotations

FLOOR = 0.25
"""Half of 0.5."""


def level(x: float, w: int = 3) -> float:
    """x + 1."""
    if x < 0 or w > 7:
        raise ValueError(f"{x + 1} is below {2 * w}" + str(x - 4))
    total = x * FLOOR - 1.5
    return max(total, -x)
'''


def lines(text: str, kind: str = "") -> list[str]:
    """The line of a one-line source after each of its changes."""
    return [m.after for m in mutants_of(text.encode(), "a.py") if kind in ("", m.kind)]


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ("y = a + b", "sign", ["y = a - b"]),
        ("y = a - b", "sign", ["y = a + b"]),
        ("y = -a", "sign", ["y = a"]),
        ("y = -(a + b)", "sign", ["y = (a + b)", "y = -(a - b)"]),
        ("y += a", "sign", ["y -= a"]),
        ("y = a * b", "factor", ["y = a / b"]),
        ("y = a / b", "factor", ["y = a * b"]),
        ("y *= a", "factor", ["y /= a"]),
        ("y = 0.5", "factor", ["y = 1.0"]),
        ("y = 0.0", "factor", ["y = 1.0"]),
        ("y = 3", "factor", ["y = 4"]),
        ("y = 300", "factor", ["y = 600"]),
        ("y = a < b", "comparison", ["y = a > b"]),
        ("y = a >= b", "comparison", ["y = a < b"]),
        ("y = a == b", "comparison", ["y = a != b"]),
        ("y = a is not b", "comparison", ["y = a is b"]),
        ("y = a in b", "comparison", ["y = a not in b"]),
        ("y = a < b < c", "comparison", ["y = a > b < c", "y = a < b > c"]),
        ("y = a + b", "dropped term", ["y = b", "y = a"]),
        ("y = a - b", "dropped term", ["y = a"]),
        ("y = a * (b - c)", "dropped term", ["y = (b - c)", "y = a", "y = a * (b)"]),
        ("y = f(a, b, c)", "swapped arguments", ["y = f(b, a, c)", "y = f(a, c, b)"]),
        ("y = f(a + 1, (b))", "swapped arguments", ["y = f(b, (a + 1))"]),
        ("y = a and b", "and/or", ["y = a or b"]),
        ("y = a or b or c", "and/or", ["y = a and b or c", "y = a or b and c"]),
        ("y = min(a, b)", "min/max", ["y = max(a, b)"]),
        ("y = np.maximum(a, b)", "min/max", ["y = np.minimum(a, b)"]),
        ("y = a if c else b", "condition", ["y = a if not (c) else b"]),
        ("y = not a", "condition", ["y = a"]),
        ("y = where(c, a, b)", "condition", ["y = where(c, b, a)"]),
        ("y = [a for a in b if c(a)]", "condition", ["y = [a for a in b if not (c(a))]"]),
    ],
)
def test_every_kind_of_change(source, kind, expected):
    assert sorted(lines(source, kind)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        "raise ValueError(f'{a + 1}', 2 * b)",
        "assert a < 2 * b",
        "import a",
        "y: Literal[3]",
        "def f(a: array[2] = None) -> array[3]: ...",
        "@cache(3)\ndef f(): ...",
        "'''1 + 2'''",
        "y = f'{a + b}'",
        "y = 'a' + b",
        "y = [a] * b",
        "y = folder / name",
        "y = a[0]",
        "y = a[-1]",
        "y = 1e-12",
        "y = True",
        "y = round(a, 3)",
        "y = np.sum(a, axis=1)",
        "y = isinstance(a, b)",
        "y = f(a, a)",
        "y = hypot(a, b)",
        "class A:\n def __repr__(self): return 1 + 2",
        "def plot(width=3): ...",
        "if TYPE_CHECKING: y = 1",
        "if sys.platform == 'win32': y = 1",
        "print(a + b)",
        "logger.info(a + b)",
    ],
)
def test_what_no_test_has_a_say_in_is_left_alone(source):
    assert lines(source) == []


def test_one_place_changes_and_the_rest_stays_byte_for_byte():
    found = mutants_of(SOURCE, "a.py")
    assert {m.kind for m in found} == set(KINDS) - {"swapped arguments"}
    whole = ast.dump(ast.parse(SOURCE))
    for m in found:
        changed = applied(SOURCE, m)
        assert changed[: m.start] == SOURCE[: m.start]
        assert changed[len(changed) - (len(SOURCE) - m.end) :] == SOURCE[m.end :]
        assert is_python(changed)
        assert ast.dump(ast.parse(changed)) != whole
    assert len({applied(SOURCE, m) for m in found}) == len(found)


def test_raised_texts_annotations_and_docstrings_are_left_alone():
    changed = {m.line for m in mutants_of(SOURCE, "a.py")}
    text = SOURCE.decode().splitlines()
    assert {text[n - 1].strip() for n in changed} == {
        "FLOOR = 0.25",
        "def level(x: float, w: int = 3) -> float:",
        "if x < 0 or w > 7:",
        "total = x * FLOOR - 1.5",
        "return max(total, -x)",
    }


def test_comments_brackets_and_letters_of_two_bytes_are_no_trouble():
    source = 'y = (\n    "Ω"\n    if a  # + not this one\n    else (b)  # - nor this\n    + (c)\n)\n'.encode()
    (sign,) = (m for m in mutants_of(source, "a.py") if m.kind == "sign")
    assert applied(source, sign) == source.replace(b"    + (c)", b"    - (c)")
    assert (sign.line, sign.before, sign.after) == (5, "+ (c)", "- (c)")


def test_a_sample_is_the_same_for_the_same_seed():
    everything = mutants_of(SOURCE, "a.py")
    first = sampled(everything, 6, seed=1)
    assert first == sampled(reversed(everything), 6, seed=1)
    assert len(first) == len({m.site for m in first}) == 6
    assert any(sampled(everything, 6, seed=s) != first for s in range(2, 5))
    assert sampled(everything, 1000, seed=1) == everything
    assert all(m.kind == "sign" for m in sampled(everything, 3, 1, lambda m: m.kind == "sign"))


def test_a_constant_knows_its_name_and_a_line_its_statement():
    (floor,) = (m for m in mutants_of(SOURCE, "a.py") if m.line == 5)
    assert (floor.defines, floor.statement) == ("FLOOR", (5, 5))
    (minus,) = (
        m
        for m in mutants_of(b"def f():\n    y = (\n        a\n        - b\n    )\n", "a.py")
        if m.kind == "sign"
    )
    assert (minus.defines, minus.line, minus.statement) == ("", 4, (2, 5))


def test_equivalents_are_known_by_their_text(tmp_path):
    listed = tmp_path / "listed.toml"
    listed.write_text(
        '[[equivalent]]\nfile = "a.py"\nline = "y =  a + b"\nmutated = "y = a - b"\nreason = "b is 0"\n',
        encoding="utf-8",
    )
    known = mutants.equivalents(listed)
    moved = mutants_of(b"\n\n    # further down\ny = a + b\n", "a.py")
    assert {m.after: mutants.reason(m, known) for m in moved} == {
        "y = a - b": "b is 0",
        "y = a": None,
        "y = b": None,
    }
    assert mutants.reason(dataclasses.replace(moved[0], file="b.py"), known) is None


def test_every_listed_equivalent_is_a_mutant_of_the_present_source():
    listed = mutants.equivalents()
    files = {file: (ROOT / file).read_bytes() for file, _, _ in listed}
    here = {(m.file, m.before, m.after) for m in mutants.candidates(files)}
    assert not set(listed) - here, "the source has changed: write these anew, or remove them"


def judged(state: str, kind: str = "sign", file: str = "src/backemf/a.py") -> mutants.Judged:
    (m,) = (m for m in mutants_of(b"y = a + b", file) if m.kind == "sign")
    return mutants.Judged(mutant=dataclasses.replace(m, kind=kind), state=state, by="because", n_tests=1)


def test_the_report_counts_by_kind_and_names_survivors(tmp_path):
    rows = [judged("killed"), judged("killed", "factor"), judged("survived"), judged("equivalent")]
    table = {kind: cells for kind, *cells in mutants.table(rows)}
    assert table["sign"] == ["3", "1", "1", "1"]
    assert table["all"] == ["4", "2", "1", "1"]
    assert mutants.share(rows) == 2 / 3
    assert "src/backemf/a.py:1  sign  y = a + b -> y = a - b\n" in mutants.printed(rows)
    assert "| `a.py` | sign | `y = a + b` | `y = a - b` |" in mutants.documented(rows, seed=3)
    mutants.store_report(tmp_path / "report.json", {"seed": 3}, rows)
    assert mutants.stored_report(tmp_path / "report.json")[1] == rows


def test_fresh_samples_are_held_to_the_mean_to_each_and_to_few_equivalents():
    def sample(killed: int, survived: int, same: int = 0) -> list[mutants.Judged]:
        return [judged("killed")] * killed + [judged("survived")] * survived + [judged("equivalent")] * same

    assert len(set(mutants.SEEDS)) == 3
    for samples, good in (
        ([sample(90, 10), sample(92, 8), sample(88, 12)], True),
        ([sample(90, 10), sample(90, 10), sample(89, 11)], False),  # the mean
        ([sample(99, 1), sample(99, 1), sample(87, 13)], False),  # one of them
        ([sample(91, 6, 3)] * 3, True),
        ([sample(90, 6, 4)] * 3, False),  # equivalents
    ):
        text, enough = mutants.verdict(dict(enumerate(samples)))
        assert enough is good, text


def test_what_is_changed_is_there():
    assert all((mutants.ROOT / place).exists() for place in mutants.SCOPE)


def test_survivors_are_found_again_where_lines_have_moved():
    file = "src/backemf/physics/a.py"
    rows = [judged("survived", file=file), judged("killed", file=file)]
    found = mutants.again(rows, {file: b"\n\ny = a + b\nz = 1\ny = a + b\n"})
    assert [(r.state, r.mutant.line) for r in found] == [("waiting", 3), ("killed", 5)]


@pytest.fixture
def sandbox(tmp_path):
    """A repository of one source file and one file of tests."""
    written = {
        "src/backemf/__init__.py": "",
        "src/backemf/physics/__init__.py": "",
        "src/backemf/physics/a.py": "LIMIT = 2.5\ndef f(a, b):\n    return a - b * LIMIT\n",
        "tests/model/test_a.py": (
            "import pytest\nfrom backemf.physics import a\n"
            "@pytest.mark.parametrize('b', [0, 0.0])\ndef test_zero(b): assert a.f(1, b) == 1\n"
            "def test_other(): assert a\n"
            "def test_wrong(): assert a.f(1, 1) == 7\n"
        ),
        **{
            f"scripts/mutation/{p.name}": p.read_text("utf-8")
            for p in (ROOT / "scripts/mutation").glob("*.py")
        },
    }
    for name, text in written.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made = Sandbox(tmp_path, tmp_path / "kernels", tmp_path / "shared")
    yield made
    made.remove()


def test_from_coverage_to_a_verdict(sandbox, tmp_path, capsys):
    """Three runs of pytest: what reaches what, a mutant that a test notices, one that it does not."""
    file, name = "src/backemf/physics/a.py", "tests/model/test_a.py"
    coverage = reach.Coverage(sandbox, tmp_path / "build" / "coverage.json")
    coverage.measure()
    assert f"not used, it failed: {name}::test_wrong" in capsys.readouterr().out
    assert [t.name for t in coverage.tests[name]] == [
        f"{name}::{t}" for t in ("test_zero[0]", "test_zero[0.0]", "test_other")
    ]
    sources = mutants.sources_of(sandbox.root)
    by_after = {m.after: m for m in mutants.candidates(sources)}
    noticed, missed = by_after["return a - LIMIT"], by_after["LIMIT = 5.0"]
    for mutant in (noticed, missed):  # a constant runs on import, and is known by the line that reads it
        found = coverage.reach(mutant, sources)
        assert {t.name for t in found.direct} == {f"{name}::test_zero[0]", f"{name}::test_zero[0.0]"}
        assert [t.name for t in found.others] == [f"{name}::test_other"]
    verdict = judge.judged(noticed, sandbox, coverage.reach(noticed, sources), budget=10.0)
    assert (verdict.killed, verdict.by.partition("[")[0]) == (True, f"{name}::test_zero")
    assert verdict.error == "assert -1.5 == 1"
    verdict = judge.judged(missed, sandbox, coverage.reach(missed, sources), budget=0.0)
    assert (verdict.killed, verdict.by, verdict.n_tests) == (False, "", 1)  # the quickest, whatever it costs
    assert (sandbox.root / file).read_bytes() == sources[file]


def test_tests_that_run_the_line_come_first_and_one_of_each_function(sandbox, tmp_path):
    file, name = "src/backemf/physics/a.py", "tests/model/test_a.py"
    coverage = reach.Coverage(sandbox, tmp_path / "coverage.json")
    coverage.on_import = {name: {file: 1 << 1}}
    coverage.tests[name] = [
        reach.Test(name=f"{name}::{test}", seconds=seconds, lines={file: 1 << line})
        for test, seconds, line in (("f[1]", 0.1, 3), ("f[2]", 0.2, 3), ("g", 5.0, 3), ("h", 0.0, 9))
    ]
    sources = mutants.sources_of(sandbox.root)
    (mutant,) = (m for m in mutants.candidates(sources) if m.kind == "sign")
    found = coverage.reach(mutant, sources)
    assert [t.name.rpartition("::")[2] for t in found.direct] == ["f[1]", "g", "f[2]"]
    assert [t.name.rpartition("::")[2] for t in found.others] == ["h"]
    coverage.drop({f"{name}::g"})
    assert len(coverage.reach(mutant, sources).direct) == 2


def test_what_is_compiled_from_its_text_is_reached_through_its_reader(sandbox, tmp_path):
    for path in {*reach.READ_BY, *reach.READ_BY.values()}:
        assert (mutants.ROOT / path).is_file(), path
    read, reader = next(iter(reach.READ_BY.items()))
    name = "tests/simulator/live/test_a.py"
    coverage = reach.Coverage(sandbox, tmp_path / "coverage.json")
    coverage.on_import = {name: {}}
    lines = {"attaches": {reader: 1 << 70}, "does not": {}}
    coverage.tests[name] = [reach.Test(name=t, seconds=1.0, lines=where) for t, where in lines.items()]
    (mutant, *_) = mutants_of(b"x = a + b\n", read)
    assert [t.name for t in coverage.reach(mutant, {}).direct] == ["attaches"]


def test_covered_lines_move_along_with_the_text():
    before, after = list("abcdef"), list("xabXYdeef")
    move = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    mask = sum(1 << n for n in (1, 3, 5))  # a, c and e ran
    moved = reach.moved(mask, move)
    assert [after[n - 1] for n in range(1, 10) if moved >> n & 1] == ["a", "X", "Y", "e", "e"]
    assert reach.moved(mask, None) == mask


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_work(workers):
    assert list(each(lambda n: n * n, range(5), workers)) == [0, 1, 4, 9, 16]
