"""`backemf convert`: one number of a motor or servo in the units of another sheet, firmware or simulator."""

from __future__ import annotations

from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from ...options import Answer, Terminal, option, option_of, options
from ...targets.export_options import SOURCE_HELP
from .command_builder import Verb, command
from .inputs import ActuatorWords, CommandWords, ControlWords, ModelWords, SupplyWords
from .terminal import finding_lines, under

NO_SOURCE = "Rotor turns per output turn, where no source is given."


@options
class ConvertWords(ModelWords):
    """A source, or a motor's own numbers."""

    chosen_by: ClassVar[tuple[str, ...]] = ()
    """What else says which actuator of the source is meant."""

    source: str | None = option(
        default=None, help=f"{SOURCE_HELP} Or none: give numbers instead.", cli="source"
    )
    voltage: str | None = option(
        default=None, help="Supply voltage, such as 12 V; the source's own unless given.", unit="V"
    )
    set: list[str] | None = option_of(SupplyWords, "set")

    @property
    def volts_given(self) -> float | None:
        """The supply [V]: with its unit, or a bare number as the other commands take it."""
        from ...analysis.conversion_table import positive

        return positive(self.voltage, "V", "--voltage")

    def numbers(self, names: str) -> dict[str, Any]:
        """Numbers of a motor by name; refused beside a source that has its own."""
        from ...errors import InvalidValue

        given = {name: getattr(self, name) for name in names.split()}
        named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
        if self.source is not None and named:
            raise InvalidValue(
                f"{', '.join(named)} and {self.source!r} are given; expected one of them: change a source's"
                " own numbers with --set, such as --set motor.resistance=2.1ohm"
            )
        return given

    def choose(self) -> Any:
        """The actuator of the source, as it is asked for."""
        from ...targets.sourcing import choose_actuator

        words = {word: getattr(self, word) for word in self.chosen_by}
        return choose_actuator(str(self.source), voltage=self.volts_given, sets=self.set, **words)


@options
class MotorWords(ConvertWords):
    """Two constants of a motor."""

    resistance: str | None = option(default=None, help="Resistance, such as 2.1 ohm.")
    torque_constant: str | None = option(default=None, help="Torque constant, such as 5 mN m/A.")


@options
class BackEmfWords(MotorWords):
    """And that of its back-EMF."""

    back_emf_constant: str | None = option(default=None, help="Back-EMF constant, such as 2 V/krpm.")


@options
class SheetWords(CommandWords):
    """What a servo's sheet prints."""

    stall_torque: str | None = option(default=None, help="Such as 30 kg cm.")
    stall_current: str | None = option(default=None, help="Such as 2.7 A.")
    no_load_speed: str | None = option(default=None, help="Such as 45 rpm or 0.18 s/60deg.")
    no_load_current: str | None = option(default=None, help="Such as 180 mA.")


@options
class FirmwareWords(MotorWords):
    """What a servo's firmware does with a count."""

    chosen_by: ClassVar[tuple[str, ...]] = ("firmware",)

    register: str | None = option(default=None, help="The firmware's register, such as 16.")
    firmware_gain: str | None = option(
        default=None,
        help='Duty per count of the register, such as "0.166 1/rad", where the source does not know it.',
    )
    firmware: str | None = option_of(SupplyWords, "firmware")
    duty_limit: float | None = option(default=None, help="Largest duty of the firmware, 0 to 1.", unit="1")


@options
class GainWords(FirmwareWords):
    """What one may ask of `convert gain`."""

    chosen_by: ClassVar[tuple[str, ...]] = ("firmware", "control")

    of: str = option(default="proportional", help="Which gain: proportional, integral or derivative.")
    duty: str | None = option(default=None, help="Such as 2.7 1/rad.")
    volts: str | None = option(default=None, help="Such as 20 V/rad or 0.35 V/deg.")
    amperes: str | None = option(default=None, help="Of each motor, such as 7 A/rad.")
    torque: str | None = option(default=None, help="Such as 9 N m/rad, at the output.")
    control: str | None = option_of(ControlWords, "control")
    ratio: float | None = option(default=None, help=NO_SOURCE, unit="1")


@options
class ServoWords(SheetWords, FirmwareWords):
    """What one may ask of `convert servo`."""

    volts: str | None = option(default=None, help="Gain of the controller, such as 12 V/deg.")
    register: str | None = option(default=None, help="Or its register, with --firmware-gain.")


