"""Rerun's recordings (.rrd): every number of every joint as a line, and the robot twice, as recorded and as
predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ...bounds import text_of
from ...errors import NotAvailable
from ...logs.robot import Robot
from ...mujoco.arrays import load_mujoco
from ...mujoco.robot.robot_motion import describe_model, places
from .playback import ASKED_FOR, FILE, HIGH, LOW, MODEL, RECORDED, RESIDUAL, JointTrack, Playback

COLORS = {
    RECORDED: (31, 119, 180),
    MODEL: (255, 127, 14),
    FILE: (44, 160, 44),
    ASKED_FOR: (127, 127, 127),
    LOW: (255, 187, 120),
    HIGH: (255, 187, 120),
    RESIDUAL: (214, 39, 40),
}
GHOST = 90
"""Opacity of the recorded robot, of 255; its solids are outlines around the model's."""
HIDDEN_GROUPS = 3
"""Groups of geoms from this one on are hidden in MuJoCo's viewer: what collides."""


class RerunFile:
    """The row of `PLAYBACKS`."""

    SUFFIX = ".rrd"

    def check(self) -> None:
        """Refuse where rerun-sdk is not installed."""
        _load_rerun()

    def write(self, playback: Playback, path: Path) -> None:
        """Fill a file.

        Args:
            playback: what it shows.
            path: of the file.
        """
        rr = _load_rerun()
        to = rr.RecordingStream("backemf", send_properties=True)
        to.save(path, default_blueprint=_blueprint(playback))
        to.send_recording_name(playback.name)
        for track in playback.tracks:
            where, time, values = _place(track), track.values.time, track.values.values
            lines = rr.SeriesLines(
                colors=COLORS[track.origin], names=f"{track.origin} [{playback.unit(track.signal)}]"
            )
            to.log(where, lines, static=True)
            to.send_columns(
                where,
                indexes=[rr.TimeColumn("time", duration=time)],
                columns=rr.Scalars.columns(scalars=values),
            )
        if playback.robot is not None:
            source = Path(playback.robot.source)
            is_urdf = source.suffix.lower() == ".urdf" and source.is_file()
            for origin, positions in playback.poses.items():
                send = _send_urdf if is_urdf else _send_robot
                send(rr, to, playback.robot, origin, playback.clock, positions)
        to.flush()
        to.disconnect()


def _load_rerun() -> Any:
    try:
        import rerun
    except ImportError:
        raise NotAvailable(
            'files for Rerun need the package rerun-sdk: pip install "backemf[rerun]"'
        ) from None
    return rerun


def _place(track: JointTrack) -> str:
    """Where a track stands in the tree of Rerun's entities: elbow/position/recorded."""
    signal = RESIDUAL if track.origin == RESIDUAL else track.signal.removesuffix("_target")
    return "/".join(map(_escape, (track.joint, signal, track.origin)))


def _escape(name: str) -> str:
    import rerun

    return rerun.escape_entity_path_part(name)


def _blueprint(playback: Playback) -> Any:
    """The robot beside a page for each joint, with its positions, what is left of them and its current."""
    from rerun import blueprint as rrb

    pages = []
    for joint in dict.fromkeys(track.joint for track in playback.tracks):
        own = dict.fromkeys(_place(t).rpartition("/")[0] for t in playback.tracks if t.joint == joint)
        wanted = [f"{_escape(joint)}/{kind}" for kind in ("position", RESIDUAL, "current")]
        views = [rrb.TimeSeriesView(origin=f"/{where}") for where in wanted if where in own]
        pages.append(rrb.Vertical(*views, name=joint))
    shown = rrb.Tabs(*pages)
    if playback.poses:
        seen = ["/robot/**", *(f"/{origin}/**" for origin in playback.poses)]
        shown = rrb.Horizontal(rrb.Spatial3DView(origin="/", contents=seen, name="robot"), shown)
    panels = [panel(state="collapsed") for panel in (rrb.BlueprintPanel, rrb.SelectionPanel)]
    return rrb.Blueprint(shown, *panels, rrb.TimePanel(timeline="time", state="collapsed"))


def _send_robot(
    rr: Any, to: Any, robot: Robot, origin: str, clock: np.ndarray, positions: Mapping[str, np.ndarray]
) -> None:
    """The robot's bodies where its joints are, from MuJoCo's kinematics."""
    model, color = describe_model(robot), (*COLORS[origin], 255 if origin == MODEL else GHOST)
    at, turned = body_poses(robot, positions)
    shown = model.geom_group < HIDDEN_GROUPS
    shown = (shown | ~shown.any()) & (model.geom_type != load_mujoco().mjtGeom.mjGEOM_PLANE)
    for body in range(model.nbody):
        geoms = np.flatnonzero((model.geom_bodyid == body) & shown)
        shapes = [(_offset(rr, model, int(g)), _shape(rr, model, int(g), color)) for g in geoms]
        if body and not shapes:
            shapes += [(rr.Transform3D(), line) for line in _bones(rr, model, body, color)]
        where = f"robot/{origin}/{_escape(model.body(body).name or f'body {body}')}"
        for k, (offset, shape) in enumerate(shapes):
            to.log(f"{where}/{k}", offset, shape, static=True)
        to.send_columns(
            where,
            indexes=[rr.TimeColumn("time", duration=clock)],
            columns=rr.Transform3D.columns(translation=at[:, body], quaternion=turned[:, body]),
        )


