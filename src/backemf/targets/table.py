"""The table of targets: which file writes each, and for which versions."""

from __future__ import annotations

from typing import NamedTuple

from ..mujoco.dcmotor import VERSIONS
from ..registry import Registry


class Target(NamedTuple):
    """A row of the table of targets."""

    module: str
    """Of the file that writes it: its `write`, and its `run` where it can be run."""
    versions: tuple[str, ...]
    default: str
    what: str
    printable: bool = True
    """Whether what it writes is text."""


TARGETS: Registry[Target] = Registry(
    "target",
    {
        "mujoco": Target(
            "backemf.targets.mujoco.dcmotor_target:SPEC", VERSIONS, "installed", "MJCF with <dcmotor>"
        ),
        "mujoco-live": Target(
            "backemf.targets.mujoco.live",
            ("any",),
            "any",
            "Python that attaches the whole actuator to a model in MuJoCo",
        ),
        "mujoco-plugin": Target(
            "backemf.targets.code.plugin",
            ("any",),
            "any",
            "C99 of an engine plugin with the whole actuator, for the stock viewer and any language",
        ),
        "mujoco-classic": Target(
            "backemf.targets.mujoco.classic:SPEC",
            ("any", *VERSIONS),
            "any",
            "MJCF with <position>, <velocity> or <motor>, for any version and MJX; from 3.12 on <pid> too",
        ),
        "mjlab": Target(
            "backemf.targets.mjlab:SPEC", ("1.6",), "1.6", "Python with BuiltinDcMotorActuatorCfg"
        ),
        "isaaclab": Target(
            "backemf.targets.isaaclab:SPEC",
            ("2.3", "3.0", "bam"),
            "2.3",
            "Python with DCMotorCfg or DelayedPDActuatorCfg; bam: with BamActuatorCfg of its main branch",
        ),
        "newton": Target(
            "backemf.targets.newton:SPEC", ("1.7",), "1.7", "Python with DrivePD and ClampingDCMotor"
        ),
        "usd": Target(
            "backemf.targets.training.usd:SPEC",
            ("1.7",),
            "1.7",
            "USD layers with Newton's actuator schemas, over plain drives of UsdPhysics",
        ),
        "drake": Target(
            "backemf.targets.description:DRAKE",
            ("1",),
            "1",
            "URDF with Drake's rotor inertia and controller gains",
        ),
        "urdf": Target("backemf.targets.description:URDF", ("any",), "any", "URDF with a transmission"),
        "sdf": Target(
            "backemf.targets.description:SDF",
            ("any",),
            "any",
            "SDF with a joint's limits, damping and friction",
        ),
        "bam": Target("backemf.targets.bam:SPEC", ("any",), "any", "parameter JSON, models m1 to m6"),
        "torch": Target(
            "backemf.targets.training.torch",
            ("plain", "isaaclab", "mjlab"),
            "plain",
            "a Python file that imports only torch, for learning environments",
        ),
        "jax": Target(
            "backemf.targets.training.jax",
            ("plain", "mjx", "playground"),
            "plain",
            "a Python file that imports only JAX, with derivatives; mjx: for models in MJX and Playground",
        ),
        "warp": Target(
            "backemf.targets.training.warp",
            ("plain", "mjlab", "newton", "mujoco-warp"),
            "plain",
            "a Python file that imports only Warp, for CUDA graphs in learning environments",
        ),
        "c": Target(
            "backemf.targets.code.c", ("double", "float"), "double", "C99 without allocation, for firmware"
        ),
        "fmu": Target(
            "backemf.targets.code.fmu",
            ("2.0", "3.0"),
            "2.0",
            "a co-simulation FMU, with its sources",
            printable=False,
        ),
    },
    group="backemf.targets",
)
"""Every target by name."""