@options
class GainsWords(BackEmfWords):
    """What one may ask of `convert gains`."""

    mechanism: str = option(default="simple", help="simple, flywheel, elevator, arm or drivetrain.")
    ratio: float = option_of(ActuatorWords, "ratio")
    motors: int = option_of(ActuatorWords, "motors")
    inertia: str | None = option(default=None, help="Of the load at the output, such as 0.5 kg m^2.")
    mass: str | None = option(default=None, help="Instead of it: a mass at a radius, such as 5 kg.")
    radius: str | None = option(
        default=None, help="Of that mass, of an arm's centre of mass, of a drum or wheel: 2 in."
    )
    friction: str = option(default="", help="Of the load, such as 0.2 N m (N on a linear axis).")
    viscous: str = option(default="", help="Of the load, such as 0.01 N m s/rad.")
    control: str = option(default="voltage", help="What is commanded: voltage or current.")
    ks: str | None = option(
        default=None, help="Measured, such as 0.2 V: asks for the load instead.", cli="--kS"
    )
    kv: str | None = option(default=None, help="Such as 0.12 V s/rev or 2.4 V s/m.", cli="--kV")
    ka: str | None = option(default=None, help="Such as 0.01 V s^2/rev.", cli="--kA")
    kg: str | None = option(default=None, help="Such as 0.5 V.", cli="--kG")
    rotor_inertia: str | None = option(default=None, help="Of one motor, such as 75 g cm^2.")


@options
class IsaacWords(ConvertWords):
    """What one may ask of `convert isaac`."""

    chosen_by: ClassVar[tuple[str, ...]] = ("firmware",)

    saturation_effort: str | None = option(default=None, help="Stall torque at the joint, such as 3.2 N m.")
    velocity_limit: str | None = option(default=None, help="No-load speed at the joint, such as 6 rad/s.")
    effort_limit: str | None = option(default=None, help="Greatest torque, such as 2 N m.")
    stiffness: str | None = option(default=None, help="Such as 20 N m/rad.")
    damping: str | None = option(default=None, help="Such as 0.5 N m s/rad.")
    ratio: float = option(default=1.0, help=NO_SOURCE, unit="1")
    motors: int = option_of(ActuatorWords, "motors")
    firmware: str | None = option_of(SupplyWords, "firmware")


@options
class ConstantsWords(SheetWords, BackEmfWords):
    """What one may ask of `convert constants`."""

    speed_constant: str | None = option(default=None, help="Speed constant, such as 300 rpm/V.")
    friction: str | None = option(default=None, help="Dry friction, such as 2 mN m.")
    ratio: float = option(default=1.0, help=NO_SOURCE, unit="1")
    motors: int = option_of(ActuatorWords, "motors")
    side: str = option(default="rotor", help="Where torques and speeds are given: rotor or output.")


def _without(chosen: Any, *codes: str) -> Any:
    """A source whose findings on what was not used are left out."""
    return chosen._replace(findings=[f for f in chosen.findings if f.code not in codes])


def _answer(made: Any, kind: str, chosen: Any = None, **more: str) -> Answer:
    """A conversion's answer, with where its numbers came from."""
    notes = [] if chosen is None else list(chosen.notes)
    if chosen is not None and chosen.unknown:
        notes.append(f"nobody printed or measured its {', '.join(chosen.unknown)}")
    findings = [*([] if chosen is None else chosen.findings), *made.findings]

    def text() -> str:
        parts = ["\n".join(notes), str(made), *(f"{name}: {value}" for name, value in more.items())]
        parts += [under("Assumes", made.assumptions), under("Loses", made.lost)]
        return "\n\n".join(part for part in (*parts, under("Findings", finding_lines(findings))) if part)

    def content() -> dict[str, Any]:
        return {"conversion": kind, "source": notes, **made.to_dict(), **more, "findings": findings}

    return Answer(content=content, text=text, findings=findings)


@command(GainWords)
def gain(options: GainWords, terminal: Terminal) -> Answer:
    """A gain of a position loop: register, duty, V/rad, V/deg, A/rad and N m/rad, all from any one.

    Example: backemf convert gain sts3215-7.4v/m1 --register 16
    """
    from ...analysis import conversion

    o, chosen = options, None
    own = o.numbers("resistance torque_constant ratio duty_limit")
    if o.source is not None:
        chosen = o.choose()
        actuator = chosen.actuator
    else:
        actuator = _bare(own, o.volts_given, own.pop("ratio"), own.pop("duty_limit"))
    units = {name: getattr(o, name) for name in ("register", "duty", "volts", "amperes", "torque")}
    printed = None if chosen is None else chosen.registers.get(o.of)
    if printed is not None and not any(units.values()) and o.of not in actuator.drive.duty_per_count:
        units["register" if printed else "volts"] = printed  # nothing is nothing, whatever a count does
    gain = conversion.gain(actuator, of=o.of, firmware_gain=o.firmware_gain, **units)
    if chosen is not None and gain.given:  # a gain of one's own: that of the source was not used
        chosen = _without(chosen, "assumed_gain")
    return _answer(gain, "gain", chosen)


