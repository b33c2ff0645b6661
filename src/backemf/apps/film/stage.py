"""The stage of a film: the recording as a ghost around the model that should move like it, and their curves
beside them. A bench is drawn as a scene of its own, a robot as its own model, twice."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MissingValue
from ...logs.log import Log
from ...logs.robot import Robot
from ...mujoco.arrays import load_mujoco
from ...mujoco.xml import check_text, scan
from .bench_scene import BODIES, GHOST, MODEL, FilmScene, scene
from .offscreen import Offscreen
from .recorded_run import RecordedRun
from .strip import INK, Strip

GROWN = 1.03
"""A ghost is this much larger than the model, or their surfaces would flicker."""
USUAL_GROUPS = 3
"""Groups of geoms that viewers show; beyond them stand shapes for contact."""


class FilmStage:
    """Scene and curves in one picture: of a bench, the model and its ghost."""

    picture: tuple[int, int]
    """Width and height of one shot of the scene [pixels]."""
    model: Any
    camera: Any
    beside = True
    """Whether the curves stand beside the scene, not below."""

    def __init__(self, log: Log, run: RecordedRun, size: tuple[int, int]):
        if log.bench is None:
            raise MissingValue(f"{log.name} has no bench to draw")
        places = np.concatenate([run.recorded[""], run.predicted[""]])
        self.scene: FilmScene = scene(
            log.bench, log.motion, float(np.nanmin(places)), float(np.nanmax(places))
        )
        self.run, self.size, self.motions = run, size, {"": run.predicted}
        mujoco = load_mujoco()
        self.model = mujoco.MjModel.from_xml_string(self.scene.xml)
        self.state = mujoco.MjData(self.model)
        width, height = size
        self.beside = not self.scene.wide and width >= 1.2 * height
        share = (min(height, 2 * round(0.275 * width)), 2 * round(0.28 * height))
        self.picture = (share[0], height) if self.beside else (width, share[1])
        plot = (width - self.picture[0], height) if self.beside else (width, height - self.picture[1])
        self.strip = Strip(run, *plot)
        self.camera = self._camera(mujoco)

    def _camera(self, mujoco: Any) -> Any:
        """Far enough for everything to be seen, straight from the front so that angles are true,
        a little from above."""
        camera = mujoco.MjvCamera()
        half = math.tan(math.radians(0.5 * float(self.model.vis.global_.fovy)))
        width, height = self.picture
        camera.distance = 1.06 * max(self.scene.reach / half, self.scene.breadth / (half * width / height))
        camera.azimuth, camera.elevation = 90.0, -5.0
        camera.lookat[:] = (self.scene.centre[0], 0.0, self.scene.centre[1])
        return camera

    def place(self, moment: float, positions: Mapping[str, np.ndarray] | None = None) -> None:
        """Put model and ghost where they are at a moment [s], by kinematics only.

        Args:
            moment: on the recording's clock.
            positions: of the model, by joint; without them those predicted.
        """
        pair = (positions or self.run.predicted, self.run.recorded)
        for owner, q in zip(BODIES, pair, strict=True):
            for joint, value in self.scene.coordinates(owner, self.run.at(moment, q)[""]).items():
                self.state.qpos[self.model.joint(joint).qposadr[0]] = value
        load_mujoco().mj_forward(self.model, self.state)

    def frames(self, moments: np.ndarray) -> Generator[np.ndarray, None, None]:
        """Pictures (height, width, 3) at these moments of the log [s]."""
        with Offscreen(self.model, *self.picture) as drawing:
            self._prepare(drawing)
            for moment in moments:
                shots = []
                for words, positions in self.motions.items():
                    self.place(float(moment), positions)
                    shot = drawing.draw(self.state, self.camera).copy()
                    shots.append(self._label(shot, words, positions) if words else shot)
                together = np.concatenate(shots, axis=0)
                if self.beside:  # what is left of an odd height is white
                    left = self.size[1] - len(together)
                    together = np.pad(together, ((0, left), (0, 0), (0, 0)), constant_values=255)
                pair = (together, self.strip.frame(float(moment)))
                yield np.concatenate(pair, axis=1 if self.beside else 0)

    def _prepare(self, drawing: Offscreen) -> None:
        """What the renderer is told before the first picture: nothing."""

    def _label(self, shot: np.ndarray, message: str, positions: Mapping[str, np.ndarray]) -> np.ndarray:
        """The shot below a band of its own with its caption: nothing of the scene is covered."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", (shot.shape[1], band(self.strip)), "white")
        text = f"{message}: off by {1e3 * self.run.off(positions):.3g} {self.run.unit}"
        place = (self.strip.text, 0.5 * image.height)
        ImageDraw.Draw(image).text(place, text, fill=INK, font=self.strip.font, anchor="lm")
        return np.concatenate([np.asarray(image), shot], axis=0)


