"""Every code of a finding: what it is about, what it means and what to do. The table is finding_codes.toml,
and docs/findings.md is made of it.

Codes are stable: programs and stored files name them. Other packages add theirs through the entry points
`backemf.findings`, each a `Code`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .registry import Registry


class Code(NamedTuple):
    """A row of the table of codes."""

    about: str
    """What it is found in: a sheet, a log, a fit, ..."""
    meaning: str
    """What is so, in a sentence without numbers."""
    remedy: str = ""
    """What to do about it, in general; a finding's own remedy has the numbers."""
    since: str = "0.1"
    """The first release that has it."""


_PRINTED = (
    "nominal_voltage voltage_range resistance inductance torque_constant back_emf_constant "
    "speed_constant no_load_speed no_load_current stall_torque stall_current nominal_speed "
    "nominal_torque nominal_current peak_torque peak_current peak_time current_rate saturation_current "
    "torque_speed max_efficiency max_power speed_torque_gradient mechanical_time_constant "
    "electrical_time_constant rotor_inertia reflected_inertia coulomb_torque viscous_friction "
    "stiction_torque stribeck_velocity stribeck_exponent bristle_stiffness bristle_damping "
    "bristle_damping_exponent viscous_quadratic viscous_cubic iron_loss thermal_resistance "
    "thermal_resistance_winding thermal_resistance_housing thermal_time_constant "
    "thermal_time_constant_housing thermal_capacitance ambient_temperature reference_temperature "
    "max_winding_temperature resistance_coefficient magnet_coefficient derating_start derating_end "
    "safe_current gear_ratio gear_efficiency backlash cogging_torque cogging_percent cogging_periods "
    "cogging_phase n_poles n_slots mass standby_current "
)
"""What a datasheet prints, and may print twice."""


def _read_table() -> Iterator[tuple[str, Code]]:
    """Rows of the table, and one for each entry that a sheet may print twice."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for about, rows in table.items():
        yield from ((code, Code(about, *row)) for code, row in rows.items())
    for name in _PRINTED.split():
        meaning = f"{name.replace('_', ' ')} is printed twice and differs"
        yield f"{name}_twice", Code("datasheet", meaning, "keep the one whose conditions are yours")


FINDINGS: Registry[Code] = Registry(
    "finding", dict(_read_table()), group="backemf.findings", check=lambda code: Code(*code)
)
"""Every code by name, grouped by what it is about."""
