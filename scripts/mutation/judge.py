"""What becomes of a mutant: the tests that reach it, until one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .reach import LONGEST, PACKAGE, Reach
from .sandbox import Ended, Sandbox
from .sites import Mutant

COMPILED = (f"{PACKAGE}/engine/",)
"""Rooms whose every change compiles all kernels anew; the other rooms' mutants share a cache of them, where a
kernel goes by what the physics says."""
FIRST = 25
"""Tests of the first round, which are over soon; most mutants do not survive them."""
SLOWER, START = 3.0, 60.0
"""A run may take this many times the seconds its tests once took, and these seconds more, before it hangs."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a mutant."""

    killed: bool
    by: str = ""
    """The test that noticed, or what else ended it."""
    error: str = ""
    n_tests: int = 0
    seconds: float = 0.0


def judged(mutant: Mutant, sandbox: Sandbox, reach: Reach, budget: float) -> Verdict:
    """Run the tests for a mutant until one fails: a few that are quick, then as many as the budget allows."""
    kernels = None if mutant.file.startswith(COMPILED) else sandbox.kernels
    n_first = min(len(reach.direct), FIRST) or FIRST
    chosen, cost = [], 0.0
    for test in [*reach.direct, *reach.others]:
        if not chosen or cost + test.seconds <= budget:
            chosen.append(test)
            cost += test.seconds
    spent, n_run = 0.0, 0
    for tests in (chosen[:n_first], chosen[n_first:]):
        if not tests:
            continue
        asked, limit = [t.name for t in tests], SLOWER * sum(t.seconds for t in tests) + START
        with sandbox.changed(mutant):
            ended = sandbox.run(asked, "-x", limit=limit, kernels=kernels)
        spent += ended.seconds
        n_run += len(ended.notes.get("outcomes", {})) or len(tests)
        if ended.code is None:
            return Verdict(killed=True, by="time", error="it hangs", n_tests=n_run, seconds=spent)
        if ended.failed:
            name = ended.failed[0]
            error = ended.notes["errors"].get(name, "")
            return Verdict(killed=True, by=name, error=error, n_tests=n_run, seconds=spent)
        if ended.code:
            return Verdict(killed=True, by=_no_test(sandbox, asked, ended), n_tests=n_run, seconds=spent)
    return Verdict(killed=False, n_tests=n_run, seconds=spent)


def _no_test(sandbox: Sandbox, asked: list[str], ended: Ended) -> str:
    """Tests that could not even start: the mutant's doing, if they can be collected without it."""
    plain = sandbox.run(asked, "--collect-only", limit=300.0, kernels=sandbox.kernels)
    if plain.code:
        raise SystemExit(f"tests cannot be collected from the unchanged source:\n{plain.output[-3000:]}")
    return "crash" if ended.code < 0 else "import"  # type: ignore[operator]  # it ended: None is told before


def unsound(sandbox: Sandbox, tests: Sequence[str]) -> set[str]:
    """Of the tests that killed something, those that fail on the unchanged source too."""
    if not tests:
        return set()
    ended = sandbox.run(list(tests), limit=LONGEST, kernels=sandbox.kernels)
    passed = {name for name, outcome in ended.notes.get("outcomes", {}).items() if outcome == "passed"}
    return set(tests) - passed
