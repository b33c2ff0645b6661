"""What a joint's motion asks of any motor behind any gears: mean squares from moments of the motion, peaks
from its extreme samples, and the ratio that suits.

A joint moves with acceleration a and speed w and gives the torque T to its load. Behind N : 1 with an
efficiency eta the rotor gives, as `Gearbox.loss` has it, whose friction lies behind the teeth,

    tau = N (J a + B_i w) + k (T + F) / N,    F = eta N (tau_c sgn w + N (B - B_i) w)

with k = 1/eta where T + F drives the motion, eta where it brakes it, 1 at rest; J and B at the rotor, gears
included, B_i its iron's part, tau_c what its dry friction feels like there while it drives. Moments take k by
T alone; what that leaves out where a load pushes by less than friction holds is `LightBraking`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FLOWS = (1.0, -1.0, 0.0)
"""Driving, braking, at rest."""
PAIRS = [(p, q) for p in range(4) for q in range(p, 4)]
"""Of (a, w, sgn w, T), whose mean products in each flow are the whole motion for mean squares and powers."""
A_W, W_W, W_SIDE, W_T = (PAIRS.index(pair) for pair in ((0, 1), (1, 1), (1, 2), (1, 3)))
REST = 1e-3
"""Share of the greatest speed below which a joint counts as at rest."""


class JointSamples(NamedTuple):
    """A motion in samples, each array of one length, at the output."""

    a: np.ndarray
    """[rad/s^2]"""
    w: np.ndarray
    """[rad/s]"""
    T: np.ndarray
    """Torque on the load [N m]."""
    weight: np.ndarray
    """Share of the time."""

    @property
    def side(self) -> np.ndarray:
        """Sign of the speed; 0 at rest."""
        return np.where(np.abs(self.w) <= REST * np.max(np.abs(self.w)), 0.0, np.sign(self.w))

    @property
    def flow(self) -> np.ndarray:
        """+1 where the joint drives its load, -1 where it brakes it, 0 at rest."""
        return np.sign(self.T * self.side)


class Reduction(NamedTuple):
    """Motors behind gears, one an element; each number at the rotor."""

    J: np.ndarray
    """Rotor and input of the gears [kg m^2]."""
    B: np.ndarray
    """[N m s/rad]"""
    tau_c: np.ndarray
    """[N m]"""
    N: np.ndarray
    eta: np.ndarray
    iron: np.ndarray = np.zeros(1)
    """What of B the iron takes, before the teeth [N m s/rad]."""

    def weights(self, flow: float) -> tuple[np.ndarray, ...]:
        """What the torque has of a, w, sgn w and T in a flow of power."""
        J, B, c, N, eta, iron = self
        k = {1.0: 1.0 / eta, -1.0: eta, 0.0: np.ones_like(eta)}[flow]
        felt = eta * eta if flow < 0.0 else np.ones_like(eta)  # friction lies behind the teeth
        return N * J, N * (iron + felt * (B - iron)), felt * c, k / N


def moment_terms(m: JointSamples) -> np.ndarray:
    """What the moments are means of, (samples, 30), each sample times its weight."""
    rows, flow = (m.a, m.w, m.side, m.T), m.flow
    terms = [np.where(flow == k, rows[p] * rows[q], 0.0) for k in FLOWS for p, q in PAIRS]
    return np.stack(terms, axis=1) * m.weight[:, None]


def mean_square_speed(moments: np.ndarray) -> np.ndarray:
    """<w^2>, of the motion or of stretches of it."""
    return moments[W_W :: len(PAIRS)].sum(axis=0)


def mean_square_torque(moments: np.ndarray, r: Reduction) -> np.ndarray:
    """Mean square of the rotors' torque.

    Args:
        moments: of the motion (30,), or of stretches of it (30, stretches).
        r: the motors and their gears.

    Returns:
        [N^2 m^2], one for each motor, or (motors, stretches).
    """
    rows = []
    for x in map(r.weights, FLOWS):
        rows += [(1.0 if p == q else 2.0) * x[p] * x[q] for p, q in PAIRS]
    return np.stack(rows, axis=1) @ moments


class LightBraking(NamedTuple):
    """Braking samples, the lightest first: behind much friction their loads are driven all the same."""

    torque: np.ndarray
    """On the load, without sign [N m]."""
    sums: np.ndarray
    """Mean products of so many of them, (samples + 1, pairs)."""
    speed: float
    """Their mean, without sign [rad/s]."""

    @classmethod
    def of(cls, m: JointSamples, terms: np.ndarray) -> LightBraking:
        """Of a motion and its `moment_terms`."""
        rows = np.flatnonzero(m.flow < 0.0)
        rows = rows[np.argsort(np.abs(m.T[rows]), kind="stable")]
        sums = np.cumsum(terms[rows, len(PAIRS) : 2 * len(PAIRS)], axis=0)
        none = np.zeros((1, len(PAIRS)))
        speed = float(np.mean(np.abs(m.w[rows]))) if len(rows) else 0.0
        return cls(np.abs(m.T[rows]), np.concatenate([none, sums]), speed)

    def further(self, r: Reduction) -> tuple[np.ndarray, np.ndarray]:
        """(mean square torque, mean power) that moments leave out, of motors and their gears."""
        held = r.eta * r.N * (r.tau_c + r.N * (r.B - r.iron) * self.speed)
        mean, x, y = self.sums[np.searchsorted(self.torque, held)].T, r.weights(1.0), r.weights(-1.0)
        square = sum(
            (1.0 if p == q else 2.0) * (x[p] * x[q] - y[p] * y[q]) * m
            for (p, q), m in zip(PAIRS, mean, strict=True)
        )
        speeds = zip(x, y, (A_W, W_W, W_SIDE, W_T), strict=True)
        return np.asarray(square), r.N * sum((one - other) * mean[j] for one, other, j in speeds)


def mean_power(moments: np.ndarray, r: Reduction) -> np.ndarray:
    """Mean mechanical power that the rotors give: tau N w [W]."""
    power = np.zeros_like(r.N)
    for k, flow in enumerate(FLOWS):
        m = moments[k * len(PAIRS) :]
        power += sum(x * m[j] for x, j in zip(r.weights(flow), (A_W, W_W, W_SIDE, W_T), strict=True))
    return r.N * power


def best_ratio(
    moments: np.ndarray, J: float, B: float, tau_c: float, eta: float = 1.0, iron: float = 0.0
) -> float:
    """The ratio with the least mean square torque: the positive root of
    N^4 <A^2> + N^3 <A C> - N <C P> - <P^2> = 0, with A of a and w, C of sgn w, P of T.

    Args:
        moments: of the motion.
        J: of the rotor [kg m^2].
        B: of the rotor [N m s/rad].
        tau_c: of the rotor [N m].
        eta: of the gears.
        iron: what of B the iron takes [N m s/rad].

    Returns:
        The ratio; infinite where nothing of the motor itself needs torque.
    """
    sums, one = np.zeros((4, 4)), Reduction(*(np.array([x]) for x in (J, B, tau_c, 1.0, eta, iron)))
    for k, flow in enumerate(FLOWS):
        x = np.concatenate(one.weights(flow))
        for (p, q), mean in zip(PAIRS, moments[k * len(PAIRS) :], strict=False):
            sums[p, q] += x[p] * x[q] * mean
    AA = sums[0, 0] + 2.0 * sums[0, 1] + sums[1, 1]
    AC, CP, PP = sums[0, 2] + sums[1, 2], sums[2, 3], sums[3, 3]
    if AA <= 0.0 and AC <= 0.0:
        return np.inf
    roots = np.roots([AA, AC, 0.0, -CP, -PP])
    real = roots[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0)].real

    def square(N: float) -> float:
        return N * N * AA + 2.0 * N * AC + 2.0 * CP / N + PP / (N * N)

    return float(min(real, key=square, default=np.inf))


def rotor_torque(samples: np.ndarray, side: float, flow: float, r: Reduction) -> np.ndarray:
    """The rotors' torque at samples of one direction and one flow of power.

    Args:
        samples: rows of (a, w, T).
        side: sign of the speed there, 0 at rest.
        flow: as `JointSamples.flow`.
        r: the motors and their gears.

    Returns:
        (motors, samples) [N m], in single precision: peaks are compared, not summed.
    """

    def torque(way: float) -> np.ndarray:
        *of_motion, felt, of_load = r.weights(way)
        rows = np.stack([*of_motion, of_load], axis=1).astype(np.float32)
        return rows @ samples.T.astype(np.float32) + (side * felt).astype(np.float32)[:, None]

    if flow >= 0.0:
        return torque(flow)
    return np.float32(side) * np.maximum(np.float32(side) * torque(1.0), np.float32(side) * torque(flow))


def torque_series(m: JointSamples, r: Reduction) -> np.ndarray:
    """The rotors' torque over the whole motion, exact.

    Args:
        m: the motion.
        r: the motors and their gears.

    Returns:
        (motors, samples) [N m].
    """
    J, B, c, N, eta, iron = (x[:, None] for x in r)
    carried = m.T + eta * N * (c * m.side + N * (B - iron) * m.w)
    flow = carried * m.side
    k = np.where(flow > 0, 1.0 / eta, np.where(flow < 0, eta, 1.0))
    return N * (J * m.a + iron * m.w) + k * carried / N
