"""Systems as kernels of a page: written once for each structure, whatever their numbers."""

from __future__ import annotations

import base64
import functools
import re
from importlib.resources import files
from typing import Any

import numpy as np

from ...engine.compile.compiler import Structure
from ...engine.rows import DELAY, PAIRS
from ...engine.simulate import is_late
from ...engine.system import ActuatorSystem


def script(name: str) -> str:
    """The text of a script or style sheet of this folder."""
    return files("backemf.apps.playground").joinpath(name).read_text(encoding="utf-8")


def rows_script() -> str:
    """What lays out the inputs of kernels and runs them."""
    return files("backemf.engine").joinpath("rows.js").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=256)
def _text(structure: Structure) -> str:
    from ...engine.compile.dialects.js import emit
    from ...engine.compile.lower import lower

    system = structure.system
    written = emit("", lower(system, delayed=DELAY in system.parameters))
    return re.sub(r"^ +", "", written, flags=re.MULTILINE).strip()


class PageKernels:
    """The kernels of a page, collected while its systems are laid out."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[Structure, int] = {}

    def place(self, system: ActuatorSystem) -> int:
        """Which kernel runs a system."""
        structure = Structure(system)
        if structure not in self._places:
            text = _text(structure)
            if text not in self.texts:
                self.texts.append(text)
            self._places[structure] = self.texts.index(text)
        return self._places[structure]

    def script(self) -> str:
        """`KERNELS`, in the order of their places."""
        return f"const KERNELS = [\n{','.join(self.texts)}];\n"

    def page_script(self, *names: str) -> str:
        """The kernels, what runs them, and scripts of this folder, in a scope of their own."""
        parts = [rows_script(), self.script(), *map(script, names)]
        return '"use strict";\n(function () {\n' + "\n".join(parts) + "})();\n"


def layout(system: ActuatorSystem) -> dict[str, Any]:
    """What a script must know of a system besides its kernel: how wide its rows are, which inputs come late,
    where positions and velocities stand."""
    states, names = system.states, list(system.parameters)
    pairs = [[states.index(q), states.index(w)] for q, w in PAIRS if q in states]
    return {
        "widths": {"states": len(states), "seen": len(system.outputs)},
        "width": len(system.inputs),
        "moved": [is_late(name) for name in system.inputs],
        "pairs": pairs,
        "delay": names.index(DELAY) if DELAY in names else -1,
    }


def pack(values: Any, *, short: bool = False) -> dict[str, Any]:
    """Numbers for `unpacked` in the page: even ones as a rule, others as base64; `short` in single
    precision."""
    array = np.ascontiguousarray(values, float).ravel()
    n = len(array)
    if n > 2:
        step = float(array[-1] - array[0]) / (n - 1)
        even = array[0] + step * np.arange(n)
        if np.isfinite(array).all() and np.abs(array - even).max() <= 1e-12 * max(1.0, np.abs(array).max()):
            return {"from": float(array[0]), "step": step, "n": n}
    kind = "f4" if short else "f8"
    return {kind: base64.b64encode(array.astype(f"<{kind}").tobytes()).decode("ascii")}