def band(strip: Strip) -> int:
    """Height of a caption's band [pixels]."""
    return 2 * round(strip.text)


class RobotStage(FilmStage):
    """Of a robot: its own model and a ghost of it, as shipped above and as identified below."""

    def __init__(self, robot: Robot, run: RecordedRun, size: tuple[int, int]):
        mujoco = load_mujoco()
        self.run, self.size = run, size
        self.model = with_ghost(robot).compile()
        self.moving = self.model.body_weldid[self.model.geom_bodyid] != 0
        for k in np.flatnonzero(~self.moving):
            body = self.model.body(int(self.model.geom_bodyid[k])).name
            if self.model.geom(int(k)).name.startswith("ghost_") or body.startswith("ghost_"):
                self.model.geom_rgba[k, 3] = 0.0
        self.model.vis.headlight.ambient[:], self.model.vis.headlight.diffuse[:] = 0.45, 0.45
        self.model.vis.rgba.haze[:] = 1.0
        self.state = mujoco.MjData(self.model)
        width, height = size
        left = 2 * round(0.25 * width)
        self.motions = {"identified": run.predicted}
        if run.shipped is not None and all(np.isfinite(q).all() for q in run.shipped.values()):
            self.motions = {"as shipped": run.shipped, **self.motions}
        self.strip = Strip(run, width - left, height)
        self.picture = (left, 2 * ((height // len(self.motions) - band(self.strip)) // 2))
        self.camera = self._camera(mujoco)

    def place(self, moment: float, positions: Mapping[str, np.ndarray] | None = None) -> None:
        """Put model and ghost where they are at a moment [s], by kinematics only."""
        for prefix, q in (("", positions or self.run.predicted), ("ghost_", self.run.recorded)):
            for name, value in self.run.at(moment, q).items():
                self.state.qpos[self.model.joint(prefix + name).qposadr[0]] = value
        mujoco = load_mujoco()
        mujoco.mj_kinematics(self.model, self.state)
        mujoco.mj_camlight(self.model, self.state)

    def _camera(self, mujoco: Any) -> Any:
        """Near, but far enough for the whole robot to be seen in every motion throughout."""
        geoms = np.flatnonzero(self.model.geom_rbound > 0.0)  # the table has no end
        radius, seen = self.model.geom_rbound[geoms], []
        for moment in np.linspace(self.run.time[0], self.run.time[-1], 40):
            for positions in (self.run.recorded, *self.motions.values()):
                self.place(float(moment), positions)
                seen.append(self.state.geom_xpos[geoms].copy())
        points = np.concatenate(seen)
        camera = mujoco.MjvCamera()
        camera.azimuth, camera.elevation = 105.0, -18.0
        camera.lookat[:] = 0.5 * (points.min(axis=0) + points.max(axis=0))
        turn, rise = math.radians(camera.azimuth), math.radians(camera.elevation)
        away = np.array([math.cos(rise) * math.cos(turn), math.cos(rise) * math.sin(turn), math.sin(rise)])
        right = np.array([math.sin(turn), -math.cos(turn), 0.0])
        half = math.tan(math.radians(0.5 * float(self.model.vis.global_.fovy)))
        apart, around = points - camera.lookat, np.tile(radius, len(seen))
        width, height = self.picture
        # a point is seen where |x| < half width/height depth and |y| < half depth; depth = distance + away
        wide = (np.abs(apart @ right) + around) / (half * width / height)
        high = (np.abs(apart @ np.cross(right, away)) + around) / half
        camera.distance = float(np.max(np.maximum(wide, high) - apart @ away))
        return camera

    def _prepare(self, drawing: Offscreen) -> None:
        """The usual groups of geoms; where these show nothing that moves, all."""
        usual = np.any(self.model.geom_group[self.moving] < USUAL_GROUPS)
        drawing.options.geomgroup[:] = [1] * USUAL_GROUPS + [0 if usual else 1] * (6 - USUAL_GROUPS)
        drawing.plain_background()


def with_ghost(robot: Robot) -> Any:
    """The robot's own model twice in one, the second a translucent ghost; from its file, so that meshes are
    found, where that is still there."""
    mujoco = load_mujoco()

    def read() -> Any:
        path = Path(robot.source) if robot.source else None
        if path is not None and path.is_file() and robot.base == "fixed":
            scan(path)
            spec = mujoco.MjSpec.from_file(str(path))
        else:
            spec = mujoco.MjSpec.from_string(check_text(robot.model))
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
