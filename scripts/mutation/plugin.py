"""A pytest plugin: how each test ended, how long it took and, where asked, which lines of the source it ran.

Settings come by environment: MUTANTS_RESULT is the file to write, MUTANTS_SOURCE the folder whose lines
count (none: they are not looked at), MUTANTS_MEMORY the most bytes the process may take, MUTANTS_CPU the
most seconds it may compute. How long a test took is time of computing, its children's included.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ON_IMPORT = ""
"""The context of lines that ran outside every test."""


class _Notes:
    """What is remembered while the tests run."""

    outcomes: dict[str, str] = {}
    seconds: dict[str, float] = {}
    errors: dict[str, str] = {}
    coverage: Any = None


def pytest_load_initial_conftests() -> None:
    """Before anything of ours is imported."""
    limit = os.environ.get("MUTANTS_MEMORY")
    if limit and sys.platform != "win32":  # elsewhere a mutant may take what there is
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
        seconds = int(os.environ["MUTANTS_CPU"])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    if source := os.environ.get("MUTANTS_SOURCE"):
        import coverage

        _Notes.coverage = coverage.Coverage(data_file=None, config_file=False, source=[source])
        _Notes.coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if _Notes.coverage is not None:
        _Notes.coverage.switch_context(item.nodeid)
    start = _computed()
    try:
        return (yield)
    finally:
        _Notes.seconds[item.nodeid] = _computed() - start
        if _Notes.coverage is not None:
            _Notes.coverage.switch_context(ON_IMPORT)


def _computed() -> float:
    """Seconds of computing so far, in this process and in those it waited for."""
    return time.process_time() + sum(os.times()[2:4])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = report.nodeid
    if report.outcome != "passed" or report.when == "call":
        _Notes.outcomes.setdefault(name, report.outcome)
    if report.failed:
        _Notes.outcomes[name] = report.outcome
        crash = getattr(report.longrepr, "reprcrash", None)
        _Notes.errors[name] = str(getattr(crash, "message", report.longrepr)).split("\n")[0][:200]
        _write({})  # a test that hangs later must not take this with it


def pytest_sessionfinish() -> None:
    lines: dict[str, dict[str, list[int]]] = {}
    if _Notes.coverage is not None:
        _Notes.coverage.stop()
        measured, source = _Notes.coverage.get_data(), Path(os.environ["MUTANTS_SOURCE"])
        for file in measured.measured_files():
            for line, contexts in measured.contexts_by_lineno(file).items():
                for context in contexts:
                    name = Path(file).relative_to(source).as_posix()
                    lines.setdefault(context, {}).setdefault(name, []).append(line)
    _write(lines)


def _write(lines: dict[str, dict[str, list[int]]]) -> None:
    content = {
        "outcomes": _Notes.outcomes,
        "seconds": _Notes.seconds,
        "errors": _Notes.errors,
        "lines": lines,
    }
    Path(os.environ["MUTANTS_RESULT"]).write_text(json.dumps(content), encoding="utf-8")
