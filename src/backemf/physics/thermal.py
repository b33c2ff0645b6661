"""Winding and housing temperature: how losses heat a motor,
and how heat changes its resistance and magnets."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import ClassVar

import numpy as np

from ..findings import Finding, finding
from .maths import Scalar, exp
from .quantity import Part, part, quantity

COPPER = 0.00393
"""Temperature coefficient of copper's resistance [1/K] at 20 degC (IEC 60028, annealed copper)."""

Temperatures = tuple[Scalar, ...]
"""(winding,) or (winding, housing), in degC."""


@part
class Heat(Part):
    """What every thermal model has: the ambient, and how the winding and the magnets change
    with temperature."""

    path: ClassVar[str] = "motor.thermal"
    nodes: ClassVar[tuple[str, ...]] = ()
    """Names of its temperatures, the winding's first."""

    ambient: float = quantity("degC", "T_a", default=25.0, least=-273.15)
    reference: float = quantity("degC", "T_0", default=25.0, least=-273.15)
    """Temperature at which resistance and torque constant are given."""
    resistance_coefficient: float = quantity("1/K", "alpha", default=COPPER, least=0)
    magnet_coefficient: float | None = quantity("1/K", "alpha_m", default=None, most=0)
    """Relative change of the magnets' flux, and so of the motor constant, per kelvin; negative."""
    max_temperature: float | None = quantity("degC", "T_max", default=None)
    """What the winding stands; warmer is a finding."""

    @property
    def total_resistance(self) -> float:
        """Winding to ambient [K/W]."""
        raise NotImplementedError

    @property
    def time_constants(self) -> dict[str, float]:
        """Of each node by itself [s]."""
        raise NotImplementedError

    def advance(self, temperatures: Temperatures, copper: Scalar, iron: Scalar, h: Scalar) -> Temperatures:
        """Temperatures after a while of constant heat.

        Args:
            temperatures: of the nodes before [degC].
            copper: heat in the winding [W].
            iron: heat of the iron loss [W].
            h: for so long [s].

        Returns:
            Of the nodes [degC].
        """
        raise NotImplementedError

    def leaving(self, temperatures: Temperatures) -> Scalar:
        """Heat flowing to the ambient [W]."""
        raise NotImplementedError

    def stored_heat(self, temperatures: Temperatures) -> Scalar:
        """Heat stored above ambient [J]."""
        raise NotImplementedError

    def in_parallel(self, n: int) -> Heat:
        """Of n motors side by side, as one of the same effect."""
        raise NotImplementedError

    def findings(self, time: np.ndarray, winding: np.ndarray, name: str = "") -> list[Finding]:
        """What is to be said of a winding that was followed: when it became too hot.

        Args:
            time: of samples [s].
            winding: its temperature at them [degC].
            name: of the joint, where there are several.
        """
        limit = self.max_temperature
        above = np.flatnonzero(winding > limit) if limit is not None else np.zeros(0, int)
        if limit is None or not len(above):
            return []
        k, most = int(above[0]), float(np.nanmax(winding))
        before = max(k - 1, 0)
        at = float(np.interp(limit, winding[[before, k]], time[[before, k]])) - float(time[0])
        text = (
            f"the winding{f' of {name}' if name else ''} is above its limit of {limit:.4g} degC from"
            f" {at:.3g} s on and reaches {most:.4g} degC."
        )
        remedy = "ask for less torque or for shorter, cool it, or take a stronger part: backemf size"
        return [finding("too_hot", text, remedy, limit=limit, time=at, most=most)]

    def one_node(self) -> Thermal:
        """The nearest model with the winding alone: the same temperature in the end, as quick at first."""
        raise NotImplementedError


