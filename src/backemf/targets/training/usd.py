"""USD for Newton 1.7: joints with Newton's actuator schemas, over plain drives of UsdPhysics.

Two layers. The one below has what everybody reads, a UsdPhysics drive; the one above it is for Newton, turns
that drive off and says the same law as the Python file (newton.py): PD, the DC motor's clamp, whole steps of
delay; armature, damping and friction of the joint. Newton's actuators are in radians; the damping of its
joints and drives of UsdPhysics are per degree. A file of its own needs nothing; layers over a user's stage
need usd-core.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import InvalidValue, MissingValue, NotAvailable
from ...files import write_all
from ...mujoco.models import by_joint
from ...mujoco.xml import STAGES
from ...physics.actuator import Actuator
from ..mujoco.dcmotor_target import STICKING
from ..mujoco.edited_model import EditedModel
from ..newton import SPEC as NEWTON, bare_builder, inputs, move_joint
from ..reference_motions import SimulationCase, reference_inertia
from ..result import Export, Request, check_ending, hash_comment, number
from ..spec import Filling, TargetLaw
from ..template import fill

CLAMP = {
    "SATURATION_EFFORT": "saturationEffort",
    "VELOCITY_LIMIT": "velocityLimit",
    "MAX_MOTOR_EFFORT": "maxMotorEffort",
}
"""Numbers of the motor's clamp, and Newton's attributes."""
SCHEMAS = {
    "NewtonPDControlAPI": ("kp", "kd"),
    "NewtonDCMotorClampingAPI": tuple(CLAMP.values()),
    "NewtonMaxEffortClampingAPI": ("maxEffort",),
    "NewtonActuatorDelayAPI": ("delaySteps",),
}
"""Applied schemas of an actuator, and their attributes."""
DEFAULT_STEP = 0.002
"""Of a file that does not say its time step [s]."""
KINDS = {"PhysicsRevoluteJoint": "rotary", "PhysicsPrismaticJoint": "linear"}


def actuator_attributes(numbers: Mapping[str, float], timestep: float) -> dict[str, float | int]:
    """Newton's attributes of an actuator, without their namespace.

    Args:
        numbers: of an export.
        timestep: of the simulation [s], in which a delay is counted.

    Returns:
        By name; gains at the joint [N m/rad, N m s/rad], efforts [N m], a speed [rad/s], whole steps.
    """
    found: dict[str, float | int] = {"kp": numbers["KP"], "kd": numbers["KD"]}
    if "SATURATION_EFFORT" in numbers:
        found |= {theirs: numbers[ours] for ours, theirs in CLAMP.items() if ours in numbers}
    elif "MAX_MOTOR_EFFORT" in numbers:
        found["maxEffort"] = numbers["MAX_MOTOR_EFFORT"]
    if "DELAY" in numbers:
        found["delaySteps"] = round(numbers["DELAY"] / timestep)
    return found


def drive_attributes(numbers: Mapping[str, float], motion: str) -> dict[str, float]:
    """The plain drive of the same actuator.

    Args:
        numbers: of an export.
        motion: of the joint, "rotary" or "linear".

    Returns:
        stiffness, damping and, where there is a limit, maxForce; per degree where it turns.
    """
    per = math.pi / 180.0 if motion == "rotary" else 1.0
    limits = [numbers[name] for name in ("SATURATION_EFFORT", "EFFORT_LIMIT") if name in numbers]
    force = {"maxForce": min(limits)} if limits else {}
    return {"stiffness": per * numbers["KP"], "damping": per * numbers["KD"], **force}


def joint_attributes(numbers: Mapping[str, float], motion: str) -> dict[str, float]:
    """Newton's attributes of a joint, without their namespace; the damping, unlike an actuator's, is per
    degree where it turns.

    Args:
        numbers: of an export.
        motion: of the joint, "rotary" or "linear".

    Returns:
        armature [kg m^2], damping [N m s/degree], friction [N m], or in kg and N.
    """
    per = math.pi / 180.0 if motion == "rotary" else 1.0
    return {
        "armature": numbers["ARMATURE"],
        "damping": per * numbers["DAMPING"],
        "friction": numbers["FRICTION"],
    }


def _applied_schemas(found: Mapping[str, float | int]) -> list[str]:
    return [schema for schema, names in SCHEMAS.items() if any(name in found for name in names)]


def _sticks(timestep: float) -> dict[str, str]:
    """What lets a joint's friction stick in Newton's MuJoCo solver, as USD says arrays."""
    rows = {name: text.format(two_steps=number(2 * timestep)).split() for name, text in STICKING.items()}
    return {f"mjc:{name}": f"[{', '.join(row)}]" for name, row in rows.items()}


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    prim = re.sub(r"\W", "_", request.joint, flags=re.ASCII)
    prim = f"_{prim}" if prim[0].isdigit() else prim
    linear, load = actuator.motion == "linear", reference_inertia(actuator, request)
    drive, found = drive_attributes(numbers, actuator.motion), actuator_attributes(numbers, request.timestep)
    force = drive.pop("maxForce", None)
    below, instance = f"{request.joint}_physics.usda", "linear" if linear else "angular"
    tab = " " * 8
    fields = {
        **{name: number(value) for name, value in {**numbers, **drive}.items()},
        "prim": prim,
        "timestep": number(request.timestep),
        "joint_damping": number(joint_attributes(numbers, actuator.motion)["damping"]),
        "joint": request.joint,
        "asset": f"@./{below}@",
        "instance": instance,
        "joint_type": "Prismatic" if linear else "Revolute",
        "mass": number(load if linear else 1.0),
        "inertia": number(load),
        "per": "per metre" if linear else "per degree",
        "force": "" if force is None else f"{tab}float drive:{instance}:physics:maxForce = {number(force)}",
        "schemas": ", ".join(f'"{schema}"' for schema in _applied_schemas(found)),
        "control": "\n".join(
            f"{tab}{'int' if name == 'delaySteps' else 'float'} newton:{name} = {number(value)}"
            for name, value in found.items()
        ),
        "sticks": "\n".join(
            f"{tab}uniform double[] {name} = {row}" for name, row in _sticks(request.timestep).items()
        )
        if numbers["FRICTION"]
        else "",
    }
    sent, act = inputs(actuator), "joint_act, in N m at the joint,"
    ports = {"position_target": "joint_target_q", "velocity_target": "joint_target_qd"}
    lines = [f"Input: {ports.get(name, act)} takes the {name} times {number(k)}." for name, k in sent.items()]
    if "DELAY" in numbers:
        lines.append(f"The delay is in steps of {1e3 * request.timestep:g} ms, the simulation's own.")
    lines.append("Each step of Newton: control.joint_f.zero_(), then step() of every model.actuators.")
    return Filling(fields, lines, sent, beside={below: fill("usd_physics.usda", **fields)})


SPEC = replace(
    NEWTON,
    label="USD",
    units="SI at the joint, as Newton's schemas take it: kp N m/rad, kd and damping N m s/rad, efforts and"
    " friction N m, speed rad/s, armature kg m^2, but the joint's damping N m s/degree; on a prismatic joint"
    " N and m. Drives of UsdPhysics, in the layer below, are per degree.",
    file="{joint}.usda",
    template="usd.usda",
    comment=hash_comment,
    place=_place,
    inert={},
    run=lambda files, joint, case: move_joint(lambda: _build_stage(files, case), case),
    timestep_of=lambda files: _timestep(next(iter(files.values()))),
)


# Its run.


def _timestep(text: str) -> float:
    """Of the simulation that a file is for [s]; its delay is in such steps."""
    said = re.search(r"double timestep = (\S+)", text)
    return float(said[1]) if said else DEFAULT_STEP


def _build_stage(files: Mapping[str, str], case: SimulationCase) -> Any:
    """A builder with what Newton reads of the very layers; the bench's inertia is that of the stand-in body,
    and a delay has as many steps as it takes at the case's own."""
    builder, _ = bare_builder()
    if not load_usd() or importlib.util.find_spec("newton_usd_schemas") is None:
        raise NotAvailable(
            "Newton reads USD with usd-core and newton-usd-schemas; install them with"
            " `pip install 'backemf[usd]' newton-usd-schemas`"
        )
    (top, text), (below, body) = files.items()
    J, slides = max(case.inertia, 1e-9), case.motion == "linear"
    body = re.sub(r"diagonalInertia = .*", f"diagonalInertia = ({J!r}, {J!r}, {J!r})", body)
    body = re.sub(r"physics:mass = .*", f"physics:mass = {J if slides else 1.0!r}", body)
    ratio = _timestep(text) / case.timestep
    text = re.sub(r"(delaySteps = )(\d+)", lambda m: m[1] + str(round(int(m[2]) * ratio)), text)
    with tempfile.TemporaryDirectory() as folder:  # of its own: USD keeps layers by their path
        for name, content in ((top, text), (below, body)):
            Path(folder, name).write_text(content, encoding="utf-8")
        try:
            builder.add_usd(str(Path(folder, top)))
        except Exception as error:
            raise InvalidValue(f"Newton does not read the stage: {' '.join(str(error).split())}") from None
    return builder


