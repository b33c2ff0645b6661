"""Fleets drawn at the level of what fits say: estimates and their covariances, with known spreads."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import backemf as be
from backemf import store
from backemf.kits.fleets import folder as kept
from backemf.kits.fleets.estimates import Estimates
from backemf.kits.fleets.request import FleetRequest

PATHS = (
    *("motor.resistance", "motor.torque_constant", "motor.rotor_inertia", "friction.viscous"),
    *("friction.coulomb", "friction.static", "friction.stribeck_velocity", "friction.load"),
)


ABOVE = tuple("friction.coulomb" if path == "friction.static" else "" for path in PATHS)
"""What a parameter stands on: the coordinate of static friction is of what it has more than Coulomb's."""


class Drawn(NamedTuple):
    """A fleet whose truth is known."""

    seen: Estimates
    truth: np.ndarray
    """Of each unit."""
    mean: np.ndarray
    spread: np.ndarray
    correlation: np.ndarray


def matrix(rng: np.random.Generator, p: int, even: float) -> np.ndarray:
    """A random correlation; the more `even`, the nearer to none."""
    q = rng.standard_normal((p, p))
    R = q @ q.T + even * np.eye(p)
    return R / np.outer(np.sqrt(np.diag(R)), np.sqrt(np.diag(R)))


def drawn(
    rng: np.random.Generator,
    n: int,
    noise: tuple[float, float] = (0.1, 0.5),
    even: float = 4.0,
    sessions: int = 1,
) -> Drawn:
    """A fleet; fits err by these shares of the spread, differently in every unit."""
    p = len(PATHS)
    R = matrix(rng, p, even)
    spread = np.exp(rng.uniform(np.log(0.02), np.log(0.2), p))
    mean = rng.standard_normal(p)
    truth = mean + rng.standard_normal((n, p)) @ np.linalg.cholesky(R * np.outer(spread, spread)).T
    each = np.repeat(np.arange(n), sessions)
    V = np.empty((len(each), p, p))
    for i in range(len(each)):
        error = spread * np.exp(rng.uniform(*np.log(noise), p))
        V[i] = matrix(rng, p, 1.0) * np.outer(error, error)
    x = truth[each] + np.einsum("nij,nj->ni", np.linalg.cholesky(V), rng.standard_normal((len(each), p)))
    return Drawn(estimates_of(x, V, rng, sessions), truth, mean, spread, R)


def estimates_of(x: np.ndarray, V: np.ndarray, rng: np.random.Generator, sessions: int = 1) -> Estimates:
    n, p = x.shape
    day = np.tile(np.arange(sessions), n // sessions)
    return Estimates(
        paths=PATHS,
        units=tuple(f"unit {k // sessions}" for k in range(n)),
        sessions=tuple(f"{d}" if sessions > 1 else "" for d in day),
        x=x,
        V=V,
        told=np.ones((n, p), bool),
        knee=np.zeros(p),
        signed=np.zeros(p, bool),
        above=ABOVE,
        unit=("",) * p,
        time=day * 86400.0 * 30,
        temperature=np.full(n, np.nan),
        excess=0.02 * rng.standard_normal(n),
    )


def write(folder: Path, seen: Estimates, start: be.Actuator) -> Path:
    """The folder of a fleet whose units were fitted so."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = FleetRequest(logs=("nowhere",), by="folder", start="", actuator=start, n_units=len(seen.units))
    store.write(asked, folder / kept.REQUEST)
    journal = kept.FleetJournal(folder)
    for i, unit in enumerate(seen.units):
        x, V = seen.x[i], seen.V[i]
        numbers = {
            path: {
                "value": float(seen.values[i, k]),
                "error": float(np.exp(x[k]) * np.sqrt(V[k, k])),
                "unit": "ohm",
                "told_by": "data",
            }
            for k, path in enumerate(seen.paths)
        }
        where = {
            "x": x.tolist(),
            "covariance": V[np.tril_indices(len(x))].tolist(),
            "knee": [0.0] * len(x),
            "signed": [False] * len(x),
            "above": list(ABOVE),
        }
        row = {"unit": unit, "session": seen.sessions[i], "state": "fitted", "friction": "stribeck"}
        row |= {"parameters": numbers, "coordinates": where, "noise_floor": 1e-3, "findings": []}
        row |= {"training_mae": 1e-3 * float(np.exp(seen.excess[i])), "held_out_mae": 2e-3, "cpu_s": 0.1}
        row |= {"recorded": float(seen.time[i]), "temperature": None, "ended": float(i)}
        journal.append(f"{unit}@{seen.sessions[i]}", [row])
    journal.close()
    return folder


def servo() -> be.Actuator:
    """One whose parameters are among those drawn."""
    return be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
        friction=be.friction.Stribeck(coulomb=0.04, static=0.07, stribeck_velocity=0.3, viscous=0.02),
        drive=be.drive.Position(volts_per_radian=8.0, voltage_limit=7.4),
    )
