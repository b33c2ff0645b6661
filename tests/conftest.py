"""What every test may use: the shared recordings, where they are present,
and what to do where something is not."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
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


ABSENT = {word for word in os.environ.get("BACKEMF_ABSENT", "").replace(",", " ").split() if word}
"""What a machine of CI lacks on purpose: "recordings", "peers". Nothing else may be absent."""
REASONS = {
    "recordings": r"recorded data",
    "peers": r"torch|warp|newton|drake|wpi|mjx|rustypot|peers",
    "": r"a small disk|there is a GPU|this MuJoCo|until MuJoCo 4|of POSIX|names of instructions|on Linux",
}
"""By what is absent: what reasons of skipped tests say. The last are of the machine, wherever it stands."""
OUTCOMES = ("passed", "failed", "skipped")
MOST_SKIPPED = 0.1
"""Share of the tests that may be skipped in CI for want of what is absent on purpose."""


def is_expected(reason: str) -> bool:
    """Whether a test may be skipped for that reason in CI."""
    return any(re.search(REASONS[word], reason) for word in ("", *(ABSENT & REASONS.keys())))


def skip_reasons(stats: Mapping[str, Sequence[Any]]) -> Counter[str]:
    """How many tests were skipped, by the reason."""
    return Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in stats.get("skipped", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip that nobody expects is a failure, and so are too many of those expected."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None or hasattr(session.config, "workerinput"):
        return
    reasons = skip_reasons(reporter.stats)
    unexpected = [reason for reason in reasons if not is_expected(reason)]
    n, of = sum(reasons.values()), sum(len(v) for k, v in reporter.stats.items() if k in OUTCOMES)
    if unexpected or n > max(MOST_SKIPPED * of, 5):
        reporter.write_line(
            f"\nskipped, and CI must not: {'; '.join(unexpected) or f'{n} of {of} tests'}", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line at the end: how many tests were skipped, and for want of what."""
    reasons = skip_reasons(terminalreporter.stats)
    if reasons:
        text = "; ".join(f"{n} because {reason}" for reason, n in reasons.most_common())
        terminalreporter.write_line(f"{sum(reasons.values())} skipped: {text}")


def unavailable(what: str) -> None:
    """Skip on a stranger's machine; fail in CI, where all must be present that is not said to be absent."""
    if os.environ.get("CI") and not is_expected(what):
        pytest.fail(f"{what} is missing, and CI must have it")
    pytest.skip(f"{what} is not on this machine")


def needed_mounts() -> None:
    """A disk of one's own size, which containers and some runners do not grant: skipped, and counted."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        unavailable("mounting a small disk")


def needed(package: str) -> Any:
    """A package that a test cannot do without: absent, it skips on a stranger's machine and fails in CI."""
    if importlib.util.find_spec(package.partition(".")[0]) is None:
        unavailable(package)
    return importlib.import_module(package)


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        unavailable("the folder of recorded data (../shared/data)")
    return SHARED