# Over a user's stage.


@dataclass(frozen=True)
class LayeredStage(EditedModel):
    """Layers over a user's stage, not yet written; the stage stays as it is."""

    def write(self, path: Path | str | None = None, *, force: bool = False) -> list[Path]:
        """Write both layers.

        Args:
            path: of the upper one; the lower one goes beside it.
            force: overwrite what is there.

        Returns:
            Both files, the upper one first.

        Raises:
            InvalidValue: there is no path, or it is the stage's own.
        """
        stage, place = self.main, check_ending(Path("" if path is None else path))
        assert stage is not None
        if path is None or place.resolve() == stage.resolve():
            raise InvalidValue(
                f"layers go over {stage.name} and do not take its place; expected another file: -o NEW.usda"
            )
        below = place.with_name(f"{place.stem}_physics.usda")
        under = {BELOW: f"./{below.name}", UNDER: Path(os.path.relpath(stage, place.parent)).as_posix()}
        texts = []
        for content in self.files.values():
            text = content.decode()
            for asset, to in under.items():
                text = text.replace(f"@{asset}@", f"@{to}@")
            texts.append(text)
        return write_all(dict(zip((place, below), texts, strict=True)), force=force)


BELOW, UNDER = "backemf_below.usda", "backemf_stage.usda"
"""Names that stand in a layer until it is known where it is written."""


