"""MJCF's `<dcmotor>` attributes, and how each version of MuJoCo compiles them
(MuJoCo's DC-motor note, tables 5 to 16).

A `DcMotorAttributes` says what stands in the file; `compile_dcmotor` gives the numbers the engine derives
from it, and `inherit` what a child of a default class really gets, which is not always what its author
meant.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidValue, MissingValue, UnknownName
from ..physics.friction import LuGre, Viscous
from ..physics.maths import is_number
from ..physics.motor import Cogging, Limits, Motor
from ..physics.thermal import Thermal
from .dcmotor import ERA_1_INPUTS, ERA_2_INPUTS, Controller, DcMotor, release, rules

Values = tuple[float, ...]

SLOTS: dict[str, tuple[str, ...]] = {
    "resistance": ("resistance",),
    "motorconst": ("Kt", "Ke"),
    "nominal": ("voltage", "stall_torque", "no_load_speed"),
    "inductance": ("L", "timeconst"),
    "thermal": ("resistance", "capacitance", "timeconst", "tempcoef", "reftemp", "ambient"),
    "saturation": ("torque", "current", "current_rate"),
    "cogging": ("amplitude", "poles", "phase"),
    "lugre": ("stiffness", "damping", "coulomb", "static", "stribeck"),
    "damping": ("linear", "quadratic", "cubic"),
    "armature": ("armature",),
    "gear": ("gear",),
    "controller": ("kp", "ki", "kd", "slewmax", "Imax", "Vmax"),
    "ctrlrange": ("low", "high"),
}
"""The numbers of each attribute, in the order of the file. Left-out numbers at the end are 0."""

_ANY_SIGN = {
    "thermal": (3, 4, 5),
    "cogging": (0, 1, 2),
    "gear": (0,),
    "controller": (0, 2),
    "ctrlrange": (0, 1),
    "motorconst": (0, 1),
}
_TINY = 1e-15
"""The engine's own smallest number: it divides by this where a Stribeck velocity is 0."""


