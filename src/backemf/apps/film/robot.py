"""A film of a robot: the recording as a ghost over the simulated model, all joints together, with each
joint's curves beside the picture."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidValue, MissingValue
from ...files import replacing
from ...logs.log import Log
from ...logs.robot import Robot
from ...mujoco.arrays import load_mujoco
from ...mujoco.robot.coupled import coupled
from ...mujoco.robot.motion import motion_of
from ...results.fit import Fit
from ...targets.mujoco.robots import as_shipped, parted
from .curves import Curves
from .film import Filmed, counted, encoder, moments_of, rate_of, writable
from .offscreen import Offscreen
from .scene import GHOST, MODEL
from .strip import INK

MOST_JOINTS = 6
"""Joints whose curves stand beside the picture: those that move most."""
GROWN = 1.03
"""A ghost is this much larger than the model, or their surfaces would flicker."""
USUAL_GROUPS = 3
"""Groups of geoms that viewers show; beyond them stand shapes for contact."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A recording and the simulation of all joints, in the robot's order."""

    name: str
    model: str
    """Where the motion comes from, in words."""
    time: np.ndarray
    recorded: np.ndarray
    simulated: np.ndarray
    shipped: np.ndarray | None
    """With the actuators that the robot's own model has; None where it has none for these commands."""
    asked: dict[str, np.ndarray]
    """By joint."""
    joints: tuple[str, ...]
    """Those that were fitted."""
    places: tuple[int, ...]

    @property
    def rms(self) -> float:
        """Over the joints that were fitted [rad or m]."""
        return self.off(self.simulated)

    def off(self, q: np.ndarray) -> float:
        return float(np.sqrt(np.nanmean((q - self.recorded)[:, list(self.places)] ** 2)))

    def at(self, moment: float, q: np.ndarray) -> list[float]:
        """Positions of all joints."""
        return [float(np.interp(moment, self.time, one)) for one in q.T]


def shown(fit: Fit, log: Log, name: str = "") -> Shown:
    """Simulate a recording with all joints together."""
    robot = fit.robot
    if robot is None or not fit.joints:
        raise MissingValue("the fit has no robot; expected one that be.fit made of a robot's recordings")
    log = parted(fit, [log]).seen[0]
    motion = motion_of(robot, log)
    q = coupled(robot, fit.actuators, log, delays=fit.delays, ground=robot.ground, motion=motion)
    if not np.isfinite(q).all():
        raise InvalidValue(f"{log.name}: the model's motion is not finite; there is nothing to draw")
    asked = {
        joint: log.joints[joint].signals["position_target"].held(motion.time)
        for joint in fit.joints
        if "position_target" in log.joints[joint]
    }
    held = fit.score is not None and fit.score.held_out and log.name in fit.score.logs
    return Shown(
        name=f"{robot.name}: {log.name}{' (held out)' if held else ''}",
        model=f"{name or 'the fit'}, all joints together in MuJoCo",
        time=motion.time,
        recorded=np.where(np.isfinite(motion.recorded), motion.recorded, motion.position),
        simulated=q,
        shipped=as_shipped(fit, log, motion),
        asked=asked,
        joints=tuple(fit.joints),
        places=tuple(robot.place(joint) for joint in fit.joints),
    )


def with_ghost(robot: Robot) -> Any:
    """The robot's own model twice in one, the second a translucent ghost; from its file, so that meshes are
    found, where that is still there."""
    mujoco = load_mujoco()

    def read() -> Any:
        path = Path(robot.source) if robot.source else None
        there = path is not None and path.is_file() and robot.base == "fixed"
        spec = mujoco.MjSpec.from_file(str(path)) if there else mujoco.MjSpec.from_string(robot.model)
        for part in (*spec.keys, *spec.sensors, *spec.actuators, *spec.excludes, *spec.cameras):
            spec.delete(part)
        return spec

    spec, ghost = read(), read()
    plain = not any(geom.group < USUAL_GROUPS for geom in spec.geoms if geom.parent.name != "world")
    for geom in spec.geoms:
        if plain and geom.parent.name != "world":
            geom.material, geom.rgba = "", [*map(float, MODEL.split()), 1.0]
    for geom in ghost.geoms:
        geom.material, geom.rgba = "", [*map(float, GHOST.split()), 0.22]
        geom.contype = geom.conaffinity = 0
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH:
            geom.size = GROWN * np.asarray(geom.size)
    spec.attach(ghost, prefix="ghost_", frame=spec.worldbody.add_frame())
    height = 0.0 if robot.ground is None else robot.ground.height
    spec.worldbody.add_geom(
        name="film_table",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0.6, 0.6, 0.05],
        pos=[0.0, 0.0, height - 0.002],
        rgba=[0.86, 0.88, 0.9, 1.0],
        contype=0,
        conaffinity=0,
    )
    light = spec.worldbody.add_light(pos=[0.5, -1.0, 2.0], dir=[-0.25, 0.5, -1.0], diffuse=[0.6, 0.6, 0.6])
    light.castshadow = False
    return spec


