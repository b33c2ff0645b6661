"""Where recordings begin: position and velocity at the first sample of each stretch are found along with the
numbers of a model, held by what the first samples say, and eliminated stretch by stretch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..logs.log import StartState


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
