"""A user's model with other actuators: the edited files, what was changed, and how it was tried; and its
keyframes, fitted to what drives it now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...files import write_all
from ...findings import Finding
from ...mujoco.arrays import ctrl_place, driven_joints, load_mujoco, play_joint
from ...mujoco.joint_interface import JointDrive
from ...mujoco.joint_moves import JointMove, setpoints
from ...mujoco.xml import (
    Edit,
    Element,
    apply_edits,
    compile_edited,
    relocate,
    with_attributes,
    without_attribute,
)
from ...tables import table
from ..result import Export, number
from .holding import spring_rests

if TYPE_CHECKING:
    from .into import UserModel


class Together(NamedTuple):
    """All joints of an edited model driven as a recording says; differences from it are RMS [rad or m]."""

    log: str
    before: float | None
    """Of the model as it was."""
    after: float
    """Of the model as it is now."""
    whole: float | None
    """Of the fit itself, with nothing lost."""

    def row(self) -> tuple[str, ...]:
        """For a table, in mrad or mm."""
        numbers = (self.before, self.after, self.whole)
        return (self.log, *("-" if x is None else f"{1e3 * x:.3g}" for x in numbers))


@dataclass(frozen=True)
class EditedModel:
    """The edited files, not yet written."""

    files: dict[Path, bytes]
    changes: tuple[str, ...]
    """What was changed, in words, with the model's old numbers."""
    verified: str
    """How the result was checked."""
    creep: tuple[str, ...] = ()
    """How still each joint holds, as the header of a file of its own says it."""
    moved: tuple[JointMove, ...] = ()
    """How far each joint moves for the same command, before and after."""
    findings: tuple[Finding, ...] = ()
    exports: tuple[Export, ...] = ()
    beside: Mapping[str, str | bytes] = field(default_factory=dict)
    """Files that go into the folder of the result."""
    together: tuple[Together, ...] = ()
    """Of a robot, its joints driven together, by recording."""
    unit: str = "rad"
    placed: tuple[Any, ...] = field(default=(), repr=False)
    """Each joint's new actuator and its old one."""
    main: Path | None = None
    """The model's own file, which may include those that changed; None: the first that changed."""
    loads: bool = False
    """Whether the installed MuJoCo can load the result by itself."""

    @property
    def text(self) -> str:
        """The edited model; of several files, the first that changed."""
        return next(iter(self.files.values())).decode()

    def table(self) -> str:
        """Before and after, for people."""
        rows = [m.row() for m in self.moved]
        parts = [table(rows, ("joint", "command", "moves before", "moves after"))] if rows else []
        if self.together:
            head = (f"recording [m{self.unit} RMS]", "model before", "model after", "the fit itself")
            parts.append(table([one.row() for one in self.together], head))
        return "\n\n".join(parts)

    def off_by(self, which: str = "after") -> float | None:
        """Root mean square over recordings of "before", "after" or "whole"; None where it is not known."""
        values = [getattr(one, which) for one in self.together]
        return None if not values or None in values else float(np.sqrt(np.mean(np.square(values))))

    def write(self, path: Path | str | None = None, *, force: bool = False) -> list[Path]:
        """Write the edited model, and load it again before anything takes its place.

        Args:
            path: of the model; included files that changed are copied beside the ones they come from, under
                names of their own that the model then includes. None: every file where it is, with `force`.
            force: overwrite what is there.

        Returns:
            Every file that was written, the model itself first.

        Raises:
            BackemfError: something is there already, or the model does not load from there.
        """
        main = self.main or next(iter(self.files))
        place = main if path is None else Path(path)
        beside = {place.parent / name: content for name, content in self.beside.items()}
        files = self.files if path is None else relocate(main, self.files, place)
        if self.loads and path is not None and place.parent.is_dir():
            compile_edited(load_mujoco(), main, self.files, at=place)
        return write_all({**files, **beside}, force=force)


def with_states(
    model: UserModel,
    edits: Sequence[Edit],
    drives: Sequence[JointDrive],
    compiled: Callable[[dict[Path, bytes]], Any],
    plays: Sequence[str] = (),
) -> tuple[dict[Path, bytes], Any]:
    """Edits made, and the keyframes fitted to them: activations belong to the actuators that are there now,
    a slewed position begins where its joint stands, and a new one is asked to stay there.

    Args:
        model: as it was.
        edits: of its files.
        drives: what drives its joints now.
        compiled: makes a model of the edited files.
        plays: joints behind which there is one for play now; where it is new, it stands in the middle.

    Returns:
        The edited files, and the model compiled.
    """
    old = model.loaded.model
    replaced = {i for drive in drives for i in (drive.before.actuator, *drive.before.others)}
    added = [drive.joint for drive in drives if drive.holds_anew]
    keys = [e for e in model.elements if e.tag == "key" and e.parent == "keyframe"]
    wide = _wide_rows(old, keys, plays)
    files = apply_edits([*edits, *map(_keyframe_edit, keys, wide)])
    new = compiled(files)
    if len(keys) != new.nkey or not (new.na or added or getattr(new, "nplastic", 0)):
        return files, new
    mine = []
    for k, e in enumerate(keys):
        rows = {"act": _activations(old, new, k, replaced), "ctrl": _commands(new, k, added)}
        mine.append(_keyframe_edit(e, wide[k] | _row_words({**rows, "plastic": spring_rests(new, k)})))
    files = apply_edits([*edits, *mine])
    return files, compiled(files)