class RobotStage:
    """The scene and the curves in one picture."""

    def __init__(self, robot: Robot, course: Shown, size: tuple[int, int]):
        mujoco = load_mujoco()
        self.robot, self.course, self.size = robot, course, size
        self.model = with_ghost(robot).compile()
        still = self.model.body_weldid[self.model.geom_bodyid] == 0
        for k in np.flatnonzero(still):
            if self.model.geom(int(k)).name.startswith("ghost_") or self._of_ghost(int(k)):
                self.model.geom_rgba[k, 3] = 0.0
        self.model.vis.headlight.ambient[:], self.model.vis.headlight.diffuse[:] = 0.45, 0.45
        self.model.vis.rgba.haze[:] = 1.0
        self.state = mujoco.MjData(self.model)
        width, height = size
        left = 2 * round(0.25 * width)
        self.motions = {"identified": course.simulated}
        if course.shipped is not None and np.isfinite(course.shipped).all():
            self.motions = {"as shipped": course.shipped, **self.motions}
        self.picture = (left, 2 * (height // (2 * len(self.motions))))
        self.curves = Curves(course, width - left, height, MOST_JOINTS)
        self.camera = self._camera(mujoco)

    def _of_ghost(self, geom: int) -> bool:
        return self.model.body(int(self.model.geom_bodyid[geom])).name.startswith("ghost_")

    def place(self, moment: float, motion: np.ndarray) -> None:
        """Put model and ghost where they are at a moment: kinematics only."""
        pairs = (
            ("", self.course.at(moment, motion)),
            ("ghost_", self.course.at(moment, self.course.recorded)),
        )
        for prefix, q in pairs:
            for name, value in zip(self.robot.names, q, strict=True):
                self.state.qpos[self.model.joint(prefix + name).qposadr[0]] = value
        load_mujoco().mj_kinematics(self.model, self.state)

    def _camera(self, mujoco: Any) -> Any:
        """Far enough for everything that moves to be seen throughout."""
        seen = []
        for moment in np.linspace(self.course.time[0], self.course.time[-1], 40):
            self.place(float(moment), self.course.recorded)
            moving = self.model.body_weldid[self.model.geom_bodyid] != 0
            seen.append(self.state.geom_xpos[moving].copy())
        points = np.concatenate(seen)
        low, high = points.min(axis=0), points.max(axis=0)
        camera = mujoco.MjvCamera()
        half = math.tan(math.radians(0.5 * float(self.model.vis.global_.fovy)))
        width, height = self.picture
        reach = 0.5 * float(np.linalg.norm(high - low)) + 0.05
        camera.distance = 0.68 * reach / (half * min(1.0, width / height))
        camera.azimuth, camera.elevation = 105.0, -18.0
        camera.lookat[:] = 0.5 * (low + high)
        return camera

    def frames(self, moments: np.ndarray) -> Generator[np.ndarray, None, None]:
        """Pictures (height, width, 3) at these moments of the log."""
        with Offscreen(self.model, *self.picture) as drawing:
            drawing.options.geomgroup[:] = self._groups()
            drawing.plain_background()
            for moment in moments:
                shots = []
                for words, motion in self.motions.items():
                    self.place(float(moment), motion)
                    load_mujoco().mj_camlight(self.model, self.state)
                    shot = drawing.draw(self.state, self.camera).copy()
                    shots.append(self._labelled(shot, words, motion))
                yield np.concatenate([self._filled(shots), self.curves.frame(float(moment))], axis=1)

    def _labelled(self, shot: np.ndarray, words: str, motion: np.ndarray) -> np.ndarray:
        from PIL import Image, ImageDraw

        image = Image.fromarray(shot)
        text, size = f"{words}: off by {1e3 * self.course.off(motion):.3g} mrad", self.curves.text
        ImageDraw.Draw(image).text((size, 1.3 * size), text, fill=INK, font=self.curves.font(), anchor="lm")
        return np.asarray(image)

    def _filled(self, shots: list[np.ndarray]) -> np.ndarray:
        """One above the other; what is left of an odd height is white."""
        together = np.concatenate(shots, axis=0)
        left = self.size[1] - len(together)
        return np.pad(together, ((0, left), (0, 0), (0, 0)), constant_values=255)

    def _groups(self) -> list[int]:
        """The usual groups; where these show nothing that moves, all."""
        moving = self.model.body_weldid[self.model.geom_bodyid] != 0
        usual = np.any(self.model.geom_group[moving] < USUAL_GROUPS)
        return [1] * USUAL_GROUPS + [0 if usual else 1] * (6 - USUAL_GROUPS)


def robot_film(
    fit: Fit,
    log: Log,
    path: Path | str,
    *,
    name: str = "",
    speed: float = 1.0,
    fps: float | None = None,
    size: tuple[int, int] = (960, 540),
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Filmed:
    """Film a robot's recording and its simulation into an .mp4 or .gif, whole or not at all."""
    path = Path(path)
    ending = writable(path, force)
    rate = rate_of(ending, speed, fps, size)
    encode = encoder(ending)
    course = shown(fit, log, name)
    moments = moments_of(course.time, speed, rate)
    assert fit.robot is not None
    frames = RobotStage(fit.robot, course, size).frames(moments)
    with contextlib.closing(frames), replacing(path, force=force, suffix=ending) as temporary:
        encode(temporary, counted(frames, len(moments), progress), size, rate)
    n = len(moments)
    return Filmed(file=path, frames=n, fps=rate, duration=n / rate, rms=course.rms, size=size)
