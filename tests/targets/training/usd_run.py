"""Layers of USD in Newton with its importers: `python -m tests.targets.training.usd_run` prints JSON.

Each part's layers, and its Python file, are moved over the reference motions; the plain drive is what Newton
reads of the lower layer alone.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import tempfile
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import backemf as be
from backemf.targets.export import export
from backemf.targets.newton import bare_builder
from backemf.targets.replay import replay
from backemf.targets.training.usd import load_usd

PARTS = ("mx-106/m1", "mx-106/m4", "mx-64/m6", "xl-320/m4")
SAME, CLOSE = 1e-4, 0.03
"""Of the motion: how far layers and Python file may be apart, and both from the actuator that they carry,
RMS: the solver's own step."""


def moved(part: str) -> dict[str, Any]:
    """What Newton makes of one part."""
    servo = be.Actuator.read(part)
    usd = export(servo, "usd", joint="knee", replay=False)
    usd = replace(usd, actuator=usd.carried)  # what was lost is the header's to say
    a, b = replay(usd, refine=False), replay(export(servo, "newton", replay=False), refine=False)
    spans = [float(np.ptp(case.native)) for case in a.cases]
    apart = max(float(np.max(np.abs(x.target - y.target))) for x, y in zip(a.cases, b.cases, strict=True))
    native = max(case.target_native / span for case, span in zip(a.cases, spans, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        _, below = usd.write(folder)
        builder, _ = bare_builder()
        builder.add_usd(str(below))
    gains = [float(builder.joint_target_ke[0]), float(builder.joint_target_kd[0])]
    asked = [usd.numbers["KP"], usd.numbers["KD"]]
    wrong = [] if apart < SAME * max(spans) else [f"layers are {apart:.2g} rad from the Python file"]
    wrong += [] if native < CLOSE else [f"{native:.0%} of the motion from what it carries"]
    wrong += [] if np.allclose(gains, asked, rtol=1e-5) else [f"plain gains {gains}, asked {asked}"]
    wrong += [] if math.isfinite(apart) else ["diverges"]
    return {
        "part": part,
        "simulator": a.simulator,
        "python": f"{1e6 * apart:.2g} urad",
        "native": f"{1e3 * a.rms:.2g} mrad",
        "plain": f"{gains[0]:.4g} N m/rad, {gains[1]:.4g} N m s/rad",
        "wrong": wrong,
    }


def main() -> None:
    """Print what came of it."""
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        load_usd()
        parts = [moved(part) for part in PARTS]
    print(json.dumps({"simulator": parts[0]["simulator"], "parts": parts}))


if __name__ == "__main__":
    main()
