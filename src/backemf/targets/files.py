"""A file of a target on disk, perhaps changed by hand, as an export that can be replayed."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import InvalidValue, MissingValue, NotAvailable
from ..mujoco.arrays import dcmotors, without_log
from ..mujoco.models import load, same_era
from ..physics.actuator import Actuator
from .archive import BROKEN, unpacked
from .export import Export, parse_target
from .mujoco.interface import Old, old_of
from .sources import MODELS, split

MARKS = {
    ".py": (
        ("mujoco-live", "    return be.attach(model, "),
        ("warp", "def kernels(real):"),
        ("torch", "PARAMETERS = {"),
        ("mjlab", "from mjlab"),
        ("newton", "import newton"),
    ),
    ".urdf": (("drake", "drake:"), ("urdf", "<robot")),
    ".sdf": (("sdf", "<sdf"),),
    ".c": (("mujoco-plugin", "BACKEMF_NAME("), ("c", "_actuator *a, double h, ")),
    ".fmu": (("fmu", "<fmiModelDescription"),),
}
"""By ending: which target a file is for, by a word that only such a file has."""


def is_exported(source: str) -> bool:
    """Whether a source is a file of a target rather than something to export; a joint of an Isaac Lab file,
    which is not run here, is to be exported."""
    path, name = split(source)
    if path.suffix.lower() == ".py" and name is not None:
        return False
    return path.suffix.lower() in (*MODELS, *MARKS) and path.is_file()


@without_log()
def exported(source: str, actuator: Actuator | None = None, joint: str | None = None) -> Export:
    """A file as an export. An MJCF says itself what its actuator is; the others need the actuator that they
    were made from, to be compared with."""
    path, name = split(source)
    if path.suffix.lower() in MODELS:
        same_era(path)
        return _mjcf(path, actuator, name, joint)
    text, files = _read(path)
    target = next((name for name, mark in MARKS[path.suffix.lower()] if mark in text), None)
    if target is None:
        if "isaaclab" in text:
            raise NotAvailable(
                f"{path.name} is for Isaac Lab, which needs Isaac Sim and is not run here; what it says can"
                f" be run elsewhere: backemf replay {path}#JOINT --to mujoco"
            )
        raise InvalidValue(
            f"{path.name} is for no target that is known here; expected a file of `backemf export`"
        )
    if actuator is None and target == "mujoco-live":
        actuator = Actuator.read(path.with_name([*files][-1]))
    if actuator is None:
        raise MissingValue(
            f"{path.name} does not say which actuator it was made from; give it: --actuator SOURCE"
        )
    _, version = parse_target(target + _version(text, target))
    return Export(
        target=target,
        version=version,
        joint=joint or _joint(text, path, target),
        files=files,
        actuator=actuator,
        carried=actuator,
        ctrl={name: 1.0 for name in actuator.drive.targets},
        judged=False,
    )


def _read(path: Path) -> tuple[str, dict[str, str | bytes]]:
    """The text that says what a file is, and the file with those that belong to it."""
    try:
        if path.suffix.lower() == ".fmu":
            content = path.read_bytes()
            told = unpacked(content).get("modelDescription.xml", b"")
            return told.decode("utf-8"), {path.name: content}
        text, beside = path.read_text(encoding="utf-8"), path.with_suffix(".h")
        stored = re.search(r'Path\(__file__\)\.with_name\("([^"/]+)"\)', text)
        if path.suffix.lower() == ".py" and stored:
            beside = path.with_name(stored[1])
        elif path.suffix.lower() != ".c" or MARKS[".c"][0][1] in text:
            return text, {path.name: text}
        if not beside.is_file():
            what = "header" if beside.suffix == ".h" else "file"
            raise MissingValue(f"{path.name} needs its {what} {beside.name} beside it")
        return text, {path.name: text, beside.name: beside.read_text(encoding="utf-8")}
    except BROKEN as error:
        raise InvalidValue(f"{path.name} is no FMU: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{path.name} cannot be read as text: {error}") from None


def _version(text: str, target: str) -> str:
    """@ and the version, where a file of a target says which it is for."""
    if target == "c":
        return "@float" if "double h, float position" in text else "@double"
    return "@3.0" if target == "fmu" and 'fmiVersion="3.' in text else ""


def _joint(text: str, path: Path, target: str) -> str:
    """The joint's name: in an XML description the only one, in code that attaches it the one said there, in
    other code not needed."""
    if target == "mujoco-live":
        said = re.search(r"be\.attach\(model, \{(['\"])(.+?)\1: ACTUATOR\}", text)
        return said[2] if said else "joint"
    if target in ("mjlab", "newton", "torch", "warp", "mujoco-plugin", "c", "fmu"):
        words = text.partition("target_names_expr=(")[2]
        return words.split('"')[1] if words else "joint"
    from ..mujoco.xml import scan

    names = [e.attributes["name"] for e in scan(path) if e.tag == "joint" and "name" in e.attributes]
    several = [name for name in dict.fromkeys(names)]
    if len(several) != 1:
        raise MissingValue(
            f"{path.name} has {len(several)} joints ({', '.join(several)}); say which: --joint NAME"
        )
    return several[0]


def _mjcf(path: Path, actuator: Actuator | None, name: str | None, joint: str | None) -> Export:
    from .mujoco.source import read

    loaded, source = load(path), read(path, name, joint)
    if joint is not None and source.joint != joint:
        raise InvalidValue(f"{path.name} has no actuator on the joint {joint!r}; expected one to replay")
    made, old = source.actuator if actuator is None else actuator, old_of(loaded, source.joint)
    by_motor = old.actuator in dcmotors(loaded.model)
    target, version = parse_target("mujoco" if by_motor else "mujoco-classic")
    return Export(
        target=target,
        version=version,
        joint=source.joint,
        files={path.name: path.read_text(encoding="utf-8")},
        actuator=made,
        carried=source.actuator,
        ctrl=_ctrl(path, old, made, by_motor),
        notes=source.notes,
        judged=False,
    )


def _ctrl(path: Path, old: Old, made: Actuator, by_motor: bool) -> dict[str, float]:
    """Factor from the drive's targets to the file's inputs, in their order."""
    from .mujoco.dcmotor import read

    if by_motor:
        return {name: 1.0 / factor for name, factor in read(path, old.actuator).targets.items()}
    moves = old.follows in ("position_target", "velocity_target")
    return {made.drive.followed: old.gear if moves else 1.0}
