"""What every test may use: the shared recordings, where they are present,
and what to do where something is not."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

gc.set_threshold(50_000, 20, 50)
"""Tracing makes millions of objects that live: they need not be looked through as often as Python would."""
ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"


def unavailable(what: str) -> None:
    """Skip on a stranger's machine; fail in CI, where everything must be present."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and CI must have it")
    pytest.skip(f"{what} is not on this machine")


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        unavailable("the folder of recorded data (../shared/data)")
    return SHARED
