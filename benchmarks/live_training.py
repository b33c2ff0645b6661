"""Microseconds a step of the training files for Warp and torch, for many joints at once, on this device.

python benchmarks/live_training.py                                    exports the files itself
python benchmarks/live_training.py --files knee_warp.py knee_torch.py   without backemf: Warp, torch, NumPy
python benchmarks/live_training.py --write FOLDER                      writes the files, for another machine

Warp's step is measured launched from Python and, on a GPU, in a CUDA graph; torch's eagerly and compiled.
Parameters are drawn for each joint, so that every number is read from memory.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ENVIRONMENTS, JOINTS, TIMESTEP, INERTIA = 4096, 12, 0.002, 0.02
PART = "mx-106/m6"
GRAPH = 100
"""Steps in one CUDA graph: starting it is then a hundredth of what is measured."""


def exported(folder: Path, part: str = PART) -> tuple[Path, Path]:
    """The two files, written by backemf."""
    import backemf as be
    from backemf.targets.export import export

    actuator = be.Actuator.read(part)
    paths = folder / "knee_warp.py", folder / "knee_torch.py"
    for path in paths:
        target = path.stem.partition("_")[2]
        path.write_text(export(actuator, target, joint="knee", replay=False).text, encoding="utf-8")
    return paths


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def timed(step: Callable[[], Any], wait: Callable[[], Any], seconds: float = 1.0) -> float:
    """Microseconds a call, the median of five rounds of about a fifth of the time each."""
    step()
    wait()
    began = time.perf_counter()
    step()
    wait()
    n = max(3, int(0.2 * seconds / max(time.perf_counter() - began, 1e-6)))
    rounds = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(n):
            step()
        wait()
        rounds.append(1e6 * (time.perf_counter() - began) / n)
    return float(np.median(rounds))


def of_warp(
    path: Path, n: int, m: int, *, device: str | None = None, seconds: float = 1.0
) -> dict[str, float]:
    """Launched, and where there is a GPU in a CUDA graph."""
    wp: Any = importlib.import_module("warp")
    wp.config.log_level = wp.LOG_ERROR
    began, file = time.perf_counter(), loaded(path)
    drawn = {"randomise": ("unit_spread",), "seed": 1}
    joints = file.Actuator(n, m, timestep=TIMESTEP, inertia=INERTIA, device=device, **drawn)
    rng = np.random.default_rng(0)
    q, v, u = (joints.array(0.3 * rng.standard_normal((n, m))) for _ in range(3))

    def step() -> Any:
        return joints.compute(q, v, u)

    def wait() -> None:
        wp.synchronize_device(joints.device)

    step()
    wait()
    found = {"warp: seconds until the first step": time.perf_counter() - began}
    found["warp launched"] = timed(step, wait, seconds)
    if joints.device.is_cuda:
        with wp.ScopedCapture(device=joints.device) as capture:
            for _ in range(GRAPH):
                step()
        found["warp in a CUDA graph"] = timed(lambda: wp.capture_launch(capture.graph), wait, seconds) / GRAPH
    if not np.isfinite(step().numpy()).all():
        raise SystemExit("the file for Warp gave a torque that is no number")
    return found


def of_torch(
    path: Path, n: int, m: int, *, device: str | None = None, seconds: float = 1.0
) -> dict[str, float]:
    """Eagerly, and compiled."""
    import torch  # pyright: ignore[reportMissingImports]  # optional

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    file, found = loaded(path), {}
    generator = torch.Generator().manual_seed(0)
    q, v, u = (0.3 * torch.randn(n, m, generator=generator).to(device) for _ in range(3))

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    for name, compiled in (("eager", False), ("compiled", True)):
        began = time.perf_counter()
        drawn = {"randomise": ("unit_spread",), "seed": 1, "compiled": compiled}
        joints = file.Actuator(n, m, inertia=INERTIA, device=device, **drawn)
        with torch.no_grad():
            torque = joints.compute(u, q, v, TIMESTEP)
            wait()
            found[f"torch {name}: seconds until the first step"] = time.perf_counter() - began
            found[f"torch {name}"] = timed(lambda j=joints: j.compute(u, q, v, TIMESTEP), wait, seconds)
        if compiled and not joints.compiled:
            del found["torch compiled"]  # it fell back, and said why
        if not bool(torch.isfinite(torque).all()):
            raise SystemExit("the file for torch gave a torque that is no number")
    return found


def measured(
    warp_file: Path | str,
    torch_file: Path | str | None,
    n: int = ENVIRONMENTS,
    m: int = JOINTS,
    *,
    device: str | None = None,
    seconds: float = 1.0,
) -> dict[str, float]:
    """Microseconds a step by name, and seconds until the first."""
    found = of_warp(Path(warp_file), n, m, device=device, seconds=seconds)
    if torch_file is not None:
        found |= of_torch(Path(torch_file), n, m, device=device, seconds=seconds)
    return found


def table(found: dict[str, float], n: int, m: int) -> str:
    lines = [f"{n} x {m} joints", ""]
    for name, value in found.items():
        unit = "s" if "seconds" in name else "us a step"
        lines.append(f"{name.replace(': seconds until', ', until'):<40}{value:>12.2f} {unit}")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", nargs=2, type=Path, metavar=("WARP", "TORCH"))
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("--part", default=PART)
    parser.add_argument("--environments", type=int, default=ENVIRONMENTS)
    parser.add_argument("--joints", type=int, default=JOINTS)
    parser.add_argument("--device", help="cpu or cuda; else the best there is")
    parser.add_argument("--seconds", type=float, default=1.0, help="to spend on each number")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    asked = parser.parse_args(words)
    if asked.quick:
        asked.environments, asked.joints, asked.device, asked.seconds = 4, 2, "cpu", 0.01
    if asked.write is not None:
        asked.write.mkdir(parents=True, exist_ok=True)
        print(*exported(asked.write, asked.part))
        return
    with tempfile.TemporaryDirectory() as folder:
        warp_file, torch_file = asked.files or exported(Path(folder), asked.part)
        n, m = asked.environments, asked.joints
        found = measured(warp_file, torch_file, n, m, device=asked.device, seconds=asked.seconds)
    print(table(found, n, m))


if __name__ == "__main__":
    main()
