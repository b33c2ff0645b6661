"""What a joint's motion asks of any motor behind any gears: mean squares from moments of the motion, peaks
from its extreme samples, and the ratio that suits.

A joint moves with acceleration a and speed w and gives the torque T to its load. Behind N : 1 with an
efficiency eta the rotor gives

    tau = N (J a + B w) + tau_c sgn w + k T / N,    k = 1/eta where T w > 0, eta where T w < 0, 1 at rest

with J and B at the rotor, gears included, and tau_c what its own dry friction feels like there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOMENTS = 18
"""Numbers that are the whole motion for mean squares and mean powers."""
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


def moment_terms(m: JointSamples) -> np.ndarray:
    """What the moments are means of, (samples, 18), each sample times its weight."""
    s, flow = m.side, m.flow
    drive, brake, hold = (np.where(flow == k, m.T, 0.0) for k in (1.0, -1.0, 0.0))
    terms = [m.a * m.a, m.a * m.w, m.w * m.w, m.a * s, m.w * s, s * s]
    terms += [x * T for x in (m.a, m.w, s) for T in (drive, brake, hold)]
    terms += [T * T for T in (drive, brake, hold)]
    return np.stack(terms, axis=1) * m.weight[:, None]


def mean_square_torque(moments: np.ndarray, r: Reduction) -> np.ndarray:
    """Mean square of the rotors' torque, exact.

    Args:
        moments: of the motion (18,), or of stretches of it (18, stretches).
        r: the motors and their gears.

    Returns:
        [N^2 m^2], one for each motor, or (motors, stretches).
    """
    J, B, c, N = r.J, r.B, r.tau_c, r.N
    by = (1.0 / r.eta, r.eta, np.ones_like(r.eta))  # k of driving, braking, holding
    rows = [(N * J) ** 2, 2.0 * N * N * J * B, (N * B) ** 2, 2.0 * N * J * c, 2.0 * N * B * c, c * c]
    rows += [2.0 * x * k for x in (J, B, c / N) for k in by]
    rows += [(k / N) ** 2 for k in by]
    return np.stack(rows, axis=1) @ moments


def mean_power(moments: np.ndarray, r: Reduction) -> np.ndarray:
    """Mean mechanical power that the rotors give: tau N w [W]."""
    aw, ww, speed, wD, wB, wH = (moments[k] for k in (1, 2, 4, 9, 10, 11))
    N = r.N
    return N * N * (r.J * aw + r.B * ww) + N * r.tau_c * speed + wD / r.eta + r.eta * wB + wH


def best_ratio(moments: np.ndarray, J: float, B: float, tau_c: float, eta: float = 1.0) -> float:
    """The ratio with the least mean square torque: the positive root of
    N^4 <A^2> + N^3 <A C> - N <C P> - <P^2> = 0, with A = J a + B w, C = tau_c sgn w, P = k T.

    Args:
        moments: of the motion.
        J: of the rotor [kg m^2].
        B: of the rotor [N m s/rad].
        tau_c: of the rotor [N m].
        eta: of the gears.

    Returns:
        The ratio; infinite where nothing of the motor itself needs torque.
    """
    by = np.array([1.0 / eta, eta, 1.0])
    AA = J * J * moments[0] + 2.0 * J * B * moments[1] + B * B * moments[2]
    AC = tau_c * (J * moments[3] + B * moments[4])
    CP, PP = tau_c * float(by @ moments[12:15]), float(by**2 @ moments[15:18])
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
    k = {1.0: 1.0 / r.eta, -1.0: r.eta, 0.0: np.ones_like(r.eta)}[flow]
    rows = np.stack([r.N * r.J, r.N * r.B, k / r.N], axis=1).astype(np.float32)
    return rows @ samples.T.astype(np.float32) + (side * r.tau_c).astype(np.float32)[:, None]


def torque_series(m: JointSamples, r: Reduction) -> np.ndarray:
    """The rotors' torque over the whole motion.

    Args:
        m: the motion.
        r: the motors and their gears.

    Returns:
        (motors, samples) [N m].
    """
    J, B, c, N, eta = (x[:, None] for x in r)
    k = np.where(m.flow > 0, 1.0 / eta, np.where(m.flow < 0, eta, 1.0))
    return N * (J * m.a + B * m.w) + c * m.side + k * m.T / N
