"""The SG90 article's servo: its motor, its battery on the shaft, its plain Euler simulation at 0.1 ms,
and its two ways of sampling."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import backemf as be
from backemf.engine.compile.kernels import kernels
from backemf.engine.rows import hold_inputs

from .euler import EulerSystem
from .routes import sg90_article

RATIO, STEP, T0 = 55.5, 1e-4, 0.5015946
BENCH = be.bench.Flywheel(inertia=be.bench.cylinder(0.016, 0.00725, 0.048))


def command(t: np.ndarray, early: float = 0.0) -> np.ndarray:
    """A square wave between 0 and pi, 0.5 Hz; `early` seconds before the published moment, which is that of
    the first frame in which the arm has moved."""
    return np.where(((t - T0 + early) * 0.5) % 1 < 0.5, np.pi, 0.0)


def servo(kp: float, b: float) -> be.Actuator:
    """kp in V/rad, b at the rotor in N m s/rad; 5 V at most."""
    m = sg90_article(be.Datasheet.read("sg90"))
    return be.Actuator(
        motor=be.motor.Motor(resistance=m.resistance, torque_constant=m.torque_constant),
        gearbox=be.gearbox.Gearbox(ratio=RATIO),
        friction=be.friction.Viscous(viscous=b * RATIO**2),
        drive=be.drive.Position(volts_per_radian=kp, voltage_limit=5.0),
    )


class Article:
    """The article's error for (kp, b): as it was published, or at the true times."""

    def __init__(self, folder: Path):
        table = np.genfromtxt(folder / "sg90" / "sg90_theta.csv", delimiter=",", names=True)
        self.time, self.theta = table["t"], table["theta"]
        self.n = int(np.ceil(self.time[-1] / STEP))
        self.rows = hold_inputs(command(np.arange(self.n) * STEP)[:, None], np.full(self.n, STEP))
        self.system = EulerSystem(actuator=servo(15.0, 1e-6), bench=BENCH, inputs=("position_target",))
        self.kernels = kernels(self.system)

    def error(self, kp: float, b: float, *, as_published: bool, first: int = 0) -> float:
        p = {**self.system.parameters, "drive.volts_per_radian": kp, "friction.viscous": b * RATIO**2}
        q = self.kernels.trajectory(list(p.values()), [0.0, 0.0], self.rows)[:, 0]
        if as_published:  # 214 samples a span/214 apart, each at the first step beyond: a stretched axis
            spacing = (self.time[-1] - self.time[0]) / len(self.time)
            at = np.floor(np.arange(len(self.time)) * spacing / STEP + 1e-9).astype(int) + 1
        else:
            at = np.ceil(self.time / STEP - 1e-9).astype(int)
        return float(np.linalg.norm((q[np.minimum(at, self.n)] - self.theta)[first:]))

    def log(self, until: int, early: float = 0.0) -> be.Log:
        """The first samples on a fine grid that has every moment at which the command jumps;
        nothing is stretched."""
        jumps = T0 - early + np.arange(0, 8)
        grid = np.unique(np.concatenate([self.time, np.arange(0, self.time[-1], 0.004), jumps]))
        grid = grid[grid <= self.time[-1]]
        position = np.full(len(grid), np.nan)
        position[np.searchsorted(grid, self.time)[:until]] = self.theta[:until]
        asked = command(grid + 1e-9, early)
        return be.log("sg90", grid, position=position, position_target=asked, bench=BENCH)

    def errors(self, actuator: be.Actuator, early: float = 0.0) -> np.ndarray:
        """Of every sample, with the accurate step at the true times, from where the arm was."""
        log, start = self.log(len(self.time), early), {"position": float(self.theta[0])}
        run = be.simulate(actuator, BENCH, log["position_target"], time=log.time, start=start, substeps=4)
        seen = np.isfinite(log["position"])
        return run.position[seen] - log["position"][seen]
