"""Physics, written once: pure functions of scalars that JAX can trace; no files, no printing."""

import time

LOADED = time.time()
"""When the physics began to be loaded: sources that are newer are not what runs."""
