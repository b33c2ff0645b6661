"""Recording needs pseudo-terminals and signals: there are none on Windows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []

HERE = Path(__file__).parent
ON_THE_CLOCK = {"test_buses.py", "test_kills.py", "test_loop.py", "test_record.py", "test_virtual.py"}
"""Files whose tests wait for servos that answer in real time: a machine busy with other tests is too late."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE and item.path.name in ON_THE_CLOCK:
            item.add_marker(pytest.mark.realtime)
