"""Every command with words and files that nobody should give it:
it works or says why not, and leaves nothing behind."""

from __future__ import annotations

import itertools
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backemf.apps.cli.main import FAULT

from ..cli.test_terminal import COMMANDS
from . import mutations
from .lines import CONFLICTS, KINDS, WHOLE, Line, hostile, mixed
from .test_readers import Worker

PER_WORD = int(os.environ.get("BACKEMF_HOSTILE", "0"))
"""Hostile lines for each word of each command; `make proofs` has more. At 0 every second word has one."""
OLD = b'{"old": 1}\n'


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("worker") / "errors.txt", "tests.fuzz.command_worker")
    yield made
    made.close()


def lines(name: str) -> list[Line]:
    """The lines of one command: of every word some of the hostile values, the same ones each time,
    and switches among them."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    parameters: list[Any] = COMMANDS[name].params  # type: ignore[attr-defined]  # of a command
    switches = [p.opts[0] for p in parameters if p.name in ("json", "strict", "force")]
    made = [Line((*name.split(), *WHOLE[name][0], *WHOLE[name][1]))]
    made += [Line((*name.split(), *words.split(" "))) for words in CONFLICTS.get(name, ())]
    for place, parameter in enumerate(parameters):
        if parameter.name == "help":
            continue
        given = list(hostile(name, parameter, 3 * max(PER_WORD, 1)))
        assert given, f"{name} has a new word {parameter.name!r}: say in lines.py what is hostile to it"
        most = PER_WORD * (1 + len(KINDS.get((name, parameter.name), ()))) or 1 - place % 2
        chosen = rng.permutation(len(given))[:most]
        made += [mixed(given[k], rng, switches) for k in sorted(chosen)]
    return made


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() and p.name != "locked.json" else None
        for p in sorted(folder.rglob("*"))
    }


def complaints(words: list[str], answer: tuple, before: dict, after: dict) -> list[str]:
    """What is wrong with the way a command ended."""
    if len(answer) == 3:
        return [answer[1]]
    code, out, err, _ = answer
    if isinstance(code, str):
        return [code]
    wrong = []
    if code not in (0, 1, 2) or (code == 1 and "--strict" not in words):
        wrong.append(f"exit code {code}")
    if code == 2 and not err.strip():
        wrong.append("exit code 2 and nothing on stderr")
    wrong += [f"{text!r} is printed" for text in ("Traceback", FAULT) if text in out + err]
    if "--json" in words:
        try:
            told = json.loads(out, parse_constant=lambda text: pytest.fail(text))
            if ("error" in told and isinstance(told["error"], str)) != (code == 2):
                wrong.append(f"exit code {code}, but the JSON has {list(told)}")
        except (ValueError, pytest.fail.Exception) as error:
            wrong.append(f"no JSON: {error} {out[:80]!r}")
    allowed = {
        f"here/{p}"
        for option in ("-o", "--output", "--plot", "--save-map", "--sheet")
        for a, p in itertools.pairwise(words)
        if a == option
    }
    new = {
        name
        for name in set(after) - set(before)
        if name.split("/")[-1].startswith(".")
        or name.endswith(".part")
        or (code and not _inside(name, allowed))
    }
    if new:
        wrong.append(f"leaves {new}")
    lost = {name for name, content in before.items() if after.get(name, b"") != content}
    if lost and not ("--force" in words and code in (0, 1)):
        wrong.append(f"changes {lost}")
    return wrong


def _inside(name: str, allowed: set[str]) -> bool:
    """Whether a file is one that was asked for, or lies in a folder that was."""
    return any(name == place.rstrip("/") or name.startswith(f"{place.rstrip('/')}/") for place in allowed)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_works_or_says_why_not(tmp_path, valid, inputs, worker, name):
    wrong, codes = [], []
    given = lines(name)
    whole = snapshot(inputs)
    for k, line in enumerate(given):
        top = tmp_path / f"{k}"
        folder = top / "here"
        (folder / "a folder").mkdir(parents=True)
        (folder / "old.json").write_bytes(OLD)
        (folder / "locked.json").write_bytes(OLD)
        (folder / "locked.json").chmod(0)
        broken, label = "", ""
        if line.broken is not None:
            kind, number = line.broken
            of_kind = list(mutations.of(kind, valid[kind][1], np.random.default_rng(number)))
            label, content = of_kind[int(np.random.default_rng([number, k]).integers(len(of_kind)))]
            broken = f"broken {Path(valid[kind][0]).name}"
            (folder / broken).write_bytes(content)
        words = [w.replace("{in}", str(inputs)).replace("{broken}", broken) for w in line.words]
        before = snapshot(top)
        answer = worker.ask(str(folder), words)
        bad = complaints(words, answer, before, snapshot(top))
        codes.append(answer[0])
        if bad:
            shown = " ".join(repr(w[:80]) for w in words)
            wrong.append(f"backemf {shown} ({label}): {'; '.join(bad)}")
    assert not wrong, f"{len(wrong)} of {len(given)} lines:\n" + "\n".join(wrong)
    assert snapshot(inputs) == whole
    # power needs a robot's recording, which is none of the inputs: tests/sizing has the whole line
    assert codes[0] == (2 if name in ("demo", "record", "web", "fleet retry", "power") else 0), (
        "the whole line does not work: is anything run at all?"
    )


def test_there_are_enough_lines():
    assert set(WHOLE) == set(COMMANDS)
    assert sum(len(lines(name)) for name in COMMANDS) >= 300
