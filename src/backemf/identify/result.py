"""Fit: the actuator that logs make of a start, with an error on every number and an honest word on what they cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data import store
from ..errors import BackemfError
from ..findings import Finding
from ..model.actuator import Actuator
from ..tables import number, table


@dataclass(frozen=True, kw_only=True)
class Found:
    """One fitted parameter."""

    path: str
    value: float
    error: float
    """Standard error."""
    low: float
    high: float
    """95 % interval."""
    unit: str
    start: float
    prior: tuple[float, float] | None = None
    """(value, error) stated before the fit, or None."""
    told_by: str = "data"
    """'data', 'prior' where the data leaves it open, or 'both'."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where one start ended."""

    cost: float
    mae: float
    """Mean absolute error of position on the training logs."""
    ended: str
    n_evaluations: int
    parameters: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The result of `fit`. `print(fit)` is a table; `fit.actuator` goes into exports and simulations."""

    actuator: Actuator
    parameters: Mapping[str, Found]
    training: Mapping[str, float]
    """Log name -> mean absolute error of position [rad or m]."""
    held_out: Mapping[str, float]
    noise_floor: float
    """Mean absolute error that the noise of the recordings alone would leave."""
    findings: tuple[Finding, ...]
    starts: tuple[Start, ...]
    correlation: np.ndarray = field(repr=False)
    """Between the parameters, in their order."""
    substeps: int
    seed: int
    cpu_s: float
    friction: str

    @property
    def training_mae(self) -> float:
        return float(np.mean(list(self.training.values())))

    @property
    def held_out_mae(self) -> float | None:
        return float(np.mean(list(self.held_out.values()))) if self.held_out else None

    def summary(self) -> list[str]:
        """One line per parameter, for the header of an export."""
        return [
            f"{p.path} = {number(p.value)} +- {number(p.error, 2)} {p.unit} (95 %: {number(p.low)} to {number(p.high)}; told by {p.told_by})"
            for p in self.parameters.values()
        ]

    def __str__(self) -> str:
        rows = []
        for p in self.parameters.values():
            stated = "-" if p.prior is None else f"{number(p.prior[0])} +- {number(p.prior[1], 2)}"
            rows.append((p.path, number(p.value), number(p.error, 2), f"{number(p.low, 3)} .. {number(p.high, 3)}", p.unit, stated, p.told_by))
        text = table(rows, ("parameter", "value", "error", "95 % interval", "unit", "stated before", "told by"))
        unit = "mrad" if self.actuator.motion == "rotary" else "mm"
        errors = f"Mean absolute error {1e3 * self.training_mae:.3g} {unit} on {len(self.training)} logs"
        if self.held_out_mae is not None:
            errors += f", {1e3 * self.held_out_mae:.3g} {unit} on {len(self.held_out)} held out"
        errors += f"; noise floor {1e3 * self.noise_floor:.3g} {unit}. {len(self.starts)} starts, {self.cpu_s:.2g} s of CPU."
        notes = "".join(f"\n  - {f.code}: {f.text}\n    {f.remedy}" for f in self.findings)
        return f"Friction {self.friction}. {errors}\n\n{text}" + (f"\n\nFindings:{notes}" if notes else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is stored, and the keys of `--json`."""
        return {
            "noun": "Fit",
            "actuator": store.dump(self.actuator),
            "parameters": {k: asdict(p) for k, p in self.parameters.items()},
            "training_mae": self.training_mae,
            "held_out_mae": self.held_out_mae,
            "training": dict(self.training),
            "held_out": dict(self.held_out),
            "noise_floor": self.noise_floor,
            "findings": [{"code": f.code, "text": f.text, "remedy": f.remedy, "numbers": dict(f.numbers)} for f in self.findings],
            "starts": [{**asdict(s), "cost": s.cost if math.isfinite(s.cost) else None, "mae": s.mae if math.isfinite(s.mae) else None} for s in self.starts],
            "correlation": self.correlation.tolist(),
            "substeps": self.substeps,
            "seed": self.seed,
            "cpu_s": self.cpu_s,
            "friction": self.friction,
        }

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Store as versioned JSON; an existing file is kept unless `force`."""
        return store.write_json({"backemf": store.VERSION, **self.to_dict()}, path, force=force)

    @staticmethod
    def read(path: Path | str) -> Fit:
        """The fit that `write` stored."""
        content = store.read_json(path)
        if content.get("noun") != "Fit":
            raise store.StoreError(f"{path} holds no Fit")
        try:
            return Fit(
                actuator=store.load(content["actuator"], str(path)),
                parameters={k: Found(**{**p, "prior": tuple(p["prior"]) if p["prior"] else None}) for k, p in content["parameters"].items()},
                training=content["training"],
                held_out=content["held_out"],
                noise_floor=content["noise_floor"],
                findings=tuple(Finding(**f) for f in content["findings"]),
                starts=tuple(
                    Start(**{**s, "cost": math.inf if s["cost"] is None else s["cost"], "mae": math.inf if s["mae"] is None else s["mae"]})
                    for s in content["starts"]
                ),
                correlation=np.array(content["correlation"]),
                substeps=content["substeps"],
                seed=content["seed"],
                cpu_s=content["cpu_s"],
                friction=content["friction"],
            )
        except (KeyError, TypeError) as error:
            raise store.StoreError(f"{path}: not a complete Fit: {error}") from None
        except BackemfError as error:
            raise store.StoreError(f"{path}: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fit) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]