@dataclass(frozen=True, kw_only=True)
class DcMotorAttributes:
    """The attributes of one `<dcmotor>`. Empty: not in the file."""

    resistance: Values = ()
    motorconst: Values = ()
    nominal: Values = ()
    inductance: Values = ()
    thermal: Values = ()
    saturation: Values = ()
    cogging: Values = ()
    lugre: Values = ()
    damping: Values = ()
    armature: Values = ()
    gear: Values = ()
    controller: Values = ()
    ctrlrange: Values = ()
    input: str | None = None
    """Era 1 (3.7 to 3.11): voltage, position or velocity. Era 2 (3.12 on):
    some of pos vel ff voltage, or none. Absent: voltage."""

    def __post_init__(self) -> None:
        for name, slots in SLOTS.items():
            given = getattr(self, name)
            values = tuple(given) if isinstance(given, (tuple, list)) else (given,)
            if len(values) > len(slots):
                raise InvalidValue(
                    f"{name} has {len(values)} numbers; expected at most {len(slots)}: {' '.join(slots)}"
                )
            for k, value in enumerate(values):
                where_ = f"{name}:{slots[k]}" if len(slots) > 1 else name
                if not is_number(value) or not math.isfinite(value):
                    raise InvalidValue(f"{where_} is {value!r}; expected a finite number")
                if value < 0 and k not in _ANY_SIGN.get(name, ()):
                    raise InvalidValue(f"{where_} is {value:g}; expected at least 0 (0 leaves it out)")
            object.__setattr__(self, name, tuple(float(v) for v in values))

    def __getitem__(self, path: str) -> float:
        """One number by its name, as `attributes["thermal:capacitance"]`;
        0 where the file does not give it."""
        name, _, slot = path.partition(":")
        k = SLOTS[name].index(slot or SLOTS[name][0])
        values = getattr(self, name)
        return values[k] if k < len(values) else 0.0

    @staticmethod
    def read(attrib: Mapping[str, str]) -> DcMotorAttributes:
        """From an XML element's attributes; those that are not the motor's own (name, joint, group,
        ...) are passed over."""
        given: dict[str, Any] = {}
        for name, slots in SLOTS.items():
            try:
                given[name] = tuple(float(word) for word in attrib.get(name, "").split())
            except ValueError:
                raise InvalidValue(
                    f"{name} is {attrib[name]!r}; expected numbers: {' '.join(slots)}"
                ) from None
        return DcMotorAttributes(**given, input=attrib.get("input"))

    def to_xml(self) -> dict[str, str]:
        """As XML attributes, with every digit."""
        words = {
            name: " ".join(repr(v) for v in getattr(self, name)) for name in SLOTS if getattr(self, name)
        }
        return words if self.input is None else {**words, "input": self.input}

    def xml(self, **others: str) -> str:
        """The element as text; `others` are further attributes, such as `joint="knee"`."""
        return "<dcmotor " + " ".join(f'{k}="{v}"' for k, v in {**others, **self.to_xml()}.items()) + "/>"

    @staticmethod
    def of(dcmotor: DcMotor) -> DcMotorAttributes:
        """The attributes that compile to a given dcmotor."""
        motor, control, limits = dcmotor.motor, dcmotor.controller, dcmotor.motor.limits or Limits()
        cog, heat, lugre = motor.cogging, dcmotor.heat, dcmotor.lugre
        gains = (control.kp, control.ki, control.kd, control.slew)
        given: dict[str, Values] = {
            "resistance": (motor.resistance,),
            "motorconst": (motor.torque_constant,),
            "gear": (dcmotor.gear,),
            "armature": (motor.rotor_inertia,) if motor.rotor_inertia else (),
            "inductance": (0.0, motor.inductance / motor.resistance) if motor.inductance is not None else (),
            "saturation": _trim_zeros(limits.torque, 0.0, limits.current_rate),
            "damping": _trim_zeros(*dcmotor.friction.drag_terms.values()),
            "controller": _trim_zeros(*gains, control.integral_limit, control.voltage_limit),
            "cogging": () if cog is None else (cog.amplitude, cog.periods, cog.phase),
        }
        if heat is not None:
            at = (heat.resistance_coefficient, heat.reference, heat.ambient)
            given["thermal"] = (heat.resistance, heat.capacitance, 0.0, *at)
        if lugre is not None:
            levels = (lugre.coulomb, lugre.static, lugre.stribeck_velocity)
            given["lugre"] = (lugre.stiffness, lugre.damping, *levels)
        ranges = set(control.ctrlrange) or {None}
        if len(ranges) > 1:
            raise InvalidValue(
                "the inputs have different ctrlranges; a file holds one ctrlrange for all of them: set the"
                " others on the compiled model"
            )
        (only,) = ranges
        return DcMotorAttributes(**given, ctrlrange=only or (), input=" ".join(control.words) or "none")


def _trim_zeros(*values: float | None) -> Values:
    full = [v or 0.0 for v in values]
    while full and full[-1] == 0.0:
        full.pop()
    return tuple(full)


def compile_dcmotor(
    attributes: DcMotorAttributes, version: str, default: DcMotorAttributes | None = None
) -> DcMotor:
    """The dcmotor that a version of MuJoCo makes of its attributes,
    and of the default class above them where there is one."""
    a = attributes if default is None else inherit(default, attributes, version)
    K, R = _constants(a, version)
    t_e = a["inductance:L"] / R if a["inductance:L"] > 0 else a["inductance:timeconst"]
    torque = a["saturation:torque"] or K * a["saturation:current"]
    drag = (a["damping"], a["damping:quadratic"] or None, a["damping:cubic"] or None)
    motor = Motor(
        resistance=R,
        torque_constant=K,
        rotor_inertia=a["armature"],
        inductance=t_e * R,
        limits=motor_limits(torque or None, a["saturation:current_rate"] or None),
        thermal=_thermal(a, version),
        cogging=cogging(*(a[f"cogging:{slot}"] for slot in SLOTS["cogging"])),
    )
    bent = friction(
        dict(zip(("viscous", "viscous_quadratic", "viscous_cubic"), drag, strict=True)),
        *(a[f"lugre:{slot}"] for slot in SLOTS["lugre"]),
    )
    gear = a["gear"] if a.gear else 1.0
    return DcMotor(motor=motor, friction=bent, gear=gear, controller=_controller(a, rules(version).era))


def motor_limits(torque: float | None, rate: float | None) -> Limits | None:
    """The two limits that the engine has; None where there is neither."""
    return None if torque is None and rate is None else Limits(torque=torque, current_rate=rate)


