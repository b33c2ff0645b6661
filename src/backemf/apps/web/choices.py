"""What the forms offer: parts, benches, targets and laws, as the library has them."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...identify.fit_options import law_names
from ...kits.recorder.commands import RecordWords
from .command_lines import choices_of, form_fields, offered_commands, own_forms
from .uploads import MODELS, kinds, recordings


def choices() -> dict[str, Any]:
    """Everything that a form lets one choose from."""
    from ...datasheets import parts
    from ...datasheets.datasheet import ENTRIES
    from ...logs.log import UNITS as SI
    from ...logs.mapping import SIGNALS
    from ...physics.bench import BENCHES
    from ...targets.table import TARGETS

    return {
        "parts": list(parts.names()),
        "benches": {name: _fields(cls) for name, cls in BENCHES.items()},
        "entries": {name: {"unit": kind.unit, "what": kind.text} for name, kind in ENTRIES.items()},
        "signals": [{"name": name, "unit": SI.get(name, "s")} for name in SIGNALS],
        "units": OF_SIGNALS,
        "frictions": law_names(),
        "targets": {name: row.what for name, row in TARGETS.items()},
        "characterize": form_fields("characterize"),
        "buses": choices_of(RecordWords, "bus"),
        "pages": own_forms(),
        "commands": offered_commands(),
        "kinds": {"all": [*kinds()], "recordings": [*recordings()], "models": [*MODELS]},
    }


OF_SIGNALS = {
    "time": ["s", "ms", "us", "ns"],
    "position": ["rad", "deg", "rev", "mrad", "m", "mm", "in"],
    "position_target": ["rad", "deg", "rev", "mrad", "m", "mm", "in"],
    "velocity": ["rad/s", "deg/s", "rpm", "rev/s", "m/s"],
    "velocity_target": ["rad/s", "deg/s", "rpm", "rev/s", "m/s"],
    "current": ["A", "mA"],
    "voltage": ["V", "mV"],
    "voltage_target": ["V", "mV"],
    "supply": ["V", "mV"],
    "torque": ["N m", "N cm", "kgf cm", "N"],
    "torque_target": ["N m", "N cm", "kgf cm", "N"],
    "temperature": ["degC", "K"],
    "enabled": [""],
}
"""Units that people's columns are in, for each signal; others may be typed."""


def _fields(cls: Any) -> list[dict[str, Any]]:
    """What a bench is made of: name, unit, and whether it must be given."""
    rows = []
    for f in dataclasses.fields(cls):
        if "unit" in f.metadata:
            default: Any = f.default
            needed = default is dataclasses.MISSING
            shown = None if needed or default is None else float(default)
            rows.append({"name": f.name, "unit": f.metadata["unit"], "needed": needed, "usual": shown})
    return rows