@part
class Thermal(Heat):
    """One node: the winding, cooled straight to the ambient (MuJoCo's DC-motor note, equations 7 and 8).

    C dT/dt = P - (T - T_a) / R_T
    """

    resistance: float = quantity("K/W", "R_T", above=0)
    """Thermal resistance from winding to ambient."""
    capacitance: float = quantity("J/K", "C", above=0)
    """Heat capacity of the winding; the time constant is R_T C."""

    nodes: ClassVar[tuple[str, ...]] = ("winding_temperature",)

    @property
    def time_constant(self) -> float:
        """t_T = R_T C [s]."""
        return self.resistance * self.capacitance

    @property
    def time_constants(self) -> dict[str, float]:
        return {"winding": self.time_constant}

    @property
    def total_resistance(self) -> float:
        return self.resistance

    def in_parallel(self, n: int) -> Thermal:
        return replace(self, resistance=self.resistance / n, capacitance=n * self.capacitance)

    def one_node(self) -> Thermal:
        return self

    def advance(self, temperatures: Temperatures, copper: Scalar, iron: Scalar, h: Scalar) -> Temperatures:
        (T,) = temperatures  # the exact exponential
        R_T, C, T_a = self.resistance, self.capacitance, self.ambient
        steady = T_a + R_T * (copper + iron)
        return (steady + (T - steady) * exp(-h / (R_T * C)),)

    def leaving(self, temperatures: Temperatures) -> Scalar:
        return (temperatures[0] - self.ambient) / self.resistance

    def stored_heat(self, temperatures: Temperatures) -> Scalar:
        return self.capacitance * (temperatures[0] - self.ambient)


@part
class TwoNodeThermal(Heat):
    """Two nodes: the winding heats the housing, the housing the ambient; iron loss arises in the housing.

    C_1 dT_w/dt = P_cu - (T_w - T_h) / R_th1
    C_2 dT_h/dt = P_fe + (T_w - T_h) / R_th1 - (T_h - T_a) / R_th2
    """

    winding_resistance: float = quantity("K/W", "R_th1", above=0)
    housing_resistance: float = quantity("K/W", "R_th2", above=0)
    winding_capacitance: float = quantity("J/K", "C_1", above=0)
    housing_capacitance: float = quantity("J/K", "C_2", above=0)

    nodes: ClassVar[tuple[str, ...]] = ("winding_temperature", "housing_temperature")

    @property
    def total_resistance(self) -> float:
        return self.winding_resistance + self.housing_resistance

    @property
    def time_constants(self) -> dict[str, float]:
        return {
            "winding": self.winding_resistance * self.winding_capacitance,
            "housing": self.housing_resistance * self.housing_capacitance,
        }

    def in_parallel(self, n: int) -> TwoNodeThermal:
        return replace(
            self,
            winding_resistance=self.winding_resistance / n,
            housing_resistance=self.housing_resistance / n,
            winding_capacitance=n * self.winding_capacitance,
            housing_capacitance=n * self.housing_capacitance,
        )

    def one_node(self) -> Thermal:
        same = {f.name: getattr(self, f.name) for f in fields(Heat)}
        return Thermal(resistance=self.total_resistance, capacitance=self.winding_capacitance, **same)

    def advance(self, temperatures: Temperatures, copper: Scalar, iron: Scalar, h: Scalar) -> Temperatures:
        # The implicit midpoint, stable for any h.
        x, y = temperatures[0] - self.ambient, temperatures[1] - self.ambient
        R1, R2, C1, C2 = (
            self.winding_resistance,
            self.housing_resistance,
            self.winding_capacitance,
            self.housing_capacitance,
        )
        a, b, c = h / (2 * C1 * R1), h / (2 * C2 * R1), h / (2 * C2 * R2)
        # (1 + a) x' - a y' = right_x ; -b x' + (1 + b + c) y' = right_y
        right_x = x - a * (x - y) + h / C1 * copper
        right_y = y + b * (x - y) - c * y + h / C2 * iron
        determinant = (1 + a) * (1 + b + c) - a * b
        x1 = ((1 + b + c) * right_x + a * right_y) / determinant
        y1 = (b * right_x + (1 + a) * right_y) / determinant
        return (self.ambient + x1, self.ambient + y1)

    def leaving(self, temperatures: Temperatures) -> Scalar:
        return (temperatures[1] - self.ambient) / self.housing_resistance

    def stored_heat(self, temperatures: Temperatures) -> Scalar:
        return self.winding_capacitance * (temperatures[0] - self.ambient) + self.housing_capacitance * (
            temperatures[1] - self.ambient
        )
