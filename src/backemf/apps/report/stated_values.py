"""A fit's numbers beside those stated before it: by the datasheet, or by whoever started the fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...datasheets.datasheet import Datasheet
from ...identify.parameters import priors
from ...physics.actuator import Actuator
from ...physics.steady import no_load_speed, stall_torque
from ...results.fit_result import Fit

N_DRAWS = 200


@dataclass(frozen=True, kw_only=True)
class StatedValue:
    """One number with its error, and what was stated of it."""

    name: str
    value: float
    error: float
    unit: str
    low: float | None = None
    high: float | None = None
    told_by: str = ""
    stated: float | None = None
    stated_error: float | None = None

    @property
    def ratio(self) -> float | None:
        """Found over stated."""
        return self.value / self.stated if self.stated else None

    @property
    def z(self) -> float | None:
        """Difference in standard errors of both together."""
        if self.stated is None or self.stated_error is None:
            return None
        width = math.hypot(self.error, self.stated_error)
        return (self.value - self.stated) / width if width > 0 else None

    def summary(self) -> dict[str, Any]:
        """As plain data, for `--json`."""
        stated = {"value": self.stated, "error": self.stated_error, "unit": self.unit}
        fitted = {"low": self.low, "high": self.high, "told_by": self.told_by} if self.told_by else {}
        compared = {"stated": None if self.stated is None else stated, "ratio": self.ratio, "z": self.z}
        return {"value": self.value, "error": self.error, "unit": self.unit, **fitted, **compared}


def parameters(fit: Fit, sheet: Datasheet | None) -> tuple[StatedValue, ...]:
    """Every fitted parameter; a sheet's word comes before what the fit stored as stated."""
    told = {} if sheet is None else priors(fit.actuator, sheet)
    rows = []
    for path, p in fit.parameters.items():
        stated = told.get(path, p.prior)
        value, error = stated if stated is not None else (None, None)
        same = {key: getattr(p, key) for key in ("value", "error", "unit", "low", "high", "told_by")}
        rows.append(StatedValue(name=path, **same, stated=value, stated_error=error))
    return tuple(rows)


def performance(fit: Fit, sheet: Datasheet | None) -> tuple[StatedValue, ...]:
    """Stall torque and no-load speed of the fitted actuator with their errors, beside what a sheet prints."""
    rotary = fit.actuator.motion == "rotary"
    drawn: Sequence[Actuator] = fit.draws(N_DRAWS)
    rows = []
    for name, words, unit, of in (
        ("stall_torque", "stall torque" if rotary else "stall force", "N m" if rotary else "N", stall_torque),
        ("no_load_speed", "no-load speed", "rad/s" if rotary else "m/s", no_load_speed),
    ):
        printed = None if sheet is None else sheet.get(name, fit.actuator.drive.supply)
        voltage = (printed.voltage if printed is not None else None) or fit.actuator.drive.supply
        if voltage is None:
            continue
        value = of(fit.actuator, voltage)
        error = float(np.std([of(a, voltage) for a in drawn]))
        said = {}
        if printed is not None:
            gear, to_output = fit.actuator.gearbox, 1.0
            if printed.side == "rotor" and gear.ratio != 1:
                torque = name == "stall_torque"
                to_output = float(gear.output_torque(1.0)) if torque else 1.0 / abs(gear.ratio)
            said["stated"] = printed.value * to_output
            said["stated_error"] = printed.half * to_output / math.sqrt(3)
        rows.append(
            StatedValue(name=f"{words} at {voltage:.3g} V", value=value, error=error, unit=unit, **said)
        )
    return tuple(rows)