def _bare(own: dict[str, str | None], V: float | None, ratio: float | None, duty_limit: float | None) -> Any:
    """A motor of its own numbers, behind gears, at a supply."""
    from ...analysis.conversion_table import positive
    from ...errors import MissingValue
    from ...physics import drive
    from ...physics.actuator import Actuator
    from ...physics.gearbox import Gearbox
    from ...physics.motor import Motor

    units = {"resistance": "ohm", "torque_constant": "N m/A", "back_emf_constant": "V s/rad"}
    units |= {"rotor_inertia": "kg m^2"}
    found: dict[str, Any] = {
        name: positive(text, units[name], f"--{name.replace('_', '-')}") for name, text in own.items()
    }
    lacks = [f"--{n.replace('_', '-')}" for n in ("resistance", "torque_constant") if found[n] is None]
    if lacks:
        raise MissingValue(
            f"without {' and '.join(lacks)} there is no motor; expected a part of the catalogue or another"
            " source, or the numbers of a motor"
        )
    motor = Motor(**{name: value for name, value in found.items() if value is not None})
    supplied = drive.Voltage(supply=V, duty_limit=duty_limit)
    return Actuator(motor=motor, gearbox=Gearbox(ratio=ratio or 1.0), drive=supplied)


@command(ServoWords)
def servo(options: ServoWords, terminal: Terminal) -> Answer:
    """A servo's sheet as a, b_1, b_2, kp and kv of the servo torque model, and where the real one leaves it.

    Example: backemf convert servo --voltage "12 V" --stall-torque "30 kg cm" --stall-current "2.7 A"
    --no-load-speed "45 rpm" --no-load-current "0.18 A" --volts "12 V/deg"
    """
    from ...analysis import conversion

    o = options
    printed = o.numbers(
        "stall_torque stall_current no_load_speed no_load_current resistance torque_constant duty_limit"
    )
    if o.source is None:
        k = _gain(o.volts, o.register, o.firmware_gain, o.volts_given)
        limit = printed.pop("duty_limit")
        known = {"volts_per_radian": k, "voltage": o.volts_given, **printed}
        return _answer(conversion.servo(duty_limit=1.0 if limit is None else limit, **known), "servo")
    chosen, k = o.choose(), o.volts
    if o.register is not None:
        own = conversion.gain(chosen.actuator, register=o.register, firmware_gain=o.firmware_gain)
        k = own.volts
    model = conversion.servo(chosen.actuator, volts_per_radian=k)
    return _answer(model, "servo", chosen if k is None else _without(chosen, "assumed_gain"))


def _gain(volts: str | None, register: str | None, scale: str | None, V: float | None) -> Any:
    """Volts per radian of a controller: themselves, or register, duty per count and supply."""
    from ...analysis.conversion_table import positive
    from ...errors import MissingValue

    if volts is not None or register is None:
        return volts
    H = positive(scale, "1/rad", "--firmware-gain")
    if H is None or V is None:
        raise MissingValue('--register needs --firmware-gain, such as "0.166 1/rad", and --voltage')
    return (positive(register, "1", "--register") or 0.0) * H * V


@command(GainsWords)
def gains(options: GainsWords, terminal: Terminal) -> Answer:
    """kS, kV, kA and kG of a motor with its gears and load; or the load behind measured gains.

    Example: backemf convert gains neo --ratio 10 --inertia "0.02 kg m^2"
    """
    from ...analysis import conversion
    from ...errors import MissingValue

    o, chosen = options, None
    own = o.numbers("resistance torque_constant back_emf_constant rotor_inertia")
    if o.source is not None:
        chosen = _without(o.choose(), "assumed_gain", "derivative_not_known")
        actuator = chosen.actuator
    else:
        actuator = _bare(own, o.volts_given, None, None)
    how: dict[str, Any] = {"ratio": o.ratio, "n_motors": o.motors, "radius": o.radius}
    how |= {"control": o.control, "mechanism": o.mechanism}
    if (o.ks, o.kv, o.ka, o.kg) == (None, None, None, None):
        load = {"inertia": o.inertia, "mass": o.mass}
        drag = {"friction": o.friction or 0.0, "viscous": o.viscous or 0.0}
        return _answer(conversion.gains(actuator, **load, **drag, **how), "gains", chosen)
    if o.kv is None or o.ka is None:
        raise MissingValue("--kV and --kA are both needed: the load stands behind them")
    return _answer(
        conversion.load(actuator, kS=o.ks or 0.0, kV=o.kv, kA=o.ka, kG=o.kg, **how), "load", chosen
    )


