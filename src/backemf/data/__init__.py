"""What came from outside: datasheets, logs, stored nouns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

signs: Callable[[], Any]
"""Gives the module that asks gravity about the signs of a robot's joints: bound like `robots`."""
robots: Callable[[], Any]
"""Gives the module that reads robots from their models: bound by the package, because it needs MuJoCo."""
