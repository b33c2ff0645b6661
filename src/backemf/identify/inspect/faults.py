"""Everything that stands out in one log: faults, each seen on what the others leave when they are mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ...findings import Finding
from ...logs.log import Log
from ...physics.actuator import Actuator
from . import mend
from .command import command_findings, jump_findings, sign_findings
from .motion import clock_findings, encoder_findings, motion_findings, supply_findings, temperature_findings
from .rows import row_findings
from .samples import odd_findings, repeat_findings, wrap_findings
from .scale import RADIANS, unit_findings


class Remedy(NamedTuple):
    """What mends a fault."""

    mended: Callable[[Log, Mapping[str, float]], Log]
    """The log without the fault, by the numbers of its finding."""
    leaves_out: bool = False
    """Whether it only leaves out samples that are known to be wrong."""


REMEDIES: dict[str, Remedy] = {
    "wrapped_counter": Remedy(mend.unwrapped),
    "zeros": Remedy(mend.without_dropouts, leaves_out=True),
    "spikes": Remedy(mend.without_dropouts, leaves_out=True),
    **{unit: Remedy(mend.rescaled) for unit in RADIANS},
    "duplicates": Remedy(mend.without_repeats, leaves_out=True),
    "repeats": Remedy(mend.without_repeats, leaves_out=True),
    "lost_rows": Remedy(mend.with_lost_time),
    "wrong_sign": Remedy(mend.turned),
    "coarse_command": Remedy(mend.interpolated),
}
"""Fault by fault, in the order in which they are looked for and mended."""


def faults_of(log: Log, actuator: Actuator | None = None) -> list[Finding]:
    """Faults of one log that can be mended; those of units need the actuator."""
    if "position" not in log or len(log) < 40 or any(motion_findings(log)):
        return []
    looks: tuple[Callable[[Log], Iterator[Finding]], ...] = (
        wrap_findings,
        odd_findings,
        lambda one: iter(()) if actuator is None else unit_findings(one, actuator),
        repeat_findings,
        row_findings,
        sign_findings,
        command_findings,
    )
    found: list[Finding] = []
    for look in looks:
        seen = list(look(log))
        for fault in seen:
            if fault.numbers.get("sure", 1.0):  # otherwise it may be no fault at all
                log = REMEDIES[fault.code].mended(log, fault.numbers)
        found += seen
    return [_of(log, fault) for fault in found]


def limits_of(log: Log, mended: Log | None = None) -> list[Finding]:
    """What a log cannot tell well, without being wrong; of its position as it is mended."""
    rows, mended = [*clock_findings(log)], mended or log
    if "position" in log:
        rows += [*encoder_findings(mended), *motion_findings(mended), *jump_findings(mended)]
    return [_of(log, f) for f in [*rows, *supply_findings(log), *temperature_findings(log)]]


def jumps_of(logs: Iterable[Log]) -> list[Finding]:
    """Commands whose jumps are open by a sample, which a model cannot make good."""
    return [_of(log, fault) for log in logs for fault in jump_findings(log)]


def _of(log: Log, fault: Finding) -> Finding:
    return replace(fault, text=f"{log.name}: {fault.text}", logs=(log.name,))
