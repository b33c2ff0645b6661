"""What one may ask of `export` and `replay`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..options import HIDDEN, OUTSIDE_HELP, Options, Scope, option, options, parse_file

if TYPE_CHECKING:
    from ..findings import Finding
    from ..logs.log import Log
    from ..results.spread import Spread

SOURCE_HELP = (
    "A stored fit or actuator (JSON), a part of the catalogue, an identified set such as mx-106/m6, a BAM"
    " parameter file, an MJCF model (model.xml#JOINT where it has several actuators), or an Isaac Lab"
    " configuration (robot.py#JOINT)."
)
"""What an actuator may be read from."""
METHODS = ("simulation", "formula")
AT_REST = ("closest", "frictionloss", "lugre", "springyield")
"""What may hold a joint at rest in MuJoCo."""
DRAWING = ("torch", "warp", "jax")
"""Targets whose files draw from a spread."""
DRAWS = ("bands",)
"""What they may draw unless told otherwise."""
MUJOCO = ("mujoco", "mujoco-classic", "mujoco-live", "mujoco-plugin", "mjlab")
"""Targets that MuJoCo runs."""
WITH_GROUND = ("mujoco", "mujoco-classic")
"""Targets that can hold the table or floor that the fit of a robot found."""
WITH_PLAY = ("mujoco", "mujoco-classic")
"""Targets that can hold a gearbox's play."""
BAM = Scope("bam", "the target bam")
ROBOT = Scope("robot", "the fit of a robot into its MJCF", "the fit of a robot with --into its MJCF")
INTO = Scope("into", "exports into a model: give into=", "exports into a model: give --into FILE")
FILE = Scope("file", "files of their own and layers of USD; a model has its own")
SPREAD = Scope("spread", f"the targets {', '.join(DRAWING)}")
HELD = Scope("held", "the target mujoco")
PLAY = Scope("play", f"the targets {' and '.join(WITH_PLAY)}")
INTEGRATED = Scope("integrated", f"files of their own for {', '.join(MUJOCO)}")


def target_names() -> list[str]:
    """Every target by name."""
    from .table import TARGETS

    return list(TARGETS)


def integrator_names() -> list[str]:
    """MuJoCo's integrators."""
    from ..mujoco.dcmotor import INTEGRATORS

    return list(INTEGRATORS)


def bam_names() -> list[str]:
    """Actuators that BAM has in its code."""
    from .bam import FIRMWARE

    return list(FIRMWARE)


def scopes_of(target: str, into: object = None, robot: bool = True) -> set[str]:
    """Which options apply to an export.

    Args:
        target: its name, without a version.
        into: the model that it goes into; None for a file of its own.
        robot: whether it is, or may be, the fit of a robot.

    Returns:
        Kinds of the scopes.
    """
    own = into is None
    applying = {
        "file": own or target == "usd",
        "into": not own,
        "spread": target in DRAWING,
        "play": target in WITH_PLAY,
    }
    applying |= {"bam": target == "bam", "held": target == "mujoco"}
    applying["robot"] = robot and not own and target in WITH_GROUND
    return {
        kind for kind, applies in (applying | {"integrated": own and target in MUJOCO}).items() if applies
    }


@options
class FileOptions(Options):
    """Keywords of `be.export` for files of their own."""

    situation: ClassVar[str] = "this is an export to {}"

    joint: str = option(default="joint", help="Name of the joint in the file.", cli=HIDDEN)
    notes: Sequence[str] | str = option(
        default=(), help="Where the numbers came from, in words; they go into the file's header.", cli=HIDDEN
    )
    method: str = option(
        default="simulation",
        help="'simulation' fits what the target cannot hold, 'formula' uses closed forms.",
        choices=METHODS,
    )
    timestep: float = option(
        default=0.002,
        help="Time step of the target's simulation [s]; with --into it is the model's own.",
        more="A finding says where it cannot hold the model.",
        unit="s",
        applies_to=FILE,
    )
    integrator: str = option(
        default="implicitfast",
        help="MuJoCo's integrator: Euler, implicitfast, implicit or RK4; with --into the model's own.",
        choices=integrator_names,
        applies_to=INTEGRATED,
    )
    amplitude: float = option(
        default=0.5, help="Amplitude of the reference motions [rad, or m].", unit="rad | m"
    )
    load: float = option(
        default=0.25,
        help="Load in the reference motions: gravity torque as a share of the stall torque.",
        unit="1",
    )
    backlash: bool = option(
        default=False, help="In MuJoCo: carry the gearbox's play as an extra joint.", applies_to=PLAY
    )
    at_rest: str = option(
        default="closest",
        help="In MuJoCo: what a joint's dry friction becomes; springyield holds without creep, from 4.0 on.",
        more="'closest' runs the files and takes what moves most like the actuator.",
        choices=AT_REST,
        applies_to=HELD,
    )
    logs: Iterable[Log] | Log | None = option(
        default=None,
        help="Recordings to fit to instead of the reference motions.",
        more="What the target cannot hold then follows their motions best.",
        cli=HIDDEN,
    )
    spread: Spread | None = option(
        default=None,
        help="How far the numbers may be from the truth: what a training file draws from.",
        applies_to=SPREAD,
        cli=HIDDEN,
    )
    draws: str | None = option(
        default=None,
        help="Of a fit: what environments draw unless told otherwise: bands, whole draws of all numbers and"
        " a slow error, that recordings lie among.",
        choices=DRAWS,
        applies_to=SPREAD,
    )
    bam_name: str | None = option(
        default=None,
        help="Which of BAM's actuators it is: {choices}. BAM loads no other file.",
        choices=bam_names,
        applies_to=BAM,
    )
    q_offset: float | None = option(
        default=None,
        help="BAM's q_offset [rad], from the joint's zero to the recordings'; without it, as the fit or the"
        " file says.",
        unit="rad",
        applies_to=BAM,
    )
    replay: bool = option(
        default=True,
        help="Run the written file in its simulator and say so in its header.",
        cli="--replay/--no-replay",
    )
    findings: Sequence[Finding] = option(
        default=(),
        help="What is known about the numbers, such as a gain that no sheet prints; it goes into the header.",
        cli=HIDDEN,
    )


@options
class ExportOptions(FileOptions):
    """Keywords of `be.export`."""

    into: Path | str | None = option(
        default=None,
        help="Put it into this MJCF or URDF for the joints' old actuators; with -o the result is another"
        " file, with --force this one. A model as the source, without --joint, gives each joint its own.",
        more="The actuator may be a mapping then, from joints (names or regular expressions), or the fit of a"
        " robot.",
        parse=parse_file,
    )
    allow_outside: bool = option(default=False, help=OUTSIDE_HELP)
    ground: bool = option(
        default=True,
        help="Of a robot's fit: put the table or floor that its recordings show into the model.",
        applies_to=ROBOT,
        cli="--ground/--no-ground",
    )
    unknown: Mapping[str, Sequence[str]] | None = option(
        default=None,
        help="By joint, paths of what an actuator does not really know; those numbers stay the model's.",
        applies_to=INTO,
        cli=HIDDEN,
    )
