"""`backemf convert`: one number of a motor or servo in the units of another sheet, firmware or simulator."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .command_builder import Verb
from .inputs import SOURCE, Control, Firmware, Motors, Ratio, Sets
from .terminal import Json, Strict, answer, finding_lines, option, under

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Gains and constants from one unit into another, with formula, assumptions and what is lost.",
)
Source = Annotated[str | None, typer.Argument(help=f"{SOURCE} Or none: give numbers instead.")]
Volts = Annotated[
    str | None, option("Supply voltage, such as 12 V; the source's own unless given.", "--voltage")
]
R = Annotated[str | None, option("Resistance, such as 2.1 ohm.", "--resistance")]
K_t = Annotated[str | None, option("Torque constant, such as 5 mN m/A.", "--torque-constant")]
K_e = Annotated[str | None, option("Back-EMF constant, such as 2 V/krpm.", "--back-emf-constant")]
K_v = Annotated[str | None, option("Speed constant, such as 300 rpm/V.", "--speed-constant")]
StallTorque = Annotated[str | None, option("Such as 30 kg cm.")]
StallCurrent = Annotated[str | None, option("Such as 2.7 A.")]
NoLoadSpeed = Annotated[str | None, option("Such as 45 rpm or 0.18 s/60deg.")]
NoLoadCurrent = Annotated[str | None, option("Such as 180 mA.")]
DutyLimit = Annotated[float | None, option("Largest duty of the firmware, 0 to 1.")]
H = Annotated[
    str | None,
    option('Duty per count of the register, such as "0.166 1/rad", where the source does not know it.'),
]


def _volts(text: str | None) -> float | None:
    """A voltage with its unit, or a bare number of volts as the other commands take it."""
    from ...analysis.conversion_table import positive

    try:
        value: float | str | None = None if text is None else float(text)
    except ValueError:
        value = text
    return positive(value, "V", "--voltage")


def _choose_actuator(source: str, voltage: float | None, **how: Any) -> Any:
    from ...targets.sourcing import choose_actuator

    return choose_actuator(source, voltage=voltage, **how)


def _without(chosen: Any, *codes: str) -> Any:
    """A source whose findings on what was not used are left out."""
    return chosen._replace(findings=[f for f in chosen.findings if f.code not in codes])


def _refuse_both(source: str | None, **given: Any) -> None:
    """Refuse numbers of a motor beside a source that has its own."""
    from ...errors import InvalidValue

    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if source is not None and named:
        raise InvalidValue(
            f"{', '.join(named)} and {source!r} are given; expected one of them: change a source's own"
            " numbers with --set, such as --set motor.resistance=2.1ohm"
        )


def _show(made: Any, kind: str, json: bool, strict: bool, chosen: Any = None, **more: str) -> None:
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

    answer(json, content, text, findings, strict)


@app.command(cls=Verb)
def gain(
    source: Source = None,
    of: Annotated[str, option("Which gain: proportional, integral or derivative.")] = "proportional",
    register: Annotated[str | None, option("The firmware's register, such as 16.")] = None,
    duty: Annotated[str | None, option("Such as 2.7 1/rad.")] = None,
    volts: Annotated[str | None, option("Such as 20 V/rad or 0.35 V/deg.")] = None,
    amperes: Annotated[str | None, option("Of each motor, such as 7 A/rad.")] = None,
    torque: Annotated[str | None, option("Such as 9 N m/rad, at the output.")] = None,
    firmware_gain: H = None,
    voltage: Volts = None,
    firmware: Firmware = None,
    control: Control = None,
    set: Sets = None,
    resistance: R = None,
    torque_constant: K_t = None,
    ratio: Annotated[float | None, option("Rotor turns per output turn, where no source is given.")] = None,
    duty_limit: DutyLimit = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """A gain of a position loop: register, duty, V/rad, V/deg, A/rad and N m/rad, all from any one.

    Example: backemf convert gain sts3215-7.4v/m1 --register 16
    """
    from ...analysis import conversion

    own = {"resistance": resistance, "torque_constant": torque_constant}
    _refuse_both(source, **own, ratio=ratio, duty_limit=duty_limit)
    V, chosen = _volts(voltage), None
    if source is not None:
        chosen = _choose_actuator(source, V, sets=set, firmware=firmware, control=control)
        actuator = chosen.actuator
    else:
        actuator = _bare(own, V, ratio, duty_limit)
    given = {"register": register, "duty": duty, "volts": volts, "amperes": amperes, "torque": torque}
    gain = conversion.gain(actuator, of=of, firmware_gain=firmware_gain, **given)
    if chosen is not None and gain.given:  # a gain of one's own: that of the source was not used
        chosen = _without(chosen, "assumed_gain")
    _show(gain, "gain", json, strict, chosen)


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


@app.command(cls=Verb)
def servo(
    source: Source = None,
    volts: Annotated[str | None, option("Gain of the controller, such as 12 V/deg.")] = None,
    register: Annotated[str | None, option("Or its register, with --firmware-gain.")] = None,
    firmware_gain: H = None,
    voltage: Volts = None,
    stall_torque: StallTorque = None,
    stall_current: StallCurrent = None,
    no_load_speed: NoLoadSpeed = None,
    no_load_current: NoLoadCurrent = None,
    resistance: R = None,
    torque_constant: K_t = None,
    duty_limit: DutyLimit = None,
    firmware: Firmware = None,
    set: Sets = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """A servo's sheet as a, b_1, b_2, kp and kv of the servo torque model, and where the real one leaves it.

    Example: backemf convert servo --voltage "12 V" --stall-torque "30 kg cm" --stall-current "2.7 A"
    --no-load-speed "45 rpm" --no-load-current "0.18 A" --volts "12 V/deg"
    """
    from ...analysis import conversion

    printed = {"stall_torque": stall_torque, "stall_current": stall_current, "no_load_speed": no_load_speed}
    printed |= {"no_load_current": no_load_current, "resistance": resistance}
    printed |= {"torque_constant": torque_constant}
    _refuse_both(source, **printed, duty_limit=duty_limit)
    V, chosen = _volts(voltage), None
    if source is not None:
        chosen = _choose_actuator(source, V, sets=set, firmware=firmware)
        k: Any = volts
        if register is not None:
            k = conversion.gain(chosen.actuator, register=register, firmware_gain=firmware_gain).volts
        model = conversion.servo(chosen.actuator, volts_per_radian=k)
        if k is not None:
            chosen = _without(chosen, "assumed_gain")
    else:
        known = {"volts_per_radian": _gain(volts, register, firmware_gain, V), "voltage": V, **printed}
        model = conversion.servo(duty_limit=1.0 if duty_limit is None else duty_limit, **known)
    _show(model, "servo", json, strict, chosen)


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


@app.command(cls=Verb)
def gains(
    source: Source = None,
    mechanism: Annotated[str, option("simple, flywheel, elevator, arm or drivetrain.")] = "simple",
    ratio: Ratio = 1.0,
    motors: Motors = 1,
    inertia: Annotated[str | None, option("Of the load at the output, such as 0.5 kg m^2.")] = None,
    mass: Annotated[str | None, option("Instead of it: a mass at a radius, such as 5 kg.")] = None,
    radius: Annotated[
        str | None, option("Of that mass, of an arm's centre of mass, of a drum or wheel: 2 in.")
    ] = None,
    friction: Annotated[str, option("Of the load, such as 0.2 N m (N on a linear axis).")] = "",
    viscous: Annotated[str, option("Of the load, such as 0.01 N m s/rad.")] = "",
    control: Annotated[str, option("What is commanded: voltage or current.")] = "voltage",
    ks: Annotated[str | None, option("Measured, such as 0.2 V: asks for the load instead.", "--kS")] = None,
    kv: Annotated[str | None, option("Such as 0.12 V s/rev or 2.4 V s/m.", "--kV")] = None,
    ka: Annotated[str | None, option("Such as 0.01 V s^2/rev.", "--kA")] = None,
    kg: Annotated[str | None, option("Such as 0.5 V.", "--kG")] = None,
    voltage: Volts = None,
    set: Sets = None,
    resistance: R = None,
    torque_constant: K_t = None,
    back_emf_constant: K_e = None,
    rotor_inertia: Annotated[str | None, option("Of one motor, such as 75 g cm^2.")] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """kS, kV, kA and kG of a motor with its gears and load; or the load behind measured gains.

    Example: backemf convert gains neo --ratio 10 --inertia "0.02 kg m^2"
    """
    from ...analysis import conversion
    from ...errors import MissingValue

    own = {"resistance": resistance, "torque_constant": torque_constant}
    own |= {"back_emf_constant": back_emf_constant, "rotor_inertia": rotor_inertia}
    _refuse_both(source, **own)
    V, chosen = _volts(voltage), None
    if source is not None:
        chosen = _without(_choose_actuator(source, V, sets=set), "assumed_gain", "derivative_not_known")
        actuator = chosen.actuator
    else:
        actuator = _bare(own, V, None, None)
    how: dict[str, Any] = {"ratio": ratio, "n_motors": motors, "control": control, "mechanism": mechanism}
    if (ks, kv, ka, kg) == (None, None, None, None):
        load = {"inertia": inertia, "mass": mass, "radius": radius}
        drag = {"friction": friction or 0.0, "viscous": viscous or 0.0}
        _show(conversion.gains(actuator, **load, **drag, **how), "gains", json, strict, chosen)
        return
    if kv is None or ka is None:
        raise MissingValue("--kV and --kA are both needed: the load stands behind them")
    new_load = conversion.load(actuator, kS=ks or 0.0, kV=kv, kA=ka, kG=kg, radius=radius, **how)
    _show(new_load, "load", json, strict, chosen)


@app.command(cls=Verb)
def isaac(
    source: Source = None,
    saturation_effort: Annotated[str | None, option("Stall torque at the joint, such as 3.2 N m.")] = None,
    velocity_limit: Annotated[str | None, option("No-load speed at the joint, such as 6 rad/s.")] = None,
    effort_limit: Annotated[str | None, option("Greatest torque, such as 2 N m.")] = None,
    stiffness: Annotated[str | None, option("Such as 20 N m/rad.")] = None,
    damping: Annotated[str | None, option("Such as 0.5 N m s/rad.")] = None,
    voltage: Volts = None,
    ratio: Annotated[float, option("Rotor turns per output turn, where no source is given.")] = 1.0,
    motors: Motors = 1,
    firmware: Firmware = None,
    set: Sets = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Isaac Lab's DC motor of a source, and MuJoCo's dcmotor beside it; or motor constants from its numbers.

    Example: backemf convert isaac --saturation-effort "3.2 N m" --velocity-limit "6 rad/s" --voltage "7.4 V"
    """
    from ...analysis import conversion
    from ...errors import MissingValue

    line = {"saturation_effort": saturation_effort, "velocity_limit": velocity_limit}
    more = {"effort_limit": effort_limit, "stiffness": stiffness, "damping": damping}
    _refuse_both(source, **line, **more)
    V = _volts(voltage)
    if source is not None:
        chosen = _choose_actuator(source, V, sets=set, firmware=firmware)
        made = conversion.isaac(chosen.actuator)
        _show(made, "isaac", json, strict, chosen, dcmotor=made.dcmotor)
        return
    if saturation_effort is None or velocity_limit is None:
        raise MissingValue(
            "a source, or --saturation-effort and --velocity-limit, are needed: the line of the motor"
        )
    made = conversion.from_isaac(
        saturation_effort=saturation_effort,
        velocity_limit=velocity_limit,
        **more,
        voltage=1.0 if V is None else V,
        ratio=ratio,
        n_motors=motors,
    )
    _show(made, "motor", json, strict)


