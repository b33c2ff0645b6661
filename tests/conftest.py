"""What every test may use: the shared recordings, where they are present,
and what to do where something is not."""

from __future__ import annotations

import gc
import importlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

gc.set_threshold(50_000, 20, 50)
"""Tracing makes millions of objects that live: they need not be looked through as often as Python would."""
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false",
)
"""What JAX compiles here runs once and is thrown away: better compiled quickly than well."""
ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest test first, so that no worker waits for it in the end."""
    items.sort(key=lambda item: not item.name.startswith("test_demo_tells_its_story"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line at the end: how many tests were skipped, and for want of what."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if reasons:
        text = "; ".join(f"{n} because {reason}" for reason, n in reasons.most_common())
        terminalreporter.write_line(f"{len(skipped)} skipped: {text}")


def unavailable(what: str) -> None:
    """Skip on a stranger's machine; fail in CI, where everything must be present."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and CI must have it")
    pytest.skip(f"{what} is not on this machine")


def needed(package: str) -> Any:
    """A package that a test cannot do without: absent, it skips on a stranger's machine and fails in CI."""
    return importlib.import_module(package) if os.environ.get("CI") else pytest.importorskip(package)


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        unavailable("the folder of recorded data (../shared/data)")
    return SHARED
