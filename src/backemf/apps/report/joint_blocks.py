"""Sliders for a robot's joints: each is run by itself, along the recorded motion of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...identify.predict import role, run
from ...logs.log import Log
from ...results.fit import Fit
from ..playground.blocks import Block, Drawing
from ..playground.panel import live
from .figures.fit import measured_and_predicted


def joint_blocks(fit: Fit, logs: Sequence[Log]) -> list[Block]:
    """Sliders and figures of one joint: of its fit (`fit.joints[NAME]`) on its recordings, each on a bench
    that is all the others, as `identify.joints.along.joint_log` makes them."""
    runs = [replace(run(fit, log), role=role(fit, log.name.rpartition("/")[0])) for log in logs]
    stated = {path: p.prior[0] for path, p in fit.parameters.items() if p.prior is not None}
    sliders = live(fit, runs, stated, "stated")
    unit = "mrad" if fit.actuator.motion == "rotary" else "mm"
    figures = [
        Drawing(
            figure=measured_and_predicted(one, one.log.name),
            heading=one.log.name,
            text=f"{one.role}; by itself, off by {1e3 * one.error:.3g} {unit} on average",
            source=one,
        )
        for one in runs
    ]
    return [*([sliders] if sliders is not None else []), *figures]
