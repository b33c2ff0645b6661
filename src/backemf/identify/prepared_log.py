"""One log as the engine takes it: inputs as rows, what was measured, what it fixes, and where it begins:
position and velocity at the first sample of each stretch are found along with the numbers of a model, held by
what the first samples say, and eliminated stretch by stretch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..engine.rows import Delay, HeldInputs, hold_inputs
from ..engine.simulate import is_late
from ..errors import InvalidValue
from ..logs.log import Log, StartState, bench_of, starts_of, targets
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..physics.quantity import parameters
from .bench_numbers import with_angle
from .parameters import FreeParameters


class PreparedLog(NamedTuple):
    """One log as the engine takes it."""

    log: Log
    rows: HeldInputs
    measured: np.ndarray
    """(n_samples, n_outputs), NaN where nothing was measured."""
    settings: dict[str, float]
    """Parameters that this log fixes, bench included."""
    starts: list[dict[str, float]]
    """States at the first sample of each of its stretches."""
    bench: Bench
    inputs: np.ndarray
    """What was asked, before any delay."""
    time: np.ndarray
    """The log's clock, with every moment at which a command that is known as a function changes."""
    samples: np.ndarray
    """Where the log's own samples are on that clock."""
    stretches: list[StartState]
    """Where the model starts, and where it starts anew behind long gaps; samples are on that clock."""
    joint: str = ""
    """Whose it is; the one joint of a bench has no name."""
    recording: str = ""
    """Which recording of the robot it is cut from."""


def prepare(actuator: Actuator, log: Log, outputs: Sequence[str], free: FreeParameters) -> PreparedLog:
    """A log's inputs as rows, its measurements, settings and start.

    Args:
        actuator: whose drive says which commands act.
        log: with its bench.
        outputs: signals that are compared.
        free: numbers that are to be found, the bench's among them.

    Returns:
        The log as the engine takes it.
    """
    given = log
    log, samples = given.refine()
    bench = _freed_bench(bench_of(log), free)
    inputs = _inputs(actuator, log, bench)
    values = np.stack(list(inputs.values()), axis=1) if inputs else np.zeros((len(log), 0))
    rows = hold_inputs(values, np.diff(log.time))
    if actuator.drive.delay:
        rows = Delay(values, log.time, actuator.drive.delay, [is_late(n) for n in inputs]).rows()
    measured = np.stack([log[n] if n in log else np.full(len(log), np.nan) for n in outputs], axis=1)
    stretches = [one._replace(sample=int(samples[one.sample])) for one in starts_of(given)]
    stretches = stretches[:1] if bench.locked else stretches
    stretches[0] = stretches[0]._replace(sample=0)
    starts = [states_at(actuator, bench, log, inputs, one) for one in stretches]
    mine = {k: v for k, v in log.settings.items() if k in actuator.parameters}
    fixed = {**parameters(bench, "bench."), **mine}
    return PreparedLog(given, rows, measured, fixed, starts, bench, values, log.time, samples, stretches)


def states_at(
    actuator: Actuator, bench: Bench, log: Log, inputs: Mapping[str, np.ndarray], start: StartState
) -> dict[str, float]:
    """Every state where a stretch begins; a rotor behind backlash moves along.

    Args:
        actuator: whose states they are.
        bench: that it moves.
        log: with every sample of its clock.
        inputs: what acts on it, by name.
        start: sample, position [rad or m] and velocity there.

    Returns:
        State -> value.
    """
    asked = {name: float(x[start.sample]) for name, x in inputs.items()}
    moving = {} if bench.locked else {"velocity": start.velocity}
    states = actuator.initial_state(asked, position=start.position, **moving)
    if "rotor_velocity" in states and not bench.locked:
        states["rotor_velocity"] = start.velocity
    if "winding_temperature" in states and "temperature" in log:
        states["winding_temperature"] = float(log["temperature"][start.sample])
    return states


def _freed_bench(bench: Bench, free: FreeParameters) -> Bench:
    """With an angle and a factor of the supply where these are to be found."""
    if "bench.hanging" in free.paths:
        bench = with_angle(bench)
    if "bench.supply_factor" in free.paths and bench.supply_factor is None:
        bench = replace(bench, supply_factor=1.0)
    return bench


def _inputs(actuator: Actuator, log: Log, bench: Bench) -> dict[str, np.ndarray]:
    """What acts on a log, by name."""
    wanted = [*targets(log, actuator.drive), *(n for n in ("enabled", "supply") if n in log), *bench.series]
    inputs = {name: log[name] for name in sorted(wanted)}
    for name, values in inputs.items():
        if not np.isfinite(values).all():
            k = int(np.argmax(~np.isfinite(values)))
            raise InvalidValue(
                f"{log.name}: {name} is not finite at sample {k}; cut the log or repair the signal"
            )
    return inputs


