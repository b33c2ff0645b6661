"""`jax@mjx` and `jax@playground`: a user's MJCF with plain motors, and beside it the file whose functions are
their actuators in MJX. What MJX ignores of the model, without a word of its own, is a finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...engine.rows import DELAY
from ...errors import InvalidValue
from ...findings import finding
from ...mujoco.arrays import engine_of, load_mujoco
from ...mujoco.joint_interface import JointDrive, drive_findings, drive_joint, read_joint
from ...mujoco.models import mjx_findings
from ...mujoco.xml import Edit, Element, compile_edited, with_attributes
from ...physics.actuator import Actuator
from ..mujoco.dcmotor_target import attributes
from ..mujoco.edited_model import EditedModel, with_states
from ..mujoco.into import KEPT, UserModel, escape_attribute, host_edits, model_of
from ..result import Export, Request, number
from ..template import fill
from .training_numbers import TrainingFile, band_row

FLAVOURS = {"mjx": "", "playground": " and of Playground's mjx_env.step"}
"""Versions that have a class for MJX, and what else it takes the place of."""
ELLIPTIC = (
    "the model had elliptic friction cones, with which MJX has no derivatives where contacts are possible"
    " (NaN), and does not run where they are disabled: they are pyramidal now.",
    'write cone="elliptic" again where nothing takes derivatives and contacts are enabled',
)
"""What MJX 3.17 makes of elliptic cones, and what to do."""
WIDE = 1e9
"""A command's range where the joint had none."""


def flavour(file: TrainingFile, drives: Sequence[JointDrive] = (), first_free: int = 0) -> str:
    """The class for MJX behind the functions of a file.

    Args:
        file: of one actuator, whose structure all joints have.
        drives: of the joints of a model; without them of the joint of the file.
        first_free: where in `userdata` its memory begins: what the model had is somebody else's.

    Returns:
        Python text.

    Raises:
        InvalidValue: what is asked of the drive is not one number, or joints differ in structure.
    """
    if len(file.targets) != 1:
        raise InvalidValue(
            f"{file.request.version} gives each joint one command; {file.actuator.drive.kind} follows"
            f" {', '.join(file.targets) or 'nothing'}: export with jax@plain, and call `step` yourself"
        )
    known, first = file.actuator.parameters, file.request.joint
    joints, scales, ranges = ({}, {}, {}) if drives else ({first: {}}, {first: 1.0}, {})
    for drive in drives:
        own = drive.actuator.parameters
        same = own.keys() == known.keys()
        if not same or TrainingFile.of(drive.actuator, file.request).system.key != file.system.key:
            raise InvalidValue(
                f"{drive.joint} has other parts than {drives[0].joint}; expected joints of one structure:"
                " export them one after the other, each into the model of the one before, and call `drive` of"
                " every file before mjx.step"
            )
        joints[drive.joint] = {path: value for path, value in own.items() if value != known[path]}
        scales[drive.joint], ranges[drive.joint] = drive.scale, drive.before.ctrlrange
    return fill(
        "jax_mjx.py",
        also=FLAVOURS[file.request.version],
        first=str(first_free),
        joints="\n".join(f"    {joint!r}: {numbers!r}," for joint, numbers in joints.items()),
        members=_members(file, drives),
        scale=repr(scales),
        kept=repr({drive.joint: drive.before.armature for drive in drives if "armature" in drive.keeps}),
        range=repr({joint: ranges.get(joint) or (-WIDE, WIDE) for joint in joints}),
        call="step(p, s, u, q, v, self.dt, inertia=J)",
    )


def _members(file: TrainingFile, drives: Sequence[JointDrive]) -> str:
    """Each joint's own rows of a robot's draws, where these are drawn."""
    own = file.spread.joints if file.request.draws else {}
    lines = []
    for drive in drives:
        if drive.joint in own:
            spread, size = own[drive.joint], None
            if spread.slow and file.has_offset:
                size = spread.slow[0]
            rows = {path: band_row(drive.actuator, path, row) for path, row in spread.draws.items()}
            lines.append(f"    {drive.joint!r}: ({rows!r}, {size!r}),")
    return "\n".join(lines)


