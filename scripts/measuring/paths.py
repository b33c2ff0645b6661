"""Which of our files a call runs, in the order of their first call, and how often that leads to another
folder: a bench's fit, a robot's fit, and an export into a model, all on recordings simulated here.

A folder is one of the tree: `identify/inspect` belongs to `identify`, and a kit or an app is one of its own.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

TIERS = ("kits", "apps")
ARM = """
<mujoco model="arm"><compiler angle="radian"/>
  <default>
    <default class="servo">
      <joint axis="0 1 0" range="-2 2" armature="0.01" damping="0.1" frictionloss="0.05"/>
      <position kp="10" kv="0.3" forcerange="-3 3"/>
    </default>
  </default>
  <worldbody>
    <body name="upper" pos="0 0 0.6">
      <joint name="shoulder" class="servo"/>
      <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.01" mass="0.2"/>
      <body name="fore" pos="0.2 0 0">
        <joint name="elbow" class="servo"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.01" mass="0.15"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="m_shoulder" joint="shoulder" class="servo"/>
    <position name="m_elbow" joint="elbow" class="servo"/>
  </actuator>
</mujoco>
"""


class CallPath(NamedTuple):
    """The files that a call ran, in the order of their first call."""

    files: tuple[Path, ...]

    @property
    def changes(self) -> int:
        """How often the next file is in another folder of the tree."""
        return sum(a != b for a, b in pairwise(map(folder, self.files)))

    @property
    def subfolder_changes(self) -> int:
        """The same where every subfolder is a folder of its own."""
        return sum(a.parent != b.parent for a, b in pairwise(self.files))


def folder(path: Path) -> tuple[str, ...]:
    """The folder of the tree that a file, given below the source, belongs to."""
    return path.parent.parts[: 2 if path.parts[0] in TIERS else 1]


def trace(call: Callable[[], object], source: Path) -> CallPath:
    """What a call runs below a folder once it is warm: it runs twice, and the second time is watched."""
    call()
    names: dict[str, None] = {}

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            names.setdefault(frame.f_code.co_filename)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    ours = (Path(name) for name in names)
    return CallPath(tuple(path.relative_to(source) for path in ours if path.is_relative_to(source)))


def call_paths() -> Iterator[tuple[str, CallPath]]:
    """The three calls whose ways are held, by name."""
    import backemf as be

    source = Path(be.__file__).parent
    servo = be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=0.01),
        friction=be.friction.Coulomb(coulomb=0.04, viscous=0.02),
        drive=be.drive.Servo(firmware_gain=0.16, proportional=16.0, supply=12.0, duty_limit=0.97),
    )
    start = servo.replace(**{"motor.resistance": 4.4, "friction.coulomb": 0.06})
    logs = bench_logs(servo)
    yield "bench fit", trace(lambda: be.fit(start, logs, hold_out="log 2"), source)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "arm.xml"
        path.write_text(ARM, encoding="utf-8")
        recordings = robot_logs(path)
        yield "robot fit", trace(lambda: be.fit(start, recordings, hold_out="run 2"), source)
        edit = trace(lambda: be.export(servo, "mujoco", joint="elbow", into=path), source)
        yield "export --into", edit


def bench_logs(servo: Any) -> list[Any]:
    """Three short recordings of a servo on a pendulum."""
    import numpy as np

    import backemf as be

    noise = np.random.default_rng(0)
    bench = be.bench.Pendulum(mass=0.3, length=0.1, arm_mass=0.03)
    logs = []
    for k in range(3):
        target = be.signal.sine(0.8, 0.5 + 0.2 * k)
        run = be.simulate(servo, bench, target, duration=4.0, dt=0.005, substeps=10)
        position = run.position + 5e-4 * noise.standard_normal(len(run))
        signals = {"position": position, "position_target": run["position_target"]}
        logs.append(be.log(f"log {k}", run.time, bench=bench, **signals))
    return logs


def robot_logs(path: Path) -> list[Any]:
    """Three short recordings of the arm in a file, as MuJoCo's own actuators move it."""
    import mujoco
    import numpy as np

    import backemf as be

    robot, noise = be.Robot.read(path), np.random.default_rng(0)
    model = mujoco.MjModel.from_xml_path(str(path))
    t = np.arange(0.0, 6.0, 0.02)
    logs = []
    for k in range(3):
        wave = 2 * np.pi * (0.3 + 0.2 * k) * t
        targets = np.stack([0.3 * np.sin(wave) - 0.3, 0.4 * np.sin(1.4 * wave + 1.0) + 0.4], axis=1)
        state, seen = mujoco.MjData(model), []
        state.qpos[:] = targets[0]
        for target in targets:
            seen.append(state.qpos + 3e-4 * noise.standard_normal(2))
            state.ctrl[:] = target
            mujoco.mj_step(model, state, nstep=round(0.02 / model.opt.timestep))
        q = np.array(seen)
        joints = {
            name: be.log(f"run {k}/{name}", t, position=q[:, j], position_target=targets[:, j])
            for j, name in enumerate(robot.names)
        }
        logs.append(be.Log(name=f"run {k}", signals={}, joints=joints, robot=robot))
    return logs
