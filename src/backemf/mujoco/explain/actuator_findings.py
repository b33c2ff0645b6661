"""What looks wrong about an actuator of a model, with the numbers that a real one has; its bristle among
them: how it rings, whether it is passive, and the time step that it bears."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ...analysis.curves import Presliding, presliding
from ...errors import InvalidValue
from ...findings import Finding, finding
from ...physics import steady
from ...physics.actuator import linear_unit
from ...physics.gearbox import Gearbox
from ...tables import number
from ..arrays import engine_of
from ..dcmotor import DcMotor, gains_to_era2, recipe
from . import servos
from .servos import LONG, NEAR, SERVO_KIND, ActuatorLaw, PartKind, ServoRange

TOO_STIFF = 3.0
"""Beyond this factor above every known part of its kind a stiffness is none's. Below them it takes
`TOO_SOFT`: a soft law may be meant."""
TOO_SOFT = 10.0
TOO_HEAVY = 3.0
"""The same for armature over torque, which fewer gears make smaller, and nothing makes larger."""
TOO_LIGHT = 10.0
FASTEST = 40.0
"""No-load speed [rad/s] beyond which a position servo's damping is less than its back-EMF alone must give."""


def units(slides: bool) -> tuple[str, str, str, str]:
    """Of torque, stiffness, damping and inertia; on a slide in newtons and metres."""
    rotary = ("N m", "N m/rad", "N m s/rad", "kg m^2")
    torque, stiffness, damping, inertia = (linear_unit(unit) if slides else unit for unit in rotary)
    return torque, stiffness, damping, inertia


def against_kind(law: ActuatorLaw, slides: bool, kind: PartKind | None) -> Iterator[Finding]:
    """Where no part of its kind has such numbers.

    Args:
        law: at the joint.
        slides: whether the joint does.
        kind: what it is like; None: a slide, no torque limit, or nothing of its size.

    Returns:
        A finding for each number.
    """
    k, stall = law.stiffness, law.stall
    if law.regulates_position and stall is None:
        yield _no_limit(k, slides)
    if kind is None and stall and not slides:
        yield _nothing_alike(law, stall)
    if kind is not None and stall and law.regulates_position:
        yield from _gain(k, stall, kind)
    # Back-EMF damps what is driven by a voltage; drives of a current make up for it.
    if (
        law.dcmotor is None
        and law.kind == "position"
        and stall is not None
        and (slides or kind is SERVO_KIND)
    ):
        yield from _damping(law, stall, slides)
    yield from _rotor(law, slides, kind)


def alike(law: ActuatorLaw, kind: PartKind | None) -> str | None:
    """What an actuator is measured by, and why.

    Args:
        law: at the joint, which turns.
        kind: of the parts; None: none.

    Returns:
        A line without a full stop; None without a kind.
    """
    if kind is None or not law.stall:
        return None
    near = kind.torques(law.stall)
    why = f"{'positions' if law.regulates_position else 'torques'} are commanded, {number(law.stall, 3)} N m"
    if servos.kind_alike(law) is not kind:
        why += ", as the strongest joint is one"
    elif kind is not SERVO_KIND and law.armature > 0:
        why += ", and their armature is the nearest"
    if law.regulates_position and kind.stiffness() is None:
        why += "; their gains come with the command, so the stiffness is not judged"
    return f"{kind.words} of {near} N m ({_names(near)}): {why}"


def _no_limit(k: float, slides: bool) -> Finding:
    remedy = f"give forcerange, or a dcmotor's Vmax: the stall {_effort(slides)}"
    most, strongest = SERVO_KIND.stiffness(), SERVO_KIND.torques().high
    if most is not None and not slides and k / most.high <= NEAR * strongest:
        remedy += f", about {k / most.high:.2g} to {k / most.low:.2g} N m for a servo of this stiffness"
    return finding("no_limit", f"its {_effort(slides)} has no limit.", remedy)


