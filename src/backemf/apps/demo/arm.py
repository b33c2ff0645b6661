"""An arm of three servos and a LeRobot dataset of it, simulated: recordings whose truth is known."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from ...datasheets.parts import sheet
from ...errors import NotAvailable
from ...files import write_all
from ...mujoco.live.attach import attach
from ...physics.actuator import Actuator

MODEL = """<mujoco model="arm">
  <compiler angle="radian"/>
  <worldbody>
    <body name="base" pos="0 0 .3">
      <joint name="shoulder_pan" axis="0 0 1" range="-1.9 1.9"/>
      <geom type="cylinder" size=".03 .03" mass=".1"/>
      <body name="upper_arm">
        <joint name="shoulder_lift" axis="0 1 0" range="-1.7 1.7"/>
        <geom type="capsule" fromto="0 0 0 .12 0 0" size=".02" mass=".25"/>
        <body name="lower_arm" pos=".12 0 0">
          <joint name="elbow_flex" axis="0 1 0" range="-1.7 1.7"/>
          <geom type="capsule" fromto="0 0 0 .16 0 0" size=".02" mass=".2"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex")
FPS, SECONDS = 30, 15
COUNT = 2 * np.pi / 4096
"""Of the encoder of an STS3215 [rad]."""


def truth() -> Actuator:
    """An STS3215 as LeRobot sets it up, with less and another friction than its sheet suggests."""
    servo = sheet("sts3215-12v").with_profile("lerobot").actuator()
    return servo.replace(**{"friction.coulomb": 0.11, "friction.viscous": 0.05})


def write_arm_dataset(
    folder: str | Path = "arm_dataset",
    model: str | Path = "arm.xml",
    *,
    n_episodes: int = 3,
    force: bool = False,
) -> Path:
    """Write the arm's MJCF and a dataset of version 2.1 of it: in each frame the joints are read in encoder
    counts, then the next goal is sent, both in degrees."""
    try:
        import mujoco
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise NotAvailable(f"the arm needs {error.name}; pip install 'backemf[mujoco,logs]'") from error
    place = Path(folder)
    vector = {"dtype": "float32", "shape": [len(JOINTS)], "names": [f"{name}.pos" for name in JOINTS]}
    info = {
        "codebase_version": "v2.1",
        "robot_type": "so101_follower",
        "fps": FPS,
        "total_episodes": n_episodes,
        "features": {"observation.state": vector, "action": vector},
    }
    motors = attach(mujoco.MjSpec.from_string(MODEL), {".*": truth()})
    written: dict[Path, str | bytes] = {
        Path(model): MODEL,
        place / "meta" / "info.json": json.dumps(info, indent=1),
    }
    for k in range(n_episodes):
        goals = _goals(k)
        seen = np.zeros_like(goals)
        data = mujoco.MjData(motors.model)
        for row, goal in enumerate(goals):
            seen[row] = np.round(data.qpos / COUNT) * COUNT
            data.ctrl[:] = goal
            while data.time < (row + 1) / FPS - 1e-9:
                mujoco.mj_step(motors.model, data)
        columns = {
            "action": list(np.degrees(goals).astype(np.float32)),
            "observation.state": list(np.degrees(seen).astype(np.float32)),
            "timestamp": (np.arange(len(goals)) / FPS).astype(np.float32),
            "frame_index": np.arange(len(goals)),
            "episode_index": np.full(len(goals), k),
        }
        held = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), held)
        written[place / "data" / "chunk-000" / f"episode_{k:06d}.parquet"] = held.getvalue()
    for path in written:
        path.parent.mkdir(parents=True, exist_ok=True)
    write_all(written, force=force)
    return place


def _goals(seed: int) -> np.ndarray:
    """Places that the joints go to at different paces, as somebody who teleoperates does."""
    random, n = np.random.default_rng(seed), FPS * SECONDS
    found = np.zeros((n, len(JOINTS)))
    for j in range(len(JOINTS)):
        turns = np.sort(random.choice(np.arange(15, n, 15), 12, replace=False))
        found[:, j] = np.interp(
            np.arange(n), np.r_[0, turns, n], np.r_[0, random.uniform(-1, 1, len(turns)), 0]
        )
    return found