def _constants(a: DcMotorAttributes, version: str) -> tuple[float, float]:
    """(K, R): explicit values first, what is missing from the nominal point,
    which counts the linear damping."""
    K_t, K_e, R, B = a["motorconst:Kt"], a["motorconst:Ke"], a["resistance"], a["damping"]
    v, tau_0, w_0 = a["nominal:voltage"], a["nominal:stall_torque"], a["nominal:no_load_speed"]
    if release(version) >= (4, 0) and (K_t < 0 or K_e < 0):
        raise InvalidValue(
            f"motorconst is {K_t:g} {K_e:g}; expected numbers of at least 0 (older versions took the other"
            " one silently)"
        )
    if v > 0 and w_0 > 0 and K_e <= 0:
        K_e = _nominal_back_emf(v, w_0, tau_0, R, B)
    K = math.sqrt(K_t * K_e) if min(K_t, K_e) > 0 else K_t if K_t > 0 else K_e
    if K <= 0:
        if a.input == "none":
            raise InvalidValue(
                "motorconst is 0 with input 'none', which from 4.0 on means friction without a winding;"
                " expected a motor constant above 0"
            )
        raise MissingValue(
            "a dcmotor needs its motor constant: give motorconst (Kt and/or Ke, above 0), or nominal with"
            " voltage and no_load_speed"
        )
    if R == 0 and v > 0 and tau_0 > 0:
        R = K * v / tau_0
    if R <= 0:
        raise MissingValue(
            "a dcmotor needs its resistance: give resistance (above 0), or nominal with voltage and"
            " stall_torque"
        )
    return K, R


def _nominal_back_emf(v: float, w_0: float, tau_0: float, R: float, B: float) -> float:
    """K_e of a nominal point, its linear damping B counted."""
    if B > 0 and R > 0 and v * v > 4.0 * R * B * w_0 * w_0:
        return (v + math.sqrt(v * v - 4.0 * R * B * w_0 * w_0)) / (2.0 * w_0)
    if B > 0 and R == 0 and tau_0 > 0 and v / w_0 > v * B / tau_0:
        return v / w_0 - v * B / tau_0
    return v / w_0


def _thermal(a: DcMotorAttributes, version: str) -> Thermal | None:
    R_T, C, t_T = a["thermal:resistance"], a["thermal:capacitance"], a["thermal:timeconst"]
    if not (R_T > 0 or C > 0 or t_T > 0):
        return None
    if t_T > 0 and R_T > 0 and (C == 0 or release(version) >= (4, 0)):
        C = t_T / R_T
    elif t_T > 0 and C > 0 and R_T == 0:
        R_T = t_T / C
    if R_T <= 0 or C <= 0:
        given = " ".join(f"{v:g}" for v in a.thermal)
        raise MissingValue(
            f"thermal is {given!r}; expected two of resistance, capacitance and timeconst above 0: one alone"
            " does not fix the temperature"
        )
    alpha, T_0, T_a = a["thermal:tempcoef"], a["thermal:reftemp"], a["thermal:ambient"]
    return Thermal(resistance=R_T, capacitance=C, resistance_coefficient=alpha, reference=T_0, ambient=T_a)


def cogging(amplitude: float, periods: float, phase: float) -> Cogging | None:
    """A sin(N l + phi) for any signs, with amplitude and periods made positive.

    Args:
        amplitude: A [N m].
        periods: N per turn of the rotor; the file calls them poles.
        phase: phi [rad].

    Returns:
        The cogging; None where its amplitude is 0.

    Raises:
        InvalidValue: an amplitude without periods.
    """
    if amplitude == 0:
        return None
    if periods == 0:
        raise InvalidValue(
            f"cogging has amplitude {amplitude:g} and 0 poles; expected periods per turn above 0"
        )
    if periods < 0:  # sin(-x + phi) = -sin(x - phi)
        amplitude, periods, phase = -amplitude, -periods, -phase
    return Cogging(
        amplitude=abs(amplitude), periods=periods, phase=phase if amplitude > 0 else phase + math.pi
    )