def _send_urdf(
    rr: Any, to: Any, robot: Robot, origin: str, clock: np.ndarray, positions: Mapping[str, np.ndarray]
) -> None:
    """The robot as its URDF draws it, which MuJoCo reads without what is only to be seen; by Rerun's own
    kinematics. Joints that are not the robot's stay at 0."""
    from rerun.urdf import UrdfTree

    tree = UrdfTree.from_file_path(
        robot.source,
        entity_path_prefix=origin,
        frame_prefix=f"{origin}/",
        static_transform_entity_path=f"{origin}/fixed",
    )
    tree.log_urdf_to_recording(to)
    root = rr.Transform3D(parent_frame="tf#/", child_frame=f"{origin}/{tree.root_link().name}")
    to.log(f"{origin}/root", root, static=True)
    color = (*COLORS[origin], 255 if origin == MODEL else GHOST)
    tints = {
        "mesh": rr.Mesh3D.from_fields(albedo_factor=color),
        "box": rr.Boxes3D.from_fields(colors=[color]),
        "cylinder": rr.Cylinders3D.from_fields(colors=[color]),
        "sphere": rr.Ellipsoids3D.from_fields(colors=[color]),
    }
    for link in ElementTree.fromstring(text_of(robot.source)).iter("link"):
        kinds = [shape.tag for shape in link.iterfind("visual/geometry/*")]
        drawn = tree.get_visual_geometry_paths(link.get("name", ""))
        for kind, where in zip(kinds, drawn, strict=False):
            if kind in tints:
                to.log(where, tints[kind], static=True)
    for joint in (joint for joint in tree.joints() if joint.joint_type != "fixed"):
        values = positions.get(joint.name, np.zeros(len(clock)))
        to.send_columns(
            f"{origin}/joints/{_escape(joint.name)}",
            indexes=[rr.TimeColumn("time", duration=clock)],
            columns=joint.compute_transform_columns(values.tolist(), clamp=False),
        )


def body_poses(robot: Robot, positions: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where a robot's bodies are, from MuJoCo's kinematics.

    Args:
        robot: whose.
        positions: of every joint [rad or m].

    Returns:
        Places [m], (samples, bodies, 3), and quaternions with the real part last, (samples, bodies, 4).
    """
    mujoco, model = load_mujoco(), describe_model(robot)
    data, (at_q, _) = mujoco.MjData(model), places(robot, model)
    q = np.stack([positions[name] for name in robot.names], axis=1)
    at, turned = np.empty((len(q), model.nbody, 3)), np.empty((len(q), model.nbody, 4))
    for k, row in enumerate(q):
        data.qpos[at_q] = row
        mujoco.mj_kinematics(model, data)
        at[k], turned[k] = data.xpos, data.xquat[:, [1, 2, 3, 0]]
    return at, turned


def _offset(rr: Any, model: Any, geom: int) -> Any:
    """Where a geom stands on its body."""
    return rr.Transform3D(translation=model.geom_pos[geom], quaternion=model.geom_quat[geom][[1, 2, 3, 0]])


def _shape(rr: Any, model: Any, geom: int, color: Sequence[int]) -> Any:
    """A geom as Rerun draws it; what it has no shape for as a point."""
    kind, (a, b, c) = load_mujoco().mjtGeom(model.geom_type[geom]).name[7:].lower(), model.geom_size[geom]
    if kind == "mesh":
        return _mesh(rr, model, int(model.geom_dataid[geom]), color)
    fill = rr.components.FillMode
    solid = {"colors": [color], "fill_mode": fill.MajorWireframe if color[3] == GHOST else fill.Solid}
    shapes: dict[str, Callable[[], Any]] = {
        "box": lambda: rr.Boxes3D(half_sizes=[[a, b, c]], **solid),
        "sphere": lambda: rr.Ellipsoids3D(half_sizes=[[a, a, a]], **solid),
        "ellipsoid": lambda: rr.Ellipsoids3D(half_sizes=[[a, b, c]], **solid),
        "cylinder": lambda: rr.Cylinders3D(lengths=[2 * b], radii=[a], **solid),
        "capsule": lambda: rr.Capsules3D(lengths=[2 * b], radii=[a], translations=[[0, 0, -b]], **solid),
    }
    return shapes.get(kind, lambda: rr.Points3D([[0.0, 0.0, 0.0]], colors=[color]))()


def _mesh(rr: Any, model: Any, mesh: int, color: Sequence[int]) -> Any:
    vertex, n_vertices = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    face, n_faces = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    return rr.Mesh3D(
        vertex_positions=model.mesh_vert[vertex : vertex + n_vertices],
        triangle_indices=model.mesh_face[face : face + n_faces],
        albedo_factor=color,
    )


def _bones(rr: Any, model: Any, body: int, color: Sequence[int]) -> Iterator[Any]:
    """A line from a body to each that hangs on it: what is seen of a model without shapes."""
    ends = [model.body_pos[k] for k in np.flatnonzero(model.body_parentid == body) if k != body]
    if ends:
        yield rr.LineStrips3D([[[0.0, 0.0, 0.0], end] for end in ends], colors=[color])


RERUN = RerunFile()
