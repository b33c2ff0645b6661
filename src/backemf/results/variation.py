"""How a recording that nobody made would differ from what a fit predicts: other motors that the recordings
allow, what no motor explains, and how both were held against recordings that were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import store
from ..errors import NotAvailable
from ..physics.actuator import Actuator
from ..statistics import Coordinate

NORMAL = 1.96
"""Standard deviations that a 95 % band would reach if errors were normal."""


@dataclass(frozen=True, kw_only=True)
class DrawnNumber(store.Noun):
    """One number that differs from recording to recording, on the scale on which its error is even."""

    path: str
    joints: tuple[str, ...]
    """Whose it is; all of them have the same in one draw."""
    x: float
    """As fitted, on that scale."""
    signed: bool = False
    knee: float = 0.0
    above: int | None = None
    """The place of the number that it stands on: x is then of what it has more."""
    base: float = 0.0
    """What it stands on where that is not drawn."""

    @property
    def scale(self) -> Coordinate:
        return Coordinate(self.signed, self.knee)


@dataclass(frozen=True, kw_only=True)
class Variation(store.Noun):
    """What bands and draws are made of."""

    numbers: tuple[DrawnNumber, ...]
    members: np.ndarray = field(repr=False)
    """(draws, numbers): how far each draw is from the fit, on the numbers' scales."""
    floor: Mapping[str, float]
    """By joint, what 68 % of the errors of recordings that were left out stay within [rad or m]."""
    factor: float
    """Half the width of a 95 % band in standard deviations, as left-out recordings need it."""
    usual: float
    """The same so that 95 % of all left-out samples together are inside."""
    mean_absolute: float
    """Mean absolute error of a left-out recording over the mean standard deviation stated for it, of one in
    the middle: the geometric mean over recordings."""
    root_mean_square: float
    """The same of root mean squares."""
    left_out: str
    """What was left out in turn to find these factors, in words."""
    slow: float
    """Time after which an error is down to 1/e of itself [s]."""
    held: tuple[str, ...] = ()
    """Numbers that only a prior tells: they are the same in all draws."""
    n_shrunk: int = 0
    """Draws that were drawn nearer, because they left the fitted recordings."""
    n_left_out: int = 0
    """Recordings, or rigs, that were left out in turn; 0 in fits stored before this was kept."""

    def check_read(self) -> None:
        if self.members.ndim != 2 or self.members.shape[1] != len(self.numbers):
            raise ValueError(
                f"members has the shape {self.members.shape}; expected a column for each of"
                f" {len(self.numbers)} numbers"
            )

    def values(self, member: np.ndarray, share: float = 1.0) -> list[float]:
        """The numbers of one draw, in their own units.

        Args:
            member: a row of `members`.
            share: of the way from the fit to there; `factor` / 1.96 for draws to train on.
        """
        found: dict[int, float] = {}
        for k in sorted(range(len(self.numbers)), key=lambda k: self.numbers[k].above is not None):
            one = self.numbers[k]
            base = one.base if one.above is None else found[one.above]
            found[k] = base + one.scale.outward(one.x + share * float(member[k]))
        return [found[k] for k in range(len(self.numbers))]

    def by_joint(self, member: np.ndarray, share: float = 1.0) -> dict[str, dict[str, float]]:
        """The numbers of one draw by joint and path; those of a bench's one joint under "".

        Args:
            member: a row of `members`.
            share: of the way from the fit to there.
        """
        found: dict[str, dict[str, float]] = {}
        for one, value in zip(self.numbers, self.values(member, share), strict=True):
            for joint in one.joints:
                found.setdefault(joint, {})[one.path] = value
        return found

    def actuators(
        self, fitted: Mapping[str, Actuator], member: np.ndarray, share: float = 1.0
    ) -> dict[str, Actuator]:
        """All actuators of one draw: what joints share is the same in all of them.

        Args:
            fitted: by joint.
            member: a row of `members`.
            share: of the way from the fit to there.

        Returns:
            By joint.
        """
        drawn = self.by_joint(member, share)
        return {
            joint: actuator.replace(
                **{p: v for p, v in drawn.get(joint, {}).items() if p in actuator.parameters}
            )
            for joint, actuator in fitted.items()
        }

    @property
    def for_training(self) -> float:
        """How far draws to train on go, so that recordings lie among them as often as they should."""
        return self.factor / NORMAL


def variation_in(fit: Any) -> Variation:
    """What the fit's bands are made of.

    Raises:
        NotAvailable: it has none, with the reason.
    """
    if fit.variation is not None:
        return fit.variation
    refused = next((f for f in fit.findings if f.code == "no_band"), None)
    if refused is not None:
        raise NotAvailable(f"{refused.text} To get a band, {refused.remedy}")
    raise NotAvailable(
        "this fit says nothing of how recordings differ from each other: it is of a version before bands, or"
        " was asked for none; fit again"
    )


