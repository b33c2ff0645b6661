"""The EMPS positioning axis: what positions and targets alone tell of its mass and friction, beside the
published numbers.

    python benchmarks/emps.py [--json] [--data FOLDER]

Published (Janot, Gautier, Brunot: Data set and reference models of EMPS, 2019): least squares on the recorded
force, and the closed loop simulated with its result. Ours never sees the force; it is only judged by it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import backemf as be
from backemf.analysis.transients import force_error, inverse_dynamics
from backemf.identify.predict import predict

K_P, K_V = 160.18, 243.45
FREE = {
    "motor.rotor_inertia": "M [kg]",
    "friction.viscous": "F_v [N s/m]",
    "friction.coulomb": "F_c [N]",
    "friction.offset": "offset [N]",
}
PUBLISHED = {"M [kg]": 95.109, "F_v [N s/m]": 203.50, "F_c [N]": 20.394, "offset [N]": 3.165}
PUBLISHED |= {"position error [%]": 0.0138, "force error [%]": 4.083}
LOOPS: dict[str, dict] = {
    "as published: 1 kHz, velocity over two periods": {"period": 1e-3, "n_velocity_periods": 2},
    "1 kHz, velocity over one period": {"period": 1e-3},
    "1 kHz, the velocity itself": {"period": 1e-3, "n_velocity_periods": 0},
    "looks all the time": {},
}


def recording(folder: Path) -> be.Log:
    from scipy.io import loadmat

    mat = loadmat(folder / "emps" / "DATA_EMPS.mat", squeeze_me=True)
    signals = {"position": mat["qm"], "position_target": mat["qg"], "torque": mat["gtau"] * mat["vir"]}
    return be.log("emps", mat["t"], **signals, bench=be.bench.FreeShaft(), motion="linear")


def axis(**drive) -> be.Actuator:
    """Gains as stated: force = gtau kv (kp (target - q) - velocity); round start values."""
    k_d = 35.15065188 * K_V
    return be.Actuator(
        motor=be.motor.Motor(resistance=1.0, torque_constant=1.0, rotor_inertia=50.0),
        friction=be.friction.Coulomb(coulomb=10.0, viscous=100.0, offset=0.1),
        motion="linear",
        drive=be.drive.Impedance(
            newton_metres_per_radian=K_P * k_d, newton_metre_seconds_per_radian=k_d, **drive
        ),
    )


def row(log: be.Log, drive: dict) -> dict[str, float]:
    seen: dict[str, Any] = {name: log[name] for name in ("position", "position_target")}
    moved = be.log("emps", log.time, **seen, bench=be.bench.FreeShaft(), motion="linear")
    begun = time.process_time()
    fit = be.fit(axis(**drive), [moved], free_paths=[*FREE], n_starts=1, bands=False)
    off = predict(fit, moved) - log["position"]
    numbers = {name: fit.parameters[path].value for path, name in FREE.items()}
    numbers |= {f"{name} +-": 1.96 * fit.parameters[path].error for path, name in FREE.items()}
    return {
        **numbers,
        "position error [%]": 100 * float(np.linalg.norm(off) / np.linalg.norm(log["position"])),
        "force error [%]": 100 * force_error(log, fit.actuator),
        "CPU [s]": time.process_time() - begun,
    }


def parts(log: be.Log, n: int = 3) -> dict[str, dict[str, float]]:
    """The same from each of some parts of the run alone, and how many errors the farthest two are apart."""
    drive, found = LOOPS["as published: 1 kHz, velocity over two periods"], {}
    cuts = np.linspace(float(log.time[0]), float(log.time[-1]), n + 1)
    for k in range(n):
        one = row(log.between(cuts[k], cuts[k + 1]), drive)
        found[f"part {k + 1} of {n}, as published"] = one
    apart = {}
    for name in FREE.values():
        pairs = itertools.combinations(found.values(), 2)
        z = [abs(a[name] - b[name]) * 1.96 / np.hypot(a[f"{name} +-"], b[f"{name} +-"]) for a, b in pairs]
        apart[name] = max(z)
    return found | {f"the farthest two of {n}, in their errors": apart}


def rows(folder: Path, quick: bool = False) -> dict[str, dict[str, float]]:
    """What was published, and what we find: with the force, and, unless it shall be quick, without it for
    every reading of the loop."""
    log = recording(folder)
    classic = {name: float(m.value or 0.0) for name, m in inverse_dynamics(log).others.items()}
    found: dict[str, dict[str, float]] = {"published": PUBLISHED}
    found["inverse dynamics, with the force"] = {
        "M [kg]": classic["inertia"],
        "F_v [N s/m]": classic["viscous"],
        "F_c [N]": classic["coulomb"],
        "offset [N]": -classic["offset"],
        "force error [%]": 100 * classic["force_error"],
    }
    if quick:
        return found
    return found | {name: row(log, drive) for name, drive in LOOPS.items()} | parts(log)


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true")
    options.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    options.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = options.parse_args(words)
    if not (given.data / "emps").is_dir():
        print(f"no recording in {given.data / 'emps'}; nothing to measure")
        return
    found = rows(given.data, given.quick)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    columns = [*PUBLISHED, "CPU [s]"]
    print(f"{'':48}" + "".join(f"{name:>20}" for name in columns))
    for name, numbers in found.items():
        cells = (f"{numbers[c]:.4g}" if c in numbers else "-" for c in columns)
        print(f"{name:48}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