@command(IsaacWords)
def isaac(options: IsaacWords, terminal: Terminal) -> Answer:
    """Isaac Lab's DC motor of a source, and MuJoCo's dcmotor beside it; or motor constants from its numbers.

    Example: backemf convert isaac --saturation-effort "3.2 N m" --velocity-limit "6 rad/s" --voltage "7.4 V"
    """
    from ...analysis import conversion
    from ...errors import MissingValue

    o, V = options, options.volts_given
    numbers = o.numbers("saturation_effort velocity_limit effort_limit stiffness damping")
    if o.source is not None:
        chosen = o.choose()
        made = conversion.isaac(chosen.actuator)
        return _answer(made, "isaac", chosen, dcmotor=made.dcmotor)
    if o.saturation_effort is None or o.velocity_limit is None:
        raise MissingValue(
            "a source, or --saturation-effort and --velocity-limit, are needed: the line of the motor"
        )
    at = 1.0 if V is None else V
    return _answer(conversion.from_isaac(**numbers, voltage=at, ratio=o.ratio, n_motors=o.motors), "motor")


@command(ConstantsWords)
def constants(options: ConstantsWords, terminal: Terminal) -> Answer:
    """A motor's constants from any sufficient few of them, and where those given disagree.

    Example: backemf convert constants --speed-constant "300 rpm/V" --resistance "50 mohm" --voltage "24 V"
    """
    from ...analysis import conversion

    o = options
    given = o.numbers(
        "resistance torque_constant back_emf_constant speed_constant stall_torque stall_current no_load_speed"
        " no_load_current friction"
    )
    if o.source is None:
        gears: dict[str, Any] = {"ratio": o.ratio, "n_motors": o.motors, "side": o.side}
        return _answer(conversion.constants(voltage=o.volts_given, **gears, **given), "constants")
    chosen = o.choose()
    made = conversion.constants_of(chosen.actuator)
    return _answer(made, "constants", _without(chosen, "assumed_gain", "derivative_not_known"))


TO = ("to", "into", "as", "->", "=")
"""Words between a number and the unit that it is wanted in."""


@options
class UnitWords(CommandWords):
    """What one may ask of `convert NUMBER`."""

    words: list[str] = option(
        help="A number with its unit, and the unit wanted: 15 kg.cm to N.m.", cli="words"
    )


@command(UnitWords, has_findings=False)
def units(options: UnitWords, terminal: Terminal) -> Answer:
    """A number in another unit; without one, in SI. `backemf convert 15 kg.cm to N.m` says the same.

    Example: backemf convert units 15 kg.cm to N.m
    """
    from ...tables import number
    from ...units import convert

    words = " ".join(options.words).split()
    at = next((k for k, word in enumerate(words) if word in TO), None)
    if at is None and "in" in words[1:-1]:  # of "15 kg cm in N m"; an inch stands at an end, or before "to"
        at = words.index("in", 1)
        words[at] = TO[0]
    if at is None:  # the unit of the number is its own word, or stands behind it without a space
        at = min(len(words), 1 if words[0][-1].isalpha() or len(words) == 1 else 2)
    made = convert(" ".join(words[:at]), " ".join(word for word in words[at:] if word not in TO))
    weight = " (a mass stands for its weight, at 9.80665 m/s^2)" if made.by_weight else ""
    return Answer(
        content=made._asdict, text=lambda: f"{made.given} = {number(made.value, 8)} {made.unit}{weight}"
    )


class ConvertGroup(TyperGroup):
    """What begins with a number is one to be given in another unit."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words as typer reads them, with the command that a number stands for.

        Args:
            ctx: typer's.
            args: as typed.

        Returns:
            What is left for the command.
        """
        numeric = bool(args) and args[0].lstrip("+-.")[:1].isdigit()
        switches = [word for word in args if word in ("--json", "--help", "-h")]
        words = ["units", *switches, "--", *(word for word in args if word not in switches)]
        return super().parse_args(ctx, words if numeric else args)


app = typer.Typer(
    cls=ConvertGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="A number, or gains and constants, from one unit into another, with formula, assumptions and what is"
    " lost: backemf convert 15 kg.cm to N.m",
)
for _command in (units, gain, servo, gains, isaac, constants):
    app.command(_command.__name__, cls=Verb)(_command)