def into_mjx(
    wanted: Mapping[str, Actuator],
    path: Path | str,
    request: Request,
    *,
    unknown: Mapping[str, Sequence[str]] | None = None,
) -> EditedModel:
    """Actuators by name or regular expression of their joints, as <motor>s that a file for MJX drives.

    Args:
        wanted: actuators by joint or pattern, all of one structure.
        path: of the model.
        request: what is asked of the export.
        unknown: by joint or pattern, paths of what an actuator does not know.

    Returns:
        The edited model, with the Python file beside it.

    Raises:
        InvalidValue: a joint cannot have its actuator.
    """
    from .jax import write

    if request.version not in FLAVOURS:
        raise InvalidValue("jax@plain has no model to go into; expected jax@mjx or jax@playground")
    model = model_of(path)
    engine = engine_of(model.loaded.model)
    choice = model.choose({pattern: actuator.motion for pattern, actuator in wanted.items()})
    drives = _one_structure(
        drive_joint(
            read_joint(model.loaded, joint), wanted[pattern], (unknown or {}).get(pattern, ()), whole=True
        )
        for joint, pattern in choice.deciding.items()
    )
    named = model.path.stem if len(drives) > 1 else drives[0].joint
    request = request._replace(timestep=engine.timestep, integrator=engine.integrator, joint=named)
    slowest = max(drives, key=lambda drive: drive.actuator.drive.delay or 0.0)  # the line has room for it
    export = write(slowest.actuator, request, drives, int(model.loaded.model.nuserdata))
    cones = [e for e in model.elements if e.tag == "option" and e.attributes.get("cone") == "elliptic"]
    edits, changes = [*_userdata(model, export, drives), *_set(cones, {"cone": "pyramidal"})], []
    for drive in drives:
        mine, said = host_edits(model, drive, _motor(model, drive), _armature(drive, request), "<motor>")
        edits += mine
        changes += said
    mujoco = load_mujoco()
    files, new = with_states(model, edits, drives, lambda files: compile_edited(mujoco, model.path, files))
    findings = [*export.findings, *drive_findings(drives), *choice.findings(), *mjx_findings(new, True)]
    if cones:
        changes.append("option: cone elliptic became pyramidal")
        findings.append(finding("mjx_cone", *ELLIPTIC))
    return EditedModel(
        files,
        tuple(changes),
        f"compiled with MuJoCo {mujoco.__version__}; the motors are driven by {next(iter(export.files))}",
        findings=tuple(findings),
        exports=(export,),
        beside=dict(export.files),
        main=model.path,
        loads=True,
    )


def _armature(drive: JointDrive, request: Request) -> str:
    return number(TrainingFile.of(drive.actuator, request).host_words()["armature"])


def _motor(model: UserModel, drive: JointDrive) -> bytes:
    """The old one's name, and a motor whose ctrl is the torque."""
    given = model.actuator(drive.before.actuator, drive.joint)
    kept = (
        {"name": drive.joint}
        if given is None
        else {k: given.attributes[k] for k in KEPT if k in given.attributes}
    )
    words = {k: v for k, v in kept.items() if not k.startswith("ctrl")}
    words |= {"joint": drive.joint, "gear": "1", "ctrllimited": "false", "forcelimited": "false"}
    return f"<motor {attributes({k: escape_attribute(v) for k, v in words.items()})}/>".encode()


def _one_structure(drives: Iterable[JointDrive]) -> list[JointDrive]:
    """Drives with a delay of 0 where others have one and they have none."""
    every = list(drives)
    if not any(drive.actuator.drive.delay for drive in every):
        return every
    return [
        drive._replace(actuator=drive.actuator.replace(**{DELAY: drive.actuator.drive.delay or 0.0}))
        for drive in every
    ]


def _userdata(model: UserModel, export: Export, drives: Sequence[JointDrive]) -> list[Edit]:
    """Room for what the actuators remember, behind what the model had."""
    size = {"nuserdata": str(memory_size(export, len(drives)) + int(model.loaded.model.nuserdata))}
    said = [e for e in model.elements if e.tag == "size" and "nuserdata" in e.attributes]
    if said:
        return _set(said, size)
    root = next(e for e in model.elements if e.file == model.path)
    return [Edit(root, root.opened, root.opened, f"\n  <size {attributes(size)}/>".encode())]


def _set(elements: Iterable[Element], words: dict[str, str]) -> list[Edit]:
    """Attributes of elements, their other bytes as they are."""
    tags = ((e, with_attributes(e.file.read_bytes()[e.start : e.opened], words)) for e in elements)
    return [Edit(e, e.start, e.opened, tag) for e, tag in tags]


def memory_size(export: Export, n_joints: int) -> int:
    """Numbers that the file's functions remember.

    Args:
        export: the file, for the time step of its request.
        n_joints: how many joints remember them.

    Returns:
        How many numbers that are.
    """
    import jax

    from .jax import load_file

    space: dict[str, Any] = load_file({name: str(text) for name, text in export.files.items()})
    memory = space["init"](space["params"](), export.timestep)
    return n_joints * sum(int(x.size) for x in jax.tree.leaves(memory))
