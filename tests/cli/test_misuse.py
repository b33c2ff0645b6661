"""What is no command line is refused in our own words, whatever the command: what was given, what was
expected, the nearest names, what to do. Nothing of the framework's own wording comes through."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import typer

from backemf.apps.cli.main import app, main

FRAMEWORK = ("Usage:", "Error:", "Try '", "No such", "Missing ", "Got unexpected", "requires an arg")


def commands(group: Any = None, words: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every command by its words; groups too."""
    group = typer.main.get_command(app) if group is None else group
    found = {words: group} if words else {}
    for name, one in getattr(group, "commands", {}).items():
        found |= commands(one, (*words, name))
    return found


def said(monkeypatch, capsys, *words: str) -> str:
    """The one line with which a command line is refused."""
    monkeypatch.setattr(sys, "argv", ["backemf", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2, words
    line = capsys.readouterr().err.strip()
    assert line.startswith("backemf: "), line
    assert not any(word in line for word in FRAMEWORK), line
    return line.removeprefix("backemf: ")


ALL = commands()
VERBS = {words: one for words, one in ALL.items() if not hasattr(one, "commands")}


@pytest.mark.parametrize("words", [(), ("measure",), ("convert",)])
def test_a_misspelt_command_names_the_nearest(words, monkeypatch, capsys):
    for word in (name[-1] for name in ALL if name[:-1] == words):
        swapped = word[0] + word[2] + word[1] + word[3:]
        if swapped == word or (*words, swapped) in ALL:
            continue
        line = said(monkeypatch, capsys, *words, swapped)
        assert line.startswith(f"unknown command {swapped!r}; did you mean "), line
        assert word in line


def test_every_option_of_every_command_is_found_by_a_misspelling(monkeypatch, capsys):
    assert len(VERBS) > 45
    for words, command in VERBS.items():
        own = [p.opts[0] for p in command.params if p.opts[0].startswith("--") and len(p.opts[0]) > 6]
        for word in own[:1]:
            line = said(monkeypatch, capsys, *words, word[:-2] + word[-1] + word[-2] + "x")
            assert line.startswith(f"unknown option {word[:-2] + word[-1] + word[-2] + 'x'!r}"), line
            assert word in line
            assert len(line) < 300  # not every option of the command


def test_what_is_missing_is_named_with_what_it_means(monkeypatch, capsys):
    for words, command in VERBS.items():
        needed = [p for p in command.params if p.required]
        if needed:
            first = needed[0]
            name = first.opts[0] if first.opts[0].startswith("-") else repr(first.name)
            line = said(monkeypatch, capsys, *words)
            assert line.startswith(f"{name} is missing; `backemf {' '.join(words)}` needs it: "), line
            assert str(first.help)[:20] in line or "{" in str(first.help)
        valued = [p for p in command.params if p.opts[0].startswith("--") and not p.is_flag]
        for p in valued[-1:] + [p for p in valued if p.nargs == 2]:
            few = "too few values" if p.nargs == 2 else "no value"
            assert said(monkeypatch, capsys, *words, p.opts[0]).startswith(f"{p.opts[0]} has {few}; expected")
    line = said(monkeypatch, capsys, "datasheet", "mx-106", "--json=1")
    assert line == "--json is given a value, and it is a switch; write --json alone"


def test_a_word_too_many_and_the_same_in_json(monkeypatch, capsys):
    line = said(monkeypatch, capsys, "catalog", "servo", "feetech")
    assert line.startswith("feetech is too much; `backemf catalog` takes word and options")
    monkeypatch.setattr(sys, "argv", ["backemf", "fit", "run.csv", "--json"])
    with pytest.raises(SystemExit):
        main()
    told = json.loads(capsys.readouterr().out)
    assert told["error"] == "--start is missing"
    assert told["remedy"].startswith("`backemf fit` needs it: What to start from")
