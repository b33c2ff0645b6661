"""What one may ask of `size` and `power`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import InvalidValue, UnknownName
from ..options import HIDDEN, Options, option, option_of, options

if TYPE_CHECKING:
    from pathlib import Path

    from ..physics.actuator import Actuator
    from ..physics.supply import Supply
    from ..results.fit_result import Fit

ORDERS = ("mass", "loss", "drawn", "price")
NEGLECTED = {
    "rotor_inertia": "rotor_inertia",
    "friction": "no_load_current",
    "heat": "nominal_current, or thermal_resistance with max_winding_temperature",
    "gear_efficiency": "gear_efficiency",
    "gear_inertia": "inertia",
    "gear_torque": "peak_torque or continuous_torque",
}
"""What may be left out where it is not printed, and the entry that is missing then."""


def parse_share(text: str | None) -> float | None:
    """ "95%" -> 0.95."""
    from ..units import si

    return None if text is None else si(text, "1", "--confidence")


def parse_list(texts: list[str] | None) -> tuple[str, ...]:
    """["a,b", "c"] -> ("a", "b", "c")."""
    return tuple(word for text in texts or () for word in text.split(",") if word)


@options
class SizeOptions(Options):
    """Keywords of `be.size`."""

    bus: float = option(help="Voltage of the supply [V].", unit="V")
    parts: Sequence[str] = option(
        default=(),
        help="Parts of your own: a CSV or TOML of motors and gearheads, a fit (JSON), a clone of MGDB. May be"
        " repeated.",
        parse=parse_list,
    )
    only_parts: bool = option(default=False, help="Judge the parts given alone, not the catalogue's.")
    motor: str | None = option(default=None, help="Motors of this name alone; * stands for any letters.")
    gear: str | None = option(
        default=None, help="Gearheads of this sort alone: planetary, spur, strain-wave, ..."
    )
    any_ratio: float | None = option(
        default=None,
        help="Also judge every motor behind gears that nobody printed: of the ratio that suits it, with this"
        " efficiency, without mass, inertia or limits.",
        unit="1",
    )
    max_mass: float | None = option(default=None, help="Motor and gears together at most [kg].", unit="kg")
    ambient: float = option(
        default=25.0, help="Temperature of the surroundings [degC].", unit="degC", least=-273.15
    )
    confidence: float | None = option(
        default=None,
        help="Keep every limit with this probability, from the errors of the parts' numbers: 95%.",
        parse=parse_share,
    )
    neglect: Sequence[str] = option(
        default=(),
        help="Judge parts without a number that nobody printed, which then counts as none: {choices}.",
        choices=[*NEGLECTED],
        parse=parse_list,
    )
    by: str = option(default="mass", help="What comes first: the least {choices}.", choices=ORDERS)
    show: int = option(default=10, help="Choices in the table.", least=1)
    verify: int = option(default=3, help="How many of them are simulated in full.", least=0)
    progress: Callable[[str, float], None] | None = option(
        default=None, help="Is called with what is being done, and which share of it is.", cli=HIDDEN
    )

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        for name, unit in (("bus", "V"), ("max_mass", "kg")):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise InvalidValue(f"{name} is {value:g} {unit}; expected more than 0")
        if self.by not in ORDERS:
            raise UnknownName("order", self.by, ORDERS)
        for name, share in (("confidence", self.confidence), ("any_ratio", self.any_ratio)):
            ends = (0.5, 1.0 - 1e-9) if name == "confidence" else (1e-3, 1.0)
            if share is not None and not ends[0] <= share <= ends[1]:
                wanted = "a share such as 0.95" if name == "confidence" else "an efficiency such as 0.8"
                raise InvalidValue(f"{name} is {share:g}; expected {wanted}")
        for word in self.neglect:
            if word not in NEGLECTED:
                raise InvalidValue(f"neglect has {word!r}; expected {', '.join(NEGLECTED)}")

    def say(self, text: str, share: float) -> None:
        """Tell whoever watches what is being done, and which share of it is."""
        if self.progress is not None:
            self.progress(text, share)


def parse_supply(text: str | None) -> Supply | None:
    """A battery in words."""
    from .robot_power import supply_of

    return None if text is None else supply_of(text)


def parse_fit(text: str | None) -> str | None:
    """A fit's file."""
    return text


@options
class PowerOptions(Options):
    """Keywords of `be.power`."""

    battery: Supply | None = option(
        default=None,
        help='The supply: "voc=29.6V r=80mohm capacity=8Ah fuse=60A"; also empty, r1 and c1, soc,'
        " charge_limit, brake, c, aux.",
        parse=parse_supply,
        more="A `be.Supply`; the robot's own unless given.",
    )
    part: str | Sequence[str] = option(
        default=(),
        help="What moves the joints: a part of the catalogue, a sheet (TOML) or an actuator (JSON), or"
        " PATTERN=PART for some. May be repeated.",
        parse=parse_list,
    )
    fit: Fit | Actuator | Path | str | None = option(
        default=None,
        help="A fit of the robot, or of one joint for all (JSON), in place of parts.",
        parse=parse_fit,
        more="A `be.Fit` or a `be.Actuator`, too.",
    )
    ratio: str | Sequence[str] = option(
        default=(),
        help="Gears behind a part's own: PATTERN=N, as in calf=1.917. May be repeated.",
        parse=parse_list,
    )
    repeat: int = option(default=1, help="How often the motion is done; the last time is shown.", least=1)
    ambient: float = option_of(SizeOptions, "ambient")
    duty_limit: float = option(default=1.0, help="Largest duty of the drives.", unit="1", least=0.01)