@dataclass(frozen=True, kw_only=True)
class PredictionBand:
    """Where 95 % of the samples of a recording are to be expected, by joint [rad or m]."""

    low: Mapping[str, np.ndarray] = field(repr=False)
    high: Mapping[str, np.ndarray] = field(repr=False)
    deviation: Mapping[str, np.ndarray] = field(repr=False)
    """Standard deviation, before it was held against left-out recordings."""
    members: Mapping[str, np.ndarray] = field(repr=False)
    """(draws, samples): the simulated draws themselves."""

    def half(self, joint: str = "") -> np.ndarray:
        """Half its width along the recording."""
        return 0.5 * (self.high[joint] - self.low[joint])


@dataclass(frozen=True, kw_only=True)
class ExpectedError(store.Noun):
    """How far off a prediction is to be expected [rad or m]."""

    mae: float
    """Mean absolute error."""
    rms: float
    """Root mean square error."""
    joints: Mapping[str, float]
    """Mean absolute error by joint."""


def band_around(
    predicted: Mapping[str, np.ndarray], members: Mapping[str, np.ndarray], variation: Variation
) -> PredictionBand:
    """The band of a prediction.

    Args:
        predicted: by joint.
        members: by joint, (draws, samples).
        variation: of the fit that both come from.

    Returns:
        Prediction and draws combined with what no draw explains.
    """
    deviation = {joint: np.hypot(deviation_of(members[joint]), variation.floor[joint]) for joint in predicted}
    half = {joint: variation.factor * s for joint, s in deviation.items()}
    return PredictionBand(
        low={joint: q - half[joint] for joint, q in predicted.items()},
        high={joint: q + half[joint] for joint, q in predicted.items()},
        deviation=deviation,
        members=members,
    )


def deviation_of(members: np.ndarray) -> np.ndarray:
    """Half of what the middle 68 % of the draws span, sample by sample: a wild one does not count."""
    ordered = np.sort(members, axis=0)  # NaN last; NumPy's own nanquantile goes sample by sample in Python
    n = np.maximum(np.sum(~np.isnan(members), axis=0), 1)
    low, high = (_between(ordered, share * (n - 1)) for share in (0.16, 0.84))
    return 0.5 * (high - low)


def _between(ordered: np.ndarray, place: np.ndarray) -> np.ndarray:
    """In each column, the value at a place between two rows."""
    row = np.floor(place).astype(int)
    here, there = (
        np.take_along_axis(ordered, np.minimum(at, len(ordered) - 1)[None], axis=0)[0]
        for at in (row, row + 1)
    )
    return np.where(place > row, here + (place - row) * (there - here), here)


def expected_error(band: PredictionBand, variation: Variation, joints: Sequence[str]) -> ExpectedError:
    """The error that a band says is to be expected.

    Args:
        band: of a prediction.
        variation: of the fit.
        joints: that count.

    Returns:
        Means over the joints, and each joint's own.
    """
    each = {joint: variation.mean_absolute * float(np.mean(band.deviation[joint])) for joint in joints}
    square = np.mean([np.mean(band.deviation[joint] ** 2) for joint in joints])
    rms = variation.root_mean_square * float(np.sqrt(square))
    return ExpectedError(mae=float(np.mean(list(each.values()))), rms=rms, joints=each)


def rank_histogram(motion: Any, n_bins: int = 10) -> np.ndarray:
    """How often recorded samples lie in each part of the ensemble: of draws to train on, each with the slow
    error, from below all to above all of them. Even where the draws are what the recordings might have been.

    Args:
        motion: a recording that was never fitted, with its band.
        n_bins: parts.

    Returns:
        Samples in each part.
    """
    variation, random = motion.fit.variation, np.random.default_rng(0)
    counts = np.zeros(n_bins)
    for joint in motion.joints:
        seen = np.isfinite(motion.recorded[joint]) & ~motion.touched
        members, middle = motion.band.members[joint], motion.positions[joint]
        deviation = variation.for_training * variation.floor[joint]
        slow = slow_error(motion.time, variation.slow, len(members), random)
        drawn = middle + variation.for_training * (members - middle) + deviation * slow
        below = np.mean(drawn[:, seen] < motion.recorded[joint][seen], axis=0)
        counts += np.histogram(below, n_bins, (0.0, 1.0))[0]
    return counts


def slow_error(time: np.ndarray, slow: float, n: int, random: np.random.Generator) -> np.ndarray:
    """(n, samples): noise of unit variance that forgets itself (Ornstein and Uhlenbeck).

    Args:
        time: of the samples [s].
        slow: time after which it is down to 1/e of itself [s].
        n: how many.
        random: draws it.
    """
    z = random.standard_normal((len(time), n))
    kept = np.exp(-np.diff(time) / max(slow, 1e-9))
    for k, share in enumerate(kept, start=1):
        z[k] = share * z[k - 1] + np.sqrt(1.0 - share**2) * z[k]
    return z.T