def load_usd() -> Any:
    """USD's own library, with Newton's schemas where they are installed: it reads schemas once, and so they
    have to be there first.

    Raises:
        NotAvailable: usd-core is not installed.
    """
    with contextlib.suppress(ImportError):
        importlib.import_module("newton_usd_schemas")
    try:
        import pxr.Sdf
        import pxr.Usd
        import pxr.UsdGeom
        import pxr.UsdPhysics

        return pxr
    except ImportError:
        raise NotAvailable(
            "usd-core is not installed, which reads stages; install it with: pip install 'backemf[usd]'"
        ) from None


def _open(pxr: Any, path: Path) -> Any:
    if not path.is_file():
        raise MissingValue(f"{path} is not there; expected a USD stage with the robot's joints")
    if path.suffix.lower() not in STAGES:
        raise InvalidValue(
            f"{path.name} is no USD stage; expected a file that ends in {', '.join(STAGES)}, or --to mujoco"
            " for a model in MJCF and --to urdf for one in URDF"
        )
    try:
        return pxr.Usd.Stage.Open(str(path))
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise InvalidValue(f"{path.name} cannot be read as a USD stage: {why}") from None


def _joints(pxr: Any, stage: Any, path: Path) -> dict[str, Any]:
    """Hinges and slides by name; by their whole path where several have one name."""
    found = [prim for prim in stage.Traverse() if str(prim.GetTypeName()) in KINDS]
    if not found:
        raise MissingValue(f"{path.name} has no revolute or prismatic joint; expected one for each actuator")
    unit, mass = pxr.UsdGeom.GetStageMetersPerUnit(stage), pxr.UsdPhysics.GetStageKilogramsPerUnit(stage)
    if not (math.isclose(unit, 1.0) and math.isclose(mass, 1.0)):
        raise InvalidValue(
            f"{path.name} is in units of {unit:g} m and {mass:g} kg; expected metersPerUnit and"
            " kilogramsPerUnit of 1, in which efforts are N m"
        )
    names = [prim.GetName() for prim in found]
    return {
        prim.GetName() if names.count(prim.GetName()) == 1 else str(prim.GetPath()): prim for prim in found
    }