class Blocks(NamedTuple):
    """Normal equations of each stretch, by columns of derivatives: those of the paths, then, where starts are
    free, position and velocity at the start."""

    JtJ: np.ndarray
    Jtr: np.ndarray
    cost: np.ndarray


class ReducedBlocks(NamedTuple):
    """The same by paths alone, each start where it is best; and what leads back to the starts."""

    JtJ: np.ndarray
    Jtr: np.ndarray
    cost: np.ndarray
    along: np.ndarray
    """(stretches, 2, paths): how a start follows the paths."""
    step: np.ndarray
    """(stretches, 2): how far a start moves where no path does."""

    def moves(self, by_path: np.ndarray) -> np.ndarray:
        """How far the starts move with a step of the paths, (stretches, paths)."""
        return -self.step - np.einsum("nsp,np->ns", self.along, by_path)


@dataclass(frozen=True)
class StartStates:
    """Position and velocity at the start of every stretch, (stretches, 2), and what is believed of them."""

    now: np.ndarray
    mean: np.ndarray
    error: np.ndarray

    @staticmethod
    def of(starts: Sequence[StartState]) -> StartStates:
        """Where the recordings themselves say they begin."""
        now = np.array([(s.position, s.velocity) for s in starts])
        mean = np.array([(s.position, 0.0) for s in starts])
        return StartStates(now, mean, np.array([(s.position_error, s.velocity_error) for s in starts]))

    def some(self, rows: Sequence[int]) -> StartStates:
        """Those of some stretches, in that order."""
        places = list(rows)
        return StartStates(self.now[places], self.mean[places], self.error[places])

    def at(self, now: np.ndarray | None) -> StartStates:
        """The same elsewhere; where it is, without a place."""
        return self if now is None else replace(self, now=now)

    def reduce(self, blocks: Blocks, damping: float | np.ndarray = 0.0) -> ReducedBlocks:
        """Eliminate the starts (Schur's complement of each stretch).

        Args:
            blocks: at these starts.
            damping: share of the curvature's diagonal that is added to it; of each stretch in a column.

        Returns:
            What is left for the paths, with what the belief about the starts costs.
        """
        off = (self.now - self.mean) / self.error**2
        G, precision = blocks.JtJ[:, -2:, -2:], 1.0 / self.error**2
        across, g = blocks.JtJ[:, -2:, :-2], blocks.Jtr[:, -2:] + off
        with np.errstate(invalid="ignore", over="ignore"):
            held = precision + damping * (np.diagonal(G, axis1=1, axis2=2) + precision)
            solved = _inverse_pairs(G, held) @ np.concatenate([across, g[..., None]], axis=2)
            along, step = solved[..., :-1], solved[..., -1]
            JtJ = blocks.JtJ[:, :-2, :-2] - across.transpose(0, 2, 1) @ along
            Jtr = blocks.Jtr[:, :-2] - np.einsum("nsp,ns->np", along, g)
        belief = 0.5 * np.sum(((self.now - self.mean) / self.error) ** 2, axis=1)
        return ReducedBlocks(JtJ, Jtr, blocks.cost + belief, along, step)

    def profile(
        self, k: int, J: np.ndarray, weight: np.ndarray, errors: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Derivatives of one stretch as its start follows the paths.

        Args:
            k: the stretch.
            J: by paths and start, (rows, paths + 2).
            weight: of the rows.
            errors: weighted, of the rows.

        Returns:
            (derivatives by paths; what the belief about the start adds to the curvature; the score of the
            stretch; how many numbers its start took).
        """
        precision = np.diag(1.0 / self.error[k] ** 2)
        paths, start = J[:, :-2], J[:, -2:]
        own = (start * weight[:, None]).T @ start
        D = np.linalg.inv(own + precision)
        along = D @ ((start * weight[:, None]).T @ paths)
        off = start.T @ (weight * errors) + precision @ (self.now[k] - self.mean[k])
        score = paths.T @ (weight * errors) - along.T @ off
        return paths - start @ along, along.T @ precision @ along, score, float(np.trace(D @ own))


def _inverse_pairs(G: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Inverses of matrices of two rows, (n, 2, 2), with what is added to their diagonals, (n, 2): that keeps
    the determinant above 0 where rounding leaves nothing of G's own, in stretches that run away."""
    (a, b), (c, d) = G.transpose(1, 2, 0)
    p, q = held.T
    determinant = np.maximum(a * d - b * c, 0.0) + a * q + d * p + p * q
    swapped = np.array([[d + q, -b], [-c, a + p]]) / determinant
    return swapped.transpose(2, 0, 1)