@app.command(cls=Verb)
def constants(
    source: Source = None,
    voltage: Volts = None,
    resistance: R = None,
    torque_constant: K_t = None,
    back_emf_constant: K_e = None,
    speed_constant: K_v = None,
    stall_torque: StallTorque = None,
    stall_current: StallCurrent = None,
    no_load_speed: NoLoadSpeed = None,
    no_load_current: NoLoadCurrent = None,
    friction: Annotated[str | None, option("Dry friction, such as 2 mN m.")] = None,
    ratio: Annotated[float, option("Rotor turns per output turn, where no source is given.")] = 1.0,
    motors: Motors = 1,
    side: Annotated[str, option("Where torques and speeds are given: rotor or output.")] = "rotor",
    set: Sets = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """A motor's constants from any sufficient few of them, and where those given disagree.

    Example: backemf convert constants --speed-constant "300 rpm/V" --resistance "50 mohm" --voltage "24 V"
    """
    from ...analysis import conversion

    given: dict[str, Any] = {"resistance": resistance, "torque_constant": torque_constant}
    given |= {"back_emf_constant": back_emf_constant, "speed_constant": speed_constant}
    given |= {"stall_torque": stall_torque, "stall_current": stall_current, "no_load_speed": no_load_speed}
    given |= {"no_load_current": no_load_current, "friction": friction}
    _refuse_both(source, **given)
    V, chosen = _volts(voltage), None
    if source is None:
        constants = conversion.constants(voltage=V, ratio=ratio, n_motors=motors, side=side, **given)
    else:
        chosen = _choose_actuator(source, V, sets=set)
        constants = conversion.constants_of(chosen.actuator)
        chosen = _without(chosen, "assumed_gain", "derivative_not_known")
    _show(constants, "constants", json, strict, chosen)
