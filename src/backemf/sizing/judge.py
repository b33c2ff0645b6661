"""Every motor behind every gear against a task: how much of each limit it uses, for millions of combinations
at once, and what each limit rules out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..physics.duty import (
    Reduction,
    mean_power,
    mean_square_speed,
    mean_square_torque,
    rotor_torque,
    torque_series,
)
from ..physics.thermal import CycleHeat
from .components import UNCERTAIN, PartColumns
from .task import Task

LIMITS = (
    *("mass", "gear speed", "gear peak torque", "gear torque", "motor speed", "voltage"),
    *("continuous current", "temperature", "peak current"),
)
"""In the order in which they rule combinations out."""
CHUNK = 100_000
"""Combinations looked at together."""
ROOM = 2_000_000
"""Numbers of one table of peaks or stretches."""
HOTTEST = 155.0
"""Where nobody says how warm a winding may be: what its voltage is counted at, and beyond which surroundings
rule it out [degC]."""
PRINTED_AT = 25.0
"""Surroundings for which makers print what may flow for ever [degC]."""
MOST_NEAR = 500
"""Combinations among which the nearest miss is looked for."""
Rows = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Verdicts:
    """What combinations do, one an element of each array."""

    motor: np.ndarray
    """Rows of motors."""
    gear: np.ndarray
    uses: Rows
    """By limit, the share of it that is used; NaN where it is not printed."""
    numbers: Rows
    errors: Rows
    """Standard errors of the uses."""

    def __len__(self) -> int:
        return len(self.motor)

    def take(self, rows: np.ndarray) -> Verdicts:
        """Some of them."""
        uses, numbers, errors = (
            {name: values[rows] for name, values in one.items()}
            for one in (self.uses, self.numbers, self.errors)
        )
        return Verdicts(self.motor[rows], self.gear[rows], uses, numbers, errors)

    def with_margin(self, margin: float) -> dict[str, np.ndarray]:
        """By limit, the use with so many standard errors on top."""
        none = np.zeros(len(self))
        return {name: use + margin * self.errors.get(name, none) for name, use in self.uses.items()}

    def worst(self, margin: float = 0.0) -> np.ndarray:
        """The largest share of a limit that is used."""
        rows = np.stack([*self.with_margin(margin).values()])
        return np.max(np.where(np.isnan(rows), -1.0, rows), axis=0)


class Screening(NamedTuple):
    """What is left of all combinations."""

    feasible: Verdicts
    killed: dict[str, int]
    """How many each limit ruled out, the first one that did."""
    nearest: Verdicts | None
    """The nearest misses, where nothing is feasible."""


@dataclass(frozen=True)
class Judge:
    """A task on a bus, and the parts it may be done with."""

    task: Task
    motors: PartColumns
    gears: PartColumns
    bus: float
    """[V]"""
    ambient: float
    """[degC]"""
    margin: float = 0.0
    """Standard errors that a use must keep from its limit."""
    max_mass: float = np.inf
    """Of motor and gears [kg]."""

    def screen(self, motor: np.ndarray, gear: np.ndarray) -> Screening:
        """All combinations, without those that a limit rules out.

        Args:
            motor: rows of motors, one a combination.
            gear: rows of gears.
        """
        killed, kept = dict.fromkeys(LIMITS, 0), [(motor[:0], gear[:0])]
        for first in range(0, len(motor), CHUNK):
            m, g = motor[first : first + CHUNK], gear[first : first + CHUNK]
            for look in (self._gear_uses, self._speed_uses, self._mean_uses):
                alive = _survivors(look(m, g), killed)
                m, g = m[alive], g[alive]
            kept.append((m, g))
        m, g = (np.concatenate(part) for part in zip(*kept, strict=True))
        feasible = self._judge_in_pieces(m, g, killed)
        nearest = None if len(feasible) or not len(motor) else self._nearest(motor, gear)
        return Screening(feasible, killed, nearest)

    def evaluate(self, m: np.ndarray, g: np.ndarray, *, with_errors: bool = True) -> Verdicts:
        """All that can be said of combinations.

        Args:
            m: rows of motors.
            g: rows of gears.
            with_errors: also how far each use may be off.
        """
        motors, gears = self.motors.take(m), self.gears.take(g)
        uses, numbers = self._uses(motors, gears, m, g)
        errors = {name: np.zeros(len(m)) for name in uses}
        for column in UNCERTAIN if with_errors else ():
            relative = self.motors.errors[column][m] if self.motors.errors else np.zeros(len(m))
            if not relative.any():
                continue
            other, _ = self._uses({**motors, column: motors[column] * (1.0 + relative)}, gears, m, g)
            for name, use in other.items():
                with np.errstate(invalid="ignore"):
                    errors[name] = np.hypot(errors[name], np.nan_to_num(use - uses[name], posinf=0.0))
        return Verdicts(m, g, uses, numbers, errors)

    def _judge_in_pieces(self, m: np.ndarray, g: np.ndarray, killed: dict[str, int]) -> Verdicts:
        """What is left once peaks and cycles are looked at, too."""
        corners = sum(len(one.samples) for one in self.task.extremes)
        n, kept = max(1, ROOM // max(corners, 1)), []
        for first in range(0, len(m), n):
            mine = slice(first, first + n)
            peaks, _ = self._peaks(self.motors.take(m[mine]), self.gears.take(g[mine]))
            kept.append(first + np.flatnonzero(_survivors(peaks, killed)))
        rows = np.concatenate(kept) if kept else np.zeros(0, np.int64)
        m, g, found = m[rows], g[rows], []
        for first in range(0, max(len(m), 1), n):
            one = self.evaluate(m[first : first + n], g[first : first + n])
            found.append(one.take(np.flatnonzero(_survivors(one.with_margin(self.margin), killed))))
        return _join(found)

    def _nearest(self, motor: np.ndarray, gear: np.ndarray) -> Verdicts:
        """The combinations that miss by least, judged in full."""
        worst = np.empty(len(motor), np.float32)
        for first in range(0, len(motor), CHUNK):
            mine = slice(first, first + CHUNK)
            m, g = motor[mine], gear[mine]
            looks = (self._gear_uses, self._speed_uses, self._mean_uses)
            rows = np.stack([use for look in looks for use in look(m, g).values()])
            worst[mine] = np.max(np.where(np.isnan(rows), 0.0, rows), axis=0)
        near = np.argsort(worst, kind="stable")[:MOST_NEAR]
        full = self.evaluate(motor[near], gear[near])
        return full.take(np.argsort(full.worst(self.margin), kind="stable"))

    def _gear_uses(self, m: np.ndarray, g: np.ndarray) -> Rows:
        """Of the limits that a gearhead has by itself."""
        task, gears = self.task, self.gears
        uses = {
            "gear speed": gears["ratio"] * task.top_speed / gears["input_speed"],
            "gear peak torque": task.peak_torque / gears["peak_torque"],
            "gear torque": np.where(gears["wears"] > 0, *task.lasting_torques) / gears["continuous_torque"],
        }
        mass = np.zeros(len(m))
        if np.isfinite(self.max_mass):
            mass = self.motors["mass"][m] + self.gears["mass"][g]
        return {"mass": mass / self.max_mass, **{name: use[g] for name, use in uses.items()}}

    def _speed_uses(self, m: np.ndarray, g: np.ndarray) -> Rows:
        """Of the rotor's speed: as printed, and as back-EMF of the bus at least."""
        motors, w = self.motors, self.gears["ratio"][g] * self.task.top_speed
        return {
            "motor speed": w * (motors["ratio"] / motors["speed_limit"])[m],
            "voltage": w * (motors["ratio"] * motors["back_emf_constant"] / self.bus)[m],
        }

    def _mean_uses(self, m: np.ndarray, g: np.ndarray) -> Rows:
        motors = self.motors.take(m)
        r = reduction(motors, self.gears.take(g))
        return self._means(motors, r, 0.0)[0]

    def _means(self, motors: Rows, r: Reduction, further: Any) -> tuple[Rows, Rows]:
        """What the mean square of the current uses, with what moments leave out, and the numbers
        themselves."""
        square = (mean_square_torque(self.task.moments, r) + further) / motors["torque_constant"] ** 2
        square = np.maximum(square, 0.0)
        iron = motors["iron_loss"] * r.N**2 * mean_square_speed(self.task.moments)
        T = self._heat(motors).steady(square, iron)
        room = np.maximum(motors["max_temperature"] - np.array([[self.ambient], [PRINTED_AT]]), 1e-9)
        fades = np.where(
            np.isnan(room[0]), 1.0, np.sqrt(room[0] / room[1])
        )  # heat goes with the current's square
        uses = {
            "continuous current": np.sqrt(square) / (fades * motors["continuous_current"]),
            "temperature": self._warm_share(T, motors),
        }
        return uses, {"square": square, "mean temperature": T}

    def _warm_share(self, T: np.ndarray, motors: Rows) -> np.ndarray:
        """Share of the rise that windings stand; infinite where the surroundings are as warm already, or so
        warm that none stands it."""
        most = motors["max_temperature"]
        rise = np.where(np.isnan(most) & (self.ambient >= HOTTEST), 0.0, most - self.ambient)
        return np.where(rise <= 0.0, np.inf, (T - self.ambient) / np.where(rise <= 0.0, 1.0, rise))

    def _heat(self, motors: Rows) -> CycleHeat:
        columns = (motors[name] for name in ("resistance", "alpha", "reference", "R_1", "R_2", "C_1", "C_2"))
        return CycleHeat(*columns, ambient=self.ambient)

    def _peaks(self, motors: Rows, gears: Rows, further: Any = 0.0) -> tuple[Rows, dict[str, np.ndarray]]:
        """What the extreme samples use of current and voltage, and the numbers themselves."""
        r = reduction(motors, gears)
        _, means = self._means(motors, r, further)
        most = np.where(np.isnan(motors["max_temperature"]), HOTTEST, motors["max_temperature"])
        with np.errstate(invalid="ignore"):
            T = np.where(np.isnan(means["mean temperature"]), motors["reference"], means["mean temperature"])
            warm = 1.0 + motors["alpha"] * (np.minimum(T, most) - motors["reference"])
        R, K = motors["resistance"] * warm, motors["torque_constant"]
        per, emf = (R / K).astype(np.float32)[:, None], (motors["back_emf_constant"] * r.N).astype(np.float32)
        tau, volts = np.zeros(len(K), np.float32), np.zeros(len(K), np.float32)
        for one in self.task.extremes:
            torque = rotor_torque(one.samples, one.side, one.flow, r)
            np.maximum(tau, np.abs(torque).max(axis=1), out=tau)
            torque *= per
            torque += emf[:, None] * one.samples[:, 1].astype(np.float32)
            np.maximum(volts, np.abs(torque).max(axis=1), out=volts)
        current = tau / K
        uses = {"voltage": volts / self.bus, "peak current": current / motors["peak_current"]}
        return uses, {**means, "resistance": R, "current_peak": current, "voltage": volts.astype(float)}

    def _uses(
        self, motors: Rows, gears: Rows, m: np.ndarray, g: np.ndarray
    ) -> tuple[dict[str, np.ndarray], Rows]:
        """Every use and every number of combinations, with the temperature of the cycle."""
        r = reduction(motors, gears)
        square, power = self.task.light_braking.further(r)
        means, _ = self._means(motors, r, square)
        peaks, n = self._peaks(motors, gears, square)
        T = self.cycle_temperature(motors, r, n["mean temperature"])
        known = {**self._gear_uses(m, g), **self._speed_uses(m, g), **means, **peaks}
        known["temperature"] = self._warm_share(T, motors)
        given = mean_power(self.task.moments, r) + power
        emf = motors["back_emf_constant"] / motors["torque_constant"]
        copper = n["resistance"] * n["square"]
        work = float(np.sum(self.task.samples.weight * self.task.velocity * self.task.torque))
        numbers = {
            "ratio": r.N,
            "mass": motors["mass"] + gears["mass"],
            "price": motors["price"] + gears["price"],
            "current_rms": np.sqrt(n["square"]),
            "current_peak": n["current_peak"],
            "voltage": n["voltage"],
            "temperature": T,
            "copper_loss": copper,
            "drawn": copper + emf * given,
            "loss": copper + emf * given - work,
            "reflected_inertia": r.N**2 * r.J,
        }
        return {name: known[name] for name in LIMITS}, numbers

    def drawn_without_regeneration(self, m: int, g: int) -> float:
        """Mean power taken from a bus that takes nothing back, of one combination [W].

        Args:
            m: row of the motor.
            g: row of the gears.
        """
        motors, gears = (part.take(np.array([k])) for part, k in ((self.motors, m), (self.gears, g)))
        r, (_, n) = reduction(motors, gears), self._peaks(motors, gears)
        i = torque_series(self.task.samples, r)[0] / motors["torque_constant"][0]
        v = n["resistance"][0] * i + motors["back_emf_constant"][0] * r.N[0] * self.task.velocity
        return float(np.sum(self.task.samples.weight * np.maximum(v * i, 0.0)))

    def cycle_temperature(
        self, motors: Rows, r: Reduction, mean: np.ndarray, cycles: int | None = None
    ) -> np.ndarray:
        """Peak winding temperature in the cycle; its mean where no time constants are printed.

        Args:
            motors: their columns.
            r: with their gears.
            mean: temperature of the mean heat [degC].
            cycles: how many there are, from cold; None: for ever.

        Returns:
            [degC]
        """
        quick = motors["R_1"] * motors["C_1"]
        there = np.flatnonzero(np.isfinite(quick))
        T = mean.copy()
        if not len(there):
            return T
        pieces = self.task.stretches(float(np.min(quick[there])))
        n = max(1, ROOM // len(pieces.lengths))
        for first in range(0, len(there), n):
            k = there[first : first + n]
            mine = {name: values[k] for name, values in motors.items()}
            one = Reduction(*(x[k] for x in r))
            square = (
                mean_square_torque(pieces.moments, one) + self.task.light_braking.further(one)[0][:, None]
            )
            square /= mine["torque_constant"][:, None] ** 2
            iron = (mine["iron_loss"] * one.N**2)[:, None] * mean_square_speed(pieces.moments)
            T[k] = self._heat(mine).cycle(np.maximum(square, 0.0), iron, pieces.lengths, cycles)[0]
        return T


def reduction(motors: Rows, gears: Rows) -> Reduction:
    """Motors with their own gears and those behind them, at the rotor."""
    return Reduction(
        J=motors["rotor_inertia"] + gears["inertia"],
        B=motors["viscous"],
        tau_c=motors["friction"],
        N=motors["ratio"] * gears["ratio"],
        eta=motors["efficiency"] * gears["efficiency"],
        iron=motors["iron_loss"],
    )


def _survivors(uses: Rows, killed: dict[str, int]) -> np.ndarray:
    """Who keeps every limit; the others are counted at the first that they exceed."""
    alive = np.ones(len(next(iter(uses.values()))), bool)
    for name in (n for n in LIMITS if n in uses):
        beyond = alive & (uses[name] > 1.0)
        killed[name] += int(beyond.sum())
        alive &= ~beyond
    return alive


def _join(pieces: list[Verdicts]) -> Verdicts:
    """Verdicts one behind the other."""
    first = pieces[0]

    def column(which: str) -> dict[str, np.ndarray]:
        return {n: np.concatenate([getattr(one, which)[n] for one in pieces]) for n in getattr(first, which)}

    motor, gear = (np.concatenate([getattr(one, name) for one in pieces]) for name in ("motor", "gear"))
    return Verdicts(motor, gear, column("uses"), column("numbers"), column("errors"))