def _wide_rows(old: Any, keys: Sequence[Element], plays: Sequence[str]) -> list[dict[str, str]]:
    """Positions and velocities of every keyframe, with a 0 behind each joint that has play anew."""
    mujoco, rows = load_mujoco(), []
    joints = [old.joint(joint).id for joint in plays]
    new = [mujoco.mj_name2id(old, mujoco.mjtObj.mjOBJ_JOINT, play_joint(joint)) < 0 for joint in plays]
    joints = [joint for joint, is_new in zip(joints, new, strict=True) if is_new]
    for k, key in enumerate(keys):
        wide = {}
        for name, first in (("qpos", old.jnt_qposadr), ("qvel", old.jnt_dofadr)):
            if joints and name in key.attributes and k < old.nkey:
                row = np.insert(getattr(old, f"key_{name}")[k], np.sort(first[joints]) + 1, 0.0)
                wide[name] = " ".join(map(number, row))
        rows.append(wide)
    return rows


def _row_words(rows: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Rows of numbers as XML attributes; what is 0 is not there."""
    return {name: " ".join(map(number, row)) for name, row in rows.items() if row.any()}


def _keyframe_edit(key: Element, words: dict[str, str]) -> Edit:
    """A keyframe with these attributes; its activations were those of the old actuators."""
    tag = key.file.read_bytes()[key.start : key.opened]
    for name in ("act", "plastic"):
        tag = without_attribute(tag, name)
    return Edit(key, key.start, key.opened, with_attributes(tag, words))


def _activations(old: Any, new: Any, k: int, replaced: Collection[int | None]) -> np.ndarray:
    """Of keyframe k in the edited model."""
    act = np.zeros(new.na)
    for i in range(len(old.actuator_gaintype)):
        at, n = int(old.actuator_actadr[i]), int(old.actuator_actnum[i])
        if i not in replaced and n:
            to = int(new.actuator_actadr[i])
            act[to : to + n] = old.key_act[k, at : at + n]
    for place, setpoint in setpoints(new, new.key_qpos[k]).items():
        act[place] = setpoint
    return act


def _commands(new: Any, k: int, added: Sequence[str]) -> np.ndarray:
    """Of keyframe k, in which joints that had no actuator are asked to stay; none where all had one."""
    if not added:
        return np.zeros(0)
    at_joint, ctrl = {at.name: i for i, at in driven_joints(new).items()}, new.key_ctrl[k].copy()
    for joint in added:
        ctrl[ctrl_place(new, at_joint[joint])] = new.key_qpos[k, new.joint(joint).qposadr[0]]
    return ctrl


def without_delays(model: Any, drives: Sequence[JointDrive]) -> tuple[list[JointDrive], list[Finding]]:
    """Drives without the delay of their commands where the model has keyframes with commands: at a reset
    MuJoCo fills the line of a delayed actuator with zeros, which would throw the joint.

    Args:
        model: compiled, as it was.
        drives: what drives its joints from now on.

    Returns:
        The drives, and what to say of those that lose a delay.
    """
    late = [drive for drive in drives if drive.actuator.drive.delay]
    if not late or not np.any(model.key_ctrl):
        return list(drives), []
    longest = max(drive.actuator.drive.delay or 0.0 for drive in late)
    text = (
        f"the delay of commands (up to {1e3 * longest:.3g} ms) is left out: the model has keyframes with"
        f" commands, and after a reset to one MuJoCo's delayed actuators see 0 first, which throws the joint."
    )
    remedy = "send commands that much later; or be.attach, which carries the delay through resets"
    rows = [_without_delay(drive) if drive in late else drive for drive in drives]
    return rows, [Finding(code="delay_left_out", text=text, remedy=remedy, numbers={"delay": longest})]


def _without_delay(drive: JointDrive) -> JointDrive:
    actuator = drive.actuator
    return drive._replace(actuator=replace(actuator, drive=replace(actuator.drive, delay=None)))
