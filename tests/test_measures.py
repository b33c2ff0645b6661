"""Measures of the source: counted by hand on a few lines, and held on the whole of it."""

from __future__ import annotations

import ast
import importlib
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))

import measures  # noqa: E402  # after the path to scripts is set
from measuring import names, source  # noqa: E402  # after the path to scripts is set
from measuring.paths import CallPath, trace  # noqa: E402  # after the path to scripts is set


@pytest.fixture(scope="module")
def tree() -> list[source.File]:
    return source.read_files(measures.SOURCE)


def function(text: str) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(text)).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def folder_of(place: Path, **texts: str) -> list[source.File]:
    """A source of files, `a__b` for a/b.py."""
    for name, text in texts.items():
        path = place / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return source.read_files(place)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1", 1),
        ("return a if a else b", 2),
        ("return a and b and c or d", 4),
        ("return [x for y in a if y for x in y if x]", 5),
        ("for x in a:\n  while x:\n   pass\n else:\n  pass", 3),
        ("if a:\n  pass\n elif b:\n  pass\n else:\n  pass", 3),
        ("try:\n  pass\n except A:\n  pass\n except B:\n  pass\n finally:\n  pass", 4),
        ("match a:\n  case 1:\n   pass\n  case _:\n   pass", 3),
        ("def g():\n  return a or b\n return g or (lambda: a or b)", 3),
        ("return f'{a if a else b}'", 2),
    ],
)
def test_complexity_by_hand(body, expected):
    assert source.complexity(function(f"def f():\n {body}")) == expected


def test_long_and_complex_functions_are_named_unless_they_say_why(tmp_path):
    lines, branches = "    x = 1\n" * 60, "    return " + " or ".join("abcdefghijklmnop") + "\n"
    files = folder_of(
        tmp_path,
        a=f"def long():\n{lines}def exact():\n{lines[:-10]}def complex():\n{branches}",
        b=f"def excused(  # long: one step per line, read downwards\n    a,\n):\n{lines}",
        c=f"def silent():  # complex: because\n{branches}def needless():  # long: it was so once\n    pass\n",
    )
    sizes = source.function_sizes(files)
    assert sizes.long == ["a.py:1 long (61)"]
    assert sizes.complex == ["a.py:122 complex (16)"]
    assert sizes.exceptions[0] == "b.py:1 excused: one step per line, read downwards"
    assert [place.split(" (")[0] for place in sizes.unfounded] == ["c.py:1 silent", "c.py:3 needless"]


def test_lines_count_templates_and_isinstance_leaves_physics_out(tmp_path):
    asks = "def f(a):\n    return isinstance(a, int) or isinstance(a, str)\n"
    files = folder_of(tmp_path, physics__a=asks, engine__b=asks)
    (tmp_path / "engine" / "page.js.in").write_text("@name@\n\n", encoding="utf-8")
    (tmp_path / "engine" / "page.js").write_text("let a\n", encoding="utf-8")
    assert source.count_lines(files, tmp_path) == 6
    assert source.isinstance_calls(files) == 2


@pytest.mark.parametrize("name", ["found", "_kept", "Asked", "told", "weighed", "sure", "Read", "made_"])
def test_bare_participles(name):
    assert names.is_participle(name, is_class=name[0].isupper())


@pytest.mark.parametrize(
    "name", ["found_noise", "AskedFor", "read", "speed", "need", "red", "settle", "Spread", "screen", "Fit"]
)
def test_other_names(name):
    assert not names.is_participle(name, is_class=name[0].isupper())


def test_names_that_occur_twice_and_participles_are_listed(tmp_path):
    files = folder_of(
        tmp_path,
        a__kept="class Held: pass\nclass Recorded: pass\n",
        b__search="class Held:\n    @property\n    def told(self): pass\n    def found(self): pass\n",
        c__search="",
        kits__reader="",
        d__signal="def held(): pass\n",
    )
    assert names.repeated_classes(files) == ["Held: a/kept.py, b/search.py"]
    assert names.repeated_modules(files) == ["search: b/search.py, c/search.py"]
    assert names.participles(files) == [
        "a/kept.py is a module",
        "a/kept.py:1 class Held",
        "b/search.py:1 class Held",
        "b/search.py:4 def found",
        "d/signal.py:1 def held",
    ]


COMPLETE = '''
def turn(a, b, c) -> int:
    """Turn it.

    Args:
        a: an angle [rad].
        b (int): how often.
        c: which way.

    Returns:
        The turns.
    """
'''


def test_docstrings_of_what_other_files_use(tmp_path):
    files = folder_of(
        tmp_path,
        a__tools=COMPLETE
        + COMPLETE.replace("turn(", "push(").replace("        c: which way.\n", "")
        + COMPLETE.replace("turn(", "pull(").replace("Returns", "Gives")
        + 'def few(a, b):\n    """Says all."""\ndef bare(): pass\ndef unused(): pass\n',
        b__user="""
            from ..a import tools
            from ..a.tools import bare, few, pull, push

            tools.turn(1, 2, 3)
            x.move(1, 2, 3)
        """,
        c__base='class Base:\n    def move(self, a, b, c):\n        """Move it."""\nclass Next(Base):\n'
        + textwrap.indent(COMPLETE.replace("turn(", "move(self, "), "    ")
        + "class Last(Next):\n    def move(self, a, b, c): pass\n",
    )
    assert [line.split(" ", 1)[1] for line in names.Docstrings(files).open()] == [
        "push: no word on c",
        "pull: no Returns",
        "bare: no docstring",
        "Base.move: no word on a, b, c",
    ]


def test_a_path_is_what_the_second_call_runs_in_order(tmp_path, monkeypatch):
    """By hand: one -> sub/two -> three; the file that only the first call needs is not on the way."""
    (tmp_path / "way" / "sub").mkdir(parents=True)
    for name, text in (
        ("one", "from way.sub import two\ndef go():\n two.go()\n"),
        ("sub/two", "from way import three\nfrom way.sub import once\ndef go():\n once.go()\n three.go()\n"),
        ("three", "def go():\n pass\n"),
        ("sub/once", "def go():\n global go\n go = int\n"),
    ):
        (tmp_path / "way" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    one = importlib.import_module("way.one")
    path = trace(one.go, tmp_path / "way")
    assert [file.as_posix() for file in path.files] == ["one.py", "sub/two.py", "three.py"]
    assert path.changes == 2


def test_a_folder_is_one_of_the_tree():
    path = CallPath(tuple(map(Path, ("a/b.py", "a/c/d.py", "kits/x/e.py", "kits/y/f.py", "g.py"))))
    assert (path.changes, path.subfolder_changes) == (3, 4)


def test_what_grows_is_refused_with_a_sentence(monkeypatch):
    limits = {
        "lines": measures.Limit(10, now=20),
        "files": measures.Limit(5),
        "names": measures.Limit(4, now=3),
    }
    monkeypatch.setattr(measures, "LIMITS", limits)
    assert measures.exceeded({"lines": 20, "files": 5, "names": 4}) == []
    assert measures.exceeded({"lines": 21, "files": 6, "names": 5}) == [
        "lines: 21, and 20 is the most on the way to 10",
        "files: 6, and 5 is the most",
        "names: 5, and 4 is the most",
    ]


def test_the_source_holds_its_measures(tree):
    counts, _ = measures.measure_source(tree)
    counts |= {measure: len(places) for measure, places in measures.measure_names(tree).items()}
    assert measures.exceeded(counts) == []


def test_the_ways_of_fit_and_export_stay_short():
    counts, files = measures.measure_paths()
    assert measures.exceeded(counts) == [], files