def into_usd(exports: Mapping[str, Export], path: Path | str) -> LayeredStage:
    """Two layers over a user's stage: plain drives, and Newton's actuators above them.

    Args:
        exports: for usd, by name or regular expression of their joints.
        path: of the stage.

    Returns:
        The layers, not yet written.

    Raises:
        NotAvailable: usd-core is not installed.
        BackemfError: the file is no stage, has no such joint, or one that moves otherwise.
    """
    pxr, path = load_usd(), Path(path)
    given = _open(pxr, path)
    joints = _joints(pxr, given, path)
    chosen = {joint: exports[p] for joint, p in by_joint(exports, [*joints], path.name).items()}
    low, drives = _layer(pxr, given, str(path.resolve()))
    top, actuators = _layer(pxr, given, low.identifier)
    changes: list[str] = []
    for joint, export in chosen.items():
        prim, motion = joints[joint], export.actuator.motion
        moves = KINDS[str(prim.GetTypeName())]
        if moves != motion:
            raise InvalidValue(f"{joint} of {path.name} is {moves}, and its actuator is {motion}")
        instance = "linear" if motion == "linear" else "angular"
        where, before = prim.GetPath(), pxr.UsdPhysics.DriveAPI(prim, instance).GetStiffnessAttr().Get()
        _author_drive(pxr, drives.GetPrimAtPath(where), instance, drive_attributes(export.numbers, motion))
        off: dict[str, float] = {"stiffness": 0.0, "damping": 0.0}
        _author_drive(pxr, actuators.GetPrimAtPath(where), instance, off)
        _author_actuator(pxr, actuators, where, export)
        was = f"drive of {before:g}" if before else "no drive"
        changes.append(f"joint {joint}: {was} became a NewtonActuator, above a plain drive")
    top.customLayerData = {"timestep": next(iter(chosen.values())).timestep}
    texts = [_sign_layer(layer.ExportToString(), chosen) for layer in (top, low)]
    texts[0] = texts[0].replace(f"@{low.identifier}@", f"@{BELOW}@")
    texts[1] = texts[1].replace(f"@{path.resolve()}@", f"@{UNDER}@")
    version = ".".join(map(str, pxr.Usd.GetVersion()[1:]))
    return LayeredStage(
        {path.with_name(name): text.encode() for name, text in zip(("top", BELOW), texts, strict=True)},
        tuple(changes),
        f"composed by usd-core {version}",
        findings=tuple({f.code + f.text: f for one in chosen.values() for f in one.findings}.values()),
        exports=tuple({id(export): export for export in chosen.values()}.values()),
        main=path,
    )


def _sign_layer(text: str, chosen: Mapping[str, Export]) -> str:
    """A layer with what its actuators lose and how they are commanded behind its head, as files of their own
    say it; joints of one export share the words."""
    said: dict[str, list[str]] = {}
    for joint, export in chosen.items():
        words = "\n".join(line for line in export.text.splitlines() if line.startswith("# "))
        said.setdefault(words, []).append(joint)
    comment = "\n\n".join(f"# {', '.join(joints)}:\n{words}" for words, joints in said.items())
    return text.replace("\n)\n", f"\n)\n\n{comment}\n", 1)


def _layer(pxr: Any, given: Any, under: str) -> tuple[Any, Any]:
    """(a layer over another, the stage in which it is written); what only a root layer says is said again."""
    layer = pxr.Sdf.Layer.CreateAnonymous(".usda")
    layer.subLayerPaths = [under]
    stage = pxr.Usd.Stage.Open(layer)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    pxr.UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.GetStageUpAxis(given))
    if given.GetDefaultPrim():
        layer.defaultPrim = given.GetDefaultPrim().GetName()
    return layer, stage


def _author_drive(pxr: Any, prim: Any, instance: str, values: Mapping[str, float]) -> None:
    drive = pxr.UsdPhysics.DriveAPI.Apply(prim, instance)
    makers = {"stiffness": drive.CreateStiffnessAttr, "damping": drive.CreateDampingAttr}
    makers["maxForce"] = drive.CreateMaxForceAttr
    for name, value in values.items():
        makers[name]().Set(value)


def _author_actuator(pxr: Any, stage: Any, where: Any, export: Export) -> None:
    """Newton's actuator beside its joint, the joint's own numbers, and an old actuator switched off."""
    types, joint = pxr.Sdf.ValueTypeNames, stage.GetPrimAtPath(where)
    for prim in [one for one in stage.Traverse() if one.GetTypeName() == "NewtonActuator"]:
        if where in prim.GetRelationship("newton:targets").GetTargets():
            prim.SetActive(False)
    joint.AddAppliedSchema("NewtonJointAPI")
    for name, value in joint_attributes(export.numbers, export.actuator.motion).items():
        joint.CreateAttribute(f"newton:{name}", types.Float).Set(value)
    if export.numbers["FRICTION"]:
        for name, row in _sticks(export.timestep).items():
            made = joint.CreateAttribute(name, types.DoubleArray, variability=pxr.Sdf.VariabilityUniform)
            made.Set([float(value) for value in row.strip("[]").split(",")])
    place, k = where.GetParentPath(), 0
    while stage.GetPrimAtPath(free := place.AppendChild(f"{where.name}_actuator{k or ''}")):
        k += 1
    actuator = stage.DefinePrim(free, "NewtonActuator")
    found = actuator_attributes(export.numbers, export.timestep)
    for schema in _applied_schemas(found):
        actuator.AddAppliedSchema(schema)
    for name, value in found.items():
        kind = types.Int if name == "delaySteps" else types.Float
        actuator.CreateAttribute(f"newton:{name}", kind).Set(value)
    actuator.CreateRelationship("newton:targets").SetTargets([where])
