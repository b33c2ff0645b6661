"""The table of targets: which file writes each, and for which versions."""

from __future__ import annotations

from typing import NamedTuple

from ..mujoco.dcmotor import VERSIONS


class Target(NamedTuple):
    """A row of the table of targets."""

    module: str
    versions: tuple[str, ...]
    default: str
    what: str
    printable: bool = True
    """Whether what it writes is text."""


TARGETS: dict[str, Target] = {
    "mujoco": Target("mujoco.dcmotor:SPEC", VERSIONS, "installed", "MJCF with <dcmotor>"),
    "mujoco-live": Target(
        "mujoco.live", ("any",), "any", "Python that attaches the whole actuator to a model in MuJoCo"
    ),
    "mujoco-plugin": Target(
        "code.plugin",
        ("any",),
        "any",
        "C99 of an engine plugin with the whole actuator, for the stock viewer and any language",
    ),
    "mujoco-classic": Target(
        "mujoco.classic:SPEC",
        ("any",),
        "any",
        "MJCF with <position>, <velocity> or <motor>, for any version and MJX",
    ),
    "mjlab": Target("mjlab:SPEC", ("1.6",), "1.6", "Python with BuiltinDcMotorActuatorCfg"),
    "isaaclab": Target(
        "isaaclab:SPEC",
        ("2.3", "3.0", "bam"),
        "2.3",
        "Python with DCMotorCfg or DelayedPDActuatorCfg; bam: with BamActuatorCfg of its main branch",
    ),
    "newton": Target("newton:SPEC", ("1.7",), "1.7", "Python with DrivePD and ClampingDCMotor"),
    "drake": Target("description:DRAKE", ("1",), "1", "URDF with Drake's rotor inertia and controller gains"),
    "urdf": Target("description:URDF", ("any",), "any", "URDF with a transmission"),
    "sdf": Target("description:SDF", ("any",), "any", "SDF with a joint's limits, damping and friction"),
    "bam": Target("bam:SPEC", ("any",), "any", "parameter JSON, models m1 to m6"),
    "torch": Target(
        "training.torch",
        ("plain", "isaaclab", "mjlab"),
        "plain",
        "a Python file that imports only torch, for learning environments",
    ),
    "warp": Target(
        "training.warp",
        ("plain", "mjlab", "newton", "mujoco-warp"),
        "plain",
        "a Python file that imports only Warp, for CUDA graphs in learning environments",
    ),
    "c": Target("code.c", ("double", "float"), "double", "C99 without allocation, for firmware"),
    "fmu": Target(
        "code.fmu", ("2.0", "3.0"), "2.0", "a co-simulation FMU, with its sources", printable=False
    ),
}
"""Every target by name."""
