"""What one may ask of `plan`; and the limits of motions in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import InvalidValue, UnknownName
from ..identify.fit_options import friction_names
from ..options import HIDDEN, Options, Scope, option, options

if TYPE_CHECKING:
    from ..datasheets.datasheet import Datasheet
    from ..results.fit_result import Fit
    from .motions import SafetyLimits
    from .outlook import Sensing

ROBOT = Scope("robot", "robots: plan(actuator, be.Robot.read(...))", "robots: give --robot FILE")
LIMIT_UNITS = {
    **{"position-low": "rad", "position-high": "rad", "velocity": "rad/s", "current": "A"},
    **{"temperature": "degC", "supply-low": "V", "supply-high": "V", "silence": "s", "approach": "rad/s"},
    **{"following": "rad"},
}


def with_limits(given: Sequence[str] | None, before: Any) -> Any:
    """Limits of motions with those that were typed: NAME=VALUE, with or without a unit.

    Args:
        given: such as ["current=2A", "position-low=-1rad"].
        before: the `SafetyLimits` that hold otherwise.
    """
    from ..units import si

    values: dict[str, float] = {}
    for text in given or ():
        name, equals, word = (part.strip() for part in text.partition("="))
        if name not in LIMIT_UNITS:
            raise UnknownName("limit", name, LIMIT_UNITS)
        if not equals or not word:
            raise InvalidValue(f"--limit is {text!r}; expected NAME=VALUE, such as current=2A")
        values[name.replace("-", "_")] = si(word, LIMIT_UNITS[name], f"--limit {name}")
    return dataclasses.replace(before, **values)


def parse_limits(texts: list[str] | None) -> SafetyLimits:
    """The usual limits with those that were typed."""
    from .motions import SafetyLimits

    return with_limits(texts, SafetyLimits())


REVERSED = 2.0
"""Times its current at stall that a motor draws at most, where it is reversed at full speed."""


def sheet_current(sheet: Datasheet, volts: float | None = None) -> float | None:
    """What a part's current may be, by its sheet; more than that is no motion.

    Args:
        sheet: of the part.
        volts: its supply [V]; the sheet's own unless given.

    Returns:
        The limit [A]; None where the sheet does not say its current at stall.
    """
    stall = sheet.get("stall_current", volts)
    return None if stall is None else round(REVERSED * stall.value, 3)


def parse_posture(text: str) -> dict[str, float]:
    """ "a=0.5,b=-90deg" -> {"a": 0.5, "b": -1.57...} [rad]."""
    from ..units import si

    stood = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, equals, angle = (part.strip() for part in word.partition("="))
        if not equals or not name:
            raise InvalidValue(f"--posture is {text!r:.60}; expected JOINT=ANGLE, such as elbow_flex=0.5")
        stood[name] = si(angle, "rad", f"--posture {name}")
    return stood


def parse_fit(path: Path | None) -> Fit | None:
    """A stored fit."""
    from ..results.fit_result import Fit

    return None if path is None else Fit.read(path)


def parse_targets(texts: list[str] | None) -> str:
    """["friction", "motor"] -> "friction,motor"."""
    return ",".join(texts or ())


@options
class PlanOptions(Options):
    """Keywords of `be.plan`."""

    situation: ClassVar[str] = "the servo carries a {}"

    def say(self, text: str, share: float) -> None:
        """Tell whoever watches what is being done, and which share of it is."""
        if self.progress is not None:
            self.progress(text, share)

    joint: str = option(
        default="", help="One joint of the robot; all of them unless given.", applies_to=ROBOT
    )
    joints: str | Sequence[str] = option(
        default=(),
        help="Some joints of the robot: shoulder_lift,elbow_flex; all but grippers unless given.",
        parse=parse_targets,
        applies_to=ROBOT,
    )
    posture: Mapping[str, float] | None = option(
        default=None,
        help="Where the robot stands [rad]: shoulder_lift=-0.5,elbow_flex=1; 0 unless given. There every"
        " motion begins and ends, and there the others stay while one joint is planned alone.",
        parse=parse_posture,
        typed="",
        applies_to=ROBOT,
    )
    table: float | None = option(
        default=None, help="Height of a table in the robot's model [m].", applies_to=ROBOT, unit="m"
    )
    seconds: float | None = option(
        default=None,
        help="How long the motions last together [s]: 20, of a whole robot 120 unless given.",
        unit="s",
    )
    target: str | Sequence[str] = option(
        default=(),
        help="What is looked for: friction, motor, friction.static, ...; everything unless given.",
        parse=parse_targets,
    )
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = option(
        default=None, help="A datasheet, or path -> (value, standard error).", cli=HIDDEN
    )
    after: Fit | None = option(
        default=None,
        help="A fit of earlier logs (JSON): what it knows is not looked for again.",
        parse=parse_fit,
    )
    friction: str | None = option(
        default=None,
        help="The friction model that is planned for; m4 where the source knows of Coulomb friction only.",
        choices=friction_names,
    )
    limits: SafetyLimits | None = option(
        default=None,
        help="Not beyond this: position-low=-1rad, position-high, velocity=3rad/s, current=1A, temperature."
        " May be repeated.",
        more="Kept by the start and by what it may be instead; 1 rad either way unless given.",
        parse=parse_limits,
        cli="--limit",
    )
    sensing: Sensing | None = option(
        default=None, help="Rate, encoder and noise of the recording to come.", cli=HIDDEN
    )
    settings: Mapping[str, float] | None = option(
        default=None,
        help='What is set in the servo, as its logs will say: {"drive.proportional": 16}.',
        cli=HIDDEN,
    )
    seed: int = option(default=0, help="Seed of the draws over which the choice is good.", least=0)
    progress: Callable[[str, float], None] | None = option(
        default=None, help="Is called with what is being done, and which share of it is.", cli=HIDDEN
    )