def _nothing_alike(law: ActuatorLaw, stall: float) -> Finding:
    kinds = servos.kinds_of(law.regulates_position)
    known = ", ".join(f"{kind.words} {kind.torques()}" for kind in kinds)
    size = number(stall, 3)
    text = f"no part known here is like it: {size} N m, where there are {known} N m; it was not compared."
    strongest = max(kind.torques().high for kind in kinds)
    code = "torque_beyond_servos" if stall > strongest else "no_part_alike"
    remedy = "check forcerange against the drive's stall torque, or compare with its part by --with"
    return finding(code, text, remedy, torque=stall, strongest=strongest)


def _rotor(law: ActuatorLaw, slides: bool, kind: PartKind | None) -> Iterator[Finding]:
    """Where no part of its kind has such an inertia, or none at all."""
    stall, usual = law.stall, None if kind is None else kind.armature(law.stall)
    if law.armature == 0:
        remedy = "armature = rotor inertia x ratio^2; it also steadies the simulation"
        if kind is not None and stall and usual is not None:
            size = f"{kind.words} of about {stall:.2g} N m"
            remedy = f"armature about {usual.scale(stall)} kg m^2, as {size}: {remedy[11:]}"
        yield finding("no_armature", "the rotor has no inertia.", remedy)
    elif kind is not None and stall and usual is not None:
        yield from _armature(law.armature, stall, kind, usual.scale(stall))


def _effort(slides: bool) -> str:
    return "force" if slides else "torque"


def _gain(k: float, stall: float, kind: PartKind) -> Iterator[Finding]:
    ratio, known, usual = k / stall, kind.stiffness(), kind.stiffness(stall)
    if known is None or usual is None or known.low / TOO_SOFT <= ratio <= known.high * TOO_STIFF:
        return
    text = (
        f"stiffness {number(k, 3)} N m/rad reaches stall torque {stall:.3g} N m at {1 / ratio:.2g} rad;"
        f" {kind.words} do at {1 / known.high:.2g} to {1 / known.low:.2g}."
    )
    remedy = f"kp about {usual.scale(stall)} N m/rad, as {_names(usual)}; or identify it"
    near = usual.scale(stall)
    yield finding("gain_far_from_servos", text, remedy, ratio=ratio, low=near.low, high=near.high)


def _armature(J: float, stall: float, kind: PartKind, usual: ServoRange) -> Iterator[Finding]:
    ratio, known = J / stall, kind.armature()
    if known is None or known.low / TOO_LIGHT <= ratio <= known.high * TOO_HEAVY:
        return
    off = f"{J / usual.high:.2g} times" if ratio > known.high else f"1/{usual.low / J:.2g} of"
    text = (
        f"armature {J:.3g} kg m^2 with a torque limit of {stall:.3g} N m is {off} what {kind.words} of that"
        f" torque have ({usual} kg m^2)."
    )
    remedy = f"armature about {usual} kg m^2, as {_names(usual)}; or identify it"
    yield finding("armature_far_from_servos", text, remedy, ratio=ratio, low=usual.low, high=usual.high)


def _names(parts: ServoRange) -> str:
    first, *more = parts.names
    return f"{first} and {len(more)} others" if len(more) > 3 else ", ".join(parts.names)


def _damping(law: ActuatorLaw, stall: float, slides: bool) -> Iterator[Finding]:
    _, _, damping, _ = units(slides)
    fast = law.speed is not None and law.speed > FASTEST and not slides
    if law.behind > 0 and not fast:
        return
    rule = f"stall {_effort(slides)} / no-load speed"
    remedy, fastest = f"joint damping of {rule}", SERVO_KIND.speed(stall)
    if not slides and fastest is not None:
        w = fastest.high
        remedy = (
            f"joint damping of at least {stall / w:.2g} {damping} = {rule}, {stall:.3g} N m / {w:.2g} rad/s"
        )
    text = "nothing but its own gain damps it: no back-EMF."
    if fast:
        text = (
            f"damping {law.behind:.3g} {damping} lets it run to {law.speed:.3g} rad/s; back-EMF alone gives"
            f" {rule}."
        )
    yield finding("damping_below_back_emf", text, remedy, damping=law.behind)