def friction(
    drag: Mapping[str, Any], sigma_0: float, sigma_1: float, tau_c: float, tau_s: float, w_s: float
) -> Viscous:
    """Damping alone, or LuGre where the bristle has a stiffness.

    Args:
        drag: the terms of the damping, by field of `Viscous`.
        sigma_0: stiffness of the bristle [N m/rad], this and the rest at the rotor.
        sigma_1: its damping [N m s/rad].
        tau_c: Coulomb torque [N m].
        tau_s: static torque [N m].
        w_s: Stribeck velocity [rad/s].

    Returns:
        The friction.
    """
    if sigma_0 <= 0:
        return Viscous(**drag)
    return LuGre(
        **drag,
        stiffness=sigma_0,
        damping=sigma_1,
        coulomb=tau_c,
        static=tau_s,
        stribeck_velocity=max(w_s, _TINY),
    )


def _controller(a: DcMotorAttributes, era: int) -> Controller:
    text = "voltage" if a.input is None else a.input.strip()
    inputs: str | tuple[str, ...] = text
    if era == 2:
        inputs = () if text == "none" else tuple(text.split()) or ("voltage",)
        if text in ("position", "velocity"):
            raise UnknownName("input (from 3.12 on)", text, [*ERA_2_INPUTS, "none"])
    elif text not in ERA_1_INPUTS:
        raise UnknownName("input (up to 3.11)", text, ERA_1_INPUTS)
    ranges = (a.ctrlrange[:2],) * (1 if era == 1 else len(inputs)) if len(a.ctrlrange) == 2 else ()
    kp, ki, kd, slew, most, volts = (a[f"controller:{slot}"] for slot in SLOTS["controller"])
    gains = {"kp": kp, "ki": ki, "kd": kd}
    limits = {"slew": slew, "integral_limit": most, "voltage_limit": volts}
    return Controller(inputs=inputs, **gains, **limits, ctrlrange=ranges)


def inherit(default: DcMotorAttributes, child: DcMotorAttributes, version: str) -> DcMotorAttributes:
    """The attributes a child of a default class really has.

    The engine compiles the default first and lays the child's numbers over the result. So a default must be a
    whole motor; a child's `nominal` finds the default's K as its Kt and mixes both; a child's `resistance`
    keeps the default's electrical time constant (not its inductance) and its torque limit (not its current
    limit); and a shorter list keeps the default's remaining numbers. What an explicit 0 clears has changed
    over the versions.
    """
    base, given = DcMotorAttributes.of(compile_dcmotor(default, version)), release(version)
    laid = _laid_over(base, child, given)
    for name in ("thermal", "lugre"):
        off = not any(v > 0 for v in laid[name][: 3 if name == "thermal" else 1])
        if getattr(base, name) and off and given < (3, 16):
            raise InvalidValue(
                f"{name} is switched off by a child of a class that has it; before 3.16 MuJoCo fails on this:"
                " leave it out of the class"
            )
    return dataclasses.replace(child, **laid, input=base.input if child.input is None else child.input)


def _laid_limits(
    base: DcMotorAttributes, child: DcMotorAttributes, rate: float, given: tuple[int, ...]
) -> Values:
    """A child's saturation over that of its default."""
    asked = child["saturation:torque"] or child["saturation:current"]
    keep = base["saturation:torque"] if not asked and given < (4, 0) else child["saturation:torque"]
    if rate == 0 and given < (3, 16):
        rate = base["saturation:current_rate"]
    return (keep, child["saturation:current"] if asked else 0.0, rate)


def _laid_over(
    base: DcMotorAttributes, child: DcMotorAttributes, given: tuple[int, ...]
) -> dict[str, Values]:
    """A child's numbers over those of its compiled default, as a release has it."""
    laid: dict[str, Values] = {}
    for name in SLOTS:
        mine, over = getattr(base, name), getattr(child, name)
        slots = max(len(mine), len(over))
        full = [*mine, *[0.0] * (slots - len(mine))]
        full[: len(over)] = over
        laid[name] = tuple(full)
    if child.saturation:
        laid["saturation"] = _laid_limits(base, child, (*laid["saturation"], 0.0, 0.0)[2], given)
    if len(child.inductance) == 1 and child.inductance[0] == 0 and given >= (4, 0):
        laid["inductance"] = ()
    if child.controller and child["controller:Vmax"] == 0 and base["controller:Vmax"] and given < (3, 16):
        laid["controller"] = (*laid["controller"][:5], base["controller:Vmax"])
    return laid
