"""Physics, written once: pure functions of scalars that JAX can trace; no files, no printing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LOADED = time.time()
"""When the physics began to be loaded: sources that are newer are not what runs."""

store: Callable[[], Any]
"""Gives the module that reads and writes nouns: bound by the package, because the physics knows no files."""
sources: Callable[[], Any]
"""Gives the module that reads actuators from other people's files: bound likewise."""