def of_dcmotor(law: ActuatorLaw, slides: bool) -> Iterator[Finding]:
    """What only a dcmotor can have wrong."""
    if law.dcmotor is None:
        return
    control, motor = law.dcmotor.controller, law.dcmotor.motor
    R, K = motor.resistance, motor.torque_constant
    if control.inputs == "velocity" and control.ki is not None:
        _, stiffness, _, _ = units(slides)
        text = (
            f"a velocity loop with an integral, {control.ki:.3g} V/rad at the actuator: it holds the position"
            f" that the command adds up to, with {law.stiffness:.3g} {stiffness}; only MuJoCo 3.7 to 3.11 has"
            " it."
        )
        x = recipe(law.dcmotor)
        numbers = {"kp": x.kp, "kd": x.kd, "share": x.share}
        yield finding("velocity_integral", text, f"from 3.12 on {x}", **numbers)
    elif control.era == 1:
        yield from _no_exact_form(law.dcmotor)
    least = steady.Line(R, K, K).damping
    if control.era == 2 and control.regulates and control.kd < 0.999 * least and control.kp > 0:
        text = (
            f"kd {control.kd:.3g} is less than K^2 / R = {least:.3g}; from 3.12 on the controller takes the"
            " back-EMF's damping away."
        )
        remedy = f"kd {control.kd + least:.3g}, K^2 / R more, for a servo that sends a plain voltage"
        yield finding("damping_below_back_emf", text, remedy, damping=control.kd)


def _no_exact_form(dcmotor: DcMotor) -> Iterator[Finding]:
    """A law of 3.7 to 3.11 that 3.12 and later cannot be given."""
    try:
        gains_to_era2(dcmotor)
    except InvalidValue as refused:
        reason, _, remedy = str(refused).partition("; ")
        text = f"it does not pass to MuJoCo 3.12 and later: {reason}."
        yield finding("no_exact_form", text, remedy or "write another law for these versions")


def merged_constants(pair: tuple[float, float] | None) -> Iterator[Finding]:
    """K_t and K_e of a file that differ, which the engine merges."""
    if pair is None or abs(pair[0] - pair[1]) <= 1e-9 * max(pair):
        return
    text = (
        f"Kt {pair[0]:g} and Ke {pair[1]:g} differ; the engine uses sqrt(Kt Ke) ="
        f" {math.sqrt(pair[0] * pair[1]):.4g} for both."
    )
    remedy = "K = Ke and R = V Ke / stall torque keep both ends of the line"
    yield finding("unequal_constants_merged", text, remedy, Kt=pair[0], Ke=pair[1])


def of_the_step(law: ActuatorLaw, inertia: float, h: float) -> Iterator[Finding]:
    """A time step too long for the loop.

    Args:
        law: at the joint.
        inertia: of the joint with its armature [kg m^2].
        h: the time step [s].

    Returns:
        A finding, or none.
    """
    if law.regulates_position and inertia > 0:
        w = steady.natural_frequency(law.stiffness, inertia)
        if w * h > LONG:
            most = 1e3 * LONG / w / 2
            text = (
                f"natural frequency {w / 2 / math.pi:.3g} Hz, step {1e3 * h:g} ms: {w * h:.2g} rad per step."
            )
            yield finding("step_too_long", text, f"a step of at most {most:.2g} ms, or armature", timestep=h)


RULES = {"Euler": "Euler", "implicitfast": "implicitfast", "implicit": "implicitfast"}
"""MuJoCo's integrators whose bound is known; RK4 steps a bristle by a rule of its own."""


