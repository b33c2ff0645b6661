"""Whole files of every format, for those who break them and for commands that read them."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from ..conftest import unavailable
from ..fleets.drawn import drawn, servo, write
from .seeds import seeds

FILES = {
    "pendulum": "pendulum.json",
    "table": "table.csv",
    "sysid": "sysid.json",
    "mapping": "mapping.json",
    "sheet": "sheet.toml",
    "actuator": "actuator.json",
    "fit": "fit.json",
    "mjcf explained": "model.xml",
    "mjcf read": "export.xml",
}


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """Whole files of every format, by kind: (name, content)."""
    absent = [
        name for name in ("mcap_ros2", "mujoco", "pyarrow", "rosbags", "yaml") if find_spec(name) is None
    ]
    if absent:
        unavailable(f"{', '.join(absent)}, of the extras 'logs' and 'mujoco',")
    return seeds(tmp_path_factory.mktemp("seeds"))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, valid):
    """A folder with whole files of every kind that a command takes."""
    folder = tmp_path_factory.mktemp("größe und so")
    for kind, name in FILES.items():
        (folder / name).write_bytes(valid[kind][1])
    t = 0.01 * np.arange(200)
    for name, title, values in (
        ("coast.csv", "velocity [rad/s]", np.maximum(0.0, 5.0 - 2.0 * t - 0.3 * t**2)),
        ("coast_disc.csv", "velocity [rad/s]", np.maximum(0.0, 5.0 - t - 0.15 * t**2)),
        ("rise.csv", "current [A],velocity [rad/s]", np.stack([1 - np.exp(-5 * t)] * 2, axis=1)),
        (
            "axis.csv",
            "position [rad],torque [N m]",
            np.stack([np.sin(6 * t), -36 * np.sin(6 * t) + 3 * np.cos(6 * t)], axis=1),
        ),
        ("heating.csv", "temperature [degC]", 25.0 + 40.0 * (1.0 - np.exp(-t))),
        (
            "reversal.csv",
            "position_target [rad],position [rad]",
            np.stack([np.sin(6 * t), np.sin(6 * t) - 0.01 * np.sign(np.cos(6 * t))], axis=1),
        ),
    ):
        rows = [",".join(f"{x:.6f}" for x in (a, *np.atleast_1d(b))) for a, b in zip(t, values, strict=True)]
        (folder / name).write_text(f"time [s],{title}\n" + "\n".join(rows) + "\n")
    units = drawn(np.random.default_rng(0), 8, sessions=4)
    write(folder / "fleet", units.seen, servo())
    return folder
