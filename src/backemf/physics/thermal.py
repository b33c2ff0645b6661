"""Winding and housing temperature: how losses heat a motor,
and how heat changes its resistance and magnets."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple

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
            time: of samples, from when it began [s].
            winding: its temperature at them [degC].
            name: of the joint, where there are several.

        Returns:
            `too_hot`, or nothing.
        """
        limit = self.max_temperature
        above = np.flatnonzero(winding > limit) if limit is not None else np.zeros(0, int)
        if limit is None or not len(above):
            return []
        k, most = int(above[0]), float(np.nanmax(winding))
        before = max(k - 1, 0)
        at = float(np.interp(limit, winding[[before, k]], time[[before, k]]))
        since = f"from {at:.3g} s on and reaches" if len(time) > 1 else f"at {at:.3g} s, at"
        text = (
            f"the winding{f' of {name}' if name else ''} is above its limit of {limit:.4g} degC {since}"
            f" {most:.4g} degC."
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


class CycleHeat(NamedTuple):
    """Windings that are heated in a cycle, one an element of each array; two nodes, of which the second may
    be next to nothing."""

    R: np.ndarray
    """Resistance at the reference temperature [ohm]."""
    alpha: np.ndarray
    """[1/K]"""
    reference: np.ndarray
    """[degC]"""
    R_1: np.ndarray
    """Winding to housing [K/W]."""
    R_2: np.ndarray
    """Housing to ambient [K/W]."""
    C_1: np.ndarray
    """[J/K]"""
    C_2: np.ndarray
    ambient: float

    @property
    def warmth(self) -> np.ndarray:
        """Resistance at the ambient temperature, as a multiple of that at the reference."""
        return 1.0 + self.alpha * (self.ambient - self.reference)

    def steady(self, square: np.ndarray, iron: np.ndarray) -> np.ndarray:
        """Winding temperature for ever at a mean square current; infinite where heat runs away.

        Args:
            square: mean square of the current [A^2].
            iron: heat of the iron [W].

        Returns:
            [degC]; not a number where nothing is known of heat.
        """
        x = self.R * (self.R_1 + self.R_2) * square
        left = 1.0 - self.alpha * x
        rise = (x * self.warmth + iron * self.R_2) / np.where(left <= 0, 1.0, left)
        return np.where(left <= 0, np.inf, self.ambient + rise)

    def stretch(self, square: np.ndarray, iron: np.ndarray, h: float) -> tuple[Any, Any]:
        """What a while at a current does, exactly: resistance is linear in temperature, so two nodes are a
        linear system.

        Args:
            square: square of the current [A^2].
            iron: heat of the iron [W].
            h: for so long [s].

        Returns:
            (E, d): temperatures over the ambient become E x + d.
        """
        a, d = (self.alpha * self.R * square - 1.0 / self.R_1) / self.C_1, -(1 / self.R_1 + 1 / self.R_2)
        b, c, d = 1.0 / (self.R_1 * self.C_1), 1.0 / (self.R_1 * self.C_2), d / self.C_2
        middle, half = 0.5 * (a + d), np.sqrt(0.25 * (a - d) ** 2 + b * c)
        fast, slow = (np.exp(np.minimum(h * (middle + k * half), 300.0)) for k in (-1.0, 1.0))
        u, w = (slow + fast) / 2.0, (slow - fast) / (2.0 * half)
        E = (u + w * (a - middle), w * b, w * c, u + w * (d - middle))
        p, q = self.R * square * self.warmth / self.C_1, iron / self.C_2
        determinant = a * d - b * c
        determinant = np.where(determinant == 0.0, 1e-300, determinant)
        x, y = (E[0] - 1.0) * p + E[1] * q, E[2] * p + (E[3] - 1.0) * q
        return E, ((d * x - b * y) / determinant, (a * y - c * x) / determinant)

    def cycle(
        self, square: np.ndarray, iron: np.ndarray, lengths: np.ndarray, cycles: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Peak and last temperature of the windings in a cycle that repeats.

        Args:
            square: square of the current, (windings, stretches) [A^2].
            iron: heat of the iron likewise [W].
            lengths: of the stretches [s].
            cycles: how many there are, from cold; None: for ever, where the cycle's end is its beginning.

        Returns:
            (the peak in the last cycle, the temperature at its end) [degC]; infinite where heat runs away.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            steps = [self.stretch(square[:, k], iron[:, k], float(h)) for k, h in enumerate(lengths)]
            m, c = _compose(steps)
            x = _fixed_point(m, c)
            if cycles is not None:
                x = _after(m, x, cycles - 1)
            peak = x[0]
            for E, d in steps:
                x = E[0] * x[0] + E[1] * x[1] + d[0], E[2] * x[0] + E[3] * x[1] + d[1]
                peak = np.maximum(peak, x[0])
        run_away = ~np.isfinite(peak)
        return tuple(np.where(run_away, np.inf, self.ambient + y) for y in (peak, x[0]))  # type: ignore


def _compose(steps: list[Any]) -> tuple[Any, Any]:
    """One affine map for many in turn."""
    m, c = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0)
    for E, d in steps:
        m = (
            E[0] * m[0] + E[1] * m[2],
            E[0] * m[1] + E[1] * m[3],
            E[2] * m[0] + E[3] * m[2],
            E[2] * m[1] + E[3] * m[3],
        )
        c = E[0] * c[0] + E[1] * c[1] + d[0], E[2] * c[0] + E[3] * c[1] + d[1]
    return m, c


def _fixed_point(m: Any, c: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where an affine map stays; infinite where it grows."""
    trace, determinant = m[0] + m[3], m[0] * m[3] - m[1] * m[2]
    left = 1.0 - trace + determinant
    holds = (left > 0) & (trace < 2.0)
    safe = np.where(holds, left, 1.0)
    x, y = ((1 - m[3]) * c[0] + m[1] * c[1]) / safe, (m[2] * c[0] + (1 - m[0]) * c[1]) / safe
    return np.where(holds, x, np.inf), np.where(holds, y, np.inf)


def _after(m: Any, fixed: tuple[np.ndarray, np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """From cold, n times through a map with this fixed point."""
    power = np.linalg.matrix_power(np.moveaxis(np.array(m).reshape(2, 2, -1), -1, 0), n)
    x, y = fixed
    return (x - power[:, 0, 0] * x - power[:, 0, 1] * y, y - power[:, 1, 0] * x - power[:, 1, 1] * y)