class BristleAtRest(NamedTuple):
    """A LuGre bristle near rest, at the joint."""

    natural_frequency: float
    """Hz."""
    damping_ratio: float
    """With the motor's damping and the joint's."""
    damping: float
    """sigma_1 [N m s/rad]."""
    critical_damping: float
    """The sigma_1 from which it does not ring [N m s/rad]."""
    passive_limit: float | None
    """The sigma_1 from which it can feed energy into the joint [N m s/rad]; None: never."""
    integrator: str
    """Of the model."""
    largest_step: float | None
    """Below which its small motions die away with that integrator [s]; None: not known."""
    largest_steps: dict[str, float]
    """The same for other integrators [s]."""


def near_rest(law: ActuatorLaw, inertia: float) -> Presliding | None:
    """The bristle at the joint; the joint's own damping is viscous, that of the motor and its law is not."""
    lugre = None if law.dcmotor is None else law.dcmotor.lugre
    if lugre is None or inertia <= 0:
        return None
    friction = replace(Gearbox(ratio=law.gear).reflect(lugre), viscous=law.viscous)
    return presliding(friction, inertia, law.damping - law.viscous)


def bristle(law: ActuatorLaw, inertia: float, model: Any) -> BristleAtRest | None:
    """The bristle of a compiled model's dcmotor.

    Args:
        law: at the joint.
        inertia: of the joint with its armature [kg m^2].
        model: compiled; its integrator bounds the step.

    Returns:
        Its numbers near rest; None where it has none.
    """
    near = near_rest(law, inertia)
    if near is None:
        return None
    integrator = engine_of(model).integrator
    known = {name: near.largest_step(name) for name in ("Euler", "implicitfast")}
    return BristleAtRest(
        natural_frequency=near.natural_frequency / (2 * math.pi),
        damping_ratio=near.damping_ratio,
        damping=near.micro_damping,
        critical_damping=near.critical_micro_damping,
        passive_limit=near.passive_limit,
        integrator=integrator,
        largest_step=known[RULES[integrator]] if integrator in RULES else None,
        largest_steps=known,
    )


def findings(one: BristleAtRest | None, h: float, damping: str) -> Iterator[Finding]:
    """A step that its bristle does not bear, or does not resolve, and damping that is not passive.

    Args:
        one: the bristle at the joint; None: there is none.
        h: the time step [s].
        damping: the unit of a damping at this joint.

    Returns:
        A finding for each.
    """
    if one is None:
        return
    turned = 2 * math.pi * one.natural_frequency * h
    if one.largest_step is not None and h >= one.largest_step:
        text = (
            f"small motions of its bristle grow: the step is {1e3 * h:.3g} ms, and {one.integrator} bears"
            f" less than {1e3 * one.largest_step:.3g} ms (at most all damping over the bristle's stiffness)."
        )
        remedy = "a shorter step, more lugre damping or joint damping, or a softer bristle"
        if one.integrator == "Euler" and one.largest_steps["implicitfast"] > h:
            remedy = (
                f'integrator="implicitfast", which bears {1e3 * one.largest_steps["implicitfast"]:.3g} ms'
            )
        yield finding("bristle_unstable", text, remedy, timestep=h, largest=one.largest_step)
    elif turned > LONG and one.damping_ratio < 1:
        text = f"its bristle rings at {one.natural_frequency:.3g} Hz: {turned:.2g} rad per step."
        yield finding("step_too_long", text, "a shorter step or a softer bristle", timestep=h)
    if one.passive_limit is not None and one.damping > one.passive_limit:
        text = (
            f"its bristle can feed energy into the joint: lugre damping {number(one.damping, 3)} is above its"
            f" viscous x coulomb / (static - coulomb) = {number(one.passive_limit, 3)} {damping}."
        )
        remedy = "less lugre damping, more viscous damping, or a smaller peak at rest"
        yield finding("not_passive", text, remedy, damping=one.damping, limit=one.passive_limit)
